// Graphs that a GPU works off by itself, on the fake driver: the host rings
// once, order is kept, arguments change between runs, kernels append passes.
#include "backend/backend.h"
#include "backend/list.h"
#include "base/topology.h"
#include "kernel/program.h"
#include "tests/check.h"
#include "tests/cuda/fake.h"

enum {
    GROUP = 32,
    UNITS = 3,
    LAYERS = 12,
    WIDTH = 5
};

// Each pass takes a word that the one before it has left, in every work-item.
static const char source[] =
    "kernel void step(global uint *cells, uint from, uint to, uint add) {\n"
    "    size_t i = get_global_id(0);\n"
    "    cells[to + i] = cells[from + i] * 3 + add;\n"
    "}\n"
    "kernel void join(global uint *cells, uint to, uint n) {\n"
    "    size_t i = get_global_id(0);\n"
    "    uint sum = 0;\n"
    "    for (uint k = 0; k < n; k++) sum += cells[k * 32 + i];\n"
    "    cells[to + i] = sum;\n"
    "}\n"
    "kernel void count(global uint *seen) {\n"
    "    if (get_local_id(0) == 0) atomic_inc(&seen[get_group_id(0)]);\n"
    "}\n"
    "kernel void ask(global hd_appends *to, global uint *turns, uint pass) {\n"
    "    if (get_global_id(0) != 0) return;\n"
    "    uint n = turns[0]--;\n"
    "    if (n > 0) hd_append(to, pass, (uint3)(0), (uint3)(n, 1, 1));\n"
    "}\n"
    "kernel void wild(global hd_appends *to, uint many, uint pass, uint n) {\n"
    "    if (get_global_id(0) != 0) return;\n"
    "    for (uint i = 0; i < many; i++)\n"
    "        hd_append(to, pass, (uint3)(0), (uint3)(n, 1, 1));\n"
    "}\n";

struct rig {
    const struct fake_cuda *fake;
    struct hdi_topology *topology;
    const struct hdi_backend *backend;
    struct hdi_device *device;
    struct hdi_program_context context;
    struct hd_program *program;
    struct hdi_unit *units[UNITS];
};

static struct hd_error error;

// With tiles, in ring or doorbell mode, or without.
enum units {
    RING,
    DOORBELL,
    STREAMS
};

static struct rig start(enum units units)
{
    const struct hdi_device_params params = {.units =
                                                 units == STREAMS ? 0 : UNITS,
                                             .unit_cores = GROUP,
                                             .doorbell = units == DOORBELL};
    const struct hd_program_params what = {.path = "list.cl", .source = source};
    struct rig r = {.fake = fake_cuda(), .backend = hdi_backend_find("cuda")};

    CHECK_OK(hdi_topology_create(NULL, &r.topology, &error), error);
    CHECK_OK(r.backend->open(r.topology, 0, &params, &r.device, &error), error);
    r.context.device = r.device;
    CHECK_OK(hdi_program_create(&r.context, &what, &r.program, &error), error);
    for (unsigned u = 0; u < UNITS; u++)
        CHECK(r.backend->unit_open(r.device, u, &r.units[u]) == HD_OK);
    CHECK(r.backend->lists);
    return r;
}

static void end(struct rig *r)
{
    for (unsigned u = 0; u < UNITS; u++)
        r->backend->unit_close(r->units[u]);
    hd_program_destroy(r->program);
    r->backend->close(r->device);
    hdi_topology_destroy(r->topology);
    printf("%s", r->fake->report());
    CHECK(*r->fake->report() == '\0');
}

static uint32_t *memory(struct rig *r, uint64_t words)
{
    void *at;

    CHECK(r->backend->alloc(r->device, words * 4, &at) == HD_OK);
    return at;
}

static void read_back(struct rig *r, uint32_t *to, const uint32_t *from,
                      uint64_t words)
{
    CHECK(r->backend->copy(r->device, to, from, words * 4) == HD_OK);
}

// With room for a pointer and three words, or two pointers and one.
struct packed {
    _Alignas(16) unsigned char bytes[64];
};

static struct hdi_list_step step_of(struct rig *r, const char *name,
                                    struct packed *args, const void *const *in,
                                    uint32_t groups)
{
    const struct hd_kernel *k = hd_program_find(r->program, name);

    CHECK(k && k->entry && k->args_size <= sizeof(args->bytes));
    for (unsigned i = 0; i < k->info.arg_count; i++)
        memcpy(args->bytes + k->args[i].offset, in[i],
               k->args[i].shown.kind == HD_ARG_GLOBAL ? 8 : 4);
    return (struct hdi_list_step){
        .chunk = {.entry = k->entry,
                  .frame = {.args = args->bytes,
                            .global = {groups * (uint64_t)GROUP, 1, 1},
                            .local_size = {GROUP, 1, 1},
                            .group_count = {groups, 1, 1},
                            .count = {groups, 1, 1},
                            .dims = 1}}};
}

