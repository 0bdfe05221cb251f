// Atomic functions, the old ones and those of C11, of every type, on pointers
// to every address space: each work-item has cells of its own and does to them
// what the C below does, round after round, some longer than others.
#include "tests/kernel/try.h"

enum {
    N = 100,
    CELLS = 3,   // global, local, through a generic pointer
    RESULTS = 64 // of one cell, at most
};

// The rounds of a work-item, cell by cell; what STEPS puts comes from the last.
#define COMMON                                                    \
    "#define PUT(e) do { r[k * n + i] = (e); k++; } while (0);\n" \
    "#define ROUNDS(T, STEPS, own, first) \\\n"                   \
    "    v = x[2 * i]; w = x[2 * i + 1]; \\\n"                    \
    "    for (size_t turn = 0; turn <= i % 3; turn++) { \\\n"     \
    "        k = first; \\\n"                                     \
    "        STEPS(T, own) \\\n"                                  \
    "        v = v + (T)3; \\\n"                                  \
    "    }\n"

static const char old_source[] = COMMON
    "#define OLD_STEPS(pre, own) \\\n"
    "    PUT(pre##_add(own, v)) PUT(pre##_sub(own, w)) PUT(pre##_xchg(own, v))"
    " \\\n"
    "    PUT(pre##_inc(own)) PUT(pre##_dec(own)) \\\n"
    "    PUT(pre##_cmpxchg(own, v, w)) PUT(pre##_cmpxchg(own, w + 1, v)) \\\n"
    "    PUT(pre##_min(own, v)) PUT(pre##_max(own, v + w)) \\\n"
    "    PUT(pre##_and(own, ~v)) PUT(pre##_or(own, w)) PUT(pre##_xor(own, v))\n"
    "#define ATOMIC(T, own) OLD_STEPS(atomic, own)\n"
    "#define ATOM(T, own) OLD_STEPS(atom, own)\n"
    "#define OLD(name, STEPS, T) \\\n"
    "kernel void name(global const T *x, global T *cells, global T *r) { \\\n"
    "    local T tile[64]; \\\n"
    "    size_t i = get_global_id(0), n = get_global_size(0), k; \\\n"
    "    volatile local T *near = &tile[get_local_id(0)]; \\\n"
    "    volatile global T *far = &cells[i]; \\\n"
    "    T v, w; \\\n"
    "    *near = *far; \\\n"
    "    ROUNDS(T, STEPS, far, 0) \\\n"
    "    ROUNDS(T, STEPS, near, 64) \\\n"
    "}\n"
    "OLD(old_int, ATOMIC, int) OLD(atom_ulong, ATOM, ulong)\n"
    "#ifndef LOOPS\n"
    "OLD(old_uint, ATOMIC, uint) OLD(atom_int, ATOM, int)\n"
    "OLD(atom_uint, ATOM, uint) OLD(atom_long, ATOM, long)\n"
    "#endif\n"
    "kernel void old_float(global const float *x, global float *cells,\n"
    "                      global float *r) {\n"
    "    local float tile[64];\n"
    "    size_t i = get_global_id(0), n = get_global_size(0), k = 0;\n"
    "    tile[get_local_id(0)] = cells[i];\n"
    "    PUT(atomic_xchg(&cells[i], x[2 * i]))\n"
    "    PUT(atomic_xchg(&tile[get_local_id(0)], x[2 * i + 1]))\n"
    "    PUT(cells[i]) PUT(tile[get_local_id(0)])\n"
    "}\n";

