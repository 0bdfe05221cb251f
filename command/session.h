// What `run` and `graph` begin with: a runtime, the decoded inputs in its
// buffers, and the graph that the program generated from them.
#ifndef COMMAND_SESSION_H
#define COMMAND_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "heddle/agile.h"
#include "heddle/graph.h"
#include "heddle/runtime.h"
#include "options.h"

struct session {
    struct hd_cluster *cluster; // the nodes of fields
    struct hd_runtime *runtime;
    struct hd_graph *graph; // NULL when it could not be generated
    struct hd_graph_source *inputs;
    unsigned input_count;
    struct hd_setting *settings;
    uint64_t start_time, decode_time, generate_time; // [ns]
};

// The options that every such command has, for its table.
#define SESSION_OPTIONS                                                       \
    {"--in", "NAME=FILE",                                                     \
     "input NAME of the program: a PNG or JPEG image, an array\nFILE.npy "    \
     "or FILE.npz:NAME, or bytes:\nFILE@TYPE,WIDTH[,HEIGHT[,DEPTH]]",         \
     OPTION_PAIR, true},                                                      \
        {"--nodes", "N|PARTS",                                                \
         "compute nodes of each process that fields lie on: a\nnumber, 1 by " \
         "default, or parts of the machine: cpu,\ngpu, or numa for each "     \
         "NUMA domain",                                                       \
         OPTION_TEXT, false},                                                 \
        {"--set", "NAME=VALUE",                                               \
         "setting NAME of the program; a table as JSON", OPTION_PAIR, true},  \
    {                                                                         \
        "--data", "FILE.json", "settings of the program as a JSON object",    \
            OPTION_TEXT, false                                                \
    }

// session_close() is due in any case.
hd_status session_open(struct session *session, const struct options *given,
                       const struct hd_runtime_params *params,
                       struct hd_error *error);
void session_close(struct session *session);

// Whether this process is the one that writes what is written once.
bool session_writes(const struct session *session);

#endif
