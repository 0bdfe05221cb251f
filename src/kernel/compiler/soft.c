#include "kernel/compiler/soft.h"

#include "kernel/compiler/divide.h"
#include "kernel/compiler/fold.h"
#include "kernel/compiler/note.h"
#include "kernel/compiler/strided.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_DEPTH = 24,        // of an address's computation
    UNKNOWN_STEP = 1 << 20, // [bytes], or ids
    SAME_STEP = 1 << 21,    // as another one
    NEAR_STEPS = 4,         // accesses this many sizes apart are one vector's
    GATHER_COST = 12,       // operations that make up for one that is not
    RETRY_COST = 128        // the same for lanes that get in each other's way
};

struct finder {
    const struct hdi_flow *flow;
    struct hdi_llvm *llvm;
    size_t words;
    uint64_t *dominators; // words per block
    uint64_t *body;       // the loop at hand
    size_t *stack;
};

// Loops -----------------------------------------------------------------------

static uint64_t *row(const struct finder *f, size_t block)
{
    return f->dominators + block * f->words;
}

static void find_dominators(struct finder *f)
{
    const struct hdi_flow *flow = f->flow;

    memset(f->dominators, 0xff,
           flow->block_count * f->words * sizeof(uint64_t));
    memset(row(f, 0), 0, f->words * sizeof(uint64_t));
    hdi_bit_set(row(f, 0), 0);
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t b = 0; b < flow->block_count; b++)
            for (unsigned s = 0; s < flow->blocks[b].successor_count; s++) {
                size_t next = flow->blocks[b].successors[s];
                for (size_t w = 0; w < f->words && next != 0; w++) {
                    uint64_t own =
                        next / 64 == w ? UINT64_C(1) << next % 64 : 0;
                    uint64_t both = row(f, next)[w] & (row(f, b)[w] | own);
                    changed |= both != row(f, next)[w];
                    row(f, next)[w] = both;
                }
            }
    }
}

static bool is_head(const struct finder *f, size_t block)
{
    const struct hdi_block *head = &f->flow->blocks[block];

    for (unsigned p = 0; p < head->predecessor_count; p++)
        if (hdi_bit(row(f, head->predecessors[p]), block))
            return true;
    return false;
}

static void add_to_body(struct finder *f, size_t block, size_t *depth)
{
    if (!hdi_bit(f->body, block))
        f->stack[(*depth)++] = block;
    hdi_bit_set(f->body, block);
}

// The blocks of the loop with this head; false when it is none.
static bool find_body(struct finder *f, size_t head)
{
    const struct hdi_block *block = &f->flow->blocks[head];
    size_t depth = 0;

    if (!is_head(f, head))
        return false;
    memset(f->body, 0, f->words * sizeof(uint64_t));
    hdi_bit_set(f->body, head);
    for (unsigned p = 0; p < block->predecessor_count; p++) {
        if (block->predecessors[p] == head)
            return true; // one block
        if (hdi_bit(row(f, block->predecessors[p]), head))
            add_to_body(f, block->predecessors[p], &depth);
    }
    while (depth > 0) {
        block = &f->flow->blocks[f->stack[--depth]];
        for (unsigned p = 0; p < block->predecessor_count; p++)
            add_to_body(f, block->predecessors[p], &depth);
    }
    return true;
}

// Steps -----------------------------------------------------------------------

// The slots that are being looked at, the last one first.
struct path {
    const struct path *before;
    LLVMValueRef slot;
};

static int64_t step_of(const struct finder *f, LLVMValueRef value,
                       const struct path *path, unsigned depth);

