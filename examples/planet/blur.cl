// The glow: bright parts, blurred at several sizes and added up again. All work
// on planes: the third dimension of the range is the colour.

enum {
    RADIUS = 8,
    ROW = 128,   // pixels of a row that one work-group blurs
    WIDE = 64,   // pixels of a tile that one work-group blurs by columns
    HIGH = 8
};

// exp(-x * x / 32) for x = 0 .. 8, so that all seventeen add up to 1.
constant float weight[RADIUS + 1] = {
    0.103152619f, 0.0999789464f, 0.0910318666f, 0.0778636818f, 0.062565226f,
    0.0472267103f, 0.0334887522f, 0.0223083183f, 0.0139601889f};

kernel void bright(global const float *from, global float *to, int width,
                   int height, float threshold)
{
    int i = ((int)get_global_id(2) * height + (int)get_global_id(1)) * width +
            (int)get_global_id(0);
    to[i] = fmax(from[i] - threshold, 0.0f);
}

kernel __attribute__((reqd_work_group_size(ROW, 1, 1)))
void blur_rows(global const float *from, global float *to, int width, int height)
{
    local float row[ROW + 2 * RADIUS];
    int x = (int)get_global_id(0), at = (int)get_local_id(0);
    int line = ((int)get_global_id(2) * height + (int)get_global_id(1)) * width;

    row[at + RADIUS] = from[line + min(x, width - 1)];
    if (at < RADIUS) {
        row[at] = from[line + clamp(x - RADIUS, 0, width - 1)];
        row[at + RADIUS + ROW] = from[line + min(x + ROW, width - 1)];
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    float sum = weight[0] * row[at + RADIUS];
    for (int k = 1; k <= RADIUS; k++)
        sum += weight[k] * (row[at + RADIUS - k] + row[at + RADIUS + k]);
    if (x < width)
        to[line + x] = sum;
}

kernel __attribute__((reqd_work_group_size(WIDE, HIGH, 1)))
void blur_columns(global const float *from, global float *to, int width,
                  int height)
{
    local float tile[HIGH + 2 * RADIUS][WIDE];
    int x = (int)get_global_id(0), y = (int)get_global_id(1);
    int across = (int)get_local_id(0), down = (int)get_local_id(1);
    int plane = (int)get_global_id(2) * height * width;

    for (int k = 0; k < HIGH + 2 * RADIUS; k += HIGH)
        tile[down + k][across] =
            from[plane + clamp(y - RADIUS + k, 0, height - 1) * width +
                 min(x, width - 1)];
    barrier(CLK_LOCAL_MEM_FENCE);

    float sum = weight[0] * tile[down + RADIUS][across];
    for (int k = 1; k <= RADIUS; k++)
        sum += weight[k] * (tile[down + RADIUS - k][across] +
                            tile[down + RADIUS + k][across]);
    if (x < width && y < height)
        to[plane + y * width + x] = sum;
}

kernel void halve(global const float *from, int from_width, int from_height,
                  global float *to, int width, int height)
{
    int x = (int)get_global_id(0), y = (int)get_global_id(1);
    int z = (int)get_global_id(2);
    int x0 = min(2 * x, from_width - 1), x1 = min(2 * x + 1, from_width - 1);
    int y0 = min(2 * y, from_height - 1), y1 = min(2 * y + 1, from_height - 1);
    int above = (z * from_height + y0) * from_width;
    int below = (z * from_height + y1) * from_width;

    to[(z * height + y) * width + x] =
        0.25f * (from[above + x0] + from[above + x1] + from[below + x0] +
                 from[below + x1]);
}

kernel void widen(global const float *fine, global const float *coarse,
                  int coarse_width, int coarse_height, global float *to,
                  int width, int height)
{
    int x = (int)get_global_id(0), y = (int)get_global_id(1);
    int z = (int)get_global_id(2);
    float u = ((float)x + 0.5f) * (float)coarse_width / (float)width - 0.5f;
    float v = ((float)y + 0.5f) * (float)coarse_height / (float)height - 0.5f;
    float left = floor(u), top = floor(v);
    int x0 = max((int)left, 0), x1 = min((int)left + 1, coarse_width - 1);
    int y0 = max((int)top, 0), y1 = min((int)top + 1, coarse_height - 1);
    int above = (z * coarse_height + y0) * coarse_width;
    int below = (z * coarse_height + y1) * coarse_width;
    float part = u - left;
    int i = (z * height + y) * width + x;

    to[i] = fine[i] + mix(mix(coarse[above + x0], coarse[above + x1], part),
                          mix(coarse[below + x0], coarse[below + x1], part),
                          v - top);
}
