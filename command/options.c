// Invariant: after OPTIONS_GOOD every given option stands in the command's
// table, has the value its kind asks for, and is there once unless it may be
// there more often. The subcommands check nothing of this again.
#include "options.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const struct option help_option = {
    .name = "--help", .help = "print this help and end", .kind = OPTION_FLAG};

enum {
    HELP_COLUMN = 26 // where the explanations start
};

__attribute__((format(printf, 2, 3))) static enum options_outcome complain(
    const struct command *command, const char *format, ...)
{
    va_list args;

    fprintf(stderr, "heddle %s: ", command->name);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "; see heddle %s --help\n", command->name);
    return OPTIONS_BAD;
}

// Length of `name` without the final '*'.
static size_t stem(const struct option *option, bool *open)
{
    size_t length = strlen(option->name);

    *open = option->name[length - 1] == '*';
    return length - *open;
}

// Find the option that `word` is. `*attached` becomes a value that hangs on the
// word ("--trace=t.json", "-DN=4"), or NULL.
static const struct option *find(const struct command *command, char *word,
                                 char **attached)
{
    *attached = NULL;
    if (strcmp(word, help_option.name) == 0)
        return &help_option;
    for (const struct option *option = command->options; option->name;
         option++) {
        bool open;
        size_t length = stem(option, &open);

        if (strncmp(word, option->name, length) != 0)
            continue;
        char *rest = word + length;
        if (open || *rest == '\0')
            return option;
        if (option->name[1] == '-') {
            if (*rest != '=')
                continue;
            *attached = rest + 1;
            return option;
        }
        if (option->value) { // "-oFILE"
            *attached = rest;
            return option;
        }
    }
    return NULL;
}

static bool is_choice(const char *choices, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = choices; *at;) {
        size_t size = strcspn(at, "|");
        if (size == length && memcmp(at, word, size) == 0)
            return true;
        at += size + (at[size] == '|');
    }
    return false;
}

static bool is_number(const char *word)
{
    char *end;

    if (*word < '0' || *word > '9')
        return false;
    errno = 0;
    unsigned long number = strtoul(word, &end, 10);
    return *end == '\0' && errno == 0 && number >= 1 && number <= 1000000;
}

// Check `value` and append it.
static enum options_outcome take(struct options *given,
                                 const struct option *option, char *word,
                                 char *value)
{
    struct given *one = &given->list[given->count];

    *one = (struct given){.option = option, .word = word, .value = value};
    if (option->kind == OPTION_CHOICE && !is_choice(option->value, value))
        return complain(given->command, "option '%s' is %s, not '%s'",
                        option->name, option->value, value);
    if (option->kind == OPTION_NUMBER && !is_number(value))
        return complain(given->command,
                        "option '%s' takes a number from 1, not '%s'",
                        option->name, value);
    if (option->kind == OPTION_PAIR) {
        char *equals = strchr(value, '=');
        if (!equals || equals == value)
            return complain(given->command, "option '%s' takes %s, not '%s'",
                            option->name, option->value, value);
        *equals = '\0';
        one->name = value;
        one->value = equals + 1;
    }
    for (unsigned i = 0; i < given->count; i++) {
        if (given->list[i].option != option)
            continue;
        if (!option->many)
            return complain(given->command, "option '%s' given twice",
                            option->name);
        if (one->name && strcmp(one->name, given->list[i].name) == 0)
            return complain(given->command, "option '%s %s=...' given twice",
                            option->name, one->name);
    }
    given->count++;
    return OPTIONS_GOOD;
}

enum options_outcome options_parse(const struct command *command, int count,
                                   char **words, struct options *given)
{
    bool only_operands = false;

    *given = (struct options){.command = command};
    given->list = calloc((size_t)count + 1, sizeof(*given->list));
    given->operands = calloc((size_t)count + 1, sizeof(*given->operands));
    if (!given->list || !given->operands) {
        fprintf(stderr, "heddle: out of memory\n");
        return OPTIONS_FAILED;
    }
    for (int i = 0; i < count; i++) {
        char *word = words[i];
        char *value;

        if (only_operands || word[0] != '-' || word[1] == '\0') {
            if (!command->operand || (given->operand && !command->many))
                return complain(command, "unexpected argument '%s'", word);
            if (!given->operand)
                given->operand = word;
            given->operands[given->operand_count++] = word;
            continue;
        }
        if (strcmp(word, "--") == 0) {
            only_operands = true;
            continue;
        }
        const struct option *option = find(command, word, &value);
        if (!option)
            return complain(command, "unknown option '%s'", word);
        if (option == &help_option)
            return OPTIONS_HELP;
        if (!option->value && value)
            return complain(command, "option '%s' takes no value",
                            option->name);
        if (option->value && !value) {
            if (i + 1 == count)
                return complain(command, "option '%s' needs %s after it",
                                option->name, option->value);
            value = words[++i];
        }
        enum options_outcome outcome = take(given, option, word, value);
        if (outcome != OPTIONS_GOOD)
            return outcome;
    }
    if (command->operand && !command->optional && !given->operand)
        return complain(command, "no %s given", command->operand);
    return OPTIONS_GOOD;
}

void options_free(struct options *given)
{
    free(given->list);
    free(given->operands);
}

const struct given *option_next(const struct options *given, const char *name,
                                const struct given *last)
{
    const struct option *option = given->command->options;

    while (option->name && strcmp(option->name, name) != 0)
        option++;
    assert(option->name && "an option that is in no table");
    for (const struct given *at = last ? last + 1 : given->list;
         at < given->list + given->count; at++)
        if (at->option == option)
            return at;
    return NULL;
}

bool option_given(const struct options *given, const char *name)
{
    return option_next(given, name, NULL) != NULL;
}

const char *option_value(const struct options *given, const char *name)
{
    const struct given *one = option_next(given, name, NULL);

    return one ? one->value : NULL;
}

unsigned option_number(const struct options *given, const char *name,
                       unsigned otherwise)
{
    const char *value = option_value(given, name);

    return value ? (unsigned)strtoul(value, NULL, 10) : otherwise;
}

unsigned option_count(const struct options *given, const char *name)
{
    unsigned count = 0;

    for (const struct given *one = NULL;
         (one = option_next(given, name, one)) != NULL;)
        count++;
    return count;
}

static void option_help(const struct option *option, FILE *file)
{
    int width =
        fprintf(file, "  %s%s%s%s", option->name, option->value ? " " : "",
                option->value ? option->value : "", option->many ? " ..." : "");
    const char *line = option->help;

    // One column of air between an option and what it does, at least.
    if (width >= HELP_COLUMN) {
        fputc('\n', file);
        width = 0;
    }
    while (*line) {
        int length = (int)strcspn(line, "\n");
        fprintf(file, "%*s%.*s\n", HELP_COLUMN - width, "", length, line);
        line += length + (line[length] == '\n');
        width = 0;
    }
}

void options_help(const struct command *command, FILE *file)
{
    fprintf(file, "Usage: heddle %s [OPTION]...%s%s%s%s\n\n%s\nOptions:\n",
            command->name,
            !command->operand   ? ""
            : command->optional ? " ["
                                : " ",
            command->operand ? command->operand : "",
            command->optional ? "]" : "", command->many ? "..." : "",
            command->about);
    for (const struct option *option = command->options; option->name; option++)
        option_help(option, file);
    option_help(&help_option, file);
}
