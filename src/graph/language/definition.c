// Definitions of passes: `run` gives the commands of one pass at each call.
#include <string.h>

#include "graph/language/language.h"

// Places, from 1 on, in a table that is the user value of the definition: the
// program cannot reach it, so what was checked stays as it was.
enum {
    NAME = 1, // fields of the table that a definition is kept as
    READ,
    WRITE,
    OVERWRITE,
    STATE,
    PRIORITY,
    DEVICE,
    CLASS,
    KEEP,
    APPENDS,
    RUN
};

// Table at 1. A misspelt field would be ignored silently.
static void check_fields(lua_State *lua)
{
    static const char *const fields[] = {
        "name",   "read",  "write", "overwrite",   "state", "priority",
        "device", "class", "keep",  "append_most", "run"};

    lua_pushnil(lua);
    while (lua_next(lua, 1)) {
        const char *key =
            lua_type(lua, -2) == LUA_TSTRING ? lua_tostring(lua, -2) : "?";
        bool known = false;
        for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
            known |= strcmp(key, fields[i]) == 0;
        if (!known)
            hdi_sandbox_fail(
                lua, HD_EPROGRAM,
                "pass has no field '%s'; it has name, read, "
                "write, overwrite, state, priority, device, class, keep, "
                "append_most and run",
                key);
        lua_pop(lua, 1);
    }
}

// Keep a copy of the list of parameter names, which the program could change.
//
// Stack: 1 the program's table; at the top the definition, into whose `place`
// the copy goes.
static void keep_names(lua_State *lua, const char *field, int place)
{
    lua_newtable(lua);
    int type = lua_getfield(lua, 1, field);
    if (type != LUA_TNIL && type != LUA_TTABLE)
        hdi_sandbox_fail(lua, HD_EPROGRAM,
                         "pass: %s takes a list of parameter names, not %s",
                         field, hdi_language_kind(lua, -1));
    lua_Unsigned count = type == LUA_TTABLE ? lua_rawlen(lua, -1) : 0;
    for (lua_Unsigned i = 1; i <= count; i++) {
        if (lua_rawgeti(lua, -1, (lua_Integer)i) != LUA_TSTRING)
            hdi_sandbox_fail(lua, HD_EPROGRAM,
                             "pass: %s takes names of parameters, not %s; "
                             "resources come with each call",
                             field, hdi_language_kind(lua, -1));
        lua_rawseti(lua, -3, (lua_Integer)i);
    }
    lua_pop(lua, 1);
    lua_rawseti(lua, -2, place);
}

// The value at the top, nil for the usual.
//
// The order of the names is that of enum hd_priority.
static enum hd_priority priority_of(lua_State *lua)
{
    static const char *const names[] = {"normal", "high", "low"};

    if (lua_isnil(lua, -1))
        return HD_PRIORITY_NORMAL;
    for (int i = 0; lua_type(lua, -1) == LUA_TSTRING && i < 3; i++)
        if (strcmp(lua_tostring(lua, -1), names[i]) == 0)
            return (enum hd_priority)i;
    hdi_sandbox_fail(lua, HD_EPROGRAM,
                     "pass: priority is \"high\", \"normal\" or \"low\", "
                     "not %s",
                     lua_type(lua, -1) == LUA_TSTRING
                         ? lua_pushfstring(lua, "\"%s\"", lua_tostring(lua, -1))
                         : hdi_language_kind(lua, -1));
    return HD_PRIORITY_NORMAL;
}

// The value at the top, nil for any.
static const char *device_of(lua_State *lua)
{
    static const char *const names[] = {"cpu", "gpu"};

    if (lua_isnil(lua, -1))
        return NULL;
    for (int i = 0; lua_type(lua, -1) == LUA_TSTRING && i < 2; i++)
        if (strcmp(lua_tostring(lua, -1), names[i]) == 0)
            return names[i];
    hdi_sandbox_fail(lua, HD_EPROGRAM,
                     "pass: device is \"cpu\" or \"gpu\", not %s",
                     lua_type(lua, -1) == LUA_TSTRING
                         ? lua_pushfstring(lua, "\"%s\"", lua_tostring(lua, -1))
                         : hdi_language_kind(lua, -1));
    return NULL;
}

// The value at the top, nil for none.
static const char *class_of(lua_State *lua)
{
    if (lua_isnil(lua, -1))
        return NULL;
    if (lua_type(lua, -1) != LUA_TSTRING || !*lua_tostring(lua, -1))
        hdi_sandbox_fail(lua, HD_EPROGRAM,
                         "pass: class takes the name of a class of passes, not "
                         "%s",
                         lua_type(lua, -1) == LUA_TSTRING
                             ? "\"\""
                             : hdi_language_kind(lua, -1));
    return lua_tostring(lua, -1);
}

