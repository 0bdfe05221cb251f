// forall: tasks are where they should be, what moves is what must, results are
// right on any number of nodes, whoever computes. Started by mpirun it is the
// same.
#include "heddle/agile.h"

#include <stdatomic.h>
#include <time.h>

#include "tests/check.h"

static struct hd_error error;
static struct hd_cluster *cluster;

static struct hd_map *parse(const char *text)
{
    struct hd_map *map;

    CHECK_OK(hd_map_parse(text, &map, &error), error);
    return map;
}

static struct hd_cluster *join(unsigned nodes, bool messages, bool sequential)
{
    struct hd_cluster_params params = {
        .nodes = nodes, .messages = messages, .sequential = sequential};

    CHECK_OK(hd_cluster_join(&params, &cluster, &error), error);
    return cluster;
}

// What A and B hold.
static void hash(void *data, const int64_t *index, void *value)
{
    uint64_t v = *(uint64_t *)data;

    v = (v ^ (uint64_t)index[0]) * 0x9e3779b97f4a7c15u;
    v = (v ^ v >> 29 ^ (uint64_t)index[1]) * 0xbf58476d1ce4e5b9u;
    *(uint8_t *)value = (uint8_t)(v >> 40);
}

static struct hd_field *hashed(uint64_t *seed, const struct hd_map *map)
{
    struct hd_field *field;
    struct hd_view view;

    CHECK_OK(hd_view_function(hd_map_grid(map), 1, hash, seed, &view, &error),
             error);
    CHECK_OK(hd_agile(cluster, &view, map, &field, &error), error);
    return field;
}

static uint8_t *at(const struct hd_tile *tile, int64_t i, int64_t j)
{
    return (uint8_t *)tile->data + (i - tile->grid.offset[0]) * tile->step[0] +
           (j - tile->grid.offset[1]) * tile->step[1];
}

static hd_status add(struct hd_task *task, const struct hd_tile *c,
                     const struct hd_tile *in, void *data, struct hd_error *why)
{
    (void)task;
    (void)data;
    (void)why;
    for (int64_t i = 0; i < c->grid.extent[0]; i++)
        for (int64_t j = 0; j < c->grid.extent[1]; j++) {
            int64_t y = c->grid.offset[0] + i, x = c->grid.offset[1] + j;

            *at(c, y, x) = (uint8_t)(*at(&in[0], y, x) + *at(&in[1], y, x));
        }
    return HD_OK;
}

static void sums_are(struct hd_field *c, uint64_t a, uint64_t b,
                     bool transposed)
{
    const struct hd_map *map = hd_field_map(c);
    struct hd_segment s;

    for (uint64_t id = 0; id < hd_map_segments(map); id++) {
        struct hd_tile tile;

        if (!hd_map_segment(map, id, &s) ||
            !hd_field_segment(c, s.grid.offset, &tile))
            continue;
        for (int64_t i = 0; i < s.grid.extent[0]; i++)
            for (int64_t j = 0; j < s.grid.extent[1]; j++) {
                int64_t ij[] = {s.grid.offset[0] + i, s.grid.offset[1] + j};
                int64_t ji[] = {ij[1], ij[0]};
                uint8_t x, y;

                hash(&a, ij, &x);
                hash(&b, transposed ? ji : ij, &y);
                CHECK(*at(&tile, ij[0], ij[1]) == (uint8_t)(x + y));
            }
    }
}

// The 6144 x 6144 matrix of 36 blocks, on four nodes, block-cyclic, with a
// sixteenth of the rows and columns.
static uint64_t moves_of(const char *words, bool transposed, uint64_t *bytes)
{
    uint64_t one = 1, two = 2;
    struct hd_map *map = parse(words);
    struct hd_field *a = hashed(&one, map), *b = hashed(&two, map), *c;
    struct hd_input inputs[] = {{.view = hd_view_field(a)},
                                {.view = hd_view_field(b)}};
    struct hd_cluster_counters counters;

    CHECK_OK(hd_field_create(cluster, 1, map, &c, &error), error);
    if (transposed)
        CHECK_OK(hd_view_transpose(&inputs[1].view, (unsigned[]){1, 0},
                                   &inputs[1].view, &error),
                 error);
    struct hd_forall forall = {.output = c,
                               .inputs = inputs,
                               .input_count = 2,
                               .function = add,
                               .stay = true};

    hd_cluster_reset_counters(cluster);
    CHECK_OK(hd_forall(&forall, &error), error);
    sums_are(c, one, two, transposed);
    hd_cluster_counters(cluster, &counters);
    uint64_t moved = counters.blocks;
    *bytes = counters.moved;

    // What is there is not moved again, until it is written.
    CHECK_OK(hd_forall(&forall, &error), error);
    hd_cluster_counters(cluster, &counters);
    CHECK(counters.blocks == moved && counters.steals == 0);
    inputs[0].view = hd_view_field(b);
    CHECK_OK(hd_field_assign(a, &inputs[0].view, &error), error);
    inputs[0].view = inputs[1].view;
    inputs[1].view = hd_view_field(a);
    hd_field_destroy(a);
    hd_field_destroy(b);
    hd_field_destroy(c);
    hd_map_destroy(map);
    return moved;
}

