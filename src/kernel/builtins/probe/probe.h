// Names of the functions that try a builtin on arrays: probe.cl defines them in
// OpenCL C, builtins_test.c calls them.
#ifndef HDI_BUILTINS_PROBE_H
#define HDI_BUILTINS_PROBE_H

#ifdef __OPENCL_C_VERSION__
#define IN(T)  global const T *restrict
#define OUT(T) global T *restrict
#define SIZE   ulong
#else
#define IN(T)  const T *
#define OUT(T) T *
#define SIZE   uint64_t
#define uchar  uint8_t
#define ushort uint16_t
#define uint   uint32_t
#define ulong  uint64_t
#define schar  int8_t
#endif

#endif
