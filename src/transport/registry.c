#include "transport/transport.h"

// transports.def is written by the build: PLUGIN(name) for each folder.
#define PLUGIN(name) extern const struct hdi_transport hdi_transport_##name;
#include "transports.def"
#undef PLUGIN

static const struct hdi_transport *const transports[] = {
#define PLUGIN(name) &hdi_transport_##name,
#include "transports.def"
#undef PLUGIN
};

const struct hdi_transport *const *hdi_transports(size_t *count)
{
    *count = sizeof(transports) / sizeof(transports[0]);
    return transports;
}
