#include "launch/fault/fault.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/text.h"

enum {
    NULL_ZONE = 64 << 10, // what a null pointer and an index reach [bytes]
    NEAR = 1 << 30        // what is further off has missed nothing [bytes]
};

// `used` never reaches `size`: what is too long is cut off.
struct writer {
    char *text;
    size_t size, used;
};

__attribute__((format(printf, 2, 3))) static void put(struct writer *w,
                                                      const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    int n = vsnprintf(w->text + w->used, w->size - w->used, format, arguments);
    va_end(arguments);
    if (n > 0)
        w->used += (size_t)n;
    if (w->used >= w->size)
        w->used = w->size - 1;
}

// The memory that the address is nearest to, so far.
struct nearest {
    uint64_t distance; // 0: inside
    bool before;       // its first byte, else behind its last
    struct hdi_fault_block block;
    const struct hdi_kernel_arg *arg; // NULL: the kernel's own
    unsigned index;
    bool is_buffer; // of the application's
    const char *what;
};

static void consider(struct nearest *n, uint64_t address,
                     struct nearest candidate)
{
    uint64_t begin = candidate.block.begin, end = begin + candidate.block.bytes;

    if (candidate.block.bytes == 0)
        return;
    candidate.before = address < begin;
    candidate.distance = candidate.before ? begin - address
                         : address >= end ? address - end
                                          : 0;
    // Both ends of an address that is inside or just behind are at 0: inside
    // was there first.
    if (candidate.distance < n->distance)
        *n = candidate;
}

// The local argument that lies last, or first, in local memory: what its end,
// or begin, belongs to.
static const struct hdi_kernel_arg *local_arg(const struct hd_kernel *kernel,
                                              bool last, unsigned *index)
{
    const struct hdi_kernel_arg *found = NULL;

    if (!last && kernel->info.local_bytes > 0)
        return NULL;
    for (unsigned i = 0; i < kernel->info.arg_count; i++) {
        if (kernel->args[i].shown.kind != HD_ARG_LOCAL)
            continue;
        if (!found || last) {
            found = &kernel->args[i];
            *index = i;
        }
    }
    return found;
}

// The buffer's first byte, where the kernel finds it.
static uint64_t begin_of(const struct hdi_bound *b)
{
    return (uint64_t)(uintptr_t)(b->address - b->offset);
}

// Buffers first, then local and private memory; at equal distance the first
// wins. An address in the private memory of this work-item is that, whatever is
// near.
static struct nearest find(const struct hdi_fault *fault,
                           const struct hd_kernel *kernel,
                           const struct hdi_bound *bound)
{
    struct nearest n = {.distance = UINT64_MAX};

    for (unsigned i = 0; i < kernel->info.arg_count; i++) {
        const struct hdi_bound *b = &bound[i];
        if (b->is != HD_IS_BUFFER || !b->buffer)
            continue;
        struct nearest buffer = {
            .block = {begin_of(b), b->buffer->size},
            .arg = &kernel->args[i],
            .index = i,
            .is_buffer = true,
            .what = "the buffer",
        };
        consider(&n, fault->address, buffer);
    }
    consider(&n, fault->address,
             (struct nearest){.block = fault->local, .what = "local memory"});
    consider(
        &n, fault->address,
        (struct nearest){.block = fault->saved, .what = "the private memory"});
    if (n.block.begin == fault->local.begin && n.block.bytes > 0 && !n.arg)
        n.arg = local_arg(kernel, !n.before, &n.index);
    uint64_t into = fault->address - fault->all.begin;
    if (into < fault->all.bytes) {
        n = (struct nearest){.distance = UINT64_MAX};
        consider(&n, fault->address,
                 (struct nearest){.block = fault->own,
                                  .what = "its private memory"});
    }
    return n;
}

static void put_null(struct writer *w, const struct hd_kernel *kernel,
                     const struct hdi_bound *bound)
{
    put(w, ", a null pointer");
    for (unsigned i = 0; i < kernel->info.arg_count; i++)
        if (bound[i].is == HD_IS_BUFFER && !bound[i].buffer) {
            put(w, " as is argument %u, '%s'", i, kernel->args[i].shown.name);
            return;
        }
}

