#include "image.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "failure.h"
#include "heddle/kernel.h"
#include "interrupt.h"
#include "target.h"

#ifndef COMMAND_PNG
const struct image_codec image_png = {
    .name = "PNG", .first_byte = 0x89, .endings = {".png"}};
#endif
#ifndef COMMAND_JPEG
const struct image_codec image_jpeg = {
    .name = "JPEG", .first_byte = 0xff, .endings = {".jpg", ".jpeg"}};
#endif

// The first is what a name without a known ending means.
static const struct image_codec *const codecs[] = {&image_png, &image_jpeg};

enum {
    CODECS = sizeof(codecs) / sizeof(*codecs)
};

static hd_status not_built_in(const char *path, const struct image_codec *codec,
                              struct hd_error *error)
{
    return fail(error, HD_ENOTSUP,
                "%s: this heddle was built without %s images", path,
                codec->name);
}

// Reading ---------------------------------------------------------------------

hd_status image_allocate(struct image *image, const char *path, uint64_t width,
                         uint64_t height, struct hd_error *error)
{
    if (width == 0 || height == 0)
        return fail(error, HD_EFORMAT, "%s: a picture of no size", path);
    if (width > IMAGE_EDGE || height > IMAGE_EDGE ||
        width * height > IMAGE_BYTES / 4)
        return fail(error, HD_ELIMIT,
                    "%s: %llu x %llu is too large; the limits are %d pixels "
                    "along an edge and %llu pixels in all",
                    path, (unsigned long long)width, (unsigned long long)height,
                    IMAGE_EDGE, (unsigned long long)(IMAGE_BYTES / 4));
    // Zeroed, so that untouched pages of a hostile file cost nothing.
    image->pixels = calloc(height, width * 4);
    if (!image->pixels)
        return fail(error, HD_ENOMEM, "%s: out of memory for %llu x %llu", path,
                    (unsigned long long)width, (unsigned long long)height);
    image->width = (uint32_t)width;
    image->height = (uint32_t)height;
    return HD_OK;
}

hd_status image_read(const char *path, struct image *image,
                     struct hd_error *error)
{
    FILE *file = fopen(path, "rbe");

    if (!file)
        return fail(error, errno == ENOENT ? HD_ENOENT : HD_EIO,
                    "cannot open %s: %s", path, strerror(errno));

    // One byte tells them apart, and one can be put back on any stream.
    errno = 0;
    int first = getc(file);
    const struct image_codec *codec = NULL;
    for (int i = 0; i < CODECS; i++)
        if (first != EOF && codecs[i]->first_byte == first)
            codec = codecs[i];

    struct image read = {0};
    hd_status status;
    if (ferror(file))
        status =
            fail(error, HD_EIO, "cannot read %s: %s", path, strerror(errno));
    else if (first == EOF)
        status = fail(error, HD_EFORMAT, "%s is empty", path);
    else if (!codec)
        status = fail(error, HD_EFORMAT, "%s is neither a PNG nor a JPEG image",
                      path);
    else if (!codec->read)
        status = not_built_in(path, codec, error);
    else if (ungetc(first, file) == EOF)
        status = fail(error, HD_EIO, "cannot read %s", path);
    else
        status = codec->read(file, path, &read, error);
    fclose(file);

    if (status != HD_OK)
        free(read.pixels);
    else
        *image = read;
    return status;
}

// Writing ---------------------------------------------------------------------

// The element types that are pictures.
static const struct form {
    const char *type;
    unsigned channels;
    unsigned components; // in memory; the ones beyond `channels` are left out
    bool is_float;       // 0 to 1, else 0 to 255
} forms[] = {
    {"uchar", 1, 1, false},  {"uchar2", 2, 2, false}, {"uchar3", 3, 4, false},
    {"uchar4", 4, 4, false}, {"float", 1, 1, true},   {"float2", 2, 2, true},
    {"float3", 3, 4, true},  {"float4", 4, 4, true},
};

static const struct form *find_form(const char *type)
{
    for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
        if (strcmp(forms[i].type, type) == 0)
            return &forms[i];
    return NULL;
}

