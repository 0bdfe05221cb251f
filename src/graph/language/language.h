// The graph language: what a graph program can call. language.c has what may be
// called anywhere (inputs, resources, order), setting_words.c settings,
// kernel_words.c kernels, commands.c dispatch and the stream form,
// field_words.c fields, transfer_words.c the other commands, definition.c the
// definition form, views.c images and samplers, values.c results, start_words.c
// runs that go on while the program does.
#ifndef HDI_GRAPH_LANGUAGE_LANGUAGE_H
#define HDI_GRAPH_LANGUAGE_LANGUAGE_H

#include "graph/language/sandbox.h"
#include "graph/model/model.h"

// A program is run once, and builds one graph; each function of the language
// checks its arguments, calls the builder (heddle/graph.h) as a C program
// would, and ends the program with its error. Errors leave through Lua
// (longjmp): no function that can fail may hold memory of its own, which is why
// all that is kept lies in Lua, in the graph or in struct hdi_language.
//
//     hdi_graph_generate()              generate.c
//       sandbox open, run               sandbox.c
//         hdi_language_start()          adds the functions
//         the program                   setting, input, pass, dispatch, ...
//         hdi_language_end()            what was asked for, and not used
//       hdi_language_finish()           the run of start() ends

// Values of a program that it cannot look into or forge.
#define HDI_RESOURCE "resource"
#define HDI_KERNEL   "kernel"
#define HDI_PASSDEF  "pass definition"
#define HDI_PASSED   "pass"
#define HDI_LOCAL    "local memory"
#define HDI_SCRATCH  "scratch memory"
#define HDI_APPENDS  "what appends dispatches"
#define HDI_PICTURE  "image"
#define HDI_SAMPLER  "sampler"

// Each is the contents of a userdata whose metatable is named by its kind;
// luaL_testudata() tells them apart. A program gets no way to make one.
struct hdi_lua_resource {
    hd_resource resource;
};

struct hdi_lua_kernel {
    const char *path, *name, *options, *with; // strings of the graph
};

struct hdi_lua_pass {
    hd_pass pass;
};

struct hdi_lua_local {
    uint64_t size; // [bytes]
};

// Scratch of another pass is refused by `pass`, since `index` would name other
// memory there.
struct hdi_lua_scratch {
    uint32_t index;
    uint32_t pass; // it belongs to: the graph's pass count when it was made
    const char *type;
    uint64_t extent[3];
};

struct hdi_lua_image {
    hd_resource resource;
    enum hd_channel_order order; // 0: as the type of the elements says
    enum hd_channel_type type;
};

struct hdi_lua_sampler {
    uint32_t bits;
};

// What a pass does with a resource.
enum hdi_resource_use {
    HDI_USE_READ,
    HDI_USE_WRITE,
    HDI_USE_OVERWRITE
};

// The pass or block of commands being put together.
//
// It is cleared when it becomes a pass; its arrays stay for the next one.
// Arrays may move while it grows, so commands and arguments hold indices until
// then (hdi_block_pass).
struct hdi_command_block {
    bool inside_run; // of a definition, not of the stream
    enum hd_priority priority;
    const char *device;     // NULL: any
    const char *pass_class; // NULL: none
    bool keep;
    unsigned append_most;
    HDI_ARRAY(hd_resource) reads;
    HDI_ARRAY(hd_resource) writes;
    HDI_ARRAY(hd_resource) overwrites;
    HDI_ARRAY(struct hd_command) commands;
    HDI_ARRAY(uint32_t)
    first_args;                         // of each command; of a fill: into
                                        // numbers
    HDI_ARRAY(struct hd_pass_arg) args; // `size` of numbers: index of the first
    HDI_ARRAY(double) numbers;
    HDI_ARRAY(uint64_t) scratch;
};

// In the stream form, statements follow each other without a pass around them;
// commands are counted, or a rule is asked, to find where a block ends:
//
//     read dispatch | read fill dispatch | ...       block of 1, then 2
//     read dispatch write | read dispatch write       of 1, trailing writes
struct hdi_stream {
    uint32_t commands; // of one block; 0: a function at `rule` decides
    int rule;          // reference in the registry
    int state;         // reference in the registry: the kernel that is set
    bool trailing;     // a block takes the statements behind it too
    bool full;         // it has its commands and waits for trailing ones
    bool asking;       // the rule: nothing may be added meanwhile
    int line;          // of the block's last command, or first statement
    hd_pass last;      // that a block has become; 0: none has
};

