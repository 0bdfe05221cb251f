// Trees in local memory, of which two steps are done at once, leave in it what
// step by step does: all of it, for groups of any size and any first step.
#include <string.h>

#include "tests/kernel/try.h"

enum {
    MOST = 300, // work-items of a group
    ROOM = 4    // elements of each
};

// `step` is what work-item l does of one step; `in` what stands in front of it
// and `out` behind, of which one is a barrier.
static const char source[] =
    "#pragma OPENCL FP_CONTRACT OFF\n"
    "#define WAIT barrier(CLK_LOCAL_MEM_FENCE);\n"
    "#define KERNEL(name, number, condition, more, step, in, out) \\\n"
    "kernel void name(global float *to, int first, local float *part, \\\n"
    "                 local int *which) { \\\n"
    "    number l = get_local_id(0); \\\n"
    "    int size = get_local_size(0); \\\n"
    "    for (int i = get_local_id(0); i < ROOM * size; i += size) { \\\n"
    "        part[i] = to[i]; \\\n"
    "        which[i] = i; \\\n"
    "    } \\\n"
    "    WAIT \\\n"
    "    for (number n = first; condition; more) { \\\n"
    "        in if (l < n) { step } out \\\n"
    "    } \\\n"
    "    WAIT \\\n"
    "    for (int i = get_local_id(0); i < ROOM * size; i += size) \\\n"
    "        to[i] = part[i] + 1000 * which[i]; \\\n"
    "}\n"
    "#define SUM part[l] += part[l + n];\n"
    "#define LEAST float a = part[l], b = part[l + n]; \\\n"
    "    int i = which[l], k = which[n + l]; \\\n"
    "    part[l] = b < a ? b : a; which[l] = b < a ? k : i;\n"
    "#define TWICE part[l] += part[l + n]; part[l] = 0.5f * part[l];\n"
    "#define OWN part[l] += part[l + n] * (l + 1);\n"
    "#define CROSS part[l + n] = part[l];\n"
    "KERNEL(sum, int, n > 0, n /= 2, SUM, , WAIT)\n"
    "KERNEL(sum_unsigned, uint, n != 0, n >>= 1, SUM, WAIT, )\n"
    "KERNEL(sum_long, size_t, n > 0, n /= 2, SUM, , WAIT)\n"
    "KERNEL(least, int, n > 0, n >>= 1, LEAST, WAIT, WAIT)\n"
    "KERNEL(twice, uint, n > 0, n /= 2, TWICE, , WAIT)\n"
    "KERNEL(own, int, n > 0, n /= 2, OWN, , WAIT)\n"
    "KERNEL(cross, int, n > 0, n /= 2, CROSS, , WAIT)\n"
    "KERNEL(until_one, int, n > 1, n /= 2, SUM, , WAIT)\n"
    "KERNEL(thirds, int, n > 0, n /= 3, SUM, , WAIT)\n"
    "KERNEL(below_zero, int, n != 0, n /= 2, SUM, , WAIT)\n";

static const struct kind {
    const char *name;
    int last, by; // least n of a step, and what n is divided by
    bool pairs;   // two steps are done at once
} kinds[] = {{"sum", 1, 2, true},      {"sum_unsigned", 1, 2, true},
             {"sum_long", 1, 2, true}, {"least", 1, 2, true},
             {"twice", 1, 2, true},    {"own", 1, 2, false},
             {"cross", 1, 2, false},   {"until_one", 2, 2, false},
             {"thirds", 1, 3, false},  {"below_zero", 1, 2, true}};

static void step(const char *name, float *part, int *which, int l, int n)
{
    float a = part[l], b = part[l + n];

    if (strcmp(name, "least") == 0) {
        part[l] = b < a ? b : a;
        which[l] = b < a ? which[l + n] : which[l];
    } else if (strcmp(name, "twice") == 0) {
        part[l] = 0.5f * (a + b);
    } else if (strcmp(name, "own") == 0) {
        float more = b * (float)(l + 1);
        part[l] = a + more;
    } else if (strcmp(name, "cross") == 0) {
        part[l + n] = a;
    } else {
        part[l] = a + b;
    }
}

static void run(struct try *t, const struct hd_program *p,
                const struct kind *kind, int size, int first)
{
    static float to[ROOM * MOST], *pto = to;
    float part[ROOM * MOST];
    int which[ROOM * MOST], wrong = 0;

    for (int i = 0; i < ROOM * size; i++) {
        part[i] = to[i] = (float)(i * 7919 % 1009) / 64;
        which[i] = i;
    }
    TRY_RUN(t, p, kind->name,
            ((struct try_range){1, {(uint64_t)size}, {(uint32_t)size}, {0}}),
            TRY_VALUE(pto), TRY_VALUE(first),
            TRY_LOCAL((size_t)size * ROOM * 4),
            TRY_LOCAL((size_t)size * ROOM * 4));
    for (int n = first; n >= kind->last; n /= kind->by)
        for (int l = 0; l < n && l < size; l++)
            step(kind->name, part, which, l, n);
    for (int l = 0; l < ROOM * size; l++)
        wrong += to[l] != part[l] + (float)(1000 * which[l]);
    if (wrong)
        printf("%s, group of %d, first step %d: %d wrong\n", kind->name, size,
               first, wrong);
    CHECK(wrong == 0);
}

static bool does_pairs(const struct hd_program *p, const char *name)
{
    return strstr(hd_kernel_info(hd_program_find(p, name))->explanation,
                  "two steps of a tree at once");
}

int main(void)
{
    struct try t = try_open();
    struct hd_program *p = try_build(&t, source, "-cl-std=CL1.2 -D ROOM=4");

    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        const struct kind *kind = &kinds[k];
        CHECK(does_pairs(p, kind->name) == kind->pairs);
        for (int size = 1; size <= MOST; size += size < 40 ? 1 : 13) {
            run(&t, p, kind, size, size / 2);
            run(&t, p, kind, size, size / 3);
            // More of them than there are work-items.
            run(&t, p, kind, size, size);
            run(&t, p, kind, size, 2 * size);
            run(&t, p, kind, size, 3 * size);
        }
        run(&t, p, kind, 256, 128);
        if (strcmp(kind->name, "below_zero") == 0)
            run(&t, p, kind, 64, -64);
    }
    hd_program_destroy(p);
    try_close(&t);
    return 0;
}
