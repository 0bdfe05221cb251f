// Random kernels do what their syntax tree says, in both forms and for any
// shape of work-group. There is nothing wrong with them: checked they do the
// same, and nothing is told.
//
//     random_kernels_test [--check] [--gpu] [--cpu NAME] [--seed FIRST]
//                         [--count N] [--seconds S] [--print]
//                         [--write FOLDER | --read FOLDER]
//
// A failure names its seed; --seed N tries that kernel alone, --print shows it.
// --cpu: code for that processor, as clang names it. --gpu: on a GPU.
// --seconds: kernel after kernel for so long, from another first one each time
// unless one is given.
// --write: compile them for GPUs into files, for --read where no compiler is.
#include <errno.h>
#include <heddle/heddle.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/check.h"
#include "tests/kernels/trial.h"

static const struct {
    unsigned dims;
    uint32_t global[3], local[3], offset[3];
} shapes[] = {
    {1, {3}, {1}, {0}},           {1, {10}, {3}, {5}},
    {1, {32}, {8}, {0}},          {1, {50}, {16}, {0}},
    {1, {130}, {61}, {1000}},     {1, {128}, {64}, {0}},
    {2, {16, 8}, {8, 4}, {0}},    {2, {13, 10}, {8, 4}, {2, 3}},
    {2, {40, 6}, {20, 2}, {0}},   {3, {5, 4, 3}, {2, 3, 2}, {1, 2, 3}},
    {1, {60}, {0}, {7}},          {1, {1024}, {1024}, {0}},
    {2, {64, 20}, {64, 16}, {0}},
};

static hd_status launch_kernel(const struct trial *t,
                               const struct hd_kernel *kernel,
                               const struct hd_range *range,
                               const struct hd_arg *args, unsigned count,
                               struct hd_error *error)
{
    const struct hd_launch_params params = {.devices = t->gpu ? 2 : 1};

    return hd_launch_with(t->runtime, &params, kernel, range, args, count,
                          error);
}

// What was computed elsewhere is in host memory afterwards.
static void bring_home(const struct trial *t)
{
    struct hd_buffer *const buffers[] = {
        t->out,  t->sizes, t->tally,  t->cells, t->canvas, t->broad,
        t->from, t->trail, t->floats, t->sheet, t->input};

    for (unsigned i = 0; i < sizeof(buffers) / sizeof(*buffers); i++)
        CHECK(hd_buffer_host(buffers[i]));
}

static bool fits(const struct tree *tree, const struct tree_launch *launch)
{
    if (tree->line && launch->dims > 1)
        return false;
    for (unsigned d = 0; d < 3; d++)
        if (tree->required[d] && launch->local[d] != tree->required[d])
            return launch->local[0] == 0;
    return true;
}

// Ask for the variables of the program, which begin again then.
static bool begin_tally(const struct trial *t, const struct tree *tree,
                        const struct hd_program *program)
{
    const struct hd_range range = {.dims = 1, .global = {TREE_SUMS}};
    const struct hd_arg args[] = {HD_BUFFER(t->tally)};
    struct hd_error error;

    if (!tree->modern)
        return true;
    CHECK_OK(launch_kernel(t, hd_program_find(program, "told"), &range, args, 1,
                           &error),
             error);
    bring_home(t);
    return true;
}

// Whether the variables of the program hold what they should.
static bool same_tally(const struct trial *t, const struct tree *tree,
                       const struct hd_program *program, unsigned shape,
                       const uint32_t expected[TREE_SUMS])
{
    const uint32_t *tally = hd_buffer_host(t->tally);

    begin_tally(t, tree, program);
    if (!tree->modern)
        return true;
    for (unsigned i = 0; i < TREE_SUMS; i++)
        if (tally[i] != expected[i]) {
            fprintf(stderr,
                    "seed %llu, shape %u: variable %u of the program is %u, "
                    "not %u\n",
                    (unsigned long long)tree->seed, shape, i, tally[i],
                    expected[i]);
            return false;
        }
    return true;
}

// Launch with what is printed on paper.
static hd_status launch_on_paper(const struct trial *t,
                                 const struct hd_kernel *kernel,
                                 const struct hd_range *range,
                                 const struct hd_arg *args, unsigned count,
                                 struct hd_error *error)
{
    fflush(stdout);
    int out = dup(STDOUT_FILENO), paper = fileno(t->paper);

