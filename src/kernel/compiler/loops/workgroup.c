//     entry     allocas; the frame, the arguments; places of local memory
//     groups    z, y, x: where the group lies, how many work-items it has
//               (flat: parts of the box, chunk.h)
//     regions   region after region (regions.h), then the next group
//     leave
//
// With many regions the part for one group is a function of its own, which
// hdk_NAME calls (are_groups_apart()).
#include "kernel/compiler/loops/workgroup.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/IRReader.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/frame.h"
#include "base/error.h"
#include "base/memory.h"
#include "kernel/compiler/check/screen.h"
#include "kernel/compiler/emit/print.h"
#include "kernel/compiler/emit/scope.h"
#include "kernel/compiler/flow/region.h"
#include "kernel/compiler/limits/bounds.h"
#include "kernel/compiler/loops/chunk.h"
#include "kernel/compiler/loops/regions.h"
#include "kernel/compiler/prepare/prepare.h"

enum {
    LOCAL_ALIGNMENT = 64, // of a local variable: the widest vector [bytes]
    MAX_TOGETHER = 24,    // cuts of a kernel whose groups are in one function
    FLAT_VECTORS = 4,     // of lanes, that a leaf of a flat kernel should have
    MAX_BYTES = 1 << 30   // of local or saved memory; more is a mistake
};

static hd_status fail_memory(const struct hdi_emit *e)
{
    return hdi_fail(e->error, HD_ENOMEM, "%s: no memory to compile",
                    e->llvm->path);
}

// Where values live across cuts -----------------------------------------------

static bool is_live_across(const struct hdi_flow *flow, size_t slot)
{
    for (size_t b = 0; b < flow->block_count; b++)
        if (flow->blocks[b].cut && hdi_flow_is_live(flow, b, slot))
            return true;
    return false;
}

static bool is_in_group_branch(const struct hdi_flow *flow, size_t slot)
{
    for (size_t b = 0; b < flow->block_count; b++) {
        if (flow->blocks[b].cut != HDI_CUT_BRANCH)
            continue;
        for (LLVMValueRef i = LLVMGetFirstInstruction(flow->blocks[b].block); i;
             i = LLVMGetNextInstruction(i))
            if (LLVMIsALoadInst(i) &&
                LLVMGetOperand(i, 0) == flow->slots[slot].alloca)
                return true;
    }
    return false;
}

// The cheapest that is right: nothing, computed again, once per group, and only
// then once per work-item. What a group's branch asks for must be kept.
static void choose_places(struct hdi_emit *e)
{
    const struct hdi_flow *flow = e->flow;

    for (size_t s = 0; s < flow->slot_count; s++) {
        const struct hdi_slot *slot = &flow->slots[s];
        if (!is_live_across(flow, s))
            e->flow->slots[s].place = HDI_PLACE_NOWHERE;
        else if (slot->only_stored && !is_in_group_branch(flow, s) &&
                 hdi_emit_is_remakable(flow, slot->only_stored))
            e->flow->slots[s].place = HDI_PLACE_REMADE;
        else if (!slot->divergent)
            e->flow->slots[s].place = HDI_PLACE_GROUP;
        else
            e->flow->slots[s].place = HDI_PLACE_ITEMS;
    }
}

// What sub-groups meet in is not local memory of one size: it grows with the
// group, an element for each work-item.
static void place_lanes(struct hdi_emit *e, unsigned align)
{
    static const struct {
        const char *name;
        unsigned bytes;
    } variables[HDI_LANES_VARIABLES] = {{"hdu_lanes", 8}, {"hdu_present", 1}};

    for (unsigned i = 0; i < HDI_LANES_VARIABLES; i++) {
        LLVMValueRef g = LLVMGetNamedGlobal(e->module, variables[i].name);
        if (!g || !LLVMGetFirstUse(g) || variables[i].bytes != align)
            continue;
        e->lanes_variables[i] = g;
        e->lanes_offsets[i] = e->saved_bytes;
        e->saved_bytes += variables[i].bytes;
    }
}

