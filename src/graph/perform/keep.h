// Checkpoints of a run over fields, and going on from one.
//
// After a pass over fields, when it is time, the fields that later passes need
// are saved in a folder `checkpoint-PASS`, which has its name only when all is
// on the disk. What such passes bring to memory of each process is saved when
// they have run, in `pass-PASS-RESOURCE`. A run that goes on takes both from
// there instead of running these passes; all others run again.
#ifndef HDI_GRAPH_PERFORM_KEEP_H
#define HDI_GRAPH_PERFORM_KEEP_H

#include "graph/model/model.h"

// Whether a pass over fields has run before the checkpoint that the run goes on
// from; then take over what it left, its memory being there. Collective.
bool hdi_keep_skips(const struct hd_graph *graph, const struct hdi_pass *pass);
hd_status hdi_keep_restore(struct hd_graph *graph, const struct hdi_pass *pass,
                           struct hd_error *error);

// After a pass over fields. A checkpoint that cannot be made is a warning: the
// one before it stays. Collective.
hd_status hdi_keep_after(struct hd_graph *graph, const struct hdi_pass *pass,
                         struct hd_error *error);

#endif
