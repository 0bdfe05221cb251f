#include "base/file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
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
