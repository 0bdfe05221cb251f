// What the nodes of a footprint come to for a box of work-groups.
//
// Of Miné's zones and Cousot and Halbwachs' polyhedra ("Automatic discovery of
// linear restraints among variables of a program", 1978) this is the cheap end:
// a value is a sum of multiples of independent variables (ids, counts of turns,
// what is not known) and of a number between two bounds; conditions narrow the
// range of one variable at a time, from those of the others.
#ifndef HDI_KERNEL_FOOTPRINT_EVALUATION_H
#define HDI_KERNEL_FOOTPRINT_EVALUATION_H

#include "kernel/footprint/footprint.h"
#include "kernel/program.h"

enum {
    V_GLOBAL = 0, // variables: ids along three axes,
    V_LOCAL = 3,
    V_GROUP = 6,
    V_TURNS = 9,                            // how often loops have gone round,
    V_FREE = V_TURNS + HDI_FOOTPRINT_LOOPS, // values that are not known
    VARIABLES = V_FREE + 11
};

__extension__ typedef __int128 hdi_wide;

static const int64_t hdi_most = INT64_C(1) << 62; // what numbers stay below
static const int64_t hdi_most_turns = INT64_C(1) << 32;

// known: c + sum of k[v] * v + something from lo to hi
struct hdi_form {
    bool known;
    bool wild; // that something is anything of its type
    int64_t c, k[VARIABLES], lo, hi;
};

struct hdi_evaluation {
    const struct hdi_footprint *footprint;
    const struct hd_kernel *kernel;
    const struct hd_range *range;
    const struct hd_arg *args;
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

// Evaluate what is computed in a scope, whose conditions narrow the ranges of
// variables. `*exact`: and these say all of it; left as it is where nothing is
// done (evaluation->empty).
void hdi_evaluate_scope(struct hdi_evaluation *evaluation, uint32_t scope,
                        bool *exact);

// False: not known, or too large.
bool hdi_form_bounds(const struct hdi_evaluation *evaluation,
                     const struct hdi_form *form, int64_t *lo, int64_t *hi);

// The quotient, rounded to what is less.
int64_t hdi_divide_down(int64_t a, int64_t b);

#endif
