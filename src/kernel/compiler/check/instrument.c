//     variables   a value that is only read and written whole: a flag, one bit
//                 anything else: a byte per byte, `written`, and a description
//     memory      arguments, local and program variables: by their origin
//
// Invariant: what is inserted here is named heddle.check.*, or is a call of a
// mark, and is never instrumented itself (hdi_probe_is_ours).
#include "kernel/compiler/check/instrument.h"

#include <llvm-c/DebugInfo.h>
#include <string.h>

#include "base/error.h"
#include "kernel/compiler/check/probe.h"
#include "kernel/compiler/ir/map.h"

// Variables -------------------------------------------------------------------

// Only read and written whole, one value at a time.
static bool is_whole(LLVMValueRef variable)
{
    LLVMTypeRef type = LLVMGetAllocatedType(variable);
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    if (kind == LLVMStructTypeKind || kind == LLVMArrayTypeKind)
        return false;
    for (LLVMUseRef u = LLVMGetFirstUse(variable); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef i = LLVMGetUser(u);
        bool plain =
            (LLVMIsALoadInst(i) || LLVMIsAStoreInst(i)) && !LLVMGetVolatile(i);
        bool whole =
            (plain && LLVMIsALoadInst(i) && LLVMTypeOf(i) == type) ||
            (plain && LLVMIsAStoreInst(i) && LLVMGetOperand(i, 1) == variable &&
             LLVMTypeOf(LLVMGetOperand(i, 0)) == type) ||
            hdi_is_intrinsic(i, "llvm.lifetime.");
        if (!whole)
            return false;
    }
    return true;
}

// Some elements of a vector are set in what was read: it need not have a value.
static bool is_for_parts(LLVMValueRef load)
{
    for (LLVMUseRef u = LLVMGetFirstUse(load); u; u = LLVMGetNextUse(u))
        if (!LLVMIsAInsertElementInst(LLVMGetUser(u)) &&
            !LLVMIsAShuffleVectorInst(LLVMGetUser(u)))
            return false;
    return LLVMGetFirstUse(load) != NULL;
}

// Tell when the variable is read before `flag` is set.
// The block is split so that telling costs a branch that is hardly ever taken;
// a screened kernel only has to leave, and keeps one block.
static void guard_read(struct hdi_probe *in, LLVMValueRef load,
                       LLVMValueRef flag, const char *name)
{
    LLVMContextRef c = in->llvm->context;
    LLVMMetadataRef line = LLVMInstructionGetDebugLoc(load);

    hdi_probe_before(in, load);
    LLVMValueRef set = LLVMBuildLoad2(in->builder, in->i1, flag, "");
    if (in->llvm->screen) {
        hdi_sift_expect(in, set);
        return;
    }
    LLVMValueRef site =
        hdi_report_site(in, load, HDI_ACCESS_READ, HDI_OBJECT_PRIVATE, 0, name);
    LLVMBasicBlockRef before = LLVMGetInstructionParent(load);
    LLVMBasicBlockRef after = hdi_block_split(c, in->builder, load, "");
    LLVMBasicBlockRef tell = LLVMAppendBasicBlockInContext(c, in->kernel, "");
    LLVMInstructionEraseFromParent(LLVMGetBasicBlockTerminator(before));
    hdi_build_at_end(in->builder, before);
    LLVMBuildCondBr(in->builder, set, after, tell);
    hdi_build_at_end(in->builder, tell);
    LLVMSetCurrentDebugLocation2(in->builder, line);
    hdi_probe_call(in, HDI_PROBE_UNSET, LLVMVoidTypeInContext(c), &site, 1);
    LLVMBuildBr(in->builder, after);
}

