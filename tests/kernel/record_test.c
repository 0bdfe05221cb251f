// Elements of records that lie side by side are loaded and stored as memory
// lies, with no byte touched behind the last, and none written between.
#include <string.h>
#include <sys/mman.h>

#include "tests/kernel/try.h"

enum {
    N = 173,
    PAGE = 4096,
    MAP = 4 * PAGE
};

// `from` and `to` are one record for each work-item; `part` is one for each of
// the group and ends where local memory does.
static const char source[] =
    "typedef struct { float a, b, c; } three;\n"
    "typedef struct { int a; float b; uint c[3]; } five;\n"
    "typedef struct { int a, b, c, d, e, f; } six;\n"
    "typedef struct { float a, b, c, d, e, f, g, h; } eight;\n"
    "typedef struct { uchar a, b, c; } bytes;\n"
    "typedef struct { short a, b, c, d, e; } shorts;\n"
    "#define KERNEL(name, type, before, behind) \\\n"
    "kernel void name(global const type *from, global type *to, int n, \\\n"
    "                 local type *part) { \\\n"
    "    int l = get_local_id(0), last = get_local_size(0) - 1; \\\n"
    "    int i = get_global_id(0); \\\n"
    "    before \\\n"
    "    barrier(CLK_LOCAL_MEM_FENCE); \\\n"
    "    behind \\\n"
    "}\n"
    "KERNEL(pairs, float2, part[l] = from[i];,\n"
    "       to[i] = part[l].yx; if (l < last) to[i] += part[l + 1];)\n"
    "KERNEL(whole, three, part[l] = from[i];,\n"
    "       three p = part[l]; p.a += p.c; p.b -= p.a; to[i] = p;)\n"
    "KERNEL(holes, five, part[l].a = from[i].a; part[l].c[1] = from[i].c[1];,\n"
    "       if (i < n) { to[i].c[1] = part[l].a; to[i].b = part[l].c[1]; })\n"
    "KERNEL(halves, six, part[l].f = from[i].b; part[l].a = from[i].e;,\n"
    "       if (l % 3) { to[i].c = part[l].a; to[i].b = part[l].f; })\n"
    "KERNEL(upon, eight, part[l] = from[i];,\n"
    "       to[i].a += part[l].h + part[l].d; to[i].b += to[i].a; to[i].h = "
    "to[i].b;\n"
    "       if (i < n) { to[i].c = 1; to[i].d = to[i].g + to[i].e; })\n"
    "KERNEL(twice, double2, part[l] = from[i];,\n"
    "       if (i < n) to[i] = part[l].yx; to[i].x += part[l].y;)\n"
    "KERNEL(pixel, bytes, part[l].a = from[i].c; part[l].b = from[i].a;\n"
    "       part[l].c = from[i].b;,\n"
    "       if (i < n) to[i].a = part[l].b; to[i].b = part[l].c;)\n"
    "KERNEL(index, bytes, part[l].a = ((global const uchar *)from)[3 * i + "
    "1];,\n"
    "       ((global uchar *)to)[3 * i + 2] = part[l].a;)\n"
    // Of products of sums with constants.
    "KERNEL(away, bytes, int z = n >> 31;\n"
    "       part[l].a = ((global const uchar *)from)[(i + z + 1) * 3 - 2];,\n"
    "       ((global uchar *)to)[((n >> 31) - 1 + i) * 3 + 5] = part[l].a;)\n"
    "KERNEL(odd, int2, part[l] = from[i];, to[i] = part[l] + n * (l & 1);)\n"
    "KERNEL(small, shorts, part[l].a = from[i].e; part[l].e = from[i].d;,\n"
    "       to[i].c = part[l].e - part[l].a; to[i].b = part[l].a;)\n"
    "KERNEL(moved, six, part[l] = from[i];,\n"
    "       global int *p = &to[i].a; p[1] = part[l].a; p[0] = part[l].b;\n"
    "       p[1] = p[0] * 2; p[5] = p[1]; p[2] = part[l].f;)\n"
    "KERNEL(inside, six, part[l] = from[i];,\n"
    "       int a = to[i].a; ((global uchar *)&to[i].b)[1] = part[l].c;\n"
    "       to[i].c = a + to[i].b;)\n";

static const struct {
    const char *name;
    unsigned size; // of a record [bytes]
} kernels[] = {
    {"odd", 8},     {"index", 3},   {"pairs", 8},  {"whole", 12}, {"holes", 20},
    {"halves", 24}, {"upon", 32},   {"twice", 16}, {"pixel", 3},  {"small", 10},
    {"moved", 24},  {"inside", 24}, {"away", 3},
};

