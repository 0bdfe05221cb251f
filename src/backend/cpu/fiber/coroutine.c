#include "backend/cpu/fiber/coroutine.h"

#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>

#include "base/memory.h"

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

enum {
    MAX_KEPT = 16 << 20,      // memory that is kept [bytes]
    MAX_RESERVED = 256 << 20, // addresses, so as to suit all [bytes]
    MARGIN = 1 << 20,         // inaccessible, on either side [bytes]
    LINE = 64,                // of a cache [bytes]
    // A page each for small ones costs nothing while they are few.
    FEW = 256,
    MAPPINGS_PART = 4, // of all that the system gives, how much is taken
    MAPPINGS_USUAL = 65530
};

// 2^32 by the golden ratio: multiples of it lie far apart.
static const uint32_t GOLDEN = 0x9e3779b1;

// Mappings --------------------------------------------------------------------

// Left for guard pages of the whole process, as the mappings are; 0: not known.
// One count for all units: the limit is the process's (vm.max_map_count). When
// it runs out coroutines lie together, and nothing fails for it.
static atomic_long left;

// Threads that come first at the same time read the same; one of them stores
// it.
static long mappings_left(void)
{
    long now = atomic_load(&left), most = MAPPINGS_USUAL;

    if (now != 0)
        return now;
    FILE *file = fopen("/proc/sys/vm/max_map_count", "r");
    if (file) {
        if (fscanf(file, "%ld", &most) != 1)
            most = MAPPINGS_USUAL;
        fclose(file);
    }
    long part = most / MAPPINGS_PART + 1;
    return atomic_compare_exchange_strong(&left, &now, part) ? part : now;
}

// One stays, so that 0 keeps its meaning.
static bool take_mappings(long count)
{
    long now = mappings_left();

    while (now > count)
        if (atomic_compare_exchange_weak(&left, &now, now - count))
            return true;
    return false;
}

// Areas -----------------------------------------------------------------------

static void free_area(struct hdi_coroutine_area *area)
{
    if (area->memory)
        munmap(area->memory, area->bytes);
    atomic_fetch_add(&left, (long)area->mappings);
    *area = (struct hdi_coroutine_area){0};
}

