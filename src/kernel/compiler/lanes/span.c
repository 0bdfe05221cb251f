#include "kernel/compiler/lanes/span.h"

#include "kernel/compiler/analysis/operation.h"
#include "kernel/compiler/vectorise/access.h"

enum {
    MAX_LANES = 64,
    MAX_VECTORS = 4, // of one value
    // The same where lanes part: all wait for the one that goes on longest.
    MAX_PARTED = 2,
    MAX_WORK = 24 // instructions of loops that are short
};

static uint64_t size_of(const struct hdi_wide *w, LLVMTypeRef type)
{
    return LLVMABISizeOfType(w->emit->llvm->layout, type);
}

// The same address for all lanes, or neighbours'.
static bool is_near(const struct hdi_wide *w, size_t at, LLVMValueRef access)
{
    bool store = LLVMIsAStoreInst(access) != NULL;
    LLVMTypeRef type = LLVMTypeOf(store ? LLVMGetOperand(access, 0) : access);
    LLVMValueRef pointer = LLVMGetOperand(access, store);
    int64_t step = hdi_linear_step(w->linear, pointer).by;
    struct hdi_wide wide = *w;
    int64_t size = (int64_t)size_of(w, type);

    wide.at = at;
    if (!hdi_is_plain_access(access) || !hdi_has_lanes(type))
        return false;
    if (step != HDI_STEP_VARIES)
        return step == size || (step == 0 && !store);
    return hdi_wide_is_likely(&wide, pointer, size);
}

// Whether the instruction takes some times as long for some times as many
// lanes; division has no form for vectors.
// Nothing that is done lane by lane: with more lanes it would only be longer.
static bool is_even(const struct hdi_wide *w, size_t at, LLVMValueRef x)
{
    LLVMOpcode code = LLVMGetInstructionOpcode(x);

    if (hdi_slot_of(w->emit->flow, x) != SIZE_MAX || LLVMIsATerminatorInst(x))
        return true;
    if (code == LLVMLoad || code == LLVMStore)
        return is_near(w, at, x);
    if (hdi_has_effects(w->emit->flow, x))
        return false;
    if (!hdi_linear_varies(w->linear, x) || code == LLVMGetElementPtr)
        return true;
    return hdi_has_lanes(LLVMTypeOf(x)) && code != LLVMUDiv &&
           code != LLVMSDiv && code != LLVMURem && code != LLVMSRem;
}

// Of one vector's registers, what values that loops keep take.
static uint64_t kept_bytes(const struct hdi_wide *w, size_t head)
{
    const struct hdi_flow *flow = w->emit->flow;
    uint64_t bytes = 0;

    for (size_t s = 0; s < flow->slot_count; s++)
        if (hdi_flow_is_live(flow, w->linear->order->blocks[head], s) &&
            hdi_linear_slot_varies(w->linear, s))
            bytes += size_of(w, flow->slots[s].type);
    return bytes;
}

static bool is_in_loop(const struct hdi_wide *w, size_t at)
{
    for (size_t head = 0; head <= at; head++)
        if (hdi_order_in_loop(w->linear->order, head, at))
            return true;
    return false;
}

// Twice as many, again and again, as long as what loops keep stays in
// registers.
unsigned hdi_span_find(const struct hdi_wide *w)
{
    const struct hdi_emit *e = w->emit;
    unsigned work = 0, span = e->width, most = MAX_VECTORS;
    uint64_t bytes = 0;
    bool loops = false;

    if (!e->flat || e->observer || w->linear->returns)
        return span;
    for (size_t at = 0; at < w->linear->order->count; at++) {
        bool is_inside = is_in_loop(w, at);
        if (w->linear->parts[at] || w->linear->scattered[at])
            most = MAX_PARTED;
        if (w->linear->order->loop_end[at] > 0) {
            uint64_t kept = kept_bytes(w, at);
            bytes = kept > bytes ? kept : bytes;
            loops = true;
        }
        for (LLVMValueRef x = LLVMGetFirstInstruction(
                 e->flow->blocks[w->linear->order->blocks[at]].block);
             x; x = LLVMGetNextInstruction(x)) {
            if (!is_even(w, at, x))
                return span;
            work += is_inside && hdi_linear_varies(w->linear, x) &&
                    hdi_slot_of(e->flow, x) == SIZE_MAX;
        }
    }
    if (!loops || work > MAX_WORK)
        return span;
    while (span < MAX_LANES && span < most * e->width &&
           2 * span * bytes <= (uint64_t)e->llvm->target.kept * 4 * e->width)
        span *= 2;
    return span;
}
