#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

bool hdi_write_all(int file, const void *data, size_t size)
{
    const char *from = data;

    while (size > 0) {
        ssize_t n = write(file, from, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        from += n;
        size -= (size_t)n;
    }
    return true;
}

// Read until there is no more, not by the size the system tells: pipes and
// files in /proc have none.
hd_status hdi_read_file(const char *path, size_t most, struct hdi_text *text,
                        struct hd_error *error)
{
    FILE *file = fopen(path, "rbe");
    if (!file)
        return hdi_fail(error, errno == ENOENT ? HD_ENOENT : HD_EIO, "%s: %s",
                        path, strerror(errno));

    char block[16384];
    size_t n;
    while ((n = fread(block, 1, sizeof(block), file)) > 0 && text->size <= most)
        hdi_text_append(text, block, n);
    int failed = ferror(file) ? errno : 0;
    fclose(file);
    if (failed)
        return hdi_fail(error, HD_EIO, "%s: %s", path, strerror(failed));
    if (text->failed)
        return hdi_fail(error, HD_ENOMEM, "%s: no memory to read it", path);
    if (text->size > most)
        return hdi_fail(error, HD_ELIMIT, "%s: larger than %zu bytes", path,
                        most);
    return HD_OK;
}

// Some file systems know no such call for folders: they say EINVAL. A folder
// that may not be read cannot be opened for it; names are made in it all the
// same.
hd_status hdi_sync_folder_of(const char *path, struct hd_error *error)
{
    const char *slash = strrchr(path, '/');
    struct hdi_text folder = {0};

    hdi_text_print(&folder, "%.*s", slash ? (int)(slash - path + 1) : 2,
                   slash ? path : "./");
    if (folder.failed)
        return hdi_fail(error, HD_ENOMEM, "%s: no memory to write it", path);
    int file = open(folder.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = file < 0 ? errno == EACCES : fsync(file) == 0 || errno == EINVAL;
    int failed = errno;
    if (file >= 0)
        close(file);
    hdi_text_free(&folder);
    return ok ? HD_OK
              : hdi_fail(error, HD_EIO, "%s: %s", path, strerror(failed));
}

static hd_status write_into(const char *path, const void *data, size_t size,
                            struct hd_error *error)
{
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    bool ok = file >= 0 && hdi_write_all(file, data, size);
    int failed = errno;

    if (file >= 0 && close(file) != 0 && ok) {
        ok = false;
        failed = errno;
    }
    return ok ? HD_OK
              : hdi_fail(error, HD_EIO, "%s: %s", path, strerror(failed));
}

// Write to a new file beside `place`, give it the mode, rename it.
// The mode is set and the bytes are on the disk before the name is: who opens
// `place` sees the old file or all of the new one, also after a crash. `path`
// is for messages. The new file lies beside, since rename() stays within a file
// system.
static hd_status replace(const char *path, const char *place, mode_t mode,
                         const void *data, size_t size, struct hd_error *error)
{
    struct hdi_text temporary = {0};

    hdi_text_print(&temporary, "%s.XXXXXX", place);
    if (temporary.failed)
        return hdi_fail(error, HD_ENOMEM, "%s: no memory to write it", path);

    int file = mkostemp(temporary.data, O_CLOEXEC);
    bool ok = file >= 0 && hdi_write_all(file, data, size) &&
              fchmod(file, mode) == 0 && fsync(file) == 0;
    int failed = errno;
    if (file >= 0 && close(file) != 0 && ok) {
        ok = false;
        failed = errno;
    }
    if (ok && rename(temporary.data, place) != 0) {
        ok = false;
        failed = errno;
    }
    if (file >= 0 && !ok)
        unlink(temporary.data);
    hdi_text_free(&temporary);
    return ok ? HD_OK
              : hdi_fail(error, HD_EIO, "%s: %s", path, strerror(failed));
}

// A file that must not be written is not replaced either, though the folder
// would allow that.
hd_status hdi_write_file(const char *path, const void *data, size_t size,
                         struct hd_error *error)
{
    struct stat about;

    if (stat(path, &about) == 0) {
        if (!S_ISREG(about.st_mode)) // a folder cannot be opened for writing
            return write_into(path, data, size, error);
        char *place = access(path, W_OK) == 0 ? realpath(path, NULL) : NULL;
        if (!place)
            return hdi_fail(error, HD_EIO, "%s: %s", path, strerror(errno));
        hd_status status =
            replace(path, place, about.st_mode & 0777, data, size, error);
        free(place);
        return status;
    }
    if (errno != ENOENT)
        return hdi_fail(error, HD_EIO, "%s: %s", path, strerror(errno));
    if (lstat(path, &about) == 0) // a link to a file that is to be made
        return write_into(path, data, size, error);
    mode_t mask = umask(0);
    umask(mask);
    return replace(path, path, 0666 & ~mask, data, size, error);
}
