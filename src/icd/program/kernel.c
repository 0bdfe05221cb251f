// Kernels as objects: their arguments, and what is told of them.
//
// A kernel object is arguments and two pointers: to the build it came from,
// which it keeps alive, and to the core's kernel in that build, which is
// read-only. Nothing is passed on when an argument is set: launch.c captures
// all of them when a command is enqueued.
//
//     _cl_kernel --holds--> _cl_program     counts it in `kernels`, so that no
//         |                                 build begins meanwhile
//         '-------users--> hdi_cl_built --owns--> hd_program, hd_kernel
//
// Threads: any number may launch a kernel at the same time. While one sets an
// argument no other uses the kernel, as the standard has it: nothing here locks
// it.
#include <string.h>

#include "icd/memory/sampler.h"
#include "icd/object/info.h"
#include "icd/program/kernel.h"
#include "kernel/program.h"
#include "launch/memory/image.h"
#include "runtime/runtime.h"

// Free the copy of a value. Memory objects are not dropped, since they are not
// held: the standard lets an application release a buffer that is still an
// argument.
static void unset(struct hdi_cl_argument *argument)
{
    free(argument->value);
    *argument = (struct hdi_cl_argument){0};
}

// Also of a kernel that create() has made halfway: what is not there is NULL.
// Other threads have no handle any more, so that `form` is nobody else's. The
// build goes before the program that it may be the last user of.
void hdi_cl_kernel_destroy(void *object)
{
    struct _cl_kernel *kernel = object;

    for (unsigned i = 0; kernel->arguments && i < kernel->count; i++)
        unset(&kernel->arguments[i]);
    free(kernel->arguments);
    free(atomic_load(&kernel->form));
    hdi_cl_built_release(kernel->built);
    if (kernel->program)
        atomic_fetch_sub(&kernel->program->kernels, 1);
    hdi_cl_drop(kernel->program);
    hdi_cl_drop(kernel->context);
}

// The lock of the program is held.
//
// NULL: no memory; nothing is left behind. Every count is taken before the
// first step that can fail, so that the destructor, which gives them all back,
// is the only undo.
static struct _cl_kernel *create(struct _cl_program *program,
                                 struct hdi_cl_built *built,
                                 const struct hd_kernel *k)
{
    struct _cl_kernel *kernel = hdi_cl_object_create(HDI_CL_KERNEL);
    if (!kernel)
        return NULL;
    kernel->context = program->context;
    kernel->program = program;
    kernel->built = built;
    kernel->kernel = k;
    kernel->count = hd_kernel_info(k)->arg_count;
    hdi_cl_hold(kernel->context);
    hdi_cl_hold(program);
    atomic_fetch_add(&program->kernels, 1);
    atomic_fetch_add(&built->users, 1);
    kernel->arguments = calloc(kernel->count + 1, sizeof(*kernel->arguments));
    if (!kernel->arguments) {
        hdi_cl_object_release(kernel);
        return NULL;
    }
    return kernel;
}

// Objects and libraries have been built too, but have no kernels: only what was
// linked, or built in one go, can be launched. The lock is held.
static bool runs(const struct _cl_program *program)
{
    return program->built && program->type == CL_PROGRAM_BINARY_TYPE_EXECUTABLE;
}

// The lock is held from the look at the build to the count in `kernels`: a
// build that began in between would free what the kernel is of.
CL_API_ENTRY cl_kernel CL_API_CALL clCreateKernel(cl_program program,
                                                  const char *name,
                                                  cl_int *error)
{
    struct _cl_kernel *kernel = NULL;
    cl_int status = CL_OUT_OF_HOST_MEMORY;

    if (!hdi_cl_is(HDI_CL_PROGRAM, program))
        return hdi_cl_none(error, CL_INVALID_PROGRAM);
    if (!name)
        return hdi_cl_none(error, CL_INVALID_VALUE);
    pthread_mutex_lock(&program->lock);
    if (!runs(program)) {
        status = CL_INVALID_PROGRAM_EXECUTABLE;
    } else {
        const struct hd_kernel *k =
            hd_program_find(program->built->program, name);
        if (!k)
            status = CL_INVALID_KERNEL_NAME;
        else
            kernel = create(program, program->built, k);
    }
    pthread_mutex_unlock(&program->lock);
    if (!kernel)
        return hdi_cl_none(error, status);
    hdi_cl_good(error);
    return kernel;
}