// Rings once, on this unit.
static void run(struct rig *r, struct hdi_device_list *list, unsigned unit)
{
    const struct hdi_chunk chunk = {.list = list};
    struct hdi_unit *u = r->units[unit];

    while (!r->backend->submit(u, &chunk))
        ;
    uint64_t ticket = r->backend->submitted(u);
    while (r->backend->done(u) < ticket)
        ;
    CHECK(r->backend->status(u, ticket) == HD_OK);
}

// Rows of passes; each takes from the one before in its column. Then one that
// takes from all columns.
static void passes_start_their_successors(enum units units,
                                          enum hdi_list_form form)
{
    struct rig r = start(units);
    const struct hdi_lists *lists = r.backend->lists;
    static struct hdi_list_step steps[LAYERS * WIDTH + 1];
    static struct packed args[LAYERS * WIDTH + 1];
    static uint32_t after[LAYERS * WIDTH];
    enum {
        PASSES = LAYERS * WIDTH + 1,
        CELLS = (WIDTH + 1) * GROUP
    };
    uint32_t *cells = memory(&r, CELLS), seen[CELLS];
    struct hdi_device_list *list;

    for (uint32_t i = 0; i < PASSES - 1; i++) {
        uint32_t at = i % WIDTH * GROUP, add = i;
        const void *in[] = {&cells, &at, &at, &add};
        steps[i] = step_of(&r, "step", &args[i], in, 1);
        after[i] = i + WIDTH < PASSES - 1 ? i + WIDTH : PASSES - 1;
        steps[i].after = &after[i];
        steps[i].after_count = 1;
    }
    uint32_t to = WIDTH * GROUP, n = WIDTH;
    const void *in[] = {&cells, &to, &n};
    steps[PASSES - 1] = step_of(&r, "join", &args[PASSES - 1], in, 1);
    const struct hdi_list_params params = {
        .steps = steps, .form = form, .count = PASSES};
    CHECK_OK(lists->make(r.device, &params, &list, &error), error);

    uint32_t right[CELLS] = {0};
    for (unsigned round = 0; round < 3; round++) {
        // Another argument of the first pass.
        uint32_t add = 1000 * round;
        const struct hd_kernel *k = hd_program_find(r.program, "step");
        memcpy((char *)lists->args(list, 0) + k->args[3].offset, &add, 4);
        run(&r, list, round);
        for (uint32_t i = 0; i < PASSES - 1; i++)
            for (uint32_t c = 0; c < GROUP; c++) {
                uint32_t *cell = &right[i % WIDTH * GROUP + c];
                *cell = *cell * 3 + (i == 0 ? add : i);
            }
        for (uint32_t c = 0; c < GROUP; c++) {
            right[to + c] = 0;
            for (uint32_t k2 = 0; k2 < WIDTH; k2++)
                right[to + c] += right[k2 * GROUP + c];
        }
        read_back(&r, seen, cells, CELLS);
        CHECK(memcmp(seen, right, sizeof(seen)) == 0);
        struct hdi_list_time times[PASSES];
        uint32_t count = PASSES;
        CHECK_OK(lists->result(list, times, &count, &error), error);
        CHECK(count == (form == HDI_LIST_BY_UNITS ? PASSES : 0));
        for (uint32_t i = 0; i < count; i++)
            CHECK(times[i].begin <= times[i].end);
        for (uint32_t i = 0; i + 1 < count; i++)
            CHECK(times[after[i]].begin >= times[i].end);
    }
    lists->free(list);
    r.backend->free(r.device, cells, CELLS * 4);
    end(&r);
}

// 100 work-items in work-groups of 32: two launches of the driver's, both of
// which come before the next pass.
static void edges_are_launches_of_their_own(void)
{
    struct rig r = start(STREAMS);
    const struct hdi_lists *lists = r.backend->lists;
    enum {
        CELLS = 100
    };
    uint32_t *cells = memory(&r, CELLS), seen[CELLS], zero = 0, next = 1;
    struct packed args[2];
    struct hdi_list_step steps[2];
    struct hdi_device_list *list;

    for (uint32_t i = 0; i < 2; i++) {
        uint32_t add = i + 1;
        const void *in[] = {&cells, &zero, &zero, &add};
        steps[i] = step_of(&r, "step", &args[i], in, 4);
        steps[i].chunk.frame.global[0] = CELLS;
    }
    steps[0].after = &next;
    steps[0].after_count = 1;
    const struct hdi_list_params params = {
        .steps = steps, .form = HDI_LIST_BY_LAUNCHES, .count = 2};
    CHECK_OK(lists->make(r.device, &params, &list, &error), error);
    run(&r, list, 0);
    read_back(&r, seen, cells, CELLS);
    for (unsigned i = 0; i < CELLS; i++)
        CHECK(seen[i] == 5);
    lists->free(list);
    r.backend->free(r.device, cells, CELLS * 4);
    end(&r);
}

