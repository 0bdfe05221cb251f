// Copies of other nodes' memory blocks that a node holds, per field.
//
// A field's version counts the times it was written. A table that holds copies
// of another version is emptied before it is used. Only the thread that
// computes for the node touches its tables.
#ifndef HDI_FIELD_MEMORY_REPLICA_H
#define HDI_FIELD_MEMORY_REPLICA_H

#include "field/map/map.h"

struct hdi_transfer;

// Owned by its table. The data is allocated with it, and may be written until
// `coming` has ended.
struct hdi_replica {
    struct hdi_replica *next; // in its bucket
    struct hd_grid box;       // [ordinals]
    void *data;               // dense
    // Until it is here, what it comes by, and from whom.
    struct hdi_transfer *coming;
    uint32_t owner;
};

// A hash table by the corner of a block: blocks of one field do not overlap, so
// the corner says which. All zero: empty.
struct hdi_replicas {
    uint64_t version;
    struct hdi_replica **bucket;
    size_t buckets, count;
};

// Elements in memory that is here.
// Points into memory that somebody else owns. Element i of the box is at data +
// sum of (i - box.offset) * step [elements].
struct hdi_window {
    struct hd_grid box; // [ordinals]
    char *data;         // the element at the box's corner
    int64_t step[HD_MAX_RANK];
};

// The copy of the block that begins at a box's corner, or NULL.
struct hdi_replica *hdi_replicas_find(struct hdi_replicas *table,
                                      uint64_t version,
                                      const struct hd_grid *box);

// Make room for a copy; NULL when memory is short.
struct hdi_replica *hdi_replicas_add(struct hdi_replicas *table,
                                     const struct hd_grid *box,
                                     uint64_t element);
// None of them may be coming.
void hdi_replicas_clear(struct hdi_replicas *table);

// Take a copy out that did not come. Its data, which may still be written to,
// is only freed if `settled`.
void hdi_replicas_drop(struct hdi_replicas *table, struct hdi_replica *replica,
                       bool settled);

void hdi_replica_window(const struct hdi_replica *replica,
                        struct hdi_window *window);

// The window of a box whose elements follow each other in memory.
void hdi_window_lay(const struct hd_grid *box, void *memory,
                    struct hdi_window *window);

// Memory for a box, laid so, and a window of it; NULL when memory is short.
//
// Owner: the caller; free()
void *hdi_window_dense(const struct hd_grid *box, uint64_t element,
                       struct hdi_window *window);

// Copy a box of elements between windows that hold it.
void hdi_window_copy(const struct hdi_window *to, const struct hdi_window *from,
                     const struct hd_grid *box, uint64_t element);

// The same, past the caches where `nontemporal`.
void hdi_window_put(const struct hdi_window *to, const struct hdi_window *from,
                    const struct hd_grid *box, uint64_t element,
                    bool nontemporal);

#endif
