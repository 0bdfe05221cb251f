// The persistent executor, on the fake driver: its unit loop and the kernels
// that are linked to it run as PTX.
#include "backend/backend.h"
#include "backend/cuda/executor/tile.h"
#include "base/topology.h"
#include "kernel/program.h"
#include "tests/check.h"
#include "tests/cuda/fake.h"

enum {
    ITEMS = 1024,
    GROUP = 64,
    UNITS = 3,
    MANY = 8, // units: some share a module
    TASKS = 40
};

static const char first_source[] =
    "kernel void turn(global int *out, int step, local int *tile) {\n"
    "    local int more[64];\n"
    "    int l = get_local_id(0), n = get_local_size(0);\n"
    "    tile[l] = (int)get_global_id(0) * step;\n"
    "    more[l] = get_group_id(0);\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    out[get_global_id(0)] += tile[n - 1 - l] + more[l ^ 1];\n"
    "}\n";
static const char plane_source[] =
    "kernel void plane(global int *out) {\n"
    "    size_t at = get_local_linear_id(), items = get_local_size(0) *\n"
    "                get_local_size(1) * get_local_size(2);\n"
    "    size_t group = (get_group_id(2) * get_num_groups(1) +\n"
    "                    get_group_id(1)) * get_num_groups(0) +\n"
    "                   get_group_id(0);\n"
    "    out[group * items + at] += 1 + get_global_id(0) +\n"
    "        100 * get_global_id(1) + 10000 * get_global_id(2) +\n"
    "        1000000 * get_sub_group_size();\n"
    "}\n";
static const char pair_source[] =
    "kernel void pair(global int *there, global int *out, int self,\n"
    "                 local int *mine) {\n"
    "    int l = get_local_id(0);\n"
    "    mine[l] = 1000 * self + l;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    if (l == 0) {\n"
    "        atomic_xchg(there + self, 1);\n"
    "        while (atomic_add(there + 1 - self, 0) == 0) ;\n"
    "    }\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    out[64 * self + l] = mine[l];\n"
    "}\n";
// The same name, and another kernel.
static const char second_source[] =
    "kernel void other(global int *out) { out[get_global_id(0)] = -1; }\n"
    "kernel void turn(global int *out) {\n"
    "    out[get_global_id(0)] = work_group_reduce_add(1) + "
    "get_global_size(0);\n"
    "}\n";

struct rig {
    const struct fake_cuda *fake;
    struct hdi_topology *topology;
    const struct hdi_backend *backend;
    struct hdi_device *device;
    struct hdi_program_context context;
};

static struct rig start_with(unsigned units, bool doorbell)
{
    const struct hdi_device_params params = {
        .units = units, .unit_cores = GROUP, .doorbell = doorbell};
    struct hd_error error;
    struct rig r = {.fake = fake_cuda(), .backend = hdi_backend_find("cuda")};

    CHECK_OK(hdi_topology_create(NULL, &r.topology, &error), error);
    CHECK_OK(r.backend->open(r.topology, 0, &params, &r.device, &error), error);
    CHECK(r.device->can.units == units);
    r.context.device = r.device;
    return r;
}

static struct rig start(bool doorbell)
{
    return start_with(UNITS, doorbell);
}

static void end(struct rig *r)
{
    r->backend->close(r->device);
    hdi_topology_destroy(r->topology);
    printf("%s", r->fake->report());
    CHECK(*r->fake->report() == '\0');
}

static struct hd_program *build(struct rig *r, const char *source)
{
    const struct hd_program_params params = {
        .path = "tile.cl", .source = source, .options = "-cl-std=CL3.0"};
    struct hd_program *program;
    struct hd_error error;

    CHECK_OK(hdi_program_create(&r->context, &params, &program, &error), error);
    return program;
}

// Each unit has a part of its module's local memory for itself.
static uint32_t region_of(const struct rig *r, unsigned unit)
{
    uint32_t part = (uint32_t)(r->device->can.module_bytes / UNITS);
    return part / 128 * 128 * unit;
}

