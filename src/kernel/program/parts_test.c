// Programs of several parts: sources, libraries and binaries.
#include "kernel/binary/container.h"
#include "tests/kernel/try_files.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

// Two parts that need each other: functions, a constant table and a struct go
// between them, and each has a static function of the same name, which must
// stay its own.
static const char table[] =
    "typedef struct { int a; float b[2]; } pair;\n"
    "extern int scaled(int x);\n"
    "constant int table[3] = {10, 20, 30};\n"
    "static int mine(int x) { return x + 1; }\n"
    "pair make(int x) {\n"
    "    pair p = {mine(x), {x, 2 * x}};\n"
    "    return p;\n"
    "}\n"
    "kernel void from_table(global int *x) {\n"
    "    x[get_global_id(0)] = scaled(table[get_global_id(0) % 3]);\n"
    "}\n";

static const char scale[] = "typedef struct { int a; float b[2]; } pair;\n"
                            "extern constant int table[];\n"
                            "pair make(int x);\n"
                            "static int mine(int x) { return FACTOR * x; }\n"
                            "int scaled(int x) { return mine(x); }\n"
                            "kernel void from_scale(global int *x) {\n"
                            "    local int t[4];\n"
                            "    int i = get_local_id(0);\n"
                            "    t[i] = table[1] + make(i).a;\n"
                            "    barrier(CLK_LOCAL_MEM_FENCE);\n"
                            "    x[get_global_id(0)] = t[3 - i];\n"
                            "}\n";

static hd_status create(struct try *t, const struct hd_program_part *parts,
                        unsigned count, bool library,
                        struct hd_program **program, struct hd_error *error)
{
    return hdi_program_create(&t->context,
                              &(struct hd_program_params){.parts = parts,
                                                          .part_count = count,
                                                          .library = library},
                              program, error);
}

static struct hd_program *make(struct try *t,
                               const struct hd_program_part *parts,
                               unsigned count, bool library)
{
    struct hd_program *program;
    struct hd_error error;

    CHECK_OK(create(t, parts, count, library, &program, &error), error);
    return program;
}

// If it is not refused, the program goes, and HD_OK fails the test.
static hd_status refuse(struct try *t, const struct hd_program_part *parts,
                        unsigned count, bool library, struct hd_error *error)
{
    struct hd_program *program;
    hd_status status = create(t, parts, count, library, &program, error);

    if (status == HD_OK)
        hd_program_destroy(program);
    return status;
}

// Its binary, as a part for others; the caller frees part.binary.
static struct hd_program_part binary_of(struct hd_program *program,
                                        const char *name)
{
    struct hd_program_part part = {.path = name};
    struct hd_error error;
    void *binary;

    CHECK_OK(hd_program_binary(program, &binary, &part.binary_size, &error),
             error);
    part.binary = binary;
    hd_program_destroy(program);
    return part;
}

static void free_part(const struct hd_program_part *part)
{
    free((void *)part->binary);
}

// What both kernels compute if every name was linked to the right definition.
static void check_both(struct try *t, const struct hd_program *program)
{
    int x[8], *px = x;

    TRY_RUN(t, program, "from_table", ((struct try_range){1, {8}, {4}, {0}}),
            TRY_VALUE(px));
    for (int i = 0; i < 8; i++)
        CHECK(x[i] == 7 * 10 * (i % 3 + 1));
    TRY_RUN(t, program, "from_scale", ((struct try_range){1, {8}, {4}, {0}}),
            TRY_VALUE(px));
    for (int i = 0; i < 8; i++)
        CHECK(x[i] == 20 + (3 - i % 4) + 1);
}

static void sources_use_each_other(struct try *t)
{
    static const char *const forms[] = {NULL, "-heddle-form=thread",
                                        "-heddle-check"};

    for (size_t i = 0; i < COUNT(forms); i++) {
        const struct hd_program_part parts[] = {
            {.path = "table.cl", .source = table},
            {.path = "scale.cl", .source = scale, .options = "-D FACTOR=7"}};
        t->context.options = forms[i];
        struct hd_program *program = make(t, parts, 2, false);
        CHECK(hd_program_kernel_count(program) == 2);
        const struct hd_kernel_info *info =
            hd_kernel_info(hd_program_kernel(program, 1));
        CHECK(strcmp(info->name, "from_scale") == 0);
        CHECK(strcmp(info->file, "scale.cl") == 0 && info->line == 6);
        if (i < 2)
            check_both(t, program);
        hd_program_destroy(program);
    }
    t->context.options = NULL;
}

