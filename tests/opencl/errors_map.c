// Mapping, freeing and migrating.
#include "tests/opencl/errors.h"

static const size_t at[3] = {0, 0, 0}, box[3] = {4, 4, 1}, flat[3] = {4, 0, 1};

static void buffers(struct errors *r)
{
    const cl_map_flags reads = CL_MAP_READ, writes = CL_MAP_WRITE;
    const cl_map_flags both = CL_MAP_READ | CL_MAP_WRITE_INVALIDATE_REGION;
    cl_command_queue q = r->queue;
    cl_mem m = r->mem;

    EACH(queue, NONE(CL_INVALID_COMMAND_QUEUE, clEnqueueMapBuffer, r->bad, NULL,
                     1, reads, 0, 0, 1, NULL, NULL))
    EACH(mem, NONE(CL_INVALID_MEM_OBJECT, clEnqueueMapBuffer, q, r->bad, 1,
                   both, 0, 0, 1, NULL, NULL))
    NONE(CL_INVALID_MEM_OBJECT, clEnqueueMapBuffer, q, r->image, 1, reads, 0,
         64, 0, NULL, NULL);
    NONE(CL_INVALID_CONTEXT, clEnqueueMapBuffer, q, r->other_mem, 1, reads, 0,
         64, 0, NULL, NULL);
    NONE(CL_INVALID_VALUE, clEnqueueMapBuffer, q, m, 1, reads, 0, 0, 1, NULL,
         NULL);
    NONE(CL_INVALID_VALUE, clEnqueueMapBuffer, q, m, 1, reads, 1, ERRORS_BYTES,
         1, NULL, NULL);
    NONE(CL_INVALID_VALUE, clEnqueueMapBuffer, q, m, 1, both, 0, 64, 1, NULL,
         NULL);
    NONE(CL_INVALID_VALUE, clEnqueueMapBuffer, q, m, 1, 1u << 20, 0, 64, 1,
         NULL, NULL);
    NONE(CL_INVALID_EVENT_WAIT_LIST, clEnqueueMapBuffer, q, m, 1, reads, 0, 64,
         1, NULL, NULL);
    NONE(CL_INVALID_EVENT_WAIT_LIST, clEnqueueMapBuffer, q, r->hidden, 1, reads,
         0, 64, 0, &r->event, NULL);
    EACH(event, NONE(CL_INVALID_EVENT_WAIT_LIST, clEnqueueMapBuffer, q, m, 1,
                     reads, 0, 64, 1, (cl_event *)&r->bad, NULL))
    NONE(CL_INVALID_CONTEXT, clEnqueueMapBuffer, q, m, 1, reads, 0, 64, 1,
         &r->other_event, NULL);
    NONE(CL_INVALID_OPERATION, clEnqueueMapBuffer, q, r->hidden, 1, reads, 0,
         64, 0, NULL, NULL);
    NONE(CL_INVALID_OPERATION, clEnqueueMapBuffer, q, r->unread, 1, writes, 0,
         64, 0, NULL, NULL);
}

