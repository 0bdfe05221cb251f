// Make and compare pictures for the scripts beside this file:
//
//     picture WIDTH HEIGHT FILE     write a picture of noise
//     picture FILE FILE             exit 0 when the pictures are the same
//
// Exit code 77 says that this build has no such images.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heddle/runtime.h"
#include "image.h"

static struct hd_error error;

static int complain(void)
{
    fprintf(stderr, "picture: %s\n", error.text);
    return error.status == HD_ENOTSUP ? 77 : 2;
}

static int same(const char *one, const char *other)
{
    struct image a, b;

    if (image_read(one, &a, &error) != HD_OK)
        return complain();
    if (image_read(other, &b, &error) != HD_OK) {
        free(a.pixels);
        return complain();
    }
    int differ = a.width != b.width || a.height != b.height ||
                 memcmp(a.pixels, b.pixels, (size_t)a.width * a.height * 4);
    free(a.pixels);
    free(b.pixels);
    return differ ? 1 : 0;
}

static hd_status draw(struct hd_runtime *runtime, uint64_t width,
                      uint64_t height, const char *path)
{
    const struct hd_shape shape = {
        .type = "uchar4", .axes = 2, .extent = {width, height, 1}};
    struct hd_buffer *buffer;

    hd_status status =
        hd_buffer_create(runtime, width * height * 4, &buffer, &error);
    if (status != HD_OK)
        return status;
    for (uint64_t i = 0; i < width * height && status == HD_OK; i++) {
        // Noise, so that the file is as large as the picture.
        uint32_t noise = (uint32_t)i * 2654435761u;
        noise = (noise ^ noise >> 15) * 2246822519u;
        const unsigned char pixel[4] = {
            (unsigned char)(noise >> 24), (unsigned char)(noise >> 16),
            (unsigned char)(noise >> 8), (unsigned char)(255 - i % 2)};
        status = hd_buffer_write(buffer, i * 4, pixel, 4, &error);
    }
    if (status == HD_OK)
        status = image_write(path, &shape, buffer, &error);
    hd_buffer_destroy(buffer);
    return status;
}

int main(int count, char **words)
{
    struct hd_runtime *runtime;

    if (count == 3)
        return same(words[1], words[2]);
    if (count != 4) {
        fprintf(stderr, "usage: picture WIDTH HEIGHT FILE | FILE FILE\n");
        return 2;
    }
    if (hd_runtime_create(&(struct hd_runtime_params){.caller_only = true},
                          &runtime, &error) != HD_OK)
        return complain();
    hd_status status = draw(runtime, strtoull(words[1], NULL, 10),
                            strtoull(words[2], NULL, 10), words[3]);
    hd_runtime_destroy(runtime);
    return status == HD_OK ? 0 : complain();
}
