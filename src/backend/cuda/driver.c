// Opened by whoever asks first and never closed: the driver has threads and
// memory of the GPU that outlive any runtime. What went wrong is kept as text,
// as each later caller is told the same.
#include "backend/cuda/driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"

enum {
    LEAST_VERSION = 11040 // 11.4: PTX 7.4, and the functions below
};

// The driver belongs to the process, like any library.
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct cuda_driver opened;
static char failure[512];

static const char *library_name(void)
{
    const char *name = secure_getenv("HEDDLE_CUDA_DRIVER");
    return name && *name ? name : "libcuda.so.1";
}

// One function that is missing means a driver that is too old, though it may
// not say so.
static bool find_functions(void *library)
{
#define FIND(name, symbol, parameters)                \
    *(void **)&opened.name = dlsym(library, #symbol); \
    if (!opened.name) {                               \
        snprintf(failure, sizeof(failure),            \
                 "the NVIDIA driver lacks " #symbol   \
                 ": a driver for CUDA 11.4 "          \
                 "or newer is needed");               \
        return false;                                 \
    }
    CUDA_FUNCTIONS(FIND)
#undef FIND
    return true;
}

static bool begin(void)
{
    char text[256];
    cuda_result result = opened.DriverGetVersion(&opened.version);

    if (result == 0 && opened.version < LEAST_VERSION) {
        snprintf(
            failure, sizeof(failure),
            "the NVIDIA driver is for CUDA %d.%d: one for 11.4 or newer is "
            "needed",
            opened.version / 1000, opened.version % 1000 / 10);
        return false;
    }
    if (result == 0)
        result = opened.Init(0);
    if (result == 0)
        result = opened.DeviceGetCount(&opened.devices);
    if (result != 0) {
        cuda_describe(&opened, result, text, sizeof(text));
        snprintf(failure, sizeof(failure),
                 "the NVIDIA driver does not start: %s", text);
        return false;
    }
    if (opened.devices == 0)
        snprintf(failure, sizeof(failure), "the NVIDIA driver sees no GPU");
    return opened.devices > 0;
}

static void open_driver(void)
{
    void *library = dlopen(library_name(), RTLD_NOW | RTLD_LOCAL);

    if (!library)
        snprintf(failure, sizeof(failure), "no NVIDIA driver: %s", dlerror());
    else if (!find_functions(library) || !begin())
        opened.devices = 0;
}

// A driver that failed once is not tried again in this process.
hd_status cuda_driver_open(const struct cuda_driver **driver,
                           struct hd_error *error)
{
    pthread_once(&once, open_driver);
    if (opened.devices == 0)
        return hdi_fail(error, HD_ENODEV, "%s", failure);
    *driver = &opened;
    return HD_OK;
}

void cuda_describe(const struct cuda_driver *driver, cuda_result result,
                   char *text, size_t size)
{
    const char *name = NULL, *meaning = NULL;

    if (driver->GetErrorName(result, &name) != 0 || !name ||
        driver->GetErrorString(result, &meaning) != 0 || !meaning)
        snprintf(text, size, "error %d", result);
    else
        snprintf(text, size, "%s: %s", name, meaning);
}
