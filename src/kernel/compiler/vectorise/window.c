// Rows that lanes walk along, each its own, as in `from[row * n + k]` in a loop
// over k: a gather per turn touches as many lines of the cache as there are
// lanes, again and again, and of rows a power of two apart the cache keeps few.
// Instead each lane's next elements are loaded at once, as many as there are
// lanes; transposed and put aside they are vectors for as many turns.
//
// A window is kept for addresses that are as far from those it was filled for
// in every lane, and by less than its size: whatever the loop does is looked at
// while running, and what does not fit is gathered. It is empty where a chunk
// begins, and memory does not change within the outermost loop, but for places
// that are the same in every turn, as in `y[i] += from[i * n + k] * x[k]`: a
// window that would have one of them is not filled.
//
// Elements of it that the kernel does not read lie in the same pages as those
// that it does.
#include "kernel/compiler/analysis/operation.h"
#include "kernel/compiler/ir/note.h"
#include "kernel/compiler/ir/rules.h"
#include "kernel/compiler/vectorise/access.h"

// MAX_LANES: a window has as many vectors as lanes. LEAST_PAGE: the smallest of
// any processor.
enum {
    LEAST_PAGE = 4096, // [bytes]
    MAX_LANES = 16,
    MAX_DEPTH = 8, // of an address's computation
    MAX_PLACES = 4 // that a loop writes to
};

// Stores of a loop to places that are the same in every turn.
struct places {
    unsigned count;
    LLVMValueRef stores[MAX_PLACES];
};

// Is it a number that all lanes count up by one, turn by turn?
static bool is_counter(const struct hdi_wide *w, LLVMValueRef load)
{
    const struct hdi_flow *flow = w->emit->flow;
    LLVMValueRef slot = LLVMGetOperand(load, 0);

    for (LLVMUseRef u = LLVMGetFirstUse(slot); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef store = LLVMGetUser(u);
        if (!LLVMIsAStoreInst(store) || LLVMGetOperand(store, 1) != slot)
            continue;
        LLVMValueRef sum = hdi_origin(flow, LLVMGetOperand(store, 0));
        if (!LLVMIsAInstruction(sum) ||
            LLVMGetInstructionOpcode(sum) != LLVMAdd)
            continue;
        LLVMValueRef before = hdi_origin(flow, LLVMGetOperand(sum, 0));
        LLVMValueRef one = LLVMGetOperand(sum, 1);
        if (LLVMIsALoadInst(before) && LLVMGetOperand(before, 0) == slot &&
            LLVMIsAConstantInt(one) && LLVMConstIntGetSExtValue(one) == 1)
            return true;
    }
    return false;
}

// Does such a number stand in the sum, as it is?
static bool has_counter(const struct hdi_wide *w, LLVMValueRef value,
                        unsigned depth)
{
    value = hdi_origin(w->emit->flow, value);
    if (!LLVMIsAInstruction(value) || depth == MAX_DEPTH)
        return false;
    switch (LLVMGetInstructionOpcode(value)) {
    case LLVMLoad:
        return hdi_slot_of(w->emit->flow, value) != SIZE_MAX &&
               is_counter(w, value);
    case LLVMSExt:
    case LLVMZExt:
    case LLVMTrunc:
        return has_counter(w, LLVMGetOperand(value, 0), depth + 1);
    case LLVMAdd:
    case LLVMOr:
        return has_counter(w, LLVMGetOperand(value, 0), depth + 1) ||
               has_counter(w, LLVMGetOperand(value, 1), depth + 1);
    default:
        return false;
    }
}

// Does the address go on by an element of that size with each turn?
static bool is_walk(const struct hdi_wide *w, LLVMValueRef pointer,
                    uint64_t size)
{
    const struct hdi_flow *flow = w->emit->flow;

    for (pointer = hdi_origin(flow, pointer);
         LLVMIsAGetElementPtrInst(pointer) && LLVMGetNumOperands(pointer) == 2;
         pointer = hdi_origin(flow, LLVMGetOperand(pointer, 0)))
        if (LLVMABISizeOfType(flow->llvm->layout,
                              LLVMGetGEPSourceElementType(pointer)) == size &&
            has_counter(w, LLVMGetOperand(pointer, 1), 0))
            return true;
    return false;
}

