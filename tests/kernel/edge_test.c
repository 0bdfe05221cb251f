// Vectors under masks touch nothing beyond what their work-items would have
// touched.
#include <sys/mman.h>
#include <unistd.h>

#include "tests/kernel/widths.h"

enum {
    N = 256
};

// Chunks that a limit keeps out are left out, those behind the limit only.
static void limits_hold(struct try *t)
{
    struct hd_program *p = try_build(
        t,
        "__kernel void k(__global int *x, __local int *part, int limit) {\n"
        "    int l = get_local_id(0);\n"
        "    part[l] = l;\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    if (l < limit) part[l] += 1000;\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    x[get_global_id(0)] = part[l];\n"
        "}\n",
        NULL);
    static int x[N], *px = x;

    for (int limit = -1; limit < 70; limit++) {
        memset(x, 0, sizeof(x));
        TRY_RUN(t, p, "k", ((struct try_range){1, {N}, {64}, {0}}),
                TRY_VALUE(px), TRY_LOCAL(64 * sizeof(int)), TRY_VALUE(limit));
        for (int i = 0; i < N; i++)
            CHECK(x[i] == i % 64 + (i % 64 < limit ? 1000 : 0));
    }
    hd_program_destroy(p);
}

// Vectors under masks stop before the end of local memory: those that do not
// are gathered and scattered.
static void vectors_stay_inside_local_memory(struct try *t)
{
    static const char read[] =
        "__kernel void k(__global float *x, __local float *part) {\n"
        "    int l = get_local_id(0);\n"
        "    part[l] = x[l];\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    if (x[l + 64] > 0) x[l] = part[l + 1];\n"
        "}\n";

    if (!t->device->can.features)
        return;
    CHECK(has_gathers(t, read, "x86-64-v4"));
}

// What lanes read and write there is what is there, wherever it ends.
static void the_end_of_local_memory_is_used(struct try *t)
{
    struct hd_program *p = try_build(
        t,
        "__kernel void k(__global int *x, __local int *part, int step) {\n"
        "    int l = get_local_id(0), n = get_local_size(0);\n"
        "    part[l] = l;\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    int next = l + step < n && l % 3 ? part[l + step] : -1;\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    if (l + step < n && l % 3) part[l + step] = 1000 * l + next;\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    x[get_global_id(0)] = part[l];\n"
        "}\n",
        NULL);
    static int x[N], *px = x;

    for (size_t size = 1; size <= 70; size++)
        for (int step = 0; step < 20; step++) {
            memset(x, 0, sizeof(x));
            TRY_RUN(t, p, "k", ((struct try_range){1, {size * 3}, {size}, {0}}),
                    TRY_VALUE(px), TRY_LOCAL(size * sizeof(int)),
                    TRY_VALUE(step));
            for (int i = 0; i < (int)size * 3; i++) {
                int at = i % (int)size, from = at - step;
                CHECK(x[i] == (from >= 0 && from % 3 ? 1000 * from + at : at));
            }
        }
    hd_program_destroy(p);
}

// Bytes and halves of words at scattered addresses are taken from words, of
// which none is touched beyond the page that its element is in.
static void elements_come_from_their_pages(struct try *t)
{
    static const char text[] =
        "__kernel void k(__global const int *at, __global const uchar *b,\n"
        "                __global const short *s, __global int *to) {\n"
        "    int i = get_global_id(0);\n"
        "    if (at[i] >= 0) to[i] = b[2 * at[i] + 1] * 65536 + s[at[i]];\n"
        "}\n";
    enum {
        COUNT = 100
    };
    static int at[COUNT], to[COUNT];
    const int *pat = at;
    int *pto = to;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    int16_t shorts[COUNT];
    unsigned char *map =
        mmap(NULL, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(map != MAP_FAILED);
    CHECK(mprotect(map + page, page, PROT_READ | PROT_WRITE) == 0);
    if (t->device->can.features) {
        struct hd_program *p = build_for(t, text, "x86-64-v4");
        CHECK(is_wide(p, "k", 16));
        CHECK(has_gathers(t, text, "x86-64-v4"));
        hd_program_destroy(p);
    }
    struct hd_program *p = try_build(t, text, NULL);
    for (int i = 0; i < COUNT; i++) {
        shorts[i] = (int16_t)(i * 4711 - 30000);
        at[i] = i % 9 == 4 ? -1 : i * 37 % COUNT;
    }
    for (int end = 0; end < 2; end++) {
        unsigned char *b = map + page + (end ? page - sizeof(shorts) : 0);
        memcpy(b, shorts, sizeof(shorts));
        memset(to, 0, sizeof(to));
        TRY_RUN(t, p, "k", ((struct try_range){1, {COUNT}, {COUNT}, {0}}),
                TRY_VALUE(pat), TRY_VALUE(b), TRY_VALUE(b), TRY_VALUE(pto));
        for (int i = 0; i < COUNT; i++)
            CHECK(to[i] ==
                  (at[i] < 0 ? 0 : b[2 * at[i] + 1] * 65536 + shorts[at[i]]));
    }
    hd_program_destroy(p);
    munmap(map, 3 * page);
}

int main(void)
{
    struct try t = try_open();

    limits_hold(&t);
    vectors_stay_inside_local_memory(&t);
    the_end_of_local_memory_is_used(&t);
    elements_come_from_their_pages(&t);
    try_close(&t);
    return 0;
}
