// Diagnostics for people. For events meant for tools, see trace/trace.h.
//
// Messages are lower case, one line: "worker %u asleep for %u us".
// HDI_MODULE is the folder name; the build sets it.
#ifndef HDI_BASE_LOG_H
#define HDI_BASE_LOG_H

#include <stddef.h>

enum hdi_log_level {
    HDI_LOG_ERROR, // the call fails
    HDI_LOG_WARN,  // the call goes on, worse than asked for
    HDI_LOG_INFO,  // once per run: what was found, what was chosen
    HDI_LOG_DEBUG, // once per object
    HDI_LOG_LEVELS
};

// Run-time ceiling: HEDDLE_LOG=error|warn|info|debug, read at the first
// message; warn when it is not set.
enum hdi_log_level hdi_log_ceiling(void);

__attribute__((format(printf, 3, 4))) void hdi_log(enum hdi_log_level level,
                                                   const char *module,
                                                   const char *format, ...);
void hdi_log_text(enum hdi_log_level level, const char *module,
                  const char *text, size_t size);

#define HDI_LOG(level, ...)                          \
    do {                                             \
        if ((level) <= hdi_log_ceiling())            \
            hdi_log(level, HDI_MODULE, __VA_ARGS__); \
    } while (0)

#define hdi_error(...) HDI_LOG(HDI_LOG_ERROR, __VA_ARGS__)
#define hdi_warn(...)  HDI_LOG(HDI_LOG_WARN, __VA_ARGS__)
#define hdi_info(...)  HDI_LOG(HDI_LOG_INFO, __VA_ARGS__)
#define hdi_debug(...) HDI_LOG(HDI_LOG_DEBUG, __VA_ARGS__)

#endif
