// Passes that call functions of the program.
#include <stdatomic.h>
#include <string.h>

#include "heddle/heddle.h"
#include "tests/check.h"

static struct hd_runtime *runtime;
static struct hd_error error;

struct step {
    struct step *before; // must have run
    atomic_int runs;
};

static hd_status run_step(void *data, struct hd_error *failure)
{
    struct step *step = data;

    (void)failure;
    if (step->before)
        CHECK(atomic_load(&step->before->runs) == atomic_load(&step->runs) + 1);
    atomic_fetch_add(&step->runs, 1);
    return HD_OK;
}

static hd_status fail_step(void *data, struct hd_error *failure)
{
    (void)data;
    failure->status = HD_EIO;
    snprintf(failure->text, sizeof(failure->text), "the disk is full");
    return HD_EIO;
}

static hd_status fail_silently(void *data, struct hd_error *failure)
{
    (void)data, (void)failure;
    return HD_EIO;
}

static hd_pass add_call(struct hd_graph *graph,
                        hd_status (*call)(void *data, struct hd_error *failure),
                        void *data)
{
    const struct hd_command command = {
        .is = HD_CALL, .call = call, .data = data};
    const struct hd_pass_params params = {.name = "call",
                                          .where = "g.c:7",
                                          .commands = &command,
                                          .command_count = 1};
    hd_pass pass;

    CHECK_OK(hd_graph_pass(graph, &params, &pass, &error), error);
    return pass;
}

static struct hd_graph *create(void)
{
    struct hd_graph *graph;

    CHECK_OK(hd_graph_create(runtime, &graph, &error), error);
    return graph;
}

static void calls_come_in_order_in_every_run(void)
{
    enum {
        STEPS = 100
    };
    static struct step steps[STEPS];
    struct hd_graph *graph = create();

    for (int i = 0; i < STEPS; i++) {
        steps[i].before = i > 0 ? &steps[i - 1] : NULL;
        hd_pass pass = add_call(graph, run_step, &steps[i]);
        if (i > 0)
            CHECK_OK(hd_graph_order(graph, pass - 1, pass, NULL, &error),
                     error);
    }
    for (int run = 1; run <= 3; run++) {
        CHECK_OK(hd_graph_run(graph, NULL, &error), error);
        for (int i = 0; i < STEPS; i++)
            CHECK(atomic_load(&steps[i].runs) == run);
    }
    hd_graph_destroy(graph);
}

static void a_call_that_fails_ends_the_run(void)
{
    static struct step after;
    struct hd_graph *graph = create();

    hd_pass failing = add_call(graph, fail_step, NULL);
    hd_pass next = add_call(graph, run_step, &after);
    CHECK_OK(hd_graph_order(graph, failing, next, NULL, &error), error);
    CHECK_FAILS(hd_graph_run(graph, NULL, &error), HD_EIO, error,
                "g.c:7: pass 'call': the disk is full");
    CHECK(atomic_load(&after.runs) == 0);
    hd_graph_destroy(graph);
}

// What the status says is the text then, of ordinary graphs and of many calls.
static void a_call_that_fails_without_a_word_is_told_all_the_same(void)
{
    for (int others = 0; others <= 500; others += 500) {
        static struct step steps[500];
        struct hd_graph *graph = create();

        add_call(graph, fail_silently, NULL);
        for (int i = 0; i < others; i++)
            add_call(graph, run_step, &steps[i]);
        CHECK_FAILS(hd_graph_run(graph, NULL, &error), HD_EIO, error,
                    hd_status_text(HD_EIO));
        CHECK(strstr(error.text, "g.c:7: pass 'call': "));
        hd_graph_destroy(graph);
    }
}

static void a_call_of_nothing_is_refused(void)
{
    struct hd_graph *graph = create();
    const struct hd_command command = {.is = HD_CALL};
    const struct hd_pass_params params = {
        .name = "call", .commands = &command, .command_count = 1};
    hd_pass pass;

    CHECK_FAILS(hd_graph_pass(graph, &params, &pass, &error), HD_EINVAL, error,
                "it calls no function");
    hd_graph_destroy(graph);
}

int main(void)
{
    const struct hd_runtime_params params = {
        .workers = 2, .device = "cpu", .no_cache = true};

    CHECK_OK(hd_runtime_create(&params, &runtime, &error), error);
    calls_come_in_order_in_every_run();
    a_call_that_fails_ends_the_run();
    a_call_that_fails_without_a_word_is_told_all_the_same();
    a_call_of_nothing_is_refused();
    hd_runtime_destroy(runtime);
    return 0;
}
