// The text of every set of lanes: included once per instruction set by
// base.c, avx2.c and avx512.c, which define LANES_NAME. This
// page has the loops over levels, needs and scores.
#include "dispatch/lanes/maps.h"

// One of a row of numbers, but for the store.
static inline void put(int32_t *numbers, unsigned at, int32_t number)
{
#ifdef __AVX512BW__
    int32_t *row = numbers + at / 16 * 16;

    _mm512_storeu_si512(row, _mm512_mask_set1_epi32(_mm512_loadu_si512(row),
                                                    (__mmask16)(1u << at % 16),
                                                    number));
#else
    numbers[at] = number;
#endif
}

static inline int32_t score_of(const uint16_t *level, const int32_t *weight,
                               unsigned lines)
{
    int32_t sum = 0;

    for (unsigned i = 0; i < lines; i++)
        sum += weight[i] * level[i];
    return sum;
}

static void score(const uint16_t *level, const int32_t *weight, unsigned lines,
                  int32_t *scores, unsigned module)
{
    put(scores, module,
        lines == HDI_ROW ? score_of(level, weight, HDI_ROW)
                         : score_of(level, weight, lines));
}

static void space(const uint16_t *level, const uint32_t *share, unsigned lines,
                  int32_t *spaces, unsigned module)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < lines; i++)
        sum += (uint64_t)share[i] * level[i];
    put(spaces, module, (int32_t)(sum >> 16));
}

// Add `lines` to the levels of all counts and leave open how long runs have
// become; or subtract them.
// The levels of runs that are given back become the largest number: an upper
// bound, until the module is searched again.
static inline void add_counts(const struct hdi_room *room,
                              const uint16_t *lines, bool subtract)
{
    uint16_t *levels = room->level, counts = (uint16_t)room->counts;
    unsigned end = room->lines;
    halves_v place;

    for (unsigned i = 0; i < HALVES; i++)
        place[i] = (uint16_t)i;
    for (unsigned i = 0; i < end; i += HALVES, place += HALVES) {
        halves_v level, change;

        memcpy(&level, levels + i, sizeof(level));
        memcpy(&change, lines + i, sizeof(change));
#ifdef __AVX512BW__
        __m512i old = (__m512i)level, by = (__m512i)change;
        __mmask32 count = _mm512_cmpge_epu16_mask(
            (__m512i)place, _mm512_set1_epi16((short)counts));
        __mmask32 run = _mm512_test_epi16_mask(by, by) & ~count;
        __m512i now = subtract ? _mm512_mask_sub_epi16(old, count, old, by)
                               : _mm512_mask_add_epi16(old, count, old, by);
        level =
            (halves_v)(subtract ? now : _mm512_mask_set1_epi16(now, run, -1));
#else
        halves_v count = (halves_v)(place >= counts);
        halves_v run = ~count & (halves_v)(change != 0);
        change &= count;
        level = subtract ? level - change : (level + change) | run;
#endif
        memcpy(levels + i, &level, sizeof(level));
    }
}

static void give(const struct hdi_room *room, const uint64_t *taken,
                 const uint16_t *lines)
{
    uint64_t *maps = room->maps;

    for (const uint64_t *end = taken + room->words; taken < end;
         taken += WORDS, maps += WORDS) {
        words_v a, b;

        memcpy(&a, maps, sizeof(a));
        memcpy(&b, taken, sizeof(b));
        a |= b;
        memcpy(maps, &a, sizeof(a));
    }
    add_counts(room, lines, false);
}

static void occupy(const struct hdi_room *room, const uint64_t *taken,
                   const uint16_t *lines)
{
    uint64_t *maps = room->maps;

    for (const uint64_t *end = taken + room->words; taken < end;
         taken += WORDS, maps += WORDS) {
        words_v a, b;

        memcpy(&a, maps, sizeof(a));
        memcpy(&b, taken, sizeof(b));
        a &= ~b;
        memcpy(maps, &a, sizeof(a));
    }
    add_counts(room, lines, true);
}

// Whether some number of a row is below its need.
// Without branches, on a whole row: lines that are not needed have a need of 0.
static inline bool any_below(const uint16_t *level, const uint16_t *need)
{
#ifdef __AVX512BW__
    return _mm512_cmplt_epu16_mask(_mm512_loadu_si512(level),
                                   _mm512_loadu_si512(need)) != 0;
#else
    halves_v enough = ~(halves_v){0};
    uint64_t bits[HALVES / 4], all = ~UINT64_C(0);

    for (unsigned i = 0; i < HDI_ROW; i += HALVES) {
        halves_v a, b;

        memcpy(&a, level + i, sizeof(a));
        memcpy(&b, need + i, sizeof(b));
        enough &= (halves_v)(a >= b);
    }
    memcpy(bits, &enough, sizeof(bits));
    for (unsigned i = 0; i < HALVES / 4; i++)
        all &= bits[i];
    return ~all != 0;
#endif
}

