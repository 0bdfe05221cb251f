// Sub-group functions of every type, those of the extensions too, and
// work-group functions of half, against plain loops over the same work-items.
// Those for work-items that need not all be there are called where some are
// not.
#include <math.h>

#include "tests/kernel/try.h"

enum {
    N = 75,
    LOCAL = 40, // sub-groups of 16, 16 and 8, then of 16, 16 and 3; on GPUs
                // of 32 and 8, then of 32 and 3
    RESULTS = 96,
    WIDTH = 4 // of a cluster
};

// PUT() numbers the results as they come. R is a type that has all values of T.
#define SIZE (getenv("HEDDLE_TRY") ? 32 : 16)

static const char source[] =
    "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"
    "#define PUT(e) r[k++ * n + i] = (R)(e);\n"
    "#define SCANS(name, op) PUT(sub_group_##name##reduce_##op(v)) \\\n"
    "    PUT(sub_group_##name##scan_exclusive_##op(v)) \\\n"
    "    PUT(sub_group_##name##scan_inclusive_##op(v))\n"
    "#define BEGIN(name, T, R_) \\\n"
    "kernel void name##_##T(global const int *x, global R_ *r) { \\\n"
    "    typedef R_ R; \\\n"
    "    size_t i = get_global_id(0), n = get_global_size(0), k = 0; \\\n"
    "    uint self = get_sub_group_local_id(); \\\n"
    "    T v = (T)x[i];\n"
    "#define ALL(T, R_) BEGIN(all, T, R_) \\\n"
    "    SCANS(, add) SCANS(, min) SCANS(, max) \\\n"
    "}\n"
    "#define LANES(T, R_) BEGIN(lanes, T, R_) \\\n"
    "    PUT(sub_group_broadcast(v, 2u)) \\\n"
    "    PUT(sub_group_broadcast((T##4)(v, 1, 2, v + 1), 1u).s3) \\\n"
    "    PUT(sub_group_shuffle(v, (self * 7 + 3) % 16)) \\\n"
    "    PUT(sub_group_shuffle_xor(v, 5u)) \\\n"
    "    PUT(sub_group_shuffle_up(v, 2u)) \\\n"
    "    PUT(sub_group_shuffle_down(v, 3u)) \\\n"
    "    PUT(sub_group_rotate(v, 5)) \\\n"
    "    PUT(sub_group_clustered_rotate(v, 1, 4u)) \\\n"
    "}\n"
    "#define SOME(T, R_) BEGIN(some, T, R_) \\\n"
    "    if (self % 3 != 1) { \\\n"
    "        SCANS(non_uniform_, add) SCANS(non_uniform_, min) \\\n"
    "        SCANS(non_uniform_, max) SCANS(non_uniform_, mul) \\\n"
    "        PUT(sub_group_clustered_reduce_add(v, 4u)) \\\n"
    "        PUT(sub_group_clustered_reduce_min(v, 4u)) \\\n"
    "        PUT(sub_group_clustered_reduce_max(v, 4u)) \\\n"
    "        PUT(sub_group_clustered_reduce_mul(v, 4u)) \\\n"
    "        PUT(sub_group_non_uniform_broadcast(v, 2u)) \\\n"
    "        PUT(sub_group_broadcast_first(v)) \\\n"
    "        PUT(sub_group_non_uniform_all_equal(v)) \\\n"
    "        PUT(sub_group_non_uniform_all_equal((T)2)) \\\n"
    "    } \\\n"
    "}\n"
    "#define BITS(T, R_) BEGIN(bits, T, R_) \\\n"
    "    if (self % 3 != 1) { \\\n"
    "        SCANS(non_uniform_, and) SCANS(non_uniform_, or) \\\n"
    "        SCANS(non_uniform_, xor) \\\n"
    "        PUT(sub_group_clustered_reduce_and(v, 4u)) \\\n"
    "        PUT(sub_group_clustered_reduce_or(v, 4u)) \\\n"
    "        PUT(sub_group_clustered_reduce_xor(v, 4u)) \\\n"
    "    } \\\n"
    "}\n"
    "#define GROUP(T, R_) BEGIN(group, T, R_) \\\n"
    "    PUT(work_group_reduce_add(v)) PUT(work_group_reduce_min(v)) \\\n"
    "    PUT(work_group_reduce_max(v)) \\\n"
    "    PUT(work_group_scan_exclusive_add(v)) \\\n"
    "    PUT(work_group_scan_inclusive_add(v)) \\\n"
    "    PUT(work_group_scan_inclusive_min(v)) \\\n"
    "    PUT(work_group_scan_inclusive_max(v)) \\\n"
    "    PUT(work_group_broadcast(v, 7)) \\\n"
    "}\n"
    "#ifdef LOOPS\n"
    "LANES(half, float)\n"
    "#else\n"
    "#define FLOATS(X) X(half, float) X(float, float) X(double, double)\n"
    "#define WHOLE(X) X(char, char) X(uchar, uchar) X(short, short) \\\n"
    "    X(ushort, ushort) X(int, int) X(uint, uint) X(long, long) \\\n"
    "    X(ulong, ulong)\n"
    "FLOATS(LANES) WHOLE(LANES) FLOATS(ALL) WHOLE(ALL) FLOATS(SOME) "
    "WHOLE(SOME) WHOLE(BITS)\n"
    "FLOATS(GROUP) GROUP(int, int) GROUP(uint, uint) GROUP(long, long)\n"
    "GROUP(ulong, ulong)\n"
    "kernel void votes(global const int *x, global uint *r) {\n"
    "    typedef uint R;\n"
    "    size_t i = get_global_id(0), n = get_global_size(0), k = 0;\n"
    "    uint self = get_sub_group_local_id();\n"
    "    int v = x[i] % 2;\n"
    "    PUT(sub_group_any(v)) PUT(sub_group_all(v)) PUT(sub_group_all(1))\n"
    "    PUT(get_sub_group_eq_mask().x) PUT(get_sub_group_ge_mask().x)\n"
    "    PUT(get_sub_group_gt_mask().x) PUT(get_sub_group_le_mask().x)\n"
    "    PUT(get_sub_group_lt_mask().x)\n"
    "    if (self % 3 != 1) {\n"
    "        uint4 b = sub_group_ballot(v);\n"
    "        PUT(b.x) PUT(b.y | b.z | b.w)\n"
    "        PUT(sub_group_inverse_ballot(b))\n"
    "        PUT(sub_group_ballot_bit_extract(b, 3u))\n"
    "        PUT(sub_group_ballot_bit_count(b))\n"
    "        PUT(sub_group_ballot_inclusive_scan(b))\n"
    "        PUT(sub_group_ballot_exclusive_scan(b))\n"
    "        uint4 c = (uint4)(b.x | 1u << get_sub_group_size() / 2, 0, 0, "
    "0);\n"
    "        PUT(sub_group_ballot_find_lsb(c))\n"
    "        PUT(sub_group_ballot_find_msb(c))\n"
    "        PUT(sub_group_elect())\n"
    "        PUT(sub_group_non_uniform_any(v))\n"
    "        PUT(sub_group_non_uniform_all(v))\n"
    "        PUT(sub_group_non_uniform_reduce_logical_and(v))\n"
    "        PUT(sub_group_non_uniform_reduce_logical_or(v))\n"
    "        PUT(sub_group_non_uniform_reduce_logical_xor(v))\n"
    "        PUT(sub_group_clustered_reduce_logical_xor(v, 4u))\n"
    "    }\n"
    "}\n"
    "#endif\n";