static void blocks_move_as_in_the_worked_case(void)
{
    uint64_t bytes;

    CHECK(moves_of("384x384 tiles 128x128 cyclic nodes 4 memory 64x64 "
                   "tasks 64x64",
                   false, &bytes) == 0);
    CHECK(bytes == 0);
    CHECK(moves_of("384x384 tiles 128x128 cyclic nodes 4 memory 64x64 "
                   "tasks 64x64",
                   true, &bytes) == 16);
    CHECK(bytes == 16 << 12);
    CHECK(moves_of("384x384 tiles 128x128 cyclic nodes 4 memory 128x64 "
                   "tasks 64x64",
                   true, &bytes) == 8);
    CHECK(bytes == 16 << 12);
}

static void queues_are_in_order(void)
{
    static const int64_t third[8][2] = {{0, 4}, {0, 5}, {1, 4}, {1, 5},
                                        {4, 0}, {4, 1}, {5, 0}, {5, 1}};
    struct hd_map *map =
        parse("6144x6144 tiles 2048x2048 cyclic nodes 4 memory 1024x1024 "
              "tasks 1024x1024");
    struct hd_grid block;

    CHECK(hd_map_tasks(map, 0) == 12 && hd_map_tasks(map, 1) == 8);
    CHECK(hd_map_tasks(map, 2) == 8 && hd_map_tasks(map, 3) == 8);
    for (uint64_t k = 0; k < 8; k++) {
        CHECK(hd_map_task(map, 2, k, &block));
        CHECK(block.offset[0] == third[k][0] * 1024);
        CHECK(block.offset[1] == third[k][1] * 1024);
        CHECK(block.extent[0] == 1024 && block.extent[1] == 1024);
    }
    CHECK(!hd_map_task(map, 2, 8, &block));
    hd_map_destroy(map);

    // Task blocks that end with their memory blocks: 5 = 4 + 1, 4 = 2 + 2.
    map = parse("5x4 tiles 5x4 memory 4x2 tasks 2x1 nodes 1");
    static const int64_t all[12][2] = {{0, 0}, {0, 1}, {2, 0}, {2, 1},
                                       {0, 2}, {0, 3}, {2, 2}, {2, 3},
                                       {4, 0}, {4, 1}, {4, 2}, {4, 3}};
    CHECK(hd_map_tasks(map, 0) == 12);
    for (uint64_t k = 0; k < 12; k++) {
        CHECK(hd_map_task(map, 0, k, &block));
        CHECK(block.offset[0] == all[k][0] && block.offset[1] == all[k][1]);
        CHECK(block.extent[0] == (all[k][0] == 4 ? 1 : 2));
    }
    hd_map_destroy(map);
}

// A stencil whose margin is in other nodes' blocks, walked there and back.
static hd_status blur(struct hd_task *task, const struct hd_tile *c,
                      const struct hd_tile *in, void *data,
                      struct hd_error *why)
{
    (void)task;
    (void)data;
    (void)why;
    const struct hd_grid *grid = &in[0].grid;

    for (int64_t i = 0; i < c->grid.extent[0]; i++)
        for (int64_t j = 0; j < c->grid.extent[1]; j++) {
            int64_t y = c->grid.offset[0] + i, x = c->grid.offset[1] + j;
            unsigned sum = 0;

            for (int64_t v = y - 1; v <= y + 1; v++)
                for (int64_t u = x - 2; u <= x + 1; u++)
                    if (hd_grid_contains(grid, (int64_t[]){v, u}))
                        sum = 3 * sum + *at(&in[0], v, u);
            *at(c, y, x) = (uint8_t)sum;
        }
    return HD_OK;
}

