// User-level threads, run by functions that stand for compiled kernels.
#include "backend/cpu/fiber/fiber.h"

#include <fenv.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "tests/check.h"

enum {
    MAX = 64
};

// What the work-items of a launch have done, in order.
struct trace {
    uint32_t count;
    struct {
        uint32_t item, part;
    } steps[4 * MAX];
};

static void note(struct hdi_item *item, uint32_t part)
{
    struct trace *trace = (struct trace *)item->frame->args;

    CHECK(trace->count < 4 * MAX);
    trace->steps[trace->count].item = (uint32_t)item->global_id[0];
    trace->steps[trace->count++].part = part;
}

static void wait_at(struct hdi_item *item, uint32_t line)
{
    item->frame->services->wait(item, line);
}

static struct hdi_frame frame_of(struct hdi_fibers *fibers, void *args,
                                 uint64_t global, uint32_t local)
{
    uint32_t groups = (uint32_t)((global + local - 1) / local);

    return (struct hdi_frame){
        .args = args,
        .global = {global, 1, 1},
        .local_size = {local, 1, 1},
        .group_count = {groups, 1, 1},
        .count = {groups, 1, 1},
        .dims = 1,
        .services = &fibers->services,
    };
}

static hd_status run(struct hdi_fibers *fibers, const struct hdi_frame *frame,
                     const struct hdi_item_code *code)
{
    fibers->services.run_items(frame, code);
    return hdi_fibers_take_status(fibers);
}

static void once(struct hdi_item *item)
{
    note(item, 0);
    note(item, 1);
}

static void twice(struct hdi_item *item)
{
    note(item, 0);
    wait_at(item, 7);
    note(item, 1);
}

// w0, w1, ... w9, each from start to end.
static void without_a_barrier_each_runs_from_start_to_end(void)
{
    struct hdi_fibers fibers = {0};
    struct trace trace = {0};
    hdi_fibers_init(&fibers);
    struct hdi_frame frame = frame_of(&fibers, &trace, 10, 10);
    const struct hdi_item_code code = {.run = once};

    CHECK(run(&fibers, &frame, &code) == HD_OK);
    CHECK(trace.count == 20);
    for (uint32_t i = 0; i < 20; i++)
        CHECK(trace.steps[i].item == i / 2 && trace.steps[i].part == i % 2);
    hdi_fibers_free(&fibers);
}

// "w0 ... w9 each to the barrier, then w0 ... w9 each to the end".
static void with_a_barrier_all_come_there_first(void)
{
    struct hdi_fibers fibers = {0};
    struct trace trace = {0};
    hdi_fibers_init(&fibers);
    struct hdi_frame frame = frame_of(&fibers, &trace, 20, 10);
    const struct hdi_item_code code = {.run = twice, .flags = HDI_ITEMS_MEET};

    CHECK(run(&fibers, &frame, &code) == HD_OK);
    CHECK(trace.count == 40);
    for (uint32_t i = 0; i < 40; i++) {
        CHECK(trace.steps[i].item == i / 20 * 10 + i % 10);
        CHECK(trace.steps[i].part == i % 20 / 10);
    }
    hdi_fibers_free(&fibers);
}

static void note_ids(struct hdi_item *item)
{
    uint32_t *seen = (uint32_t *)item->frame->args;
    const uint64_t *id = item->global_id;

    for (unsigned d = 0; d < 3; d++)
        CHECK(id[d] - 100 ==
              (uint64_t)item->group_id[d] * item->frame->local_size[d] +
                  item->local_id[d]);
    CHECK(item->local_size[0] == (item->group_id[0] == 2 ? 1 : 3));
    seen[(id[2] - 100) * 35 + (id[1] - 100) * 7 + id[0] - 100]++;
    wait_at(item, 1);
}

// A box in the middle of a range whose last groups are smaller.
static void every_item_of_the_box_runs_once(void)
{
    struct hdi_fibers fibers = {0};
    uint32_t seen[3 * 5 * 7] = {0};
    hdi_fibers_init(&fibers);
    struct hdi_frame frame = {
        .args = seen,
        .global = {7, 5, 3},
        .offset = {100, 100, 100},
        .local_size = {3, 2, 2},
        .group_count = {3, 3, 2},
        .first = {1, 1, 0},
        .count = {2, 2, 2},
        .dims = 3,
        .services = &fibers.services,
    };
    const struct hdi_item_code code = {.run = note_ids,
                                       .flags = HDI_ITEMS_MEET};

    CHECK(run(&fibers, &frame, &code) == HD_OK);
    for (uint32_t z = 0; z < 3; z++)
        for (uint32_t y = 0; y < 5; y++)
            for (uint32_t x = 0; x < 7; x++)
                CHECK(seen[(z * 5 + y) * 7 + x] == (x >= 3 && y >= 2));
    hdi_fibers_free(&fibers);
}

static void part_ways(struct hdi_item *item)
{
    wait_at(item, item->local_id[0] == 3 ? 30 : 20);
}

