#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[HDI_LOG_LEVELS] = {"error", "warn", "info",
                                                  "debug"};

// -1 until the environment was read; then never changes.
static atomic_int ceiling = -1;

// Relaxed: threads that come first at the same time read the same environment
// and store the same number.
enum hdi_log_level hdi_log_ceiling(void)
{
    int level = atomic_load_explicit(&ceiling, memory_order_relaxed);
    if (level >= 0)
        return (enum hdi_log_level)level;

    level = HDI_LOG_WARN;
    const char *wanted = getenv("HEDDLE_LOG");
    for (int i = 0; wanted && i < HDI_LOG_LEVELS; i++)
        if (strcmp(wanted, names[i]) == 0)
            level = i;
    atomic_store_explicit(&ceiling, level, memory_order_relaxed);
    return (enum hdi_log_level)level;
}

void hdi_log_text(enum hdi_log_level level, const char *module,
                  const char *text, size_t size)
{
    if (level <= hdi_log_ceiling())
        fprintf(stderr, "heddle %s %s: %.*s\n", names[level], module, (int)size,
                text);
}

// Longer lines are cut. One fprintf() per line, so lines of threads do not mix.
void hdi_log(enum hdi_log_level level, const char *module, const char *format,
             ...)
{
    char line[1024];
    va_list args;

    va_start(args, format);
    int length = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    if (length < 0)
        return;
    if ((size_t)length >= sizeof(line))
        length = sizeof(line) - 1;
    hdi_log_text(level, module, line, (size_t)length);
}
