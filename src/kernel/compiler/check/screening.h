// Between screen.c, which finds what a kernel touches and when, and look.c,
// which writes the code that looks at one access.
#ifndef HDI_KERNEL_COMPILER_CHECK_SCREENING_H
#define HDI_KERNEL_COMPILER_CHECK_SCREENING_H

#include "kernel/compiler/emit/emit.h"

// The marks. The former's operands: the pointer, the object's base, the
// size, granule and kind of the access.
#define HDI_SCREEN_TOUCH  "heddle.screen.touch"
#define HDI_SCREEN_EXPECT "heddle.screen.expect"

enum {
    HDI_SCREEN_OBJECTS = 64 // at most: a set of them is a word
};

// An argument that points to memory, or a local variable. The values below
// `granule` are computed once, where the function begins.
struct hdi_screened {
    LLVMValueRef base; // of the kernel
    bool local;
    unsigned granule;           // of all its accesses [bytes]
    LLVMValueRef address, size; // i64
    LLVMValueRef writes, reads; // tags, one per granule
};

// Belongs to the function being written, from hdi_screen_begin() to
// hdi_screen_free(). Bit i of a set is object i.
struct hdi_screening {
    struct hdi_screened objects[HDI_SCREEN_OBJECTS];
    unsigned count;
    size_t *phases; // per block: one of those with no barrier between them
    uint64_t *read, *written; // per phase: sets of objects
    uint64_t noted;           // of which tags are kept: a set
    LLVMValueRef screen;      // struct hdi_screen
    LLVMValueRef now, group;  // allocas: tags of this phase begin there, those
                              // of this group
    LLVMBasicBlockRef trap;
};

// Whether it is a mark whose name begins like this; its operand, which
// is a constant.
bool hdi_screen_is(LLVMValueRef instruction, const char *name);
uint64_t hdi_screen_number(LLVMValueRef call, unsigned operand);

// The number of the object with this base; HDI_SCREEN_OBJECTS: one too many.
unsigned hdi_screen_object_of(struct hdi_screening *screening,
                              LLVMValueRef base);

// A pointer as a number.
LLVMValueRef hdi_screen_address(struct hdi_llvm *llvm, LLVMBuilderRef builder,
                                LLVMValueRef pointer);

// At the builder's point, leave the kernel if `bad`, and go on in a new block.
void hdi_screen_trap(struct hdi_emit *emit, LLVMValueRef bad);

#endif
