// The planet, computed by Heddle and by plain C, must be the same picture.
//
// Colours may differ by one step of 255, and only in one value of a hundred:
// the two compute in another order and with other functions, whose errors are
// of a few units in the last place; that is far below one step, but a colour
// that lies between two steps may be rounded either way.
#include "tests/golden/planet.h"

#include <math.h>

#include "heddle/heddle.h"
#include "tests/check.h"

enum {
    MAP_WIDTH = 256,
    MAP_HEIGHT = 128
};

static struct hd_error error;

// A map of soft blobs; `phase` makes another one.
static struct planet_map make_map(double phase)
{
    static const double pi = 3.14159265358979;
    uint8_t(*pixels)[4] = malloc(sizeof(*pixels) * MAP_WIDTH * MAP_HEIGHT);
    CHECK(pixels);

    for (int y = 0; y < MAP_HEIGHT; y++)
        for (int x = 0; x < MAP_WIDTH; x++)
            for (int c = 0; c < 4; c++) {
                double u = 2 * pi * x / MAP_WIDTH, v = pi * y / MAP_HEIGHT;
                double wave = sin(3 * u + c + phase) * sin(4 * v + phase) +
                              0.5 * cos(11 * u + 2 * c) * sin(9 * v);
                pixels[y * MAP_WIDTH + x][c] = (uint8_t)(127.5 + 80 * wave);
            }
    return (struct planet_map){MAP_WIDTH, MAP_HEIGHT,
                               (const uint8_t(*)[4])pixels};
}

struct scene {
    struct planet_settings settings;
    const struct planet_map *day, *night;
};

static void run_reference(const struct scene *scene, struct planet *planet)
{
    CHECK(planet_create(planet, &scene->settings, scene->day, scene->night));
    for (int i = 0; i < planet->pass_count; i++) {
        const struct planet_pass *pass = &planet->passes[i];
        pass->run(planet, pass, 0, pass->rows);
    }
}

static struct hd_graph_source source_of(struct hd_runtime *runtime,
                                        const char *name,
                                        const struct planet_map *map)
{
    struct hd_graph_source source = {
        .name = name,
        .shape = {.type = "uchar4",
                  .axes = 2,
                  .extent = {MAP_WIDTH, MAP_HEIGHT, 1}},
    };
    uint64_t size = sizeof(*map->pixels) * MAP_WIDTH * MAP_HEIGHT;

    CHECK_OK(hd_buffer_create(runtime, size, &source.buffer, &error), error);
    CHECK_OK(hd_buffer_write(source.buffer, 0, map->pixels, size, &error),
             error);
    return source;
}

static struct hd_graph *generate(struct hd_runtime *runtime,
                                 const struct scene *scene,
                                 const struct hd_graph_source *inputs)
{
    const struct planet_settings *s = &scene->settings;
    char size[16], levels[16], sun[16];
    struct hd_setting settings[] = {{"size", size},
                                    {"levels", levels},
                                    {"sun_east", sun},
                                    {"stars", s->stars ? "true" : "false"}};
    struct hd_graph_program program = {
        .path = PLANET_PROGRAM,
        .settings = settings,
        .setting_count = 4,
        .inputs = inputs,
        .input_count = scene->night ? 2 : 1,
    };
    struct hd_graph *graph;

    snprintf(size, sizeof(size), "%d", s->size);
    snprintf(levels, sizeof(levels), "%d", s->levels);
    snprintf(sun, sizeof(sun), "%g", s->sun_east);
    hd_status status = hd_graph_generate(runtime, &program, &graph, &error);
    SKIP_UNBUILT(status, error);
    CHECK_OK(status, error);
    status = hd_graph_prepare(graph, &error);
    SKIP_UNBUILT(status, error);
    CHECK_OK(status, error);
    return graph;
}

static void compare(const struct planet *planet, const uint8_t (*seen)[4])
{
    int pixels = planet->settings.size * planet->settings.size;
    int different = 0, lit = 0;

    for (int i = 0; i < pixels; i++) {
        for (int c = 0; c < 4; c++) {
            int step = abs(seen[i][c] - planet->image[i][c]);
            if (step > 1)
                printf("pixel %d, %d, channel %d: %d, not %d\n",
                       i % planet->settings.size, i / planet->settings.size, c,
                       seen[i][c], planet->image[i][c]);
            CHECK(step <= 1);
            different += step;
        }
        lit += planet->image[i][0] > 40;
    }
    CHECK(different <= 4 * pixels / 100);
    CHECK(lit > pixels / 10); // the picture is not black
}

static void picture_is_the_same(struct hd_runtime *runtime,
                                const struct scene *scene)
{
    struct planet planet;
    struct hd_graph_source inputs[2];
    unsigned input_count = scene->night ? 2 : 1;

    inputs[0] = source_of(runtime, "map", scene->day);
    if (scene->night)
        inputs[1] = source_of(runtime, "night", scene->night);
    struct hd_graph *graph = generate(runtime, scene, inputs);
    run_reference(scene, &planet);

    // The same passes in the same order.
    CHECK((int)hd_graph_pass_count(graph) == planet.pass_count);
    for (int i = 0; i < planet.pass_count; i++) {
        struct hd_pass_info info;
        CHECK(hd_graph_pass_info(graph, (unsigned)i, &info));
        CHECK(strcmp(info.name, planet.passes[i].name) == 0);
    }

    // Twice: a graph that has run can run again.
    for (int round = 0; round < 2; round++) {
        struct hd_graph_result result;
        CHECK_OK(hd_graph_run(graph, NULL, &error), error);
        CHECK(hd_graph_result(graph, 0, &result));
        CHECK(strcmp(result.name, "image") == 0);
        CHECK(strcmp(result.shape.type, "uchar4") == 0);
        compare(&planet, hd_buffer_host(result.buffer));
    }
    hd_graph_destroy(graph);
    for (unsigned i = 0; i < input_count; i++)
        hd_buffer_destroy(inputs[i].buffer);
    planet_destroy(&planet);
}

int main(void)
{
    struct planet_map day = make_map(0), night = make_map(2);
    static const struct hd_runtime_params machines[] = {
        {.workers = 0}, {.workers = 1}, {.caller_only = true}};
    struct planet_settings large = planet_defaults();
    struct planet_settings small = planet_defaults();
    struct planet_settings bare = planet_defaults();
    struct planet_settings odd = planet_defaults();

    large.size = 320;
    small.size = 100;
    small.levels = 3;
    bare.size = 64;
    bare.levels = 0;
    bare.stars = false;
    odd.size = 131;
    odd.levels = 1;
    odd.sun_east = 30;
    const struct scene scenes[] = {{large, &day, &night},
                                   {small, &day, NULL},
                                   {bare, &day, NULL},
                                   {odd, &day, &night}};

    for (int m = 0; m < 3; m++) {
        struct hd_runtime *runtime;
        CHECK_OK(hd_runtime_create(&machines[m], &runtime, &error), error);
        for (int s = 0; s < 4; s++)
            picture_is_the_same(runtime, &scenes[s]);
        hd_runtime_destroy(runtime);
    }
    free((void *)(uintptr_t)day.pixels);
    free((void *)(uintptr_t)night.pixels);
    return 0;
}
