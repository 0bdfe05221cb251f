// The planet: graph execution against the same passes as plain C loops, with
// glibc's vector math library, on the same number of pinned threads; one worker
// against all, and what surrounds it.
//
//     demo [--quick]      one JSON object per line on stdout
//
// Heddle and C run in turn, and medians are compared, so that a change of the
// machine's speed meets both.
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/topology.h"
#include "bench/figure.h"
#include "command/image.h"
#include "heddle/heddle.h"
#include "tests/folder.h"
#include "tests/golden/planet.h"

enum {
    ROUNDS = 9,
    MAX_THREADS = 64,
    ROWS = 8 // that a thread takes at a time
};

static struct hd_error error;

static void check(hd_status status, const char *what)
{
    if (status == HD_OK)
        return;
    fprintf(stderr, "bench demo: %s: %s: %s\n", what, hd_status_text(status),
            error.text);
    exit(1);
}

// Maps ------------------------------------------------------------------------

struct maps {
    struct planet_map day, night;
    const char *origin;
    double decode; // both [ms]
};

static struct planet_map make_map(int phase)
{
    const int width = 2048, height = 1024;
    uint8_t(*pixels)[4] = malloc(sizeof(*pixels) * (size_t)(width * height));
    if (!pixels)
        exit(1);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            for (int c = 0; c < 4; c++)
                pixels[y * width + x][c] =
                    (uint8_t)((x * (c + 3) / 7) ^ (y * (c + phase) / 5));
    return (struct planet_map){width, height, (const uint8_t(*)[4])pixels};
}

static bool read_map(const char *path, struct planet_map *map)
{
    struct image image;
    if (access(path, R_OK) != 0 || image_read(path, &image, &error) != HD_OK)
        return false;
    *map = (struct planet_map){(int)image.width, (int)image.height,
                               (const uint8_t(*)[4])image.pixels};
    return true;
}

static struct maps get_maps(void)
{
    struct maps maps = {.origin = "NASA"};
    double begin = figure_now();

    if (!read_map("/usr/share/xplanet/images/earth.jpg", &maps.day) ||
        !read_map("/usr/share/xplanet/images/night.jpg", &maps.night))
        return (struct maps){.day = make_map(2),
                             .night = make_map(5),
                             .origin = "made up: no xplanet-images"};
    maps.decode = figure_now() - begin;
    return maps;
}

// Heddle ----------------------------------------------------------------------

struct ours {
    struct hd_runtime *runtime;
    struct hd_graph *graph;
    struct hd_graph_source sources[2];
    double build; // of the kernels [ms]
};

static struct hd_graph_source source_of(struct hd_runtime *runtime,
                                        const char *name,
                                        const struct planet_map *map)
{
    struct hd_graph_source source = {
        .name = name,
        .shape = {.type = "uchar4",
                  .axes = 2,
                  .extent = {(uint64_t)map->width, (uint64_t)map->height, 1}},
    };
    uint64_t size = 4 * (uint64_t)map->width * (uint64_t)map->height;

    check(hd_buffer_create(runtime, size, &source.buffer, &error), name);
    check(hd_buffer_write(source.buffer, 0, map->pixels, size, &error), name);
    return source;
}

static struct ours start(unsigned workers, const char *cache,
                         const struct maps *maps)
{
    struct ours ours = {0};
    struct hd_runtime_params params = {.workers = workers, .cache = cache};

    check(hd_runtime_create(&params, &ours.runtime, &error), "runtime");
    ours.sources[0] = source_of(ours.runtime, "map", &maps->day);
    ours.sources[1] = source_of(ours.runtime, "night", &maps->night);
    struct hd_graph_program program = {
        .path = PLANET_PROGRAM, .inputs = ours.sources, .input_count = 2};
    check(hd_graph_generate(ours.runtime, &program, &ours.graph, &error),
          "generate");
    double begin = figure_now();
    check(hd_graph_prepare(ours.graph, &error), "prepare");
    ours.build = figure_now() - begin;
    return ours;
}

