// Mapping: the application gets the address of the very bytes, so that a map is
// an order of events. Nothing is copied but what is on another device.
#include <string.h>

#include "icd/command/copy.h"
#include "icd/object/info.h"
#include "icd/queue/event.h"

// The payload of a map or an unmap, as it was asked for; of an unmap only `mem`
// is set. `row` and `slice` are pitches [bytes].
struct map {
    struct _cl_mem *mem; // held
    char *at;
    size_t region[3]; // [bytes, rows, slices]
    size_t row, slice;
    cl_map_flags flags;
};

static void end_map(void *payload)
{
    struct map *m = payload;

    hdi_cl_drop(m->mem);
    free(m);
}

// What the host may write it has from now on.
//
// Reading brings the bytes home and leaves the other copies valid; writing
// makes those void; overwriting brings nothing.
static cl_int run_map(const struct hdi_cl_running *at, void *payload)
{
    const struct map *m = payload;
    enum hdi_use use = m->flags & CL_MAP_WRITE_INVALIDATE_REGION
                           ? HDI_USE_OVERWRITE
                       : m->flags & CL_MAP_WRITE ? HDI_USE_WRITE
                                                 : HDI_USE_READ;

    (void)at;
    cl_int status =
        hdi_cl_mem_use(m->mem, m->at, m->region, m->row, m->slice, use);
    return status == CL_SUCCESS ? CL_COMPLETE : status;
}

// What the host has written lies where it belongs, and copies elsewhere have
// been void since the map.
static cl_int run_unmap(const struct hdi_cl_running *at, void *payload)
{
    (void)at, (void)payload;
    return CL_COMPLETE;
}

static const struct hdi_cl_work map_buffer = {
    .type = CL_COMMAND_MAP_BUFFER, .run = run_map, .end = end_map};
static const struct hdi_cl_work map_image = {
    .type = CL_COMMAND_MAP_IMAGE, .run = run_map, .end = end_map};
static const struct hdi_cl_work unmap = {
    .type = CL_COMMAND_UNMAP_MEM_OBJECT, .run = run_unmap, .end = end_map};

// NULL: no memory.
static struct map *hold(const struct map *map)
{
    struct map *m = malloc(sizeof(*m));

    if (m) {
        *m = *map;
        hdi_cl_hold(m->mem);
    }
    return m;
}

// False: no memory.
//
// Counted when it is enqueued, not when it runs: the application may ask for
// the count, and unmap, right after.
static bool add_map(struct _cl_mem *mem, void *address)
{
    pthread_mutex_lock(&mem->lock);
    struct hdi_cl_map *map = mem->maps;
    while (map && map->address != address)
        map = map->next;
    if (!map && (map = calloc(1, sizeof(*map)))) {
        map->next = mem->maps;
        map->address = address;
        mem->maps = map;
    }
    if (map) {
        map->count++;
        mem->map_count++;
    }
    pthread_mutex_unlock(&mem->lock);
    return map != NULL;
}

// For the order of errors alone; remove_map() decides.
static bool is_mapped(struct _cl_mem *mem, const void *address)
{
    pthread_mutex_lock(&mem->lock);
    const struct hdi_cl_map *map = mem->maps;
    while (map && map->address != address)
        map = map->next;
    pthread_mutex_unlock(&mem->lock);
    return map != NULL;
}

// False: nothing is mapped there.
static bool remove_map(struct _cl_mem *mem, const void *address)
{
    struct hdi_cl_map **at, *map;

    pthread_mutex_lock(&mem->lock);
    for (at = &mem->maps; (map = *at) && map->address != address;)
        at = &map->next;
    if (map) {
        mem->map_count--;
        if (--map->count == 0) {
            *at = map->next;
            free(map);
        }
    }
    pthread_mutex_unlock(&mem->lock);
    return map != NULL;
}

static bool are_flags(cl_map_flags flags)
{
    const cl_map_flags plain = CL_MAP_READ | CL_MAP_WRITE;

    return !(flags & ~(plain | CL_MAP_WRITE_INVALIDATE_REGION)) &&
           !((flags & plain) && (flags & CL_MAP_WRITE_INVALIDATE_REGION));
}

// What the host was never to do with an object so mapped.
static cl_mem_flags forbidden_by(cl_map_flags flags)
{
    const cl_map_flags writes = CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION;
    cl_mem_flags forbidden = 0;

    if (flags & CL_MAP_READ)
        forbidden |= CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS;
    if (flags & writes)
        forbidden |= CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS;
    return forbidden;
}

// The address is known at once, also where the call does not block. If the
// command cannot be enqueued, its payload has been freed with its hold, and
// only the count is taken back.
static void *enqueue_map(cl_command_queue queue, const struct hdi_cl_work *work,
                         const struct map *map, cl_bool blocks,
                         cl_uint wait_count, const cl_event *wait_list,
                         cl_event *event, cl_int *error)
{
    struct _cl_mem *mem = map->mem;
    char *address = map->at;
    struct map *m = hold(map);

    if (!m || !add_map(mem, address)) {
        if (m)
            end_map(m);
        return hdi_cl_none(error, CL_OUT_OF_HOST_MEMORY);
    }
    cl_int status =
        hdi_cl_enqueue(queue, work, m, blocks, wait_count, wait_list, event);
    if (status != CL_SUCCESS) {
        remove_map(mem, address);
        return hdi_cl_none(error, status);
    }
    hdi_cl_good(error);
    return address;
}

