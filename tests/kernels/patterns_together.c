// What the work-items of a group do together, with local memory and barriers.
#include "tests/kernels/pattern_words.h"

PHASE(give, shared[l] = a;)
PHASE(fetch, shared[l] = from[id];)

// The group walks side by side.
PHASE(fill, for (uint k = (uint)l; k < n1; k += ITEMS)
                shared[k] = from[k + b % 64] + b;)

// Butterflies.
PHASE(get_swapped, uint at = (uint)l ^ n0; r = at < ITEMS ? shared[at] : n1;)
PHASE(get_turned, r = shared[((uint)l ^ n0) % ITEMS];)
PHASE(give_swapped, uint at = (uint)l ^ n0; if (at < ITEMS) shared[at] = a;)
PHASE(get_given, if (((uint)l ^ n0) < ITEMS) r = shared[l];)
PHASE(swap, uint at = (uint)l ^ s; t = at < ITEMS ? shared[at] : 0;)
PHASE(add_kept, shared[l] += t * 3;)
PHASE(
    pairs, uint at = (uint)l | s; if (!((uint)l & s) && at < ITEMS) {
        uint x = shared[l];
        uint y = shared[at];
        shared[l] = x + y;
        shared[at] = x - y;
    })
PHASE(get_own, r = shared[l];)

// Others' elements.
PHASE(get_half, r = shared[l / 2] ^ shared[(uint)l / 2 * 2];)
PHASE(get_multiple, r = shared[((uint)l * n0 + n1) % ITEMS];)
PHASE(get_threes,
      for (uint k = 0; k < n1; k++) r += shared[(n0 * k & 63) % ITEMS];)
PHASE(get_short, r = shared[(uchar)((uint)l * n0) % ITEMS];)
PHASE(get_all, for (uint k = 0; k < ITEMS; k++) r += shared[k] * (k + n0);)
PHASE(get_window, for (uint k = 0; k < n0; k++) r +=
                  shared[((uint)l + k) % ITEMS] * from[k];)

// Trees.
PHASE(tree_rests, if ((uint)l % (2 * s) == 0 && (uint)l + s < ITEMS)
                      shared[l] += shared[l + s];)
PHASE(tree_first, uint i = 2 * s * (uint)l;
      if (i + s < ITEMS) shared[i] += shared[i + s];)
PHASE(tree_below,
      if ((uint)l < s && (uint)l + s < ITEMS) shared[l] += shared[l + s];)
PHASE(tree_half, if ((uint)l < s) shared[l] ^= 3 * shared[l + s];)
PHASE(tree_long, if ((uint)l < s) shared[l] += shared[l + s];)
PHASE(get_first, r = shared[0];)
PHASE(look_back, t = (uint)l >= s ? shared[l - s] : 0;)
PHASE(add_back, shared[l] += t;)

// Guards behind a barrier.
PHASE(guarded, position x = id + (position)n - (position)n0;
      if ((int)x >= 0) to[x] = from[x] + shared[l / 2];)
PHASE(
    guarded_pair, position x = id - (position)n0; r = shared[l / 2];
    if ((int)x >= 0) {
        uint y = from[2 * x];
        to[2 * x] = from[2 * x + 1];
        to[2 * x + 1] = y + r;
    })
PHASE(
    guarded_three, uint x = (uint)id - n0; r = shared[((uint)l ^ 1) % ITEMS];
    if (x < n1) {
        to[3 * x] = r;
        to[3 * x + 1] = from[x];
        to[3 * x + 2] = 1;
    })
PHASE(
    guarded_bytes, position x = id - (position)n0;
    global uchar *c = (global uchar *)to; if ((int)x >= 0) {
        c[2 * x] = (uchar)shared[l];
        c[2 * x + 1] = (uchar)from[x];
    })

// Values of the whole group, and regions with little else to do.
PHASE(leader, BARRIER; t = from[b & 4095]; if (id == 0) to[id] = t + a;)
PHASE(leaders, BARRIER; t = from[b & 4095]; if (id < n0) to[id] = t;)
PHASE(own_leader, BARRIER; t = b * n0; if (l == 0) to[id] = t;)
PHASE(own_leaders, BARRIER; t = from[b % 64 + n0];
      if ((uint)l < b % 7) to[id] = t + a;)
PHASE(late_leader, BARRIER; t = from[n0] + b;
      if (id >= n0) to[id] = from[id] * t;)
PHASE(lone, BARRIER; t = from[b & 4095]; if ((uint)l == n0) to[id] = a;)
PHASE(told, r = t + (uint)l;)
PHASE(told_below, if (id < n1) to[id] += t; r = t;)
PHASE(leader_gives, if (l == 0) shared[0] = b + n0;)
PHASE(get_by_leader, r = shared[0];)

// The first walks alone.
PHASE(
    walk, if (l == 0) for (uint k = 0; k < 100; k++) {
        uint i = n0 * k & 63;
        shared[k] = from[i] + from[i + 1] * n1;
    })
PHASE(
    walk_bytes, if (l == 0) for (uint k = 0; k < 100; k++) {
        uchar i = (uchar)(n0 * k);
        shared[k] = from[i] + from[i + 1] * n1;
    })
