// Kernels that are checked while they run (spec K11): what is wrong is found
// and told with the source line, what is right is let through.
#include "heddle/heddle.h"

#include "tests/check.h"

static struct hd_error error;
static struct hd_runtime *runtime;

enum {
    ITEMS = 64,
    SIZE = ITEMS * 4 // of the buffers [bytes]
};

// The lines of the messages count from the first of `text`.
static hd_status run(const char *text, const char *options, uint32_t group)
{
    const struct hd_program_params params = {
        .path = "k.cl", .source = text, .options = options};
    const struct hd_range range = {
        .dims = 1, .global = {ITEMS}, .local = {group}};
    struct hd_program *program;
    struct hd_buffer *in, *out;
    int n = ITEMS;

    CHECK_OK(hd_program_create(runtime, &params, &program, &error), error);
    CHECK_OK(hd_buffer_create(runtime, SIZE, &in, &error), error);
    CHECK_OK(hd_buffer_create(runtime, SIZE, &out, &error), error);
    const struct hd_arg args[] = {HD_BUFFER(in), HD_BUFFER(out), HD_VALUE(n),
                                  HD_LOCAL(SIZE)};
    hd_status status = hd_launch(runtime, hd_program_find(program, "k"), &range,
                                 args, 4, &error);
    hd_buffer_destroy(out);
    hd_buffer_destroy(in);
    hd_program_destroy(program);
    return status;
}

#define KERNEL(body)                                                      \
    "kernel void k(global const int *in, global int *out, int n,\n"       \
    "              local int *scratch)\n"                                 \
    "{\n"                                                                 \
    "    int i = (int)get_global_id(0), l = (int)get_local_id(0);\n" body \
    "}\n"

static void finds(const char *text, const char *line, const char *what)
{
    CHECK_FAILS(run(text, "", 16), HD_ECHECK, error, line);
    CHECK_FAILS(run(text, "", 16), HD_ECHECK, error, what);
}

static void lets_through(const char *text)
{
    hd_status status = run(text, "", 16);
    if (status != HD_OK)
        fprintf(stderr, "%s", error.text);
    CHECK(status == HD_OK);
}

static void accesses_outside_of_buffers_are_found(void)
{
    finds(KERNEL("    out[i + 1] = in[i];\n"),
          "k.cl:5: kernel 'k': work-item "
          "(63, 0, 0) writes 4 bytes",
          "at byte 256 of buffer 'out', which has 256 bytes");
    finds(KERNEL("    out[i] = in[i - 1];\n"),
          "k.cl:5:", "reads 4 bytes 4 bytes before buffer 'in'");
    finds(KERNEL("    global int *p = i & 1 ? out : (global int *)in;\n"
                 "    out[i] = p[i + 100000];\n"),
          "k.cl:6:", "outside of every buffer");
    finds(KERNEL("    scratch[l] = l;\n"
                 "    out[i] = scratch[l + 64];\n"),
          "k.cl:6:", "at byte 256 of local memory 'scratch'");
    finds(KERNEL("    vstore4((int4)(i), 63, out);\n"),
          "k.cl:5:", "buffer 'out'");
    finds(KERNEL("    atomic_inc(out + 64 + i);\n"),
          "k.cl:5:", "changes 4 bytes");
}

static void accesses_outside_of_variables_are_found(void)
{
    finds(KERNEL("    local int tile[16], other[16];\n"
                 "    tile[l] = other[l] = i;\n"
                 "    out[i] = tile[l + 1];\n"),
          "k.cl:7:", "variable 'tile', which has 64 bytes");
    finds(KERNEL("    int a[4] = {1, 2, 3, 4};\n"
                 "    for (int j = 0; j < n / 12; j++)\n"
                 "        a[j] = i;\n"
                 "    out[i] = a[i & 3];\n"),
          "k.cl:7:", "at byte 16 of variable 'a', which has 16");
    finds("constant int table[4] = {1, 2, 3, 4};\n" KERNEL(
              "    out[i] = table[i & 7];\n"),
          "k.cl:6:", "variable 'table'");
}

