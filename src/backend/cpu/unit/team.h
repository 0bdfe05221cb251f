// A host unit: threads with a barrier that serve a mailbox with unit.c,
// the loop that runs on GPUs too.
//
// The team belongs to its threads and to the worker that has it open; who
// leaves last frees it. So a team that hangs in a kernel can be abandoned: its
// threads leave by themselves if the kernel ever returns.
#ifndef HDI_BACKEND_CPU_TEAM_H
#define HDI_BACKEND_CPU_TEAM_H

#include "backend/cpu/cpu.h"
#include "backend/cpu/unit/region.h"
#include "backend/unit.h"

struct hdi_team;

// Start unit `index`. HD_ELIMIT: its portion is taken, or no more threads.
// Then for each chunk: expect, submit to the mailbox, ring. At the end: tell it
// to disconnect, ring and join, or abandon.
hd_status hdi_team_start(struct hdi_cpu_device *device, unsigned index,
                         struct hdi_team **team);

struct hdi_mailbox *hdi_team_mailbox(struct hdi_team *team);

// Before chunk `number` is submitted.
void hdi_team_expect(struct hdi_team *team, uint64_t number);

// As hdi_backend.fault().
bool hdi_team_fault(const struct hdi_team *team, uint64_t number,
                    struct hdi_fault *fault);

// Leave the kernel of a chunk that is not done, and begin no more of it.
void hdi_team_stop(struct hdi_team *team, uint64_t number);

// Wake its primary core, if it sleeps, after something was stored for it.
void hdi_team_ring(struct hdi_team *team);

// The team has been told to leave and does: wait for it. Or it hangs and was
// given up: let go of it.
void hdi_team_join(struct hdi_team *team);
void hdi_team_abandon(struct hdi_team *team);

#endif
