#include "kernel/compiler/analysis/hazard.h"

#include <stdlib.h>

#include "kernel/compiler/analysis/address.h"
#include "kernel/compiler/analysis/linear.h"
#include "kernel/compiler/ir/note.h"

enum {
    // Pairs are compared, so time grows with the square; longer regions count
    // as having what is looked for. More checks cost more than vectors save.
    MAX_ACCESSES = 1000, // those of longer regions are not compared
    MAX_CHECKS = 256     // that are worth vectors
};

// One load or store of the region that is not of a slot.
struct access {
    LLVMValueRef instruction, pointer;
    LLVMValueRef root; // what the address was computed from
    struct hdi_address address;
    int64_t size; // [bytes]
    bool is_store;
};

// `list` is NULL in the first walk, which only counts.
struct finder {
    const struct hdi_flow *flow;
    struct hdi_block_order order;
    struct hdi_linear linear;
    struct access *list; // in order
    size_t count;
    bool loops; // what stands before may also come after
};

static int64_t size_of(const struct finder *f, LLVMTypeRef type)
{
    return (int64_t)LLVMABISizeOfType(f->flow->llvm->layout, type);
}

static void add_access(struct finder *f, LLVMValueRef x)
{
    bool is_store = LLVMIsAStoreInst(x) != NULL;

    if ((!is_store && !LLVMIsALoadInst(x)) ||
        hdi_slot_of(f->flow, x) != SIZE_MAX)
        return;
    LLVMValueRef pointer = LLVMGetOperand(x, is_store);
    LLVMTypeRef type = LLVMTypeOf(is_store ? LLVMGetOperand(x, 0) : x);
    if (f->count == MAX_ACCESSES)
        hdi_note(f->flow->llvm, x,
                 "work-items keep their order: there are too many accesses to "
                 "compare before here");
    if (f->list)
        f->list[f->count] = (struct access){
            .instruction = x,
            .pointer = pointer,
            .root = hdi_address_root(f->flow, pointer),
            .address = hdi_address_of(f->flow->llvm, f->flow, pointer),
            .size = size_of(f, type),
            .is_store = is_store};
    f->count++;
}

static void walk(struct finder *f)
{
    const struct hdi_flow *flow = f->flow;

    f->count = 0;
    for (size_t at = 0; at < f->order.count; at++) {
        const struct hdi_block *block = &flow->blocks[f->order.blocks[at]];
        f->loops |= f->order.loop_end[at] != 0;
        if (block->cut)
            continue;
        for (LLVMValueRef x = LLVMGetFirstInstruction(block->block); x;
             x = LLVMGetNextInstruction(x))
            add_access(f, x);
    }
}

static bool may_meet(const struct finder *f, const struct access *a,
                     const struct access *b)
{
    const struct hdi_address *p = &a->address, *q = &b->address;

    if (a->root != b->root)
        return hdi_address_roots_meet(a->root, b->root);
    // The index of another turn of a loop is another one.
    return f->loops || !hdi_address_is_beside(p, q) ||
           (p->offset < q->offset + b->size && q->offset < p->offset + a->size);
}

// Those of neighbours are the same or side by side.
static bool is_dense(const struct finder *f, const struct access *a)
{
    int64_t step = hdi_linear_step(&f->linear, a->pointer).by;

    return step == 0 || step == a->size || step == -a->size;
}

// Whether some pair of a store and what comes later may meet; `apart`: and one
// of them is not dense.
// Without loops only what comes behind the store can be carried past it.
static bool some_pair(const struct finder *f, bool apart)
{
    for (size_t s = 0; s < f->count; s++) {
        const struct access *store = &f->list[s];
        if (!store->is_store)
            continue;
        for (size_t x = f->loops ? 0 : s + 1; x < f->count; x++)
            if (x != s && may_meet(f, store, &f->list[x]) &&
                (!apart || !is_dense(f, store) || !is_dense(f, &f->list[x]))) {
                if (apart)
                    hdi_note(f->flow->llvm, store->instruction,
                             "work-items keep their order: one may touch in "
                             "line %u what another one writes here",
                             hdi_source_line(f->list[x].instruction));
                return true;
            }
    }
    return false;
}

// Accesses at fixed distances from each other, which are checked together.
static bool is_same_group(const struct access *a, const struct access *b)
{
    return hdi_address_is_beside(&a->address, &b->address);
}

// Leave one access of each group, a store where there is one.
// In place: groups found so far are at the front of the list.
static void group(struct finder *f)
{
    size_t count = 0;

    for (size_t i = 0; i < f->count; i++) {
        size_t g = 0;
        while (g < count && !is_same_group(&f->list[g], &f->list[i]))
            g++;
        bool is_store = g < count && f->list[g].is_store;
        f->list[g] = f->list[i];
        f->list[g].is_store |= is_store;
        count += g == count;
    }
    f->count = count;
}

// LLVM compares the memory of each pair of groups, before each row and in the
// order of their number squared when it makes the code.
static bool needs_many_checks(struct finder *f)
{
    size_t checks = 0;

    group(f);
    for (size_t i = 0; i < f->count; i++)
        for (size_t k = i + 1; k < f->count; k++)
            checks += (f->list[i].is_store || f->list[k].is_store) &&
                      hdi_address_roots_meet(f->list[i].root, f->list[k].root);
    if (checks > MAX_CHECKS)
        hdi_note(f->flow->llvm, f->list[0].instruction,
                 "serialised: vectors would need %zu checks "
                 "whether memory overlaps",
                 checks);
    return checks > MAX_CHECKS;
}

// In steps from cheap to dear: how many there are, whether any may meet at all,
// and only then what lanes know of addresses.
static bool find(struct finder *f, bool *found, bool *crowded)
{
    walk(f);
    *crowded = *found = f->count > MAX_ACCESSES;
    if (*found || f->count < 2)
        return true;
    f->list = calloc(f->count, sizeof(*f->list));
    if (!f->list)
        return false;
    walk(f);
    if (!some_pair(f, false))
        return true;
    if (!hdi_linear_find(f->flow, &f->order, true, false, false, &f->linear))
        return false;
    *found = some_pair(f, true);
    hdi_linear_destroy(&f->linear);
    *crowded = *found && needs_many_checks(f);
    return true;
}

// A region that has no order (loops with two ways in) is taken to have some.
bool hdi_hazard_find(const struct hdi_region *region, bool *found,
                     bool *crowded)
{
    struct finder f = {.flow = region->flow};
    enum hdi_ordered ordered = hdi_region_order(region, &f.order);

    *found = true;
    *crowded = false;
    if (ordered != HDI_ORDERED)
        return ordered == HDI_ORDER_NONE;
    bool ok = find(&f, found, crowded);
    free(f.list);
    hdi_order_destroy(&f.order);
    return ok;
}
