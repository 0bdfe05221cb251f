// The trace that HEDDLE_TRACE asks for, of all that the process has run, and
// what is under way in it.
#ifndef HDI_ICD_DEVICE_TRACE_H
#define HDI_ICD_DEVICE_TRACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct hd_runtime;

// Commands of all queues, until the process ends. Two counters on lines of
// their own: those who enqueue write one, workers the other, and only the end
// of the process compares them.
extern _Atomic uint64_t hdi_cl_begun, hdi_cl_done;

static inline void hdi_cl_count_begun(void)
{
    atomic_fetch_add_explicit(&hdi_cl_begun, 1, memory_order_relaxed);
}

static inline void hdi_cl_count_done(void)
{
    atomic_fetch_add_explicit(&hdi_cl_done, 1, memory_order_release);
}

// Whether a runtime that is started now is to be traced: one of a process.
bool hdi_cl_trace_wanted(void);

// It is, and its trace is written when the process ends.
void hdi_cl_trace_begin(struct hd_runtime *runtime);

// In the child of fork(): the runtime is the parent's, and its trace the
// parent's to write.
void hdi_cl_trace_forget(void);

#endif
