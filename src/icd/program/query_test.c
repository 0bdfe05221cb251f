// What programs and kernels tell of themselves.
#include <stdbool.h>

#include "tests/opencl/driver.h"

// The caller's to free. Its size is told with the final 0.
static char *build_log(const struct driver *d, cl_program program)
{
    size_t size = 0;

    CL_OK(clGetProgramBuildInfo(program, d->device, CL_PROGRAM_BUILD_LOG, 0,
                                NULL, &size));
    char *log = calloc(1, size + 1);
    CHECK(log);
    CL_OK(clGetProgramBuildInfo(program, d->device, CL_PROGRAM_BUILD_LOG, size,
                                log, NULL));
    CHECK(strlen(log) + 1 == size);
    return log;
}

// Not built yet.
static cl_program create(const struct driver *d, const char *source)
{
    cl_int error;
    cl_program program =
        clCreateProgramWithSource(d->context, 1, &source, NULL, &error);

    CL_OK(error);
    return program;
}

// Warnings of a program that was built are in its log: when it is compiled, and
// when it comes out of the cache.
static void the_log_has_warnings(void)
{
    static const char source[] = "#warning this is said\n"
                                 "kernel void k(global int *p) { p[0] = 1; }\n";
    struct driver d = driver_open(0);

    for (int i = 0; i < 2; i++) {
        cl_program program = create(&d, source);
        CL_OK(clBuildProgram(program, 0, NULL, "-DIN_LOG", NULL, NULL));
        char *log = build_log(&d, program);
        CHECK(strstr(log, "program.cl:1:") && strstr(log, "this is said"));
        free(log);
        CL_OK(clBuildProgram(program, 0, NULL, "-DIN_LOG -w", NULL, NULL));
        log = build_log(&d, program);
        CHECK(!*log);
        free(log);
        CL_OK(clReleaseProgram(program));
    }
    driver_close(&d);
}

// Of many errors the log has all that the compiler gives.
//
// Errors of the source beyond what one text of an error holds; and one of the
// options, which never gets to the compiler.
static void the_log_of_a_failure_is_whole(void)
{
    struct driver d = driver_open(0);
    char source[8000], *log;
    size_t n = 0;

    for (int i = 0; i < 15; i++)
        n += (size_t)snprintf(
            source + n, sizeof(source) - n,
            "kernel void k%d(global int *p) { p[0] = unknown_%d + "
            "0%0*d; }\n",
            i, i, 250, 0);
    cl_program program = create(&d, source);
    CL_IS(clBuildProgram(program, 0, NULL, NULL, NULL, NULL),
          CL_BUILD_PROGRAM_FAILURE);
    log = build_log(&d, program);
    CHECK(strlen(log) > 5000);
    CHECK(strstr(log, "'unknown_0'") && strstr(log, "'unknown_14'"));
    CHECK(strstr(log, "15 errors generated"));
    free(log);
    CL_IS(clBuildProgram(program, 0, NULL, "-no-such-option", NULL, NULL),
          CL_INVALID_BUILD_OPTIONS);
    log = build_log(&d, program);
    CHECK(strstr(log, "-no-such-option"));
    free(log);
    CL_OK(clReleaseProgram(program));
    driver_close(&d);
}

// Of the program's build for the device. [bytes]
static size_t variables(const struct driver *d, cl_program program)
{
    size_t bytes = 1, size;

    CL_OK(clGetProgramBuildInfo(program, d->device,
                                CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE,
                                sizeof(bytes), &bytes, &size));
    CHECK(size == sizeof(bytes));
    return bytes;
}

// Constants and local memory are none. The sum is told within what alignment
// may add, and is the same in a binary.
static void variables_of_the_program_are_counted(void)
{
    struct driver d = driver_open(0);
    cl_program none =
        create(&d, "constant int c[9] = {1};"
                   "kernel void k(global int *p)"
                   "{ local int x[5]; x[0] = 1; p[0] = c[x[0]]; }");
    cl_program some = create(&d, "global char a = 1; global int b[100];"
                                 "global float4 v; global int *q = b;"
                                 "kernel void k(global int *p)"
                                 "{ p[0] = a + b[1] + (int)v.x + *q; }");

    CHECK(variables(&d, none) == 0);
    CL_OK(clBuildProgram(none, 0, NULL, "-cl-std=CL3.0", NULL, NULL));
    CHECK(variables(&d, none) == 0);
    CL_OK(clBuildProgram(some, 0, NULL, "-cl-std=CL3.0", NULL, NULL));
    size_t bytes = variables(&d, some);
    CHECK(bytes >= 1 + 400 + 16 + 8 && bytes < 460);

    // The same of its binary.
    unsigned char *binary;
    size_t size;
    cl_int error;
    CL_OK(clGetProgramInfo(some, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size,
                           NULL));
    binary = malloc(size);
    CHECK(binary);
    CL_OK(clGetProgramInfo(some, CL_PROGRAM_BINARIES, sizeof(binary), &binary,
                           NULL));
    cl_program loaded = clCreateProgramWithBinary(
        d.context, 1, &d.device, &size, (const unsigned char **)&binary, NULL,
        &error);
    CL_OK(error);
    CL_OK(clBuildProgram(loaded, 0, NULL, NULL, NULL, NULL));
    CHECK(variables(&d, loaded) == bytes);
    // Clients keep binaries by the driver's version, which is another whenever
    // the versions behind the magic are.
    char version[64];
    const char *formats;
    uint32_t container, frame, told[2];
    memcpy(&container, binary + 8, sizeof(container));
    memcpy(&frame, binary + 12, sizeof(frame));
    CL_OK(clGetDeviceInfo(d.device, CL_DRIVER_VERSION, sizeof(version), version,
                          NULL));
    formats = strchr(version, '-');
    CHECK(formats && sscanf(formats, "-%u.%u", &told[0], &told[1]) == 2);
    CHECK(told[0] == container && told[1] == frame);
    free(binary);
    CL_OK(clReleaseProgram(loaded));
    CL_OK(clReleaseProgram(none));
    CL_OK(clReleaseProgram(some));
    driver_close(&d);
}

