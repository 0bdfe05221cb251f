// Commands that copy and fill: buffers, boxes of buffers, images, pointers.
#include "tests/opencl/errors.h"

static const size_t at[3] = {0, 0, 0}, box[3] = {4, 4, 1}, flat[3] = {4, 0, 1};
static const size_t out[3] = {ERRORS_SIDE, 0, 0}, wide[3] = {2000, 1, 1};

// A command that takes the object next to the queue: what is none, what is of
// another kind and what is of another context.
#define OBJECT(name, wrong, foreign, ...)                                    \
    do {                                                                     \
        EACH(queue, IS(CL_INVALID_COMMAND_QUEUE, name, r->bad, __VA_ARGS__)) \
        IS(CL_INVALID_MEM_OBJECT, name, r->queue, wrong, REST(__VA_ARGS__)); \
        IS(CL_INVALID_CONTEXT, name, r->queue, foreign, REST(__VA_ARGS__));  \
        EACH(mem, IS(CL_INVALID_MEM_OBJECT, name, r->queue, r->bad,          \
                     REST(__VA_ARGS__)))                                     \
    } while (0)
#define REST(first, ...) __VA_ARGS__

// Whether the host may do that is looked at last.
#define HOST(name, hidden, limited, ...)                                       \
    do {                                                                       \
        IS(CL_INVALID_OPERATION, name, r->queue, hidden, __VA_ARGS__, 0, NULL, \
           NULL);                                                              \
        IS(CL_INVALID_OPERATION, name, r->queue, limited, __VA_ARGS__, 0,      \
           NULL, NULL);                                                        \
        IS(CL_INVALID_EVENT_WAIT_LIST, name, r->queue, hidden, __VA_ARGS__, 1, \
           NULL, NULL);                                                        \
    } while (0)