// That of all that is stored there, where it is one. SAME_STEP: it follows from
// slots of the path alone, as what a loop's variable goes on to does.
static int64_t step_of_slot(const struct finder *f, LLVMValueRef slot,
                            const struct path *path, unsigned depth)
{
    const struct path here = {path, slot};
    int64_t step = SAME_STEP;

    for (const struct path *p = path; p; p = p->before)
        if (p->slot == slot)
            return SAME_STEP;
    for (LLVMUseRef u = LLVMGetFirstUse(slot); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef store = LLVMGetUser(u);
        if (!LLVMIsAStoreInst(store))
            continue;
        int64_t other = step_of(f, LLVMGetOperand(store, 0), &here, depth);
        if (other == UNKNOWN_STEP ||
            (step != SAME_STEP && other != SAME_STEP && other != step))
            return UNKNOWN_STEP;
        if (other != SAME_STEP)
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

static bool is_step(int64_t step)
{
    return step > -UNKNOWN_STEP && step < UNKNOWN_STEP;
}

// Has it the step of its first operand, where the second has none?
static bool keeps_step(LLVMValueRef value)
{
    switch (LLVMGetInstructionOpcode(value)) {
    case LLVMTrunc:
    case LLVMSExt:
    case LLVMZExt:
    case LLVMFreeze:
    case LLVMAdd:
    case LLVMSub:
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
    if (depth >= MOST_DEPTH)
        return UNKNOWN_STEP;
    depth++;

    enum hdi_call kind = hdi_call_kind(value);
    if (kind == HDI_CALL_GLOBAL_ID || kind == HDI_CALL_LOCAL_ID) {
        LLVMValueRef d = LLVMGetOperand(value, 0);
        return !LLVMIsAConstantInt(d) ? UNKNOWN_STEP
                                      : LLVMConstIntGetZExtValue(d) == 0;
    }
    if (LLVMIsALoadInst(value)) {
        size_t slot =
            hdi_map_index(&flow->slot_index, LLVMGetOperand(value, 0));
        return slot != SIZE_MAX
                   ? step_of_slot(f, LLVMGetOperand(value, 0), path, depth + 4)
                   : UNKNOWN_STEP;
    }
    int64_t scale;
    LLVMValueRef whole = whole_of(value, &scale);
    if (whole) {
        int64_t step = step_of(f, whole, path, depth);
        return is_step(step) ? step * scale : step;
    }

    unsigned operands = (unsigned)LLVMGetNumOperands(value);
    int64_t a = UNKNOWN_STEP, b = UNKNOWN_STEP;
    LLVMValueRef second = operands > 1 ? LLVMGetOperand(value, 1) : NULL;
    bool one_or_two = operands == 1 || operands == 2;
    if (one_or_two)
        a = step_of(f, LLVMGetOperand(value, 0), path, depth);
    if (operands == 2)
        b = step_of(f, second, path, depth);
    if (a == SAME_STEP && (operands == 1 || b == 0) && keeps_step(value))
        return SAME_STEP;
    if (!is_step(a) || (operands == 2 && !is_step(b)))
        return UNKNOWN_STEP;

    int64_t step = UNKNOWN_STEP;
    switch (LLVMGetInstructionOpcode(value)) {
    case LLVMTrunc:
    case LLVMSExt:
    case LLVMZExt:
    case LLVMFreeze:
    case LLVMAddrSpaceCast:
        return a;
    case LLVMAdd:
        step = a + b;
        break;
    case LLVMSub:
        step = a - b;
        break;
    case LLVMMul:
        if (LLVMIsAConstantInt(second))
            step = a * LLVMConstIntGetSExtValue(second);
        break;
    case LLVMShl:
        if (LLVMIsAConstantInt(second) && LLVMConstIntGetZExtValue(second) < 16)
            step = a << LLVMConstIntGetZExtValue(second);
        break;
    case LLVMGetElementPtr:
        if (one_or_two)
            step = a +
                   b * (int64_t)LLVMABISizeOfType(
                           f->llvm->layout, LLVMGetGEPSourceElementType(value));
        break;
    default:
        break;
    }
    return is_step(step) ? step : UNKNOWN_STEP;
}

static bool is_gathered(const struct finder *f, LLVMValueRef pointer,
                        LLVMTypeRef type)
{
    int64_t step = step_of(f, pointer, NULL, 0);
    int64_t size = (int64_t)LLVMABISizeOfType(f->llvm->layout, type);
    return step < 0 || step > NEAR_STEPS * size;
}

// Choosing --------------------------------------------------------------------

static bool is_plain(LLVMValueRef instruction)
{
    if (LLVMIsAAtomicRMWInst(instruction) ||
        LLVMIsAAtomicCmpXchgInst(instruction) || LLVMIsAFenceInst(instruction))
        return false;
    if (LLVMIsALoadInst(instruction) || LLVMIsAStoreInst(instruction))
        return !LLVMGetVolatile(instruction) &&
               LLVMGetOrdering(instruction) == LLVMAtomicOrderingNotAtomic;
    if (!LLVMIsACallInst(instruction) ||
        hdi_call_kind(instruction) != HDI_CALL_OTHER)
        return true;
    LLVMValueRef callee = LLVMGetCalledValue(instruction);
    return LLVMIsAFunction(callee) && LLVMGetIntrinsicID(callee) != 0;
}

static bool is_arithmetic(LLVMValueRef instruction)
{
    return LLVMIsABinaryOperator(instruction) || LLVMIsACallInst(instruction) ||
           LLVMIsASelectInst(instruction);
}

static const char only_some[] = "only some work-items may come to it";

// Why the loop over work-items does not go inside this one.
static void refuse(const struct finder *f, LLVMValueRef where,
                   const char *reason)
{
    hdi_note(f->llvm, where, "the loop does not go round the work-items: %s",
             reason);
}

// Does the group go round this loop together, and does that pay?
static bool is_worth_it(const struct finder *f, size_t head)
{
    const struct hdi_flow *flow = f->flow;
    unsigned gathers = 0, work = 0;

    for (size_t b = 0; b < flow->block_count; b++) {
        const struct hdi_block *block = &flow->blocks[b];
        if (!hdi_bit(f->body, b))
            continue;
        if (block->cut != HDI_NO_CUT || (b != head && is_head(f, b)))
            return false;
        for (unsigned s = 0; s < block->successor_count; s++)
            if (!hdi_bit(f->body, block->successors[s]) &&
                (block->divergent ||
                 hdi_flow_is_divergent(
                     flow, LLVMGetBasicBlockTerminator(block->block)))) {
                LLVMValueRef end = LLVMGetBasicBlockTerminator(block->block);
                refuse(f, end,
                       hdi_flow_is_divergent(flow, end)
                           ? "work-items may leave it at different times"
                           : only_some);
                return false;
            }
        if (block->successor_count == 0)
            return false;
        for (LLVMValueRef i = LLVMGetFirstInstruction(block->block); i;
             i = LLVMGetNextInstruction(i)) {
            bool store = LLVMIsAStoreInst(i) != NULL;
            if (!is_plain(i)) {
                refuse(f, i, "it is not only arithmetic and plain memory");
                return false;
            }
            if (store || LLVMIsALoadInst(i)) {
                LLVMValueRef pointer = LLVMGetOperand(i, store);
                LLVMTypeRef type = LLVMTypeOf(store ? LLVMGetOperand(i, 0) : i);
                if (hdi_map_index(&flow->slot_index, pointer) == SIZE_MAX)
                    gathers += is_gathered(f, pointer, type);
            } else if (hdi_flow_is_divergent(flow, i)) {
                work += is_arithmetic(i);
            }
        }
    }
    if (flow->blocks[head].divergent) {
        refuse(f, LLVMGetBasicBlockTerminator(flow->blocks[head].block),
               only_some);
        return false;
    }
    return work > 0 && work >= GATHER_COST * gathers;
}

// A loop that goes past what lies side by side, which the group can go round
// together whatever it does.
static bool is_strided(const struct finder *f, size_t head)
{
    const struct hdi_flow *flow = f->flow;
    LLVMValueRef end = LLVMGetBasicBlockTerminator(flow->blocks[head].block);

    if (!hdi_is_strided(f->llvm, end))
        return false;
    if (flow->blocks[head].divergent || hdi_flow_is_divergent(flow, end)) {
        hdi_note(f->llvm, end,
                 "the group does not go round the loop together: %s",
                 only_some);
        return false;
    }
    for (size_t b = 0; b < flow->block_count; b++) {
        if (!hdi_bit(f->body, b))
            continue;
        if (flow->blocks[b].cut != HDI_NO_CUT)
            return false;
        for (unsigned s = 0; s < flow->blocks[b].successor_count; s++)
            if (b != head && !hdi_bit(f->body, flow->blocks[b].successors[s]))
                return false;
    }
    return true;
}

// Inserting -------------------------------------------------------------------

static void cut_edge(const struct finder *f, LLVMModuleRef module,
                     LLVMBuilderRef builder, size_t from, unsigned successor)
{
    static const char name[] = "heddle.soft_barrier";
    LLVMContextRef c = f->llvm->context;
    LLVMValueRef end = LLVMGetBasicBlockTerminator(f->flow->blocks[from].block);
    LLVMTypeRef type =
        LLVMFunctionType(LLVMVoidTypeInContext(c), NULL, 0, false);
    LLVMValueRef function = LLVMGetNamedFunction(module, name);
    if (!function)
        function = LLVMAddFunction(module, name, type);

    LLVMBasicBlockRef block =
        LLVMAppendBasicBlockInContext(c, f->flow->kernel, "soft");
    hdi_build_at_end(builder, block);
    LLVMBuildCall2(builder, type, function, NULL, 0, "");
    LLVMBuildBr(builder, LLVMGetSuccessor(end, successor));
    LLVMSetSuccessor(end, successor, block);
}

static void cut_loop(const struct finder *f, LLVMModuleRef module,
                     LLVMBuilderRef builder, size_t head)
{
    const struct hdi_flow *flow = f->flow;

    for (size_t b = 0; b < flow->block_count; b++)
        for (unsigned s = 0; s < flow->blocks[b].successor_count; s++) {
            size_t next = flow->blocks[b].successors[s];
            if (next == head ||
                (hdi_bit(f->body, b) && !hdi_bit(f->body, next)))
                cut_edge(f, module, builder, b, s);
        }
}

static bool find(struct finder *f)
{
    size_t n = f->flow->block_count;

    f->words = n / 64 + 1;
    f->dominators = calloc(n * f->words, sizeof(*f->dominators));
    f->body = calloc(f->words, sizeof(*f->body));
    f->stack = calloc(n + 1, sizeof(*f->stack));
    if (!f->dominators || !f->body || !f->stack)
        return false;
    find_dominators(f);
    return true;
}

static void finder_clear(struct finder *f)
{
    free(f->stack);
    free(f->body);
    free(f->dominators);
}

bool hdi_soft_insert(struct hdi_llvm *llvm, LLVMModuleRef module,
                     LLVMBuilderRef builder, const struct hdi_flow *flow,
                     bool strided, unsigned *count)
{
    size_t n = flow->block_count;
    struct finder f = {.flow = flow, .llvm = llvm};
    bool *chosen = calloc(n + 1, sizeof(*chosen));
    bool ok = find(&f) && chosen;

    *count = 0;
    for (size_t b = 0; ok && b < n; b++)
        chosen[b] = find_body(&f, b) &&
                    (strided ? is_strided(&f, b) : is_worth_it(&f, b));
    // Only now: edges change.
    for (size_t b = 0; ok && b < n; b++)
        if (chosen[b]) {
            find_body(&f, b);
            cut_loop(&f, module, builder, b);
            ++*count;
        }
    free(chosen);
    finder_clear(&f);
    return ok;
}

// What a loop's work-items do, and what lanes would lose in it.
struct load {
    unsigned work, loss; // [operations]
    bool suits;          // lanes whatever it does
};

static struct load weigh(const struct finder *f)
{
    const struct hdi_flow *flow = f->flow;
    struct load load = {0};

    for (size_t b = 0; b < flow->block_count; b++) {
        if (!hdi_bit(f->body, b))
            continue;
        for (LLVMValueRef i = LLVMGetFirstInstruction(flow->blocks[b].block); i;
             i = LLVMGetNextInstruction(i)) {
            load.suits |= hdi_call_is_barrier(hdi_call_kind(i)) ||
                          LLVMIsAAtomicRMWInst(i) != NULL;
            load.work += hdi_flow_is_divergent(flow, i) && is_arithmetic(i);
            if (LLVMIsALoadInst(i) &&
                hdi_map_index(&flow->slot_index, LLVMGetOperand(i, 0)) ==
                    SIZE_MAX &&
                is_gathered(f, LLVMGetOperand(i, 0), LLVMTypeOf(i)))
                load.loss += GATHER_COST;
            if (LLVMIsAAtomicCmpXchgInst(i))
                load.loss += RETRY_COST;
        }
    }
    return load;
}

static bool is_against_lanes(const struct load *load)
{
    return !load->suits && load->loss > load->work;
}

static bool has_any(const struct finder *f, const uint64_t *blocks)
{
    for (size_t w = 0; w < f->words; w++)
        if (f->body[w] & blocks[w])
            return true;
    return false;
}

// Loops that gather most of what they work on, or try an exchange until it
// succeeds, go from work-item to work-item, unless there is more to do in loops
// that neither do so nor hold such a loop.
static bool suit_lanes(struct finder *f, uint64_t *heads, unsigned *gathers)
{
    const struct hdi_flow *flow = f->flow;
    unsigned loss = 0, work = 0, line = 0;

    for (size_t b = 0; b < flow->block_count; b++) {
        if (!find_body(f, b))
            continue;
        struct load load = weigh(f);
        if (!is_against_lanes(&load))
            continue;
        loss += load.loss;
        hdi_bit_set(heads, b);
        line =
            hdi_source_line(LLVMGetBasicBlockTerminator(flow->blocks[b].block));
    }
    for (size_t b = 0; loss > 0 && b < flow->block_count; b++)
        if (find_body(f, b) && !has_any(f, heads))
            work += weigh(f).work;
    *gathers = loss > work ? line : 0;
    return loss <= work;
}

// Without loops and barriers: what LLVM makes no vectors of, stores whose order
// it must keep, and what only lanes do together: updates of one place, division
// by one number, reads of bytes from anywhere.
static bool is_for_lanes(const struct finder *f)
{
    const struct hdi_flow *flow = f->flow;
    unsigned work = 0, stores = 0, scattered = 0;
    bool words = false;

    for (size_t b = 0; b < flow->block_count; b++)
        for (LLVMValueRef i = LLVMGetFirstInstruction(flow->blocks[b].block); i;
             i = LLVMGetNextInstruction(i)) {
            bool store = LLVMIsAStoreInst(i) != NULL;
            if ((hdi_can_fold(i) &&
                 !hdi_flow_is_divergent(flow, LLVMGetOperand(i, 0))) ||
                (hdi_can_divide(i) && hdi_flow_is_divergent(flow, i) &&
                 !hdi_flow_is_divergent(flow, LLVMGetOperand(i, 1))))
                return true;
            if (LLVMIsAAtomicRMWInst(i) || LLVMIsAAtomicCmpXchgInst(i))
                return false;
            work += hdi_flow_is_divergent(flow, i) && is_arithmetic(i);
            if ((!store && !LLVMIsALoadInst(i)) ||
                hdi_map_index(&flow->slot_index, LLVMGetOperand(i, store)) !=
                    SIZE_MAX)
                continue;
            LLVMTypeRef type = LLVMTypeOf(store ? LLVMGetOperand(i, 0) : i);
            stores += store;
            if (!is_gathered(f, LLVMGetOperand(i, store), type))
                continue;
            words |= !store && hdi_has_word_gather(f->llvm) &&
                     LLVMABISizeOfType(f->llvm->layout, type) < 4;
            scattered++;
        }
    return words ||
           (stores > 1 && scattered > 0 && work >= GATHER_COST * scattered);
}

bool hdi_soft_suits_lanes(struct hdi_llvm *llvm, const struct hdi_flow *flow,
                          bool *suits, unsigned *gathers)
{
    struct finder f = {.flow = flow, .llvm = llvm};
    bool ok = find(&f), loops = false;
    uint64_t *heads = calloc(f.words ? f.words : 1, sizeof(*heads));

    ok = ok && heads;
    for (size_t b = 0; ok && b < flow->block_count; b++)
        loops |= is_head(&f, b);
    if (ok)
        *suits = suit_lanes(&f, heads, gathers) &&
                 (loops || flow->barriers > 0 || is_for_lanes(&f));
    free(heads);
    finder_clear(&f);
    return ok;
}
