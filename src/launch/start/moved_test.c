// What a launch has moved is told with its event: as counted where the system
// lets it be, else by its arguments.
#include "heddle/event.h"
#include "launch/start/start.h"
#include "tests/launch/faults.h"
#include "tests/launch/rig.h"

static const char kernels[] =
    "kernel void touch(global uchar *bytes, ulong page)\n"
    "{\n"
    "    bytes[get_global_id(0) * page] = 1;\n"
    "}\n";

static void tell(struct rig *rig, char *pages, struct hd_event_info *info)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    struct hd_buffer *buffer;
    hd_event event;

    CHECK_OK(
        hdi_buffer_wrap(rig->launcher, pages, PAGES * page, &buffer, &error),
        error);
    const struct hd_arg args[] = {HD_BUFFER(buffer), HD_VALUE(page)};
    const struct hd_range range = {.dims = 1, .global = {PAGES}, .local = {1}};
    const struct hdi_request request = {hd_program_find(rig->program, "touch"),
                                        &range, args, 2};
    CHECK_OK(hdi_launch_start(rig->launcher, NULL, &request, &event, &error),
             error);
    CHECK_OK(hd_event_wait(rig->pool, &event, 1, HD_FOREVER, &error), error);
    CHECK(hd_event_info(rig->pool, event, info));
    hd_event_release(rig->pool, event);
    hd_buffer_destroy(buffer);
}

static void count_next(struct rig *rig)
{
    for (unsigned i = 0; i < rig->launcher->workers; i++)
        rig->launcher->misses[i].next = 0;
}

// As much is taken for granted of leaves that are not counted. The first launch
// touches pages of code and of stacks too.
static void a_launch_tells_what_it_moved(void)
{
    struct rig rig = rig_set_up((struct hd_pool_params){.workers = 2},
                                (struct hdi_device_params){0}, kernels);
    uint64_t size = PAGES * (uint64_t)sysconf(_SC_PAGESIZE);
    struct hd_event_info info;
    char *others = map_pages(), *pages = map_pages();

    rig.launcher->counted = faults();
    tell(&rig, others, &info);
    CHECK(info.counted);
    count_next(&rig);
    tell(&rig, pages, &info);
    CHECK(info.counted && info.bytes > size / 2 && info.bytes < 2 * size);
    count_next(&rig);
    tell(&rig, pages, &info); // they are there now
    CHECK(info.counted && info.bytes < size / 2);
    unmap_pages(others);
    unmap_pages(pages);
    rig_tear_down(&rig);
}

static void without_a_counter_arguments_tell(void)
{
    struct rig rig = rig_set_up((struct hd_pool_params){.workers = 2},
                                (struct hdi_device_params){0}, kernels);
    struct hd_event_info info;
    char *pages = map_pages();

    rig.launcher->counted.type = UINT32_MAX;
    tell(&rig, pages, &info);
    CHECK(!info.counted);
    CHECK(info.bytes == PAGES * (uint64_t)sysconf(_SC_PAGESIZE));
    unmap_pages(pages);
    rig_tear_down(&rig);
}

int main(void)
{
    const struct hdi_misses_source source = faults();

    without_a_counter_arguments_tell();
    if (hdi_misses_try(&source) != 0)
        SKIP("the system lets nothing be counted");
    a_launch_tells_what_it_moved();
    return 0;
}
