// Memory objects: buffers and parts of them; what images share with them.
//
// Where the bytes of an object are, for the host; all of it is the processor's
// memory, and what another device has newer is brought here before the host
// looks:
//
//     made by us        mem->buffer --> a buffer of the runtime     (owns)
//     USE_HOST_PTR      mem->buffer --> mem->own, round the application's
//     sub-buffer,       mem->buffer --> that of the parent, held;
//     image of one      bytes begin at `offset`
#include "icd/memory/memory.h"
#include "icd/memory/svm.h"

#include <string.h>

#include "base/error.h"
#include "icd/object/info.h"

// Of each of the first two groups a flag at most may be set.
static const cl_mem_flags kernel_flags =
    CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY;
static const cl_mem_flags host_flags =
    CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS;
static const cl_mem_flags pointer_flags =
    CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR;

// No bit or one.
static bool at_most_one(cl_mem_flags flags)
{
    return (flags & (flags - 1)) == 0;
}

// The memory is the application's, or it is not: then it may be allocated in a
// way and filled by a copy as well.
bool hdi_cl_flags_are_valid(cl_mem_flags flags)
{
    if (flags & ~(kernel_flags | host_flags | pointer_flags |
                  CL_MEM_KERNEL_READ_AND_WRITE))
        return false;
    return at_most_one(flags & kernel_flags) &&
           at_most_one(flags & host_flags) &&
           !((flags & CL_MEM_USE_HOST_PTR) &&
             (flags & (CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR)));
}

// A home address. It means something only while the bytes are valid at home,
// which hdi_cl_mem_use() sees to.
char *hdi_cl_mem_bytes(const struct _cl_mem *mem)
{
    return (char *)mem->buffer->address + mem->offset;
}

// Rows that lie side by side are one.
//
// Of a box that is whole rows, or whole slices, one call is left in place of
// one per row. The bytes are the same.
static void join_rows(const size_t region[3], size_t row, size_t slice,
                      size_t joined[3])
{
    memcpy(joined, region, 3 * sizeof(*joined));
    if (joined[0] == row || joined[1] == 1) {
        joined[0] = joined[0] == row ? joined[0] * joined[1] : joined[0];
        joined[1] = 1;
    }
    if (joined[1] == 1 && joined[0] == slice) {
        joined[0] *= joined[2];
        joined[2] = 1;
    }
}

// On a worker, within a command; it copies before it returns. A buffer that was
// never on another device has no `spread` and costs one load: acquire pairs
// with the release by who made it. Bytes that were brought before an error stay
// valid.
cl_int hdi_cl_mem_use(const struct _cl_mem *mem, const char *at,
                      const size_t region[3], size_t row, size_t slice,
                      enum hdi_use use)
{
    const struct hd_buffer *b = mem->buffer;
    size_t begin = (size_t)(at - (const char *)b->address), rows[3];
    hd_status status = HD_OK;
    struct hd_error error;

    if (!atomic_load_explicit(&hdi_buffer_root(b)->spread,
                              memory_order_acquire))
        return CL_SUCCESS;
    join_rows(region, row, slice, rows);
    for (size_t z = 0; z < rows[2] && status == HD_OK; z++)
        for (size_t y = 0; y < rows[1] && status == HD_OK; y++)
            status = hdi_spread_use_home(b, begin + z * slice + y * row,
                                         rows[0], use, &error);
    if (status == HD_OK)
        return CL_SUCCESS;
    hdi_cl_context_tell(mem->context, error.text);
    return status == HD_ENOMEM ? CL_MEM_OBJECT_ALLOCATION_FAILURE
                               : CL_OUT_OF_RESOURCES;
}

cl_int hdi_cl_mem_use_all(const struct _cl_mem *mem, enum hdi_use use)
{
    const size_t region[3] = {mem->size, 1, 1};

    return hdi_cl_mem_use(mem, hdi_cl_mem_bytes(mem), region, mem->size,
                          mem->size, use);
}

// `buffer` is the caller's memory, not allocated here, and must stay where it
// is, for it knows its own address. Whoever ends it calls hdi_spread_destroy()
// if it may have been on another device; the memory itself is never freed
// (`borrowed`).
void hdi_cl_wrap(struct hdi_launcher *launcher, void *memory, uint64_t size,
                 struct hd_buffer *buffer)
{
    *buffer = (struct hd_buffer){.self = buffer,
                                 .launcher = launcher,
                                 .address = memory,
                                 .size = size,
                                 .lock = PTHREAD_MUTEX_INITIALIZER,
                                 .holders = 1,
                                 .borrowed = true};
    // As a constant it is where it is, not a view of pages that are not ours.
    atomic_init(&buffer->view, memory);
}

