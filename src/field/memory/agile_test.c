// Agile fields: every element is where its map says, and has its value, after
// any redistribution, on 1 to 7 nodes. Started by mpirun it is the same.
#include "heddle/agile.h"

#include "tests/check.h"

static struct hd_error error;
static struct hd_cluster *cluster;
static bool messages; // only, and one node per process

static uint64_t random_state = 42;

static uint64_t random_below(uint64_t n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 33) % n;
}

static struct hd_map *parse(const char *text)
{
    struct hd_map *map;

    CHECK_OK(hd_map_parse(text, &map, &error), error);
    return map;
}

// An element's value says where it is.
static void number(void *data, const int64_t *index, void *value)
{
    unsigned rank = *(unsigned *)data;
    uint64_t v = 0;

    for (unsigned i = 0; i < rank; i++)
        v = v * 1000003 + (uint64_t)(index[i] + 1000);
    memcpy(value, &v, sizeof(v));
}

// Step to the next index of a grid; false at the end.
static bool next_index(const struct hd_grid *grid, int64_t *index)
{
    for (unsigned i = grid->rank; i-- > 0;) {
        if (++index[i] < grid->offset[i] + grid->extent[i])
            return true;
        index[i] = grid->offset[i];
    }
    return false;
}

// All elements that nodes of this process own are what `view` gives, which is
// a view of a function.
static void values_are(struct hd_field *field, const struct hd_view *view)
{
    const struct hd_map *map = hd_field_map(field);
    const struct hd_grid *grid = hd_map_grid(map);
    struct hd_view mine = hd_view_field(field);
    int64_t index[HD_MAX_RANK];

    memcpy(index, grid->offset, sizeof(index));
    do {
        uint32_t node = hd_map_node(map, index);
        uint64_t is, should;

        if (node == HD_NO_NODE || !hd_cluster_has(cluster, node))
            continue;
        CHECK_OK(hd_view_read(&mine, index, &is, &error), error);
        CHECK_OK(hd_view_read(view, index, &should, &error), error);
        if (is != should) {
            fprintf(stderr, "{%d, %d, ...}: %llu instead of %llu\n",
                    (int)index[0], (int)index[1], (unsigned long long)is,
                    (unsigned long long)should);
            exit(1);
        }
    } while (next_index(grid, index));
}

static void random_tiles(struct hd_map_params *params, unsigned axis,
                         int64_t *splits)
{
    int64_t extent = params->grid.extent[axis];

    switch (random_below(3)) {
    case 0:
        params->tiles[axis].extent =
            1 + (int64_t)random_below((uint64_t)extent);
        break;
    case 1: {
        unsigned count = 0;

        for (int64_t at = 1; at < extent && count < 8; at++)
            if (random_below(3) == 0)
                splits[count++] = params->grid.offset[axis] + at;
        params->tiles[axis].splits = splits;
        params->tiles[axis].split_count = count;
        break;
    }
    default:
        break;
    }
}

static struct hd_map *random_map(const struct hd_grid *grid, uint32_t nodes)
{
    struct hd_map_params params = {.grid = *grid};
    int64_t splits[HD_MAX_RANK][8];
    uint32_t weights[16];
    unsigned rank = grid->rank;
    struct hd_map *map;

    params.nodes = nodes;
    params.deal = random_below(2) ? HD_DEAL_CYCLIC : HD_DEAL_BLOCK;
    for (unsigned i = 0; i < rank; i++)
        if (random_below(4))
            random_tiles(&params, i, splits[i]);
    if (random_below(3) == 0) {
        unsigned left = nodes;

        params.nodes = 0;
        for (unsigned i = 0; i < rank; i++) {
            params.mesh[i] = i + 1 == rank || random_below(2) ? left : 1;
            left /= params.mesh[i];
            params.mesh_deal[i] =
                random_below(2) ? HD_DEAL_CYCLIC : HD_DEAL_BLOCK;
        }
    } else {
        unsigned first = (unsigned)random_below(rank);

        for (unsigned i = 0; i < rank; i++)
            params.order[i] = (first + i) % rank;
        for (uint32_t n = 0; n < nodes; n++)
            weights[n] = 1 + (uint32_t)random_below(3);
        if (random_below(3) == 0)
            params.weights = weights;
    }
    CHECK_OK(hd_map_create(&params, &map, &error), error);
    return map;
}

