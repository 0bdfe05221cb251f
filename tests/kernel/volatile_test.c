// Volatile local memory: work-items that write, read again and retry until they
// find their own value each win once, in every form. A volatile private
// variable is one as any other.
#include "tests/kernel/try.h"

static const char source[] =
    "kernel void count(global const uint *in, global uint *out, uint n) {\n"
    "    volatile local uint h[64];\n"
    "    uint me = get_local_id(0), tag = me << 24;\n"
    "    for (uint b = me; b < 64; b += get_local_size(0)) h[b] = 0;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    for (uint i = me; i < n; i += get_local_size(0)) {\n"
    "        uint bin = in[i], mine;\n"
    "        do {\n"
    "            mine = ((h[bin] & 0xffffff) + 1) | tag;\n"
    "            h[bin] = mine;\n"
    "        } while (h[bin] != mine);\n"
    "    }\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    for (uint b = me; b < 64; b += get_local_size(0))\n"
    "        out[b] = h[b] & 0xffffff;\n"
    "}\n";

static const char private_source[] =
    "kernel void tally(global uint *out, uint n) {\n"
    "    volatile const uint one = 1;\n"
    "    uint i = get_global_id(0);\n"
    "    for (uint k = 0; k < n; k++) out[i] += one + k;\n"
    "}\n";

static void a_private_variable_becomes_a_value(struct try *t)
{
    static const struct try_range range = {1, {40}, {1}, {0}};
    uint32_t out[40] = {0}, *pout = out, n = 4;
    struct hd_program *p = try_build(t, private_source, NULL);
    const struct hd_kernel *kernel = hd_program_find(p, "tally");

    CHECK(kernel &&
          strstr(hd_kernel_info(kernel)->explanation, "with 0 private arrays"));
    TRY_RUN(t, p, "tally", range, TRY_VALUE(pout), TRY_VALUE(n));
    for (int i = 0; i < 40; i++)
        CHECK(out[i] == 10);
    hd_program_destroy(p);
}

int main(void)
{
    static const char *const forms[] = {NULL, "-heddle-form=coroutine",
                                        "-heddle-form=thread"};
    static const struct try_range range = {1, {32}, {32}, {0}};
    struct try t = try_open();

    a_private_variable_becomes_a_value(&t);
    for (int f = 0; f < 3; f++) {
        static uint32_t in[256], out[64];
        uint32_t *pin = in, *pout = out, n = 256, wanted[64] = {0};
        t.form = forms[f];
        struct hd_program *p = try_build(&t, source, NULL);
        for (uint32_t i = 0; i < n; i++)
            wanted[in[i] = i < 64 ? 3 : i * 2654435761u >> 26]++;
        TRY_RUN(&t, p, "count", range, TRY_VALUE(pin), TRY_VALUE(pout),
                TRY_VALUE(n));
        for (int b = 0; b < 64; b++)
            CHECK(out[b] == wanted[b]);
        hd_program_destroy(p);
    }
    try_close(&t);
    return 0;
}
