// Regions on both sides of a barrier become one where an order of work-items
// makes up for the barrier, and only there.
#include <string.h>

#include "tests/kernel/try.h"

enum {
    N = 346
};

// `take`: what of `part` a work-item takes; `give`: what it does with `t`
// behind the barrier.
static const char source[] =
    "#define KERNEL(name, type, take, give) \\\n"
    "kernel void name(global int *to, int d, local int *part) { \\\n"
    "    type l = get_local_id(0), size = get_local_size(0); \\\n"
    "    int i = get_global_id(0), t = 0; \\\n"
    "    part[l] = i * 7 + 1; \\\n"
    "    barrier(CLK_LOCAL_MEM_FENCE); \\\n"
    "    take \\\n"
    "    barrier(CLK_LOCAL_MEM_FENCE); \\\n"
    "    give \\\n"
    "    barrier(CLK_LOCAL_MEM_FENCE); \\\n"
    "    to[i] = part[l]; \\\n"
    "}\n"
    "#define ADD part[l] += t;\n"
    "#define AT(x) if ((x) >= 0 && (x) < size) t += part[x];\n"
    "KERNEL(away, int, AT(l + d), ADD)\n"
    "KERNEL(wraps, uint, if (d >= 0 && l >= d) t = part[l - d];, ADD)\n"
    "KERNEL(lags, int, if (l >= d) t = part[l - d];, ADD)\n"
    "KERNEL(leads, int, if (l < size - d) t = part[l + d];, ADD)\n"
    "KERNEL(both_ways, int, AT(l + d) AT(l - d), ADD)\n"
    "KERNEL(around, int, AT(l - 1) AT(l + 1), ADD)\n"
    "KERNEL(mirror, int, t = part[size - 1 - l];, ADD)\n"
    "KERNEL(first, int, t = part[0];, ADD)\n"
    "KERNEL(counts, int, AT(l + d), atomic_add(&part[size - 1 - l], t);)\n"
    "KERNEL(bytes, int, AT(l + d), ((local char *)part)[l * 4] = t;)\n"
    "KERNEL(shift, int, t = part[l + 1 < size ? l + 1 : l];, part[l] = t;)\n"
    "KERNEL(next, int, AT(l + 1), part[l] = t;)\n"
    "KERNEL(rows, int, AT(l + 1),\n"
    "       part[l] = t; to[64 * get_global_id(1) + i] = t;)\n"
    "kernel void aliases(global int *from, global int *to) {\n"
    "    int i = get_global_id(0), t = from[i + 1];\n"
    "    barrier(CLK_GLOBAL_MEM_FENCE);\n"
    "    to[i] = t;\n"
    "    barrier(CLK_GLOBAL_MEM_FENCE);\n"
    "    to[i] += 1;\n"
    "}\n";

static bool is_joined(const struct hd_program *p, const char *name)
{
    const struct hd_kernel *kernel = hd_program_find(p, name);

    CHECK(kernel);
    return strstr(hd_kernel_info(kernel)->explanation,
                  "fused across the barrier");
}

static int at(const int *part, int size, int i)
{
    return i >= 0 && i < size ? part[i] : 0;
}

// What work-item `l` takes, and what it leaves behind.
static int takes(const char *name, const int *part, int size, int l, int d)
{
    if (strcmp(name, "wraps") == 0)
        return d >= 0 ? at(part, size, l - d) : 0;
    if (strcmp(name, "lags") == 0)
        return at(part, size, l - d);
    if (strcmp(name, "both_ways") == 0)
        return at(part, size, l + d) + at(part, size, l - d);
    if (strcmp(name, "around") == 0)
        return at(part, size, l - 1) + at(part, size, l + 1);
    if (strcmp(name, "mirror") == 0)
        return part[size - 1 - l];
    if (strcmp(name, "first") == 0)
        return part[0];
    if (strcmp(name, "shift") == 0)
        return part[l + 1 < size ? l + 1 : l];
    if (strcmp(name, "next") == 0)
        return at(part, size, l + 1);
    return at(part, size, l + d);
}

static void give(const char *name, int *part, const int *taken, int size)
{
    for (int l = size - 1; l >= 0; l--)
        if (strcmp(name, "counts") == 0)
            part[size - 1 - l] += taken[l];
        else if (strcmp(name, "bytes") == 0)
            memcpy(&part[l], &taken[l], 1);
        else if (strcmp(name, "shift") == 0 || strcmp(name, "next") == 0)
            part[l] = taken[l];
        else
            part[l] += taken[l];
}

