// Events: what the application has of a command that it asked for, or of its
// own.
#ifndef HDI_ICD_QUEUE_EVENT_H
#define HDI_ICD_QUEUE_EVENT_H

#include "heddle/event.h"
#include "icd/memory/contexts.h"

struct hdi_cl_callback;

// What the application has of a command that it asked for, or a user's event.
// It is held until the command has ended.
//
// Life: made with the command, one reference of the application, one hold of
// the command. `status` is the only word that other threads wait for:
//
//     CL_QUEUED --> CL_RUNNING --> CL_COMPLETE, or an error (< 0)
//     CL_QUEUED --> an error, without running, when its wait list failed
//     CL_SUBMITTED --> CL_COMPLETE, or an error        of a user's event
//
// CL_SUBMITTED of a command is not stored: it is CL_QUEUED after the flush of
// its queue. The four times are written before the last status is stored and
// read by who has seen that. `callbacks` are under the lock of all callbacks
// (event.c).
struct _cl_event {
    struct hdi_cl_object object;
    struct _cl_context *context;
    struct _cl_command_queue *queue; // NULL: a user's
    cl_command_type type;
    struct hd_pool *pool;
    hd_event handle; // in the pool; one that has ended well may be gone there
    bool holds;      // the handle
    hd_event gate;   // of the queue, when it was enqueued
    uint64_t flush;  // how often that had been flushed
    _Atomic cl_int status; // as CL_EVENT_COMMAND_EXECUTION_STATUS, but for
                           // CL_SUBMITTED of a command
    uint64_t queued, submitted, started, ended; // [ns]
    struct hdi_cl_callback *callbacks;          // in the order of registration
    _Atomic uint32_t callback_count;
};

void hdi_cl_event_destroy(void *object);

// CL_SUCCESS, or what is wrong with a wait list.
cl_int hdi_cl_check_wait(const struct _cl_context *context, cl_uint count,
                         const cl_event *list);

// As the application is told it.
cl_int hdi_cl_event_status(const struct _cl_event *event);

// A user's event begins to wait for its end, and ends. False: no memory; it has
// ended.
bool hdi_cl_event_begin(struct _cl_event *event);
bool hdi_cl_event_end(struct _cl_event *event, cl_int status);

// With one reference; `queue` NULL: a user's.
struct _cl_event *hdi_cl_event_create(struct _cl_context *context,
                                      struct _cl_command_queue *queue);

// It takes the lock of callbacks only when there are any, so that commands
// without callbacks pay one load. Any thread, with no lock of this kind held.
// The status has changed: call those who want to know, soon.
void hdi_cl_event_call(struct _cl_event *event, cl_int status);

// Do so for CL_SUBMITTED when it comes to that.
void hdi_cl_event_call_when_flushed(struct _cl_event *event);

#endif
