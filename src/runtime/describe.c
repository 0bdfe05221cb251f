// What this machine offers and what is built in.
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "heddle/version.h"
#include "kernel/binary/contents.h"
#include "kernel/opencl.h"
#include "kernel/program/spirv.h"
#include "runtime/runtime.h"
#include "transport/transport.h"

// How a name of a list looks in the text and in JSON; the lists are macros
// (kernel/opencl.h), so that each is one literal.
#define WORD(name, major)   " " name
#define STRING(name, major) ",\"" name "\""

// In the largest unit that leaves a number of 1 or more, with four digits.
// Nothing for 0: it is not known.
static void print_bytes(struct hdi_text *text, bool first, const char *name,
                        uint64_t bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double shown = (double)bytes;
    int unit = 0;

    while (shown >= 1024 && unit < 4) {
        shown /= 1024;
        unit++;
    }
    if (bytes > 0)
        hdi_text_print(text, "%s %.4g %s %s", first ? "" : ",", shown,
                       units[unit], name);
}

// With an "s" where there is not exactly one.
static void print_count(struct hdi_text *text, unsigned n, const char *what)
{
    hdi_text_print(text, ", %u %s%s", n, what, hdi_plural(n, "s"));
}

// How many devices a backend has, with a line for each (`text` is optional);
// `error` says why there are no more.
//
// A device is opened to be asked and closed again: those that the runtime uses
// are not touched. At least one open fails, which ends the count.
static unsigned list_devices(const struct hd_runtime *r,
                             const struct hdi_backend *backend,
                             struct hdi_text *text, struct hd_error *error)
{
    struct hdi_device *device;
    unsigned count = 0;

    while (backend->open(r->topology, count, NULL, &device, error) == HD_OK) {
        if (text) {
            hdi_text_print(text, "%-10s %s, code for %s", backend->title,
                           device->can.description, device->can.cpu);
            print_bytes(text, false, "memory", device->can.memory_bytes);
            print_bytes(text, false, "local", device->can.local_bytes);
            hdi_text_print(text, "\n");
        }
        backend->close(device);
        count++;
    }
    return count;
}

// One line for each that is not the machine itself; or why there is none.
//
// A backend without a title is the machine itself, or for tests.
static void describe_devices(const struct hd_runtime *r, struct hdi_text *text)
{
    size_t count;
    const struct hdi_backend *const *backends = hdi_backends(&count);

    for (size_t i = 0; i < count; i++) {
        struct hd_error error = {.text = ""};
        if (backends[i]->title &&
            list_devices(r, backends[i], text, &error) == 0)
            hdi_text_print(text, "%-10s none: %s\n", backends[i]->title,
                           error.text);
    }
}

static bool counts_traffic(const struct hd_runtime *r)
{
    return r->launcher->misses && hdi_misses_try(&r->launcher->counted) == 0;
}

// Who tells how many bytes a launch has moved.
static void describe_traffic(const struct hd_runtime *r, struct hdi_text *text)
{
    int refused = hdi_misses_try(&r->launcher->counted);

    if (!r->launcher->misses)
        hdi_text_print(text, "estimated from arguments\n");
    else if (refused == 0)
        hdi_text_print(text, "counted by the processor, as cache misses\n");
    else
        hdi_text_print(text,
                       "estimated from arguments: no cache misses can be "
                       "counted (%s)\n",
                       strerror(refused));
}

