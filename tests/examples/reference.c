// The examples once more, in plain C and by other means where there are any,
// and the pictures that the tests need.
//
//     reference edges FROM TO LOW HIGH      TO is what edges.lua makes of FROM
//     reference photo FROM TO LEVELS NOISE DETAIL NOISY      the same,
//     photo.lua reference closer CLEAN NOISY BETTER   BETTER is much closer to
//     CLEAN reference spiral FILE                 draw a weak edge that goes on
//     and on reference scene CLEAN NOISY           draw a scene, and with noise
//
// Exit code 0: so it is; 1: it is not; 2: trouble; 77: this build has no
// images.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heddle/runtime.h"
#include "image.h"

static struct hd_error error;

static void give_up(void)
{
    fprintf(stderr, "reference: %s\n", error.text);
    exit(error.status == HD_ENOTSUP ? 77 : 2);
}

static struct image load(const char *path)
{
    struct image image;

    if (image_read(path, &image, &error) != HD_OK)
        give_up();
    return image;
}

static void *get(size_t size)
{
    void *memory = calloc(size, 1);
    if (!memory)
        exit(2);
    return memory;
}

static void store(const char *path, const unsigned char *pixels, uint32_t width,
                  uint32_t height)
{
    const struct hd_shape shape = {
        .type = "uchar4", .axes = 2, .extent = {width, height, 1}};
    const struct hd_runtime_params params = {.caller_only = true};
    const uint64_t size = (uint64_t)width * height * 4;
    struct hd_runtime *runtime;
    struct hd_buffer *buffer = NULL;

    if (hd_runtime_create(&params, &runtime, &error) != HD_OK ||
        hd_buffer_create(runtime, size, &buffer, &error) != HD_OK ||
        hd_buffer_write(buffer, 0, pixels, size, &error) != HD_OK ||
        image_write(path, &shape, buffer, &error) != HD_OK)
        give_up();
    hd_buffer_destroy(buffer);
    hd_runtime_destroy(runtime);
}

static int clamp(int value, int most)
{
    return value < 0 ? 0 : value > most ? most : value;
}

// Edges -----------------------------------------------------------------------

struct plane {
    int w, h;
    int *at;
};

static int pixel(const struct plane *p, int x, int y)
{
    return p->at[clamp(y, p->h - 1) * p->w + clamp(x, p->w - 1)];
}

// A sum over the square around a pixel, by a matrix of 5 times 5.
static int weigh(const struct plane *p, int x, int y, const int matrix[5][5])
{
    int sum = 0;

    for (int dy = 0; dy < 5; dy++)
        for (int dx = 0; dx < 5; dx++)
            sum += matrix[dy][dx] * pixel(p, x + dx - 2, y + dy - 2);
    return sum;
}

static void find_slopes(const struct image *from, struct plane *steep,
                        struct plane *way)
{
    static const int row[5][5] = {[2] = {1, 4, 6, 4, 1}};
    static const int column[5][5] = {
        {0, 0, 1}, {0, 0, 4}, {0, 0, 6}, {0, 0, 4}, {0, 0, 1}};
    static const int right[5][5] = {
        [1] = {0, -1, 0, 1}, [2] = {0, -2, 0, 2}, [3] = {0, -1, 0, 1}};
    static const int down[5][5] = {[1] = {0, -1, -2, -1}, [3] = {0, 1, 2, 1}};
    int w = steep->w, h = steep->h;
    struct plane a = {w, h, get((size_t)w * h * sizeof(int))};
    struct plane b = {w, h, get((size_t)w * h * sizeof(int))};

    for (int i = 0; i < w * h; i++) {
        const unsigned char *c = from->pixels + (size_t)i * 4;
        a.at[i] = (77 * c[0] + 150 * c[1] + 29 * c[2]) / 256;
    }
    for (int i = 0; i < w * h; i++)
        b.at[i] = (weigh(&a, i % w, i / w, row) + 8) / 16;
    for (int i = 0; i < w * h; i++)
        a.at[i] = (weigh(&b, i % w, i / w, column) + 8) / 16;
    for (int i = 0; i < w * h; i++) {
        int gx = weigh(&a, i % w, i / w, right);
        int gy = weigh(&a, i % w, i / w, down);
        double slope = gx ? fabs((double)gy / gx) : 1e9;
        steep->at[i] = abs(gx) + abs(gy);
        // 0.4 and 2.5 stand for the tangents of 22.5 and 67.5 degrees.
        way->at[i] = gy == 0 && gx == 0     ? 1
                     : slope < 0.4          ? 0
                     : slope > 2.5          ? 2
                     : (gx > 0) == (gy > 0) ? 1
                                            : 3;
    }
    free(a.at);
    free(b.at);
}

