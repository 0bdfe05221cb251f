// Programs: what is refused and how it is said, binaries.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/binary/container.h"
#include "tests/kernel/try_files.h"

// Whether the compiler was loaded into this process.
static bool maps_llvm(void)
{
    struct hdi_text maps = read_file("/proc/self/maps");
    bool found = strstr(maps.data, "libLLVM") != NULL;
    hdi_text_free(&maps);
    return found;
}

// For programs that should be refused: one that is not goes again.
static hd_status build(struct try *t, const struct hd_program_params params,
                       struct hd_error *error)
{
    struct hd_program *program;
    hd_status status =
        hdi_program_create(&t->context, &params, &program, error);
    if (status == HD_OK)
        hd_program_destroy(program);
    return status;
}

#define FAILS(source_, options_, status, part)                         \
    CHECK_FAILS(build(t,                                               \
                      (struct hd_program_params){.path = "a/b.cl",     \
                                                 .source = source_,    \
                                                 .options = options_,  \
                                                 .what = "who.lua:3"}, \
                      &error),                                         \
                status, error, part)

// Where, in which file, and what: with the caller's words in front, if it gave
// any. Options that would make the compiler load or read things are among them.
static void mistakes_are_named(struct try *t)
{
    struct hd_error error;

    FAILS("kernel void k(global int *x) {\n  x[0] = y;\n}\n", NULL, HD_EBUILD,
          "a/b.cl:2:10: error: use of undeclared identifier 'y'");
    CHECK(strncmp(error.text, "who.lua:3: ", 11) == 0);
    FAILS("int f(void);\nkernel void k(global int *x) {\n  x[0] = f();\n}\n",
          NULL, HD_EBUILD, "a/b.cl:3: error: call of 'f'");
    FAILS("int f(int n);\nkernel void k(global int *x) { x[0] = f(1); }\n",
          NULL, HD_EBUILD, "call of 'f'");
    FAILS("int f(int n) { return n ? f(n - 1) : 0; }\n"
          "kernel void k(global int *x) { x[0] = f(3); }\n",
          NULL, HD_EBUILD, "a/b.cl:1: error: recursive call of 'f'");
    FAILS("kernel void k(global int *x) {\n __asm__(\"hlt\"); }\n", NULL,
          HD_EBUILD, "a/b.cl:2: error: assembly");
    FAILS("__asm__(\"hlt\");\nkernel void k(global int *x) { x[0] = 1; }\n",
          NULL, HD_EBUILD, "error: assembly is no part");
    FAILS(twice, "-Xclang -load", HD_EINVAL, "'-Xclang'");
    FAILS(twice, "-include /etc/passwd", HD_EINVAL, "'-include'");
    FAILS(twice, "-D", HD_EINVAL, "'-D'");
    FAILS(twice, "-I", HD_EINVAL, "'-I'");
    FAILS(twice, "-D1", HD_EINVAL, "'-D1'");
    FAILS(twice, "-D A=\"b", HD_EINVAL, "quote");
    FAILS(twice, "-D A(x", HD_EINVAL, "'-DA(x'");
    FAILS(twice, "-D A(x)y", HD_EINVAL, "'-DA(x)y'");
    FAILS(twice, "-cl-std=CL9", HD_EINVAL, "'-cl-std=CL9'");
    FAILS(twice, "-heddle-budget=all", HD_EINVAL, "takes a number");
    FAILS(twice, "-heddle-kernel=", HD_EINVAL, "takes the name of a kernel");
    FAILS(twice, "-heddle-kernel=thrice", HD_EINVAL,
          "there is no kernel 'thrice'");
    FAILS("kernel void k(global int *x) { int unused; }\n#warning no\n",
          "-Werror", HD_EBUILD, "no");
    CHECK_FAILS(build(t, (struct hd_program_params){.path = path_in("none.cl")},
                      &error),
                HD_ENOENT, error, "none.cl");
    CHECK_FAILS(build(t, (struct hd_program_params){.path = folder}, &error),
                HD_EIO, error, folder);
}

