// How tags grow. Each phase, from barrier to barrier, has as many as the group
// has work-items, and two more:
//
//     ... group g:  phase 0              phase 1              ...
//                   | 0 1 .. n-1 | M A | | 0 1 .. n-1 | M A |
//                   ^ group            ^ now
//     M: several readers; A: an atomic access
//
// A tag below `now` was left before the last barrier, one below `group` by an
// earlier group: of local memory it means that no value is there.
//
// Invariant: numbers only grow, also from one call of the function to the next
// (end()), so tags are not cleared in between.
#include "kernel/compiler/check/screen.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "backend/checks.h"
#include "backend/frame.h"
#include "base/error.h"
#include "kernel/compiler/check/look.h"
#include "kernel/compiler/check/screening.h"

enum {
    // Each is looked at by code of its own.
    MAX_CELLS = 32 // of one access
};

// A function that reaches it leaves by the trap, as if something were wrong.
static const uint32_t last_tag = UINT32_MAX - (1 << 24); // far above a group

// Marks ----------------------------------------------------------------

// Marks are said to touch only memory that nobody else sees: LLVM keeps their
// order among themselves, and values in registers across them.
static void build_call(struct hdi_llvm *llvm, LLVMModuleRef module,
                       LLVMBuilderRef builder, const char *name,
                       LLVMValueRef *args, unsigned count)
{
    enum {
        INACCESSIBLE_MEMORY = 3 << 2 // read and written
    };
    LLVMTypeRef types[5];
    for (unsigned i = 0; i < count; i++)
        types[i] = LLVMTypeOf(args[i]);
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(llvm->context),
                                        types, count, false);
    LLVMValueRef function = LLVMGetNamedFunction(module, name);
    if (!function) {
        function = LLVMAddFunction(module, name, type);
        hdi_function_flag(function, "nounwind", true);
        // Not that it returns: nothing may be done before it that it forbids.
        LLVMAddAttributeAtIndex(
            function, LLVMAttributeFunctionIndex,
            LLVMCreateEnumAttribute(
                llvm->context, LLVMGetEnumAttributeKindForName("memory", 6),
                INACCESSIBLE_MEMORY));
    }
    LLVMBuildCall2(builder, type, function, args, count, "");
}

LLVMValueRef hdi_screen_address(struct hdi_llvm *llvm, LLVMBuilderRef builder,
                                LLVMValueRef pointer)
{
    return LLVMBuildPtrToInt(builder, pointer,
                             LLVMInt64TypeInContext(llvm->context), "");
}

// Without memory for the name the kernel is not screened; it must not lose a
// mark.
void hdi_screen_touch(struct hdi_llvm *llvm, LLVMModuleRef module,
                      LLVMBuilderRef builder,
                      const struct hdi_screen_access *access)
{
    LLVMTypeRef i64 = LLVMInt64TypeInContext(llvm->context);
    LLVMValueRef args[5] = {access->pointer, access->base,
                            LLVMConstInt(i64, access->size, false),
                            LLVMConstInt(i64, access->granule, false),
                            LLVMConstInt(i64, access->kind, false)};
    struct hdi_text name = {0};

    // One for each pair of address spaces.
    hdi_text_print(&name, "%s.%u.%u", HDI_SCREEN_TOUCH,
                   LLVMGetPointerAddressSpace(LLVMTypeOf(access->pointer)),
                   LLVMGetPointerAddressSpace(LLVMTypeOf(access->base)));
    if (name.failed)
        llvm->unscreened = true;
    else
        build_call(llvm, module, builder, name.data, args, 5);
    hdi_text_free(&name);
}

void hdi_screen_expect(struct hdi_llvm *llvm, LLVMModuleRef module,
                       LLVMBuilderRef builder, LLVMValueRef condition)
{
    build_call(llvm, module, builder, HDI_SCREEN_EXPECT, &condition, 1);
}

bool hdi_screen_is(LLVMValueRef x, const char *name)
{
    if (!LLVMIsACallInst(x))
        return false;
    LLVMValueRef f = LLVMGetCalledValue(x);
    return LLVMIsAFunction(f) &&
           strncmp(hdi_value_name(f), name, strlen(name)) == 0;
}

uint64_t hdi_screen_number(LLVMValueRef call, unsigned operand)
{
    return LLVMConstIntGetZExtValue(LLVMGetOperand(call, operand));
}

void hdi_screen_tidy(LLVMValueRef kernel)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(kernel); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b), next; i; i = next) {
            next = LLVMGetNextInstruction(i);
            if (hdi_screen_is(i, HDI_SCREEN_EXPECT) &&
                LLVMIsAConstantInt(LLVMGetOperand(i, 0)) &&
                LLVMConstIntGetZExtValue(LLVMGetOperand(i, 0)) == 1)
                LLVMInstructionEraseFromParent(i);
        }
}

// Objects and phases ----------------------------------------------------------

// Soft barriers order no memory.
static bool parts_phases(const struct hdi_block *block)
{
    return block->cut == HDI_CUT_BARRIER &&
           hdi_call_kind(LLVMGetFirstInstruction(block->block)) !=
               HDI_CALL_SOFT_BARRIER;
}