// What differs is printed, since the texts are long.
static void check_attributes(cl_program program, const char *name,
                             const char *wanted)
{
    cl_kernel kernel = driver_kernel(program, name);
    char text[200];

    CL_OK(clGetKernelInfo(kernel, CL_KERNEL_ATTRIBUTES, sizeof(text), text,
                          NULL));
    if (strcmp(text, wanted) != 0)
        fprintf(stderr, "%s: '%s', not '%s'\n", name, text, wanted);
    CHECK(strcmp(text, wanted) == 0);
    CL_OK(clReleaseKernel(kernel));
}

// Every kind of type that may be hinted, with and without a size.
static void attributes_are_as_written(void)
{
#define HINT(type)                                                   \
    "kernel __attribute__((vec_type_hint(" #type "))) void k_" #type \
    "(global int *p) { p[0] = 1; }\n"
    struct driver d = driver_open(0);
    cl_program program = driver_build(
        &d,
        "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n" HINT(float4)
            HINT(uchar) HINT(char16) HINT(ushort2) HINT(int) HINT(ulong3)
                HINT(double8) HINT(
                    half) "kernel __attribute__((vec_type_hint(short8)))"
                          " __attribute__((reqd_work_group_size(4,2,1)))"
                          " void both(global int *p) { p[0] = 1; }\n"
                          "kernel void none(global int *p) { p[0] = 1; }\n",
        NULL);

    check_attributes(program, "k_float4", "vec_type_hint(float4)");
    check_attributes(program, "k_uchar", "vec_type_hint(uchar)");
    check_attributes(program, "k_char16", "vec_type_hint(char16)");
    check_attributes(program, "k_ushort2", "vec_type_hint(ushort2)");
    check_attributes(program, "k_int", "vec_type_hint(int)");
    check_attributes(program, "k_ulong3", "vec_type_hint(ulong3)");
    check_attributes(program, "k_double8", "vec_type_hint(double8)");
    check_attributes(program, "k_half", "vec_type_hint(half)");
    check_attributes(program, "both",
                     "reqd_work_group_size(4,2,1) vec_type_hint(short8)");
    check_attributes(program, "none", "");
    CL_OK(clReleaseProgram(program));
    driver_close(&d);
}

// An image takes over how its buffer was made, and needs no pointer for it.
static void images_are_made_of_any_buffer(void)
{
    static const cl_mem_flags made[] = {
        0, CL_MEM_COPY_HOST_PTR, CL_MEM_USE_HOST_PTR, CL_MEM_ALLOC_HOST_PTR};
    static const cl_image_format format = {CL_RGBA, CL_FLOAT};
    struct driver d = driver_open(0);
    float texels[64 * 4];

    for (int i = 0; i < 64 * 4; i++)
        texels[i] = (float)i;
    for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
        bool given = made[i] & (CL_MEM_COPY_HOST_PTR | CL_MEM_USE_HOST_PTR);
        const size_t origin[3] = {3, 0, 0}, region[3] = {2, 1, 1};
        float read[8];
        cl_int error;
        cl_mem buffer = clCreateBuffer(d.context, made[i], sizeof(texels),
                                       given ? texels : NULL, &error);
        CL_OK(error);
        if (!given)
            CL_OK(clEnqueueWriteBuffer(d.queue, buffer, CL_TRUE, 0,
                                       sizeof(texels), texels, 0, NULL, NULL));
        const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER,
                                    .image_width = 64,
                                    .mem_object = buffer};
        cl_mem image =
            clCreateImage(d.context, 0, &format, &desc, NULL, &error);
        CL_OK(error);
        CL_OK(clEnqueueReadImage(d.queue, image, CL_TRUE, origin, region, 0, 0,
                                 read, 0, NULL, NULL));
        CHECK(memcmp(read, texels + 12, sizeof(read)) == 0);
        CHECK(!clCreateImage(d.context, 0, &format, &desc, texels, &error));
        CL_IS(error, CL_INVALID_HOST_PTR);
        CL_OK(clReleaseMemObject(image));
        CL_OK(clReleaseMemObject(buffer));
    }
    driver_close(&d);
}

