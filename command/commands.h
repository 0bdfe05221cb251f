// The subcommands; main.c picks one.
#ifndef COMMAND_COMMANDS_H
#define COMMAND_COMMANDS_H

#include "options.h"

extern const struct command info_command, run_command, graph_command,
    build_command, cl_command, report_command, sim_command;

#endif
