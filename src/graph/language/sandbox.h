// A Lua state that cannot reach out and cannot go on for ever.
//
// A script gets an environment of its own with math, table, a little of string
// and a hand-picked base: nothing that catches an error, loads code, matches
// patterns, sets metatables or makes coroutines. So the error that ends a
// script cannot be caught by it.
#ifndef HDI_GRAPH_LANGUAGE_SANDBOX_H
#define HDI_GRAPH_LANGUAGE_SANDBOX_H

#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heddle/status.h"

// One script on one thread. Owned by the caller; the state names it, hence it
// must not move. `raised` is HD_EPROGRAM unless one of our functions gave
// another status.
struct hdi_sandbox {
    lua_State *lua;
    const char *path;             // of the script, in messages
    void *owner;                  // for the functions that the owner adds
    uint64_t memory, max_memory;  // [bytes]
    uint64_t steps, max_steps;    // Lua instructions, and work charged as such
    uint64_t max_time;            // of the thread's processor [ns]
    uint64_t start;               // [ns]
    uint32_t interval;            // instructions between two looks
    uint32_t calls;               // of functions that look at the time
    hd_status raised;             // by hdi_sandbox_fail()
    bool over_memory, over_steps; // why there was none
    bool ending;      // the script is over: its message may have memory
    bool load_memory; // the text took more than there was
};

// Make the state. The sandbox must not move while it is open.
hd_status hdi_sandbox_open(struct hdi_sandbox *sandbox, const char *path,
                           uint64_t max_memory, uint64_t max_steps,
                           struct hd_error *error);
void hdi_sandbox_close(struct hdi_sandbox *sandbox);

// Call `start` with the environment at the top of the stack, run a text in it,
// then call `end`; both may fail like any function of the script. HD_EPROGRAM,
// HD_ELIMIT, HD_ENOMEM, or what hdi_sandbox_fail() gave.
hd_status hdi_sandbox_run(struct hdi_sandbox *sandbox,
                          void (*start)(lua_State *lua), const char *text,
                          size_t size, lua_CFunction end,
                          struct hd_error *error);

static inline struct hdi_sandbox *hdi_sandbox_of(lua_State *lua)
{
    return *(struct hdi_sandbox **)lua_getextraspace(lua);
}

// From a function the script called: count work done in C as instructions. Does
// not return when the budget is used up.
void hdi_sandbox_charge(lua_State *lua, uint64_t steps);

// The clock of `start` and `max_time`: the time of this thread's processor
// [ns].
uint64_t hdi_sandbox_clock(void);

// Line of the script that is running, 0 when there is none.
int hdi_sandbox_line(lua_State *lua);

// End the script with an error at the line it is in. Formats are those of
// lua_pushfstring(). Does not return.
int hdi_sandbox_fail(lua_State *lua, hd_status status, const char *format, ...);

// The same for a text that already names the line.
int hdi_sandbox_raise(lua_State *lua, hd_status status, const char *text);

// Push a text for any value that is the same in every run: no addresses.
const char *hdi_sandbox_text(lua_State *lua, int index, size_t *size);

#endif
