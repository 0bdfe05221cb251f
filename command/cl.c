// heddle cl: run a program that uses OpenCL with Heddle as its only platform,
// without installing anything.
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "failure.h"

static const char usage[] =
    "Usage: heddle cl [OPTION]... [--] PROGRAM [ARGUMENT]...\n\n"
    "Run a program that uses OpenCL with Heddle as its only platform.\n\n"
    "Options:\n"
    "  --trace FILE write what ran as Chrome trace JSON at its end\n"
    "  --help       print this help and end\n\n"
    "The program is started with the loader's variables OCL_ICD_VENDORS and\n"
    "OCL_ICD_FILENAMES naming Heddle's driver; nothing is installed. Its exit\n"
    "status is the program's.\n";

// Where the driver may be, seen from the command. False: there are no more.
static bool candidate(unsigned index, const char *own, char *path)
{
    static const char *const folders[] = {COMMAND_TO_LIBRARY, "../lib"};
    int n;

    if (index >= sizeof(folders) / sizeof(folders[0]))
        return false;
    n = snprintf(path, PATH_MAX, "%s/%s/libheddle-opencl.so", own,
                 folders[index]);
    if (n < 0 || n >= PATH_MAX)
        *path = '\0';
    return true;
}

// The driver beside this command, or where it is installed with it. False:
// there is none.
static bool find_driver(char path[PATH_MAX])
{
    char own[PATH_MAX], tried[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);

    if (length <= 0)
        return false;
    own[length] = '\0';
    *strrchr(own, '/') = '\0';
    for (unsigned i = 0; candidate(i, own, tried); i++)
        if (realpath(tried, path) && access(path, R_OK) == 0)
            return true;
    return false;
}

// The file is the caller's, wherever the program goes. False: errno says why.
static bool set_trace(const char *file)
{
    char folder[PATH_MAX], path[2 * PATH_MAX];

    if (*file == '/')
        return setenv("HEDDLE_TRACE", file, 1) == 0;
    if (!getcwd(folder, sizeof(folder)))
        return false;
    snprintf(path, sizeof(path), "%s/%s", folder, file);
    return setenv("HEDDLE_TRACE", path, 1) == 0;
}

// Read the options: the first word behind them, or the exit code, negative.
static int read_options(int count, char **words, const char **trace)
{
    for (int i = 1; i < count && words[i][0] == '-'; i++) {
        if (strcmp(words[i], "--") == 0)
            return i + 1;
        if (strcmp(words[i], "--help") == 0) {
            fputs(usage, stdout);
            return -EXIT_DONE - 1;
        }
        if (strcmp(words[i], "--trace") == 0 && i + 1 < count) {
            *trace = words[++i];
            if (i + 1 == count || words[i + 1][0] != '-')
                return i + 1;
            continue;
        }
        fprintf(stderr,
                strcmp(words[i], "--trace") == 0
                    ? "heddle cl: %s needs a file; see heddle cl --help\n"
                    : "heddle cl: unknown option '%s'; see heddle cl --help\n",
                words[i]);
        return -EXIT_USAGE - 1;
    }
    return 1;
}

static int cl(int count, char **words)
{
    char driver[PATH_MAX];
    const char *trace = NULL;
    int first = read_options(count, words, &trace);

    if (first < 0)
        return -first - 1;
    if (first >= count) {
        fputs("heddle cl: which program? See heddle cl --help\n", stderr);
        return EXIT_USAGE;
    }
    if (!find_driver(driver)) {
        fputs("heddle cl: libheddle-opencl.so is not beside this command: "
              "install opencl-headers and build Heddle again\n",
              stderr);
        return EXIT_FAILED;
    }
    // One for each of the loaders there are: both take a driver's path.
    if (setenv("OCL_ICD_VENDORS", driver, 1) != 0 ||
        setenv("OCL_ICD_FILENAMES", driver, 1) != 0 ||
        (trace && !set_trace(trace))) {
        fprintf(stderr, "heddle cl: %s\n", strerror(errno));
        return EXIT_FAILED;
    }
    execvp(words[first], words + first);
    fprintf(stderr, "heddle cl: '%s' cannot be started: %s\n", words[first],
            strerror(errno));
    return errno == ENOENT ? 127 : 126;
}

const struct command cl_command = {
    .name = "cl",
    .summary = "run a program that uses OpenCL on Heddle",
    .own = cl,
};
