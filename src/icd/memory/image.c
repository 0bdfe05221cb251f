// Images as objects: formats, sizes, and how their texels lie.
//
// An image is a memory object with a description on top (hd_image): where the
// bytes come from is memory.c's, how they are read is the core's, and here is
// what the standard says of formats, sizes and pitches.
//
//     created from        bytes
//     nothing, or a copy  own buffer, rows without gaps
//     USE_HOST_PTR        the application's, its pitches
//     mem_object          the parent's, with its row pitch if that is an image
#include <string.h>

#include <CL/cl_half.h>

#include "icd/memory/memory.h"
#include "icd/object/info.h"
#include "launch/memory/image.h"

// Formats ---------------------------------------------------------------------

// What is listed and what is known as a name; whether a pair makes a texel is
// the core's to say (hd_texel_size()).
static const cl_channel_order orders[] = {
    CL_R,     CL_A,     CL_RG,        CL_RA,        CL_RGB,
    CL_RGBA,  CL_BGRA,  CL_ARGB,      CL_ABGR,      CL_RGBx,
    CL_sRGBA, CL_sBGRA, CL_INTENSITY, CL_LUMINANCE, CL_DEPTH};
static const cl_channel_type types[] = {
    CL_SNORM_INT8,       CL_SNORM_INT16,
    CL_UNORM_INT8,       CL_UNORM_INT16,
    CL_UNORM_SHORT_565,  CL_UNORM_SHORT_555,
    CL_UNORM_INT_101010, CL_UNORM_INT_101010_2,
    CL_SIGNED_INT8,      CL_SIGNED_INT16,
    CL_SIGNED_INT32,     CL_UNSIGNED_INT8,
    CL_UNSIGNED_INT16,   CL_UNSIGNED_INT32,
    CL_HALF_FLOAT,       CL_FLOAT};

// 0: there is no such format. Both enums have OpenCL's numbers. [bytes]
static size_t texel_size(const cl_image_format *format)
{
    return hd_texel_size((enum hd_channel_order)format->image_channel_order,
                         (enum hd_channel_type)format->image_channel_data_type);
}

static bool is_srgb(cl_channel_order order)
{
    return order == CL_sRGBA || order == CL_sBGRA;
}

// In the context of an image type and of what kernels do with it: a format may
// be there for reading only.
static bool is_supported(cl_mem_flags flags, cl_mem_object_type type,
                         const cl_image_format *format)
{
    cl_channel_order order = format->image_channel_order;

    if (texel_size(format) == 0)
        return false;
    if (order == CL_DEPTH && type != CL_MEM_OBJECT_IMAGE2D &&
        type != CL_MEM_OBJECT_IMAGE2D_ARRAY)
        return false;
    // sRGB is converted when it is read, never when it is written.
    if (is_srgb(order) &&
        (!(flags & CL_MEM_READ_ONLY) || (flags & CL_MEM_KERNEL_READ_AND_WRITE)))
        return false;
    return true;
}

static bool is_image_type(cl_mem_object_type type)
{
    return type == CL_MEM_OBJECT_IMAGE1D ||
           type == CL_MEM_OBJECT_IMAGE1D_ARRAY ||
           type == CL_MEM_OBJECT_IMAGE1D_BUFFER ||
           type == CL_MEM_OBJECT_IMAGE2D ||
           type == CL_MEM_OBJECT_IMAGE2D_ARRAY || type == CL_MEM_OBJECT_IMAGE3D;
}

// All are counted, as many as there is room for are given.
CL_API_ENTRY cl_int CL_API_CALL clGetSupportedImageFormats(
    cl_context context, cl_mem_flags flags, cl_mem_object_type type,
    cl_uint room, cl_image_format *formats, cl_uint *count_ret)
{
    cl_uint count = 0;

    if (!hdi_cl_is(HDI_CL_CONTEXT, context))
        return CL_INVALID_CONTEXT;
    if (!hdi_cl_flags_are_valid(flags) || !is_image_type(type) ||
        (room == 0 && formats))
        return CL_INVALID_VALUE;
    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
        for (size_t j = 0; j < sizeof(types) / sizeof(types[0]); j++) {
            cl_image_format format = {orders[i], types[j]};
            if (!is_supported(flags, type, &format))
                continue;
            if (formats && count < room)
                formats[count] = format;
            count++;
        }
    if (count_ret)
        *count_ret = count;
    return CL_SUCCESS;
}

