#include "launch/fault/search.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"
#include "launch/memory/image.h"

// TIME_LIMIT: what it may cost to name the work-item in a message.
enum {
    LEAST_COPIED = 256 << 20, // that may be, however little is free [bytes]
    TIME_LIMIT = 2000000000   // [ns]
};

// What the kernel takes, its written buffers replaced by copies; and where each
// began.
// On the stack of hdi_search_run(); all tables have an entry for each argument.
struct again {
    struct hdi_launcher *launcher;
    const struct hd_kernel *kernel;
    unsigned count;
    const struct hdi_bound *bound; // of the launch that failed
    struct hd_arg *args;
    struct hd_buffer *copies; // per argument that is the first with its buffer
    struct hd_image *images;  // per argument that has its texels in a copy
    uint64_t *were;
    struct hdi_search *search;
};

// The first byte of the buffer that it is, or has its texels in.
static char *begin_of(const struct hdi_bound *b)
{
    return b->address - b->offset;
}

static void replace(struct again *again, unsigned index, struct hd_buffer *to)
{
    const struct hdi_bound *b = &again->bound[index];
    struct hd_arg *arg = &again->args[index];

    if (!b->image) {
        arg->buffer = to;
        return;
    }
    struct hd_image *image = &again->images[index];
    *image = *b->image;
    image->self = image;
    image->shown.texels = (unsigned char *)to->address + b->offset;
    image->home = &image->shown;
    image->params.buffer = to;
    arg->image = image;
}

// Texels are touched in ways that are not looked at.
static bool has_texels(const struct again *again,
                       const struct hd_buffer *buffer)
{
    for (unsigned i = 0; i < again->count; i++)
        if (again->bound[i].image && again->bound[i].buffer == buffer)
            return true;
    return false;
}

static bool copy_all(struct hdi_search *search, void *to, const void *from,
                     uint64_t size)
{
    if (size > search->left)
        return false;
    search->left -= size;
    memcpy(to, from, size);
    return true;
}

static bool is_copied(const struct again *again, unsigned index)
{
    for (unsigned i = 0; i < index; i++)
        if (again->copies[i].address &&
            again->bound[i].buffer == again->bound[index].buffer)
            return true;
    return false;
}

// All arguments with one buffer share its copy. Huge pages would be more than
// what is touched.
static bool copy(struct again *again, unsigned index)
{
    const struct hdi_bound *b = &again->bound[index];
    struct hdi_search_copy *pieces = &again->search->copies[index];
    struct hd_buffer *to = &again->copies[index];
    uint64_t size = b->buffer->size;

    if (is_copied(again, index))
        return true;
    *to = (struct hd_buffer){.self = to,
                             .launcher = again->launcher,
                             .address = hdi_map(size),
                             .size = size,
                             .borrowed = true,
                             .lock = PTHREAD_MUTEX_INITIALIZER};
    if (!to->address)
        return false;
    madvise(to->address, size, MADV_NOHUGEPAGE);
    for (unsigned i = 0; i < again->count; i++)
        if (again->bound[i].buffer == b->buffer)
            replace(again, i, to);
    if (has_texels(again, b->buffer))
        return copy_all(again->search, to->address, begin_of(b), size);
    *pieces = (struct hdi_search_copy){
        .to = to->address,
        .from = begin_of(b),
        .size = size,
        .made = calloc(size / HDI_SEARCH_PIECE + 1, sizeof(bool))};
    return pieces->made != NULL;
}

// Half of what is free.
// The other half is for those who allocate meanwhile.
static uint64_t most_copied(void)
{
    uint64_t pages = (uint64_t)sysconf(_SC_AVPHYS_PAGES);
    uint64_t half = pages / 2 * hdi_page_size();

    return half > LEAST_COPIED ? half : LEAST_COPIED;
}

