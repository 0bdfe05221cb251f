// Pictures between the passes are brightness and two differences of colours, as
// the eye sees steps: the square root of light is near enough to that.

kernel void open_photo(global const uchar4 *from, global float4 *to)
{
    int i = get_global_id(1) * get_global_size(0) + get_global_id(0);
    float4 c = convert_float4(from[i]) / 255;

    to[i] = (float4)(0.299f * c.x + 0.587f * c.y + 0.114f * c.z, c.x - c.y,
                     c.z - c.y, c.w);
}

// The mean of 25 pixels, `apart` from each other, in which those count less
// that look different; `edge` is where they count a quarter.
kernel void smooth(global const float4 *from, global float4 *to, int apart,
                   float edge)
{
    const float weights[3] = {6, 4, 1}; // of 16
    int x = get_global_id(0), y = get_global_id(1);
    int w = get_global_size(0), h = get_global_size(1);
    float4 here = from[y * w + x], sum = 0;
    float all = 0;

    for (int dy = -2; dy <= 2; dy++)
        for (int dx = -2; dx <= 2; dx++) {
            int at = clamp(y + dy * apart, 0, h - 1) * w +
                     clamp(x + dx * apart, 0, w - 1);
            float4 there = from[at], step = there - here;
            float far = (step.x * step.x + step.y * step.y + step.z * step.z) /
                        (edge * edge);
            float weight =
                weights[abs(dx)] * weights[abs(dy)] / ((1 + far) * (1 + far));
            sum += weight * there;
            all += weight;
        }
    to[y * w + x] = sum / all;
}

// What the coarser picture lacks: less `least`, what is below is noise.
kernel void collect(global const float4 *fine, global const float4 *coarse,
                    global float4 *sum, float least, float by)
{
    int i = get_global_id(1) * get_global_size(0) + get_global_id(0);
    float4 step = fine[i] - coarse[i];
    float4 more = fmax(fabs(step) - least, 0.0f);

    sum[i] += by * copysign(more, step);
}

kernel void close_photo(global const float4 *rest, global const float4 *sum,
                        global uchar4 *to)
{
    int i = get_global_id(1) * get_global_size(0) + get_global_id(0);
    float4 c = rest[i] + sum[i];
    float green = c.x - 0.299f * c.y - 0.114f * c.z;

    to[i] = convert_uchar4_sat_rte(
        255 * (float4)(green + c.y, green, green + c.z, c.w));
}
