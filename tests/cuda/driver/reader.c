// Words of PTX.
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/driver/reader.h"

unsigned ptx_line_of(struct parser *p)
{
    if (p->counted > p->at || !p->counted) {
        p->counted = p->begin;
        p->lines = 1;
    }
    while (p->counted < p->at)
        p->lines += *p->counted++ == '\n';
    return p->lines;
}

void ptx_fail(struct parser *p, const char *format, ...)
{
    if (p->failed)
        return;
    char text[300];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    snprintf(p->module->error, sizeof(p->module->error), "line %u: %s",
             ptx_line_of(p), text);
    p->failed = true;
}

static bool is_name(int c)
{
    return isalnum(c) || c == '_' || c == '$' || c == '%' || c == '.';
}

static void skip_blanks(struct parser *p)
{
    for (;;) {
        p->at += strspn(p->at, " \t\r\n");
        if (strncmp(p->at, "//", 2) == 0)
            p->at += strcspn(p->at, "\n");
        else
            return;
    }
}

// The next token in p->token; "" at the end.
const char *ptx_next(struct parser *p)
{
    size_t length = 0;

    skip_blanks(p);
    if (*p->at == '"') {
        const char *end = strchr(p->at + 1, '"');
        p->at = end ? end + 1 : p->at + strlen(p->at);
        strcpy(p->token, "\"");
        return p->token;
    }
    while (is_name((unsigned char)p->at[length]) && length < NAME - 1)
        length++;
    if (length == 0 && *p->at)
        length = 1;
    memcpy(p->token, p->at, length);
    p->token[length] = '\0';
    p->at += length;
    return p->token;
}

char ptx_peek(struct parser *p)
{
    skip_blanks(p);
    return *p->at;
}

bool ptx_accept(struct parser *p, char c)
{
    if (ptx_peek(p) != c)
        return false;
    p->at++;
    return true;
}

void ptx_expect(struct parser *p, char c)
{
    if (!ptx_accept(p, c))
        ptx_fail(p, "'%c' expected, not '%.20s'", c, p->at);
}

void ptx_skip_line(struct parser *p)
{
    p->at += strcspn(p->at, "\n");
}

void ptx_skip_to(struct parser *p, char c)
{
    while (*p->at && *p->at != c)
        p->at++;
    if (*p->at)
        p->at++;
}

unsigned ptx_type_size(const char *name)
{
    size_t length = strlen(name);
    if (length < 2)
        return 0;
    const char *digits = name + length;
    while (digits > name && isdigit((unsigned char)digits[-1]))
        digits--;
    return (unsigned)atoi(digits) / 8;
}

uint32_t ptx_round_to(uint32_t n, uint32_t align)
{
    return (n + align - 1) / align * align;
}

// Numbers ---------------------------------------------------------------------

bool ptx_number_of(const char *token, uint64_t *value)
{
    if (strncmp(token, "0f", 2) == 0 || strncmp(token, "0F", 2) == 0) {
        *value = strtoull(token + 2, NULL, 16);
        return true;
    }
    if (strncmp(token, "0d", 2) == 0 || strncmp(token, "0D", 2) == 0) {
        *value = strtoull(token + 2, NULL, 16);
        return true;
    }
    if (!isdigit((unsigned char)*token))
        return false;
    *value = strtoull(token, NULL, 0);
    return true;
}
