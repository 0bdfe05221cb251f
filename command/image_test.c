// Pictures in and out. Every file is made here; PNG and JPEG files of unusual
// kinds by the libraries themselves.
#include "image.h"

#include <unistd.h>

#include "failure.h"
#include "heddle/runtime.h"
#include "tests/check.h"
#include "tests/folder.h"

#if !defined(COMMAND_PNG) || !defined(COMMAND_JPEG)
int main(void)
{
    SKIP("built without PNG or JPEG");
}
#else

#include <jpeglib.h>
#include <png.h>

static struct hd_error error;
static struct hd_runtime *runtime;

// A PNG file of any kind; `bytes` as libpng wants them, `stride` per row.
struct drawing {
    uint32_t width, height;
    int depth, color, interlace;
    const unsigned char *bytes;
    size_t stride;
    png_color palette[2];
    unsigned char palette_alpha[2];
};

static void draw(const char *path, const struct drawing *drawing)
{
    FILE *file = fopen(path, "wb");
    png_structp png =
        png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);

    CHECK(file && info);
    png_init_io(png, file);
    png_set_IHDR(png, info, drawing->width, drawing->height, drawing->depth,
                 drawing->color, drawing->interlace,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    if (drawing->color == PNG_COLOR_TYPE_PALETTE) {
        png_set_PLTE(png, info, drawing->palette, 2);
        png_set_tRNS(png, info, drawing->palette_alpha, 2, NULL);
    }
    png_write_info(png, info);
    int rounds = png_set_interlace_handling(png);
    for (int round = 0; round < rounds; round++)
        for (uint32_t y = 0; y < drawing->height; y++)
            png_write_row(png, drawing->bytes + y * drawing->stride);
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    CHECK(fclose(file) == 0);
}

// Draw, read, compare with the RGBA bytes it must become.
static void becomes(const struct drawing *drawing, const unsigned char *wanted)
{
    struct image image;

    draw("a.png", drawing);
    CHECK_OK(image_read("a.png", &image, &error), error);
    CHECK(image.width == drawing->width && image.height == drawing->height);
    CHECK(memcmp(image.pixels, wanted,
                 (size_t)image.width * image.height * 4) == 0);
    free(image.pixels);
}

static void every_kind_of_png_becomes_rgba(void)
{
    const unsigned char gray[] = {0, 7, 255};
    becomes(
        &(struct drawing){3, 1, 8, PNG_COLOR_TYPE_GRAY, 0, gray, 3, {{0}}, {0}},
        (const unsigned char[]){0, 0, 0, 255, 7, 7, 7, 255, 255, 255, 255,
                                255});
    const unsigned char gray_alpha[] = {9, 100};
    becomes(
        &(struct drawing){
            1, 1, 8, PNG_COLOR_TYPE_GRAY_ALPHA, 0, gray_alpha, 2, {{0}}, {0}},
        (const unsigned char[]){9, 9, 9, 100});
    const unsigned char rgb[] = {1, 2, 3, 4, 5, 6};
    becomes(
        &(struct drawing){1, 2, 8, PNG_COLOR_TYPE_RGB, 0, rgb, 3, {{0}}, {0}},
        (const unsigned char[]){1, 2, 3, 255, 4, 5, 6, 255});
    // 16 bits are scaled, not cut: 0x00ff is nearer to 1 than to 0.
    const unsigned char deep[] = {0, 0xff, 0xff, 0xff, 0x80, 0x80, 0, 0};
    becomes(
        &(struct drawing){
            1, 1, 16, PNG_COLOR_TYPE_RGB_ALPHA, 0, deep, 8, {{0}}, {0}},
        (const unsigned char[]){1, 255, 128, 0});
    const unsigned char bits[] = {0x40, 0x80};
    becomes(&(struct drawing){2,
                              2,
                              1,
                              PNG_COLOR_TYPE_PALETTE,
                              0,
                              bits,
                              1,
                              {{1, 2, 3}, {4, 5, 6}},
                              {255, 128}},
            (const unsigned char[]){1, 2, 3, 255, 4, 5, 6, 128, 4, 5, 6, 128, 1,
                                    2, 3, 255});
}

