#ifndef HDI_KERNEL_COMPILER_ANALYSIS_WRAPS_H
#define HDI_KERNEL_COMPILER_ANALYSIS_WRAPS_H

#include "kernel/compiler/ir/llvm.h"

// Loops as LLVM sees them, of work-items and inside one, that go through memory
// by an index that wraps: for (k = 0; k < n; k++) x += t[3 * k & 63]. Those are
// told to stay scalar, for the fault that faults.h tells of (hdi_faults_wrap).
// Where LLVM's question is right they stay so too, as with a step that only the
// launch knows: what does not fit the period is hardly ever worth vectors.
// HD_ECANCELED.
hd_status hdi_wraps_keep_scalar(const struct hdi_llvm *llvm,
                                LLVMModuleRef module, struct hd_error *error);

#endif