static void rows(struct errors *r)
{
    cl_mem m = r->mem, o = r->other_mem, i = r->image;
    cl_mem unseen =
        clCreateBuffer(r->context, CL_MEM_HOST_WRITE_ONLY, 64, NULL, &r->e);
    void *h = r->host;

    CL_OK(r->e);
    OBJECT(clEnqueueReadBuffer, i, o, m, 0, 0, 64, h, 0, NULL, NULL);
    IS(CL_INVALID_VALUE, clEnqueueReadBuffer, r->queue, m, 0, 0, 64, NULL, 1,
       NULL, NULL);
    IS(CL_INVALID_VALUE, clEnqueueReadBuffer, r->queue, m, 0, 1, ERRORS_BYTES,
       h, 1, NULL, NULL);
    IS(CL_INVALID_VALUE, clEnqueueReadBuffer, r->queue, m, 0, SIZE_MAX, 2, h, 0,
       NULL, NULL);
    IS(CL_INVALID_VALUE, clEnqueueReadBuffer, r->queue, r->hidden, 0, 1,
       ERRORS_BYTES, h, 0, NULL, NULL);
    IS(CL_SUCCESS, clEnqueueReadBuffer, r->queue, m, 1, 64, 0, h, 0, NULL,
       NULL);
    WAITS(clEnqueueReadBuffer, r->queue, m, 0, 0, 64, h);
    HOST(clEnqueueReadBuffer, r->hidden, unseen, 0, 0, 64, h);

    OBJECT(clEnqueueWriteBuffer, i, o, m, 0, 0, 64, h, 0, NULL, NULL);
    IS(CL_INVALID_VALUE, clEnqueueWriteBuffer, r->queue, m, 0, 0, 64, NULL, 1,
       NULL, NULL);
    IS(CL_INVALID_VALUE, clEnqueueWriteBuffer, r->queue, m, 0, 1, ERRORS_BYTES,
       h, 1, NULL, NULL);
    IS(CL_SUCCESS, clEnqueueWriteBuffer, r->queue, m, 1, 64, 0, h, 0, NULL,
       NULL);
    WAITS(clEnqueueWriteBuffer, r->queue, m, 0, 0, 64, h);
    HOST(clEnqueueWriteBuffer, r->hidden, r->unread, 0, 0, 64, h);

    OBJECT(clEnqueueCopyBuffer, i, o, m, m, 0, 64, 64, 0, NULL, NULL);
    EACH(mem, IS(CL_INVALID_MEM_OBJECT, clEnqueueCopyBuffer, r->queue, m,
                 r->bad, 0, 64, 64, 0, NULL, NULL))
    IS(CL_INVALID_CONTEXT, clEnqueueCopyBuffer, r->queue, m, o, 0, 64, 64, 0,
       NULL, NULL);
    IS(CL_INVALID_VALUE, clEnqueueCopyBuffer, r->queue, m, m, 1, 0,
       ERRORS_BYTES, 1, NULL, NULL);
    IS(CL_INVALID_VALUE, clEnqueueCopyBuffer, r->queue, m, m, 0, SIZE_MAX, 2, 0,
       NULL, NULL);
    WAITS(clEnqueueCopyBuffer, r->queue, m, m, 0, 64, 64);
    IS(CL_INVALID_EVENT_WAIT_LIST, clEnqueueCopyBuffer, r->queue, m, m, 0, 63,
       64, 1, NULL, NULL);
    IS(CL_MEM_COPY_OVERLAP, clEnqueueCopyBuffer, r->queue, m, m, 0, 63, 64, 0,
       NULL, NULL);
    IS(CL_MEM_COPY_OVERLAP, clEnqueueCopyBuffer, r->queue, m, r->part, 0, 0, 64,
       0, NULL, NULL);
    IS(CL_SUCCESS, clEnqueueCopyBuffer, r->queue, m, m, 0, 64, 64, 0, NULL,
       NULL);

    OBJECT(clEnqueueFillBuffer, i, o, m, h, 4, 0, 64, 0, NULL, NULL);
    IS(CL_INVALID_VALUE, clEnqueueFillBuffer, r->queue, m, NULL, 4, 0, 64, 1,
       NULL, NULL);
    IS(CL_INVALID_VALUE, clEnqueueFillBuffer, r->queue, m, h, 0, 0, 64, 0, NULL,
       NULL);
    IS(CL_INVALID_VALUE, clEnqueueFillBuffer, r->queue, m, h, 3, 0, 63, 0, NULL,
       NULL);
    IS(CL_INVALID_VALUE, clEnqueueFillBuffer, r->queue, m, h, 256, 0, 256, 0,
       NULL, NULL);
    IS(CL_INVALID_VALUE, clEnqueueFillBuffer, r->queue, m, h, 4, 2, 64, 0, NULL,
       NULL);
    IS(CL_INVALID_VALUE, clEnqueueFillBuffer, r->queue, m, h, 4, 0, 62, 0, NULL,
       NULL);
    IS(CL_INVALID_VALUE, clEnqueueFillBuffer, r->queue, m, h, 4, 4,
       ERRORS_BYTES, 0, NULL, NULL);
    WAITS(clEnqueueFillBuffer, r->queue, m, h, 4, 0, 64);
    CL_OK(clReleaseMemObject(unseen));
}

// What can be wrong with a box of `name`, whose calls end alike.
#define BOX(name, ...)                                                         \
    do {                                                                       \
        IS(CL_INVALID_VALUE, name, __VA_ARGS__, NULL, at, box, 0, 0, 0, 0,     \
           r->host, 1, NULL, NULL);                                            \
        IS(CL_INVALID_VALUE, name, __VA_ARGS__, at, NULL, box, 0, 0, 0, 0,     \
           r->host, 1, NULL, NULL);                                            \
        IS(CL_INVALID_VALUE, name, __VA_ARGS__, at, at, NULL, 0, 0, 0, 0,      \
           r->host, 0, NULL, NULL);                                            \
        IS(CL_INVALID_VALUE, name, __VA_ARGS__, at, at, flat, 0, 0, 0, 0,      \
           r->host, 0, NULL, NULL);                                            \
        IS(CL_INVALID_VALUE, name, __VA_ARGS__, at, at, wide, 0, 0, 0, 0,      \
           r->host, 0, NULL, NULL);                                            \
        IS(CL_INVALID_VALUE, name, __VA_ARGS__, at, at, box, 3, 0, 0, 0,       \
           r->host, 0, NULL, NULL);                                            \
        IS(CL_INVALID_VALUE, name, __VA_ARGS__, at, at, box, 0, 15, 0, 0,      \
           r->host, 0, NULL, NULL);                                            \
        IS(CL_INVALID_VALUE, name, __VA_ARGS__, at, at, box, 8, 36, 0, 0,      \
           r->host, 0, NULL, NULL);                                            \
        IS(CL_INVALID_VALUE, name, __VA_ARGS__, at, at, box, 0, 0, 3, 0,       \
           r->host, 0, NULL, NULL);                                            \
        IS(CL_INVALID_VALUE, name, __VA_ARGS__, at, at, box, 0, 0, 0, 15,      \
           r->host, 0, NULL, NULL);                                            \
        IS(CL_INVALID_VALUE, name, __VA_ARGS__, at, at, box, 0, 0, 0, 0, NULL, \
           0, NULL, NULL);                                                     \
        WAITS(name, __VA_ARGS__, at, at, box, 0, 0, 0, 0, r->host);            \
    } while (0)

