// The kernels of bench/suite.c: as public collections of benchmarks have them
// (Rodinia, PolyBench, SHOC), each written anew for what it computes there.
// No pass of the compiler was written for one of these.

// Dense matrices ----------------------------------------------------------------

kernel void gemm(global const float *a, global const float *b,
                 global const float *c, global float *to, int n)
{
    int j = get_global_id(0), i = get_global_id(1);
    if (i < n && j < n) {
        float sum = c[i * n + j] * 0.5f;
        for (int k = 0; k < n; k++)
            sum += 1.5f * a[i * n + k] * b[k * n + j];
        to[i * n + j] = sum;
    }
}

kernel void gemm_double(global const double *a, global const double *b,
                        global double *to, int n)
{
    int j = get_global_id(0), i = get_global_id(1);
    if (i < n && j < n) {
        double sum = 0;
        for (int k = 0; k < n; k++)
            sum += a[i * n + k] * b[k * n + j];
        to[i * n + j] = sum;
    }
}

// The second of two products: with a matrix whose rows are columns.
kernel void mm2(global const float *a, global const float *b,
                global float *to, int n)
{
    int j = get_global_id(0), i = get_global_id(1);
    if (i >= n || j >= n)
        return;
    to[i * n + j] = 0;
    for (int k = 0; k < n; k++)
        to[i * n + j] += a[i * n + k] * b[j * n + k];
}

kernel void atax(global const float *a, global const float *x, global float *y,
                 int n)
{
    int j = get_global_id(0);
    if (j < n) {
        y[j] = 0;
        for (int i = 0; i < n; i++)
            y[j] += a[i * n + j] * x[i];
    }
}

// A row per work-item; rows are a power of two apart.
kernel void mvt(global const float *a, global const float *x, global float *y,
                int n)
{
    int i = get_global_id(0);
    if (i < n) {
        y[i] = 0;
        for (int j = 0; j < n; j++)
            y[i] += a[i * n + j] * x[j];
    }
}

kernel void gesummv(global const float *a, global const float *b,
                    global const float *x, global float *y, int n)
{
    int i = get_global_id(0);
    if (i < n) {
        float s = 0, t = 0;
        for (int j = 0; j < n; j++) {
            s += a[i * n + j] * x[j];
            t += b[i * n + j] * x[j];
        }
        y[i] = 1.5f * s + 0.5f * t;
    }
}

kernel void syrk(global const float *a, global float *to, int n)
{
    int j = get_global_id(0), i = get_global_id(1);
    if (i < n && j < n) {
        float sum = 0;
        for (int k = 0; k < n; k++)
            sum += a[i * n + k] * a[j * n + k];
        to[i * n + j] = sum;
    }
}

// A line of a triangle per work-item.
kernel void correlation(global const float *data, global float *to, int n)
{
    int j = get_global_id(0);
    if (j < n - 1) {
        to[j * n + j] = 1;
        for (int k = j + 1; k < n; k++) {
            float sum = 0;
            for (int i = 0; i < 64; i++)
                sum += data[i * n + j] * data[i * n + k];
            to[j * n + k] = sum;
            to[k * n + j] = sum;
        }
    }
}

// Columns behind column h lose what they have of it.
kernel void gram_schmidt(global const float *a, global const float *q,
                         global float *to, int n, int h)
{
    int j = get_global_id(0);
    if (j > h && j < n) {
        float r = 0;
        for (int i = 0; i < n; i++)
            r += q[i * n + h] * a[i * n + j];
        for (int i = 0; i < n; i++)
            to[i * n + j] = a[i * n + j] - 0.001f * q[i * n + h] * r;
    }
}

// What is below and right of row h of a matrix loses a multiple of it.
kernel void gaussian(global const float *m, global const float *a,
                     global float *to, int n, int h)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= n - 1 - h || y >= n - h)
        return;
    to[n * (x + 1 + h) + (y + h)] =
        a[n * (x + 1 + h) + (y + h)] - m[n * (x + 1 + h) + h] * a[n * h + (y + h)];
}

