// Copies and fills of buffers.
#include "icd/command/copy.h"
#include "icd/queue/event.h"

#include <string.h>

#include "base/memory.h"

cl_int hdi_cl_check_mem(cl_command_queue queue, cl_mem mem, bool image)
{
    if (!hdi_cl_is(HDI_CL_MEM, mem) || hdi_cl_is_image(mem) != image)
        return CL_INVALID_MEM_OBJECT;
    return mem->context == queue->context ? CL_SUCCESS : CL_INVALID_CONTEXT;
}

// Running ---------------------------------------------------------------------

// On a worker, all of it in one go. memmove() and not memcpy(): the host's
// memory may be that of the object (CL_MEM_USE_HOST_PTR). An error of bringing
// memory is the command's status, and nothing was copied then.
static cl_int run_copy(const struct hdi_cl_running *at, void *payload)
{
    const struct hdi_cl_copy *c = payload;
    cl_int status = CL_SUCCESS;

    (void)at;
    if (c->from_mem)
        status = hdi_cl_mem_use(c->from_mem, c->from, c->region, c->from_row,
                                c->from_slice, HDI_USE_READ);
    if (status == CL_SUCCESS && c->to_mem)
        status = hdi_cl_mem_use(c->to_mem, c->to, c->region, c->to_row,
                                c->to_slice, HDI_USE_OVERWRITE);
    if (status != CL_SUCCESS)
        return status;
    // Rows that lie side by side are one.
    if (c->from_row == c->region[0] && c->to_row == c->region[0] &&
        (c->region[2] == 1 || (c->from_slice == c->region[0] * c->region[1] &&
                               c->to_slice == c->from_slice))) {
        memmove(c->to, c->from, c->region[0] * c->region[1] * c->region[2]);
        return CL_COMPLETE;
    }
    for (size_t z = 0; z < c->region[2]; z++)
        for (size_t y = 0; y < c->region[1]; y++)
            memmove(c->to + z * c->to_slice + y * c->to_row,
                    c->from + z * c->from_slice + y * c->from_row,
                    c->region[0]);
    return CL_COMPLETE;
}

static void end_copy(void *payload)
{
    struct hdi_cl_copy *copy = payload;

    hdi_cl_drop(copy->from_mem);
    hdi_cl_drop(copy->to_mem);
    free(copy);
}

// The payload of a fill: `pattern` has room for the largest that is allowed.
struct fill {
    struct _cl_mem *mem; // held; or NULL
    char *to;
    size_t size, pattern_size; // [bytes]
    unsigned char pattern[128];
};

// The pattern is laid down once and then doubled; above 16 KiB the first part
// is copied again and again, which stays in the first-level cache, instead of
// reading back what was just written to memory. `most` stays a multiple of the
// pattern, so that it never breaks.
static cl_int run_fill(const struct hdi_cl_running *at, void *payload)
{
    const struct fill *f = payload;
    size_t done = f->pattern_size < f->size ? f->pattern_size : f->size;
    const size_t region[3] = {f->size, 1, 1};
    cl_int status = f->mem ? hdi_cl_mem_use(f->mem, f->to, region, f->size,
                                            f->size, HDI_USE_OVERWRITE)
                           : CL_SUCCESS;

    (void)at;
    if (status != CL_SUCCESS)
        return status;
    if (f->pattern_size == 1) {
        memset(f->to, f->pattern[0], f->size);
        return CL_COMPLETE;
    }
    memcpy(f->to, f->pattern, done);
    // What is there is copied behind itself, up to what stays in a cache.
    while (done < f->size) {
        size_t most =
            done < 16384 ? done : 16384 / f->pattern_size * f->pattern_size;
        size_t n = f->size - done < most ? f->size - done : most;
        memcpy(f->to + done, f->to, n);
        done += n;
    }
    return CL_COMPLETE;
}

static void end_fill(void *payload)
{
    struct fill *f = payload;

    hdi_cl_drop(f->mem);
    free(f);
}

// One description per type of command.
#define COPY(name) {.type = name, .run = run_copy, .end = end_copy},

