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

static int cl(const struct options *given)
{
    char driver[PATH_MAX];
    const char *trace = option_value(given, "--trace");
    char *const *words = given->operands;

    if (!find_driver(driver)) {
        fputs("heddle cl: libheddle-opencl.so is not beside this command: "
              "install opencl-headers and build Heddle again\n",
              stderr);
        return EXIT_FAILED;
    }
    // One for each of the loaders there are: both take a driver's path.
    if (setenv("OCL_ICD_VENDORS", driver, 1) != 0 ||
        setenv("OCL_ICD_FILENAMES", driver, 1) != 0 ||
        (option_given(given, "--as-gpu") &&
         setenv("HEDDLE_AS_GPU", "1", 1) != 0) ||
        (option_given(given, "--guard") &&
         setenv("HEDDLE_GUARD", "1", 1) != 0) ||
        (trace && !set_trace(trace))) {
        fprintf(stderr, "heddle cl: %s\n", strerror(errno));
        return EXIT_FAILED;
    }
    execvp(words[0], words);
    fprintf(stderr, "heddle cl: '%s' cannot be started: %s\n", words[0],
            strerror(errno));
    return errno == ENOENT ? 127 : 126;
}

static const struct command_option options[] = {
    {"--as-gpu", NULL, "let programs that ask for a GPU have the processor",
     OPTION_FLAG, false},
    {"--guard", NULL, "end launches that touch what is just past a buffer",
     OPTION_FLAG, false},
    {"--trace", "FILE", "write what ran as Chrome trace JSON at its end",
     OPTION_TEXT, false},
    {0},
};

const struct command cl_command = {
    .name = "cl",
    .operand = "PROGRAM",
    .rest = true,
    .ends_at_once = true,
    .summary = "run a program that uses OpenCL on Heddle",
    .about = "Run a program that uses OpenCL with Heddle as its only platform. "
             "It is started\nwith the loader's variables OCL_ICD_VENDORS and "
             "OCL_ICD_FILENAMES naming Heddle's\ndriver; nothing is installed. "
             "Its exit status is the program's.\n",
    .options = options,
    .run = cl,
};
