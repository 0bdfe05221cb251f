// Kernels whose work-groups wait for each other: hd_grid_barrier().
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "tests/launch/rig.h"

enum {
    WORKERS = 3,
    ITEMS = 1000,
    ROUNDS = 7,
    TIMES = 40
};

static const char source[] =
    "void turn(global int *x, int from)\n"
    "{\n"
    "    int mine = x[from];\n"
    "    hd_grid_barrier();\n"
    "    x[get_global_id(0)] = mine;\n"
    "    hd_grid_barrier();\n"
    "}\n"
    "kernel void shift(global int *x, int rounds)\n"
    "{\n"
    "    int next = (get_global_id(0) + 1) % get_global_size(0);\n"
    "    for (int i = 0; i < rounds; i++)\n"
    "        turn(x, next);\n"
    "}\n"
    // Local memory is the group's, before and after.
    "kernel void sums(global int *x, global int *part, local int *given)\n"
    "{\n"
    "    local int tile[64], sum;\n"
    "    size_t l = get_local_id(0) + get_local_id(1) * get_local_size(0);\n"
    "    size_t n = get_local_size(0) * get_local_size(1);\n"
    "    size_t at = get_global_id(0) + get_global_id(1) * "
    "get_global_size(0);\n"
    "    size_t group = get_group_id(0) + get_group_id(1) * "
    "get_num_groups(0);\n"
    "    size_t groups = get_num_groups(0) * get_num_groups(1);\n"
    "    tile[l] = x[at];\n"
    "    given[l] = (int)at;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    if (l == 0) {\n"
    "        sum = 0;\n"
    "        for (size_t i = 0; i < n; i++)\n"
    "            sum += tile[i];\n"
    "        part[group] = sum;\n"
    "    }\n"
    "    hd_grid_barrier();\n"
    "    int all = 0;\n"
    "    for (size_t i = 0; i < groups; i++)\n"
    "        all += part[i];\n"
    "    bool kept = given[l] == (int)at && sum == part[group];\n"
    "    x[at] = kept ? all : -1;\n"
    "}\n"
    "kernel void lanes(global int *x)\n"
    "{\n"
    "    int i = get_global_id(0);\n"
    "    int before = sub_group_reduce_add(x[i]);\n"
    "    hd_grid_barrier();\n"
    "    int after = sub_group_reduce_add(x[i]);\n"
    "    hd_grid_barrier();\n"
    "    x[i] = before == after ? before : -1;\n"
    "}\n"
    "kernel void plain(global int *x)\n"
    "{\n"
    "    x[get_global_id(0)]++;\n"
    "}\n"
    "kernel void group_stays_away(global int *x)\n"
    "{\n"
    "    if (get_group_id(0) != 2)\n"
    "        hd_grid_barrier();\n" // line 54
    "}\n"
    "kernel void item_stays_away(global int *x)\n"
    "{\n"
    "    if (get_global_id(0) == 5)\n"
    "        return;\n"
    "    hd_grid_barrier();\n" // line 60
    "}\n"
    "kernel void two_places(global int *x)\n"
    "{\n"
    "    if (get_group_id(0) == 0)\n"
    "        hd_grid_barrier();\n" // line 65
    "    else\n"
    "        hd_grid_barrier();\n" // line 67
    "    x[0] = 1;\n"
    "}\n"
    "kernel void endless(global int *x)\n"
    "{\n"
    "    for (;;) {\n"
    "        for (int i = 0; i < 100; i++)\n"
    "            ((volatile global int *)x)[get_global_id(0)]++;\n"
    "        hd_grid_barrier();\n"
    "    }\n"
    "}\n"
    "kernel void stray(global int *x)\n"
    "{\n"
    "    hd_grid_barrier();\n"
    "    if (get_global_id(0) == 130)\n"
    "        x[1 << 17] = 1;\n"
    "    hd_grid_barrier();\n"
    "}\n"
    "kernel void one_of_two(global int *x)\n"
    "{\n"
    "    hd_grid_barrier();\n"
    "    if (get_group_id(0) == 0)\n"
    "        hd_grid_barrier();\n" // line 89
    "}\n"
    "kernel void relay(global int *x, int rounds)\n"
    "{\n"
    "    int next = (get_global_id(0) + 1) % get_global_size(0);\n"
    "    for (int i = 0; i < rounds; i++)\n"
    "        turn(x, next);\n"
    "}\n"
    "kernel void large(global int *x, local int *given)\n"
    "{\n"
    "    given[0] = 0;\n"
    "    hd_grid_barrier();\n"
    "}\n";

static hd_status build(struct rig *rig, const char *text, const char *options,
                       struct hd_program **program)
{
    const struct hd_program_params params = {
        .path = "grid.cl", .source = text, .options = options};
    const struct hdi_program_context context = {.device = rig->device};
    return hdi_program_create(&context, &params, program, &error);
}

