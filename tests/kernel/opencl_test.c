// What OpenCL C 2.0 and 3.0 have over 1.2: atomics with orders and scopes,
// pointers to any address space, variables of the program; and printf(),
// halves, dot products and copies by the group.
#include "base/text.h"
#include "tests/kernel/try.h"

enum {
    N = 1000
};

#define RANGE_1(local) ((struct try_range){1, {N}, {(uint32_t)(local)}, {0}})

// Call body with work-group sizes from 1 to more than the range.
#define FOR_LOCAL(local) \
    for (int local = 1; local <= TRY_MAX_ITEMS; local = local * 3 + 1)

static void atomics_of_all_types_add_up(struct try *t)
{
    struct hd_program *p = try_build(
        t,
        "#define ALL(T, C, i) \\\n"
        "    atomic_fetch_add((volatile global T *)r + 8 * i, (C)1); \\\n"
        "    atomic_fetch_sub_explicit((volatile global T *)r + 8 * i + 1, \\\n"
        "        (C)2, memory_order_relaxed); \\\n"
        "    atomic_fetch_max_explicit((volatile global T *)r + 8 * i + 2, \\\n"
        "        (C)g, memory_order_acq_rel, memory_scope_device); \\\n"
        "    atomic_fetch_min((volatile global T *)r + 8 * i + 3, (C)g); \\\n"
        "    if (g == 77) { \\\n"
        "        C old = atomic_exchange((volatile global T *)r + 8 * i + 4, "
        "\\\n"
        "            (C)5); \\\n"
        "        atomic_store((volatile global T *)r + 8 * i + 5, old); \\\n"
        "        C wanted = (C)3, other = (C)4; \\\n"
        "        bool no = atomic_compare_exchange_strong( \\\n"
        "            (volatile global T *)r + 8 * i + 6, &wanted, (C)9); \\\n"
        "        bool yes = atomic_compare_exchange_weak_explicit( \\\n"
        "            (volatile global T *)r + 8 * i + 6, &other, (C)6, \\\n"
        "            memory_order_seq_cst, memory_order_relaxed); \\\n"
        "        atomic_store_explicit((volatile global T *)r + 8 * i + 7, \\\n"
        "            (C)(wanted + (C)(yes && !no)), memory_order_release); \\\n"
        "    }\n"
        "kernel void ints(global int *r) {\n"
        "    size_t g = get_global_id(0); ALL(atomic_int, int, 0) }\n"
        "kernel void uints(global uint *r) {\n"
        "    size_t g = get_global_id(0); ALL(atomic_uint, uint, 0) }\n"
        "kernel void longs(global long *r) {\n"
        "    size_t g = get_global_id(0); ALL(atomic_long, long, 0) }\n"
        "kernel void ulongs(global ulong *r) {\n"
        "    size_t g = get_global_id(0); ALL(atomic_ulong, ulong, 0) }\n"
        "kernel void floats(global float *r) {\n"
        "    size_t g = get_global_id(0); ALL(atomic_float, float, 0) }\n"
        "kernel void doubles(global double *r) {\n"
        "    size_t g = get_global_id(0); ALL(atomic_double, double, 0) }\n"
        "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"
        "kernel void halves(global half *r) {\n"
        "    size_t g = get_global_id(0);\n"
        "    volatile global atomic_half *a = (volatile global atomic_half "
        "*)r;\n"
        "    atomic_fetch_add(a, 1.0h);\n"
        "    atomic_fetch_sub_explicit(a + 1, 2.0h, memory_order_relaxed);\n"
        "    atomic_fetch_max_explicit(a + 2, (half)g, memory_order_acq_rel,\n"
        "        memory_scope_device);\n"
        "    atomic_fetch_min(a + 3, (half)g);\n"
        "    if (g == 77) {\n"
        "        half old = atomic_exchange(a + 4, 5.0h);\n"
        "        atomic_store(a + 5, old);\n"
        "        atomic_store_explicit(a + 6, atomic_load(a + 6) + 2,\n"
        "            memory_order_release);\n"
        "        atomic_store_explicit(a + 7, 5.0h, memory_order_relaxed,\n"
        "            memory_scope_device);\n"
        "    }\n"
        "}\n",
        "-cl-std=CL3.0");
#define TRY_ATOMICS(name, T)                                 \
    FOR_LOCAL(local)                                         \
    {                                                        \
        T r[8] = {0, (T)(2 * N), 0, 4, 4, 0, 4, 0}, *pr = r; \
        const T right[8] = {N, 0, N - 1, 0, 5, 4, 6, 5};     \
        TRY_RUN(t, p, name, RANGE_1(local), TRY_VALUE(pr));  \
        for (int i = 0; i < 8; i++)                          \
            CHECK(r[i] == right[i]);                         \
    }
    TRY_ATOMICS("ints", int32_t)
    TRY_ATOMICS("uints", uint32_t)
    TRY_ATOMICS("longs", int64_t)
    TRY_ATOMICS("ulongs", uint64_t)
    TRY_ATOMICS("floats", float)
    TRY_ATOMICS("doubles", double)
    FOR_LOCAL(local)
    {
        // 2000 and 4; then 1000, 999, 5, 4, 6.
        uint16_t r[8] = {0, 0x67d0, 0, 0x4400, 0x4400, 0, 0x4400, 0}, *pr = r;
        const uint16_t right[8] = {0x63d0, 0,      0x63ce, 0,
                                   0x4500, 0x4400, 0x4600, 0x4500};
        TRY_RUN(t, p, "halves", RANGE_1(local), TRY_VALUE(pr));
        CHECK(memcmp(r, right, sizeof(r)) == 0);
    }
    hd_program_destroy(p);
}