// Names are clang's; without one it is a temporary, which is written before it
// is read whatever the kernel does.
static void flag_variable(struct hdi_probe *in, LLVMValueRef variable)
{
    const char *name = hdi_value_name(variable);
    LLVMValueRef yes = LLVMConstInt(in->i1, 1, false);
    LLVMValueRef no = LLVMConstInt(in->i1, 0, false);

    if (!*name)
        return; // the compiler's own
    LLVMPositionBuilderBefore(in->builder, variable);
    LLVMSetCurrentDebugLocation2(in->builder, NULL);
    LLVMValueRef flag =
        LLVMBuildAlloca(in->builder, in->i1, "heddle.check.flag");
    LLVMPositionBuilderBefore(in->builder, hdi_probe_entry(in->kernel));
    LLVMBuildStore(in->builder, no, flag);
    for (LLVMUseRef u = LLVMGetFirstUse(variable), next; u; u = next) {
        LLVMValueRef i = LLVMGetUser(u);
        next = LLVMGetNextUse(u);
        hdi_probe_before(in, i);
        if (LLVMIsAStoreInst(i))
            LLVMBuildStore(in->builder, yes, flag);
        else if (hdi_is_intrinsic(i, "llvm.lifetime.start"))
            LLVMBuildStore(in->builder, no, flag);
        else if (LLVMIsALoadInst(i) && !is_for_parts(i))
            guard_read(in, i, flag, name);
    }
}

// Follow pointers that are made from a variable to what uses them.
static void lead_uses(struct hdi_probe *in, LLVMValueRef pointer,
                      const struct hdi_followed *v)
{
    const char *name = hdi_value_name(v->variable);

    for (LLVMUseRef u = LLVMGetFirstUse(pointer), next; u; u = next) {
        LLVMValueRef i = LLVMGetUser(u);
        next = LLVMGetNextUse(u);
        if (!LLVMIsAInstruction(i))
            continue;
        if (i != pointer && hdi_probe_origin(i) != i) {
            lead_uses(in, i, v);
            continue;
        }
        for (unsigned a = 0;; a++) {
            struct hdi_checked_access access = hdi_probe_access(in, i, a);
            if (access.kind == 0)
                break;
            if (access.pointer != pointer)
                continue;
            if (in->llvm->screen)
                hdi_sift_private(in, i, &access, v);
            else
                hdi_report_lead(in, i, &access,
                                hdi_report_site(in, i, access.kind,
                                                HDI_OBJECT_PRIVATE, 0, name),
                                v->description);
        }
    }
}

// Whenever the variable comes to life it has no value.
// A variable in a loop loses its value with each turn: that is what reads
// without a value are found by.
static void clear_at_start(struct hdi_probe *in, LLVMValueRef variable,
                           LLVMValueRef written, LLVMValueRef size)
{
    LLVMValueRef zero = LLVMConstInt(in->i8, 0, false);

    for (LLVMUseRef u = LLVMGetFirstUse(variable), next; u; u = next) {
        LLVMValueRef i = LLVMGetUser(u);
        next = LLVMGetNextUse(u);
        if (!hdi_is_intrinsic(i, "llvm.lifetime."))
            continue;
        LLVMPositionBuilderBefore(in->builder, i);
        LLVMSetCurrentDebugLocation2(in->builder, NULL);
        if (hdi_is_intrinsic(i, "llvm.lifetime.start"))
            LLVMBuildMemSet(in->builder, written, zero, size, 1);
        // Its description tells of it as long as the work-item lives.
        LLVMInstructionEraseFromParent(i);
    }
}