static void images(struct errors *r)
{
    const cl_map_flags reads = CL_MAP_READ;
    cl_command_queue q = r->queue;
    cl_mem i = r->image;
    size_t row, slice;

    EACH(queue, NONE(CL_INVALID_COMMAND_QUEUE, clEnqueueMapImage, r->bad, NULL,
                     1, reads, at, box, &row, &slice, 1, NULL, NULL))
    EACH(mem, NONE(CL_INVALID_MEM_OBJECT, clEnqueueMapImage, q, r->bad, 1,
                   reads, at, NULL, &row, &slice, 0, NULL, NULL))
    NONE(CL_INVALID_MEM_OBJECT, clEnqueueMapImage, q, r->mem, 1, reads, at, box,
         &row, &slice, 0, NULL, NULL);
    NONE(CL_INVALID_CONTEXT, clEnqueueMapImage, q, r->other_image, 1, reads, at,
         box, &row, &slice, 0, NULL, NULL);
    NONE(CL_INVALID_VALUE, clEnqueueMapImage, q, i, 1, reads, NULL, box, &row,
         &slice, 1, NULL, NULL);
    NONE(CL_INVALID_VALUE, clEnqueueMapImage, q, i, 1, reads, at, flat, &row,
         &slice, 1, NULL, NULL);
    NONE(CL_INVALID_VALUE, clEnqueueMapImage, q, i, 1, 1u << 20, at, box, &row,
         &slice, 1, NULL, NULL);
    NONE(CL_INVALID_VALUE, clEnqueueMapImage, q, i, 1, reads, at, box, NULL,
         &slice, 1, NULL, NULL);
    NONE(CL_INVALID_EVENT_WAIT_LIST, clEnqueueMapImage, q, r->hidden_image, 1,
         reads, at, box, &row, &slice, 1, NULL, NULL);
    NONE(CL_INVALID_CONTEXT, clEnqueueMapImage, q, i, 1, reads, at, box, &row,
         &slice, 1, &r->other_event, NULL);
    NONE(CL_INVALID_OPERATION, clEnqueueMapImage, q, r->hidden_image, 1, reads,
         at, box, &row, &slice, 0, NULL, NULL);
    NONE(CL_INVALID_OPERATION, clEnqueueMapImage, q, r->unread_image, 1,
         CL_MAP_WRITE, at, box, &row, &slice, 0, NULL, NULL);
}

static void unmapping(struct errors *r)
{
    cl_command_queue q = r->queue;
    void *p = clEnqueueMapBuffer(q, r->mem, CL_TRUE, CL_MAP_READ, 0, 64, 0,
                                 NULL, NULL, &r->e);
    cl_uint count = 0;

    CL_OK(r->e);
    EACH(queue, IS(CL_INVALID_COMMAND_QUEUE, clEnqueueUnmapMemObject, r->bad,
                   NULL, p, 1, NULL, NULL))
    EACH(mem, IS(CL_INVALID_MEM_OBJECT, clEnqueueUnmapMemObject, q, r->bad,
                 NULL, 1, NULL, NULL))
    IS(CL_INVALID_VALUE, clEnqueueUnmapMemObject, q, r->mem, NULL, 1, NULL,
       NULL);
    IS(CL_INVALID_VALUE, clEnqueueUnmapMemObject, q, r->mem, (char *)p + 4, 1,
       NULL, NULL);
    IS(CL_INVALID_VALUE, clEnqueueUnmapMemObject, q, r->part, p, 0, NULL, NULL);
    WAITS(clEnqueueUnmapMemObject, q, r->mem, p);
    IS(CL_INVALID_CONTEXT, clEnqueueUnmapMemObject, r->other.queue, r->mem, p,
       0, NULL, NULL);
    // What was refused has unmapped nothing.
    CL_OK(clGetMemObjectInfo(r->mem, CL_MEM_MAP_COUNT, sizeof(count), &count,
                             NULL));
    HOLDS(clEnqueueUnmapMemObject, count == 1);
    IS(CL_SUCCESS, clEnqueueUnmapMemObject, q, r->mem, p, 0, NULL, NULL);
    IS(CL_INVALID_VALUE, clEnqueueUnmapMemObject, q, r->mem, p, 0, NULL, NULL);
}

static void moves(struct errors *r)
{
    cl_command_queue q = r->queue;

    EACH(queue, IS(CL_INVALID_COMMAND_QUEUE, clEnqueueMigrateMemObjects, r->bad,
                   0, NULL, 0, 1, NULL, NULL))
    EACH(mem, IS(CL_INVALID_MEM_OBJECT, clEnqueueMigrateMemObjects, q, 1,
                 (cl_mem *)&r->bad, 0, 1, NULL, NULL))
    IS(CL_INVALID_CONTEXT, clEnqueueMigrateMemObjects, q, 1, &r->other_mem, 0,
       0, NULL, NULL);
    IS(CL_INVALID_VALUE, clEnqueueMigrateMemObjects, q, 0, &r->mem, 0, 1, NULL,
       NULL);
    IS(CL_INVALID_VALUE, clEnqueueMigrateMemObjects, q, 1, NULL, 0, 1, NULL,
       NULL);
    IS(CL_INVALID_VALUE, clEnqueueMigrateMemObjects, q, 1, &r->mem, 1u << 20, 1,
       NULL, NULL);
    WAITS(clEnqueueMigrateMemObjects, q, 1, &r->mem, 0);
}

