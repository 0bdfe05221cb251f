// Launches that run at the same time.
//
// Each member is one leaf on a unit that was reserved for it, or on a worker of
// a gang of the pool. Units are reserved by one gang at a time, which waits for
// nothing but what already runs on them: so two gangs cannot each hold what the
// other needs. While it does, its worker runs no other work.
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "launch/fault/search.h"
#include "launch/fault/stop.h"
#include "launch/run/flight.h"
#include "steal/worker.h"

// On the stack of hdi_launch_gang(). members[0] is the lead of all.
struct crew {
    struct hdi_launcher *launcher;
    struct hdi_flight *members;
    unsigned count;
    const struct hdi_member *parts;
    struct hdi_place place;
};

static void run_member(struct hd_worker *worker, unsigned rank, void *data)
{
    struct hdi_flight *member = &((struct crew *)data)->members[rank];
    if (hdi_leaf_goes_on(member))
        hdi_leaf_run_here(worker, member, &member->box);
}

// Whether the unit suits a member, given those that `chosen` are before it.
static bool suits(const struct crew *crew, unsigned unit,
                  const unsigned *chosen, unsigned rank)
{
    const struct hdi_port *ports = crew->launcher->ports;

    if (!atomic_load(&ports[unit].open))
        return false;
    for (unsigned i = 0; i < rank; i++)
        if (chosen[i] == unit ||
            (crew->place.kind == HD_ON_DISTINCT_MODULES &&
             ports[chosen[i]].module == ports[unit].module))
            return false;
    return crew->place.kind != HD_ON_MODULE_OF ||
           ports[unit].module == ports[crew->place.unit].module;
}

// A unit for each member. False: there are not that many.
// First fit: a member gets the first unit that suits, whatever the others need.
static bool choose_units(struct crew *crew, unsigned *chosen)
{
    for (unsigned rank = 0; rank < crew->count; rank++) {
        bool named = crew->place.kind == HD_ON_UNIT;
        unsigned unit = named ? crew->parts[rank].unit : 0;
        unsigned end = named ? unit + 1 : crew->launcher->port_count;
        while (unit < end && !suits(crew, unit, chosen, rank))
            unit++;
        if (unit == end) {
            char text[160];
            snprintf(text, sizeof(text),
                     "a gang of %u needs as many units at that place at the "
                     "same time; there are %u",
                     crew->count, rank);
            hdi_leaf_fail(&crew->members[rank], HD_ENODEV, text, NULL);
            return false;
        }
        chosen[rank] = unit;
    }
    return true;
}

// Wait until the unit is ours and has nothing else to do.
// Collects meanwhile: what is on the unit may be of a launch that this worker
// holds up.
static bool reserve(struct hd_worker *worker, struct hdi_flight *member,
                    struct hdi_port *port)
{
    while (!hdi_port_reserve(port)) {
        if (!hdi_leaf_goes_on(member))
            return false;
        if (!atomic_load(&port->open)) {
            hdi_leaf_fail(member, HD_ENODEV, "its unit was detached", NULL);
            return false;
        }
        if (!hdi_leaf_collect(worker, member->launcher, port))
            sched_yield();
    }
    return true;
}

static bool is_ready(struct hd_worker *worker, struct hdi_flight *member,
                     struct hdi_port *port)
{
    while (atomic_load(&port->held) > 0) {
        if (!hdi_leaf_goes_on(member))
            return false;
        if (!hdi_leaf_collect(worker, member->launcher, port))
            sched_yield();
    }
    if (hdi_port_is_attached(port))
        return true;
    hdi_leaf_fail(member, HD_ENODEV, "its unit was lost", NULL);
    return false;
}

// All units are reserved and idle, or none is.
// Reserving comes before waiting for any to be idle: else others would fill the
// first while the last becomes idle. Undone for all if one fails.
static bool form(struct hd_worker *worker, struct crew *crew, unsigned *chosen)
{
    struct hdi_port *ports = crew->launcher->ports;
    unsigned reserved = 0, ready = 0;

    if (!choose_units(crew, chosen))
        return false;
    while (reserved < crew->count &&
           reserve(worker, &crew->members[reserved], &ports[chosen[reserved]]))
        reserved++;
    while (reserved == crew->count && ready < crew->count &&
           is_ready(worker, &crew->members[ready], &ports[chosen[ready]]))
        ready++;
    if (ready == crew->count)
        return true;
    while (reserved-- > 0)
        hdi_port_release(&ports[chosen[reserved]]);
    return false;
}

// One gang forms at a time (`forming`); it stops once its members are on their
// units, not when they end.
static void run_on_units(struct hd_worker *worker, void *data)
{
    struct crew *crew = data;
    struct hdi_launcher *launcher = crew->launcher;
    unsigned chosen[HDI_GANG];

    while (atomic_exchange(&launcher->forming, true)) {
        if (!hdi_leaf_goes_on(crew->members))
            return;
        hdi_worker_help(worker);
    }
    bool formed = form(worker, crew, chosen);
    if (formed)
        for (unsigned i = 0; i < crew->count; i++)
            while (!hdi_leaf_submit(&crew->members[i],
                                    &launcher->ports[chosen[i]],
                                    &crew->members[i].box, NULL))
                sched_yield();
    atomic_store(&launcher->forming, false);
    if (formed)
        hdi_leaf_await(worker, crew->members);
}

