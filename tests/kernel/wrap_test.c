// Loops inside a work-item that go through memory by an index that wraps read
// what stands there, also where they wrap in the middle of what would be a
// vector.
#include <string.h>

#include "tests/kernel/try.h"

enum {
    N = 300,         // elements
    MOST_TURNS = 100 // of a loop
};

typedef unsigned char uchar;

#define INDICES(INDEX)              \
    INDEX(threes, 3 * k & 63)       \
    INDEX(fives, 5 * k & 63)        \
    INDEX(elevens, 11 * k & 31)     \
    INDEX(back, (100 - 3 * k) & 63) \
    INDEX(later, (3 * k + 40) & 63) \
    INDEX(bytes, (uchar)(3 * k))    \
    INDEX(rests, 3 * (uint)k % 64)  \
    INDEX(pairs, 2 * k & 15)        \
    INDEX(stepwise, (n & 3) * k & 63)

#define REFERENCE(name, index)         \
    static int name##_at(int k, int n) \
    {                                  \
        (void)n;                       \
        return (int)(index);           \
    }
INDICES(REFERENCE)

// The same loop in other words: a condition in the middle, an index that grows
// from turn to turn, a sum of all, a store instead of loads.
#define KERNEL(name, index)                                           \
    "KERNEL(" #name ", for (int k = 0; k < n; k++) { int i = " #index \
    "; PUT })\n"
static const char source[] =
    "#define PUT to[k] = from[i] + from[i + 1] + from[i + 2];\n"
    "#define KERNEL(name, ...) \\\n"
    "kernel void name(global const int *restrict from, \\\n"
    "                 global int *restrict to, int n) { __VA_ARGS__ "
    "}\n" INDICES(
        KERNEL) "KERNEL(middle, int k = 0; while (1) {\n"
                "    int i = 3 * k & 63; if (k >= n) break; PUT k++; })\n"
                "KERNEL(grown, uchar i = 0; for (int k = 0; k < n; k++) { PUT "
                "i += 3; })\n"
                "KERNEL(bounded, int i = 0;\n"
                "       for (int k = 0; k < n; k++) { PUT i = (i + 3) & 63; "
                "})\n"
                "KERNEL(rows, for (int l = 0; l < 2; l++)\n"
                "       for (int k = 0; k < n; k++) { int i = 3 * k & 63; PUT "
                "})\n";

static const struct {
    const char *name;
    int (*at)(int k, int n);
} cases[] = {
#define CASE(name, index) {#name, name##_at},
    INDICES(CASE){"middle", threes_at},
    {"grown", bytes_at},
    {"bounded", threes_at},
    {"rows", threes_at},
};

int main(void)
{
    static const struct try_range one = {1, {1}, {1}, {0}};
    static int numbers[N], values[N];
    const int *from = numbers;
    int *to = values;
    struct try t = try_open();
    struct hd_program *p = try_build(&t, source, NULL);

    for (int i = 0; i < N; i++)
        numbers[i] = i * i;
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++)
        for (int n = 1; n <= MOST_TURNS; n++) {
            memset(values, 0, sizeof(values));
            TRY_RUN(&t, p, cases[c].name, one, TRY_VALUE(from), TRY_VALUE(to),
                    TRY_VALUE(n));
            for (int k = 0; k < n; k++) {
                const int *at = &numbers[cases[c].at(k, n)];
                CHECK(values[k] == at[0] + at[1] + at[2]);
            }
        }
    hd_program_destroy(p);
    try_close(&t);
    return 0;
}
