// The map says of every byte what a list of all bytes says.
#include "launch/memory/places.h"

#include "tests/check.h"

enum {
    SIZE = 500,
    PLACES = 4
};

static unsigned seed = 1;

static unsigned draw(unsigned n)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % n;
}

static struct {
    uint64_t version, valid;
} expected[SIZE];

static void compare(const struct hdi_places *places)
{
    uint64_t byte = 0;

    for (uint32_t i = 0; i < places->count; i++) {
        const struct hdi_stretch *s = &places->stretches[i];
        CHECK(s->begin == byte && s->end > s->begin);
        CHECK(i == 0 || s->version != s[-1].version || s->valid != s[-1].valid);
        for (; byte < s->end; byte++)
            CHECK(expected[byte].version == s->version &&
                  expected[byte].valid == s->valid);
    }
    CHECK(byte == SIZE);
}

static void check_missing(const struct hdi_places *places, uint64_t begin,
                          uint64_t end, unsigned place)
{
    struct hdi_stretch s;

    for (uint64_t at = begin; at < end;) {
        uint64_t first = at;
        while (first < end && expected[first].valid >> place & 1)
            first++;
        bool any = hdi_places_missing(places, at, end, place, &s);
        CHECK(any == (first < end));
        if (!any)
            return;
        CHECK(s.begin == first && s.end > first && s.end <= end);
        for (at = s.begin; at < s.end; at++)
            CHECK(expected[at].version == s.version &&
                  expected[at].valid == s.valid);
    }
}

static void random_changes_are_as_expected(void)
{
    struct hdi_places places;
    uint64_t version = 0;

    CHECK(hdi_places_init(&places, SIZE, 1));
    for (int i = 0; i < SIZE; i++)
        expected[i].valid = 2;
    for (int round = 0; round < 20000; round++) {
        uint64_t a = draw(SIZE + 1), b = draw(SIZE + 1);
        uint64_t begin = a < b ? a : b, end = a < b ? b : a;
        unsigned place = draw(PLACES);
        if (draw(3) == 0) {
            uint64_t now = hdi_places_write(&places, begin, end, place);
            version += begin < end;
            CHECK(now == version);
            for (uint64_t i = begin; i < end; i++) {
                expected[i].version = version;
                expected[i].valid = 1u << place;
            }
        } else {
            uint64_t of = version - draw(4);
            CHECK(hdi_places_copied(&places, begin, end, of, place));
            for (uint64_t i = begin; i < end; i++)
                if (expected[i].version == of)
                    expected[i].valid |= 1u << place;
        }
        compare(&places);
        check_missing(&places, begin, end, draw(PLACES));
    }
    hdi_places_destroy(&places);
}

// What was written while it was copied is not valid there.
static void a_copy_of_an_old_version_counts_for_nothing(void)
{
    struct hdi_places places;
    struct hdi_stretch s;

    CHECK(hdi_places_init(&places, 100, 0));
    CHECK(hdi_places_missing(&places, 0, 100, 1, &s));
    CHECK(s.begin == 0 && s.end == 100 && s.valid == 1);
    CHECK(!hdi_places_missing(&places, 100, 100, 1, &s));
    CHECK(!hdi_places_missing(&places, 50, 50, 1, &s));
    CHECK(hdi_places_write(&places, 50, 60, 0) == 1);
    CHECK(hdi_places_copied(&places, s.begin, s.end, s.version, 1));
    CHECK(hdi_places_missing(&places, 0, 100, 1, &s));
    CHECK(s.begin == 50 && s.end == 60 && s.version == 1);
    hdi_places_destroy(&places);
}

int main(void)
{
    random_changes_are_as_expected();
    a_copy_of_an_old_version_counts_for_nothing();
    return 0;
}
