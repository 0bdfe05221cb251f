// A descent by hand, one function for each kind of value, straight onto the
// stack of Lua: memory and steps are those of the program, and an error ends
// it.
#include "graph/language/json.h"

#include <lauxlib.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "graph/language/sandbox.h"

// Each level takes a frame of C and some of the stack of Lua. No number that
// means anything is longer.
enum {
    MAX_DEPTH = 64,
    MAX_NUMBER = 64 // characters
};

// `at` goes from `begin` to `end`; the text has no NUL at its end that could be
// relied on.
struct reader {
    lua_State *lua;
    const char *what, *begin, *at, *end;
    int depth;
};

static void fail(const struct reader *r, const char *problem)
{
    int line = 1;

    for (const char *c = r->begin; c < r->at; c++)
        line += *c == '\n';
    hdi_sandbox_fail(r->lua, HD_EPROGRAM, "%s, line %d: %s", r->what, line,
                     problem);
}

static void skip(struct reader *r)
{
    while (r->at < r->end && strchr(" \t\r\n", *r->at) && *r->at)
        r->at++;
}

// The character, if it comes next; blanks before it are left behind in any
// case.
static bool take(struct reader *r, char c)
{
    skip(r);
    if (r->at == r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

static bool take_word(struct reader *r, const char *word)
{
    size_t size = strlen(word);

    if ((size_t)(r->end - r->at) < size || memcmp(r->at, word, size) != 0)
        return false;
    r->at += size;
    return true;
}

static unsigned read_hex(struct reader *r)
{
    unsigned code = 0;

    for (int i = 0; i < 4; i++) {
        char c = r->at < r->end ? *r->at : 0;
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            fail(r, "\\u is followed by four hexadecimal digits");
        code = code * 16 + (unsigned)digit;
        r->at++;
    }
    return code;
}

static void add_utf8(luaL_Buffer *text, unsigned code)
{
    if (code < 0x80) {
        luaL_addchar(text, (char)code);
    } else if (code < 0x800) {
        luaL_addchar(text, (char)(0xc0 | code >> 6));
        luaL_addchar(text, (char)(0x80 | (code & 63)));
    } else if (code < 0x10000) {
        luaL_addchar(text, (char)(0xe0 | code >> 12));
        luaL_addchar(text, (char)(0x80 | (code >> 6 & 63)));
        luaL_addchar(text, (char)(0x80 | (code & 63)));
    } else {
        luaL_addchar(text, (char)(0xf0 | code >> 18));
        luaL_addchar(text, (char)(0x80 | (code >> 12 & 63)));
        luaL_addchar(text, (char)(0x80 | (code >> 6 & 63)));
        luaL_addchar(text, (char)(0x80 | (code & 63)));
    }
}

// Behind "\u". Characters above 0xffff are two codes, which only together are
// one.
static unsigned read_code(struct reader *r)
{
    unsigned code = read_hex(r);

    if (code >= 0xdc00 && code < 0xe000)
        fail(r, "half of a surrogate pair");
    if (code < 0xd800 || code >= 0xdc00)
        return code;
    if (!take_word(r, "\\u"))
        fail(r, "half of a surrogate pair");
    unsigned low = read_hex(r);
    if (low < 0xdc00 || low >= 0xe000)
        fail(r, "half of a surrogate pair");
    return 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
}

// Behind the opening quote.
//
// Bytes of UTF-8 are taken over as they are.
static void push_string(struct reader *r)
{
    static const char escapes[] = "\"\\/bfnrt", plain[] = "\"\\/\b\f\n\r\t";
    luaL_Buffer text;

    luaL_buffinit(r->lua, &text);
    for (;;) {
        if (r->at == r->end)
            fail(r, "a string that does not end");
        char c = *r->at++;
        if (c == '"')
            break;
        if ((unsigned char)c < 0x20)
            fail(r, "a control character in a string");
        if (c != '\\') {
            luaL_addchar(&text, c);
            continue;
        }
        c = r->at < r->end ? *r->at++ : '\0';
        const char *known = c ? strchr(escapes, c) : NULL;
        if (known)
            luaL_addchar(&text, plain[known - escapes]);
        else if (c == 'u')
            add_utf8(&text, read_code(r));
        else
            fail(r, "an unknown escape in a string");
    }
    luaL_pushresult(&text);
}

// Behind the digits there are; NULL: there are none.
static const char *skip_digits(const char *at)
{
    const char *begin = at;

    while (*at >= '0' && *at <= '9')
        at++;
    return at > begin ? at : NULL;
}

// As RFC 8259 has it: digits on both sides of a point, none before another
// digit that is 0, digits in an exponent.
static bool is_number(const char *at)
{
    at += *at == '-';
    at = *at == '0' ? at + 1 : skip_digits(at);
    if (at && *at == '.')
        at = skip_digits(at + 1);
    if (at && (*at == 'e' || *at == 'E')) {
        at++;
        at = skip_digits(at + (*at == '+' || *at == '-'));
    }
    return at && !*at;
}

// Lua reads more than JSON allows: hexadecimal numbers, blanks, "1." and "01".
static void push_number(struct reader *r)
{
    char text[MAX_NUMBER];
    size_t size = 0;

    while (r->at < r->end && strchr("+-0123456789.eE", *r->at) && *r->at &&
           size < sizeof(text) - 1)
        text[size++] = *r->at++;
    text[size] = '\0';
    if (!is_number(text) || lua_stringtonumber(r->lua, text) != size + 1)
        fail(r, "a value is missing, or is none");
    if (isinf(lua_tonumber(r->lua, -1)))
        fail(r, "a number that is too large");
}

static void push_value(struct reader *r);

static void push_array(struct reader *r)
{
    lua_newtable(r->lua);
    if (take(r, ']'))
        return;
    for (lua_Integer i = 1;; i++) {
        push_value(r);
        lua_rawseti(r->lua, -2, i);
        if (take(r, ']'))
            return;
        if (!take(r, ','))
            fail(r, "',' or ']' is missing");
    }
}

// Of two members of one name the last counts.
static void push_object(struct reader *r)
{
    lua_newtable(r->lua);
    if (take(r, '}'))
        return;
    for (;;) {
        if (!take(r, '"'))
            fail(r, "the name of a member is missing");
        push_string(r);
        if (!take(r, ':'))
            fail(r, "':' is missing");
        push_value(r);
        lua_rawset(r->lua, -3);
        if (take(r, '}'))
            return;
        if (!take(r, ','))
            fail(r, "',' or '}' is missing");
    }
}

static void push_value(struct reader *r)
{
    luaL_checkstack(r->lua, 4, NULL);
    if (++r->depth > MAX_DEPTH)
        fail(r, "too deep");
    if (take(r, '{')) {
        push_object(r);
    } else if (take(r, '[')) {
        push_array(r);
    } else if (take(r, '"')) {
        push_string(r);
    } else if (take_word(r, "true")) {
        lua_pushboolean(r->lua, true);
    } else if (take_word(r, "false")) {
        lua_pushboolean(r->lua, false);
    } else if (take_word(r, "null")) {
        lua_pushnil(r->lua);
    } else {
        push_number(r);
    }
    r->depth--;
}

// Charged by its length before it is read.
void hdi_json_push(lua_State *lua, const char *what, const char *text,
                   size_t size)
{
    struct reader r = {lua, what, text, text, text + size, 0};

    hdi_sandbox_charge(lua, size);
    push_value(&r);
    skip(&r);
    if (r.at != r.end)
        fail(&r, "something is left over");
}
