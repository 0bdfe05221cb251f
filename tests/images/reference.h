// The images and samplers of the OpenCL specification, in double precision and
// plainly: one channel of one texel at a time, written from section 8 of
// "OpenCL C" ("Image addressing and filtering") and shared with nothing that is
// tested.
#ifndef HDI_TESTS_IMAGES_REFERENCE_H
#define HDI_TESTS_IMAGES_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "heddle/image.h"

// The bytes of an image, and what they are.
struct reference {
    const struct hd_image_params *params;
    const unsigned char *texels;
};

enum {
    MAX_AXES = 3
};

// Width, height and depth that the kind has; their number.
int reference_sizes(const struct hd_image_params *params, int sizes[MAX_AXES]);

bool reference_is_array(const struct hd_image_params *params);

// Whether the channels are numbers that are no fractions.
bool reference_is_signed(enum hd_channel_type type);
bool reference_is_unsigned(enum hd_channel_type type);

// Whether a texel is one number; then one channel of it, and the largest that
// can have.
bool reference_is_packed(enum hd_channel_type type);
double reference_unpack(enum hd_channel_type type, const unsigned char *texel,
                        int channel, uint32_t *most);

// One channel (0 red to 3 alpha) of one texel, decoded; of the border when it
// is outside.
double reference_texel(const struct reference *image, const int at[MAX_AXES],
                       int layer, int channel);

// What read_imagef() gives, or read_imagei() and read_imageui(), for
// coordinates of the image's axes and then the layer.
double reference_read(const struct reference *image, uint32_t sampler,
                      const double *at, int channel);

// The bytes of channel value `x` in this type, whose size is returned.
int reference_encode(enum hd_channel_type type, double x,
                     unsigned char bytes[4]);

// Where the channel is among the stored ones, or -1.
int reference_place(enum hd_channel_order order, int channel);

#endif
