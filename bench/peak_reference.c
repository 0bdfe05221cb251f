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

// Two steps are not made one: compilers that may reassociate would.
#if defined(__AVX512F__)
#define OPAQUE(x) __asm__ volatile("" : "+v"(x))
#elif defined(__x86_64__)
#define OPAQUE(x) __asm__ volatile("" : "+x"(x))
#elif defined(__aarch64__)
#define OPAQUE(x) __asm__ volatile("" : "+w"(x))
#else
#define OPAQUE(x) (void)0
#endif

enum {
    CHAINS = 10 // more than the latency times the units of processors today
};

// For T, of which LANES fit a register.
#define MULTIPLY_ADD(name, T, LANES)                                    \
    typedef T name##_lanes __attribute__((vector_size(WIDTH)));         \
    void name(const struct reference *r, long begin, long end)          \
    {                                                                   \
        enum {                                                          \
            STEPS = PEAK_FLOPS / 2 / CHAINS / (LANES)                   \
        };                                                              \
        name##_lanes sum[CHAINS], by, more;                             \
        T *out = r->out[1];                                             \
                                                                        \
        for (int i = 0; i < (LANES); i++) {                             \
            by[i] = (T)0.5 > 0 ? (T)0.5 : (T)3;                         \
            more[i] = (T)(i + 1);                                       \
        }                                                               \
        for (int c = 0; c < CHAINS; c++)                                \
            sum[c] = more * (T)c;                                       \
        for (long unit = begin; unit < end; unit++)                     \
            for (int step = 0; step < STEPS; step++)                    \
                for (int c = 0; c < CHAINS; c++) {                      \
                    sum[c] = sum[c] * by + more;                        \
                    OPAQUE(sum[c]);                                     \
                }                                                       \
        for (int c = 1; c < CHAINS; c++)                                \
            sum[0] += sum[c];                                           \
        out[begin] = sum[0][0]; /* else there would be nothing to do */ \
    }

MULTIPLY_ADD(reference_multiply_add, float, WIDTH / 4)
MULTIPLY_ADD(reference_multiply_add_double, double, WIDTH / 8)
MULTIPLY_ADD(reference_multiply_add_int, unsigned, WIDTH / 4)
