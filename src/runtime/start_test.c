// What is started runs once everything before it has ended, keeps what it
// needs, and gives the results of the blocking calls.
#include "heddle/heddle.h"

#include <stdatomic.h>
#include <unistd.h>

#include "tests/check.h"

static struct hd_error error;

static const char source[] =
    "kernel void add(global int *a, int b) { a[get_global_id(0)] += b; }\n"
    "kernel void late(global int *a, int b)\n"
    "{\n"
    "    int x = a[get_global_id(0)];\n"
    "    for (volatile int i = 0; i < 1000; i++)\n"
    "        ;\n"
    "    a[get_global_id(0)] = x + b;\n"
    "}\n"
    "kernel void take(global int *a, constant int *b) { a[0] = b[0]; }\n"
    "kernel void mark(global int *a)\n"
    "{\n"
    "    a[get_global_id(1) * 64 + get_global_id(0)] =\n"
    "        (int)(get_group_id(1) * get_num_groups(0) + get_group_id(0));\n"
    "}\n"
    "kernel void visit(global int *a)\n"
    "{\n"
    "    atomic_inc(a + (get_global_id(2) * get_global_size(1) +\n"
    "                    get_global_id(1)) * get_global_size(0) +\n"
    "               get_global_id(0));\n"
    "}\n"
    "kernel void endless(global volatile int *a)\n"
    "{\n"
    "    a[1] = 1;\n"
    "    while (a[0] == 0)\n"
    "        ;\n"
    "}\n"
    "kernel void stray(global int *a) { a[1l << 40] = 1; }\n";

// A runtime with the kernels of `source`: set_up() makes it, tear_down() ends
// it.
struct rig {
    struct hd_runtime *runtime;
    struct hd_pool *pool;
    struct hd_program *program;
};

// Skips the test in a build without a compiler.
static struct rig set_up(struct hd_runtime_params params)
{
    const struct hd_program_params program = {.path = "start.cl",
                                              .source = source};
    struct rig rig;

    CHECK_OK(hd_runtime_create(&params, &rig.runtime, &error), error);
    rig.pool = hd_runtime_pool(rig.runtime);
    hd_status status =
        hd_program_create(rig.runtime, &program, &rig.program, &error);
    SKIP_UNBUILT(status, error);
    CHECK_OK(status, error);
    return rig;
}

static void tear_down(struct rig *rig)
{
    hd_program_destroy(rig->program);
    hd_runtime_destroy(rig->runtime);
}

static struct hd_buffer *make(struct rig *rig, uint64_t size)
{
    struct hd_buffer *buffer;

    CHECK_OK(hd_buffer_create(rig->runtime, size, &buffer, &error), error);
    return buffer;
}

// The event is the caller's to release.
static hd_event launch(struct rig *rig, const char *name,
                       const struct hd_start *start, struct hd_range range,
                       const struct hd_arg *args, unsigned count)
{
    hd_event event;

    CHECK_OK(hd_launch_start(rig->runtime, start,
                             hd_program_find(rig->program, name), &range, args,
                             count, &event, &error),
             error);
    return event;
}

// Wait for it, as one that must end well, and release it.
static void end(struct rig *rig, hd_event event)
{
    CHECK_OK(hd_event_wait(rig->pool, &event, 1, HD_FOREVER, &error), error);
    hd_event_release(rig->pool, event);
}

