// Kernels that ask whether a border is near do what they say, near it and away
// from it, wherever the border is.
#include <limits.h>

#include "kernel/image.h"
#include "tests/kernel/try.h"

enum {
    W = 76, // of what is written
    H = 11,
};

#define MIN(a, b)      ((a) < (b) ? (a) : (b))
#define MAX(a, b)      ((a) > (b) ? (a) : (b))
#define CLAMP(v, a, b) MIN(MAX(v, a), b)

// What is done with ids x and y and arguments w, h and r, in C as in OpenCL C;
// ux and uw are x and w without a sign.
// clang-format off
#define EACH(X) \
    X(0, v = CLAMP(x - 1, 0, w - 1);) \
    X(1, v = CLAMP(x + 2, 3, 20) + CLAMP(y - 1, 0, h - 1);) \
    X(2, v = MIN(x + 1, w - 1);) \
    X(3, v = MAX(x - r, 0);) \
    X(4, v = MAX(w - x, 0);) \
    X(5, v = MIN(x, y + w % 100);) \
    X(6, v = MIN(MAX(x - 2, 1) + 1, w) + MIN(MAX(y, 2), h - 3);) \
    X(7, v = x > 0 ? x : -1;) \
    X(8, v = x >= r ? 1 : 2;) \
    X(9, v = w > x ? x : -x;) \
    X(10, v = x < w - 1 ? x : w;) \
    X(11, v = (x <= w) + (x > w) * 2 + (x == w) * 4 + (x != w) * 8;) \
    X(12, v = (x == 0) + (x != 0) * 2 + (y == h - 1) * 4;) \
    X(13, v = (x == 100) + (x < 100) * 2 + (x > 3) * 4;) \
    X(14, v = (x >= 60) + (x <= 60) * 2 + (x < 63) * 4 + (x <= 64) * 8;) \
    X(15, v = x + r >= 0 && x + r < w && y - 1 >= 0 && y < h ? x : y;) \
    X(16, v = (ux - 1 < uw) + (ux - 2 <= uw) * 2;) \
    X(17, v = ux + 0x80000000u < uw;) \
    X(18, v = (ux + 0xfffffff0u > uw) + (ux - 3u >= 9u) * 2;) \
    X(19, v = (int)(MIN(ux - 1u, uw) % 1000u);) \
    X(20, v = (int)(MAX(ux - 3u, 2u) % 1000u);) \
    X(21, v = (int)((ux + uw) % 1000u) + MAX((int)(ux + uw), 0) % 999;) \
    X(22, for (int k = -r; k <= r; k++) v += CLAMP(x + k, 0, w - 1) % 99;) \
    X(23, for (int k = 0; k <= r; k++) v += MAX(x + k - r, 0) + MIN(x - k, h);) \
    X(24, for (int k = -r; k <= r; k++) v += x + k >= 0 && x + k < w ? k : 7;) \
    X(25, for (int k = -2; k <= 2; k++) v += CLAMP(y + k, 0, h - 1) + CLAMP(x - k, 0, w - 1) % 99;) \
    X(26, for (int k = w - 3; k < w; k += 2) v += MIN(x + k % 8, 40);) \
    X(27, for (int k = MAX(x - r, 0); k <= MIN(x + r, w - 1); k++) v += k;) \
    X(28, for (int k = r; k <= -r; k++) v += MAX(x + k, 0);) \
    X(29, for (int j = 1; j < 3; j++) for (int k = j; k <= r; k += j) v += MIN(x + k, w) % 99;) \
    X(30, for (int k = 0; MIN(x + k, 20) < 20; k++) v += k;) \
    X(31, { int m = x >= 3 ? w : h; v = x < m ? x : MIN(x + 2, 40); }) \
    X(32, { int m = x > 2 ? r : h; v = MAX(x - m, 0) + (x + m < 40); }) \
    X(33, { int m = x < 50 ? r : h; for (int k = -m; k <= m; k++) v += CLAMP(x + k, 0, 60); }) \
    X(34, { int m = MIN(MAX(x, 4), 30) > 4 ? r : w; v = x + 1 < m ? 3 : 4; })
// clang-format on

