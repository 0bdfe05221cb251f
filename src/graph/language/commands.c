// Commands, and the two things they go into: the pass that a definition makes,
// or a stream of statements, in which blocks are recognised.
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "graph/language/language.h"

// Blocks ----------------------------------------------------------------------

// So counts fit 32 bits with room to add, and a loop that never ends is found
// before memory is used up.
enum {
    MAX = 1 << 20 // commands, arguments, ... of one pass
};

static void no_room(lua_State *lua, uint32_t count)
{
    if (count >= MAX)
        hdi_sandbox_fail(lua, HD_ELIMIT,
                         "a pass with more than %d commands, arguments or "
                         "resources; is there an endless loop here?",
                         MAX);
    hdi_sandbox_fail(lua, HD_ENOMEM, "no memory for the graph");
}

#define ROOM(lua, array, more)                              \
    do {                                                    \
        if ((array).count >= MAX || !HDI_ROOM(array, more)) \
            no_room(lua, (array).count);                    \
    } while (0)

static void clear_block(struct hdi_command_block *b)
{
    b->reads.count = b->writes.count = b->overwrites.count = 0;
    b->commands.count = 0;
    b->first_args.count = b->args.count = b->numbers.count = 0;
    b->scratch.count = 0;
    b->priority = HD_PRIORITY_NORMAL;
    b->device = NULL;
    b->pass_class = NULL;
    b->keep = false;
    b->append_most = 0;
}

void hdi_block_free(struct hdi_command_block *b)
{
    free(b->reads.at);
    free(b->writes.at);
    free(b->overwrites.at);
    free(b->commands.at);
    free(b->first_args.at);
    free(b->args.at);
    free(b->numbers.at);
    free(b->scratch.at);
}

// The block becomes a pass of the graph.
//
// The block is cleared before the status is looked at, as an error does not
// return. A pass joins the run of start() at once.
hd_pass hdi_block_pass(lua_State *lua, const char *name, const char *where)
{
    struct hdi_language *l = hdi_language_of(lua);
    struct hdi_command_block *b = &l->block;
    struct hd_error error;
    hd_pass pass = 0;

    // The arrays have stopped growing: indices become pointers.
    for (uint32_t i = 0; i < b->args.count; i++)
        if (b->args.at[i].is == HD_PASS_NUMBERS)
            b->args.at[i].numbers = b->numbers.at + b->args.at[i].size;
    for (uint32_t i = 0; i < b->commands.count; i++)
        if (b->commands.at[i].is == HD_FILL)
            b->commands.at[i].pattern = b->numbers.at + b->first_args.at[i];
        else if (b->commands.at[i].arg_count > 0)
            b->commands.at[i].args = &b->args.at[b->first_args.at[i]];

    struct hd_pass_params params = {
        .name = name,
        .where = where,
        .reads = b->reads.at,
        .read_count = b->reads.count,
        .writes = b->writes.at,
        .write_count = b->writes.count,
        .overwrites = b->overwrites.at,
        .overwrite_count = b->overwrites.count,
        .commands = b->commands.at,
        .command_count = b->commands.count,
        .scratch_sizes = b->scratch.at,
        .scratch_count = b->scratch.count,
        .priority = b->priority,
        .device = b->device,
        .pass_class = b->pass_class,
        .keep = b->keep,
        .append_most = b->append_most,
    };
    hd_status status = hd_graph_pass(l->graph, &params, &pass, &error);
    clear_block(b);
    hdi_language_check(lua, status, &error);
    hdi_language_extend(lua);
    return pass;
}

void hdi_block_resource(lua_State *lua, enum hdi_resource_use use,
                        hd_resource resource)
{
    struct hdi_command_block *b = &hdi_language_of(lua)->block;

    switch (use) {
    case HDI_USE_READ:
        ROOM(lua, b->reads, 1);
        b->reads.at[b->reads.count++] = resource;
        return;
    case HDI_USE_WRITE:
        ROOM(lua, b->writes, 1);
        b->writes.at[b->writes.count++] = resource;
        return;
    case HDI_USE_OVERWRITE:
        ROOM(lua, b->overwrites, 1);
        b->overwrites.at[b->overwrites.count++] = resource;
    }
}