static struct hdi_chunk chunk_of(const struct hd_program *program,
                                 const char *kernel, const void *args,
                                 uint32_t first, uint32_t count)
{
    const struct hd_kernel *k = hd_program_find(program, kernel);

    CHECK(k && k->entry);
    return (struct hdi_chunk){.entry = k->entry,
                              .frame =
                                  {
                                      .args = args,
                                      .global = {ITEMS, 1, 1},
                                      .local_size = {GROUP, 1, 1},
                                      .group_count = {ITEMS / GROUP, 1, 1},
                                      .first = {first, 0, 0},
                                      .count = {count, 1, 1},
                                      .dims = 1,
                                  },
                              .local_bytes = k->info.local_bytes + GROUP * 4};
}

static void finish(struct rig *r, struct hdi_unit *unit)
{
    uint64_t last = r->backend->submitted(unit);

    while (r->backend->done(unit) < last)
        ;
    CHECK(r->backend->status(unit, last) == HD_OK);
}

static void submit(struct rig *r, struct hdi_unit *unit,
                   const struct hdi_chunk *chunk)
{
    while (!r->backend->submit(unit, chunk))
        ;
}

// Every unit adds to every element, in tasks of one or two work-groups.
static void tiles_run_work_groups(bool doorbell)
{
    struct rig r = start(doorbell);
    struct hd_program *program = build(&r, first_source);
    const struct hd_kernel *k = hd_program_find(program, "turn");
    struct hdi_unit *units[UNITS];
    void *out[UNITS];
    static int seen[ITEMS];

    for (unsigned u = 0; u < UNITS; u++) {
        CHECK(r.backend->unit_open(r.device, u, &units[u]) == HD_OK);
        CHECK(r.backend->alloc(r.device, sizeof(seen), &out[u]) == HD_OK);
    }
    for (int round = 0; round < 3; round++)
        for (uint32_t g = 0; g < ITEMS / GROUP; g += 2)
            for (unsigned u = 0; u < UNITS; u++) {
                _Alignas(16) unsigned char args[64] = {0};
                int step = 3;
                uint64_t tile = k->info.local_bytes;
                memcpy(args + k->args[0].offset, &out[u], 8);
                memcpy(args + k->args[1].offset, &step, 4);
                memcpy(args + k->args[2].offset, &tile, 8);
                struct hdi_chunk c = chunk_of(program, "turn", args, g, 2);
                c.region = region_of(&r, u);
                submit(&r, units[u], &c);
            }
    CHECK(r.fake->resident() == HDX_CLASSES);
    for (unsigned u = 0; u < UNITS; u++) {
        finish(&r, units[u]);
        CHECK(r.backend->submitted(units[u]) == 3 * ITEMS / GROUP / 2);
    }
    // Copies go on beside it.
    CHECK(r.fake->resident() == HDX_CLASSES);
    for (unsigned u = 0; u < UNITS; u++) {
        CHECK(r.backend->copy(r.device, seen, out[u], sizeof(seen)) == HD_OK);
        for (int i = 0; i < ITEMS; i++) {
            int mirrored = i / GROUP * GROUP + GROUP - 1 - i % GROUP;
            CHECK(seen[i] == 3 * (3 * mirrored + i / GROUP));
        }
    }
    for (unsigned u = 0; u < UNITS; u++) {
        r.backend->unit_close(units[u]);
        r.backend->free(r.device, out[u], sizeof(seen));
    }
    hd_program_destroy(program);
    end(&r);
}

// The executor leaves the GPU, is linked anew and goes on where it was.
static void new_programs_are_linked(void)
{
    struct rig r = start(false);
    struct hd_program *one = build(&r, first_source), *two;
    struct hdi_unit *unit;
    void *out;
    static int seen[ITEMS];
    _Alignas(16) unsigned char args[64] = {0};

    CHECK(r.backend->unit_open(r.device, 1, &unit) == HD_OK);
    CHECK(r.backend->alloc(r.device, sizeof(seen), &out) == HD_OK);
    memcpy(args, &out, 8);
    struct hdi_chunk c = chunk_of(one, "turn", args, 0, ITEMS / GROUP);
    submit(&r, unit, &c);
    two = build(&r, second_source);
    CHECK(r.fake->resident() == 0 && r.backend->done(unit) == 1);
    c = chunk_of(two, "turn", args, 0, ITEMS / GROUP);
    submit(&r, unit, &c);
    finish(&r, unit);
    CHECK(r.fake->resident() == HDX_CLASSES && r.backend->submitted(unit) == 2);
    hd_program_destroy(one);
    CHECK(r.backend->copy(r.device, seen, out, sizeof(seen)) == HD_OK);
    for (int i = 0; i < ITEMS; i++)
        CHECK(seen[i] == GROUP + ITEMS);
    c = chunk_of(two, "other", args, 3, 2);
    submit(&r, unit, &c);
    finish(&r, unit);
    CHECK(r.backend->copy(r.device, seen, out, sizeof(seen)) == HD_OK);
    for (int i = 0; i < ITEMS; i++)
        CHECK(seen[i] ==
              (i / GROUP == 3 || i / GROUP == 4 ? -1 : GROUP + ITEMS));
    r.backend->unit_close(unit);
    r.backend->free(r.device, out, sizeof(seen));
    hd_program_destroy(two);
    end(&r);
}

