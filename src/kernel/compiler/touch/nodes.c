// Most functions go on after a failure with node 0: callers look at `failed`
// and `too_much` once, at the end.
#include "kernel/compiler/touch/nodes.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/compiler/ir/low.h"
#include "kernel/image.h"

enum {
    // What is deeper may be anything; without a limit the stack would run out.
    MAX_DEPTH = 200 // of one value
};

// Tables ----------------------------------------------------------------------

// Room for one more element; NULL: no memory, or too many.
void *hdi_nodes_room(struct hdi_nodes *f, void *table, uint32_t count,
                     size_t most, size_t *has, size_t size)
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

static uint32_t add(struct hdi_nodes *f, struct hdi_footprint_node node)
{
    struct hdi_footprint *p = f->found;
    void *more = hdi_nodes_room(f, p->nodes, p->node_count, HDI_FOOTPRINT_NODES,
                                &f->node_room, sizeof(node));
    if (!more)
        return 0;
    p->nodes = more;
    p->nodes[p->node_count] = node;
    return p->node_count++;
}

static uint32_t number(struct hdi_nodes *f, unsigned bits, int64_t value)
{
    return add(f, (struct hdi_footprint_node){.op = HDI_FOOTPRINT_NUMBER,
                                              .bits = bits,
                                              .number = value});
}

static uint32_t two(struct hdi_nodes *f, enum hdi_footprint_op op,
                    unsigned bits, uint32_t a, uint32_t b)
{
    return add(
        f, (struct hdi_footprint_node){.op = op, .bits = bits, .a = a, .b = b});
}

static uint32_t any(struct hdi_nodes *f, unsigned bits)
{
    return two(f, HDI_FOOTPRINT_ANY, bits, 0, 0);
}

// Values ----------------------------------------------------------------------

unsigned hdi_nodes_bits(LLVMValueRef value)
{
    LLVMTypeRef type = LLVMTypeOf(value);

    if (LLVMGetTypeKind(type) == LLVMPointerTypeKind)
        return 64;
    return LLVMGetTypeKind(type) == LLVMIntegerTypeKind &&
                   LLVMGetIntTypeWidth(type) <= 64
               ? LLVMGetIntTypeWidth(type)
               : 0;
}

static uint32_t build_call(struct hdi_nodes *f, LLVMValueRef call,
                           unsigned bits)
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
            uint32_t a = hdi_nodes_build(f, LLVMGetOperand(call, 0));
            return two(f, choices[i].op, bits, a,
                       hdi_nodes_build(f, LLVMGetOperand(call, 1)));
        }
    return any(f, bits);
}

size_t hdi_nodes_block(const struct hdi_nodes *f, LLVMValueRef instruction)
{
    return hdi_map_index(&f->flow.block_index,
                         LLVMGetInstructionParent(instruction));
}

