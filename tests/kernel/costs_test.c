// What is made of a kernel goes by what instructions of a processor cost, and
// computes the same.
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/kernel/try.h"

static const char source[] =
    "kernel void count(global const uint *from, global uint *to,\n"
    "                  local uint *part) {\n"
    "    uint l = get_local_id(0);\n"
    "    part[l] = 0;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    atomic_add(&part[from[get_global_id(0)] & 31], 3);\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    to[get_global_id(0)] = part[l];\n"
    "}\n"
    // Neighbours where n has as many low bits as there are lanes.
    "kernel void mask(global const uint *from, global uint *to,\n"
    "                 local uint *part, uint n) {\n"
    "    uint l = get_local_id(0), k = l & (n - 1), at = 2 * (l - k) + k;\n"
    "    part[at] = from[get_global_id(0)];\n"
    "    part[at + n] = l;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    to[get_global_id(0)] = part[l] + 3 * part[l ^ n];\n"
    "}\n"
    // Numbers of 32 bits that no sum of ids and sizes outgrows.
    "kernel void sums(global const float2 *from, global float2 *to,\n"
    "                 local float2 *part) {\n"
    "    int l = get_local_id(0), size = get_local_size(0);\n"
    "    part[l] = from[l + 3 * size];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    to[l + size] = part[size - 1 - l];\n"
    "}\n"
    // Each its own row.
    "kernel void rows(global const float *from, global float *to, int n) {\n"
    "    int i = get_global_id(0);\n"
    "    float sum = 0;\n"
    "    for (int k = 0; k < n; k++)\n"
    "        sum += from[i * n + k];\n"
    "    to[i] = sum;\n"
    "}\n"
    // The same with sums in memory, which may be a row themselves.
    "kernel void kept(global const float *from, global float *to, int n,\n"
    "                 int turns) {\n"
    "    int i = get_global_id(0);\n"
    "    for (int t = 0; t < turns; t++)\n"
    "        for (int k = 0; k < n; k++)\n"
    "            to[i] += from[i * n + k];\n"
    "}\n"
    // Most of what lies between is not needed.
    "kernel void sixth(global const float *from, global float *to,\n"
    "                  local float *part) {\n"
    "    int l = get_local_id(0), size = get_local_size(0);\n"
    "    part[l] = from[6 * get_global_id(0)];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    to[get_global_id(0)] = part[l] + part[l ^ 1];\n"
    "}\n"
    // Three values that the loop keeps.
    "kernel void least(global const float *from, global float *to, int n) {\n"
    "    int i = get_global_id(0), size = get_global_size(0), at = 0;\n"
    "    float least = 1e9f, sum = 0;\n"
    "    for (int k = 0; k < n; k++) {\n"
    "        float x = from[k * size + i];\n"
    "        if (x < least) { least = x; at = k; }\n"
    "        sum += x;\n"
    "    }\n"
    "    to[i] = sum + at;\n"
    "}\n"
    // What the loop writes itself is not read ahead.
    "kernel void chain(global float *a, int n) {\n"
    "    int i = get_global_id(0);\n"
    "    float sum = 0;\n"
    "    for (int k = 0; k + 1 < n; k++) {\n"
    "        sum += a[i * n + k];\n"
    "        a[i * n + k + 1] += sum;\n"
    "    }\n"
    "}\n"
    // As mask: of elements that are dear to scatter, and of two that are never
    // neighbours.
    "#define MASK(name, type) \\\n"
    "kernel void name(global const type *from, global type *to, \\\n"
    "                 local type *part, uint n) { \\\n"
    "    uint l = get_local_id(0), k = l & (n - 1), at = 2 * (l - k) + k; \\\n"
    "    part[at] = from[get_global_id(0)]; \\\n"
    "    part[at + n] = l; \\\n"
    "    barrier(CLK_LOCAL_MEM_FENCE); \\\n"
    "    to[get_global_id(0)] = part[l] + 3 * part[l ^ n]; \\\n"
    "}\n"
    "MASK(pairs, uint2)\n"
    "MASK(longs, ulong2)\n";

static const char stored[] = "line 6: lanes are extracted through memory\n";
static const char looked_at[] = "contiguity is tested at run time";

