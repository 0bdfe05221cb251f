// The graph language: what each function does, and what it says when it cannot.
#include "tests/graph/fake_launch.h"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "graph/model/model.h"
#include "tests/check.h"

struct fake_kernel fake_kernels[] = {
    {.name = "A",
     .args = {{"from", "float*", HD_ARG_GLOBAL, true},
              {"to", "float*", HD_ARG_GLOBAL, false}}},
    {.name = "B",
     .args = {{"from", "float*", HD_ARG_GLOBAL, true},
              {"to", "float*", HD_ARG_GLOBAL, false}}},
    {.name = NULL}};

static struct hdi_launcher launcher;
static struct hdi_graph_context context;
static struct hd_error error;
static char folder[64] = "graph_language_XXXXXX";
static char path[128];

static hd_status generate(const char *text, struct hd_graph_program program,
                          struct hd_graph **graph)
{
    FILE *file = fopen(path, "w");
    CHECK(file);
    CHECK(fputs(text, file) >= 0);
    CHECK(fclose(file) == 0);
    program.path = path;
    return hdi_graph_generate(&context, &program, graph, &error);
}

#define WITH(...) ((struct hd_graph_program){__VA_ARGS__})

static struct hd_graph *make(const char *text, struct hd_graph_program program)
{
    struct hd_graph *graph;
    CHECK_OK(generate(text, program, &graph), error);
    return graph;
}

static void fails_with(const char *text, struct hd_graph_program program,
                       hd_status status, const char *part)
{
    struct hd_graph *graph = NULL;
    CHECK_FAILS(generate(text, program, &graph), status, error, part);
    CHECK(!graph);
}

// The program fails in line 1, in the words of `part`.
static void fails(const char *text, const char *part)
{
    char place[160];
    fails_with(text, WITH(0), HD_EPROGRAM, part);
    snprintf(place, sizeof(place), "%s:1: ", path);
    if (strncmp(error.text, place, strlen(place)) != 0)
        fprintf(stderr, "got '%s'\n", error.text);
    CHECK(strncmp(error.text, place, strlen(place)) == 0);
}

// "A:r1>r2 B:r2>r3": the passes in program order with the resource versions
// they read and write.
static void describe(const struct hd_graph *g, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < g->passes.count; i++) {
        const struct hdi_pass *p = &g->passes.at[i];
        used += (size_t)snprintf(text + used, size - used,
                                 "%s%s:", i ? " " : "", p->name);
        for (int writes = 0; writes < 2; writes++) {
            for (uint32_t k = 0; k < p->access_count; k++) {
                const struct hdi_access *a = &g->accesses.at[p->accesses + k];
                if (writes ? a->writes : a->reads)
                    used += (size_t)snprintf(text + used, size - used, "%s.%u",
                                             g->resources.at[a->resource].name,
                                             a->version + (unsigned)writes);
            }
            if (!writes)
                used += (size_t)snprintf(text + used, size - used, ">");
        }
    }
}

static void makes(const char *text, struct hd_graph_program program,
                  const char *expected)
{
    char shown[1024];
    struct hd_graph *g = make(text, program);
    describe(g, shown, sizeof(shown));
    if (strcmp(shown, expected) != 0)
        fprintf(stderr, "got '%s', wanted '%s'\n", shown, expected);
    CHECK(strcmp(shown, expected) == 0);
    hd_graph_destroy(g);
}

static void classes_have_limits(void)
{
    struct hd_graph *g =
        make("local a = resource('a', 'float', 8)\n"
             "limit('io', 2)\n"
             "local D = pass {name = 'D', write = {'to'}, class = 'io',\n"
             "  run = function(p) p.class = nil; clear(p.to) end}\n"
             "D {to = a} D {to = a, class = 'other' .. 1} limit('other1', 7)",
             WITH(0));

    CHECK(g->classes.count == 2 && g->passes.count == 2);
    CHECK(strcmp(g->classes.at[0].name, "io") == 0 &&
          g->classes.at[0].most == 2);
    CHECK(strcmp(g->classes.at[1].name, "other1") == 0 &&
          g->classes.at[1].most == 7);
    CHECK(g->passes.at[0].class_index == 1 && g->passes.at[1].class_index == 2);
    hd_graph_destroy(g);
}

