#include "backend/print.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
    MAX_COLLECTED = 1 << 16, // from there on whole lines are passed on [bytes]
    MAX_FLAGS = 8,
    MAX_DIGITS = 6 // of a width or precision
};

// One conversion: "%-8.3v4hlf".
struct directive {
    char flags[MAX_FLAGS + 1];
    char width[MAX_DIGITS + 1], precision[MAX_DIGITS + 2]; // with its point
    unsigned lanes;                                        // 0: a scalar
    unsigned size; // that the length modifier says [bytes]; 0: none
    char conversion;
};

// Reading ---------------------------------------------------------------------

static bool copy_while(const char **at, const char *set, char *to, size_t most)
{
    size_t n = strspn(*at, set);
    if (n > most)
        return false;
    memcpy(to, *at, n);
    to[n] = '\0';
    *at += n;
    return true;
}

static bool read_lanes(const char **at, unsigned *lanes)
{
    *lanes = 0;
    if (**at != 'v')
        return true;
    ++*at;
    for (; **at >= '0' && **at <= '9' && *lanes < 100; ++*at)
        *lanes = *lanes * 10 + (unsigned)(**at - '0');
    return *lanes == 2 || *lanes == 3 || *lanes == 4 || *lanes == 8 ||
           *lanes == 16;
}

static unsigned read_size(const char **at)
{
    static const struct {
        const char *text;
        unsigned size;
        // OpenCL C knows the first three and `l`, sources of C the others.
    } modifiers[] = {{"hh", 1}, {"hl", 4}, {"h", 2}, {"ll", 8},
                     {"l", 8},  {"z", 8},  {"t", 8}, {"j", 8}};

    for (size_t i = 0; i < sizeof(modifiers) / sizeof(modifiers[0]); i++) {
        size_t n = strlen(modifiers[i].text);
        if (strncmp(*at, modifiers[i].text, n) == 0) {
            *at += n;
            return modifiers[i].size;
        }
    }
    return 0;
}

// What stands after a '%'; false: that is no conversion.
static bool read_directive(const char **at, struct directive *d)
{
    *d = (struct directive){0};
    if (!copy_while(at, "-+ #0", d->flags, MAX_FLAGS) ||
        !copy_while(at, "0123456789", d->width, MAX_DIGITS))
        return false;
    if (**at == '.') {
        d->precision[0] = *(*at)++;
        if (!copy_while(at, "0123456789", d->precision + 1, MAX_DIGITS))
            return false;
    }
    if (!read_lanes(at, &d->lanes))
        return false;
    d->size = read_size(at);
    d->conversion = **at;
    if (!d->conversion || !strchr("diouxXfFeEgGaAcsp", d->conversion))
        return false;
    ++*at;
    return true;
}

// Arguments -------------------------------------------------------------------

static float float_of_half(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16;
    uint32_t exponent = bits >> 10 & 31, mantissa = bits & 1023;
    float value;

    if (exponent == 0) { // a multiple of 2^-24
        value = (float)mantissa * 0x1p-24f;
        return sign ? -value : value;
    }
    exponent = exponent == 31 ? 255 : exponent + 112;
    uint32_t wide = sign | exponent << 23 | mantissa << 13;
    memcpy(&value, &wide, sizeof(value));
    return value;
}

static int64_t integer_of(const char *element, unsigned size)
{
    int8_t i8;
    int16_t i16;
    int32_t i32;
    int64_t i64;

    switch (size) {
    case 1:
        memcpy(&i8, element, sizeof(i8));
        return i8;
    case 2:
        memcpy(&i16, element, sizeof(i16));
        return i16;
    case 4:
        memcpy(&i32, element, sizeof(i32));
        return i32;
    default:
        memcpy(&i64, element, sizeof(i64));
        return i64;
    }
}

static double real_of(const char *element, unsigned size)
{
    uint16_t half_bits;
    float single;
    double wide;

    switch (size) {
    case 2:
        memcpy(&half_bits, element, sizeof(half_bits));
        return (double)float_of_half(half_bits);
    case 4:
        memcpy(&single, element, sizeof(single));
        return (double)single;
    default:
        memcpy(&wide, element, sizeof(wide));
        return wide;
    }
}

// The lowest `size` bytes, with or without sign.
static int64_t narrowed(int64_t value, unsigned size, bool with_sign)
{
    unsigned unused = 64 - 8 * size;
    uint64_t high = (uint64_t)value << unused;
    return with_sign ? (int64_t)high >> unused : (int64_t)(high >> unused);
}