static void stencil_gives(const char *words, uint8_t *values)
{
    uint64_t seed = 7;
    char text[128];
    snprintf(text, sizeof(text), words, hd_cluster_nodes(cluster));
    struct hd_map *map = parse(text), *one;
    struct hd_field *a = hashed(&seed, map), *b, *all;

    CHECK_OK(hd_field_create(cluster, 1, map, &b, &error), error);
    for (unsigned round = 0; round < 4; round++) {
        struct hd_input input = {
            .view = hd_view_field(a), .before = {1, 2}, .after = {1, 1}};
        struct hd_forall forall = {
            .output = b, .inputs = &input, .input_count = 1, .function = blur};
        struct hd_field *kept = a;

        CHECK_OK(hd_forall(&forall, &error), error);
        a = b;
        b = kept;
    }

    // The whole is brought to each node in turn; the first one's is looked at.
    one = parse("37x29 nodes 1");
    struct hd_view view = hd_view_field(a);
    CHECK_OK(hd_agile(cluster, &view, one, &all, &error), error);
    struct hd_tile tile;
    if (hd_field_segment(all, (int64_t[]){0, 0}, &tile))
        memcpy(values, tile.data, 37 * 29);
    hd_field_destroy(a);
    hd_field_destroy(b);
    hd_field_destroy(all);
    hd_map_destroy(map);
    hd_map_destroy(one);
}

static void stencils_are_the_same_on_all_maps(void)
{
    static const char *const words[] = {
        "37x29 tiles 37x29 nodes %u",
        "37x29 block nodes %u",
        "37x29 tiles 5x7 cyclic nodes %u tasks 2x3 memory 4x6",
        "37x29 tiles 4x3 columns block nodes %u",
        "37x29 tiles 9x29 cyclic nodes %u",
    };
    uint8_t first[37 * 29], values[37 * 29];

    for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        stencil_gives(words[i], i ? values : first);
        if (i && hd_cluster_has(cluster, 0))
            CHECK(memcmp(first, values, sizeof(first)) == 0);
    }
}

// Element access: a permutation of all elements, by touch.
static hd_status pick(struct hd_task *task, const struct hd_tile *c,
                      const struct hd_tile *in, void *data,
                      struct hd_error *why)
{
    struct hd_access access;

    (void)in;
    (void)data;
    (void)why;
    hd_access_begin(&access, task, 0);
    for (int64_t i = 0; i < c->grid.extent[0]; i++)
        for (int64_t j = 0; j < c->grid.extent[1]; j++) {
            int64_t y = c->grid.offset[0] + i, x = c->grid.offset[1] + j;
            int64_t from[] = {(y * 7 + x * 3) % 40, (x * 11 + y) % 30};
            const uint8_t *value =
                x % 2 ? hd_access_at(&access, from, 1)
                      : hd_access_at_2(&access, from[0], from[1], 1);

            if (!value)
                return access.status;
            *at(c, y, x) = *value;
        }
    return HD_OK;
}

static void touched_elements_come(bool in_place)
{
    uint64_t seed = 9;
    char text[128];
    snprintf(text, sizeof(text),
             "40x30 tiles 8x10 cyclic nodes %u memory 8x5 tasks 4x5",
             hd_cluster_nodes(cluster));
    struct hd_map *map = parse(text);
    struct hd_field *a = hashed(&seed, map), *c;
    struct hd_input input = {.view = hd_view_field(a), .touched = true};
    struct hd_cluster_counters counters;

    CHECK_OK(hd_field_create(cluster, 1, map, &c, &error), error);
    struct hd_forall forall = {.output = c,
                               .inputs = &input,
                               .input_count = 1,
                               .function = pick,
                               .stay = true,
                               .in_place = in_place};
    hd_cluster_reset_counters(cluster);
    CHECK_OK(hd_forall(&forall, &error), error);
    hd_cluster_counters(cluster, &counters);

    // Whole blocks came, each at most once to each node; where all are reached,
    // none when they are read in place.
    if (in_place && hd_cluster_processes(cluster) == 1)
        CHECK(counters.blocks == 0);
    CHECK(counters.moved == counters.blocks * 40);
    CHECK(counters.blocks <= 30 * hd_cluster_nodes(cluster));
    for (int64_t y = 0; y < 40; y++)
        for (int64_t x = 0; x < 30; x++) {
            int64_t from[] = {(y * 7 + x * 3) % 40, (x * 11 + y) % 30};
            int64_t index[] = {y, x};
            struct hd_view view = hd_view_field(c);
            uint8_t is, should;

            if (!hd_cluster_has(cluster, hd_map_node(map, index)))
                continue;
            CHECK_OK(hd_view_read(&view, index, &is, &error), error);
            hash(&seed, from, &should);
            CHECK(is == should);
        }
    hd_field_destroy(a);
    hd_field_destroy(c);
    hd_map_destroy(map);
}