// Does it store where ids and arguments alone say, lane behind lane?
static bool has_place(const struct hdi_wide *w, LLVMValueRef x)
{
    if (!LLVMIsAStoreInst(x) || !hdi_is_plain_access(x))
        return false;
    LLVMValueRef pointer = LLVMGetOperand(x, 1);
    int64_t step = hdi_linear_step(w->linear, pointer).by;
    return step != HDI_STEP_VARIES && step >= 0 &&
           hdi_emit_is_remakable(w->emit->flow, pointer);
}

static bool changes_memory(const struct hdi_wide *w, size_t block,
                           struct places *places)
{
    const struct hdi_flow *flow = w->emit->flow;

    for (LLVMValueRef x = LLVMGetFirstInstruction(flow->blocks[block].block); x;
         x = LLVMGetNextInstruction(x)) {
        if (hdi_slot_of(flow, x) != SIZE_MAX)
            continue;
        if (places->count < MAX_PLACES && has_place(w, x))
            places->stores[places->count++] = x;
        else if (hdi_has_effects(flow, x) || LLVMIsAFenceInst(x) ||
                 (LLVMIsALoadInst(x) && !hdi_is_plain_access(x)))
            return true;
    }
    return false;
}

// Is it in a loop, and does the outermost one leave memory as it is, but for
// some places?
static bool is_in_calm_loop(const struct hdi_wide *w, struct places *places)
{
    const struct hdi_block_order *order = w->linear->order;
    size_t head = 0;

    places->count = 0;
    while (head <= w->at && !hdi_order_in_loop(order, head, w->at))
        head++;
    if (head > w->at)
        return false;
    for (size_t at = head; at < order->loop_end[head]; at++)
        if (w->emit->flow->blocks[order->blocks[at]].cut ||
            changes_memory(w, order->blocks[at], places))
            return false;
    return true;
}

// [cycles], of as many turns as there are lanes: each row is loaded, all are
// shuffled, stored, looked at and loaded again.
static unsigned cost(const struct hdi_wide *w)
{
    unsigned shuffles = 0;

    for (unsigned n = w->lanes; n > 1; n /= 2)
        shuffles++;
    return w->lanes * (shuffles + w->emit->llvm->target.look + 3);
}

bool hdi_window_pays(const struct hdi_wide *w, LLVMValueRef load, uint64_t size)
{
    const struct hdi_llvm *llvm = w->emit->llvm;
    LLVMValueRef pointer = LLVMGetOperand(load, 0);
    struct places places;

    return hdi_rule_is_on(llvm, HDI_RULE_WINDOW) && w->certain &&
           w->chunk_begin && !w->emit->screening && w->lanes > 1 &&
           w->lanes <= MAX_LANES && LLVMGetAlignment(load) >= size &&
           hdi_linear_varies(w->linear, pointer) &&
           cost(w) < w->lanes * llvm->target.gather &&
           is_walk(w, pointer, size) && is_in_calm_loop(w, &places);
}

// Reading ---------------------------------------------------------------------

//     memory   turn 0: element 0 of every lane | turn 1: element 1 ... | ...
//
// `numbers` and `first` say for which addresses it was filled; 0, at none.
struct window {
    uint64_t bytes;       // of one lane's elements
    LLVMTypeRef vector;   // elements of all lanes
    LLVMValueRef memory;  // alloca: a vector for each turn
    LLVMValueRef numbers; // alloca: the addresses of the first ones
    LLVMValueRef first;   // alloca: lane 0's
};

static LLVMValueRef number(const struct hdi_wide *w, uint64_t value)
{
    return LLVMConstInt(w->emit->i64, value, false);
}

static struct window make(struct hdi_wide *w, LLVMTypeRef type)
{
    struct hdi_emit *e = w->emit;
    struct window window = {.vector = hdi_wide_type(w, type)};
    LLVMTypeRef numbers = hdi_wide_type(w, e->i64);
    LLVMBasicBlockRef here = LLVMGetInsertBlock(e->builder);

    window.bytes = w->lanes * LLVMABISizeOfType(e->llvm->layout, type);
    window.memory = hdi_emit_alloca(e, LLVMArrayType2(window.vector, w->lanes));
    window.numbers = hdi_emit_alloca(e, numbers);
    window.first = hdi_emit_alloca(e, e->i64);
    // No element has address 0.
    LLVMPositionBuilderBefore(e->builder, w->chunk_begin);
    LLVMBuildStore(e->builder, LLVMConstNull(numbers), window.numbers);
    LLVMBuildStore(e->builder, LLVMConstNull(e->i64), window.first);
    hdi_build_at_end(e->builder, here);
    return window;
}

