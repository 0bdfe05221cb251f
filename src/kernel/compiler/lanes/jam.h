// Several rows of a group at once.
//
// Where a vector of each row is one long chain of arithmetic, as of a product's
// sum, a processor waits for each step of it; it overlaps rows only as far as
// it looks ahead, of long chains hardly. Four rows whose steps take turns keep
// it busy. Work-items of a group do not depend on each other between barriers,
// so rows may be taken in any order.
#ifndef HDI_KERNEL_COMPILER_LANES_JAM_H
#define HDI_KERNEL_COMPILER_LANES_JAM_H

#include "kernel/compiler/ir/llvm.h"

// A property of loops that take row after row of a chunk's column.
#define HDI_JAM_MARK "heddle.rows"

// In all such loops that are one block by now, of optimised code. HD_ENOMEM.
hd_status hdi_jam_rows(const struct hdi_llvm *llvm, LLVMModuleRef module,
                       struct hd_error *error);

#endif
