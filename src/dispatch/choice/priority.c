#include "dispatch/choice/priority.h"

#include "base/error.h"

hd_status hdi_windows_init(struct hdi_windows *windows, unsigned priorities,
                           const uint64_t *length, struct hd_error *error)
{
    struct hdi_windows w = {.priorities = priorities};

    for (unsigned i = 0; i < priorities; i++) {
        if (length[i] == 0 || (i > 0 && length[i] >= length[i - 1]))
            return hdi_fail(error, HD_EINVAL,
                            "the window of priority %u must be at least one "
                            "cycle and shorter than the one before",
                            i + 1);
        w.length[i] = length[i];
        if (__builtin_add_overflow(w.period, length[i], &w.period) ||
            w.period > INT64_MAX)
            return hdi_fail(error, HD_EINVAL,
                            "the windows are longer than 2^63 cycles");
    }
    *windows = w;
    return HD_OK;
}

// `parts` is the period in units of the shortest window; the first window has
// `lead` times its part.
bool hdi_windows_scale(struct hdi_windows *windows, unsigned priorities,
                       uint64_t run, unsigned runs, unsigned lead)
{
    uint64_t parts = (uint64_t)priorities * (priorities - 1) / 2 +
                     (uint64_t)priorities * lead;
    uint64_t most = INT64_MAX / (parts ? parts : 1), shortest;

    if (__builtin_mul_overflow(run, runs, &shortest))
        shortest = UINT64_MAX;
    shortest /= 16;
    if (shortest > most)
        shortest = most;
    if (shortest == 0)
        return false;
    windows->priorities = priorities;
    windows->period = 0;
    for (unsigned i = 0; i < priorities; i++) {
        windows->length[i] = shortest * (priorities - i) * (i == 0 ? lead : 1);
        windows->period += windows->length[i];
    }
    return true;
}

static unsigned window_at(const struct hdi_windows *windows, uint64_t now,
                          uint64_t *left)
{
    uint64_t at = now % windows->period;
    unsigned window = 0;

    while (at >= windows->length[window])
        at -= windows->length[window++];
    *left = windows->length[window] - at;
    return window;
}

unsigned hdi_windows_top(const struct hdi_windows *windows, uint64_t now)
{
    uint64_t left;

    return windows->period == 0 ? 1 : window_at(windows, now, &left) + 1;
}

uint64_t hdi_windows_next(const struct hdi_windows *windows, uint64_t now)
{
    uint64_t left;

    if (windows->period == 0)
        return UINT64_MAX;
    window_at(windows, now, &left);
    return now > UINT64_MAX - left ? UINT64_MAX : now + left;
}

// 16 slots per power of two; below 16 one per number.
//
//     cycles   0 1 2 ... 15 | 16 17 ... 31 | 32 34 36 ... 62 | 64 68 ...
//     slots    0 1 2 ... 15 | 16     31    | 32           47 | 48 ...
//
// So a slot is at most 1/16 of its number wide, whatever the size.
static unsigned slot_of(uint64_t cycles)
{
    if (cycles < 16)
        return (unsigned)cycles;
    unsigned power = 63 - (unsigned)__builtin_clzll(cycles);

    return (power - 3) * 16 + (unsigned)(cycles >> (power - 4) & 15);
}

static uint64_t middle_of(unsigned slot)
{
    if (slot < 16)
        return slot;
    unsigned power = slot / 16 + 3;
    uint64_t low = (UINT64_C(16) + slot % 16) << (power - 4);

    return low + (UINT64_C(1) << (power - 4)) / 2;
}

// Goes over a thousand counts, hence not after every run.
static uint64_t look_for(const struct hdi_median *median)
{
    uint64_t seen = 0;

    for (unsigned slot = 0; slot < 64 * 16; slot++) {
        seen += median->count[slot];
        if (seen > 0 && seen * 2 >= median->total)
            return middle_of(slot);
    }
    return 0;
}

void hdi_median_add(struct hdi_median *median, uint64_t cycles)
{
    median->count[slot_of(cycles)]++;
    median->total++;
    if (median->total <= 64 || median->total % 64 == 0)
        median->middle = look_for(median);
}
