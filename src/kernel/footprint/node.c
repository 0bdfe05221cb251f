#include "kernel/footprint/node.h"

#include <string.h>

#include "kernel/footprint/arithmetic.h"

// With its sign.
static struct hdi_form of_memory(const void *memory, uint64_t size)
{
    int64_t number = 0;

    switch (size) {
    case 1:
        return hdi_form_number(*(const int8_t *)memory);
    case 2: {
        int16_t half;
        memcpy(&half, memory, sizeof(half));
        return hdi_form_number(half);
    }
    case 4: {
        int32_t word;
        memcpy(&word, memory, sizeof(word));
        return hdi_form_number(word);
    }
    case 8:
        memcpy(&number, memory, sizeof(number));
        return hdi_is_small(number) ? hdi_form_number(number)
                                    : hdi_form_unknown;
    default:
        return hdi_form_unknown;
    }
}

// Values are of the size that was given; a float is a number like any other,
// which nothing sensible is computed from. Pointers are not known.
static struct hdi_form of_arg(const struct hdi_evaluation *e, uint32_t index)
{
    const struct hd_arg *arg = &e->args[index];

    if (arg->is == HD_IS_SAMPLER)
        return hdi_form_number(arg->sampler);
    return arg->is == HD_IS_VALUE && arg->value
               ? of_memory(arg->value, arg->size)
               : hdi_form_unknown;
}

static struct hdi_form of_image(const struct hdi_evaluation *e,
                                const struct hdi_footprint_node *n)
{
    const struct hdi_image *image = e->images ? e->images[n->a] : NULL;

    return image ? of_memory((const char *)image + n->number, n->bits / 8)
                 : hdi_form_unknown;
}

// With work-groups of a known size an id is group * size + local (`split`),
// where the kernel asks for one of these; else it is a variable by itself,
// which says more when ids are not split. The size of the last group is
// smaller, hence a range where groups are not all alike. Without a size every
// one up to the global size is possible.
struct hdi_form hdi_node_id(const struct hdi_evaluation *e, uint32_t op,
                            unsigned d)
{
    const struct hd_range *range = e->range;
    uint64_t local = e->local[d];

    switch (op) {
    case HDI_FOOTPRINT_GLOBAL_ID: {
        if (!e->split[d])
            return hdi_form_variable(V_GLOBAL + d);
        struct hdi_form form = hdi_form_variable(V_LOCAL + d),
                        group = hdi_form_variable(V_GROUP + d);
        form.c = (int64_t)range->offset[d];
        return hdi_form_sum(&form, &group, (int64_t)local);
    }
    case HDI_FOOTPRINT_LOCAL_ID:
        return hdi_form_variable(V_LOCAL + d);
    case HDI_FOOTPRINT_GROUP_ID:
        return hdi_form_variable(V_GROUP + d);
    case HDI_FOOTPRINT_GLOBAL_SIZE:
        return hdi_form_number((int64_t)range->global[d]);
    case HDI_FOOTPRINT_OFFSET:
        return hdi_form_number((int64_t)range->offset[d]);
    case HDI_FOOTPRINT_LOCAL_SIZE:
        if (local > 0 && range->global[d] % local != 0) {
            uint64_t rest = range->global[d] % local;
            return hdi_form_range((int64_t)rest,
                                  range->global[d] < local ? (int64_t)rest
                                                           : (int64_t)local,
                                  false);
        }
        // fall through
    case HDI_FOOTPRINT_ENQUEUED_SIZE:
        return local > 0 ? hdi_form_number((int64_t)local)
                         : hdi_form_range(1, (int64_t)range->global[d], false);
    default: // HDI_FOOTPRINT_GROUPS
        return local > 0 ? hdi_form_number((
                               int64_t)((range->global[d] + local - 1) / local))
                         : hdi_form_range(1, (int64_t)range->global[d], false);
    }
}

// `from` is where a value that only grows or shrinks begins. A node with a
// variable of its own narrows that variable's range; without one left it is a
// range, wild in any case.
static struct hdi_form free_value(struct hdi_evaluation *e, uint32_t node,
                                  const struct hdi_form *from)
{
    const struct hdi_footprint_node *n = &e->footprint->nodes[node];
    unsigned v = e->free_variable[node];
    hdi_wide least, largest;
    int64_t lo, hi;

    hdi_type_bounds(n->bits, true, &least, &largest);
    bool bound = from && hdi_form_bounds(e, from, &lo, &hi) && lo >= 0;
    if (bound && n->op == HDI_FOOTPRINT_GROWS)
        least = lo;
    if (bound && n->op == HDI_FOOTPRINT_SHRINKS) {
        least = 0;
        largest = hi;
    }
    if (!hdi_is_small(least) || !hdi_is_small(largest))
        return hdi_form_unknown;
    if (v == VARIABLES)
        return hdi_form_range((int64_t)least, (int64_t)largest, true);
    if (e->lo[v] < least)
        e->lo[v] = (int64_t)least;
    if (e->hi[v] > largest)
        e->hi[v] = (int64_t)largest;
    return hdi_form_variable(v);
}

