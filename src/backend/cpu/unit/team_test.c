// Host units: teams of threads that are fed through mailboxes.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>

#include "backend/cpu/cpu.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/pause.h"
#include "base/topology.h"
#include "tests/check.h"

static struct hdi_topology *topology;
static const struct hdi_backend *cpu;

static struct hdi_device *open_device(struct hdi_device_params params)
{
    struct hd_error error;
    struct hdi_device *device;
    CHECK_OK(cpu->open(topology, 0, &params, &device, &error), error);
    return device;
}

static struct hdi_unit *open_unit(struct hdi_device *device, unsigned index)
{
    struct hdi_unit *unit;
    CHECK(cpu->unit_open(device, index, &unit) == HD_OK);
    return unit;
}

static void submit(struct hdi_unit *unit, const struct hdi_chunk *chunk)
{
    while (!cpu->submit(unit, chunk)) {
        cpu->done(unit);
        sched_yield();
    }
}

static void finish(struct hdi_unit *unit)
{
    while (cpu->done(unit) < cpu->submitted(unit))
        sched_yield();
}

static struct hdi_chunk chunk_of(const struct hdi_entry *run, const void *args,
                                 uint32_t x, uint32_t y, uint32_t z)
{
    return (struct hdi_chunk){
        .entry = run,
        .frame = {.args = args,
                  .global = {x, y, z},
                  .local_size = {1, 1, 1},
                  .group_count = {x, y, z},
                  .count = {x, y, z},
                  .dims = 3},
    };
}

enum {
    WIDE = 23,
    ROUNDS = 400
};

struct visits {
    uint32_t offset, count[3];
    atomic_uint seen[WIDE * WIDE * WIDE], calls;
};

static void visit(const struct hdi_frame *f)
{
    struct visits *v = (struct visits *)(uintptr_t)f->args;

    atomic_fetch_add_explicit(&v->calls, 1, memory_order_relaxed);
    for (uint32_t z = 0; z < f->count[2]; z++)
        for (uint32_t y = 0; y < f->count[1]; y++)
            for (uint32_t x = 0; x < f->count[0]; x++) {
                uint32_t i = f->first[2] + z - v->offset;
                i = i * v->count[1] + f->first[1] + y - v->offset;
                i = i * v->count[0] + f->first[0] + x - v->offset;
                atomic_fetch_add_explicit(&v->seen[i], 1, memory_order_relaxed);
            }
}
static const struct hdi_entry visit_kernel = {.run = visit};

static void every_group_runs_once(struct hdi_device *device)
{
    struct hdi_unit *unit = open_unit(device, 0);
    static struct visits v;
    uint32_t random = 1;

    for (int round = 0; round < ROUNDS; round++) {
        uint32_t groups = 1;
        memset(&v, 0, sizeof(v));
        v.offset = (uint32_t)round;
        for (unsigned i = 0; i < 3; i++) {
            random = random * 1664525 + 1013904223;
            v.count[i] = 1 + (random >> 16) % (round % 2 ? WIDE : 3);
            groups *= v.count[i];
        }
        struct hdi_chunk chunk =
            chunk_of(&visit_kernel, &v, v.count[0], v.count[1], v.count[2]);
        for (unsigned i = 0; i < 3; i++)
            chunk.frame.first[i] = v.offset;
        submit(unit, &chunk);
        finish(unit);
        CHECK(cpu->status(unit, cpu->submitted(unit)) == HD_OK);
        for (uint32_t i = 0; i < WIDE * WIDE * WIDE; i++)
            CHECK(v.seen[i] == (i < groups));
    }
    cpu->unit_close(unit);
}

// Each chunk reads what the one before has written, and nothing is atomic: who
// sees an early answer or a late task is told by the values, or by the race
// detector.
struct link {
    uint64_t before, after;
};

