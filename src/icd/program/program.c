// Programs as objects: what they were made of, and what is told of them.
// build.c makes something of it.
//
// A program object keeps what it was made of (source, SPIR-V or binaries) for
// as long as it lives, since it may be built any number of times. What the last
// build gave is apart from it, counted:
//
//     _cl_program --1 user--> hdi_cl_built <--1 user each-- kernels, launches
//         |                       |
//         |                       |-- program    code per side, whole machine
//         |                       |-- loaded     the same for parts of it
//         |                       '-- binaries   made when asked for
//         '-- source | il | binaries             given by the application
//
// A new build replaces `built`; kernels of the old one keep that.
#include <string.h>

#include "icd/object/info.h"
#include "icd/program/build.h"
#include "icd/program/programs.h"
#include "kernel/binary/container.h"
#include "kernel/program/spirv.h"
#include "runtime/runtime.h"

// By the program, a kernel, or a launch. Whoever takes the last use is alone
// with it: no lock. What was loaded on parts goes before the program, though
// neither knows the other.
void hdi_cl_built_release(struct hdi_cl_built *built)
{
    if (!built || atomic_fetch_sub(&built->users, 1) > 1)
        return;
    struct hdi_cl_loaded *next, *l = built->loaded;
    for (; l; l = next) {
        next = l->next;
        hd_program_destroy(l->program);
        hdi_cl_drop(l->device);
        free(l);
    }
    pthread_mutex_destroy(&built->lock);
    hd_program_destroy(built->program);
    for (unsigned i = 0; i < HDI_CL_SIDES; i++)
        free(built->binaries[i].data);
    free(built);
}

// Parts of the machine have runtimes of their own, and code belongs to one
// runtime: it goes through a binary, which costs no compilation. NULL: no
// memory, the part cannot be started, or the program was not built for the
// processor. The lock of the build is held.
static struct hdi_cl_loaded *load(const struct hdi_cl_built *built,
                                  struct _cl_device_id *device)
{
    struct hdi_cl_loaded *l = calloc(1, sizeof(*l));
    struct hd_program_params params = {0};
    struct hd_error error;
    const struct hd_program *program = hdi_cl_built_program(built, HDI_CL_CPU);
    void *binary = NULL;

    if (!l || !program ||
        hd_program_binary(program, &binary, &params.binary_size, &error) !=
            HD_OK)
        goto err;
    params.binary = binary;
    if (hd_program_create(hdi_cl_runtime(device), &params, &l->program,
                          &error) != HD_OK)
        goto err;
    free(binary);
    hdi_cl_hold(l->device = device);
    return l;

err:
    free(binary);
    free(l);
    return NULL;
}

// The sides are the devices of the root's runtime, by number.
const struct hd_program *hdi_cl_built_program(const struct hdi_cl_built *built,
                                              unsigned side)
{
    const struct hd_runtime *runtime = hdi_cl_runtime(hdi_cl_root_device());

    return side < runtime->device_count
               ? hdi_program_on(built->program, runtime->devices[side])
               : NULL;
}

// For a part it loads the program there the first time, with the lock held, so
// that two threads do not load it twice. A failure is not remembered: the next
// launch tries again.
const struct hd_kernel *hdi_cl_built_kernel(struct hdi_cl_built *built,
                                            const struct hd_kernel *kernel,
                                            struct _cl_device_id *device)
{
    const struct hd_runtime *runtime = hdi_cl_runtime(hdi_cl_root_device());

    if (!device->parent)
        return device->side < runtime->device_count
                   ? hdi_kernel_on(kernel, runtime->devices[device->side])
                   : NULL;
    pthread_mutex_lock(&built->lock);
    struct hdi_cl_loaded *l = built->loaded;
    while (l && l->device != device)
        l = l->next;
    if (!l && (l = load(built, device))) {
        l->next = built->loaded;
        built->loaded = l;
    }
    pthread_mutex_unlock(&built->lock);
    return l ? hd_program_find(l->program, hd_kernel_info(kernel)->name) : NULL;
}