// Blocks between which no barrier stands, in either direction, are one phase:
// its number is that of one of them.
// Numbers only fall, towards the least block of each phase, so this ends.
static void find_phases(const struct hdi_flow *flow, size_t *phases)
{
    for (size_t b = 0; b < flow->block_count; b++)
        phases[b] = b;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t b = 0; b < flow->block_count; b++) {
            const struct hdi_block *block = &flow->blocks[b];
            if (parts_phases(block))
                continue;
            for (unsigned s = 0; s < block->successor_count; s++) {
                size_t *to = &phases[block->successors[s]];
                changed |= *to != phases[b];
                if (*to < phases[b])
                    phases[b] = *to;
                else
                    *to = phases[b];
            }
        }
    }
}

unsigned hdi_screen_object_of(struct hdi_screening *s, LLVMValueRef base)
{
    unsigned i = 0;
    while (i < s->count && s->objects[i].base != base)
        i++;
    if (i == s->count && i < HDI_SCREEN_OBJECTS) {
        unsigned space = LLVMGetPointerAddressSpace(LLVMTypeOf(base));
        s->objects[s->count++] = (struct hdi_screened){
            .base = base, .local = space == HDI_SPACE_LOCAL, .granule = 128};
    }
    return i;
}

// Objects that are only read need no tags, unless they are local: those may be
// read before they have a value.
static bool note_access(struct hdi_screening *s, size_t phase,
                        LLVMValueRef call)
{
    unsigned i = hdi_screen_object_of(s, LLVMGetOperand(call, 1));
    if (i == HDI_SCREEN_OBJECTS)
        return false;
    unsigned granule = (unsigned)hdi_screen_number(call, 3);
    unsigned kind = (unsigned)hdi_screen_number(call, 4);
    bool writes = kind & (HDI_ACCESS_WRITE | HDI_ACCESS_ATOMIC);
    uint64_t bit = UINT64_C(1) << i;
    if (granule < s->objects[i].granule)
        s->objects[i].granule = granule;
    if (writes)
        s->written[phase] |= bit;
    else
        s->read[phase] |= bit;
    if (writes || s->objects[i].local)
        s->noted |= bit;
    return true;
}

// What the kernel touches, and when. False: too many objects, or cells.
static bool find_objects(const struct hdi_emit *e, struct hdi_screening *s)
{
    const struct hdi_flow *flow = e->flow;
    uint64_t most = 0;

    for (size_t b = 0; b < flow->block_count; b++)
        for (LLVMValueRef x = LLVMGetFirstInstruction(flow->blocks[b].block); x;
             x = LLVMGetNextInstruction(x)) {
            if (!hdi_screen_is(x, HDI_SCREEN_TOUCH))
                continue;
            if (!note_access(s, s->phases[b], x))
                return false;
            most =
                hdi_screen_number(x, 2) > most ? hdi_screen_number(x, 2) : most;
        }
    for (unsigned i = 0; i < s->count; i++)
        if (most / s->objects[i].granule > MAX_CELLS)
            return false;
    return true;
}

// The function ----------------------------------------------------------------

static LLVMValueRef at(struct hdi_emit *e, LLVMValueRef base, size_t offset)
{
    LLVMValueRef index = LLVMConstInt(e->i64, offset, false);
    return LLVMBuildInBoundsGEP2(e->builder, e->i8, base, &index, 1, "");
}

static LLVMValueRef field(struct hdi_emit *e, LLVMTypeRef type,
                          LLVMValueRef base, size_t offset)
{
    return LLVMBuildLoad2(e->builder, type, at(e, base, offset), "");
}

static size_t offset_of_arg(LLVMValueRef kernel, LLVMValueRef arg)
{
    unsigned i = 0;
    while (LLVMGetParam(kernel, i) != arg)
        i++;
    return offsetof(struct hdi_screen, args) +
           i * sizeof(struct hdi_screen_object);
}

// Local memory has one pair of planes for all of it, one tag per byte; an
// object in it begins at its offset. Arguments have planes of their own, per
// granule.
static void read_object(struct hdi_emit *e, struct hdi_screened *o)
{
    LLVMTypeRef pointer = LLVMPointerTypeInContext(e->llvm->context, 0);
    LLVMValueRef screen = e->screening->screen;
    size_t from = offsetof(struct hdi_screen, local);

    o->address =
        hdi_screen_address(e->llvm, e->builder, hdi_emit_operand(e, o->base));
    if (LLVMIsAArgument(o->base)) {
        size_t arg = offset_of_arg(e->flow->kernel, o->base);
        o->size = field(e, e->i64, screen,
                        arg + offsetof(struct hdi_screen_object, size));
        from = o->local ? from : arg;
    } else {
        o->size = LLVMConstInt(
            e->i64,
            LLVMABISizeOfType(e->llvm->layout, LLVMGlobalGetValueType(o->base)),
            false);
    }
    o->writes = field(e, pointer, screen,
                      from + offsetof(struct hdi_screen_object, writes));
    o->reads = field(e, pointer, screen,
                     from + offsetof(struct hdi_screen_object, reads));
    if (!o->local)
        return;
    LLVMValueRef begin =
        LLVMBuildSub(e->builder, o->address,
                     hdi_screen_address(e->llvm, e->builder, e->local), "");
    o->writes = LLVMBuildGEP2(e->builder, e->i32, o->writes, &begin, 1, "");
    o->reads = LLVMBuildGEP2(e->builder, e->i32, o->reads, &begin, 1, "");
}

