// Agile fields: made, filled, laid out by another map, looked at.
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "field/memory/mirror.h"
#include "field/memory/replica.h"
#include "field/plan/copy.h"

enum {
    ALIGNMENT = 128 // of each node's memory [bytes]; a part's begins a page
};

// On failure the parts that were made stay the field's, for free_field().
static hd_status prepare(struct hd_cluster *cluster, uint64_t element,
                         const struct hd_map *map, struct hd_field *field,
                         struct hd_error *error)
{
    uint32_t nodes = map->nodes;

    if (nodes > cluster->nodes)
        return hdi_fail(error, HD_EINVAL,
                        "the map is for %u nodes, the cluster has %u", nodes,
                        cluster->nodes);
    if (element < 1 || element > HDI_MAX_ELEMENT)
        return hdi_fail(error, HD_EINVAL,
                        "an element has 1 to %d bytes, not %llu",
                        HDI_MAX_ELEMENT, (unsigned long long)element);
    field->begin = calloc(nodes, sizeof(*field->begin));
    field->store = calloc(nodes, sizeof(*field->store));
    field->replicas = calloc(cluster->here, sizeof(*field->replicas));
    bool room = field->begin && field->store && field->replicas &&
                hdi_mirrors_make(field);
    // Those of nodes here never fail later.
    for (uint32_t n = 0; room && n < nodes; n++)
        room = !hd_cluster_has(cluster, n) ||
               hdi_store_build(map, n, &field->store[n]);
    return room ? HD_OK : hdi_fail(error, HD_ENOMEM, "no memory for a field");
}

// Where each node's memory begins in its process's; the size of this one's.
// Computed by all processes for all nodes, so one finds a node's elements in
// another's memory. A node begins on a cache line, or a page if it is a part of
// the machine: a page lies in one NUMA domain.
static bool lay_out(struct hd_field *field, uint64_t *mine)
{
    uint64_t end = 0;
    uint64_t alignment =
        field->cluster->domains.domain ? hdi_page_size() : ALIGNMENT;

    *mine = 0;
    for (uint32_t n = 0; n < field->map->nodes; n++) {
        uint64_t size;

        if (n % field->cluster->here == 0)
            end = 0;
        field->begin[n] = end;
        if (__builtin_mul_overflow((uint64_t)hd_map_size(field->map, n),
                                   field->element, &size) ||
            size > UINT64_MAX / 4)
            return false;
        end = hdi_round_up(end + size, alignment);
        if (hd_cluster_has(field->cluster, n))
            *mine = end;
    }
    return true;
}

// The memory of each part of the machine comes to lie there.
// Before anybody touches the memory, or it would lie where that thread runs.
static void settle(const struct hd_field *field, uint64_t size)
{
    const struct hd_cluster *c = field->cluster;
    uint32_t first = hdi_cluster_first(c), nodes = field->map->nodes;
    char *memory = c->transport->reach(field->shared, c->net->node);

    for (uint32_t n = 0; n < c->domains.count && first + n < nodes; n++) {
        bool last = n + 1 == c->domains.count || first + n + 1 == nodes;
        uint64_t begin = field->begin[first + n];
        uint64_t end = last ? size : field->begin[first + n + 1];

        hdi_domains_settle(&c->domains, n, memory + begin, end - begin);
    }
}

static void free_field(struct hd_field *field)
{
    for (uint32_t n = 0; field->store && n < field->map->nodes; n++)
        hdi_store_free(&field->store[n]);
    for (uint32_t n = 0; field->replicas && n < field->cluster->here; n++)
        hdi_replicas_clear(&field->replicas[n]);
    hdi_mirrors_free(field);
    free(field->replicas);
    free(field->store);
    free(field->begin);
    hd_map_destroy(field->map);
    free(field);
}

// The agreement comes before the memory is shared, which is collective itself:
// whoever cannot take part has said so by then.
hd_status hd_field_create(struct hd_cluster *cluster, uint64_t element,
                          const struct hd_map *map, struct hd_field **field,
                          struct hd_error *error)
{
    struct hd_field *f = calloc(1, sizeof(*f));
    hd_status status = HD_OK;
    uint64_t size = 0;

