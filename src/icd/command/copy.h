// Commands that move bytes: boxes of rows and slices, within buffers, images
// and the host's memory.
//
// copy.c has buffers, imagecopy.c images, svm.c and usm.c pointers: each checks
// what the standard says of its functions and describes the rest as a box here.
// How it is run is the same for all.
#ifndef HDI_ICD_COPY_H
#define HDI_ICD_COPY_H

#include "icd/memory/memory.h"
#include "icd/queue/queues.h"

//     from: |=== region[0] ===|....|     region[1] rows, from_row apart
//           |=================|....|     region[2] slices, from_slice apart
//
// The addresses are those at home, also of memory objects; the bytes are
// brought there when it runs. Pitches that are not needed (one row, one slice)
// may be 0.
struct hdi_cl_copy {
    struct _cl_mem *from_mem, *to_mem; // held; NULL: the host's memory
    char *from, *to;                   // the first byte of the box
    size_t region[3];                  // [bytes, rows, slices]
    size_t from_row, from_slice, to_row, to_slice; // pitches [bytes]
};

// Enqueue a copy; what is checked of it was checked.
cl_int hdi_cl_enqueue_copy(struct _cl_command_queue *queue,
                           cl_command_type type, const struct hdi_cl_copy *copy,
                           cl_bool blocks, cl_uint wait_count,
                           const cl_event *wait_list, cl_event *event);

// Enqueue the filling of `size` bytes with a pattern of at most 128; `mem` may
// be NULL.
cl_int hdi_cl_enqueue_fill(struct _cl_command_queue *queue,
                           cl_command_type type, struct _cl_mem *mem, char *to,
                           const void *pattern, size_t pattern_size,
                           size_t size, cl_uint wait_count,
                           const cl_event *wait_list, cl_event *event);

// As clEnqueueSVMMemcpy() and clEnqueueSVMMemFill(), as a command of that type.
cl_int hdi_cl_enqueue_pointer_copy(cl_command_queue queue, cl_command_type type,
                                   cl_bool blocks, void *to, const void *from,
                                   size_t size, cl_uint wait_count,
                                   const cl_event *wait_list, cl_event *event);
cl_int hdi_cl_enqueue_pointer_fill(cl_command_queue queue, cl_command_type type,
                                   void *to, const void *pattern,
                                   size_t pattern_size, size_t size,
                                   cl_uint wait_count,
                                   const cl_event *wait_list, cl_event *event);

// A memory object of the queue's context.
cl_int hdi_cl_check_mem(cl_command_queue queue, cl_mem mem, bool image);

// What is looked at last: the wait list, then what the host was forbidden.
cl_int hdi_cl_check_host(cl_command_queue queue, cl_mem mem,
                         cl_mem_flags forbidden, cl_uint wait_count,
                         const cl_event *wait_list);

#endif
