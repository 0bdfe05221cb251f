// Kernels become PTX without a GPU, and ptxas assembles it where there is one.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/device_launch.h"
#include "base/file.h"
#include "kernel/build.h"
#include "kernel/compiler.h"
#include "kernel/program.h"
#include "tests/check.h"
#include "tests/folder.h"

static const struct hdi_compiler *compiler;
static const char *folder;

// ptxas of CUDA 13 has dropped sm_70, whose PTX it still reads.
static const struct {
    const char *name, *assembles_as;
} architectures[] = {{"sm_70", "sm_75"},
                     {"sm_75", "sm_75"},
                     {"sm_80", "sm_80"},
                     {"sm_90", "sm_90"}};
enum {
    ARCHITECTURES = sizeof(architectures) / sizeof(architectures[0])
};

static hd_status try_compile(const char *path, const char *text,
                             const char *architecture,
                             const char *const *options,
                             struct hdi_build *build, struct hd_error *error)
{
    static const char *const none[] = {NULL};
    const struct hdi_part part = {.kind = HDI_PART_TEXT,
                                  .path = path,
                                  .data = text,
                                  .size = strlen(text),
                                  .options = options ? options : none};
    const struct hdi_source source = {.path = path,
                                      .parts = &part,
                                      .part_count = 1,
                                      .options = none,
                                      .target = "",
                                      .cpu = "",
                                      .march = architecture};

    return compiler->build(&source, build, error);
}

static struct hdi_build compile(const char *text, const char *architecture)
{
    struct hdi_build build;
    struct hd_error error;

    CHECK_OK(try_compile("test.cl", text, architecture, NULL, &build, &error),
             error);
    return build;
}

static const char *find_ptxas(void)
{
    static char command[4096];
    static const char *const folders[] = {"/usr/local/cuda/bin", "/usr/bin"};

    if (system("command -v ptxas >/dev/null 2>&1") == 0)
        return "ptxas";
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        snprintf(command, sizeof(command), "%s/ptxas", folders[i]);
        if (access(command, X_OK) == 0)
            return command;
    }
    return NULL;
}

static void assemble_one(const char *ptxas, const char *ptx, size_t size,
                         const char *architecture, bool relocatable,
                         const char *name)
{
    char path[320], command[8192];

    snprintf(path, sizeof(path), "%s/code.ptx", folder);
    FILE *file = fopen(path, "w");
    CHECK(file && fwrite(ptx, 1, size, file) == size && fclose(file) == 0);
    snprintf(command, sizeof(command), "%s %s -arch=%s -o /dev/null %s", ptxas,
             relocatable ? "-c" : "", architecture, path);
    int code = system(command);
    if (code != 0)
        fprintf(stderr, "%s for %s is kept in %s\n", name, architecture, path);
    CHECK(code == 0);
    unlink(path);
}

// Both parts of an image.
static void assemble(const struct hdi_build *build, const char *architecture,
                     const char *name)
{
    const char *ptxas = find_ptxas();
    const char *tiles = memmem(build->image, build->image_size,
                               HDI_DEVICE_TILES, strlen(HDI_DEVICE_TILES));

    CHECK(tiles);
    if (!ptxas)
        return;
    assemble_one(ptxas, build->image, (size_t)(tiles - build->image),
                 architecture, false, name);
    tiles += strlen(HDI_DEVICE_TILES);
    size_t left = (size_t)(build->image + build->image_size - tiles);
    if (left > 0)
        assemble_one(ptxas, tiles, left, architecture, true, name);
}

static bool has(const struct hdi_build *build, const char *text)
{
    return memmem(build->image, build->image_size, text, strlen(text));
}

static void a_kernel_is_an_entry_and_a_function_of_tiles(void)
{
    struct hdi_build b =
        compile("kernel void scale(global float *x, float by) {\n"
                "    x[get_global_id(0)] *= by;\n"
                "}\n",
                "sm_80");

    CHECK(has(&b, ".target sm_80"));
    CHECK(has(&b, ".visible .entry hdk_scale("));
    CHECK(has(&b, ".visible .func hdt_scale"));
    CHECK(has(&b, "ld.global"));
    // Neither is a call left nor is host-written data read past the cache.
    CHECK(!has(&b, "call") && !has(&b, "ld.global.nc"));
    CHECK(b.kernel_count == 1 && b.kernels[0].arg_count == 2);
    CHECK(b.kernels[0].args[1].offset == 8 && b.kernels[0].args_size == 16);
    CHECK(strcmp(b.target, "nvptx64-nvidia-cuda") == 0);
    CHECK(strcmp(b.features, "sm_80") == 0);
    hdi_build_clear(&b);
}