static void reads_of_what_has_no_value_are_found(void)
{
    finds(KERNEL("    int a;\n"
                 "    if (in[i] > 7)\n"
                 "        a = 3;\n"
                 "    out[i] = a;\n"),
          "k.cl:8:", "reads variable 'a', which has no value yet");
    finds(KERNEL("    int a[8];\n"
                 "    for (int j = 0; j < 7; j++)\n"
                 "        a[j] = i;\n"
                 "    out[i] = a[l & 7];\n"),
          "k.cl:8: kernel 'k': work-item (7, 0, 0)",
          "reads variable 'a', which has no value yet");
    finds(KERNEL("    local int tile[16];\n"
                 "    if (l < 15)\n"
                 "        tile[l] = i;\n"
                 "    barrier(CLK_LOCAL_MEM_FENCE);\n"
                 "    out[i] = tile[15 - l];\n"),
          "k.cl:9:", "reads variable 'tile', which has no value yet");
}

static void races_are_found(void)
{
    finds(KERNEL("    local int tile[16];\n"
                 "    tile[l] = i;\n"
                 "    out[i] = tile[15 - l];\n"),
          "k.cl:7:", "reads byte");
    finds(KERNEL("    out[i / 2] = i;\n"), "k.cl:5:",
          "writes byte 0 of buffer 'out', which work-item (0, 0, 0) writes on "
          "line 5 with no barrier between");
}

static void barriers_that_not_all_reach_are_found(void)
{
    finds(KERNEL("    if (l < 8)\n"
                 "        barrier(CLK_LOCAL_MEM_FENCE);\n"
                 "    out[i] = i;\n"),
          "line 6", "barrier");
}

static void what_is_right_is_let_through(void)
{
    lets_through(KERNEL("    local int tile[16];\n"
                        "    int sum = 0, part[3] = {l, 1, 2};\n"
                        "    float4 v;\n"
                        "    v.x = i;\n"
                        "    v.y = v.z = v.w = 0;\n"
                        "    tile[l] = in[i];\n"
                        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
                        "    for (int step = 8; step > 0; step /= 2) {\n"
                        "        if (l < step)\n"
                        "            tile[l] += tile[l + step];\n"
                        "        barrier(CLK_LOCAL_MEM_FENCE);\n"
                        "    }\n"
                        "    for (int j = 0; j < 3; j++)\n"
                        "        sum += part[j];\n"
                        "    out[i] = tile[0] + sum + (int)v.x + n;\n"));
    lets_through("constant int a[2] = {1, 2}, b[2] = {3, 4};\n" KERNEL(
        "    constant int *p = in[i] > n ? a : b;\n"
        "    out[i] = p[i & 1];\n"));
    lets_through(KERNEL("    atomic_add(out, in[i]);\n"));
    lets_through(KERNEL("    struct { int a, b; } s, t;\n"
                        "    s.a = i;\n"
                        "    s.b = 2;\n"
                        "    t = s;\n"
                        "    out[i] = t.a + t.b;\n"));
}

int main(void)
{
    const struct hd_runtime_params params = {
        .build_options = "-heddle-check", .workers = 1, .no_cache = true};
    struct hd_program *program;
    const struct hd_program_params probe = {.path = "k.cl",
                                            .source = "kernel void k(void){}"};

    CHECK_OK(hd_runtime_create(&params, &runtime, &error), error);
    hd_status status = hd_program_create(runtime, &probe, &program, &error);
    if (status == HD_ENOTSUP)
        SKIP(error.text);
    CHECK_OK(status, error);
    hd_program_destroy(program);

    what_is_right_is_let_through();
    accesses_outside_of_buffers_are_found();
    accesses_outside_of_variables_are_found();
    reads_of_what_has_no_value_are_found();
    races_are_found();
    barriers_that_not_all_reach_are_found();
    hd_runtime_destroy(runtime);
    return 0;
}