    if (!f) {
        status = hdi_fail(error, HD_ENOMEM, "no memory for a field");
    } else {
        f->cluster = cluster;
        f->map = hdi_map_hold(map);
        f->element = element;
        status = prepare(cluster, element, map, f, error);
        if (status == HD_OK && !lay_out(f, &size))
            status = hdi_fail(error, HD_ELIMIT, "the field is too large");
    }
    status = hdi_cluster_agree(cluster, "hd_field_create()",
                               hdi_mix(map->digest, element), status, error);
    if (status == HD_OK)
        status = hdi_cluster_share(cluster, "hd_field_create(): memory", size,
                                   &f->shared, error);
    if (status != HD_OK) {
        if (f)
            free_field(f);
        return status;
    }
    settle(f, size);
    f->number = ++cluster->fields_made;
    pthread_mutex_lock(&cluster->lock);
    f->next = cluster->fields;
    cluster->fields = f;
    pthread_mutex_unlock(&cluster->lock);
    *field = f;
    return HD_OK;
}

void hd_field_destroy(struct hd_field *field)
{
    if (!field)
        return;

    struct hd_field **link = &field->cluster->fields;
    pthread_mutex_lock(&field->cluster->lock);
    while (*link != field)
        link = &(*link)->next;
    *link = field->next;
    pthread_mutex_unlock(&field->cluster->lock);
    field->cluster->transport->unshare(field->cluster->net, field->shared);
    free_field(field);
}

const struct hd_map *hd_field_map(const struct hd_field *field)
{
    return field->map;
}

uint64_t hd_field_element(const struct hd_field *field)
{
    return field->element;
}

// Tiles -----------------------------------------------------------------------

// A tile of a device's node comes home as a whole: who has the pointer may
// write at any time, and nothing would tell the device.
static bool find_tile(struct hd_field *field, const int64_t *index, bool block,
                      struct hd_tile *tile)
{
    const struct hd_map *map = field->map;
    int64_t ordinals[HD_MAX_RANK], corner[HD_MAX_RANK];
    struct hdi_spot spot;
    const struct hdi_store *store;

    if (!hdi_map_ordinals(map, index, ordinals) ||
        !hdi_map_spot(map, ordinals, &spot) ||
        !hd_cluster_has(field->cluster, spot.node))
        return false;
    if (hdi_mirror_of(field, spot.node)) {
        if (hdi_mirror_home_all(field, spot.node, NULL) != HD_OK)
            return false;
        hdi_mirror_forget(field, spot.node); // who has a tile may write it
    }
    if (block)
        hdi_map_block_of(map, ordinals, map->memory, &spot.box);
    for (unsigned i = 0; i < map->grid.rank; i++) {
        corner[i] = spot.box.offset[i];
        spot.at[i] -= ordinals[i] - corner[i];
    }
    char *memory = hdi_field_memory(field, spot.node, &store);
    if (!memory)
        return false;
    tile->grid = hdi_map_indices(map, &spot.box);
    tile->data =
        memory + hdi_store_place(store, &spot) * (int64_t)field->element;
    hdi_piece_steps(map, &spot.piece, tile->step);
    return true;
}

bool hd_field_segment(struct hd_field *field, const int64_t *index,
                      struct hd_tile *tile)
{
    return find_tile(field, index, false, tile);
}

bool hd_field_block(struct hd_field *field, const int64_t *index,
                    struct hd_tile *tile)
{
    return find_tile(field, index, true, tile);
}

// Values of memory and functions ----------------------------------------------

// Call a function for every element of a move.
// A view of a function has nothing to copy from: one call for each element.
struct evaluating {
    const struct hd_view *view;
    const struct hdi_move *move;
    const struct hdi_move_plan *plan;
    struct hdi_array to;
    char *memory;
    uint64_t element;
};

