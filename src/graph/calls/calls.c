// Building a graph of calls: lists that grow at their ends. What a call adds is
// counted only when nothing can fail any more, so a call that fails leaves no
// trace but memory that is used later.
#include "graph/calls/calls.h"

#include <stdlib.h>
#include <string.h>

// Programs seldom have more functions than these in turn. One that is not found
// is stored again, which costs 8 bytes and is no error.
enum {
    LOOK_BACK = 8 // functions that are compared before one is stored again
};

// Lists -----------------------------------------------------------------------

// Doubles, from 8 on. False without memory: as it was.
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
    list->room += HDI_CALLS_BLOCK;
    return true;
}

// Apart from the question whether it is needed, which each call asks.
__attribute__((noinline)) static bool add_blocks(struct hdi_calls_list *list,
                                                 uint64_t needed, size_t size,
                                                 uint32_t most)
{
    if (needed > most)
        return false;
    while (needed > list->room)
        if (!add_block(list, size))
            return false;
    return true;
}

// Room for `more` items, of `most` in all. Blocks that were made for a call
// that failed later stay, for the next.
static inline bool make_room(struct hdi_calls_list *list, uint64_t more,
                             size_t size, uint32_t most)
{
    uint64_t needed = list->count + more;

    return needed <= list->room || add_blocks(list, needed, size, most);
}

static void free_list(struct hdi_calls_list *list)
{
    for (uint32_t i = 0; i < list->block_count; i++)
        free(list->blocks[i]);
    free(list->blocks);
}

struct hdi_calls *hdi_calls_create(void)
{
    struct hdi_calls *calls =
        aligned_alloc(_Alignof(struct hdi_calls), sizeof(*calls));

