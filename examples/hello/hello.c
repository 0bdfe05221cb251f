// The smallest program on Heddle: a kernel fills an array on all cores, tasks
// that fork and join add it up.
//
//     cc hello.c $(pkg-config --cflags --libs heddle) -o hello
#include <heddle/heddle.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    COUNT = 1 << 20 // [elements]
};

static const char source[] =
    "kernel void squares(global ulong *to) {\n"
    "    to[get_global_id(0)] = get_global_id(0) * get_global_id(0);\n"
    "}\n";

// Add up `count` values. Another worker may steal the left half.
HD_TASK(uint64_t, sum, const uint64_t *, values, size_t, count)
{
    if (count == 1)
        return values[0];
    size_t half = count / 2;
    hd_spawn(worker, sum, values, half);
    uint64_t right = hd_call(worker, sum, values + half, count - half);
    return hd_join(worker, sum) + right;
}

struct work {
    const uint64_t *values;
    uint64_t total;
};

static void add_up(struct hd_worker *worker, void *data)
{
    struct work *work = data;

    work->total = hd_call(worker, sum, work->values, COUNT);
}

static struct hd_error error;

// Say what failed and end; the system takes back what is held.
static void must(hd_status status)
{
    if (status != HD_OK) {
        fprintf(stderr, "hello: %s\n", error.text);
        exit(1);
    }
}

int main(void)
{
    const struct hd_program_params text = {.path = "squares", .source = source};
    const struct hd_range range = {.dims = 1, .global = {COUNT}};
    struct hd_runtime *runtime;
    struct hd_program *program;
    struct hd_buffer *buffer;

    must(hd_runtime_create(NULL, &runtime, &error));
    must(hd_program_create(runtime, &text, &program, &error));
    must(hd_buffer_create(runtime, COUNT * sizeof(uint64_t), &buffer, &error));
    const struct hd_arg args[] = {HD_BUFFER(buffer)};
    must(hd_launch(runtime, hd_program_find(program, "squares"), &range, args,
                   1, &error));

    struct work work = {.values = hd_buffer_host(buffer)};
    hd_pool_run(hd_runtime_pool(runtime), add_up, &work);

    const uint64_t n = COUNT - 1; // 0 + 1 + 4 + ... + n^2
    bool good = work.total == n * (n + 1) / 2 * (2 * n + 1) / 3;
    printf("the sum of %d squares is %llu: %s\n", COUNT,
           (unsigned long long)work.total, good ? "right" : "wrong");

    hd_buffer_destroy(buffer);
    hd_program_destroy(program);
    hd_runtime_destroy(runtime);
    return good ? 0 : 1;
}
