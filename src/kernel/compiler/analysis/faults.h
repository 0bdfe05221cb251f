// Faults of LLVM 19, and what is done against each. faults_test.c has a test
// for every one that fails when LLVM is without it: then it goes from here.
//
// One more stands with the options of ir/llvm.c: past so many checks whether
// memory overlaps LLVM makes the vectors that it is asked for without any.
#ifndef HDI_KERNEL_COMPILER_ANALYSIS_FAULTS_H
#define HDI_KERNEL_COMPILER_ANALYSIS_FAULTS_H

#include "kernel/compiler/flow/region.h"

// Unsigned quotients that are the same for all work-items of a loop, but that
// only some of them compute: of these LLVM takes that of the first lane for
// what it computes from them, also where that lane is off and has none. Whether
// the region has one, so that its loop must not become vectors.
bool hdi_faults_quotient(const struct hdi_region *region);

// Indices that wrap, as in a[3 * i & 63]: LLVM takes the mask for a number of
// few bits that grows by 3, and asks before the loop whether it wraps. Where it
// begins at 0 it asks whether the loop has more than 64 turns, not whether
// three times as many fit, and reads neighbours beyond the wrap (SCEVExpander).
// A step that is a power of two is right, since vectors divide the period.
// Whether the region has such an index, so that its loop must not become
// vectors. Loops inside a work-item are another matter (wraps.h).
bool hdi_faults_wrap(const struct hdi_region *region);

// LLVM makes one vector of different operations on neighbours, a shift beside
// others, and shifts elements that nobody needs by a number for another
// operation, such as the mask 255. Its code generation then takes them for 0
// and joins vectors by OR, while processors give the sign. So no element is
// shifted by more than it has bits.
void hdi_faults_bound_shifts(LLVMModuleRef module);

#endif
