// Programs: what is refused and how it is said, binaries, the cache.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "kernel/container.h"
#include "kernel/try.h"

static char folder[] = "/tmp/heddle-program-test-XXXXXX";
static const char twice[] =
    "__kernel void twice(__global int *x) { x[get_global_id(0)] *= 2; }\n";

static const char *path_in(const char *name)
{
    static char paths[4][256];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
    return path;
}

static void write_file(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    CHECK(file);
    CHECK(fwrite(data, 1, size, file) == size);
    CHECK(fclose(file) == 0);
}

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
    return text;
}

static bool maps_llvm(void)
{
    struct hdi_text maps = read_file("/proc/self/maps");
    bool found = strstr(maps.data, "libLLVM") != NULL;
    hdi_text_free(&maps);
    return found;
}

static void check_twice(struct try *t, const struct hd_program *p)
{
    int x[5] = {1, 2, 3, 4, 5}, *px = x;
    TRY_RUN(t, p, "twice", ((struct try_range){1, {5}, {2}, {0}}),
            TRY_VALUE(px));
    for (int i = 0; i < 5; i++)
        CHECK(x[i] == 2 * (i + 1));
}

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

static void mistakes_are_named(struct try *t)
{
    struct hd_error error;

    FAILS("kernel void k(global int *x) {\n  x[0] = y;\n}\n", NULL, HD_EBUILD,
          "a/b.cl:2:10: error: use of undeclared identifier 'y'");
    CHECK(strncmp(error.text, "who.lua:3: ", 11) == 0);
    FAILS("kernel void k(global int *x) {\n\n  x[0] = printf(\"\");\n}\n", NULL,
          HD_EBUILD, "a/b.cl:3: error: call of 'printf'");
    FAILS("int f(int n);\nkernel void k(global int *x) { x[0] = f(1); }\n",
          NULL, HD_EBUILD, "call of 'f'");
    FAILS("int f(int n) { return n ? f(n - 1) : 0; }\n"
          "kernel void k(global int *x) { x[0] = f(3); }\n",
          NULL, HD_EBUILD, "a/b.cl:1: error: recursive call of 'f'");
    FAILS("kernel void k(global int *x) {\n __asm__(\"hlt\"); }\n", NULL,
          HD_EBUILD, "a/b.cl:2: error: assembly");
    FAILS("__asm__(\"hlt\");\nkernel void k(global int *x) { x[0] = 1; }\n",
          NULL, HD_EBUILD, "error: assembly is no part");
    FAILS("int f(int n) { return n; }\n", NULL, HD_EBUILD, "no kernel");
    FAILS("", NULL, HD_EBUILD, "no kernel");
    FAILS(twice, "-Xclang -load", HD_EINVAL, "'-Xclang'");
    FAILS(twice, "-include /etc/passwd", HD_EINVAL, "'-include'");
    FAILS(twice, "-D", HD_EINVAL, "'-D'");
    FAILS(twice, "-I", HD_EINVAL, "'-I'");
    FAILS(twice, "-D1", HD_EINVAL, "'-D1'");
    FAILS(twice, "-D A=\"b", HD_EINVAL, "quote");
    FAILS(twice, "-cl-std=CL9", HD_EINVAL, "'-cl-std=CL9'");
    FAILS("kernel void k(global int *x) { int unused; }\n#warning no\n",
          "-Werror", HD_EBUILD, "no");
    CHECK_FAILS(build(t, (struct hd_program_params){.path = path_in("none.cl")},
                      &error),
                HD_ENOENT, error, "none.cl");
    CHECK_FAILS(build(t, (struct hd_program_params){.path = folder}, &error),
                HD_EIO, error, folder);
}

