// Preparing: everything that can be checked or computed before a run, so that a
// run compares no strings, converts no numbers and allocates nothing but the
// memory of resources.
#include "graph/model/model.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "graph/arena/arena.h"
#include "graph/arena/shelf.h"
#include "graph/model/compact.h"
#include "graph/order/fit.h"
#include "graph/order/order.h"
#include "graph/order/split.h"
#include "graph/perform/offload.h"

// What the builder calls when the graph changes. Flags fall, and what is made
// of the order of passes goes (the flow, sequences of a device). Arrays, packed
// arguments and weights stay, and are used again as far as they still hold
// (pass.packed, pass.weighed). In an open run nothing falls, since workers read
// it; what joins is prepared by itself (hdi_graph_prepare_more).
void hdi_graph_unprepare(struct hd_graph *graph)
{
    if (graph->open.is)
        return;
    hdi_graph_free_flow(graph);
    hdi_offload_forget(graph);
    graph->prepared = false;
    graph->was_open = false;
    graph->linked = false;
}

static hd_status no_memory(struct hd_error *error)
{
    return hdi_fail(error, HD_ENOMEM, "no memory to prepare the graph");
}

// Checked here, not when an output is named: the pass that writes it may come
// later.
static hd_status check_outputs(const struct hd_graph *graph,
                               struct hd_error *error)
{
    for (uint32_t i = 0; i < graph->outputs.count; i++) {
        const struct hdi_output *o = &graph->outputs.at[i];
        const struct hdi_resource *r = &graph->resources.at[o->resource];
        if (r->versions == 0 && !r->is_input)
            return hdi_fail(error, HD_EGRAPH,
                            "%s%soutput '%s' is resource '%s', which no pass "
                            "writes",
                            o->where, o->where[0] ? ": " : "", o->name,
                            r->name);
    }
    return HD_OK;
}

// Order -----------------------------------------------------------------------

// Called twice where memory is planned: that needs successors, and adds edges.
static hd_status list_successors(struct hd_graph *graph, struct hd_error *error)
{
    uint32_t passes = graph->passes.count, edges = graph->edges.count;

    if (!HDI_KEEP(graph, successors, edges + UINT64_C(1)) ||
        !HDI_KEEP(graph, first_successor, passes + UINT64_C(2)) ||
        !HDI_KEEP(graph, waits, passes + UINT64_C(1)) ||
        !hdi_graph_reduce(graph))
        return no_memory(error);
    // Of passes that have run before nothing leads on, and nobody looks.
    uint32_t from = hdi_graph_leads_forward(graph) ? graph->first : 0;
    memset(graph->first_successor + from, 0,
           (passes - from + (size_t)2) * sizeof(uint32_t));
    memset(graph->waits + from, 0,
           (passes - from + (size_t)1) * sizeof(uint32_t));

    // A counting sort: entry i + 1 counts, then is the next free place, and
    // ends as the place where the successors of pass i + 1 begin.
    uint32_t *first = graph->first_successor;
    graph->barriers = 0;
    for (uint32_t i = 0; i < edges; i++) {
        if (graph->edges.at[i].implied)
            continue;
        graph->barriers++;
        first[graph->edges.at[i].from + 2]++;
        graph->waits[graph->edges.at[i].to]++;
    }
    for (uint32_t i = from + 2; i < passes + 2; i++)
        first[i] += first[i - 1];
    for (uint32_t i = 0; i < edges; i++)
        if (!graph->edges.at[i].implied)
            graph->successors[first[graph->edges.at[i].from + 1]++] =
                graph->edges.at[i].to;
    return HD_OK;
}

static void print_pass(const struct hd_graph *graph, uint32_t index,
                       struct hdi_text *text)
{
    const struct hdi_pass *p = &graph->passes.at[index];
    hdi_text_print(text, "'%s'", p->name);
    if (p->where[0])
        hdi_text_print(text, " (%s)", p->where);
}

