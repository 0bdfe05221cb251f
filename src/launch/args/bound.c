#include "launch/args/bound.h"

#include <string.h>

#include "base/memory.h"
#include "launch/launch.h"
#include "launch/memory/buffer.h"
#include "launch/memory/image.h"
#include "launch/memory/seal.h"

enum {
    LOCAL_ALIGNMENT = 128 // of the largest type, double16 [bytes]
};

// Binding ---------------------------------------------------------------------

// Local memory is laid out from `used` on; where the next argument begins.
// UINT64_MAX once the sum overflows: no device has that much, so the check
// refuses it.
static uint64_t place_local(uint64_t size, uint64_t *used)
{
    uint64_t begin = hdi_round_up(*used, LOCAL_ALIGNMENT);

    *used = size > INT64_MAX - begin ? UINT64_MAX : begin + size;
    return begin;
}

// The same walk as hdi_bind(), so that what is checked is what is laid out.
uint64_t hdi_bound_local(const struct hd_kernel *kernel,
                         const struct hd_arg *args)
{
    uint64_t used = kernel->info.local_bytes;

    for (unsigned i = 0; i < kernel->info.arg_count && used != UINT64_MAX; i++)
        if (args[i].is == HD_IS_LOCAL)
            place_local(args[i].size, &used);
    return used;
}

// Checked kernels tell of writes to constants themselves, and of overlaps,
// which they see by the addresses.
static void bind_buffer(const struct hd_kernel *kernel, unsigned index,
                        const struct hd_arg *arg, struct hdi_bound *b)
{
    struct hd_buffer *buffer = arg->buffer->self;
    char *address = buffer->address;

    b->buffer = buffer;
    if (kernel->args[index].shown.kind == HD_ARG_CONSTANT) {
        if (kernel->info.form != HD_FORM_CHECKED)
            address = hdi_buffer_view(buffer);
        b->seals = address == buffer->address;
    }
    b->address = address + arg->offset;
    b->offset = arg->offset;
    b->size = buffer->size - arg->offset;
}

// The address is the first texel; `offset` leads back to the buffer's first
// byte.
static void bind_image(const struct hd_arg *arg, struct hdi_bound *b)
{
    b->image = arg->image->self;
    b->shown = arg->image->home;
    b->buffer = b->image->params.buffer;
    b->address = (char *)b->image->shown.texels;
    b->offset = b->image->params.offset;
    b->size = b->image->size;
}

// Every field is set once: this is on the path of each launch.
static void clear(const struct hd_arg *arg, bool writes, struct hdi_bound *b)
{
    b->is = arg->is;
    b->sampler = arg->sampler;
    b->buffer = NULL;
    b->image = NULL;
    b->shown = NULL;
    b->address = NULL;
    b->value = arg->value;
    b->offset = 0;
    b->size = arg->size;
    b->writes = writes;
    b->seals = false;
    b->away = false;
}

void hdi_bind(const struct hdi_request *request, struct hdi_bound *bound)
{
    const struct hd_kernel *kernel = request->kernel;
    unsigned count = kernel->info.arg_count;
    uint64_t local = kernel->info.local_bytes;

    for (unsigned i = 0; i < count; i++) {
        const struct hd_arg *arg = &request->args[i];
        struct hdi_bound *b = &bound[i];
        clear(arg, kernel->args[i].writes, b);
        if (arg->is == HD_IS_BUFFER) {
            if (arg->buffer)
                bind_buffer(kernel, i, arg, b);
        } else if (arg->is == HD_IS_LOCAL) {
            b->address = (char *)(uintptr_t)place_local(arg->size, &local);
        } else if (arg->is == HD_IS_IMAGE) {
            bind_image(arg, b);
        }
    }
}

static void pack(const struct hdi_bound *b, unsigned char *to)
{
    uint64_t word = (uint64_t)(uintptr_t)b->address;

    switch (b->is) {
    case HD_IS_VALUE:
        if (b->size == 4) // most are: no call
            memcpy(to, b->value, 4);
        else
            memcpy(to, b->value, b->size);
        return;
    case HD_IS_SAMPLER:
        memcpy(to, &b->sampler, sizeof(b->sampler));
        return;
    case HD_IS_IMAGE:
        word = (uint64_t)(uintptr_t)b->shown;
        break;
    case HD_IS_BUFFER:
    case HD_IS_LOCAL:
        break;
    }
    memcpy(to, &word, sizeof(word));
}

void hdi_bound_pack(const struct hd_kernel *kernel,
                    const struct hdi_bound *bound, unsigned char *packed)
{
    for (unsigned i = 0; i < kernel->info.arg_count; i++)
        pack(&bound[i], packed + kernel->args[i].offset);
}

// The offset of an image is part of the image, so it is not given again.
void hdi_bound_give(const struct hdi_bound *bound, unsigned count,
                    struct hd_arg *args)
{
    for (unsigned i = 0; i < count; i++) {
        const struct hdi_bound *b = &bound[i];
        bool buffer = b->is == HD_IS_BUFFER;
        args[i] = (struct hd_arg){.is = b->is,
                                  .value = b->value,
                                  .size = b->size,
                                  .buffer = buffer ? b->buffer : NULL,
                                  .offset = buffer ? b->offset : 0,
                                  .image = b->image,
                                  .sampler = b->sampler};
    }
}

// Keeping ---------------------------------------------------------------------

static uint64_t value_room(enum hd_arg_is is, uint64_t size)
{
    return is == HD_IS_VALUE ? hdi_round_up(size, HDI_VALUE_ALIGNMENT) : 0;
}

uint64_t hdi_bound_room(const struct hd_arg *args, unsigned count)
{
    uint64_t size = 0;

    for (unsigned i = 0; i < count; i++)
        size += value_room(args[i].is, args[i].size);
    return size;
}

// An image holds its buffer, so one of the two is enough.
uint64_t hdi_bound_keep(struct hdi_bound *bound, unsigned count,
                        unsigned char *values)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < count; i++) {
        struct hdi_bound *b = &bound[i];
        if (b->image)
            hdi_image_hold(b->image);
        else if (b->buffer)
            hdi_buffer_hold(b->buffer);
        bytes += b->buffer ? b->size : 0;
        if (b->is != HD_IS_VALUE)
            continue;
        memcpy(values, b->value, b->size);
        b->value = values;
        values += value_room(b->is, b->size);
    }
    return bytes;
}

void hdi_bound_drop(const struct hdi_bound *bound, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (bound[i].image)
            hd_image_destroy(bound[i].image);
        else
            hd_buffer_destroy(bound[i].buffer);
}

// Sealing ---------------------------------------------------------------------

// Writers first: an argument that is written is never sealed for its own sake.
void hdi_bound_seal(const struct hdi_bound *bound, unsigned count, int by)
{
    for (unsigned i = 0; i < count; i++)
        if (bound[i].buffer && bound[i].writes && !bound[i].away)
            hdi_seal_count(bound[i].buffer, 0, by);
        else if (bound[i].seals)
            hdi_seal_count(bound[i].buffer, by, 0);
}
