// Commands that run kernels.
//
// What a launch goes through, and what is kept of it from one to the next:
//
//     prepare()    take_form() --> is it of the same range and arguments?
//                    yes: capture() copies arguments into a record
//                    no:  begin_form(), capture(), set_range(), plan_launch(),
//                         remember_form()
//     enqueue      the record is the command; `launch` is its payload
//     run_launch() on a worker: hdi_launch_planned(), which checks nothing
//     end_launch() gives back what was held
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "icd/memory/svm.h"
#include "icd/object/info.h"
#include "icd/program/kernel.h"
#include "icd/queue/event.h"
#include "icd/queue/queues.h"
#include "launch/args/plan.h"
#include "launch/memory/image.h"
#include "launch/start/start.h"
#include "runtime/runtime.h"
#include "steal/event.h"

// What a command keeps of a launch: all of it, so that the kernel may be given
// other arguments and go. Behind it are the arguments, the buffers round
// pointers, the images of parts of the machine, and values.
//
//     launch | args[n] | mems[n] | buffers[n]? | images[n]? | values, by 16
//              at[0]     at[1]     at[2]         at[3]        at[4]
//
// One block, in the room of the record, or allocated where a command buffer
// keeps it. Constant once it is enqueued; a recorded one may run many times,
// also at the same time.
struct launch {
    struct hdi_event *record;    // of the command; NULL: allocated
    struct _cl_context *context; // of the command's queue, which holds it
    struct hdi_cl_built *built;  // used
    const struct hd_kernel *kernel;
    struct hdi_launcher *launcher;
    struct hd_range range;
    struct hdi_plan plan;
    unsigned count;
    struct hd_arg *args;
    struct _cl_mem **mems; // held; NULL where there is none
    struct hd_buffer *buffers;
    struct hd_image *images;
};

// Also of one that capture() gave up halfway: `mems` is filled to the end even
// then.
static void end_launch(void *payload)
{
    struct launch *l = payload;

    for (unsigned i = 0; i < l->count; i++)
        hdi_cl_drop(l->mems[i]);
    hdi_cl_built_release(l->built);
    if (!l->record)
        free(l);
}

// It comes to no command.
static void discard(struct launch *l)
{
    struct hdi_event *record = l->record;

    end_launch(l);
    if (record)
        hdi_event_give_back(record);
}

// The core brings memory to devices of its runtime. Parts of the processor have
// one of their own.
//
// Of the same pool: the core sees to it, per launch and per argument. Of
// another: all of it is brought home first (run_launch()).
static bool is_moved(const struct launch *l, const struct _cl_mem *mem)
{
    return l->launcher->pool == mem->buffer->launcher->pool;
}

// The text goes to the application's callback and the log; the standard has one
// code for all that can go wrong with a kernel that runs.
static cl_int tell(const struct launch *l, hd_status status,
                   const struct hd_error *error)
{
    if (status == HD_OK)
        return CL_COMPLETE;
    hdi_cl_context_tell(l->context, error->text);
    return CL_OUT_OF_RESOURCES;
}

// A launch that goes on without a worker. Freed when it has ended.
struct going {
    const struct launch *launch;
    struct hdi_event *record; // of the command, which ends with it
    hd_event started;         // the launch
};

// The launch has its own event, which ends before the command's. When the
// command has ended, the launch may be gone.
static void end_going(struct hd_worker *worker, hd_status status, void *data)
{
    struct going *going = data;
    const struct launch *l = going->launch;
    struct hd_pool *pool = l->launcher->pool;
    struct hdi_event *record = going->record;
    struct hd_event_info info = {0};
    struct hd_error error;

    (void)worker;
    status = hd_event_status(pool, going->started, &error);
    hd_event_info(pool, going->started, &info);
    hd_event_release(pool, going->started);
    free(going);
    hdi_cl_end_later(record, tell(l, status, &error),
                     info.ended ? info.ended : hdi_now());
}

