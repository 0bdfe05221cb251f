#include "kernel/compiler/emit/print.h"

#include <llvm-c/DebugInfo.h>
#include <stddef.h>

#include "backend/frame.h"
#include "base/memory.h"

// Types of the context, and what the function's first parameter is: the item in
// thread form, else the frame.
struct lowering {
    LLVMBuilderRef builder;
    LLVMTypeRef i8, i32, i64, pointer;
    bool items; // thread form
};

static struct lowering start(const struct hdi_llvm *llvm,
                             LLVMBuilderRef builder, bool items)
{
    LLVMContextRef c = llvm->context;

    return (struct lowering){builder,
                             LLVMInt8TypeInContext(c),
                             LLVMInt32TypeInContext(c),
                             LLVMInt64TypeInContext(c),
                             LLVMPointerTypeInContext(c, 0),
                             items};
}

// The element's type and how many there are.
static LLVMTypeRef element_of(LLVMTypeRef type, unsigned *lanes)
{
    bool vector = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
    *lanes = vector ? LLVMGetVectorSize(type) : 1;
    return vector ? LLVMGetElementType(type) : type;
}

static struct hdi_print_arg describe(const struct hdi_llvm *llvm,
                                     LLVMTypeRef type)
{
    unsigned lanes;
    LLVMTypeRef element = element_of(type, &lanes);
    LLVMTypeKind kind = LLVMGetTypeKind(element);

    return (struct hdi_print_arg){
        .kind = kind == LLVMIntegerTypeKind   ? HDI_PRINT_INTEGER
                : kind == LLVMPointerTypeKind ? HDI_PRINT_POINTER
                                              : HDI_PRINT_REAL,
        .size = (uint8_t)LLVMStoreSizeOfType(llvm->layout, element),
        .lanes = (uint8_t)lanes,
    };
}

static uint64_t packed_size(struct hdi_print_arg arg)
{
    return sizeof(arg) + hdi_round_up((uint64_t)arg.size * arg.lanes, 8);
}

static LLVMValueRef at(const struct lowering *l, LLVMValueRef base,
                       uint64_t offset)
{
    LLVMValueRef index = LLVMConstInt(l->i64, offset, false);
    return LLVMBuildInBoundsGEP2(l->builder, l->i8, base, &index, 1, "");
}

//     | kind, size, lanes | value, up to 8 bytes' multiple | next | ...
//
// On the stack of the function, allocated in its entry: a call in a loop takes
// the same memory each time.
LLVMValueRef hdi_print_pack(const struct hdi_llvm *llvm, LLVMBuilderRef builder,
                            LLVMValueRef call, uint64_t *bytes)
{
    const struct lowering lowering = start(llvm, builder, false),
                          *l = &lowering;
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(
        LLVMGetBasicBlockParent(LLVMGetInstructionParent(call)));
    unsigned count = LLVMGetNumArgOperands(call);
    uint64_t size = 0;

    for (unsigned i = 1; i < count; i++)
        size +=
            packed_size(describe(llvm, LLVMTypeOf(LLVMGetOperand(call, i))));
    LLVMPositionBuilderBefore(l->builder, LLVMGetFirstInstruction(entry));
    LLVMSetCurrentDebugLocation2(l->builder, NULL);
    LLVMValueRef memory = LLVMBuildAlloca(
        l->builder, LLVMArrayType2(l->i64, size / 8 + 1), "printed");

    LLVMPositionBuilderBefore(l->builder, call);
    LLVMSetCurrentDebugLocation2(l->builder, LLVMInstructionGetDebugLoc(call));
    uint64_t offset = 0;
    for (unsigned i = 1; i < count; i++) {
        LLVMValueRef value = LLVMGetOperand(call, i);
        struct hdi_print_arg arg = describe(llvm, LLVMTypeOf(value));
        uint64_t head =
            arg.kind | (uint64_t)arg.size << 8 | (uint64_t)arg.lanes << 16;
        LLVMBuildStore(l->builder, LLVMConstInt(l->i64, head, false),
                       at(l, memory, offset));
        LLVMSetAlignment(LLVMBuildStore(l->builder, value,
                                        at(l, memory, offset + sizeof(arg))),
                         8);
        offset += packed_size(arg);
    }
    *bytes = size;
    return memory;
}

static LLVMValueRef load(const struct lowering *l, LLVMValueRef base,
                         uint64_t offset)
{
    return LLVMBuildLoad2(l->builder, l->pointer, at(l, base, offset), "");
}

// The format stays a pointer: it is read by the service at run time.
static void lower(const struct hdi_llvm *llvm, const struct lowering *l,
                  LLVMValueRef call)
{
    LLVMValueRef function =
        LLVMGetBasicBlockParent(LLVMGetInstructionParent(call));
    LLVMTypeRef parameters[] = {l->pointer, l->pointer, l->pointer, l->i32};
    LLVMTypeRef type = LLVMFunctionType(l->i32, parameters, 4, false);

    uint64_t bytes;
    LLVMValueRef memory = hdi_print_pack(llvm, l->builder, call, &bytes);
    LLVMValueRef frame = LLVMGetParam(function, 0);
    if (l->items)
        frame = load(l, frame, offsetof(struct hdi_item, frame));
    LLVMValueRef services =
        load(l, frame, offsetof(struct hdi_frame, services));
    LLVMValueRef print =
        load(l, services, offsetof(struct hdi_services, print));
    LLVMValueRef arguments[] = {
        services,
        LLVMBuildPointerCast(l->builder, LLVMGetOperand(call, 0), l->pointer,
                             ""),
        memory, LLVMConstInt(l->i32, LLVMGetNumArgOperands(call) - 1, false)};
    LLVMReplaceAllUsesWith(
        call, LLVMBuildCall2(l->builder, type, print, arguments, 4, ""));
    LLVMInstructionEraseFromParent(call);
}

void hdi_print_lower(struct hdi_llvm *llvm, LLVMModuleRef module,
                     LLVMBuilderRef builder, bool items)
{
    LLVMValueRef function = LLVMGetNamedFunction(module, HDI_PRINT_NAME);
    const struct lowering l = start(llvm, builder, items);

    if (!function)
        return;

    for (LLVMUseRef u = LLVMGetFirstUse(function), next; u; u = next) {
        LLVMValueRef user = LLVMGetUser(u);
        next = LLVMGetNextUse(u);
        if (LLVMIsACallInst(user))
            lower(llvm, &l, user);
    }
    LLVMDeleteFunction(function);
}
