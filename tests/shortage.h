// For tests that make every allocation of ours fail in turn. Allocations are
// ours when code of the program asks for them, or of a module that it opened
// and named; those of libraries are let through. Or memory ends, for whoever
// asks.
//
// The program's own malloc() takes the place of the C library's, so builds with
// sanitizers, which have their own, cannot have these tests.
#ifndef HEDDLE_TESTS_SHORTAGE_H
#define HEDDLE_TESTS_SHORTAGE_H

#include <errno.h>
#include <execinfo.h>
#include <limits.h>
#include <link.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "heddle/status.h"

// The functions that are replaced below.
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *memory);

enum {
    SHORTAGE_PLACES = 2,
    SHORTAGE_FRAMES = 32,
    SHORTAGE_CALLS = 10000
};

static struct {
    atomic_long left; // allocations before one fails; < 0: none does
    atomic_bool failed;
    bool lasts;       // those after it fail, too
    atomic_long held; // blocks of memory, whoever asked for them
    atomic_long room; // bytes that may still be asked for
    bool records;
    atomic_long recorded;
    uint64_t calls[SHORTAGE_CALLS]; // those on the stack, of each allocation
    unsigned count;
    struct {
        uintptr_t begin, end;
    } code[SHORTAGE_PLACES];
} shortage = {.left = -1, .room = LONG_MAX / 2};

// `data` is part of a module's name, or NULL for the program.
static inline int shortage_note(struct dl_phdr_info *info, size_t size,
                                void *data)
{
    bool fits =
        data ? strstr(info->dlpi_name, data) != NULL : !*info->dlpi_name;

    (void)size;
    for (int i = 0; fits && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X) ||
            shortage.count == SHORTAGE_PLACES)
            continue;
        uintptr_t begin = info->dlpi_addr + part->p_vaddr;
        shortage.code[shortage.count].begin = begin;
        shortage.code[shortage.count++].end = begin + part->p_memsz;
    }
    return fits;
}

// Count allocations of the program too (`name` NULL), or of a module that is
// open. False: there is none.
static inline bool shortage_watch(const char *name)
{
    return dl_iterate_phdr(shortage_note, (void *)(uintptr_t)name) != 0;
}

// Let so many allocations succeed, then one fail; < 0: none.
static inline void shortage_begin(long successes)
{
    atomic_store(&shortage.failed, false);
    shortage.lasts = false;
    atomic_store(&shortage.left, successes);
}

// Let so many allocations succeed, and all after them fail.
static inline void shortage_begin_last(long successes)
{
    atomic_store(&shortage.failed, false);
    shortage.lasts = true;
    atomic_store(&shortage.left, successes);
}

// Let memory end after so many bytes, that of libraries too.
static inline void shortage_begin_room(long bytes)
{
    atomic_store(&shortage.failed, false);
    atomic_store(&shortage.room, bytes);
}

// None fails; which calls lead to each is recorded.
static inline void shortage_begin_record(void)
{
    void *frame;

    backtrace(&frame, 1); // the first time allocates
    atomic_store(&shortage.recorded, 0);
    shortage.records = true;
}

static inline void shortage_record_calls(void)
{
    void *frames[SHORTAGE_FRAMES];
    long n = atomic_fetch_add(&shortage.recorded, 1);
    int count = backtrace(frames, SHORTAGE_FRAMES);
    uint64_t sum = 0;

    for (int i = 0; i < count; i++)
        sum = (sum ^ (uintptr_t)frames[i]) * 0x100000001b3;
    if (n < SHORTAGE_CALLS)
        shortage.calls[n] = sum;
}

static inline long shortage_recorded(void)
{
    long n = atomic_load(&shortage.recorded);
    return n < SHORTAGE_CALLS ? n : SHORTAGE_CALLS;
}

// The same calls led to no allocation after this one.
static inline bool shortage_is_last(long allocation)
{
    for (long i = allocation + 1; i < shortage_recorded(); i++)
        if (shortage.calls[i] == shortage.calls[allocation])
            return false;
    return true;
}

