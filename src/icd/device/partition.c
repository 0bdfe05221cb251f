// Devices that are parts of others: some of its cores.
#include "icd/device/partition.h"

#include <sched.h>
#include <string.h>

#include "icd/device/devices.h"

// The cores of a device, as indices into the topology, in its order.
//
// `list` has room for all cores of the machine. A device without a set of cores
// is the whole.
static unsigned cores_of(const struct _cl_device_id *device, unsigned *list)
{
    unsigned count = 0, all;
    const struct hdi_topology *topology = hdi_cl_topology(&all);

    for (unsigned i = 0; topology && i < all; i++)
        if (!device->cores ||
            CPU_ISSET(hdi_topology_core(topology, i)->os_index, device->cores))
            list[count++] = i;
    return count;
}

// By what the device's cores are apart.
//
// Only neighbours in the topology's order are compared: it lists the cores of a
// node, and of a cache, side by side. 0: they share all, so there is nothing to
// part by, or no memory.
cl_device_affinity_domain hdi_cl_device_domains(
    const struct _cl_device_id *device)
{
    cl_device_affinity_domain domains = 0;
    unsigned all;
    const struct hdi_topology *topology = hdi_cl_topology(&all);
    unsigned *cores = calloc(all, sizeof(*cores));
    unsigned count = cores ? cores_of(device, cores) : 0;

    for (unsigned i = 1; i < count; i++) {
        const struct hdi_core *a = hdi_topology_core(topology, cores[i - 1]);
        const struct hdi_core *b = hdi_topology_core(topology, cores[i]);
        domains |= a->node != b->node ? CL_DEVICE_AFFINITY_DOMAIN_NUMA : 0;
        domains |= a->cache_group != b->cache_group
                       ? CL_DEVICE_AFFINITY_DOMAIN_L3_CACHE
                       : 0;
    }
    free(cores);
    return domains ? domains | CL_DEVICE_AFFINITY_DOMAIN_NEXT_PARTITIONABLE : 0;
}

// How many words say how a device is parted, with the final 0. Behind the end
// of a list of counts, which is a 0 as well, it may not have been given.
static unsigned words_of(const cl_device_partition_property *how)
{
    unsigned words = 1;

    if (how[0] != CL_DEVICE_PARTITION_BY_COUNTS)
        return 3;
    while (how[words] != CL_DEVICE_PARTITION_BY_COUNTS_LIST_END)
        words++;
    return words + 2;
}

// NULL: no memory. It holds its parent, which need not be the whole: parts can
// be parted again. How it was made is kept, to be told again.
static struct _cl_device_id *part_of(struct _cl_device_id *parent,
                                     const unsigned *cores, unsigned count,
                                     const cl_device_partition_property *how)
{
    struct _cl_device_id *device = hdi_cl_object_create(HDI_CL_DEVICE);
    unsigned all;
    const struct hdi_topology *topology = hdi_cl_topology(&all);
    if (!device)
        return NULL;
    pthread_mutex_init(&device->lock, NULL);
    device->parent = parent;
    hdi_cl_hold(parent);
    device->cores = calloc(1, sizeof(*device->cores));
    device->units = count;
    device->partition_size = words_of(how);
    device->partition =
        calloc(device->partition_size, sizeof(*device->partition));
    if (!device->cores || !device->partition) {
        hdi_cl_object_release(device);
        return NULL;
    }
    for (unsigned i = 0; i < count; i++)
        CPU_SET(hdi_topology_core(topology, cores[i])->os_index, device->cores);
    memcpy(device->partition, how,
           (device->partition_size - 1) * sizeof(*device->partition));
    return device;
}