// Every pass with `left` waits has an edge from another such pass; going from
// one to the next against the edges must come round.
//
// `into` has room for an edge of each pass. After as many steps as there are
// passes the walk is on the cycle, wherever it began. Each pass is named with
// the one that it waits for, and the orders that the program stated on the way,
// since one of these has to go.
static hd_status fail_cycle(const struct hd_graph *graph, const uint32_t *left,
                            uint32_t *into, struct hd_error *error)
{
    uint32_t at = HDI_NONE;
    for (uint32_t i = 0; i < graph->edges.count; i++) {
        const struct hdi_edge *e = &graph->edges.at[i];
        if (left[e->from] && left[e->to]) {
            into[e->to] = i;
            at = e->to;
        }
    }
    for (uint32_t i = 0; i < graph->passes.count; i++)
        at = graph->edges.at[into[at]].from;

    struct hdi_text text = {0}, orders = {0};
    hdi_text_print(&text, "passes wait for each other: ");
    print_pass(graph, at, &text);
    uint32_t end = at;
    do {
        const struct hdi_edge *e = &graph->edges.at[into[at]];
        hdi_text_print(&text, " waits for ");
        print_pass(graph, e->from, &text);
        if (e->kind == HDI_EDGE_ORDER && graph->orders.at[e->order].where[0])
            hdi_text_print(&orders, "%s%s", orders.size ? ", " : "",
                           graph->orders.at[e->order].where);
        at = e->from;
    } while (at != end);
    hdi_text_print(&text, "; take away an explicit order");
    if (orders.size)
        hdi_text_print(&text, ": %s", orders.data);

    hd_status status =
        text.failed || orders.failed
            ? no_memory(error)
            : hdi_fail_text(error, HD_EGRAPH, text.data, text.size);
    hdi_text_free(&text);
    hdi_text_free(&orders);
    return status;
}

// Only stated orders can lead backwards, so most graphs are not looked at.
// Passes are taken away that wait for nothing: those on a cycle, and behind
// one, are left.
static hd_status check_cycles(const struct hd_graph *graph,
                              struct hd_error *error)
{
    if (hdi_graph_leads_forward(graph))
        return HD_OK;
    uint32_t passes = graph->passes.count;
    uint32_t *left = malloc((passes + (size_t)1) * 2 * sizeof(*left));
    if (!left)
        return no_memory(error);

    // `ready` is a stack of passes that wait for nothing any more.
    uint32_t *ready = left + passes + 1;
    uint32_t count = 0, done = 0;
    memcpy(left, graph->waits, passes * sizeof(*left));
    for (uint32_t i = 0; i < passes; i++)
        if (left[i] == 0)
            ready[count++] = i;
    while (count > 0) {
        uint32_t pass = ready[--count];
        done++;
        for (uint32_t i = graph->first_successor[pass];
             i < graph->first_successor[pass + 1]; i++)
            if (--left[graph->successors[i]] == 0)
                ready[count++] = graph->successors[i];
    }
    hd_status status =
        done == passes ? HD_OK : fail_cycle(graph, left, ready, error);
    free(left);
    return status;
}

// Kernels ---------------------------------------------------------------------

// `with` has a file on each line, which becomes a part behind `path`.
static hd_status create_program(const struct hd_graph *graph,
                                const struct hdi_kernel_use *use,
                                struct hd_program **program,
                                struct hd_error *error)
{
    struct hd_program_params params = {.path = use->path,
                                       .options = use->options};
    size_t most = strlen(use->with) + 2; // parts
    char *files = NULL;
    struct hd_program_part *parts = NULL;
    hd_status status;

    if (*use->with) {
        files = strdup(use->with);
        parts = calloc(most, sizeof(*parts));
        if (!files || !parts) {
            status = no_memory(error);
            goto end;
        }
        parts[params.part_count++].path = use->path;
        char *rest = files;
        for (char *file; (file = strsep(&rest, "\n"));)
            parts[params.part_count++].path = file;
        params.path = NULL;
        params.parts = parts;
    }
    status =
        hdi_program_create(&graph->context.programs, &params, program, error);
end:
    free(parts);
    free(files);
    return status;
}

// One program for each set of files and options, however many kernels are used
// of it; few enough to be searched one by one. It is looked for in this graph,
// then on the shelf, then it is built, or comes from the cache on disk.
static hd_status build_program(struct hd_graph *graph,
                               const struct hdi_kernel_use *use,
                               const struct hdi_pass *pass,
                               struct hd_program **program,
                               struct hd_error *error)
{
    for (uint32_t i = 0; i < graph->programs.count; i++) {
        const struct hdi_program_use *p = &graph->programs.at[i];
        if (strcmp(p->path, use->path) == 0 &&
            strcmp(p->options, use->options) == 0 &&
            strcmp(p->with, use->with) == 0) {
            *program = p->program;
            return HD_OK;
        }
    }
    if (!HDI_ROOM(graph->programs, 1))
        return no_memory(error);

