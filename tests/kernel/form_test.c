// What only one form of a kernel promises, and which form it gets.
#include "tests/kernel/try.h"

// What only the thread form promises, or says.
static void each_item_is_a_thread(struct try *t)
{
    struct hd_program *p = try_build(
        t,
        "kernel void order(global uint *count, global uint *trace) {\n"
        "    trace[(*count)++] = get_global_id(0);\n"
        "    barrier(CLK_GLOBAL_MEM_FENCE);\n"
        "    trace[(*count)++] = get_global_id(0) + 100;\n"
        "}\n"
        "kernel void straight(global uint *count, global uint *trace) {\n"
        "    trace[(*count)++] = get_global_id(0);\n"
        "    trace[(*count)++] = get_global_id(0) + 100;\n"
        "}\n"
        "kernel void big(global uchar *x) {\n"
        "    uchar a[16 << 20];\n"
        "    for (int i = 0; i < 16 << 20; i += 1000) a[i] = x[i % 64];\n"
        "    barrier(CLK_GLOBAL_MEM_FENCE);\n"
        "    x[get_local_id(0)] += a[get_local_id(0) * 1000];\n"
        "}\n",
        NULL);
    uint32_t count = 0, trace[20];
    unsigned char x[64];
    const struct try_range range = {1, {10}, {10}, {0}};
    void *pcount = &count, *ptrace = trace, *px = x;

    CHECK(hd_kernel_info(hd_program_find(p, "order"))->form == HD_FORM_THREADS);
    TRY_RUN(t, p, "order", range, TRY_VALUE(pcount), TRY_VALUE(ptrace));
    for (uint32_t i = 0; i < 20; i++)
        CHECK(trace[i] == i % 10 + i / 10 * 100);
    count = 0;
    TRY_RUN(t, p, "straight", range, TRY_VALUE(pcount), TRY_VALUE(ptrace));
    for (uint32_t i = 0; i < 20; i++)
        CHECK(trace[i] == i / 2 + i % 2 * 100);
    for (int i = 0; i < 64; i++)
        x[i] = (unsigned char)i;
    TRY_RUN(t, p, "big", range, TRY_VALUE(px));
    for (int i = 0; i < 10; i++)
        CHECK(x[i] == i + i * 1000 % 64);
    hd_program_destroy(p);
}

// Aligned values, arrays and pointers to them, in loops.
static void what_is_alive_across_a_wait_is_kept(struct try *t)
{
    struct hd_program *p = try_build(
        t,
        "kernel void k(global uint *x, global uint *y) {\n"
        "    uint i = get_global_id(0), a[9];\n"
        "    long16 wide = (long16)(i);\n"
        "    uint *part = i & 1 ? a + 4 : a;\n"
        "    wide.s7 = 3;\n"
        "    for (int k = 0; k < 9; k++) a[k] = i + k;\n"
        "    for (int k = 0; k < 4; k++) {\n"
        "        part[k] += k;\n"
        "        if (i % 5 == 0) x[i] = k;\n"
        "        barrier(CLK_GLOBAL_MEM_FENCE);\n"
        "        wide = wide.s123456789abcdef0 + 1;\n"
        "        a[8] += x[i ^ 1];\n"
        "        barrier(CLK_GLOBAL_MEM_FENCE);\n"
        "    }\n"
        "    y[i] = a[x[i] & 7] + a[8] * 100 + (uint)wide.s3 * 10000;\n"
        "}\n",
        NULL);
    uint32_t x[64], y[64];
    void *px = x, *py = y;

    CHECK(strstr(hd_kernel_info(hd_program_find(p, "k"))->explanation,
                 "one coroutine per work-item"));
    for (uint32_t i = 0; i < 64; i++)
        x[i] = i;
    TRY_RUN(t, p, "k", ((struct try_range){1, {64}, {16}, {0}}), TRY_VALUE(px),
            TRY_VALUE(py));
    for (uint32_t i = 0; i < 64; i++) {
        uint32_t at = i % 5 == 0 ? 3 : i & 7, half = i & 1 ? 4 : 0, last = 0;
        for (uint32_t k = 0; k < 4; k++)
            last += (i ^ 1) % 5 == 0 ? k : i ^ 1;
        uint32_t value = i + at;
        if (at >= half && at < half + 4)
            value += at - half;
        CHECK(y[i] == value + (i + 8 + last) * 100 + (3 + 4) * 10000);
    }
    hd_program_destroy(p);
}

#define PLACE(name, declaration)                \
    "kernel void " name "(global ulong *x) {\n" \
    "    size_t i = get_global_id(0);\n"        \
    "    " declaration "\n"                     \
    "    x[i] = (ulong)&v;\n"                   \
    "    barrier(CLK_GLOBAL_MEM_FENCE);\n"      \
    "    x[i] += *(volatile uint *)&v & 0;\n"   \
    "}\n"