// The value at the top, nil for none.
static unsigned append_most_of(lua_State *lua)
{
    int whole = 0;
    lua_Integer most = lua_tointegerx(lua, -1, &whole);

    if (lua_isnil(lua, -1))
        return 0;
    if (lua_type(lua, -1) != LUA_TNUMBER || !whole || most < 1 ||
        most > INT32_MAX)
        hdi_sandbox_fail(lua, HD_EPROGRAM,
                         "pass: append_most says how many dispatches its "
                         "kernels may append, 1 or more, not %s",
                         lua_type(lua, -1) == LUA_TNUMBER
                             ? hdi_sandbox_text(lua, -1, NULL)
                             : hdi_language_kind(lua, -1));
    return (unsigned)most;
}

// limit(class, most)
int hdi_definition_limit(lua_State *lua)
{
    int whole = 0;
    lua_Integer most = lua_tointegerx(lua, 2, &whole);
    struct hd_error error;

    if (lua_type(lua, 1) != LUA_TSTRING || lua_type(lua, 2) != LUA_TNUMBER ||
        !whole || most < 1 || most > INT32_MAX)
        return hdi_sandbox_fail(lua, HD_EPROGRAM,
                                "limit takes the name of a class of passes and "
                                "how many of it may run at a time, 1 or more: "
                                "limit(\"io\", 2)");
    hd_status status =
        hd_graph_limit(hdi_language_of(lua)->graph, lua_tostring(lua, 1),
                       (unsigned)most, &error);
    hdi_language_check(lua, status, &error);
    return 0;
}

// pass {name =, read =, write =, state =, priority =, device =, class =,
//       append_most =, run =}
//
// Returns the definition, a value that may be called any number of times; each
// call makes a pass.
int hdi_definition_make(lua_State *lua)
{
    if (lua_type(lua, 1) != LUA_TTABLE)
        return hdi_sandbox_fail(lua, HD_EPROGRAM, "pass takes a table, not %s",
                                hdi_language_kind(lua, 1));
    hdi_block_outside(lua, "pass");
    lua_settop(lua, 1);
    check_fields(lua);
    hdi_language_push(lua, HDI_PASSDEF, 1);
    lua_createtable(lua, RUN, 0);
    int name = lua_getfield(lua, 1, "name");
    if (name != LUA_TNIL && name != LUA_TSTRING)
        return hdi_sandbox_fail(lua, HD_EPROGRAM,
                                "pass: name takes a string, not %s",
                                hdi_language_kind(lua, -1));
    if (name == LUA_TNIL) {
        lua_pushfstring(lua, "pass of line %d", hdi_sandbox_line(lua));
        lua_remove(lua, -2);
    }
    lua_rawseti(lua, -2, NAME);
    keep_names(lua, "read", READ);
    keep_names(lua, "write", WRITE);
    keep_names(lua, "overwrite", OVERWRITE);
    lua_getfield(lua, 1, "keep");
    lua_pushboolean(lua, lua_toboolean(lua, -1));
    lua_rawseti(lua, -3, KEEP);
    lua_pop(lua, 1);
    lua_getfield(lua, 1, "state");
    lua_rawseti(lua, -2, STATE);
    lua_getfield(lua, 1, "priority");
    priority_of(lua);
    lua_rawseti(lua, -2, PRIORITY);
    lua_getfield(lua, 1, "device");
    device_of(lua);
    lua_rawseti(lua, -2, DEVICE);
    lua_getfield(lua, 1, "class");
    class_of(lua);
    lua_rawseti(lua, -2, CLASS);
    lua_getfield(lua, 1, "append_most");
    append_most_of(lua);
    lua_rawseti(lua, -2, APPENDS);
    if (lua_getfield(lua, 1, "run") != LUA_TFUNCTION)
        return hdi_sandbox_fail(lua, HD_EPROGRAM,
                                "pass: run takes a function, not %s",
                                hdi_language_kind(lua, -1));
    lua_rawseti(lua, -2, RUN);
    lua_setiuservalue(lua, -2, 1);
    return 1;
}

static void bad_parameter(lua_State *lua, const char *pass, const char *name,
                          int value)
{
    if (lua_isnil(lua, value))
        hdi_sandbox_fail(lua, HD_EPROGRAM,
                         "pass '%s': parameter '%s' is missing; it takes a "
                         "resource",
                         pass, name);
    hdi_sandbox_fail(lua, HD_EPROGRAM,
                     "pass '%s': parameter '%s' takes a resource, not %s", pass,
                     name, hdi_language_kind(lua, value));
}

