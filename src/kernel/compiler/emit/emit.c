#include "kernel/compiler/emit/emit.h"

#include <string.h>

#include "base/error.h"

// MAX_REMADE: what takes more is kept in memory instead.
enum {
    MAX_REMADE = 24, // instructions that are worth computing again
    MAX_OPERANDS = 16
};

LLVMBasicBlockRef hdi_emit_block(const struct hdi_emit *e, const char *name)
{
    return LLVMAppendBasicBlockInContext(e->llvm->context, e->function, name);
}

LLVMValueRef hdi_emit_alloca(const struct hdi_emit *e, LLVMTypeRef type)
{
    LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder);
    LLVMPositionBuilderBefore(e->builder,
                              LLVMGetBasicBlockTerminator(e->entry));
    LLVMSetCurrentDebugLocation2(e->builder, NULL);
    LLVMValueRef alloca = LLVMBuildAlloca(e->builder, type, "");
    hdi_build_at_end(e->builder, before);
    return alloca;
}

// Ids -------------------------------------------------------------------------

static LLVMValueRef wide(struct hdi_emit *e, LLVMValueRef value)
{
    // Some are wide already: then nothing is built.
    return LLVMBuildZExtOrBitCast(e->builder, value, e->i64, "");
}

// The id or size that `call` asks for in dimension `d`, as 64 bits.
static LLVMValueRef id_of(struct hdi_emit *e, enum hdi_call kind, unsigned d)
{
    switch (kind) {
    case HDI_CALL_GLOBAL_ID: {
        // Neither kind of overflow can happen: ids are below 2^63.
        LLVMValueRef id = LLVMBuildNUWAdd(e->builder, e->base[d],
                                          wide(e, e->item_ids[d]), "");
        LLVMSetNSW(id, true);
        return id;
    }
    case HDI_CALL_LOCAL_ID:
        return wide(e, e->item_ids[d]);
    case HDI_CALL_GROUP_ID:
        return wide(e, e->group_id[d]);
    case HDI_CALL_LOCAL_SIZE:
        return wide(e, e->trip[d]);
    case HDI_CALL_ENQUEUED_LOCAL_SIZE:
        return wide(e, e->local_size[d]);
    case HDI_CALL_GLOBAL_SIZE:
        return e->global[d];
    case HDI_CALL_NUM_GROUPS:
        return wide(e, e->group_count[d]);
    default:
        return e->offset[d];
    }
}

static uint64_t beyond(enum hdi_call kind)
{
    return kind == HDI_CALL_LOCAL_SIZE ||
           kind == HDI_CALL_ENQUEUED_LOCAL_SIZE ||
           kind == HDI_CALL_GLOBAL_SIZE || kind == HDI_CALL_NUM_GROUPS;
}

static LLVMValueRef id_call(struct hdi_emit *e, enum hdi_call kind,
                            LLVMValueRef call)
{
    if (kind == HDI_CALL_WORK_DIM)
        return e->dims;
    if (kind == HDI_CALL_MEMORY)
        return hdi_memory_answer(&e->memory, e->builder,
                                 hdi_emit_operand(e, LLVMGetOperand(call, 0)));

    // OpenCL: a dimension that is not there has size 1 and id 0.
    LLVMValueRef other = LLVMConstInt(e->i64, beyond(kind), false);
    LLVMValueRef d = hdi_emit_operand(e, LLVMGetOperand(call, 0));
    if (LLVMIsAConstantInt(d)) {
        uint64_t n = LLVMConstIntGetZExtValue(d);
        return n < 3 ? id_of(e, kind, (unsigned)n) : other;
    }
    for (unsigned n = 3; n-- > 0;)
        other = LLVMBuildSelect(
            e->builder,
            LLVMBuildICmp(e->builder, LLVMIntEQ, d,
                          LLVMConstInt(LLVMTypeOf(d), n, false), ""),
            id_of(e, kind, n), other, "");
    return other;
}

