// The headers of OpenCL as this driver uses them: all of 3.0 with what it has
// replaced, whose use is no mistake here.
#ifndef HDI_ICD_API_H
#define HDI_ICD_API_H

// Before the first header of OpenCL anywhere: these decide what it declares.
// Command buffers are a provisional extension, hence "beta".
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#define CL_ENABLE_BETA_EXTENSIONS

// Which of these functions are seen from outside is in symbols.map.
#pragma GCC visibility push(default)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <CL/cl_gl.h>
#include <CL/cl_icd.h>
#pragma GCC diagnostic pop
#pragma GCC visibility pop

#endif
