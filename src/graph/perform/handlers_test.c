// Signal handlers that the application installs while a graph runs, and between
// runs, do not get the faults of kernels.
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "heddle/heddle.h"
#include "tests/check.h"

static struct hd_runtime *runtime;
static struct hd_program *program;
static struct hd_error error;

static const char source[] =
    "kernel void fine(global int *a) { a[1] = 1; }\n"
    "kernel void strays(global int *a) { a[(size_t)a[1] << 40] = 1; }\n";

static void get_signal(int number, siginfo_t *info, void *context)
{
    static const char text[] = "the application got the fault of a kernel\n";

    (void)number, (void)info, (void)context;
    ssize_t written = write(2, text, sizeof(text) - 1);
    _exit(written > 0 ? 1 : 2);
}

static hd_status install(void *data, struct hd_error *why)
{
    const struct sigaction mine = {.sa_sigaction = get_signal,
                                   .sa_flags = SA_SIGINFO};

    (void)data, (void)why;
    CHECK(sigaction(SIGSEGV, &mine, NULL) == 0);
    return HD_OK;
}

static void add(struct hd_graph *graph, hd_resource resource,
                const struct hd_command *command)
{
    const struct hd_pass_params params = {.name = "pass",
                                          .writes = &resource,
                                          .write_count = 1,
                                          .commands = command,
                                          .command_count = 1};
    hd_pass pass;

    CHECK_OK(hd_graph_pass(graph, &params, &pass, &error), error);
}

static void add_kernel(struct hd_graph *graph, hd_resource resource,
                       const char *name)
{
    const struct hd_pass_arg arg = {.is = HD_PASS_RESOURCE,
                                    .resource = resource};

    add(graph, resource,
        &(struct hd_command){
            .is = HD_DISPATCH,
            .kernel = {.kernel = hd_program_find(program, name)},
            .range = {.dims = 1, .global = {1}},
            .args = &arg,
            .arg_count = 1});
}

static struct hd_graph *make(bool by_a_pass, bool strays)
{
    const struct hd_shape shape = {.type = "int", .axes = 1, .extent = {64}};
    struct hd_graph *graph;
    hd_resource r;

    CHECK_OK(hd_graph_create(runtime, &graph, &error), error);
    CHECK_OK(hd_graph_resource(graph, "r", &shape, NULL, &r, &error), error);
    add(graph, r, &(struct hd_command){.is = HD_CLEAR, .to = r});
    for (int i = 0; i < 3; i++)
        add_kernel(graph, r, "fine");
    if (by_a_pass)
        add(graph, r, &(struct hd_command){.is = HD_CALL, .call = install});
    if (strays)
        add_kernel(graph, r, "strays");
    return graph;
}

int main(void)
{
    const struct hd_runtime_params params = {.device = "cpu", .workers = 1};
    const struct hd_program_params kernels = {.source = source};

    CHECK_OK(hd_runtime_create(&params, &runtime, &error), error);
    hd_status status = hd_program_create(runtime, &kernels, &program, &error);
    SKIP_UNBUILT(status, error);
    CHECK_OK(status, error);
    struct hd_graph *fine = make(false, false);
    for (int by_a_pass = 0; by_a_pass < 2; by_a_pass++) {
        struct hd_graph *graph = make(by_a_pass, true);
        for (int i = 0; i < 3; i++) {
            // Handlers have been looked at just before.
            CHECK_OK(hd_graph_run(fine, NULL, &error), error);
            if (!by_a_pass)
                install(NULL, NULL);
            CHECK_FAILS(hd_graph_run(graph, NULL, &error), HD_EFAULT, error,
                        "strays");
        }
        hd_graph_destroy(graph);
    }
    hd_graph_destroy(fine);
    hd_program_destroy(program);
    hd_runtime_destroy(runtime);
    return 0;
}
