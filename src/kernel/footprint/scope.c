// One scope after another:
//
//     ranges as the launch gives them
//     evaluate the nodes that it needs  <---.   ROUNDS at most, or until
//     narrow ranges by its conditions   ----'   nothing changes
//     are the conditions implied by the ranges?  then it is exact
//
// Each form is made for the ranges of its round. Ranges only become narrower,
// for which a form that was made before stays right.
#include "kernel/footprint/scope.h"

#include <string.h>

#include "kernel/footprint/condition.h"
#include "kernel/footprint/node.h"

// A condition may narrow what another one needs, as in nested loops. Most
// kernels are done after two rounds; stopping early gives ranges that are too
// wide, which is allowed.
enum {
    ROUNDS = 4 // of narrowing
};

// Which nodes the accesses and conditions of a scope are computed from.
//
// Back to front, since operands come before: one pass is enough.
static void find_needed(struct hdi_evaluation *e, uint32_t scope)
{
    const struct hdi_footprint *p = e->footprint;
    const struct hdi_footprint_scope *s = &p->scopes[scope];

    memset(e->needed, 0, p->node_count);
    for (uint32_t i = 0; i < p->access_count; i++)
        if (p->accesses[i].scope == scope &&
            p->accesses[i].at != HDI_FOOTPRINT_ALL)
            e->needed[p->accesses[i].at] = true;
    for (uint32_t i = s->first; i < s->first + s->count; i++)
        e->needed[p->conditions[i].a] = e->needed[p->conditions[i].b] = true;
    for (uint32_t n = p->node_count; n-- > 0;)
        if (e->needed[n] && hdi_footprint_operands(&p->nodes[n]) > 0) {
            e->needed[p->nodes[n].a] = true;
            if (hdi_footprint_operands(&p->nodes[n]) > 1)
                e->needed[p->nodes[n].b] = true;
        }
}

// In order; all operands of a node that is needed are needed.
static void evaluate_needed(struct hdi_evaluation *e)
{
    for (uint32_t n = 0; n < e->footprint->node_count; n++)
        if (e->needed[n])
            e->forms[n] = hdi_node_evaluate(e, n);
}

// After the last round forms are evaluated once more if it has changed ranges,
// since boxes use both together.
void hdi_evaluate_scope(struct hdi_evaluation *e, uint32_t number, bool *exact)
{
    const struct hdi_footprint *p = e->footprint;
    const struct hdi_footprint_scope *scope = &p->scopes[number];
    int64_t lo[VARIABLES], hi[VARIABLES];
    bool changed = true;

    find_needed(e, number);
    memcpy(e->lo, e->first_lo, sizeof(e->lo));
    memcpy(e->hi, e->first_hi, sizeof(e->hi));
    for (unsigned v = 0; v < VARIABLES; v++)
        e->open[v] = v >= V_TURNS && v < V_FREE;
    e->empty = false;
    for (unsigned round = 0; round < ROUNDS && changed && !e->empty; round++) {
        evaluate_needed(e);
        memcpy(lo, e->lo, sizeof(lo));
        memcpy(hi, e->hi, sizeof(hi));
        hdi_condition_apply_ids(e);
        for (uint32_t i = 0; i < scope->count && !e->empty; i++)
            hdi_condition_apply(e, &p->conditions[scope->first + i]);
        changed = memcmp(lo, e->lo, sizeof(lo)) != 0 ||
                  memcmp(hi, e->hi, sizeof(hi)) != 0;
    }
    if (e->empty)
        return;
    if (changed)
        evaluate_needed(e);
    *exact = scope->exact && !e->ragged && !e->guessed;
    for (uint32_t i = 0; i < scope->count; i++)
        *exact = *exact &&
                 hdi_condition_is_implied(e, &p->conditions[scope->first + i]);
}
