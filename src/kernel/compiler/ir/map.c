// Open addressing with linear probing, at most half full; nothing is deleted.
#include "kernel/compiler/ir/map.h"

#include <stdlib.h>

// Where the key is, or where it would go: there is always an empty entry, since
// the table is never full. Pointers are aligned, so their low bits are dropped,
// and the product's high bits, which depend on all of them, are used.
static size_t slot(const struct hdi_map *map, const void *key)
{
    size_t i = ((uintptr_t)key >> 4) * 0x9e3779b97f4a7c15u >> 20;
    for (i &= map->capacity - 1; map->entries[i].key;
         i = (i + 1) & (map->capacity - 1))
        if (map->entries[i].key == key)
            break;
    return i;
}

static bool grow(struct hdi_map *map)
{
    struct hdi_map larger = {.capacity = map->capacity ? 2 * map->capacity : 64,
                             .count = map->count};
    larger.entries = calloc(larger.capacity, sizeof(*larger.entries));
    if (!larger.entries)
        return false;
    for (size_t i = 0; i < map->capacity; i++)
        if (map->entries[i].key)
            larger.entries[slot(&larger, map->entries[i].key)] =
                map->entries[i];
    free(map->entries);
    *map = larger;
    return true;
}

void hdi_map_set(struct hdi_map *map, const void *key, void *value)
{
    if (map->failed)
        return;
    if (2 * (map->count + 1) > map->capacity && !grow(map)) {
        map->failed = true;
        return;
    }

    size_t i = slot(map, key);
    map->count += !map->entries[i].key;
    map->entries[i] = (struct hdi_map_entry){key, value};
}

void *hdi_map_get(const struct hdi_map *map, const void *key)
{
    return map->capacity ? map->entries[slot(map, key)].value : NULL;
}

void hdi_map_clear(struct hdi_map *map)
{
    free(map->entries);
    *map = (struct hdi_map){0};
}
