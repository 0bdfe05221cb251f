// Reading the statements of a machine or workload file.
#ifndef HEDDLE_SIM_STATEMENTS_H
#define HEDDLE_SIM_STATEMENTS_H

#include "sim/text.h"

// Run the program that the text is, and append its statements.
//
// Errors: HD_EFORMAT (file, line and reason), HD_ELIMIT (it does not end, or
// takes too much memory), HD_ENOMEM, HD_ENOTSUP (a build without Lua)
hd_status sim_statements_read(struct sim_text *text);

#endif
