// Options as data: one table per subcommand drives parsing, help and error
// texts.
#ifndef COMMAND_OPTIONS_H
#define COMMAND_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

enum exit_code {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,    // something went wrong at run time
    EXIT_USAGE = 2,     // the command line is wrong; nothing was done
    EXIT_CANCELED = 130 // by a signal, as shells say it for SIGINT
};

enum option_kind {
    OPTION_FLAG,   // nothing follows
    OPTION_TEXT,   // any text follows
    OPTION_NUMBER, // 1 or more
    OPTION_CHOICE, // one of the words in `value`: "cpu|gpu"
    OPTION_PAIR,   // NAME=TEXT; a name once only
    OPTION_WORD    // taken as it stands; a name that ends in '*' takes all that
                   // start so, a value may be attached ("-DN=4")
};

struct command_option {
    const char *name;  // "--in"
    const char *value; // what follows, as help calls it; NULL: nothing
    const char *help;  // '\n' starts another line
    enum option_kind kind;
    bool many; // may be given more than once
};

struct options;

struct command {
    const char *name;
    const char *operand;      // "PROGRAM.lua"; or NULL: none allowed
    bool optional;            // it need not be there
    bool many;                // operands: one or more
    bool rest;                // the first operand ends the options, all that
                              // follows is operands
    bool ends_at_once;        // at a signal, as any program does; it has
                              // nothing to finish
    const char *summary;      // half a line
    const char *about;        // more, for its own help; lines end in '\n'
    void (*list)(FILE *file); // behind the options: what can be chosen;
                              // optional
    const struct command_option *options; // up to one without a name
    int (*run)(const struct options *given);
};

// One option as it was given.
struct given {
    const struct command_option *option;
    const char *word;  // OPTION_WORD: the option as written
    const char *name;  // OPTION_PAIR: before the '='
    const char *value; // after it, or the whole value; NULL without one
};

struct options {
    const struct command *command;
    char **operands;
    unsigned operand_count;
    const char *operand; // the first, or NULL
    struct given *list;  // in the order given
    unsigned count;
};

enum options_outcome {
    OPTIONS_GOOD,
    OPTIONS_HELP,  // help was asked for and nothing else matters
    OPTIONS_BAD,   // a message was printed
    OPTIONS_FAILED // the same, and it is not the user's doing
};

// Parse words, of which the first is the subcommand. OPTION_PAIR arguments are
// split in place. options_free() is due in any case.
enum options_outcome options_parse(const struct command *command, int count,
                                   char **words, struct options *given);
void options_free(struct options *given);

// True when the option was given; `name` must be in the command's table.
bool option_given(const struct options *given, const char *name);

// The value of an option that may be given once, or NULL.
const char *option_value(const struct options *given, const char *name);

// Whether a word is a number as options take it, 1 to 1,000,000.
bool option_is_number(const char *word);
unsigned option_number(const struct options *given, const char *name,
                       unsigned otherwise);

// Step through the options of that name: NULL first, NULL at the end.
const struct given *option_next(const struct options *given, const char *name,
                                const struct given *last);
unsigned option_count(const struct options *given, const char *name);

// Print the help of one subcommand.
void options_help(const struct command *command, FILE *file);

#endif
