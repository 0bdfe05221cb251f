// Heat in a plate whose border is held at 0, one step of the explicit scheme:
// https://en.wikipedia.org/wiki/FTCS_scheme (Roache, Computational Fluid
// Dynamics, 1972). `rate` is at most 1/4.

kernel void ignite(global float *plate)
{
    int x = get_global_id(0), y = get_global_id(1);
    int w = get_global_size(0), h = get_global_size(1);
    float dx = (float)(x - w / 3), dy = (float)(y - h / 2);
    float size = (float)(w + h) * 0.1f;

    plate[y * w + x] = dx * dx + dy * dy < size * size ? 1.0f : 0.0f;
}

kernel void spread(global const float *from, global float *to, float rate)
{
    int x = get_global_id(0), y = get_global_id(1);
    int w = get_global_size(0), h = get_global_size(1);
    float here = from[y * w + x];
    float left = x > 0 ? from[y * w + x - 1] : 0.0f;
    float right = x + 1 < w ? from[y * w + x + 1] : 0.0f;
    float above = y > 0 ? from[(y - 1) * w + x] : 0.0f;
    float below = y + 1 < h ? from[(y + 1) * w + x] : 0.0f;

    to[y * w + x] = here + rate * (left + right + above + below - 4.0f * here);
}

kernel void paint(global const float *plate, global uchar4 *pixels)
{
    int x = get_global_id(0), y = get_global_id(1), w = get_global_size(0);
    float heat = plate[y * w + x];
    float red = fmin(heat * 3.0f, 1.0f);
    float green = fmin(fmax(heat * 3.0f - 1.0f, 0.0f), 1.0f);
    float blue = fmin(fmax(heat * 3.0f - 2.0f, 0.0f), 1.0f);

    pixels[y * w + x] = (uchar4)((uchar)(red * 255.0f), (uchar)(green * 255.0f),
                                 (uchar)(blue * 255.0f), 255);
}
