// A list of spare buffers, the newest last; searched from there, as most graphs
// have few sizes. Under one lock: passes take and give a few times each, while
// they run for microseconds at least.
#include "graph/model/memory.h"

#include <stdlib.h>

enum {
    // What is spare may be as much again as what is in use: with less, buffers
    // of one size push out those of another, and the planet took 1.4 times as
    // long.
    SPARE = 2
};

bool hdi_memory_init(struct hdi_memory *memory)
{
    *memory = (struct hdi_memory){0};
    return pthread_mutex_init(&memory->lock, NULL) == 0;
}

// `peak` is of this run, `bound` of all: what a run once needed it may need
// again.
static void count_live(struct hdi_memory *memory, uint64_t size)
{
    memory->live += size;
    if (memory->live > memory->peak)
        memory->peak = memory->live;
    if (memory->peak > memory->bound)
        memory->bound = memory->peak;
}

static void count_held(struct hdi_memory *memory)
{
    uint64_t held = memory->live + memory->spare_bytes;

    if (held > memory->held)
        memory->held = held;
}

// The last one takes its place, so the order is one of age only roughly.
static struct hd_buffer *remove_spare(struct hdi_memory *memory, uint32_t index)
{
    struct hd_buffer *buffer = memory->spare[index];

    memory->spare[index] = memory->spare[--memory->spare_count];
    memory->spare_bytes -= buffer->size;
    return buffer;
}

// Destroy spare buffers until, with what is in use, there are at most `most`
// bytes.
//
// From the front, the oldest as a rule.
static void trim(struct hdi_memory *memory, uint64_t most)
{
    while (memory->spare_count > 0 && memory->live + memory->spare_bytes > most)
        hd_buffer_destroy(remove_spare(memory, 0));
}

bool hdi_memory_drop(struct hdi_memory *memory)
{
    pthread_mutex_lock(&memory->lock);
    bool some = memory->spare_count > 0;
    trim(memory, 0);
    pthread_mutex_unlock(&memory->lock);
    return some;
}

void hdi_memory_destroy(struct hdi_memory *memory)
{
    trim(memory, 0);
    free(memory->spare);
    pthread_mutex_destroy(&memory->lock);
}

// No lock: no run is under way, so nobody else takes or gives.
void hdi_memory_begin(struct hdi_memory *memory)
{
    memory->live = 0;
    memory->peak = 0;
    memory->held = 0;
}

void hdi_memory_borrow(struct hdi_memory *memory, uint64_t size)
{
    pthread_mutex_lock(&memory->lock);
    count_live(memory, size);
    pthread_mutex_unlock(&memory->lock);
}

void hdi_memory_return(struct hdi_memory *memory, uint64_t size)
{
    pthread_mutex_lock(&memory->lock);
    memory->live -= size;
    pthread_mutex_unlock(&memory->lock);
}

uint64_t hdi_memory_live(struct hdi_memory *memory)
{
    pthread_mutex_lock(&memory->lock);
    uint64_t live = memory->live;
    pthread_mutex_unlock(&memory->lock);
    return live;
}

// The newest of that size: its pages are the likeliest to be in a cache.
static struct hd_buffer *find_spare(struct hdi_memory *memory, uint64_t size)
{
    for (uint32_t i = memory->spare_count; i-- > 0;)
        if (memory->spare[i]->size == size)
            return remove_spare(memory, i);
    return NULL;
}

// It is counted before it is there, so that two threads that take at the same
// time do not both find room. A buffer is created outside the lock, as that may
// take long. Only the lack of memory is tried twice.
hd_status hdi_memory_take(struct hdi_memory *memory,
                          struct hdi_launcher *launcher, uint64_t size,
                          struct hd_buffer **buffer, bool *used,
                          struct hd_error *error)
{
    pthread_mutex_lock(&memory->lock);
    struct hd_buffer *spare = find_spare(memory, size);
    count_live(memory, size);
    trim(memory, SPARE * memory->bound);
    count_held(memory);
    pthread_mutex_unlock(&memory->lock);

    *used = spare != NULL;
    if (spare) {
        *buffer = spare;
        return HD_OK;
    }
    hd_status status = hdi_buffer_create(launcher, size, buffer, error);
    if (status == HD_ENOMEM && hdi_memory_drop(memory))
        status = hdi_buffer_create(launcher, size, buffer, error);
    if (status != HD_OK) {
        pthread_mutex_lock(&memory->lock);
        memory->live -= size;
        pthread_mutex_unlock(&memory->lock);
    }
    return status;
}

static bool make_room(struct hdi_memory *memory)
{
    if (memory->spare_count < memory->spare_capacity)
        return true;

    uint32_t capacity =
        memory->spare_capacity ? 2 * memory->spare_capacity : 16;
    struct hd_buffer **spare =
        realloc(memory->spare, capacity * sizeof(struct hd_buffer *));
    if (!spare)
        return false;
    memory->spare = spare;
    memory->spare_capacity = capacity;
    return true;
}

// A buffer that there is no room for in the list is destroyed, outside the
// lock.
void hdi_memory_give(struct hdi_memory *memory, struct hd_buffer *buffer)
{
    if (!buffer)
        return;

    pthread_mutex_lock(&memory->lock);
    memory->live -= buffer->size;
    if (make_room(memory)) {
        memory->spare[memory->spare_count++] = buffer;
        memory->spare_bytes += buffer->size;
        buffer = NULL;
        trim(memory, SPARE * memory->bound);
    }
    pthread_mutex_unlock(&memory->lock);
    hd_buffer_destroy(buffer);
}
