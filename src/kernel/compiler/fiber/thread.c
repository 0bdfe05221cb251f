//     module      before             after
//                 kernel NAME(args)  hdt_NAME(item)   the body, one work-item
//                                    hdk_NAME(frame)  -> run_items(frame, code)
//                                    heddle.code      struct hdi_item_code
//
// All that a work-item asks for is read through `item`, whose first field is
// the frame: so one pointer is enough, and stays in a register.
#include "kernel/compiler/fiber/thread.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/DebugInfo.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "backend/frame.h"
#include "base/error.h"
#include "base/memory.h"
#include "kernel/compiler/check/instrument.h"
#include "kernel/compiler/emit/memory.h"
#include "kernel/compiler/emit/print.h"
#include "kernel/compiler/fiber/coroutine.h"
#include "kernel/compiler/fiber/debug.h"
#include "kernel/compiler/ir/constants.h"
#include "kernel/compiler/ir/map.h"
#include "kernel/compiler/prepare/prepare.h"

enum {
    LOCAL_ALIGNMENT = 64, // of a local variable: the widest vector [bytes]
    MAX_LOCAL = 1 << 30,  // [bytes]; more is a mistake
    CODE_FIELDS = 6       // of struct hdi_item_code
};

// Names within the module; a kernel cannot have them.
static const char code_name[] = "heddle.code";

// Work in progress on one kernel. `item` to `services` are values in the entry
// of hdt_NAME, from write_entry() on.
struct thread {
    struct hdi_llvm *llvm;
    LLVMModuleRef module;
    LLVMBuilderRef builder;
    LLVMTypeRef i8, i32, i64, pointer, local_pointer, void_type;
    LLVMValueRef kernel;   // empty once its body has moved
    LLVMValueRef function; // hdt_NAME
    LLVMValueRef item, frame, local, services;
    struct hdi_map locals; // local variable: its address
    struct hdi_build_kernel *about;
    struct hdi_memory_bounds memory;
    bool checked; // a barrier must be reached by all
    bool is_coroutine;
    struct hdi_coroutine coroutine; // if it is
    LLVMValueRef begin;             // where the work-item begins
    struct hd_error *error;
    hd_status status;
};

// Reading ---------------------------------------------------------------------

static LLVMValueRef at(struct thread *t, LLVMValueRef base, uint64_t offset)
{
    LLVMValueRef index = LLVMConstInt(t->i64, offset, false);
    return LLVMBuildInBoundsGEP2(t->builder, t->i8, base, &index, 1, "");
}

// A load of what stays the same as long as the work-item runs.
// With !invariant.load LLVM reads it once, though the kernel writes memory and
// calls services in between.
static LLVMValueRef fixed(struct thread *t, LLVMTypeRef type,
                          LLVMValueRef address, const char *name)
{
    LLVMValueRef load = LLVMBuildLoad2(t->builder, type, address, name);
    unsigned kind =
        LLVMGetMDKindIDInContext(t->llvm->context, "invariant.load", 14);
    LLVMSetMetadata(
        load, kind,
        LLVMMetadataAsValue(t->llvm->context,
                            LLVMMDNodeInContext2(t->llvm->context, NULL, 0)));
    return load;
}

// Where the answers to work-item functions lie.
// Dimensions that are not there: OpenCL C asks for 0 of ids and offsets, and
// for 1 of sizes.
struct id {
    bool in_frame;
    size_t offset;   // of dimension 0
    unsigned size;   // of each [bytes]
    unsigned beyond; // in dimensions that are not there
};