static void stop(struct ours *ours)
{
    hd_graph_destroy(ours->graph);
    hd_buffer_destroy(ours->sources[0].buffer);
    hd_buffer_destroy(ours->sources[1].buffer);
    hd_runtime_destroy(ours->runtime);
}

// First pass start to last pass end [ms].
static double run_ours(const struct ours *ours)
{
    uint64_t begin = UINT64_MAX, end = 0;

    check(hd_graph_run(ours->graph, NULL, &error), "run");
    for (unsigned i = 0; i < hd_graph_pass_count(ours->graph); i++) {
        struct hd_pass_info info;
        hd_graph_pass_info(ours->graph, i, &info);
        begin = info.begin < begin ? info.begin : begin;
        end = info.end > end ? info.end : end;
    }
    return (double)(end - begin) / 1e6;
}

// Plain C ---------------------------------------------------------------------

struct crew {
    struct hdi_topology *topology;
    struct planet planet;
    int threads;
    double times[PLANET_MAX_PASSES];    // of the last run [ms]
    atomic_int next[PLANET_MAX_PASSES]; // row nobody has taken yet
    atomic_int arrived;
    atomic_int round;
};

// Everybody is here; pinned threads on cores of their own may spin.
static void meet(struct crew *crew)
{
    int round = atomic_load(&crew->round);

    if (atomic_fetch_add(&crew->arrived, 1) + 1 == crew->threads) {
        atomic_store(&crew->arrived, 0);
        atomic_store(&crew->round, round + 1);
    } else {
        while (atomic_load(&crew->round) == round)
            ;
    }
}

static void *work(void *data)
{
    struct crew *crew = data;
    double begin = figure_now();

    for (int i = 0; i < crew->planet.pass_count; i++) {
        const struct planet_pass *pass = &crew->planet.passes[i];
        int row;
        while ((row = atomic_fetch_add(&crew->next[i], ROWS)) < pass->rows)
            pass->run(&crew->planet, pass, row,
                      row + ROWS < pass->rows ? row + ROWS : pass->rows);
        meet(crew);
        if (crew->threads == 1)
            crew->times[i] = figure_now() - begin;
        begin = figure_now();
    }
    return NULL;
}

static void *first(void *data)
{
    struct crew *crew = data;
    double *time = malloc(sizeof(*time));
    if (!time)
        exit(1);

    meet(crew);
    *time = figure_now();
    work(crew);
    *time = figure_now() - *time;
    return time;
}

static void *other(void *data)
{
    meet(data);
    return work(data);
}

// Whole run [ms].
static double run_c(struct crew *crew, int threads)
{
    pthread_t ids[MAX_THREADS];
    void *result;

    crew->threads = threads;
    for (int i = 0; i < PLANET_MAX_PASSES; i++)
        atomic_store(&crew->next[i], 0);
    for (int i = 0; i < threads; i++)
        check(hdi_thread_start(crew->topology, (unsigned)i, "plain C",
                               i == 0 ? first : other, crew, &ids[i]),
              "thread");
    for (int i = 1; i < threads; i++)
        pthread_join(ids[i], NULL);
    pthread_join(ids[0], &result);
    double time = *(double *)result;
    free(result);
    return time;
}

// Figures ---------------------------------------------------------------------

static void print(const char *name, const char *metric, double value,
                  const char *unit, const char *peer)
{
    figure_print(&(struct figure){.bench = "demo",
                                  .name = name,
                                  .metric = metric,
                                  .value = value,
                                  .unit = unit,
                                  .peer = peer});
}

// Passes of one name together, on one worker, against the C function.
static void print_passes(const struct ours *one, const struct crew *crew)
{
    int count = crew->planet.pass_count;

    for (int i = 0; i < count; i++) {
        const char *name = crew->planet.passes[i].name;
        double ours = 0, c = 0;
        bool seen = false;
        for (int j = 0; j < i; j++)
            seen |= strcmp(crew->planet.passes[j].name, name) == 0;
        for (int j = i; j < count && !seen; j++) {
            struct hd_pass_info info;
            if (strcmp(crew->planet.passes[j].name, name) != 0)
                continue;
            hd_graph_pass_info(one->graph, (unsigned)j, &info);
            ours += (double)(info.end - info.begin) / 1e6;
            c += crew->times[j];
        }
        if (!seen) {
            char line[64];
            snprintf(line, sizeof(line), "pass %s, 1 worker", name);
            print(line, "time over C", ours / c, "ratio", "c");
        }
    }
}

