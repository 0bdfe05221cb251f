#include "kernel/compiler/prepare/prepare.h"

#include <llvm-c/Transforms/PassBuilder.h>
#include <string.h>

#include "backend/frame.h"
#include "base/error.h"
#include "kernel/compiler/prepare/images.h"
#include "kernel/compiler/prepare/legal.h"
#include "kernel/compiler/prepare/library.h"
#include "kernel/compiler/prepare/relaxed.h"
#include "kernel/compiler/prepare/total.h"
#include "kernel/compiler/prepare/truncate.h"

bool hdi_is_kernel(LLVMValueRef function)
{
    return !LLVMIsDeclaration(function) &&
           LLVMGetFunctionCallConv(function) == LLVMSPIRKERNELCallConv;
}

bool hdi_is_program_variable(LLVMValueRef global)
{
    return LLVMGetPointerAddressSpace(LLVMTypeOf(global)) == HDI_SPACE_GLOBAL &&
           LLVMGetInitializer(global);
}

// Every kernel becomes an object of its own, and the linker keeps one variable
// of each name. With a prefix, it cannot stand for a function of the C library.
static void share(LLVMValueRef variable)
{
    struct hdi_text name = {0};

    hdi_text_print(&name, "hdg_%s", hdi_value_name(variable));
    if (!name.failed)
        LLVMSetValueName2(variable, name.data, name.size);
    hdi_text_free(&name);
    LLVMSetLinkage(variable, LLVMLinkOnceAnyLinkage);
    LLVMSetVisibility(variable, LLVMHiddenVisibility);
}

hd_status hdi_prepare_program(struct hdi_llvm *llvm, const void *bitcode,
                              size_t size, LLVMModuleRef *module,
                              struct hd_error *error)
{
    LLVMModuleRef m;

    HDI_TRY(hdi_library_parse(llvm, bitcode, size, false, &m, error));
    hd_status status = hdi_images_lower(llvm, &m, error);
    LLVMValueRef print = LLVMGetNamedFunction(m, "printf");
    if (print)
        LLVMSetValueName2(print, HDI_PRINT_NAME, sizeof(HDI_PRINT_NAME) - 1);
    hdi_relaxed_calls(llvm, m);
    if (status == HD_OK)
        status = hdi_library_link(llvm, m, error);
    if (status == HD_OK)
        status = hdi_legal_check(llvm, m, error);
    if (status != HD_OK) {
        LLVMDisposeModule(m);
        return status;
    }
    hdi_total_make(llvm, m);

    // A local variable looks like memory of this one work-item to LLVM. Visible
    // from outside, it may be changed by any call, so by a barrier.
    for (LLVMValueRef g = LLVMGetFirstGlobal(m); g; g = LLVMGetNextGlobal(g))
        if (LLVMGetPointerAddressSpace(LLVMTypeOf(g)) == HDI_SPACE_LOCAL) {
            LLVMSetLinkage(g, LLVMExternalLinkage);
            LLVMSetInitializer(g, NULL);
        } else if (hdi_is_program_variable(g)) {
            share(g);
        }
    *module = m;
    return HD_OK;
}

// Kernels are called with the structure in memory that all work-items share,
// but each owns its parameters.
void hdi_prepare_structures(struct hdi_llvm *llvm, LLVMBuilderRef builder,
                            LLVMValueRef kernel)
{
    unsigned byval = LLVMGetEnumAttributeKindForName("byval", 5);
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(kernel);

    for (unsigned i = 0; i < LLVMCountParams(kernel); i++) {
        LLVMAttributeRef attribute =
            LLVMGetEnumAttributeAtIndex(kernel, i + 1, byval);
        if (!attribute)
            continue;
        LLVMTypeRef type = LLVMGetTypeAttributeValue(attribute);
        LLVMValueRef parameter = LLVMGetParam(kernel, i);

        LLVMPositionBuilderBefore(builder, LLVMGetFirstInstruction(entry));
        LLVMSetCurrentDebugLocation2(builder, NULL);
        LLVMValueRef copy = LLVMBuildAlloca(builder, type, "");
        LLVMSetAlignment(copy, LLVMABIAlignmentOfType(llvm->layout, type));
        LLVMReplaceAllUsesWith(parameter, copy);
        // Packed arguments are aligned to 8 at least.
        unsigned align = LLVMABIAlignmentOfType(llvm->layout, type);
        LLVMBuildMemCpy(builder, copy, align, parameter, align < 8 ? align : 8,
                        LLVMConstInt(LLVMInt64TypeInContext(llvm->context),
                                     LLVMABISizeOfType(llvm->layout, type),
                                     false));
        LLVMRemoveEnumAttributeAtIndex(kernel, i + 1, byval);
    }
}

