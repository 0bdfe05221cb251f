// What stands for the graph language in a build without Lua.
#include "base/error.h"
#include "graph/model/graph.h"

hd_status hdi_graph_generate(const struct hdi_graph_context *context,
                             const struct hd_graph_program *program,
                             struct hd_graph **graph, struct hd_error *error)
{
    (void)context, (void)graph;
    return hdi_fail(error, HD_ENOTSUP,
                    "%s: graph programs need Lua 5.4, which this build was "
                    "made without; install liblua5.4-dev and build again",
                    program->path ? program->path : "graph program");
}

const char *hdi_graph_language(void)
{
    return "none: built without Lua 5.4 (install liblua5.4-dev and build "
           "again)";
}

bool hdi_graph_has_language(void)
{
    return false;
}