// Arguments -------------------------------------------------------------------

// Numbers are kept as doubles. 2^63 is looked at apart, since converting it
// back would overflow.
static double to_number(lua_State *lua, int index, int place)
{
    if (lua_isboolean(lua, index))
        return lua_toboolean(lua, index);
    double number = lua_tonumber(lua, index);
    if (lua_isinteger(lua, index) &&
        (number >= 0x1p63 || (lua_Integer)number != lua_tointeger(lua, index)))
        hdi_sandbox_fail(lua, HD_EPROGRAM,
                         "argument %d: %s is not exact as a double; whole "
                         "numbers go up to 2^53",
                         place, hdi_sandbox_text(lua, index, NULL));
    return number;
}

static void add_number(lua_State *lua, int index, int place)
{
    struct hdi_command_block *b = &hdi_language_of(lua)->block;

    ROOM(lua, b->numbers, 1);
    b->numbers.at[b->numbers.count] = to_number(lua, index, place);
    b->numbers.count++;
}

// The table is at the top. Its numbers go behind those of the block.
static void read_vector(lua_State *lua, int place, struct hd_pass_arg *arg)
{
    lua_Unsigned count = lua_rawlen(lua, -1);
    if (count < 1 || count > 16)
        hdi_sandbox_fail(lua, HD_EPROGRAM,
                         "argument %d: a vector has 1 to 16 numbers, not %d",
                         place, count > 16 ? 17 : (int)count);
    for (lua_Unsigned i = 1; i <= count; i++) {
        lua_rawgeti(lua, -1, (lua_Integer)i);
        if (lua_type(lua, -1) != LUA_TNUMBER && !lua_isboolean(lua, -1))
            hdi_sandbox_fail(lua, HD_EPROGRAM,
                             "argument %d: component %d of the vector is %s",
                             place, (int)i, hdi_language_kind(lua, -1));
        add_number(lua, -1, place);
        lua_pop(lua, 1);
    }
    arg->number_count = (unsigned)count;
}

// The numbers at `index` become the pattern of a fill.
//
// Where they begin is kept in first_args, which a fill does not need otherwise.
void hdi_command_pattern(lua_State *lua, int index, struct hd_command *command)
{
    struct hd_pass_arg arg = {.number_count = 1};

    lua_pushvalue(lua, index);
    uint32_t first = hdi_language_of(lua)->block.numbers.count;
    struct hdi_command_block *b = &hdi_language_of(lua)->block;
    b->first_args.at[b->first_args.count - 1] = first;
    if (lua_type(lua, -1) == LUA_TTABLE)
        read_vector(lua, 2, &arg);
    else
        add_number(lua, -1, 2);
    command->pattern_count = arg.number_count;
    lua_pop(lua, 1);
}

// The number of passes grows with each pass, so it tells whether this is still
// the one that the scratch was made for.
static void check_scratch(lua_State *lua, const struct hdi_lua_scratch *scratch,
                          int place)
{
    const struct hdi_language *l = hdi_language_of(lua);

    if (!l->block.inside_run || scratch->pass != hd_graph_pass_count(l->graph))
        hdi_sandbox_fail(lua, HD_EPROGRAM,
                         "argument %d is the scratch memory of another pass",
                         place);
}

