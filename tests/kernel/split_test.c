// A region that begins by asking whether an id is below a limit is done in
// parts: each work-item still goes its own way.
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kernel/try.h"

enum {
    N = 173,
    CONDITIONS = 19
};

// Of the local id l, u or w and the limit a, b or c, in C as in OpenCL C.
#define EACH(X) \
    X(l < a)    \
    X(l <= a)   \
    X(l > a)    \
    X(l >= a)   \
    X(a < l)    \
    X(a >= l)   \
    X(u < b)    \
    X(u <= b)   \
    X(u > b)    \
    X(b <= u)   \
    X(w < c)    \
    X(w <= c)   \
    X(c < w) X(w >= c) X(l == 0) X(l != 0) X(u == 0) X(l + 3 < a) X(g <= a)

#define TEXT(condition) "BOTH(" #condition ")\nONE(" #condition ")\n"

static const char source[] =
    "#define N 173\n"
    "#define BOTH(condition) \\\n"
    "    barrier(CLK_LOCAL_MEM_FENCE); \\\n"
    "    if (condition) to[at * N + g] = seen[l] + kept; \\\n"
    "    else to[at * N + g] = -1 - seen[l]; \\\n"
    "    at++;\n"
    "#define ONE(condition) \\\n"
    "    barrier(CLK_LOCAL_MEM_FENCE); \\\n"
    "    if (condition) { to[at * N + g] = seen[l]; kept += 2; } \\\n"
    "    at++;\n"
    "kernel void ask(global int *to, int a, uint b, ulong c,\n"
    "                local int *seen) {\n"
    "    int l = get_local_id(0), g = get_global_id(0), kept = l, at = 0;\n"
    "    uint u = get_local_id(0);\n"
    "    size_t w = get_local_id(0);\n"
    "    seen[l] = g;\n" EACH(
        TEXT) "}\n"
              "kernel void leave(global int *to, int a, local int *seen) {\n"
              "    int l = get_local_id(0), g = get_global_id(0);\n"
              "    to[g] = 1;\n"
              "    barrier(CLK_GLOBAL_MEM_FENCE);\n"
              "    if (l >= a) return;\n"
              "    to[g] = 2;\n"
              "    barrier(CLK_GLOBAL_MEM_FENCE);\n"
              "    if (l <= a / 2) return;\n"
              "    to[g] = 3;\n"
              "}\n"
              "#define KEEP(name, condition) \\\n"
              "    kernel void name(global int *to, global const int *from) {"
              " int kept = from[get_group_id(0)];"
              " if (condition) to[N] = kept;"
              " barrier(CLK_GLOBAL_MEM_FENCE);"
              " to[get_global_id(0)] = kept + (int)get_local_id(0); }\n"
              "KEEP(keep_first, get_global_id(0) == 0)\n"
              "KEEP(keep_below, get_global_id(0) < 20)\n"
              "KEEP(keep_lone, get_local_id(0) == 5)\n"
              "KEEP(keep_none, get_local_id(0) < get_group_id(0) % 2)\n"
              "kernel void keep_limit(global int *to, int a, local int *seen) {"
              " int l = get_local_id(0), g = get_global_id(0);"
              " seen[l] = g; to[g] = 0;"
              " for (int s = 1; s < a; s *= 4) {"
              " barrier(CLK_LOCAL_MEM_FENCE);"
              " if (l >= 3 * s) to[g] += seen[l - 3 * s];"
              " } }\n"
              "kernel void tree(global int *to, local int *part) {\n"
              "    uint l = get_local_id(0);\n"
              "    part[l] = to[get_global_id(0)];\n"
              "    barrier(CLK_LOCAL_MEM_FENCE);\n"
              "    for (uint n = get_local_size(0) / 2; n > 0; n /= 2) {\n"
              "        if (l < n) part[l] += part[l + n];\n"
              "        barrier(CLK_LOCAL_MEM_FENCE);\n"
              "    }\n"
              "    to[get_global_id(0)] = part[0];\n"
              "}\n";

static const int limits[] = {INT_MIN, -5, 0,  1,  2,   7,      15,
                             16,      17, 31, 40, 173, INT_MAX};

