#include "launch/search.h"

#include <stdlib.h>
#include <string.h>

#include "launch/image.h"
#include "launch/seal.h"

enum {
    MOST_COPIED = 256 << 20, // [bytes]
    TIME_LIMIT = 2000000000  // [ns]
};

// What the kernel takes, its written buffers replaced by copies; and where each
// began.
struct again {
    const struct hd_kernel *kernel;
    unsigned count;
    struct hd_arg *args;
    struct hd_buffer **copies; // per argument that is the first with its buffer
    struct hd_image *images;   // per argument that has its texels in a copy
    uint64_t *were;
};

// The buffer that an argument is, or that its texels are in; NULL: none.
static const struct hd_buffer *memory_of(const struct hd_arg *arg)
{
    return arg->is == HD_IS_BUFFER  ? arg->buffer
           : arg->is == HD_IS_IMAGE ? arg->image->params.buffer
                                    : NULL;
}

static const char *begin_of(const struct hd_arg *arg)
{
    return arg->is == HD_IS_IMAGE
               ? (const char *)arg->image->shown.texels
               : (const char *)arg->buffer->address + arg->offset;
}

static void replace(struct again *again, unsigned index, struct hd_buffer *to)
{
    struct hd_arg *arg = &again->args[index];

    if (arg->is == HD_IS_BUFFER) {
        arg->buffer = to;
        return;
    }
    const char *from = arg->image->params.buffer->address;
    struct hd_image *image = &again->images[index];
    *image = *arg->image;
    image->shown.texels = (unsigned char *)to->address + (begin_of(arg) - from);
    image->params.buffer = to;
    arg->image = image;
}

// All arguments with one buffer share its copy.
static bool copy(struct hdi_launcher *launcher, struct again *again,
                 const struct hd_arg *args, unsigned index, uint64_t *left)
{
    const struct hd_buffer *from = memory_of(&args[index]);
    struct hd_error error;
    struct hd_buffer *to;

    if (memory_of(&again->args[index]) != from)
        return true;
    if (from->size > *left ||
        hdi_buffer_create(launcher, from->size, &to, &error) != HD_OK)
        return false;
    *left -= from->size;
    again->copies[index] = to;
    memcpy(to->address, from->address, from->size);
    for (unsigned i = 0; i < again->count; i++)
        if (memory_of(&args[i]) == from)
            replace(again, i, to);
    return true;
}

static bool make(struct hdi_launcher *launcher, struct again *again,
                 const struct hd_arg *args)
{
    uint64_t left = MOST_COPIED;

    again->args = calloc(again->count + 1, sizeof(*again->args));
    again->copies = calloc(again->count + 1, sizeof(struct hd_buffer *));
    again->images = calloc(again->count + 1, sizeof(*again->images));
    again->were = calloc(again->count + 1, sizeof(*again->were));
    if (!again->args || !again->copies || !again->images || !again->were)
        return false;
    memcpy(again->args, args, again->count * sizeof(*args));
    for (unsigned i = 0; i < again->count; i++) {
        if (!memory_of(&args[i]))
            continue;
        again->were[i] = (uint64_t)(uintptr_t)begin_of(&args[i]);
        if (hdi_seal_may_write(&again->kernel->args[i].shown) &&
            !copy(launcher, again, args, i, &left))
            return false;
    }
    return true;
}

static void clear(struct again *again)
{
    for (unsigned i = 0; again->copies && i < again->count; i++)
        hd_buffer_destroy(again->copies[i]);
    free(again->were);
    free(again->images);
    free(again->copies);
    free(again->args);
}

const char *hdi_search_run(struct hdi_launcher *launcher,
                           const struct hd_kernel *kernel,
                           const struct hdi_frame *frame,
                           const struct hd_arg *args,
                           const struct hdi_terms *terms,
                           struct hdi_fault *fault)
{
    struct again again = {.count = kernel->info.arg_count};
    struct hdi_search search = {.fault = fault};
    struct hdi_terms once = *terms;
    struct hd_range range = {.dims = frame->dims};
    struct hd_error error;
    const char *why;

    if (fault->has_item || kernel->info.form == HD_FORM_CHECKED ||
        !launcher->device->can.host_memory)
        return NULL;
    again.kernel = hdi_kernel_checked(kernel, &why);
    if (!again.kernel)
        return why;
    if (!make(launcher, &again, args)) {
        clear(&again);
        return "the work-item is not named, for want of memory to run the "
               "work-groups again";
    }
    for (unsigned d = 0; d < frame->dims; d++) {
        range.global[d] = frame->global[d];
        range.offset[d] = frame->offset[d];
        range.local[d] = frame->local_size[d];
    }
    search.were = again.were;
    once.search = &search;
    once.time_limit = TIME_LIMIT;
    once.place = (struct hdi_place){.kind = HD_ANYWHERE};
    hdi_launch_with(launcher, again.kernel, &range, again.args, again.count,
                    &once, &error);
    clear(&again);
    if (!search.found)
        return "the work-item did not fault again when the work-groups ran "
               "again";
    fault->has_item = true;
    memcpy(fault->item, search.item, sizeof(fault->item));
    memcpy(fault->first, search.group, sizeof(fault->first));
    if (fault->line == 0) {
        fault->line = search.line;
        memcpy(fault->file, search.file, sizeof(fault->file));
    }
    return NULL;
}

struct hdi_box hdi_search_box(const struct hdi_search *search)
{
    struct hdi_box box;

    memcpy(box.first, search->fault->first, sizeof(box.first));
    memcpy(box.count, search->fault->count, sizeof(box.count));
    return box;
}

void hdi_search_end(struct hdi_search *search, const struct hdi_fault *fault)
{
    const struct hdi_fault *wanted = search->fault;

    if (search->found || !fault->has_item || fault->kind != wanted->kind ||
        fault->kind == HDI_FAULT_ACCESS || fault->line != wanted->line)
        return;
    search->found = true;
    memcpy(search->item, fault->item, sizeof(search->item));
    memcpy(search->group, fault->first, sizeof(search->group));
    search->line = fault->line;
    memcpy(search->file, fault->file, sizeof(search->file));
}