// start + step * turns: only a step that is a number gives a form.
static struct hdi_form turn(const struct hdi_evaluation *e,
                            const struct hdi_footprint_node *n)
{
    const struct hdi_form *start = &e->forms[n->a];
    struct hdi_form step = hdi_form_fit(e, &e->forms[n->b], n->bits, true);
    struct hdi_form count = hdi_form_variable(V_TURNS + (unsigned)n->number);

    return hdi_form_is_number(&step)
               ? hdi_form_sum(start, &count, step.c + step.lo)
               : hdi_form_unknown;
}

// Operands have been evaluated: they come before, and the scope marked
// them. Of operations without operands `a` and `b` are not read here.
struct hdi_form hdi_node_evaluate(struct hdi_evaluation *e, uint32_t node)
{
    const struct hdi_footprint_node *n = &e->footprint->nodes[node];
    const struct hdi_form *a = &e->forms[n->a], *b = &e->forms[n->b];
    unsigned bits = n->bits;

    switch (n->op) {
    case HDI_FOOTPRINT_NUMBER:
        return hdi_is_small(n->number) ? hdi_form_number(n->number)
                                       : hdi_form_unknown;
    case HDI_FOOTPRINT_ARG:
        return of_arg(e, n->a);
    case HDI_FOOTPRINT_IMAGE:
        return of_image(e, n);
    case HDI_FOOTPRINT_DIMS:
        return hdi_form_number(e->range->dims);
    case HDI_FOOTPRINT_ANY:
        return free_value(e, node, NULL);
    case HDI_FOOTPRINT_GROWS:
    case HDI_FOOTPRINT_SHRINKS: {
        struct hdi_form start = hdi_form_fit(e, a, bits, true);
        return free_value(e, node, &start);
    }
    case HDI_FOOTPRINT_TURN:
        return turn(e, n);
    case HDI_FOOTPRINT_EITHER:
        return hdi_form_either(e, a, b);
    case HDI_FOOTPRINT_ADD:
        return hdi_form_sum(a, b, 1);
    case HDI_FOOTPRINT_SUB:
        return hdi_form_sum(a, b, -1);
    case HDI_FOOTPRINT_MUL:
        return hdi_form_times(e, a, b);
    case HDI_FOOTPRINT_SHL:
        return hdi_form_is_number(b)
                   ? hdi_form_shifted(e, a, b->c + b->lo, bits)
                   : hdi_form_unknown;
    case HDI_FOOTPRINT_LSHR:
    case HDI_FOOTPRINT_ASHR: {
        struct hdi_form x =
            hdi_form_fit(e, a, bits, n->op == HDI_FOOTPRINT_ASHR);
        return hdi_form_is_number(b) && b->c + b->lo >= 0 && b->c + b->lo <= 61
                   ? hdi_form_over(e, &x, INT64_C(1) << (b->c + b->lo))
                   : hdi_form_unknown;
    }
    case HDI_FOOTPRINT_UDIV:
    case HDI_FOOTPRINT_UREM:
        return hdi_form_quotient(e, a, b, bits, false,
                                 n->op == HDI_FOOTPRINT_UREM);
    case HDI_FOOTPRINT_SDIV:
    case HDI_FOOTPRINT_SREM:
        return hdi_form_quotient(e, a, b, bits, true,
                                 n->op == HDI_FOOTPRINT_SREM);
    case HDI_FOOTPRINT_AND:
    case HDI_FOOTPRINT_OR:
    case HDI_FOOTPRINT_XOR:
        return hdi_form_bitwise(e, n->op, a, b, bits);
    case HDI_FOOTPRINT_SMIN:
    case HDI_FOOTPRINT_SMAX:
    case HDI_FOOTPRINT_UMIN:
    case HDI_FOOTPRINT_UMAX:
        return hdi_form_extreme(e, n->op, a, b, bits);
    case HDI_FOOTPRINT_SEXT:
    case HDI_FOOTPRINT_ZEXT:
        return hdi_form_fit(e, a, (unsigned)n->number,
                            n->op == HDI_FOOTPRINT_SEXT);
    case HDI_FOOTPRINT_TRUNC:
        return *a;
    default:
        return hdi_node_id(e, n->op, n->a);
    }
}
