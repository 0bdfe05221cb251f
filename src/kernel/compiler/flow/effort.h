// What building a kernel may cost. Work is counted in what there is to be done,
// never in seconds, so that a build gives the same code on every machine and
// day. One unit is about what an instruction takes in all of LLVM's passes
// together: some 50 us on a processor of 2023.
#ifndef HDI_KERNEL_COMPILER_FLOW_EFFORT_H
#define HDI_KERNEL_COMPILER_FLOW_EFFORT_H

#include "kernel/compiler/ir/llvm.h"

enum {
    HDI_BUDGET = 40000 // unless option -heddle-budget=N says other [units]
};

// Of a module's functions together.
struct hdi_effort {
    unsigned instructions, blocks, loops;
    unsigned longest; // block [instructions]
    uint64_t units;   // of optimising it with all means
};

struct hdi_effort hdi_effort_of(LLVMModuleRef module);

#endif
