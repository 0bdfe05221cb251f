#include "kernel/compiler/soft.h"

#include "kernel/compiler/divide.h"
#include "kernel/compiler/fold.h"
#include "kernel/compiler/note.h"
#include "kernel/compiler/strided.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_DEPTH = 24,        // of an address's computation
    MOST_MOVES = 12,        // the same, of how far it goes in a loop
    UNKNOWN_STEP = 1 << 20, // [bytes], or ids
    SAME_STEP = 1 << 21,    // as another one
    FAR = 1 << 20,          // of a move: [bytes] at least, or not known
    ANYWHERE = FAR + 1,     // of a move: not to be foretold
    NEAR_MOVE = 64,         // [bytes] in a round: lines are used up
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
    size_t *inmost;       // per block: the head of the least loop around it
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

// What is added to `alloca` where this is stored to it, NULL: something else is
// stored.
static LLVMValueRef addend(const struct hdi_flow *flow, LLVMValueRef stored,
                           LLVMValueRef alloca)
{
    LLVMValueRef sum = hdi_origin(flow, stored);

    if (!LLVMIsAInstruction(sum) || LLVMGetInstructionOpcode(sum) != LLVMAdd)
        return NULL;
    for (unsigned i = 0; i < 2; i++) {
        LLVMValueRef before = hdi_origin(flow, LLVMGetOperand(sum, i));
        if (LLVMIsALoadInst(before) && LLVMGetOperand(before, 0) == alloca)
            return LLVMGetOperand(sum, 1 - i);
    }
    return NULL;
}

// The rest makes steps of no kind.
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
        if (slot != SIZE_MAX)
            return step_of_slot(f, LLVMGetOperand(value, 0), path, depth + 4);
        return step_of(f, LLVMGetOperand(value, 0), path, depth) == 0
                   ? 0
                   : UNKNOWN_STEP;
    }
    int64_t scale;
    LLVMValueRef whole = whole_of(value, &scale);
    if (whole) {
        int64_t step = step_of(f, whole, path, depth);
        return is_step(step) ? step * scale : step;
    }

    if (!is_linear(value))
        return UNKNOWN_STEP;
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
        if (a == 0 && b == 0)
            step = 0;
        else if (LLVMIsAConstantInt(second))
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

static int64_t limited(int64_t move)
{
    return move > -FAR && move < FAR ? move : FAR;
}

// How far a value goes from one round of the loop at hand to the next: some
// bytes, or FAR, or ANYWHERE, as what is read from memory does.
static int64_t move_of(const struct finder *f, LLVMValueRef value,
                       unsigned depth);

static int64_t move_of_slot(const struct finder *f, size_t slot, unsigned depth)
{
    const struct hdi_flow *flow = f->flow;
    LLVMValueRef alloca = flow->slots[slot].alloca;
    int64_t move = 0;

    for (LLVMUseRef u = LLVMGetFirstUse(alloca); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef store = LLVMGetUser(u);
        size_t block =
            hdi_map_index(&flow->block_index, LLVMGetInstructionParent(store));
        if (!LLVMIsAStoreInst(store) || !hdi_bit(f->body, block))
            continue;
        LLVMValueRef stored = LLVMGetOperand(store, 0);
        LLVMValueRef more = addend(flow, stored, alloca);
        if (move != 0)
            return ANYWHERE;
        if (!more)
            move = flow->slots[slot].only_stored ? move_of(f, stored, depth)
                                                 : ANYWHERE;
        else
            move = LLVMIsAConstantInt(more)
                       ? limited(LLVMConstIntGetSExtValue(more))
                       : FAR;
    }
    return move;
}

