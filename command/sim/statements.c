// The statements of a file, which is a Lua program in the sandbox of graph
// programs: setting a global (`units = 4`) and calling one with a value
// (`kernel { 0, run = 9 }`) are statements. Locals, loops and arithmetic are
// there as well.
#include "sim/statements.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/language/sandbox.h"

enum {
    MAX_DEPTH = 4, // of tables
    MAX_STEPS = 200000000
};

static const uint64_t max_memory = UINT64_C(4) << 30; // of the program [bytes]

static struct sim_text *text_of(lua_State *lua)
{
    return hdi_sandbox_of(lua)->owner;
}

static struct sim_statement *statement_of(struct sim_text *text)
{
    return &text->statement[text->statement_count - 1];
}

static void begin_statement(lua_State *lua)
{
    struct sim_text *text = text_of(lua);

    if (text->statement_count == text->statement_room) {
        size_t room = text->statement_room ? 2 * text->statement_room : 64;
        struct sim_statement *larger =
            realloc(text->statement, room * sizeof(*larger));
        if (!larger)
            hdi_sandbox_fail(lua, HD_ENOMEM, "no memory for the statements");
        text->statement = larger;
        text->statement_room = room;
    }
    text->statement[text->statement_count++] = (struct sim_statement){
        .line = (unsigned)hdi_sandbox_line(lua), .first = text->word_size};
}

// A word is a byte of its depth and a text that ends with a 0.
static void add_word(lua_State *lua, const char *word, size_t length,
                     unsigned depth)
{
    struct sim_text *text = text_of(lua);
    size_t needed = text->word_size + length + 2;

    if (memchr(word, '\0', length))
        hdi_sandbox_fail(lua, HD_EFORMAT, "a text with a byte 0 in it");
    if (statement_of(text)->count++ == SIM_WORDS)
        hdi_sandbox_fail(lua, HD_EFORMAT, "more than %d words in one statement",
                         SIM_WORDS);
    if (needed > SIM_FILE_LIMIT)
        hdi_sandbox_fail(lua, HD_ELIMIT, "statements of more than %d MiB",
                         SIM_FILE_LIMIT >> 20);
    if (needed > text->word_room) {
        size_t room = needed < 4096 ? 4096 : 2 * needed;
        char *larger = realloc(text->words, room);
        if (!larger)
            hdi_sandbox_fail(lua, HD_ENOMEM, "no memory for the statements");
        text->words = larger;
        text->word_room = room;
    }
    char *at = text->words + text->word_size;
    *at = (char)depth;
    memcpy(at + 1, word, length);
    at[length + 1] = '\0';
    text->word_size = needed;
}

