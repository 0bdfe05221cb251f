// The fork/join problems of steal.c with StarPU: one line per figure.
//
// A task of StarPU cannot wait for another, so a join is a cell into which both
// sides deliver; who comes second goes on with the sum. As elsewhere fib(n)
// forks fib(n - 1) and runs fib(n - 2) itself. Queens and the tree would take
// minutes at some microseconds per task.
#include <ftw.h>
#include <starpu.h>
#include <stdatomic.h>
#include <unistd.h>

#include "steal_problems.h"
#include "tests/folder.h"

enum {
    FIB = 20, // 10,945 forks
    RUNS = 5,
    WAKES = 200
};

struct cell {
    struct cell *parent; // NULL: this is the result
    atomic_uint missing; // deliveries
    _Atomic uint64_t sum;
};

struct fork {
    struct cell *into;
    int n;
};

static void *get_memory(size_t size)
{
    void *memory = malloc(size);
    if (!memory)
        exit(1);
    return memory;
}

static void submit(struct starpu_codelet *codelet, void *data, int free_data)
{
    struct starpu_task *task = starpu_task_create();

    task->cl = codelet;
    task->cl_arg = data;
    task->cl_arg_free = (unsigned)free_data & 1;
    if (starpu_task_submit(task) != 0) {
        fprintf(stderr, "steal_starpu: a task was refused\n");
        exit(1);
    }
}

static void deliver(struct cell *cell, uint64_t value)
{
    for (;;) {
        atomic_fetch_add(&cell->sum, value);
        if (atomic_fetch_sub(&cell->missing, 1) > 1 || !cell->parent)
            return;
        struct cell *parent = cell->parent;
        value = atomic_load(&cell->sum);
        free(cell);
        cell = parent;
    }
}

static void run_fib(void *buffers[], void *data);

static struct starpu_codelet fib = {.cpu_funcs = {run_fib}, .name = "fib"};

static void run_fib(void *buffers[], void *data)
{
    struct fork *fork = data;
    struct cell *cell = fork->into;
    int n = fork->n;

    (void)buffers;
    for (; n >= 2; n -= 2) {
        struct cell *join = get_memory(sizeof(*join));
        struct fork *right = get_memory(sizeof(*right));
        *join = (struct cell){.parent = cell, .missing = 2};
        *right = (struct fork){join, n - 1};
        submit(&fib, right, 1);
        cell = join;
    }
    deliver(cell, (uint64_t)n);
}

static uint64_t run_in_parallel(void)
{
    struct cell result = {.missing = 1};
    struct fork root = {&result, FIB};

    submit(&fib, &root, 0);
    starpu_task_wait_for_all();
    return result.sum;
}

static void start(unsigned workers)
{
    struct starpu_conf conf;

    starpu_conf_init(&conf);
    conf.ncpus = (int)workers;
    conf.ncuda = conf.nopencl = 0;
    conf.sched_policy_name = "lws"; // work stealing
    if (starpu_init(&conf) != 0) {
        fprintf(stderr, "steal_starpu: StarPU does not start\n");
        exit(1);
    }
}

static void measure(unsigned workers, double *serial, double *parallel)
{
    uint64_t s[RUNS], p[RUNS];

    start(workers);
    for (int i = -1; i < RUNS; i++) { // the first warms up
        uint64_t a = now();
        uint64_t expected = serial_fib(FIB);
        uint64_t b = now();
        if (run_in_parallel() != expected)
            wrong("starpu");
        if (i < 0)
            continue;
        s[i] = b - a;
        p[i] = now() - b;
    }
    starpu_shutdown();
    *serial = median(s, RUNS);
    *parallel = median(p, RUNS);
}

static void note_time(void *buffers[], void *data)
{
    (void)buffers;
    *(uint64_t *)data = now();
}

static struct starpu_codelet note = {.cpu_funcs = {note_time}, .name = "note"};

// From the call to the task's start, while the caller waits asleep and so do
// the workers. Negative: they never sleep.
static double wake_latency(void) // [us]
{
    uint64_t times[WAKES];

    start((unsigned)sysconf(_SC_NPROCESSORS_ONLN));
    for (int i = 0; i < WAKES; i++) {
        uint64_t started = 0;
        if (!fall_asleep()) {
            starpu_shutdown();
            return -1;
        }
        uint64_t begin = now();
        submit(&note, &started, 0);
        starpu_task_wait_for_all();
        times[i] = started - begin;
    }
    starpu_shutdown();
    return median(times, WAKES) / 1e3;
}

static int forget(const char *path, const struct stat *about, int type,
                  struct FTW *where)
{
    (void)about, (void)type, (void)where;
    return remove(path);
}

int main(void)
{
    const char *home = make_folder(); // StarPU keeps notes on the machine
    double serial, parallel;

    setenv("STARPU_HOME", home, 1);
    setenv("STARPU_SILENT", "1", 1);
    measure(1, &serial, &parallel);
    print_value("fib", "cost of spawn and join",
                (parallel - serial) / (double)(serial_fib(FIB + 1) - 1), "ns",
                "starpu");
    if (sysconf(_SC_NPROCESSORS_ONLN) > 1) {
        measure(2, &serial, &parallel);
        print_value("fib", "2 workers over serial", parallel / serial, "ratio",
                    "starpu");
    }
    double wake = wake_latency();
    if (wake < 0)
        print_skipped("wake", "outside call to a sleeping pool", "starpu",
                      "its workers do not sleep");
    else
        print_value("wake", "outside call to a sleeping pool", wake, "us",
                    "starpu");
    nftw(home, forget, 8, FTW_DEPTH | FTW_PHYS);
    return 0;
}