// Offsets in `saved`: the strictest alignment first, so that every array of a
// full group's values begins aligned.
// Offsets are per work-item: an array of a value begins at items * offset.
static void place_saved(struct hdi_emit *e, bool some_return_early)
{
    const struct hdi_flow *flow = e->flow;

    for (unsigned align = 256; align > 0; align /= 2) {
        place_lanes(e, align);
        for (size_t s = 0; s < flow->slot_count; s++) {
            LLVMTypeRef type = flow->slots[s].type;
            if (e->flow->slots[s].place != HDI_PLACE_ITEMS || e->lanes ||
                LLVMABIAlignmentOfType(e->llvm->layout, type) != align)
                continue;
            e->kept[s].offset = e->saved_bytes;
            e->kept[s].size = LLVMABISizeOfType(e->llvm->layout, type);
            e->saved_bytes += e->kept[s].size;
        }
        for (size_t a = 0; a < flow->array_count; a++) {
            unsigned array_align = LLVMGetAlignment(flow->arrays[a]);
            if ((array_align > 256 ? 256 : array_align) != align)
                continue;
            e->array_offsets[a] = e->saved_bytes;
            e->flow->array_sizes[a] = hdi_round_up(
                LLVMABISizeOfType(e->llvm->layout,
                                  LLVMGetAllocatedType(flow->arrays[a])),
                align);
            e->saved_bytes += e->flow->array_sizes[a];
        }
    }
    if (some_return_early && !e->lanes) {
        e->returned_offset = e->saved_bytes;
        e->saved_bytes += 1;
    }
}

// The frame -------------------------------------------------------------------

static LLVMValueRef at(struct hdi_emit *e, LLVMValueRef base, uint64_t offset)
{
    LLVMValueRef index = LLVMConstInt(e->i64, offset, false);
    return LLVMBuildInBoundsGEP2(e->builder, e->i8, base, &index, 1, "");
}

static LLVMValueRef field(struct hdi_emit *e, LLVMTypeRef type, size_t offset)
{
    return LLVMBuildLoad2(e->builder, type,
                          at(e, LLVMGetParam(e->function, 0), offset), "");
}

// Where nothing follows local memory any more.
// Rounded up as the memory's begin is: there the block ends.
static LLVMValueRef local_end(struct hdi_emit *e)
{
    const uint64_t less_one = HDI_FRAME_ALIGNMENT - 1;
    LLVMBuilderRef b = e->builder;
    LLVMValueRef size = LLVMBuildAdd(
        b, field(e, e->i64, offsetof(struct hdi_frame, local_bytes)),
        LLVMConstInt(e->i64, less_one, false), "");
    size = LLVMBuildAnd(b, size, LLVMConstInt(e->i64, ~less_one, false), "");
    return LLVMBuildAdd(b, LLVMBuildPtrToInt(b, e->local, e->i64, ""), size,
                        "");
}

// A required size is a constant, which LLVM unrolls and vectorises by; a launch
// has no other.
static void read_frame(struct hdi_emit *e)
{
    LLVMTypeRef pointer = LLVMPointerTypeInContext(e->llvm->context, 0);

    e->local =
        field(e, LLVMPointerTypeInContext(e->llvm->context, HDI_SPACE_LOCAL),
              offsetof(struct hdi_frame, local));
    e->local_end = local_end(e);
    e->saved = field(e, pointer, offsetof(struct hdi_frame, saved));
    e->dims = field(e, e->i32, offsetof(struct hdi_frame, dims));
    e->items = LLVMConstInt(e->i64, 1, false);
    for (unsigned d = 0; d < 3; d++) {
        e->global[d] =
            field(e, e->i64, offsetof(struct hdi_frame, global) + 8 * d);
        e->offset[d] =
            field(e, e->i64, offsetof(struct hdi_frame, offset) + 8 * d);
        e->group_count[d] =
            field(e, e->i32, offsetof(struct hdi_frame, group_count) + 4 * d);
        uint32_t required = e->about->required_local[d];
        e->local_size[d] =
            required ? LLVMConstInt(e->i32, required, false)
                     : field(e, e->i32,
                             offsetof(struct hdi_frame, local_size) + 4 * d);
        e->items = LLVMBuildNUWMul(
            e->builder, e->items,
            LLVMBuildZExt(e->builder, e->local_size[d], e->i64, ""), "");
    }
}