// In all ways of writing them; the sum says which arrived.
static void options_reach_the_source(struct try *t)
{
    struct hd_program *p = try_build(
        t, "kernel void k(global int *x) { x[0] = A + B + sizeof(C) + D; }\n",
        "-D A=1 -DB=20\t-D\n C=\"long long\" -D D -w -cl-std=CL1.2 "
        "-cl-fast-relaxed-math -cl-mad-enable -g -cl-kernel-arg-info "
        "-cl-fp32-correctly-rounded-divide-sqrt -cl-denorms-are-zero "
        "-cl-no-signed-zeros -cl-unsafe-math-optimizations "
        "-cl-finite-math-only -cl-single-precision-constant "
        "-cl-uniform-work-group-size -cl-strict-aliasing "
        "-cl-no-subgroup-ifp");
    int x = 0, *px = &x;
    TRY_RUN(t, p, "k", ((struct try_range){1, {1}, {1}, {0}}), TRY_VALUE(px));
    CHECK(x == 1 + 20 + 8 + 1 || x == 1 + 20 + 16 + 1);
    hd_program_destroy(p);

    p = try_build(t, "kernel void k(global int *x) { x[0] = A(3, 4) + B(); }\n",
                  "-D A(x,y)=x*y -D \"C(x, ...)=x\" -D B()=2");
    TRY_RUN(t, p, "k", ((struct try_range){1, {1}, {1}, {0}}), TRY_VALUE(px));
    CHECK(x == 14);
    hd_program_destroy(p);

    p = try_build(t, twice, "-cl-opt-disable");
    check_twice(t, p);
    hd_program_destroy(p);
}

// Nor a line of it.
static void the_mark_of_utf_8_is_no_source(struct try *t)
{
    struct hd_program *p =
        try_build(t,
                  "\xef\xbb\xbf"
                  "kernel void k(global int *x) { x[0] = __LINE__; }\n",
                  "");
    int x = 0, *px = &x;
    TRY_RUN(t, p, "k", ((struct try_range){1, {1}, {1}, {0}}), TRY_VALUE(px));
    CHECK(x == 1);
    hd_program_destroy(p);
}

// The null device takes no code and runs nothing, but launches on it are
// checked like others.
static void a_device_without_code_is_told_about_kernels(struct try *t)
{
    struct hd_error error;
    struct hd_program *p;
    const struct hdi_backend *null = hdi_backend_find("null");
    struct hdi_program_context context = {0};
    const struct hd_program_params params = {.source = twice};

    CHECK_OK(null->open(t->topology, 0, NULL, &context.device, &error), error);
    CHECK_OK(hdi_program_create(&context, &params, &p, &error), error);
    CHECK(hd_kernel_info(hd_program_find(p, "twice"))->arg_count == 1);
    hd_program_destroy(p);
    null->close(context.device);
}

// And not in that of their names, or of the linker.
static void kernels_come_in_source_order(struct try *t)
{
    struct hd_program *p =
        try_build(t, "kernel void z(int a) {}\nkernel void a(void) {}\n", "-w");
    CHECK(hd_program_kernel_count(p) == 2);
    CHECK(strcmp(hd_kernel_info(hd_program_kernel(p, 0))->name, "z") == 0);
    CHECK(strcmp(hd_kernel_info(hd_program_kernel(p, 1))->name, "a") == 0);
    CHECK(!hd_program_kernel(p, 2));
    CHECK(!hd_program_find(p, "b"));
    hd_program_destroy(p);
}

// Nor need there be any: a program may be made to see whether it builds.
static void a_program_may_have_no_kernels(struct try *t)
{
    static const char *const sources[] = {"", "int f(int n) { return n; }\n"};
    static const char *const options[] = {NULL, "-heddle-check",
                                          "-heddle-debug"};

    for (unsigned s = 0; s < 2; s++)
        for (unsigned o = 0; o < 3; o++) {
            struct hd_program *p = try_build(t, sources[s], options[o]), *again;
            void *binary;
            size_t size;
            struct hd_error error;
            CHECK(hd_program_kernel_count(p) == 0 && !hd_program_kernel(p, 0));
            CHECK(!hd_program_find(p, "f"));
            CHECK_OK(hd_program_binary(p, &binary, &size, &error), error);
            const struct hd_program_params params = {.binary = binary,
                                                     .binary_size = size};
            CHECK_OK(hdi_program_create(&t->context, &params, &again, &error),
                     error);
            CHECK(hd_program_kernel_count(again) == 0);
            hd_program_destroy(again);
            free(binary);
            hd_program_destroy(p);
        }
}