    // Before it is read for the program: it may change between.
    uint64_t files =
        graph->context.shelf ? hdi_shelf_look(use->path, use->with) : 0;
    *program = graph->context.shelf
                   ? hdi_shelf_borrow(graph->context.shelf, use, files)
                   : NULL;
    hd_status status =
        *program ? HD_OK : create_program(graph, use, program, error);
    if (status != HD_OK) {
        hdi_prefix_error(error, "%s%spass '%s'",
                         HDI_PASS_OF(pass->where, pass->name));
        return status;
    }
    graph->programs.at[graph->programs.count++] =
        (struct hdi_program_use){.path = use->path,
                                 .options = use->options,
                                 .with = use->with,
                                 .program = *program,
                                 .files = files};
    return HD_OK;
}

static hd_status fail_no_kernel(const struct hdi_kernel_use *use,
                                const struct hdi_pass *pass,
                                const struct hd_program *program,
                                struct hd_error *error)
{
    struct hdi_text text = {0};
    unsigned count = hd_program_kernel_count(program);

    hdi_text_print(&text, HDI_PASS "%s%s no kernel '%s'; it has ",
                   HDI_PASS_OF(pass->where, pass->name), use->path,
                   *use->with ? ", with its other parts, has" : " has",
                   use->name);
    for (unsigned i = 0; i < count; i++)
        hdi_text_print(&text, "%s%s", i ? ", " : "",
                       hd_program_kernel(program, i)->info.name);
    if (count == 0)
        hdi_text_print(&text, "none");
    hd_status status =
        text.failed ? no_memory(error)
                    : hdi_fail_text(error, HD_EGRAPH, text.data, text.size);
    hdi_text_free(&text);
    return status;
}

// Sets use->kernel; kernels that were handed in have it already. Runs on the
// thread that prepares: building may take seconds.
static hd_status find_kernel(struct hd_graph *graph, uint32_t index,
                             const struct hdi_pass *pass,
                             struct hd_error *error)
{
    struct hdi_kernel_use *use = &graph->kernels.at[index];
    if (use->kernel)
        return HD_OK;

    struct hd_program *program;
    HDI_TRY(build_program(graph, use, pass, &program, error));
    use->kernel = hd_program_find(program, use->name);
    use->content = hdi_program_content(program);
    return use->kernel ? HD_OK : fail_no_kernel(use, pass, program, error);
}

// Arguments -------------------------------------------------------------------

// One argument of one dispatch of one pass, for messages.
struct place {
    const struct hdi_pass *pass;
    const struct hd_kernel *kernel;
    uint32_t index;
};

#define ARG HDI_PASS "kernel '%s', argument %u '%s' ('%s'): "
#define ARG_OF(place)                                       \
    HDI_PASS_OF((place)->pass->where, (place)->pass->name), \
        (place)->kernel->info.name, (place)->index + 1,     \
        (place)->kernel->args[(place)->index].shown.name,   \
        (place)->kernel->args[(place)->index].shown.type

// A place in packed_values is given out once for each argument, and is kept
// when it is packed again: `size` holds it, and 1. There is room: pack_args()
// has counted those that have none.
static hd_status pack_numbers(struct hd_graph *graph, const struct place *place,
                              struct hdi_argument *arg, struct hd_arg *packed,
                              struct hd_error *error)
{
    const struct hd_kernel_arg *shown =
        &place->kernel->args[place->index].shown;
    const struct hdi_type *type = hdi_type_of_argument(shown->type);
    if (!type)
        return hdi_fail(error, HD_EGRAPH,
                        ARG "numbers can only be given for scalars and "
                            "vectors; pass it as bytes from C",
                        ARG_OF(place));

    char problem[160];
    double numbers[16];
    uint64_t at = arg->size > 0 ? arg->size - 1 : graph->values_used;
    void *value = graph->packed_values + at;
    memcpy(numbers, graph->values.at + arg->index,
           arg->numbers * sizeof(double));
    if (hdi_type_convert(type, numbers, arg->numbers, value, problem) != HD_OK)
        return hdi_fail(error, HD_EGRAPH, ARG "%s", ARG_OF(place), problem);

