// Jobs that have a priority and are told when they are over.
//
// While one is submitted, its job's function is ours; by that it is known.
#include "steal/group.h"
#include "steal/worker/state.h"

static struct hd_work *work_of(struct hd_job *job)
{
    return (struct hd_work *)(void *)job;
}

// The function is put back before it runs: the work may be submitted again from
// there, or be freed.
void hdi_run_work(struct hd_worker *worker, struct hd_job *job)
{
    struct hd_work *work = work_of(job);
    bool told = work->done; // else `run` may free it

    work->job.run = work->run_;
    work->run_(worker, job);
    if (told)
        work->done(worker, work, HD_OK);
}

// It was cancelled before it began; without a `done` nobody hears of it.
void hdi_drop_work(struct hd_worker *worker, struct hd_job *job)
{
    struct hd_work *work = work_of(job);

    work->job.run = work->run_;
    if (work->done)
        work->done(worker, work, HD_ECANCELED);
}

void hdi_run_visit(struct hd_worker *worker, struct hd_job *job)
{
    struct hdi_visit *visit = (struct hdi_visit *)(void *)job;

    visit->function(worker, visit->data);
}

void hdi_run_nothing(struct hd_worker *worker, struct hd_job *job)
{
    (void)worker, (void)job;
}

void hdi_work_wrap(struct hd_pool *pool, struct hd_work *work)
{
    hdi_pool_check_origin(pool);
    work->run_ = work->job.run;
    work->job.run = hdi_run_work;
}

// The group is entered before the job can be seen: it might be over before.
static void hand_in(struct hd_pool *pool, struct hd_job *job,
                    enum hd_priority priority, unsigned near)
{
    struct hdi_inbox *inbox = priority == HD_PRIORITY_HIGH  ? &pool->urgent
                              : priority == HD_PRIORITY_LOW ? &pool->later
                                                            : &pool->inbox;

    if (job->group)
        hdi_group_enter(job->group);
    hdi_inbox_push(inbox, job);
    hdi_pool_tell(pool, near);
}

// Normal ones of a worker go to its own queue; the others to a queue of the
// pool, which all workers look at, first or last.
void hdi_submit_by_priority(struct hd_pool *pool, struct hd_job *job,
                            enum hd_priority priority)
{
    if (priority == HD_PRIORITY_NORMAL) {
        hd_submit(pool, job);
        return;
    }
    struct hd_worker *worker = hd_pool_worker(pool);
    hand_in(pool, job, priority, worker ? worker->index : 0);
}

void hd_submit_work(struct hd_pool *pool, struct hd_work *work)
{
    hdi_work_wrap(pool, work);
    hdi_submit_by_priority(pool, &work->job, work->priority);
}

void hdi_submit_near(struct hd_pool *pool, struct hd_work *work, unsigned near)
{
    hdi_work_wrap(pool, work);
    hand_in(pool, &work->job, work->priority, near);
}
