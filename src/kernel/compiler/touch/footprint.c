// One access per load, store and call, in the order of the blocks; one scope
// per block that has any; conditions lie one scope after the other.
//
//     access --> scope --> conditions --> nodes
//        \________ at ______________________^
//
// Invariant: conditions may be left out, which makes the footprint larger;
// `exact` of the scope is false then. None may be there that does not hold.
#include "kernel/compiler/touch/footprint.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/compiler/touch/nodes.h"
#include "kernel/compiler/touch/work.h"
#include "kernel/image.h"

enum {
    // More of them are taken for several roots: the access is lost then.
    MAX_ROOTS = 64 // pointers that are looked through for one
};

// Roots -----------------------------------------------------------------------

// `seen` keeps phi nodes of loops from being followed for ever.
struct roots {
    LLVMValueRef seen[MAX_ROOTS];
    unsigned count;
    LLVMValueRef root; // the only one so far
    bool several;
};

// Null and undefined pointers are no roots: an access there is an error of the
// program, and promises nothing.
static void find_roots(struct roots *r, LLVMValueRef pointer)
{
    while (LLVMIsAGetElementPtrInst(pointer) || LLVMIsABitCastInst(pointer) ||
           LLVMIsAAddrSpaceCastInst(pointer) || LLVMIsAFreezeInst(pointer) ||
           (LLVMIsAConstantExpr(pointer) && LLVMGetNumOperands(pointer) > 0))
        pointer = LLVMGetOperand(pointer, 0);
    for (unsigned i = 0; i < r->count; i++)
        if (r->seen[i] == pointer)
            return;
    if (r->count == MAX_ROOTS) {
        r->several = true;
        return;
    }
    r->seen[r->count++] = pointer;
    if (LLVMIsAPHINode(pointer)) {
        for (unsigned i = 0; i < LLVMCountIncoming(pointer); i++)
            find_roots(r, LLVMGetIncomingValue(pointer, i));
    } else if (LLVMIsASelectInst(pointer)) {
        find_roots(r, LLVMGetOperand(pointer, 1));
        find_roots(r, LLVMGetOperand(pointer, 2));
    } else if (!LLVMIsNull(pointer) && !LLVMIsUndef(pointer)) {
        r->several |= r->root && r->root != pointer;
        r->root = pointer;
    }
}

// Conditions ------------------------------------------------------------------

static void add_condition(struct hdi_nodes *f,
                          struct hdi_footprint_condition condition)
{
    struct hdi_footprint *p = f->found;
    void *more = hdi_nodes_room(f, p->conditions, p->condition_count,
                                HDI_FOOTPRINT_TABLE, &f->condition_room,
                                sizeof(condition));
    if (!more)
        return;
    p->conditions = more;
    p->conditions[p->condition_count++] = condition;
}

// A comparison that has come out as `wanted`. False: it cannot be said.
// Relations are few, so each predicate becomes one of them with its operands in
// place or swapped; what did not hold becomes the opposite of it.
//
//     a > b   holds: b < a     does not: a <= b
static bool compare(struct hdi_nodes *f, LLVMValueRef icmp, bool wanted,
                    uint32_t loop, bool again)
{
    // The relation, and whether its operands change places.
    static const struct {
        LLVMIntPredicate predicate;
        enum hdi_footprint_relation is, is_not;
        bool swapped, not_swapped;
    } all[] = {{LLVMIntEQ, HDI_FOOTPRINT_EQ, HDI_FOOTPRINT_NE, false, false},
               {LLVMIntNE, HDI_FOOTPRINT_NE, HDI_FOOTPRINT_EQ, false, false},
               {LLVMIntSLT, HDI_FOOTPRINT_SLT, HDI_FOOTPRINT_SLE, false, true},
               {LLVMIntSLE, HDI_FOOTPRINT_SLE, HDI_FOOTPRINT_SLT, false, true},
               {LLVMIntSGT, HDI_FOOTPRINT_SLT, HDI_FOOTPRINT_SLE, true, false},
               {LLVMIntSGE, HDI_FOOTPRINT_SLE, HDI_FOOTPRINT_SLT, true, false},
               {LLVMIntULT, HDI_FOOTPRINT_ULT, HDI_FOOTPRINT_ULE, false, true},
               {LLVMIntULE, HDI_FOOTPRINT_ULE, HDI_FOOTPRINT_ULT, false, true},
               {LLVMIntUGT, HDI_FOOTPRINT_ULT, HDI_FOOTPRINT_ULE, true, false},
               {LLVMIntUGE, HDI_FOOTPRINT_ULE, HDI_FOOTPRINT_ULT, true, false}};
    LLVMValueRef left = LLVMGetOperand(icmp, 0);

    if (LLVMGetTypeKind(LLVMTypeOf(left)) != LLVMIntegerTypeKind ||
        hdi_nodes_bits(left) == 0)
        return false;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (all[i].predicate != LLVMGetICmpPredicate(icmp))
            continue;
        uint32_t a = hdi_nodes_build(f, left),
                 b = hdi_nodes_build(f, LLVMGetOperand(icmp, 1));
        bool swap = wanted ? all[i].swapped : all[i].not_swapped;
        add_condition(f, (struct hdi_footprint_condition){
                             .relation = wanted ? all[i].is : all[i].is_not,
                             .a = swap ? b : a,
                             .b = swap ? a : b,
                             .loop = loop,
                             .again = again});
        return true;
    }
    return false;
}

