// What the driver has linked is kept from process to process: a second one
// links nothing, and what is damaged, exchanged or made for another GPU, driver
// or program is linked again. Each use is a process, as the driver is opened
// once.
#include <glob.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "heddle/heddle.h"
#include "tests/check.h"
#include "tests/cuda/fake.h"
#include "tests/folder.h"

// LINKS: the kernels by themselves, for their registers, and the tiles of each
// class.
enum {
    ITEMS = 256,
    WARP = 32,
    LINKS = 3,
    PROCESSES = 4
};

static const char *folder;
static const char
    source[] = "kernel void turn(global int *out, int by) {\n"
               "    out[get_global_id(0)] = by * (int)get_global_id(0);\n"
               "}\n",
    other_source[] =
        "kernel void turn(global int *out, int by) {\n"
        "    out[get_global_id(0)] = by * (int)get_global_id(0) + FEW;\n"
        "}\n";

struct use {
    const char *source, *options;
    const char *version, *capability; // of the fake driver; NULL: the usual
    unsigned threads;                 // of a tile; 0: a warp
    bool off;                         // nothing is kept
    int more;                         // than `by` times the number
};

static void run(const struct use *u)
{
    const struct hd_runtime_params params = {.device = "gpu",
                                             .workers = 1,
                                             .units = 2,
                                             .unit_cores =
                                                 u->threads ? u->threads : WARP,
                                             .cache = folder,
                                             .no_cache = u->off};
    const struct hd_program_params program_params = {
        .path = "kept.cl",
        .source = u->source ? u->source : source,
        .options = u->options};
    const struct hd_range range = {
        .dims = 1, .global = {ITEMS}, .local = {WARP}};
    struct hd_runtime *runtime;
    struct hd_program *program;
    struct hd_buffer *buffer;
    struct hd_error error;
    int by = 3, seen[ITEMS];

    CHECK_OK(hd_runtime_create(&params, &runtime, &error), error);
    CHECK_OK(hd_program_create(runtime, &program_params, &program, &error),
             error);
    CHECK_OK(hd_buffer_create(runtime, sizeof(seen), &buffer, &error), error);
    const struct hd_arg args[] = {HD_BUFFER(buffer), HD_VALUE(by)};
    CHECK_OK(hd_launch(runtime, hd_program_find(program, "turn"), &range, args,
                       2, &error),
             error);
    CHECK_OK(hd_buffer_read(buffer, 0, seen, sizeof(seen), &error), error);
    for (int i = 0; i < ITEMS; i++)
        CHECK(seen[i] == 3 * i + u->more);
    hd_buffer_destroy(buffer);
    hd_program_destroy(program);
    hd_runtime_destroy(runtime);
}

static pid_t begin(struct use u)
{
    pid_t child = fork();

    CHECK(child >= 0);
    if (child > 0)
        return child;
    if (u.version)
        setenv("FAKE_CUDA_VERSION", u.version, 1);
    if (u.capability)
        setenv("FAKE_CUDA_CAPABILITY", u.capability, 1);
    run(&u);
    printf("%s", fake_cuda()->report());
    CHECK(*fake_cuda()->report() == '\0');
    fflush(stdout);
    _exit((int)fake_cuda()->links());
}

static int end(pid_t child)
{
    int state;

    CHECK(waitpid(child, &state, 0) == child);
    CHECK(WIFEXITED(state) && WEXITSTATUS(state) <= LINKS);
    return WEXITSTATUS(state);
}

// How often a process that does this links.
static int links(struct use u)
{
    return end(begin(u));
}

static void shell(const char *command)
{
    char text[512];

    snprintf(text, sizeof(text), "cd %s && %s", folder, command);
    CHECK(system(text) == 0);
}

static void the_second_process_links_nothing(void)
{
    CHECK(links((struct use){0}) == LINKS);
    CHECK(links((struct use){0}) == 0);
    CHECK(links((struct use){.off = true}) == LINKS);
}

// Each differs in one thing that linked code depends on. The tiles are the same
// for threads of any number, but not where there are fewer registers for each.
static void what_matters_is_linked_anew(void)
{
    static const struct use uses[] = {
        {.version = "12050"},
        {.capability = "100"}, // the same PTX as for 12.0
        {.capability = "120"},
        {.source = other_source, .options = "-DFEW=1", .more = 1},
        {.source = other_source, .options = "-DFEW=2", .more = 2}};
    const struct use wide = {.threads = 768};

    for (size_t i = 0; i < sizeof(uses) / sizeof(uses[0]); i++) {
        CHECK(links(uses[i]) == LINKS);
        CHECK(links(uses[i]) == 0);
    }
    CHECK(links((struct use){.threads = 2 * WARP}) == 0);
    CHECK(links(wide) == 1);
    CHECK(links(wide) == 0);
    CHECK(links((struct use){0}) == 0);
}

static unsigned count_kept(void)
{
    char pattern[PATH_ROOM + 16];
    glob_t found;
    unsigned count = 0;

    snprintf(pattern, sizeof(pattern), "%s/*.made", folder);
    if (glob(pattern, 0, NULL, &found) == 0) {
        count = (unsigned)found.gl_pathc;
        globfree(&found);
    }
    return count;
}

// Cut, changed in one byte, empty, and each in the place of another.
static void damaged_files_are_linked_again(void)
{
    static const char *const damage[] = {
        "for f in *.made; do head -c 1000 $f >x; mv x $f; done",
        "for f in *.made; do printf x|dd of=$f bs=1 seek=90 conv=notrunc; done",
        "for f in *.made; do : >$f; done",
        "set -- *.made; mv $1 x; mv $2 $1; mv $3 $2; mv x $3",
        "for f in *.made; do rm $f; mkdir $f; done"};

    shell("rm *.made");
    CHECK(links((struct use){0}) == LINKS && count_kept() == LINKS);
    for (size_t i = 0; i < sizeof(damage) / sizeof(damage[0]); i++) {
        shell(damage[i]);
        CHECK(links((struct use){0}) == LINKS);
        if (i + 1 < sizeof(damage) / sizeof(damage[0]))
            CHECK(links((struct use){0}) == 0);
    }
    shell("rmdir *.made");
    CHECK(links((struct use){0}) == LINKS && links((struct use){0}) == 0);
}

static void processes_keep_at_the_same_time(void)
{
    pid_t children[PROCESSES];

    shell("rm *.made");
    for (int i = 0; i < PROCESSES; i++)
        children[i] = begin((struct use){0});
    for (int i = 0; i < PROCESSES; i++)
        end(children[i]);
    CHECK(links((struct use){0}) == 0 && count_kept() == LINKS);
}

int main(void)
{
    if (!fake_cuda())
        SKIP("the fake driver is not named in HEDDLE_CUDA_DRIVER");
    folder = make_folder();
    CHECK(chmod(folder, 0700) == 0);
    the_second_process_links_nothing();
    what_matters_is_linked_anew();
    damaged_files_are_linked_again();
    processes_keep_at_the_same_time();
    shell("rm -r -- * .[!.]* 2>/dev/null; true");
    CHECK(rmdir(folder) == 0);
    return 0;
}