static void first_leaves(struct hdi_item *item)
{
    if (item->local_id[0] > 0)
        twice(item);
}

static void items_that_part_are_an_error(void)
{
    struct hdi_fibers fibers = {0};
    struct trace trace = {0};
    hdi_fibers_init(&fibers);
    struct hdi_frame frame = frame_of(&fibers, &trace, 16, 8);
    struct hdi_item_code code = {.run = part_ways, .flags = HDI_ITEMS_MEET};

    CHECK(run(&fibers, &frame, &code) == HD_EFAULT);
    CHECK(strstr(fibers.message, "barrier not reached by all"));
    CHECK(strstr(fibers.message, "(3, 0, 0) waits at the barrier of line 30"));
    CHECK(strstr(fibers.message, "(0, 0, 0) waits at that of line 20"));
    // The stacks they wait on are gone, and the next launch has new ones.
    code.run = twice;
    CHECK(run(&fibers, &frame, &code) == HD_OK);
    CHECK(trace.count == 32);

    trace.count = 0;
    code.run = first_leaves;
    CHECK(run(&fibers, &frame, &code) == HD_OK);
    CHECK(trace.count == 28);
    code.flags |= HDI_ITEMS_DEBUG;
    CHECK(run(&fibers, &frame, &code) == HD_EFAULT);
    CHECK(strstr(fibers.message, "(0, 0, 0) has ended"));
    hdi_fibers_free(&fibers);
}

enum {
    BIG = 16 << 20
};

static void use_much(struct hdi_item *item)
{
    volatile char array[BIG];
    uint32_t id = (uint32_t)item->global_id[0];

    for (size_t i = 0; i < BIG; i += 4096)
        array[i] = (char)(id + i / 4096);
    wait_at(item, 1);
    for (size_t i = 0; i < BIG; i += 4096)
        CHECK(array[i] == (char)(id + i / 4096));
    note(item, 0);
}

static void private_memory_may_be_large(void)
{
    struct hdi_fibers fibers = {0};
    struct trace trace = {0};
    hdi_fibers_init(&fibers);
    struct hdi_frame frame = frame_of(&fibers, &trace, 8, 4);
    struct hdi_item_code code = {
        .run = use_much, .stack_bytes = BIG + 256, .flags = HDI_ITEMS_MEET};

    CHECK(run(&fibers, &frame, &code) == HD_OK);
    CHECK(run(&fibers, &frame, &code) == HD_OK);
    CHECK(trace.count == 16);
    code.stack_bytes = UINT64_MAX / 2;
    CHECK(run(&fibers, &frame, &code) == HD_ENOMEM);
    CHECK(strstr(fibers.message, "private memory of 4 work-items"));
    // So much could be mapped, and would be touched.
    code.stack_bytes = hdi_memory_share() / 4 + 4096;
    CHECK(run(&fibers, &frame, &code) == HD_ENOMEM);
    CHECK(strstr(fibers.message, "smaller work-groups"));
    hdi_fibers_free(&fibers);
}

static void round_up_after_a_barrier(struct hdi_item *item)
{
    double *sum = (double *)item->frame->args;
    double x = (double)item->global_id[0];

    for (int i = 0; i < 100; i++) {
        wait_at(item, 1);
        sum[item->local_id[0]] += x * i;
    }
    CHECK(fegetround() == FE_UPWARD);
}

// What registers hold, and the rounding mode of the caller.
static void values_survive_a_switch(void)
{
    struct hdi_fibers fibers = {0};
    double sum[16] = {0};
    int before = fegetround();
    hdi_fibers_init(&fibers);
    struct hdi_frame frame = frame_of(&fibers, sum, 16, 16);
    const struct hdi_item_code code = {.run = round_up_after_a_barrier,
                                       .flags = HDI_ITEMS_MEET};

    fesetround(FE_UPWARD);
    hd_status status = run(&fibers, &frame, &code);
    fesetround(before);
    CHECK(status == HD_OK);
    for (int i = 0; i < 16; i++)
        CHECK(sum[i] == 4950.0 * i);
    hdi_fibers_free(&fibers);
}

static void expect_filler(struct hdi_item *item)
{
    volatile unsigned char array[512];
    unsigned char *local = (unsigned char *)item->frame->local;
    uint32_t *same = (uint32_t *)item->frame->args;

    __asm__ __volatile__("" : "=m"(array)); // no longer undefined
    for (size_t i = 0; i < sizeof(array); i++)
        *same += array[i] == HDI_FILLER;
    CHECK(item->local_id[0] > 0 || local[item->frame->local_bytes - 1] == 0xa5);
    memset((void *)array, 0, sizeof(array));
    wait_at(item, 1);
    memset(local, 0, item->frame->local_bytes);
}

