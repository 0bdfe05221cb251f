// What neighbouring work-items touch is recognised as neighbours, however its
// address comes about, and only what is.
#include "tests/kernel/widths.h"

enum {
    N = 256
};

// Lanes whose index wraps have neighbours elsewhere.
static void indices_may_wrap(struct try *t)
{
    struct hd_program *p = try_build(
        t,
        "__kernel void k(__global int *x, uint from, uint n, int rounds) {\n"
        "    for (int r = 0; r < rounds; r++) {\n"
        "        uint i = (uint)get_global_id(0) + from;\n"
        "        if (i < n) x[i] += 1;\n"
        "    }\n"
        "}\n",
        NULL);
    static int x[N], *px = x;
    int rounds = 3;

    for (uint32_t below = 0; below < 40; below++) {
        uint32_t from = 0 - below, n = N;
        memset(x, 0, sizeof(x));
        TRY_RUN(t, p, "k", ((struct try_range){1, {N}, {64}, {0}}),
                TRY_VALUE(px), TRY_VALUE(from), TRY_VALUE(n),
                TRY_VALUE(rounds));
        for (uint32_t i = 0; i < N; i++)
            CHECK(x[i] == (i < N - below ? rounds : 0));
    }
    hd_program_destroy(p);
}

// What goes on by the same amount for all stays as far from its neighbour as it
// begins: these loops do not gather, so that lanes pay.
static void walks_keep_their_step(struct try *t)
{
    static const char text[] =
        "__kernel void layers(__global const int *x, __global int *to, int "
        "nx,\n"
        "                     int ny, int nz) {\n"
        "    int i = get_global_id(0), j = get_global_id(1);\n"
        "    int at = j * nx + i, west = i == 0 ? at : at - 1, layer = nx * ny;"
        "\n"
        "    int below = 0;\n"
        "    for (int k = 0; k < nz; k++) {\n"
        "        to[at] = 3 * below + x[at] - x[west];\n"
        "        below = x[at];\n"
        "        at += layer; west += layer;\n"
        "    }\n"
        "}\n"
        "__kernel void lines(__global const int *x, __global int *to, int nx,\n"
        "                    int ny, int nz) {\n"
        "    __global const int *from = x + get_global_id(0);\n"
        "    int sum = 0;\n"
        "    for (int k = 0; k < ny * nz; k++) {\n"
        "        if (*from > 9) sum = 3 * sum + *from;\n"
        "        from += nx;\n"
        "    }\n"
        "    to[get_global_id(0)] = sum;\n"
        "}\n";
    enum {
        X = 45,
        Y = 6,
        Z = 4
    };
    static int x[X * Y * Z], to[X * Y * Z], *px = x, *pto = to;
    int nx = X, ny = Y, nz = Z;

    for (size_t k = 0; t->device->can.features && k < 3; k++) {
        struct hd_program *p = build_for(t, text, processors[k].cpu);
        CHECK(is_wide(p, "layers", processors[k].width));
        CHECK(is_wide(p, "lines", processors[k].width));
        for (int i = 0; i < 2; i++) {
            const char *name = i ? "lines" : "layers";
            CHECK(strstr(hd_kernel_info(hd_program_find(p, name))->explanation,
                         "region 0: vector width"));
        }
        hd_program_destroy(p);
    }
    struct hd_program *p = try_build(t, text, NULL);
    for (int i = 0; i < X * Y * Z; i++)
        x[i] = i * i % 251;
    TRY_RUN(t, p, "layers", ((struct try_range){2, {X, Y}, {16, 4}, {0}}),
            TRY_VALUE(px), TRY_VALUE(pto), TRY_VALUE(nx), TRY_VALUE(ny),
            TRY_VALUE(nz));
    for (int i = 0; i < X * Y * Z; i++)
        CHECK(to[i] == (i < X * Y ? 0 : 3 * x[i - X * Y]) + x[i] -
                           x[i % X == 0 ? i : i - 1]);
    TRY_RUN(t, p, "lines", ((struct try_range){1, {X}, {16}, {0}}),
            TRY_VALUE(px), TRY_VALUE(pto), TRY_VALUE(nx), TRY_VALUE(ny),
            TRY_VALUE(nz));
    for (int i = 0; i < X; i++) {
        uint32_t sum = 0;
        for (int k = 0; k < Y * Z; k++)
            if (x[k * X + i] > 9)
                sum = 3 * sum + (uint32_t)x[k * X + i];
        CHECK((uint32_t)to[i] == sum);
    }
    hd_program_destroy(p);
}

