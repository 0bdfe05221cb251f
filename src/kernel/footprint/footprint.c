// The description of what a kernel touches, as data: freed, asked and checked.
// It comes from the compiler or out of a file, so a check is all that stands
// between a made-up file and reads out of bounds.
#include "kernel/footprint/footprint.h"

#include <stdlib.h>

#include "kernel/image.h"

void hdi_footprint_clear(struct hdi_footprint *p)
{
    free(p->nodes);
    free(p->conditions);
    free(p->scopes);
    free(p->accesses);
    free(p->works);
    *p = (struct hdi_footprint){0};
}

// By the order of the enum: operations with two operands lie between EITHER and
// UMAX, those that change the width are last. A new operation has to be put
// where it belongs.
unsigned hdi_footprint_operands(const struct hdi_footprint_node *node)
{
    if (node->op == HDI_FOOTPRINT_TURN ||
        (node->op >= HDI_FOOTPRINT_EITHER && node->op <= HDI_FOOTPRINT_UMAX))
        return 2;
    return node->op == HDI_FOOTPRINT_GROWS ||
           node->op == HDI_FOOTPRINT_SHRINKS || node->op >= HDI_FOOTPRINT_SEXT;
}

uint64_t hdi_footprint_asks(const struct hdi_footprint *p)
{
    uint64_t asked = p ? 0 : UINT64_MAX;

    for (uint32_t i = 0; p && i < p->node_count; i++)
        if (p->nodes[i].op == HDI_FOOTPRINT_ARG)
            asked |= UINT64_C(1) << (p->nodes[i].a < 63 ? p->nodes[i].a : 63);
    return asked;
}

// What evaluation takes for granted: operands come before, widths are 1 to 64
// bits, arguments, axes and loops are there. Fields that are not used are not
// looked at.
static bool is_valid_node(const struct hdi_footprint *p, uint32_t n,
                          uint32_t arg_count)
{
    const struct hdi_footprint_node *node = &p->nodes[n];
    unsigned operands = hdi_footprint_operands(node);

    if (node->op >= HDI_FOOTPRINT_OPS || node->bits == 0 || node->bits > 64 ||
        (operands > 0 && node->a >= n) || (operands > 1 && node->b >= n))
        return false;
    if (node->op == HDI_FOOTPRINT_ARG)
        return node->a < arg_count;
    if (node->op == HDI_FOOTPRINT_IMAGE)
        return node->a < arg_count && node->bits % 8 == 0 &&
               node->number >= 0 &&
               (uint64_t)node->number <=
                   sizeof(struct hdi_image) - node->bits / 8;
    if (node->op >= HDI_FOOTPRINT_GLOBAL_ID && node->op <= HDI_FOOTPRINT_OFFSET)
        return node->a < 3;
    if (node->op == HDI_FOOTPRINT_TURN)
        return node->number >= 0 && node->number < p->loops;
    if (node->op >= HDI_FOOTPRINT_SEXT)
        return node->number > 0 && node->number <= 64;
    return true;
}

// False at the first that is wrong. The sum of `first` and `count` is not
// formed, since it could overflow.
bool hdi_footprint_is_valid(const struct hdi_footprint *p, uint32_t arg_count)
{
    bool ok = p->known <= (HDI_FOOTPRINT_KNOWN | HDI_FOOTPRINT_KEEPS) &&
              p->loops <= HDI_FOOTPRINT_LOOPS;

    for (uint32_t n = 0; ok && n < p->node_count; n++)
        ok = is_valid_node(p, n, arg_count);
    for (uint32_t i = 0; ok && i < p->condition_count; i++) {
        const struct hdi_footprint_condition *c = &p->conditions[i];
        ok =
            c->relation < HDI_FOOTPRINT_RELATIONS && c->a < p->node_count &&
            c->b < p->node_count && c->again <= 1 &&
            (c->loop == HDI_FOOTPRINT_NO_LOOP ? !c->again : c->loop < p->loops);
    }
    for (uint32_t i = 0; ok && i < p->scope_count; i++)
        ok = p->scopes[i].exact <= 1 &&
             p->scopes[i].first <= p->condition_count &&
             p->scopes[i].count <= p->condition_count - p->scopes[i].first;
    for (uint32_t i = 0; ok && i < p->access_count; i++) {
        const struct hdi_footprint_access *a = &p->accesses[i];
        ok = a->arg < arg_count && a->scope < p->scope_count &&
             (a->at == HDI_FOOTPRINT_ALL || a->at < p->node_count) &&
             a->size > 0 && a->writes <= 2;
    }
    for (uint32_t i = 0; ok && i < p->work_count; i++)
        ok = p->works[i].scope < p->scope_count &&
             p->works[i].loops >> p->loops == 0;
    return ok;
}