static void boxes(struct errors *r)
{
    cl_mem m = r->mem, o = r->other_mem, i = r->image;
    cl_command_queue q = r->queue;
    const size_t near[3] = {1, 1, 0};

    OBJECT(clEnqueueReadBufferRect, i, o, m, 0, at, at, box, 0, 0, 0, 0,
           r->host, 0, NULL, NULL);
    BOX(clEnqueueReadBufferRect, q, m, 0);
    OBJECT(clEnqueueWriteBufferRect, i, o, m, 0, at, at, box, 0, 0, 0, 0,
           r->host, 0, NULL, NULL);
    BOX(clEnqueueWriteBufferRect, q, m, 0);
    HOST(clEnqueueReadBufferRect, r->hidden, r->hidden, 0, at, at, box, 0, 0, 0,
         0, r->host);
    HOST(clEnqueueWriteBufferRect, r->hidden, r->unread, 0, at, at, box, 0, 0,
         0, 0, r->host);

    OBJECT(clEnqueueCopyBufferRect, i, o, m, r->hidden, at, at, box, 0, 0, 0, 0,
           0, NULL, NULL);
    EACH(mem, IS(CL_INVALID_MEM_OBJECT, clEnqueueCopyBufferRect, q, m, r->bad,
                 at, at, box, 0, 0, 0, 0, 0, NULL, NULL))
    IS(CL_INVALID_CONTEXT, clEnqueueCopyBufferRect, q, m, o, at, at, box, 0, 0,
       0, 0, 0, NULL, NULL);
    IS(CL_INVALID_VALUE, clEnqueueCopyBufferRect, q, m, r->hidden, NULL, at,
       box, 0, 0, 0, 0, 1, NULL, NULL);
    IS(CL_INVALID_VALUE, clEnqueueCopyBufferRect, q, m, r->hidden, at, NULL,
       box, 0, 0, 0, 0, 1, NULL, NULL);
    IS(CL_INVALID_VALUE, clEnqueueCopyBufferRect, q, m, r->hidden, at, at, flat,
       0, 0, 0, 0, 0, NULL, NULL);
    IS(CL_INVALID_VALUE, clEnqueueCopyBufferRect, q, m, r->hidden, at, at, wide,
       0, 0, 0, 0, 0, NULL, NULL);
    IS(CL_INVALID_VALUE, clEnqueueCopyBufferRect, q, m, m, at, near, box, 8, 0,
       16, 0, 0, NULL, NULL);
    WAITS(clEnqueueCopyBufferRect, q, m, r->hidden, at, at, box, 0, 0, 0, 0);
    IS(CL_INVALID_EVENT_WAIT_LIST, clEnqueueCopyBufferRect, q, m, m, at, near,
       box, 16, 0, 16, 0, 1, NULL, NULL);
    IS(CL_MEM_COPY_OVERLAP, clEnqueueCopyBufferRect, q, m, m, at, near, box, 16,
       0, 16, 0, 0, NULL, NULL);
}

