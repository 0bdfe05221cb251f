// Long kernels: of many cases and of many copies of one function; and programs
// of many kernels. They take the time of what they do, not its square: the time
// limit of the test is far above that and far below its square.
#include <stdio.h>

#include "tests/kernel/try.h"

enum {
    WORDS = 56, // of a row, moved by 0 to WORDS - 1 words and 0 to 3 bytes
    ROWS = 250
};

static const struct try_range range = {1, {ROWS}, {8}, {0}};

static void add(char **end, const char *form, int a, int b, int c)
{
    *end += sprintf(*end, form, a, b, c);
}

// A switch of as many cases as there are words, twice.
static char *make_moves(void)
{
    char *text = malloc(1 << 20), *end = text;

    CHECK(text);
    end += sprintf(end, "static uint join(uint a, uint b, int bytes) {\n"
                        "    uint r = 0;\n"
                        "    if (bytes == 0) r = b;\n"
                        "    else if (bytes == 1) r = (a >> 24) | (b << 8);\n"
                        "    else if (bytes == 2) r = (a >> 16) | (b << 16);\n"
                        "    else if (bytes == 3) r = (a >> 8) | (b << 24);\n"
                        "    return r;\n"
                        "}\n"
                        "static void move(uint *w, uint by) {\n"
                        "    switch (by / 4) {\n");
    for (int by = 0; by < WORDS; by++) {
        add(&end, "    case %d:\n", by, 0, 0);
        for (int i = WORDS - 1; i >= 0; i--)
            if (i > by)
                add(&end, "        w[%d] = join(w[%d], w[%d], by & 3);\n", i,
                    i - by - 1, i - by);
            else if (i == by)
                add(&end, "        w[%d] = join(0, w[0], by & 3);\n", i, 0, 0);
            else
                add(&end, "        w[%d] = 0;\n", i, 0, 0);
        add(&end, "        break;\n", 0, 0, 0);
    }
    add(&end,
        "    }\n"
        "}\n"
        "typedef struct { uint w[%d]; } row;\n"
        "kernel void moves(global const row *from, global row *to,\n"
        "                  uint there, uint back) {\n"
        "    row r = from[get_global_id(0)], s = from[0];\n",
        WORDS, 0, 0);
    add(&end,
        "    if (there) move(r.w, get_global_id(0) %% there);\n"
        "    if (back) move(s.w, back);\n",
        0, 0, 0);
    for (int i = 0; i < WORDS; i++)
        add(&end, "    r.w[%d] ^= s.w[%d];\n", i, i, 0);
    add(&end, "    to[get_global_id(0)] = r;\n}\n", 0, 0, 0);
    return text;
}

static void move(const uint32_t *from, uint32_t *to, uint32_t by)
{
    memset(to, 0, WORDS * sizeof(*to));
    memcpy((char *)to + by, from, WORDS * sizeof(*to) - by);
}

static void many_cases_are_many_moves(struct try *t)
{
    static uint32_t from[ROWS * WORDS], to[ROWS * WORDS];
    uint32_t *pfrom = from, *pto = to, there = 4 * WORDS, back = 9;
    char *text = make_moves();
    struct hd_program *p = try_build(t, text, NULL);

    for (uint32_t i = 0; i < ROWS * WORDS; i++)
        from[i] = i * 2654435761u;
    TRY_RUN(t, p, "moves", range, TRY_VALUE(pfrom), TRY_VALUE(pto),
            TRY_VALUE(there), TRY_VALUE(back));
    for (uint32_t row = 0; row < ROWS; row++) {
        uint32_t mine[WORDS], first[WORDS];
        move(from + row * WORDS, mine, row % there);
        move(from, first, back);
        for (uint32_t i = 0; i < WORDS; i++)
            CHECK(to[row * WORDS + i] == (mine[i] ^ first[i]));
    }
    hd_program_destroy(p);
    free(text);
}

