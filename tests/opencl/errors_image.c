// Images: formats, descriptions, and memory that they are made of.
#include "tests/opencl/errors.h"

static const cl_image_format rgba = {CL_RGBA, CL_UNORM_INT8};
static const cl_image_format no_order = {1, CL_UNORM_INT8};
static const cl_image_format no_type = {CL_RGBA, 1};
// Known, and not to be had together.
static const cl_image_format mixed = {CL_RGBA, CL_UNORM_SHORT_565};

static cl_image_desc square(void)
{
    return (cl_image_desc){.image_type = CL_MEM_OBJECT_IMAGE2D,
                           .image_width = ERRORS_SIDE,
                           .image_height = ERRORS_SIDE};
}

#define IMAGE(expected, flags, format, host, ...)                           \
    do {                                                                    \
        cl_image_desc d = square();                                         \
        __VA_ARGS__;                                                        \
        NONE(expected, clCreateImage, r->context, flags, format, &d, host); \
    } while (0)

static void descriptions(struct errors *r)
{
    const cl_mem_flags both = CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY;
    const cl_mem_flags copies = CL_MEM_COPY_HOST_PTR;
    const cl_mem_properties unknown[] = {1, 1, 0};
    const cl_image_desc good = square();

    EACH(context,
         NONE(CL_INVALID_CONTEXT, clCreateImage, r->bad, 0, &rgba, &good, NULL))
    EACH(context, NONE(CL_INVALID_CONTEXT, clCreateImageWithProperties, r->bad,
                       unknown, both, NULL, NULL, NULL))
    NONE(CL_INVALID_PROPERTY, clCreateImageWithProperties, r->context, unknown,
         both, NULL, NULL, NULL);
    NONE(CL_INVALID_VALUE, clCreateImageWithProperties, r->context, NULL, both,
         NULL, NULL, NULL);
    NONE(CL_INVALID_VALUE, clCreateImage, r->context, both, &rgba, &good, NULL);
    NONE(CL_INVALID_VALUE, clCreateImage, r->context, 1ull << 40, &no_order,
         NULL, NULL);
    NONE(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, clCreateImage, r->context, 0, NULL,
         NULL, NULL);
    NONE(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, clCreateImage, r->context, 0,
         &no_order, &good, NULL);
    NONE(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, clCreateImage, r->context, 0,
         &no_type, NULL, NULL);
    NONE(CL_INVALID_IMAGE_DESCRIPTOR, clCreateImage, r->context, 0, &rgba, NULL,
         NULL);
    NONE(CL_INVALID_IMAGE_DESCRIPTOR, clCreateImage, r->context, 0, &mixed,
         NULL, NULL);
    IMAGE(CL_INVALID_IMAGE_DESCRIPTOR, 0, &rgba, NULL, d.image_type = 1);
    IMAGE(CL_INVALID_IMAGE_DESCRIPTOR, 0, &rgba, NULL,
          d.image_type = CL_MEM_OBJECT_BUFFER);
    IMAGE(CL_INVALID_IMAGE_DESCRIPTOR, 0, &rgba, NULL, d.num_mip_levels = 1);
    IMAGE(CL_INVALID_IMAGE_DESCRIPTOR, 0, &rgba, NULL, d.num_samples = 1);
    IMAGE(CL_INVALID_IMAGE_DESCRIPTOR, 0, &rgba, NULL, d.image_row_pitch = 64);
    IMAGE(CL_INVALID_IMAGE_DESCRIPTOR, copies, &rgba, r->host,
          d.image_row_pitch = 63);
    IMAGE(CL_INVALID_IMAGE_DESCRIPTOR, copies, &rgba, r->host,
          d.image_row_pitch = 4);
    IMAGE(CL_INVALID_IMAGE_SIZE, 0, &rgba, NULL, d.image_width = 0);
    IMAGE(CL_INVALID_IMAGE_SIZE, 0, &rgba, NULL, d.image_height = 0);
    IMAGE(CL_INVALID_IMAGE_SIZE, 0, &rgba, NULL, d.image_width = 1u << 20);
    IMAGE(CL_INVALID_IMAGE_SIZE, 0, &rgba, r->host, d.image_height = 1u << 20);
    IMAGE(CL_INVALID_IMAGE_SIZE, 0, &mixed, NULL, d.image_width = 0);
    IMAGE(CL_INVALID_HOST_PTR, 0, &rgba, r->host, (void)0);
    IMAGE(CL_INVALID_HOST_PTR, copies, &rgba, NULL, (void)0);
    IMAGE(CL_INVALID_HOST_PTR, copies, &mixed, NULL, (void)0);
    IMAGE(CL_IMAGE_FORMAT_NOT_SUPPORTED, 0, &mixed, NULL, (void)0);
    IMAGE(CL_IMAGE_FORMAT_NOT_SUPPORTED, copies, &mixed, r->host,
          d.image_row_pitch = 64);
}