// How many cores each part has; their number, 0: it cannot be.
//
// `sizes` has room for one more than `count`. Equal parts leave out cores that
// are too few for another part; by counts the cores that are left over are used
// by none, as the standard allows. By domain, the next partitionable one is the
// node if there are several, else the cache.
static unsigned count_parts(const struct _cl_device_id *device,
                            const cl_device_partition_property *how,
                            const unsigned *cores, unsigned count,
                            unsigned *sizes, cl_int *error)
{
    unsigned parts = 0, sum = 0, all;
    const struct hdi_topology *topology = hdi_cl_topology(&all);

    *error = CL_INVALID_VALUE;
    if (how[0] == CL_DEVICE_PARTITION_EQUALLY) {
        if (how[1] <= 0 || how[2] != 0)
            return 0;
        *error = how[1] > count ? CL_INVALID_DEVICE_PARTITION_COUNT
                                : CL_DEVICE_PARTITION_FAILED;
        // The whole is no part.
        for (; how[1] < count && sum + (unsigned)how[1] <= count;
             sum += (unsigned)how[1])
            sizes[parts++] = (unsigned)how[1];
        return parts;
    }
    if (how[0] == CL_DEVICE_PARTITION_BY_COUNTS) {
        *error = CL_INVALID_DEVICE_PARTITION_COUNT;
        for (unsigned i = 1; how[i] != CL_DEVICE_PARTITION_BY_COUNTS_LIST_END;
             i++) {
            if (how[i] <= 0 || how[i] > count || parts >= count ||
                sum + (unsigned)how[i] > count)
                return 0;
            sizes[parts++] = (unsigned)how[i];
            sum += (unsigned)how[i];
        }
        return parts;
    }
    if (how[0] != CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN || how[2] != 0)
        return 0;
    const cl_device_affinity_domain known =
        CL_DEVICE_AFFINITY_DOMAIN_NUMA | CL_DEVICE_AFFINITY_DOMAIN_L4_CACHE |
        CL_DEVICE_AFFINITY_DOMAIN_L3_CACHE |
        CL_DEVICE_AFFINITY_DOMAIN_L2_CACHE |
        CL_DEVICE_AFFINITY_DOMAIN_L1_CACHE |
        CL_DEVICE_AFFINITY_DOMAIN_NEXT_PARTITIONABLE;
    cl_device_affinity_domain way = (cl_device_affinity_domain)how[1];
    if ((way & ~known) || way == 0 || (way & (way - 1)) ||
        !(hdi_cl_device_domains(device) & way))
        return 0;
    bool by_node =
        way == CL_DEVICE_AFFINITY_DOMAIN_NUMA ||
        (way == CL_DEVICE_AFFINITY_DOMAIN_NEXT_PARTITIONABLE &&
         (hdi_cl_device_domains(device) & CL_DEVICE_AFFINITY_DOMAIN_NUMA));
    // Neighbours in the topology's order share what there is to share.
    for (unsigned i = 0; i < count; i++) {
        const struct hdi_core *core = hdi_topology_core(topology, cores[i]);
        const struct hdi_core *last =
            i > 0 ? hdi_topology_core(topology, cores[i - 1]) : NULL;
        bool same = last && (by_node ? last->node == core->node
                                     : last->cache_group == core->cache_group);
        if (same)
            sizes[parts - 1]++;
        else
            sizes[parts++] = 1;
    }
    return parts;
}

// All of the parts or none.
CL_API_ENTRY cl_int CL_API_CALL
clCreateSubDevices(cl_device_id device, const cl_device_partition_property *how,
                   cl_uint room, cl_device_id *parts, cl_uint *count_ret)
{
    if (!hdi_cl_is(HDI_CL_DEVICE, device))
        return CL_INVALID_DEVICE;
    if (!how || !how[0] || (!parts && !count_ret) || (parts && room == 0) ||
        device->side == HDI_CL_GPU)
        return CL_INVALID_VALUE;

    unsigned most;
    hdi_cl_topology(&most);
    unsigned *cores = calloc(most, sizeof(*cores));
    unsigned *sizes = calloc(most + 1, sizeof(*sizes));
    cl_int error = CL_OUT_OF_HOST_MEMORY;
    if (!cores || !sizes)
        goto out;
    unsigned count = cores_of(device, cores);
    unsigned number = count_parts(device, how, cores, count, sizes, &error);
    if (number == 0)
        goto out;
    error = CL_INVALID_VALUE;
    if (parts && room < number)
        goto out;
    error = CL_SUCCESS;
    for (unsigned i = 0, at = 0; parts && i < number; at += sizes[i++]) {
        parts[i] = part_of(device, cores + at, sizes[i], how);
        if (parts[i])
            continue;
        while (i > 0)
            hdi_cl_object_release(parts[--i]);
        error = CL_OUT_OF_HOST_MEMORY;
        break;
    }
    if (error == CL_SUCCESS && count_ret)
        *count_ret = number;
out:
    free(cores);
    free(sizes);
    return error;
}