// The destructor works from here on, whatever was filled in. Kernels may read
// and write what says nothing else.
struct _cl_mem *hdi_cl_mem_create(struct _cl_context *context,
                                  cl_mem_object_type type, cl_mem_flags flags,
                                  const cl_mem_properties *properties,
                                  cl_int *error)
{
    struct _cl_mem *mem = hdi_cl_object_create(HDI_CL_MEM);
    if (!mem)
        return hdi_cl_none(error, CL_OUT_OF_HOST_MEMORY);
    mem->context = context;
    hdi_cl_hold(context);
    mem->type = type;
    mem->flags = flags & kernel_flags ? flags : flags | CL_MEM_READ_WRITE;
    pthread_mutex_init(&mem->lock, NULL);
    if (properties) { // there are none yet: the end alone
        mem->properties = calloc(1, sizeof(*mem->properties));
        mem->property_count = 1;
        if (!mem->properties) {
            hdi_cl_object_release(mem);
            return hdi_cl_none(error, CL_OUT_OF_HOST_MEMORY);
        }
    }
    return mem;
}

// CL_MEM_OBJECT_ALLOCATION_FAILURE: no memory; the caller releases `mem`. The
// copy needs no command: nobody else knows the object yet.
cl_int hdi_cl_mem_fill(struct _cl_mem *mem, size_t size, void *host_ptr)
{
    struct hdi_launcher *launcher = hdi_cl_launcher(mem->context);
    struct hd_error error;

    mem->size = size;
    if (mem->flags & CL_MEM_USE_HOST_PTR) {
        mem->host_ptr = host_ptr;
        mem->is_svm = hdi_cl_svm_find(mem->context, host_ptr).size > 0;
        hdi_cl_wrap(launcher, host_ptr, size, &mem->own);
        mem->buffer = &mem->own;
        return CL_SUCCESS;
    }
    if (hdi_buffer_create(launcher, size, &mem->buffer, &error) != HD_OK) {
        mem->buffer = NULL;
        return CL_MEM_OBJECT_ALLOCATION_FAILURE;
    }
    mem->owns = true;
    if (mem->flags & CL_MEM_COPY_HOST_PTR)
        memcpy(hdi_cl_mem_bytes(mem), host_ptr, size);
    return CL_SUCCESS;
}

// The image first, since it is a view of the buffer; the parent last, since the
// buffer may be the parent's.
void hdi_cl_mem_destroy(void *object)
{
    struct _cl_mem *mem = object;
    struct hdi_cl_destructor *next, *d = mem->destructors;
    struct hdi_cl_map *after, *map = mem->maps;

    hd_image_destroy(mem->image);
    // The last that was registered comes first, before memory of the host may
    // go.
    for (; d; d = next) {
        next = d->next;
        d->mem(mem, d->data);
        free(d);
    }
    for (; map; map = after) {
        after = map->next;
        free(map);
    }
    if (mem->owns)
        hd_buffer_destroy(mem->buffer);
    else if (mem->buffer == &mem->own)
        hdi_spread_destroy(&mem->own);
    free(mem->properties);
    pthread_mutex_destroy(&mem->lock);
    hdi_cl_drop(mem->parent);
    hdi_cl_drop(mem->context);
}

// Buffers ---------------------------------------------------------------------

// What clSVMAlloc() gave is as long as it was asked for.
//
// Memory that we did not allocate has no size that could be checked.
static bool is_too_short(cl_context context, const void *host_ptr, size_t size)
{
    struct hdi_cl_svm svm = hdi_cl_svm_find(context, host_ptr);

    return svm.size > 0 &&
           size > svm.size - (size_t)((const char *)host_ptr - svm.address);
}

