// Two elements side by side are one access where the addresses of neighbours
// are scattered, and only where nothing comes between.
#include <string.h>

#include "tests/kernel/try.h"

enum {
    N = 346,
    EACH = 4 // elements of a work-item
};

// `take` and `give`: what a work-item does with the elements at `p`, those of
// another or its own, before and behind a barrier.
static const char source[] =
    "#define KERNEL(name, take, give) \\\n"
    "kernel void name(global int4 *to, int m, local int4 *all) { \\\n"
    "    int l = get_local_id(0), size = get_local_size(0); \\\n"
    "    int i = get_global_id(0), j = (l * 5 + m) % size, k = m & 3; \\\n"
    "    all[l] = (int4)(0, 1, 2, 3) + 4 * i; \\\n"
    "    barrier(CLK_LOCAL_MEM_FENCE); \\\n"
    "    local int *p = (local int *)&all[j]; \\\n"
    "    local int2 *q = (local int2 *)&all[j]; \\\n"
    "    take \\\n"
    "    barrier(CLK_LOCAL_MEM_FENCE); \\\n"
    "    give \\\n"
    "    barrier(CLK_LOCAL_MEM_FENCE); \\\n"
    "    to[i] = all[l]; \\\n"
    "}\n"
    "KERNEL(turn, int2 v = q[0];, q[1] = v.yx + l;)\n"
    "KERNEL(three, int a = p[0]; int b = p[1]; int c = p[2];,\n"
    "       p[0] = c; p[1] = a; p[2] = b;)\n"
    "KERNEL(reads, int t = 0;, p[0] = -l; t = p[k]; p[1] = t + 1;)\n"
    "KERNEL(writes, int a = p[0]; p[k] = -l; int b = p[1];, p[2] = a + b;)\n"
    "KERNEL(twice, int a = p[0];, p[0] = l; p[k] = a; p[1] = -l;)\n"
    "KERNEL(back, int b = p[1]; int a = p[0];, p[1] = a; p[0] = b - l;)\n"
    "KERNEL(some, int2 v = l & 1 ? q[0] : q[1];, if (l % 3) q[k / 2] = v.yx;)\n"
    "KERNEL(mixed, int a = p[0]; float b = as_float(p[1]);,\n"
    "       p[2] = a; ((local float *)p)[3] = b;)\n"
    "kernel void straight(global const float2 *from, global float2 *to,\n"
    "                     local float2 *part) {\n"
    "    int l = get_local_id(0), size = get_local_size(0);\n"
    "    part[l] = from[get_global_id(0)];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    if (l + 1 < size) to[get_global_id(0)] = part[l + 1] - part[l];\n"
    "}\n";

static void take(const char *name, int *p, int l, int k, int v[3])
{
    memcpy(v, p, 3 * sizeof(*v));
    if (strcmp(name, "writes") == 0) {
        p[k] = -l;
        v[1] = p[1];
    } else if (strcmp(name, "some") == 0 && !(l & 1)) {
        memcpy(v, p + 2, 2 * sizeof(*v));
    }
}

static void give(const char *name, int *p, int l, int k, const int v[3])
{
    if (strcmp(name, "turn") == 0) {
        p[2] = v[1] + l;
        p[3] = v[0] + l;
    } else if (strcmp(name, "three") == 0) {
        p[0] = v[2];
        p[1] = v[0];
        p[2] = v[1];
    } else if (strcmp(name, "reads") == 0) {
        p[0] = -l;
        p[1] = p[k] + 1;
    } else if (strcmp(name, "writes") == 0) {
        p[2] = v[0] + v[1];
    } else if (strcmp(name, "twice") == 0) {
        p[0] = l;
        p[k] = v[0];
        p[1] = -l;
    } else if (strcmp(name, "back") == 0) {
        p[1] = v[0];
        p[0] = v[1] - l;
    } else if (strcmp(name, "some") == 0 && l % 3) {
        p[k / 2 * 2] = v[1];
        p[k / 2 * 2 + 1] = v[0];
    } else if (strcmp(name, "mixed") == 0) {
        p[2] = v[0];
        p[3] = v[1];
    }
}

static void run(struct try *t, const struct hd_program *p, const char *name,
                int size, int m)
{
    static int to[N * EACH], all[N * EACH], *pto = to;
    int v[N][3], n = N / size * size, wrong = 0;

    memset(to, 0, sizeof(to));
    TRY_RUN(t, p, name,
            ((struct try_range){1, {(uint64_t)n}, {(uint32_t)size}, {0}}),
            TRY_VALUE(pto), TRY_VALUE(m),
            TRY_LOCAL((size_t)size * EACH * sizeof(int)));
    for (int begin = 0; begin < n; begin += size) {
        int *group = all + begin * EACH;
        for (int i = 0; i < size * EACH; i++)
            group[i] = begin * EACH + i;
        for (int l = 0; l < size; l++)
            take(name, group + (l * 5 + m) % size * EACH, l, m & 3, v[l]);
        for (int l = 0; l < size; l++)
            give(name, group + (l * 5 + m) % size * EACH, l, m & 3, v[l]);
    }
    for (int i = 0; i < n * EACH; i++)
        wrong += to[i] != all[i];
    if (wrong)
        printf("%s, group of %d, %d: %d wrong\n", name, size, m, wrong);
    CHECK(wrong == 0);
}

static void results_are_right(struct try *t, const struct hd_program *p)
{
    static const char *const names[] = {"turn",  "three", "reads", "writes",
                                        "twice", "back",  "some",  "mixed"};
    static const int sizes[] = {1, 3, 16, 17, 32, 37, 64, 173};

    for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++)
        for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
            for (int m = 0; m < 6; m++)
                run(t, p, names[n], sizes[s], m);
}

static bool is_scattered(const struct hd_program *p, const char *name)
{
    const struct hd_kernel *kernel = hd_program_find(p, name);

    CHECK(kernel);
    return strstr(hd_kernel_info(kernel)->explanation, "scattered addresses");
}

// Pairs of neighbours are neighbours, in chunks with missing lanes too.
static void pairs_in_a_row_are_not_scattered(struct try *t,
                                             const struct hd_program *p)
{
    static float from[2 * N], to[2 * N], *pf = from, *pt = to;

    // Other processors do not gather.
    const char *features = t->device->can.features;
    if (features && strstr(features, "avx2")) {
        CHECK(!is_scattered(p, "straight"));
        CHECK(is_scattered(p, "turn"));
    }
    for (int i = 0; i < 2 * N; i++)
        from[i] = (float)(i * i);
    TRY_RUN(t, p, "straight", ((struct try_range){1, {N}, {37}, {0}}),
            TRY_VALUE(pf), TRY_VALUE(pt), TRY_LOCAL(37 * 2 * sizeof(float)));
    for (int i = 0; i < 2 * N; i++) {
        bool is_last = i / 2 % 37 == 36 || i / 2 == N - 1;
        CHECK(to[i] == (is_last ? 0 : from[i + 2] - from[i]));
    }
}

int main(void)
{
    struct try t = try_open();
    struct hd_program *p = try_build(&t, source, NULL);

    results_are_right(&t, p);
    pairs_in_a_row_are_not_scattered(&t, p);
    hd_program_destroy(p);
    try_close(&t);
    return 0;
}
