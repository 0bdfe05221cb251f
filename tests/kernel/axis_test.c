// Kernels that take another dimension than the first for columns have their
// lanes along it, and do what they say whatever the shape of a launch.
#include <limits.h>

#include "tests/kernel/try.h"

enum {
    NX = 37,
    NY = 70,
    NZ = 5,
    N = NX * NY * NZ
};

#define IDS                                                  \
    "    int x = get_global_id(0) - get_global_offset(0);\n" \
    "    int y = get_global_id(1) - get_global_offset(1);\n" \
    "    int z = get_global_id(2) - get_global_offset(2);\n" \
    "    int at = (z * 37 + x) * 70 + y;\n"

// What each leaves in to[at] follows from its ids and from[].
static const char *const sources[] = {
    "kernel void k(global const int *from, global int *to, local int *row) {\n"
    "    int x = get_global_id(0), y = get_global_id(1);\n"
    "    int z = get_global_id(2);\n"
    "    int ox = get_global_offset(0), oy = get_global_offset(1);\n"
    "    int oz = get_global_offset(2);\n"
    "    int at = ((z - oz) * 37 + x - ox) * 70 + y - oy;\n"
    "    to[at] = from[at] + x * 3 + y * 5 + z * 7;\n"
    "}\n",
    "kernel void k(global const int *from, global int *to, local int *row) "
    "{\n" IDS "    int lx = get_local_id(0), ly = get_local_id(1), lz = "
    "get_local_id(2);\n"
    "    int nx = get_local_size(0), ny = get_local_size(1), sum = 0;\n"
    "    row[(lz * nx + lx) * ny + ly] = from[at];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    for (int i = 0; i < ny; i++) sum += row[(lz * nx + lx) * ny + i];\n"
    "    sum += 3 * row[(lz * nx + lx) * ny + (ly ^ 1) % ny];\n"
    "    if (lx == 0 && ly == 0) sum += 1000 * row[lz * nx * ny];\n"
    "    to[at] = sum + lx * 3 + (int)get_group_id(0) * 5 + ny * 7;\n"
    "}\n",
    "kernel void k(global const int *from, global int *to, local int *row) "
    "{\n" IDS "    int sum = get_work_dim();\n"
    "    for (int i = 0; i < from[at] % 7; i++) sum += from[x * 70 + i] * y;\n"
    "    if (y == (int)get_global_size(1) - 1) sum -= get_num_groups(0) * 9;\n"
    "    to[at] = sum + (int)get_num_groups(1) * 5;\n"
    "}\n",
};

struct place {
    int id[3], local[3], group[3], size[3];
};

static int expected(int kernel, const struct try_range *r, const int *from,
                    const struct place *p)
{
    int x = p->id[0], y = p->id[1], z = p->id[2];
    int at = (z * NX + x) * NY + y, sum = 0;
    int first = (z * NX + x) * NY + y - p->local[1];

    switch (kernel) {
    case 0:
        return from[at] + (x + (int)r->offset[0]) * 3 +
               (y + (int)r->offset[1]) * 5 + (z + (int)r->offset[2]) * 7;
    case 1:
        for (int i = 0; i < p->size[1]; i++)
            sum += from[first + i];
        sum += 3 * from[first + (p->local[1] ^ 1) % p->size[1]];
        if (p->local[0] == 0 && p->local[1] == 0)
            sum += 1000 * from[at];
        return sum + p->local[0] * 3 + p->group[0] * 5 + p->size[1] * 7;
    default:
        sum = (int)r->dims;
        for (int i = 0; i < from[at] % 7; i++)
            sum += from[x * NY + i] * y;
        if (y == (int)r->global[1] - 1)
            sum -= (NX + (int)r->local[0] - 1) / (int)r->local[0] * 9;
        return sum + (NY + (int)r->local[1] - 1) / (int)r->local[1] * 5;
    }
}

static void compare(int kernel, const struct try_range *r, const int *from,
                    const int *to)
{
    int sizes[3] = {NX, NY, r->dims == 3 ? NZ : 1};
    struct place p;

    for (p.id[2] = 0; p.id[2] < sizes[2]; p.id[2]++)
        for (p.id[0] = 0; p.id[0] < NX; p.id[0]++)
            for (p.id[1] = 0; p.id[1] < NY; p.id[1]++) {
                int at = (p.id[2] * NX + p.id[0]) * NY + p.id[1];
                for (int d = 0; d < 3; d++) {
                    int n = r->local[d] ? (int)r->local[d] : 1;
                    p.local[d] = p.id[d] % n;
                    p.group[d] = p.id[d] / n;
                    int left = sizes[d] - p.group[d] * n;
                    p.size[d] = left < n ? left : n;
                }
                int right = expected(kernel, r, from, &p);
                if (to[at] != right)
                    printf("kernel %d, groups of %u x %u x %u, (%d, %d, %d): "
                           "%d, not %d\n",
                           kernel, r->local[0], r->local[1], r->local[2],
                           p.id[0], p.id[1], p.id[2], to[at], right);
                CHECK(to[at] == right);
            }
}

