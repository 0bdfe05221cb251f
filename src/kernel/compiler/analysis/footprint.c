#include "kernel/compiler/analysis/footprint.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/compiler/flow/flow.h"
#include "kernel/compiler/flow/nest.h"

enum {
    MOST_ROOTS = 64,  // pointers that are looked through for one
    MOST_DEPTH = 200, // of one value
    MOST_PARTS = 12   // of a condition or a step, one in the other
};

static const uint32_t none = UINT32_MAX;

struct finder {
    const struct hdi_llvm *llvm;
    struct hdi_flow flow;
    struct hdi_nest nest;
    struct hdi_dominators after; // of the edges turned round
    const struct hdi_build_kernel *about;
    struct hdi_footprint *found;
    struct hdi_map nodes; // value: its node
    struct hdi_map loops; // block that heads a loop: its number
    uint32_t *scopes;     // per block: its scope, or `none`
    size_t node_room, condition_room, scope_room, access_room;
    unsigned depth;
    bool failed;         // out of memory
    bool too_much, lost; // lost: something is touched, who knows where
};

static uint32_t build(struct finder *f, LLVMValueRef value);

// Tables ----------------------------------------------------------------------

// Room for one more element; NULL: no memory, or too many.
static void *room(struct finder *f, void *table, uint32_t count, size_t most,
                  size_t *has, size_t size)
{
    if (count >= most) {
        f->too_much = true;
        return NULL;
    }
    if (count < *has)
        return table;
    size_t wanted = *has ? 2 * *has : 32;
    void *more = realloc(table, wanted * size);
    if (!more)
        f->failed = true;
    else
        *has = wanted;
    return more;
}

static uint32_t add(struct finder *f, struct hdi_footprint_node node)
{
    struct hdi_footprint *p = f->found;
    void *more = room(f, p->nodes, p->node_count, HDI_FOOTPRINT_NODES,
                      &f->node_room, sizeof(node));
    if (!more)
        return 0;
    p->nodes = more;
    p->nodes[p->node_count] = node;
    return p->node_count++;
}

static uint32_t number(struct finder *f, unsigned bits, int64_t value)
{
    return add(f, (struct hdi_footprint_node){.op = HDI_FOOTPRINT_NUMBER,
                                              .bits = bits,
                                              .number = value});
}

static uint32_t two(struct finder *f, enum hdi_footprint_op op, unsigned bits,
                    uint32_t a, uint32_t b)
{
    return add(
        f, (struct hdi_footprint_node){.op = op, .bits = bits, .a = a, .b = b});
}

static uint32_t any(struct finder *f, unsigned bits)
{
    return two(f, HDI_FOOTPRINT_ANY, bits, 0, 0);
}

// Values ----------------------------------------------------------------------

static unsigned bits_of(LLVMValueRef value)
{
    LLVMTypeRef type = LLVMTypeOf(value);

    if (LLVMGetTypeKind(type) == LLVMPointerTypeKind)
        return 64;
    return LLVMGetTypeKind(type) == LLVMIntegerTypeKind &&
                   LLVMGetIntTypeWidth(type) <= 64
               ? LLVMGetIntTypeWidth(type)
               : 0;
}

