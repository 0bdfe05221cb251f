// A product of matrices by CLBlast, in a process of its own: the time of the
// first, with what is built for it, and of a later one [ms]. Results are
// compared with plain C.
#include <clblast_c.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/figure.h"

enum {
    N = 512,
    BUFFERS = 3,
    ROUNDS = 9
};

static void check(int status, const char *what)
{
    if (status != 0) {
        fprintf(stderr, "%s: error %d\n", what, status);
        exit(1);
    }
}

static double multiply(cl_command_queue queue, const cl_mem *m)
{
    cl_command_queue q = queue;
    double begin = figure_now();

    check(CLBlastSgemm(CLBlastLayoutRowMajor, CLBlastTransposeNo,
                       CLBlastTransposeNo, N, N, N, 1, m[0], 0, N, m[1], 0, N,
                       0, m[2], 0, N, &q, NULL),
          "CLBlastSgemm");
    check(clFinish(queue), "clFinish");
    return figure_now() - begin;
}

int main(void)
{
    static float host[BUFFERS][N * N];
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    cl_mem m[BUFFERS];
    double times[ROUNDS];

    check(clGetPlatformIDs(1, &platform, NULL), "a platform");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &device, NULL),
          "a processor");
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check(status, "a context");
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
    check(status, "a queue");
    for (int i = 0; i < N * N; i++) {
        host[0][i] = (float)(i % 13) - 6;
        host[1][i] = (float)(i % 17) - 8;
    }
    for (int i = 0; i < BUFFERS; i++) {
        m[i] = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof(host[i]),
                              host[i], &status);
        check(status, "a buffer");
    }
    double first = multiply(queue, m);
    for (int i = 0; i < ROUNDS; i++)
        times[i] = multiply(queue, m);
    check(clEnqueueReadBuffer(queue, m[2], CL_TRUE, 0, sizeof(host[2]), host[2],
                              0, NULL, NULL),
          "a read");
    for (int i = 0; i < N; i += 7)
        for (int j = 0; j < N; j++) {
            double sum = 0;
            for (int k = 0; k < N; k++)
                sum += (double)host[0][i * N + k] * host[1][k * N + j];
            if (fabs(sum - host[2][i * N + j]) > 1e-2) {
                fprintf(stderr, "row %d, column %d: %g, not %g\n", i, j,
                        host[2][i * N + j], sum);
                return 1;
            }
        }
    printf("%g %g\n", first, figure_median(times, ROUNDS));
    return 0;
}