static const struct try_range ranges[] = {
    {2, {NX, NY}, {1, 64}, {0}},       {2, {NX, NY}, {4, 16}, {3, 1000}},
    {2, {NX, NY}, {16, 4}, {0}},       {2, {NX, NY}, {37, 1}, {5, 7}},
    {2, {NX, NY}, {1, 1}, {0}},        {3, {NX, NY, NZ}, {2, 32, 2}, {1, 2, 3}},
    {3, {NX, NY, NZ}, {3, 5, 5}, {0}},
};

static const char along_y[] = "lanes along y, where neighbours touch what lies "
                              "side by side";

static void every_work_item_is_right(struct try *t)
{
    static int from[N], to[N];
    const int *pfrom = from;
    int *pto = to, turn = 0;

    for (int i = 0; i < N; i++)
        from[i] = i * 37 % 1009;
    for (int k = 0; k < (int)(sizeof(sources) / sizeof(sources[0])); k++) {
        struct hd_program *p = try_build(t, sources[k], NULL);
        const char *text = hd_kernel_info(hd_program_find(p, "k"))->explanation;
        printf("%s\n", text);
        CHECK(strstr(text, along_y));
        for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
            for (int at = 0; at < N; at++)
                to[at] = INT_MIN;
            t->split[0] = turn % 3 == 0 ? 2 : 0;
            t->split[1] = turn % 4 == 0 ? 1 : 0;
            t->backwards = turn++ % 2 == 0;
            TRY_RUN(t, p, "k", ranges[i], TRY_VALUE(pfrom), TRY_VALUE(pto),
                    TRY_LOCAL(256 * sizeof(int)));
            compare(k, &ranges[i], from, to);
        }
        hd_program_destroy(p);
    }
    t->split[0] = t->split[1] = 0;
    t->backwards = false;
}

#define ROWS                                                    \
    "kernel void k(global float *a, int n, local float *t) {\n" \
    "    int y = get_global_id(0), x = get_global_id(1);\n"     \
    "    int l = get_local_id(1);\n"                            \
    "    t[l] = a[y * n + x];\n"                                \
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"                       \
    "    a[y * n + x] = t[l] * 2;\n"                            \
    "}\n"
#define COLUMNS                                                 \
    "kernel void k(global float *a, int n, local float *t) {\n" \
    "    int x = get_global_id(0), y = get_global_id(1);\n"     \
    "    int l = get_local_id(0);\n"                            \
    "    t[l] = a[y * n + x];\n"                                \
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"                       \
    "    a[y * n + x] = t[l] + 1;\n"                            \
    "}\n"

// Lanes run where that reads memory as it lies, if there are work-items.
static void explained(struct try *t)
{
    static const struct {
        const char *text, *said, *unsaid;
    } kernels[] = {
        {ROWS, "side by side; along x from region 2 on", NULL},
        {"__attribute__((reqd_work_group_size(4, 32, 1)))\n" ROWS,
         "side by side\n", "along x"},
        {"__attribute__((reqd_work_group_size(64, 1, 1)))\n" ROWS, NULL,
         "lanes along"},
        {COLUMNS, NULL, "lanes along"},
        {"kernel void k(global const float *a, global const float *b,\n"
         "              global float *c, int n) {\n"
         "    int row = get_global_id(0), column = get_global_id(1);\n"
         "    float sum = 0;\n"
         "    for (int k = 0; k < n; k++)\n"
         "        sum += a[row * n + k] * b[k * n + column];\n"
         "    c[row * n + column] = sum;\n"
         "}\n",
         along_y, "scattered"},
        {"kernel void k(global const float *a, global float *b, int n) {\n"
         "    int z = get_global_id(0), y = get_global_id(1);\n"
         "    int x = get_global_id(2);\n"
         "    b[(z * n + y) * n + x] = a[(z * n + y) * n + x] + z;\n"
         "}\n",
         "lanes along z", "scattered"},
        // A transposition is as bad either way.
        {"kernel void k(global const float *a, global float *b, int n) {\n"
         "    int x = get_global_id(0), y = get_global_id(1);\n"
         "    b[x * n + y] = a[y * n + x];\n"
         "}\n",
         NULL, "lanes along"},
        // Work-items are seen in their order.
        {"kernel void k(global float *a, int n) {\n"
         "    int y = get_global_id(0), x = get_global_id(1);\n"
         "    a[y * n + x] += 1;\n"
         "    if (a[0] > 0) printf(\"%d\\n\", x);\n"
         "}\n",
         NULL, "lanes along"},
    };

    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
        struct hd_program *p = try_build(t, kernels[i].text, NULL);
        const char *text = hd_kernel_info(hd_program_find(p, "k"))->explanation;
        printf("%s\n", text);
        CHECK(!kernels[i].said || strstr(text, kernels[i].said));
        CHECK(!kernels[i].unsaid || !strstr(text, kernels[i].unsaid));
        hd_program_destroy(p);
    }
}

int main(void)
{
    struct try t = try_open();

    every_work_item_is_right(&t);
    explained(&t);
    try_close(&t);
    return 0;
}
