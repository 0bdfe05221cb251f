// What the SPIR-V modules beside were made from.
typedef struct {
    float a;
    int b;
} shift;

constant float weights[4] = {1, 2, 4, 8};

kernel void add(global const float *a, global const float *b, global float *c,
                shift s)
{
    size_t i = get_global_id(0);
    c[i] = s.a * a[i] + b[i] * weights[(i + s.b) & 3];
}

kernel void reduce(global const int *x, global int *sums, local int *part)
{
    int l = get_local_id(0);
    part[l] = x[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int n = get_local_size(0) / 2; n > 0; n /= 2) {
        if (l < n)
            part[l] += part[l + n];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0) {
        sums[1 + get_group_id(0)] = part[0];
        atomic_add(sums, part[0]);
        atomic_max(sums + 9, part[0]);
    }
}

kernel void math(global float4 *x, global int4 *n)
{
    local float4 all[8];
    int i = get_global_id(0), l = get_local_id(0);
    float4 whole, v = x[i];
    v = mad(fract(exp(v), &whole), sin(v), whole);
    v += vload4(1, (global const float *)x) + pow(v, 0.5f);
    all[l] = select(v, fabs(v), isless(v, (float4)(3)));
    barrier(CLK_LOCAL_MEM_FENCE);
    x[i] = shuffle(all[7 - l], (uint4)(3, 2, 1, 0));
    n[i] = convert_int4_sat_rte(v * 1e3f) + popcount(n[i]) +
           (any(isnan(v)) ? 1 : clamp(n[i], -5, 5));
}

kernel void image(read_only image2d_t from, sampler_t s,
                  write_only image2d_t to)
{
    const sampler_t near =
        CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    float4 v = read_imagef(from, s, convert_float2(at) + 0.25f) +
               read_imagef(from, near, at - 1);
    write_imagef(to, at, v / (float)get_image_width(from));
}
