// Random programs give the same results as compiled for the processor alone, by
// clang without any optimisation, with a thread per work-item: in every form,
// for several shapes, and checked.
//
//     random_programs_test [--check] [--gpu] [--cpu NAME] [--seed FIRST]
//                          [--count N] [--seconds S] [--print]
//
// A failure names its seed; --seed N tries that program alone, --print shows
// it. The others are as in tests/kernels.
#include <dlfcn.h>
#include <heddle/heddle.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "tests/check.h"
#include "tests/folder.h"
#include "tests/programs/program.h"

enum {
    MAX_ITEMS = 256
};

static const struct {
    uint32_t global, local;
} shapes[] = {{6, 3}, {128, 64}, {96, 16}, {75, 20}, {5, 1}};

enum {
    SHAPES = sizeof(shapes) / sizeof(*shapes)
};

struct trial {
    struct hd_runtime *runtime;
    struct hd_buffer *out, *in;
    const char *folder, *cpu;
    bool gpu;
    uint64_t expected[SHAPES][MAX_ITEMS];
};

// The oracle ------------------------------------------------------------------

// A work-item of the oracle: its thread.
struct item {
    void (*kernel)(uint64_t *out, const uint32_t *in);
    uint64_t *out;
    const uint32_t *in;
    uint64_t numbers[3]; // global and local id, local size
    pthread_barrier_t *meeting;
    pthread_t thread;
};

static _Thread_local struct item *mine;

// What the oracle's code calls: oracle_prelude.cl.
#pragma GCC visibility push(default)
uint64_t oracle_number(uint32_t which);
void oracle_meet(void);
uint32_t oracle_change(uint32_t how, uint32_t *what, uint32_t by);
#pragma GCC visibility pop

uint64_t oracle_number(uint32_t which)
{
    return mine->numbers[which];
}

void oracle_meet(void)
{
    pthread_barrier_wait(mine->meeting);
}

uint32_t oracle_change(uint32_t how, uint32_t *what, uint32_t by)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

    pthread_mutex_lock(&lock);
    uint32_t old = *what;
    *what = how == 0   ? old + by
            : how == 1 ? old ^ by
            : how == 2 ? old | by
            : how == 3 ? old & by
            : how == 4 ? (old < by ? old : by)
                       : (old > by ? old : by);
    pthread_mutex_unlock(&lock);
    return old;
}

static void *run_item(void *data)
{
    mine = data;
    mine->kernel(mine->out, mine->in);
    return NULL;
}

static void run_group(struct item items[], uint32_t count)
{
    pthread_barrier_t meeting;

    CHECK(pthread_barrier_init(&meeting, NULL, count) == 0);
    for (uint32_t i = 0; i < count; i++) {
        items[i].meeting = &meeting;
        CHECK(pthread_create(&items[i].thread, NULL, run_item, &items[i]) == 0);
    }
    for (uint32_t i = 0; i < count; i++)
        pthread_join(items[i].thread, NULL);
    pthread_barrier_destroy(&meeting);
}

// Vectors, and what converts to them.
static void print_types(FILE *to)
{
    static const char *const bases[] = {"char", "uchar", "short", "ushort",
                                        "int",  "uint",  "long",  "ulong"};

    for (unsigned b = 0; b < 8; b++)
        for (unsigned width = 2; width <= 16; width += width > 3 ? width : 1) {
            char name[16];
            snprintf(name, sizeof(name), "%s%u", bases[b], width);
            fprintf(to,
                    "typedef %s %s __attribute__((ext_vector_type(%u)));\n"
                    "#define as_%s(x) __builtin_astype((x), %s)\n"
                    "#define convert_%s(x) __builtin_convertvector((x), %s)\n",
                    bases[b], name, width, name, name, name, name);
        }
}

static void ask_oracle(struct trial *t, uint64_t seed)
{
    char source[320], library[320], command[1200];

    snprintf(source, sizeof(source), "%s/oracle.cl", t->folder);
    snprintf(library, sizeof(library), "%s/oracle.so", t->folder);
    FILE *file = fopen(source, "w");
    CHECK(file);
    print_types(file);
    program_print(seed, file);
    CHECK(fclose(file) == 0);
    snprintf(command, sizeof(command),
             "%s -x cl -cl-std=CL3.0 -cl-no-stdinc -w -O0 -fPIC -shared "
             "-nostdlib -include %s -o %s %s",
             ORACLE_CLANG, ORACLE_PRELUDE, library, source);
    CHECK(system(command) == 0);
    void *code = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!code)
        fprintf(stderr, "%s\n", dlerror());
    CHECK(code);
    struct item items[PROGRAM_MAX_GROUP] = {0};
    *(void **)&items[0].kernel = dlsym(code, "k");
    CHECK(items[0].kernel);
    for (unsigned s = 0; s < SHAPES; s++)
        for (uint32_t first = 0; first < shapes[s].global;
             first += shapes[s].local) {
            uint32_t left = shapes[s].global - first;
            uint32_t count = left < shapes[s].local ? left : shapes[s].local;
            for (uint32_t i = 0; i < count; i++)
                items[i] = (struct item){.kernel = items[0].kernel,
                                         .out = t->expected[s],
                                         .in = hd_buffer_host(t->in),
                                         .numbers = {first + i, i, count}};
            run_group(items, count);
        }
    dlclose(code);
    unlink(source);
    unlink(library);
}

// Ours ------------------------------------------------------------------------

static const char *const forms[] = {"-heddle-form=loops", "-heddle-form=thread",
                                    "-heddle-form=coroutine", "-heddle-check"};

