// The search for the work-item that has faulted: it finds it in whatever memory
// and code the launch had, leaves no traces, and says why where it finds none.
#include "base/text.h"
#include "kernel/binary/digest.h"
#include "launch/memory/image.h"
#include "tests/launch/stray.h"

static const char source[] = STRAY_KERNELS
    "kernel void once(global int *a, global int *b, long at)\n"
    "{\n"
    "    b[get_global_id(0)] += 1;\n"
    "    if (get_global_id(0) % 64 == 0)\n"
    "        printf(\"%d\\n\", (int)get_global_id(0));\n"
    "    if (get_global_id(0) == 100)\n"
    "        a[at] = 1;\n"
    "}\n"
    "kernel void paint(global int *a, global int *b, long at,\n"
    "                  write_only image2d_t to)\n"
    "{\n"
    "    int i = (int)get_global_id(0);\n"
    "    write_imagei(to, (int2)(i & 63, i >> 6), (int4)(b[i] + 1));\n"
    "    if (i == 101)\n"
    "        a[at] = 1;\n" // line 29
    "}\n"
    "kernel void follow(global int *a, global int *b, long at)\n"
    "{\n"
    "    b[get_global_id(0)] = 1;\n"
    "    if (get_global_id(0) == a[at])\n"
    "        a[at + 1] = 1;\n" // line 35
    "}\n"
    "kernel void change(global int *a, global int *b, long at)\n"
    "{\n"
    "    if (atomic_xchg(&b[0], 1) == 0)\n"
    "        a[at] = 1;\n" // line 40
    "}\n"
    "kernel void stay(global int *a, global int *b, long at)\n"
    "{\n"
    "    if (get_global_id(0) > 0)\n"
    "        return;\n"
    "    if (atomic_xchg(&b[0], 1) == 0)\n"
    "        a[at] = 1;\n"
    "    while (((volatile global int *)b)[1] == 0)\n"
    "        ;\n"
    "}\n";

// Searched for in copies of the texels too, which are those of a buffer here.
static void a_kernel_that_paints_is_attributed(struct rig *rig)
{
    struct pair pair = make_pair(rig);
    const struct hd_image_params shape = {.kind = HD_IMAGE_2D,
                                          .order = HD_R,
                                          .type = HD_SIGNED_INT32,
                                          .width = 64,
                                          .height = 16,
                                          .buffer = pair.b,
                                          .offset = 16};
    const struct hd_kernel *kernel = hd_program_find(rig->program, "paint");
    const int *texels = (const int *)hd_buffer_host(pair.b) + 4;
    int64_t at = 16 * KIB;
    struct hd_image *to;

    CHECK_OK(hdi_image_create(rig->launcher, &shape, &to, &error), error);
    const struct hd_arg args[] = {
        HD_BUFFER(pair.a),
        {.is = HD_IS_BUFFER, .buffer = pair.b, .offset = 16},
        HD_VALUE(at),
        HD_IMAGE(to)};
    CHECK_FAILS(hdi_launch_with(rig->launcher,
                                &(struct hdi_request){kernel, &range, args, 4},
                                &(struct hdi_terms){0}, &error),
                HD_EFAULT, error,
                "rig.cl:29: work-item (101, 0, 0) of work-group (1, 0, 0)");
    for (int i = 0; i < ITEMS; i++)
        CHECK(texels[i] <= 1);
    hd_image_destroy(to);
    free_pair(&pair);
}

static int printed[ITEMS];

static void note(void *data, const char *text, size_t size)
{
    (void)data, (void)size;
    printed[atoi(text)]++;
}

// The search for the work-item leaves no traces.
static void the_search_is_not_seen(void)
{
    struct rig rig =
        rig_set_up((struct hd_pool_params){.workers = 1},
                   (struct hdi_device_params){.print = {note, NULL}}, source);
    struct pair pair = make_pair(&rig);
    const int *b = hd_buffer_host(pair.b);

    FAULT(&rig, &pair, "once", 16 * KIB,
          "work-item (100, 0, 0) of work-group (1, 0, 0)");
    for (int i = 0; i < ITEMS; i++)
        CHECK(b[i] <= 1 && printed[i] <= 1);
    free_pair(&pair);
    rig_tear_down(&rig);
}

// Of what it writes, the search copies what is touched.
static void large_buffers_are_searched(struct rig *rig)
{
    const uint64_t size = 3ull << 30;
    struct pair pair = make_pair(rig);
    struct hd_buffer *small = pair.a;
    int64_t last = (int64_t)(size / sizeof(int)) - 1;

    CHECK_OK(hdi_buffer_create(rig->launcher, size, &pair.a, &error), error);
    ((int *)hd_buffer_host(pair.a))[last] = 77;
    FAULT(rig, &pair, "follow", last, "rig.cl:35",
          "work-item (77, 0, 0) of work-group (1, 0, 0)",
          " 0 bytes past the end of argument 0, 'a'");
    free_pair(&pair);
    hd_buffer_destroy(small);
}

// For which processor the code may be made, and so whatever of the access is
// left in it, the line is that of the access.
static void the_line_does_not_depend_on_the_code(struct rig *rig)
{
    static const struct {
        const char *cpu, *feature;
    } of[] = {{"x86-64", "sse2"},
              {"x86-64-v2", "sse4.2"},
              {"x86-64-v3", "avx2"},
              {"x86-64-v4", "avx512f"}};
    const struct hdi_program_context context = {.device = rig->device};
    const char *features = rig->device->can.features;
    struct pair pair = make_pair(rig);
    struct hd_program *own = rig->program;

    for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
        const struct hd_program_params params = {
            .path = "rig.cl", .source = STRAY_KERNELS, .cpus = of[i].cpu};
        if (!features || !strstr(features, of[i].feature))
            continue;
        CHECK_OK(hdi_program_create(&context, &params, &rig->program, &error),
                 error);
        FAULT(rig, &pair, "store", 16 * KIB, "rig.cl:5",
              "work-item (100, 0, 0) of work-group (1, 0, 0)");
        hd_program_destroy(rig->program);
    }
    rig->program = own;
    free_pair(&pair);
}

