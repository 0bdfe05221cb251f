// Whether chunks of lanes pay goes by what a gather costs, and by whether lanes
// stay together.
#include "kernel/compiler/worth/weigh.h"

#include "kernel/compiler/flow/try_ir.h"

// Each round gathers one number and does so many operations with it; which
// round is the last one is decided by ids, or by the number.
static void write_loop(struct hdi_text *text, unsigned work, bool by_number)
{
    hdi_text_print(text,
                   "define void @k(ptr addrspace(1) %%p, i64 %%n) {\n"
                   "  %%s = alloca i64\n"
                   "  %%r = alloca i64\n"
                   "  %%x = call i64 @_Z13get_global_idj(i32 0)\n"
                   "  %%far = mul i64 %%x, %%n\n"
                   "  store i64 %%far, ptr %%s\n"
                   "  store i64 0, ptr %%r\n"
                   "  br label %%loop\n"
                   "loop:\n"
                   "  %%a = load i64, ptr %%s\n"
                   "  %%to = getelementptr i64, ptr addrspace(1) %%p, i64 %%a\n"
                   "  %%v0 = load i64, ptr addrspace(1) %%to\n");
    for (unsigned i = 0; i < work; i++)
        hdi_text_print(text, "  %%v%u = xor i64 %%v%u, %%x\n", i + 1, i);
    hdi_text_print(text,
                   "  store i64 %%v%u, ptr %%s\n"
                   "  %%i = load i64, ptr %%r\n"
                   "  %%j = add i64 %%i, 1\n"
                   "  store i64 %%j, ptr %%r\n"
                   "  %%more = icmp ult i64 %%%s, %%n\n"
                   "  br i1 %%more, label %%loop, label %%end\n"
                   "end:\n"
                   "  ret void\n"
                   "}\n",
                   work, by_number ? "v0" : "j");
}

static bool weighs_on(const struct hdi_target *target, const char *text)
{
    struct hdi_nest nest = {0};
    struct hdi_value_steps f;
    struct try_ir t;
    bool pay;
    unsigned line;

    try_ir_open(&t, text);
    t.llvm.target = *target;
    CHECK(hdi_nest_find(&nest, &t.flow));
    CHECK(hdi_affine_find(&t.llvm, t.kernel, &t.flow, false, &f));
    CHECK(hdi_weigh_lanes(&f, &nest, &pay, &line));
    hdi_affine_destroy(&f);
    hdi_nest_destroy(&nest);
    try_ir_close(&t);
    return pay;
}

static bool weighs(const char *cpu, const char *text)
{
    const struct hdi_target target = try_ir_target(cpu);
    return weighs_on(&target, text);
}

// Whether lanes pay for the text of a kernel, which is freed.
static bool pays_on(const struct hdi_target *target, struct hdi_text *text)
{
    bool pay = weighs_on(target, text->data);

    hdi_text_free(text);
    return pay;
}

static bool pays(const char *cpu, unsigned work, bool by_number)
{
    const struct hdi_target target = try_ir_target(cpu);
    struct hdi_text text = {0};

    write_loop(&text, work, by_number);
    return pays_on(&target, &text);
}

// Exchanges one number until it succeeds, with so many operations in between.
static bool exchange_pays(const struct hdi_target *target, unsigned work)
{
    struct hdi_text text = {0};

    hdi_text_print(&text, "define void @k(ptr addrspace(1) %%p, i32 %%n) {\n"
                          "  %%x = call i64 @_Z13get_global_idj(i32 0)\n"
                          "  %%v0 = trunc i64 %%x to i32\n"
                          "  br label %%loop\n"
                          "loop:\n"
                          "  %%o = load i32, ptr addrspace(1) %%p\n");
    for (unsigned i = 0; i < work; i++)
        hdi_text_print(&text, "  %%v%u = xor i32 %%v%u, %%o\n", i + 1, i);
    hdi_text_print(&text,
                   "  %%c = cmpxchg ptr addrspace(1) %%p, i32 %%o, i32 %%v%u "
                   "seq_cst seq_cst\n"
                   "  %%done = extractvalue { i32, i1 } %%c, 1\n"
                   "  br i1 %%done, label %%end, label %%loop\n"
                   "end:\n"
                   "  ret void\n"
                   "}\n",
                   work);
    return pays_on(target, &text);
}

