// The loops over maps of every set of lanes: searching and taking runs. Part of
// body.h.
#include <stdbool.h>
#include <string.h>

#include "dispatch/maps/lanes.h"

#if defined(__AVX2__) || defined(__AVX512BW__)
#include <immintrin.h>
#endif

// Vectors as wide as a register: compilers spread wider ones over memory.
enum {
#if defined(__AVX512BW__)
    REGISTER = 64, // [bytes]
#elif defined(__AVX2__)
    REGISTER = 32,
#else
    REGISTER = 16,
#endif
    WORDS = REGISTER / 8,
    HALVES = REGISTER / 2,
    FEW_LANES = 2 // no more are searched one by one
};

typedef uint64_t words_v __attribute__((vector_size(REGISTER), aligned(8)));
typedef uint16_t halves_v __attribute__((vector_size(REGISTER), aligned(2)));

static inline unsigned largest(unsigned a, unsigned b)
{
    return a > b ? a : b;
}

// `ends`: where a run of `length` has just ended; try to make it 2^j longer in
// every lane at once.
#define EXTEND(j)                                               \
    do {                                                        \
        words_v more_ = ends & eroded[j];                       \
        words_v yes_ = (words_v)(more_ != 0);                   \
        ends = (ends & ~yes_) | ((more_ << (1 << (j))) & yes_); \
        length += yes_ & (UINT64_C(1) << (j));                  \
    } while (0)

#ifndef __AVX512CD__
// The longest runs inside each of WORDS words.
static inline void runs_inside(const uint64_t *words, uint64_t *inside)
{
    words_v eroded[6], ends = ~(words_v){0}, length = {0};

    memcpy(&eroded[0], words, sizeof(eroded[0]));
    for (int j = 1; j < 6; j++)
        eroded[j] = eroded[j - 1] & eroded[j - 1] >> (1 << (j - 1));
    EXTEND(5);
    EXTEND(4);
    EXTEND(3);
    EXTEND(2);
    EXTEND(1);
    EXTEND(0);
    // 32 + 16 + ... + 1 is 63: a full word has one more.
    length -= (words_v)((ends & eroded[0]) != 0);
    memcpy(inside, &length, sizeof(length));
}
#endif

static inline unsigned ones_below(uint64_t word)
{
    return ~word == 0 ? 64 : (unsigned)__builtin_ctzll(~word);
}

static inline unsigned ones_above(uint64_t word)
{
    return ~word == 0 ? 64 : (unsigned)__builtin_clzll(~word);
}

#ifdef __AVX512VL__
// Both words of a map side by side, a mask register for the choice. A word is
// searched for up to 63: a full one counts where it borders on the other.
static inline unsigned run_of_two(uint64_t low, uint64_t high)
{
    __m128i a0 = _mm_set_epi64x((long long)high, (long long)low), eroded[6];
    __m128i ends = _mm_set1_epi64x(-1), length = _mm_setzero_si128();

    eroded[0] = a0;
#define ERODE(j)      \
    eroded[(j) + 1] = \
        _mm_and_si128(eroded[j], _mm_srli_epi64(eroded[j], 1 << (j)))
    ERODE(0);
    ERODE(1);
    ERODE(2);
    ERODE(3);
    ERODE(4);
#undef ERODE
#define LONGER(j)                                                \
    do {                                                         \
        __mmask8 yes_ = _mm_test_epi64_mask(ends, eroded[j]);    \
        __m128i more_ = _mm_and_si128(ends, eroded[j]);          \
        ends = _mm_mask_slli_epi64(ends, yes_, more_, 1 << (j)); \
        length = _mm_mask_add_epi64(length, yes_, length,        \
                                    _mm_set1_epi64x(1 << (j)));  \
    } while (0)
    LONGER(5);
    LONGER(4);
    LONGER(3);
    LONGER(2);
    LONGER(1);
    LONGER(0);
#undef LONGER
    length = _mm_max_epu32(length, _mm_unpackhi_epi64(length, length));
    return largest((unsigned)_mm_cvtsi128_si32(length),
                   ones_above(low) + ones_below(high));
}
#else
static inline unsigned run_of_one(uint64_t word)
{
    uint64_t eroded[6], ends = ~UINT64_C(0);
    unsigned length = 0;

    eroded[0] = word;
    for (int j = 1; j < 6; j++)
        eroded[j] = eroded[j - 1] & eroded[j - 1] >> (1 << (j - 1));
#pragma GCC unroll 6
    for (int j = 5; j >= 0; j--) {
        uint64_t more = ends & eroded[j];
        bool yes = more != 0;
        ends = yes ? more << (1 << j) : ends;
        length += (unsigned)yes << j;
    }
    return length + ((ends & eroded[0]) != 0);
}

