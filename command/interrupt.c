// Invariant: `inside` counts handlers that may hold a graph or runtime they
// loaded; the main thread waits for 0 after it has withdrawn it. The runtime's
// threads are started with the signals held back, so handlers normally run in
// the main thread and the wait is none.
#include "interrupt.h"

#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

#include "heddle/graph.h"
#include "heddle/runtime.h"
#include "options.h"

enum {
    PATIENCE = 2 // with what is no graph that is cancelled [s]
};

static atomic_int signals;
static atomic_int inside;
static _Atomic(struct hd_graph *) graph_now;
static _Atomic(struct hd_runtime *) runtime_now;
static _Atomic(const char *) file_now;

static void remove_file(void)
{
    const char *path = atomic_load(&file_now);
    if (path)
        unlink(path);
}

// LLVM cannot be stopped in the middle of a long kernel, nor a drawing that
// nobody reads.
static void on_alarm(int number)
{
    static const char text[] = "heddle: cancelled\n";

    (void)number;
    remove_file();
    if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
        _exit(EXIT_CANCELED); // nobody listens
    _exit(EXIT_CANCELED);
}

static void on_signal(int number)
{
    if (atomic_fetch_add(&signals, 1) > 0) {
        remove_file();
        signal(number, SIG_DFL);
        raise(number); // delivered on return
        return;
    }
    atomic_fetch_add(&inside, 1);
    struct hd_graph *graph = atomic_load(&graph_now);
    if (graph)
        hd_graph_cancel(graph);
    struct hd_runtime *runtime = atomic_load(&runtime_now);
    if (runtime)
        hd_runtime_cancel_builds(runtime);
    if (!graph) {
        signal(SIGALRM, on_alarm);
        alarm(PATIENCE);
    }
    atomic_fetch_sub(&inside, 1);
}

static void watched(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
}

void interrupt_watch(void)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

    watched(&action.sa_mask);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        struct sigaction before;
        if (sigaction(numbers[i], NULL, &before) == 0 &&
            before.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
    }
}

bool interrupted(void)
{
    return atomic_load(&signals) > 0;
}

void interrupt_graph(struct hd_graph *graph)
{
    atomic_store(&graph_now, graph);
    while (!graph && atomic_load(&inside) > 0)
        ;
    // A signal that came before the graph did saw none to cancel.
    if (graph && interrupted())
        hd_graph_cancel(graph);
}

void interrupt_runtime(struct hd_runtime *runtime)
{
    atomic_store(&runtime_now, runtime);
    while (!runtime && atomic_load(&inside) > 0)
        ;
    if (runtime && interrupted())
        hd_runtime_cancel_builds(runtime);
}

void interrupt_file(const char *path)
{
    atomic_store(&file_now, path);
}

void interrupt_hold(sigset_t *before)
{
    sigset_t set;

    watched(&set);
    pthread_sigmask(SIG_BLOCK, &set, before);
}

void interrupt_release(const sigset_t *before)
{
    pthread_sigmask(SIG_SETMASK, before, NULL);
}
