// Marks of screened kernels: those that say nothing go, and no others.
#include "kernel/compiler/check/screen.h"
#include "kernel/compiler/check/screening.h"

#include "kernel/compiler/ir/try_text.h"

static unsigned count(LLVMValueRef kernel, const char *mark)
{
    LLVMBasicBlockRef b = LLVMGetEntryBasicBlock(kernel);
    unsigned n = 0;

    for (LLVMValueRef x = LLVMGetFirstInstruction(b); x;
         x = LLVMGetNextInstruction(x))
        n += hdi_screen_is(x, mark);
    return n;
}

static void what_holds_is_not_expected(void)
{
    struct hdi_llvm llvm = {0};
    LLVMModuleRef module =
        try_text_parse(&llvm, "declare void @heddle.screen.expect(i1)\n"
                              "declare void @other(i1)\n"
                              "define void @k(i1 %c) {\n"
                              "  call void @heddle.screen.expect(i1 true)\n"
                              "  call void @heddle.screen.expect(i1 %c)\n"
                              "  call void @heddle.screen.expect(i1 false)\n"
                              "  call void @heddle.screen.expect(i1 true)\n"
                              "  call void @other(i1 true)\n"
                              "  ret void\n"
                              "}\n");
    LLVMValueRef kernel = LLVMGetNamedFunction(module, "k");

    hdi_screen_tidy(kernel);
    CHECK(count(kernel, HDI_SCREEN_EXPECT) == 2);
    CHECK(count(kernel, "other") == 1);
    LLVMValueRef x = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(kernel));
    CHECK(LLVMGetOperand(x, 0) == LLVMGetParam(kernel, 0));
    x = LLVMGetNextInstruction(x);
    CHECK(LLVMIsNull(LLVMGetOperand(x, 0)));
    try_text_close(&llvm, module);
}

// One function for each pair of address spaces, so that operands fit.
static void touches_say_what_and_where(void)
{
    struct hdi_llvm llvm = {0};
    LLVMModuleRef module = try_text_parse(
        &llvm, "define void @k(ptr addrspace(1) %p, ptr addrspace(3) %l) {\n"
               "  ret void\n"
               "}\n");
    LLVMValueRef kernel = LLVMGetNamedFunction(module, "k");
    LLVMBuilderRef b = LLVMCreateBuilderInContext(llvm.context);

    LLVMPositionBuilderBefore(
        b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(kernel)));
    for (unsigned i = 0; i < 3; i++) {
        LLVMValueRef p = LLVMGetParam(kernel, i > 0);
        LLVMValueRef base = LLVMGetParam(kernel, i == 1);
        const struct hdi_screen_access access = {p, base, 16, 4, 2};
        hdi_screen_touch(&llvm, module, b, &access);
    }
    hdi_screen_tidy(kernel);
    CHECK(!llvm.unscreened && count(kernel, HDI_SCREEN_TOUCH) == 3);
    LLVMValueRef x = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(kernel));
    CHECK(hdi_screen_number(x, 2) == 16 && hdi_screen_number(x, 3) == 4 &&
          hdi_screen_number(x, 4) == 2);
    LLVMValueRef y = LLVMGetNextInstruction(x);
    LLVMValueRef z = LLVMGetNextInstruction(y);
    CHECK(LLVMGetCalledValue(x) != LLVMGetCalledValue(y) &&
          LLVMGetCalledValue(x) != LLVMGetCalledValue(z) &&
          LLVMGetCalledValue(y) != LLVMGetCalledValue(z));
    LLVMDisposeBuilder(b);
    try_text_close(&llvm, module);
}

int main(void)
{
    what_holds_is_not_expected();
    touches_say_what_and_where();
    return 0;
}