static inline unsigned run_of_two(uint64_t low, uint64_t high)
{
    return largest(largest(run_of_one(low), run_of_one(high)),
                   ones_above(low) + ones_below(high));
}
#endif

#ifdef __AVX512CD__
static inline __m512i ones_below8(__m512i words)
{
    __m512i next = _mm512_add_epi64(words, _mm512_set1_epi64(1));
    __m512i ones = _mm512_andnot_si512(next, words);

    return _mm512_sub_epi64(_mm512_set1_epi64(64), _mm512_lzcnt_epi64(ones));
}

static inline __m512i ones_above8(__m512i words)
{
    return _mm512_lzcnt_epi64(_mm512_xor_si512(words, _mm512_set1_epi64(-1)));
}

// Runs inside words are found for eight words at a time; runs over borders by
// the free blocks on both sides, carried in `open` through full words.
static inline unsigned run_of_many(const uint64_t *map, unsigned words)
{
    unsigned longest = 0, open = 0; // `open`: the run that reaches this border
    __m512i most = _mm512_setzero_si512();

    for (unsigned first = 0; first < words; first += 8) {
        unsigned count = words - first < 8 ? words - first : 8;
        __mmask8 there = (__mmask8)((1u << count) - 1);
        __m512i eroded[6] = {_mm512_maskz_loadu_epi64(there, map + first)};
        uint64_t below[8], above[8];

        _mm512_storeu_si512(below, ones_below8(eroded[0]));
        _mm512_storeu_si512(above, ones_above8(eroded[0]));
        for (int j = 0; j < 5; j++)
            eroded[j + 1] = _mm512_and_si512(
                eroded[j],
                _mm512_srl_epi64(eroded[j], _mm_cvtsi32_si128(1 << j)));
        __m512i ends = _mm512_set1_epi64(-1), length = _mm512_setzero_si512();
#define LONGER(j)                                                    \
    do {                                                             \
        __mmask8 yes_ = _mm512_test_epi64_mask(ends, eroded[j]);     \
        __m512i more_ = _mm512_and_si512(ends, eroded[j]);           \
        ends = _mm512_mask_slli_epi64(ends, yes_, more_, 1 << (j));  \
        length = _mm512_mask_add_epi64(length, yes_, length,         \
                                       _mm512_set1_epi64(1 << (j))); \
    } while (0)
        LONGER(5);
        LONGER(4);
        LONGER(3);
        LONGER(2);
        LONGER(1);
        LONGER(0);
        LONGER(0);
#undef LONGER
        most = _mm512_max_epu64(most, length);
        for (unsigned i = 0; i < count; i++) {
            unsigned joined = open + (unsigned)below[i];
            longest = largest(longest, joined);
            open = above[i] == 64 ? joined : (unsigned)above[i];
        }
    }
    return largest(longest, (unsigned)_mm512_reduce_max_epu64(most));
}
#else
// As above, with the registers that there are.
static inline unsigned run_of_many(const uint64_t *map, unsigned words)
{
    unsigned longest = 0, open = 0; // `open`: the run that reaches this border

    for (unsigned first = 0; first < words; first += 8) {
        unsigned count = words - first < 8 ? words - first : 8;
        uint64_t eight[8] = {0}, inside[8];

        memcpy(eight, map + first, count * sizeof(*eight));
        for (unsigned i = 0; i < count; i += WORDS)
            runs_inside(eight + i, inside + i);
        for (unsigned i = 0; i < count; i++) {
            uint64_t word = map[first + i];
            unsigned joined = open + ones_below(word);
            longest = largest(longest, largest((unsigned)inside[i], joined));
            open = ~word == 0 ? joined : ones_above(word);
        }
    }
    return longest;
}
#endif

static unsigned run(const uint64_t *map, unsigned words)
{
    if (words <= 2)
        return run_of_two(map[0], words == 2 ? map[1] : 0);
    return run_of_many(map, words);
}

