// The arguments of a launch, resolved once: what each is, where the kernel
// finds it, and how many bytes it may use from there. They are checked first
// (hdi_plan_check()); whoever comes after reads these, and no hd_arg.
//
//     hdi_bind()         hd_arg -> hdi_bound     addresses on the home device
//     hdi_touch_bring()  (several devices)       addresses on this device
//     hdi_bound_keep()   (runs later)            values copied, buffers held
//     hdi_bound_seal(1)  the launch begins
//     hdi_bound_pack()   hdi_bound -> bytes      what the kernel reads
//     hdi_bound_seal(-1), hdi_bound_drop()       the launch has ended
#ifndef HDI_LAUNCH_ARGS_BOUND_H
#define HDI_LAUNCH_ARGS_BOUND_H

#include <stdbool.h>
#include <stdint.h>

#include "heddle/kernel.h"

struct hdi_image;
struct hdi_request;

enum {
    HDI_VALUE_ALIGNMENT = 16 // of values that are kept [bytes]
};

// One argument. Holds nothing, unless hdi_bound_keep() was called.
struct hdi_bound {
    enum hd_arg_is is;
    uint32_t sampler; // its bits
    // The buffer that it is, or that its texels are in. NULL: there is none.
    struct hd_buffer *buffer;
    struct hd_image *image;        // NULL: it is none
    const struct hdi_image *shown; // of an image: what the kernel gets
    // Where the kernel finds it: its first byte in the buffer, its first texel;
    // of local memory where it begins in that of the work-group. NULL: the null
    // pointer.
    char *address;
    const void *value;
    uint64_t offset; // of that in the buffer [bytes]
    uint64_t size;   // from there on [bytes]
    bool writes;     // the kernel may write it
    // It is a constant argument without a view of its own: see seal.h.
    bool seals;
    bool away; // it is a copy on another device: see touch.h
};

// Resolve arguments that were checked. Values stay where they are.
void hdi_bind(const struct hdi_request *request, struct hdi_bound *bound);

// How much local memory a work-group takes with them, saturating [bytes].
uint64_t hdi_bound_local(const struct hd_kernel *kernel,
                         const struct hd_arg *args);

// Write them into `packed`, as the kernel finds them.
void hdi_bound_pack(const struct hd_kernel *kernel,
                    const struct hdi_bound *bound, unsigned char *packed);

// The same arguments as a caller gives them, for another launch.
void hdi_bound_give(const struct hdi_bound *bound, unsigned count,
                    struct hd_arg *args);

// For a launch that runs later: room for their values [bytes]; copy values
// there, hold buffers and images, and say how much memory they are [bytes];
// let go of these.
uint64_t hdi_bound_room(const struct hd_arg *args, unsigned count);
uint64_t hdi_bound_keep(struct hdi_bound *bound, unsigned count,
                        unsigned char *values);
void hdi_bound_drop(const struct hdi_bound *bound, unsigned count);

// A launch with these arguments begins (`by` is 1) or ends (-1), on a launcher
// that seals: see seal.h. Any thread.
void hdi_bound_seal(const struct hdi_bound *bound, unsigned count, int by);

#endif