// (int)get_global_id(d) without the wrap that a truncation would allow: LLVM
// must see that neighbouring work-items have neighbouring addresses, whether
// the index is widened with or without its sign.
static LLVMValueRef narrow_id(struct hdi_emit *e, LLVMValueRef truncation)
{
    if (!LLVMIsATruncInst(truncation) || LLVMTypeOf(truncation) != e->i32)
        return NULL;
    LLVMValueRef call = hdi_origin(e->flow, LLVMGetOperand(truncation, 0));
    if (hdi_call_kind(call) != HDI_CALL_GLOBAL_ID)
        return NULL;
    LLVMValueRef d = LLVMGetOperand(call, 0);
    if (!LLVMIsAConstantInt(d) || LLVMConstIntGetZExtValue(d) > 2)
        return NULL;

    uint64_t n = LLVMConstIntGetZExtValue(d);
    LLVMValueRef item =
        LLVMBuildTruncOrBitCast(e->builder, e->item_ids[n], e->i32, "");
    LLVMValueRef id = LLVMBuildNUWAdd(e->builder, e->base_narrow[n], item, "");
    LLVMSetNSW(id, true);
    return id;
}

// (long)(int)get_global_id(d), or (ulong)(uint): the base alone is widened, so
// that no pass has to prove what narrow_id() promises.
static LLVMValueRef widened_id(struct hdi_emit *e, LLVMValueRef extension)
{
    bool with_sign = LLVMIsASExtInst(extension) != NULL;
    if ((!with_sign && !LLVMIsAZExtInst(extension)) ||
        LLVMTypeOf(extension) != e->i64)
        return NULL;
    LLVMValueRef from = hdi_origin(e->flow, LLVMGetOperand(extension, 0));
    if (!LLVMIsATruncInst(from) || LLVMTypeOf(from) != e->i32)
        return NULL;
    LLVMValueRef call = hdi_origin(e->flow, LLVMGetOperand(from, 0));
    if (hdi_call_kind(call) != HDI_CALL_GLOBAL_ID)
        return NULL;
    LLVMValueRef d = LLVMGetOperand(call, 0);
    if (!LLVMIsAConstantInt(d) || LLVMConstIntGetZExtValue(d) > 2)
        return NULL;

    uint64_t n = LLVMConstIntGetZExtValue(d);
    LLVMValueRef base =
        with_sign ? LLVMBuildSExt(e->builder, e->base_narrow[n], e->i64, "")
                  : LLVMBuildZExt(e->builder, e->base_narrow[n], e->i64, "");
    LLVMValueRef id =
        LLVMBuildAdd(e->builder, base, wide(e, e->item_ids[n]), "");
    LLVMSetNSW(id, true);
    return id;
}

// Operands --------------------------------------------------------------------

// `values` are of the code at hand, and cleared with each region; `fixed` hold
// in the whole function.
static LLVMValueRef copy_of(const struct hdi_emit *e, LLVMValueRef value)
{
    LLVMValueRef copy = hdi_map_get(&e->values, value);
    return copy ? copy : hdi_map_get(&e->fixed, value);
}

// The first failure is kept, and the caller goes on with poison: one place, at
// the end, looks at the status.
static LLVMValueRef cannot(struct hdi_emit *e, LLVMValueRef value,
                           const char *what)
{
    if (e->status == HD_OK)
        e->status =
            hdi_fail(e->error, HD_EBUILD,
                     "%s:%u: kernel '%s' cannot be copied into loops: %s",
                     e->about->file, e->about->line, e->about->name, what);
    return LLVMGetPoison(LLVMTypeOf(value));
}

// A constant expression that holds the address of a local variable is no
// constant in the copy: write it out as instructions.
static LLVMValueRef expression(struct hdi_emit *e, LLVMValueRef value)
{
    LLVMValueRef operands[MAX_OPERANDS];
    int count = LLVMGetNumOperands(value);
    bool changed = false;

    if (count > MAX_OPERANDS)
        return cannot(e, value, "an expression of a local variable's address");
    for (int i = 0; i < count; i++) {
        LLVMValueRef operand = LLVMGetOperand(value, (unsigned)i);
        operands[i] = hdi_emit_operand(e, operand);
        changed |= operands[i] != operand;
    }
    if (!changed)
        return value;
    if (!LLVMIsAConstantExpr(value))
        return cannot(e, value, "an array of local variables' addresses");

    LLVMOpcode code = LLVMGetConstOpcode(value);
    switch (code) {
    case LLVMGetElementPtr:
        return LLVMBuildGEP2(e->builder, LLVMGetGEPSourceElementType(value),
                             operands[0], operands + 1, (unsigned)count - 1,
                             "");
    case LLVMPtrToInt:
    case LLVMIntToPtr:
    case LLVMBitCast:
    case LLVMAddrSpaceCast:
    case LLVMTrunc:
        return LLVMBuildCast(e->builder, code, operands[0], LLVMTypeOf(value),
                             "");
    case LLVMAdd:
    case LLVMSub:
    case LLVMMul:
    case LLVMXor:
        return LLVMBuildBinOp(e->builder, code, operands[0], operands[1], "");
    default:
        return cannot(e, value, "an expression of a local variable's address");
    }
}

