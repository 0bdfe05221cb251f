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

static void add_offset(struct hdi_address *address, LLVMValueRef constant,
                       int64_t scale)
{
    address->offset = (int64_t)((uint64_t)address->offset +
                                (uint64_t)LLVMConstIntGetSExtValue(constant) *
                                    (uint64_t)scale);
}

// An index of 32 bits wraps before it is extended: a constant may be taken out
// of it only where the sum is promised not to. One of 64 bits wraps as the
// address does, so any constant may.
static void split_index(const struct hdi_flow *flow,
                        struct hdi_address *address, LLVMValueRef index)
{
    index = hdi_origin(flow, index);
    if (LLVMIsASExtInst(index) || LLVMIsAZExtInst(index)) {
        address->is_signed = LLVMIsASExtInst(index) || LLVMGetNNeg(index);
        index = hdi_origin(flow, LLVMGetOperand(index, 0));
    } else {
        address->is_signed = !hdi_is_integer(LLVMTypeOf(index), 64);
    }
    bool is_short = !hdi_is_integer(LLVMTypeOf(index), 64);
    for (LLVMValueRef constant;
         (constant = added(index)) &&
         (!is_short || is_exact(index, address->is_signed));
         index = hdi_origin(flow, LLVMGetOperand(index, 0)))
        add_offset(address, constant, address->scale);
    address->index = index;
}

// Constants of all steps are taken into the offset, but one index alone: a
// second one ends the search, and the address so far is the base.
struct hdi_address hdi_address_of(const struct hdi_llvm *llvm,
                                  const struct hdi_flow *flow,
                                  LLVMValueRef pointer)
{
    struct hdi_address address = {.base = hdi_origin(flow, pointer)};

    while (LLVMIsAGetElementPtrInst(address.base) &&
           LLVMGetNumOperands(address.base) == 2) {
        LLVMValueRef gep = address.base, index = LLVMGetOperand(gep, 1);
        int64_t scale = (int64_t)LLVMABISizeOfType(
            llvm->layout, LLVMGetGEPSourceElementType(gep));
        if (LLVMIsAConstantInt(index)) {
            add_offset(&address, index, scale);
        } else if (address.index) {
            break;
        } else {
            address.scale = scale;
            split_index(flow, &address, index);
        }
        address.base = hdi_origin(flow, LLVMGetOperand(gep, 0));
    }
    return address;
}

bool hdi_address_is_beside(const struct hdi_address *a,
                           const struct hdi_address *b)
{
    return a->base == b->base && a->index == b->index && a->scale == b->scale &&
           a->is_signed == b->is_signed;
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
