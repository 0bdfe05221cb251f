// What tests ask of the fake driver, which they open as the backend does.
#ifndef HEDDLE_TESTS_CUDA_FAKE_H
#define HEDDLE_TESTS_CUDA_FAKE_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

struct fake_cuda {
    uint64_t (*calls)(void);        // of the driver's functions, until now
    void (*fail_at)(uint64_t call); // the call with this number fails; 0: none
    // What a real driver would not have liked, and what is still there; "" when
    // all is well. Owner: static storage.
    const char *(*report)(void);
    // From now on any address is good for a kernel: tests that hand memory of
    // the host to kernels as if it were the device's.
    void (*any_address)(bool on);
    // How many persistent kernels are on the device.
    unsigned (*resident)(void);
    // Kernels and graphs that the host has launched until now.
    uint64_t (*launches)(void);
    // From now on functions with this in their name need so many registers,
    // and what calls them does; others need 32.
    void (*registers)(const char *name, int count);
    // Launches that have not begun wait, but for persistent kernels, until it
    // is off again.
    void (*hold)(bool on);
    // From now on each call of the function with this name fails; "": none.
    void (*fail_always)(const char *name);
    // What was linked until now.
    uint64_t (*links)(void);
    // Copies from and to page-locked memory that have not begun wait, until it
    // is off again.
    void (*hold_copies)(bool on);
    // Copies from and to other memory until now, for which the driver waits.
    uint64_t (*pageable)(void);
    // Memory of the caller's that is page-locked now [bytes].
    uint64_t (*registered)(void);
};

// NULL: no fake driver is in use.
static inline const struct fake_cuda *fake_cuda(void)
{
    const char *name = getenv("HEDDLE_CUDA_DRIVER");
    void *library = name ? dlopen(name, RTLD_NOW | RTLD_LOCAL) : NULL;
    return library ? dlsym(library, "fake_cuda_table") : NULL;
}

#endif