// More than a process has descriptors free, with few of them left.
static void kernels_may_be_many(struct try *t)
{
    enum {
        COUNT = 150
    };
    struct hdi_text text = {0};
    struct rlimit before;

    for (int k = 0; k < COUNT; k++)
        hdi_text_print(&text, "kernel void k%d(global int *to) { *to = %d; }\n",
                       k, k);
    CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
    const struct rlimit few = {64, before.rlim_max};
    CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
    struct hd_program *p = try_build(t, text.data, NULL);
    CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
    CHECK(hd_program_kernel_count(p) == COUNT);
    for (int k = 0; k < COUNT; k += 49) {
        char name[8];
        int x = -1, *to = &x;
        snprintf(name, sizeof(name), "k%d", k);
        TRY_RUN(t, p, name, ((struct try_range){1, {1}, {1}, {0}}),
                TRY_VALUE(to));
        CHECK(x == k);
    }
    hd_program_destroy(p);
    hdi_text_free(&text);
}

// Behind a digest that is right, too.
//
// Each of `most` bytes from `from` on is changed, and the digest made right
// again: what is read then may be accepted or not, but a sanitizer finds no
// fault.
static void nothing_is_believed(struct hdi_text *whole, size_t from,
                                size_t most)
{
    const size_t head = 24, body = head + HDI_DIGEST_SIZE;
    struct hdi_build *read;
    uint32_t count;
    struct hd_error error;

    for (size_t i = from; i < whole->size && i < from + most; i++)
        for (unsigned value = 0; value < 256; value += 85) {
            char kept = whole->data[i];
            uint8_t digest[HDI_DIGEST_SIZE];
            whole->data[i] = (char)value;
            hdi_digest(
                NULL,
                (struct hdi_bytes[]){{whole->data, head},
                                     {whole->data + body, whole->size - body}},
                2, digest);
            memcpy(whole->data + head, digest, sizeof(digest));
            if (hdi_container_read_all(whole->data, whole->size, NULL, "bad",
                                       &read, &count, NULL, &error) == HD_OK) {
                while (count > 0)
                    hdi_build_clear(&read[--count]);
                free(read);
            }
            whole->data[i] = kept;
        }
}