static void follow(const struct hdi_frame *f)
{
    struct link *l;
    memcpy(&l, f->args, sizeof(l));
    l[1].before = l->after;
    l[1].after = l->after * 3 + 1;
}
static const struct hdi_entry follow_kernel = {.run = follow};

static void chunks_run_in_order_and_are_seen(struct hdi_device *device)
{
    enum {
        LINKS = 20000
    };
    static struct link links[LINKS + 1];
    static struct link *args[16];
    struct hdi_unit *unit = open_unit(device, 0);

    memset(links, 0, sizeof(links));
    for (unsigned i = 0; i < LINKS; i++) {
        // Its argument is written right before, and read by the unit alone.
        while (cpu->submitted(unit) - cpu->done(unit) >= device->can.in_flight)
            sched_yield();
        args[i % 16] = &links[i];
        struct hdi_chunk chunk =
            chunk_of(&follow_kernel, &args[i % 16], 1, 1, 1);
        CHECK(cpu->submit(unit, &chunk));
        if (i % 7 == 0) {
            finish(unit);
            CHECK(links[i + 1].before == links[i].after);
            CHECK(cpu->status(unit, i + 1) == HD_OK);
        }
    }
    finish(unit);
    for (unsigned i = 0; i < LINKS; i++)
        CHECK(links[i + 1].after == links[i].after * 3 + 1);
    cpu->unit_close(unit);
}

// Chunks of launches of different shapes, several of one in a row.
static void report(const struct hdi_frame *f)
{
    struct hdi_frame *to;
    memcpy(&to, f->args, sizeof(to));
    *to = *f;
}
static const struct hdi_entry report_kernel = {.run = report};

static void a_chunk_has_the_shape_of_its_launch(struct hdi_device *device)
{
    enum {
        CHUNKS = 2000
    };
    static struct hdi_frame frames[CHUNKS];
    static struct hdi_frame *args[CHUNKS];
    struct hdi_unit *unit = open_unit(device, 0);

    for (uint32_t i = 0; i < CHUNKS; i++) {
        uint32_t launch = i / (1 + i % 5);
        args[i] = &frames[i];
        struct hdi_chunk chunk = chunk_of(&report_kernel, &args[i], 1, 1, 1);
        chunk.frame.global[launch % 3] = launch;
        chunk.frame.offset[1] = launch / 7;
        chunk.frame.local_size[2] = launch / 3;
        chunk.frame.group_count[0] = launch / 5;
        chunk.local_bytes = launch % 2 * 64;
        chunk.frame.first[0] = i;
        submit(unit, &chunk);
    }
    finish(unit);
    for (uint32_t i = 0; i < CHUNKS; i++) {
        uint32_t launch = i / (1 + i % 5);
        CHECK(frames[i].global[launch % 3] == launch);
        CHECK(frames[i].offset[1] == launch / 7);
        CHECK(frames[i].local_size[2] == launch / 3);
        CHECK(frames[i].group_count[0] == launch / 5);
        CHECK(frames[i].local_bytes == launch % 2 * 64);
        CHECK(frames[i].first[0] == i);
    }
    cpu->unit_close(unit);
}

static void fill(const struct hdi_frame *f)
{
    memset(f->local, 1, 5000);
    memset(f->saved, 2, 7000);
}
static const struct hdi_entry fill_kernel = {.run = fill};

static void every_core_has_memory_of_its_own(struct hdi_device *device)
{
    struct hdi_unit *unit = open_unit(device, 0);
    struct hdi_chunk chunk = chunk_of(&fill_kernel, NULL, 64, 1, 1);
    char text[256];

    chunk.local_bytes = 5000;
    chunk.saved_bytes = 7000;
    submit(unit, &chunk);
    chunk.saved_bytes = UINT64_MAX - 4096;
    finish(unit);
    CHECK(cpu->status(unit, 1) == HD_OK);
    cpu->explain(unit, 1, text, sizeof(text));
    CHECK(*text == '\0');
    // Every part fails; the next chunk does not know of it.
    submit(unit, &chunk);
    finish(unit);
    CHECK(cpu->status(unit, 2) == HD_ENOMEM);
    cpu->explain(unit, 2, text, sizeof(text));
    CHECK(strstr(text, "part 1 of ") && strstr(text, "out of memory"));
    chunk.saved_bytes = 7000;
    submit(unit, &chunk);
    finish(unit);
    CHECK(cpu->status(unit, 3) == HD_OK);
    cpu->unit_close(unit);
}