#ifdef __AVX512CD__
// As run_of_two(), with eight low words and eight high ones.
static inline __m512i runs_of_eight(__m512i low, __m512i high)
{
    __m512i a[6] = {low}, b[6] = {high};
#define ERODE(j)                                                            \
    a[(j) + 1] = _mm512_and_si512(a[j], _mm512_srli_epi64(a[j], 1 << (j))); \
    b[(j) + 1] = _mm512_and_si512(b[j], _mm512_srli_epi64(b[j], 1 << (j)))
    ERODE(0);
    ERODE(1);
    ERODE(2);
    ERODE(3);
    ERODE(4);
#undef ERODE
    const __m512i full = _mm512_set1_epi64(-1);
    __m512i ends = full, ends_high = ends;
    __m512i length = _mm512_setzero_si512(), length_high = length;
// `length` is kept in units of 2^j: doubled from step to step.
#define LONGER(j, ends, eroded, length)                             \
    do {                                                            \
        __mmask8 yes_ = _mm512_test_epi64_mask(ends, eroded[j]);    \
        __m512i more_ = _mm512_and_si512(ends, eroded[j]);          \
        ends = _mm512_mask_slli_epi64(ends, yes_, more_, 1 << (j)); \
        length = _mm512_mask_sub_epi64(length, yes_, length, full); \
    } while (0)
#define BOTH(j)                                               \
    length = _mm512_add_epi64(length, length);                \
    length_high = _mm512_add_epi64(length_high, length_high); \
    LONGER(j, ends, a, length);                               \
    LONGER(j, ends_high, b, length_high)
    BOTH(5);
    BOTH(4);
    BOTH(3);
    BOTH(2);
    BOTH(1);
    BOTH(0);
#undef BOTH
#undef LONGER
    __m512i above =
        _mm512_lzcnt_epi64(_mm512_xor_si512(low, _mm512_set1_epi64(-1)));
    __m512i joined = _mm512_add_epi64(above, ones_below8(high));
    // Half as wide a comparison takes a third of the time.
    return _mm512_max_epu32(joined, _mm512_max_epu32(length, length_high));
}

static void runs(const uint64_t maps[HDI_LANE_WORDS], unsigned group,
                 uint16_t found[HDI_LANES])
{
    uint64_t kept[HDI_LANE_WORDS];

    if (group > 1) {
        for (int i = 0; i < HDI_LANE_WORDS; i++)
            kept[i] = hdi_word_keep_groups(maps[i], group);
        maps = kept;
    }
    _mm_storeu_si128(
        (__m128i *)found,
        _mm512_cvtepi64_epi16(runs_of_eight(
            _mm512_loadu_si512(maps), _mm512_loadu_si512(maps + HDI_LANES))));
}

// The lowest 16 bits of eight words, again and again.
static const uint16_t low_parts[HDI_ROW] = {
    0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28,
    0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28};

// `row` with the runs of the first `count` of 8 maps from place `lane` on.
static inline __m512i searched(const uint64_t maps[HDI_LANE_WORDS],
                               unsigned count, __m512i row, unsigned lane)
{
    __mmask32 first = (__mmask32)1 << lane;

    if (count <= FEW_LANES) {
        for (unsigned i = 0; i < count; i++) {
            unsigned found = run_of_two(maps[i], maps[HDI_LANES + i]);
            row = _mm512_mask_set1_epi16(row, first << i, (short)found);
        }
        return row;
    }
    __m512i found = runs_of_eight(_mm512_loadu_si512(maps),
                                  _mm512_loadu_si512(maps + HDI_LANES));
    return _mm512_mask_permutexvar_epi16(row, first * ((1u << count) - 1),
                                         _mm512_loadu_si512(low_parts), found);
}

static void search(const uint64_t maps[HDI_LANE_WORDS], unsigned count,
                   uint16_t *level, unsigned lane)
{
    uint16_t *row = level + lane / HDI_ROW * HDI_ROW;

    _mm512_storeu_si512(
        row, searched(maps, count, _mm512_loadu_si512(row), lane % HDI_ROW));
}

