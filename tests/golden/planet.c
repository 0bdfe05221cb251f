#include "tests/golden/planet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const float pi = 3.14159265358979f;

struct planet_settings planet_defaults(void)
{
    return (struct planet_settings){
        .size = 1024,
        .levels = 5,
        .stars = true,
        .longitude = 20,
        .latitude = 25,
        .sun_east = -58,
        .sun_north = 12,
        .threshold = 0.32f,
        .strength = 0.55f,
        .exposure = 1.9f,
    };
}

static int clamp(int i, int low, int high)
{
    return i < low ? low : i > high ? high : i;
}

static float square(float x)
{
    return x * x;
}

static float smooth(float from, float to, float x)
{
    float t = (x - from) / (to - from);
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    return t * t * (3 - 2 * t);
}

enum {
    STRIP = 64 // pixels whose angles are computed together, by vectors
};

struct strip {
    float u[STRIP], v[STRIP], cover[STRIP]; // texels; share of the pixel
};

// Where `count` pixels of row `y`, from `x` on, look at the map.
static void aim(const struct planet *p, const struct planet_map *map, int y,
                int x, int count, struct strip *strip)
{
    const float radius = p->radius, half = 0.5f * (float)p->settings.size;
    const float sine = p->sine, cosine = p->cosine;
    const float longitude = p->settings.longitude / 360 + 0.5f;
    const float width = (float)map->width, height = (float)map->height;
    const float up = (half - (float)y - 0.5f) / radius;

    for (int k = 0; k < count; k++) {
        float across = ((float)(x + k) + 0.5f - half) / radius;
        float distance = across * across + up * up;
        float near = distance < 1 ? sqrtf(1 - distance) : 0;
        float north = up * cosine + near * sine;
        float front = near * cosine - up * sine;
        north = north < -1 ? -1 : north > 1 ? 1 : north;

        float turn = atan2f(across, front) / (2 * pi) + longitude;
        strip->u[k] = (turn - floorf(turn)) * width - 0.5f;
        strip->v[k] = (0.5f - asinf(north) / pi) * height - 0.5f;
        float cover = (1 - sqrtf(distance)) * radius + 0.5f;
        strip->cover[k] = cover < 0 ? 0 : cover > 1 ? 1 : cover;
    }
}

// Mix the four texels around (u, v).
static void sample(const struct planet_map *map, float u, float v,
                   float color[3])
{
    int left = (int)floorf(u), top = (int)floorf(v);
    float fx = u - (float)left, fy = v - (float)top;
    int columns[2] = {(left + map->width) % map->width,
                      (left + 1) % map->width};
    int rows[2] = {clamp(top, 0, map->height - 1),
                   clamp(top + 1, 0, map->height - 1)};

    for (int c = 0; c < 3; c++) {
        color[c] = 0;
        for (int r = 0; r < 2; r++)
            for (int s = 0; s < 2; s++) {
                const uint8_t *pixel =
                    map->pixels[rows[r] * map->width + columns[s]];
                color[c] += (r ? fy : 1 - fy) * (s ? fx : 1 - fx) *
                            square((float)pixel[c] / 255);
            }
    }
}

static void project(const struct planet *p, const struct planet_pass *pass,
                    int begin, int end)
{
    const int size = p->settings.size;
    const size_t plane = (size_t)size * (size_t)size;
    struct strip strip;

    for (int y = begin; y < end; y++)
        for (int x = 0; x < size; x += STRIP) {
            int count = size - x < STRIP ? size - x : STRIP;
            float *to = pass->to + (size_t)y * (size_t)size + (size_t)x;

            aim(p, pass->map, y, x, count, &strip);
            for (int k = 0; k < count; k++) {
                float color[3];
                sample(pass->map, strip.u[k], strip.v[k], color);
                for (size_t c = 0; c < 3; c++)
                    to[c * plane + (size_t)k] = strip.cover[k] * color[c];
                to[3 * plane + (size_t)k] = strip.cover[k];
            }
        }
}

// Cosine of the angle to the sun, and how far `near` is from looking straight
// down.
static float sunlight(const struct planet *p, int x, int y, float *near)
{
    float half = 0.5f * (float)p->settings.size;
    float across = ((float)x + 0.5f - half) / p->radius;
    float up = (half - (float)y - 0.5f) / p->radius;
    float rest = 1 - across * across - up * up;

    *near = rest > 0 ? sqrtf(rest) : 0;
    return across * p->sun[0] + up * p->sun[1] + *near * p->sun[2];
}

