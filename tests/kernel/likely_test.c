// Indices of 32 bits that may wrap: memory is accessed as it lies as long as
// none does, and where one does each work-item touches what it names.
#include <string.h>
#include <sys/mman.h>

#include "tests/kernel/try.h"

enum {
    N = 150,
    PAGE = 4096
};

// All numbers of 32 bits are indices of `from` and `to`, of which the first and
// the last few are there.
static const char source[] =
    "#define KERNEL(name, type, before, behind) \\\n"
    "kernel void name(global const type *from, global type *to, uint first, "
    "\\\n"
    "                 uint n, local type *part) { \\\n"
    "    uint i = first + (uint)get_global_id(0); int l = get_local_id(0); \\\n"
    "    before \\\n"
    "    barrier(CLK_LOCAL_MEM_FENCE); \\\n"
    "    behind \\\n"
    "}\n"
    "KERNEL(bytes, uchar, part[l] = from[i] + 1;, to[i] = part[l];)\n"
    "KERNEL(shorts, short, part[l] = from[i] * 3;,\n"
    "       if (l % 3 != 1) to[i] = part[l];)\n"
    "KERNEL(ints, int, part[l] = from[as_int(i)] + 5;, to[as_int(i)] = "
    "part[l];)\n"
    "KERNEL(signs, char, part[l] = from[as_int(i)] + 5;, to[as_int(i)] = "
    "part[l];)\n"
    "KERNEL(four, uchar, uchar a = from[4 * i]; uchar b = from[4 * i + 1];\n"
    "       uchar c = from[4 * i + 2]; part[l] = from[4 * i + 3] + c;,\n"
    "       to[4 * i] = c; to[4 * i + 1] = a; to[4 * i + 2] = part[l];\n"
    "       to[4 * i + 3] = b;)\n"
    "KERNEL(three, uchar, uchar a = from[3 * i + 2]; uchar b = from[3 * i + "
    "1];\n"
    "       part[l] = from[3 * i];,\n"
    "       to[3 * i + 1] = a; to[3 * i] = b; to[3 * i + 2] = part[l];)\n"
    "KERNEL(halves, short, short a = from[as_int(2 * i - 1)];\n"
    "       part[l] = from[as_int(2 * i - 2)];,\n"
    "       to[as_int(2 * i - 2)] = a; to[as_int(2 * i - 1)] = part[l];)\n"
    "KERNEL(words, int, int a = from[5 * i + 4]; part[l] = from[5 * i + 1];,\n"
    "       if (l & 2) { to[5 * i + 3] = a; to[5 * i + 4] = part[l]; })\n"
    "KERNEL(beside, uchar, global const uchar *p = from + 4 * i;\n"
    "       part[l] = p[1] - p[3];, global uchar *q = to + 4 * i;\n"
    "       q[2] = part[l]; if (l & 4) q[0] = 1;)\n"
    // LLVM carries k from turn to turn as a number of 64 bits.
    "KERNEL(carried, ushort, part[l] = l;,\n"
    "       uint k = get_group_id(0) * get_local_size(0) + l;\n"
    "       for (; k < n; k += get_num_groups(0) * get_local_size(0))\n"
    "           to[3 * k + 1] = from[3 * k + 2] + part[l];)\n"
    // No loop and no barrier.
    "kernel void plain(global const uchar *from, global uchar *to, uint "
    "first,\n"
    "                  uint n, local uchar *part) {\n"
    "    uint i = first + (uint)get_global_id(0);\n"
    "    to[2 * i] = from[2 * i + 1]; to[2 * i + 1] = from[2 * i];\n"
    "}\n"
    // The second loop begins where the first ends, which it computes each turn.
    "KERNEL(turns, uchar, part[l] = from[2 * i + 1];,\n"
    "       for (uint k = l; k < n / 4; k += get_local_size(0))\n"
    "           to[2 * (first + k)] = part[l] - from[2 * (first + k)];\n"
    "       for (uint k = n / 4 + l; k < n; k += get_local_size(0))\n"
    "           to[2 * (first + k) + 1] = part[l] + 2;)\n";