// The bytes that must move to this process's nodes.
static uint64_t least_bytes(const struct hd_map *from, const struct hd_map *to)
{
    const struct hd_grid *grid = hd_map_grid(to);
    int64_t index[HD_MAX_RANK];
    uint64_t bytes = 0;

    memcpy(index, grid->offset, sizeof(index));
    do {
        uint32_t node = hd_map_node(to, index);

        if (hd_cluster_has(cluster, node) && hd_map_node(from, index) != node)
            bytes += sizeof(uint64_t);
    } while (next_index(grid, index));
    return bytes;
}

static void random_maps_there_and_back(unsigned rounds)
{
    uint32_t nodes = hd_cluster_nodes(cluster);

    for (unsigned round = 0; round < rounds; round++) {
        struct hd_grid grid = {.rank = 1 + (unsigned)random_below(4)};
        struct hd_cluster_counters counters;
        struct hd_field *a, *b;
        struct hd_view view, of_a, of_b;

        for (unsigned i = 0; i < grid.rank; i++) {
            grid.extent[i] = 1 + (int64_t)random_below(grid.rank > 2 ? 9 : 40);
            grid.offset[i] = (int64_t)random_below(5) - 2;
        }
        struct hd_map *from = random_map(&grid, nodes);
        struct hd_map *to = random_map(&grid, nodes);

        CHECK_OK(hd_view_function(&grid, sizeof(uint64_t), number, &grid.rank,
                                  &view, &error),
                 error);
        CHECK_OK(hd_agile(cluster, &view, from, &a, &error), error);
        values_are(a, &view);
        of_a = hd_view_field(a);
        hd_cluster_reset_counters(cluster);
        CHECK_OK(hd_agile(cluster, &of_a, to, &b, &error), error);
        hd_cluster_counters(cluster, &counters);
        CHECK(counters.moved == least_bytes(from, to));
        if (messages)
            CHECK(counters.received == counters.moved);
        values_are(b, &view);
        hd_field_destroy(a);
        of_b = hd_view_field(b);
        CHECK_OK(hd_agile(cluster, &of_b, from, &a, &error), error);
        values_are(a, &view);
        hd_field_destroy(a);
        hd_field_destroy(b);
        hd_map_destroy(from);
        hd_map_destroy(to);
    }
}

// Views of fields, transposed, shifted, with strides either way, projected.
static void views_of_fields_are_laid_out(unsigned rounds)
{
    uint32_t nodes = hd_cluster_nodes(cluster);

    for (unsigned round = 0; round < rounds; round++) {
        struct hd_grid grid = {.rank = 3, .extent = {19, 23, 10}};
        struct hd_field *a, *b;
        struct hd_view f, v;

        CHECK_OK(hd_view_function(&grid, sizeof(uint64_t), number, &grid.rank,
                                  &f, &error),
                 error);
        struct hd_map *from = random_map(&grid, nodes);
        CHECK_OK(hd_agile(cluster, &f, from, &a, &error), error);
        v = hd_view_field(a);
        for (unsigned k = 0; k < 4; k++) {
            unsigned rank = v.grid.rank, order[3] = {0, 1, 2};
            int64_t step[3], by[3];
            unsigned axis = (unsigned)random_below(rank);
            int64_t at = v.grid.offset[axis] +
                         (int64_t)random_below((uint64_t)v.grid.extent[axis]);
            struct hd_grid part = v.grid;

            for (unsigned i = 0; i < rank; i++) {
                step[i] = random_below(2) ? -1 - (int64_t)random_below(2)
                                          : 1 + (int64_t)random_below(3);
                by[i] = (int64_t)random_below(9) - 4;
                unsigned other = (unsigned)random_below(rank);
                unsigned kept = order[i];
                order[i] = order[other];
                order[other] = kept;
            }
            switch (random_below(5)) {
            case 0:
                CHECK_OK(hd_view_transpose(&v, order, &v, &error), error);
                CHECK_OK(hd_view_transpose(&f, order, &f, &error), error);
                break;
            case 1:
                CHECK_OK(hd_view_stride(&v, step, &v, &error), error);
                CHECK_OK(hd_view_stride(&f, step, &f, &error), error);
                break;
            case 2:
                CHECK_OK(hd_view_shift(&v, by, &v, &error), error);
                CHECK_OK(hd_view_shift(&f, by, &f, &error), error);
                break;
            case 3:
                part.offset[axis] = at;
                part.extent[axis] -= at - v.grid.offset[axis];
                CHECK_OK(hd_view_section(&v, &part, &v, &error), error);
                CHECK_OK(hd_view_section(&f, &part, &f, &error), error);
                break;
            default:
                if (rank == 1)
                    break;
                CHECK_OK(hd_view_project(&v, axis, at, &v, &error), error);
                CHECK_OK(hd_view_project(&f, axis, at, &f, &error), error);
            }
        }
        struct hd_map *to = random_map(&v.grid, nodes);
        CHECK_OK(hd_agile(cluster, &v, to, &b, &error), error);
        values_are(b, &f);
        hd_field_destroy(a);
        hd_field_destroy(b);
        hd_map_destroy(from);
        hd_map_destroy(to);
    }
}

