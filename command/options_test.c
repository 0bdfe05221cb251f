// Parsing, against a table that has one option of every kind.
#include "options.h"

#include "tests/check.h"

static const struct command_option table[] = {
    {"--flag", NULL, "a flag", OPTION_FLAG, false},
    {"--text", "TEXT", "a text", OPTION_TEXT, false},
    {"--number", "N", "a number", OPTION_NUMBER, false},
    {"--choice", "red|green", "a choice", OPTION_CHOICE, false},
    {"--pair", "NAME=VALUE", "a pair", OPTION_PAIR, true},
    {"--file", "NAME=FILE", "a file by name", OPTION_PAIR, true},
    {"-o", "FILE", "a file", OPTION_TEXT, false},
    {"-D", "NAME", "a macro", OPTION_WORD, true},
    {"-cl-*", NULL, "more", OPTION_WORD, true},
    {"-w", NULL, "a letter", OPTION_WORD, false},
    {"-Werror", NULL, "a word", OPTION_WORD, false},
    {0},
};
static const struct command command = {
    .name = "test", .operand = "FILE", .about = "About.\n", .options = table};

enum {
    WORDS = 8
};

static const struct command *parsed = &command;

// Parse words that the parser may change, up to a NULL.
#define PARSE(given, ...) \
    parse(given, (const char * [WORDS + 1]){__VA_ARGS__, NULL})

static enum options_outcome parse(struct options *given, const char **words)
{
    static char copies[WORDS][64];
    char name[] = "test", *list[WORDS + 2] = {name};
    int count = 0;

    for (; words[count]; count++) {
        snprintf(copies[count], sizeof(copies[count]), "%s", words[count]);
        list[count + 1] = copies[count];
    }
    return options_parse(parsed, count + 1, list, given);
}

static void every_kind_gives_its_value(void)
{
    struct options given;

    CHECK(PARSE(&given, "--flag", "--text", "-x", "--number=7", "file",
                "--choice", "green") == OPTIONS_GOOD);
    CHECK(option_given(&given, "--flag"));
    CHECK(strcmp(option_value(&given, "--text"), "-x") == 0);
    CHECK(option_number(&given, "--number", 1) == 7);
    CHECK(strcmp(option_value(&given, "--choice"), "green") == 0);
    CHECK(strcmp(given.operand, "file") == 0);
    CHECK(option_value(&given, "-o") == NULL);
    options_free(&given);
}

static void pairs_come_in_order_and_split_at_the_first_equals(void)
{
    struct options given;

    CHECK(PARSE(&given, "f", "--pair", "a=1=2", "--pair=b=", "--flag", "--pair",
                "c=x") == OPTIONS_GOOD);
    CHECK(option_count(&given, "--pair") == 3);
    const struct given *one = option_next(&given, "--pair", NULL);
    CHECK(strcmp(one->name, "a") == 0 && strcmp(one->value, "1=2") == 0);
    one = option_next(&given, "--pair", one);
    CHECK(strcmp(one->name, "b") == 0 && strcmp(one->value, "") == 0);
    one = option_next(&given, "--pair", one);
    CHECK(strcmp(one->name, "c") == 0 && strcmp(one->value, "x") == 0);
    CHECK(option_next(&given, "--pair", one) == NULL);
    options_free(&given);
    CHECK(PARSE(&given, "f", "--file", "a=b") == OPTIONS_GOOD);
    options_free(&given);
    CHECK(PARSE(&given, "f", "--file", "a=") == OPTIONS_BAD); // no file's name
    options_free(&given);
}

static void short_options_take_attached_values(void)
{
    struct options given;

    CHECK(PARSE(&given, "-DN=4", "-D", "M", "-ox", "-cl-std=CL1.2", "--",
                "-file") == OPTIONS_GOOD);
    const struct given *one = option_next(&given, "-D", NULL);
    CHECK(strcmp(one->value, "N=4") == 0);
    CHECK(strcmp(option_next(&given, "-D", one)->value, "M") == 0);
    CHECK(strcmp(option_value(&given, "-o"), "x") == 0);
    CHECK(strcmp(option_next(&given, "-cl-*", NULL)->word, "-cl-std=CL1.2") ==
          0);
    CHECK(strcmp(given.operand, "-file") == 0);
    options_free(&given);
}

