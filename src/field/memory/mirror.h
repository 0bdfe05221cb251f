// What a node that is a device has of a field in the device's memory: a part of
// the whole array, the last axis fastest, as kernels index it.
//
// The node's own elements are on the device, in the process's memory, or in
// both, by memory block: whoever writes in one place says so, and whoever reads
// in the other has them brought. What others own is there as it was in a
// version of the field. Without a word of a block it is in the process's memory
// alone.
//
// Only the thread that computes for the node makes the part larger or launches
// kernels over it; the rest may be done by any.
//
//     block of the node's own    there   home
//     never on the device        no      yes    (no entry)
//     read by a kernel           yes     yes
//     written by a kernel        yes     no     hdi_mirror_home() brings it
#ifndef HDI_FIELD_MEMORY_MIRROR_H
#define HDI_FIELD_MEMORY_MIRROR_H

#include "field/memory/field.h"

struct hdi_mirror;

// The mirror of a node here; NULL: the node is no device.
struct hdi_mirror *hdi_mirror_of(const struct hd_field *field, uint32_t node);

// Of all devices here. False when memory is short.
bool hdi_mirrors_make(struct hd_field *field);
void hdi_mirrors_free(struct hd_field *field);

// The memory block that an element is in, and its owner; false: nobody is.
bool hdi_mirror_block(const struct hd_field *field, const int64_t *ordinals,
                      struct hd_grid *block, uint32_t *owner);

// Have a memory block of the node's own on the device.
hd_status hdi_mirror_own(struct hd_field *field, uint32_t node,
                         const struct hd_grid *block, struct hd_error *error);

// Have room for a part of another's block; `*there`: it is on the device as it
// is now. Else fill it from a window that holds it.
hd_status hdi_mirror_expect(struct hd_field *field, uint32_t node,
                            const struct hd_grid *part, bool *there,
                            struct hd_error *error);
hd_status hdi_mirror_fill(struct hd_field *field, uint32_t node,
                          const struct hd_grid *part,
                          const struct hdi_window *from,
                          struct hd_error *error);

// Before and after a kernel writes a box of the node's own, in one memory
// block; with `whole` every element of the box, and none is read.
hd_status hdi_mirror_open(struct hd_field *field, uint32_t node,
                          const struct hd_grid *box, bool whole,
                          struct hd_error *error);
void hdi_mirror_wrote(struct hd_field *field, uint32_t node,
                      const struct hd_grid *box);

// Have room for a box of another node's, for what a kernel writes there; then
// copy it to or from memory.
hd_status hdi_mirror_room(struct hd_field *field, uint32_t node,
                          const struct hd_grid *box, struct hd_error *error);
hd_status hdi_mirror_load(struct hd_field *field, uint32_t node,
                          const struct hd_grid *box,
                          const struct hdi_window *from,
                          struct hd_error *error);
hd_status hdi_mirror_get(struct hd_field *field, uint32_t node,
                         const struct hd_grid *box, const struct hdi_window *to,
                         struct hd_error *error);

// Put a result, computed elsewhere, where the node's own block is.
hd_status hdi_mirror_put(struct hd_field *field, uint32_t node,
                         const struct hd_grid *box,
                         const struct hdi_window *from, struct hd_error *error);

// Have the process's memory hold the memory block of the node's that a box is
// in, or all of them.
hd_status hdi_mirror_home(struct hd_field *field, uint32_t node,
                          const struct hd_grid *box, struct hd_error *error);
hd_status hdi_mirror_home_all(struct hd_field *field, uint32_t node,
                              struct hd_error *error);

// The process's memory was written, or will be: nothing is on the device.
void hdi_mirror_forget(struct hd_field *field, uint32_t node);

// The same for all devices here.
hd_status hdi_mirrors_home(struct hd_field *field, struct hd_error *error);
void hdi_mirrors_forget(struct hd_field *field);

// Memory apart, for a kernel that writes more than a box; with `fill` what is
// in the box is there. What it wrote in the box is joined to the rest.
hd_status hdi_mirror_part(struct hd_field *field, uint32_t node,
                          const struct hd_grid *box,
                          const struct hd_grid *written, bool fill,
                          char **array, struct hd_error *error);
hd_status hdi_mirror_join(struct hd_field *field, uint32_t node,
                          const struct hd_grid *box, struct hd_error *error);

// Where element 0 of the whole array would be on the device.
char *hdi_mirror_array(const struct hd_field *field, uint32_t node);

#endif
