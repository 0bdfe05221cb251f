// Plans of commands that move bytes, or say where they are wanted.
#include "base/error.h"
#include "graph/define/plan.h"
#include "graph/model/layout.h"

static const char *transfer_word(enum hd_command_is is)
{
    switch (is) {
    case HD_COPY:
        return "copies to";
    case HD_CLEAR:
        return "clears";
    case HD_FILL:
        return "fills";
    case HD_PREFETCH:
        return "prefetches";
    case HD_LAYOUT:
        return "lays out";
    default:
        return "flushes";
    }
}

// The region in one of the resources of a transfer.
//
// A count of 0 along a later axis is 1. The comparison is made by subtraction,
// as the sum could overflow.
static hd_status check_region(const struct hdi_pass_plan *plan,
                              const struct hd_command *c,
                              const struct hdi_resource *r,
                              const uint64_t at[3], struct hd_error *error)
{
    for (int i = 0; i < 3; i++) {
        uint64_t extent = (unsigned)i < r->shape.axes ? r->shape.extent[i] : 1;
        uint64_t count = c->region.count[i] ? c->region.count[i] : 1;
        if (at[i] > extent || count > extent - at[i])
            return hdi_fail(error, HD_EGRAPH,
                            HDI_PASS "it %s %llu elements from %llu on of "
                                     "axis %d of '%s', which has %llu",
                            HDI_PASS_OF(plan->where, plan->name),
                            c->is == HD_COPY ? "copies" : transfer_word(c->is),
                            (unsigned long long)count,
                            (unsigned long long)at[i], i + 1, r->name,
                            (unsigned long long)extent);
    }
    return HD_OK;
}

// It is converted here only to see that it can be; add_command() does it again,
// into the values of the graph, when nothing can fail any more. Room is made
// for the largest type, which needs no second look at it.
static hd_status plan_pattern(struct hd_graph *graph,
                              struct hdi_pass_plan *plan,
                              const struct hd_command *c,
                              struct hd_error *error)
{
    char problem[160];
    unsigned char value[HDI_VALUE_SIZE];
    const struct hdi_resource *r = hdi_graph_find(graph, c->to);

    if (!c->pattern || c->pattern_count < 1 || c->pattern_count > 16)
        return hdi_fail(error, HD_EINVAL,
                        HDI_PASS "it fills '%s' with %u numbers; give 1, or as "
                                 "many as an element has components",
                        HDI_PASS_OF(plan->where, plan->name), r->name,
                        c->pattern_count);
    if (hdi_type_convert(r->type, c->pattern, c->pattern_count, value,
                         problem) != HD_OK)
        return hdi_fail(error, HD_EGRAPH, HDI_PASS "it fills '%s': %s",
                        HDI_PASS_OF(plan->where, plan->name), r->name, problem);
    plan->values += HDI_VALUE_SIZE;
    return HD_OK;
}

// Without a region all bytes are copied, whatever the types are; with one,
// elements are, which must be of one size. The region of the target is checked
// by hdi_plan_transfer().
static hd_status plan_copy(struct hd_graph *graph,
                           const struct hdi_pass_plan *plan,
                           const struct hd_command *c, struct hd_error *error)
{
    if (!hdi_planned(graph, c->from))
        return hdi_fail(error, HD_EINVAL,
                        HDI_PASS "it copies resource '%s', which it neither "
                                 "reads nor writes",
                        HDI_PASS_OF(plan->where, plan->name),
                        hdi_plan_name(graph, c->from));
    const struct hdi_resource *a = hdi_graph_find(graph, c->from);
    const struct hdi_resource *b = hdi_graph_find(graph, c->to);
    if (a == b)
        return hdi_fail(error, HD_EINVAL,
                        HDI_PASS "it copies resource '%s' to itself",
                        HDI_PASS_OF(plan->where, plan->name), a->name);
    if (c->region.count[0] == 0 && a->size != b->size)
        return hdi_fail(error, HD_EGRAPH,
                        HDI_PASS "it copies '%s' (%llu bytes) to '%s' (%llu "
                                 "bytes); they must be of the same size",
                        HDI_PASS_OF(plan->where, plan->name), a->name,
                        (unsigned long long)a->size, b->name,
                        (unsigned long long)b->size);
    if (c->region.count[0] == 0)
        return HD_OK;
    if (a->type->size != b->type->size)
        return hdi_fail(error, HD_EGRAPH,
                        HDI_PASS "it copies elements of type '%s' of '%s' to "
                                 "elements of type '%s' of '%s'",
                        HDI_PASS_OF(plan->where, plan->name), a->type->name,
                        a->name, b->type->name, b->name);
    return check_region(plan, c, a, c->region.from, error);
}

static hd_status plan_layout(struct hd_graph *graph,
                             const struct hdi_pass_plan *plan,
                             const struct hd_command *c, struct hd_error *error)
{
    if (!hdi_planned(graph, c->from) || c->from == c->to)
        return hdi_fail(error, HD_EINVAL,
                        HDI_PASS "it lays out resource '%s', which it neither "
                                 "reads nor writes, or which is the same",
                        HDI_PASS_OF(plan->where, plan->name),
                        hdi_plan_name(graph, c->from));
    const struct hdi_resource *a = hdi_graph_find(graph, c->from);
    const struct hdi_resource *b = hdi_graph_find(graph, c->to);
    if (a->map || b->map)
        return hdi_fail(
            error, HD_ENOTSUP, HDI_PASS "it lays out '%s', which is a field",
            HDI_PASS_OF(plan->where, plan->name), a->map ? a->name : b->name);
    if (!hdi_layout_vectors(a, b))
        return hdi_fail(error, HD_EGRAPH,
                        HDI_PASS "it lays out '%s' (%s) as '%s' (%s); one has "
                                 "vectors, and the other, with one more axis, "
                                 "a plane for each of their components",
                        HDI_PASS_OF(plan->where, plan->name), a->name,
                        a->type->name, b->name, b->type->name);
    return HD_OK;
}

// The accesses were planned before, so this sees what the pass says it reads
// and writes. Prefetches and flushes change nothing: any access will do, and
// their regions are not looked at.
hd_status hdi_plan_transfer(struct hd_graph *graph, struct hdi_pass_plan *plan,
                            const struct hd_command *c, struct hd_error *error)
{
    if (c->is == HD_SYNC)
        return HD_OK;

    bool writes = c->is != HD_PREFETCH && c->is != HD_FLUSH;
    const struct hdi_access *to = hdi_planned(graph, c->to);
    if (!to || (writes && !to->writes))
        return hdi_fail(error, HD_EINVAL,
                        HDI_PASS "it %s resource '%s', which it does not %s",
                        HDI_PASS_OF(plan->where, plan->name),
                        transfer_word(c->is), hdi_plan_name(graph, c->to),
                        writes ? "write" : "use");
    if (c->is == HD_COPY)
        HDI_TRY(plan_copy(graph, plan, c, error));
    if (c->is == HD_LAYOUT)
        return plan_layout(graph, plan, c, error);
    if (c->is == HD_FILL)
        HDI_TRY(plan_pattern(graph, plan, c, error));
    return c->region.count[0] && writes
               ? check_region(plan, c, hdi_graph_find(graph, c->to),
                              c->region.to, error)
               : HD_OK;
}
