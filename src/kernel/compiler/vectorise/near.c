#include "kernel/compiler/vectorise/near.h"

#include <string.h>

#include "kernel/compiler/ir/rules.h"

enum {
    MAX_DEPTH = 12 // of an address's computation
};

// Does the operation make of numbers that grow from lane to lane such that do
// so in parts?
static bool is_of_bits(LLVMValueRef value)
{
    switch (LLVMGetInstructionOpcode(value)) {
    case LLVMAnd:
    case LLVMOr:
    case LLVMXor:
    case LLVMLShr:
    case LLVMAShr:
    case LLVMUDiv:
    case LLVMSDiv:
    case LLVMURem:
    case LLVMSRem:
    case LLVMSelect:
        return true;
    default:
        return false;
    }
}

// Follows the value from ids and what is the same for all lanes alone? `bits`:
// whether bits of it are looked at on the way.
static bool is_of_ids(const struct hdi_wide *w, LLVMValueRef value,
                      unsigned depth, bool *bits)
{
    const struct hdi_flow *flow = w->emit->flow;

    if (!LLVMIsAInstruction(value) || !hdi_linear_varies(w->linear, value))
        return true;
    if (depth == MAX_DEPTH)
        return false;
    LLVMValueRef from = hdi_origin(flow, value);
    if (from != value)
        return is_of_ids(w, from, depth + 1, bits);
    if (LLVMIsALoadInst(value) || LLVMIsACallInst(value) ||
        LLVMIsAAtomicRMWInst(value) || LLVMIsAAtomicCmpXchgInst(value))
        return hdi_call_kind(value) == HDI_CALL_LOCAL_ID ||
               hdi_call_kind(value) == HDI_CALL_GLOBAL_ID;
    *bits |= is_of_bits(value);
    for (int i = LLVMGetNumOperands(value); i-- > 0;)
        if (!is_of_ids(w, LLVMGetOperand(value, (unsigned)i), depth + 1, bits))
            return false;
    return true;
}

// Only where ids and what is shared decide, since there the answer is mostly
// yes; an address that was loaded may be anything. A look must cost less than
// half of a gather.
bool hdi_near_pays(const struct hdi_wide *w, LLVMValueRef pointer)
{
    const struct hdi_llvm *llvm = w->emit->llvm;
    bool bits = false;

    return hdi_rule_is_on(llvm, HDI_RULE_NEAR) &&
           llvm->target.gather > 2 * llvm->target.look && w->lanes > 1 &&
           hdi_linear_varies(w->linear, pointer) &&
           is_of_ids(w, pointer, 0, &bits) && bits;
}

// Frozen, since lanes that are off may hold anything, and a branch follows.
LLVMValueRef hdi_near_ask(struct hdi_wide *w, LLVMValueRef pointer,
                          uint64_t size, LLVMValueRef *at)
{
    struct hdi_emit *e = w->emit;
    LLVMBuilderRef b = e->builder;
    LLVMValueRef all = LLVMBuildFreeze(b, hdi_wide_value(w, pointer), "");
    LLVMValueRef numbers =
        LLVMBuildPtrToInt(b, all, hdi_wide_type(w, e->i64), "");
    LLVMValueRef zero = LLVMConstInt(e->i32, 0, false);

    *at = LLVMBuildExtractElement(b, all, zero, "");
    LLVMValueRef first = LLVMBuildExtractElement(b, numbers, zero, "");
    LLVMValueRef near = LLVMBuildICmp(
        b, LLVMIntEQ, LLVMBuildSub(b, numbers, hdi_wide_splat(w, first), ""),
        hdi_wide_iota(w, e->i64, (int64_t)size), "");
    LLVMValueRef bits = hdi_wide_bits(w, LLVMBuildAnd(b, near, w->mask, ""));
    return LLVMBuildICmp(b, LLVMIntEQ, bits, LLVMConstAllOnes(LLVMTypeOf(bits)),
                         "");
}
