// What may be called anywhere in a program. Inputs come from outside, as
// settings (setting_words.c) do: each has a name, and one that was given but
// that the program never asked for is an error at the end, as it would be a
// slip of the pen otherwise.
#include "graph/language/language.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"

#define INPUTS "heddle.inputs" // a table of the registry

// Values ----------------------------------------------------------------------

// With one user value, which a definition uses for its table. Zeroed: a program
// never sees what was in memory.
void *hdi_language_push(lua_State *lua, const char *kind, size_t size)
{
    void *value = lua_newuserdatauv(lua, size, 1);

    memset(value, 0, size);
    luaL_setmetatable(lua, kind);
    return value;
}

void *hdi_language_value(lua_State *lua, int index, const char *kind)
{
    return luaL_testudata(lua, index, kind);
}

const char *hdi_language_kind(lua_State *lua, int index)
{
    if (lua_isnoneornil(lua, index))
        return "nothing";
    if (lua_type(lua, index) == LUA_TUSERDATA &&
        luaL_getmetafield(lua, index, "__name") != LUA_TNIL)
        return lua_tostring(lua, -1);
    return luaL_typename(lua, index);
}

const char *hdi_language_where(lua_State *lua, char *where, size_t size)
{
    snprintf(where, size, "%s:%d", hdi_sandbox_of(lua)->path,
             hdi_sandbox_line(lua));
    return where;
}

// What is wrong with something that was added says where that was; anything
// else is wrong where the program is.
static void refuse(lua_State *lua, hd_status status, const char *text)
{
    const char *path = hdi_sandbox_of(lua)->path;
    size_t length = strlen(path);

    if (strncmp(text, path, length) == 0 && text[length] == ':')
        hdi_sandbox_raise(lua, status, text);
    hdi_sandbox_fail(lua, status, "%s", text);
}

// Called after everything that adds to the graph: memory of the builder is not
// Lua's, but counts as the program's.
void hdi_language_check(lua_State *lua, hd_status status,
                        const struct hd_error *error)
{
    const struct hdi_sandbox *s = hdi_sandbox_of(lua);

    if (status != HD_OK)
        refuse(lua, status, error->text);
    if (hdi_graph_memory(hdi_language_of(lua)->graph) > s->max_memory)
        hdi_sandbox_fail(lua, HD_ELIMIT,
                         "the graph takes more than %d MiB of memory; is there "
                         "an endless loop here? If not, raise max_memory",
                         (int)(s->max_memory >> 20));
}

const char *hdi_language_name(lua_State *lua, int index, const char *function)
{
    bool is_text = lua_type(lua, index) == LUA_TSTRING;

    if (!is_text || !lua_tostring(lua, index)[0])
        hdi_sandbox_fail(lua, HD_EPROGRAM, "%s takes a name, not %s", function,
                         is_text ? "an empty one"
                                 : hdi_language_kind(lua, index));
    return lua_tostring(lua, index);
}

uint64_t hdi_language_whole(lua_State *lua, int index, const char *what,
                            const char *field, lua_Integer least,
                            lua_Integer most)
{
    int whole = 0;
    bool number = lua_type(lua, index) == LUA_TNUMBER;
    lua_Integer n = lua_tointegerx(lua, index, &whole);

    if (number && ((whole && n > most) || lua_tonumber(lua, index) > 0x1p62))
        hdi_sandbox_fail(lua, HD_EPROGRAM, "%s: %s is %I at most, not %s", what,
                         field, most, hdi_sandbox_text(lua, index, NULL));
    if (!number || !whole || n < least)
        hdi_sandbox_fail(lua, HD_EPROGRAM,
                         "%s: %s takes whole numbers from %d on, not %s", what,
                         field, (int)least,
                         number ? hdi_sandbox_text(lua, index, NULL)
                                : hdi_language_kind(lua, index));
    return (uint64_t)n;
}