// Both counts are 0: no kernel is of it, no build runs. Also of one that
// hdi_cl_program_create() gave up.
void hdi_cl_program_destroy(void *object)
{
    struct _cl_program *program = object;

    hdi_cl_built_release(program->built);
    for (unsigned i = 0; i < program->constant_count; i++)
        free(program->constants[i].value);
    free(program->constants);
    free(program->source);
    free(program->il);
    for (unsigned i = 0; i < HDI_CL_SIDES; i++)
        free(program->binaries[i].data);
    free(program->options);
    free(program->log);
    for (unsigned i = 0; i < program->device_count; i++)
        hdi_cl_drop(program->devices[i]);
    free(program->devices);
    pthread_mutex_destroy(&program->lock);
    hdi_cl_drop(program->context);
}

// Empty, with one reference, holding its context and devices. `*error` is set
// on failure only. From here on whoever fails releases the object, and the
// destructor undoes the rest.
struct _cl_program *hdi_cl_program_create(struct _cl_context *context,
                                          cl_uint count,
                                          const cl_device_id *devices,
                                          cl_int *error)
{
    struct _cl_program *program = hdi_cl_object_create(HDI_CL_PROGRAM);
    if (!program)
        return hdi_cl_none(error, CL_OUT_OF_HOST_MEMORY);
    program->context = context;
    hdi_cl_hold(context);
    pthread_mutex_init(&program->lock, NULL);
    program->status = CL_BUILD_NONE;
    program->devices = calloc(count, sizeof(struct _cl_device_id *));
    if (!program->devices) {
        hdi_cl_object_release(program);
        return hdi_cl_none(error, CL_OUT_OF_HOST_MEMORY);
    }
    program->device_count = count;
    for (cl_uint i = 0; i < count; i++)
        hdi_cl_hold(program->devices[i] = devices[i]);
    return program;
}

// Making them -----------------------------------------------------------------

// The strings become one text: a length of 0, or no lengths, means that the
// string ends with 0. It is read twice, once for the size; the caller must not
// change it meanwhile.
CL_API_ENTRY cl_program CL_API_CALL clCreateProgramWithSource(
    cl_context context, cl_uint count, const char **strings,
    const size_t *lengths, cl_int *error)
{
    size_t size = 0, used = 0;

    if (!hdi_cl_is(HDI_CL_CONTEXT, context))
        return hdi_cl_none(error, CL_INVALID_CONTEXT);
    if (count == 0 || !strings)
        return hdi_cl_none(error, CL_INVALID_VALUE);
    for (cl_uint i = 0; i < count; i++) {
        if (!strings[i])
            return hdi_cl_none(error, CL_INVALID_VALUE);
        size += lengths && lengths[i] ? lengths[i] : strlen(strings[i]);
    }
    struct _cl_program *program = hdi_cl_program_create(
        context, context->device_count, context->devices, error);
    if (!program)
        return NULL;
    program->source = malloc(size + 1);
    if (!program->source) {
        hdi_cl_object_release(program);
        return hdi_cl_none(error, CL_OUT_OF_HOST_MEMORY);
    }
    for (cl_uint i = 0; i < count; i++) {
        size_t n = lengths && lengths[i] ? lengths[i] : strlen(strings[i]);
        memcpy(program->source + used, strings[i], n);
        used += n;
    }
    program->source[used] = '\0';
    hdi_cl_good(error);
    return program;
}

// The module is only told by its first word here; it is looked over when it is
// built.
CL_API_ENTRY cl_program CL_API_CALL clCreateProgramWithIL(cl_context context,
                                                          const void *il,
                                                          size_t size,
                                                          cl_int *error)
{
    if (!hdi_cl_is(HDI_CL_CONTEXT, context))
        return hdi_cl_none(error, CL_INVALID_CONTEXT);
    if (!hdi_cl_takes_il())
        return hdi_cl_none(error, CL_INVALID_OPERATION);
    if (!il || size == 0 || !hdi_spirv_is(il, size))
        return hdi_cl_none(error, CL_INVALID_VALUE);
    struct _cl_program *program = hdi_cl_program_create(
        context, context->device_count, context->devices, error);
    if (!program)
        return NULL;
    program->il = malloc(size);
    if (!program->il) {
        hdi_cl_object_release(program);
        return hdi_cl_none(error, CL_OUT_OF_HOST_MEMORY);
    }
    memcpy(program->il, il, size);
    program->il_size = size;
    hdi_cl_good(error);
    return program;
}

