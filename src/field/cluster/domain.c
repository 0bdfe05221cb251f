#include "field/cluster/domain.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "launch/launcher.h"

static const struct hdi_core *core_of(const struct hd_pool *pool,
                                      unsigned worker)
{
    const struct hdi_topology *topology = hdi_pool_topology(pool);

    return hdi_topology_core(topology,
                             worker % hdi_topology_machine(topology)->cores);
}

// The workers of a NUMA domain, of all of them with UINT_MAX; none is no node.
// False when memory is short.
// On failure the list is as it was, though it may have moved.
static bool add_cores(struct hdi_domains *domains, unsigned numa)
{
    const struct hd_pool *pool = domains->launcher->pool;
    unsigned all = hd_pool_workers(pool);
    struct hdi_domain domain = {.numa = numa,
                                .worker = malloc(all * sizeof(*domain.worker))};
    struct hdi_domain *list =
        realloc(domains->domain, (domains->count + 1) * sizeof(*list));

    if (list)
        domains->domain = list;
    if (!list || !domain.worker) {
        free(domain.worker);
        return false;
    }
    for (unsigned w = 0; w < all; w++)
        if (numa == UINT_MAX || core_of(pool, w)->node == numa)
            domain.worker[domain.workers++] = w;
    if (domain.workers == 0) {
        free(domain.worker);
        return true;
    }
    domain.package = core_of(pool, domain.worker[0])->package;
    domains->domain[domains->count++] = domain;
    return true;
}

static bool add_domains(struct hdi_domains *domains)
{
    unsigned count =
        hdi_topology_machine(hdi_pool_topology(domains->launcher->pool))->nodes;
    bool room = true;

    // A system that says nothing of memory has one.
    for (unsigned d = 0; room && d < (count ? count : 1); d++)
        room = add_cores(domains, d);
    return room;
}

// Each device whose memory is not the host's. One worker launches for it, the
// last ones first: those of the processors begin with the first.
// A device whose memory is the host's, or that throws its work away, is no part
// of its own.
static hd_status add_devices(struct hdi_domains *domains,
                             struct hd_error *error)
{
    const struct hdi_launcher *first = domains->launcher;
    unsigned workers = hd_pool_workers(first->pool), found = 0;

    for (unsigned i = 0; i < first->peers; i++) {
        struct hdi_launcher *launcher = first->all[i];

        if (launcher->device->can.host_memory || launcher->device->can.discards)
            continue;
        if (!add_cores(domains, UINT_MAX))
            return hdi_fail(error, HD_ENOMEM, "no memory for a cluster");
        struct hdi_domain *d = &domains->domain[domains->count - 1];
        d->launcher = launcher;
        d->worker[0] = (2 * workers - 1 - found % workers) % workers;
        d->workers = 1;
        found++;
    }
    domains->devices = domains->devices || found > 0;
    return found ? HD_OK
                 : hdi_fail(error, HD_ENODEV,
                            "nodes 'gpu': the runtime has none; it is started "
                            "with device \"all\" or \"cpu,gpu\"");
}

static bool is_word(const char *at, size_t length, const char *word)
{
    return strlen(word) == length && strncmp(at, word, length) == 0;
}

// In the order of the words; nothing is left when it fails.
hd_status hdi_domains_make(const char *words, struct hdi_launcher *launcher,
                           struct hdi_domains *domains, struct hd_error *error)
{
    struct hdi_domains made = {.launcher = launcher};
    hd_status status = HD_OK;

    if (!launcher)
        return hdi_fail(error, HD_EINVAL,
                        "nodes that are parts of a machine ('%s') need a "
                        "runtime, whose workers do their tasks",
                        words);
    for (const char *at = words; status == HD_OK; at++) {
        size_t length = strcspn(at, ",");
        bool room = true;

        if (is_word(at, length, "cpu"))
            room = add_cores(&made, UINT_MAX);
        else if (is_word(at, length, "numa"))
            room = add_domains(&made);
        else if (is_word(at, length, "gpu"))
            status = add_devices(&made, error);
        else
            status = hdi_fail(error, HD_EINVAL,
                              "nodes are so many, or 'cpu', 'numa', 'gpu' or "
                              "several of these with commas between, not "
                              "'%.*s'",
                              (int)length, at);
        if (!room)
            status = hdi_fail(error, HD_ENOMEM, "no memory for a cluster");
        at += length;
        if (*at == '\0')
            break;
    }
    if (status != HD_OK) {
        hdi_domains_free(&made);
        return status;
    }
    *domains = made;
    return HD_OK;
}

void hdi_domains_free(struct hdi_domains *domains)
{
    for (uint32_t i = 0; i < domains->count; i++)
        free(domains->domain[i].worker);
    free(domains->domain);
    *domains = (struct hdi_domains){0};
}

// Memory ----------------------------------------------------------------------

// On the stack of who waits for it.
struct touching {
    struct hd_work work;
    char *memory;
    size_t size;
};

// One store a page is enough for the system to choose its place; the memory is
// zero, so storing 0 changes nothing.
static void touch(struct hd_worker *worker, struct hd_job *job)
{
    const struct touching *t = (const struct touching *)(const void *)job;

    (void)worker;
    for (size_t at = 0; at < t->size; at += hdi_page_size())
        *(volatile char *)&t->memory[at] = 0;
}

// Errors are not told: memory that lies elsewhere is slower, not wrong.
void hdi_domains_settle(const struct hdi_domains *domains, uint32_t node,
                        void *memory, size_t size)
{
    const struct hdi_domain *domain = &domains->domain[node];
    struct hd_pool *pool = domains->launcher->pool;
    struct hd_group group;
    struct touching t = {.work = {.job = {.run = touch, .group = &group}},
                         .memory = memory,
                         .size = size};

    if (domain->numa == UINT_MAX || size == 0 ||
        hdi_topology_bind(hdi_pool_topology(pool), domain->numa, memory, size))
        return;
    // A page lies where it is touched first.
    hd_group_init(&group);
    if (hd_submit_at(pool, &t.work, HD_ON_WORKER, domain->worker[0], NULL) ==
        HD_OK)
        hd_group_wait(pool, &group);
}

bool hdi_domains_near(const struct hdi_domains *domains, uint32_t a, uint32_t b)
{
    return !domains->domain ||
           domains->domain[a].package == domains->domain[b].package;
}