static uint32_t build_call(struct finder *f, LLVMValueRef call, unsigned bits)
{
    static const uint32_t ops[] = {
        [HDI_CALL_GLOBAL_ID] = HDI_FOOTPRINT_GLOBAL_ID,
        [HDI_CALL_LOCAL_ID] = HDI_FOOTPRINT_LOCAL_ID,
        [HDI_CALL_GROUP_ID] = HDI_FOOTPRINT_GROUP_ID,
        [HDI_CALL_LOCAL_SIZE] = HDI_FOOTPRINT_LOCAL_SIZE,
        [HDI_CALL_ENQUEUED_LOCAL_SIZE] = HDI_FOOTPRINT_ENQUEUED_SIZE,
        [HDI_CALL_GLOBAL_SIZE] = HDI_FOOTPRINT_GLOBAL_SIZE,
        [HDI_CALL_NUM_GROUPS] = HDI_FOOTPRINT_GROUPS,
        [HDI_CALL_GLOBAL_OFFSET] = HDI_FOOTPRINT_OFFSET,
        [HDI_CALL_WORK_DIM] = HDI_FOOTPRINT_DIMS};
    static const struct {
        const char *name;
        enum hdi_footprint_op op;
    } choices[] = {{"llvm.smin", HDI_FOOTPRINT_SMIN},
                   {"llvm.smax", HDI_FOOTPRINT_SMAX},
                   {"llvm.umin", HDI_FOOTPRINT_UMIN},
                   {"llvm.umax", HDI_FOOTPRINT_UMAX}};
    enum hdi_call kind = hdi_call_kind(call);

    if (kind == HDI_CALL_WORK_DIM)
        return two(f, HDI_FOOTPRINT_DIMS, bits, 0, 0);
    if (kind <= HDI_CALL_GLOBAL_OFFSET) {
        LLVMValueRef d = LLVMGetOperand(call, 0);
        if (!LLVMIsAConstantInt(d) || LLVMConstIntGetZExtValue(d) > 2)
            return any(f, bits);
        return two(f, (enum hdi_footprint_op)ops[kind], bits,
                   (uint32_t)LLVMConstIntGetZExtValue(d), 0);
    }
    LLVMValueRef callee = LLVMGetCalledValue(call);
    unsigned id = LLVMIsAFunction(callee) ? LLVMGetIntrinsicID(callee) : 0;
    size_t size;
    const char *name = id ? LLVMIntrinsicGetName(id, &size) : "";
    for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++)
        if (strcmp(name, choices[i].name) == 0) {
            uint32_t a = build(f, LLVMGetOperand(call, 0));
            return two(f, choices[i].op, bits, a,
                       build(f, LLVMGetOperand(call, 1)));
        }
    return any(f, bits);
}

static size_t block_of(const struct finder *f, LLVMValueRef instruction)
{
    return hdi_map_index(&f->flow.block_index,
                         LLVMGetInstructionParent(instruction));
}

// Is it the same in all turns of the loop at hand?
static bool is_invariant(const struct finder *f, LLVMValueRef value,
                         unsigned depth)
{
    if (!LLVMIsAInstruction(value) ||
        !hdi_nest_has(&f->nest, block_of(f, value)))
        return true;
    if (hdi_call_kind(value) <= HDI_CALL_WORK_DIM)
        return LLVMIsAConstantInt(LLVMGetOperand(value, 0)) ||
               hdi_call_kind(value) == HDI_CALL_WORK_DIM;
    if (depth == 0 ||
        (!LLVMIsACastInst(value) && !LLVMIsABinaryOperator(value)))
        return false;
    for (int o = 0; o < LLVMGetNumOperands(value); o++)
        if (!is_invariant(f, LLVMGetOperand(value, (unsigned)o), depth - 1))
            return false;
    return true;
}

static uint32_t number_of_loop(struct finder *f, LLVMBasicBlockRef head)
{
    size_t known = hdi_map_index(&f->loops, head);

    if (known == SIZE_MAX) {
        known = f->found->loops++;
        hdi_map_set_index(&f->loops, head, known);
        f->too_much |= f->found->loops > HDI_FOOTPRINT_LOOPS;
    }
    return (uint32_t)known;
}

// `value << k >> k`, which keeps the low bits: how many; 0: it is no such
// thing.
static unsigned kept_bits(LLVMValueRef shift, LLVMValueRef *value)
{
    LLVMOpcode code = LLVMGetInstructionOpcode(shift);
    LLVMValueRef left = LLVMGetOperand(shift, 0);

    if ((code != LLVMAShr && code != LLVMLShr) || !LLVMIsAInstruction(left) ||
        LLVMGetInstructionOpcode(left) != LLVMShl ||
        LLVMGetOperand(left, 1) != LLVMGetOperand(shift, 1) ||
        !LLVMIsAConstantInt(LLVMGetOperand(left, 1)))
        return 0;
    uint64_t gone = LLVMConstIntGetZExtValue(LLVMGetOperand(left, 1));
    *value = LLVMGetOperand(left, 0);
    return gone < bits_of(shift) ? bits_of(shift) - (unsigned)gone : 0;
}

