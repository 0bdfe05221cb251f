// For tests: a module from LLVM's text.
#ifndef HDI_KERNEL_COMPILER_IR_TRY_TEXT_H
#define HDI_KERNEL_COMPILER_IR_TRY_TEXT_H

#include <llvm-c/IRReader.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "kernel/compiler/ir/llvm.h"
#include "tests/check.h"

// The layout and the declarations of id functions are there already.
static inline LLVMModuleRef try_text_parse(struct hdi_llvm *llvm,
                                           const char *text)
{
    static const char begin[] =
        "target datalayout = \"e-m:e-p270:32:32-p271:32:32-p272:64:64-"
        "i64:64-i128:128-f80:128-n8:16:32:64-S128\"\n"
        "declare i64 @_Z13get_global_idj(i32)\n"
        "declare i64 @_Z12get_local_idj(i32)\n"
        "declare i64 @_Z15get_global_sizej(i32)\n";
    struct hdi_text all = {0};
    LLVMModuleRef module;
    char *message = NULL;

    llvm->context = LLVMContextCreate();
    hdi_text_print(&all, "%s%s", begin, text);
    CHECK(!all.failed);
    LLVMMemoryBufferRef buffer =
        LLVMCreateMemoryBufferWithMemoryRangeCopy(all.data, all.size, "test");
    if (LLVMParseIRInContext(llvm->context, buffer, &module, &message)) {
        fprintf(stderr, "%s\n", message);
        CHECK(false);
    }
    hdi_text_free(&all);
    llvm->layout = LLVMCreateTargetData(LLVMGetDataLayoutStr(module));
    return module;
}

static inline void try_text_close(struct hdi_llvm *llvm, LLVMModuleRef module)
{
    LLVMDisposeTargetData(llvm->layout);
    LLVMDisposeModule(module);
    LLVMContextDispose(llvm->context);
}

// The instruction of that name.
static inline LLVMValueRef try_text_find(LLVMValueRef kernel, const char *name)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(kernel); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef x = LLVMGetFirstInstruction(b); x;
             x = LLVMGetNextInstruction(x))
            if (strcmp(hdi_value_name(x), name) == 0)
                return x;
    CHECK(false);
    return NULL;
}

#endif