static void interlaced_is_the_same(void)
{
    unsigned char bytes[11 * 7 * 4];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(i * 37);
    becomes(&(struct drawing){11,
                              7,
                              8,
                              PNG_COLOR_TYPE_RGB_ALPHA,
                              PNG_INTERLACE_ADAM7,
                              bytes,
                              44,
                              {{0}},
                              {0}},
            bytes);
}

// Writing ---------------------------------------------------------------------

// Write `count` bytes as a picture of that shape and read it again.
static struct image round_trip(const char *path, const char *type,
                               uint64_t width, uint64_t height,
                               const void *bytes, size_t count)
{
    const struct hd_shape shape = {
        .type = type, .axes = 2, .extent = {width, height, 1}};
    struct hd_buffer *buffer;
    struct image image;

    CHECK_OK(hd_buffer_create(runtime, count, &buffer, &error), error);
    CHECK_OK(hd_buffer_write(buffer, 0, bytes, count, &error), error);
    CHECK_OK(image_write(path, &shape, buffer, &error), error);
    hd_buffer_destroy(buffer);
    CHECK_OK(image_read(path, &image, &error), error);
    CHECK(image.width == width && image.height == height);
    return image;
}

static void rgba_survives_at_every_size(void)
{
    static const uint64_t sizes[][2] = {
        {1, 1}, {1, 5}, {7, 1}, {33, 17}, {640, 3}};

    for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
        size_t count = sizes[s][0] * sizes[s][1] * 4;
        unsigned char *bytes = malloc(count);
        for (size_t i = 0; i < count; i++)
            bytes[i] = (unsigned char)(i * i + s);
        struct image image = round_trip("b.png", "uchar4", sizes[s][0],
                                        sizes[s][1], bytes, count);
        CHECK(memcmp(image.pixels, bytes, count) == 0);
        free(image.pixels);
        free(bytes);
    }
}

static void every_form_has_its_channels(void)
{
    static const struct {
        const char *type;
        unsigned char bytes[4];
        size_t count;
        unsigned char wanted[4];
    } cases[] = {
        {"uchar", {9}, 1, {9, 9, 9, 255}},
        {"uchar2", {9, 20}, 2, {9, 9, 9, 20}},
        {"uchar3", {1, 2, 3, 99}, 4, {1, 2, 3, 255}},
        {"uchar4", {1, 2, 3, 4}, 4, {1, 2, 3, 4}},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct image image = round_trip("b.png", cases[i].type, 1, 1,
                                        cases[i].bytes, cases[i].count);
        CHECK(memcmp(image.pixels, cases[i].wanted, 4) == 0);
        free(image.pixels);
    }
}

static void floats_are_clamped_and_rounded(void)
{
    const float zero = 0.0f;
    const float values[] = {-1.0f, 0.5f, 7.0f, zero / zero};
    const unsigned char wanted[] = {0, 128, 255, 0};
    struct image image =
        round_trip("b.png", "float4", 1, 1, values, sizeof(values));

    CHECK(memcmp(image.pixels, wanted, 4) == 0);
    free(image.pixels);

    image = round_trip("b.png", "float", 4, 1, values, sizeof(values));
    for (int i = 0; i < 4; i++)
        CHECK(image.pixels[i * 4] == wanted[i] &&
              image.pixels[i * 4 + 3] == 255);
    free(image.pixels);
}

static void jpeg_comes_close(void)
{
    enum {
        EDGE = 31
    };
    unsigned char bytes[EDGE * EDGE * 4];
    for (int y = 0; y < EDGE; y++)
        for (int x = 0; x < EDGE; x++) {
            unsigned char *pixel = bytes + (y * EDGE + x) * 4;
            pixel[0] = pixel[1] = pixel[2] = (unsigned char)(4 * (x + y));
            pixel[3] = 77;
        }
    struct image image =
        round_trip("b.JPG", "uchar4", EDGE, EDGE, bytes, sizeof(bytes));
    for (int i = 0; i < EDGE * EDGE; i++) {
        CHECK(abs(image.pixels[i * 4] - bytes[i * 4]) < 12);
        CHECK(image.pixels[i * 4 + 3] == 255); // JPEG has no alpha
    }
    free(image.pixels);

    const unsigned char gray[] = {200, 0, 200, 0};
    image = round_trip("b.jpeg", "uchar2", 2, 1, gray, sizeof(gray));
    CHECK(abs(image.pixels[0] - 200) < 12 && abs(image.pixels[6] - 200) < 12);
    free(image.pixels);
}

