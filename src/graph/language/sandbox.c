// Three budgets end a script that goes on for ever, whatever it does:
//
//     steps    instructions, counted by a hook; work in C is charged as such
//     memory   by the allocator of the state
//     time     of the thread's processor, for what neither of them sees
//
// The same script with the same inputs ends the same way on each machine,
// unless the time runs out, which is why that is set far above what steps take.
#include "graph/language/sandbox.h"

#include <lualib.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/text.h"

// A look is a call of the hook and of the clock; INTERVAL keeps it to a few per
// cent of the time of a script. TIME_PER_STEP is ten to a hundred times what an
// instruction takes, so the clock does not end a script that is only slow.
// MAX_LEVELS: walking the stack from the top for each level takes the square of
// its depth.
enum {
    INTERVAL = 1000,     // instructions between two looks at the budget
    CALLS = 64,          // of next() between two looks at the time
    BYTES_PER_STEP = 64, // what making memory costs
    TIME_PER_STEP = 100, // far more than an instruction takes [ns]
    TRACE_LEVELS = 4,    // callers named in a message
    MAX_LEVELS = 100     // of the stack that are looked at; each look is a walk
};

// A script of few steps may still be put off, or compare long strings.
static const uint64_t least_time = 2000000000; // [ns]

// Limits ----------------------------------------------------------------------

uint64_t hdi_sandbox_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// Strings and tables are made by single instructions, however large they are;
// so memory is charged too. Lua takes NULL as an error no script can catch.
//
// NULL makes Lua collect garbage and try once more, then raise LUA_ERRMEM.
// While `ending` nothing is refused, so that there is memory for the message.
// Growing fails by our count before the system is asked; shrinking never fails,
// which Lua relies on.
static void *allocate(void *data, void *old, size_t old_size, size_t size)
{
    struct hdi_sandbox *s = data;

    if (!old)
        old_size = 0; // it holds the kind of object then
    if (size == 0) {
        s->memory -= old_size;
        free(old);
        return NULL;
    }
    if (size > old_size && !s->ending) {
        s->steps += (size - old_size) / BYTES_PER_STEP;
        s->over_memory |= s->memory - old_size + size > s->max_memory;
        s->over_steps |= s->steps > s->max_steps;
        if (s->memory - old_size + size > s->max_memory ||
            s->steps > s->max_steps)
            return NULL;
    }
    void *memory = realloc(old, size);
    if (!memory)
        return size <= old_size ? old : NULL;
    s->memory += size - old_size;
    return memory;
}

static void fail_steps(lua_State *lua, const char *what)
{
    hdi_sandbox_of(lua)->over_steps = true;
    hdi_sandbox_fail(lua, HD_ELIMIT,
                     "stopped: the program took too many %s; is there an "
                     "endless loop here? If not, raise max_steps",
                     what);
}

// What the count of instructions does not see, such as comparing long strings,
// the clock sees.
static void check_time(lua_State *lua)
{
    const struct hdi_sandbox *s = hdi_sandbox_of(lua);

    if (hdi_sandbox_clock() - s->start > s->max_time)
        fail_steps(lua, "seconds");
}

// The hook: every `interval` instructions.
static void check_budget(lua_State *lua, lua_Debug *debug)
{
    (void)debug;
    hdi_sandbox_charge(lua, hdi_sandbox_of(lua)->interval);
    check_time(lua);
}

void hdi_sandbox_charge(lua_State *lua, uint64_t steps)
{
    struct hdi_sandbox *s = hdi_sandbox_of(lua);

    if (__builtin_add_overflow(s->steps, steps, &s->steps))
        s->steps = UINT64_MAX;
    if (s->steps > s->max_steps)
        fail_steps(lua, "steps");
}

// Errors ----------------------------------------------------------------------

// From the top of the stack down to the first function that is Lua; those of C
// have no line.
int hdi_sandbox_line(lua_State *lua)
{
    lua_Debug at;

    for (int level = 0; lua_getstack(lua, level, &at); level++) {
        lua_getinfo(lua, "l", &at);
        if (at.currentline > 0)
            return at.currentline;
    }
    return 0;
}