static void read_arguments(struct hdi_emit *e)
{
    LLVMTypeRef pointer = LLVMPointerTypeInContext(e->llvm->context, 0);

    e->args = field(e, pointer, offsetof(struct hdi_frame, args));
    for (unsigned i = 0; i < e->about->arg_count; i++) {
        const struct hdi_build_arg *arg = &e->about->args[i];
        LLVMValueRef parameter = LLVMGetParam(e->flow->kernel, i);
        LLVMTypeRef type = LLVMTypeOf(parameter);
        LLVMValueRef address = at(e, e->args, arg->offset), value;

        if (arg->kind == HD_ARG_LOCAL) {
            LLVMValueRef offset =
                LLVMBuildLoad2(e->builder, e->i64, address, "");
            value = LLVMBuildInBoundsGEP2(e->builder, e->i8, e->local, &offset,
                                          1, arg->name);
        } else if (arg->kind == HD_ARG_VALUE &&
                   LLVMGetTypeKind(type) == LLVMPointerTypeKind) {
            value = address; // a structure, which the kernel copies
        } else {
            value = LLVMBuildLoad2(e->builder, type, address, arg->name);
            // The packed arguments as a whole are aligned to 8 only.
            unsigned align = LLVMABIAlignmentOfType(e->llvm->layout, type);
            LLVMSetAlignment(value, align < 8 ? align : 8);
        }
        hdi_map_set(&e->fixed, parameter, value);
    }
}

static LLVMValueRef saved_at(struct hdi_emit *e, uint64_t offset)
{
    LLVMValueRef begin = LLVMBuildNUWMul(
        e->builder, e->items, LLVMConstInt(e->i64, offset, false), "");
    return LLVMBuildInBoundsGEP2(e->builder, e->i8, e->saved, &begin, 1, "");
}

static void find_lanes(struct hdi_emit *e)
{
    for (unsigned i = 0; i < HDI_LANES_VARIABLES; i++)
        if (e->lanes_variables[i])
            hdi_map_set(&e->fixed, e->lanes_variables[i],
                        LLVMBuildAddrSpaceCast(
                            e->builder, saved_at(e, e->lanes_offsets[i]),
                            LLVMTypeOf(e->lanes_variables[i]), ""));
}

// Local variables become offsets in the unit's local memory.
static hd_status place_local(struct hdi_emit *e)
{
    uint64_t bytes = 0;

    for (LLVMValueRef g = LLVMGetFirstGlobal(e->module); g;
         g = LLVMGetNextGlobal(g)) {
        if (LLVMGetPointerAddressSpace(LLVMTypeOf(g)) != HDI_SPACE_LOCAL ||
            !LLVMGetFirstUse(g))
            continue;
        if (hdi_map_get(&e->fixed, g))
            continue;
        LLVMValueRef offset = LLVMConstInt(e->i64, bytes, false);
        hdi_map_set(&e->fixed, g,
                    LLVMBuildInBoundsGEP2(e->builder, e->i8, e->local, &offset,
                                          1, hdi_value_name(g)));
        bytes += hdi_round_up(
            LLVMABISizeOfType(e->llvm->layout, LLVMGlobalGetValueType(g)),
            LOCAL_ALIGNMENT);
        if (bytes > MAX_BYTES)
            return hdi_fail(e->error, HD_ELIMIT,
                            "%s:%u: local variables of kernel '%s' take more "
                            "than %d bytes",
                            e->about->file, e->about->line, e->about->name,
                            MAX_BYTES);
    }
    e->about->local_bytes = (uint32_t)bytes;
    return HD_OK;
}

// Groups ----------------------------------------------------------------------

struct group_loop {
    LLVMValueRef counter; // alloca: number of the group within the chunk
    LLVMBasicBlockRef head, next;
};

static LLVMBasicBlockRef append(const struct hdi_emit *e, const char *name)
{
    return LLVMAppendBasicBlockInContext(e->llvm->context, e->function, name);
}

// Three loops over the groups of the chunk, x innermost. On return the builder
// stands where a group begins; `loops[0].next` is where it ends.
//     z: head -> y: head -> x: head -> group ... -> x: next -> x: head
//        |          |          '--> y: next
//        |          '--> z: next
//        '--> leave
static void begin_groups(struct hdi_emit *e, LLVMBasicBlockRef leave,
                         struct group_loop loops[3])
{
    LLVMBuilderRef b = e->builder;
    LLVMValueRef count[3], first[3];