// What units run needs no worker.
//
// The worker is free at once, instead of waiting for units that run on other
// threads or on a GPU. HDI_CL_LATER: `l` may be gone already. What the launch
// costs is not counted for the command.
static cl_int start_launch(const struct launch *l, struct hdi_event *record)
{
    const struct hdi_request request = {l->kernel, &l->range, l->args,
                                        l->count};
    struct hd_pool *pool = l->launcher->pool;
    struct going *going = malloc(sizeof(*going));
    struct hd_error error;

    if (!going)
        return CL_OUT_OF_HOST_MEMORY;
    *going = (struct going){.launch = l, .record = record};
    hd_status status =
        hdi_launch_start(l->launcher, NULL, &request, &going->started, &error);
    if (status != HD_OK) {
        free(going);
        return tell(l, status, &error);
    }
    if (hd_event_on_end(pool, going->started, end_going, going, NULL) !=
        HD_OK) {
        // No memory for that: this worker waits.
        hd_event_wait(pool, &going->started, 1, HD_FOREVER, NULL);
        end_going(NULL, HD_OK, going);
    }
    return HDI_CL_LATER;
}

static cl_int run_launch(const struct hdi_cl_running *at, void *payload)
{
    const struct launch *l = payload;
    const struct hdi_terms terms = {.cost = at->cost};
    struct hd_error error;

    for (unsigned i = 0; i < l->count; i++)
        if (l->mems[i] && !is_moved(l, l->mems[i])) {
            cl_int status = hdi_cl_mem_use_all(l->mems[i], HDI_USE_WRITE);
            if (status != CL_SUCCESS)
                return status;
        }
    if (l->launcher->ports && at->record)
        return start_launch(l, at->record);
    hd_status status = hdi_launch_planned(
        at->worker, l->launcher,
        &(struct hdi_request){l->kernel, &l->range, l->args, l->count},
        &l->plan, &terms, &error);
    return tell(l, status, &error);
}

static const struct hdi_cl_work launch_work = {
    .type = CL_COMMAND_NDRANGE_KERNEL, .run = run_launch, .end = end_launch};
static const struct hdi_cl_work task_work = {
    .type = CL_COMMAND_TASK, .run = run_launch, .end = end_launch};

// Capturing -------------------------------------------------------------------

// Each begins at a multiple of 16 in the block.
static size_t value_size(const struct hd_arg *arg)
{
    return arg->is == HD_IS_VALUE ? (arg->size + 15) / 16 * 16 : 0;
}

// The memory that a pointer points into, as far as that is known.
//
// A pointer of no allocation of ours may be any of the process's memory: it
// gets a buffer of 64 TiB that begins there, so that no access is taken for one
// out of bounds. The buffers are in the launch and go with it.
static void wrap_pointer(struct launch *l, unsigned i, const void *pointer)
{
    struct hdi_cl_svm svm = hdi_cl_svm_find(l->context, pointer);
    char *begin = svm.size > 0 ? svm.address : (char *)(uintptr_t)pointer;
    uint64_t size = svm.size > 0 ? svm.size : 1ull << 46;

    if (!pointer)
        return;
    hdi_cl_wrap(l->launcher, begin, size, &l->buffers[i]);
    l->args[i].buffer = &l->buffers[i];
    l->args[i].offset = (uint64_t)((const char *)pointer - begin);
}

// Objects of the context are of the whole machine: a part of it takes their
// memory as its own.
//
// A shallow copy of the image under the part's launcher: it lives in the
// launch, its memory in the object that the launch holds.
static void adopt(struct launch *l, unsigned i, const struct _cl_mem *mem)
{
    if (l->args[i].is == HD_IS_BUFFER) {
        hdi_cl_wrap(l->launcher, hdi_cl_mem_bytes(mem), mem->size,
                    &l->buffers[i]);
        l->args[i].buffer = &l->buffers[i];
        l->args[i].offset = 0;
    } else {
        l->images[i] = *mem->image;
        l->images[i].self = &l->images[i];
        l->images[i].launcher = l->launcher;
        l->args[i].image = &l->images[i];
    }
}

