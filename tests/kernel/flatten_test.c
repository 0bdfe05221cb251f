// Global ids that kernels put together of groups are what they say, whether
// groups are whole or not, wherever ids begin.
#include <stdio.h>
#include <string.h>

#include "tests/kernel/try.h"

enum {
    W = 40,
    H = 6
};

static const char source[] =
    "#define AT (get_global_id(1) - get_global_offset(1)) * 40 + \\\n"
    "    get_global_id(0) - get_global_offset(0)\n"
    "#define ID(d) (get_group_id(d) * get_local_size(d) + get_local_id(d))\n"
    "kernel void long_(global int *to, int n) {\n"
    "    size_t x = ID(0);\n"
    "    if (x < n) to[AT] = x + 1;\n"
    "}\n"
    "kernel void int_(global int *to, int n) {\n"
    "    int g = get_group_id(0), s = get_local_size(0), l = get_local_id(0);\n"
    "    int x = l + s * g;\n"
    "    if (x < n) to[AT] = x + 1;\n"
    "}\n"
    "kernel void both(global int *to, int n) {\n"
    "    int x = ID(0), y = ID(1);\n"
    "    if (x < n) to[AT] = 100 * y + x + 1;\n"
    "}\n"
    // Groups matter here.
    "kernel void local_(global int *to, int n) {\n"
    "    int x = ID(0);\n"
    "    if (x < n) to[AT] = x + 1 + 0 * get_local_id(1);\n"
    "    if (get_local_id(0) == n) to[AT] = -1;\n"
    "}\n";

static const char *const names[] = {"long_", "int_", "both", "local_"};
static const char told[] = "global ids are put together of groups";

// Along one axis: the id put together by the work-item with this global id,
// from 0 on.
static int id_of(const struct try_range *range, unsigned d, int at)
{
    int size = (int)range->local[d], group = at / size;
    int left = (int)range->global[d] - group * size;

    return group * (left < size ? left : size) + at % size;
}

static void check(struct try *t, const struct hd_program *p, const char *name,
                  struct try_range range)
{
    int cells[W * H] = {0}, *to = cells, n = 29;

    TRY_RUN(t, p, name, range, TRY_VALUE(to), TRY_VALUE(n));
    for (int y = 0; y < (int)range.global[1]; y++)
        for (int x = 0; x < (int)range.global[0]; x++) {
            int id = id_of(&range, 0, x), wanted = id < n ? id + 1 : 0;
            if (strcmp(name, "both") == 0 && id < n)
                wanted += 100 * id_of(&range, 1, y);
            CHECK(cells[y * W + x] == wanted);
        }
}

static void ids_are_what_they_say(struct try *t)
{
    struct hd_program *p = try_build(t, source, NULL);
    struct hd_program *without =
        try_build(t, source, "-heddle-without=flatten");

    for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
        for (int way = 0; way < 16; way++) {
            const struct try_range range = {
                2,
                {way & 1 ? 37 : 36, way & 2 ? 5 : 6},
                {12, 2},
                {way & 4 ? 12 : 0, way & 8 ? 2 : 0}};
            check(t, p, names[k], range);
            check(t, without, names[k], range);
        }
        const char *text =
            hd_kernel_info(hd_program_find(p, names[k]))->explanation;
        CHECK(!strstr(text, told) == (k == 3));
    }
    hd_program_destroy(without);
    hd_program_destroy(p);
}

int main(void)
{
    struct try t = try_open();

    ids_are_what_they_say(&t);
    t.split[0] = 1;
    ids_are_what_they_say(&t);
    try_close(&t);
    return 0;
}
