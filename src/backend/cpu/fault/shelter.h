// Running a kernel such that it can be left from a signal handler: when it
// faults, or when it is to stop.
//
// A worker enters a kernel through a few instructions of assembly that note
// where its stack stands (shelter.c). Leaving means: the handler writes that
// place into the interrupted context and returns, so the system restores signal
// mask and alternate stack as after any signal. Nothing is unwound: generated
// code holds no locks and owns nothing. The services of ours that it calls do,
// so a kernel is stopped in its own code only; in a service, the handler lets a
// timer ask again.
//
// A shelter belongs to the thread that runs in it; only hdi_shelter_interrupt()
// is for others.
#ifndef HDI_BACKEND_CPU_SHELTER_H
#define HDI_BACKEND_CPU_SHELTER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct hdi_frame;

// Where and why a kernel was left, as the handler saw it.
struct hdi_trap {
    int signal, code; // of siginfo_t
    bool has_address, has_access, is_write;
    uintptr_t address; // that was touched
    uintptr_t pc;      // of the instruction
    uintptr_t stack;   // the stack pointer
    uintptr_t caller; // a place in the kernel: `pc`, or where it will return to
};

// What runs, and where its instructions lie.
struct hdi_code_range {
    uintptr_t begin, end; // equal: cannot be stopped
};

struct hdi_shelter {
    void *stack;            // where to go back to, NULL outside; ABI
    const atomic_int *stop; // leave when it is not 0; ABI
    atomic_int thread;      // id of who runs in it, 0: nobody
    _Atomic(timer_t) timer; // of that thread
    atomic_bool has_timer;
    bool resident; // only one thread ever does: it stays noted between runs
    struct hdi_code_range code;
    struct hdi_trap trap;
};

enum hdi_outcome {
    HDI_RAN,
    HDI_STOPPED, // because of `stop`
    HDI_TRAPPED  // see `trap`
};

// Run a kernel. `stop` may be NULL. The first run on a thread gives it an
// alternate signal stack; without memory for it, it runs without: then only the
// overflow of a stack is fatal.
enum hdi_outcome hdi_shelter_run(struct hdi_shelter *shelter,
                                 void (*run)(const struct hdi_frame *frame),
                                 struct hdi_code_range code,
                                 const struct hdi_frame *frame,
                                 const atomic_int *stop);

// Let whoever runs in the shelter look at `stop`. From any thread or signal
// handler; the caller sees to it that the thread does not end meanwhile.
void hdi_shelter_interrupt(struct hdi_shelter *shelter);

// Install the handlers, and again where somebody has put others in their place
// since; those are called for every signal that is not ours.
void hdi_signals_take(void);

// The same before a launch: look at SIGSEGV, and at one of the others in turn.
void hdi_signals_check(void);

// The signal of hdi_shelter_interrupt(), after hdi_signals_take().
int hdi_signals_stop(void);

// The signal is not for us: see to it that it goes where it would have gone.
// For signal.c's handlers: true when the kernel was left.
bool hdi_shelter_leave(int signal, const void *info, void *context);

#endif