static void atomics_on_local_memory_are_the_groups(struct try *t)
{
    struct hd_program *p = try_build(
        t,
        "int next(atomic_int *n) {\n"
        "    return atomic_fetch_add_explicit(n, 1, memory_order_relaxed,\n"
        "                                     memory_scope_work_group);\n"
        "}\n"
        "kernel void count(global int *r, global int *flags) {\n"
        "    local atomic_int n;\n"
        "    local atomic_flag first;\n"
        "    if (get_local_id(0) == 0) {\n"
        "        atomic_init(&n, 0);\n"
        "        atomic_flag_clear(&first);\n"
        "    }\n"
        "    work_group_barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    int mine = next(&n);\n"
        "    flags[get_global_id(0)] = atomic_flag_test_and_set(&first);\n"
        "    work_group_barrier(CLK_LOCAL_MEM_FENCE,\n"
        "                       memory_scope_work_group);\n"
        "    atomic_work_item_fence(CLK_LOCAL_MEM_FENCE,\n"
        "        memory_order_acq_rel, memory_scope_work_group);\n"
        "    r[get_group_id(0) * get_enqueued_local_size(0) + mine] =\n"
        "        atomic_load(&n);\n"
        "}\n",
        "-cl-std=CL3.0");
    static int r[N], flags[N], *pr = r, *pf = flags;

    FOR_LOCAL(local)
    {
        memset(r, 0, sizeof(r));
        TRY_RUN(t, p, "count", RANGE_1(local), TRY_VALUE(pr), TRY_VALUE(pf));
        int open = 0;
        for (int i = 0; i < N; i++) {
            int items = N - i / local * local;
            CHECK(r[i] == (items < local ? items : local));
            open += !flags[i];
        }
        CHECK(open == (N + local - 1) / local);
    }
    hd_program_destroy(p);
}

static void a_pointer_may_be_to_any_memory(struct try *t)
{
    struct hd_program *p = try_build(
        t,
        "int sum(const int *x, int n) {\n"
        "    int s = 0;\n"
        "    for (int i = 0; i < n; i++) s += x[i];\n"
        "    return s;\n"
        "}\n"
        "kernel void sums(global const int *x, global int *r) {\n"
        "    int i = get_global_id(0), mine[4] = {i, 1, 2, 3};\n"
        "    local int ours[4];\n"
        "    if (get_local_id(0) < 4) ours[get_local_id(0)] = 1;\n"
        "    if (get_local_id(0) == 0)\n"
        "        for (int k = get_local_size(0); k < 4; k++) ours[k] = 1;\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    const int *one = x;\n"
        "    if (i % 3 == 1) one = ours;\n"
        "    if (i % 3 == 2) one = mine;\n"
        "    r[i] = sum(one, 4);\n"
        "}\n",
        "-cl-std=CL2.0");
    static int x[4] = {10, 20, 30, 40}, r[N], *px = x, *pr = r;

    FOR_LOCAL(local)
    {
        TRY_RUN(t, p, "sums", RANGE_1(local), TRY_VALUE(px), TRY_VALUE(pr));
        for (int i = 0; i < N; i++)
            CHECK(r[i] == (i % 3 == 0 ? 100 : i % 3 == 1 ? 4 : i + 6));
    }
    hd_program_destroy(p);
}

