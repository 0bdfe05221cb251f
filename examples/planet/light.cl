// Sunlight, air and city lights on the globe.

struct place {
    float sunlight; // cosine of the angle to the sun
    float slant;    // 0 where we look straight down, 1 at the edge
};

static struct place place_of(int x, int y, int size, float radius, float4 sun)
{
    float across = ((float)x + 0.5f - 0.5f * (float)size) / radius;
    float up = (0.5f * (float)size - (float)y - 0.5f) / radius;
    float near = sqrt(fmax(1.0f - across * across - up * up, 0.0f));
    struct place place;

    place.sunlight = across * sun.x + up * sun.y + near * sun.z;
    place.slant = 1.0f - near;
    return place;
}

kernel void light(global const float *surface, global float *to, int size,
                  float radius, float4 sun)
{
    int x = (int)get_global_id(0), y = (int)get_global_id(1);
    int plane = size * size, i = y * size + x;
    struct place place = place_of(x, y, size, radius, sun);
    float cover = surface[i + 3 * plane];

    // Air scatters some light past the terminator.
    float day = smoothstep(-0.12f, 0.25f, place.sunlight);
    float direct = 0.012f + 1.25f * day * fmax(place.sunlight, 0.0f);
    float edge = place.slant * place.slant * place.slant;
    float air = cover * day * (0.018f + 0.55f * edge);

    to[i] = surface[i] * direct + 0.30f * air;
    to[i + plane] = surface[i + plane] * direct + 0.58f * air;
    to[i + 2 * plane] = surface[i + 2 * plane] * direct + 1.15f * air;
    to[i + 3 * plane] = cover;
}

kernel void add_lights(global const float *lights, global float *to, int size,
                       float radius, float4 sun)
{
    int x = (int)get_global_id(0), y = (int)get_global_id(1);
    int plane = size * size, i = y * size + x;
    struct place place = place_of(x, y, size, radius, sun);
    float dark = 1.0f - smoothstep(-0.15f, 0.05f, place.sunlight);

    to[i] += 1.9f * dark * lights[i];
    to[i + plane] += 1.5f * dark * lights[i + plane];
    to[i + 2 * plane] += 1.0f * dark * lights[i + 2 * plane];
}
