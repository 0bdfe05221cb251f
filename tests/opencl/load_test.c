// The real loader, opened and closed again and again, with every driver of the
// system behind it: each computes the same, and nothing piles up.
//
// The loader is opened by hand, so that it and its drivers come and go as they
// do in programs that load OpenCL as a plugin. OPENCL_LOAD_ROUNDS makes it a
// soak.
#include <dirent.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/opencl/driver.h"

enum {
    MAX_PLATFORMS = 8,
    ROUNDS = 6,
    N = 1000
};

// What is called of the loader.
#define FUNCTIONS(X)             \
    X(clGetPlatformIDs)          \
    X(clGetPlatformInfo)         \
    X(clGetDeviceIDs)            \
    X(clCreateContext)           \
    X(clCreateCommandQueue)      \
    X(clCreateProgramWithSource) \
    X(clBuildProgram)            \
    X(clCreateKernel)            \
    X(clCreateBuffer)            \
    X(clSetKernelArg)            \
    X(clEnqueueNDRangeKernel)    \
    X(clEnqueueReadBuffer)       \
    X(clReleaseMemObject)        \
    X(clReleaseKernel)           \
    X(clReleaseProgram)          \
    X(clReleaseCommandQueue)     \
    X(clReleaseContext)

struct loader {
    void *library;
#define MEMBER(name) __typeof__(&name) name;
    FUNCTIONS(MEMBER)
#undef MEMBER
};

static bool open_loader(struct loader *l)
{
    l->library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!l->library)
        return false;
#define FIND(name) *(void **)(void *)&l->name = dlsym(l->library, #name);
    FUNCTIONS(FIND)
#undef FIND
    return true;
}

struct vendor {
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernel;
    cl_mem mem;
};

static void open_vendor(const struct loader *l, cl_platform_id platform,
                        struct vendor *v)
{
    const char *source = "kernel void twice(global int *p)"
                         "{ p[get_global_id(0)] = 2 * (int)get_global_id(0); }";
    cl_device_id device;
    cl_int error;

    CL_OK(l->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    v->context = l->clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    CL_OK(error);
    v->queue = l->clCreateCommandQueue(v->context, device, 0, &error);
    CL_OK(error);
    v->program =
        l->clCreateProgramWithSource(v->context, 1, &source, NULL, &error);
    CL_OK(error);
    CL_OK(l->clBuildProgram(v->program, 1, &device, NULL, NULL, NULL));
    v->kernel = l->clCreateKernel(v->program, "twice", &error);
    CL_OK(error);
    v->mem = l->clCreateBuffer(v->context, 0, N * sizeof(int), NULL, &error);
    CL_OK(error);
    CL_OK(l->clSetKernelArg(v->kernel, 0, sizeof(v->mem), &v->mem));
}

static void use_vendor(const struct loader *l, const struct vendor *v)
{
    const size_t n = N;
    int got[N];

    memset(got, 0, sizeof(got));
    CL_OK(l->clEnqueueNDRangeKernel(v->queue, v->kernel, 1, NULL, &n, NULL, 0,
                                    NULL, NULL));
    CL_OK(l->clEnqueueReadBuffer(v->queue, v->mem, CL_TRUE, 0, sizeof(got), got,
                                 0, NULL, NULL));
    for (int i = 0; i < N; i++)
        CHECK(got[i] == 2 * i);
}

static void close_vendor(const struct loader *l, const struct vendor *v)
{
    CL_OK(l->clReleaseMemObject(v->mem));
    CL_OK(l->clReleaseKernel(v->kernel));
    CL_OK(l->clReleaseProgram(v->program));
    CL_OK(l->clReleaseCommandQueue(v->queue));
    CL_OK(l->clReleaseContext(v->context));
}

static bool is_heddle(const struct loader *l, cl_platform_id platform)
{
    char name[64] = "";

    CL_OK(l->clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(name), name,
                               NULL));
    return strcmp(name, "Heddle") == 0;
}

// A driver that is not instrumented looks like races to ThreadSanitizer.
static cl_uint find_vendors(const struct loader *l,
                            cl_platform_id platforms[MAX_PLATFORMS])
{
    cl_uint count = 0, used = 0;

    CL_OK(l->clGetPlatformIDs(MAX_PLATFORMS, platforms, &count));
    for (cl_uint i = 0; i < count && i < MAX_PLATFORMS; i++)
        if (!HOLDS_SIGNALS || is_heddle(l, platforms[i]))
            platforms[used++] = platforms[i];
    return used;
}

// Their commands run in turn, the objects of all are there at once.
static void use_all(bool *beside)
{
    cl_platform_id platforms[MAX_PLATFORMS];
    struct vendor vendors[MAX_PLATFORMS];
    struct loader l;

    if (!open_loader(&l))
        SKIP("no OpenCL loader");
    cl_uint count = find_vendors(&l, platforms);
    CHECK(count > 0);
    *beside = count > 1;
    for (cl_uint i = 0; i < count; i++)
        open_vendor(&l, platforms[i], &vendors[i]);
    for (int turn = 0; turn < 3; turn++)
        for (cl_uint i = 0; i < count; i++)
            use_vendor(&l, &vendors[i]);
    for (cl_uint i = 0; i < count; i++)
        close_vendor(&l, &vendors[i]);
    CHECK(dlclose(l.library) == 0);
}

static unsigned count_entries(const char *path)
{
    DIR *folder = opendir(path);
    unsigned count = 0;

    CHECK(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

// Threads, open files: as many as after the first round.
static void nothing_piles_up(unsigned rounds)
{
    unsigned threads = 0, files = 0;
    bool beside = false;

    for (unsigned i = 0; i < rounds; i++) {
        use_all(&beside);
        if (i == 1) {
            threads = count_entries("/proc/self/task");
            files = count_entries("/proc/self/fd");
        }
    }
    CHECK(count_entries("/proc/self/task") <= threads);
    CHECK(count_entries("/proc/self/fd") <= files);
    if (!beside)
        printf("no other vendor's driver: not run beside one\n");
}

// Other vendors need not live through fork(): the child uses this one.
static void use_heddle(void)
{
    cl_platform_id platforms[MAX_PLATFORMS];
    struct vendor v;
    struct loader l;

    CHECK(open_loader(&l));
    cl_uint count = find_vendors(&l, platforms);
    for (cl_uint i = 0; i < count; i++)
        if (is_heddle(&l, platforms[i])) {
            open_vendor(&l, platforms[i], &v);
            use_vendor(&l, &v);
            close_vendor(&l, &v);
        }
    CHECK(dlclose(l.library) == 0);
}

static void children_load_it_anew(void)
{
    for (int i = 0; i < 3; i++) {
        int state;
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            use_heddle();
            _exit(0);
        }
        CHECK(waitpid(child, &state, 0) == child);
        CHECK(WIFEXITED(state) && WEXITSTATUS(state) == 0);
        use_heddle();
    }
}

int main(void)
{
    const char *rounds = getenv("OPENCL_LOAD_ROUNDS");

    nothing_piles_up(rounds ? (unsigned)atoi(rounds) : ROUNDS);
    if (!HOLDS_SIGNALS) // whose children have none of its threads
        children_load_it_anew();
    return 0;
}
