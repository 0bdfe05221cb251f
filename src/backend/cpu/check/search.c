// The fault is known by its address, in memory as it lay then; what is written
// lies in copies now. So an access is compared by what it touches: the same
// argument, that far from its begin (`were`), or the same line where blocks of
// a unit are laid out otherwise.
//
// Invariant: the first access that fits is kept, so the answer is the same
// whatever comes later.
#include "backend/cpu/check/search.h"

#include <stdio.h>
#include <string.h>

#include "backend/backend.h"

// As much as hdi_map() keeps inaccessible: what strays farther was in other
// memory.
enum {
    NEAR = 1 << 20 // of a block: what surrounds it, which nobody has [bytes]
};

// Without a sign: an address before the block less NEAR is a large number. The
// other comparisons here are of that kind too.
static bool is_near(const struct hdi_fault *fault,
                    const struct hdi_fault_block *block)
{
    return fault->address + NEAR - block->begin < block->bytes + 2 * NEAR;
}

static bool holds(const struct hdi_fault *fault, uint64_t was, uint64_t size)
{
    return fault->address - was < size;
}

// Whether the processor takes the address at all: its upper bits must repeat
// the highest one that counts. For others it raises an exception that tells no
// address.
static bool has_place(uint64_t address)
{
    const unsigned spare = 16; // bits that are copies of the one below
    return (uint64_t)((int64_t)(address << spare) >> spare) == address;
}

// Blocks of a unit are laid out differently in the forms of a kernel; then the
// line has to do, where it is known.
static bool fits_block(const struct hdi_fault *fault,
                       const struct hdi_fault_block *block,
                       const struct hdi_site *site)
{
    return (fault->line == 0 || site->line == fault->line) &&
           is_near(fault, block);
}

static bool fits_local(const struct hdi_fault *fault,
                       const struct hdi_frame *frame,
                       const struct hdi_site *site, const char *at,
                       uint64_t size)
{
    if (fault->local.bytes != frame->local_bytes)
        return fits_block(fault, &fault->local, site);
    return holds(fault, fault->local.begin + (uint64_t)(at - frame->local),
                 size);
}

static bool fits_arg(const struct hdi_fault *fault,
                     const struct hdi_check_launch *launch, uint32_t arg,
                     const char *at, uint64_t size)
{
    uint64_t offset =
        (uint64_t)(uintptr_t)at - (uint64_t)(uintptr_t)launch->args[arg].memory;
    return holds(fault, launch->search->were[arg] + offset, size);
}

// A pointer that somebody computed may be from any of them.
static bool fits_any(const struct hdi_fault *fault,
                     const struct hdi_check_launch *launch, const char *at,
                     uint64_t size)
{
    bool fits = holds(fault, (uint64_t)(uintptr_t)at, size);

    for (uint32_t i = 0; i < launch->arg_count && !fits; i++)
        fits = !launch->args[i].local && fits_arg(fault, launch, i, at, size);
    return fits;
}

static bool fits(const struct hdi_check_launch *launch,
                 const struct hdi_frame *frame, const struct hdi_site *site,
                 int arg, const char *at, uint64_t size)
{
    const struct hdi_fault *fault = launch->search->fault;

    if (fault->kind != HDI_FAULT_ACCESS ||
        (fault->access == HDI_FAULT_WRITES &&
         !(site->access & HDI_ACCESS_WRITE)) ||
        (fault->access == HDI_FAULT_READS && !(site->access & HDI_ACCESS_READ)))
        return false;
    if (!fault->has_address)
        return (fault->line == 0 || site->line == fault->line) &&
               !has_place((uint64_t)(uintptr_t)at);
    switch ((enum hdi_object)site->object) {
    case HDI_OBJECT_PRIVATE:
        return fits_block(fault, &fault->saved, site);
    case HDI_OBJECT_LOCAL:
        return fits_local(fault, frame, site, at, size);
    case HDI_OBJECT_ARG:
    case HDI_OBJECT_PROGRAM:
    case HDI_OBJECT_UNKNOWN:
        break;
    }
    if (arg == HDI_SEARCH_PROGRAM)
        return site->line == fault->line;
    if (arg == HDI_SEARCH_ELSEWHERE)
        return fits_any(fault, launch, at, size);
    if (launch->args[arg].local)
        return fits_local(fault, frame, site, at, size);
    return fits_arg(fault, launch, (uint32_t)arg, at, size);
}

// Once the search is starved the kernel may read other values than it did: what
// it does then proves nothing.
void hdi_search_look(const struct hdi_check_launch *launch,
                     const struct hdi_frame *frame, const struct hdi_item *item,
                     const struct hdi_site *site, int arg, const char *at,
                     uint64_t size)
{
    struct hdi_search *search = launch->search;

    if (search->found || search->starved ||
        !fits(launch, frame, site, arg, at, size))
        return;
    search->found = true;
    search->line = site->line;
    snprintf(search->file, sizeof(search->file), "%s", site->file);
    memcpy(search->item, item->global_id, sizeof(search->item));
    memcpy(search->group, item->group_id, sizeof(search->group));
}

// Copied when touched first: a launch touches little of its buffers before it
// comes to the fault, as a rule.
static void copy_piece(struct hdi_search *search, struct hdi_search_copy *copy,
                       uint64_t piece)
{
    uint64_t at = piece * HDI_SEARCH_PIECE, size = copy->size - at;

    if (copy->made[piece])
        return;
    if (size > HDI_SEARCH_PIECE)
        size = HDI_SEARCH_PIECE;
    if (size > search->left) {
        search->starved = true;
        return;
    }
    search->left -= size;
    memcpy(copy->to + at, copy->from + at, size);
    copy->made[piece] = true;
}

void hdi_search_copy(struct hdi_search *search, const char *at, uint64_t size)
{
    for (uint32_t i = 0; i < search->copy_count; i++) {
        struct hdi_search_copy *copy = &search->copies[i];
        uint64_t begin = (uint64_t)((uintptr_t)at - (uintptr_t)copy->to);
        if (!copy->to || begin >= copy->size)
            continue;
        for (uint64_t piece = begin / HDI_SEARCH_PIECE;
             piece <= (begin + size - 1) / HDI_SEARCH_PIECE; piece++)
            copy_piece(search, copy, piece);
        return;
    }
}
