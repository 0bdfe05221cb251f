// A module is words of 32 bits: a head of five, then instructions.
//
//     magic | version | generator | bound | 0
//     length << 16 | opcode | operand | operand ...     length counts itself
//
// Only what is needed is known here: how long instructions are, and those that
// name types and specialisation constants.
#include "kernel/program/spirv.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/error.h"
#include "kernel/program.h"
#include "kernel/program/options.h"

// HEAD_WORDS and the numbers of instructions are of the SPIR-V specification.
// OLDEST to NEWEST: translators whose bitcode the compiler can read; a newer
// one writes what LLVM 19 does not know.
enum {
    MAGIC = 0x07230203,
    HEAD_WORDS = 5,
    OLDEST = 14, // versions of the translator
    NEWEST = 19,
    OP_LINE = 8,
    OP_TYPE_BOOL = 20,
    OP_TYPE_INT = 21,
    OP_TYPE_FLOAT = 22,
    OP_SPEC_CONSTANT_TRUE = 48,
    OP_SPEC_CONSTANT_FALSE = 49,
    OP_SPEC_CONSTANT = 50,
    OP_FUNCTION_END = 56,
    OP_DECORATE = 71,
    SPEC_ID = 1, // a decoration
    OP_NO_LINE = 317
};

// The bytes need not be aligned.
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
//
// A file that was cut at the border of an instruction is found by its end,
// which has to be that of a function; line information may follow.
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

// By the size of the caller's check (hdi_spirv_is()) there is a first word.
// `words` is freed by the caller in any case.
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

// Specialisation constants ----------------------------------------------------

// The instructions in turn: `at` is 0 before the first. NULL: no more.
//
// Lengths were checked by is_whole(): none is 0, none leaves the module. The
// text's memory comes from malloc(), so it is aligned.
static uint32_t *next_instruction(const struct hdi_text *words, size_t *at)
{
    uint32_t *data = (uint32_t *)(void *)words->data;

    *at += *at == 0 ? HEAD_WORDS : data[*at] >> 16;
    return *at < words->size / 4 ? data + *at : NULL;
}

// The first of these instructions, of `length` words at least, that has `value`
// as a word; NULL: none.
static uint32_t *find_instruction(const struct hdi_text *words, uint32_t first,
                                  uint32_t last, uint32_t length, unsigned word,
                                  uint32_t value)
{
    size_t at = 0;

    for (uint32_t *i; (i = next_instruction(words, &at));)
        if ((*i & 0xffff) >= first && (*i & 0xffff) <= last &&
            *i >> 16 >= length && i[word] == value)
            return i;
    return NULL;
}

static bool is_spec_id(const uint32_t *instruction)
{
    return (*instruction & 0xffff) == OP_DECORATE && *instruction >> 16 >= 4 &&
           instruction[2] == SPEC_ID;
}

// The constant with a number; NULL: there is none.
//
// In two steps: a decoration names the id of the constant, and the constant is
// found by its id. Decorations come before all constants.
static uint32_t *find_constant(const struct hdi_text *words, uint32_t number)
{
    size_t at = 0;

    for (const uint32_t *i; (i = next_instruction(words, &at));)
        if (is_spec_id(i) && i[3] == number)
            return find_instruction(words, OP_SPEC_CONSTANT_TRUE,
                                    OP_SPEC_CONSTANT, 3, 2, i[1]);
    return NULL;
}

// With the numbers that there are: most often the caller has counted instead of
// looked.
static hd_status fail_unknown(const struct hdi_text *words, const char *path,
                              uint32_t id, struct hd_error *error)
{
    struct hdi_text known = {0};
    const char *before = "it has";
    size_t at = 0;

    for (const uint32_t *i; (i = next_instruction(words, &at));)
        if (is_spec_id(i)) {
            hdi_text_print(&known, "%s %" PRIu32, before, i[3]);
            before = ",";
        }
    hd_status status = hdi_fail(
        error, HD_EINVAL,
        "%s: the SPIR-V module has no specialisation constant %" PRIu32 "; %s",
        path, id, known.data ? known.data : "it has none at all");
    hdi_text_free(&known);
    return status;
}

// In front of a value that is given as it is kept: "bits:0x3fc00000" is 1.5.
#define BITS "bits:"

// The bits of a half, rounded to the nearest.
//
// 65,520 is half way between the largest half and the next power, where
// rounding gives infinity. Below 2^-14 halves are subnormal and spaced evenly;
// the same formula holds for them with the exponent of the smallest normal one.
// A fraction that rounds up to the next power carries into the exponent by
// itself, since it is added.
static uint64_t half_of(double value)
{
    const uint64_t sign = signbit(value) ? 0x8000 : 0;

    if (isnan(value))
        return 0x7e00;
    value = fabs(value);
    if (value >= 65520)
        return sign | 0x7c00;
    int exponent = value < 0x1p-14 ? -14 : ilogb(value);
    return sign | (((uint64_t)(exponent + 14) << 10) +
                   (uint64_t)nearbyint(ldexp(value, 10 - exponent)));
}

