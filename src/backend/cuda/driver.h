// The part of the CUDA driver's interface that Heddle uses, in words of our
// own: no header of CUDA's is needed to build, and no library to start. The
// driver is opened when the first GPU is asked for, and stays open, as it
// cannot be unloaded safely.
//
// Names, types and numbers are those of the driver's documented binary
// interface, CUDA 11.4 and newer.
#ifndef HDI_BACKEND_CUDA_DRIVER_H
#define HDI_BACKEND_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "heddle/status.h"

typedef int cuda_result; // 0: success
typedef int cuda_device;
typedef uint64_t cuda_address;
typedef struct cuda_context_ *cuda_context;
typedef struct cuda_module_ *cuda_module;
typedef struct cuda_function_ *cuda_function;
typedef struct cuda_stream_ *cuda_stream;
typedef struct cuda_event_ *cuda_event;
typedef struct cuda_link_ *cuda_link;
typedef struct cuda_graph_ *cuda_graph;
typedef struct cuda_node_ *cuda_node;
typedef struct cuda_graph_run_ *cuda_graph_run;

// A launch in a graph.
struct cuda_node_params {
    cuda_function function;
    unsigned grid[3], block[3], shared_bytes;
    void **parameters, **extra;
};

enum {
    CUDA_INVALID_VALUE = 1,
    CUDA_OUT_OF_MEMORY = 2,
    CUDA_NO_DEVICE = 100,
    CUDA_NOT_FOUND = 500,
    CUDA_NOT_READY = 600,
    CUDA_ILLEGAL_ADDRESS = 700,
    CUDA_LAUNCH_OUT_OF_RESOURCES = 701,
    CUDA_LAUNCH_TIMEOUT = 702,
    CUDA_MISALIGNED_ADDRESS = 716,
    CUDA_LAUNCH_FAILED = 719
};

// Attributes of devices.
enum {
    CUDA_MAX_THREADS_PER_BLOCK = 1,
    CUDA_MAX_GRID_Y = 6,
    CUDA_CLOCK_RATE = 13, // [kHz]
    CUDA_MULTIPROCESSORS = 16,
    CUDA_CAN_MAP_HOST_MEMORY = 19,
    CUDA_CORRECTS_ERRORS = 32,
    CUDA_L2_CACHE = 38, // [bytes]
    CUDA_UNIFIED_ADDRESSING = 41,
    CUDA_CAPABILITY_MAJOR = 75,
    CUDA_CAPABILITY_MINOR = 76,
    CUDA_SHARED_PER_MULTIPROCESSOR = 81,
    CUDA_REGISTERS_PER_MULTIPROCESSOR = 82,
    CUDA_SHARED_PER_BLOCK_OPTIN = 97,
    CUDA_CAN_REGISTER_HOST_MEMORY = 99
};

// Attributes of functions.
enum {
    CUDA_FUNCTION_MAX_THREADS = 0,
    CUDA_FUNCTION_SHARED = 1,
    CUDA_FUNCTION_REGISTERS = 4,
    CUDA_FUNCTION_MAX_DYNAMIC_SHARED = 8 // the only one that is set
};

// Attributes of pointers. Memory that is of no type is the host's, and
// pageable: that is CUDA_INVALID_VALUE.
enum {
    CUDA_POINTER_MEMORY_TYPE = 2,
    CUDA_MEMORY_HOST = 1, // page-locked
    CUDA_MEMORY_DEVICE = 2
};

enum {
    CUDA_STREAM_NON_BLOCKING = 1,
    CUDA_EVENT_DISABLE_TIMING = 2,
    CUDA_HOST_PORTABLE = 1,
    CUDA_HOST_MAPPED = 2,
    CUDA_REGISTER_PORTABLE = 1,
    CUDA_INPUT_PTX = 1, // of a linker
    // Options of a module or a linker.
    CUDA_OPTION_MAX_REGISTERS = 0, // of what is added
    CUDA_OPTION_ERROR_TEXT = 5,
    CUDA_OPTION_ERROR_TEXT_SIZE = 6
};

