#include "graph/perform/transfer.h"

#include <string.h>

#include "base/error.h"
#include "graph/model/agile.h"
#include "graph/model/layout.h"
#include "launch/memory/seal.h"
#include "launch/memory/spread.h"
#include "launch/start/start.h"

// About a millisecond of copying: with much less, looking would cost; with
// more, a cancelled run would go on for long.
enum {
    STEP = 4 << 20 // copied or cleared between two looks at `cancel` [bytes]
};

static hd_status check_cancel(struct hd_graph *graph, struct hd_error *error)
{
    if (!atomic_load_explicit(&graph->cancel, memory_order_relaxed))
        return HD_OK;
    return hdi_fail(error, HD_ECANCELED, "cancelled");
}

// Not every device can set bytes, but all copy: without a source zeros of the
// host are copied. `to` is an address on the device.
static hd_status move_bytes(struct hd_graph *graph, void *to, const void *from,
                            uint64_t size, struct hd_error *error)
{
    static const char zeros[64 * 1024];
    struct hdi_device *device = graph->context.launcher->device;
    bool host = device->can.host_memory;
    uint64_t step = from || host ? STEP : sizeof(zeros);

    for (uint64_t done = 0; done < size; done += step) {
        HDI_TRY(check_cancel(graph, error));
        uint64_t now = size - done < step ? size - done : step;
        char *at = (char *)to + done;
        if (!from && host) {
            memset(at, 0, now);
            continue;
        }
        const char *source = from ? (const char *)from + done : zeros;
        hd_status status = device->backend->copy(device, at, source, now);
        if (status != HD_OK)
            return hdi_fail(error, status, "copying %llu bytes: %s",
                            (unsigned long long)now, hd_status_text(status));
    }
    return HD_OK;
}

// Other parts of the same memory may be constants of a launch now.
//
// Sealed pages are made writable for as long as it takes. What other devices
// have of these bytes is out of date from here on (launch/memory/spread.h).
hd_status hdi_transfer_bytes(struct hd_graph *graph, struct hd_buffer *to,
                             uint64_t offset, const void *from, uint64_t size,
                             struct hd_error *error)
{
    HDI_TRY(hdi_spread_use_home(to, offset, size, HDI_USE_OVERWRITE, error));
    hdi_seal_lift(to);
    hd_status status =
        move_bytes(graph, (char *)to->address + offset, from, size, error);
    hdi_seal_restore(to);
    return status;
}

static struct hd_buffer *memory_of(const struct hd_graph *graph,
                                   const struct hdi_pass *pass,
                                   uint32_t resource)
{
    const struct hdi_access *a = graph->accesses.at + pass->accesses;

    while (a->resource != resource)
        a++;
    return graph->slots.at[a->slot].memory;
}

// Rows of a box, each contiguous.
//
//     to    +----------+         to_pitch[0]: from row to row
//           |  ####    |         to_pitch[1]: from slice to slice
//           |  ####    |         bytes:       of ####
//           +----------+         count:       2 rows, slices
struct rows {
    uint64_t bytes;               // of a row
    uint64_t count[2];            // rows of a slice, slices
    uint64_t to, to_pitch[2];     // first [bytes], row to row, slice to
    uint64_t from, from_pitch[2]; // slice [bytes]
};

// Extents of axes that the resource does not have are 1.
static void locate(const struct hdi_resource *r, const uint64_t at[3],
                   uint64_t *first, uint64_t pitch[2])
{
    pitch[0] = r->shape.extent[0] * r->type->size;
    pitch[1] = pitch[0] * r->shape.extent[1];
    *first = at[0] * r->type->size + at[1] * pitch[0] + at[2] * pitch[1];
}

// Rows that follow each other without a gap are one.
//
// So a whole resource is one copy. First rows become a slice, then slices
// become all.
static void join_rows(struct rows *rows)
{
    for (int i = 0; i < 2; i++) {
        if (rows->bytes != rows->to_pitch[0] ||
            rows->bytes != rows->from_pitch[0])
            return;
        rows->bytes *= rows->count[0];
        rows->count[0] = rows->count[1];
        rows->to_pitch[0] = rows->to_pitch[1];
        rows->from_pitch[0] = rows->from_pitch[1];
        rows->count[1] = 1;
    }
}

// The region was checked and made explicit by the builder (pass.c). A clear or
// fill has no source, so its pitches must not keep rows apart.
static void copy_of(const struct hd_graph *graph, const struct hdi_command *c,
                    struct rows *rows)
{
    const struct hdi_resource *to = &graph->resources.at[c->to];
    const struct hdi_resource *from =
        c->from == HDI_NONE ? to : &graph->resources.at[c->from];

    uint64_t size = c->bytewise ? 1 : to->type->size;
    *rows = (struct rows){.bytes = c->region.count[0] * size,
                          .count = {c->region.count[1], c->region.count[2]}};
    locate(to, c->region.to, &rows->to, rows->to_pitch);
    locate(from, c->region.from, &rows->from, rows->from_pitch);
    if (c->from == HDI_NONE) {
        rows->from_pitch[0] = rows->to_pitch[0];
        rows->from_pitch[1] = rows->to_pitch[1];
    }
    join_rows(rows);
}

