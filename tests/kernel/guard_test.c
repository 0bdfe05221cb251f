// Regions in which one work-item of a row does all are run for that one alone,
// and give what they give when every work-item asks for itself; those in which
// all find the same are run once.
#include <stdio.h>
#include <string.h>

#include "tests/kernel/try.h"

static const char source[] =
    // The first, one that an argument names, and the last of a group.
    "__kernel void ends(__global int *out, __local int *part, int which) {\n"
    "    int l = get_local_id(0), g = get_group_id(0);\n"
    "    part[l] = 100 * g + l;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    if (l == 0) out[4 * g] = part[1];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    if (which == l) out[4 * g + 1] = part[l];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    if (l == get_local_size(0) - 1 && g != 1) out[4 * g + 2] = part[l];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    if (l != 2) return;\n"
    "    out[4 * g + 3] = part[l];\n"
    "}\n"
    "__kernel void corner(__global int *out) {\n"
    "    if (get_local_id(1) == 2 && get_local_id(0) == 1)\n"
    "        out[get_group_id(1) * get_num_groups(0) + get_group_id(0)] =\n"
    "            get_global_id(0) + 1000 * get_global_id(1);\n"
    "}\n"
    // No lone work-items: what one does others need, or the id is cut off.
    "__kernel void kept(__global int *out, __global int *n) {\n"
    "    int l = get_local_id(0), mine = 7;\n"
    "    if (l == 0) mine = atomic_inc(n);\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    out[get_global_id(0)] = mine;\n"
    "}\n"
    "__kernel void cut_off(__global int *out, __local int *part) {\n"
    "    int l = get_local_id(0);\n"
    "    part[l] = l;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    if ((l & 3) == 0) out[get_global_id(0)] = part[l + 1];\n"
    "}\n"
    "__kernel void counted(__global int *out, __local int *n, int rounds) {\n"
    "    int l = get_local_id(0);\n"
    "    if (l == 0) *n = 0;\n"
    "    for (int i = 0; i < rounds; i++) {\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "        if (l == 70) *n += 1000;\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "        if (l == 3) *n += i;\n"
    "    }\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    out[get_global_id(0)] = *n;\n"
    "}\n"
    // What the group agrees on from turn to turn, and what it does not.
    "__kernel void agreed(__global int *out, __local int *part, int n) {\n"
    "    int l = get_local_id(0), by = 1;\n"
    "    part[l] = l;\n"
    "    for (; n > 0; n /= 3, by = by * 5 + n) {\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "        part[l] += by;\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    }\n"
    "    out[get_global_id(0)] = part[l] + 1000 * by;\n"
    "}\n"
    "__kernel void own(__global int *out, __local int *part, int n) {\n"
    "    int l = get_local_id(0), by = l;\n"
    "    part[l] = 0;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    for (int k = 0; k < n; k++) {\n"
    "        by = by * 2 + part[k];\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "        part[l] = l + k;\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    }\n"
    "    out[get_global_id(0)] = by;\n"
    "}\n";

enum {
    N = 150, // the last group has 22 work-items
    GROUP = 64,
    GROUPS = 3,
    ROW = 18 // of `corner`, in groups of 4 x 4
};

static unsigned count(const struct hd_program *p, const char *name,
                      const char *words)
{
    const char *text = hd_kernel_info(hd_program_find(p, name))->explanation;
    unsigned n = 0;

    printf("%s:\n%s\n", name, text);
    for (; (text = strstr(text, words)); text++)
        n++;
    return n;
}

// How many regions of a kernel have a lone work-item.
static unsigned lone_regions(const struct hd_program *p, const char *name)
{
    return count(p, name, "one work-item of each row");
}

static unsigned shared_regions(const struct hd_program *p, const char *name)
{
    return count(p, name, "done once for the whole group");
}

