// Images and samplers, as arguments of kernels: a resource seen as an image,
// and how it is read.
#include <string.h>

#include "graph/language/language.h"

// A word of the language and what it stands for; a list of them ends with NULL,
// and its first is the default.
struct word {
    const char *word;
    uint32_t bits;
};

// The bits of the word in a field of the table at `index`; the first of the
// words when there is no such field.
static uint32_t read_word(lua_State *lua, int index, const char *what,
                          const char *field, const struct word *words)
{
    luaL_Buffer list;

    if (lua_isnoneornil(lua, index) ||
        lua_getfield(lua, index, field) == LUA_TNIL)
        return words[0].bits;
    for (const struct word *w = words; w->word; w++)
        if (lua_type(lua, -1) == LUA_TSTRING &&
            strcmp(lua_tostring(lua, -1), w->word) == 0) {
            lua_pop(lua, 1);
            return w->bits;
        }
    const char *given = hdi_sandbox_text(lua, -1, NULL);
    luaL_buffinit(lua, &list);
    for (const struct word *w = words; w->word; w++) {
        if (w != words && *w[-1].word)
            luaL_addstring(&list, ", ");
        luaL_addstring(&list, w->word);
    }
    luaL_pushresult(&list);
    hdi_sandbox_fail(lua, HD_EPROGRAM, "%s: %s is one of %s, not '%s'", what,
                     field, lua_tostring(lua, -1), given);
    return 0;
}

// Table at the top of the stack.
static void check_fields(lua_State *lua, const char *what,
                         const char *const *fields)
{
    lua_pushnil(lua);
    while (lua_next(lua, lua_gettop(lua) - 1)) {
        const char *key =
            lua_type(lua, -2) == LUA_TSTRING ? lua_tostring(lua, -2) : "?";
        bool known = false;
        for (const char *const *f = fields; *f; f++)
            known = known || strcmp(key, *f) == 0;
        if (!known)
            hdi_sandbox_fail(lua, HD_EPROGRAM, "%s has no field '%s'", what,
                             key);
        lua_pop(lua, 1);
    }
}

static void check_table(lua_State *lua, int index, const char *what,
                        const char *const *fields)
{
    if (lua_isnoneornil(lua, index))
        return;
    if (lua_type(lua, index) != LUA_TTABLE)
        hdi_sandbox_fail(lua, HD_EPROGRAM, "%s takes a table, not %s", what,
                         hdi_language_kind(lua, index));
    lua_pushvalue(lua, index);
    check_fields(lua, what, fields);
    lua_pop(lua, 1);
}

// image(resource [, {order =, type =}])
static int image(lua_State *lua)
{
    static const char *const fields[] = {"order", "type", NULL};
    static const struct word orders[] = {
        {"", 0},           {"r", HD_R},
        {"rg", HD_RG},     {"rgba", HD_RGBA},
        {"bgra", HD_BGRA}, {"intensity", HD_INTENSITY},
        {"a", HD_A},       {"luminance", HD_LUMINANCE},
        {"rgb", HD_RGB},   {"srgba", HD_SRGBA},
        {NULL, 0}};
    static const struct word types[] = {{"", 0},
                                        {"unorm8", HD_UNORM_INT8},
                                        {"unorm16", HD_UNORM_INT16},
                                        {"snorm8", HD_SNORM_INT8},
                                        {"snorm16", HD_SNORM_INT16},
                                        {"int8", HD_SIGNED_INT8},
                                        {"int16", HD_SIGNED_INT16},
                                        {"int32", HD_SIGNED_INT32},
                                        {"uint8", HD_UNSIGNED_INT8},
                                        {"uint16", HD_UNSIGNED_INT16},
                                        {"uint32", HD_UNSIGNED_INT32},
                                        {"half", HD_HALF_FLOAT},
                                        {"float", HD_FLOAT},
                                        {NULL, 0}};
    const struct hdi_lua_resource *r = hdi_language_value(lua, 1, HDI_RESOURCE);
    if (!r)
        return hdi_sandbox_fail(lua, HD_EPROGRAM,
                                "image takes a resource, not %s",
                                hdi_language_kind(lua, 1));
    struct hdi_lua_image value = {.resource = r->resource};
    lua_settop(lua, 2);
    check_table(lua, 2, "image", fields);
    value.order =
        (enum hd_channel_order)read_word(lua, 2, "image", "order", orders);
    value.type =
        (enum hd_channel_type)read_word(lua, 2, "image", "type", types);
    *(struct hdi_lua_image *)hdi_language_push(lua, HDI_PICTURE,
                                               sizeof(value)) = value;
    return 1;
}

// sampler {coordinates =, address =, filter =}
//
// Each field is a part of the bits (HD_COORDINATES_, HD_ADDRESS_, HD_FILTER_),
// so they are joined.
static int sampler(lua_State *lua)
{
    static const char *const fields[] = {"coordinates", "address", "filter",
                                         NULL};
    static const struct word coordinates[] = {
        {"texels", HD_COORDINATES_TEXELS},
        {"normalised", HD_COORDINATES_NORMALISED},
        {NULL, 0}};
    static const struct word addresses[] = {
        {"clamp_to_edge", HD_ADDRESS_CLAMP_TO_EDGE},
        {"none", HD_ADDRESS_NONE},
        {"clamp", HD_ADDRESS_CLAMP},
        {"repeat", HD_ADDRESS_REPEAT},
        {"mirrored_repeat", HD_ADDRESS_MIRRORED_REPEAT},
        {NULL, 0}};
    static const struct word filters[] = {{"nearest", HD_FILTER_NEAREST},
                                          {"linear", HD_FILTER_LINEAR},
                                          {NULL, 0}};
    lua_settop(lua, 1);
    check_table(lua, 1, "sampler", fields);
    uint32_t bits = read_word(lua, 1, "sampler", "coordinates", coordinates) |
                    read_word(lua, 1, "sampler", "address", addresses) |
                    read_word(lua, 1, "sampler", "filter", filters);
    struct hdi_lua_sampler *value =
        hdi_language_push(lua, HDI_SAMPLER, sizeof(*value));
    value->bits = bits;
    return 1;
}

void hdi_views_add(lua_State *lua)
{
    static const luaL_Reg functions[] = {
        {"image", image}, {"sampler", sampler}, {NULL, NULL}};

    luaL_newmetatable(lua, HDI_PICTURE);
    luaL_newmetatable(lua, HDI_SAMPLER);
    lua_pop(lua, 2);
    luaL_setfuncs(lua, functions, 0);
}
