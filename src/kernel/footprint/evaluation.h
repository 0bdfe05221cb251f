// What the nodes of a footprint come to for a box of work-groups.
//
// Of Miné's zones and Cousot and Halbwachs' polyhedra ("Automatic discovery of
// linear restraints among variables of a program", 1978) this is the cheap end:
// a value is a sum of multiples of independent variables (ids, counts of turns,
// what is not known) and of a number between two bounds; conditions narrow the
// range of one variable at a time, from those of the others.
//
//     form   c + k[0] * v[0] + k[1] * v[1] + ... + r,   lo <= r <= hi
//            exact        exact                         lost
//
// A value of a node is a form; what cannot be said so goes into r, and what r
// cannot hold is not known.
//
//     form.h         sums, bounds, the number that a type holds
//     arithmetic.h   what operations make of forms
//     node.h         the form of a node
//     condition.h    narrows the ranges of variables
//     scope.h        one scope after another, by these
//
// The caller (touched.c) fills `first_lo`, `first_hi` and what stands before
// it, once per launch; then hdi_evaluate_scope() per scope.
//
// Invariant: for each work-item of the box that gets to an access of the scope,
// with its values of the variables, the number that a node has there is one
// that its form allows, modulo the width of the node. Every rule here may allow
// more, never less.
#ifndef HDI_KERNEL_FOOTPRINT_EVALUATION_H
#define HDI_KERNEL_FOOTPRINT_EVALUATION_H

#include "kernel/footprint/footprint.h"
#include "kernel/program.h"

// 11 values that are not known get a variable of their own, so that the same
// value subtracted from itself is 0; any more are only ranges. Each variable
// costs 8 bytes in each form and a step in each operation.
enum {
    V_GLOBAL = 0, // variables: ids along three axes,
    V_LOCAL = 3,
    V_GROUP = 6,
    V_TURNS = 9,                            // how often loops have gone round,
    V_FREE = V_TURNS + HDI_FOOTPRINT_LOOPS, // values that are not known
    VARIABLES = V_FREE + 11
};

// Sums and products of numbers below 2^62 are formed in 128 bits, where they
// cannot overflow, and looked at before they are cut.
__extension__ typedef __int128 hdi_wide;

static const int64_t hdi_most = INT64_C(1) << 62; // what numbers stay below
static const int64_t hdi_most_turns = INT64_C(1) << 32;

// known: c + sum of k[v] * v + something from lo to hi
//
// Not known: nothing else means anything. `wild` is for ranges that come from a
// type alone ("any int"): right for comparisons, but as an address they would
// say that everything is touched in one long row, which is better said as
// "all".
struct hdi_form {
    bool known;
    bool wild; // that something is anything of its type
    int64_t c, k[VARIABLES], lo, hi;
};

// On the stack of hd_kernel_footprint(), with three arrays on the heap. `lo`
// and `hi` are what the conditions of the scope leave of `first_lo` and
// `first_hi`.
struct hdi_evaluation {
    const struct hdi_footprint *footprint;
    const struct hd_kernel *kernel;
    const struct hd_range *range;
    const struct hd_arg *args;
    const struct hdi_image *const
        *images;       // as hdi_kernel_footprint(); optional
    uint64_t local[3]; // 0: not known
    bool split[3];     // global ids are sums of group and local ones
    bool ragged;       // the last group of some axis is smaller
    bool guessed;      // ids that belong together count as independent
    int64_t first_lo[VARIABLES], first_hi[VARIABLES];
    // Of the scope at hand:
    int64_t lo[VARIABLES], hi[VARIABLES];
    bool open[VARIABLES];    // turns without a bound so far
    bool empty;              // nothing is done there
    uint32_t *free_variable; // per node, VARIABLES: none
    struct hdi_form *forms;  // per node
    bool *needed;            // per node: in the scope at hand
};

#endif