// The status goes beside the message, which is all that Lua carries.
int hdi_sandbox_raise(lua_State *lua, hd_status status, const char *text)
{
    hdi_sandbox_of(lua)->raised = status;
    hdi_sandbox_of(lua)->ending = true;
    lua_pushstring(lua, text);
    return lua_error(lua);
}

int hdi_sandbox_fail(lua_State *lua, hd_status status, const char *format, ...)
{
    const char *path = hdi_sandbox_of(lua)->path;
    int line = hdi_sandbox_line(lua);
    va_list args;

    hdi_sandbox_of(lua)->raised = status;
    hdi_sandbox_of(lua)->ending = true;
    if (line > 0)
        lua_pushfstring(lua, "%s:%d: ", path, line);
    else
        lua_pushfstring(lua, "%s: ", path);
    va_start(args, format);
    lua_pushvfstring(lua, format, args);
    va_end(args);
    lua_concat(lua, 2);
    return lua_error(lua);
}

// What buffers of the library say.
static bool is_of_memory(const char *text)
{
    return strncmp(text, "not enough memory", 17) == 0;
}

// Lua puts no line before what functions of its library say that ours call.
//
// Looks whether the message begins with the script's name, as Lua shortens it.
static void add_line(lua_State *lua)
{
    const char *text = lua_tostring(lua, 1);
    lua_Debug at;
    int level = 1;

    do {
        if (!lua_getstack(lua, level++, &at))
            return;
        lua_getinfo(lua, "Sl", &at);
    } while (at.currentline <= 0);
    size_t length = strlen(at.short_src);
    if (strncmp(text, at.short_src, length) == 0 && text[length] == ':')
        return;
    lua_pushfstring(lua, "%s:%d: %s", hdi_sandbox_of(lua)->path, at.currentline,
                    text);
    lua_replace(lua, 1);
}

// Put the lines that led to the error behind the message; the first is named in
// it.
//
// Called where the error was raised, with the stack still there. Must itself
// raise no error, but for memory.
static int explain(lua_State *lua)
{
    struct hdi_sandbox *s = hdi_sandbox_of(lua);
    lua_Debug at;
    int named = 0;

    if (lua_type(lua, 1) == LUA_TSTRING) {
        lua_settop(lua, 1);
        if (!s->ending && !is_of_memory(lua_tostring(lua, 1)))
            add_line(lua);
    } else {
        lua_pushfstring(lua, "%s:%d: error() with a %s instead of a text",
                        s->path, hdi_sandbox_line(lua), luaL_typename(lua, 1));
    }
    for (int level = 1; named <= TRACE_LEVELS && level < MAX_LEVELS &&
                        lua_getstack(lua, level, &at);
         level++) {
        lua_getinfo(lua, "l", &at);
        if (at.currentline <= 0)
            continue;
        if (named++ == 0)
            continue;
        lua_pushfstring(lua, "\n  called from %s:%d", s->path, at.currentline);
        lua_concat(lua, 2);
    }
    return 1;
}

// Functions -------------------------------------------------------------------

// luaL_tolstring() would print addresses of tables, functions and values of
// ours: their kind is pushed instead.
const char *hdi_sandbox_text(lua_State *lua, int index, size_t *size)
{
    int type = lua_type(lua, index);

    if (type == LUA_TTABLE || type == LUA_TFUNCTION || type == LUA_TUSERDATA) {
        int known = type == LUA_TUSERDATA
                        ? luaL_getmetafield(lua, index, "__name")
                        : LUA_TNIL;
        if (known == LUA_TNIL)
            lua_pushstring(lua, lua_typename(lua, type));
        return lua_tolstring(lua, -1, size);
    }
    return luaL_tolstring(lua, index, size);
}

static int base_tostring(lua_State *lua)
{
    luaL_checkany(lua, 1);
    hdi_sandbox_text(lua, 1, NULL);
    return 1;
}

// A search through a table that was emptied takes long in one instruction.
static int base_next(lua_State *lua)
{
    luaL_checktype(lua, 1, LUA_TTABLE);
    if (++hdi_sandbox_of(lua)->calls % CALLS == 0)
        check_time(lua);
    lua_settop(lua, 2);
    if (lua_next(lua, 1))
        return 2;
    lua_pushnil(lua);
    return 1;
}

