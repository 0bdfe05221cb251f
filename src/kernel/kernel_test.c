// Kernels of all kinds do what the same text does in C.
#include "kernel/try.h"

enum {
    N = 1000
};

static void a_kernel_runs_over_all_items(void)
{
    struct try t = try_open();
    struct hd_program *p =
        try_build(&t,
                  "__kernel void saxpy(__global float *y, __global const float "
                  "*x, float a, int n) {\n"
                  "    int i = get_global_id(0);\n"
                  "    if (i < n) y[i] = a * x[i] + y[i];\n"
                  "}\n",
                  NULL);
    static float x[N], y[N], *px = x, *py = y;
    float a = 3;
    int n = N - 3;

    for (uint32_t local = 1; local <= 300; local = local * 3 + 1) {
        for (int i = 0; i < N; i++) {
            x[i] = (float)i;
            y[i] = 1;
        }
        TRY_RUN(&t, p, "saxpy",
                ((struct try_range){1, {N}, {local}, {0}}), TRY_VALUE(py),
                TRY_VALUE(px), TRY_VALUE(a), TRY_VALUE(n));
        for (int i = 0; i < N; i++)
            CHECK(y[i] == (i < n ? 3 * (float)i + 1 : 1));
    }
    fputs(hd_kernel_info(hd_program_find(p, "saxpy"))->explanation, stdout);
    hd_program_destroy(p);
    try_close(&t);
}

static void items_meet_at_a_barrier(void)
{
    struct try t = try_open();
    struct hd_program *p = try_build(
        &t,
        "__kernel void rev(__global int *x, __local int *copy) {\n"
        "    int l = get_local_id(0), n = get_local_size(0);\n"
        "    for (int k = 0; k < 3; k++) {\n"
        "        copy[l] = x[get_global_id(0)] + k;\n"
        "        barrier(CLK_LOCAL_MEM_FENCE);\n"
        "        x[get_global_id(0)] = copy[n - 1 - l];\n"
        "        barrier(CLK_GLOBAL_MEM_FENCE);\n"
        "    }\n"
        "}\n",
        NULL);
    static int x[N], *px = x;

    for (int local = 1; local <= 300; local = local * 3 + 1) {
        for (int i = 0; i < N; i++)
            x[i] = i;
        TRY_RUN(&t, p, "rev",
                ((struct try_range){1, {N}, {(uint32_t)local}, {0}}),
                TRY_VALUE(px), TRY_LOCAL((size_t)local * sizeof(int)));
        for (int i = 0; i < N; i++) {
            int first = i / local * local;
            int last = first + local <= N ? first + local - 1 : N - 1;
            CHECK(x[i] == last - (i - first) + 3);
        }
    }
    fputs(hd_kernel_info(hd_program_find(p, "rev"))->explanation, stdout);
    hd_program_destroy(p);
    try_close(&t);
}

int main(void)
{
    a_kernel_runs_over_all_items();
    items_meet_at_a_barrier();
    return 0;
}
