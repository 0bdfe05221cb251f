// Footprints: which bytes of each buffer a box of a launch's work-groups reads
// and writes. The compiler writes down what addresses and conditions are
// computed from (compiler/touch/footprint.h); with the numbers of a launch
// that becomes sums of multiples of ids and counts of turns.
//
// Invariant: a footprint may be too large, never too small. What is not
// understood is the whole buffer.
//
//     compiler    nodes, conditions, scopes, accesses     once per kernel
//     launch      scope.h: numbers, ids --> forms    per scope
//                 boxes.h: forms, ranges --> rows         per access
//                 touched.c: hd_kernel_footprint()        per argument
//
// An example, without the nodes that change widths: of `if (i < n) out[2 * i] =
// in[i];` with ints
//
//     0 GLOBAL_ID of x     1 ARG n      2 NUMBER 4     3 MUL 0, 2
//     4 NUMBER 8           5 MUL 0, 4
//     condition  SLT 0, 1
//     scope      this condition, exact
//     accesses   in reads 4 bytes at 3, out writes 4 bytes at 5
#ifndef HDI_KERNEL_FOOTPRINT_FOOTPRINT_H
#define HDI_KERNEL_FOOTPRINT_FOOTPRINT_H

#include <stdbool.h>
#include <stdint.h>

#include "heddle/kernel.h"

// What a node computes, from earlier nodes `a` and `b`. Its value is a whole
// number of which the kernel has the low `bits` bits.
enum hdi_footprint_op {
    HDI_FOOTPRINT_NUMBER,    // `number`
    HDI_FOOTPRINT_ARG,       // argument `a`, with its sign
    HDI_FOOTPRINT_IMAGE,     // of the description of image `a`, the number that
                             // begins at byte `number` (kernel/image.h)
    HDI_FOOTPRINT_GLOBAL_ID, // along `a`, as all down to OFFSET
    HDI_FOOTPRINT_LOCAL_ID,
    HDI_FOOTPRINT_GROUP_ID,
    HDI_FOOTPRINT_LOCAL_SIZE, // of the group at hand
    HDI_FOOTPRINT_ENQUEUED_SIZE,
    HDI_FOOTPRINT_GLOBAL_SIZE,
    HDI_FOOTPRINT_GROUPS,
    HDI_FOOTPRINT_OFFSET,
    HDI_FOOTPRINT_DIMS,
    HDI_FOOTPRINT_ANY,     // anything
    HDI_FOOTPRINT_TURN,    // `a`, and `b` more in each turn of loop `number`
    HDI_FOOTPRINT_GROWS,   // at least `a`, which is not negative
    HDI_FOOTPRINT_SHRINKS, // from 0 to `a`, if that is not negative
    HDI_FOOTPRINT_EITHER,  // `a` or `b`
    HDI_FOOTPRINT_ADD,
    HDI_FOOTPRINT_SUB,
    HDI_FOOTPRINT_MUL,
    HDI_FOOTPRINT_SHL,
    HDI_FOOTPRINT_LSHR,
    HDI_FOOTPRINT_ASHR,
    HDI_FOOTPRINT_UDIV,
    HDI_FOOTPRINT_SDIV,
    HDI_FOOTPRINT_UREM,
    HDI_FOOTPRINT_SREM,
    HDI_FOOTPRINT_AND,
    HDI_FOOTPRINT_OR,
    HDI_FOOTPRINT_XOR,
    HDI_FOOTPRINT_SMIN,
    HDI_FOOTPRINT_SMAX,
    HDI_FOOTPRINT_UMIN,
    HDI_FOOTPRINT_UMAX,
    HDI_FOOTPRINT_SEXT, // of what has `number` bits
    HDI_FOOTPRINT_ZEXT,
    HDI_FOOTPRINT_TRUNC,
    HDI_FOOTPRINT_OPS // how many there are
};

// Invariant: operands are earlier nodes, so that one pass in order evaluates
// all, and there are no circles. Fields that the operation does not use mean
// nothing.
struct hdi_footprint_node {
    uint32_t op, bits, a, b;
    int64_t number;
};

// There are no "greater" ones: with the sides swapped it is one of these.
enum hdi_footprint_relation {
    HDI_FOOTPRINT_EQ,
    HDI_FOOTPRINT_NE,
    HDI_FOOTPRINT_SLT, // signed, a < b
    HDI_FOOTPRINT_SLE,
    HDI_FOOTPRINT_ULT,
    HDI_FOOTPRINT_ULE,
    HDI_FOOTPRINT_RELATIONS
};

#define HDI_FOOTPRINT_NO_LOOP UINT32_MAX

// What holds wherever accesses of a scope are done: a relation of two nodes.
struct hdi_footprint_condition {
    uint32_t relation, a, b;
    uint32_t loop;  // it held in all turns so far of this loop, or NO_LOOP
    uint32_t again; // 1: in all turns but the latest, for `a`, `b` of then
};

// Where accesses are done: under these conditions.
//
// A run of conditions in the list. Not exact: the accesses may be left out
// although the conditions hold, since the compiler did not understand another
// one.
struct hdi_footprint_scope {
    uint32_t first, count; // conditions
    uint32_t exact;        // 1: whenever they hold
};

#define HDI_FOOTPRINT_ALL UINT32_MAX

// What one load or store does, through which argument. Of an image: of its
// texels.
struct hdi_footprint_access {
    uint32_t arg, scope;
    uint32_t at;   // node: bytes from where the argument points to, or from the
                   // first texel; ALL: anywhere
    uint32_t size; // [bytes]
    uint32_t writes; // 0: it reads, 1: it writes, 2: both
};

// What each work-item does that gets to a scope, which is the end of a turn of
// the loops around it, and of nothing else: operations in each turn of the
// innermost of these loops, or all that is in none.
struct hdi_footprint_work {
    uint32_t scope;
    uint32_t loops; // bit i: loop i is around it
    uint32_t steps; // operations
};

enum {
    HDI_FOOTPRINT_KNOWN = 1, // the rest says what it touches
    HDI_FOOTPRINT_KEEPS = 2  // its program has variables that kernels may write
};

// What the compiler has found out about a kernel.
struct hdi_footprint {
    uint32_t known; // enum above
    uint32_t loops; // how many loops the nodes are about
    uint32_t node_count, condition_count, scope_count, access_count, work_count;
    struct hdi_footprint_node *nodes;
    struct hdi_footprint_condition *conditions;
    struct hdi_footprint_scope *scopes;
    struct hdi_footprint_access *accesses;
    struct hdi_footprint_work *works; // none: not known
};

// What would be more is given up, and the kernel counts as one that touches
// all: evaluation is linear in nodes and is done for launches, so it has to
// stay far below what a launch takes.
enum {
    HDI_FOOTPRINT_NODES = 1000, // more are not kept,
    HDI_FOOTPRINT_LOOPS = 12,   // nor more loops
    HDI_FOOTPRINT_TABLE = 4000  // or conditions, scopes and accesses
};

// How many earlier nodes it is computed from: `a`, then `b`.
unsigned hdi_footprint_operands(const struct hdi_footprint_node *node);

// Free the lists, not the structure, and leave it empty.
void hdi_footprint_clear(struct hdi_footprint *footprint);

// Bit i: what is touched depends on the value of argument i; bit 63: of 63 or
// above. NULL, of which nothing is known: it may depend on all.
uint64_t hdi_footprint_asks(const struct hdi_footprint *footprint);

// Whether numbers of nodes and the like are as they must be.
bool hdi_footprint_is_valid(const struct hdi_footprint *footprint,
                            uint32_t arg_count);

#endif