static const struct hd_graph_source r1 = {
    .name = "r1", .shape = {.type = "float", .axes = 1, .extent = {64}}};

// Worked case: definitions A (one command) and B (two commands; what the first
// makes for the second is no resource).
static const char definitions[] =
    "local a, b = setting('a', false), setting('b', false)\n"
    "local ka, kb = kernel('k.cl', 'A'), kernel('k.cl', 'B')\n"
    "local A = pass {name = 'A', read = {'from'}, write = {'to'},\n"
    "  run = function(p) dispatch(ka, {p.from, p.to}, {global = 64}) end}\n"
    "local B = pass {name = 'B', read = {'from'}, write = {'to'},\n"
    "  run = function(p)\n"
    "    local between = scratch('float', 64)\n"
    "    dispatch(kb, {p.from, between}, {global = 64})\n"
    "    dispatch(kb, {between, p.to}, {global = 64, group = 16})\n"
    "  end}\n"
    "local r1, r2, r3 = input('r1', 'float'), resource('r2', 'float', 64),\n"
    "  resource('r3', 'float', 64)\n"
    "if a or b then A {from = r1, to = r2} end\n"
    "if a then B {from = r2, to = r3} end\n"
    "if b then B {from = r2, to = r3} end\n";

static void definitions_make_passes_by_what_is_known_at_run_time(void)
{
    const struct hd_setting both[] = {{"a", "true"}, {"b", "true"}};

    makes(definitions,
          WITH(.settings = both, .setting_count = 2, .inputs = &r1,
               .input_count = 1),
          "A:r1.0>r2.1 B:r2.1>r3.1 B:r2.1>r3.2");
    makes(definitions,
          WITH(.settings = both, .setting_count = 1, .inputs = &r1,
               .input_count = 1),
          "A:r1.0>r2.1 B:r2.1>r3.1");
    makes(definitions, WITH(.inputs = &r1, .input_count = 1), "");

    struct hd_graph *g =
        make(definitions, WITH(.settings = both, .setting_count = 2,
                               .inputs = &r1, .input_count = 1));
    CHECK_OK(hd_graph_prepare(g, &error), error);
    struct hd_pass_info info;
    CHECK(hd_graph_pass_info(g, 1, &info));
    CHECK(strstr(info.where, "program.lua:14"));
    CHECK(info.work_items == 128);
    CHECK(!hd_graph_pass_info(g, 3, &info));
    hd_graph_destroy(g);
}

// Worked case: the stream form.
static const char stream[] =
    "local c = setting('c', false)\n"
    "local r1 = input('r1', 'float')\n"
    "local r2, r3, r5 = resource('r2', 'float', 64),\n"
    "  resource('r3', 'float', 64), resource('r5', 'float', 64)\n"
    "state(kernel('k.cl', 'A'))\n"
    "read(r1) write(r2)\n"
    "dispatch({r1, r2}, {global = 64})\n"
    "if c then\n"
    "  state(kernel('k.cl', 'B'))\n"
    "  read(r2) write(r5)\n"
    "  dispatch({r2, r5}, {global = 64})\n"
    "  read(r5) write(r3)\n"
    "  dispatch({r5, r3}, {global = 64})\n"
    "end\n";

static char *print(const struct hd_graph *g, enum hd_graph_format format)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    CHECK(hd_graph_print(g, format, file) == HD_OK);
    CHECK(fclose(file) == 0);
    return text;
}

static void blocks_of_a_stream_become_passes(void)
{
    const struct hd_setting c = {"c", "true"};

    makes(stream,
          WITH(.settings = &c, .setting_count = 1, .inputs = &r1,
               .input_count = 1),
          "A:r1.0>r2.1 B:r2.1>r5.1 B:r5.1>r3.1");
    makes(stream, WITH(.inputs = &r1, .input_count = 1), "A:r1.0>r2.1");
    makes("local a, b = resource('a', 'float4', 8), "
          "resource('b', 'float', 8, 4)\n"
          "write(a) clear(a)\n"
          "read(a) write(b) layout(a, b)\n",
          WITH(.inputs = NULL), "clear:>a.1 layout:a.1>b.1");

    struct hd_graph *g = make(stream, WITH(.inputs = &r1, .input_count = 1));
    char *dot = print(g, HD_GRAPH_DOT);
    CHECK(strstr(dot, "r2"));
    CHECK(!strstr(dot, "label=\"r5") && !strstr(dot, "label=\"r3"));
    free(dot);
    hd_graph_destroy(g);
}