// Of every kind of pointer: bit 0 it is global, 1 local, 2 private, 4 its fence
// is the global one, 5 the local one.
static void a_generic_pointer_tells_what_it_is_to(struct try *t)
{
    struct hd_program *p = try_build(
        t,
        "global int of_program[4];\n"
        "int kind(int *x) {\n"
        "    const int *same = x;\n"
        "    int r = (to_global(x) != 0) | (to_local(x) != 0) << 1 |\n"
        "        (to_private(x) != 0) << 2;\n"
        "    if (to_global(x) && to_global(x) != x) r |= 64;\n"
        "    if (to_local(x) && to_local(x) != x) r |= 64;\n"
        "    if (to_private(x) && to_private(x) != x) r |= 64;\n"
        "    return r | (get_fence(x) == CLK_GLOBAL_MEM_FENCE) << 4 |\n"
        "        (get_fence(same) == CLK_LOCAL_MEM_FENCE) << 5;\n"
        "}\n"
        "kernel void flat(global int *x, global int *r) {\n"
        "    int i = get_global_id(0);\n"
        "    r[i] = kind(i % 3 == 0 ? x + i : i % 3 == 1 ? of_program : 0);\n"
        "}\n"
        "#define KINDS \\\n"
        "    int *one = x; \\\n"
        "    if (i % 7 == 1) one = ours + i % 40; \\\n"
        "    if (i % 7 == 2) one = mine + i % 40; \\\n"
        "    if (i % 7 == 3) one = given + 8; \\\n"
        "    if (i % 7 == 4) one = 0; \\\n"
        "    if (i % 7 == 5) one = of_program + 3; \\\n"
        "    if (i % 7 == 6) one = &alone;\n"
        "kernel void mixed(global int *x, global int *r, local int *given) {\n"
        "    int i = get_global_id(0), mine[40], alone = i;\n"
        "    local int ours[40];\n"
        "    for (int k = 0; k < 40; k++) mine[k] = i + k;\n"
        "    KINDS\n"
        "    r[i] = kind(one);\n"
        "    if (one && kind(one) == 4 && *to_private(one) < i) r[i] = 99;\n"
        "}\n"
        "kernel void meeting(global int *x, global int *r, local int *given) "
        "{\n"
        "    int i = get_global_id(0), mine[40], alone = i, sum = 0;\n"
        "    local int ours[40];\n"
        "    for (int k = 0; k < 40; k++) mine[k] = i + k;\n"
        "    if (get_local_id(0) == 0) ours[i % 40] = 1;\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    KINDS\n"
        "    int before = kind(one);\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    for (int k = 0; k < i % 5 + 1; k++) {\n"
        "        if (kind(one) == before) sum++;\n"
        "        if ((k + i) % 3 == 0) mine[k] = alone++;\n"
        "    }\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    r[i] = sum == i % 5 + 1 ? kind(one) : -1;\n"
        "    if (mine[7] < 0 || alone < 0 || ours[3] == x[0]) x[i] = 0;\n"
        "}\n",
        "-cl-std=CL3.0");
    static const int right[7] = {17, 34, 4, 34, 16, 17, 4};
    static int x[N], r[N], *px = x, *pr = r;

    FOR_LOCAL(local)
    {
        TRY_RUN(t, p, "flat", RANGE_1(local), TRY_VALUE(px), TRY_VALUE(pr));
        for (int i = 0; i < N; i++)
            CHECK(r[i] == (i % 3 == 2 ? 16 : 17));
        for (int k = 0; k < 2; k++) {
            TRY_RUN(t, p, k == 0 ? "mixed" : "meeting", RANGE_1(local),
                    TRY_VALUE(px), TRY_VALUE(pr), TRY_LOCAL(9 * sizeof(int)));
            for (int i = 0; i < N; i++)
                CHECK(r[i] == right[i % 7]);
        }
    }
    hd_program_destroy(p);
}

