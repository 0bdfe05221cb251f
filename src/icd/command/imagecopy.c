// Commands that move texels: copies and fills of images.
#include <string.h>

#include "icd/command/copy.h"
#include "icd/queue/event.h"

// What the host must not have promised: not to read, not to write.
static const cl_mem_flags no_read =
    CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS;
static const cl_mem_flags no_write =
    CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS;

// The first byte of a texel, at home.
static char *place_of(const struct _cl_mem *image, const size_t *origin)
{
    struct hdi_cl_extent e;

    hdi_cl_image_extent(image, &e);
    return hdi_cl_mem_bytes(image) + origin[2] * e.slice + origin[1] * e.row +
           origin[0] * e.texel;
}

// A copy of a region of an image, which side is still to be said.
//
// The pitches of the image on both sides: the caller replaces those of the side
// that is not the image.
static struct hdi_cl_copy region_of(const struct _cl_mem *image,
                                    const size_t *region)
{
    struct hdi_cl_extent e;

    hdi_cl_image_extent(image, &e);
    return (struct hdi_cl_copy){
        .region = {region[0] * e.texel, region[1], region[2]},
        .from_row = e.row,
        .from_slice = e.slice,
        .to_row = e.row,
        .to_slice = e.slice};
}

// Host memory beside an image: pitches that are 0 follow from the region.
//
// False: rows or slices would overlap. Pitches are in bytes.
static bool set_host(const struct _cl_mem *image, const size_t *region,
                     size_t row_, size_t slice_, size_t *row, size_t *slice)
{
    struct hdi_cl_extent e;

    hdi_cl_image_extent(image, &e);
    *row = row_ ? row_ : region[0] * e.texel;
    // The slice pitch of 1D arrays is what is between their lines.
    if (image->type == CL_MEM_OBJECT_IMAGE1D_ARRAY) {
        if (slice_)
            *row = slice_;
        *slice = *row * region[1];
        return *row >= region[0] * e.texel;
    }
    *slice = slice_ ? slice_ : *row * region[1];
    return *row >= region[0] * e.texel && *slice >= *row * region[1];
}

// What all functions on one image look at first, in this order.
static cl_int check_region(cl_command_queue queue, cl_mem image,
                           const size_t *origin, const size_t *region)
{
    if (!hdi_cl_is(HDI_CL_QUEUE, queue))
        return CL_INVALID_COMMAND_QUEUE;
    cl_int status = hdi_cl_check_mem(queue, image, true);
    return status == CL_SUCCESS ? hdi_cl_image_region(image, origin, region)
                                : status;
}

