#include <pthread.h>
#include <sched.h>

#include "tests/launch/rig.h"

enum {
    WORKERS = 2
};

static const char source[] =
    "kernel void visit(global uint *visits, uint pitch, uint slice)\n"
    "{\n"
    "    size_t i = get_global_id(0) - get_global_offset(0);\n"
    "    i += (get_global_id(1) - get_global_offset(1)) * pitch;\n"
    "    i += (get_global_id(2) - get_global_offset(2)) * slice;\n"
    "    atomic_inc(&visits[i]);\n"
    "}\n"
    "kernel void groups(global int2 *seen)\n"
    "{\n"
    "    seen[get_global_id(0)] =\n"
    "        (int2)(get_group_id(0), get_local_size(0));\n"
    "}\n"
    "kernel void through(global uint *order, global uint *clock)\n"
    "{\n"
    "    order[2 * get_global_id(0)] = atomic_inc(clock);\n"
    "    order[2 * get_global_id(0) + 1] = atomic_inc(clock);\n"
    "}\n"
    "kernel void across(global uint *order, global uint *clock)\n"
    "{\n"
    "    order[2 * get_global_id(0)] = atomic_inc(clock);\n"
    "    barrier(CLK_GLOBAL_MEM_FENCE);\n"
    "    order[2 * get_global_id(0) + 1] = atomic_inc(clock);\n"
    "}\n"
    "kernel __attribute__((reqd_work_group_size(8, 2, 1)))\n"
    "void fixed(global uint *visits)\n"
    "{\n"
    "    visits[get_global_id(0)] = 1;\n"
    "}\n"
    "kernel __attribute__((reqd_work_group_size(8, 2, 1)))\n"
    "void fixed_visit(global uint *visits, uint pitch, uint slice)\n"
    "{\n"
    "    local uint tile[16];\n"
    "    uint at = get_local_id(0) + 8 * get_local_id(1);\n"
    "    uint i = get_global_id(0) + get_global_id(1) * pitch;\n"
    "    tile[at] = i;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    visits[tile[at]]++;\n"
    "}\n"
    "kernel __attribute__((work_group_size_hint(65536, 65536, 1)))\n"
    "void hinted(global uint *visits)\n"
    "{\n"
    "    visits[get_global_id(0)] = 1;\n"
    "}\n"
    "kernel void rows(global uint *sizes)\n"
    "{\n"
    "    sizes[get_global_id(0) * 512 + get_global_id(1)] =\n"
    "        get_local_size(1);\n"
    "}\n"
    "kernel void share(global int *out, local int *tile, int scale)\n"
    "{\n"
    "    tile[get_local_id(0)] = (int)get_local_id(0) * scale;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    out[get_global_id(0)] =\n"
    "        tile[get_local_size(0) - 1 - get_local_id(0)];\n"
    "}\n"
    // begun, may go on, done, done when the other launch ran
    "kernel void patient(volatile global uint *state)\n"
    "{\n"
    "    atomic_inc(&state[0]);\n"
    "    while (state[1] == 0)\n"
    "        ;\n"
    "    for (uint i = 0; i < 300; i++)\n"
    "        atomic_or(&state[2], 0);\n"
    "    atomic_inc(&state[2]);\n"
    "}\n"
    "kernel void urgent(volatile global uint *state)\n"
    "{\n"
    "    state[3] = state[2];\n"
    "}\n";

static struct rig set_up(bool caller_only)
{
    return rig_set_up(
        (struct hd_pool_params){.workers = caller_only ? 1 : WORKERS,
                                .caller_only = caller_only},
        (struct hdi_device_params){0}, source);
}

static struct hd_buffer *buffer_of(struct rig *rig, uint64_t size)
{
    struct hd_buffer *buffer;
    CHECK_OK(hdi_buffer_create(rig->launcher, size, &buffer, &error), error);
    CHECK(hd_buffer_host(buffer));
    return buffer;
}

static hd_status launch(struct rig *rig, const char *name,
                        const struct hd_range *range, const struct hd_arg *args,
                        unsigned count)
{
    const struct hd_kernel *kernel = hd_program_find(rig->program, name);
    CHECK(kernel);
    static atomic_uint launches;
    return hdi_launch(
        rig->launcher, &(struct hdi_request){kernel, range, args, count}, NULL,
        (enum hd_priority)(atomic_fetch_add(&launches, 1) % 3), &error);
}

