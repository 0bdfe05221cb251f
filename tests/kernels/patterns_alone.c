// What a work-item does without the others, anywhere in a kernel. Each writes
// its own words of `to`.
#include "tests/kernels/pattern_words.h"

// Guards: before them an index may be negative, or wrap.
PHASE(guarded, position x = id + (position)n - (position)n0;
      if ((int)x >= 0) to[x] = from[x] + a;)
PHASE(
    guarded_pair, position x = id - (position)n0; if ((int)x >= 0) {
        uint y = from[2 * x];
        to[2 * x] = from[2 * x + 1];
        to[2 * x + 1] = y + a;
    })
PHASE(
    guarded_inner, position x = id - (position)n0; if ((int)x >= 0) {
        global uint *p = to + x;
        r = *p;
        if (r % 2)
            *p = 2 * r + from[x];
    })
PHASE(
    between, position x = id - (position)n0;
    if ((int)x >= 2 && (int)x < (int)n1) {
        to[3 * x] = a;
        to[3 * x + 2] = from[x];
        r = to[3 * x + 1];
    })
PHASE(below, uint x = (uint)id - n0 + n; if (x < n1) to[x] += from[x] ^ a;)
PHASE(below_short, ushort x = (ushort)(id - (position)n0);
      if (x < n1) to[x] = from[x] - a;)
PHASE(clamped, int x = (int)id - (int)n0; x = x < 0 ? 0 : x;
      r = from[x > (int)n1 ? (int)n1 : x]; to[id] = r + a;)

// Indices that wrap, in loops and outside.
PHASE(threes, uint turns = b % 128;
      for (uint k = 0; k < turns; k++) r += from[n0 * k & n1];)
PHASE(threes_lane, uint turns = a % 128;
      for (uint k = 0; k < turns; k++) r ^= from[n0 * k & n1] + k;)
PHASE(
    threes_byte, uint turns = b % 128; for (uint k = 0; k < turns; k++) {
        uchar i = (uchar)(n0 * k);
        r += from[i] + from[i + n1];
    })
PHASE(threes_rest, uint turns = b % 128;
      for (uint k = 0; k < turns; k++) r += from[(n0 * k + n1) % 64] * k;)
PHASE(threes_back, uint turns = b % 128;
      for (uint k = 0; k < turns; k++) r += from[(n1 - n0 * k) & 63];)
PHASE(
    threes_grown, uint turns = b % 128; uchar i = (uchar)n1;
    for (uint k = 0; k < turns; k++) {
        r += from[i];
        i = (uchar)(i + n0);
    })
PHASE(threes_place, uint turns = b % 64;
      for (uint k = 0; k < turns; k++) r += from[((uint)id + n0 * k) & n1];)
PHASE(threes_own, uint own[64]; for (uint k = 0; k < 64; k++) own[k] = a * k;
      for (uint k = 0; k < n1; k++) r += own[n0 * k & 63];)
PHASE(threes_kept, uint own[64]; for (uint k = 0; k < 64; k++) own[k] = b;
      for (uint k = 0; k < n1; k++) own[n0 * k & 63] = a + k; r = own[b & 63];)
PHASE(byte, uchar i = (uchar)(id * n0 + b); r = from[i] - from[i + 1];)
PHASE(signed_byte, signed char i = (signed char)((int)id * (int)n0 + (int)n1);
      r = from[i + 128];)
PHASE(shorts, ushort i = (ushort)((uint)id * n0 + b);
      r = from[i % 4096] + from[i & 255];)
PHASE(sum_of_bytes, uchar i = (uchar)(id + n0); i = (uchar)(i + (uchar)b);
      r = from[i];)
PHASE(byte_far, uchar i = (uchar)from[id]; i = (uchar)((i & 31) + 200 + n0);
      r = from[i] + from[i & 15];)
PHASE(wrapped, uint first = b * n0; r = from[(first + (uint)id * n1) & 4095];)
PHASE(wrapped_high, uint first = b * n0;
      r = from[(first + (uint)id * n1) >> 20] + from[(uint)id * b >> 20];)
PHASE(wrapped_below, uint x = (uint)id + (0 - n * n0);
      if (x < n1) to[x] = from[x] * a;)