static void run(struct try *t, const struct hd_program *p, const char *name,
                int size, int d)
{
    static int to[N], *pto = to;
    int part[N], taken[N], wrong = 0;

    memset(to, 0, sizeof(to));
    TRY_RUN(t, p, name, ((struct try_range){1, {N}, {(uint32_t)size}, {0}}),
            TRY_VALUE(pto), TRY_VALUE(d),
            TRY_LOCAL((size_t)size * sizeof(int)));
    for (int begin = 0; begin < N; begin += size) {
        int here = begin + size < N ? size : N - begin;
        for (int l = 0; l < here; l++)
            part[l] = (begin + l) * 7 + 1;
        for (int l = 0; l < here; l++)
            taken[l] = takes(name, part, here, l, d);
        give(name, part, taken, here);
        for (int l = 0; l < here; l++)
            wrong += to[begin + l] != part[l];
    }
    if (wrong)
        printf("%s, group of %d, distance %d: %d wrong\n", name, size, d,
               wrong);
    CHECK(wrong == 0);
}

static void results_are_right(struct try *t, const struct hd_program *p)
{
    static const char *const names[] = {
        "away",   "wraps", "lags",   "leads", "both_ways", "around",
        "mirror", "first", "counts", "bytes", "shift",     "next"};
    static const int sizes[] = {1, 3, 16, 17, 31, 32, 64, 173, 346};
    static const int distances[] = {-40, -33, -17, -16, -3, -1, 0,
                                    1,   2,   15,  16,  18, 64};

    for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++)
        for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
            for (size_t d = 0; d < sizeof(distances) / sizeof(distances[0]);
                 d++)
                // What lags and leads does so by 0 or more.
                if (distances[d] >= 0 || names[n][0] != 'l')
                    run(t, p, names[n], sizes[s], distances[d]);
}

static void rows_wait_for_each_other(struct try *t, const struct hd_program *p)
{
    static int to[64 * 4], *pto = to;
    int d = 0;

    // Every row does the same to the same part.
    TRY_RUN(t, p, "rows", ((struct try_range){2, {64, 4}, {64, 4}, {0}}),
            TRY_VALUE(pto), TRY_VALUE(d), TRY_LOCAL(64 * sizeof(int)));
    for (int i = 0; i < 64 * 4; i++)
        CHECK(to[i] == (i % 64 < 63 ? (i % 64 + 1) * 7 + 1 : 0));
}

static void buffers_may_be_one(struct try *t, const struct hd_program *p)
{
    static int data[65], *from = data, *to = data + 1;

    for (int i = 0; i < 65; i++)
        data[i] = i;
    TRY_RUN(t, p, "aliases", ((struct try_range){1, {64}, {64}, {0}}),
            TRY_VALUE(from), TRY_VALUE(to));
    for (int i = 1; i < 65; i++)
        CHECK(data[i] == i + 1);
}

static void only_orders_join(struct try *t)
{
    // A processor that need not be the one at hand.
    const struct hd_program_params params = {
        .path = "test.cl", .source = source, .cpus = "x86-64-v3"};
    struct hd_error error;
    struct hd_program *p;

    static const char *const joined[] = {"away",      "wraps", "lags", "leads",
                                         "both_ways", "next",  "rows"};
    static const char *const apart[] = {"mirror", "first", "counts", "bytes",
                                        "aliases"};

    if (!t->device->can.features) {
        puts("not looked at: what becomes of barriers on this processor");
        return;
    }
    CHECK_OK(hdi_program_create(&t->context, &params, &p, &error), error);
    for (size_t i = 0; i < sizeof(joined) / sizeof(joined[0]); i++)
        CHECK(is_joined(p, joined[i]));
    for (size_t i = 0; i < sizeof(apart) / sizeof(apart[0]); i++)
        CHECK(!is_joined(p, apart[i]));
    hd_program_destroy(p);
}

int main(void)
{
    struct try t = try_open();
    struct hd_program *p = try_build(&t, source, NULL);

    only_orders_join(&t);
    results_are_right(&t, p);
    rows_wait_for_each_other(&t, p);
    buffers_may_be_one(&t, p);
    hd_program_destroy(p);
    try_close(&t);
    return 0;
}