#define BEGIN                                                                 \
    "local a, b, c = resource('a', 'float', 64), resource('b', 'float', 64)," \
    " resource('c', 'float', 64) local k = kernel('k.cl', 'A') "

static void blocks_hold_as_many_commands_as_told(void)
{
    makes(BEGIN "block(2) write(a, b) clear(a) copy(a, b) write(c) clear(c)"
                " clear(c)",
          WITH(0), "copy:>a.1b.1 clear:>c.1");
    makes(BEGIN "block(function(n) return n == 3 end)"
                " write(a, b) clear(a) clear(b) copy(a, b) write(c) clear(c)",
          WITH(0), "copy:>a.1b.1 clear:>c.1");
    makes(BEGIN "block(100) write(a) clear(a) finish() write(b) clear(b)",
          WITH(.inputs = NULL), "clear:>a.1 clear:>b.1");
    makes(BEGIN "block(1, {trailing = true}) write(a) clear(a) write(b)"
                " read(a) write(c) copy(a, c)",
          WITH(.inputs = NULL), "clear:>a.1b.1 copy:a.1>c.1");
    makes(BEGIN "block(1, {trailing = true}) clear(a) write(a)", WITH(0),
          "clear:>a.1");
    fails(BEGIN "write(a)", "no command follows this read or write");
    fails(BEGIN "block(0)", "block takes a number of commands, from 1 on");
    fails(BEGIN "block(-2.5)", "or a function, not -2.5");
    fails(BEGIN "block('all')", "or a function, not string");
    fails(BEGIN "block(9) write(a) clear(a) block(1)", "within a block");
    fails("dispatch({}, {global = 1})", "dispatch without a kernel");
    fails("state(3)", "state takes a kernel, not number");
    fails("read(3)", "read takes resources, not number");
    fails(BEGIN "write(a) pass {run = function() end} {}",
          "a definition is called within a block");
}

// It is asked within a command of the block.
static void the_rule_of_a_block_only_answers(void)
{
    static const char *const words[][2] = {
        {"clear(a)", "a command"}, {"read(a)", "read"},
        {"finish()", "finish"},    {"block(1)", "block"},
        {"state(k)", "state"},     {"values(a)", "values"},
        {"start()", "start"},      {"pass {run = function() end}", "pass"},
        {"p {}", "a pass"},
    };

    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        char text[400], message[100];
        snprintf(text, sizeof(text),
                 BEGIN "local p = pass {run = function() end} "
                       "block(function(n) %s return true end) "
                       "write(a) clear(a)",
                 words[i][0]);
        snprintf(message, sizeof(message),
                 "1: %s cannot be called by the function of block",
                 words[i][1]);
        fails(text, message);
    }
}

static void settings_have_the_type_of_their_default(void)
{
    const struct hd_setting given[] = {
        {"n", "5"}, {"x", "2.5"}, {"s", "name"}, {"b", "off"}, {"m", "7.0"}};
    struct hd_graph *g =
        make("assert(setting('n', 1) == 5)\n"
             "assert(math.type(setting('m', 1)) == 'integer')\n"
             "assert(setting('x', 1.0) == 2.5)\n"
             "assert(setting('s', 'other') == 'name')\n"
             "assert(setting('b', true) == false)\n"
             "assert(setting('n', 1, {min = 1, max = 5}) == 5)\n"
             "assert(setting('s', 'a', {'a', 'name'}) == 'name')\n"
             "assert(setting('not given', 3) == 3)\n",
             WITH(.settings = given, .setting_count = 5));
    hd_graph_destroy(g);

#define SETTING_FAILS(text, value, part)                          \
    fails_with(text,                                              \
               WITH(.settings = &(struct hd_setting){"n", value}, \
                    .setting_count = 1),                          \
               HD_EPROGRAM, part)
    SETTING_FAILS("setting('n', 1)", "5.5",
                  "setting 'n' is '5.5', but it must be a whole number");
    SETTING_FAILS("setting('n', 1)", "many", "must be a number");
    SETTING_FAILS("setting('n', 1)", "1e300", "must be a whole number");
    SETTING_FAILS("setting('n', 1.5)", "1e400", "must be a number");
    SETTING_FAILS("setting('n', true)", "maybe", "must be true or false");
    SETTING_FAILS("setting('n', 1, {min = 2})", "1",
                  "is 1, but it must be at "
                  "least 2");
    SETTING_FAILS("setting('n', 1, {max = 2})", "3", "must be at most 2");
    SETTING_FAILS("setting('n', 1, {max = 0 / 0})", "1",
                  "min and max are for numbers");
    SETTING_FAILS("setting('n', 'a', {'a', 'b'})", "c",
                  "is 'c', but it must be one of a, b");
    SETTING_FAILS("setting('levels', 1) setting('width', 2)", "1",
                  "the program has no setting 'n'; it has: levels, width");
    SETTING_FAILS("", "1", "it has: none");
    fails("setting('n')", "setting 'n' takes a default");
    fails("setting()", "setting takes a name, not nothing");
}

