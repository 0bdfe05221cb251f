#include "kernel/spirv.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/error.h"
#include "kernel/program.h"

enum {
    MAGIC = 0x07230203,
    HEAD_WORDS = 5,
    OLDEST = 14, // versions of the translator
    NEWEST = 19,
    OP_LINE = 8,
    OP_FUNCTION_END = 56,
    OP_NO_LINE = 317
};

static uint32_t word_at(const unsigned char *data, size_t index, bool swapped)
{
    uint32_t word;

    memcpy(&word, data + 4 * index, sizeof(word));
    return swapped ? __builtin_bswap32(word) : word;
}

bool hdi_spirv_is(const void *data, size_t size)
{
    return size >= 4 && (word_at(data, 0, false) == MAGIC ||
                         word_at(data, 0, true) == MAGIC);
}

// Every instruction begins with its length, and functions come last.
static bool is_whole(const struct hdi_text *words)
{
    const unsigned char *data = (const unsigned char *)words->data;
    size_t count = words->size / 4, at = HEAD_WORDS;
    uint32_t last = 0;

    if (words->size % 4 != 0 || count <= HEAD_WORDS)
        return false;
    while (at < count) {
        uint32_t first = word_at(data, at, false), length = first >> 16;
        if (length == 0 || length > count - at)
            return false;
        if ((first & 0xffff) != OP_LINE && (first & 0xffff) != OP_NO_LINE)
            last = first & 0xffff;
        at += length;
    }
    return last == OP_FUNCTION_END;
}

hd_status hdi_spirv_read(const void *data, size_t size, const char *path,
                         struct hdi_text *words, struct hd_error *error)
{
    hdi_text_append(words, data, size);
    if (words->failed)
        return hdi_fail(error, HD_ENOMEM, "%s: no memory to read it", path);
    if (word_at(data, 0, false) != MAGIC)
        for (size_t i = 0; i < size / 4; i++) {
            uint32_t word = word_at(data, i, true);
            memcpy(words->data + 4 * i, &word, sizeof(word));
        }
    return is_whole(words)
               ? HD_OK
               : hdi_fail(error, HD_EFORMAT,
                          "%s: the SPIR-V module is damaged, or cut", path);
}

// The translator --------------------------------------------------------------

static bool is_there(const struct hdi_text *path)
{
    return !path->failed && access(path->data, X_OK) == 0;
}

hd_status hdi_spirv_find_translator(struct hdi_text *path,
                                    struct hd_error *error)
{
    static const char *const folders[] = {"/usr/bin", "/usr/local/bin"};
    const char *named =
        getauxval(AT_SECURE) ? NULL : getenv("HEDDLE_LLVM_SPIRV");

    if (named && *named) {
        hdi_text_print(path, "%s", named);
        return is_there(path)
                   ? HD_OK
                   : hdi_fail(error, HD_ENOTSUP,
                              "SPIR-V cannot be translated: %s, as "
                              "HEDDLE_LLVM_SPIRV says, cannot be run",
                              named);
    }
    for (int version = NEWEST; version >= OLDEST; version--)
        for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
            hdi_text_free(path);
            hdi_text_print(path, "%s/llvm-spirv-%d", folders[i], version);
            if (is_there(path))
                return HD_OK;
        }
    hdi_text_free(path);
    return hdi_fail(error, HD_ENOTSUP,
                    "SPIR-V needs a translator: install llvm-spirv-15, or "
                    "name one in HEDDLE_LLVM_SPIRV (versions %d to %d)",
                    OLDEST, NEWEST);
}

void hdi_spirv_describe(struct hdi_text *text)
{
    struct hdi_text path = {0};
    struct hd_error error;

    if (!hdi_has_compiler())
        hdi_text_print(text, "no: it needs the compiler");
    else if (hdi_spirv_find_translator(&path, &error) == HD_OK)
        hdi_text_print(text, "through %s", path.data);
    else
        hdi_text_print(text, "no: %s", error.text);
    hdi_text_free(&path);
}
