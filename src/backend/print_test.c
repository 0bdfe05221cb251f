// The printf() of kernels against the C library's, argument by argument, and
// the rules for vectors.
#include "backend/print.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/check.h"

// Arguments as compiled kernels pack them.
struct packed {
    uint64_t words[64];
    size_t used; // [words]
    uint32_t count;
};

static void pack(struct packed *p, uint8_t kind, uint8_t size, uint8_t lanes,
                 const void *elements)
{
    const struct hdi_print_arg head = {kind, size, lanes, {0}};

    memcpy(p->words + p->used, &head, sizeof(head));
    memcpy(p->words + p->used + 1, elements, (size_t)size * lanes);
    p->used += 1 + ((size_t)size * lanes + 7) / 8;
    p->count++;
}

static int32_t format(struct hdi_text *text, const char *form,
                      const struct packed *p)
{
    return hdi_print_format(text, form, (const struct hdi_print_arg *)p->words,
                            p->count);
}

static void check_text(const char *form, const struct packed *p,
                       const char *right)
{
    struct hdi_text text = {0};

    CHECK(format(&text, form, p) == 0);
    CHECK(text.data && strcmp(text.data, right) == 0);
    hdi_text_free(&text);
}

static void integers_are_printed_as_c_does(void)
{
    static const char *const forms[] = {
        "%d",    "%i", "%5d|", "%-7d|", "%+d", "% d", "%05d", "%.4d",
        "%8.3d", "%o", "%#o",  "%u",    "%x",  "%#X", "%c",   "%-+8.5i|"};
    static const int32_t values[] = {0, 65, -1, 2147483647, -70000};

    for (size_t f = 0; f < sizeof(forms) / sizeof(forms[0]); f++)
        for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
            struct packed p = {0};
            struct hdi_text text = {0};
            char right[64];

            if (strcmp(forms[f], "%c") == 0 && v != 1)
                continue;
            pack(&p, HDI_PRINT_INTEGER, 4, 1, &values[v]);
            snprintf(right, sizeof(right), forms[f], values[v]);
            CHECK(format(&text, forms[f], &p) == 0);
            CHECK(strcmp(text.data, right) == 0);
            hdi_text_free(&text);
        }
}

static void length_modifiers_narrow(void)
{
    const int32_t narrow = 0x12345;
    const int64_t wide = -5000000000;
    struct packed p = {0};

    pack(&p, HDI_PRINT_INTEGER, 4, 1, &narrow);
    pack(&p, HDI_PRINT_INTEGER, 4, 1, &narrow);
    pack(&p, HDI_PRINT_INTEGER, 8, 1, &wide);
    pack(&p, HDI_PRINT_INTEGER, 8, 1, &wide);
    check_text("%hhd %hx %ld %lu", &p,
               "69 2345 -5000000000 "
               "18446744068709551616");

    p = (struct packed){0};
    for (int i = 0; i < 4; i++)
        pack(&p, HDI_PRINT_INTEGER, 8, 1, &wide);
    check_text("%zd %lld %td %ji", &p,
               "-5000000000 -5000000000 -5000000000 -5000000000");
}

static void reals_are_printed_as_c_does(void)
{
    static const char *const forms[] = {"%f",    "%.2f",  "%10.3e|", "%G",
                                        "%g",    "%-9a|", "%+F",     "% .0f",
                                        "%#.0f", "%E",    "%A",      "%012.4f"};
    static const double values[] = {0, -0.0, 1.5, -1e30, 1.0 / 3, HUGE_VAL};

    for (size_t f = 0; f < sizeof(forms) / sizeof(forms[0]); f++)
        for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
            struct packed p = {0};
            struct hdi_text text = {0};
            char right[128];

            pack(&p, HDI_PRINT_REAL, 8, 1, &values[v]);
            snprintf(right, sizeof(right), forms[f], values[v]);
            CHECK(format(&text, forms[f], &p) == 0);
            CHECK(strcmp(text.data, right) == 0);
            hdi_text_free(&text);
        }
}

static void vectors_have_commas(void)
{
    const float f[4] = {1, 2.5f, -3, 4};
    const uint8_t c[16] = {250, 1, 2,  3,  4,  5,  6,  7,
                           8,   9, 10, 11, 12, 13, 14, 15};
    const int16_t s[3] = {-1, 2, -3};
    const int64_t l[2] = {-1, 1};
    const uint16_t h[4] = {0x3c00, 0xc000, 0x7c00, 0x0001};
    struct packed p = {0};

    pack(&p, HDI_PRINT_REAL, 4, 4, f);
    pack(&p, HDI_PRINT_INTEGER, 1, 16, c);
    pack(&p, HDI_PRINT_INTEGER, 2, 3, s);
    pack(&p, HDI_PRINT_INTEGER, 8, 2, l);
    pack(&p, HDI_PRINT_REAL, 2, 4, h);
    check_text("%5.2v4hlf %v16hhu %v3hd\n%#v2lx %v4hg", &p,
               " 1.00, 2.50,-3.00, 4.00 "
               "250,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15 -1,2,-3\n"
               "0xffffffffffffffff,0x1 1,-2,inf,5.96046e-08");
}

static void strings_and_percent_signs(void)
{
    const char *word = "word", *none = NULL;
    struct packed p = {0};

    pack(&p, HDI_PRINT_POINTER, 8, 1, &word);
    pack(&p, HDI_PRINT_POINTER, 8, 1, &none);
    pack(&p, HDI_PRINT_POINTER, 8, 1, &word);
    check_text("%s 100%% %s %.2s", &p, "word 100% (null) wo");
}

static void what_is_no_conversion_is_refused(void)
{
    static const char *const forms[] = {"%d",         "%y", "%v5d", "%",
                                        "%99999999d", "%l", "%.s%"};

    for (size_t f = 0; f < sizeof(forms) / sizeof(forms[0]); f++) {
        struct hdi_text text = {0};
        struct packed none = {0};
        CHECK(format(&text, forms[f], &none) == -1);
        hdi_text_free(&text);
    }
}

struct collected {
    struct hdi_text text;
    unsigned calls, torn;
};

static void collect(void *data, const char *text, size_t size)
{
    struct collected *c = data;
    c->calls++;
    c->torn += size == 0 || text[size - 1] != '\n';
    hdi_text_append(&c->text, text, size);
}

static void lines_are_passed_on_whole(void)
{
    struct collected c = {0};
    struct hdi_printer printer = {.sink = {collect, &c}};
    enum {
        LINES = 20000
    };

    for (int i = 0; i < LINES; i++) {
        struct packed p = {0};
        pack(&p, HDI_PRINT_INTEGER, 4, 1, &i);
        const struct hdi_print_arg *args =
            (const struct hdi_print_arg *)p.words;
        CHECK(hdi_printer_print(&printer, "%d ", args, 1) == 0);
        CHECK(hdi_printer_print(&printer, "end\n", NULL, 0) == 0);
    }
    CHECK(c.calls > 0);
    hdi_printer_flush(&printer);
    CHECK(c.torn == 0);
    const char *at = c.text.data;
    for (int i = 0; i < LINES; i++) {
        char *end;
        CHECK(strtol(at, &end, 10) == i);
        CHECK(strncmp(end, " end\n", 5) == 0);
        at = end + 5;
    }
    CHECK(*at == '\0');
    hdi_text_free(&c.text);
}

int main(void)
{
    integers_are_printed_as_c_does();
    length_modifiers_narrow();
    reals_are_printed_as_c_does();
    vectors_have_commas();
    strings_and_percent_signs();
    what_is_no_conversion_is_refused();
    lines_are_passed_on_whole();
    return 0;
}
