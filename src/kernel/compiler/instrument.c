#include "kernel/compiler/instrument.h"

#include <llvm-c/DebugInfo.h>
#include <stdlib.h>
#include <string.h>

#include "backend/checks.h"
#include "backend/frame.h"
#include "base/error.h"
#include "kernel/compiler/map.h"

static const char start_name[] = "heddle.check.start";
static const char declare_name[] = "heddle.check.declare";
static const char touch_name[] = "heddle.check.touch";
static const char unset_name[] = "heddle.check.unset";
static const char pass_name[] = "heddle.check.pass";
static const char table_name[] = "heddle.check.sites";
static const char ours[] = "heddle.check."; // what variables are called that
                                            // are made here

struct instrument {
    struct hdi_llvm *llvm;
    LLVMModuleRef module;
    LLVMValueRef kernel;
    LLVMBuilderRef builder;
    LLVMTypeRef pointer, i1, i8, i32, i64;
    LLVMTypeRef site, variable; // as in backend/checks.h
};

static struct instrument begin(struct hdi_llvm *llvm, LLVMModuleRef module,
                               LLVMValueRef kernel)
{
    LLVMContextRef c = llvm->context;
    struct instrument in = {
        .llvm = llvm,
        .module = module,
        .kernel = kernel,
        .builder = LLVMCreateBuilderInContext(c),
        .pointer = LLVMPointerTypeInContext(c, 0),
        .i1 = LLVMInt1TypeInContext(c),
        .i8 = LLVMInt8TypeInContext(c),
        .i32 = LLVMInt32TypeInContext(c),
        .i64 = LLVMInt64TypeInContext(c),
    };
    LLVMTypeRef site[] = {in.pointer, in.pointer, in.i32, in.i32,
                          in.i32,     in.i32,     in.i32, in.i32};
    LLVMTypeRef variable[] = {in.pointer, in.i64, in.pointer, in.pointer};
    in.site = LLVMStructTypeInContext(c, site, 8, false);
    in.variable = LLVMStructTypeInContext(c, variable, 4, false);
    return in;
}

static LLVMValueRef call(struct instrument *in, const char *name,
                         LLVMTypeRef result, LLVMValueRef *args, unsigned count)
{
    LLVMTypeRef types[4];
    for (unsigned i = 0; i < count; i++)
        types[i] = LLVMTypeOf(args[i]);
    LLVMTypeRef type = LLVMFunctionType(result, types, count, false);
    LLVMValueRef function = LLVMGetNamedFunction(in->module, name);
    if (!function)
        function = LLVMAddFunction(in->module, name, type);
    return LLVMBuildCall2(in->builder, type, function, args, count, "");
}

static bool is_call_of(LLVMValueRef value, const char *name)
{
    if (!LLVMIsACallInst(value))
        return false;
    LLVMValueRef callee = LLVMGetCalledValue(value);
    return LLVMIsAFunction(callee) && strcmp(hdi_value_name(callee), name) == 0;
}

static bool is_ours(LLVMValueRef value)
{
    const char *name = hdi_value_name(value);
    return strncmp(name, ours, sizeof(ours) - 1) == 0 ||
           (LLVMIsAAllocaInst(value) && strstr(name, ".reg2mem"));
}

// Stand before an instruction, on its line.
static void stand_before(struct instrument *in, LLVMValueRef instruction)
{
    LLVMPositionBuilderBefore(in->builder, instruction);
    LLVMSetCurrentDebugLocation2(in->builder,
                                 LLVMInstructionGetDebugLoc(instruction));
}

static LLVMValueRef flat_pointer(struct instrument *in, LLVMValueRef pointer)
{
    if (LLVMGetPointerAddressSpace(LLVMTypeOf(pointer)) == 0)
        return pointer;
    return LLVMBuildAddrSpaceCast(in->builder, pointer, in->pointer, "");
}

// Sites -----------------------------------------------------------------------

// The table grows: a new one takes the place of the old.
static LLVMValueRef add_site(struct instrument *in, LLVMValueRef *fields)
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

static LLVMValueRef text(struct instrument *in, const char *from, size_t size)
{
    LLVMValueRef string = LLVMConstStringInContext(in->llvm->context, from,
                                                   (unsigned)size, false);
    for (LLVMValueRef g = LLVMGetFirstGlobal(in->module); g;
         g = LLVMGetNextGlobal(g))
        if (LLVMGetLinkage(g) == LLVMPrivateLinkage &&
            LLVMGetInitializer(g) == string && is_ours(g))
            return g;
    LLVMValueRef global =
        LLVMAddGlobal(in->module, LLVMTypeOf(string), "heddle.check.text");
    LLVMSetInitializer(global, string);
    LLVMSetLinkage(global, LLVMPrivateLinkage);
    LLVMSetGlobalConstant(global, true);
    return global;
}

