// The worker's side of a mailbox, and what lies where; this thread plays the
// unit, too.
#include "backend/mailbox.h"

#include <string.h>

#include "backend/unit.h"
#include "tests/check.h"

static struct hdi_mailbox mailbox;

static struct hdi_mailbox_end open_end(enum hdi_mailbox_mode mode,
                                       uint32_t cores)
{
    struct hdi_mailbox_end end;
    memset(&mailbox, 0, sizeof(mailbox));
    hdi_mailbox_open(&end, &mailbox, mode, cores);
    return end;
}

static uint64_t line_of(const void *address)
{
    return (uint64_t)(uintptr_t)address / 64;
}

// What moves when a task goes over and its result comes back.
static void a_job_is_one_line_there_and_back(void)
{
    const struct hdi_mailbox_slot *slot = &mailbox.slots[0];

    CHECK(line_of(&slot->bell) == line_of(&slot->task[HDI_TASK_WORDS - 1]));
    CHECK(line_of(&slot->bell) ==
          line_of(hdi_mailbox_completion(&mailbox, HDI_DOORBELL, 1, 0)));
    CHECK(line_of(&slot->bell) != line_of(&slot->shape[0]));
    CHECK(line_of(&mailbox.done) ==
          line_of(hdi_mailbox_completion(&mailbox, HDI_RING, 1, 0)));
    CHECK(line_of(&mailbox.done) != line_of(&mailbox.given_up));
    CHECK(line_of(&mailbox.started) != line_of(&mailbox.given_up));
}

static void answer(enum hdi_mailbox_mode mode, uint64_t number, uint64_t bits,
                   uint64_t codes)
{
    CHECK(hdu_mailbox_rang(&mailbox, mode, number));
    hdi_word_store(&mailbox.results[hdi_mailbox_slot(number)].codes[0], codes);
    hdi_word_store(hdi_mailbox_completion(&mailbox, mode, number, 0), bits);
    hdu_mailbox_answer(&mailbox, mode, number);
}

static const struct hdi_unit_task run = {.opcode = HDI_OP_RUN,
                                         .count = {1, 1, 1}};
static const struct hdi_unit_shape shape = {.global = {1, 1, 1}};

// 1 there and 0 back, and no success of an earlier task.
static void the_doorbell_rings_with_nothing_completed(void)
{
    struct hdi_mailbox_end end = open_end(HDI_DOORBELL, 70);
    hdi_word *high = hdi_mailbox_completion(&mailbox, HDI_DOORBELL, 1, 1);
    uint32_t part = 0;

    for (uint64_t number = 1; number < 20; number++) {
        CHECK(hdi_mailbox_submit(&end, &run, &shape));
        CHECK(hdi_word_load(&mailbox.slots[0].bell) == 1);
        CHECK(hdi_word_load(&mailbox.slots[0].completion) == 0);
        CHECK(hdi_word_load(high) == 0);
        CHECK(!hdi_mailbox_submit(&end, &run, &shape));
        CHECK(hdi_mailbox_done(&end) == number - 1);
        hdi_word_store(high, 63);
        answer(HDI_DOORBELL, number, UINT64_MAX, 0);
        CHECK(hdi_word_load(&mailbox.slots[0].bell) == 0);
        CHECK(hdi_mailbox_done(&end) == number);
        CHECK(hdi_mailbox_result(&end, number, 70, &part) == 0);
    }
    CHECK(hdi_mailbox_submit(&end, &run, &shape));
    answer(HDI_DOORBELL, 20, 5, 7 << 8); // part 1 of 0 to 2 failed
    CHECK(hdi_mailbox_done(&end) == 20);
    CHECK(hdi_mailbox_result(&end, 20, 3, &part) == 7 && part == 1);
    CHECK(hdi_mailbox_code(&end, 20, 2) == 0);
}