unsigned hdi_language_extents(lua_State *lua, int index, const char *what,
                              uint64_t extent[3])
{
    unsigned axes = 0;

    for (; axes < 3 && !lua_isnoneornil(lua, index); axes++, index++) {
        char field[16];
        snprintf(field, sizeof(field), "extent %u", axes + 1);
        extent[axes] = hdi_language_whole(lua, index, what, field, 1,
                                          (lua_Integer)HDI_SIZE_LIMIT);
    }
    if (axes == 0)
        hdi_sandbox_fail(lua, HD_EPROGRAM,
                         "%s takes 1 to 3 extents: width, height, depth", what);
    return axes;
}

// What was asked for ----------------------------------------------------------

// Names asked for are kept in a table of the registry, `name` the first time
// only, so that they count as memory of the script. Names are for messages.
void hdi_language_remember(lua_State *lua, const char *table, const char *name)
{
    lua_getfield(lua, LUA_REGISTRYINDEX, table);
    if (lua_getfield(lua, -1, name) == LUA_TNIL) {
        lua_pushboolean(lua, true);
        lua_setfield(lua, -3, name);
        lua_pushstring(lua, name);
        lua_rawseti(lua, -3, (lua_Integer)lua_rawlen(lua, -3) + 1);
    }
    lua_pop(lua, 2);
}

// Push the names, in the order in which they were asked for.
//
// For messages; the text stays on the stack.
const char *hdi_language_known(lua_State *lua, const char *table)
{
    lua_getfield(lua, LUA_REGISTRYINDEX, table);
    int names = lua_gettop(lua);
    lua_Unsigned count = lua_rawlen(lua, names);
    luaL_Buffer text;

    luaL_buffinit(lua, &text);
    if (count == 0)
        luaL_addstring(&text, "none");
    for (lua_Unsigned i = 1; i <= count; i++) {
        if (i > 1)
            luaL_addstring(&text, ", ");
        lua_rawgeti(lua, names, (lua_Integer)i);
        luaL_addvalue(&text);
    }
    luaL_pushresult(&text);
    return lua_tostring(lua, -1);
}

// Resources -------------------------------------------------------------------

static void push_resource(lua_State *lua, hd_resource resource)
{
    struct hdi_lua_resource *value =
        hdi_language_push(lua, HDI_RESOURCE, sizeof(*value));
    value->resource = resource;
}

static hd_resource check_resource(lua_State *lua, int index,
                                  const char *function)
{
    struct hdi_lua_resource *value =
        hdi_language_value(lua, index, HDI_RESOURCE);
    if (!value)
        hdi_sandbox_fail(lua, HD_EPROGRAM, "%s takes a resource, not %s",
                         function, hdi_language_kind(lua, index));
    return value->resource;
}

// Called for each `r.width`: the value holds a handle only, what it is comes
// from the graph.
static int resource_field(lua_State *lua)
{
    static const char *const axes[] = {"width", "height", "depth"};
    hd_resource handle = check_resource(lua, 1, "a field");
    const struct hdi_resource *r =
        hdi_graph_find(hdi_language_of(lua)->graph, handle);
    const char *field =
        lua_type(lua, 2) == LUA_TSTRING ? lua_tostring(lua, 2) : "?";

    for (unsigned i = 0; i < 3; i++) {
        if (strcmp(field, axes[i]) == 0) {
            lua_pushinteger(lua, (lua_Integer)r->shape.extent[i]);
            return 1;
        }
    }
    if (strcmp(field, "type") == 0)
        lua_pushstring(lua, r->type->name);
    else if (strcmp(field, "name") == 0)
        lua_pushstring(lua, r->name);
    else
        hdi_sandbox_fail(lua, HD_EPROGRAM,
                         "a resource has no field '%s'; it has width, height, "
                         "depth, type and name",
                         field);
    return 1;
}

