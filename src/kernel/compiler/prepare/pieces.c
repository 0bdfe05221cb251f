#include "kernel/compiler/prepare/pieces.h"

#include <llvm-c/DebugInfo.h>

#include "kernel/compiler/check/probe.h"

// Larger structures are left to a copy of bytes.
enum {
    MAX_PIECES = 16, // of a structure
    MAX_SIZE = 8     // of a piece [bytes]
};

// Of a pointer that a call is given.
static uint64_t alignment_of(LLVMValueRef call, unsigned which)
{
    unsigned kind = LLVMGetEnumAttributeKindForName("align", 5);
    LLVMAttributeRef align =
        LLVMGetCallSiteEnumAttribute(call, which + 1, kind);
    return align ? LLVMGetEnumAttributeValue(align) : 1;
}

// Pieces are as large as the alignment of both sides says. 0: not to be copied
// so.
static unsigned count_pieces(LLVMValueRef copy, unsigned *size)
{
    LLVMValueRef bytes = LLVMGetArgOperand(copy, 2);
    LLVMValueRef is_volatile = LLVMGetArgOperand(copy, 3);

    if (!LLVMIsAConstantInt(bytes) || LLVMConstIntGetZExtValue(is_volatile))
        return 0;
    uint64_t all = LLVMConstIntGetZExtValue(bytes);
    *size = MAX_SIZE;
    for (unsigned side = 0; side < 2; side++) {
        uint64_t align = alignment_of(copy, side);
        *size = align < *size ? (unsigned)align : *size;
    }
    return all % *size == 0 && all / *size <= MAX_PIECES
               ? (unsigned)(all / *size)
               : 0;
}

static LLVMValueRef piece(const struct hdi_llvm *llvm, LLVMBuilderRef builder,
                          LLVMValueRef pointer, unsigned offset)
{
    LLVMValueRef at =
        LLVMConstInt(LLVMInt64TypeInContext(llvm->context), offset, false);
    return LLVMBuildInBoundsGEP2(builder, LLVMInt8TypeInContext(llvm->context),
                                 pointer, &at, 1, "");
}

// All loads before all stores, since the two may overlap as one and the same
// structure.
static void copy_pieces(const struct hdi_llvm *llvm, LLVMBuilderRef builder,
                        LLVMValueRef copy)
{
    LLVMValueRef values[MAX_PIECES];
    unsigned size, count = count_pieces(copy, &size);

    if (count == 0)
        return;
    LLVMTypeRef type = LLVMIntTypeInContext(llvm->context, 8 * size);
    LLVMPositionBuilderBefore(builder, copy);
    LLVMSetCurrentDebugLocation2(builder, LLVMInstructionGetDebugLoc(copy));
    for (unsigned i = 0; i < count; i++) {
        values[i] = LLVMBuildLoad2(
            builder, type,
            piece(llvm, builder, LLVMGetArgOperand(copy, 1), i * size), "");
        LLVMSetAlignment(values[i], size);
    }
    for (unsigned i = 0; i < count; i++)
        LLVMSetAlignment(
            LLVMBuildStore(
                builder, values[i],
                piece(llvm, builder, LLVMGetArgOperand(copy, 0), i * size)),
            size);
    LLVMInstructionEraseFromParent(copy);
}

void hdi_copy_in_pieces(const struct hdi_llvm *llvm, LLVMBuilderRef builder,
                        LLVMValueRef kernel)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(kernel); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b), next; i; i = next) {
            next = LLVMGetNextInstruction(i);
            if (hdi_is_intrinsic(i, "llvm.memcpy"))
                copy_pieces(llvm, builder, i);
        }
}