static void memory_is_laid_out(void)
{
    const struct hd_grid grid = {2, {5, 7}, {1, -1}};
    uint64_t values[35];
    unsigned rank = 2;
    struct hd_view memory, view;
    struct hd_field *field;
    struct hd_map *map = parse("7x5@-1x1 rows cyclic");

    CHECK_OK(hd_view_function(&grid, 8, number, &rank, &view, &error), error);
    for (int64_t i = 0; i < 5; i++)
        for (int64_t j = 0; j < 7; j++)
            CHECK_OK(hd_view_read(&view, (int64_t[]){i + 1, j - 1},
                                  &values[j * 5 + i], &error),
                     error);
    CHECK_OK(hd_view_memory(&grid, 8, values, true, &memory, &error), error);
    CHECK_OK(hd_view_transpose(&memory, (unsigned[]){1, 0}, &memory, &error),
             error);
    CHECK_OK(hd_view_transpose(&view, (unsigned[]){1, 0}, &view, &error),
             error);
    CHECK_OK(hd_agile(cluster, &memory, map, &field, &error), error);
    values_are(field, &view);
    hd_field_destroy(field);
    hd_map_destroy(map);
}

// The grids of nodes differ: 1 x n to n x 1, tiles that do not divide.
static void meshes_may_differ(void)
{
    uint32_t nodes = hd_cluster_nodes(cluster);
    char from[64], to[64];
    struct hd_grid grid = {2, {67, 45}, {0}};
    struct hd_field *a, *b;
    struct hd_view view, of_a;
    struct hd_cluster_counters counters;

    snprintf(from, sizeof(from), "67x45 tiles 8x4 mesh 1x%u", nodes);
    snprintf(to, sizeof(to), "67x45 tiles 5x7 mesh %ux1", nodes);
    struct hd_map *x = parse(from), *y = parse(to);

    CHECK_OK(hd_view_function(&grid, 8, number, &grid.rank, &view, &error),
             error);
    CHECK_OK(hd_agile(cluster, &view, x, &a, &error), error);
    CHECK_OK(hd_field_create(cluster, 8, y, &b, &error), error);
    of_a = hd_view_field(a);
    hd_cluster_reset_counters(cluster);
    CHECK_OK(hd_field_assign(b, &of_a, &error), error);
    hd_cluster_counters(cluster, &counters);
    CHECK(counters.plans == 1);
    values_are(b, &view);

    // The plan is kept.
    CHECK_OK(hd_field_assign(b, &of_a, &error), error);
    hd_cluster_counters(cluster, &counters);
    CHECK(counters.plans == 1);
    hd_field_destroy(a);
    hd_field_destroy(b);
    hd_map_destroy(x);
    hd_map_destroy(y);
}

// Elements of any size, of which one is larger than what moves at a time.
struct large {
    uint64_t word[97];
};

