// The parts of the machine that the nodes of this process are: where their
// memory lies, and which workers do their tasks.
//
// Read only after creation.
#ifndef HDI_FIELD_CLUSTER_DOMAIN_H
#define HDI_FIELD_CLUSTER_DOMAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heddle/status.h"

struct hdi_launcher;

// `worker` has the pool's numbers, in ascending order.
struct hdi_domain {
    unsigned numa;    // as hdi_core.node; UINT_MAX: none in particular
    unsigned package; // of its first worker
    unsigned *worker; // of the pool, that do its tasks; at least one
    unsigned workers;
    struct hdi_launcher *launcher; // of a device that is the node; else NULL
};

// All processes of a cluster have as many, of the same kinds in the same order
// (cluster.c checks).
struct hdi_domains {
    struct hdi_launcher *launcher; // NULL: nodes are no parts
    struct hdi_domain *domain;     // of each node here
    uint32_t count;
    bool devices; // there are some
};

// Make the parts that `words` name ("numa", or several with commas between), of
// the machine that the launcher's pool works on.
//
// Errors:  HD_EINVAL (other words), HD_ENODEV (no GPU), HD_ENOMEM
hd_status hdi_domains_make(const char *words, struct hdi_launcher *launcher,
                           struct hdi_domains *domains, struct hd_error *error);
void hdi_domains_free(struct hdi_domains *domains);

// Have zeroed memory of a node that nobody has touched lie where it computes,
// as far as the system does that.
void hdi_domains_settle(const struct hdi_domains *domains, uint32_t node,
                        void *memory, size_t size);

// Whether two of them have caches or a package in common, so that they steal
// from each other first.
bool hdi_domains_near(const struct hdi_domains *domains, uint32_t a,
                      uint32_t b);

#endif
