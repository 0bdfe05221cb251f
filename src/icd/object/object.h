// What every handle of the OpenCL API is: an object in a table of its kind.
//
// Objects of a kind are slots of one range of addresses that is never given
// back, so that any pointer an application hands in can be looked at: a handle
// is live when it is the address of a slot of that kind that is in use. Nothing
// an application gives is followed before that was asked.
//
// The memory of a slot is there at several addresses. Each object that is made
// in it has the next of these for its handle, so a handle that was released is
// none when its slot is used again. It may be one after a thousand objects.
//
// An object has two counts: references of the application, and holds of other
// objects and of commands. It goes when both are 0.
//
//     create()     1 reference, 0 holds
//     retain()     one reference more       release()   one less
//     hold()       one hold more            drop()      one less
//     counts 0     destroy(), then the slot is free
//
// Every function of the API is in the file of its noun, under its own name; the
// symbols are hidden and reached through the dispatch table alone.
//
// How the parts belong together; an arrow is a hold, which is given back in the
// destructor:
//
//     event --> queue --> context --> device --> parent device
//     kernel --> program --> context, devices
//     mem, sampler, command buffer --> context or queue; mem --> parent mem
//     command --> what it uses, from enqueueing to its end
//
// Holds only go this way, so there are no circles. The way back is a list that
// holds nothing (queues of a context).
//
// A function of the API first checks its handles with hdi_cl_is(), the only
// thing that may be done with one that is not known to be live, then its other
// arguments, then acts.
//
// hold() and retain() are for who has a reference or a hold already; who has
// only a pointer from before uses hdi_cl_hold_same(). Where an object is made,
// the maker fills it in before anybody else gets the handle.
#ifndef HDI_ICD_OBJECT_H
#define HDI_ICD_OBJECT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "icd/object/api.h"

enum hdi_cl_kind {
    HDI_CL_PLATFORM,
    HDI_CL_DEVICE,
    HDI_CL_CONTEXT,
    HDI_CL_QUEUE,
    HDI_CL_MEM,
    HDI_CL_SAMPLER,
    HDI_CL_PROGRAM,
    HDI_CL_KERNEL,
    HDI_CL_EVENT,
    HDI_CL_COMMAND_BUFFER,
    HDI_CL_KINDS
};

// The objects begin with this.
//
// Invariant: `counts` is 0 from the end of one object to the making of the next
// in its slot. `serial`, `kind` and `dispatch` are written before it becomes 1
// and stay until it is 0. `next` belongs to the free list and its lock.
struct hdi_cl_object {
    const struct _cl_icd_dispatch *dispatch; // the loader reads it
    _Atomic uint64_t counts;    // references below, holds above; 0: a free slot
    uint64_t serial;            // of its kind, never the same again
    struct hdi_cl_object *next; // of a free slot
    _Atomic uint32_t life;      // which of the slot's addresses it has
    enum hdi_cl_kind kind;
};

// What an object of each kind is, and what ends it; dispatch.c says so, and
// what the loader finds in it.
struct hdi_cl_kind_of {
    size_t size;
    void (*destroy)(void *object); // NULL: it is never destroyed
};

extern const struct hdi_cl_kind_of hdi_cl_kinds[HDI_CL_KINDS];
extern const struct _cl_icd_dispatch hdi_cl_dispatch;

// A new object with one reference, zeroed behind its head. NULL: no memory.
//
// Zeroed, so that a destructor can tell what was not made yet.
void *hdi_cl_object_create(enum hdi_cl_kind kind);

// Whether the pointer is a live object of that kind. Any pointer may be given.
//
// It costs two loads and no lock, so that every function can afford it. The
// answer holds as long as the application keeps its side of the contract: a
// handle is not released while another thread uses it.
bool hdi_cl_is(enum hdi_cl_kind kind, const void *handle);

// References of the application. release() is false when it has none.
bool hdi_cl_object_retain(void *object);
bool hdi_cl_object_release(void *object);
cl_uint hdi_cl_object_references(const void *object);

// Holds of ours.
//
// For who has a reference or a hold; from 0 nothing comes back.
void hdi_cl_hold(void *object);

// Hold what was an object with that serial number when it was last looked at.
// False: that is gone, whatever is in its slot now.
bool hdi_cl_hold_same(void *object, uint64_t serial);
// NULL is nothing to drop. The destructor runs here, on this thread, with
// whatever locks the caller has: none that the destructor takes.
void hdi_cl_drop(void *object);

// In the child of fork(): every object of the parent is none here, but for the
// platform and devices, which are renewed.
void hdi_cl_objects_forget(void (*renew)(struct hdi_cl_object *object));

#endif