// True when one failed.
static inline bool shortage_end(void)
{
    atomic_store(&shortage.room, LONG_MAX / 2);
    atomic_store(&shortage.left, -1);
    shortage.records = false;
    return atomic_load(&shortage.failed);
}

static inline bool shortage_fail(void)
{
    atomic_store(&shortage.failed, true);
    errno = ENOMEM;
    return true;
}

static inline bool shortage_refuses(const void *caller, size_t size)
{
    uintptr_t at = (uintptr_t)caller;
    bool ours = false;

    if ((long)size > atomic_load_explicit(&shortage.room, memory_order_relaxed))
        return shortage_fail();
    if (atomic_load_explicit(&shortage.left, memory_order_relaxed) < 0 &&
        !shortage.records)
        return false;
    for (unsigned i = 0; i < shortage.count; i++)
        ours |= at >= shortage.code[i].begin && at < shortage.code[i].end;
    if (ours && shortage.records)
        shortage_record_calls();
    if (!ours)
        return false;
    long left = atomic_load(&shortage.left), next;
    do {
        if (left < 0)
            return false;
        next = left > 0 ? left - 1 : shortage.lasts ? 0 : -1;
    } while (!atomic_compare_exchange_weak(&shortage.left, &left, next));
    return left == 0 && shortage_fail();
}

#define SHORTAGE_REFUSES(size) \
    shortage_refuses(__builtin_return_address(0), size)

static inline void shortage_count(void *memory, long sign)
{
    atomic_fetch_add_explicit(&shortage.held, sign, memory_order_relaxed);
    atomic_fetch_sub_explicit(&shortage.room,
                              sign * (long)malloc_usable_size(memory),
                              memory_order_relaxed);
}

static inline void *shortage_hold(void *memory)
{
    if (memory)
        shortage_count(memory, 1);
    return memory;
}

HD_API void *malloc(size_t size)
{
    return SHORTAGE_REFUSES(size) ? NULL : shortage_hold(__libc_malloc(size));
}

HD_API void *calloc(size_t count, size_t size)
{
    return SHORTAGE_REFUSES(count * size)
               ? NULL
               : shortage_hold(__libc_calloc(count, size));
}

HD_API void *realloc(void *memory, size_t size)
{
    if (SHORTAGE_REFUSES(size))
        return NULL;
    if (memory)
        shortage_count(memory, -1);
    void *moved = __libc_realloc(memory, size);
    if (!moved && memory && size > 0) // it is still there
        shortage_count(memory, 1);
    return shortage_hold(moved);
}

HD_API void *aligned_alloc(size_t alignment, size_t size)
{
    return SHORTAGE_REFUSES(size)
               ? NULL
               : shortage_hold(__libc_memalign(alignment, size));
}

HD_API void free(void *memory)
{
    if (memory)
        shortage_count(memory, -1);
    __libc_free(memory);
}

HD_API char *strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy =
        SHORTAGE_REFUSES(size) ? NULL : shortage_hold(__libc_malloc(size));
    return copy ? memcpy(copy, text, size) : NULL;
}

HD_API char *strndup(const char *text, size_t size)
{
    size_t length = strnlen(text, size);
    char *copy = SHORTAGE_REFUSES(length + 1)
                     ? NULL
                     : shortage_hold(__libc_malloc(length + 1));
    if (!copy)
        return NULL;
    copy[length] = '\0';
    return memcpy(copy, text, length);
}

HD_API void *mmap(void *at, size_t size, int access, int flags, int file,
                  off_t offset)
{
    if ((flags & MAP_ANONYMOUS) && SHORTAGE_REFUSES(size))
        return MAP_FAILED;
    // The system call returns addresses as long, and -1 with errno.
    return (void *)syscall(SYS_mmap, at, size, access, flags, file, offset);
}

#endif
