// What work stealing costs: against serial code, against the ideal, and against
// OpenMP, oneTBB and StarPU where their programs lie beside this one, and
// others that are named.
//
//     steal [--quick] [--peer NAME=PROGRAM]... [CASE]
//
// One JSON object per line on stdout. CASE: only fib, queens, tree or "queens
// from a row". PROGRAM is run with the word "steal" and prints lines of the
// kind that print_value() prints; of those with a case and a metric that are
// measured here, too, our share of the peer's figure is told. steal_lace.c,
// steal_libfork.cpp and steal_taskflow.cpp are such programs.
#include <libgen.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "heddle/task.h"
#include "steal_problems.h"

struct bar {
    const char *op; // "<=" or ">="
    double bar;
};

static void print(const char *name, const char *metric, double value,
                  const char *unit, const char *peer, struct bar bar)
{
    bool holds = bar.op[0] == '<' ? value <= bar.bar : value >= bar.bar;

    printf("{\"bench\":\"steal\",\"case\":\"%s\",\"metric\":\"%s\","
           "\"value\":%.*g,\"unit\":\"%s\",\"peer\":\"%s\",\"op\":\"%s\","
           "\"bar\":%.10g,\"holds\":%s}\n",
           name, metric, value < 1e6 ? 4 : 12, value, unit, peer, bar.op,
           bar.bar, holds ? "true" : "false");
    fflush(stdout);
}

// Problems --------------------------------------------------------------------

HD_TASK(uint64_t, fib, int, n)
{
    if (n < 2)
        return (uint64_t)n;
    hd_spawn(worker, fib, n - 1);
    uint64_t b = hd_call(worker, fib, n - 2);
    return hd_join(worker, fib) + b;
}

static inline uint64_t plus(uint64_t a, uint64_t b)
{
    return a + b;
}

// A queen in one column of this row, and the rows below.
HD_GATHER(uint64_t, plus, 0, column, queens, int, n, int, row,
          const struct board *, b)
{
    if (!is_safe(b, row, (int)column))
        return 0;
    if (row + 1 == n)
        return 1;
    struct board next = *b;
    next.column[row] = (signed char)column;
    return hd_gather(worker, queens, 0, (size_t)n, n, row + 1, &next);
}

HD_GATHER(uint64_t, plus, 0, i, tree, const struct thresholds *, t, uint64_t,
          node, int, depth)
{
    uint64_t child = child_of(node, (int)i);
    return 1 + hd_gather(worker, tree, 0,
                         (size_t)children_of(t, child, depth + 1), t, child,
                         depth + 1);
}

struct problem {
    const char *name;
    uint64_t (*serial)(const struct problem *problem);
    void (*parallel)(struct hd_worker *worker, void *run);
    int n;
    double least; // speed-up of two workers over serial code; 0: no bar
    struct thresholds thresholds;
    int row; // of the first queen
};

struct run {
    const struct problem *problem;
    uint64_t result;
};

static uint64_t fib_serially(const struct problem *p)
{
    return serial_fib(p->n);
}

static void fib_in_parallel(struct hd_worker *worker, void *data)
{
    struct run *run = data;
    run->result = hd_call(worker, fib, run->problem->n);
}

static uint64_t queens_serially(const struct problem *p)
{
    return serial_queens(p->n, 0, (struct board){{0}});
}

static void queens_in_parallel(struct hd_worker *worker, void *data)
{
    struct run *run = data;
    run->result = hd_gather(worker, queens, 0, (size_t)run->problem->n,
                            run->problem->n, 0, &(struct board){{0}});
}

// The same where no compiler sees that rows are counted from 0. It makes code
// of its own for the first levels of a recursion whose beginning it knows: for
// those of the serial program, and of the worker that begins, but not of one
// that steals.
static uint64_t queens_from_row_serially(const struct problem *p)
{
    return serial_queens(p->n, p->row, (struct board){{0}});
}

static void queens_from_row_in_parallel(struct hd_worker *worker, void *data)
{
    struct run *run = data;
    const struct problem *p = run->problem;
    run->result = hd_gather(worker, queens, 0, (size_t)p->n, p->n, p->row,
                            &(struct board){{0}});
}

static uint64_t tree_serially(const struct problem *p)
{
    return serial_tree(&p->thresholds, (uint64_t)p->n, 0);
}

static void tree_in_parallel(struct hd_worker *worker, void *data)
{
    struct run *run = data;
    const struct thresholds *t = &run->problem->thresholds;
    uint64_t root = (uint64_t)run->problem->n;
    run->result = 1 + hd_gather(worker, tree, 0,
                                (size_t)children_of(t, root, 0), t, root, 0);
}