// All of them or none: where one fails, those before it are released again.
// With `kernels` NULL it only counts.
CL_API_ENTRY cl_int CL_API_CALL clCreateKernelsInProgram(cl_program program,
                                                         cl_uint room,
                                                         cl_kernel *kernels,
                                                         cl_uint *count_ret)
{
    cl_int status = CL_SUCCESS;

    if (!hdi_cl_is(HDI_CL_PROGRAM, program))
        return CL_INVALID_PROGRAM;
    pthread_mutex_lock(&program->lock);
    unsigned count =
        runs(program) ? hd_program_kernel_count(program->built->program) : 0;
    if (!runs(program))
        status = CL_INVALID_PROGRAM_EXECUTABLE;
    else if (kernels && room < count)
        status = CL_INVALID_VALUE;
    for (unsigned i = 0; status == CL_SUCCESS && kernels && i < count; i++) {
        kernels[i] = create(program, program->built,
                            hd_program_kernel(program->built->program, i));
        if (kernels[i])
            continue;
        while (i > 0)
            hdi_cl_object_release(kernels[--i]);
        status = CL_OUT_OF_HOST_MEMORY;
    }
    pthread_mutex_unlock(&program->lock);
    if (status == CL_SUCCESS && count_ret)
        *count_ret = count;
    return status;
}

// False: no memory.
//
// `to` has a value of its own. `to->arg.value` still names the original's:
// launches take the bytes from `value` and never look there.
static bool copy_argument(struct hdi_cl_argument *to,
                          const struct hdi_cl_argument *from)
{
    void *value = NULL;

    if (from->value) {
        value = malloc(from->arg.size);
        if (!value)
            return false;
        memcpy(value, from->value, from->arg.size);
    }
    *to = *from;
    to->value = value;
    return true;
}

// Without the program's lock: `from` keeps its build alive, and no new build
// begins while the program has a kernel. The clone is of the same build even
// where the program lost it since.
CL_API_ENTRY cl_kernel CL_API_CALL clCloneKernel(cl_kernel from, cl_int *error)
{
    if (!hdi_cl_is(HDI_CL_KERNEL, from))
        return hdi_cl_none(error, CL_INVALID_KERNEL);
    struct _cl_kernel *kernel =
        create(from->program, from->built, from->kernel);
    bool ok = kernel != NULL;
    for (unsigned i = 0; ok && i < from->count; i++)
        ok = copy_argument(&kernel->arguments[i], &from->arguments[i]);
    if (!ok) {
        if (kernel)
            hdi_cl_object_release(kernel);
        return hdi_cl_none(error, CL_OUT_OF_HOST_MEMORY);
    }
    hdi_cl_good(error);
    return kernel;
}

CL_API_ENTRY cl_int CL_API_CALL clRetainKernel(cl_kernel kernel)
{
    return hdi_cl_is(HDI_CL_KERNEL, kernel) && hdi_cl_object_retain(kernel)
               ? CL_SUCCESS
               : CL_INVALID_KERNEL;
}

CL_API_ENTRY cl_int CL_API_CALL clReleaseKernel(cl_kernel kernel)
{
    return hdi_cl_is(HDI_CL_KERNEL, kernel) && hdi_cl_object_release(kernel)
               ? CL_SUCCESS
               : CL_INVALID_KERNEL;
}

//
// What is wrong with an argument is told here, of index, size and value the
// first. On an error the argument stays what it was.
// Arguments -------------------------------------------------------------------

