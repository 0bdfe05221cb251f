#include "kernel/compiler/prepare/narrow.h"

// The integer that has the bits of a vector of small integers in memory, or
// NULL when there is none.
static LLVMTypeRef whole(struct hdi_llvm *llvm, LLVMTypeRef type)
{
    if (LLVMGetTypeKind(type) != LLVMVectorTypeKind)
        return NULL;
    LLVMTypeRef element = LLVMGetElementType(type);
    if (LLVMGetTypeKind(element) != LLVMIntegerTypeKind ||
        LLVMGetIntTypeWidth(element) > 16 ||
        LLVMGetIntTypeWidth(element) % 8 != 0)
        return NULL;
    unsigned bits = LLVMGetIntTypeWidth(element) * LLVMGetVectorSize(type);
    return bits == 16 || bits == 32 || bits == 64
               ? LLVMIntTypeInContext(llvm->context, bits)
               : NULL;
}

// The first element is the lowest bits, as both architectures store it.
static void narrow_load(struct hdi_llvm *llvm, LLVMBuilderRef builder,
                        LLVMValueRef load)
{
    LLVMTypeRef type = LLVMTypeOf(load);
    LLVMTypeRef integer = whole(llvm, type);
    LLVMTypeRef element = LLVMGetElementType(type);

    LLVMPositionBuilderBefore(builder, load);
    LLVMValueRef bits =
        LLVMBuildLoad2(builder, integer, LLVMGetOperand(load, 0), "");
    LLVMSetAlignment(bits, LLVMGetAlignment(load));
    LLVMValueRef vector = LLVMGetPoison(type);
    for (unsigned i = 0; i < LLVMGetVectorSize(type); i++) {
        LLVMValueRef part = LLVMBuildLShr(
            builder, bits,
            LLVMConstInt(integer, i * LLVMGetIntTypeWidth(element), false), "");
        vector = LLVMBuildInsertElement(
            builder, vector, LLVMBuildTrunc(builder, part, element, ""),
            LLVMConstInt(LLVMInt32TypeInContext(llvm->context), i, false), "");
    }
    LLVMReplaceAllUsesWith(load, vector);
    LLVMInstructionEraseFromParent(load);
}

// Whether element `i` has no value, such as the fourth of three: then it must
// not spoil the whole.
static bool is_poison(LLVMValueRef vector, unsigned i)
{
    for (;;) {
        if (LLVMIsConstant(vector)) {
            LLVMValueRef element = LLVMGetAggregateElement(vector, i);
            return element && LLVMIsUndef(element);
        }
        if (LLVMIsAInsertElementInst(vector)) {
            LLVMValueRef at = LLVMGetOperand(vector, 2);
            if (!LLVMIsAConstantInt(at))
                return false;
            if (LLVMConstIntGetZExtValue(at) == i)
                return LLVMIsUndef(LLVMGetOperand(vector, 1));
            vector = LLVMGetOperand(vector, 0);
        } else if (LLVMIsAShuffleVectorInst(vector)) {
            unsigned size =
                LLVMGetVectorSize(LLVMTypeOf(LLVMGetOperand(vector, 0)));
            int from = LLVMGetMaskValue(vector, i);
            if (from == LLVMGetUndefMaskElem())
                return true;
            vector = LLVMGetOperand(vector, (unsigned)from >= size);
            i = (unsigned)from % size;
        } else {
            return false;
        }
    }
}

// One element as an integer. Of what is chosen between vectors, any may have no
// value.
// 0 for one that has no value: an OR with poison would make all of it poison.
static LLVMValueRef element_of(LLVMBuilderRef builder, LLVMValueRef vector,
                               unsigned i, LLVMTypeRef integer)
{
    if (is_poison(vector, i))
        return LLVMConstInt(integer, 0, false);
    LLVMContextRef context = LLVMGetTypeContext(integer);
    LLVMValueRef element = LLVMBuildExtractElement(
        builder, vector,
        LLVMConstInt(LLVMInt32TypeInContext(context), i, false), "");
    if (LLVMIsAPHINode(vector) || LLVMIsASelectInst(vector))
        element = LLVMBuildFreeze(builder, element, "");
    return LLVMBuildZExt(builder, element, integer, "");
}

static void narrow_store(struct hdi_llvm *llvm, LLVMBuilderRef builder,
                         LLVMValueRef store)
{
    LLVMValueRef vector = LLVMGetOperand(store, 0);
    LLVMTypeRef type = LLVMTypeOf(vector);
    LLVMTypeRef integer = whole(llvm, type);
    unsigned width = LLVMGetIntTypeWidth(LLVMGetElementType(type));

    LLVMPositionBuilderBefore(builder, store);
    LLVMValueRef bits = LLVMConstInt(integer, 0, false);
    for (unsigned i = 0; i < LLVMGetVectorSize(type); i++) {
        LLVMValueRef part =
            LLVMBuildShl(builder, element_of(builder, vector, i, integer),
                         LLVMConstInt(integer, i * width, false), "");
        bits = LLVMBuildOr(builder, bits, part, "");
    }
    LLVMValueRef whole_store =
        LLVMBuildStore(builder, bits, LLVMGetOperand(store, 1));
    LLVMSetAlignment(whole_store, LLVMGetAlignment(store));
    LLVMInstructionEraseFromParent(store);
}

void hdi_narrow_vectors(struct hdi_llvm *llvm, LLVMBuilderRef builder,
                        LLVMValueRef kernel)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(kernel); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b), next; i; i = next) {
            next = LLVMGetNextInstruction(i);
            if (LLVMIsALoadInst(i) && !LLVMGetVolatile(i) &&
                whole(llvm, LLVMTypeOf(i)))
                narrow_load(llvm, builder, i);
            else if (LLVMIsAStoreInst(i) && !LLVMGetVolatile(i) &&
                     whole(llvm, LLVMTypeOf(LLVMGetOperand(i, 0))))
                narrow_store(llvm, builder, i);
        }
}