    for (unsigned d = 0; d < 3; d++) {
        first[d] = field(e, e->i32, offsetof(struct hdi_frame, first) + 4 * d);
        count[d] = field(e, e->i32, offsetof(struct hdi_frame, count) + 4 * d);
        loops[d].counter = LLVMBuildAlloca(b, e->i32, "");
        loops[d].head = append(e, "groups");
        loops[d].next = append(e, "next_group");
    }
    for (unsigned d = 3; d-- > 0;) {
        LLVMBasicBlockRef inside = append(e, "group");
        LLVMBuildStore(b, LLVMConstInt(e->i32, 0, false), loops[d].counter);
        LLVMBuildBr(b, loops[d].head);
        hdi_build_at_end(b, loops[d].head);
        LLVMValueRef n = LLVMBuildLoad2(b, e->i32, loops[d].counter, "");
        e->group_id[d] = LLVMBuildNUWAdd(b, first[d], n, "");
        LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, n, count[d], ""),
                        inside, d == 2 ? leave : loops[d + 1].next);
        hdi_build_at_end(b, loops[d].next);
        LLVMBuildStore(
            b,
            LLVMBuildNUWAdd(b, LLVMBuildLoad2(b, e->i32, loops[d].counter, ""),
                            LLVMConstInt(e->i32, 1, false), ""),
            loops[d].counter);
        LLVMBuildBr(b, loops[d].head);
        hdi_build_at_end(b, inside);
    }
}

// Where the group lies, and how many work-items it has: fewer at the end.
static void measure_group(struct hdi_emit *e)
{
    LLVMBuilderRef b = e->builder;

    for (unsigned d = 0; d < 3; d++) {
        LLVMValueRef size = LLVMBuildZExt(b, e->local_size[d], e->i64, "");
        LLVMValueRef start = LLVMBuildNUWMul(
            b, LLVMBuildZExt(b, e->group_id[d], e->i64, ""), size, "");
        LLVMValueRef left = LLVMBuildNUWSub(b, e->global[d], start, "");
        LLVMValueRef trip = LLVMBuildSelect(
            b, LLVMBuildICmp(b, LLVMIntULT, left, size, ""), left, size, "");
        e->trip[d] = LLVMBuildTrunc(b, trip, e->i32, "");
        e->base[d] = LLVMBuildNUWAdd(b, e->offset[d], start, "");
        e->base_narrow[d] = LLVMBuildTrunc(b, e->base[d], e->i32, "");
    }
}

// The function ----------------------------------------------------------------

// `distinct !{}` cannot be made through the C interface, only read.
static LLVMValueRef distinct_node(struct hdi_emit *e)
{
    static const char text[] = "!n = !{!0}\n!0 = distinct !{}\n";
    LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(
        text, sizeof(text) - 1, "metadata");
    LLVMModuleRef module;
    LLVMValueRef node;
    char *message = NULL;

    if (LLVMParseIRInContext(e->llvm->context, buffer, &module, &message)) {
        LLVMDisposeMessage(message);
        return NULL;
    }
    LLVMGetNamedMetadataOperands(module, "n", &node);
    LLVMDisposeModule(module);
    return node;
}

// What LLVM forgets of a loop it forgets of all around it and in those: many
// regions, as loops over work-items in loops over groups, take the square of
// their number. So the groups of a kernel with many are a function's calls.
static bool are_groups_apart(const struct hdi_emit *e)
{
    unsigned cuts = 0;

    for (size_t b = 0; b < e->flow->block_count; b++)
        cuts += e->flow->blocks[b].cut != HDI_NO_CUT;
    return !e->flat && !e->llvm->screen && cuts > MAX_TOGETHER;
}

// `void PREFIX_KERNEL(ptr frame)`, or with the ids of a group behind.
static void begin_function(struct hdi_emit *e, const char *prefix,
                           bool of_group)
{
    LLVMContextRef c = e->llvm->context;
    LLVMTypeRef parameters[] = {LLVMPointerTypeInContext(c, 0), e->i32, e->i32,
                                e->i32};
    struct hdi_text name = {0};

    hdi_text_print(&name, "%s%s", prefix, e->about->name);
    e->function =
        LLVMAddFunction(e->module, name.failed ? prefix : name.data,
                        LLVMFunctionType(LLVMVoidTypeInContext(c), parameters,
                                         of_group ? 4 : 1, false));
    if (name.failed)
        e->status = hdi_fail(e->error, HD_ENOMEM, "%s: no memory to compile",
                             e->llvm->path);
    hdi_text_free(&name);
    hdi_function_flag(e->function, "nounwind", true);
    e->entry = append(e, "entry");
    hdi_build_at_end(e->builder, e->entry);
}

