#include "kernel/compiler/analysis/steps.h"

enum {
    MAX_DEPTH = 24, // of an address's computation
    MAX_SHIFT = 32, // [bits]
    NEAR_STEPS = 4  // accesses this many sizes apart are one vector's
};

static const int64_t most_step = INT64_C(1) << 56;

static bool is_known(int64_t step)
{
    return step != HDI_STEP_VARIES && step != HDI_STEP_UNKNOWN;
}

static int64_t limited(int64_t step)
{
    return step > -most_step && step < most_step ? step : HDI_STEP_VARIES;
}

int64_t hdi_step_sum(int64_t a, int64_t b)
{
    if (a == HDI_STEP_UNKNOWN || b == HDI_STEP_UNKNOWN)
        return HDI_STEP_UNKNOWN;
    return is_known(a) && is_known(b) ? limited(a + b) : HDI_STEP_VARIES;
}

int64_t hdi_step_product(int64_t step, int64_t factor)
{
    int64_t product;

    if (!is_known(step))
        return step;
    return __builtin_mul_overflow(step, factor, &product) ? HDI_STEP_VARIES
                                                          : limited(product);
}

static int64_t of_any(const int64_t *parts, unsigned count)
{
    int64_t step = 0;

    for (unsigned i = 0; i < count; i++) {
        if (parts[i] == HDI_STEP_UNKNOWN)
            return HDI_STEP_UNKNOWN;
        if (parts[i] != 0)
            step = HDI_STEP_VARIES;
    }
    return step;
}

static int64_t of_address(const struct hdi_llvm *llvm, LLVMValueRef gep,
                          const int64_t *parts, unsigned count)
{
    LLVMTypeRef type = LLVMGetGEPSourceElementType(gep);
    int64_t step = parts[0];

    for (unsigned i = 1; i < count; i++) {
        if (i > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind) {
            type = LLVMStructGetTypeAtIndex(
                type,
                (unsigned)LLVMConstIntGetZExtValue(LLVMGetOperand(gep, i)));
            continue;
        }
        if (i > 1)
            type = LLVMGetElementType(type);
        int64_t size = (int64_t)LLVMABISizeOfType(llvm->layout, type);
        step = hdi_step_sum(step, hdi_step_product(parts[i], size));
    }
    return step;
}

int64_t hdi_step_combine(const struct hdi_llvm *llvm, LLVMValueRef x,
                         const int64_t *parts, unsigned count)
{
    LLVMOpcode code = LLVMGetInstructionOpcode(x);
    LLVMValueRef by = count == 2 ? LLVMGetOperand(x, 1) : NULL;
    bool by_number = by && LLVMIsAConstantInt(by);

    switch (code) {
    case LLVMTrunc:
    case LLVMSExt:
    case LLVMZExt:
    case LLVMFreeze:
    case LLVMAddrSpaceCast:
    case LLVMPtrToInt:
    case LLVMIntToPtr:
        return parts[0];
    case LLVMAdd:
        return hdi_step_sum(parts[0], parts[1]);
    case LLVMSub:
        return hdi_step_sum(parts[0], hdi_step_product(parts[1], -1));
    case LLVMOr:
        if (!LLVMGetIsDisjoint(x))
            break;
        return hdi_step_sum(parts[0], parts[1]);
    case LLVMMul:
        if (!by_number)
            break;
        return hdi_step_product(parts[0], LLVMConstIntGetSExtValue(by));
    case LLVMShl:
        if (!by_number || LLVMConstIntGetZExtValue(by) > MAX_SHIFT)
            break;
        return hdi_step_product(parts[0], INT64_C(1)
                                              << LLVMConstIntGetZExtValue(by));
    case LLVMGetElementPtr:
        return of_address(llvm, x, parts, count);
    default:
        break;
    }
    return of_any(parts, count);
}

// Kernels in memory form ------------------------------------------------------

struct finder {
    const struct hdi_llvm *llvm;
    const struct hdi_flow *flow;
};

// The slots that are being looked at, the last one first.
struct path {
    const struct path *before;
    LLVMValueRef slot;
};

static int64_t step_of(const struct finder *f, LLVMValueRef value,
                       const struct path *path, unsigned depth);

// That of all that is stored there, where it is one. UNKNOWN: it follows from
// slots of the path alone, as what a loop's variable goes on to does.
static int64_t step_of_slot(const struct finder *f, LLVMValueRef slot,
                            const struct path *path, unsigned depth)
{
    const struct path here = {path, slot};
    int64_t step = HDI_STEP_UNKNOWN;

    for (const struct path *p = path; p; p = p->before)
        if (p->slot == slot)
            return HDI_STEP_UNKNOWN;
    for (LLVMUseRef u = LLVMGetFirstUse(slot); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef store = LLVMGetUser(u);
        if (!LLVMIsAStoreInst(store))
            continue;
        int64_t other = step_of(f, LLVMGetOperand(store, 0), &here, depth);
        if (other == HDI_STEP_VARIES ||
            (step != HDI_STEP_UNKNOWN && other != HDI_STEP_UNKNOWN &&
             other != step))
            return HDI_STEP_VARIES;
        if (other != HDI_STEP_UNKNOWN)
            step = other;
    }
    return step;
}