static const struct id ids[] = {
    [HDI_CALL_GLOBAL_ID] = {false, offsetof(struct hdi_item, global_id), 8, 0},
    [HDI_CALL_LOCAL_ID] = {false, offsetof(struct hdi_item, local_id), 4, 0},
    [HDI_CALL_GROUP_ID] = {false, offsetof(struct hdi_item, group_id), 4, 0},
    [HDI_CALL_LOCAL_SIZE] = {false, offsetof(struct hdi_item, local_size), 4,
                             1},
    [HDI_CALL_ENQUEUED_LOCAL_SIZE] = {true,
                                      offsetof(struct hdi_frame, local_size), 4,
                                      1},
    [HDI_CALL_GLOBAL_SIZE] = {true, offsetof(struct hdi_frame, global), 8, 1},
    [HDI_CALL_NUM_GROUPS] = {true, offsetof(struct hdi_frame, group_count), 4,
                             1},
    [HDI_CALL_GLOBAL_OFFSET] = {true, offsetof(struct hdi_frame, offset), 8, 0},
};

// The index is made harmless before it is used, then the answer is chosen: no
// branch, so that LLVM sees through it when the dimension is known.
static LLVMValueRef read_id(struct thread *t, const struct id *id,
                            LLVMValueRef dimension)
{
    LLVMBuilderRef b = t->builder;
    LLVMTypeRef type = id->size == 8 ? t->i64 : t->i32;
    LLVMTypeRef index_type = LLVMTypeOf(dimension);
    LLVMValueRef there = LLVMBuildICmp(b, LLVMIntULT, dimension,
                                       LLVMConstInt(index_type, 3, false), "");
    LLVMValueRef index = LLVMBuildSelect(
        b, there, dimension, LLVMConstInt(index_type, 0, false), "");
    LLVMValueRef first = at(t, id->in_frame ? t->frame : t->item, id->offset);
    LLVMValueRef value = fixed(
        t, type, LLVMBuildInBoundsGEP2(b, type, first, &index, 1, ""), "");
    if (id->size == 4)
        value = LLVMBuildZExt(b, value, t->i64, "");
    return LLVMBuildSelect(b, there, value,
                           LLVMConstInt(t->i64, id->beyond, false), "");
}

// Calls -----------------------------------------------------------------------

static void call_service(struct thread *t, size_t offset, LLVMTypeRef type,
                         LLVMValueRef *arguments, unsigned count)
{
    LLVMValueRef service = fixed(t, t->pointer, at(t, t->services, offset), "");
    LLVMBuildCall2(t->builder, type, service, arguments, count, "");
}

static void stop_in(struct thread *t, enum hdi_item_state state)
{
    LLVMBuildStore(t->builder, LLVMConstInt(t->i32, state, false),
                   at(t, t->item, offsetof(struct hdi_item, state)));
}

static void suspend(struct thread *t, LLVMValueRef barrier,
                    enum hdi_item_state state, LLVMValueRef line)
{
    stop_in(t, state);
    LLVMBuildStore(t->builder, line,
                   at(t, t->item, offsetof(struct hdi_item, line)));
    hdi_coroutine_suspend(&t->coroutine, barrier);
}

// The line goes along for messages about work-items that do not all come. A
// coroutine notes it and leaves; a fiber calls a service that switches stacks.
static void wait_here(struct thread *t, LLVMValueRef barrier,
                      enum hdi_item_state state)
{
    static const size_t services[] = {
        [HDI_ITEM_WAITS] = offsetof(struct hdi_services, wait),
        [HDI_ITEM_WAITS_SUB_GROUP] =
            offsetof(struct hdi_services, wait_sub_group),
        [HDI_ITEM_WAITS_GRID] = offsetof(struct hdi_services, wait_grid),
        [HDI_ITEM_WAITS_SOME] = offsetof(struct hdi_services, wait_some)};
    LLVMTypeRef parameters[] = {t->pointer, t->i32};
    LLVMValueRef line =
        LLVMConstInt(t->i32, LLVMGetDebugLocLine(barrier), false);
    LLVMValueRef arguments[] = {t->item, line};

    t->about->barriers++;
    if (t->is_coroutine)
        suspend(t, barrier, state, line);
    else
        call_service(t, services[state],
                     LLVMFunctionType(t->void_type, parameters, 2, false),
                     arguments, 2);
}

static void wait_for_all(struct thread *t, LLVMValueRef barrier)
{
    wait_here(t, barrier, HDI_ITEM_WAITS_GRID);
    t->about->form = HD_FORM_GRID;
}