// For people: a word, then what there is. Scripts are to use JSON, whose names
// do not change.
static void describe_text(const struct hd_runtime *r, struct hdi_text *text)
{
    const struct hdi_machine *m = hdi_topology_machine(r->topology);

    hdi_text_print(text, "Heddle %d.%d.%d\n", HD_VERSION_MAJOR,
                   HD_VERSION_MINOR, HD_VERSION_PATCH);
    hdi_text_print(text, "machine    %s%s",
                   m->processor[0] ? m->processor : "unknown processor",
                   m->synthetic ? " (synthetic)" : "");
    print_count(text, m->cores, "core");
    print_count(text, m->threads, "hardware thread");
    print_count(text, m->packages, "package");
    print_count(text, m->nodes, "NUMA node");
    print_count(text, m->cache_groups, "last-level cache");
    hdi_text_print(text, "\nmemory    ");
    print_bytes(text, true, "L1", m->l1_bytes);
    print_bytes(text, false, "L2", m->l2_bytes);
    print_bytes(text, false, "L3", m->l3_bytes);
    print_bytes(text, false, "main", m->memory_bytes);
    hdi_text_print(text, "\nworkers    %u\n", hd_pool_workers(r->pool));

    size_t count;
    const struct hdi_backend *const *backends = hdi_backends(&count);
    for (size_t i = 0; i < count; i++)
        hdi_text_print(text, "backend    %s%s%s\n", backends[i]->name,
                       backends[i] == r->device->backend ? ", in use: " : "",
                       backends[i] == r->device->backend
                           ? r->device->can.description
                           : "");
    describe_devices(r, text);
    hdi_text_print(text, "traffic    ");
    describe_traffic(r, text);
    if (r->device->can.lines)
        hdi_text_print(text, "lines      %s\n", r->device->can.lines);
    const struct hdi_transport *const *transports = hdi_transports(&count);
    for (size_t i = 0; i < count; i++) {
        hdi_text_print(text, "transport  %s: ", transports[i]->name);
        transports[i]->describe(text);
        hdi_text_print(text, "\n");
    }
    hdi_text_print(text, "compiler   %s\n", hdi_compiler_description());
    hdi_text_print(text, "SPIR-V     ");
    hdi_spirv_describe(text);
    hdi_text_print(text, "\n");
    if (hdi_has_compiler())
        hdi_text_print(text,
                       "OpenCL C   " HDI_OPENCL_VERSIONS
                       "\nextensions" HDI_OPENCL_EXTENSIONS(
                           WORD) "\n"
                                 "features  " HDI_OPENCL_FEATURES(WORD) "\n");
    hdi_text_print(text, "language   %s\n", hdi_graph_language());

    hdi_text_print(text, "cache      %s\n",
                   r->cache ? hdi_cache_folder(r->cache) : "none");
}

// Devices by kind, of those that are not the machine itself: "gpus":1
//
// Several backends of one kind are counted together, under the first of them.
static void json_devices(const struct hd_runtime *r, struct hdi_text *text)
{
    size_t count;
    const struct hdi_backend *const *backends = hdi_backends(&count);

    for (size_t i = 0; i < count; i++) {
        const char *kind = backends[i]->kind;
        struct hd_error error;
        unsigned devices = 0;
        bool had = !backends[i]->title;
        for (size_t k = 0; k < i; k++)
            had |= backends[k]->title && strcmp(backends[k]->kind, kind) == 0;
        for (size_t k = i; k < count && !had; k++)
            if (backends[k]->title && strcmp(backends[k]->kind, kind) == 0)
                devices += list_devices(r, backends[k], NULL, &error);
        if (!had)
            hdi_text_print(text, ",\"%ss\":%u", kind, devices);
    }
}

// Never the first of an object: the comma is in front.
static void json_field(struct hdi_text *text, const char *name,
                       const char *value)
{
    hdi_text_print(text, ",\"%s\":", name);
    hdi_text_json(text, value);
}

// Through a text of its own, since it has to be quoted.
static void json_spirv(struct hdi_text *text)
{
    struct hdi_text spirv = {0};

    hdi_spirv_describe(&spirv);
    json_field(text, "spirv", spirv.data ? spirv.data : "");
    text->failed |= spirv.failed;
    hdi_text_free(&spirv);
}