// The first work-items do not come where the index is used, and have none: what
// is promised of it does not hold for them.
static const char guarded[] =
    "#define KERNEL(name, body) \\\n"
    "kernel void name(global const int *from, global int *to, uint first, "
    "\\\n"
    "                 local int *part) { \\\n"
    "    uint g = get_global_id(0); \\\n"
    "    int l = get_local_id(0), x = (int)(first + g), y = (int)g - 3; \\\n"
    "    part[l] = 3 * l; \\\n"
    "    barrier(CLK_LOCAL_MEM_FENCE); \\\n"
    "    to[3 * N + g] = part[l / 2]; \\\n"
    "    body \\\n"
    "}\n"
    "KERNEL(behind, if (x >= 0) to[x] = from[x] + 5;)\n"
    "KERNEL(pairs, if (x >= 0) { int a = from[2 * x];\n"
    "       to[2 * x] = from[2 * x + 1]; to[2 * x + 1] = a; })\n"
    "KERNEL(inner, if (y >= 0) { global int *p = to + y + (first + 3 + g);\n"
    "       int t = *p; if (t > 0) *p = 2 * t + from[y]; })\n"
    "KERNEL(below, if (g >= 3) { global int *p = to + (g - 3);\n"
    "       uint k = 2 * (g - 3) + first + 3; int t = to[k];\n"
    "       if (t > 0) { to[k] = 2 * t; to[k + 1] = from[k] + p[0] * 0; } })\n"
    // An address that each finds again, but that varies for all that is known.
    "KERNEL(left, int at = as_float(first) > 0 ? 1 : 2; int i = 0;\n"
    "       do to[2 * (size_t)g + at] += i; while (++i < (from[g] & 7));\n"
    "       to[2 * (size_t)g + at] *= 3;)\n";

static const struct {
    const char *name;
    unsigned size, step; // of an element [bytes], from index to index
    bool is_signed;
} kernels[] = {
    {"bytes", 1, 1, false}, {"shorts", 2, 1, false}, {"ints", 4, 1, true},
    {"signs", 1, 1, true},  {"four", 1, 4, false},   {"three", 1, 3, false},
    {"halves", 2, 2, true}, {"words", 4, 5, false},  {"beside", 1, 4, false},
    {"turns", 1, 2, false}, {"plain", 1, 2, false},  {"carried", 2, 3, false}};

static size_t room(unsigned size)
{
    return ((size_t)size << 32) + 2 * PAGE;
}