// The application may use its memory again at once, hence the copy.
static cl_int set_value(const struct hd_kernel_arg *wanted, size_t size,
                        const void *value, struct hdi_cl_argument *argument)
{
    if (size != wanted->size)
        return CL_INVALID_ARG_SIZE;
    if (!value)
        return CL_INVALID_ARG_VALUE;
    argument->value = malloc(size);
    if (!argument->value)
        return CL_OUT_OF_HOST_MEMORY;
    memcpy(argument->value, value, size);
    argument->arg = (struct hd_arg){
        .is = HD_IS_VALUE, .value = argument->value, .size = size};
    return CL_SUCCESS;
}

// Of a buffer `value` may be NULL or point to NULL: the kernel gets a NULL
// pointer. An image must be there, be of the kind that the kernel takes, and
// allow what the kernel's qualifier says. The serial number is kept beside the
// pointer: when the kernel is launched, it tells whether the object is still
// the one that was given.
static cl_int set_mem(const struct _cl_kernel *kernel,
                      const struct hd_kernel_arg *wanted, size_t size,
                      const void *value, struct hdi_cl_argument *argument)
{
    bool image = wanted->kind == HD_ARG_IMAGE;
    cl_mem mem;
    struct hd_error error;

    if (size != sizeof(mem))
        return CL_INVALID_ARG_SIZE;
    if (image && !value)
        return CL_INVALID_ARG_VALUE;
    memset(&mem, 0, sizeof(mem));
    if (value)
        memcpy(&mem, value, sizeof(mem));
    argument->arg.is = image ? HD_IS_IMAGE : HD_IS_BUFFER;
    if (!mem)
        return image ? CL_INVALID_MEM_OBJECT : CL_SUCCESS;
    if (!hdi_cl_is(HDI_CL_MEM, mem) || hdi_cl_is_image(mem) != image)
        return CL_INVALID_MEM_OBJECT;
    if (mem->context != kernel->context)
        return CL_INVALID_CONTEXT;
    if (image && hdi_image_check(hdi_cl_launcher(kernel->context), mem->image,
                                 "", wanted, &error) != HD_OK)
        return CL_INVALID_ARG_VALUE;
    if (image) {
        bool reads = strncmp(wanted->type, "write_only", 10) != 0;
        bool writes = strncmp(wanted->type, "read_only", 9) != 0;
        if ((writes && (mem->flags & CL_MEM_READ_ONLY)) ||
            (reads && (mem->flags & CL_MEM_WRITE_ONLY)))
            return CL_INVALID_ARG_VALUE;
    }
    argument->mem = mem;
    argument->serial = mem->object.serial;
    return CL_SUCCESS;
}

// Kernels get a sampler as bits, so that the object may go at once.
static cl_int set_sampler(const struct _cl_kernel *kernel, size_t size,
                          const void *value, struct hdi_cl_argument *argument)
{
    cl_sampler sampler;

    if (size != sizeof(sampler))
        return CL_INVALID_ARG_SIZE;
    if (!value)
        return CL_INVALID_SAMPLER;
    memcpy(&sampler, value, sizeof(sampler));
    if (!hdi_cl_is(HDI_CL_SAMPLER, sampler))
        return CL_INVALID_SAMPLER;
    if (sampler->context != kernel->context)
        return CL_INVALID_CONTEXT;
    argument->arg =
        (struct hd_arg){.is = HD_IS_SAMPLER, .sampler = sampler->bits};
    return CL_SUCCESS;
}

// Takes over `argument`. The new number of changes makes the form of the last
// launch void (launch.c).
static void set(struct _cl_kernel *kernel, cl_uint index,
                struct hdi_cl_argument argument)
{
    unset(&kernel->arguments[index]);
    kernel->arguments[index] = argument;
    kernel->changes++;
}

