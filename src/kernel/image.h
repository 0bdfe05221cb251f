// What a kernel is given as an image: a pointer to this description, which the
// runtime fills in and nobody changes while a launch uses it. Shared by the
// host (C) and the builtins (OpenCL C).
#ifndef HDI_KERNEL_IMAGE_H
#define HDI_KERNEL_IMAGE_H

#ifdef __OPENCL_C_VERSION__
#define HDI_GLOBAL global
#else
#define HDI_GLOBAL
#endif

// How a texel lies in memory, where the builtins have code for just that. Such
// an image has less than 2^31 bytes.
enum hdi_image_layout {
    HDI_LAYOUT_ANY,
    HDI_LAYOUT_8888,  // four unsigned bytes
    HDI_LAYOUT_8,     // one unsigned byte
    HDI_LAYOUT_32,    // one word
    HDI_LAYOUT_4_X_32 // four words
};

// What a stored component is.
enum hdi_image_number {
    HDI_NUMBER_UNSIGNED,
    HDI_NUMBER_SIGNED,
    HDI_NUMBER_HALF,
    HDI_NUMBER_FLOAT,
    HDI_NUMBER_PACKED // all channels are in one
};

// A channel that is not stored, in `place`.
enum {
    HDI_CHANNEL_ZERO = 4,
    HDI_CHANNEL_ONE,
    HDI_CHANNEL_INSIDE // 1, and 0 in the border
};

struct hdi_image {
    HDI_GLOBAL unsigned char *texels;
    unsigned long row, slice;       // pitches; of layers as well [bytes]
    HDI_GLOBAL const float *linear; // of sRGB: the value of every byte
    int width, height, depth;       // [texels]; 1 in what it does not have
    int layers;                     // of arrays, else 1
    int order, type;                // as CLK_ constants
    int layout;                     // enum hdi_image_layout
    int number;                     // enum hdi_image_number
    int texel_size, component_size; // [bytes]
    int components;                 // stored
    int swapped;                    // 1: blue is stored first, in 8888
    float scale;             // 1 over the largest number, normalised; or 1
    unsigned char place[4];  // of red, green, blue, alpha: stored
                             // component, or HDI_CHANNEL_
    unsigned char source[4]; // of stored components: their channel
    // Packed, of red, green, blue, alpha: the lowest bit and how many there
    // are, 0 of what is not stored.
    unsigned char shift[4], bits[4];
};

#endif
