// A graph as text, for what contains it.
#ifndef HDI_GRAPH_SHOW_PRINT_H
#define HDI_GRAPH_SHOW_PRINT_H

#include "graph/show/picture.h"

#include "base/text.h"

// The graph is linked; `picture` is of it.
//
// Memory that is missing is told by text->failed at the end.
void hdi_graph_print(const struct hd_graph *graph,
                     const struct hdi_picture *picture,
                     enum hd_graph_format format, struct hdi_text *text);

#endif
