#include "base/file.h"

#include <errno.h>
#include <unistd.h>

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