// An int whose next value is computed in 64 bits. Of the phi then only the low
// bits are those of the int, and nobody asks for others. 0: it is not like
// that.
static unsigned low_bits(LLVMValueRef phi, LLVMValueRef left)
{
    LLVMValueRef of = NULL;
    unsigned bits = LLVMIsAInstruction(left) && LLVMIsABinaryOperator(left)
                        ? kept_bits(left, &of)
                        : 0;

    if (bits == 0 || of != phi)
        return 0;
    for (LLVMUseRef u = LLVMGetFirstUse(phi); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        bool is_low =
            (LLVMIsATruncInst(user) && bits_of(user) <= bits) ||
            (LLVMIsABinaryOperator(user) &&
             LLVMGetInstructionOpcode(user) == LLVMShl &&
             LLVMIsAConstantInt(LLVMGetOperand(user, 1)) &&
             LLVMConstIntGetZExtValue(LLVMGetOperand(user, 1)) + bits >=
                 bits_of(phi));
        if (!is_low)
            return 0;
    }
    return bits;
}

// What grows by the same in each turn, or grows, or shrinks. `next` is what it
// is in the turn after.
static uint32_t build_turn(struct finder *f, LLVMValueRef phi,
                           LLVMValueRef start, LLVMValueRef next, unsigned bits)
{
    bool is_pointer = LLVMGetTypeKind(LLVMTypeOf(phi)) == LLVMPointerTypeKind;

    if (!LLVMIsAInstruction(next) || LLVMGetNumOperands(next) != 2)
        return any(f, bits);
    LLVMOpcode code = LLVMGetInstructionOpcode(next);
    LLVMValueRef left = LLVMGetOperand(next, 0),
                 right = LLVMGetOperand(next, 1);
    if (left != phi && code == LLVMAdd) {
        left = right;
        right = LLVMGetOperand(next, 0);
    }
    unsigned low = left != phi ? low_bits(phi, left) : 0;
    if (left != phi && low == 0 && code == LLVMAdd) {
        LLVMValueRef other = left;
        left = right;
        right = other;
        low = low_bits(phi, left);
    }
    if ((left != phi && low == 0) || !is_invariant(f, right, MOST_PARTS))
        return any(f, bits);
    bits = low ? low : bits;
    if (code == LLVMAdd || code == LLVMSub ||
        (is_pointer && code == LLVMGetElementPtr)) {
        uint32_t loop = number_of_loop(f, LLVMGetInstructionParent(phi));
        uint32_t begin = build(f, start), step = build(f, right);
        if (is_pointer) {
            LLVMTypeRef type = LLVMGetGEPSourceElementType(next);
            unsigned width = bits_of(right);
            if (width < 64)
                step =
                    add(f, (struct hdi_footprint_node){.op = HDI_FOOTPRINT_SEXT,
                                                       .bits = 64,
                                                       .a = step,
                                                       .number = width});
            step =
                two(f, HDI_FOOTPRINT_MUL, 64, step,
                    number(f, 64,
                           (int64_t)LLVMABISizeOfType(f->llvm->layout, type)));
        }
        if (code == LLVMSub)
            step = two(f, HDI_FOOTPRINT_SUB, bits, number(f, bits, 0), step);
        return add(f, (struct hdi_footprint_node){.op = HDI_FOOTPRINT_TURN,
                                                  .bits = bits,
                                                  .a = begin,
                                                  .b = step,
                                                  .number = loop});
    }
    if (low)
        return any(f, bits_of(phi));
    bool is_positive =
        LLVMIsAConstantInt(right) && LLVMConstIntGetSExtValue(right) > 0;
    if ((code == LLVMShl || code == LLVMMul) && is_positive && LLVMGetNSW(next))
        return two(f, HDI_FOOTPRINT_GROWS, bits, build(f, start), 0);
    if ((code == LLVMLShr || code == LLVMUDiv || code == LLVMSDiv ||
         code == LLVMAShr) &&
        is_positive)
        return two(f, HDI_FOOTPRINT_SHRINKS, bits, build(f, start), 0);
    return any(f, bits);
}

