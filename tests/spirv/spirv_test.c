// Programs in SPIR-V: the same results as from OpenCL C, parts among others,
// and modules that are damaged.
#include "kernel/program/spirv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "heddle/image.h"
#include "heddle/kernel.h"
#include "heddle/runtime.h"
#include "kernel/program.h"
#include "tests/check.h"
#include "tests/folder.h"

enum {
    ITEMS = 64,
    GROUP = 8
};

static const char *folder;

struct rig {
    struct hd_runtime *runtime;
    struct hdi_text kernels, group, import, special; // modules
};

// Files -----------------------------------------------------------------------

static struct hdi_text read_file(const char *path)
{
    struct hdi_text text = {0};
    char block[4096];
    size_t n;
    FILE *file = fopen(path, "rb");

    CHECK(file);
    while ((n = fread(block, 1, sizeof(block), file)) > 0)
        hdi_text_append(&text, block, n);
    fclose(file);
    CHECK(!text.failed);
    return text;
}

static struct hdi_text assemble(const char *name)
{
    char command[1024], path[320];

    snprintf(path, sizeof(path), "%s/%s.spv", folder, name);
    snprintf(command, sizeof(command),
             "spirv-as --target-env spv1.4 '" SPIRV_FOLDER
             "/%s.spvasm' -o '%s'",
             name, path);
    CHECK(system(command) == 0);
    return read_file(path);
}

// A program in the translator's place.
static void use_translator(const char *script)
{
    char path[320];
    FILE *file;

    snprintf(path, sizeof(path), "%s/translator", folder);
    file = fopen(path, "w");
    CHECK(file);
    fprintf(file, "#!/bin/sh\n%s\n", script);
    CHECK(fclose(file) == 0 && chmod(path, 0700) == 0);
    setenv("HEDDLE_LLVM_SPIRV", path, 1);
}

// Programs --------------------------------------------------------------------

static struct hd_program_part module_part(const struct hdi_text *module)
{
    return (struct hd_program_part){.path = "module.spv",
                                    .binary = module->data,
                                    .binary_size = module->size};
}

static struct hd_program *make(const struct rig *rig,
                               const struct hd_program_part *parts,
                               unsigned count, const char *options)
{
    const struct hd_program_params params = {
        .parts = parts, .part_count = count, .options = options};
    struct hd_program *program;
    struct hd_error error;

    CHECK_OK(hd_program_create(rig->runtime, &params, &program, &error), error);
    return program;
}

static hd_status build(const struct rig *rig, const struct hdi_text *module,
                       bool library, struct hd_error *error)
{
    struct hd_program *program;
    const struct hd_program_part part = module_part(module);
    const struct hd_program_params params = {
        .parts = &part, .part_count = 1, .library = library};
    hd_status status =
        hd_program_create(rig->runtime, &params, &program, error);

    if (status == HD_OK)
        hd_program_destroy(program);
    return status;
}

static struct hd_buffer *buffer_of(const struct rig *rig, const void *data,
                                   size_t size)
{
    struct hd_buffer *buffer;
    struct hd_error error;

    CHECK_OK(hd_buffer_create(rig->runtime, size, &buffer, &error), error);
    CHECK_OK(hd_buffer_write(buffer, 0, data, size, &error), error);
    return buffer;
}

static void launch(const struct rig *rig, const struct hd_program *program,
                   const char *name, struct hd_range range,
                   const struct hd_arg *args, unsigned count)
{
    struct hd_error error;
    const struct hd_kernel *kernel = hd_program_find(program, name);

    CHECK(kernel);
    CHECK_OK(hd_launch(rig->runtime, kernel, &range, args, count, &error),
             error);
}

#define LAUNCH(rig, program, name, range, ...)                        \
    launch(rig, program, name, range, (struct hd_arg[]){__VA_ARGS__}, \
           sizeof((struct hd_arg[]){__VA_ARGS__}) / sizeof(struct hd_arg))

static const struct hd_range line = {
    .dims = 1, .global = {ITEMS}, .local = {GROUP}};

// Results ---------------------------------------------------------------------

