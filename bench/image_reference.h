// Samplers for one format each, as one writes them by hand.
#ifndef HEDDLE_BENCH_IMAGE_REFERENCE_H
#define HEDDLE_BENCH_IMAGE_REFERENCE_H

// Turn a picture of `size` x `size` texels by the angle with this cosine and
// sine, as image.cl does.
typedef void image_reference(const void *from, float *to, int size, float c,
                             float s);

// Many pixels at a time.
image_reference image_bytes_wide, image_floats_wide, image_float_wide;
// A pixel at a time, its four channels at once.
image_reference image_bytes, image_floats;

#endif
