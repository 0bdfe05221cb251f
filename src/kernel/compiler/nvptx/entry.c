// Where an entry finds things (backend/device_launch.h):
//
//               record                     arguments           local memory
//     hdk_NAME  parameter                  behind the record   from the start
//     hdt_NAME  shared, [tid.y]            record->args        record->local
//
// A tile's block has several of these at once, one per row of its threads, so a
// record is found by tid.y.
#include "kernel/compiler/nvptx/entry.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "backend/device_launch.h"
#include "backend/frame.h"
#include "base/error.h"
#include "base/memory.h"
#include "kernel/compiler/ir/constants.h"
#include "kernel/compiler/nvptx/members.h"

enum {
    MAX_LOCAL = 1 << 30, // more is a mistake [bytes]
    KERNEL_CALL = 71     // calling convention ptx_kernel
};

// All shared memory of a block is asked for at launch; tiles share it out.
#define MEMORY_NAME "hdu_local"

// Found again after passes, which drop what nothing uses yet.
static void find_memory(struct hdi_entry_writer *w)
{
    w->memory = LLVMGetNamedGlobal(w->module, MEMORY_NAME);
    if (w->memory)
        return;
    w->memory = LLVMAddGlobalInAddressSpace(w->module, LLVMArrayType2(w->i8, 0),
                                            MEMORY_NAME, HDI_SPACE_LOCAL);
    LLVMSetAlignment(w->memory, HDI_FRAME_ALIGNMENT);
}

void hdi_entry_begin(struct hdi_entry_writer *w, const struct hdi_llvm *llvm,
                     LLVMModuleRef module)
{
    LLVMContextRef c = llvm->context;

    *w = (struct hdi_entry_writer){
        .llvm = llvm,
        .module = module,
        .builder = LLVMCreateBuilderInContext(c),
        .i8 = LLVMInt8TypeInContext(c),
        .i32 = LLVMInt32TypeInContext(c),
        .i64 = LLVMInt64TypeInContext(c),
        .pointer = LLVMPointerTypeInContext(c, 0),
        .global = LLVMPointerTypeInContext(c, HDI_SPACE_GLOBAL),
        .shared = LLVMPointerTypeInContext(c, HDI_SPACE_LOCAL),
    };
    find_memory(w);
}

void hdi_entry_end(struct hdi_entry_writer *w)
{
    LLVMDisposeBuilder(w->builder);
}

static LLVMValueRef at(struct hdi_entry_writer *w, LLVMValueRef base,
                       uint64_t offset)
{
    LLVMValueRef index = LLVMConstInt(w->i64, offset, false);
    return LLVMBuildInBoundsGEP2(w->builder, w->i8, base, &index, 1, "");
}

// `most`: what the place itself is aligned to; more must not be promised.
// [bytes]
static LLVMValueRef load(struct hdi_entry_writer *w, LLVMTypeRef type,
                         LLVMValueRef from, unsigned most)
{
    LLVMValueRef value = LLVMBuildLoad2(w->builder, type, from, "");
    unsigned align = LLVMABIAlignmentOfType(w->llvm->layout, type);
    LLVMSetAlignment(value, align < most ? align : most);
    return value;
}

static LLVMValueRef call_intrinsic(struct hdi_entry_writer *w, const char *name)
{
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMValueRef f = LLVMGetIntrinsicDeclaration(w->module, id, NULL, 0);
    return LLVMBuildCall2(w->builder, LLVMGlobalGetValueType(f), f, NULL, 0,
                          "");
}

// The launch's record, at the builder's point.
static LLVMValueRef record_of(struct hdi_entry_writer *w, LLVMValueRef function,
                              bool tile)
{
    if (!tile)
        return LLVMGetParam(function, 0);
    LLVMValueRef offset = LLVMBuildMul(
        w->builder,
        LLVMBuildZExt(w->builder,
                      call_intrinsic(w, "llvm.nvvm.read.ptx.sreg.tid.y"),
                      w->i64, ""),
        LLVMConstInt(w->i64, sizeof(struct hdi_device_launch), false), "");
    return LLVMBuildInBoundsGEP2(w->builder, w->i8, w->memory, &offset, 1, "");
}

static LLVMValueRef local_of(struct hdi_entry_writer *w, LLVMValueRef record,
                             bool tile)
{
    if (!tile)
        return w->memory;
    LLVMValueRef offset = LLVMBuildZExt(
        w->builder,
        load(w, w->i32,
             at(w, record, offsetof(struct hdi_device_launch, local)), 4),
        w->i64, "");
    return LLVMBuildInBoundsGEP2(w->builder, w->i8, w->memory, &offset, 1, "");
}

// Where the arguments are, at the builder's point.
static LLVMValueRef args_of(struct hdi_entry_writer *w, LLVMValueRef record,
                            bool tile)
{
    if (!tile)
        return at(w, record, HDI_DEVICE_ARGS);
    return LLVMBuildIntToPtr(
        w->builder,
        load(w, w->i64, at(w, record, offsetof(struct hdi_device_launch, args)),
             8),
        w->global, "");
}

