// The handlers of the process: one for what a kernel does wrong, one for what
// stops it. What is none of ours goes to whoever was there before, as if we
// were not there.
//
// Invariant: a handler reads nothing but its thread's shelter and `before`,
// whose records are published whole and live as long as the process.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <ucontext.h>

#include "backend/cpu/fault/shelter.h"
#include "base/log.h"

enum {
    FAULTS = 4,
    SIGNALS = FAULTS + 1 // and the one that stops
};

// What the application does on a signal.
struct before {
    struct sigaction action;
    struct before *older; // what it had then done before
};

// The last is 0 until one is found, which any thread may see at any time.
static atomic_int numbers[SIGNALS] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, 0};
static _Atomic(struct before *) before[SIGNALS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // of installing

static void die(int signal, const siginfo_t *info)
{
    struct sigaction fatal = {.sa_handler = SIG_DFL};
    sigaction(signal, &fatal, NULL);
    // The instruction faults again, and a core dump shows it; a signal that
    // somebody sent has to be sent once more.
    if (info->si_code <= 0)
        raise(signal);
}

static void call(struct before *b, int signal, siginfo_t *info, void *context)
{
    struct sigaction action = b->action;
    sigset_t mask;

    if (!(action.sa_flags & SA_NODEFER))
        sigaddset(&action.sa_mask, signal);
    if (action.sa_flags & SA_RESETHAND)
        b->action = (struct sigaction){.sa_handler = SIG_DFL};
    pthread_sigmask(SIG_BLOCK, &action.sa_mask, &mask);
    if (action.sa_flags & SA_SIGINFO)
        action.sa_sigaction(signal, info, context);
    else
        action.sa_handler(signal);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

// An application's handler may call the one before it, which is ours: then it
// is the turn of the one before that. Which one has the signal is noted in the
// context's link, which the system sets to NULL and never looks at.
static void pass_on(int which, siginfo_t *info, void *context)
{
    ucontext_t *c = context;
    struct before *has = (struct before *)(void *)c->uc_link;
    struct before *b = has ? has->older : atomic_load(&before[which]);
    bool fault = which < FAULTS && info->si_code > 0;

    if (!b || b->action.sa_handler == SIG_DFL ||
        (b->action.sa_handler == SIG_IGN && fault)) {
        die(numbers[which], info);
        return;
    }
    if (b->action.sa_handler == SIG_IGN)
        return;
    c->uc_link = (ucontext_t *)(void *)b;
    call(b, numbers[which], info, context);
    c->uc_link = (ucontext_t *)(void *)has;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    if (hdi_shelter_leave(number, info, context))
        return;
    for (int i = 0; i < SIGNALS; i++)
        if (numbers[i] == number)
            pass_on(i, info, context);
}

// Whether the handler is ours.
static bool is_ours(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == on_signal;
}

// Take over signal `which` from the application's action. False without memory.
static bool take(int which, const struct sigaction *now)
{
    struct sigaction ours = {
        .sa_sigaction = on_signal,
        // An application's handler may fault itself, or be left by longjmp().
        // The signal that stops is queued: it must not pile up handlers.
        .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART |
                    (which < FAULTS ? SA_NODEFER : 0),
    };
    struct before *b = malloc(sizeof(*b));

    if (!b)
        return false;
    *b = (struct before){.action = *now, .older = atomic_load(&before[which])};
    atomic_store(&before[which], b);
    sigemptyset(&ours.sa_mask);
    return sigaction(numbers[which], &ours, NULL) == 0;
}

// Emulators let a handler be installed for signals that they cannot send.
static bool can_be_sent(int number)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL,
                             .sigev_signo = number};
    timer_t timer;

    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0)
        return errno != EINVAL;
    timer_delete(timer);
    return true;
}

// A real-time signal that nobody uses, from the far end.
static int free_signal(void)
{
    struct sigaction now;

    for (int number = SIGRTMAX - 1; number > SIGRTMIN; number--)
        if (sigaction(number, NULL, &now) == 0 &&
            !(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_DFL &&
            can_be_sent(number))
            return number;
    return SIGRTMAX;
}

static void check(int which)
{
    struct sigaction now;

    if (numbers[which] != 0 && sigaction(numbers[which], NULL, &now) == 0 &&
        is_ours(&now))
        return;
    pthread_mutex_lock(&lock);
    if (numbers[which] == 0)
        numbers[which] = free_signal();
    if (sigaction(numbers[which], NULL, &now) == 0 && !is_ours(&now) &&
        !take(which, &now))
        hdi_warn("no memory for a signal handler: a kernel that faults will "
                 "end the process");
    pthread_mutex_unlock(&lock);
}

void hdi_signals_take(void)
{
    for (int i = 0; i < SIGNALS; i++)
        check(i);
}

void hdi_signals_check(void)
{
    static atomic_uint turn;

    // A look is a system call, which a short launch would notice.
    check(0);
    check((int)(1 + atomic_fetch_add_explicit(&turn, 1, memory_order_relaxed) %
                        (SIGNALS - 1)));
}

int hdi_signals_stop(void)
{
    return numbers[FAULTS];
}