CL_API_ENTRY cl_program CL_API_CALL clCreateProgramWithILKHR(cl_context context,
                                                             const void *il,
                                                             size_t size,
                                                             cl_int *error)
{
    return clCreateProgramWithIL(context, il, size, error);
}

CL_API_ENTRY cl_program CL_API_CALL clCreateProgramWithBuiltInKernels(
    cl_context context, cl_uint count, const cl_device_id *devices,
    const char *names, cl_int *error)
{
    if (!hdi_cl_is(HDI_CL_CONTEXT, context))
        return hdi_cl_none(error, CL_INVALID_CONTEXT);
    if (count == 0 || !devices || !names)
        return hdi_cl_none(error, CL_INVALID_VALUE);
    for (cl_uint i = 0; i < count; i++)
        if (!hdi_cl_is(HDI_CL_DEVICE, devices[i]) ||
            !hdi_cl_context_has(context, devices[i]))
            return hdi_cl_none(error, CL_INVALID_DEVICE);
    return hdi_cl_none(error, CL_INVALID_VALUE); // no device has any
}

// An executable is a container as the core writes it; objects and libraries
// have a mark of eight bytes in front (build.h), which tells them apart from it
// and from each other. What is behind is checked when it is loaded.
static cl_program_binary_type type_of(const unsigned char *binary, size_t size)
{
    static const char *const marks[] = {HDI_CL_OBJECT_MARK,
                                        HDI_CL_LIBRARY_MARK};

    for (int i = 0; i < 2; i++)
        if (size > HDI_CL_MARK_SIZE &&
            memcmp(binary, marks[i], HDI_CL_MARK_SIZE) == 0 &&
            hdi_container_is((const char *)binary + HDI_CL_MARK_SIZE,
                             size - HDI_CL_MARK_SIZE))
            return i == 0 ? CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT
                          : CL_PROGRAM_BINARY_TYPE_LIBRARY;
    return hdi_container_is((const char *)binary, size)
               ? CL_PROGRAM_BINARY_TYPE_EXECUTABLE
               : CL_PROGRAM_BINARY_TYPE_NONE;
}

// All processors are one: the first's binary is as good as the others'. False:
// no memory.
static bool keep_binary(struct hdi_cl_binary *kept, const unsigned char *binary,
                        size_t size, size_t skip)
{
    if (kept->data)
        return true;
    kept->size = size - skip;
    kept->data = malloc(kept->size);
    if (kept->data)
        memcpy(kept->data, binary + skip, kept->size);
    return kept->data != NULL;
}

