// The folder of the files that a test or a benchmark writes.
#ifndef HEDDLE_TESTS_FOLDER_H
#define HEDDLE_TESTS_FOLDER_H

#include <stdio.h>
#include <stdlib.h>

enum {
    PATH_ROOM = 256
};

// What mkdtemp() and mkstemp() make a name of, under $TMPDIR, else where the
// system has temporary files.
static inline void write_template(char path[PATH_ROOM])
{
    const char *parent = getenv("TMPDIR");

    snprintf(path, PATH_ROOM, "%s/heddle-test-XXXXXX",
             parent && parent[0] != '\0' ? parent : P_tmpdir);
}

// Makes an empty folder there and returns its path: the caller removes it. One
// a source file; ends the program when there can be none.
static inline const char *make_folder(void)
{
    static char path[PATH_ROOM];

    write_template(path);
    if (!mkdtemp(path)) {
        perror(path);
        exit(1);
    }
    return path;
}

#endif
