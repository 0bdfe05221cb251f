// What a launch, or a box of its work-groups, touches of its arguments.
#include "kernel/footprint/footprint.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/footprint/boxes.h"
#include "kernel/footprint/scope.h"
#include "kernel/program.h"

// Whether the kernel asks for local or group ids along an axis: then its global
// ids have to be tied to these, else they are simpler by themselves.
static bool uses(const struct hdi_footprint *p, unsigned d)
{
    for (uint32_t n = 0; n < p->node_count; n++)
        if ((p->nodes[n].op == HDI_FOOTPRINT_LOCAL_ID ||
             p->nodes[n].op == HDI_FOOTPRINT_GROUP_ID) &&
            p->nodes[n].a == d)
            return true;
    return false;
}

// The ranges of the ids of a box; NULL: all groups.
//
//     split      id = offset + group * local + local id     exact but for
//                                                           ragged ends
//     else       id is one variable, from the first to the last of the box
//     guessed    the size of groups is not known: all three vary freely
static void begin_ids(struct hdi_evaluation *e, const struct hd_piece *piece)
{
    for (unsigned d = 0; d < 3; d++) {
        uint64_t global = e->range->global[d], local = e->local[d];
        uint64_t first = 0, end = global;
        e->first_hi[V_LOCAL + d] =
            (int64_t)(local && local < global ? local : global) - 1;
        e->first_hi[V_GROUP + d] =
            (int64_t)(local ? (global + local - 1) / local : global) - 1;
        if (piece) {
            first = piece->first[d] * local;
            end = (piece->first[d] + piece->count[d]) * local;
            end = end > global ? global : end;
            e->first_lo[V_GROUP + d] = (int64_t)piece->first[d];
            e->first_hi[V_GROUP + d] =
                (int64_t)(piece->first[d] + piece->count[d]) - 1;
        }
        e->first_lo[V_GLOBAL + d] = (int64_t)(e->range->offset[d] + first);
        e->first_hi[V_GLOBAL + d] = (int64_t)(e->range->offset[d] + end) - 1;
        bool groups = uses(e->footprint, d);
        e->split[d] = groups && local > 0;
        e->guessed |= groups && local == 0;
        e->ragged |= e->split[d] && end == global && global % local != 0;
    }
}

// Turns begin at 0 and are open; values that are not known may be anything.
// Nodes take variables in order, as far as there are any.
static void begin_rest(struct hdi_evaluation *e)
{
    const struct hdi_footprint *p = e->footprint;
    unsigned next = V_FREE;

    for (unsigned v = V_TURNS; v < VARIABLES; v++) {
        e->first_lo[v] = v < V_FREE ? 0 : -hdi_most + 1;
        e->first_hi[v] = v < V_FREE ? hdi_most_turns : hdi_most - 1;
    }
    for (uint32_t n = 0; n < p->node_count; n++) {
        bool is_free = p->nodes[n].op == HDI_FOOTPRINT_ANY ||
                       p->nodes[n].op == HDI_FOOTPRINT_GROWS ||
                       p->nodes[n].op == HDI_FOOTPRINT_SHRINKS;
        e->free_variable[n] = is_free && next < VARIABLES ? next++ : VARIABLES;
    }
}

// False without memory; end() comes in any case.
static bool begin(struct hdi_evaluation *e, const struct hd_piece *piece)
{
    uint32_t nodes = e->footprint->node_count + 1;

    e->forms = calloc(nodes, sizeof(*e->forms));
    e->free_variable = calloc(nodes, sizeof(*e->free_variable));
    e->needed = calloc(nodes, sizeof(*e->needed));
    if (!e->forms || !e->free_variable || !e->needed)
        return false;
    begin_ids(e, piece);
    begin_rest(e);
    return true;
}

static void end(struct hdi_evaluation *e)
{
    free(e->needed);
    free(e->free_variable);
    free(e->forms);
}

static bool is_accessed(const struct hdi_footprint *p, uint32_t scope)
{
    for (uint32_t i = 0; i < p->access_count; i++)
        if (p->accesses[i].scope == scope)
            return true;
    return false;
}

// One scope. What is read goes to boxes [0] of its argument, what is written to
// [1], and what cannot be told as a box makes that one `all`.
static void collect(struct hdi_evaluation *e, uint32_t scope,
                    struct hdi_footprint_boxes (*boxes)[2])
{
    const struct hdi_footprint *p = e->footprint;
    bool exact = false;

