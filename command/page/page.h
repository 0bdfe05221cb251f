// A trace as one web page that needs nothing else.
#ifndef COMMAND_PAGE_PAGE_H
#define COMMAND_PAGE_PAGE_H

#include <stddef.h>
#include <stdio.h>

#include "heddle/status.h"

// Check that a text can be what `heddle run --trace` wrote, whole. `name` is
// for messages.
hd_status page_check(const char *name, const char *trace, size_t size,
                     struct hd_error *error);

// Write the page. `file` is looked at by the caller.
void page_write(const char *trace, size_t size, FILE *file);

#endif
