// Between command.c, which runs commands, and event.c, which tells of them.
#ifndef HDI_ICD_EVENT_H
#define HDI_ICD_EVENT_H

#include "icd/icd.h"

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