// The value at the top of the stack as argument `place`.
//
// `arg` is the caller's, not one of the block, as reading a vector may make
// arrays move.
static void read_arg(lua_State *lua, int place, struct hd_pass_arg *arg)
{
    struct hdi_command_block *b = &hdi_language_of(lua)->block;
    const struct hdi_lua_resource *resource;
    const struct hdi_lua_scratch *scratch;
    const struct hdi_lua_local *local;
    const struct hdi_lua_image *image;
    const struct hdi_lua_sampler *sampler;

    *arg =
        (struct hd_pass_arg){.is = HD_PASS_NUMBERS, .size = b->numbers.count};
    switch (lua_type(lua, -1)) {
    case LUA_TNUMBER:
    case LUA_TBOOLEAN:
        add_number(lua, -1, place);
        arg->number_count = 1;
        return;
    case LUA_TTABLE:
        read_vector(lua, place, arg);
        return;
    default:
        break;
    }
    if ((resource = hdi_language_value(lua, -1, HDI_RESOURCE))) {
        *arg = (struct hd_pass_arg){.is = HD_PASS_RESOURCE,
                                    .resource = resource->resource};
    } else if ((image = hdi_language_value(lua, -1, HDI_PICTURE))) {
        *arg = (struct hd_pass_arg){.is = HD_PASS_IMAGE,
                                    .resource = image->resource,
                                    .order = image->order,
                                    .type = image->type};
    } else if ((sampler = hdi_language_value(lua, -1, HDI_SAMPLER))) {
        *arg = (struct hd_pass_arg){.is = HD_PASS_SAMPLER,
                                    .sampler = sampler->bits};
    } else if ((local = hdi_language_value(lua, -1, HDI_LOCAL))) {
        *arg = (struct hd_pass_arg){.is = HD_PASS_LOCAL, .size = local->size};
    } else if ((scratch = hdi_language_value(lua, -1, HDI_SCRATCH))) {
        check_scratch(lua, scratch, place);
        *arg = (struct hd_pass_arg){.is = HD_PASS_SCRATCH,
                                    .scratch = scratch->index};
    } else if (hdi_language_value(lua, -1, HDI_APPENDS)) {
        *arg = (struct hd_pass_arg){.is = HD_PASS_APPENDS};
    } else {
        hdi_sandbox_fail(lua, HD_EPROGRAM,
                         "argument %d of dispatch cannot be %s", place,
                         hdi_language_kind(lua, -1));
    }
}

// One to three whole numbers, from `least` on, as a number or a table.
static unsigned read_axes(lua_State *lua, const char *what, lua_Integer least,
                          lua_Integer most, uint64_t axes[3])
{
    bool table = lua_type(lua, -1) == LUA_TTABLE;
    lua_Unsigned count = table ? lua_rawlen(lua, -1) : 1;

    if (count < 1 || count > 3)
        hdi_sandbox_fail(lua, HD_EPROGRAM, "dispatch: %s has 1 to 3 numbers",
                         what);
    for (lua_Unsigned i = 0; i < count; i++) {
        if (table)
            lua_rawgeti(lua, -1, (lua_Integer)i + 1);
        axes[i] = hdi_language_whole(lua, -1, "dispatch", what, least, most);
        if (table)
            lua_pop(lua, 1);
    }
    return (unsigned)count;
}

// Unknown options are refused: a misspelt one would be ignored silently.
static void read_range(lua_State *lua, int options, struct hd_range *range)
{
    uint64_t axes[3] = {0};

    lua_pushnil(lua);
    while (lua_next(lua, options)) {
        const char *key =
            lua_type(lua, -2) == LUA_TSTRING ? lua_tostring(lua, -2) : "?";
        if (strcmp(key, "global") != 0 && strcmp(key, "group") != 0 &&
            strcmp(key, "offset") != 0 && strcmp(key, "appended") != 0)
            hdi_sandbox_fail(lua, HD_EPROGRAM,
                             "dispatch has no option '%s'; it has global, "
                             "group, offset and appended",
                             key);
        lua_pop(lua, 1);
    }
    lua_getfield(lua, options, "global");
    range->dims =
        read_axes(lua, "global", 0, (lua_Integer)HDI_SIZE_LIMIT, range->global);
    if (lua_getfield(lua, options, "group") != LUA_TNIL) {
        if (read_axes(lua, "group", 1, INT32_MAX, axes) != range->dims)
            hdi_sandbox_fail(lua, HD_EPROGRAM,
                             "dispatch: group and global must have the same "
                             "number of axes");
        for (unsigned i = 0; i < range->dims; i++)
            range->local[i] = (uint32_t)axes[i];
    }
    if (lua_getfield(lua, options, "offset") != LUA_TNIL &&
        read_axes(lua, "offset", 0, (lua_Integer)HDI_SIZE_LIMIT,
                  range->offset) != range->dims)
        hdi_sandbox_fail(lua, HD_EPROGRAM,
                         "dispatch: offset and global must have the same "
                         "number of axes");
    lua_pop(lua, 3);
}

