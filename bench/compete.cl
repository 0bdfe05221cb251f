// Kernels that need one thing most.

kernel void stream(global float *a, global const float *b,
                   global const float *c)
{
    size_t i = get_global_id(0);
    a[i] = b[i] * 1.5f + c[i];
}

kernel void compute(global float *a, int turns)
{
    size_t i = get_global_id(0);
    float x = (float)(i & 15), y = 0.5f;
    for (int t = 0; t < turns; t++) {
        x = fma(x, 0.99f, y);
        y = fma(y, 0.98f, x);
    }
    a[i] = x + y;
}

// Every work-group reads one of `chunks` pieces of 4,096 numbers, the next one
// somewhere else.
kernel void sweep(global const float *data, global float *sums, int chunks)
{
    size_t chunk = get_group_id(0) * 7919 % chunks;
    global const float *at = data + chunk * 4096 + get_local_id(0);
    float sum = 0;
    for (int i = 0; i < 4096; i += 64)
        sum += at[i];
    sums[get_global_id(0)] = sum;
}