// Each kernel adds what it and those it calls are for, wherever they stand.
static void many_kernels_call_each_other(struct try *t)
{
    enum {
        KERNELS = 150
    };
    static int to[ROWS];
    char *text = malloc(KERNELS * 200), *end = text;
    int *pto = to;

    CHECK(text);
    for (int k = 0; k < KERNELS; k++) {
        add(&end, "kernel void k%d(global int *to) {\n", k, 0, 0);
        if (k % 7 == 3)
            add(&end, "    k%d(to);\n", k * 5 / 6, 0, 0);
        add(&end, "    to[get_global_id(0)] += %d;\n}\n", k + 1, 0, 0);
    }
    struct hd_program *p = try_build(t, text, NULL);
    for (int k = 0; k < KERNELS; k++) {
        int expected = k + 1;
        for (int other = k; other % 7 == 3; expected += other + 1)
            other = other * 5 / 6;
        char name[16];
        snprintf(name, sizeof(name), "k%d", k);
        memset(to, 0, sizeof(to));
        TRY_RUN(t, p, name, range, TRY_VALUE(pto));
        CHECK(to[0] == expected && to[ROWS - 1] == expected);
    }
    hd_program_destroy(p);
    free(text);
}

// Regions by the hundred, some in loops of the whole group.
static char *make_sections(int count)
{
    char *text = malloc((size_t)count * 300 + 1000), *end = text;

    CHECK(text);
    add(&end,
        "kernel void sections(global uint *a, local uint *t, uint n) {\n"
        "  uint g = get_global_id(0), l = get_local_id(0);\n"
        "  uint m = get_local_size(0), x = a[g];\n",
        0, 0, 0);
    for (int i = 0; i < count; i++)
        add(&end,
            "  for (uint i = 0; i < (n & %d); i++) {\n"
            "    t[l] = x;\n"
            "    barrier(CLK_LOCAL_MEM_FENCE);\n"
            "    x += t[(l + i + %d) %% m];\n"
            "    barrier(CLK_LOCAL_MEM_FENCE);\n"
            "    if (x & 1) x = x * 3 + %d;\n"
            "  }\n",
            i + 1, i, i);
    add(&end, "  a[g] = x;\n}\n", 0, 0, 0);
    return text;
}

static void run_sections(struct try *t, const char *text, const char *options,
                         const char *says, uint32_t to[ROWS])
{
    static const struct try_range groups = {1, {240}, {16}, {0}};
    uint32_t *pto = to, n = 3;
    struct hd_program *p = try_build(t, text, options);
    const struct hd_kernel_info *info =
        hd_kernel_info(hd_program_find(p, "sections"));

    CHECK(!says || strstr(info->explanation, says));
    CHECK(says || !strstr(info->explanation, "budget"));
    for (uint32_t i = 0; i < ROWS; i++)
        to[i] = i * 2654435761u;
    TRY_RUN(t, p, "sections", groups, TRY_VALUE(pto),
            TRY_LOCAL(16 * sizeof(uint32_t)), TRY_VALUE(n));
    hd_program_destroy(p);
}

// What is over the budget is optimised briefly, and where that is not enough,
// becomes threads; it is said, and what is computed stays the same.
static void kernels_over_the_budget_are_built_cheaply(struct try *t)
{
    static const struct {
        int sections;
        const char *options, *says;
    } cases[] = {
        {6, "", NULL},
        {6, "-heddle-budget=500000", NULL},
        {6, "", "loops are not unswitched"},
        {6, "-heddle-form=loops -heddle-budget=2000", "optimised briefly"},
        {6, "-heddle-form=coroutine -heddle-budget=50", "optimised briefly"},
        {6, "-heddle-form=thread -heddle-budget=50", "optimised briefly"},
        {6, "-heddle-budget=1000", "more than the budget of 1000 allows"},
        {40, "", "optimised briefly"},
        {160, "", "more than the budget of 40000 allows"},
    };
    static uint32_t expected[ROWS], to[ROWS];

    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        char *text = make_sections(cases[c].sections);
        if (c == 0 || cases[c].sections != cases[c - 1].sections)
            run_sections(t, text, "-heddle-form=thread -heddle-budget=900000",
                         NULL, expected);
        run_sections(t, text, cases[c].options, cases[c].says, to);
        CHECK(memcmp(to, expected, sizeof(to)) == 0);
        free(text);
    }
}

