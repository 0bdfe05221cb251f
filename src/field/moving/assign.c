// A blocking call steps it to the end itself; of what is started and not waited
// for a thread does it, and workers copy (mover.c).
#include "field/moving/assign.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "field/memory/mirror.h"

// Before ----------------------------------------------------------------------

static bool grids_equal(const struct hd_grid *a, const struct hd_grid *b)
{
    for (unsigned i = 0; a->rank == b->rank && i < a->rank; i++)
        if (a->extent[i] != b->extent[i] || a->offset[i] != b->offset[i])
            return false;
    return a->rank == b->rank;
}

static hd_status check(const struct hd_field *field, const struct hd_view *view,
                       struct hd_error *error)
{
    if (!grids_equal(&field->map->grid, &view->grid))
        return hdi_fail(error, HD_EINVAL,
                        "the grids of the map and of the view differ");
    if (field->element != view->element)
        return hdi_fail(error, HD_EINVAL,
                        "elements of %llu bytes cannot be given values of %llu",
                        (unsigned long long)field->element,
                        (unsigned long long)view->element);
    if (view->field_ == field)
        return hdi_fail(error, HD_EINVAL,
                        "a field cannot be given values of itself");
    if (view->field_ && view->field_->cluster != field->cluster)
        return hdi_fail(error, HD_EINVAL, "the fields are of two clusters");
    return HD_OK;
}

static hd_status find_route(struct hdi_assign *a)
{
    struct hdi_affine affine = {{0}, {0}, {0}};

    memcpy(affine.axis, a->view.axis_, sizeof(affine.axis));
    memcpy(affine.start, a->view.start_, sizeof(affine.start));
    memcpy(affine.step, a->view.step_, sizeof(affine.step));
    return hdi_cluster_route(a->cluster, a->view.field_->map, a->field->map,
                             &affine, &a->route, &a->error);
}

hd_status hdi_assign_prepare(struct hdi_assign *a, struct hd_field *field,
                             const struct hd_view *view)
{
    *a = (struct hdi_assign){
        .cluster = field->cluster, .field = field, .view = *view};
    hd_status status = check(field, view, &a->error);

    return status == HD_OK && view->field_ ? find_route(a) : status;
}

void hdi_assign_end(struct hdi_assign *a)
{
    hdi_agreement_abandon(&a->agreement);
    if (a->moves)
        hdi_moving_end(&a->moving);
    hdi_cluster_route_done(a->cluster, a->route);
}

// Stages ----------------------------------------------------------------------

// Those that are started get tags by their number, which is the same on all
// processes, so that messages of one never meet another's.
static uint32_t tag_of(struct hdi_assign *a, enum hdi_assign_stage stage)
{
    uint32_t own = HDI_TAG_STARTED + 2 * (uint32_t)(a->number % HDI_CALLS);

    if (stage == HDI_ASSIGN_WORK)
        return a->event ? own + 1 : HDI_TAG_MOVE;
    if (!a->event)
        return hdi_call_tag(a->cluster->calls++);
    return stage == HDI_ASSIGN_CALL ? hdi_call_tag(a->number) : own;
}

// Begins only: hdi_assign_step() goes on with it.
static void agree(struct hdi_assign *a, enum hdi_assign_stage stage,
                  const char *call, uint64_t digest, hd_status status)
{
    a->status = status;
    a->stage = stage;
    hdi_agreement_begin(&a->agreement, a->cluster, tag_of(a, stage), call,
                        digest, status, &a->error);
}

// What must be equal on all processes; addresses are not.
static uint64_t digest_of(const struct hdi_assign *a)
{
    const struct hd_view *view = &a->view;
    uint64_t digest = hdi_mix(a->field->number, view->field_ != NULL);

    return view->field_ ? hdi_mix(hdi_mix(digest, view->field_->number),
                                  hdi_view_digest(view))
                        : digest;
}

void hdi_assign_call(struct hdi_assign *a, hd_status status)
{
    agree(a, HDI_ASSIGN_CALL,
          a->event ? "hd_field_assign_start()" : "hd_field_assign()",
          digest_of(a), status);
}

// Keep the first failure.
static void note(struct hdi_assign *a, hd_status status,
                 const struct hd_error *error)
{
    if (status == HD_OK || a->status != HD_OK)
        return;
    a->status = status;
    a->error = *error;
}

static void copy_here(struct hdi_assign *a)
{
    struct hd_error error = {0};

    if (!a->route) {
        note(a, hdi_field_take(a->field, &a->view, &error), &error);
        return;
    }
    for (uint32_t n = 0; n < a->cluster->here; n++)
        note(a, hdi_moving_copy(&a->moving, n, &error), &error);
}

// All processes have agreed to do it, so from here on nobody stops before its
// messages are over, even if it has failed. The old values are gone: what
// devices or other nodes hold of them is out of date.
static void begin_work(struct hdi_assign *a)
{
    a->stage = HDI_ASSIGN_WORK;
    hdi_mirrors_forget(a->field);
    a->field->version++;
    a->sent = !a->route;
    if (a->route)
        hdi_moving_begin(&a->moving, a->field, a->view.field_, a->route,
                         tag_of(a, HDI_ASSIGN_WORK), &a->unsent);
    a->moves = a->route;
    if (a->event)
        a->by->copy(a);
    else
        copy_here(a);
}