static void fill_large(void *data, const int64_t *index, void *value)
{
    struct large *l = value;

    (void)data;
    for (unsigned i = 0; i < 97; i++)
        l->word[i] = (uint64_t)index[0] * 97 + i;
}

static void elements_have_any_size(void)
{
    struct hd_grid grid = {1, {50}, {0}};
    struct hd_view view, of_a;
    struct hd_field *a, *b;
    char text[64];

    snprintf(text, sizeof(text), "50 block nodes %u",
             hd_cluster_nodes(cluster));
    struct hd_map *x = parse(text);
    snprintf(text, sizeof(text), "50 cyclic nodes %u",
             hd_cluster_nodes(cluster));
    struct hd_map *y = parse(text);
    CHECK_OK(hd_view_function(&grid, sizeof(struct large), fill_large, NULL,
                              &view, &error),
             error);
    CHECK_OK(hd_agile(cluster, &view, x, &a, &error), error);
    of_a = hd_view_field(a);
    CHECK_OK(hd_agile(cluster, &of_a, y, &b, &error), error);
    for (int64_t i = 0; i < 50; i++) {
        struct hd_view of_b = hd_view_field(b);
        struct large l;

        if (!hd_cluster_has(cluster, hd_map_node(y, &i)))
            continue;
        CHECK_OK(hd_view_read(&of_b, &i, &l, &error), error);
        for (unsigned k = 0; k < 97; k++)
            CHECK(l.word[k] == (uint64_t)i * 97 + k);
    }
    hd_field_destroy(a);
    hd_field_destroy(b);
    hd_map_destroy(x);
    hd_map_destroy(y);
}

static void labels_move_the_least(void)
{
    // A 3-cycle: a greedy exchange of pairs finds no gain in any pair alone.
    const uint32_t from_owners[] = {0, 0, 1, 1, 2, 2};
    const uint32_t to_owners[] = {1, 1, 2, 2, 0, 0};
    struct hd_map_params params = {.grid = {1, {6}, {0}},
                                   .nodes = 3,
                                   .tiles = {{.extent = 1}},
                                   .owners = from_owners,
                                   .owner_count = 6};
    struct hd_map *from, *to, *best;
    uint32_t label[3];

    CHECK_OK(hd_map_create(&params, &from, &error), error);
    params.owners = to_owners;
    CHECK_OK(hd_map_create(&params, &to, &error), error);
    CHECK_OK(hd_map_best_labels(from, to, label, &error), error);
    CHECK_OK(hd_map_relabel(to, label, &best, &error), error);
    for (int64_t i = 0; i < 6; i++)
        CHECK(hd_map_node(best, &i) == from_owners[i]);
    hd_map_destroy(best);
    hd_map_destroy(from);
    hd_map_destroy(to);

    // Random maps of 5 nodes, against all 120 assignments.
    for (unsigned round = 0; round < 20; round++) {
        struct hd_grid grid = {2, {12, 9}, {0}};
        struct hd_map *x = random_map(&grid, 5), *y = random_map(&grid, 5);
        int64_t most = 0, got = 0, size[5][5] = {{0}}, index[2];

        if (hd_map_nodes(x) == 5 && hd_map_nodes(y) == 5) {
            uint32_t found[5];

            for (index[0] = 0; index[0] < 12; index[0]++)
                for (index[1] = 0; index[1] < 9; index[1]++)
                    size[hd_map_node(x, index)][hd_map_node(y, index)]++;
            for (unsigned code = 0; code < 3125; code++) {
                unsigned p[5], seen = 0, rest = code;
                int64_t sum = 0;

                for (unsigned q = 0; q < 5; q++, rest /= 5) {
                    p[q] = rest % 5;
                    seen |= 1u << p[q];
                    sum += size[p[q]][q];
                }
                if (seen == 31 && sum > most)
                    most = sum;
            }
            CHECK_OK(hd_map_best_labels(x, y, found, &error), error);
            for (unsigned q = 0; q < 5; q++)
                got += size[found[q]][q];
            CHECK(got == most);
        }
        hd_map_destroy(x);
        hd_map_destroy(y);
    }
}

