// Copies between the host and a GPU, on the fake driver: they overlap what
// comes next, and whatever needs them waits for them.
//
//     staging_test            all
//     staging_test pageable   the same where no memory can be page-locked
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backend/cuda/cuda.h"
#include "heddle/heddle.h"
#include "tests/check.h"
#include "tests/cuda/fake.h"

enum {
    N = 96,          // numbers of a small buffer: warps
    LARGE = 5650000, // more than five chunks, and not all of the last [bytes]
    ODD = 77,        // from where large copies begin [bytes]
    THREADS = 4,
    LOOKS = 20,    // at what may not end yet
    PATIENCE = 60, // with what a copy that is stuck would never let end [s]
    ROUNDS = 12,
    MOST = 3 << 20 // of a buffer in the stress test [bytes]
};

static const struct fake_cuda *fake;
static bool pinned = true; // there is page-locked memory

static const char source[] =
    "kernel void twice(global int *x) {\n"
    "    x[get_global_id(0)] *= 2;\n"
    "}\n"
    "kernel void next(global uchar *x, uint n) {\n"
    "    for (uint i = 0; i < n; i += x[i] < 100 ? n / 2 : n)\n"
    "        x[i] += 1;\n"
    "}\n";

static struct hd_runtime *start(const char *device, unsigned units)
{
    const struct hd_runtime_params params = {
        .device = device, .workers = 1, .units = units, .unit_cores = 32};
    struct hd_runtime *runtime;
    struct hd_error error;

    CHECK_OK(hd_runtime_create(&params, &runtime, &error), error);
    return runtime;
}

static struct hd_program *build(struct hd_runtime *runtime)
{
    const struct hd_program_params params = {.path = "staging.cl",
                                             .source = source};
    struct hd_program *program;
    struct hd_error error;

    CHECK_OK(hd_program_create(runtime, &params, &program, &error), error);
    return program;
}

static struct hd_buffer *buffer(struct hd_runtime *runtime, uint64_t size)
{
    struct hd_buffer *b;
    struct hd_error error;

    CHECK_OK(hd_buffer_create(runtime, size, &b, &error), error);
    return b;
}

static hd_event start_twice(struct hd_runtime *runtime,
                            struct hd_program *program, struct hd_buffer *x)
{
    const struct hd_arg args[] = {HD_BUFFER(x)};
    const struct hd_range range = {.dims = 1, .global = {N}, .local = {32}};
    struct hd_error error;
    hd_event event;

    CHECK_OK(hd_launch_start(runtime, NULL, hd_program_find(program, "twice"),
                             &range, args, 1, &event, &error),
             error);
    return event;
}

static void finish(struct hd_runtime *runtime, hd_event event)
{
    struct hd_pool *pool = hd_runtime_pool(runtime);
    struct hd_error error;

    CHECK_OK(hd_event_wait(pool, &event, 1, HD_FOREVER, &error), error);
    hd_event_release(pool, event);
}

// A short write returns before the GPU has the bytes, from memory that may then
// be changed; a launch behind it sees them.
static void a_write_is_not_waited_for(unsigned units)
{
    struct hd_runtime *runtime = start("gpu", units);
    struct hd_program *program = build(runtime);
    struct hd_buffer *x = buffer(runtime, sizeof(int[N]));
    struct hd_pool *pool = hd_runtime_pool(runtime);
    struct hd_error error;
    int numbers[N];

    finish(runtime, start_twice(runtime, program, x)); // tiles are there then
    for (int i = 0; i < N; i++)
        numbers[i] = i;
    fake->hold_copies(pinned);
    CHECK_OK(hd_buffer_write(x, 0, numbers, sizeof(numbers), &error), error);
    memset(numbers, 0xff, sizeof(numbers));
    hd_event event = start_twice(runtime, program, x);
    for (int i = 0; i < LOOKS && pinned; i++) {
        CHECK(hd_event_state(pool, event) != HD_EVENT_ENDED);
        usleep(5000);
    }
    fake->hold_copies(false);
    finish(runtime, event);
    CHECK_OK(hd_buffer_read(x, 0, numbers, sizeof(numbers), &error), error);
    for (int i = 0; i < N; i++)
        CHECK(numbers[i] == 2 * i);
    hd_buffer_destroy(x);
    hd_program_destroy(program);
    hd_runtime_destroy(runtime);
}

