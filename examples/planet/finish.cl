// What is added at the end, and the way from light to what a screen shows.

kernel void add_glow(global const float *glow, global float *to, int width,
                     int height, float strength)
{
    int i = ((int)get_global_id(2) * height + (int)get_global_id(1)) * width +
            (int)get_global_id(0);
    to[i] += strength * glow[i];
}

// A number that looks random for each pixel.
static uint scramble(uint x, uint y)
{
    uint h = x * 0x9e3779b1u + y * 0x85ebca77u;
    h = (h ^ (h >> 15)) * 0x2c1b3c6du;
    h = (h ^ (h >> 12)) * 0x297a2d39u;
    return h ^ (h >> 15);
}

// About one pixel in a thousand is a star; most are faint, some blue, some red.
kernel void add_stars(global float *to, int width, int height)
{
    int x = (int)get_global_id(0), y = (int)get_global_id(1);
    int plane = width * height, i = y * width + x;
    uint number = scramble((uint)x, (uint)y);
    float chance = (float)(number & 0xffff) * (1.0f / 65536.0f);
    float tint = (float)(number >> 24) * (1.0f / 256.0f);
    float rank = fmax(chance - 0.9988f, 0.0f) * (1.0f / 0.0012f);
    float star = 0.9f * rank * rank * rank * (1.0f - to[i + 3 * plane]);

    to[i] += star * (1.15f - 0.3f * tint);
    to[i + plane] += star;
    to[i + 2 * plane] += star * (0.8f + 0.4f * tint);
}

static uint shown(float light, float exposure)
{
    // Film: never quite white; then the square root, for the eye.
    float film = 1.0f - exp(-exposure * light);
    return (uint)(255.0f * sqrt(fmax(film, 0.0f)) + 0.5f);
}

kernel void tone(global const float *from, global uchar4 *to, int width,
                 int height, float exposure)
{
    int plane = width * height;
    int i = (int)get_global_id(1) * width + (int)get_global_id(0);

    to[i] = as_uchar4(shown(from[i], exposure) |
                      shown(from[i + plane], exposure) << 8 |
                      shown(from[i + 2 * plane], exposure) << 16 | 0xff000000u);
}
