// heddle report: the trace of a run as one web page.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "failure.h"
#include "page/page.h"
#include "target.h"

struct text {
    char *data; // with a 0 behind it
    size_t size;
};

static hd_status read_trace(const char *path, struct text *text,
                            struct hd_error *error)
{
    FILE *file = fopen(path, "rbe");
    size_t room = 0, got = 0;
    hd_status status = HD_OK;

    if (!file)
        return fail(error, errno == ENOENT ? HD_ENOENT : HD_EIO,
                    "cannot open %s: %s", path, strerror(errno));
    do {
        text->size += got;
        if (room - text->size < 2) {
            room = room ? 2 * room : 1 << 16;
            char *more = realloc(text->data, room);
            if (!more) {
                status = fail(error, HD_ENOMEM, "no memory to read %s", path);
                break;
            }
            text->data = more;
        }
        got = fread(text->data + text->size, 1, room - text->size - 1, file);
    } while (got > 0);
    if (status == HD_OK && ferror(file))
        status =
            fail(error, HD_EIO, "cannot read %s: %s", path, strerror(errno));
    fclose(file);
    if (status == HD_OK)
        text->data[text->size] = '\0';
    return status;
}

static hd_status write_page(void *data, FILE *file, struct hd_error *error)
{
    const struct text *text = data;

    (void)error;
    page_write(text->data, text->size, file);
    return HD_OK;
}

static int report(const struct options *given)
{
    struct hd_error error = {0};
    struct text text = {0};
    const char *path = option_value(given, "-o");

    if (!path)
        path = "-";
    hd_status status = target_check(path, &error);
    if (status == HD_OK)
        status = read_trace(given->operand, &text, &error);
    if (status == HD_OK)
        status = page_check(given->operand, text.data, text.size, &error);
    if (status == HD_OK)
        status = target_write(path, write_page, &text, &error);
    free(text.data);
    return status == HD_OK ? EXIT_DONE : report_failure(status, &error);
}

static const struct command_option options[] = {
    {"-o", "FILE.html", "write to FILE, not to standard output", OPTION_TEXT,
     false},
    {0},
};

const struct command report_command = {
    .name = "report",
    .operand = "TRACE.json",
    .summary = "show a run as a web page",
    .about = "Make one web page, which needs no network, of what heddle run "
             "--trace wrote:\ntimeline per unit, memory over time, graph, "
             "passes and what is known of them.\nheddle run --report FILE.html "
             "makes it at once.\n",
    .options = options,
    .run = report,
};
