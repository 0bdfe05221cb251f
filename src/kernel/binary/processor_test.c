// Which code a processor runs, and which of several it prefers.
#include "kernel/binary/processor.h"

#include <string.h>

#include "tests/check.h"

static char target[] = "t", other[] = "u", exact[] = "mine", none[] = "";

// The later in the list, the more it is worth. The words are real but stand in
// an order of the test's own.
static const struct hdi_capabilities can = {
    .target = target, .cpu = exact, .features = "pku x87 sse sse4.1 avx avx2"};

static struct hdi_build named(char *name, char *features)
{
    return (struct hdi_build){
        .target = target, .cpu = name, .features = features};
}

static void code_fits_where_nothing_is_lacking(void)
{
    char few[] = "x87 sse", more[] = "avx pku sse", longer[] = "sse avx5";
    char name[] = "n";
    struct hdi_build build = named(name, few);

    CHECK(hdi_processor_fit(&can, &build) > HDI_FIT_NONE);
    build.features = more;
    CHECK(hdi_processor_fit(&can, &build) > HDI_FIT_NONE);
    // A name is no part of another.
    build.features = longer;
    CHECK(hdi_processor_fit(&can, &build) == HDI_FIT_NONE);
    longer[7] = '\0';
    CHECK(hdi_processor_fit(&can, &build) > HDI_FIT_NONE);
    build.target = other;
    CHECK(hdi_processor_fit(&can, &build) == HDI_FIT_NONE);

    build = named(exact, none);
    CHECK(hdi_processor_fit(&can, &build) == HDI_FIT_EXACT);
    build.cpu = name;
    CHECK(hdi_processor_fit(&can, &build) == HDI_FIT_NONE);

    // A device that does not tell runs what is made for it alone.
    const struct hdi_capabilities silent = {.target = target, .cpu = exact};
    build = named(exact, few);
    CHECK(hdi_processor_fit(&silent, &build) == HDI_FIT_NONE);
    build.features = none;
    CHECK(hdi_processor_fit(&silent, &build) == HDI_FIT_EXACT);
}

// Not those with the most: `many` has all but the last.
static void the_latest_instructions_are_preferred(void)
{
    char a[] = "a", b[] = "b", c[] = "c", wide[] = "avx2 sse",
         many[] = "avx pku sse sse4.1 x87", wider[] = "avx avx2 sse",
         lacking[] = "avx2 avx512f";
    struct hdi_build builds[] = {named(a, many), named(b, wide),
                                 named(c, lacking)};

    CHECK(hdi_processor_choose(&can, builds, 3) == &builds[1]);
    CHECK(hdi_processor_choose(&can, builds, 1) == &builds[0]);
    CHECK(!hdi_processor_choose(&can, &builds[2], 1));
    // As late, and more of them; of equals the first.
    builds[2].features = wider;
    CHECK(hdi_processor_choose(&can, builds, 3) == &builds[2]);
    builds[1].features = wider;
    CHECK(hdi_processor_choose(&can, builds, 3) == &builds[1]);
    // Nothing is better than what was made for this one.
    builds[0] = named(exact, none);
    CHECK(hdi_processor_choose(&can, builds, 3) == &builds[0]);
}

// One part that cannot run makes the whole unfit.
static void what_is_joined_must_fit_too(void)
{
    char a[] = "a", sse[] = "sse", lacking[] = "avx512f";
    struct hdi_build joined = named(a, lacking), build = named(a, sse);

    build.joined = &joined;
    build.joined_count = 1;
    CHECK(hdi_processor_fit(&can, &build) == HDI_FIT_NONE);
    joined.features = sse;
    CHECK(hdi_processor_fit(&can, &build) > HDI_FIT_NONE);
}

// The four ways in which a build is named, word by word.
static void names_say_what_is_lacking(void)
{
    char a[] = "a", features[] = "avx512f sse avx512vl";
    struct hdi_build build = named(a, features);
    struct hdi_text text = {0};

    hdi_processor_name(&can, &build, &text);
    CHECK(strcmp(text.data, "a (which needs avx512f avx512vl)") == 0);
    hdi_text_free(&text);
    hdi_processor_name(NULL, &build, &text);
    CHECK(strcmp(text.data, "a") == 0);
    hdi_text_free(&text);
    build.features = none;
    hdi_processor_name(&can, &build, &text);
    CHECK(strcmp(text.data, "exactly the processor 'a' (this one is 'mine')") ==
          0);
    hdi_text_free(&text);
    build.features = features;
    build.target = other;
    hdi_processor_name(&can, &build, &text);
    CHECK(strcmp(text.data, "a (u)") == 0);
    hdi_text_free(&text);
}

int main(void)
{
    code_fits_where_nothing_is_lacking();
    the_latest_instructions_are_preferred();
    what_is_joined_must_fit_too();
    names_say_what_is_lacking();
    return 0;
}
