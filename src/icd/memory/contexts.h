// Contexts: devices, and the objects that are made for them.
#ifndef HDI_ICD_MEMORY_CONTEXTS_H
#define HDI_ICD_MEMORY_CONTEXTS_H

#include "icd/device/devices.h"

// A callback for the end of an object. It is in the list of a context or a
// memory object, newest first, which is the order in which they are called; of
// the two functions the one that fits is set. Owned by that object; the list is
// under its lock.
struct hdi_cl_destructor {
    struct hdi_cl_destructor *next;
    void(CL_CALLBACK *context)(cl_context context, void *data);
    void(CL_CALLBACK *mem)(cl_mem mem, void *data);
    void *data;
};

// Invariant: `devices` has no duplicates, and they are held; it and the
// properties are constant. `lock` is over the three lists. `notify` may be
// called from any thread, workers too.
struct _cl_context {
    struct hdi_cl_object object;
    struct _cl_device_id **devices;
    unsigned device_count;
    cl_context_properties *properties; // with the final 0; or NULL
    unsigned property_count;
    void(CL_CALLBACK *notify)(const char *text, const void *info, size_t size,
                              void *data);
    void *data;
    pthread_mutex_t lock;
    struct hdi_cl_destructor *destructors;
    struct hdi_cl_svm *svm;           // what was allocated, newest first
    struct _cl_command_queue *queues; // all of them, newest first
};

bool hdi_cl_context_has(const struct _cl_context *context,
                        const struct _cl_device_id *device);

// Buffer that one of its devices takes [bytes].
uint64_t hdi_cl_context_largest(const struct _cl_context *context);

// Whether one of them shares the process's memory.
bool hdi_cl_context_shares(const struct _cl_context *context);

// The launcher whose memory the context's objects are in: the processor's. They
// are brought to the GPU, and back, by what uses them there.
struct hdi_launcher *hdi_cl_launcher(const struct _cl_context *context);

// Tell the application why something went wrong, as far as it asked to know.
void hdi_cl_context_tell(struct _cl_context *context, const char *text);

void hdi_cl_context_destroy(void *object);

#endif
