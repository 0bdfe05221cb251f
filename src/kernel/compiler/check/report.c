// What checked kernels call, and the table of the places it happens at.
//
// Invariant: the order of fields is that of the structures in backend/checks.h,
// which the checker reads at run time.
#include <llvm-c/DebugInfo.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "backend/frame.h"
#include "kernel/compiler/check/instrument.h"
#include "kernel/compiler/check/probe.h"

static const char table_name[] = "heddle.check.sites";

// Sites -----------------------------------------------------------------------

// The table grows: a new one takes the place of the old.
// LLVM cannot lengthen an array, so each site copies the table: the square of
// their number, which checked kernels, compiled for one debugging session, can
// bear. NULL: no memory.
static LLVMValueRef add_site(struct hdi_probe *in, LLVMValueRef *fields)
{
    LLVMValueRef old = LLVMGetNamedGlobal(in->module, table_name);
    unsigned count = old ? LLVMGetArrayLength(LLVMGlobalGetValueType(old)) : 0;
    LLVMValueRef *all = malloc((count + 1) * sizeof(LLVMValueRef));
    LLVMTypeRef type = LLVMArrayType2(in->site, count + 1);

    if (!all)
        return NULL;
    for (unsigned i = 0; i < count; i++)
        all[i] = LLVMGetAggregateElement(LLVMGetInitializer(old), i);
    fields[3] = LLVMConstInt(in->i32, count, false);
    all[count] = LLVMConstStructInContext(in->llvm->context, fields, 8, false);
    LLVMValueRef table = LLVMAddGlobal(in->module, type, "");
    LLVMSetInitializer(table, LLVMConstArray2(in->site, all, count + 1));
    LLVMSetLinkage(table, LLVMInternalLinkage);
    LLVMSetGlobalConstant(table, true);
    if (old) {
        LLVMReplaceAllUsesWith(old, table);
        LLVMDeleteGlobal(old);
    }
    LLVMSetValueName2(table, table_name, sizeof(table_name) - 1);
    free(all);
    LLVMValueRef at[2] = {LLVMConstInt(in->i64, 0, false), fields[3]};
    return LLVMConstInBoundsGEP2(type, table, at, 2);
}

// Strings are the same constant when they are equal, so comparing pointers is
// enough.
static LLVMValueRef text(struct hdi_probe *in, const char *from, size_t size)
{
    LLVMValueRef string = LLVMConstStringInContext(in->llvm->context, from,
                                                   (unsigned)size, false);
    for (LLVMValueRef g = LLVMGetFirstGlobal(in->module); g;
         g = LLVMGetNextGlobal(g))
        if (LLVMGetLinkage(g) == LLVMPrivateLinkage &&
            LLVMGetInitializer(g) == string && hdi_probe_is_ours(g))
            return g;
    LLVMValueRef global =
        LLVMAddGlobal(in->module, LLVMTypeOf(string), "heddle.check.text");
    LLVMSetInitializer(global, string);
    LLVMSetLinkage(global, LLVMPrivateLinkage);
    LLVMSetGlobalConstant(global, true);
    return global;
}

LLVMValueRef hdi_report_site(struct hdi_probe *in, LLVMValueRef instruction,
                             unsigned access, enum hdi_object object,
                             unsigned number, const char *name)
{
    unsigned size = 0;
    const char *file = LLVMGetDebugLocFilename(instruction, &size);
    if (!file || size == 0) {
        file = in->llvm->path;
        size = (unsigned)strlen(file);
    }
    LLVMValueRef fields[8] = {
        text(in, file, size),
        text(in, name, strcspn(name, ".")), // LLVM adds ".i" and the like
        LLVMConstInt(in->i32, LLVMGetDebugLocLine(instruction), false),
        NULL,
        LLVMConstInt(in->i32, access, false),
        LLVMConstInt(in->i32, (unsigned)object, false),
        LLVMConstInt(in->i32, number, false),
        LLVMConstInt(in->i32, 0, false),
    };
    return add_site(in, fields);
}

// Objects ---------------------------------------------------------------------

// Fill in the description of a variable, at the builder's point.
void hdi_report_describe(struct hdi_probe *in, LLVMValueRef description,
                         LLVMValueRef variable, LLVMValueRef size,
                         LLVMValueRef written)
{
    bool constant =
        LLVMIsAGlobalVariable(variable) && LLVMIsGlobalConstant(variable);
    LLVMValueRef fields[4] = {hdi_probe_flat(in, variable), size, written,
                              LLVMConstInt(in->i64, constant, false)};

    for (unsigned i = 0; i < 4; i++)
        LLVMBuildStore(
            in->builder, fields[i],
            LLVMBuildStructGEP2(in->builder, in->variable, description, i, ""));
}

// The same for one that the work-item tells of.
void hdi_report_declare(struct hdi_probe *in, LLVMValueRef description,
                        LLVMValueRef variable, LLVMValueRef size,
                        LLVMValueRef written)
{
    hdi_report_describe(in, description, variable, size, written);
    hdi_probe_call(in, HDI_PROBE_DECLARE,
                   LLVMVoidTypeInContext(in->llvm->context), &description, 1);
}

