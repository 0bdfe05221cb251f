// 17 kernels in 120 lines: the first two for the cost of a launch and of a
// work-group, the others of the kinds that programs are made of.
kernel void nothing(void) {}
kernel void mark(global int *out)
{
    if (get_local_id(0) == 0)
        out[get_group_id(0)] = 1;
}

kernel void add(global const float *a, global const float *b, global float *c)
{
    c[get_global_id(0)] = a[get_global_id(0)] + b[get_global_id(0)];
}

kernel void saxpy(float a, global const float *x, global float *y, int n)
{
    int i = get_global_id(0);
    if (i < n)
        y[i] = a * x[i] + y[i];
}

kernel void fill(global float *out, float value, int n)
{
    for (int i = get_global_id(0); i < n; i += get_global_size(0))
        out[i] = value;
}

kernel void grey(global const uchar4 *in, global uchar *out, int n)
{
    int i = get_global_id(0);
    if (i < n)
        out[i] = (77 * in[i].x + 150 * in[i].y + 29 * in[i].z) >> 8;
}

kernel void gamma(global float4 *pixels, float power)
{
    size_t i = get_global_id(0);
    float4 p = clamp(pixels[i], 0.0f, 1.0f);
    pixels[i] = (float4)(pow(p.xyz, power), p.w);
}

kernel void blur(global const float *in, global float *out, int width)
{
    int x = get_global_id(0), y = get_global_id(1), height = get_global_size(1);
    float sum = 0.0f;
    for (int d = -2; d <= 2; d++)
        sum += in[clamp(y + d, 0, height - 1) * width + x];
    out[y * width + x] = sum / 5.0f;
}

kernel void halve(global const float *in, global float *out, int width)
{
    int x = get_global_id(0), y = get_global_id(1);
    global const float *from = in + 4 * y * width + 2 * x;
    out[y * width + x] =
        0.25f * (from[0] + from[1] + from[2 * width] + from[2 * width + 1]);
}

kernel void threshold(global const float *in, global int *out, float level)
{
    out[get_global_id(0)] = in[get_global_id(0)] > level ? 255 : 0;
}

kernel void rotate_points(global float2 *points, float angle)
{
    size_t i = get_global_id(0);
    float c = cos(angle), s = sin(angle);
    float2 p = points[i];
    points[i] = (float2)(c * p.x - s * p.y, s * p.x + c * p.y);
}

kernel void lengths(global const float4 *v, global float *out)
{
    out[get_global_id(0)] = length(v[get_global_id(0)]);
}

kernel void mandelbrot(global int *out, int width, int height, int most)
{
    int x = get_global_id(0), y = get_global_id(1), n = 0;
    float cx = 3.0f * x / width - 2.0f, cy = 2.0f * y / height - 1.0f;
    float zx = 0.0f, zy = 0.0f;
    for (; n < most && zx * zx + zy * zy < 4.0f; n++) {
        float t = zx * zx - zy * zy + cx;
        zy = 2.0f * zx * zy + cy;
        zx = t;
    }
    out[y * width + x] = n;
}

kernel void sum_groups(global const float *in, global float *out,
                       local float *part)
{
    int l = get_local_id(0);
    part[l] = in[get_global_id(0)];
    for (int h = get_local_size(0) / 2; h > 0; h /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < h)
            part[l] += part[l + h];
    }
    if (l == 0)
        out[get_group_id(0)] = part[0];
}

kernel void count(global const uchar *in, global uint *bins, int n)
{
    for (int i = get_global_id(0); i < n; i += get_global_size(0))
        atomic_inc(&bins[in[i]]);
}

kernel void gather(global const float *in, global int *at, global float *out)
{
    out[get_global_id(0)] = in[at[get_global_id(0)]];
}

kernel void noise(global uint *out, uint seed)
{
    uint x = get_global_id(0) * 747796405u + seed;
    x = ((x >> ((x >> 28) + 4)) ^ x) * 277803737u;
    out[get_global_id(0)] = (x >> 22) ^ x;
}