// Memory right before inaccessible one.
static unsigned char *fence(void)
{
    unsigned char *map = mmap(NULL, MAP, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(map != MAP_FAILED);
    CHECK(mprotect(map + MAP - PAGE, PAGE, PROT_NONE) == 0);
    return map;
}

static void *bytes_of(unsigned char *map, size_t size, unsigned seed)
{
    unsigned char *bytes = map + MAP - PAGE - size;

    // Floats, doubles and integers alike are numbers.
    memset(map, 0, MAP - PAGE);
    for (size_t i = 0; i < size; i++)
        bytes[i] = i % 4 == 3 ? 63 : (unsigned char)(i * 37 + seed + i / 7);
    return bytes;
}

// In both programs all kernels leave the same bytes behind.
static void run(struct try *t, struct hd_program *const programs[2],
                unsigned kernel, uint32_t group, uint32_t count, int n)
{
    unsigned char *from = fence(), *to[2] = {fence(), fence()};
    size_t size = kernels[kernel].size;
    const void *pf = bytes_of(from, count * size, 1);

    for (unsigned i = 0; i < 2; i++) {
        const void *pt = bytes_of(to[i], count * size, 2);
        TRY_RUN(t, programs[i], kernels[kernel].name,
                ((struct try_range){1, {count}, {group}, {0}}), TRY_VALUE(pf),
                TRY_VALUE(pt), TRY_VALUE(n), TRY_LOCAL(group * size));
    }
    if (memcmp(to[0], to[1], MAP - PAGE) != 0) {
        printf("%s: %u in groups of %u, %d\n", kernels[kernel].name, count,
               group, n);
        CHECK(false);
    }
    for (unsigned i = 0; i < 2; i++)
        CHECK(munmap(to[i], MAP) == 0);
    CHECK(munmap(from, MAP) == 0);
}

static void results_are_right(struct try *t,
                              struct hd_program *const programs[2])
{
    static const uint32_t groups[] = {1, 3, 16, 17, 32, 64, 173};

    for (unsigned k = 0; k < sizeof(kernels) / sizeof(kernels[0]); k++)
        for (unsigned g = 0; g < sizeof(groups) / sizeof(groups[0]); g++)
            for (int n = 0; n <= N; n += 43) {
                run(t, programs, k, groups[g], N, n);
                run(t, programs, k, groups[g], 64, n);
            }
}

// Other processors do not gather.
static void nothing_is_scattered(const struct try *t,
                                 const struct hd_program *p)
{
    const char *features = t->device->can.features;

    if (!features || !strstr(features, "avx512"))
        return;
    for (unsigned k = 0; k < sizeof(kernels) / sizeof(kernels[0]); k++) {
        if (strcmp(kernels[k].name, "inside") == 0)
            continue; // a byte here and there
        const char *text =
            hd_kernel_info(hd_program_find(p, kernels[k].name))->explanation;
        if (strstr(text, "scattered"))
            printf("%s: %s\n", kernels[k].name, text);
        CHECK(!strstr(text, "scattered"));
        CHECK(strstr(text, "masked lanes"));
    }
}

// Lanes run along y, where a group has one work-item.
static void one_lane_stores_its_record(struct try *t)
{
    static const char text[] =
        "kernel __attribute__((reqd_work_group_size(8, 1, 1)))\n"
        "void k(global const int *from, global int *to, int n) {\n"
        "  int own[4], x = get_global_id(0);\n"
        "  for (int i = 0; i < 4; i++) own[i] = n * i;\n"
        "  if (get_global_id(0) + get_global_id(1) == 0)\n"
        "    for (int d = 0; d < 3; d++) to[N + d] = get_local_size(d);\n"
        "  barrier(CLK_LOCAL_MEM_FENCE);\n"
        "  for (int k = 0; k < n; k++)\n"
        "    to[x] += from[x / 2] * from[x % 71];\n"
        "  to[x] += own[1 + n / 5] + own[n & 1];\n"
        "}\n";
    struct hd_program *p = try_build(t, text, "-DN=173");
    static int from[N], to[N + 3];
    const int *pf = from;
    int *pt = to, n = 5;

    for (int i = 0; i < N; i++)
        from[i] = i % 13;
    TRY_RUN(t, p, "k", ((struct try_range){1, {N}, {8}, {0}}), TRY_VALUE(pf),
            TRY_VALUE(pt), TRY_VALUE(n));
    for (int x = 0; x < N; x++)
        CHECK(to[x] == 5 * from[x / 2] * from[x % 71] + 2 * n + n);
    CHECK(to[N] == 8 && to[N + 1] == 1 && to[N + 2] == 1);
    hd_program_destroy(p);
}

int main(void)
{
    struct try t = try_open();
    struct hd_program *programs[] = {
        try_build(&t, source, NULL),
        try_build(&t, source, "-heddle-form=thread")};

    results_are_right(&t, programs);
    nothing_is_scattered(&t, programs[0]);
    one_lane_stores_its_record(&t);
    for (unsigned i = 0; i < 2; i++)
        hd_program_destroy(programs[i]);
    try_close(&t);
    return 0;
}