// Undone by clear(), also where it fails half way.
static bool make(struct again *again)
{
    struct hdi_search *search = again->search;

    again->args = calloc(again->count + 1, sizeof(*again->args));
    again->copies = calloc(again->count + 1, sizeof(*again->copies));
    again->images = calloc(again->count + 1, sizeof(*again->images));
    again->were = calloc(again->count + 1, sizeof(*again->were));
    search->copies = calloc(again->count + 1, sizeof(*search->copies));
    if (!again->args || !again->copies || !again->images || !again->were ||
        !search->copies)
        return false;
    search->were = again->were;
    search->copy_count = again->count;
    search->left = most_copied();
    hdi_bound_give(again->bound, again->count, again->args);
    for (unsigned i = 0; i < again->count; i++) {
        if (!again->bound[i].buffer)
            continue;
        again->were[i] = (uint64_t)(uintptr_t)again->bound[i].address;
        if (again->bound[i].writes && !copy(again, i))
            return false;
    }
    return true;
}

static void clear(struct again *again)
{
    for (unsigned i = 0; again->copies && i < again->count; i++)
        hdi_unmap(again->copies[i].address, again->copies[i].size);
    for (unsigned i = 0; again->search->copies && i < again->count; i++)
        free(again->search->copies[i].made);
    free(again->search->copies);
    free(again->were);
    free(again->images);
    free(again->copies);
    free(again->args);
}

// Nothing here makes the launch fail: it has failed, and this only makes its
// text better. The second launch is like the first but for what would make it
// search again, cost, or run elsewhere.
const char *hdi_search_run(struct hdi_launcher *launcher,
                           const struct hd_kernel *kernel,
                           const struct hdi_frame *frame,
                           const struct hdi_bound *bound,
                           const struct hdi_terms *terms,
                           struct hdi_fault *fault)
{
    static const char starved[] = "the work-item is not named, for want of "
                                  "memory to run the work-groups again";
    struct hdi_search search = {.fault = fault};
    struct again again = {.launcher = launcher,
                          .count = kernel->info.arg_count,
                          .bound = bound,
                          .search = &search};
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
    if (!make(&again)) {
        clear(&again);
        return starved;
    }
    for (unsigned d = 0; d < frame->dims; d++) {
        range.global[d] = frame->global[d];
        range.offset[d] = frame->offset[d];
        range.local[d] = frame->local_size[d];
    }
    once.search = &search;
    once.part = NULL;
    once.cost = NULL;
    once.workers = NULL;
    once.worker_count = 0;
    once.tasks = false;
    once.time_limit = TIME_LIMIT;
    once.place = (struct hdi_place){.kind = HD_ANYWHERE};
    hd_status status = hdi_launch_with(
        launcher,
        &(struct hdi_request){again.kernel, &range, again.args, again.count},
        &once, &error);
    clear(&again);
    if (!search.found)
        return search.starved          ? starved
               : status == HD_ETIMEOUT ? "the work-item is not named, since "
                                         "the work-groups ran again for two "
                                         "seconds and had not come to it"
                                       : "the work-item did not fault again "
                                         "when the work-groups ran again";
    fault->has_item = true;
    memcpy(fault->item, search.item, sizeof(fault->item));
    memcpy(fault->first, search.group, sizeof(fault->first));
    // That of the access itself; in the code that faulted others had a part.
    if (search.line != 0) {
        fault->line = search.line;
        memcpy(fault->file, search.file, sizeof(fault->file));
    }
    return NULL;
}

struct hdi_box hdi_search_box(const struct hdi_search *search)
{
    struct hdi_box box = {0};

    memcpy(box.first, search->fault->first, sizeof(box.first));
    memcpy(box.count, search->fault->count, sizeof(box.count));
    return box;
}

// Accesses are found by the checker as they happen; this is for other faults.
void hdi_search_end(struct hdi_search *search, const struct hdi_fault *fault)
{
    const struct hdi_fault *wanted = search->fault;

    if (search->found || search->starved || !fault->has_item ||
        fault->kind != wanted->kind || fault->kind == HDI_FAULT_ACCESS ||
        (wanted->line != 0 && fault->line != wanted->line))
        return;
    search->found = true;
    memcpy(search->item, fault->item, sizeof(search->item));
    memcpy(search->group, fault->first, sizeof(search->group));
    search->line = fault->line;
    memcpy(search->file, fault->file, sizeof(search->file));
}
