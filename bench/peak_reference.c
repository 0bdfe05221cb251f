#include "bench/peak_reference.h"

void reference_triad(const struct reference *r, long begin, long end)
{
    const float *a = r->in[0], *b = r->in[1];
    float *c = r->out[0];

    _Pragma("omp simd") for (long i = begin; i < end; i++) c[i] =
        a[i] + 0.5f * b[i];
}

// As wide as registers are: wider ones would be kept in two of them.
#if defined(__AVX512F__)
#define WIDTH 64
#elif defined(__AVX__)
#define WIDTH 32
#else
#define WIDTH 16
#endif

typedef float lanes __attribute__((vector_size(WIDTH)));

enum {
    CHAINS = 10, // more than the latency times the units of processors today
    STEPS = PEAK_FLOPS / 2 / CHAINS / (WIDTH / 4)
};

void reference_multiply_add(const struct reference *r, long begin, long end)
{
    lanes sum[CHAINS], by, more;
    float *out = r->out[1];

    for (int i = 0; i < WIDTH / 4; i++) {
        by[i] = 0.5f;
        more[i] = (float)(i + 1);
    }
    for (int c = 0; c < CHAINS; c++)
        sum[c] = more * (float)c;
    for (long unit = begin; unit < end; unit++)
        for (int step = 0; step < STEPS; step++)
            for (int c = 0; c < CHAINS; c++)
                sum[c] = sum[c] * by + more;
    for (int c = 1; c < CHAINS; c++)
        sum[0] += sum[c];
    out[begin] = sum[0][0]; // else there would be nothing to do
}