// The function that has the kernel's regions.
static void begin_regions(struct hdi_emit *e)
{
    begin_function(e, e->apart ? "group." : "hdk_", e->apart);
    if (e->apart) {
        LLVMSetLinkage(e->function, LLVMInternalLinkage);
        hdi_function_flag(e->function, "noinline", true);
    }
    hdi_function_text(e->function, "no-trapping-math", "true");
    hdi_function_prefer(e->llvm, e->function);
    LLVMMetadataRef subprogram = LLVMGetSubprogram(e->flow->kernel);
    if (subprogram)
        LLVMSetSubprogram(e->function, subprogram);
}

// The function that calls the one at hand for each group.
static void write_caller(struct hdi_emit *e)
{
    LLVMValueRef group = e->function;
    struct group_loop loops[3];

    begin_function(e, "hdk_", false);
    LLVMBasicBlockRef leave = append(e, "leave");
    begin_groups(e, leave, loops);
    LLVMValueRef arguments[] = {LLVMGetParam(e->function, 0), e->group_id[0],
                                e->group_id[1], e->group_id[2]};
    LLVMBuildCall2(e->builder, LLVMGlobalGetValueType(group), group, arguments,
                   4, "");
    LLVMBuildBr(e->builder, loops[0].next);
    hdi_build_at_end(e->builder, leave);
    LLVMBuildRetVoid(e->builder);
}

// Once for groups of all sizes, or parts of chunks.
static bool write_groups(struct hdi_emit *e, struct hdi_regions *regions,
                         LLVMBasicBlockRef leave)
{
    struct group_loop loops[3];

    if (e->flat) {
        regions->done = hdi_chunk_begin(e, leave);
    } else if (e->apart) {
        for (unsigned d = 0; d < 3; d++)
            e->group_id[d] = LLVMGetParam(e->function, 1 + d);
        measure_group(e);
        regions->done = leave;
    } else {
        begin_groups(e, leave, loops);
        measure_group(e);
        regions->done = loops[0].next;
    }
    return hdi_regions_write(regions, LLVMGetInsertBlock(e->builder));
}

static void new_lanes(struct hdi_emit *e, struct hdi_regions *regions)
{
    LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder);

    LLVMPositionBuilderBefore(e->builder, LLVMGetFirstInstruction(e->entry));
    LLVMSetCurrentDebugLocation2(e->builder, NULL);
    for (size_t s = 0; s < e->flow->slot_count; s++)
        if (e->flow->slots[s].place == HDI_PLACE_ITEMS)
            e->kept[s].lanes = LLVMBuildAlloca(
                e->builder, LLVMArrayType2(e->flow->slots[s].type, HDI_LANES),
                "");
    if (regions->some_return_early)
        regions->returned_lanes =
            LLVMBuildAlloca(e->builder, LLVMArrayType2(e->i8, HDI_LANES), "");
    hdi_build_at_end(e->builder, before);
}

// Once for as many lanes as there are, whose values then fit registers, and
// once for what is left.
// Entries and the queue begin anew for the second code: its blocks are others.
static bool write_lanes(struct hdi_emit *e, struct hdi_regions *regions,
                        LLVMBasicBlockRef leave)
{
    LLVMBasicBlockRef full, rest;

    regions->done = hdi_chunk_begin_lanes(e, leave, &full, &rest);
    LLVMValueRef left = e->trip[0];
    e->trip[0] = LLVMConstInt(e->i32, HDI_LANES, false);
    new_lanes(e, regions);
    if (!hdi_regions_write(regions, full))
        return false;
    memset(regions->entries, 0,
           e->flow->block_count * sizeof(*regions->entries));
    regions->queue_size = 0;
    e->trip[0] = left;
    // Of its own: indexed by a variable they stay in memory.
    new_lanes(e, regions);
    return hdi_regions_write(regions, rest);
}

