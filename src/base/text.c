#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Doubles, so that n bytes are copied twice at most on the way. One more byte
// for the final 0. After a failure the text stays as it is, and takes no more.
static bool reserve(struct hdi_text *text, size_t more)
{
    if (text->failed)
        return false;

    size_t needed = text->size + more + 1;
    if (needed <= text->capacity)
        return true;

    size_t capacity = text->capacity ? text->capacity : 64;
    while (capacity < needed)
        capacity *= 2;
    char *data = realloc(text->data, capacity);
    if (!data) {
        text->failed = true;
        return false;
    }
    text->data = data;
    text->capacity = capacity;
    return true;
}

void hdi_text_append(struct hdi_text *text, const void *data, size_t size)
{
    if (!reserve(text, size))
        return;

    if (size > 0)
        memcpy(text->data + text->size, data, size);
    text->size += size;
    text->data[text->size] = '\0';
}

// Measured first, then written: no length is too long.
void hdi_text_print(struct hdi_text *text, const char *format, ...)
{
    va_list args, again;

    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    if (length >= 0 && reserve(text, (size_t)length)) {
        vsnprintf(text->data + text->size, (size_t)length + 1, format, again);
        text->size += (size_t)length;
    }
    va_end(again);
    va_end(args);
}

// Bytes of the UTF-8 sequence at `c`, 0 when there is none.
// Also refuses codes written longer than needed, halves of pairs and what is
// above U+10FFFF: readers of JSON do.
static size_t sequence(const unsigned char *c)
{
    static const unsigned smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t size = c[0] < 0x80   ? 1
                  : c[0] < 0xc0 ? 0
                  : c[0] < 0xe0 ? 2
                  : c[0] < 0xf0 ? 3
                  : c[0] < 0xf8 ? 4
                                : 0;
    unsigned code = size > 1 ? c[0] & (0x7fu >> size) : c[0];

    for (size_t i = 1; i < size; i++) {
        if ((c[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (c[i] & 0x3f);
    }
    if (size > 1 && (code < smallest[size] || code > 0x10ffff ||
                     (code >= 0xd800 && code < 0xe000)))
        return 0;
    return size;
}

void hdi_text_json(struct hdi_text *text, const char *string)
{
    const unsigned char *c = (const unsigned char *)string;

    hdi_text_append(text, "\"", 1);
    while (*c) {
        size_t size = sequence(c);
        if (*c == '"' || *c == '\\')
            hdi_text_print(text, "\\%c", *c);
        else if (*c < 0x20)
            hdi_text_print(text, "\\u%04x", (unsigned)*c);
        else if (size == 0)
            hdi_text_append(text, "\\ufffd", 6); // what is no UTF-8
        else
            hdi_text_append(text, c, size);
        c += size ? size : 1;
    }
    hdi_text_append(text, "\"", 1);
}

void hdi_text_free(struct hdi_text *text)
{
    free(text->data);
    *text = (struct hdi_text){0};
}

size_t hdi_text_mark(const char *data, size_t size)
{
    static const char mark[] = {'\xef', '\xbb', '\xbf'};

    return size >= sizeof(mark) && memcmp(data, mark, sizeof(mark)) == 0
               ? sizeof(mark)
               : 0;
}
