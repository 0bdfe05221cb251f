// For tests: an application's handler, which makes the page accessible that it
// waits for.
#ifndef HDI_TESTS_LAUNCH_MEND_H
#define HDI_TESTS_LAUNCH_MEND_H

#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

static void *volatile page;
static volatile int handled;

static inline void mend(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    if (info->si_addr != page)
        _exit(3);
    handled++;
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
}

#endif