    CHECK(out >= 0 && ftruncate(paper, 0) == 0 &&
          lseek(paper, 0, SEEK_SET) == 0);
    CHECK(dup2(paper, STDOUT_FILENO) >= 0);
    hd_status status = launch_kernel(t, kernel, range, args, count, error);
    fflush(stdout);
    CHECK(dup2(out, STDOUT_FILENO) >= 0);
    close(out);
    return status;
}

static bool same_lines(const struct trial *t, const struct tree *tree,
                       unsigned shape, const struct tree_printed *expected)
{
    struct tree_printed found = {0};
    uint32_t number;

    if (!tree->prints)
        return true;
    rewind(t->paper);
    for (; fscanf(t->paper, "%u\n", &number) == 1; found.lines++)
        found.sum += number;
    if (feof(t->paper) && found.lines == expected->lines &&
        found.sum == expected->sum)
        return true;
    fprintf(stderr,
            "seed %llu, shape %u: %u lines with a sum of %u are printed, not "
            "%u with %u\n",
            (unsigned long long)tree->seed, shape, found.lines, found.sum,
            expected->lines, expected->sum);
    return false;
}

static struct given give(const struct trial *t, const struct tree *tree,
                         const uint32_t *n, const struct tree_pack *pack)
{
    struct given g = {.args = {HD_BUFFER(t->out), HD_BUFFER(t->input),
                               HD_VALUE(*n), HD_VALUE(*pack),
                               HD_BUFFER(t->sizes), HD_BUFFER(t->cells),
                               HD_BUFFER(t->from), HD_BUFFER(t->trail)},
                      .of = {t->out, t->input, NULL, NULL, t->sizes, t->cells,
                             t->from, t->trail},
                      .count = TRAIL + 1};

    for (unsigned i = 0; tree->picture && i <= CANVAS; i++) {
        struct hd_image *image = t->pictures[i + (i == CANVAS && tree->rows)];
        g.canvas = g.count;
        g.of[g.count] = image->params.buffer;
        g.images[g.count] = &image->shown;
        g.args[g.count++] = (struct hd_arg)HD_IMAGE(image);
    }
    if (tree->local_argument)
        g.args[g.count++] = (struct hd_arg)HD_LOCAL(4096);
    return g;
}

static hd_status launch_tree(const struct trial *t, const struct tree *tree,
                             const struct hd_kernel *kernel,
                             const struct hd_range *range,
                             const struct given *g, struct hd_error *error)
{
    hd_status status =
        tree->prints
            ? launch_on_paper(t, kernel, range, g->args, g->count, error)
            : launch_kernel(t, kernel, range, g->args, g->count, error);

    bring_home(t);
    return status;
}

// Whether a work-group computes the same where all is hidden that it is said
// not to read, and paints nothing but what it is said to write. The others
// compute anything then.
static bool same_hidden(const struct trial *t, const struct tree *tree,
                        unsigned shape, const struct hd_kernel *kernel,
                        const struct hd_range *range, const struct given *g,
                        const struct tree_launch *launch,
                        const uint32_t *expected)
{
    static uint32_t cells[MAX_ITEMS * TREE_CELLS][TREE_MEMBERS];
    static uint32_t trail[PATTERN_PLANES * PATTERN_PLANE];
    struct hd_buffer *const hidden[] = {t->input, t->from, t->floats, t->sheet,
                                        trial_canvas(t, tree)};
    const uint32_t items = trial_items(launch);
    const struct hd_piece piece =
        trial_group(launch, (uint32_t)(tree->seed * 7 + shape * 31) % items);
    struct hd_footprint found[MAX_ARGS];
    struct hd_error error;

    trial_begin(t, tree, launch, cells, trail);
    trial_find_footprints(kernel, range, g, &piece, found);
    for (size_t i = 0; i < sizeof(hidden) / sizeof(*hidden); i++)
        trial_hide(hidden[i], g, found);
    static uint32_t before[TREE_BROAD * TREE_TALL];
    memcpy(before, hd_buffer_host(trial_canvas(t, tree)),
           hd_buffer_size(trial_canvas(t, tree)));
    CHECK_OK(launch_tree(t, tree, kernel, range, g, &error), error);
    const uint32_t *out = hd_buffer_host(t->out);
    const uint32_t *canvas = hd_buffer_host(trial_canvas(t, tree));
    for (uint32_t i = 0; i < items; i++) {
        struct hd_piece own = trial_group(launch, i);
        uint32_t texel = trial_texel(tree, launch, i);
        if (memcmp(own.first, piece.first, sizeof(own.first)) != 0)
            continue;
        if (memcmp(&out[i * TREE_RESULTS], &expected[i * TREE_RESULTS],
                   4 * TREE_RESULTS) != 0 ||
            (canvas[texel] != before[texel] &&
             !trial_touches(&found[g->canvas].write, 4 * texel))) {
            fprintf(stderr,
                    "seed %llu, shape %u: work-item %u touches texels that "
                    "are not in the footprint of its work-group\n",
                    (unsigned long long)tree->seed, shape, i);
            return false;
        }
    }
    return true;
}