// A value of the same size is written over the old one, without `changes`: the
// form of the last launch does not depend on values, and setting one before
// each launch is what most programs do.
CL_API_ENTRY cl_int CL_API_CALL clSetKernelArg(cl_kernel kernel, cl_uint index,
                                               size_t size, const void *value)
{
    struct hdi_cl_argument argument = {.is_set = true};
    cl_int status;

    if (!hdi_cl_is(HDI_CL_KERNEL, kernel))
        return CL_INVALID_KERNEL;
    const struct hd_kernel_arg *wanted = hd_kernel_arg(kernel->kernel, index);
    if (!wanted)
        return CL_INVALID_ARG_INDEX;
    switch (wanted->kind) {
    case HD_ARG_VALUE: {
        // Often set anew: without memory of its own each time.
        struct hdi_cl_argument *there = &kernel->arguments[index];
        if (there->value && size == wanted->size && value) {
            memcpy(there->value, value, size);
            return CL_SUCCESS;
        }
        status = set_value(wanted, size, value, &argument);
        break;
    }
    case HD_ARG_LOCAL:
        argument.arg = (struct hd_arg){.is = HD_IS_LOCAL, .size = size};
        status = value       ? CL_INVALID_ARG_VALUE
                 : size == 0 ? CL_INVALID_ARG_SIZE
                             : CL_SUCCESS;
        break;
    case HD_ARG_SAMPLER:
        status = set_sampler(kernel, size, value, &argument);
        break;
    default:
        status = set_mem(kernel, wanted, size, value, &argument);
    }
    if (status != CL_SUCCESS)
        return status;
    set(kernel, index, argument);
    return CL_SUCCESS;
}

// The pointer is not looked at: with fine-grain system memory it may be any of
// the process's. Which allocation it is in is found when the kernel is launched
// (wrap_pointer() in launch.c).
CL_API_ENTRY cl_int CL_API_CALL clSetKernelArgSVMPointer(cl_kernel kernel,
                                                         cl_uint index,
                                                         const void *pointer)
{
    if (!hdi_cl_is(HDI_CL_KERNEL, kernel))
        return CL_INVALID_KERNEL;
    if (!hdi_cl_context_shares(kernel->context))
        return CL_INVALID_OPERATION;
    const struct hd_kernel_arg *wanted = hd_kernel_arg(kernel->kernel, index);
    if (!wanted)
        return CL_INVALID_ARG_INDEX;
    if (wanted->kind != HD_ARG_GLOBAL && wanted->kind != HD_ARG_CONSTANT)
        return CL_INVALID_ARG_VALUE;
    set(kernel, index,
        (struct hdi_cl_argument){.is_set = true,
                                 .arg = {.is = HD_IS_BUFFER},
                                 .pointer = pointer,
                                 .is_pointer = true});
    return CL_SUCCESS;
}

// All memory is there for every kernel anyway.
//
// So nothing is kept of it; only its form is checked.
CL_API_ENTRY cl_int CL_API_CALL clSetKernelExecInfo(cl_kernel kernel,
                                                    cl_kernel_exec_info name,
                                                    size_t size,
                                                    const void *value)
{
    if (!hdi_cl_is(HDI_CL_KERNEL, kernel))
        return CL_INVALID_KERNEL;
    if (!hdi_cl_context_shares(kernel->context))
        return CL_INVALID_OPERATION;
    if (name == CL_KERNEL_EXEC_INFO_SVM_PTRS && size == 0 && !value)
        return CL_SUCCESS; // it uses none any more
    if (!value)
        return CL_INVALID_VALUE;
    switch (name) {
    case CL_KERNEL_EXEC_INFO_SVM_PTRS:
    case CL_KERNEL_EXEC_INFO_USM_PTRS_INTEL:
        return size == 0 || size % sizeof(void *) ? CL_INVALID_VALUE
                                                  : CL_SUCCESS;
    case CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM:
    case CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL:
    case CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL:
    case CL_KERNEL_EXEC_INFO_INDIRECT_SHARED_ACCESS_INTEL:
        return size != sizeof(cl_bool) ? CL_INVALID_VALUE : CL_SUCCESS;
    default:
        return CL_INVALID_VALUE;
    }
}

// Telling of them -------------------------------------------------------------