// Names that are no names of the standard are one error, formats that are just
// not offered another: some names are known here and offered by no device.
static cl_int check_format(const cl_image_format *format)
{
    bool knows_order = false, knows_type = false;

    if (!format)
        return CL_INVALID_IMAGE_FORMAT_DESCRIPTOR;
    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
        knows_order |= format->image_channel_order == orders[i];
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        knows_type |= format->image_channel_data_type == types[i];
    knows_order |= format->image_channel_order == CL_Rx ||
                   format->image_channel_order == CL_RGx ||
                   format->image_channel_order == CL_sRGB ||
                   format->image_channel_order == CL_sRGBx ||
                   format->image_channel_order == CL_DEPTH_STENCIL;
    knows_type |= format->image_channel_data_type == CL_UNORM_INT24;
    return knows_order && knows_type ? CL_SUCCESS
                                     : CL_INVALID_IMAGE_FORMAT_DESCRIPTOR;
}

// No flag means reading and writing.
static cl_int check_supported(cl_mem_flags flags, cl_mem_object_type type,
                              const cl_image_format *format)
{
    if (!(flags & (CL_MEM_READ_WRITE | CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY)))
        flags |= CL_MEM_READ_WRITE;
    return is_supported(flags, type, format) ? CL_SUCCESS
                                             : CL_IMAGE_FORMAT_NOT_SUPPORTED;
}

// Shapes ----------------------------------------------------------------------

static bool has_rows(cl_mem_object_type type)
{
    return type == CL_MEM_OBJECT_IMAGE2D ||
           type == CL_MEM_OBJECT_IMAGE2D_ARRAY || type == CL_MEM_OBJECT_IMAGE3D;
}

static bool is_array(cl_mem_object_type type)
{
    return type == CL_MEM_OBJECT_IMAGE1D_ARRAY ||
           type == CL_MEM_OBJECT_IMAGE2D_ARRAY;
}

// How many there are, 1 where the type has none.
static size_t slices_of(const cl_image_desc *desc)
{
    return desc->image_type == CL_MEM_OBJECT_IMAGE3D ? desc->image_depth
           : is_array(desc->image_type)              ? desc->image_array_size
                                                     : 1;
}

// As origins and regions count: layers of 1D arrays are the second.
void hdi_cl_image_extent(const struct _cl_mem *image,
                         struct hdi_cl_extent *extent)
{
    const struct hd_image_params *p = hd_image_params(image->image);
    bool lines = image->type == CL_MEM_OBJECT_IMAGE1D_ARRAY;

    *extent = (struct hdi_cl_extent){
        .texel = texel_size(&image->format),
        .size = {image->desc.image_width,
                 lines                   ? image->desc.image_array_size
                 : has_rows(image->type) ? image->desc.image_height
                                         : 1,
                 lines ? 1 : slices_of(&image->desc)},
        .row = lines ? p->slice_pitch : p->row_pitch,
        .slice = p->slice_pitch};
}

// Unused dimensions are of size 1, so that an origin of 0 and a region of 1 are
// all that fits there, as the standard asks for.
cl_int hdi_cl_image_region(const struct _cl_mem *image, const size_t *origin,
                           const size_t *region)
{
    struct hdi_cl_extent e;

    if (!origin || !region)
        return CL_INVALID_VALUE;
    hdi_cl_image_extent(image, &e);
    for (int i = 0; i < 3; i++)
        if (region[i] == 0 || origin[i] > e.size[i] ||
            region[i] > e.size[i] - origin[i])
            return CL_INVALID_VALUE;
    return CL_SUCCESS;
}

// The limits are those that the device tells.
static cl_int check_size(const cl_image_desc *d)
{
    size_t most = d->image_type == CL_MEM_OBJECT_IMAGE3D ? HDI_CL_IMAGE_3D_MAX
                  : d->image_type == CL_MEM_OBJECT_IMAGE1D_BUFFER
                      ? HD_IMAGE_MAX_BUFFER
                      : HDI_CL_IMAGE_MAX;

    if (d->image_width == 0 || (has_rows(d->image_type) && !d->image_height) ||
        (d->image_type == CL_MEM_OBJECT_IMAGE3D && !d->image_depth) ||
        (is_array(d->image_type) && !d->image_array_size))
        return CL_INVALID_IMAGE_SIZE;
    if (d->image_width > most ||
        (has_rows(d->image_type) && d->image_height > most) ||
        (d->image_type == CL_MEM_OBJECT_IMAGE3D && d->image_depth > most) ||
        (is_array(d->image_type) && d->image_array_size > HDI_CL_IMAGE_LAYERS))
        return CL_INVALID_IMAGE_SIZE;
    return CL_SUCCESS;
}