static void inputs_are_handed_in(void)
{
    const struct hd_graph_source map = {
        .name = "map",
        .shape = {.type = "uchar4", .axes = 2, .extent = {20, 10}}};

    struct hd_graph *g =
        make("local m = input('map', 'uchar4')\n"
             "assert(m.width == 20 and m.height == 10 and m.depth == 1)\n"
             "assert(m.type == 'uchar4' and m.name == 'map')\n"
             "assert(input('map') ~= nil)\n"
             "assert(input('mask', 'float', {optional = true}) == nil)\n"
             "output('same', m)",
             WITH(.inputs = &map, .input_count = 1));
    CHECK(hd_graph_output_count(g) == 1);
    struct hd_graph_result result;
    CHECK(hd_graph_result(g, 0, &result));
    CHECK(strcmp(result.name, "same") == 0 && !result.buffer);
    CHECK(result.shape.extent[0] == 20 && result.shape.extent[2] == 1);
    CHECK(!hd_graph_result(g, 1, &result));
    hd_graph_destroy(g);

    fails("input('map', 'uchar4')",
          "input 'map' is missing; hand it in with --in map=FILE");
    fails("input('map', 'uchar5')", "'uchar5' is no scalar or vector type");
    fails_with("input('map', 'float')", WITH(.inputs = &map, .input_count = 1),
               HD_EPROGRAM,
               "elements of type 'uchar4', but the program takes 'float'");
    fails_with("input('other', 'float', {optional = true})",
               WITH(.inputs = &map, .input_count = 1), HD_EPROGRAM,
               "takes no input 'map'; it takes: other");
    fails("input('map', 'uchar4', {optional = true}).x = 1", "nil value");
}

static void resources_are_values_with_fields(void)
{
    struct hd_graph *g =
        make("local r = resource('globe', 'float4', 8, 4, 2)\n"
             "assert(r.width == 8 and r.height == 4 and r.depth == 2)\n"
             "assert(r.type == 'float4' and r.name == 'globe')\n"
             "assert(tostring(r) == 'resource' and type(r) == 'userdata')\n",
             WITH(0));
    hd_graph_destroy(g);
    fails("resource('r', 'float', 4).widht = 3", "attempt to index");
    fails("local x = resource('r', 'float', 4).widht",
          "a resource has no field 'widht'; it has width");
    fails("resource('r', 'float')", "resource takes 1 to 3 extents");
    fails("resource('r', 'float', 0)",
          "extent 1 takes whole numbers from 1 on, not 0");
    fails("resource('r', 'float', 1, 2.5)", "extent 2 takes whole numbers "
                                            "from 1 on, not 2.5");
    fails("resource('r', 'float', '4')", "not string");
    fails("resource('r', {}, 4)", "such as \"float4\", not table");
    fails_with("resource('r', 'real', 4)", WITH(0), HD_EINVAL,
               "program.lua:1: resource 'r': 'real' is no scalar");
    fails("resource('', 'float', 4)", "resource takes a name, not an empty");
    fails("output('x', 3)", "output takes a resource, not number");
    fails("output(nil, 3)", "output takes a name, not nothing");
}

