// What scripts/gpu_check runs on a GPU.
kernel void empty(global int *x)
{
}

kernel void saxpy(global float *y, global const float *x, float a)
{
    size_t i = get_global_id(0);
    y[i] = a * x[i] + y[i];
}

kernel void sums(global float *sums, global const float *x)
{
    local float part[64];
    uint l = get_local_id(0);
    part[l] = x[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint d = 32; d > 0; d /= 2) {
        if (l < d)
            part[l] += part[l + d];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0)
        sums[get_group_id(0)] = part[0];
}

kernel void functions(global float *y, global const float *x)
{
    size_t i = get_global_id(0);
    y[i] = exp(sin(x[i])) + sqrt(fabs(x[i])) + pow(fabs(x[i]), 1.5f);
}

kernel void count(global int *bins, global const float *x)
{
    atomic_inc(&bins[(int)(fabs(x[get_global_id(0)]) * 16) & 63]);
}

// So many dependent steps: 4 cycles each or so.
kernel void busy(global uint *x, uint steps)
{
    size_t i = get_global_id(0);
    uint v = x[i];
    for (uint n = 0; n < steps; n++)
        v = v * 1664525u + 1013904223u;
    x[i] = v;
}

// Turns that append the next one, and a step, until none is left.
kernel void start(global uint *out, global uint *left, uint turns)
{
    size_t i = get_global_id(0);
    out[i] = (uint)i;
    if (i == 0)
        left[0] = turns;
}

kernel void turn(global uint *left, global hd_appends *to)
{
    if (get_global_id(0) != 0 || left[0] == 0)
        return;
    left[0]--;
    hd_append(to, 1, (uint3)(0), (uint3)(4, 1, 1));
    hd_append(to, 0, (uint3)(0), (uint3)(1));
}

kernel void step(global uint *out)
{
    atomic_add(&out[get_global_id(0)], 3);
}

kernel void paint(write_only image2d_t to)
{
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    write_imageui(to, at, (uint4)(at.x, at.y, at.x * at.y, 4));
}

kernel void look(read_only image2d_t from, global uint4 *out)
{
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    out[at.y * get_global_size(0) + at.x] = read_imageui(from, at) * 2;
}
