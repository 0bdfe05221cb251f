// Giving a field the values of a view: what hd_field_assign() does, as one
// thing that is under way.
#ifndef HDI_FIELD_MOVING_ASSIGN_H
#define HDI_FIELD_MOVING_ASSIGN_H

#include <stdatomic.h>

#include "field/cluster/agreement.h"
#include "field/moving/moving.h"

// The stages, in order:
//
//     CALL -> WORK -> END -> OVER                   a blocking call
//     CALL -> WAIT -> READY -> WORK -> END -> OVER  one that was started
//
// A failure leads to OVER after the next agreement, on all processes; what was
// started waits for its event before. A lost process leads there without an
// agreement, when what was started has copied.
enum hdi_assign_stage {
    HDI_ASSIGN_CALL,  // all say that they call it
    HDI_ASSIGN_WAIT,  // for what it comes after, here
    HDI_ASSIGN_READY, // all say that they are ready
    HDI_ASSIGN_WORK,  // copies and messages
    HDI_ASSIGN_END,   // all say how it went
    HDI_ASSIGN_OVER
};

enum hdi_assign_ready {
    HDI_ASSIGN_NOT_YET,
    HDI_ASSIGN_RUNS,    // its event has begun, and ends when this is over
    HDI_ASSIGN_GIVEN_UP // its event has ended: others are told
};

// What a worker copies: of one node here, or all of a view's values.
struct hdi_assign_part {
    struct hdi_assign *assign;
    uint32_t node;
    hd_status status;
    struct hd_error error;
};

// Who goes on with what is started and not waited for: has workers copy what
// needs no messages, tells whether they have, and whether what it comes after
// has ended.
// Blocking calls have none: they copy at once, and are ready.
struct hdi_assign_by {
    void (*copy)(struct hdi_assign *assign);
    bool (*copied)(const struct hdi_assign *assign);
    bool (*ready)(const struct hdi_assign *assign);
};

// Invariant: one thread steps it; others write `ready`, with what is beside it,
// once, and count `copying` down, both under the mover's lock.
// Of a blocking call it lies on the stack, else the mover frees it.
struct hdi_assign {
    struct hdi_assign *next; // of the mover
    struct hd_cluster *cluster;
    struct hd_field *field;
    struct hd_view view;
    struct hdi_route *route; // NULL: the view is of no field
    enum hdi_assign_stage stage;
    struct hdi_agreement agreement;
    struct hdi_moving moving;
    struct hd_error unsent; // why messages failed
    bool moves;             // `moving` has begun
    bool sent;              // its messages are over
    bool lost;              // a process is: nothing more is agreed on
    hd_status status;       // the first failure here, or the outcome
    struct hd_error error;

    // Of those that are started and not waited for; NULL and 0 of others.
    const struct hdi_assign_by *by;
    struct hd_pool *pool;
    struct hdi_event *event;
    uint64_t number; // of the call
    uint64_t quiet;  // since when nothing has come [ns]; 0: something has
    bool anyway;
    enum hdi_assign_ready ready;
    hd_status before; // how what it comes after has ended, and why
    struct hd_error why;
    uint32_t parts, copying;
    struct hdi_assign_part *part;
};

// Check and plan; returns the first failure here, with a text in
// assign->error, which all must be told. Give back what it holds with
// hdi_assign_end().
hd_status hdi_assign_prepare(struct hdi_assign *assign, struct hd_field *field,
                             const struct hd_view *view);
void hdi_assign_end(struct hdi_assign *assign);

// Say that this process calls it, with a status.
void hdi_assign_call(struct hdi_assign *assign, hd_status status);

// Go on without waiting; true when it is over. `*moved`: something happened.
bool hdi_assign_step(struct hdi_assign *assign, bool *moved);

// The process that it waits for.
uint32_t hdi_assign_peer(const struct hdi_assign *assign);

// Fail, because a process does not answer or does something else. It goes on to
// its end by steps.
void hdi_assign_lost(struct hdi_assign *assign, hd_status status,
                     const struct hd_error *why);

#endif