// Return whether one launch gave what the interpreter says.
static bool same(struct trial *t, const struct tree *tree,
                 const struct hd_program *program, unsigned shape)
{
    const struct hd_kernel *kernel = hd_program_find(program, "k");
    uint32_t tally[TREE_SUMS];
    struct tree_printed printed = {0};

    static uint32_t expected[MAX_ITEMS * TREE_RESULTS], painted[MAX_ITEMS];
    static uint32_t kept[MAX_ITEMS * TREE_CELLS][TREE_MEMBERS];
    static uint32_t trail[PATTERN_PLANES * PATTERN_PLANE];
    struct tree_launch launch = {.dims = shapes[shape].dims,
                                 .n = (uint32_t)tree->seed % 7 + shape,
                                 .sub_group = t->gpu ? 32 : 16};
    struct hd_range range = {.dims = launch.dims};
    struct hd_error error;

    CHECK(kernel);
    struct tree_pack pack = TREE_PACK;
    const uint32_t *out = hd_buffer_host(t->out);
    const uint32_t *sizes = hd_buffer_host(t->sizes);

    for (unsigned d = 0; d < 3; d++) {
        bool used = d < launch.dims;
        launch.global[d] = used ? shapes[shape].global[d] : 1;
        launch.local[d] = used ? shapes[shape].local[d] : 1;
        launch.offset[d] = tree->line ? 0 : shapes[shape].offset[d];
        range.global[d] = used ? launch.global[d] : 0;
        range.local[d] = used ? launch.local[d] : 0;
        range.offset[d] = launch.offset[d];
    }
    if (!fits(tree, &launch))
        return true;
    for (unsigned i = 0; i < TREE_INPUT; i++)
        launch.input[i] = i * 0x01000193u ^ (uint32_t)tree->seed;
    for (unsigned i = 0; i < PATTERN_FROM; i++)
        launch.from[i] = pattern_from(i);
    for (unsigned i = 0; i < TREE_WIDE * TREE_HIGH; i++)
        launch.sheet[i] = i * TREE_MIX ^ (uint32_t)tree->seed;
    for (unsigned i = 0; i < MAX_ITEMS * TREE_RESULTS; i++)
        expected[i] = 0xdeadbeefu;
    for (unsigned i = 0; i < MAX_ITEMS; i++)
        painted[i] = i + 1;
    trial_begin(t, tree, &launch, kept, trail);

    const struct given given = give(t, tree, &launch.n, &pack);
    struct hd_footprint all[MAX_ARGS];
    trial_find_footprints(kernel, &range, &given, NULL, all);
    trial_count_told(t, &given, all);
    trial_hide(t->input, &given, all);
    trial_hide(t->from, &given, all);
    trial_hide(t->floats, &given, all);
    trial_hide(t->sheet, &given, all);
    hd_status status = launch_tree(t, tree, kernel, &range, &given, &error);
    if (status == HD_ENOTSUP && t->cpu)
        SKIP(error.text);
    if (status != HD_OK) {
        fprintf(stderr, "seed %llu, shape %u: %s\n",
                (unsigned long long)tree->seed, shape, error.text);
        return false;
    }
    bool grouped = launch.local[0] > 0;
    if (grouped &&
        !trial_same_groups(t, tree, shape, kernel, &range, &given, &launch))
        return false;
    if (!grouped)
        for (unsigned d = 0; d < 3; d++)
            launch.local[d] = tree->flat ? 1 : sizes[d];
    tree_interpret(tree, &launch, expected, tally, painted, kept, trail,
                   &printed);
    for (unsigned i = 0; i < MAX_ITEMS * TREE_RESULTS; i++)
        if (out[i] != expected[i]) {
            fprintf(stderr,
                    "seed %llu, shape %u (local %u %u %u): result %u of "
                    "work-item %u is %u, not %u\n",
                    (unsigned long long)tree->seed, shape, launch.local[0],
                    launch.local[1], launch.local[2], i % TREE_RESULTS,
                    i / TREE_RESULTS, out[i], expected[i]);
            return false;
        }
    return same_lines(t, tree, shape, &printed) &&
           trial_same_writes(t, tree, shape, all) &&
           trial_same_canvas(t, tree, shape, &launch, painted) &&
           trial_same_cells(t, tree, shape, kept) &&
           trial_same_trail(t, tree, shape, trail) &&
           same_tally(t, tree, program, shape, tally) &&
           (!tree->picture || !grouped ||
            (same_hidden(t, tree, shape, kernel, &range, &given, &launch,
                         expected) &&
             begin_tally(t, tree, program)));
}

