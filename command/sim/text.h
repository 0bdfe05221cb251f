// Machines and workloads: files of statements, each of which is a row of words
// here, and every complaint names file and line. How a Lua program becomes
// statements is in statements.c: `resource { "vector", 128, energy = 4 }` is
// the words resource, vector, 128, energy, 4; what has a name comes last, by
// name, and `name = true` is its name alone.
#ifndef HEDDLE_SIM_TEXT_H
#define HEDDLE_SIM_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heddle/status.h"

enum {
    SIM_WORDS = 128,
    SIM_STATEMENTS = 64 // that are given once
};

struct sim_statement {
    unsigned line, count; // of its words
    size_t first;         // in `words`
};

struct sim_text {
    const char *path;
    char *data;
    char *next; // line of it, for who reads lines
    unsigned line;
    // All statements, once they were read: their words lie one behind another,
    // each behind a byte that says in how many tables it was.
    bool is_read;
    struct sim_statement *statement;
    size_t statement_count, statement_room, statement_at;
    char *words;
    size_t word_size, word_room;
    // This statement:
    unsigned count, used; // words; those already taken
    const char *word[SIM_WORDS];
    unsigned char depth[SIM_WORDS]; // of tables around it
    bool key[SIM_WORDS];            // it named something, see sim_text_key()
    unsigned once_count;            // see sim_text_once()
    struct {
        const char *word, *name;
        unsigned line;
    } once[SIM_STATEMENTS];
    struct hd_error *error;
};

enum {
    SIM_FILE_LIMIT = 256 << 20
}; // [bytes]

hd_status sim_text_open(struct sim_text *text, const char *path,
                        struct hd_error *error);
// From memory; `name` is shown in complaints.
hd_status sim_text_from(struct sim_text *text, const char *name,
                        const char *data, size_t size, struct hd_error *error);
void sim_text_close(struct sim_text *text);

// The next statement; *more false at the end.
hd_status sim_text_statement(struct sim_text *text, bool *more);

// The next word of the statement, or NULL.
const char *sim_text_word(struct sim_text *text);

// Take the next word if it is this one.
bool sim_text_is(struct sim_text *text, const char *word);

// Complain when a statement before began with the same word, and went on with
// the same name where it is `named`.
hd_status sim_text_once(struct sim_text *text, bool named);

// Take the next word, of which there is one, as the name of something; complain
// when it was taken as one in this statement before.
hd_status sim_text_key(struct sim_text *text, const char **key);

// A complaint about this statement. What cannot be printed is shown as "?".
__attribute__((format(printf, 2, 3))) hd_status
sim_text_fail(struct sim_text *text, const char *format, ...);

// The next word as a number from `low` to `high`; `what` names it.
hd_status sim_text_number(struct sim_text *text, const char *what, uint64_t low,
                          uint64_t high, uint64_t *value);
hd_status sim_text_real(struct sim_text *text, const char *what, double low,
                        double high, double *value);

// The next word as the name of `what`, shorter than `size`.
hd_status sim_text_name(struct sim_text *text, const char *what, char *name,
                        size_t size);

// Complain about words that are left over.
hd_status sim_text_end(struct sim_text *text);

#endif
