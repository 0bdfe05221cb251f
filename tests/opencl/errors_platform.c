// Platforms, devices, contexts and queues.
#include "tests/opencl/errors.h"

static void CL_CALLBACK ignore(const char *text, const void *info, size_t size,
                               void *data)
{
    (void)text, (void)info, (void)size, (void)data;
}

static void CL_CALLBACK forget(cl_context context, void *data)
{
    (void)context, (void)data;
}

static void platforms(struct errors *r)
{
    cl_platform_id list[1];

    IS(CL_INVALID_VALUE, clGetPlatformIDs, 0, list, NULL);
    IS(CL_INVALID_VALUE, clGetPlatformIDs, 0, list, &r->n);
    IS(CL_INVALID_VALUE, clGetPlatformIDs, 1, NULL, NULL);
    IS(CL_SUCCESS, clGetPlatformIDs, 1, NULL, &r->n);
    EXT(CL_INVALID_VALUE, clIcdGetPlatformIDsKHR, 0, list, &r->n);
    EXT(CL_INVALID_VALUE, clIcdGetPlatformIDsKHR, 1, NULL, NULL);
    TELLS(platform, CL_INVALID_PLATFORM, clGetPlatformInfo, r->platform,
          CL_PLATFORM_NAME);
    IS(CL_INVALID_VALUE, clGetPlatformInfo, r->platform,
       CL_PLATFORM_EXTENSIONS_WITH_VERSION, 1, r->host, NULL);
    EACH(platform, IS(CL_INVALID_PLATFORM, clUnloadPlatformCompiler, r->bad))
    ROW(clUnloadCompiler, CL_SUCCESS, r->api->clUnloadCompiler());
    HOLDS(clGetExtensionFunctionAddress,
          !r->api->clGetExtensionFunctionAddress(NULL));
    HOLDS(clGetExtensionFunctionAddress,
          !r->api->clGetExtensionFunctionAddress("clNoneOfOurs"));
    EACH(platform, HOLDS(clGetExtensionFunctionAddressForPlatform,
                         !r->api->clGetExtensionFunctionAddressForPlatform(
                             r->bad, "clIcdGetPlatformIDsKHR")))
}

