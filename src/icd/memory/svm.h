// Shared virtual memory: allocations that are told by their addresses.
#ifndef HDI_ICD_MEMORY_SVM_H
#define HDI_ICD_MEMORY_SVM_H

#include "icd/memory/contexts.h"

struct hd_buffer;

// An allocation that is told by its address. In the list of its context, under
// its lock; others get copies (hdi_cl_svm_find()), whose `buffer` may be gone
// when they look. `device` is not held: it is of the context, which outlives
// its memory.
struct hdi_cl_svm {
    struct hdi_cl_svm *next;
    struct hd_buffer *buffer;
    char *address;
    size_t size; // [bytes]
    cl_svm_mem_flags flags;
    // Of unified shared memory:
    cl_unified_shared_memory_type_intel type; // 0: it is none
    cl_mem_alloc_flags_intel alloc_flags;
    struct _cl_device_id *device; // or NULL
};

// Allocate `size` bytes with the other fields as they are. NULL: no memory.
void *hdi_cl_svm_allocate(struct _cl_context *context,
                          const struct hdi_cl_svm *what);

// The allocation that holds the address; size 0: there is none.
struct hdi_cl_svm hdi_cl_svm_find(struct _cl_context *context,
                                  const void *address);
void hdi_cl_svm_free_all(struct _cl_context *context);

#endif
