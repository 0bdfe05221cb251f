// A variable that gets its place at run time is no constant any more, and so
// are expressions and aggregates that hold it, at any depth.
#include "kernel/compiler/ir/constants.h"

#include <llvm-c/DebugInfo.h>
#include <stdlib.h>

// The builder stands where the value is needed; `places` also says when memory
// ran out.
struct expansion {
    LLVMContextRef context;
    LLVMBuilderRef builder;
    struct hdi_map *places;
};

static LLVMValueRef build_expression(struct expansion *e, LLVMValueRef constant,
                                     LLVMValueRef *operands, unsigned count)
{
    LLVMOpcode code = LLVMGetConstOpcode(constant);

    if (code == LLVMGetElementPtr)
        return LLVMBuildGEP2(e->builder, LLVMGetGEPSourceElementType(constant),
                             operands[0], operands + 1, count - 1, "");
    if (count == 1)
        return LLVMBuildCast(e->builder, code, operands[0],
                             LLVMTypeOf(constant), "");
    return LLVMBuildBinOp(e->builder, code, operands[0], operands[1], "");
}

static LLVMValueRef build_aggregate(struct expansion *e, LLVMTypeRef type,
                                    LLVMValueRef *operands, unsigned count)
{
    bool vector = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
    LLVMTypeRef i32 = LLVMInt32TypeInContext(e->context);
    LLVMValueRef value = LLVMGetPoison(type);

    for (unsigned i = 0; i < count; i++)
        value = vector ? LLVMBuildInsertElement(e->builder, value, operands[i],
                                                LLVMConstInt(i32, i, false), "")
                       : LLVMBuildInsertValue(e->builder, value, operands[i], i,
                                              "");
    return value;
}

// Returns the constant itself where nothing in it has a place. Shared parts are
// written out once per use; LLVM joins them.
static LLVMValueRef expand(struct expansion *e, LLVMValueRef constant)
{
    LLVMValueRef *operands, value = hdi_map_get(e->places, constant);
    unsigned count = (unsigned)LLVMGetNumOperands(constant);
    bool changed = false;

    if (value || LLVMIsAGlobalValue(constant) || count == 0)
        return value ? value : constant;
    operands = calloc(count, sizeof(*operands));
    if (!operands) {
        e->places->failed = true;
        return constant;
    }
    for (unsigned i = 0; i < count; i++) {
        LLVMValueRef operand = LLVMGetOperand(constant, i);
        operands[i] = expand(e, operand);
        changed |= operands[i] != operand;
    }
    if (!changed)
        value = constant;
    else if (LLVMIsAConstantExpr(constant))
        value = build_expression(e, constant, operands, count);
    else
        value = build_aggregate(e, LLVMTypeOf(constant), operands, count);
    free(operands);
    return value;
}

// What a phi node takes is computed at the end of the block it comes from.
static void expand_operands(struct expansion *e, LLVMValueRef instruction)
{
    bool phi = LLVMIsAPHINode(instruction) != NULL;
    int count = LLVMGetNumOperands(instruction);

    for (int i = 0; i < count; i++) {
        LLVMValueRef operand = LLVMGetOperand(instruction, (unsigned)i);
        if (!LLVMIsAConstant(operand) || LLVMIsAFunction(operand))
            continue;
        LLVMPositionBuilderBefore(
            e->builder, phi ? LLVMGetBasicBlockTerminator(LLVMGetIncomingBlock(
                                  instruction, (unsigned)i))
                            : instruction);
        LLVMSetCurrentDebugLocation2(e->builder,
                                     LLVMInstructionGetDebugLoc(instruction));
        LLVMValueRef value = expand(e, operand);
        if (value != operand)
            LLVMSetOperand(instruction, (unsigned)i, value);
    }
}

void hdi_constants_expand(LLVMContextRef context, LLVMBuilderRef builder,
                          LLVMValueRef function, struct hdi_map *places)
{
    struct expansion e = {context, builder, places};

    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b), next; i; i = next) {
            next = LLVMGetNextInstruction(i);
            expand_operands(&e, i);
        }
}
