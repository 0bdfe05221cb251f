// Invariant: what is kept is one line of text per cost under a head that names
// version and machine; the cache guards it against change.
#include "launch/measure/calibration.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "kernel/binary/cache.h"
#include "launch/measure/meter.h"

// REPEATS: odd, for a median, so that one disturbed measurement does not count.
enum {
    REPEATS = 5,
    AT_LEAST = 15000000, // of one measurement [ns]: energy counters tick in ms
    BATCH =
        1024, // of one kind, as many as the window has cycles [instructions]
    FLOATS = 16,
    LOCAL_WORDS = HDI_BLOCK_BYTES / sizeof(uint64_t)
};

static const char note[] = "weights";
static const char format[] = "heddle weights 1";
static const char *const names[HDI_WORKS] = {
    "move", "load", "store", "multiply", "compare", "branch", "slot", "local"};

const char *hdi_work_name(enum hdi_calibrated_work work)
{
    return names[work];
}

// Work ------------------------------------------------------------------------

// The compiler must neither know the value nor leave the use out.
#define OPAQUE(value) __asm__ volatile("" : "+r"(value))
#define KEEP_MEMORY() __asm__ volatile("" ::: "memory")

// The words are one block of local memory, in a core's first cache.
struct bench {
    uint64_t words[LOCAL_WORDS];
    float a[FLOATS], b[FLOATS], sum[FLOATS];
};

static void moves(struct bench *bench)
{
    uint64_t a = bench->words[0], b;

    for (unsigned i = 0; i < BATCH; i++) {
        // Both live on, so a register is copied.
        __asm__ volatile("" : "=r"(b) : "0"(a));
        OPAQUE(a);
    }
    bench->words[0] = a ^ b;
}

static void loads(struct bench *bench)
{
    for (unsigned i = 0; i < BATCH; i++) {
        uint64_t word = bench->words[i % LOCAL_WORDS];
        OPAQUE(word);
    }
}

static void stores(struct bench *bench)
{
    for (unsigned i = 0; i < BATCH; i++) {
        bench->words[i % LOCAL_WORDS] = i;
        KEEP_MEMORY();
    }
}

static void multiplies(struct bench *bench)
{
    for (unsigned i = 0; i < BATCH; i++) {
        for (unsigned k = 0; k < FLOATS; k++)
            bench->sum[k] = bench->sum[k] * bench->a[k] + bench->b[k];
        KEEP_MEMORY();
    }
}

static void compares(struct bench *bench)
{
    uint64_t a = bench->words[0], sum = 0;

    for (unsigned i = 0; i < BATCH; i++) {
        OPAQUE(a);
        sum += a < i;
    }
    bench->words[0] = sum;
}

static void branches(struct bench *bench)
{
    uint64_t odd = bench->words[0] | 1;

    for (unsigned i = 0; i < BATCH; i++) {
        OPAQUE(odd);
        if (odd & 1)
            continue;
        KEEP_MEMORY();
    }
}

static void slots(struct bench *bench)
{
    uint64_t word = bench->words[0];

    for (unsigned i = 0; i < BATCH; i++) {
        word = word * 3 + 1;
        OPAQUE(word);
    }
    bench->words[0] = word;
}

static void locals(struct bench *bench)
{
    uint64_t word = bench->words[0];

    for (unsigned i = 0; i < BATCH; i++) {
        word = word * 3 + 1;
        OPAQUE(word);
        bench->words[i % LOCAL_WORDS] ^= word;
    }
}

// By kind; one call of slots and locals is one piece of work.
static const struct {
    void (*run)(struct bench *bench);
    unsigned count;
} works[HDI_WORKS] = {{moves, BATCH},      {loads, BATCH},    {stores, BATCH},
                      {multiplies, BATCH}, {compares, BATCH}, {branches, BATCH},
                      {slots, 1},          {locals, 1}};

// Measuring -------------------------------------------------------------------

// On the stack of the thread that waits for it; written by the one that
// measures.
struct measuring {
    struct bench *bench;
    struct hdi_meter meter;
    struct hdi_calibration *calibration;
};

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return a < b ? -1 : a > b;
}

static double middle(double *values)
{
    qsort(values, REPEATS, sizeof(*values), by_value);
    return values[REPEATS / 2];
}