// A chain behind a gate: nothing runs before the gate ends, and values are
// those of the call, though the variable is overwritten right after.
static void launches_come_after_what_they_should(void)
{
    enum {
        COUNT = 10000,
        ROUNDS = 50
    };
    struct rig rig = set_up((struct hd_runtime_params){0});
    struct hd_buffer *a = make(&rig, COUNT * sizeof(int));
    int *host = hd_buffer_host(a);
    hd_event gate, last;
    int expected = 0;

    CHECK_OK(hd_event_create(rig.pool, &gate, &error), error);
    last = gate;
    for (int i = 1; i <= ROUNDS; i++) {
        int b = i; // gone when it runs
        struct hd_arg args[] = {HD_BUFFER(a), HD_VALUE(b)};
        struct hd_start start = {.after = &last, .after_count = 1};
        hd_event next =
            launch(&rig, "add", &start,
                   (struct hd_range){.dims = 1, .global = {COUNT}}, args, 2);
        if (i > 1)
            hd_event_release(rig.pool, last);
        last = next;
        b = 0;
        expected += i;
    }
    CHECK(host[0] == 0);
    CHECK_OK(hd_event_end(rig.pool, gate, HD_OK, NULL, &error), error);
    CHECK_OK(hd_event_wait(rig.pool, &last, 1, HD_FOREVER, &error), error);
    for (int i = 0; i < COUNT; i++)
        CHECK(host[i] == expected);

    struct hd_event_info info;
    CHECK(hd_event_info(rig.pool, last, &info));
    CHECK(info.busy > 0 && info.groups > 0 && info.workers != 0);
    CHECK(info.counted || info.bytes == COUNT * sizeof(int));
    CHECK(info.units == 0);
    hd_event_release(rig.pool, last);
    hd_event_release(rig.pool, gate);
    hd_buffer_destroy(a);
    tear_down(&rig);
}

// The buffer is destroyed while two things that were started still need it.
static void buffers_stay_until_the_end(void)
{
    struct rig rig = set_up((struct hd_runtime_params){0});
    struct hd_buffer *a = make(&rig, 4096), *b = make(&rig, 4096);
    int one = 1;
    hd_event gate;

    CHECK_OK(hd_event_create(rig.pool, &gate, &error), error);
    struct hd_arg args[] = {HD_BUFFER(a), HD_VALUE(one)};
    struct hd_start start = {.after = &gate, .after_count = 1};
    hd_event added =
        launch(&rig, "add", &start,
               (struct hd_range){.dims = 1, .global = {1024}}, args, 2);
    struct hd_start next = {.after = &added, .after_count = 1};
    hd_event copied;
    struct hd_extent all = {.bytes = 4096};
    CHECK_OK(hd_copy_start(rig.runtime, &next, b, NULL, a, NULL, &all, &copied,
                           &error),
             error);
    hd_buffer_destroy(a);
    hd_event_release(rig.pool, added);
    CHECK_OK(hd_event_end(rig.pool, gate, HD_OK, NULL, &error), error);
    hd_event_release(rig.pool, gate);
    end(&rig, copied);
    for (int i = 0; i < 1024; i++)
        CHECK(((int *)hd_buffer_host(b))[i] == 1);
    hd_buffer_destroy(b);
    tear_down(&rig);
}

// `mark` writes the number of its group: groups outside the box are not run,
// those inside count as in the whole.
static void a_box_of_groups_keeps_its_ids(void)
{
    struct rig rig = set_up((struct hd_runtime_params){0});
    struct hd_buffer *a = make(&rig, 64 * 64 * sizeof(int));
    int *host = hd_buffer_host(a);
    struct hd_box box = {.first = {2, 1, 0}, .count = {3, 2, 1}};
    struct hd_start start = {.box = &box};
    struct hd_range range = {.dims = 2, .global = {64, 64}, .local = {8, 8}};
    struct hd_arg args[] = {HD_BUFFER(a)};

    memset(host, 0xff, 64 * 64 * sizeof(int));
    end(&rig, launch(&rig, "mark", &start, range, args, 1));
    for (int y = 0; y < 64; y++)
        for (int x = 0; x < 64; x++) {
            bool in = x / 8 >= 2 && x / 8 < 5 && y / 8 >= 1 && y / 8 < 3;
            CHECK(host[y * 64 + x] == (in ? y / 8 * 8 + x / 8 : -1));
        }
    box.count[0] = 7;
    CHECK_FAILS(hd_launch_start(rig.runtime, &start,
                                hd_program_find(rig.program, "mark"), &range,
                                args, 1, NULL, &error),
                HD_EINVAL, error, "no part of the 8 in dimension 0");
    hd_buffer_destroy(a);
    tear_down(&rig);
}