static hd_status cannot(struct hdi_emit *e)
{
    return hdi_fail(e->error, HD_EBUILD,
                    "%s: kernel '%s' is not screened: it touches too much",
                    e->llvm->path, e->about->name);
}

void hdi_screen_free(struct hdi_emit *e)
{
    if (!e->screening)
        return;
    free(e->screening->phases);
    free(e->screening->read);
    free(e->screening->written);
    free(e->screening);
}

void hdi_screen_trap(struct hdi_emit *e, LLVMValueRef bad)
{
    LLVMBasicBlockRef clear = hdi_emit_block(e, "clear");
    LLVMBuildCondBr(e->builder, bad, e->screening->trap, clear);
    hdi_build_at_end(e->builder, clear);
}

// All numbers of work-items, and two more.
static LLVMValueRef next_phase(struct hdi_emit *e)
{
    LLVMBuilderRef b = e->builder;
    LLVMValueRef items = LLVMBuildTrunc(b, e->items, e->i32, "");
    LLVMValueRef now = LLVMBuildLoad2(b, e->i32, e->screening->now, "");
    now = LLVMBuildAdd(b, now, items, "");
    return LLVMBuildAdd(b, now, LLVMConstInt(e->i32, 2, false), "");
}

// The check for the last tag is here, once per phase, and not at each access.
static void begin_phase(struct hdi_emit *e)
{
    LLVMValueRef now = next_phase(e);
    LLVMBuildStore(e->builder, now, e->screening->now);
    hdi_screen_trap(e,
                    LLVMBuildICmp(e->builder, LLVMIntUGT, now,
                                  LLVMConstInt(e->i32, last_tag, false), ""));
}

static void pass_cut(struct hdi_emit *e, const struct hdi_block *barrier)
{
    if (parts_phases(barrier))
        begin_phase(e);
}

static void begin_group(struct hdi_emit *e)
{
    begin_phase(e);
    LLVMBuildStore(e->builder,
                   LLVMBuildLoad2(e->builder, e->i32, e->screening->now, ""),
                   e->screening->group);
}

static void end(struct hdi_emit *e)
{
    LLVMBuildStore(
        e->builder, next_phase(e),
        at(e, e->screening->screen, offsetof(struct hdi_screen, now)));
}

static const struct hdi_observer observer = {
    .end = end,
    .begin_group = begin_group,
    .pass_cut = pass_cut,
    .emit = hdi_look,
    .widen = hdi_look_wide,
};

// One block traps for the whole function. What a barrier is to the tags (the
// observer) is called while regions are written.
hd_status hdi_screen_begin(struct hdi_emit *e)
{
    size_t count = e->flow->block_count;
    struct hdi_screening *s = calloc(1, sizeof(*s));
    LLVMTypeRef pointer = LLVMPointerTypeInContext(e->llvm->context, 0);

    e->observer = &observer;
    e->screening = s;
    if (!s)
        return hdi_fail(e->error, HD_ENOMEM, "%s: no memory to compile",
                        e->llvm->path);
    s->phases = calloc(count, sizeof(*s->phases));
    s->read = calloc(count, sizeof(*s->read));
    s->written = calloc(count, sizeof(*s->written));
    if (!s->phases || !s->read || !s->written)
        return hdi_fail(e->error, HD_ENOMEM, "%s: no memory to compile",
                        e->llvm->path);
    find_phases(e->flow, s->phases);
    if (!find_objects(e, s))
        return cannot(e);
    s->screen = field(e, pointer, LLVMGetParam(e->function, 0),
                      offsetof(struct hdi_frame, checks));
    for (unsigned i = 0; i < s->count; i++)
        read_object(e, &s->objects[i]);
    s->now = LLVMBuildAlloca(e->builder, e->i32, "");
    s->group = LLVMBuildAlloca(e->builder, e->i32, "");
    LLVMBuildStore(
        e->builder,
        field(e, e->i32, s->screen, offsetof(struct hdi_screen, now)), s->now);

    LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder);
    s->trap = hdi_emit_block(e, "suspect");
    hdi_build_at_end(e->builder, s->trap);
    LLVMValueRef trap = LLVMGetIntrinsicDeclaration(
        e->module, LLVMLookupIntrinsicID("llvm.trap", 9), NULL, 0);
    LLVMBuildCall2(e->builder, LLVMGlobalGetValueType(trap), trap, NULL, 0, "");
    LLVMBuildUnreachable(e->builder);
    hdi_build_at_end(e->builder, before);
    return HD_OK;
}