// Each function calls the one before twice: 2 to the power of `levels` calls
// per work-item, of which each has a share in the result. `head` has f0,
// `kernel` calls the last as CALL(x, y).
static char *make_nest(int levels, const char *head, const char *kernel)
{
    char *text = malloc((size_t)levels * 200 + 4000), *end = text;

    CHECK(text);
    end += sprintf(end, "%s", head);
    for (int f = 1; f <= levels; f++)
        end += sprintf(end,
                       "static uint f%d(uint x, uint y) {\n"
                       "    return f%d(x ^ y, y * 3 + %d) + "
                       "f%d(y, x * 5) * %d;\n"
                       "}\n",
                       f, f - 1, f, f - 1, f + 1);
    end += sprintf(end, "#define CALL f%d\n%s", levels, kernel);
    return text;
}

// What the text above computes, for plain numbers.
static uint32_t nest(int level, uint32_t x, uint32_t y)
{
    if (level == 0)
        return x * 2654435761u ^ y >> 3;
    return nest(level - 1, x ^ y, y * 3 + (uint32_t)level) +
           nest(level - 1, y, x * 5) * (uint32_t)(level + 1);
}

static const char plain_nest[] = "static uint f0(uint x, uint y) {\n"
                                 "    return x * 2654435761u ^ y >> 3;\n"
                                 "}\n";

// Twenty levels, called by some work-items only, in a loop that some leave
// earlier, on either side of a barrier.
static void calls_in_calls_stay_calls(struct try *t)
{
    enum {
        LEVELS = 20
    };
    static const char kernel[] =
        "kernel void nest(global uint *to, local uint *t) {\n"
        "    uint g = get_global_id(0), l = get_local_id(0), x = 0;\n"
        "    t[l] = g;\n"
        "    if (l % 3 == 1)\n"
        "        for (uint i = 0; i < l / 3; i++)\n"
        "            x += CALL(g, i);\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    if (l == 5) x ^= CALL(t[l ^ 1], 7);\n"
        "    to[g] = x;\n"
        "}\n";
    static const char *const options[] = {"", "-heddle-form=thread",
                                          "-heddle-form=coroutine", "-g"};
    static const struct try_range groups = {1, {8}, {8}, {0}};
    uint32_t to[8], expected[8] = {0}, *pto = to;
    char *text = make_nest(LEVELS, plain_nest, kernel);

    for (uint32_t l = 1; l < 8; l += 3)
        for (uint32_t i = 0; i < l / 3; i++)
            expected[l] += nest(LEVELS, l, i);
    expected[5] ^= nest(LEVELS, 4, 7);
    for (size_t o = 0; o < sizeof(options) / sizeof(options[0]); o++) {
        struct hd_program *p = try_build(t, text, options[o]);
        const struct hd_kernel_info *info =
            hd_kernel_info(hd_program_find(p, "nest"));
        CHECK(strstr(info->explanation, "functions that stay functions"));
        memset(to, 0, sizeof(to));
        TRY_RUN(t, p, "nest", groups, TRY_VALUE(pto), TRY_LOCAL(sizeof(to)));
        CHECK(memcmp(to, expected, sizeof(to)) == 0);
        hd_program_destroy(p);
    }
    free(text);
}

