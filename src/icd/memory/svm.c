// Shared virtual memory: the processor's memory is the application's, so that
// every pointer may be given to kernels. What is allocated here is told apart
// from the rest, for kernels' faults are explained by it.
//
//     clSVMAlloc(), USM --> hdi_cl_svm in the context's list --> hd_buffer
//     a pointer in a kernel's argument --> hdi_cl_svm_find() --> its size
#include "icd/memory/svm.h"

#include "launch/launch.h"

// A copy, since the list may change right after. The subtraction wraps for
// addresses below, so one comparison finds both ends. It takes time in
// proportion to the number of allocations: programs make few, large ones.
struct hdi_cl_svm hdi_cl_svm_find(struct _cl_context *context,
                                  const void *address)
{
    struct hdi_cl_svm found = {0};

    pthread_mutex_lock(&context->lock);
    for (struct hdi_cl_svm *s = context->svm; s; s = s->next)
        if ((uintptr_t)address - (uintptr_t)s->address < s->size) {
            found = *s;
            break;
        }
    pthread_mutex_unlock(&context->lock);
    return found;
}

// By the context's destructor: nobody else is there, hence no lock.
void hdi_cl_svm_free_all(struct _cl_context *context)
{
    struct hdi_cl_svm *next;

    for (struct hdi_cl_svm *s = context->svm; s; s = next) {
        next = s->next;
        hd_buffer_destroy(s->buffer);
        free(s);
    }
    context->svm = NULL;
}

// It is in the list before its address is known to anybody.
void *hdi_cl_svm_allocate(struct _cl_context *context,
                          const struct hdi_cl_svm *what)
{
    struct hdi_cl_svm *s = malloc(sizeof(*s));
    struct hd_error error;

    if (!s)
        return NULL;
    *s = *what;
    if (hdi_buffer_create(hdi_cl_launcher(context), s->size, &s->buffer,
                          &error) != HD_OK) {
        free(s);
        return NULL;
    }
    s->address = hd_buffer_host(s->buffer);
    pthread_mutex_lock(&context->lock);
    s->next = context->svm;
    context->svm = s;
    pthread_mutex_unlock(&context->lock);
    return s->address;
}

// The runtime aligns all buffers to HDI_CL_ALIGN, so smaller alignments are met
// by themselves and larger ones are refused. NULL for every kind of error, as
// the standard has it.
CL_API_ENTRY void *CL_API_CALL clSVMAlloc(cl_context context,
                                          cl_svm_mem_flags flags, size_t size,
                                          cl_uint alignment)
{
    const cl_svm_mem_flags access =
        CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY;
    cl_svm_mem_flags used = flags & access;

    if (!hdi_cl_is(HDI_CL_CONTEXT, context) || size == 0 ||
        size > hdi_cl_context_largest(context) ||
        !hdi_cl_context_shares(context) || (used & (used - 1)) ||
        (flags &
         ~(access | CL_MEM_SVM_FINE_GRAIN_BUFFER | CL_MEM_SVM_ATOMICS)) ||
        ((flags & CL_MEM_SVM_ATOMICS) &&
         !(flags & CL_MEM_SVM_FINE_GRAIN_BUFFER)) ||
        (alignment & (alignment - 1)) || alignment > HDI_CL_ALIGN)
        return NULL;
    return hdi_cl_svm_allocate(
        context, &(struct hdi_cl_svm){.size = size, .flags = flags});
}

// An address that is not the beginning of an allocation is ignored. It does not
// wait: kernels that use the memory still are the application's mistake.
CL_API_ENTRY void CL_API_CALL clSVMFree(cl_context context, void *pointer)
{
    struct hdi_cl_svm **at, *s;

    if (!hdi_cl_is(HDI_CL_CONTEXT, context) || !pointer)
        return;
    pthread_mutex_lock(&context->lock);
    for (at = &context->svm; (s = *at) && s->address != (char *)pointer;)
        at = &s->next;
    if (s)
        *at = s->next;
    pthread_mutex_unlock(&context->lock);
    if (!s)
        return;
    hd_buffer_destroy(s->buffer);
    free(s);
}