static uint32_t build_phi(struct finder *f, LLVMValueRef phi, unsigned bits)
{
    unsigned count = LLVMCountIncoming(phi);
    size_t block = block_of(f, phi);

    if (hdi_nest_take(&f->nest, block)) {
        LLVMValueRef start = NULL, next = NULL;
        for (unsigned i = 0; i < count; i++) {
            size_t from = hdi_map_index(&f->flow.block_index,
                                        LLVMGetIncomingBlock(phi, i));
            LLVMValueRef value = LLVMGetIncomingValue(phi, i);
            LLVMValueRef *which = hdi_nest_has(&f->nest, from) ? &next : &start;
            if (*which && *which != value)
                return any(f, bits);
            *which = value;
        }
        return start && next ? build_turn(f, phi, start, next, bits)
                             : any(f, bits);
    }
    // One that is met again on the way is anything.
    hdi_map_set_index(&f->nodes, phi, any(f, bits));
    uint32_t all = none;
    for (unsigned i = 0; i < count; i++) {
        uint32_t one = build(f, LLVMGetIncomingValue(phi, i));
        all = all == none ? one : two(f, HDI_FOOTPRINT_EITHER, bits, all, one);
    }
    return all == none ? any(f, bits) : all;
}

// Bytes from what the first operand points to.
static uint32_t build_gep(struct finder *f, LLVMValueRef gep)
{
    LLVMTypeRef type = LLVMGetGEPSourceElementType(gep);
    uint32_t sum = build(f, LLVMGetOperand(gep, 0));

    if (LLVMGetTypeKind(LLVMTypeOf(gep)) != LLVMPointerTypeKind)
        return any(f, 64);
    for (unsigned i = 1; i < (unsigned)LLVMGetNumOperands(gep); i++) {
        LLVMValueRef index = LLVMGetOperand(gep, i);
        uint64_t size;
        if (i > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind) {
            unsigned field = (unsigned)LLVMConstIntGetZExtValue(index);
            size = LLVMOffsetOfElement(f->llvm->layout, type, field);
            type = LLVMStructGetTypeAtIndex(type, field);
            sum = two(f, HDI_FOOTPRINT_ADD, 64, sum,
                      number(f, 64, (int64_t)size));
            continue;
        }
        if (i > 1)
            type = LLVMGetElementType(type);
        size = LLVMABISizeOfType(f->llvm->layout, type);
        unsigned width = bits_of(index);
        if (width == 0 || width > 64)
            return any(f, 64);
        uint32_t at = build(f, index);
        if (width < 64)
            at = add(f, (struct hdi_footprint_node){.op = HDI_FOOTPRINT_SEXT,
                                                    .bits = 64,
                                                    .a = at,
                                                    .number = width});
        at = two(f, HDI_FOOTPRINT_MUL, 64, at, number(f, 64, (int64_t)size));
        sum = two(f, HDI_FOOTPRINT_ADD, 64, sum, at);
    }
    return sum;
}

static uint32_t build_binary(struct finder *f, LLVMValueRef x, unsigned bits)
{
    static const struct {
        LLVMOpcode code;
        enum hdi_footprint_op op;
    } ops[] = {{LLVMAdd, HDI_FOOTPRINT_ADD},   {LLVMSub, HDI_FOOTPRINT_SUB},
               {LLVMMul, HDI_FOOTPRINT_MUL},   {LLVMShl, HDI_FOOTPRINT_SHL},
               {LLVMLShr, HDI_FOOTPRINT_LSHR}, {LLVMAShr, HDI_FOOTPRINT_ASHR},
               {LLVMUDiv, HDI_FOOTPRINT_UDIV}, {LLVMSDiv, HDI_FOOTPRINT_SDIV},
               {LLVMURem, HDI_FOOTPRINT_UREM}, {LLVMSRem, HDI_FOOTPRINT_SREM},
               {LLVMAnd, HDI_FOOTPRINT_AND},   {LLVMOr, HDI_FOOTPRINT_OR},
               {LLVMXor, HDI_FOOTPRINT_XOR}};
    LLVMOpcode code = LLVMGetInstructionOpcode(x);
    LLVMValueRef of;
    unsigned low = kept_bits(x, &of);

    if (low > 0)
        return add(f, (struct hdi_footprint_node){
                          .op = code == LLVMAShr ? HDI_FOOTPRINT_SEXT
                                                 : HDI_FOOTPRINT_ZEXT,
                          .bits = bits,
                          .a = build(f, of),
                          .number = low});
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
        if (ops[i].code != code)
            continue;
        enum hdi_footprint_op op = ops[i].op;
        if (code == LLVMOr && LLVMGetIsDisjoint(x))
            op = HDI_FOOTPRINT_ADD;
        uint32_t a = build(f, LLVMGetOperand(x, 0));
        return two(f, op, bits, a, build(f, LLVMGetOperand(x, 1)));
    }
    return any(f, bits);
}