static void every_condition_is_asked_right(struct try *t)
{
    struct hd_program *p = try_build(t, source, NULL);
    static int to[2 * CONDITIONS * N], *pto = to;
    static const unsigned locals[] = {1, 3, 8, 16, 31, 32, 64, 173};

    for (unsigned s = 0; s < sizeof(locals) / sizeof(locals[0]); s++)
        for (unsigned i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
            int a = limits[i];
            unsigned b = (unsigned)a;
            unsigned long long c = (unsigned long long)(long long)a;
            memset(to, 0, sizeof(to));
            TRY_RUN(t, p, "ask", ((struct try_range){1, {N}, {locals[s]}, {0}}),
                    TRY_VALUE(pto), TRY_VALUE(a), TRY_VALUE(b), TRY_VALUE(c),
                    TRY_LOCAL(locals[s] * sizeof(int)));
            int wrong = 0;
            for (int g = 0; g < N; g++) {
                int l = g % (int)locals[s], kept = l;
                unsigned u = (unsigned)l;
                unsigned long long w = (unsigned long long)l;
                const bool answers[CONDITIONS] = {
#define ANSWER(condition) condition,
                    EACH(ANSWER)};
                for (int k = 0; k < CONDITIONS; k++) {
                    wrong +=
                        to[2 * k * N + g] != (answers[k] ? g + kept : -1 - g);
                    wrong += to[(2 * k + 1) * N + g] != (answers[k] ? g : 0);
                    kept += answers[k] ? 2 : 0;
                }
            }
            CHECK(wrong == 0);
        }
    const char *text = hd_kernel_info(hd_program_find(p, "ask"))->explanation;
    CHECK(strstr(text, ", split where"));
    hd_program_destroy(p);
}

static void those_who_leave_are_left_out(struct try *t)
{
    struct hd_program *p = try_build(t, source, NULL);
    static int to[N], *pto = to;

    for (int local = 1; local <= N; local = local * 2 + 1)
        for (int a = 0; a < 50; a += 7) {
            TRY_RUN(t, p, "leave",
                    ((struct try_range){1, {N}, {(uint32_t)local}, {0}}),
                    TRY_VALUE(pto), TRY_VALUE(a),
                    TRY_LOCAL((size_t)local * sizeof(int)));
            for (int g = 0; g < N; g++) {
                int l = g % local;
                CHECK(to[g] == (l >= a ? 1 : l <= a / 2 ? 2 : 3));
            }
        }
    hd_program_destroy(p);
}

// Also where none of a group's work-items has anything else to do.
static void what_the_group_agrees_on_is_kept(struct try *t)
{
    static const char *const names[] = {"keep_first", "keep_below", "keep_lone",
                                        "keep_none"};
    struct hd_program *p = try_build(t, source, NULL);
    static int to[N + 1], from[N], *pto = to, *pfrom = from;

    for (int i = 0; i < N; i++)
        from[i] = 1000 * i + 7;
    for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
        for (int local = 1; local <= N; local = local * 2 + 1) {
            TRY_RUN(t, p, names[k],
                    ((struct try_range){1, {N}, {(uint32_t)local}, {0}}),
                    TRY_VALUE(pto), TRY_VALUE(pfrom));
            for (int g = 0; g < N; g++)
                CHECK(to[g] == from[g / local] + g % local);
        }
    hd_program_destroy(p);
}

// The limit is computed where it is asked for, and used behind that too.
static void a_limit_may_be_kept(struct try *t)
{
    struct hd_program *p = try_build(t, source, NULL);
    static int to[N], *pto = to;

    for (int local = 1; local <= N; local = local * 2 + 1)
        for (int a = 0; a < 80; a = a * 2 + 3) {
            TRY_RUN(t, p, "keep_limit",
                    ((struct try_range){1, {N}, {(uint32_t)local}, {0}}),
                    TRY_VALUE(pto), TRY_VALUE(a),
                    TRY_LOCAL((size_t)local * sizeof(int)));
            for (int g = 0; g < N; g++) {
                int sum = 0;
                for (int s = 1; s < a; s *= 4)
                    sum += g % local >= 3 * s ? g - 3 * s : 0;
                CHECK(to[g] == sum);
            }
        }
    CHECK(strstr(hd_kernel_info(hd_program_find(p, "keep_limit"))->explanation,
                 ", split where"));
    hd_program_destroy(p);
}

static void trees_of_every_size_add_up(struct try *t)
{
    struct hd_program *p = try_build(t, source, NULL);
    static int to[256], *pto = to;

    for (uint32_t local = 1; local <= 256; local *= 2) {
        for (int i = 0; i < 256; i++)
            to[i] = 1 << i % 20;
        TRY_RUN(t, p, "tree", ((struct try_range){1, {256}, {local}, {0}}),
                TRY_VALUE(pto), TRY_LOCAL(local * sizeof(int)));
        for (uint32_t i = 0; i < 256; i++) {
            int sum = 0;
            for (uint32_t k = i / local * local; k < i / local * local + local;
                 k++)
                sum += 1 << k % 20;
            CHECK(to[i] == sum);
        }
    }
    hd_program_destroy(p);
}

int main(void)
{
    struct try t = try_open();

    every_condition_is_asked_right(&t);
    those_who_leave_are_left_out(&t);
    what_the_group_agrees_on_is_kept(&t);
    a_limit_may_be_kept(&t);
    trees_of_every_size_add_up(&t);
    try_close(&t);
    return 0;
}
