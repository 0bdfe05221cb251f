#include "kernel/compiler/target/target.h"

#include <stddef.h>
#include <string.h>

// In the order of the structure's members. Where nothing else has been measured
// a gather is 12 and a scatter 16.
// The last four are the same for all.
#define USUAL 2, 8, 4, 8
static const struct hdi_target
    zen2 = {"AMD Zen 2", 32, 16, 8,  false, 12, 16, 2, 2,  6,
            2,           2,  5,  12, 14,    8,  64, 8, 32, USUAL},
    zen3 = {"AMD Zen 3", 32, 16, 8,  false, 12, 16, 2, 2,  6,
            2,           2,  4,  12, 14,    8,  64, 8, 32, USUAL},
    // One load of 64 bytes in a cycle; a gather goes from lane to lane.
    zen4 = {"AMD Zen 4", 64, 32, 8,  true, 40, 56, 1, 4,  2,
            1,           1,  4,  14, 14,   8,  64, 8, 32, USUAL},
    zen5 = {"AMD Zen 5", 64, 32, 8,  true, 36, 48, 1,  4,  2,
            2,           2,  4,  14, 14,   8,  64, 12, 48, USUAL},
    client = {"Intel, AVX2",
              32,
              16,
              8,
              false,
              12,
              16,
              1,
              2,
              2,
              2,
              2,
              4,
              12,
              12,
              8,
              64,
              8,
              32,
              USUAL},
    xeon = {"Intel, AVX-512",
            64,
            32,
            8,
            true,
            12,
            16,
            1,
            2,
            1,
            2,
            2,
            4,
            14,
            12,
            8,
            64,
            8,
            32,
            USUAL},
    // No gather: each lane is loaded and put into the vector.
    neon = {"AArch64", 16, 32, 8, false, 12, 16, 0, 2,  6,
            2,         2,  4,  8, 12,    8,  64, 4, 64, USUAL},
    apple = {"Apple", 16, 32, 8, false, 12, 16,  0, 2,   6,
             3,       4,  4,  8, 10,    8,  128, 8, 128, USUAL},
    // By instruction sets alone.
    avx512 = {"x86, AVX-512",
              64,
              32,
              8,
              true,
              12,
              16,
              1,
              2,
              1,
              2,
              2,
              4,
              14,
              14,
              8,
              64,
              8,
              32,
              USUAL},
    avx2 = {"x86, AVX2", 32, 16, 8,  false, 12, 16, 1, 2,  2,
            2,           2,  4,  12, 14,    8,  64, 8, 32, USUAL},
    sse = {"x86-64", 16, 16, 4,  false, 12, 16, 0, 2,  6,
           1,        1,  4,  12, 14,    8,  64, 8, 32, USUAL};

// Names begin so; the first that fits counts.
static const struct {
    const char *cpu;
    const struct hdi_target *target;
} names[] = {
    {"znver2", &zen2},         {"znver3", &zen3},
    {"znver4", &zen4},         {"znver5", &zen5},
    {"skylake-avx512", &xeon}, {"cascadelake", &xeon},
    {"cooperlake", &xeon},     {"cannonlake", &xeon},
    {"icelake", &xeon}, // -client, -server
    {"tigerlake", &xeon},      {"rocketlake", &xeon},
    {"sapphirerapids", &xeon}, {"emeraldrapids", &xeon},
    {"graniterapids", &xeon},  {"haswell", &client},
    {"broadwell", &client},    {"skylake", &client},
    {"alderlake", &client},    {"raptorlake", &client},
    {"meteorlake", &client},   {"arrowlake", &client},
    {"lunarlake", &client},    {"pantherlake", &client},
    {"apple", &apple},
};

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

// "+avx2" among "+avx,+avx2"; the last word on it counts.
// As in LLVM's lists: a + or a - before each, commas between.
static bool has(const char *features, const char *name)
{
    size_t length = strlen(name);
    bool on = false;

    for (const char *f = features; *f; f += strspn(f, ",")) {
        size_t size = strcspn(f, ",");
        if (size == length + 1 && memcmp(f + 1, name, length) == 0)
            on = *f == '+';
        f += size;
    }
    return on;
}

static bool is_x86(const char *triple)
{
    return begins(triple, "x86_64");
}

static struct hdi_target of_features(const char *triple, const char *features)
{
    if (!is_x86(triple))
        return neon;
    if (!has(features, "avx512f"))
        return has(features, "avx2") ? avx2 : sse;
    struct hdi_target wide = avx512;
    if (!has(features, "avx512vl")) // for vectors of all lengths
        wide.root_bits = sse.root_bits;
    return wide;
}

// By name where the processor was measured, but for no more than its features
// say; else by features alone.
struct hdi_target hdi_target_find(const char *triple, const char *cpu,
                                  const char *features)
{
    struct hdi_target usual = of_features(triple, features);

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (!begins(cpu, names[i].cpu))
            continue;
        struct hdi_target known = *names[i].target;
        // A virtual machine may hide instruction sets that the processor has.
        if (known.vector_bytes > usual.vector_bytes)
            return usual;
        if (known.root_bits > usual.root_bits)
            known.root_bits = usual.root_bits;
        return known;
    }
    return usual;
}

unsigned hdi_target_lanes_of(const struct hdi_target *target, uint32_t row)
{
    unsigned lanes = hdi_target_lanes(target);

    while (row && lanes > row)
        lanes /= 2;
    return lanes;
}
