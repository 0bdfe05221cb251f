// A few kernels in a message: of each name one, the first ones.
#ifndef HDI_BACKEND_CUDA_NAMES_H
#define HDI_BACKEND_CUDA_NAMES_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
    CUDA_NAMED = 4,
    CUDA_NAMES = 256 // [bytes]
};

struct cuda_names {
    const char *list[CUDA_NAMED];
    unsigned count;
    bool more; // than there is room for
};

static inline void cuda_names_add(struct cuda_names *names, const char *name)
{
    for (unsigned i = 0; i < names->count; i++)
        if (strcmp(names->list[i], name) == 0)
            return;
    if (names->count < CUDA_NAMED)
        names->list[names->count++] = name;
    else
        names->more = true;
}

// "at one of kernels 'a', 'b', ..."; "" where there are none.
static inline void cuda_names_print(const struct cuda_names *names, char *text,
                                    size_t size)
{
    size_t used = 0;

    *text = '\0';
    for (unsigned i = 0; i < names->count && used < size; i++)
        used +=
            (size_t)snprintf(text + used, size - used, "%s'%s'",
                             i ? ", " : "at one of kernels ", names->list[i]);
    if (names->more && used < size)
        snprintf(text + used, size - used, ", ...");
}

#endif
