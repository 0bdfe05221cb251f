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
    PLAIN = PASSES,    // is appended, and appends nothing
    LOOP = PASSES + 1, // is appended, and appends both while it is told to
    ALL = PASSES + 2,
    MORE = 40, // appended
    ROOM = 4,  // requests of one pass
    EDGES = 4 * PASSES,
    ROUNDS = 40
};

static struct hdi_list list;
static struct hdi_list_door door;
static struct hdi_list_pass passes[ALL + MORE];
static hdi_word ready[ALL + MORE];
static uint32_t edges[EDGES + PASSES + 1];
static uint32_t input[PASSES][PASSES], inputs[PASSES];
// Of one pass, and its arguments: where that is.
union asked {
    struct hdi_appends list;
    uint32_t words[4 + 8 * ROOM];
};
static union asked asked, asked_by_loop;
static const uint64_t args[] = {(uint64_t)(uintptr_t)&asked,
                                (uint64_t)(uintptr_t)&asked_by_loop};
static const uint32_t appends = PASSES / 2; // the pass that does

// Plain memory: the list alone orders who writes and who reads it.
static uint32_t results[PASSES][8];
static uint32_t plain, loops; // copies that are to run,
static uint32_t looped;       // and have run: one at a time
static atomic_uint plain_groups;

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

// Any graph whose edges go up, and two that are appended.
static void make(unsigned number)
{
    uint32_t count = 0;

    seed = number;
    memset(passes, 0, sizeof(passes));
    memset(inputs, 0, sizeof(inputs));
    list = (struct hdi_list){.passes_count = ALL,
                             .room = ALL + MORE,
                             .runs = PASSES,
                             .passes = (uint64_t)(uintptr_t)passes,
                             .edges = (uint64_t)(uintptr_t)edges,
                             .ready = (uint64_t)(uintptr_t)ready};
    for (uint32_t i = 0; i < ALL; i++) {
        struct hdi_list_pass *p = &passes[i];
        p->entry = p->of = i;
        p->family = PASSES;
        p->family_count = 2;
        p->most = MORE;
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
    for (uint32_t i = PASSES; i < ALL; i++) {
        passes[i].appended = 1;
        passes[i].count[0] = 3;
        passes[i].count[1] = 2;
    }
    passes[LOOP].count[0] = passes[LOOP].count[1] = 1;
    passes[appends].args = (uint64_t)(uintptr_t)&args[0];
    passes[LOOP].args = (uint64_t)(uintptr_t)&args[1];
    passes[appends].appends_at = passes[LOOP].appends_at = 1;
    list.sources = count;
    for (uint32_t i = 0; i < PASSES; i++)
        if (passes[i].inputs == 0)
            edges[count + list.source_count++] = i;
}

static void ask(union asked *to, uint32_t pass, uint32_t first, uint32_t x,
                uint32_t y)
{
    uint32_t at = to->list.count++;

    if (at < ROOM)
        to->list.at[at] = (struct hdi_append){
            .command = pass - PASSES, .first = {first}, .count = {x, y, 1}};
}

// A copy counts the loops before it, and asks for another turn and two
// work-groups.
static void run_loop(void)
{
    looped++;
    if (looped + 1 < loops)
        ask(&asked_by_loop, LOOP, 0, 1, 1);
    ask(&asked_by_loop, PLAIN, 2, 1, 2);
}

static void run_group(uint32_t pass, uint64_t group)
{
    const struct hdi_list_pass *p = &passes[pass];

    if (p->entry == PLAIN) {
        CHECK(p->first[0] == 2 && p->count[0] == 1 && p->count[1] == 2);
        atomic_fetch_add(&plain_groups, 1);
        return;
    }
    if (p->entry == LOOP) {
        run_loop();
        return;
    }
    uint32_t sum = pass + 1;
    for (uint32_t i = 0; i < inputs[pass]; i++) {
        const struct hdi_list_pass *from = &passes[input[pass][i]];
        for (uint64_t g = 0; g < groups_of(from); g++)
            sum += results[input[pass][i]][g];
        if (input[pass][i] == appends)
            CHECK(looped == loops &&
                  atomic_load(&plain_groups) == 2 * (plain + loops));
    }
    results[pass][group] = sum;
    if (pass != appends || group > 0)
        return;
    for (uint32_t i = 0; i < plain; i++)
        ask(&asked, PLAIN, 2, 1, 2);
    // Two at once, and each goes on.
    for (uint32_t i = 0; i < loops && i < 2; i++)
        ask(&asked, LOOP, 0, 1, 1);
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
        if (hdu_list_enter(&door)) {
            work();
            hdu_list_leave(&door);
        }
        sched_yield();
    }
    return nothing;
}