static const char new_source[] = COMMON
    "#define LOOSE memory_order_relaxed\n"
    "#define BOTH  memory_order_acq_rel\n"
    "#define ALL   memory_order_seq_cst, memory_scope_device\n"
    "#define COMPARES(T, own, f) \\\n"
    "    e = v; PUT(f(own, &e, w)) PUT(e) \\\n"
    "    e = v; PUT(f##_explicit(own, &e, w, BOTH, LOOSE)) PUT(e) \\\n"
    "    e = w; PUT(f##_explicit(own, &e, v, memory_order_seq_cst, ALL)) "
    "PUT(e)\n"
    "#define PLAIN(T, own) \\\n"
    "    atomic_init(own, v); PUT(atomic_load(own)) \\\n"
    "    atomic_store(own, w); \\\n"
    "    PUT(atomic_load_explicit(own, memory_order_acquire)) \\\n"
    "    atomic_store_explicit(own, v, memory_order_release); \\\n"
    "    PUT(atomic_load_explicit(own, ALL)) \\\n"
    "    atomic_store_explicit(own, w, ALL); \\\n"
    "    PUT(atomic_exchange(own, v)) \\\n"
    "    PUT(atomic_exchange_explicit(own, w, LOOSE)) \\\n"
    "    PUT(atomic_exchange_explicit(own, v, ALL)) \\\n"
    "    COMPARES(T, own, atomic_compare_exchange_strong) \\\n"
    "    COMPARES(T, own, atomic_compare_exchange_weak)\n"
    "#define FETCH(own, f, y) \\\n"
    "    PUT(atomic_fetch_##f(own, y)) \\\n"
    "    PUT(atomic_fetch_##f##_explicit(own, y, BOTH)) \\\n"
    "    PUT(atomic_fetch_##f##_explicit(own, y, ALL))\n"
    "#define NUMBERS(T, own) PLAIN(T, own) \\\n"
    "    FETCH(own, add, w) FETCH(own, sub, v) \\\n"
    "    FETCH(own, min, v) FETCH(own, max, w + v)\n"
    "#define WHOLE(T, own) NUMBERS(T, own) FETCH(own, or, w) \\\n"
    "    FETCH(own, xor, v) FETCH(own, and, ~v)\n"
    "#define FAR(T, STEPS) ROUNDS(T, STEPS, far, 0)\n"
    "#define NEAR(T, STEPS) ROUNDS(T, STEPS, near, 64)\n"
    "#define ANY(T, STEPS) ROUNDS(T, STEPS, any, 128)\n"
    "#define EVERY(T, STEPS) FAR(T, STEPS) NEAR(T, STEPS) ANY(T, STEPS)\n"
    "#define NEW(STEPS, T, CELLS) \\\n"
    "kernel void new_##T(global const T *x, global T *cells, global T *r) { "
    "\\\n"
    "    local atomic_##T tile[64], other[64]; \\\n"
    "    size_t i = get_global_id(0), n = get_global_size(0), k; \\\n"
    "    volatile local atomic_##T *near = &tile[get_local_id(0)]; \\\n"
    "    volatile global atomic_##T *far = \\\n"
    "        (volatile global atomic_##T *)&cells[i]; \\\n"
    "    volatile atomic_##T *any = i % 5 \\\n"
    "        ? (volatile atomic_##T *)&other[get_local_id(0)] \\\n"
    "        : (volatile atomic_##T *)&cells[n + i]; \\\n"
    "    T v, w, e; \\\n"
    "    CELLS(T, STEPS) \\\n"
    "}\n"
    "#ifdef LOOPS\n"
    "NEW(WHOLE, int, NEAR) NEW(NUMBERS, double, ANY)\n"
    "#else\n"
    "NEW(WHOLE, int, EVERY) NEW(WHOLE, uint, EVERY)\n"
    "NEW(WHOLE, long, EVERY) NEW(WHOLE, ulong, EVERY)\n"
    "NEW(NUMBERS, float, EVERY) NEW(NUMBERS, double, EVERY)\n"
    "#endif\n"
    "#define FLAGS(own) \\\n"
    "    atomic_flag_clear(own); PUT(atomic_flag_test_and_set(own)) \\\n"
    "    PUT(atomic_flag_test_and_set_explicit(own, BOTH)) \\\n"
    "    atomic_flag_clear_explicit(own, memory_order_release); \\\n"
    "    PUT(atomic_flag_test_and_set_explicit(own, ALL)) \\\n"
    "    atomic_flag_clear_explicit(own, ALL); \\\n"
    "    PUT(atomic_flag_test_and_set(own))\n"
    "kernel void flags(global int *cells, global int *r) {\n"
    "    local atomic_flag tile[64];\n"
    "    size_t i = get_global_id(0), n = get_global_size(0), k = 0;\n"
    "    volatile global atomic_flag *far = (global atomic_flag *)&cells[i];\n"
    "    volatile local atomic_flag *near = &tile[get_local_id(0)];\n"
    "    volatile atomic_flag *any = i % 2 ? (volatile atomic_flag *)far :\n"
    "        (volatile atomic_flag *)near;\n"
    "    FLAGS(far) FLAGS(near) FLAGS(any)\n"
    "}\n"
    "kernel void addresses(global const long *x, global ulong *cells,\n"
    "                      global ulong *r) {\n"
    "    size_t i = get_global_id(0), n = get_global_size(0), k = 0;\n"
    "    volatile global atomic_uintptr_t *own =\n"
    "        (volatile global atomic_uintptr_t *)&cells[i];\n"
    "    PUT(atomic_fetch_add(own, (ptrdiff_t)x[2 * i]))\n"
    "    PUT(atomic_fetch_sub(own, (ptrdiff_t)x[2 * i + 1]))\n"
    "    PUT(atomic_load(own))\n"
    "}\n";

