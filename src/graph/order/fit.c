// Footprints of kernels say what a launch touches. Only what it touches for
// certain may be refused: a footprint that is too large by far would refuse
// programs that are right.
#include "graph/order/fit.h"

#include <string.h>

#include "base/error.h"

// Their footprints lie on the stack; a kernel with more is not looked at.
enum {
    MAX_ARGS = 64 // of a kernel that is looked at
};

// The last byte and one; only what is touched for certain counts.
//
// Counts from the beginning of the argument; 0: nothing is known for certain.
static int64_t end_of(const struct hd_touched *t)
{
    if (t->kind != HD_TOUCHES_ROWS || !t->exact || !t->bytes || !t->count[0] ||
        !t->count[1])
        return 0;
    return t->begin + (int64_t)((t->count[0] - 1) * t->stride[0] +
                                (t->count[1] - 1) * t->stride[1] + t->bytes);
}

static bool is_before(const struct hd_touched *t)
{
    return end_of(t) != 0 && t->begin < 0;
}

// Of a buffer of so many.
//
// In floating point, as a product of counts may not fit 64 bits; at most all of
// the buffer.
static uint64_t bytes_of(const struct hd_touched *t, uint64_t size)
{
    double all = (double)t->bytes * (double)t->count[0] * (double)t->count[1];

    if (t->kind == HD_TOUCHES_NOTHING)
        return 0;
    return t->kind == HD_TOUCHES_ROWS && all < (double)size ? (uint64_t)all
                                                            : size;
}

// "64 x 32 work-items".
static void print_range(const struct hd_range *range, char *text, size_t size)
{
    size_t used = 0;

    for (unsigned i = 0; i < range->dims && used < size; i++)
        used +=
            (size_t)snprintf(text + used, size - used, "%s%llu", i ? " x " : "",
                             (unsigned long long)range->global[i]);
}

static uint64_t size_of(const struct hd_graph *graph,
                        const struct hdi_pass *pass,
                        const struct hdi_argument *a)
{
    return a->is == HD_PASS_SCRATCH
               ? graph->scratch.at[pass->scratch + a->index].size
               : graph->resources.at[a->index].size;
}

// The text for the first argument that does not fit. A write is told rather
// than a read: it does harm.
static hd_status fail_fit(const struct hd_graph *graph,
                          const struct hdi_pass *pass,
                          const struct hdi_command *command, uint32_t arg,
                          const struct hd_footprint *f, struct hd_error *error)
{
    const struct hd_kernel *kernel = graph->kernels.at[command->kernel].kernel;
    const struct hdi_argument *a = &graph->args.at[command->args + arg];
    bool scratch = a->is == HD_PASS_SCRATCH;
    uint64_t size = size_of(graph, pass, a);
    bool writes = is_before(&f->write) || end_of(&f->write) > (int64_t)size;
    const struct hd_touched *t = writes ? &f->write : &f->read;
    char range[80];

    print_range(&command->range, range, sizeof(range));
    if (is_before(t))
        return hdi_fail(
            error, HD_EGRAPH,
            HDI_PASS "with %s work-items kernel '%s' %s %lld bytes "
                     "before the beginning of %s%s%s, its argument "
                     "%u ('%s')",
            HDI_PASS_OF(pass->where, pass->name), range, kernel->info.name,
            writes ? "writes" : "reads", -(long long)t->begin,
            scratch ? "scratch" : "resource '",
            scratch ? "" : graph->resources.at[a->index].name,
            scratch ? "" : "'", arg + 1, kernel->args[arg].shown.name);
    return hdi_fail(
        error, HD_EGRAPH,
        HDI_PASS "with %s work-items kernel '%s' %s up to byte %lld of %s%s%s, "
                 "its argument %u ('%s'), which has %llu",
        HDI_PASS_OF(pass->where, pass->name), range, kernel->info.name,
        writes ? "writes" : "reads", (long long)end_of(t),
        scratch ? "scratch" : "resource '",
        scratch ? "" : graph->resources.at[a->index].name, scratch ? "" : "'",
        arg + 1, kernel->args[arg].shown.name, (unsigned long long)size);
}