// The stream ------------------------------------------------------------------

// It is named after its last command, and placed at the line of it.
static void end_block(lua_State *lua)
{
    struct hdi_language *l = hdi_language_of(lua);
    struct hdi_command_block *b = &l->block;
    const struct hd_command *last = &b->commands.at[b->commands.count - 1];
    static const char *const names[] = {
        [HD_COPY] = "copy",         [HD_CLEAR] = "clear", [HD_FILL] = "fill",
        [HD_PREFETCH] = "prefetch", [HD_FLUSH] = "flush", [HD_SYNC] = "sync",
        [HD_LAYOUT] = "layout"};
    const char *name =
        last->is == HD_DISPATCH ? last->kernel.name : names[last->is];
    char where[512];

    snprintf(where, sizeof(where), "%s:%d", hdi_sandbox_of(lua)->path,
             l->stream.line);
    l->stream.full = false;
    l->stream.last = hdi_block_pass(lua, name, where);
}

void hdi_stream_end(lua_State *lua)
{
    if (hdi_language_of(lua)->block.commands.count > 0)
        end_block(lua);
}

// Push the handle of the pass that the last block became, or nil.
static int push_last(lua_State *lua)
{
    hd_pass last = hdi_language_of(lua)->stream.last;

    if (last == 0) {
        lua_pushnil(lua);
        return 1;
    }
    struct hdi_lua_pass *value =
        hdi_language_push(lua, HDI_PASSED, sizeof(*value));
    value->pass = last;
    return 1;
}

// A statement that begins the next block, if the block before waits for
// trailing ones.
void hdi_stream_statement(lua_State *lua)
{
    if (hdi_language_of(lua)->stream.full)
        end_block(lua);
}

// The program's function gets the number of commands so far. It only answers:
// what added to the block, or ended it, would do so within a command of it.
static bool ask_rule(lua_State *lua)
{
    struct hdi_language *l = hdi_language_of(lua);

    lua_rawgeti(lua, LUA_REGISTRYINDEX, l->stream.rule);
    lua_pushinteger(lua, l->block.commands.count);
    l->stream.asking = true;
    lua_call(lua, 1, 1);
    l->stream.asking = false;
    bool ends = lua_toboolean(lua, -1);
    lua_pop(lua, 1);
    return ends;
}

// The command is complete: push the pass if its block is, too.
//
// Returns how many values were pushed. Inside `run` a pass ends with the
// function; in the stream, as `block` says.
int hdi_command_end(lua_State *lua)
{
    struct hdi_language *l = hdi_language_of(lua);

    if (l->block.inside_run)
        return 0;
    l->stream.line = hdi_sandbox_line(lua);
    if (l->stream.commands ? l->block.commands.count < l->stream.commands
                           : !ask_rule(lua))
        return 0;
    if (l->stream.trailing) {
        l->stream.full = true;
        return 0;
    }
    end_block(lua);
    return push_last(lua);
}

static void outside_rule(lua_State *lua, const char *what)
{
    if (hdi_language_of(lua)->stream.asking)
        hdi_sandbox_fail(lua, HD_EPROGRAM,
                         "%s cannot be called by the function of block", what);
}

void hdi_block_outside(lua_State *lua, const char *function)
{
    outside_rule(lua, function);
    if (hdi_language_of(lua)->block.inside_run)
        hdi_sandbox_fail(lua, HD_EPROGRAM, "%s cannot be called inside run",
                         function);
}