// Lane by lane what hdi_take_one() does, with shifts that give 0 from 64 up.
static bool take(const uint64_t maps[HDI_LANE_WORDS],
                 const uint16_t lengths[HDI_LANES],
                 const uint16_t counts[HDI_LANES], struct hdi_run_bounds bounds,
                 uint64_t taken[HDI_LANE_WORDS])
{
    const __m512i all = _mm512_set1_epi64(-1), c64 = _mm512_set1_epi64(64);
    const __m512i zero = _mm512_setzero_si512();
    __m512i low = _mm512_loadu_si512(maps);
    __m512i high = _mm512_loadu_si512(maps + HDI_LANES);
    __m512i length =
        _mm512_cvtepu16_epi64(_mm_loadu_si128((const __m128i *)lengths));
    __m512i count =
        _mm512_cvtepu16_epi64(_mm_loadu_si128((const __m128i *)counts));
    __mmask8 failed = 0;

    for (unsigned step = 1; step < bounds.length; step *= 2) {
        __m512i have = _mm512_set1_epi64(step);
        __m512i more = _mm512_sub_epi64(_mm512_max_epu64(length, have), have);
        __m512i by = _mm512_min_epu64(have, more);
        __m512i into = _mm512_sllv_epi64(high, _mm512_sub_epi64(c64, by));
        low = _mm512_and_si512(
            low, _mm512_or_si512(_mm512_srlv_epi64(low, by), into));
        high = _mm512_and_si512(high, _mm512_srlv_epi64(high, by));
    }

    // The lowest start b ends below b << length: their difference is its run,
    // over both words.
    __m512i down = _mm512_sub_epi64(c64, length);
    __m512i beyond = _mm512_sub_epi64(length, c64);
    __m512i taken_low = zero, taken_high = zero;
    for (unsigned i = 0; i < bounds.count; i++) {
        __mmask8 open = _mm512_cmpgt_epu64_mask(count, _mm512_set1_epi64(i));
        __mmask8 upper = _mm512_testn_epi64_mask(low, low);
        __m512i from_low = _mm512_and_si512(low, _mm512_sub_epi64(zero, low));
        __m512i from_high =
            _mm512_maskz_and_epi64(upper, high, _mm512_sub_epi64(zero, high));
        failed |= _mm512_mask_testn_epi64_mask(open & upper, high, high);

        __m512i end_low = _mm512_sllv_epi64(from_low, length);
        __m512i end_high = _mm512_ternarylogic_epi64(
            _mm512_sllv_epi64(from_high, length),
            _mm512_srlv_epi64(from_low, down),
            _mm512_sllv_epi64(from_low, beyond), 0xfe);
        __mmask8 borrow = _mm512_cmplt_epu64_mask(end_low, from_low);
        __m512i run_low = _mm512_sub_epi64(end_low, from_low);
        __m512i run_high = _mm512_sub_epi64(end_high, from_high);
        run_high = _mm512_mask_add_epi64(run_high, borrow, run_high, all);
        taken_low = _mm512_mask_or_epi64(taken_low, open, taken_low, run_low);
        taken_high =
            _mm512_mask_or_epi64(taken_high, open, taken_high, run_high);
        low = _mm512_andnot_si512(run_low, low);
        high = _mm512_andnot_si512(run_high, high);
    }
    _mm512_storeu_si512(taken, taken_low);
    _mm512_storeu_si512(taken + HDI_LANES, taken_high);
    return failed == 0;
}
#else
// runs() of WORDS maps.
static inline void runs_of_some(const uint64_t *maps, unsigned group,
                                uint16_t *found)
{
    words_v low, high, eroded[7], eroded_high[7];

    memcpy(&low, maps, sizeof(low));
    memcpy(&high, maps + HDI_LANES, sizeof(high));
    if (group > 1) {
        uint64_t borders = 1;
        for (unsigned step = group; step < 64; step *= 2)
            borders |= borders << step;
        for (unsigned step = 1; step < group; step *= 2) {
            low &= low >> step;
            high &= high >> step;
        }
        low &= borders;
        high &= borders;
        for (unsigned step = 1; step < group; step *= 2) {
            low |= low << step;
            high |= high << step;
        }
    }

    eroded[0] = low;
    eroded_high[0] = high;
#pragma GCC unroll 6
    for (int j = 1; j < 7; j++) {
        int by = 1 << (j - 1);
        words_v l = eroded[j - 1], h = eroded_high[j - 1];
        eroded[j] = l & (l >> by | h << (64 - by));
        eroded_high[j] = h & h >> by;
    }

    words_v ends = ~(words_v){0}, ends_high = ends, length = {0};
#pragma GCC unroll 8
    for (int step = 0; step < 8; step++) {
        int j = step < 7 ? 6 - step : 0; // 64 + ... + 1 is 127: once more
        words_v l = ends & eroded[j], h = ends_high & eroded_high[j];
        words_v yes = (words_v)((l | h) != 0);
        words_v next = l, next_high = h;
        if (j == 6) {
            next_high = l;
            next = (words_v){0};
        } else {
            next_high = h << (1 << j) | l >> (64 - (1 << j));
            next = l << (1 << j);
        }
        ends = (ends & ~yes) | (next & yes);
        ends_high = (ends_high & ~yes) | (next_high & yes);
        length += yes & (UINT64_C(1) << j);
    }
    for (int i = 0; i < WORDS; i++)
        found[i] = (uint16_t)length[i];
}

