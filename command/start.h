// How every subcommand starts a runtime.
#ifndef COMMAND_START_H
#define COMMAND_START_H

#include "heddle/runtime.h"

// As hd_runtime_create(), with the cache of HEDDLE_CACHE, and with signals kept
// away from the runtime's threads. `*runtime` is NULL on failure.
hd_status start_runtime(struct hd_runtime_params params,
                        struct hd_runtime **runtime, struct hd_error *error);

#endif