static void a_program_may_have_no_kernels(void)
{
    struct hdi_build b = compile("int f(int n) { return n; }\n", "sm_80");

    CHECK(b.kernel_count == 0 && b.image_size > 0 && !has(&b, ".entry"));
    hdi_build_clear(&b);
}

static void local_memory_is_the_block_s(void)
{
    struct hdi_build b =
        compile("kernel void turn(global int *x, local int *more) {\n"
                "    local int a[100];\n"
                "    local long b[10];\n"
                "    int i = get_local_id(0);\n"
                "    a[i] = x[i]; b[i % 10] = i; more[i] = i;\n"
                "    barrier(CLK_LOCAL_MEM_FENCE);\n"
                "    x[i] = a[99 - i] + b[3] + more[i ^ 1];\n"
                "}\n",
                "sm_70");

    CHECK(has(&b, ".extern .shared .align 128 .b8 hdu_local[]"));
    CHECK(has(&b, "bar.sync"));     // of a block
    CHECK(has(&b, "barrier.sync")); // of a tile's work-group
    CHECK(b.kernels[0].local_bytes == 512);
    hdi_build_clear(&b);
}

static void order_comes_from_fences(void)
{
    static const char *const options[] = {"-cl-std=CL3.0", NULL};
    struct hdi_build b = compile(
        "kernel void k(global int *x) { atomic_add(x, 1); atomic_inc(x); }\n",
        "sm_70");
    struct hd_error error;

    // Those of OpenCL C 1.x order nothing.
    CHECK(has(&b, "atom.global.add") && !has(&b, "fence."));
    hdi_build_clear(&b);
    CHECK_OK(try_compile("test.cl",
                         "kernel void k(global atomic_int *x) {\n"
                         "    atomic_store(x, atomic_fetch_add(x + 1, 3));\n"
                         "}\n",
                         "sm_70", options, &b, &error),
             error);
    CHECK(has(&b, "fence.sc.gpu"));
    hdi_build_clear(&b);
}

// Images, sub-groups, collective functions, halves, doubles, structures, 64-bit
// atomics, generic pointers and printf().
static void everything_assembles(void)
{
    static const char text[] =
        "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"
        "#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n"
        "constant sampler_t s = CLK_NORMALIZED_COORDS_TRUE |\n"
        "    CLK_ADDRESS_REPEAT | CLK_FILTER_LINEAR;\n"
        "kernel void image(read_only image2d_t from, write_only image2d_t to)\n"
        "{\n"
        "    int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
        "    float4 c = read_imagef(from, s, convert_float2(at) * 0.01f);\n"
        "    write_imagef(to, at, c);\n"
        "}\n"
        "kernel void lanes(global int *x) {\n"
        "    int v = x[get_global_id(0)];\n"
        "    v += sub_group_reduce_add(v) + sub_group_broadcast(v, 3);\n"
        "    v += work_group_scan_inclusive_max(v) + work_group_any(v == 3);\n"
        "    x[get_global_id(0)] = v;\n"
        "}\n"
        "kernel void numbers(global half *h, global double *d, float4 f) {\n"
        "    int i = get_global_id(0);\n"
        "    d[i] = pow(d[i], (double)h[i]) + tgamma(f.x) + lgamma(d[i]);\n"
        "    h[i] = (half)sinpi(f.y) + convert_half_rtz(d[i]);\n"
        "    vstore_half3(f.xyz, i, h);\n"
        "}\n"
        "struct pair { long a; float b[3]; };\n"
        "kernel void mixed(global struct pair *p, struct pair q,\n"
        "                  local struct pair *l, global long *n) {\n"
        "    struct pair *g = get_global_id(0) & 1 ? (struct pair *)l :\n"
        "                                            (struct pair *)p;\n"
        "    g->b[p->a % 3] += q.b[l->a % 3];\n"
        "    if (to_local(g)) atom_add(n, q.a);\n"
        "    event_t e = async_work_group_copy((local long *)l, n, 9, 0);\n"
        "    wait_group_events(1, &e);\n"
        "    printf(\"%d %v4hlf %s\\n\", (int)g->a, (float4)(1), \"text\");\n"
        "}\n";
    static const char *const options[] = {"-cl-std=CL3.0", NULL};

    for (size_t a = 0; a < ARCHITECTURES; a++) {
        struct hdi_build b;
        struct hd_error error;
        CHECK_OK(try_compile("all.cl", text, architectures[a].name, options, &b,
                             &error),
                 error);
        CHECK(!has(&b, ".extern .func"));
        assemble(&b, architectures[a].assembles_as, "all.cl");
        hdi_build_clear(&b);
    }
}

