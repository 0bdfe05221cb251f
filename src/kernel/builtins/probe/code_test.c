// The code of the loops in probe.cl and exact.cl: nothing is called, and math
// and integer functions are vectorised with the registers of the machine. Of
// the functions that every.cl calls none is missing.
#include <stdbool.h>

#include "tests/check.h"

enum {
    LINE = 512
};

struct code {
    char name[LINE];
    int calls;
    int packed; // instructions on whole registers
};

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

// Read up to the end of the next function; false at the end of the file.
static bool next_function(FILE *file, const char *wide, struct code *code)
{
    char line[LINE];

    *code = (struct code){0};
    while (fgets(line, sizeof(line), file)) {
        size_t length = strcspn(line, ":");
        if (starts_with(line, ".Lfunc_end"))
            return true;
        if (line[0] != '\t' && line[0] != '.' && line[length] == ':') {
            memcpy(code->name, line, length);
            code->name[length] = '\0';
        }
        code->calls += strstr(line, "\tcall") != NULL;
        code->packed += strstr(line, wide) != NULL;
    }
    return false;
}

static int check_file(const char *path, const char *wide, int *functions)
{
    struct code code;
    int bad = 0;
    FILE *file = fopen(path, "r");

    CHECK(file);
    while (next_function(file, wide, &code)) {
        bool must_be_packed = starts_with(code.name, "probe_") ||
                              starts_with(code.name, "exact_");
        ++*functions;
        if (code.calls == 0 && (code.packed > 0 || !must_be_packed))
            continue;
        printf("%s: %s: %d calls, %d instructions with %s\n", path, code.name,
               code.calls, code.packed, wide);
        bad++;
    }
    fclose(file);
    return bad;
}

// Names of what a program used and found neither in itself nor in the library.
static int print_missing(const char *path)
{
    char line[LINE];
    int missing = 0;
    FILE *file = fopen(path, "r");

    CHECK(file);
    while (fgets(line, sizeof(line), file))
        // The work-group compiler knows where a work-item is.
        if (strstr(line, " U ") && !strstr(line, " llvm.") &&
            !strstr(line, " get_local_")) {
            printf("missing: %s", line);
            missing++;
        }
    fclose(file);
    return missing;
}

int main(void)
{
    int functions = 0;
    int bad = check_file(PROBE_FOLDER "/probe.v3.s", "%ymm", &functions) +
              check_file(PROBE_FOLDER "/exact.v3.s", "%ymm", &functions) +

              check_file(PROBE_FOLDER "/probe.v4.s", "%ymm", &functions);

    printf("%d loops\n", functions);
    CHECK(functions > 500);
    CHECK(bad == 0);
    CHECK(print_missing(PROBE_FOLDER "/every.missing") == 0);
    return 0;
}
