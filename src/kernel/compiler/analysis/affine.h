// How the values of a kernel grow along axes: from work-item to work-item, from
// group to group, from turn to turn of a loop.
//
// Found once for a whole kernel it is a guess, which may be wrong where a
// number wraps: it decides which code is faster, never what is right. Along x
// it is proven for one region at a time: see linear.h.
#ifndef HDI_KERNEL_COMPILER_ANALYSIS_AFFINE_H
#define HDI_KERNEL_COMPILER_ANALYSIS_AFFINE_H

#include "kernel/compiler/analysis/step.h"
#include "kernel/compiler/flow/nest.h"

enum hdi_step_axis {
    HDI_AXIS_X, // the next work-item
    HDI_AXIS_Y,
    HDI_AXIS_Z,
    HDI_AXIS_GROUP,  // the next group in x: by the number of work-items in one
    HDI_AXIS_SINGLE, // and by so much beside that
    HDI_AXIS_SWEEP, // the next turn of a loop in steps of the global size in x:
                    // by that size
    HDI_AXIS_TURN,  // the next turn of the loop at hand
    HDI_AXES
};

// `steps` of an instruction lie side by side, one per axis. The flow, nest and
// kernel must stay.
struct hdi_value_steps {
    const struct hdi_llvm *llvm;
    const struct hdi_flow *flow; // NULL: values are in no slots
    const struct hdi_nest *loop; // NULL: the whole kernel
    LLVMValueRef kernel;
    bool clamps; // what is limited is taken to be within, as most is
    bool proves; // no step is a guess
    enum hdi_step_axis first, end; // axes looked along: as far as before `end`
    struct hdi_map numbers;        // instruction: where its steps are
    struct hdi_step *steps;
    size_t count, room;     // of instructions
    struct hdi_step *slots; // the same per slot
};

// Of all axes but TURN. `flow`: the kernel in memory form, which is known to be
// uniform or not (flow/uniform.h); NULL: it has phi nodes. False when memory
// ran out; destroy it all the same.
bool hdi_affine_find(const struct hdi_llvm *llvm, LLVMValueRef kernel,
                     const struct hdi_flow *flow, bool clamps,
                     struct hdi_value_steps *affine);

// Of TURN, for the loop at hand, as long as it is.
bool hdi_affine_find_turns(const struct hdi_llvm *llvm,
                           const struct hdi_nest *nest,
                           struct hdi_value_steps *affine);
void hdi_affine_destroy(struct hdi_value_steps *affine);

int64_t hdi_affine_step(const struct hdi_value_steps *affine,
                        LLVMValueRef value, enum hdi_step_axis axis);

// Are neighbours in x that access this so far apart that no vector does it?
bool hdi_affine_is_gathered(const struct hdi_value_steps *affine,
                            LLVMValueRef pointer, LLVMTypeRef type);

// Proofs, along x alone: for who knows which instructions there are, and more
// than stores tell of slots, all of which are UNKNOWN at first. False when
// memory ran out, which `numbers.failed` says later on; destroy it all the
// same.
bool hdi_affine_prove(const struct hdi_flow *flow,
                      struct hdi_value_steps *affine);

// Where the step of an instruction is, UNKNOWN at first, until another one is
// added; NULL: no memory.
struct hdi_step *hdi_affine_add(struct hdi_value_steps *affine,
                                LLVMValueRef instruction);

// Look again at one that was added: steps only ever get worse. Has it changed?
bool hdi_affine_refine(struct hdi_value_steps *affine,
                       LLVMValueRef instruction);
struct hdi_step hdi_affine_proof(const struct hdi_value_steps *affine,
                                 LLVMValueRef value);

#endif