// Pitches that are given are of memory that is given.
//
// A slice pitch counts only where there are slices; given for other types it is
// ignored.
static cl_int check_pitches(const cl_image_desc *d, size_t texel, bool given)
{
    size_t row = d->image_row_pitch, slice = d->image_slice_pitch;
    size_t rows = has_rows(d->image_type) ? d->image_height : 1;

    if (!given)
        return row == 0 && slice == 0 ? CL_SUCCESS
                                      : CL_INVALID_IMAGE_DESCRIPTOR;
    if (texel == 0) // there is no such format, which is said later
        return CL_SUCCESS;
    if (row != 0 && (row < d->image_width * texel || row % texel != 0))
        return CL_INVALID_IMAGE_DESCRIPTOR;
    if (row == 0)
        row = d->image_width * texel;
    if (slice != 0 &&
        (slices_of(d) > 1 || is_array(d->image_type) ||
         d->image_type == CL_MEM_OBJECT_IMAGE3D) &&
        (slice < row * rows || slice % row != 0))
        return CL_INVALID_IMAGE_DESCRIPTOR;
    return CL_SUCCESS;
}

static enum hd_image_kind kind_of(cl_mem_object_type type)
{
    switch (type) {
    case CL_MEM_OBJECT_IMAGE1D:
        return HD_IMAGE_1D;
    case CL_MEM_OBJECT_IMAGE1D_BUFFER:
        return HD_IMAGE_1D_BUFFER;
    case CL_MEM_OBJECT_IMAGE1D_ARRAY:
        return HD_IMAGE_1D_ARRAY;
    case CL_MEM_OBJECT_IMAGE2D:
        return HD_IMAGE_2D;
    case CL_MEM_OBJECT_IMAGE2D_ARRAY:
        return HD_IMAGE_2D_ARRAY;
    default:
        return HD_IMAGE_3D;
    }
}

// Pitches of memory where `row` and `slice` are given, or 0.
static void set_pitches(const cl_image_desc *d, size_t texel, size_t *row,
                        size_t *slice)
{
    if (*row == 0)
        *row = d->image_width * texel;
    if (*slice == 0)
        *slice = *row * (has_rows(d->image_type) ? d->image_height : 1);
}

// The description of `mem`'s bytes.
//
// Makes `mem->image`, which goes with the object. The sizes fit into 32 bits:
// check_size() was before. On failure it is NULL, and the core's text goes to
// the context.
static cl_int describe(struct _cl_mem *mem, size_t row, size_t slice)
{
    const cl_image_desc *d = &mem->desc;
    struct hd_error error;
    bool has_slices =
        is_array(d->image_type) || d->image_type == CL_MEM_OBJECT_IMAGE3D;
    struct hd_image_params params = {
        .kind = kind_of(d->image_type),
        .order = (enum hd_channel_order)mem->format.image_channel_order,
        .type = (enum hd_channel_type)mem->format.image_channel_data_type,
        .width = (uint32_t)d->image_width,
        .height = (uint32_t)d->image_height,
        .depth = (uint32_t)d->image_depth,
        .layers = (uint32_t)d->image_array_size,
        .row_pitch = row,
        .slice_pitch = has_slices ? slice : 0,
        .buffer = mem->buffer,
        .offset = mem->offset};
    hd_status status = hdi_image_create(hdi_cl_launcher(mem->context), &params,
                                        &mem->image, &error);

    if (status == HD_OK)
        return CL_SUCCESS;
    mem->image = NULL;
    hdi_cl_context_tell(mem->context, error.text);
    return status == HD_ENOMEM   ? CL_OUT_OF_HOST_MEMORY
           : status == HD_ELIMIT ? CL_INVALID_IMAGE_SIZE
                                 : CL_INVALID_IMAGE_DESCRIPTOR;
}

