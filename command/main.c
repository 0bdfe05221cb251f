// The command `heddle`: kernels and graph programs without writing C. Uses the
// public API only.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "heddle/version.h"
#include "interrupt.h"

static const struct command *const commands[] = {
    &info_command, &run_command,    &graph_command, &build_command,
    &cl_command,   &report_command, &sim_command};

enum {
    COMMANDS = sizeof(commands) / sizeof(*commands)
};

static void usage(FILE *file)
{
    fprintf(file, "Usage: heddle COMMAND [OPTION]... [ARGUMENT]\n\n"
                  "OpenCL C kernels on every processor of a machine.\n\n"
                  "Commands:\n");
    for (int i = 0; i < COMMANDS; i++)
        fprintf(file, "  %-10s%s\n", commands[i]->name, commands[i]->summary);
    fprintf(file, "\nOptions:\n"
                  "  --help    print this help and end\n"
                  "  --version print the version and end\n\n"
                  "heddle COMMAND --help tells more of a command.\n");
}

static int run(int count, char **words)
{
    struct options options;
    int code = EXIT_USAGE;

    if (count < 2) {
        usage(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(words[1], "--help") == 0 || strcmp(words[1], "help") == 0) {
        usage(stdout);
        return EXIT_DONE;
    }
    if (strcmp(words[1], "--version") == 0) {
        printf("heddle %d.%d.%d\n", HD_VERSION_MAJOR, HD_VERSION_MINOR,
               HD_VERSION_PATCH);
        return EXIT_DONE;
    }
    const struct command *command = NULL;
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(words[1], commands[i]->name) == 0)
            command = commands[i];
    if (!command) {
        fprintf(stderr, "heddle: unknown %s '%s'; see heddle --help\n",
                words[1][0] == '-' ? "option" : "command", words[1]);
        return EXIT_USAGE;
    }

    switch (options_parse(command, count - 1, words + 1, &options)) {
    case OPTIONS_GOOD:
        if (!command->ends_at_once)
            interrupt_watch();
        code = command->run(&options);
        break;
    case OPTIONS_HELP:
        options_help(command, stdout);
        code = EXIT_DONE;
        break;
    case OPTIONS_BAD:
        break;
    case OPTIONS_FAILED:
        code = EXIT_FAILED;
        break;
    }
    options_free(&options);
    return code;
}

// A file that got the number of a closed standard stream would be printed into.
// What takes such a number here fails when it is used, as the stream would.
static void fill_standard_streams(void)
{
    int descriptor;

    do
        descriptor = open("/dev/null", O_CLOEXEC | O_PATH);
    while (descriptor >= 0 && descriptor <= STDERR_FILENO);
    if (descriptor >= 0)
        close(descriptor);
}

int main(int count, char **words)
{
    fill_standard_streams();
    int code = run(count, words);

    // What was printed is part of the result.
    errno = 0;
    if ((fflush(stdout) != 0 || ferror(stdout)) && code == EXIT_DONE) {
        fprintf(stderr, "heddle: cannot write standard output: %s\n",
                strerror(errno ? errno : EIO));
        code = EXIT_FAILED;
    }
    return code;
}