// The inner blocks of a factorisation: each minus the product of two.
kernel __attribute__((reqd_work_group_size(16, 16, 1)))
void lu(global const float *a, global float *to, int n, int h)
{
    local float row[16][16], column[16][16];
    int x = get_local_id(0), y = get_local_id(1);
    int i = h + (get_group_id(1) + 1) * 16, j = h + (get_group_id(0) + 1) * 16;
    row[y][x] = a[(h + y) * n + j + x];
    column[y][x] = a[(i + y) * n + h + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    float sum = 0;
    for (int k = 0; k < 16; k++)
        sum += column[y][k] * row[k][x];
    to[(i + y) * n + j + x] = a[(i + y) * n + j + x] - sum;
}

// Grids ---------------------------------------------------------------------------

kernel void fdtd(global const float *e, global const float *magnetic,
                 global float *to, int width, int height)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (y < height && x < width && x > 0)
        to[y * width + x] = e[y * width + x] - 0.5f *
            (magnetic[y * width + x] - magnetic[y * width + x - 1]);
}

kernel void jacobi(global const double *from, global double *to, int n)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (y >= 1 && y < n - 1 && x >= 1 && x < n - 1)
        to[y * n + x] = 0.2 * (from[y * n + x] + from[y * n + x - 1] +
                               from[y * n + x + 1] + from[(y + 1) * n + x] +
                               from[(y - 1) * n + x]);
}

kernel void conv_2d(global const float *from, global float *to, int width,
                    int height)
{
    int x = get_global_id(0), y = get_global_id(1);
    float c11 = 0.2f, c12 = -0.3f, c13 = 0.4f, c21 = 0.5f, c22 = 0.6f;
    float c23 = 0.7f, c31 = -0.8f, c32 = -0.9f, c33 = 0.1f;
    if (y < height - 1 && x < width - 1 && y > 0 && x > 0)
        to[y * width + x] =
            c11 * from[(y - 1) * width + x - 1] + c12 * from[y * width + x - 1] +
            c13 * from[(y + 1) * width + x - 1] + c21 * from[(y - 1) * width + x] +
            c22 * from[y * width + x] + c23 * from[(y + 1) * width + x] +
            c31 * from[(y - 1) * width + x + 1] + c32 * from[y * width + x + 1] +
            c33 * from[(y + 1) * width + x + 1];
}

// A plane of work-items walks through a cube.
kernel void conv_3d(global const float *from, global float *to, int n)
{
    int k = get_global_id(0), j = get_global_id(1);
    if (j < 1 || k < 1 || j >= n - 1 || k >= n - 1)
        return;
    for (int i = 1; i < n - 1; i++)
        to[(i * n + j) * n + k] =
            2 * from[((i - 1) * n + j - 1) * n + k - 1] +
            4 * from[((i + 1) * n + j - 1) * n + k - 1] -
            3 * from[(i * n + j) * n + k] + 5 * from[(i * n + j + 1) * n + k + 1] -
            6 * from[((i - 1) * n + j + 1) * n + k] + 7 * from[(i * n + j - 1) * n + k + 1];
}

