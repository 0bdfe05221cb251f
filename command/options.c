// getopt_long() splits the words; what it gets is made of the command's table.
// Invariant: after OPTIONS_GOOD every given option stands in that table, has
// the value its kind asks for, and is there once unless it may be there more
// often. The subcommands check nothing of this again.
#include "options.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const struct command_option help_option = {
    .name = "--help", .help = "print this help and end", .kind = OPTION_FLAG};

enum {
    HELP_COLUMN = 26, // where the explanations start
    WORD = 1,         // what getopt_long() gives for a word that is no option
    HELP = 255,
    LONG = 256 // the first option of the table; the next one more
};

// What getopt_long() is told of a command.
struct syntax {
    struct option *longs;
    char *shorts; // a letter may stand for several options, see find_word()
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

static bool is_letter(const struct command_option *option)
{
    return option->name[1] != '-' && option->name[2] == '\0';
}

// "--in" is long. "-o" is a letter, with a value behind or attached. For
// getopt_long() words such as "-Werror" and "-cl-std=CL1.2" are a letter with
// the rest attached: "W::".
static bool describe(const struct command *command, struct syntax *syntax)
{
    size_t count = 0, longs = 0, shorts = 0;

    while (command->options[count].name)
        count++;
    syntax->longs = calloc(count + 2, sizeof(*syntax->longs));
    syntax->shorts = calloc(3 * count + 3, 1);
    if (!syntax->longs || !syntax->shorts)
        return false;
    // '+': the first operand ends the options; '-': operands come in their
    // order.
    syntax->shorts[shorts++] = command->rest ? '+' : '-';
    syntax->shorts[shorts++] = ':';
    for (size_t i = 0; i < count; i++) {
        const struct command_option *option = &command->options[i];
        char letter = option->name[1];
        if (letter == '-') {
            syntax->longs[longs++] =
                (struct option){option->name + 2,
                                option->value ? required_argument : no_argument,
                                NULL, LONG + (int)i};
        } else if (!strchr(syntax->shorts, letter)) {
            syntax->shorts[shorts++] = letter;
            if (!is_letter(option) || option->value)
                syntax->shorts[shorts++] = ':';
            if (!is_letter(option))
                syntax->shorts[shorts++] = ':';
        }
    }
    syntax->longs[longs] = (struct option){"help", no_argument, NULL, HELP};
    return true;
}

// The option that a letter is.
static const struct command_option *find_letter(const struct command *command,
                                                int letter)
{
    for (const struct command_option *option = command->options; option->name;
         option++)
        if (is_letter(option) && option->name[1] == letter)
            return option;
    return NULL;
}

// The option that a whole word is, such as "-Werror" or one of "-cl-*".
static const struct command_option *find_word(const struct command *command,
                                              const char *word)
{
    for (const struct command_option *option = command->options; option->name;
         option++) {
        size_t length = strlen(option->name);
        if (option->name[length - 1] == '*'
                ? strncmp(word, option->name, length - 1) == 0
                : strcmp(word, option->name) == 0)
            return option;
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

bool option_is_number(const char *word)
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
                                 const struct command_option *option,
                                 const char *word, char *value)
{
    struct given *one = &given->list[given->count];

    *one = (struct given){.option = option,
                          .word = is_letter(option) ? option->name : word,
                          .value = option->value ? value : NULL};
    if (option->kind == OPTION_CHOICE && !is_choice(option->value, value))
        return complain(given->command, "option '%s' is %s, not '%s'",
                        option->name, option->value, value);
    if (option->kind == OPTION_NUMBER && !option_is_number(value))
        return complain(given->command,
                        "option '%s' takes a number from 1, not '%s'",
                        option->name, value);
    if (option->kind == OPTION_PAIR) {
        char *equals = strchr(value, '=');
        bool file = strstr(option->value, "=FILE");
        if (!equals || equals == value || (file && !equals[1]))
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

static enum options_outcome take_operand(struct options *given, char *word)
{
    const struct command *command = given->command;

    if (!command->operand ||
        (given->operand && !command->many && !command->rest))
        return complain(command, "unexpected argument '%s'", word);
    if (!given->operand)
        given->operand = word;
    given->operands[given->operand_count++] = word;
    return OPTIONS_GOOD;
}

// What getopt_long() calls wrong. `code` is the option's, 0 if it knows none.
static enum options_outcome refuse(const struct command *command, int code,
                                   const char *word, bool lacks_value)
{
    const struct command_option *option =
        code >= LONG   ? &command->options[code - LONG]
        : code == HELP ? &help_option
                       : find_letter(command, code);

    if (!option)
        return complain(command, "unknown option '%s'", word);
    return lacks_value
               ? complain(command, "option '%s' needs %s after it",
                          option->name, option->value)
               : complain(command, "option '%s' takes no value", option->name);
}

// getopt_long() takes the begin of a long option for the whole. That would
// become wrong with the next option that begins so.
static bool is_whole(const char *word, const struct option *found)
{
    size_t length = strlen(found->name);

    return strncmp(word + 2, found->name, length) == 0 &&
           (word[2 + length] == '\0' || word[2 + length] == '=');
}

// Take the next option or operand; false when there are no more.
static bool step(struct options *given, int count, char **words,
                 const struct syntax *syntax, enum options_outcome *outcome)
{
    const struct command *command = given->command;
    int index = -1, at = optind == 0 ? 1 : optind;
    int code = getopt_long(count, words, syntax->shorts, syntax->longs, &index);
    char *word = at < count ? words[at] : NULL;
    const struct command_option *option;

    if (code == -1)
        return false;
    if (code == WORD) {
        *outcome = take_operand(given, optarg);
        return true;
    }
    if (code == '?' || code == ':') {
        *outcome = refuse(command, optopt, word, code == ':');
        return true;
    }
    if (index >= 0 && !is_whole(word, &syntax->longs[index])) {
        *outcome = complain(command, "unknown option '%s'", word);
        return true;
    }
    if (code == HELP) {
        *outcome = OPTIONS_HELP;
        return true;
    }
    if (code >= LONG) {
        option = &command->options[code - LONG];
    } else {
        option = find_letter(command, code);
        if (!option)
            option = find_word(command, word);
    }
    *outcome = option ? take(given, option, word, optarg)
                      : complain(command, "unknown option '%s'", word);
    return true;
}

enum options_outcome options_parse(const struct command *command, int count,
                                   char **words, struct options *given)
{
    enum options_outcome outcome = OPTIONS_GOOD;
    struct syntax syntax = {0};

    *given = (struct options){.command = command};
    given->list = calloc((size_t)count + 1, sizeof(*given->list));
    given->operands = calloc((size_t)count + 1, sizeof(*given->operands));
    if (!given->list || !given->operands || !describe(command, &syntax)) {
        fprintf(stderr, "heddle: out of memory\n");
        outcome = OPTIONS_FAILED;
    }
    optind = 0; // begins anew
    opterr = 0;
    while (outcome == OPTIONS_GOOD &&
           step(given, count, words, &syntax, &outcome))
        ;
    while (outcome == OPTIONS_GOOD && optind < count)
        outcome = take_operand(given, words[optind++]);
    if (outcome == OPTIONS_GOOD && command->operand && !command->optional &&
        !given->operand)
        outcome = complain(command, "no %s given", command->operand);
    free(syntax.longs);
    free(syntax.shorts);
    return outcome;
}

void options_free(struct options *given)
{
    free(given->list);
    free(given->operands);
}

const struct given *option_next(const struct options *given, const char *name,
                                const struct given *last)
{
    const struct command_option *option = given->command->options;

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

static void option_help(const struct command_option *option, FILE *file)
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
            command->optional ? "]" : "",
            command->rest   ? " [ARGUMENT]..."
            : command->many ? "..."
                            : "",
            command->about);
    for (const struct command_option *option = command->options; option->name;
         option++)
        option_help(option, file);
    option_help(&help_option, file);
    if (command->list)
        command->list(file);
}