static LLVMValueRef new_site(struct instrument *in, LLVMValueRef instruction,
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

static LLVMValueRef origin(LLVMValueRef pointer)
{
    for (;;) {
        bool steps =
            LLVMIsAInstruction(pointer) || LLVMIsAConstantExpr(pointer);
        if (!steps)
            return pointer;
        LLVMOpcode opcode = LLVMIsAInstruction(pointer)
                                ? LLVMGetInstructionOpcode(pointer)
                                : LLVMGetConstOpcode(pointer);
        if (opcode != LLVMGetElementPtr && opcode != LLVMAddrSpaceCast &&
            opcode != LLVMBitCast)
            return pointer;
        pointer = LLVMGetOperand(pointer, 0);
    }
}

// Fill in the description of a variable, at the builder's point.
static void describe(struct instrument *in, LLVMValueRef description,
                     LLVMValueRef variable, LLVMValueRef size,
                     LLVMValueRef written)
{
    LLVMValueRef fields[3] = {flat_pointer(in, variable), size, written};

    for (unsigned i = 0; i < 3; i++)
        LLVMBuildStore(
            in->builder, fields[i],
            LLVMBuildStructGEP2(in->builder, in->variable, description, i, ""));
}

// After the allocas of the entry block.
static LLVMValueRef entry_point(LLVMValueRef kernel)
{
    LLVMValueRef i = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(kernel));
    while (LLVMIsAAllocaInst(i))
        i = LLVMGetNextInstruction(i);
    return i;
}

// Accesses --------------------------------------------------------------------

struct access {
    LLVMValueRef pointer;
    unsigned operand;  // which it is of the instruction
    LLVMValueRef size; // i64 [bytes]
    unsigned kind;     // HDI_ACCESS_*; 0: none
};

static LLVMValueRef size_of(struct instrument *in, LLVMTypeRef type)
{
    return LLVMConstInt(in->i64, LLVMStoreSizeOfType(in->llvm->layout, type),
                        false);
}

static struct access access_of(struct instrument *in, LLVMValueRef i,
                               unsigned operand, unsigned kind,
                               LLVMTypeRef type)
{
    return (struct access){LLVMGetOperand(i, operand), operand,
                           size_of(in, type), kind};
}

static unsigned atomic(LLVMValueRef i)
{
    return LLVMGetOrdering(i) != LLVMAtomicOrderingNotAtomic ? HDI_ACCESS_ATOMIC
                                                             : 0;
}

static bool is_intrinsic(LLVMValueRef i, const char *name)
{
    if (!LLVMIsACallInst(i))
        return false;
    LLVMValueRef f = LLVMGetCalledValue(i);
    return LLVMIsAFunction(f) &&
           strncmp(hdi_value_name(f), name, strlen(name)) == 0;
}

static bool is_move(LLVMValueRef i)
{
    return is_intrinsic(i, "llvm.memcpy") || is_intrinsic(i, "llvm.memmove");
}

// The `index`th access of an instruction; the last has kind 0.
static struct access find_access(struct instrument *in, LLVMValueRef i,
                                 unsigned index)
{
    if (is_move(i) || is_intrinsic(i, "llvm.memset")) {
        if (index > (unsigned)is_move(i))
            return (struct access){0};
        return (struct access){
            LLVMGetOperand(i, index), index, LLVMGetOperand(i, 2),
            HDI_ACCESS_COPY |
                (index == 0 ? HDI_ACCESS_WRITE : HDI_ACCESS_READ)};
    }
    if (index > 0)
        return (struct access){0};
    if (LLVMIsALoadInst(i))
        return access_of(in, i, 0, HDI_ACCESS_READ | atomic(i), LLVMTypeOf(i));
    if (LLVMIsAStoreInst(i))
        return access_of(in, i, 1, HDI_ACCESS_WRITE | atomic(i),
                         LLVMTypeOf(LLVMGetOperand(i, 0)));
    if (LLVMIsAAtomicRMWInst(i) || LLVMIsAAtomicCmpXchgInst(i))
        return access_of(in, i, 0,
                         HDI_ACCESS_READ | HDI_ACCESS_WRITE | HDI_ACCESS_ATOMIC,
                         LLVMTypeOf(LLVMGetOperand(i, 1)));
    return (struct access){0};
}

