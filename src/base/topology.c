// hwloc's tree, flattened to a list of cores:
//
//     package 0                 package 1
//       last-level cache 0        last-level cache 1
//         core 0   core 1           core 2   core 3     a worker's number
//           pu 0,4   pu 1,5           pu 2,6   pu 3,7   os_index: the first
//
// Cores stand in hwloc's logical order, so that neighbours in the list share
// caches: victims, pieces of launches and spare threads rely on that and ask
// for no more.
//
// Invariant: all is read-only once it is created. `core_at` is the way back
// from os_index, where threads are pinned to, to the core.
#include "base/topology.h"

#include <errno.h>
#include <hwloc.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"

// `objects` point into hwloc's tree, so it lives as long.
struct hdi_topology {
    hwloc_topology_t hwloc;
    struct hdi_machine machine;
    hwloc_obj_t *objects; // one per core
    struct hdi_core *cores;
    unsigned *core_at; // by os_index; UINT_MAX: not of ours
    unsigned places;   // entries of core_at
};

// Of the first cache of its kind: machines whose cores differ are told as the
// first.
static uint64_t cache_bytes(hwloc_topology_t hwloc, hwloc_obj_type_t type)
{
    hwloc_obj_t cache = hwloc_get_obj_by_type(hwloc, type, 0);
    return cache ? cache->attr->cache.size : 0;
}

// The nearest cache that is the last level above `object`, or its package.
static hwloc_obj_t last_cache(hwloc_obj_t object)
{
    hwloc_obj_t last = NULL;
    for (hwloc_obj_t o = object->parent; o; o = o->parent)
        if (hwloc_obj_type_is_dcache(o->type) && o->attr->cache.depth >= 2)
            last = o;
    return last;
}

static unsigned logical_index(hwloc_topology_t hwloc, hwloc_obj_t object,
                              hwloc_obj_type_t type)
{
    hwloc_obj_t o = hwloc_get_ancestor_obj_by_type(hwloc, type, object);
    return o ? o->logical_index : 0;
}

static unsigned count(hwloc_topology_t hwloc, hwloc_obj_type_t type)
{
    int n = hwloc_get_nbobjs_by_type(hwloc, type);
    return n > 0 ? (unsigned)n : 0;
}

// Number the last-level caches in the order the cores meet them. Cores without
// one, in synthetic machines and containers, are a group each: nothing says
// that they share anything.
static unsigned number_cache_groups(struct hdi_topology *t)
{
    unsigned groups = 0;
    hwloc_obj_t previous = NULL;

    for (unsigned i = 0; i < t->machine.cores; i++) {
        hwloc_obj_t cache = last_cache(t->objects[i]);
        if (i == 0 || !cache || cache != previous)
            groups++;
        previous = cache;
        t->cores[i].cache_group = groups - 1;
    }
    return groups;
}

static void describe_cores(struct hdi_topology *t)
{
    for (unsigned i = 0; i < t->machine.cores; i++) {
        hwloc_obj_t core = t->objects[i];
        hwloc_obj_t node = hwloc_get_next_obj_covering_cpuset_by_type(
            t->hwloc, core->cpuset, HWLOC_OBJ_NUMANODE, NULL);
        t->cores[i] = (struct hdi_core){
            .os_index = (unsigned)hwloc_bitmap_first(core->cpuset),
            .threads = (unsigned)hwloc_bitmap_weight(core->cpuset),
            .package = logical_index(t->hwloc, core, HWLOC_OBJ_PACKAGE),
            .node = node ? node->logical_index : 0,
        };
    }
}

// Leave out what the process is kept from, by taskset or a batch system: hwloc
// knows of control groups only. A system that does not say allows everything.
static void keep_allowed(hwloc_topology_t hwloc)
{
    hwloc_bitmap_t allowed = hwloc_bitmap_alloc();

    if (allowed &&
        hwloc_get_cpubind(hwloc, allowed, HWLOC_CPUBIND_PROCESS) == 0 &&
        hwloc_topology_restrict(hwloc, allowed, 0) != 0)
        hdi_warn("threads may be pinned to cores this process may not use");
    hwloc_bitmap_free(allowed);
}

// hwloc reads more than a list: what it does not know ends the list.
static bool is_list(const char *cores)
{
    static const char digits[] = "0123456789";
    const char *at = cores;

    for (;;) {
        size_t n = strspn(at, digits);
        if (n == 0 || n > 6)
            return false;
        unsigned long first = strtoul(at, NULL, 10);
        at += n;
        if (*at == '-') {
            n = strspn(++at, digits);
            if (n == 0 || n > 6 || strtoul(at, NULL, 10) < first)
                return false;
            at += n;
        }
        if (*at == '\0')
            return true;
        if (*at++ != ',')
            return false;
    }
}

// The list is checked first: hwloc's reader takes what it understands of it.
static hd_status keep_named(hwloc_topology_t hwloc, const char *cores,
                            struct hd_error *error)
{
    hwloc_const_bitmap_t all = hwloc_topology_get_topology_cpuset(hwloc);
    hd_status status = HD_OK;

