// For tests: a kernel from LLVM's text, as passes see it.
#ifndef HDI_KERNEL_COMPILER_ANALYSIS_TRY_IR_H
#define HDI_KERNEL_COMPILER_ANALYSIS_TRY_IR_H

#include <llvm-c/IRReader.h>
#include <string.h>

#include "kernel/compiler/flow/flow.h"
#include "kernel/compiler/flow/uniform.h"
#include "tests/check.h"

struct try_ir {
    struct hdi_llvm llvm;
    LLVMModuleRef module;
    LLVMValueRef kernel;
    struct hdi_flow flow;
};

static inline struct hdi_target try_ir_target(const char *cpu)
{
    return hdi_target_find("x86_64", cpu, "+avx2,+avx512f");
}

// `text` defines a function `k`; the layout and the declarations of id
// functions are there already.
static inline void try_ir_open(struct try_ir *t, const char *text)
{
    static const char begin[] =
        "target datalayout = \"e-m:e-p270:32:32-p271:32:32-p272:64:64-"
        "i64:64-i128:128-f80:128-n8:16:32:64-S128\"\n"
        "declare i64 @_Z13get_global_idj(i32)\n"
        "declare i64 @_Z12get_local_idj(i32)\n"
        "declare i64 @_Z15get_global_sizej(i32)\n";
    struct hdi_text all = {0};
    char *message = NULL;

    *t = (struct try_ir){.llvm.path = "test",
                         .llvm.target = try_ir_target("skylake-avx512")};
    t->llvm.context = LLVMContextCreate();
    hdi_text_print(&all, "%s%s", begin, text);
    CHECK(!all.failed);
    LLVMMemoryBufferRef buffer =
        LLVMCreateMemoryBufferWithMemoryRangeCopy(all.data, all.size, "test");
    if (LLVMParseIRInContext(t->llvm.context, buffer, &t->module, &message)) {
        fprintf(stderr, "%s\n", message);
        CHECK(false);
    }
    hdi_text_free(&all);
    t->llvm.layout = LLVMCreateTargetData(LLVMGetDataLayoutStr(t->module));
    t->kernel = LLVMGetNamedFunction(t->module, "k");
    CHECK(t->kernel && hdi_flow_find(&t->llvm, t->kernel, false, &t->flow) &&
          hdi_uniform_find(&t->flow));
}

static inline void try_ir_close(struct try_ir *t)
{
    hdi_flow_destroy(&t->flow);
    LLVMDisposeTargetData(t->llvm.layout);
    LLVMDisposeModule(t->module);
    LLVMContextDispose(t->llvm.context);
}

// The instruction of that name.
static inline LLVMValueRef try_ir_find(const struct try_ir *t, const char *name)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(t->kernel); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef x = LLVMGetFirstInstruction(b); x;
             x = LLVMGetNextInstruction(x))
            if (strcmp(hdi_value_name(x), name) == 0)
                return x;
    CHECK(false);
    return NULL;
}

#endif