static void programs_have_several_files(void)
{
    struct hd_graph *g =
        make("local r = resource('r', 'float', 4)\n"
             "local files = {'sub/k.cl', 'more.cl', 'lib/half.hdb'}\n"
             "for _, k in ipairs {kernel(files, 'A'), kernel(files, 'A'),\n"
             "                    kernel({'sub/k.cl'}, 'A'),\n"
             "                    kernel('sub/k.cl', 'A')} do\n"
             "  write(r) dispatch(k, {r, r}, {global = 4})\n"
             "end",
             WITH(0));
    char with[300];

    CHECK_OK(hd_graph_prepare(g, &error), error);
    CHECK(g->programs.count == 2);
    CHECK(strstr(g->programs.at[0].path, "/sub/k.cl"));
    snprintf(with, sizeof(with), "%s/more.cl\n%s/lib/half.hdb", folder, folder);
    CHECK(strcmp(g->programs.at[0].with, with) == 0);
    CHECK(strcmp(g->programs.at[1].with, "") == 0);
    CHECK(fake.parts == 0);
    hd_graph_destroy(g);
    g = make("local r = resource('r', 'float', 4)\n"
             "local k = kernel({'k.cl', 'a.cl', 'b.spv'}, 'A')\n"
             "write(r) dispatch(k, {r, r}, {global = 4})",
             WITH(0));
    CHECK_OK(hd_graph_prepare(g, &error), error);
    CHECK(fake.parts == 3);
    hd_graph_destroy(g);

    fails("kernel({}, 'A')", "kernel takes a list of 1 to 256 files");
    fails("kernel({'k.cl', '/etc/k.cl'}, 'A')", "give a path relative to");
    fails("kernel({'k.cl', 'a\\nb'}, 'A')", "give a path relative to");
    fails("kernel({'k.cl', {}}, 'A')", "kernel takes a name, not table");
    fails("kernel({'k.cl', 'l.cl'})", "kernel takes a file and the name");
}

static void kernels_take_definitions(void)
{
    struct hd_graph *g =
        make("local r = resource('r', 'float', 4)\n"
             "local k = kernel('sub/k.cl', 'A', {N = 4, FAST = true, T = "
             "'float4', '-cl-fast-relaxed-math', X = 0.5})\n"
             "write(r) dispatch(k, {r, r}, {global = 4})",
             WITH(0));
    CHECK_OK(hd_graph_prepare(g, &error), error);
    CHECK(strcmp(fake.options, "-D FAST=1 -D N=4 -D T=float4 -D X=0.5 "
                               "-cl-fast-relaxed-math") == 0);
    CHECK(strstr(g->programs.at[0].path, "/sub/k.cl"));
    CHECK(strncmp(g->programs.at[0].path, folder, strlen(folder)) == 0);
    hd_graph_destroy(g);

    fails("kernel('/etc/k.cl', 'A')", "give a path relative to");
    fails("kernel('k.cl')", "kernel takes a file and the name");
    fails("kernel()", "kernel takes a name, not nothing");
    fails("kernel('k.cl', 'A', 3)", "takes a table of definitions, not number");
    fails("kernel('k.cl', 'A', {['1x'] = 2})", "'1x' cannot be defined");
    fails("kernel('k.cl', 'A', {X = '1 -I/etc'})", "no spaces, quotes");
    fails("kernel('k.cl', 'A', {X = {}})", "X can be a number");
    fails("kernel('k.cl', 'A', {'O3'})", "an option is a string such as");
}

#define DEFINE(read, run)                                                   \
    BEGIN "local D = pass {name = 'D', read = {" read "}, write = {'to'}, " \
          "run = function(p, s) " run " end} "

