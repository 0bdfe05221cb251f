// What a picture of a graph shows beside its nodes and edges: which unit began
// a pass, in which lane it is drawn, what is critical, how much was alive when.
#ifndef HDI_GRAPH_SHOW_PICTURE_H
#define HDI_GRAPH_SHOW_PICTURE_H

#include "graph/model/model.h"

struct hdi_picture_pass {
    bool ran;         // in the last run; else the times mean nothing
    bool critical;    // on the longest chain, by time, or work-items before
    uint32_t lane;    // passes of one lane do not overlap
    const char *unit; // whose track it is on; NULL: there is no trace
};

struct hdi_picture_step {
    uint64_t time;  // since the start of the run [ns]
    uint64_t bytes; // alive from then on
};

// Made by hdi_picture_make() from a graph that is linked, for print.c and
// trace.c; the caller frees it, and with it the names that passes point to.
struct hdi_picture {
    struct hdi_picture_pass *passes; // as many as the graph has
    uint32_t lanes;
    struct hdi_picture_step *steps; // by time
    uint32_t step_count;
    // Cut to 47 characters. Only units that began a pass of the last run;
    // passes name them by address.
    char (*units)[48]; // names of all there are
    uint32_t unit_count;
};

// False without memory. The graph is linked and does not run.
//
// After a failure there is nothing to free.
bool hdi_picture_make(const struct hd_graph *graph,
                      struct hdi_picture *picture);
void hdi_picture_free(struct hdi_picture *picture);

#endif
