#include "backend/cpu/unit/core.h"

#include <signal.h>
#include <string.h>

static struct hdi_fault_block block_at(const void *begin, uint64_t bytes)
{
    return (struct hdi_fault_block){(uint64_t)(uintptr_t)begin, bytes};
}

static enum hdi_fault_kind kind_of(const struct hdi_trap *trap)
{
    switch (trap->signal) {
    case SIGFPE:
        return HDI_FAULT_EXCEPTION;
    case SIGILL:
        return HDI_FAULT_INSTRUCTION;
    default:
        return HDI_FAULT_ACCESS;
    }
}

// A fault in these groups; the rest is the caller's to say.
static struct hdi_fault *begin_fault(struct hdi_cpu_core *core,
                                     const struct hdi_frame *frame)
{
    struct hdi_fault *f = &core->fault;

    core->trapped = true;
    *f = (struct hdi_fault){
        .local = block_at(frame->local, frame->local_bytes),
        .saved = block_at(frame->saved, frame->saved_bytes),
    };
    memcpy(f->first, frame->first, sizeof(f->first));
    memcpy(f->count, frame->count, sizeof(f->count));
    return f;
}

// Work-items in thread form are known by name; of loops only the groups of the
// chunk are.
static void describe(struct hdi_cpu_core *core, const struct hdi_entry *entry,
                     const struct hdi_frame *frame)
{
    const struct hdi_trap *trap = &core->shelter.trap;
    struct hdi_fault *f = begin_fault(core, frame);

    f->kind = kind_of(trap);
    f->has_address = trap->has_address;
    f->address = trap->address;
    if (trap->has_access)
        f->access = trap->is_write ? HDI_FAULT_WRITES : HDI_FAULT_READS;
    struct hdi_memory_range own, all;
    hdi_fibers_memory(&core->fibers, &own, &all);
    f->own = block_at(own.begin, own.bytes);
    f->all = block_at(all.begin, all.bytes);
    const struct hdi_item *item = hdi_fibers_running(&core->fibers);
    if (item) {
        f->has_item = true;
        memcpy(f->first, item->group_id, sizeof(f->first));
        memcpy(f->item, item->global_id, sizeof(f->item));
    }
    hdi_cpu_explain_fault(entry->code, trap->caller, f);
}

// Whether the groups wrote before the begin of their memory, where nothing
// faults.
static bool has_damage(struct hdi_cpu_core *core, const struct hdi_frame *frame)
{
    const void *at = hdi_cpu_block_damage(&core->local, frame->local_bytes);

    if (!at)
        at = hdi_cpu_block_damage(&core->saved, frame->saved_bytes);
    if (!at)
        return false;
    struct hdi_fault *f = begin_fault(core, frame);
    f->kind = HDI_FAULT_ACCESS;
    f->access = HDI_FAULT_WRITES;
    f->has_address = true;
    f->address = (uint64_t)(uintptr_t)at;
    return true;
}

// A kernel that cannot be screened is suspect.
// Without memory for tags there is no screen either: the chunk then runs
// checked.
static hd_status begin_screen(struct hdi_cpu_core *core,
                              const struct hdi_check_launch *check,
                              struct hdi_frame *frame)
{
#ifdef HDI_TSAN
    const bool can = false; // it holds signals back, and a trap is one
#else
    const bool can = true;
#endif
    return can && hdi_screener_begin(&core->screener, check, frame) ? HD_OK
                                                                    : HD_EFAULT;
}

// The checker is made for the first kernel that is checked.
static hd_status begin_check(struct hdi_cpu_core *core,
                             const struct hdi_check_launch *check,
                             struct hdi_frame *frame)
{
    if (check->screens)
        return begin_screen(core, check, frame);
    if (!core->checker)
        core->checker = hdi_checker_create();
    return core->checker && hdi_checker_begin(core->checker, check, frame)
               ? HD_OK
               : HD_ENOMEM;
}

// A barrier that not all reached is one more finding.
static hd_status end_check(struct hdi_cpu_core *core,
                           const struct hdi_check_launch *check,
                           hd_status status)
{
    if (check->screens)
        return status;
    bool wrong = hdi_checker_end(core->checker, &core->findings) > 0;
    return wrong || status == HD_EFAULT ? HD_ECHECK : status;
}

// Memory first, since the frame names it; then what looks at it; then the
// kernel. Whatever the kernel left is put in order before anything is returned:
// fibers, tags, the text of printf().
//
// Damage is looked for only where nobody checks: the checker keeps kernels from
// the margin.
hd_status hdi_cpu_run_frame(struct hdi_cpu_core *core,
                            const struct hdi_chunk *chunk, struct hdi_frame *f)
{
    const struct hdi_check_launch *check = chunk->check;
    const struct hdi_entry *entry = chunk->entry;

    *core->fibers.message = '\0';
    core->trapped = false;
    if (!hdi_cpu_block_reserve(&core->local, chunk->local_bytes) ||
        !hdi_cpu_block_reserve(&core->saved, chunk->saved_bytes))
        return HD_ENOMEM;
    f->local = hdi_cpu_block_at_end(&core->local, chunk->local_bytes);
    f->saved = hdi_cpu_block_at_end(&core->saved, chunk->saved_bytes);
    f->services = &core->fibers.services;
    core->fibers.stop = chunk->stop;
    core->fibers.share = chunk->share;
    f->local_bytes = chunk->local_bytes;
    f->saved_bytes = chunk->saved_bytes;
    core->fibers.printer.muted = check && check->search;
    hd_status status = check ? begin_check(core, check, f) : HD_OK;
    if (status != HD_OK)
        return status;
    enum hdi_outcome outcome = hdi_shelter_run(&core->shelter, entry->run,
                                               entry->range, f, chunk->stop);
    if (outcome == HDI_TRAPPED)
        describe(core, entry, f);
    if (outcome != HDI_RAN) {
        hdi_fibers_give_up(&core->fibers);
        if (check && check->screens)
            hdi_screener_forget(&core->screener);
    }
    hdi_printer_flush(&core->fibers.printer);
    status = hdi_fibers_take_status(&core->fibers);
    if (outcome == HDI_TRAPPED)
        return HD_EFAULT;
    if (!check && has_damage(core, f))
        return HD_EFAULT;
    return check ? end_check(core, check, status) : status;
}

hd_status hdi_cpu_run(struct hdi_cpu_core *core, const struct hdi_chunk *chunk)
{
    struct hdi_frame frame = chunk->frame;
    return hdi_cpu_run_frame(core, chunk, &frame);
}

void hdi_cpu_core_init(struct hdi_cpu_core *core,
                       const struct hdi_cpu_device *device)
{
    hdi_fibers_init(&core->fibers);
    core->fibers.printer.sink = device->print;
    core->fibers.coroutines.guard = device->guard;
    // Without memory now, the run that needs it says so.
    hdi_cpu_block_reserve(&core->local, device->device.can.local_bytes);
    hdi_cpu_block_reserve(&core->saved, device->saved_bytes);
}

void hdi_cpu_core_free(struct hdi_cpu_core *core)
{
    hdi_cpu_block_free(&core->local);
    hdi_cpu_block_free(&core->saved);
    hdi_fibers_free(&core->fibers);
    hdi_checker_destroy(core->checker);
    hdi_screener_free(&core->screener);
}
