// Arguments of the functions that try a builtin on arrays, in OpenCL C.
#ifndef HDI_BUILTINS_PROBE_H
#define HDI_BUILTINS_PROBE_H

#define IN(T)  global const T *restrict
#define OUT(T) global T *restrict
#define SIZE   ulong

#endif