// Forms -----------------------------------------------------------------------

// What launches of a kernel with the same range and the same arguments, but for
// values, have in common. A kernel keeps that of the last one.
//
// Owned by the kernel, or by the one thread that took it out. `device` is a
// serial number and not a pointer, so that a device which was made where
// another had been is told apart.
struct hdi_cl_form {
    // That it is of:
    uint64_t device; // serial number; 0: nothing yet
    uint64_t changes;
    cl_uint dims;
    bool has_local;
    size_t offset[3], global[3], local[3];
    // And what it is:
    const struct hd_kernel *kernel;
    struct hdi_launcher *launcher;
    size_t at[5], size; // of a launch: where its parts are [bytes]
    struct hd_range range;
    struct hdi_plan plan;
};

// The kernel's, which is the caller's until give_form(): another thread that
// enqueues the kernel meanwhile makes one of its own. NULL: no memory.
//
// Acquire pairs with the release in give_form(): the form is as its last owner
// left it.
static struct hdi_cl_form *take_form(struct _cl_kernel *kernel)
{
    struct hdi_cl_form *form =
        atomic_exchange_explicit(&kernel->form, NULL, memory_order_acquire);

    return form ? form : calloc(1, sizeof(*form));
}

// Frees the one that another thread has given meanwhile; acquire, since that is
// the other's writing.
static void give_form(struct _cl_kernel *kernel, struct hdi_cl_form *form)
{
    free(atomic_exchange_explicit(&kernel->form, form, memory_order_acq_rel));
}

// Whether capture() may go on with range and plan as they are. Whoever changed
// an argument other than a value has counted `changes` up. A form that
// begin_form() left without a device (0) is of nothing: serial numbers begin at
// 1.
static bool is_of(const struct hdi_cl_form *form,
                  const struct _cl_kernel *kernel,
                  const struct _cl_command_queue *queue, cl_uint dims,
                  const size_t *offset, const size_t *global,
                  const size_t *local)
{
    if (form->device != queue->device->object.serial ||
        form->changes != kernel->changes || form->dims != dims ||
        form->has_local != (local != NULL) || !global)
        return false;
    for (cl_uint i = 0; i < dims; i++)
        if (form->global[i] != global[i] ||
            form->offset[i] != (offset ? offset[i] : 0) ||
            (local && form->local[i] != local[i]))
            return false;
    return true;
}

// What capture() made by it can be run.
//
// Called last, on success only: before that `device` is 0 and nobody takes the
// form for one of theirs.
static void remember_form(struct hdi_cl_form *form, const struct launch *l,
                          const struct _cl_kernel *kernel,
                          const struct _cl_command_queue *queue,
                          const size_t *local)
{
    form->device = queue->device->object.serial;
    form->changes = kernel->changes;
    form->dims = l->range.dims;
    form->has_local = local != NULL;
    for (cl_uint i = 0; i < form->dims; i++) {
        form->offset[i] = l->range.offset[i];
        form->global[i] = l->range.global[i];
        form->local[i] = local ? local[i] : 0;
    }
    form->range = l->range;
    form->plan = l->plan;
}

// All of it but the range and the plan.
//
// The sizes of the block come from the kinds of arguments.
// CL_INVALID_OPERATION: pointers into the process's memory mean nothing on a
// GPU. Where it fails the form stays empty, and is given back all the same.
static cl_int begin_form(struct hdi_cl_form *form,
                         const struct _cl_kernel *kernel,
                         struct _cl_command_queue *queue)
{
    struct _cl_device_id *device = queue->device;
    unsigned n = kernel->count;
    bool part = device->parent != NULL, wraps = part;
    size_t values = 0;