// What a cell holds, and where its results go.
#define PUT(e)                     \
    do {                           \
        right[k * N + i] = (T)(e); \
        k++;                       \
    } while (0)
#define CHANGE(e)      \
    do {               \
        T was = cell;  \
        cell = (T)(e); \
        PUT(was);      \
    } while (0)
#define SWAP(expected, value)      \
    do {                           \
        T was = cell;              \
        if (cell == (T)(expected)) \
            cell = (T)(value);     \
        PUT(was);                  \
    } while (0)
#define TRICE(e)   \
    do {           \
        CHANGE(e); \
        CHANGE(e); \
        CHANGE(e); \
    } while (0)
#define COMPARE(expected, value)   \
    do {                           \
        T was = cell;              \
        PUT(was == (T)(expected)); \
        if (was == (T)(expected))  \
            cell = (T)(value);     \
        PUT(was);                  \
    } while (0)

// U is a type whose sums do not overflow.
#define OLD_RIGHT(name, TYPE, U)                                              \
    static void name(const TYPE *x, const TYPE *cells, size_t i, TYPE *right) \
    {                                                                         \
        typedef TYPE T;                                                       \
        T cell = cells[i], v = x[2 * i], w = x[2 * i + 1];                    \
        for (size_t turn = 0; turn <= i % 3; turn++) {                        \
            size_t k = 0;                                                     \
            CHANGE((U)cell + (U)v);                                           \
            CHANGE((U)cell - (U)w);                                           \
            CHANGE(v);                                                        \
            CHANGE((U)cell + 1);                                              \
            CHANGE((U)cell - 1);                                              \
            SWAP(v, w);                                                       \
            SWAP((U)w + 1, v);                                                \
            CHANGE(v < cell ? v : cell);                                      \
            CHANGE((T)((U)v + (U)w) > cell ? (T)((U)v + (U)w) : cell);        \
            CHANGE(cell & ~v);                                                \
            CHANGE(cell | w);                                                 \
            CHANGE(cell ^ v);                                                 \
            v = (T)((U)v + 3);                                                \
        }                                                                     \
    }
OLD_RIGHT(old_int, int32_t, uint32_t)
OLD_RIGHT(old_uint, uint32_t, uint32_t)
OLD_RIGHT(old_long, int64_t, uint64_t)
OLD_RIGHT(old_ulong, uint64_t, uint64_t)

#define NUMBERS(U)                         \
    PUT(v);                                \
    PUT(w);                                \
    PUT(v);                                \
    PUT(w);                                \
    PUT(v);                                \
    PUT(w);                                \
    cell = v;                              \
    for (int weak = 0; weak < 2; weak++) { \
        COMPARE(v, w);                     \
        COMPARE(v, w);                     \
        COMPARE(w, v);                     \
    }                                      \
    TRICE((U)cell + (U)w);                 \
    TRICE((U)cell - (U)v);                 \
    TRICE(v < cell ? v : cell);            \
    TRICE((T)((U)w + (U)v) > cell ? (T)((U)w + (U)v) : cell)