static const char scattered[] = "reads from scattered addresses";
static const char windows[] = "rows of several lanes are transposed in blocks";

static struct hd_program *build_for(struct try *t, const char *cpus)
{
    const struct hd_program_params params = {
        .path = "test.cl", .source = source, .cpus = cpus};
    struct hd_program *p;
    struct hd_error error;

    CHECK_OK(hdi_program_create(&t->context, &params, &p, &error), error);
    return p;
}

static bool says(struct hd_program *p, const char *name, const char *text)
{
    return strstr(hd_kernel_info(hd_program_find(p, name))->explanation, text);
}

static void costs_decide(struct try *t)
{
    if (!t->device->can.features) {
        puts("not looked at: what other processors get");
        return;
    }
    struct hd_program *zen = build_for(t, "znver4"),
                      *xeon = build_for(t, "skylake-avx512"),
                      *avx2 = build_for(t, "x86-64-v3"),
                      *sse = build_for(t, "x86-64");

    CHECK(says(zen, "count", stored) && !says(xeon, "count", stored));
    CHECK(says(zen, "mask", looked_at) && !says(xeon, "mask", looked_at));
    CHECK(says(xeon, "mask", "scattered addresses"));
    CHECK(says(zen, "pairs", looked_at) && says(xeon, "pairs", looked_at));
    CHECK(says(avx2, "pairs", looked_at) && !says(avx2, "mask", looked_at));
    CHECK(!says(zen, "longs", looked_at) && !says(avx2, "longs", looked_at));
    CHECK(!says(zen, "sums", looked_at));
    CHECK(says(zen, "rows", windows) && !says(xeon, "rows", windows));
    CHECK(says(zen, "kept", windows) && !says(xeon, "kept", windows));
    CHECK(!says(zen, "chain", windows));
    CHECK(says(xeon, "sixth", scattered) && !says(zen, "sixth", scattered));
    CHECK(says(avx2, "least", "vector width 16, masked lanes"));
    CHECK(says(sse, "least", "vector width 4, masked lanes"));
    hd_program_destroy(zen);
    hd_program_destroy(xeon);
    hd_program_destroy(avx2);
    hd_program_destroy(sse);
}

static void sums_of_sizes_are_neighbours(struct try *t)
{
    struct hd_program *p = try_build(t, source, NULL);

    // The last line goes backwards, as vectors too.
    CHECK(!says(p, "sums", "line 19: reads from scattered"));
    CHECK(!says(p, "sums", "line 21: writes to scattered"));
    hd_program_destroy(p);
}

enum {
    N = 1024,
    GROUP = 128
};

// `words`: of an element, each of which is a number where they are no more than
// two, else each two of them.
static void masks_are_right(struct try *t, const struct hd_program *p,
                            const char *name, uint32_t words, uint32_t n)
{
    static uint32_t from[4 * N], *pf = from, to[4 * N], *pt = to;
    uint32_t step = words > 2 ? 2 : 1, part[2 * GROUP];

    for (uint32_t i = 0; i < words * N; i++)
        from[i] = i % step ? 0 : i * 2654435761u >> 7;
    TRY_RUN(t, p, name, ((struct try_range){1, {N}, {GROUP}, {0}}),
            TRY_VALUE(pf), TRY_VALUE(pt), TRY_LOCAL(8 * words * GROUP),
            TRY_VALUE(n));
    for (uint32_t g = 0; g < N; g += GROUP)
        for (uint32_t w = 0; w < words; w += step) {
            for (uint32_t l = 0; l < GROUP; l++) {
                uint32_t k = l & (n - 1), at = 2 * (l - k) + k;
                part[at] = from[words * (g + l) + w];
                part[at + n] = l;
            }
            for (uint32_t l = 0; l < GROUP; l++)
                CHECK(to[words * (g + l) + w] == part[l] + 3 * part[l ^ n]);
        }
}