static void options_reach_the_source(struct try *t)
{
    struct hd_program *p = try_build(
        t, "kernel void k(global int *x) { x[0] = A + B + sizeof(C) + D; }\n",
        "-D A=1 -DB=20\t-D\n C=\"long long\" -D D -w -cl-std=CL1.2 "
        "-cl-fast-relaxed-math -cl-mad-enable -g -cl-kernel-arg-info "
        "-cl-fp32-correctly-rounded-divide-sqrt -cl-denorms-are-zero "
        "-cl-no-signed-zeros -cl-unsafe-math-optimizations "
        "-cl-finite-math-only -cl-single-precision-constant "
        "-cl-uniform-work-group-size -cl-strict-aliasing");
    int x = 0, *px = &x;
    TRY_RUN(t, p, "k", ((struct try_range){1, {1}, {1}, {0}}), TRY_VALUE(px));
    CHECK(x == 1 + 20 + 8 + 1 || x == 1 + 20 + 16 + 1);
    hd_program_destroy(p);

    p = try_build(t, twice, "-cl-opt-disable");
    check_twice(t, p);
    hd_program_destroy(p);
}

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
    struct hdi_build read;
    for (size_t size = 0; size < whole.size; size++)
        CHECK(hdi_container_read(whole.data, size, NULL, "", "", "cut", &read,
                                 NULL, &error) == HD_EFORMAT);
    for (size_t i = 0; i < whole.size; i++) {
        whole.data[i] ^= (char)(1 << i % 8);
        CHECK(hdi_container_read(whole.data, whole.size, NULL, "", "", "bad",
                                 &read, NULL, &error) == HD_EFORMAT);
        whole.data[i] ^= (char)(1 << i % 8);
    }
    // Behind a digest that is right, too, nothing is believed.
    const size_t head = 24, body = 24 + HDI_DIGEST_SIZE;
    for (size_t i = body; i < whole.size && i < body + 2000; i++)
        for (unsigned value = 0; value < 256; value += 85) {
            char kept = whole.data[i];
            uint8_t digest[HDI_DIGEST_SIZE];
            whole.data[i] = (char)value;
            hdi_digest(
                NULL,
                (struct hdi_span[]){{whole.data, head},
                                    {whole.data + body, whole.size - body}},
                2, digest);
            memcpy(whole.data + head, digest, sizeof(digest));
            if (hdi_container_read(whole.data, whole.size, NULL, "", "", "bad",
                                   &read, NULL, &error) == HD_OK)
                hdi_build_clear(&read);
            whole.data[i] = kept;
        }
    CHECK_FAILS(hdi_container_read(whole.data, 0, NULL, "", "", "empty", &read,
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

// A program through the cache; says whether it came out of it.
static bool cached(struct try *t, const struct hd_program_params params)
{
    struct hd_error error;
    struct hd_program *p;

    CHECK_OK(hdi_program_create(&t->context, &params, &p, &error), error);
    bool was = hd_program_was_cached(p);
    if (hd_program_find(p, "twice"))
        check_twice(t, p);
    hd_program_destroy(p);
    return was;
}

static void use_cache(struct try *t, const char *name)
{
    struct hd_error error;
    hdi_cache_close(t->context.cache);
    CHECK_OK(hdi_cache_open(path_in(name), &t->context.cache, &error), error);
}

static void set_old(const char *path)
{
    struct timespec times[2] = {{1000000000, 0}, {1000000000, 0}};
    CHECK(utimensat(AT_FDCWD, path, times, 0) == 0);
}

static void the_cache_knows_what_matters(struct try *t)
{
    const struct hd_program_params params = {.path = "t.cl", .source = twice};
    struct hd_program_params other = params;

    use_cache(t, "cache");
    CHECK(!cached(t, params));
    CHECK(cached(t, params));
    other.options = "-D A=1";
    CHECK(!cached(t, other));
    CHECK(cached(t, other));
    use_cache(t, "cache");
    CHECK(cached(t, params));

    // An included file is part of the source.
    char source[] = "#include \"n.h\"\n"
                    "kernel void twice(global int *x) {\n"
                    "    x[get_global_id(0)] *= N; }\n";
    char path[256];
    snprintf(path, sizeof(path), "%s", path_in("main.cl"));
    const struct hd_program_params including = {.path = path};
    write_file(path, source, sizeof(source) - 1);
    write_file(path_in("n.h"), "#define N 2\n", 12);
    set_old(path_in("n.h"));
    CHECK(!cached(t, including));
    CHECK(cached(t, including));
    write_file(path_in("n.h"), "#define N 1+1\n", 14);
    CHECK(!cached(t, including));
    // As young as this it may change while the compiler reads it.
    CHECK(!cached(t, including));
    set_old(path_in("n.h"));
    CHECK(!cached(t, including));
    CHECK(cached(t, including));
}

static void a_damaged_cache_is_filled_again(struct try *t)
{
    const struct hd_program_params params = {.path = "d.cl", .source = twice};
    char command[600];

    use_cache(t, "damaged");
    CHECK(!cached(t, params));
    snprintf(command, sizeof(command),
             "cd %s && for f in *.hdb; do head -c 200 $f > x; mv x $f; done",
             path_in("damaged"));
    CHECK(system(command) == 0);
    CHECK(!cached(t, params));
    CHECK(cached(t, params));
    // Another key: entries of before are foreign.
    snprintf(command, sizeof(command), "head -c 32 /dev/zero > %s/key",
             path_in("damaged"));
    CHECK(system(command) == 0);
    use_cache(t, "damaged");
    CHECK(!cached(t, params));
    CHECK(cached(t, params));
    snprintf(command, sizeof(command), "printf short > %s/key",
             path_in("damaged"));
    CHECK(system(command) == 0);
    use_cache(t, "damaged");
    CHECK(!cached(t, params));
    CHECK(cached(t, params));
}

static void an_unsafe_folder_is_refused(void)
{
    struct hd_error error;
    struct hdi_cache *cache;

    CHECK(mkdir(path_in("open"), 0755) == 0);
    CHECK_FAILS(hdi_cache_open(path_in("open"), &cache, &error), HD_EIO, error,
                "open to others");
    CHECK(mkdir(path_in("real"), 0700) == 0);
    CHECK(symlink(path_in("real"), path_in("link")) == 0);
    CHECK_FAILS(hdi_cache_open(path_in("link"), &cache, &error), HD_EIO, error,
                "link");
    write_file(path_in("file"), "", 0);
    CHECK_FAILS(hdi_cache_open(path_in("file"), &cache, &error), HD_EIO, error,
                "file");
    CHECK_OK(hdi_cache_open(path_in("deep/er/folder"), &cache, &error), error);
    hdi_cache_close(cache);
    struct stat about;
    CHECK(stat(path_in("deep/er/folder"), &about) == 0);
    CHECK((about.st_mode & 0777) == 0700);
    CHECK(stat(path_in("deep/er/folder/key"), &about) == 0);
    CHECK((about.st_mode & 0777) == 0600);

    CHECK(setenv("HEDDLE_CACHE", path_in("named"), 1) == 0);
    CHECK_OK(hdi_cache_open(NULL, &cache, &error), error);
    hdi_cache_close(cache);
    CHECK(access(path_in("named/key"), F_OK) == 0);
    unsetenv("HEDDLE_CACHE");
    CHECK(setenv("XDG_CACHE_HOME", path_in("xdg"), 1) == 0);
    CHECK_OK(hdi_cache_open(NULL, &cache, &error), error);
    hdi_cache_close(cache);
    CHECK(access(path_in("xdg/heddle/key"), F_OK) == 0);
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    CHECK_FAILS(hdi_cache_open(NULL, &cache, &error), HD_EIO, error, "HOME");
}

static void processes_fill_one_cache(struct try *t)
{
    enum {
        PROCESSES = 6
    };
    const struct hd_program_params params = {.path = "p.cl", .source = twice};

    for (int i = 0; i < PROCESSES; i++) {
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            use_cache(t, "shared");
            cached(t, params);
            // The last one is shot in the middle of it.
            if (i == PROCESSES - 1) {
                write_file(path_in("shared/.new-left"), "x", 1);
                kill(getpid(), SIGKILL);
            }
            _exit(0);
        }
    }
    for (int i = 0, status; i < PROCESSES; i++) {
        CHECK(wait(&status) > 0);
        CHECK(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    }
    set_old(path_in("shared/.new-left"));
    use_cache(t, "shared");
    CHECK(cached(t, params));
    const struct hd_program_params other = {
        .path = "p.cl", .source = twice, .options = "-D X"};
    CHECK(!cached(t, other));
    CHECK(access(path_in("shared/.new-left"), F_OK) != 0);
}

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
    char command[100];

    CHECK(mkdtemp(folder));
    cached_programs_do_not_load_llvm(&t);
    processes_fill_one_cache(&t);
    mistakes_are_named(&t);
    options_reach_the_source(&t);
    kernels_come_in_source_order(&t);
    a_device_without_code_is_told_about_kernels(&t);
    a_binary_needs_no_compiler_and_survives_damage(&t);
    threads_build_at_once(&t);
    the_cache_knows_what_matters(&t);
    a_damaged_cache_is_filled_again(&t);
    an_unsafe_folder_is_refused();
    hdi_cache_close(t.context.cache);
    t.context.cache = NULL;
    try_close(&t);
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    CHECK(system(command) == 0);
    return 0;
}
