#include "backend/cuda/ring.h"

#include <inttypes.h>
#include <string.h>

#include "base/log.h"

// A power of two, as positions are taken modulo. When it is full, calls of
// printf() are lost and counted.
enum {
    CAPACITY = 1 << 20 // [bytes]
};

bool cuda_ring_open(struct cuda_ring *r, struct cuda_gpu *gpu)
{
    *r = (struct cuda_ring){.printer = {.sink = gpu->print}};
    r->ring = cuda_host_alloc(gpu, sizeof(*r->ring) + CAPACITY, &r->address);
    if (!r->ring)
        return false;
    r->ring->capacity = CAPACITY;
    return true;
}

void cuda_ring_close(struct cuda_ring *r, struct cuda_gpu *gpu)
{
    hdi_printer_flush(&r->printer);
    cuda_host_free(gpu, r->ring);
    *r = (struct cuda_ring){0};
}

// What is in the record is checked: a kernel may have written over it.
static void print(struct cuda_ring *r, const struct hdi_print_record *record)
{
    const char *args = (const char *)(record + 1);
    const char *format = args + record->args;

    if (record->format == 0 || record->args > record->size - sizeof(*record) ||
        record->format > record->size - sizeof(*record) - record->args ||
        format[record->format - 1] != '\0')
        return;
    hdi_printer_print(&r->printer, format,
                      (const struct hdi_print_arg *)(const void *)args,
                      record->count);
}

//     | done, zero | record | record | not written yet: 0 |
//                  ^ tail
//
// A record's size is stored last (release), so it is whole when its size is
// seen (acquire). One that makes no sense ends the reading: a kernel has
// written over it, and nobody knows where the next begins.
void cuda_ring_read(struct cuda_ring *r)
{
    struct hdi_print_ring *ring = r->ring;
    char *records = (char *)(ring + 1);
    uint64_t tail = ring->tail;

    for (;;) {
        uint64_t at = tail & (CAPACITY - 1);
        struct hdi_print_record *record =
            (struct hdi_print_record *)(void *)(records + at);
        uint32_t size = __atomic_load_n(&record->size, __ATOMIC_ACQUIRE);
        if (size < 8 || size % 8 != 0 || size > CAPACITY - at)
            break;
        if (size >= sizeof(*record))
            print(r, record);
        memset(record, 0, size);
        tail += size;
        // Whoever sees the new end finds the memory cleared.
        __atomic_store_n(&ring->tail, tail, __ATOMIC_RELEASE);
    }
    uint64_t lost = __atomic_load_n(&ring->lost, __ATOMIC_RELAXED);
    if (lost > r->lost)
        hdi_warn("%" PRIu64 " calls of printf() on the GPU had no room",
                 lost - r->lost);
    r->lost = lost;
    hdi_printer_flush(&r->printer);
}
