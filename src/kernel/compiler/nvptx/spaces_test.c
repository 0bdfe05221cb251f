// Address spaces of SPIR become those of a GPU, in types, casts and constants,
// and in nothing that is between quotes.
#include "kernel/compiler/nvptx/spaces.h"

#include "kernel/compiler/ir/try_text.h"

static const char program[] =
    "@table = internal addrspace(2) constant [2 x i32] [i32 1, i32 2]\n"
    "@shared = internal addrspace(3) global i32 undef\n"
    "@at = addrspace(2) constant ptr addrspace(1) addrspacecast\n"
    "      (ptr addrspace(2) @table to ptr addrspace(1))\n"
    "define void @k(ptr addrspace(1) %p, ptr addrspace(4) %g) {\n"
    "  %plain = addrspacecast ptr addrspace(4) %g to ptr\n"
    "  %global = addrspacecast ptr addrspace(1) %p to ptr addrspace(4)\n"
    "  %local = addrspacecast ptr addrspace(3) @shared to ptr addrspace(4)\n"
    "  store i32 1, ptr %plain, !note !0\n"
    "  ret void\n"
    "}\n"
    "!0 = !{!\"a addrspace(4) b\"}\n";

static unsigned space_of(LLVMValueRef value)
{
    return LLVMGetPointerAddressSpace(LLVMTypeOf(value));
}

int main(void)
{
    struct hdi_llvm llvm = {.path = "test"};
    LLVMModuleRef module = try_text_parse(&llvm, program);
    struct hd_error error;

    CHECK_OK(hdi_spaces_lower(&llvm, &module, &error), error);
    LLVMValueRef k = LLVMGetNamedFunction(module, "k");
    CHECK(space_of(LLVMGetNamedGlobal(module, "table")) == 1);
    CHECK(space_of(LLVMGetNamedGlobal(module, "shared")) == 3);
    CHECK(space_of(LLVMGetParam(k, 0)) == 1);
    CHECK(space_of(LLVMGetParam(k, 1)) == 0);
    // Of one space by now, and of two.
    CHECK(LLVMIsAGetElementPtrInst(try_text_find(k, "plain")));
    CHECK(LLVMIsAAddrSpaceCastInst(try_text_find(k, "global")));
    CHECK(space_of(try_text_find(k, "local")) == 0);
    char *text = LLVMPrintModuleToString(module);
    CHECK(strstr(text, "!\"a addrspace(4) b\""));
    CHECK(!strstr(text, "ptr addrspace(2)") && !strstr(text, "addrspace(4) %"));
    LLVMDisposeMessage(text);
    try_text_close(&llvm, module);
    return 0;
}
