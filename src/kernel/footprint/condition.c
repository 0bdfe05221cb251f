#include "kernel/footprint/condition.h"

#include "kernel/footprint/form.h"
#include "kernel/footprint/node.h"

// The range of a variable ends at `hi`. If nothing is left the scope is empty:
// no work-item gets there. The range then stays one step inside out, so that no
// number becomes too large.
static void narrow_high(struct hdi_evaluation *e, unsigned v, hdi_wide hi)
{
    if (hi < e->hi[v])
        e->hi[v] = hi < e->lo[v] ? e->lo[v] - 1 : (int64_t)hi;
    e->empty |= e->hi[v] < e->lo[v];
}

static void narrow_low(struct hdi_evaluation *e, unsigned v, hdi_wide lo)
{
    if (lo > e->lo[v])
        e->lo[v] = lo > e->hi[v] ? e->hi[v] + 1 : (int64_t)lo;
    e->empty |= e->hi[v] < e->lo[v];
}

static hdi_wide down(hdi_wide a, hdi_wide b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

// `form` is at most `limit`.
//
// For each variable in turn: the others at their least leave it so much.
//
//     k * v + rest <= limit,  least rest = lo - own
//     k > 0:  v <= (limit - least rest) / k      rounded down
//     k < 0:  v >= (limit - least rest) / k      rounded up
//
// The bounds are computed anew for each, with what was narrowed before.
static void narrow(struct hdi_evaluation *e, const struct hdi_form *form,
                   int64_t limit)
{
    int64_t lo, hi;

    for (unsigned v = 0; v < VARIABLES && !e->empty; v++) {
        int64_t k = form->k[v];
        if (k == 0 || !hdi_form_bounds(e, form, &lo, &hi))
            continue;
        hdi_wide own = (hdi_wide)k * (k > 0 ? e->lo[v] : e->hi[v]);
        hdi_wide left = limit - (lo - own);
        if (k > 0)
            narrow_high(e, v, down(left, k));
        else
            narrow_low(e, v, -down(left, -k));
    }
    if (!e->empty && hdi_form_bounds(e, form, &lo, &hi) && lo > limit)
        e->empty = true;
}

static bool is_signed_relation(uint32_t relation)
{
    return relation != HDI_FOOTPRINT_ULT && relation != HDI_FOOTPRINT_ULE;
}

// The most turns after which a loop still goes on, when `x` and `y` are related
// as it says: x or y grows by the same in each. False: not to be told, or a
// number could wrap.
//
// `own` is the side that the loop moves, by `step` a turn, `other` the one that
// stays. For != the loop must hit the end exactly: with a step of 1, or from
// one known distance that the step divides; else it might jump over it.
static bool count_turns(const struct hdi_evaluation *e,
                        const struct hdi_footprint_condition *c,
                        const struct hdi_form *x, const struct hdi_form *y,
                        unsigned bits, hdi_wide *turns)
{
    unsigned v = V_TURNS + c->loop;
    bool left = x->k[v] != 0;
    struct hdi_form own = left ? *x : *y, other = left ? *y : *x;
    int64_t step = own.k[v], lo, hi, from, to;
    hdi_wide first, last;

    own.k[v] = 0;
    other = hdi_form_fit(e, &other, bits, is_signed_relation(c->relation));
    own = hdi_form_fit(e, &own, bits, is_signed_relation(c->relation));
    if (other.k[v] != 0 || !hdi_form_bounds(e, &own, &lo, &hi) ||
        !hdi_form_bounds(e, &other, &from, &to))
        return false;
    hdi_type_bounds(bits, is_signed_relation(c->relation), &first, &last);
    switch (c->relation) {
    case HDI_FOOTPRINT_SLT:
    case HDI_FOOTPRINT_SLE:
    case HDI_FOOTPRINT_ULT:
    case HDI_FOOTPRINT_ULE: {
        int64_t less = c->relation == HDI_FOOTPRINT_SLT ||
                       c->relation == HDI_FOOTPRINT_ULT;
        if (left && step > 0) { // own + step * turns <= to - less
            *turns = down((hdi_wide)to - less - lo, step);
            return (hdi_wide)to - less + step <= last;
        }
        if (!left && step < 0) { // own + step * turns >= from + less
            *turns = down((hdi_wide)hi - from - less, -(hdi_wide)step);
            return (hdi_wide)from + less + step >= first;
        }
        return false;
    }
    case HDI_FOOTPRINT_NE: {
        hdi_wide least = step > 0 ? (hdi_wide)from - hi : (hdi_wide)lo - to;
        hdi_wide largest = step > 0 ? (hdi_wide)to - lo : (hdi_wide)hi - from;
        hdi_wide size = step > 0 ? step : -(hdi_wide)step;
        if (least < 0 || (size != 1 && (least != largest || least % size != 0)))
            return false;
        *turns = largest / size - 1;
        return true;
    }
    default:
        return false;
    }
}

// The number that a condition compares with 0, NULL: not to be told. What is
// below an unsigned bound is not negative, which `positive` says of `a`.
//
// False: not to be told. A negative number is a huge one for an unsigned
// comparison; so `i - 1 < n` (unsigned) says that i - 1 is not negative, if
// even the least huge one is above the bound.
static bool difference(const struct hdi_evaluation *e,
                       const struct hdi_footprint_condition *c,
                       struct hdi_form *result, struct hdi_form *positive)
{
    unsigned bits = e->footprint->nodes[c->a].bits;
    bool is_signed = is_signed_relation(c->relation);
    const struct hdi_form *raw = &e->forms[c->a];
    struct hdi_form a = hdi_form_fit(e, raw, bits, is_signed);
    struct hdi_form b = hdi_form_fit(e, &e->forms[c->b], bits, is_signed);
    int64_t lo, hi, from, to;

    positive->known = false;
    if (!is_signed && hdi_form_bounds(e, raw, &lo, &hi) && lo < 0 &&
        hdi_form_bounds(e, &b, &from, &to) &&
        (hdi_wide)lo + ((hdi_wide)1 << bits) > to &&
        hi < ((hdi_wide)1 << bits)) {
        a = *raw;
        *positive = a;
    }
    *result = hdi_form_sum(&a, &b, -1);
    return result->known;
}

// A condition of a loop is used for the number of its turns while that is
// `open`, and for the ids as any other once it is bounded. `again` means that
// it held in all turns but the latest: then there is one turn more than it
// allows, and it says nothing about the latest.
//
// EQ narrows from both sides. NE cuts off one end of a variable's range if that
// is exactly what is excluded; a hole in the middle has no place in a range.
void hdi_condition_apply(struct hdi_evaluation *e,
                         const struct hdi_footprint_condition *c)
{
    struct hdi_form d, positive;
    struct hdi_form zero = hdi_form_number(0);
    unsigned v = V_TURNS + c->loop;

    if (c->loop != HDI_FOOTPRINT_NO_LOOP && e->open[v]) {
        const struct hdi_form *x = &e->forms[c->a], *y = &e->forms[c->b];
        hdi_wide turns;
        if (!x->known || !y->known || (x->k[v] != 0) == (y->k[v] != 0) ||
            !count_turns(e, c, x, y, e->footprint->nodes[c->a].bits, &turns))
            return;
        if (turns >= hdi_most_turns)
            return;
        e->open[v] = false;
        if (c->again)
            turns = turns < 0 ? 0 : turns + 1;
        narrow_high(e, v, turns);
        return;
    }
    if (c->again || !difference(e, c, &d, &positive))
        return;
    switch (c->relation) {
    case HDI_FOOTPRINT_EQ:
        narrow(e, &d, 0);
        d = hdi_form_sum(&zero, &d, -1);
        narrow(e, &d, 0);
        break;
    case HDI_FOOTPRINT_NE:
        e->empty |= hdi_form_is_number(&d) && d.c + d.lo == 0;
        for (unsigned i = 0; i < VARIABLES; i++) {
            struct hdi_form rest = d;
            rest.k[i] = 0;
            if (d.k[i] == 0 || !hdi_form_is_number(&rest) ||
                (rest.c + rest.lo) % d.k[i] != 0)
                continue;
            int64_t hole = -(rest.c + rest.lo) / d.k[i];
            if (hole == e->lo[i])
                narrow_low(e, i, (hdi_wide)hole + 1);
            else if (hole == e->hi[i])
                narrow_high(e, i, (hdi_wide)hole - 1);
        }
        break;
    case HDI_FOOTPRINT_SLT:
    case HDI_FOOTPRINT_ULT:
        narrow(e, &d, -1);
        break;
    default:
        narrow(e, &d, 0);
    }
    if (positive.known) {
        positive = hdi_form_sum(&zero, &positive, -1);
        narrow(e, &positive, 0);
    }
}

// If not, some work-items of the ranges do not do what the scope does, and the
// result is too large. With `again` the last turn is left out of the question.
bool hdi_condition_is_implied(struct hdi_evaluation *e,
                              const struct hdi_footprint_condition *c)
{
    unsigned v = V_TURNS + c->loop;
    struct hdi_form d, positive;
    int64_t lo = 0, hi = 0;

    if (c->loop != HDI_FOOTPRINT_NO_LOOP && e->open[v])
        return false;
    if (c->again) {
        if (e->hi[v] == e->lo[v])
            return true; // one turn
        e->hi[v]--;
    }
    bool known =
        difference(e, c, &d, &positive) && hdi_form_bounds(e, &d, &lo, &hi);
    if (known && positive.known) {
        int64_t from, to;
        known = hdi_form_bounds(e, &positive, &from, &to) && from >= 0;
    }
    if (c->again)
        e->hi[v]++;
    switch (c->relation) {
    case HDI_FOOTPRINT_EQ:
        return known && lo == 0 && hi == 0;
    case HDI_FOOTPRINT_NE:
        return known && (lo > 0 || hi < 0);
    case HDI_FOOTPRINT_SLT:
    case HDI_FOOTPRINT_ULT:
        return known && hi < 0;
    default:
        return known && hi <= 0;
    }
}

// Of group * size + local the last group would reach beyond it. What group and
// local are tied to each other by this is lost, hence `ragged` and not exact.
void hdi_condition_apply_ids(struct hdi_evaluation *e)
{
    for (unsigned d = 0; d < 3; d++)
        if (e->split[d]) {
            struct hdi_form id = hdi_node_id(e, HDI_FOOTPRINT_GLOBAL_ID, d);
            narrow(e, &id,
                   (int64_t)(e->range->offset[d] + e->range->global[d] - 1));
        }
}