static void a_variable_is_shared_by_kernels_of_all_parts(struct try *t)
{
    const struct hd_program_part parts[] = {
        {.source = "global int sum;\n"
                   "kernel void put(global int *x) { sum = x[0]; }\n",
         .options = "-cl-std=CL2.0"},
        {.source = "extern global int sum;\n"
                   "kernel void get(global int *x) { x[0] = sum + 1; }\n",
         .options = "-cl-std=CL3.0"}};
    struct hd_program *program = make(t, parts, 2, false);
    int x = 41, *px = &x;
    const struct try_range one = {1, {1}, {1}, {0}};

    TRY_RUN(t, program, "put", one, TRY_VALUE(px));
    TRY_RUN(t, program, "get", one, TRY_VALUE(px));
    CHECK(x == 42);
    hd_program_destroy(program);
}

// From memory and from a file, before and behind a source, into a program and
// into another library.
static void libraries_are_linked_later(struct try *t)
{
    const struct hd_program_part source = {
        .path = "scale.cl", .source = scale, .options = "-D FACTOR=7"};
    const struct hd_program_part whole = {.source = table};
    struct hd_program *library = make(t, &source, 1, true);
    struct hd_error error;
    const char *path = path_in("scale.hdb");

    CHECK(hd_program_kernel_count(library) == 0);
    CHECK(!hd_program_find(library, "from_scale"));
    CHECK_OK(hd_program_save(library, path, &error), error);
    struct hd_program_part part = binary_of(library, "scale.hdb");

    struct hd_program *program =
        make(t, (struct hd_program_part[]){whole, part}, 2, false);
    check_both(t, program);
    hd_program_destroy(program);
    program =
        make(t, (struct hd_program_part[]){{.path = path}, whole}, 2, false);
    check_both(t, program);
    hd_program_destroy(program);

    // A library of libraries; alone it is a program when nothing is missing.
    struct hd_program_part both = binary_of(
        make(t, (struct hd_program_part[]){whole, part}, 2, true), "both.hdb");
    program = make(t, &both, 1, false);
    check_both(t, program);
    hd_program_destroy(program);
    CHECK_FAILS(refuse(t, &part, 1, false, &error), HD_EBUILD, error, "'make'");

    // It is for all processors, and damage is found.
    struct hdi_build build;
    CHECK_OK(hdi_container_read(
                 both.binary, both.binary_size, NULL,
                 &(struct hdi_capabilities){.target = "other", .cpu = "cpu"},
                 "both", &build, NULL, &error),
             error);
    CHECK(build.bitcode_size > 0 && !*build.target);
    hdi_build_clear(&build);
    ((char *)both.binary)[both.binary_size / 2] ^= 1;
    CHECK_FAILS(refuse(t, &both, 1, false, &error), HD_EFORMAT, error,
                "both.hdb");
    free_part(&both);
    free_part(&part);
}

static void finished_binaries_join(struct try *t)
{
    const struct hd_program_part first = {.path = "twice.cl", .source = twice};
    const struct hd_program_part second = {
        .path = "k.cl",
        .source = "kernel void fill(int n, global int *x) { x[0] = n; }\n"};
    const struct hd_program_part third = {
        .path = "l.cl",
        .source = "kernel void last(global int *x) { x[0]--; }\n"};
    struct hd_program_part binary =
        binary_of(make(t, &first, 1, false), "twice.hdb");
    struct hd_program *program =
        make(t, (struct hd_program_part[]){binary, second}, 2, false);
    struct hd_error error;
    int x = 0, *px = &x, n = 5;

    // Once more through a binary that has joined another.
    CHECK(!hd_program_was_cached(program));
    struct hd_program_part mixed = binary_of(program, "mixed.hdb");
    struct hd_program_part alone =
        binary_of(make(t, &third, 1, false), "last.hdb");
    program = make(t, (struct hd_program_part[]){mixed, alone}, 2, false);
    struct hd_program_part all = binary_of(program, "all.hdb");
    program = make(t, &all, 1, false);
    CHECK(hd_program_was_cached(program));
    CHECK(hd_program_kernel_count(program) == 3);
    check_twice(t, program);
    TRY_RUN(t, program, "fill", ((struct try_range){1, {1}, {1}, {0}}),
            TRY_VALUE(n), TRY_VALUE(px));
    TRY_RUN(t, program, "last", ((struct try_range){1, {1}, {1}, {0}}),
            TRY_VALUE(px));
    CHECK(x == 4);
    hd_program_destroy(program);

    CHECK_FAILS(
        refuse(t, (struct hd_program_part[]){first, binary}, 2, false, &error),
        HD_EINVAL, error, "kernel 'twice' of twice.cl:1 and of twice.cl:1");
    CHECK_FAILS(
        refuse(t, (struct hd_program_part[]){second, binary}, 2, true, &error),
        HD_EINVAL, error, "twice.hdb: finished code");
    free_part(&all);
    free_part(&alone);
    free_part(&mixed);
    free_part(&binary);
}

#define REFUSED(a, b, part)                                               \
    CHECK_FAILS(                                                          \
        refuse(t,                                                         \
               (struct hd_program_part[]){{.path = "a.cl", .source = a},  \
                                          {.path = "b.cl", .source = b}}, \
               2, false, &error),                                         \
        HD_EBUILD, error, part)

