// Which functions stay functions. A kernel becomes one function, but with calls
// in calls that takes time and memory in powers of their depth. When a kernel
// would be longer than its budget, or long and the same again and again, long
// functions are kept and called, the innermost first: as long as they compute
// numbers from numbers alone, in memory of their own, so that it does not
// matter which work-item calls them and when.
#ifndef HDI_KERNEL_COMPILER_PREPARE_CALLS_H
#define HDI_KERNEL_COMPILER_PREPARE_CALLS_H

#include "base/text.h"
#include "kernel/build.h"
#include "kernel/compiler/ir/llvm.h"

// Of functions that are all to be inlined into a kernel, keep some where it is
// too long with all, and say so in `explanation` unless it is NULL. HD_ENOMEM.
hd_status hdi_calls_keep(struct hdi_llvm *llvm, LLVMValueRef kernel,
                         struct hdi_text *explanation, struct hd_error *error);

// Refuse a kernel that would be so long with all to be inlined that it could
// not be compiled in reasonable time. `checked`: none was to be kept, which the
// error says. HD_EBUILD, HD_ENOMEM.
hd_status hdi_calls_limit(struct hdi_llvm *llvm, LLVMValueRef kernel,
                          bool checked, const struct hdi_build_kernel *about,
                          struct hd_error *error);

#endif