// What all kernels of a program give; zeroed first, so that it can be compared.
struct results {
    float added[ITEMS], math[4 * ITEMS], image[4 * GROUP * GROUP];
    int sums[1 + ITEMS / GROUP + 1], counts[4 * ITEMS];
};

static void run_add(const struct rig *rig, const struct hd_program *program,
                    struct results *results)
{
    const struct {
        float a;
        int b;
    } shift = {0.5f, 3};
    float a[ITEMS], b[ITEMS];

    for (int i = 0; i < ITEMS; i++) {
        a[i] = (float)i * 0.75f;
        b[i] = (float)(i * i) / 32;
    }
    struct hd_buffer *x = buffer_of(rig, a, sizeof(a)),
                     *y = buffer_of(rig, b, sizeof(b)),
                     *z = buffer_of(rig, a, sizeof(a));
    LAUNCH(rig, program, "add", line, HD_BUFFER(x), HD_BUFFER(y), HD_BUFFER(z),
           HD_VALUE(shift));
    memcpy(results->added, hd_buffer_host(z), sizeof(a));
    hd_buffer_destroy(x);
    hd_buffer_destroy(y);
    hd_buffer_destroy(z);
}

static void run_reduce(const struct rig *rig, const struct hd_program *program,
                       struct results *results)
{
    int numbers[ITEMS];

    for (int i = 0; i < ITEMS; i++)
        numbers[i] = i * i - 100;
    struct hd_buffer *x = buffer_of(rig, numbers, sizeof(numbers)),
                     *sums =
                         buffer_of(rig, results->sums, sizeof(results->sums));
    LAUNCH(rig, program, "reduce", line, HD_BUFFER(x), HD_BUFFER(sums),
           HD_LOCAL(GROUP * sizeof(int)));
    memcpy(results->sums, hd_buffer_host(sums), sizeof(results->sums));
    hd_buffer_destroy(x);
    hd_buffer_destroy(sums);
}

static void run_math(const struct rig *rig, const struct hd_program *program,
                     struct results *results)
{
    for (int i = 0; i < 4 * ITEMS; i++) {
        results->math[i] = (float)i / 50 + 0.1f;
        results->counts[i] = i * 77;
    }
    struct hd_buffer *x = buffer_of(rig, results->math, sizeof(results->math)),
                     *n = buffer_of(rig, results->counts,
                                    sizeof(results->counts));
    LAUNCH(rig, program, "math", line, HD_BUFFER(x), HD_BUFFER(n));
    memcpy(results->math, hd_buffer_host(x), sizeof(results->math));
    memcpy(results->counts, hd_buffer_host(n), sizeof(results->counts));
    hd_buffer_destroy(x);
    hd_buffer_destroy(n);
}

static void run_image(const struct rig *rig, const struct hd_program *program,
                      struct results *results)
{
    const struct hd_image_params params = {.kind = HD_IMAGE_2D,
                                           .order = HD_RGBA,
                                           .type = HD_FLOAT,
                                           .width = GROUP,
                                           .height = GROUP};
    const struct hd_range square = {.dims = 2, .global = {GROUP, GROUP}};
    struct hd_image *from, *to;
    struct hd_error error;

    CHECK_OK(hd_image_create(rig->runtime, &params, &from, &error), error);
    CHECK_OK(hd_image_create(rig->runtime, &params, &to, &error), error);
    float *texels = hd_buffer_host(hd_image_params(from)->buffer);
    for (int i = 0; i < 4 * GROUP * GROUP; i++)
        texels[i] = (float)(i * 7 % 31);
    LAUNCH(rig, program, "image", square, HD_IMAGE(from),
           HD_SAMPLER(HD_COORDINATES_TEXELS | HD_ADDRESS_CLAMP_TO_EDGE |
                      HD_FILTER_LINEAR),
           HD_IMAGE(to));
    memcpy(results->image, hd_buffer_host(hd_image_params(to)->buffer),
           sizeof(results->image));
    hd_image_destroy(from);
    hd_image_destroy(to);
}

