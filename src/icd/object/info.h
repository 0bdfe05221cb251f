// The pattern of the functions that tell something: a size, room for it, and
// where the size goes.
//
//     switch (name) {
//         HDI_CL_IS(CL_QUEUE_CONTEXT, cl_context, queue->context)
//         HDI_CL_TEXT(CL_PLATFORM_NAME, "Heddle")
//     default:
//         return CL_INVALID_VALUE;
//     }
#ifndef HDI_ICD_INFO_H
#define HDI_ICD_INFO_H

#include <string.h>

#include "icd/object/api.h"

// `value` NULL: only the size is asked for. Room that is too small gets nothing
// and CL_INVALID_VALUE, and `*size_ret` stays as it was.
static inline cl_int hdi_cl_give(const void *data, size_t bytes, size_t size,
                                 void *value, size_t *size_ret)
{
    if (value && size < bytes)
        return CL_INVALID_VALUE;
    if (value && bytes > 0)
        memcpy(value, data, bytes);
    if (size_ret)
        *size_ret = bytes;
    return CL_SUCCESS;
}

// In functions with parameters `size`, `value`, `size_ret`.
#define HDI_CL_IS(name, type, ...)                                          \
    case name:                                                              \
        return hdi_cl_give(&(type){__VA_ARGS__}, sizeof(type), size, value, \
                           size_ret);
#define HDI_CL_BYTES(name, data, bytes) \
    case name:                          \
        return hdi_cl_give(data, bytes, size, value, size_ret);
#define HDI_CL_TEXT(name, text) \
    case name:                  \
        return hdi_cl_give_text(text, size, value, size_ret);

// NULL is told as the empty text; the final 0 counts.
static inline cl_int hdi_cl_give_text(const char *text, size_t size,
                                      void *value, size_t *size_ret)
{
    return hdi_cl_give(text ? text : "", text ? strlen(text) + 1 : 1, size,
                       value, size_ret);
}

// What functions that create something do where it fails.
//
// It returns NULL, to be returned by the function itself.
static inline void *hdi_cl_none(cl_int *error_ret, cl_int error)
{
    if (error_ret)
        *error_ret = error;
    return NULL;
}

static inline void hdi_cl_good(cl_int *error_ret)
{
    if (error_ret)
        *error_ret = CL_SUCCESS;
}

#endif
