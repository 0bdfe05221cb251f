// JPEG through libjpeg.
//
// libjpeg leaves by longjmp; as in png.c, what must survive it lives in the
// caller of the function that calls setjmp.
#include <errno.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include <jerror.h>

#include "failure.h"
#include "image.h"
#include "interrupt.h"

enum {
    QUALITY = 92, // of 100
    SCANS = 200   // of a progressive file; thousands of empty ones are a trap
};

// What the callbacks need; `manager` comes first, it is all libjpeg shows them.
struct trouble {
    struct jpeg_error_mgr manager;
    jmp_buf back;
    const char *path;
    bool writing;
    hd_status status;
    struct hd_error *error;
};

_Noreturn static void on_error(j_common_ptr jpeg)
{
    struct trouble *trouble = (struct trouble *)jpeg->err;
    int number = errno;
    char message[JMSG_LENGTH_MAX];

    if (trouble->status != HD_OK)
        longjmp(trouble->back, 1);
    jpeg->err->format_message(jpeg, message);
    if (jpeg->err->msg_code == JERR_FILE_WRITE)
        trouble->status = fail(trouble->error, HD_EIO, "cannot write %s: %s",
                               trouble->path, strerror(number));
    else if (jpeg->err->msg_code == JERR_OUT_OF_MEMORY)
        trouble->status =
            fail(trouble->error, HD_ENOMEM, "%s: out of memory", trouble->path);
    else if (jpeg->err->msg_code == JERR_CONVERSION_NOTIMPL)
        trouble->status = fail(trouble->error, HD_EFORMAT,
                               "%s: a JPEG that is neither gray nor RGB; "
                               "convert it to RGB",
                               trouble->path);
    else
        trouble->status =
            fail(trouble->error, HD_EFORMAT, "%s: %s JPEG: %s", trouble->path,
                 trouble->writing ? "cannot write" : "damaged", message);
    longjmp(trouble->back, 1);
}

// libjpeg only warns when data is missing, and makes the rest up in gray.
static void on_message(j_common_ptr jpeg, int level)
{
    static const int harmless[] = {JWRN_EXTRANEOUS_DATA, JWRN_ADOBE_XFORM,
                                   JWRN_JFIF_MAJOR};

    if (level >= 0)
        return;
    for (size_t i = 0; i < sizeof(harmless) / sizeof(*harmless); i++)
        if (jpeg->err->msg_code == harmless[i])
            return;
    on_error(jpeg);
}

static void on_progress(j_common_ptr jpeg)
{
    struct trouble *trouble = (struct trouble *)jpeg->err;
    const struct jpeg_decompress_struct *decoder =
        (const struct jpeg_decompress_struct *)jpeg;

    if (interrupted())
        trouble->status = fail(trouble->error, HD_ECANCELED, "cancelled");
    else if (decoder->input_scan_number > SCANS)
        trouble->status =
            fail(trouble->error, HD_ELIMIT, "%s: a JPEG of over %d scans",
                 trouble->path, SCANS);
    else
        return;
    longjmp(trouble->back, 1);
}

static void init(struct trouble *trouble, const char *path,
                 struct hd_error *error)
{
    *trouble = (struct trouble){.path = path, .error = error};
    jpeg_std_error(&trouble->manager);
    trouble->manager.error_exit = on_error;
    trouble->manager.emit_message = on_message;
}

// Reading ---------------------------------------------------------------------

// Spread the RGB that fills the last three quarters of a row. No pixel is
// overwritten before it is read: 4 x + 3 < width + 3 (x + 1) for x < width.
static void add_alpha(unsigned char *row, uint32_t width)
{
    const unsigned char *from = row + width;

    for (uint32_t x = 0; x < width; x++, from += 3) {
        unsigned char red = from[0];
        unsigned char green = from[1];
        unsigned char blue = from[2];
        *row++ = red;
        *row++ = green;
        *row++ = blue;
        *row++ = 0xff;
    }
}