// As written in the source, with one blank between: what the standard asks for.
// 200 bytes hold two sizes of three numbers and a hint; a longer hint would be
// cut by snprintf(), not overrun.
static cl_int give_attributes(const struct hd_kernel_info *info, size_t size,
                              void *value, size_t *size_ret)
{
    char text[200];
    int n = 0;

    *text = '\0';
    if (info->required_local[0] > 0)
        n = snprintf(text, sizeof(text), "reqd_work_group_size(%u,%u,%u)",
                     info->required_local[0], info->required_local[1],
                     info->required_local[2]);
    if (info->hinted_local[0] > 0)
        snprintf(text + n, sizeof(text) - (size_t)n,
                 "%swork_group_size_hint(%u,%u,%u)", n > 0 ? " " : "",
                 info->hinted_local[0], info->hinted_local[1],
                 info->hinted_local[2]);
    n = (int)strlen(text);
    if (*info->hinted_type)
        snprintf(text + n, sizeof(text) - (size_t)n, "%svec_type_hint(%s)",
                 n > 0 ? " " : "", info->hinted_type);
    return hdi_cl_give_text(text, size, value, size_ret);
}

CL_API_ENTRY cl_int CL_API_CALL clGetKernelInfo(cl_kernel kernel,
                                                cl_kernel_info name,
                                                size_t size, void *value,
                                                size_t *size_ret)
{
    if (!hdi_cl_is(HDI_CL_KERNEL, kernel))
        return CL_INVALID_KERNEL;
    const struct hd_kernel_info *info = hd_kernel_info(kernel->kernel);
    switch (name) {
        HDI_CL_TEXT(CL_KERNEL_FUNCTION_NAME, info->name)
        HDI_CL_IS(CL_KERNEL_NUM_ARGS, cl_uint, info->arg_count)
        HDI_CL_IS(CL_KERNEL_REFERENCE_COUNT, cl_uint,
                  hdi_cl_object_references(kernel))
        HDI_CL_IS(CL_KERNEL_CONTEXT, cl_context, kernel->context)
        HDI_CL_IS(CL_KERNEL_PROGRAM, cl_program, kernel->program)
    case CL_KERNEL_ATTRIBUTES:
        return give_attributes(info, size, value, size_ret);
    default:
        return CL_INVALID_VALUE;
    }
}

// The compiler writes the access as the first word of an image's type, as in
// "read_only image2d_t" (compiler/driver/signature.c).
static cl_kernel_arg_access_qualifier access_of(const struct hd_kernel_arg *arg)
{
    if (arg->kind != HD_ARG_IMAGE)
        return CL_KERNEL_ARG_ACCESS_NONE;
    return strncmp(arg->type, "read_only", 9) == 0
               ? CL_KERNEL_ARG_ACCESS_READ_ONLY
           : strncmp(arg->type, "write_only", 10) == 0
               ? CL_KERNEL_ARG_ACCESS_WRITE_ONLY
               : CL_KERNEL_ARG_ACCESS_READ_WRITE;
}

static cl_kernel_arg_address_qualifier space_of(const struct hd_kernel_arg *arg)
{
    switch (arg->kind) {
    case HD_ARG_GLOBAL:
    case HD_ARG_IMAGE:
        return CL_KERNEL_ARG_ADDRESS_GLOBAL;
    case HD_ARG_CONSTANT:
        return CL_KERNEL_ARG_ADDRESS_CONSTANT;
    case HD_ARG_LOCAL:
        return CL_KERNEL_ARG_ADDRESS_LOCAL;
    default:
        return CL_KERNEL_ARG_ADDRESS_PRIVATE;
    }
}

