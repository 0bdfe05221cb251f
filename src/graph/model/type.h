// OpenCL C scalar and vector types: sizes, and numbers turned into values.
#ifndef HDI_GRAPH_MODEL_TYPE_H
#define HDI_GRAPH_MODEL_TYPE_H

#include <stdint.h>

#include "heddle/status.h"

enum hdi_scalar {
    HDI_SIGNED,
    HDI_UNSIGNED,
    HDI_FLOAT,
    HDI_HALF
};

// There is one of each type, so that equal types have equal addresses.
struct hdi_type {
    const char *name;
    enum hdi_scalar scalar;
    uint32_t width;       // components
    uint32_t scalar_size; // [bytes]
    uint32_t size;        // with the padding of three components [bytes]
};

// The type of that very name ("uchar4"), or NULL.
const struct hdi_type *hdi_type_find(const char *name);

// The type of an argument as a kernel writes it: qualifiers and one `*` are
// dropped. NULL for void, structs, typedefs and pointers to pointers.
const struct hdi_type *hdi_type_of_argument(const char *written);

enum {
    HDI_VALUE_SIZE = 128 // of the largest type [bytes]
};

// Turn numbers, one for all components or one for each, into a value of the
// type. On failure `problem` says in words which number cannot be and why.
hd_status hdi_type_convert(const struct hdi_type *type, const double *numbers,
                           uint32_t count, void *value, char problem[160]);

#endif
