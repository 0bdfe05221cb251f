// Programs: what they are made of, building, compiling and linking.
#include "tests/opencl/errors.h"

static void CL_CALLBACK forget(cl_program program, void *data)
{
    (void)program, (void)data;
}

static void sources(struct errors *r)
{
    const char *text = "kernel void k(void) { }", *none = NULL;
    const unsigned char bytes[64] = {1}, *binary = bytes, *nothing = NULL;
    const size_t n = sizeof(bytes), zero = 0;
    cl_device_id *one = &r->device;
    cl_int state;

    EACH(context, NONE(CL_INVALID_CONTEXT, clCreateProgramWithSource, r->bad, 1,
                       &text, NULL))
    EACH(context, NONE(CL_INVALID_CONTEXT, clCreateProgramWithSource, r->bad, 0,
                       NULL, NULL))
    NONE(CL_INVALID_VALUE, clCreateProgramWithSource, r->context, 0, &text,
         NULL);
    NONE(CL_INVALID_VALUE, clCreateProgramWithSource, r->context, 1, NULL,
         NULL);
    NONE(CL_INVALID_VALUE, clCreateProgramWithSource, r->context, 1, &none,
         NULL);

    EACH(context, NONE(CL_INVALID_CONTEXT, clCreateProgramWithBinary, r->bad, 1,
                       one, &n, &binary, &state))
    NONE(CL_INVALID_VALUE, clCreateProgramWithBinary, r->context, 0, one, &n,
         &binary, &state);
    NONE(CL_INVALID_VALUE, clCreateProgramWithBinary, r->context, 1, NULL, &n,
         &binary, &state);
    EACH(device, NONE(CL_INVALID_DEVICE, clCreateProgramWithBinary, r->context,
                      1, (cl_device_id *)&r->bad, &n, &binary, &state))
    EACH(device, NONE(CL_INVALID_DEVICE, clCreateProgramWithBinary, r->context,
                      1, (cl_device_id *)&r->bad, NULL, NULL, &state))
    NONE(CL_INVALID_VALUE, clCreateProgramWithBinary, r->context, 1, one, NULL,
         &binary, &state);
    NONE(CL_INVALID_VALUE, clCreateProgramWithBinary, r->context, 1, one, &n,
         NULL, &state);
    NONE(CL_INVALID_VALUE, clCreateProgramWithBinary, r->context, 1, one, &zero,
         &binary, &state);
    NONE(CL_INVALID_VALUE, clCreateProgramWithBinary, r->context, 1, one, &n,
         &nothing, &state);
    HOLDS(clCreateProgramWithBinary, state == CL_INVALID_VALUE);
    NONE(CL_INVALID_BINARY, clCreateProgramWithBinary, r->context, 1, one, &n,
         &binary, &state);
    HOLDS(clCreateProgramWithBinary, state == CL_INVALID_BINARY);

    EACH(context, NONE(CL_INVALID_CONTEXT, clCreateProgramWithBuiltInKernels,
                       r->bad, 1, one, "k"))
    NONE(CL_INVALID_VALUE, clCreateProgramWithBuiltInKernels, r->context, 0,
         one, "k");
    NONE(CL_INVALID_VALUE, clCreateProgramWithBuiltInKernels, r->context, 1,
         one, NULL);
    NONE(CL_INVALID_VALUE, clCreateProgramWithBuiltInKernels, r->context, 1,
         one, "k");
    EACH(device, NONE(CL_INVALID_DEVICE, clCreateProgramWithBuiltInKernels,
                      r->context, 1, (cl_device_id *)&r->bad, "k"))
}

