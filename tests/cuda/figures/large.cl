// Large kernels, of which large.cu has the same in CUDA C.
kernel void copy(global float *restrict out, global const float *restrict in,
                 global const float *restrict table, uint n)
{
    size_t i = get_global_id(0);
    ((global float4 *)out)[i] = ((global const float4 *)in)[i];
}

// Rows of n.
kernel void stencil(global float *restrict out,
                    global const float *restrict in,
                    global const float *restrict table, uint n)
{
    uint x = get_global_id(0) % n, y = get_global_id(0) / n;
    uint rows = get_global_size(0) / n;
    uint i = y * n + x;
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

// A sum for each work-group, of n elements for each work-item.
kernel __attribute__((reqd_work_group_size(256, 1, 1))) void
reduction(global float *restrict out, global const float *restrict in,
          global const float *restrict table, uint n)
{
    local float part[256];
    uint l = get_local_id(0);
    size_t begin = get_group_id(0) * (size_t)256 * n;
    float sum = 0;
    for (uint i = 0; i < n; i++)
        sum += in[begin + i * 256 + l];
    part[l] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint d = 128; d > 0; d /= 2) {
        if (l < d)
            part[l] += part[l + d];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0)
        out[get_group_id(0)] = part[0];
}

// Sums up to each element, in its work-group.
kernel __attribute__((reqd_work_group_size(256, 1, 1))) void
scan(global float *restrict out, global const float *restrict in,
     global const float *restrict table, uint n)
{
    local float sums[2][256];
    uint l = get_local_id(0), from = 0;
    size_t i = get_global_id(0);
    sums[0][l] = in[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint d = 1; d < 256; d *= 2) {
        float sum = sums[from][l];
        if (l >= d)
            sum += sums[from][l - d];
        from ^= 1;
        sums[from][l] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[i] = sums[from][l];
}

// Fourier transforms of 512 complex numbers, one for each work-group; the table
// has cos and sin of -2 pi k / 512.
kernel __attribute__((reqd_work_group_size(256, 1, 1))) void
fft(global float *restrict out, global const float *restrict in,
    global const float *restrict table, uint n)
{
    local float re[2][512], im[2][512];
    uint l = get_local_id(0), from = 0;
    global const float2 *x =
        (global const float2 *)in + get_group_id(0) * (size_t)512;
    global float2 *y = (global float2 *)out + get_group_id(0) * (size_t)512;
    for (uint i = l; i < 512; i += 256) {
        float2 v = x[i];
        re[0][i] = v.x;
        im[0][i] = v.y;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint span = 1; span < 512; span *= 2) {
        uint k = l & (span - 1);
        float2 w = ((global const float2 *)table)[k * (256 / span)];
        float ar = re[from][l], ai = im[from][l];
        float br = re[from][l + 256], bi = im[from][l + 256];
        float cr = br * w.x - bi * w.y, ci = br * w.y + bi * w.x;
        uint to = 2 * l - k;
        from ^= 1;
        re[from][to] = ar + cr;
        im[from][to] = ai + ci;
        re[from][to + span] = ar - cr;
        im[from][to + span] = ai - ci;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (uint i = l; i < 512; i += 256)
        y[i] = (float2)(re[from][i], im[from][i]);
}

// What n bodies, a place and a mass each, do to each of them.
kernel __attribute__((reqd_work_group_size(256, 1, 1))) void
bodies(global float *restrict out, global const float *restrict in,
       global const float *restrict table, uint n)
{
    local float4 tile[256];
    uint l = get_local_id(0);
    size_t i = get_global_id(0);
    float4 me = ((global const float4 *)in)[i];
    float x = 0, y = 0, z = 0;
    for (uint from = 0; from < n; from += 256) {
        tile[l] = ((global const float4 *)in)[from + l];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint k = 0; k < 256; k++) {
            float4 other = tile[k];
            float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
            float near = rsqrt(dx * dx + dy * dy + dz * dz + 0.01f);
            float pull = other.w * near * near * near;
            x += dx * pull;
            y += dy * pull;
            z += dz * pull;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    ((global float4 *)out)[i] = (float4)(x, y, z, 0);
}

// The product of two square matrices of n by n.
kernel __attribute__((reqd_work_group_size(16, 16, 1))) void
matmul(global float *restrict out, global const float *restrict in,
       global const float *restrict table, uint n)
{
    local float a[16][16], b[16][16];
    uint x = get_local_id(0), y = get_local_id(1);
    uint column = get_global_id(0), row = get_global_id(1);
    float sum = 0;
    for (uint k = 0; k < n; k += 16) {
        a[y][x] = in[row * n + k + x];
        b[y][x] = table[(k + y) * n + column];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint i = 0; i < 16; i++)
            sum += a[y][i] * b[i][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[row * n + column] = sum;
}