kernel void hotspot(global const float *power, global const float *heat,
                    global float *to, int width, int height)
{
    local float tile[16][16];
    int tx = get_local_id(0), ty = get_local_id(1);
    // Groups overlap by the border of their tiles.
    int x = (int)get_group_id(0) * 14 + tx - 1, y = (int)get_group_id(1) * 14 + ty - 1;
    bool inside = x >= 0 && x < width && y >= 0 && y < height;
    if (inside)
        tile[ty][tx] = heat[y * width + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    int up = y == 0 ? ty : ty - 1, down = y == height - 1 ? ty : ty + 1;
    int left = x == 0 ? tx : tx - 1, right = x == width - 1 ? tx : tx + 1;
    if (inside && tx >= 1 && tx <= 14 && ty >= 1 && ty <= 14)
        to[y * width + x] =
            tile[ty][tx] +
            0.1f * (power[y * width + x] +
                    (tile[down][tx] + tile[up][tx] - 2 * tile[ty][tx]) * 0.2f +
                    (tile[ty][right] + tile[ty][left] - 2 * tile[ty][tx]) * 0.3f +
                    (80.0f - tile[ty][tx]) * 0.01f);
}

// Speckles go, edges stay; neighbours' rows and columns come from a table.
kernel void srad(global const float *image, global const int *north,
                 global const int *west, global float *to, int rows, int columns)
{
    int at = get_global_id(0), row = at % rows, column = at / rows;
    if (at >= rows * columns)
        return;
    float here = image[at];
    float n = image[north[row] + rows * column] - here;
    float s = image[(row < rows - 1 ? row + 1 : row) + rows * column] - here;
    float w = image[row + rows * west[column]] - here;
    float e = image[row + rows * (column < columns - 1 ? column + 1 : column)] - here;
    float g = (n * n + s * s + w * w + e * e) / (here * here);
    float l = (n + s + w + e) / here;
    float up = 0.5f * g - 1.0f / 16 * l * l, down = 1 + 0.25f * l;
    float q = up / (down * down);
    float c = 1.0f / (1.0f + (q - 0.1f) / (0.1f * 1.1f));
    if (c < 0)
        c = 0;
    else if (c > 1)
        c = 1;
    to[at] = c;
}

// Bodies, meshes, graphs ---------------------------------------------------------------

// Particles of a box against those of its neighbours in a row of boxes.
kernel void lava(global const float4 *place, global const float *charge,
                 global float4 *force, int boxes)
{
    local float4 there[128];
    local float theirs[128];
    int box = get_group_id(0), l = get_local_id(0);
    float4 me = place[box * 128 + l];
    float4 sum = (float4)(0);
    for (int k = -1; k <= 1; k++) {
        int other = box + k;
        if (other < 0 || other >= boxes)
            continue;
        there[l] = place[other * 128 + l];
        theirs[l] = charge[other * 128 + l];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int j = 0; j < 128; j++) {
            float r2 = me.w + there[j].w -
                       (me.x * there[j].x + me.y * there[j].y + me.z * there[j].z);
            float u = 0.5f * r2, v = 0.001f * exp(-u), f = 2 * v;
            sum.w += theirs[j] * v;
            sum.x += theirs[j] * f * (me.x - there[j].x);
            sum.y += theirs[j] * f * (me.y - there[j].y);
            sum.z += theirs[j] * f * (me.z - there[j].z);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    force[box * 128 + l] = sum;
}

// Lennard-Jones forces of 32 neighbours each, whose numbers lie in columns.
kernel void md(global const float4 *place, global const int *neighbours,
               global float4 *force, int n)
{
    int i = get_global_id(0);
    float4 me = place[i], f = (float4)(0);
    for (int j = 0; j < 32; j++) {
        float4 other = place[neighbours[j * n + i]];
        float dx = me.x - other.x, dy = me.y - other.y, dz = me.z - other.z;
        float r2 = dx * dx + dy * dy + dz * dz;
        if (r2 < 0.3f) {
            float inverse = 1.0f / (r2 + 0.5f), r6 = inverse * inverse * inverse;
            float g = (0.3f - r2) * inverse * r6 * (1.5f * r6 - 2.0f);
            f.x += dx * g;
            f.y += dy * g;
            f.z += dz * g;
        }
    }
    force[i] = f;
}

// Fluxes through the four sides of a cell; five variables, one behind another.
kernel void cfd(global const int *sides, global const float *variables,
                global const float *normals, global float *fluxes, int n)
{
    int i = get_global_id(0);
    if (i >= n)
        return;
    float density = variables[i], energy = variables[i + 4 * n];
    float3 momentum = (float3)(variables[i + n], variables[i + 2 * n], variables[i + 3 * n]);
    float3 speed = momentum / density;
    float square = dot(speed, speed);
    float pressure = 0.4f * (energy - 0.5f * density * square) + 2.0f;
    float sound = sqrt(1.4f * pressure / density);
    float flux = 0, flux_energy = 0;
    float3 flux_momentum = (float3)(0);
    for (int k = 0; k < 4; k++) {
        int other = sides[i + k * n];
        float3 normal = (float3)(normals[i + 3 * k * n], normals[i + (3 * k + 1) * n],
                                 normals[i + (3 * k + 2) * n]);
        float length = sqrt(dot(normal, normal));
        if (other >= 0) {
            float d = variables[other], e = variables[other + 4 * n];
            float3 m = (float3)(variables[other + n], variables[other + 2 * n],
                                variables[other + 3 * n]);
            float3 v = m / d;
            float vv = dot(v, v), p = 0.4f * (e - 0.5f * d * vv) + 2.0f;
            float factor = -length * 0.1f * (sqrt(square) + sqrt(vv) + sound + sqrt(1.4f * p / d));
            flux += factor * (density - d) + 0.5f * dot(normal, m + momentum);
            flux_energy += factor * (energy - e) + 0.5f * dot(normal, v * (e + p) + speed * (energy + pressure));
            flux_momentum += factor * (momentum - m) + 0.5f * normal * (p + pressure);
        } else if (other == -1) {
            flux_momentum += normal * pressure;
        } else {
            flux += 0.5f * normal.x * (1.0f + momentum.x);
            flux_energy += 0.5f * normal.y * pressure;
        }
    }
    fluxes[i] = flux;
    fluxes[i + n] = flux_momentum.x;
    fluxes[i + 2 * n] = flux_momentum.y;
    fluxes[i + 3 * n] = flux_momentum.z;
    fluxes[i + 4 * n] = flux_energy;
}

// One step of a breadth-first search: nodes of the frontier mark those they see.
kernel void bfs(global const int *begin, global const int *to_node,
                global const uint *random, global int *next, int n)
{
    int i = get_global_id(0);
    if (i < n && (random[i] >> 10 & 7) == 0)
        for (int k = begin[i]; k < begin[i + 1]; k++) {
            int node = to_node[k];
            if ((random[node] >> 13 & 1) == 0)
                next[node] = 1;
        }
}

kernel void kmeans(global const float *features, global const float *centres,
                   global int *which, int n, int clusters, int count)
{
    int i = get_global_id(0);
    int index = 0;
    float least = FLT_MAX;
    if (i >= n)
        return;
    for (int c = 0; c < clusters; c++) {
        float distance = 0;
        for (int f = 0; f < count; f++)
            distance += (features[f * n + i] - centres[c * count + f]) *
                        (features[f * n + i] - centres[c * count + f]);
        if (distance < least) {
            least = distance;
            index = c;
        }
    }
    which[i] = index;
}

kernel void distance_to(global const float2 *places, global float *distances, int n)
{
    int i = get_group_id(0) * get_local_size(0) + get_local_id(0);
    if (i < n) {
        global const float2 *p = places + i;
        distances[i] = sqrt((1.25f - p->x) * (1.25f - p->x) + (1.75f - p->y) * (1.75f - p->y));
    }
}

// The first weight that is not less; the particle filter's search.
kernel void search(global const double *weights, global const double *u,
                   global int *index, int n)
{
    int i = get_global_id(0), found = -1;
    for (int x = 0; x < n; x++)
        if (weights[x] >= u[i]) {
            found = x;
            break;
        }
    index[i] = found == -1 ? n - 1 : found;
}

// Sums of sixteen inputs times weights, over a group: a layer of neurons.
kernel void back_propagation(global const float *input, global const float *weights,
                             global float *sums, int n)
{
    local float nodes[16], product[16][16];
    int x = get_local_id(0), y = get_local_id(1), by = get_group_id(1);
    int at = (by * 16 + y) * n + get_group_id(0) * 16 + x;
    if (x == 0)
        nodes[y] = input[by * 16 + y];
    barrier(CLK_LOCAL_MEM_FENCE);
    product[y][x] = weights[at];
    barrier(CLK_LOCAL_MEM_FENCE);
    product[y][x] = product[y][x] * nodes[y];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 1; i <= 4; i++) {
        int step = 1 << i;
        if (y % step == 0)
            product[y][x] = product[y][x] + product[y + step / 2][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (y == 0)
        sums[by * n + get_group_id(0) * 16 + x] = product[0][x];
}

// Sequences ----------------------------------------------------------------------------

// Tiles of a table of alignments, whose borders are given: diagonal by diagonal.
kernel __attribute__((reqd_work_group_size(16, 1, 1)))
void needleman(global const int *likeness, global const int *borders,
               global int *table, int n)
{
    local int t[17][17], s[16][16];
    int l = get_local_id(0), tile = get_group_id(0);
    likeness += tile * 256;
    for (int y = 0; y < 16; y++)
        s[y][l] = likeness[y * 16 + l] % 10;
    if (l == 0)
        t[0][0] = borders[tile * 33] % 50;
    t[l + 1][0] = borders[tile * 33 + 1 + l] % 50;
    t[0][l + 1] = borders[tile * 33 + 17 + l] % 50;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int m = 0; m < 16; m++) {
        if (l <= m) {
            int x = l + 1, y = m - l + 1;
            t[y][x] = max(t[y - 1][x - 1] + s[y - 1][x - 1],
                          max(t[y][x - 1] - n, t[y - 1][x] - n));
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int m = 14; m >= 0; m--) {
        if (l <= m) {
            int x = l + 16 - m, y = 16 - l;
            t[y][x] = max(t[y - 1][x - 1] + s[y - 1][x - 1],
                          max(t[y][x - 1] - n, t[y - 1][x] - n));
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int y = 0; y < 16; y++)
        table[tile * 256 + y * 16 + l] = t[y + 1][l + 1];
}

// The cheapest way through rows of a wall, a piece of it per group.
kernel void path(global const int *wall, global int *to, int width, int height,
                 local int *best, local int *next)
{
    int l = get_local_id(0), size = get_local_size(0);
    int x = get_global_id(0);
    best[l] = wall[x] & 15;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int y = 1; y < height; y++) {
        int left = l > 0 ? best[l - 1] : 1000, right = l < size - 1 ? best[l + 1] : 1000;
        next[l] = min(best[l], min(left, right)) + (wall[y * width + x] & 15);
        barrier(CLK_LOCAL_MEM_FENCE);
        best[l] = next[l];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    to[x] = best[l];
}

// How often each digit of four bits comes in a group's share.
kernel void radix_count(global const uint *keys, global uint *counts, int n,
                        int shift, local uint *part)
{
    int l = get_local_id(0), size = get_local_size(0);
    int share = n / get_num_groups(0), from = get_group_id(0) * share;
    int digits[16];
    for (int d = 0; d < 16; d++)
        digits[d] = 0;
    for (int i = from + l; i < from + share; i += size)
        digits[(keys[i] >> shift) & 15]++;
    for (int d = 0; d < 16; d++) {
        part[l] = digits[d];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (unsigned s = size / 2; s > 0; s >>= 1) {
            if (l < s)
                part[l] += part[l + s];
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (l == 0)
            counts[d * get_num_groups(0) + get_group_id(0)] = part[0];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

float4 sorted(float4 v)
{
    float4 a = (float4)(fmin(v.x, v.y), fmax(v.x, v.y), fmin(v.z, v.w), fmax(v.z, v.w));
    float4 b = (float4)(fmin(a.x, a.z), fmin(a.y, a.w), fmax(a.x, a.z), fmax(a.y, a.w));
    return (float4)(b.x, fmin(b.y, b.z), fmax(b.y, b.z), b.w);
}

kernel void sort_four(global const float4 *from, global float4 *to, int n)
{
    int i = get_global_id(0);
    if (i < n / 4)
        to[i] = sorted(from[i]);
}

// Two sorted runs of two vectors to one of four.
kernel void merge_runs(global const float4 *from, global float4 *to, int n)
{
    int i = get_global_id(0);
    if (i * 4 >= n / 4)
        return;
    global const float4 *a = from + 4 * i, *b = a + 2;
    global float4 *out = to + 4 * i;
    int at_a = 0, at_b = 0, put = 0;
    float4 x = sorted(a[0]), y = sorted(b[0]);
    while (true) {
        // The four least of eight go out, in order.
        float4 low = fmin(x, y.wzyx), high = fmax(x, y.wzyx);
        out[put++] = sorted(low);
        x = sorted(high);
        float next_a = at_a + 1 < 2 ? a[at_a + 1].x : INFINITY;
        float next_b = at_b + 1 < 2 ? b[at_b + 1].x : INFINITY;
        if (next_a == INFINITY && next_b == INFINITY)
            break;
        if (next_a < next_b)
            y = sorted(a[++at_a]);
        else
            y = sorted(b[++at_b]);
    }
    out[put] = x;
}

#define STEP(f, a, b, c, d, x, s, t) \
    a += f + x + t;                  \
    a = rotate(a, s##u) + b;
#define F(x, y, z) (((x) & (y)) | (~(x) & (z)))
#define G(x, y, z) (((x) & (z)) | ((y) & ~(z)))
#define H(x, y, z) ((x) ^ (y) ^ (z))
#define I(x, y, z) ((y) ^ ((x) | ~(z)))

// The digest of each word of four bytes and its number.
kernel void md5(global const uint *words, global uint4 *digests)
{
    uint i = get_global_id(0);
    uint w[16] = {words[i], i, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 64, 0};
    uint a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476;
    for (int k = 0; k < 16; k += 4) {
        STEP(F(b, c, d), a, b, c, d, w[k], 7, 0xd76aa478 + k)
        STEP(F(a, b, c), d, a, b, c, w[k + 1], 12, 0xe8c7b756 + k)
        STEP(F(d, a, b), c, d, a, b, w[k + 2], 17, 0x242070db + k)
        STEP(F(c, d, a), b, c, d, a, w[k + 3], 22, 0xc1bdceee + k)
    }
    for (int k = 0; k < 16; k += 4) {
        STEP(G(b, c, d), a, b, c, d, w[(5 * k + 1) & 15], 5, 0xf61e2562 + k)
        STEP(G(a, b, c), d, a, b, c, w[(5 * k + 6) & 15], 9, 0xc040b340 + k)
        STEP(G(d, a, b), c, d, a, b, w[(5 * k + 11) & 15], 14, 0x265e5a51 + k)
        STEP(G(c, d, a), b, c, d, a, w[(5 * k + 16) & 15], 20, 0xe9b6c7aa + k)
    }
    for (int k = 0; k < 16; k += 4) {
        STEP(H(b, c, d), a, b, c, d, w[(3 * k + 5) & 15], 4, 0xfffa3942 + k)
        STEP(H(a, b, c), d, a, b, c, w[(3 * k + 8) & 15], 11, 0x8771f681 + k)
        STEP(H(d, a, b), c, d, a, b, w[(3 * k + 11) & 15], 16, 0x6d9d6122 + k)
        STEP(H(c, d, a), b, c, d, a, w[(3 * k + 14) & 15], 23, 0xfde5380c + k)
    }
    for (int k = 0; k < 16; k += 4) {
        STEP(I(b, c, d), a, b, c, d, w[(7 * k) & 15], 6, 0xf4292244 + k)
        STEP(I(a, b, c), d, a, b, c, w[(7 * k + 7) & 15], 10, 0x432aff97 + k)
        STEP(I(d, a, b), c, d, a, b, w[(7 * k + 14) & 15], 15, 0xab9423a7 + k)
        STEP(I(c, d, a), b, c, d, a, w[(7 * k + 21) & 15], 21, 0xfc93a039 + k)
    }
    digests[i] = (uint4)(a + 0x67452301, b + 0xefcdab89, c + 0x98badcfe, d + 0x10325476);
}

kernel void row_sums(global const float *from, global float *sums, int n)
{
    int row = get_global_id(0);
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += from[row * n + k];
    sums[row] = sum;
}

// Signals and pictures -------------------------------------------------------------------

float2 times(float2 a, float2 b)
{
    return (float2)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

float2 turned(float2 a, int k, int n)
{
    float angle = -2 * M_PI_F * k / n;
    return times(a, (float2)(native_cos(angle), native_sin(angle)));
}

void transform8(float2 *v)
{
    for (int k = 0; k < 4; k++) {
        float2 a = v[k], b = v[k + 4];
        v[k] = a + b;
        v[k + 4] = a - b;
    }
    float h = 0.70710678f;
    v[5] = times(v[5], (float2)(h, -h));
    v[6] = (float2)(v[6].y, -v[6].x);
    v[7] = times(v[7], (float2)(-h, -h));
    for (int k = 0; k < 8; k += 4) {
        float2 a = v[k] + v[k + 2], b = v[k] - v[k + 2];
        float2 c = v[k + 1] + v[k + 3], d = v[k + 1] - v[k + 3];
        d = (float2)(d.y, -d.x);
        v[k] = a + c;
        v[k + 1] = a - c;
        v[k + 2] = b + d;
        v[k + 3] = b - d;
    }
}

// 512 points per group of 64, eight per work-item; places in an int.
kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void fft(global const float2 *from, global float2 *to)
{
    local float part[64 * 9];
    int l = get_local_id(0), at = get_group_id(0) * 512 + l;
    int high = l >> 3, low = l & 7;
    const int order[8] = {0, 4, 2, 6, 1, 5, 3, 7};
    float2 v[8];
    from += at;
    to += at;
    for (int k = 0; k < 8; k++)
        v[k] = from[k * 64];
    transform8(v);
    for (int k = 1; k < 8; k++)
        v[k] = turned(v[k], order[k] * l, 512);
    // Element (order k, l) goes where (l % 8, ...) reads it: x first, then y.
    for (int k = 0; k < 8; k++)
        part[order[k] * 66 + l] = v[k].x;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 8; k++)
        v[k].x = part[high * 66 + low + 8 * k];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 8; k++)
        part[order[k] * 66 + l] = v[k].y;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 8; k++)
        v[k].y = part[high * 66 + low + 8 * k];
    barrier(CLK_LOCAL_MEM_FENCE);
    transform8(v);
    for (int k = 1; k < 8; k++)
        v[k] = turned(v[k], order[k] * low, 64);
    for (int k = 0; k < 8; k++)
        part[high * 72 + order[k] * 9 + low] = v[k].x;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 8; k++)
        v[k].x = part[high * 72 + low * 9 + k];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 8; k++)
        part[high * 72 + order[k] * 9 + low] = v[k].y;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 8; k++)
        v[k].y = part[high * 72 + low * 9 + k];
    transform8(v);
    for (int k = 0; k < 8; k++)
        to[order[k] * 64 + low * 8 + high - l] = v[k];
}

// 256 points per group of 128 in double, by steps of radix 2.
kernel void fft_double(global const double2 *from, global const double2 *roots,
                       global double2 *to, local double2 *part)
{
    int l = get_local_id(0), size = get_local_size(0), base = get_group_id(0) * 2 * size;
    double2 a = from[base + l], b = from[base + l + size];
    for (int n = 1; n <= size; n *= 2) {
        int k = l & (n - 1), at = 2 * (l - k) + k;
        double2 w = roots[k * (size / n)];
        b = (double2)(b.x * w.x - b.y * w.y, b.x * w.y + b.y * w.x);
        part[at] = a + b;
        part[at + n] = a - b;
        barrier(CLK_LOCAL_MEM_FENCE);
        a = part[l];
        b = part[l + size];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    to[base + l] = a;
    to[base + l + size] = b;
}

// Haar's wavelet of 512 values per group of 256, all levels.
kernel void wavelet(global const float *from, global float *to, local float *part)
{
    int l = get_local_id(0), size = get_local_size(0), base = get_group_id(0) * 2 * size;
    float a = from[base + 2 * l], b = from[base + 2 * l + 1], h = 0.70710678f;
    part[l] = (a + b) * h;
    to[base + size + l] = (a - b) * h;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int n = size / 2; n > 0; n >>= 1) {
        if (l < n) {
            a = part[2 * l];
            b = part[2 * l + 1];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < n) {
            part[l] = (a + b) * h;
            to[base + n + l] = (a - b) * h;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0)
        to[base] = part[0];
}

kernel void erosion(global const uchar *from, global uchar *to, int width, int height)
{
    local uchar tile[20 * 20];
    int x = get_global_id(0), y = get_global_id(1);
    for (int i = get_local_id(1) * 16 + get_local_id(0); i < 400; i += 256) {
        int tx = (int)get_group_id(0) * 16 + i % 20 - 2, ty = (int)get_group_id(1) * 16 + i / 20 - 2;
        tile[i] = tx >= 0 && ty >= 0 && tx < width && ty < height ? from[ty * width + tx] : 255;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uchar least = 255;
    for (int dy = 0; dy < 5; dy++)
        for (int dx = 0; dx < 5; dx++)
            least = min(least, tile[(get_local_id(1) + dy) * 20 + get_local_id(0) + dx]);
    to[y * width + x] = least;
}

// A picture of three bytes per point to half its size.
kernel void resize(global const uchar *from, global uchar *to, int width, int height)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= width / 2 || y >= height / 2)
        return;
    for (int c = 0; c < 3; c++) {
        int a = from[(2 * y * width + 2 * x) * 3 + c], b = from[(2 * y * width + 2 * x + 1) * 3 + c];
        int d = from[((2 * y + 1) * width + 2 * x) * 3 + c];
        int e = from[((2 * y + 1) * width + 2 * x + 1) * 3 + c];
        to[(y * (width / 2) + x) * 3 + c] = (a + b + d + e + 2) / 4;
    }
}

// Bright points only; whether one is depends on it.
kernel void threshold(global const float4 *from, global float4 *to)
{
    int i = get_global_id(0);
    float4 v = from[i];
    if (v.x < 1.5f)
        to[i] = 2 * v;
}
