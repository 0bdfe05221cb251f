// Code says what it needs in one of two ways: a list of instruction sets, then
// it runs wherever all of these are, or none, then it runs on the very
// processor that it names. The device's list is in the order of worth, so that
// "best" is a comparison of places in it.
//
//     device    sse2 avx avx2 avx512f        places 1 2 3 4
//     code A    sse2 avx2                    latest 3, 2 of them
//     code B    sse2 avx avx2                latest 3, 3 of them: better
//     code C    sse2 avx512f amx             lacks one: none
#include "kernel/binary/processor.h"

#include <string.h>

// The next word of a text with blanks between words; false: there is none.
//
// `*at` is moved to it; the caller moves on by `*length`.
static bool next_word(const char **at, size_t *length)
{
    *at += strspn(*at, " ");
    *length = strcspn(*at, " ");
    return *length > 0;
}

// The place of a word among others, from 1; 0: it is not there.
static unsigned place(const char *words, const char *word, size_t length)
{
    unsigned index = 1;
    size_t size;

    for (; next_word(&words, &size); words += size, index++)
        if (size == length && memcmp(words, word, size) == 0)
            return index;
    return 0;
}

// Code is worth as much as the latest of the instruction sets it was made for;
// of two with the same latest, that with more of them.
//
// 1,024 is more than there are instruction sets, so that the count never
// outweighs a later one.
static unsigned fit_features(const struct hdi_capabilities *can,
                             const char *features)
{
    unsigned latest = 0, count = 0;
    size_t length;

    for (; next_word(&features, &length); features += length, count++) {
        unsigned at =
            can->features ? place(can->features, features, length) : 0;
        if (at == 0)
            return HDI_FIT_NONE;
        latest = at > latest ? at : latest;
    }
    return latest * 1024 + (count < 1024 ? count : 1023);
}

// A device that takes no code runs nothing, so everything suits it; bitcode is
// compiled where it is needed.
static unsigned fit_one(const struct hdi_capabilities *can,
                        const struct hdi_build *build)
{
    if (!*can->target || build->bitcode)
        return HDI_FIT_EXACT;
    if (strcmp(build->target, can->target) != 0)
        return HDI_FIT_NONE;
    if (*build->features)
        return fit_features(can, build->features);
    return strcmp(build->cpu, can->cpu) == 0 ? HDI_FIT_EXACT : HDI_FIT_NONE;
}

unsigned hdi_processor_fit(const struct hdi_capabilities *can,
                           const struct hdi_build *build)
{
    unsigned worst = fit_one(can, build);

    for (uint32_t i = 0; i < build->joined_count; i++) {
        unsigned fit = fit_one(can, &build->joined[i]);
        worst = fit < worst ? fit : worst;
    }
    return worst;
}

// Of those that can run the one with the largest fit.
struct hdi_build *hdi_processor_choose(const struct hdi_capabilities *can,
                                       struct hdi_build *builds, uint32_t count)
{
    struct hdi_build *best = NULL;
    unsigned most = HDI_FIT_NONE;

    for (uint32_t i = 0; i < count; i++) {
        unsigned fit = hdi_processor_fit(can, &builds[i]);
        if (fit > most) {
            best = &builds[i];
            most = fit;
        }
    }
    return best;
}

// Another kind of machine is named instead: its instruction sets would mean
// nothing here.
static void append_lacking(const struct hdi_capabilities *can,
                           const struct hdi_build *build, struct hdi_text *text)
{
    const char *lacking = " (which needs";
    const char *at = build->features;
    size_t length;

    if (strcmp(build->target, can->target) != 0) {
        hdi_text_print(text, " (%s)", build->target);
        return;
    }
    if (!*build->features)
        hdi_text_print(text, " (this one is '%s')", can->cpu);
    for (; next_word(&at, &length); at += length)
        if (!can->features || place(can->features, at, length) == 0) {
            hdi_text_print(text, "%s %.*s", lacking, (int)length, at);
            lacking = "";
        }
    if (!*lacking)
        hdi_text_print(text, ")");
}

void hdi_processor_name(const struct hdi_capabilities *can,
                        const struct hdi_build *build, struct hdi_text *text)
{
    if (build->bitcode)
        hdi_text_print(text, "every processor");
    else if (*build->features)
        hdi_text_print(text, "%s", build->cpu);
    else
        hdi_text_print(text, "exactly the processor '%s'", build->cpu);
    if (can && !build->bitcode)
        append_lacking(can, build, text);
}
