// PNG through libpng.
//
// libpng leaves by longjmp. What must survive it lives in a struct in the
// caller of the function that calls setjmp; that function itself changes no
// local variable afterwards, so none needs to be volatile.
#include <errno.h>
#include <png.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "failure.h"
#include "image.h"
#include "interrupt.h"

struct stream {
    FILE *file;
    const char *path;
    bool writing;
    hd_status status;
    struct hd_error *error;
};

enum {
    CHUNK_BYTES = 8 << 20, // most that one text or profile chunk may take
    CHUNKS = 100,          // of these, kept
    // A photograph is written 2.7 times as fast as at libpng's own level 6 with
    // every filter tried, and becomes 6% larger.
    LEVEL = 4,
    FILTERS = PNG_FILTER_SUB | PNG_FILTER_UP
};

_Noreturn static void on_error(png_structp png, png_const_charp message)
{
    struct stream *stream = png_get_error_ptr(png);

    // Already described when it came from one of our own callbacks.
    if (stream->status == HD_OK)
        stream->status =
            fail(stream->error, HD_EFORMAT, "%s: %s PNG: %s", stream->path,
                 stream->writing ? "cannot write" : "damaged", message);
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp message)
{
    // About profiles and text chunks, none of which is used.
    (void)png;
    (void)message;
}

// Reading ---------------------------------------------------------------------

static void read_bytes(png_structp png, png_bytep to, size_t size)
{
    struct stream *stream = png_get_io_ptr(png);

    errno = 0;
    if (fread(to, 1, size, stream->file) == size)
        return;
    if (ferror(stream->file))
        stream->status = fail(stream->error, HD_EIO, "cannot read %s: %s",
                              stream->path, strerror(errno));
    png_error(png, "the file ends early");
}

static hd_status decode(png_structp png, png_infop info, struct stream *stream,
                        struct image *image)
{
    if (setjmp(png_jmpbuf(png)))
        return stream->status;

    png_set_read_fn(png, stream, read_bytes);
    png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_chunk_malloc_max(png, CHUNK_BYTES);
    png_set_chunk_cache_max(png, CHUNKS);
    png_read_info(png, info);
    stream->status =
        image_allocate(image, stream->path, png_get_image_width(png, info),
                       png_get_image_height(png, info), stream->error);
    if (stream->status != HD_OK)
        return stream->status;

    // Everything becomes 8-bit RGBA.
    png_set_expand(png);
    png_set_scale_16(png);
    png_set_gray_to_rgb(png);
    png_set_add_alpha(png, 0xff, PNG_FILLER_AFTER);
    int rounds = png_set_interlace_handling(png);
    png_read_update_info(png, info);
    if (png_get_rowbytes(png, info) != (size_t)image->width * 4)
        png_error(png, "an unexpected row size");

    for (int round = 0; round < rounds; round++)
        for (uint32_t y = 0; y < image->height; y++) {
            if (interrupted())
                return fail(stream->error, HD_ECANCELED, "cancelled");
            png_read_row(png, image->pixels + (size_t)y * image->width * 4,
                         NULL);
        }
    png_read_end(png, NULL);
    return HD_OK;
}

static hd_status read_png(FILE *file, const char *path, struct image *image,
                          struct hd_error *error)
{
    struct stream stream = {.file = file, .path = path, .error = error};
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &stream,
                                             on_error, on_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    hd_status status = info ? decode(png, info, &stream, image)
                            : fail(error, HD_ENOMEM, "%s: out of memory", path);

    png_destroy_read_struct(&png, &info, NULL);
    return status;
}

// Writing ---------------------------------------------------------------------

static void write_bytes(png_structp png, png_bytep from, size_t size)
{
    struct stream *stream = png_get_io_ptr(png);

    if (fwrite(from, 1, size, stream->file) == size)
        return;
    stream->status = fail(stream->error, HD_EIO, "cannot write %s: %s",
                          stream->path, strerror(errno));
    png_error(png, "cannot write");
}

static void flush_bytes(png_structp png)
{
    (void)png; // the stream is flushed and checked at its end
}

static hd_status encode(png_structp png, png_infop info, struct stream *stream,
                        const struct image_rows *rows, unsigned char *row)
{
    static const int colors[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                                 PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};

    if (setjmp(png_jmpbuf(png)))
        return stream->status;

    png_set_write_fn(png, stream, write_bytes, flush_bytes);
    png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_IHDR(png, info, rows->width, rows->height, 8,
                 colors[rows->channels - 1], PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_compression_level(png, LEVEL);
    png_set_filter(png, PNG_FILTER_TYPE_BASE, FILTERS);
    png_write_info(png, info);
    for (uint32_t y = 0; y < rows->height; y++) {
        stream->status = rows->row(rows->data, y, row, stream->error);
        if (stream->status != HD_OK)
            return stream->status;
        png_write_row(png, row);
    }
    png_write_end(png, info);
    return HD_OK;
}

static hd_status write_png(FILE *file, const char *path,
                           const struct image_rows *rows,
                           struct hd_error *error)
{
    struct stream stream = {
        .file = file, .path = path, .writing = true, .error = error};
    unsigned char *row = malloc((size_t)rows->width * rows->channels);
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &stream,
                                              on_error, on_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    hd_status status = row && info
                           ? encode(png, info, &stream, rows, row)
                           : fail(error, HD_ENOMEM, "%s: out of memory", path);

    png_destroy_write_struct(&png, &info);
    free(row);
    return status;
}

const struct image_codec image_png = {.name = "PNG",
                                      .first_byte = 0x89,
                                      .endings = {".png"},
                                      .edge = 1u << 20,
                                      .read = read_png,
                                      .write = write_png};