// resource(name, type, width [, height [, depth]])
static int resource(lua_State *lua)
{
    struct hdi_language *l = hdi_language_of(lua);
    struct hd_error error;
    hd_resource handle = 0;
    char where[512];
    const char *name = hdi_language_name(lua, 1, "resource");

    if (lua_type(lua, 2) != LUA_TSTRING)
        return hdi_sandbox_fail(lua, HD_EPROGRAM,
                                "resource '%s' takes the type of its elements, "
                                "such as \"float4\", not %s",
                                name, hdi_language_kind(lua, 2));
    struct hd_shape shape = {.type = lua_tostring(lua, 2)};
    shape.axes = hdi_language_extents(lua, 3, "resource", shape.extent);
    hdi_language_check(
        lua,
        hd_graph_resource(l->graph, name, &shape,
                          hdi_language_where(lua, where, sizeof(where)),
                          &handle, &error),
        &error);
    push_resource(lua, handle);
    return 1;
}

static bool is_optional(lua_State *lua, int index)
{
    if (lua_type(lua, index) != LUA_TTABLE)
        return false;
    lua_getfield(lua, index, "optional");
    bool optional = lua_toboolean(lua, -1);
    lua_pop(lua, 1);
    return optional;
}

// An input becomes a resource when it is first asked for, so that one that is
// not used is none of the graph's.
static hd_resource add_input(lua_State *lua, unsigned index)
{
    struct hdi_language *l = hdi_language_of(lua);
    const struct hd_graph_source *source = &l->program->inputs[index];
    struct hd_error error;
    hd_resource handle = 0;
    char where[512];

    hdi_language_check(
        lua,
        hd_graph_resource(l->graph, source->name, &source->shape,
                          hdi_language_where(lua, where, sizeof(where)),
                          &handle, &error),
        &error);
    hdi_language_check(
        lua, hd_graph_input(l->graph, handle, source->buffer, &error), &error);
    return handle;
}

// input(name [, type [, {optional = true}]])
//
// The same resource each time it is asked for.
static int input(lua_State *lua)
{
    struct hdi_language *l = hdi_language_of(lua);
    const char *name = hdi_language_name(lua, 1, "input");

    lua_settop(lua, 3);
    hdi_language_remember(lua, INPUTS, name);
    if (!lua_isnil(lua, 2) && (lua_type(lua, 2) != LUA_TSTRING ||
                               !hdi_type_find(lua_tostring(lua, 2))))
        return hdi_sandbox_fail(lua, HD_EPROGRAM,
                                "input '%s': '%s' is no scalar or vector type "
                                "of OpenCL C, such as uint or float4",
                                name, hdi_sandbox_text(lua, 2, NULL));
    for (unsigned i = 0; i < l->program->input_count; i++) {
        const struct hd_graph_source *source = &l->program->inputs[i];
        if (strcmp(source->name, name) != 0)
            continue;
        if (l->inputs[i] == 0)
            l->inputs[i] = add_input(lua, i);
        if (!lua_isnil(lua, 2) &&
            strcmp(source->shape.type, lua_tostring(lua, 2)) != 0)
            return hdi_sandbox_fail(lua, HD_EPROGRAM,
                                    "input '%s' has elements of type '%s', but "
                                    "the program takes '%s'",
                                    name, source->shape.type,
                                    lua_tostring(lua, 2));
        push_resource(lua, l->inputs[i]);
        return 1;
    }
    if (is_optional(lua, 3)) {
        lua_pushnil(lua);
        return 1;
    }
    return hdi_sandbox_fail(lua, HD_EPROGRAM,
                            "input '%s' is missing; hand it in with --in "
                            "%s=FILE",
                            name, name);
}

// output(name, resource)
//
// A field is gathered first: an output has memory.
static int output(lua_State *lua)
{
    struct hdi_language *l = hdi_language_of(lua);
    struct hd_error error;
    char where[512];
    const char *name = hdi_language_name(lua, 1, "output");
    hd_resource handle =
        hdi_fields_gather(lua, check_resource(lua, 2, "output"));

    hdi_language_check(
        lua,
        hd_graph_output(l->graph, name, handle,
                        hdi_language_where(lua, where, sizeof(where)), &error),
        &error);
    return 0;
}

// The rest --------------------------------------------------------------------