    *form = (struct hdi_cl_form){0};
    form->kernel = hdi_cl_built_kernel(kernel->built, kernel->kernel, device);
    form->launcher = hdi_cl_device_launcher(device);
    if (!form->kernel)
        return part ? CL_OUT_OF_HOST_MEMORY : CL_INVALID_PROGRAM_EXECUTABLE;
    for (unsigned i = 0; i < n; i++) {
        if (kernel->arguments[i].is_pointer && device->side == HDI_CL_GPU)
            return CL_INVALID_OPERATION;
        wraps |= kernel->arguments[i].is_pointer;
        values += value_size(&kernel->arguments[i].arg);
    }
    const size_t sizes[] = {sizeof(struct launch),
                            n * sizeof(struct hd_arg),
                            n * sizeof(struct _cl_mem *),
                            wraps ? n * sizeof(struct hd_buffer) : 0,
                            part ? n * sizeof(struct hd_image) : 0,
                            values};
    for (int i = 0; i < 5; i++)
        form->at[i] = form->size += (sizes[i] + 15) / 16 * 16;
    form->size += values;
    return CL_SUCCESS;
}

// `*made` gets a launch that holds all it needs, or nothing is left. One
// argument after another is held even when one before has failed: then
// discard() can treat all alike.
//
// Buffers are held here and not when they were set as arguments: the standard
// lets an application release one in between, and CL_INVALID_KERNEL_ARGS tells
// that the object is gone.
static cl_int capture(const struct hdi_cl_form *form,
                      const struct _cl_kernel *kernel,
                      struct _cl_command_queue *queue, struct launch **made)
{
    bool part = queue->device->parent != NULL;
    struct hdi_event *record;
    char *block = hdi_cl_take(queue, form->size, &record);

    if (!block)
        return CL_OUT_OF_HOST_MEMORY;
    struct launch *l = (struct launch *)(void *)block;
    l->record = record;
    l->context = kernel->context;
    l->built = kernel->built;
    l->kernel = form->kernel;
    l->launcher = form->launcher;
    l->range = form->range;
    l->plan = form->plan;
    l->count = kernel->count;
    l->args = (void *)(block + form->at[0]);
    l->mems = (void *)(block + form->at[1]);
    l->buffers = (void *)(block + form->at[2]);
    l->images = (void *)(block + form->at[3]);
    char *value = block + form->at[4];
    cl_int status = CL_SUCCESS;

    atomic_fetch_add(&l->built->users, 1);
    for (unsigned i = 0; i < l->count; i++) {
        const struct hdi_cl_argument *a = &kernel->arguments[i];
        l->args[i] = a->arg;
        l->mems[i] = NULL;
        // It may be gone, and another object be where it was.
        if (a->mem && !hdi_cl_hold_same(a->mem, a->serial)) {
            status = CL_INVALID_KERNEL_ARGS;
            continue;
        }
        l->mems[i] = a->mem;
        if (a->arg.is == HD_IS_VALUE) {
            memcpy(value, a->value, a->arg.size);
            l->args[i].value = value;
            value += value_size(&a->arg);
        } else if (a->is_pointer) {
            wrap_pointer(l, i, a->pointer);
        } else if (a->mem && part) {
            adopt(l, i, a->mem);
        } else if (a->mem && a->arg.is == HD_IS_IMAGE) {
            l->args[i].image = a->mem->image;
        } else if (a->mem) {
            l->args[i].buffer = a->mem->buffer;
            l->args[i].offset = a->mem->offset;
        }
    }
    if (status == CL_SUCCESS)
        *made = l;
    else
        discard(l);
    return status;
}

// Shapes ----------------------------------------------------------------------

// At most `most`; `n` is not 0. In the worst case, a prime, it counts down from
// `most` to 1: a few thousand divisions, once per form.
static uint32_t largest_divisor(uint64_t n, uint64_t most)
{
    uint64_t divisor = most < n ? most : n;

    while (n % divisor != 0)
        divisor--;
    return (uint32_t)divisor;
}