// Whatever ran there before. A compiler believes what it has declared, so the
// host looks.
static void private_memory_is_aligned(struct try *t)
{
    static const struct {
        const char *name, *form;
        uint64_t alignment;
    } kernels[] = {
        {"array", "one coroutine", 4},    {"vector", "one coroutine", 128},
        {"page", "one coroutine", 4096},  {"vector", "one coroutine", 128},
        {"pages", "one thread", 1 << 15}, {"vector", "one coroutine", 128}};
    struct hd_program *p = try_build(
        t,
        PLACE("array", "uint v[66]; for (size_t k = 0; k < 66; k++) v[k] = k;")
            PLACE("vector", "ulong16 v = i;") PLACE(
                "page", "uint v __attribute__((aligned(4096))) = i;")
                PLACE("pages", "uint v __attribute__((aligned(32768))) = i;"),
        NULL);
    uint64_t x[8];
    void *px = x;

    for (size_t k = 0; k < sizeof(kernels) / sizeof(*kernels); k++) {
        const struct hd_kernel *kernel = hd_program_find(p, kernels[k].name);
        CHECK(kernel && strstr(kernel->info.explanation, kernels[k].form));
        TRY_RUN(t, p, kernels[k].name, ((struct try_range){1, {8}, {4}, {0}}),
                TRY_VALUE(px));
        for (size_t i = 0; i < 8; i++)
            CHECK(x[i] % kernels[k].alignment == 0);
    }
    hd_program_destroy(p);
}

// The private arrays of a group would not fit.
static void what_cannot_be_loops_becomes_threads(struct try *t)
{
    static const char source[] = "kernel void k(global uint *x) {\n"
                                 "    uint a[4 << 20];\n"
                                 "    uint i = get_global_id(0);\n"
                                 "    a[x[i]] = i;\n"
                                 "    a[x[i] + 1] = 7;\n"
                                 "    x[i] = a[x[i]] + a[i / 4 + 1];\n"
                                 "}\n";
    struct hd_error error;
    struct hd_program *program;
    const struct hd_program_params params = {
        .path = "test.cl", .source = source, .options = "-heddle-form=loops"};
    uint32_t x[8];
    void *px = x;

    CHECK_FAILS(hdi_program_create(&t->context, &params, &program, &error),
                HD_EBUILD, error, "bytes per work-item");
    struct hd_program *p = try_build(t, source, NULL);
    const struct hd_kernel_info *info = hd_kernel_info(hd_program_find(p, "k"));
    CHECK(info->form == HD_FORM_THREADS);
    CHECK(strstr(info->explanation, "no loops over work-items: test.cl:1"));
    const struct try_range range = {1, {8}, {4}, {0}};
    for (uint32_t i = 0; i < 8; i++)
        x[i] = i / 4;
    TRY_RUN(t, p, "k", range, TRY_VALUE(px));
    for (uint32_t i = 0; i < 8; i++)
        CHECK(x[i] == i + 7);
    hd_program_destroy(p);
}

// Work-items of several groups are lanes side by side unless groups matter.
static void lanes_know_no_groups_that_do_not_matter(struct try *t)
{
    struct hd_program *p = try_build(
        t,
        "kernel void flat(global float *x, int n) {\n"
        "    size_t i = get_global_id(0);\n"
        "    float v = x[i];\n"
        "    for (int k = 0; k < n; k++) v = v * v + 1;\n"
        "    x[i] = v;\n"
        "}\n"
        "kernel void grouped(global float *x, int n) {\n"
        "    size_t i = get_global_id(0);\n"
        "    float v = x[i];\n"
        "    for (int k = 0; k < n; k++) v = v * v + get_local_id(0);\n"
        "    x[i] = v;\n"
        "}\n",
        NULL);
    const struct hd_kernel *flat = hd_program_find(p, "flat");

    CHECK(flat->info.form != HD_FORM_LOOPS || flat->together >= 8);
    CHECK(hd_program_find(p, "grouped")->together == 0);
    hd_program_destroy(p);
}

static void old_versions_build(struct try *t)
{
    static const char *const versions[] = {"-cl-std=CL1.0", "-cl-std=CL1.1",
                                           "-cl-std=CL1.2"};

    for (unsigned i = 0; i < 3; i++)
        hd_program_destroy(try_build(
            t, "kernel void k(global int *x) { x[get_global_id(0)] = 1; }\n",
            versions[i]));
}

int main(void)
{
    struct try t = try_open();

    t.form = "-heddle-form=thread";
    each_item_is_a_thread(&t);
    t.form = "-heddle-form=coroutine";
    each_item_is_a_thread(&t);
    what_is_alive_across_a_wait_is_kept(&t);
    private_memory_is_aligned(&t);
    t.form = NULL;
    what_cannot_be_loops_becomes_threads(&t);
    lanes_know_no_groups_that_do_not_matter(&t);
    old_versions_build(&t);
    try_close(&t);
    return 0;
}
