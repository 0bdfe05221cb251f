// The steps of the method of conjugate gradients (Hestenes and Stiefel, 1952)
// for the heat equation on a grid.

enum {
    GROUP = 256 // as in plate.lua
};

// The sum over a work-group, in its first work-item.
float add_up(local float *room, float one)
{
    int me = get_local_id(0);

    room[me] = one;
    for (int half_of = GROUP / 2; half_of > 0; half_of /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (me < half_of)
            room[me] += room[me + half_of];
    }
    return room[me];
}

// One number of each work-group: the first of two steps of a sum.
void give(global float *parts, local float *room, float one)
{
    float sum = add_up(room, one);

    if (get_local_id(0) == 0)
        parts[get_group_id(0)] = sum;
}

kernel void begin(global const float *b, global float *x, global float *r,
                  global float *p, global float *parts, int cells)
{
    local float room[GROUP];
    int i = get_global_id(0);
    float square = 0;

    if (i < cells) {
        x[i] = 0;
        r[i] = p[i] = b[i];
        square = b[i] * b[i];
    }
    give(parts, room, square);
}

// Heat flows between neighbours by the harmonic mean of their conductivity;
// beyond the rim it is that of the cell itself.
float flow(global const float *k, global const float *p, float here, float mine,
           int there, bool inside)
{
    if (!inside)
        return mine * here;
    return 2 * mine * k[there] / (mine + k[there]) * (here - p[there]);
}

kernel void apply(global const float *k, global const float *p,
                  global float *q, global float *parts, int w, int h)
{
    local float room[GROUP];
    int i = get_global_id(0);
    float product = 0;

    if (i < w * h) {
        int x = i % w, y = i / w;
        float here = p[i], mine = k[i];
        float sum = flow(k, p, here, mine, i - 1, x > 0) +
                    flow(k, p, here, mine, i + 1, x < w - 1) +
                    flow(k, p, here, mine, i - w, y > 0) +
                    flow(k, p, here, mine, i + w, y < h - 1);
        q[i] = sum;
        product = here * sum;
    }
    give(parts, room, product);
}

float total(global const float *parts, int groups, local float *room)
{
    float sum = 0;

    for (int i = get_local_id(0); i < groups; i += get_local_size(0))
        sum += parts[i];
    return add_up(room, sum);
}

kernel void total_start(global const float *parts, int groups,
                        global float *sums)
{
    local float room[GROUP];
    float square = total(parts, groups, room);

    if (get_local_id(0) == 0)
        sums[0] = sums[3] = square;
}

kernel void total_alpha(global const float *parts, int groups,
                        global float *sums)
{
    local float room[GROUP];
    float product = total(parts, groups, room);

    if (get_local_id(0) == 0)
        sums[1] = product > 0 ? sums[0] / product : 0;
}

kernel void total_beta(global const float *parts, int groups,
                       global float *sums)
{
    local float room[GROUP];
    float square = total(parts, groups, room);

    if (get_local_id(0) == 0) {
        sums[2] = sums[0] > 0 ? square / sums[0] : 0;
        sums[0] = square;
    }
}

kernel void step(global const float *sums, global const float *p,
                 global const float *q, global float *x, global float *r,
                 global float *parts, int cells)
{
    local float room[GROUP];
    int i = get_global_id(0);
    float square = 0;

    if (i < cells) {
        x[i] += sums[1] * p[i];
        float rest = r[i] - sums[1] * q[i];
        r[i] = rest;
        square = rest * rest;
    }
    give(parts, room, square);
}

kernel void turn(global const float *sums, global const float *r,
                 global float *p, int cells)
{
    int i = get_global_id(0);

    if (i < cells)
        p[i] = r[i] + sums[2] * p[i];
}