// Each device gets a state of its own, so all binaries are looked at before the
// first error is returned. All have to be of one type, since the program has
// one. Executables are kept as they are until clBuildProgram(); objects and
// libraries have no build step of their own and are loaded here.
CL_API_ENTRY cl_program CL_API_CALL clCreateProgramWithBinary(
    cl_context context, cl_uint count, const cl_device_id *devices,
    const size_t *sizes, const unsigned char **binaries, cl_int *states,
    cl_int *error)
{
    cl_program_binary_type first = CL_PROGRAM_BINARY_TYPE_NONE;
    cl_int status = CL_SUCCESS;

    if (!hdi_cl_is(HDI_CL_CONTEXT, context))
        return hdi_cl_none(error, CL_INVALID_CONTEXT);
    if (count == 0 || !devices)
        return hdi_cl_none(error, CL_INVALID_VALUE);
    for (cl_uint i = 0; i < count; i++)
        if (!hdi_cl_is(HDI_CL_DEVICE, devices[i]) ||
            !hdi_cl_context_has(context, devices[i]))
            return hdi_cl_none(error, CL_INVALID_DEVICE);
    if (!sizes || !binaries)
        return hdi_cl_none(error, CL_INVALID_VALUE);
    for (cl_uint i = 0; i < count; i++) {
        bool given = binaries[i] && sizes[i] > 0;
        cl_program_binary_type type = given ? type_of(binaries[i], sizes[i])
                                            : CL_PROGRAM_BINARY_TYPE_NONE;
        first = i == 0 ? type : first;
        cl_int one = !given ? CL_INVALID_VALUE
                     : type == CL_PROGRAM_BINARY_TYPE_NONE || type != first
                         ? CL_INVALID_BINARY
                         : CL_SUCCESS;
        if (states)
            states[i] = one;
        status = status == CL_SUCCESS ? one : status;
    }
    if (status != CL_SUCCESS)
        return hdi_cl_none(error, status);

    struct _cl_program *program =
        hdi_cl_program_create(context, count, devices, error);
    if (!program)
        return NULL;
    program->given = program->type = first;
    size_t skip =
        first == CL_PROGRAM_BINARY_TYPE_EXECUTABLE ? 0 : HDI_CL_MARK_SIZE;
    for (cl_uint i = 0; i < count; i++)
        if (!keep_binary(&program->binaries[devices[i]->side], binaries[i],
                         sizes[i], skip)) {
            hdi_cl_object_release(program);
            return hdi_cl_none(error, CL_OUT_OF_HOST_MEMORY);
        }
    // Objects and libraries are ready to be linked.
    if (program->given != CL_PROGRAM_BINARY_TYPE_EXECUTABLE)
        status = hdi_cl_load_library(program);
    if (status != CL_SUCCESS) {
        hdi_cl_object_release(program);
        if (states)
            states[0] = status;
        return hdi_cl_none(error, status);
    }
    hdi_cl_good(error);
    return program;
}

CL_API_ENTRY cl_int CL_API_CALL clRetainProgram(cl_program program)
{
    return hdi_cl_is(HDI_CL_PROGRAM, program) && hdi_cl_object_retain(program)
               ? CL_SUCCESS
               : CL_INVALID_PROGRAM;
}

CL_API_ENTRY cl_int CL_API_CALL clReleaseProgram(cl_program program)
{
    return hdi_cl_is(HDI_CL_PROGRAM, program) && hdi_cl_object_release(program)
               ? CL_SUCCESS
               : CL_INVALID_PROGRAM;
}

CL_API_ENTRY cl_int CL_API_CALL clSetProgramReleaseCallback(
    cl_program program, void(CL_CALLBACK *notify)(cl_program, void *),
    void *data)
{
    (void)data;
    if (!hdi_cl_is(HDI_CL_PROGRAM, program))
        return CL_INVALID_PROGRAM;
    // Of destructors at program scope, of C++, which there are none of.
    return notify ? CL_INVALID_OPERATION : CL_INVALID_VALUE;
}

CL_API_ENTRY cl_int CL_API_CALL clSetProgramSpecializationConstant(
    cl_program program, cl_uint id, size_t size, const void *value)
{
    if (!hdi_cl_is(HDI_CL_PROGRAM, program) || !program->il)
        return CL_INVALID_PROGRAM;
    if (!hdi_cl_takes_il())
        return CL_INVALID_OPERATION;
    if (!value || (size != 1 && size != 2 && size != 4 && size != 8))
        return CL_INVALID_VALUE;
    return hdi_cl_keep_constant(program, id, size, value);
}

// Telling of them -------------------------------------------------------------

