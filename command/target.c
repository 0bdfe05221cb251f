// Invariant: `temporary` is set exactly while a file of that name is there that
// we made; whoever clears it has renamed or removed the file. The signal
// handler knows the name for as long.
#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "failure.h"
#include "interrupt.h"

static const char template[] = ".heddle-XXXXXX";

bool target_is_output(const char *path)
{
    return strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0;
}

static hd_status cannot_write(const char *path, int number,
                              struct hd_error *error)
{
    return fail(
        error, number == ENOMEM ? HD_ENOMEM : HD_EIO, "cannot write %s: %s",
        strcmp(path, "-") == 0 ? "standard output" : path, strerror(number));
}

// Length of the folder part of `path`, with its last '/'; 0: the current one.
static size_t folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? (size_t)(slash - path) + 1 : 0;
}

// Say where the file goes: `*place` is NULL for what is no regular file, or a
// link to none, and is written directly. `*mode` is what it will have.
static hd_status locate(const char *path, char **place, mode_t *mode,
                        struct hd_error *error)
{
    struct stat status;

    *place = NULL;
    if (stat(path, &status) == 0) {
        if (S_ISDIR(status.st_mode))
            return cannot_write(path, EISDIR, error);
        if (access(path, W_OK) != 0)
            return cannot_write(path, errno, error);
        if (!S_ISREG(status.st_mode))
            return HD_OK;
        *mode = status.st_mode & 0777;
        *place = realpath(path, NULL);
    } else if (errno == ENOENT && lstat(path, &status) == 0) {
        return HD_OK; // a link to a file that is to be made
    } else if (errno == ENOENT) {
        mode_t mask = umask(0);
        umask(mask);
        *mode = 0666 & ~mask;
        *place = strdup(path);
    }
    if (!*place)
        return cannot_write(path, errno, error);

    size_t length = folder_length(*place);
    int denied;
    if ((*place)[length] == '\0') {
        errno = EISDIR;
        denied = -1;
    } else if (length == 0) {
        denied = access(".", W_OK | X_OK);
    } else {
        char kept = (*place)[length];
        (*place)[length] = '\0';
        denied = access(*place, W_OK | X_OK);
        (*place)[length] = kept;
    }
    if (denied) {
        int number = errno;
        free(*place);
        *place = NULL;
        return cannot_write(path, number, error);
    }
    return HD_OK;
}

hd_status target_check(const char *path, struct hd_error *error)
{
    char *place;
    mode_t mode;

    if (target_is_output(path))
        return HD_OK;
    hd_status status = locate(path, &place, &mode, error);
    if (status == HD_OK)
        free(place);
    return status;
}

// Make the temporary file; the signal handler knows of it from its start.
static int open_temporary(struct target *target, mode_t mode)
{
    size_t length = folder_length(target->place);
    char *name = malloc(length + sizeof(template));
    sigset_t before;

    if (!name)
        return -1;
    memcpy(name, target->place, length);
    memcpy(name + length, template, sizeof(template));

    interrupt_hold(&before);
    int descriptor = mkostemp(name, O_CLOEXEC);
    if (descriptor >= 0)
        interrupt_file(name);
    interrupt_release(&before);
    if (descriptor < 0) {
        free(name);
        return -1;
    }
    target->temporary = name;
    // A file system without modes is no reason to fail.
    (void)!fchmod(descriptor, mode);
    return descriptor;
}

hd_status target_open(struct target *target, const char *path,
                      struct hd_error *error)
{
    mode_t mode = 0;
    int descriptor;

    *target = (struct target){.path = path};
    if (target_is_output(path)) {
        descriptor = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    } else {
        hd_status status = locate(path, &target->place, &mode, error);
        if (status != HD_OK)
            return status;
        descriptor = target->place
                         ? open_temporary(target, mode)
                         : open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    }
    target->file = descriptor < 0 ? NULL : fdopen(descriptor, "wb");
    if (!target->file) {
        int number = errno;
        if (descriptor >= 0)
            close(descriptor);
        target_discard(target);
        return cannot_write(path, number, error);
    }
    return HD_OK;
}

// Rename or remove the temporary file and forget it.
static int settle(struct target *target, bool keep)
{
    sigset_t before;
    int result = 0;
    int number = 0;

    if (!target->temporary)
        return 0;
    interrupt_hold(&before);
    if (keep) {
        result = rename(target->temporary, target->place);
        number = errno;
    }
    if (!keep || result != 0)
        unlink(target->temporary);
    interrupt_file(NULL);
    interrupt_release(&before);
    free(target->temporary);
    target->temporary = NULL;
    errno = number;
    return result;
}

hd_status target_commit(struct target *target, struct hd_error *error)
{
    // A full disk may show up as late as here. A stream that failed before has
    // no errno of its own any more.
    bool failed = ferror(target->file) != 0;
    errno = failed ? EIO : 0;
    if (fflush(target->file) != 0)
        failed = true;
    int number = errno;
    if (fclose(target->file) != 0 && !failed) {
        failed = true;
        number = errno;
    }
    target->file = NULL;
    if (!failed && settle(target, true) != 0) {
        failed = true;
        number = errno;
    }
    target_discard(target);
    return failed ? cannot_write(target->path, number, error) : HD_OK;
}

void target_discard(struct target *target)
{
    if (target->file)
        fclose(target->file);
    settle(target, false);
    free(target->place);
    target->file = NULL;
    target->place = NULL;
}

hd_status target_write(const char *path,
                       hd_status (*write)(void *data, FILE *file,
                                          struct hd_error *error),
                       void *data, struct hd_error *error)
{
    struct target target;
    hd_status status = target_open(&target, path, error);

    if (status != HD_OK)
        return status;
    errno = 0;
    status = write(data, target.file, error);
    int number = errno;
    if (ferror(target.file) && status != HD_ECANCELED)
        status = cannot_write(path, number ? number : EIO, error);
    if (status != HD_OK) {
        target_discard(&target);
        return status;
    }
    return target_commit(&target, error);
}
