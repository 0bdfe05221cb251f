// Copies by the group, plain and strided, both ways, of every type: numbers of
// all kinds and widths.
#include <stdio.h>

#include "tests/kernel/try.h"

enum {
    MAX = 40,    // elements of a copy
    STRIDES = 5, // from 1 up
    RESULTS = 4, // rows of MAX * 2 elements
    ELEMENT = 16 * 8,
    FILLER = 0x5a
};

static const char source[] =
    "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"
    "#define COPIES(T) \\\n"
    "kernel void copy_##T(global const T *x, global T *r, uint n, uint step) "
    "{ \\\n"
    "    local T tile[40], other[80]; \\\n"
    "    event_t e[2]; \\\n"
    "    prefetch(x, n); \\\n"
    "    e[0] = async_work_group_copy(tile, x, n, 0); \\\n"
    "    e[1] = async_work_group_strided_copy(other, x, n, step, e[0]); \\\n"
    "    wait_group_events(2, e); \\\n"
    "    e[0] = async_work_group_copy(r, tile, n, 0); \\\n"
    "    e[0] = async_work_group_copy(r + 80, other, n, e[0]); \\\n"
    "    wait_group_events(1, e); \\\n"
    "    e[0] = async_work_group_strided_copy(r + 160, tile, n, 2, 0); \\\n"
    "    wait_group_events(1, e); \\\n"
    "    if (get_local_id(0) == 0) \\\n"
    "        for (uint i = 0; i < n; i++) \\\n"
    "            r[240 + i] = other[n - 1 - i]; \\\n"
    "}\n"
    "#define ALL(T) COPIES(T) COPIES(T##2) COPIES(T##3) COPIES(T##4) \\\n"
    "    COPIES(T##8) COPIES(T##16)\n"
    "#ifdef SOME\n"
    "COPIES(char) COPIES(ushort3) COPIES(half2) COPIES(float4) COPIES(long8)\n"
    "COPIES(double16)\n"
    "#else\n"
    "ALL(char) ALL(uchar) ALL(short) ALL(ushort) ALL(int) ALL(uint)\n"
    "ALL(long) ALL(ulong) ALL(half) ALL(float) ALL(double)\n"
    "#endif\n";

static const struct {
    const char *name;
    size_t size; // of a component [bytes]
} types[] = {{"char", 1}, {"uchar", 1}, {"short", 2}, {"ushort", 2},
             {"int", 4},  {"uint", 4},  {"long", 8},  {"ulong", 8},
             {"half", 2}, {"float", 4}, {"double", 8}};
static const unsigned widths[] = {1, 2, 3, 4, 8, 16};

static _Alignas(128) unsigned char x[MAX * STRIDES * ELEMENT];
static _Alignas(128) unsigned char r[RESULTS * 2 * MAX * ELEMENT];

// Element `to` of row `row` is element `from` of x, but for what lies behind
// three components.
static bool is_copy(size_t row, size_t to, size_t from, size_t element,
                    size_t used)
{
    return memcmp(r + (row * 2 * MAX + to) * element, x + from * element,
                  used) == 0;
}

static bool is_untouched(size_t row, size_t at, size_t element)
{
    const unsigned char *bytes = r + (row * 2 * MAX + at) * element;

    for (size_t i = 0; i < element; i++)
        if (bytes[i] != FILLER)
            return false;
    return true;
}

static void check(const char *name, size_t element, size_t used, uint32_t n,
                  uint32_t step)
{
    for (size_t i = 0; i < 2 * MAX; i++) {
        bool right = i < n
                         ? is_copy(0, i, i, element, used) &&
                               is_copy(1, i, i * step, element, used) &&
                               is_copy(3, i, (n - 1 - i) * step, element, used)
                         : is_untouched(0, i, element) &&
                               is_untouched(1, i, element) &&
                               is_untouched(3, i, element);
        right = right &&
                (i < 2 * n && i % 2 == 0 ? is_copy(2, i, i / 2, element, used)
                                         : is_untouched(2, i, element));
        if (right)
            continue;
        fprintf(stderr, "%s: %u elements in steps of %u: element %zu\n", name,
                n, step, i);
        exit(1);
    }
}

static void try_type(struct try *t, const struct hd_program *p, size_t type,
                     unsigned width)
{
    const size_t used = width * types[type].size;
    const size_t element = (width == 3 ? 4 : width) * types[type].size;
    unsigned char *px = x, *pr = r;
    char name[64];

    if (width == 1)
        snprintf(name, sizeof(name), "copy_%s", types[type].name);
    else
        snprintf(name, sizeof(name), "copy_%s%u", types[type].name, width);
    if (!hd_program_find(p, name))
        return;
    for (uint32_t local = 1; local <= 64; local *= 4)
        for (uint32_t step = 1; step <= STRIDES; step += 2) {
            uint32_t n = MAX - local / 3;
            memset(r, FILLER, sizeof(r));
            TRY_RUN(t, p, name, ((struct try_range){1, {local}, {local}, {0}}),
                    TRY_VALUE(px), TRY_VALUE(pr), TRY_VALUE(n),
                    TRY_VALUE(step));
            check(name, element, used, n, step);
        }
}

static void every_type_is_copied(struct try *t, const char *options)
{
    struct hd_program *p = try_build(t, source, options);

    for (size_t type = 0; type < sizeof(types) / sizeof(*types); type++)
        for (size_t w = 0; w < sizeof(widths) / sizeof(*widths); w++)
            try_type(t, p, type, widths[w]);
    hd_program_destroy(p);
}

int main(void)
{
    struct try t = try_open();

    for (size_t i = 0; i < sizeof(x); i++)
        x[i] = (unsigned char)(i * 2654435761u >> 13);
    // Every form has the same functions: all of them where compiling is quick.
    t.form = "-heddle-debug";
    every_type_is_copied(&t, "-cl-std=CL1.2");
    t.form = "-heddle-form=loops";
    every_type_is_copied(&t, "-cl-std=CL3.0 -DSOME");
    try_close(&t);
    return 0;
}