// From the application's memory with its pitches, on the thread that makes the
// image: nobody else knows it yet.
static void copy_in(struct _cl_mem *mem, const char *from, size_t row,
                    size_t slice)
{
    struct hdi_cl_extent e;
    size_t from_row = mem->type == CL_MEM_OBJECT_IMAGE1D_ARRAY ? slice : row;

    hdi_cl_image_extent(mem, &e);
    for (size_t z = 0; z < e.size[2]; z++)
        for (size_t y = 0; y < e.size[1]; y++)
            memcpy(hdi_cl_mem_bytes(mem) + z * e.slice + y * e.row,
                   from + z * slice + y * from_row, e.size[0] * e.texel);
}

// A copy is packed without gaps, whatever pitches the application's memory has.
// The flag that asks for a copy is hidden from hdi_cl_mem_fill(), which would
// copy the bytes as one piece, with the gaps.
static cl_int fill_own(struct _cl_mem *mem, void *host)
{
    const cl_image_desc *d = &mem->desc;
    size_t texel = texel_size(&mem->format);
    size_t row = d->image_row_pitch, slice = d->image_slice_pitch;
    bool copies = mem->flags & CL_MEM_COPY_HOST_PTR;

    set_pitches(d, texel, &row, &slice);
    size_t own_row = copies ? 0 : row, own_slice = copies ? 0 : slice, bytes;
    set_pitches(d, texel, &own_row, &own_slice);
    if (__builtin_mul_overflow(own_slice, slices_of(d), &bytes) ||
        bytes > hdi_cl_context_largest(mem->context))
        return CL_INVALID_IMAGE_SIZE;
    mem->flags &= ~(cl_mem_flags)CL_MEM_COPY_HOST_PTR; // done below
    cl_int status = hdi_cl_mem_fill(mem, bytes, host);
    if (copies)
        mem->flags |= CL_MEM_COPY_HOST_PTR;
    if (status == CL_SUCCESS)
        status = describe(mem, own_row, own_slice);
    if (status == CL_SUCCESS && copies)
        copy_in(mem, host, row, slice);
    return status;
}

// The bytes are the parent's, which is held, and which goes on being used as
// what it is: writes of the one are seen in the other.
static cl_int fill_shared(struct _cl_mem *mem, struct _cl_mem *parent)
{
    const cl_image_desc *d = &mem->desc;
    size_t row = d->image_row_pitch, slice = 0;

    mem->parent = parent;
    hdi_cl_hold(parent);
    mem->buffer = parent->buffer;
    mem->offset = parent->offset;
    if (hdi_cl_is_image(parent))
        row = hd_image_params(parent->image)->row_pitch;
    set_pitches(d, texel_size(&mem->format), &row, &slice);
    mem->size = slice;
    if (slice > parent->size)
        return CL_INVALID_IMAGE_SIZE;
    if (parent->host_ptr)
        mem->host_ptr = parent->host_ptr;
    return describe(mem, row, slice);
}

// What images may be made of another object's memory.
//
// CL_SUCCESS where there is none and none is needed.
static cl_int check_parent(cl_context context, const cl_image_format *format,
                           const cl_image_desc *d)
{
    cl_mem parent = d->mem_object;

    if (d->image_type == CL_MEM_OBJECT_IMAGE1D_BUFFER && !parent)
        return CL_INVALID_IMAGE_DESCRIPTOR;
    if (!parent)
        return CL_SUCCESS;
    if (!hdi_cl_is(HDI_CL_MEM, parent))
        return CL_INVALID_IMAGE_DESCRIPTOR;
    if (parent->context != context)
        return CL_INVALID_CONTEXT;
    if (d->image_type == CL_MEM_OBJECT_IMAGE1D_BUFFER)
        return hdi_cl_is_image(parent) ? CL_INVALID_IMAGE_DESCRIPTOR
                                       : CL_SUCCESS;
    if (d->image_type != CL_MEM_OBJECT_IMAGE2D)
        return CL_INVALID_IMAGE_DESCRIPTOR;
    if (!hdi_cl_is_image(parent))
        return CL_SUCCESS;
    // Of an image: the same texels, seen as another order of the same size.
    if (parent->type != CL_MEM_OBJECT_IMAGE2D ||
        parent->desc.image_width != d->image_width ||
        parent->desc.image_height != d->image_height ||
        texel_size(&parent->format) != texel_size(format) ||
        parent->format.image_channel_data_type !=
            format->image_channel_data_type)
        return CL_INVALID_IMAGE_FORMAT_DESCRIPTOR;
    return CL_SUCCESS;
}