static int x[N];

// The sub-group, or group, of a work-item; `self`: its place there.
struct part {
    int first, size, self;
};

static struct part part_of(int i, int size)
{
    int group = i / LOCAL * LOCAL, end = group + LOCAL < N ? group + LOCAL : N;
    int first = group + (i - group) / size * size;
    return (struct part){first, first + size < end ? size : end - first,
                         i - first};
}

static bool takes_part(const struct part *p, int lane, bool some)
{
    return lane >= 0 && lane < p->size && (!some || lane % 3 != 1);
}

enum op {
    ADD,
    MIN,
    MAX,
    MUL,
    AND,
    OR,
    XOR
};

static double least(double a, double b)
{
    return a < b ? a : b;
}

static double fold(enum op op, double a, double b)
{
    uint64_t u = (uint64_t)(int64_t)a, v = (uint64_t)(int64_t)b;

    switch (op) {
    case ADD:
        return a + b;
    case MIN:
        return least(a, b);
    case MAX:
        return -least(-a, -b);
    case MUL:
        return a * b;
    case AND:
        return (double)(int64_t)(u & v);
    case OR:
        return (double)(int64_t)(u | v);
    case XOR:
    default:
        return (double)(int64_t)(u ^ v);
    }
}

// Over the lanes from `first` to before `end` that take part; what is there
// when none does is not told, since it depends on the type.
static bool fold_lanes(const struct part *p, enum op op, int first, int end,
                       bool some, double *result)
{
    bool any = false;

    for (int lane = first; lane < end; lane++)
        if (takes_part(p, lane, some)) {
            double v = x[p->first + lane];
            *result = any ? fold(op, *result, v) : v;
            any = true;
        }
    return any;
}

