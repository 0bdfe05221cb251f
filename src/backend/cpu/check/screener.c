#include "backend/cpu/check/screener.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "base/memory.h"

// Zeroed memory is without tags, hence FIRST. A chunk that would begin above
// MAX gets fresh memory, whose tags are 0 again; half of the numbers are left
// for that one chunk.
enum {
    TAG = sizeof(uint32_t),
    FIRST = 1,       // less is no tag
    MAX = 0x7fffffff // of a chunk's begin: what is above is for the chunk
};

// To unmap is also the cheapest way to clear: pages come back zeroed.
void hdi_screener_forget(struct hdi_screener *s)
{
    if (s->memory)
        munmap(s->memory, s->size);
    s->memory = NULL;
    s->size = 0;
}

void hdi_screener_free(struct hdi_screener *s)
{
    hdi_screener_forget(s);
    free(s->shown);
}

// False: no memory for so many arguments.
static bool make_room(struct hdi_screener *s, size_t arg_count)
{
    if (s->shown && arg_count <= s->arg_count)
        return true;
    struct hdi_screen *larger = realloc(
        s->shown, sizeof(*larger) + arg_count * sizeof(larger->args[0]));
    if (!larger)
        return false;
    s->shown = larger;
    s->arg_count = arg_count;
    return true;
}

// What no kernel may write is not raced for; its size is still looked at.
static bool is_followed(const struct hdi_check_arg *arg)
{
    return arg->writable && !arg->local && arg->memory;
}

// Tags for each byte, though most objects have one for several.
static bool measure(const struct hdi_check_launch *launch, uint64_t local_bytes,
                    uint64_t *size)
{
    uint64_t bytes = local_bytes;

    for (uint32_t i = 0; i < launch->arg_count; i++)
        if (is_followed(&launch->args[i]) &&
            __builtin_add_overflow(bytes, launch->args[i].size, &bytes))
            return false;
    return hdi_multiply(bytes, 2 * TAG, size);
}

// NORESERVE: eight bytes per byte of a buffer are asked for, but only pages
// with tags are ever there.
static bool map(struct hdi_screener *s, uint64_t size)
{
    if (s->memory && size <= s->size && s->shown->now <= MAX)
        return true;
    hdi_screener_forget(s);
    size = hdi_round_up(size + 1, hdi_page_size());
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    s->memory = memory;
    s->size = size;
    s->shown->now = FIRST;
    return true;
}

// Both planes of an object, one behind the other; `*at` moves behind them.
static struct hdi_screen_object place(char **at, uint64_t size)
{
    struct hdi_screen_object o = {
        .size = size,
        .writes = (uint32_t *)(void *)*at,
        .reads = (uint32_t *)(void *)(*at + size * TAG),
    };
    *at += 2 * size * TAG;
    return o;
}

//     memory   | local: writes | reads | arg 0: writes | reads | arg 2 ...
//
// The frame's `checks` are of another type for screened kernels, which alone
// know what they get.
bool hdi_screener_begin(struct hdi_screener *s,
                        const struct hdi_check_launch *launch,
                        struct hdi_frame *frame)
{
    uint64_t size;

    if (!measure(launch, frame->local_bytes, &size) ||
        !make_room(s, launch->arg_count) || !map(s, size))
        return false;
    char *at = s->memory;
    s->shown->local = place(&at, frame->local_bytes);
    for (uint32_t i = 0; i < launch->arg_count; i++)
        s->shown->args[i] =
            is_followed(&launch->args[i])
                ? place(&at, launch->args[i].size)
                : (struct hdi_screen_object){.size = launch->args[i].size};
    frame->checks = (const struct hdi_checks *)(const void *)s->shown;
    return true;
}