// Each name with a ';' behind, or the final 0: `room` counts one more byte than
// is used where there are kernels. The lock is held and the program can run.
static cl_int give_names(struct _cl_program *program, size_t size, void *value,
                         size_t *size_ret)
{
    const struct hd_program *p = program->built->program;
    unsigned count = hd_program_kernel_count(p);
    size_t room = 1;

    for (unsigned i = 0; i < count; i++)
        room += strlen(hd_kernel_info(hd_program_kernel(p, i))->name) + 1;
    char *text = calloc(1, room), *at = text;
    if (!text)
        return CL_OUT_OF_HOST_MEMORY;
    for (unsigned i = 0; i < count; i++) {
        if (i > 0)
            *at++ = ';';
        at = stpcpy(at, hd_kernel_info(hd_program_kernel(p, i))->name);
    }
    cl_int status = hdi_cl_give_text(text, size, value, size_ret);
    free(text);
    return status;
}

// The binary for applications, made when it is asked for first. The lock is
// held. NULL: no memory; its data are NULL where there is none.
//
// Before a build it is what the application gave. The mark of an object or a
// library goes back in front, as type_of() expects it. Kept with the build,
// since sizes are asked for first and must then be those of the binaries.
static const struct hdi_cl_binary *binary_of(struct _cl_program *program,
                                             unsigned side)
{
    struct hdi_cl_built *built = program->built;
    const struct hd_program *made =
        built ? hdi_cl_built_program(built, side) : NULL;
    struct hd_error error;
    void *binary;
    size_t size;

    if (!built)
        return &program->binaries[side];
    struct hdi_cl_binary *kept = &built->binaries[side];
    if (!made || kept->data)
        return kept;
    if (hd_program_binary(made, &binary, &size, &error) != HD_OK)
        return NULL;
    size_t skip = program->type == CL_PROGRAM_BINARY_TYPE_EXECUTABLE
                      ? 0
                      : HDI_CL_MARK_SIZE;
    kept->data = malloc(size + skip);
    if (kept->data) {
        memcpy(kept->data,
               program->type == CL_PROGRAM_BINARY_TYPE_LIBRARY
                   ? HDI_CL_LIBRARY_MARK
                   : HDI_CL_OBJECT_MARK,
               skip);
        memcpy(kept->data + skip, binary, size);
        kept->size = size + skip;
    }
    free(binary);
    return kept->data ? kept : NULL;
}

static cl_int give_sizes(struct _cl_program *program, size_t size, void *value,
                         size_t *size_ret)
{
    size_t *sizes = calloc(program->device_count, sizeof(*sizes));
    cl_int status = sizes ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;

    for (unsigned i = 0; status == CL_SUCCESS && i < program->device_count;
         i++) {
        const struct hdi_cl_binary *one =
            binary_of(program, program->devices[i]->side);
        if (one)
            sizes[i] = one->size;
        else
            status = CL_OUT_OF_HOST_MEMORY;
    }
    if (status == CL_SUCCESS)
        status = hdi_cl_give(sizes, program->device_count * sizeof(*sizes),
                             size, value, size_ret);
    free(sizes);
    return status;
}

// `value` is an array of pointers to the application's memory, one per device,
// each as large as CL_PROGRAM_BINARY_SIZES says; NULL skips a device.
static cl_int give_binaries(struct _cl_program *program, size_t size,
                            void *value, size_t *size_ret)
{
    unsigned char **to = value;
    size_t bytes = program->device_count * sizeof(*to);

    if (value && size < bytes)
        return CL_INVALID_VALUE;
    if (size_ret)
        *size_ret = bytes;
    for (unsigned i = 0; to && i < program->device_count; i++) {
        const struct hdi_cl_binary *one =
            binary_of(program, program->devices[i]->side);
        if (!one)
            return CL_OUT_OF_HOST_MEMORY;
        if (to[i] && one->data)
            memcpy(to[i], one->data, one->size);
    }
    return CL_SUCCESS;
}