// A structure is the work-item's own.
static LLVMValueRef copy_structure(struct hdi_entry_writer *w, LLVMTypeRef type,
                                   LLVMValueRef from)
{
    unsigned align = LLVMABIAlignmentOfType(w->llvm->layout, type);
    LLVMValueRef copy = LLVMBuildAlloca(w->builder, type, "");

    LLVMSetAlignment(copy, align);
    LLVMBuildMemCpy(
        w->builder, copy, align, from, align < 8 ? align : 8,
        LLVMConstInt(w->i64, LLVMABISizeOfType(w->llvm->layout, type), false));
    return copy;
}

static LLVMValueRef unpack(struct hdi_entry_writer *w, LLVMValueRef kernel,
                           unsigned index, LLVMValueRef from,
                           LLVMValueRef local)
{
    unsigned byval = LLVMGetEnumAttributeKindForName("byval", 5);
    LLVMAttributeRef structure =
        LLVMGetEnumAttributeAtIndex(kernel, index + 1, byval);
    LLVMTypeRef type = LLVMTypeOf(LLVMGetParam(kernel, index));

    if (structure)
        return copy_structure(w, LLVMGetTypeAttributeValue(structure), from);
    if (type == w->shared) {
        LLVMValueRef offset = load(w, w->i64, from, 8);
        return LLVMBuildInBoundsGEP2(w->builder, w->i8, local, &offset, 1, "");
    }
    return load(w, type, from, HDI_DEVICE_ALIGNMENT);
}

// The record and the arguments behind it, as the driver passes them.
static void set_parameter(struct hdi_entry_writer *w, LLVMValueRef function,
                          const struct hdi_build_kernel *about)
{
    LLVMContextRef c = w->llvm->context;
    LLVMTypeRef type =
        LLVMArrayType2(w->i8, HDI_DEVICE_ARGS + (uint64_t)about->args_size);

    LLVMAddAttributeAtIndex(
        function, 1,
        LLVMCreateTypeAttribute(c, LLVMGetEnumAttributeKindForName("byval", 5),
                                type));
    LLVMAddAttributeAtIndex(
        function, 1,
        LLVMCreateEnumAttribute(c, LLVMGetEnumAttributeKindForName("align", 5),
                                HDI_DEVICE_ALIGNMENT));
}

static void annotate(struct hdi_entry_writer *w, LLVMValueRef function,
                     const char *what, uint32_t number)
{
    LLVMContextRef c = w->llvm->context;
    LLVMMetadataRef values[] = {
        LLVMValueAsMetadata(function),
        LLVMMDStringInContext2(c, what, strlen(what)),
        LLVMValueAsMetadata(LLVMConstInt(w->i32, number, false))};

    LLVMAddNamedMetadataOperand(
        w->module, "nvvm.annotations",
        LLVMMetadataAsValue(c, LLVMMDNodeInContext2(c, values, 3)));
}

// How many threads a block has at most decides how many registers each may
// have. Edges of a launch are smaller blocks.
static void limit_threads(struct hdi_entry_writer *w, LLVMValueRef function,
                          const struct hdi_build_kernel *about)
{
    uint32_t items = 1;

    for (int d = 0; d < 3; d++)
        items *= about->required_local[d];
    annotate(w, function, "maxntidx",
             items > 0 && items <= 1024 ? items : 1024);
}

LLVMValueRef hdi_entry_write(struct hdi_entry_writer *w, LLVMValueRef kernel,
                             const struct hdi_build_kernel *about, bool tile)
{
    struct hdi_text name = {0};
    unsigned count = LLVMCountParams(kernel);
    LLVMValueRef *args = calloc(count + 1, sizeof(*args));

    hdi_text_print(&name, "%s_%s", tile ? "hdt" : "hdk", about->name);
    if (name.failed || !args) {
        hdi_text_free(&name);
        free(args);
        return NULL;
    }
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(w->llvm->context),
                                        &w->pointer, tile ? 0 : 1, false);
    LLVMValueRef f = LLVMAddFunction(w->module, name.data, type);
    hdi_text_free(&name);
    hdi_function_flag(f, "convergent", true);
    hdi_function_flag(f, "nounwind", true);
    if (!tile) {
        LLVMSetFunctionCallConv(f, KERNEL_CALL);
        set_parameter(w, f, about);
        limit_threads(w, f, about);
    }

    hdi_build_at_end(w->builder, LLVMAppendBasicBlockInContext(w->llvm->context,
                                                               f, "entry"));
    LLVMValueRef record = record_of(w, f, tile);
    LLVMValueRef from = args_of(w, record, tile);
    LLVMValueRef local = local_of(w, record, tile);
    for (unsigned i = 0; i < count; i++)
        args[i] =
            unpack(w, kernel, i, at(w, from, about->args[i].offset), local);
    LLVMBuildCall2(w->builder, LLVMGlobalGetValueType(kernel), kernel, args,
                   count, "");
    LLVMBuildRetVoid(w->builder);
    free(args);
    return f;
}

