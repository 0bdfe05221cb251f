// A work-item reads what it wrote, wherever in memory that is and however far
// it is from what its neighbours write.
#include <stdio.h>

#include "tests/kernel/try.h"

enum {
    N = 200
};

static const char source[] =
    "kernel void two(global uint *a, global uint *b, uint k) {\n"
    "    size_t i = get_global_id(0);\n"
    "    a[2 * i] = i;\n"
    "    uint read = b[2 * i + (k & 1)];\n"
    "    a[2 * i + 1] = read + 5;\n"
    "}\n"
    "kernel void one(global uint *a, global uint *b, uint k) {\n"
    "    size_t i = get_global_id(0);\n"
    "    uint first = a[4 * i];\n"
    "    a[4 * i + (k & 3)] = 3 * i;\n"
    "    b[i] = first * 7 + a[4 * i + 1];\n"
    "}\n"
    "kernel __attribute__((reqd_work_group_size(8, 1, 1)))\n"
    "void own(global uint *to, uint k, uint n) {\n"
    "    uint sum = 1;\n"
    "    for (uint turn = 0; turn < n; turn++) {\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "        uint own[8], end = 7 & (uint)get_local_id(2), again = 0;\n"
    "        for (uint i = 0; i < 8; i++) own[i] = i * 1540483477u;\n"
    "        do {\n"
    "            own[7 & k] = 3;\n"
    "            sum = sum * 31 + own[5];\n"
    "            own[3] = turn;\n"
    "        } while (again++ < end);\n"
    "    }\n"
    "    to[get_global_id(0)] = sum;\n"
    "}\n"
    "kernel __attribute__((reqd_work_group_size(8, 1, 1)))\n"
    "void some(global uint *to, global const uint *from, uint n, uint k) {\n"
    "    local uint ons[8];\n"
    "    uint sum = 1, i = get_global_id(0), line = get_local_id(0);\n"
    "    ons[line] = from[i];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    uint on = ons[line * 5 % 8];\n"
    "    for (uint turn = 0; turn < n; turn++) {\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "        uint end = (uint)(on || turn) >> (turn && k);\n"
    "        for (uint j = 0; j < end; j++) {\n"
    "            uint x = DIVIDEND;\n"
    "            sum = sum * 31 + (from[8 * i + N * 8 * j] & 1\n"
    "                              ? from[QUOTIENT & 15] : x);\n"
    "        }\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    }\n"
    "    to[i] = sum;\n"
    "}\n";

static const struct try_range range = {1, {N}, {8}, {0}};

static void arguments_may_be_one_buffer(struct try *t, struct hd_program *p)
{
    static uint32_t a[2 * N];
    uint32_t *pa = a;

    for (uint32_t k = 0; k < 2; k++) {
        memset(a, 0, sizeof(a));
        TRY_RUN(t, p, "two", range, TRY_VALUE(pa), TRY_VALUE(pa), TRY_VALUE(k));
        for (uint32_t i = 0; i < N; i++)
            CHECK(a[2 * i] == i && a[2 * i + 1] == (k ? 5 : i + 5));
    }
}

static void an_element_may_be_chosen(struct try *t, struct hd_program *p)
{
    static uint32_t a[4 * N], b[N];
    uint32_t *pa = a, *pb = b;

    for (uint32_t k = 0; k < 4; k++) {
        for (uint32_t i = 0; i < 4 * N; i++)
            a[i] = i;
        TRY_RUN(t, p, "one", range, TRY_VALUE(pa), TRY_VALUE(pb), TRY_VALUE(k));
        for (uint32_t i = 0; i < N; i++)
            CHECK(b[i] == 28 * i + (k == 1 ? 3 * i : 4 * i + 1));
    }
}

static void private_arrays_are_memory(struct try *t, struct hd_program *p)
{
    static uint32_t to[N];
    uint32_t *pto = to, n = 3;

    for (uint32_t k = 0; k < 8; k++) {
        TRY_RUN(t, p, "own", range, TRY_VALUE(pto), TRY_VALUE(k), TRY_VALUE(n));
        uint32_t sum = 1;
        for (uint32_t turn = 0; turn < n; turn++)
            sum = sum * 31 + (k == 5 ? 3 : 5 * 1540483477u);
        for (uint32_t i = 0; i < N; i++)
            CHECK(to[i] == sum);
    }
}