static void devices(struct errors *r)
{
    const cl_device_type all = CL_DEVICE_TYPE_ALL;
    cl_device_id list[8];

    EACH(platform, if (r->bad) IS(CL_INVALID_PLATFORM, clGetDeviceIDs, r->bad,
                                  all, 1, list, NULL))
    EACH(platform, if (r->bad) IS(CL_INVALID_PLATFORM, clGetDeviceIDs, r->bad,
                                  0, 0, list, NULL))
    IS(CL_INVALID_DEVICE_TYPE, clGetDeviceIDs, r->platform, 0, 1, list, NULL);
    IS(CL_INVALID_DEVICE_TYPE, clGetDeviceIDs, r->platform, 1u << 20, 1, list,
       NULL);
    IS(CL_INVALID_DEVICE_TYPE, clGetDeviceIDs, r->platform, 0, 0, list, NULL);
    IS(CL_INVALID_VALUE, clGetDeviceIDs, r->platform, all, 0, list, NULL);
    IS(CL_INVALID_VALUE, clGetDeviceIDs, r->platform, all, 1, NULL, NULL);
    IS(CL_INVALID_VALUE, clGetDeviceIDs, r->platform, CL_DEVICE_TYPE_CUSTOM, 0,
       list, NULL);
    IS(CL_DEVICE_NOT_FOUND, clGetDeviceIDs, r->platform, CL_DEVICE_TYPE_CUSTOM,
       1, list, NULL);
    IS(CL_SUCCESS, clGetDeviceIDs, r->platform, all, 1, NULL, &r->n);

    TELLS(device, CL_INVALID_DEVICE, clGetDeviceInfo, r->device,
          CL_DEVICE_NAME);
    IS(CL_INVALID_VALUE, clGetDeviceInfo, r->device,
       CL_DEVICE_MAX_WORK_ITEM_SIZES, 3 * sizeof(size_t) - 1, r->host, NULL);
    COUNTS(device, CL_INVALID_DEVICE, clRetainDevice, clReleaseDevice);

    const cl_device_partition_property ones[] = {CL_DEVICE_PARTITION_EQUALLY, 1,
                                                 0};
    const cl_device_partition_property odd[] = {1, 1, 0}, nothing[] = {0};
    const cl_device_partition_property zeros[] = {CL_DEVICE_PARTITION_EQUALLY,
                                                  0, 0};
    const cl_device_partition_property huge[] = {CL_DEVICE_PARTITION_EQUALLY,
                                                 1 << 20, 0};
    cl_uint units;
    CL_OK(clGetDeviceInfo(r->device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(units),
                          &units, NULL));
    const cl_device_partition_property whole[] = {CL_DEVICE_PARTITION_EQUALLY,
                                                  units, 0};
    const cl_device_partition_property first_cache[] = {
        CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN,
        CL_DEVICE_AFFINITY_DOMAIN_L1_CACHE, 0};
    const cl_device_partition_property counts[] = {
        CL_DEVICE_PARTITION_BY_COUNTS, 1 << 20,
        CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0};
    EACH(device,
         IS(CL_INVALID_DEVICE, clCreateSubDevices, r->bad, ones, 8, list, NULL))
    EACH(device,
         IS(CL_INVALID_DEVICE, clCreateSubDevices, r->bad, odd, 0, list, NULL))
    IS(CL_INVALID_VALUE, clCreateSubDevices, r->device, NULL, 8, list, NULL);
    IS(CL_INVALID_VALUE, clCreateSubDevices, r->device, nothing, 8, list, NULL);
    IS(CL_INVALID_VALUE, clCreateSubDevices, r->device, odd, 8, list, NULL);
    IS(CL_INVALID_VALUE, clCreateSubDevices, r->device, zeros, 8, list, NULL);
    IS(CL_INVALID_VALUE, clCreateSubDevices, r->device, ones, 0, list, NULL);
    IS(CL_INVALID_VALUE, clCreateSubDevices, r->device, first_cache, 8, list,
       NULL);
    IS(CL_INVALID_DEVICE_PARTITION_COUNT, clCreateSubDevices, r->device, huge,
       8, list, NULL);
    IS(CL_DEVICE_PARTITION_FAILED, clCreateSubDevices, r->device, whole, 8,
       list, NULL);
    IS(CL_INVALID_DEVICE_PARTITION_COUNT, clCreateSubDevices, r->device, counts,
       8, list, NULL);

    cl_ulong a, b;
    EACH(device, IS(CL_INVALID_DEVICE, clGetHostTimer, r->bad, &a))
    EACH(device, IS(CL_INVALID_DEVICE, clGetHostTimer, r->bad, NULL))
    IS(CL_INVALID_VALUE, clGetHostTimer, r->device, NULL);
    EACH(device, IS(CL_INVALID_DEVICE, clGetDeviceAndHostTimer, r->bad, &a, &b))
    IS(CL_INVALID_VALUE, clGetDeviceAndHostTimer, r->device, NULL, &b);
    IS(CL_INVALID_VALUE, clGetDeviceAndHostTimer, r->device, &a, NULL);
}

static void contexts(struct errors *r)
{
    const cl_context_properties unknown[] = {1, 1, 0};
    const cl_context_properties twice[] = {CL_CONTEXT_INTEROP_USER_SYNC, 0,
                                           CL_CONTEXT_INTEROP_USER_SYNC, 0, 0};
    const cl_context_properties odd[] = {CL_CONTEXT_INTEROP_USER_SYNC, 7, 0};
    const cl_device_type all = CL_DEVICE_TYPE_ALL;
    cl_device_id *one = &r->device;

    EACH(platform,
         const cl_context_properties bad[] = {CL_CONTEXT_PLATFORM,
                                              (cl_context_properties)r->bad, 0};
         NONE(CL_INVALID_PLATFORM, clCreateContext, bad, 1, one, NULL, NULL);
         NONE(CL_INVALID_PLATFORM, clCreateContext, bad, 0, NULL, NULL, NULL);
         NONE(CL_INVALID_PLATFORM, clCreateContextFromType, bad, all, NULL,
              NULL))
    NONE(CL_INVALID_PROPERTY, clCreateContext, unknown, 1, one, NULL, NULL);
    NONE(CL_INVALID_PROPERTY, clCreateContext, twice, 1, one, NULL, NULL);
    NONE(CL_INVALID_PROPERTY, clCreateContext, odd, 0, NULL, NULL, NULL);
    NONE(CL_INVALID_VALUE, clCreateContext, NULL, 0, one, NULL, NULL);
    NONE(CL_INVALID_VALUE, clCreateContext, NULL, 1, NULL, ignore, NULL);
    NONE(CL_INVALID_VALUE, clCreateContext, NULL, 1, one, NULL, r->host);
    EACH(device, NONE(CL_INVALID_DEVICE, clCreateContext, NULL, 1,
                      (cl_device_id *)&r->bad, NULL, NULL))
    EACH(device, NONE(CL_INVALID_VALUE, clCreateContext, NULL, 1,
                      (cl_device_id *)&r->bad, NULL, r->host))
    NONE(CL_INVALID_PROPERTY, clCreateContextFromType, unknown, all, NULL,
         NULL);
    NONE(CL_INVALID_VALUE, clCreateContextFromType, NULL, all, NULL, r->host);
    NONE(CL_INVALID_DEVICE_TYPE, clCreateContextFromType, NULL, 0, NULL, NULL);
    NONE(CL_DEVICE_NOT_FOUND, clCreateContextFromType, NULL,
         CL_DEVICE_TYPE_CUSTOM, NULL, NULL);
    COUNTS(context, CL_INVALID_CONTEXT, clRetainContext, clReleaseContext);
    TELLS(context, CL_INVALID_CONTEXT, clGetContextInfo, r->context,
          CL_CONTEXT_DEVICES);
    EACH(context, IS(CL_INVALID_CONTEXT, clSetContextDestructorCallback, r->bad,
                     forget, NULL))
    EACH(context, IS(CL_INVALID_CONTEXT, clSetContextDestructorCallback, r->bad,
                     NULL, NULL))
    IS(CL_INVALID_VALUE, clSetContextDestructorCallback, r->context, NULL,
       NULL);
}