static int64_t move_of(const struct finder *f, LLVMValueRef value,
                       unsigned depth)
{
    const struct hdi_flow *flow = f->flow;

    if (!LLVMIsAInstruction(value) ||
        !hdi_bit(f->body, hdi_map_index(&flow->block_index,
                                        LLVMGetInstructionParent(value))))
        return 0;
    if (depth == MOST_MOVES)
        return ANYWHERE;
    depth++;
    if (LLVMIsALoadInst(value)) {
        size_t slot =
            hdi_map_index(&flow->slot_index, LLVMGetOperand(value, 0));
        if (slot != SIZE_MAX)
            return move_of_slot(f, slot, depth);
        return move_of(f, LLVMGetOperand(value, 0), depth) ? ANYWHERE : 0;
    }

    enum hdi_call kind = hdi_call_kind(value);
    if (kind == HDI_CALL_GLOBAL_ID || kind == HDI_CALL_LOCAL_ID)
        return 0;
    LLVMValueRef second =
        LLVMGetNumOperands(value) == 2 ? LLVMGetOperand(value, 1) : NULL;
    int64_t size[2] = {1, 1}; // that the operands' moves count for
    switch (LLVMGetInstructionOpcode(value)) {
    case LLVMTrunc:
    case LLVMSExt:
    case LLVMZExt:
    case LLVMFreeze:
        return move_of(f, LLVMGetOperand(value, 0), depth);
    case LLVMGetElementPtr:
        if (!second)
            return ANYWHERE;
        size[1] = (int64_t)LLVMABISizeOfType(
            f->llvm->layout, LLVMGetGEPSourceElementType(value));
        break;
    case LLVMAdd:
        break;
    case LLVMSub:
        size[1] = -1;
        break;
    case LLVMMul:
        size[0] =
            LLVMIsAConstantInt(second) ? LLVMConstIntGetSExtValue(second) : FAR;
        size[1] = FAR;
        break;
    case LLVMShl:
        if (!LLVMIsAConstantInt(second) ||
            LLVMConstIntGetZExtValue(second) > 16)
            return ANYWHERE;
        size[0] = INT64_C(1) << LLVMConstIntGetZExtValue(second);
        break;
    default:
        return ANYWHERE;
    }
    int64_t move = 0;
    for (unsigned i = 0; i < 2; i++) {
        int64_t part = move_of(f, LLVMGetOperand(value, i), depth);
        if (part == ANYWHERE)
            return ANYWHERE;
        if (part != 0 && (part == FAR || limited(size[i]) == FAR))
            move = FAR;
        else if (move != FAR)
            move += part * size[i];
    }
    return limited(move);
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

// Of loops around a block the least has the fewest blocks.
static bool find_inmost(struct finder *f)
{
    size_t n = f->flow->block_count;
    size_t *sizes = calloc(n + 1, sizeof(*sizes));

    f->inmost = calloc(n + 1, sizeof(*f->inmost));
    if (!sizes || !f->inmost) {
        free(sizes);
        return false;
    }
    for (size_t head = 0; head < n; head++) {
        size_t size = 0;
        if (!find_body(f, head))
            continue;
        for (size_t b = 0; b < n; b++)
            size += hdi_bit(f->body, b);
        for (size_t b = 0; b < n; b++)
            if (hdi_bit(f->body, b) && (sizes[b] == 0 || size < sizes[b])) {
                sizes[b] = size;
                f->inmost[b] = head;
            }
    }
    free(sizes);
    return true;
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
    free(f->inmost);
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

// Whether each round of the loop at hand waits for the one before: a sum of
// floats, whose order is kept, in a variable or at one place in memory.
static bool is_chain(const struct finder *f, LLVMValueRef store)
{
    const struct hdi_flow *flow = f->flow;
    LLVMValueRef place = LLVMGetOperand(store, 1);
    LLVMValueRef sum = hdi_origin(flow, LLVMGetOperand(store, 0));

    if (!LLVMIsAInstruction(sum) || !LLVMCanValueUseFastMathFlags(sum) ||
        (!LLVMIsABinaryOperator(sum) && !LLVMIsACallInst(sum)) ||
        LLVMGetFastMathFlags(sum) & LLVMFastMathAllowReassoc)
        return false;
    unsigned count = LLVMIsACallInst(sum) ? LLVMGetNumArgOperands(sum) : 2;
    for (unsigned i = 0; i < count; i++) {
        LLVMValueRef before = hdi_origin(flow, LLVMGetOperand(sum, i));
        if (LLVMIsALoadInst(before) &&
            hdi_origin(flow, LLVMGetOperand(before, 0)) ==
                hdi_origin(flow, place))
            return hdi_map_index(&flow->slot_index, place) != SIZE_MAX ||
                   move_of(f, place, 0) == 0;
    }
    return false;
}

// Whether lanes do not mind to read here and there in the loop at hand: they
// all go round it as often and write side by side, and one alone would be slow.
static bool is_slow_alone(const struct finder *f)
{
    const struct hdi_flow *flow = f->flow;
    bool chain = false;

    for (size_t b = 0; b < flow->block_count; b++) {
        const struct hdi_block *block = &flow->blocks[b];
        if (!hdi_bit(f->body, b))
            continue;
        for (unsigned s = 0; s < block->successor_count; s++)
            if (!hdi_bit(f->body, block->successors[s]) &&
                hdi_flow_is_divergent(
                    flow, LLVMGetBasicBlockTerminator(block->block)))
                return false;
        for (LLVMValueRef i = LLVMGetFirstInstruction(block->block); i;
             i = LLVMGetNextInstruction(i)) {
            if (!LLVMIsAStoreInst(i))
                continue;
            LLVMValueRef place = LLVMGetOperand(i, 1);
            if (hdi_map_index(&flow->slot_index, place) == SIZE_MAX &&
                is_gathered(f, place, LLVMTypeOf(LLVMGetOperand(i, 0))))
                return false;
            chain |= is_chain(f, i);
        }
    }
    return chain;
}

// Lanes that read here and there lose what one work-item alone gains when it
// goes through memory as it lies, from round to round. Where it is the lanes
// that read side by side, and one alone a line in each round, they gain.
static void weigh_load(const struct finder *f, LLVMValueRef x, bool slow_alone,
                       struct load *load)
{
    LLVMValueRef pointer = LLVMGetOperand(x, 0);
    bool is_local =
        LLVMGetPointerAddressSpace(LLVMTypeOf(pointer)) == HDI_SPACE_LOCAL;
    int64_t move = is_local ? ANYWHERE : move_of(f, pointer, 0);
    bool far = move != ANYWHERE && llabs(move) > NEAR_MOVE;

    if (is_gathered(f, pointer, LLVMTypeOf(x)))
        load->loss += far || (slow_alone && move != ANYWHERE) ? 0 : GATHER_COST;
    else if (!is_local && (far || move == ANYWHERE) &&
             step_of(f, pointer, NULL, 0) != 0)
        load->work += GATHER_COST;
}

// Reads in a loop inside are weighed with that.
static struct load weigh(const struct finder *f, size_t head)
{
    const struct hdi_flow *flow = f->flow;
    bool slow_alone = is_slow_alone(f);
    struct load load = {0};

    for (size_t b = 0; b < flow->block_count; b++) {
        if (!hdi_bit(f->body, b))
            continue;
        for (LLVMValueRef i = LLVMGetFirstInstruction(flow->blocks[b].block); i;
             i = LLVMGetNextInstruction(i)) {
            load.suits |= hdi_call_is_barrier(hdi_call_kind(i)) ||
                          LLVMIsAAtomicRMWInst(i) != NULL;
            load.work += hdi_flow_is_divergent(flow, i) && is_arithmetic(i);
            if (LLVMIsALoadInst(i) && f->inmost[b] == head &&
                hdi_map_index(&flow->slot_index, LLVMGetOperand(i, 0)) ==
                    SIZE_MAX)
                weigh_load(f, i, slow_alone, &load);
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
        struct load load = weigh(f, b);
        if (!is_against_lanes(&load))
            continue;
        loss += load.loss;
        hdi_bit_set(heads, b);
        line =
            hdi_source_line(LLVMGetBasicBlockTerminator(flow->blocks[b].block));
    }
    for (size_t b = 0; loss > 0 && b < flow->block_count; b++)
        if (find_body(f, b) && !has_any(f, heads))
            work += weigh(f, b).work;
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
    bool ok = find(&f) && find_inmost(&f), loops = false;
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