static hd_status copy_rows(struct hd_graph *graph, struct hd_buffer *to,
                           const char *from, const struct rows *rows,
                           struct hd_error *error)
{
    for (uint64_t z = 0; z < rows->count[1]; z++)
        for (uint64_t y = 0; y < rows->count[0]; y++)
            HDI_TRY(hdi_transfer_bytes(
                graph, to,
                rows->to + y * rows->to_pitch[0] + z * rows->to_pitch[1],
                from ? from + rows->from + y * rows->from_pitch[0] +
                           z * rows->from_pitch[1]
                     : NULL,
                rows->bytes, error));
    return HD_OK;
}

// The pattern fills a block, which is copied again and again.
//
// Whole patterns only, so each copy begins with a whole one. One call a pattern
// would cost more than the bytes.
static hd_status fill_rows(struct hd_graph *graph, struct hd_buffer *to,
                           const struct hdi_command *c, const struct rows *rows,
                           struct hd_error *error)
{
    char block[4096];
    uint64_t whole = sizeof(block) / c->pattern_size * c->pattern_size;

    for (uint64_t i = 0; i < whole; i += c->pattern_size)
        memcpy(block + i, graph->values.at + c->pattern, c->pattern_size);
    for (uint64_t z = 0; z < rows->count[1]; z++)
        for (uint64_t y = 0; y < rows->count[0]; y++)
            for (uint64_t x = 0; x < rows->bytes; x += whole) {
                uint64_t size =
                    rows->bytes - x < whole ? rows->bytes - x : whole;
                HDI_TRY(hdi_transfer_bytes(graph, to,
                                           rows->to + y * rows->to_pitch[0] +
                                               z * rows->to_pitch[1] + x,
                                           block, size, error));
            }
    return HD_OK;
}

// Ask for every line, so that the next pass finds it near.
static void prefetch(const char *at, uint64_t size)
{
    for (uint64_t i = 0; i < size; i += 64)
        __builtin_prefetch(at + i, 0, 2);
}

// As move_bytes(), but the host computes where each element goes.
static hd_status lay_out(struct hd_graph *graph, const struct hdi_command *c,
                         const struct hd_buffer *from, struct hd_buffer *to,
                         struct hd_error *error)
{
    if (!graph->context.launcher->device->can.host_memory)
        return hdi_fail(error, HD_ENOTSUP,
                        "layouts change in memory of the host only; a kernel "
                        "does it on %s",
                        graph->context.launcher->device->can.description);
    HDI_TRY(hdi_spread_use_home(from, 0, from->size, HDI_USE_READ, error));
    HDI_TRY(hdi_spread_use_home(to, 0, to->size, HDI_USE_OVERWRITE, error));
    hdi_seal_lift(to);
    hd_status status =
        hdi_layout_change(graph, &graph->resources.at[c->from], from->address,
                          &graph->resources.at[c->to], to->address, error);
    hdi_seal_restore(to);
    return status;
}

// The function may have launched something, so the next launch may not take for
// granted what the one before has set up.
static hd_status call(struct hd_graph *graph, const struct hdi_command *command,
                      struct hd_error *error)
{
    hd_status status = command->call.function(command->call.data, error);

    hdi_launch_expect(graph->context.launcher);
    return status;
}

// Runs on this worker to its end. A prefetch on another device is nothing: what
// it would bring near is not near this processor.
hd_status hdi_transfer(struct hd_graph *graph, const struct hdi_pass *pass,
                       const struct hdi_command *command,
                       struct hd_error *error)
{
    struct rows rows;

    if (command->is == HD_SYNC || command->is == HD_FLUSH)
        return HD_OK; // what the edges of the pass do, and coherent caches
    if (command->is == HD_CALL)
        return call(graph, command, error);
    if (pass->agile && hdi_agile_is_over(graph, command))
        return hdi_agile_transfer(graph, pass, command, error);
    struct hd_buffer *to = memory_of(graph, pass, command->to);
    if (command->is == HD_PREFETCH) {
        if (graph->context.launcher->device->can.host_memory)
            prefetch(to->address, graph->resources.at[command->to].size);
        return HD_OK;
    }
    if (command->is == HD_LAYOUT)
        return lay_out(graph, command, memory_of(graph, pass, command->from),
                       to, error);
    copy_of(graph, command, &rows);
    if (command->is == HD_FILL)
        return fill_rows(graph, to, command, &rows, error);
    if (command->is != HD_COPY)
        return copy_rows(graph, to, NULL, &rows, error);
    const struct hd_buffer *from = memory_of(graph, pass, command->from);
    HDI_TRY(hdi_spread_use_home(from, 0, from->size, HDI_USE_READ, error));
    return copy_rows(graph, to, from->address, &rows, error);
}