static void light(const struct planet *p, const struct planet_pass *pass,
                  int begin, int end)
{
    const size_t size = (size_t)p->settings.size, plane = size * size;
    static const float tint[3] = {0.30f, 0.58f, 1.15f};

    for (int y = begin; y < end; y++) {
        for (int x = 0; x < (int)size; x++) {
            size_t i = (size_t)y * size + (size_t)x;
            float near, sun = sunlight(p, x, y, &near);
            float cover = pass->from[3 * plane + i];
            float day = smooth(-0.12f, 0.25f, sun);
            float direct = 0.012f + 1.25f * day * (sun > 0 ? sun : 0);
            float slant = 1 - near;
            float air = cover * day * (0.018f + 0.55f * slant * slant * slant);

            for (size_t c = 0; c < 3; c++)
                pass->to[c * plane + i] =
                    pass->from[c * plane + i] * direct + tint[c] * air;
            pass->to[3 * plane + i] = cover;
        }
    }
}

static void add_lights(const struct planet *p, const struct planet_pass *pass,
                       int begin, int end)
{
    const size_t size = (size_t)p->settings.size, plane = size * size;
    static const float tint[3] = {1.9f, 1.5f, 1.0f};

    for (int y = begin; y < end; y++) {
        for (int x = 0; x < (int)size; x++) {
            size_t i = (size_t)y * size + (size_t)x;
            float near, sun = sunlight(p, x, y, &near);
            float dark = 1 - smooth(-0.15f, 0.05f, sun);
            for (size_t c = 0; c < 3; c++)
                pass->to[c * plane + i] +=
                    tint[c] * dark * pass->from[c * plane + i];
        }
    }
}

static void bright(const struct planet *p, const struct planet_pass *pass,
                   int begin, int end)
{
    size_t width = (size_t)pass->width;

    for (size_t i = (size_t)begin * width; i < (size_t)end * width; i++) {
        float over = pass->from[i] - p->settings.threshold;
        pass->to[i] = over > 0 ? over : 0;
    }
}

static void blur_rows(const struct planet *p, const struct planet_pass *pass,
                      int begin, int end)
{
    const int width = pass->width;

    for (int y = begin; y < end; y++) {
        const float *from = pass->from + (size_t)y * (size_t)width;
        float *to = pass->to + (size_t)y * (size_t)width;
        for (int x = 0; x < width; x++) {
            float sum = p->weights[0] * from[x];
            if (x >= 8 && x < width - 8) {
                for (int k = 1; k <= 8; k++)
                    sum += p->weights[k] * (from[x - k] + from[x + k]);
            } else {
                for (int k = 1; k <= 8; k++)
                    sum += p->weights[k] * (from[clamp(x - k, 0, width - 1)] +
                                            from[clamp(x + k, 0, width - 1)]);
            }
            to[x] = sum;
        }
    }
}

static void blur_columns(const struct planet *p, const struct planet_pass *pass,
                         int begin, int end)
{
    const int width = pass->width, height = pass->height;

    for (int row = begin; row < end; row++) {
        int first = row / height * height, last = first + height - 1;
        float *to = pass->to + (size_t)row * (size_t)width;
        const float *from = pass->from + (size_t)row * (size_t)width;

        for (int x = 0; x < width; x++)
            to[x] = p->weights[0] * from[x];
        for (int k = 1; k <= 8; k++) {
            const float *above =
                pass->from +
                (size_t)clamp(row - k, first, last) * (size_t)width;
            const float *below =
                pass->from +
                (size_t)clamp(row + k, first, last) * (size_t)width;
            for (int x = 0; x < width; x++)
                to[x] += p->weights[k] * (above[x] + below[x]);
        }
    }
}

static void halve(const struct planet *p, const struct planet_pass *pass,
                  int begin, int end)
{
    (void)p;
    for (int row = begin; row < end; row++) {
        int z = row / pass->height, y = row % pass->height;
        int top = clamp(2 * y, 0, pass->from_height - 1);
        int bottom = clamp(2 * y + 1, 0, pass->from_height - 1);
        size_t wide = (size_t)pass->from_width;
        size_t first = (size_t)z * (size_t)pass->from_height;
        const float *a = pass->from + (first + (size_t)top) * wide;
        const float *b = pass->from + (first + (size_t)bottom) * wide;
        float *to = pass->to + (size_t)row * (size_t)pass->width;

        for (int x = 0; x < pass->width; x++) {
            int left = clamp(2 * x, 0, pass->from_width - 1);
            int right = clamp(2 * x + 1, 0, pass->from_width - 1);
            to[x] = (a[left] + a[right] + b[left] + b[right]) / 4;
        }
    }
}