// Three small integers are stored as four, the last of which is nothing.
static void vectors_of_three_are_stored(struct try *t)
{
    struct hd_program *p = try_build(
        t,
        "kernel void three(global const short3 *x, global short3 *r,\n"
        "                  global char3 *c, int n) {\n"
        "    int i = get_global_id(0);\n"
        "    short3 v = x[i];\n"
        "    if (v.x > n) v = x[i] * (short3)2;\n"
        "    r[i] = v.y > 0 ? v : (short3)(1, 2, 3);\n"
        "    c[i] = convert_char3(v) + (char3)1;\n"
        "}\n",
        NULL);
    static int16_t x[N][4], r[N][4], *px = x[0], *pr = r[0];
    static int8_t c[N][4], *pc = c[0];
    int n = 30;

    for (int i = 0; i < N; i++)
        for (int k = 0; k < 3; k++)
            x[i][k] = (int16_t)((i * (k + 3)) % 60 - 5 * k);
    FOR_LOCAL(local)
    {
        memset(r, 0, sizeof(r));
        memset(c, 0, sizeof(c));
        TRY_RUN(t, p, "three", RANGE_1(local), TRY_VALUE(px), TRY_VALUE(pr),
                TRY_VALUE(pc), TRY_VALUE(n));
        for (int i = 0; i < N; i++)
            for (int k = 0; k < 3; k++) {
                int factor = x[i][0] > n ? 2 : 1, v = x[i][k] * factor;
                CHECK(r[i][k] == (x[i][1] > 0 ? v : k + 1));
                CHECK(c[i][k] == (int8_t)(v + 1));
            }
    }
    hd_program_destroy(p);
}

static void variables_of_the_program_live_with_it(struct try *t)
{
    static const char source[] =
        "global int table[3] = {1, 2, 3};\n"
        "global atomic_int memcpy = ATOMIC_VAR_INIT(5);\n"
        "global int *global where = &table[1];\n"
        "kernel void count(void) { atomic_fetch_add(&memcpy, 1); }\n"
        "kernel void move(void) { *where += 10; where++; }\n"
        "kernel void look(global int *r) {\n"
        "    static global int calls = 7;\n"
        "    r[0] = table[0]; r[1] = table[1]; r[2] = table[2];\n"
        "    r[3] = atomic_load(&memcpy); r[4] = *where; r[5] = calls++;\n"
        "}\n";
    struct hd_program *p = try_build(t, source, "-cl-std=CL3.0");
    struct hd_program *other = try_build(t, source, "-cl-std=CL3.0");
    const struct try_range one = {1, {1}, {1}, {0}};
    int r[6], *pr = r;

    TRY_RUN(t, p, "look", one, TRY_VALUE(pr));
    CHECK(r[0] == 1 && r[1] == 2 && r[2] == 3 && r[3] == 5 && r[4] == 2 &&
          r[5] == 7);
    try_run(t, p, "count", RANGE_1(10), NULL, 0);
    try_run(t, p, "move", one, NULL, 0);
    TRY_RUN(t, p, "look", one, TRY_VALUE(pr));
    CHECK(r[0] == 1 && r[1] == 12 && r[2] == 3 && r[3] == 5 + N && r[4] == 3 &&
          r[5] == 8);
    // Another program of the same text has its own.
    TRY_RUN(t, other, "look", one, TRY_VALUE(pr));
    CHECK(r[1] == 2 && r[3] == 5 && r[5] == 7);
    hd_program_destroy(other);
    hd_program_destroy(p);
}

static void old_names_of_atomics_work(struct try *t)
{
    struct hd_program *p = try_build(
        t,
        "#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n"
        "#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable\n"
        "kernel void run(global int *i, global ulong *l) {\n"
        "    atom_inc(&i[0]); atom_add(&i[1], 2); atomic_dec(&i[2]);\n"
        "    atom_max(&l[0], get_global_id(0)); atom_inc(&l[1]);\n"
        "    atom_min(&l[2], get_global_id(0));\n"
        "    if (get_global_id(0) == 3) atom_cmpxchg(&l[3], 8ul, 9ul);\n"
        "}\n",
        NULL);
    int32_t i[3] = {0}, *pi = i;
    uint64_t l[4] = {0, 0, 5, 8}, *pl = l;

    TRY_RUN(t, p, "run", RANGE_1(64), TRY_VALUE(pi), TRY_VALUE(pl));
    CHECK(i[0] == N && i[1] == 2 * N && i[2] == -N);
    CHECK(l[0] == N - 1 && l[1] == N && l[2] == 0 && l[3] == 9);
    hd_program_destroy(p);
}

// What a kernel prints, instead of stdout.
static struct hdi_text printed;

static void keep(void *data, const char *text, size_t size)
{
    hdi_text_append(data, text, size);
}

