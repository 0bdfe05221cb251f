#include "kernel/compiler/check/probe.h"

#include <llvm-c/DebugInfo.h>
#include <stdlib.h>
#include <string.h>

#include "backend/checks.h"

static const char ours[] = "heddle.check."; // what variables are called that
                                            // are made here

struct hdi_probe hdi_probe_begin(struct hdi_llvm *llvm, LLVMModuleRef module,
                                 LLVMValueRef kernel)
{
    LLVMContextRef c = llvm->context;
    struct hdi_probe in = {
        .llvm = llvm,
        .module = module,
        .kernel = kernel,
        .builder = LLVMCreateBuilderInContext(c),
        .pointer = LLVMPointerTypeInContext(c, 0),
        .i1 = LLVMInt1TypeInContext(c),
        .i8 = LLVMInt8TypeInContext(c),
        .i32 = LLVMInt32TypeInContext(c),
        .i64 = LLVMInt64TypeInContext(c),
    };
    LLVMTypeRef site[] = {in.pointer, in.pointer, in.i32, in.i32,
                          in.i32,     in.i32,     in.i32, in.i32};
    LLVMTypeRef variable[] = {in.pointer, in.i64, in.pointer, in.i64,
                              in.pointer};
    in.site = LLVMStructTypeInContext(c, site, 8, false);
    in.variable = LLVMStructTypeInContext(c, variable, 5, false);
    return in;
}

// One declaration per mark: all calls of a mark have the same types.
LLVMValueRef hdi_probe_call(struct hdi_probe *in, const char *name,
                            LLVMTypeRef result, LLVMValueRef *args,
                            unsigned count)
{
    LLVMTypeRef types[HDI_PROBE_OPERANDS];
    for (unsigned i = 0; i < count; i++)
        types[i] = LLVMTypeOf(args[i]);
    LLVMTypeRef type = LLVMFunctionType(result, types, count, false);
    LLVMValueRef function = LLVMGetNamedFunction(in->module, name);
    if (!function)
        function = LLVMAddFunction(in->module, name, type);
    return LLVMBuildCall2(in->builder, type, function, args, count, "");
}

bool hdi_is_call_of(LLVMValueRef value, const char *name)
{
    if (!LLVMIsACallInst(value))
        return false;
    LLVMValueRef callee = LLVMGetCalledValue(value);
    return LLVMIsAFunction(callee) && strcmp(hdi_value_name(callee), name) == 0;
}

bool hdi_probe_is_ours(LLVMValueRef value)
{
    const char *name = hdi_value_name(value);
    return strncmp(name, ours, sizeof(ours) - 1) == 0 ||
           (LLVMIsAAllocaInst(value) && strstr(name, ".reg2mem"));
}

// Stand before an instruction, on its line.
void hdi_probe_before(struct hdi_probe *in, LLVMValueRef instruction)
{
    LLVMPositionBuilderBefore(in->builder, instruction);
    LLVMSetCurrentDebugLocation2(in->builder,
                                 LLVMInstructionGetDebugLoc(instruction));
}

LLVMValueRef hdi_probe_flat(struct hdi_probe *in, LLVMValueRef pointer)
{
    if (LLVMGetPointerAddressSpace(LLVMTypeOf(pointer)) == 0)
        return pointer;
    return LLVMBuildAddrSpaceCast(in->builder, pointer, in->pointer, "");
}
// Objects ---------------------------------------------------------------------

LLVMValueRef hdi_probe_origin(LLVMValueRef pointer)
{
    for (;;) {
        bool steps =
            LLVMIsAInstruction(pointer) || LLVMIsAConstantExpr(pointer);
        if (!steps)
            return pointer;
        LLVMOpcode opcode = LLVMIsAInstruction(pointer)
                                ? LLVMGetInstructionOpcode(pointer)
                                : LLVMGetConstOpcode(pointer);
        if (opcode != LLVMGetElementPtr && opcode != LLVMAddrSpaceCast &&
            opcode != LLVMBitCast)
            return pointer;
        pointer = LLVMGetOperand(pointer, 0);
    }
}

// After the allocas of the entry block.
LLVMValueRef hdi_probe_entry(LLVMValueRef kernel)
{
    LLVMValueRef i = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(kernel));
    while (LLVMIsAAllocaInst(i))
        i = LLVMGetNextInstruction(i);
    return i;
}
// Accesses --------------------------------------------------------------------

static LLVMValueRef size_of(struct hdi_probe *in, LLVMTypeRef type)
{
    return LLVMConstInt(in->i64, LLVMStoreSizeOfType(in->llvm->layout, type),
                        false);
}

static struct hdi_checked_access access_of(struct hdi_probe *in, LLVMValueRef i,
                                           unsigned operand, unsigned kind,
                                           LLVMTypeRef type)
{
    return (struct hdi_checked_access){LLVMGetOperand(i, operand), operand,
                                       size_of(in, type), kind};
}

static unsigned atomic(LLVMValueRef i)
{
    return LLVMGetOrdering(i) != LLVMAtomicOrderingNotAtomic ? HDI_ACCESS_ATOMIC
                                                             : 0;
}

bool hdi_is_intrinsic(LLVMValueRef i, const char *name)
{
    if (!LLVMIsACallInst(i))
        return false;
    LLVMValueRef f = LLVMGetCalledValue(i);
    return LLVMIsAFunction(f) &&
           strncmp(hdi_value_name(f), name, strlen(name)) == 0;
}

static bool is_move(LLVMValueRef i)
{
    return hdi_is_intrinsic(i, "llvm.memcpy") ||
           hdi_is_intrinsic(i, "llvm.memmove");
}

// The `index`th access of an instruction; the last has kind 0.
// Of llvm.memcpy and memmove operand 0 is written and operand 1 read, and so is
// the index of the access; of memset only the former is there.
struct hdi_checked_access hdi_probe_access(struct hdi_probe *in, LLVMValueRef i,
                                           unsigned index)
{
    if (is_move(i) || hdi_is_intrinsic(i, "llvm.memset")) {
        if (index > (unsigned)is_move(i))
            return (struct hdi_checked_access){0};
        return (struct hdi_checked_access){
            LLVMGetOperand(i, index), index, LLVMGetOperand(i, 2),
            HDI_ACCESS_COPY |
                (index == 0 ? HDI_ACCESS_WRITE : HDI_ACCESS_READ)};
    }
    if (index > 0)
        return (struct hdi_checked_access){0};
    if (LLVMIsALoadInst(i))
        return access_of(in, i, 0, HDI_ACCESS_READ | atomic(i), LLVMTypeOf(i));
    if (LLVMIsAStoreInst(i))
        return access_of(in, i, 1, HDI_ACCESS_WRITE | atomic(i),
                         LLVMTypeOf(LLVMGetOperand(i, 0)));
    if (LLVMIsAAtomicRMWInst(i) || LLVMIsAAtomicCmpXchgInst(i))
        return access_of(in, i, 0,
                         HDI_ACCESS_READ | HDI_ACCESS_WRITE | HDI_ACCESS_ATOMIC,
                         LLVMTypeOf(LLVMGetOperand(i, 1)));
    return (struct hdi_checked_access){0};
}