static void results_are_right(struct try *t)
{
    struct hd_program *p = try_build(t, source, NULL);
    static uint32_t from[N], *pf = from, to[N], *pt = to;

    for (uint32_t i = 0; i < N; i++)
        from[i] = i * 2654435761u >> 7;
    TRY_RUN(t, p, "count", ((struct try_range){1, {N}, {GROUP}, {0}}),
            TRY_VALUE(pf), TRY_VALUE(pt), TRY_LOCAL(4 * GROUP));
    for (uint32_t i = 0; i < N; i++) {
        uint32_t sum = 0;
        for (uint32_t k = 0; k < GROUP; k++)
            sum += 3 * ((from[i / GROUP * GROUP + k] & 31) == i % GROUP);
        CHECK(to[i] == sum);
    }
    for (uint32_t n = 1; n <= GROUP; n *= 2) {
        masks_are_right(t, p, "mask", 1, n);
        masks_are_right(t, p, "pairs", 2, n);
        masks_are_right(t, p, "longs", 4, n);
    }
    hd_program_destroy(p);
}

// Rows of every length, from anywhere in pages to their very end, behind which
// nothing is.
static void rows_are_read_right(struct try *t)
{
    struct hd_program *p = try_build(t, source, NULL);
    static float to[64], *pt = to;
    const size_t page = 4096, pages = 64;
    char *memory = mmap(NULL, (pages + 1) * page, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(memory != MAP_FAILED);
    CHECK(mprotect(memory + pages * page, page, PROT_NONE) == 0);
    for (int n = 1; n <= 1024; n = n < 40 ? n + 1 : 2 * n + n % 3) {
        float *from = (float *)(void *)(memory + pages * page) - 64 * n;
        float *a = from, expected[64];
        for (int i = 0; i < 64 * n; i++)
            from[i] = (float)(i % 37 - 9);
        TRY_RUN(t, p, "rows", ((struct try_range){1, {64}, {64}, {0}}),
                TRY_VALUE(from), TRY_VALUE(pt), TRY_VALUE(n));
        for (int i = 0; i < 64; i++) {
            float sum = 0;
            for (int k = 0; k < n; k++)
                sum += from[i * n + k];
            CHECK(to[i] == sum);
        }
        if (n > 40)
            continue;
        for (int i = 0; i < 64 * n; i++)
            from[i] = (float)(i % 3);
        TRY_RUN(t, p, "chain", ((struct try_range){1, {64}, {64}, {0}}),
                TRY_VALUE(a), TRY_VALUE(n));
        for (int i = 0; i < 64; i++) {
            float sum = 0, next = (float)(i * n % 3);
            for (int k = 0; k + 1 < n; k++) {
                sum += next;
                next = (float)((i * n + k + 1) % 3) + sum;
            }
            expected[i] = next;
            CHECK(from[i * n + n - 1] == expected[i]);
        }
    }
    munmap(memory, (pages + 1) * page);
    hd_program_destroy(p);
}

// Sums that are kept behind their rows, and in rows of one element each.
static void what_a_loop_keeps_is_not_read_ahead(struct try *t)
{
    struct hd_program *p = try_build(t, source, NULL);
    enum {
        ROWS = 64,
        LONGEST = 40
    };
    static float cells[ROWS * (LONGEST + 1)], wanted[ROWS * (LONGEST + 1)];
    static float *from = cells;

    for (int n = 1; n <= LONGEST; n += 13)
        for (int same = 0; same <= (n == 1); same++) {
            float *to = cells + (same ? 0 : ROWS * n);
            int turns = 5;
            for (int i = 0; i < ROWS * (n + 1); i++)
                cells[i] = wanted[i] = (float)(i % 5);
            for (int r = 0; r < turns; r++)
                for (int i = 0; i < ROWS * n; i++)
                    wanted[to - cells + i / n] += wanted[i];
            TRY_RUN(t, p, "kept", ((struct try_range){1, {ROWS}, {ROWS}, {0}}),
                    TRY_VALUE(from), TRY_VALUE(to), TRY_VALUE(n),
                    TRY_VALUE(turns));
            CHECK(memcmp(cells, wanted, sizeof(cells)) == 0);
        }
    hd_program_destroy(p);
}

int main(void)
{
    struct try t = try_open();

    costs_decide(&t);
    sums_of_sizes_are_neighbours(&t);
    results_are_right(&t);
    rows_are_read_right(&t);
    what_a_loop_keeps_is_not_read_ahead(&t);
    try_close(&t);
    return 0;
}
