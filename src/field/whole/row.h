// Fields of one axis.
#ifndef HDI_FIELD_WHOLE_ROW_H
#define HDI_FIELD_WHOLE_ROW_H

#include "field/memory/field.h"

// Whether it has one axis, and elements of `least` bytes at least.
hd_status hdi_row_check(const struct hd_field *field, size_t least,
                        struct hd_error *error);

// The same elements in blocks, one after another over all nodes, and back.
// Collective.
// The blocks are the caller's to destroy.
hd_status hdi_row_in_blocks(struct hd_field *field, struct hd_field **blocks,
                            struct hd_error *error);
hd_status hdi_row_put_back(struct hd_field *field, struct hd_field *from,
                           struct hd_error *error);

#endif