static inline bool below_in_all(const uint16_t *level, const uint16_t *need,
                                unsigned lines)
{
    bool below = any_below(level, need);

    for (unsigned line = HDI_ROW; line < lines; line += HDI_ROW)
        below |= any_below(level + line, need + line);
    return below;
}

static inline unsigned row_of(const uint16_t *level, const uint16_t *need,
                              const uint8_t *turn, unsigned stride,
                              unsigned lines, unsigned modules, uint64_t *fits)
{
    unsigned count = 0;

    for (unsigned first = 0; first < modules; first += 64) {
        unsigned end = modules - first < 64 ? modules - first : 64;
        uint64_t word = 0;

        for (unsigned i = 0; i < end; i++) {
            unsigned m = first + i;
            bool below = below_in_all(level + (size_t)m * lines,
                                      need + (size_t)turn[m] * stride, lines);
            word |= (uint64_t)!below << i;
        }
        fits[first / 64] = word;
        count += (unsigned)__builtin_popcountll(word);
    }
    return count;
}

// The channels of one page whose needs are all met, as bits.
// Four lines of eight channels are one register, see hdi_page_place().
static inline uint64_t fit_of_page(const uint16_t *level, const uint16_t *page,
                                   unsigned lines)
{
    words_v below[HDI_PAGE / WORDS] = {{0}};
    uint64_t fit = 0;

    for (unsigned line = 0; line < lines; line += 4) {
        uint64_t four;
        halves_v has;

        memcpy(&four, level + line, sizeof(four));
        has = (halves_v)((words_v){0} + four);
        for (unsigned i = 0; i < HDI_PAGE / WORDS; i++) {
            halves_v need;
            memcpy(&need, page + line * HDI_PAGE + i * HALVES, sizeof(need));
#ifdef __AVX512BW__
            below[i] |= (words_v)_mm512_subs_epu16((__m512i)need, (__m512i)has);
#else
            below[i] |= (words_v)(need > has);
#endif
        }
    }
    for (unsigned i = 0; i < HDI_PAGE / WORDS; i++) {
#ifdef __AVX512BW__
        fit = _mm512_testn_epi64_mask((__m512i)below[i], (__m512i)below[i]);
#else
        for (unsigned k = 0; k < WORDS; k++)
            fit |= (uint64_t)(below[i][k] == 0) << (i * WORDS + k);
#endif
    }
    return fit;
}

static uint64_t column(const uint16_t *level, const uint16_t *pages,
                       unsigned stride, unsigned lines, unsigned channels)
{
    uint64_t word = 0;

    for (unsigned c = 0; c < channels; c += HDI_PAGE) {
        const uint16_t *page = pages + (size_t)c / HDI_PAGE * stride;
        // Most machines have no more lines than one row.
        word |= (lines == HDI_ROW ? fit_of_page(level, page, HDI_ROW)
                                  : fit_of_page(level, page, lines))
                << c;
    }
    return channels < 64 ? word & ((UINT64_C(1) << channels) - 1) : word;
}

// Most machines have no more lines than one row: let the compiler know.
static unsigned row(const uint16_t *level, const uint16_t *need,
                    const uint8_t *turn, unsigned stride, unsigned lines,
                    unsigned modules, uint64_t *fits)
{
    return lines == HDI_ROW
               ? row_of(level, need, turn, stride, HDI_ROW, modules, fits)
               : row_of(level, need, turn, stride, lines, modules, fits);
}

// Writes bit `bit` of each channel's word, and tells whose words are not 0
// then.
static inline uint64_t spread_over(uint64_t *fits, unsigned words, unsigned bit,
                                   uint64_t now, unsigned channels)
{
    uint64_t any = 0;

    for (unsigned c = 0; c < channels; c++) {
        uint64_t word = fits[(size_t)c * words] & ~(UINT64_C(1) << bit);

        word |= (now >> c & 1) << bit;
        fits[(size_t)c * words] = word;
        any |= (uint64_t)(word != 0) << c;
    }
    return any;
}

