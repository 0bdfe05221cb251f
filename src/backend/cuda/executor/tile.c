// The persistent executor's side on the GPU: started once, fed through
// mailboxes. Compiled for nvptx64 by the build and linked by the driver with
// the user's kernels, which hdx_call() chooses from; the host's end is
// executor.c.
//
// The letters are the steps of backend/mailbox.h. Between the barriers of a
// round the task does not change; outside them only the thread of rank 0 acts.
#include "backend/cuda/executor/tile.h"

#include "backend/list.c"

#define SHARED __attribute__((address_space(3)))

// Run the kernel of this number for the calling thread: PTX that the host
// writes.
extern void hdx_call(uint32_t kernel);

extern SHARED unsigned char hdu_local[] __attribute__((aligned(128)));

static inline uint32_t rank(void)
{
    return (uint32_t)__nvvm_read_ptx_sreg_tid_x();
}

static inline uint32_t place(void)
{
    return (uint32_t)__nvvm_read_ptx_sreg_tid_y();
}

static inline SHARED struct hdi_device_launch *launch_of_tile(void)
{
    return (SHARED struct hdi_device_launch *)hdu_local + place();
}

static inline SHARED struct hdx_tile *tile(void)
{
    return (SHARED struct hdx_tile *)(hdu_local +
                                      HDX_TILES *
                                          sizeof(struct hdi_device_launch)) +
           place();
}

// Nobody uses a barrier of the whole block.
static inline void meet(void)
{
    __nvvm_barrier_sync_cnt((int)(2 * place()),
                            (int)__nvvm_read_ptx_sreg_ntid_x());
}

static void pause_for(uint32_t round)
{
    uint32_t ns = round < 6 ? 20u << round : 1000;
    __asm__ __volatile__("nanosleep.u32 %0;" : : "r"(ns));
}

enum {
    LEAVE, // the host has given us up
    TASK,  // there is one
    HELP   // there is a list to help with
};