static const struct hdi_cl_work copies[] = {
    COPY(CL_COMMAND_READ_BUFFER) COPY(CL_COMMAND_WRITE_BUFFER)
        COPY(CL_COMMAND_COPY_BUFFER) COPY(CL_COMMAND_READ_IMAGE)
            COPY(CL_COMMAND_WRITE_IMAGE) COPY(CL_COMMAND_COPY_IMAGE)
                COPY(CL_COMMAND_COPY_IMAGE_TO_BUFFER)
                    COPY(CL_COMMAND_COPY_BUFFER_TO_IMAGE)
                        COPY(CL_COMMAND_READ_BUFFER_RECT)
                            COPY(CL_COMMAND_WRITE_BUFFER_RECT)
                                COPY(CL_COMMAND_COPY_BUFFER_RECT)
                                    COPY(CL_COMMAND_SVM_MEMCPY)
                                        COPY(CL_COMMAND_MEMCPY_INTEL)};

static const struct hdi_cl_work fills[] = {
    {.type = CL_COMMAND_FILL_BUFFER, .run = run_fill, .end = end_fill},
    {.type = CL_COMMAND_SVM_MEMFILL, .run = run_fill, .end = end_fill},
    {.type = CL_COMMAND_MEMFILL_INTEL, .run = run_fill, .end = end_fill}};

// The type is in the list: it is one of ours, not the application's.
static const struct hdi_cl_work *find(const struct hdi_cl_work *list,
                                      cl_command_type type)
{
    while (list->type != type)
        list++;
    return list;
}

// The payload holds both objects until the command has ended, so that an
// application may release them at once.
cl_int hdi_cl_enqueue_copy(struct _cl_command_queue *queue,
                           cl_command_type type, const struct hdi_cl_copy *copy,
                           cl_bool blocks, cl_uint wait_count,
                           const cl_event *wait_list, cl_event *event)
{
    struct hdi_cl_copy *kept = malloc(sizeof(*kept));
    if (!kept)
        return CL_OUT_OF_HOST_MEMORY;
    *kept = *copy;
    if (kept->from_mem)
        hdi_cl_hold(kept->from_mem);
    if (kept->to_mem)
        hdi_cl_hold(kept->to_mem);
    return hdi_cl_enqueue(queue, find(copies, type), kept, blocks, wait_count,
                          wait_list, event);
}

cl_int hdi_cl_enqueue_fill(struct _cl_command_queue *queue,
                           cl_command_type type, struct _cl_mem *mem, char *to,
                           const void *pattern, size_t pattern_size,
                           size_t size, cl_uint wait_count,
                           const cl_event *wait_list, cl_event *event)
{
    struct fill *f = malloc(sizeof(*f));
    if (!f)
        return CL_OUT_OF_HOST_MEMORY;
    *f = (struct fill){
        .mem = mem, .to = to, .size = size, .pattern_size = pattern_size};
    memcpy(f->pattern, pattern, pattern_size);
    if (mem)
        hdi_cl_hold(mem);
    return hdi_cl_enqueue(queue, find(fills, type), f, CL_FALSE, wait_count,
                          wait_list, event);
}

// Buffers in a row ------------------------------------------------------------

// Without an addition that could overflow.
static bool is_inside(const struct _cl_mem *mem, size_t offset, size_t size)
{
    return offset <= mem->size && size <= mem->size - offset;
}

// One row of bytes; who holds what is still to be said.
static struct hdi_cl_copy row(char *to, char *from, size_t size)
{
    return (struct hdi_cl_copy){.to = to,
                                .from = from,
                                .region = {size, 1, 1},
                                .from_row = size,
                                .to_row = size};
}

static const cl_mem_flags no_read =
    CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS;
static const cl_mem_flags no_write =
    CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS;

static cl_int check_buffer(cl_command_queue queue, cl_mem mem)
{
    return hdi_cl_is(HDI_CL_QUEUE, queue) ? hdi_cl_check_mem(queue, mem, false)
                                          : CL_INVALID_COMMAND_QUEUE;
}