// The picture whose JPEG form spreads RGB over RGBA in place: every width.
static void rows_of_any_width_keep_their_pixels(void)
{
    for (uint64_t width = 1; width < 40; width++) {
        unsigned char bytes[40 * 4];
        for (uint64_t x = 0; x < width; x++)
            memcpy(bytes + 4 * x, (const unsigned char[]){250, 130, 10, 255},
                   4);
        struct image image =
            round_trip("b.jpg", "uchar4", width, 1, bytes, width * 4);
        for (uint64_t x = 0; x < width; x++)
            for (int c = 0; c < 4; c++)
                CHECK(abs(image.pixels[x * 4 + (unsigned)c] -
                          bytes[x * 4 + (unsigned)c]) < 8);
        free(image.pixels);
    }
}

static void what_is_no_picture_is_refused(void)
{
    const struct hd_shape ints = {
        .type = "int4", .axes = 2, .extent = {4, 4, 1}};
    const struct hd_shape deep = {
        .type = "uchar4", .axes = 3, .extent = {4, 4, 4}};
    const struct hd_shape wide = {
        .type = "uchar4", .axes = 1, .extent = {70000, 1, 1}};

    CHECK_FAILS(image_check("out", &ints, "a.png", &error), HD_EINVAL, error,
                "output 'out' has elements of type int4");
    CHECK_FAILS(image_check("out", &deep, "a.png", &error), HD_EINVAL, error,
                "three axes");
    CHECK_FAILS(image_check("out", &wide, "a.jpg", &error), HD_ELIMIT, error,
                "70000 x 1");
    CHECK_OK(image_check("out", &wide, "a.png", &error), error);
}

// Damage ----------------------------------------------------------------------

static long file_size(const char *path)
{
    FILE *file = fopen(path, "rb");

    CHECK(file && fseek(file, 0, SEEK_END) == 0);
    long size = ftell(file);
    fclose(file);
    return size;
}

// Copy the first `size` bytes, with the byte at `changed` turned round.
static void copy_part(const char *from, const char *to, long size, long changed)
{
    FILE *in = fopen(from, "rb");
    FILE *out = fopen(to, "wb");

    CHECK(in && out);
    for (long i = 0; i < size; i++)
        putc(getc(in) ^ (i == changed ? 0xff : 0), out);
    fclose(in);
    CHECK(fclose(out) == 0);
}

// Cut at any length a file is an error with its name; turned bytes are an error
// or, where nothing guards them, another picture. Nothing crashes.
static void damage_is_noticed(const char *path)
{
    struct image image;
    long size = file_size(path);
    long step = size / 150 + 1;

    for (long cut = 0; cut < size; cut += cut < 150 ? 1 : step) {
        copy_part(path, "cut", cut, -1);
        CHECK(image_read("cut", &image, &error) != HD_OK);
        CHECK(strncmp(error.text, "cut", 3) == 0);
    }
    for (long turned = 0; turned < size; turned += turned < 150 ? 1 : step) {
        copy_part(path, "cut", size, turned);
        if (image_read("cut", &image, &error) == HD_OK)
            free(image.pixels);
    }
}

static void damaged_files_are_errors(void)
{
    unsigned char bytes[64 * 48 * 4];

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(i * i >> 5);
    struct image image =
        round_trip("b.png", "uchar4", 64, 48, bytes, sizeof(bytes));
    free(image.pixels);
    image = round_trip("b.jpg", "uchar4", 64, 48, bytes, sizeof(bytes));
    free(image.pixels);
    damage_is_noticed("b.png");
    damage_is_noticed("b.jpg");
}