static const struct image_codec *codec_of(const char *path)
{
    size_t length = strlen(path);

    for (int i = 0; i < CODECS; i++)
        for (const char *const *ending = codecs[i]->endings; *ending;
             ending++) {
            size_t size = strlen(*ending);
            if (length >= size &&
                strcasecmp(path + length - size, *ending) == 0)
                return codecs[i];
        }
    return codecs[0];
}

hd_status image_check(const char *name, const struct hd_shape *shape,
                      const char *path, struct hd_error *error)
{
    const struct image_codec *codec = codec_of(path);

    if (!codec->write)
        return not_built_in(path, codec, error);
    if (!find_form(shape->type))
        return fail(error, HD_EINVAL,
                    "output '%s' has elements of type %s; an image has uchar "
                    "or float, alone or in vectors of 2 to 4",
                    name, shape->type);
    if (shape->axes > 2 && shape->extent[2] > 1)
        return fail(error, HD_EINVAL,
                    "output '%s' has three axes; an image has two", name);
    uint64_t height = shape->axes > 1 ? shape->extent[1] : 1;
    if (shape->extent[0] > codec->edge || height > codec->edge)
        return fail(error, HD_ELIMIT,
                    "output '%s' is %llu x %llu; the longest edge of a %s "
                    "image is %u",
                    name, (unsigned long long)shape->extent[0],
                    (unsigned long long)height, codec->name, codec->edge);
    return HD_OK;
}

// Rows of a buffer as bytes.
struct source {
    const struct hd_buffer *buffer;
    const struct form *form;
    uint32_t width;
    uint64_t row_bytes; // in the buffer
    void *row;
};

static unsigned char byte_of(float value)
{
    // Written so that not-a-number becomes 0.
    if (!(value > 0.0f))
        return 0;
    return value < 1.0f ? (unsigned char)(value * 255.0f + 0.5f) : 255;
}

static hd_status source_row(void *data, uint32_t y, unsigned char *to,
                            struct hd_error *error)
{
    const struct source *source = data;
    const struct form *form = source->form;

    if (interrupted())
        return fail(error, HD_ECANCELED, "cancelled");
    hd_status status = hd_buffer_read(source->buffer, y * source->row_bytes,
                                      source->row, source->row_bytes, error);
    if (status != HD_OK)
        return status;
    for (uint32_t x = 0; x < source->width; x++) {
        size_t from = (size_t)x * form->components;
        for (unsigned c = 0; c < form->channels; c++)
            *to++ = form->is_float
                        ? byte_of(((const float *)source->row)[from + c])
                        : ((const unsigned char *)source->row)[from + c];
    }
    return HD_OK;
}

// What image_write() passes through target_write().
struct writing {
    const struct image_codec *codec;
    const char *path;
    const struct image_rows *rows;
};

static hd_status write_rows(void *data, FILE *file, struct hd_error *error)
{
    const struct writing *writing = data;

    return writing->codec->write(file, writing->path, writing->rows, error);
}

hd_status image_write(const char *path, const struct hd_shape *shape,
                      const struct hd_buffer *buffer, struct hd_error *error)
{
    hd_status status = image_check(path, shape, path, error);
    if (status != HD_OK)
        return status;

    const struct form *form = find_form(shape->type);
    struct source source = {.buffer = buffer,
                            .form = form,
                            .width = (uint32_t)shape->extent[0],
                            .row_bytes =
                                shape->extent[0] * hd_type_size(shape->type)};
    struct image_rows rows = {
        .width = source.width,
        .height = shape->axes > 1 ? (uint32_t)shape->extent[1] : 1,
        .channels = form->channels,
        .row = source_row,
        .data = &source};
    struct writing writing = {codec_of(path), path, &rows};

    source.row = malloc(source.row_bytes);
    if (!source.row)
        return fail(error, HD_ENOMEM, "%s: out of memory", path);
    status = target_write(path, write_rows, &writing, error);
    free(source.row);
    return status;
}