// Saved and loaded, byte by byte the same; cut at each length, with each byte
// changed, with lengths that lie, and for another processor.
static void a_binary_needs_no_compiler_and_survives_damage(struct try *t)
{
    struct hd_error error;
    const char *path = path_in("twice.hdb");
    struct hd_program *p = try_build(t, twice, NULL);

    CHECK(!hd_program_was_cached(p));
    CHECK_OK(hd_program_save(p, path, &error), error);
    CHECK_FAILS(hd_program_save(p, path_in("no/such/folder.hdb"), &error),
                HD_EIO, error, "no/such");
    hd_program_destroy(p);

    struct hd_program_params params = {.path = path};
    CHECK_OK(hdi_program_create(&t->context, &params, &p, &error), error);
    CHECK(hd_program_was_cached(p));
    check_twice(t, p);
    hd_program_destroy(p);

    struct hdi_text whole = read_file(path);
    struct hd_program_params memory = {0};
    void *binary;
    CHECK_OK(hdi_program_create(&t->context, &params, &p, &error), error);
    CHECK_OK(hd_program_binary(p, &binary, &memory.binary_size, &error), error);
    hd_program_destroy(p);
    memory.binary = binary;
    CHECK(memory.binary_size == whole.size);
    CHECK(memcmp(binary, whole.data, whole.size) == 0);
    CHECK_OK(hdi_program_create(&t->context, &memory, &p, &error), error);
    check_twice(t, p);
    hd_program_destroy(p);
    memory.binary_size--;
    CHECK_FAILS(build(t, memory, &error), HD_EFORMAT, error, "the binary");
    free(binary);

    struct hdi_build read;
    for (size_t size = 0; size < whole.size; size++)
        CHECK(hdi_container_read(whole.data, size, NULL, NULL, "cut", &read,
                                 NULL, &error) == HD_EFORMAT);
    for (size_t i = 0; i < whole.size; i++) {
        whole.data[i] ^= (char)(1 << i % 8);
        CHECK(hdi_container_read(whole.data, whole.size, NULL, NULL, "bad",
                                 &read, NULL, &error) == HD_EFORMAT);
        whole.data[i] ^= (char)(1 << i % 8);
    }
    nothing_is_believed(&whole, 24 + HDI_DIGEST_SIZE, 2000);
    CHECK_FAILS(hdi_container_read(whole.data, 0, NULL, NULL, "empty", &read,
                                   NULL, &error),
                HD_EFORMAT, error, "empty");

    write_file(path, whole.data, whole.size - 1);
    CHECK_FAILS(hdi_program_create(&t->context, &params, &p, &error),
                HD_EFORMAT, error, "twice.hdb");
    hdi_text_free(&whole);

    // Code for another processor.
    CHECK(t->device->can.cpu);
    p = try_build(t, twice, NULL);
    CHECK_OK(hd_program_save(p, path, &error), error);
    hd_program_destroy(p);
    const char *cpu = t->device->can.cpu;
    t->device->can.cpu = "another";
    CHECK_FAILS(hdi_program_create(&t->context, &params, &p, &error),
                HD_ENOTSUP, error, "another");
    t->device->can.cpu = cpu;
}

// The search for a fault is for one kernel, which runs one work-item after
// another: no other is built for it, and nothing to be screened first.
static void one_kernel_is_built_again(struct try *t)
{
    static const char two[] = "kernel void one(global int *x) { x[0] = 1; }\n"
                              "kernel void two(global int *x) { x[0] = 2; }\n";
    struct hd_program *p = try_build(t, two, NULL);
    const struct hd_kernel *checked[2],
        *kernels[2] = {hd_program_find(p, "one"), hd_program_find(p, "two")};
    const char *why;

    for (int i = 0; i < 2; i++) {
        checked[i] = hdi_kernel_checked(kernels[i], &why);
        CHECK(checked[i] && checked[i]->info.form == HD_FORM_CHECKED);
        CHECK(strcmp(checked[i]->info.name, kernels[i]->info.name) == 0);
        CHECK(!checked[i]->screen);
        CHECK(!hd_program_find(checked[i]->program, i ? "one" : "two"));
    }
    CHECK(hdi_kernel_checked(kernels[0], &why) == checked[0]);
    hd_program_destroy(p);
    p = try_build(t, two, "-heddle-kernel=two");
    CHECK(!hd_program_find(p, "one") && hd_program_find(p, "two"));
    hd_program_destroy(p);
}

// With -g: they survive being loaded and saved again, as a part as well.
static void a_binary_has_checked_kernels(struct try *t)
{
    const char *path = path_in("checked.hdb"), *why,
               *again = path_in("two.hdb");
    struct hd_program_params params = {.path = path};
    struct hd_program *p = try_build(t, twice, "-g");
    struct hd_error error;

    CHECK_OK(hd_program_save(p, path, &error), error);
    hd_program_destroy(p);
    for (int i = 0; i < 2; i++) {
        const struct hd_program_part parts[] = {
            {.path = "one.cl", .source = "kernel void one(global int *x) {}"},
            {.path = path}};
        if (i == 1)
            params =
                (struct hd_program_params){.parts = parts, .part_count = 2};
        CHECK_OK(hdi_program_create(&t->context, &params, &p, &error), error);
        const struct hd_kernel *kernel =
            hdi_kernel_checked(hd_program_find(p, "twice"), &why);
        CHECK(kernel && kernel->info.form == HD_FORM_CHECKED);
        CHECK(strcmp(kernel->info.name, "twice") == 0);
        check_twice(t, p);
        CHECK_OK(hd_program_save(p, again, &error), error);
        path = again;
        hd_program_destroy(p);
    }
    struct hdi_text whole = read_file(again);
    struct hdi_build *builds;
    uint32_t count;
    CHECK_OK(hdi_container_read_all(whole.data, whole.size, NULL, "two",
                                    &builds, &count, NULL, &error),
             error);
    CHECK(count == 1 && !builds->checked && builds->joined_count == 1 &&
          builds->joined->checked);

    // Others do not stand in for them.
    struct hdi_build wrong = builds[0];
    struct hdi_text bytes = {0};
    wrong.checked = &builds[0];
    CHECK(hdi_container_write(&wrong, 1, NULL, NULL, &bytes));
    hdi_build_clear(builds);
    free(builds);
    CHECK_FAILS(hdi_container_read_all(bytes.data, bytes.size, NULL, "wrong",
                                       &builds, &count, NULL, &error),
                HD_EFORMAT, error, "wrong");
    hdi_text_free(&bytes);
    hdi_text_free(&whole);
}