// Of images the type is told without its access, which has a query of its own.
CL_API_ENTRY cl_int CL_API_CALL clGetKernelArgInfo(cl_kernel kernel,
                                                   cl_uint index,
                                                   cl_kernel_arg_info name,
                                                   size_t size, void *value,
                                                   size_t *size_ret)
{
    if (!hdi_cl_is(HDI_CL_KERNEL, kernel))
        return CL_INVALID_KERNEL;
    const struct hd_kernel_arg *arg = hd_kernel_arg(kernel->kernel, index);
    if (!arg)
        return CL_INVALID_ARG_INDEX;
    const char *blank =
        arg->kind == HD_ARG_IMAGE ? strchr(arg->type, ' ') : NULL;
    cl_kernel_arg_type_qualifier qualifiers =
        (arg->qualifiers & HD_ARG_CONST ? CL_KERNEL_ARG_TYPE_CONST : 0) |
        (arg->qualifiers & HD_ARG_RESTRICT ? CL_KERNEL_ARG_TYPE_RESTRICT : 0) |
        (arg->qualifiers & HD_ARG_VOLATILE ? CL_KERNEL_ARG_TYPE_VOLATILE : 0);
    switch (name) {
        HDI_CL_IS(CL_KERNEL_ARG_ADDRESS_QUALIFIER,
                  cl_kernel_arg_address_qualifier, space_of(arg))
        HDI_CL_IS(CL_KERNEL_ARG_ACCESS_QUALIFIER,
                  cl_kernel_arg_access_qualifier, access_of(arg))
        HDI_CL_TEXT(CL_KERNEL_ARG_TYPE_NAME, blank ? blank + 1 : arg->type)
        HDI_CL_TEXT(CL_KERNEL_ARG_NAME, arg->name)
        HDI_CL_IS(CL_KERNEL_ARG_TYPE_QUALIFIER, cl_kernel_arg_type_qualifier,
                  qualifiers)
    default:
        return CL_INVALID_VALUE;
    }
}

// The one device that is meant. NULL: there is none.
//
// With NULL the standard takes the only device of the program.
static struct _cl_device_id *device_of(const struct _cl_kernel *kernel,
                                       cl_device_id device)
{
    if (!device)
        return kernel->program->device_count == 1 ? kernel->program->devices[0]
                                                  : NULL;
    if (!hdi_cl_is(HDI_CL_DEVICE, device))
        return NULL;
    for (unsigned i = 0; i < kernel->program->device_count; i++)
        if (kernel->program->devices[i] == device)
            return device;
    return NULL;
}

// A required size is the only one that the kernel can be launched with.
static size_t most_items(const struct hd_kernel_info *info,
                         const struct _cl_device_id *device)
{
    const uint32_t *local = info->required_local;

    return local[0] > 0 ? (size_t)local[0] * local[1] * local[2]
                        : hdi_cl_about(device->side)->group_items;
}

// The kernel on a device, parts of the processor being like the whole; as far
// as it was built for it.
static const struct hd_kernel_info *info_on(const struct _cl_kernel *kernel,
                                            struct _cl_device_id *device)
{
    const struct hd_kernel *own =
        device->parent
            ? NULL
            : hdi_cl_built_kernel(kernel->built, kernel->kernel, device);

    return hd_kernel_info(own ? own : kernel->kernel);
}

// Local memory is what the kernel declares and what its arguments ask for so
// far. Private memory is what one work-item keeps across barriers
// (`saved_bytes`); the rest lives in registers and on the stack of whoever runs
// it, and is not told.
CL_API_ENTRY cl_int CL_API_CALL clGetKernelWorkGroupInfo(
    cl_kernel kernel, cl_device_id device, cl_kernel_work_group_info name,
    size_t size, void *value, size_t *size_ret)
{
    if (!hdi_cl_is(HDI_CL_KERNEL, kernel))
        return CL_INVALID_KERNEL;
    if (!(device = device_of(kernel, device)))
        return CL_INVALID_DEVICE;
    const struct hd_kernel_info *info = info_on(kernel, device);
    size_t sub_group = hdi_cl_about(device->side)->sub_group;
    const size_t required[3] = {info->required_local[0],
                                info->required_local[1],
                                info->required_local[2]};
    cl_ulong local = info->local_bytes;
    for (unsigned i = 0; i < kernel->count; i++)
        if (kernel->arguments[i].is_set &&
            kernel->arguments[i].arg.is == HD_IS_LOCAL)
            local += kernel->arguments[i].arg.size;
    switch (name) {
        HDI_CL_IS(CL_KERNEL_WORK_GROUP_SIZE, size_t, most_items(info, device))
        HDI_CL_BYTES(CL_KERNEL_COMPILE_WORK_GROUP_SIZE, required,
                     sizeof(required))
        HDI_CL_IS(CL_KERNEL_LOCAL_MEM_SIZE, cl_ulong, local)
        HDI_CL_IS(CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, size_t,
                  sub_group)
        HDI_CL_IS(CL_KERNEL_PRIVATE_MEM_SIZE, cl_ulong, info->saved_bytes)
    default:
        return CL_INVALID_VALUE;
    }
}