LLVMValueRef hdi_emit_operand(struct hdi_emit *e, LLVMValueRef value)
{
    LLVMValueRef copy = copy_of(e, value);
    if (copy)
        return copy;
    if (LLVMIsAConstant(value) && !LLVMIsAGlobalValue(value) &&
        LLVMGetNumOperands(value) > 0)
        return expression(e, value);
    if (LLVMIsAInstruction(value) || LLVMIsAArgument(value))
        return cannot(e, value, "a value that is not there");
    return value;
}

// Instructions ----------------------------------------------------------------

void hdi_emit_independent(const struct hdi_emit *e, LLVMValueRef access)
{
    LLVMSetMetadata(access, e->access_kind, e->access_group);
}

//     saved   | A of item 0, 1, 2 ... items - 1 | B of item 0, 1, 2 ...
//             ^ items * offset of A             ^ items * offset of B
LLVMValueRef hdi_emit_share(struct hdi_emit *e, uint64_t offset, uint64_t size)
{
    // One array per value, so that neighbours in x lie side by side.
    LLVMValueRef begin = LLVMBuildNUWMul(
        e->builder, e->items, LLVMConstInt(e->i64, offset, false), "");
    LLVMValueRef array =
        LLVMBuildInBoundsGEP2(e->builder, e->i8, e->saved, &begin, 1, "");
    LLVMValueRef index = e->item;
    return LLVMBuildInBoundsGEP2(e->builder, LLVMArrayType2(e->i8, size), array,
                                 &index, 1, "");
}

LLVMValueRef hdi_emit_lane(struct hdi_emit *e, LLVMValueRef array,
                           LLVMTypeRef type)
{
    LLVMValueRef index = e->item;
    return LLVMBuildInBoundsGEP2(e->builder, type, array, &index, 1, "");
}

static bool is_local(LLVMValueRef pointer)
{
    return LLVMGetPointerAddressSpace(LLVMTypeOf(pointer)) == HDI_SPACE_LOCAL;
}

static LLVMValueRef combine(struct hdi_emit *e, LLVMAtomicRMWBinOp operation,
                            LLVMValueRef old, LLVMValueRef operand)
{
    LLVMBuilderRef b = e->builder;
    LLVMIntPredicate predicate;

    switch (operation) {
    case LLVMAtomicRMWBinOpXchg:
        return operand;
    case LLVMAtomicRMWBinOpAdd:
        return LLVMBuildAdd(b, old, operand, "");
    case LLVMAtomicRMWBinOpSub:
        return LLVMBuildSub(b, old, operand, "");
    case LLVMAtomicRMWBinOpAnd:
        return LLVMBuildAnd(b, old, operand, "");
    case LLVMAtomicRMWBinOpOr:
        return LLVMBuildOr(b, old, operand, "");
    case LLVMAtomicRMWBinOpXor:
        return LLVMBuildXor(b, old, operand, "");
    case LLVMAtomicRMWBinOpMin:
        predicate = LLVMIntSLT;
        break;
    case LLVMAtomicRMWBinOpMax:
        predicate = LLVMIntSGT;
        break;
    case LLVMAtomicRMWBinOpUMin:
        predicate = LLVMIntULT;
        break;
    case LLVMAtomicRMWBinOpUMax:
        predicate = LLVMIntUGT;
        break;
    default:
        return NULL;
    }
    return LLVMBuildSelect(b, LLVMBuildICmp(b, predicate, old, operand, ""),
                           old, operand, "");
}