// Without __pairs, as scripts have no metatables.
static int base_pairs(lua_State *lua)
{
    luaL_checktype(lua, 1, LUA_TTABLE);
    lua_pushcfunction(lua, base_next);
    lua_pushvalue(lua, 1);
    lua_pushnil(lua);
    return 3;
}

static uint64_t log_of(uint64_t n)
{
    return n < 2 ? 1 : 64 - (uint64_t)__builtin_clzll(n);
}

// The functions of `table` work through whole tables in one instruction: charge
// for that first. Upvalues: the function, whether it sorts.
//
// Sorting costs length times its logarithm; what comes back on the stack is
// charged too (unpack).
static int table_call(lua_State *lua)
{
    uint64_t length = 0;

    if (lua_type(lua, 1) == LUA_TTABLE)
        length = (uint64_t)lua_rawlen(lua, 1);
    if (lua_toboolean(lua, lua_upvalueindex(2)))
        length = length > UINT32_MAX ? length : length * log_of(length);
    hdi_sandbox_charge(lua, length);
    lua_pushvalue(lua, lua_upvalueindex(1));
    lua_insert(lua, 1);
    lua_call(lua, lua_gettop(lua) - 1, LUA_MULTRET);
    hdi_sandbox_charge(lua, (uint64_t)lua_gettop(lua));
    return lua_gettop(lua);
}

// Putting at the end and taking from it move nothing.
//
// Upvalues: the function, and how many arguments it has where it moves nothing.
// With more a place is given, and what lies behind is moved.
static int table_end_call(lua_State *lua)
{
    if (lua_gettop(lua) > lua_tointeger(lua, lua_upvalueindex(2)))
        hdi_sandbox_charge(lua, lua_type(lua, 1) == LUA_TTABLE
                                    ? (uint64_t)lua_rawlen(lua, 1)
                                    : 0);
    lua_pushvalue(lua, lua_upvalueindex(1));
    lua_insert(lua, 1);
    lua_call(lua, lua_gettop(lua) - 1, LUA_MULTRET);
    return lua_gettop(lua);
}

// Upvalue: the function. A count above the budget would loop in C for ever,
// even over an empty string.
static int string_rep(lua_State *lua)
{
    lua_Integer count = luaL_checkinteger(lua, 2);

    if (count > 0)
        hdi_sandbox_charge(lua, (uint64_t)count);
    lua_pushvalue(lua, lua_upvalueindex(1));
    lua_insert(lua, 1);
    lua_call(lua, lua_gettop(lua) - 1, 1);
    return 1;
}

// Upvalue: the function. Addresses are kept out of texts: they would make two
// runs of one program differ.
static int string_format(lua_State *lua)
{
    const char *format = luaL_checkstring(lua, 1);

    for (const char *c = format; *c; c++) {
        if (*c != '%')
            continue;
        c += 1 + strspn(c + 1, "-+ #0123456789.");
        if (*c == 'p')
            return luaL_error(lua, "string.format has no %%p here");
        if (!*c)
            break;
    }
    int count = lua_gettop(lua);
    for (int i = 2; i <= count; i++) {
        if (lua_type(lua, i) < LUA_TTABLE)
            continue;
        hdi_sandbox_text(lua, i, NULL);
        lua_replace(lua, i);
    }
    lua_pushvalue(lua, lua_upvalueindex(1));
    lua_insert(lua, 1);
    lua_call(lua, lua_gettop(lua) - 1, 1);
    return 1;
}

// The environment -------------------------------------------------------------

// Copy functions of the table below the top into the table at the top.
static void pick(lua_State *lua, const char *const *names)
{
    for (; *names; names++) {
        lua_getfield(lua, -2, *names);
        lua_setfield(lua, -2, *names);
    }
}

// The function of the library becomes the first upvalue, `second` the other
// one.
static void wrap(lua_State *lua, const char *name, lua_CFunction function,
                 int second)
{
    lua_getfield(lua, -2, name);
    lua_pushinteger(lua, second);
    lua_pushcclosure(lua, function, 2);
    lua_setfield(lua, -2, name);
}