// The work-group size that nobody gave, where all groups have to be alike.
//
// The planner's choice is taken as the upper bound along each axis. An empty
// range keeps no size: there are no groups.
static void choose_uniform(struct launch *l)
{
    struct hdi_plan plan;

    hdi_plan_shape(l->launcher, l->kernel, &l->range, &plan);
    if (plan.groups == 0)
        return;
    for (unsigned i = 0; i < l->range.dims; i++)
        l->range.local[i] =
            largest_divisor(l->range.global[i], plan.frame.local_size[i]);
}

// From the application's arguments to a range of the core, with the errors of
// the standard. `local` of the range stays 0 where the core is to choose. Sizes
// and their product are compared with the most that the device takes one
// dimension at a time, so that the product cannot overflow.
//
// Before OpenCL 2.0, and with -cl-uniform-work-group-size, a work-group size
// has to divide the global size; else the last groups are smaller.
static cl_int set_range(struct launch *l, cl_uint dims, const size_t *offset,
                        const size_t *global, const size_t *local)
{
    const uint32_t *required = hd_kernel_info(l->kernel)->required_local;
    uint64_t items = 1, most = l->launcher->device->can.group_items;
    bool uniform = l->built->uniform;

    l->range.dims = dims;
    for (cl_uint i = 0; i < dims; i++) {
        l->range.global[i] = global ? global[i] : 0;
        l->range.offset[i] = offset ? offset[i] : 0;
        if (l->range.offset[i] > UINT64_MAX - l->range.global[i])
            return CL_INVALID_GLOBAL_OFFSET;
    }
    for (cl_uint i = 0; local && i < dims; i++) {
        if (local[i] == 0)
            return CL_INVALID_WORK_GROUP_SIZE;
        if (local[i] > most)
            return CL_INVALID_WORK_ITEM_SIZE;
        items *= local[i];
        if (items > most)
            return CL_INVALID_WORK_GROUP_SIZE;
        l->range.local[i] = (uint32_t)local[i];
    }
    for (cl_uint i = 0; required[0] > 0 && i < 3; i++)
        if ((i < dims && local ? local[i]
             : i < dims        ? required[i]
                               : 1) != required[i])
            return CL_INVALID_WORK_GROUP_SIZE;
    for (cl_uint i = 0; i < dims; i++) {
        uint64_t size = local ? local[i] : required[0] > 0 ? required[i] : 1;
        if (uniform && l->range.global[i] % size != 0)
            return CL_INVALID_WORK_GROUP_SIZE;
    }
    if (uniform && !local && required[0] == 0)
        choose_uniform(l);
    return CL_SUCCESS;
}

// A program with a device may still not be built for it; begin_form() finds
// that.
static cl_int check_kernel(cl_command_queue queue, cl_kernel kernel)
{
    if (!hdi_cl_is(HDI_CL_QUEUE, queue))
        return CL_INVALID_COMMAND_QUEUE;
    if (!hdi_cl_is(HDI_CL_KERNEL, kernel))
        return CL_INVALID_KERNEL;
    if (kernel->context != queue->context)
        return CL_INVALID_CONTEXT;
    for (unsigned i = 0; i < kernel->program->device_count; i++)
        if (kernel->program->devices[i] == queue->device)
            return CL_SUCCESS;
    return CL_INVALID_PROGRAM_EXECUTABLE;
}

// What is only known with everything together.
static cl_int plan_launch(struct launch *l)
{
    struct hd_error error;

    switch (hdi_plan_check(
        l->launcher,
        &(struct hdi_request){l->kernel, &l->range, l->args, l->count},
        &l->plan, &error)) {
    case HD_OK:
        return CL_SUCCESS;
    case HD_ELIMIT:
        hdi_cl_context_tell(l->context, error.text);
        return CL_OUT_OF_RESOURCES;
    case HD_ENOTSUP:
        return CL_INVALID_PROGRAM_EXECUTABLE;
    default:
        hdi_cl_context_tell(l->context, error.text);
        return CL_INVALID_KERNEL_ARGS;
    }
}