static void every_item_runs_once(struct rig *rig, const char *kernel,
                                 const struct hd_range *range)
{
    uint64_t items = range->global[0];
    uint32_t pitch = (uint32_t)range->global[0], slice = 0;

    if (range->dims > 1)
        items *= range->global[1];
    slice = (uint32_t)items;
    if (range->dims > 2)
        items *= range->global[2];

    struct hd_buffer *visits = buffer_of(rig, 4 * items);
    const struct hd_arg args[] = {HD_BUFFER(visits), HD_VALUE(pitch),
                                  HD_VALUE(slice)};
    CHECK_OK(launch(rig, kernel, range, args, 3), error);
    const uint32_t *seen = hd_buffer_host(visits);
    for (uint64_t i = 0; i < items; i++)
        CHECK(seen[i] == 1);
    hd_buffer_destroy(visits);
}

static void every_item_of_every_range_runs_once(struct rig *rig)
{
    static const struct hd_range ranges[] = {
        {.dims = 1, .global = {1}},
        {.dims = 1, .global = {100003}},
        {.dims = 1, .global = {1000}, .local = {64}},
        {.dims = 1, .global = {1000}, .local = {1}},
        {.dims = 1, .global = {5}, .local = {64}},
        {.dims = 2, .global = {333, 77}, .local = {16, 16}},
        {.dims = 2, .global = {640, 480}},
        {.dims = 3, .global = {33, 17, 9}, .local = {4, 4, 4}},
        {.dims = 3, .global = {7, 300, 3}},
        {.dims = 3,
         .global = {40, 30, 20},
         .local = {8, 8, 1},
         .offset = {1000, 1ull << 40, 7}},
    };

    // Twice: the second time with a measured cutoff.
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
            every_item_runs_once(rig, "visit", &ranges[i]);
}

// The last groups may be smaller than the kernel requires of all others.
static void a_required_size_need_not_divide_the_range(struct rig *rig)
{
    static const struct hd_range ranges[] = {{.dims = 2, .global = {16, 4}},
                                             {.dims = 2, .global = {17, 5}},
                                             {.dims = 2, .global = {3, 1}},
                                             {.dims = 2, .global = {801, 33}},
                                             {.dims = 2, .global = {8, 301}}};

    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
        every_item_runs_once(rig, "fixed_visit", &ranges[i]);
}

static void an_empty_range_does_nothing(struct rig *rig)
{
    struct hd_buffer *visits = buffer_of(rig, 4);
    const uint32_t one = 1;
    const struct hd_arg args[] = {HD_BUFFER(visits), HD_VALUE(one),
                                  HD_VALUE(one)};
    const struct hd_range range = {.dims = 2, .global = {100, 0}};

    CHECK_OK(launch(rig, "visit", &range, args, 3), error);
    CHECK(*(uint32_t *)hd_buffer_host(visits) == 0);
    hd_buffer_destroy(visits);
}

// The worked case: 20 work-items, two cores, no size given.
static void twenty_items_are_one_group_per_core(struct rig *rig)
{
    struct hd_buffer *seen = buffer_of(rig, 20 * 8);
    const struct hd_arg args[] = {HD_BUFFER(seen)};
    const struct hd_range range = {.dims = 1, .global = {20}};

    CHECK_OK(launch(rig, "groups", &range, args, 1), error);
    const int(*group_and_size)[2] = hd_buffer_host(seen);
    for (int i = 0; i < 20; i++) {
        CHECK(group_and_size[i][0] == i / 10);
        CHECK(group_and_size[i][1] == 10);
    }
    hd_buffer_destroy(seen);
}

// The worked cases of order: without a barrier each work-item runs from start
// to end before the next; with one, all get there before any goes on.
static void work_items_run_in_order(struct rig *rig)
{
    struct hd_buffer *order = buffer_of(rig, 20 * 4), *time = buffer_of(rig, 4);
    const struct hd_arg args[] = {HD_BUFFER(order), HD_BUFFER(time)};
    const struct hd_range range = {.dims = 1, .global = {10}, .local = {10}};
    const uint32_t *seen = hd_buffer_host(order);

    CHECK_OK(launch(rig, "through", &range, args, 2), error);
    for (uint32_t i = 0; i < 20; i++)
        CHECK(seen[i] == i);

    *(uint32_t *)hd_buffer_host(time) = 0;
    CHECK_OK(launch(rig, "across", &range, args, 2), error);
    for (uint32_t i = 0; i < 10; i++)
        CHECK(seen[2 * i] == i && seen[2 * i + 1] == 10 + i);
    hd_buffer_destroy(order);
    hd_buffer_destroy(time);
}