static hd_status write_function(struct hdi_emit *e, struct hdi_regions *regions)
{
    e->apart = are_groups_apart(e);
    begin_regions(e);
    for (size_t s = 0; s < e->flow->slot_count; s++) {
        LLVMTypeRef type = e->flow->slots[s].type;
        e->kept[s].work = LLVMBuildAlloca(e->builder, type, "");
        hdi_map_set(&e->fixed, e->flow->slots[s].alloca, e->kept[s].work);
        if (e->flow->slots[s].place == HDI_PLACE_GROUP) {
            e->kept[s].group = LLVMBuildAlloca(e->builder, type, "");
            e->kept[s].next = LLVMBuildAlloca(e->builder, type, "");
        }
    }
    read_frame(e);
    hdi_memory_read(e->llvm, e->module, e->builder,
                    LLVMGetParam(e->function, 0), &e->memory);
    read_arguments(e);
    find_lanes(e);
    HDI_TRY(place_local(e));
    if (e->llvm->screen)
        HDI_TRY(hdi_screen_begin(e));

    LLVMBasicBlockRef leave = append(e, "leave");
    bool ok = e->lanes ? write_lanes(e, regions, leave)
                       : write_groups(e, regions, leave);
    hdi_build_at_end(e->builder, leave);
    if (e->observer)
        e->observer->end(e);
    LLVMBuildRetVoid(e->builder);
    if (!e->observer) // who reads kept values by addresses of its own
        hdi_scope_saved(e);
    if (e->apart)
        write_caller(e);
    if (!ok || e->fixed.failed)
        return fail_memory(e);
    return e->status;
}

static void explain(const struct hdi_emit *e, const struct hdi_regions *regions,
                    struct hdi_text *text)
{
    unsigned places[HDI_PLACE_ITEMS + 1] = {0};
    unsigned branches = 0;

    for (size_t s = 0; s < e->flow->slot_count; s++)
        places[e->flow->slots[s].place]++;
    for (size_t b = 0; b < e->flow->block_count; b++)
        branches += e->flow->blocks[b].cut == HDI_CUT_BRANCH;
    hdi_text_print(text,
                   "form: loops over work-items\n"
                   "regions: %u, cut at %u barriers and %u branches of the "
                   "whole group\n",
                   regions->forms.count, e->about->barriers, branches);
    hdi_text_print(text,
                   "values live across barriers: %u rematerialised, %u kept "
                   "once per group, %u saved per work-item\n",
                   places[HDI_PLACE_REMADE], places[HDI_PLACE_GROUP],
                   places[HDI_PLACE_ITEMS]);
    hdi_text_print(text,
                   "saved per work-item: %u bytes, with %zu private arrays; "
                   "local variables: %u bytes\n",
                   e->about->saved_bytes, e->flow->array_count,
                   e->about->local_bytes);
    if (e->flat)
        hdi_text_print(text,
                       "work-groups do not matter: %s rows; conditions at "
                       "the top that became their bounds: %u\n",
                       e->short_rows ? "short" : "long", e->bound_count);
    if (e->flow->gathers)
        hdi_text_print(text,
                       "no masked lanes: the loop in line %u mostly reads "
                       "from scattered addresses, or tries an exchange until "
                       "it succeeds\n",
                       e->flow->gathers);
    if (e->flow->soft_loops)
        hdi_text_print(text, "interchanged loops: %u%s\n", e->flow->soft_loops,
                       e->lanes ? ", several vectors at a time" : "");
    if (regions->some_return_early)
        hdi_text_print(text, "some work-items may return before a barrier: "
                             "the others go on without them\n");
    if (regions->open_ends)
        hdi_text_print(text, "regions whose end is decided per work-item: %u\n",
                       regions->open_ends);
    if (e->llvm->notes->data)
        hdi_text_append(text, e->llvm->notes->data, e->llvm->notes->size);
}

// On failure the kernel is still there, and the function is half written: the
// module is given up.
static hd_status build(struct hdi_emit *e, struct hdi_text *explanation,
                       struct hdi_forms *forms)
{
    const struct hdi_flow *flow = e->flow;
    struct hdi_regions regions = {.emit = e, .forms = *forms};

    e->kept = calloc(flow->slot_count + 1, sizeof(*e->kept));
    e->array_offsets = calloc(flow->array_count + 1, sizeof(uint64_t));
    regions.entries = calloc(flow->block_count, sizeof(*regions.entries));
    regions.queue = calloc(flow->block_count, sizeof(*regions.queue));
    hd_status status;
    if (!e->kept || !e->array_offsets || !regions.entries || !regions.queue ||
        !e->access_group ||
        !hdi_regions_return_early(flow, &regions.some_return_early)) {
        status = fail_memory(e);
        goto err_free;
    }