    if (arg->size == 0) {
        arg->size = at + 1;
        graph->values_used += (uint32_t)hdi_round_up(type->size, 16);
    }
    *packed =
        (struct hd_arg){.is = HD_IS_VALUE, .value = value, .size = type->size};
    return HD_OK;
}

// The builder has checked that the pass has one.
static const struct hdi_access *access_of(const struct hd_graph *graph,
                                          const struct hdi_pass *pass,
                                          uint32_t resource)
{
    const struct hdi_access *a = graph->accesses.at + pass->accesses;

    while (a->resource != resource)
        a++;
    return a;
}

// A kernel that may write what the pass only reads would run beside other
// readers.
static hd_status check_resource(const struct hd_graph *graph,
                                const struct place *place, uint32_t resource,
                                struct hd_error *error)
{
    const struct hd_kernel_arg *shown =
        &place->kernel->args[place->index].shown;
    const struct hdi_resource *r = &graph->resources.at[resource];
    const struct hdi_type *wanted = hdi_type_of_argument(shown->type);

    if (wanted && wanted != r->type)
        return hdi_fail(error, HD_EGRAPH,
                        ARG "resource '%s' has elements of type '%s'",
                        ARG_OF(place), r->name, r->type->name);
    if (shown->kind == HD_ARG_GLOBAL && !shown->pointee_const &&
        !access_of(graph, place->pass, resource)->writes)
        return hdi_fail(error, HD_EGRAPH,
                        ARG "the kernel may write through it, but the pass "
                            "only reads resource '%s'; add it to what the pass "
                            "writes, or declare the argument const",
                        ARG_OF(place), r->name);
    return HD_OK;
}

static hd_status check_image(const struct hd_graph *graph,
                             const struct place *place, uint32_t resource,
                             struct hd_error *error)
{
    const struct hdi_resource *r = &graph->resources.at[resource];

    if (place->kernel->args[place->index].shown.pointee_const ||
        access_of(graph, place->pass, resource)->writes)
        return HD_OK;
    return hdi_fail(error, HD_EGRAPH,
                    ARG "the kernel may write it, but the pass only reads "
                        "resource '%s'; add it to what the pass writes, or "
                        "declare the argument read_only",
                    ARG_OF(place), r->name);
}

// What a kernel writes to append dispatches: it has its own type.
static bool takes_appends(const struct hd_kernel_arg *shown)
{
    return shown->kind == HD_ARG_GLOBAL &&
           strcmp(shown->type, "hd_appends*") == 0;
}

static const char *wanted_words(const struct hd_kernel_arg *shown)
{
    if (takes_appends(shown))
        return "what appends dispatches: HD_PASS_APPENDS, or appends() in Lua";
    switch (shown->kind) {
    case HD_ARG_VALUE:
        return "a number, a vector or bytes";
    case HD_ARG_GLOBAL:
    case HD_ARG_CONSTANT:
        return "a resource or scratch";
    case HD_ARG_LOCAL:
        return "local memory";
    case HD_ARG_IMAGE:
        return "an image: image(resource)";
    default:
        return "a sampler";
    }
}

static bool kind_fits(const struct hd_kernel_arg *shown, uint8_t is)
{
    if (is == HD_PASS_APPENDS || takes_appends(shown))
        return is == HD_PASS_APPENDS && takes_appends(shown);
    switch (shown->kind) {
    case HD_ARG_VALUE:
        return is == HD_PASS_NUMBERS || is == HD_PASS_BYTES;
    case HD_ARG_GLOBAL:
    case HD_ARG_CONSTANT:
        return is == HD_PASS_RESOURCE || is == HD_PASS_SCRATCH;
    case HD_ARG_LOCAL:
        return is == HD_PASS_LOCAL;
    case HD_ARG_IMAGE:
        return is == HD_PASS_IMAGE;
    default:
        return is == HD_PASS_SAMPLER;
    }
}

// Buffers and images are left empty: they are filled in when the pass runs, as
// memory is not there before.
static hd_status pack_arg(struct hd_graph *graph, const struct place *place,
                          struct hdi_argument *arg, struct hd_arg *packed,
                          struct hd_error *error)
{
    const struct hd_kernel_arg *shown =
        &place->kernel->args[place->index].shown;

