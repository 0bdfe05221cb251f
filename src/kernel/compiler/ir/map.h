// A hash table from pointers to pointers, for what a pass knows about a value
// or a block. Values are never NULL. Running out of memory is remembered in
// `failed`: check once, at the end.
#ifndef HDI_KERNEL_COMPILER_IR_MAP_H
#define HDI_KERNEL_COMPILER_IR_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Zeroed is empty. Keys are compared, never looked at: one whose value was
// erased may come back as another's, so a map must not outlive what it is
// about.
struct hdi_map {
    struct hdi_map_entry {
        const void *key;
        void *value;
    } * entries;
    size_t count, capacity; // capacity is a power of two, or 0
    bool failed;
};

void hdi_map_set(struct hdi_map *map, const void *key, void *value);
void *hdi_map_get(const struct hdi_map *map, const void *key); // NULL: none
void hdi_map_clear(struct hdi_map *map);                       // frees it

// Small numbers as values.
static inline void hdi_map_set_index(struct hdi_map *map, const void *key,
                                     size_t index)
{
    hdi_map_set(map, key, (void *)(uintptr_t)(index + 1));
}

// SIZE_MAX when there is none.
static inline size_t hdi_map_index(const struct hdi_map *map, const void *key)
{
    return (size_t)(uintptr_t)hdi_map_get(map, key) - 1;
}

#endif
