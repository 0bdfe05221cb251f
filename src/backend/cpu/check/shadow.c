#include "backend/cpu/check/shadow.h"

#include <stdlib.h>

static uint64_t place_of(const struct hdi_shadow *shadow, uintptr_t line)
{
    uint64_t hash = (uint64_t)line * UINT64_C(0x9e3779b97f4a7c15);
    uint64_t at = hash >> 20 & (shadow->capacity - 1);

    while (shadow->lines[at].address != 0 && shadow->lines[at].address != line)
        at = (at + 1) & (shadow->capacity - 1);
    return at;
}

// At most three quarters of the places are taken.
static bool grow(struct hdi_shadow *shadow)
{
    struct hdi_shadow larger = {
        .capacity = shadow->capacity ? 2 * shadow->capacity : 256};

    if (shadow->count < shadow->capacity / 4 * 3)
        return true;
    larger.lines = calloc(larger.capacity, sizeof(*larger.lines));
    if (!larger.lines)
        return false;
    for (uint64_t i = 0; i < shadow->capacity; i++)
        if (shadow->lines[i].address != 0)
            larger.lines[place_of(&larger, shadow->lines[i].address)] =
                shadow->lines[i];
    larger.count = shadow->count;
    free(shadow->lines);
    *shadow = larger;
    return true;
}

// It stays where it is when the table grows: only the places move.
struct hdi_shadow_byte *hdi_shadow_line(struct hdi_shadow *shadow,
                                        uintptr_t address)
{
    uintptr_t line = address / HDI_SHADOW_LINE;

    if (!grow(shadow))
        return NULL;
    struct hdi_shadow_line *found = &shadow->lines[place_of(shadow, line)];
    if (found->address == 0) {
        found->bytes = calloc(HDI_SHADOW_LINE, sizeof(*found->bytes));
        if (!found->bytes)
            return NULL;
        found->address = line;
        shadow->count++;
    }
    return found->bytes;
}

void hdi_shadow_clear(struct hdi_shadow *shadow)
{
    for (uint64_t i = 0; i < shadow->capacity; i++)
        free(shadow->lines[i].bytes);
    free(shadow->lines);
    *shadow = (struct hdi_shadow){0};
}