static hd_status note(struct hd_worker *worker, void *data,
                      struct hd_error *error)
{
    (void)worker, (void)error;
    *(bool *)data = true;
    return HD_OK;
}

// While the only worker's copy is under way it does something else, also for a
// copy of many chunks; the target is the caller's when the event has ended.
static void a_started_read_holds_no_worker(size_t size, bool cancels)
{
    struct hd_runtime *runtime = start("gpu", 0);
    struct hd_pool *pool = hd_runtime_pool(runtime);
    struct hd_buffer *x = buffer(runtime, LARGE);
    bool called = false;
    const struct hd_call call = {.function = note, .data = &called};
    const struct hd_extent all = {.bytes = size};
    char *seen = malloc(size);
    struct hd_error error;
    hd_event read, other;

    memset(seen, 1, size);
    fake->hold_copies(true);
    CHECK_OK(
        hd_read_start(runtime, NULL, seen, NULL, x, NULL, &all, &read, &error),
        error);
    CHECK_OK(hd_call_start(pool, NULL, &call, &other, &error), error);
    finish(runtime, other);
    CHECK(called);
    CHECK(hd_event_state(pool, read) != HD_EVENT_ENDED);
    if (cancels)
        hd_event_cancel(pool, read);
    fake->hold_copies(false);
    hd_status status = hd_event_wait(pool, &read, 1, HD_FOREVER, &error);
    CHECK(status == (cancels ? HD_ECANCELED : HD_OK));
    hd_event_release(pool, read);
    for (size_t i = 0; i < size && !cancels; i++)
        CHECK(seen[i] == 0);
    free(seen);
    hd_buffer_destroy(x);
    hd_runtime_destroy(runtime);
}

// Reads that are under way may want all chunks, and are looked at by the only
// worker: a copy for which it waits ends all the same.
static void a_copy_needs_no_chunk_of_reads(size_t size)
{
    struct hd_runtime *runtime = start("gpu", 0);
    struct hd_pool *pool = hd_runtime_pool(runtime);
    struct hd_buffer *x = buffer(runtime, LARGE), *y = buffer(runtime, N);
    const struct hd_extent all = {.bytes = size};
    const unsigned char nine = 9;
    unsigned char *seen[CUDA_CHUNKS], filled[N];
    hd_event reads[CUDA_CHUNKS], fill;
    struct hd_error error;

    fake->hold_copies(true);
    for (unsigned i = 0; i < CUDA_CHUNKS; i++) {
        seen[i] = malloc(size);
        memset(seen[i], 1, size);
        CHECK_OK(hd_read_start(runtime, NULL, seen[i], NULL, x, NULL, &all,
                               &reads[i], &error),
                 error);
        while (hd_event_state(pool, reads[i]) != HD_EVENT_RUNS)
            sched_yield();
    }
    CHECK_OK(hd_fill_start(runtime, NULL, y, 0, N, &nine, sizeof(nine), &fill,
                           &error),
             error);
    alarm(PATIENCE);
    finish(runtime, fill);
    alarm(0);
    fake->hold_copies(false);
    for (unsigned i = 0; i < CUDA_CHUNKS; i++) {
        finish(runtime, reads[i]);
        for (size_t k = 0; k < size; k++)
            CHECK(seen[i][k] == 0);
        free(seen[i]);
    }
    CHECK_OK(hd_buffer_read(y, 0, filled, N, &error), error);
    CHECK(filled[0] == 9 && filled[N - 1] == 9);
    hd_buffer_destroy(y);
    hd_buffer_destroy(x);
    hd_runtime_destroy(runtime);
}

