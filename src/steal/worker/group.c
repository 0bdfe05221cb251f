// Groups: the first error, cancelling, and scopes of tasks.
#include "steal/group.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/log.h"
#include "steal/worker/state.h"

void hd_group_init(struct hd_group *group)
{
    *group = (struct hd_group){0};
}

// Before jobs are submitted to it: the word is not atomic.
void hd_group_catch(struct hd_group *group, struct hd_error *error)
{
    group->state_.word[2] = (uintptr_t)error;
}

void hd_group_within(struct hd_group *group, struct hd_group *parent)
{
    __atomic_store_n(&group->state_.word[3], (uint64_t)(uintptr_t)parent,
                     __ATOMIC_RELAXED);
}

hd_status hd_group_status(const struct hd_group *group)
{
    hd_status status =
        (hd_status)(__atomic_load_n(&group->state_.word[1], __ATOMIC_ACQUIRE) >>
                    HDI_GROUP_STATUS);

    if (status != HD_OK)
        return status;
    return hdi_group_cancelled(group) ? HD_ECANCELED : HD_OK;
}

bool hdi_pool_cancelled(const struct hd_pool *pool,
                        const struct hd_group *group)
{
    return hdi_group_cancelled(group) ||
           (hdi_group_fate(&pool->all) & HDI_GROUP_CANCELLED);
}

const struct hd_group *hdi_pool_all(const struct hd_pool *pool)
{
    return &pool->all;
}

// The poke comes after the mark: who sees it looks, and sees the mark.
void hd_group_cancel(struct hd_pool *pool, struct hd_group *group)
{
    __atomic_fetch_or(&group->state_.word[1], HDI_GROUP_CANCELLED,
                      __ATOMIC_SEQ_CST);
    hdi_pool_poke(pool);
}

void hd_pool_cancel(struct hd_pool *pool)
{
    hd_group_cancel(pool, &pool->all);
}

struct hd_group *hdi_worker_group(const struct hd_worker *worker)
{
    return hdi_scopes_now(&worker->scopes);
}

bool hd_cancelled(struct hd_worker *worker)
{
    return hdi_pool_cancelled(worker->pool, hdi_scopes_now(&worker->scopes));
}

// The first error of a group wins; only then its text is written, by nobody
// else. Outside of all groups it goes to the log.
hd_status hd_task_fail(struct hd_worker *worker, hd_status status,
                       const char *format, ...)
{
    struct hd_group *group = hdi_scopes_now(&worker->scopes);
    char text[1024]; // longer ones are cut
    va_list arguments;

    if (group && !hdi_group_fail(group, status))
        return status;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    hdi_fail(group ? hdi_group_error(group) : NULL, status, "%s", text);
    if (group) {
        hdi_worker_look(worker);
        hdi_pool_poke(worker->pool);
    }
    return status;
}

// Scopes ----------------------------------------------------------------------

// How many tasks of this worker are forked and not joined: a scope must end
// with as many as it began with.
static uint32_t records_of(const struct hd_worker *worker)
{
    return (uint32_t)(worker->stack.hot.top_ - worker->stack.base);
}

// HD_ELIMIT: nested too deep. When it fails nothing has begun, and
// hd_scope_end() is not called.
hd_status hd_scope_begin(struct hd_worker *worker, struct hd_group *group)
{
    struct hd_group *around = hdi_scopes_now(&worker->scopes);

    if (hdi_pool_cancelled(worker->pool, around))
        return HD_ECANCELED;
    if (around)
        hd_group_within(group, around);
    if (!hdi_scopes_enter(&worker->scopes, records_of(worker), group))
        return HD_ELIMIT;
    hdi_worker_look(worker);
    return HD_OK;
}

// The group may outlive what was around its scope, and keeps its fate. Relaxed:
// the scope's own worker writes it, and others learn of the end of the scope
// otherwise.
static void leave_parent(struct hd_group *group, hd_status status)
{
    if (status != HD_OK)
        __atomic_fetch_or(&group->state_.word[1], HDI_GROUP_CANCELLED,
                          __ATOMIC_RELAXED);
    hd_group_within(group, NULL);
}

// The status is that of the group, or that of what is around it, which is
// cancelled: its own tasks were dropped then. A scope that ends in the wrong
// place has lost a task, so the program is ended.
hd_status hd_scope_end(struct hd_worker *worker)
{
    struct hd_group *group = hdi_scopes_now(&worker->scopes);

    if (!group || hdi_scopes_base(&worker->scopes) != records_of(worker)) {
        hdi_error("a scope ended that had not begun here, or before what was "
                  "forked in it was joined");
        abort();
    }
    hd_status status = hd_group_status(group);
    if (status == HD_OK && hd_cancelled(worker))
        status = HD_ECANCELED;
    hdi_scopes_leave(&worker->scopes);
    if (hdi_scopes_now(&worker->scopes))
        leave_parent(group, status);
    hdi_worker_look(worker);
    return status;
}
