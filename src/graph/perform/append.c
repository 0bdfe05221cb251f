// Requests of kernels, taken by the host. A command that appends has a buffer
// (backend/appends.h), in scratch of its pass:
//
//     head: room, count | request | request | ...     written by the kernel
//                            |
//     pass->appending   | ... | request | request |    checked copies, to run
//                               next      count
//
// A kernel writes what it likes, so each copy is checked before it counts.
#include "graph/perform/append.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "backend/list.h"
#include "base/error.h"
#include "graph/perform/transfer.h"
#include "launch/args/plan.h"
#include "launch/launch.h"

// The first one; others of the command are the same buffer.
uint32_t hdi_append_argument(const struct hd_graph *graph,
                             const struct hdi_command *command)
{
    for (uint32_t i = 0; i < command->arg_count; i++)
        if (graph->args.at[command->args + i].is == HD_PASS_APPENDS)
            return i;
    return HDI_NONE;
}

// Only heads: requests behind `count` are never read.
hd_status hdi_append_begin(struct hd_graph *graph, const struct hdi_pass *pass,
                           struct hd_error *error)
{
    const struct hdi_appends head = {.room = pass->append_most};

    for (uint32_t i = 0; i < pass->scratch_count && pass->append_most; i++) {
        const struct hdi_scratch *s = &graph->scratch.at[pass->scratch + i];
        if (s->appends)
            HDI_TRY(hdi_transfer_bytes(graph, s->memory, 0, &head, sizeof(head),
                                       error));
    }
    return HD_OK;
}

// What is refused -------------------------------------------------------------

// In words, the same whether the host or a device refused.
hd_status hdi_append_refused(const struct hd_graph *graph,
                             const struct hdi_pass *pass, uint32_t command,
                             unsigned why, struct hd_error *error)
{
    const struct hdi_command *c = &graph->commands.at[pass->commands + command];
    const char *kernel = graph->kernels.at[c->kernel].kernel->info.name;

    switch (why) {
    case HDI_LIST_NO_PASS:
        return hdi_fail(error, HD_EINVAL,
                        "kernel '%s' appends a command that the pass "
                        "does not have, or that cannot be appended",
                        kernel);
    case HDI_LIST_NO_GROUPS:
        return hdi_fail(error, HD_EINVAL,
                        "kernel '%s' appends no work-groups of a "
                        "command, or some beyond its range",
                        kernel);
    default:
        return hdi_fail(error, HD_ELIMIT,
                        "kernel '%s' appends more than the %u "
                        "dispatches that the pass may in a run: raise "
                        "append_most",
                        kernel, pass->append_most);
    }
}

// 0: it is good.
//
// Else why not, as enum hdi_list_failure: that the host and devices refuse the
// same things matters to programs.
static unsigned look(const struct hd_graph *graph, const struct hdi_pass *pass,
                     const struct hdi_append *a)
{
    struct hdi_plan plan;

    if (a->command >= pass->command_count ||
        !graph->commands.at[pass->commands + a->command].appended)
        return HDI_LIST_NO_PASS;
    const struct hdi_command *c =
        &graph->commands.at[pass->commands + a->command];
    hdi_plan_shape(graph->context.launcher, graph->kernels.at[c->kernel].kernel,
                   &c->range, &plan);
    return hdi_append_fits(a, plan.frame.group_count) ? 0 : HDI_LIST_NO_GROUPS;
}

// Taking ----------------------------------------------------------------------

// When something was appended for the first time in this run of the pass: most
// append nothing.
static hd_status make_queue(struct hdi_pass *pass, struct hd_error *error)
{
    if (pass->appending)
        return HD_OK;
    pass->appending =
        malloc(sizeof(*pass->appending) +
               pass->append_most * sizeof(pass->appending->at[0]));
    if (!pass->appending)
        return hdi_fail(error, HD_ENOMEM, "no memory for %u dispatches",
                        pass->append_most);
    pass->appending->count = pass->appending->next = 0;
    return HD_OK;
}

// `count` comes from the kernel and is checked before anything is read.
// Requests are copied first and checked then, behind q->count, so nobody can
// change one in between.
static hd_status take(struct hd_graph *graph, struct hdi_pass *pass,
                      uint32_t command, const struct hd_buffer *from,
                      uint32_t count, struct hd_error *error)
{
    HDI_TRY(make_queue(pass, error));
    struct hdi_appending *q = pass->appending;

    if (count > pass->append_most - q->count)
        return hdi_append_refused(graph, pass, command, HDI_LIST_NO_ROOM,
                                  error);
    HDI_TRY(hd_buffer_read(from, offsetof(struct hdi_appends, at),
                           &q->at[q->count], count * sizeof(q->at[0]), error));
    for (uint32_t i = 0; i < count; i++) {
        unsigned why = look(graph, pass, &q->at[q->count + i]);
        if (why)
            return hdi_append_refused(graph, pass, command, why, error);
    }
    q->count += count;
    return HD_OK;
}

// The buffer is empty again afterwards, for the next dispatch of the command.
hd_status hdi_append_take(struct hd_graph *graph, struct hdi_pass *pass,
                          uint32_t command, struct hd_error *error)
{
    const struct hdi_command *c = &graph->commands.at[pass->commands + command];
    static const uint32_t none;
    uint32_t arg, count;

    if (!pass->append_most || (arg = hdi_append_argument(graph, c)) == HDI_NONE)
        return HD_OK;
    struct hd_buffer *memory =
        graph->scratch.at[pass->scratch + graph->args.at[c->args + arg].index]
            .memory;
    HDI_TRY(hd_buffer_read(memory, offsetof(struct hdi_appends, count), &count,
                           sizeof(count), error));
    if (count == 0)
        return HD_OK;
    HDI_TRY(take(graph, pass, command, memory, count, error));
    return hdi_transfer_bytes(graph, memory,
                              offsetof(struct hdi_appends, count), &none,
                              sizeof(none), error);
}

bool hdi_append_next(struct hdi_pass *pass, uint32_t *command,
                     struct hdi_box *box)
{
    struct hdi_appending *q = pass->appending;

    if (!q || q->next == q->count)
        return false;
    const struct hdi_append *a = &q->at[q->next++];
    *command = a->command;
    *box = (struct hdi_box){0};
    memcpy(box->first, a->first, sizeof(box->first));
    memcpy(box->count, a->count, sizeof(box->count));
    return true;
}

void hdi_append_end(struct hdi_pass *pass)
{
    // Parts of a pass end at the same time; none of these appends.
    if (!pass->append_most)
        return;
    free(pass->appending);
    pass->appending = NULL;
}
