// The kernels of large.cl in CUDA C, for nvcc.
#define PARAMETERS                                              \
    float *__restrict__ out, const float *__restrict__ in,      \
        const float *__restrict__ table, unsigned n

extern "C" __global__ void copy(PARAMETERS)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    ((float4 *)out)[i] = ((const float4 *)in)[i];
}

extern "C" __global__ void stencil(PARAMETERS)
{
    unsigned id = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = id % n, y = id / n, rows = gridDim.x * blockDim.x / n;
    unsigned i = y * n + x;
    float sum = in[i];
    if (x > 0)
        sum += in[i - 1];
    if (x + 1 < n)
        sum += in[i + 1];
    if (y > 0)
        sum += in[i - n];
    if (y + 1 < rows)
        sum += in[i + n];
    out[i] = 0.2f * sum;
}

extern "C" __global__ void __launch_bounds__(256) reduction(PARAMETERS)
{
    __shared__ float part[256];
    unsigned l = threadIdx.x;
    size_t begin = blockIdx.x * (size_t)256 * n;
    float sum = 0;
    for (unsigned i = 0; i < n; i++)
        sum += in[begin + i * 256 + l];
    part[l] = sum;
    __syncthreads();
    for (unsigned d = 128; d > 0; d /= 2) {
        if (l < d)
            part[l] += part[l + d];
        __syncthreads();
    }
    if (l == 0)
        out[blockIdx.x] = part[0];
}

extern "C" __global__ void __launch_bounds__(256) scan(PARAMETERS)
{
    __shared__ float sums[2][256];
    unsigned l = threadIdx.x, from = 0;
    size_t i = blockIdx.x * (size_t)256 + l;
    sums[0][l] = in[i];
    __syncthreads();
    for (unsigned d = 1; d < 256; d *= 2) {
        float sum = sums[from][l];
        if (l >= d)
            sum += sums[from][l - d];
        from ^= 1;
        sums[from][l] = sum;
        __syncthreads();
    }
    out[i] = sums[from][l];
}

extern "C" __global__ void __launch_bounds__(256) fft(PARAMETERS)
{
    __shared__ float re[2][512], im[2][512];
    unsigned l = threadIdx.x, from = 0;
    const float2 *x = (const float2 *)in + blockIdx.x * (size_t)512;
    float2 *y = (float2 *)out + blockIdx.x * (size_t)512;
    for (unsigned i = l; i < 512; i += 256) {
        float2 v = x[i];
        re[0][i] = v.x;
        im[0][i] = v.y;
    }
    __syncthreads();
    for (unsigned span = 1; span < 512; span *= 2) {
        unsigned k = l & (span - 1);
        float2 w = ((const float2 *)table)[k * (256 / span)];
        float ar = re[from][l], ai = im[from][l];
        float br = re[from][l + 256], bi = im[from][l + 256];
        float cr = br * w.x - bi * w.y, ci = br * w.y + bi * w.x;
        unsigned to = 2 * l - k;
        from ^= 1;
        re[from][to] = ar + cr;
        im[from][to] = ai + ci;
        re[from][to + span] = ar - cr;
        im[from][to + span] = ai - ci;
        __syncthreads();
    }
    for (unsigned i = l; i < 512; i += 256)
        y[i] = make_float2(re[from][i], im[from][i]);
}

extern "C" __global__ void __launch_bounds__(256) bodies(PARAMETERS)
{
    __shared__ float4 tile[256];
    unsigned l = threadIdx.x;
    size_t i = blockIdx.x * (size_t)256 + l;
    float4 me = ((const float4 *)in)[i];
    float x = 0, y = 0, z = 0;
    for (unsigned from = 0; from < n; from += 256) {
        tile[l] = ((const float4 *)in)[from + l];
        __syncthreads();
        for (unsigned k = 0; k < 256; k++) {
            float4 other = tile[k];
            float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
            float near = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
            float pull = other.w * near * near * near;
            x += dx * pull;
            y += dy * pull;
            z += dz * pull;
        }
        __syncthreads();
    }
    ((float4 *)out)[i] = make_float4(x, y, z, 0);
}

extern "C" __global__ void __launch_bounds__(256) matmul(PARAMETERS)
{
    __shared__ float a[16][16], b[16][16];
    unsigned x = threadIdx.x, y = threadIdx.y;
    unsigned column = blockIdx.x * 16 + x, row = blockIdx.y * 16 + y;
    float sum = 0;
    for (unsigned k = 0; k < n; k += 16) {
        a[y][x] = in[row * n + k + x];
        b[y][x] = table[(k + y) * n + column];
        __syncthreads();
        for (unsigned i = 0; i < 16; i++)
            sum += a[y][i] * b[i][x];
        __syncthreads();
    }
    out[row * n + column] = sum;
}
