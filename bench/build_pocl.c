// A child of bench/build.c:
//
//     build_pocl SOURCE      build it with PoCL, with code for all kernels
//
// Whoever asks for the binary makes PoCL generate code, which it does else when
// a kernel is launched.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/opencl.h"

enum {
    MAX_SOURCE = 1 << 20 // [bytes]
};

static char text[MAX_SOURCE];

static void read_source(const char *path)
{
    FILE *file = fopen(path, "r");

    if (!file || fread(text, 1, MAX_SOURCE - 1, file) == 0) {
        perror(path);
        exit(1);
    }
    fclose(file);
}

int main(int argc, char **argv)
{
    char include[4096] = "-I.";
    size_t size = 0;

    if (argc != 2)
        return 2;
    const char *slash = strrchr(argv[1], '/');
    if (slash)
        snprintf(include, sizeof(include), "-I%.*s", (int)(slash - argv[1]),
                 argv[1]);
    read_source(argv[1]);
    cl_device_id device = opencl_find_device("Portable Computing Language");
    struct opencl opencl = opencl_build(device, text, include);
    opencl_check(clGetProgramInfo(opencl.program, CL_PROGRAM_BINARY_SIZES,
                                  sizeof(size), &size, NULL),
                 "code");
    return size == 0;
}
