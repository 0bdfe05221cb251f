#include "backend/backend.h"

#include <string.h>

// backends.def is written by the build: PLUGIN(name) for each folder.
#define PLUGIN(name) extern const struct hdi_backend hdi_backend_##name;
#include "backends.def"
#undef PLUGIN

static const struct hdi_backend *const backends[] = {
#define PLUGIN(name) &hdi_backend_##name,
#include "backends.def"
#undef PLUGIN
};

const struct hdi_backend *const *hdi_backends(size_t *count)
{
    *count = sizeof(backends) / sizeof(backends[0]);
    return backends;
}

const struct hdi_backend *hdi_backend_find(const char *name)
{
    for (size_t i = 0; i < sizeof(backends) / sizeof(backends[0]); i++)
        if (strcmp(backends[i]->name, name) == 0)
            return backends[i];
    return NULL;
}