static struct results run_kernels(const struct rig *rig,
                                  const struct hd_program *program)
{
    struct results results;

    memset(&results, 0, sizeof(results));
    run_add(rig, program, &results);
    run_reduce(rig, program, &results);
    run_math(rig, program, &results);
    run_image(rig, program, &results);
    return results;
}

// Front ends may fuse multiplications and additions, or not.
static void check_close(const float *a, const float *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        CHECK(fabsf(a[i] - b[i]) <= 1e-4f * (1 + fabsf(a[i])));
}

static void check_results(const struct results *a, const struct results *b)
{
    check_close(a->added, b->added, ITEMS);
    check_close(a->math, b->math, 4 * (size_t)ITEMS);
    check_close(a->image, b->image, 4 * GROUP * GROUP);
    CHECK(memcmp(a->sums, b->sums, sizeof(a->sums)) == 0);
    for (int i = 0; i < 4 * ITEMS; i++)
        CHECK(abs(a->counts[i] - b->counts[i]) <= 1);
}

// Tests -----------------------------------------------------------------------

static void modules_do_what_their_sources_do(const struct rig *rig)
{
    const struct hd_program_part source = {.path = SPIRV_FOLDER "/kernels.cl"},
                                 module = module_part(&rig->kernels);
    struct hd_program *program = make(rig, &source, 1, NULL);
    const struct results expected = run_kernels(rig, program);

    CHECK(expected.sums[0] != 0 && expected.added[5] != 0);
    CHECK(expected.image[9] != 0 && expected.math[9] != expected.math[10]);
    hd_program_destroy(program);
    program = make(rig, &module, 1, NULL);
    CHECK(hd_program_kernel_count(program) == 4);
    const struct results found = run_kernels(rig, program);
    check_results(&expected, &found);

    const struct hd_kernel *kernel = hd_program_find(program, "image");
    CHECK(strcmp(hd_kernel_arg(kernel, 0)->type, "read_only image2d_t") == 0);
    CHECK(hd_kernel_arg(kernel, 1)->kind == HD_ARG_SAMPLER);
    kernel = hd_program_find(program, "add");
    CHECK(strcmp(hd_kernel_info(kernel)->file, "module.spv") == 0);
    CHECK(strstr(hd_kernel_info(kernel)->explanation, "vector width"));
    CHECK(hd_kernel_arg(kernel, 3)->kind == HD_ARG_VALUE);
    CHECK(hd_kernel_arg(kernel, 3)->size == 8);
    CHECK(strcmp(hd_kernel_arg(kernel, 0)->name, "arg0") == 0);
    hd_program_destroy(program);
}

static void groups_and_atomics_do_too(const struct rig *rig)
{
    int results[2][2 * ITEMS + 1];

    for (int i = 0; i < 2; i++) {
        const struct hd_program_part part =
            i ? module_part(&rig->group)
              : (struct hd_program_part){.path = SPIRV_FOLDER "/group.cl"};
        struct hd_program *program = make(rig, &part, 1, "-cl-std=CL2.0");
        int numbers[ITEMS];
        for (int j = 0; j < ITEMS; j++)
            numbers[j] = 3 * j - 20;
        struct hd_buffer *x = buffer_of(rig, numbers, sizeof(numbers)),
                         *sum = buffer_of(rig, &(int){5}, sizeof(int)),
                         *seen = buffer_of(rig, numbers, sizeof(numbers));
        LAUNCH(rig, program, "group", line, HD_BUFFER(x), HD_BUFFER(sum),
               HD_BUFFER(seen));
        memcpy(results[i], hd_buffer_host(x), sizeof(numbers));
        const struct hd_kernel *kernel = hd_program_find(program, "group");
        if (i == 1) {
            CHECK(strcmp(hd_kernel_arg(kernel, 0)->name, "numbers") == 0);
            CHECK(strcmp(hd_kernel_arg(kernel, 1)->name, "arg1") == 0);
        }
        memcpy(results[i] + ITEMS, hd_buffer_host(seen), sizeof(numbers));
        results[i][2 * ITEMS] = *(int *)hd_buffer_host(sum);
        hd_buffer_destroy(x);
        hd_buffer_destroy(sum);
        hd_buffer_destroy(seen);
        hd_program_destroy(program);
    }
    CHECK(results[0][2 * ITEMS] ==
          5 + 3 * (ITEMS * (ITEMS - 1) / 2) - 20 * ITEMS);
    CHECK(memcmp(results[0], results[1], sizeof(results[0])) == 0);
}

