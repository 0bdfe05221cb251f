// Kernels that are checked while they run: what is wrong is found
// and told with the source line, what is right is let through.
//
//     checked_test           all, in some 80 programs
//     checked_test briefly   what has units too, and races
#include "heddle/heddle.h"

#include "kernel/program.h"
#include "tests/check.h"

static struct hd_error error;
static struct hd_runtime *runtime;
static uint64_t time_limit; // of launches [ns]; 0: none
static uint64_t suspected; // of the latest kernel: how often screening was left

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
    const struct hd_kernel *k = hd_program_find(program, "k");
    hd_status status = hd_launch_with(
        runtime, &(struct hd_launch_params){.time_limit = time_limit}, k,
        &range, args, 4, &error);
    suspected = atomic_load(&k->learned->suspected);
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
    if (!strstr(error.text, what))
        fprintf(stderr, "%s, not '%s'\n", error.text, what);
    CHECK(strstr(error.text, what));
}

static void lets_through(const char *text)
{
    hd_status status = run(text, "", 16);
    if (status != HD_OK)
        fprintf(stderr, "%s", error.text);
    CHECK(status == HD_OK);
}

// In loops and lanes, which suspect nothing.
static void screens(const char *text)
{
    lets_through(text);
    CHECK(suspected == 0 || HOLDS_SIGNALS);
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

// In vectors as in scalars, and of those elements alone that are divided.
static void divisions_that_have_any_value_are_found(void)
{
    finds(KERNEL("    int d = in[i];\n"
                 "    out[i] = i ? 1 : n / d;\n"),
          "k.cl:6: kernel 'k': work-item (0, 0, 0)",
          "divides an integer by 0, whose result is any value");
    finds(KERNEL(
              "    out[i] = (-2147483647 - (i != 5 ? 0 : 1)) % (in[i] - 1);\n"),
          "k.cl:5: kernel 'k': work-item (5, 0, 0)",
          "divides the least integer by -1");
    finds(KERNEL("    uint4 d = (uint4)(1, 2, i - 17, 4);\n"
                 "    uint4 q = (uint4)(n) / d;\n"
                 "    out[i] = d.z ? q.z : 0;\n"),
          "k.cl:6: kernel 'k': work-item (17, 0, 0)",
          "divides an integer by 0");
    screens(KERNEL("    out[i] = i / (in[i] + 1) + l % n + n / (l + 1);\n"));
    lets_through(KERNEL("    int d = i & 3;\n"
                        "    out[i] = d ? n / d : n / -1;\n"));
}

static void structure_arguments_are_read(void)
{
    static const char text[] = "struct pair { int a[4]; int b; };\n"
                               "kernel void k(global int *out, struct pair p)\n"
                               "{\n"
                               "    int i = (int)get_global_id(0);\n"
                               "    out[i] = p.a[i & 3] + p.b;\n"
                               "    p.b = out[i] + p.a[i + p.b];\n" // line 6
                               "    out[i] += p.b;\n"
                               "}\n";
    const struct hd_program_params params = {.path = "k.cl", .source = text};
    const struct hd_range range = {.dims = 1, .global = {4}, .local = {4}};
    struct {
        int a[4], b;
    } pair = {{1, 2, 3, 4}, 0};
    struct hd_program *program;
    struct hd_buffer *out;

    CHECK_OK(hd_program_create(runtime, &params, &program, &error), error);
    CHECK_OK(hd_buffer_create(runtime, 16, &out, &error), error);
    const struct hd_arg args[] = {HD_BUFFER(out), HD_VALUE(pair)};
    const struct hd_kernel *k = hd_program_find(program, "k");
    CHECK_OK(hd_launch(runtime, k, &range, args, 2, &error), error);
    for (int i = 0; i < 4; i++)
        CHECK(((int *)hd_buffer_host(out))[i] == 3 * (i + 1));
    pair.b = 2;
    CHECK_FAILS(hd_launch(runtime, k, &range, args, 2, &error), HD_ECHECK,
                error, "k.cl:6: kernel 'k': work-item (3, 0, 0) reads 4 bytes");
    hd_buffer_destroy(out);
    hd_program_destroy(program);
}

static void writes_to_constants_are_found(void)
{
    finds("constant int table[4] = {1, 2, 3, 4};\n" KERNEL(
              "    global int *p = (global int *)(ulong)&table[i & 3];\n"
              "    p[0] = out[i] = table[i & 1];\n"),
          "k.cl:7:", "which is constant");
    finds("kernel void k(constant int *in, global int *out, int n,\n"
          "              local int *scratch)\n"
          "{\n"
          "    int i = (int)get_global_id(0);\n"
          "    global int *p = (global int *)(ulong)in;\n"
          "    out[i] = p[i];\n"
          "    p[i] = 1;\n"
          "}\n",
          "k.cl:7: kernel 'k': work-item (0, 0, 0) writes byte 0 of buffer "
          "'in', which is constant",
          "(0, 0, 0)");
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

// A tile that all work-items have written before the barrier on line 6.
#define TILE(body)                                  \
    KERNEL("    local int tile[16]; tile[l] = i;\n" \
           "    barrier(CLK_LOCAL_MEM_FENCE);\n" body)

static void races_among_lanes_are_found(void)
{
    static const char barrier[] = "no barrier between";

    finds(KERNEL("    out[i & ~1] = i;\n"), "k.cl:5:", barrier);
    finds(KERNEL("    out[n - 1] = i;\n"), "k.cl:5:", barrier);
    finds(KERNEL("    out[(i * 4) & 31] = i;\n"), "k.cl:5:", barrier);
    finds(TILE("    int x = tile[l];\n"
               "    tile[15 - l] = x;\n"),
          "k.cl:8:", barrier);
    finds(TILE("    int x = tile[n / 32];\n"
               "    if (l == 5)\n"
               "        tile[2] = x + 1;\n"),
          "k.cl:9:", barrier);
    finds(TILE("    int x = tile[in[i] & 3];\n"
               "    if (l == 5)\n"
               "        tile[0] = x + 1;\n"),
          "k.cl:9:", barrier);
    finds(TILE("    atomic_add(&tile[0], 1);\n"
               "    if (l == 3)\n"
               "        out[i] = tile[0];\n"),
          "k.cl:", barrier);
    finds(TILE("    out[i] = tile[0];\n"
               "    atomic_add(&tile[l / 2], 1);\n"),
          "k.cl:", barrier);
    finds(TILE("    if (l == 7)\n"
               "        tile[3] = 1;\n"
               "    out[i] = tile[3];\n"),
          "k.cl:", barrier);
    // The branch of the whole group has no barrier on the way that is taken.
    finds(TILE("    tile[l] = 1;\n"
               "    if (n == 1)\n"
               "        barrier(CLK_LOCAL_MEM_FENCE);\n"
               "    out[i] = tile[15 - l];\n"),
          "k.cl:", barrier);
    finds(TILE("    for (int k = 0; k < n / 32; k++)\n"
               "        tile[(l + k) & 15] = k;\n"),
          "k.cl:8:", barrier);
}

// What is read and written again is looked at once; turns of a loop that the
// group goes round together are one phase.
static void accesses_that_are_one_are_looked_at(void)
{
    static const char barrier[] = "no barrier between";

    finds(KERNEL("    scratch[l] += i;\n"), "k.cl:5:", "no value yet");
    finds(KERNEL("    out[i / 2] += i;\n"), "k.cl:5:", barrier);
    finds(KERNEL("    out[n - 1] += i;\n"), "k.cl:5:", barrier);
    finds(KERNEL("    out[in[i]] += i;\n"), "k.cl:5:", barrier);
    finds(KERNEL("    out[i + 1] += i;\n"), "k.cl:5:", "at byte 256");
    finds(TILE("    tile[l] += tile[15 - l];\n"), "k.cl:7:", barrier);
    finds(KERNEL("    for (int k = l; k < n; k += 16)\n"
                 "        scratch[(k & 15) ^ (k >> 4)] = k;\n"),
          "k.cl:6:", barrier);
    screens(KERNEL("    for (int k = l; k < n; k += 16)\n"
                   "        scratch[l] = k;\n"
                   "    scratch[l] += i;\n"
                   "    out[i] = scratch[l];\n"));
    screens(KERNEL("    for (int k = i; k < n; k += get_global_size(0))\n"
                   "        out[k] += 3 * in[k];\n"));
}

static void one_lane_is_enough(void)
{
    finds(KERNEL("    if (i < n - 3)\n"
                 "        out[i + 4] = in[i];\n"),
          "k.cl:6: kernel 'k': work-item (60, 0, 0)", "at byte 256");
    finds(KERNEL("    out[n - 2 - i] = in[i];\n"),
          "k.cl:5: kernel 'k': work-item (63, 0, 0)", "4 bytes before");
    finds(KERNEL("    out[i] = in[(i * 77) % 65];\n"),
          "k.cl:5:", "at byte 256");
    finds(KERNEL("    local int tile[16];\n"
                 "    if (get_group_id(0) < 2)\n"
                 "        tile[l] = i;\n"
                 "    barrier(CLK_LOCAL_MEM_FENCE);\n"
                 "    out[i] = tile[l];\n"),
          "k.cl:9: kernel 'k': work-item (32, 0, 0)", "no value yet");
    finds(KERNEL("    int a[20];\n"
                 "    for (int k = 0; k < 20; k++)\n"
                 "        if (k != 11 || i != 50)\n"
                 "            a[k] = in[k];\n"
                 "    out[i] = a[(n + 11) & 15];\n"),
          "k.cl:9: kernel 'k': work-item (50, 0, 0)", "no value yet");
}

static void what_is_right_is_not_suspected(void)
{
    screens(KERNEL("    out[i] = in[n - 1 - i];\n"));
    screens(KERNEL("    if (i < n - 5)\n"
                   "        out[i] = in[i + 5];\n"));
    screens(KERNEL("    out[(i * 5) & 63] = in[(i * 3) & 63];\n"));
    screens(TILE("    int sum = 0;\n"
                 "    for (int k = 0; k < 16; k++)\n"
                 "        sum += tile[k] + tile[(l + k) & 15];\n"
                 "    barrier(CLK_LOCAL_MEM_FENCE);\n"
                 "    tile[l] = sum;\n"
                 "    tile[l] += in[i];\n"
                 "    out[i] = tile[l];\n"));
    screens(TILE("    for (int k = 1; k < 16; k *= 2) {\n"
                 "        int x = l >= k ? tile[l - k] : 0;\n"
                 "        barrier(CLK_LOCAL_MEM_FENCE);\n"
                 "        tile[l] += x;\n"
                 "        barrier(CLK_LOCAL_MEM_FENCE);\n"
                 "    }\n"
                 "    if (l == 3)\n"
                 "        tile[0] = 1;\n"
                 "    out[i] = tile[l == 3 ? 0 : l + (l == 0)];\n"));
    screens(TILE("    local int bins[4];\n"
                 "    if (l < 4)\n"
                 "        bins[l] = 0;\n"
                 "    barrier(CLK_LOCAL_MEM_FENCE);\n"
                 "    atomic_inc(&bins[l & 3]);\n"
                 "    atomic_add(&out[0], 1);\n"
                 "    barrier(CLK_LOCAL_MEM_FENCE);\n"
                 "    if (l > 0)\n"
                 "        out[i] = bins[0];\n"));
    screens(KERNEL("    local char4 bytes[16];\n"
                   "    local char *b = (local char *)bytes;\n"
                   "    b[l] = b[l + 16] = b[l + 32] = b[l + 48] = l;\n"
                   "    barrier(CLK_LOCAL_MEM_FENCE);\n"
                   "    out[i] = bytes[l].x + bytes[15 - l].w;\n"));
    screens(KERNEL("    int a[20];\n"
                   "    for (int k = 0; k < 20; k++)\n"
                   "        a[k] = in[k];\n"
                   "    out[i] = a[(n + i) & 15];\n"));
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

static void asynchronous_copies_are_let_through(void)
{
    lets_through(
        KERNEL("    local int tile[16];\n"
               "    event_t e = async_work_group_copy(tile, in, 16, 0);\n"
               "    e = async_work_group_strided_copy(scratch, in, 16, 2, e);\n"
               "    wait_group_events(1, &e);\n"
               "    out[i] = tile[l] + scratch[15 - l];\n"));
}

// 16 MiB of a work-item.
static void large_private_arrays_are_checked(void)
{
#define LARGE(index)                                           \
    KERNEL("    uchar a[16 << 20];\n"                          \
           "    for (int k = 0; k < 16 << 20; k += 1 << 20)\n" \
           "        a[k] = l;\n"                               \
           "    out[i] = a[" index "];\n")
    lets_through(LARGE("l << 20"));
    CHECK_FAILS(run(LARGE("(l + 1) << 20"), "", 16), HD_ECHECK, error,
                "k.cl:8: kernel 'k': work-item (15, 0, 0) reads 1 bytes at "
                "byte 16777216 of variable 'a', which has 16777216 bytes");
}

static hd_status run_in_sub_groups(const char *body)
{
    return run(body, "-cl-std=CL3.0", 32);
}

static void groups_and_sub_groups_meet(void)
{
    CHECK_OK(
        run_in_sub_groups(KERNEL(
            "    out[i] = sub_group_reduce_add(in[i]) +\n"
            "             sub_group_scan_inclusive_max(i) +\n"
            "             sub_group_broadcast(i, 3) + sub_group_any(i);\n")),
        error);
    CHECK_OK(
        run_in_sub_groups(KERNEL(
            "    out[i] = work_group_reduce_add(in[i]) +\n"
            "             work_group_scan_exclusive_min(i) +\n"
            "             work_group_broadcast(i, 3) + work_group_all(i);\n")),
        error);
#define SUB_TILE(other)                                    \
    KERNEL("    local int tile[32];\n"                     \
           "    tile[l] = in[i];\n"                        \
           "    sub_group_barrier(CLK_LOCAL_MEM_FENCE);\n" \
           "    out[i] = tile[l ^ " other "];\n")
    CHECK_OK(run_in_sub_groups(SUB_TILE("1")), error);
    // More than two that read it, of which one does so before the barrier.
#define SUB_READERS(writer)                                \
    KERNEL("    local int tile[32];\n"                     \
           "    tile[l] = in[i];\n"                        \
           "    barrier(CLK_LOCAL_MEM_FENCE);\n"           \
           "    out[i] = l == 0 ? tile[0] : 0;\n"          \
           "    sub_group_barrier(CLK_LOCAL_MEM_FENCE);\n" \
           "    if (l == 13 || l == 14)\n"                 \
           "        out[i] += tile[0];\n"                  \
           "    if (l == " writer ")\n"                    \
           "        tile[0] = 1;\n")
    CHECK_FAILS(run_in_sub_groups(SUB_READERS("14")), HD_ECHECK, error,
                "which work-item (13, 0, 0) reads on line 11");
    CHECK_FAILS(run_in_sub_groups(SUB_READERS("15")), HD_ECHECK, error,
                "reads on line 11");
    CHECK_FAILS(run_in_sub_groups(SUB_READERS("16")), HD_ECHECK, error,
                "no barrier between");
    CHECK_OK(run_in_sub_groups(SUB_READERS("99")), error);
    // Another sub-group's.
    CHECK_FAILS(run_in_sub_groups(SUB_TILE("16")), HD_ECHECK, error,
                "no barrier between");
}

static hd_status run_on(enum hd_image_kind kind, const char *type,
                        const char *body)
{
    char text[512];
    snprintf(text, sizeof(text),
             "kernel void k(%s_t to)\n"
             "{\n"
             "    int x = (int)get_global_id(0);\n"
             "%s"
             "}\n",
             type, body);
    const struct hd_program_params params = {
        .path = "k.cl", .source = text, .options = "-cl-std=CL3.0"};
    const struct hd_range range = {.dims = 1, .global = {32}, .local = {16}};
    const bool array = kind == HD_IMAGE_1D_ARRAY || kind == HD_IMAGE_2D_ARRAY;
    const struct hd_image_params shape = {.kind = kind,
                                          .order = HD_RGBA,
                                          .type = HD_UNORM_INT8,
                                          .width = 32,
                                          .height = kind >= HD_IMAGE_2D,
                                          .depth = kind == HD_IMAGE_3D ? 2 : 0,
                                          .layers = array ? 3 : 0};
    struct hd_program *program;
    struct hd_image *to;

    CHECK_OK(hd_program_create(runtime, &params, &program, &error), error);
    CHECK_OK(hd_image_create(runtime, &shape, &to, &error), error);
    const struct hd_arg arg = HD_IMAGE(to);
    hd_status status = hd_launch(runtime, hd_program_find(program, "k"), &range,
                                 &arg, 1, &error);
    hd_image_destroy(to);
    hd_program_destroy(program);
    return status;
}

static hd_status run_on_image(const char *access, const char *body)
{
    char type[32];
    snprintf(type, sizeof(type), "%s image2d", access);
    return run_on(HD_IMAGE_2D, type, body);
}

static void races_for_texels_are_found(void)
{
#define SET(at) "    write_imagef(to, (int2)(" at ", 0), (float4)(x));\n"
#define GET(at) "    float4 v = read_imagef(to, (int2)(" at ", 0));\n"
    CHECK_OK(run_on_image("write_only", SET("x")), error);
    CHECK_FAILS(run_on_image("write_only", SET("x / 2")), HD_ECHECK, error,
                "k.cl:4: kernel 'k': work-item (1, 0, 0) writes byte 0 of "
                "image 'to', which work-item (0, 0, 0) writes on line 4");
    CHECK_OK(run_on_image("read_write", GET("x") SET("x + v.x")), error);
    CHECK_FAILS(run_on_image("read_write", GET("x ^ 1") SET("x + v.x")),
                HD_ECHECK, error, "no barrier between");
}

// Samplers say what lies outside; otherwise it is nothing.
static void coordinates_outside_of_images_are_found(void)
{
    CHECK_FAILS(run_on_image("write_only", SET("x + 1")), HD_ECHECK, error,
                "k.cl:4: kernel 'k': work-item (31, 0, 0) writes texel (32, 0) "
                "of image 'to', which has 32 x 1");
    CHECK_FAILS(run_on_image("read_write", GET("x - 1") SET("x + v.x")),
                HD_ECHECK, error,
                "k.cl:4: kernel 'k': work-item (0, 0, 0) reads texel (-1, 0) "
                "of image 'to', which has 32 x 1");
#define TEXEL(at)                               \
    "    float4 v = read_imagef(to, " at ");\n" \
    "    if (v.x < 0)\n"                        \
    "        printf(\"%f\", v.x);\n"
#define SAMPLED "CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST"
    CHECK_OK(run_on_image("read_only", TEXEL("(int2)(x, 0)")), error);
    CHECK_FAILS(run_on_image("read_only", TEXEL("(int2)(x, 1)")), HD_ECHECK,
                error, "reads texel (0, 1) of image 'to', which has 32 x 1");
    CHECK_OK(run_on_image("read_only", "    const sampler_t s = " SAMPLED
                                       ";\n" TEXEL("s, (int2)(x, 1)")),
             error);
#define NONE(filter, bits, at)                                      \
    "    const sampler_t s = CLK_ADDRESS_NONE | CLK_FILTER_" filter \
    " | CLK_NORMALIZED_COORDS_" bits ";\n" TEXEL("s, " at)
    CHECK_OK(
        run_on_image("read_only", NONE("NEAREST", "FALSE", "(int2)(x, 0)")),
        error);
    CHECK_FAILS(
        run_on_image("read_only", NONE("NEAREST", "FALSE", "(int2)(x - 1, 0)")),
        HD_ECHECK, error,
        "k.cl:5: kernel 'k': work-item (0, 0, 0) reads texel (-1, 0) "
        "of image 'to', which has 32 x 1");
    CHECK_OK(run_on_image("read_only",
                          NONE("LINEAR", "TRUE", "(float2)(x / 32.0f, 0.9f)")),
             error);
    CHECK_FAILS(
        run_on_image("read_only",
                     NONE("LINEAR", "TRUE", "(float2)((x + 2) / 32.0f, 0.9f)")),
        HD_ECHECK, error,
        "k.cl:5: kernel 'k': work-item (30, 0, 0) reads texel (32, 0) "
        "of image 'to', which has 32 x 1");
    CHECK_FAILS(
        run_on_image("read_only", NONE("NEAREST", "FALSE", "(float2)(x, NAN)")),
        HD_ECHECK, error, "work-item (0, 0, 0) reads texel (0, ");
    CHECK_FAILS(
        run_on(HD_IMAGE_1D_BUFFER, "read_only image1d_buffer", TEXEL("x * 2")),
        HD_ECHECK, error,
        "(16, 0, 0) reads texel (32) of image 'to', which has 32");
    CHECK_FAILS(run_on(HD_IMAGE_1D_ARRAY, "read_only image1d_array",
                       TEXEL("(int2)(x, x - 28)")),
                HD_ECHECK, error,
                "reads texel (0, -28) of image 'to', which has 32 x 3");
    CHECK_FAILS(run_on(HD_IMAGE_2D_ARRAY, "read_only image2d_array",
                       TEXEL("(int4)(x, 0, max(0, x - 28), 9)")),
                HD_ECHECK, error,
                "(31, 0, 0) reads texel (31, 0, 3) of image 'to', which has "
                "32 x 1 x 3");
    CHECK_OK(run_on(HD_IMAGE_3D, "read_only image3d",
                    TEXEL("(int4)(x, 0, x & 1, 9)")),
             error);
    CHECK_FAILS(
        run_on(HD_IMAGE_3D, "read_only image3d", TEXEL("(int4)(x, 0, 2, 9)")),
        HD_ECHECK, error,
        "texel (0, 0, 2) of image 'to', which has 32 x 1 x 2");
}

static void gangs_are_refused(void)
{
    const struct hd_program_params params = {
        .path = "k.cl", .source = "kernel void k(void)\n{\n}\n"};
    struct hd_program *program;

    CHECK_OK(hd_program_create(runtime, &params, &program, &error), error);
    const struct hd_part part = {.kernel = hd_program_find(program, "k"),
                                 .range = {.dims = 1, .global = {1}}};
    CHECK_FAILS(hd_launch_gang(runtime, NULL, &part, 1, &error), HD_ENOTSUP,
                error, "kernel 'k' is built with -heddle-check");
    hd_program_destroy(program);
}

// On workers, though there are units; screened there too.
static void units_do_not_matter(void)
{
    const struct hd_runtime_params params = {.build_options = "-heddle-check",
                                             .workers = 1,
                                             .units = 2,
                                             .no_cache = true};
    struct hd_runtime *before = runtime;

    CHECK_OK(hd_runtime_create(&params, &runtime, &error), error);
    finds(KERNEL("    out[i + 1] = in[i];\n"), "k.cl:5:", "at byte 256");
    CHECK(suspected == 1);
    screens(KERNEL("    out[i] = in[i];\n"));
    gangs_are_refused();
    hd_runtime_destroy(runtime);
    runtime = before;
}

// In lanes, and in thread form.
static void kernels_that_never_end_are_stopped(void)
{
#define ENDLESS(more)                                                     \
    KERNEL("    while (((volatile global const int *)in)[l] == 0)\n" more \
           "    out[i] = i;\n")
    time_limit = 100000000;
    CHECK_FAILS(run(ENDLESS("        ;\n"), "", 16), HD_ETIMEOUT, error,
                "time limit");
    CHECK_FAILS(run(ENDLESS("        if (n == 1)\n"
                            "            printf(\"%d\", i);\n"),
                    "", 16),
                HD_ETIMEOUT, error, "time limit");
    time_limit = 0;
    screens(KERNEL("    out[i] = in[i];\n"));
}

int main(int argc, char **argv)
{
    const struct hd_runtime_params params = {
        .build_options = "-heddle-check", .workers = 1, .no_cache = true};
    struct hd_program *program;
    const struct hd_program_params probe = {.path = "k.cl",
                                            .source = "kernel void k(void){}"};

    CHECK_OK(hd_runtime_create(&params, &runtime, &error), error);
    hd_status status = hd_program_create(runtime, &probe, &program, &error);
    SKIP_UNBUILT(status, error);
    CHECK_OK(status, error);
    hd_program_destroy(program);

    accesses_outside_of_buffers_are_found();
    races_are_found();
    units_do_not_matter();
    if (argc > 1 && strcmp(argv[1], "briefly") == 0) {
        hd_runtime_destroy(runtime);
        return 0;
    }
    what_is_right_is_let_through();
    asynchronous_copies_are_let_through();
    accesses_outside_of_variables_are_found();
    divisions_that_have_any_value_are_found();
    structure_arguments_are_read();
    writes_to_constants_are_found();
    reads_of_what_has_no_value_are_found();
    barriers_that_not_all_reach_are_found();
    races_among_lanes_are_found();
    accesses_that_are_one_are_looked_at();
    one_lane_is_enough();
    what_is_right_is_not_suspected();
    large_private_arrays_are_checked();
    groups_and_sub_groups_meet();
    races_for_texels_are_found();
    gangs_are_refused();
    coordinates_outside_of_images_are_found();
    if (!HOLDS_SIGNALS)
        kernels_that_never_end_are_stopped();
    hd_runtime_destroy(runtime);
    return 0;
}
