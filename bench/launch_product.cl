// The product of two square matrices by tiles in local memory.
#define TILE 16

kernel void product(global const float *a, global const float *b,
                    global float *c, int side)
{
    local float ours[TILE][TILE], theirs[TILE][TILE];
    int x = get_local_id(0), y = get_local_id(1);
    int column = get_global_id(0), row = get_global_id(1);
    float sum = 0.0f;

    for (int t = 0; t < side; t += TILE) {
        ours[y][x] = a[row * side + t + x];
        theirs[y][x] = b[(t + y) * side + column];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < TILE; k++)
            sum += ours[y][k] * theirs[k][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[row * side + column] = sum;
}
