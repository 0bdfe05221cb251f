#include "failure.h"

#include <stdarg.h>
#include <stdio.h>

#include "interrupt.h"
#include "options.h"
#include "progress.h"

hd_status fail(struct hd_error *error, hd_status status, const char *format,
               ...)
{
    va_list args;

    error->status = status;
    va_start(args, format);
    vsnprintf(error->text, sizeof(error->text), format, args);
    va_end(args);
    return status;
}

int report_failure(hd_status status, const struct hd_error *error)
{
    progress_erase();
    // A signal reaches the compiler's processes too, so that whatever failed
    // after it failed because of it.
    if (status == HD_ECANCELED || interrupted()) {
        fprintf(stderr, "heddle: cancelled\n");
        return EXIT_CANCELED;
    }
    fprintf(stderr, "heddle: %s\n",
            error->text[0] ? error->text : hd_status_text(status));
    return EXIT_FAILED;
}