static void words_with_one_dash_are_taken_whole(void)
{
    struct options given;

    CHECK(PARSE(&given, "-w", "-Werror", "f") == OPTIONS_GOOD);
    CHECK(strcmp(option_next(&given, "-w", NULL)->word, "-w") == 0);
    CHECK(strcmp(option_next(&given, "-Werror", NULL)->word, "-Werror") == 0);
    CHECK(!option_next(&given, "-Werror", NULL)->value);
    options_free(&given);
    CHECK(PARSE(&given, "f", "-W") == OPTIONS_BAD);
    options_free(&given);
    CHECK(PARSE(&given, "f", "-Werrors") == OPTIONS_BAD);
    options_free(&given);
}

// A value may look like an option; "--" too.
static void values_may_begin_with_a_dash(void)
{
    struct options given;

    CHECK(PARSE(&given, "--text", "--", "-o", "--flag", "-") == OPTIONS_GOOD);
    CHECK(strcmp(option_value(&given, "--text"), "--") == 0);
    CHECK(strcmp(option_value(&given, "-o"), "--flag") == 0);
    CHECK(strcmp(given.operand, "-") == 0);
    options_free(&given);
}

// A command that starts another leaves that one's options alone.
static void the_rest_is_not_looked_at(void)
{
    const struct command starter = {
        .name = "start", .operand = "PROGRAM", .rest = true, .options = table};
    struct options given;

    parsed = &starter;
    CHECK(PARSE(&given, "--flag", "program", "--flag", "--", "-x") ==
          OPTIONS_GOOD);
    CHECK(given.count == 1 && given.operand_count == 4);
    CHECK(strcmp(given.operands[3], "-x") == 0);
    options_free(&given);
    CHECK(PARSE(&given, "--", "--flag") == OPTIONS_GOOD);
    CHECK(given.count == 0 && strcmp(given.operand, "--flag") == 0);
    options_free(&given);
    parsed = &command;
}

static void help_wins_over_what_is_missing(void)
{
    struct options given;

    CHECK(PARSE(&given, "--help") == OPTIONS_HELP);
    options_free(&given);
}

// What is refused; the messages are checked by tests/command/usage.sh.
static void mistakes_are_refused(void)
{
    static const char *const mistakes[][WORDS + 1] = {
        {"f", "--nothing"},
        {"f", "--flags"},
        {"f", "--fla"}, // an option is not cut short
        {"f", "--fla=1"},
        {"f", "--num", "3"},
        {"f", "-x"},
        {"f", "--flag=1"},
        {"f", "--text"},
        {"f", "--text", "a", "--text", "b"},
        {"f", "--number", "0"},
        {"f", "--number", "-1"},
        {"f", "--number", "1x"},
        {"f", "--number", "99999999999999999999"},
        {"f", "--choice", "blue"},
        {"f", "--choice", ""},
        {"f", "--choice", "red|green"},
        {"f", "--pair", "a"},
        {"f", "--pair", "=a"},
        {"f", "--pair", "a=1", "--pair", "a=2"},
        {"f", "g"},
        {"--flag"},
    };

    for (size_t i = 0; i < sizeof(mistakes) / sizeof(*mistakes); i++) {
        struct options given;
        const char *words[WORDS + 1];
        memcpy(words, mistakes[i], sizeof(words));
        CHECK(parse(&given, words) == OPTIONS_BAD);
        options_free(&given);
    }
}

int main(void)
{
    every_kind_gives_its_value();
    pairs_come_in_order_and_split_at_the_first_equals();
    short_options_take_attached_values();
    words_with_one_dash_are_taken_whole();
    values_may_begin_with_a_dash();
    the_rest_is_not_looked_at();
    help_wins_over_what_is_missing();
    mistakes_are_refused();
    return 0;
}