#define TEXT(number, ...)                                          \
    "#define MIN(a, b) min(a, b)\n"                                \
    "#define MAX(a, b) max(a, b)\n"                                \
    "#define CLAMP(v, a, b) MIN(MAX(v, a), b)\n"                   \
    "kernel void k(global int *to, int w, int h, int r) {\n"       \
    "    int x = get_global_id(0), y = get_global_id(1), v = 0;\n" \
    "    uint ux = get_global_id(0), uw = w;\n"                    \
    "    " #__VA_ARGS__ "\n"                                       \
    "    to[y * 76 + x] = v;\n"                                    \
    "}\n",

static const char *const sources[] = {EACH(TEXT)};

static int expected(int statement, int x, int y, int w, int h, int r)
{
    unsigned ux = (unsigned)x, uw = (unsigned)w;
    int v = 0;

    switch (statement) {
#define CASE(number, ...) \
    case number:          \
        __VA_ARGS__ break;
        EACH(CASE)
    }
    return v;
}

static const struct try_range ranges[] = {
    {2, {W, H}, {8, 4}, {0}},
    {2, {64, 8}, {W, 1}, {3, 2}},
    {2, {1, 1}, {1, 1}, {2, 0}},
    {2, {33, 3}, {33, 3}, {1, 1}},
};

static void compare(int statement, const struct try_range *range,
                    const int to[W * H], int w, int h, int r)
{
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            bool in = x >= (int)range->offset[0] && y >= (int)range->offset[1];
            in = in && x < (int)(range->offset[0] + range->global[0]) &&
                 y < (int)(range->offset[1] + range->global[1]);
            int right = in ? expected(statement, x, y, w, h, r) : INT_MIN;
            if (to[y * W + x] == right)
                continue;
            fprintf(stderr,
                    "statement %d: w %d, h %d, r %d: (%d, %d): %d, not %d\n",
                    statement, w, h, r, x, y, to[y * W + x], right);
            exit(1);
        }
}

static void every_work_item_is_right(struct try *t)
{
    static const int widths[] = {-7, 0, 1, 2, 9, 30, 64, W, 1 << 30};
    static const int heights[] = {-3, 1, H};
    static int to[W * H], *pto = to;
    unsigned turn = 0;

    for (int s = 0; s < (int)(sizeof(sources) / sizeof(sources[0])); s++) {
        struct hd_program *p = try_build(t, sources[s], NULL);
        for (unsigned i = 0; i < sizeof(widths) / sizeof(widths[0]); i++)
            for (int r = -1; r < 80; r = r * 3 + 3) {
                const struct try_range *range = &ranges[turn++ % 4];
                int w = widths[i], h = heights[turn % 3];
                for (int at = 0; at < W * H; at++)
                    to[at] = INT_MIN;
                t->split[0] = turn % 5 == 0 ? 2 : 0;
                t->backwards = turn % 7 == 0;
                TRY_RUN(t, p, "k", (*range), TRY_VALUE(pto), TRY_VALUE(w),
                        TRY_VALUE(h), TRY_VALUE(r));
                compare(s, range, to, w, h, r);
            }
        hd_program_destroy(p);
    }
    t->split[0] = 0;
    t->backwards = false;
}

// Where nothing is asked of x, or a range is all that is asked for, there is no
// other code.
static void explained(struct try *t)
{
    static const struct {
        const char *text, *said;
    } kernels[] = {
        {"kernel void k(global float *a, int w) { int x = get_global_id(0);\n"
         "a[x + w] = a[clamp(x - 1, 0, w - 1)]; }\n",
         "2 clamps and comparisons left out away from them; near "
         "them: region 1\n"},
        {"kernel void k(global float *a, int w) { int x = get_global_id(0);\n"
         "float s = 0; for (int i = -w; i <= w; i++)\n"
         "s += a[max(x + i, 0)]; a[x] = s; }\n",
         "1 clamps and comparisons left out away from them; near "
         "them: region 1\n"},
        {"kernel void k(global float *a, int w) { int x = get_global_id(0);\n"
         "if (x > 0 && x < w) a[x] += 1; }\n",
         NULL},
        {"kernel void k(global float *a, int w) { int y = get_global_id(1);\n"
         "a[get_global_id(0)] = a[max(y, w)]; }\n",
         NULL},
    };

    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
        struct hd_program *p = try_build(t, kernels[i].text, NULL);
        const char *text = hd_kernel_info(hd_program_find(p, "k"))->explanation;
        const char *said = strstr(text, "loop versioning at borders: ");
        printf("%s\n", text);
        CHECK(kernels[i].said ? said && strstr(said, kernels[i].said) : !said);
        hd_program_destroy(p);
    }
}

