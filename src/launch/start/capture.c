#include "launch/start/capture.h"

#include <string.h>

#include "base/memory.h"
#include "launch/memory/buffer.h"
#include "launch/memory/image.h"

static uint64_t value_size(const struct hd_arg *arg)
{
    return arg->is == HD_IS_VALUE ? hdi_round_up(arg->size, HDI_VALUE_ALIGNMENT)
                                  : 0;
}

uint64_t hdi_capture_room(const struct hd_arg *args, unsigned count)
{
    uint64_t size = 0;

    for (unsigned i = 0; i < count; i++)
        size += value_size(&args[i]);
    return size;
}

static void hold(const struct hd_arg *arg)
{
    if (arg->is == HD_IS_BUFFER && arg->buffer)
        hdi_buffer_hold((struct hd_buffer *)(uintptr_t)arg->buffer);
    else if (arg->is == HD_IS_IMAGE)
        hdi_image_hold((struct hd_image *)(uintptr_t)arg->image);
}

static uint64_t bytes_of(const struct hd_arg *arg)
{
    if (arg->is == HD_IS_BUFFER && arg->buffer)
        return hd_buffer_size(arg->buffer) - arg->offset;
    return arg->is == HD_IS_IMAGE ? arg->image->size : 0;
}

uint64_t hdi_capture(const struct hd_arg *args, unsigned count,
                     struct hd_arg *to, unsigned char *values)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < count; i++) {
        to[i] = args[i];
        hold(&args[i]);
        bytes += bytes_of(&args[i]);
        if (args[i].is != HD_IS_VALUE)
            continue;
        memcpy(values, args[i].value, args[i].size);
        to[i].value = values;
        values += value_size(&args[i]);
    }
    return bytes;
}

void hdi_capture_drop(const struct hd_arg *args, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (args[i].is == HD_IS_BUFFER)
            hd_buffer_destroy((struct hd_buffer *)(uintptr_t)args[i].buffer);
        else if (args[i].is == HD_IS_IMAGE)
            hd_image_destroy((struct hd_image *)(uintptr_t)args[i].image);
    }
}
