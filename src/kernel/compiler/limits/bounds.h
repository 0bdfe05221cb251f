// Main header of limits: conditions that keep work-items out, as limits of ids.
//
// In flat kernels (chunk.h) such conditions become bounds of the range: calls
// in the kernel which the emitter takes out. An id that the kernel uses as 32
// bits is taken to fit into them.
#ifndef HDI_KERNEL_COMPILER_LIMITS_BOUNDS_H
#define HDI_KERNEL_COMPILER_LIMITS_BOUNDS_H

#include "kernel/build.h"
#include "kernel/compiler/ir/llvm.h"

// Functions that are called with a dimension (i32) and a bound of its global
// ids (i64): the first that is in, or the first that is out again.
extern const char hdi_bounds_lower[], hdi_bounds_upper[];
// The ids in x go on to the upper bound in steps of the global size; called
// with whether they may be taken in another order (i1), as long as the ranges
// that work-items touch in memory agree or are apart: of each pair, called with
// address and bytes of an element of both (four i64).
extern const char hdi_bounds_stride[], hdi_bounds_apart[];

struct hdi_bounds {
    struct hdi_llvm *llvm;
    LLVMModuleRef module;
    LLVMBuilderRef builder;
    LLVMTypeRef i32, i64;
};

// Work-items go on only when `condition` is `wanted`. Of its parts, make bounds
// of those that are comparisons of an id.
void hdi_bounds_state(struct hdi_bounds *bounds, LLVMValueRef condition,
                      bool wanted);

// Write such a call at the builder's point.
void hdi_bounds_call(struct hdi_bounds *bounds, const char *name, unsigned d,
                     LLVMValueRef bound);

// The dimension whose global id `value` is, also in 32 bits; -1: none.
int hdi_bounds_dimension(LLVMValueRef value);

// Mark the arguments that are images: what a kernel gets for one is always
// there.
void hdi_bounds_mark_images(LLVMContextRef context, LLVMValueRef kernel,
                            const struct hdi_build_kernel *about);

// Whether the value is loaded from the description of an image, which does not
// change and can be read anywhere: an argument that is marked as such.
bool hdi_bounds_is_image_field(LLVMValueRef value);

// Whether the value is computed from arguments, fields of images, constants and
// sizes alone.
bool hdi_bounds_is_given(LLVMValueRef value);

// Whether the call neither reads nor writes memory.
bool hdi_bounds_is_pure_call(LLVMValueRef call);

// Without the work-items that leave after it, does the block do the same?
bool hdi_bounds_is_pure(LLVMBasicBlockRef block);

bool hdi_bounds_is_constant(LLVMValueRef value, uint64_t wanted);
bool hdi_bounds_only_returns(LLVMBasicBlockRef block);
bool hdi_bounds_has_one_predecessor(LLVMBasicBlockRef block);

#endif