// The results in the order of the kernels' PUT(); NAN: whatever it is.
struct list {
    double right[RESULTS];
    int count;
};

static void put(struct list *l, double value)
{
    l->right[l->count++] = value;
}

static void put_fold(struct list *l, const struct part *p, enum op op,
                     int first, int end, bool some)
{
    double value = NAN;

    fold_lanes(p, op, first, end, some, &value);
    put(l, value);
}

// What an exclusive scan gives to the first.
static double identity(enum op op)
{
    return op == ADD || op == OR || op == XOR ? 0 : op == MUL ? 1 : (double)NAN;
}

static void put_scans(struct list *l, const struct part *p, enum op op,
                      bool some)
{
    put_fold(l, p, op, 0, p->size, some);
    double before = identity(op);
    fold_lanes(p, op, 0, p->self, some, &before);
    put(l, before);
    put_fold(l, p, op, 0, p->self + 1, some);
}

static void put_lane(struct list *l, const struct part *p, int lane)
{
    put(l, takes_part(p, lane, false) ? x[p->first + lane] : (double)NAN);
}

static void all_of(struct list *l, int i)
{
    const struct part p = part_of(i, SIZE);

    put_scans(l, &p, ADD, false);
    put_scans(l, &p, MIN, false);
    put_scans(l, &p, MAX, false);
}

static void lanes_of(struct list *l, int i)
{
    const struct part p = part_of(i, SIZE);

    put_lane(l, &p, 2);
    put(l, x[p.first + 1] + 1);
    put_lane(l, &p, (p.self * 7 + 3) % 16);
    put_lane(l, &p, p.self ^ 5);
    put_lane(l, &p, p.self - 2);
    put_lane(l, &p, p.self + 3);
    put_lane(l, &p, (p.self + 5) % SIZE);
    put_lane(l, &p, p.self / WIDTH * WIDTH + (p.self + 1) % WIDTH);
}

static void put_cluster(struct list *l, const struct part *p, enum op op)
{
    int first = p->self / WIDTH * WIDTH;
    put_fold(l, p, op, first, first + WIDTH, true);
}

static void some_of(struct list *l, int i)
{
    const struct part p = part_of(i, SIZE);
    bool same = true;

    if (!takes_part(&p, p.self, true))
        return;
    for (enum op op = ADD; op <= MUL; op++)
        put_scans(l, &p, op, true);
    for (enum op op = ADD; op <= MUL; op++)
        put_cluster(l, &p, op);
    put_lane(l, &p, 2);
    put_lane(l, &p, 0);
    for (int lane = 0; lane < p.size; lane++)
        same &= !takes_part(&p, lane, true) || x[p.first + lane] == x[p.first];
    put(l, same);
    put(l, 1);
}

