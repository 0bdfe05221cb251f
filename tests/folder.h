// The folder of the files that a test or a benchmark writes.
#ifndef HEDDLE_TESTS_FOLDER_H
#define HEDDLE_TESTS_FOLDER_H

#include <stdio.h>
#include <stdlib.h>

// Makes an empty folder under $TMPDIR, else where the system has temporary
// files, and returns its path: the caller removes it. One a source file; ends
// the program when there can be none.
static inline const char *make_folder(void)
{
    static char path[256];
    const char *parent = getenv("TMPDIR");

    snprintf(path, sizeof(path), "%s/heddle-test-XXXXXX",
             parent && parent[0] != '\0' ? parent : P_tmpdir);
    if (!mkdtemp(path)) {
        perror(path);
        exit(1);
    }
    return path;
}

#endif