static void modules_are_parts_among_others(const struct rig *rig)
{
    const struct hd_program_part user = {
        .path = "user.cl",
        .source =
            "extern constant float weights[4];\n"
            "int doubled(int x) { return 2 * x; }\n"
            "kernel void weigh(global float *x, read_only image2d_t from,\n"
            "                  sampler_t s) {\n"
            "    x[get_global_id(0)] = weights[get_global_id(0) & 3] +\n"
            "        read_imagef(from, s, (int2)(get_global_id(0), 0)).x;\n"
            "}\n"};
    const struct hd_program_part parts[] = {module_part(&rig->import), user,
                                            module_part(&rig->kernels)};
    struct hd_program *program = make(rig, parts, 3, NULL);
    int numbers[ITEMS];
    struct hd_error error;

    CHECK(hd_program_kernel_count(program) == 6);
    CHECK(hd_kernel_info(hd_program_find(program, "weigh"))->line == 3);
    for (int i = 0; i < ITEMS; i++)
        numbers[i] = i;
    struct hd_buffer *x = buffer_of(rig, numbers, sizeof(numbers));
    LAUNCH(rig, program, "call", line, HD_BUFFER(x));
    for (int i = 0; i < ITEMS; i++)
        CHECK(((int *)hd_buffer_host(x))[i] == 2 * i + 1);
    hd_buffer_destroy(x);
    run_kernels(rig, program);
    hd_program_destroy(program);
    CHECK_FAILS(build(rig, &rig->import, false, &error), HD_EBUILD, error,
                "module.spv: error: call of 'doubled'");
}

static void the_cache_keeps_them(void)
{
    char path[320], spv[320];
    struct hd_runtime *runtime;
    struct hd_error error;

    snprintf(path, sizeof(path), "%s/cache", folder);
    snprintf(spv, sizeof(spv), "%s/group.spv", folder);
    const struct hd_runtime_params params = {.workers = 1, .cache = path};
    const struct hd_program_params file = {.path = spv};
    CHECK_OK(hd_runtime_create(&params, &runtime, &error), error);
    for (int i = 0; i < 2; i++) {
        struct hd_program *program;
        CHECK_OK(hd_program_create(runtime, &file, &program, &error), error);
        CHECK(hd_program_was_cached(program) == (i == 1));
        hd_program_destroy(program);
    }
    hd_runtime_destroy(runtime);
}

static void either_byte_order_is_read(const struct rig *rig)
{
    struct hdi_text swapped = {0}, words = {0};
    struct hd_error error;

    hdi_text_append(&swapped, rig->group.data, rig->group.size);
    for (size_t i = 0; i + 4 <= swapped.size; i += 4)
        for (size_t j = 0; j < 4; j++)
            swapped.data[i + j] = rig->group.data[i + 3 - j];
    CHECK(hdi_spirv_is(swapped.data, swapped.size));
    CHECK_OK(hdi_spirv_read(swapped.data, swapped.size, "x", &words, &error),
             error);
    CHECK(words.size == rig->group.size);
    CHECK(memcmp(words.data, rig->group.data, words.size) == 0);
    CHECK_OK(build(rig, &swapped, false, &error), error);
    hdi_text_free(&swapped);
    hdi_text_free(&words);
}

// Kernel `tell` of special.spvasm.
static void check_constants(const struct rig *rig, const char *options,
                            const double expected[9])
{
    const struct hd_program_part part = module_part(&rig->special);
    const struct hd_range one = {.dims = 1, .global = {1}};
    struct hd_program *program = make(rig, &part, 1, options);
    struct hd_buffer *out = buffer_of(rig, (double[9]){0}, 9 * sizeof(double));
    const double *told = hd_buffer_host(out);

    LAUNCH(rig, program, "tell", one, HD_BUFFER(out));
    for (int i = 0; i < 9; i++)
        CHECK(told[i] == expected[i]);
    hd_buffer_destroy(out);
    hd_program_destroy(program);
}