static void images(struct errors *r)
{
    cl_mem m = r->mem, i = r->image, o = r->other_image, u = r->unread_image;
    cl_command_queue q = r->queue;
    const size_t there[3] = {4, 4, 0};
    void *h = r->host;

    OBJECT(clEnqueueReadImage, m, o, i, 0, at, box, 0, 0, h, 0, NULL, NULL);
    OBJECT(clEnqueueWriteImage, m, o, i, 0, at, box, 0, 0, h, 0, NULL, NULL);
#define PIXELS(name)                                                         \
    IS(CL_INVALID_VALUE, name, q, i, 0, NULL, box, 0, 0, h, 1, NULL, NULL);  \
    IS(CL_INVALID_VALUE, name, q, i, 0, at, NULL, 0, 0, h, 1, NULL, NULL);   \
    IS(CL_INVALID_VALUE, name, q, i, 0, out, box, 0, 0, h, 0, NULL, NULL);   \
    IS(CL_INVALID_VALUE, name, q, i, 0, at, flat, 0, 0, h, 0, NULL, NULL);   \
    IS(CL_INVALID_VALUE, name, q, i, 0, at, box, 15, 0, h, 1, NULL, NULL);   \
    IS(CL_INVALID_VALUE, name, q, i, 0, at, box, 0, 0, NULL, 1, NULL, NULL); \
    WAITS(name, q, i, 0, at, box, 0, 0, h)
    PIXELS(clEnqueueReadImage);
    PIXELS(clEnqueueWriteImage);
#undef PIXELS
    HOST(clEnqueueReadImage, r->hidden_image, r->hidden_image, 0, at, box, 0, 0,
         h);
    HOST(clEnqueueWriteImage, r->hidden_image, r->unread_image, 0, at, box, 0,
         0, h);

    OBJECT(clEnqueueFillImage, m, o, i, h, at, box, 0, NULL, NULL);
    IS(CL_INVALID_VALUE, clEnqueueFillImage, q, i, NULL, at, box, 1, NULL,
       NULL);
    IS(CL_INVALID_VALUE, clEnqueueFillImage, q, i, h, NULL, box, 0, NULL, NULL);
    IS(CL_INVALID_VALUE, clEnqueueFillImage, q, i, h, out, box, 0, NULL, NULL);
    WAITS(clEnqueueFillImage, q, i, h, at, box);

    OBJECT(clEnqueueCopyImage, m, o, i, u, at, at, box, 0, NULL, NULL);
    EACH(mem, IS(CL_INVALID_MEM_OBJECT, clEnqueueCopyImage, q, i, r->bad, at,
                 at, box, 0, NULL, NULL))
    IS(CL_INVALID_CONTEXT, clEnqueueCopyImage, q, i, o, at, at, box, 0, NULL,
       NULL);
    const cl_image_format one = {CL_R, CL_FLOAT};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D,
                                .image_width = 8,
                                .image_height = 8};
    cl_mem floats = clCreateImage(r->context, 0, &one, &desc, NULL, &r->e);
    CL_OK(r->e);
    IS(CL_IMAGE_FORMAT_MISMATCH, clEnqueueCopyImage, q, i, floats, NULL, NULL,
       NULL, 1, NULL, NULL);
    CL_OK(clReleaseMemObject(floats));
    IS(CL_INVALID_VALUE, clEnqueueCopyImage, q, i, u, NULL, at, box, 1, NULL,
       NULL);
    IS(CL_INVALID_VALUE, clEnqueueCopyImage, q, i, u, at, out, box, 1, NULL,
       NULL);
    IS(CL_INVALID_VALUE, clEnqueueCopyImage, q, i, u, at, at, flat, 0, NULL,
       NULL);
    WAITS(clEnqueueCopyImage, q, i, u, at, at, box);
    IS(CL_INVALID_EVENT_WAIT_LIST, clEnqueueCopyImage, q, i, i, at, at, box, 1,
       NULL, NULL);
    IS(CL_MEM_COPY_OVERLAP, clEnqueueCopyImage, q, i, i, at, at, box, 0, NULL,
       NULL);
    IS(CL_SUCCESS, clEnqueueCopyImage, q, i, i, at, there, box, 0, NULL, NULL);

    OBJECT(clEnqueueCopyImageToBuffer, m, o, i, m, at, box, 0, 0, NULL, NULL);
    EACH(mem, IS(CL_INVALID_MEM_OBJECT, clEnqueueCopyImageToBuffer, q, i,
                 r->bad, at, box, 0, 0, NULL, NULL))
    IS(CL_INVALID_MEM_OBJECT, clEnqueueCopyImageToBuffer, q, r->line, m, at,
       box, 0, 0, NULL, NULL);
    IS(CL_INVALID_VALUE, clEnqueueCopyImageToBuffer, q, i, m, out, box, 0, 1,
       NULL, NULL);
    IS(CL_INVALID_VALUE, clEnqueueCopyImageToBuffer, q, i, m, at, box,
       ERRORS_BYTES, 1, NULL, NULL);
    WAITS(clEnqueueCopyImageToBuffer, q, i, m, at, box, 0);
    OBJECT(clEnqueueCopyBufferToImage, i, r->other_mem, m, i, 0, at, box, 0,
           NULL, NULL);
    EACH(mem, IS(CL_INVALID_MEM_OBJECT, clEnqueueCopyBufferToImage, q, m,
                 r->bad, 0, at, box, 0, NULL, NULL))
    IS(CL_INVALID_MEM_OBJECT, clEnqueueCopyBufferToImage, q, m, r->line, 0, at,
       box, 0, NULL, NULL);
    IS(CL_INVALID_VALUE, clEnqueueCopyBufferToImage, q, m, i, 0, at, NULL, 1,
       NULL, NULL);
    IS(CL_INVALID_VALUE, clEnqueueCopyBufferToImage, q, m, i, SIZE_MAX, at, box,
       1, NULL, NULL);
    WAITS(clEnqueueCopyBufferToImage, q, m, i, 0, at, box);
}