// Nobody comes to a list that was taken away: its memory may be others'.
static void reuse(void)
{
    static char kept[sizeof(list)], other[sizeof(list)];

    memcpy(kept, &list, sizeof(list));
    memset(other, 0xa5, sizeof(list));
    memcpy((void *)&list, other, sizeof(list));
    sched_yield();
    CHECK(memcmp(&list, other, sizeof(list)) == 0);
    memcpy((void *)&list, kept, sizeof(list));
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
            plain = again;
            loops = round % 6;
            looped = 0;
            atomic_store(&plain_groups, 0);
            hdu_list_clear(&list, 0, 1);
            hdu_list_begin(&list);
            hdu_list_show(&door, &list);
            work();
            hdu_list_hide(&door, &list);
            reuse();
            CHECK(hdi_word_load(&list.left) == 0);
            CHECK(hdi_word_load(&list.failure) == 0);
            CHECK(looped == loops);
            CHECK(atomic_load(&plain_groups) == 2 * (plain + loops));
            check_results();
        }
        atomic_store(&leaves, true);
        for (unsigned i = 0; i < UNITS; i++)
            pthread_join(threads[i], NULL);
    }
}

// A pass asks for these, and another would come after it; how the run ends.
static uint64_t failure_of(uint32_t count, uint32_t command, uint32_t first,
                           uint32_t groups)
{
    make(1);
    list.runs = 2;
    list.source_count = 1;
    edges[list.sources] = appends;
    edges[0] = PASSES - 1;
    passes[appends].after = 0;
    passes[appends].after_count = 1;
    passes[PASSES - 1].inputs = 1;
    passes[PASSES - 1].after_count = 0;
    plain = loops = 0;
    asked.list.count = count;
    for (uint32_t i = 0; i < ROOM; i++)
        asked.list.at[i] = (struct hdi_append){
            .command = command, .first = {first}, .count = {groups, 1, 1}};
    hdu_list_clear(&list, 0, 1);
    hdu_list_begin(&list);
    work();
    CHECK(asked.list.count == 0);
    CHECK(hdi_word_load(&passes[PASSES - 1].claimed) == 0);
    return hdi_word_load(&list.failure);
}

static uint64_t refusal(enum hdi_list_failure why)
{
    return (uint64_t)why << 32 | appends;
}

static void wrong_requests_are_refused(void)
{
    CHECK(failure_of(1, 2, 0, 1) == refusal(HDI_LIST_NO_PASS));
    CHECK(failure_of(1, UINT32_MAX, 0, 1) == refusal(HDI_LIST_NO_PASS));
    CHECK(failure_of(1, 0, 0, 0) == refusal(HDI_LIST_NO_GROUPS));
    CHECK(failure_of(1, 0, 2, 2) == refusal(HDI_LIST_NO_GROUPS));
    CHECK(failure_of(1, 0, UINT32_MAX, 2) == refusal(HDI_LIST_NO_GROUPS));
    CHECK(failure_of(1, 0, 0, UINT32_MAX) == refusal(HDI_LIST_NO_GROUPS));
    CHECK(failure_of(MORE + 1, 0, 0, 1) == refusal(HDI_LIST_NO_ROOM));
    CHECK(failure_of(UINT32_MAX, 0, 0, 1) == refusal(HDI_LIST_NO_ROOM));
}

static void *take_away(void *nothing)
{
    hdu_list_hide(&door, &list);
    return nothing;
}

// Who takes a list away waits until all who came have left.
static void a_list_stays_while_somebody_is_inside(void)
{
    pthread_t thread;

    hdu_list_show(&door, &list);
    CHECK(hdu_list_enter(&door) == &list);
    CHECK(pthread_create(&thread, NULL, take_away, NULL) == 0);
    while (hdi_word_load(&door.list) == (uint64_t)(uintptr_t)&list)
        sched_yield();
    for (unsigned i = 0; i < 100; i++) {
        CHECK(hdi_word_load(&door.list) == TAKEN_AWAY);
        CHECK(hdu_list_enter(&door) == NULL);
        sched_yield();
    }
    hdu_list_leave(&door);
    pthread_join(thread, NULL);
    CHECK(hdi_word_load(&door.list) == 0);
}

// One at a time is behind a door, and only its own unit takes it away.
static void a_door_has_one_list(void)
{
    struct hdi_list other;

    CHECK(hdu_list_enter(&door) == NULL);
    hdu_list_show(&door, &list);
    hdu_list_show(&door, &other);
    CHECK(hdu_list_enter(&door) == &list);
    hdu_list_hide(&door, &other); // waits for nobody
    hdu_list_leave(&door);
    hdu_list_hide(&door, &list);
    CHECK(hdu_list_enter(&door) == NULL);
    CHECK(hdi_word_load(&door.inside) == 0);
}

int main(void)
{
    a_door_has_one_list();
    a_list_stays_while_somebody_is_inside();
    passes_come_after_their_inputs();
    wrong_requests_are_refused();
    return 0;
}
