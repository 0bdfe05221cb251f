#include "icd/device/trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "runtime/runtime.h"

// Their product is the second that the end of a process waits for commands that
// are under way. Too short, and a trace misses its end; too long, and a process
// hangs on an endless kernel.
enum {
    WAIT = 2000000, // before another look at whether anything moves [ns]
    REST = 500      // such looks, until it is taken for endless
};

_Alignas(64) _Atomic uint64_t hdi_cl_begun;
_Alignas(64) _Atomic uint64_t hdi_cl_done;

// Whose trace is to be written when the process ends; NULL in a child of
// fork(). `traces` says that there is or was one: a child would write the file
// that its parent writes. Both are under the lock of the whole device.
static struct hd_runtime *traced;
static bool traces;

// Called when the process ends, where nothing can be woken any more: it looks
// now and then. Commands may still be enqueued by other threads.
static bool comes_to_rest(void)
{
    for (int i = 0;
         i < REST && atomic_load(&hdi_cl_done) != atomic_load(&hdi_cl_begun);
         i++)
        nanosleep(&(struct timespec){.tv_nsec = WAIT}, NULL);
    return atomic_load(&hdi_cl_done) == atomic_load(&hdi_cl_begun);
}

// By atexit(). Commands that are under way use the trace, so that it is not
// written while some are: a warning instead.
static void write_trace(void)
{
    const char *path = secure_getenv("HEDDLE_TRACE");
    struct hd_error error;
    FILE *file;

    if (!traced || !path)
        return;
    if (!comes_to_rest()) {
        hdi_error("%s: no trace is written: commands are under way", path);
        return;
    }
    file = fopen(path, "we");
    if (!file) {
        hdi_error("%s: %s", path, strerror(errno));
        return;
    }
    if (hd_runtime_trace_write(traced, file, &error) != HD_OK)
        hdi_error("%s: %s", path, error.text);
    if (fclose(file) != 0)
        hdi_error("%s: the trace could not be written", path);
}

bool hdi_cl_trace_wanted(void)
{
    return !traces && secure_getenv("HEDDLE_TRACE");
}

void hdi_cl_trace_begin(struct hd_runtime *runtime)
{
    traced = runtime;
    traces = atexit(write_trace) == 0;
}

void hdi_cl_trace_forget(void)
{
    traced = NULL;
    atomic_store(&hdi_cl_begun, 0);
    atomic_store(&hdi_cl_done, 0);
}
