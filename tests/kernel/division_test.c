// Integer division by 0, or of the least number by -1, has any value and does
// nothing else: in every form, of scalars and vectors, guarded after the fact.
#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include "tests/kernel/try.h"

enum {
    N = 64,
    LONGEST = 16 // vector
};

static const struct try_range range = {1, {N}, {16}, {0}};

static const char *const forms[] = {"-heddle-form=loops",
                                    "-heddle-form=coroutine",
                                    "-heddle-form=thread", "-heddle-debug"};

// The guards that programs are written with: what is divided by 0 is chosen
// against only when it has been computed. Every element has a value then.
static const char guarded[] =
    "typedef struct { V a, d; } pair;\n"
    "V quotient(V a, V d) { return (d == (T)0) ? a : a / d; }\n"
    "V rest(V a, V d) { return (d == (T)0) ? a : a % d; }\n"
    "kernel void vectors(global const V *a, global const V *d, global V *o) {\n"
    "    size_t i = get_global_id(0);\n"
    "    pair s = {a[i], d[i]}, *p = &s;\n"
    "    o[2 * i] = quotient(p->a, p->d);\n"
    "    o[2 * i + 1] = rest(p->a, p->d);\n"
    "}\n"
    "kernel void scalars(global const T *a, global const T *d, global T *o) {\n"
    "    size_t i = get_global_id(0);\n"
    "    for (int k = 0; k < WIDTH; k++) {\n"
    "        size_t at = WIDTH * i + k, to = 2 * WIDTH * i + k;\n"
    "        T q = a[at] / d[at], r = a[at] % d[at];\n"
    "        o[to] = d[at] ? q : a[at];\n"
    "        o[to + WIDTH] = d[at] ? r : a[at];\n"
    "    }\n"
    "}\n";

struct type {
    const char *name;
    unsigned bytes;
    bool is_signed;
};

static const struct type types[] = {{"char", 1, true}, {"ushort", 2, false},
                                    {"int", 4, true},  {"uint", 4, false},
                                    {"long", 8, true}, {"ulong", 8, false}};

static int64_t number_at(const struct type *type, const char *at)
{
    int64_t number = 0;

    memcpy(&number, at, type->bytes);
    if (type->is_signed && type->bytes < 8)
        number = (int64_t)((uint64_t)number << (64 - 8 * type->bytes)) >>
                 (64 - 8 * type->bytes);
    return number;
}

static int64_t expected(const struct type *type, int64_t a, int64_t d,
                        bool rest)
{
    if (d == 0)
        return a;
    if (!type->is_signed)
        return (int64_t)(rest ? (uint64_t)a % (uint64_t)d
                              : (uint64_t)a / (uint64_t)d);
    return rest ? a % d : a / d;
}

static void guards_may_come_late(struct try *t, const struct type *type,
                                 unsigned width)
{
    static char a[N * LONGEST * 8], d[N * LONGEST * 8], o[N * LONGEST * 16];
    char *pa = a, *pd = d, *po = o, options[128];

    for (unsigned i = 0; i < N * width; i++) {
        int64_t n = (int64_t)(i * UINT64_C(0x9e3779b97f4a7c15));
        int64_t by = i % 3 == 0 ? 0 : (int64_t)(i % 13) - 3;
        memcpy(a + i * type->bytes, &n, type->bytes);
        memcpy(d + i * type->bytes, &by, type->bytes);
    }
    snprintf(options, sizeof(options), "-DT=%s -DV=%s%u -DWIDTH=%u", type->name,
             type->name, width, width);
    struct hd_program *p = try_build(t, guarded, options);
    for (int k = 0; k < 2; k++) {
        memset(o, 0x5a, sizeof(o));
        TRY_RUN(t, p, k ? "scalars" : "vectors", range, TRY_VALUE(pa),
                TRY_VALUE(pd), TRY_VALUE(po));
        for (unsigned i = 0; i < 2 * N * width; i++) {
            unsigned from = i / (2 * width) * width + i % width;
            int64_t found = number_at(type, o + i * type->bytes);
            CHECK(found == expected(type,
                                    number_at(type, a + from * type->bytes),
                                    number_at(type, d + from * type->bytes),
                                    i / width % 2));
        }
    }
    hd_program_destroy(p);
}

// What follows a division, and what stands before it, happens all the same.
static const char unguarded[] =
    "kernel void all(global const int *a, global const int *b, global int *o) "
    "{\n"
    "    size_t i = get_global_id(0);\n"
    "    o[3 * i] = 1;\n"
    "    int q = a[i] / b[i], r = a[i] % b[i];\n"
    "    o[3 * i + 1] = q == r ? 2 : 3;\n"
    "    o[3 * i + 2] = 4;\n"
    "}\n"
    "kernel void shared(global int *o, int by) {\n"
    "    size_t i = get_global_id(0);\n"
    "    o[i] = (int)i / by + (int)i % by;\n"
    "    o[i] = 5;\n"
    "}\n"
    "kernel void constants(global int *o) {\n"
    "    size_t i = get_global_id(0);\n"
    "    int zero = 0;\n"
    "    o[i] = 6;\n"
    "    if (1 / 0 > 3 || (int)i / zero == 1)\n"
    "        o[i] = 7;\n"
    "    int4 v = (int4)(i) / (int4)(1, 0, -1, 2);\n"
    "    o[i] += 10 * v.x + (v.y == 1 ? 0 : 0) - 10 * v.w - 10 * (v.x - v.w);\n"
    "}\n";