// Only a read begins a new block behind a full one: writes may follow the
// commands that make them.
static int stream_resources(lua_State *lua, enum hdi_resource_use use)
{
    static const char *const functions[] = {"read", "write", "overwrite"};
    const char *function = functions[use];
    struct hdi_language *l = hdi_language_of(lua);
    int count = lua_gettop(lua);

    hdi_block_outside(lua, function);
    if (use == HDI_USE_READ)
        hdi_stream_statement(lua);
    if (l->block.commands.count == 0)
        l->stream.line = hdi_sandbox_line(lua);
    for (int i = 1; i <= count; i++) {
        const struct hdi_lua_resource *r =
            hdi_language_value(lua, i, HDI_RESOURCE);
        if (!r)
            hdi_sandbox_fail(lua, HD_EPROGRAM, "%s takes resources, not %s",
                             function, hdi_language_kind(lua, i));
        hdi_block_resource(lua, use, r->resource);
    }
    return 0;
}

// read(resource, ...)
static int stream_read(lua_State *lua)
{
    return stream_resources(lua, HDI_USE_READ);
}

// write(resource, ...)
static int stream_write(lua_State *lua)
{
    return stream_resources(lua, HDI_USE_WRITE);
}

// overwrite(resource, ...)
static int stream_overwrite(lua_State *lua)
{
    return stream_resources(lua, HDI_USE_OVERWRITE);
}

// state(kernel)
static int stream_state(lua_State *lua)
{
    struct hdi_language *l = hdi_language_of(lua);

    hdi_block_outside(lua, "state");
    hdi_stream_statement(lua);
    if (!hdi_language_value(lua, 1, HDI_KERNEL))
        return hdi_sandbox_fail(lua, HD_EPROGRAM,
                                "state takes a kernel, not %s",
                                hdi_language_kind(lua, 1));
    lua_settop(lua, 1);
    luaL_unref(lua, LUA_REGISTRYINDEX, l->stream.state);
    l->stream.state = luaL_ref(lua, LUA_REGISTRYINDEX);
    return 0;
}

// block(count or rule [, {trailing = true}])
//
// Takes effect for the next block; one that has begun is not changed.
static int stream_block(lua_State *lua)
{
    struct hdi_language *l = hdi_language_of(lua);
    int whole = 0;
    lua_Integer count = lua_tointegerx(lua, 1, &whole);

    hdi_block_outside(lua, "block");
    hdi_stream_statement(lua);
    if (l->block.commands.count > 0)
        return hdi_sandbox_fail(lua, HD_EPROGRAM,
                                "block is called within a block that has "
                                "commands; end it with finish()");
    lua_settop(lua, 2);
    l->stream.trailing = false;
    if (lua_type(lua, 2) == LUA_TTABLE) {
        lua_getfield(lua, 2, "trailing");
        l->stream.trailing = lua_toboolean(lua, -1);
    }
    if (lua_isfunction(lua, 1)) {
        luaL_unref(lua, LUA_REGISTRYINDEX, l->stream.rule);
        lua_settop(lua, 1);
        l->stream.rule = luaL_ref(lua, LUA_REGISTRYINDEX);
        l->stream.commands = 0;
        return 0;
    }
    if (lua_type(lua, 1) != LUA_TNUMBER || !whole || count < 1 ||
        count > INT32_MAX)
        return hdi_sandbox_fail(lua, HD_EPROGRAM,
                                "block takes a number of commands, from 1 on, "
                                "or a function, not %s",
                                lua_type(lua, 1) == LUA_TNUMBER
                                    ? hdi_sandbox_text(lua, 1, NULL)
                                    : hdi_language_kind(lua, 1));
    l->stream.commands = (uint32_t)count;
    return 0;
}

// finish()
static int stream_finish(lua_State *lua)
{
    hdi_block_outside(lua, "finish");
    hdi_stream_end(lua);
    return push_last(lua);
}