PHASE(wrapped_turns, uint turns = b * n0 >> 26;
      for (uint k = 0; k < turns; k++) r += from[(uint)id + k * n1];)

// Loops that are the same for all, or for the first alone, may become vectors
// themselves.
PHASE(
    walk, uint turns = 64 + b % 64; for (uint k = 0; k < turns; k++) {
        uint i = n0 * k & 63;
        r += from[i] + from[i + 1] + from[i + 2];
    })
PHASE(
    walk_bytes, uint turns = 64 + b % 64; for (uint k = 0; k < turns; k++) {
        uchar i = (uchar)(n0 * k);
        r += (from[i] ^ from[i + 1]) + from[i + 2];
    })
PHASE(
    walk_first, uint turns = 64 + b % 64;
    if (id == 0) for (uint k = 0; k < turns; k++) {
        uint i = n0 * k & 63;
        to[k] = from[i] + from[i + 1] * n1 + from[i + 2];
    })

// Records, of which a part is used.
PHASE(three_words,
      global const struct three *p = (global const struct three *)from + id;
      global struct three *q = (global struct three *)to + id; r = p->x ^ p->z;
      q->x = p->y; if (n0 % 2) q->z = a;)
PHASE(three_back, global struct three *q = (global struct three *)to + id;
      q->y += a; r = q->x + q->y;)
PHASE(four_mixed, global struct four *q = (global struct four *)(to + id % n0) +
                                          id / 2 % 100;
      r = id % 2 ? q->h[1] : q->w[0];)
PHASE(words_apart, to[2 * id + 1] = a; r = to[2 * id] + from[2 * id + n0];)
PHASE(four_words, to[4 * id] = a; to[4 * id + 1] = from[id];
      to[4 * id + 3] = from[id + n0]; r = to[4 * id + 2];)

// Bytes and shorts side by side.
PHASE(three_bytes, global uchar *c = (global uchar *)to + 3 * id;
      c[0] = (uchar)a; c[1] = (uchar)(a >> 8); c[2] = (uchar)(a >> n0);)
PHASE(two_of_three, global uchar *c = (global uchar *)to + 3 * id;
      c[0] = (uchar)a; r = c[1]; c[2] = (uchar)(a >> n0);)
PHASE(three_mixed, global uchar *c = (global uchar *)to + 3 * id;
      global const uchar *f = (global const uchar *)from + 3 * id + n0;
      c[0] = f[2]; c[1] = (uchar)(f[1] + f[0]); c[2] = (uchar)(f[0] / 3);)
PHASE(
    three_guarded, position x = id - (position)n0; if ((int)x >= 0) {
        global uchar *c = (global uchar *)to + 3 * x;
        c[0] = (uchar)a;
        c[1] = (uchar)(a >> 8);
        c[2] = (uchar)(a >> 16);
    })
PHASE(one_byte, global uchar *c = (global uchar *)to + id; r = c[0];
      c[0] = (uchar)(r * n0 + a);)
PHASE(three_shorts, global ushort *c = (global ushort *)to + 3 * id;
      c[0] = (ushort)a; c[2] = (ushort)(a >> n0); c[1] = (ushort)from[id];)

// Sums that are kept in memory.
PHASE(row, uint turns = b % 32; for (uint k = 0; k < turns; k++) to[id] +=
                                from[(uint)id % 64 * turns + k];)
PHASE(row_short, for (uint k = 0; k < n0; k++) to[id] +=
                 from[(uint)id * n0 + k] * (k + a);)
PHASE(column, uint turns = b % 32;
      for (uint k = 0; k < turns; k++) to[id] += from[k * 64 + id % 64];)
PHASE(row_product, uint turns = b % 32;
      for (uint k = 0; k < turns; k++) to[id] +=
      from[(uint)id % 64 * turns + k] * from[k + n0];)
PHASE(row_lane, uint turns = a % 16;
      for (uint k = 0; k < turns; k++) to[2 * id] += from[id * 2 + k];)

// Neighbours, strides and turns.
PHASE(window, uint turns = b % 16;
      for (uint k = 0; k < turns; k++) r += from[id + k] * from[k + n0];)
