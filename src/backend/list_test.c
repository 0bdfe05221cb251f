// Lists that threads work off, instead of tiles of a GPU: every work-group runs
// once and after all that it comes after, appended passes among them.
#include "backend/list.c"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "tests/check.h"

enum {
    UNITS = 3,
    PASSES = 60,
    MORE = 20, // appended
    EDGES = 4 * PASSES,
    ROUNDS = 40
};

static struct hdi_list list;
static struct hdi_list_pass passes[PASSES + 1 + MORE];
static hdi_word ready[PASSES + 1 + MORE];
static uint32_t edges[EDGES + PASSES + 1];
static uint32_t input[PASSES][PASSES], inputs[PASSES];
static struct {
    uint32_t count;
    struct hdi_list_request at[4];
} requests;
static const uint32_t appends = PASSES / 2; // the pass that does

// Plain memory: the list alone orders who writes and who reads it.
static uint32_t results[PASSES][8];
static uint32_t of_appended;
static atomic_uint appended_ran;

static unsigned seed;

static unsigned draw(unsigned n)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % n;
}

uint64_t hdu_list_now(void)
{
    return hdi_now();
}

void hdu_list_pause(void)
{
    sched_yield();
}

// Any graph whose edges go up; pass PASSES is the one that is appended.
static void make(unsigned number)
{
    uint32_t count = 0;

    seed = number;
    memset(passes, 0, sizeof(passes));
    memset(inputs, 0, sizeof(inputs));
    list = (struct hdi_list){.passes_count = PASSES + 1,
                             .room = PASSES + 1 + MORE,
                             .requests_room = 4,
                             .runs = PASSES,
                             .passes = (uint64_t)(uintptr_t)passes,
                             .edges = (uint64_t)(uintptr_t)edges,
                             .ready = (uint64_t)(uintptr_t)ready};
    for (uint32_t i = 0; i <= PASSES; i++) {
        struct hdi_list_pass *p = &passes[i];
        p->entry = i;
        p->count[0] = 1 + draw(4);
        p->count[1] = 1 + draw(2);
        p->count[2] = 1;
        p->after = count;
        for (unsigned k = draw(4); k > 0 && i < PASSES - 1; k--) {
            uint32_t to = i + 1 + draw(PASSES - 1 - i);
            edges[count++] = to;
            p->after_count++;
            passes[to].inputs++;
            input[to][inputs[to]++] = i;
        }
    }
    passes[PASSES].appended = 1;
    passes[appends].requests = (uint64_t)(uintptr_t)&requests;
    list.sources = count;
    for (uint32_t i = 0; i < PASSES; i++)
        if (passes[i].inputs == 0)
            edges[count + list.source_count++] = i;
}

static void run_group(uint32_t pass, uint64_t group)
{
    const struct hdi_list_pass *p = &passes[pass];

    if (p->entry == PASSES) {
        atomic_fetch_add(&appended_ran, 1);
        return;
    }
    uint32_t sum = pass + 1;
    for (uint32_t i = 0; i < inputs[pass]; i++) {
        const struct hdi_list_pass *from = &passes[input[pass][i]];
        for (uint64_t g = 0; g < groups_of(from); g++)
            sum += results[input[pass][i]][g];
        if (input[pass][i] == appends)
            CHECK(atomic_load(&appended_ran) == of_appended);
    }
    results[pass][group] = sum;
    if (pass == appends && group == 0)
        for (uint32_t i = 0; i < requests.count; i++)
            requests.at[i] = (struct hdi_list_request){PASSES, {2, 1}};
}

static void work(void)
{
    enum hdu_list_next next;
    uint64_t group = 0;
    uint32_t pass = 0;

    while ((next = hdu_list_claim(&list, &pass, &group)) != HDU_LIST_OVER) {
        if (next == HDU_LIST_NOTHING) {
            hdu_list_pause();
            continue;
        }
        run_group(pass, group);
        hdi_word_release();
        hdu_list_end(&list, pass);
    }
}

static atomic_bool leaves;

static void *help(void *nothing)
{
    while (!atomic_load(&leaves)) {
        if (hdu_list_enter(&list)) {
            work();
            hdu_list_leave(&list);
        }
        sched_yield();
    }
    return nothing;
}

static void check_results(void)
{
    for (uint32_t i = 0; i < PASSES; i++) {
        uint32_t sum = i + 1;
        for (uint32_t k = 0; k < inputs[i]; k++)
            for (uint64_t g = 0; g < groups_of(&passes[input[i][k]]); g++)
                sum += results[input[i][k]][g];
        for (uint64_t g = 0; g < groups_of(&passes[i]); g++)
            CHECK(results[i][g] == sum);
    }
}

static void passes_come_after_their_inputs(void)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        pthread_t threads[UNITS];
        make(round);
        atomic_store(&leaves, false);
        for (unsigned i = 0; i < UNITS; i++)
            CHECK(pthread_create(&threads[i], NULL, help, NULL) == 0);
        for (unsigned again = 0; again < 3; again++) {
            memset(results, 0, sizeof(results));
            requests.count = again + round % 3;
            of_appended = requests.count * 2;
            atomic_store(&appended_ran, 0);
            hdu_list_clear(&list, 0, 1);
            hdu_list_begin(&list);
            work();
            hdu_list_close(&list);
            CHECK(hdi_word_load(&list.left) == 0);
            CHECK(hdi_word_load(&list.failure) == 0);
            CHECK(atomic_load(&appended_ran) == of_appended);
            check_results();
        }
        atomic_store(&leaves, true);
        for (unsigned i = 0; i < UNITS; i++)
            pthread_join(threads[i], NULL);
    }
}

int main(void)
{
    passes_come_after_their_inputs();
    return 0;
}
