// Invariant: `shown` says whether the cursor stands on a line of ours. The
// library calls progress_pass() one call at a time, and only inside
// hd_graph_run(), during which the main thread prints nothing.
#include "progress.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "stopwatch.h"

static bool shown;
static uint64_t last; // when a pass was shown [ns]

enum {
    PASS_INTERVAL = 50000000, // [ns] faster nobody reads, and it costs time
    WIDTH = 78                // [characters]
};

static void show(const char *line)
{
    // \r to the start, \033[K clears what the line before left over.
    fprintf(stderr, "\r%.*s\033[K", WIDTH, line);
    fflush(stderr);
    shown = true;
}

void progress_stage(const char *what)
{
    if (isatty(STDERR_FILENO))
        show(what);
}

void progress_pass(void *data, unsigned finished, unsigned total,
                   const char *pass)
{
    char line[WIDTH + 1];
    uint64_t time = now();

    (void)data;
    if (!isatty(STDERR_FILENO) || time - last < PASS_INTERVAL)
        return;
    last = time;
    snprintf(line, sizeof(line), "%u of %u pass%s: %s", finished, total,
             total == 1 ? "" : "es", pass);
    show(line);
}

void progress_erase(void)
{
    if (!shown)
        return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    shown = false;
}