PHASE(neighbours, r = from[id + n0] - from[id + n0 + 1];
      to[id] = r + from[id + n1];)
PHASE(falling, to[1300 - id] = from[1300 - id + (position)n0] + a;)
PHASE(swapped, r = from[id ^ n0]; to[id ^ n1] = a;)
PHASE(halves, r = from[id / 2] + from[id / 3] * from[(uint)id % (n0 + 1)];
      to[id] += r;)

#define ALONE(is, ...)                               \
    {                                                \
        .name = #is, .first = GIVEN(is), __VA_ARGS__ \
    }

const struct pattern patterns_alone[] = {
    ALONE(guarded, RANGE(0, 40)),
    ALONE(guarded_pair, RANGE(0, 40)),
    ALONE(guarded_inner, RANGE(0, 40)),
    ALONE(between, RANGE(0, 40), SECOND(0, 1280)),
    ALONE(below, RANGE(0, 40), SECOND(0, 1280)),
    ALONE(below_short, RANGE(0, 40), SECOND(0, 1280)),
    ALONE(clamped, RANGE(0, 40), SECOND(0, 1280)),
    ALONE(threes, RANGE(1, 13), SECOND(8, 2048), .is_mask[1] = true),
    ALONE(threes_lane, RANGE(1, 13), SECOND(8, 2048), .is_mask[1] = true),
    ALONE(threes_byte, RANGE(1, 13), SECOND(0, 100)),
    ALONE(threes_rest, RANGE(1, 13), SECOND(0, 100)),
    ALONE(threes_back, RANGE(1, 13), SECOND(0, 100)),
    ALONE(threes_grown, RANGE(1, 13), SECOND(0, 255)),
    ALONE(threes_place, RANGE(1, 13), SECOND(8, 2048), .is_mask[1] = true),
    ALONE(threes_own, RANGE(1, 13), SECOND(1, 100)),
    ALONE(threes_kept, RANGE(1, 13), SECOND(1, 100)),
    ALONE(byte, RANGE(1, 5)),
    ALONE(signed_byte, RANGE(1, 5), SECOND(0, 255)),
    ALONE(shorts, RANGE(1, 300)),
    ALONE(sum_of_bytes, RANGE(0, 255)),
    ALONE(byte_far, RANGE(0, 24)),
    ALONE(wrapped, RANGE(1, 100000), SECOND(1, 4)),
    ALONE(wrapped_high, RANGE(1, 100000), SECOND(1, 1 << 22)),
    ALONE(wrapped_below, RANGE(0, 9), SECOND(0, 1280)),
    ALONE(wrapped_turns, RANGE(1, 100000), SECOND(1, 4)),
    ALONE(walk, RANGE(1, 13)),
    ALONE(walk_bytes, RANGE(1, 13)),
    ALONE(walk_first, RANGE(1, 13), SECOND(1, 9)),
    ALONE(three_words, RANGE(0, 1)),
    ALONE(three_back, NO_NUMBERS),
    ALONE(four_mixed, RANGE(1, 5)),
    ALONE(words_apart, RANGE(0, 100)),
    ALONE(four_words, RANGE(0, 100)),
    ALONE(three_bytes, RANGE(0, 31)),
    ALONE(two_of_three, RANGE(0, 31)),
    ALONE(three_mixed, RANGE(0, 5)),
    ALONE(three_guarded, RANGE(0, 40)),
    ALONE(one_byte, RANGE(1, 9)),
    ALONE(three_shorts, RANGE(0, 31)),
    ALONE(row, NO_NUMBERS),
    ALONE(row_short, RANGE(1, 3)),
    ALONE(column, NO_NUMBERS),
    ALONE(row_product, RANGE(0, 100)),
    ALONE(row_lane, NO_NUMBERS),
    ALONE(window, RANGE(0, 100)),
    ALONE(neighbours, RANGE(0, 100), SECOND(0, 100)),
    ALONE(falling, RANGE(0, 100)),
    ALONE(swapped, RANGE(0, 15), SECOND(0, 15)),
    ALONE(halves, RANGE(1, 100)),
};
const unsigned patterns_alone_count =
    sizeof(patterns_alone) / sizeof(patterns_alone[0]);