// Commands --------------------------------------------------------------------

// The address is good until the next command is added.
struct hd_command *hdi_command_add(lua_State *lua)
{
    struct hdi_command_block *b = &hdi_language_of(lua)->block;

    outside_rule(lua, "a command");
    if (!b->inside_run)
        hdi_stream_statement(lua);
    ROOM(lua, b->commands, 1);
    ROOM(lua, b->first_args, 1);
    b->first_args.at[b->commands.count] = b->args.count;
    b->first_args.count++;
    struct hd_command *c = &b->commands.at[b->commands.count++];
    memset(c, 0, sizeof(*c));
    return c;
}

// Put the state under the arguments where no kernel was given.
//
// In the stream only; inside `run` the state comes to the function as an
// argument.
static void find_state(lua_State *lua)
{
    const struct hdi_language *l = hdi_language_of(lua);

    if (lua_type(lua, 1) != LUA_TTABLE || l->block.inside_run)
        return;
    if (l->stream.state == LUA_NOREF)
        hdi_sandbox_fail(lua, HD_EPROGRAM,
                         "dispatch without a kernel: set one with state, or "
                         "give it first");
    lua_rawgeti(lua, LUA_REGISTRYINDEX, l->stream.state);
    lua_insert(lua, 1);
}

// dispatch([kernel,] {arguments}, {global =, group =, offset =, appended =})
//
// Inside `run` it returns the number of the command in its pass, from 0 on, by
// which kernels append it.
int hdi_commands_dispatch(lua_State *lua)
{
    struct hdi_command_block *b = &hdi_language_of(lua)->block;

    find_state(lua);
    const struct hdi_lua_kernel *kernel =
        hdi_language_value(lua, 1, HDI_KERNEL);
    if (!kernel)
        return hdi_sandbox_fail(lua, HD_EPROGRAM,
                                "dispatch takes a kernel first, not %s",
                                hdi_language_kind(lua, 1));
    if (lua_type(lua, 2) != LUA_TTABLE || lua_type(lua, 3) != LUA_TTABLE)
        return hdi_sandbox_fail(lua, HD_EPROGRAM,
                                "dispatch takes a table of arguments and a "
                                "table with the range: {global = ...}");
    lua_settop(lua, 3);

    struct hd_range range = {0};
    read_range(lua, 3, &range);
    struct hd_command *command = hdi_command_add(lua);
    command->is = HD_DISPATCH;
    command->range = range;
    lua_getfield(lua, 3, "appended");
    command->appended = lua_toboolean(lua, -1);
    lua_settop(lua, 3);
    command->kernel = (struct hd_kernel_ref){.path = kernel->path,
                                             .name = kernel->name,
                                             .options = kernel->options,
                                             .with = kernel->with};
    lua_Unsigned count = lua_rawlen(lua, 2);
    if (count > 1024)
        return hdi_sandbox_fail(lua, HD_EPROGRAM,
                                "dispatch: more than 1024 arguments");
    ROOM(lua, b->args, (uint32_t)count);
    for (lua_Unsigned i = 1; i <= count; i++) {
        struct hd_pass_arg arg;
        lua_rawgeti(lua, 2, (lua_Integer)i);
        read_arg(lua, (int)i, &arg);
        b->args.at[b->args.count++] = arg;
        lua_settop(lua, 3);
    }
    command->arg_count = (unsigned)count;
    if (!b->inside_run)
        return hdi_command_end(lua);
    // What kernels append it by.
    lua_pushinteger(lua, b->commands.count - 1);
    return 1;
}

// appends()
static int appends(lua_State *lua)
{
    hdi_language_push(lua, HDI_APPENDS, 1);
    return 1;
}