// The flags are cleared and the variable is declared last, so both stand before
// what was inserted for uses at the top of the entry block.
static void describe_variable(struct hdi_probe *in, LLVMValueRef variable)
{
    LLVMTypeRef type = LLVMGetAllocatedType(variable);
    uint64_t bytes = LLVMABISizeOfType(in->llvm->layout, type);
    LLVMValueRef size = LLVMConstInt(in->i64, bytes, false);
    LLVMValueRef zero = LLVMConstInt(in->i8, 0, false);

    LLVMPositionBuilderBefore(in->builder, hdi_probe_entry(in->kernel));
    LLVMSetCurrentDebugLocation2(in->builder, NULL);
    LLVMValueRef written = LLVMBuildAlloca(
        in->builder, LLVMArrayType2(in->i8, bytes), "heddle.check.written");
    const struct hdi_followed v = {
        .variable = variable,
        .written = written,
        .description =
            LLVMBuildAlloca(in->builder, in->variable, "heddle.check.variable"),
        .size = bytes,
    };
    clear_at_start(in, variable, written, size);
    lead_uses(in, variable, &v);

    LLVMPositionBuilderBefore(in->builder, hdi_probe_entry(in->kernel));
    LLVMSetCurrentDebugLocation2(in->builder, NULL);
    LLVMBuildMemSet(in->builder, written, zero, size, 1);
    if (!in->llvm->screen)
        hdi_report_declare(in, v.description, variable, size, written);
}

// Allocas first, whatever stood between them.
// So that "the allocas of the entry block" is a place: all that is inserted for
// variables goes right behind them (hdi_probe_entry).
static void gather_variables(struct hdi_probe *in)
{
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(in->kernel);

    for (LLVMValueRef i = hdi_probe_entry(in->kernel), next; i; i = next) {
        next = LLVMGetNextInstruction(i);
        if (!LLVMIsAAllocaInst(i))
            continue;
        LLVMInstructionRemoveFromParent(i);
        LLVMPositionBuilderBefore(in->builder, LLVMGetFirstInstruction(entry));
        LLVMSetCurrentDebugLocation2(in->builder, NULL);
        LLVMInsertIntoBuilder(in->builder, i);
    }
}

void hdi_instrument_variables(struct hdi_llvm *llvm, LLVMModuleRef module,
                              LLVMValueRef kernel)
{
    struct hdi_probe in = hdi_probe_begin(llvm, module, kernel);

    gather_variables(&in);
    for (LLVMValueRef
             i = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(kernel)),
             next;
         LLVMIsAAllocaInst(i); i = next) {
        next = LLVMGetNextInstruction(i);
        if (hdi_probe_is_ours(i))
            continue;
        if (is_whole(i))
            flag_variable(&in, i);
        else
            describe_variable(&in, i);
    }
    LLVMPositionBuilderBefore(in.builder, hdi_probe_entry(kernel));
    LLVMSetCurrentDebugLocation2(in.builder, NULL);
    if (!llvm->screen)
        hdi_probe_call(&in, HDI_PROBE_START,
                       LLVMVoidTypeInContext(llvm->context), NULL, 0);
    LLVMDisposeBuilder(in.builder);
}

// Memory ----------------------------------------------------------------------

// The instruction after the call that starts the work-item.
// The start is there: hdi_instrument_variables() has put it in.
static LLVMValueRef behind_start(const struct hdi_probe *in)
{
    LLVMValueRef i =
        LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(in->kernel));
    while (!hdi_is_call_of(i, HDI_PROBE_START))
        i = LLVMGetNextInstruction(i);
    return LLVMGetNextInstruction(i);
}

// Where a variable at program scope, or a local one, is described; once.
// Local variables have no bytes that say what is written: the checker keeps
// that per group.
static LLVMValueRef describe_global(struct hdi_probe *in,
                                    struct hdi_map *descriptions,
                                    LLVMValueRef global)
{
    LLVMValueRef d = hdi_map_get(descriptions, global);
    if (d)
        return d;
    uint64_t size =
        LLVMABISizeOfType(in->llvm->layout, LLVMGlobalGetValueType(global));
    LLVMPositionBuilderBefore(in->builder, hdi_probe_entry(in->kernel));
    LLVMSetCurrentDebugLocation2(in->builder, NULL);
    d = LLVMBuildAlloca(in->builder, in->variable, "heddle.check.variable");
    LLVMPositionBuilderBefore(in->builder, hdi_probe_entry(in->kernel));
    hdi_report_describe(in, d, global, LLVMConstInt(in->i64, size, false),
                        LLVMConstNull(in->pointer));
    hdi_map_set(descriptions, global, d);
    return d;
}