// Lead an access through the checker. A copy that must not happen has no size
// then.
static void lead(struct instrument *in, LLVMValueRef i,
                 const struct access *access, LLVMValueRef site,
                 LLVMValueRef variable)
{
    stand_before(in, i);
    LLVMValueRef size = LLVMBuildZExt(in->builder, access->size, in->i64, "");
    LLVMValueRef args[4] = {flat_pointer(in, access->pointer), size, site,
                            variable ? variable : LLVMConstNull(in->pointer)};
    LLVMValueRef safe = call(in, touch_name, in->pointer, args, 4);
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
            is_intrinsic(i, "llvm.lifetime.");
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
static void guard_read(struct instrument *in, LLVMValueRef load,
                       LLVMValueRef flag, const char *name)
{
    LLVMContextRef c = in->llvm->context;
    LLVMMetadataRef line = LLVMInstructionGetDebugLoc(load);
    LLVMValueRef site =
        new_site(in, load, HDI_ACCESS_READ, HDI_OBJECT_PRIVATE, 0, name);

    stand_before(in, load);
    LLVMValueRef set = LLVMBuildLoad2(in->builder, in->i1, flag, "");
    LLVMBasicBlockRef before = LLVMGetInstructionParent(load);
    LLVMBasicBlockRef after = hdi_block_split(c, in->builder, load, "");
    LLVMBasicBlockRef tell = LLVMAppendBasicBlockInContext(c, in->kernel, "");
    LLVMInstructionEraseFromParent(LLVMGetBasicBlockTerminator(before));
    hdi_build_at_end(in->builder, before);
    LLVMBuildCondBr(in->builder, set, after, tell);
    hdi_build_at_end(in->builder, tell);
    LLVMSetCurrentDebugLocation2(in->builder, line);
    call(in, unset_name, LLVMVoidTypeInContext(c), &site, 1);
    LLVMBuildBr(in->builder, after);
}

static void flag_variable(struct instrument *in, LLVMValueRef variable)
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
    LLVMPositionBuilderBefore(in->builder, entry_point(in->kernel));
    LLVMBuildStore(in->builder, no, flag);
    for (LLVMUseRef u = LLVMGetFirstUse(variable), next; u; u = next) {
        LLVMValueRef i = LLVMGetUser(u);
        next = LLVMGetNextUse(u);
        stand_before(in, i);
        if (LLVMIsAStoreInst(i))
            LLVMBuildStore(in->builder, yes, flag);
        else if (is_intrinsic(i, "llvm.lifetime.start"))
            LLVMBuildStore(in->builder, no, flag);
        else if (LLVMIsALoadInst(i) && !is_for_parts(i))
            guard_read(in, i, flag, name);
    }
}

// Follow pointers that are made from a variable to what uses them.
static void lead_uses(struct instrument *in, LLVMValueRef pointer,
                      LLVMValueRef description, const char *name)
{
    for (LLVMUseRef u = LLVMGetFirstUse(pointer), next; u; u = next) {
        LLVMValueRef i = LLVMGetUser(u);
        next = LLVMGetNextUse(u);
        if (!LLVMIsAInstruction(i))
            continue;
        if (i != pointer && origin(i) != i) {
            lead_uses(in, i, description, name);
            continue;
        }
        for (unsigned a = 0;; a++) {
            struct access access = find_access(in, i, a);
            if (access.kind == 0)
                break;
            if (access.pointer != pointer)
                continue;
            lead(in, i, &access,
                 new_site(in, i, access.kind, HDI_OBJECT_PRIVATE, 0, name),
                 description);
        }
    }
}

// Whenever the variable comes to life it has no value.
static void clear_at_start(struct instrument *in, LLVMValueRef variable,
                           LLVMValueRef written, LLVMValueRef size)
{
    LLVMValueRef zero = LLVMConstInt(in->i8, 0, false);

    for (LLVMUseRef u = LLVMGetFirstUse(variable), next; u; u = next) {
        LLVMValueRef i = LLVMGetUser(u);
        next = LLVMGetNextUse(u);
        if (!is_intrinsic(i, "llvm.lifetime."))
            continue;
        LLVMPositionBuilderBefore(in->builder, i);
        LLVMSetCurrentDebugLocation2(in->builder, NULL);
        if (is_intrinsic(i, "llvm.lifetime.start"))
            LLVMBuildMemSet(in->builder, written, zero, size, 1);
        // Its description tells of it as long as the work-item lives.
        LLVMInstructionEraseFromParent(i);
    }
}