// Lives during one call of hdi_graph_generate(), on its stack; the sandbox
// names it as its owner. The graph outlives it, unless there is an error.
struct hdi_language {
    struct hd_graph *graph;
    const struct hd_graph_program *program;
    const char *folder;  // of the program, "" or with a '/' at the end
    hd_resource *inputs; // one per input handed in; 0: not asked for yet
    bool *settings;      // one per setting given: asked for
    struct hdi_command_block block;
    struct hdi_stream stream;
    hd_event run; // of start(); 0: there is none
};

static inline struct hdi_language *hdi_language_of(lua_State *lua)
{
    return hdi_sandbox_of(lua)->owner;
}

// Add the functions to the table at the top of the stack.
void hdi_language_start(lua_State *lua);
void hdi_settings_add(lua_State *lua);
void hdi_kernels_add(lua_State *lua);
void hdi_commands_add(lua_State *lua);
void hdi_fields_add(lua_State *lua);
void hdi_transfers_add(lua_State *lua);
void hdi_starts_add(lua_State *lua);
void hdi_values_add(lua_State *lua);
void hdi_views_add(lua_State *lua);

// A pass was added: it joins the run of start(), if there is one.
void hdi_language_extend(lua_State *lua);

// The program is over: end the run of start(), if there is one. With a status
// that is none of success it is cancelled.
hd_status hdi_language_finish(struct hdi_language *language, hd_status status,
                              struct hd_error *error);

// Checks at the end of the program.
int hdi_language_end(lua_State *lua);
void hdi_settings_end(lua_State *lua);
void hdi_commands_end(lua_State *lua);

void hdi_block_free(struct hdi_command_block *block);

// The block becomes a pass of the graph and is empty again.
hd_pass hdi_block_pass(lua_State *lua, const char *name, const char *where);
void hdi_block_resource(lua_State *lua, enum hdi_resource_use use,
                        hd_resource resource);

// dispatch([kernel,] {arguments}, {global =, group =, offset =})
int hdi_commands_dispatch(lua_State *lua);

// A resource of what a field holds, in every process; of any other, itself.
hd_resource hdi_fields_gather(lua_State *lua, hd_resource from);

// An error inside the `run` of a definition, and inside the rule of a block.
void hdi_block_outside(lua_State *lua, const char *function);

// A statement that begins the next block, if the block before waits for
// trailing ones.
void hdi_stream_statement(lua_State *lua);

// The block of the stream, if it has commands, becomes a pass.
void hdi_stream_end(lua_State *lua);

// Begin a command, zeroed; give it the numbers at `index` as its pattern; end
// it, which pushes the pass when its block is complete and returns how many
// values that are.
struct hd_command *hdi_command_add(lua_State *lua);
void hdi_command_pattern(lua_State *lua, int index, struct hd_command *command);
int hdi_command_end(lua_State *lua);

// pass {name =, read =, write =, state =, run =}, and calling what it returns.
int hdi_definition_make(lua_State *lua);
int hdi_definition_call(lua_State *lua);
int hdi_definition_limit(lua_State *lua);

// Push a value of one of the kinds above.
void *hdi_language_push(lua_State *lua, const char *kind, size_t size);

// The value at `index` if it is of that kind, else NULL.
void *hdi_language_value(lua_State *lua, int index, const char *kind);

// "a number", "nothing", "a resource": for messages. May push a value.
const char *hdi_language_kind(lua_State *lua, int index);

// "planet.lua:12" for where the script is.
const char *hdi_language_where(lua_State *lua, char *where, size_t size);

// End the script with an error of the builder, or when the graph has taken more
// memory than the script may.
void hdi_language_check(lua_State *lua, hd_status status,
                        const struct hd_error *error);

// The name at `index`, that `function` takes.
const char *hdi_language_name(lua_State *lua, int index, const char *function);

// A name was asked for: keep it in this table of the registry. All of them, for
// messages.
void hdi_language_remember(lua_State *lua, const char *table, const char *name);
const char *hdi_language_known(lua_State *lua, const char *table);

// The whole number at `index`; `what` and its `field` are named in the error.
uint64_t hdi_language_whole(lua_State *lua, int index, const char *what,
                            const char *field, lua_Integer least,
                            lua_Integer most);

// Read 1 to 3 whole numbers from 1 to 2^48 at `index` and behind it.
unsigned hdi_language_extents(lua_State *lua, int index, const char *what,
                              uint64_t extent[3]);

#endif
