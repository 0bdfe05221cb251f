// What the kernels of suite.cl compute, as plain serial C: for checking, and to
// show what such C takes. Units do not depend on each other.
#include "bench/suite_reference.h"

#include <float.h>
#include <math.h>
#include <string.h>

// Dense matrices -------------------------------------------------------------

void suite_gemm(const struct reference *r, long begin, long end)
{
    const float *a = r->in[0], *b = r->in[1], *c = r->in[2];
    float *to = r->out[0];
    long n = r->n;

    for (long i = begin; i < end; i++) {
        for (long j = 0; j < n; j++)
            to[i * n + j] = 0.5f * c[i * n + j];
        for (long k = 0; k < n; k++)
            for (long j = 0; j < n; j++)
                to[i * n + j] += 1.5f * a[i * n + k] * b[k * n + j];
    }
}

void suite_gemm_double(const struct reference *r, long begin, long end)
{
    const double *a = r->in[0], *b = r->in[1];
    double *to = r->out[0];
    long n = r->n;

    for (long i = begin; i < end; i++) {
        for (long j = 0; j < n; j++)
            to[i * n + j] = 0;
        for (long k = 0; k < n; k++)
            for (long j = 0; j < n; j++)
                to[i * n + j] += a[i * n + k] * b[k * n + j];
    }
}

void suite_mm2(const struct reference *r, long begin, long end)
{
    const float *a = r->in[0], *b = r->in[1];
    float *to = r->out[0];
    long n = r->n;

    for (long i = begin; i < end; i++)
        for (long j = 0; j < n; j++) {
            float sum = 0;
            for (long k = 0; k < n; k++)
                sum += a[i * n + k] * b[j * n + k];
            to[i * n + j] = sum;
        }
}

void suite_syrk(const struct reference *r, long begin, long end)
{
    struct reference both = *r;

    both.in[1] = r->in[0];
    suite_mm2(&both, begin, end);
}

void suite_atax(const struct reference *r, long begin, long end)
{
    const float *a = r->in[0], *x = r->in[1];
    float *y = r->out[0];

    for (long j = begin; j < end; j++)
        y[j] = 0;
    for (long i = 0; i < r->n; i++)
        for (long j = begin; j < end; j++)
            y[j] += a[i * r->n + j] * x[i];
}

void suite_mvt(const struct reference *r, long begin, long end)
{
    const float *a = r->in[0], *x = r->in[1];
    float *y = r->out[0];

    for (long i = begin; i < end; i++) {
        float sum = 0;
        for (long j = 0; j < r->n; j++)
            sum += a[i * r->n + j] * x[j];
        y[i] = sum;
    }
}

void suite_gesummv(const struct reference *r, long begin, long end)
{
    const float *a = r->in[0], *b = r->in[1], *x = r->in[2];
    float *y = r->out[0];

    for (long i = begin; i < end; i++) {
        float s = 0, t = 0;
        for (long j = 0; j < r->n; j++) {
            s += a[i * r->n + j] * x[j];
            t += b[i * r->n + j] * x[j];
        }
        y[i] = 1.5f * s + 0.5f * t;
    }
}

void suite_correlation(const struct reference *r, long begin, long end)
{
    const float *data = r->in[0];
    float *to = r->out[0];
    long n = r->n;

    for (long j = begin; j < end && j < n - 1; j++) {
        to[j * n + j] = 1;
        for (long k = j + 1; k < n; k++)
            to[j * n + k] = 0;
        for (long i = 0; i < 64; i++)
            for (long k = j + 1; k < n; k++)
                to[j * n + k] += data[i * n + j] * data[i * n + k];
        for (long k = j + 1; k < n; k++)
            to[k * n + j] = to[j * n + k];
    }
}

void suite_gram_schmidt(const struct reference *r, long begin, long end)
{
    const float *a = r->in[0], *q = r->in[1];
    float *to = r->out[0];
    long n = r->n, h = r->height;

    for (long j = begin > h ? begin : h + 1; j < end; j++) {
        float sum = 0;
        for (long i = 0; i < n; i++)
            sum += q[i * n + h] * a[i * n + j];
        for (long i = 0; i < n; i++)
            to[i * n + j] = a[i * n + j] - 0.001f * q[i * n + h] * sum;
    }
}