// False: some of it cannot be said.
// Parts of a conjunction that can be said are, even where others cannot: both
// are asked in any case. A disjunction that holds says nothing about its parts,
// so only a negated one is looked into.
static bool state(struct hdi_nodes *f, LLVMValueRef condition, bool wanted,
                  uint32_t loop, bool again, unsigned depth)
{
    if (depth == 0 || !LLVMIsAInstruction(condition))
        return false;
    if (LLVMIsAICmpInst(condition))
        return compare(f, condition, wanted, loop, again);
    if (LLVMIsAFreezeInst(condition))
        return state(f, LLVMGetOperand(condition, 0), wanted, loop, again,
                     depth - 1);
    LLVMValueRef left = LLVMGetOperand(condition, 0), right = NULL;
    if (LLVMIsASelectInst(condition)) {
        // a && b: a ? b : false; a || b: a ? true : b
        LLVMValueRef other = LLVMGetOperand(condition, wanted ? 2 : 1);
        if (LLVMIsAConstantInt(other) &&
            LLVMConstIntGetZExtValue(other) == !wanted)
            right = LLVMGetOperand(condition, wanted ? 1 : 2);
    } else if (LLVMIsABinaryOperator(condition)) {
        LLVMOpcode code = LLVMGetInstructionOpcode(condition);
        LLVMValueRef other = LLVMGetOperand(condition, 1);
        if (code == LLVMXor && LLVMIsAConstantInt(other))
            return state(f, left,
                         wanted != (LLVMConstIntGetZExtValue(other) != 0), loop,
                         again, depth - 1);
        if (code == (wanted ? LLVMAnd : LLVMOr))
            right = other;
    }
    if (!right)
        return false;
    bool both = state(f, left, wanted, loop, again, depth - 1);
    return state(f, right, wanted, loop, again, depth - 1) && both;
}

static bool dominates(const struct hdi_nodes *f, size_t a, size_t b)
{
    return hdi_bit(hdi_dominators_of(&f->nest.dominators, b), a);
}

// Dominance with all edges turned round: every way from `b` to an end of the
// kernel comes by `a`.
static bool comes_after(const struct hdi_nodes *f, size_t a, size_t b)
{
    return hdi_bit(hdi_dominators_of(&f->after, b), a);
}

// Does each turn of the loop at hand that another follows come to the block?
static bool holds_in_all_turns(const struct hdi_nodes *f, size_t head,
                               size_t block)
{
    const struct hdi_block *h = &f->flow.blocks[head];

    for (unsigned p = 0; p < h->predecessor_count; p++)
        if (hdi_nest_has(&f->nest, h->predecessors[p]) &&
            !dominates(f, block, h->predecessors[p]))
            return false;
    return true;
}

