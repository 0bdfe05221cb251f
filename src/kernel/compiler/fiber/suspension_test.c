// Which kernels become coroutines: those that wait, and have little to keep.
#include "kernel/compiler/fiber/coroutine.h"

#include "kernel/compiler/ir/try_text.h"

static bool fits(const char *variable, const char *call)
{
    struct hdi_text text = {0};
    struct hdi_llvm llvm = {0};

    hdi_text_print(&text,
                   "declare void @_Z7barrierj(i32)\n"
                   "declare void @other(i32)\n"
                   "define void @k() {\n"
                   "  %%few = alloca [4 x i32]\n"
                   "  %%more = alloca %s\n"
                   "  call void @%s(i32 1)\n"
                   "  ret void\n"
                   "}\n",
                   variable, call);
    LLVMModuleRef module = try_text_parse(&llvm, text.data);
    bool yes = hdi_coroutine_fits(&llvm, LLVMGetNamedFunction(module, "k"));
    try_text_close(&llvm, module);
    hdi_text_free(&text);
    return yes;
}

int main(void)
{
    CHECK(fits("i32", "_Z7barrierj"));
    CHECK(!fits("i32", "other"));
    // All variables together: 16 bytes and the rest of 16 KiB.
    CHECK(fits("[16368 x i8]", "_Z7barrierj"));
    CHECK(!fits("[16369 x i8]", "_Z7barrierj"));
    CHECK(fits("i32, align 4096", "_Z7barrierj"));
    CHECK(!fits("i32, align 8192", "_Z7barrierj"));
    return 0;
}
