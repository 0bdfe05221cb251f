// Written for speed as one writes C: loops that compilers vectorise, private
// histograms, tiles in registers. Compiled with all the flags that help.
#include "bench/kernel_reference.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define SIMD _Pragma("omp simd")

void reference_add(const struct reference *r, long begin, long end)
{
    const float *a = r->in[0], *b = r->in[1];
    float *c = r->out[0];
    SIMD for (long i = begin; i < end; i++) c[i] = a[i] + b[i];
}

void reference_saxpy(const struct reference *r, long begin, long end)
{
    const float *x = r->in[0];
    float *y = r->out[0];
    SIMD for (long i = begin; i < end; i++) y[i] = 0.5f * x[i] + y[i];
}

static inline float normal(float x)
{
    float k = 1.0f / (1.0f + 0.2316419f * fabsf(x));
    float p =
        k * (0.31938153f +
             k * (-0.356563782f +
                  k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    float upper = 0.39894228f * expf(-0.5f * x * x) * p;
    return x < 0.0f ? upper : 1.0f - upper;
}

void reference_black_scholes(const struct reference *r, long begin, long end)
{
    const float *price = r->in[0], *strike = r->in[1], *years = r->in[2];
    float *call = r->out[0], *put = r->out[1];
    const float rate = 0.02f, spread = 0.3f;

    SIMD for (long i = begin; i < end; i++)
    {
        float s = price[i], x = strike[i], t = years[i];
        float root = spread * sqrtf(t);
        float d1 = (logf(s / x) + (rate + 0.5f * spread * spread) * t) / root;
        float d2 = d1 - root, later = x * expf(-rate * t);
        float n1 = normal(d1), n2 = normal(d2);
        call[i] = s * n1 - later * n2;
        put[i] = later * (1.0f - n2) - s * (1.0f - n1);
    }
}

void reference_nbody(const struct reference *r, long begin, long end)
{
    enum {
        LANES = 64
    };
    const float(*place)[4] = r->in[0];
    float(*pull)[4] = r->out[0];

    for (long i = begin; i < end; i += LANES) {
        float px[LANES], py[LANES], pz[LANES];
        float x[LANES] = {0}, y[LANES] = {0}, z[LANES] = {0};
        for (int l = 0; l < LANES; l++) {
            px[l] = place[i + l][0];
            py[l] = place[i + l][1];
            pz[l] = place[i + l][2];
        }
        for (int k = 0; k < r->n; k++) {
            SIMD for (int l = 0; l < LANES; l++)
            {
                float dx = place[k][0] - px[l], dy = place[k][1] - py[l];
                float dz = place[k][2] - pz[l];
                float d = 1.0f / sqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
                float f = place[k][3] * d * d * d;
                x[l] += f * dx;
                y[l] += f * dy;
                z[l] += f * dz;
            }
        }
        for (int l = 0; l < LANES; l++) {
            pull[i + l][0] = x[l];
            pull[i + l][1] = y[l];
            pull[i + l][2] = z[l];
            pull[i + l][3] = 0;
        }
    }
}

// Operations are rounded one by one, as the kernel's are.
#ifdef __clang__
#define EACH_ROUNDED \
    _Pragma("clang fp contract(off) reassociate(off) reciprocal(off)")
#else
#define EACH_ROUNDED
__attribute__((optimize("no-fast-math", "fp-contract=off")))
#endif
void reference_mandelbrot(const struct reference *r, long begin, long end)
{
    EACH_ROUNDED
    enum {
        LANES = 32
    };
    int *to = r->out[0];

    for (long y = begin; y < end; y++)
        for (int x = 0; x < r->width; x += LANES) {
            float a[LANES], u[LANES] = {0}, v[LANES] = {0};
            int count[LANES] = {0};
            float b = -1.0f + 2.0f * (float)y / (float)r->height;
            for (int l = 0; l < LANES; l++)
                a[l] = -2.0f + 3.0f * (float)(x + l) / (float)r->width;
            for (int n = 0; n < r->n; n++) {
                int some = 0;
                SIMD for (int l = 0; l < LANES; l++)
                {
                    float uu = u[l] * u[l], vv = v[l] * v[l];
                    int in = uu + vv < 4.0f;
                    float w = uu - vv + a[l];
                    v[l] = in ? 2.0f * u[l] * v[l] + b : v[l];
                    u[l] = in ? w : u[l];
                    count[l] += in;
                    some |= in;
                }
                if (!some)
                    break;
            }
            memcpy(&to[y * r->width + x], count, sizeof(count));
        }
}

void reference_sobel(const struct reference *r, long begin, long end)
{
    const float *from = r->in[0];
    float *to = r->out[0];
    long w = r->width;

    for (long y = begin; y < end; y++) {
        if (y == 0 || y == r->height - 1)
            continue;
        const float *p = from + y * w;
        SIMD for (long x = 1; x < w - 1; x++)
        {
            float a = p[x - w - 1], b = p[x - w], c = p[x - w + 1];
            float d = p[x - 1], e = p[x + 1];
            float f = p[x + w - 1], g = p[x + w], h = p[x + w + 1];
            float across = c + 2.0f * e + h - a - 2.0f * d - f;
            float down = f + 2.0f * g + h - a - 2.0f * b - c;
            to[y * w + x] = sqrtf(across * across + down * down);
        }
    }
}

// Rows `begin` .. `end`, which are multiples of four.
void reference_matmul(const struct reference *r, long begin, long end)
{
    enum {
        ROWS = 4,
        WIDE = 64
    };
    const float *a = r->in[0], *b = r->in[1];
    float *c = r->out[0];
    long n = r->n;

    for (long x = 0; x < n; x += WIDE)
        for (long y = begin; y < end; y += ROWS) {
            float sum[ROWS][WIDE] = {0};
            for (long k = 0; k < n; k++)
                for (int i = 0; i < ROWS; i++) {
                    float f = a[(y + i) * n + k];
                    SIMD for (int j = 0; j < WIDE; j++) sum[i][j] +=
                        f * b[k * n + x + j];
                }
            for (int i = 0; i < ROWS; i++)
                memcpy(&c[(y + i) * n + x], sum[i], sizeof(sum[i]));
        }
}

void reference_reduce(const struct reference *r, long begin, long end)
{
    const float *from = r->in[0];
    float *sums = r->out[0];

    for (long g = begin; g < end; g++) {
        const float *p = from + g * REFERENCE_GROUP;
        float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
        for (int i = 0; i < REFERENCE_GROUP; i++)
            sum += p[i];
        sums[g] = sum;
    }
}

void reference_histogram(const struct reference *r, long begin, long end)
{
    const uint32_t *from = r->in[0];
    uint32_t *bins = r->out[0], mine[4][256] = {{0}};

    // Several, so that equal neighbours do not wait for each other.
    for (long i = begin; i < end; i += 4)
        for (int k = 0; k < 4; k++)
            mine[k][from[i + k] & 255]++;
    for (int k = 0; k < 256; k++)
        __atomic_fetch_add(&bins[k],
                           mine[0][k] + mine[1][k] + mine[2][k] + mine[3][k],
                           __ATOMIC_RELAXED);
}

void reference_bitonic(const struct reference *r, long begin, long end)
{
    const uint32_t *from = r->in[0];
    uint32_t *to = r->out[0];

    for (long g = begin; g < end; g++) {
        uint32_t v[REFERENCE_GROUP];
        memcpy(v, from + g * REFERENCE_GROUP, sizeof(v));
        for (int k = 2; k <= REFERENCE_GROUP; k *= 2)
            for (int j = k / 2; j > 0; j /= 2)
                for (int i = 0; i < REFERENCE_GROUP; i += 2 * j) {
                    int up = (i & k) == 0;
                    SIMD for (int l = i; l < i + j; l++)
                    {
                        uint32_t a = v[l], b = v[l + j];
                        uint32_t low = a < b ? a : b, high = a < b ? b : a;
                        v[l] = up ? low : high;
                        v[l + j] = up ? high : low;
                    }
                }
        memcpy(to + g * REFERENCE_GROUP, v, sizeof(v));
    }
}

// Rows of blocks of 16.
void reference_transpose(const struct reference *r, long begin, long end)
{
    const float *from = r->in[0];
    float *to = r->out[0];
    long n = r->n;

    for (long y = begin * 16; y < end * 16; y += 16)
        for (long x = 0; x < n; x += 16)
            for (int i = 0; i < 16; i++)
                SIMD for (int j = 0; j < 16; j++) to[(x + i) * n + y + j] =
                    from[(y + j) * n + x + i];
}

void reference_scan(const struct reference *r, long begin, long end)
{
    const uint32_t *from = r->in[0];
    uint32_t *to = r->out[0];

    for (long g = begin; g < end; g++) {
        uint32_t sum = 0;
        for (long i = g * REFERENCE_GROUP; i < (g + 1) * REFERENCE_GROUP; i++) {
            sum += from[i];
            to[i] = sum;
        }
    }
}

void reference_sparse(const struct reference *r, long begin, long end)
{
    const int *starts = r->in[0], *column = r->in[1];
    const float *value = r->in[2], *x = r->in[3];
    float *y = r->out[0];

    for (long row = begin; row < end; row++) {
        float sum = 0.0f;
        for (int k = starts[row]; k < starts[row + 1]; k++)
            sum += value[k] * x[column[k]];
        y[row] = sum;
    }
}

// Planes.
void reference_stencil(const struct reference *r, long begin, long end)
{
    const float *from = r->in[0];
    float *to = r->out[0];
    long w = r->width, plane = w * r->height;

    for (long z = begin; z < end; z++)
        for (long y = 1; z > 0 && z < r->depth - 1 && y < r->height - 1; y++) {
            const float *p = from + z * plane + y * w;
            float *q = to + z * plane + y * w;
            SIMD for (long x = 1; x < w - 1; x++) q[x] =
                0.4f * p[x] + 0.1f * (p[x - 1] + p[x + 1] + p[x - w] +
                                      p[x + w] + p[x - plane] + p[x + plane]);
        }
}

void reference_nearest(const struct reference *r, long begin, long end)
{
    const float(*points)[2] = r->in[0], (*centres)[2] = r->in[1];
    int *which = r->out[0];

    enum {
        LANES = 64
    };
    for (long i = begin; i < end; i += LANES) {
        float x[LANES], y[LANES], least[LANES];
        int best[LANES];
        for (int l = 0; l < LANES; l++) {
            x[l] = points[i + l][0];
            y[l] = points[i + l][1];
            least[l] = FLT_MAX;
            best[l] = 0;
        }
        for (int c = 0; c < r->n; c++)
            SIMD for (int l = 0; l < LANES; l++)
            {
                float dx = x[l] - centres[c][0], dy = y[l] - centres[c][1];
                float d = dx * dx + dy * dy;
                int less = d < least[l];
                least[l] = less ? d : least[l];
                best[l] = less ? c : best[l];
            }
        memcpy(&which[i], best, sizeof(best));
    }
}

enum {
    QUARTER = REFERENCE_POINTS / 4
};

struct points {
    float re[REFERENCE_POINTS], im[REFERENCE_POINTS];
};

// The transform of four points.
static inline void cross(const float re[4], const float im[4], float x[4],
                         float y[4])
{
    float sr = re[0] + re[2], si = im[0] + im[2];
    float dr = re[0] - re[2], di = im[0] - im[2];
    float tr = re[1] + re[3], ti = im[1] + im[3];
    float er = im[1] - im[3], ei = re[3] - re[1];

    x[0] = sr + tr, y[0] = si + ti;
    x[1] = dr + er, y[1] = di + ei;
    x[2] = sr - tr, y[2] = si - ti;
    x[3] = dr - er, y[3] = di - ei;
}

// To the power of 0 .. 3 of a root.
static inline void turn(float x[4], float y[4], const float root[2])
{
    float a[4] = {1, root[0]}, b[4] = {0, root[1]};

    a[2] = a[1] * a[1] - b[1] * b[1], b[2] = 2 * a[1] * b[1];
    a[3] = a[2] * a[1] - b[2] * b[1], b[3] = a[2] * b[1] + b[2] * a[1];
    for (int i = 1; i < 4; i++) {
        float re = x[i] * a[i] - y[i] * b[i];
        y[i] = x[i] * b[i] + y[i] * a[i];
        x[i] = re;
    }
}

// One step of radix 4 (Stockham's, by frequency) on runs of `run` points that
// are turned by the same root.
static inline void step(const struct points *from, struct points *to, long run,
                        const float (*roots)[2])
{
    for (long p = 0; p < QUARTER / run; p++)
        SIMD for (long q = 0; q < run; q++)
        {
            float re[4], im[4], x[4], y[4];
            for (int i = 0; i < 4; i++) {
                re[i] = from->re[p * run + i * QUARTER + q];
                im[i] = from->im[p * run + i * QUARTER + q];
            }
            cross(re, im, x, y);
            turn(x, y, roots[QUARTER / run + p]);
            for (int i = 0; i < 4; i++) {
                to->re[(4 * p + i) * run + q] = x[i];
                to->im[(4 * p + i) * run + q] = y[i];
            }
        }
}

// Transforms; the first and the last step leave and make pairs.
void reference_fourier(const struct reference *r, long begin, long end)
{
    const float(*roots)[2] = r->in[1];
    struct points one, two;

    for (long t = begin; t < end; t++) {
        const float(*from)[2] =
            (const float(*)[2])r->in[0] + t * REFERENCE_POINTS;
        float(*to)[2] = (float(*)[2])r->out[0] + t * REFERENCE_POINTS;

        SIMD for (long p = 0; p < QUARTER; p++)
        {
            float re[4], im[4], x[4], y[4];
            for (int i = 0; i < 4; i++) {
                re[i] = from[p + i * QUARTER][0];
                im[i] = from[p + i * QUARTER][1];
            }
            cross(re, im, x, y);
            turn(x, y, roots[QUARTER + p]);
            for (int i = 0; i < 4; i++) {
                one.re[4 * p + i] = x[i];
                one.im[4 * p + i] = y[i];
            }
        }
        step(&one, &two, 4, roots);
        step(&two, &one, 16, roots);
        step(&one, &two, 64, roots);
        SIMD for (long q = 0; q < QUARTER; q++)
        {
            float re[4], im[4], x[4], y[4];
            for (int i = 0; i < 4; i++) {
                re[i] = two.re[q + i * QUARTER];
                im[i] = two.im[q + i * QUARTER];
            }
            cross(re, im, x, y);
            for (int i = 0; i < 4; i++) {
                to[q + i * QUARTER][0] = x[i];
                to[q + i * QUARTER][1] = y[i];
            }
        }
    }
}