static void describe_variable(struct instrument *in, LLVMValueRef variable)
{
    LLVMTypeRef type = LLVMGetAllocatedType(variable);
    uint64_t bytes = LLVMABISizeOfType(in->llvm->layout, type);
    LLVMValueRef size = LLVMConstInt(in->i64, bytes, false);
    LLVMValueRef zero = LLVMConstInt(in->i8, 0, false);

    LLVMPositionBuilderBefore(in->builder, entry_point(in->kernel));
    LLVMSetCurrentDebugLocation2(in->builder, NULL);
    LLVMValueRef written = LLVMBuildAlloca(
        in->builder, LLVMArrayType2(in->i8, bytes), "heddle.check.written");
    LLVMValueRef d =
        LLVMBuildAlloca(in->builder, in->variable, "heddle.check.variable");
    clear_at_start(in, variable, written, size);
    lead_uses(in, variable, d, hdi_value_name(variable));

    LLVMPositionBuilderBefore(in->builder, entry_point(in->kernel));
    LLVMSetCurrentDebugLocation2(in->builder, NULL);
    LLVMBuildMemSet(in->builder, written, zero, size, 1);
    describe(in, d, variable, size, written);
    call(in, declare_name, LLVMVoidTypeInContext(in->llvm->context), &d, 1);
}

// Allocas first, whatever stood between them.
static void gather_variables(struct instrument *in)
{
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(in->kernel);

    for (LLVMValueRef i = entry_point(in->kernel), next; i; i = next) {
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
    struct instrument in = begin(llvm, module, kernel);

    gather_variables(&in);
    for (LLVMValueRef
             i = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(kernel)),
             next;
         LLVMIsAAllocaInst(i); i = next) {
        next = LLVMGetNextInstruction(i);
        if (is_ours(i))
            continue;
        if (is_whole(i))
            flag_variable(&in, i);
        else
            describe_variable(&in, i);
    }
    LLVMPositionBuilderBefore(in.builder, entry_point(kernel));
    LLVMSetCurrentDebugLocation2(in.builder, NULL);
    call(&in, start_name, LLVMVoidTypeInContext(llvm->context), NULL, 0);
    LLVMDisposeBuilder(in.builder);
}

// Memory ----------------------------------------------------------------------

// The instruction after the call that starts the work-item.
static LLVMValueRef behind_start(const struct instrument *in)
{
    LLVMValueRef i =
        LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(in->kernel));
    while (!is_call_of(i, start_name))
        i = LLVMGetNextInstruction(i);
    return LLVMGetNextInstruction(i);
}

// Where a variable at program scope, or a local one, is described; once.
static LLVMValueRef describe_global(struct instrument *in,
                                    struct hdi_map *descriptions,
                                    LLVMValueRef global)
{
    LLVMValueRef d = hdi_map_get(descriptions, global);
    if (d)
        return d;
    uint64_t size =
        LLVMABISizeOfType(in->llvm->layout, LLVMGlobalGetValueType(global));
    LLVMPositionBuilderBefore(in->builder, entry_point(in->kernel));
    LLVMSetCurrentDebugLocation2(in->builder, NULL);
    d = LLVMBuildAlloca(in->builder, in->variable, "heddle.check.variable");
    LLVMPositionBuilderBefore(in->builder, entry_point(in->kernel));
    describe(in, d, global, LLVMConstInt(in->i64, size, false),
             LLVMConstNull(in->pointer));
    hdi_map_set(descriptions, global, d);
    return d;
}