// Of many work-groups each runs once, whichever unit had it.
static void work_groups_are_shared(void)
{
    struct rig r = start(RING);
    const struct hdi_lists *lists = r.backend->lists;
    enum {
        GROUPS = 500
    };
    uint32_t *seen = memory(&r, GROUPS);
    static uint32_t back[GROUPS];
    struct packed args;
    const void *in[] = {&seen};
    struct hdi_list_step step = step_of(&r, "count", &args, in, GROUPS);
    const struct hdi_list_params params = {.steps = &step, .count = 1};
    struct hdi_device_list *list;

    CHECK_OK(lists->make(r.device, &params, &list, &error), error);
    for (uint32_t round = 1; round <= 2; round++) {
        run(&r, list, 0);
        read_back(&r, back, seen, GROUPS);
        for (unsigned i = 0; i < GROUPS; i++)
            CHECK(back[i] == round);
    }
    lists->free(list);
    r.backend->free(r.device, seen, GROUPS * 4);
    end(&r);
}

// A pass appends one that works, and itself, until it has enough.
static void passes_are_appended(void)
{
    struct rig r = start(RING);
    const struct hdi_lists *lists = r.backend->lists;
    enum {
        TURNS = 6,
        WORDS = 16
    };
    // With a head, and room for one request.
    uint32_t *requests = memory(&r, WORDS), *turns = memory(&r, 1),
             *seen = memory(&r, WORDS), back[WORDS], turn = TURNS;
    const struct hdi_appends head = {.room = 1};
    struct packed args[3];
    uint32_t work = 1, last = 2;
    const void *ask[] = {&requests, &turns, &work};
    const void *count[] = {&seen};
    struct hdi_list_step steps[] = {
        step_of(&r, "ask", &args[0], ask, 1),
        step_of(&r, "count", &args[1], count, TURNS),
        step_of(&r, "count", &args[2], count, 1)};
    struct hdi_list_params params = {.steps = steps, .count = 3, .more = 1};
    struct hdi_device_list *list;

    CHECK(r.backend->copy(r.device, requests, &head, sizeof(head)) == HD_OK);
    steps[0].family_count = 2;
    steps[0].most = 1;
    steps[0].appends_at = 1;
    steps[0].after = &last;
    steps[0].after_count = 1;
    steps[1].appended = true;
    CHECK_OK(lists->make(r.device, &params, &list, &error), error);
    CHECK(r.backend->copy(r.device, turns, &turn, 4) == HD_OK);
    for (uint32_t round = 0; round < 2; round++) {
        struct hdi_list_time times[4];
        uint32_t there = 4;
        run(&r, list, 0);
        CHECK_OK(lists->result(list, times, &there, &error), error);
        CHECK(there == 4 && times[3].begin >= times[0].begin);
        CHECK(times[3].step == 1 && times[2].step == 2);
        CHECK(times[2].begin >= times[3].end);
    }
    read_back(&r, back, seen, WORDS);
    // Work-groups of both runs: 6 and 5 appended, 1 and 1 after.
    CHECK(back[0] == 4 && back[1] == 2 && back[4] == 2 && back[5] == 1);

    // What is wrong is refused, and the list is good afterwards.
    struct packed bad;
    static const struct {
        uint32_t many, pass, n;
        hd_status status;
        const char *text;
    } cases[] = {{1, 0, 1, HD_EINVAL, "none of those"},
                 {1, 77, 1, HD_EINVAL, "none of those"},
                 {1, 1, 0, HD_EINVAL, "no work-groups"},
                 {1, 1, UINT32_MAX, HD_EINVAL, "no work-groups"},
                 {2, 1, 1, HD_ELIMIT, "more than the 1 pass that"},
                 {9, 1, 1, HD_ELIMIT, "more than the 1 pass that"}};
    lists->free(list);
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const void *in[] = {&requests, &cases[i].many, &cases[i].pass,
                            &cases[i].n};
        uint32_t none = 0;
        steps[0] = step_of(&r, "wild", &bad, in, 1);
        steps[0].family_count = 2;
        steps[0].most = 1;
        steps[0].appends_at = 1;
        steps[0].after = &last;
        steps[0].after_count = 1;
        CHECK_OK(lists->make(r.device, &params, &list, &error), error);
        run(&r, list, 1);
        CHECK_FAILS(lists->result(list, NULL, &none, &error), cases[i].status,
                    error, cases[i].text);
        lists->free(list);
    }
    r.backend->free(r.device, requests, WORDS * 4);
    r.backend->free(r.device, turns, 4);
    r.backend->free(r.device, seen, WORDS * 4);
    end(&r);
}

