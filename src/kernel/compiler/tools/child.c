#include "kernel/compiler/tools/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"

// A child that is not wanted any more lives at most so much longer.
enum {
    LOOK_TIME = 20 // between two looks at whether to end the child [ms]
};

int hdi_memory_file(const char *name, const void *data, size_t size)
{
    int low = memfd_create(name, MFD_CLOEXEC);
    if (low < 0)
        return -1;
    // The child's numbers are given out by dup2, which must not hit a source.
    int file = fcntl(low, F_DUPFD_CLOEXEC, HDI_CHILD_FIRST + HDI_CHILD_FILES);
    close(low);
    if (file < 0)
        return -1;

    const char *bytes = data;
    while (size > 0) {
        ssize_t n = write(file, bytes, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            close(file);
            return -1;
        }
        bytes += n;
        size -= (size_t)n;
    }
    lseek(file, 0, SEEK_SET);
    return file;
}

// By pread(), since the child shares the position with us.
hd_status hdi_memory_file_read(int file, struct hdi_text *text)
{
    char block[16384];
    off_t at = 0;

    for (;;) {
        ssize_t n = pread(file, block, sizeof(block), at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return HD_EIO;
        if (n == 0)
            return text->failed ? HD_ENOMEM : HD_OK;
        hdi_text_append(text, block, (size_t)n);
        at += n;
    }
}

// posix_spawn() and not fork(): the parent may have many threads and much
// memory. dup2() in the child clears close-on-exec of the copies alone.
static hd_status spawn(const struct hdi_child *child, const int standard[3],
                       pid_t *pid, struct hd_error *error)
{
    // An environment of its own: CPATH, CCC_OVERRIDE_OPTIONS and their like
    // would change what is compiled.
    char *environment[] = {"LC_ALL=C", "LLVM_DISABLE_SYMBOLIZATION=1", NULL};
    posix_spawn_file_actions_t actions;

    int failed = posix_spawn_file_actions_init(&actions);
    if (failed)
        return hdi_fail(error, HD_ENOMEM, "%s: %s", child->arguments[0],
                        strerror(failed));
    for (int i = 0; i < 3 && !failed; i++)
        failed = posix_spawn_file_actions_adddup2(&actions, standard[i], i);
    for (size_t i = 0; i < child->file_count && !failed; i++)
        failed = posix_spawn_file_actions_adddup2(&actions, child->files[i],
                                                  HDI_CHILD_FIRST + (int)i);
    if (!failed)
        failed = posix_spawn(pid, child->arguments[0], &actions, NULL,
                             (char *const *)child->arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    if (failed)
        return hdi_fail(error, failed == ENOENT ? HD_ENOTSUP : HD_EBUILD,
                        "cannot run %s: %s", child->arguments[0],
                        strerror(failed));
    return HD_OK;
}

static bool is_cancelled(const struct hdi_child *child)
{
    return child->cancel && atomic_load(child->cancel);
}

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000;
}

// HD_OK when the child has ended; else why it is to be killed.
// A child that nobody may end is waited for without looks. Without pidfds (an
// old kernel) it cannot be ended, which only costs time.
static hd_status watch(pid_t pid, const struct hdi_child *child)
{
    bool watched = child->cancel || child->time_limit;
    uint64_t end = now() + child->time_limit * UINT64_C(1000); // [ms]
    int file = watched ? pidfd_open(pid, 0) : -1;
    hd_status status = HD_OK;

    if (file < 0)
        return HD_OK; // the wait for it will tell
    struct pollfd ended = {.fd = file, .events = POLLIN};
    while (status == HD_OK && poll(&ended, 1, LOOK_TIME) <= 0) {
        if (is_cancelled(child))
            status = HD_ECANCELED;
        else if (child->time_limit && now() > end)
            status = HD_ETIMEOUT;
    }
    close(file);
    return is_cancelled(child) ? HD_ECANCELED : status;
}

// Wait for the child; one that is not wanted any more is killed before.
// Also a child that was killed is waited for: else a zombie is left.
static hd_status await(pid_t pid, const struct hdi_child *child, int *status,
                       struct hd_error *error)
{
    hd_status why = watch(pid, child);

    if (why != HD_OK)
        kill(pid, SIGKILL);
    while (waitpid(pid, status, 0) < 0)
        if (errno != EINTR)
            return hdi_fail(error, HD_EBUILD, "cannot wait for %s: %s",
                            child->arguments[0], strerror(errno));
    if (why == HD_ETIMEOUT)
        return hdi_fail(error, HD_ETIMEOUT, "%s took more than %u seconds",
                        child->arguments[0], child->time_limit);
    return why == HD_OK
               ? HD_OK
               : hdi_fail(error, HD_ECANCELED, "the build was cancelled");
}

// What came out of a child that failed is read as well: it says why.
hd_status hdi_child_run(const struct hdi_child *child, struct hdi_text *output,
                        struct hdi_text *messages, int *exit_code,
                        struct hd_error *error)
{
    hd_status status = HD_ENOMEM;
    int standard[3] = {
        hdi_memory_file("heddle-input", child->input, child->input_size),
        hdi_memory_file("heddle-output", NULL, 0),
        hdi_memory_file("heddle-messages", NULL, 0),
    };
    pid_t pid;
    int wait_status;

    if (standard[0] < 0 || standard[1] < 0 || standard[2] < 0) {
        hdi_fail(error, HD_ENOMEM, "no memory file for %s: %s",
                 child->arguments[0], strerror(errno));
        goto err_close;
    }
    status = spawn(child, standard, &pid, error);
    if (status != HD_OK)
        goto err_close;
    status = await(pid, child, &wait_status, error);
    if (status != HD_OK)
        goto err_close;

    status = hdi_memory_file_read(standard[1], output);
    if (status == HD_OK)
        status = hdi_memory_file_read(standard[2], messages);
    if (status != HD_OK)
        hdi_fail(error, status, "no memory for the output of %s",
                 child->arguments[0]);
    else
        *exit_code = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status)
                                            : 128 + WTERMSIG(wait_status);
err_close:
    for (int i = 0; i < 3; i++)
        if (standard[i] >= 0)
            close(standard[i]);
    return status;
}