static void kernels_print(struct try *t)
{
    struct hd_program *p = try_build(
        t,
        "kernel void words(global const float4 *x, int n, global int *r) {\n"
        "    local int sum;\n"
        "    int i = get_global_id(0);\n"
        "    if (get_local_id(0) == 0) sum = 0;\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    atomic_inc(&sum);\n"
        "    if (i % 3 == 0) printf(\"item %d \", i);\n"
        "    if (i % 3 == 0) printf(\"has %5.1v4hlf and %s\\n\", *x,\n"
        "                           i % 2 ? \"odd\" : \"even\");\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    if (get_local_id(0) == 0)\n"
        "        r[0] = printf(\"%d items, %c %x %ld %v3hhd %.2f%%\\n\", sum,\n"
        "               'z', n, (long)n << 40, (char3)(1, -2, 3), 0.5f);\n"
        "}\n",
        NULL);
    float x[4] = {1, 2, 3, -4}, *px = x;
    int n = 255, r[1] = {7}, *pr = r;
    struct hdi_text right = {0};

    for (int first = 0; first < 32; first += 16) {
        for (int i = first; i < first + 16; i++)
            if (i % 3 == 0)
                hdi_text_print(&right,
                               "item %d has   1.0,  2.0,  3.0, -4.0 and %s\n",
                               i, i % 2 ? "odd" : "even");
        hdi_text_print(&right,
                       "16 items, z ff 280375465082880 1,-2,3 0.50%%\n");
    }
    hdi_text_free(&printed);
    TRY_RUN(t, p, "words", ((struct try_range){1, {32}, {16}, {0}}),
            TRY_VALUE(px), TRY_VALUE(n), TRY_VALUE(pr));
    CHECK(r[0] == 0);
    CHECK(printed.data && strcmp(printed.data, right.data) == 0);
    hdi_text_free(&printed);
    hdi_text_free(&right);
    hd_program_destroy(p);
}

static void halves_are_a_type(struct try *t)
{
    struct hd_program *p = try_build(
        t,
        "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"
        "kernel void axpy(half a, global const half4 *x, global half4 *y) {\n"
        "    size_t i = get_global_id(0);\n"
        "    y[i] = fma(x[i], (half4)a, y[i]) + convert_half4((int4)1);\n"
        "}\n"
        "kernel void parts(global half *x, local half *copy) {\n"
        "    half whole, f = modf(x[get_global_id(0)], &whole);\n"
        "    copy[get_local_id(0)] = f + whole;\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    size_t n = get_local_size(0);\n"
        "    x[get_global_id(0)] = copy[n - 1 - get_local_id(0)];\n"
        "}\n",
        NULL);
    static uint16_t x[4 * N], y[4 * N], *px = x, *py = y;
    uint16_t a = 0x4000; // 2

    FOR_LOCAL(local)
    {
        for (int i = 0; i < 4 * N; i++) {
            x[i] = 0x3c00; // 1
            y[i] = 0x4200; // 3
        }
        TRY_RUN(t, p, "axpy", RANGE_1(local), TRY_VALUE(a), TRY_VALUE(px),
                TRY_VALUE(py));
        for (int i = 0; i < 4 * N; i++)
            CHECK(y[i] == 0x4600); // 6
        for (int i = 0; i < N; i++)
            x[i] = (uint16_t)i;
        TRY_RUN(t, p, "parts", RANGE_1(local), TRY_VALUE(px),
                TRY_LOCAL((size_t)local * 2));
        for (int i = 0; i < N; i++) {
            int first = i / local * local;
            int end = first + local < N ? first + local : N;
            CHECK(x[i] == end - 1 - (i - first));
        }
    }
    hd_program_destroy(p);
}

