#include "graph/calls/calls.h"

#include <stdlib.h>
#include <string.h>

enum {
    LOOK_BACK = 8 // functions that are compared before one is stored again
};

// Lists -----------------------------------------------------------------------

static bool grow(void **items, uint32_t *room, uint32_t needed, size_t size)
{
    if (needed <= *room)
        return true;

    uint32_t wanted = *room ? *room * 2 : 8;
    void *grown = realloc(*items, wanted * size);
    if (!grown)
        return false;
    *items = grown;
    *room = wanted;
    return true;
}

static bool add_block(struct hdi_calls_list *list, size_t size)
{
    if (!grow((void **)&list->blocks, &list->capacity, list->block_count + 1,
              sizeof(*list->blocks)))
        return false;
    char *block = malloc(HDI_CALLS_BLOCK * size);
    if (!block)
        return false;
    list->blocks[list->block_count++] = block;
    return true;
}

static inline bool make_room(struct hdi_calls_list *list, uint32_t more,
                             size_t size)
{
    while ((uint64_t)list->count + more >
           (uint64_t)list->block_count * HDI_CALLS_BLOCK)
        if (!add_block(list, size))
            return false;
    return true;
}

static void free_list(struct hdi_calls_list *list)
{
    for (uint32_t i = 0; i < list->block_count; i++)
        free(list->blocks[i]);
    free(list->blocks);
}

struct hdi_calls *hdi_calls_create(void)
{
    struct hdi_calls *calls = calloc(1, sizeof(*calls));

    if (calls && pthread_mutex_init(&calls->lock, NULL) != 0) {
        free(calls);
        return NULL;
    }
    return calls;
}

void hdi_calls_free(struct hdi_calls *calls)
{
    if (!calls)
        return;
    free_list(&calls->passes);
    free_list(&calls->uses);
    free_list(&calls->resources);
    free(calls->functions);
    free(calls->kinds);
    free(calls->labels);
    free(calls->orders);
    free(calls->first);
    free(calls->after);
    free((void *)calls->left);
    free(calls->shared);
    free(calls->jobs);
    pthread_mutex_destroy(&calls->lock);
    free(calls);
}

// Resources -------------------------------------------------------------------

static uint32_t *resource_at(const struct hdi_calls *calls, uint32_t index)
{
    return hdi_calls_at(&calls->resources, index, sizeof(uint32_t));
}

const struct hdi_calls_kind *hdi_calls_newest(const struct hdi_calls *calls)
{
    return calls->kind_count ? &calls->kinds[calls->kind_count - 1] : NULL;
}

bool hdi_calls_add_resource(struct hdi_calls *calls,
                            const struct hdi_calls_kind *kind)
{
    if (calls->resources.count == HDI_CALLS_MOST ||
        !make_room(&calls->resources, 1, sizeof(uint32_t)) ||
        (kind && !grow((void **)&calls->kinds, &calls->kind_room,
                       calls->kind_count + 1, sizeof(*calls->kinds))))
        return false;
    if (kind)
        calls->kinds[calls->kind_count++] = *kind;
    *resource_at(calls, calls->resources.count++) = calls->kind_count - 1;
    return true;
}

// Passes ----------------------------------------------------------------------

static bool are_there(const struct hdi_calls *calls,
                      const hd_resource *resources, unsigned count)
{
    bool good = true;

    for (unsigned i = 0; i < count; i++)
        good = good && resources[i] - 1 < calls->resources.count;
    return good;
}

static bool is_fit(const struct hdi_calls *calls,
                   const struct hd_call_params *p)
{
    for (unsigned i = 0; i < p->read_count; i++)
        if (p->reads[i] - 1 >= calls->resources.count ||
            !(*resource_at(calls, p->reads[i] - 1) & HDI_CALLS_WRITTEN))
            return false;
    for (unsigned i = 0; i < p->after_count; i++)
        if (p->after[i] - 1 >= calls->passes.count)
            return false;
    return are_there(calls, p->writes, p->write_count) &&
           are_there(calls, p->overwrites, p->overwrite_count);
}

