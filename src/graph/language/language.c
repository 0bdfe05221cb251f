// What may be called anywhere in a program. Settings and inputs come from
// outside: each has a name, and one that was given but that the program never
// asked for is an error at the end, as it would be a slip of the pen otherwise.
#include "graph/language/language.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "graph/language/json.h"

#define SETTINGS "heddle.settings" // tables of the registry
#define INPUTS   "heddle.inputs"
#define DATA     "heddle.data" // settings that came as an object

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

// Called after everything that adds to the graph: memory of the builder is not
// Lua's, but counts as the program's.
void hdi_language_check(lua_State *lua, hd_status status,
                        const struct hd_error *error)
{
    const struct hdi_sandbox *s = hdi_sandbox_of(lua);

    if (status != HD_OK)
        hdi_sandbox_raise(lua, status, error->text);
    if (hdi_graph_memory(hdi_language_of(lua)->graph) > s->max_memory)
        hdi_sandbox_fail(lua, HD_ELIMIT,
                         "the graph takes more than %d MiB of memory; is there "
                         "an endless loop here? If not, raise max_memory",
                         (int)(s->max_memory >> 20));
}

static const char *check_name(lua_State *lua, int index, const char *function)
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

// Settings --------------------------------------------------------------------

// Names asked for are kept in a table of the registry, `name` the first time
// only, so that they count as memory of the script. Names are for messages.
static void remember(lua_State *lua, const char *table, const char *name)
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
static const char *known(lua_State *lua, const char *table)
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
    if (lua_type(lua, bound) != LUA_TNUMBER ||
        lua_type(lua, value) != LUA_TNUMBER)
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
    const char *name = check_name(lua, 1, "setting");
    int type = lua_type(lua, 2);

    lua_settop(lua, 3);
    if (type != LUA_TNUMBER && type != LUA_TBOOLEAN && type != LUA_TSTRING &&
        type != LUA_TTABLE)
        return hdi_sandbox_fail(lua, HD_EPROGRAM,
                                "setting '%s' takes a default: a number, a "
                                "string, true, false or a table",
                                name);
    remember(lua, SETTINGS, name);
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
    const char *name = check_name(lua, 1, "resource");

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
    const char *name = check_name(lua, 1, "input");

    lua_settop(lua, 3);
    remember(lua, INPUTS, name);
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
    const char *name = check_name(lua, 1, "output");
    hd_resource handle =
        hdi_fields_gather(lua, check_resource(lua, 2, "output"));

    hdi_language_check(
        lua,
        hd_graph_output(l->graph, name, handle,
                        hdi_language_where(lua, where, sizeof(where)), &error),
        &error);
    return 0;
}

// Kernels ---------------------------------------------------------------------

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
    const char *file = check_name(lua, index, "kernel");

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
        check_name(lua, 1, "kernel");
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

// Data that are given as JSON are an object; without any the table is empty.
void hdi_language_start(lua_State *lua)
{
    static const luaL_Reg functions[] = {{"setting", setting},
                                         {"input", input},
                                         {"resource", resource},
                                         {"output", output},
                                         {"kernel", kernel},
                                         {"order", order},
                                         {"limit", hdi_definition_limit},
                                         {"local_memory", local_memory},
                                         {"print", print},
                                         {NULL, NULL}};

    lua_newtable(lua);
    lua_setfield(lua, LUA_REGISTRYINDEX, SETTINGS);
    lua_newtable(lua);
    lua_setfield(lua, LUA_REGISTRYINDEX, INPUTS);
    const struct hd_graph_program *program = hdi_language_of(lua)->program;
    const char *what = program->data_name ? program->data_name : "the data";
    if (program->data)
        hdi_json_push(lua, what, program->data, strlen(program->data));
    else
        lua_newtable(lua);
    if (lua_type(lua, -1) != LUA_TTABLE || lua_rawlen(lua, -1) > 0)
        hdi_sandbox_fail(lua, HD_EPROGRAM, "%s must be an object", what);
    lua_setfield(lua, LUA_REGISTRYINDEX, DATA);
    add_kind(lua, HDI_RESOURCE, resource_field);
    add_kind(lua, HDI_KERNEL, NULL);
    add_kind(lua, HDI_PASSED, NULL);
    add_kind(lua, HDI_LOCAL, NULL);
    luaL_setfuncs(lua, functions, 0);
    hdi_commands_add(lua);
    hdi_transfers_add(lua);
    hdi_fields_add(lua);
    hdi_views_add(lua);
    hdi_starts_add(lua);
    hdi_values_add(lua);
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
                             name, known(lua, SETTINGS));
        }
        lua_pop(lua, 1);
    }
    lua_pop(lua, 2);
}

// The last block of the stream becomes a pass first.
int hdi_language_end(lua_State *lua)
{
    struct hdi_language *l = hdi_language_of(lua);

    hdi_commands_end(lua);
    for (unsigned i = 0; i < l->program->setting_count; i++)
        if (!l->settings[i])
            return hdi_sandbox_fail(lua, HD_EPROGRAM,
                                    "the program has no setting '%s'; it has: "
                                    "%s",
                                    l->program->settings[i].name,
                                    known(lua, SETTINGS));
    check_data(lua);
    for (unsigned i = 0; i < l->program->input_count; i++)
        if (l->inputs[i] == 0)
            return hdi_sandbox_fail(lua, HD_EPROGRAM,
                                    "the program takes no input '%s'; it "
                                    "takes: %s",
                                    l->program->inputs[i].name,
                                    known(lua, INPUTS));
    return 0;
}