// The long list is the order in which errors win over each other: context,
// properties, flags, format, descriptor, sizes, parent, pitches, pointer, and
// last what is merely not supported.
static cl_mem create(cl_context context, const cl_mem_properties *properties,
                     cl_mem_flags flags, const cl_image_format *format,
                     const cl_image_desc *d, void *host, cl_int *error)
{
    if (!hdi_cl_is(HDI_CL_CONTEXT, context))
        return hdi_cl_none(error, CL_INVALID_CONTEXT);
    if (properties && properties[0])
        return hdi_cl_none(error, CL_INVALID_PROPERTY);
    if (!hdi_cl_flags_are_valid(flags))
        return hdi_cl_none(error, CL_INVALID_VALUE);
    // Before those of the memory it is made of are added.
    bool wants_host = flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR);
    cl_int status = check_format(format);
    if (status != CL_SUCCESS)
        return hdi_cl_none(error, status);
    if (!d || !is_image_type(d->image_type) || d->num_mip_levels ||
        d->num_samples)
        return hdi_cl_none(error, CL_INVALID_IMAGE_DESCRIPTOR);
    status = check_size(d);
    if (status == CL_SUCCESS)
        status = check_parent(context, format, d);
    if (status == CL_SUCCESS && d->mem_object &&
        !hdi_cl_flags_inherit(d->mem_object->flags, &flags))
        status = CL_INVALID_VALUE;
    if (status == CL_SUCCESS)
        status = check_pitches(d, texel_size(format), host || d->mem_object);
    if (status == CL_SUCCESS &&
        (!host != !wants_host || (host && d->mem_object)))
        status = CL_INVALID_HOST_PTR;
    if (status == CL_SUCCESS)
        status = check_supported(flags, d->image_type, format);
    if (status != CL_SUCCESS)
        return hdi_cl_none(error, status);

    struct _cl_mem *mem =
        hdi_cl_mem_create(context, d->image_type, flags, properties, error);
    if (!mem)
        return NULL;
    mem->format = *format;
    mem->desc = *d;
    status =
        d->mem_object ? fill_shared(mem, d->mem_object) : fill_own(mem, host);
    if (status != CL_SUCCESS) {
        hdi_cl_object_release(mem);
        return hdi_cl_none(error, status);
    }
    hdi_cl_good(error);
    return mem;
}

CL_API_ENTRY cl_mem CL_API_CALL clCreateImage(cl_context context,
                                              cl_mem_flags flags,
                                              const cl_image_format *format,
                                              const cl_image_desc *desc,
                                              void *host, cl_int *error)
{
    return create(context, NULL, flags, format, desc, host, error);
}

CL_API_ENTRY cl_mem CL_API_CALL clCreateImageWithProperties(
    cl_context context, const cl_mem_properties *properties, cl_mem_flags flags,
    const cl_image_format *format, const cl_image_desc *desc, void *host,
    cl_int *error)
{
    return create(context, properties, flags, format, desc, host, error);
}

// Those of 1.1 have other names for what is wrong.
static cl_mem create_old(cl_context context, cl_mem_flags flags,
                         const cl_image_format *format,
                         const cl_image_desc *desc, void *host, cl_int *error)
{
    cl_int status;
    cl_mem mem = create(context, NULL, flags, format, desc, host, &status);

    if (status == CL_INVALID_IMAGE_DESCRIPTOR)
        status = CL_INVALID_IMAGE_SIZE;
    if (error)
        *error = status;
    return mem;
}

CL_API_ENTRY cl_mem CL_API_CALL clCreateImage2D(
    cl_context context, cl_mem_flags flags, const cl_image_format *format,
    size_t width, size_t height, size_t row_pitch, void *host, cl_int *error)
{
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D,
                                .image_width = width,
                                .image_height = height,
                                .image_row_pitch = row_pitch};
    return create_old(context, flags, format, &desc, host, error);
}