static void wait_for_sub_group(struct thread *t, LLVMValueRef barrier)
{
    bool all = !LLVMIsNull(LLVMGetOperand(barrier, 0));

    wait_here(t, barrier, all ? HDI_ITEM_WAITS_SUB_GROUP : HDI_ITEM_WAITS_SOME);
}

static LLVMValueRef answer(struct thread *t, LLVMValueRef call,
                           enum hdi_call kind)
{
    if (kind == HDI_CALL_WORK_DIM)
        return fixed(t, t->i32,
                     at(t, t->frame, offsetof(struct hdi_frame, dims)), "");
    if (kind == HDI_CALL_MEMORY)
        return hdi_memory_answer(&t->memory, t->builder,
                                 LLVMGetOperand(call, 0));
    return read_id(t, &ids[kind], LLVMGetOperand(call, 0));
}

static void replace_call(struct thread *t, LLVMValueRef call)
{
    enum hdi_call kind = hdi_call_kind(call);

    if (kind == HDI_CALL_OTHER)
        return;
    LLVMPositionBuilderBefore(t->builder, call);
    LLVMSetCurrentDebugLocation2(t->builder, LLVMInstructionGetDebugLoc(call));
    if (kind == HDI_CALL_BARRIER)
        wait_here(t, call, HDI_ITEM_WAITS);
    else if (kind == HDI_CALL_GRID_BARRIER)
        wait_for_all(t, call);
    else if (kind == HDI_CALL_SUB_GROUP_BARRIER)
        wait_for_sub_group(t, call);
    else
        LLVMReplaceAllUsesWith(call, answer(t, call, kind));
    LLVMInstructionEraseFromParent(call);
}

// Local variables -------------------------------------------------------------

static bool is_local(LLVMValueRef variable)
{
    return LLVMGetPointerAddressSpace(LLVMTypeOf(variable)) == HDI_SPACE_LOCAL;
}

// What sub-groups meet in has an element for each work-item, in `saved`.
// Each room is a number of bytes per work-item, behind what is saved already;
// `saved` has room for a whole group by frame->local_size, also where the group
// at hand is smaller.
static void place_rooms(struct thread *t)
{
    static const struct {
        const char *name;
        uint32_t bytes;
    } rooms[] = {{"hdu_lanes", 8}, {"hdu_present", 1}};
    LLVMValueRef saved = fixed(
        t, t->pointer, at(t, t->frame, offsetof(struct hdi_frame, saved)), "");

    for (unsigned r = 0; r < sizeof(rooms) / sizeof(*rooms); r++) {
        LLVMValueRef g = LLVMGetNamedGlobal(t->module, rooms[r].name);
        if (!g || !LLVMGetFirstUse(g))
            continue;
        LLVMValueRef begin = LLVMConstInt(t->i64, t->about->saved_bytes, false);
        for (unsigned d = 0; d < 3; d++) {
            LLVMValueRef size = fixed(
                t, t->i32,
                at(t, t->frame, offsetof(struct hdi_frame, local_size) + 4 * d),
                "");
            begin =
                LLVMBuildMul(t->builder, begin,
                             LLVMBuildZExt(t->builder, size, t->i64, ""), "");
        }
        LLVMValueRef room =
            LLVMBuildInBoundsGEP2(t->builder, t->i8, saved, &begin, 1, "");
        hdi_map_set(
            &t->locals, g,
            LLVMBuildAddrSpaceCast(t->builder, room, LLVMTypeOf(g), ""));
        t->about->saved_bytes += rooms[r].bytes;
    }
}