void suite_gaussian(const struct reference *r, long begin, long end)
{
    const float *m = r->in[0], *a = r->in[1];
    float *to = r->out[0];
    long n = r->n, h = r->height;

    for (long i = begin > h ? begin : h + 1; i < end; i++)
        for (long j = h; j < n; j++)
            to[i * n + j] = a[i * n + j] - m[i * n + h] * a[h * n + j];
}

void suite_lu(const struct reference *r, long begin, long end)
{
    const float *a = r->in[0];
    float *to = r->out[0];
    long n = r->n, h = r->height;

    for (long i = begin > h + 16 ? begin : h + 16; i < end; i++)
        for (long j = h + 16; j < n; j++) {
            float sum = 0;
            for (long k = h; k < h + 16; k++)
                sum += a[i * n + k] * a[k * n + j];
            to[i * n + j] = a[i * n + j] - sum;
        }
}

// Grids ----------------------------------------------------------------------

void suite_fdtd(const struct reference *r, long begin, long end)
{
    const float *e = r->in[0], *m = r->in[1];
    float *to = r->out[0];
    long w = r->width;

    for (long y = begin; y < end; y++)
        for (long i = y * w + 1; i < (y + 1) * w; i++)
            to[i] = e[i] - 0.5f * (m[i] - m[i - 1]);
}

void suite_jacobi(const struct reference *r, long begin, long end)
{
    const double *from = r->in[0];
    double *to = r->out[0];
    long n = r->n;

    for (long y = begin ? begin : 1; y < end && y < n - 1; y++)
        for (long i = y * n + 1; i < (y + 1) * n - 1; i++)
            to[i] = 0.2 * (from[i] + from[i - 1] + from[i + 1] + from[i + n] +
                           from[i - n]);
}

void suite_conv_2d(const struct reference *r, long begin, long end)
{
    static const float c[3][3] = {
        {0.2f, 0.5f, -0.8f}, {-0.3f, 0.6f, -0.9f}, {0.4f, 0.7f, 0.1f}};
    const float *from = r->in[0];
    float *to = r->out[0];
    long w = r->width;

    for (long y = begin ? begin : 1; y < end && y < r->height - 1; y++)
        for (long i = y * w + 1; i < (y + 1) * w - 1; i++) {
            float sum = 0;
            for (long dy = -1; dy <= 1; dy++)
                for (long dx = -1; dx <= 1; dx++)
                    sum += c[dy + 1][dx + 1] * from[i + dy * w + dx];
            to[i] = sum;
        }
}

void suite_conv_3d(const struct reference *r, long begin, long end)
{
    const float *from = r->in[0];
    float *to = r->out[0];
    long n = r->n, p = n * n;

    for (long i = begin ? begin : 1; i < end && i < n - 1; i++)
        for (long j = 1; j < n - 1; j++)
            for (long at = i * p + j * n + 1; at < i * p + (j + 1) * n - 1;
                 at++)
                to[at] = 2 * from[at - p - n - 1] + 4 * from[at + p - n - 1] -
                         3 * from[at] + 5 * from[at + n + 1] -
                         6 * from[at - p + n] + 7 * from[at - n + 1];
}

void suite_hotspot(const struct reference *r, long begin, long end)
{
    const float *power = r->in[0], *heat = r->in[1];
    float *to = r->out[0];
    long w = r->width, h = r->height;

    for (long y = begin; y < end; y++)
        for (long x = 0; x < w; x++) {
            long i = y * w + x;
            float here = heat[i];
            float up = heat[y == 0 ? i : i - w];
            float down = heat[y == h - 1 ? i : i + w];
            float left = heat[x == 0 ? i : i - 1];
            float right = heat[x == w - 1 ? i : i + 1];
            to[i] = here + 0.1f * (power[i] + (down + up - 2 * here) * 0.2f +
                                   (right + left - 2 * here) * 0.3f +
                                   (80.0f - here) * 0.01f);
        }
}

