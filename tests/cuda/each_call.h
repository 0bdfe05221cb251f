// Each call of the driver fails in turn, in a process of its own, as the driver
// is opened once: the program gets a clear error or goes on without, nothing is
// left, nothing hangs, and the CPU carries on.
#ifndef HEDDLE_TESTS_CUDA_EACH_CALL_H
#define HEDDLE_TESTS_CUDA_EACH_CALL_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/check.h"
#include "tests/cuda/fake.h"

enum {
    EACH_CALL_SECONDS = 60, // after which a process hangs
    EACH_CALL_TRIES = 400   // at most, of very many calls
};

// What is tried.
struct each_call {
    // On the GPU; checks results. False: an error, which it has looked at.
    // Calls before the number that it may put into `*first` belong to what
    // others try.
    bool (*use)(bool all_is_well, uint64_t *first);
    void (*carry_on)(void);    // on the CPU, after that
    const char *(*left)(void); // what should not be there; "" when all is well
};

static inline uint64_t each_call_without(const struct each_call *what,
                                         uint64_t call, bool *failed,
                                         uint64_t *first)
{
    int ends[2], state;
    uint64_t calls[2] = {0, 1};
    const struct fake_cuda *fake = fake_cuda();

    CHECK(pipe(ends) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(EACH_CALL_SECONDS);
        fake->fail_at(call);
        bool went = what->use(call == 0, &calls[1]);
        calls[0] = fake->calls();
        fake->fail_at(0);
        const char *left = what->left();
        if (*left)
            fprintf(stderr, "call %llu failed: %s", (unsigned long long)call,
                    left);
        CHECK(*left == '\0');
        what->carry_on();
        CHECK(write(ends[1], calls, sizeof(calls)) == sizeof(calls));
        _exit(went ? 0 : 3);
    }
    close(ends[1]);
    bool told = read(ends[0], calls, sizeof(calls)) == sizeof(calls);
    close(ends[0]);
    CHECK(waitpid(child, &state, 0) == child);
    if (!told || !WIFEXITED(state))
        fprintf(stderr, "call %llu: the process ended with %#x\n",
                (unsigned long long)call, (unsigned)state);
    CHECK(told && WIFEXITED(state));
    CHECK(WEXITSTATUS(state) == 0 || WEXITSTATUS(state) == 3);
    *failed = WEXITSTATUS(state) == 3;
    *first = calls[1];
    return calls[0];
}

// `only`: the number of the one call to try; NULL: all. At least so many end
// what was asked for.
static inline void each_call_fails(const struct each_call *what,
                                   const char *only, unsigned least)
{
    unsigned failures = 0;
    uint64_t first, none;
    bool failed;

    if (only) {
        each_call_without(what, strtoull(only, NULL, 10), &failed, &first);
        return;
    }
    uint64_t calls = each_call_without(what, 0, &failed, &first);
    CHECK(!failed && first <= calls);
    // Polling makes some calls more, or fewer, and with sanitizers thousands:
    // then not each of them fails.
    uint64_t step = (calls - first) / EACH_CALL_TRIES + 1;
    for (uint64_t call = first; call <= calls; call += step) {
        each_call_without(what, call, &failed, &none);
        failures += failed;
    }
    printf("%llu calls from %llu on, %u of which end what was asked for\n",
           (unsigned long long)calls, (unsigned long long)first, failures);
    CHECK(failures >= (step > 1 ? 1 : least));
}

#endif