// The host's pitches are of its own memory; the image's are its own.
CL_API_ENTRY cl_int CL_API_CALL clEnqueueReadImage(
    cl_command_queue queue, cl_mem image, cl_bool blocks, const size_t *origin,
    const size_t *region, size_t row, size_t slice, void *host,
    cl_uint wait_count, const cl_event *wait_list, cl_event *event)
{
    cl_int status = check_region(queue, image, origin, region);
    if (status != CL_SUCCESS)
        return status;
    struct hdi_cl_copy copy = region_of(image, region);
    if (!host ||
        !set_host(image, region, row, slice, &copy.to_row, &copy.to_slice))
        return CL_INVALID_VALUE;
    status = hdi_cl_check_host(queue, image, no_read, wait_count, wait_list);
    if (status != CL_SUCCESS)
        return status;
    copy.from = place_of(image, origin);
    copy.to = host;
    copy.from_mem = image;
    return hdi_cl_enqueue_copy(queue, CL_COMMAND_READ_IMAGE, &copy, blocks,
                               wait_count, wait_list, event);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueWriteImage(
    cl_command_queue queue, cl_mem image, cl_bool blocks, const size_t *origin,
    const size_t *region, size_t row, size_t slice, const void *host,
    cl_uint wait_count, const cl_event *wait_list, cl_event *event)
{
    cl_int status = check_region(queue, image, origin, region);
    if (status != CL_SUCCESS)
        return status;
    struct hdi_cl_copy copy = region_of(image, region);
    if (!host ||
        !set_host(image, region, row, slice, &copy.from_row, &copy.from_slice))
        return CL_INVALID_VALUE;
    status = hdi_cl_check_host(queue, image, no_write, wait_count, wait_list);
    if (status != CL_SUCCESS)
        return status;
    copy.from = (char *)(uintptr_t)host;
    copy.to = place_of(image, origin);
    copy.to_mem = image;
    return hdi_cl_enqueue_copy(queue, CL_COMMAND_WRITE_IMAGE, &copy, blocks,
                               wait_count, wait_list, event);
}

// Boxes of texels of one image overlap if they do along each axis.
static bool overlap(const size_t *a, const size_t *b, const size_t *region)
{
    for (int i = 0; i < 3; i++)
        if (a[i] + region[i] <= b[i] || b[i] + region[i] <= a[i])
            return false;
    return true;
}

// Bytes are copied, so the formats must be the same; nothing is converted.
CL_API_ENTRY cl_int CL_API_CALL clEnqueueCopyImage(
    cl_command_queue queue, cl_mem from, cl_mem to, const size_t *from_origin,
    const size_t *to_origin, const size_t *region, cl_uint wait_count,
    const cl_event *wait_list, cl_event *event)
{
    cl_int status;

    if (!hdi_cl_is(HDI_CL_QUEUE, queue))
        return CL_INVALID_COMMAND_QUEUE;
    if ((status = hdi_cl_check_mem(queue, from, true)) != CL_SUCCESS ||
        (status = hdi_cl_check_mem(queue, to, true)) != CL_SUCCESS)
        return status;
    if (from->format.image_channel_order != to->format.image_channel_order ||
        from->format.image_channel_data_type !=
            to->format.image_channel_data_type)
        return CL_IMAGE_FORMAT_MISMATCH;
    if ((status = hdi_cl_image_region(from, from_origin, region)) !=
            CL_SUCCESS ||
        (status = hdi_cl_image_region(to, to_origin, region)) != CL_SUCCESS ||
        (status = hdi_cl_check_wait(queue->context, wait_count, wait_list)) !=
            CL_SUCCESS)
        return status;
    if (from == to && overlap(from_origin, to_origin, region))
        return CL_MEM_COPY_OVERLAP;
    struct hdi_cl_copy copy = region_of(from, region);
    struct hdi_cl_copy there = region_of(to, region);
    copy.to_row = there.to_row;
    copy.to_slice = there.to_slice;
    copy.from = place_of(from, from_origin);
    copy.to = place_of(to, to_origin);
    copy.from_mem = from;
    copy.to_mem = to;
    return hdi_cl_enqueue_copy(queue, CL_COMMAND_COPY_IMAGE, &copy, CL_FALSE,
                               wait_count, wait_list, event);
}

// What image and buffer have to fulfil; the region packed is in the buffer.
static cl_int check_mixed(cl_command_queue queue, cl_mem image,
                          const size_t *origin, const size_t *region,
                          cl_mem buffer, size_t offset, cl_uint wait_count,
                          const cl_event *wait_list)
{
    cl_int status;
    size_t bytes;

    // Lines of texels are the buffer's own bytes.
    if (image->type == CL_MEM_OBJECT_IMAGE1D_BUFFER && image->parent == buffer)
        return CL_INVALID_MEM_OBJECT;
    if ((status = hdi_cl_image_region(image, origin, region)) != CL_SUCCESS)
        return status;
    struct hdi_cl_copy c = region_of(image, region);
    bytes = c.region[0] * c.region[1] * c.region[2];
    if (offset > buffer->size || bytes > buffer->size - offset)
        return CL_INVALID_VALUE;
    return hdi_cl_check_wait(queue->context, wait_count, wait_list);
}

// In the buffer rows and slices lie without gaps.
CL_API_ENTRY cl_int CL_API_CALL clEnqueueCopyImageToBuffer(
    cl_command_queue queue, cl_mem image, cl_mem buffer, const size_t *origin,
    const size_t *region, size_t offset, cl_uint wait_count,
    const cl_event *wait_list, cl_event *event)
{
    cl_int status;

    if (!hdi_cl_is(HDI_CL_QUEUE, queue))
        return CL_INVALID_COMMAND_QUEUE;
    if ((status = hdi_cl_check_mem(queue, image, true)) != CL_SUCCESS ||
        (status = hdi_cl_check_mem(queue, buffer, false)) != CL_SUCCESS ||
        (status = check_mixed(queue, image, origin, region, buffer, offset,
                              wait_count, wait_list)) != CL_SUCCESS)
        return status;
    struct hdi_cl_copy copy = region_of(image, region);
    copy.to_row = copy.region[0];
    copy.to_slice = copy.region[0] * copy.region[1];
    copy.from = place_of(image, origin);
    copy.to = hdi_cl_mem_bytes(buffer) + offset;
    copy.from_mem = image;
    copy.to_mem = buffer;
    return hdi_cl_enqueue_copy(queue, CL_COMMAND_COPY_IMAGE_TO_BUFFER, &copy,
                               CL_FALSE, wait_count, wait_list, event);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueCopyBufferToImage(
    cl_command_queue queue, cl_mem buffer, cl_mem image, size_t offset,
    const size_t *origin, const size_t *region, cl_uint wait_count,
    const cl_event *wait_list, cl_event *event)
{
    cl_int status;

    if (!hdi_cl_is(HDI_CL_QUEUE, queue))
        return CL_INVALID_COMMAND_QUEUE;
    if ((status = hdi_cl_check_mem(queue, buffer, false)) != CL_SUCCESS ||
        (status = hdi_cl_check_mem(queue, image, true)) != CL_SUCCESS ||
        (status = check_mixed(queue, image, origin, region, buffer, offset,
                              wait_count, wait_list)) != CL_SUCCESS)
        return status;
    struct hdi_cl_copy copy = region_of(image, region);
    copy.from_row = copy.region[0];
    copy.from_slice = copy.region[0] * copy.region[1];
    copy.from = hdi_cl_mem_bytes(buffer) + offset;
    copy.to = place_of(image, origin);
    copy.from_mem = buffer;
    copy.to_mem = image;
    return hdi_cl_enqueue_copy(queue, CL_COMMAND_COPY_BUFFER_TO_IMAGE, &copy,
                               CL_FALSE, wait_count, wait_list, event);
}

// Filling ---------------------------------------------------------------------

// A payload: `to` is the first byte, `color` one texel as the image keeps it,
// made when it was enqueued; row and slice are pitches [bytes], and so is
// `texel`.
struct fill {
    struct _cl_mem *image; // held
    char *to;
    size_t region[3]; // [texels, rows, slices]
    size_t row, slice, texel;
    unsigned char color[16];
};

// Texel by texel: the sizes of texels are small and known only here.
static cl_int run_fill(const struct hdi_cl_running *here, void *payload)
{
    const struct fill *f = payload;
    const size_t bytes[3] = {f->region[0] * f->texel, f->region[1],
                             f->region[2]};
    cl_int status = hdi_cl_mem_use(f->image, f->to, bytes, f->row, f->slice,
                                   HDI_USE_OVERWRITE);

    (void)here;
    if (status != CL_SUCCESS)
        return status;
    for (size_t z = 0; z < f->region[2]; z++)
        for (size_t y = 0; y < f->region[1]; y++) {
            char *at = f->to + z * f->slice + y * f->row;
            for (size_t x = 0; x < f->region[0]; x++, at += f->texel)
                memcpy(at, f->color, f->texel);
        }
    return CL_COMPLETE;
}

static void end_fill(void *payload)
{
    struct fill *f = payload;

    hdi_cl_drop(f->image);
    free(f);
}

static const struct hdi_cl_work fill_work = {
    .type = CL_COMMAND_FILL_IMAGE, .run = run_fill, .end = end_fill};

// The colour is converted here, once, and not per texel.
CL_API_ENTRY cl_int CL_API_CALL clEnqueueFillImage(
    cl_command_queue queue, cl_mem image, const void *color,
    const size_t *origin, const size_t *region, cl_uint wait_count,
    const cl_event *wait_list, cl_event *event)
{
    struct hdi_cl_extent e;
    cl_int status;

    if (!hdi_cl_is(HDI_CL_QUEUE, queue))
        return CL_INVALID_COMMAND_QUEUE;
    if ((status = hdi_cl_check_mem(queue, image, true)) != CL_SUCCESS)
        return status;
    if (!color)
        return CL_INVALID_VALUE;
    if ((status = hdi_cl_image_region(image, origin, region)) != CL_SUCCESS ||
        (status = hdi_cl_check_wait(queue->context, wait_count, wait_list)) !=
            CL_SUCCESS)
        return status;
    struct fill *f = calloc(1, sizeof(*f));
    if (!f)
        return CL_OUT_OF_HOST_MEMORY;
    hdi_cl_image_extent(image, &e);
    hdi_cl_image_pack(&image->format, color, f->color);
    hdi_cl_hold(f->image = image);
    f->to = place_of(image, origin);
    memcpy(f->region, region, sizeof(f->region));
    f->row = e.row;
    f->slice = e.slice;
    f->texel = e.texel;
    return hdi_cl_enqueue(queue, &fill_work, f, CL_FALSE, wait_count, wait_list,
                          event);
}