static struct rig set_up(unsigned units)
{
    return rig_set_up((struct hd_pool_params){.workers = WORKERS},
                      (struct hdi_device_params){.units = units}, NULL);
}

static const struct hd_kernel *find(const struct hd_program *program,
                                    const char *name)
{
    const struct hd_kernel *kernel = hd_program_find(program, name);
    CHECK(kernel);
    return kernel;
}

static struct hd_range line(uint64_t items, uint32_t local)
{
    return (struct hd_range){1, {items}, {local}, {0}};
}

// ITEMS ints from 0 up.
static struct hd_buffer *numbers(const struct rig *rig)
{
    struct hd_buffer *buffer;

    CHECK_OK(hdi_buffer_create(rig->launcher, ITEMS * 4, &buffer, &error),
             error);
    for (int i = 0; i < ITEMS; i++)
        ((int *)hd_buffer_host(buffer))[i] = i;
    return buffer;
}

// Running ---------------------------------------------------------------------

static void shift(const struct rig *rig, const struct hd_program *program,
                  uint32_t local, struct hd_error *failure)
{
    struct hd_buffer *buffer = numbers(rig);
    const int rounds = ROUNDS, *x = hd_buffer_host(buffer);
    const struct hd_arg args[] = {HD_BUFFER(buffer), HD_VALUE(rounds)};
    const struct hd_range range = line(ITEMS, local);

    CHECK_OK(hdi_launch(
                 rig->launcher,
                 &(struct hdi_request){find(program, "shift"), &range, args, 2},
                 NULL, HD_PRIORITY_NORMAL, failure),
             *failure);
    for (int i = 0; i < ITEMS; i++)
        CHECK(x[i] == (i + ROUNDS) % ITEMS);
    hd_buffer_destroy(buffer);
}

static void groups_wait_for_each_other(const struct rig *rig,
                                       const struct hd_program *program)
{
    shift(rig, program, 0, &error);
    for (uint32_t local = 1; local <= 1024; local = 3 * local + 1)
        shift(rig, program, local, &error);
}

static void memory_of_groups_stays(const struct rig *rig,
                                   const struct hd_program *program)
{
    static const uint32_t sizes[][2] = {{64, 1}, {8, 4}, {1, 7}, {13, 3}};

    for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
        struct hd_buffer *buffer = numbers(rig), *parts = numbers(rig);
        const int *x = hd_buffer_host(buffer);
        const struct hd_arg args[] = {HD_BUFFER(buffer), HD_BUFFER(parts),
                                      HD_LOCAL(64 * sizeof(int))};
        const struct hd_range range = {
            2, {40, 25}, {sizes[s][0], sizes[s][1]}, {0}};
        CHECK_OK(hdi_launch(rig->launcher,
                            &(struct hdi_request){find(program, "sums"), &range,
                                                  args, 3},
                            NULL, HD_PRIORITY_NORMAL, &error),
                 error);
        for (int i = 0; i < ITEMS; i++)
            CHECK(x[i] == ITEMS * (ITEMS - 1) / 2);
        hd_buffer_destroy(parts);
        hd_buffer_destroy(buffer);
    }
}

static void sub_groups_stay(const struct rig *rig,
                            const struct hd_program *program)
{
    struct hd_buffer *buffer = numbers(rig);
    const int *x = hd_buffer_host(buffer);
    const struct hd_arg args[] = {HD_BUFFER(buffer)};
    const struct hd_range range = line(ITEMS, 40);

    CHECK_OK(hdi_launch(
                 rig->launcher,
                 &(struct hdi_request){find(program, "lanes"), &range, args, 1},
                 NULL, HD_PRIORITY_NORMAL, &error),
             error);
    for (int i = 0; i < ITEMS; i++) {
        int first = i / 40 * 40 + i % 40 / 16 * 16;
        int count = i % 40 < 32 ? 16 : 8;
        CHECK(x[i] == count * first + count * (count - 1) / 2);
    }
    hd_buffer_destroy(buffer);
}

static void only_those_that_wait_are_threads(const struct hd_program *program,
                                             const char *explanation)
{
    const struct hd_kernel *shift = find(program, "shift");

    CHECK(shift->info.form == HD_FORM_GRID);
    CHECK(strstr(shift->info.explanation, explanation));
    bool loops = strstr(explanation, "coroutine") != NULL;
    CHECK(find(program, "plain")->info.form ==
          (loops ? HD_FORM_LOOPS : HD_FORM_THREADS));
}

// Work-groups that each worker has run since the last call.
static unsigned count_workers(const struct rig *rig, uint64_t *before)
{
    unsigned count = 0;

    for (unsigned i = 0; i < WORKERS; i++) {
        struct hd_worker_counters counters;
        hd_pool_counters(rig->pool, i, &counters);
        count += counters.groups > before[i];
        before[i] = counters.groups;
    }
    return count;
}