static void constants_are_given(const struct rig *rig)
{
    check_constants(rig, NULL, (double[]){1, 11, 12, 13, 14, 1.5, 2.5, 0, 26});
    check_constants(
        rig,
        "-heddle-spec=0=0 -heddle-spec=1=200 -heddle-spec=2=0xffff "
        "-heddle-spec=3=-5 -heddle-spec=40=1099511627776 "
        "-heddle-spec=5=-0.25 -heddle-spec=6=1e300 "
        "-heddle-spec=7=1",
        (double[]){0, 200, 65535, -5, 0x1p40, -0.25, 1e300, 1, -10});
    check_constants(rig, "-heddle-spec=1=-1 -heddle-spec=3=7 -heddle-spec=3=8",
                    (double[]){1, 255, 12, 8, 14, 1.5, 2.5, 0, 16});
    // As OpenCL gives them.
    check_constants(
        rig,
        "-heddle-spec=0=bits:0x1 -heddle-spec=1=bits:0xc8 "
        "-heddle-spec=3=bits:0xfffffffb -heddle-spec=5=bits:0xbe800000 "
        "-heddle-spec=6=bits:0xc004000000000000",
        (double[]){1, 200, 12, -5, 14, -0.25, -2.5, 0, -10});
}

static void refuse_option(const struct rig *rig,
                          const struct hd_program_part *part,
                          const char *options, const char *text)
{
    const struct hd_program_params params = {
        .parts = part, .part_count = 1, .options = options};
    struct hd_program *program;
    struct hd_error error;

    CHECK_FAILS(hd_program_create(rig->runtime, &params, &program, &error),
                HD_EINVAL, error, text);
}

static void what_is_no_constant_is_refused(const struct rig *rig)
{
    const struct hd_program_part module = module_part(&rig->special),
                                 none = module_part(&rig->group),
                                 source = {.path = SPIRV_FOLDER "/group.cl"};

    refuse_option(rig, &module, "-heddle-spec=9=1",
                  "module.spv: the SPIR-V module has no specialisation "
                  "constant 9; it has 0, 1, 2, 3, 40, 5, 6, 7");
    refuse_option(rig, &none, "-heddle-spec=9=1", "it has none at all");
    refuse_option(rig, &source, "-heddle-spec=9=1",
                  "no part of the program is a SPIR-V module");
    refuse_option(rig, &module, "-heddle-spec=0=2", "0 is 0 or 1, not '2'");
    refuse_option(rig, &module, "-heddle-spec=1=256",
                  "constant 1 is an integer of its size, not '256'");
    refuse_option(rig, &module, "-heddle-spec=1=-129", "not '-129'");
    refuse_option(rig, &module, "-heddle-spec=3=1.5", "not '1.5'");
    refuse_option(rig, &module, "-heddle-spec=5=x", "5 is a number, not 'x'");
    refuse_option(rig, &module, "-heddle-spec=5=bits:0x100000000",
                  "5 is a number, not 'bits:0x100000000'");
    refuse_option(rig, &module, "-heddle-spec=5=bits:1.5", "not 'bits:1.5'");
    refuse_option(rig, &module, "-heddle-spec=x=1", "takes the number of a");
    refuse_option(rig, &module, "-heddle-spec=1=", "takes the number of a");
}

static void keep(void *data, const char *text, size_t size)
{
    hdi_text_append(data, text, size);
}

static void modules_print(const struct rig *rig)
{
    struct hdi_text printed = {0};
    const struct hd_runtime_params params = {
        .workers = 1, .no_cache = true, .print = keep, .print_data = &printed};
    const struct hd_program_part part = module_part(&rig->special);
    const struct hd_range three = {.dims = 1, .global = {3}};
    const int five = 5;
    struct rig own = {0};
    struct hd_error error;

    CHECK_OK(hd_runtime_create(&params, &own.runtime, &error), error);
    struct hd_program *program = make(&own, &part, 1, NULL);
    LAUNCH(&own, program, "say", three, HD_VALUE(five));
    hdi_text_append(&printed, "", 1);
    CHECK(strcmp(printed.data, "5 0.000000\n6 1.000000\n7 2.000000\n") == 0);
    hd_program_destroy(program);
    hd_runtime_destroy(own.runtime);
    hdi_text_free(&printed);
}