    if (!kind_fits(shown, arg->is))
        return hdi_fail(error, HD_EGRAPH, ARG "it takes %s", ARG_OF(place),
                        wanted_words(shown));
    switch (arg->is) {
    case HD_PASS_NUMBERS:
        return pack_numbers(graph, place, arg, packed, error);
    case HD_PASS_BYTES:
        *packed = (struct hd_arg){.is = HD_IS_VALUE,
                                  .value = graph->values.at + arg->index,
                                  .size = arg->size};
        return HD_OK;
    case HD_PASS_RESOURCE:
        *packed = (struct hd_arg){.is = HD_IS_BUFFER};
        return check_resource(graph, place, arg->index, error);
    case HD_PASS_SCRATCH:
    case HD_PASS_APPENDS:
        *packed = (struct hd_arg){.is = HD_IS_BUFFER};
        return HD_OK;
    case HD_PASS_IMAGE:
        *packed = (struct hd_arg){.is = HD_IS_IMAGE};
        return check_image(graph, place, arg->index, error);
    case HD_PASS_SAMPLER:
        *packed = (struct hd_arg){.is = HD_IS_SAMPLER, .sampler = arg->index};
        return HD_OK;
    default:
        *packed = (struct hd_arg){.is = HD_IS_LOCAL, .size = arg->size};
        return HD_OK;
    }
}

// What the dispatch is thought to do goes to `*guess`; the other checks are
// made once here so that the launches of runs need not make them again. Those
// of images have to wait.
static hd_status pack_dispatch(struct hd_graph *graph,
                               const struct hdi_pass *pass,
                               const struct hdi_command *command,
                               struct hdi_guess *guess, struct hd_error *error)
{
    HDI_TRY(find_kernel(graph, command->kernel, pass, error));

    const struct hd_kernel *kernel = graph->kernels.at[command->kernel].kernel;
    struct hd_arg *packed = graph->packed + command->args;
    if (command->arg_count != kernel->info.arg_count)
        return hdi_fail(error, HD_EGRAPH,
                        HDI_PASS "kernel '%s' takes %u argument%s, not %u",
                        HDI_PASS_OF(pass->where, pass->name), kernel->info.name,
                        kernel->info.arg_count,
                        hdi_plural(kernel->info.arg_count, "s"),
                        command->arg_count);
    for (uint32_t i = 0; i < command->arg_count; i++) {
        struct place place = {.pass = pass, .kernel = kernel, .index = i};
        HDI_TRY(pack_arg(graph, &place, &graph->args.at[command->args + i],
                         &packed[i], error));
    }
    if (command->appended && kernel->info.form == HD_FORM_GRID)
        return hdi_fail(error, HD_ENOTSUP,
                        HDI_PASS "kernel '%s' is appended, but calls "
                                 "hd_grid_barrier(): its work-groups run "
                                 "together",
                        HDI_PASS_OF(pass->where, pass->name),
                        kernel->info.name);
    // Images are made when the pass runs, and looked at then.
    for (uint32_t i = 0; i < command->arg_count; i++)
        if (packed[i].is == HD_IS_IMAGE) {
            guess->steps = hdi_guess_steps(graph, command);
            return HD_OK;
        }
    hd_status status =
        hdi_launch_check(graph->context.launcher,
                         &(struct hdi_request){kernel, &command->range, packed,
                                               command->arg_count},
                         error);
    if (status != HD_OK)
        hdi_prefix_error(error, "%s%spass '%s'",
                         HDI_PASS_OF(pass->where, pass->name));
    return status == HD_OK
               ? hdi_graph_check_fit(graph, pass, command, guess, error)
               : status;
}

// Places of numbers too: packed_values is filled anew from the beginning.
void hdi_graph_forget_packed(struct hd_graph *graph)
{
    for (uint32_t i = 0; i < graph->passes.count; i++)
        graph->passes.at[i].packed = graph->passes.at[i].weighed = false;
    for (uint32_t i = 0; i < graph->args.count; i++)
        if (graph->args.at[i].is == HD_PASS_NUMBERS)
            graph->args.at[i].size = 0;
    graph->values_used = 0;
}

// What is done for each argument of dispatches of a pass.
static void for_args(struct hd_graph *graph, const struct hdi_pass *pass,
                     void (*function)(struct hd_graph *graph, uint32_t index,
                                      void *data),
                     void *data)
{
    for (uint32_t c = 0; c < pass->command_count; c++) {
        const struct hdi_command *command =
            &graph->commands.at[pass->commands + c];
        for (uint32_t k = 0;
             command->is == HD_DISPATCH && k < command->arg_count; k++)
            function(graph, command->args + k, data);
    }
}