static void local_arguments_have_their_own_memory(struct rig *rig)
{
    struct hd_buffer *out = buffer_of(rig, 4 * 1000);
    const int scale = 5;
    const struct hd_arg args[] = {HD_BUFFER(out), HD_LOCAL(100 * sizeof(int)),
                                  HD_VALUE(scale)};
    const struct hd_range range = {.dims = 1, .global = {1000}, .local = {100}};

    CHECK_OK(launch(rig, "share", &range, args, 3), error);
    const int *seen = hd_buffer_host(out);
    for (int i = 0; i < 1000; i++)
        CHECK(seen[i] == 5 * (99 - i % 100));
    hd_buffer_destroy(out);
}

static void what_does_not_fit_is_refused(struct rig *rig)
{
    struct rig other = set_up(true);
    struct hd_buffer *mine = buffer_of(rig, 4096);
    struct hd_buffer *stranger = buffer_of(&other, 4096);
    const uint32_t pitch = 1;
    const uint64_t wide = 1;
    const struct hd_range small = {.dims = 1, .global = {16}};
    const struct hd_arg good[] = {HD_BUFFER(mine), HD_VALUE(pitch),
                                  HD_VALUE(pitch)};
    const struct hd_arg too_wide[] = {HD_BUFFER(mine), HD_VALUE(wide),
                                      HD_VALUE(pitch)};
    const struct hd_arg swapped[] = {HD_VALUE(pitch), HD_BUFFER(mine),
                                     HD_VALUE(pitch)};
    const struct hd_arg foreign[] = {HD_BUFFER(stranger), HD_VALUE(pitch),
                                     HD_VALUE(pitch)};
    const struct hd_arg past[] = {
        {.is = HD_IS_BUFFER, .buffer = mine, .offset = 4096},
        HD_VALUE(pitch),
        HD_VALUE(pitch)};
    const struct hd_arg no_value[] = {
        HD_BUFFER(mine), {.is = HD_IS_VALUE, .size = 4}, HD_VALUE(pitch)};
    const int scale = 1;
    const struct hd_arg no_local[] = {HD_BUFFER(mine), HD_LOCAL(0),
                                      HD_VALUE(scale)};
    const struct hd_arg huge_local[] = {HD_BUFFER(mine), HD_LOCAL(1ull << 40),
                                        HD_VALUE(scale)};
    const struct hd_arg endless_local[] = {
        HD_BUFFER(mine), HD_LOCAL(UINT64_MAX), HD_VALUE(scale)};

    CHECK_FAILS(hdi_launch(rig->launcher,
                           &(struct hdi_request){NULL, &small, good, 3}, NULL,
                           HD_PRIORITY_NORMAL, &error),
                HD_EINVAL, error, "a name that is not in the program");
    CHECK_FAILS(launch(rig, "visit", &small, good, 2), HD_EINVAL, error,
                "takes 3 arguments, not 2");
    CHECK_FAILS(launch(rig, "visit", &small, too_wide, 3), HD_EINVAL, error,
                "argument 1, 'pitch' of type uint, has 4 bytes, not 8");
    CHECK_FAILS(launch(rig, "visit", &small, swapped, 3), HD_EINVAL, error,
                "argument 0, 'visits' of type uint*, takes a buffer, not a "
                "value");
    CHECK_FAILS(launch(rig, "visit", &small, no_value, 3), HD_EINVAL, error,
                "argument 1, 'pitch' of type uint, is given the null pointer");
    CHECK_FAILS(launch(rig, "visit", &small, foreign, 3), HD_EINVAL, error,
                "another runtime");
    CHECK_FAILS(launch(rig, "visit", &small, past, 3), HD_EINVAL, error,
                "starts at byte 4096");
    CHECK_FAILS(launch(rig, "share", &small, no_local, 3), HD_EINVAL, error,
                "0 bytes of local memory");
    CHECK_FAILS(launch(rig, "share", &small, huge_local, 3), HD_ELIMIT, error,
                "bytes of local memory");
    CHECK_FAILS(launch(rig, "share", &small, endless_local, 3), HD_ELIMIT,
                error, "bytes of local memory");

    const struct hd_range no_dims = {.dims = 0}, four_dims = {.dims = 4};
    const struct hd_range half = {.dims = 2, .global = {8, 8}, .local = {4, 0}};
    const struct hd_range crowd = {
        .dims = 2, .global = {1 << 20, 1 << 20}, .local = {1 << 20, 1 << 20}};
    const struct hd_range groups = {
        .dims = 1, .global = {1ull << 40}, .local = {1}};
    const struct hd_range ids = {
        .dims = 1, .global = {16}, .offset = {UINT64_MAX - 3}};
    CHECK_FAILS(launch(rig, "visit", &no_dims, good, 3), HD_EINVAL, error,
                "1 to 3 dimensions, not 0");
    CHECK_FAILS(launch(rig, "visit", &four_dims, good, 3), HD_EINVAL, error,
                "1 to 3 dimensions, not 4");
    CHECK_FAILS(launch(rig, "visit", &half, good, 3), HD_EINVAL, error,
                "for all dimensions or for none");
    CHECK_FAILS(launch(rig, "visit", &crowd, good, 3), HD_ELIMIT, error,
                "1048576 x 1048576 x 1");
    CHECK_FAILS(launch(rig, "visit", &groups, good, 3), HD_ELIMIT, error,
                "2^32 work-groups");
    CHECK_FAILS(launch(rig, "visit", &ids, good, 3), HD_ELIMIT, error,
                "exceed 64 bits");
    const struct hd_range across = {
        .dims = 1, .global = {16}, .local = {6}, .offset = {(1ull << 31) - 8}};
    const struct hd_range aligned = {
        .dims = 1, .global = {16}, .local = {4}, .offset = {(1ull << 31) - 8}};
    CHECK_FAILS(launch(rig, "visit", &across, good, 3), HD_ELIMIT, error,
                "a work-group of 6 in dimension 0 has global ids on both sides "
                "of 2147483648");
    CHECK_OK(launch(rig, "visit", &aligned, good, 3), error);

    const struct hd_range wrong = {
        .dims = 2, .global = {8, 8}, .local = {8, 8}};
    const struct hd_arg one[] = {HD_BUFFER(mine)};
    CHECK_FAILS(launch(rig, "fixed", &wrong, one, 1), HD_EINVAL, error,
                "requires work-groups of 8 x 2 x 1, not 8 x 8 x 1");
    const struct hd_range open = {.dims = 2, .global = {16, 8}};
    CHECK_OK(launch(rig, "fixed", &open, one, 1), error);
    CHECK_OK(launch(rig, "hinted", &small, one, 1), error);

    hd_buffer_destroy(mine);
    hd_buffer_destroy(stranger);
    rig_tear_down(&other);
}

