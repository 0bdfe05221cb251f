// What a pass will add, found out before anything changes.
//
// Lives during one call of hdi_graph_add_pass(). `args` and `values` are what
// commands will add; values in [bytes], each rounded up to 16. `work_items` of
// all dispatches that are not appended; UINT64_MAX: more than can be counted.
//
// A call goes through these steps:
//
//     plan_accesses   accesses, behind the end of graph->accesses
//     plan_commands   checked; arguments and values are counted
//     make_room       all memory that is still needed
//     ------------------------------------------------ nothing fails any more
//     add_command     commands, arguments and values are put in
//     add_versions    resources have a new writer, and one more user
//
// Accesses are the exception: they are written in the first step, but count
// only from the last on, so a failed call leaves them behind the end.
#ifndef HDI_GRAPH_DEFINE_PLAN_H
#define HDI_GRAPH_DEFINE_PLAN_H

#include "graph/model/model.h"

struct hdi_pass_plan {
    const struct hd_pass_params *params;
    const char *name, *where; // for messages; never NULL
    uint32_t access_count;    // put behind graph->accesses
    uint64_t args, values;
    uint64_t work_items;
    unsigned appends; // commands that append others
};

// Behind the end of graph->accesses, for which room is made.
hd_status hdi_plan_accesses(struct hd_graph *graph, struct hdi_pass_plan *plan,
                            struct hd_error *error);

// After the accesses: commands and scratch are checked, what they add counted.
hd_status hdi_plan_commands(struct hd_graph *graph, struct hdi_pass_plan *plan,
                            struct hd_error *error);

// A command other than a dispatch or a call (transfer.c).
hd_status hdi_plan_transfer(struct hd_graph *graph, struct hdi_pass_plan *plan,
                            const struct hd_command *command,
                            struct hd_error *error);

// The access of a resource that the pass being planned has, or NULL.
const struct hdi_access *hdi_planned(struct hd_graph *graph,
                                     hd_resource resource);

// For messages.
const char *hdi_plan_name(struct hd_graph *graph, hd_resource resource);

// What the elements of a resource are as texels. False: none of that format.
bool hdi_plan_format(const struct hdi_type *type, const struct hd_pass_arg *arg,
                     uint64_t *format);

// The command has an argument that takes requests.
bool hdi_takes_appends(const struct hd_command *command);

#endif