static void definitions_are_checked(void)
{
    makes(DEFINE("", "clear(p.to)") "D {to = a} D {to = b, name = 'other'}",
          WITH(0), "D:>a.1 other:>b.1");
    makes(DEFINE("", "") "D {to = {a, b}}", WITH(0), "D:>a.1b.1");
    fails("pass(3)", "pass takes a table, not number");
    fails("pass {}", "run takes a function, not nothing");
    fails("pass {red = {}, run = print}", "pass has no field 'red'");
    fails("pass {priority = 'urgent', run = print}",
          "priority is \"high\", \"normal\" or \"low\", not \"urgent\"");
    fails("pass {priority = 3, run = print}", "not number");
    fails(DEFINE("", "clear(p.to)") "D {to = a, priority = true}",
          "priority is \"high\", \"normal\" or \"low\", not boolean");
    makes(DEFINE("", "clear(p.to)") "D {to = a, priority = 'high'}", WITH(0),
          "D:>a.1");
    fails("pass {class = 3, run = print}", "name of a class of passes, not "
                                           "number");
    fails("pass {class = '', run = print}", "not \"\"");
    fails(DEFINE("", "clear(p.to)") "D {to = a, class = {}}",
          "name of a class of passes, not table");
    makes(DEFINE("", "clear(p.to)") "limit('io', 2) D {to = a, class = 'io'}",
          WITH(0), "D:>a.1");
    fails("limit('io', 0)", "how many of it may run at a time, 1 or more");
    fails("limit('io', 1.5)", "1 or more");
    fails("limit(1, 2)", "limit takes the name of a class");
    fails_with("limit('', 2)", WITH(0), HD_EINVAL, "has a name");
    fails("pass {read = 'a', run = print}", "read takes a list of parameter");
    fails("pass {read = {3}, run = print}", "names of parameters, not number");
    fails("pass {name = 3, run = print}", "name takes a string, not number");
    fails(DEFINE("'from'", "") "D {to = a}",
          "pass 'D': parameter 'from' is missing; it takes a resource");
    fails(DEFINE("'from'", "") "D {from = 3, to = a}",
          "pass 'D': parameter 'from' takes a resource, not number");
    fails(DEFINE("'from'", "") "D {from = {a, 3}, to = a}",
          "parameter 'from' takes a resource, not number");
    fails(DEFINE("", "") "D(3)", "a pass is called with a table");
    fails(DEFINE("", "pass {run = print}") "D {to = a}",
          "pass cannot be called inside run");
    fails(DEFINE("", "read(a)") "D {to = a}", "read cannot be called inside");
    fails("local D D = pass {run = function() D {} end} D {}",
          "a pass cannot be called inside run");
    fails_with(DEFINE("'from'", "") "D {from = a, to = b}", WITH(0), HD_EGRAPH,
               "program.lua:1: pass 'D': it reads resource 'a' (");
    fails_with(DEFINE("", "clear(b)") "D {to = a}", WITH(0), HD_EINVAL,
               "pass 'D': it clears resource 'b', which it does not write");
}

static void state_comes_with_the_definition_or_the_call(void)
{
    makes("local ka, kb = kernel('k.cl', 'A'), kernel('k.cl', 'B')\n"
          "local a = resource('a', 'float', 4)\n"
          "local D = pass {name = 'D', write = {'to'}, state = ka,\n"
          "  run = function(p, s) assert(s == (p.other and kb or ka)) end}\n"
          "D {to = a} D {to = a, state = kb, other = true}",
          WITH(0), "D:>a.1 D:>a.2");
}