// The first node is slow; where the others are of its process, it does not go
// on before one of them has done a task of its own.
struct sleepy {
    bool alone;            // one process has all nodes
    atomic_bool helped;    // somebody has
    atomic_uint tasks[16]; // done by each node
};

static hd_status doze(struct hd_task *task, const struct hd_tile *c,
                      const struct hd_tile *in, void *data,
                      struct hd_error *why)
{
    struct sleepy *sleepy = data;
    uint32_t node = hd_task_node(task);

    (void)why;
    if (node != 0 && hd_task_owner(task) == 0)
        atomic_store(&sleepy->helped, true);
    do
        nanosleep(&(struct timespec){.tv_nsec = node == 0 ? 2000000 : 200000},
                  NULL);
    while (sleepy->alone && node == 0 && !atomic_load(&sleepy->helped));
    atomic_fetch_add(&sleepy->tasks[node % 16], 1);
    for (int64_t i = 0; i < c->grid.extent[0]; i++)
        for (int64_t j = 0; j < c->grid.extent[1]; j++) {
            int64_t y = c->grid.offset[0] + i, x = c->grid.offset[1] + j;

            *at(c, y, x) = (uint8_t)(*at(c, y, x) + *at(&in[0], y, x));
        }
    return HD_OK;
}

static void idle_nodes_help_slow_ones(void)
{
    uint64_t seed = 3;
    char text[128];
    struct sleepy sleepy = {.alone = hd_cluster_processes(cluster) == 1};
    struct hd_cluster_counters counters;

    snprintf(text, sizeof(text), "64x80 tiles 4x4 block nodes %u",
             hd_cluster_nodes(cluster));
    struct hd_map *map = parse(text);
    struct hd_field *a = hashed(&seed, map), *c = hashed(&seed, map);
    struct hd_input input = {.view = hd_view_field(a)};
    struct hd_forall forall = {.output = c,
                               .inputs = &input,
                               .input_count = 1,
                               .function = doze,
                               .data = &sleepy,
                               .update = true};

    hd_cluster_reset_counters(cluster);
    CHECK_OK(hd_forall(&forall, &error), error);
    hd_cluster_counters(cluster, &counters);
    if (hd_cluster_processes(cluster) == 1) {
        unsigned sum = 0;

        for (unsigned n = 0; n < 16; n++)
            sum += sleepy.tasks[n];
        CHECK(sum == 320); // each once
        CHECK(counters.steals > 0);
        CHECK(atomic_load(&sleepy.helped));
    }
    // Whoever computed it, the owner has it.
    struct hd_view view = hd_view_field(c);
    for (int64_t y = 0; y < 64; y++)
        for (int64_t x = 0; x < 80; x++) {
            int64_t index[] = {y, x};
            uint8_t is, should;

            if (!hd_cluster_has(cluster, hd_map_node(map, index)))
                continue;
            CHECK_OK(hd_view_read(&view, index, &is, &error), error);
            hash(&seed, index, &should);
            CHECK(is == (uint8_t)(2 * should));
        }
    hd_field_destroy(a);
    hd_field_destroy(c);
    hd_map_destroy(map);
}

static hd_status fail_at_five(struct hd_task *task, const struct hd_tile *c,
                              const struct hd_tile *in, void *data,
                              struct hd_error *why)
{
    (void)task;
    (void)in;
    (void)data;
    if (c->grid.offset[0] != 5)
        return HD_OK;
    why->status = HD_EFAULT;
    snprintf(why->text, sizeof(why->text), "row 5 is bad");
    return HD_EFAULT;
}

static hd_status count_up(struct hd_task *task, const struct hd_tile *c,
                          const struct hd_tile *in, void *data,
                          struct hd_error *why)
{
    (void)task;
    (void)in;
    (void)data;
    (void)why;
    for (int64_t x = 0; x < c->grid.extent[1]; x++)
        ++((uint8_t *)c->data)[x * c->step[1]];
    return HD_OK;
}