static void the_rest_happens(struct try *t)
{
    static int a[N], b[N], o[3 * N];
    int *pa = a, *pb = b, *po = o, by[] = {0, -1, 7};
    struct hd_program *p = try_build(t, unguarded, "-w");

    for (int i = 0; i < N; i++) {
        a[i] = i % 2 ? INT32_MIN : i;
        b[i] = i % 3 - 1;
    }
    TRY_RUN(t, p, "all", range, TRY_VALUE(pa), TRY_VALUE(pb), TRY_VALUE(po));
    for (int i = 0; i < N; i++)
        CHECK(o[3 * i] == 1 && (o[3 * i + 1] == 2 || o[3 * i + 1] == 3) &&
              o[3 * i + 2] == 4);
    for (int k = 0; k < 3; k++) {
        memset(o, 0, sizeof(o));
        TRY_RUN(t, p, "shared", range, TRY_VALUE(po), TRY_VALUE(by[k]));
        for (int i = 0; i < N; i++)
            CHECK(o[i] == 5);
    }
    TRY_RUN(t, p, "constants", range, TRY_VALUE(po));
    for (int i = 0; i < N; i++)
        CHECK(o[i] == 6 || o[i] == 7);
    hd_program_destroy(p);
}

// A divisor that all share is still multiplied by, and vectors stay vectors.
static void shared_divisors_make_vectors(struct try *t)
{
    static const char source[] =
        "kernel void k(global const int *from, global int *to, int by) {\n"
        "    int i = (int)get_global_id(0), x = 0;\n"
        "    for (int turn = 0; turn < (from[i] & 7); turn++)\n"
        "        x += (i + turn) / by - (from[i] ^ turn) % by;\n"
        "    to[i] = x;\n"
        "}\n";
    static int from[N], to[N];
    int *pfrom = from, *pto = to;

    for (int i = 0; i < N; i++)
        from[i] = i * 0x9e3779;
    struct hd_program *p = try_build(t, source, NULL);
    const char *told = hd_kernel_info(hd_program_find(p, "k"))->explanation;
    CHECK(strstr(told, "masked lanes\n"));
    CHECK(!strstr(told, "no masked lanes"));
    for (int by = -9; by <= 9; by += 2) {
        TRY_RUN(t, p, "k", range, TRY_VALUE(pfrom), TRY_VALUE(pto),
                TRY_VALUE(by));
        for (int i = 0; i < N; i++) {
            int x = 0;
            for (int turn = 0; turn < (from[i] & 7); turn++)
                x += (i + turn) / by - (from[i] ^ turn) % by;
            CHECK(to[i] == x);
        }
    }
    hd_program_destroy(p);
}

// Quotients that may be estimated are within 2.5 units in the last place, of
// vectors of every length.
static void estimated_quotients_are_near(struct try *t, unsigned width)
{
    static const char source[] =
        "kernel void k(global const float *a, global const float *d,"
        " global float *o) {\n"
        "    size_t i = get_global_id(0);\n"
        "    VSTORE(VLOAD(i, a) / VLOAD(i, d), i, o);\n"
        "}\n";
    enum {
        MANY = 4096
    };
    static float a[MANY * LONGEST], d[MANY * LONGEST], o[MANY * LONGEST];
    float *pa = a, *pd = d, *po = o;
    char options[128];
    uint64_t state = 1;

    for (unsigned i = 0; i < MANY * width; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        a[i] = ldexpf(1 + (float)(state >> 40) * 0x1p-24f, (int)(i % 40) - 20);
        state = state * 6364136223846793005u + 1442695040888963407u;
        d[i] = ldexpf(1 + (float)(state >> 40) * 0x1p-24f, (int)(i % 30) - 15);
    }
    snprintf(options, sizeof(options),
             "-cl-fast-relaxed-math -DVLOAD=vload%u -DVSTORE=vstore%u", width,
             width);
    struct hd_program *p = try_build(t, source, options);
    TRY_RUN(t, p, "k", ((struct try_range){1, {MANY}, {16}, {0}}),
            TRY_VALUE(pa), TRY_VALUE(pd), TRY_VALUE(po));
    for (unsigned i = 0; i < MANY * width; i++) {
        double exact = (double)a[i] / d[i];
        double unit = ldexp(1, ilogb(exact) - 23);
        CHECK(fabs(o[i] - exact) <= 2.5 * unit);
    }
    hd_program_destroy(p);
}

int main(void)
{
    static const unsigned widths[] = {2, 3, 4, 8, 16};
    struct try t = try_open();

    shared_divisors_make_vectors(&t);
    for (size_t k = 0; k < sizeof(widths) / sizeof(widths[0]); k++)
        estimated_quotients_are_near(&t, widths[k]);
    for (size_t f = 0; f < sizeof(forms) / sizeof(forms[0]); f++) {
        t.form = forms[f];
        the_rest_happens(&t);
        for (size_t k = 0; k < sizeof(types) / sizeof(types[0]); k++)
            guards_may_come_late(&t, &types[k], f == 0 ? 1u << (1 + k % 4) : 4);
    }
    try_close(&t);
    return 0;
}