// X(name without "cu", symbol, parameters)
#define CUDA_FUNCTIONS(X)                                                     \
    X(Init, cuInit, (unsigned flags))                                         \
    X(DriverGetVersion, cuDriverGetVersion, (int *version))                   \
    X(GetErrorName, cuGetErrorName, (cuda_result result, const char **name))  \
    X(GetErrorString, cuGetErrorString,                                       \
      (cuda_result result, const char **text))                                \
    X(DeviceGetCount, cuDeviceGetCount, (int *count))                         \
    X(DeviceGet, cuDeviceGet, (cuda_device * device, int index))              \
    X(DeviceGetName, cuDeviceGetName,                                         \
      (char *name, int size, cuda_device device))                             \
    X(DeviceTotalMem, cuDeviceTotalMem_v2,                                    \
      (size_t * bytes, cuda_device device))                                   \
    X(DeviceGetAttribute, cuDeviceGetAttribute,                               \
      (int *value, int attribute, cuda_device device))                        \
    X(DevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain,                       \
      (cuda_context * context, cuda_device device))                           \
    X(DevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2,                  \
      (cuda_device device))                                                   \
    X(CtxPushCurrent, cuCtxPushCurrent_v2, (cuda_context context))            \
    X(CtxPopCurrent, cuCtxPopCurrent_v2, (cuda_context * context))            \
    X(MemAlloc, cuMemAlloc_v2, (cuda_address * address, size_t bytes))        \
    X(MemFree, cuMemFree_v2, (cuda_address address))                          \
    X(MemHostAlloc, cuMemHostAlloc,                                           \
      (void **memory, size_t bytes, unsigned flags))                          \
    X(MemFreeHost, cuMemFreeHost, (void *memory))                             \
    X(MemAllocHost, cuMemAllocHost_v2, (void **memory, size_t bytes))         \
    X(MemHostRegister, cuMemHostRegister_v2,                                  \
      (void *memory, size_t bytes, unsigned flags))                           \
    X(MemHostUnregister, cuMemHostUnregister, (void *memory))                 \
    X(PointerGetAttribute, cuPointerGetAttribute,                             \
      (void *value, int attribute, cuda_address pointer))                     \
    X(MemHostGetDevicePointer, cuMemHostGetDevicePointer_v2,                  \
      (cuda_address * address, void *memory, unsigned flags))                 \
    X(MemsetD8Async, cuMemsetD8Async,                                         \
      (cuda_address address, unsigned char value, size_t bytes,               \
       cuda_stream stream))                                                   \
    X(MemcpyAsync, cuMemcpyAsync,                                             \
      (cuda_address to, cuda_address from, size_t bytes, cuda_stream stream)) \
    X(MemcpyHtoDAsync, cuMemcpyHtoDAsync_v2,                                  \
      (cuda_address to, const void *from, size_t bytes, cuda_stream stream))  \
    X(MemcpyDtoHAsync, cuMemcpyDtoHAsync_v2,                                  \
      (void *to, cuda_address from, size_t bytes, cuda_stream stream))        \
    X(StreamCreate, cuStreamCreate, (cuda_stream * stream, unsigned flags))   \
    X(StreamWaitEvent, cuStreamWaitEvent,                                     \
      (cuda_stream stream, cuda_event event, unsigned flags))                 \
    X(StreamDestroy, cuStreamDestroy_v2, (cuda_stream stream))                \
    X(StreamSynchronize, cuStreamSynchronize, (cuda_stream stream))           \
    X(EventCreate, cuEventCreate, (cuda_event * event, unsigned flags))       \
    X(EventDestroy, cuEventDestroy_v2, (cuda_event event))                    \
    X(EventRecord, cuEventRecord, (cuda_event event, cuda_stream stream))     \
    X(EventQuery, cuEventQuery, (cuda_event event))                           \
    X(ModuleLoadDataEx, cuModuleLoadDataEx,                                   \
      (cuda_module * module, const void *image, unsigned count, int *options, \
       void **values))                                                        \
    X(ModuleUnload, cuModuleUnload, (cuda_module module))                     \
    X(ModuleGetFunction, cuModuleGetFunction,                                 \
      (cuda_function * function, cuda_module module, const char *name))       \
    X(FuncGetAttribute, cuFuncGetAttribute,                                   \
      (int *value, int attribute, cuda_function function))                    \
    X(FuncSetAttribute, cuFuncSetAttribute,                                   \
      (cuda_function function, int attribute, int value))                     \
    X(LaunchKernel, cuLaunchKernel,                                           \
      (cuda_function function, unsigned grid_x, unsigned grid_y,              \
       unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z, \
       unsigned shared_bytes, cuda_stream stream, void **parameters,          \
       void **extra))                                                         \
    X(LinkCreate, cuLinkCreate_v2,                                            \
      (unsigned count, int *options, void **values, cuda_link *link))         \
    X(LinkAddData, cuLinkAddData_v2,                                          \
      (cuda_link link, int type, void *data, size_t bytes, const char *name,  \
       unsigned count, int *options, void **values))                          \
    X(LinkComplete, cuLinkComplete,                                           \
      (cuda_link link, void **cubin, size_t *bytes))                          \
    X(LinkDestroy, cuLinkDestroy, (cuda_link link))                           \
    X(GraphCreate, cuGraphCreate, (cuda_graph * graph, unsigned flags))       \
    X(GraphAddKernelNode, cuGraphAddKernelNode,                               \
      (cuda_node * node, cuda_graph graph, const cuda_node *after,            \
       size_t count, const struct cuda_node_params *params))                  \
    X(GraphInstantiate, cuGraphInstantiateWithFlags,                          \
      (cuda_graph_run * run, cuda_graph graph, unsigned long long flags))     \
    X(GraphSetParams, cuGraphExecKernelNodeSetParams,                         \
      (cuda_graph_run run, cuda_node node,                                    \
       const struct cuda_node_params *params))                                \
    X(GraphUpload, cuGraphUpload, (cuda_graph_run run, cuda_stream stream))   \
    X(GraphLaunch, cuGraphLaunch, (cuda_graph_run run, cuda_stream stream))   \
    X(GraphRunDestroy, cuGraphExecDestroy, (cuda_graph_run run))              \
    X(GraphDestroy, cuGraphDestroy, (cuda_graph graph))

struct cuda_driver {
    int version; // 13000: CUDA 13.0
    int devices;
#define CUDA_MEMBER(name, symbol, parameters) cuda_result(*name) parameters;
    CUDA_FUNCTIONS(CUDA_MEMBER)
#undef CUDA_MEMBER
};

// The driver, opened once for the process. HD_ENODEV says why there is none: no
// library, one that is too old, or no GPU.
//
// The library is libcuda.so.1; tests name another in HEDDLE_CUDA_DRIVER, which
// is not looked at where a program has more rights than its user.
hd_status cuda_driver_open(const struct cuda_driver **driver,
                           struct hd_error *error);

// "CUDA_ERROR_NOT_READY: device not ready", or the number.
void cuda_describe(const struct cuda_driver *driver, cuda_result result,
                   char *text, size_t size);

#endif