// By the call itself, not by an event that fails later: nothing has been
// started then.
static void mistakes_are_told_at_the_start(void)
{
    struct rig rig = set_up((struct hd_runtime_params){0});
    struct hd_buffer *a = make(&rig, 4096);
    struct hd_range range = {.dims = 1, .global = {1024}};
    struct hd_arg args[] = {HD_BUFFER(a)};
    const struct hd_kernel *add = hd_program_find(rig.program, "add");
    struct hd_start start = {0};

    CHECK_FAILS(hd_launch_start(rig.runtime, &start, add, &range, args, 1, NULL,
                                &error),
                HD_EINVAL, error, "takes 2 arguments");
    CHECK_FAILS(
        hd_launch_start(rig.runtime, NULL, NULL, &range, args, 1, NULL, &error),
        HD_EINVAL, error, "needs a kernel");
    struct hd_extent much = {.bytes = 4000, .rows = 2};
    CHECK_FAILS(hd_read_start(rig.runtime, NULL, &range, NULL, a, NULL, &much,
                              NULL, &error),
                HD_EINVAL, error, "outside a buffer");
    struct hd_extent some = {.bytes = 64, .rows = 2};
    struct hd_layout narrow = {.row_pitch = 32};
    CHECK_FAILS(hd_write_start(rig.runtime, NULL, a, &narrow, &range, NULL,
                               &some, NULL, &error),
                HD_EINVAL, error, "32 bytes from each other");
    CHECK_FAILS(hd_copy_start(rig.runtime, NULL, a, NULL, a,
                              &(struct hd_layout){.offset = 100}, &some, NULL,
                              &error),
                HD_EINVAL, error, "copies from");
    CHECK_FAILS(
        hd_fill_start(rig.runtime, NULL, a, 0, 100, "abc", 3, NULL, &error),
        HD_EINVAL, error, "pattern of 3");
    CHECK_FAILS(
        hd_fill_start(rig.runtime, NULL, NULL, 0, 100, "a", 1, NULL, &error),
        HD_EINVAL, error, "no buffer");
    start.place = HD_ON_UNIT;
    CHECK_FAILS(hd_launch_start(rig.runtime, &start, add, &range,
                                (struct hd_arg[]){HD_BUFFER(a), HD_VALUE(some)},
                                2, NULL, &error),
                HD_EINVAL, error, "argument");
    hd_buffer_destroy(a);
    tear_down(&rig);
}

// What comes after gets the same error with the same text, and does not run.
static void a_launch_that_faults_fails_what_follows(void)
{
    struct rig rig = set_up((struct hd_runtime_params){0});
    struct hd_buffer *a = make(&rig, 4096);
    struct hd_range range = {.dims = 1, .global = {64}};
    struct hd_arg args[] = {HD_BUFFER(a)};
    int one = 1;
    struct hd_arg more[] = {HD_BUFFER(a), HD_VALUE(one)};

    hd_event stray = launch(&rig, "stray", NULL, range, args, 1);
    struct hd_start next = {.after = &stray, .after_count = 1};
    hd_event add = launch(&rig, "add", &next, range, more, 2);
    CHECK_FAILS(hd_event_wait(rig.pool, &add, 1, HD_FOREVER, &error), HD_EFAULT,
                error, "kernel 'stray'");
    CHECK(((int *)hd_buffer_host(a))[0] == 0);
    hd_event_release(rig.pool, stray);
    hd_event_release(rig.pool, add);
    hd_buffer_destroy(a);
    tear_down(&rig);
}

// On the worker's own thread (no units), and on a unit. The kernel says by a[1]
// that it runs.
static void a_launch_that_runs_is_cancelled(unsigned units)
{
    struct rig rig =
        set_up((struct hd_runtime_params){.workers = 1, .units = units});
    struct hd_buffer *a = make(&rig, 4096);
    struct hd_range range = {.dims = 1, .global = {1}, .local = {1}};
    struct hd_arg args[] = {HD_BUFFER(a)};

    hd_event endless = launch(&rig, "endless", NULL, range, args, 1);
    while (__atomic_load_n((int *)hd_buffer_host(a) + 1, __ATOMIC_RELAXED) == 0)
        usleep(100);
    CHECK(hd_event_state(rig.pool, endless) == HD_EVENT_RUNS);
    hd_event_cancel(rig.pool, endless);
    CHECK_FAILS(hd_event_wait(rig.pool, &endless, 1, HD_FOREVER, &error),
                HD_ECANCELED, error, "cancelled");
    hd_event_release(rig.pool, endless);

    struct hd_start start = {.time_limit = 20000000};
    endless = launch(&rig, "endless", &start, range, args, 1);
    CHECK_FAILS(hd_event_wait(rig.pool, &endless, 1, HD_FOREVER, &error),
                HD_ETIMEOUT, error, "time limit");
    hd_event_release(rig.pool, endless);
    hd_buffer_destroy(a);
    tear_down(&rig);
}