// What a program was made of is kept, whatever its parts are.
static void programs_with_libraries_are_checked(struct try *t)
{
    const struct hd_program_params library = {
        .path = "shade.cl",
        .source = "int shade(int x) { return 3 * x; }\n",
        .library = true};
    struct hd_program_part parts[] = {
        {.path = "shaded.cl",
         .source = "int shade(int x);\n"
                   "kernel void shaded(global int *x) { x[0] = shade(1); }\n"},
        {.path = "shade.hdb"}};
    const struct hd_program_params both = {.parts = parts, .part_count = 2};
    struct hd_program *p;
    struct hd_error error;
    const char *why;
    void *binary;

    CHECK_OK(hdi_program_create(&t->context, &library, &p, &error), error);
    CHECK_OK(hd_program_binary(p, &binary, &parts[1].binary_size, &error),
             error);
    hd_program_destroy(p);
    parts[1].binary = binary;
    CHECK_OK(hdi_program_create(&t->context, &both, &p, &error), error);
    free(binary);
    const struct hd_kernel *kernel =
        hdi_kernel_checked(hd_program_find(p, "shaded"), &why);
    CHECK(kernel && kernel->info.form == HD_FORM_CHECKED);
    hd_program_destroy(p);
}

// A text of this function's own, so that it can be told apart in code for
// different processors: by the width of its vectors.
static const char wide[] =
    "kernel void wide(global float *x) { x[get_global_id(0)] *= 3; }\n";

// As the compiler's explanation of the kernel has it.
static unsigned width_of(const struct hd_program *program)
{
    const char *text =
        hd_kernel_info(hd_program_find(program, "wide"))->explanation;
    const char *at = strstr(text, "vector width ");
    unsigned width = 0;

    CHECK(at && sscanf(at, "vector width %u", &width) == 1);
    return width;
}

// Whatever its vectors, it computes the same.
static void check_wide(struct try *t, const struct hd_program *program)
{
    static float x[1000], *px = x;

    for (int i = 0; i < 1000; i++)
        x[i] = (float)i;
    TRY_RUN(t, program, "wide", ((struct try_range){1, {1000}, {64}, {0}}),
            TRY_VALUE(px));
    for (int i = 0; i < 1000; i++)
        CHECK(x[i] == (float)(3 * i));
}

// Load it; the vectors' width is that of the code that was taken.
static unsigned load_wide(struct try *t, const char *path)
{
    const struct hd_program_params params = {.path = path};
    struct hd_program *p;
    struct hd_error error;

    CHECK_OK(hdi_program_create(&t->context, &params, &p, &error), error);
    check_wide(t, p);
    unsigned width = width_of(p);
    hd_program_destroy(p);
    return width;
}

// From source, for these processors, into a file.
static void build_for(struct try *t, const char *cpus, const char *path)
{
    const struct hd_program_params params = {
        .path = "wide.cl", .source = wide, .cpus = cpus};
    struct hd_program *p;
    struct hd_error error;

    CHECK_OK(hdi_program_create(&t->context, &params, &p, &error), error);
    CHECK_OK(hd_program_save(p, path, &error), error);
    hd_program_destroy(p);
}

