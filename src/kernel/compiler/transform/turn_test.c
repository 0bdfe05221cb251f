// Along which axis lanes go, and which loops go round the work-items, is by the
// processor: its gathers, scatters and vectors.
#include "kernel/build.h"
#include "kernel/compiler/flow/try_ir.h"
#include "kernel/compiler/transform/axis.h"
#include "kernel/compiler/transform/soft.h"

// Reads along y what lies side by side, or so many elements apart, and eleven
// times along x.
static void write_reads(struct hdi_text *text, bool stores, unsigned apart)
{
    hdi_text_print(text,
                   "define void @k(ptr addrspace(1) %%p) {\n"
                   "  %%x = call i64 @_Z13get_global_idj(i32 0)\n"
                   "  %%y = call i64 @_Z13get_global_idj(i32 1)\n"
                   "  %%down = mul i64 %%x, 4096\n"
                   "  %%by = mul i64 %%y, %u\n"
                   "  %%at = add i64 %%down, %%by\n"
                   "  %%to = getelementptr i32, ptr addrspace(1) %%p, i64 "
                   "%%at\n",
                   apart);
    hdi_text_print(text, stores ? "  store i32 1, ptr addrspace(1) %%to\n"
                                : "  %%v = load i32, ptr addrspace(1) %%to\n");
    for (unsigned i = 0; i < 11; i++)
        hdi_text_print(text, "  %%v%u = load i32, ptr addrspace(1) %%p\n", i);
    hdi_text_print(text, "  ret void\n}\n");
}

// `shuffle`: its cost; 0: as it is.
static unsigned axis_by(const char *cpu, bool stores, unsigned apart,
                        unsigned shuffle)
{
    const struct hdi_build_kernel about = {0};
    struct hdi_text text = {0};
    struct hd_error error;
    struct hdi_lane_axis axis;
    struct try_ir t;

    write_reads(&text, stores, apart);
    try_ir_open(&t, text.data);
    t.llvm.target = try_ir_target(cpu);
    if (shuffle)
        t.llvm.target.shuffle = shuffle;
    CHECK_OK(hdi_axis_find(&t.llvm, t.kernel, true, &about, &axis, &error),
             error);
    CHECK(axis.lanes == 16);
    try_ir_close(&t);
    hdi_text_free(&text);
    return axis.number;
}

static unsigned axis_for(const char *cpu, bool stores)
{
    return axis_by(cpu, stores, 1, 0);
}

static void lanes_turn_where_gathers_cost_much(void)
{
    CHECK(axis_for("skylake-avx512", false) == 0);
    CHECK(axis_for("znver4", false) == 1);
    CHECK(axis_for("skylake-avx512", true) == 1);
}

static void lanes_turn_where_shuffles_cost_little(void)
{
    CHECK(axis_by("znver4", false, 2, 0) == 1);
    CHECK(axis_by("znver4", false, 2, 20) == 0);
}

// The group goes round the loop together: 20 operations for each gather.
static unsigned loops_for(const char *cpu)
{
    struct hdi_text text = {0};
    struct hdi_nest nest = {0};
    struct hdi_value_steps f;
    struct try_ir t;
    unsigned count;

    hdi_text_print(&text,
                   "define void @k(ptr addrspace(1) %%p, i64 %%n) {\n"
                   "  %%r = alloca i64\n"
                   "  %%x = call i64 @_Z13get_global_idj(i32 0)\n"
                   "  %%far = mul i64 %%x, %%n\n"
                   "  %%a = getelementptr i64, ptr addrspace(1) %%p, i64 "
                   "%%far\n"
                   "  store i64 0, ptr %%r\n"
                   "  br label %%loop\n"
                   "loop:\n"
                   "  %%v0 = load i64, ptr addrspace(1) %%a\n");
    for (unsigned i = 0; i < 20; i++)
        hdi_text_print(&text, "  %%v%u = xor i64 %%v%u, %%x\n", i + 1, i);
    hdi_text_print(&text, "  %%i = load i64, ptr %%r\n"
                          "  %%j = add i64 %%i, 1\n"
                          "  store i64 %%j, ptr %%r\n"
                          "  %%more = icmp ult i64 %%j, %%n\n"
                          "  br i1 %%more, label %%loop, label %%end\n"
                          "end:\n"
                          "  ret void\n"
                          "}\n");
    try_ir_open(&t, text.data);
    t.llvm.target = try_ir_target(cpu);
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(t.llvm.context);
    CHECK(hdi_nest_find(&nest, &t.flow));
    CHECK(hdi_affine_find(&t.llvm, t.kernel, &t.flow, false, &f));
    CHECK(hdi_soft_insert(&f, t.module, builder, &nest, false, &count));
    hdi_affine_destroy(&f);
    LLVMDisposeBuilder(builder);
    hdi_nest_destroy(&nest);
    try_ir_close(&t);
    hdi_text_free(&text);
    return count;
}

static void loops_turn_where_gathers_cost_little(void)
{
    CHECK(loops_for("skylake-avx512") == 1);
    CHECK(loops_for("znver4") == 0);
}

int main(void)
{
    lanes_turn_where_gathers_cost_much();
    lanes_turn_where_shuffles_cost_little();
    loops_turn_where_gathers_cost_little();
    return 0;
}
