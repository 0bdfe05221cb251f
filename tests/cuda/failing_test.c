// Each call of the driver fails in turn: the program gets a clear error or goes
// on without, nothing is left, nothing hangs, and the CPU carries on.
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "heddle/heddle.h"
#include "tests/check.h"
#include "tests/cuda/fake.h"

enum {
    N = 200,
    SECONDS = 60, // after which a process hangs
    TRIES = 400   // at most, of very many calls
};

static const char source[] =
    "kernel void count(global int *x, int by) {\n"
    "    x[get_global_id(0)] += by * (int)get_global_id(0);\n"
    "    if (get_global_id(0) == 7) printf(\"seven\\n\");\n"
    "}\n";

static void keep(void *data, const char *text, size_t size)
{
    (void)text;
    *(size_t *)data += size;
}

static hd_status launch(struct hd_runtime *runtime, struct hd_program *program,
                        struct hd_buffer *buffer, struct hd_error *error)
{
    static int seen[N];
    int by = 3;
    const struct hd_arg args[] = {HD_BUFFER(buffer), HD_VALUE(by)};
    const struct hd_range range = {.dims = 1, .global = {N}, .local = {50}};

    for (int round = 0; round < 2; round++) {
        hd_status status = hd_launch(runtime, hd_program_find(program, "count"),
                                     &range, args, 2, error);
        if (status != HD_OK)
            return status;
    }
    hd_status status = hd_buffer_read(buffer, 0, seen, sizeof(seen), error);
    for (int i = 0; i < N && status == HD_OK; i++)
        CHECK(seen[i] == 6 * i);
    return status;
}

// Everything once, on one device. A failure has a text.
static hd_status use(const char *device)
{
    size_t printed = 0;
    const struct hd_runtime_params params = {
        .device = device, .workers = 2, .print = keep, .print_data = &printed};
    const struct hd_program_params program_params = {.path = "count.cl",
                                                     .source = source};
    struct hd_runtime *runtime;
    struct hd_program *program;
    struct hd_buffer *buffer;
    struct hd_error error = {0};

    hd_status status = hd_runtime_create(&params, &runtime, &error);
    if (status == HD_OK) {
        status = hd_program_create(runtime, &program_params, &program, &error);
        if (status == HD_OK) {
            status = hd_buffer_create(runtime, N * 4, &buffer, &error);
            if (status == HD_OK) {
                status = launch(runtime, program, buffer, &error);
                hd_buffer_destroy(buffer);
            }
            hd_program_destroy(program);
        }
        hd_runtime_destroy(runtime);
    }
    CHECK(status == HD_OK || error.text[0] != '\0');
    return status;
}

// In a process of its own, as the driver is opened once. Returns the number of
// calls that were made.
static uint64_t try_without(uint64_t call, bool *failed)
{
    int ends[2], state;
    uint64_t calls = 0;
    const struct fake_cuda *fake = fake_cuda();

    CHECK(pipe(ends) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(SECONDS);
        fake->fail_at(call);
        hd_status status = use("gpu");
        calls = fake->calls();
        fake->fail_at(0);
        const char *report = fake->report();
        if (*report)
            fprintf(stderr, "call %llu failed: %s", (unsigned long long)call,
                    report);
        CHECK(*report == '\0');
        CHECK(use("cpu") == HD_OK);
        CHECK(write(ends[1], &calls, sizeof(calls)) == sizeof(calls));
        _exit(status == HD_OK ? 0 : 3);
    }
    close(ends[1]);
    bool told = read(ends[0], &calls, sizeof(calls)) == sizeof(calls);
    close(ends[0]);
    CHECK(waitpid(child, &state, 0) == child);
    if (!told || !WIFEXITED(state))
        fprintf(stderr, "call %llu: the process ended with %#x\n",
                (unsigned long long)call, (unsigned)state);
    CHECK(told && WIFEXITED(state));
    CHECK(WEXITSTATUS(state) == 0 || WEXITSTATUS(state) == 3);
    *failed = WEXITSTATUS(state) == 3;
    return calls;
}

// With a number: only that call fails.
int main(int argc, char **argv)
{
    bool failed;
    unsigned failures = 0;

    if (!fake_cuda())
        SKIP("the fake driver is not named in HEDDLE_CUDA_DRIVER");
    if (argc > 1) {
        try_without(strtoull(argv[1], NULL, 10), &failed);
        return 0;
    }
    uint64_t calls = try_without(0, &failed);
    CHECK(!failed);
    // Polling makes some calls more, or fewer, and with sanitizers thousands:
    // then not each of them fails.
    for (uint64_t call = 1; call <= calls; call += calls / TRIES + 1) {
        try_without(call, &failed);
        failures += failed;
    }
    printf("%llu calls, %u of which end what was asked for\n",
           (unsigned long long)calls, failures);
    CHECK(failures > (calls > TRIES ? 0 : 20));
    return 0;
}