// Where no translator is installed, no device takes it.
static void intermediate(struct errors *r)
{
    char names[64] = "";
    const cl_uint one = 1;

    CL_OK(clGetDeviceInfo(r->device, CL_DEVICE_IL_VERSION, sizeof(names), names,
                          NULL));
    cl_int wrong = *names ? CL_INVALID_VALUE : CL_INVALID_OPERATION;
    EACH(context,
         NONE(CL_INVALID_CONTEXT, clCreateProgramWithIL, r->bad, r->host, 64))
    NONE(wrong, clCreateProgramWithIL, r->context, NULL, 64);
    NONE(wrong, clCreateProgramWithIL, r->context, r->host, 0);
    NONE(wrong, clCreateProgramWithIL, r->context, r->host, 64);
    EACH(context, EXT_NONE(CL_INVALID_CONTEXT, clCreateProgramWithILKHR, r->bad,
                           r->host, 64))
    EXT_NONE(wrong, clCreateProgramWithILKHR, r->context, NULL, 64);
    EACH(program, IS(CL_INVALID_PROGRAM, clSetProgramSpecializationConstant,
                     r->bad, 0, 4, &one))
    IS(CL_INVALID_PROGRAM, clSetProgramSpecializationConstant, r->raw, 0, 4,
       NULL);
}

static void builds(struct errors *r)
{
    cl_device_id *one = &r->device;
    cl_program linked = clLinkProgram(r->context, 0, NULL, NULL, 1, &r->object,
                                      NULL, NULL, &r->e);
    const char *name = "h.h", *bad_name = "/h.h";
    cl_program *raw = &r->raw;

    CL_OK(r->e);
    EACH(program, IS(CL_INVALID_PROGRAM, clBuildProgram, r->bad, 1, one, NULL,
                     NULL, NULL))
    EACH(program, IS(CL_INVALID_PROGRAM, clBuildProgram, r->bad, 1, NULL, NULL,
                     NULL, r->host))
    IS(CL_INVALID_VALUE, clBuildProgram, r->raw, 1, NULL, NULL, NULL, NULL);
    IS(CL_INVALID_VALUE, clBuildProgram, r->raw, 0, one, NULL, NULL, NULL);
    IS(CL_INVALID_VALUE, clBuildProgram, r->raw, 1, one, NULL, NULL, r->host);
    EACH(device, IS(CL_INVALID_DEVICE, clBuildProgram, r->raw, 1,
                    (cl_device_id *)&r->bad, "-none-such", NULL, NULL))
    EACH(device, IS(CL_INVALID_VALUE, clBuildProgram, r->raw, 1,
                    (cl_device_id *)&r->bad, NULL, NULL, r->host))
    IS(CL_INVALID_BUILD_OPTIONS, clBuildProgram, r->raw, 1, one, "-none-such",
       NULL, NULL);
    IS(CL_INVALID_OPERATION, clBuildProgram, r->program, 1, one, NULL, NULL,
       NULL);
    IS(CL_INVALID_OPERATION, clBuildProgram, linked, 1, one, NULL, NULL, NULL);

    EACH(program, IS(CL_INVALID_PROGRAM, clCompileProgram, r->bad, 1, NULL,
                     NULL, 1, NULL, NULL, NULL, NULL))
    IS(CL_INVALID_VALUE, clCompileProgram, r->raw, 1, NULL, NULL, 0, NULL, NULL,
       NULL, NULL);
    IS(CL_INVALID_VALUE, clCompileProgram, r->raw, 0, NULL, NULL, 1, NULL,
       &name, NULL, NULL);
    IS(CL_INVALID_VALUE, clCompileProgram, r->raw, 0, NULL, NULL, 1, raw, NULL,
       NULL, NULL);
    IS(CL_INVALID_VALUE, clCompileProgram, r->raw, 0, NULL, NULL, 0, raw, &name,
       NULL, NULL);
    IS(CL_INVALID_VALUE, clCompileProgram, r->raw, 0, NULL, NULL, 1, raw,
       &bad_name, NULL, NULL);
    IS(CL_INVALID_VALUE, clCompileProgram, r->raw, 0, NULL, NULL, 0, NULL, NULL,
       NULL, r->host);
    EACH(device,
         IS(CL_INVALID_DEVICE, clCompileProgram, r->raw, 1,
            (cl_device_id *)&r->bad, "-none-such", 0, NULL, NULL, NULL, NULL))
    EACH(program, IS(CL_INVALID_PROGRAM, clCompileProgram, r->raw, 0, NULL,
                     NULL, 1, (cl_program *)&r->bad, &name, NULL, NULL))
    IS(CL_INVALID_COMPILER_OPTIONS, clCompileProgram, r->raw, 0, NULL,
       "-none-such", 0, NULL, NULL, NULL, NULL);
    IS(CL_INVALID_OPERATION, clCompileProgram, linked, 0, NULL, NULL, 0, NULL,
       NULL, NULL, NULL);
    IS(CL_INVALID_OPERATION, clCompileProgram, r->program, 0, NULL, NULL, 0,
       NULL, NULL, NULL, NULL);
    CL_OK(clReleaseProgram(linked));
}