    if (!is_accessed(p, scope)) // it is there for its work
        return;
    hdi_evaluate_scope(e, scope, &exact);
    for (uint32_t i = 0; i < p->access_count && !e->empty; i++) {
        const struct hdi_footprint_access *access = &p->accesses[i];
        struct hdi_footprint_box box;
        if (access->scope != scope)
            continue;
        bool known =
            access->at != HDI_FOOTPRINT_ALL &&
            hdi_box_make(e, &e->forms[access->at], access->size, exact, &box);
        for (unsigned w = 0; w < 2; w++) {
            if (access->writes != w && access->writes != 2)
                continue;
            if (known)
                hdi_boxes_add(&boxes[access->arg][w], &box);
            else
                boxes[access->arg][w].all = true;
        }
    }
}

// What holds without knowing anything: memory may be read, and written if its
// type allows that.
static void tell_all(const struct hd_kernel *kernel,
                     struct hd_footprint *footprints)
{
    for (unsigned i = 0; i < kernel->info.arg_count; i++) {
        const struct hd_kernel_arg *arg = &kernel->args[i].shown;
        bool memory = arg->kind == HD_ARG_GLOBAL ||
                      arg->kind == HD_ARG_CONSTANT || arg->kind == HD_ARG_IMAGE;
        static const struct hd_touched nothing = {.exact = true};
        static const struct hd_touched everything = {.kind = HD_TOUCHES_ALL};
        footprints[i].read = memory ? everything : nothing;
        footprints[i].write =
            memory && hdi_kernel_may_write(arg) ? everything : nothing;
    }
}

// `footprints` are filled with the widest answer already, and replaced argument
// by argument. `e` gets its arrays here, which are gone afterwards. HD_ENOMEM:
// nothing was replaced.
static hd_status tell(struct hdi_evaluation *e, const struct hd_piece *piece,
                      struct hd_footprint *footprints, struct hd_error *error)
{
    const struct hdi_footprint *p = e->footprint;
    unsigned count = e->kernel->info.arg_count;
    struct hdi_footprint_boxes(*boxes)[2] = calloc(count + 1, sizeof(*boxes));
    bool ok = begin(e, piece) && boxes;

    if (ok) {
        for (uint32_t s = 0; s < p->scope_count; s++)
            collect(e, s, boxes);
        for (unsigned i = 0; i < count; i++) {
            const struct hd_kernel_arg *arg = &e->kernel->args[i].shown;
            bool image = arg->kind == HD_ARG_IMAGE && e->images && e->images[i];
            uint64_t offset = image ? 0 : e->args[i].offset;
            if (arg->kind != HD_ARG_GLOBAL && arg->kind != HD_ARG_CONSTANT &&
                !image)
                continue;
            footprints[i].read = hdi_boxes_touched(&boxes[i][0], offset);
            if (!image || hdi_kernel_may_write(arg))
                footprints[i].write = hdi_boxes_touched(&boxes[i][1], offset);
        }
    }
    end(e);
    free(boxes);
    return ok ? HD_OK : hdi_fail(error, HD_ENOMEM, "no memory for footprints");
}

// 2^40 along an axis keeps ids, times sizes of types, far below 2^62.
static hd_status check(const struct hd_kernel *kernel,
                       const struct hd_range *range, unsigned arg_count,
                       const struct hd_piece *piece, struct hd_error *error)
{
    bool sized = range->local[0] > 0;

    if (arg_count != kernel->info.arg_count)
        return hdi_fail(error, HD_EINVAL,
                        "kernel '%s' has %u arguments, not %u",
                        kernel->info.name, kernel->info.arg_count, arg_count);
    if (range->dims < 1 || range->dims > 3)
        return hdi_fail(error, HD_EINVAL,
                        "a range has 1 to 3 dimensions, not %u", range->dims);
    for (unsigned d = 0; d < range->dims; d++)
        if (range->global[d] > UINT64_C(1) << 40 ||
            range->offset[d] > UINT64_C(1) << 40)
            return hdi_fail(error, HD_ELIMIT,
                            "footprints are for ranges of up to 2^40 "
                            "work-items along an axis");
    if (piece && !sized && kernel->info.required_local[0] == 0)
        return hdi_fail(error, HD_EINVAL,
                        "a box of work-groups needs a work-group size: set "
                        "`local` of the range");
    for (unsigned d = 0; piece && d < range->dims; d++) {
        uint64_t local =
            sized ? range->local[d] : kernel->info.required_local[d];
        uint64_t groups = local ? (range->global[d] + local - 1) / local : 0;
        if (piece->first[d] > groups ||
            piece->count[d] > groups - piece->first[d])
            return hdi_fail(error, HD_EINVAL,
                            "the box of work-groups reaches beyond the %llu "
                            "of the range",
                            (unsigned long long)groups);
    }
    return HD_OK;
}