// `forbidden` are the flags of an object that the host promised not to use so.
cl_int hdi_cl_check_host(cl_command_queue queue, cl_mem mem,
                         cl_mem_flags forbidden, cl_uint wait_count,
                         const cl_event *wait_list)
{
    cl_int status = hdi_cl_check_wait(queue->context, wait_count, wait_list);

    if (status == CL_SUCCESS && (mem->flags & forbidden))
        status = CL_INVALID_OPERATION;
    return status;
}

CL_API_ENTRY cl_int CL_API_CALL
clEnqueueReadBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocks,
                    size_t offset, size_t size, void *host, cl_uint wait_count,
                    const cl_event *wait_list, cl_event *event)
{
    cl_int status = check_buffer(queue, mem);
    if (status != CL_SUCCESS)
        return status;
    if (!host || !is_inside(mem, offset, size))
        return CL_INVALID_VALUE;
    status = hdi_cl_check_host(queue, mem, no_read, wait_count, wait_list);
    if (status != CL_SUCCESS)
        return status;
    struct hdi_cl_copy copy = row(host, hdi_cl_mem_bytes(mem) + offset, size);
    copy.from_mem = mem;
    return hdi_cl_enqueue_copy(queue, CL_COMMAND_READ_BUFFER, &copy, blocks,
                               wait_count, wait_list, event);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueWriteBuffer(
    cl_command_queue queue, cl_mem mem, cl_bool blocks, size_t offset,
    size_t size, const void *host, cl_uint wait_count,
    const cl_event *wait_list, cl_event *event)
{
    cl_int status = check_buffer(queue, mem);
    if (status != CL_SUCCESS)
        return status;
    if (!host || !is_inside(mem, offset, size))
        return CL_INVALID_VALUE;
    status = hdi_cl_check_host(queue, mem, no_write, wait_count, wait_list);
    if (status != CL_SUCCESS)
        return status;
    struct hdi_cl_copy copy =
        row(hdi_cl_mem_bytes(mem) + offset, (char *)(uintptr_t)host, size);
    copy.to_mem = mem;
    return hdi_cl_enqueue_copy(queue, CL_COMMAND_WRITE_BUFFER, &copy, blocks,
                               wait_count, wait_list, event);
}

// Both buffers, the first one's errors first.
static cl_int check_two(cl_command_queue queue, cl_mem from, cl_mem to)
{
    cl_int status = check_buffer(queue, from);

    return status == CL_SUCCESS ? hdi_cl_check_mem(queue, to, false) : status;
}

// Two sub-buffers of one buffer may overlap: it is the addresses that count.
CL_API_ENTRY cl_int CL_API_CALL clEnqueueCopyBuffer(
    cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset,
    size_t to_offset, size_t size, cl_uint wait_count,
    const cl_event *wait_list, cl_event *event)
{
    cl_int status = check_two(queue, from, to);
    if (status != CL_SUCCESS)
        return status;
    if (!is_inside(from, from_offset, size) || !is_inside(to, to_offset, size))
        return CL_INVALID_VALUE;
    status = hdi_cl_check_wait(queue->context, wait_count, wait_list);
    if (status != CL_SUCCESS)
        return status;
    struct hdi_cl_copy copy = row(hdi_cl_mem_bytes(to) + to_offset,
                                  hdi_cl_mem_bytes(from) + from_offset, size);
    if (from->buffer == to->buffer && copy.to < copy.from + size &&
        copy.from < copy.to + size)
        return CL_MEM_COPY_OVERLAP;
    copy.from_mem = from;
    copy.to_mem = to;
    return hdi_cl_enqueue_copy(queue, CL_COMMAND_COPY_BUFFER, &copy, CL_FALSE,
                               wait_count, wait_list, event);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueFillBuffer(
    cl_command_queue queue, cl_mem mem, const void *pattern,
    size_t pattern_size, size_t offset, size_t size, cl_uint wait_count,
    const cl_event *wait_list, cl_event *event)
{
    cl_int status;

    if (!hdi_cl_is(HDI_CL_QUEUE, queue))
        return CL_INVALID_COMMAND_QUEUE;
    if ((status = hdi_cl_check_mem(queue, mem, false)) != CL_SUCCESS)
        return status;
    if (!is_inside(mem, offset, size) || !pattern || pattern_size == 0 ||
        pattern_size > 128 || (pattern_size & (pattern_size - 1)) ||
        offset % pattern_size != 0 || size % pattern_size != 0)
        return CL_INVALID_VALUE;
    status = hdi_cl_check_wait(queue->context, wait_count, wait_list);
    if (status != CL_SUCCESS)
        return status;
    return hdi_cl_enqueue_fill(
        queue, CL_COMMAND_FILL_BUFFER, mem, hdi_cl_mem_bytes(mem) + offset,
        pattern, pattern_size, size, wait_count, wait_list, event);
}

// Boxes of buffers ------------------------------------------------------------

// One side of a copy: pitches, made up where they are 0, and where the box
// begins and ends in it [bytes].
struct side {
    size_t row, slice, begin, end;
};

// False: the box is no box (rows or slices overlap), or a product or a sum has
// no place in 64 bits. Slices that are given have whole rows, as the standard
// has it. No dimension of the region is 0 (is_box()), hence the subtractions.
static bool set_side(const size_t *origin, const size_t *region, size_t row_,
                     size_t slice, struct side *side)
{
    uint64_t a, b, c, d;

    side->row = row_ ? row_ : region[0];
    if (side->row < region[0] || !hdi_multiply(region[1], side->row, &a))
        return false;
    side->slice = slice ? slice : a;
    if (side->slice < a || (slice && side->slice % side->row != 0) ||
        !hdi_multiply(origin[2], side->slice, &a) ||
        !hdi_multiply(origin[1], side->row, &b) ||
        !hdi_multiply(region[2] - 1, side->slice, &c) ||
        !hdi_multiply(region[1] - 1, side->row, &d) ||
        __builtin_add_overflow(a, b, &side->begin) ||
        __builtin_add_overflow(side->begin, origin[0], &side->begin) ||
        __builtin_add_overflow(side->begin, c, &side->end) ||
        __builtin_add_overflow(side->end, d, &side->end) ||
        __builtin_add_overflow(side->end, region[0], &side->end))
        return false;
    return true;
}

// A region without a 0 in it, as set_side() needs.
static bool is_box(const size_t *region)
{
    return region && region[0] > 0 && region[1] > 0 && region[2] > 0;
}

// The same of boxes, whose sides set_side() has made.
static struct hdi_cl_copy box(char *to, const struct side *t, char *from,
                              const struct side *f, const size_t *region)
{
    return (struct hdi_cl_copy){.to = to + t->begin,
                                .from = from + f->begin,
                                .region = {region[0], region[1], region[2]},
                                .to_row = t->row,
                                .to_slice = t->slice,
                                .from_row = f->row,
                                .from_slice = f->slice};
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueReadBufferRect(
    cl_command_queue queue, cl_mem mem, cl_bool blocks, const size_t *origin,
    const size_t *host_origin, const size_t *region, size_t row_pitch,
    size_t slice_pitch, size_t host_row, size_t host_slice, void *host,
    cl_uint wait_count, const cl_event *wait_list, cl_event *event)
{
    struct side here, there;
    cl_int status = check_buffer(queue, mem);
    if (status != CL_SUCCESS)
        return status;
    if (!host || !origin || !host_origin || !is_box(region) ||
        !set_side(origin, region, row_pitch, slice_pitch, &here) ||
        !set_side(host_origin, region, host_row, host_slice, &there) ||
        here.end > mem->size)
        return CL_INVALID_VALUE;
    status = hdi_cl_check_host(queue, mem, no_read, wait_count, wait_list);
    if (status != CL_SUCCESS)
        return status;
    struct hdi_cl_copy copy =
        box(host, &there, hdi_cl_mem_bytes(mem), &here, region);
    copy.from_mem = mem;
    return hdi_cl_enqueue_copy(queue, CL_COMMAND_READ_BUFFER_RECT, &copy,
                               blocks, wait_count, wait_list, event);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueWriteBufferRect(
    cl_command_queue queue, cl_mem mem, cl_bool blocks, const size_t *origin,
    const size_t *host_origin, const size_t *region, size_t row_pitch,
    size_t slice_pitch, size_t host_row, size_t host_slice, const void *host,
    cl_uint wait_count, const cl_event *wait_list, cl_event *event)
{
    struct side here, there;
    cl_int status = check_buffer(queue, mem);
    if (status != CL_SUCCESS)
        return status;
    if (!host || !origin || !host_origin || !is_box(region) ||
        !set_side(origin, region, row_pitch, slice_pitch, &here) ||
        !set_side(host_origin, region, host_row, host_slice, &there) ||
        here.end > mem->size)
        return CL_INVALID_VALUE;
    status = hdi_cl_check_host(queue, mem, no_write, wait_count, wait_list);
    if (status != CL_SUCCESS)
        return status;
    struct hdi_cl_copy copy = box(hdi_cl_mem_bytes(mem), &here,
                                  (char *)(uintptr_t)host, &there, region);
    copy.to_mem = mem;
    return hdi_cl_enqueue_copy(queue, CL_COMMAND_WRITE_BUFFER_RECT, &copy,
                               blocks, wait_count, wait_list, event);
}

// Whether two boxes of one buffer with the same pitches have bytes in common.
//
// Exact, not by extents: boxes side by side within the same rows are allowed.
// The distance between the two beginnings is taken apart into slices, rows and
// bytes; the second time round it is seen from the next slice back.
static bool overlap(const struct hdi_cl_copy *c, const struct side *t,
                    const struct side *f)
{
    size_t a = (size_t)(uintptr_t)c->from, b = (size_t)(uintptr_t)c->to;
    size_t low = a < b ? a : b, apart = a < b ? b - a : a - b;
    size_t extent = f->end - f->begin;

    (void)low;
    if (apart >= extent || apart >= t->end - t->begin)
        return false;
    // Row by row: the distance as slices, rows and bytes, either way round.
    size_t z = apart / c->from_slice, rest = apart % c->from_slice;
    for (int up = 0; up < 2; up++, z++) {
        if (z >= c->region[2])
            continue;
        size_t within = up ? c->from_slice - rest : rest;
        size_t y = within / c->from_row, x = within % c->from_row;
        if (y < c->region[1] && x < c->region[0])
            return true;
        if (y + 1 < c->region[1] && c->from_row - x < c->region[0])
            return true;
    }
    return false;
}

// Boxes of different pitches in one buffer are refused where both are the same
// object; for two sub-buffers overlap is only looked for with equal pitches.
CL_API_ENTRY cl_int CL_API_CALL clEnqueueCopyBufferRect(
    cl_command_queue queue, cl_mem from, cl_mem to, const size_t *from_origin,
    const size_t *to_origin, const size_t *region, size_t from_row,
    size_t from_slice, size_t to_row, size_t to_slice, cl_uint wait_count,
    const cl_event *wait_list, cl_event *event)
{
    struct side f, t;
    cl_int status = check_two(queue, from, to);
    if (status != CL_SUCCESS)
        return status;
    if (!from_origin || !to_origin || !is_box(region) ||
        !set_side(from_origin, region, from_row, from_slice, &f) ||
        !set_side(to_origin, region, to_row, to_slice, &t) ||
        f.end > from->size || t.end > to->size ||
        (from == to && (f.row != t.row || f.slice != t.slice)))
        return CL_INVALID_VALUE;
    status = hdi_cl_check_wait(queue->context, wait_count, wait_list);
    if (status != CL_SUCCESS)
        return status;
    struct hdi_cl_copy copy =
        box(hdi_cl_mem_bytes(to), &t, hdi_cl_mem_bytes(from), &f, region);
    if (from->buffer == to->buffer && f.row == t.row && f.slice == t.slice &&
        overlap(&copy, &t, &f))
        return CL_MEM_COPY_OVERLAP;
    copy.from_mem = from;
    copy.to_mem = to;
    return hdi_cl_enqueue_copy(queue, CL_COMMAND_COPY_BUFFER_RECT, &copy,
                               CL_FALSE, wait_count, wait_list, event);
}

// Where memory is -------------------------------------------------------------

// The payload of a migration.
struct moved {
    cl_mem_migration_flags flags;
    cl_uint count;
    struct _cl_mem *mems[]; // held
};

static void end_move(void *payload)
{
    struct moved *m = payload;

    for (cl_uint i = 0; i < m->count; i++)
        hdi_cl_drop(m->mems[i]);
    free(m);
}

// To where the device has its memory; of parts of the processor that is home.
// The bytes are counted from the root of the buffer: `buffer` may be a part of
// one.
static cl_int move_one(const struct _cl_mem *mem, struct hdi_launcher *to,
                       enum hdi_use use)
{
    struct hd_buffer *root = hdi_buffer_root(mem->buffer);
    uint64_t begin = hdi_buffer_begin(mem->buffer) + mem->offset;
    struct hd_error error;

    if (to->device->can.host_memory)
        return hdi_cl_mem_use_all(mem, use);
    if (hdi_spread_use(root, to, begin, begin + mem->size, use, NULL, &error) ==
        HD_OK)
        return CL_SUCCESS;
    hdi_cl_context_tell(mem->context, error.text);
    return CL_MEM_OBJECT_ALLOCATION_FAILURE;
}

// What is not defined any more is not copied.
//
// It is a hint that is taken: the copy is made now instead of by the first
// kernel that needs it. The bytes stay valid at home as well, unless the
// application said that they do not matter.
static cl_int run_move(const struct hdi_cl_running *at, void *payload)
{
    const struct moved *m = payload;
    struct hdi_launcher *to = m->flags & CL_MIGRATE_MEM_OBJECT_HOST
                                  ? hdi_cl_launcher(at->queue->context)
                                  : hdi_cl_device_launcher(at->queue->device);
    enum hdi_use use = m->flags & CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED
                           ? HDI_USE_OVERWRITE
                           : HDI_USE_READ;
    cl_int status = CL_SUCCESS;

    for (cl_uint i = 0; i < m->count && status == CL_SUCCESS; i++)
        status = move_one(m->mems[i], to, use);
    return status == CL_SUCCESS ? CL_COMPLETE : status;
}

static const struct hdi_cl_work move_work = {
    .type = CL_COMMAND_MIGRATE_MEM_OBJECTS, .run = run_move, .end = end_move};

CL_API_ENTRY cl_int CL_API_CALL clEnqueueMigrateMemObjects(
    cl_command_queue queue, cl_uint count, const cl_mem *mems,
    cl_mem_migration_flags flags, cl_uint wait_count, const cl_event *wait_list,
    cl_event *event)
{
    const cl_mem_migration_flags known =
        CL_MIGRATE_MEM_OBJECT_HOST | CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED;

    if (!hdi_cl_is(HDI_CL_QUEUE, queue))
        return CL_INVALID_COMMAND_QUEUE;
    if (count == 0 || !mems || (flags & ~known))
        return CL_INVALID_VALUE;
    for (cl_uint i = 0; i < count; i++)
        if (!hdi_cl_is(HDI_CL_MEM, mems[i]))
            return CL_INVALID_MEM_OBJECT;
    for (cl_uint i = 0; i < count; i++)
        if (mems[i]->context != queue->context)
            return CL_INVALID_CONTEXT;
    cl_int status = hdi_cl_check_wait(queue->context, wait_count, wait_list);
    if (status != CL_SUCCESS)
        return status;
    struct moved *m = malloc(sizeof(*m) + count * sizeof(struct _cl_mem *));
    if (!m)
        return CL_OUT_OF_HOST_MEMORY;
    m->flags = flags;
    m->count = count;
    for (cl_uint i = 0; i < count; i++)
        hdi_cl_hold(m->mems[i] = mems[i]);
    return hdi_cl_enqueue(queue, &move_work, m, CL_FALSE, wait_count, wait_list,
                          event);
}