static void workers_share_them(const struct rig *rig,
                               const struct hd_program *program)
{
    struct hd_buffer *buffer = numbers(rig);
    const int rounds = 300, *x = hd_buffer_host(buffer);
    const struct hd_arg args[] = {HD_BUFFER(buffer), HD_VALUE(rounds)};
    const struct hd_range range = line(ITEMS, 7);
    uint64_t before[WORKERS] = {0};
    int turns = 0;
    bool shared = false;

    count_workers(rig, before);
    // How many come in time is up to the system: with load beside, none may
    // for many launches.
    for (uint64_t start = hdi_now();
         !shared && hdi_now() - start < 100000000000u;) {
        CHECK_OK(hdi_launch(rig->launcher,
                            &(struct hdi_request){find(program, "relay"),
                                                  &range, args, 2},
                            NULL, HD_PRIORITY_NORMAL, &error),
                 error);
        shared = count_workers(rig, before) >= 2;
        turns++;
        for (int i = 0; i < ITEMS; i++)
            CHECK(x[i] == (i + turns * rounds) % ITEMS);
    }
    CHECK(shared);
    hd_buffer_destroy(buffer);
}

// From several threads, among launches that divide themselves.
struct caller {
    const struct rig *rig;
    const struct hd_program *program;
    struct hd_error error;
};

static void *call(void *data)
{
    struct caller *c = data;
    struct hd_buffer *buffer = numbers(c->rig);
    const struct hd_arg args[] = {HD_BUFFER(buffer)};
    const struct hd_range range = line(ITEMS, 8);

    for (int i = 0; i < TIMES; i++) {
        shift(c->rig, c->program, 10, &c->error);
        CHECK_OK(hdi_launch(c->rig->launcher,
                            &(struct hdi_request){find(c->program, "plain"),
                                                  &range, args, 1},
                            NULL, HD_PRIORITY_NORMAL, &c->error),
                 c->error);
    }
    for (int i = 0; i < ITEMS; i++)
        CHECK(((int *)hd_buffer_host(buffer))[i] == i + TIMES);
    hd_buffer_destroy(buffer);
    return NULL;
}

