// The kernels of bench/kernel.c, written as one writes them for a GPU.

kernel void add(global const float *a, global const float *b, global float *c)
{
    size_t i = get_global_id(0);
    c[i] = a[i] + b[i];
}

kernel void add_guarded(global const float *a, global const float *b,
                        global float *c, uint n)
{
    uint i = get_global_id(0);
    if (i < n)
        c[i] = a[i] + b[i];
}

kernel void saxpy(float a, global const float *x, global float *y, int n)
{
    int i = get_global_id(0);
    if (i >= n)
        return;
    y[i] = a * x[i] + y[i];
}

// The same with fewer work-items than elements.
kernel void saxpy_strided(float a, global const float *x, global float *y,
                          int n)
{
    for (int i = get_global_id(0); i < n; i += get_global_size(0))
        y[i] = a * x[i] + y[i];
}

float normal(float x)
{
    float k = 1.0f / (1.0f + 0.2316419f * fabs(x));
    float p = k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f +
              k * (-1.821255978f + k * 1.330274429f))));
    float upper = 0.39894228f * exp(-0.5f * x * x) * p;
    return x < 0.0f ? upper : 1.0f - upper;
}

kernel void black_scholes(global const float *price, global const float *strike,
                          global const float *years, global float *call,
                          global float *put, float rate, float spread, int n)
{
    int i = get_global_id(0);
    if (i >= n)
        return;
    float s = price[i], x = strike[i], t = years[i];
    float root = spread * sqrt(t);
    float d1 = (log(s / x) + (rate + 0.5f * spread * spread) * t) / root;
    float d2 = d1 - root, later = x * exp(-rate * t);
    call[i] = s * normal(d1) - later * normal(d2);
    put[i] = later * (1.0f - normal(d2)) - s * (1.0f - normal(d1));
}

