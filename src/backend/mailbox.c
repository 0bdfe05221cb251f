// The worker's side of a mailbox. The letters and numbers of the comments are
// the steps in mailbox.h.
#include "backend/mailbox.h"

#include <linux/membarrier.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

bool hdi_mailbox_can_settle(void)
{
    return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0,
                   0) == 0;
}

void hdi_mailbox_settle(void)
{
    atomic_thread_fence(memory_order_seq_cst);
    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

void hdi_mailbox_open(struct hdi_mailbox_end *end, struct hdi_mailbox *mailbox,
                      enum hdi_mailbox_mode mode, uint32_t cores)
{
    *end = (struct hdi_mailbox_end){
        .mailbox = mailbox, .mode = mode, .cores = cores};
}

static void put_shape(struct hdi_mailbox_end *end,
                      struct hdi_mailbox_slot *slot,
                      const struct hdi_unit_shape *shape)
{
    uint64_t words[HDI_SHAPE_WORDS];

    end->shape = *shape;
    memcpy(words, shape, sizeof(words));
    for (unsigned i = 0; i < HDI_SHAPE_WORDS; i++)
        hdi_word_store(&slot->shape[i], words[i]);
}

// A store to the slot waits for its line, which the unit had last, and later
// stores wait behind it. A load of what is still in that queue in pieces (a
// word whose members were stored one by one) would wait, too, for as long as a
// line takes: so the words are read before the first of those stores.
bool hdi_mailbox_submit(struct hdi_mailbox_end *end,
                        const struct hdi_unit_task *task,
                        const struct hdi_unit_shape *shape)
{
    struct hdi_mailbox *m = end->mailbox;
    uint64_t room = end->mode == HDI_DOORBELL ? 1 : HDI_MAILBOX_RING;

    // Full by what was seen; look again (4, 5) before saying so.
    if (end->submitted - end->done == room &&
        end->submitted - hdi_mailbox_done(end) == room)
        return false;

    uint64_t number = end->submitted + 1;
    struct hdi_mailbox_slot *slot = hdi_mailbox_task(m, end->mode, number);
    union {
        struct hdi_unit_task task;
        uint64_t words[HDI_TASK_WORDS];
    } t = {.task = *task};
    t.task.reshaped = shape != NULL;
    uint64_t words[HDI_TASK_WORDS];
    for (unsigned i = 0; i < HDI_TASK_WORDS; i++)
        words[i] = t.words[i];
    atomic_signal_fence(memory_order_seq_cst);

    if (end->mode == HDI_DOORBELL)
        for (uint32_t i = 0; i < end->cores; i += 64)
            hdi_word_store(hdi_mailbox_completion(m, HDI_DOORBELL, 1, i / 64),
                           0); // 1
    if (shape)
        put_shape(end, slot, shape);
    for (unsigned i = 0; i < HDI_TASK_WORDS; i++)
        hdi_word_store(&slot->task[i], words[i]);
    hdi_word_release();                                               // 2
    hdi_word_store(&slot->bell, hdi_mailbox_bell(end->mode, number)); // 3
    end->submitted = number;
    return true;
}

uint64_t hdi_mailbox_done(struct hdi_mailbox_end *end)
{
    if (end->done == end->submitted)
        return end->done;

    struct hdi_mailbox *m = end->mailbox;
    uint64_t done = end->mode == HDI_RING ? hdi_word_load(&m->done)
                    : hdi_word_load(&m->slots[0].bell) == 0 ? end->submitted
                                                            : end->done; // 4
    if (done == end->done) {
        hdi_mailbox_hold_off(end->vain == 0 ? end->patience.hold
                                            : HDI_HOLD_AGAIN);
        end->vain += end->vain < UINT32_MAX;
        return done;
    }
    hdi_word_acquire(); // 5
    hdi_mailbox_learn(&end->patience, end->vain);
    end->vain = 0;
    end->done = done;
    // Where the next task goes, while the unit, which has just looked there,
    // holds off. Named by the answer, since a processor that guesses the way
    // here would claim it before that look.
    if (end->mode == HDI_RING && done == end->submitted)
        hdi_word_claim(&hdi_mailbox_task(m, HDI_RING, done + 1)->bell);
    return done;
}

uint32_t hdi_mailbox_code(const struct hdi_mailbox_end *end, uint64_t number,
                          uint32_t part)
{
    const struct hdi_unit_result *r =
        &end->mailbox->results[hdi_mailbox_slot(number)];
    if (hdi_word_load(hdi_mailbox_completion(end->mailbox, end->mode, number,
                                             part / 64)) >>
            part % 64 &
        1)
        return 0;
    return (uint32_t)(hdi_word_load(&r->codes[part / 8]) >> part % 8 * 8) & 255;
}

uint32_t hdi_mailbox_result(const struct hdi_mailbox_end *end, uint64_t number,
                            uint32_t parts, uint32_t *part)
{
    for (uint32_t i = 0; i < parts; i += 64) {
        uint64_t had =
            parts - i < 64 ? (UINT64_C(1) << (parts - i)) - 1 : UINT64_MAX;
        uint64_t failed =
            had & ~hdi_word_load(hdi_mailbox_completion(end->mailbox, end->mode,
                                                        number, i / 64)); // 6
        if (failed) {
            *part = i + (uint32_t)__builtin_ctzll(failed);
            return hdi_mailbox_code(end, number, *part);
        }
    }
    return 0;
}

uint64_t hdi_mailbox_give_up(struct hdi_mailbox_end *end)
{
    hdi_word_store(&end->mailbox->given_up, 1);
    hdi_mailbox_settle();
    return hdi_word_load(&end->mailbox->started);
}
