// What keeps kernels from being vectors is told with the lines of the source.
#include <stdio.h>
#include <string.h>

#include "tests/kernel/try.h"

// Kernels and a line of what is told of each; line 1 is that of the head.
static const struct {
    const char *text, *says;
} cases[] = {
    {"kernel void k(global int *a, int d) {\n"
     "  a[get_global_id(0)] = get_local_id(1);\n"
     "  barrier(CLK_LOCAL_MEM_FENCE);\n"
     "  a[get_global_id(d)]++;\n"
     "}\n",
     "no masked lanes: line 4: it asks for the id of a dimension that is "
     "not constant\n"},
    {"kernel void k(global int *a, int n) {\n"
     "  for (int i = 0; i < n; i++)\n"
     "    if (a[get_global_id(0)] > 5)\n"
     "      printf(\"%d\\n\", i);\n"
     "}\n",
     "no masked lanes: line 4: printf is serialised\n"},
    {"kernel void k(global int *a) {\n"
     "  int i = get_global_id(0);\n"
     "  printf(\"%d\\n\", a[i]);\n"
     "  a[i] *= 3;\n"
     "}\n",
     "no masked lanes: line 3: printf is serialised\n"},
    {"kernel void k(global int *a, global int *b) {\n"
     "  int i = get_global_id(0);\n"
     "  b[i] = i;\n"
     "  atomic_add(&a[b[i + 1] & 7], 1);\n"
     "}\n",
     "no masked lanes: line 4: an atomic operation\n"},
    {"kernel void k(global int *a) {\n"
     "  int i = get_global_id(0), n = 0;\n"
     "  if (a[i] > 3) goto inner;\n"
     "outer:\n"
     "  n += a[i + 1];\n"
     "inner:\n"
     "  n++;\n"
     "  a[i] = n;\n"
     "  if (n < a[i + 2]) goto outer;\n"
     "  barrier(CLK_LOCAL_MEM_FENCE);\n"
     "  a[i] = a[i + 1];\n"
     "}\n",
     "no masked lanes: a loop can be entered in two places\n"},
    {"kernel void k(global int *a, local int *b, int n) {\n"
     "  int l = get_local_id(0);\n"
     "  b[l] = 0;\n"
     "  barrier(CLK_LOCAL_MEM_FENCE);\n"
     "  atomic_inc(&b[a[get_global_id(0)] & 7]);\n"
     "  barrier(CLK_LOCAL_MEM_FENCE);\n"
     "  a[get_global_id(0)] = b[l];\n"
     "}\n",
     "line 5: serialised: an atomic operation\n"},
    {"kernel void k(global volatile int *a, local int *b) {\n"
     "  int l = get_local_id(0);\n"
     "  b[l] = l;\n"
     "  barrier(CLK_LOCAL_MEM_FENCE);\n"
     "  a[get_global_id(0)] = b[l ^ 1];\n"
     "}\n",
     "line 5: serialised: an atomic or volatile access\n"},
    {"kernel void k(global uchar *a, local uchar *b) {\n"
     "  int l = get_local_id(0);\n"
     "  b[l] = l;\n"
     "  barrier(CLK_LOCAL_MEM_FENCE);\n"
     "  a[b[l ^ 1]] = l;\n"
     "}\n",
     "line 5: serialised: elements of 8 or 16 bits at "
     "scattered addresses\n"},
    {"kernel void k(global int *a, local int *b) {\n"
     "  int l = get_local_id(0);\n"
     "  b[l] = l;\n"
     "  barrier(CLK_LOCAL_MEM_FENCE);\n"
     "  int n = a[get_global_id(0)] & 7;\n"
     "  a[get_global_id(0)] =\n"
     "    b[n];\n"
     "}\n",
     "line 7: reads from scattered addresses\n"},
    {"kernel void k(global int *a, local int *b) {\n"
     "  int l = get_local_id(0);\n"
     "  b[l] = l;\n"
     "  barrier(CLK_LOCAL_MEM_FENCE);\n"
     "  a[a[get_global_id(0)]] = b[l];\n"
     "}\n",
     "line 5: writes to scattered addresses\n"},
    {"kernel void k(global const int *a, global int *b, int n) {\n"
     "  for (int i = 0; i < n; i++)\n"
     "    b[i] =\n"
     "      a[3 * i & 63];\n"
     "}\n",
     "line 4: loop stays scalar: LLVM mistakes an index that wraps\n"},
    // Loops that neighbours walk side by side.
    {"kernel void k(global int *a, local int *b, int n) {\n"
     "  for (int i = get_local_id(0); i <= n; i += get_local_size(0))\n"
     "    b[i] = a[i];\n"
     "  barrier(CLK_LOCAL_MEM_FENCE);\n"
     "  a[get_global_id(0)] = b[0];\n"
     "}\n",
     "line 2: divergent loop: its condition is "
     "no `<`\n"},
    {"kernel void k(global int *a, local int *b) {\n"
     "  int n = a[0];\n"
     "  for (int i = get_local_id(0); i < n; i += get_local_size(0))\n"
     "    b[i] = a[i];\n"
     "  barrier(CLK_LOCAL_MEM_FENCE);\n"
     "  a[get_global_id(0)] = b[0];\n"
     "}\n",
     "line 3: divergent loop: its bound is no "
     "argument, constant or local size\n"},
    {"kernel void k(global int *a, local int *b, int n) {\n"
     "  for (int i = get_local_id(0); i < n; i += get_local_size(0)) {\n"
     "    if (a[i] == 77) break;\n"
     "    b[i] = a[i];\n"
     "  }\n"
     "  barrier(CLK_LOCAL_MEM_FENCE);\n"
     "  a[get_global_id(0)] = b[0];\n"
     "}\n",
     "line 2: divergent loop: there is another "
     "way out of it\n"},
    {"kernel void k(global int *a, local int *b, int n) {\n"
     "  for (int i = get_local_id(0); i < n; i += get_local_size(0)) {\n"
     "    b[i] = a[i];\n"
     "    barrier(CLK_LOCAL_MEM_FENCE);\n"
     "    a[i] = b[i ^ 1];\n"
     "  }\n"
     "}\n",
     "line 2: divergent loop: there is a "
     "barrier in it\n"},
    {"kernel void k(global int *a, local int *b, int n) {\n"
     "  int i = get_local_id(0);\n"
     "  for (; i < n; i += get_local_size(0))\n"
     "    b[i] = a[i];\n"
     "  barrier(CLK_LOCAL_MEM_FENCE);\n"
     "  a[get_global_id(0)] = b[i - get_local_size(0)];\n"
     "}\n",
     "line 3: divergent loop: its index is "
     "needed behind it"},
    {"kernel void k(global int *a, local int *b, int n) {\n"
     "  if (a[get_global_id(0)] > 3)\n"
     "    for (int i = get_local_id(0); i < n; i += get_local_size(0))\n"
     "      b[i] = sin(0.1f * a[i]) + cos(0.1f * i);\n"
     "  barrier(CLK_LOCAL_MEM_FENCE);\n"
     "  a[get_global_id(0)] = b[0];\n"
     "}\n",
     "line 3: divergent loop: only some "
     "work-items may come to it\n"},
    // Loops that mostly gather.
    {"kernel void k(global const int *from, global const int *at,\n"
     "              global int *to) {\n"
     "  int i = get_global_id(0), sum = 0;\n"
     "  for (int k = at[i]; k < at[i + 1]; k++)\n"
     "    sum += from[at[k]];\n"
     "  to[i] = sum;\n"
     "}\n",
     "line 4: no loop interchange: work-items may leave "
     "it at different times\n"},
    {"kernel void k(global const int *from, global const int *at,\n"
     "              global int *to, int n) {\n"
     "  int i = get_global_id(0), sum = 0;\n"
     "  if (at[i] > 0)\n"
     "    do\n"
     "      sum += from[at[i + sum]];\n"
     "    while (to[n] > 5);\n"
     "  to[i] = sum;\n"
     "}\n",
     "no loop interchange: only some work-items may "
     "come to it\n"},
    {"kernel void k(global const int *from, global volatile int *at,\n"
     "              global int *to, int n) {\n"
     "  int i = get_global_id(0), sum = 0;\n"
     "  for (int k = 0; k < n; k++)\n"
     "    sum +=\n"
     "      from[at[i]];\n"
     "  to[i] = sum;\n"
     "}\n",
     "line 6: no loop interchange: it is not only "
     "arithmetic and plain memory\n"},
    {"kernel void k(global int *a) {\n"
     "  int i = get_global_id(0);\n"
     "  a[i] = i;\n"
     "  a[2 * i & 63] = 3;\n"
     "}\n",
     "work-items keep their order: one may touch in line"},
    {"kernel void k(global const int *from, global int *to) {\n"
     "  int i = get_local_id(0), j = 3 * i & 63;\n"
     "  to[get_global_id(0)] = from[j] + from[j + 1] + from[j + 2];\n"
     "}\n",
     "line 3: serialised: LLVM mistakes an index that wraps"},
};