static hd_status decode(struct jpeg_decompress_struct *decoder,
                        struct trouble *trouble, FILE *file,
                        struct image *image, struct jpeg_progress_mgr *progress)
{
    if (setjmp(trouble->back))
        return trouble->status;

    jpeg_create_decompress(decoder);
    decoder->progress = progress;
    jpeg_stdio_src(decoder, file);
    jpeg_read_header(decoder, TRUE);
    trouble->status = image_allocate(image, trouble->path, decoder->image_width,
                                     decoder->image_height, trouble->error);
    if (trouble->status != HD_OK)
        return trouble->status;

    decoder->out_color_space = JCS_RGB;
    jpeg_start_decompress(decoder);
    while (decoder->output_scanline < decoder->output_height) {
        unsigned char *row =
            image->pixels + (size_t)decoder->output_scanline * image->width * 4;
        JSAMPROW tail = row + image->width;
        if (jpeg_read_scanlines(decoder, &tail, 1) == 1)
            add_alpha(row, image->width);
    }
    jpeg_finish_decompress(decoder);
    return HD_OK;
}

static hd_status read_jpeg(FILE *file, const char *path, struct image *image,
                           struct hd_error *error)
{
    struct jpeg_progress_mgr progress = {.progress_monitor = on_progress};
    struct jpeg_decompress_struct decoder = {0};
    struct trouble trouble;

    init(&trouble, path, error);
    decoder.err = &trouble.manager;
    errno = 0;
    hd_status status = decode(&decoder, &trouble, file, image, &progress);
    if (status != HD_OK && ferror(file))
        status = fail(error, HD_EIO, "cannot read %s: %s", path,
                      strerror(errno ? errno : EIO));
    jpeg_destroy_decompress(&decoder);
    return status;
}

// Writing ---------------------------------------------------------------------

// JPEG has no alpha: keep the other channels.
static void drop_alpha(unsigned char *row, uint32_t width, unsigned channels)
{
    unsigned char *to = row;

    for (uint32_t x = 0; x < width; x++, row += channels)
        for (unsigned c = 0; c < channels - 1; c++)
            *to++ = row[c];
}

static hd_status encode(struct jpeg_compress_struct *encoder,
                        struct trouble *trouble, FILE *file,
                        const struct image_rows *rows, unsigned char *row)
{
    if (setjmp(trouble->back))
        return trouble->status;

    jpeg_create_compress(encoder);
    jpeg_stdio_dest(encoder, file);
    encoder->image_width = rows->width;
    encoder->image_height = rows->height;
    encoder->input_components = rows->channels < 3 ? 1 : 3;
    encoder->in_color_space = rows->channels < 3 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(encoder);
    jpeg_set_quality(encoder, QUALITY, TRUE);
    jpeg_start_compress(encoder, TRUE);
    while (encoder->next_scanline < rows->height) {
        JSAMPROW line = row;
        trouble->status =
            rows->row(rows->data, encoder->next_scanline, row, trouble->error);
        if (trouble->status != HD_OK)
            return trouble->status;
        if (rows->channels % 2 == 0)
            drop_alpha(row, rows->width, rows->channels);
        jpeg_write_scanlines(encoder, &line, 1);
    }
    jpeg_finish_compress(encoder);
    return HD_OK;
}

static hd_status write_jpeg(FILE *file, const char *path,
                            const struct image_rows *rows,
                            struct hd_error *error)
{
    struct jpeg_compress_struct encoder = {0};
    struct trouble trouble;
    unsigned char *row = malloc((size_t)rows->width * rows->channels);

    if (!row)
        return fail(error, HD_ENOMEM, "%s: out of memory", path);
    init(&trouble, path, error);
    trouble.writing = true;
    encoder.err = &trouble.manager;
    hd_status status = encode(&encoder, &trouble, file, rows, row);
    jpeg_destroy_compress(&encoder);
    free(row);
    return status;
}

const struct image_codec image_jpeg = {.name = "JPEG",
                                       .first_byte = 0xff,
                                       .endings = {".jpg", ".jpeg"},
                                       .edge = JPEG_MAX_DIMENSION,
                                       .read = read_jpeg,
                                       .write = write_jpeg};