// order(pass, pass, ...)
static int order(lua_State *lua)
{
    struct hdi_language *l = hdi_language_of(lua);
    const struct hdi_lua_pass *before = NULL;
    int count = lua_gettop(lua);
    struct hd_error error;
    char where[512];

    if (count < 2)
        return hdi_sandbox_fail(lua, HD_EPROGRAM,
                                "order takes two passes or more");
    hdi_language_where(lua, where, sizeof(where));
    for (int i = 1; i <= count; i++) {
        const struct hdi_lua_pass *after =
            hdi_language_value(lua, i, HDI_PASSED);
        if (!after)
            return hdi_sandbox_fail(lua, HD_EPROGRAM,
                                    "order takes passes, as calls of "
                                    "definitions return them, not %s",
                                    hdi_language_kind(lua, i));
        if (before)
            hdi_language_check(lua,
                               hd_graph_order(l->graph, before->pass,
                                              after->pass, where, &error),
                               &error);
        before = after;
    }
    return 0;
}

// local_memory(bytes)
static int local_memory(lua_State *lua)
{
    int whole = 0;
    lua_Integer size = lua_tointegerx(lua, 1, &whole);
    if (lua_type(lua, 1) != LUA_TNUMBER || !whole || size < 1)
        return hdi_sandbox_fail(lua, HD_EPROGRAM,
                                "local_memory takes a number of bytes");
    struct hdi_lua_local *value =
        hdi_language_push(lua, HDI_LOCAL, sizeof(*value));
    value->size = (uint64_t)size;
    return 1;
}

// print(...): to the log, one line.
//
// Addresses are left out, as in all texts (hdi_sandbox_text).
static int print(lua_State *lua)
{
    int count = lua_gettop(lua);
    luaL_Buffer line;

    luaL_buffinit(lua, &line);
    for (int i = 1; i <= count; i++) {
        if (i > 1)
            luaL_addchar(&line, '\t');
        hdi_sandbox_text(lua, i, NULL);
        luaL_addvalue(&line);
    }
    luaL_pushresult(&line);
    hdi_info("%s:%d: %s", hdi_sandbox_of(lua)->path, hdi_sandbox_line(lua),
             lua_tostring(lua, -1));
    return 0;
}

// Without `field` a program cannot index the value at all.
static void add_kind(lua_State *lua, const char *kind, lua_CFunction field)
{
    luaL_newmetatable(lua, kind);
    if (field) {
        lua_pushcfunction(lua, field);
        lua_setfield(lua, -2, "__index");
    }
    lua_pop(lua, 1);
}

void hdi_language_start(lua_State *lua)
{
    static const luaL_Reg functions[] = {{"input", input},
                                         {"resource", resource},
                                         {"output", output},
                                         {"order", order},
                                         {"limit", hdi_definition_limit},
                                         {"local_memory", local_memory},
                                         {"print", print},
                                         {NULL, NULL}};

    lua_newtable(lua);
    lua_setfield(lua, LUA_REGISTRYINDEX, INPUTS);
    add_kind(lua, HDI_RESOURCE, resource_field);
    add_kind(lua, HDI_KERNEL, NULL);
    add_kind(lua, HDI_PASSED, NULL);
    add_kind(lua, HDI_LOCAL, NULL);
    luaL_setfuncs(lua, functions, 0);
    hdi_settings_add(lua);
    hdi_kernels_add(lua);
    hdi_commands_add(lua);
    hdi_transfers_add(lua);
    hdi_fields_add(lua);
    hdi_views_add(lua);
    hdi_starts_add(lua);
    hdi_values_add(lua);
}

// The last block of the stream becomes a pass first.
int hdi_language_end(lua_State *lua)
{
    struct hdi_language *l = hdi_language_of(lua);

    hdi_commands_end(lua);
    hdi_settings_end(lua);
    for (unsigned i = 0; i < l->program->input_count; i++)
        if (l->inputs[i] == 0)
            return hdi_sandbox_fail(lua, HD_EPROGRAM,
                                    "the program takes no input '%s'; it "
                                    "takes: %s",
                                    l->program->inputs[i].name,
                                    hdi_language_known(lua, INPUTS));
    return 0;
}
