// A public record is taken back by its owner or taken by one thief, never both,
// and the thief sees it as it was published.
#include "steal/queue/stack.h"

#include <pthread.h>
#include <sched.h>

#include "tests/check.h"

enum {
    RECORDS = 64,
    THIEVES = 3,
    ROUNDS = 400000,
    STOLEN = 2000
};

struct race {
    struct hdi_stack stack;
    atomic_bool done;
    _Atomic uint64_t stolen;
};

static void no_op(struct hd_worker *worker, struct hd_task_ *task)
{
    (void)worker;
    (void)task;
}

static struct hd_task_ *push(struct hdi_stack *stack, uint64_t value)
{
    struct hd_task_ *task = stack->hot.top_++;

    task->run_ = no_op;
    memcpy(task->data_, &value, sizeof(value));
    return task;
}

static void *steal(void *data)
{
    struct race *race = data;

    while (!atomic_load(&race->done)) {
        struct hd_task_ *task = hdi_stack_take(&race->stack, 5);
        if (!task) {
            hdi_stack_ask(&race->stack);
            sched_yield();
            continue;
        }
        uint64_t value;
        CHECK(task->run_ == no_op);
        memcpy(&value, task->data_, sizeof(value));
        value = ~value; // the "result"
        memcpy(task->data_, &value, sizeof(value));
        atomic_fetch_add(&race->stolen, 1);
        __atomic_store_n(&task->state_, (uint64_t)HDI_TASK_DONE,
                         HDI_BESIDE(__ATOMIC_RELEASE));
    }
    return NULL;
}

static uint64_t state_of(struct hd_task_ *task)
{
    return __atomic_load_n(&task->state_, HDI_BESIDE(__ATOMIC_ACQUIRE));
}

// The owner's side of a join; the value that comes out, negated if stolen.
static uint64_t join(struct race *race, bool *stolen)
{
    struct hdi_stack *stack = &race->stack;
    struct hd_task_ *task = --stack->hot.top_;
    uint64_t value;

    *stolen = task < stack->hot.split_ && !hdi_stack_reclaim(stack, task);
    while (*stolen && state_of(task) != HDI_TASK_DONE)
        sched_yield();
    memcpy(&value, task->data_, sizeof(value));
    if (*stolen)
        hdi_stack_forget(stack, task);
    return *stolen ? ~value : value;
}

static void every_record_has_one_taker(void)
{
    struct race race = {.done = false};
    pthread_t threads[THIEVES];
    uint64_t values[RECORDS], next = 1, joined = 0;
    unsigned depth = 0, random = 7;

    CHECK(hdi_stack_init(&race.stack, RECORDS));
    for (int i = 0; i < THIEVES; i++)
        CHECK(pthread_create(&threads[i], NULL, steal, &race) == 0);
    // Until enough was stolen: on a busy machine thieves start late.
    for (int i = 0; i < ROUNDS || joined < STOLEN || depth > 0; i++) {
        random = random * 1103515245 + 12345;
        bool stolen;
        if ((i < ROUNDS || joined < STOLEN) && depth < RECORDS &&
            random >> 31) {
            values[depth++] = next;
            push(&race.stack, next++);
            if (random >> 29 & 1)
                hdi_stack_publish(&race.stack);
        } else if (depth > 0) {
            CHECK(join(&race, &stolen) == values[--depth]);
            joined += stolen;
        }
    }
    atomic_store(&race.done, true);
    for (int i = 0; i < THIEVES; i++)
        pthread_join(threads[i], NULL);
    CHECK(joined == atomic_load(&race.stolen));
    hdi_stack_destroy(&race.stack);
}

static void thieves_take_the_oldest_and_only_what_is_public(void)
{
    struct hdi_stack stack;

    CHECK(hdi_stack_init(&stack, RECORDS));
    struct hd_task_ *first = push(&stack, 1), *second = push(&stack, 2);
    CHECK(!hdi_stack_offers(&stack) && !hdi_stack_take(&stack, 0));
    CHECK(hdi_stack_publish(&stack) == 2 && hdi_stack_publish(&stack) == 0);
    push(&stack, 3);
    CHECK(hdi_stack_offers(&stack));
    CHECK(hdi_stack_take(&stack, 0) == first);
    CHECK(first->state_ == HDI_TASK_TAKEN + 0);
    stack.hot.top_ -= 2;
    CHECK(hdi_stack_reclaim(&stack, second)); // and takes nothing from thieves
    CHECK(!hdi_stack_take(&stack, 1) && !hdi_stack_offers(&stack));
    CHECK(!hdi_stack_reclaim(&stack, first));

    CHECK(!hdi_stack_asked(&stack));
    hdi_stack_ask(&stack);
    CHECK(hdi_stack_asked(&stack));
    hdi_stack_unask(&stack);
    CHECK(!hdi_stack_asked(&stack));
    hdi_stack_destroy(&stack);
}

int main(void)
{
    thieves_take_the_oldest_and_only_what_is_public();
    every_record_has_one_taker();
    return 0;
}
