// Commands that need no kernel: copies, fills and the like.
#include <string.h>

#include "graph/language/language.h"

static hd_resource check_operand(lua_State *lua, int index, const char *what)
{
    const struct hdi_lua_resource *r =
        hdi_language_value(lua, index, HDI_RESOURCE);
    if (!r)
        hdi_sandbox_fail(lua, HD_EPROGRAM, "%s takes a resource, not %s", what,
                         hdi_language_kind(lua, index));
    return r->resource;
}

// One to three whole numbers of a field, as a number or a table. False when
// there is no such field.
//
// A single number is the first axis. Axes that are not given stay as they are
// in `axes`.
static bool read_field(lua_State *lua, int table, const char *what,
                       const char *field, lua_Integer least, uint64_t axes[3])
{
    if (lua_getfield(lua, table, field) == LUA_TNIL) {
        lua_pop(lua, 1);
        return false;
    }
    bool list = lua_type(lua, -1) == LUA_TTABLE;
    lua_Unsigned count = list ? lua_rawlen(lua, -1) : 1;
    if (count < 1 || count > 3)
        hdi_sandbox_fail(lua, HD_EPROGRAM, "%s: %s has 1 to 3 numbers", what,
                         field);
    for (lua_Unsigned i = 0; i < count; i++) {
        if (list)
            lua_rawgeti(lua, -1, (lua_Integer)i + 1);
        axes[i] = hdi_language_whole(lua, -1, what, field, least,
                                     (lua_Integer)HDI_SIZE_LIMIT);
        if (list)
            lua_pop(lua, 1);
    }
    lua_pop(lua, 1);
    return true;
}

// The region at `index`, if there is one: {size =, to =, from =}, of which
// nothing but `size` need be given.
static void read_region(lua_State *lua, int index, const char *what,
                        struct hd_region *region)
{
    if (lua_isnoneornil(lua, index))
        return;
    if (lua_type(lua, index) != LUA_TTABLE)
        hdi_sandbox_fail(lua, HD_EPROGRAM,
                         "%s takes a region such as {size = {4, 4}, to = {0, "
                         "0}}, not %s",
                         what, hdi_language_kind(lua, index));
    lua_pushnil(lua);
    while (lua_next(lua, index)) {
        const char *key =
            lua_type(lua, -2) == LUA_TSTRING ? lua_tostring(lua, -2) : "?";
        if (strcmp(key, "size") != 0 && strcmp(key, "to") != 0 &&
            strcmp(key, "from") != 0)
            hdi_sandbox_fail(lua, HD_EPROGRAM,
                             "%s: a region has no field '%s'; it has size, to "
                             "and from",
                             what, key);
        lua_pop(lua, 1);
    }
    if (!read_field(lua, index, what, "size", 1, region->count))
        hdi_sandbox_fail(lua, HD_EPROGRAM, "%s: a region has a size", what);
    read_field(lua, index, what, "to", 0, region->to);
    read_field(lua, index, what, "from", 0, region->from);
}

// What the pass reads and writes is not said here: read() and write() do, and
// the builder checks that they have.
static int add(lua_State *lua, enum hd_command_is is, hd_resource from,
               hd_resource to, const struct hd_region *region)
{
    struct hd_command *command = hdi_command_add(lua);

    command->is = is;
    command->from = from;
    command->to = to;
    command->region = *region;
    return hdi_command_end(lua);
}

// copy(from, to [, {size =, from =, to =}])
static int copy(lua_State *lua)
{
    struct hd_region region = {0};
    hd_resource from = check_operand(lua, 1, "copy");
    hd_resource to = check_operand(lua, 2, "copy");

    read_region(lua, 3, "copy", &region);
    return add(lua, HD_COPY, from, to, &region);
}

// clear(resource [, {size =, to =}])
static int clear(lua_State *lua)
{
    struct hd_region region = {0};
    hd_resource to = check_operand(lua, 1, "clear");

    read_region(lua, 2, "clear", &region);
    return add(lua, HD_CLEAR, 0, to, &region);
}

// fill(resource, number or {number, ...} [, {size =, to =}])
static int fill(lua_State *lua)
{
    struct hd_region region = {0};
    hd_resource to = check_operand(lua, 1, "fill");

    lua_settop(lua, 3);
    if (lua_type(lua, 2) != LUA_TNUMBER && lua_type(lua, 2) != LUA_TBOOLEAN &&
        lua_type(lua, 2) != LUA_TTABLE)
        return hdi_sandbox_fail(lua, HD_EPROGRAM,
                                "fill takes a number or a list of numbers, not "
                                "%s",
                                hdi_language_kind(lua, 2));
    read_region(lua, 3, "fill", &region);
    struct hd_command *command = hdi_command_add(lua);
    command->is = HD_FILL;
    command->to = to;
    command->region = region;
    hdi_command_pattern(lua, 2, command);
    return hdi_command_end(lua);
}

// layout(from, to)
static int layout(lua_State *lua)
{
    hd_resource from = check_operand(lua, 1, "layout");

    return add(lua, HD_LAYOUT, from, check_operand(lua, 2, "layout"),
               &(struct hd_region){0});
}

// prefetch(resource)
static int prefetch(lua_State *lua)
{
    return add(lua, HD_PREFETCH, 0, check_operand(lua, 1, "prefetch"),
               &(struct hd_region){0});
}

// flush(resource)
static int flush(lua_State *lua)
{
    return add(lua, HD_FLUSH, 0, check_operand(lua, 1, "flush"),
               &(struct hd_region){0});
}

// sync()
static int sync_passes(lua_State *lua)
{
    return add(lua, HD_SYNC, 0, 0, &(struct hd_region){0});
}

void hdi_transfers_add(lua_State *lua)
{
    static const luaL_Reg functions[] = {
        {"copy", copy},         {"clear", clear}, {"fill", fill},
        {"prefetch", prefetch}, {"flush", flush}, {"sync", sync_passes},
        {"layout", layout},     {NULL, NULL}};

    luaL_setfuncs(lua, functions, 0);
}