// What is inside of a buffer faults in its view, or where it is sealed: seal.h.
static void put_sealed(struct writer *w, const struct hdi_fault *fault,
                       const struct nearest *n, const struct hd_kernel *kernel,
                       const struct hdi_bound *bound)
{
    put(w, ", byte %" PRIu64 " of the buffer of %" PRIu64 " bytes",
        fault->address - n->block.begin, n->block.bytes);
    for (unsigned i = 0; i < kernel->info.arg_count; i++)
        if (kernel->args[i].shown.kind == HD_ARG_CONSTANT && bound[i].buffer &&
            begin_of(&bound[i]) == n->block.begin) {
            put(w, ": constant argument %u, '%s', is read-only", i,
                kernel->args[i].shown.name);
            return;
        }
    put(w,
        " of argument %u, '%s', which is read-only while another launch has it "
        "as a constant argument",
        n->index, n->arg->shown.name);
}

// The order is that of certainty: null, constants of the program, far from
// everything, then the nearest memory.
static void put_place(struct writer *w, const struct hdi_fault *fault,
                      const struct hd_kernel *kernel,
                      const struct hdi_bound *bound)
{
    struct nearest n = find(fault, kernel, bound);

    if (fault->address < NULL_ZONE) {
        put_null(w, kernel, bound);
        return;
    }
    if (fault->constant) {
        put(w, ", in a constant of the program");
        return;
    }
    if (n.distance > NEAR) {
        put(w, ", which is far from every argument");
        return;
    }
    bool inside = n.distance == 0 && !n.before &&
                  fault->address < n.block.begin + n.block.bytes;
    if (inside && n.is_buffer && fault->access != HDI_FAULT_READS) {
        put_sealed(w, fault, &n, kernel, bound);
        return;
    }
    if (n.before)
        put(w, ", %" PRIu64 " byte%s before the begin of", n.distance,
            hdi_plural(n.distance, "s"));
    else if (!inside)
        put(w, ", %" PRIu64 " byte%s past the end of", n.distance,
            hdi_plural(n.distance, "s"));
    else
        put(w, ", inside of");
    if (n.arg)
        put(w, " argument %u, '%s':", n.index, n.arg->shown.name);
    put(w, " %s of %" PRIu64 " byte%s", n.what, n.block.bytes,
        hdi_plural(n.block.bytes, "s"));
}

static void put_who(struct writer *w, const struct hdi_fault *fault)
{
    const uint32_t *f = fault->first, *c = fault->count;

    if (fault->has_item)
        put(w,
            "work-item (%" PRIu64 ", %" PRIu64 ", %" PRIu64
            ") of work-group (%u, %u, %u)",
            fault->item[0], fault->item[1], fault->item[2], f[0], f[1], f[2]);
    else if ((uint64_t)c[0] * c[1] * c[2] == 1)
        put(w, "a work-item of work-group (%u, %u, %u)", f[0], f[1], f[2]);
    else
        put(w, "a work-item of work-groups (%u, %u, %u) to (%u, %u, %u)", f[0],
            f[1], f[2], f[0] + c[0] - 1, f[1] + c[1] - 1, f[2] + c[2] - 1);
}

static void put_deed(struct writer *w, const struct hdi_fault *fault,
                     const struct hd_kernel *kernel,
                     const struct hdi_bound *bound)
{
    static const char *const access[] = {"touches", "reads", "writes"};

    switch (fault->kind) {
    case HDI_FAULT_EXCEPTION:
        put(w, " raises a floating-point exception, which the application has "
               "enabled");
        return;
    case HDI_FAULT_INSTRUCTION:
        put(w, " runs into code that cannot be reached");
        return;
    case HDI_FAULT_ACCESS:
        break;
    }
    put(w, " %s ", access[fault->access]);
    if (!fault->has_address) {
        put(w, "an address that no memory can have");
        return;
    }
    put(w, "0x%" PRIx64, fault->address);
    put_place(w, fault, kernel, bound);
}

// `text` ends with 0 whatever its size, if that is 1 at least.
void hdi_fault_describe(const struct hdi_fault *fault,
                        const struct hd_kernel *kernel,
                        const struct hdi_bound *bound, const char *hint,
                        char *text, size_t size)
{
    struct writer w = {text, size, 0};

    if (fault->line > 0)
        put(&w, "%s:%u: ", fault->file, fault->line);
    put_who(&w, fault);
    put_deed(&w, fault, kernel, bound);
    if (hint)
        put(&w, "; %s", hint);
}