// Each width is rounded once from the text, but a half twice: through a double,
// whose error is too small to matter unless it falls on a tie.
static bool parse_real(const char *text, uint32_t bits, uint64_t *value)
{
    char *end;
    double real = strtod(text, &end);
    float narrow = bits == 32 ? strtof(text, &end) : 0;
    uint32_t narrow_bits;

    memcpy(value, &real, sizeof(real));
    memcpy(&narrow_bits, &narrow, sizeof(narrow));
    if (bits == 32)
        *value = narrow_bits;
    if (bits == 16)
        *value = half_of(real);
    return end != text && *end == '\0' &&
           (bits == 16 || bits == 32 || bits == 64);
}

// What fits the type, signed or not.
//
// Negative numbers are taken for unsigned types too, as their bits. In a word,
// narrow signed values are extended with their sign, as SPIR-V asks for.
static bool parse_integer(const char *text, uint32_t bits, bool is_signed,
                          uint64_t *value)
{
    bool negative = strchr(text, '-') != NULL;
    uint64_t most = bits == 0 || bits > 64 ? 0 : UINT64_MAX >> (64 - bits);
    char *end;

    errno = 0;
    *value =
        negative ? (uint64_t)strtoll(text, &end, 0) : strtoull(text, &end, 0);
    bool fits = negative ? -*value <= most / 2 + 1 : *value <= most;
    // A narrow one has a word of its own.
    if (bits < 32 && !(is_signed && *value > most / 2))
        *value &= most;
    else if (bits < 32)
        *value |= ~most;
    return errno == 0 && end != text && *end == '\0' && fits && most > 0;
}

// False: the type cannot take it. Booleans have no value word: the instruction
// itself says true or false. Others have as many words as their type needs,
// which is checked before they are written.
static bool set_constant(const struct hdi_text *words, uint32_t *constant,
                         const char *text)
{
    const uint32_t *type =
        find_instruction(words, OP_TYPE_BOOL, OP_TYPE_FLOAT, 2, 1, constant[1]);
    uint32_t kind = type ? *type & 0xffff : 0, length = type ? *type >> 16 : 0;
    bool is_bits = strncmp(text, BITS, strlen(BITS)) == 0;
    uint64_t value;
    bool ok = false;

    if (is_bits)
        text += strlen(BITS);

    if (kind == OP_TYPE_BOOL && (*constant & 0xffff) != OP_SPEC_CONSTANT) {
        ok = parse_integer(text, 1, false, &value);
        if (ok)
            *constant =
                (*constant & ~0xffffu) |
                (value ? OP_SPEC_CONSTANT_TRUE : OP_SPEC_CONSTANT_FALSE);
        return ok;
    }
    if (kind == OP_TYPE_INT && length >= 4)
        ok = parse_integer(text, type[2], type[3] != 0, &value);
    else if (kind == OP_TYPE_FLOAT && length >= 3)
        ok = is_bits ? parse_integer(text, type[2], false, &value)
                     : parse_real(text, type[2], &value);
    if (!ok || *constant >> 16 != 3 + (type[2] > 32 ? 2u : 1u))
        return false;
    memcpy(constant + 3, &value, type[2] > 32 ? 8 : 4);
    return true;
}

static const char *type_name(const struct hdi_text *words,
                             const uint32_t *constant)
{
    const uint32_t *type =
        find_instruction(words, OP_TYPE_BOOL, OP_TYPE_FLOAT, 2, 1, constant[1]);

    switch (type ? *type & 0xffff : 0) {
    case OP_TYPE_BOOL:
        return "0 or 1";
    case OP_TYPE_INT:
        return "an integer of its size";
    default:
        return "a number";
    }
}

// The form of the options was checked when they were parsed. Constants set
// before an error stay set: the module is not used then.
hd_status hdi_spirv_specialise(struct hdi_text *words,
                               const char *const *options, const char *path,
                               struct hd_error *error)
{
    for (const char *const *o = options; *o; o++) {
        const char *number = *o + strlen(HDI_SPEC_OPTION);
        char *value;
        if (!hdi_is_specialisation(*o))
            continue;
        uint32_t id = (uint32_t)strtoul(number, &value, 10);
        uint32_t *constant = find_constant(words, id);
        if (!constant)
            return fail_unknown(words, path, id, error);
        if (!set_constant(words, constant, value + 1))
            return hdi_fail(error, HD_EINVAL,
                            "%s: specialisation constant %" PRIu32
                            " is %s, not '%s'",
                            path, id, type_name(words, constant), value + 1);
    }
    return HD_OK;
}

// The translator --------------------------------------------------------------

// It can be run by this user; which version it really is shows when it runs.
static bool is_there(const struct hdi_text *path)
{
    return !path->failed && access(path->data, X_OK) == 0;
}

// Fixed folders and not PATH: what is run with the rights of the process is not
// found by an environment that others may set. For the same reason the variable
// that names one is ignored in a program with another user's rights. `path` is
// empty or replaced, and after an error in the search it is empty.
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