// Of a local size of one to three dimensions, as an array of size_t: how many
// items its largest sub-group has, or with `count` how many sub-groups there
// are. Sub-groups are filled in the order of linear ids, so only the product
// counts.
static cl_int sub_groups_of(size_t sub_group, size_t input_size,
                            const void *input, size_t size, void *value,
                            size_t *size_ret, bool count)
{
    size_t items = 1, local;

    if (!input || input_size == 0 || input_size > 3 * sizeof(size_t) ||
        input_size % sizeof(size_t) != 0)
        return CL_INVALID_VALUE;
    for (size_t i = 0; i < input_size / sizeof(local); i++) {
        memcpy(&local, (const char *)input + i * sizeof(local), sizeof(local));
        items *= local;
    }
    size_t answer = !count ? (items < sub_group ? items : sub_group)
                           : (items + sub_group - 1) / sub_group;
    return hdi_cl_give(&answer, sizeof(answer), size, value, size_ret);
}

// A local size with exactly `input` sub-groups: all along the first dimension,
// which always works when it fits into `most` items. 0 in each dimension says
// that it does not, as the standard has it. Only as many dimensions as `size`
// asks for are given.
static cl_int local_for(size_t most, size_t sub_group, size_t input_size,
                        const void *input, size_t size, void *value,
                        size_t *size_ret)
{
    size_t count, local[3] = {0};

    if (!input || input_size != sizeof(count) || size % sizeof(size_t) ||
        (value && (size == 0 || size > sizeof(local))))
        return CL_INVALID_VALUE;
    memcpy(&count, input, sizeof(count));
    bool fits = count > 0 && count <= most / sub_group;
    for (size_t i = 0; i < 3; i++)
        local[i] = !fits ? 0 : i == 0 ? count * sub_group : 1;
    return hdi_cl_give(local, value ? size : sizeof(local), size, value,
                       size_ret);
}

// No kernel is compiled for a number of sub-groups, hence 0.
CL_API_ENTRY cl_int CL_API_CALL clGetKernelSubGroupInfo(
    cl_kernel kernel, cl_device_id device, cl_kernel_sub_group_info name,
    size_t input_size, const void *input, size_t size, void *value,
    size_t *size_ret)
{
    if (!hdi_cl_is(HDI_CL_KERNEL, kernel))
        return CL_INVALID_KERNEL;
    if (!(device = device_of(kernel, device)))
        return CL_INVALID_DEVICE;
    const struct hd_kernel_info *info = info_on(kernel, device);
    size_t sub_group = hdi_cl_about(device->side)->sub_group;
    switch (name) {
        HDI_CL_IS(CL_KERNEL_MAX_NUM_SUB_GROUPS, size_t,
                  (most_items(info, device) + sub_group - 1) / sub_group)
        HDI_CL_IS(CL_KERNEL_COMPILE_NUM_SUB_GROUPS, size_t, 0)
    case CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE:
        return sub_groups_of(sub_group, input_size, input, size, value,
                             size_ret, false);
    case CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE:
        return sub_groups_of(sub_group, input_size, input, size, value,
                             size_ret, true);
    case CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT:
        return local_for(most_items(info, device), sub_group, input_size, input,
                         size, value, size_ret);
    default:
        return CL_INVALID_VALUE;
    }
}

CL_API_ENTRY cl_int CL_API_CALL clGetKernelSubGroupInfoKHR(
    cl_kernel kernel, cl_device_id device, cl_kernel_sub_group_info name,
    size_t input_size, const void *input, size_t size, void *value,
    size_t *size_ret)
{
    return clGetKernelSubGroupInfo(kernel, device, name, input_size, input,
                                   size, value, size_ret);
}