// They become offsets in the unit's local memory.
// Rooms have their places by then, and take none here.
static hd_status place_locals(struct thread *t)
{
    uint64_t bytes = 0;

    for (LLVMValueRef g = LLVMGetFirstGlobal(t->module); g;
         g = LLVMGetNextGlobal(g)) {
        if (!is_local(g) || !LLVMGetFirstUse(g) || hdi_map_get(&t->locals, g))
            continue;
        hdi_map_set(&t->locals, g, at(t, t->local, bytes));
        bytes += hdi_round_up(
            LLVMABISizeOfType(t->llvm->layout, LLVMGlobalGetValueType(g)),
            LOCAL_ALIGNMENT);
        if (bytes > MAX_LOCAL)
            return hdi_fail(t->error, HD_ELIMIT,
                            "%s:%u: local variables of kernel '%s' take more "
                            "than %d bytes",
                            t->about->file, t->about->line, t->about->name,
                            MAX_LOCAL);
    }
    t->about->local_bytes = (uint32_t)bytes;
    return HD_OK;
}

// Local variables have been replaced; of the others, each object has its own
// but for those of the program.
// Kernels are linked together: two objects with the same constants would clash.
static void settle_globals(const struct thread *t)
{
    for (LLVMValueRef g = LLVMGetFirstGlobal(t->module), next; g; g = next) {
        next = LLVMGetNextGlobal(g);
        if (is_local(g)) {
            LLVMReplaceAllUsesWith(g, LLVMGetPoison(LLVMTypeOf(g)));
            LLVMDeleteGlobal(g);
        } else if (!hdi_is_program_variable(g)) {
            LLVMSetLinkage(g, LLVMInternalLinkage);
        }
    }
}

// The work-item's function ----------------------------------------------------

static void set_attributes(const struct thread *t, LLVMValueRef function)
{
    hdi_function_flag(function, "nounwind", true);
    hdi_function_text(function, "no-trapping-math", "true");
    hdi_function_prefer(t->llvm, function);
}

static LLVMValueRef add_function(const struct thread *t, const char *prefix,
                                 LLVMTypeRef result, unsigned parameters)
{
    LLVMTypeRef types[] = {t->pointer, t->pointer};
    struct hdi_text name = {0};

    hdi_text_print(&name, "%s%s", prefix, t->about->name);
    LLVMValueRef function =
        LLVMAddFunction(t->module, name.failed ? prefix : name.data,
                        LLVMFunctionType(result, types, parameters, false));
    hdi_text_free(&name);
    set_attributes(t, function);
    return function;
}

// Blocks are moved, not copied, so values stay valid; `kernel` remains as the
// owner of the parameters until all of them are replaced. For a debugger
// nothing is inlined or optimised, as it would not show lines in order.
static void move_body(struct thread *t)
{
    LLVMMetadataRef subprogram = LLVMGetSubprogram(t->kernel);

    t->function = t->is_coroutine ? add_function(t, "hdt_", t->pointer, 2)
                                  : add_function(t, "hdt_", t->void_type, 1);
    if (t->llvm->debug) {
        hdi_function_flag(t->function, "noinline", true);
        hdi_function_flag(t->function, "optnone", true);
        hdi_function_text(t->function, "frame-pointer", "all");
    }
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(t->kernel), next; b;
         b = next) {
        next = LLVMGetNextBasicBlock(b);
        LLVMRemoveBasicBlockFromParent(b);
        LLVMAppendExistingBasicBlock(t->function, b);
    }
    if (subprogram) {
        LLVMSetSubprogram(t->kernel, NULL);
        LLVMSetSubprogram(t->function, subprogram);
    }
}

// A coroutine ends where it leaves.
static void replace_returns(struct thread *t)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(t->function); b;
         b = LLVMGetNextBasicBlock(b)) {
        LLVMValueRef end = LLVMGetBasicBlockTerminator(b);
        if (!LLVMIsAReturnInst(end) || LLVMGetNumOperands(end) > 0)
            continue;
        LLVMPositionBuilderBefore(t->builder, end);
        LLVMSetCurrentDebugLocation2(t->builder, NULL);
        stop_in(t, HDI_ITEM_ENDED);
        hdi_coroutine_end(&t->coroutine, end);
    }
}