// What others take from this thread does not count [ns].
static uint64_t thread_time(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// Of energy what the machine takes anyway is subtracted. Sixteen runs between
// two looks at the clock, which then hardly count.
static double cost_of(struct measuring *m, enum hdi_calibrated_work work,
                      double idle)
{
    double costs[REPEATS];

    for (unsigned r = 0; r < REPEATS; r++) {
        uint64_t times = 0, begin = hdi_now(), now = begin;
        uint64_t computed = thread_time();
        double before = hdi_meter_read(&m->meter);

        for (; now - begin < AT_LEAST; now = hdi_now()) {
            for (unsigned i = 0; i < 16; i++)
                works[work].run(m->bench);
            times += 16;
        }
        double cost =
            hdi_meter_since(&m->meter, before) - idle * (double)(now - begin);
        if (!m->calibration->energy)
            cost = (double)(thread_time() - computed) * 1e3; // [ps]
        costs[r] = fmax(cost, 0) / ((double)times * works[work].count);
    }
    return middle(costs);
}

// Energy while nothing is done [pJ / ns].
static double idle_power(struct measuring *m)
{
    double powers[REPEATS];

    for (unsigned r = 0; r < REPEATS; r++) {
        uint64_t begin = hdi_now();
        double before = hdi_meter_read(&m->meter);
        struct timespec pause = {.tv_nsec = AT_LEAST};

        nanosleep(&pause, NULL);
        powers[r] =
            hdi_meter_since(&m->meter, before) / (double)(hdi_now() - begin);
    }
    return middle(powers);
}

static void measure_all(struct measuring *m)
{
    double idle = m->calibration->energy ? idle_power(m) : 0;

    for (unsigned w = 0; w < HDI_WORKS; w++)
        m->calibration->cost[w] = cost_of(m, (enum hdi_calibrated_work)w, idle);
    // A block costs what the walk over it adds.
    double *cost = m->calibration->cost;
    cost[HDI_WORK_LOCAL] = fmax(cost[HDI_WORK_LOCAL] - cost[HDI_WORK_SLOT], 0);
}

// On a thread of core 0, while the other cores are left idle.
static void *measure(void *data)
{
    struct measuring *m = data;

    m->calibration->energy = hdi_meter_open(&m->meter);
    measure_all(m);
    // A counter that stands still says nothing.
    if (m->calibration->energy && m->calibration->cost[HDI_WORK_SLOT] <= 0) {
        m->calibration->energy = false;
        measure_all(m);
    }
    return NULL;
}

hd_status hdi_calibration_measure(const struct hdi_topology *topology,
                                  struct hdi_calibration *calibration,
                                  struct hd_error *error)
{
    struct hdi_calibration found = {0};
    struct measuring m = {.calibration = &found,
                          .bench = calloc(1, sizeof(*m.bench))};
    pthread_t thread;

    if (!m.bench)
        return hdi_fail(error, HD_ENOMEM, "no memory to calibrate with");
    if (hdi_thread_start(topology, 0, "calibration", measure, &m, &thread) !=
        HD_OK) {
        free(m.bench);
        return hdi_fail(error, HD_ENOMEM, "no thread to calibrate on");
    }
    pthread_join(thread, NULL);
    free(m.bench);
    *calibration = found;
    return HD_OK;
}

// Only the ratio matters; 1,000 keeps three digits of it.
void hdi_calibration_weights(const struct hdi_calibration *calibration,
                             uint32_t *slot, uint32_t *local)
{
    double a = calibration->cost[HDI_WORK_SLOT];
    double b = calibration->cost[HDI_WORK_LOCAL], most = fmax(a, b);

    *slot = most > 0 ? (uint32_t)fmax(1, 1000 * (a / most)) : 1;
    *local = most > 0 ? (uint32_t)fmax(1, 1000 * (b / most)) : 1;
}

// Keeping ---------------------------------------------------------------------

static void print_head(struct hdi_text *text, const struct hdi_machine *machine)
{
    hdi_text_print(text, "%s: %u cores, %u cache groups, %s\n", format,
                   machine->cores, machine->cache_groups, machine->processor);
}

bool hdi_calibration_keep(struct hdi_cache *cache,
                          const struct hdi_machine *machine,
                          const struct hdi_calibration *calibration)
{
    struct hdi_text text = {0};

    print_head(&text, machine);
    hdi_text_print(&text, "%s\n", calibration->energy ? "energy" : "time");
    for (unsigned w = 0; w < HDI_WORKS; w++)
        hdi_text_print(&text, "%s %a\n", names[w], calibration->cost[w]);
    bool ok =
        !text.failed && hdi_cache_write_note(cache, note, text.data, text.size);
    hdi_text_free(&text);
    return ok;
}

// A prefix of `text`, which moves behind it.
static bool skip(const char **text, const char *prefix)
{
    size_t size = strlen(prefix);

    if (strncmp(*text, prefix, size) != 0)
        return false;
    *text += size;
    return true;
}

// Strict: a file that is not exactly what was written counts as damaged, and is
// measured again.
static bool parse(const char *text, const char *head,
                  struct hdi_calibration *found)
{
    if (!skip(&text, head))
        return false;
    found->energy = skip(&text, "energy\n");
    if (!found->energy && !skip(&text, "time\n"))
        return false;
    for (unsigned w = 0; w < HDI_WORKS; w++) {
        char *end;

        if (!skip(&text, names[w]) || !skip(&text, " "))
            return false;
        found->cost[w] = strtod(text, &end);
        if (end == text || *end != '\n' || !(found->cost[w] >= 0) ||
            found->cost[w] > DBL_MAX)
            return false;
        text = end + 1;
    }
    return *text == '\0';
}

bool hdi_calibration_find(struct hdi_cache *cache,
                          const struct hdi_machine *machine,
                          struct hdi_calibration *calibration)
{
    struct hdi_text text = {0}, head = {0};
    struct hdi_calibration found = {0};

    print_head(&head, machine);
    bool ok = hdi_cache_read_note(cache, note, &text) && !head.failed &&
              parse(text.data, head.data, &found);
    hdi_text_free(&head);
    hdi_text_free(&text);
    if (ok)
        *calibration = found;
    return ok;
}
