// Settings of a program: named values from outside, each of the type of its
// default. They come as text, or as members of an object in JSON.
#include <math.h>
#include <string.h>

#include "graph/language/json.h"
#include "graph/language/language.h"

#define SETTINGS "heddle.settings" // tables of the registry
#define DATA     "heddle.data"     // settings that came as an object

static int fail_setting(lua_State *lua, const char *name, const char *value,
                        const char *wanted)
{
    return hdi_sandbox_fail(lua, HD_EPROGRAM,
                            "setting '%s' is '%s', but it must be %s", name,
                            value, wanted);
}

// Push the text of a setting as a value of the type of the default at `index`.
//
// The type of the default decides: settings come as text from a command line. A
// whole default wants a whole number.
static void push_setting(lua_State *lua, const char *name, const char *value,
                         int index)
{
    static const char *const yes[] = {"true", "yes", "on", "1"};
    static const char *const no[] = {"false", "no", "off", "0"};
    lua_Integer whole = 0;

    switch (lua_type(lua, index)) {
    case LUA_TBOOLEAN:
        for (size_t i = 0; i < 4; i++) {
            if (strcmp(value, yes[i]) == 0 || strcmp(value, no[i]) == 0) {
                lua_pushboolean(lua, strcmp(value, yes[i]) == 0);
                return;
            }
        }
        fail_setting(lua, name, value, "true or false");
        return;
    case LUA_TNUMBER:
        if (lua_stringtonumber(lua, value) == 0 ||
            !isfinite(lua_tonumber(lua, -1)))
            fail_setting(lua, name, value, "a number");
        if (!lua_isinteger(lua, index))
            return;
        if (!lua_isinteger(lua, -1)) {
            if (!lua_numbertointeger(lua_tonumber(lua, -1), &whole) ||
                (lua_Number)whole != lua_tonumber(lua, -1))
                fail_setting(lua, name, value, "a whole number");
            lua_pushinteger(lua, whole);
        }
        return;
    case LUA_TTABLE:
        lua_pushfstring(lua, "setting '%s'", name);
        hdi_json_push(lua, lua_tostring(lua, -1), value, strlen(value));
        lua_remove(lua, -2);
        if (lua_type(lua, -1) != LUA_TTABLE)
            fail_setting(lua, name, value, "an array or object in JSON");
        return;
    default:
        lua_pushstring(lua, value);
    }
}

// `field` is "min" or "max". Leaves the bound on the stack if it returns early;
// setting() cleans up.
static void check_bound(lua_State *lua, const char *name, const char *field,
                        int value, int rules)
{
    if (lua_getfield(lua, rules, field) == LUA_TNIL)
        return;
    bool minimum = field[1] == 'i';
    int bound = lua_gettop(lua);
    // One that is none is not equal to itself, and would bound nothing.
    if (lua_type(lua, bound) != LUA_TNUMBER ||
        lua_type(lua, value) != LUA_TNUMBER ||
        !lua_compare(lua, bound, bound, LUA_OPEQ))
        hdi_sandbox_fail(lua, HD_EPROGRAM,
                         "setting '%s': min and max are for numbers", name);
    if (lua_compare(lua, minimum ? value : bound, minimum ? bound : value,
                    LUA_OPLT))
        hdi_sandbox_fail(
            lua, HD_EPROGRAM, "setting '%s' is %s, but it must be at %s %s",
            name, hdi_sandbox_text(lua, value, NULL),
            minimum ? "least" : "most", hdi_sandbox_text(lua, bound, NULL));
    lua_pop(lua, 1);
}

// A list without entries allows everything.
static void check_listed(lua_State *lua, const char *name, int value, int rules)
{
    lua_Unsigned count = lua_rawlen(lua, rules);

    for (lua_Unsigned i = 1; i <= count; i++) {
        lua_rawgeti(lua, rules, (lua_Integer)i);
        if (lua_compare(lua, value, -1, LUA_OPEQ))
            return;
        lua_pop(lua, 1);
    }
    if (count == 0)
        return;
    luaL_Buffer list;
    luaL_buffinit(lua, &list);
    for (lua_Unsigned i = 1; i <= count; i++) {
        if (i > 1)
            luaL_addstring(&list, ", ");
        lua_rawgeti(lua, rules, (lua_Integer)i);
        hdi_sandbox_text(lua, -1, NULL);
        lua_remove(lua, -2);
        luaL_addvalue(&list);
    }
    luaL_pushresult(&list);
    const char *text = lua_tostring(lua, -1);
    hdi_sandbox_fail(lua, HD_EPROGRAM,
                     "setting '%s' is '%s', but it must be one of %s", name,
                     hdi_sandbox_text(lua, value, NULL), text);
}

