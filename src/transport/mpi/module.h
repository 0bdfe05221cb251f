// What a module of the mpi transport exports: a transport, under this name.
#ifndef HDI_TRANSPORT_MPI_MODULE_H
#define HDI_TRANSPORT_MPI_MODULE_H

#include "transport/transport.h"

#define HDI_MPI_SYMBOL "hdi_mpi_module"

enum {
    HDI_MPI_VERSION = 5
};

struct hdi_mpi_module {
    unsigned version; // HDI_MPI_VERSION
    const struct hdi_transport *transport;
};

#endif