static LLVMValueRef read_argument(struct thread *t, LLVMValueRef args,
                                  unsigned index)
{
    const struct hdi_build_arg *arg = &t->about->args[index];
    LLVMTypeRef type = LLVMTypeOf(LLVMGetParam(t->kernel, index));
    LLVMValueRef address = at(t, args, arg->offset);

    if (arg->kind == HD_ARG_LOCAL) {
        LLVMValueRef offset = fixed(t, t->i64, address, "");
        return LLVMBuildInBoundsGEP2(t->builder, t->i8, t->local, &offset, 1,
                                     arg->name);
    }
    if (arg->kind == HD_ARG_VALUE &&
        LLVMGetTypeKind(type) == LLVMPointerTypeKind)
        return address; // a structure, which the kernel copies
    LLVMValueRef value = fixed(t, type, address, arg->name);
    // The packed arguments as a whole are aligned to 8 only.
    unsigned align = LLVMABIAlignmentOfType(t->llvm->layout, type);
    LLVMSetAlignment(value, align < 8 ? align : 8);
    return value;
}

// For a debugger.
static void describe(struct thread *t, LLVMValueRef next)
{
    hdi_debug_flatten(t->llvm, t->module, t->function);
    hdi_debug_item(t->llvm, t->module, t->builder, t->item, next);
    for (LLVMValueRef g = LLVMGetFirstGlobal(t->module); g;
         g = LLVMGetNextGlobal(g))
        if (hdi_map_get(&t->locals, g))
            hdi_debug_local(t->llvm, t->module, t->builder, g,
                            hdi_map_get(&t->locals, g), next);
}

// At the beginning of the work-item.
static hd_status write_entry(struct thread *t)
{
    LLVMPositionBuilderBefore(t->builder, t->begin);
    LLVMSetCurrentDebugLocation2(t->builder, NULL);
    t->item = LLVMGetParam(t->function, 0);
    t->frame = fixed(t, t->pointer, t->item, "");
    t->services =
        fixed(t, t->pointer,
              at(t, t->frame, offsetof(struct hdi_frame, services)), "");
    t->local = fixed(t, t->local_pointer,
                     at(t, t->frame, offsetof(struct hdi_frame, local)), "");
    hdi_memory_read(t->llvm, t->module, t->builder, t->frame, &t->memory);
    LLVMValueRef args = fixed(
        t, t->pointer, at(t, t->frame, offsetof(struct hdi_frame, args)), "");
    for (unsigned i = 0; i < t->about->arg_count; i++)
        LLVMReplaceAllUsesWith(LLVMGetParam(t->kernel, i),
                               read_argument(t, args, i));
    place_rooms(t);
    HDI_TRY(place_locals(t));
    if (t->llvm->debug && LLVMGetSubprogram(t->function))
        describe(t, t->begin);
    return HD_OK;
}

static void replace_calls(struct thread *t)
{
    hdi_constants_expand(t->llvm->context, t->builder, t->function, &t->locals);
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(t->function); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b), next; i; i = next) {
            next = LLVMGetNextInstruction(i);
            replace_call(t, i);
        }
}

// The chunk's function --------------------------------------------------------

static LLVMValueRef add_resume(struct thread *t)
{
    LLVMValueRef function = add_function(t, "hdr_", t->void_type, 1);

    hdi_coroutine_resume(&t->coroutine, function);
    return function;
}