static void add_number(lua_State *lua, int index, unsigned depth)
{
    double value = lua_tonumber(lua, index);
    char word[64];

    if (lua_isinteger(lua, index)) {
        snprintf(word, sizeof(word), "%lld",
                 (long long)lua_tointeger(lua, index));
    } else if (floor(value) == value && fabs(value) < 0x1p53) {
        snprintf(word, sizeof(word), "%.0f", value);
    } else {
        snprintf(word, sizeof(word), "%.15g", value);
        if (strtod(word, NULL) != value)
            snprintf(word, sizeof(word), "%.17g", value);
    }
    add_word(lua, word, strlen(word), depth);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_value(lua_State *lua, unsigned depth);

// What has no name in its order, then what has one, by name.
static void add_table(lua_State *lua, unsigned depth)
{
    const char *names[SIM_WORDS];
    size_t count = 0;
    lua_Integer length = (lua_Integer)lua_rawlen(lua, -1);

    luaL_checkstack(lua, 4, "tables are too deep");
    for (lua_Integer i = 1; i <= length; i++) {
        lua_rawgeti(lua, -1, i);
        add_value(lua, depth);
        lua_pop(lua, 1);
    }
    for (lua_pushnil(lua); lua_next(lua, -2); lua_pop(lua, 1)) {
        if (lua_isinteger(lua, -2) && lua_tointeger(lua, -2) >= 1 &&
            lua_tointeger(lua, -2) <= length)
            continue;
        if (lua_type(lua, -2) != LUA_TSTRING)
            hdi_sandbox_fail(lua, HD_EFORMAT,
                             "a table with a %s as a name in it",
                             luaL_typename(lua, -2));
        if (count == SIM_WORDS)
            hdi_sandbox_fail(lua, HD_EFORMAT, "more than %d names in one table",
                             SIM_WORDS);
        names[count++] = lua_tostring(lua, -2); // lives as long as the table
    }
    qsort(names, count, sizeof(*names), by_name);
    for (size_t i = 0; i < count; i++) {
        lua_getfield(lua, -1, names[i]);
        if (lua_type(lua, -1) != LUA_TBOOLEAN) {
            add_word(lua, names[i], strlen(names[i]), depth);
            add_value(lua, depth);
        } else if (lua_toboolean(lua, -1)) {
            add_word(lua, names[i], strlen(names[i]), depth);
        }
        lua_pop(lua, 1);
    }
}

// The value at the top.
static void add_value(lua_State *lua, unsigned depth)
{
    size_t length;

    switch (lua_type(lua, -1)) {
    case LUA_TNUMBER:
        add_number(lua, -1, depth);
        break;
    case LUA_TSTRING: {
        const char *word = lua_tolstring(lua, -1, &length);
        add_word(lua, word, length, depth);
        break;
    }
    case LUA_TTABLE:
        if (depth == MAX_DEPTH)
            hdi_sandbox_fail(lua, HD_EFORMAT,
                             "more than %d tables in each other", MAX_DEPTH);
        add_table(lua, depth + 1);
        break;
    case LUA_TFUNCTION:
        hdi_sandbox_fail(
            lua, HD_EFORMAT,
            "a name that nothing was set to: texts stand in quotes");
        break;
    default:
        hdi_sandbox_fail(lua, HD_EFORMAT, "a %s is no value here",
                         luaL_typename(lua, -1));
    }
}

// One statement of the name and the value at the top.
static void add_statement(lua_State *lua, const char *name)
{
    hdi_sandbox_charge(lua, SIM_WORDS / 4);
    begin_statement(lua);
    add_word(lua, name, strlen(name), 0);
    add_value(lua, 0);
}

// name(value). Upvalue: the name.
static int call(lua_State *lua)
{
    if (lua_gettop(lua) != 1)
        hdi_sandbox_fail(lua, HD_EFORMAT,
                         "'%s' takes one value: several stand in { }",
                         lua_tostring(lua, lua_upvalueindex(1)));
    add_statement(lua, lua_tostring(lua, lua_upvalueindex(1)));
    return 0;
}

// name = value. Upvalue: what was set. Stack: the environment, name, value.
static int set(lua_State *lua)
{
    if (lua_type(lua, 2) != LUA_TSTRING)
        hdi_sandbox_fail(lua, HD_EFORMAT, "a %s is no name of a statement",
                         luaL_typename(lua, 2));
    add_statement(lua, lua_tostring(lua, 2));
    lua_pushvalue(lua, 2);
    lua_pushvalue(lua, 3);
    lua_rawset(lua, lua_upvalueindex(1));
    return 0;
}

// What was set, or else a function that makes a statement. Upvalue: as above.
static int get(lua_State *lua)
{
    lua_pushvalue(lua, 2);
    if (lua_rawget(lua, lua_upvalueindex(1)) != LUA_TNIL)
        return 1;
    lua_pushvalue(lua, 2);
    lua_pushcclosure(lua, call, 1);
    return 1;
}

static void start(lua_State *lua)
{
    lua_newtable(lua); // of the environment
    lua_newtable(lua); // what was set
    lua_pushvalue(lua, -1);
    lua_pushcclosure(lua, set, 1);
    lua_setfield(lua, -3, "__newindex");
    lua_pushcclosure(lua, get, 1);
    lua_setfield(lua, -2, "__index");
    lua_setmetatable(lua, -2);
}

static int end(lua_State *lua)
{
    (void)lua;
    return 0;
}

hd_status sim_statements_read(struct sim_text *text)
{
    struct hdi_sandbox sandbox;

    HDI_TRY(hdi_sandbox_open(&sandbox, text->path, max_memory, MAX_STEPS,
                             text->error));
    sandbox.owner = text;
    hd_status status = hdi_sandbox_run(&sandbox, start, text->data,
                                       strlen(text->data), end, text->error);
    hdi_sandbox_close(&sandbox);
    return status == HD_EPROGRAM ? HD_EFORMAT : status;
}
