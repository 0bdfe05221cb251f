// printf() of kernels. A unit collects what its work-items print and passes
// whole lines on, so that no line is torn between work-groups.
#ifndef HDI_BACKEND_PRINT_H
#define HDI_BACKEND_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/backend.h"
#include "base/text.h"

// All zero: to stdout, nothing collected.
struct hdi_printer {
    struct hdi_print_sink sink;
    struct hdi_text text;
    bool muted; // nothing is passed on
};

// Append what the format and its arguments, as struct hdi_print_arg has them,
// give. Returns 0, or -1 when an argument is missing or memory is short.
int32_t hdi_print_format(struct hdi_text *text, const char *format,
                         const struct hdi_print_arg *args, uint32_t count);

// One call of printf().
int32_t hdi_printer_print(struct hdi_printer *printer, const char *format,
                          const struct hdi_print_arg *args, uint32_t count);

// Pass on what is left, at the end of a chunk.
void hdi_printer_flush(struct hdi_printer *printer);

#endif
