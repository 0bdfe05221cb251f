// Main header of tools: programs that are run beside the compiler.
//
// Running another program: its input and output are memory files, so nothing
// touches the disk and nothing can block on a full pipe.
#ifndef HDI_KERNEL_COMPILER_TOOLS_CHILD_H
#define HDI_KERNEL_COMPILER_TOOLS_CHILD_H

#include <stdatomic.h>
#include <stddef.h>

#include "base/text.h"
#include "heddle/status.h"

enum {
    HDI_CHILD_FIRST = 3, // descriptor number of files[0] in the child
    HDI_CHILD_FILES = 8
};

// A memory file holding `size` bytes of `data`, close-on-exec, its number above
// those the child uses; -1 on failure.
// The caller closes it.
int hdi_memory_file(const char *name, const void *data, size_t size);

// Read during hdi_child_run() only; files stay the caller's.
struct hdi_child {
    const char *const *arguments; // the first is the absolute path
    const void *input;            // on standard input
    size_t input_size;
    const int *files; // the child sees them as 3, 4, ...
    size_t file_count;
    const atomic_bool *cancel; // set: the child is killed; optional
    unsigned time_limit;       // it is killed after that; 0: none [s]
};

// Run it to the end. `output` and `messages` receive standard output and error;
// `exit_code` is that of the child, 128 + the signal when it was killed. An
// error only when the child could not be run at all; HD_ECANCELED when it was
// told to end, HD_ETIMEOUT when it took too long.
hd_status hdi_child_run(const struct hdi_child *child, struct hdi_text *output,
                        struct hdi_text *messages, int *exit_code,
                        struct hd_error *error);

// Append the whole of a memory file.
hd_status hdi_memory_file_read(int file, struct hdi_text *text);

#endif