CL_API_ENTRY cl_mem CL_API_CALL clCreateImage3D(
    cl_context context, cl_mem_flags flags, const cl_image_format *format,
    size_t width, size_t height, size_t depth, size_t row_pitch,
    size_t slice_pitch, void *host, cl_int *error)
{
    // One slice is none here.
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE3D,
                                .image_width = width,
                                .image_height = height,
                                .image_depth = depth > 1 ? depth : 0,
                                .image_row_pitch = row_pitch,
                                .image_slice_pitch = slice_pitch};
    return create_old(context, flags, format, &desc, host, error);
}

// Dimensions that the type does not have are told as 0.
CL_API_ENTRY cl_int CL_API_CALL clGetImageInfo(cl_mem image, cl_image_info name,
                                               size_t size, void *value,
                                               size_t *size_ret)
{
    if (!hdi_cl_is(HDI_CL_MEM, image) || !hdi_cl_is_image(image))
        return CL_INVALID_MEM_OBJECT;
    const cl_image_desc *d = &image->desc;
    const struct hd_image_params *p = hd_image_params(image->image);
    bool slices = is_array(image->type) || image->type == CL_MEM_OBJECT_IMAGE3D;
    switch (name) {
        HDI_CL_BYTES(CL_IMAGE_FORMAT, &image->format, sizeof(image->format))
        HDI_CL_IS(CL_IMAGE_ELEMENT_SIZE, size_t, texel_size(&image->format))
        HDI_CL_IS(CL_IMAGE_ROW_PITCH, size_t, p->row_pitch)
        HDI_CL_IS(CL_IMAGE_SLICE_PITCH, size_t, slices ? p->slice_pitch : 0)
        HDI_CL_IS(CL_IMAGE_WIDTH, size_t, d->image_width)
        HDI_CL_IS(CL_IMAGE_HEIGHT, size_t,
                  has_rows(image->type) ? d->image_height : 0)
        HDI_CL_IS(CL_IMAGE_DEPTH, size_t,
                  image->type == CL_MEM_OBJECT_IMAGE3D ? d->image_depth : 0)
        HDI_CL_IS(CL_IMAGE_ARRAY_SIZE, size_t,
                  is_array(image->type) ? d->image_array_size : 0)
        HDI_CL_IS(CL_IMAGE_BUFFER, cl_mem,
                  image->parent && !hdi_cl_is_image(image->parent)
                      ? image->parent
                      : NULL)
        HDI_CL_IS(CL_IMAGE_NUM_MIP_LEVELS, cl_uint, 0)
        HDI_CL_IS(CL_IMAGE_NUM_SAMPLES, cl_uint, 0)
    default:
        return CL_INVALID_VALUE;
    }
}

// One texel -------------------------------------------------------------------

// Which of red, green, blue, alpha is stored where; -1: nothing.
//
// How many channels a texel has; 0: the order is not known.
static unsigned channels_of(cl_channel_order order, int source[4])
{
    static const struct {
        cl_channel_order order;
        unsigned count;
        int source[4];
    } table[] = {{CL_R, 1, {0}},
                 {CL_A, 1, {3}},
                 {CL_RG, 2, {0, 1}},
                 {CL_RA, 2, {0, 3}},
                 {CL_RGB, 3, {0, 1, 2}},
                 {CL_RGBx, 3, {0, 1, 2}},
                 {CL_RGBA, 4, {0, 1, 2, 3}},
                 {CL_BGRA, 4, {2, 1, 0, 3}},
                 {CL_ARGB, 4, {3, 0, 1, 2}},
                 {CL_ABGR, 4, {3, 2, 1, 0}},
                 {CL_sRGBA, 4, {0, 1, 2, 3}},
                 {CL_sBGRA, 4, {2, 1, 0, 3}},
                 {CL_INTENSITY, 1, {0}},
                 {CL_LUMINANCE, 1, {0}},
                 {CL_DEPTH, 1, {0}}};

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (table[i].order == order) {
            memcpy(source, table[i].source, sizeof(table[i].source));
            return table[i].count;
        }
    return 0;
}

// From `low` to 1, then to the nearest integer, ties to even, as the standard
// asks for. NaN becomes 0.
static long normalised(float x, float low, float scale)
{
    if (!(x > low))
        x = x == x ? low : 0;
    if (x > 1)
        x = 1;
    return __builtin_lrintf(x * scale);
}

static uint32_t clamp_word(int64_t x, int64_t low, int64_t high)
{
    return (uint32_t)(x < low ? low : x > high ? high : x);
}