// As a whole word: names may begin like others.
static bool has_extension(const struct driver *d, const char *name)
{
    char names[8192];
    size_t length = strlen(name);

    CL_OK(clGetDeviceInfo(d->device, CL_DEVICE_EXTENSIONS, sizeof(names), names,
                          NULL));
    for (const char *at = names; (at = strstr(at, name)); at += length)
        if (at[length] == ' ' || !at[length])
            return true;
    return false;
}

// 0: it is not there.
static cl_version version_of(const struct driver *d, const char *name)
{
    cl_name_version known[64];
    size_t size;

    CL_OK(clGetDeviceInfo(d->device, CL_DEVICE_EXTENSIONS_WITH_VERSION,
                          sizeof(known), known, &size));
    for (size_t i = 0; i < size / sizeof(*known); i++)
        if (strcmp(known[i].name, name) == 0)
            return known[i].version;
    return 0;
}

// Those whose versions differ in what there is: questions of dot products, the
// functions of command buffers, and dispatch by the loader, which is not there.
static void extensions_have_the_version_that_is_there(void)
{
    struct driver d = driver_open(0);
    cl_device_integer_dot_product_acceleration_properties_khr dots;

    CHECK(version_of(&d, "cl_khr_fp64") == CL_MAKE_VERSION(1, 0, 0));
    CHECK(version_of(&d, "cl_khr_command_buffer") == CL_MAKE_VERSION(0, 9, 8));
    CHECK(version_of(&d, "cl_khr_integer_dot_product") ==
          CL_MAKE_VERSION(2, 0, 0));
    CL_OK(clGetDeviceInfo(
        d.device,
        CL_DEVICE_INTEGER_DOT_PRODUCT_ACCELERATION_PROPERTIES_8BIT_KHR,
        sizeof(dots), &dots, NULL));
    CHECK(version_of(&d, "cl_khr_icd") == CL_MAKE_VERSION(1, 0, 0));
    CHECK(!clGetExtensionFunctionAddressForPlatform(
        d.platform, "clIcdSetPlatformDispatchDataKHR"));
    driver_close(&d);
}

// Whoever names an extension answers its questions.
static void extensions_are_told_whole(void)
{
    // Single, double and half precision.
    static const cl_device_info floats[] = {0x4231, 0x4232, 0x4233};
    static const cl_device_info clocks = 0x1076;
    struct driver d = driver_open(0);
    cl_bitfield bits;
    cl_bool independent;

    CHECK(has_extension(&d, "cl_ext_float_atomics"));
    for (int i = 0; i < 3; i++) {
        CL_OK(clGetDeviceInfo(d.device, floats[i], sizeof(bits), &bits, NULL));
        CHECK(bits == 0x70007);
    }
    CHECK(has_extension(&d, "cl_khr_kernel_clock"));
    CL_OK(clGetDeviceInfo(d.device, clocks, sizeof(bits), &bits, NULL));
    CHECK(bits == 7);
    // Whose sub-groups go on independently; those of 3.0 need not.
    CL_OK(clGetDeviceInfo(d.device,
                          CL_DEVICE_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS,
                          sizeof(independent), &independent, NULL));
    CHECK(has_extension(&d, "cl_khr_subgroups") == (independent == CL_TRUE));
    driver_close(&d);
}

// Functions of sub-groups are there in every version, with any option.
static void sub_groups_need_no_extension(void)
{
    static const char source[] =
        "#ifdef cl_khr_subgroups\n#error it is not there\n#endif\n"
        "kernel void sums(global int *p)"
        "{ p[get_global_id(0)] = sub_group_reduce_add(1); }";
    static const char *const options[] = {"-Werror", "-cl-std=CL2.0 -Werror",
                                          "-cl-std=CL3.0 -Werror",
                                          "-cl-std=CL3.0 -cl-no-subgroup-ifp"};
    const size_t items = 16;
    struct driver d = driver_open(0);
    cl_mem mem = driver_buffer(&d, items * sizeof(cl_int), NULL);

    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        cl_program program = driver_build(&d, source, options[i]);
        cl_kernel kernel = driver_kernel(program, "sums");
        cl_int sums[16];
        CL_OK(clSetKernelArg(kernel, 0, sizeof(mem), &mem));
        CL_OK(clEnqueueNDRangeKernel(d.queue, kernel, 1, NULL, &items, &items,
                                     0, NULL, NULL));
        CL_OK(clEnqueueReadBuffer(d.queue, mem, CL_TRUE, 0, sizeof(sums), sums,
                                  0, NULL, NULL));
        for (int k = 0; k < 16; k++)
            CHECK(sums[k] == 16);
        CL_OK(clReleaseKernel(kernel));
        CL_OK(clReleaseProgram(program));
    }
    CL_OK(clReleaseMemObject(mem));
    driver_close(&d);
}

int main(void)
{
    images_are_made_of_any_buffer();
    extensions_are_told_whole();
    extensions_have_the_version_that_is_there();
    sub_groups_need_no_extension();
    the_log_has_warnings();
    the_log_of_a_failure_is_whole();
    variables_of_the_program_are_counted();
    attributes_are_as_written();
    return 0;
}