// Follow edges from each strong pixel, with a stack.
static void follow(const struct plane *weak, struct plane *edges, int *stack,
                   int depth)
{
    while (depth > 0) {
        int i = stack[--depth];
        for (int n = 0; n < 9; n++) {
            int x = i % edges->w + n % 3 - 1, y = i / edges->w + n / 3 - 1;
            int there = y * edges->w + x;
            if (x < 0 || y < 0 || x >= edges->w || y >= edges->h ||
                edges->at[there] || !weak->at[there])
                continue;
            edges->at[there] = 1;
            stack[depth++] = there;
        }
    }
}

static void find_edges(const struct image *from, int low, int high,
                       struct plane *edges)
{
    static const int dx[] = {1, 1, 0, -1}, dy[] = {0, 1, 1, 1};
    int w = edges->w, h = edges->h, depth = 0;
    size_t size = (size_t)w * h * sizeof(int);
    struct plane steep = {w, h, get(size)}, way = {w, h, get(size)};
    struct plane weak = {w, h, get(size)};
    int *stack = get(size);

    find_slopes(from, &steep, &way);
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            int i = y * w + x, d = way.at[i], side[2];
            for (int k = 0; k < 2; k++) {
                int sx = x + (k ? -dx[d] : dx[d]);
                int sy = y + (k ? -dy[d] : dy[d]);
                bool in = sx >= 0 && sy >= 0 && sx < w && sy < h;
                side[k] = in ? steep.at[sy * w + sx] : 0;
            }
            weak.at[i] = steep.at[i] >= side[0] && steep.at[i] > side[1] &&
                         steep.at[i] >= low;
            if (weak.at[i] && steep.at[i] >= high) {
                edges->at[i] = 1;
                stack[depth++] = i;
            }
        }
    follow(&weak, edges, stack, depth);
    free(steep.at);
    free(way.at);
    free(weak.at);
    free(stack);
}

static int check_edges(char **words)
{
    struct image from = load(words[0]), to = load(words[1]);
    struct plane edges = {(int)from.width, (int)from.height, NULL};
    int wrong = 0, found = 0;

    if (to.width != from.width || to.height != from.height)
        return 1;
    edges.at = get((size_t)edges.w * edges.h * sizeof(int));
    find_edges(&from, atoi(words[2]), atoi(words[3]), &edges);
    for (int i = 0; i < edges.w * edges.h; i++) {
        int seen = to.pixels[(size_t)i * 4], expected = edges.at[i] ? 255 : 0;
        found += edges.at[i];
        if (seen != expected && wrong++ < 5)
            printf("pixel %d, %d: %d, not %d\n", i % edges.w, i / edges.w, seen,
                   expected);
    }
    printf("%d pixels on edges, %d wrong\n", found, wrong);
    free(edges.at);
    free(from.pixels);
    free(to.pixels);
    return wrong > 0 || found == 0;
}

// Photo -----------------------------------------------------------------------

struct colour {
    double at[4];
};

static void smooth(const struct colour *from, struct colour *to, int w, int h,
                   int apart, double edge)
{
    static const double weights[] = {1, 4, 6, 4, 1};

    for (int i = 0; i < w * h; i++) {
        struct colour sum = {{0}};
        double all = 0;
        for (int n = 0; n < 25; n++) {
            int x = clamp(i % w + (n % 5 - 2) * apart, w - 1);
            int y = clamp(i / w + (n / 5 - 2) * apart, h - 1);
            const struct colour *there = &from[y * w + x];
            double far = 0;
            for (int c = 0; c < 3; c++)
                far += pow((there->at[c] - from[i].at[c]) / edge, 2);
            double weight = weights[n % 5] * weights[n / 5] / pow(1 + far, 2);
            for (int c = 0; c < 4; c++)
                sum.at[c] += weight * there->at[c];
            all += weight;
        }
        for (int c = 0; c < 4; c++)
            to[i].at[c] = sum.at[c] / all;
    }
}

static void improve(const struct image *from, int levels, double noise,
                    double detail, int noisy, unsigned char *to)
{
    int w = (int)from->width, h = (int)from->height;
    struct colour *fine = get((size_t)w * h * sizeof(*fine));
    struct colour *coarse = get((size_t)w * h * sizeof(*coarse));
    struct colour *sum = get((size_t)w * h * sizeof(*sum));

    for (int i = 0; i < w * h; i++) {
        const unsigned char *c = from->pixels + (size_t)i * 4;
        double r = c[0] / 255.0, g = c[1] / 255.0, b = c[2] / 255.0;
        fine[i] = (struct colour){
            {0.299 * r + 0.587 * g + 0.114 * b, r - g, b - g, c[3] / 255.0}};
    }
    for (int level = 1; level <= levels; level++) {
        int apart = 1 << (level - 1);
        double least = level <= noisy ? noise / apart : 0;
        smooth(fine, coarse, w, h, apart, 3 * noise / apart + 0.02);
        for (int i = 0; i < w * h; i++)
            for (int c = 0; c < 4; c++) {
                double step = fine[i].at[c] - coarse[i].at[c];
                double more = fmax(fabs(step) - least, 0);
                sum[i].at[c] +=
                    (level <= noisy ? 1 : detail) * copysign(more, step);
            }
        struct colour *swapped = fine;
        fine = coarse;
        coarse = swapped;
    }
    for (int i = 0; i < w * h; i++) {
        double c[4], out[4];
        for (int k = 0; k < 4; k++)
            c[k] = fine[i].at[k] + sum[i].at[k];
        out[1] = c[0] - 0.299 * c[1] - 0.114 * c[2];
        out[0] = out[1] + c[1];
        out[2] = out[1] + c[2];
        out[3] = c[3];
        for (int k = 0; k < 4; k++)
            to[(size_t)i * 4 + (size_t)k] =
                (unsigned char)clamp((int)lrint(255 * out[k]), 255);
    }
    free(fine);
    free(coarse);
    free(sum);
}