static void a_ring_holds_as_many_as_it_has_slots(void)
{
    struct hdi_mailbox_end end = open_end(HDI_RING, 1);
    uint64_t number = 1, answered = 0;
    uint32_t part;

    for (int round = 0; round < 5; round++) {
        while (hdi_mailbox_submit(&end, &run, &shape))
            CHECK(!hdu_mailbox_rang(&mailbox, HDI_RING, ++number));
        CHECK(end.submitted - answered == HDI_MAILBOX_RING);
        for (int i = 0; i < 3; i++) {
            bool fails = ++answered % 2 == 0;
            hdi_word *bits =
                hdi_mailbox_completion(&mailbox, HDI_RING, answered, 0);
            hdi_word_store(bits, 1); // of eight tasks before, say
            hdu_mailbox_clear(&mailbox, HDI_RING, answered, 1);
            CHECK(hdi_word_load(bits) == 0);
            answer(HDI_RING, answered, !fails, fails ? 9 : 0);
            CHECK(hdi_mailbox_done(&end) == answered);
            CHECK(hdi_mailbox_result(&end, answered, 1, &part) ==
                  (fails ? 9 : 0));
        }
    }
}

// The shape of a launch goes over with its first task only.
static void a_shape_goes_over_when_it_changes(void)
{
    static const bool changes[] = {true,  false, true,  true,
                                   false, false, false, true};
    struct hdi_mailbox_end end = open_end(HDI_RING, 1);
    struct hdi_frame frame = {.offset = {3}};
    struct hdi_unit_shape s, seen = {{0}, {0}, {0}, {0}, 0, 0};

    for (uint64_t number = 1; number <= 8; number++) {
        struct hdi_mailbox_slot *slot = &mailbox.slots[number % 8];
        uint64_t words[HDI_SHAPE_WORDS];
        struct hdi_unit_task task;

        frame.local_size[0] += changes[number - 1];
        s = hdi_mailbox_shape(&frame, 1, 2);
        CHECK(hdi_mailbox_submit(
            &end, &run, hdi_mailbox_is_shaped(&end, &frame, 1, 2) ? NULL : &s));
        for (unsigned i = 0; i < HDI_TASK_WORDS; i++)
            words[i] = hdi_word_load(&slot->task[i]);
        memcpy(&task, words, sizeof(task));
        CHECK(task.reshaped == changes[number - 1]);
        for (unsigned i = 0; i < HDI_SHAPE_WORDS; i++)
            words[i] = hdi_word_load(&slot->shape[i]);
        if (task.reshaped)
            memcpy(&seen, words, sizeof(seen));
        CHECK(memcmp(&seen, &s, sizeof(s)) == 0);
    }
}

// A look that was too early makes a side wait longer, eight in time less.
static void a_side_learns_when_to_look(void)
{
    struct hdi_mailbox_patience p = {0};

    for (uint32_t i = 1; i < 2 * HDI_HOLD_MAX; i++) {
        hdi_mailbox_learn(&p, 2);
        CHECK(p.hold == (i < HDI_HOLD_MAX ? i : HDI_HOLD_MAX));
    }
    for (int i = 0; i < 100; i++)
        hdi_mailbox_learn(&p, 0); // was there at once: says nothing
    CHECK(p.hold == HDI_HOLD_MAX);
    for (uint32_t i = 0; i < 8 * HDI_HOLD_MAX; i++) {
        CHECK(p.hold == HDI_HOLD_MAX - i / 8);
        hdi_mailbox_learn(&p, 1);
    }
    for (int i = 0; i < 20; i++)
        hdi_mailbox_learn(&p, 1);
    CHECK(p.hold == 0);
}

int main(void)
{
    a_side_learns_when_to_look();
    a_job_is_one_line_there_and_back();
    the_doorbell_rings_with_nothing_completed();
    a_ring_holds_as_many_as_it_has_slots();
    a_shape_goes_over_when_it_changes();
    return 0;
}