static struct hd_pool *make_pool(unsigned workers)
{
    struct hd_pool_params params = {.workers = workers};
    struct hd_error error;
    struct hd_pool *pool;

    if (hd_pool_create(&params, &pool, &error) != HD_OK) {
        fprintf(stderr, "steal: %s\n", error.text);
        exit(1);
    }
    return pool;
}

struct times {
    double serial, parallel; // medians [ns]
    double ratio;            // median of parallel / serial
    double speedup;          // serial / parallel, of medians
};

static int compare_ratios(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static uint64_t process_time(void) // [ns of CPU]
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// Serial and parallel runs in turn, so that both see the same machine. With one
// worker only one thread works at a time: CPU time is the time it takes, and
// leaves out what other programs take from the core.
static struct times measure(const struct problem *problem, unsigned workers)
{
    struct hd_pool *pool = make_pool(workers);
    uint64_t (*read_clock)(void) = workers == 1 ? process_time : now;
    uint64_t serial[SAMPLES], parallel[SAMPLES];
    double ratios[SAMPLES];

    for (int i = -1; i < SAMPLES; i++) { // the first warms up
        struct run run = {.problem = problem};
        uint64_t a = read_clock();
        uint64_t result = problem->serial(problem);
        uint64_t b = read_clock();
        hd_pool_run(pool, problem->parallel, &run);
        uint64_t c = read_clock();
        if (run.result != result)
            wrong(problem->name);
        if (i < 0)
            continue;
        serial[i] = b - a;
        parallel[i] = c - b;
        ratios[i] = (double)parallel[i] / (double)serial[i];
    }
    hd_pool_destroy(pool);
    qsort(ratios, SAMPLES, sizeof(*ratios), compare_ratios);
    struct times t = {.serial = median(serial, SAMPLES),
                      .parallel = median(parallel, SAMPLES),
                      .ratio = ratios[SAMPLES / 2]};
    t.speedup = t.serial / t.parallel;
    return t;
}

// Peers -----------------------------------------------------------------------

enum {
    MAX_FIGURES = 16
};

// What we measured of those things that peers measure too; less is better.
struct figures {
    int count;
    struct {
        const char *name, *metric;
        double value;
    } figure[MAX_FIGURES];
};

static void keep(struct figures *figures, const char *name, const char *metric,
                 double value)
{
    figures->figure[figures->count].name = name;
    figures->figure[figures->count].metric = metric;
    figures->figure[figures->count++].value = value;
}

// Of a peer's line, the figures it shares with ours.
static void compare(const struct figures *ours, const char *line,
                    const char *peer)
{
    char name[64], metric[64];
    double value;

    if (sscanf(line,
               "{\"bench\":\"steal\",\"case\":\"%63[^\"]\",\"metric\":"
               "\"%63[^\"]\",\"value\":%lf",
               name, metric, &value) != 3)
        return;
    for (int i = 0; i < ours->count; i++)
        if (strcmp(ours->figure[i].name, name) == 0 &&
            strcmp(ours->figure[i].metric, metric) == 0) {
            char text[96];
            // Against what does the same: tasks that cost next to nothing.
            bool is_lace = strcmp(peer, "lace") == 0;
            snprintf(text, sizeof(text), "%s, of the peer's", metric);
            print(name, text, ours->figure[i].value / value, "ratio", peer,
                  (struct bar){"<=", is_lace ? 1.1 : 1});
        }
}

// Run a peer and compare what it prints. False when it failed.
static bool run_peer(const struct figures *ours, const char *peer,
                     const char *command)
{
    char line[1024];
    FILE *pipe = popen(command, "r");

    if (!pipe)
        return false;
    while (fgets(line, sizeof(line), pipe)) {
        fputs(line, stdout);
        compare(ours, line, peer);
    }
    return pclose(pipe) == 0;
}

static void ask_peer(const struct figures *ours, const char *folder,
                     const char *peer, const char *package)
{
    char path[4200], reason[128];

    snprintf(path, sizeof(path), "%s/steal_%s", folder, peer);
    if (access(path, X_OK) != 0) {
        snprintf(reason, sizeof(reason),
                 "its program was not built; install %s and configure again",
                 package);
        for (int i = 0; i < ours->count; i++)
            print_skipped(ours->figure[i].name, ours->figure[i].metric, peer,
                          reason);
        return;
    }
    run_peer(ours, peer, path);
}

// NAME=PROGRAM, built elsewhere.
static void ask_named_peer(const struct figures *ours, const char *text)
{
    const char *program = strchr(text, '=');
    char name[64], command[4200];

    if (!program || program == text ||
        program - text >= (ssize_t)sizeof(name)) {
        fprintf(stderr, "bench_steal: --peer takes NAME=PROGRAM, not '%s'\n",
                text);
        exit(2);
    }
    snprintf(name, sizeof(name), "%.*s", (int)(program - text), text);
    snprintf(command, sizeof(command), "%s steal", program + 1);
    if (!run_peer(ours, name, command)) {
        fprintf(stderr, "bench_steal: peer '%s' failed\n", text);
        exit(1);
    }
}

// Starvation ------------------------------------------------------------------

static void burn(double ms)
{
    uint64_t end = now() + (uint64_t)(ms * 1e6);
    while (now() < end)
        ;
}

HD_VOID_TASK(leaf, double, ms)
{
    burn(ms);
}

static void spawn_then_long_leaf(struct hd_worker *worker, void *data)
{
    (void)data;
    for (int i = 0; i < 4; i++)
        hd_spawn(worker, leaf, 25.0);
    hd_publish(worker);
    burn(100);
    for (int i = 0; i < 4; i++)
        hd_join(worker, leaf);
}

static double starvation(void) // [ms]
{
    struct hd_pool *pool = make_pool(2);
    uint64_t times[5];

    for (int i = 0; i < 5; i++) {
        uint64_t begin = now();
        hd_pool_run(pool, spawn_then_long_leaf, NULL);
        times[i] = now() - begin;
    }
    hd_pool_destroy(pool);
    return median(times, 5) / 1e6;
}

// Idle ------------------------------------------------------------------------

static void note_time(struct hd_worker *worker, void *data)
{
    (void)worker;
    *(uint64_t *)data = now();
}

static double idle_cpu(void) // in 5 s [ms]
{
    struct hd_pool *pool = make_pool(0);
    uint64_t t;

    hd_pool_run(pool, note_time, &t);
    usleep(20000);
    uint64_t before = cpu_time();
    sleep(5);
    double burnt = (double)(cpu_time() - before) / 1e6;
    hd_pool_destroy(pool);
    return burnt;
}

// From the call to the function, and to its return [us], with the workers
// asleep or just after the last one.
struct latency {
    double there, whole;
};

static struct latency wake_latency(int samples, bool asleep)
{
    struct hd_pool *pool = make_pool(0);
    uint64_t *times = malloc(2 * (size_t)samples * sizeof(*times));
    uint64_t *wholes = times + samples;

    if (!times)
        exit(1);
    for (int i = 0; i < samples; i++) {
        uint64_t started = 0;
        if (asleep && !fall_asleep()) {
            fprintf(stderr, "bench_steal: an idle pool does not sleep\n");
            exit(1);
        }
        uint64_t begin = now();
        hd_pool_run(pool, note_time, &started);
        wholes[i] = now() - begin;
        times[i] = started - begin;
    }
    struct latency us = {median(times, samples) / 1e3,
                         median(wholes, samples) / 1e3};
    free(times);
    hd_pool_destroy(pool);
    return us;
}

// The same with nothing but a thread that sleeps on a word: the least there is.
struct sleeper {
    _Atomic uint32_t word; // 1: get up; 2: and go
    _Atomic uint64_t up;   // when it did; 0: not yet
};

static void futex(_Atomic uint32_t *word, int operation, uint32_t value)
{
    syscall(SYS_futex, word, operation, value, NULL, NULL, 0);
}

static void *sleep_on_word(void *data)
{
    struct sleeper *s = data;
    uint32_t word;

    do {
        while ((word = atomic_load(&s->word)) == 0)
            futex(&s->word, FUTEX_WAIT_PRIVATE, 0);
        atomic_store(&s->word, 0);
        atomic_store(&s->up, now());
    } while (word != 2);
    return NULL;
}

static double bare_wake(int samples) // [us]
{
    struct sleeper s = {0};
    uint64_t *times = malloc((size_t)samples * sizeof(*times));
    pthread_t thread;

    if (!times || pthread_create(&thread, NULL, sleep_on_word, &s) != 0)
        exit(1);
    for (int i = 0; i < samples; i++) {
        fall_asleep();
        atomic_store(&s.up, 0);
        uint64_t up, begin = now();
        atomic_store(&s.word, i + 1 < samples ? 1 : 2);
        futex(&s.word, FUTEX_WAKE_PRIVATE, 1);
        while ((up = atomic_load(&s.up)) == 0)
            ;
        times[i] = up - begin;
    }
    pthread_join(thread, NULL);
    double us = median(times, samples) / 1e3;
    free(times);
    return us;
}

int main(int argc, char **argv)
{
    bool quick = false;
    const char *only = NULL, *named[16];
    int named_count = 0;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0)
            quick = true;
        else if (strcmp(argv[i], "--peer") == 0 && i + 1 < argc &&
                 named_count < 16)
            named[named_count++] = argv[++i];
        else
            only = argv[i];
    }
    struct problem problems[] = {
        {.name = "fib", .n = 36},
        {.name = "queens", .n = QUEENS, .least = 1.9},
        {.name = "tree", .n = 7, .least = 1.75},
        {.name = "queens from a row", .n = QUEENS, .least = 1.9},
    };
    struct figures ours = {0};
    unsigned cores = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);

    problems[0].serial = fib_serially;
    problems[0].parallel = fib_in_parallel;
    problems[1].serial = queens_serially;
    problems[1].parallel = queens_in_parallel;
    problems[2].serial = tree_serially;
    problems[2].parallel = tree_in_parallel;
    problems[2].thresholds = make_thresholds();

    problems[3].serial = queens_from_row_serially;
    problems[3].parallel = queens_from_row_in_parallel;

    for (int i = 0; i < 4; i++) {
        const struct problem *p = &problems[i];
        if (only && strcmp(only, p->name) != 0)
            continue;
        struct times one = measure(p, 1);
        if (i == 0) {
            // As many as calls that add: fork_join_test counts them.
            double spawns = (double)(serial_fib(p->n + 1) - 1);
            double per_spawn = (one.parallel - one.serial) / spawns;
            print_value(p->name, "cost of spawn and join", per_spawn, "ns",
                        "c");
            print(p->name, "cost of spawn and join, of a serial call's",
                  per_spawn * spawns / one.serial, "ratio", "c",
                  (struct bar){"<=", 2});
            keep(&ours, p->name, "cost of spawn and join", per_spawn);
            print_value(p->name, "1 worker over serial", one.ratio, "ratio",
                        "c");
        } else if (i == 1) {
            print(p->name, "1 worker over serial", one.ratio, "ratio", "c",
                  (struct bar){"<=", 1.05});
        } else {
            print_value(p->name, "1 worker over serial", one.ratio, "ratio",
                        "c");
        }
        keep(&ours, p->name, "1 worker over serial", one.ratio);
        if (cores < 2) {
            print_skipped(p->name, "speed-up, 2 workers", "c",
                          "this machine has one core");
            continue;
        }
        struct times two = measure(p, 2);
        print(p->name, "speed-up, 2 workers over 1", one.ratio / two.ratio,
              "ratio", "heddle", (struct bar){">=", 1.8});
        if (p->least > 0)
            print(p->name, "speed-up, 2 workers over serial", 1 / two.ratio,
                  "ratio", "c", (struct bar){">=", p->least});
        print_value(p->name, "2 workers over serial", two.ratio, "ratio", "c");
        keep(&ours, p->name, "2 workers over serial", two.ratio);
    }

    if (only)
        return 0;
    if (cores < 2)
        print_skipped("starvation", "4 x 25 ms beside 100 ms", "ideal",
                      "this machine has one core");
    else
        print("starvation", "4 x 25 ms beside 100 ms, over 100 ms",
              starvation() / 100, "ratio", "ideal", (struct bar){"<=", 1.1});
    print("idle", "CPU time in 5 s, of the time", idle_cpu() / 5000, "ratio",
          "none", (struct bar){"<=", 0.0002});
    struct latency wake = wake_latency(quick ? 200 : 1000, true);
    double bare = bare_wake(quick ? 200 : 1000);
    print_value("wake", "outside call to a sleeping pool", wake.there, "us",
                "none");
    print("wake", "outside call to a sleeping pool, of waking a bare thread",
          wake.there / bare, "ratio", "futex", (struct bar){"<=", 1.25});
    print_value("wake", "outside call to a sleeping pool, and back", wake.whole,
                "us", "none");
    print("wake", "outside call to a searching pool, of waking a bare thread",
          wake_latency(quick ? 200 : 1000, false).there / bare, "ratio",
          "futex", (struct bar){"<=", 0.25});
    keep(&ours, "wake", "outside call to a sleeping pool", wake.there);

    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    self[length > 0 ? length : 0] = '\0';
    const char *folder = dirname(self);
    ask_peer(&ours, folder, "libgomp", "gcc");
    ask_peer(&ours, folder, "libomp", "clang-19 and libomp-19-dev");
    ask_peer(&ours, folder, "tbb", "libtbb-dev");
    ask_peer(&ours, folder, "starpu", "libstarpu-dev");
    for (int i = 0; i < named_count; i++)
        ask_named_peer(&ours, named[i]);
    return 0;
}
