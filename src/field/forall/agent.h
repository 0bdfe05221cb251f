// Answers what other processes ask while this one computes: memory blocks,
// tasks to steal, results that come back. Its own thread where the transport
// allows it, else it is called between tasks and while waiting.
//
//     thief                          victim's agent
//     ASK_TASK, what a task takes ->
//                                 <- loot, 0: none
//     ... inputs by ASK_BLOCK, computes ...
//     TELL_RESULT, then its bytes -> writes them, counts the task as done
#ifndef HDI_FIELD_FORALL_AGENT_H
#define HDI_FIELD_FORALL_AGENT_H

#include "field/forall/run.h"

struct hdi_agent;

// Before the meeting at a run's begin, so that all know when one cannot.
hd_status hdi_agent_start(struct hdi_run *run, bool thread,
                          struct hdi_agent **agent, struct hd_error *error);

// When all processes have met, so that nobody asks any more. NULL is allowed.
void hdi_agent_stop(struct hdi_agent *agent);

// Answer what there is, without waiting, if it has no thread; true when there
// was something.
bool hdi_agent_serve(struct hdi_agent *agent);

// Asking others. `node` is the one here that asks, from one thread. The answers
// of a process come in the order of what it was asked.

// Are hdi_fetch's begin and wait, with the agent as data.
hd_status hdi_agent_fetch(void *data, uint32_t node, struct hd_field *field,
                          uint32_t owner, const struct hd_grid *box,
                          void *buffer, struct hdi_transfer **transfer,
                          struct hd_error *error);
hd_status hdi_agent_await(void *data, uint32_t owner,
                          struct hdi_transfer *transfer,
                          struct hd_error *error);

// Tasks that a node has (hdi_loot()); 0 when it gives none.
hd_status hdi_agent_steal(struct hdi_agent *agent, uint32_t node,
                          uint32_t victim, uint64_t *loot,
                          struct hd_error *error);

// Whether a process answers within the cluster's limit, whatever it computes.
bool hdi_agent_lives(struct hdi_agent *agent, uint32_t process);

// Is hdi_run.give, with the agent as data.
hd_status hdi_agent_result(void *data, uint32_t node, uint32_t owner,
                           const struct hd_grid *box, const void *result,
                           struct hd_error *error);

// Tell all that a task has failed.
void hdi_agent_tell_failure(struct hdi_agent *agent);

#endif