// A part of a part is one of the whole. All three are destroyed while launches
// still use them.
static void parts_share_the_memory_of_their_parent(bool guard)
{
    struct rig rig = set_up((struct hd_runtime_params){.guard = guard});
    struct hd_buffer *a = make(&rig, 4096), *part, *inner;
    int *host = hd_buffer_host(a), one = 1;
    struct hd_range range = {.dims = 1, .global = {16}};

    CHECK_OK(hd_buffer_sub(a, 1024, 1024, &part, &error), error);
    CHECK_OK(hd_buffer_sub(part, 128, 64, &inner, &error), error);
    CHECK(hd_buffer_size(inner) == 64);
    CHECK(hd_buffer_host(inner) == (char *)hd_buffer_host(a) + 1152);
    CHECK_FAILS(hd_buffer_sub(part, 1000, 25, &inner, &error), HD_EINVAL, error,
                "outside a buffer of 1024");
    struct hd_arg args[] = {HD_BUFFER(inner), HD_VALUE(one)};
    end(&rig, launch(&rig, "add", NULL, range, args, 2));
    for (int i = 0; i < 1024; i++)
        CHECK(host[i] == (i >= 288 && i < 304));
    // As a constant, which may be at another address.
    struct hd_arg three[] = {HD_BUFFER(part), HD_BUFFER(inner)};
    range.global[0] = 1;
    end(&rig, launch(&rig, "take", NULL, range, three, 2));
    CHECK(host[256] == 1);

    hd_event gate;
    CHECK_OK(hd_event_create(rig.pool, &gate, &error), error);
    struct hd_start start = {.after = &gate, .after_count = 1};
    range.global[0] = 16;
    hd_event last = launch(&rig, "add", &start, range, args, 2);
    int result[16];
    struct hd_start next = {.after = &last, .after_count = 1};
    struct hd_extent all = {.bytes = sizeof(result)};
    hd_event got;
    CHECK_OK(hd_read_start(rig.runtime, &next, result, NULL, inner, NULL, &all,
                           &got, &error),
             error);
    hd_event_release(rig.pool, last);
    hd_buffer_destroy(a);
    hd_buffer_destroy(part);
    hd_buffer_destroy(inner);
    CHECK_OK(hd_event_end(rig.pool, gate, HD_OK, NULL, &error), error);
    hd_event_release(rig.pool, gate);
    end(&rig, got);
    for (int i = 0; i < 16; i++)
        CHECK(result[i] == 2);
    tear_down(&rig);
}

// At an odd address and with guard pages asked for: neither may move it.
static void memory_of_the_caller_is_used_in_place(void)
{
    struct rig rig = set_up((struct hd_runtime_params){.guard = true});
    int memory[64] = {0}, one = 1;
    struct hd_buffer *a;

    CHECK_OK(
        hd_buffer_wrap(rig.runtime, memory + 1, 16 * sizeof(int), &a, &error),
        error);
    CHECK(hd_buffer_host(a) == memory + 1);
    struct hd_arg args[] = {HD_BUFFER(a), HD_VALUE(one)};
    struct hd_range range = {.dims = 1, .global = {16}};
    end(&rig, launch(&rig, "add", NULL, range, args, 2));
    struct hd_arg both[] = {HD_BUFFER(a), HD_BUFFER(a)};
    range.global[0] = 1;
    end(&rig, launch(&rig, "take", NULL, range, both, 2));
    for (int i = 0; i < 64; i++)
        CHECK(memory[i] == (i >= 1 && i < 17));
    hd_buffer_destroy(a);
    CHECK_FAILS(hd_buffer_wrap(rig.runtime, NULL, 4, &a, &error), HD_EINVAL,
                error, "no memory");
    tear_down(&rig);
}