// Neighbours in y touch what lies side by side, so groups are long along y.
static void rows_may_lie_along_y(struct rig *rig)
{
    struct hd_buffer *sizes = buffer_of(rig, 4 * 64 * 512);
    const struct hd_arg args[] = {HD_BUFFER(sizes)};
    const struct hd_range range = {.dims = 2, .global = {64, 512}};
    const uint32_t *seen = hd_buffer_host(sizes);

    CHECK_OK(launch(rig, "rows", &range, args, 1), error);
    for (unsigned i = 0; i < 64 * 512; i++)
        CHECK(seen[i] == 256);
    hd_buffer_destroy(sizes);
}

static void a_cancelled_launch_runs_nothing(struct rig *rig)
{
    struct hd_buffer *visits = buffer_of(rig, 4 * 1000);
    const uint32_t pitch = 1;
    const struct hd_arg args[] = {HD_BUFFER(visits), HD_VALUE(pitch),
                                  HD_VALUE(pitch)};
    const struct hd_range range = {.dims = 1, .global = {1000}, .local = {1}};
    const atomic_bool cancelled = true;

    CHECK_FAILS(
        hdi_launch(rig->launcher,
                   &(struct hdi_request){hd_program_find(rig->program, "visit"),
                                         &range, args, 3},
                   &cancelled, HD_PRIORITY_NORMAL, &error),
        HD_ECANCELED, error, "kernel 'visit'");
    for (int i = 0; i < 1000; i++)
        CHECK(((uint32_t *)hd_buffer_host(visits))[i] == 0);
    hd_buffer_destroy(visits);
}

static void *launch_often(void *data)
{
    struct rig *rig = data;
    const struct hd_range range = {
        .dims = 2, .global = {321, 123}, .local = {16, 4}};

    for (int i = 0; i < 30; i++)
        every_item_runs_once(rig, "visit", &range);
    return NULL;
}

static void launches_from_many_threads_do_not_mix(struct rig *rig)
{
    pthread_t threads[4];

    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, launch_often, rig) == 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

