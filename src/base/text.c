#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

void hdi_text_json(struct hdi_text *text, const char *string)
{
    hdi_text_append(text, "\"", 1);
    for (const char *c = string; *c; c++) {
        if (*c == '"' || *c == '\\')
            hdi_text_print(text, "\\%c", *c);
        else if ((unsigned char)*c < 0x20)
            hdi_text_print(text, "\\u%04x", (unsigned)*c);
        else
            hdi_text_append(text, c, 1);
    }
    hdi_text_append(text, "\"", 1);
}

void hdi_text_free(struct hdi_text *text)
{
    free(text->data);
    *text = (struct hdi_text){0};
}