static void fresh_memory_is_filled_for_debugging(void)
{
    struct hdi_fibers fibers = {0};
    char local[256] = {0};
    uint32_t same = 0;
    hdi_fibers_init(&fibers);
    struct hdi_frame frame = frame_of(&fibers, &same, 12, 4);
    const struct hdi_item_code code = {.run = expect_filler,
                                       .stack_bytes = 1024,
                                       .flags =
                                           HDI_ITEMS_MEET | HDI_ITEMS_DEBUG};

    frame.local = local;
    frame.local_bytes = sizeof(local);
    CHECK(run(&fibers, &frame, &code) == HD_OK);
    CHECK(same == 12 * 512);
    hdi_fibers_free(&fibers);
}

// What `twice` is as a coroutine: its memory holds where it goes on.
struct memory {
    struct hdi_item *item;
    bool second;
    char rest[100];
};

static uint64_t memory_bytes, memory_alignment = 1;

static void *start_twice(struct hdi_item *item, void *memory)
{
    struct memory *m = memory;

    if (!m)
        return (void *)(uintptr_t)memory_bytes;
    CHECK((uintptr_t)m % memory_alignment == 0);
    m->item = item;
    m->second = false;
    note(item, 0);
    item->line = 7;
    item->state = HDI_ITEM_WAITS;
    return memory;
}

static void go_on_twice(void *memory)
{
    struct memory *m = memory;

    CHECK(!m->second);
    m->second = true;
    note(m->item, 1);
    m->item->state = HDI_ITEM_ENDED;
}

static void coroutines_take_the_same_steps(void)
{
    struct hdi_fibers fibers = {0};
    hdi_fibers_init(&fibers);
    const struct hdi_item_code code = {
        .start = start_twice, .resume = go_on_twice, .flags = HDI_ITEMS_MEET};
    const struct hdi_item_code stacks = {.run = twice, .flags = HDI_ITEMS_MEET};
    static const uint32_t locals[] = {10, 3, 20, 17};

    memory_bytes = sizeof(struct memory);
    // Between others on stacks, whose memory they do not share.
    for (unsigned k = 0; k < 8; k++) {
        struct trace trace = {0};
        uint32_t local = locals[k / 2], part = 0, item = 0;
        struct hdi_frame frame = frame_of(&fibers, &trace, 20, local);
        CHECK(run(&fibers, &frame, k % 2 ? &stacks : &code) == HD_OK);
        CHECK(trace.count == 40);
        for (uint32_t i = 0; i < 40; i++) {
            CHECK(trace.steps[i].item == item && trace.steps[i].part == part);
            item++;
            if (item % local != 0 && item < 20)
                continue;
            item = part ? item : (item - 1) / local * local;
            part = !part;
        }
    }
    struct trace none = {0};
    struct hdi_frame frame = frame_of(&fibers, &none, 8, 8);
    memory_bytes = UINT64_MAX / 2;
    CHECK(run(&fibers, &frame, &code) == HD_ENOMEM);
    hdi_fibers_free(&fibers);
}

// Whatever ran there before.
static void coroutines_are_aligned_as_their_size_is(void)
{
    struct hdi_fibers fibers = {0};
    hdi_fibers_init(&fibers);
    const struct hdi_item_code code = {
        .start = start_twice, .resume = go_on_twice, .flags = HDI_ITEMS_MEET};

    for (unsigned k = 0; k < 12; k++) {
        struct trace trace = {0};
        struct hdi_frame frame = frame_of(&fibers, &trace, 20, 20 - k);
        memory_alignment = k % 3 == 0 ? 64 : k % 3 == 1 ? 128 : 4096;
        memory_bytes = k % 3 == 0 ? 4160 : k % 3 == 1 ? 256 : 4096;
        CHECK(run(&fibers, &frame, &code) == HD_OK);
        CHECK(trace.count == 40);
    }
    memory_alignment = 1;
    hdi_fibers_free(&fibers);
}

static void *run_elsewhere(void *data)
{
    struct hdi_fibers *fibers = data;
    struct trace trace = {0};
    struct hdi_frame frame = frame_of(fibers, &trace, 8, 8);
    const struct hdi_item_code code = {.run = twice, .flags = HDI_ITEMS_MEET};

    CHECK(run(fibers, &frame, &code) == HD_OK);
    CHECK(trace.count == 16);
    return NULL;
}

// A unit belongs to whoever uses it at the time.
static void another_thread_may_go_on(void)
{
    struct hdi_fibers fibers = {0};
    hdi_fibers_init(&fibers);

    run_elsewhere(&fibers);
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, run_elsewhere, &fibers) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
    }
    hdi_fibers_free(&fibers);
}

int main(void)
{
    without_a_barrier_each_runs_from_start_to_end();
    with_a_barrier_all_come_there_first();
    every_item_of_the_box_runs_once();
    items_that_part_are_an_error();
    private_memory_may_be_large();
    values_survive_a_switch();
    fresh_memory_is_filled_for_debugging();
    coroutines_take_the_same_steps();
    coroutines_are_aligned_as_their_size_is();
    another_thread_may_go_on();
    return 0;
}
