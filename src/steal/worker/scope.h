// Which group the work of a worker belongs to: what can be cancelled, and whose
// error a failure is.
//
// A worker has a pile of frames, one for each scope that it is in and one for
// each piece of foreign work that it runs. A frame covers the task records from
// its `base` up to the next frame's: spawning writes nothing about scopes.
//
// A thief that has taken record r asks for the frame that covers it. The owner
// changes the pile meanwhile, but not what matters: a scope is left only after
// everything forked in it was joined, so the frames that were there when r was
// spawned stay as long as r is not done, and every frame entered since has a
// base above r. `count` is released after the frame is written, so a thief
// never sees an older frame in a newer one's place.
#ifndef HDI_STEAL_WORKER_SCOPE_H
#define HDI_STEAL_WORKER_SCOPE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct hd_group;

enum {
    HDI_MAX_FRAMES = 1 << 17 // a thread's stack ends first
};

struct hdi_scope_frame {
    _Atomic uint32_t base; // first record [records]
    _Atomic(struct hd_group *) group;
};

//     frames   base 0, group A | base 4, group B | base 9, group C |  count
//     records  0 .. 3: A         4 .. 8: B          9 and on: C
struct hdi_scopes {
    struct hdi_scope_frame *frames;
    _Atomic uint32_t count; // written by the owner
};

// False without memory.
bool hdi_scopes_init(struct hdi_scopes *scopes);
void hdi_scopes_destroy(struct hdi_scopes *scopes);

// Owner only. False when there are too many.
bool hdi_scopes_enter(struct hdi_scopes *scopes, uint32_t base,
                      struct hd_group *group);
void hdi_scopes_leave(struct hdi_scopes *scopes);

// Owner only: the innermost frame's group, or NULL; and its base, 0 if none.
struct hd_group *hdi_scopes_now(const struct hdi_scopes *scopes);
uint32_t hdi_scopes_base(const struct hdi_scopes *scopes);

// The group of a record that is taken and not done, or NULL. Any thread.
struct hd_group *hdi_scopes_of(const struct hdi_scopes *scopes,
                               uint32_t record);

#endif
