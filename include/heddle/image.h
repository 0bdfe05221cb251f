// Images that kernels read through samplers, and write.
//
// An image is a description of memory: texels in rows, rows in slices. Kernels
// get it with HD_IMAGE(image), samplers with HD_SAMPLER(bits). The memory is a
// buffer's, so that hd_buffer_read(), hd_buffer_write() and other kernels reach
// it too.
#ifndef HEDDLE_IMAGE_H
#define HEDDLE_IMAGE_H

#include <stdint.h>

#include "heddle/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hd_runtime;
struct hd_buffer;
struct hd_image;

// What the kernel's type says: image1d_t and so on.
enum hd_image_kind {
    HD_IMAGE_1D,
    HD_IMAGE_1D_BUFFER, // of integer coordinates only, and much longer
    HD_IMAGE_1D_ARRAY,
    HD_IMAGE_2D,
    HD_IMAGE_2D_ARRAY,
    HD_IMAGE_3D
};

// Which channels are stored, and in which order. The numbers are OpenCL's.
enum hd_channel_order {
    HD_R = 0x10b0,
    HD_A = 0x10b1,
    HD_RG = 0x10b2,
    HD_RA = 0x10b3,
    HD_RGB = 0x10b4, // of packed types only, as HD_RGBX
    HD_RGBA = 0x10b5,
    HD_BGRA = 0x10b6,
    HD_ARGB = 0x10b7,
    HD_INTENSITY = 0x10b8,
    HD_LUMINANCE = 0x10b9,
    HD_RGBX = 0x10bc,  // HD_RGB whose border has alpha 0
    HD_DEPTH = 0x10bd, // for image2d_depth_t and image2d_array_depth_t
    HD_SRGBA = 0x10c1, // only read
    HD_SBGRA = 0x10c2, // only read
    HD_ABGR = 0x10c3
};

// How each channel is stored. Normalised ones, UNORM and SNORM, are read as 0
// to 1 and -1 to 1.
enum hd_channel_type {
    HD_SNORM_INT8 = 0x10d0,
    HD_SNORM_INT16 = 0x10d1,
    HD_UNORM_INT8 = 0x10d2,
    HD_UNORM_INT16 = 0x10d3,
    // Packed: a texel is one number, red in its highest bits. What is above, of
    // 555 and 101010, is not read and is written as 0.
    HD_UNORM_SHORT_565 = 0x10d4,  // of HD_RGB and HD_RGBX
    HD_UNORM_SHORT_555 = 0x10d5,  // of HD_RGB and HD_RGBX
    HD_UNORM_INT_101010 = 0x10d6, // of HD_RGB and HD_RGBX
    HD_SIGNED_INT8 = 0x10d7,
    HD_SIGNED_INT16 = 0x10d8,
    HD_SIGNED_INT32 = 0x10d9,
    HD_UNSIGNED_INT8 = 0x10da,
    HD_UNSIGNED_INT16 = 0x10db,
    HD_UNSIGNED_INT32 = 0x10dc,
    HD_HALF_FLOAT = 0x10dd,
    HD_FLOAT = 0x10de,
    HD_UNORM_INT_101010_2 = 0x10e0 // packed, of HD_RGBA: alpha is lowest
};

/// Limits [texels].
enum {
    HD_IMAGE_MAX_EXTENT = 1 << 16, // width, height, depth, layers
    HD_IMAGE_MAX_BUFFER = 1 << 27  // width of HD_IMAGE_1D_BUFFER
};

/// What an image is. Kind, order, type and width have no default.
///
/// Owner: the caller; the buffer must stay as long as the image
struct hd_image_params {
    enum hd_image_kind kind;
    enum hd_channel_order order;
    enum hd_channel_type type;
    uint32_t width;
    uint32_t height; // of 2D, 2D_ARRAY and 3D; else ignored
    uint32_t depth;  // of 3D; else ignored
    uint32_t layers; // of arrays; else ignored
    // From one row to the next, one slice or layer to the next: multiples of
    // the texel's size, 0: nothing between them [bytes].
    uint64_t row_pitch, slice_pitch;
    struct hd_buffer *buffer; // where the texels are; NULL: the image's own
    uint64_t offset;          // of the first one; a multiple of the texel's
                              // size [bytes]
};

/// Describe memory as an image. Without a buffer it gets zeroed memory.
///
/// Errors:  HD_EINVAL (a format that does not exist, a size of 0, pitches that
///          do not fit, texels outside the buffer), HD_ELIMIT (too large),
///          HD_ENOMEM
/// Owner:   the caller; hd_image_destroy() when no launch uses it any more,
///          before its buffer
/// Threads: any
HD_API hd_status hd_image_create(struct hd_runtime *runtime,
                                 const struct hd_image_params *params,
                                 struct hd_image **image,
                                 struct hd_error *error);

/// Give the description up, not the buffer. NULL is allowed.
///
/// Threads: any; no launch may use the image any more
HD_API void hd_image_destroy(struct hd_image *image);

/// What the image is, with the pitches and the buffer that were chosen for it.
/// Owner: the image. Threads: any.
HD_API const struct hd_image_params *hd_image_params(
    const struct hd_image *image);

/// The size of a texel of this format [bytes]; 0: there is no such format.
///
/// Threads: any
HD_API uint32_t hd_texel_size(enum hd_channel_order order,
                              enum hd_channel_type type);

// A sampler is one of each of these, as in OpenCL C. Repeating needs normalised
// coordinates.
enum {
    HD_COORDINATES_TEXELS = 0,
    HD_COORDINATES_NORMALISED = 1,

    HD_ADDRESS_NONE = 0, // the kernel never asks for texels outside
    HD_ADDRESS_CLAMP_TO_EDGE = 2,
    HD_ADDRESS_CLAMP = 4, // a border of zeros
    HD_ADDRESS_REPEAT = 6,
    HD_ADDRESS_MIRRORED_REPEAT = 8,

    HD_FILTER_NEAREST = 0x10,
    HD_FILTER_LINEAR = 0x20
};

#ifdef __cplusplus
}
#endif

#endif