// What `value` is the lower half of, `scale` times: masked, or shifted up and
// down again. NULL: nothing.
static LLVMValueRef whole_of(LLVMValueRef value, int64_t *scale)
{
    LLVMOpcode code = LLVMGetInstructionOpcode(value);
    if ((code != LLVMAnd && code != LLVMAShr && code != LLVMLShr) ||
        !LLVMIsAConstantInt(LLVMGetOperand(value, 1)))
        return NULL;
    LLVMValueRef from = LLVMGetOperand(value, 0);
    uint64_t by = LLVMConstIntGetZExtValue(LLVMGetOperand(value, 1));
    *scale = 1;
    if (code == LLVMAnd)
        return by == UINT32_MAX ? from : NULL;
    if (!LLVMIsAInstruction(from) ||
        LLVMGetInstructionOpcode(from) != LLVMShl ||
        !LLVMIsAConstantInt(LLVMGetOperand(from, 1)))
        return NULL;
    uint64_t up = LLVMConstIntGetZExtValue(LLVMGetOperand(from, 1));
    *scale = INT64_C(1) << (up - by) % 64;
    return up >= by && up - by < 16 ? LLVMGetOperand(from, 0) : NULL;
}

// What ids are made into addresses with.
static bool is_linear(LLVMValueRef value)
{
    switch (LLVMGetInstructionOpcode(value)) {
    case LLVMTrunc:
    case LLVMSExt:
    case LLVMZExt:
    case LLVMFreeze:
    case LLVMAddrSpaceCast:
    case LLVMAdd:
    case LLVMSub:
    case LLVMMul:
    case LLVMShl:
    case LLVMGetElementPtr:
        return true;
    default:
        return false;
    }
}

// The difference of `value` between neighbours in x.
static int64_t step_of(const struct finder *f, LLVMValueRef value,
                       const struct path *path, unsigned depth)
{
    const struct hdi_flow *flow = f->flow;

    if (!LLVMIsAInstruction(value) || !hdi_flow_is_divergent(flow, value))
        return 0;
    if (depth >= MAX_DEPTH)
        return HDI_STEP_VARIES;
    depth++;

    enum hdi_call kind = hdi_call_kind(value);
    if (kind == HDI_CALL_GLOBAL_ID || kind == HDI_CALL_LOCAL_ID) {
        LLVMValueRef d = LLVMGetOperand(value, 0);
        return !LLVMIsAConstantInt(d) ? HDI_STEP_VARIES
                                      : LLVMConstIntGetZExtValue(d) == 0;
    }
    if (LLVMIsALoadInst(value)) {
        size_t slot =
            hdi_map_index(&flow->slot_index, LLVMGetOperand(value, 0));
        if (slot != SIZE_MAX)
            return step_of_slot(f, LLVMGetOperand(value, 0), path, depth + 4);
        return step_of(f, LLVMGetOperand(value, 0), path, depth) == 0
                   ? 0
                   : HDI_STEP_VARIES;
    }
    int64_t scale;
    LLVMValueRef whole = whole_of(value, &scale);
    if (whole)
        return hdi_step_product(step_of(f, whole, path, depth), scale);

    unsigned operands = (unsigned)LLVMGetNumOperands(value);
    if (!is_linear(value) || operands == 0 || operands > 2)
        return HDI_STEP_VARIES;
    int64_t parts[2] = {0};
    for (unsigned i = 0; i < operands; i++)
        parts[i] = step_of(f, LLVMGetOperand(value, i), path, depth);
    LLVMOpcode code = LLVMGetInstructionOpcode(value);
    if (parts[0] == HDI_STEP_UNKNOWN && parts[1] == 0 && code != LLVMMul &&
        code != LLVMShl)
        return HDI_STEP_UNKNOWN; // that of the first, whatever it is
    return is_known(parts[0]) && is_known(parts[1])
               ? hdi_step_combine(f->llvm, value, parts, operands)
               : HDI_STEP_VARIES;
}

int64_t hdi_step_of(const struct hdi_llvm *llvm, const struct hdi_flow *flow,
                    LLVMValueRef value)
{
    return step_of(&(struct finder){llvm, flow}, value, NULL, 0);
}

bool hdi_is_gathered(const struct hdi_llvm *llvm, const struct hdi_flow *flow,
                     LLVMValueRef pointer, LLVMTypeRef type)
{
    int64_t step = hdi_step_of(llvm, flow, pointer);
    int64_t size = (int64_t)LLVMABISizeOfType(llvm->layout, type);
    return step < 0 || step > NEAR_STEPS * size;
}
