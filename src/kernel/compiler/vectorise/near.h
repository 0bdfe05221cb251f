// Addresses that are those of neighbours or not, as bits of ids and of what the
// group agrees on decide: `from[i & mask]`, `from[i ^ step]`, `from[i / n * m +
// i % n]`. Where a gather is dear, lanes look at them while running.
#ifndef HDI_KERNEL_COMPILER_VECTORISE_NEAR_H
#define HDI_KERNEL_COMPILER_VECTORISE_NEAR_H

#include "kernel/compiler/vectorise/wide.h"

// Whether it is worth looking at the addresses `pointer`.
bool hdi_near_pays(const struct hdi_wide *wide, LLVMValueRef pointer);

// Whether all lanes are on and the addresses are those of neighbours' elements
// of `size` bytes, an i1; the first one is put into `at`.
LLVMValueRef hdi_near_ask(struct hdi_wide *wide, LLVMValueRef pointer,
                          uint64_t size, LLVMValueRef *at);

#endif