// There and back, at places that are no chunks', and between two buffers of the
// GPU.
static void large_copies_are_whole(void)
{
    struct hd_runtime *runtime = start("gpu", 0);
    struct hd_buffer *x = buffer(runtime, LARGE + ODD),
                     *y = buffer(runtime, LARGE);
    unsigned char *bytes = malloc(LARGE), *seen = calloc(1, LARGE);
    uint64_t before = fake->pageable();
    struct hd_error error;
    hd_event event;

    for (unsigned i = 0; i < LARGE; i++)
        bytes[i] = (unsigned char)(i * 2654435761u >> 13);
    CHECK_OK(hd_buffer_write(x, ODD, bytes, LARGE, &error), error);
    const struct hd_layout odd = {.offset = ODD};
    const struct hd_extent all = {.bytes = LARGE};
    CHECK_OK(
        hd_copy_start(runtime, NULL, y, NULL, x, &odd, &all, &event, &error),
        error);
    finish(runtime, event);
    CHECK_OK(hd_buffer_read(y, 0, seen, LARGE, &error), error);
    CHECK(memcmp(seen, bytes, LARGE) == 0);
    CHECK(fake->pageable() == before);
    free(seen);
    free(bytes);
    hd_buffer_destroy(y);
    hd_buffer_destroy(x);
    hd_runtime_destroy(runtime);
}

static void add_one(struct hd_runtime *runtime, struct hd_program *program,
                    struct hd_buffer *x, uint64_t devices)
{
    uint32_t n = (uint32_t)hd_buffer_size(x);
    const struct hd_arg args[] = {HD_BUFFER(x), HD_VALUE(n)};
    const struct hd_range range = {.dims = 1, .global = {1}};
    const struct hd_launch_params how = {.devices = devices};
    struct hd_error error;

    CHECK_OK(hd_launch_with(runtime, &how, hd_program_find(program, "next"),
                            &range, args, 2, &error),
             error);
}

// A buffer of the host's goes to the GPU and back again and again: it is
// page-locked after some times, until it goes.
static void what_is_copied_often_is_registered(uint64_t size, bool is)
{
    struct hd_runtime *runtime = start("cpu,gpu", 0);
    struct hd_program *program = build(runtime);
    struct hd_buffer *x = buffer(runtime, size);
    unsigned char *seen = hd_buffer_host(x);

    CHECK(fake->registered() == 0);
    for (int round = 0; round < 4; round++) {
        CHECK(round != 1 || fake->registered() == 0); // once is not often
        add_one(runtime, program, x, 2);
        add_one(runtime, program, x, 1);
    }
    CHECK(fake->registered() == (is ? size : 0));
    CHECK(seen[0] == 8 && seen[size / 2] == 8 && seen[size - 1] == 0);
    hd_buffer_destroy(x);
    CHECK(fake->registered() == 0);
    hd_program_destroy(program);
    hd_runtime_destroy(runtime);
}

// Each half is page-locked alone, which the driver does not take for one
// memory.
static void halves_are_registered(size_t half)
{
    struct hd_runtime *both = start("cpu,gpu", 0), *gpu = start("gpu", 0);
    struct hd_program *program = build(both);
    struct hd_buffer *x = buffer(gpu, 2 * half), *halves[2];
    unsigned char *bytes = malloc(2 * half);
    const struct hd_extent all = {.bytes = 2 * half};
    struct hd_error error;
    hd_event event;

    for (int i = 0; i < 2; i++) {
        CHECK_OK(hd_buffer_wrap(both, bytes + (size_t)i * half, half,
                                &halves[i], &error),
                 error);
        for (int round = 0; round < 4; round++) {
            add_one(both, program, halves[i], 2);
            add_one(both, program, halves[i], 1);
        }
    }
    CHECK(fake->registered() == 2 * half);
    for (size_t i = 0; i < 2 * half; i++)
        bytes[i] = (unsigned char)(i * 2654435761u >> 13);
    CHECK_OK(hd_buffer_write(x, 0, bytes, 2 * half, &error), error);
    for (int starts = 0; starts < 2; starts++) {
        memset(bytes, 0, 2 * half);
        if (starts) {
            CHECK_OK(hd_read_start(gpu, NULL, bytes, NULL, x, NULL, &all,
                                   &event, &error),
                     error);
            finish(gpu, event);
        } else {
            CHECK_OK(hd_buffer_read(x, 0, bytes, 2 * half, &error), error);
        }
        for (size_t i = 0; i < 2 * half; i++)
            CHECK(bytes[i] == (unsigned char)(i * 2654435761u >> 13));
    }
    for (int i = 0; i < 2; i++)
        hd_buffer_destroy(halves[i]);
    free(bytes);
    hd_buffer_destroy(x);
    hd_program_destroy(program);
    hd_runtime_destroy(gpu);
    hd_runtime_destroy(both);
}

