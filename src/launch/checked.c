#include "launch/checked.h"

#include <stdlib.h>

#include "launch/launch.h"

struct hdi_check_launch *hdi_launch_describe(const struct hd_kernel *kernel,
                                             const struct hd_arg *args,
                                             unsigned arg_count,
                                             const uint64_t *local_offsets)
{
    struct {
        struct hdi_check_launch launch;
        struct hdi_check_arg args[];
    } *made = calloc(1, sizeof(*made) + arg_count * sizeof(made->args[0]));

    if (!made)
        return NULL;
    for (unsigned i = 0; i < arg_count; i++) {
        struct hdi_check_arg *to = &made->args[i];
        const struct hd_arg *from = &args[i];
        to->name = kernel->args[i].shown.name;
        to->image = kernel->args[i].shown.kind == HD_ARG_IMAGE;
        made->launch.has_images |= to->image;
        if (from->is == HD_IS_LOCAL) {
            to->local = true;
            to->memory = (char *)(uintptr_t)local_offsets[i];
            to->size = from->size;
        } else if (from->is == HD_IS_BUFFER && from->buffer) {
            to->memory = (char *)from->buffer->address + from->offset;
            to->size = from->buffer->size - from->offset;
        }
    }
    made->launch.kernel = kernel->info.name;
    made->launch.args = made->args;
    made->launch.arg_count = arg_count;
    return &made->launch;
}
