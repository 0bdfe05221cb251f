// What is kept of work-items across barriers is in memory that nothing else of
// a kernel lies in: LLVM is told.
#ifndef HDI_KERNEL_COMPILER_EMIT_SCOPE_H
#define HDI_KERNEL_COMPILER_EMIT_SCOPE_H

#include "kernel/compiler/emit/emit.h"

// In the function at hand, when it is complete: accesses to kept values and to
// private arrays, and those to local memory and to what arguments point to, are
// told apart. An access whose memory is not known is either.
void hdi_scope_saved(const struct hdi_emit *emit);

#endif
