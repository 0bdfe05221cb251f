// Each rule of the compiler that makes kernels faster may be left out: what
// kernels give is the same, and the module is whole after every pass.
#include "kernel/rules.h"
#include "tests/kernel/try.h"

enum {
    N = 100,
    WIDTH = 7
};

static const char *const rules[] = {
#define NAME_OF(rule, name) name,
    HDI_RULES_ALL(NAME_OF)
#undef NAME_OF
};

// Something for most of them.
static const char source[] =
    "typedef struct { int a, b, c; } three;\n"
    "constant int table[4] = {1, 3, 5, 7};\n"
    "int choose(int k) {\n"
    "    switch (k & 3) { case 0: return 4; case 1: return k; case 2: return "
    "9;\n"
    "    default: return -k; }\n"
    "}\n"
    "kernel void k(global const int *x, global int *to, int n,\n"
    "              global const uchar4 *c, int w, local int *t) {\n"
    "    int i = get_global_id(0), l = get_local_id(0);\n"
    "    int before = x[max(i - 1, 0)], after = x[min(i + 1, n - 1)];\n"
    "    local int sum;\n"
    "    if (l == 0) sum = 0;\n"
    "    t[l] = before + after;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    int s = t[l] + choose(i) + i / w + table[i & 3];\n"
    "    for (int j = 0; j < w; j++) s += x[j] * (i ^ j);\n"
    "    atomic_add(&sum, s & 15);\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    int4 d = convert_int4(c[i]);\n"
    "    to[i] = s + sum + d.x - d.w;\n"
    "}\n"
    "kernel void flat(global const int2 *x, global int *to, int n,\n"
    "                 global const three *y, int w) {\n"
    "    for (int i = get_global_id(0); i < n; i += get_global_size(0)) {\n"
    "        three all = y[i];\n"
    "        to[i] = x[(i * w) % n].x - x[(i * w) % n].y + all.a * all.c\n"
    "                + (i > 0 && i < n - 1 ? x[i - 1].x + x[i + 1].y : 0);\n"
    "    }\n"
    "}\n"
    "kernel void turn(global const int *x, global int *to, int n) {\n"
    "    int i = get_global_id(0), j = get_global_id(1);\n"
    "    if (i < n && j < n) to[i * n + j] = x[j * n + i] + 1;\n"
    "}\n";

struct results {
    int whole[N], flat[N], turned[N];
};

static struct results run(struct try *t, const char *options)
{
    static int x[2 * N], y[3 * N], *px = x, *py = y, n = N, w = WIDTH,
                                   side = 10;
    static unsigned char c[4 * N], *pc = c;
    struct results r;
    int *whole = r.whole, *flat = r.flat, *turned = r.turned;
    struct hd_program *p = try_build(t, source, options);

    memset(&r, 0, sizeof(r));
    for (int i = 0; i < 4 * N; i++) {
        c[i] = (unsigned char)(i * 37);
        if (i < 2 * N)
            x[i] = i * 71 % 64 - 20;
        if (i < 3 * N)
            y[i] = i * 13 % 31;
    }
    TRY_RUN(t, p, "k", ((struct try_range){1, {N}, {20}, {0}}), TRY_VALUE(px),
            TRY_VALUE(whole), TRY_VALUE(n), TRY_VALUE(pc), TRY_VALUE(w),
            TRY_LOCAL(20 * sizeof(int)));
    TRY_RUN(t, p, "flat", ((struct try_range){1, {32}, {8}, {0}}),
            TRY_VALUE(px), TRY_VALUE(flat), TRY_VALUE(n), TRY_VALUE(py),
            TRY_VALUE(w));
    TRY_RUN(t, p, "turn", ((struct try_range){2, {16, 16}, {8, 8}, {0}}),
            TRY_VALUE(px), TRY_VALUE(turned), TRY_VALUE(side));
    hd_program_destroy(p);
    return r;
}

static void kernels_give_the_same_without(struct try *t)
{
    const struct results all = run(t, "-heddle-passes=verify");

    CHECK(all.turned[1] == -20 + 71 * 10 % 64 + 1);
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        char options[64];
        snprintf(options, sizeof(options),
                 "-heddle-passes=verify " HDI_WITHOUT_OPTION "%s", rules[i]);
        struct results without = run(t, options);
        if (memcmp(&all, &without, sizeof(all)) != 0)
            printf("differs without %s\n", rules[i]);
        CHECK(memcmp(&all, &without, sizeof(all)) == 0);
    }
}

static bool has_lanes(struct try *t, const char *options)
{
    struct hd_program *p = try_build(t, source, options);
    bool found = strstr(hd_kernel_info(hd_program_find(p, "k"))->explanation,
                        ", masked lanes") != NULL;

    hd_program_destroy(p);
    return found;
}

static void what_is_left_out_is_not_done(struct try *t)
{
    CHECK(has_lanes(t, NULL));
    CHECK(!has_lanes(t, "-heddle-without=lanes"));
    CHECK(!has_lanes(t, "-heddle-without=axis,lanes,top"));
}

static void rules_that_are_none_are_named(struct try *t)
{
    const struct hd_program_params params = {
        .source = source, .options = "-heddle-without=top,nonsense"};
    struct hd_program *p;
    struct hd_error error;

    CHECK_FAILS(hdi_program_create(&t->context, &params, &p, &error), HD_EINVAL,
                error, "nonsense: there is no such rule");
    CHECK(strstr(error.text, "ahead, axis, butterfly"));
}

int main(void)
{
    struct try t = try_open();

    kernels_give_the_same_without(&t);
    what_is_left_out_is_not_done(&t);
    rules_that_are_none_are_named(&t);
    try_close(&t);
    return 0;
}
