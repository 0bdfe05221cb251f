// Contexts: devices, and the objects that are made for them.
//
// A context keeps no memory of its own and starts nothing: it says which
// devices its objects may be used on. All its buffers are made in the
// processor's memory, whichever devices it has, and brought elsewhere by what
// uses them.
#include <string.h>

#include "base/log.h"
#include "icd/memory/contexts.h"
#include "icd/memory/svm.h"
#include "icd/object/info.h"
#include "runtime/runtime.h"

// The root's, also for contexts of a GPU or of a part: clCreateContext() has
// seen to it that it is there.
struct hdi_launcher *hdi_cl_launcher(const struct _cl_context *context)
{
    (void)context;
    return hdi_cl_runtime(hdi_cl_root_device())->launcher;
}

// Devices of a runtime are numbered as the sides are. NULL: the runtime cannot
// be started, or the GPU was not there when it was.
struct hdi_launcher *hdi_cl_device_launcher(struct _cl_device_id *device)
{
    struct hd_runtime *runtime = hdi_cl_runtime(device);

    return runtime && device->side < runtime->device_count
               ? runtime->launchers[device->side]
               : NULL;
}

uint64_t hdi_cl_context_largest(const struct _cl_context *context)
{
    uint64_t most = 0;

    for (unsigned i = 0; i < context->device_count; i++) {
        uint64_t one = hdi_cl_about(context->devices[i]->side)->largest;
        most = one > most ? one : most;
    }
    return most;
}

bool hdi_cl_context_shares(const struct _cl_context *context)
{
    for (unsigned i = 0; i < context->device_count; i++)
        if (context->devices[i]->side == HDI_CL_CPU)
            return true;
    return false;
}

bool hdi_cl_context_has(const struct _cl_context *context,
                        const struct _cl_device_id *device)
{
    for (unsigned i = 0; i < context->device_count; i++)
        if (context->devices[i] == device)
            return true;
    return false;
}

// To the log in any case: many applications give no callback. The standard has
// binary data beside the text; there are none.
void hdi_cl_context_tell(struct _cl_context *context, const char *text)
{
    hdi_warn("%s", text);
    if (context->notify)
        context->notify(text, NULL, 0, context->data);
}

// Both counts are 0, so all objects that hold it are gone. The application's
// callbacks come first, and see the context whole; what was allocated by
// address and never freed goes with it.
void hdi_cl_context_destroy(void *object)
{
    struct _cl_context *context = object;
    struct hdi_cl_destructor *next, *d = context->destructors;

    for (; d; d = next) {
        next = d->next;
        d->context(context, d->data);
        free(d);
    }
    hdi_cl_svm_free_all(context);
    for (unsigned i = 0; i < context->device_count; i++)
        hdi_cl_drop(context->devices[i]);
    free(context->devices);
    free(context->properties);
    pthread_mutex_destroy(&context->lock);
}

// Each name once. `*count` is with the final 0; 0: there is no list.
static cl_int check_properties(const cl_context_properties *properties,
                               unsigned *count)
{
    bool has_platform = false, has_sync = false;
    unsigned i = 0;

    for (; properties && properties[i]; i += 2)
        if (properties[i] == CL_CONTEXT_PLATFORM && !has_platform) {
            if (!hdi_cl_is(HDI_CL_PLATFORM, (void *)properties[i + 1]))
                return CL_INVALID_PLATFORM;
            has_platform = true;
        } else if (properties[i] == CL_CONTEXT_INTEROP_USER_SYNC && !has_sync) {
            if (properties[i + 1] != CL_TRUE && properties[i + 1] != CL_FALSE)
                return CL_INVALID_PROPERTY;
            has_sync = true;
        } else {
            return CL_INVALID_PROPERTY;
        }
    *count = properties ? i + 1 : 0;
    return CL_SUCCESS;
}

