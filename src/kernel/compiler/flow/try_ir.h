// For tests: a kernel from LLVM's text, as passes see it.
#ifndef HDI_KERNEL_COMPILER_FLOW_TRY_IR_H
#define HDI_KERNEL_COMPILER_FLOW_TRY_IR_H

#include "kernel/compiler/flow/flow.h"
#include "kernel/compiler/flow/uniform.h"
#include "kernel/compiler/ir/try_text.h"

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
    *t = (struct try_ir){.llvm.path = "test",
                         .llvm.target = try_ir_target("skylake-avx512")};
    t->module = try_text_parse(&t->llvm, text);
    t->kernel = LLVMGetNamedFunction(t->module, "k");
    CHECK(t->kernel && hdi_flow_find(&t->llvm, t->kernel, false, &t->flow) &&
          hdi_uniform_find(&t->flow));
}

static inline void try_ir_close(struct try_ir *t)
{
    hdi_flow_destroy(&t->flow);
    try_text_close(&t->llvm, t->module);
}

// The instruction of that name.
static inline LLVMValueRef try_ir_find(const struct try_ir *t, const char *name)
{
    return try_text_find(t->kernel, name);
}

#endif
