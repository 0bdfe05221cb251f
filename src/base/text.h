// A growing text. Running out of memory is remembered, not lost: check once, at
// the end.
#ifndef HDI_BASE_TEXT_H
#define HDI_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

// Zeroed is empty. Belongs to one thread at a time; whoever has it may take
// `data`, which free() gives back.
struct hdi_text {
    char *data;      // 0-terminated, or NULL while empty
    size_t size;     // without the final 0 [bytes]
    size_t capacity; // [bytes]
    bool failed;     // out of memory: the text is not complete
};

__attribute__((format(printf, 2, 3))) void hdi_text_print(struct hdi_text *text,
                                                          const char *format,
                                                          ...);
void hdi_text_append(struct hdi_text *text, const void *data, size_t size);

// Append `string` as a JSON string, with its quotes. Bytes that are no UTF-8
// become U+FFFD.
void hdi_text_json(struct hdi_text *text, const char *string);

void hdi_text_free(struct hdi_text *text);

// The bytes that the mark of UTF-8 takes at its begin, 0 without one. Editors
// and spreadsheets write it; it is no part of the text.
size_t hdi_text_mark(const char *data, size_t size);

// The ending behind a number of things: "%u pass%s", n, hdi_plural(n, "es").
static inline const char *hdi_plural(unsigned long long n, const char *ending)
{
    return n == 1 ? "" : ending;
}

#endif