static void bad_arguments_are_refused(void)
{
    struct hd_map *map = parse("6x6 rows cyclic"), *many;
    struct hd_grid grid = {2, {6, 5}, {0}};
    struct hd_view view;
    struct hd_field *field, *other;
    unsigned rank = 2;
    char text[64];

    CHECK_OK(hd_view_function(&grid, 8, number, &rank, &view, &error), error);
    CHECK_FAILS(hd_agile(cluster, &view, map, &field, &error), HD_EINVAL, error,
                "the grids of the map and of the view differ");
    snprintf(text, sizeof(text), "60x60 rows cyclic nodes %u",
             hd_cluster_nodes(cluster) + 1);
    many = parse(text);
    CHECK_FAILS(hd_field_create(cluster, 8, many, &field, &error), HD_EINVAL,
                error, "the map is for");
    CHECK_FAILS(hd_field_create(cluster, 0, map, &field, &error), HD_EINVAL,
                error, "1 to");
    CHECK_OK(hd_field_create(cluster, 8, map, &field, &error), error);
    CHECK_OK(hd_field_create(cluster, 4, map, &other, &error), error);
    view = hd_view_field(field);
    CHECK_FAILS(hd_field_assign(field, &view, &error), HD_EINVAL, error,
                "values of itself");
    CHECK_FAILS(hd_field_assign(other, &view, &error), HD_EINVAL, error,
                "elements of 4 bytes cannot");
    CHECK_FAILS(hd_view_transpose(&view, (unsigned[]){1, 1}, &view, &error),
                HD_EINVAL, error, "named twice");
    CHECK_FAILS(hd_view_section(&view, &(struct hd_grid){2, {7, 1}, {0}}, &view,
                                &error),
                HD_EINVAL, error, "not inside");
    CHECK_FAILS(hd_view_project(&view, 1, 6, &view, &error), HD_EINVAL, error,
                "index 6 of axis 1");
    CHECK_FAILS(hd_view_stride(&view, (int64_t[]){1, 0}, &view, &error),
                HD_EINVAL, error, "axis 1");
    hd_field_destroy(field);
    hd_field_destroy(other);
    hd_map_destroy(map);
    hd_map_destroy(many);
}

// Maps that differ in nothing but a table: one process gives another node the
// larger share. Memory would be of different sizes.
static void maps_that_differ_are_told(void)
{
    bool first = hd_cluster_process(cluster) == 0;
    struct hd_map *map = parse(first ? "12 tiles 1 cyclic weights 2,1"
                                     : "12 tiles 1 cyclic weights 1,2");
    struct hd_field *field;

    CHECK_FAILS(hd_field_create(cluster, 8, map, &field, &error), HD_EINVAL,
                error, "different arguments");
    hd_map_destroy(map);
}

int main(void)
{
    static const unsigned counts[] = {1, 2, 3, 4, 7};
    static const struct {
        unsigned nodes;
        bool messages;
    } many[] = {{2, false}, {1, true}, {2, true}};

    for (unsigned i = 0; i < 5; i++) {
        struct hd_cluster_params params = {.nodes = counts[i], .piece = 512};

        CHECK_OK(hd_cluster_join(&params, &cluster, &error), error);
        // Processes that share cores take long to meet.
        bool alone = hd_cluster_processes(cluster) == 1;
        if (!alone) {
            hd_cluster_leave(cluster);
            params.nodes = many[i].nodes;
            params.messages = many[i].messages;
            messages = params.nodes == 1 && params.messages;
            CHECK_OK(hd_cluster_join(&params, &cluster, &error), error);
        }
        unsigned rounds = alone ? 60 : 8;

        random_maps_there_and_back(rounds);
        views_of_fields_are_laid_out(rounds);
        memory_is_laid_out();
        meshes_may_differ();
        elements_have_any_size();
        bad_arguments_are_refused();
        if (hd_cluster_processes(cluster) > 1)
            maps_that_differ_are_told();
        hd_cluster_leave(cluster);
        if (!alone && i == 2)
            break;
    }
    labels_move_the_least();
    return 0;
}