// The inmost loop around both, if it is left where `from` goes another way than
// to `to`, and each turn comes there.
// Then the condition has held in all turns before as well as in this one, which
// bounds how many turns there were.
static uint32_t loop_of_condition(struct hdi_nodes *f, size_t from, size_t to)
{
    const struct hdi_block *block = &f->flow.blocks[from];
    size_t head = f->nest.inmost[from];

    if (!hdi_nest_take(&f->nest, head) || !hdi_nest_has(&f->nest, from) ||
        !hdi_nest_has(&f->nest, to))
        return HDI_FOOTPRINT_NO_LOOP;
    for (unsigned s = 0; s < block->successor_count; s++)
        if (block->successors[s] != to &&
            hdi_nest_has(&f->nest, block->successors[s]))
            return HDI_FOOTPRINT_NO_LOOP;
    return holds_in_all_turns(f, head, from)
               ? hdi_nodes_loop(f, f->flow.blocks[head].block)
               : HDI_FOOTPRINT_NO_LOOP;
}

// The number that a switch asks for is that of its only case that leads to
// `to`, or, where none does, none of its cases. False: it cannot be said.
static bool state_case(struct hdi_nodes *f, LLVMValueRef end,
                       LLVMBasicBlockRef to, uint32_t loop, bool again)
{
    LLVMValueRef number = LLVMGetOperand(end, 0);
    bool otherwise = LLVMGetSwitchDefaultDest(end) == to;
    unsigned cases = LLVMGetNumSuccessors(end) - 1, leading = 0;

    // Successors are the default and then the cases; each case is two operands,
    // behind the number and the default.
    for (unsigned i = 1; i <= cases; i++)
        leading += LLVMGetSuccessor(end, i) == to;
    if (leading + otherwise != 1 || hdi_nodes_bits(number) == 0)
        return false;
    uint32_t a = hdi_nodes_build(f, number);
    for (unsigned i = 1; i <= cases; i++)
        if (otherwise || LLVMGetSuccessor(end, i) == to)
            add_condition(
                f,
                (struct hdi_footprint_condition){
                    .relation = otherwise ? HDI_FOOTPRINT_NE : HDI_FOOTPRINT_EQ,
                    .a = a,
                    .b = hdi_nodes_build(f, LLVMGetOperand(end, 2 * i)),
                    .loop = loop,
                    .again = again});
    return true;
}

// What holds where `from` has gone to `to`. False: not all can be said.
static bool state_edge(struct hdi_nodes *f, size_t from, size_t to,
                       uint32_t loop, bool again)
{
    LLVMValueRef end = LLVMGetBasicBlockTerminator(f->flow.blocks[from].block);

    if (LLVMIsASwitchInst(end))
        return state_case(f, end, f->flow.blocks[to].block, loop, again);
    if (!LLVMIsABranchInst(end) || !LLVMIsConditional(end) ||
        LLVMGetSuccessor(end, 0) == LLVMGetSuccessor(end, 1))
        return false;
    bool wanted = LLVMGetSuccessor(end, 0) == f->flow.blocks[to].block;
    return state(f, LLVMGetCondition(end), wanted, loop, again,
                 HDI_NODES_PARTS);
}

bool hdi_footprint_look_at_loop(const struct hdi_nodes *f, size_t head,
                                size_t *latch, bool *one_exit)
{
    size_t latches = 0, exits = 0;

    for (size_t b = 0; b < f->flow.block_count; b++) {
        const struct hdi_block *from = &f->flow.blocks[b];
        bool leaves = false;
        if (!hdi_nest_has(&f->nest, b))
            continue;
        for (unsigned s = 0; s < from->successor_count; s++) {
            leaves |= !hdi_nest_has(&f->nest, from->successors[s]);
            if (from->successors[s] == head) {
                latches++;
                *latch = b;
            }
        }
        exits += leaves;
    }
    *one_exit = exits == 1;
    return latches == 1;
}

// Of the loops around a block: when they go round again. False: not all can be
// said.
// What decides whether the loop goes round again held in all turns but the
// latest, hence `again`: it is about the values of then.
static bool state_loops(struct hdi_nodes *f, size_t block)
{
    bool exact = true;

    for (size_t head = 0; head < f->flow.block_count; head++) {
        size_t latch;
        bool one_exit;
        if (!hdi_nest_take(&f->nest, head) || !hdi_nest_has(&f->nest, block))
            continue;
        bool one_latch = hdi_footprint_look_at_loop(f, head, &latch, &one_exit);
        exact &= one_exit && one_latch;
        if (!one_latch || f->flow.blocks[latch].successor_count != 2)
            continue;
        uint32_t number = hdi_nodes_loop(f, f->flow.blocks[head].block);
        exact &= state_edge(f, latch, head, number, true);
    }
    return exact;
}