static uint32_t build_new(struct finder *f, LLVMValueRef value, unsigned bits)
{
    if (LLVMIsAConstantInt(value))
        return number(f, bits, LLVMConstIntGetSExtValue(value));
    if (LLVMIsAArgument(value)) {
        if (LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMPointerTypeKind)
            return number(f, 64, 0); // bytes from there
        uint32_t i = 0;
        while (LLVMGetParam(f->flow.kernel, i) != value)
            i++;
        return two(f, HDI_FOOTPRINT_ARG, bits, i, 0);
    }
    if (LLVMIsAPHINode(value))
        return build_phi(f, value, bits);
    if (LLVMIsAGetElementPtrInst(value))
        return build_gep(f, value);
    if (LLVMIsABitCastInst(value) || LLVMIsAAddrSpaceCastInst(value) ||
        LLVMIsAFreezeInst(value))
        return build(f, LLVMGetOperand(value, 0));
    if (LLVMIsASelectInst(value)) {
        uint32_t a = build(f, LLVMGetOperand(value, 1));
        return two(f, HDI_FOOTPRINT_EITHER, bits, a,
                   build(f, LLVMGetOperand(value, 2)));
    }
    if (LLVMIsACallInst(value))
        return build_call(f, value, bits);
    if (LLVMIsABinaryOperator(value))
        return build_binary(f, value, bits);
    if (LLVMIsASExtInst(value) || LLVMIsAZExtInst(value) ||
        LLVMIsATruncInst(value)) {
        LLVMValueRef from = LLVMGetOperand(value, 0);
        return add(f, (struct hdi_footprint_node){
                          .op = LLVMIsASExtInst(value)   ? HDI_FOOTPRINT_SEXT
                                : LLVMIsAZExtInst(value) ? HDI_FOOTPRINT_ZEXT
                                                         : HDI_FOOTPRINT_TRUNC,
                          .bits = bits,
                          .a = build(f, from),
                          .number = bits_of(from)});
    }
    return any(f, bits);
}

// The node of a number, or of how many bytes a pointer is from its root.
static uint32_t build(struct finder *f, LLVMValueRef value)
{
    size_t known = hdi_map_index(&f->nodes, value);
    unsigned bits = bits_of(value);

    if (known != SIZE_MAX)
        return (uint32_t)known;
    if (f->failed || f->too_much)
        return 0;
    if (f->depth == MOST_DEPTH || bits == 0)
        return any(f, bits ? bits : 64);
    f->depth++;
    uint32_t node = build_new(f, value, bits);
    f->depth--;
    hdi_map_set_index(&f->nodes, value, node);
    return node;
}

// Roots -----------------------------------------------------------------------

struct roots {
    LLVMValueRef seen[MOST_ROOTS];
    unsigned count;
    LLVMValueRef root; // the only one so far
    bool several;
};

