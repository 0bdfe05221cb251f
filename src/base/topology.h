// What the machine looks like: cores, caches, memory; through hwloc.
//
// A synthetic description ("pack:8 l3:2 core:8 pu:1" is 128 cores) gives a
// machine that is not there, so that tests need no hardware; its threads cannot
// be pinned.
//
// Read only after creation; any thread may ask.
#ifndef HDI_BASE_TOPOLOGY_H
#define HDI_BASE_TOPOLOGY_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heddle/status.h"

struct hdi_topology;

struct hdi_core {
    unsigned os_index;      // of its first hardware thread, for pinning
    unsigned threads;       // hardware threads
    unsigned package, node; // socket, NUMA node; counted from 0
    unsigned cache_group;   // cores that share the last-level cache
};

struct hdi_machine {
    char processor[128]; // model name, "" when not known
    unsigned cores, threads, packages, nodes, cache_groups;
    uint64_t l1_bytes, l2_bytes, l3_bytes; // of one cache; 0: not there
    uint64_t memory_bytes;
    bool synthetic;
};

// `synthetic` may be NULL: the part of this machine the process may use.
hd_status hdi_topology_create(const char *synthetic,
                              struct hdi_topology **topology,
                              struct hd_error *error);

// The same, but only the processors in `cores`, "0-3,8" for instance, as the
// system numbers them; NULL: all. HD_EINVAL: it is no such list, or names one
// that is not there or that the process may not use.
hd_status hdi_topology_create_part(const char *synthetic, const char *cores,
                                   struct hdi_topology **topology,
                                   struct hd_error *error);
void hdi_topology_destroy(struct hdi_topology *topology);

const struct hdi_machine *hdi_topology_machine(
    const struct hdi_topology *topology);

// Core `index`, 0 to machine->cores - 1, in hwloc's logical order: neighbours
// share caches.
const struct hdi_core *hdi_topology_core(const struct hdi_topology *topology,
                                         unsigned index);

// How far apart two cores are: 0 the same, 1 sharing a cache below the last
// level, 2 the last-level cache, 3 the NUMA node, 4 the package, 5 the machine.
unsigned hdi_topology_distance(const struct hdi_topology *topology, unsigned a,
                               unsigned b);

// The core the calling thread is on just now, by the hardware thread that
// hdi_thread_start() pins to; UINT_MAX when that is none of the machine's.
unsigned hdi_topology_here(const struct hdi_topology *topology);

// Ask for the whole pages in `size` [bytes] of memory to lie in a NUMA node, as
// hdi_core.node counts them; those that are elsewhere move, and when it is full
// others are used. False when the system does not do that, as on a machine that
// is not there: memory then lies where it is touched first.
bool hdi_topology_bind(const struct hdi_topology *topology, unsigned node,
                       void *memory, size_t size);

// Start a thread, pinned to core `core` unless that is UINT_MAX, named `name`
// (15 characters at most) for debuggers. A core that cannot be pinned to is a
// warning, not an error.
hd_status hdi_thread_start(const struct hdi_topology *topology, unsigned core,
                           const char *name, void *(*main)(void *), void *data,
                           pthread_t *thread);

#endif