static void bytes_have_dot_products_and_bits_have_fields(struct try *t)
{
    struct hd_program *p = try_build(
        t,
        "kernel void run(global int *r, uint a, uint b) {\n"
        "    r[0] = (int)dot_4x8packed_uu_uint(a, b);\n"
        "    r[1] = dot_4x8packed_ss_int(a, b);\n"
        "    r[2] = dot_4x8packed_us_int(a, b);\n"
        "    r[3] = dot_acc_sat_4x8packed_ss_int(a, b, INT_MAX);\n"
        "    r[4] = (int)dot_acc_sat(as_uchar4(a), as_uchar4(b), UINT_MAX);\n"
        "    r[5] = dot(as_char4(a), as_uchar4(b));\n"
        "    r[6] = bit_reverse(6);\n"
        "    r[7] = bitfield_insert(-1, 5, 4u, 8u);\n"
        "    r[8] = bitfield_extract_signed(0xf50, 4u, 4u);\n"
        "    r[9] = (int)bitfield_extract_unsigned(0xf50, 4u, 8u);\n"
        "    r[10] = bitfield_extract_signed((short)-1, 3u, 0u);\n"
        "    r[11] = bitfield_insert((uchar)0x81, (uchar)0x3c, 0u, 8u);\n"
        "    r[12] = clock_read_device() <= clock_read_device();\n"
        "}\n",
        "-cl-std=CL3.0");
    const uint32_t a = 0x80ff017f, b = 0x027f80fe;
    int r[13], *pr = r;
    int uu = 0x7f * 0xfe + 0x80 + 0xff * 0x7f + 0x80 * 2;
    int ss = 0x7f * -2 - 0x80 - 0x7f - 0x80 * 2;

    TRY_RUN(t, p, "run", ((struct try_range){1, {1}, {1}, {0}}), TRY_VALUE(pr),
            TRY_VALUE(a), TRY_VALUE(b));
    CHECK(r[0] == uu && r[1] == ss);
    CHECK(r[2] == 0x7f * -2 - 0x80 + 0xff * 0x7f + 0x80 * 2);
    CHECK(r[3] == INT32_MAX + ss && r[4] == -1);
    CHECK(r[5] == 0x7f * 0xfe + 0x80 - 0x7f - 0x80 * 2);
    CHECK(r[6] == 0x60000000 && r[7] == ~0xff0 + 0x50);
    CHECK(r[8] == 5 && r[9] == 0xf5 && r[10] == 0 && r[11] == 0x3c);
    CHECK(r[12] == 1);
    hd_program_destroy(p);
}

static void a_group_copies_together(struct try *t)
{
    static const char *const standards[] = {"-cl-std=CL1.2", "-cl-std=CL3.0"};
    static int x[3 * N], r[3 * N], *px = x, *pr = r;

    for (int i = 0; i < 3 * N; i++)
        x[i] = i * i;
    for (int s = 0; s < 2; s++) {
        struct hd_program *p = try_build(
            t,
            "kernel void turn(global const int *x, global int *r) {\n"
            "    local int tile[300];\n"
            "    size_t g = get_group_id(0);\n"
            "    event_t e[2];\n"
            "    e[0] = async_work_group_copy(tile, x + g * 100, 100, 0);\n"
            "    e[1] = async_work_group_strided_copy(tile + 100, x + g * 2,\n"
            "                                         100, 7, e[0]);\n"
            "    wait_group_events(2, e);\n"
            "    size_t i = get_local_id(0), n = get_local_size(0);\n"
            "    for (size_t k = i; k < 100; k += n)\n"
            "        tile[200 + k] = tile[99 - k] - tile[100 + k];\n"
            "    barrier(CLK_LOCAL_MEM_FENCE);\n"
            "    event_t last = async_work_group_strided_copy(\n"
            "        r + g * 200, tile + 200, 100, 2, 0);\n"
            "    wait_group_events(1, &last);\n"
            "}\n",
            standards[s]);
        for (uint32_t local = 1; local <= 128; local *= 2) {
            TRY_RUN(t, p, "turn",
                    ((struct try_range){1, {10 * local}, {local}, {0}}),
                    TRY_VALUE(px), TRY_VALUE(pr));
            for (int g = 0; g < 10; g++)
                for (int k = 0; k < 100; k++)
                    CHECK(r[g * 200 + 2 * k] ==
                          x[g * 100 + 99 - k] - x[g * 2 + 7 * k]);
        }
        hd_program_destroy(p);
    }
}

static void everything(struct try *t)
{
    atomics_of_all_types_add_up(t);
    atomics_on_local_memory_are_the_groups(t);
    a_pointer_may_be_to_any_memory(t);
    a_generic_pointer_tells_what_it_is_to(t);
    vectors_of_three_are_stored(t);
    variables_of_the_program_live_with_it(t);
    old_names_of_atomics_work(t);
    if (t->device->can.on_caller) // in the order of work-items
        kernels_print(t);
    halves_are_a_type(t);
    bytes_have_dot_products_and_bits_have_fields(t);
    a_group_copies_together(t);
}

int main(void)
{
    struct try t =
        try_open_with(&(struct hdi_device_params){.print = {keep, &printed}});

    t.form = "-heddle-form=loops";
    everything(&t);
    t.form = "-heddle-form=thread";
    everything(&t);
    try_close(&t);
    return 0;
}