// Accesses --------------------------------------------------------------------

// Lead an access through the checker. A copy that must not happen has no size
// then.
// The access goes where the checker says, not only where it looked: after a
// fault was told the kernel runs on without doing harm, so that one run tells
// several.
void hdi_report_lead(struct hdi_probe *in, LLVMValueRef i,
                     const struct hdi_checked_access *access, LLVMValueRef site,
                     LLVMValueRef variable)
{
    hdi_probe_before(in, i);
    LLVMValueRef size = LLVMBuildZExt(in->builder, access->size, in->i64, "");
    LLVMValueRef args[4] = {hdi_probe_flat(in, access->pointer), size, site,
                            variable ? variable : LLVMConstNull(in->pointer)};
    LLVMValueRef safe =
        hdi_probe_call(in, HDI_PROBE_TOUCH, in->pointer, args, 4);
    if (access->kind & HDI_ACCESS_COPY) {
        LLVMValueRef none = LLVMBuildICmp(in->builder, LLVMIntEQ, safe,
                                          LLVMConstNull(in->pointer), "");
        LLVMSetOperand(i, 2,
                       LLVMBuildSelect(in->builder, none,
                                       LLVMConstNull(LLVMTypeOf(access->size)),
                                       LLVMGetOperand(i, 2), ""));
        return; // to the same place: size 0 harms nobody
    }
    if (LLVMTypeOf(access->pointer) != in->pointer)
        safe = LLVMBuildAddrSpaceCast(in->builder, safe,
                                      LLVMTypeOf(access->pointer), "");
    LLVMSetOperand(i, access->operand, safe);
}

// Completion ------------------------------------------------------------------

static LLVMValueRef load_at(struct hdi_probe *in, LLVMValueRef base,
                            size_t offset)
{
    LLVMValueRef at = LLVMConstInt(in->i64, offset, false);
    return LLVMBuildLoad2(
        in->builder, in->pointer,
        LLVMBuildInBoundsGEP2(in->builder, in->i8, base, &at, 1, ""), "");
}

// A mark becomes a call of entry `offset` of the table, with the
// work-item before its own arguments.
// All marks have the work-item first when they are called, which only the
// thread form knows.
static void complete(struct hdi_probe *in, LLVMValueRef mark, LLVMValueRef item,
                     LLVMValueRef table, size_t offset)
{
    LLVMValueRef args[HDI_PROBE_OPERANDS + 1] = {item};
    LLVMTypeRef types[HDI_PROBE_OPERANDS + 1] = {in->pointer};
    unsigned count = LLVMGetNumArgOperands(mark);

    for (unsigned i = 0; i < count; i++) {
        args[i + 1] = LLVMGetOperand(mark, i);
        types[i + 1] = LLVMTypeOf(args[i + 1]);
    }
    hdi_probe_before(in, mark);
    LLVMValueRef made = LLVMBuildCall2(
        in->builder,
        LLVMFunctionType(LLVMTypeOf(mark), types, count + 1, false),
        load_at(in, table, offset), args, count + 1, "");
    LLVMReplaceAllUsesWith(mark, made);
    LLVMInstructionEraseFromParent(mark);
}

// The start is called in every checked kernel, so it says whether it is one.
bool hdi_instrument_lower(struct hdi_llvm *llvm, LLVMModuleRef module,
                          LLVMValueRef function, LLVMValueRef item,
                          LLVMValueRef first)
{
    static const struct {
        const char *name;
        size_t offset;
    } calls[] = {{HDI_PROBE_START, offsetof(struct hdi_checks, start)},
                 {HDI_PROBE_DECLARE, offsetof(struct hdi_checks, declare)},
                 {HDI_PROBE_TOUCH, offsetof(struct hdi_checks, touch)},
                 {HDI_PROBE_UNSET, offsetof(struct hdi_checks, unset)},
                 {HDI_PROBE_PASS, offsetof(struct hdi_checks, pass)},
                 {HDI_PROBE_MEET, offsetof(struct hdi_checks, meet)},
                 {HDI_PROBE_VISIT, offsetof(struct hdi_checks, visit)},
                 {HDI_PROBE_DIVIDE, offsetof(struct hdi_checks, divide)}};
    struct hdi_probe in;

    if (!LLVMGetNamedFunction(module, HDI_PROBE_START))
        return false;
    in = hdi_probe_begin(llvm, module, function);
    LLVMPositionBuilderBefore(in.builder, first);
    LLVMSetCurrentDebugLocation2(in.builder, NULL);
    LLVMValueRef frame = load_at(&in, item, offsetof(struct hdi_item, frame));
    LLVMValueRef table =
        load_at(&in, frame, offsetof(struct hdi_frame, checks));
    for (size_t c = 0; c < sizeof(calls) / sizeof(calls[0]); c++) {
        LLVMValueRef mark = LLVMGetNamedFunction(module, calls[c].name);
        if (!mark)
            continue;
        LLVMUseRef use;
        while ((use = LLVMGetFirstUse(mark)))
            complete(&in, LLVMGetUser(use), item, table, calls[c].offset);
        LLVMDeleteFunction(mark);
    }
    LLVMDisposeBuilder(in.builder);
    return true;
}