static void of_others(struct errors *r)
{
    cl_mem written, line;
    const cl_image_format two = {CL_RG, CL_UNORM_INT8};

    written =
        clCreateBuffer(r->context, CL_MEM_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS,
                       ERRORS_BYTES, NULL, &r->e);
    CL_OK(r->e);
    line = r->mem;
    IMAGE(CL_INVALID_IMAGE_DESCRIPTOR, 0, &rgba, NULL,
          d.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER);
    EACH(mem, if (r->bad) IMAGE(CL_INVALID_IMAGE_DESCRIPTOR, 0, &rgba, NULL,
                                d.mem_object = r->bad))
    IMAGE(CL_INVALID_IMAGE_DESCRIPTOR, 0, &rgba, NULL, d.mem_object = line;
          d.image_type = CL_MEM_OBJECT_IMAGE3D; d.image_depth = 2);
    IMAGE(CL_INVALID_CONTEXT, 0, &rgba, NULL, d.mem_object = r->other_mem);
    IMAGE(CL_INVALID_IMAGE_SIZE, 0, &rgba, NULL, d.mem_object = r->part);
    IMAGE(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, 0, &two, NULL,
          d.mem_object = r->image);
    // What the image may do, the memory may.
    IMAGE(CL_INVALID_VALUE, CL_MEM_READ_WRITE, &rgba, NULL,
          d.mem_object = written;
          d.image_height = 1);
    IMAGE(CL_INVALID_VALUE, CL_MEM_READ_ONLY, &rgba, NULL,
          d.mem_object = written;
          d.image_height = 1);
    IMAGE(CL_INVALID_VALUE, CL_MEM_HOST_READ_ONLY, &rgba, NULL,
          d.mem_object = written;
          d.image_height = 1);
    IMAGE(CL_INVALID_VALUE, CL_MEM_ALLOC_HOST_PTR, &rgba, NULL,
          d.mem_object = line);
    IMAGE(CL_INVALID_VALUE, CL_MEM_COPY_HOST_PTR, &rgba, r->host,
          d.mem_object = line);
    IMAGE(CL_INVALID_HOST_PTR, 0, &rgba, r->host, d.mem_object = line);
    CL_OK(clReleaseMemObject(written));
}

static void old(struct errors *r)
{
    const cl_mem_flags copies = CL_MEM_COPY_HOST_PTR;

    EACH(context, NONE(CL_INVALID_CONTEXT, clCreateImage2D, r->bad, 0, &rgba, 4,
                       4, 0, NULL))
    NONE(CL_INVALID_VALUE, clCreateImage2D, r->context, 1ull << 40, NULL, 0, 4,
         0, NULL);
    NONE(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, clCreateImage2D, r->context, 0,
         NULL, 0, 4, 0, NULL);
    NONE(CL_INVALID_IMAGE_SIZE, clCreateImage2D, r->context, 0, &rgba, 0, 4, 0,
         NULL);
    NONE(CL_INVALID_IMAGE_SIZE, clCreateImage2D, r->context, copies, &rgba, 4,
         4, 3, r->host);
    NONE(CL_INVALID_HOST_PTR, clCreateImage2D, r->context, copies, &rgba, 4, 4,
         0, NULL);
    NONE(CL_IMAGE_FORMAT_NOT_SUPPORTED, clCreateImage2D, r->context, 0, &mixed,
         4, 4, 0, NULL);
    EACH(context, NONE(CL_INVALID_CONTEXT, clCreateImage3D, r->bad, 0, &rgba, 4,
                       4, 4, 0, 0, NULL))
    NONE(CL_INVALID_VALUE, clCreateImage3D, r->context, 1ull << 40, &rgba, 4, 4,
         0, 0, 0, NULL);
    NONE(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, clCreateImage3D, r->context, 0,
         &no_type, 4, 4, 0, 0, 0, NULL);
    NONE(CL_INVALID_IMAGE_SIZE, clCreateImage3D, r->context, 0, &rgba, 4, 4, 0,
         0, 0, NULL);
    NONE(CL_INVALID_IMAGE_SIZE, clCreateImage3D, r->context, 0, &rgba, 4, 4, 1,
         0, 0, NULL);
    NONE(CL_INVALID_HOST_PTR, clCreateImage3D, r->context, 0, &rgba, 4, 4, 4, 0,
         0, r->host);
}

void errors_image(struct errors *r)
{
    cl_image_format formats[1];
    const cl_mem_object_type flat = CL_MEM_OBJECT_IMAGE2D;

    descriptions(r);
    of_others(r);
    old(r);
    EACH(context, IS(CL_INVALID_CONTEXT, clGetSupportedImageFormats, r->bad, 0,
                     flat, 1, formats, NULL))
    IS(CL_INVALID_VALUE, clGetSupportedImageFormats, r->context, 1ull << 40,
       flat, 1, formats, NULL);
    IS(CL_INVALID_VALUE, clGetSupportedImageFormats, r->context, 0,
       CL_MEM_OBJECT_BUFFER, 1, formats, NULL);
    IS(CL_INVALID_VALUE, clGetSupportedImageFormats, r->context, 0, flat, 0,
       formats, NULL);
    TELLS(mem, CL_INVALID_MEM_OBJECT, clGetImageInfo, r->image, CL_IMAGE_WIDTH);
    IS(CL_INVALID_MEM_OBJECT, clGetImageInfo, r->mem, CL_IMAGE_WIDTH, 64,
       r->host, NULL);
}