static void bits_of(struct list *l, int i)
{
    const struct part p = part_of(i, SIZE);

    if (!takes_part(&p, p.self, true))
        return;
    for (enum op op = AND; op <= XOR; op++)
        put_scans(l, &p, op, true);
    for (enum op op = AND; op <= XOR; op++)
        put_cluster(l, &p, op);
}

static void group_of(struct list *l, int i)
{
    const struct part p = part_of(i, LOCAL);

    for (enum op op = ADD; op <= MAX; op++)
        put_fold(l, &p, op, 0, p.size, false);
    double before = 0;
    fold_lanes(&p, ADD, 0, p.self, false, &before);
    put(l, before);
    for (enum op op = ADD; op <= MAX; op++)
        put_fold(l, &p, op, 0, p.self + 1, false);
    put_lane(l, &p, 7);
}

static uint32_t bits_below(int lane)
{
    return lane < 32 ? (1u << lane) - 1 : ~0u;
}

static int ones(uint32_t bits)
{
    int count = 0;
    for (; bits; bits &= bits - 1)
        count++;
    return count;
}

static void votes_of(struct list *l, int i)
{
    const struct part p = part_of(i, SIZE);
    uint32_t set = 0, there = 0, whole = bits_below(p.size);
    uint32_t self = 1u << p.self, cluster = 0;

    for (int lane = 0; lane < p.size; lane++) {
        set |= x[p.first + lane] % 2 ? 1u << lane : 0;
        there |= takes_part(&p, lane, true) ? 1u << lane : 0;
        cluster |= lane / WIDTH == p.self / WIDTH ? 1u << lane : 0;
    }
    put(l, set != 0);
    put(l, set == whole);
    put(l, 1);
    put(l, self);
    put(l, whole & ~bits_below(p.self));
    put(l, whole & ~bits_below(p.self + 1));
    put(l, bits_below(p.self + 1));
    put(l, bits_below(p.self));
    if (!(there & self))
        return;
    set &= there;
    put(l, set);
    put(l, 0);
    put(l, (set & self) != 0);
    put(l, set >> 3 & 1);
    put(l, ones(set));
    put(l, ones(set & bits_below(p.self + 1)));
    put(l, ones(set & bits_below(p.self)));
    uint32_t more = set | 1u << p.size / 2;
    int low = 0, high = SIZE - 1;
    while (!(more >> low & 1))
        low++;
    while (!(more >> high & 1))
        high--;
    put(l, low);
    put(l, high);
    put(l, p.self == 0);
    put(l, set != 0);
    put(l, set == there);
    put(l, set == there);
    put(l, set != 0);
    put(l, ones(set) % 2);
    put(l, ones(set & cluster) % 2);
}

enum kind {
    SIGNED,
    UNSIGNED,
    FLOATING
};

static double read_result(const void *r, enum kind kind, size_t size, size_t at)
{
    switch ((int)size * 3 + (int)kind) {
    case 3 + SIGNED:
        return ((const int8_t *)r)[at];
    case 3 + UNSIGNED:
        return ((const uint8_t *)r)[at];
    case 6 + SIGNED:
        return ((const int16_t *)r)[at];
    case 6 + UNSIGNED:
        return ((const uint16_t *)r)[at];
    case 12 + SIGNED:
        return ((const int32_t *)r)[at];
    case 12 + UNSIGNED:
        return ((const uint32_t *)r)[at];
    case 12 + FLOATING:
        return (double)((const float *)r)[at];
    case 24 + SIGNED:
        return (double)((const int64_t *)r)[at];
    case 24 + UNSIGNED:
        return (double)((const uint64_t *)r)[at];
    default:
        return ((const double *)r)[at];
    }
}

