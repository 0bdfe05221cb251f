// What a graph program must not be able to do: reach out, catch the end, run
// for ever, take all memory, differ from run to run.
#include "tests/graph/fake_launch.h"

#include <time.h>
#include <unistd.h>

#include "tests/check.h"

struct fake_kernel fake_kernels[] = {{.name = NULL}};

static struct hdi_launcher launcher;
static struct hdi_graph_context context;
static struct hd_error error;
static char folder[64] = "graph_sandbox_XXXXXX";
static char path[128];

static hd_status run_bytes(const char *text, size_t size, uint64_t max_steps,
                           uint64_t max_memory)
{
    struct hd_graph_program program = {
        .path = path, .max_steps = max_steps, .max_memory = max_memory};
    struct hd_graph *graph = NULL;
    FILE *file = fopen(path, "w");
    CHECK(file);
    CHECK(fwrite(text, 1, size, file) == size);
    CHECK(fclose(file) == 0);
    hd_status status = hdi_graph_generate(&context, &program, &graph, &error);
    CHECK((status == HD_OK) == (graph != NULL));
    hd_graph_destroy(graph);
    return status;
}

static hd_status run(const char *text, uint64_t max_steps, uint64_t max_memory)
{
    return run_bytes(text, strlen(text), max_steps, max_memory);
}

static void works(const char *text)
{
    CHECK_OK(run(text, 0, 0), error);
}

static void fails(const char *text, const char *part)
{
    CHECK_FAILS(run(text, 0, 0), HD_EPROGRAM, error, part);
}

enum {
    STEPS = 1000000,
    SECONDS = 20 // of CPU time: far more than any case takes
};

static void is_stopped(const char *text, const char *part)
{
    clock_t begin = clock();
    CHECK_FAILS(run(text, STEPS, 0), HD_ELIMIT, error, part);
    CHECK(clock() - begin < SECONDS * CLOCKS_PER_SEC);
}

static void nothing_leads_out(void)
{
    static const char *const absent[] = {"io",
                                         "os",
                                         "require",
                                         "package",
                                         "debug",
                                         "dofile",
                                         "load",
                                         "loadfile",
                                         "loadstring",
                                         "pcall",
                                         "xpcall",
                                         "coroutine",
                                         "collectgarbage",
                                         "_G",
                                         "getmetatable",
                                         "setmetatable",
                                         "rawset",
                                         "rawget",
                                         "rawequal",
                                         "rawlen",
                                         "warn",
                                         "utf8",
                                         "_VERSION",
                                         "math.randomseed",
                                         "table.move",
                                         "string.find",
                                         "string.gsub",
                                         "string.match",
                                         "string.gmatch",
                                         "string.dump",
                                         "string.byte",
                                         "string.pack",
                                         "string.unpack"};
    char text[64];

    for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++) {
        snprintf(text, sizeof(text), "assert(%s == nil)", absent[i]);
        works(text);
    }
}

static void what_a_generator_needs_is_there(void)
{
    works("local t = {3, 1, 2} table.sort(t) assert(table.concat(t) == '123')"
          "table.insert(t, 4) table.insert(t, 1, 0) assert(#t == 5)"
          "assert(table.remove(t) == 4 and table.remove(t, 1) == 0)"
          "assert(select('#', table.unpack(t)) == 3)"
          "assert(table.pack(1, nil).n == 2)"
          "table.sort(t, function(a, b) return a > b end) assert(t[1] == 3)");
    works("assert(math.floor(2.5) == 2 and math.max(1, 7) == 7)"
          "assert(math.pi > 3 and math.type(1) == 'integer')");
    works("assert(string.format('%d %5.2f %s %q', 1, 2, 'x', 'y') == "
          "'1  2.00 x \"y\"')"
          "assert(string.rep('ab', 2, ',') == 'ab,ab')"
          "assert(string.sub('hello', 2, 3) == 'el' and #'abc' == 3)"
          "assert(string.upper('a') == 'A' and string.len('ab') == 2)");
    works("local n = 0 for k, v in pairs {1, 2, x = 3} do n = n + v end "
          "assert(n == 6) for i, v in ipairs {5} do assert(v == 5) end "
          "assert(next({}) == nil and type(1) == 'number' and "
          "tonumber('12') == 12 and tostring(nil) == 'nil')");
    works("print('to', 'the log', {}, print) goto done ::done::");
}