static void many_at_a_time(const struct rig *rig,
                           const struct hd_program *program)
{
    struct caller callers[4];
    pthread_t threads[4];

    for (int i = 0; i < 4; i++) {
        callers[i] = (struct caller){.rig = rig, .program = program};
        CHECK(pthread_create(&threads[i], NULL, call, &callers[i]) == 0);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

// Failing ---------------------------------------------------------------------

static void refuse_groups(const struct rig *rig,
                          const struct hd_program *program, const char *name,
                          uint32_t local, const struct hdi_terms *terms,
                          hd_status status, const char *text)
{
    const struct hdi_terms none = {0};
    struct hd_buffer *buffer = numbers(rig);
    const struct hd_arg args[] = {HD_BUFFER(buffer)};
    const struct hd_range range = line(ITEMS, local);

    CHECK_FAILS(hdi_launch_with(
                    rig->launcher,
                    &(struct hdi_request){find(program, name), &range, args, 1},
                    terms ? terms : &none, &error),
                status, error, text);
    hd_buffer_destroy(buffer);
}

static void refuse(const struct rig *rig, const struct hd_program *program,
                   const char *name, const struct hdi_terms *terms,
                   hd_status status, const char *text)
{
    refuse_groups(rig, program, name, 50, terms, status, text);
}

static void all_must_come(const struct rig *rig,
                          const struct hd_program *program)
{
    refuse(rig, program, "group_stays_away", NULL, HD_EFAULT,
           "barrier not reached by all: work-item (0, 0, 0) waits at the "
           "barrier of line 54, work-item (149, 0, 0) has ended");
    refuse(rig, program, "item_stays_away", NULL, HD_EFAULT,
           "waits at the barrier of line 60, work-item (5, 0, 0) has ended");
    refuse(rig, program, "two_places", NULL, HD_EFAULT,
           "barrier not reached by all");
    // Of two workers, most of the time, each has one of the groups.
    for (int i = 0; i < TIMES; i++)
        refuse_groups(rig, program, "one_of_two", ITEMS / 2, NULL, HD_EFAULT,
                      "work-item (0, 0, 0) waits at the barrier of line 89, "
                      "work-item (");
}

static void faults_name_the_item(const struct rig *rig,
                                 const struct hd_program *program)
{
    refuse(rig, program, "stray", NULL, HD_EFAULT,
           "work-item (130, 0, 0) of work-group (2, 0, 0)");
}

static void a_time_limit_ends_them(const struct rig *rig,
                                   const struct hd_program *program)
{
    const struct hdi_terms terms = {.time_limit = 50000000};
    refuse(rig, program, "endless", &terms, HD_ETIMEOUT, "time limit");
}

struct canceller {
    const struct rig *rig;
    atomic_bool cancel, ended;
};

static void *cancel_soon(void *data)
{
    struct canceller *c = data;
    const struct timespec some = {.tv_nsec = 30000000};

    nanosleep(&some, NULL);
    atomic_store(&c->cancel, true);
    while (!atomic_load(&c->ended)) {
        hdi_stop_poke(c->rig->launcher);
        nanosleep(&some, NULL);
    }
    return NULL;
}

static void cancelling_ends_them(const struct rig *rig,
                                 const struct hd_program *program)
{
    struct canceller c = {.rig = rig};
    const struct hdi_terms terms = {.cancel = &c.cancel};
    pthread_t thread;

    CHECK(pthread_create(&thread, NULL, cancel_soon, &c) == 0);
    refuse(rig, program, "endless", &terms, HD_ECANCELED, "cancel");
    atomic_store(&c.ended, true);
    pthread_join(thread, NULL);
}

static void too_many_are_refused(const struct rig *rig,
                                 const struct hd_program *program)
{
    const int rounds = 1;
    struct hd_buffer *buffer = numbers(rig);
    const struct hd_arg args[] = {HD_BUFFER(buffer), HD_VALUE(rounds)};
    struct hd_range range = line(16385, 1);

    CHECK_FAILS(hdi_launch(rig->launcher,
                           &(struct hdi_request){find(program, "shift"), &range,
                                                 args, 2},
                           NULL, HD_PRIORITY_NORMAL, &error),
                HD_ELIMIT, error,
                "kernel 'shift' calls hd_grid_barrier(), so its work-groups "
                "are all there at once: 16385 of 1 work-items, more than 16384 "
                "in all");
    const uint64_t bytes = rig->device->can.local_bytes;
    const struct hd_arg much[] = {HD_BUFFER(buffer), HD_LOCAL(bytes)};
    range = line(16384, 1);
    if (bytes * 16384 > 1 << 30)
        CHECK_FAILS(hdi_launch(rig->launcher,
                               &(struct hdi_request){find(program, "large"),
                                                     &range, much, 2},
                               NULL, HD_PRIORITY_NORMAL, &error),
                    HD_ELIMIT, error, "bytes of local memory each");
    hd_buffer_destroy(buffer);
}

static void what_cannot_be_is_not_built(struct rig *rig)
{
    static const char one[] = "kernel void k(global int *x)\n"
                              "{\n"
                              "    x[0] = 1;\n"
                              "    hd_grid_barrier();\n"
                              "}\n";
    struct hd_program *program;

    CHECK_FAILS(build(rig, one, "-heddle-form=loops", &program), HD_EBUILD,
                error, "grid.cl:4: error: hd_grid_barrier() needs");
    CHECK_FAILS(build(rig, one, "-heddle-check", &program), HD_EBUILD, error,
                "is not checked");
    CHECK_OK(build(rig, one, "-heddle-form=thread", &program), error);
    CHECK(find(program, "k")->info.form == HD_FORM_GRID);
    hd_program_destroy(program);
}

static void units_do_not_run_them(void)
{
    struct rig rig = set_up(1);
    struct hd_program *program;
    const struct hdi_terms terms = {.place = {.kind = HD_ON_UNIT}};

    CHECK_OK(build(&rig, source, "-cl-std=CL3.0", &program), error);
    shift(&rig, program, 10, &error);
    refuse(&rig, program, "endless", &terms, HD_ENOTSUP, "not on a unit");
    rig_tear_down(&rig);
    hd_program_destroy(program);
}

static void everything(struct rig *rig, const char *options,
                       const char *explanation)
{
    struct hd_program *program;
    hd_status status = build(rig, source, options, &program);

    SKIP_UNBUILT(status, error);
    CHECK_OK(status, error);
    only_those_that_wait_are_threads(program, explanation);
    groups_wait_for_each_other(rig, program);
    memory_of_groups_stays(rig, program);
    sub_groups_stay(rig, program);
    workers_share_them(rig, program);
    all_must_come(rig, program);
    faults_name_the_item(rig, program);
    a_time_limit_ends_them(rig, program);
    cancelling_ends_them(rig, program);
    too_many_are_refused(rig, program);
    groups_wait_for_each_other(rig, program);
    many_at_a_time(rig, program);
    hd_program_destroy(program);
}

int main(void)
{
    struct rig rig = set_up(0);

    everything(&rig, "-cl-std=CL3.0",
               "form: one coroutine per work-item of all work-groups");
    everything(&rig, "-cl-std=CL3.0 -heddle-form=thread",
               "form: one thread per work-item of all work-groups");
    what_cannot_be_is_not_built(&rig);
    rig_tear_down(&rig);
    units_do_not_run_them();
    return 0;
}
