// Loads that are the same in each turn leave loops that may end early, where
// the first turn comes to them and nothing may change what they read.
#include <llvm-c/Analysis.h>

#include "kernel/compiler/flow/try_ir.h"
#include "kernel/compiler/transform/early.h"

// A search. `body` stands in front of the second condition.
static void write_search(struct hdi_text *text, const char *body,
                         const char *more)
{
    hdi_text_print(
        text,
        "define void @k(ptr addrspace(1) %%from, ptr addrspace(1) %%to, "
        "i64 %%n) {\n"
        "  %%x = call i64 @_Z13get_global_idj(i32 0)\n"
        "  br label %%head\n"
        "head:\n"
        "  %%i = phi i64 [ 0, %%0 ], [ %%j, %%next ]\n"
        "  %%begins = icmp ult i64 %%i, %%n\n"
        "  br i1 %%begins, label %%turn, label %%end\n"
        "turn:\n"
        "  %%at = getelementptr i32, ptr addrspace(1) %%from, i64 %%i\n"
        "  %%v = load i32, ptr addrspace(1) %%at\n"
        "%s"
        "  %%goes = icmp ult i32 %%v, %%w\n"
        "  br i1 %%goes, label %%next, label %s\n"
        "next:\n"
        "  %%j = add i64 %%i, 1\n"
        "  br label %%head\n"
        "end:\n"
        "  %%found = phi i64 [ %%i, %%head ]%s\n"
        "  store i64 %%found, ptr addrspace(1) %%to\n"
        "  ret void\n"
        "}\n",
        body, more, *more == '%' && more[1] == 'e' ? ", [ %i, %turn ]" : "");
}

// How many loads are left in the block that each turn comes to.
static unsigned loads_in_turn(const char *body, const char *more)
{
    struct hdi_text text = {0};
    struct try_ir t;
    unsigned count = 0;

    write_search(&text, body, more);
    try_ir_open(&t, text.data);
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(t.llvm.context);
    CHECK(hdi_early_move(&t.llvm, builder, t.kernel));
    LLVMDisposeBuilder(builder);
    CHECK(!LLVMVerifyFunction(t.kernel, LLVMPrintMessageAction));
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(t.kernel); b;
         b = LLVMGetNextBasicBlock(b))
        if (strcmp(LLVMGetBasicBlockName(b), "turn") == 0)
            for (LLVMValueRef x = LLVMGetFirstInstruction(b); x;
                 x = LLVMGetNextInstruction(x))
                count += LLVMIsALoadInst(x) != NULL;
    try_ir_close(&t);
    hdi_text_free(&text);
    return count;
}

#define SAME                                                     \
    "  %shorter = trunc i64 %x to i32\n"                         \
    "  %own = sext i32 %shorter to i64\n"                        \
    "  %p = getelementptr i32, ptr addrspace(1) %to, i64 %own\n" \
    "  %w = load i32, ptr addrspace(1) %p\n"

int main(void)
{
    CHECK(loads_in_turn(SAME, "%end") == 1);
    // It differs by turn, as the first does.
    CHECK(loads_in_turn("  %w = load i32, ptr addrspace(1) %at\n", "%end") ==
          2);
    // What it reads may have changed.
    CHECK(loads_in_turn(SAME "  store i32 %v, ptr addrspace(1) %at\n",
                        "%end") == 2);
    CHECK(loads_in_turn("  fence seq_cst\n" SAME, "%end") == 2);
    CHECK(loads_in_turn("  %w = load volatile i32, ptr addrspace(1) %to\n",
                        "%end") == 2);
    // All turns are begun by the same condition: LLVM moves it.
    CHECK(loads_in_turn(SAME, "%next") == 2);
    return 0;
}
