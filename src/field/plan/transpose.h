// Copying a plane whose rows are contiguous on one side and whose columns are
// on the other.
#ifndef HDI_FIELD_PLAN_TRANSPOSE_H
#define HDI_FIELD_PLAN_TRANSPOSE_H

#include <stddef.h>
#include <stdint.h>

// to[r * to_step + c] = from[c * from_step + r], for all r < rows and
// c < columns; steps and counts in elements, addresses of the first.
void hdi_transpose(char *to, int64_t to_step, const char *from,
                   int64_t from_step, int64_t rows, int64_t columns,
                   size_t element);

#endif
