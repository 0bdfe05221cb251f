// Options come from applications, and through OpenCL from anybody's program:
// the compiler is not to be told to load a plugin or write a file. So what is
// allowed is listed, and everything else refused; -D and -I take text, which is
// checked for its form.
#include "kernel/program/options.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/rules.h"

// Whole words. What has a value behind '=' and is not here is looked at by
// prefix in check().
static const char *const allowed[] = {
    "-cl-std=CL1.0",
    "-cl-std=CL1.1",
    "-cl-std=CL1.2",
    "-cl-std=CL2.0",
    "-cl-std=CL3.0",
    "-cl-single-precision-constant",
    "-cl-denorms-are-zero",
    "-cl-fp32-correctly-rounded-divide-sqrt",
    "-cl-opt-disable",
    "-cl-strict-aliasing",
    "-cl-mad-enable",
    "-cl-no-signed-zeros",
    "-cl-unsafe-math-optimizations",
    "-cl-finite-math-only",
    "-cl-fast-relaxed-math",
    "-cl-kernel-arg-info",
    "-cl-uniform-work-group-size",
    "-cl-no-subgroup-ifp",
    "-w",
    "-Werror",
    "-g",
    // Heddle's own.
    "-heddle-check",
    "-heddle-debug",
    "-heddle-form=coroutine",
    "-heddle-form=loops",
    "-heddle-form=thread",
    "-heddle-passes=dump",
    "-heddle-passes=verify",
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// Cut the next word out of `*at`, in place, without its quotes. NULL: no more.
// `*open` is set when a quote is not closed.
//
// Words become shorter or stay as long, so they are written over themselves. A
// backslash only escapes a quote or another one; before anything else it stays,
// for paths and macros.
static char *next_word(char **at, bool *open)
{
    char *from = *at, *word, *to;
    bool quoted = false;

    while (is_blank(*from))
        from++;
    if (!*from)
        return NULL;
    for (word = to = from; *from && (quoted || !is_blank(*from)); from++) {
        if (*from == '"')
            quoted = !quoted;
        else if (*from == '\\' && (from[1] == '"' || from[1] == '\\'))
            *to++ = *++from;
        else
            *to++ = *from;
    }
    *open |= quoted;
    *at = *from ? from + 1 : from;
    *to = '\0';
    return word;
}

// A name, or a name with parameters, and perhaps a value.
//
// What is behind '=' may be anything: it is one word for the front end.
static bool is_definition(const char *text)
{
    if (!isalpha((unsigned char)*text) && *text != '_')
        return false;
    while (isalnum((unsigned char)*text) || *text == '_')
        text++;
    if (*text == '(') {
        while (isalnum((unsigned char)*++text) || strchr("_,. ", *text))
            if (*text == '\0')
                return false;
        if (*text++ != ')')
            return false;
    }
    return *text == '\0' || *text == '=';
}

// A number, and something that it is to be.
//
// Nine digits at most, so that the number fits into 32 bits. The value is
// looked at when its type is known (spirv.c).
static bool names_constant(const char *text)
{
    size_t digits = strspn(text, "0123456789");

    return digits > 0 && digits < 10 && text[digits] == '=' && text[digits + 1];
}

static bool is_number(const char *text)
{
    size_t digits = strspn(text, "0123456789");

    return digits > 0 && digits < 10 && text[digits] == '\0';
}

// All texts begin with "build option": the OpenCL driver tells by that whose
// fault it is (icd/build.c).
static hd_status check(const char *word, struct hd_error *error)
{
    if (hdi_is_specialisation(word))
        return names_constant(word + strlen(HDI_SPEC_OPTION))
                   ? HD_OK
                   : hdi_fail(error, HD_EINVAL,
                              "build option '%s': " HDI_SPEC_OPTION
                              " takes the number of a constant and its value, "
                              "as in " HDI_SPEC_OPTION "7=1.5",
                              word);
    if (strncmp(word, HDI_WITHOUT_OPTION, strlen(HDI_WITHOUT_OPTION)) == 0)
        return HD_OK; // the compiler knows the names
    if (strncmp(word, HDI_BUDGET_OPTION, strlen(HDI_BUDGET_OPTION)) == 0)
        return is_number(word + strlen(HDI_BUDGET_OPTION))
                   ? HD_OK
                   : hdi_fail(error, HD_EINVAL,
                              "build option '%s': " HDI_BUDGET_OPTION
                              " takes a number of up to nine digits",
                              word);
    if (strncmp(word, HDI_KERNEL_OPTION, strlen(HDI_KERNEL_OPTION)) == 0)
        return word[strlen(HDI_KERNEL_OPTION)]
                   ? HD_OK
                   : hdi_fail(error, HD_EINVAL,
                              "build option '" HDI_KERNEL_OPTION
                              "' takes the name of a kernel");
    if (strncmp(word, "-D", 2) == 0)
        return is_definition(word + 2)
                   ? HD_OK
                   : hdi_fail(error, HD_EINVAL,
                              "build option '%s': -D takes a name, "
                              "name=value or name(parameters)=value",
                              word);
    if (strncmp(word, "-I", 2) == 0)
        return word[2] ? HD_OK
                       : hdi_fail(error, HD_EINVAL,
                                  "build option '-I' takes a folder");
    for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
        if (strcmp(word, allowed[i]) == 0)
            return HD_OK;
    return hdi_fail(error, HD_EINVAL,
                    "build option '%s' is not one of OpenCL 1.2 (-D, -I, "
                    "-cl-..., -w, -Werror, -g) nor of Heddle (-heddle-...)",
                    word);
}

// "-D N" is one option in two words.
static bool takes_next(const char *word)
{
    return strcmp(word, "-D") == 0 || strcmp(word, "-I") == 0;
}

// One allocation, two halves: joined words go into the first, the second is a
// copy of `text` that next_word() cuts up. The array of words ends with NULL,
// since there are never as many words as bytes. After an error the caller frees
// what is there.
static hd_status split(struct hdi_options *options, const char *text,
                       struct hd_error *error)
{
    size_t most = strlen(text) + 1;
    bool open = false;
    char *rest, *out;

    // Joined words are as long as the text at most, with a 0 each.
    options->text = calloc(2, most + 1);
    options->words = calloc(most, sizeof(*options->words));
    if (!options->text || !options->words)
        return hdi_fail(error, HD_ENOMEM, "no memory for build options");
    out = options->text;
    rest = options->text + most + 1;
    memcpy(rest, text, most);

    for (char *word; (word = next_word(&rest, &open)) != NULL;) {
        char *option = out;
        bool joined = takes_next(word);
        out = stpcpy(out, word);
        if (joined && (word = next_word(&rest, &open)) != NULL)
            out = stpcpy(out, word);
        out++;
        if (open)
            return hdi_fail(error, HD_EINVAL,
                            "build option '%s': a quote is not closed", option);
        HDI_TRY(check(option, error));
        options->words[options->count++] = option;
    }
    return HD_OK;
}

hd_status hdi_options_parse(const char *text, struct hdi_options *options,
                            struct hd_error *error)
{
    struct hdi_options made = {0};
    hd_status status = split(&made, text ? text : "", error);

    if (status != HD_OK)
        hdi_options_free(&made);
    else
        *options = made;
    return status;
}

void hdi_options_free(struct hdi_options *options)
{
    free(options->text);
    free(options->words);
    *options = (struct hdi_options){0};
}