void suite_srad(const struct reference *r, long begin, long end)
{
    const float *image = r->in[0];
    float *to = r->out[0];
    long rows = r->width, columns = r->height;

    for (long column = begin; column < end; column++)
        for (long row = 0; row < rows; row++) {
            long i = column * rows + row;
            float here = image[i];
            float n = image[row > 0 ? i - 1 : i] - here;
            float s = image[row < rows - 1 ? i + 1 : i] - here;
            float w = image[column > 0 ? i - rows : i] - here;
            float e = image[column < columns - 1 ? i + rows : i] - here;
            float g = (n * n + s * s + w * w + e * e) / (here * here);
            float l = (n + s + w + e) / here;
            float up = 0.5f * g - 1.0f / 16 * l * l, down = 1 + 0.25f * l;
            float q = up / (down * down);
            float c = 1.0f / (1.0f + (q - 0.1f) / (0.1f * 1.1f));
            to[i] = c < 0 ? 0 : c > 1 ? 1 : c;
        }
}

// Bodies, meshes, graphs -----------------------------------------------------

void suite_lava(const struct reference *r, long begin, long end)
{
    const float(*place)[4] = r->in[0], *charge = r->in[1];
    float(*force)[4] = r->out[0];

    for (long box = begin; box < end; box++)
        for (long i = box * 128; i < box * 128 + 128; i++) {
            long first = box > 0 ? (box - 1) * 128 : 0;
            long last = box < r->n - 1 ? (box + 2) * 128 : (box + 1) * 128;
            float x = 0, y = 0, z = 0, w = 0;
            for (long j = first; j < last; j++) {
                const float *a = place[i], *b = place[j];
                float u =
                    a[3] + b[3] - (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]);
                float v = 0.001f * expf(-0.5f * u);
                w += charge[j] * v;
                x += charge[j] * 2 * v * (a[0] - b[0]);
                y += charge[j] * 2 * v * (a[1] - b[1]);
                z += charge[j] * 2 * v * (a[2] - b[2]);
            }
            memcpy(force[i], (float[]){x, y, z, w}, 16);
        }
}

void suite_md(const struct reference *r, long begin, long end)
{
    const float(*place)[4] = r->in[1];
    const int *neighbours = r->in[0];
    float(*force)[4] = r->out[0];

    for (long i = begin; i < end; i++) {
        float x = 0, y = 0, z = 0;
        for (long j = 0; j < 32; j++) {
            const float *a = place[i], *b = place[neighbours[j * r->n + i]];
            float dx = a[0] - b[0], dy = a[1] - b[1], dz = a[2] - b[2];
            float r2 = dx * dx + dy * dy + dz * dz;
            if (!(r2 < 0.3f))
                continue;
            float inverse = 1.0f / (r2 + 0.5f);
            float r6 = inverse * inverse * inverse;
            float g = (0.3f - r2) * inverse * r6 * (1.5f * r6 - 2.0f);
            x += dx * g;
            y += dy * g;
            z += dz * g;
        }
        memcpy(force[i], (float[]){x, y, z, 0}, 16);
    }
}