// Ids that are narrowed, widened again and masked far from where they are asked
// for: a sum over a square of a size that is not known.
static void narrowed_ids_keep_their_step(struct try *t)
{
    struct hd_program *p = try_build(
        t,
        "__kernel void k(__global const int *from, __global int *to, int w,\n"
        "                int h, int r) {\n"
        "    int x = get_global_id(0), y = get_global_id(1), sum = 0;\n"
        "    if (x < r || y < r || x >= w - r || y >= h - r) return;\n"
        "    for (int j = -r; j <= r; j++)\n"
        "        for (int i = -r; i <= r; i++)\n"
        "            sum += from[(y + j) * w + x + i];\n"
        "    to[y * w + x] = sum;\n"
        "}\n",
        NULL);
    enum {
        W = 53,
        H = 19
    };
    static int from[W * H], to[W * H], *pf = from, *pt = to;
    int w = W, h = H;

    for (int i = 0; i < W * H; i++)
        from[i] = i * i % 1009;
    for (int r = 0; r < 4; r++) {
        memset(to, 0, sizeof(to));
        TRY_RUN(t, p, "k", ((struct try_range){2, {W, H}, {8, 4}, {0}}),
                TRY_VALUE(pf), TRY_VALUE(pt), TRY_VALUE(w), TRY_VALUE(h),
                TRY_VALUE(r));
        for (int y = r; y < H - r; y++)
            for (int x = r; x < W - r; x++) {
                int sum = 0;
                for (int j = -r; j <= r; j++)
                    for (int i = -r; i <= r; i++)
                        sum += from[(y + j) * W + x + i];
                CHECK(to[y * W + x] == sum);
            }
    }
    hd_program_destroy(p);
}

// What is a constant away from an int that holds an id is still of neighbours.
static void ids_keep_their_step_beside_constants(struct try *t)
{
    static const char sum[] =
        "__attribute__((reqd_work_group_size(256, 1, 1)))\n"
        "__kernel void k(__global const float *from, __global float *to,\n"
        "                __global float *part) {\n"
        "    int l = get_local_id(0);\n"
        "    part[l] = from[get_global_id(0)];\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    for (int n = 128; n > 0; n >>= 1) {\n"
        "        if (l < n) part[l] += part[l + n];\n"
        "        barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    }\n"
        "    if (l == 0) to[get_group_id(0)] = part[0];\n"
        "}\n";
    static const char scattered[] =
        "__kernel void k(__global const int *from,\n"
        "                __global const int *at, __global int *to) {\n"
        "    int i = get_global_id(0), l = get_local_id(0);\n"
        "    to[i] = from[at[i + l]];\n"
        "}\n";

    if (!t->device->can.features) {
        puts("not looked for: gathers, which only x86-64 has here");
        return;
    }
    CHECK(!has_gathers(t, sum, "x86-64-v3"));
    CHECK(!has_gathers(t, sum, "x86-64-v4"));
    // Else the test would see none.
    CHECK(has_gathers(t, scattered, "x86-64-v4"));
}

static const char together[] =
    "__kernel void columns(__global const uchar *x, __global uint *sums, int w,"
    "\n"
    "                      int h) {\n"
    "    uint i = get_global_id(0), sum = 0;\n"
    "    for (int y = 0; y < h; y++) sum = 3 * sum + x[y * w + i];\n"
    "    sums[i] = sum;\n"
    "}\n"
    "__kernel void average(__global const uchar *x, __global uint *sums, int w,"
    "\n"
    "                      int h) {\n"
    "    int i = get_global_id(0);\n"
    "    uint sum = 0;\n"
    "    for (int y = 0; y < h; y++) sum = 3 * sum + x[y * w + i] / (y + 1);\n"
    "    sums[i] = sum;\n"
    "}\n";