// What a tile cannot run goes to the unit's stream, in order.
static void other_chunks_are_launched(void)
{
    struct rig r = start(false);
    struct hd_program *program = build(&r, second_source);
    struct hdi_unit *unit;
    void *out;
    static int seen[ITEMS];
    _Alignas(16) unsigned char args[64] = {0};

    CHECK(r.backend->unit_open(r.device, 0, &unit) == HD_OK);
    CHECK(r.backend->alloc(r.device, sizeof(seen), &out) == HD_OK);
    memcpy(args, &out, 8);
    for (int round = 0; round < TASKS; round++) {
        struct hdi_chunk c = chunk_of(program, round % 3 ? "turn" : "other",
                                      args, 0, ITEMS / GROUP);
        if (round % 4 == 1) { // no whole warps
            c.frame.local_size[0] = 16;
            c.frame.group_count[0] = ITEMS / 16;
            c.frame.count[0] = ITEMS / 16;
        }
        submit(&r, unit, &c);
        finish(&r, unit);
        CHECK(r.backend->copy(r.device, seen, out, sizeof(seen)) == HD_OK);
        int size = round % 4 == 1 ? 16 : GROUP;
        for (int i = 0; i < ITEMS; i++)
            CHECK(seen[i] == (round % 3 ? size + ITEMS : -1));
    }
    CHECK(r.backend->submitted(unit) == TASKS);
    r.backend->unit_close(unit);
    r.backend->free(r.device, out, sizeof(seen));
    hd_program_destroy(program);
    end(&r);
}

// What is said of a chunk is about the place where it was.
static void failures_are_told_of_their_place(void)
{
    struct rig r = start(false);
    struct hd_program *program = build(&r, second_source);
    struct hdi_unit *unit;
    struct hdi_fault fault;
    void *out;
    char text[256];
    _Alignas(16) unsigned char args[64] = {0};

    CHECK(r.backend->unit_open(r.device, 0, &unit) == HD_OK);
    CHECK(r.backend->alloc(r.device, ITEMS * 4, &out) == HD_OK);
    memcpy(args, &out, 8);
    struct hdi_chunk good = chunk_of(program, "other", args, 0, ITEMS / GROUP);
    struct hdi_chunk large = good;
    large.frame.global[0] = large.frame.local_size[0] = 2 * ITEMS;
    large.frame.group_count[0] = large.frame.count[0] = 1;
    submit(&r, unit, &large); // on its stream, which refuses it
    uint64_t failed = r.backend->submitted(unit);
    submit(&r, unit, &good); // on the tile
    finish(&r, unit);
    CHECK(r.backend->status(unit, failed) == HD_ELIMIT);
    r.backend->explain(unit, failed, text, sizeof(text));
    CHECK(strstr(text, "1024 work-items at most"));
    CHECK(!r.backend->fault(unit, failed, &fault));
    r.backend->unit_close(unit);
    r.backend->free(r.device, out, ITEMS * 4);
    hd_program_destroy(program);
    end(&r);
}

// Add to all elements on this unit; whether it took a launch.
static bool is_launched(struct rig *r, struct hdi_unit *unit,
                        const struct hdi_chunk *chunk)
{
    uint64_t before = r->fake->launches();

    submit(r, unit, chunk);
    finish(r, unit);
    return r->fake->launches() > before;
}

