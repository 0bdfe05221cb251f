// Queues, and commands in them; what a command does is its own business.
#ifndef HDI_ICD_QUEUE_QUEUES_H
#define HDI_ICD_QUEUE_QUEUES_H

#include "heddle/event.h"
#include "icd/memory/contexts.h"

struct hd_start;
struct hd_worker;
struct hdi_cost;
struct hdi_event;

struct hdi_cl_command; // see command.c

// Invariant, with the lock: without a gate no command is behind one,
// `unflushed` is 0 and `newest` means nothing. `last` may have ended and be
// gone: that is as if nothing was before.
//
// The lock is over all from `gate` to `open_room`; `flushes` is written with it
// and read without. What comes before `lock` is constant, but for `modes`,
// which clSetCommandQueueProperty() changes with the lock when the queue is
// empty. `records` is set before the queue is used. `next` is under the
// context's lock.
struct _cl_command_queue {
    struct hdi_cl_object object;
    struct _cl_context *context;
    struct _cl_device_id *device;
    cl_command_queue_properties modes;
    cl_queue_properties *properties; // as given, with the final 0; or NULL
    unsigned property_count;

    pthread_mutex_t lock;
    hd_event gate; // what was enqueued after the last flush waits for it; 0:
                   // nothing was
    hd_event last; // what the next one waits for: the one before, or a barrier
    unsigned unflushed;            // commands behind the gate
    struct hdi_cl_command *newest; // of these, the last
    unsigned bursts;          // times it flushed itself, as far as that counts
    _Atomic uint64_t flushes; // that had something to do
    hd_event *open;           // out of order: what has not ended, and others
    unsigned open_count, open_room;
    bool records; // what is enqueued is given back, see hdi_cl_record()
    struct _cl_command_queue *next; // of the context
};

void hdi_cl_queue_destroy(void *object);

// Where and for what a command runs.
//
// It lives on the stack of who runs the command; `worker` is the one that this
// thread is.
struct hdi_cl_running {
    struct hd_worker *worker;
    struct _cl_command_queue *queue;
    struct hdi_event *record; // of the command; NULL: it has to end here
    struct hdi_cost *cost;    // optional: what its launches take is added there
};

enum {
    HDI_CL_LATER = CL_QUEUED // hdi_cl_end_later() ends the record
};

// What a command does. Everything it needs is in its payload, which `end` frees
// when it is over or could not begin. `run` returns the command's status, or
// HDI_CL_LATER, after which the payload may be gone.
//
// A static table, one per type of command; nothing in it changes. `run` NULL:
// it does nothing, and out of order without a wait list it comes after
// everything (markers and barriers).
struct hdi_cl_work {
    cl_command_type type;
    cl_int (*run)(const struct hdi_cl_running *at, void *payload); // or NULL
    void (*end)(void *payload);
};

// A command that went on without a worker has ended, at this time [ns].
void hdi_cl_end_later(struct hdi_event *record, cl_int result, uint64_t ended);

// Start a part of a command, which ends after its parts. `record` is of
// hdi_cl_take(); `end` gets the payload in any case, and hdi_cl_result() says
// there how it ended. False: no memory; it has ended.
bool hdi_cl_start_part(struct _cl_command_queue *queue,
                       struct hdi_event *record, const struct hdi_cl_work *work,
                       void *payload, const struct hd_start *how,
                       hd_event *event);
cl_int hdi_cl_result(const struct hdi_event *record);

// Enqueue a command, and wait for it if it is to block. The wait list has been
// checked. `end` gets the payload in any case. `event` is optional.
cl_int hdi_cl_enqueue(struct _cl_command_queue *queue,
                      const struct hdi_cl_work *work, void *payload,
                      cl_bool blocks, cl_uint wait_count,
                      const cl_event *wait_list, cl_event *event);

// The same in two steps, for a payload that is made where the command will be:
// room for it, aligned to 16, and the record, or NULL where the queue keeps
// commands (then it is allocated). NULL: no memory. Give an unused record back
// with hdi_event_give_back().
void *hdi_cl_take(struct _cl_command_queue *queue, size_t size,
                  struct hdi_event **record);
cl_int hdi_cl_enqueue_taken(struct _cl_command_queue *queue,
                            struct hdi_event *record,
                            const struct hdi_cl_work *work, void *payload,
                            cl_uint wait_count, const cl_event *wait_list,
                            cl_event *event);

// A recorded command. Sync point n is the n-th command, counted from 1.
//
// `payload` is the buffer's and is freed with it, not after a run. `after` is
// filled where commands run out of order; the indices are smaller than its own.
struct hdi_cl_recorded {
    const struct hdi_cl_work *work;
    void *payload;
    unsigned *after; // commands, as indices
    unsigned after_count;
};

// What a queue that records does with a command: `*made` is no event but a
// struct hdi_cl_recorded, for who enqueued it. As with hdi_cl_enqueue(), `end`
// gets the payload in any case.
cl_int hdi_cl_record(const struct hdi_cl_work *work, void *payload,
                     cl_event *made);

// Let everything that was enqueued begin.
void hdi_cl_flush(struct _cl_command_queue *queue);

// Wait until it has ended; its status.
cl_int hdi_cl_wait(struct _cl_event *event);
cl_int hdi_cl_finish(struct _cl_command_queue *queue);

// Wait until all queues of a context are empty.
cl_int hdi_cl_context_finish(struct _cl_context *context);

#endif
