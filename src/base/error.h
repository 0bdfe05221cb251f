// Filling in a caller's hd_error, and early returns.
#ifndef HDI_BASE_ERROR_H
#define HDI_BASE_ERROR_H

#include <stddef.h>

#include "heddle/status.h"

// Write the text into `error`, or to the log when `error` is NULL, and return
// `status`: the function that decides it is an error calls this, once.
//
//     return hdi_fail(error, HD_ENOENT, "%s: no kernel named '%s'", path,
//     name);
__attribute__((format(printf, 3, 4))) hd_status hdi_fail(struct hd_error *error,
                                                         hd_status status,
                                                         const char *format,
                                                         ...);

// The same for a text of any length, which need not end in 0.
hd_status hdi_fail_text(struct hd_error *error, hd_status status,
                        const char *text, size_t size);

// Put "prefix: " before a text that is already there.
__attribute__((format(printf, 2, 3))) void hdi_prefix_error(
    struct hd_error *error, const char *format, ...);

// Early return for functions that have nothing to undo. Use a goto ladder
// (err_free:, err_close:) as soon as there is something to undo.
#define HDI_TRY(call)                   \
    do {                                \
        hd_status try_status_ = (call); \
        if (try_status_ != HD_OK)       \
            return try_status_;         \
    } while (0)

#endif