static float dot(const float *a, const float *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

void suite_cfd(const struct reference *r, long begin, long end)
{
    const int *sides = r->in[0];
    const float *variables = r->in[1], *normals = r->in[2];
    float *fluxes = r->out[0];
    long n = r->n;

    for (long i = begin; i < end; i++) {
        float density = variables[i], energy = variables[i + 4 * n];
        float m[3], v[3], flux[5] = {0};
        for (int d = 0; d < 3; d++) {
            m[d] = variables[i + (d + 1) * n];
            v[d] = m[d] / density;
        }
        float square = dot(v, v);
        float pressure = 0.4f * (energy - 0.5f * density * square) + 2.0f;
        float sound = sqrtf(1.4f * pressure / density);
        for (long k = 0; k < 4; k++) {
            long o = sides[i + k * n];
            float normal[3], om[3], ov[3], sum[3];
            for (int d = 0; d < 3; d++)
                normal[d] = normals[i + (3 * k + d) * n];
            if (o == -1) {
                for (int d = 0; d < 3; d++)
                    flux[d + 1] += normal[d] * pressure;
                continue;
            }
            if (o < 0) {
                flux[0] += 0.5f * normal[0] * (1.0f + m[0]);
                flux[4] += 0.5f * normal[1] * pressure;
                continue;
            }
            float od = variables[o], oe = variables[o + 4 * n];
            for (int d = 0; d < 3; d++) {
                om[d] = variables[o + (d + 1) * n];
                ov[d] = om[d] / od;
            }
            float vv = dot(ov, ov), op = 0.4f * (oe - 0.5f * od * vv) + 2.0f;
            float factor =
                -sqrtf(dot(normal, normal)) * 0.1f *
                (sqrtf(square) + sqrtf(vv) + sound + sqrtf(1.4f * op / od));
            for (int d = 0; d < 3; d++) {
                sum[d] = om[d] + m[d];
                flux[d + 1] += factor * (m[d] - om[d]) +
                               0.5f * normal[d] * (op + pressure);
            }
            flux[0] += factor * (density - od) + 0.5f * dot(normal, sum);
            for (int d = 0; d < 3; d++)
                sum[d] = ov[d] * (oe + op) + v[d] * (energy + pressure);
            flux[4] += factor * (energy - oe) + 0.5f * dot(normal, sum);
        }
        for (int d = 0; d < 5; d++)
            fluxes[i + d * n] = flux[d];
    }
}

void suite_bfs(const struct reference *r, long begin, long end)
{
    const int *first = r->in[0], *node = r->in[1];
    const uint32_t *random = r->in[2];
    int *next = r->out[0];

    for (long i = begin; i < end; i++)
        for (long k = first[i]; !(random[i] >> 10 & 7) && k < first[i + 1]; k++)
            if (!(random[node[k]] >> 13 & 1))
                next[node[k]] = 1;
}

void suite_kmeans(const struct reference *r, long begin, long end)
{
    const float *features = r->in[0], *centres = r->in[1];
    int *which = r->out[0];

    for (long i = begin; i < end; i++) {
        float least = FLT_MAX;
        for (long c = 0; c < r->width; c++) {
            float sum = 0;
            for (long f = 0; f < r->height; f++) {
                float d = features[f * r->n + i] - centres[c * r->height + f];
                sum += d * d;
            }
            if (sum < least) {
                least = sum;
                which[i] = (int)c;
            }
        }
    }
}

void suite_distance_to(const struct reference *r, long begin, long end)
{
    const float(*places)[2] = r->in[0];
    float *distances = r->out[0];

    for (long i = begin; i < end; i++) {
        float x = 1.25f - places[i][0], y = 1.75f - places[i][1];
        distances[i] = sqrtf(x * x + y * y);
    }
}

void suite_search(const struct reference *r, long begin, long end)
{
    const double *weights = r->in[0], *u = r->in[1];
    int *index = r->out[0];

    for (long i = begin; i < end; i++) {
        int x = 0;
        while (x < r->n - 1 && weights[x] < u[i])
            x++;
        index[i] = x;
    }
}

void suite_back_propagation(const struct reference *r, long begin, long end)
{
    const float *input = r->in[0], *weights = r->in[1];
    float *sums = r->out[0];
    long n = r->n;

    for (long by = begin; by < end; by++)
        for (long x = 0; x < n; x++) {
            float sum = 0;
            for (long y = by * 16; y < by * 16 + 16; y++)
                sum += weights[y * n + x] * input[y];
            sums[by * n + x] = sum;
        }
}

// Sequences ------------------------------------------------------------------

static int most(int a, int b)
{
    return a > b ? a : b;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

void suite_needleman(const struct reference *r, long begin, long end)
{
    const int *likeness = r->in[0], *borders = r->in[1];
    int *table = r->out[0], t[17][17];

    for (long tile = begin; tile < end; tile++) {
        const int *s = likeness + tile * 256, *b = borders + tile * 33;
        t[0][0] = b[0] % 50;
        for (int l = 0; l < 16; l++) {
            t[l + 1][0] = b[1 + l] % 50;
            t[0][l + 1] = b[17 + l] % 50;
        }
        for (int y = 1; y <= 16; y++)
            for (int x = 1; x <= 16; x++) {
                t[y][x] = most(t[y - 1][x - 1] + s[(y - 1) * 16 + x - 1] % 10,
                               most(t[y][x - 1], t[y - 1][x]) - r->n);
                table[tile * 256 + (y - 1) * 16 + x - 1] = t[y][x];
            }
    }
}

void suite_path(const struct reference *r, long begin, long end)
{
    enum {
        SIZE = REFERENCE_GROUP
    };
    const int *wall = r->in[0];
    int *to = r->out[0];

    for (long group = begin; group < end; group++) {
        int best[SIZE], next[SIZE];
        const int *row = wall + group * SIZE;
        for (int l = 0; l < SIZE; l++)
            best[l] = row[l] & 15;
        for (int y = 1; y < r->height; y++) {
            row += r->width;
            for (int l = 0; l < SIZE; l++) {
                int left = l > 0 ? best[l - 1] : 1000;
                int right = l < SIZE - 1 ? best[l + 1] : 1000;
                next[l] = least(best[l], least(left, right)) + (row[l] & 15);
            }
            memcpy(best, next, sizeof(best));
        }
        memcpy(to + group * SIZE, best, sizeof(best));
    }
}

void suite_radix_count(const struct reference *r, long begin, long end)
{
    const uint32_t *keys = r->in[0];
    uint32_t *counts = r->out[0];
    long groups = r->height, share = r->n / groups;

    for (long group = begin; group < end; group++) {
        uint32_t digits[16] = {0};
        for (long i = group * share; i < (group + 1) * share; i++)
            digits[keys[i] >> r->width & 15]++;
        for (long d = 0; d < 16; d++)
            counts[d * groups + group] = digits[d];
    }
}

static void sort_four(const float *from, float *to)
{
    memcpy(to, from, 4 * sizeof(float));
    for (int i = 1; i < 4; i++)
        for (int k = i; k > 0 && to[k - 1] > to[k]; k--) {
            float t = to[k];
            to[k] = to[k - 1];
            to[k - 1] = t;
        }
}

void suite_sort_four(const struct reference *r, long begin, long end)
{
    for (long i = begin; i < end; i++)
        sort_four((const float *)r->in[0] + 4 * i, (float *)r->out[0] + 4 * i);
}

void suite_merge_runs(const struct reference *r, long begin, long end)
{
    for (long i = begin; i < end; i++) {
        const float(*a)[4] = (const float(*)[4])r->in[0] + 4 * i,
              (*b)[4] = a + 2;
        float(*out)[4] = (float(*)[4])r->out[0] + 4 * i;
        float x[4], y[4], low[4], high[4];
        int at_a = 0, at_b = 0;
        sort_four(a[0], x);
        sort_four(b[0], y);
        for (int put = 0;; put++) {
            for (int k = 0; k < 4; k++) {
                low[k] = x[k] < y[3 - k] ? x[k] : y[3 - k];
                high[k] = x[k] < y[3 - k] ? y[3 - k] : x[k];
            }
            sort_four(low, out[put]);
            sort_four(high, x);
            if (put == 2) {
                memcpy(out[3], x, sizeof(x));
                break;
            }
            if (!at_a && (at_b || a[1][0] < b[1][0]))
                sort_four(a[++at_a], y);
            else
                sort_four(b[++at_b], y);
        }
    }
}

static uint32_t rotate(uint32_t x, int by)
{
    return x << by | x >> (32 - by);
}

void suite_md5(const struct reference *r, long begin, long end)
{
    static const uint32_t add[16] = {
        0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf61e2562, 0xc040b340,
        0x265e5a51, 0xe9b6c7aa, 0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c,
        0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039};
    static const int turn[16] = {7, 12, 17, 22, 5, 9,  14, 20,
                                 4, 11, 16, 23, 6, 10, 15, 21};
    static const int factor[4] = {1, 5, 3, 7}, offset[4] = {0, 1, 5, 0};
    const uint32_t *words = r->in[0];
    uint32_t(*digests)[4] = r->out[0];

    for (long i = begin; i < end; i++) {
        uint32_t w[16] = {words[i], (uint32_t)i, 0x80, [14] = 64};
        uint32_t a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476;
        for (int k = 0; k < 64; k++) {
            int round = k / 16, which = round * 4 + k % 4;
            uint32_t f = round == 0   ? (b & c) | (~b & d)
                         : round == 1 ? (b & d) | (c & ~d)
                         : round == 2 ? b ^ c ^ d
                                      : c ^ (b | ~d);
            uint32_t sum = a + f + w[(factor[round] * k + offset[round]) & 15] +
                           add[which] + (uint32_t)(k % 16 / 4 * 4);
            a = d;
            d = c;
            c = b;
            b += rotate(sum, turn[which]);
        }
        digests[i][0] = a + 0x67452301;
        digests[i][1] = b + 0xefcdab89;
        digests[i][2] = c + 0x98badcfe;
        digests[i][3] = d + 0x10325476;
    }
}

void suite_row_sums(const struct reference *r, long begin, long end)
{
    const float *from = r->in[0];
    float *sums = r->out[0];

    for (long row = begin; row < end; row++) {
        float sum = 0;
        for (long k = 0; k < r->n; k++)
            sum += from[row * r->n + k];
        sums[row] = sum;
    }
}

// Signals and pictures -------------------------------------------------------

// By frequency, in place; what comes out is in the order of reversed bits.
#define TRANSFORM(name, real, points)                                          \
    static void name(const real(*from)[2], const real(*roots)[2],              \
                     real(*to)[2])                                             \
    {                                                                          \
        real t[points][2];                                                     \
        memcpy(t, from, sizeof(t));                                            \
        for (int n = points / 2; n > 0; n /= 2)                                \
            for (int at = 0; at < points; at += 2 * n)                         \
                for (int k = at; k < at + n; k++) {                            \
                    const real *w = roots[(k - at) * (points / 2 / n)];        \
                    real x = t[k][0] - t[k + n][0], y = t[k][1] - t[k + n][1]; \
                    t[k][0] += t[k + n][0];                                    \
                    t[k][1] += t[k + n][1];                                    \
                    t[k + n][0] = x * w[0] - y * w[1];                         \
                    t[k + n][1] = x * w[1] + y * w[0];                         \
                }                                                              \
        for (int k = 0; k < points; k++) {                                     \
            int other = 0;                                                     \
            for (int bit = 1; bit < points; bit *= 2)                          \
                other = other * 2 + !!(k & bit);                               \
            memcpy(to[other], t[k], sizeof(t[k]));                             \
        }                                                                      \
    }

TRANSFORM(transform_float, float, 512)
TRANSFORM(transform_double, double, 512)

void suite_fft(const struct reference *r, long begin, long end)
{
    for (long i = begin; i < end; i++)
        transform_float((const float(*)[2])r->in[0] + i * 512, r->in[1],
                        (float(*)[2])r->out[0] + i * 512);
}

void suite_fft_double(const struct reference *r, long begin, long end)
{
    for (long i = begin; i < end; i++)
        transform_double((const double(*)[2])r->in[0] + i * 512, r->in[1],
                         (double(*)[2])r->out[0] + i * 512);
}

void suite_wavelet(const struct reference *r, long begin, long end)
{
    const float h = 0.70710678f;

    for (long i = begin; i < end; i++) {
        float *to = (float *)r->out[0] + i * 512, part[512];
        memcpy(part, (const float *)r->in[0] + i * 512, sizeof(part));
        for (int n = 256; n > 0; n /= 2)
            for (int k = 0; k < n; k++) {
                float a = part[2 * k], b = part[2 * k + 1];
                part[k] = (a + b) * h;
                to[n + k] = (a - b) * h;
            }
        to[0] = part[0];
    }
}

void suite_erosion(const struct reference *r, long begin, long end)
{
    const unsigned char *from = r->in[0];
    unsigned char *to = r->out[0];

    for (long y = begin; y < end; y++)
        for (long x = 0; x < r->width; x++) {
            unsigned char low = 255;
            for (long v = y - 2; v <= y + 2; v++)
                for (long u = x - 2; u <= x + 2; u++)
                    if (u >= 0 && v >= 0 && u < r->width && v < r->height &&
                        from[v * r->width + u] < low)
                        low = from[v * r->width + u];
            to[y * r->width + x] = low;
        }
}

void suite_resize(const struct reference *r, long begin, long end)
{
    const unsigned char *from = r->in[0];
    unsigned char *to = r->out[0];
    long w = r->width;

    for (long y = begin; y < end; y++)
        for (long x = 0; x < w / 2; x++)
            for (long c = 0; c < 3; c++) {
                const unsigned char *p = from + (2 * y * w + 2 * x) * 3 + c;
                to[(y * (w / 2) + x) * 3 + c] =
                    (unsigned char)((p[0] + p[3] + p[3 * w] + p[3 * w + 3] +
                                     2) /
                                    4);
            }
}

void suite_threshold(const struct reference *r, long begin, long end)
{
    const float(*from)[4] = r->in[0];
    float(*to)[4] = r->out[0];

    for (long i = begin; i < end; i++)
        for (int c = 0; from[i][0] < 1.5f && c < 4; c++)
            to[i][c] = 2 * from[i][c];
}