static LLVMValueRef all_of(struct hdi_wide *w, LLVMValueRef condition)
{
    LLVMValueRef bits = hdi_wide_bits(w, condition);
    return LLVMBuildICmp(w->emit->builder, LLVMIntEQ, bits,
                         LLVMConstAllOnes(LLVMTypeOf(bits)), "");
}

// Whether the window has the elements at `numbers`, `apart` bytes into it.
// `apart` below 0 is a large number without a sign, so one comparison does.
static LLVMValueRef has(struct hdi_wide *w, const struct window *window,
                        LLVMValueRef numbers, LLVMValueRef first,
                        LLVMValueRef *apart)
{
    LLVMBuilderRef b = w->emit->builder;
    LLVMValueRef kept =
        LLVMBuildLoad2(b, LLVMTypeOf(numbers), window->numbers, "");

    *apart = LLVMBuildSub(
        b, first, LLVMBuildLoad2(b, w->emit->i64, window->first, ""), "");
    LLVMValueRef same =
        LLVMBuildICmp(b, LLVMIntEQ, numbers,
                      LLVMBuildAdd(b, kept, hdi_wide_splat(w, *apart), ""), "");
    LLVMValueRef inside =
        LLVMBuildICmp(b, LLVMIntULT, *apart, number(w, window->bytes), "");
    return LLVMBuildAnd(b, inside, all_of(w, same), "");
}

// Whether no lane's elements reach into the next page.
static LLVMValueRef fits(struct hdi_wide *w, const struct window *window,
                         LLVMValueRef numbers)
{
    LLVMBuilderRef b = w->emit->builder;
    LLVMValueRef in_page = LLVMBuildAnd(
        b, numbers, hdi_wide_splat(w, number(w, LEAST_PAGE - 1)), "");
    LLVMValueRef last =
        hdi_wide_splat(w, number(w, LEAST_PAGE - window->bytes));
    return all_of(w, LLVMBuildICmp(b, LLVMIntULE, in_page, last, ""));
}

// Whether no lane's elements are where the loop stores, for any lane.
static LLVMValueRef is_calm(struct hdi_wide *w, const struct window *window,
                            LLVMValueRef numbers)
{
    struct hdi_emit *e = w->emit;
    LLVMBuilderRef b = e->builder;
    LLVMValueRef calm = LLVMConstInt(e->i1, true, false);
    struct places places;

    is_in_calm_loop(w, &places);
    for (unsigned i = 0; i < places.count; i++) {
        LLVMValueRef pointer = LLVMGetOperand(places.stores[i], 1);
        int64_t step = hdi_linear_step(w->linear, pointer).by;
        uint64_t bytes = (uint64_t)step * (w->lanes - 1) +
                         LLVMABISizeOfType(e->llvm->layout,
                                           hdi_access_type(places.stores[i]));
        LLVMValueRef first = LLVMBuildPtrToInt(
            b, LLVMBuildFreeze(b, hdi_emit_remade(e, pointer), ""), e->i64, "");
        LLVMValueRef end = LLVMBuildAdd(b, first, number(w, bytes), "");
        LLVMValueRef behind =
            LLVMBuildICmp(b, LLVMIntUGE, numbers, hdi_wide_splat(w, end), "");
        LLVMValueRef before = LLVMBuildICmp(
            b, LLVMIntULE,
            LLVMBuildAdd(b, numbers,
                         hdi_wide_splat(w, number(w, window->bytes)), ""),
            hdi_wide_splat(w, first), "");
        calm = LLVMBuildAnd(b, calm,
                            all_of(w, LLVMBuildOr(b, behind, before, "")), "");
    }
    return calm;
}

// Rows become columns: in every round vectors half of all apart alternate, lane
// by lane.
static void transpose(struct hdi_wide *w, LLVMValueRef *rows)
{
    LLVMBuilderRef b = w->emit->builder;
    unsigned n = w->lanes;

    for (unsigned round = 1; round < n; round *= 2) {
        LLVMValueRef to[MAX_LANES], from[MAX_LANES];
        for (unsigned i = 0; i < n; i++) {
            for (unsigned k = 0; k < n; k++)
                from[k] = LLVMConstInt(
                    w->emit->i32, i % 2 * (n / 2) + k / 2 + k % 2 * n, false);
            to[i] = LLVMBuildShuffleVector(b, rows[i / 2], rows[i / 2 + n / 2],
                                           LLVMConstVector(from, n), "");
        }
        for (unsigned i = 0; i < n; i++)
            rows[i] = to[i];
    }
}

