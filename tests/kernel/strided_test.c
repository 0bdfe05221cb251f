// Loops in which work-items walk side by side go round for each of them as
// often as they say, whatever the group, the type of the index and the bound.
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kernel/try.h"

enum {
    N = 96,
    CASES = 12
};

static const char source[] =
    "#define N 96\n"
    "#define TO to[at++ * N + g]\n"
    "kernel void walk(global const int *from, global int *to, int n, uint un,\n"
    "                 local int *part) {\n"
    "    int l = get_local_id(0), g = get_global_id(0), at = 0, sum, last;\n"
    "    int size = get_local_size(0);\n"
    "    part[l] = 0;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    sum = 0;\n"
    "    for (int i = get_global_id(0); i < n; i += get_global_size(0))\n"
    "        sum += from[i];\n"
    "    TO = sum; sum = 0;\n"
    "    for (uint i = get_global_id(0); i < un; i += get_global_size(0))\n"
    "        sum = sum * 3 + from[i];\n"
    "    TO = sum; sum = 0;\n"
    "    for (size_t i = get_global_id(0); i < un; i += get_global_size(0))\n"
    "        sum ^= from[i] + (int)i;\n"
    "    TO = sum; sum = 0;\n"
    "    for (int i = l; i < n; i += size) sum += from[i];\n"
    "    TO = sum; sum = 0;\n"
    "    for (int i = l; i < n; i += 7) sum += i;\n"
    "    TO = sum; sum = 0; last = -1;\n"
    "    for (int i = l; i < n; i += size) { sum += last; last = i; }\n"
    "    TO = sum + last; sum = 0;\n"
    "    for (int i = l; i < n; i += size) {\n"
    "        if (from[i] & 1) continue;\n"
    "        for (int k = 0; k < from[i] % 5; k++) sum += k + i;\n"
    "    }\n"
    "    TO = sum; sum = 0;\n"
    "    for (int i = l; i < n; i += size) {\n"
    "        if (from[i] % 11 == 3) break;\n"
    "        sum++;\n"
    "    }\n"
    "    TO = sum; sum = 0;\n"
    "    if (l & 1)\n"
    "        for (int i = l; i < n; i += size) sum += from[i];\n"
    "    TO = sum;\n"
    "    int i = l;\n"
    "    for (; i < n; i += size) sum -= from[i];\n"
    "    TO = sum + i; sum = 0;\n"
    "    for (int i = l; i < n; i += size) atomic_add(&part[i % size], i);\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    TO = part[l];\n"
    "    for (uint i = get_local_id(0); i < get_local_size(0);\n"
    "         i += get_local_size(0)) sum += 5;\n"
    "    TO = sum;\n"
    "}\n";

// The results of the work-item with local id l of a group of `size`.
static void expect(const int *from, int l, int g, int n, int size,
                   int to[CASES])
{
    unsigned un = (unsigned)n;
    int at = 0, sum = 0, last = -1, i;

    for (i = g; i < n; i += N)
        sum += from[i];
    to[at++] = sum;
    sum = 0;
    for (unsigned u = (unsigned)g; u < un; u += N)
        sum = sum * 3 + from[u];
    to[at++] = sum;
    sum = 0;
    for (unsigned u = (unsigned)g; u < un; u += N)
        sum ^= from[u] + (int)u;
    to[at++] = sum;
    sum = 0;
    for (i = l; i < n; i += size)
        sum += from[i];
    to[at++] = sum;
    sum = 0;
    for (i = l; i < n; i += 7)
        sum += i;
    to[at++] = sum;
    sum = 0;
    for (i = l; i < n; i += size) {
        sum += last;
        last = i;
    }
    to[at++] = sum + last;
    sum = 0;
    for (i = l; i < n; i += size)
        for (int k = 0; !(from[i] & 1) && k < from[i] % 5; k++)
            sum += k + i;
    to[at++] = sum;
    sum = 0;
    for (i = l; i < n && from[i] % 11 != 3; i += size)
        sum++;
    to[at++] = sum;
    sum = 0;
    for (i = l; (l & 1) && i < n; i += size)
        sum += from[i];
    to[at++] = sum;
    for (i = l; i < n; i += size)
        sum -= from[i];
    to[at++] = sum + i;
    sum = 0;
    for (i = l; i < n; i += size)
        sum += i;
    to[at++] = sum;
    to[at++] = 5;
}