static int scratch_field(lua_State *lua)
{
    const struct hdi_lua_scratch *s = luaL_checkudata(lua, 1, HDI_SCRATCH);
    static const char *const axes[] = {"width", "height", "depth"};
    const char *field =
        lua_type(lua, 2) == LUA_TSTRING ? lua_tostring(lua, 2) : "?";

    for (unsigned i = 0; i < 3; i++) {
        if (strcmp(field, axes[i]) == 0) {
            lua_pushinteger(lua, (lua_Integer)s->extent[i]);
            return 1;
        }
    }
    if (strcmp(field, "type") != 0)
        return hdi_sandbox_fail(lua, HD_EPROGRAM,
                                "scratch memory has no field '%s'; it has "
                                "width, height, depth and type",
                                field);
    lua_pushstring(lua, s->type);
    return 1;
}

// scratch(type, width [, height [, depth]])
static int scratch(lua_State *lua)
{
    struct hdi_language *l = hdi_language_of(lua);
    struct hdi_command_block *b = &l->block;
    struct hdi_lua_scratch value = {.index = b->scratch.count,
                                    .pass = hd_graph_pass_count(l->graph),
                                    .extent = {1, 1, 1}};

    if (!b->inside_run)
        return hdi_sandbox_fail(lua, HD_EPROGRAM,
                                "scratch can only be called inside run: the "
                                "memory belongs to one pass");
    const struct hdi_type *type = lua_type(lua, 1) == LUA_TSTRING
                                      ? hdi_type_find(lua_tostring(lua, 1))
                                      : NULL;
    if (!type)
        return hdi_sandbox_fail(lua, HD_EPROGRAM,
                                "scratch takes a scalar or vector type of "
                                "OpenCL C, such as \"float4\", not '%s'",
                                hdi_sandbox_text(lua, 1, NULL));
    hdi_language_extents(lua, 2, "scratch", value.extent);
    uint64_t size = type->size;
    for (unsigned i = 0; i < 3; i++)
        if (!hdi_multiply(size, value.extent[i], &size) ||
            size > HDI_SIZE_LIMIT)
            return hdi_sandbox_fail(lua, HD_ELIMIT,
                                    "scratch memory larger than 2^48 bytes");
    value.type = type->name;
    ROOM(lua, b->scratch, 1);
    b->scratch.at[b->scratch.count++] = size;
    *(struct hdi_lua_scratch *)hdi_language_push(lua, HDI_SCRATCH,
                                                 sizeof(value)) = value;
    return 1;
}

void hdi_commands_add(lua_State *lua)
{
    static const luaL_Reg functions[] = {{"pass", hdi_definition_make},
                                         {"dispatch", hdi_commands_dispatch},
                                         {"scratch", scratch},
                                         {"appends", appends},
                                         {"state", stream_state},
                                         {"read", stream_read},
                                         {"write", stream_write},
                                         {"overwrite", stream_overwrite},
                                         {"block", stream_block},
                                         {"finish", stream_finish},
                                         {NULL, NULL}};
    struct hdi_language *l = hdi_language_of(lua);

    l->stream = (struct hdi_stream){
        .commands = 1, .rule = LUA_NOREF, .state = LUA_NOREF};
    luaL_newmetatable(lua, HDI_PASSDEF);
    lua_pushcfunction(lua, hdi_definition_call);
    lua_setfield(lua, -2, "__call");
    luaL_newmetatable(lua, HDI_APPENDS);
    luaL_newmetatable(lua, HDI_SCRATCH);
    lua_pushcfunction(lua, scratch_field);
    lua_setfield(lua, -2, "__index");
    lua_pop(lua, 3);
    luaL_setfuncs(lua, functions, 0);
}

// Reads or writes that no command followed would get lost silently.
void hdi_commands_end(lua_State *lua)
{
    const struct hdi_language *l = hdi_language_of(lua);
    const struct hdi_command_block *b = &l->block;

    if (b->commands.count > 0)
        end_block(lua);
    else if (b->reads.count + b->writes.count + b->overwrites.count > 0)
        hdi_sandbox_raise(
            lua, HD_EPROGRAM,
            lua_pushfstring(lua, "%s:%d: no command follows this read or write",
                            hdi_sandbox_of(lua)->path, l->stream.line));
}