// Is it the same in all turns of the loop at hand?
// Loads are not: something may be stored between two turns. At depth 0 it is
// not known, which counts as no.
static bool is_invariant(const struct hdi_nodes *f, LLVMValueRef value,
                         unsigned depth)
{
    if (!LLVMIsAInstruction(value) ||
        !hdi_nest_has(&f->nest, hdi_nodes_block(f, value)))
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

// Numbers are given as loops are met: those that no node needs have none.
uint32_t hdi_nodes_loop(struct hdi_nodes *f, LLVMBasicBlockRef head)
{
    size_t known = hdi_map_index(&f->loops, head);

    if (known == SIZE_MAX) {
        known = f->found->loops++;
        hdi_map_set_index(&f->loops, head, known);
        f->too_much |= f->found->loops > HDI_FOOTPRINT_LOOPS;
    }
    return (uint32_t)known;
}

// An int whose next value is computed in 64 bits. Of the phi then only the low
// bits are those of the int, and nobody asks for others. 0: it is not like
// that.
static unsigned low_bits(LLVMValueRef phi, LLVMValueRef left)
{
    struct hdi_low low;

    if (!LLVMIsABinaryOperator(left) || !hdi_low_find(left, &low) ||
        low.up != 0 || low.of != phi)
        return 0;
    return hdi_low_is_enough(phi, low.bits, NULL) ? low.bits : 0;
}

// What grows by the same in each turn, or grows, or shrinks. `next` is what it
// is in the turn after.
// `phi` is a + turn * b then. Of a product or shift only the direction is kept
// (GROWS, SHRINKS): its exact value is a power, which launches cannot sum up.
//
// The sum may be written either way round (a + phi), with the phi or with its
// lower bits (low_bits()).
static uint32_t build_turn(struct hdi_nodes *f, LLVMValueRef phi,
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
    if ((left != phi && low == 0) || !is_invariant(f, right, HDI_NODES_PARTS))
        return any(f, bits);
    bits = low ? low : bits;
    if (code == LLVMAdd || code == LLVMSub ||
        (is_pointer && code == LLVMGetElementPtr)) {
        uint32_t loop = hdi_nodes_loop(f, LLVMGetInstructionParent(phi));
        uint32_t begin = hdi_nodes_build(f, start),
                 step = hdi_nodes_build(f, right);
        if (is_pointer) {
            LLVMTypeRef type = LLVMGetGEPSourceElementType(next);
            unsigned width = hdi_nodes_bits(right);
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
        return any(f, hdi_nodes_bits(phi));
    bool is_positive =
        LLVMIsAConstantInt(right) && LLVMConstIntGetSExtValue(right) > 0;
    if ((code == LLVMShl || code == LLVMMul) && is_positive && LLVMGetNSW(next))
        return two(f, HDI_FOOTPRINT_GROWS, bits, hdi_nodes_build(f, start), 0);
    if ((code == LLVMLShr || code == LLVMUDiv || code == LLVMSDiv ||
         code == LLVMAShr) &&
        is_positive)
        return two(f, HDI_FOOTPRINT_SHRINKS, bits, hdi_nodes_build(f, start),
                   0);
    return any(f, bits);
}

// In the head of a loop it changes by turns; elsewhere it is one of its values,
// whichever. Several entries to a loop, or ways round it, with different values
// are too much.
static uint32_t build_phi(struct hdi_nodes *f, LLVMValueRef phi, unsigned bits)
{
    unsigned count = LLVMCountIncoming(phi);
    size_t block = hdi_nodes_block(f, phi);

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
    uint32_t all = HDI_NO_NODE;
    for (unsigned i = 0; i < count; i++) {
        uint32_t one = hdi_nodes_build(f, LLVMGetIncomingValue(phi, i));
        all = all == HDI_NO_NODE ? one
                                 : two(f, HDI_FOOTPRINT_EITHER, bits, all, one);
    }
    return all == HDI_NO_NODE ? any(f, bits) : all;
}

// Bytes from what the first operand points to.
// Indices are signed and of any width; what is shorter than an address is
// extended as a signed number, as LLVM does it.
static uint32_t build_gep(struct hdi_nodes *f, LLVMValueRef gep)
{
    LLVMTypeRef type = LLVMGetGEPSourceElementType(gep);
    uint32_t sum = hdi_nodes_build(f, LLVMGetOperand(gep, 0));

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
        unsigned width = hdi_nodes_bits(index);
        if (width == 0 || width > 64)
            return any(f, 64);
        uint32_t at = hdi_nodes_build(f, index);
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

// Shifts up and down again, as ints in 64 bits leave them, are an extension of
// the lower bits. A mask is left as it is: launches understand AND. `a` is
// built before `b`, so that numbers do not depend on the order in which C
// evaluates arguments.
static uint32_t build_binary(struct hdi_nodes *f, LLVMValueRef x, unsigned bits)
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
    struct hdi_low low;

    if (code != LLVMAnd && hdi_low_find(x, &low) && low.up == 0)
        return add(f, (struct hdi_footprint_node){
                          .op = low.is_signed ? HDI_FOOTPRINT_SEXT
                                              : HDI_FOOTPRINT_ZEXT,
                          .bits = bits,
                          .a = hdi_nodes_build(f, low.of),
                          .number = low.bits});
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
        if (ops[i].code != code)
            continue;
        enum hdi_footprint_op op = ops[i].op;
        if (code == LLVMOr && LLVMGetIsDisjoint(x))
            op = HDI_FOOTPRINT_ADD;
        uint32_t a = hdi_nodes_build(f, LLVMGetOperand(x, 0));
        return two(f, op, bits, a, hdi_nodes_build(f, LLVMGetOperand(x, 1)));
    }
    return any(f, bits);
}

// What indices that are all constant add up to [bytes]. False: they are not.
static bool add_constant(const struct hdi_nodes *f, LLVMValueRef gep,
                         uint64_t *bytes)
{
    LLVMTypeRef type = LLVMGetGEPSourceElementType(gep);

    for (unsigned i = 1; i < (unsigned)LLVMGetNumOperands(gep); i++) {
        LLVMValueRef index = LLVMGetOperand(gep, i);
        if (!LLVMIsAConstantInt(index))
            return false;
        uint64_t number = (uint64_t)LLVMConstIntGetSExtValue(index);
        if (i > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind) {
            *bytes +=
                LLVMOffsetOfElement(f->llvm->layout, type, (unsigned)number);
            type = LLVMStructGetTypeAtIndex(type, (unsigned)number);
            continue;
        }
        if (i > 1)
            type = LLVMGetElementType(type);
        *bytes += number * LLVMABISizeOfType(f->llvm->layout, type);
    }
    return true;
}

bool hdi_nodes_is_field(const struct hdi_nodes *f, LLVMValueRef load,
                        uint32_t *arg, uint64_t *offset)
{
    if (!LLVMIsALoadInst(load))
        return false;
    LLVMValueRef pointer = LLVMGetOperand(load, 0);
    *offset = 0;
    for (; LLVMIsAGetElementPtrInst(pointer);
         pointer = LLVMGetOperand(pointer, 0))
        if (!add_constant(f, pointer, offset))
            return false;
    if (!LLVMIsAArgument(pointer))
        return false;
    for (*arg = 0; LLVMGetParam(f->flow.kernel, *arg) != pointer;)
        ++*arg;
    return f->about->args[*arg].kind == HD_ARG_IMAGE;
}

// Addresses of texels are counted from the first one.
static uint32_t build_field(struct hdi_nodes *f, LLVMValueRef load,
                            unsigned bits)
{
    uint64_t offset;
    uint32_t arg;

    if (!f->texels || !hdi_nodes_is_field(f, load, &arg, &offset))
        return any(f, bits);
    if (offset == offsetof(struct hdi_image, texels))
        return number(f, 64, 0);
    if (bits % 8 != 0 || offset > sizeof(struct hdi_image) - bits / 8)
        return any(f, bits);
    return add(f, (struct hdi_footprint_node){.op = HDI_FOOTPRINT_IMAGE,
                                              .bits = bits,
                                              .a = arg,
                                              .number = (int64_t)offset});
}

// A pointer argument is 0: nodes of addresses count bytes from there.
static uint32_t build_new(struct hdi_nodes *f, LLVMValueRef value,
                          unsigned bits)
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
    if (LLVMIsALoadInst(value))
        return build_field(f, value, bits);
    if (LLVMIsAPHINode(value))
        return build_phi(f, value, bits);
    if (LLVMIsAGetElementPtrInst(value))
        return build_gep(f, value);
    if (LLVMIsABitCastInst(value) || LLVMIsAAddrSpaceCastInst(value) ||
        LLVMIsAFreezeInst(value))
        return hdi_nodes_build(f, LLVMGetOperand(value, 0));
    if (LLVMIsASelectInst(value)) {
        uint32_t a = hdi_nodes_build(f, LLVMGetOperand(value, 1));
        return two(f, HDI_FOOTPRINT_EITHER, bits, a,
                   hdi_nodes_build(f, LLVMGetOperand(value, 2)));
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
                          .a = hdi_nodes_build(f, from),
                          .number = hdi_nodes_bits(from)});
    }
    return any(f, bits);
}

// The node of a number, or of how many bytes a pointer is from its root.
uint32_t hdi_nodes_build(struct hdi_nodes *f, LLVMValueRef value)
{
    size_t known = hdi_map_index(&f->nodes, value);
    unsigned bits = hdi_nodes_bits(value);

    if (known != SIZE_MAX)
        return (uint32_t)known;
    if (f->failed || f->too_much)
        return 0;
    if (f->depth == MAX_DEPTH || bits == 0)
        return any(f, bits ? bits : 64);
    f->depth++;
    uint32_t node = build_new(f, value, bits);
    f->depth--;
    hdi_map_set_index(&f->nodes, value, node);
    return node;
}
