// Steps of a tree are paired where what one work-item does is nothing that
// another one sees, or is told otherwise, and only there.
#include <llvm-c/Analysis.h>

#include "kernel/compiler/flow/try_ir.h"
#include "kernel/compiler/transform/tree.h"

// A loop over steps that halve n from `first` on. `step` is what one does;
// `after` what a turn ends with.
static void write_tree(struct hdi_text *text, const char *first,
                       const char *step, const char *after)
{
    hdi_text_print(
        text,
        "declare void @_Z7barrierj(i32)\n"
        "define void @k(ptr addrspace(3) %%part, ptr addrspace(3) %%more, "
        "ptr addrspace(1) %%to, i64 %%first, float %%f) {\n"
        "  %%l = call i64 @_Z12get_local_idj(i32 0)\n"
        "  %%own = getelementptr float, ptr addrspace(3) %%part, i64 %%l\n"
        "  %%out = getelementptr float, ptr addrspace(1) %%to, i64 %%l\n"
        "  %%x = load float, ptr addrspace(1) %%out\n"
        "  br label %%head\n"
        "head:\n"
        "  %%n = phi i64 [ %s, %%0 ], [ %%half, %%next ]\n"
        "  %%ends = icmp eq i64 %%n, 0\n"
        "  br i1 %%ends, label %%end, label %%ask\n"
        "ask:\n"
        "  %%goes = icmp ult i64 %%l, %%n\n"
        "  br i1 %%goes, label %%step, label %%next\n"
        "step:\n"
        "  %%there = add i64 %%l, %%n\n"
        "  %%other = getelementptr float, ptr addrspace(3) %%part, "
        "i64 %%there\n"
        "  %%b = load float, ptr addrspace(3) %%other\n"
        "  %%a = load float, ptr addrspace(3) %%own\n"
        "%s"
        "  br label %%next\n"
        "next:\n"
        "%s"
        "  %%half = lshr i64 %%n, 1\n"
        "  br label %%head\n"
        "end:\n"
        "  ret void\n"
        "}\n",
        first, step, after);
}

struct counts {
    unsigned loads, stores, sums, barriers;
};

// What the blocks for two steps have; nothing: there are none.
static struct counts pairs_from(const char *first, const char *step,
                                const char *after)
{
    struct hdi_text text = {0};
    struct try_ir t;
    struct counts counts = {0};

    write_tree(&text, first, step, after);
    try_ir_open(&t, text.data);
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(t.llvm.context);
    CHECK(hdi_tree_pair(&t.llvm, builder, t.kernel));
    LLVMDisposeBuilder(builder);
    CHECK(!LLVMVerifyFunction(t.kernel, LLVMPrintMessageAction));
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(t.kernel); b;
         b = LLVMGetNextBasicBlock(b)) {
        const char *name = LLVMGetBasicBlockName(b);
        if (strcmp(name, "both") != 0 && strcmp(name, "steps") != 0 &&
            strcmp(name, "further") != 0)
            continue;
        for (LLVMValueRef x = LLVMGetFirstInstruction(b); x;
             x = LLVMGetNextInstruction(x)) {
            counts.loads += LLVMIsALoadInst(x) != NULL;
            counts.stores += LLVMIsAStoreInst(x) != NULL;
            counts.sums += LLVMGetInstructionOpcode(x) == LLVMFAdd;
            counts.barriers += hdi_call_kind(x) == HDI_CALL_BARRIER;
        }
    }
    try_ir_close(&t);
    hdi_text_free(&text);
    return counts;
}

static struct counts pairs(const char *step, const char *after)
{
    return pairs_from("%first", step, after);
}

#define WAIT  "  call void @_Z7barrierj(i32 1)\n"
#define SUM   "  %c = fadd float %a, %b\n"
#define STORE "  store float %c, ptr addrspace(3) %own\n"

static bool is_left(const char *step, const char *after)
{
    struct counts c = pairs(step, after);
    return c.loads + c.stores + c.sums + c.barriers == 0;
}

static void values_stay_in_registers(void)
{
    struct counts c = pairs(SUM STORE, WAIT);

    CHECK(c.loads == 4 && c.stores == 2 && c.sums == 3 && c.barriers == 1);
    // What is stored twice is stored once.
    c = pairs(SUM STORE "  %d = load float, ptr addrspace(3) %own\n"
                        "  %e = fadd float %d, %f\n"
                        "  store float %e, ptr addrspace(3) %own\n",
              WAIT);
    CHECK(c.loads == 4 && c.stores == 2 && c.sums == 6);
    // A second array, at the same places.
    c = pairs(SUM STORE
              "  %p = getelementptr float, ptr addrspace(3) %more, i64 %l\n"
              "  store float %a, ptr addrspace(3) %p\n",
              WAIT);
    CHECK(c.loads == 4 && c.stores == 4);
}

static void others_stay_as_they_are(void)
{
    CHECK(is_left(SUM STORE, "")); // no barrier
    // An n of each work-item's own, which the group cannot branch on.
    CHECK(pairs_from("%l", SUM STORE, WAIT).sums == 0);
    CHECK(is_left(SUM, WAIT)); // nothing is stored
    CHECK(is_left("  %c = fadd float %a, %x\n" STORE, WAIT)); // its own x
    CHECK(is_left(SUM "  store float %c, ptr addrspace(3) %other\n", WAIT));
    CHECK(is_left(SUM "  store volatile float %c, ptr addrspace(3) %own\n",
                  WAIT));
    CHECK(is_left(SUM "  store float %c, ptr addrspace(1) %out\n", WAIT));
    CHECK(is_left(SUM STORE, WAIT "  store float %f, ptr addrspace(3) %own\n"));
    // Another part of the same memory, or other sizes of its elements.
    CHECK(is_left(SUM STORE
                  "  %p = getelementptr float, ptr addrspace(3) %own, i64 1\n"
                  "  store float %a, ptr addrspace(3) %p\n",
                  WAIT));
    CHECK(is_left(SUM STORE "  store i8 0, ptr addrspace(3) %own\n", WAIT));
    // The number of the step, and that of the work-item, as values.
    CHECK(is_left("  %m = uitofp i64 %n to float\n"
                  "  %c = fadd float %a, %m\n" STORE,
                  WAIT));
}

int main(void)
{
    values_stay_in_registers();
    others_stay_as_they_are();
    return 0;
}
