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

int main(void)
{
    struct try t = try_open();

    kernels_over_the_budget_are_built_cheaply(&t);

    many_kernels_call_each_other(&t);
    many_cases_are_many_moves(&t);
    try_close(&t);
    return 0;
}