static uint64_t spread(uint64_t *fits, unsigned words, unsigned bit,
                       uint64_t now, unsigned channels)
{
#ifdef __AVX512BW__
    __m512i bits = _mm512_set1_epi64((long long)(UINT64_C(1) << bit));
    uint64_t any = 0;

    if (words > 1)
        return spread_over(fits, words, bit, now, channels);
    for (unsigned c = 0; c < channels; c += 8) {
        __m512i word = _mm512_loadu_si512(fits + c);

        word = _mm512_andnot_si512(bits, word);
        word = _mm512_mask_or_epi64(word, (__mmask8)(now >> c), word, bits);
        _mm512_storeu_si512(fits + c, word);
        any |= (uint64_t)_mm512_test_epi64_mask(word, word) << c;
    }
    return any;
#else
    return spread_over(fits, words, bit, now, channels);
#endif
}

// Which of the set bits the n-th is; there is one.
static inline unsigned nth_bit(uint64_t set, unsigned n)
{
#ifdef __BMI2__
    return (unsigned)__builtin_ctzll(_pdep_u64(UINT64_C(1) << n, set));
#else
    while (n-- > 0)
        set &= set - 1;
    return (unsigned)__builtin_ctzll(set);
#endif
}

// Uniform up to 2^-32: the upper half of the random number, scaled.
static unsigned draw(const uint64_t *set, unsigned words, uint64_t random)
{
    uint64_t all = 0;
    unsigned w = 0, count;

    for (unsigned i = 0; i < words; i++)
        all += (unsigned)__builtin_popcountll(set[i]);
    unsigned which = (unsigned)((random >> 32) * all >> 32);
    for (; (count = (unsigned)__builtin_popcountll(set[w])) <= which; w++)
        which -= count;
    return 64 * w + nth_bit(set[w], which);
}

#ifdef __AVX512BW__
static inline __m512i scores_of(uint64_t fits, const int32_t *scores,
                                unsigned first)
{
    return _mm512_mask_loadu_epi32(_mm512_set1_epi32(INT32_MIN),
                                   (__mmask16)(fits >> first), scores + first);
}

// best() of up to 16 modules.
static inline unsigned best_of_row(uint64_t fits, const int32_t *scores)
{
    __m512i of = scores_of(fits, scores, 0);
    __m512i most = _mm512_set1_epi32(_mm512_reduce_max_epi32(of));
    uint64_t equal = _mm512_cmpeq_epi32_mask(of, most) & fits;

    return equal ? (unsigned)__builtin_ctzll(equal) : 64;
}

// best() of up to 64 modules.
static inline unsigned best_of_word(uint64_t fits, const int32_t *scores)
{
    __m512i of[4];

    for (unsigned i = 0; i < 4; i++)
        of[i] = scores_of(fits, scores, 16 * i);
    __m512i most = _mm512_set1_epi32(_mm512_reduce_max_epi32(_mm512_max_epi32(
        _mm512_max_epi32(of[0], of[1]), _mm512_max_epi32(of[2], of[3]))));
    uint64_t equal = 0;
    for (unsigned i = 0; i < 4; i++)
        equal |= (uint64_t)_mm512_cmpeq_epi32_mask(of[i], most) << 16 * i;
    equal &= fits;
    return equal ? (unsigned)__builtin_ctzll(equal) : 64;
}

// All words together; `count` is rounded up to a multiple of 8.
static inline uint64_t any_of(const uint64_t *words, unsigned count)
{
    __m512i any = _mm512_loadu_si512(words);

    for (unsigned i = 8; i < count; i += 8)
        any = _mm512_or_si512(any, _mm512_loadu_si512(words + i));
    return (uint64_t)_mm512_reduce_or_epi64(any);
}

// Those of `fits`, up to 16 modules, that are among the `count` with the
// largest scores; of equals the lowest.
static inline uint64_t emptiest_of_row(uint64_t fits, const int32_t *scores,
                                       unsigned modules, unsigned count)
{
    __mmask16 there = (__mmask16)((1u << modules) - 1);
    __m512i all = _mm512_loadu_si512(scores);
    uint64_t among = 0;

    for (uint64_t left = fits; left; left &= left - 1) {
        unsigned m = (unsigned)__builtin_ctzll(left);
        __m512i one = _mm512_set1_epi32(scores[m]);
        unsigned before = _mm512_mask_cmpgt_epi32_mask(there, all, one) |
                          (_mm512_cmpeq_epi32_mask(all, one) & ((1u << m) - 1));
        bool is = (unsigned)__builtin_popcount(before) < count;
        among |= (uint64_t)is << m;
    }
    return among;
}
#endif

