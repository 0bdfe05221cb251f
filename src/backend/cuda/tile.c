// The persistent executor's side on the GPU: started once, fed through
// mailboxes. Compiled for nvptx64 by the build and linked by the driver with
// the user's kernels, which hdx_call() chooses from; the host's end is
// executor.c.
//
// The letters are the steps of backend/mailbox.h. Between the barriers of a
// round the task does not change; outside them only the thread of rank 0 acts.
#include "backend/cuda/tile.h"

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

static inline uint32_t local_begin(void)
{
    uint32_t before = HDX_TILES * (uint32_t)(sizeof(struct hdi_device_launch) +
                                             sizeof(struct hdx_tile));
    return (before + 127) / 128 * 128 + place() * HDX_LOCAL;
}

// Barrier 0 is the whole block's: nobody uses it.
static inline void meet(void)
{
    __nvvm_barrier_sync_cnt((int)(1 + 2 * place()),
                            (int)__nvvm_read_ptx_sreg_ntid_x());
}

static void pause_for(uint32_t round)
{
    uint32_t ns = round < 6 ? 20u << round : 1000;
    __asm__ __volatile__("nanosleep.u32 %0;" : : "r"(ns));
}

// Copy task `number`, once it is there. False: the host has given us up.
static bool fetch(struct hdx_desk *desk, enum hdi_mailbox_mode mode,
                  uint64_t number)
{
    struct hdi_mailbox *m = &desk->mailbox;
    SHARED struct hdx_tile *t = tile();

    for (uint32_t round = 0; !hdu_mailbox_rang(m, mode, number); // a
         round += round < UINT32_MAX) {
        if (hdi_word_load(&m->given_up))
            return false;
        pause_for(round);
    }
    hdi_word_acquire(); // b
    hdi_word_store(&m->started, number);
    hdi_word_settle();
    if (hdi_word_load(&m->given_up))
        return false;

    const struct hdi_mailbox_slot *slot = hdi_mailbox_task(m, mode, number);
    SHARED uint64_t *task = (SHARED uint64_t *)&t->task,
                    *shape = (SHARED uint64_t *)&t->shape;
    for (unsigned i = 0; i < HDI_TASK_WORDS; i++)
        task[i] = hdi_word_load(&slot->task[i]); // c
    for (unsigned i = 0; t->task.reshaped && i < HDI_SHAPE_WORDS; i++)
        shape[i] = hdi_word_load(&slot->shape[i]);
    return true;
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
    l->local = local_begin();
    l->barrier = 2 + 2 * place();
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
    uint32_t index =
        (uint32_t)__nvvm_read_ptx_sreg_ctaid_x() * HDX_TILES + place();
    struct hdx_desk *desk = (struct hdx_desk *)start.desks + index;
    SHARED struct hdx_tile *t = tile();
    uint64_t heartbeat = 0;

    if (index >= start.tiles)
        return;
    for (uint64_t number = 1;; number++) {
        if (rank() == 0) {
            t->stay = fetch(desk, mode, number);
            if (t->stay && t->task.opcode == HDI_OP_RUN)
                describe(start.print);
        }
        meet();
        if (!t->stay)
            return;
        bool leave = t->task.opcode != HDI_OP_RUN;
        if (!leave)
            run(desk, number, &heartbeat);
        // What other threads wrote is seen with the answer.
        hdi_word_release();
        meet();
        if (rank() == 0)
            complete(desk, mode, number);
        if (leave)
            return;
    }
}