// Kernels that need many registers run on tiles that have them, or nowhere but
// in launches.
static void kernels_go_to_their_class(void)
{
    static const struct {
        int registers;
        uint32_t classes;
    } cases[] = {{64, HDX_BOTH}, {65, 1 << HDX_FAT}, {129, 0}};
    const unsigned fat = UNITS - 1;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rig r = start(false);
        struct hdi_unit *units[UNITS];
        void *out;
        static int seen[ITEMS];
        _Alignas(16) unsigned char args[64] = {0};

        CHECK(r.device->can.classes[0] == HDX_LEAN);
        CHECK(r.device->can.classes[fat] == HDX_FAT);
        r.fake->registers("turn", cases[i].registers);
        struct hd_program *program = build(&r, second_source);
        for (unsigned u = 0; u < UNITS; u++)
            CHECK(r.backend->unit_open(r.device, u, &units[u]) == HD_OK);
        CHECK(r.backend->alloc(r.device, sizeof(seen), &out) == HD_OK);
        memcpy(args, &out, 8);
        // The executor is there.
        struct hdi_chunk c = chunk_of(program, "other", args, 0, 1);
        CHECK(r.backend->classes(r.device, &c) == HDX_BOTH);
        submit(&r, units[0], &c);
        finish(&r, units[0]);

        c = chunk_of(program, "turn", args, 0, ITEMS / GROUP);
        CHECK(r.backend->classes(r.device, &c) == cases[i].classes);
        CHECK(is_launched(&r, units[0], &c) ==
              !(cases[i].classes & 1 << HDX_LEAN));
        CHECK(is_launched(&r, units[fat], &c) ==
              !(cases[i].classes & 1 << HDX_FAT));
        CHECK(r.backend->copy(r.device, seen, out, sizeof(seen)) == HD_OK);
        for (int n = 0; n < ITEMS; n++)
            CHECK(seen[n] == GROUP + ITEMS);
        for (unsigned u = 0; u < UNITS; u++)
            r.backend->unit_close(units[u]);
        r.backend->free(r.device, out, sizeof(seen));
        hd_program_destroy(program);
        r.fake->registers("", 0);
        end(&r);
    }
}

// Local memory may be all of a module's, and no more; without a place in it a
// chunk is launched.
static void local_memory_is_the_modules(void)
{
    struct rig r = start(false);
    struct hd_program *program = build(&r, first_source);
    const struct hd_kernel *k = hd_program_find(program, "turn");
    uint64_t all = r.device->can.module_bytes;
    struct hdi_unit *unit;
    void *out;
    static int seen[ITEMS];
    _Alignas(16) unsigned char args[64] = {0};
    int step = 3;

    CHECK(r.backend->unit_open(r.device, 0, &unit) == HD_OK);
    CHECK(r.backend->alloc(r.device, sizeof(seen), &out) == HD_OK);
    memcpy(args + k->args[0].offset, &out, 8);
    memcpy(args + k->args[1].offset, &step, 4);
    // The last bytes there are.
    uint64_t tile = all - GROUP * 4;
    memcpy(args + k->args[2].offset, &tile, 8);
    struct hdi_chunk c = chunk_of(program, "turn", args, 0, ITEMS / GROUP);
    c.local_bytes = all;
    CHECK(is_launched(&r, unit, &c)); // with that the executor comes
    CHECK(!is_launched(&r, unit, &c));
    c.region = HDI_NO_REGION;
    CHECK(is_launched(&r, unit, &c));
    c.region = 0;
    c.local_bytes = all + 1;
    CHECK(r.backend->classes(r.device, &c) == 0 && is_launched(&r, unit, &c));
    CHECK(r.backend->copy(r.device, seen, out, sizeof(seen)) == HD_OK);
    for (int i = 0; i < ITEMS; i++)
        CHECK(seen[i] == 4 * (3 * (i / GROUP * GROUP + GROUP - 1 - i % GROUP) +
                              i / GROUP));
    r.backend->unit_close(unit);
    r.backend->free(r.device, out, sizeof(seen));
    hd_program_destroy(program);
    end(&r);
}