// The same with a small budget, so that few levels are enough, for functions
// with variables of their own, tables, private memory of others, ids and
// barriers in them: the last three become part of the kernel.
static void calls_that_need_the_work_item_are_inlined(struct try *t)
{
    enum {
        LEVELS = 7
    };
    static const struct {
        const char *head, *kernel;
        bool kept;
    } cases[] = {
        {"constant uint table[4] = {3, 1, 4, 1};\n"
         "static uint f0(uint x, uint y) {\n"
         "    uint own[4] = {0, 0, 0, 0};\n"
         "    for (uint i = 0; i < 9; i++)\n"
         "        own[(x + i) % 4] += table[y % 4] * i;\n"
         "    return own[y % 4];\n"
         "}\n",
         "kernel void nest(global uint *to) {\n"
         "    uint g = get_global_id(0);\n"
         "    to[g] = CALL(g, 2);\n"
         "}\n",
         true},
        {"static uint f0(uint x, uint y) {\n"
         "    return x * 7 + get_local_id(0) * y;\n"
         "}\n",
         "kernel void nest(global uint *to) {\n"
         "    to[get_global_id(0)] = CALL(1, 2);\n"
         "}\n",
         false},
        {"static uint add(uint *sum, uint x) { return *sum += x; }\n"
         "static uint f0(uint x, uint y) {\n"
         "    uint sum = y; add(&sum, x); return add(&sum, 5);\n"
         "}\n",
         "static uint both(uint *a, uint x) {\n"
         "    *a = CALL(x, 3);\n"
         "    barrier(CLK_LOCAL_MEM_FENCE);\n"
         "    return CALL(*a, 4);\n"
         "}\n"
         "kernel void nest(global uint *to) {\n"
         "    uint a, x = both(&a, get_global_id(0));\n"
         "    to[get_global_id(0)] = x ^ both(&a, x);\n"
         "}\n",
         true},
    };
    static const struct try_range groups = {1, {40}, {20}, {0}};
    uint32_t to[2][40];

    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        char *text = make_nest(LEVELS, cases[c].head, cases[c].kernel);
        for (int small = 0; small < 2; small++) {
            uint32_t *pto = to[small];
            struct hd_program *p = try_build(t, text,
                                             small ? "-heddle-budget=200"
                                                   : "-heddle-budget=999999");
            const struct hd_kernel_info *info =
                hd_kernel_info(hd_program_find(p, "nest"));
            bool kept =
                strstr(info->explanation, "functions that stay functions");
            CHECK(kept == (small && cases[c].kept));
            memset(pto, 0, sizeof(to[0]));
            TRY_RUN(t, p, "nest", groups, TRY_VALUE(pto));
            hd_program_destroy(p);
        }
        CHECK(memcmp(to[0], to[1], sizeof(to[0])) == 0);
        free(text);
    }
}

// As in the kernel itself, a quotient by zero is some number and nothing else.
static void kept_calls_divide_by_zero(struct try *t)
{
    static const char head[] = "static uint f0(uint x, uint y) {\n"
                               "    return x / (y & 1) + x % (y >> 31);\n"
                               "}\n";
    static const struct try_range groups = {1, {40}, {20}, {0}};
    char *text = make_nest(12, head,
                           "kernel void nest(global uint *to) {\n"
                           "    uint g = get_global_id(0), x = CALL(g, 2);\n"
                           "    to[g] = x == 0x9e3779b9 ? ~g : g;\n"
                           "}\n");
    struct hd_program *p = try_build(t, text, "");
    const struct hd_kernel_info *info =
        hd_kernel_info(hd_program_find(p, "nest"));
    uint32_t to[40] = {0}, *pto = to;

    CHECK(strstr(info->explanation, "functions that stay functions"));
    TRY_RUN(t, p, "nest", groups, TRY_VALUE(pto));
    for (uint32_t g = 0; g < 40; g++)
        CHECK(to[g] == g);
    hd_program_destroy(p);
    free(text);
}

// What cannot stay calls is refused before it takes all memory.
static void calls_without_end_are_refused(struct try *t)
{
    static const char head[] = "static uint f0(uint x, uint y) {\n"
                               "    return x * 7 + get_local_id(0) * y;\n"
                               "}\n";
    char *text = make_nest(60, head,
                           "kernel void nest(global uint *to) {\n"
                           "    to[0] = CALL(1, 2);\n"
                           "}\n");
    const struct hd_program_params params = {.path = "nest.cl", .source = text};
    struct hd_program *p = NULL;
    struct hd_error error;

    CHECK(hdi_program_create(&t->context, &params, &p, &error) == HD_EBUILD);
    CHECK(strstr(error.text, "kernel 'nest' would have "));
    CHECK(strstr(error.text, "with the functions it calls in it"));
    free(text);
}

int main(void)
{
    struct try t = try_open();

    calls_in_calls_stay_calls(&t);
    calls_that_need_the_work_item_are_inlined(&t);
    kept_calls_divide_by_zero(&t);
    calls_without_end_are_refused(&t);
    kernels_over_the_budget_are_built_cheaply(&t);
    many_kernels_call_each_other(&t);
    many_cases_are_many_moves(&t);
    try_close(&t);
    return 0;
}