// One object on one line. A text that failed for want of memory is found by the
// caller.
static void describe_json(const struct hd_runtime *r, struct hdi_text *text)
{
    const struct hdi_machine *m = hdi_topology_machine(r->topology);
    size_t count;

    hdi_text_print(text, "{\"version\":\"%d.%d.%d\"", HD_VERSION_MAJOR,
                   HD_VERSION_MINOR, HD_VERSION_PATCH);
    json_field(text, "processor", m->processor);
    hdi_text_print(
        text,
        ",\"synthetic\":%s,\"cores\":%u,\"threads\":%u,"
        "\"packages\":%u,\"nodes\":%u,\"cache_groups\":%u,"
        "\"l1_bytes\":%" PRIu64 ",\"l2_bytes\":%" PRIu64
        ",\"l3_bytes\":%" PRIu64 ",\"memory_bytes\":%" PRIu64 ",\"workers\":%u",
        m->synthetic ? "true" : "false", m->cores, m->threads, m->packages,
        m->nodes, m->cache_groups, m->l1_bytes, m->l2_bytes, m->l3_bytes,
        m->memory_bytes, hd_pool_workers(r->pool));
    hdi_text_print(text, ",\"backends\":[");
    const struct hdi_backend *const *backends = hdi_backends(&count);
    for (size_t i = 0; i < count; i++) {
        hdi_text_print(text, i ? "," : "");
        hdi_text_json(text, backends[i]->name);
    }
    hdi_text_print(text, "],\"transports\":[");
    const struct hdi_transport *const *transports = hdi_transports(&count);
    for (size_t i = 0; i < count; i++) {
        hdi_text_print(text, i ? "," : "");
        hdi_text_json(text, transports[i]->name);
    }
    hdi_text_print(text, "]");
    json_field(text, "device", r->device->can.description);
    json_devices(r, text);
    hdi_text_print(text, ",\"has_compiler\":%s,\"has_lua\":%s",
                   hdi_has_compiler() ? "true" : "false",
                   hdi_graph_has_language() ? "true" : "false");
    // What begins with a comma is made for the end of a list.
    static const char extensions[] = HDI_OPENCL_EXTENSIONS(STRING),
                      features[] = HDI_OPENCL_FEATURES(STRING);
    bool compiles = hdi_has_compiler();
    hdi_text_print(text, ",\"extensions\":[%s],\"features\":[%s]",
                   compiles ? extensions + 1 : "",
                   compiles ? features + 1 : "");
    json_field(text, "compiler", hdi_compiler_description());
    json_spirv(text);
    json_field(text, "lines", r->device->can.lines ? r->device->can.lines : "");
    hdi_text_print(text, ",\"counts_traffic\":%s",
                   counts_traffic(r) ? "true" : "false");
    json_field(text, "language", hdi_graph_language());
    json_field(text, "cache", r->cache ? hdi_cache_folder(r->cache) : "");
    hdi_text_print(text, "}\n");
}

// False: not all of it came out; flushed, so that a full disk is found here.
static bool write_text(const struct hdi_text *text, FILE *file)
{
    return fwrite(text->data, 1, text->size, file) == text->size &&
           fflush(file) == 0;
}

// HD_EIO: the file takes no more.
hd_status hd_runtime_describe(const struct hd_runtime *runtime, FILE *file,
                              bool json)
{
    struct hdi_text text = {0};

    if (json)
        describe_json(runtime, &text);
    else
        describe_text(runtime, &text);

    hd_status status = HD_OK;
    if (text.failed)
        status = HD_ENOMEM;
    else if (!write_text(&text, file))
        status = HD_EIO;
    hdi_text_free(&text);
    return status;
}

hd_status hd_runtime_describe_binary(const struct hd_runtime *runtime,
                                     const char *path, FILE *file, bool json,
                                     struct hd_error *error)
{
    struct hdi_text text = {0};
    hd_status status =
        hdi_contents_describe(&runtime->device->can, path, json, &text, error);

    if (status == HD_OK && !write_text(&text, file))
        status =
            hdi_fail(error, HD_EIO, "what is in %s cannot be written", path);
    hdi_text_free(&text);
    return status;
}
