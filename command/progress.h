// One line on standard error that says what goes on; only on a terminal, and
// gone before anything else is printed.
#ifndef COMMAND_PROGRESS_H
#define COMMAND_PROGRESS_H

// Show a stage: "building kernels".
void progress_stage(const char *what);

// For hd_graph_run_params: passes finished so far.
void progress_pass(void *data, unsigned finished, unsigned total,
                   const char *pass);

void progress_erase(void);

#endif