static void errors_of_tasks_end_all(void)
{
    char text[128];
    struct hd_field *c;

    snprintf(text, sizeof(text), "20x3 tiles 1x3 cyclic nodes %u",
             hd_cluster_nodes(cluster));
    struct hd_map *map = parse(text);
    CHECK_OK(hd_field_create(cluster, 1, map, &c, &error), error);
    struct hd_forall forall = {.output = c, .function = fail_at_five};

    CHECK_FAILS(hd_forall(&forall, &error), HD_EFAULT, error, "row 5 is bad");

    // And the next ones work, though somebody may still be told of it.
    hd_field_destroy(c);
    CHECK_OK(hd_field_create(cluster, 1, map, &c, &error), error);
    forall.output = c;
    forall.function = count_up;
    forall.update = true;
    for (unsigned i = 0; i < 3; i++)
        CHECK_OK(hd_forall(&forall, &error), error);
    struct hd_view view = hd_view_field(c);
    for (int64_t y = 0; y < 20; y++) {
        uint8_t is;

        if (!hd_cluster_has(cluster, hd_map_node(map, (int64_t[]){y, 2})))
            continue;
        CHECK_OK(hd_view_read(&view, (int64_t[]){y, 2}, &is, &error), error);
        CHECK(is == 3);
    }
    struct hd_input self = {.view = hd_view_field(c)};
    forall.inputs = &self;
    forall.input_count = 1;
    CHECK_FAILS(hd_forall(&forall, &error), HD_EINVAL, error,
                "input 0 looks at the output");
    hd_field_destroy(c);
    hd_map_destroy(map);
}

// C = A + B^T with rows that are arrays, and results that go past the caches.
static hd_status add_rows(struct hd_task *task, const struct hd_tile *c,
                          const struct hd_tile *in, void *data,
                          struct hd_error *why)
{
    if (in[0].step[1] != 1 || in[1].step[1] != 1 || c->step[1] != 1)
        return HD_EINVAL;
    return add(task, c, in, data, why);
}

static void rows_are_arrays(bool past_caches, bool in_place)
{
    uint64_t one = 3, two = 4;
    char text[128];
    snprintf(text, sizeof(text),
             "45x45 tiles 7x9 cyclic nodes %u memory 4x6 tasks 2x3",
             hd_cluster_nodes(cluster));
    struct hd_map *map = parse(text);
    struct hd_field *a = hashed(&one, map), *b = hashed(&two, map), *c;
    struct hd_input inputs[] = {{.view = hd_view_field(a), .rows = true},
                                {.view = hd_view_field(b), .rows = true}};

    CHECK_OK(hd_view_transpose(&inputs[1].view, (unsigned[]){1, 0},
                               &inputs[1].view, &error),
             error);
    CHECK_OK(hd_field_create(cluster, 1, map, &c, &error), error);
    struct hd_forall forall = {.output = c,
                               .inputs = inputs,
                               .input_count = 2,
                               .function = add_rows,
                               .past_caches = past_caches,
                               .in_place = in_place};
    CHECK_OK(hd_forall(&forall, &error), error);
    sums_are(c, one, two, true);

    hd_field_destroy(a);
    hd_field_destroy(b);
    hd_field_destroy(c);
    hd_map_destroy(map);
}

static void try_all(void)
{
    rows_are_arrays(false, false);
    rows_are_arrays(true, true);
    stencils_are_the_same_on_all_maps();
    touched_elements_come(false);
    touched_elements_come(true);
    if (hd_cluster_nodes(cluster) > 1)
        idle_nodes_help_slow_ones();
    errors_of_tasks_end_all();
}

int main(void)
{
    queues_are_in_order();
    join(1, false, false);
    bool alone = hd_cluster_processes(cluster) == 1;
    try_all();
    hd_cluster_leave(cluster);
    if (!alone) {
        join(1, true, false);
        try_all();
        hd_cluster_leave(cluster);
        join(2, true, false);
        try_all();
        hd_cluster_leave(cluster);
        join(1, true, true);
        try_all();
        hd_cluster_leave(cluster);
        return 0;
    }
    join(4, false, true);
    blocks_move_as_in_the_worked_case();
    stencils_are_the_same_on_all_maps();
    hd_cluster_leave(cluster);
    join(4, false, false);
    try_all();
    hd_cluster_leave(cluster);
    join(3, false, false);
    try_all();
    hd_cluster_leave(cluster);
    return 0;
}