    choose_places(e);
    place_saved(e, regions.some_return_early);
    if (e->saved_bytes > MAX_BYTES) {
        status =
            hdi_fail(e->error, HD_ELIMIT,
                     "%s:%u: kernel '%s' keeps more than %d bytes of "
                     "private memory per work-item",
                     e->about->file, e->about->line, e->about->name, MAX_BYTES);
        goto err_free;
    }
    e->about->saved_bytes = (uint32_t)e->saved_bytes;
    e->about->barriers = flow->barriers;
    e->about->form = HD_FORM_LOOPS;
    e->about->together = e->flat ? FLAT_VECTORS * e->width : 0;
    status = write_function(e, &regions);
    hdi_screen_free(e);
    // Where work-items part at a barrier, threads alone can tell.
    if (status == HD_OK && e->llvm->screen &&
        (regions.some_return_early || regions.open_ends))
        status = hdi_fail(e->error, HD_EBUILD,
                          "%s: kernel '%s' is not screened: work-items may "
                          "part at a barrier",
                          e->llvm->path, e->about->name);
    explain(e, &regions, explanation);
    *forms = regions.forms;
err_free:
    free(regions.queue);
    free(regions.entries);
    free(e->array_offsets);
    free(e->kept);
    return status;
}

// Whether an instruction uses a value, itself or through a constant expression.
// An address such as &a[1] stays among the uses of `a` when its users are gone.
static bool used_by_code(LLVMValueRef value)
{
    for (LLVMUseRef use = LLVMGetFirstUse(value); use;
         use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        if (!LLVMIsAConstant(user) || used_by_code(user))
            return true;
    }
    return false;
}

// The kernel goes first, as it uses the functions and variables that go then.
hd_status hdi_workgroup_build(struct hdi_llvm *llvm, LLVMModuleRef module,
                              struct hdi_flow *flow,
                              struct hdi_build_kernel *about,
                              struct hdi_text *explanation,
                              struct hdi_forms *forms, struct hd_error *error)
{
    LLVMContextRef c = llvm->context;
    LLVMValueRef kernel = flow->kernel;
    struct hdi_emit emit = {
        .llvm = llvm,
        .module = module,
        .builder = LLVMCreateBuilderInContext(c),
        .flow = flow,
        .about = about,
        .i1 = LLVMInt1TypeInContext(c),
        .i8 = LLVMInt8TypeInContext(c),
        .i32 = LLVMInt32TypeInContext(c),
        .i64 = LLVMInt64TypeInContext(c),
        .access_kind = LLVMGetMDKindIDInContext(c, "llvm.access.group", 17),
        .loop_kind = LLVMGetMDKindIDInContext(c, "llvm.loop", 9),
        .error = error,
    };

    emit.access_group = distinct_node(&emit);
    emit.flat = flow->flat;
    emit.lanes = emit.flat && flow->soft_loops > 0;
    if (flow->wide)
        emit.width =
            hdi_target_lanes_of(&llvm->target, about->required_local[0]);
    hd_status status = hdi_affine_find(llvm, kernel, flow, false, &emit.affine)
                           ? build(&emit, explanation, forms)
                           : hdi_fail(error, HD_ENOMEM,
                                      "%s: no memory to compile", llvm->path);
    hdi_affine_destroy(&emit.affine);
    hdi_map_clear(&emit.fixed);
    hdi_map_clear(&emit.values);
    LLVMValueRef soft = LLVMGetNamedFunction(module, "heddle.soft_barrier");
    if (status != HD_OK) {
        LLVMDisposeBuilder(emit.builder);
        return status;
    }

    // The kernel and its local variables have been replaced.
    LLVMDeleteFunction(kernel);
    if (soft)
        LLVMDeleteFunction(soft);
    for (LLVMValueRef g = LLVMGetFirstGlobal(module), next; g; g = next) {
        next = LLVMGetNextGlobal(g);
        if (LLVMGetPointerAddressSpace(LLVMTypeOf(g)) == HDI_SPACE_LOCAL &&
            !used_by_code(g)) {
            LLVMReplaceAllUsesWith(g, LLVMGetPoison(LLVMTypeOf(g)));
            LLVMDeleteGlobal(g);
        } else if (!hdi_is_program_variable(g))
            LLVMSetLinkage(g, LLVMInternalLinkage);
    }
    hdi_print_lower(llvm, module, emit.builder, false);
    LLVMDisposeBuilder(emit.builder);
    char *message = NULL;
    bool broken = LLVMVerifyModule(module, LLVMReturnStatusAction, &message);
    if (broken)
        status = hdi_fail(error, HD_EBUILD,
                          "%s:%u: internal error in kernel '%s': %s",
                          about->file, about->line, about->name, message);
    LLVMDisposeMessage(message);
    return status;
}