static void check(struct try *t, const struct hd_program *p, const char *name,
                  void (*refer)(struct list *l, int i), enum kind kind,
                  size_t size)
{
    static double r[RESULTS * N];
    double *pr = r;
    int *px = x;

    // Products stay below 2^8.
    for (int i = 0; i < N; i++)
        x[i] = (unsigned)i * 2654435761u >> 13 & (SIZE / 2 - 1)
                   ? 1 + (i % (SIZE / 3) == 2)
                   : 3;
    if (!hd_program_find(p, name))
        return;
    memset(r, 0, sizeof(r));
    TRY_RUN(t, p, name, ((struct try_range){1, {N}, {LOCAL}, {0}}),
            TRY_VALUE(px), TRY_VALUE(pr));
    for (int i = 0; i < N; i++) {
        struct list l = {.count = 0};
        refer(&l, i);
        for (int k = 0; k < l.count; k++) {
            double got = read_result(r, kind, size, (size_t)(k * N + i));
            if (isnan(l.right[k]) || got == l.right[k])
                continue;
            fprintf(stderr, "%s: result %d of work-item %d: %g, not %g\n", name,
                    k, i, got, l.right[k]);
            exit(1);
        }
    }
}

static void every_type_is_right(struct try *t, const char *options)
{
    static const struct {
        const char *name;
        enum kind kind;
        size_t size; // of a result [bytes]
    } types[] = {
        {"char", SIGNED, 1},     {"uchar", UNSIGNED, 1}, {"short", SIGNED, 2},
        {"ushort", UNSIGNED, 2}, {"int", SIGNED, 4},     {"uint", UNSIGNED, 4},
        {"long", SIGNED, 8},     {"ulong", UNSIGNED, 8}, {"half", FLOATING, 4},
        {"float", FLOATING, 4},  {"double", FLOATING, 8}};
    static const struct {
        const char *name;
        void (*refer)(struct list *l, int i);
    } sets[] = {{"all", all_of},
                {"lanes", lanes_of},
                {"some", some_of},
                {"bits", bits_of},
                {"group", group_of}};
    struct hd_program *p = try_build(t, source, options);
    char name[32];

    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
        for (size_t s = 0; s < sizeof(sets) / sizeof(*sets); s++) {
            snprintf(name, sizeof(name), "%s_%s", sets[s].name, types[i].name);
            check(t, p, name, sets[s].refer, types[i].kind, types[i].size);
        }
    check(t, p, "votes", votes_of, UNSIGNED, 4);
    hd_program_destroy(p);
}