// A pointer whose origin is not known may lead to any variable of the program.
static void declare_globals(struct hdi_probe *in, struct hdi_map *descriptions)
{
    for (LLVMValueRef g = LLVMGetFirstGlobal(in->module); g;
         g = LLVMGetNextGlobal(g)) {
        unsigned space = LLVMGetPointerAddressSpace(LLVMTypeOf(g));
        if (hdi_probe_is_ours(g) || space == HDI_SPACE_LOCAL ||
            !LLVMGetFirstUse(g))
            continue;
        LLVMValueRef d = describe_global(in, descriptions, g);
        // Behind what fills it in, and behind the start of the work-item.
        LLVMPositionBuilderBefore(in->builder, behind_start(in));
        LLVMSetCurrentDebugLocation2(in->builder, NULL);
        hdi_probe_call(in, HDI_PROBE_DECLARE,
                       LLVMVoidTypeInContext(in->llvm->context), &d, 1);
    }
}

static unsigned argument_number(LLVMValueRef kernel, LLVMValueRef argument)
{
    unsigned i = 0;
    while (LLVMGetParam(kernel, i) != argument)
        i++;
    return i;
}

// "kernel.tile" is what clang calls a local variable.
static const char *source_name(LLVMValueRef global)
{
    const char *name = hdi_value_name(global), *dot = strrchr(name, '.');
    return dot && dot[1] ? dot + 1 : name;
}

// Where work-items leave values for functions of groups and sub-groups.
// Races there are part of how those functions work, between barriers.
static bool is_meeting_place(LLVMValueRef from)
{
    return LLVMIsAGlobalVariable(from) &&
           strncmp(source_name(from), "hdu_", 4) == 0;
}

// In this order: what is not to be looked at; screened; private variables,
// which were led before; what the origin says; else UNKNOWN, for which the
// checker looks the address up.
static void lead_access(struct hdi_probe *in, struct hdi_map *descriptions,
                        LLVMValueRef i, const struct hdi_checked_access *access)
{
    LLVMValueRef from = hdi_probe_origin(access->pointer), description = NULL;
    enum hdi_object object = HDI_OBJECT_UNKNOWN;
    unsigned number = 0;
    const char *name = "";

    if (hdi_is_call_of(from, HDI_PROBE_TOUCH) || hdi_probe_is_ours(from) ||
        is_meeting_place(from))
        return;
    if (in->llvm->screen) {
        hdi_sift_memory(in, i, access, from);
        return;
    }
    // Copies keep the addresses that they had when variables were told of.
    if (access->kind & HDI_ACCESS_COPY && LLVMIsAAllocaInst(from))
        return;
    if (LLVMIsAArgument(from)) {
        object = HDI_OBJECT_ARG;
        number = argument_number(in->kernel, from);
        name = hdi_value_name(from);
    } else if (LLVMIsAGlobalVariable(from)) {
        unsigned space = LLVMGetPointerAddressSpace(LLVMTypeOf(from));
        object =
            space == HDI_SPACE_LOCAL ? HDI_OBJECT_LOCAL : HDI_OBJECT_PROGRAM;
        name = source_name(from);
        description = describe_global(in, descriptions, from);
    }
    hdi_report_lead(in, i, access,
                    hdi_report_site(in, i, access->kind, object, number, name),
                    description);
}

static void pass(struct hdi_probe *in, LLVMValueRef next, bool sub_group)
{
    hdi_probe_before(in, next);
    hdi_probe_call(in, sub_group ? HDI_PROBE_MEET : HDI_PROBE_PASS,
                   LLVMVoidTypeInContext(in->llvm->context), NULL, 0);
}