// Neither pcall nor load, nor anything that reaches files: see sandbox.h.
static void add_base(lua_State *lua)
{
    static const char *const names[] = {
        "assert", "error", "ipairs", "select", "type", "tonumber", NULL};

    luaL_requiref(lua, "_G", luaopen_base, 0);
    lua_insert(lua, -2);
    pick(lua, names);
    lua_remove(lua, -2);
    lua_pushcfunction(lua, base_next);
    lua_setfield(lua, -2, "next");
    lua_pushcfunction(lua, base_pairs);
    lua_setfield(lua, -2, "pairs");
    lua_pushcfunction(lua, base_tostring);
    lua_setfield(lua, -2, "tostring");
}

static void add_math(lua_State *lua)
{
    static const char *const names[] = {
        "abs", "acos",   "asin",       "atan",       "ceil", "cos",
        "deg", "exp",    "floor",      "fmod",       "huge", "log",
        "max", "min",    "maxinteger", "mininteger", "modf", "pi",
        "rad", "sin",    "sqrt",       "tan",        "type", "tointeger",
        "ult", "random", NULL};

    luaL_requiref(lua, LUA_MATHLIBNAME, luaopen_math, 0);
    // Lua seeds by time and address; the same program must give the same graph.
    lua_getfield(lua, -1, "randomseed");
    lua_pushinteger(lua, 1);
    lua_call(lua, 1, 0);
    lua_newtable(lua);
    pick(lua, names);
    lua_remove(lua, -2);
    lua_setfield(lua, -2, LUA_MATHLIBNAME);
}

static void add_table(lua_State *lua)
{
    static const char *const names[] = {"pack", NULL};

    luaL_requiref(lua, LUA_TABLIBNAME, luaopen_table, 0);
    lua_newtable(lua);
    pick(lua, names);
    wrap(lua, "insert", table_end_call, 2);
    wrap(lua, "remove", table_end_call, 1);
    lua_getfield(lua, -2, "sort");
    lua_pushboolean(lua, true);
    lua_pushcclosure(lua, table_call, 2);
    lua_setfield(lua, -2, "sort");
    static const char *const whole[] = {"concat", "unpack"};
    for (size_t i = 0; i < 2; i++) {
        lua_getfield(lua, -2, whole[i]);
        lua_pushboolean(lua, false);
        lua_pushcclosure(lua, table_call, 2);
        lua_setfield(lua, -2, whole[i]);
    }
    lua_remove(lua, -2);
    lua_setfield(lua, -2, LUA_TABLIBNAME);
}

// No find, match or gsub: a pattern can take time without end in one
// instruction.
static void add_string(lua_State *lua)
{
    static const char *const names[] = {"len", "sub", "upper", "lower", NULL};

    luaL_requiref(lua, LUA_STRLIBNAME, luaopen_string, 0);
    lua_newtable(lua);
    pick(lua, names);
    wrap(lua, "rep", string_rep, 0);
    wrap(lua, "format", string_format, 0);
    lua_remove(lua, -2);
    lua_setfield(lua, -2, LUA_STRLIBNAME);
    // All strings have a metatable that leads to every function of the library.
    lua_pushliteral(lua, "");
    lua_pushnil(lua);
    lua_setmetatable(lua, -2);
    lua_pop(lua, 1);
}

static int make_environment(lua_State *lua)
{
    lua_newtable(lua);
    add_base(lua);
    add_math(lua);
    add_table(lua);
    add_string(lua);
    return 1;
}

// Lua has one status for several causes, so flags of the allocator tell which
// budget it was. Steps first: they are charged with memory.
static hd_status explain_status(struct hdi_sandbox *s, int result,
                                struct hd_error *error)
{
    // Buffers of the library run out of memory with a plain error, handlers of
    // errors with LUA_ERRERR, a stack that cannot grow as if it were too deep.
    const char *text = result == LUA_ERRMEM ? NULL : lua_tostring(s->lua, -1);
    bool memory = !text || s->load_memory || result == LUA_ERRERR ||
                  is_of_memory(text) ||
                  (s->over_memory && strstr(text, "stack overflow"));