// As in the test of the planet: by one step at most, and seldom.
static int check_photo(char **words)
{
    struct image from = load(words[0]), to = load(words[1]);
    size_t size = (size_t)from.width * from.height * 4;
    unsigned char *expected = get(size);
    size_t different = 0, changed = 0;
    int most = 0;

    if (to.width != from.width || to.height != from.height)
        return 1;
    improve(&from, atoi(words[2]), atof(words[3]), atof(words[4]),
            atoi(words[5]), expected);
    for (size_t i = 0; i < size; i++) {
        int step = abs(expected[i] - to.pixels[i]);
        most = step > most ? step : most;
        different += step > 0;
        changed += expected[i] != from.pixels[i];
    }
    printf("%zu of %zu values differ, by %d at most; %zu changed\n", different,
           size, most, changed);
    free(expected);
    free(from.pixels);
    free(to.pixels);
    return most > 1 || different > size / 100 || changed == 0;
}

static double difference(const struct image *a, const struct image *b)
{
    double sum = 0;

    for (size_t i = 0; i < (size_t)a->width * a->height * 4; i++)
        sum += pow((double)a->pixels[i] - b->pixels[i], 2);
    return sum;
}

static int check_closer(char **words)
{
    struct image clean = load(words[0]), noisy = load(words[1]);
    struct image better = load(words[2]);
    double gain =
        10 * log10(difference(&clean, &noisy) / difference(&clean, &better));

    printf("%.1f dB closer\n", gain);
    free(clean.pixels);
    free(noisy.pixels);
    free(better.pixels);
    return gain < 3;
}

// Pictures --------------------------------------------------------------------

static int draw_spiral(char **words)
{
    enum {
        SIDE = 96
    };
    static unsigned char pixels[SIDE][SIDE][4];

    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
            double dx = x - SIDE / 2, dy = y - SIDE / 2, r = hypot(dx, dy);
            double turn = atan2(dy, dx) / 6.283185307179586;
            bool arm = fmod(r / 8 - turn + 1, 1) < 0.5 && r < SIDE / 2 - 4;
            bool start = arm && r < 20;
            memset(pixels[y][x], start ? 255 : arm ? 120 : 100, 3);
            pixels[y][x][3] = 255;
        }
    store(words[0], pixels[0][0], SIDE, SIDE);
    return 0;
}

static int draw_scene(char **words)
{
    enum {
        WIDTH = 160,
        HEIGHT = 120
    };
    static unsigned char clean[HEIGHT][WIDTH][4], noisy[HEIGHT][WIDTH][4];
    uint32_t state = 1;

    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            bool disc = hypot(x - 50, y - 60) < 30;
            bool box = x > 100 && x < 140 && y > 20 && y < 90;
            const int colour[3] = {disc ? 200 : 60 + x / 4, box ? 180 : 90,
                                   disc ? 60 : 100 + y / 3};
            for (int c = 0; c < 3; c++) {
                int noise = 0;
                for (int n = 0; n < 4; n++) {
                    state = state * 1664525 + 1013904223;
                    noise += (int)(state >> 24) - 128;
                }
                clean[y][x][c] = (unsigned char)colour[c];
                noisy[y][x][c] =
                    (unsigned char)clamp(colour[c] + noise / 16, 255);
            }
            clean[y][x][3] = noisy[y][x][3] = 255;
        }
    store(words[0], clean[0][0], WIDTH, HEIGHT);
    store(words[1], noisy[0][0], WIDTH, HEIGHT);
    return 0;
}

int main(int count, char **words)
{
    static const struct {
        const char *name;
        int words;
        int (*run)(char **words);
    } tasks[] = {{"edges", 4, check_edges},
                 {"photo", 6, check_photo},
                 {"closer", 3, check_closer},
                 {"spiral", 1, draw_spiral},
                 {"scene", 2, draw_scene}};

    for (size_t i = 0; i < sizeof(tasks) / sizeof(*tasks); i++)
        if (count == tasks[i].words + 2 && strcmp(words[1], tasks[i].name) == 0)
            return tasks[i].run(words + 2);
    fprintf(stderr, "reference: see the beginning of its source\n");
    return 2;
}