// What was there; NULL: there are no plain instructions for it.
// Leaves nothing behind when it returns NULL.
static LLVMValueRef plain_update(struct hdi_emit *e,
                                 LLVMAtomicRMWBinOp operation,
                                 LLVMValueRef pointer, LLVMValueRef operand)
{
    LLVMValueRef old =
        LLVMBuildLoad2(e->builder, LLVMTypeOf(operand), pointer, "");
    LLVMValueRef new = combine(e, operation, old, operand);

    if (!new) {
        LLVMInstructionEraseFromParent(old);
        return NULL;
    }
    LLVMBuildStore(e->builder, new, pointer);
    return old;
}

void hdi_emit_update(struct hdi_emit *e, LLVMValueRef update,
                     LLVMValueRef operand)
{
    LLVMValueRef pointer = hdi_emit_operand(e, LLVMGetOperand(update, 0));

    if (is_local(pointer) &&
        plain_update(e, LLVMGetAtomicRMWBinOp(update), pointer, operand))
        return;
    LLVMValueRef copy = LLVMInstructionClone(update);
    LLVMSetOperand(copy, 0, pointer);
    LLVMSetOperand(copy, 1, operand);
    LLVMInsertIntoBuilder(e->builder, copy);
}

// An atomic on local memory needs no atomicity: one thread runs the group. NULL
// when it stays as it is.
static LLVMValueRef plain_atomic(struct hdi_emit *e, LLVMValueRef instruction)
{
    bool swap = LLVMIsAAtomicCmpXchgInst(instruction) != NULL;

    if ((!swap && !LLVMIsAAtomicRMWInst(instruction)) ||
        !is_local(LLVMGetOperand(instruction, 0)))
        return NULL;
    LLVMValueRef pointer = hdi_emit_operand(e, LLVMGetOperand(instruction, 0));
    LLVMValueRef operand = hdi_emit_operand(e, LLVMGetOperand(instruction, 1));
    if (!swap)
        return plain_update(e, LLVMGetAtomicRMWBinOp(instruction), pointer,
                            operand);

    LLVMValueRef old =
        LLVMBuildLoad2(e->builder, LLVMTypeOf(operand), pointer, "");
    LLVMValueRef new = hdi_emit_operand(e, LLVMGetOperand(instruction, 2));
    LLVMValueRef same = LLVMBuildICmp(e->builder, LLVMIntEQ, old, operand, "");
    LLVMBuildStore(e->builder, LLVMBuildSelect(e->builder, same, new, old, ""),
                   pointer);
    LLVMValueRef both = LLVMGetPoison(LLVMTypeOf(instruction));
    both = LLVMBuildInsertValue(e->builder, both, old, 0, "");
    return LLVMBuildInsertValue(e->builder, both, same, 1, "");
}

static bool may_be_independent(LLVMValueRef instruction)
{
    if (LLVMIsALoadInst(instruction) || LLVMIsAStoreInst(instruction))
        return !LLVMGetVolatile(instruction) &&
               LLVMGetOrdering(instruction) == LLVMAtomicOrderingNotAtomic;
    return LLVMIsAMemIntrinsic(instruction) != NULL;
}

static LLVMValueRef clone(struct hdi_emit *e, LLVMValueRef instruction)
{
    LLVMValueRef copy = LLVMInstructionClone(instruction);
    int count = LLVMGetNumOperands(instruction);

    for (int i = 0; i < count; i++) {
        LLVMValueRef operand = LLVMGetOperand(instruction, (unsigned)i);
        LLVMValueRef mapped = hdi_emit_operand(e, operand);
        if (mapped != operand)
            LLVMSetOperand(copy, (unsigned)i, mapped);
    }
    LLVMInsertIntoBuilder(e->builder, copy);
    return copy;
}

// What is the same under another name first (ids), what is easier than it was
// next (atomics), else a copy with the operands replaced.
void hdi_emit_instruction(struct hdi_emit *e, LLVMValueRef instruction)
{
    if (LLVMIsAAllocaInst(instruction))
        return;

    enum hdi_call kind = hdi_call_kind(instruction);
    if (hdi_call_is_barrier(kind) ||
        (e->observer && e->observer->emit(e, instruction)))
        return;
    LLVMValueRef copy = kind != HDI_CALL_OTHER ? id_call(e, kind, instruction)
                                               : narrow_id(e, instruction);
    if (!copy)
        copy = widened_id(e, instruction);
    if (!copy)
        copy = plain_atomic(e, instruction);
    if (!copy) {
        copy = clone(e, instruction);
        if (may_be_independent(instruction))
            hdi_emit_independent(e, copy);
    }
    hdi_map_set(&e->values, instruction, copy);
}