kernel void nbody(global const float4 *place, global float4 *pull, int n,
                  local float4 *tile)
{
    int i = get_global_id(0), l = get_local_id(0), size = get_local_size(0);
    float4 mine = place[i];
    float x = 0.0f, y = 0.0f, z = 0.0f;
    for (int from = 0; from < n; from += size) {
        tile[l] = place[from + l];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < size; k++) {
            float dx = tile[k].x - mine.x, dy = tile[k].y - mine.y;
            float dz = tile[k].z - mine.z;
            float r = rsqrt(dx * dx + dy * dy + dz * dz + 0.01f);
            float f = tile[k].w * r * r * r;
            x += f * dx;
            y += f * dy;
            z += f * dz;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    pull[i] = (float4)(x, y, z, 0.0f);
}

kernel void mandelbrot(global int *to, int width, int height, int most)
{
#pragma OPENCL FP_CONTRACT OFF // so that all count the same
    int x = get_global_id(0), y = get_global_id(1);
    float a = -2.0f + 3.0f * x / width, b = -1.0f + 2.0f * y / height;
    float u = 0.0f, v = 0.0f;
    int n = 0;
    while (n < most && u * u + v * v < 4.0f) {
        float w = u * u - v * v + a;
        v = 2.0f * u * v + b;
        u = w;
        n++;
    }
    to[y * width + x] = n;
}

kernel void sobel(global const float *from, global float *to, uint width,
                  uint height)
{
    uint x = get_global_id(0), y = get_global_id(1);
    if (x == 0 || y == 0 || x >= width - 1 || y >= height - 1)
        return;
    uint i = y * width + x;
    float a = from[i - width - 1], b = from[i - width], c = from[i - width + 1];
    float d = from[i - 1], e = from[i + 1];
    float f = from[i + width - 1], g = from[i + width], h = from[i + width + 1];
    float across = c + 2.0f * e + h - a - 2.0f * d - f;
    float down = f + 2.0f * g + h - a - 2.0f * b - c;
    to[i] = sqrt(across * across + down * down);
}

enum {
    TILE = 16
};

kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void matmul(global const float *a, global const float *b, global float *c,
            int n)
{
    local float at[TILE][TILE], bt[TILE][TILE];
    int x = get_local_id(0), y = get_local_id(1);
    int column = get_global_id(0), row = get_global_id(1);
    float sum = 0.0f;
    for (int k = 0; k < n; k += TILE) {
        at[y][x] = a[row * n + k + x];
        bt[y][x] = b[(k + y) * n + column];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int j = 0; j < TILE; j++)
            sum += at[y][j] * bt[j][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[row * n + column] = sum;
}

kernel void reduce(global const float *from, global float *sums,
                   local float *part)
{
    size_t l = get_local_id(0);
    part[l] = from[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t n = get_local_size(0) / 2; n > 0; n /= 2) {
        if (l < n)
            part[l] += part[l + n];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0)
        sums[get_group_id(0)] = part[0];
}

kernel void histogram(global const uint *from, global uint *bins, int n,
                      local uint *mine)
{
    int l = get_local_id(0), size = get_local_size(0);
    for (int k = l; k < 256; k += size)
        mine[k] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_global_id(0); i < n; i += get_global_size(0))
        atomic_inc(&mine[from[i] & 255]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = l; k < 256; k += size)
        atomic_add(&bins[k], mine[k]);
}

// Each work-group sorts its own elements.
kernel void bitonic(global uint *data, local uint *mine)
{
    uint l = get_local_id(0), size = get_local_size(0);
    mine[l] = data[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = 2; k <= size; k *= 2)
        for (uint j = k / 2; j > 0; j /= 2) {
            uint other = l ^ j;
            if (other > l) {
                uint a = mine[l], b = mine[other];
                if ((a > b) == ((l & k) == 0)) {
                    mine[l] = b;
                    mine[other] = a;
                }
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    data[get_global_id(0)] = mine[l];
}

kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void transpose(global const float *from, global float *to, int n)
{
    local float tile[TILE][TILE + 1];
    int x = get_local_id(0), y = get_local_id(1);
    int column = get_group_id(0) * TILE, row = get_group_id(1) * TILE;
    tile[y][x] = from[(row + y) * n + column + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    to[(column + y) * n + row + x] = tile[x][y];
}

// Sums of all elements up to each one, within every work-group.
kernel void scan(global const uint *from, global uint *to, local uint *part)
{
    int l = get_local_id(0), size = get_local_size(0);
    part[l] = from[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int step = 1; step < size; step *= 2) {
        uint before = l >= step ? part[l - step] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        part[l] += before;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    to[get_global_id(0)] = part[l];
}

kernel void sparse(global const int *begin, global const int *column,
                   global const float *value, global const float *x,
                   global float *y, int n)
{
    int row = get_global_id(0);
    if (row >= n)
        return;
    float sum = 0.0f;
    for (int k = begin[row]; k < begin[row + 1]; k++)
        sum += value[k] * x[column[k]];
    y[row] = sum;
}

kernel void stencil(global const float *from, global float *to, int width,
                    int height, int depth)
{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x < 1 || y < 1 || z < 1 || x >= width - 1 || y >= height - 1 ||
        z >= depth - 1)
        return;
    int plane = width * height, i = z * plane + y * width + x;
    to[i] = 0.4f * from[i] +
            0.1f * (from[i - 1] + from[i + 1] + from[i - width] +
                    from[i + width] + from[i - plane] + from[i + plane]);
}

// The nearest of `k` centres in the plane.
kernel void nearest(global const float2 *points, global const float2 *centres,
                    global int *which, int k)
{
    int i = get_global_id(0);
    float2 p = points[i];
    float least = INFINITY;
    int best = 0;
    for (int c = 0; c < k; c++) {
        float dx = p.x - centres[c].x, dy = p.y - centres[c].y;
        float d = dx * dx + dy * dy;
        if (d < least) {
            least = d;
            best = c;
        }
    }
    which[i] = best;
}

// Fourier transforms of four points per work-item of a group, by steps of
// radix 4 (Stockham's, by time). `roots[n + k]` is the root of unity that turns
// the k-th of n points.
kernel void fourier(global const float2 *from, global const float2 *roots,
                    global float2 *to, local float2 *part)
{
    int l = get_local_id(0), size = get_local_size(0);
    from += get_group_id(0) * 4 * size;
    to += get_group_id(0) * 4 * size;
    float2 a = from[l], b = from[l + size];
    float2 c = from[l + 2 * size], d = from[l + 3 * size];
    for (int n = 1; n < 4 * size; n *= 4) {
        int k = l & (n - 1), at = 4 * (l - k) + k;
        float2 u = roots[n + k];
        float2 v = (float2)(u.x * u.x - u.y * u.y, 2.0f * u.x * u.y);
        float2 w = (float2)(u.x * v.x - u.y * v.y, u.x * v.y + u.y * v.x);
        b = (float2)(b.x * u.x - b.y * u.y, b.x * u.y + b.y * u.x);
        c = (float2)(c.x * v.x - c.y * v.y, c.x * v.y + c.y * v.x);
        d = (float2)(d.x * w.x - d.y * w.y, d.x * w.y + d.y * w.x);
        float2 s = a + c, t = b + d, e = a - c, f = b - d;
        f = (float2)(f.y, -f.x);
        part[at] = s + t;
        part[at + n] = e + f;
        part[at + 2 * n] = s - t;
        part[at + 3 * n] = e - f;
        barrier(CLK_LOCAL_MEM_FENCE);
        a = part[l];
        b = part[l + size];
        c = part[l + 2 * size];
        d = part[l + 3 * size];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    to[l] = a;
    to[l + size] = b;
    to[l + 2 * size] = c;
    to[l + 3 * size] = d;
}