static void runs_do_not_differ(void)
{
    works("assert(tostring({}) == 'table' and tostring(print) == 'function')");
    works("assert(string.format('%s', {}) == 'table')");
    fails("string.format('%p', {})", "string.format has no %p here");
    fails("string.format('%-5p', {})", "string.format has no %p here");
    fails("string.format('%')", "");
    works("assert(math.random(1000000) ~= math.random(1000000))");
    // The same numbers in every run.
    char first[HD_ERROR_TEXT];
    fails("error(math.random(1 << 40))", "");
    strcpy(first, error.text);
    fails("error(math.random(1 << 40))", "");
    CHECK(strcmp(first, error.text) == 0);
}

static void strings_have_no_methods(void)
{
    fails("('x'):rep(3)", "attempt to index a string value");
    fails("local s = ('x').find", "attempt to index a string value");
    fails("return 'a' + 1", "attempt to perform arithmetic on a string");
}

static void bytecode_is_refused(void)
{
    static const char binary[] = "\x1bLua\x54\x00\x19\x93\r\n\x1a\n";
    CHECK_FAILS(run_bytes(binary, sizeof(binary), 0, 0), HD_EPROGRAM, error,
                "program.lua: attempt to load a binary chunk");
    char deep[1000];
    memset(deep, '(', sizeof(deep) - 1);
    deep[sizeof(deep) - 1] = '\0';
    fails(deep, "program.lua: C stack overflow");
}

static void endless_programs_are_stopped_at_their_line(void)
{
    is_stopped("local x = 1\nwhile true do\nx = x + 1 end", "program.lua:");
    CHECK(strstr(error.text, "endless loop here? If not, raise max_steps"));
    CHECK(strstr(error.text, "program.lua:2: ") ||
          strstr(error.text, "program.lua:3: "));
    is_stopped("local function f() return f() end f()", "too many steps");
    is_stopped("goto a ::a:: goto a", "too many steps");
    is_stopped("::a:: goto a", "too many steps");
    is_stopped("for i = 1, math.maxinteger do end", "too many steps");
    CHECK_FAILS(run("while true do end", 10, 0), HD_ELIMIT, error,
                "too many steps");
    CHECK_FAILS(run("local x = 0 for i = 1, 1000 do x = x + i end", 500, 0),
                HD_ELIMIT, error, "too many steps");
    CHECK_OK(run("local x = 0 for i = 1, 100 do x = x + i end", 500, 0), error);
}

static void work_in_c_is_counted(void)
{
    is_stopped("string.rep('', math.maxinteger)", "too many steps");
    is_stopped("string.rep('x', 1 << 26)", "too many steps");
    is_stopped("local t = {} for i = 1, 10000 do t[i] = i end "
               "while true do table.insert(t, 1, 0) table.remove(t, 1) end",
               "too many steps");
    is_stopped("local t = {} for i = 1, 10000 do t[i] = i end "
               "while true do table.concat(t) end",
               "too many steps");
    is_stopped("local t = {} for i = 1, 10000 do t[i] = -i end "
               "while true do table.sort(t) end",
               "too many steps");
    is_stopped("local t = {} for i = 1, 10000 do t[i] = i end "
               "while true do local a = table.unpack(t) end",
               "too many steps");
    // A border as far out as a table can have one.
    is_stopped(
        "local t, i = {1, 1, 1, 1, 1}, 8 t[9] = 1 while i > 0 do t[i] = 1 "
        "i = i * 2 end assert(#t > 1 << 40) table.insert(t, 1, 0)",
        "too many steps");
    is_stopped("table.sort({3, 1, 2}, function() while true do end end)",
               "too many steps");
    is_stopped("local s = string.rep('x', 100000) "
               "while true do local t = s .. 'y' end",
               "too many steps");
    // Comparing makes no memory and is one instruction: the clock stops it.
    is_stopped("local a = string.rep('x', 900000) local b = a .. 'x' "
               "while true do local c = a < b end",
               "too many ");
    is_stopped("local t = {} for i = 1, 100000 do t[i] = 1 end "
               "for i = 1, 100000 do t[i] = nil end "
               "while true do next(t) end",
               "too many ");
}

