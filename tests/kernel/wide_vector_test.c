// A kernel that keeps its vectors whole, as built-in functions do, computes
// what it computes with its vectors taken apart, and in thread form.
#include <string.h>

#include "tests/kernel/try.h"

// Too long for lanes when taken apart.
static const char source[] =
    "#define ROUND(a, b, k) \\\n"
    "    a += rotate(b ^ k, a) + w; b = max(a, b) - hadd(b >> 3, min(w, b)); "
    "\\\n"
    "    w = select(w + a, w ^ bitselect(a, b, w), a.s32107654ba98fedc > b);\n"
    "#define FOUR(a, b) ROUND(a, b, 0x5bd1e995u) ROUND(b, a, 77u) \\\n"
    "    ROUND(a, b, w.s5) ROUND(b, a, n)\n"
    "#define MANY(a, b) FOUR(a, b) FOUR(a, b) FOUR(a, b) FOUR(a, b) FOUR(a, "
    "b)\n"
    "kernel void mix(global const uint16 *in, global uint *out,\n"
    "                volatile global uint *found, uint n) {\n"
    "    volatile uint one = 1;\n"
    "    uint i = get_global_id(0);\n"
    "    uint16 a = in[i], b = a + n, w = (uint16)(i);\n"
    "    for (uint r = 0; r < n + (i & 3); r++) {\n"
    "        MANY(a, b)\n"
    "        if (any(a == b)) continue;\n"
    "        w ^= convert_uint16(convert_float16(b >> 8));\n"
    "        vstore8(w.odd, i, out);\n"
    "        if (a.s7 & 1) atomic_add(found, one);\n"
    "    }\n"
    "    vstore8(w.even ^ b.hi, i, out);\n"
    "}\n";

enum {
    ITEMS = 37
};

static void run(struct try *t, const char *options, uint32_t *out,
                bool is_whole)
{
    static _Alignas(64) uint32_t memory[ITEMS * 16 + 1];
    uint32_t *in = memory + 1; // as the host's memory may lie
    static const struct try_range range = {1, {ITEMS}, {1}, {0}};
    uint32_t found = 0, n = 3;
    uint32_t *pin = in, *pout = out, *pfound = &found;
    struct hd_program *p = try_build(t, source, options);
    const struct hd_kernel *kernel = hd_program_find(p, "mix");

    CHECK(kernel);
    for (uint32_t i = 0; i < ITEMS * 16; i++)
        in[i] = i * 2654435761u ^ i << 7;
    CHECK((strstr(hd_kernel_info(kernel)->explanation, "stay whole") != NULL) ==
          is_whole);
    TRY_RUN(t, p, "mix", range, TRY_VALUE(pin), TRY_VALUE(pout),
            TRY_VALUE(pfound), TRY_VALUE(n));
    out[ITEMS * 8] = found;
    hd_program_destroy(p);
}

int main(void)
{
    static uint32_t whole[ITEMS * 8 + 1], other[ITEMS * 8 + 1];
    struct try t = try_open();

    run(&t, NULL, whole, true);
    CHECK(whole[ITEMS * 8] > 0);
    run(&t, "-heddle-without=whole", other, false);
    CHECK(memcmp(whole, other, sizeof(whole)) == 0);
    t.form = "-heddle-form=thread";
    run(&t, "-heddle-without=whole", other, false);
    CHECK(memcmp(whole, other, sizeof(whole)) == 0);
    try_close(&t);
    return 0;
}