// Remaking --------------------------------------------------------------------

static bool is_cheap(LLVMValueRef value)
{
    switch (LLVMGetInstructionOpcode(value)) {
    case LLVMUDiv:
    case LLVMSDiv:
    case LLVMURem:
    case LLVMSRem: {
        // Where it stood, a branch may have kept it from dividing by 0.
        LLVMValueRef divisor = LLVMGetOperand(value, 1);
        return LLVMIsAConstantInt(divisor) &&
               LLVMConstIntGetZExtValue(divisor) != 0;
    }
    case LLVMICmp:
    case LLVMFCmp:
    case LLVMSelect:
    case LLVMGetElementPtr:
    case LLVMExtractElement:
    case LLVMInsertElement:
        return true;
    default:
        return LLVMIsABinaryOperator(value) || LLVMIsACastInst(value);
    }
}

// `budget` counts all instructions that would be computed again, shared ones as
// often as they are met.
static bool is_remakable(const struct hdi_flow *flow, LLVMValueRef value,
                         unsigned *budget)
{
    if (!LLVMIsAInstruction(value))
        return true;
    if (*budget == 0)
        return false;
    --*budget;
    if (LLVMIsAAllocaInst(value))
        return hdi_map_index(&flow->slot_index, value) == SIZE_MAX;
    if (LLVMIsALoadInst(value)) {
        size_t slot =
            hdi_map_index(&flow->slot_index, LLVMGetOperand(value, 0));
        return slot != SIZE_MAX && flow->slots[slot].only_stored &&
               is_remakable(flow, flow->slots[slot].only_stored, budget);
    }
    enum hdi_call kind = hdi_call_kind(value);
    if (hdi_call_is_barrier(kind) ||
        (kind == HDI_CALL_OTHER && !is_cheap(value)))
        return false;

    unsigned operands = (unsigned)LLVMGetNumOperands(value);
    if (kind != HDI_CALL_OTHER)
        operands = LLVMGetNumArgOperands(value);
    for (unsigned i = 0; i < operands; i++)
        if (!is_remakable(flow, LLVMGetOperand(value, i), budget))
            return false;
    return true;
}

bool hdi_emit_is_remakable(const struct hdi_flow *flow, LLVMValueRef value)
{
    unsigned budget = MAX_REMADE;
    return is_remakable(flow, value, &budget);
}

// At the builder's point, whatever is at hand there: ids are those of now.
LLVMValueRef hdi_emit_remade(struct hdi_emit *e, LLVMValueRef value)
{
    if (!LLVMIsAInstruction(value) || LLVMIsAAllocaInst(value))
        return hdi_emit_operand(e, value);
    if (LLVMIsALoadInst(value)) {
        size_t slot =
            hdi_map_index(&e->flow->slot_index, LLVMGetOperand(value, 0));
        if (slot != SIZE_MAX) // else a field of an image
            return hdi_emit_remade(e, e->flow->slots[slot].only_stored);
    }
    LLVMValueRef narrow = narrow_id(e, value);
    if (narrow)
        return narrow;
    enum hdi_call kind = hdi_call_kind(value);
    if (kind != HDI_CALL_OTHER) {
        if (kind != HDI_CALL_WORK_DIM &&
            LLVMIsAInstruction(LLVMGetOperand(value, 0)))
            hdi_map_set(&e->values, LLVMGetOperand(value, 0),
                        hdi_emit_remade(e, LLVMGetOperand(value, 0)));
        return id_call(e, kind, value);
    }

    LLVMValueRef copy = LLVMInstructionClone(value);
    int count = LLVMGetNumOperands(value);
    for (int i = 0; i < count; i++)
        LLVMSetOperand(copy, (unsigned)i,
                       hdi_emit_remade(e, LLVMGetOperand(value, (unsigned)i)));
    LLVMInsertIntoBuilder(e->builder, copy);
    return copy;
}