static void one_item_of_a_group_acts(struct try *t, struct hd_program *p)
{
    static int out[4 * GROUPS], *pout = out;

    for (int which = -1; which < 70; which++) {
        memset(out, -1, sizeof(out));
        TRY_RUN(t, p, "ends", ((struct try_range){1, {N}, {GROUP}, {0}}),
                TRY_VALUE(pout), TRY_LOCAL(GROUP * sizeof(int)),
                TRY_VALUE(which));
        for (int g = 0; g < GROUPS; g++) {
            int size = g < GROUPS - 1 ? GROUP : N % GROUP;
            bool has = which >= 0 && which < size;
            CHECK(out[4 * g] == 100 * g + 1);
            CHECK(out[4 * g + 1] == (has ? 100 * g + which : -1));
            CHECK(out[4 * g + 2] == (g != 1 ? 100 * g + size - 1 : -1));
            CHECK(out[4 * g + 3] == 100 * g + 2);
        }
    }
}

// In two dimensions; the groups at the edge may not have it.
static void one_item_of_a_square_acts(struct try *t, struct hd_program *p)
{
    static int out[25], *pout = out;

    memset(out, -1, sizeof(out));
    TRY_RUN(t, p, "corner", ((struct try_range){2, {ROW, ROW}, {4, 4}, {0}}),
            TRY_VALUE(pout));
    for (int y = 0; y < 5; y++)
        for (int x = 0; x < 5; x++)
            CHECK(out[5 * y + x] ==
                  (y < 4 ? 4 * x + 1 + 1000 * (4 * y + 2) : -1));
}

static void others_are_not_left_out(struct try *t, struct hd_program *p)
{
    static int out[N], *pout = out;
    static int n = 100, *pn = &n;
    int rounds = 5;
    struct try_range range = {1, {N}, {GROUP}, {0}};

    TRY_RUN(t, p, "kept", range, TRY_VALUE(pout), TRY_VALUE(pn));
    for (int i = 0; i < N; i++)
        CHECK(out[i] == (i % GROUP == 0 ? 100 + i / GROUP : 7));
    memset(out, -1, sizeof(out));
    TRY_RUN(t, p, "cut_off", range, TRY_VALUE(pout),
            TRY_LOCAL((GROUP + 1) * sizeof(int)));
    for (int i = 0; i < N; i++)
        CHECK(out[i] == (i % 4 == 0 ? i % GROUP + 1 : -1));
    TRY_RUN(t, p, "counted", range, TRY_VALUE(pout), TRY_LOCAL(sizeof(int)),
            TRY_VALUE(rounds));
    for (int i = 0; i < N; i++)
        CHECK(out[i] == 10);
}

static void what_all_find_is_found_once(struct try *t, struct hd_program *p)
{
    static int out[N], *pout = out;
    const struct try_range range = {1, {N}, {GROUP}, {0}};

    CHECK(shared_regions(p, "agreed") == 2);
    CHECK(shared_regions(p, "own") == 0); // it keeps what is its own
    CHECK(shared_regions(p, "kept") == 0);
    for (int n = 0; n < 60; n += 7) {
        int by = 1, sum = 0;
        for (int k = n; k > 0; k /= 3, by = by * 5 + k)
            sum += by;
        TRY_RUN(t, p, "agreed", range, TRY_VALUE(pout),
                TRY_LOCAL(GROUP * sizeof(int)), TRY_VALUE(n));
        for (int i = 0; i < N; i++)
            CHECK(out[i] == i % GROUP + sum + 1000 * by);
    }
    for (int n = 0; n < 12; n++) {
        TRY_RUN(t, p, "own", range, TRY_VALUE(pout),
                TRY_LOCAL(GROUP * sizeof(int)), TRY_VALUE(n));
        for (int i = 0; i < N; i++) {
            int by = i % GROUP;
            for (int k = 0; k < n; k++)
                by = by * 2 + (k > 0 ? k + k - 1 : 0);
            CHECK(out[i] == by);
        }
    }
}

int main(void)
{
    struct try t = try_open();
    struct hd_program *p = try_build(&t, source, NULL);

    CHECK(lone_regions(p, "ends") == 4);
    CHECK(lone_regions(p, "corner") == 1);
    CHECK(lone_regions(p, "kept") == 0);
    CHECK(lone_regions(p, "cut_off") == 0);
    CHECK(lone_regions(p, "counted") == 3);
    one_item_of_a_group_acts(&t, p);
    one_item_of_a_square_acts(&t, p);
    others_are_not_left_out(&t, p);
    what_all_find_is_found_once(&t, p);
    hd_program_destroy(p);
    try_close(&t);
    return 0;
}