// A pointer whose origin is not known may lead to any variable of the program.
static void declare_globals(struct instrument *in, struct hdi_map *descriptions)
{
    for (LLVMValueRef g = LLVMGetFirstGlobal(in->module); g;
         g = LLVMGetNextGlobal(g)) {
        unsigned space = LLVMGetPointerAddressSpace(LLVMTypeOf(g));
        if (is_ours(g) || space == HDI_SPACE_LOCAL || !LLVMGetFirstUse(g))
            continue;
        LLVMValueRef d = describe_global(in, descriptions, g);
        // Behind what fills it in, and behind the start of the work-item.
        LLVMPositionBuilderBefore(in->builder, behind_start(in));
        LLVMSetCurrentDebugLocation2(in->builder, NULL);
        call(in, declare_name, LLVMVoidTypeInContext(in->llvm->context), &d, 1);
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

static void lead_access(struct instrument *in, struct hdi_map *descriptions,
                        LLVMValueRef i, const struct access *access)
{
    LLVMValueRef from = origin(access->pointer), description = NULL;
    enum hdi_object object = HDI_OBJECT_UNKNOWN;
    unsigned number = 0;
    const char *name = "";

    if (is_call_of(from, touch_name) || is_ours(from))
        return;
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
    lead(in, i, access, new_site(in, i, access->kind, object, number, name),
         description);
}

hd_status hdi_instrument_memory(struct hdi_llvm *llvm, LLVMModuleRef module,
                                LLVMValueRef kernel, struct hd_error *error)
{
    struct instrument in = begin(llvm, module, kernel);
    struct hdi_map descriptions = {0};

    declare_globals(&in, &descriptions);
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(kernel); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b), next; i; i = next) {
            next = LLVMGetNextInstruction(i);
            if (hdi_call_kind(i) == HDI_CALL_BARRIER) {
                stand_before(&in, next);
                call(&in, pass_name, LLVMVoidTypeInContext(llvm->context), NULL,
                     0);
                continue;
            }
            for (unsigned a = 0;; a++) {
                struct access access = find_access(&in, i, a);
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

// Completion ------------------------------------------------------------------

static LLVMValueRef load_at(struct instrument *in, LLVMValueRef base,
                            size_t offset)
{
    LLVMValueRef at = LLVMConstInt(in->i64, offset, false);
    return LLVMBuildLoad2(
        in->builder, in->pointer,
        LLVMBuildInBoundsGEP2(in->builder, in->i8, base, &at, 1, ""), "");
}

// A placeholder becomes a call of entry `offset` of the table, with the
// work-item before its own arguments.
static void complete(struct instrument *in, LLVMValueRef placeholder,
                     LLVMValueRef item, LLVMValueRef table, size_t offset)
{
    LLVMValueRef args[5] = {item};
    LLVMTypeRef types[5] = {in->pointer};
    unsigned count = LLVMGetNumArgOperands(placeholder);

    for (unsigned i = 0; i < count; i++) {
        args[i + 1] = LLVMGetOperand(placeholder, i);
        types[i + 1] = LLVMTypeOf(args[i + 1]);
    }
    stand_before(in, placeholder);
    LLVMValueRef made = LLVMBuildCall2(
        in->builder,
        LLVMFunctionType(LLVMTypeOf(placeholder), types, count + 1, false),
        load_at(in, table, offset), args, count + 1, "");
    LLVMReplaceAllUsesWith(placeholder, made);
    LLVMInstructionEraseFromParent(placeholder);
}

bool hdi_instrument_lower(struct hdi_llvm *llvm, LLVMModuleRef module,
                          LLVMValueRef function, LLVMValueRef item,
                          LLVMValueRef first)
{
    static const struct {
        const char *name;
        size_t offset;
    } calls[] = {{start_name, offsetof(struct hdi_checks, start)},
                 {declare_name, offsetof(struct hdi_checks, declare)},
                 {touch_name, offsetof(struct hdi_checks, touch)},
                 {unset_name, offsetof(struct hdi_checks, unset)},
                 {pass_name, offsetof(struct hdi_checks, pass)}};
    struct instrument in;

    if (!LLVMGetNamedFunction(module, start_name))
        return false;
    in = begin(llvm, module, function);
    LLVMPositionBuilderBefore(in.builder, first);
    LLVMSetCurrentDebugLocation2(in.builder, NULL);
    LLVMValueRef frame = load_at(&in, item, offsetof(struct hdi_item, frame));
    LLVMValueRef table =
        load_at(&in, frame, offsetof(struct hdi_frame, checks));
    for (size_t c = 0; c < sizeof(calls) / sizeof(calls[0]); c++) {
        LLVMValueRef placeholder = LLVMGetNamedFunction(module, calls[c].name);
        if (!placeholder)
            continue;
        LLVMUseRef use;
        while ((use = LLVMGetFirstUse(placeholder)))
            complete(&in, LLVMGetUser(use), item, table, calls[c].offset);
        LLVMDeleteFunction(placeholder);
    }
    LLVMDisposeBuilder(in.builder);
    return true;
}