// The last block on all ways to another: of those, the one with the most of
// them itself.
// For each that dominates the block all blocks are looked at: of long kernels
// this is what footprints cost.
static size_t last_before(const struct hdi_nodes *f, size_t block)
{
    for (size_t d = 0; d < f->flow.block_count; d++) {
        bool last = d != block && dominates(f, d, block);
        for (size_t e = 0; last && e < f->flow.block_count; e++)
            last = e == block || !dominates(f, e, block) || dominates(f, e, d);
        if (last)
            return d;
    }
    return SIZE_MAX;
}

// What holds on all ways to a block. False: not all can be said.
// A block that dominates this one and is not on every way from the block before
// it was chosen by a branch there: that branch went to it. Where several edges
// lead to it, the branch says nothing.
static bool state_ways(struct hdi_nodes *f, size_t block)
{
    bool exact = true;

    for (size_t b = 0; b < f->flow.block_count; b++) {
        const struct hdi_block *to = &f->flow.blocks[b];
        size_t before =
            b == 0 || !dominates(f, b, block) ? SIZE_MAX : last_before(f, b);
        if (before == SIZE_MAX || comes_after(f, b, before))
            continue;
        bool one = to->predecessor_count > 0;
        for (unsigned p = 0; p < to->predecessor_count; p++)
            one &= to->predecessors[p] == before;
        exact &= one && state_edge(f, before, b,
                                   loop_of_condition(f, before, b), false);
    }
    return exact;
}

uint32_t hdi_footprint_scope(struct hdi_nodes *f, size_t block)
{
    struct hdi_footprint *p = f->found;
    if (f->scopes[block] != HDI_NO_NODE)
        return f->scopes[block];
    void *more =
        hdi_nodes_room(f, p->scopes, p->scope_count, HDI_FOOTPRINT_TABLE,
                       &f->scope_room, sizeof(*p->scopes));
    if (!more)
        return 0;
    p->scopes = more;
    uint32_t first = p->condition_count;
    bool exact = state_ways(f, block);
    exact &= state_loops(f, block);
    p->scopes[p->scope_count] =
        (struct hdi_footprint_scope){first, p->condition_count - first, exact};
    f->scopes[block] = p->scope_count;
    return p->scope_count++;
}

// Accesses --------------------------------------------------------------------

static uint32_t arg_of(const struct hdi_nodes *f, LLVMValueRef argument)
{
    uint32_t i = 0;
    while (LLVMGetParam(f->flow.kernel, i) != argument)
        i++;
    return i;
}

static bool is_buffer(LLVMValueRef pointer)
{
    unsigned space = LLVMGetPointerAddressSpace(LLVMTypeOf(pointer));
    return space == HDI_SPACE_GLOBAL || space == HDI_SPACE_CONSTANT;
}

// Add what is done to an argument, at `at` or, HDI_FOOTPRINT_ALL, anywhere.
static void add_to(struct hdi_nodes *f, uint32_t arg, uint32_t scope,
                   uint32_t at, uint64_t size, uint32_t writes)
{
    struct hdi_footprint *p = f->found;
    void *more =
        hdi_nodes_room(f, p->accesses, p->access_count, HDI_FOOTPRINT_TABLE,
                       &f->access_room, sizeof(*p->accesses));
    if (!more)
        return;
    p->accesses = more;
    p->accesses[p->access_count++] = (struct hdi_footprint_access){
        .arg = arg,
        .scope = scope,
        .at = at,
        .size = at == HDI_FOOTPRINT_ALL ? 1 : (uint32_t)size,
        .writes = writes};
}

static void add_at(struct hdi_nodes *f, uint32_t arg, LLVMValueRef x,
                   LLVMValueRef pointer, uint64_t size, uint32_t writes)
{
    uint32_t scope = hdi_footprint_scope(f, hdi_nodes_block(f, x));
    uint32_t at = size == 0 || size > UINT32_MAX ? HDI_FOOTPRINT_ALL
                                                 : hdi_nodes_build(f, pointer);
    add_to(f, arg, scope, at, size, writes);
}