// `data` counts in units of HDI_VALUE_SIZE, enough for any type: kernels, and
// so types, may not be known yet.
static void count_number(struct hd_graph *graph, uint32_t index, void *data)
{
    const struct hdi_argument *a = &graph->args.at[index];

    *(size_t *)data += a->is == HD_PASS_NUMBERS && a->size == 0;
}

static void rename_value(struct hd_graph *graph, uint32_t index, void *data)
{
    const struct hdi_argument *a = &graph->args.at[index];

    (void)data;
    if (a->is == HD_PASS_NUMBERS)
        graph->packed[index].value = graph->packed_values + a->size - 1;
    else if (a->is == HD_PASS_BYTES)
        graph->packed[index].value = graph->values.at + a->index;
}

// What is packed already names values, which may have moved.
//
// They are named by address, which launches want; arrays that grew have moved.
static void follow_values(struct hd_graph *graph)
{
    if (graph->packed_at == graph->packed_values &&
        graph->values_at == graph->values.at)
        return;
    for (uint32_t i = 0; i < graph->passes.count; i++)
        if (graph->passes.at[i].packed)
            for_args(graph, &graph->passes.at[i], rename_value, NULL);
    graph->packed_at = graph->packed_values;
    graph->values_at = graph->values.at;
}

// pass->bytes stays 0 unless all commands are dispatches whose footprints are
// known; pass->steps unless those of all dispatches are.
static hd_status pack_pass(struct hd_graph *graph, struct hdi_pass *pass,
                           struct hd_error *error)
{
    bool touched = true, counted = true;

    uint64_t steps = 0;

    pass->bytes = 0;
    for (uint32_t c = 0; c < pass->command_count; c++) {
        const struct hdi_command *command =
            &graph->commands.at[pass->commands + c];
        bool is_dispatch = command->is == HD_DISPATCH;
        struct hdi_guess guess = {0, 0};
        if (is_dispatch)
            HDI_TRY(pack_dispatch(graph, pass, command, &guess, error));
        touched = touched && guess.bytes > 0 && !command->appended;
        counted = counted && (!is_dispatch || guess.steps > 0);
        pass->bytes += guess.bytes;
        steps += guess.steps;
    }
    if (!touched)
        pass->bytes = 0;
    hdi_graph_rescale(graph, pass, counted ? steps : 0);
    pass->packed = true;
    graph->checked++;
    return HD_OK;
}

// Of the passes from one on, those that are not packed.
//
// Room first, so that nothing moves while it is filled.
static hd_status pack_args(struct hd_graph *graph, uint32_t from,
                           struct hd_error *error)
{
    size_t numbers =
        (graph->values_used + HDI_VALUE_SIZE - (size_t)1) / HDI_VALUE_SIZE;

    for (uint32_t i = from; i < graph->passes.count; i++)
        if (!graph->passes.at[i].packed)
            for_args(graph, &graph->passes.at[i], count_number, &numbers);
    if (!HDI_KEEP(graph, packed, graph->args.count + UINT64_C(1)) ||
        !hdi_graph_room((void **)&graph->packed_values,
                        &graph->rooms.packed_values, numbers + UINT64_C(1),
                        HDI_VALUE_SIZE))
        return hdi_graph_no_room(graph, error);

    follow_values(graph);
    for (uint32_t i = from; i < graph->passes.count; i++) {
        struct hdi_pass *pass = &graph->passes.at[i];
        if (!pass->dropped && !pass->packed)
            HDI_TRY(pack_pass(graph, pass, error));
    }
    return HD_OK;
}

// One more than passes in each array, so that none is of size 0.
static hd_status make_weights(struct hd_graph *graph, struct hd_error *error)
{
    struct hdi_trace *trace = graph->context.launcher->trace;
    uint64_t n = graph->passes.count + UINT64_C(1);

    if (!HDI_KEEP(graph, weights, n) ||
        (graph->context.feedback && !HDI_KEEP(graph, keys, n)) ||
        !hdi_graph_weigh(graph))
        return no_memory(error);
    for (uint32_t i = graph->first; trace && i < graph->passes.count; i++)
        graph->passes.at[i].trace_name =
            hdi_trace_name(trace, graph->passes.at[i].name);
    return HD_OK;
}

