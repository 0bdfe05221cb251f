// Fields in graph programs: what makes them, and a dispatch over all of one.
#include <inttypes.h>
#include <string.h>

#include "graph/language/language.h"
#include "heddle/agile.h"

// With more PARTS there is more to steal and more to keep count of.
enum {
    WORDS = 1024, // of a layout, at most
    PARTS = 16    // blocks that a node's rows are cut into, for stealing
};

// Rows, as equal as they can be, to the nodes in turn; of one node several
// blocks, which move and are computed each by themselves.
//
//     node 0  | part | part | part |     mine = parts x part rows
//     node 1  | part | part | part |
//     node 2  | part | part |           what is left
static void rows(const struct hd_shape *shape, uint32_t nodes, char *words,
                 size_t size)
{
    unsigned axes = shape->axes;
    uint64_t count = shape->extent[axes - 1];
    uint64_t mine = (count - 1) / nodes + 1, part = (mine - 1) / PARTS + 1;
    char rest[64] = "";

    mine = (mine - 1) / part * part + part; // whole parts
    for (unsigned i = axes - 1, at = 0; i-- > 0;)
        at += (unsigned)snprintf(rest + at, sizeof(rest) - at, "x%" PRIu64,
                                 shape->extent[i]);
    snprintf(words, size,
             "tiles %" PRIu64 "%s block memory %" PRIu64 "%s tasks %" PRIu64
             "%s",
             mine, rest, part, rest, part, rest);
}

// A whole word: "nodes", but not "mynodes".
static bool has_word(const char *words, const char *word)
{
    size_t size = strlen(word);

    for (const char *at = words; (at = strstr(at, word)); at += size)
        if ((at == words || at[-1] == ' ') &&
            (at[size] == ' ' || at[size] == '\0'))
            return true;
    return false;
}

// The value at `index` as the words of a layout, or nothing.
//
// The caller destroys the map. Extents come before the words, slowest axis
// first; how many nodes there are is added if the words do not say it.
static struct hd_map *read_map(lua_State *lua, int index, const char *name,
                               const struct hd_shape *shape)
{
    const struct hdi_language *l = hdi_language_of(lua);
    char words[WORDS], text[WORDS + 128];
    struct hd_error error;
    struct hd_map *map = NULL;
    unsigned at = 0;

    if (!l->graph->cluster)
        hdi_sandbox_fail(lua, HD_EINVAL,
                         "field '%s': there are no nodes here to lay it on",
                         name);
    uint32_t nodes = hd_cluster_nodes(l->graph->cluster);
    rows(shape, nodes, words, sizeof(words));
    if (lua_type(lua, index) == LUA_TSTRING) {
        if (strlen(lua_tostring(lua, index)) >= sizeof(words))
            hdi_sandbox_fail(lua, HD_EPROGRAM,
                             "field '%s': a layout of more than %d letters",
                             name, WORDS - 1);
        snprintf(words, sizeof(words), "%s", lua_tostring(lua, index));
    } else if (!lua_isnoneornil(lua, index)) {
        hdi_sandbox_fail(lua, HD_EPROGRAM,
                         "field '%s': a layout is a string such as \"tiles "
                         "64x64 cyclic\", not %s",
                         name, hdi_language_kind(lua, index));
    }
    for (unsigned i = shape->axes; i-- > 0;)
        at += (unsigned)snprintf(text + at, sizeof(text) - at, "%" PRIu64 "%s",
                                 shape->extent[i], i > 0 ? "x" : " ");
    at += (unsigned)snprintf(text + at, sizeof(text) - at, "%s", words);
    if (!has_word(words, "nodes") && !has_word(words, "mesh") &&
        !has_word(words, "weights"))
        snprintf(text + at, sizeof(text) - at, " nodes %" PRIu32, nodes);
    hdi_language_check(lua, hd_map_parse(text, &map, &error), &error);
    return map;
}

static hd_resource add_field(lua_State *lua, const char *name,
                             const struct hd_shape *shape, int layout)
{
    struct hdi_language *l = hdi_language_of(lua);
    struct hd_map *map = read_map(lua, layout, name, shape);
    struct hd_error error;
    hd_resource handle = 0;
    char where[512];

    hdi_language_where(lua, where, sizeof(where));
    hd_status status =
        hd_graph_field(l->graph, name, shape, map, where, &handle, &error);
    hd_map_destroy(map);
    hdi_language_check(lua, status, &error);
    struct hdi_lua_resource *value =
        hdi_language_push(lua, HDI_RESOURCE, sizeof(*value));
    value->resource = handle;
    return handle;
}

static const char *check_text(lua_State *lua, int index, const char *function,
                              const char *what)
{
    if (lua_type(lua, index) != LUA_TSTRING || !lua_tostring(lua, index)[0])
        hdi_sandbox_fail(lua, HD_EPROGRAM, "%s takes %s, not %s", function,
                         what, hdi_language_kind(lua, index));
    return lua_tostring(lua, index);
}

// field(name, type, width [, height [, depth]] [, layout])
//
// Extents end where something comes that is no number, hence the shuffle of the
// layout.
static int field(lua_State *lua)
{
    const char *name = check_text(lua, 1, "field", "a name");
    struct hd_shape shape = {
        .type = check_text(lua, 2, "field", "the type of its elements")};
    int layout = 3;

    while (layout < 6 && lua_type(lua, layout) == LUA_TNUMBER)
        layout++;
    lua_settop(lua, layout);
    lua_pushvalue(lua, layout); // out of the way of the extents
    lua_pushnil(lua);
    lua_replace(lua, layout);
    shape.axes = hdi_language_extents(lua, 3, "field", shape.extent);
    add_field(lua, name, &shape, lua_gettop(lua));
    return 1;
}

