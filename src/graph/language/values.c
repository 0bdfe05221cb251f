// Results steer the program: values(resource) runs what has been built so far
// and gives numbers.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "graph/language/language.h"
#include "graph/run/run.h"

// 128 MiB of numbers at 8 bytes each, twice that in Lua.
enum {
    MAX_VALUES = 1 << 24 // components read at one time
};

// Half-precision numbers, as IEEE 754 has them.
//
// Sign, 5 bits of exponent, 10 of fraction; below the smallest exponent, and
// for infinity and NaN, there are no implied ones.
static double read_half(const unsigned char *from)
{
    uint16_t bits;
    memcpy(&bits, from, sizeof(bits));
    int exponent = bits >> 10 & 31;
    double fraction = (bits & 1023) / 1024.0;
    double value = exponent == 0    ? ldexp(fraction, -14)
                   : exponent == 31 ? (fraction > 0 ? (double)NAN : INFINITY)
                                    : ldexp(1 + fraction, exponent - 15);
    return bits >> 15 ? -value : value;
}

// Push one component.
//
// Whole numbers stay whole; only what a lua_Integer cannot hold becomes a
// double. `bits` relies on little-endian order.
static void push_component(lua_State *lua, const struct hdi_type *type,
                           const unsigned char *from)
{
    uint64_t bits = 0;
    float single;
    double real;

    memcpy(&bits, from, type->scalar_size);
    if (type->scalar == HDI_HALF) {
        lua_pushnumber(lua, read_half(from));
        return;
    }
    if (type->scalar == HDI_FLOAT && type->scalar_size == sizeof(real)) {
        memcpy(&real, from, sizeof(real));
        lua_pushnumber(lua, real);
        return;
    }
    if (type->scalar == HDI_FLOAT) {
        memcpy(&single, from, sizeof(single));
        lua_pushnumber(lua, (double)single);
        return;
    }
    unsigned shift = 64 - 8 * type->scalar_size;
    if (type->scalar == HDI_SIGNED)
        lua_pushinteger(lua, (int64_t)(bits << shift) >> shift);
    else if (bits > INT64_MAX)
        lua_pushnumber(lua, (lua_Number)bits);
    else
        lua_pushinteger(lua, (lua_Integer)bits);
}

static uint64_t check_count(lua_State *lua, int index, const char *what,
                            uint64_t otherwise)
{
    int whole = 0;
    if (lua_isnoneornil(lua, index))
        return otherwise;
    lua_Integer n = lua_tointegerx(lua, index, &whole);
    if (lua_type(lua, index) != LUA_TNUMBER || !whole || n < 1)
        hdi_sandbox_fail(lua, HD_EPROGRAM,
                         "values: %s is a whole number from 1 on, not %s", what,
                         hdi_sandbox_text(lua, index, NULL));
    return (uint64_t)n;
}

// In a run that goes on: what the resource needs, and no more. What was written
// before the run began is there.
//
// The writer is the pass that made the newest version; those that it waits for
// come first by themselves.
static hd_status await(struct hd_graph *graph, uint32_t writer,
                       struct hd_error *error)
{
    return writer == HDI_NONE || writer < graph->first
               ? hd_graph_extend(graph, error)
               : hdi_open_wait(graph, writer, error);
}

// values(resource [, first [, count]]): its elements from the first on, which
// is number 1, as numbers; the components of vectors follow each other.
//
// Everything built so far runs, or joins the run of start(), before the numbers
// are there: from here on the graph depends on results, and no shelf keeps it.
static int values(lua_State *lua)
{
    struct hdi_language *l = hdi_language_of(lua);
    struct hd_error error;
    const struct hdi_lua_resource *value =
        hdi_language_value(lua, 1, HDI_RESOURCE);
    if (!value)
        return hdi_sandbox_fail(lua, HD_EPROGRAM,
                                "values takes a resource, not %s",
                                hdi_language_kind(lua, 1));
    hdi_block_outside(lua, "values");
    lua_settop(lua, 3);
    hd_resource handle = hdi_fields_gather(lua, value->resource);
    const struct hdi_resource *r = hdi_graph_find(l->graph, handle);
    const struct hdi_type *type = r->type;
    uint64_t elements = r->size / type->size;
    uint64_t first = check_count(lua, 2, "the first element", 1) - 1;
    if (first >= elements)
        return hdi_sandbox_fail(
            lua, HD_EPROGRAM, "values: resource '%s' has %I element%s", r->name,
            (LUAI_UACINT)elements, hdi_plural(elements, "s"));
    uint64_t count = check_count(lua, 3, "the count", elements - first);
    if (count > elements - first || count * type->width > MAX_VALUES)
        return hdi_sandbox_fail(lua, HD_EPROGRAM,
                                "values: %I elements are more than resource "
                                "'%s' has, or than can be read at one time",
                                (LUAI_UACINT)count, r->name);

    hdi_stream_end(lua);
    // What passes take is not the program's time.
    uint64_t begin = hdi_sandbox_clock();
    hd_status status = l->run != 0 ? await(l->graph, r->writer, &error)
                                   : hd_graph_advance(l->graph, NULL, &error);
    hdi_sandbox_of(lua)->start += hdi_sandbox_clock() - begin;
    hdi_language_check(lua, status, &error);
    // The bytes are Lua's, so that they count as memory of the program.
    unsigned char *bytes = lua_newuserdatauv(lua, count * type->size, 0);
    hdi_language_check(lua,
                       hd_graph_contents(l->graph, handle, first * type->size,
                                         bytes, count * type->size, &error),
                       &error);
    lua_createtable(lua, (int)(count * type->width), 0);
    lua_Integer at = 0;
    for (uint64_t i = 0; i < count; i++)
        for (unsigned c = 0; c < type->width; c++) {
            push_component(lua, type,
                           bytes + i * type->size + c * type->scalar_size);
            lua_rawseti(lua, -2, ++at);
        }
    return 1;
}

void hdi_values_add(lua_State *lua)
{
    static const luaL_Reg functions[] = {{"values", values}, {NULL, NULL}};

    luaL_setfuncs(lua, functions, 0);
}