static void put_bytes(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");

    CHECK(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
}

static void files_of_other_kinds_are_named(void)
{
    struct image image;

    put_bytes("c.png", "just text\n", 10);
    CHECK_FAILS(image_read("c.png", &image, &error), HD_EFORMAT, error,
                "c.png is neither a PNG nor a JPEG image");
    put_bytes("c.png", "", 0);
    CHECK_FAILS(image_read("c.png", &image, &error), HD_EFORMAT, error,
                "c.png is empty");
    CHECK_FAILS(image_read("missing.png", &image, &error), HD_ENOENT, error,
                "cannot open missing.png: No such file or directory");
    CHECK_FAILS(image_read(".", &image, &error), HD_EIO, error,
                "cannot read .: Is a directory");
}

static void names_do_not_matter_for_reading(void)
{
    const unsigned char bytes[] = {1, 2, 3, 255};
    struct image image = round_trip("b.png", "uchar4", 1, 1, bytes, 4);

    free(image.pixels);
    CHECK(rename("b.png", "b.jpg") == 0);
    CHECK_OK(image_read("b.jpg", &image, &error), error);
    CHECK(memcmp(image.pixels, bytes, 4) == 0);
    free(image.pixels);
}

// A few bytes must not make us ask for gigabytes.
static void huge_pictures_are_refused(void)
{
    struct image image = {0};
    unsigned char *bytes = calloc(1, 40000);

    draw("huge.png",
         &(struct drawing){
             40000, 1, 8, PNG_COLOR_TYPE_GRAY, 0, bytes, 0, {{0}}, {0}});
    CHECK_FAILS(image_read("huge.png", &image, &error), HD_ELIMIT, error,
                "huge.png: 40000 x 1 is too large");
    draw("huge.png",
         &(struct drawing){
             20000, 20000, 1, PNG_COLOR_TYPE_GRAY, 0, bytes, 0, {{0}}, {0}});
    CHECK_FAILS(image_read("huge.png", &image, &error), HD_ELIMIT, error,
                "20000 x 20000 is too large");
    free(bytes);
}

// A gray JPEG becomes RGBA, one in CMYK is refused by name.
static void other_jpeg_colors(void)
{
    static const struct {
        J_COLOR_SPACE color;
        int channels;
    } kinds[] = {{JCS_GRAYSCALE, 1}, {JCS_CMYK, 4}};
    unsigned char bytes[8 * 4];

    for (int i = 0; i < 2; i++) {
        struct jpeg_compress_struct encoder;
        struct jpeg_error_mgr manager;
        FILE *file = fopen("d.jpg", "wb");
        JSAMPROW row = bytes;
        struct image image;

        memset(bytes, 128, sizeof(bytes));
        CHECK(file);
        encoder.err = jpeg_std_error(&manager);
        jpeg_create_compress(&encoder);
        jpeg_stdio_dest(&encoder, file);
        encoder.image_width = 8;
        encoder.image_height = 1;
        encoder.input_components = kinds[i].channels;
        encoder.in_color_space = kinds[i].color;
        jpeg_set_defaults(&encoder);
        jpeg_start_compress(&encoder, TRUE);
        jpeg_write_scanlines(&encoder, &row, 1);
        jpeg_finish_compress(&encoder);
        jpeg_destroy_compress(&encoder);
        CHECK(fclose(file) == 0);

        if (kinds[i].channels == 4) {
            CHECK_FAILS(image_read("d.jpg", &image, &error), HD_EFORMAT, error,
                        "neither gray nor RGB");
            continue;
        }
        CHECK_OK(image_read("d.jpg", &image, &error), error);
        for (int x = 0; x < 8; x++)
            CHECK(abs(image.pixels[x * 4 + 2] - 128) < 4 &&
                  image.pixels[x * 4 + 3] == 255);
        free(image.pixels);
    }
}

int main(void)
{
    static const char *const left[] = {"a.png", "b.png",    "b.jpg",
                                       "b.JPG", "b.jpeg",   "c.png",
                                       "d.jpg", "huge.png", "cut"};
    const char *folder = make_folder();

    CHECK(chdir(folder) == 0);
    CHECK_OK(hd_runtime_create(&(struct hd_runtime_params){.caller_only = true},
                               &runtime, &error),
             error);
    every_kind_of_png_becomes_rgba();
    interlaced_is_the_same();
    rgba_survives_at_every_size();
    every_form_has_its_channels();
    floats_are_clamped_and_rounded();
    jpeg_comes_close();
    rows_of_any_width_keep_their_pixels();
    what_is_no_picture_is_refused();
    damaged_files_are_errors();
    files_of_other_kinds_are_named();
    names_do_not_matter_for_reading();
    huge_pictures_are_refused();
    other_jpeg_colors();
    hd_runtime_destroy(runtime);
    for (size_t i = 0; i < sizeof(left) / sizeof(*left); i++)
        unlink(left[i]);
    CHECK(rmdir(folder) == 0);
    return 0;
}

#endif
