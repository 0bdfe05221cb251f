#include "kernel/compiler/emit/memory.h"

#include <stddef.h>
#include <string.h>

#include "backend/frame.h"

static LLVMValueRef field(const struct hdi_llvm *llvm, LLVMBuilderRef builder,
                          LLVMValueRef frame, size_t offset)
{
    LLVMTypeRef i64 = LLVMInt64TypeInContext(llvm->context);
    LLVMValueRef index = LLVMConstInt(i64, offset, false);
    LLVMValueRef address = LLVMBuildInBoundsGEP2(
        builder, LLVMInt8TypeInContext(llvm->context), frame, &index, 1, "");
    return LLVMBuildLoad2(builder, i64, address, "");
}

// An intrinsic that returns an address on the stack.
static LLVMValueRef stack_at(const struct hdi_llvm *llvm, LLVMModuleRef module,
                             LLVMBuilderRef builder, const char *name,
                             LLVMValueRef *arguments, unsigned count)
{
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMTypeRef pointer = LLVMPointerTypeInContext(llvm->context, 0);
    LLVMValueRef at = LLVMBuildCall2(
        builder, LLVMIntrinsicGetType(llvm->context, id, &pointer, 1),
        LLVMGetIntrinsicDeclaration(module, id, &pointer, 1), arguments, count,
        "");
    return LLVMBuildPtrToInt(builder, at, LLVMInt64TypeInContext(llvm->context),
                             "");
}

// Only where the kernel asks: nothing is read, and the red zone stays,
// otherwise.
void hdi_memory_read(const struct hdi_llvm *llvm, LLVMModuleRef module,
                     LLVMBuilderRef builder, LLVMValueRef frame,
                     struct hdi_memory_bounds *memory)
{
    static const struct {
        unsigned bound;
        size_t offset;
    } fields[] = {
        {HDI_MEMORY_LOCAL, offsetof(struct hdi_frame, local)},
        {HDI_MEMORY_LOCAL_BYTES, offsetof(struct hdi_frame, local_bytes)},
        {HDI_MEMORY_SAVED, offsetof(struct hdi_frame, saved)},
        {HDI_MEMORY_SAVED_BYTES, offsetof(struct hdi_frame, saved_bytes)},
    };
    LLVMValueRef asks = LLVMGetNamedFunction(module, "hdu_memory");
    LLVMValueRef level = LLVMConstNull(LLVMInt32TypeInContext(llvm->context));

    if (!asks || !LLVMGetFirstUse(asks))
        return;
    // Nothing is to lie below the stack's pointer.
    hdi_function_flag(LLVMGetBasicBlockParent(LLVMGetInsertBlock(builder)),
                      "noredzone", true);
    for (unsigned i = 0; i < sizeof(fields) / sizeof(*fields); i++)
        memory->bounds[fields[i].bound] =
            field(llvm, builder, frame, fields[i].offset);
    memory->bounds[HDI_MEMORY_STACK] =
        stack_at(llvm, module, builder, "llvm.stacksave", NULL, 0);
    memory->bounds[HDI_MEMORY_STACK_END] =
        stack_at(llvm, module, builder, "llvm.frameaddress", &level, 1);
}

LLVMValueRef hdi_memory_answer(const struct hdi_memory_bounds *memory,
                               LLVMBuilderRef builder, LLVMValueRef which)
{
    if (LLVMIsAConstantInt(which))
        return memory->bounds[LLVMConstIntGetZExtValue(which)];

    // The optimiser has made one call of several.
    LLVMValueRef answer = memory->bounds[0];
    for (unsigned i = 1; i < HDI_MEMORY_BOUNDS; i++)
        answer = LLVMBuildSelect(
            builder,
            LLVMBuildICmp(builder, LLVMIntEQ, which,
                          LLVMConstInt(LLVMTypeOf(which), i, false), ""),
            memory->bounds[i], answer, "");
    return answer;
}