    if (!calls)
        return NULL;
    memset(calls, 0, sizeof(*calls));
    if (pthread_mutex_init(&calls->lock, NULL) != 0) {
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

// Four bytes for each: the number of its kind. WRITTEN is not set yet, so a
// pass that reads it is refused until one writes it.
bool hdi_calls_add_resource(struct hdi_calls *calls,
                            const struct hdi_calls_kind *kind)
{
    if (!make_room(&calls->resources, 1, sizeof(uint32_t), HDI_CALLS_MAX) ||
        (kind && !grow((void **)&calls->kinds, &calls->kind_room,
                       calls->kind_count + 1, sizeof(*calls->kinds))))
        return false;
    if (kind)
        calls->kinds[calls->kind_count++] = *kind;
    *resource_at(calls, calls->resources.count++) = calls->kind_count - 1;
    return true;
}

// Passes ----------------------------------------------------------------------

// Uses that are being added, behind those there are.
//
// Between them and `count` nothing is anybody's yet. They are put in before all
// of them are checked, which saves a second walk.
struct adding {
    char **block;       // the one after that of `to`
    uint32_t *to, *end; // where the next one goes; where its block ends
};

// There is room for all uses of the pass, so for the first of it, if any.
static inline struct adding begin_adding(const struct hdi_calls_list *uses)
{
    uint32_t at = uses->count % HDI_CALLS_BLOCK;
    char **block = &uses->blocks[uses->count / HDI_CALLS_BLOCK];
    uint32_t *begin = (uint32_t *)(void *)*block;

    return (struct adding){block + 1, begin + at, begin + HDI_CALLS_BLOCK};
}

static inline void put_one(struct adding *adding, uint32_t index,
                           enum hdi_calls_how how)
{
    if (adding->to == adding->end) {
        adding->to = (uint32_t *)(void *)*adding->block++;
        adding->end = adding->to + HDI_CALLS_BLOCK;
    }
    *adding->to++ = index << 2 | (uint32_t)how;
}

// False: they name what is not there.
//
// A handle is checked by one comparison, as 0 becomes the largest number, and
// all by the largest of them.
static inline bool put(struct adding *adding, const uint32_t *handles,
                       unsigned count, enum hdi_calls_how how, uint32_t limit)
{
    uint32_t largest = 0;

    for (unsigned i = 0; i < count; i++) {
        uint32_t index = handles[i] - 1;
        largest = index > largest ? index : largest;
        put_one(adding, index, how);
    }
    return count == 0 || largest < limit;
}

// The same of what is read, which has to be written.
static inline bool put_reads(struct adding *adding,
                             const struct hdi_calls *calls,
                             const hd_resource *handles, unsigned count)
{
    uint32_t written = HDI_CALLS_WRITTEN;

    for (unsigned i = 0; i < count; i++) {
        uint32_t resource = handles[i] - 1;
        if (resource >= calls->resources.count)
            return false;
        written &= *resource_at(calls, resource);
        put_one(adding, resource, HDI_CALLS_READS);
    }
    return written != 0;
}

// Reads before writes, and AFTER last: expanding relies on that order
// (define/compact.c). What a pass both reads and writes is named twice.
static inline bool put_uses(struct hdi_calls *calls,
                            const struct hd_call_params *params)
{
    struct adding adding = begin_adding(&calls->uses);
    uint32_t resources = calls->resources.count;

    return put_reads(&adding, calls, params->reads, params->read_count) &&
           put(&adding, params->writes, params->write_count, HDI_CALLS_WRITES,
               resources) &&
           put(&adding, params->overwrites, params->overwrite_count,
               HDI_CALLS_OVERWRITES, resources) &&
           put(&adding, params->after, params->after_count, HDI_CALLS_AFTER,
               calls->passes.count);
}

// After all of the pass is known to be good, since it could not be undone: the
// resource may have been written before.
static void mark_written(struct hdi_calls *calls, const hd_resource *resources,
                         unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        *resource_at(calls, resources[i] - 1) |= HDI_CALLS_WRITTEN;
}

// The same function again, as a rule; UINT32_MAX without memory.
static uint32_t find_function(struct hdi_calls *calls,
                              hdi_calls_function function)
{
    uint32_t count = calls->function_count;

    if (count > 0 && calls->functions[count - 1] == function)
        return count - 1;
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

    if (!make_room(&calls->passes, 1, sizeof(struct hdi_calls_pass),
                   HDI_CALLS_MAX) ||
        !make_room(&calls->uses, uses, sizeof(uint32_t), HDI_CALLS_USES) ||
        (label && !grow((void **)&calls->labels, &calls->label_room,
                        calls->label_count + 1, sizeof(*calls->labels))))
        return false;

    if (uses > 0 && !put_uses(calls, params))
        return false;
    uint32_t function = find_function(calls, params->call);
    if (function == UINT32_MAX)
        return false;

    *(struct hdi_calls_pass *)hdi_calls_at(&calls->passes, index,
                                           sizeof(struct hdi_calls_pass)) =
        (struct hdi_calls_pass){function, calls->uses.count, params->data};
    calls->linked = false;
    calls->passes.count++;
    calls->uses.count += (uint32_t)uses;
    mark_written(calls, params->writes, params->write_count);
    mark_written(calls, params->overwrites, params->overwrite_count);
    if (label) {
        calls->labels[calls->label_count] = *label;
        calls->labels[calls->label_count++].pass = index;
    }
    return true;
}

// An order without a place becomes one more use of the newest pass, four bytes,
// which is where a program states most of them.
bool hdi_calls_order(struct hdi_calls *calls, uint32_t from, uint32_t to,
                     const char *where)
{
    if (from > to)
        return false;
    if (to + 1 == calls->passes.count && !where[0]) {
        if (!make_room(&calls->uses, 1, sizeof(uint32_t), HDI_CALLS_USES))
            return false;
        calls->linked = false;
        *(uint32_t *)hdi_calls_at(&calls->uses, calls->uses.count++,
                                  sizeof(uint32_t)) =
            from << 2 | (uint32_t)HDI_CALLS_AFTER;
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