// What was told so far, if the next run goes on from there. The clock of a run
// that grows goes on too.
static void go_on(struct hd_graph *graph)
{
    graph->earlier = (struct hd_graph_statistics){0};
    if (graph->first == 0)
        return;
    graph->earlier = graph->ended;
    graph->took = 0;
    if (graph->params.grow)
        graph->earlier.makespan = 0;
}

// The order matters: edges before memory, which adds some; kernels are built
// with the arguments; weights need both.
//
//     link ---> successors ---> cycles ---> arena ---> pack ---> weigh
//     edges     both ways      stated      memory,    kernels,  costs, parts,
//     slots     of edges       orders      edges      checks    batches, ranks
static hd_status prepare(struct hd_graph *graph, struct hd_error *error)
{
    HDI_TRY(check_outputs(graph, error));
    graph->checked = 0;
    graph->first = graph->done;
    go_on(graph);
    if (!hdi_graph_link(graph))
        return no_memory(error);
    HDI_TRY(list_successors(graph, error));
    HDI_TRY(check_cycles(graph, error));
    bool planned;
    HDI_TRY(hdi_arena_plan(graph, &planned, error));
    if (planned)
        HDI_TRY(list_successors(graph, error));
    HDI_TRY(pack_args(graph, graph->first, error));
    return make_weights(graph, error);
}

// A pass that may have begun cannot wait for a new one any more.
static hd_status check_order(const struct hd_graph *graph,
                             const struct hdi_stated_order *order,
                             struct hd_error *error)
{
    const struct hdi_pass *from = &graph->passes.at[order->from],
                          *to = &graph->passes.at[order->to];

    if (order->to >= graph->open.passes && order->from < order->to)
        return HD_OK;
    return hdi_fail(error, HD_EGRAPH,
                    "%s%spass '%s' cannot come before pass '%s', which %s: in "
                    "an open run, order leads from passes to later ones",
                    order->where, order->where[0] ? ": " : "", from->name,
                    to->name,
                    order->to < graph->open.passes ? "may have begun"
                                                   : "was added before it");
}

// What may fail for other reasons than memory comes before packing. On failure
// nothing has joined; the caller ends the run.
hd_status hdi_graph_prepare_more(struct hd_graph *graph, struct hd_error *error)
{
    struct hdi_trace *trace = graph->context.launcher->trace;
    uint32_t from = graph->open.passes;
    uint64_t n = graph->passes.count + UINT64_C(1);

    HDI_TRY(check_outputs(graph, error));
    for (uint32_t i = graph->open.orders; i < graph->orders.count; i++)
        HDI_TRY(check_order(graph, &graph->orders.at[i], error));
    for (uint32_t i = from; i < graph->passes.count; i++)
        if (graph->passes.at[i].agile && graph->keeping.folder)
            return hdi_fail(error, HD_ENOTSUP,
                            HDI_PASS
                            "it uses a field, of which checkpoints are "
                            "kept: it cannot join an open run",
                            HDI_PASS_OF(graph->passes.at[i].where,
                                        graph->passes.at[i].name));
    if (!HDI_KEEP(graph, weights, n) || !HDI_KEEP(graph, tasks, n) ||
        !HDI_KEEP(graph, rank, n) || !HDI_KEEP(graph, ready, n) ||
        (graph->context.feedback && !HDI_KEEP(graph, keys, n)))
        return hdi_graph_no_room(graph, error);
    HDI_TRY(pack_args(graph, from, error));
    hdi_graph_weigh_more(graph);
    for (uint32_t i = from; trace && i < graph->passes.count; i++)
        graph->passes.at[i].trace_name =
            hdi_trace_name(trace, graph->passes.at[i].name);
    return HD_OK;
}

// Done already: nothing. After a failure the graph is as the builder left it,
// but for programs that were built, which stay.
hd_status hd_graph_prepare(struct hd_graph *graph, struct hd_error *error)
{
    if (!graph)
        return hdi_fail(error, HD_EINVAL, "hd_graph_prepare() takes a graph");
    hd_status status = graph->calls ? hdi_compact_prepare(graph, error) : HD_OK;
    if (status == HD_OK && graph->prepared)
        return HD_OK;
    if (status == HD_OK && !graph->calls)
        status = prepare(graph, error);
    if (status != HD_OK) {
        hdi_graph_unprepare(graph);
        return status;
    }
    graph->prepared = true;
    return HD_OK;
}