// If the data have a member of that name, push it in place of the default at
// the top.
//
// Settings of the command line go before the data, and these before the
// default.
static void push_datum(lua_State *lua, const char *name)
{
    lua_getfield(lua, LUA_REGISTRYINDEX, DATA);
    lua_getfield(lua, -1, name);
    lua_remove(lua, -2);
    if (lua_isnil(lua, -1)) {
        lua_pop(lua, 1);
        return;
    }
    if (lua_type(lua, -1) != lua_type(lua, 2))
        hdi_sandbox_fail(lua, HD_EPROGRAM,
                         "setting '%s' is %s in the data, but it must be %s",
                         name, luaL_typename(lua, -1), luaL_typename(lua, 2));
    if (lua_isinteger(lua, 2) && !lua_isinteger(lua, -1))
        fail_setting(lua, name, lua_tostring(lua, -1), "a whole number");
    lua_replace(lua, -2);
}

// setting(name, default [, {min =, max =} or {allowed, ...}])
//
// Stack: 1 the name, 2 the default, 3 the rules or nil, 4 the value.
static int setting(lua_State *lua)
{
    struct hdi_language *l = hdi_language_of(lua);
    const char *name = hdi_language_name(lua, 1, "setting");
    int type = lua_type(lua, 2);

    lua_settop(lua, 3);
    if (type != LUA_TNUMBER && type != LUA_TBOOLEAN && type != LUA_TSTRING &&
        type != LUA_TTABLE)
        return hdi_sandbox_fail(lua, HD_EPROGRAM,
                                "setting '%s' takes a default: a number, a "
                                "string, true, false or a table",
                                name);
    hdi_language_remember(lua, SETTINGS, name);
    lua_pushvalue(lua, 2);
    for (unsigned i = 0; i < l->program->setting_count; i++) {
        if (strcmp(l->program->settings[i].name, name) != 0)
            continue;
        l->settings[i] = true;
        push_setting(lua, name, l->program->settings[i].value, 2);
    }
    if (lua_gettop(lua) == 4)
        push_datum(lua, name);
    if (lua_type(lua, 3) == LUA_TTABLE) {
        int value = lua_gettop(lua);
        check_bound(lua, name, "min", value, 3);
        check_bound(lua, name, "max", value, 3);
        check_listed(lua, name, value, 3);
        lua_settop(lua, value);
    }
    return 1;
}

// Data that are given as JSON are an object; without any the table is empty.
void hdi_settings_add(lua_State *lua)
{
    static const luaL_Reg functions[] = {{"setting", setting}, {NULL, NULL}};

    lua_newtable(lua);
    lua_setfield(lua, LUA_REGISTRYINDEX, SETTINGS);
    const struct hd_graph_program *program = hdi_language_of(lua)->program;
    const char *what = program->data_name ? program->data_name : "the data";
    if (program->data)
        hdi_json_push(lua, what, program->data, strlen(program->data));
    else
        lua_newtable(lua);
    if (lua_type(lua, -1) != LUA_TTABLE || lua_rawlen(lua, -1) > 0)
        hdi_sandbox_fail(lua, HD_EPROGRAM, "%s must be an object", what);
    lua_setfield(lua, LUA_REGISTRYINDEX, DATA);
    luaL_setfuncs(lua, functions, 0);
}

// Every member of the data is a setting that the program asked for.
static void check_data(lua_State *lua)
{
    lua_getfield(lua, LUA_REGISTRYINDEX, DATA);
    lua_getfield(lua, LUA_REGISTRYINDEX, SETTINGS);
    lua_pushnil(lua);
    while (lua_next(lua, -3)) {
        lua_pop(lua, 1);
        lua_pushvalue(lua, -1);
        if (lua_rawget(lua, -3) == LUA_TNIL) {
            const char *name = hdi_sandbox_text(lua, -2, NULL);
            hdi_sandbox_fail(lua, HD_EPROGRAM,
                             "the program has no setting '%s', which is in the "
                             "data; it has: %s",
                             name, hdi_language_known(lua, SETTINGS));
        }
        lua_pop(lua, 1);
    }
    lua_pop(lua, 2);
}

void hdi_settings_end(lua_State *lua)
{
    struct hdi_language *l = hdi_language_of(lua);

    for (unsigned i = 0; i < l->program->setting_count; i++)
        if (!l->settings[i])
            hdi_sandbox_fail(lua, HD_EPROGRAM,
                             "the program has no setting '%s'; it has: "
                             "%s",
                             l->program->settings[i].name,
                             hdi_language_known(lua, SETTINGS));
    check_data(lua);
}
