// Which devices a runtime has. What there is to choose from is in the registry
// of backends: no backend is named here.
//
// A backend has a name ("cuda") and a kind ("gpu"); either may be asked for. Of
// a kind the backends are tried in the registry's order, and the first that
// finds hardware is taken: HD_ENODEV means "not here, ask the next", any other
// error ends the search, since the hardware is there and something is wrong
// with it.
//
// Device 0 is special: buffers are made on it, and its launcher has the
// workers' tracks in the trace. The others borrow what a launch needs.
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "launch/launch.h"
#include "runtime/runtime.h"

// Of "all" the first, on which buffers are made, and without a name the only
// one.
//
// Buffers are made in memory that all devices can be served from, and that is
// the host's.
static const char first_kind[] = "cpu";

// By name or by kind, whichever the user says.
static bool is_called(const struct hdi_backend *backend, const char *name)
{
    return strcmp(backend->name, name) == 0 || strcmp(backend->kind, name) == 0;
}

// What may be asked for, in words.
//
// Kinds, each once; names of backends would be more than most want to know.
static hd_status refuse(const char *name, struct hd_error *error)
{
    struct hdi_text kinds = {0};
    size_t count;
    const struct hdi_backend *const *backends = hdi_backends(&count);

    for (size_t i = 0; i < count; i++) {
        bool seen = false;
        for (size_t k = 0; k < i; k++)
            seen |= strcmp(backends[k]->kind, backends[i]->kind) == 0;
        if (!seen)
            hdi_text_print(&kinds, "%s, ", backends[i]->kind);
    }
    hd_status status =
        hdi_fail(error, HD_EINVAL,
                 "there is no device '%s'; it is one of %sall, or several of "
                 "them with commas between",
                 name, kinds.data ? kinds.data : "");
    hdi_text_free(&kinds);
    return status;
}

// Open the device of a name, which has `length` characters: of the first
// backend of that kind that has one.
//
// Always the first device of the backend (0): several of one kind are not
// offered. HD_ENODEV: backends of that name are built in, and none finds
// hardware; the text is that of the first.
static hd_status open_device(const struct hd_runtime *runtime,
                             const struct hd_runtime_params *params,
                             const char *named, size_t length,
                             struct hdi_device **device, struct hd_error *error)
{
    const struct hdi_device_params how = {
        .units = params->units,
        .unit_cores = params->unit_cores,
        .doorbell = params->unit_doorbell,
        .unit_timeout = params->unit_timeout,
        .print = {params->print, params->print_data},
        .guard = params->guard,
        .archive = runtime->cache ? &runtime->archive : NULL};
    size_t count;
    const struct hdi_backend *const *backends = hdi_backends(&count);
    struct hd_error why;
    bool any = false;
    char name[32];

    snprintf(name, sizeof(name), "%.*s", (int)length, named);
    for (size_t i = 0; i < count; i++) {
        if (!is_called(backends[i], name))
            continue;
        // The first refusal is the one that is told: it is of the backend that
        // the system would use if it could.
        hd_status status = backends[i]->open(runtime->topology, 0, &how, device,
                                             any ? &why : error);
        if (status != HD_ENODEV) {
            if (status != HD_OK && any && error)
                *error = why;
            return status;
        }
        any = true;
    }
    if (!any)
        return refuse(name, error);
    return hdi_fail(error, HD_ENODEV, "%s; use --device %s or leave it out",
                    error ? strdupa(error->text) : "", first_kind);
}

// From the last to the first, since the others may hold copies of buffers of
// the first. A launcher goes before its device: it owns memory there.
void hdi_devices_close(struct hd_runtime *r)
{
    while (r->device_count > 0) {
        struct hdi_device *device = r->devices[--r->device_count];
        hdi_launcher_destroy(r->launchers[r->device_count]);
        device->backend->close(device);
    }
}

// The launcher of the first device has the workers' tracks.
//
// All of it or nothing: the counts grow when device and launcher are there. The
// trace's tracks are the workers' and are filled through the first launcher;
// the others get no trace.
static hd_status add_device(struct hd_runtime *r,
                            const struct hd_runtime_params *params,
                            const char *name, size_t length,
                            struct hd_error *error)
{
    unsigned number = r->device_count;
    struct hdi_device *device;

    if (number == HDI_PLACES)
        return hdi_fail(error, HD_ELIMIT, "a runtime has %d devices at most",
                        HDI_PLACES);
    HDI_TRY(open_device(r, params, name, length, &device, error));
    hd_status status =
        hdi_launcher_create(r->pool, device, number == 0 ? r->trace : NULL,
                            &r->launchers[number], error);
    if (status != HD_OK) {
        device->backend->close(device);
        return status;
    }
    r->launchers[number]->number = number;
    r->devices[number] = device;
    r->device_count++;
    return HD_OK;
}

// With "all", a device of each other kind that there is. A kind that is not
// there is no error; one that is there and does not open is.
//
// Of each kind the first backend stands for all: open_device() tries the others
// of the kind by itself. Only those that want to be in "all" are asked.
static hd_status add_others(struct hd_runtime *r,
                            const struct hd_runtime_params *params,
                            struct hd_error *error)
{
    size_t count;
    const struct hdi_backend *const *backends = hdi_backends(&count);

    for (size_t i = 0; i < count; i++) {
        const char *kind = backends[i]->kind;
        bool had = !backends[i]->in_all || strcmp(kind, first_kind) == 0;
        struct hd_error why;
        for (size_t k = 0; k < i; k++)
            had |= backends[k]->in_all && strcmp(backends[k]->kind, kind) == 0;
        if (had)
            continue;
        hd_status status = add_device(r, params, kind, strlen(kind), &why);
        if (status != HD_OK && status != HD_ENODEV)
            return hdi_fail(error, status, "%s", why.text);
    }
    return HD_OK;
}

// Those that the parameters name; no name means the CPU.
//
// Names are separated by commas. After an error none is open.
hd_status hdi_devices_open(struct hd_runtime *r,
                           const struct hd_runtime_params *params,
                           struct hd_error *error)
{
    bool all = params->device && strcmp(params->device, "all") == 0;
    const char *names = params->device && !all ? params->device : first_kind;
    hd_status status = HD_OK;

    for (const char *at = names; status == HD_OK; at++) {
        size_t length = strcspn(at, ",");
        status = add_device(r, params, at, length, error);
        at += length;
        if (*at == '\0')
            break;
    }
    if (status == HD_OK && all)
        status = add_others(r, params, error);
    if (status != HD_OK) {
        hdi_devices_close(r);
        return status;
    }
    // Launchers know each other, for launches in parts. One that runs nothing
    // gets work when it is named, not when it would be found (`automatic`).
    for (unsigned i = 0; i < r->device_count; i++) {
        r->launchers[i]->peers = r->device_count;
        r->launchers[i]->all = r->launchers;
        if (i == 0 || !r->devices[i]->can.discards)
            r->launchers[0]->automatic |= UINT64_C(1) << i;
    }
    r->device = r->devices[0];
    r->launcher = r->launchers[0];
    return HD_OK;
}