static void commands_are_checked(void)
{
#define COMMAND(text) DEFINE("", text) "D {to = a}"
    fails(COMMAND("dispatch(3)"), "dispatch takes a kernel first, not number");
    fails(COMMAND("dispatch({}, {global = 1})"), "kernel first, not table");
    fails(COMMAND("dispatch(k)"), "takes a table of arguments and");
    fails(COMMAND("dispatch(k, {})"), "takes a table of arguments and");
    fails(COMMAND("dispatch(k, {}, {})"), "global takes whole numbers from 0 "
                                          "on, not nothing");
    fails(COMMAND("dispatch(k, {}, {global = {1, 2, 3, 4}})"),
          "global has 1 to 3 numbers");
    fails(COMMAND("dispatch(k, {}, {global = 1.5})"), "not 1.5");
    fails(COMMAND("dispatch(k, {}, {global = 1e18})"),
          "dispatch: global is 281474976710656 at most, not 1e+18");
    fails(COMMAND("dispatch(k, {}, {global = {1, 1e30}})"), "not 1e+30");
    fails(COMMAND("fill(p.to, 1, {size = {1e18}})"), "size is 281474976710656");
    fails(COMMAND("dispatch(k, {image(p.to, {order = 'x'})}, {global = 1})"),
          "image: order is one of r, rg,");
    fails(COMMAND("dispatch(k, {}, {global = 8, group = {1, 1}})"),
          "group and global must have the same");
    fails(COMMAND("dispatch(k, {}, {global = 8, offset = {1, 1}})"),
          "offset and global must have the same");
    fails(COMMAND("dispatch(k, {}, {global = 8, group = 0})"),
          "group takes whole numbers from 1 on, not 0");
    fails(COMMAND("dispatch(k, {}, {glbal = 8})"), "no option 'glbal'");
    fails(COMMAND("dispatch(k, {p.to, nil, 3}, {global = 8})"),
          "argument 2 of dispatch cannot be nothing");
    fails(COMMAND("dispatch(k, {print}, {global = 8})"),
          "argument 1 of dispatch cannot be function");
    fails(COMMAND("dispatch(k, {{}}, {global = 8})"), "1 to 16 numbers, not 0");
    fails(COMMAND("dispatch(k, {{1, 'x'}}, {global = 8})"),
          "component 2 of the vector is string");
    fails(COMMAND("dispatch(k, {9007199254740993}, {global = 8})"),
          "9007199254740993 is not exact");
    fails(COMMAND("dispatch(k, {math.maxinteger}, {global = 8})"),
          "is not exact");
    fails(COMMAND("copy(3, p.to)"), "copy takes a resource, not number");
    fails(COMMAND("clear()"), "clear takes a resource, not nothing");
    fails(COMMAND("scratch('real', 4)"), "not 'real'");
    fails(COMMAND("scratch('float')"), "scratch takes 1 to 3 extents");
    fails(COMMAND("local x = scratch('float', 4).size"), "no field 'size'");
    fails("scratch('float', 4)", "can only be called inside run");
    fails(BEGIN "local s local D = pass {write = {'to'}, run = function(p) "
                "s = s or scratch('float', 4) dispatch(k, {p.to, s}, "
                "{global = 4}) end} D {to = a} D {to = b}",
          "argument 2 is the scratch memory of another pass");
    fails("local_memory()", "local_memory takes a number of bytes");
    fails("order(3, 4)", "order takes passes, as calls of definitions return");
    fails(COMMAND("") "order(D {to = b})", "order takes two passes or more");
}

static void passes_can_be_ordered(void)
{
    struct hd_graph *g =
        make(DEFINE("", "clear(p.to)") "order(D {to = a}, D {to = b}, "
                                       "D {to = c})",
             WITH(0));
    CHECK(hdi_graph_link(g) && g->edges.count == 2);
    CHECK(g->edges.at[1].from == 1 && g->edges.at[1].to == 2);
    CHECK_OK(hd_graph_prepare(g, &error), error);
    hd_graph_destroy(g);

    g = make(DEFINE("", "clear(p.to)") "local x, y = D {to = a}, D {to = b}\n"
                                       "order(x, y)\norder(y, x)",
             WITH(0));
    CHECK_FAILS(hd_graph_prepare(g, &error), HD_EGRAPH, error,
                "take away an explicit order: ");
    CHECK(strstr(error.text, "program.lua:3"));
    CHECK(strstr(error.text, "program.lua:2"));
    hd_graph_destroy(g);
}

#define MARK "\xef\xbb\xbf" // of UTF-8

static void errors_name_the_lines_that_led_there(void)
{
    fails_with("local function f()\n  error('no luck')\nend\n\nf()", WITH(0),
               HD_EPROGRAM, "program.lua:2: no luck");
    CHECK(strstr(error.text, "called from "));
    CHECK(strstr(error.text, "program.lua:5"));
    fails_with("local x = = 3", WITH(0), HD_EPROGRAM, "program.lua:1: ");
    fails("error({})", "error() with a table instead of a text");
    fails_with(MARK "#!/usr/bin/heddle\nerror('second')", WITH(0), HD_EPROGRAM,
               "program.lua:2: second");
    fails_with(MARK "error('first')", WITH(0), HD_EPROGRAM,
               "program.lua:1: first");
    fails_with("#!/usr/bin/heddle\nerror('second')", WITH(0), HD_EPROGRAM,
               "program.lua:2: second");
    struct hd_graph *graph;
    CHECK_FAILS(hdi_graph_generate(&context, &WITH(.path = "no/such.lua"),
                                   &graph, &error),
                HD_ENOENT, error, "no/such.lua");
    CHECK_FAILS(
        hdi_graph_generate(&context, &WITH(.path = "."), &graph, &error),
        HD_EIO, error, "cannot read graph program");
}

