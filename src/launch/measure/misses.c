#include "launch/measure/misses.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"

enum {
    LINE = 64,  // of a cache that does not say [bytes]
    SHARE = 100 // of the time, one goes to readings at most
};

struct hdi_misses_source hdi_misses_of_cache(void)
{
    long line = sysconf(_SC_LEVEL1_DCACHE_LINESIZE);

    return (struct hdi_misses_source){PERF_TYPE_HARDWARE,
                                      PERF_COUNT_HW_CACHE_MISSES,
                                      line > 0 ? (uint64_t)line : LINE};
}

// Of this thread, not of those that it starts, and nothing of the kernel's:
// that is what users may count. Not for programs that are executed.
static int open_counter(const struct hdi_misses_source *source)
{
    struct perf_event_attr what = {.size = sizeof(what),
                                   .type = source->type,
                                   .config = source->config,
                                   .read_format =
                                       PERF_FORMAT_TOTAL_TIME_ENABLED |
                                       PERF_FORMAT_TOTAL_TIME_RUNNING,
                                   .exclude_kernel = 1,
                                   .exclude_hv = 1};

    return (int)syscall(SYS_perf_event_open, &what, 0, -1, -1,
                        PERF_FLAG_FD_CLOEXEC);
}

int hdi_misses_try(const struct hdi_misses_source *source)
{
    int file = open_counter(source);

    if (file < 0)
        return errno;
    close(file);
    return 0;
}

void hdi_misses_close(struct hdi_misses *misses)
{
    if (misses->thread != 0)
        close(misses->file);
    misses->thread = 0;
}

// Another thread may be the worker now, as where whoever calls in works; or it
// is a child of fork(), in which the counter is still its parent's.
static bool own(struct hdi_misses *misses,
                const struct hdi_misses_source *source)
{
    int thread = gettid();

    if (misses->thread == thread)
        return true;
    hdi_misses_close(misses);
    misses->file = open_counter(source);
    if (misses->file >= 0)
        misses->thread = thread;
    return misses->file >= 0;
}

static bool read_counter(const struct hdi_misses *misses,
                         struct hdi_misses_reading *reading)
{
    return read(misses->file, reading, sizeof(*reading)) ==
           (ssize_t)sizeof(*reading);
}

// What is refused once is not asked for again. What is inside of the leaf finds
// that none is due.
bool hdi_misses_begin(struct hdi_misses *misses,
                      const struct hdi_misses_source *source, uint64_t now)
{
    misses->next = UINT64_MAX;
    if (!own(misses, source) || !read_counter(misses, &misses->before))
        return false;
    misses->spent = hdi_now() - now;
    return true;
}

bool hdi_misses_end(struct hdi_misses *misses,
                    const struct hdi_misses_source *source, uint64_t now,
                    uint64_t *bytes)
{
    struct hdi_misses_reading after;
    double count;
    bool good = read_counter(misses, &after) &&
                hdi_misses_between(&misses->before, &after, &count);

    if (good)
        *bytes = (uint64_t)(count * (double)source->bytes);
    uint64_t end = hdi_now();
    misses->next = end + SHARE * (misses->spent + end - now);
    return good;
}

bool hdi_misses_between(const struct hdi_misses_reading *before,
                        const struct hdi_misses_reading *after, double *count)
{
    double enabled = (double)(after->enabled - before->enabled);
    double running = (double)(after->running - before->running);

    if (after->running <= before->running)
        return false;
    *count = (double)(after->count - before->count) * enabled / running;
    return true;
}
