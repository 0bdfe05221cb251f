// Lanes that read and write elements of one stretch of memory in another order
// find and leave what work-items one after the other do: all orders, of all
// lanes or some, wherever the stretch begins.
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/kernel/try.h"

enum {
    N = 210, // work-items of a group, at most
    ROOM = 4 // by which arrays may begin later
};

// `read` and `write`: the index that work-item l, of `size`, takes or leaves;
// `some`: which ones do. A number may be a float.
#define TURN(at) ((l & ~15) | ((at)&15))
#define ORDERS(ORDER)                                                   \
    ORDER(swap, int, l ^ d, l ^ d, 1)                                   \
    ORDER(swap_floats, float, l ^ d, l ^ d, 1)                          \
    ORDER(swap_some, int, l ^ d, l ^ d, (l * 7 & 5) != 1)               \
    ORDER(swap_up, int, l ^ d, l ^ d, (l ^ d) > l)                      \
    ORDER(swap_bytes, char, l ^ d, l ^ d, 1)                            \
    ORDER(swap_long, long, l ^ d, l ^ d, 1)                             \
    ORDER(mirror, int, l ^ 15, l ^ 15, l % 3 != 0)                      \
    ORDER(turn, int, TURN(l + d), TURN(l + d), 1)                       \
    ORDER(turn_some, int, TURN(l + d), TURN(l - d), l & 8)              \
    ORDER(step, int, TURN(l *(2 * d + 1)), TURN(l * 5), 1)              \
    ORDER(halves, int, l / 2, l ^ 1, l % 5 != 2)                        \
    ORDER(rows, int, (l >> 3) * 9 + (l & 7), (l & ~7) * 3 | (l & 7), 1) \
    ORDER(same, float, l & ~d, l ^ 2, 1)                                \
    ORDER(other, int, (l ^ d) + (d & 1), l ^ 1, 1)

static const char source[] =
    "#define TURN(at) ((l & ~15) | ((at) & 15))\n"
    "#define ORDER(name, type, read, write, some) \\\n"
    "kernel void name(global int *to, int d, int later, \\\n"
    "                 local type *here, local type *there) { \\\n"
    "    int l = get_local_id(0), size = get_local_size(0), k; \\\n"
    "    local type *x = here + later, *y = there + later; \\\n"
    "    x[l] = (type)(3 * l + 1); \\\n"
    "    y[l] = 0; \\\n"
    "    barrier(CLK_LOCAL_MEM_FENCE); \\\n"
    "    if ((some) && (k = (read)) < size) { \\\n"
    "        type t = x[k]; \\\n"
    "        k = write; \\\n"
    "        if (k < size) y[k] = (type)(t + l); \\\n"
    "    } \\\n"
    "    barrier(CLK_LOCAL_MEM_FENCE); \\\n"
    "    to[get_global_id(0)] = (int)y[l]; \\\n"
    "}\n"
#define TEXT(name, type, read, write, some) \
    "ORDER(" #name ", " #type ", " #read ", " #write ", " #some ")\n"
    ORDERS(TEXT)
#undef TEXT
    // Eight lanes; and memory that all groups share.
    "kernel __attribute__((reqd_work_group_size(8, 1, 1)))\n"
    "void eight(global int *to, global const int *from, int d) {\n"
    "    int i = get_global_id(0), l = get_local_id(0);\n"
    "    to[i ^ d] = from[i ^ (d & 3)] + (l < 4 ? 1 : 0);\n"
    "    barrier(CLK_GLOBAL_MEM_FENCE);\n"
    "    if (l & 1) to[i ^ d] += 1;\n"
    "}\n"
    // An index of 32 bits that wraps from lane to lane.
    "kernel void wraps(global int *to, global const int *from, uint begin,\n"
    "                  uint mask, uint d) {\n"
    "    uint l = get_local_id(0);\n"
    "    int t = from[((l & mask) ^ d) + begin];\n"
    "    barrier(CLK_GLOBAL_MEM_FENCE);\n"
    "    to[l] = t;\n"
    "}\n"
    // Words that do not begin where those of a vector do.
    "typedef int loose __attribute__((aligned(1)));\n"
    "struct __attribute__((packed)) record { char before; int word; };\n"
    "kernel void shifted(global int *to, global const char *from, int d) {\n"
    "    int l = get_local_id(0);\n"
    "    int t = ((global const loose *)(from + 1))[l ^ d];\n"
    "    barrier(CLK_GLOBAL_MEM_FENCE);\n"
    "    to[l] = t;\n"
    "}\n"
    "kernel void records(global int *to, global const struct record *from,\n"
    "                    int d) {\n"
    "    int l = get_local_id(0), t = 0;\n"
    "    if (l & 8) t = from[l ^ d].word;\n"
    "    barrier(CLK_GLOBAL_MEM_FENCE);\n"
    "    to[l] = t;\n"
    "}\n"
    // Less than a vector's, of which LLVM knows the size.
    "#if __OPENCL_C_VERSION__ >= 300\n"
    "global int few[8];\n"
    "kernel void short_variable(global int *to, int d) {\n"
    "    int l = get_local_id(0);\n"
    "    if (l < 8) few[l ^ d] = l;\n"
    "    barrier(CLK_GLOBAL_MEM_FENCE);\n"
    "    to[l] = few[(l ^ d) & 7];\n"
    "}\n"
    "#endif\n";

