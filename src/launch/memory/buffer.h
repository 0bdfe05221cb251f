// Buffers: memory of one launcher's device. Who needs one holds it: its maker,
// and everything that was started with it.
//
//     root    memory on the home device, spread, view, seals
//       ^
//       |     holds it
//     parts   an address and a size in it; a part of a part has the same root
#ifndef HDI_LAUNCH_MEMORY_BUFFER_H
#define HDI_LAUNCH_MEMORY_BUFFER_H

#include "heddle/kernel.h"
#include "launch/launcher.h"

struct hdi_spread;

// Its address and size never change; `lock` is for `view`, `readers` and
// `writers`.
struct hd_buffer {
    // It, for who may only look at it but counts who holds it, or keeps where
    // its bytes are.
    struct hd_buffer *self;
    struct hdi_launcher *launcher;
    void *address; // on the launcher's device
    uint64_t size; // [bytes]
    // Of a part: whose memory it has, and held; it has nothing of the rest but
    // holders. NULL: it has memory itself,
    struct hd_buffer *root;
    bool borrowed;                       // or its maker's
    _Atomic(struct hdi_spread *) spread; // NULL: it is on its device alone
    // Where it is for constant arguments; NULL: it never was one.
    _Atomic(void *) view;
    pthread_mutex_t lock;
    atomic_uint holders; // who needs it: see buffer.h
    uint32_t readers;    // launches that have it as a constant: see seal.h
    uint32_t writers;    // who may write it
};

// As hd_buffer_create() and hd_buffer_wrap(). hd_buffer_destroy() and the rest
// take the buffer.
hd_status hdi_buffer_create(struct hdi_launcher *launcher, uint64_t size,
                            struct hd_buffer **buffer, struct hd_error *error);
hd_status hdi_buffer_wrap(struct hdi_launcher *launcher, void *memory,
                          uint64_t size, struct hd_buffer **buffer,
                          struct hd_error *error);

// In memory on the launcher's device, which stays somebody else's.
hd_status hdi_buffer_at(struct hdi_launcher *launcher, void *address,
                        uint64_t size, struct hd_buffer **buffer,
                        struct hd_error *error);

// Where kernels find it as a constant argument: where nobody may write, or
// else its address. Made when it is asked for first. Any thread.
void *hdi_buffer_view(struct hd_buffer *buffer);

// Once more; hd_buffer_destroy() once less, and the last one frees it.
void hdi_buffer_hold(struct hd_buffer *buffer);

// So many bytes more on the launcher's device.
void hdi_buffer_count(struct hdi_launcher *launcher, uint64_t size);

// Whose memory it is.
static inline struct hd_buffer *hdi_buffer_root(const struct hd_buffer *buffer)
{
    return buffer->root ? buffer->root : buffer->self;
}

// Where it begins in that [bytes].
static inline uint64_t hdi_buffer_begin(const struct hd_buffer *buffer)
{
    return buffer->root ? (uint64_t)((const char *)buffer->address -
                                     (const char *)buffer->root->address)
                        : 0;
}

// Whether `size` bytes from `offset` on are inside.
hd_status hdi_buffer_check(const struct hd_buffer *buffer, uint64_t offset,
                           uint64_t size, struct hd_error *error);

#endif
