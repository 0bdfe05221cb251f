// Long kernels: of many cases and of many copies of one function; and programs
// of many kernels. They take the time of what they do, not its square: the time
// limit of the test is far above that and far below its square.
#include <stdio.h>

#include "kernel/try.h"

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

int main(void)
{
    struct try t = try_open();

    many_kernels_call_each_other(&t);
    many_cases_are_many_moves(&t);
    try_close(&t);
    return 0;
}