// What work-item l reads, leaves, and whether it does.
#define FUNCTIONS(name, type, read, write, some) \
    static int name##_read(int l, int d)         \
    {                                            \
        (void)d;                                 \
        return read;                             \
    }                                            \
    static int name##_write(int l, int d)        \
    {                                            \
        (void)d;                                 \
        return write;                            \
    }                                            \
    static bool name##_does(int l, int d)        \
    {                                            \
        (void)l, (void)d;                        \
        return some;                             \
    }
ORDERS(FUNCTIONS)

static const struct order {
    const char *name;
    size_t size; // of a number
    int (*read)(int l, int d), (*write)(int l, int d);
    bool (*does)(int l, int d);
} orders[] = {
#define ENTRY(name, type, read, write, some) \
    {#name, sizeof(type), name##_read, name##_write, name##_does},
    ORDERS(ENTRY)
#undef ENTRY
};

static void run(struct try *t, const struct hd_program *p,
                const struct order *o, int size, int d, int later)
{
    static int to[N], *pto = to;
    int wanted[N] = {0}, wrong = 0;
    size_t bytes = (size_t)(size + later) * o->size;

    TRY_RUN(t, p, o->name,
            ((struct try_range){1, {(uint64_t)size}, {(uint32_t)size}, {0}}),
            TRY_VALUE(pto), TRY_VALUE(d), TRY_VALUE(later), TRY_LOCAL(bytes),
            TRY_LOCAL(bytes));
    for (int l = 0; l < size; l++) {
        int read = o->read(l, d), write = o->write(l, d);
        if (!o->does(l, d) || read >= size || write >= size)
            continue;
        int number = 3 * read + 1;
        number = o->size == 1 ? (signed char)number + l : number + l;
        wanted[write] = o->size == 1 ? (signed char)number : number;
    }
    for (int l = 0; l < size; l++)
        wrong += to[l] != wanted[l];
    if (wrong)
        printf("%s, group of %d, %d, begins at %d: %d wrong\n", o->name, size,
               d, later, wrong);
    CHECK(wrong == 0);
}

static void orders_are_kept(struct try *t, const struct hd_program *p)
{
    static const int sizes[] = {1, 8, 15, 16, 17, 32, 100, 208, N};

    for (size_t o = 0; o < sizeof(orders) / sizeof(orders[0]); o++)
        for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
            for (int d = 0; d <= 32; d = d < 9 ? d + 1 : d + 7)
                for (int later = 0; later < ROOM; later += 3)
                    run(t, p, &orders[o], sizes[s], d, later);
}

static void eight_lanes_do_too(struct try *t, const struct hd_program *p)
{
    enum {
        ITEMS = 64
    };
    static int to[ITEMS], from[ITEMS], *pto = to, *pfrom = from;

    for (int i = 0; i < ITEMS; i++)
        from[i] = 100 * i;
    for (int d = 0; d < 8; d++) {
        TRY_RUN(t, p, "eight", ((struct try_range){1, {ITEMS}, {8}, {0}}),
                TRY_VALUE(pto), TRY_VALUE(pfrom), TRY_VALUE(d));
        for (int i = 0; i < ITEMS; i++)
            CHECK(to[i ^ d] == 100 * (i ^ (d & 3)) + (i % 8 < 4) + (i & 1));
    }
}

static void words_begin_anywhere(struct try *t, const struct hd_program *p)
{
    enum {
        ITEMS = 32
    };
    static int to[ITEMS], *pto = to;
    static _Alignas(64) char shifted[1 + ITEMS * sizeof(int)];
    static _Alignas(64) char records[ITEMS * 5];
    char *pshifted = shifted, *precords = records;

    for (int i = 0; i < ITEMS; i++) {
        int word = 0x01020304 * i;
        memcpy(shifted + 1 + (size_t)i * sizeof(int), &word, sizeof(int));
        memcpy(records + 1 + 5 * (size_t)i, &word, sizeof(int));
    }
    for (int d = 0; d < 16; d++) {
        struct try_range range = {1, {ITEMS}, {ITEMS}, {0}};
        TRY_RUN(t, p, "shifted", range, TRY_VALUE(pto), TRY_VALUE(pshifted),
                TRY_VALUE(d));
        for (int l = 0; l < ITEMS; l++)
            CHECK(to[l] == 0x01020304 * (l ^ d));
        TRY_RUN(t, p, "records", range, TRY_VALUE(pto), TRY_VALUE(precords),
                TRY_VALUE(d));
        for (int l = 0; l < ITEMS; l++)
            CHECK(to[l] == (l & 8 ? 0x01020304 * (l ^ d) : 0));
    }
}

// Elements at both ends of as much memory as there are indices.
static void indices_wrap(struct try *t, const struct hd_program *p)
{
    enum {
        ITEMS = 64
    };
    const size_t size = (sizeof(int) << 32) + 8192;
    static int to[ITEMS], *pto = to;
    unsigned mask = UINT32_MAX;
    int *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (memory == MAP_FAILED || !t->device->can.on_caller) {
        puts("not looked at: indices that wrap");
        return;
    }
    // A vector's stretch may begin below index 0.
    int *from = memory + 1024 + 3;
    for (int i = 0; i < 2 * ITEMS; i++)
        from[i] = i;
    for (unsigned i = 1; i <= ITEMS; i++)
        from[UINT32_MAX - i + 1] = -(int)i;
    for (unsigned d = 0; d < 16; d += 5)
        for (unsigned begin = UINT32_MAX - ITEMS + 1; begin != 4; begin++) {
            TRY_RUN(t, p, "wraps",
                    ((struct try_range){1, {ITEMS}, {ITEMS}, {0}}),
                    TRY_VALUE(pto), TRY_VALUE(from), TRY_VALUE(begin),
                    TRY_VALUE(mask), TRY_VALUE(d));
            for (unsigned l = 0; l < ITEMS; l++)
                CHECK(to[l] == (int)((l ^ d) + begin));
        }
    munmap(memory, size);
}

static struct hd_program *build_for(struct try *t, const char *cpus)
{
    const struct hd_program_params params = {.path = "test.cl",
                                             .source = source,
                                             .options = "-cl-std=CL3.0",
                                             .cpus = cpus};
    struct hd_program *p;
    struct hd_error error;

    CHECK_OK(hdi_program_create(&t->context, &params, &p, &error), error);
    return p;
}

static bool permutes(const struct hd_program *p, const char *name)
{
    return strstr(hd_kernel_info(hd_program_find(p, name))->explanation,
                  "permuted in registers");
}

// Where gathers are dear, words alone: there is no permutation of others, nor
// of what lies across them.
static void costs_decide(struct try *t)
{
    static const char *const cheap[] = {"skylake-avx512", "x86-64-v3"};

    if (!t->device->can.features) {
        puts("not looked at: what other processors get");
        return;
    }
    struct hd_program *dear = build_for(t, "znver4");
    CHECK(permutes(dear, "swap") && permutes(dear, "swap_floats"));
    CHECK(permutes(dear, "eight"));
    CHECK(!permutes(dear, "rows"));
    CHECK(!permutes(dear, "swap_long"));
    CHECK(!permutes(dear, "swap_bytes"));
    CHECK(!permutes(dear, "shifted") && !permutes(dear, "records"));
    CHECK(!permutes(dear, "short_variable"));
    hd_program_destroy(dear);
    for (size_t i = 0; i < sizeof(cheap) / sizeof(cheap[0]); i++) {
        struct hd_program *p = build_for(t, cheap[i]);
        CHECK(!permutes(p, "swap"));
        hd_program_destroy(p);
    }
}

int main(void)
{
    struct try t = try_open();
    struct hd_program *p = try_build(&t, source, NULL);

    costs_decide(&t);
    orders_are_kept(&t, p);
    eight_lanes_do_too(&t, p);
    words_begin_anywhere(&t, p);
    indices_wrap(&t, p);
    hd_program_destroy(p);
    try_close(&t);
    return 0;
}