static void runs(const uint64_t maps[HDI_LANE_WORDS], unsigned group,
                 uint16_t found[HDI_LANES])
{
    for (int lane = 0; lane < HDI_LANES; lane += WORDS)
        runs_of_some(maps + lane, group, found + lane);
}

static void search(const uint64_t maps[HDI_LANE_WORDS], unsigned count,
                   uint16_t *level, unsigned lane)
{
    uint16_t found[HDI_LANES];

    if (count <= FEW_LANES) {
        for (unsigned i = 0; i < count; i++)
            level[lane + i] =
                (uint16_t)run_of_two(maps[i], maps[HDI_LANES + i]);
        return;
    }
    runs(maps, 1, found);
    memcpy(level + lane, found, count * sizeof(*found));
}

// Shifts by up to 64, in two steps: by 64 at once is not defined.
static inline words_v shifted_down(words_v word, words_v by)
{
    return word >> (by >> 1) >> (by - (by >> 1));
}

static inline words_v shifted_up(words_v word, words_v by)
{
    return word << (by >> 1) << (by - (by >> 1));
}

// Lane by lane what hdi_take_one() does.
static bool take(const uint64_t maps[HDI_LANE_WORDS],
                 const uint16_t lengths[HDI_LANES],
                 const uint16_t counts[HDI_LANES], struct hdi_run_bounds bounds,
                 uint64_t taken[HDI_LANE_WORDS])
{
    bool fits = true;

    for (unsigned lane = 0; lane < HDI_LANES; lane += WORDS) {
        words_v low, high, length;

        memcpy(&low, maps + lane, sizeof(low));
        memcpy(&high, maps + HDI_LANES + lane, sizeof(high));
        for (unsigned i = 0; i < WORDS; i++)
            length[i] = lengths[lane + i];
        for (unsigned have = 1; have < bounds.length; have *= 2) {
            words_v more = length - have;
            more &= (words_v)(length > have);
            words_v less = (words_v)(more < have);
            words_v by = (more & less) | (have & ~less);
            low &= shifted_down(low, by) | shifted_up(high, 64 - by);
            high &= shifted_down(high, by);
        }
        for (unsigned i = 0; i < WORDS; i++) {
            hdi_wide bits;
            fits &= hdi_take_at((hdi_wide)high[i] << 64 | low[i],
                                lengths[lane + i], counts[lane + i], &bits);
            taken[lane + i] = (uint64_t)bits;
            taken[HDI_LANES + lane + i] = (uint64_t)(bits >> 64);
        }
    }
    return fits;
}
#endif

// One or two maps are quicker one by one than in lanes.
__attribute__((noinline)) static bool take_few(
    const uint64_t maps[HDI_LANE_WORDS], const uint16_t *length,
    const uint16_t *count, unsigned lanes, struct hdi_run_bounds bounds,
    uint64_t taken[HDI_LANE_WORDS])
{
    hdi_wide bits[FEW_LANES] = {0};

    if (lanes > FEW_LANES) {
        uint16_t lengths[HDI_LANES], counts[HDI_LANES] = {0};
        memcpy(lengths, length, sizeof(lengths));
        memcpy(counts, count, lanes * sizeof(*counts));
        return take(maps, lengths, counts, bounds, taken);
    }
    for (unsigned i = 0; i < lanes; i++) {
        if (count[i] > 0 && !hdi_take_one(maps[i], maps[HDI_LANES + i],
                                          length[i], count[i], &bits[i]))
            return false;
    }
    words_v first = {(uint64_t)bits[0], (uint64_t)bits[1]};
    words_v second = {(uint64_t)(bits[0] >> 64), (uint64_t)(bits[1] >> 64)};
    memset(taken, 0, HDI_LANE_WORDS * sizeof(*taken));
    memcpy(taken, &first, sizeof(first));
    memcpy(taken + HDI_LANES, &second, sizeof(second));
    return true;
}
