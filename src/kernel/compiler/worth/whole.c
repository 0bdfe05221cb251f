#include "kernel/compiler/worth/whole.h"

#include "kernel/compiler/worth/weigh.h"

// The widest of the vectors that an instruction makes or takes, NULL: none.
static LLVMTypeRef vector_of(const struct hdi_llvm *llvm, LLVMValueRef x)
{
    LLVMTypeRef widest = NULL;
    int count = LLVMGetNumOperands(x);

    for (int i = -1; i < count; i++) {
        LLVMTypeRef type = LLVMTypeOf(i < 0 ? x : LLVMGetOperand(x, i));
        if (LLVMGetTypeKind(type) == LLVMVectorTypeKind &&
            (!widest || LLVMStoreSizeOfType(llvm->layout, type) >
                            LLVMStoreSizeOfType(llvm->layout, widest)))
            widest = type;
    }
    return widest;
}

// What moves elements is nothing where each is a value of its own.
static bool moves_elements(LLVMValueRef x)
{
    return LLVMIsAExtractElementInst(x) || LLVMIsAInsertElementInst(x) ||
           LLVMIsAShuffleVectorInst(x);
}

static void add(const struct hdi_llvm *llvm, LLVMValueRef x,
                struct hdi_whole *length)
{
    LLVMTypeRef vector = vector_of(llvm, x);

    length->barriers += hdi_call_is_barrier(hdi_call_kind(x));
    if (!vector) {
        length->whole += hdi_lanes_weight(x);
        length->apart += hdi_lanes_weight(x);
        return;
    }
    unsigned bytes = (unsigned)LLVMStoreSizeOfType(llvm->layout, vector);
    length->whole += 1 + (bytes - 1) / llvm->target.vector_bytes;
    if (!moves_elements(x))
        length->apart += LLVMGetVectorSize(vector);
}

struct hdi_whole hdi_whole_find(const struct hdi_llvm *llvm,
                                LLVMValueRef kernel)
{
    struct hdi_whole length = {0};

    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(kernel); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i))
            add(llvm, i, &length);
    return length;
}

bool hdi_whole_pays(const struct hdi_whole *length)
{
    return length->apart / (length->barriers + 1) > HDI_LANES_LONG &&
           length->whole <= length->apart / 2;
}