static void find_roots(struct roots *r, LLVMValueRef pointer)
{
    while (LLVMIsAGetElementPtrInst(pointer) || LLVMIsABitCastInst(pointer) ||
           LLVMIsAAddrSpaceCastInst(pointer) || LLVMIsAFreezeInst(pointer) ||
           (LLVMIsAConstantExpr(pointer) && LLVMGetNumOperands(pointer) > 0))
        pointer = LLVMGetOperand(pointer, 0);
    for (unsigned i = 0; i < r->count; i++)
        if (r->seen[i] == pointer)
            return;
    if (r->count == MOST_ROOTS) {
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

static void add_condition(struct finder *f,
                          struct hdi_footprint_condition condition)
{
    struct hdi_footprint *p = f->found;
    void *more = room(f, p->conditions, p->condition_count, HDI_FOOTPRINT_TABLE,
                      &f->condition_room, sizeof(condition));
    if (!more)
        return;
    p->conditions = more;
    p->conditions[p->condition_count++] = condition;
}

// A comparison that has come out as `wanted`. False: it cannot be said.
static bool compare(struct finder *f, LLVMValueRef icmp, bool wanted,
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
        bits_of(left) == 0)
        return false;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (all[i].predicate != LLVMGetICmpPredicate(icmp))
            continue;
        uint32_t a = build(f, left), b = build(f, LLVMGetOperand(icmp, 1));
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
static bool state(struct finder *f, LLVMValueRef condition, bool wanted,
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

static bool dominates(const struct finder *f, size_t a, size_t b)
{
    return hdi_bit(hdi_dominators_of(&f->nest.dominators, b), a);
}

static bool comes_after(const struct finder *f, size_t a, size_t b)
{
    return hdi_bit(hdi_dominators_of(&f->after, b), a);
}

// Does each turn of the loop at hand that another follows come to the block?
static bool holds_in_all_turns(const struct finder *f, size_t head,
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
static uint32_t loop_of_condition(struct finder *f, size_t from, size_t to)
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
               ? number_of_loop(f, f->flow.blocks[head].block)
               : HDI_FOOTPRINT_NO_LOOP;
}

// What holds where `from` has gone to `to`. False: not all can be said.
static bool state_edge(struct finder *f, size_t from, size_t to, uint32_t loop,
                       bool again)
{
    LLVMValueRef end = LLVMGetBasicBlockTerminator(f->flow.blocks[from].block);

    if (!LLVMIsABranchInst(end) || !LLVMIsConditional(end) ||
        LLVMGetSuccessor(end, 0) == LLVMGetSuccessor(end, 1))
        return false;
    bool wanted = LLVMGetSuccessor(end, 0) == f->flow.blocks[to].block;
    return state(f, LLVMGetCondition(end), wanted, loop, again, MOST_PARTS);
}

// How the loop at hand goes round: in one place, and it is left in one.
static bool look_at_loop(const struct finder *f, size_t head, size_t *latch,
                         bool *one_exit)
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
static bool state_loops(struct finder *f, size_t block)
{
    bool exact = true;

    for (size_t head = 0; head < f->flow.block_count; head++) {
        size_t latch;
        bool one_exit;
        if (!hdi_nest_take(&f->nest, head) || !hdi_nest_has(&f->nest, block))
            continue;
        bool one_latch = look_at_loop(f, head, &latch, &one_exit);
        exact &= one_exit && one_latch;
        if (!one_latch || f->flow.blocks[latch].successor_count != 2)
            continue;
        uint32_t number = number_of_loop(f, f->flow.blocks[head].block);
        exact &= state_edge(f, latch, head, number, true);
    }
    return exact;
}

// The last block on all ways to another: of those, the one with the most of
// them itself.
static size_t last_before(const struct finder *f, size_t block)
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
static bool state_ways(struct finder *f, size_t block)
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

static uint32_t scope_of(struct finder *f, size_t block)
{
    struct hdi_footprint *p = f->found;
    if (f->scopes[block] != none)
        return f->scopes[block];
    void *more = room(f, p->scopes, p->scope_count, HDI_FOOTPRINT_TABLE,
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

static uint32_t arg_of(const struct finder *f, LLVMValueRef argument)
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

// Whether memory is found through an image's description: its texels, of which
// no more is told than that.
static bool is_texels(const struct finder *f, LLVMValueRef root)
{
    struct roots roots = {.count = 0};

    if (!LLVMIsALoadInst(root))
        return false;
    find_roots(&roots, LLVMGetOperand(root, 0));
    return !roots.several && roots.root && LLVMIsAArgument(roots.root) &&
           f->about->args[arg_of(f, roots.root)].kind == HD_ARG_IMAGE;
}

// `size` 0: not known.
static void add_access(struct finder *f, LLVMValueRef x, LLVMValueRef pointer,
                       uint64_t size, uint32_t writes)
{
    struct hdi_footprint *p = f->found;
    struct roots roots = {.count = 0};
    unsigned space = LLVMGetPointerAddressSpace(LLVMTypeOf(pointer));

    if (space == HDI_SPACE_LOCAL)
        return;
    find_roots(&roots, pointer);
    if (!roots.several && (!roots.root || LLVMIsAAllocaInst(roots.root) ||
                           LLVMIsAGlobalVariable(roots.root)))
        return; // nobody's but the kernel's
    if (!roots.several && is_texels(f, roots.root))
        return;
    if (roots.several || !LLVMIsAArgument(roots.root)) {
        f->lost = true;
        return;
    }
    if (!is_buffer(roots.root))
        return; // local memory, or a structure by value
    uint32_t scope = scope_of(f, block_of(f, x));
    uint32_t at =
        size == 0 || size > UINT32_MAX ? HDI_FOOTPRINT_ALL : build(f, pointer);
    void *more = room(f, p->accesses, p->access_count, HDI_FOOTPRINT_TABLE,
                      &f->access_room, sizeof(*p->accesses));
    if (!more)
        return;
    p->accesses = more;
    p->accesses[p->access_count++] = (struct hdi_footprint_access){
        .arg = arg_of(f, roots.root),
        .scope = scope,
        .at = at,
        .size = at == HDI_FOOTPRINT_ALL ? 1 : (uint32_t)size,
        .writes = writes};
}

static uint64_t size_of(const struct finder *f, LLVMTypeRef type)
{
    return LLVMStoreSizeOfType(f->llvm->layout, type);
}

static void look_at_call(struct finder *f, LLVMValueRef call)
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

static void look_at(struct finder *f, LLVMValueRef x)
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

static bool find_after(struct finder *f)
{
    const struct hdi_flow *flow = &f->flow;
    size_t most = 0, count = 0;

    for (size_t b = 0; b < flow->block_count; b++)
        most += flow->blocks[b].successor_count + 1;
    struct hdi_edge *edges = calloc(most, sizeof(*edges));
    if (!edges)
        return false;
    for (size_t b = flow->block_count; b-- > 0;) {
        if (flow->blocks[b].successor_count == 0)
            edges[count++] = (struct hdi_edge){HDI_OUTSIDE, b};
        for (unsigned s = 0; s < flow->blocks[b].successor_count; s++)
            edges[count++] =
                (struct hdi_edge){flow->blocks[b].successors[s], b};
    }
    bool ok = hdi_dominators_find(&f->after, flow->block_count, edges, count);
    free(edges);
    return ok;
}

static bool find(struct finder *f, LLVMValueRef kernel)
{
    if (!hdi_flow_find(f->llvm, kernel, false, &f->flow) ||
        !hdi_nest_find(&f->nest, &f->flow) || !find_after(f))
        return false;
    f->scopes = malloc((f->flow.block_count + 1) * sizeof(*f->scopes));
    if (!f->scopes)
        return false;
    for (size_t b = 0; b < f->flow.block_count; b++)
        f->scopes[b] = none;
    for (size_t b = 0; b < f->flow.block_count; b++)
        for (LLVMValueRef x = LLVMGetFirstInstruction(f->flow.blocks[b].block);
             x && !f->failed && !f->too_much && !f->lost;
             x = LLVMGetNextInstruction(x))
            look_at(f, x);
    return !f->failed && !f->nodes.failed && !f->loops.failed;
}

hd_status hdi_footprint_find(const struct hdi_llvm *llvm, LLVMValueRef kernel,
                             struct hdi_build_kernel *about,
                             struct hd_error *error)
{
    struct hdi_footprint *footprint = &about->footprint;
    struct finder f = {.llvm = llvm, .about = about, .found = footprint};

    hdi_footprint_clear(footprint);
    bool ok = find(&f, kernel);
    hdi_map_clear(&f.nodes);
    hdi_map_clear(&f.loops);
    free(f.scopes);
    hdi_dominators_destroy(&f.after);
    hdi_nest_destroy(&f.nest);
    hdi_flow_destroy(&f.flow);
    if (!ok || f.too_much || f.lost)
        hdi_footprint_clear(footprint);
    else
        footprint->known = HDI_FOOTPRINT_KNOWN;
    return ok ? HD_OK
              : hdi_fail(error, HD_ENOMEM, "%s: no memory to compile",
                         llvm->path);
}