struct rival {
    struct rig *rig;
    const char *kernel;
    enum hd_priority priority;
    uint64_t groups;
    struct hd_buffer *state;
    pthread_t thread;
};

static void *launch_rival(void *data)
{
    const struct rival *rival = data;
    const struct hd_range range = {
        .dims = 1, .global = {rival->groups}, .local = {1}};
    const struct hd_arg args[] = {HD_BUFFER(rival->state)};
    struct hd_error mine;

    CHECK_OK(hdi_launch(rival->rig->launcher,
                        &(struct hdi_request){
                            hd_program_find(rival->rig->program, rival->kernel),
                            &range, args, 1},
                        NULL, rival->priority, &mine),
             mine);
    return NULL;
}

// How many groups of a long launch of low priority, of a kernel never seen
// before, are done when a short urgent one runs that came when every worker was
// at its first leaf.
static uint32_t overtaken_after(struct rig *rig, uint32_t groups)
{
    struct hd_buffer *state = buffer_of(rig, 16);
    _Atomic uint32_t *words = hd_buffer_host(state);
    struct rival low = {rig, "patient", HD_PRIORITY_LOW, groups, state, 0};
    struct rival high = {rig, "urgent", HD_PRIORITY_HIGH, 1, state, 0};
    const struct hd_kernel *kernel = hd_program_find(rig->program, low.kernel);

    atomic_store(&kernel->learned->item_time, 0);
    for (int i = 0; i < 4; i++)
        atomic_store(&words[i], 0);
    CHECK(pthread_create(&low.thread, NULL, launch_rival, &low) == 0);
    while (atomic_load(&words[0]) < WORKERS)
        sched_yield();
    CHECK(pthread_create(&high.thread, NULL, launch_rival, &high) == 0);
    while (!hdi_broker_is_asked(rig->launcher->broker))
        sched_yield();
    // The first leaves are one group each: lanes of a vector all count.
    CHECK(atomic_load(&words[0]) == WORKERS);
    atomic_store(&words[1], 1);
    pthread_join(high.thread, NULL);
    pthread_join(low.thread, NULL);
    CHECK(atomic_load(&words[2]) == groups);
    uint32_t done = atomic_load(&words[3]);
    hd_buffer_destroy(state);
    return done;
}

// A leaf as large as a worker's usual share would always run to its end first.
// Here each worker still runs the smaller boxes of its first division, some
// hundred groups in all where a vector holds 64 of them: far less than a share.
// A system that is busy may keep the urgent launch away for a while, but not
// every time.
static void an_urgent_launch_overtakes_a_new_kernel(struct rig *rig)
{
    const uint32_t groups = 16384, share = groups / (8 * WORKERS);
    unsigned attempts = 0;

    while (overtaken_after(rig, groups) >= share)
        CHECK(++attempts < 10);
}

static void buffers_are_checked_and_counted(struct rig *rig)
{
    struct hd_buffer *buffer = buffer_of(rig, 100);
    char text[100] = "weft";

    CHECK(hd_buffer_size(buffer) == 100);
    CHECK(atomic_load(&rig->launcher->memory) == 100);
    CHECK(atomic_load(&rig->launcher->peak) >= 100);
    CHECK_OK(hd_buffer_write(buffer, 90, text, 10, &error), error);
    memset(text, 1, sizeof(text));
    CHECK_OK(hd_buffer_read(buffer, 90, text, 10, &error), error);
    CHECK(strcmp(text, "weft") == 0);
    CHECK_FAILS(hd_buffer_write(buffer, 91, text, 10, &error), HD_EINVAL, error,
                "10 bytes from byte 91 on are outside a buffer of 100 bytes");
    CHECK_FAILS(hd_buffer_read(buffer, UINT64_MAX, text, 2, &error), HD_EINVAL,
                error, "outside");
    CHECK_FAILS(hdi_buffer_create(rig->launcher, 0, &buffer, &error), HD_EINVAL,
                error, "0 bytes");
    CHECK_FAILS(hdi_buffer_create(rig->launcher, 1ull << 60, &buffer, &error),
                HD_ENOMEM, error, "no memory for a buffer");
    hd_buffer_destroy(buffer);
    CHECK(atomic_load(&rig->launcher->memory) == 0);
}

static void time_is_counted(struct rig *rig)
{
    uint64_t groups = 0, busy = 0;

    for (unsigned i = 0; i < hd_pool_workers(rig->pool); i++) {
        struct hd_worker_counters counters;
        hd_pool_counters(rig->pool, i, &counters);
        groups += counters.groups;
        busy += counters.busy;
    }
    CHECK(groups > 1000 && busy > 0);
}