static void fill(struct hdi_wide *w, const struct window *window,
                 LLVMValueRef load, LLVMValueRef pointers, LLVMValueRef numbers,
                 LLVMValueRef first)
{
    LLVMBuilderRef b = w->emit->builder;
    LLVMValueRef rows[MAX_LANES];

    for (unsigned i = 0; i < w->lanes; i++) {
        LLVMValueRef lane = LLVMConstInt(w->emit->i32, i, false);
        rows[i] =
            LLVMBuildLoad2(b, window->vector,
                           LLVMBuildExtractElement(b, pointers, lane, ""), "");
        LLVMSetAlignment(rows[i], LLVMGetAlignment(load));
    }
    transpose(w, rows);
    for (unsigned i = 0; i < w->lanes; i++) {
        LLVMValueRef at = number(w, i);
        LLVMBuildStore(
            b, rows[i],
            LLVMBuildGEP2(b, window->vector, window->memory, &at, 1, ""));
    }
    LLVMBuildStore(b, numbers, window->numbers);
    LLVMBuildStore(b, first, window->first);
}

// The vector `apart` bytes into each row: as many vectors on as elements.
static LLVMValueRef take(struct hdi_wide *w, const struct window *window,
                         LLVMValueRef apart)
{
    LLVMBuilderRef b = w->emit->builder;
    LLVMValueRef at = LLVMBuildMul(b, apart, number(w, w->lanes), "");
    return LLVMBuildLoad2(
        b, window->vector,
        LLVMBuildGEP2(b, w->emit->i8, window->memory, &at, 1, ""), "");
}

//     found? -- yes ----------------------> hit: take a vector ---> join
//            \- no -> fits? - yes -> fill --^                        ^
//                           \- no -> far: gather -------------------'
LLVMValueRef hdi_window_read(struct hdi_wide *w, LLVMValueRef load,
                             LLVMTypeRef type)
{
    struct hdi_emit *e = w->emit;
    LLVMBuilderRef b = e->builder;
    struct window window = make(w, type);
    LLVMBasicBlockRef miss = hdi_emit_block(e, "miss"),
                      filling = hdi_emit_block(e, "fill"),
                      hit = hdi_emit_block(e, "hit"),
                      far = hdi_emit_block(e, "far"),
                      join = hdi_emit_block(e, "join");

    hdi_note(e->llvm, load, "rows of several lanes are transposed in blocks");
    LLVMValueRef pointers =
        LLVMBuildFreeze(b, hdi_wide_value(w, LLVMGetOperand(load, 0)), "");
    LLVMValueRef numbers =
        LLVMBuildPtrToInt(b, pointers, hdi_wide_type(w, e->i64), "");
    LLVMValueRef first =
        LLVMBuildExtractElement(b, numbers, LLVMConstInt(e->i32, 0, false), "");
    LLVMValueRef apart[2] = {NULL, number(w, 0)}, values[2];
    LLVMBasicBlockRef from[2] = {LLVMGetInsertBlock(b), filling};
    LLVMValueRef found = has(w, &window, numbers, first, &apart[0]);
    LLVMBuildCondBr(b, found, hit, miss);
    hdi_build_at_end(b, miss);
    LLVMValueRef fit = LLVMBuildAnd(b, fits(w, &window, numbers),
                                    is_calm(w, &window, numbers), "");
    LLVMBuildCondBr(b, fit, filling, far);

    hdi_access_begin_way(w, filling, load);
    fill(w, &window, load, pointers, numbers, first);
    LLVMBuildBr(b, hit);
    hdi_access_begin_way(w, hit, load);
    LLVMValueRef at = LLVMBuildPhi(b, e->i64, "");
    LLVMAddIncoming(at, apart, from, 2);
    values[0] = take(w, &window, at);
    LLVMBuildBr(b, join);

    hdi_access_begin_way(w, far, load);
    values[1] = hdi_access_gather(w, type, pointers, LLVMGetAlignment(load));
    LLVMBuildBr(b, join);
    hdi_build_at_end(b, join);
    LLVMValueRef result = LLVMBuildPhi(b, window.vector, "");
    LLVMAddIncoming(result, values, (LLVMBasicBlockRef[]){hit, far}, 2);
    return result;
}