static void memory_is_bounded(void)
{
    uint64_t small = 4 << 20;
    CHECK_FAILS(run("local t = {} for i = 1, 1e9 do t[i] = i end", 0, small),
                HD_ELIMIT, error, "needs more than 4 MiB of memory");
    CHECK_FAILS(run("local s = 'x' while true do s = s .. s end", 0, small),
                HD_ELIMIT, error, "needs more than 4 MiB of memory");
    CHECK_FAILS(run("return string.rep('x', 1 << 24)", 0, small), HD_ELIMIT,
                error, "needs more than 4 MiB of memory");
    CHECK_FAILS(run("local t = {} while true do t = {t} end", 0, small),
                HD_ELIMIT, error, "needs more than 4 MiB of memory");
    // The graph and what is kept for messages count too.
    CHECK_FAILS(run("while true do resource('r', 'float', 4) end", 0, small),
                HD_ELIMIT, error, "the graph takes more than 4 MiB");
    CHECK_FAILS(run("local s = string.rep('x', 100000) local i = 0 while true "
                    "do i = i + 1 kernel(s .. i, 'k') end",
                    0, small),
                HD_ELIMIT, error, "the graph takes more than 4 MiB");
    CHECK_FAILS(run("local i = 0 while true do i = i + 1 setting('s' .. i, 1) "
                    "end",
                    0, small),
                HD_ELIMIT, error, "needs more than 4 MiB of memory");
    CHECK_FAILS(run("local r = resource('r', 'float', 4) block(1000000000) "
                    "write(r) while true do clear(r) end",
                    0, small),
                HD_ELIMIT, error, "a pass with more than");
    CHECK_FAILS(run("x = 1", 0, 1000), HD_ELIMIT, error, "0 MiB");
}

// Which of the library's functions are called by ours makes no difference; nor
// does a path of which Lua tells the end only.
static void errors_name_their_line_once(void)
{
    static const char *const wrong[] = {
        "table.sort({3, 2, 1, 5, 4, 7}, function() return true end)",
        "string.format('%d', 1.5)",
        "string.format('%99999s', 'x')",
        "string.rep('x', 1.5)",
        "table.concat({{}})",
        "error('x', 0)",
        "error('x')",
        "local x = nil + 1"};
    char text[128], kept[sizeof(path)];

    memcpy(kept, path, sizeof(path));
    for (size_t i = 0; i < 2 * sizeof(wrong) / sizeof(wrong[0]); i++) {
        snprintf(path, sizeof(path), "%s/program%s.lua", folder,
                 i % 2 ? "_that_has_a_name_too_long_for_a_message" : "");
        snprintf(text, sizeof(text), "\n\n%s\n", wrong[i / 2]);
        fails(text, ".lua:3: ");
        CHECK(!strstr(strstr(error.text, ".lua:") + 1, ".lua:"));
        unlink(path);
    }
    memcpy(path, kept, sizeof(path));
}

static void deep_recursion_is_an_error(void)
{
    fails("local function f() return 1 + f() end f()", "stack overflow");
    fails("local function f() table.sort({1, 2}, f) end f()", "overflow");
    char deep[20000];
    memset(deep, '(', sizeof(deep) - 1);
    deep[sizeof(deep) - 1] = '\0';
    fails(deep, "");
}

static void nothing_catches_the_end(void)
{
    // No finalizer, no to-be-closed variable, no environment to swap.
    fails("local x <close> = {}", "got a non-closable value");
    fails("local x <close> = resource('r', 'float', 4)", "non-closable");
    fails("_ENV.pcall(print)", "attempt to call a nil value");
    is_stopped("local _ENV = {} while true do end", "too many steps");
    is_stopped("error = function() end assert = error while true do end",
               "too many steps");
}

// Every allocation failing in turn: the cap stands for the system's memory.
static void any_allocation_may_fail(void)
{
    static const char text[] =
        "local k = kernel('k.cl', 'A', {N = 4}) "
        "local D = pass {name = 'D', read = {'from'}, write = {'to'}, run = "
        "function(p) dispatch(k, {p.from, p.to, {1, 2}}, {global = {4, 4}}) "
        "end} local a, b = resource('a', 'float', 4), resource('b', 'float', "
        "4) write(a) clear(a) D {from = a, to = b} output('b', b)";
    uint64_t cap = 1000;

    for (; run(text, 0, cap) != HD_OK; cap += 97)
        CHECK_FAILS(run(text, 0, cap), HD_ELIMIT, error, "max_memory");
    CHECK(cap > 10000 && cap < 1000000);
}

int main(void)
{
    CHECK(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/program.lua", folder);
    fake_open(&launcher, NULL, &context);
    nothing_leads_out();
    what_a_generator_needs_is_there();
    runs_do_not_differ();
    strings_have_no_methods();
    bytecode_is_refused();
    endless_programs_are_stopped_at_their_line();
    work_in_c_is_counted();
    memory_is_bounded();
    errors_name_their_line_once();
    deep_recursion_is_an_error();
    nothing_catches_the_end();
    any_allocation_may_fail();
    fake_close(&launcher);
    unlink(path);
    rmdir(folder);
    return 0;
}