// Make every function but the kernel disappear into its callers.
void hdi_prepare_inlining(LLVMModuleRef module, LLVMValueRef kernel)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f)) {
        if (LLVMGetIntrinsicID(f) != 0)
            continue;
        LLVMSetFunctionCallConv(f, LLVMCCallConv);
        for (LLVMUseRef u = LLVMGetFirstUse(f); u; u = LLVMGetNextUse(u))
            if (LLVMIsACallInst(LLVMGetUser(u)))
                LLVMSetInstructionCallConv(LLVMGetUser(u), LLVMCCallConv);
        if (LLVMIsDeclaration(f))
            continue;
        hdi_function_flag(f, "noinline", false);
        hdi_function_flag(f, "optnone", false);
        if (f == kernel)
            continue;
        hdi_function_flag(f, "alwaysinline", !hdi_is_step(f));
        LLVMSetLinkage(f, LLVMInternalLinkage);
    }
}

hd_status hdi_prepare_part(struct hdi_llvm *llvm, LLVMModuleRef program,
                           size_t first, size_t count, LLVMModuleRef *part,
                           struct hd_error *error)
{
    LLVMModuleRef m = LLVMCloneModule(program);
    size_t at = 0;

    for (LLVMValueRef f = LLVMGetFirstFunction(m); f;
         f = LLVMGetNextFunction(f))
        if (hdi_is_kernel(f) && at++ - first >= count)
            LLVMSetLinkage(f, LLVMInternalLinkage);
    hd_status status = hdi_llvm_passes(llvm, m, "globaldce", error);
    if (status == HD_OK)
        *part = m;
    else
        LLVMDisposeModule(m);
    return status;
}

// An access through a generic pointer to what is known to be local memory is
// one of local memory.
static void name_space(LLVMValueRef access)
{
    unsigned operand = LLVMIsAStoreInst(access) != NULL;
    bool atomic =
        LLVMIsAAtomicRMWInst(access) || LLVMIsAAtomicCmpXchgInst(access);
    if (!operand && !atomic && !LLVMIsALoadInst(access))
        return;
    LLVMValueRef pointer = LLVMGetOperand(access, operand);
    bool cast = LLVMIsAAddrSpaceCastInst(pointer) ||
                (LLVMIsAConstantExpr(pointer) &&
                 LLVMGetConstOpcode(pointer) == LLVMAddrSpaceCast);
    if (cast)
        LLVMSetOperand(access, operand, LLVMGetOperand(pointer, 0));
}

void hdi_prepare_calls(struct hdi_llvm *llvm, LLVMBuilderRef builder,
                       LLVMValueRef kernel)
{
    unsigned lifetime_start = LLVMLookupIntrinsicID("llvm.lifetime.start", 19);
    unsigned lifetime_end = LLVMLookupIntrinsicID("llvm.lifetime.end", 17);

    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(kernel); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b), next; i; i = next) {
            next = LLVMGetNextInstruction(i);
            name_space(i);
            enum hdi_call kind = hdi_call_kind(i);
            if (kind == HDI_CALL_GLOBAL_ID || kind == HDI_CALL_LOCAL_ID) {
                hdi_truncate_ids(builder, llvm->context, i);
                next = LLVMGetNextInstruction(i);
            }
            if (!LLVMIsACallInst(i) || !LLVMIsAFunction(LLVMGetCalledValue(i)))
                continue;
            // Private arrays become memory that work-items share out.
            unsigned id = LLVMGetIntrinsicID(LLVMGetCalledValue(i));
            if (id != 0 && (id == lifetime_start || id == lifetime_end))
                LLVMInstructionEraseFromParent(i);
        }
}

// No kernel writes constant memory while one reads it.
void hdi_prepare_constants(struct hdi_llvm *llvm, LLVMValueRef kernel)
{
    unsigned kind = LLVMGetMDKindIDInContext(llvm->context, "invariant.load",
                                             strlen("invariant.load"));
    LLVMValueRef nothing = LLVMMetadataAsValue(
        llvm->context, LLVMMDNodeInContext2(llvm->context, NULL, 0));

    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(kernel); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i))
            if (LLVMIsALoadInst(i) &&
                LLVMGetPointerAddressSpace(LLVMTypeOf(LLVMGetOperand(i, 0))) ==
                    HDI_SPACE_CONSTANT)
                LLVMSetMetadata(i, kind, nothing);
}

// From `begin` to before `end`.
static LLVMValueRef range_of(const struct hdi_llvm *llvm, uint64_t begin,
                             uint64_t end)
{
    LLVMTypeRef type = LLVMInt64TypeInContext(llvm->context);
    LLVMMetadataRef bounds[2] = {
        LLVMValueAsMetadata(LLVMConstInt(type, begin, false)),
        LLVMValueAsMetadata(LLVMConstInt(type, end, false))};

    return LLVMMetadataAsValue(llvm->context,
                               LLVMMDNodeInContext2(llvm->context, bounds, 2));
}

