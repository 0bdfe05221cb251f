// The mailbox between one worker and one unit: how a chunk crosses
// to a unit that is not on the worker's thread, and how its result comes back.
//
// The two sides share nothing but this memory. Each word is written by one side
// only, except the doorbell, which the sides write in turn.
//
//     doorbell mode   one task at a time, in slot 0. The worker stores the
//                     task, fences, stores 1 to the bell; the unit stores the
//                     results, fences, stores 0.
//     ring mode       up to HDI_MAILBOX_RING tasks, numbered from 1; task n
//     lies
//                     in slot n % HDI_MAILBOX_RING, and its bell is n. `done`
//                     is the number of the latest finished one. They finish in
//                     order.
//
// What a task costs is the cache lines that move. A task and its bell lie in
// one line, and so does the completion word in doorbell mode, where that line
// is all that moves, there and back; in ring mode the slots are written by the
// worker alone and the answers come back in a line of the unit's. What tasks of
// one launch have in common, their shape, lies in lines of its own that are
// written and read only when it is not that of the task before.
//
// Ordering, the same in both modes:
//
//     worker                        unit
//     ------                        ----
//     1 completion = 0 (doorbell    a load bell, until it rang
//       mode); task words           b acquire fence
//     2 release fence               c task words; completion = 0 (ring
//     3 store bell                    mode); run
//     4 load bell, until answered   d results
//     5 acquire fence               e release fence
//     6 read results                f store bell
//
// Who sees the bell of 3 sees the whole task (2 pairs with b), who sees the
// answer of f sees all results (e pairs with 5). A slot is written again (1)
// only after its results were waited for (4): the unit's reads of c and its
// stores of d are then over, because they come before f.
//
// Leaving a unit that hangs needs an agreement on who runs what still lies in
// the ring. Before each task the unit stores its number to `started`, settles,
// and looks at `given_up`; the worker stores `given_up`, settles, and looks at
// `started`. At least one sees the other: a task that the worker does not find
// started will never be. The worker hardly ever does this, the unit for every
// task, so the worker bears the cost: its settling makes every thread of the
// process pass a fence (membarrier). A GPU's cores it cannot reach; they fence.
//
// Who may call at the same time: the worker's functions only one thread, the
// unit's only its primary core; the two sides freely.
#ifndef HDI_BACKEND_MAILBOX_H
#define HDI_BACKEND_MAILBOX_H

#include <stdbool.h>
#include <stddef.h>

#include "backend/frame.h"
#include "backend/word.h"
#include "base/pause.h"

enum {
    HDI_MAILBOX_RING = 8, // tasks; a power of two
    HDI_UNIT_CORES = 256, // most cores of a unit
    HDI_TASK_WORDS = 6,
    HDI_SHAPE_WORDS = 10
};

enum hdi_mailbox_mode {
    HDI_DOORBELL,
    HDI_RING
};

enum hdi_opcode {
    HDI_OP_RUN = 1,        // the groups of the box
    HDI_OP_DISCONNECT = 2, // leave
    HDI_OP_LIST = 3 // work off the list at `args` (list.h), where there is
                    // a device that can
};

// What crosses: a chunk, translated. The shape is that of its launch.
struct hdi_unit_shape {
    uint64_t global[3], offset[3];
    uint32_t local_size[3], group_count[3];
    uint32_t local_units, saved_units; // HDI_MEMORY_UNIT each; UINT32_MAX: more
                                       // than can be had
};
_Static_assert(sizeof(struct hdi_unit_shape) == 8 * HDI_SHAPE_WORDS, "");

// All but the memory lies in a frame as it does here.
enum {
    HDI_FRAME_SHAPE_BYTES = offsetof(struct hdi_unit_shape, local_units)
};
_Static_assert(offsetof(struct hdi_frame, group_count) +
                       sizeof(((struct hdi_frame *)NULL)->group_count) -
                       offsetof(struct hdi_frame, global) ==
                   HDI_FRAME_SHAPE_BYTES,
               "");