// A pass of one copy, named after what it makes.
//
// Added to the graph at once. Its callers have ended the block of the stream,
// so that program order is kept.
static void add_copy(lua_State *lua, hd_resource from, hd_resource to,
                     const char *name)
{
    struct hdi_language *l = hdi_language_of(lua);
    const struct hd_command copy = {.is = HD_COPY, .from = from, .to = to};
    char where[512];
    const struct hd_pass_params params = {
        .name = name,
        .where = hdi_language_where(lua, where, sizeof(where)),
        .reads = &from,
        .read_count = 1,
        .overwrites = &to,
        .overwrite_count = 1,
        .commands = &copy,
        .command_count = 1};
    struct hd_error error;
    hd_pass pass;

    hdi_language_check(lua, hd_graph_pass(l->graph, &params, &pass, &error),
                       &error);
}

static const struct hdi_resource *check_resource(lua_State *lua,
                                                 const char *function,
                                                 hd_resource *handle)
{
    const struct hdi_lua_resource *value =
        hdi_language_value(lua, 1, HDI_RESOURCE);
    if (!value)
        hdi_sandbox_fail(lua, HD_EPROGRAM, "%s takes a resource, not %s",
                         function, hdi_language_kind(lua, 1));
    hdi_block_outside(lua, function);
    hdi_stream_end(lua);
    *handle = value->resource;
    return hdi_graph_find(hdi_language_of(lua)->graph, *handle);
}

// agile(resource [, layout]): a field of the same elements
static int agile(lua_State *lua)
{
    hd_resource from;
    const struct hdi_resource *r = check_resource(lua, "agile", &from);
    struct hd_shape shape = r->shape;
    char name[128];

    snprintf(name, sizeof(name), "%.100s", r->name);
    lua_settop(lua, 2);
    hd_resource to = add_field(lua, name, &shape, 2);
    add_copy(lua, from, to, "agile");
    return 1;
}

// A new resource each time, as the field may have been written since.
hd_resource hdi_fields_gather(lua_State *lua, hd_resource from)
{
    struct hdi_language *l = hdi_language_of(lua);
    const struct hdi_resource *r = hdi_graph_find(l->graph, from);
    struct hd_shape shape = r->shape;
    struct hd_error error;
    hd_resource to = 0;
    char where[512];

    if (!r->map)
        return from;
    hdi_block_outside(lua, "a field that is gathered");
    hdi_stream_end(lua);
    hdi_language_check(
        lua,
        hd_graph_resource(l->graph, r->name, &shape,
                          hdi_language_where(lua, where, sizeof(where)), &to,
                          &error),
        &error);
    add_copy(lua, from, to, "gather");
    return to;
}

// gather(field): a resource of the same elements, which every process has
static int gather(lua_State *lua)
{
    hd_resource from;

    check_resource(lua, "gather", &from);
    hd_resource to = hdi_fields_gather(lua, from);
    struct hdi_lua_resource *value =
        hdi_language_push(lua, HDI_RESOURCE, sizeof(*value));
    value->resource = to;
    return 1;
}

static bool is_written(const struct hdi_command_block *b, hd_resource resource)
{
    for (uint32_t i = 0; i < b->writes.count; i++)
        if (b->writes.at[i] == resource)
            return true;
    for (uint32_t i = 0; i < b->overwrites.count; i++)
        if (b->overwrites.at[i] == resource)
            return true;
    return false;
}

// forall([kernel,] {arguments}): a dispatch over all elements of the first
// argument that the pass writes.
//
// Makes the range of a dispatch and goes on as one.
static int forall(lua_State *lua)
{
    const struct hdi_language *l = hdi_language_of(lua);
    int args = lua_type(lua, 1) == LUA_TTABLE ? 1 : 2;
    const struct hdi_resource *output = NULL;

    if (lua_type(lua, args) != LUA_TTABLE || lua_gettop(lua) > args)
        return hdi_sandbox_fail(lua, HD_EPROGRAM,
                                "forall takes a kernel and a table of "
                                "arguments");
    lua_Unsigned count = lua_rawlen(lua, args);
    for (lua_Unsigned i = 1; i <= count && !output; i++) {
        lua_rawgeti(lua, args, (lua_Integer)i);
        const struct hdi_lua_resource *value =
            hdi_language_value(lua, -1, HDI_RESOURCE);
        if (value && is_written(&l->block, value->resource))
            output = hdi_graph_find(l->graph, value->resource);
        lua_pop(lua, 1);
    }
    if (!output)
        return hdi_sandbox_fail(lua, HD_EPROGRAM,
                                "forall: the pass writes none of the "
                                "arguments");
    lua_createtable(lua, 0, 1);
    lua_createtable(lua, 3, 0);
    for (unsigned i = 0; i < output->shape.axes; i++) {
        lua_pushinteger(lua, (lua_Integer)output->shape.extent[i]);
        lua_rawseti(lua, -2, (lua_Integer)i + 1);
    }
    lua_setfield(lua, -2, "global");
    return hdi_commands_dispatch(lua);
}

// nodes(): how many there are
static int nodes(lua_State *lua)
{
    const struct hdi_language *l = hdi_language_of(lua);

    lua_pushinteger(lua, l->graph->cluster ? hd_cluster_nodes(l->graph->cluster)
                                           : 1);
    return 1;
}

void hdi_fields_add(lua_State *lua)
{
    static const luaL_Reg functions[] = {{"field", field},   {"agile", agile},
                                         {"gather", gather}, {"forall", forall},
                                         {"nodes", nodes},   {NULL, NULL}};

    luaL_setfuncs(lua, functions, 0);
}
