// What is used next time is asked for in time, where it is known.
#include <stdio.h>
#include <string.h>

#include "tests/kernel/try.h"

#define AND_THEN                \
    "    barrier(1);\n"         \
    "    a[i] = part[l ^ 1];\n" \
    "}\n"
#define HEAD                                                     \
    "kernel void k(global int *a, global const int *b, int n,\n" \
    "              local int *part) {\n"                         \
    "    int i = get_global_id(0), l = get_local_id(0);\n"       \
    "    int g = get_group_id(0), size = get_local_size(0);\n"

static const char turn[] = "line 5: prefetches what the next iteration reads\n",
                  group[] = "line 5: prefetches what the next group reads\n";

// Kernels and what is told of what they read; NULL: nothing.
static const struct {
    const char *text, *says;
} cases[] = {
    {HEAD "    part[l] = b[i];\n" AND_THEN, group},
    {HEAD "    part[l] = b[get_group_id(0) * get_local_size(0) + "
          "get_local_id(0) + 3];\n" AND_THEN,
     group},
    {HEAD "    part[l] = b[(g * 4 + 2) * 64 + l];\n" AND_THEN, group},
    {HEAD "    part[l] = b[i - g * size];\n" AND_THEN, NULL},
    {HEAD "    part[l] = b[(g & 3) * 64 + l];\n" AND_THEN, NULL},
    {HEAD "    part[l] = b[get_global_id(1) * n + l];\n" AND_THEN, NULL},
    {HEAD "    part[l] = b[l];\n" AND_THEN, NULL},
    // Before the next group comes, the loop reads much else.
    {HEAD "    for (int k = 0; k < n; k++) {\n"
          "        part[l] += b[k * n + i];\n"
          "        barrier(1);\n"
          "    }\n" AND_THEN,
     NULL},
    {HEAD "    for (int k = i; k < n; k += get_global_size(0))"
          " part[l] += b[k];\n" AND_THEN,
     turn},
    {HEAD "    for (int k = l; k < n; k += get_local_size(0))"
          " part[l] += b[k];\n" AND_THEN,
     NULL},
    // Each work-item writes, though nobody knows where.
    {HEAD "    part[l] = b[i];\n"
          "    barrier(1);\n"
          "    a[b[n + l]] = part[l ^ 1];\n}\n",
     group},
    // A sum: each group writes one number.
    {HEAD "    part[l] = b[i];\n"
          "    barrier(1);\n"
          "    if (l == 0)\n"
          "        a[g] = part[0] + part[size - 1];\n}\n",
     NULL},
    {HEAD "    part[l] = b[i];\n"
          "    barrier(1);\n"
          "    if (l == 0)\n"
          "        atomic_add(&a[0], part[0] + part[size - 1]);\n}\n",
     NULL},
    // Groups do not matter, and memory is gone through as it lies.
    {HEAD "    a[i] = b[i];\n}\n", NULL},
};

static void memory_is_asked_for(struct try *t)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hd_program *p = try_build(t, cases[i].text, NULL);
        const struct hd_kernel *kernel = hd_program_find(p, "k");
        const char *told = kernel ? hd_kernel_info(kernel)->explanation : "";
        bool right = cases[i].says ? strstr(told, cases[i].says) != NULL
                                   : strstr(told, " reads\n") == NULL;
        // All write their own elements at their end.
        right &= (strstr(told, "what the next group writes") != NULL) ==
                 (strstr(cases[i].text, AND_THEN) != NULL);
        if (!right)
            printf("case %zu:\n%s\n", i, told);
        CHECK(right);
        hd_program_destroy(p);
    }
}

int main(void)
{
    struct try t = try_open();

    memory_is_asked_for(&t);
    try_close(&t);
    return 0;
}