// Binaries have no source; with -g they hold what the search needs.
static void a_binary_is_searched(struct rig *rig, const char *options)
{
    const struct hdi_program_context context = {.device = rig->device};
    const struct hd_program_params params = {
        .path = "rig.cl", .source = source, .options = options};
    struct hd_program *built, *own = rig->program;
    struct hd_program_part parts[2] = {
        {.path = "other.cl",
         .source = "kernel void other(global int *a) { a[0] = 1; }\n"}};
    const struct hd_program_params both = {.parts = parts, .part_count = 2};
    struct pair pair = make_pair(rig);
    void *binary;

    CHECK_OK(hdi_program_create(&context, &params, &built, &error), error);
    CHECK_OK(hd_program_binary(built, &binary, &parts[1].binary_size, &error),
             error);
    hd_program_destroy(built);
    parts[1].binary = binary;
    CHECK_OK(hdi_program_create(&context, &both, &rig->program, &error), error);
    if (*options)
        FAULT(rig, &pair, "store", 16 * KIB, "rig.cl:5",
              "work-item (100, 0, 0) of work-group (1, 0, 0)");
    else
        FAULT(rig, &pair, "store", 16 * KIB, "a work-item of",
              "; the work-item is not named, since the binary has no checked "
              "code of the kernel: build it with -g");
    // Vectors may have lost the line; none is better than another.
    CHECK(strstr(error.text, "rig.cl:5:") || !strstr(error.text, "rig.cl:"));
    hd_program_destroy(rig->program);
    rig->program = own;
    free(binary);
    free_pair(&pair);
}

// Where it does something else the second time, that is said.
static void a_search_may_find_nothing(struct rig *rig)
{
    struct pair pair = make_pair(rig);

    FAULT(rig, &pair, "change", 16 * KIB, "rig.cl:40: a work-item of",
          "; the work-item did not fault again when the work-groups ran again");
    free_pair(&pair);
}

// Nor does it take forever.
static void a_search_ends_in_time(struct rig *rig)
{
    struct pair pair = make_pair(rig);

    FAULT(rig, &pair, "stay", 16 * KIB, "a work-item of",
          "; the work-item is not named, since the work-groups ran again for "
          "two seconds and had not come to it");
    free_pair(&pair);
}

// Of nearly 200 lines, a fault in one of the last: loops, local memory,
// barriers.
static void print_long(struct hdi_text *text)
{
    hdi_text_print(
        text, "kernel void store(global int *a, global int *b, long at)\n"
              "{\n"
              "    local int row[64];\n"
              "    int l = (int)get_local_id(0), g = (int)get_global_id(0);\n"
              "    int x = b[g], y = 1;\n");
    for (int i = 0; i < 16; i++) {
        if (i % 4 == 0)
            hdi_text_print(text, "    barrier(CLK_LOCAL_MEM_FENCE);\n"
                                 "    row[l] = x;\n"
                                 "    barrier(CLK_LOCAL_MEM_FENCE);\n");
        hdi_text_print(text,
                       "    for (int k = 0; k < %d; k++) {\n"
                       "        int t = row[(l + k * 3) & 63];\n"
                       "        if (t > y) {\n"
                       "            y /= 2;\n"
                       "            y += t;\n"
                       "        } else {\n"
                       "            t ^= %d;\n"
                       "            x += t;\n"
                       "        }\n"
                       "    }\n"
                       "    b[g] += x & %d;\n",
                       i % 3 * 8 + 4, i, i * 2 + 1);
    }
    hdi_text_print(text, "    if (g == 100)\n"
                         "        a[at] = 1;\n"
                         "    b[g] = x + y;\n"
                         "}\n");
}

static void long_kernels_are_searched(struct rig *rig)
{
    const struct hdi_program_context context = {.device = rig->device};
    struct hdi_text text = {0};
    struct hd_program *own = rig->program;
    struct pair pair = make_pair(rig);

    print_long(&text);
    CHECK(!text.failed);
    const struct hd_program_params params = {.path = "rig.cl",
                                             .source = text.data};
    CHECK_OK(hdi_program_create(&context, &params, &rig->program, &error),
             error);
    const struct hd_kernel *store = hd_program_find(rig->program, "store");
    CHECK(store->info.form == HD_FORM_LOOPS);
    FAULT(rig, &pair, "store", 16 * KIB, "rig.cl:195",
          "work-item (100, 0, 0) of work-group (1, 0, 0)");
    hd_program_destroy(rig->program);
    rig->program = own;
    hdi_text_free(&text);
    free_pair(&pair);
}

static void test(struct rig *rig, const struct kind *kind)
{
    a_kernel_that_paints_is_attributed(rig);
    a_search_may_find_nothing(rig);
    if (kind->pool.workers == 1 || kind->device.units > 0)
        return;
    the_line_does_not_depend_on_the_code(rig);
    long_kernels_are_searched(rig);
    a_search_ends_in_time(rig);
    large_buffers_are_searched(rig);
    if (hdi_digest_is_there()) {
        a_binary_is_searched(rig, "-g");
        a_binary_is_searched(rig, "");
    }
}

int main(void)
{
    if (HOLDS_SIGNALS)
        SKIP("ThreadSanitizer holds signals back until a kernel ends");
    the_search_is_not_seen();
    on_every_kind(source, test);
    return 0;
}