uint64_t hdu_list_now(void)
{
    uint64_t now;
    __asm__ __volatile__("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

void hdu_list_pause(void)
{
    pause_for(3);
}

// Whether this tile has the local memory that the list needs; where it is. Of a
// list that was entered, or is its own.
static bool find_region(const struct hdi_list *list, uint32_t index)
{
    uint32_t region =
        list->regions ? ((const uint32_t *)list->regions)[index] : 0;

    tile()->region = region;
    return region != HDI_NO_REGION;
}

// Whether there is a list to help with; this tile has entered it then.
static bool find_list(struct hdi_list_door *door, uint32_t index)
{
    struct hdi_list *list = hdu_list_enter(door);

    if (!list)
        return false;
    if (!find_region(list, index)) {
        hdu_list_leave(door);
        return false;
    }
    tile()->list = (uint64_t)list;
    return true;
}

// Copy task `number`, once it is there, unless there is a list to help with.
static uint32_t fetch(struct hdx_desk *desk, enum hdi_mailbox_mode mode,
                      uint64_t number, uint32_t index,
                      struct hdi_list_door *door)
{
    struct hdi_mailbox *m = &desk->mailbox;
    SHARED struct hdx_tile *t = tile();

    for (uint32_t round = 0; !hdu_mailbox_rang(m, mode, number); // a
         round += round < UINT32_MAX) {
        if (hdi_word_load(&m->given_up))
            return LEAVE;
        if (find_list(door, index))
            return HELP;
        pause_for(round);
    }
    hdi_word_acquire(); // b
    hdi_word_store(&m->started, number);
    hdi_word_settle();
    if (hdi_word_load(&m->given_up))
        return LEAVE;

    const struct hdi_mailbox_slot *slot = hdi_mailbox_task(m, mode, number);
    SHARED uint64_t *task = (SHARED uint64_t *)&t->task,
                    *shape = (SHARED uint64_t *)&t->shape;
    for (unsigned i = 0; i < HDI_TASK_WORDS; i++)
        task[i] = hdi_word_load(&slot->task[i]); // c
    for (unsigned i = 0; t->task.reshaped && i < HDI_SHAPE_WORDS; i++)
        shape[i] = hdi_word_load(&slot->shape[i]);
    return TASK;
}

// What is the same for all work-groups of the task.
static void describe(uint64_t print)
{
    SHARED struct hdi_device_launch *l = launch_of_tile();
    SHARED const struct hdx_tile *t = tile();

    for (unsigned d = 0; d < 3; d++) {
        l->global[d] = t->shape.global[d];
        l->offset[d] = t->shape.offset[d];
        l->local_size[d] = t->shape.local_size[d];
        l->group_count[d] = t->shape.group_count[d];
        l->size[d] = t->shape.local_size[d];
    }
    l->items = l->size[0] * l->size[1] * l->size[2];
    l->dims = t->task.dims;
    l->local = HDX_BASE + t->task.local * HDI_MEMORY_UNIT;
    l->barrier = 1 + 2 * place();
    l->args = t->task.args;
    l->print = print;
}

// Every work-group of the task, x fastest.
static void run(struct hdx_desk *desk, uint64_t number, uint64_t *heartbeat)
{
    SHARED struct hdi_device_launch *l = launch_of_tile();
    SHARED struct hdx_tile *t = tile();
    uint32_t x = t->task.count[0], y = t->task.count[1];
    uint64_t groups = (uint64_t)x * y * t->task.count[2];

    for (uint64_t g = 0; g < groups; g++) {
        if (rank() == 0) {
            l->first[0] = t->task.first[0] + (uint32_t)(g % x);
            l->first[1] = t->task.first[1] + (uint32_t)(g / x % y);
            l->first[2] = t->task.first[2] + (uint32_t)(g / x / y);
            t->wanted = hdi_word_load(&desk->stop) < number;
            hdi_word_store(&desk->heartbeat, ++*heartbeat);
        }
        meet();
        if (!t->wanted)
            return;
        if (rank() < l->items)
            hdx_call((uint32_t)t->task.entry);
        meet();
    }
}

// Lists -----------------------------------------------------------------------

// What is the same for all work-groups of a pass.
static void describe_pass(const struct hdi_list_pass *p, uint64_t print)
{
    SHARED struct hdi_device_launch *l = launch_of_tile();

    for (unsigned d = 0; d < 3; d++) {
        l->global[d] = p->shape.global[d];
        l->offset[d] = p->shape.offset[d];
        l->local_size[d] = p->shape.local_size[d];
        l->group_count[d] = p->shape.group_count[d];
        l->size[d] = p->shape.local_size[d];
    }
    l->items = l->size[0] * l->size[1] * l->size[2];
    l->dims = p->dims;
    l->local = HDX_BASE + tile()->region;
    l->barrier = 1 + 2 * place();
    l->args = p->args;
    l->print = print;
}

// A work-group of the list for all threads, or why there is none. A helper goes
// when it has a task of its own.
static uint32_t claim(struct hdx_desk *desk, struct hdi_list *list,
                      enum hdi_mailbox_mode mode, uint64_t number, bool helps,
                      uint64_t print, uint64_t *heartbeat)
{
    SHARED struct hdi_device_launch *l = launch_of_tile();
    SHARED struct hdx_tile *t = tile();
    uint64_t progress = 0, group = 0;
    uint32_t pass = 0;

    for (uint32_t round = 0;; round += round < UINT32_MAX) {
        enum hdu_list_next next = HDU_LIST_OVER;
        if (!(helps && hdu_mailbox_rang(&desk->mailbox, mode, number)) &&
            !(!helps && hdi_word_load(&desk->stop) >= number))
            next = hdu_list_claim(list, &pass, &group);
        uint64_t now = hdi_word_load(&list->progress);
        if (next == HDU_LIST_GROUP || now != progress)
            hdi_word_store(&desk->heartbeat, ++*heartbeat);
        progress = now;
        if (next == HDU_LIST_OVER)
            return next;
        if (next == HDU_LIST_GROUP)
            break;
        pause_for(round);
    }
    const struct hdi_list_pass *p = hdi_list_at(list, pass);
    uint32_t x = p->count[0], y = p->count[1];
    describe_pass(p, print);
    l->first[0] = p->first[0] + (uint32_t)(group % x);
    l->first[1] = p->first[1] + (uint32_t)(group / x % y);
    l->first[2] = p->first[2] + (uint32_t)(group / x / y);
    t->pass = pass;
    t->entry = (uint32_t)p->entry;
    hdi_word_store(&desk->pass, p->of);
    hdi_word_store(&desk->list, t->list);
    return HDU_LIST_GROUP;
}

// Work on t->list, with all threads, until it is over.
static void work_off(struct hdx_desk *desk, enum hdi_mailbox_mode mode,
                     uint64_t number, bool helps, uint64_t print,
                     uint64_t *heartbeat)
{
    SHARED struct hdi_device_launch *l = launch_of_tile();
    SHARED struct hdx_tile *t = tile();

    for (;;) {
        struct hdi_list *list = (struct hdi_list *)t->list;
        if (rank() == 0)
            t->wanted =
                claim(desk, list, mode, number, helps, print, heartbeat);
        meet();
        if (t->wanted == HDU_LIST_OVER)
            return;
        if (rank() < l->items)
            hdx_call(t->entry);
        __asm__ __volatile__("fence.acq_rel.gpu;" ::: "memory");
        meet();
        if (rank() == 0) {
            hdi_word_store(&desk->list, 0);
            hdu_list_end(list, t->pass);
        }
    }
}

// The task is a list, which others may help with. With all threads.
static void begin_list(uint32_t index, const struct hdx_start *start)
{
    SHARED struct hdx_tile *t = tile();
    struct hdi_list *list = (struct hdi_list *)t->task.args;

    hdu_list_clear(list, rank(), (uint32_t)__nvvm_read_ptx_sreg_ntid_x());
    __asm__ __volatile__("fence.acq_rel.gpu;" ::: "memory");
    meet();
    if (rank() == 0) {
        t->list = t->task.args;
        find_region(list, index);
        hdu_list_begin(list);
        hdu_list_show((struct hdi_list_door *)start->doors[0], list);
        if (start->doors[1] && list->classes == HDX_BOTH)
            hdu_list_show((struct hdi_list_door *)start->doors[1], list);
    }
    meet();
}

static void end_list(const struct hdx_start *start)
{
    struct hdi_list *list = (struct hdi_list *)tile()->list;

    hdu_list_hide((struct hdi_list_door *)start->doors[0], list);
    if (start->doors[1])
        hdu_list_hide((struct hdi_list_door *)start->doors[1], list);
}

// One bit and no code: work-groups have no way to fail but a fault, which ends
// the whole context.
static void complete(struct hdx_desk *desk, enum hdi_mailbox_mode mode,
                     uint64_t number)
{
    hdi_word_store(hdi_mailbox_completion(&desk->mailbox, mode, number, 0),
                   1);                                // d
    hdu_mailbox_answer(&desk->mailbox, mode, number); // e, f
}

__attribute__((nvptx_kernel)) void hdx_serve(struct hdx_start start);

__attribute__((nvptx_kernel)) void hdx_serve(struct hdx_start start)
{
    enum hdi_mailbox_mode mode = (enum hdi_mailbox_mode)start.mode;
    uint32_t index = (uint32_t)__nvvm_read_ptx_sreg_ctaid_x() *
                         (uint32_t)__nvvm_read_ptx_sreg_ntid_y() +
                     place();
    struct hdx_desk *desk = (struct hdx_desk *)start.desks + index;
    SHARED struct hdx_tile *t = tile();
    uint64_t heartbeat = 0;

    if (index >= start.tiles)
        return;
    struct hdi_list_door *door = (struct hdi_list_door *)start.doors[0];

    for (uint64_t number = 1;;) {
        if (rank() == 0) {
            t->stay = fetch(desk, mode, number, start.first + index, door);
            if (t->stay == TASK && t->task.opcode == HDI_OP_RUN)
                describe(start.print);
        }
        meet();
        uint32_t stay = t->stay;
        if (stay == LEAVE)
            return;
        uint32_t opcode = stay == HELP ? HDI_OP_LIST : t->task.opcode;
        if (opcode == HDI_OP_LIST && stay == TASK)
            begin_list(start.first + index, &start);
        if (opcode == HDI_OP_LIST)
            work_off(desk, mode, number, stay == HELP, start.print, &heartbeat);
        else if (opcode == HDI_OP_RUN)
            run(desk, number, &heartbeat);
        // What other threads wrote is seen with the answer.
        hdi_word_release();
        meet();
        if (rank() == 0 && stay == HELP)
            hdu_list_leave(door);
        if (rank() == 0 && stay == TASK) {
            if (opcode == HDI_OP_LIST)
                end_list(&start);
            complete(desk, mode, number);
        }
        if (opcode == HDI_OP_DISCONNECT)
            return;
        number += stay == TASK;
    }
}