static void print_surroundings(const struct maps *maps, const struct ours *all,
                               const char *folder, double cold, double cached)
{
    struct hd_graph_result result;
    char path[320];

    print("build kernels, empty cache", "time", cold, "ms", NULL);
    print("build kernels, filled cache", "time", cached, "ms", NULL);
    if (maps->decode > 0)
        print("decode two JPEG maps", "time", maps->decode, "ms", NULL);
    hd_graph_result(all->graph, 0, &result);
    snprintf(path, sizeof(path), "%s/planet.png", folder);
    double begin = figure_now();
    check(image_write(path, &result.shape, result.buffer, &error), "encode");
    print("encode PNG", "time", figure_now() - begin, "ms", NULL);
    unlink(path);
}

static void remove_cache(const char *folder)
{
    char command[512];
    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    if (system(command) != 0)
        fprintf(stderr, "bench demo: %s is left over\n", folder);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 && strcmp(argv[1], "--quick") == 0 ? 5 : ROUNDS;
    struct crew crew = {.threads = 1};
    struct planet_settings settings = planet_defaults();
    double total = figure_now();
    struct maps maps = get_maps();
    const char *folder = make_folder();

    check(hdi_topology_create(NULL, &crew.topology, &error), "topology");
    int cores = (int)hdi_topology_machine(crew.topology)->cores;
    if (cores > MAX_THREADS)
        cores = MAX_THREADS;
    if (!planet_create(&crew.planet, &settings, &maps.day, &maps.night))
        return 1;

    struct ours all = start((unsigned)cores, folder, &maps);
    run_ours(&all);
    total = figure_now() - total;
    struct ours one = start(1, folder, &maps);
    fprintf(stderr, "bench demo: %s maps, %d cores, %d rounds\n", maps.origin,
            cores, rounds);

    double ours_all[ROUNDS], ours_one[ROUNDS], c_all[ROUNDS], c_one[ROUNDS];
    run_ours(&one);
    run_c(&crew, 1);
    for (int i = 0; i < rounds; i++) {
        ours_all[i] = run_ours(&all);
        c_all[i] = run_c(&crew, cores);
        ours_one[i] = run_ours(&one);
        c_one[i] = run_c(&crew, 1);
    }
    double a = figure_median(ours_all, rounds);
    double b = figure_median(c_all, rounds);
    double a1 = figure_median(ours_one, rounds);
    double b1 = figure_median(c_one, rounds);
    struct figure ratio = {.bench = "demo",
                           .name = "graph execution, all cores",
                           .metric = "time over C",
                           .value = a / b,
                           .unit = "ratio",
                           .peer = "c",
                           .op = "<=",
                           .bar = 0.7};
    struct figure speedup = {.bench = "demo",
                             .name = "1 to 2 workers",
                             .metric = "speed-up",
                             .value = a1 / a,
                             .unit = "ratio",
                             .peer = "1 worker",
                             .op = ">=",
                             .bar = 1.7};
    figure_print(&ratio);
    if (cores == 2)
        figure_print(&speedup);
    else
        figure_skip(&speedup, "this machine does not have 2 cores");
    print("graph execution, all cores", "time", a, "ms", NULL);
    print("plain C, all cores", "time", b, "ms", NULL);
    print("graph execution, 1 worker", "time over C", a1 / b1, "ratio", "c");
    print("plain C, 1 to all threads", "speed-up", b1 / b, "ratio", "1 thread");
    print_passes(&one, &crew);
    print_surroundings(&maps, &all, folder, all.build, one.build);
    print("decode to first result, empty cache", "time", total, "ms", NULL);

    stop(&one);
    stop(&all);
    planet_destroy(&crew.planet);
    hdi_topology_destroy(crew.topology);
    free((void *)(uintptr_t)maps.day.pixels);
    free((void *)(uintptr_t)maps.night.pixels);
    remove_cache(folder);
    return 0;
}
