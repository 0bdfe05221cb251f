#include "launch/fault/checked.h"

#include <stdlib.h>
#include <string.h>

#include "launch/memory/image.h"

static void describe_image(struct hdi_check_arg *to,
                           const struct hd_image *image)
{
    enum hd_image_kind kind = image->params.kind;
    bool layers = kind == HD_IMAGE_1D_ARRAY || kind == HD_IMAGE_2D_ARRAY;
    bool plane = kind == HD_IMAGE_2D || kind == HD_IMAGE_2D_ARRAY;

    to->image = &image->shown;
    to->texels[0] = image->shown.width;
    to->texels[1] = plane || kind == HD_IMAGE_3D ? image->shown.height : 0;
    to->texels[2] = kind == HD_IMAGE_3D ? image->shown.depth : 0;
    to->texels[3] = layers ? image->shown.layers : 0;
}

// One allocation, the launch in front, so that one free() gives all back.
struct hdi_check_launch *hdi_checked_describe(const struct hd_kernel *kernel,
                                              const struct hdi_bound *bound,
                                              const unsigned char *packed)
{
    struct {
        struct hdi_check_launch launch;
        struct hdi_check_arg args[];
    } *made;
    unsigned count = kernel->info.arg_count;

    made = calloc(1, sizeof(*made) + count * sizeof(made->args[0]));

    if (!made)
        return NULL;
    for (unsigned i = 0; i < count; i++) {
        struct hdi_check_arg *to = &made->args[i];
        const struct hdi_bound *from = &bound[i];
        to->name = kernel->args[i].shown.name;
        to->writable = from->writes;
        to->constant = kernel->args[i].shown.kind == HD_ARG_CONSTANT;
        to->memory = from->address;
        to->size = to->memory ? from->size : 0;
        if (from->is == HD_IS_LOCAL) {
            to->local = true;
            to->size = from->size;
        } else if (from->image) {
            describe_image(to, from->image);
            made->launch.has_images = true;
        } else if (from->is == HD_IS_VALUE) {
            to->value = true;
            to->memory = (char *)(uintptr_t)(packed + kernel->args[i].offset);
            to->size = from->size;
        }
    }
    made->launch.kernel = kernel->info.name;
    made->launch.args = made->args;
    made->launch.arg_count = count;
    return &made->launch;
}

// Copies ----------------------------------------------------------------------

// Whether memory that the kernel may write is another argument's too.
// Linear in the arguments, for each written one: kernels have few.
static bool overlaps(const struct hdi_check_launch *launch, uint32_t written)
{
    const struct hdi_check_arg *w = &launch->args[written];

    for (uint32_t i = 0; i < launch->arg_count; i++) {
        const struct hdi_check_arg *a = &launch->args[i];
        if (i != written && !a->local && a->memory &&
            a->memory < w->memory + w->size && w->memory < a->memory + a->size)
            return true;
    }
    return false;
}

static bool is_copied(const struct hdi_check_arg *arg)
{
    return arg->writable && arg->memory;
}

// What the launch may write, argument by argument.
struct hdi_copies {
    const struct hdi_check_launch *launch;
    char bytes[];
};

struct hdi_copies *hdi_copies_take(const struct hdi_check_launch *launch)
{
    uint64_t size = 0;

    for (uint32_t i = 0; i < launch->arg_count; i++)
        if (is_copied(&launch->args[i])) {
            size += launch->args[i].size;
            if (overlaps(launch, i))
                return NULL;
        }
    struct hdi_copies *c = malloc(sizeof(*c) + size);
    if (!c)
        return NULL;
    char *to = c->bytes;
    c->launch = launch;
    for (uint32_t i = 0; i < launch->arg_count; i++)
        if (is_copied(&launch->args[i])) {
            memcpy(to, launch->args[i].memory, launch->args[i].size);
            to += launch->args[i].size;
        }
    return c;
}

void hdi_copies_give_back(const struct hdi_copies *c)
{
    const char *from = c->bytes;

    for (uint32_t i = 0; i < c->launch->arg_count; i++)
        if (is_copied(&c->launch->args[i])) {
            memcpy(c->launch->args[i].memory, from, c->launch->args[i].size);
            from += c->launch->args[i].size;
        }
}
