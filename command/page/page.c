#include "page/page.h"

#include <stdbool.h>
#include <string.h>

#include "failure.h"
#include "page_html.h" // page.html as bytes, made by CMake

static const char place[] = "@DATA@";

// Whether brackets match and strings end: what was cut off is not whole.
static bool is_whole(const char *text, size_t size)
{
    char open[64];
    int depth = 0;
    bool in_string = false;

    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        if (in_string) {
            i += c == '\\';
            in_string = c != '"';
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            if (depth == (int)sizeof(open))
                return false;
            open[depth++] = c == '{' ? '}' : ']';
        } else if (c == '}' || c == ']') {
            if (depth == 0 || open[--depth] != c)
                return false;
        } else if (c == '\0') {
            return false;
        }
    }
    return depth == 0 && !in_string;
}

hd_status page_check(const char *name, const char *trace, size_t size,
                     struct hd_error *error)
{
    if (size == 0 || trace[0] != '{' || !is_whole(trace, size))
        return fail(error, HD_EINVAL,
                    "%s is no trace, or not whole; make one with heddle run "
                    "--trace FILE",
                    name);
    if (!strstr(trace, "\"traceEvents\":") || !strstr(trace, "\n\"heddle\":"))
        return fail(error, HD_EINVAL,
                    "%s has no graph in it; make it with heddle run --trace "
                    "FILE",
                    name);
    return HD_OK;
}

// A '<' in JSON is inside a string; written so, no text can end the script.
static void write_data(const char *trace, size_t size, FILE *file)
{
    const char *end = trace + size;

    while (trace < end) {
        const char *next = memchr(trace, '<', (size_t)(end - trace));
        size_t part = next ? (size_t)(next - trace) : (size_t)(end - trace);
        fwrite(trace, 1, part, file);
        trace += part;
        if (next) {
            fputs("\\u003c", file);
            trace++;
        }
    }
}

void page_write(const char *trace, size_t size, FILE *file)
{
    const char *text = (const char *)page_html;
    const char *at = strstr(text, place);

    fwrite(text, 1, (size_t)(at - text), file);
    write_data(trace, size, file);
    fputs(at + sizeof(place) - 1, file);
}
