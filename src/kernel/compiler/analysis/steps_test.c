// How far neighbours in x are apart is seen through what addresses are made of.
#include "kernel/compiler/analysis/steps.h"

#include "kernel/compiler/analysis/try_ir.h"

static const char rows[] =
    "define void @k(ptr addrspace(1) %p, i32 %n, i64 %width) {\n"
    "  %x = call i64 @_Z13get_global_idj(i32 0)\n"
    "  %y = call i64 @_Z13get_global_idj(i32 1)\n"
    "  %i = trunc i64 %x to i32\n"
    "  %twice = shl i32 %i, 1\n"
    "  %less = sub i32 %n, %twice\n"
    "  %long = sext i32 %less to i64\n"
    "  %row = mul i64 %y, %width\n"
    "  %at = add i64 %row, %x\n"
    "  %column = mul i64 %x, %width\n"
    "  %square = mul i64 %x, %x\n"
    "  %down = getelementptr float, ptr addrspace(1) %p, i64 %long\n"
    "  %along = getelementptr double, ptr addrspace(1) %p, i64 %at\n"
    "  %across = getelementptr float, ptr addrspace(1) %p, i64 %column\n"
    "  %one = getelementptr float, ptr addrspace(1) %p, i64 %row\n"
    "  %read = load i64, ptr addrspace(1) %along\n"
    "  %there = getelementptr float, ptr addrspace(1) %p, i64 %read\n"
    "  %slot = alloca i64\n"
    "  store i64 %at, ptr %slot\n"
    "  %kept = load i64, ptr %slot\n"
    "  %again = getelementptr i16, ptr addrspace(1) %p, i64 %kept\n"
    "  ret void\n"
    "}\n";

static int64_t step(const struct try_ir *t, const char *name)
{
    return hdi_step_of(&t->llvm, &t->flow, try_ir_find(t, name));
}

static void steps_are_products_and_sums(void)
{
    struct try_ir t;

    try_ir_open(&t, rows);
    CHECK(step(&t, "down") == -8);
    CHECK(step(&t, "along") == 8);
    CHECK(step(&t, "again") == 2); // through a slot
    CHECK(step(&t, "row") == 0 && step(&t, "one") == 0);
    CHECK(step(&t, "across") == HDI_STEP_VARIES);
    CHECK(step(&t, "square") == HDI_STEP_VARIES);
    CHECK(step(&t, "there") == HDI_STEP_VARIES);
    try_ir_close(&t);
}

static void what_is_far_apart_is_gathered(void)
{
    struct try_ir t;
    LLVMTypeRef type;

    try_ir_open(&t, rows);
    type = LLVMFloatTypeInContext(t.llvm.context);
    CHECK(!hdi_is_gathered(&t.llvm, &t.flow, try_ir_find(&t, "along"), type));
    CHECK(!hdi_is_gathered(&t.llvm, &t.flow, try_ir_find(&t, "one"), type));
    CHECK(hdi_is_gathered(&t.llvm, &t.flow, try_ir_find(&t, "down"), type));
    CHECK(hdi_is_gathered(&t.llvm, &t.flow, try_ir_find(&t, "across"), type));
    CHECK(hdi_is_gathered(&t.llvm, &t.flow, try_ir_find(&t, "there"), type));
    try_ir_close(&t);
}

static void sums_that_are_too_large_vary(void)
{
    const int64_t large = INT64_C(1) << 55;

    CHECK(hdi_step_sum(large, large) == HDI_STEP_VARIES);
    CHECK(hdi_step_product(large, 4) == HDI_STEP_VARIES);
    CHECK(hdi_step_sum(HDI_STEP_UNKNOWN, 1) == HDI_STEP_UNKNOWN);
    CHECK(hdi_step_sum(HDI_STEP_VARIES, 1) == HDI_STEP_VARIES);
}

int main(void)
{
    steps_are_products_and_sums();
    what_is_far_apart_is_gathered();
    sums_that_are_too_large_vary();
    return 0;
}