static unsigned best(const uint64_t *fits, const int32_t *scores,
                     unsigned modules)
{
    unsigned words = (modules + 63) / 64;

#ifdef __AVX512BW__
    __m512i most = _mm512_set1_epi32(INT32_MIN);

    if (modules <= 16)
        return best_of_row(fits[0], scores);
    if (modules <= 64)
        return best_of_word(fits[0], scores);

    for (unsigned w = 0; w < words; w++) {
        const int32_t *of_word = scores + 64 * w;
        for (unsigned i = 0; i < 64 && fits[w] >> i; i += 16)
            most = _mm512_mask_max_epi32(most, (__mmask16)(fits[w] >> i), most,
                                         _mm512_loadu_si512(of_word + i));
    }
    int32_t largest_score = _mm512_reduce_max_epi32(most);
    if (largest_score == INT32_MIN)
        return 64 * words;
    most = _mm512_set1_epi32(largest_score);
    for (unsigned i = 0;; i += 16) {
        __mmask16 fit =
            _mm512_mask_cmpeq_epi32_mask((__mmask16)(fits[i / 64] >> (i % 64)),
                                         most, _mm512_loadu_si512(scores + i));
        if (fit)
            return i + (unsigned)__builtin_ctz(fit);
    }
#else
    unsigned chosen = 64 * words;
    int32_t most = INT32_MIN;

    for (unsigned w = 0; w < words; w++) {
        for (uint64_t left = fits[w]; left; left &= left - 1) {
            unsigned m = 64 * w + (unsigned)__builtin_ctzll(left);
            bool better = scores[m] > most;
            chosen = better ? m : chosen;
            most = better ? scores[m] : most;
        }
    }
    return chosen;
#endif
}

// The first of HDI_MAX_PRIORITIES sets that shares a member with `set`; there
// is one.
static inline unsigned first_shared(uint64_t set, const uint64_t *sets)
{
#ifdef __AVX512BW__
    return (unsigned)__builtin_ctz(_mm512_test_epi64_mask(
        _mm512_set1_epi64((long long)set), _mm512_loadu_si512(sets)));
#else
    unsigned first = 0;

    while (!(set & sets[first]))
        first++;
    return first;
#endif
}

// The largest of the numbers whose bit is set, and of `most`.
static inline int64_t largest_of(uint64_t set, const int64_t *numbers,
                                 int64_t most)
{
#ifdef __AVX512BW__
    __m512i all = _mm512_set1_epi64(most);

    for (unsigned i = 0; i < 64 && set >> i; i += 8)
        all = _mm512_mask_max_epi64(all, (__mmask8)(set >> i), all,
                                    _mm512_loadu_si512(numbers + i));
    return _mm512_reduce_max_epi64(all);
#else
    for (; set; set &= set - 1) {
        int64_t number = numbers[__builtin_ctzll(set)];
        most = number > most ? number : most;
    }
    return most;
#endif
}

// Those of the set bits whose number is larger than `number`.
static inline uint64_t above(uint64_t set, const int64_t *numbers,
                             int64_t number)
{
    uint64_t larger = 0;

#ifdef __AVX512BW__
    for (unsigned i = 0; i < 64 && set >> i; i += 8)
        larger |= (uint64_t)_mm512_mask_cmpgt_epi64_mask(
                      (__mmask8)(set >> i), _mm512_loadu_si512(numbers + i),
                      _mm512_set1_epi64(number))
                  << i;
#else
    for (; set; set &= set - 1) {
        unsigned i = (unsigned)__builtin_ctzll(set);
        larger |= (uint64_t)(numbers[i] > number) << i;
    }
#endif
    return larger;
}

// Those of the set bits whose number is `number`.
static inline uint64_t equal_to(uint64_t set, const int64_t *numbers,
                                int64_t number)
{
    uint64_t equal = 0;

#ifdef __AVX512BW__
    for (unsigned i = 0; i < 64 && set >> i; i += 8)
        equal |= (uint64_t)_mm512_mask_cmpeq_epi64_mask(
                     (__mmask8)(set >> i), _mm512_set1_epi64(number),
                     _mm512_loadu_si512(numbers + i))
                 << i;
#else
    for (; set; set &= set - 1) {
        unsigned i = (unsigned)__builtin_ctzll(set);
        equal |= (uint64_t)(numbers[i] == number) << i;
    }
#endif
    return equal;
}

#include "dispatch/lanes/module.h"
#include "dispatch/lanes/round.h"

extern const struct hdi_simd LANES_SYMBOL;
const struct hdi_simd LANES_SYMBOL = {.name = LANES_NAME,
                                      .run = run,
                                      .runs = runs,
                                      .take = take,
                                      .search = search,
                                      .take_few = take_few,
                                      .score = score,
                                      .space = space,
                                      .give = give,
                                      .occupy = occupy,
                                      .row = row,
                                      .column = column,
                                      .spread = spread,
                                      .draw = draw,
                                      .best = best,
                                      .decider = decider};