    if (!is_list(cores))
        return hdi_fail(error, HD_EINVAL,
                        "'%s' is no list of processors; write for instance "
                        "\"0-3,8\"",
                        cores);
    hwloc_bitmap_t named = hwloc_bitmap_alloc();
    if (!named || hwloc_bitmap_list_sscanf(named, cores) != 0)
        status = hdi_fail(error, HD_ENOMEM, "no memory for the topology");
    else if (!hwloc_bitmap_isincluded(named, all)) {
        char usable[256];
        hwloc_bitmap_list_snprintf(usable, sizeof(usable), all);
        status = hdi_fail(error, HD_EINVAL,
                          "processors %s are not all there; this process may "
                          "use %s",
                          cores, usable);
    } else if (hwloc_topology_restrict(hwloc, named, 0) != 0)
        status = hdi_fail(error, HD_ENOMEM, "no memory for the topology");
    hwloc_bitmap_free(named);
    return status;
}

// Where each core is pinned to, the other way round. False without memory.
// Of a machine that is not there no thread is on any core, so all say none.
static bool index_cores(struct hdi_topology *t)
{
    for (unsigned i = 0; i < t->machine.cores; i++)
        if (t->cores[i].os_index >= t->places)
            t->places = t->cores[i].os_index + 1;
    t->core_at = malloc((t->places + 1) * sizeof(*t->core_at));
    if (!t->core_at)
        return false;
    for (unsigned i = 0; i < t->places; i++)
        t->core_at[i] = UINT_MAX;
    for (unsigned i = 0; i < t->machine.cores && !t->machine.synthetic; i++)
        t->core_at[t->cores[i].os_index] = i;
    return true;
}

static void describe_machine(struct hdi_topology *t, hwloc_obj_type_t core_type,
                             bool synthetic)
{
    hwloc_obj_t package = hwloc_get_obj_by_type(t->hwloc, HWLOC_OBJ_PACKAGE, 0);
    const char *model =
        package ? hwloc_obj_get_info_by_name(package, "CPUModel") : NULL;

    t->machine = (struct hdi_machine){
        .cores = count(t->hwloc, core_type),
        .threads = count(t->hwloc, HWLOC_OBJ_PU),
        .packages = count(t->hwloc, HWLOC_OBJ_PACKAGE),
        .nodes = count(t->hwloc, HWLOC_OBJ_NUMANODE),
        .l1_bytes = cache_bytes(t->hwloc, HWLOC_OBJ_L1CACHE),
        .l2_bytes = cache_bytes(t->hwloc, HWLOC_OBJ_L2CACHE),
        .l3_bytes = cache_bytes(t->hwloc, HWLOC_OBJ_L3CACHE),
        .memory_bytes = hwloc_get_root_obj(t->hwloc)->total_memory,
        .synthetic = synthetic,
    };
    if (model) {
        strncpy(t->machine.processor, model, sizeof(t->machine.processor) - 1);
        for (size_t n = strlen(t->machine.processor);
             n > 0 && t->machine.processor[n - 1] == ' '; n--)
            t->machine.processor[n - 1] = '\0';
    }
}

// hwloc does not look at all that it allocates: where memory ends, so does the
// process. So see first whether there is more than it needs: it holds 3 MB for
// 2,048 hardware threads. What other threads take meanwhile is their risk.
static bool has_memory(void)
{
    long processors = sysconf(_SC_NPROCESSORS_CONF);
    size_t size = ((size_t)4 << 20) +
                  (size_t)(processors > 0 ? processors : 0) * (16 << 10);
    void *volatile memory = malloc(size); // volatile: it really is asked for

    free(memory);
    return memory != NULL;
}

hd_status hdi_topology_create(const char *synthetic,
                              struct hdi_topology **topology,
                              struct hd_error *error)
{
    return hdi_topology_create_part(synthetic, NULL, topology, error);
}

// Restricted before cores are counted, so numbers are those of what is left.
// `status` is HD_ENOMEM wherever nothing else was said, and the text for that
// is written once, at the end.
hd_status hdi_topology_create_part(const char *synthetic, const char *cores,
                                   struct hdi_topology **topology,
                                   struct hd_error *error)
{
    hd_status status = HD_ENOMEM;
    struct hdi_topology *t = calloc(1, sizeof(*t));
    if (!t)
        return hdi_fail(error, HD_ENOMEM, "no memory for the topology");

    if (!has_memory() || hwloc_topology_init(&t->hwloc) != 0)
        goto err_free;
    if (synthetic && hwloc_topology_set_synthetic(t->hwloc, synthetic) != 0) {
        status = hdi_fail(error, HD_EINVAL,
                          "topology '%s' is no hwloc synthetic description; "
                          "write for instance \"pack:2 l3:2 core:8 pu:1\"",
                          synthetic);
        goto err_hwloc;
    }
    if (hwloc_topology_load(t->hwloc) != 0) {
        status = hdi_fail(error, HD_ENODEV, "hwloc cannot read this machine");
        goto err_hwloc;
    }