#define NEW_RIGHT(name, TYPE, U, MORE)                     \
    static void name(const TYPE *x, size_t i, TYPE *right) \
    {                                                      \
        typedef TYPE T;                                    \
        T cell, v = x[2 * i], w = x[2 * i + 1];            \
        for (size_t turn = 0; turn <= i % 3; turn++) {     \
            size_t k = 0;                                  \
            NUMBERS(U);                                    \
            MORE;                                          \
            v = (T)((U)v + (U)3);                          \
        }                                                  \
    }
#define BITS         \
    TRICE(cell | w); \
    TRICE(cell ^ v); \
    TRICE(cell & ~v)
NEW_RIGHT(new_int, int32_t, uint32_t, BITS)
NEW_RIGHT(new_uint, uint32_t, uint32_t, BITS)
NEW_RIGHT(new_long, int64_t, uint64_t, BITS)
NEW_RIGHT(new_ulong, uint64_t, uint64_t, BITS)
NEW_RIGHT(new_float, float, float, (void)0)
NEW_RIGHT(new_double, double, double, (void)0)

static uint64_t random_word(void)
{
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 20;
}

#define RANGE(local)     ((struct try_range){1, {N}, {local}, {0}})
#define FOR_LOCAL(local) for (uint32_t local = 1; local <= 64; local *= 8)

// What is left of `right` stays as both are filled.
#define COMPARE_ALL(what, T, cells)                                          \
    for (size_t at = 0; at < (cells)*RESULTS * N; at++)                      \
        if (r[at] != right[at]) {                                            \
            fprintf(stderr,                                                  \
                    "%s, groups of %u, result %zu of cell %zu of work-item " \
                    "%zu: %.17g, not %.17g\n",                               \
                    what, local, at / N % RESULTS, at / N / RESULTS, at % N, \
                    (double)r[at], (double)right[at]);                       \
            exit(1);                                                         \
        }

// Kernels of some types are not there as loops, and cells of the others.
#define RUN_OLD(T, kernel, refer)                                             \
    if (hd_program_find(p, kernel))                                           \
        FOR_LOCAL(local)                                                      \
        {                                                                     \
            static T x[2 * N], cells[N], r[CELLS * RESULTS * N],              \
                right[CELLS * RESULTS * N];                                   \
            T *px = x, *pc = cells, *pr = r;                                  \
            memset(r, 0, sizeof(r));                                          \
            memset(right, 0, sizeof(right));                                  \
            for (size_t i = 0; i < 2 * N; i++)                                \
                x[i] = (T)random_word();                                      \
            for (size_t i = 0; i < N; i++) {                                  \
                cells[i] = (T)random_word();                                  \
                refer(x, cells, i, right);                                    \
                refer(x, cells, i, right + RESULTS * N);                      \
            }                                                                 \
            TRY_RUN(t, p, kernel, RANGE(local), TRY_VALUE(px), TRY_VALUE(pc), \
                    TRY_VALUE(pr));                                           \
            COMPARE_ALL(kernel, T, 2)                                         \
        }
#define RUN_NEW(T, kernel, refer, first, last)                                \
    if (hd_program_find(p, kernel))                                           \
        FOR_LOCAL(local)                                                      \
        {                                                                     \
            static T x[2 * N], cells[2 * N], r[CELLS * RESULTS * N],          \
                right[CELLS * RESULTS * N];                                   \
            T *px = x, *pc = cells, *pr = r;                                  \
            memset(r, 0, sizeof(r));                                          \
            memset(right, 0, sizeof(right));                                  \
            for (size_t i = 0; i < 2 * N; i++)                                \
                x[i] = (T)(random_word() % 100000);                           \
            for (size_t i = 0; i < N; i++)                                    \
                for (size_t c = (first); c <= (last); c++)                    \
                    refer(x, i, right + c * RESULTS * N);                     \
            TRY_RUN(t, p, kernel, RANGE(local), TRY_VALUE(px), TRY_VALUE(pc), \
                    TRY_VALUE(pr));                                           \
            COMPARE_ALL(kernel, T, CELLS)                                     \
        }

