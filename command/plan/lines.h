// A text file of lines of unsigned numbers.
#ifndef COMMAND_PLAN_LINES_H
#define COMMAND_PLAN_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "heddle/status.h"

struct lines {
    const char *path;
    struct hdi_text text;
    char *next, *at; // the next line; what is left of this one
    unsigned line;
    struct hd_error *error;
};

hd_status lines_open(struct lines *lines, const char *path,
                     struct hd_error *error);
void lines_close(struct lines *lines);

// Go to the next line that is not empty and does not begin with '#'; false at
// the end.
bool lines_next(struct lines *lines);

// Cut the next word, up to blanks or one of `separators`, from the line; NULL
// at its end.
char *lines_word(struct lines *lines, const char *separators);

// The next word as a number up to `most`; `what` names it in complaints.
hd_status lines_number(struct lines *lines, const char *separators,
                       const char *what, uint64_t most, uint64_t *number);

// A complaint about this line.
__attribute__((format(printf, 2, 3))) hd_status lines_fail(struct lines *lines,
                                                           const char *format,
                                                           ...);

#endif