// The failure of a member is the first reason; a gang that could not be formed
// has one of its own.
static hd_status run_crew(struct crew *crew, const struct hdi_terms *terms,
                          struct hd_error *error)
{
    struct hdi_launcher *launcher = crew->launcher;
    struct hdi_flight *lead = crew->members;
    struct hdi_fault fault;
    char text[HDI_FAILURE_SIZE];
    hd_status status = HD_OK;

    *text = '\0';
    lead->text = text;
    lead->fault = &fault;
    if (hdi_flight_watch(launcher, lead)) {
        if (launcher->ports) {
            hd_pool_run(launcher->pool, run_on_units, crew);
        } else {
            const struct hd_gang gang = {crew->count, crew->place.kind,
                                         crew->place.unit, terms->group};
            status = hd_pool_run_gang(launcher->pool, &gang, run_member, crew,
                                      error);
        }
        hdi_flight_unwatch(launcher, lead);
    }
    if (lead->has_fault) {
        const struct hdi_flight *failed = lead->failed;
        const char *hint =
            hdi_search_run(launcher, failed->kernel, &failed->chunk.frame,
                           failed->bound, terms, &fault);
        hdi_fault_describe(&fault, failed->kernel, failed->bound, hint, text,
                           HDI_FAILURE_SIZE);
    }
    hd_status end = hdi_flight_explain(lead, error);
    return end != HD_OK ? end : status;
}

static hd_status check_parts(const struct hdi_launcher *launcher,
                             const struct hdi_member *parts, unsigned count,
                             const struct hdi_place *place,
                             struct hd_error *error)
{
    if (count == 0 || count > HDI_GANG)
        return hdi_fail(error, HD_EINVAL, "a gang has 1 to %d members, not %u",
                        HDI_GANG, count);
    for (unsigned i = 0; i < count; i++) {
        if (!parts[i].request.kernel)
            return hdi_fail(error, HD_EINVAL, "member %u needs a kernel", i);
        if (parts[i].request.kernel->info.form == HD_FORM_CHECKED)
            return hdi_fail(error, HD_ENOTSUP,
                            "kernel '%s' is built with -heddle-check, which no "
                            "member of a gang can be: launch it by itself",
                            parts[i].request.kernel->info.name);
        if (launcher->ports && hdi_leaf_is_grid(parts[i].request.kernel))
            return hdi_fail(error, HD_ENOTSUP,
                            "kernel '%s' calls hd_grid_barrier() and runs on a "
                            "worker only, not on a unit",
                            parts[i].request.kernel->info.name);
        unsigned unit = place->kind == HD_ON_UNIT ? parts[i].unit : place->unit;
        if ((place->kind == HD_ON_UNIT ||
             (place->kind == HD_ON_MODULE_OF && launcher->ports)) &&
            unit >= launcher->port_count)
            return hdi_fail(error, HD_ENODEV,
                            "kernel '%s' is to run on unit %u; there are %u",
                            parts[i].request.kernel->info.name, unit,
                            launcher->port_count);
        for (unsigned j = 0; place->kind == HD_ON_UNIT && j < i; j++)
            if (parts[j].unit == unit)
                return hdi_fail(error, HD_EINVAL,
                                "two members of a gang are to run on unit %u",
                                unit);
    }
    return HD_OK;
}

static void end_member(struct hdi_flight *member)
{
    if (member->launcher->seals)
        hdi_bound_seal(member->bound, member->kernel->info.arg_count, -1);
    hdi_flight_free(member, NULL);
}

// crew.count grows with each member that was made, so that just these are
// undone when one cannot be.
hd_status hdi_launch_gang(struct hdi_launcher *launcher,
                          const struct hdi_member *parts, unsigned count,
                          const struct hdi_terms *terms, struct hd_error *error)
{
    struct crew crew = {
        .launcher = launcher, .parts = parts, .place = terms->place};
    hd_status status = HD_OK;

    HDI_TRY(check_parts(launcher, parts, count, &terms->place, error));
    crew.members = calloc(count, sizeof(*crew.members));
    if (!crew.members)
        return hdi_fail(error, HD_ENOMEM, "no memory for a gang of %u", count);
    for (unsigned i = 0; i < count && status == HD_OK; i++) {
        const struct hdi_member *p = &parts[i];
        struct hdi_flight *member = &crew.members[crew.count];
        struct hdi_plan plan;
        status = hdi_flight_plan(launcher, &p->request, terms, &plan, error);
        if (status != HD_OK)
            break;
        if (plan.groups == 0) {
            status = hdi_fail(error, HD_EINVAL,
                              "kernel '%s' has no work-items; a member of a "
                              "gang has some",
                              p->request.kernel->info.name);
            break;
        }
        status = hdi_flight_make(launcher, &p->request, terms, &plan, NULL,
                                 member, error);
        if (status != HD_OK)
            break;
        hdi_flight_open(member, terms, NULL, NULL);
        member->lead = crew.members;
        member->is_member = true;
        member->chunk.stop = &crew.members->stop.status;
        crew.count++;
    }
    if (status == HD_OK) {
        launcher->device->backend->prepare(launcher->device);
        status = run_crew(&crew, terms, error);
    }
    for (unsigned i = 0; i < crew.count; i++)
        end_member(&crew.members[i]);
    free(crew.members);
    return status;
}
