// Programs that are run beside the compiler: what they say, how they end, and
// what they see.
#include "kernel/compiler/tools/child.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/check.h"

enum {
    LARGE = 1 << 20 // more than a pipe holds [bytes]
};

struct said {
    hd_status status;
    struct hd_error error;
    struct hdi_text output, messages;
    int code;
};

static struct said run(const struct hdi_child *child)
{
    struct said said = {.code = -1};

    said.status = hdi_child_run(child, &said.output, &said.messages, &said.code,
                                &said.error);
    return said;
}

static struct said shell(const char *script)
{
    const char *const arguments[] = {"/bin/sh", "-c", script, NULL};
    return run(&(struct hdi_child){.arguments = arguments});
}

static void forget(struct said *said)
{
    hdi_text_free(&said->output);
    hdi_text_free(&said->messages);
}

static void much_goes_in_and_comes_out(void)
{
    const char *const arguments[] = {"/bin/cat", NULL};
    char *much = malloc(LARGE);

    CHECK(much);
    for (size_t i = 0; i < LARGE; i++)
        much[i] = (char)(i * 7);
    struct said said = run(&(struct hdi_child){
        .arguments = arguments, .input = much, .input_size = LARGE});
    CHECK_OK(said.status, said.error);
    CHECK(said.code == 0 && said.output.size == LARGE);
    CHECK(memcmp(said.output.data, much, LARGE) == 0);
    CHECK(said.messages.size == 0);
    forget(&said);
    free(much);
}

static void how_it_ends_is_told(void)
{
    struct said said = shell("echo out; echo no >&2; exit 3");

    CHECK_OK(said.status, said.error);
    CHECK(said.code == 3 && strcmp(said.output.data, "out\n") == 0);
    CHECK(strcmp(said.messages.data, "no\n") == 0);
    forget(&said);
    said = shell("kill -9 $$");
    CHECK_OK(said.status, said.error);
    CHECK(said.code == 128 + SIGKILL);
    forget(&said);
}

static void what_cannot_be_run_is_named(void)
{
    const char *const nothing[] = {"/nowhere/clang-0", NULL};
    const char *const folder[] = {"/", NULL};
    struct said said = run(&(struct hdi_child){.arguments = nothing});

    CHECK(said.status == HD_ENOTSUP && said.code == -1);
    CHECK(strstr(said.error.text, "/nowhere/clang-0"));
    forget(&said);
    said = run(&(struct hdi_child){.arguments = folder});
    CHECK(said.status == HD_EBUILD && strstr(said.error.text, "cannot run /"));
    forget(&said);
}

// It would go on for ever.
static void it_is_ended_when_nobody_wants_it(void)
{
    const char *const arguments[] = {"/bin/sh", "-c",
                                     "while :; do sleep 1; done", NULL};
    const atomic_bool cancel = true;
    struct said said =
        run(&(struct hdi_child){.arguments = arguments, .cancel = &cancel});

    CHECK(said.status == HD_ECANCELED && strstr(said.error.text, "cancelled"));
    forget(&said);
    said = run(&(struct hdi_child){.arguments = arguments, .time_limit = 1});
    CHECK(said.status == HD_ETIMEOUT);
    CHECK(strstr(said.error.text, "/bin/sh took more than 1 seconds"));
    forget(&said);
}

static void it_sees_files_and_no_environment(void)
{
    const char *const arguments[] = {
        "/bin/sh", "-c", "cat <&3; cat <&4; echo $CPATH-$LC_ALL", NULL};
    const int files[] = {hdi_memory_file("a", "one ", 4),
                         hdi_memory_file("b", "two ", 4)};

    CHECK(files[0] >= HDI_CHILD_FIRST + HDI_CHILD_FILES && files[1] > 0);
    CHECK(setenv("CPATH", "/elsewhere", true) == 0);
    struct said said = run(&(struct hdi_child){
        .arguments = arguments, .files = files, .file_count = 2});
    CHECK_OK(said.status, said.error);
    CHECK(strcmp(said.output.data, "one two -C\n") == 0);
    forget(&said);
    close(files[0]);
    close(files[1]);
}

int main(void)
{
    much_goes_in_and_comes_out();
    how_it_ends_is_told();
    what_cannot_be_run_is_named();
    it_is_ended_when_nobody_wants_it();
    it_sees_files_and_no_environment();
    return 0;
}
