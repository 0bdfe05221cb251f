#include "bench/build_sources.h"

// So many kernels of one line.
static void write_kernels(FILE *file, int count)
{
    for (int i = 0; i < count; i++)
        fprintf(file,
                "kernel void k%d(global float *a) "
                "{ a[get_global_id(0)] *= %d; }\n",
                i, i + 2);
}

// Words of a private array are moved by an offset, a case for each.
static void write_switch(FILE *file, int count)
{
    fprintf(file, "static uint join(uint a, uint b, int bytes) {\n"
                  "  uint r = 0;\n"
                  "  int n = bytes & 3;\n"
                  "  if (n == 0) r = b;\n"
                  "  else if (n == 1) r = (a >> 24) | (b << 8);\n"
                  "  else if (n == 2) r = (a >> 16) | (b << 16);\n"
                  "  else if (n == 3) r = (a >> 8) | (b << 24);\n"
                  "  return r;\n"
                  "}\n"
                  "static void move(uint *w, uint by) {\n"
                  "  switch (by / 4) {\n");
    for (int by = 0; by < count; by++) {
        fprintf(file, "  case %d:\n", by);
        for (int i = count - 1; i >= 0; i--)
            if (i > by)
                fprintf(file, "    w[%d] = join(w[%d], w[%d], by);\n", i,
                        i - by - 1, i - by);
            else if (i == by)
                fprintf(file, "    w[%d] = join(0, w[0], by);\n", i);
            else
                fprintf(file, "    w[%d] = 0;\n", i);
        fprintf(file, "    break;\n");
    }
    fprintf(file,
            "  }\n"
            "}\n"
            "typedef struct { uint w[%d]; uint size; } row;\n"
            "kernel void moves(global row *to, global const row *from,\n"
            "                  constant row *first, uint mode, ulong max) {\n"
            "  ulong g = get_global_id(0);\n"
            "  if (g >= max) return;\n"
            "  row p = from[g], q = first[0];\n"
            "  uint there = p.size, back = q.size;\n"
            "  if (mode == 1) move(q.w, there);\n"
            "  if (mode == 2) move(p.w, back);\n",
            count);
    for (int i = 0; i < count; i++)
        fprintf(file, "  p.w[%d] |= q.w[%d];\n", i, i);
    fprintf(file, "  p.size = there + back;\n  to[g] = p;\n}\n");
}

// Barriers one after the other, with a line between two.
static void write_regions(FILE *file, int count)
{
    fprintf(file, "kernel void regions(global float *a, local float *t) {\n"
                  "  int l = get_local_id(0);\n"
                  "  float x = a[get_global_id(0)];\n");
    for (int i = 1; i < count; i++)
        fprintf(file,
                "  t[l] = x; barrier(CLK_LOCAL_MEM_FENCE);\n"
                "  x += t[l ^ %d];\n",
                i % 8 + 1);
    fprintf(file, "  a[get_global_id(0)] = x;\n}\n");
}

// Barriers with loops and conditions between them.
static void write_barriers(FILE *file, int count)
{
    fprintf(file, "kernel void barriers(global const float *a,\n"
                  "    global float *b, local float *t, int n) {\n"
                  "  int i = get_global_id(0), l = get_local_id(0);\n"
                  "  float x = a[i], y = a[i + n], z = 0.5f;\n");
    for (int i = 0; i < count; i++)
        fprintf(file,
                "  for (int j = 0; j < n; j++) z = mad(x, y, z + %d);\n"
                "  if (x > %d) z += y;\n"
                "  t[l] = z;\n"
                "  barrier(CLK_LOCAL_MEM_FENCE);\n"
                "  x = x * %d.25f + t[l ^ 1];\n"
                "  b[i + n * %d] = z > y ? x + y : x - z;\n",
                i, i, i, i);
    fprintf(file, "  b[i] = x + y + z;\n}\n");
}

// Each function calls the one before twice.
static void write_nest(FILE *file, int count)
{
    fprintf(file, "static uint f0(uint x, uint y) {\n"
                  "  return x * 2654435761u ^ y >> 3;\n}\n");
    for (int i = 1; i <= count; i++)
        fprintf(file,
                "static uint f%d(uint x, uint y) {\n"
                "  return f%d(x ^ y, y * 3 + %d) + f%d(y, x * 5) * %d;\n}\n",
                i, i - 1, i, i - 1, i + 1);
    fprintf(file,
            "kernel void nest(global uint *to, uint n) {\n"
            "  uint g = get_global_id(0);\n"
            "  to[g] = f%d(g, n);\n}\n",
            count);
}

// Loops of the whole group, two barriers in each, with atomics between them.
static void write_sections(FILE *file, int count)
{
    fprintf(file, "kernel void sections(global uint *a, local uint *t,\n"
                  "                     local uint *sum, uint n) {\n"
                  "  uint g = get_global_id(0), l = get_local_id(0);\n"
                  "  uint m = get_local_size(0), x = a[g];\n");
    for (int i = 0; i < count; i++)
        fprintf(file,
                "  for (uint i = 0; i < (n & %d); i++) {\n"
                "    t[l] = x;\n"
                "    atomic_add(sum, x & %d);\n"
                "    barrier(CLK_LOCAL_MEM_FENCE);\n"
                "    x += t[(l + i + %d) %% m] + *sum;\n"
                "    barrier(CLK_LOCAL_MEM_FENCE);\n"
                "    if (x & 1) x = x * 3 + %d;\n"
                "  }\n",
                i + 1, i | 1, i, i);
    fprintf(file, "  a[g] = x;\n}\n");
}

// Private arrays that live across barriers, indexed by what only the launch
// knows.
static void write_arrays(FILE *file, int count)
{
    fprintf(file,
            "kernel void arrays(global int *a, local int *t, int n) {\n"
            "  int g = get_global_id(0), l = get_local_id(0), x = a[g];\n");
    for (int i = 0; i < count; i++)
        fprintf(file, "  int p%d[8]; p%d[x & 7] = x + %d;\n", i, i, i);
    fprintf(file, "  t[l] = x;\n  barrier(CLK_LOCAL_MEM_FENCE);\n"
                  "  x = t[l ^ 1];\n");
    for (int i = 0; i < count; i++)
        fprintf(file, "  x += p%d[(x + n) & 7];\n", i);
    fprintf(file, "  a[g] = x;\n}\n");
}

const struct build_source build_sources[] = {
    {"one kernel of one line", write_kernels, 1},
    {"17 kernels of one line", write_kernels, 17},
    {"800 kernels of one line", write_kernels, 800},
    {"switch of 24 cases", write_switch, 24},
    {"switch of 64 cases", write_switch, 64},
    {"65 regions", write_regions, 65},
    {"129 regions", write_regions, 129},
    {"32 barriers, 32 loops", write_barriers, 32},
    {"8 levels of calls", write_nest, 8},
    {"20 levels of calls", write_nest, 20},
    {"160 sections with atomics", write_sections, 160},
    {"100 private arrays", write_arrays, 100},
};
const int build_source_count = sizeof(build_sources) / sizeof(build_sources[0]);
