// Errors of the command itself, in the library's own error type, so that one
// place prints them all.
#ifndef COMMAND_FAILURE_H
#define COMMAND_FAILURE_H

#include "heddle/status.h"

// Describe a failure and return `status`.
__attribute__((format(printf, 3, 4))) hd_status fail(struct hd_error *error,
                                                     hd_status status,
                                                     const char *format, ...);

// Print "heddle: ..." for a failure and return the exit code that goes with it;
// "cancelled" when a signal is behind it.
int report_failure(hd_status status, const struct hd_error *error);

#endif
