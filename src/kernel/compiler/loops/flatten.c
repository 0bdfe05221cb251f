#include "kernel/compiler/loops/flatten.h"

#include <stddef.h>

#include "backend/frame.h"
#include "kernel/compiler/prepare/truncate.h"

enum {
    DIMENSIONS = 3
};

// The dimension that a call of this kind asks for; -1: it is none. `value` is
// as wide as `type`: the call itself, or its low half.
static int asked(LLVMValueRef value, enum hdi_call kind)
{
    if (LLVMIsATruncInst(value))
        value = LLVMGetOperand(value, 0);
    if (hdi_call_kind(value) != kind ||
        !LLVMIsAConstantInt(LLVMGetOperand(value, 0)))
        return -1;
    uint64_t d = LLVMConstIntGetZExtValue(LLVMGetOperand(value, 0));
    return d < DIMENSIONS ? (int)d : -1;
}

static bool is_binary(LLVMValueRef value, LLVMOpcode code)
{
    return LLVMIsAInstruction(value) && LLVMGetInstructionOpcode(value) == code;
}

static bool is_size(LLVMValueRef value, int d)
{
    return asked(value, HDI_CALL_LOCAL_SIZE) == d ||
           asked(value, HDI_CALL_ENQUEUED_LOCAL_SIZE) == d;
}

static bool is_first_of_group(LLVMValueRef value, int d)
{
    if (d < 0 || !is_binary(value, LLVMMul))
        return false;
    LLVMValueRef a = LLVMGetOperand(value, 0), b = LLVMGetOperand(value, 1);
    return (asked(a, HDI_CALL_GROUP_ID) == d && is_size(b, d)) ||
           (asked(b, HDI_CALL_GROUP_ID) == d && is_size(a, d));
}

// Numbers of 32 bits are right modulo 2^32, as the low half of the id is.
static int dimension_of(LLVMValueRef value)
{
    if (!is_binary(value, LLVMAdd))
        return -1;
    for (unsigned i = 0; i < 2; i++) {
        int d = asked(LLVMGetOperand(value, i), HDI_CALL_LOCAL_ID);
        if (is_first_of_group(LLVMGetOperand(value, 1 - i), d))
            return d;
    }
    return -1;
}

unsigned hdi_flatten_find(LLVMValueRef kernel)
{
    unsigned found = 0;

    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(kernel); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef x = LLVMGetFirstInstruction(b); x;
             x = LLVMGetNextInstruction(x)) {
            int d = dimension_of(x);
            found |= d < 0 ? 0 : 1u << d;
        }
    return found;
}

static LLVMValueRef ask(struct hdi_llvm *llvm, LLVMModuleRef module,
                        LLVMBuilderRef builder, LLVMValueRef kernel, int d)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(llvm->context);
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(kernel);

    LLVMPositionBuilderBefore(builder, LLVMGetFirstInstruction(entry));
    LLVMSetCurrentDebugLocation2(builder, NULL);
    LLVMValueRef id = hdi_build_call(llvm, module, builder, HDI_CALL_GLOBAL_ID);
    LLVMSetOperand(id, 0, LLVMConstInt(i32, (unsigned)d, false));
    return id;
}

hd_status hdi_flatten(struct hdi_llvm *llvm, LLVMModuleRef module,
                      LLVMBuilderRef builder, LLVMValueRef kernel,
                      struct hd_error *error)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(kernel); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef x = LLVMGetFirstInstruction(b); x;
             x = LLVMGetNextInstruction(x)) {
            int d = dimension_of(x);
            if (d < 0)
                continue;
            LLVMValueRef id = ask(llvm, module, builder, kernel, d);
            LLVMReplaceAllUsesWith(
                x, LLVMBuildTruncOrBitCast(builder, id, LLVMTypeOf(x), ""));
            hdi_truncate_ids(builder, llvm->context, id);
        }
    // What asks for groups is left, and unused.
    return hdi_llvm_passes(llvm, module, "function(dce)", error);
}

// Writing ---------------------------------------------------------------------

static LLVMValueRef field(LLVMBuilderRef b, LLVMTypeRef type,
                          LLVMValueRef frame, size_t offset)
{
    LLVMContextRef c = LLVMGetTypeContext(type);
    LLVMValueRef index = LLVMConstInt(LLVMInt64TypeInContext(c), offset, false);
    return LLVMBuildLoad2(b, type,
                          LLVMBuildInBoundsGEP2(b, LLVMInt8TypeInContext(c),
                                                frame, &index, 1, ""),
                          "");
}

// Ids of the dimension begin at 0, and its last group is as large as others.
static LLVMValueRef is_even(LLVMBuilderRef b, LLVMContextRef c,
                            LLVMValueRef frame, unsigned d)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(c);
    LLVMTypeRef i64 = LLVMInt64TypeInContext(c);
    LLVMValueRef global =
        field(b, i64, frame, offsetof(struct hdi_frame, global) + 8 * d);
    LLVMValueRef offset =
        field(b, i64, frame, offsetof(struct hdi_frame, offset) + 8 * d);
    LLVMValueRef size = LLVMBuildZExt(
        b, field(b, i32, frame, offsetof(struct hdi_frame, local_size) + 4 * d),
        i64, "");
    LLVMValueRef left = LLVMBuildURem(b, global, size, "");

    return LLVMBuildICmp(b, LLVMIntEQ, LLVMBuildOr(b, left, offset, ""),
                         LLVMConstNull(i64), "");
}

void hdi_flatten_write(struct hdi_llvm *llvm, LLVMModuleRef module,
                       unsigned dimensions, const char *name, LLVMValueRef flat,
                       LLVMValueRef grouped)
{
    LLVMContextRef c = llvm->context;
    LLVMValueRef both[2] = {flat, grouped};
    LLVMTypeRef type = LLVMGlobalGetValueType(flat);
    LLVMValueRef function = LLVMAddFunction(module, name, type);
    LLVMValueRef frame = LLVMGetParam(function, 0);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(c);
    LLVMValueRef even = LLVMConstInt(LLVMInt1TypeInContext(c), true, false);
    LLVMBasicBlockRef ways[3];

    hdi_function_flag(function, "nounwind", true);
    for (unsigned i = 0; i < 3; i++)
        ways[i] = LLVMAppendBasicBlockInContext(c, function, "");
    hdi_build_at_end(b, ways[0]);
    for (unsigned d = 0; d < DIMENSIONS; d++)
        if (dimensions >> d & 1)
            even = LLVMBuildAnd(b, even, is_even(b, c, frame, d), "");
    LLVMBuildCondBr(b, even, ways[1], ways[2]);
    for (unsigned i = 0; i < 2; i++) {
        hdi_build_at_end(b, ways[1 + i]);
        LLVMBuildCall2(b, type, both[i], &frame, 1, "");
        LLVMBuildRetVoid(b);
        LLVMSetLinkage(both[i], LLVMInternalLinkage);
    }
    LLVMDisposeBuilder(b);
}
