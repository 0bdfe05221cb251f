// A real number that fits no number of the type it becomes makes any number and
// does nothing else: in every form, of scalars and vectors.
#include <math.h>
#include <stdint.h>

#include "tests/kernel/try.h"

enum {
    N = 64,
    RESULTS = 6
};

static const struct try_range range = {1, {N}, {16}, {0}};

static const char *const forms[] = {"-heddle-form=loops",
                                    "-heddle-form=coroutine",
                                    "-heddle-form=thread", "-heddle-debug"};

// Constants are what compilers conclude most from.
static const char source[] =
    "kernel void known(global int *o) {\n"
    "    size_t i = get_global_id(0);\n"
    "    float big = 1e20f, wrong = nan(0u);\n"
    "    double low = -1;\n"
    "    float4 both = (float4)(-7, big, 3, wrong);\n"
    "    o[6 * i] = (int)big;\n"
    "    o[6 * i + 1] = (int)wrong > 5 ? 2 : 3;\n"
    "    if ((ulong)low > 9)\n"
    "        o[6 * i + 2] = 4;\n"
    "    else\n"
    "        o[6 * i + 2] = 5;\n"
    "    int4 v = convert_int4(both);\n"
    "    o[6 * i + 3] = v.x + v.z;\n"
    "    o[6 * i + 4] = v.y == v.w ? 6 : 7;\n"
    "    uchar c = (uchar)big, k = c;\n"
    "    o[6 * i + 5] = c == k && c < 256 ? 8 : 9;\n"
    "}\n"
    "kernel void unknown(global const float *f, global int *o) {\n"
    "    size_t i = get_global_id(0);\n"
    "    int n = (int)f[i];\n"
    "    ushort s = convert_ushort(f[i]);\n"
    "    o[6 * i] = n;\n"
    "    o[6 * i + 1] = n > 5 ? 2 : 3;\n"
    "    if (n > 5 || n == s)\n"
    "        o[6 * i + 2] = 4;\n"
    "    else\n"
    "        o[6 * i + 2] = 5;\n"
    "    o[6 * i + 3] = (int)(f[i] - f[i]) - 4;\n"
    "    o[6 * i + 4] = n == (n ^ 1) ? 7 : 6;\n"
    "    o[6 * i + 5] = s >= 0 && s < 65536 ? 8 : 9;\n"
    "}\n";

enum {
    UNTOUCHED = 0x5eadbeef // no conversion makes it
};

static void any_number_and_nothing_else(struct try *t)
{
    static const float odd[] = {1e20f, -1e20f, INFINITY, 3.7f, -3.7f, 7e4f};
    static float f[N];
    static int o[N * RESULTS];
    float *pf = f;
    int *po = o;
    struct hd_program *p = try_build(t, source, NULL);

    for (int i = 0; i < N; i++)
        f[i] = odd[i % 6];
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < N * RESULTS; i++)
            o[i] = UNTOUCHED;
        if (k)
            TRY_RUN(t, p, "unknown", range, TRY_VALUE(pf), TRY_VALUE(po));
        else
            TRY_RUN(t, p, "known", range, TRY_VALUE(po));
        for (int i = 0; i < N; i++) {
            const int *r = o + RESULTS * i;
            CHECK(r[0] != UNTOUCHED);
            CHECK(r[1] == 2 || r[1] == 3);
            CHECK(r[2] == 4 || r[2] == 5);
            CHECK(r[3] == -4 || (k && isinf(f[i]) && r[3] != UNTOUCHED));
            CHECK(r[4] == 6 || (!k && r[4] == 7));
            CHECK(r[5] == 8);
            if (k && fabsf(f[i]) < 1e9f) {
                CHECK(r[0] == (int)f[i]);
                CHECK(r[1] == (r[0] > 5 ? 2 : 3));
            }
        }
    }
    hd_program_destroy(p);
}

int main(void)
{
    struct try t = try_open();

    for (size_t f = 0; f < sizeof(forms) / sizeof(forms[0]); f++) {
        t.form = forms[f];
        any_number_and_nothing_else(&t);
    }
    try_close(&t);
    return 0;
}