// Local ids and sizes are small: what is computed of them in 32 bits can then
// be computed in 64 without casts, which would hide that neighbours are side by
// side.
void hdi_prepare_ids(struct hdi_llvm *llvm, LLVMValueRef kernel)
{
    LLVMValueRef id = range_of(llvm, 0, HDI_GROUP_ITEMS);
    LLVMValueRef size = range_of(llvm, 1, HDI_GROUP_ITEMS + 1);
    unsigned kind =
        LLVMGetMDKindIDInContext(llvm->context, "range", strlen("range"));

    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(kernel); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i)) {
            enum hdi_call call = hdi_call_kind(i);
            if (call == HDI_CALL_LOCAL_ID)
                LLVMSetMetadata(i, kind, id);
            else if (call == HDI_CALL_LOCAL_SIZE ||
                     call == HDI_CALL_ENQUEUED_LOCAL_SIZE)
                LLVMSetMetadata(i, kind, size);
        }
}

// Whether a comparison asks what was read, itself or through a few operations.
static bool is_compared(LLVMValueRef value, unsigned depth)
{
    for (LLVMUseRef u = LLVMGetFirstUse(value); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef x = LLVMGetUser(u);
        if (LLVMIsACmpInst(x) ||
            (depth > 0 && (LLVMIsABinaryOperator(x) || LLVMIsACastInst(x)) &&
             is_compared(x, depth - 1)))
            return true;
    }
    return false;
}

// A load or store of local memory that is volatile.
static bool is_volatile_local(LLVMValueRef x)
{
    bool store = LLVMIsAStoreInst(x) != NULL;

    return (store || LLVMIsALoadInst(x)) && LLVMGetVolatile(x) &&
           LLVMGetPointerAddressSpace(LLVMTypeOf(LLVMGetOperand(x, store))) ==
               HDI_SPACE_LOCAL;
}

// Work-items that write, read again and go by what they find look for what
// others wrote between: that stays as it is written.
static bool asks_others(LLVMValueRef kernel)
{
    enum {
        DEPTH = 4
    };
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(kernel); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i))
            if (LLVMIsALoadInst(i) && is_volatile_local(i) &&
                is_compared(i, DEPTH))
                return true;
    return false;
}

// A load or store of a private variable itself that is volatile.
static bool is_volatile_private(LLVMValueRef x)
{
    bool store = LLVMIsAStoreInst(x) != NULL;

    return (store || LLVMIsALoadInst(x)) && LLVMGetVolatile(x) &&
           LLVMIsAAllocaInst(LLVMGetOperand(x, store));
}

// Nobody sees how often a work-item touches a variable of its own: it can
// become a value.
void hdi_prepare_private(LLVMValueRef kernel)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(kernel); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i))
            if (is_volatile_private(i))
                LLVMSetVolatile(i, false);
}

// One thread runs the group, so that nobody else sees in which order, or how
// often, it touches local memory between two barriers.
void hdi_prepare_local(LLVMValueRef kernel)
{
    if (asks_others(kernel))
        return;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(kernel); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i))
            if (is_volatile_local(i))
                LLVMSetVolatile(i, false);
}

void hdi_prepare_vectors(struct hdi_llvm *llvm, LLVMValueRef kernel)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(kernel); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i)) {
            bool store = LLVMIsAStoreInst(i) != NULL;
            if (!store && !LLVMIsALoadInst(i))
                continue;
            LLVMTypeRef type = LLVMTypeOf(store ? LLVMGetOperand(i, 0) : i);
            if (LLVMGetTypeKind(type) != LLVMVectorTypeKind ||
                LLVMIsAAllocaInst(LLVMGetOperand(i, store)))
                continue;
            unsigned align =
                LLVMABIAlignmentOfType(llvm->layout, LLVMGetElementType(type));
            if (align < LLVMGetAlignment(i))
                LLVMSetAlignment(i, align);
        }
}

// A copy by the group is over when its function returns, so that events say
// nothing, and no processor has a register for one: none is kept.
void hdi_prepare_events(LLVMValueRef kernel)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(kernel); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b), next; i; i = next) {
            next = LLVMGetNextInstruction(i);
            bool store = LLVMIsAStoreInst(i) != NULL;
            LLVMTypeRef type = LLVMTypeOf(store ? LLVMGetOperand(i, 0) : i);
            if (LLVMGetTypeKind(type) != LLVMTargetExtTypeKind)
                continue;
            if (!store)
                LLVMReplaceAllUsesWith(i, LLVMConstNull(type));
            LLVMInstructionEraseFromParent(i);
        }
}

// Calls of the builtin that does nothing stay, for the instrumentation.
void hdi_prepare_visits(LLVMModuleRef module)
{
    LLVMValueRef visit = LLVMGetNamedFunction(module, HDI_VISIT_NAME);

    if (!visit)
        return;
    LLVMValueRef kept =
        LLVMAddFunction(module, "", LLVMGlobalGetValueType(visit));
    LLVMReplaceAllUsesWith(visit, kept);
    LLVMDeleteFunction(visit);
    LLVMSetValueName2(kept, HDI_VISIT_NAME, sizeof(HDI_VISIT_NAME) - 1);
}
