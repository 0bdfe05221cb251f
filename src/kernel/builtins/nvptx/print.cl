// printf() on GPUs: a record in a ring that the host reads
// (struct hdi_print_ring). The compiler has packed the arguments.
#include "../vector.h"
#include "device.h"

struct ring {
    ulong head, tail, capacity, lost;
};
struct record {
    uint size, format, args, count;
};

ulong hdu_look(volatile global ulong *word);
ulong hdu_swap(volatile global ulong *word, ulong from, ulong to);
void hdu_count(volatile global ulong *word);
void hdu_publish(global uint *word, uint value);

// Room for a record in one piece; what is left at the ring's end is a gap.
FN_PLAIN global uchar *claim(global struct ring *ring, uint size)
{
    global uchar *records = (global uchar *)(ring + 1);
    ulong capacity = ring->capacity, head = hdu_look(&ring->head), seen;

    for (;; head = seen) {
        ulong at = head & (capacity - 1);
        ulong gap = at + size > capacity ? capacity - at : 0;
        if (head + gap + size - hdu_look(&ring->tail) > capacity)
            return 0;
        seen = hdu_swap(&ring->head, head, head + gap + size);
        if (seen != head)
            continue;
        if (gap > 0) {
            global struct record *none = (global struct record *)(records + at);
            none->format = 0;
            hdu_publish(&none->size, (uint)gap);
        }
        return records + (gap > 0 ? 0 : at);
    }
}

int hdu_print(const constant char *format, const ulong *args, uint bytes,
              uint count)
{
    global struct ring *ring = (global struct ring *)hdu_long(PRINT);
    uint length = 1;

    if (!ring)
        return 0;
    for (const constant char *c = format; *c; c++)
        length++;
    uint size = (uint)sizeof(struct record) + bytes + (length + 15) / 16 * 16;
    global struct record *record =
        (global struct record *)claim(ring, size);
    if (!record) {
        hdu_count(&ring->lost);
        return -1;
    }
    global ulong *to = (global ulong *)(record + 1);
    for (uint i = 0; i < bytes / 8; i++)
        to[i] = args[i];
    global char *text = (global char *)to + bytes;
    for (uint i = 0; i < length; i++)
        text[i] = format[i];
    record->format = length;
    record->args = bytes;
    record->count = count;
    hdu_publish(&record->size, size);
    return 0;
}