// Pages around are inaccessible.
static unsigned char *map(unsigned size, unsigned seed)
{
    unsigned char *all =
        mmap(NULL, room(size), PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    CHECK(all != MAP_FAILED);
    unsigned char *ends[] = {all + PAGE, all + room(size) - 2 * PAGE};
    for (unsigned e = 0; e < 2; e++) {
        CHECK(mprotect(ends[e], PAGE, PROT_READ | PROT_WRITE) == 0);
        for (unsigned i = 0; i < PAGE; i++)
            ends[e][i] = (unsigned char)(i * 37 + seed + e + i / 7);
    }
    return all + PAGE;
}

static void unmap(unsigned char *begin, unsigned size)
{
    CHECK(munmap(begin - PAGE, room(size)) == 0);
}

static bool are_alike(const unsigned char *a, const unsigned char *b,
                      unsigned size)
{
    size_t last = ((size_t)size << 32) - PAGE;
    return memcmp(a, b, PAGE) == 0 && memcmp(a + last, b + last, PAGE) == 0;
}

// The index wraps at work-item `at`. In both programs the kernel leaves the
// same bytes behind.
static void run(struct try *t, struct hd_program *const programs[2], unsigned k,
                uint32_t group, uint32_t at)
{
    unsigned size = kernels[k].size;
    uint64_t all = UINT64_C(1) << (kernels[k].is_signed ? 31 : 32);
    uint32_t first =
        (uint32_t)((all + kernels[k].step - 1) / kernels[k].step) - at;
    uint32_t n = N;
    size_t middle = kernels[k].is_signed ? (size_t)size << 31 : 0;
    unsigned char *from = map(size, 1), *to[2] = {map(size, 2), map(size, 2)};
    const void *pf = from + middle;

    for (unsigned i = 0; i < 2; i++) {
        void *pt = to[i] + middle;
        TRY_RUN(t, programs[i], kernels[k].name,
                ((struct try_range){1, {N}, {group}, {0}}), TRY_VALUE(pf),
                TRY_VALUE(pt), TRY_VALUE(first), TRY_VALUE(n),
                TRY_LOCAL((size_t)group * size));
    }
    if (!are_alike(to[0], to[1], size)) {
        printf("%s: in groups of %u, %u\n", kernels[k].name, group, at);
        CHECK(false);
    }
    for (unsigned i = 0; i < 2; i++)
        unmap(to[i], size);
    unmap(from, size);
}

static void results_are_right(struct try *t,
                              struct hd_program *const programs[2])
{
    static const uint32_t groups[] = {1, 15, 50, 75, 150};
    static const uint32_t ats[] = {1, 7, 16, 40, 100, 149, 150};

    for (unsigned k = 0; k < sizeof(kernels) / sizeof(kernels[0]); k++)
        for (unsigned g = 0; g < sizeof(groups) / sizeof(groups[0]); g++)
            for (unsigned a = 0; a < sizeof(ats) / sizeof(ats[0]); a++)
                run(t, programs, k, groups[g], ats[a]);
}

static void guards_keep_the_index_small(struct try *t)
{
    static const char *const names[] = {"behind", "pairs", "inner", "below",
                                        "left"};
    static int from[4 * N], to[2][4 * N];
    struct hd_program *programs[] = {
        try_build(t, guarded, "-DN=150"),
        try_build(t, guarded, "-DN=150 -heddle-form=thread")};
    const void *pf = from;

    for (int k = 0; k < 5; k++)
        for (uint32_t group = 15; group <= N; group *= 10) {
            for (unsigned i = 0; i < 2; i++) {
                uint32_t first = (uint32_t)-3;
                void *pt = to[i];
                for (int n = 0; n < 4 * N; n++) {
                    from[n] = n * 37 % 101;
                    to[i][n] = n * 7 - 100;
                }
                TRY_RUN(t, programs[i], names[k],
                        ((struct try_range){1, {N}, {group}, {0}}),
                        TRY_VALUE(pf), TRY_VALUE(pt), TRY_VALUE(first),
                        TRY_LOCAL((size_t)group * sizeof(int)));
            }
            if (memcmp(to[0], to[1], sizeof(to[0])) != 0) {
                printf("%s: in groups of %u\n", names[k], group);
                CHECK(false);
            }
        }
    for (unsigned i = 0; i < 2; i++)
        hd_program_destroy(programs[i]);
}

// Other processors do not gather.
static void nothing_is_scattered(const struct try *t,
                                 const struct hd_program *p)
{
    const char *features = t->device->can.features;

    if (!features || !strstr(features, "avx512"))
        return;
    for (unsigned k = 0; k < sizeof(kernels) / sizeof(kernels[0]); k++) {
        const char *text =
            hd_kernel_info(hd_program_find(p, kernels[k].name))->explanation;
        bool as_it_lies = strstr(text, "masked lanes") &&
                          !strstr(text, "scattered") &&
                          !strstr(text, "serialised");
        if (!as_it_lies)
            printf("%s: %s\n", kernels[k].name, text);
        CHECK(as_it_lies);
    }
}

int main(void)
{
    struct try t = try_open();
    struct hd_program *programs[] = {
        try_build(&t, source, NULL),
        try_build(&t, source, "-heddle-form=thread")};

    results_are_right(&t, programs);
    guards_keep_the_index_small(&t);
    nothing_is_scattered(&t, programs[0]);
    for (unsigned i = 0; i < 2; i++)
        hd_program_destroy(programs[i]);
    try_close(&t);
    return 0;
}
