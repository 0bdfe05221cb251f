// The unit loop: poll, divide, run, complete. The letters in the comments
// are the steps in mailbox.h.
//
// Invariant: between the two barriers of a round the task does not change and
// each core writes its own code only; outside them only the primary core acts.
// So no core is in a task while another is in the next, and the completion data
// of a task lies in its mailbox before its answer does.
#include "backend/unit.h"

// Copy task `number`, once it is there. False: the worker has given us up.
static bool fetch(struct hdu_unit *unit, uint64_t number)
{
    struct hdi_mailbox *m = unit->mailbox;

    for (uint32_t round = 0; !hdu_mailbox_rang(m, unit->mode, number); // a
         round += round < UINT32_MAX) {
        if (hdi_word_load(&m->given_up))
            return false;
        hdu_pause(unit, number, round);
    }
    hdi_word_acquire(); // b
    // Announce it before looking whether it is still ours to run.
    hdi_word_store(&m->started, number);
    hdi_word_settle();
    if (hdi_word_load(&m->given_up))
        return false;

    const struct hdi_mailbox_slot *slot =
        hdi_mailbox_task(m, unit->mode, number);
    for (unsigned i = 0; i < HDI_TASK_WORDS; i++)
        unit->words[i] = hdi_word_load(&slot->task[i]); // c
    hdu_mailbox_clear(m, unit->mode, number, unit->cores);
    if (unit->task.reshaped) {
        union {
            uint64_t words[HDI_SHAPE_WORDS];
            struct hdi_unit_shape shape;
        } shape;
        for (unsigned i = 0; i < HDI_SHAPE_WORDS; i++)
            shape.words[i] = hdi_word_load(&slot->shape[i]);
        unit->shape = shape.shape;
        unit->shaped = number;
    }
    return true;
}

static uint32_t least(uint64_t a, uint64_t b)
{
    return (uint32_t)(a < b ? a : b);
}

// Run the groups [at, end) of the task's box, counted x fastest: the rest of a
// row, whole rows, the rest of a plane, and so on; five boxes at most.
static uint32_t run_part(struct hdu_unit *unit, uint32_t rank, uint64_t at,
                         uint64_t end)
{
    const struct hdi_unit_task *t = &unit->task;
    uint64_t row = t->count[0], plane = row * t->count[1];

    while (at < end) {
        uint64_t left = end - at, in_plane = at % plane;
        uint32_t from[3] = {(uint32_t)(in_plane % row),
                            (uint32_t)(in_plane / row), (uint32_t)(at / plane)};
        uint32_t count[3] = {t->count[0], t->count[1], 1};
        if (from[0] != 0 || left < row) {
            count[0] = least(row - from[0], left);
            count[1] = 1;
        } else if (from[1] != 0 || left < plane) {
            count[1] = least(t->count[1] - from[1], left / row);
        } else {
            count[2] = (uint32_t)(left / plane);
        }
        at += (uint64_t)count[0] * count[1] * count[2];
        for (unsigned i = 0; i < 3; i++)
            from[i] += t->first[i];
        uint32_t code = hdu_run(unit, rank, from, count);
        if (code)
            return code;
    }
    return 0;
}

// This core's share of the task: parts differ by one group at most.
static uint32_t run_share(struct hdu_unit *unit, uint32_t rank, uint32_t parts)
{
    const uint32_t *count = unit->task.count;

    if (parts == 1)
        return hdu_run(unit, rank, unit->task.first, count);
    uint64_t groups = (uint64_t)count[0] * count[1] * count[2];
    uint64_t each = groups / parts, more = groups % parts;
    uint64_t at = each * rank + least(rank, more);
    return run_part(unit, rank, at, at + each + (rank < more));
}

// Store the codes of 64 cores in whole words; those of success are not read.
static void put_codes(hdi_word *codes, const uint8_t code[64])
{
    for (uint32_t i = 0; i < 64; i += 8) {
        uint64_t word = 0;
        for (uint32_t j = 0; j < 8; j++)
            word |= (uint64_t)code[i + j] << 8 * j;
        hdi_word_store(&codes[i / 8], word);
    }
}

// Bring the bits and codes together in whole words, and answer.
static void complete(struct hdu_unit *unit, uint64_t number, uint32_t parts)
{
    struct hdi_mailbox *m = unit->mailbox;
    struct hdi_unit_result *r = &m->results[hdi_mailbox_slot(number)];

    for (uint32_t first = 0; first < parts; first += 64) {
        uint32_t count = parts - first < 64 ? parts - first : 64;
        uint64_t bits = 0;
        for (uint32_t i = 0; i < count; i++)
            bits |= (uint64_t)(unit->codes[first + i] == 0) << i;
        if (bits != UINT64_MAX >> (64 - count))
            put_codes(&r->codes[first / 8], &unit->codes[first]);
        hdi_word_store(
            hdi_mailbox_completion(m, unit->mode, number, first / 64),
            bits); // d
    }
    hdu_mailbox_answer(m, unit->mode, number); // e, f
}

void hdu_unit_serve(struct hdu_unit *unit, uint32_t rank)
{
    for (uint64_t number = 1;; number++) {
        if (rank == 0)
            unit->stay = fetch(unit, number);
        hdu_barrier(unit, rank);
        if (!unit->stay)
            return;

        uint32_t parts = 0;
        bool leave = unit->task.opcode != HDI_OP_RUN;
        if (!leave)
            parts = hdu_parts(unit->task.count, unit->cores);
        if (rank < parts) {
            uint32_t code = run_share(unit, rank, parts);
            unit->codes[rank] = (uint8_t)(code < 255 ? code : 255);
        }
        hdu_barrier(unit, rank);
        if (rank == 0)
            complete(unit, number, parts);
        if (leave)
            return;
    }
}
