// A map of the whole globe (longitude along x, latitude along y, north up) seen
// from far away: for each pixel the point of the sphere below it, and the colour
// of the map there, interpolated between its four nearest pixels.

// The map is stored for the eye, as about the square root of light.
static float light_of(uint pixel, int shift)
{
    float stored = (float)((pixel >> shift) & 255) * (1.0f / 255.0f);
    return stored * stored;
}

static float between(uint a, uint b, uint c, uint d, float x, float y, int shift)
{
    return mix(mix(light_of(a, shift), light_of(b, shift), x),
               mix(light_of(c, shift), light_of(d, shift), x), y);
}

kernel void project(global const uchar4 *map, int map_width, int map_height,
                    global float *to, int size, float radius, float longitude,
                    float sine, float cosine)
{
    int x = (int)get_global_id(0), y = (int)get_global_id(1);
    float across = ((float)x + 0.5f - 0.5f * (float)size) / radius;
    float up = (0.5f * (float)size - (float)y - 0.5f) / radius;
    float square = across * across + up * up;
    float near = sqrt(fmax(1.0f - square, 0.0f));

    // Turn the sphere so that its axis stands upright.
    float north = up * cosine + near * sine;
    float front = near * cosine - up * sine;
    float turn = atan2(across, front) * (0.5f * M_1_PI_F) + longitude + 0.5f;
    float u = (turn - floor(turn)) * (float)map_width - 0.5f;
    float v = (0.5f - asin(clamp(north, -1.0f, 1.0f)) * M_1_PI_F) *
                  (float)map_height - 0.5f;

    float left = floor(u), top = floor(v);
    int x0 = (int)left, y0 = (int)top;
    int x1 = x0 + 1 >= map_width ? 0 : x0 + 1;
    x0 = x0 < 0 ? map_width - 1 : x0;
    int y1 = min(y0 + 1, map_height - 1);
    y0 = max(y0, 0);
    uint a = as_uint(map[y0 * map_width + x0]);
    uint b = as_uint(map[y0 * map_width + x1]);
    uint c = as_uint(map[y1 * map_width + x0]);
    uint d = as_uint(map[y1 * map_width + x1]);
    float part_x = u - left, part_y = v - top;

    // The edge is one pixel wide.
    float cover = clamp((1.0f - sqrt(square)) * radius + 0.5f, 0.0f, 1.0f);
    int plane = size * size, i = y * size + x;
    to[i] = cover * between(a, b, c, d, part_x, part_y, 0);
    to[i + plane] = cover * between(a, b, c, d, part_x, part_y, 8);
    to[i + 2 * plane] = cover * between(a, b, c, d, part_x, part_y, 16);
    to[i + 3 * plane] = cover;
}
