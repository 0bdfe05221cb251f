// What makes up a random program, as far as it has been printed.
#ifndef HEDDLE_TESTS_PROGRAMS_GENERATOR_H
#define HEDDLE_TESTS_PROGRAMS_GENERATOR_H

#include <stdbool.h>

#include "tests/programs/program.h"

enum {
    MAX_RECORDS = 4,
    MAX_MEMBERS = 6,
    MAX_FUNCTIONS = 5,
    MAX_PARAMS = 3,
    MAX_VARIABLES = 24,
    MAX_DEPTH = 4,  // of expressions
    MAX_NESTING = 3 // of statements
};

// char to ulong; a signed one is even.
struct type {
    uint8_t base, width;
};

enum member_kind {
    PLAIN,
    ARRAY,  // of 4 numbers
    RECORD, // of an earlier structure
    UNION   // of a number, and the same bytes as a vector
};

struct member {
    enum member_kind kind;
    struct type type; // PLAIN, ARRAY; UNION: of the vector
    unsigned record;
};

struct record {
    unsigned count;
    struct member members[MAX_MEMBERS];
};

struct function {
    struct type result, params[MAX_PARAMS];
    unsigned param_count;
    bool takes_record; // the last structure, by value
};

// What an assignment can change or an expression read, as it is written.
struct variable {
    char text[48];
    struct type type;
    bool fixed;     // not to be assigned
    bool unpointed; // nothing points to it: other types share its bytes
};

struct generator {
    FILE *to;
    uint64_t state;
    struct record records[MAX_RECORDS];
    unsigned record_count;
    struct function functions[MAX_FUNCTIONS];
    unsigned function_count;
    struct variable variables[MAX_VARIABLES];
    unsigned variable_count;
    unsigned names;
    unsigned calls, loops; // that may still come
    unsigned depth;        // of loops
    unsigned deepest;      // of a loop with a call in it
    bool in_loop;          // `continue` and `break` are allowed
    int indent;
};

// Draw a number, and whether something that comes in so many of a hundred cases
// comes now.
uint32_t draw(struct generator *g, uint32_t below);
bool chance(struct generator *g, uint32_t percent);

__attribute__((format(printf, 2, 3))) void put(struct generator *g,
                                               const char *format, ...);

const char *name_of(struct type t); // good until eight more are asked for
bool is_signed(struct type t);
unsigned size_of(struct type t); // of one number [bytes]
struct type scalar_type(struct generator *g);
struct type any_type(struct generator *g);

// A variable of the type, one that can be assigned if need be; or NULL.
const struct variable *find(struct generator *g, struct type t, bool assigned);
const struct variable *any_variable(struct generator *g);

// Print an expression of the type. Nothing in it changes anything: there is no
// order of evaluation.
void expression(struct generator *g, struct type t, unsigned depth);

#endif