// Writing ---------------------------------------------------------------------

static void print_element(struct hdi_text *text, const struct directive *d,
                          const struct hdi_print_arg *arg, const char *element)
{
    char format[48];
    bool whole = strchr("diouxX", d->conversion) != NULL;

    snprintf(format, sizeof(format), "%%%s%s%s%s%c", d->flags, d->width,
             d->precision, whole ? "ll" : "", d->conversion);
    if (strchr("fFeEgGaA", d->conversion)) {
        hdi_text_print(text, format,
                       arg->kind == HDI_PRINT_REAL
                           ? real_of(element, arg->size)
                           : (double)integer_of(element, arg->size));
        return;
    }
    int64_t value = arg->kind == HDI_PRINT_REAL
                        ? (int64_t)real_of(element, arg->size)
                        : integer_of(element, arg->size);
    if (whole) {
        unsigned size = d->size         ? d->size
                        : arg->size > 4 ? arg->size
                        : d->lanes      ? arg->size
                                        : 4;
        hdi_text_print(
            text, format,
            (long long)narrowed(value, size, strchr("di", d->conversion)));
    } else if (d->conversion == 'c') {
        hdi_text_print(text, format, (int)value);
    } else {
        const void *pointer = (const void *)(intptr_t)value;
        if (d->conversion == 's' && arg->kind != HDI_PRINT_POINTER)
            pointer = NULL;
        if (d->conversion == 's' && !pointer)
            pointer = "(null)";
        hdi_text_print(text, format, pointer);
    }
}

static void print_arg(struct hdi_text *text, const struct directive *d,
                      const struct hdi_print_arg *arg)
{
    const char *element = (const char *)(arg + 1);
    unsigned lanes = d->lanes < arg->lanes ? d->lanes : arg->lanes;

    if (lanes == 0)
        lanes = 1;
    for (unsigned i = 0; i < lanes; i++) {
        if (i > 0)
            hdi_text_append(text, ",", 1);
        print_element(text, d, arg, element + i * arg->size);
    }
}

static const struct hdi_print_arg *next_arg(const struct hdi_print_arg *arg)
{
    size_t words = ((size_t)arg->lanes * arg->size + 7) / 8;
    return arg + 1 + words; // one is as large as a word
}

int32_t hdi_print_format(struct hdi_text *text, const char *format,
                         const struct hdi_print_arg *args, uint32_t count)
{
    int32_t result = 0;

    while (*format) {
        size_t plain = strcspn(format, "%");
        hdi_text_append(text, format, plain);
        format += plain;
        if (!*format)
            break;
        if (format[1] == '%') {
            hdi_text_append(text, "%", 1);
            format += 2;
            continue;
        }
        const char *at = format + 1;
        struct directive directive;
        if (read_directive(&at, &directive) && count > 0) {
            print_arg(text, &directive, args);
            args = next_arg(args);
            count--;
        } else {
            // As it stands there.
            hdi_text_append(text, format, (size_t)(at - format));
            result = -1;
        }
        format = at;
    }
    return text->failed ? -1 : result;
}

// Passing on ------------------------------------------------------------------

static void pass_on(struct hdi_printer *p, size_t size)
{
    if (p->muted)
        ;
    else if (p->sink.print)
        p->sink.print(p->sink.data, p->text.data, size);
    else
        fwrite(p->text.data, 1, size, stdout); // in one piece
    memmove(p->text.data, p->text.data + size, p->text.size - size);
    p->text.size -= size;
}

int32_t hdi_printer_print(struct hdi_printer *p, const char *format,
                          const struct hdi_print_arg *args, uint32_t count)
{
    int32_t result = hdi_print_format(&p->text, format, args, count);

    if (p->text.failed) {
        // What is there goes out; the next call tries again.
        hdi_printer_flush(p);
        return -1;
    }
    if (p->text.size >= MAX_COLLECTED) {
        const char *end = memrchr(p->text.data, '\n', p->text.size);
        if (end)
            pass_on(p, (size_t)(end + 1 - p->text.data));
    }
    return result;
}

void hdi_printer_flush(struct hdi_printer *p)
{
    if (p->text.size > 0)
        pass_on(p, p->text.size);
    hdi_text_free(&p->text);
}