// A launch of which everything was checked that is known now.
//
// The form is given back whether or not it is of any use. The cost of a launch
// that is like the one before is one exchange, the comparison, and the copy of
// its arguments.
static cl_int prepare(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                      const size_t *offset, const size_t *global,
                      const size_t *local, struct launch **made)
{
    cl_int status = check_kernel(queue, kernel);

    if (status != CL_SUCCESS)
        return status;
    for (unsigned i = 0; i < kernel->count; i++)
        if (!kernel->arguments[i].is_set)
            return CL_INVALID_KERNEL_ARGS;
    if (dims < 1 || dims > 3)
        return CL_INVALID_WORK_DIMENSION;
    struct hdi_cl_form *form = take_form(kernel);
    if (!form)
        return CL_OUT_OF_HOST_MEMORY;
    bool known = is_of(form, kernel, queue, dims, offset, global, local);
    struct launch *l = NULL;
    if (!known)
        status = begin_form(form, kernel, queue);
    if (status == CL_SUCCESS)
        status = capture(form, kernel, queue, &l);
    if (status == CL_SUCCESS && !known) {
        status = set_range(l, dims, offset, global, local);
        if (status == CL_SUCCESS)
            status = plan_launch(l);
        if (status == CL_SUCCESS)
            remember_form(form, l, kernel, queue, local);
        else
            discard(l);
    }
    give_form(kernel, form);
    if (status == CL_SUCCESS)
        *made = l;
    return status;
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueNDRangeKernel(
    cl_command_queue queue, cl_kernel kernel, cl_uint dims,
    const size_t *offset, const size_t *global, const size_t *local,
    cl_uint wait_count, const cl_event *wait_list, cl_event *event)
{
    struct launch *l;
    cl_int status = prepare(queue, kernel, dims, offset, global, local, &l);

    if (status != CL_SUCCESS)
        return status;
    status = hdi_cl_check_wait(queue->context, wait_count, wait_list);
    if (status != CL_SUCCESS) {
        discard(l);
        return status;
    }
    return hdi_cl_enqueue_taken(queue, l->record, &launch_work, l, wait_count,
                                wait_list, event);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueTask(cl_command_queue queue,
                                              cl_kernel kernel,
                                              cl_uint wait_count,
                                              const cl_event *wait_list,
                                              cl_event *event)
{
    const size_t one = 1;
    struct launch *l;
    cl_int status = prepare(queue, kernel, 1, NULL, &one, &one, &l);

    if (status != CL_SUCCESS)
        return status;
    status = hdi_cl_check_wait(queue->context, wait_count, wait_list);
    if (status != CL_SUCCESS) {
        discard(l);
        return status;
    }
    return hdi_cl_enqueue_taken(queue, l->record, &task_work, l, wait_count,
                                wait_list, event);
}

// It plans a launch as if it were to be enqueued, with the arguments that are
// set, and throws it away.
CL_API_ENTRY cl_int CL_API_CALL clGetKernelSuggestedLocalWorkSizeKHR(
    cl_command_queue queue, cl_kernel kernel, cl_uint dims,
    const size_t *offset, const size_t *global, size_t *suggested)
{
    struct launch *l;

    cl_int status = prepare(queue, kernel, dims, offset, global, NULL, &l);
    if (status != CL_SUCCESS)
        return status;
    for (cl_uint i = 0; i < dims; i++)
        if (l->range.global[i] == 0)
            status = CL_INVALID_GLOBAL_WORK_SIZE;
    if (status == CL_SUCCESS && !suggested)
        status = CL_INVALID_VALUE;
    if (status != CL_SUCCESS) {
        discard(l);
        return status;
    }
    for (cl_uint i = 0; i < dims; i++)
        suggested[i] = l->plan.frame.local_size[i];
    discard(l);
    return CL_SUCCESS;
}