static void a_unit_is_open_once_and_comes_back(struct hdi_device *device)
{
    static struct visits v;
    struct hdi_unit *second;

    for (int round = 0; round < 20; round++) {
        struct hdi_unit *unit = open_unit(device, 0);
        memset(&v, 0, sizeof(v));
        v.count[0] = v.count[1] = v.count[2] = 5;
        struct hdi_chunk chunk = chunk_of(&visit_kernel, &v, 5, 5, 5);
        CHECK(cpu->unit_open(device, 0, &second) == HD_ELIMIT);
        CHECK(cpu->unit_open(device, device->can.units, &second) == HD_ENODEV);
        submit(unit, &chunk);
        cpu->unit_close(unit); // what it has is finished first
        CHECK(v.seen[0] == 1 && v.seen[124] == 1);
    }
}

struct hanging {
    atomic_bool on_its_way, may_return, returned;
};

static void hang(const struct hdi_frame *f)
{
    struct hanging *h = (struct hanging *)(uintptr_t)f->args;

    atomic_store(&h->on_its_way, true);
    while (!atomic_load(&h->may_return))
        sched_yield();
    atomic_store(&h->returned, true);
}
static const struct hdi_entry hang_kernel = {.run = hang};

static void a_unit_that_hangs_is_lost_and_nothing_else(
    struct hdi_device_params params)
{
    struct hdi_device *device;
    static struct hanging h;
    static struct visits v;
    struct hdi_unit *unit, *again;
    atomic_int *stop = hdi_map(sizeof(*stop));

    memset(&h, 0, sizeof(h));
    memset(&v, 0, sizeof(v));
    v.count[0] = v.count[1] = v.count[2] = 4;
    params.unit_timeout = 200000000;
    device = open_device(params);
    unit = open_unit(device, 0);
    struct hdi_chunk good = chunk_of(&visit_kernel, &v, 4, 4, 4);
    struct hdi_chunk bad = chunk_of(&hang_kernel, &h, 1, 1, 1);
    bad.stop = stop;
    submit(unit, &good);
    submit(unit, &bad);
    bool queued = cpu->submit(unit, &good);

    CHECK(queued == !params.doorbell);
    finish(unit);
    CHECK(atomic_load(&h.on_its_way) && !atomic_load(&h.returned));
    CHECK(cpu->status(unit, 1) == HD_OK);
    CHECK(cpu->status(unit, 2) == HD_ETIMEOUT);
    if (queued)
        CHECK(cpu->status(unit, 3) == HD_ECANCELED);
    hdi_unmap(stop, sizeof(*stop)); // its launch is over
    cpu->interrupt(unit);
    CHECK(cpu->submit(unit, &good));
    finish(unit);
    CHECK(cpu->status(unit, cpu->submitted(unit)) == HD_ECANCELED);
    CHECK(cpu->unit_open(device, 0, &again) == HD_ELIMIT);
    cpu->unit_close(unit);
    CHECK(cpu->unit_open(device, 0, &again) == HD_ELIMIT); // it still hangs

    atomic_store(&h.may_return, true);
    while (cpu->unit_open(device, 0, &again) != HD_OK)
        sched_yield();
    CHECK(atomic_load(&h.returned));
    CHECK(atomic_load(&v.seen[0]) == 1); // nothing cancelled ran late
    submit(again, &good);
    finish(again);
    CHECK(cpu->status(again, 1) == HD_OK && v.seen[0] == 2);
    cpu->unit_close(again);
    cpu->close(device);
}