    if (!synthetic)
        keep_allowed(t->hwloc);
    if (cores) {
        status = keep_named(t->hwloc, cores, error);
        if (status != HD_OK)
            goto err_hwloc;
        status = HD_ENOMEM;
    }
    // Virtual machines may show hardware threads and no cores.
    hwloc_obj_type_t core_type =
        hwloc_get_nbobjs_by_type(t->hwloc, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE
                                                               : HWLOC_OBJ_PU;
    describe_machine(t, core_type, synthetic != NULL);
    t->objects = calloc(t->machine.cores, sizeof(*t->objects));
    t->cores = calloc(t->machine.cores, sizeof(*t->cores));
    if (!t->objects || !t->cores)
        goto err_arrays;
    for (unsigned i = 0; i < t->machine.cores; i++)
        t->objects[i] = hwloc_get_obj_by_type(t->hwloc, core_type, i);
    describe_cores(t);
    if (!index_cores(t))
        goto err_arrays;
    t->machine.cache_groups = number_cache_groups(t);

    *topology = t;
    return HD_OK;

err_arrays:
    free(t->objects);
    free(t->cores);
err_hwloc:
    hwloc_topology_destroy(t->hwloc);
err_free:
    free(t);
    if (status == HD_ENOMEM)
        hdi_fail(error, HD_ENOMEM, "no memory for the topology");
    return status;
}

void hdi_topology_destroy(struct hdi_topology *topology)
{
    if (!topology)
        return;

    hwloc_topology_destroy(topology->hwloc);
    free(topology->objects);
    free(topology->cores);
    free(topology->core_at);
    free(topology);
}

const struct hdi_machine *hdi_topology_machine(
    const struct hdi_topology *topology)
{
    return &topology->machine;
}

const struct hdi_core *hdi_topology_core(const struct hdi_topology *topology,
                                         unsigned index)
{
    return &topology->cores[index];
}

// Levels, not a measure: only their order counts.
unsigned hdi_topology_distance(const struct hdi_topology *topology, unsigned a,
                               unsigned b)
{
    if (a == b)
        return 0;

    const struct hdi_core *x = &topology->cores[a];
    const struct hdi_core *y = &topology->cores[b];
    hwloc_obj_t common = hwloc_get_common_ancestor_obj(
        topology->hwloc, topology->objects[a], topology->objects[b]);

    if (x->cache_group == y->cache_group)
        return common == last_cache(topology->objects[a]) ? 2 : 1;
    if (x->node == y->node && x->package == y->package)
        return 3;
    return x->package == y->package ? 4 : 5;
}

unsigned hdi_topology_here(const struct hdi_topology *topology)
{
    int place = sched_getcpu();

    return place >= 0 && (unsigned)place < topology->places
               ? topology->core_at[place]
               : UINT_MAX;
}

bool hdi_topology_bind(const struct hdi_topology *topology, unsigned node,
                       void *memory, size_t size)
{
    hwloc_obj_t domain =
        hwloc_get_obj_by_type(topology->hwloc, HWLOC_OBJ_NUMANODE, node);
    uintptr_t page = hdi_page_size();
    uintptr_t begin = hdi_round_up((uintptr_t)memory, page);
    uintptr_t end = ((uintptr_t)memory + size) / page * page;

    if (!domain || topology->machine.synthetic)
        return false;
    return begin >= end ||
           hwloc_set_area_membind(
               topology->hwloc, (char *)memory + (begin - (uintptr_t)memory),
               end - begin, domain->nodeset, HWLOC_MEMBIND_BIND,
               HWLOC_MEMBIND_BYNODESET | HWLOC_MEMBIND_MIGRATE) == 0;
}

// Pinned before it starts, so that it never runs, and touches no memory,
// elsewhere. A core that is gone by now gives EINVAL; then it runs anywhere.
hd_status hdi_thread_start(const struct hdi_topology *topology, unsigned core,
                           const char *name, void *(*main)(void *), void *data,
                           pthread_t *thread)
{
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0)
        return HD_ENOMEM;

    bool pin = core != UINT_MAX && !topology->machine.synthetic;
    if (pin) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(topology->cores[core % topology->machine.cores].os_index, &set);
        pthread_attr_setaffinity_np(&attributes, sizeof(set), &set);
    }

    int e = pthread_create(thread, &attributes, main, data);
    if (e == EINVAL && pin) {
        hdi_warn("a thread could not be pinned to core %u and runs anywhere",
                 core);
        e = pthread_create(thread, NULL, main, data);
    }
    pthread_attr_destroy(&attributes);
    if (e != 0)
        return HD_ELIMIT;
    pthread_setname_np(*thread, name);
    return HD_OK;
}