// The value at the top: a resource, or a list of some.
//
// A list is how one parameter stands for several resources.
static void take_parameter(lua_State *lua, const char *pass, const char *name,
                           enum hdi_resource_use use)
{
    const struct hdi_lua_resource *r =
        hdi_language_value(lua, -1, HDI_RESOURCE);
    if (r) {
        hdi_block_resource(lua, use, r->resource);
        return;
    }
    if (lua_type(lua, -1) != LUA_TTABLE)
        bad_parameter(lua, pass, name, lua_gettop(lua));
    lua_Unsigned count = lua_rawlen(lua, -1);
    for (lua_Unsigned i = 1; i <= count; i++) {
        lua_rawgeti(lua, -1, (lua_Integer)i);
        r = hdi_language_value(lua, -1, HDI_RESOURCE);
        if (!r)
            bad_parameter(lua, pass, name, lua_gettop(lua));
        hdi_block_resource(lua, use, r->resource);
        lua_pop(lua, 1);
    }
}

// Stack: 2 the parameters, 3 the definition.
static void take_parameters(lua_State *lua, const char *pass,
                            enum hdi_resource_use use)
{
    static const int places[] = {READ, WRITE, OVERWRITE};

    lua_rawgeti(lua, 3, places[use]);
    int names = lua_gettop(lua);
    lua_Unsigned count = lua_rawlen(lua, names);
    for (lua_Unsigned i = 1; i <= count; i++) {
        lua_rawgeti(lua, names, (lua_Integer)i);
        lua_pushvalue(lua, -1);
        lua_rawget(lua, 2);
        take_parameter(lua, pass, lua_tostring(lua, -2), use);
        lua_pop(lua, 2);
    }
    lua_pop(lua, 1);
}

// definition {parameter = value, ..., name =, state =, priority =, device =,
//             class =}
//
// Resources are taken before the function runs, so that its commands may be
// checked against them. `run` gets the parameters and the state; if it fails
// the whole program ends, so that `inside_run` need not be set back.
int hdi_definition_call(lua_State *lua)
{
    struct hdi_command_block *b = &hdi_language_of(lua)->block;
    char where[512];

    hdi_block_outside(lua, "a pass");
    hdi_stream_statement(lua);
    if (b->commands.count + b->reads.count + b->writes.count +
            b->overwrites.count >
        0)
        return hdi_sandbox_fail(lua, HD_EPROGRAM,
                                "a definition is called within a block of "
                                "commands; end it with finish()");
    if (lua_gettop(lua) != 2 || lua_type(lua, 2) != LUA_TTABLE)
        return hdi_sandbox_fail(lua, HD_EPROGRAM,
                                "a pass is called with a table of parameters: "
                                "blur {from = a, to = b}");
    hdi_language_where(lua, where, sizeof(where));
    lua_getiuservalue(lua, 1, 1);
    // An own name and state may come with the call. The definition is kept in
    // 3, the name in 4, the function in 5.
    lua_getfield(lua, 2, "name");
    if (lua_type(lua, 4) != LUA_TSTRING)
        lua_rawgeti(lua, 3, NAME), lua_replace(lua, 4);
    const char *name = lua_tostring(lua, 4);
    take_parameters(lua, name, HDI_USE_READ);
    take_parameters(lua, name, HDI_USE_WRITE);
    take_parameters(lua, name, HDI_USE_OVERWRITE);
    lua_rawgeti(lua, 3, KEEP);
    b->keep = lua_toboolean(lua, -1);
    lua_pop(lua, 1);
    // Its text stays in the stack: the function may change the parameters.
    if (lua_getfield(lua, 2, "class") == LUA_TNIL)
        lua_rawgeti(lua, 3, CLASS), lua_remove(lua, -2);
    b->pass_class = class_of(lua);

    lua_rawgeti(lua, 3, RUN);
    lua_pushvalue(lua, 2);
    if (lua_getfield(lua, 2, "state") == LUA_TNIL)
        lua_rawgeti(lua, 3, STATE), lua_remove(lua, -2);
    if (lua_getfield(lua, 2, "priority") == LUA_TNIL)
        lua_rawgeti(lua, 3, PRIORITY), lua_remove(lua, -2);
    b->priority = priority_of(lua);
    lua_pop(lua, 1);
    if (lua_getfield(lua, 2, "device") == LUA_TNIL)
        lua_rawgeti(lua, 3, DEVICE), lua_remove(lua, -2);
    b->device = device_of(lua);
    lua_pop(lua, 1);
    lua_rawgeti(lua, 3, APPENDS);
    b->append_most = append_most_of(lua);
    lua_pop(lua, 1);
    b->inside_run = true;
    lua_call(lua, 2, 0);
    b->inside_run = false;
    hd_pass pass = hdi_block_pass(lua, name, where);
    struct hdi_lua_pass *value =
        hdi_language_push(lua, HDI_PASSED, sizeof(*value));
    value->pass = pass;
    return 1;
}