static void shared(struct errors *r)
{
    cl_command_queue q = r->queue;
    const cl_map_flags both = CL_MAP_READ | CL_MAP_WRITE_INVALIDATE_REGION;
    char *p = clSVMAlloc(r->context, 0, 64, 0);
    void *list[] = {p};
    const void *pointers[] = {p}, *others[] = {r->host};
    const size_t sizes[] = {65};

    CHECK(p);
    EACH(queue, IS(CL_INVALID_COMMAND_QUEUE, clEnqueueSVMFree, r->bad, 0, list,
                   NULL, NULL, 1, NULL, NULL))
    IS(CL_INVALID_VALUE, clEnqueueSVMFree, q, 0, list, NULL, NULL, 1, NULL,
       NULL);
    IS(CL_INVALID_VALUE, clEnqueueSVMFree, q, 1, NULL, NULL, NULL, 1, NULL,
       NULL);
    WAITS(clEnqueueSVMFree, q, 1, list, NULL, NULL);

    EACH(queue, IS(CL_INVALID_COMMAND_QUEUE, clEnqueueSVMMap, r->bad, 1,
                   CL_MAP_READ, NULL, 64, 1, NULL, NULL))
    IS(CL_INVALID_VALUE, clEnqueueSVMMap, q, 1, CL_MAP_READ, NULL, 64, 1, NULL,
       NULL);
    IS(CL_INVALID_VALUE, clEnqueueSVMMap, q, 1, CL_MAP_READ, p, 0, 1, NULL,
       NULL);
    IS(CL_INVALID_VALUE, clEnqueueSVMMap, q, 1, both, p, 64, 1, NULL, NULL);
    IS(CL_INVALID_VALUE, clEnqueueSVMMap, q, 1, 1u << 20, p, 64, 0, NULL, NULL);
    WAITS(clEnqueueSVMMap, q, 0, CL_MAP_READ, p, 64);

    EACH(queue, IS(CL_INVALID_COMMAND_QUEUE, clEnqueueSVMUnmap, r->bad, NULL, 1,
                   NULL, NULL))
    IS(CL_INVALID_VALUE, clEnqueueSVMUnmap, q, NULL, 1, NULL, NULL);
    WAITS(clEnqueueSVMUnmap, q, p);

    EACH(queue, IS(CL_INVALID_COMMAND_QUEUE, clEnqueueSVMMigrateMem, r->bad, 0,
                   NULL, NULL, 0, 1, NULL, NULL))
    IS(CL_INVALID_VALUE, clEnqueueSVMMigrateMem, q, 0, pointers, NULL, 0, 1,
       NULL, NULL);
    IS(CL_INVALID_VALUE, clEnqueueSVMMigrateMem, q, 1, NULL, NULL, 0, 1, NULL,
       NULL);
    IS(CL_INVALID_VALUE, clEnqueueSVMMigrateMem, q, 1, pointers, NULL, 1u << 20,
       1, NULL, NULL);
    IS(CL_INVALID_VALUE, clEnqueueSVMMigrateMem, q, 1, pointers, sizes, 0, 1,
       NULL, NULL);
    IS(CL_INVALID_VALUE, clEnqueueSVMMigrateMem, q, 1, others, NULL, 0, 1, NULL,
       NULL);
    WAITS(clEnqueueSVMMigrateMem, q, 1, pointers, NULL, 0);
    clSVMFree(r->context, p);
}

void errors_map(struct errors *r)
{
    buffers(r);
    images(r);
    unmapping(r);
    moves(r);
    shared(r);
}
