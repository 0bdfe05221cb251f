// Layouts: the same numbers as vectors side by side, or in planes, one for each
// component, along one more axis.
#ifndef HDI_GRAPH_MODEL_LAYOUT_H
#define HDI_GRAPH_MODEL_LAYOUT_H

#include "graph/model/model.h"

// Which of both has the vectors; NULL: neither is the other in another layout.
const struct hdi_resource *hdi_layout_vectors(const struct hdi_resource *a,
                                              const struct hdi_resource *b);

// Write all of `to`, which is `from` in another layout. Both are at hand.
hd_status hdi_layout_change(struct hd_graph *graph,
                            const struct hdi_resource *from, const void *source,
                            const struct hdi_resource *to, void *target,
                            struct hd_error *error);

#endif