// The lock is held. Names of kernels are there for programs that can run only.
static cl_int get_info(struct _cl_program *program, cl_program_info name,
                       size_t size, void *value, size_t *size_ret)
{
    bool runs =
        program->built && program->type == CL_PROGRAM_BINARY_TYPE_EXECUTABLE;

    switch (name) {
        HDI_CL_IS(CL_PROGRAM_REFERENCE_COUNT, cl_uint,
                  hdi_cl_object_references(program))
        HDI_CL_IS(CL_PROGRAM_CONTEXT, cl_context, program->context)
        HDI_CL_IS(CL_PROGRAM_NUM_DEVICES, cl_uint, program->device_count)
        HDI_CL_BYTES(CL_PROGRAM_DEVICES, program->devices,
                     program->device_count * sizeof(cl_device_id))
        HDI_CL_TEXT(CL_PROGRAM_SOURCE, program->source)
        HDI_CL_BYTES(CL_PROGRAM_IL, program->il, program->il_size)
        HDI_CL_IS(CL_PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT, cl_bool, CL_FALSE)
        HDI_CL_IS(CL_PROGRAM_SCOPE_GLOBAL_DTORS_PRESENT, cl_bool, CL_FALSE)
    case CL_PROGRAM_BINARY_SIZES:
        return give_sizes(program, size, value, size_ret);
    case CL_PROGRAM_BINARIES:
        return give_binaries(program, size, value, size_ret);
    case CL_PROGRAM_NUM_KERNELS:
        if (!runs)
            return CL_INVALID_PROGRAM_EXECUTABLE;
        return hdi_cl_give(
            &(size_t){hd_program_kernel_count(program->built->program)},
            sizeof(size_t), size, value, size_ret);
    case CL_PROGRAM_KERNEL_NAMES:
        return runs ? give_names(program, size, value, size_ret)
                    : CL_INVALID_PROGRAM_EXECUTABLE;
    default:
        return CL_INVALID_VALUE;
    }
}

CL_API_ENTRY cl_int CL_API_CALL clGetProgramInfo(cl_program program,
                                                 cl_program_info name,
                                                 size_t size, void *value,
                                                 size_t *size_ret)
{
    if (!hdi_cl_is(HDI_CL_PROGRAM, program))
        return CL_INVALID_PROGRAM;
    pthread_mutex_lock(&program->lock);
    cl_int status = get_info(program, name, size, value, size_ret);
    pthread_mutex_unlock(&program->lock);
    return status;
}

// The lock is held. A side that nobody built for tells nothing of the last
// build, except that a binary which was given has its type.
static cl_int get_build_info(struct _cl_program *program, unsigned side,
                             cl_program_build_info name, size_t size,
                             void *value, size_t *size_ret)
{
    bool was = program->sides >> side & 1, given = program->binaries[side].data;
    const struct hd_program *made =
        program->built ? hdi_cl_built_program(program->built, side) : NULL;

    switch (name) {
        HDI_CL_IS(CL_PROGRAM_BUILD_STATUS, cl_build_status,
                  was ? program->status : CL_BUILD_NONE)
        HDI_CL_TEXT(CL_PROGRAM_BUILD_OPTIONS, was ? program->options : "")
        HDI_CL_TEXT(CL_PROGRAM_BUILD_LOG, was ? program->log : "")
        HDI_CL_IS(CL_PROGRAM_BINARY_TYPE, cl_program_binary_type,
                  made || (!was && given) ? program->type
                                          : CL_PROGRAM_BINARY_TYPE_NONE)
        HDI_CL_IS(CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE, size_t,
                  made ? hdi_program_variables(made) : 0)
    default:
        return CL_INVALID_VALUE;
    }
}

CL_API_ENTRY cl_int CL_API_CALL clGetProgramBuildInfo(
    cl_program program, cl_device_id device, cl_program_build_info name,
    size_t size, void *value, size_t *size_ret)
{
    if (!hdi_cl_is(HDI_CL_PROGRAM, program))
        return CL_INVALID_PROGRAM;
    if (!hdi_cl_is(HDI_CL_DEVICE, device) ||
        !hdi_cl_program_has(program, device))
        return CL_INVALID_DEVICE;
    pthread_mutex_lock(&program->lock);
    cl_int status =
        get_build_info(program, device->side, name, size, value, size_ret);
    pthread_mutex_unlock(&program->lock);
    return status;
}