// A constant struct hdi_item_code; its stack_bytes are written later.
// Flags as in backend/frame.h. For a debugger work-items have stacks of their
// own, with or without barriers.
static LLVMValueRef item_code(struct thread *t)
{
    LLVMContextRef c = t->llvm->context;
    uint32_t flags = t->llvm->debug           ? HDI_ITEMS_MEET | HDI_ITEMS_DEBUG
                     : t->about->barriers > 0 ? HDI_ITEMS_MEET
                                              : 0;

    if (t->about->form == HD_FORM_GRID)
        flags |= HDI_ITEMS_GRID;
    if (t->checked)
        flags |= HDI_ITEMS_DEBUG;
    LLVMValueRef name = LLVMConstStringInContext2(
        c, t->about->name, strlen(t->about->name), false);
    LLVMValueRef text = LLVMAddGlobal(t->module, LLVMTypeOf(name), "");
    LLVMValueRef none = LLVMConstNull(t->pointer);
    LLVMValueRef fields[CODE_FIELDS] = {t->is_coroutine ? none : t->function,
                                        text,
                                        LLVMConstInt(t->i64, 0, false),
                                        LLVMConstInt(t->i32, flags, false),
                                        t->is_coroutine ? t->function : none,
                                        t->is_coroutine ? add_resume(t) : none};
    LLVMValueRef value =
        LLVMConstStructInContext(c, fields, CODE_FIELDS, false);
    LLVMValueRef code = LLVMAddGlobal(t->module, LLVMTypeOf(value), code_name);

    LLVMSetInitializer(text, name);
    LLVMSetInitializer(code, value);
    LLVMSetGlobalConstant(text, true);
    LLVMSetLinkage(text, LLVMPrivateLinkage);
    LLVMSetLinkage(code, LLVMInternalLinkage);
    return code;
}

static void write_chunk_function(struct thread *t)
{
    LLVMValueRef function = add_function(t, "hdk_", t->void_type, 1);
    LLVMValueRef arguments[] = {LLVMGetParam(function, 0), item_code(t)};
    LLVMTypeRef parameters[] = {t->pointer, t->pointer};

    hdi_build_at_end(t->builder, LLVMAppendBasicBlockInContext(
                                     t->llvm->context, function, "entry"));
    t->services =
        fixed(t, t->pointer,
              at(t, arguments[0], offsetof(struct hdi_frame, services)), "");
    call_service(t, offsetof(struct hdi_services, run_items),
                 LLVMFunctionType(t->void_type, parameters, 2, false),
                 arguments, 2);
    LLVMBuildRetVoid(t->builder);
}

static uint64_t stack_bytes(const struct hdi_llvm *llvm, LLVMValueRef function,
                            struct hdi_map *known);

// What a call takes below the frame of its caller: 0 where nothing is known of
// the callee, which is a service and runs on a stack of its own, or an
// intrinsic.
static uint64_t callee_bytes(const struct hdi_llvm *llvm, LLVMValueRef x,
                             struct hdi_map *known)
{
    LLVMValueRef callee = LLVMIsACallInst(x) ? LLVMGetCalledValue(x) : NULL;

    if (!callee || !LLVMIsAFunction(callee) || LLVMIsDeclaration(callee))
        return 0;
    size_t bytes = hdi_map_index(known, callee);
    return bytes != SIZE_MAX ? bytes : stack_bytes(llvm, callee, known);
}

// How much stack the function takes at most: its variables, and every value
// once, should no register be free, and what the deepest of its callees takes.
// Its frame begins and ends at a multiple of the largest alignment.
static uint64_t stack_bytes(const struct hdi_llvm *llvm, LLVMValueRef function,
                            struct hdi_map *known)
{
    uint64_t bytes = 0, alignment = 16, below = 0;

    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i)) {
            LLVMTypeRef type = LLVMTypeOf(i);
            uint64_t deep = callee_bytes(llvm, i, known);
            if (deep > below)
                below = deep;
            if (LLVMTypeIsSized(type))
                bytes += hdi_round_up(LLVMABISizeOfType(llvm->layout, type), 8);
            if (!LLVMIsAAllocaInst(i))
                continue;
            LLVMTypeRef variable = LLVMGetAllocatedType(i);
            uint64_t size = LLVMABISizeOfType(llvm->layout, variable);
            uint64_t least = LLVMGetAlignment(i);
            bytes += hdi_round_up(size, 16) + least;
            if (least > alignment)
                alignment = least;
        }
    bytes = hdi_round_up(bytes, alignment) + alignment + below;
    hdi_map_set_index(known, function, bytes);
    return bytes;
}