static void floats_are_exchanged(struct try *t, const struct hd_program *p)
{
    static float x[2 * N], cells[N], r[4 * N];
    float *px = x, *pc = cells, *pr = r;

    for (int i = 0; i < N; i++) {
        cells[i] = (float)i;
        x[2 * i] = (float)i + 0.5f;
        x[2 * i + 1] = (float)i + 0.25f;
    }
    TRY_RUN(t, p, "old_float", RANGE(16), TRY_VALUE(px), TRY_VALUE(pc),
            TRY_VALUE(pr));
    for (int i = 0; i < N; i++) {
        CHECK(r[i] == (float)i && r[N + i] == (float)i);
        CHECK(r[2 * N + i] == x[2 * i] && r[3 * N + i] == x[2 * i + 1]);
    }
}

static void old_functions_are_right(struct try *t, bool loops)
{
    struct hd_program *p = try_build(t, old_source, loops ? "-DLOOPS" : NULL);

    RUN_OLD(int32_t, "old_int", old_int)
    RUN_OLD(uint32_t, "old_uint", old_uint)
    RUN_OLD(int32_t, "atom_int", old_int)
    RUN_OLD(uint32_t, "atom_uint", old_uint)
    RUN_OLD(int64_t, "atom_long", old_long)
    RUN_OLD(uint64_t, "atom_ulong", old_ulong)
    floats_are_exchanged(t, p);
    hd_program_destroy(p);
}

static void flags_are_set_once(struct try *t, const struct hd_program *p)
{
    static int cells[N], r[12 * N], *pc = cells, *pr = r;

    memset(cells, 1, sizeof(cells));
    TRY_RUN(t, p, "flags", RANGE(16), TRY_VALUE(pc), TRY_VALUE(pr));
    for (int k = 0; k < 12; k++)
        for (int i = 0; i < N; i++)
            CHECK(r[k * N + i] == (k % 4 == 1));
}

static void addresses_move(struct try *t, const struct hd_program *p)
{
    static int64_t x[2 * N], *px = x;
    static uint64_t cells[N], r[3 * N], *pc = cells, *pr = r;

    for (int i = 0; i < 2 * N; i++)
        x[i] = i * 3 - N;
    for (int i = 0; i < N; i++)
        cells[i] = (uint64_t)i << 40;
    TRY_RUN(t, p, "addresses", RANGE(16), TRY_VALUE(px), TRY_VALUE(pc),
            TRY_VALUE(pr));
    for (int i = 0; i < N; i++) {
        uint64_t at = (uint64_t)i << 40;
        CHECK(r[i] == at && r[N + i] == at + (uint64_t)x[2 * i]);
        CHECK(r[2 * N + i] == at + (uint64_t)x[2 * i] - (uint64_t)x[2 * i + 1]);
    }
}

static void new_functions_are_right(struct try *t, bool loops)
{
    struct hd_program *p = try_build(
        t, new_source, loops ? "-cl-std=CL3.0 -DLOOPS" : "-cl-std=CL3.0");

    RUN_NEW(int32_t, "new_int", new_int, loops ? 1 : 0, loops ? 1 : 2)
    RUN_NEW(uint32_t, "new_uint", new_uint, 0, 2)
    RUN_NEW(int64_t, "new_long", new_long, 0, 2)
    RUN_NEW(uint64_t, "new_ulong", new_ulong, 0, 2)
    RUN_NEW(float, "new_float", new_float, 0, 2)
    RUN_NEW(double, "new_double", new_double, loops ? 2 : 0, 2)
    flags_are_set_once(t, p);
    addresses_move(t, p);
    hd_program_destroy(p);
}

int main(void)
{
    struct try t = try_open();

    // Every form has the same functions: all of them where compiling is quick.
    t.form = "-heddle-debug";
    old_functions_are_right(&t, false);
    new_functions_are_right(&t, false);
    t.form = "-heddle-form=loops";
    old_functions_are_right(&t, true);
    new_functions_are_right(&t, true);
    try_close(&t);
    return 0;
}