// One row: pitches of 0 are never used.
CL_API_ENTRY void *CL_API_CALL clEnqueueMapBuffer(
    cl_command_queue queue, cl_mem mem, cl_bool blocks, cl_map_flags flags,
    size_t offset, size_t size, cl_uint wait_count, const cl_event *wait_list,
    cl_event *event, cl_int *error)
{
    cl_int status;

    if (!hdi_cl_is(HDI_CL_QUEUE, queue))
        return hdi_cl_none(error, CL_INVALID_COMMAND_QUEUE);
    if ((status = hdi_cl_check_mem(queue, mem, false)) != CL_SUCCESS)
        return hdi_cl_none(error, status);
    if (size == 0 || offset > mem->size || size > mem->size - offset ||
        !are_flags(flags))
        return hdi_cl_none(error, CL_INVALID_VALUE);
    status = hdi_cl_check_host(queue, mem, forbidden_by(flags), wait_count,
                               wait_list);
    if (status != CL_SUCCESS)
        return hdi_cl_none(error, status);
    const struct map map = {.mem = mem,
                            .at = hdi_cl_mem_bytes(mem) + offset,
                            .region = {size, 1, 1},
                            .flags = flags};
    return enqueue_map(queue, &map_buffer, &map, blocks, wait_count, wait_list,
                       event, error);
}

// The pitches that the application is told are the image's own, since it gets
// the very bytes. Of a 1D array the rows of `e` are its layers, which are a
// slice apart (image.c).
CL_API_ENTRY void *CL_API_CALL clEnqueueMapImage(
    cl_command_queue queue, cl_mem image, cl_bool blocks, cl_map_flags flags,
    const size_t *origin, const size_t *region, size_t *row, size_t *slice,
    cl_uint wait_count, const cl_event *wait_list, cl_event *event,
    cl_int *error)
{
    struct hdi_cl_extent e;
    cl_int status;

    if (!hdi_cl_is(HDI_CL_QUEUE, queue))
        return hdi_cl_none(error, CL_INVALID_COMMAND_QUEUE);
    if ((status = hdi_cl_check_mem(queue, image, true)) != CL_SUCCESS ||
        (status = hdi_cl_image_region(image, origin, region)) != CL_SUCCESS)
        return hdi_cl_none(error, status);
    bool slices = image->type == CL_MEM_OBJECT_IMAGE3D ||
                  image->type == CL_MEM_OBJECT_IMAGE2D_ARRAY ||
                  image->type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
    if (!are_flags(flags) || !row || (slices && !slice))
        return hdi_cl_none(error, CL_INVALID_VALUE);
    status = hdi_cl_check_host(queue, image, forbidden_by(flags), wait_count,
                               wait_list);
    if (status != CL_SUCCESS)
        return hdi_cl_none(error, status);
    hdi_cl_image_extent(image, &e);
    *row = hd_image_params(image->image)->row_pitch;
    if (slice)
        *slice = slices ? e.slice : 0;
    const struct map map = {
        .mem = image,
        .at = hdi_cl_mem_bytes(image) + origin[2] * e.slice +
              origin[1] * e.row + origin[0] * e.texel,
        .region = {region[0] * e.texel, region[1], region[2]},
        .row = e.row,
        .slice = e.slice,
        .flags = flags};
    return enqueue_map(queue, &map_image, &map, blocks, wait_count, wait_list,
                       event, error);
}

// The count goes down when it is enqueued, as it went up. After an error behind
// that the mapping is gone all the same.
CL_API_ENTRY cl_int CL_API_CALL clEnqueueUnmapMemObject(
    cl_command_queue queue, cl_mem mem, void *address, cl_uint wait_count,
    const cl_event *wait_list, cl_event *event)
{
    cl_int status;

    if (!hdi_cl_is(HDI_CL_QUEUE, queue))
        return CL_INVALID_COMMAND_QUEUE;
    if (!hdi_cl_is(HDI_CL_MEM, mem))
        return CL_INVALID_MEM_OBJECT;
    if (!address || !is_mapped(mem, address))
        return CL_INVALID_VALUE;
    status = hdi_cl_check_wait(queue->context, wait_count, wait_list);
    if (status != CL_SUCCESS)
        return status;
    if (mem->context != queue->context)
        return CL_INVALID_CONTEXT;
    struct map *m = hold(&(struct map){.mem = mem});
    if (!m)
        return CL_OUT_OF_HOST_MEMORY;
    if (!remove_map(mem, address)) { // another thread was sooner
        end_map(m);
        return CL_INVALID_VALUE;
    }
    return hdi_cl_enqueue(queue, &unmap, m, CL_FALSE, wait_count, wait_list,
                          event);
}