// The null device runs nothing: which launches went there is seen by what is
// missing in the sum. It gets work only when it is named.
static void launches_say_on_which_devices_they_may_run(void)
{
    struct rig rig = set_up((struct hd_runtime_params){.device = "cpu,null"});
    struct hd_buffer *a = make(&rig, 4096);
    struct hd_range range = {.dims = 1, .global = {1024}};
    struct hd_device_info info;
    int one = 1;
    struct hd_arg args[] = {HD_BUFFER(a), HD_VALUE(one)};

    CHECK(hd_runtime_device_count(rig.runtime) == 2);
    CHECK_OK(hd_runtime_device_info(rig.runtime, 0, &info, &error), error);
    CHECK(strcmp(info.backend, "cpu") == 0 && !info.discards);
    CHECK(info.memory == 4096);
    CHECK_OK(hd_runtime_device_info(rig.runtime, 1, &info, &error), error);
    CHECK(strcmp(info.backend, "null") == 0 && info.discards);
    CHECK(info.memory == 0);
    CHECK_FAILS(hd_runtime_device_info(rig.runtime, 2, &info, &error),
                HD_ENODEV, error, "there are 2");

    // The second runs nothing, but has a copy from then on.
    struct hd_start first = {.devices = 1}, second = {.devices = 2};
    end(&rig, launch(&rig, "add", &first, range, args, 2));
    end(&rig, launch(&rig, "add", &second, range, args, 2));
    CHECK_OK(hd_runtime_device_info(rig.runtime, 1, &info, &error), error);
    CHECK(info.memory == 4096);
    end(&rig, launch(&rig, "add", NULL, range, args, 2));
    const struct hd_launch_params params = {.devices = 1};
    CHECK_OK(hd_launch_with(rig.runtime, &params,
                            hd_program_find(rig.program, "add"), &range, args,
                            2, &error),
             error);
    for (int i = 0; i < 1024; i++)
        CHECK(((int *)hd_buffer_host(a))[i] == 3);
    struct hd_start none = {.devices = 4};
    CHECK_FAILS(hd_launch_start(rig.runtime, &none,
                                hd_program_find(rig.program, "add"), &range,
                                args, 2, NULL, &error),
                HD_ENODEV, error, "none of the devices 0x4");
    hd_buffer_destroy(a);
    tear_down(&rig);

    struct hd_runtime_params wrong = {.device = "cpu,nul"};
    CHECK_FAILS(hd_runtime_create(&wrong, &rig.runtime, &error), HD_EINVAL,
                error, "no device 'nul'");
}

static hd_status set_word(struct hd_worker *worker, void *data,
                          struct hd_error *e)
{
    (void)worker, (void)e;
    __atomic_store_n((int *)data, 1, __ATOMIC_RELEASE);
    return HD_OK;
}

// The worker that has given it to the unit calls the function that ends it.
static void a_launch_on_a_unit_holds_no_worker(const char *devices)
{
    struct rig rig = set_up((struct hd_runtime_params){
        .workers = 1, .units = 1, .device = devices});
    struct hd_buffer *a = make(&rig, 4096);
    int *host = hd_buffer_host(a);
    struct hd_range range = {.dims = 1, .global = {1}, .local = {1}};
    struct hd_arg args[] = {HD_BUFFER(a)};
    struct hd_start on_unit = {.place = HD_ON_UNIT};

    for (int i = 0; i < 20; i++) {
        __atomic_store_n(host, 0, __ATOMIC_RELEASE);
        hd_event endless = launch(&rig, "endless", &on_unit, range, args, 1);
        while (hd_event_state(rig.pool, endless) != HD_EVENT_RUNS)
            usleep(100);
        hd_event call;
        struct hd_call set = {.function = set_word, .data = host};
        CHECK_OK(hd_call_start(rig.pool, NULL, &set, &call, &error), error);
        end(&rig, call);
        CHECK_OK(hd_event_wait(rig.pool, &endless, 1, HD_FOREVER, &error),
                 error);
        struct hd_event_info info;
        CHECK(hd_event_info(rig.pool, endless, &info));
        CHECK(info.units == 1 && info.workers == 0 && info.groups == 1);
        hd_event_release(rig.pool, endless);
    }
    hd_buffer_destroy(a);
    tear_down(&rig);
}