static void queues(struct errors *r)
{
    const cl_queue_properties unknown[] = {1, 1, 0};
    const cl_queue_properties odd[] = {CL_QUEUE_PROPERTIES, 1u << 20, 0};
    const cl_queue_properties there[] = {
        CL_QUEUE_PROPERTIES,
        CL_QUEUE_ON_DEVICE | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
    const cl_command_queue_properties many = 1u << 20;

    EACH(context, NONE(CL_INVALID_CONTEXT, clCreateCommandQueueWithProperties,
                       r->bad, r->device, NULL))
    EACH(context, NONE(CL_INVALID_CONTEXT, clCreateCommandQueueWithProperties,
                       r->bad, NULL, unknown))
    EACH(device, NONE(CL_INVALID_DEVICE, clCreateCommandQueueWithProperties,
                      r->context, r->bad, unknown))
    NONE(CL_INVALID_VALUE, clCreateCommandQueueWithProperties, r->context,
         r->device, unknown);
    NONE(CL_INVALID_VALUE, clCreateCommandQueueWithProperties, r->context,
         r->device, odd);
    NONE(CL_INVALID_QUEUE_PROPERTIES, clCreateCommandQueueWithProperties,
         r->context, r->device, there);
    EACH(context,
         EXT_NONE(CL_INVALID_CONTEXT, clCreateCommandQueueWithPropertiesKHR,
                  r->bad, r->device, NULL))
    EACH(device,
         EXT_NONE(CL_INVALID_DEVICE, clCreateCommandQueueWithPropertiesKHR,
                  r->context, r->bad, NULL))
    EXT_NONE(CL_INVALID_VALUE, clCreateCommandQueueWithPropertiesKHR,
             r->context, r->device, (const cl_queue_properties_khr *)odd);
    EACH(context, NONE(CL_INVALID_CONTEXT, clCreateCommandQueue, r->bad,
                       r->device, many))
    EACH(device, NONE(CL_INVALID_DEVICE, clCreateCommandQueue, r->context,
                      r->bad, many))
    NONE(CL_INVALID_VALUE, clCreateCommandQueue, r->context, r->device, many);

    EACH(context, IS(CL_INVALID_CONTEXT, clSetDefaultDeviceCommandQueue, r->bad,
                     r->device, r->queue))
    EACH(device, IS(CL_INVALID_DEVICE, clSetDefaultDeviceCommandQueue,
                    r->context, r->bad, r->queue))
    IS(CL_INVALID_OPERATION, clSetDefaultDeviceCommandQueue, r->context,
       r->device, r->queue);
    EACH(queue, IS(CL_INVALID_COMMAND_QUEUE, clSetCommandQueueProperty, r->bad,
                   many, CL_TRUE, NULL))
    IS(CL_INVALID_VALUE, clSetCommandQueueProperty, r->queue, many, CL_TRUE,
       NULL);
    COUNTS(queue, CL_INVALID_COMMAND_QUEUE, clRetainCommandQueue,
           clReleaseCommandQueue);
    TELLS(queue, CL_INVALID_COMMAND_QUEUE, clGetCommandQueueInfo, r->queue,
          CL_QUEUE_CONTEXT);
    IS(CL_INVALID_COMMAND_QUEUE, clGetCommandQueueInfo, r->queue, CL_QUEUE_SIZE,
       64, r->host, NULL);
    COUNTS(queue, CL_INVALID_COMMAND_QUEUE, clFlush, clFinish);
}

void errors_platform(struct errors *r)
{
    platforms(r);
    devices(r);
    contexts(r);
    queues(r);
}