static void everyone_goes_round_as_often_as_it_says(struct try *t)
{
    struct hd_program *p = try_build(t, source, NULL);
    static int from[1000], to[CASES * N], expected[CASES];
    static const int bounds[] = {0, 1, 5, 16, 95, 96, 97, 500, 1000};
    static const uint32_t locals[] = {1, 3, 16, 32, 48, 96};
    int *pfrom = from, *pto = to;

    for (int i = 0; i < 1000; i++)
        from[i] = i * 7 % 61;
    for (unsigned b = 0; b < sizeof(bounds) / sizeof(bounds[0]); b++)
        for (unsigned s = 0; s < sizeof(locals) / sizeof(locals[0]); s++) {
            int n = bounds[b], wrong = 0, size = (int)locals[s];
            unsigned un = (unsigned)n;
            TRY_RUN(t, p, "walk",
                    ((struct try_range){1, {N}, {locals[s]}, {0}}),
                    TRY_VALUE(pfrom), TRY_VALUE(pto), TRY_VALUE(n),
                    TRY_VALUE(un), TRY_LOCAL(locals[s] * sizeof(int)));
            for (int g = 0; g < N; g++) {
                expect(from, g % size, g, n, size, expected);
                for (int k = 0; k < CASES; k++)
                    wrong += to[k * N + g] != expected[k];
            }
            CHECK(wrong == 0);
        }
    hd_program_destroy(p);
}

// A bound that is negative, and bounds near the largest number, which the sum
// of index and step would pass.
static void bounds_may_be_extreme(struct try *t)
{
    static const char text[] =
        "kernel void count(global int *to, int n, int far) {\n"
        "    int l = get_local_id(0), turns = 0;\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    for (int i = l; i < n; i += get_local_size(0)) turns++;\n"
        "    to[get_global_id(0)] = turns;\n"
        "    turns = 0;\n"
        "    if (l == 5)\n"
        "        for (int i = l; i < far; i += 0x20000000) turns++;\n"
        "    to[get_global_id(0)] += 100 * turns;\n"
        "}\n";
    struct hd_program *p = try_build(t, text, NULL);
    int to[32], *pto = to, n = -3, far = 0x5fffffff;

    TRY_RUN(t, p, "count", ((struct try_range){1, {32}, {32}, {0}}),
            TRY_VALUE(pto), TRY_VALUE(n), TRY_VALUE(far));
    for (int i = 0; i < 32; i++)
        CHECK(to[i] == (i == 5 ? 300 : 0));
    hd_program_destroy(p);
}

static void the_group_goes_round_together(struct try *t)
{
    static const char text[] =
        "kernel void bins(global const uint *from, global uint *to, int n,\n"
        "                 local uint *mine) {\n"
        "    int l = get_local_id(0), size = get_local_size(0);\n"
        "    for (int k = l; k < 64; k += size) mine[k] = 0;\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    for (int i = get_global_id(0); i < n; i += get_global_size(0))\n"
        "        atomic_inc(&mine[from[i] & 63]);\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    for (int k = l; k < 64; k += size) atomic_add(&to[k], mine[k]);\n"
        "}\n";
    struct hd_program *p = try_build(t, text, NULL);
    static uint32_t from[3000], to[64], expected[64];
    uint32_t *pfrom = from, *pto = to;
    int n = 2999;

    for (int i = 0; i < n; i++) {
        from[i] = (uint32_t)i * 2654435761u >> 7;
        expected[from[i] & 63]++;
    }
    TRY_RUN(t, p, "bins", ((struct try_range){1, {100}, {40}, {0}}),
            TRY_VALUE(pfrom), TRY_VALUE(pto), TRY_VALUE(n),
            TRY_LOCAL(sizeof(to)));
    CHECK(memcmp(to, expected, sizeof(to)) == 0);
    const char *text_of =
        hd_kernel_info(hd_program_find(p, "bins"))->explanation;
    CHECK(strstr(text_of, "interchanged loops: 3"));
    hd_program_destroy(p);
}

int main(void)
{
    struct try t = try_open();

    everyone_goes_round_as_often_as_it_says(&t);
    bounds_may_be_extreme(&t);
    the_group_goes_round_together(&t);
    try_close(&t);
    return 0;
}
