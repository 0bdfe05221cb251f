// Launches that are waited for: on one device, or on those that are best.
#include "launch/launch.h"

#include "base/error.h"
#include "launch/measure/pace.h"
#include "launch/run/flight.h"
#include "launch/start/joint.h"
#include "launch/start/start.h"

hd_status hdi_launch(struct hdi_launcher *launcher,
                     const struct hdi_request *request,
                     const atomic_bool *cancel, enum hd_priority priority,
                     struct hd_error *error)
{
    const struct hdi_terms terms = {.cancel = cancel, .priority = priority};
    return hdi_launch_with(launcher, request, &terms, error);
}

// Everything lies on the stack, up to HDI_STACK_ARGS of arguments: a small
// launch allocates nothing.
hd_status hdi_launch_with(struct hdi_launcher *launcher,
                          const struct hdi_request *request,
                          const struct hdi_terms *terms, struct hd_error *error)
{
    _Alignas(128) unsigned char small[HDI_STACK_ARGS];
    bool spreads = launcher->peers > 1;
    struct hdi_flight flight;
    struct hdi_fault fault;
    struct hdi_plan plan;
    char text[HDI_FAILURE_SIZE];

    if (spreads && terms->devices & ~(UINT64_C(1) << launcher->number))
        return hdi_joint_run(launcher, terms, request, error);
    HDI_TRY(
        hdi_flight_check_unit(launcher, request->kernel, &terms->place, error));
    HDI_TRY(hdi_flight_plan(launcher, request, terms, &plan, error));
    if (plan.groups == 0)
        return HD_OK;
    HDI_TRY(hdi_flight_make(launcher, request, terms, &plan, small, &flight,
                            error));
    uint64_t brought = spreads ? hdi_now() : 0;
    if (terms->in_row)
        hdi_launch_prepare(launcher);
    else
        launcher->device->backend->prepare(launcher->device);
    struct hd_worker *worker = terms->in_row && !spreads && !terms->part
                                   ? hd_pool_worker(launcher->pool)
                                   : NULL;
    if (worker) {
        hd_status status = hdi_flight_run_on(worker, &flight, terms, error);
        hdi_flight_free(&flight, small);
        return status;
    }
    hdi_flight_open(&flight, terms, text, &fault);
    hdi_flight_run(&flight, terms);
    hd_status status = hdi_flight_close(&flight, terms, error);
    if (spreads && status == HD_OK)
        hdi_pace_ran(launcher, flight.kernel, hdi_box_groups(&flight.box),
                     plan.group_items, hdi_now() - brought);
    hdi_flight_free(&flight, small);
    return status;
}

// The same without checks, which hdi_plan_check() has made once for many
// launches.
hd_status hdi_launch_planned(struct hd_worker *worker,
                             struct hdi_launcher *launcher,
                             const struct hdi_request *request,
                             const struct hdi_plan *plan,
                             const struct hdi_terms *terms,
                             struct hd_error *error)
{
    _Alignas(128) unsigned char small[HDI_STACK_ARGS];
    struct hdi_flight flight;

    if (launcher->peers > 1 || launcher->ports)
        return hdi_launch_with(launcher, request, terms, error);
    if (plan->groups == 0)
        return HD_OK;
    HDI_TRY(
        hdi_flight_make(launcher, request, terms, plan, small, &flight, error));
    hd_status status = hdi_flight_run_on(worker, &flight, terms, error);
    hdi_flight_free(&flight, small);
    return status;
}
