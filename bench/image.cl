// A picture turned and enlarged: one linear sample per work-item.
constant sampler_t linear =
    CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR;

kernel void turn(read_only image2d_t from, global float *to, float c, float s)
{
    int x = get_global_id(0), y = get_global_id(1);
    float2 at = (float2)(c * x - s * y, s * x + c * y);
    float4 color = read_imagef(from, linear, at);
    to[y * get_global_size(0) + x] =
        dot(color, (float4)(0.3f, 0.5f, 0.1f, 0.1f));
}