static const char *const forms[] = {"-heddle-form=loops", "-heddle-form=thread",
                                    "-heddle-form=coroutine", "-heddle-check"};

// The kernel's binary, which is written, or was.
static void name_file(const struct trial *t, const struct tree *tree,
                      char *path, size_t size)
{
    int length = snprintf(path, size, "%s/%llu.hdb", t->folder,
                          (unsigned long long)tree->seed);
    CHECK(length > 0 && (size_t)length < size);
}

static bool try_form(struct trial *t, const struct tree *tree, const char *text,
                     const char *form)
{
    // Loops are refused, and threads taken, where it cannot be seen that all of
    // a group come to a sub-group function.
    bool may_fall_back = tree->modern && form == forms[0];
    char options[64];
    snprintf(options, sizeof(options), "-w -cl-std=%s %s",
             tree->modern ? "CL3.0" : "CL1.2", may_fall_back ? "" : form);
    char path[4096] = "random.cl";
    if (t->folder)
        name_file(t, tree, path, sizeof(path));
    bool reads = t->folder && !t->writes;
    const struct hd_program_params params = {.path = path,
                                             .source = reads ? NULL : text,
                                             .options = reads ? NULL : options,
                                             .cpus = t->cpu};
    struct hd_program *program;
    struct hd_error error;
    hd_status status = hd_program_create(t->runtime, &params, &program, &error);
    bool good = true;

    t->tried++;
    SKIP_UNBUILT(status, error);
    if (status != HD_OK) {
        fprintf(stderr, "seed %llu is refused: %s\n",
                (unsigned long long)tree->seed, error.text);
        return false;
    }
    if (t->writes)
        CHECK_OK(hd_program_save(program, path, &error), error);
    for (unsigned i = 0; !t->writes && i < sizeof(shapes) / sizeof(*shapes);
         i++)
        good = same(t, tree, program, i) && good;
    hd_program_destroy(program);
    return good;
}

static bool try_seed(struct trial *t, uint64_t seed, bool print, bool checks)
{
    struct tree *tree = tree_make(seed);
    char *text = NULL;
    size_t length;
    FILE *file = open_memstream(&text, &length);
    bool good = true;

    CHECK(tree && file);
    tree_print(tree, file);
    CHECK(fclose(file) == 0);
    if (print)
        fputs(text, stdout);
    // A GPU has one form, which `modern` gets by asking for none.
    unsigned end = checks ? 4 : t->gpu ? 1 : 3;
    for (unsigned f = checks ? 3 : 0; f < end; f++)
        if (!try_form(t, tree, text, forms[f])) {
            good = false;
            fprintf(stderr,
                    "see: random_kernels_test --seed %llu --print (%s)\n",
                    (unsigned long long)seed, forms[f]);
        }
    free(text);
    tree_free(tree);
    return good;
}