// Reads from one argument, and writes to another, that may lie anywhere, and
// too far apart to be records.
static struct hd_program *build_apart(struct try *t, int count)
{
    char text[4096], *end = text;

    end += sprintf(end, "kernel void k(global const int *a, global int *b,\n"
                        "              int n) {\n"
                        "    int i = get_global_id(0), x = 0;\n");
    for (int k = 0; k < count; k++)
        end += sprintf(end, "    x += a[9 * i + %d * n];\n", k);
    for (int k = 0; k < count; k++)
        end += sprintf(end, "    b[9 * i + %d * n] = x + %d;\n", k, k);
    sprintf(end, "}\n");
    return try_build(t, text, NULL);
}

// Each write has to be compared with all that it may meet: for some that pays,
// for many the checks take longer to make than all else, and to run as well.
static void vectors_need_few_checks(struct try *t)
{
    enum {
        FEW = 6,
        MANY = 20,
        ROW = 9 * N
    };
    static int a[MANY * ROW], b[MANY * ROW], *pb = b;
    const int *pa = a;
    int n = ROW;

    for (int i = 0; i < MANY * ROW; i++)
        a[i] = i * 31 % 1009;
    for (int count = FEW; count <= MANY; count += MANY - FEW) {
        struct hd_program *p = build_apart(t, count);
        const char *told = hd_kernel_info(hd_program_find(p, "k"))->explanation;
        CHECK(strstr(told, "work-items keep their order"));
        CHECK(!strstr(told, "vector width") == (count == MANY));
        CHECK(!strstr(told, "vectors would need 590 checks") == (count == FEW));
        TRY_RUN(t, p, "k", range, TRY_VALUE(pa), TRY_VALUE(pb), TRY_VALUE(n));
        for (int i = 0; i < N; i++) {
            int x = 0;
            for (int k = 0; k < count; k++)
                x += a[9 * i + k * ROW];
            for (int k = 0; k < count; k++)
                CHECK(b[9 * i + k * ROW] == x + k);
        }
        hd_program_destroy(p);
    }
}

// Work-items have a quotient whether or not the first of them has it.
static void some_may_divide(struct try *t, const char *how)
{
    static uint32_t from[8 * N], to[N];
    uint32_t *pfrom = from, *pto = to, turns = 3, k = 0;
    struct hd_program *p = try_build(t, source, how);

    for (uint32_t i = 0; i < 8 * N; i++)
        from[i] = i * 0x9e3779b1u >> 7;
    for (uint32_t i = 0; i < N; i += 3)
        from[i] = 0;
    TRY_RUN(t, p, "some", range, TRY_VALUE(pto), TRY_VALUE(pfrom),
            TRY_VALUE(turns), TRY_VALUE(k));
    for (uint32_t i = 0; i < N; i++) {
        uint32_t sum = 1, on = from[i / 8 * 8 + i % 8 * 5 % 8];
        for (uint32_t turn = 0; turn < turns; turn++)
            if (on || turn)
                sum = sum * 31 +
                      (from[8 * i] & 1 ? from[(8 | turn) / 3] : (8 | turn));
        CHECK(to[i] == sum);
    }
    hd_program_destroy(p);
}

int main(void)
{
    struct try t = try_open();

    struct hd_program *p =
        try_build(&t, source, "-DN=200 -DDIVIDEND=0 -DQUOTIENT=0");
    arguments_may_be_one_buffer(&t, p);
    an_element_may_be_chosen(&t, p);
    private_arrays_are_memory(&t, p);
    hd_program_destroy(p);
    vectors_need_few_checks(&t);
    some_may_divide(&t, "-DN=200 -DDIVIDEND=8|turn -DQUOTIENT=x/n");
    some_may_divide(&t, "-DN=200 -DDIVIDEND=8|turn -DQUOTIENT=min(x,n+9)/n");
    try_close(&t);
    return 0;
}
