// Stacks of user-level threads, and switching between them.
//
// A switch saves what the calling convention keeps across calls: registers and
// the floating-point modes. The sanitizers are told of every switch. A stack
// may be given up while something waits on it; that never runs again.
#ifndef HDI_BACKEND_CPU_STACK_H
#define HDI_BACKEND_CPU_STACK_H

#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#define HDI_ASAN 1
#elif defined(__SANITIZE_THREAD__)
#define HDI_TSAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HDI_ASAN 1
#elif __has_feature(thread_sanitizer)
#define HDI_TSAN 1
#endif
#endif

// While something else runs all of its registers lie below `pointer`:
//
//     low                     pointer                       low + size
//      | not used yet           | modes | registers | return | frames ... |
struct hdi_fiber_stack {
    void *pointer; // where it stands while something else runs
    const void
        *low;    // its memory; of a thread's own stack only AddressSanitizer
    size_t size; // needs to know
    struct hdi_fiber_stack *previous; // who switched here last
    void *fake, *fiber;               // AddressSanitizer's, ThreadSanitizer's
};

// Make a stack of the memory, which begins aligned to 16, as its size is. The
// first switch to it calls run(data), which must never return.
void hdi_stack_make(struct hdi_fiber_stack *stack, void *low, size_t size,
                    void (*run)(void *data), void *data);
void hdi_stack_free(struct hdi_fiber_stack *stack); // nothing when never made

// `stack` is to stand for the calling thread's own.
void hdi_stack_adopt(struct hdi_fiber_stack *stack);

// Go on with `to`; return when something switches to `from`, which is where the
// caller runs.
void hdi_stack_switch(struct hdi_fiber_stack *from, struct hdi_fiber_stack *to);

// The caller runs on `stack` again, which it had switched away from, and
// nothing switched back: what ran there was given up.
void hdi_stack_returned(struct hdi_fiber_stack *stack);

// The first thing a new stack does.
void hdi_stack_arrived(struct hdi_fiber_stack *stack);

#endif