// Threads with buffers of their own use the same few chunks.
struct copier {
    struct hd_runtime *runtime;
    unsigned seed;
};

static void *copy_at_random(void *data)
{
    const struct copier *c = data;
    struct hd_buffer *x = buffer(c->runtime, MOST);
    unsigned char *mine = calloc(1, MOST), *seen = malloc(MOST);
    const struct hd_extent all = {.bytes = MOST};
    unsigned random = c->seed;
    struct hd_error error;
    hd_event event;

    for (int round = 0; round < ROUNDS; round++) {
        random = random * 1664525u + 1013904223u;
        size_t size = 1 + (random >> 4) % (round % 3 ? MOST - 1 : 5000);
        size_t at = (random >> 8) % (MOST - size + 1);
        memset(mine + at, (int)(random >> 24), size);
        CHECK_OK(hd_buffer_write(x, at, mine + at, size, &error), error);
        if (round % 2) {
            CHECK_OK(hd_read_start(c->runtime, NULL, seen, NULL, x, NULL, &all,
                                   &event, &error),
                     error);
            finish(c->runtime, event);
        } else {
            CHECK_OK(hd_buffer_read(x, 0, seen, MOST, &error), error);
        }
        CHECK(memcmp(seen, mine, MOST) == 0);
    }
    free(seen);
    free(mine);
    hd_buffer_destroy(x);
    return NULL;
}

static void threads_share_chunks(void)
{
    struct hd_runtime *runtime = start("gpu", 2);
    struct copier copiers[THREADS];
    pthread_t threads[THREADS];

    for (unsigned i = 0; i < THREADS; i++) {
        copiers[i] = (struct copier){runtime, 77 * i + 5};
        CHECK(pthread_create(&threads[i], NULL, copy_at_random, &copiers[i]) ==
              0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    hd_runtime_destroy(runtime);
}

static void chunks_are_a_share_of_the_memory(void)
{
    CHECK(cuda_staging_chunks(0) == 0);
    CHECK(cuda_staging_chunks(UINT64_C(64) << 20) == 0); // one alone
    CHECK(cuda_staging_chunks(UINT64_C(3 * 64) << 20) == 3);
    CHECK(cuda_staging_chunks(UINT64_MAX) == CUDA_CHUNKS);
    CHECK(cuda_staging_has_room(100, 30, 70));
    CHECK(!cuda_staging_has_room(100, 31, 70));
    CHECK(!cuda_staging_has_room(100, 0, UINT64_MAX));
}

// Who cannot have it is told so, once.
static void it_is_said_once(void)
{
    char text[4096];
    FILE *log = tmpfile();
    int before = dup(2);

    CHECK(log && before >= 0 && dup2(fileno(log), 2) == 2);
    for (int i = 0; i < 2; i++)
        hd_runtime_destroy(start("gpu", 0));
    CHECK(dup2(before, 2) == 2);
    close(before);
    rewind(log);
    text[fread(text, 1, sizeof(text) - 1, log)] = '\0';
    fclose(log);
    const char *said = strstr(text, "no page-locked memory");
    CHECK(said && !strstr(said + 1, "no page-locked memory"));
}

int main(int argc, char **argv)
{
    fake = fake_cuda();
    if (!fake)
        SKIP("the fake driver is not named in HEDDLE_CUDA_DRIVER");
    pinned = argc == 1;
    chunks_are_a_share_of_the_memory();
    if (!pinned) {
        CHECK(strcmp(argv[1], "pageable") == 0);
        fake->fail_always("cuMemAllocHost");
        it_is_said_once();
    }
    a_write_is_not_waited_for(0);
    a_write_is_not_waited_for(2);
    large_copies_are_whole();
    what_is_copied_often_is_registered(2500000, pinned);
    what_is_copied_often_is_registered(1000, false);
    threads_share_chunks();
    if (pinned) {
        a_started_read_holds_no_worker(100, false);
        a_started_read_holds_no_worker(LARGE, false);
        a_started_read_holds_no_worker(LARGE, true);
        a_copy_needs_no_chunk_of_reads(100);
        a_copy_needs_no_chunk_of_reads(LARGE);
        halves_are_registered(2500000);
    }
    printf("%s", fake->report());
    CHECK(*fake->report() == '\0');
    return 0;
}
