#include "graph/model/type.h"

#include <ctype.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "heddle/graph.h"

// Three components take the room of four (OpenCL C 6.1.5).
#define WIDTH(text, kind, bytes, n)                             \
    {                                                           \
        text #n, kind, n, bytes, (bytes) * ((n) == 3 ? 4 : (n)) \
    }
#define WIDTHS(text, kind, bytes)                                 \
    {text, kind, 1, bytes, bytes}, WIDTH(text, kind, bytes, 2),   \
        WIDTH(text, kind, bytes, 3), WIDTH(text, kind, bytes, 4), \
        WIDTH(text, kind, bytes, 8), WIDTH(text, kind, bytes, 16)

// The usual ones first: it is searched from the front.
static const struct hdi_type types[] = {
    WIDTHS("float", HDI_FLOAT, 4),   WIDTHS("uchar", HDI_UNSIGNED, 1),
    WIDTHS("uint", HDI_UNSIGNED, 4), WIDTHS("int", HDI_SIGNED, 4),
    WIDTHS("double", HDI_FLOAT, 8),  WIDTHS("char", HDI_SIGNED, 1),
    WIDTHS("short", HDI_SIGNED, 2),  WIDTHS("ushort", HDI_UNSIGNED, 2),
    WIDTHS("long", HDI_SIGNED, 8),   WIDTHS("ulong", HDI_UNSIGNED, 8),
    WIDTHS("half", HDI_HALF, 2),
};

const struct hdi_type *hdi_type_find(const char *name)
{
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (strcmp(types[i].name, name) == 0)
            return &types[i];
    return NULL;
}

uint32_t hd_type_size(const char *type)
{
    const struct hdi_type *found = type ? hdi_type_find(type) : NULL;
    return found ? found->size : 0;
}

static bool is_qualifier(const char *word)
{
    static const char *const qualifiers[] = {
        "const",   "volatile",   "restrict", "__restrict", "__global", "global",
        "__local", "__constant", "constant", "local",      "__private"};

    for (size_t i = 0; i < sizeof(qualifiers) / sizeof(qualifiers[0]); i++)
        if (strcmp(word, qualifiers[i]) == 0)
            return true;
    return false;
}

// C spells integers in several words: "unsigned int", "long int".
//
// `base` is the word that is left: "long" of "unsigned long int".
struct spelling {
    char base[32];
    bool is_unsigned, is_signed;
};

// False: two words that are no one type together.
static bool add_word(struct spelling *s, const char *word)
{
    if (is_qualifier(word))
        return true;
    if (strcmp(word, "unsigned") == 0)
        return s->is_unsigned = true;
    if (strcmp(word, "signed") == 0)
        return s->is_signed = true;
    if (strcmp(word, "int") == 0 &&
        (strcmp(s->base, "long") == 0 || strcmp(s->base, "short") == 0))
        return true;
    if (s->base[0])
        return false;
    strcpy(s->base, word);
    return true;
}

// A word of 32 letters or more is a typedef or struct, as no type here is so
// long.
const struct hdi_type *hdi_type_of_argument(const char *written)
{
    struct spelling s = {0};
    unsigned stars = 0;

    for (const char *c = written; *c;) {
        if (isspace((unsigned char)*c)) {
            c++;
        } else if (*c == '*') {
            if (++stars > 1)
                return NULL;
            c++;
        } else if (isalnum((unsigned char)*c) || *c == '_') {
            char word[32];
            size_t size = 0;
            for (; isalnum((unsigned char)*c) || *c == '_'; c++) {
                if (size + 1 >= sizeof(word))
                    return NULL;
                word[size++] = *c;
            }
            word[size] = '\0';
            if (!add_word(&s, word))
                return NULL;
        } else {
            return NULL;
        }
    }
    if (!s.base[0] && (s.is_unsigned || s.is_signed))
        strcpy(s.base, "int");
    if (s.is_unsigned) {
        char name[sizeof(s.base) + 1];
        snprintf(name, sizeof(name), "u%s", s.base);
        return hdi_type_find(name);
    }
    return hdi_type_find(s.base);
}

// By a variable of each size: the low bytes of `bits`, whatever the byte order.
static void store_integer(uint64_t bits, uint32_t size, void *to)
{
    uint8_t b1 = (uint8_t)bits;
    uint16_t b2 = (uint16_t)bits;
    uint32_t b4 = (uint32_t)bits;

    switch (size) {
    case 1:
        memcpy(to, &b1, 1);
        break;
    case 2:
        memcpy(to, &b2, 2);
        break;
    case 4:
        memcpy(to, &b4, 4);
        break;
    default:
        memcpy(to, &bits, 8);
    }
}

// Both bounds are powers of two and so exact as doubles.
static bool integer_fits(const struct hdi_type *type, double number)
{
    int bits = (int)type->scalar_size * 8;
    if (type->scalar == HDI_UNSIGNED)
        return number >= 0 && number < ldexp(1, bits);
    return number >= -ldexp(1, bits - 1) && number < ldexp(1, bits - 1);
}

// Infinity and NaN are floats; a number beyond the largest float is refused
// rather than made infinite.
static hd_status convert_one(const struct hdi_type *type, double number,
                             void *to, char problem[160])
{
    if (type->scalar == HDI_FLOAT && type->scalar_size == 8) {
        memcpy(to, &number, 8);
        return HD_OK;
    }
    if (type->scalar == HDI_FLOAT) {
        float narrow;
        if (isfinite(number) && fabs(number) > (double)FLT_MAX) {
            snprintf(problem, 160, "%.17g does not fit in '%s'", number,
                     type->name);
            return HD_EGRAPH;
        }
        narrow = (float)number;
        memcpy(to, &narrow, 4);
        return HD_OK;
    }
    if (number != floor(number) || !isfinite(number)) {
        snprintf(problem, 160, "%.17g is no whole number, but the type is '%s'",
                 number, type->name);
        return HD_EGRAPH;
    }
    if (!integer_fits(type, number)) {
        snprintf(problem, 160, "%.17g does not fit in '%s'", number,
                 type->name);
        return HD_EGRAPH;
    }
    store_integer(type->scalar == HDI_UNSIGNED ? (uint64_t)number
                                               : (uint64_t)(int64_t)number,
                  type->scalar_size, to);
    return HD_OK;
}

// Padding is zeroed. After a failure `value` has anything in it.
hd_status hdi_type_convert(const struct hdi_type *type, const double *numbers,
                           uint32_t count, void *value, char problem[160])
{
    if (type->scalar == HDI_HALF) {
        snprintf(problem, 160,
                 "numbers are not turned into '%s'; declare the argument float",
                 type->name);
        return HD_EGRAPH;
    }
    if (count != 1 && count != type->width) {
        snprintf(problem, 160, "%u number%s for '%s'; give %s%u", count,
                 hdi_plural(count, "s"), type->name,
                 type->width > 1 ? "1 or " : "", type->width);
        return HD_EGRAPH;
    }
    memset(value, 0, type->size);
    for (uint32_t i = 0; i < type->width; i++) {
        hd_status status =
            convert_one(type, numbers[count == 1 ? 0 : i],
                        (char *)value + i * type->scalar_size, problem);
        if (status != HD_OK)
            return status;
    }
    return HD_OK;
}