    if (memory && s->over_steps)
        return hdi_fail(error, HD_ELIMIT,
                        "%s: stopped: the program took too many steps in "
                        "making memory; is it endless? If not, raise max_steps",
                        s->path);
    if (memory && s->over_memory)
        return hdi_fail(error, HD_ELIMIT,
                        "%s: the program needs more than %llu MiB of memory; "
                        "make it smaller, or raise max_memory",
                        s->path, (unsigned long long)(s->max_memory >> 20));
    if (memory)
        return hdi_fail(error, HD_ENOMEM, "%s: no memory to run the program",
                        s->path);
    return hdi_fail_text(error, s->raised, text, strlen(text));
}

// A failure leaves nothing open. Making the environment may run out of memory,
// hence the protected call.
hd_status hdi_sandbox_open(struct hdi_sandbox *s, const char *path,
                           uint64_t max_memory, uint64_t max_steps,
                           struct hd_error *error)
{
    *s = (struct hdi_sandbox){.path = path,
                              .max_memory = max_memory,
                              .max_steps = max_steps,
                              .interval = max_steps < INTERVAL && max_steps > 0
                                              ? (uint32_t)max_steps
                                              : INTERVAL,
                              .raised = HD_EPROGRAM,
                              .start = hdi_sandbox_clock()};
    if (__builtin_mul_overflow(max_steps, (uint64_t)TIME_PER_STEP,
                               &s->max_time))
        s->max_time = UINT64_MAX;
    if (s->max_time < least_time)
        s->max_time = least_time;
    s->lua = lua_newstate(allocate, s);
    if (!s->lua)
        return explain_status(s, LUA_ERRMEM, error);

    *(struct hdi_sandbox **)lua_getextraspace(s->lua) = s;
    lua_pushcfunction(s->lua, make_environment);
    int result = lua_pcall(s->lua, 0, 1, 0);
    if (result != LUA_OK) {
        hd_status status = explain_status(s, result, error);
        hdi_sandbox_close(s);
        return status;
    }
    return HD_OK;
}

void hdi_sandbox_close(struct hdi_sandbox *s)
{
    if (s->lua)
        lua_close(s->lua);
    s->lua = NULL;
}

// Handed through the protected call as light userdata.
struct script {
    void (*start)(lua_State *lua);
    const char *text;
    size_t size;
    lua_CFunction end;
};

// Stack: the environment, the script.
//
// Text only ("t"): compiled Lua could break out of the state. The environment
// is the first upvalue of the chunk, which makes it the only globals of the
// script.
static int run_script(lua_State *lua)
{
    struct hdi_sandbox *s = hdi_sandbox_of(lua);
    const struct script *script = lua_touserdata(lua, 2);

    lua_pushvalue(lua, 1);
    script->start(lua);
    lua_settop(lua, 2);
    lua_pushfstring(lua, "@%s", s->path);
    int result = luaL_loadbufferx(lua, script->text, script->size,
                                  lua_tostring(lua, -1), "t");
    s->load_memory = result == LUA_ERRMEM;
    if (result != LUA_OK && !s->load_memory &&
        !strchr(lua_tostring(lua, -1), ':')) { // it names no place
        lua_pushfstring(lua, "%s: %s", s->path, lua_tostring(lua, -1));
        s->ending = true;
    }
    if (result != LUA_OK)
        return lua_error(lua);
    lua_pushvalue(lua, 1);
    lua_setupvalue(lua, -2, 1);
    lua_call(lua, 0, 0);
    lua_pushcfunction(lua, script->end);
    lua_call(lua, 0, 0);
    return 0;
}

// The hook is set before anything of the script runs. After a failure the
// sandbox can only be closed.
hd_status hdi_sandbox_run(struct hdi_sandbox *s, void (*start)(lua_State *lua),
                          const char *text, size_t size, lua_CFunction end,
                          struct hd_error *error)
{
    struct script script = {
        .start = start, .text = text, .size = size, .end = end};
    lua_State *lua = s->lua;

    lua_pushcfunction(lua, explain);
    lua_insert(lua, 1);
    lua_pushcfunction(lua, run_script);
    lua_insert(lua, 2);
    lua_pushlightuserdata(lua, &script);
    lua_sethook(lua, check_budget, LUA_MASKCOUNT, (int)s->interval);
    int result = lua_pcall(lua, 2, 0, 1);
    return result == LUA_OK ? HD_OK : explain_status(s, result, error);
}