// Both doors to the same commands.
#define POINTERS(row, copy, fill)                                              \
    EACH(queue, row(CL_INVALID_COMMAND_QUEUE, copy, r->bad, 0, h, NULL, 16, 1, \
                    NULL, NULL))                                               \
    row(CL_INVALID_VALUE, copy, q, 0, NULL, h, 16, 1, NULL, NULL);             \
    row(CL_INVALID_VALUE, copy, q, 0, h, NULL, 16, 1, NULL, NULL);             \
    row(CL_INVALID_EVENT_WAIT_LIST, copy, q, 0, h, h + 8, 16, 1, NULL, NULL);  \
    row(CL_MEM_COPY_OVERLAP, copy, q, 0, h, h + 8, 16, 0, NULL, NULL);         \
    row(CL_INVALID_CONTEXT, copy, q, 0, h, h + 64, 16, 1, &r->other_event,     \
        NULL);                                                                 \
    EACH(queue, row(CL_INVALID_COMMAND_QUEUE, fill, r->bad, h, h, 3, 16, 1,    \
                    NULL, NULL))                                               \
    row(CL_INVALID_VALUE, fill, q, NULL, h, 4, 16, 1, NULL, NULL);             \
    row(CL_INVALID_VALUE, fill, q, h, NULL, 4, 16, 0, NULL, NULL);             \
    row(CL_INVALID_VALUE, fill, q, h, h, 0, 16, 0, NULL, NULL);                \
    row(CL_INVALID_VALUE, fill, q, h, h, 3, 15, 0, NULL, NULL);                \
    row(CL_INVALID_VALUE, fill, q, h, h, 256, 256, 0, NULL, NULL);             \
    row(CL_INVALID_VALUE, fill, q, h, h, 4, 15, 0, NULL, NULL);                \
    row(CL_INVALID_VALUE, fill, q, h + 1, h, 4, 16, 0, NULL, NULL);            \
    row(CL_INVALID_EVENT_WAIT_LIST, fill, q, h, h, 4, 16, 1, NULL, NULL)

static void pointers(struct errors *r)
{
    unsigned char *h = (unsigned char *)r->host;
    cl_command_queue q = r->queue;

    POINTERS(IS, clEnqueueSVMMemcpy, clEnqueueSVMMemFill);
    POINTERS(EXT, clEnqueueMemcpyINTEL, clEnqueueMemFillINTEL);
}

void errors_copy(struct errors *r)
{
    rows(r);
    boxes(r);
    images(r);
    pointers(r);
}