// Where all go round a short loop and touch neighbours, chunks are of some
// vectors; those that are left at the end of a row of one.
static void short_loops_take_some_vectors(struct try *t)
{
    enum {
        MAX = 200,
        ROWS = 9
    };
    static unsigned char x[MAX * ROWS], *px = x;
    static uint32_t sums[MAX], *psums = sums;
    int w = MAX, h = ROWS;

    for (size_t k = 0; t->device->can.features && k < 3; k++) {
        struct hd_program *p = build_for(t, together, processors[k].cpu);
        CHECK(width(p, "columns") == 4 * processors[k].width);
        CHECK(is_wide(p, "columns", processors[k].width));
        CHECK(is_wide(p, "average", processors[k].width));
        hd_program_destroy(p);
    }
    struct hd_program *p = try_build(t, together, NULL);
    for (int i = 0; i < MAX * ROWS; i++)
        x[i] = (unsigned char)(i * i % 251);
    for (uint64_t n = 1; n <= MAX; n += 1 + n % 7) {
        memset(sums, 0xff, sizeof(sums));
        TRY_RUN(t, p, "columns", ((struct try_range){1, {n}, {16}, {0}}),
                TRY_VALUE(px), TRY_VALUE(psums), TRY_VALUE(w), TRY_VALUE(h));
        for (unsigned i = 0; i < MAX; i++) {
            uint32_t sum = 0;
            for (unsigned y = 0; y < ROWS; y++)
                sum = 3 * sum + x[y * MAX + i];
            CHECK(sums[i] == (i < n ? sum : UINT32_MAX));
        }
    }
    hd_program_destroy(p);
}

// Lanes that leave a short loop at different times are two vectors.
static void loops_left_apart_take_two_vectors(struct try *t)
{
    static const char text[] =
        "__kernel void escape(__global int *to, int most) {\n"
        "    int i = get_global_id(0), n = 0;\n"
        "    uint u = i + 1;\n"
        "    while (n < most && u % 16 != 0) {\n"
        "        u = u * 3 + 5 + (u >> 7);\n"
        "        n++;\n"
        "    }\n"
        "    to[i] = n;\n"
        "}\n";
    enum {
        MAX = 200
    };
    static int32_t to[MAX], *pto = to;
    int most = 50;

    for (size_t k = 0; t->device->can.features && k < 3; k++) {
        struct hd_program *p = build_for(t, text, processors[k].cpu);
        CHECK(width(p, "escape") == 2 * processors[k].width);
        hd_program_destroy(p);
    }
    struct hd_program *p = try_build(t, text, NULL);
    for (uint64_t n = 1; n <= MAX; n += 1 + n % 7) {
        memset(to, 0xff, sizeof(to));
        TRY_RUN(t, p, "escape", ((struct try_range){1, {n}, {0}, {0}}),
                TRY_VALUE(pto), TRY_VALUE(most));
        for (unsigned i = 0; i < MAX; i++) {
            int32_t count = 0;
            for (uint32_t u = i + 1; count < most && u % 16 != 0; count++)
                u = u * 3 + 5 + (u >> 7);
            CHECK(to[i] == (i < n ? count : -1));
        }
    }
    hd_program_destroy(p);
}

// What lies along y is gone through with what lies along x in short rows.
static void rows_are_short_across_lines(struct try *t)
{
    static const char text[] =
        "__kernel void turn(__global const uchar *x, __global uchar *to, int w,"
        "\n"
        "                   int h) {\n"
        "    int i = get_global_id(0), j = get_global_id(1);\n"
        "    to[i * h + j] = x[j * w + i];\n"
        "}\n"
        "__kernel void copy(__global const uchar *x, __global uchar *to, int w,"
        "\n"
        "                   int h) {\n"
        "    int i = get_global_id(0), j = get_global_id(1);\n"
        "    to[j * w + i] = x[j * w + i];\n"
        "}\n";
    enum {
        W = 75,
        H = 21
    };
    static const char said[] = "work-groups do not matter: short rows";
    static unsigned char x[W * H], to[W * H], *px = x, *pto = to;
    struct hd_program *p = try_build(t, text, NULL);
    int w = W, h = H;

    CHECK(
        strstr(hd_kernel_info(hd_program_find(p, "turn"))->explanation, said));
    CHECK(
        !strstr(hd_kernel_info(hd_program_find(p, "copy"))->explanation, said));
    for (int i = 0; i < W * H; i++)
        x[i] = (unsigned char)(i * i % 251);
    TRY_RUN(t, p, "turn", ((struct try_range){2, {W, H}, {25, 3}, {0}}),
            TRY_VALUE(px), TRY_VALUE(pto), TRY_VALUE(w), TRY_VALUE(h));
    for (int i = 0; i < W; i++)
        for (int j = 0; j < H; j++)
            CHECK(to[i * H + j] == x[j * W + i]);
    hd_program_destroy(p);
}