static void widen(const struct planet *p, const struct planet_pass *pass,
                  int begin, int end)
{
    const int w = pass->from_width, h = pass->from_height;

    (void)p;
    for (int row = begin; row < end; row++) {
        int z = row / pass->height, y = row % pass->height;
        float v = ((float)y + 0.5f) * (float)h / (float)pass->height - 0.5f;
        int top = (int)floorf(v);
        float fy = v - (float)top;
        const float *a =
            pass->other + (size_t)(z * h + clamp(top, 0, h - 1)) * (size_t)w;
        const float *b = pass->other +
                         (size_t)(z * h + clamp(top + 1, 0, h - 1)) * (size_t)w;
        size_t line = (size_t)row * (size_t)pass->width;

        for (int x = 0; x < pass->width; x++) {
            float u = ((float)x + 0.5f) * (float)w / (float)pass->width - 0.5f;
            int left = (int)floorf(u);
            float fx = u - (float)left;
            int i = clamp(left, 0, w - 1), j = clamp(left + 1, 0, w - 1);
            float over = a[i] + fx * (a[j] - a[i]);
            float under = b[i] + fx * (b[j] - b[i]);
            pass->to[line + (size_t)x] =
                pass->from[line + (size_t)x] + over + fy * (under - over);
        }
    }
}

static void add_glow(const struct planet *p, const struct planet_pass *pass,
                     int begin, int end)
{
    float strength = p->settings.strength / (float)p->settings.levels;
    size_t width = (size_t)pass->width;

    for (size_t i = (size_t)begin * width; i < (size_t)end * width; i++)
        pass->to[i] += strength * pass->from[i];
}

static void add_stars(const struct planet *p, const struct planet_pass *pass,
                      int begin, int end)
{
    const size_t size = (size_t)p->settings.size, plane = size * size;

    for (uint32_t y = (uint32_t)begin; y < (uint32_t)end; y++) {
        for (uint32_t x = 0; x < size; x++) {
            uint32_t h = x * 0x9e3779b1u + y * 0x85ebca77u;
            h = (h ^ h >> 15) * 0x2c1b3c6du;
            h = (h ^ h >> 12) * 0x297a2d39u;
            h ^= h >> 15;
            float rank = ((float)(h & 65535) / 65536 - 0.9988f) / 0.0012f;
            rank = rank > 0 ? rank : 0;

            float *pixel = pass->to + y * size + x;
            float star = 0.9f * rank * rank * rank * (1 - pixel[3 * plane]);
            float tint = (float)(h >> 24) / 256;
            pixel[0] += star * (1.15f - 0.3f * tint);
            pixel[plane] += star;
            pixel[2 * plane] += star * (0.8f + 0.4f * tint);
        }
    }
}

// What the film makes of light.
static float expose(float light, float exposure)
{
    float film = 1 - expf(-exposure * light);
    return 255 * sqrtf(film > 0 ? film : 0) + 0.5f;
}

static void tone(const struct planet *p, const struct planet_pass *pass,
                 int begin, int end)
{
    const size_t size = (size_t)p->settings.size, plane = size * size;
    const float exposure = p->settings.exposure;
    const float *restrict from = pass->from;
    uint8_t(*restrict image)[4] = p->image;

    for (size_t i = (size_t)begin * size; i < (size_t)end * size; i++) {
        image[i][0] = (uint8_t)(int)expose(from[i], exposure);
        image[i][1] = (uint8_t)(int)expose(from[plane + i], exposure);
        image[i][2] = (uint8_t)(int)expose(from[2 * plane + i], exposure);
        image[i][3] = 255;
    }
}

// Laying out ------------------------------------------------------------------

static float *planes(struct planet *p, int width, int height, int count)
{
    float *memory =
        calloc((size_t)width * (size_t)height * (size_t)count, sizeof(float));
    p->memory[p->memory_count++] = memory;
    return memory;
}