// The curve of sRGB for one channel from 0 to 1; NaN becomes 0.
static float to_srgb(float x)
{
    if (!(x > 0))
        return 0;
    if (x >= 1)
        return 1;
    return x < 0.0031308f ? 12.92f * x
                          : 1.055f * __builtin_powf(x, 1 / 2.4f) - 0.055f;
}

// `color` has the bits of floats or of integers, as the format is. Types of 32
// bits are stored as they are.
static void pack_channel(cl_channel_type type, const uint32_t *color, int from,
                         unsigned char *to)
{
    float f;
    uint32_t word = color[from];
    int32_t number = (int32_t)word;
    uint16_t half;

    memcpy(&f, &word, sizeof(f));
    switch (type) {
    case CL_UNORM_INT8:
        *to = (unsigned char)normalised(f, 0, 255);
        return;
    case CL_SNORM_INT8:
        *to = (unsigned char)normalised(f, -1, 127);
        return;
    case CL_UNORM_INT16:
        half = (uint16_t)normalised(f, 0, 65535);
        break;
    case CL_SNORM_INT16:
        half = (uint16_t)normalised(f, -1, 32767);
        break;
    case CL_HALF_FLOAT:
        half = cl_half_from_float(f, CL_HALF_RTE);
        break;
    case CL_SIGNED_INT8:
        *to = (unsigned char)clamp_word(number, -128, 127);
        return;
    case CL_UNSIGNED_INT8:
        *to = (unsigned char)clamp_word(word, 0, 255);
        return;
    case CL_SIGNED_INT16:
        half = (uint16_t)clamp_word(number, -32768, 32767);
        break;
    case CL_UNSIGNED_INT16:
        half = (uint16_t)clamp_word(word, 0, 65535);
        break;
    default:
        memcpy(to, &word, sizeof(word));
        return;
    }
    memcpy(to, &half, sizeof(half));
}

// False: the order is not known. `color` is four words, of depth images one.
// Packed types have all channels in one word; the others one after another,
// each of an equal part of the texel.
bool hdi_cl_image_pack(const cl_image_format *format, const void *color,
                       unsigned char texel[16])
{
    uint32_t words[4];
    float f[4];
    int source[4];
    cl_channel_order order = format->image_channel_order;
    unsigned count = channels_of(order, source);
    bool one = order == CL_DEPTH;

    memset(words, 0, sizeof(words));
    memcpy(words, color, one ? 4 : 16);
    memcpy(f, words, sizeof(f));
    if (is_srgb(order)) {
        for (int i = 0; i < 3; i++)
            f[i] = to_srgb(f[i]);
        memcpy(words, f, sizeof(f));
    }
    uint32_t word;
    uint16_t half;
    switch (format->image_channel_data_type) {
    case CL_UNORM_SHORT_565:
        half =
            (uint16_t)(normalised(f[0], 0, 31) << 11 |
                       normalised(f[1], 0, 63) << 5 | normalised(f[2], 0, 31));
        memcpy(texel, &half, sizeof(half));
        return true;
    case CL_UNORM_SHORT_555:
        half =
            (uint16_t)(normalised(f[0], 0, 31) << 10 |
                       normalised(f[1], 0, 31) << 5 | normalised(f[2], 0, 31));
        memcpy(texel, &half, sizeof(half));
        return true;
    case CL_UNORM_INT_101010:
        word = (uint32_t)(normalised(f[0], 0, 1023) << 20 |
                          normalised(f[1], 0, 1023) << 10 |
                          normalised(f[2], 0, 1023));
        memcpy(texel, &word, sizeof(word));
        return true;
    case CL_UNORM_INT_101010_2:
        word = (uint32_t)normalised(f[0], 0, 1023) << 22 |
               (uint32_t)normalised(f[1], 0, 1023) << 12 |
               (uint32_t)normalised(f[2], 0, 1023) << 2 |
               (uint32_t)normalised(f[3], 0, 3);
        memcpy(texel, &word, sizeof(word));
        return true;
    default:
        break;
    }
    size_t size = count > 0 ? texel_size(format) / count : 0;
    for (unsigned i = 0; i < count; i++)
        pack_channel(format->image_channel_data_type, words, source[i],
                     texel + i * size);
    return count > 0;
}