// Memory that is found through an image's description: its texels, or a table
// that nobody writes. False: it is not.
static bool add_texels(struct hdi_nodes *f, LLVMValueRef x, LLVMValueRef root,
                       LLVMValueRef pointer, uint64_t size, uint32_t writes)
{
    uint64_t offset;
    uint32_t arg;

    if (!hdi_nodes_is_field(f, root, &arg, &offset))
        return false;
    if (f->texels && offset == offsetof(struct hdi_image, texels))
        add_at(f, arg, x, pointer, size, writes);
    return true;
}

// `size` 0: not known.
// A root that is neither an argument nor the kernel's own memory, as a pointer
// that was loaded from memory, may point anywhere: `lost`. Descriptions of
// images are read, and no function that is not known gets them.
static void add_access(struct hdi_nodes *f, LLVMValueRef x,
                       LLVMValueRef pointer, uint64_t size, uint32_t writes)
{
    struct roots roots = {.count = 0};
    unsigned space = LLVMGetPointerAddressSpace(LLVMTypeOf(pointer));

    if (space == HDI_SPACE_LOCAL)
        return;
    find_roots(&roots, pointer);
    if (!roots.several && (!roots.root || LLVMIsAAllocaInst(roots.root) ||
                           LLVMIsAGlobalVariable(roots.root)))
        return; // nobody's but the kernel's
    if (!roots.several && add_texels(f, x, roots.root, pointer, size, writes))
        return;
    if (roots.several || !LLVMIsAArgument(roots.root)) {
        f->lost = true;
        return;
    }
    uint32_t arg = arg_of(f, roots.root);
    bool described =
        f->about->args[arg].kind == HD_ARG_IMAGE && size > 0 && writes == 0;
    if (!is_buffer(roots.root) || described)
        return; // local memory, a structure by value, or what an image is
    add_at(f, arg, x, pointer, size, writes);
}

static uint64_t size_of(const struct hdi_nodes *f, LLVMTypeRef type)
{
    return LLVMStoreSizeOfType(f->llvm->layout, type);
}

// Any pointer given to a function that is not known may be read and written
// anywhere in its buffer. Those that touch nothing are named first.
static void look_at_call(struct hdi_nodes *f, LLVMValueRef call)
{
    LLVMValueRef callee = LLVMGetCalledValue(call);
    unsigned id = LLVMIsAFunction(callee) ? LLVMGetIntrinsicID(callee) : 0;
    size_t length;
    const char *name = id ? LLVMIntrinsicGetName(id, &length) : "";
    unsigned count = LLVMGetNumArgOperands(call);

    if (hdi_call_kind(call) != HDI_CALL_OTHER ||
        strncmp(name, "llvm.lifetime.", 14) == 0 ||
        strcmp(name, "llvm.assume") == 0 ||
        strncmp(name, "llvm.dbg.", 9) == 0 ||
        strncmp(name, "llvm.prefetch", 13) == 0)
        return;
    bool moves = strncmp(name, "llvm.memcpy", 11) == 0 ||
                 strncmp(name, "llvm.memmove", 12) == 0;
    if (moves || strncmp(name, "llvm.memset", 11) == 0) {
        LLVMValueRef size = LLVMGetOperand(call, 2);
        uint64_t bytes =
            LLVMIsAConstantInt(size) ? LLVMConstIntGetZExtValue(size) : 0;
        if (LLVMIsAConstantInt(size) && bytes == 0)
            return;
        add_access(f, call, LLVMGetOperand(call, 0), bytes, 1);
        if (moves)
            add_access(f, call, LLVMGetOperand(call, 1), bytes, 0);
        return;
    }
    for (unsigned i = 0; i < count; i++)
        if (LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(call, i))) ==
            LLVMPointerTypeKind)
            add_access(f, call, LLVMGetOperand(call, i), 0, 2);
}