// Of a coroutine nothing is written: it runs on the stack of its caller.
void hdi_thread_measure(const struct hdi_llvm *llvm, LLVMModuleRef module)
{
    LLVMValueRef code = LLVMGetNamedGlobal(module, code_name);
    if (!code)
        return;

    LLVMValueRef value = LLVMGetInitializer(code), fields[CODE_FIELDS];
    for (unsigned i = 0; i < CODE_FIELDS; i++)
        fields[i] = LLVMGetAggregateElement(value, i);
    if (!LLVMIsAFunction(fields[0]))
        return;
    struct hdi_map known = {0};
    fields[2] = LLVMConstInt(LLVMTypeOf(fields[2]),
                             stack_bytes(llvm, fields[0], &known), false);
    hdi_map_clear(&known);
    LLVMSetInitializer(code, LLVMConstStructInContext(llvm->context, fields,
                                                      CODE_FIELDS, false));
}

static hd_status verify(struct thread *t)
{
    char *message = NULL;

    if (t->status == HD_OK && t->locals.failed)
        t->status = hdi_fail(t->error, HD_ENOMEM, "%s: no memory to compile",
                             t->llvm->path);
    if (t->status == HD_OK &&
        LLVMVerifyModule(t->module, LLVMReturnStatusAction, &message))
        t->status = hdi_fail(
            t->error, HD_EBUILD, "%s:%u: internal error in kernel '%s': %s",
            t->about->file, t->about->line, t->about->name, message);
    LLVMDisposeMessage(message);
    return t->status;
}

// The order matters: calls are replaced while the entry's values are there and
// before marks are completed, which need the work-item; the old kernel goes
// when its parameters have no users.
hd_status hdi_thread_build(struct hdi_llvm *llvm, LLVMModuleRef module,
                           LLVMValueRef kernel, bool coroutine,
                           struct hdi_build_kernel *about,
                           struct hdi_text *explanation, struct hd_error *error)
{
    LLVMContextRef c = llvm->context;
    struct thread t = {
        .llvm = llvm,
        .module = module,
        .builder = LLVMCreateBuilderInContext(c),
        .i8 = LLVMInt8TypeInContext(c),
        .i32 = LLVMInt32TypeInContext(c),
        .i64 = LLVMInt64TypeInContext(c),
        .pointer = LLVMPointerTypeInContext(c, 0),
        .local_pointer = LLVMPointerTypeInContext(c, HDI_SPACE_LOCAL),
        .void_type = LLVMVoidTypeInContext(c),
        .kernel = kernel,
        .is_coroutine = coroutine && hdi_coroutine_fits(llvm, kernel),
        .about = about,
        .error = error,
    };

    // Splitting blocks parts values from their uses.
    if (t.is_coroutine)
        t.status = hdi_llvm_passes(llvm, module, "function(reg2mem)", error);
    about->barriers = about->saved_bytes = 0;
    about->form = HD_FORM_THREADS;
    move_body(&t);
    t.coroutine =
        (struct hdi_coroutine){llvm, module, t.builder, t.function, NULL};
    t.begin = t.is_coroutine
                  ? hdi_coroutine_begin(&t.coroutine)
                  : LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(t.function));
    if (t.status == HD_OK)
        t.status = write_entry(&t);
    if (t.status == HD_OK) {
        replace_calls(&t);
        if (t.is_coroutine)
            replace_returns(&t);
        hdi_print_lower(llvm, module, t.builder, true);
        t.checked = hdi_instrument_lower(
            llvm, module, t.function, t.item,
            LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(t.function)));
        LLVMDeleteFunction(kernel);
        settle_globals(&t);
        write_chunk_function(&t);
        verify(&t);
    }
    if (t.status == HD_OK && t.is_coroutine)
        t.status = hdi_coroutine_split(&t.coroutine, error);
    hdi_map_clear(&t.locals);
    LLVMDisposeBuilder(t.builder);
    hdi_text_print(explanation,
                   "form: one %s per work-item%s, %u barriers; local "
                   "variables: %u bytes\n",
                   t.is_coroutine ? "coroutine" : "thread",
                   about->form == HD_FORM_GRID
                       ? " of all work-groups, which wait for each other"
                       : "",
                   about->barriers, about->local_bytes);
    return t.status;
}
