// start([room]): what has been built begins to run while the program goes on.
// Each pass that it adds from then on joins the run, and values() waits for
// what the resource needs alone. The run ends after the program.
#include "base/error.h"
#include "graph/language/language.h"

static unsigned check_room(lua_State *lua)
{
    int whole = 0;
    lua_Integer room = lua_tointegerx(lua, 1, &whole);

    if (lua_isnoneornil(lua, 1))
        return 0;
    if (lua_type(lua, 1) != LUA_TNUMBER || !whole || room < 1 ||
        room > UINT32_MAX)
        hdi_sandbox_fail(lua, HD_EPROGRAM,
                         "start takes for how many passes there is to be room, "
                         "a whole number from 1 on, not %s",
                         hdi_sandbox_text(lua, 1, NULL));
    return (unsigned)room;
}

// Nothing of the program stops here: the run goes on beside it. From now on
// arrays of the graph have the room that was asked for, and no more
// (run/extend.c).
static int start(lua_State *lua)
{
    struct hdi_language *l = hdi_language_of(lua);
    struct hd_error error;

    hdi_block_outside(lua, "start");
    lua_settop(lua, 1);
    const struct hd_graph_run_params params = {.open = true,
                                               .room = check_room(lua)};
    if (l->run != 0)
        return hdi_sandbox_fail(lua, HD_EPROGRAM,
                                "start: the passes run already; what is added "
                                "joins them");
    hdi_stream_end(lua);
    // What preparing takes, kernels that are built too, is not the program's.
    uint64_t begin = hdi_sandbox_clock();
    hd_status status = hd_graph_start(l->graph, NULL, &params, &l->run, &error);
    hdi_sandbox_of(lua)->start += hdi_sandbox_clock() - begin;
    hdi_language_check(lua, status, &error);
    return 0;
}

// Each pass joins as soon as it is added, so that it may run while the program
// makes the next one.
void hdi_language_extend(lua_State *lua)
{
    struct hdi_language *l = hdi_language_of(lua);
    struct hd_error error;

    if (l->run == 0)
        return;
    uint64_t begin = hdi_sandbox_clock();
    hd_status status = hd_graph_extend(l->graph, &error);
    hdi_sandbox_of(lua)->start += hdi_sandbox_clock() - begin;
    hdi_language_check(lua, status, &error);
}

// What failed first is what is told.
//
// The run has to end even after an error of the program: workers use the graph.
// A failure of the run that comes after an error of the program follows from
// it, as a rule.
hd_status hdi_language_finish(struct hdi_language *l, hd_status status,
                              struct hd_error *error)
{
    struct hd_pool *pool = l->graph->context.launcher->pool;
    struct hd_error why;

    if (l->run == 0)
        return status;
    if (status != HD_OK)
        hd_graph_cancel(l->graph);
    hd_graph_close(l->graph, &why); // its failure is the run's
    hd_event_wait(pool, &l->run, 1, HD_FOREVER, NULL);
    hd_status ended = hd_event_status(pool, l->run, &why);
    hd_event_release(pool, l->run);
    l->run = 0;
    if (status != HD_OK)
        return status;
    if (ended != HD_OK) {
        *error = why;
        return ended;
    }
    // All has run; a run of the graph runs what is added.
    l->graph->done = l->graph->passes.count;
    return HD_OK;
}

void hdi_starts_add(lua_State *lua)
{
    static const luaL_Reg functions[] = {{"start", start}, {NULL, NULL}};

    luaL_setfuncs(lua, functions, 0);
}