// Alone, a launch divides itself and asks the broker for nothing; beside
// another it goes to the broker.
static void a_launch_alone_is_not_brokered(struct rig *rig)
{
    static const struct hd_range range = {
        .dims = 1, .global = {100000}, .local = {10}};
    struct hdi_broker *broker = rig->launcher->broker;
    struct hdi_bid another = {.bidder = NULL};
    uint64_t before = hdi_broker_given(broker);

    for (int i = 0; i < 100; i++)
        every_item_runs_once(rig, "visit", &range);
    CHECK(hdi_broker_given(broker) == before);
    hdi_broker_enter(broker);
    every_item_runs_once(rig, "visit", &range);
    hdi_broker_leave(broker, &another);
    CHECK(hdi_broker_given(broker) > before);
    before = hdi_broker_given(broker);
    every_item_runs_once(rig, "visit", &range);
    CHECK(hdi_broker_given(broker) == before);
}

static void part(struct rig *rig, const char *options, const char *text)
{
    static const char body[] =
        "kernel void k(global int *x)\n"
        "{\n"
        "    int i = get_global_id(0);\n"
        "    x[i] = i;\n"
        "    if (APART)\n"
        "        sub_group_barrier(CLK_GLOBAL_MEM_FENCE);\n" // line 6
        "    else\n"
        "        REST;\n" // line 8
        "    x[i] += x[i ^ 1];\n"
        "}\n";
    struct hdi_program_context context = {.device = rig->device};
    struct hd_program_params params = {
        .path = "apart.cl", .source = body, .options = options};
    const struct hd_range range = {1, {32}, {32}, {0}};
    struct hd_buffer *buffer = buffer_of(rig, 256);
    const struct hd_arg args[] = {HD_BUFFER(buffer)};
    struct hd_program *program;

    CHECK_OK(hdi_program_create(&context, &params, &program, &error), error);
    const struct hd_kernel *kernel = hd_program_find(program, "k");
    CHECK(kernel->info.form == HD_FORM_THREADS);
    CHECK_FAILS(hdi_launch(rig->launcher,
                           &(struct hdi_request){kernel, &range, args, 1}, NULL,
                           HD_PRIORITY_NORMAL, &error),
                HD_EFAULT, error, text);
    hd_program_destroy(program);
    hd_buffer_destroy(buffer);
}

static void sub_groups_that_part_are_an_error(struct rig *rig)
{
    part(rig,
         "-cl-std=CL3.0 -D APART=i%16<5 "
         "-D REST=sub_group_barrier(CLK_LOCAL_MEM_FENCE)",
         "barrier not reached by all: work-item (5, 0, 0) waits "
         "at the barrier of line 8, work-item (0, 0, 0) waits at "
         "that of line 6");
    part(rig,
         "-cl-std=CL3.0 -D APART=i%16<5 "
         "-D REST=work_group_barrier(CLK_LOCAL_MEM_FENCE)",
         "waits at that of line 6");
    part(rig,
         "-cl-std=CL3.0 -D APART=i%16<5 "
         "-D REST=x[i]+=sub_group_reduce_add(i)",
         "waits at that of line 6");
    part(rig,
         "-cl-std=CL3.0 -heddle-debug -D APART=i%16<5 "
         "-D REST=return",
         "(0, 0, 0) waits at the barrier of line 6, work-item "
         "(5, 0, 0) has ended");
}

int main(void)
{
    for (int caller_only = 0; caller_only < 2; caller_only++) {
        struct rig rig = set_up(caller_only);
        buffers_are_checked_and_counted(&rig);
        every_item_of_every_range_runs_once(&rig);
        a_required_size_need_not_divide_the_range(&rig);
        an_empty_range_does_nothing(&rig);
        if (rig.launcher->broker)
            a_launch_alone_is_not_brokered(&rig);
        if (!caller_only) {
            an_urgent_launch_overtakes_a_new_kernel(&rig);
            twenty_items_are_one_group_per_core(&rig);
        }
        work_items_run_in_order(&rig);
        sub_groups_that_part_are_an_error(&rig);
        local_arguments_have_their_own_memory(&rig);
        what_does_not_fit_is_refused(&rig);
        rows_may_lie_along_y(&rig);
        a_cancelled_launch_runs_nothing(&rig);
        launches_from_many_threads_do_not_mix(&rig);
        time_is_counted(&rig);
        rig_tear_down(&rig);
    }
    return 0;
}