static void wait_a_little(const struct hdi_frame *f)
{
    uint64_t end = hdi_now() + 2000000;
    (void)f;
    while (hdi_now() < end)
        sched_yield();
}
static const struct hdi_entry wait_kernel = {.run = wait_a_little};

// The watchdog fires about when the chunk ends: whatever it decides, a chunk
// has run if and only if its status says so.
static void the_watchdog_and_the_unit_agree(struct hdi_device_params params)
{
    static struct visits v[3];

    params.unit_timeout = 2000000;
    for (int round = 0; round < 40; round++) {
        struct hdi_device *device = open_device(params);
        struct hdi_unit *unit = open_unit(device, 0), *again;
        struct hdi_chunk slow = chunk_of(&wait_kernel, NULL, 1, 1, 1);
        uint64_t first = 0;

        memset(v, 0, sizeof(v));
        submit(unit, &slow);
        for (unsigned i = 0; i < 3; i++) {
            v[i].count[0] = v[i].count[1] = v[i].count[2] = 1;
            struct hdi_chunk chunk = chunk_of(&visit_kernel, &v[i], 1, 1, 1);
            submit(unit, &chunk);
            finish(unit);
            if (i == 0)
                first = cpu->submitted(unit);
            hd_status status = cpu->status(unit, first + i);
            CHECK(status == HD_OK || status == HD_ECANCELED ||
                  status == HD_ETIMEOUT);
            if (status != HD_ETIMEOUT)
                CHECK(atomic_load(&v[i].seen[0]) == (status == HD_OK));
        }
        cpu->unit_close(unit);
        // A lost one leaves by itself, soon.
        while (cpu->unit_open(device, 0, &again) != HD_OK)
            sched_yield();
        cpu->unit_close(again);
        cpu->close(device);
    }
}

// A kernel without end.
#ifdef __x86_64__
#define TO_ITSELF "jmp turn"
#else
#define TO_ITSELF "b turn"
#endif
__asm__(".text\n"
        ".hidden turn\n"
        ".globl turn\n"
        "turn: " TO_ITSELF "\n"
        ".hidden turn_end\n"
        ".globl turn_end\n"
        "turn_end:\n");
void turn(const struct hdi_frame *f);
extern const char turn_end[];

// A stop comes at any moment between the submission of a chunk and long after
// its start. One that is missed keeps this test for ever.
static void stop_often(struct hdi_unit *unit, uint32_t groups, unsigned times)
{
    const struct hdi_entry entry = {
        .run = turn, .range = {(uintptr_t)turn, (uintptr_t)turn_end}};
    uint32_t random = 1;

    for (unsigned i = 0; i < times; i++) {
        atomic_int stop = 0;
        struct hdi_chunk chunk = chunk_of(&entry, NULL, groups, 1, 1);
        chunk.stop = &stop;
        random = random * 1664525 + 1013904223;
        submit(unit, &chunk);
        for (uint32_t n = random >> 16; n % 128 != 0; n--)
            hdi_pause();
        atomic_store(&stop, 1);
        cpu->interrupt(unit);
        finish(unit);
    }
}

static void a_stop_is_never_missed(struct hdi_device *device)
{
    struct hdi_unit *unit = open_unit(device, 0);

    stop_often(unit, device->can.unit_threads, 4000);
    cpu->unit_close(unit);
}

// Nor where the system takes no more signals of the user's.
static void a_stop_comes_although_too_many_signals_wait(
    struct hdi_device *device)
{
    struct rlimit before, none;