static bool same(struct trial *t, const struct hd_program *program,
                 uint64_t seed, unsigned shape)
{
    const struct hd_launch_params params = {.devices = t->gpu ? 2 : 1};
    const struct hd_range range = {.dims = 1,
                                   .global = {shapes[shape].global},
                                   .local = {shapes[shape].local}};
    const struct hd_arg args[] = {HD_BUFFER(t->out), HD_BUFFER(t->in)};
    uint64_t *out = hd_buffer_host(t->out);
    struct hd_error error;

    memset(out, 0, MAX_ITEMS * sizeof(*out));
    hd_status status =
        hd_launch_with(t->runtime, &params, hd_program_find(program, "k"),
                       &range, args, 2, &error);
    if (status == HD_ENOTSUP && t->cpu)
        SKIP(error.text);
    if (status != HD_OK) {
        fprintf(stderr, "seed %llu, shape %u: %s\n", (unsigned long long)seed,
                shape, error.text);
        return false;
    }
    out = hd_buffer_host(t->out);
    for (uint32_t i = 0; i < shapes[shape].global; i++)
        if (out[i] != t->expected[shape][i]) {
            fprintf(stderr,
                    "seed %llu, shape %u: work-item %u gives %llx, not %llx\n",
                    (unsigned long long)seed, shape, i,
                    (unsigned long long)out[i],
                    (unsigned long long)t->expected[shape][i]);
            return false;
        }
    return true;
}

static bool try_form(struct trial *t, uint64_t seed, const char *text,
                     const char *form)
{
    char options[80];
    // With generic pointers, and without.
    snprintf(options, sizeof(options), "-w -cl-std=%s %s",
             seed % 2 ? "CL3.0" : "CL1.2", form);
    const struct hd_program_params params = {.path = "random.cl",
                                             .source = text,
                                             .options = options,
                                             .cpus = t->cpu};
    struct hd_program *program;
    struct hd_error error;
    bool good = true;
    hd_status status = hd_program_create(t->runtime, &params, &program, &error);

    SKIP_UNBUILT(status, error);
    if (status != HD_OK) {
        fprintf(stderr, "seed %llu is refused: %s\n", (unsigned long long)seed,
                error.text);
        return false;
    }
    for (unsigned i = 0; i < SHAPES && good; i++)
        if (seed % 2 || shapes[i].global % shapes[i].local == 0)
            good = same(t, program, seed, i);
    hd_program_destroy(program);
    return good;
}

static bool try_seed(struct trial *t, uint64_t seed, bool print, bool checks)
{
    char *text = NULL;
    size_t length;
    FILE *file = open_memstream(&text, &length);
    bool good = true;

    CHECK(file);
    program_print(seed, file);
    CHECK(fclose(file) == 0);
    if (print)
        fputs(text, stdout);
    ask_oracle(t, seed);
    unsigned end = checks ? 4 : t->gpu ? 1 : 3;
    for (unsigned f = checks ? 3 : 0; f < end; f++)
        if (!try_form(t, seed, text, t->gpu ? "" : forms[f])) {
            good = false;
            fprintf(stderr,
                    "see: random_programs_test --seed %llu --print (%s)\n",
                    (unsigned long long)seed, forms[f]);
        }
    free(text);
    return good;
}

int main(int argc, char **argv)
{
    struct hd_runtime_params params = {.device = "cpu", .no_cache = true};
    unsigned long long first = 1, count = 0, bad = 0, tried = 0;
    bool print = false, checks = false;
    time_t begin = time(NULL), seconds = 0;
    static struct trial t;
    struct hd_error error;

    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--print"))
            print = true;
        else if (!strcmp(argv[i], "--check"))
            checks = true;
        else if (!strcmp(argv[i], "--gpu"))
            t.gpu = true;
        else if (!strcmp(argv[i], "--cpu") && i + 1 < argc)
            t.cpu = argv[++i];
        else if (!strcmp(argv[i], "--seconds") && i + 1 < argc)
            seconds = strtol(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "--seed") && i + 1 < argc) {
            first = strtoull(argv[++i], NULL, 10);
            count = count ? count : 1;
        } else if (!strcmp(argv[i], "--count") && i + 1 < argc)
            count = strtoull(argv[++i], NULL, 10);
        else
            return 2;
    if (seconds > 0) {
        if (first == 1)
            first = (unsigned long long)begin * 1000;
        count = ~0ull;
        printf("from seed %llu on\n", first);
    }
    count = count ? count : 20;
    params.device = t.gpu ? "all" : "cpu";
    CHECK_OK(hd_runtime_create(&params, &t.runtime, &error), error);
    CHECK_OK(hd_buffer_create(t.runtime, MAX_ITEMS * 8, &t.out, &error), error);
    CHECK_OK(hd_buffer_create(t.runtime, PROGRAM_INPUT * 4, &t.in, &error),
             error);
    for (uint32_t i = 0; i < PROGRAM_INPUT; i++)
        ((uint32_t *)hd_buffer_host(t.in))[i] = (i + 1) * 0x9e3779b9u;
    t.folder = make_folder();
    for (; tried < count && (!seconds || time(NULL) - begin < seconds); tried++)
        bad += !try_seed(&t, first + tried, print, checks);
    CHECK(rmdir(t.folder) == 0);
    hd_buffer_destroy(t.in);
    hd_buffer_destroy(t.out);
    hd_runtime_destroy(t.runtime);
    printf("%llu programs, %llu wrong\n", tried, bad);
    return bad != 0;
}