// A pointer and a flag that asks for it come together or not at all.
static cl_mem create_buffer(cl_context context,
                            const cl_mem_properties *properties,
                            cl_mem_flags flags, size_t size, void *host_ptr,
                            cl_int *error)
{
    if (!hdi_cl_is(HDI_CL_CONTEXT, context))
        return hdi_cl_none(error, CL_INVALID_CONTEXT);
    if (properties && properties[0])
        return hdi_cl_none(error, CL_INVALID_PROPERTY);
    if (!hdi_cl_flags_are_valid(flags) ||
        (flags & CL_MEM_KERNEL_READ_AND_WRITE))
        return hdi_cl_none(error, CL_INVALID_VALUE);
    if (size == 0 || size > hdi_cl_context_largest(context) ||
        ((flags & CL_MEM_USE_HOST_PTR) &&
         is_too_short(context, host_ptr, size)))
        return hdi_cl_none(error, CL_INVALID_BUFFER_SIZE);
    if (!host_ptr != !(flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR)))
        return hdi_cl_none(error, CL_INVALID_HOST_PTR);

    struct _cl_mem *mem = hdi_cl_mem_create(context, CL_MEM_OBJECT_BUFFER,
                                            flags, properties, error);
    if (!mem)
        return NULL;
    cl_int status = hdi_cl_mem_fill(mem, size, host_ptr);
    if (status != CL_SUCCESS) {
        hdi_cl_object_release(mem);
        return hdi_cl_none(error, status);
    }
    hdi_cl_good(error);
    return mem;
}

CL_API_ENTRY cl_mem CL_API_CALL clCreateBuffer(cl_context context,
                                               cl_mem_flags flags, size_t size,
                                               void *host_ptr, cl_int *error)
{
    return create_buffer(context, NULL, flags, size, host_ptr, error);
}

CL_API_ENTRY cl_mem CL_API_CALL clCreateBufferWithProperties(
    cl_context context, const cl_mem_properties *properties, cl_mem_flags flags,
    size_t size, void *host_ptr, cl_int *error)
{
    return create_buffer(context, properties, flags, size, host_ptr, error);
}

// `*flags` is complete afterwards: for each group that it leaves open it takes
// over what the whole says. Where the memory comes from is never its own to
// say.
bool hdi_cl_flags_inherit(cl_mem_flags whole, cl_mem_flags *flags)
{
    cl_mem_flags kernel = *flags & kernel_flags, host = *flags & host_flags;

    if (*flags & pointer_flags)
        return false;
    if (((whole & CL_MEM_WRITE_ONLY) &&
         (kernel & (CL_MEM_READ_WRITE | CL_MEM_READ_ONLY))) ||
        ((whole & CL_MEM_READ_ONLY) &&
         (kernel & (CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY))) ||
        ((whole & CL_MEM_HOST_WRITE_ONLY) && (host & CL_MEM_HOST_READ_ONLY)) ||
        ((whole & CL_MEM_HOST_READ_ONLY) && (host & CL_MEM_HOST_WRITE_ONLY)) ||
        ((whole & CL_MEM_HOST_NO_ACCESS) &&
         (host & (CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_WRITE_ONLY))))
        return false;
    *flags |= (kernel ? 0 : whole & kernel_flags) |
              (host ? 0 : whole & host_flags) | (whole & pointer_flags);
    return true;
}

// Only of whole buffers, so `offset` never adds up. The origin must be aligned
// as any buffer is (HDI_CL_ALIGN), since kernels rely on it.
CL_API_ENTRY cl_mem CL_API_CALL clCreateSubBuffer(cl_mem whole,
                                                  cl_mem_flags flags,
                                                  cl_buffer_create_type type,
                                                  const void *info,
                                                  cl_int *error)
{
    const cl_buffer_region *region = info;

    if (!hdi_cl_is(HDI_CL_MEM, whole) || whole->type != CL_MEM_OBJECT_BUFFER ||
        whole->parent)
        return hdi_cl_none(error, CL_INVALID_MEM_OBJECT);
    if (!hdi_cl_flags_are_valid(flags) ||
        !hdi_cl_flags_inherit(whole->flags, &flags) ||
        type != CL_BUFFER_CREATE_TYPE_REGION || !region ||
        region->origin > whole->size ||
        region->size > whole->size - region->origin)
        return hdi_cl_none(error, CL_INVALID_VALUE);
    if (region->size == 0)
        return hdi_cl_none(error, CL_INVALID_BUFFER_SIZE);
    if (region->origin % HDI_CL_ALIGN != 0)
        return hdi_cl_none(error, CL_MISALIGNED_SUB_BUFFER_OFFSET);

    struct _cl_mem *mem = hdi_cl_mem_create(
        whole->context, CL_MEM_OBJECT_BUFFER, flags, NULL, error);
    if (!mem)
        return NULL;
    mem->parent = whole;
    hdi_cl_hold(whole);
    mem->offset = region->origin;
    mem->size = region->size;
    mem->buffer = whole->buffer;
    if (whole->host_ptr)
        mem->host_ptr = (char *)whole->host_ptr + region->origin;
    mem->is_svm = whole->is_svm;
    hdi_cl_good(error);
    return mem;
}