static void look_at(struct hdi_nodes *f, LLVMValueRef x)
{
    if (LLVMIsALoadInst(x))
        add_access(f, x, LLVMGetOperand(x, 0), size_of(f, LLVMTypeOf(x)), 0);
    else if (LLVMIsAStoreInst(x))
        add_access(f, x, LLVMGetOperand(x, 1),
                   size_of(f, LLVMTypeOf(LLVMGetOperand(x, 0))), 1);
    else if (LLVMIsAAtomicRMWInst(x) || LLVMIsAAtomicCmpXchgInst(x))
        add_access(f, x, LLVMGetOperand(x, 0),
                   size_of(f, LLVMTypeOf(LLVMGetOperand(x, 1))), 2);
    else if (LLVMIsACallInst(x))
        look_at_call(f, x);
}

// The whole -------------------------------------------------------------------

// Blocks without a successor get an edge to the outside, from which all begin.
static bool find_after(struct hdi_nodes *f)
{
    const struct hdi_flow *flow = &f->flow;
    size_t most = 0, count = 0;

    for (size_t b = 0; b < flow->block_count; b++)
        most += flow->blocks[b].successor_count + 1;
    struct hdi_flow_edge *edges = calloc(most, sizeof(*edges));
    if (!edges)
        return false;
    for (size_t b = flow->block_count; b-- > 0;) {
        if (flow->blocks[b].successor_count == 0)
            edges[count++] = (struct hdi_flow_edge){HDI_OUTSIDE, b};
        for (unsigned s = 0; s < flow->blocks[b].successor_count; s++)
            edges[count++] =
                (struct hdi_flow_edge){flow->blocks[b].successors[s], b};
    }
    bool ok = hdi_dominators_find(&f->after, flow->block_count, edges, count);
    free(edges);
    return ok;
}

// Of images that are not looked into anything may be touched.
static void add_whole_images(struct hdi_nodes *f)
{
    for (uint32_t i = 0; i < f->about->arg_count; i++)
        if (f->about->args[i].kind == HD_ARG_IMAGE)
            add_to(f, i, hdi_footprint_scope(f, 0), HDI_FOOTPRINT_ALL, 1, 2);
}

static bool find(struct hdi_nodes *f, LLVMValueRef kernel)
{
    if (!hdi_flow_find(f->llvm, kernel, false, &f->flow) ||
        !hdi_nest_find(&f->nest, &f->flow) || !find_after(f))
        return false;
    f->scopes = malloc((f->flow.block_count + 1) * sizeof(*f->scopes));
    if (!f->scopes)
        return false;
    for (size_t b = 0; b < f->flow.block_count; b++)
        f->scopes[b] = HDI_NO_NODE;
    for (size_t b = 0; b < f->flow.block_count; b++)
        for (LLVMValueRef x = LLVMGetFirstInstruction(f->flow.blocks[b].block);
             x && !f->failed && !f->too_much && !f->lost;
             x = LLVMGetNextInstruction(x))
            look_at(f, x);
    if (!f->texels)
        add_whole_images(f);
    if (!f->too_much && !f->lost)
        hdi_work_find(f);
    return !f->failed && !f->nodes.failed && !f->loops.failed;
}

static bool find_anew(struct hdi_nodes *f, LLVMValueRef kernel)
{
    hdi_footprint_clear(f->found);
    bool ok = find(f, kernel);
    hdi_map_clear(&f->nodes);
    hdi_map_clear(&f->loops);
    free(f->scopes);
    hdi_dominators_destroy(&f->after);
    hdi_nest_destroy(&f->nest);
    hdi_flow_destroy(&f->flow);
    return ok;
}

// Too much and lost are no errors: the kernel is compiled, and each launch is
// said to touch all of its buffers. Where texels are too much, buffers may not
// be.
hd_status hdi_footprint_find(const struct hdi_llvm *llvm, LLVMValueRef kernel,
                             struct hdi_build_kernel *about,
                             struct hd_error *error)
{
    struct hdi_footprint *footprint = &about->footprint;
    const struct hdi_nodes begin = {
        .llvm = llvm, .about = about, .found = footprint};
    struct hdi_nodes f = begin;

    f.texels = true;
    bool ok = find_anew(&f, kernel);
    if (ok && f.too_much && !f.lost) {
        f = begin;
        ok = find_anew(&f, kernel);
    }
    if (!ok || f.too_much || f.lost)
        hdi_footprint_clear(footprint);
    else
        footprint->known = HDI_FOOTPRINT_KNOWN;
    return ok ? HD_OK
              : hdi_fail(error, HD_ENOMEM, "%s: no memory to compile",
                         llvm->path);
}