// After inlining --------------------------------------------------------------

// Does the value, or a constant in it, name the variable?
static bool mentions(LLVMValueRef value, LLVMValueRef variable)
{
    if (value == variable)
        return true;
    if (!LLVMIsAConstant(value) || LLVMIsAGlobalValue(value))
        return false;
    for (int i = 0; i < LLVMGetNumOperands(value); i++)
        if (mentions(LLVMGetOperand(value, (unsigned)i), variable))
            return true;
    return false;
}

static bool uses(LLVMValueRef function, LLVMValueRef variable)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i))
            for (int o = 0; o < LLVMGetNumOperands(i); o++)
                if (mentions(LLVMGetOperand(i, (unsigned)o), variable))
                    return true;
    return false;
}

// Variables lie from the start of the launch's local memory on, arguments that
// are local behind them. Both entries of a kernel get the same places.
static hd_status place_local(struct hdi_entry_writer *w, LLVMValueRef function,
                             LLVMValueRef local, struct hdi_map *places,
                             struct hdi_build_kernel *about,
                             struct hd_error *error)
{
    uint64_t bytes = 0;

    for (LLVMValueRef g = LLVMGetFirstGlobal(w->module); g;
         g = LLVMGetNextGlobal(g)) {
        if (g == w->memory || LLVMTypeOf(g) != w->shared || !uses(function, g))
            continue;
        unsigned align = LLVMGetAlignment(g);
        bytes = hdi_round_up(bytes, align > 16 ? align : 16);
        hdi_map_set(places, g, at(w, local, bytes));
        bytes += LLVMABISizeOfType(w->llvm->layout, LLVMGlobalGetValueType(g));
        if (bytes > MAX_LOCAL)
            return hdi_fail(error, HD_ELIMIT,
                            "%s:%u: local variables of kernel '%s' take more "
                            "than %d bytes",
                            about->file, about->line, about->name, MAX_LOCAL);
    }
    about->local_bytes = (uint32_t)hdi_round_up(bytes, HDI_FRAME_ALIGNMENT);
    return HD_OK;
}

// What a call that asks about the launch gives; NULL: it is another one.
// hdu_word and hdu_long ask for the record's word at an offset; hdu_in_tile is
// a constant, so what is for the other kind of entry goes.
static LLVMValueRef answer(struct hdi_entry_writer *w, LLVMValueRef record,
                           LLVMValueRef call, bool tile)
{
    const char *name = hdi_value_name(LLVMGetCalledValue(call));
    bool word = strcmp(name, "hdu_word") == 0;

    if (strcmp(name, "hdu_in_tile") == 0)
        return LLVMConstInt(LLVMTypeOf(call), tile, false);
    if (!word && strcmp(name, "hdu_long") != 0)
        return NULL;
    LLVMPositionBuilderBefore(w->builder, call);
    LLVMSetCurrentDebugLocation2(w->builder, NULL);
    LLVMValueRef offset =
        LLVMBuildZExt(w->builder, LLVMGetOperand(call, 0), w->i64, "");
    LLVMValueRef from =
        LLVMBuildInBoundsGEP2(w->builder, w->i8, record, &offset, 1, "");
    return load(w, word ? w->i32 : w->i64, from, 8);
}

static void answer_calls(struct hdi_entry_writer *w, LLVMValueRef function,
                         LLVMValueRef record, bool tile)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b), next; i; i = next) {
            next = LLVMGetNextInstruction(i);
            LLVMValueRef value =
                LLVMIsACallInst(i) ? answer(w, record, i, tile) : NULL;
            if (!value)
                continue;
            LLVMReplaceAllUsesWith(i, value);
            LLVMInstructionEraseFromParent(i);
        }
}

// Passes have removed the record that hdi_entry_write() computed, if nothing
// used it: it is computed again, first of all.
hd_status hdi_entry_lower(struct hdi_entry_writer *w, LLVMValueRef function,
                          struct hdi_build_kernel *about, bool tile,
                          struct hd_error *error)
{
    struct hdi_map places = {0};
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(function);

    find_memory(w);
    LLVMPositionBuilderBefore(w->builder, LLVMGetFirstInstruction(entry));
    LLVMSetCurrentDebugLocation2(w->builder, NULL);
    LLVMValueRef record = record_of(w, function, tile);
    LLVMValueRef local = local_of(w, record, tile);
    hd_status status = place_local(w, function, local, &places, about, error);
    if (status == HD_OK)
        hdi_constants_expand(w->llvm->context, w->builder, function, &places);
    if (status == HD_OK && places.failed)
        status = hdi_fail(error, HD_ENOMEM, "%s: no memory to compile",
                          w->llvm->path);
    hdi_map_clear(&places);
    if (status == HD_OK && !hdi_members_answer(function))
        status = hdi_fail(error, HD_ENOMEM, "%s: no memory to compile",
                          w->llvm->path);
    if (status == HD_OK)
        answer_calls(w, function, record, tile);
    return status;
}