#define KERNEL "kernel void k(global int *x) { x[0] = f(1); }\n"

static void mistakes_name_both_files(struct try *t)
{
    struct hd_error error;

    REFUSED("\nint f(int x) { return 1; }\n",
            "int f(int x) { return 2; }\n" KERNEL,
            "b.cl:1: error: 'f' is defined in a.cl:2 too");
    REFUSED("int f(int x) { return 1; }\n" KERNEL, "int f(int x);\n" KERNEL,
            "b.cl:2: error: 'k' is defined in a.cl:2 too");
    REFUSED("constant int n = 1;\n",
            "constant int n = 2;\nint f(int);\n" KERNEL,
            "b.cl: error: 'n' is defined in a.cl too");
    REFUSED("int f(float x) { return 1; }\n", "int f(int x);\n" KERNEL,
            "b.cl:1: error: 'f' is something else than in a.cl:1");
    REFUSED("int f(int x);\n" KERNEL, "constant int f = 2;\n",
            "b.cl: error: 'f' is something else than in a.cl");
    REFUSED("constant int n = 1;\nint f(int x) { return x; }\n",
            "extern constant float n;\nint f(int x);\n"
            "kernel void k(global float *x) { x[0] = n; }\n",
            "'n' is something else");
    REFUSED("int f(int x) { return x; }\n",
            "int f(int);\nint g(int);\n\n"
            "kernel void k(global int *x) { x[0] = g(f(1)); }\n",
            "b.cl:4: error: call of 'g'");
    REFUSED("int f(int x) { return x; }\n",
            "extern constant int n[3];\nint f(int);\n"
            "kernel void k(global int *x) { x[0] = f(n[1]); }\n",
            "b.cl:3: error: variable 'n' is defined nowhere");
    REFUSED("int g(int);\nint f(int x) { return g(x); }\n",
            "int f(int);\nint g(int x) { return f(x); }\n" KERNEL,
            "recursive call of");
    REFUSED("int f(int x) { return y; }\n", KERNEL, "a.cl:1:");

    struct hd_program *program;
    CHECK_FAILS(
        hdi_program_create(&t->context,
                           &(struct hd_program_params){
                               .path = "a.cl",
                               .parts = &(struct hd_program_part){.path = "b"},
                               .part_count = 1},
                           &program, &error),
        HD_EINVAL, error, "not both");
    CHECK_FAILS(
        refuse(t, &(struct hd_program_part){.path = "b"}, 0, false, &error),
        HD_EINVAL, error, "one part at least");
    CHECK_FAILS(
        refuse(t, &(struct hd_program_part){.source = NULL}, 1, false, &error),
        HD_EINVAL, error, "needs a path");
    CHECK_FAILS(refuse(t,
                       (struct hd_program_part[]){
                           {.source = twice}, {.source = "", .options = "-X"}},
                       2, false, &error),
                HD_EINVAL, error, "'-X'");
}

// Whether a program of two parts comes out of the cache.
static bool kept(struct try *t, const char *a, const char *b,
                 const char *options, bool library)
{
    const struct hd_program_part parts[] = {
        {.path = "a.cl", .source = a},
        {.path = "b.cl", .source = b, .options = options}};
    struct hd_program *program = make(t, parts, 2, library);
    bool was = hd_program_was_cached(program);

    hd_program_destroy(program);
    return was;
}

static void the_cache_knows_all_parts(struct try *t)
{
    static const char k[] = "kernel void k(global int *x) { x[0] = 1; }\n";
    static const char f[] = "int f(int x) { return x; }\n";

    use_cache(t, "cache");
    CHECK(!kept(t, k, f, "", false));
    CHECK(kept(t, k, f, "", false));
    CHECK(!kept(t, f, k, "", false));
    CHECK(!kept(t, k, "int f(int x) { return 1; }\n", "", false));
    CHECK(!kept(t, k, f, "-D A", false));
    CHECK(!kept(t, k, f, "", true));
    CHECK(kept(t, k, f, "", true));
    // The same texts, cut elsewhere.
    char joined[200];
    snprintf(joined, sizeof(joined), "%s%s", k, f);
    CHECK(!kept(t, joined, "", "", false));
    CHECK(kept(t, k, f, "", false));
    hdi_cache_close(t->context.cache);
    t->context.cache = NULL;
}

int main(void)
{
    struct try t = try_open();

    CHECK(mkdtemp(folder));
    sources_use_each_other(&t);
    a_variable_is_shared_by_kernels_of_all_parts(&t);
    libraries_are_linked_later(&t);
    finished_binaries_join(&t);
    mistakes_name_both_files(&t);
    the_cache_knows_all_parts(&t);
    remove_folder();
    try_close(&t);
    return 0;
}