static void exchanges_cost_each_lane(void)
{
    struct hdi_target target = try_ir_target("skylake-avx512");

    CHECK(!exchange_pays(&target, 100) && exchange_pays(&target, 140));
    target.retry = 1;
    CHECK(exchange_pays(&target, 100));
    target = try_ir_target("haswell"); // half as many lanes
    CHECK(!exchange_pays(&target, 40) && exchange_pays(&target, 80));
}

// What one work-item alone does at once.
static void alone_goes_as_wide_as_the_processor(void)
{
    struct hdi_target target = try_ir_target("skylake-avx512");
    struct hdi_text text = {0};

    write_loop(&text, 4, false);
    target.issue = 12;
    CHECK(!pays_on(&target, &text));
    write_loop(&text, 1, false);
    target.issue = 2;
    CHECK(pays_on(&target, &text));
}

// Without loops: LLVM's vectors are as good, but for what it takes one by one.
#define STRAIGHT(lines)                                       \
    "define void @k(ptr addrspace(1) %p) {\n"                 \
    "  %x = call i64 @_Z13get_global_idj(i32 0)\n"            \
    "  %i = trunc i64 %x to i32\n" lines                      \
    "  %to = getelementptr i8, ptr addrspace(1) %p, i64 %w\n" \
    "  store i8 7, ptr addrspace(1) %to\n"                    \
    "  ret void\n"                                            \
    "}\n"

static void kernels_without_loops(void)
{
    // Bytes that bytes choose.
    static const char table[] =
        STRAIGHT("  %from = getelementptr i8, ptr addrspace(1) %p, i64 %x\n"
                 "  %v = load i8, ptr addrspace(1) %from\n"
                 "  %z = zext i8 %v to i64\n"
                 "  %at = getelementptr i8, ptr addrspace(1) %p, i64 %z\n"
                 "  %u = load i8, ptr addrspace(1) %at\n"
                 "  %w = add i64 %x, 4096\n");
    // One of six.
    static const char sixth[] =
        STRAIGHT("  %s = mul i64 %x, 6\n"
                 "  %from = getelementptr i8, ptr addrspace(1) %p, i64 %s\n"
                 "  %v = load i8, ptr addrspace(1) %from\n"
                 "  %w = zext i8 %v to i64\n");
    // Each second byte, unless 2 * i wraps.
    static const char wraps[] = STRAIGHT("  %d = shl i32 %i, 1\n"
                                         "  %w = zext i32 %d to i64\n"),
                      holds[] = STRAIGHT("  %d = shl nuw i32 %i, 1\n"
                                         "  %w = zext i32 %d to i64\n"),
                      far[] = STRAIGHT("  %d = shl i32 %i, 4\n"
                                       "  %w = zext i32 %d to i64\n");

    CHECK(weighs("skylake-avx512", table) && !weighs("znver4", table));
    CHECK(weighs("znver4", sixth));
    CHECK(weighs("znver4", wraps) && !weighs("znver4", holds));
    CHECK(!weighs("znver4", far));
}

int main(void)
{
    CHECK(!pays("skylake-avx512", 1, false) &&
          pays("skylake-avx512", 4, false));
    CHECK(!pays("znver4", 10, false) && pays("znver4", 20, false));
    CHECK(!pays("skylake-avx512", 4, true) && pays("skylake-avx512", 20, true));
    CHECK(!pays("znver4", 20, true) && pays("znver4", 60, true));
    exchanges_cost_each_lane();
    alone_goes_as_wide_as_the_processor();
    kernels_without_loops();
    return 0;
}