// Chains on two units and anywhere, in turn: each element counts how often it
// was visited.
static void launches_on_units_run_every_group_once(void)
{
    struct rig rig =
        set_up((struct hd_runtime_params){.workers = 2, .units = 2});
    const uint64_t shape[] = {60, 28, 9};
    struct hd_buffer *a[4];
    struct hd_range range = {
        .dims = 3, .global = {60, 28, 9}, .local = {4, 2, 1}};
    hd_event last[4] = {0};

    for (int i = 0; i < 4; i++)
        a[i] = make(&rig, shape[0] * shape[1] * shape[2] * sizeof(int));
    for (int round = 0; round < 100; round++)
        for (int i = 0; i < 4; i++) {
            hd_event before = last[i];
            struct hd_arg args[] = {HD_BUFFER(a[i])};
            struct hd_start start = {.after = &before,
                                     .after_count = 1,
                                     .place =
                                         round % 3 ? HD_ON_UNIT : HD_ANYWHERE,
                                     .unit = (unsigned)(round + i) % 2};
            last[i] = launch(&rig, "visit", &start, range, args, 1);
            hd_event_release(rig.pool, before);
        }
    for (int i = 0; i < 4; i++) {
        end(&rig, last[i]);
        for (uint64_t n = 0; n < shape[0] * shape[1] * shape[2]; n++)
            CHECK(((int *)hd_buffer_host(a[i]))[n] == 100);
        hd_buffer_destroy(a[i]);
    }
    tear_down(&rig);
}

// Again and again, since a unit has to go on after a fault.
static void a_fault_on_a_unit_names_its_kernel(void)
{
    struct rig rig =
        set_up((struct hd_runtime_params){.workers = 1, .units = 1});
    struct hd_buffer *a = make(&rig, 4096);
    struct hd_range range = {.dims = 1, .global = {64}};
    struct hd_arg args[] = {HD_BUFFER(a)};
    struct hd_start on_unit = {.place = HD_ON_UNIT};

    for (int i = 0; i < 3; i++) {
        hd_event stray = launch(&rig, "stray", &on_unit, range, args, 1);
        CHECK_FAILS(hd_event_wait(rig.pool, &stray, 1, HD_FOREVER, &error),
                    HD_EFAULT, error, "kernel 'stray'");
        hd_event_release(rig.pool, stray);
    }
    hd_buffer_destroy(a);
    tear_down(&rig);
}

// Two devices that compute, each with memory of its own: parts of one launch
// run on both at the same time, and what each wrote is found.
static void parts_of_a_launch_run_on_two_devices(void)
{
    enum {
        GROUPS = 50,
        SIZE = 64 * GROUPS
    };
    struct rig rig = set_up((struct hd_runtime_params){.device = "cpu,cpu"});
    struct hd_buffer *a = make(&rig, SIZE * sizeof(int));
    struct hd_range range = {.dims = 1, .global = {SIZE}, .local = {64}};
    static int expected[SIZE], result[SIZE];
    hd_event last = 0;

    for (int round = 1; round <= 40; round++) {
        hd_event parts[2], joined;
        uint32_t cut = 1 + (uint32_t)(round * 7 % (GROUPS - 1));
        struct hd_arg args[] = {HD_BUFFER(a), HD_VALUE(round)};
        for (unsigned i = 0; i < 2; i++) {
            struct hd_box box = {.first = {i ? cut : 0, 0, 0},
                                 .count = {i ? GROUPS - cut : cut, 1, 1}};
            struct hd_start start = {.after = &last,
                                     .after_count = 1,
                                     .devices =
                                         i == (unsigned)round % 2 ? 1 : 2,
                                     .box = &box};
            parts[i] = launch(&rig, "late", &start, range, args, 2);
        }
        struct hd_start both = {.after = parts, .after_count = 2};
        CHECK_OK(hd_marker_start(rig.pool, &both, &joined, &error), error);
        hd_event_release(rig.pool, parts[0]);
        hd_event_release(rig.pool, parts[1]);
        hd_event_release(rig.pool, last);
        last = joined;
        for (int i = 0; i < SIZE; i++)
            expected[i] += round;
    }
    struct hd_start start = {.after = &last, .after_count = 1};
    struct hd_extent all = {.bytes = sizeof(result)};
    hd_event got;
    CHECK_OK(hd_read_start(rig.runtime, &start, result, NULL, a, NULL, &all,
                           &got, &error),
             error);
    end(&rig, got);
    CHECK(memcmp(result, expected, sizeof(result)) == 0);
    hd_event_release(rig.pool, last);
    hd_buffer_destroy(a);
    tear_down(&rig);
}