// Some call one function, some another; some have ended.
static void others_need_not_come(struct try *t)
{
    struct hd_program *p = try_build(
        t,
        "kernel void apart(global uint *r) {\n"
        "    uint i = get_global_id(0), self = get_sub_group_local_id(), v;\n"
        "    if (self == 9) { r[i] = 5; return; }\n"
        "    if (self % 3 == 1)\n"
        "        v = sub_group_non_uniform_reduce_max(i);\n"
        "    else if (self % 3 == 2)\n"
        "        v = sub_group_non_uniform_reduce_min(i);\n"
        "    else\n"
        "        v = 7;\n"
        "    r[i] = v;\n"
        "}\n"
        "kernel void behind(global uint *r) {\n"
        "    uint i = get_global_id(0), self = get_sub_group_local_id();\n"
        "    uint v = 7;\n"
        "    if (self % 3 == 1)\n"
        "        v = sub_group_non_uniform_reduce_add(self);\n"
        "    work_group_barrier(CLK_GLOBAL_MEM_FENCE);\n"
        "    if (self % 3 == 2)\n"
        "        v = sub_group_non_uniform_reduce_add(self);\n"
        "    r[i] = v;\n"
        "}\n"
        // On the way from one barrier of all to the next, some meet.
        "kernel void between(global uint *r) {\n"
        "    uint i = get_global_id(0), self = get_sub_group_local_id();\n"
        "    uint v = 0;\n"
        "    for (uint n = 0; n < 3; n++) {\n"
        "        v += sub_group_reduce_add(self);\n"
        "        sub_group_barrier(CLK_GLOBAL_MEM_FENCE);\n"
        "        if (self > 4 * n)\n"
        "            v += sub_group_non_uniform_reduce_add(1u);\n"
        "    }\n"
        "    r[i] = v;\n"
        "}\n",
        "-cl-std=CL3.0");
    static uint32_t r[64], *pr = r;
    const struct try_range range = {1, {64}, {32}, {0}};

    uint32_t size = (uint32_t)SIZE, sums[3] = {0}, last[3] = {0};
    for (uint32_t self = 0; self < size; self++) {
        sums[self % 3] += self;
        last[self % 3] = self;
    }

    TRY_RUN(t, p, "apart", range, TRY_VALUE(pr));
    for (uint32_t i = 0; i < 64; i++) {
        uint32_t self = i % size, first = i - self;
        CHECK(r[i] == (self == 9       ? 5
                       : self % 3 == 1 ? first + last[1]
                       : self % 3 == 2 ? first + 2
                                       : 7));
    }
    TRY_RUN(t, p, "behind", range, TRY_VALUE(pr));
    for (uint32_t i = 0; i < 64; i++)
        CHECK(r[i] == (i % size % 3 == 1   ? sums[1]
                       : i % size % 3 == 2 ? sums[2]
                                           : 7));
    TRY_RUN(t, p, "between", range, TRY_VALUE(pr));
    for (uint32_t i = 0; i < 64; i++) {
        uint32_t self = i % size, right = 3 * (size * (size - 1) / 2);
        for (uint32_t n = 0; n < 3; n++)
            right += self > 4 * n ? size - 1 - 4 * n : 0;
        CHECK(r[i] == right);
    }
    hd_program_destroy(p);
}

// A mask that is no ballot may have bits beyond a short sub-group: those below
// the largest size count.
static void masks_count_up_to_the_largest_size(struct try *t)
{
    static const char text[] =
        "kernel void masks(global uint *r) {\n"
        "    size_t i = get_global_id(0);\n"
        "    uint4 v = (uint4)(0xfff00u << 1, 1, 1, 1);\n"
        "    r[3 * i] = sub_group_ballot_find_msb(v);\n"
        "    r[3 * i + 1] = sub_group_ballot_find_lsb(v);\n"
        "    r[3 * i + 2] = sub_group_ballot_bit_count(v);\n"
        "}\n";
    static uint32_t r[3 * 24], *pr = r;
    struct hd_program *p = try_build(t, text, "-cl-std=CL3.0");

    TRY_RUN(t, p, "masks", ((struct try_range){1, {24}, {24}, {0}}),
            TRY_VALUE(pr));
    for (int i = 0; i < 24; i++)
        CHECK(r[3 * i] == 15 && r[3 * i + 1] == 9 && r[3 * i + 2] == 7);
    hd_program_destroy(p);
}

int main(void)
{
    struct try t = try_open();

    if (getenv("HEDDLE_TRY")) { // which has one form
        every_type_is_right(&t, "-cl-std=CL3.0");
        others_need_not_come(&t);
        try_close(&t);
        return 0;
    }
    // Every form has the same functions: all of them where compiling is quick.
    t.form = "-heddle-debug";
    every_type_is_right(&t, "-cl-std=CL3.0");
    others_need_not_come(&t);
    t.form = "-heddle-form=thread";
    others_need_not_come(&t);
    t.form = "-heddle-form=coroutine";
    others_need_not_come(&t);
    t.form = "-heddle-form=loops";
    masks_count_up_to_the_largest_size(&t);
    every_type_is_right(&t, "-cl-std=CL3.0 -DLOOPS");
    try_close(&t);
    return 0;
}