// What is told of a kernel whose loop has that many lines like this one, where
// gathers are cheap: elsewhere they are reason enough.
static bool tells_of_lines(struct try *t, unsigned count, const char *line,
                           const char *what)
{
    char *text = calloc(count, strlen(line) + 1), *end = text;
    char *whole = calloc(count + 4, strlen(line) + 1);

    CHECK(text && whole);
    for (unsigned i = 0; i < count; i++)
        end += sprintf(end, "%s", line);
    sprintf(whole,
            "kernel void k(global volatile int *a, global uint *u, global "
            "uchar *c, int n) {\n"
            "uint x = u[get_global_id(0)];\n"
            "for (int i = 0; i < n; i++) {\n%s}\n"
            "u[get_global_id(0)] = x; }\n",
            text);
    const struct hd_program_params params = {
        .path = "test.cl",
        .source = whole,
        .cpus = t->device->can.features ? "x86-64-v3" : NULL};
    struct hd_program *p;
    struct hd_error error;
    CHECK_OK(hdi_program_create(&t->context, &params, &p, &error), error);
    bool tells = strstr(hd_kernel_info(hd_program_find(p, "k"))->explanation,
                        what) != NULL;
    hd_program_destroy(p);
    free(text);
    free(whole);
    return tells;
}

// What is volatile has no vectors, and bytes at scattered addresses few.
static void a_long_region_is_named(struct try *t)
{
    static const char too_long[] = ": it is too long from here on";
    static const char sum[] = "x = x * (x >> 3) ^ n;\n";
    static const char byte[] = "x = x * (x >> 3) ^ n; x = x * (x >> 3) ^ n;"
                               "x = x * (x >> 3) ^ n; x = x * (x >> 3) ^ n;"
                               "x = x * (x >> 3) ^ n; x = x * (x >> 3) ^ n;"
                               "x = x * (x >> 3) ^ n; x += c[x & 63];\n";

    CHECK(tells_of_lines(t, 1100, "a[i] = x;\n", too_long));
    CHECK(tells_of_lines(t, 200, byte, too_long));
    CHECK(!tells_of_lines(t, 1050, sum, too_long));
}