// Work-groups of three dimensions, and some of them only: every work-item runs
// once, with ids of its own.
static void work_groups_have_dimensions(void)
{
    enum {
        X = 8,
        Y = 4,
        Z = 2
    };
    struct rig r = start(false);
    struct hd_program *program = build(&r, plane_source);
    struct hdi_unit *unit;
    _Alignas(16) unsigned char args[16] = {0};
    static int seen[ITEMS];
    void *out;

    CHECK(r.backend->unit_open(r.device, 0, &unit) == HD_OK);
    CHECK(r.backend->alloc(r.device, sizeof(seen), &out) == HD_OK);
    memcpy(args, &out, 8);
    struct hdi_chunk c = chunk_of(program, "plane", args, 0, 1);
    c.local_bytes = 0;
    c.frame.dims = 3;
    for (unsigned d = 0; d < 3; d++) {
        static const uint32_t local[] = {X, Y, Z}, groups[] = {2, 4, 2};
        c.frame.local_size[d] = local[d];
        c.frame.group_count[d] = groups[d];
        c.frame.global[d] = local[d] * groups[d];
        c.frame.first[d] = d == 1;
        c.frame.count[d] = groups[d] - (d == 1);
    }
    submit(&r, unit, &c);
    finish(&r, unit);
    CHECK(r.fake->launches() == HDX_CLASSES); // it was no launch
    CHECK(r.backend->copy(r.device, seen, out, sizeof(seen)) == HD_OK);
    for (int i = 0; i < ITEMS; i++) {
        int at = i % GROUP, group = i / GROUP;
        int y = group / 2 % 4 * Y + at / X % Y;
        int x = group % 2 * X + at % X, z = group / 8 * Z + at / X / Y;
        CHECK(seen[i] ==
              (y < Y ? 0 : 1 + x + 100 * y + 10000 * z + 32 * 1000000));
    }
    r.backend->unit_close(unit);
    r.backend->free(r.device, out, sizeof(seen));
    hd_program_destroy(program);
    end(&r);
}

// Two that are on tiles of one module at the same time, which each waits for,
// have local memory apart.
static void neighbours_keep_their_local_memory(void)
{
    struct rig r = start_with(MANY, false);
    struct hd_program *program = build(&r, pair_source);
    const struct hd_kernel *k = hd_program_find(program, "pair");
    struct hdi_unit *units[2];
    static int seen[2 * GROUP];
    void *there, *out;
    uint32_t second = 1;

    while (second < MANY &&
           r.device->can.modules[second] != r.device->can.modules[0])
        second++;
    CHECK(second < MANY);
    CHECK(r.backend->unit_open(r.device, 0, &units[0]) == HD_OK);
    CHECK(r.backend->unit_open(r.device, second, &units[1]) == HD_OK);
    CHECK(r.backend->alloc(r.device, 2 * sizeof(int), &there) == HD_OK);
    CHECK(r.backend->alloc(r.device, sizeof(seen), &out) == HD_OK);
    for (int self = 0; self < 2; self++) {
        _Alignas(16) unsigned char args[64] = {0};
        uint64_t mine = k->info.local_bytes;
        memcpy(args + k->args[0].offset, &there, 8);
        memcpy(args + k->args[1].offset, &out, 8);
        memcpy(args + k->args[2].offset, &self, 4);
        memcpy(args + k->args[3].offset, &mine, 8);
        struct hdi_chunk c = chunk_of(program, "pair", args, 0, 1);
        c.region = (uint32_t)self * 512;
        submit(&r, units[self], &c);
    }
    for (int self = 0; self < 2; self++)
        finish(&r, units[self]);
    CHECK(r.backend->copy(r.device, seen, out, sizeof(seen)) == HD_OK);
    for (int i = 0; i < 2 * GROUP; i++)
        CHECK(seen[i] == 1000 * (i / GROUP) + i % GROUP);
    for (int self = 0; self < 2; self++)
        r.backend->unit_close(units[self]);
    r.backend->free(r.device, there, 2 * sizeof(int));
    r.backend->free(r.device, out, sizeof(seen));
    hd_program_destroy(program);
    end(&r);
}

int main(void)
{
    if (!fake_cuda())
        SKIP("the fake driver is not named in HEDDLE_CUDA_DRIVER");
    work_groups_have_dimensions();
    tiles_run_work_groups(false);
    tiles_run_work_groups(true);
    new_programs_are_linked();
    other_chunks_are_launched();
    failures_are_told_of_their_place();
    kernels_go_to_their_class();
    local_memory_is_the_modules();
    neighbours_keep_their_local_memory();
    return 0;
}