// The old area goes first: two would need twice the addresses. On failure there
// is none.
static bool map_area(struct hdi_coroutine_area *area, size_t capacity,
                     uint64_t stride)
{
    uint64_t bytes;

    free_area(area);
    if (!hdi_multiply(capacity, stride, &bytes) || bytes > SIZE_MAX / 2)
        return false;
    bytes = hdi_round_up(bytes, hdi_page_size()) + 2 * MARGIN;
    char *memory = mmap(NULL, bytes, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    *area = (struct hdi_coroutine_area){
        .memory = memory,
        .bytes = bytes,
        .stride = stride,
        .capacity = capacity,
    };
    return true;
}

// Apart -----------------------------------------------------------------------

static uint64_t pages_of(uint64_t size)
{
    return hdi_round_up(size, hdi_page_size());
}

// From one to the next. An odd number of pages: even ones would leave out half
// of the sets of a TLB.
static uint64_t stride_of(uint64_t room)
{
    size_t page = hdi_page_size();

    return ((room / page + 1) | 1) * page;
}

// Since Linux 6.13 what is closed is no mapping of its own.
// Each hole parts one mapping into three, so it takes two. With guard they are
// closed even past our part: who asks for guards wants them.
static bool close_pages(struct hdi_coroutines *c, char *pages, size_t bytes)
{
    struct hdi_coroutine_area *a = &c->apart;

    if (madvise(pages, bytes, MADV_GUARD_INSTALL) == 0)
        return true;
    if (take_mappings(2))
        a->mappings += 2;
    else if (!c->guard)
        return false;
    return mprotect(pages, bytes, PROT_NONE) == 0;
}

// What the system gives stays open. False: it gives no more.
static bool open_more(struct hdi_coroutines *c, size_t count)
{
    struct hdi_coroutine_area *a = &c->apart;
    char *end = a->memory + MARGIN + count * a->stride;
    char *next = a->memory + MARGIN + a->open * a->stride;

    if (a->full || mprotect(next, (size_t)(end - next), PROT_READ | PROT_WRITE))
        return false;
    for (; next < end; next += a->stride, a->open++)
        if (!close_pages(c, next + a->room, a->stride - a->room)) {
            mprotect(next, (size_t)(end - next), PROT_NONE);
            a->full = true;
            return false;
        }
    return true;
}

// Room for all that came before, too, unless that is much.
static bool map_apart(struct hdi_coroutine_area *a, size_t most, uint64_t room)
{
    size_t all = most > a->capacity ? most : a->capacity;
    uint64_t widest = room > a->room ? room : a->room, bytes;

    if (hdi_multiply(all, stride_of(widest), &bytes) && bytes <= MAX_RESERVED) {
        most = all;
        room = widest;
    }
    if (!map_area(a, most, stride_of(room)))
        return false;
    a->room = room;
    return true;
}

// Whether they cost nothing there.
static bool suits(size_t most, uint64_t size)
{
    return pages_of(size) <= MAX_KEPT / most &&
           (most <= FEW || size >= hdi_page_size());
}

// What is open stays open, so that the next group costs no system call.
static bool lay_apart(struct hdi_coroutines *c, size_t count, size_t most,
                      uint64_t size)
{
    struct hdi_coroutine_area *a = &c->apart;
    uint64_t room = pages_of(size);

    if (!c->guard && !suits(most, size))
        return false;
    if ((count > a->capacity || room > a->room) && !map_apart(a, most, room))
        return false;
    return count <= a->open || open_more(c, count);
}

static bool lay_together(struct hdi_coroutines *c, size_t count, uint64_t size)
{
    struct hdi_coroutine_area *a = &c->together;

    if (a->memory && size <= (a->bytes - 2 * MARGIN) / count) {
        a->stride = size;
        return true;
    }
    return map_area(a, count, size) &&
           mprotect(a->memory + MARGIN, a->bytes - 2 * MARGIN,
                    PROT_READ | PROT_WRITE) == 0;
}

// Before the inaccessible page they begin at various places: at one they would
// all want the same lines of a cache.
static void place(struct hdi_coroutines *c, const struct hdi_coroutine_area *a)
{
    c->area = a;
    c->first = a->memory + MARGIN;
    c->places = 1;
    c->step = c->size & -c->size; // what they are aligned to
    if (a == &c->together)
        return;
    c->first += a->room - c->size;
    if (!c->guard)
        c->places = (uint32_t)((pages_of(c->size) - c->size) / c->step) + 1;
}

// Apart where that costs little, else together; with guard apart or not at all.
bool hdi_coroutines_reserve(struct hdi_coroutines *c, size_t count, size_t most,
                            uint64_t size)
{
    if (!c->guard)
        size = hdi_round_up(size, LINE);
    c->most = most;
    c->size = size;
    c->area = NULL;
    if (size > SIZE_MAX / 4)
        return false;
    if (lay_apart(c, count, most, size))
        place(c, &c->apart);
    else if (!c->guard && lay_together(c, count, size))
        place(c, &c->together);
    return c->area != NULL;
}

// The place within the page is a function of the index alone: a coroutine is
// found again where it was.
char *hdi_coroutines_at(const struct hdi_coroutines *c, size_t index)
{
    uint32_t scattered = (uint32_t)index * GOLDEN;
    size_t place = (uint64_t)scattered * c->places >> 32;

    return c->first + index * c->area->stride - place * c->step;
}

void hdi_coroutines_trim(struct hdi_coroutines *c)
{
    uint64_t each = c->area == &c->apart ? pages_of(c->size) : c->size;

    if (c->area && each > MAX_KEPT / c->most)
        hdi_coroutines_free(c);
}

void hdi_coroutines_free(struct hdi_coroutines *c)
{
    free_area(&c->apart);
    free_area(&c->together);
    c->area = NULL;
}