static const char around[] =
    "constant sampler_t s = CLK_NORMALIZED_COORDS_FALSE |\n"
    "                       CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;\n"
    "kernel void k(read_only image2d_t i, global uint *to, int r) {\n"
    "    int x = get_global_id(0), y = get_global_id(1);\n"
    "    uint v = 0;\n"
    "#define READ(dx, dy) \\\n"
    "    v = 3 * v + read_imageui(i, s, (int2)(x + (dx), y + (dy))).x;\n"
    "#define ROW(dy) READ(-r, dy) READ(0, dy) READ(r, dy)\n"
    "    ROW(-1) ROW(0) ROW(1)\n"
    "    to[y * 76 + x] = v;\n"
    "}\n";

enum {
    TEXEL = 4, // the largest [bytes]
    IMAGE_W = 50,
    IMAGE_H = 7,
    PITCH = TEXEL * IMAGE_W
};

static uint32_t texel(const struct hdi_image *image, int x, int y)
{
    uint32_t red = 0;

    memcpy(&red,
           image->texels + CLAMP(y, 0, image->height - 1) * PITCH +
               CLAMP(x, 0, image->width - 1) * image->texel_size,
           (size_t)image->component_size);
    return red;
}

static void compare_texels(const struct hdi_image *image,
                           const uint32_t to[W * H], int r)
{
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            uint32_t v = 0;
            for (int dy = -1; dy <= 1; dy++)
                for (int dx = -r; dx <= r; dx += r)
                    v = 3 * v + texel(image, x + dx, y + dy);
            CHECK(to[y * W + x] == v);
        }
}

// The borders of an image follow from its description. What has code of its own
// does not ask how large components are.
static void images_have_borders(struct try *t)
{
    static const struct {
        enum hdi_image_layout layout;
        int texel, component; // [bytes]
    } formats[] = {{HDI_LAYOUT_8, 1, 1},
                   {HDI_LAYOUT_8888, 4, 1},
                   {HDI_LAYOUT_32, 4, 4},
                   {HDI_LAYOUT_ANY, 2, 2}};
    static unsigned char texels[PITCH * IMAGE_H];
    static uint32_t to[W * H], *pto = to;
    struct hd_program *p = try_build(t, around, NULL);

    CHECK(strstr(hd_kernel_info(hd_program_find(p, "k"))->explanation,
                 "12 clamps and comparisons left out"));
    for (size_t i = 0; i < sizeof(texels); i++)
        texels[i] = (unsigned char)(i * i % 251);
    for (size_t f = 0; f < sizeof(formats) / sizeof(formats[0]); f++)
        for (int width = 1; width <= IMAGE_W; width += 49)
            for (int r = 1; r < 40; r = r * 3 + 3) {
                struct hdi_image image = {
                    .texels = texels,
                    .row = PITCH,
                    .width = width,
                    .height = IMAGE_H,
                    .depth = 1,
                    .layers = 1,
                    .layout = formats[f].layout,
                    .number = HDI_NUMBER_UNSIGNED,
                    .texel_size = formats[f].texel,
                    .component_size = formats[f].component,
                    .components = 1,
                    .place = {0, HDI_CHANNEL_ZERO, HDI_CHANNEL_ZERO,
                              HDI_CHANNEL_ONE}};
                const struct hdi_image *shown = &image;
                TRY_RUN(t, p, "k", ranges[0], TRY_VALUE(shown), TRY_VALUE(pto),
                        TRY_VALUE(r));
                compare_texels(&image, to, r);
                if (image.layout == HDI_LAYOUT_ANY)
                    continue;
                image.component_size = 0;
                memset(to, 0, sizeof(to));
                TRY_RUN(t, p, "k", ranges[0], TRY_VALUE(shown), TRY_VALUE(pto),
                        TRY_VALUE(r));
                image.component_size = formats[f].component;
                compare_texels(&image, to, r);
            }
    hd_program_destroy(p);
}

int main(void)
{
    struct try t = try_open();

    every_work_item_is_right(&t);
    images_have_borders(&t);
    explained(&t);
    try_close(&t);
    return 0;
}
