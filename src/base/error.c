#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"

static const char cut[] = "\n(cut here, there is more)";

// Too long a text is cut at the end of a line, so that what is left reads well:
// compilers say the most important first. New lines at its end are dropped.
hd_status hdi_fail_text(struct hd_error *error, hd_status status,
                        const char *text, size_t size)
{
    if (!error) {
        hdi_log_text(HDI_LOG_ERROR, HDI_MODULE, text, size);
        return status;
    }

    error->status = status;
    while (size > 0 && text[size - 1] == '\n')
        size--;
    if (size >= HD_ERROR_TEXT) {
        size = HD_ERROR_TEXT - sizeof(cut);
        while (size > 0 && text[size] != '\n')
            size--;
        if (size == 0)
            size = HD_ERROR_TEXT - sizeof(cut);
        memcpy(error->text, text, size);
        memcpy(error->text + size, cut, sizeof(cut));
    } else {
        memcpy(error->text, text, size);
        error->text[size] = '\0';
    }
    return status;
}

// Twice the room of an error, so that hdi_fail_text() sees that it is too long
// and says so.
hd_status hdi_fail(struct hd_error *error, hd_status status, const char *format,
                   ...)
{
    char text[2 * HD_ERROR_TEXT];
    va_list args;

    va_start(args, format);
    int length = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (length < 0)
        length = 0;
    if ((size_t)length >= sizeof(text))
        length = sizeof(text) - 1;
    return hdi_fail_text(error, status, text, (size_t)length);
}

// Through a buffer of its own, since both texts may be the same memory.
void hdi_prefix_error(struct hd_error *error, const char *format, ...)
{
    if (!error)
        return;

    char text[2 * HD_ERROR_TEXT];
    va_list args;

    va_start(args, format);
    int length = vsnprintf(text, HD_ERROR_TEXT, format, args);
    va_end(args);
    if (length < 0)
        return;
    if (length >= HD_ERROR_TEXT)
        length = HD_ERROR_TEXT - 1;
    length += snprintf(text + length, sizeof(text) - (size_t)length, ": %s",
                       error->text);
    hdi_fail_text(error, error->status, text, (size_t)length);
}