static struct planet_pass *add(struct planet *p, const char *name,
                               void (*run)(const struct planet *,
                                           const struct planet_pass *, int,
                                           int),
                               int width, int height, int count)
{
    struct planet_pass *pass = &p->passes[p->pass_count++];

    *pass = (struct planet_pass){.name = name,
                                 .run = run,
                                 .rows = height * count,
                                 .width = width,
                                 .height = height};
    return pass;
}

static void add_glow_passes(struct planet *p, float *picture)
{
    const int size = p->settings.size, levels = p->settings.levels;
    float *soft[16];
    int widths[16];
    struct planet_pass *pass;

    for (int l = 0, w = size; l<levels; l++, w = w> 1 ? w / 2 : 1) {
        float *from = planes(p, w, w, 3), *rows = planes(p, w, w, 3);
        if (l == 0) {
            pass = add(p, "bright", bright, w, w, 3);
            pass->from = picture;
        } else {
            pass = add(p, "halve", halve, w, w, 3);
            pass->from = soft[l - 1];
            pass->from_width = pass->from_height = widths[l - 1];
        }
        pass->to = from;
        pass = add(p, "blur_rows", blur_rows, w, w, 3);
        pass->from = from;
        pass->to = rows;
        pass = add(p, "blur_columns", blur_columns, w, w, 3);
        pass->from = rows;
        pass->to = soft[l] = planes(p, w, w, 3);
        widths[l] = w;
    }

    float *glow = soft[levels - 1];
    for (int l = levels - 2; l >= 0; l--) {
        pass = add(p, "widen", widen, widths[l], widths[l], 3);
        pass->from = soft[l];
        pass->other = glow;
        pass->from_width = pass->from_height = widths[l + 1];
        pass->to = glow = planes(p, widths[l], widths[l], 3);
    }
    pass = add(p, "glow", add_glow, size, size, 3);
    pass->from = glow;
    pass->to = picture;
}

static void add_passes(struct planet *p, const struct planet_map *map,
                       const struct planet_map *night)
{
    const int size = p->settings.size;
    float *surface = planes(p, size, size, 4);
    float *picture = planes(p, size, size, 4);
    struct planet_pass *pass = add(p, "project", project, size, size, 1);

    pass->map = map;
    pass->to = surface;
    pass = add(p, "light", light, size, size, 1);
    pass->from = surface;
    pass->to = picture;
    if (night) {
        float *lights = planes(p, size, size, 4);
        pass = add(p, "project night", project, size, size, 1);
        pass->map = night;
        pass->to = lights;
        pass = add(p, "city lights", add_lights, size, size, 1);
        pass->from = lights;
        pass->to = picture;
    }
    if (p->settings.levels > 0)
        add_glow_passes(p, picture);
    if (p->settings.stars)
        add(p, "stars", add_stars, size, size, 1)->to = picture;
    add(p, "tone", tone, size, size, 1)->from = picture;
}

bool planet_create(struct planet *planet,
                   const struct planet_settings *settings,
                   const struct planet_map *map, const struct planet_map *night)
{
    float tilt = settings->latitude * pi / 180;
    float east = settings->sun_east * pi / 180;
    float north = settings->sun_north * pi / 180;
    float sum = 0;

    memset(planet, 0, sizeof(*planet));
    planet->settings = *settings;
    planet->radius = 0.41f * (float)settings->size;
    planet->sine = sinf(tilt);
    planet->cosine = cosf(tilt);
    planet->sun[0] = sinf(east) * cosf(north);
    planet->sun[1] = sinf(north);
    planet->sun[2] = cosf(east) * cosf(north);
    for (int k = 0; k <= 8; k++) {
        planet->weights[k] = expf(-(float)(k * k) / 32);
        sum += (k > 0 ? 2 : 1) * planet->weights[k];
    }
    for (int k = 0; k <= 8; k++)
        planet->weights[k] /= sum;

    add_passes(planet, map, night);
    planet->image = calloc((size_t)settings->size * (size_t)settings->size,
                           sizeof(*planet->image));
    bool complete = planet->image != NULL;
    for (int i = 0; i < planet->memory_count; i++)
        complete = complete && planet->memory[i];
    if (!complete)
        planet_destroy(planet);
    return complete;
}

void planet_destroy(struct planet *planet)
{
    for (int i = 0; i < planet->memory_count; i++)
        free(planet->memory[i]);
    free(planet->image);
    planet->memory_count = 0;
    planet->image = NULL;
}