struct hdi_unit_task {
    uint64_t args, entry; // addresses that mean the same on both sides
    uint32_t first[3], count[3];
    uint16_t opcode;
    uint16_t local; // of tiles: where its local memory lies in their module's
                    // [HDI_MEMORY_UNIT]
    uint16_t dims;
    uint16_t reshaped; // its shape is not that of the task before
};
_Static_assert(sizeof(struct hdi_unit_task) == 8 * HDI_TASK_WORDS, "");

enum {
    HDI_MEMORY_UNIT = 64 // [bytes]
};

// Bit i of the completion words: core i had a part and it succeeded. The codes
// are bytes, 0 where there was no failure.
struct hdi_unit_result {
    // The first word lies beside the answer instead: who reads the one has
    // fetched the other.
    _Alignas(128) hdi_word completion[HDI_UNIT_CORES / 64];
    hdi_word codes[HDI_UNIT_CORES / 8];
};

struct hdi_mailbox_slot {
    _Alignas(64) hdi_word bell;
    hdi_word completion; // doorbell mode
    hdi_word task[HDI_TASK_WORDS];
    hdi_word shape[HDI_SHAPE_WORDS];
};
_Static_assert(offsetof(struct hdi_mailbox_slot, shape) == 64, "one line");

// No two mailboxes share a line: 128 bytes are what one read of a bus and two
// neighbouring cache lines hold. But for the slot of doorbell mode, in which
// the sides take turns, each line is written by one side.
struct hdi_mailbox {
    _Alignas(128) struct hdi_mailbox_slot slots[HDI_MAILBOX_RING]; // the worker
    _Alignas(128) hdi_word done; // ring mode; the unit
    hdi_word done_completion[HDI_MAILBOX_RING];
    _Alignas(128) hdi_word started;  // the unit; read when it is given up
    _Alignas(128) hdi_word given_up; // the worker
    struct hdi_unit_result results[HDI_MAILBOX_RING];
};

// How long a side waits after a look in vain before it looks again. Each look
// takes the line along, and the other side fetches it back before it stores:
// too early costs a transfer, too late costs what it is late. How long suits is
// a matter of the two cores, between 10 and 150 ns for a line, so each side
// learns it: a look that was too early adds a pause, eight that were not take
// one away.
//
//     hold      pauses after the first look in vain, at most HDI_HOLD_MAX
//     on_time   looks after that which found something, since `hold` changed
struct hdi_mailbox_patience {
    uint32_t hold, on_time;
};

enum {
    HDI_HOLD_MAX = 16, // some 200 ns: nothing to a task that takes longer
    HDI_HOLD_AGAIN = 4 // pauses between later looks
};

static inline void hdi_mailbox_hold_off(uint32_t pauses)
{
    for (uint32_t i = 0; i < pauses; i++)
        hdi_pause();
}

// There it was, after so many looks in vain.
static inline void hdi_mailbox_learn(struct hdi_mailbox_patience *p,
                                     uint32_t vain)
{
    if (vain > 1) {
        p->hold += p->hold < HDI_HOLD_MAX;
        p->on_time = 0;
    } else if (vain == 1 && ++p->on_time == 8) {
        p->hold -= p->hold > 0;
        p->on_time = 0;
    }
}

// The worker's end.
struct hdi_mailbox_end {
    struct hdi_mailbox *mailbox;
    enum hdi_mailbox_mode mode;
    uint32_t cores;
    uint64_t submitted, done; // as last seen
    uint32_t vain;            // looks for the one after `done`
    struct hdi_mailbox_patience patience;
    struct hdi_unit_shape shape; // of the latest task
};

// Where what belongs to task `number` lies in an array of HDI_MAILBOX_RING.
static inline unsigned hdi_mailbox_slot(uint64_t number)
{
    return (unsigned)(number % HDI_MAILBOX_RING);
}

static inline struct hdi_mailbox_slot *hdi_mailbox_task(
    struct hdi_mailbox *m, enum hdi_mailbox_mode mode, uint64_t number)
{
    return &m->slots[mode == HDI_DOORBELL ? 0 : hdi_mailbox_slot(number)];
}

// What the bell of task `number` says when it rings.
static inline uint64_t hdi_mailbox_bell(enum hdi_mailbox_mode mode,
                                        uint64_t number)
{
    return mode == HDI_DOORBELL ? 1 : number;
}