// Lanes know no such id, but LLVM makes vectors of it: no reason is due.
static void what_has_vectors_has_no_reason(struct try *t)
{
    struct hd_program *p =
        try_build(t,
                  "kernel void k(global uint *a, uint d) {\n"
                  "  a[get_global_id(0)] += get_local_id(d) * 3;\n"
                  "}\n",
                  NULL);
    const char *told = hd_kernel_info(hd_program_find(p, "k"))->explanation;

    CHECK(strstr(told, "region 0: vector width "));
    CHECK(!strstr(told, "no masked lanes"));
    hd_program_destroy(p);
}

// It says so, and is right.
static void a_long_kernel_is_built_in_a_cheaper_way(struct try *t)
{
    enum {
        LINES = 800,
        N = 64
    };
    static const char form[] = "x = max(x, from[i + %d] * %du);\n";
    static uint32_t from[N + LINES], to[N], *pfrom = from, *pto = to;
    char *text = calloc(LINES, 48), *end = text;

    CHECK(text);
    end += sprintf(end, "kernel void k(global const uint *from,\n"
                        "              global uint *to) {\n"
                        "size_t i = get_global_id(0);\n"
                        "uint x = 0;\n");
    for (int i = 0; i < LINES; i++)
        end += sprintf(end, form, i, i % 5);
    sprintf(end, "to[i] = x;\n}\n"
                 "kernel void brief(global uint *a) { a[0] = 1; }\n");
    struct hd_program *p = try_build(t, text, NULL);
    CHECK(strstr(hd_kernel_info(hd_program_find(p, "k"))->explanation,
                 "\nlong: of "));
    CHECK(!strstr(hd_kernel_info(hd_program_find(p, "brief"))->explanation,
                  "long: of "));
    for (uint32_t i = 0; i < N + LINES; i++)
        from[i] = i * 2654435761u;
    TRY_RUN(t, p, "k", ((struct try_range){1, {N}, {16}, {0}}),
            TRY_VALUE(pfrom), TRY_VALUE(pto));
    for (uint32_t i = 0; i < N; i++) {
        uint32_t x = 0;
        for (uint32_t k = 0; k < LINES; k++) {
            uint32_t next = from[i + k] * (k % 5);
            x = x > next ? x : next;
        }
        CHECK(to[i] == x);
    }
    hd_program_destroy(p);
    free(text);
}

static void refusals_have_lines(struct try *t)
{
    unsigned failed = 0;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hd_program *p = try_build(t, cases[i].text, NULL);
        const char *told = hd_kernel_info(hd_program_find(p, "k"))->explanation;
        if (!strstr(told, cases[i].says)) {
            printf("%s\nsays not: %s\nbut:\n%s\n", cases[i].text, cases[i].says,
                   told);
            failed++;
        }
        hd_program_destroy(p);
    }
    CHECK(failed == 0);
}

int main(void)
{
    struct try t = try_open();

    refusals_have_lines(&t);
    a_long_region_is_named(&t);
    what_has_vectors_has_no_reason(&t);
    a_long_kernel_is_built_in_a_cheaper_way(&t);
    try_close(&t);
    return 0;
}