static void add_uses(struct hdi_calls *calls, const uint32_t *handles,
                     unsigned count, enum hdi_calls_how how)
{
    for (unsigned i = 0; i < count; i++)
        *(uint32_t *)hdi_calls_at(&calls->uses, calls->uses.count++,
                                  sizeof(uint32_t)) =
            (handles[i] - 1) << 2 | (uint32_t)how;
}

// The same function again, as a rule; UINT32_MAX without memory.
static uint32_t find_function(struct hdi_calls *calls,
                              hdi_calls_function function)
{
    uint32_t count = calls->function_count;

    for (uint32_t i = count; i > 0 && count - i < LOOK_BACK; i--)
        if (calls->functions[i - 1] == function)
            return i - 1;
    if (!grow((void **)&calls->functions, &calls->function_room, count + 1,
              sizeof(*calls->functions)))
        return UINT32_MAX;
    calls->functions[count] = function;
    return calls->function_count++;
}

bool hdi_calls_add(struct hdi_calls *calls, const struct hd_call_params *params,
                   const struct hdi_calls_label *label)
{
    uint64_t uses = (uint64_t)params->read_count + params->write_count +
                    params->overwrite_count + params->after_count;
    uint32_t index = calls->passes.count;

    if (index == HDI_CALLS_MOST || uses > HDI_CALLS_MOST ||
        calls->uses.count + uses > UINT32_MAX || !is_fit(calls, params) ||
        !make_room(&calls->passes, 1, sizeof(struct hdi_calls_pass)) ||
        !make_room(&calls->uses, (uint32_t)uses, sizeof(uint32_t)) ||
        (label && !grow((void **)&calls->labels, &calls->label_room,
                        calls->label_count + 1, sizeof(*calls->labels))))
        return false;
    uint32_t function = find_function(calls, params->call);
    if (function == UINT32_MAX)
        return false;

    calls->linked = false;
    calls->passes.count++;
    *hdi_calls_pass(calls, index) =
        (struct hdi_calls_pass){function, calls->uses.count, params->data};
    add_uses(calls, params->reads, params->read_count, HDI_CALLS_READS);
    add_uses(calls, params->writes, params->write_count, HDI_CALLS_WRITES);
    add_uses(calls, params->overwrites, params->overwrite_count,
             HDI_CALLS_OVERWRITES);
    add_uses(calls, params->after, params->after_count, HDI_CALLS_AFTER);
    for (unsigned i = 0; i < params->write_count; i++)
        *resource_at(calls, params->writes[i] - 1) |= HDI_CALLS_WRITTEN;
    for (unsigned i = 0; i < params->overwrite_count; i++)
        *resource_at(calls, params->overwrites[i] - 1) |= HDI_CALLS_WRITTEN;
    if (label) {
        calls->labels[calls->label_count] = *label;
        calls->labels[calls->label_count++].pass = index;
    }
    return true;
}

bool hdi_calls_order(struct hdi_calls *calls, uint32_t from, uint32_t to,
                     const char *where)
{
    if (from > to)
        return false;
    if (to + 1 == calls->passes.count && !where[0]) {
        if (calls->uses.count == UINT32_MAX ||
            !make_room(&calls->uses, 1, sizeof(uint32_t)))
            return false;
        calls->linked = false;
        add_uses(calls, &(uint32_t){from + 1}, 1, HDI_CALLS_AFTER);
        return true;
    }
    if (!grow((void **)&calls->orders, &calls->order_room,
              calls->order_count + 1, sizeof(*calls->orders)))
        return false;
    calls->linked = false;
    calls->orders[calls->order_count++] =
        (struct hdi_calls_order){from, to, where};
    return true;
}

struct hdi_calls_label hdi_calls_label(const struct hdi_calls *calls,
                                       uint32_t pass)
{
    uint32_t low = 0, high = calls->label_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (calls->labels[middle].pass < pass)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < calls->label_count && calls->labels[low].pass == pass)
        return calls->labels[low];
    return (struct hdi_calls_label){pass, "", ""};
}