int main(int argc, char **argv)
{
    struct hd_runtime_params params = {.device = "cpu", .no_cache = true};
    unsigned long long first = 1, count = 0, bad = 0;
    bool print = false, checks = false;
    time_t begin = time(NULL), seconds = 0;
    struct trial t = {0};
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
        else if ((!strcmp(argv[i], "--write") || !strcmp(argv[i], "--read")) &&
                 i + 1 < argc) {
            t.writes = argv[i][2] == 'w';
            t.folder = argv[++i];
        } else if (!strcmp(argv[i], "--seconds") && i + 1 < argc)
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
    count = count ? count : 40;
    CHECK((t.paper = tmpfile()));
    if (t.writes) {
        t.cpu = "x86-64,sm_70"; // buffers are in memory of the host
        CHECK(mkdir(t.folder, 0777) == 0 || errno == EEXIST);
    }
    params.device = t.gpu && !t.writes ? "all" : "cpu";
    CHECK_OK(hd_runtime_create(&params, &t.runtime, &error), error);
    if (t.gpu && !t.writes && hd_runtime_device_count(t.runtime) < 2) {
        fprintf(stderr, "there is no GPU: see 'heddle info'\n");
        return 1;
    }
    CHECK_OK(hd_buffer_create(t.runtime, MAX_ITEMS * TREE_RESULTS * 4, &t.out,
                              &error),
             error);
    CHECK_OK(hd_buffer_create(t.runtime, TREE_INPUT * 4, &t.input, &error),
             error);
    CHECK_OK(hd_buffer_create(t.runtime, 12, &t.sizes, &error), error);
    CHECK_OK(hd_buffer_create(t.runtime, TREE_SUMS * 4, &t.tally, &error),
             error);
    CHECK_OK(hd_buffer_create(t.runtime, TREE_INPUT * 4, &t.floats, &error),
             error);
    CHECK_OK(hd_buffer_create(t.runtime, TREE_WIDE * TREE_HIGH * 4, &t.sheet,
                              &error),
             error);
    CHECK_OK(hd_buffer_create(t.runtime, MAX_ITEMS * 4, &t.canvas, &error),
             error);
    CHECK_OK(hd_buffer_create(t.runtime, TREE_BROAD * TREE_TALL * 4, &t.broad,
                              &error),
             error);
    CHECK_OK(hd_buffer_create(t.runtime,
                              MAX_ITEMS * TREE_CELLS * sizeof(struct tree_cell),
                              &t.cells, &error),
             error);
    CHECK_OK(hd_buffer_create(t.runtime, PATTERN_FROM * 4, &t.from, &error),
             error);
    CHECK_OK(hd_buffer_create(t.runtime, PATTERN_PLANES * PATTERN_PLANE * 4,
                              &t.trail, &error),
             error);
    const struct {
        enum hd_channel_type type;
        uint32_t width, height, depth;
        struct hd_buffer *buffer;
    } pictures[PICTURES] = {
        {HD_UNSIGNED_INT32, TREE_SIDE, TREE_SIDE, 0, t.input},
        {HD_SIGNED_INT32, TREE_SIDE, TREE_SIDE, 0, t.input},
        {HD_FLOAT, TREE_SIDE, TREE_SIDE, 0, t.floats},
        {HD_UNSIGNED_INT32, TREE_INPUT, 0, 0, t.input},
        {HD_UNSIGNED_INT32, TREE_EDGE, TREE_EDGE, TREE_EDGE, t.input},
        {HD_UNSIGNED_INT32, TREE_WIDE, TREE_HIGH, 0, t.sheet},
        {HD_UNSIGNED_INT32, TREE_CANVAS, MAX_ITEMS / TREE_CANVAS, 0, t.canvas},
        {HD_UNSIGNED_INT32, TREE_BROAD, TREE_TALL, 0, t.broad}};
    for (unsigned i = 0; i < PICTURES; i++) {
        const struct hd_image_params picture = {
            .kind = pictures[i].depth    ? HD_IMAGE_3D
                    : pictures[i].height ? HD_IMAGE_2D
                                         : HD_IMAGE_1D,
            .order = HD_R,
            .depth = pictures[i].depth,
            .type = pictures[i].type,
            .width = pictures[i].width,
            .height = pictures[i].height,
            .buffer = pictures[i].buffer};
        CHECK_OK(hd_image_create(t.runtime, &picture, &t.pictures[i], &error),
                 error);
    }
    unsigned long long k = 0;
    for (; k < count && (!seconds || time(NULL) - begin < seconds); k++)
        bad += !try_seed(&t, first + k, print, checks);
    for (unsigned i = 0; i < PICTURES; i++)
        hd_image_destroy(t.pictures[i]);
    fclose(t.paper);
    hd_buffer_destroy(t.trail);
    hd_buffer_destroy(t.from);
    hd_buffer_destroy(t.cells);
    hd_buffer_destroy(t.broad);
    hd_buffer_destroy(t.canvas);
    hd_buffer_destroy(t.sheet);
    hd_buffer_destroy(t.floats);
    hd_buffer_destroy(t.tally);
    hd_buffer_destroy(t.sizes);
    hd_buffer_destroy(t.input);
    hd_buffer_destroy(t.out);
    hd_runtime_destroy(t.runtime);
    printf("%llu kernels, %llu wrong; footprints of %lu arguments are rows, of "
           "%lu all; of images %lu and %lu\n",
           t.gpu ? t.tried : k, bad, t.told, t.untold, t.told_texels,
           t.untold_texels);
    return bad != 0;
}