// Copies ----------------------------------------------------------------------

enum {
    BYTES = 20000
};

// From 0 to n - 1; the same numbers in each run.
static unsigned draw(unsigned *seed, unsigned n)
{
    *seed = *seed * 1664525 + 1013904223;
    return (*seed >> 8) % n;
}

// Where row y of slice z begins. [bytes]
static uint64_t at(const struct hd_layout *l, unsigned y, unsigned z)
{
    return l->offset + y * l->row_pitch + z * l->slice_pitch;
}

// Pitches of 0 follow from the extent, as the library says.
static void fill_in(struct hd_layout *l, const struct hd_extent *e)
{
    if (l->row_pitch == 0)
        l->row_pitch = e->bytes;
    if (l->slice_pitch == 0)
        l->slice_pitch = l->row_pitch * e->rows;
}

// What copies and overlaps are, byte by byte.
static bool expect(unsigned char *to, struct hd_layout t,
                   const unsigned char *from, struct hd_layout f,
                   const struct hd_extent *e)
{
    unsigned char read[2 * BYTES] = {0};
    bool same = to == from;

    fill_in(&t, e);
    fill_in(&f, e);
    for (unsigned z = 0; z < e->slices; z++)
        for (unsigned y = 0; y < e->rows; y++)
            memset(read + at(&f, y, z), 1, e->bytes);
    for (unsigned z = 0; z < e->slices && same; z++)
        for (unsigned y = 0; y < e->rows; y++)
            if (memchr(read + at(&t, y, z), 1, e->bytes))
                return false;
    for (unsigned z = 0; z < e->slices; z++)
        for (unsigned y = 0; y < e->rows; y++)
            memcpy(to + at(&t, y, z), from + at(&f, y, z), e->bytes);
    return true;
}