// A row's address takes too much to compute to do it again behind the barrier:
// it is kept per work-item, and all of a row still have the same. Not so where
// some have returned and have kept nothing, `early`.
static void what_is_kept_keeps_its_step(struct try *t)
{
    static const char text[] =
        "#define MIX(h) h = (h ^ h >> 3) * 5; h ^= h << 2;\n"
        "#define KERNEL(name, before) \\\n"
        "kernel void name(global const int *x, global int *to, uint n) { \\\n"
        "    local int part[256]; \\\n"
        "    int l = get_local_id(0), r = get_local_id(1); \\\n"
        "    before \\\n"
        "    uint h = r * 7 + n; \\\n"
        "    MIX(h) MIX(h) MIX(h) MIX(h) MIX(h) MIX(h) MIX(h) MIX(h) \\\n"
        "    part[r * 32 + l] = x[r * 32 + l] - h; \\\n"
        "    barrier(CLK_LOCAL_MEM_FENCE); \\\n"
        "    to[(h & 3) * 256 + r * 32 + l] = part[r * 32 + l]; \\\n"
        "}\n"
        "KERNEL(kept, ) KERNEL(early, if (x[r * 32 + l] > 0) return;)\n";
    static const char *const names[] = {"kept", "early"};
    struct hd_program *p = try_build(t, text, NULL);
    static int x[N], to[4 * N], *px = x, *pt = to;

    for (int i = 0; i < N; i++)
        x[i] = i % 3 - 1;
    for (uint32_t from = 0; from < 8; from++)
        for (unsigned k = 0; k < 2; k++) {
            uint32_t n = from + 99 * k; // nothing of the other's is of use
            memset(to, 0, sizeof(to));
            TRY_RUN(t, p, names[k],
                    ((struct try_range){2, {32, 8}, {32, 8}, {0}}),
                    TRY_VALUE(px), TRY_VALUE(pt), TRY_VALUE(n));
            for (uint32_t r = 0; r < 8; r++) {
                uint32_t h = r * 7 + n;
                for (int i = 0; i < 8; i++) {
                    h = (h ^ h >> 3) * 5;
                    h ^= h << 2;
                }
                for (uint32_t l = 0; l < 32; l++) {
                    bool gone = k == 1 && x[r * 32 + l] > 0;
                    uint32_t i = r * 32 + l, sum = 0, want = (uint32_t)x[i] - h;
                    for (uint32_t b = 0; b < 4; b++)
                        sum += (uint32_t)to[b * N + i];
                    CHECK(sum == (gone ? 0 : want));
                    CHECK((uint32_t)to[(h & 3) * N + i] == sum);
                }
            }
        }
    const char *why = hd_kernel_info(hd_program_find(p, "kept"))->explanation;
    CHECK(strstr(why, "saved per work-item: 4 bytes"));
    CHECK(!strstr(why, "scattered") && !strstr(why, "tested at run time"));
    hd_program_destroy(p);
}

int main(void)
{
    struct try t = try_open();

    indices_may_wrap(&t);
    walks_keep_their_step(&t);
    narrowed_ids_keep_their_step(&t);
    ids_keep_their_step_beside_constants(&t);
    short_loops_take_some_vectors(&t);
    loops_left_apart_take_two_vectors(&t);
    rows_are_short_across_lines(&t);
    what_is_kept_keeps_its_step(&t);
    try_close(&t);
    return 0;
}
