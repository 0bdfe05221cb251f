// A graph of launches that a device works off by itself: a pass whose inputs
// have ended is ready, its work-groups are claimed one by one by whatever units
// are idle, and who ends the last starts its successors. The host rings once
// and is told once.
//
// A list lies in memory of the device, and is used again: the unit that was
// given it sets it back when it is done. list.c is compiled for the host, where
// it is tested, and for GPUs; it is called by the primary core of a unit, for
// all of its cores, with a fence and a barrier of the unit between what these
// do and the call.
//
// Invariant: a pass is in `ready` once for each run, after all its inputs have
// ended; `ready` never moves, so its entries can be looked at without a lock.
//
// Units that help find a list behind a door (below): its memory may be gone as
// soon as its own unit has answered, so nobody touches it who is not counted.
//
// A pass may append others of its family: it writes requests into its buffer of
// them (appends.h), and when it has ended, copies of the passes that they name,
// with the work-groups that they name, are ready, before the pass counts as
// ended: what comes after it waits for these too. They may append more. Copies
// of a pass that appends share its buffer, and so run one after another, in the
// order of the requests. What is asked for is checked, and bounded; the first
// request that is refused ends the run with an error.
#ifndef HDI_BACKEND_LIST_H
#define HDI_BACKEND_LIST_H

#include <stdbool.h>

#include "backend/appends.h"
#include "backend/frame.h"
#include "backend/mailbox.h"

// One pass.
struct hdi_list_pass {
    // The host's, while it does not run.
    struct hdi_unit_shape shape;
    uint64_t args, entry;
    uint32_t first[3], count[3]; // work-groups
    uint32_t dims;
    uint32_t inputs;             // passes that it comes after
    uint32_t after, after_count; // those that come after it, in `edges`
    uint32_t of;                 // itself, or what it is a copy of
    uint32_t appended;           // it runs when it is asked for
    // Those that requests number from 0 on, and how many they may append in a
    // run, all together. The first counts.
    uint32_t family, family_count, most;
    uint32_t appends_at; // place of the address of its struct hdi_appends in
                         // its arguments, and 1; 0: it appends nothing
    // The device's.
    _Alignas(64) hdi_word waits; // for so many inputs
    hdi_word claimed, ended;     // work-groups
    hdi_word begun_at, ended_at; // by the device's clock [ns]
    hdi_word spent;              // of `most`
    // Of a pass that is appended and appends: its newest copy, and 1, until all
    // have ended. Who makes a copy puts itself there, and is told by the one
    // before, through `next`, when that has ended. Changes of `newest` release
    // and acquire: a copy finds the buffer as the one before left it
    // (tests/models/chain.pml).
    hdi_word newest;
    hdi_word next; // copy that waits for this one, and 1
};

enum {
    HDI_LIST_MAX = 1 << 20 // passes
};

enum hdi_list_failure {
    HDI_LIST_NO_PASS = 1, // a request names none, or one that is not appended
    HDI_LIST_NO_GROUPS,   // none, or some that the pass does not have
    HDI_LIST_NO_ROOM      // for another pass
};

struct hdi_list {
    // The host's.
    uint32_t passes_count, room;    // passes, and with those appended
    uint32_t runs;                  // passes that are not appended
    uint32_t sources, source_count; // those without inputs, in `edges`
    uint64_t passes, edges, ready;  // addresses: of passes, uint32_t, hdi_word
    uint64_t regions; // address: uint32_t of each unit, as in hdi_device_list;
                      // 0: no pass has local memory
    uint32_t classes; // of units that can run every pass: bits
    // The device's.
    _Alignas(64) hdi_word pushed; // entries of `ready`, index + 1
    hdi_word low;                 // entries before this were given out
    _Alignas(64) hdi_word left;   // passes that have not ended
    hdi_word records;             // of passes
    hdi_word progress;            // work-groups that have ended
    hdi_word failure;             // failure << 32 | pass, the first
};

// Where units that have nothing to do find a list to help with. It outlasts all
// lists.
//
// Invariant: who touches the list behind a door, but for the unit whose list it
// is, has counted itself in `inside` before it saw the list there
// (tests/models/door.pml).
struct hdi_list_door {
    hdi_word list; // its address; 0: none; 1: it is being taken away
    hdi_word inside;
};

static inline struct hdi_list_pass *hdi_list_at(const struct hdi_list *list,
                                                uint32_t pass)
{
    return (struct hdi_list_pass *)(uintptr_t)list->passes + pass;
}

// What a unit that looks for work finds.
enum hdu_list_next {
    HDU_LIST_OVER,    // nothing is left, or a request was refused
    HDU_LIST_NOTHING, // as yet
    HDU_LIST_GROUP
};

// Make it ready for a run: every core of the unit clears its part; then the
// primary one begins.
void hdu_list_clear(struct hdi_list *list, uint32_t rank, uint32_t cores);
void hdu_list_begin(struct hdi_list *list);

// Show a list that has begun at a door, unless another is there.
void hdu_list_show(struct hdi_list_door *door, struct hdi_list *list);

// Take it away, if it is there, and wait until all that helped have left. What
// they did is seen.
void hdu_list_hide(struct hdi_list_door *door, struct hdi_list *list);

// The list behind a door, as its unit has begun it, until one leaves; NULL:
// there is none.
struct hdi_list *hdu_list_enter(struct hdi_list_door *door);
void hdu_list_leave(struct hdi_list_door *door);

// Claim a work-group; `group` counts x fastest. What came before is seen.
enum hdu_list_next hdu_list_claim(struct hdi_list *list, uint32_t *pass,
                                  uint64_t *group);

// A work-group of this pass has ended, and what its cores wrote was released.
void hdu_list_end(struct hdi_list *list, uint32_t pass);

// What a platform gives: the time, and a rest.
uint64_t hdu_list_now(void); // [ns]
void hdu_list_pause(void);

#endif