static void damage_is_refused(const struct rig *rig)
{
    struct hd_error error;
    size_t whole = 0;
    unsigned random = 1, refused = 0;

    // It may end behind any function, as far as its instructions tell.
    for (size_t size = 4; size < rig->kernels.size; size++) {
        struct hdi_text words = {0};
        hd_status status =
            hdi_spirv_read(rig->kernels.data, size, "cut", &words, &error);
        CHECK(status == HD_OK || status == HD_EFORMAT);
        whole += status == HD_OK;
        hdi_text_free(&words);
    }
    CHECK(whole < 8);
    for (int i = 0; i < 16; i++) {
        struct hdi_text bad = {0};
        hdi_text_append(&bad, rig->group.data, rig->group.size);
        random = random * 1664525 + 1013904223;
        bad.data[20 + (random >> 8) % (bad.size - 20)] ^= (char)(1 << i % 8);
        refused += build(rig, &bad, true, &error) != HD_OK;
        hdi_text_free(&bad);
    }
    CHECK(refused > 4);
}

static void the_translator_may_fail(const struct rig *rig)
{
    struct hd_error error;

    setenv("HEDDLE_LLVM_SPIRV", "/no/such/program", 1);
    CHECK_FAILS(build(rig, &rig->group, false, &error), HD_ENOTSUP, error,
                "module.spv: SPIR-V cannot be translated: /no/such/program");
    use_translator("echo it is odd >&2; echo no more >&2; exit 3");
    CHECK_FAILS(build(rig, &rig->group, false, &error), HD_EBUILD, error,
                "module.spv: translator refuses the SPIR-V module: it is odd");
    use_translator("kill -SEGV $$");
    CHECK_FAILS(build(rig, &rig->group, false, &error), HD_EBUILD, error,
                "module.spv: translator ended with signal 11");
    use_translator("echo this is no bitcode");
    CHECK_FAILS(build(rig, &rig->group, false, &error), HD_EBUILD, error,
                "bitcode cannot be read");
    use_translator("exit 0");
    CHECK_FAILS(build(rig, &rig->group, false, &error), HD_EBUILD, error,
                "bitcode cannot be read");
    unsetenv("HEDDLE_LLVM_SPIRV");
}

static void skip_without_tools(void)
{
    struct hdi_text path = {0};
    struct hd_error error;

    if (!hdi_has_compiler())
        SKIP(hdi_compiler_description());
    unsetenv("HEDDLE_LLVM_SPIRV");
    if (hdi_spirv_find_translator(&path, &error) != HD_OK)
        SKIP(error.text);
    hdi_text_free(&path);
    if (system("spirv-as --version >/dev/null 2>&1") != 0)
        SKIP("no spirv-as: install spirv-tools");
}

int main(void)
{
    const struct hd_runtime_params params = {.workers = 1, .no_cache = true};
    struct rig rig = {0};
    struct hd_error error;
    char command[320];

    skip_without_tools();
    folder = make_folder();
    CHECK_OK(hd_runtime_create(&params, &rig.runtime, &error), error);
    rig.kernels = assemble("kernels");
    rig.group = assemble("group");
    rig.import = assemble("import");
    rig.special = assemble("special");

    modules_do_what_their_sources_do(&rig);
    groups_and_atomics_do_too(&rig);
    modules_are_parts_among_others(&rig);
    the_cache_keeps_them();
    either_byte_order_is_read(&rig);
    damage_is_refused(&rig);
    constants_are_given(&rig);
    what_is_no_constant_is_refused(&rig);
    modules_print(&rig);
    the_translator_may_fail(&rig);

    hdi_text_free(&rig.kernels);
    hdi_text_free(&rig.group);
    hdi_text_free(&rig.import);
    hdi_text_free(&rig.special);
    hd_runtime_destroy(rig.runtime);
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    CHECK(system(command) == 0);
    return 0;
}
