// The builtins on vectors of every width and type: wide.cl compares them with
// the same builtins on single numbers. Here are the numbers.
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernel/builtins/probe/wide.h"
#include "tests/check.h"

static _Alignas(128) uint8_t in[WIDE_TYPES * WIDE_ARGUMENTS * WIDE_SECTION];
static _Alignas(128) uint8_t out[1 << 14];

// Every function of wide.def: its name, and whether it needs `out`.
#define ONE(f, T, R)         HAVE(f##_##T)
#define TWO(f, T, U, R)      HAVE(f##_##T)
#define THREE(f, T, U, V, R) HAVE(f##_##T)
#define LAST(f, T, U)        HAVE(f##_last_##T)
#define LAST_TWO(f, T, U)    HAVE(f##_last_two_##T)
#define LAST_OF_THREE(f, T)  HAVE(f##_last_##T)
#define FIRST_OF_TWO(f, T)   HAVE(f##_first_##T)
#define FIRST_TWO(f, T)      HAVE(f##_first_two_##T)
#define SELECT(T, C)         HAVE(select_##T##_##C)
#define FIELDS(T, U, S)      HAVE(fields_##T)
#define RELATION_1(f, T, S)  HAVE(f##_##T)
#define RELATION_2(f, T, S)  HAVE(f##_##T)
#define GROUP(f, T)          HAVE(f##_##T)
#define CONVERT(S, D)        HAVE(convert_##D##_##S)
#define SATURATE(S, D)       HAVE(saturate_##D##_##S)
#define SHUFFLE(T, U)        HAVE(shuffle_##T)
#define ALSO(f, T, U)        HAVE(f##_##T)
#define ALSO_2(f, T, U)      HAVE(f##_##T)
#define MEMORY(T)            HAVE(memory_##T)
#define HALVES(T)            HAVE(halves_##T)

#define HAVE(name) int32_t wide_##name(const uint8_t *from, uint8_t *to);
#include "kernel/builtins/probe/wide.def"
#undef HAVE

// Those that need no `out` take no notice of it.
static const struct {
    const char *name;
    int32_t (*compare)(const uint8_t *from, uint8_t *to);
} functions[] = {
#define HAVE(name) {#name, wide_##name},
#include "kernel/builtins/probe/wide.def"
};

static uint64_t random_bits(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

// Bits of any number, a small integer, or a number of few bits about 1.
static uint64_t some_number(int type, uint64_t *state)
{
    uint64_t bits = random_bits(state), kind = bits >> 62;
    double near = (double)(int64_t)(bits % 4001) / 64 - 31;

    if (kind == 0)
        return random_bits(state);
    if (type == WIDE_double) {
        memcpy(&bits, &near, sizeof(near));
        return bits;
    }
    if (type == WIDE_float) {
        float x = (float)near;
        uint32_t half = 0;
        memcpy(&half, &x, sizeof(x));
        return half;
    }
    if (type == WIDE_half)
        return (bits & 0x83ff) | ((bits >> 16) % 12 + 10) << 10;
    return kind == 1 ? random_bits(state) >> bits % 64
                     : (uint64_t)((int64_t)(bits % 41) - 20);
}

static void fill(int type, size_t size)
{
    uint64_t state = (uint64_t)type;

    for (int i = 0; i < WIDE_ARGUMENTS * WIDE_COUNT; i++) {
        uint64_t number = some_number(type, &state);
        memcpy(in + type * WIDE_ARGUMENTS * WIDE_SECTION +
                   i / WIDE_COUNT * WIDE_SECTION +
                   (size_t)(i % WIDE_COUNT) * size,
               &number, size);
    }
}

int main(void)
{
    static const size_t sizes[WIDE_TYPES] = {1, 1, 2, 2, 4, 4, 8, 8, 2, 4, 8};
    const size_t count = sizeof(functions) / sizeof(functions[0]);
    int failures = 0;

    for (int type = 0; type < WIDE_TYPES; type++)
        fill(type, sizes[type]);
    for (size_t i = 0; i < count; i++) {
        int32_t width = functions[i].compare(in, out);
        if (width != 0) {
            fprintf(stderr, "%s differs at width %d\n", functions[i].name,
                    (int)width);
            failures++;
        }
    }
    printf("%zu functions\n", count);
    CHECK(failures == 0);
    return 0;
}