PHASE(get_walked, r = shared[(uint)l % 100];)

// What was filled.
PHASE(get_filled, r = shared[a % n1] + shared[((uint)l * n0) % n1];)
PHASE(get_byte, r = shared[(uchar)((uint)l * n0)];)
PHASE(get_filled_threes,
      for (uint k = 0; k < n0; k++) r += shared[((uint)l + 3 * k) & 63];)

// Records of local memory.
PHASE(
    give_four, if ((uint)l < 256) {
        shared[4 * l] = a;
        shared[4 * l + 1] = b;
        shared[4 * l + 3] = from[id];
    })
PHASE(get_four, uint m = ITEMS < 256 ? ITEMS : 256;
      uint at = ((uint)l ^ n0) % m;
      r = shared[4 * at] + shared[4 * at + 1] * shared[4 * at + 3];)

#define TOGETHER(is, before, behind, ...)                   \
    {                                                       \
        .name = #is, .meets = true, .first = GIVEN(before), \
        .last = GIVEN(behind), __VA_ARGS__                  \
    }
#define TURN(one)       .turn[0] = GIVEN(one)
#define TURNS(one, two) TURN(one), .turn[1] = GIVEN(two)

const struct pattern patterns_together[] = {
    TOGETHER(swapped, give, get_swapped, RANGE(1, 31), SECOND(0, 9)),
    TOGETHER(turned, give, get_turned, RANGE(1, 31)),
    TOGETHER(swapped_stores, give_swapped, get_given, RANGE(1, 31)),
    TOGETHER(swaps_up, give, get_own, .loop = PATTERN_UP,
             TURNS(swap, add_kept)),
    TOGETHER(swaps_down, fetch, get_own, .loop = PATTERN_DOWN, RANGE(1, 10),
             TURNS(swap, add_kept)),
    TOGETHER(pairs_up, give, get_own, .loop = PATTERN_UP, TURN(pairs)),
    TOGETHER(pairs_down, give, get_own, .loop = PATTERN_DOWN, RANGE(1, 10),
             TURN(pairs)),
    TOGETHER(half, give, get_half, NO_NUMBERS),
    TOGETHER(multiple, give, get_multiple, RANGE(1, 9), SECOND(0, 100)),
    TOGETHER(threes, fetch, get_threes, RANGE(1, 13), SECOND(1, 100)),
    TOGETHER(shorts, give, get_short, RANGE(1, 40)),
    TOGETHER(all, give, get_all, RANGE(1, 9)),
    TOGETHER(window, fetch, get_window, RANGE(1, 9)),
    TOGETHER(tree_rests, give, get_first, .loop = PATTERN_UP, .is_same = true,
             TURN(tree_rests)),
    TOGETHER(tree_first, give, get_first, .loop = PATTERN_UP, .is_same = true,
             TURN(tree_first)),
    TOGETHER(tree_below, give, get_first, .loop = PATTERN_DOWN, RANGE(1, 10),
             .is_same = true, TURN(tree_below)),
    TOGETHER(tree_half, give, get_first, .loop = PATTERN_HALF, .is_same = true,
             TURN(tree_half)),
    TOGETHER(tree_long, fill, get_first, .loop = PATTERN_DOWN, RANGE(1, 10),
             SECOND(1024, 1024), .is_same = true, TURN(tree_long)),
    TOGETHER(scan, fetch, get_own, .loop = PATTERN_UP,
             TURNS(look_back, add_back)),
    TOGETHER(guarded, give, guarded, RANGE(0, 40)),
    TOGETHER(guarded_pair, fetch, guarded_pair, RANGE(0, 40)),
    TOGETHER(guarded_three, give, guarded_three, RANGE(0, 40), SECOND(0, 1280)),
    TOGETHER(guarded_bytes, give, guarded_bytes, RANGE(0, 40)),
    TOGETHER(leader, leader, told, NO_NUMBERS),
    TOGETHER(leaders, leaders, told, RANGE(0, 100)),
    TOGETHER(own_leader, own_leader, told, RANGE(1, 100000)),
    TOGETHER(own_leaders, own_leaders, told_below, RANGE(0, 9),
             SECOND(0, 1280)),
    TOGETHER(late_leader, late_leader, told, RANGE(0, 1280)),
    TOGETHER(lone, lone, told_below, RANGE(0, 40), SECOND(0, 1280)),
    TOGETHER(leader_gives, leader_gives, get_by_leader, .is_same = true,
             RANGE(0, 9)),
    TOGETHER(filled, fill, get_filled, RANGE(1, 9), SECOND(1, 1024)),
    TOGETHER(filled_bytes, fill, get_byte, RANGE(1, 9), SECOND(256, 1024)),
    TOGETHER(filled_threes, fill, get_filled_threes, RANGE(1, 40),
             SECOND(64, 1024)),
    TOGETHER(walk, walk, get_walked, RANGE(1, 13), SECOND(1, 9)),
    TOGETHER(walk_bytes, walk_bytes, get_walked, RANGE(1, 13), SECOND(1, 9)),
    TOGETHER(fours, give_four, get_four, RANGE(0, 7)),
};
const unsigned patterns_together_count =
    sizeof(patterns_together) / sizeof(patterns_together[0]);
