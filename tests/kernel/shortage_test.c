// Every allocation of ours on the way from a text to a program fails in turn:
// that is an error with a text, or no matter at all. LLVM's own cannot fail. Of
// those that the same calls lead to, the last fails, which leaves most behind;
// with the argument "all" each does.
#include "tests/shortage.h"

#include <stdio.h>

#include "tests/kernel/try.h"

static const char source[] =
    "kernel void sums(global float *x, local float *part, int n) {\n"
    "    int l = get_local_id(0);\n"
    "    part[l] = sqrt(x[get_global_id(0)]);\n"
    "    for (int i = 0; i < n; i++) {\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "        part[l] += part[(l + i) % get_local_size(0)];\n"
    "    }\n"
    "    x[get_global_id(0)] = part[l];\n"
    "}\n"
    "kernel void strided(global int *x, int n) {\n"
    "    for (int i = get_global_id(0); i < n; i += get_global_size(0))\n"
    "        x[i] = x[i] * 2;\n"
    "}\n";

// Build the source, or a library of two sources. True when an allocation
// failed.
static bool build_with(struct try *t, bool library, long successes)
{
    const struct hd_program_params params = {
        .parts =
            (struct hd_program_part[]){
                {.path = "folder/text.cl", .source = source},
                {.source = "int unused(int x) { return x; }\n",
                 .options = "-w"}},
        .part_count = library ? 2 : 1,
        .library = library,
        .options = "-D A=1"};
    struct hd_program *program = NULL;
    struct hd_error error = {0};

    shortage_begin(successes);
    hd_status status =
        hdi_program_create(&t->context, &params, &program, &error);
    bool failed = shortage_end();
    if (status == HD_OK) {
        CHECK(hd_program_kernel_count(program) == (library ? 0 : 2));
        hd_program_destroy(program);
    } else if (status != HD_ENOMEM || !*error.text) {
        fprintf(stderr, "allocation %ld: %s: %s\n", successes,
                hd_status_text(status), error.text);
        CHECK(status == HD_ENOMEM);
        CHECK(*error.text);
    }
    return failed;
}

static void try_each(struct try *t, bool library, bool all, long least)
{
    long tried = 0, n = 0;

    shortage_begin_record();
    CHECK(!build_with(t, library, -1));
    for (; n < shortage_recorded(); n++)
        if (all || shortage_is_last(n)) {
            build_with(t, library, n);
            tried++;
        }
    while (build_with(t, library, n))
        n++;
    printf("%ld of %ld allocations\n", tried, n);
    CHECK(n > least && tried > least / 2);
}

int main(int argc, char **argv)
{
    struct try t = try_open();
    bool all = argc > 1 && strcmp(argv[1], "all") == 0;

    CHECK(!build_with(&t, false, -1)); // opens the module
    CHECK(shortage_watch(NULL) && shortage_watch("heddle_compiler.so"));
    try_each(&t, false, all, 50);
    try_each(&t, true, all, 20);
    try_close(&t);
    return 0;
}