#define CPUS_FAIL(cpus_, status, part)                                       \
    CHECK_FAILS(build(t,                                                     \
                      (struct hd_program_params){                            \
                          .path = "wide.cl", .source = wide, .cpus = cpus_}, \
                      &error),                                               \
                status, error, part)

static void the_best_code_that_runs_is_taken(struct try *t)
{
    struct hd_error error;
    const char *path = path_in("wide.hdb");
    const char *features = t->device->can.features;
    const char *cpu = t->device->can.cpu;

    if (!features) {
        CPUS_FAIL("generic", HD_ENOTSUP, "'generic'");
        return;
    }
    // Every name of clang's becomes code, of its own width.
    build_for(t, "x86-64", path);
    CHECK(load_wide(t, path) == 4);
    build_for(t, "native", path);
    unsigned native = load_wide(t, path);

    build_for(t, "x86-64,x86-64-v3,native,x86-64-v4", path);
    CHECK(load_wide(t, path) == native);
    // On another processor of the same kind.
    t->device->can.cpu = "another";
    CHECK(load_wide(t, path) == (strstr(features, "avx512f") ? 16
                                 : strstr(features, "avx2")  ? 8
                                                             : 4));
    // On one that has less, whatever the order in the file.
    t->device->can.features = "x87 cx8 cmov mmx fxsr sse sse2";
    CHECK(load_wide(t, path) == 4);
    build_for(t, "x86-64-v4,x86-64", path);
    CHECK(load_wide(t, path) == 4);
    t->device->can.features = "x87 cx8 cmov mmx fxsr sse";
    CHECK_FAILS(build(t, (struct hd_program_params){.path = path}, &error),
                HD_ENOTSUP, error, "x86-64 (which needs sse2)");

    // For others alone: kernels to look at, not to launch.
    const struct hd_program_params params = {.source = wide,
                                             .cpus = "x86-64-v4,x86-64-v3"};
    struct hd_program *p;
    CHECK_OK(hdi_program_create(&t->context, &params, &p, &error), error);
    CHECK(width_of(p) == 16 && !hd_program_find(p, "wide")->entry);
    hd_program_destroy(p);
    t->device->can.features = features;
    t->device->can.cpu = cpu;

    CPUS_FAIL("x86-64-v3,nix", HD_EINVAL, "unknown target CPU 'nix'");
    CPUS_FAIL("", HD_EINVAL, "no list");
    CPUS_FAIL("x86-64,,native", HD_EINVAL, "no list");
    CPUS_FAIL("x86-64,", HD_EINVAL, "no list");
    CPUS_FAIL("x86-64,x86-64-v2,x86-64", HD_EINVAL, "'x86-64' is named twice");
    CPUS_FAIL("x86 64", HD_EINVAL, "'x86 64'");
    CHECK_FAILS(build(t,
                      (struct hd_program_params){
                          .source = wide, .cpus = "x86-64", .library = true},
                      &error),
                HD_EINVAL, error, "library");
    CHECK_FAILS(
        build(t, (struct hd_program_params){.path = path, .cpus = "x86-64"},
              &error),
        HD_EINVAL, error, "give its sources");

    // Damage is found wherever it is.
    build_for(t, "x86-64,x86-64-v3", path);
    struct hdi_text whole = read_file(path);
    for (size_t i = 0; i < whole.size; i += 97) {
        whole.data[i] ^= 4;
        CHECK_FAILS(build(t,
                          (struct hd_program_params){.binary = whole.data,
                                                     .binary_size = whole.size},
                          &error),
                    HD_EFORMAT, error, "");
        whole.data[i] ^= 4;
        CHECK_FAILS(build(t,
                          (struct hd_program_params){.binary = whole.data,
                                                     .binary_size = i},
                          &error),
                    HD_EFORMAT, error, "");
    }
    // The second begins behind half of it.
    char *second =
        memmem(whole.data + whole.size / 3, whole.size / 2, "x86-64-v3", 9);
    CHECK(second);
    nothing_is_believed(&whole, (size_t)(second - whole.data) - 30, 300);
    hdi_text_free(&whole);
}

