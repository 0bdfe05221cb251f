// Least significant digit first (Knuth, The Art of Computer Programming 3,
// 5.2.5). All digits are counted in one pass; a digit that is the same in all
// keys is left out.
#include "field/whole/radix.h"

#include <string.h>

// 11 bits: six passes instead of eight with 8 bits; the counts (96 KiB) lie on
// the stack and mostly in a core's second cache.
enum {
    BITS = 11,
    DIGITS = 6, // of 64 bits
    VALUES = 1 << BITS
};

static unsigned digit(uint64_t key, unsigned which)
{
    return key >> (which * BITS) & (VALUES - 1);
}

// Keeps the order of those that are the same in this digit, which sorting by
// one digit after another needs.
static void deal(const char *from, char *to, size_t count, size_t element,
                 unsigned which, size_t *place)
{
    // A size that the compiler knows makes a move of each element.
    if (element == 8) {
        for (size_t i = 0; i < count; i++) {
            uint64_t key = hdi_radix_key(from + i * 8);

            memcpy(to + place[digit(key, which)]++ * 8, &key, 8);
        }
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const char *at = from + i * element;

        memcpy(to + place[digit(hdi_radix_key(at), which)]++ * element, at,
               element);
    }
}

// Keys that differ in few digits, as small numbers do, need few passes.
void hdi_radix_sort(char *elements, char *spare, size_t count, size_t element)
{
    size_t counts[DIGITS][VALUES] = {{0}};
    char *from = elements, *to = spare;

    if (count < 2)
        return;
    for (size_t i = 0; i < count; i++) {
        uint64_t key = hdi_radix_key(elements + i * element);

        for (unsigned d = 0; d < DIGITS; d++)
            counts[d][digit(key, d)]++;
    }
    for (unsigned d = 0; d < DIGITS; d++) {
        size_t before = 0;

        if (counts[d][digit(hdi_radix_key(elements), d)] == count)
            continue;
        for (unsigned v = 0; v < VALUES; v++) {
            size_t here = counts[d][v];

            counts[d][v] = before;
            before += here;
        }
        deal(from, to, count, element, d, counts[d]);

        char *kept = from;
        from = to;
        to = kept;
    }
    if (from != elements)
        memcpy(elements, from, count * element);
}
