#include "kernel/compiler/analysis/address.h"

// The constant that is added to a number; NULL: none is.
static LLVMValueRef added(LLVMValueRef value)
{
    if (!LLVMIsAInstruction(value))
        return NULL;
    LLVMOpcode code = LLVMGetInstructionOpcode(value);
    if (code != LLVMAdd && (code != LLVMOr || !LLVMGetIsDisjoint(value)))
        return NULL;
    LLVMValueRef constant = LLVMGetOperand(value, 1);
    return LLVMIsAConstantInt(constant) ? constant : NULL;
}

// Does a sum that is extended hold what the extended parts sum up to?
static bool is_exact(LLVMValueRef value, bool is_signed)
{
    return LLVMGetInstructionOpcode(value) == LLVMOr ||
           (is_signed ? LLVMGetNSW(value) : LLVMGetNUW(value));
}

// (ulong)(uint)index, as LLVM writes it.
static bool is_low_half(LLVMValueRef index)
{
    LLVMValueRef mask =
        LLVMIsABinaryOperator(index) ? LLVMGetOperand(index, 1) : NULL;
    return mask && LLVMGetInstructionOpcode(index) == LLVMAnd &&
           LLVMIsAConstantInt(mask) &&
           LLVMConstIntGetZExtValue(mask) == UINT32_MAX;
}

static void add_offset(struct hdi_address *address, int64_t number,
                       int64_t scale)
{
    address->offset = (int64_t)((uint64_t)address->offset +
                                (uint64_t)number * (uint64_t)scale);
}

// An index of 32 bits wraps before it is extended: a constant may be taken out
// of it only where the sum is promised not to, or `is_likely` not to. Promised
// without a sign, it is a large number, not one below 0. One of 64 bits wraps as
// the address does, so any constant may.
static void split_index(const struct hdi_flow *flow,
                        struct hdi_address *address, LLVMValueRef index,
                        bool is_likely)
{
    bool is_short;

    index = hdi_origin(flow, index);
    is_short = !hdi_is_integer(LLVMTypeOf(index), 64);
    address->is_signed = is_short;
    for (;; index = hdi_origin(flow, LLVMGetOperand(index, 0))) {
        LLVMValueRef constant = added(index);
        bool exact =
            constant && is_short && is_exact(index, address->is_signed);
        if (constant &&
            (!is_short || exact || (is_likely && address->extension))) {
            int64_t number = exact && !address->is_signed
                                 ? (int64_t)LLVMConstIntGetZExtValue(constant)
                                 : LLVMConstIntGetSExtValue(constant);
            add_offset(address, number, address->scale);
            address->added += is_short ? number : 0;
        } else if (!address->extension &&
                   (LLVMIsASExtInst(index) || LLVMIsAZExtInst(index) ||
                    (is_likely && is_low_half(index)))) {
            is_short = true;
            address->extension = index;
            address->is_signed = !LLVMIsABinaryOperator(index) &&
                                 (LLVMIsASExtInst(index) || LLVMGetNNeg(index));
        } else {
            break;
        }
    }
    address->index = index;
}

// Constants of all steps are taken into the offset, but one index alone: a
// second one ends the search, and the address so far is the base.
static struct hdi_address split(const struct hdi_llvm *llvm,
                                const struct hdi_flow *flow,
                                LLVMValueRef pointer, bool is_likely)
{
    struct hdi_address address = {.base = hdi_origin(flow, pointer)};

    while (LLVMIsAGetElementPtrInst(address.base) &&
           LLVMGetNumOperands(address.base) == 2) {
        LLVMValueRef gep = address.base, index = LLVMGetOperand(gep, 1);
        int64_t scale = (int64_t)LLVMABISizeOfType(
            llvm->layout, LLVMGetGEPSourceElementType(gep));
        if (LLVMIsAConstantInt(index)) {
            add_offset(&address, LLVMConstIntGetSExtValue(index), scale);
        } else if (address.index) {
            break;
        } else {
            address.scale = scale;
            split_index(flow, &address, index, is_likely);
        }
        address.base = hdi_origin(flow, LLVMGetOperand(gep, 0));
    }
    return address;
}

struct hdi_address hdi_address_of(const struct hdi_llvm *llvm,
                                  const struct hdi_flow *flow,
                                  LLVMValueRef pointer)
{
    return split(llvm, flow, pointer, false);
}

struct hdi_address hdi_address_likely(const struct hdi_llvm *llvm,
                                      const struct hdi_flow *flow,
                                      LLVMValueRef pointer)
{
    return split(llvm, flow, pointer, true);
}

bool hdi_address_is_beside(const struct hdi_address *a,
                           const struct hdi_address *b)
{
    return a->base == b->base && a->index == b->index && a->scale == b->scale &&
           a->is_signed == b->is_signed && !a->extension == !b->extension;
}

LLVMValueRef hdi_address_root(const struct hdi_flow *flow, LLVMValueRef pointer)
{
    for (;;) {
        LLVMValueRef origin = hdi_origin(flow, pointer);
        if (LLVMIsAGetElementPtrInst(origin) || LLVMIsACastInst(origin) ||
            (LLVMIsAConstantExpr(origin) && LLVMGetNumOperands(origin) > 0))
            origin = LLVMGetOperand(origin, 0);
        if (origin == pointer)
            return pointer;
        pointer = origin;
    }
}

// Memory that nobody else has the address of.
static bool is_own(LLVMValueRef root)
{
    return LLVMIsAAllocaInst(root) || LLVMIsAGlobalVariable(root);
}

static bool is_local(LLVMValueRef root)
{
    return LLVMGetPointerAddressSpace(LLVMTypeOf(root)) == HDI_SPACE_LOCAL;
}

static bool is_global(LLVMValueRef root)
{
    unsigned space = LLVMGetPointerAddressSpace(LLVMTypeOf(root));
    return space == HDI_SPACE_GLOBAL || space == HDI_SPACE_CONSTANT;
}

// Two arguments may be the same buffer, and anything that is not known may be
// anything.
bool hdi_address_roots_meet(LLVMValueRef a, LLVMValueRef b)
{
    return a == b ||
           (!(is_own(a) && is_own(b)) && !(is_own(a) && LLVMIsAArgument(b)) &&
            !(LLVMIsAArgument(a) && is_own(b)) &&
            !(is_local(a) && is_global(b)) && !(is_global(a) && is_local(b)));
}