// A tile's functions would have variables of their own. Nothing but the local
// variable needs the block's memory here.
static void tiles_take_no_programs_with_variables(void)
{
    static const char *const options[] = {"-cl-std=CL3.0", NULL};
    struct hdi_build b;
    struct hd_error error;

    CHECK_OK(try_compile("v.cl",
                         "global int count = 3;\n"
                         "kernel void k(global int *x) {\n"
                         "    local int seen[4];\n"
                         "    seen[get_local_id(0) & 3] = count++;\n"
                         "    barrier(CLK_LOCAL_MEM_FENCE);\n"
                         "    *x = seen[3];\n"
                         "}\n",
                         "sm_80", options, &b, &error),
             error);
    CHECK(has(&b, "hdk_k") && !has(&b, "hdt_k"));
    CHECK(has(&b, "st.shared") && has(&b, "hdu_local"));
    CHECK(strstr(b.kernels[0].explanation, "ordinary launches alone"));
    hdi_build_clear(&b);
}

static void errors_name_the_line(void)
{
    struct hdi_build b;
    struct hd_error error;

    CHECK(try_compile("e.cl", "kernel void k(global int *x) { missing(x); }\n",
                      "sm_80", NULL, &b, &error) == HD_EBUILD);
    CHECK(strstr(error.text, "e.cl:1") && strstr(error.text, "missing"));
    CHECK(try_compile("e.cl", "kernel void k() {}\n", "sm_999", NULL, &b,
                      &error) == HD_EINVAL);
    CHECK(strstr(error.text, "sm_999") && strstr(error.text, "sm_70"));
    CHECK(try_compile("e.cl", "kernel void k() { __asm__(\"trap;\"); }\n",
                      "sm_80", NULL, &b, &error) == HD_EBUILD);
    CHECK(try_compile("e.cl", "kernel void k(void) { hd_grid_barrier(); }\n",
                      "sm_80", NULL, &b, &error) == HD_ENOTSUP);
    CHECK(try_compile("e.cl",
                      "struct s { int a[2000]; };\n"
                      "kernel void k(global int *x, struct s s) {\n"
                      "    x[0] = s.a[x[1]]; }\n",
                      "sm_80", NULL, &b, &error) == HD_ELIMIT);
}

static void compile_file(const char *path, const char *architecture,
                         const char *assembles_as)
{
    static const char *const options[] = {"-cl-std=CL3.0", NULL};
    struct hdi_text text = {0};
    struct hdi_build build;
    struct hd_error error;

    CHECK_OK(hdi_read_file(path, 1 << 20, &text, &error), error);
    hdi_text_append(&text, "", 1);
    CHECK_OK(
        try_compile(path, text.data, architecture, options, &build, &error),
        error);
    assemble(&build, assembles_as, path);
    hdi_build_clear(&build);
    hdi_text_free(&text);
}

int main(int argc, char **argv)
{
    struct hd_error error;

    if (!hdi_has_compiler())
        SKIP(hdi_compiler_description());
    CHECK_OK(hdi_compiler_open(&compiler, &error), error);
    folder = make_folder();
    if (!find_ptxas())
        printf("no ptxas: what is made is looked at, not assembled\n");
    // Files take architectures in turn; after "all" each has every one.
    bool all = argc > 1 && strcmp(argv[1], "all") == 0;
    for (int i = all ? 2 : 1; i < argc; i++)
        for (size_t a = 0; a < ARCHITECTURES; a++)
            if (all || a == (size_t)i % ARCHITECTURES)
                compile_file(argv[i], architectures[a].name,
                             architectures[a].assembles_as);
    if (argc > 1) {
        CHECK(rmdir(folder) == 0);
        return 0;
    }
    a_kernel_is_an_entry_and_a_function_of_tiles();
    a_program_may_have_no_kernels();
    local_memory_is_the_block_s();
    order_comes_from_fences();
    everything_assembles();
    tiles_take_no_programs_with_variables();
    errors_name_the_line();
    CHECK(rmdir(folder) == 0);
    return 0;
}