    CHECK(getrlimit(RLIMIT_SIGPENDING, &before) == 0);
    none = before;
    none.rlim_cur = 0;
    struct hdi_unit *unit = open_unit(device, 0);
    static struct visits v;
    struct hdi_chunk chunk =
        chunk_of(&visit_kernel, &v, device->can.unit_threads, 1, 1);
    submit(unit, &chunk); // each thread prepares itself with its first chunk
    finish(unit);
    CHECK(setrlimit(RLIMIT_SIGPENDING, &none) == 0);
    stop_often(unit, device->can.unit_threads, 200);
    CHECK(setrlimit(RLIMIT_SIGPENDING, &before) == 0);
    cpu->unit_close(unit);
}

static void an_idle_unit_sleeps(struct hdi_device *device)
{
    struct hdi_unit *unit = open_unit(device, 0);
    static struct visits v;
    struct timespec begin, end, nap = {.tv_nsec = 20000000};
    struct hdi_chunk chunk = chunk_of(&visit_kernel, &v, 1, 1, 1);

    memset(&v, 0, sizeof(v));
    v.count[0] = v.count[1] = v.count[2] = 1;
    submit(unit, &chunk);
    finish(unit);
    for (int i = 0; i < 2; i++) // the first time lets it fall asleep
        nanosleep(&nap, NULL);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    nap.tv_nsec = 300000000;
    nanosleep(&nap, NULL);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    int64_t used =
        (end.tv_sec - begin.tv_sec) * 1000000000 + end.tv_nsec - begin.tv_nsec;
    CHECK(used < 30000000); // [ns] of 300 ms
    submit(unit, &chunk);   // and wakes up again
    finish(unit);
    CHECK(atomic_load(&v.seen[0]) == 2);
    cpu->unit_close(unit);
}

static void a_unit_on_the_caller_is_there_too(struct hdi_device *device)
{
    struct hdi_unit *unit = open_unit(device, HDI_UNIT_ON_CALLER);
    static struct visits v;
    struct hdi_chunk chunk = chunk_of(&visit_kernel, &v, 2, 2, 2);

    memset(&v, 0, sizeof(v));
    v.count[0] = v.count[1] = v.count[2] = 2;
    CHECK(cpu->submit(unit, &chunk));
    CHECK(cpu->done(unit) == 1 && atomic_load(&v.seen[7]) == 1);
    cpu->unit_close(unit);
}

static void too_many_units_are_refused(void)
{
    struct hdi_device_params params = {.units = 1u << 20};
    struct hdi_device *device;
    struct hd_error error;

    CHECK_FAILS(cpu->open(topology, 0, &params, &device, &error), HD_ELIMIT,
                error, "at most");
}

int main(void)
{
    struct hd_error error;
    static const struct hdi_device_params kinds[] = {
        {.units = 1},
        {.units = 2, .unit_cores = 3},
        {.units = 1, .unit_cores = 2, .doorbell = true},
        {.units = 1, .unit_cores = 67},
    };

    cpu = hdi_backend_find("cpu");
    CHECK_OK(hdi_topology_create(NULL, &topology, &error), error);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct hdi_device *device = open_device(kinds[i]);
        CHECK(!device->can.on_caller && device->can.units == kinds[i].units);
        every_group_runs_once(device);
        if (kinds[i].unit_cores < 67)
            chunks_run_in_order_and_are_seen(device);
        a_chunk_has_the_shape_of_its_launch(device);
        every_core_has_memory_of_its_own(device);
        a_unit_is_open_once_and_comes_back(device);
        if (!HOLDS_SIGNALS && kinds[i].unit_cores < 67) {
            a_stop_is_never_missed(device);
            a_stop_comes_although_too_many_signals_wait(device);
        }
        an_idle_unit_sleeps(device);
        a_unit_on_the_caller_is_there_too(device);
        cpu->close(device);
        a_unit_that_hangs_is_lost_and_nothing_else(kinds[i]);
        the_watchdog_and_the_unit_agree(kinds[i]);
    }
    too_many_units_are_refused();
    hdi_topology_destroy(topology);
    return 0;
}