// 50 ms into the build, from another thread.
static void *cancel_soon(void *data)
{
    usleep(50000);
    atomic_store((atomic_bool *)data, true);
    return NULL;
}

static void a_build_can_be_cancelled(struct try *t)
{
    // The front end would not come to an end in a lifetime.
    static const char text[] = "#if __INCLUDE_LEVEL__ < 100\n"
                               "#include \"endless.cl\"\n"
                               "#include \"endless.cl\"\n"
                               "#endif\n";
    const struct hd_program_params endless = {.path = path_in("endless.cl")};
    atomic_bool cancel = false;
    struct hd_error error;
    pthread_t thread;

    write_file(endless.path, text, sizeof(text) - 1);
    t->context.cancel = &cancel;
    CHECK(pthread_create(&thread, NULL, cancel_soon, &cancel) == 0);
    CHECK_FAILS(build(t, endless, &error), HD_ECANCELED, error, "cancelled");
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(waitpid(-1, NULL, WNOHANG) < 0);
    CHECK_FAILS(build(t, (struct hd_program_params){.source = twice}, &error),
                HD_ECANCELED, error, "cancelled");
    t->context.cancel = NULL;
    CHECK_OK(build(t, (struct hd_program_params){.source = twice}, &error),
             error);
}

// What each of the threads of threads_build_at_once() does.
static void *build_some(void *data)
{
    const struct hdi_program_context *context = data;
    for (int i = 0; i < 4; i++) {
        char options[16];
        struct hd_error error;
        struct hd_program *p;
        snprintf(options, sizeof(options), "-D T=%d", i % 3);
        const struct hd_program_params params = {
            .path = "h.cl", .source = twice, .options = options};
        CHECK_OK(hdi_program_create(context, &params, &p, &error), error);
        CHECK(hd_program_find(p, "twice"));
        hd_program_destroy(p);
    }
    return NULL;
}

static void names_may_be_long(struct try *t)
{
    enum {
        LONG = 4000
    };
    char name[LONG + 1], source[LONG + 100];
    int x = 0, *px = &x;

    memset(name, 'k', LONG);
    name[LONG] = '\0';
    snprintf(source, sizeof(source),
             "kernel void %s(global int *x) { x[0] = 5; }\n", name);
    struct hd_program *p = try_build(t, source, NULL);
    TRY_RUN(t, p, name, ((struct try_range){1, {1}, {1}, {0}}), TRY_VALUE(px));
    CHECK(x == 5);
    hd_program_destroy(p);
}

static void threads_build_at_once(struct try *t)
{
    pthread_t threads[4];

    use_cache(t, "threads");
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, build_some, &t->context) == 0);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

// In a process of its own: what is cached never opens LLVM.
static void cached_programs_do_not_load_llvm(struct try *t)
{
    const struct hd_program_params params = {.path = "m.cl", .source = twice};
    pid_t pid;
    int status;

    for (int round = 0; round < 2; round++) {
        pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            CHECK(!maps_llvm());
            use_cache(t, "maps");
            CHECK(cached(t, params) == (round == 1));
            CHECK(maps_llvm() == (round == 0));
            _exit(0);
        }
        CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    }
}

int main(void)
{
    struct try t = try_open();

    CHECK(mkdtemp(folder));
    cached_programs_do_not_load_llvm(&t);
    mistakes_are_named(&t);
    options_reach_the_source(&t);
    the_mark_of_utf_8_is_no_source(&t);
    kernels_come_in_source_order(&t);
    a_program_may_have_no_kernels(&t);
    kernels_may_be_many(&t);
    a_device_without_code_is_told_about_kernels(&t);
    a_binary_needs_no_compiler_and_survives_damage(&t);
    one_kernel_is_built_again(&t);
    a_binary_has_checked_kernels(&t);
    programs_with_libraries_are_checked(&t);
    the_best_code_that_runs_is_taken(&t);
    names_may_be_long(&t);
    threads_build_at_once(&t);
    a_build_can_be_cancelled(&t);
    hdi_cache_close(t.context.cache);
    t.context.cache = NULL;
    try_close(&t);
    remove_folder();
    return 0;
}
