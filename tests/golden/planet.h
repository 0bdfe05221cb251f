// The planet of examples/planet in plain C, written on its own: what the golden
// test compares with and what the benchmark measures against.
//
// Pictures are planes of floats one after another. A pass computes rows
// [begin, end) of its result, counted over all planes, so that threads can
// share it; rows do not depend on each other.
#ifndef HEDDLE_TESTS_GOLDEN_PLANET_H
#define HEDDLE_TESTS_GOLDEN_PLANET_H

#include <stdbool.h>
#include <stdint.h>

struct planet_map {
    int width, height;
    const uint8_t (*pixels)[4];
};

struct planet_settings {
    int size, levels;
    bool stars;
    float longitude, latitude, sun_east, sun_north; // [degrees]
    float threshold, strength, exposure;
};

// The defaults of planet.lua.
struct planet_settings planet_defaults(void);

struct planet;

struct planet_pass {
    const char *name; // as in planet.lua
    int rows;
    void (*run)(const struct planet *planet, const struct planet_pass *pass,
                int begin, int end);
    int width, height;           // of the result
    int from_width, from_height; // of `from` (of `other` for widen)
    const float *from, *other;
    float *to;
    const struct planet_map *map;
};

enum {
    PLANET_MAX_PASSES = 80
};

struct planet {
    struct planet_settings settings;
    float radius, sine, cosine, sun[3];
    float weights[9];
    struct planet_pass passes[PLANET_MAX_PASSES];
    int pass_count;
    float *memory[PLANET_MAX_PASSES];
    int memory_count;
    uint8_t (*image)[4]; // the result: size x size pixels
};

// Lay out the passes in program order; `night` may be NULL. The maps stay the
// caller's. False without memory. Free with planet_destroy().
bool planet_create(struct planet *planet,
                   const struct planet_settings *settings,
                   const struct planet_map *map,
                   const struct planet_map *night);
void planet_destroy(struct planet *planet);

#endif