static void graphs_can_be_printed(void)
{
    struct hd_graph *g =
        make("local a = resource('a\"b\\\\', 'float4', 8, 4)\n"
             "local D = pass {name = 'x\"\\\\n', write = {'to'}, run = "
             "function(p) clear(p.to) end}\n"
             "local x = D {to = a} local y = D {to = a}\n"
             "local b = resource('b', 'uint', 3) local z = D {to = b}\n"
             "order(x, z) output('image', a)",
             WITH(0));
    char *dot = print(g, HD_GRAPH_DOT), *json = print(g, HD_GRAPH_JSON);
    CHECK(strncmp(dot, "digraph heddle {\n", 17) == 0);
    CHECK(strstr(dot, "p0 [shape=box, label=\"x\\\"\\\\n\\n"));
    CHECK(strstr(dot, "r0_2 [shape=ellipse, label=\"a\\\"b\\\\ v2\\nfloat4 8 x "
                      "4\", peripheries=2];"));
    CHECK(strstr(dot, "p0 -> r0_1;"));
    CHECK(strstr(dot, "p1 -> r0_2;"));
    CHECK(strstr(dot, "color=gray];") && !strstr(dot, "style=dotted"));
    CHECK(strstr(dot, "p0 -> p2 [style=dashed];"));
    CHECK(strstr(json, "\"name\":\"x\\\"\\\\n\""));
    CHECK(strstr(json, "\"writes\":[{\"resource\":0,\"version\":2}]"));
    CHECK(strstr(json, "{\"name\":\"image\",\"resource\":0}"));
    CHECK(strstr(json, "{\"from\":0,\"to\":2,\"kind\":\"order\"}"));
    free(dot);
    free(json);
    hd_graph_destroy(g);
    CHECK(hd_graph_print(NULL, HD_GRAPH_DOT, stdout) == HD_EINVAL);
}

// Of this process: other programs may have the cores as well [ns].
static uint64_t used(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void generating_is_fast(void)
{
    static const char program[] =
        "local n, stream = setting('n', 0), setting('stream', false)\n"
        "local k = kernel('k.cl', 'A')\n"
        "local D = pass {name = 'D', read = {'from'}, write = {'to'},\n"
        "  run = function(p) dispatch(k, {p.from, p.to}, {global = 64}) end}\n"
        "local last = input('r1')\n"
        "for i = 1, n do\n"
        "  local next = resource('r', 'float', 64)\n"
        "  if stream then\n"
        "    read(last) write(next) dispatch(k, {last, next}, {global = 64})\n"
        "  else D {from = last, to = next} end\n"
        "  last = next\n"
        "end\n";

    for (int form = 0; form < 2; form++) {
        const struct hd_setting settings[] = {
            {"n", "10000"}, {"stream", form ? "true" : "false"}};
        double best = 1e9;
        for (int round = 0; round < 5; round++) {
            uint64_t begin = used();
            struct hd_graph *g =
                make(program, WITH(.settings = settings, .setting_count = 2,
                                   .inputs = &r1, .input_count = 1));
            double each = (double)(used() - begin) / 10000;
            best = each < best ? each : best;
            CHECK(hd_graph_pass_count(g) == 10000);
            hd_graph_destroy(g);
        }
        printf("%s form: %.0f ns per pass\n", form ? "stream" : "definition",
               best);
        CHECK(best < 100000);
    }
}

int main(void)
{
    CHECK(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/program.lua", folder);
    fake_open(&launcher, NULL, &context);
    classes_have_limits();
    CHECK(strncmp(hdi_graph_language(), "Lua 5.4", 7) == 0);
    definitions_make_passes_by_what_is_known_at_run_time();
    blocks_of_a_stream_become_passes();
    blocks_hold_as_many_commands_as_told();
    the_rule_of_a_block_only_answers();
    settings_have_the_type_of_their_default();
    inputs_are_handed_in();
    resources_are_values_with_fields();
    kernels_take_definitions();
    programs_have_several_files();
    definitions_are_checked();
    state_comes_with_the_definition_or_the_call();
    commands_are_checked();
    passes_can_be_ordered();
    errors_name_the_lines_that_led_there();
    graphs_can_be_printed();
    generating_is_fast();
    fake_close(&launcher);
    unlink(path);
    rmdir(folder);
    return 0;
}