static void evaluate(const struct evaluating *e, unsigned axis, int64_t *index,
                     int64_t place)
{
    int64_t below[HD_MAX_RANK];

    if (axis == e->view->grid.rank) {
        hdi_view_below(e->view, index, below);
        e->view->function_(e->view->data_, below,
                           e->memory + place * (int64_t)e->element);
        return;
    }
    for (size_t s = 0; s < e->move->count[axis]; s++) {
        const struct hdi_span *span = &e->move->spans[axis][s];

        for (int64_t i = 0; i < span->length; i++) {
            index[axis] = e->view->grid.offset[axis] + span->from +
                          i * e->plan->relation[axis].step;
            evaluate(e, axis + 1, index,
                     place + (span->to + i) * e->to.step[axis]);
        }
    }
}

// A view of memory has no store: its steps are those of the view, composed with
// the multipliers of the array below. An axis of the view may be several below
// (a diagonal), so they add up.
static void copy_from_memory(const struct hd_view *view,
                             const struct hdi_move_plan *plan,
                             const struct hdi_move *move, struct hdi_array to,
                             char *memory)
{
    int64_t below[HD_MAX_RANK], place = 0, size = (int64_t)view->element;
    struct hdi_copy copy = {.rank = view->grid.rank, .element = view->element};

    hdi_view_below(view, view->grid.offset, below);
    for (unsigned k = 0; k < view->rank_; k++)
        place += below[k] * view->multiplier_[k];
    copy.from = view->memory_ + place * size;
    copy.to = memory + to.begin * size;
    for (unsigned i = 0; i < copy.rank; i++) {
        int64_t step = 0;

        for (unsigned k = 0; k < view->rank_; k++)
            if (view->axis_[k] == i)
                step += view->step_[k] * view->multiplier_[k];
        copy.axis[i] =
            (struct hdi_copy_axis){move->spans[i], move->count[i], step,
                                   step * plan->relation[i].step, to.step[i]};
    }
    hdi_copy_run(&copy);
}

static void take_move(struct hd_field *field, const struct hd_view *view,
                      const struct hdi_move_plan *plan,
                      const struct hdi_move *move)
{
    const struct hdi_store *store;
    char *memory = hdi_field_memory(field, move->to, &store);
    struct hdi_array to = hdi_move_target(plan, move, store);
    int64_t index[HD_MAX_RANK];
    struct evaluating e = {view, move, plan, to, memory, field->element};

    if (view->function_)
        evaluate(&e, 0, index, to.begin);
    else
        copy_from_memory(view, plan, move, to, memory);
}

// A map in which one node owns all: what memory and functions are laid out by.
static hd_status whole_map(const struct hd_grid *grid, struct hd_map **map,
                           struct hd_error *error)
{
    struct hd_map_params params = {.grid = *grid, .mesh = {1}};

    return hd_map_create(&params, map, error);
}

// No messages: every process has the memory, or can call the function. A plan
// with one node on the source side finds what each node here takes.
hd_status hdi_field_take(struct hd_field *field, const struct hd_view *view,
                         struct hd_error *error)
{
    struct hdi_affine affine = {{0}, {0}, {0}};
    struct hdi_move_plan *plan;
    struct hdi_moves moves = {0};
    struct hd_map *whole;

    for (unsigned i = 0; i < view->grid.rank; i++) {
        affine.axis[i] = i;
        affine.step[i] = 1;
    }
    HDI_TRY(whole_map(&view->grid, &whole, error));
    hd_status status =
        hdi_plan_create(whole, field->map, &affine, &plan, error);
    hd_map_destroy(whole);
    if (status != HD_OK)
        return status;
    for (uint32_t n = 0; status == HD_OK && n < field->map->nodes; n++) {
        if (!hd_cluster_has(field->cluster, n))
            continue;
        moves.count = 0;
        if (!hdi_plan_to(plan, n, &moves))
            status = hdi_fail(error, HD_ENOMEM, "no memory for a plan");
        for (size_t m = 0; status == HD_OK && m < moves.count; m++)
            take_move(field, view, plan, &moves.list[m]);
    }
    free(moves.list);
    hdi_plan_destroy(plan);
    return status;
}
