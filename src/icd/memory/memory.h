// Memory objects: buffers, parts of them, and images.
#ifndef HDI_ICD_MEMORY_MEMORY_H
#define HDI_ICD_MEMORY_MEMORY_H

#include "heddle/image.h"
#include "icd/memory/contexts.h"
#include "launch/launch.h"
#include "launch/memory/spread.h"

// An address that is mapped, and how many times: each is unmapped by itself. In
// the list of its memory object, under its lock.
struct hdi_cl_map {
    struct hdi_cl_map *next;
    void *address;
    unsigned count;
};

// Invariant, once it is made: `buffer` is the runtime's (`owns`), or `own`,
// round memory of the application, or the parent's, which is held.
//
// Invariant: nothing but `maps`, `map_count` and `destructors`, which are under
// `lock`, changes after it was made.
struct _cl_mem {
    struct hdi_cl_object object;
    struct _cl_context *context;
    cl_mem_object_type type;
    cl_mem_flags flags;
    size_t size;              // [bytes]
    void *host_ptr;           // with CL_MEM_USE_HOST_PTR, else NULL
    struct _cl_mem *parent;   // of a sub-buffer, or an image of a buffer
    size_t offset;            // into the parent [bytes]
    struct hd_buffer *buffer; // where the bytes are: the parent's, or its own
    struct hd_buffer own;     // of memory that is not the runtime's
    bool owns;                // `buffer` goes with it
    bool is_svm;              // host_ptr is of clSVMAlloc()
    struct hd_image *image;
    cl_image_format format;
    cl_image_desc desc;
    cl_mem_properties *properties;
    unsigned property_count;
    pthread_mutex_t lock;
    struct hdi_cl_map *maps;
    cl_uint map_count;
    struct hdi_cl_destructor *destructors;
};

static inline bool hdi_cl_is_image(const struct _cl_mem *mem)
{
    return mem->type != CL_MEM_OBJECT_BUFFER && mem->type != CL_MEM_OBJECT_PIPE;
}

// The first byte of the object, where the host has it.
char *hdi_cl_mem_bytes(const struct _cl_mem *mem);

// The host uses bytes of it from now on, a command at a time: rows and slices
// from `at` on. They come from where they are. Else the context is told.
cl_int hdi_cl_mem_use(const struct _cl_mem *mem, const char *at,
                      const size_t region[3], size_t row, size_t slice,
                      enum hdi_use use);
cl_int hdi_cl_mem_use_all(const struct _cl_mem *mem, enum hdi_use use);

// What can be wrong with flags, besides being of another object's.
bool hdi_cl_flags_are_valid(cl_mem_flags flags);

// A part may be used for less than the whole; what it does not say is as there.
// False: it is asked for more.
bool hdi_cl_flags_inherit(cl_mem_flags whole, cl_mem_flags *flags);

// A buffer of the runtime's kind round memory that is not its own.
void hdi_cl_wrap(struct hdi_launcher *launcher, void *memory, uint64_t size,
                 struct hd_buffer *buffer);

// A new object, held by nobody, with flags, size and properties; of memory of
// the runtime or the host's.
struct _cl_mem *hdi_cl_mem_create(struct _cl_context *context,
                                  cl_mem_object_type type, cl_mem_flags flags,
                                  const cl_mem_properties *properties,
                                  cl_int *error);
cl_int hdi_cl_mem_fill(struct _cl_mem *mem, size_t size, void *host_ptr);

void hdi_cl_mem_destroy(void *object);

// What an image is made of.
struct hdi_cl_extent {
    size_t texel;      // [bytes]
    size_t size[3];    // [texels, rows, slices]
    size_t row, slice; // pitches [bytes]
};

void hdi_cl_image_extent(const struct _cl_mem *image,
                         struct hdi_cl_extent *extent);

// Whether origin and region lie in the image; else an error.
cl_int hdi_cl_image_region(const struct _cl_mem *image, const size_t *origin,
                           const size_t *region);

// One texel of `color`, as the image keeps it.
bool hdi_cl_image_pack(const cl_image_format *format, const void *color,
                       unsigned char texel[16]);

#endif