// A call that the builtins of images make, for the checker.
static void visit_texel(struct hdi_probe *in, LLVMValueRef call)
{
    hdi_probe_before(in, call);
    if (!in->llvm->screen) {
        unsigned how = (unsigned)LLVMConstIntGetZExtValue(
            LLVMGetOperand(call, HDI_PROBE_OPERANDS - 1));
        LLVMValueRef args[HDI_PROBE_OPERANDS] = {
            hdi_probe_flat(in, LLVMGetOperand(call, 0)),
            LLVMGetOperand(call, 1),
            LLVMGetOperand(call, 2),
            LLVMGetOperand(call, 3),
            LLVMGetOperand(call, 4),
            hdi_report_site(in, call, how, HDI_OBJECT_UNKNOWN, 0, ""),
        };
        hdi_probe_call(in, HDI_PROBE_VISIT,
                       LLVMVoidTypeInContext(in->llvm->context), args,
                       HDI_PROBE_OPERANDS);
    }
    in->llvm->unscreened = true;
    LLVMInstructionEraseFromParent(call);
}

// A division may be by 0, or of the least number by -1.
static void check_division(struct hdi_probe *in, LLVMValueRef mark)
{
    LLVMBuilderRef b = in->builder;
    LLVMValueRef wrong = LLVMGetOperand(mark, 0);
    LLVMValueRef zero = LLVMGetOperand(mark, 1);

    hdi_probe_before(in, mark);
    if (in->llvm->screen) {
        hdi_sift_expect(in, LLVMBuildNot(b, wrong, ""));
    } else {
        LLVMValueRef how = LLVMBuildSelect(
            b, zero, LLVMConstInt(in->i32, HDI_DIVISION_BY_ZERO, false),
            LLVMConstInt(in->i32, HDI_DIVISION_OF_LEAST, false), "");
        LLVMValueRef args[2] = {
            LLVMBuildSelect(b, wrong, how, LLVMConstNull(in->i32), ""),
            hdi_report_site(in, mark, 0, HDI_OBJECT_UNKNOWN, 0, "")};
        hdi_probe_call(in, HDI_PROBE_DIVIDE,
                       LLVMVoidTypeInContext(in->llvm->context), args, 2);
    }
    LLVMInstructionEraseFromParent(mark);
}

// Instructions that are inserted stand before the one at hand, so the walk does
// not meet them.
hd_status hdi_instrument_memory(struct hdi_llvm *llvm, LLVMModuleRef module,
                                LLVMValueRef kernel, struct hd_error *error)
{
    struct hdi_probe in = hdi_probe_begin(llvm, module, kernel);
    struct hdi_map descriptions = {0};

    if (!llvm->screen)
        declare_globals(&in, &descriptions);
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(kernel); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b), next; i; i = next) {
            next = LLVMGetNextInstruction(i);
            enum hdi_call kind = hdi_call_kind(i);
            bool sub_group = kind == HDI_CALL_SUB_GROUP_BARRIER;
            // What is printed would be printed twice.
            llvm->unscreened |= sub_group || hdi_is_call_of(i, HDI_PRINT_NAME);
            if (hdi_is_call_of(i, HDI_VISIT_NAME)) {
                visit_texel(&in, i);
                continue;
            }
            if (hdi_is_call_of(i, HDI_DIVISION_NAME)) {
                check_division(&in, i);
                continue;
            }
            if (kind == HDI_CALL_BARRIER || sub_group) {
                if (!llvm->screen)
                    pass(&in, next, sub_group);
                continue;
            }
            for (unsigned a = 0;; a++) {
                struct hdi_checked_access access = hdi_probe_access(&in, i, a);
                if (access.kind == 0)
                    break;
                lead_access(&in, &descriptions, i, &access);
            }
        }
    bool failed = descriptions.failed;
    hdi_map_clear(&descriptions);
    LLVMDisposeBuilder(in.builder);
    return failed ? hdi_fail(error, HD_ENOMEM, "%s: no memory to compile",
                             llvm->path)
                  : HD_OK;
}