// Axes that are not there have one work-item, so that what follows sees three.
static void take_range(struct hdi_evaluation *e, struct hd_range *range)
{
    const struct hd_kernel_info *info = &e->kernel->info;

    for (unsigned d = 0; d < 3; d++) {
        bool is_there = d < range->dims;
        range->global[d] = is_there ? range->global[d] : 1;
        range->offset[d] = is_there ? range->offset[d] : 0;
        e->local[d] = info->required_local[0] > 0 ? info->required_local[d]
                      : !is_there                 ? 1
                      : range->local[0] > 0       ? range->local[d]
                                                  : 0;
    }
}

// An empty range or box touches nothing, exactly. A kernel of which nothing is
// known gets the widest answer.
hd_status hdi_kernel_footprint(const struct hd_kernel *kernel,
                               const struct hd_range *range,
                               const struct hd_arg *args, unsigned arg_count,
                               const struct hd_piece *piece,
                               const struct hdi_image *const *images,
                               struct hd_footprint *footprints,
                               struct hd_error *error)
{
    struct hd_range all = *range;
    struct hd_piece box;
    bool empty = false;

    HDI_TRY(check(kernel, range, arg_count, piece, error));
    if (piece)
        box = *piece;
    struct hdi_evaluation e = {.footprint = kernel->footprint,
                               .kernel = kernel,
                               .range = &all,
                               .args = args,
                               .images = images};
    take_range(&e, &all);
    for (unsigned d = 0; d < 3; d++) {
        if (d >= range->dims) {
            box.first[d] = 0;
            box.count[d] = 1;
        }
        empty |= all.global[d] == 0 || (piece && box.count[d] == 0);
    }
    tell_all(kernel, footprints);
    if (empty) {
        for (unsigned i = 0; i < arg_count; i++)
            footprints[i] =
                (struct hd_footprint){.read.exact = true, .write.exact = true};
        return HD_OK;
    }
    return kernel->footprint->known & HDI_FOOTPRINT_KNOWN
               ? tell(&e, piece ? &box : NULL, footprints, error)
               : HD_OK;
}

hd_status hd_kernel_footprint(const struct hd_kernel *kernel,
                              const struct hd_range *range,
                              const struct hd_arg *args, unsigned arg_count,
                              const struct hd_piece *piece,
                              struct hd_footprint *footprints,
                              struct hd_error *error)
{
    return hdi_kernel_footprint(kernel, range, args, arg_count, piece, NULL,
                                footprints, error);
}

// Work ------------------------------------------------------------------------

// Ball and Larus ("Branch prediction for free", 1993) found that branches of
// loops go round in 88 of 100 cases: about so many turns. A bound beyond
// MAX_TURNS is that of a type: nothing is known of the number in it.
enum {
    TURNS = 8, // of a loop of which no bound is known
    MAX_TURNS = 1 << 30
};

static double turns_of(const struct hdi_evaluation *e, unsigned loop)
{
    unsigned v = V_TURNS + loop;

    return e->open[v] || e->hi[v] - e->lo[v] >= MAX_TURNS
               ? TURNS
               : (double)(e->hi[v] - e->lo[v] + 1);
}

// How many of a variable's values are left by the conditions of the scope.
static double share(const struct hdi_evaluation *e, unsigned v)
{
    return (double)(e->hi[v] - e->lo[v] + 1) /
           (double)(e->first_hi[v] - e->first_lo[v] + 1);
}

// How many of the work-items get there.
static double share_of_items(const struct hdi_evaluation *e)
{
    double all = 1;

    for (unsigned d = 0; d < 3; d++)
        all *= e->split[d] ? share(e, V_LOCAL + d) * share(e, V_GROUP + d)
                           : share(e, V_GLOBAL + d);
    return all;
}

// Of one of all work-items, on the average.
static double steps_of(struct hdi_evaluation *e,
                       const struct hdi_footprint_work *work)
{
    double steps = work->steps;
    bool exact;

    hdi_evaluate_scope(e, work->scope, &exact);
    for (unsigned i = 0; i < HDI_FOOTPRINT_LOOPS; i++)
        steps *= work->loops >> i & 1 ? turns_of(e, i) : 1;
    return e->empty ? 0 : steps * share_of_items(e);
}

double hdi_kernel_steps(const struct hd_kernel *kernel,
                        const struct hd_range *range, const struct hd_arg *args)
{
    const struct hdi_footprint *p = kernel->footprint;
    struct hd_range all = *range;
    struct hdi_evaluation e = {
        .footprint = p, .kernel = kernel, .range = &all, .args = args};
    double steps = 0;

    if (!p || p->work_count == 0)
        return 0;
    take_range(&e, &all);
    double items =
        (double)all.global[0] * (double)all.global[1] * (double)all.global[2];
    if (items > 0 && begin(&e, NULL))
        for (uint32_t i = 0; i < p->work_count; i++)
            steps += steps_of(&e, &p->works[i]);
    end(&e);
    return steps * items;
}