// The runtimes of all its devices are started here: what cannot be started is
// told now, not at the first command, and other functions need not ask. A
// device that is given twice is kept once.
CL_API_ENTRY cl_context CL_API_CALL clCreateContext(
    const cl_context_properties *properties, cl_uint count,
    const cl_device_id *devices,
    void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
    void *data, cl_int *error)
{
    unsigned property_count;
    cl_int status = check_properties(properties, &property_count);

    if (status != CL_SUCCESS)
        return hdi_cl_none(error, status);
    if (!devices || count == 0 || (!notify && data))
        return hdi_cl_none(error, CL_INVALID_VALUE);
    for (cl_uint i = 0; i < count; i++)
        if (!hdi_cl_is(HDI_CL_DEVICE, devices[i]))
            return hdi_cl_none(error, CL_INVALID_DEVICE);
    for (cl_uint i = 0; i < count; i++)
        if (!hdi_cl_device_launcher(devices[i]))
            return hdi_cl_none(error, CL_DEVICE_NOT_AVAILABLE);
    if (!hdi_cl_runtime(hdi_cl_root_device()))
        return hdi_cl_none(error, CL_DEVICE_NOT_AVAILABLE);

    struct _cl_context *context = hdi_cl_object_create(HDI_CL_CONTEXT);
    if (!context)
        return hdi_cl_none(error, CL_OUT_OF_HOST_MEMORY);
    pthread_mutex_init(&context->lock, NULL);
    context->notify = notify;
    context->data = data;
    context->devices = calloc(count, sizeof(struct _cl_device_id *));
    context->properties =
        calloc(property_count + 1, sizeof(*context->properties));
    if (!context->devices || !context->properties) {
        hdi_cl_object_release(context);
        return hdi_cl_none(error, CL_OUT_OF_HOST_MEMORY);
    }
    context->property_count = property_count;
    if (property_count > 0)
        memcpy(context->properties, properties,
               property_count * sizeof(*properties));
    for (cl_uint i = 0; i < count; i++) {
        if (hdi_cl_context_has(context, devices[i]))
            continue;
        context->devices[context->device_count++] = devices[i];
        hdi_cl_hold(devices[i]);
    }
    hdi_cl_good(error);
    return context;
}

// One device of each type at most is there.
CL_API_ENTRY cl_context CL_API_CALL clCreateContextFromType(
    const cl_context_properties *properties, cl_device_type type,
    void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
    void *data, cl_int *error)
{
    unsigned property_count;
    cl_device_id devices[HDI_CL_SIDES];
    cl_uint count;
    cl_int status = check_properties(properties, &property_count);

    if (status == CL_SUCCESS && !notify && data)
        status = CL_INVALID_VALUE;
    if (status == CL_SUCCESS)
        status = clGetDeviceIDs(hdi_cl_platform(), type, HDI_CL_SIDES, devices,
                                &count);
    if (status != CL_SUCCESS)
        return hdi_cl_none(error, status);
    return clCreateContext(properties, count, devices, notify, data, error);
}

CL_API_ENTRY cl_int CL_API_CALL clRetainContext(cl_context context)
{
    return hdi_cl_is(HDI_CL_CONTEXT, context) && hdi_cl_object_retain(context)
               ? CL_SUCCESS
               : CL_INVALID_CONTEXT;
}

CL_API_ENTRY cl_int CL_API_CALL clReleaseContext(cl_context context)
{
    return hdi_cl_is(HDI_CL_CONTEXT, context) && hdi_cl_object_release(context)
               ? CL_SUCCESS
               : CL_INVALID_CONTEXT;
}

CL_API_ENTRY cl_int CL_API_CALL clGetContextInfo(cl_context context,
                                                 cl_context_info name,
                                                 size_t size, void *value,
                                                 size_t *size_ret)
{
    if (!hdi_cl_is(HDI_CL_CONTEXT, context))
        return CL_INVALID_CONTEXT;
    switch (name) {
        HDI_CL_IS(CL_CONTEXT_REFERENCE_COUNT, cl_uint,
                  hdi_cl_object_references(context))
        HDI_CL_IS(CL_CONTEXT_NUM_DEVICES, cl_uint, context->device_count)
        HDI_CL_BYTES(CL_CONTEXT_DEVICES, context->devices,
                     context->device_count * sizeof(cl_device_id))
        HDI_CL_BYTES(CL_CONTEXT_PROPERTIES, context->properties,
                     context->property_count * sizeof(*context->properties))
    default:
        return CL_INVALID_VALUE;
    }
}

// In front of the list: the last that was registered is called first.
CL_API_ENTRY cl_int CL_API_CALL clSetContextDestructorCallback(
    cl_context context, void(CL_CALLBACK *notify)(cl_context, void *),
    void *data)
{
    if (!hdi_cl_is(HDI_CL_CONTEXT, context))
        return CL_INVALID_CONTEXT;
    if (!notify)
        return CL_INVALID_VALUE;
    struct hdi_cl_destructor *d = malloc(sizeof(*d));
    if (!d)
        return CL_OUT_OF_HOST_MEMORY;
    pthread_mutex_lock(&context->lock);
    *d = (struct hdi_cl_destructor){
        .next = context->destructors, .context = notify, .data = data};
    context->destructors = d;
    pthread_mutex_unlock(&context->lock);
    return CL_SUCCESS;
}
