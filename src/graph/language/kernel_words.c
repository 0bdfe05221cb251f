// Kernels of a program: files, relative to it, and options, which become
// strings of the graph.
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "graph/language/language.h"

static int compare_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// A name with other letters could be another option.
static void check_define(lua_State *lua, const char *name)
{
    bool good = isalpha((unsigned char)name[0]) || name[0] == '_';

    for (const char *c = name; *c; c++)
        good &= isalnum((unsigned char)*c) || *c == '_';
    if (!good)
        hdi_sandbox_fail(lua, HD_EPROGRAM,
                         "kernel: '%s' cannot be defined; a name has letters, "
                         "digits and '_'",
                         name);
}

// Options are words: what would end a word or quote is refused.
static void check_word(lua_State *lua, const char *word, const char *what)
{
    for (const char *c = word; *c; c++)
        if (isspace((unsigned char)*c) || strchr("'\"\\", *c))
            hdi_sandbox_fail(lua, HD_EPROGRAM,
                             "kernel: %s may have no spaces, quotes or "
                             "backslashes, as '%s' has",
                             what, word);
}

// Push one "-D NAME=VALUE" for the key and value at the top; both are dropped.
static void push_define(lua_State *lua)
{
    const char *name = lua_tostring(lua, -2);
    check_define(lua, name);
    switch (lua_type(lua, -1)) {
    case LUA_TBOOLEAN:
        lua_pushfstring(lua, "-D %s=%d", name, lua_toboolean(lua, -1));
        break;
    case LUA_TNUMBER:
    case LUA_TSTRING:
        lua_pushvalue(lua, -1);
        check_word(lua, lua_tostring(lua, -1), "a definition");
        lua_pushfstring(lua, "-D %s=%s", name, lua_tostring(lua, -1));
        lua_remove(lua, -2);
        break;
    default:
        hdi_sandbox_fail(lua, HD_EPROGRAM,
                         "kernel: %s can be a number, a string, true or false, "
                         "not %s",
                         name, hdi_language_kind(lua, -1));
    }
    lua_remove(lua, -2);
    lua_remove(lua, -2);
}

// Push the options that the table at `index` stands for, in an order that does
// not depend on how Lua keeps tables: one text of options, one program.
//
// At most MAX texts are kept on the stack, where the collector does not touch
// them; `parts` points to them.
static const char *push_options(lua_State *lua, int index)
{
    enum {
        MAX = 64
    };
    const char *parts[MAX];
    int count = 0;

    luaL_checkstack(lua, MAX + 8, NULL);
    lua_pushnil(lua);
    while (lua_next(lua, index)) {
        if (count == MAX)
            hdi_sandbox_fail(lua, HD_EPROGRAM,
                             "kernel: more than %d definitions and options",
                             MAX);
        lua_pushvalue(lua, -2); // lua_next() needs the key again
        lua_insert(lua, -2);
        if (lua_type(lua, -2) == LUA_TSTRING) {
            push_define(lua);
        } else {
            if (lua_type(lua, -1) != LUA_TSTRING ||
                lua_tostring(lua, -1)[0] != '-')
                hdi_sandbox_fail(lua, HD_EPROGRAM,
                                 "kernel: an option is a string such as "
                                 "\"-cl-fast-relaxed-math\"");
            check_word(lua, lua_tostring(lua, -1), "an option");
            lua_remove(lua, -2);
        }
        parts[count++] = lua_tostring(lua, -1);
        lua_insert(lua, -2);
    }
    qsort(parts, (size_t)count, sizeof(*parts), compare_text);

    luaL_Buffer options;
    luaL_buffinit(lua, &options);
    for (int i = 0; i < count; i++) {
        if (i > 0)
            luaL_addchar(&options, ' ');
        luaL_addstring(&options, parts[i]);
    }
    luaL_pushresult(&options);
    return lua_tostring(lua, -1);
}

// Push the path of the kernel file that is named at `index`.
//
// Relative to the program only, so that a program can be moved with its
// kernels. A line break would be two files (hdi_lua_kernel.with).
static void push_path(lua_State *lua, int index)
{
    const char *file = hdi_language_name(lua, index, "kernel");

    if (file[0] == '/' || strchr(file, '\n'))
        hdi_sandbox_fail(lua, HD_EPROGRAM,
                         "kernel file '%s': give a path relative to the "
                         "program's folder",
                         file);
    lua_pushfstring(lua, "%s%s", hdi_language_of(lua)->folder, file);
}

// Push the path of the first file that is named at 1, and those of the others,
// a line each.
//
// For a single file the second is "".
static void push_files(lua_State *lua)
{
    enum {
        MAX = 256
    };
    luaL_Buffer others;

    if (lua_type(lua, 1) != LUA_TTABLE) {
        push_path(lua, 1);
        lua_pushliteral(lua, "");
        return;
    }
    lua_Unsigned count = lua_rawlen(lua, 1);
    if (count == 0 || count > MAX)
        hdi_sandbox_fail(lua, HD_EPROGRAM,
                         "kernel takes a list of 1 to %d files", MAX);
    lua_rawgeti(lua, 1, 1);
    push_path(lua, lua_gettop(lua));
    lua_remove(lua, -2);
    luaL_buffinit(lua, &others);
    for (lua_Unsigned i = 2; i <= count; i++) {
        if (i > 2)
            luaL_addchar(&others, '\n');
        lua_rawgeti(lua, 1, (lua_Integer)i);
        push_path(lua, lua_gettop(lua));
        lua_remove(lua, -2);
        luaL_addvalue(&others);
    }
    luaL_pushresult(&others);
}

// kernel(file or {file, ...}, name [, {NAME = value, "-option"}])
//
// Strings become those of the graph: the value may outlive the texts of Lua.
// Nothing is read or built here, but by preparing.
static int kernel(lua_State *lua)
{
    struct hdi_language *l = hdi_language_of(lua);
    const char *options = "";

    lua_settop(lua, 3);
    if (lua_type(lua, 1) != LUA_TTABLE)
        hdi_language_name(lua, 1, "kernel");
    if (lua_type(lua, 2) != LUA_TSTRING || !lua_tostring(lua, 2)[0])
        return hdi_sandbox_fail(lua, HD_EPROGRAM,
                                "kernel takes a file and the name of a kernel "
                                "in it");
    if (lua_type(lua, 3) == LUA_TTABLE)
        options = push_options(lua, 3);
    else if (!lua_isnoneornil(lua, 3))
        return hdi_sandbox_fail(lua, HD_EPROGRAM,
                                "kernel takes a table of definitions, not %s",
                                hdi_language_kind(lua, 3));
    push_files(lua);

    struct hdi_lua_kernel value = {
        .path = hdi_graph_string(l->graph, lua_tostring(lua, -2)),
        .with = hdi_graph_string(l->graph, lua_tostring(lua, -1)),
        .name = hdi_graph_string(l->graph, lua_tostring(lua, 2)),
        .options = hdi_graph_string(l->graph, options),
    };
    if (!value.path || !value.name || !value.options || !value.with)
        return hdi_sandbox_fail(lua, HD_ENOMEM, "no memory for the graph");
    hdi_language_check(lua, HD_OK, NULL);
    *(struct hdi_lua_kernel *)hdi_language_push(lua, HDI_KERNEL,
                                                sizeof(value)) = value;
    return 1;
}

void hdi_kernels_add(lua_State *lua)
{
    static const luaL_Reg functions[] = {{"kernel", kernel}, {NULL, NULL}};

    luaL_setfuncs(lua, functions, 0);
}
