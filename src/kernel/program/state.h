// What a program is made of: for create.c, which makes it of what compile.c and
// load.c do, and description.c, which tells of it.
//
//     hd_program (device 0)           builds[]   one per processor named
//       |-- build ------------------> the one of these that fits here
//       |-- codes[] kernels[] args[]  of it, then of what it has joined
//       |-- kept[]                    its texts, for checking later
//       |-- checked, again[].made, carried     programs built for checking
//       '-- others --> hd_program (device 1) --> others ...
//
// Programs that hang on another are owned by it and go with it.
#ifndef HDI_KERNEL_PROGRAM_STATE_H
#define HDI_KERNEL_PROGRAM_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/text.h"
#include "kernel/build.h"
#include "kernel/program.h"

// A part that is compiled.
//
// Owned by the program; a copy, since the caller's texts may go. `data` has a 0
// behind it, so that a text is a string. `is_text` false: SPIR-V or a library.
struct kept {
    struct hdi_text path, data, options;
    bool is_text;
};

// A kernel built again, alone, for checking.
//
// A failure is remembered, so that a kernel that faults often is not compiled
// in vain each time. Under the program's lock.
struct hdi_again {
    bool tried;
    struct hd_program *made; // NULL: it cannot be
};

// Invariant: after hdi_program_create() only `held`, `others` (while nobody
// uses it yet), `learned` and what is under `lock` change. `build` is never
// NULL then: of a program that does not run here it is the first, and `runs` is
// false.
//
// `was_cached`: all of its builds came from the cache. `kernels`, `args` and
// `learned` are each one array, in the order of `codes`.
struct hd_program {
    _Atomic uint32_t held;    // how often it is to be destroyed before it is
    struct hdi_build *builds; // of the same text, for different processors
    uint32_t build_count;
    const struct hdi_build *build; // the one that kernels are of
    bool runs;                     // here, that is
    struct hdi_code **codes;       // of it and of those it has joined
    uint32_t code_count;
    const struct hdi_backend *backend;
    struct hd_kernel *kernels;
    uint32_t kernel_count;
    struct hdi_kernel_arg *args; // of all kernels
    struct hdi_learned *learned; // one per kernel
    bool was_cached;
    struct hdi_program_context context;
    // What it was made of, but for finished binaries.
    struct kept *kept;
    size_t kept_count;
    struct hdi_text options;    // of all
    bool shows;                 // -g: its binary has `checked` in it
    struct hd_program *others;  // the same for other devices, in a list
    struct hd_program *checked; // -g: the same built for checking, or NULL
    pthread_mutex_t lock;       // of the rest
    struct hdi_again *again;    // per kernel of `build`; NULL: none yet
    struct hd_program *carried; // what its finished binaries have of it, or
                                // NULL
};

#endif
