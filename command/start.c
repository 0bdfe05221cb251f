#include "start.h"

#include "interrupt.h"

hd_status start_runtime(struct hd_runtime_params params,
                        struct hd_runtime **runtime, struct hd_error *error)
{
    sigset_t before;

    *runtime = NULL;
    // Signals are the main thread's alone; see interrupt.c.
    interrupt_hold(&before);
    hd_status status = hd_runtime_create(&params, runtime, error);
    interrupt_release(&before);
    if (status != HD_OK)
        *runtime = NULL;
    return status;
}