// Returns false when there is nothing to do but wait.
// The outcome of the parts is looked at when all have copied: before, workers
// write it.
static bool work(struct hdi_assign *a, bool *moved)
{
    hd_status status = HD_OK;

    if (!a->sent && hdi_moving_step(&a->moving, moved, &status)) {
        a->sent = *moved = true;
        note(a, status, &a->unsent);
    }
    if (!a->sent || (a->event && !a->by->copied(a)))
        return false;
    for (uint32_t i = 0; i < a->parts; i++)
        note(a, a->part[i].status, &a->part[i].error);
    if (a->lost)
        a->stage = HDI_ASSIGN_OVER;
    else
        agree(a, HDI_ASSIGN_END, "hd_field_assign(): end", 0, a->status);
    return true;
}

// Whether what it comes after has ended; then how.
static bool is_ready(struct hdi_assign *a)
{
    if (!a->by->ready(a))
        return false;
    note(a, a->before, &a->why);
    return true;
}

// One stage a call at most; the caller calls again while something moves.
bool hdi_assign_step(struct hdi_assign *a, bool *moved)
{
    enum hdi_assign_stage before = a->stage;
    hd_status outcome;

    switch (a->stage) {
    case HDI_ASSIGN_CALL:
    case HDI_ASSIGN_READY:
    case HDI_ASSIGN_END:
        if (!hdi_agreement_step(&a->agreement, moved, &outcome, &a->error))
            return false;
        a->status = outcome;
        if (a->event && a->agreement.mine.disagree == HDI_OTHER_CALL)
            hdi_cluster_part(a->cluster, &a->error);
        if (a->event && a->stage == HDI_ASSIGN_CALL)
            a->stage = HDI_ASSIGN_WAIT;
        else if (a->status != HD_OK || a->stage == HDI_ASSIGN_END)
            a->stage = HDI_ASSIGN_OVER;
        else
            begin_work(a);
        break;
    case HDI_ASSIGN_WAIT: {
        bool called = a->status == HD_OK;

        if (!is_ready(a))
            return false;
        if (called)
            agree(a, HDI_ASSIGN_READY, "hd_field_assign_start(): ready", 0,
                  a->status);
        else // which all know
            a->stage = HDI_ASSIGN_OVER;
        break;
    }
    case HDI_ASSIGN_WORK:
        if (!work(a, moved))
            return false;
        break;
    case HDI_ASSIGN_OVER:
        return true;
    }
    *moved = *moved || a->stage != before;
    return a->stage == HDI_ASSIGN_OVER;
}

uint32_t hdi_assign_peer(const struct hdi_assign *a)
{
    return a->stage == HDI_ASSIGN_WORK ? hdi_moving_peer(&a->moving)
                                       : hdi_agreement_peer(&a->agreement);
}

// Workers may copy still, and its event may wait: these are waited for.
void hdi_assign_lost(struct hdi_assign *a, hd_status status,
                     const struct hd_error *why)
{
    note(a, status, why);
    hdi_agreement_abandon(&a->agreement);
    a->lost = true;
    if (a->stage == HDI_ASSIGN_WORK)
        a->sent = true;
    else if (a->event && a->stage == HDI_ASSIGN_CALL)
        a->stage = HDI_ASSIGN_WAIT;
    else
        a->stage = HDI_ASSIGN_OVER;
}

// Blocking --------------------------------------------------------------------

// Home first: sources that lie in a device's memory cannot be sent from there.
hd_status hd_field_assign(struct hd_field *field, const struct hd_view *view,
                          struct hd_error *error)
{
    const struct hdi_lane *lane = &field->cluster->lanes[0];
    struct hdi_assign assign, *a = &assign;
    struct hd_error why;
    struct hdi_patience patience = {0};
    hd_status status = hdi_assign_prepare(a, field, view);

    if (status == HD_OK && view->field_)
        status = hdi_mirrors_home(view->field_, &a->error);
    hdi_assign_call(a, status);
    for (bool moved = false; !hdi_assign_step(a, &moved); moved = false) {
        if (moved)
            patience = (struct hdi_patience){0};
        else if (!hdi_lane_bide(lane, &patience)) {
            status = hdi_lane_give_up(lane, hdi_assign_peer(a), &why);
            if (status != HD_OK)
                hdi_assign_lost(a, status, &why);
        }
    }
    field->cluster->differ = a->agreement.mine.disagree;
    hdi_assign_end(a);
    if (a->status != HD_OK && error)
        *error = a->error;
    return a->status;
}

hd_status hd_agile(struct hd_cluster *cluster, const struct hd_view *view,
                   const struct hd_map *map, struct hd_field **field,
                   struct hd_error *error)
{
    struct hd_field *f;

    HDI_TRY(hd_field_create(cluster, view->element, map, &f, error));
    hd_status status = hd_field_assign(f, view, error);
    if (status != HD_OK) {
        hd_field_destroy(f);
        return status;
    }
    *field = f;
    return HD_OK;
}