static void mix(uint64_t *hash, uint64_t value)
{
    *hash = (*hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    *hash ^= *hash >> 29;
}

// All that the answer depends on. 0 is what is in an empty place.
//
// Values count only if the footprint asks for them (one bit for each argument,
// the last for all from 63 on). Without that, passes that differ in a value
// alone would each be looked at.
static uint64_t hash_of(const struct hd_graph *graph,
                        const struct hdi_pass *pass,
                        const struct hdi_command *command)
{
    const struct hd_range *range = &command->range;
    const struct hdi_kernel_use *use = &graph->kernels.at[command->kernel];
    uint64_t asked = hdi_footprint_asks(use->kernel->footprint);
    uint64_t hash = HDI_HASH;

    mix(&hash, command->kernel);
    mix(&hash, use->content);
    mix(&hash, range->dims);
    for (unsigned i = 0; i < range->dims; i++) {
        mix(&hash, range->global[i]);
        mix(&hash, range->local[i]);
        mix(&hash, range->offset[i]);
    }
    for (uint32_t i = 0; i < command->arg_count; i++) {
        const struct hd_arg *packed = &graph->packed[command->args + i];
        const struct hdi_argument *a = &graph->args.at[command->args + i];
        if (a->is == HD_PASS_RESOURCE || a->is == HD_PASS_SCRATCH) {
            mix(&hash, size_of(graph, pass, a));
        } else if (packed->is == HD_IS_VALUE &&
                   asked >> (i < 63 ? i : 63) & 1) {
            for (uint64_t at = 0; at < packed->size; at += 8) {
                uint64_t word = 0;
                uint64_t left = packed->size - at;
                memcpy(&word, (const char *)packed->value + at,
                       left < 8 ? left : 8);
                mix(&hash, word);
            }
        }
    }
    return hash | 1;
}

// Beyond 2^43, hours of work, all are as many: sums over commands stay small.
uint64_t hdi_guess_steps(const struct hd_graph *graph,
                         const struct hdi_command *command)
{
    double steps =
        hdi_kernel_steps(graph->kernels.at[command->kernel].kernel,
                         &command->range, graph->packed + command->args);

    return steps < 0x1p43 ? (uint64_t)steps : UINT64_C(1) << 43;
}

// What fits is remembered by a hash, as many passes launch the same kernel over
// the same sizes: a lookup takes far less than a footprint. Two that share a
// place drive each other out, which costs time only. What does not fit is not
// remembered.
hd_status hdi_graph_check_fit(struct hd_graph *graph,
                              const struct hdi_pass *pass,
                              const struct hdi_command *command,
                              struct hdi_guess *guess, struct hd_error *error)
{
    const struct hd_kernel *kernel = graph->kernels.at[command->kernel].kernel;
    uint64_t hash = hash_of(graph, pass, command), place = hash / 2;
    uint64_t *known = &graph->fitting[place % HDI_FITTING].hash, sum = 0;
    struct hdi_guess *kept = &graph->fitting[place % HDI_FITTING].guess;
    struct hd_footprint footprints[MAX_ARGS];
    struct hd_error ignored;

    *guess = *known == hash ? *kept : (struct hdi_guess){0, 0};
    // A checked kernel tells more: the work-item and the line.
    if (kernel->info.form == HD_FORM_CHECKED || *known == hash)
        return HD_OK;
    if (command->arg_count > MAX_ARGS ||
        hd_kernel_footprint(kernel, &command->range,
                            graph->packed + command->args, command->arg_count,
                            NULL, footprints, &ignored) != HD_OK)
        return HD_OK; // what cannot be told is found when it runs
    for (uint32_t i = 0; i < command->arg_count; i++) {
        const struct hdi_argument *a = &graph->args.at[command->args + i];
        const struct hd_footprint *f = &footprints[i];

        if (a->is != HD_PASS_RESOURCE && a->is != HD_PASS_SCRATCH)
            continue;
        int64_t size = (int64_t)size_of(graph, pass, a);
        if (is_before(&f->read) || is_before(&f->write) ||
            end_of(&f->read) > size || end_of(&f->write) > size)
            return fail_fit(graph, pass, command, i, f, error);
        sum += bytes_of(&f->read, (uint64_t)size) +
               bytes_of(&f->write, (uint64_t)size);
    }
    *known = hash;
    *guess = *kept = (struct hdi_guess){sum, hdi_guess_steps(graph, command)};
    return HD_OK;
}