// Pipes are optional, and no device says that it has them.
CL_API_ENTRY cl_mem CL_API_CALL clCreatePipe(cl_context context,
                                             cl_mem_flags flags, cl_uint size,
                                             cl_uint packets,
                                             const cl_pipe_properties *p,
                                             cl_int *error)
{
    (void)flags, (void)size, (void)packets, (void)p;
    return hdi_cl_none(error, hdi_cl_is(HDI_CL_CONTEXT, context)
                                  ? CL_INVALID_OPERATION
                                  : CL_INVALID_CONTEXT);
}

CL_API_ENTRY cl_int CL_API_CALL clGetPipeInfo(cl_mem pipe, cl_pipe_info name,
                                              size_t size, void *value,
                                              size_t *size_ret)
{
    (void)pipe, (void)name, (void)size, (void)value, (void)size_ret;
    return CL_INVALID_MEM_OBJECT; // none is a pipe
}

// All of them -----------------------------------------------------------------

CL_API_ENTRY cl_int CL_API_CALL clRetainMemObject(cl_mem mem)
{
    return hdi_cl_is(HDI_CL_MEM, mem) && hdi_cl_object_retain(mem)
               ? CL_SUCCESS
               : CL_INVALID_MEM_OBJECT;
}

CL_API_ENTRY cl_int CL_API_CALL clReleaseMemObject(cl_mem mem)
{
    return hdi_cl_is(HDI_CL_MEM, mem) && hdi_cl_object_release(mem)
               ? CL_SUCCESS
               : CL_INVALID_MEM_OBJECT;
}

CL_API_ENTRY cl_int CL_API_CALL clSetMemObjectDestructorCallback(
    cl_mem mem, void(CL_CALLBACK *notify)(cl_mem, void *), void *data)
{
    if (!hdi_cl_is(HDI_CL_MEM, mem))
        return CL_INVALID_MEM_OBJECT;
    if (!notify)
        return CL_INVALID_VALUE;
    struct hdi_cl_destructor *d = malloc(sizeof(*d));
    if (!d)
        return CL_OUT_OF_HOST_MEMORY;
    pthread_mutex_lock(&mem->lock);
    *d = (struct hdi_cl_destructor){
        .next = mem->destructors, .mem = notify, .data = data};
    mem->destructors = d;
    pthread_mutex_unlock(&mem->lock);
    return CL_SUCCESS;
}

// A snapshot: other threads may map and unmap at any time.
static cl_uint count_maps(struct _cl_mem *mem)
{
    pthread_mutex_lock(&mem->lock);
    cl_uint count = mem->map_count;
    pthread_mutex_unlock(&mem->lock);
    return count;
}

CL_API_ENTRY cl_int CL_API_CALL clGetMemObjectInfo(cl_mem mem, cl_mem_info name,
                                                   size_t size, void *value,
                                                   size_t *size_ret)
{
    if (!hdi_cl_is(HDI_CL_MEM, mem))
        return CL_INVALID_MEM_OBJECT;
    switch (name) {
        HDI_CL_IS(CL_MEM_TYPE, cl_mem_object_type, mem->type)
        HDI_CL_IS(CL_MEM_FLAGS, cl_mem_flags, mem->flags)
        HDI_CL_IS(CL_MEM_SIZE, size_t, mem->size)
        HDI_CL_IS(CL_MEM_HOST_PTR, void *, mem->host_ptr)
        HDI_CL_IS(CL_MEM_MAP_COUNT, cl_uint, count_maps(mem))
        HDI_CL_IS(CL_MEM_REFERENCE_COUNT, cl_uint,
                  hdi_cl_object_references(mem))
        HDI_CL_IS(CL_MEM_CONTEXT, cl_context, mem->context)
        HDI_CL_IS(CL_MEM_ASSOCIATED_MEMOBJECT, cl_mem, mem->parent)
        HDI_CL_IS(CL_MEM_OFFSET, size_t, hdi_cl_is_image(mem) ? 0 : mem->offset)
        HDI_CL_IS(CL_MEM_USES_SVM_POINTER, cl_bool, mem->is_svm)
        HDI_CL_BYTES(CL_MEM_PROPERTIES, mem->properties,
                     mem->property_count * sizeof(*mem->properties))
    default:
        return CL_INVALID_VALUE;
    }
}
