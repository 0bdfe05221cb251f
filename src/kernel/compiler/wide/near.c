#include "kernel/compiler/wide/near.h"

#include <string.h>

#include "kernel/compiler/analysis/address.h"
#include "kernel/compiler/ir/rules.h"

enum {
    MAX_DEPTH = 12 // of an address's computation
};

// Does the operation make of numbers that grow from lane to lane such that do
// so in parts?
static bool is_of_bits(LLVMOpcode code)
{
    switch (code) {
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

// What is done on the way from ids to an address.
struct way {
    bool bits;   // are looked at
    bool spread; // lanes get further apart than ids are
};

// Follows the value from ids and what is the same for all lanes alone?
static bool is_of_ids(const struct hdi_wide *w, LLVMValueRef value,
                      unsigned depth, struct way *way)
{
    const struct hdi_flow *flow = w->emit->flow;

    if (!LLVMIsAInstruction(value) || !hdi_linear_varies(w->linear, value))
        return true;
    if (depth == MAX_DEPTH)
        return false;
    LLVMValueRef from = hdi_origin(flow, value);
    if (from != value)
        return is_of_ids(w, from, depth + 1, way);
    if (LLVMIsALoadInst(value) || LLVMIsACallInst(value) ||
        LLVMIsAAtomicRMWInst(value) || LLVMIsAAtomicCmpXchgInst(value))
        return hdi_call_kind(value) == HDI_CALL_LOCAL_ID ||
               hdi_call_kind(value) == HDI_CALL_GLOBAL_ID;
    LLVMOpcode code = LLVMGetInstructionOpcode(value);
    way->bits |= is_of_bits(code);
    way->spread |= code == LLVMMul || code == LLVMShl;
    for (int i = LLVMGetNumOperands(value); i-- > 0;)
        if (!is_of_ids(w, LLVMGetOperand(value, (unsigned)i), depth + 1, way))
            return false;
    return true;
}

LLVMValueRef hdi_near_holds(struct hdi_wide *w, LLVMValueRef lanes,
                            LLVMValueRef also)
{
    LLVMBuilderRef b = w->emit->builder;

    if (!w->certain)
        lanes = LLVMBuildOr(b, lanes, LLVMBuildNot(b, w->mask, ""), "");
    LLVMValueRef bits = hdi_wide_bits(w, lanes);
    LLVMValueRef all = LLVMBuildICmp(b, LLVMIntEQ, bits,
                                     LLVMConstAllOnes(LLVMTypeOf(bits)), "");
    return also ? LLVMBuildAnd(b, all, also, "") : all;
}

// Elements of records, which lie further apart than they are long?
static bool is_of_records(const struct hdi_wide *w, LLVMValueRef pointer,
                          uint64_t size)
{
    struct hdi_address address =
        hdi_address_of(w->emit->llvm, w->emit->flow, pointer);

    return address.index && hdi_linear_is_uniform(w->linear, address.base) &&
           address.scale > (int64_t)size;
}

// Only where ids and what is shared decide, since there the answer is mostly
// yes; an address that was loaded may be anything. A look must cost less than
// half of a gather or scatter, which takes twice as long for elements of twice
// the size.
bool hdi_near_pays(const struct hdi_wide *w, LLVMValueRef access, uint64_t size)
{
    const struct hdi_llvm *llvm = w->emit->llvm;
    const struct hdi_target *target = &llvm->target;
    bool stores = LLVMIsAStoreInst(access) != NULL;
    LLVMValueRef pointer = LLVMGetOperand(access, stores);
    uint64_t far = (stores ? target->scatter : target->gather) * size / 4;
    struct way way = {0};

    return hdi_rule_is_on(llvm, HDI_RULE_NEAR) && far > 2 * target->look &&
           w->lanes > 1 && !is_of_records(w, pointer, size) &&
           hdi_linear_varies(w->linear, pointer) &&
           is_of_ids(w, pointer, 0, &way) && way.bits;
}

bool hdi_near_is_dense(const struct hdi_wide *w, LLVMValueRef pointer)
{
    struct way way = {0};
    return is_of_ids(w, pointer, 0, &way) && !way.spread;
}

// The index of 32 bits that `pointer` is made of, NULL: it is not. Half as many
// vectors as addresses take, and lanes have the base in common.
static LLVMValueRef index_of(const struct hdi_wide *w, LLVMValueRef pointer,
                             uint64_t size)
{
    if (!hdi_wide_is_here(w, pointer) || !LLVMIsAGetElementPtrInst(pointer) ||
        LLVMGetNumOperands(pointer) != 2 ||
        LLVMABISizeOfType(w->emit->llvm->layout,
                          LLVMGetGEPSourceElementType(pointer)) != size)
        return NULL;
    LLVMValueRef extension = LLVMGetOperand(pointer, 1);
    if (!hdi_linear_is_uniform(w->linear, LLVMGetOperand(pointer, 0)) ||
        !hdi_wide_is_here(w, extension) ||
        (!LLVMIsASExtInst(extension) && !LLVMIsAZExtInst(extension)))
        return NULL;
    LLVMValueRef index = LLVMGetOperand(extension, 0);
    return LLVMTypeOf(index) == w->emit->i32 ? index : NULL;
}

// Frozen, since lanes that are off may hold anything, and a branch follows.
struct hdi_apart hdi_near_apart(struct hdi_wide *w, LLVMValueRef pointer,
                                uint64_t size)
{
    struct hdi_emit *e = w->emit;
    LLVMBuilderRef b = e->builder;
    LLVMValueRef zero = LLVMConstInt(e->i32, 0, false);
    LLVMValueRef index = index_of(w, pointer, size);

    if (!index) {
        LLVMValueRef all = LLVMBuildFreeze(b, hdi_wide_value(w, pointer), "");
        LLVMValueRef numbers =
            LLVMBuildPtrToInt(b, all, hdi_wide_type(w, e->i64), "");
        LLVMValueRef first = LLVMBuildExtractElement(b, numbers, zero, "");
        return (struct hdi_apart){
            .at = LLVMBuildExtractElement(b, all, zero, ""),
            .lanes = LLVMBuildSub(b, numbers, hdi_wide_splat(w, first), ""),
            .unit = (int64_t)size};
    }
    bool is_signed = LLVMIsASExtInst(LLVMGetOperand(pointer, 1)) != NULL;
    LLVMValueRef all = LLVMBuildFreeze(b, hdi_wide_value(w, index), "");
    LLVMValueRef first = LLVMBuildExtractElement(b, all, zero, "");
    LLVMValueRef wide = is_signed ? LLVMBuildSExt(b, first, e->i64, "")
                                  : LLVMBuildZExt(b, first, e->i64, "");
    uint64_t least = is_signed ? (uint64_t)INT32_MIN : 0;
    LLVMValueRef below =
        LLVMBuildSub(b, first, LLVMConstInt(e->i32, least, false), "");
    return (struct hdi_apart){
        .at = LLVMBuildGEP2(b, LLVMGetGEPSourceElementType(pointer),
                            hdi_emit_operand(e, LLVMGetOperand(pointer, 0)),
                            &wide, 1, ""),
        .lanes = LLVMBuildSub(b, all, hdi_wide_splat(w, first), ""),
        .unit = 1,
        .below = below,
        .fits = LLVMBuildICmp(
            b, LLVMIntULE, below,
            LLVMConstInt(e->i32, UINT32_MAX - HDI_NEAR_MAX, false), "")};
}

LLVMValueRef hdi_near_ask(struct hdi_wide *w, LLVMValueRef pointer,
                          uint64_t size, LLVMValueRef *at)
{
    LLVMBuilderRef b = w->emit->builder;
    struct hdi_apart apart = hdi_near_apart(w, pointer, size);
    LLVMTypeRef type = LLVMGetElementType(LLVMTypeOf(apart.lanes));
    LLVMValueRef near = LLVMBuildICmp(b, LLVMIntEQ, apart.lanes,
                                      hdi_wide_iota(w, type, apart.unit), "");

    *at = apart.at;
    return hdi_near_holds(w, near, apart.fits);
}