static void links(struct errors *r)
{
    cl_program *object = &r->object, *other = &r->other_object;
    cl_device_id *one = &r->device;

    EACH(context, NONE(CL_INVALID_CONTEXT, clLinkProgram, r->bad, 1, NULL, NULL,
                       0, NULL, NULL, NULL))
    NONE(CL_INVALID_CONTEXT, clLinkProgram, r->context, 0, NULL, NULL, 1, other,
         NULL, NULL);
    NONE(CL_INVALID_VALUE, clLinkProgram, r->context, 1, NULL, NULL, 1, object,
         NULL, NULL);
    NONE(CL_INVALID_VALUE, clLinkProgram, r->context, 0, one, NULL, 1, object,
         NULL, NULL);
    NONE(CL_INVALID_VALUE, clLinkProgram, r->context, 1, one, NULL, 0, NULL,
         NULL, NULL);
    NONE(CL_INVALID_VALUE, clLinkProgram, r->context, 1, one, NULL, 0, object,
         NULL, NULL);
    NONE(CL_INVALID_VALUE, clLinkProgram, r->context, 1, one, NULL, 1, NULL,
         NULL, NULL);
    NONE(CL_INVALID_VALUE, clLinkProgram, r->context, 1, one, NULL, 1, object,
         NULL, r->host);
    EACH(program, NONE(CL_INVALID_PROGRAM, clLinkProgram, r->context, 1, one,
                       NULL, 1, (cl_program *)&r->bad, NULL, NULL))
    EACH(device, NONE(CL_INVALID_DEVICE, clLinkProgram, r->context, 1,
                      (cl_device_id *)&r->bad, NULL, 1, object, NULL, NULL))
    NONE(CL_INVALID_OPERATION, clLinkProgram, r->context, 1, one, NULL, 1,
         &r->program, NULL, NULL);
}

static void objects(struct errors *r)
{
    COUNTS(program, CL_INVALID_PROGRAM, clRetainProgram, clReleaseProgram);
    EACH(program, IS(CL_INVALID_PROGRAM, clSetProgramReleaseCallback, r->bad,
                     forget, NULL))
    IS(CL_INVALID_VALUE, clSetProgramReleaseCallback, r->program, NULL, NULL);
    IS(CL_INVALID_OPERATION, clSetProgramReleaseCallback, r->program, forget,
       NULL);
    TELLS(program, CL_INVALID_PROGRAM, clGetProgramInfo, r->program,
          CL_PROGRAM_NUM_DEVICES);
    IS(CL_INVALID_PROGRAM_EXECUTABLE, clGetProgramInfo, r->object,
       CL_PROGRAM_NUM_KERNELS, 64, r->host, NULL);
    IS(CL_INVALID_PROGRAM_EXECUTABLE, clGetProgramInfo, r->object,
       CL_PROGRAM_KERNEL_NAMES, 64, r->host, NULL);
    EACH(program, IS(CL_INVALID_PROGRAM, clGetProgramBuildInfo, r->bad, NULL, 1,
                     64, r->host, NULL))
    EACH(device, IS(CL_INVALID_DEVICE, clGetProgramBuildInfo, r->program,
                    r->bad, 1, 64, r->host, NULL))
    IS(CL_INVALID_VALUE, clGetProgramBuildInfo, r->program, r->device, 1, 64,
       r->host, NULL);
    IS(CL_INVALID_VALUE, clGetProgramBuildInfo, r->program, r->device,
       CL_PROGRAM_BUILD_STATUS, 0, r->host, NULL);
}

void errors_program(struct errors *r)
{
    sources(r);
    intermediate(r);
    builds(r);
    links(r);
    objects(r);
}