// Completion word `i` of task `number`, its cores 64 i and on.
static inline hdi_word *hdi_mailbox_completion(struct hdi_mailbox *m,
                                               enum hdi_mailbox_mode mode,
                                               uint64_t number, uint32_t i)
{
    unsigned slot = hdi_mailbox_slot(number);
    if (i > 0)
        return &m->results[slot].completion[i];
    return mode == HDI_DOORBELL ? &m->slots[0].completion
                                : &m->done_completion[slot];
}

// The unit's side, in unit.c ---------------------------------------------

static inline bool hdu_mailbox_rang(struct hdi_mailbox *m,
                                    enum hdi_mailbox_mode mode, uint64_t number)
{
    return hdi_word_load(&hdi_mailbox_task(m, mode, number)->bell) ==
           hdi_mailbox_bell(mode, number);
}

// The task has come: none of its parts has succeeded yet. In doorbell mode the
// worker has cleared the words, in its line; in ring mode they are the unit's,
// and lie in the line that the answer moves.
static inline void hdu_mailbox_clear(struct hdi_mailbox *m,
                                     enum hdi_mailbox_mode mode,
                                     uint64_t number, uint32_t cores)
{
    for (uint32_t i = 0; mode == HDI_RING && i < cores; i += 64)
        hdi_word_store(hdi_mailbox_completion(m, mode, number, i / 64), 0);
}

static inline void hdu_mailbox_answer(struct hdi_mailbox *m,
                                      enum hdi_mailbox_mode mode,
                                      uint64_t number)
{
    hdi_word_release(); // e
    if (mode == HDI_DOORBELL)
        hdi_word_store(&m->slots[0].bell, 0);
    else
        hdi_word_store(&m->done, number);
}

// The worker's side, in mailbox.c -----------------------------------------

// The other side of hdi_word_settle(), for all threads of this process. Asked
// for once, before any unit starts; false: this system cannot do it.
bool hdi_mailbox_can_settle(void);
void hdi_mailbox_settle(void);

// `mailbox` is zeroed memory that no unit reads yet.
void hdi_mailbox_open(struct hdi_mailbox_end *end, struct hdi_mailbox *mailbox,
                      enum hdi_mailbox_mode mode, uint32_t cores);

// A GPU has no string.h, hence the compiler's own.
//
// Whether the latest task had the shape of that frame and so much memory.
static inline bool hdi_mailbox_is_shaped(const struct hdi_mailbox_end *end,
                                         const struct hdi_frame *frame,
                                         uint32_t local_units,
                                         uint32_t saved_units)
{
    return __builtin_memcmp(&end->shape, (const char *)frame->global,
                            HDI_FRAME_SHAPE_BYTES) == 0 &&
           end->shape.local_units == local_units &&
           end->shape.saved_units == saved_units;
}

static inline struct hdi_unit_shape hdi_mailbox_shape(
    const struct hdi_frame *frame, uint32_t local_units, uint32_t saved_units)
{
    struct hdi_unit_shape shape = {.local_units = local_units,
                                   .saved_units = saved_units};
    __builtin_memcpy(&shape, (const char *)frame->global,
                     HDI_FRAME_SHAPE_BYTES);
    return shape;
}

// Hand over a task of that shape; NULL: it is that of the task before. False
// when the mailbox is full.
bool hdi_mailbox_submit(struct hdi_mailbox_end *end,
                        const struct hdi_unit_task *task,
                        const struct hdi_unit_shape *shape);

// The number of the latest finished task. What it left is seen with it.
uint64_t hdi_mailbox_done(struct hdi_mailbox_end *end);

// Of a finished task whose slot was not used again: 0 when all of its `parts`
// succeeded, else the code of the first that failed, which is `*part`.
uint32_t hdi_mailbox_result(const struct hdi_mailbox_end *end, uint64_t number,
                            uint32_t parts, uint32_t *part);

// The code of one part.
uint32_t hdi_mailbox_code(const struct hdi_mailbox_end *end, uint64_t number,
                          uint32_t part);

// Give the unit up: it starts no task but those it has. Returns the number of
// the latest it started; later ones will never run.
uint64_t hdi_mailbox_give_up(struct hdi_mailbox_end *end);

#endif