// Programs come between runs, and kernels get other numbers: those that the
// list's had are others' then.
static void kernels_are_found_again(void)
{
    static const char others[] =
        "#define OTHER(name) kernel void name(global uint *seen) {\\\n"
        "    seen[get_group_id(0)] = 77; }\n"
        "OTHER(a) OTHER(b) OTHER(c) OTHER(d) OTHER(e) OTHER(f) OTHER(g)\n";
    struct rig r = start(RING);
    const struct hdi_lists *lists = r.backend->lists;
    const struct hd_program_params what = {.path = "more.cl", .source = others};
    uint32_t *seen = memory(&r, 4), back[4];
    struct packed args;
    const void *in[] = {&seen};
    struct hdi_list_step step = step_of(&r, "count", &args, in, 4);
    const struct hdi_list_params params = {.steps = &step, .count = 1};
    struct hdi_device_list *list;
    struct hd_program *more;

    CHECK_OK(lists->make(r.device, &params, &list, &error), error);
    run(&r, list, 0);
    CHECK_OK(hdi_program_create(&r.context, &what, &more, &error), error);
    run(&r, list, 0);
    read_back(&r, back, seen, 4);
    for (unsigned i = 0; i < 4; i++)
        CHECK(back[i] == 2);
    hd_program_destroy(more);
    lists->free(list);
    r.backend->free(r.device, seen, 16);
    end(&r);
}

static void wrong_lists_are_refused(void)
{
    struct rig r = start(RING);
    const struct hdi_lists *lists = r.backend->lists;
    uint32_t *seen = memory(&r, 4), there = 9;
    struct packed args;
    const void *in[] = {&seen};
    struct hdi_list_step step = step_of(&r, "count", &args, in, 4);
    struct hdi_list_params params = {.steps = &step, .count = 1};
    struct hdi_device_list *list;

    step.chunk.frame.local_size[0] = 24;
    CHECK_FAILS(lists->make(r.device, &params, &list, &error), HD_ENOTSUP,
                error, "kernel 'count'");
    step.chunk.frame.local_size[0] = GROUP;
    step.after = &there;
    step.after_count = 1;
    CHECK_FAILS(lists->make(r.device, &params, &list, &error), HD_EINVAL, error,
                "comes before 9");
    there = 0; // itself
    CHECK_FAILS(lists->make(r.device, &params, &list, &error), HD_EINVAL, error,
                "comes before 0");
    step.after_count = 0;
    step.family = 1;
    step.family_count = 1;
    CHECK_FAILS(lists->make(r.device, &params, &list, &error), HD_EINVAL, error,
                "of a family of 1");
    step.family_count = 0;
    step.appends_at = 1;
    CHECK_FAILS(lists->make(r.device, &params, &list, &error), HD_EINVAL, error,
                "of a family of 0");
    step.appends_at = 0;
    step.appended = true;
    params.form = HDI_LIST_BY_LAUNCHES;
    CHECK_FAILS(lists->make(r.device, &params, &list, &error), HD_ENOTSUP,
                error, "appends");
    step.appended = false;
    step.chunk.frame.local_size[0] = 2048;
    CHECK_FAILS(lists->make(r.device, &params, &list, &error), HD_ELIMIT, error,
                "1024 at most");
    params.count = 0;
    CHECK_FAILS(lists->make(r.device, &params, &list, &error), HD_ELIMIT, error,
                "0 passes");
    r.backend->free(r.device, seen, 16);
    end(&r);
}

int main(void)
{
    if (!fake_cuda())
        SKIP("the fake driver is not named in HEDDLE_CUDA_DRIVER");
    passes_start_their_successors(RING, HDI_LIST_BY_UNITS);
    passes_start_their_successors(DOORBELL, HDI_LIST_BY_UNITS);
    passes_start_their_successors(RING, HDI_LIST_BY_LAUNCHES);
    passes_start_their_successors(STREAMS, HDI_LIST_BY_LAUNCHES);
    edges_are_launches_of_their_own();
    work_groups_are_shared();
    passes_are_appended();
    kernels_are_found_again();
    wrong_lists_are_refused();
    return 0;
}