// Random boxes of all three kinds against the plain loops of expect(); after
// each, both buffers are compared whole, so that a byte outside is found as
// well.
static void rectangles_are_copied_to_the_byte(void)
{
    struct rig rig = set_up((struct hd_runtime_params){0});
    struct hd_buffer *buffers[2] = {make(&rig, BYTES), make(&rig, BYTES)};
    static unsigned char expected[2][BYTES], host[BYTES];
    unsigned seed = 1, refused = 0, same = 0;

    for (int i = 0; i < BYTES; i++) {
        expected[0][i] = (unsigned char)draw(&seed, 256);
        expected[1][i] = (unsigned char)draw(&seed, 256);
    }
    for (int i = 0; i < 2; i++)
        CHECK_OK(hd_buffer_write(buffers[i], 0, expected[i], BYTES, &error),
                 error);
    for (int round = 0; round < 3000; round++) {
        struct hd_extent e = {1 + draw(&seed, 20), 1 + draw(&seed, 6),
                              1 + draw(&seed, 5)};
        struct hd_layout t = {.offset = draw(&seed, 2000)};
        struct hd_layout f = {.offset = draw(&seed, 2000)};
        if (draw(&seed, 3) > 0) {
            t.row_pitch = e.bytes + draw(&seed, 40);
            if (draw(&seed, 2))
                t.slice_pitch =
                    t.row_pitch * (e.rows + draw(&seed, 3)) + draw(&seed, 40);
            f = t;
            f.offset = draw(&seed, 2000);
        }
        unsigned x = draw(&seed, 2), y = draw(&seed, 2), kind = draw(&seed, 3);
        if (kind == 0) { // buffer to buffer
            bool disjoint = expect(expected[x], t, expected[y], f, &e);
            bool pitches = t.row_pitch == f.row_pitch;
            hd_event event;
            hd_status status =
                hd_copy_start(rig.runtime, NULL, buffers[x], &t, buffers[y], &f,
                              &e, &event, &error);
            CHECK(pitches && (status == HD_OK) == disjoint);
            refused += !disjoint;
            same += disjoint && x == y;
            if (status == HD_OK)
                end(&rig, event);
        } else if (kind == 1) {
            for (int i = 0; i < BYTES; i++)
                host[i] = (unsigned char)draw(&seed, 256);
            hd_event event;
            CHECK_OK(hd_write_start(rig.runtime, NULL, buffers[x], &t, host, &f,
                                    &e, &event, &error),
                     error);
            end(&rig, event);
            CHECK(expect(expected[x], t, host, f, &e));
        } else {
            static unsigned char wanted[BYTES];
            hd_event event;
            memcpy(wanted, host, BYTES);
            CHECK_OK(hd_read_start(rig.runtime, NULL, host, &t, buffers[x], &f,
                                   &e, &event, &error),
                     error);
            end(&rig, event);
            CHECK(expect(wanted, t, expected[x], f, &e));
            CHECK(memcmp(wanted, host, BYTES) == 0);
        }
        for (int i = 0; i < 2; i++)
            CHECK(memcmp(hd_buffer_host(buffers[i]), expected[i], BYTES) == 0);
    }
    CHECK(refused > 20 && same > 20);
    hd_buffer_destroy(buffers[0]);
    hd_buffer_destroy(buffers[1]);
    tear_down(&rig);
}

// Every size up to 128, powers of two or not, at any offset; bytes around stay.
static void fills_repeat_their_pattern(void)
{
    enum {
        SIZE = 300000
    };
    struct rig rig = set_up((struct hd_runtime_params){0});
    struct hd_buffer *a = make(&rig, SIZE);
    const unsigned char *host = hd_buffer_host(a);
    unsigned char pattern[128];
    unsigned seed = 7;

    for (unsigned size = 1; size <= 128; size++) {
        uint64_t offset = draw(&seed, 100), count = 1 + draw(&seed, 2000);
        hd_event event;
        for (unsigned i = 0; i < size; i++)
            pattern[i] = (unsigned char)draw(&seed, 256);
        memset(hd_buffer_host(a), 0x55, SIZE);
        CHECK_OK(hd_fill_start(rig.runtime, NULL, a, offset, count * size,
                               pattern, size, &event, &error),
                 error);
        end(&rig, event);
        for (uint64_t i = 0; i < SIZE; i++)
            CHECK(host[i] == (i < offset || i >= offset + count * size
                                  ? 0x55
                                  : pattern[(i - offset) % size]));
    }
    hd_buffer_destroy(a);
    tear_down(&rig);
}

int main(void)
{
    launches_come_after_what_they_should();
    buffers_stay_until_the_end();
    a_box_of_groups_keeps_its_ids();
    mistakes_are_told_at_the_start();
    a_launch_that_faults_fails_what_follows();
    if (!HOLDS_SIGNALS) {
        a_launch_that_runs_is_cancelled(0);
        a_launch_that_runs_is_cancelled(1);
    }
    a_launch_on_a_unit_holds_no_worker("cpu");
    a_launch_on_a_unit_holds_no_worker("cpu,null");
    launches_on_units_run_every_group_once();
    a_fault_on_a_unit_names_its_kernel();
    parts_share_the_memory_of_their_parent(false);
    parts_share_the_memory_of_their_parent(true);
    memory_of_the_caller_is_used_in_place();
    launches_say_on_which_devices_they_may_run();
    parts_of_a_launch_run_on_two_devices();
    rectangles_are_copied_to_the_byte();
    fills_repeat_their_pattern();
    return 0;
}
