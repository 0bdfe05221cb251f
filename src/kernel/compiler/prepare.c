#include "kernel/compiler/prepare.h"

#include <ctype.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/Linker.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdlib.h>
#include <string.h>

#include "backend/frame.h"
#include "base/error.h"
#include "kernel/compiler/builtins.h"
#include "kernel/compiler/images.h"
#include "kernel/compiler/instrument.h"
#include "kernel/compiler/map.h"
#include "kernel/compiler/narrow.h"
#include "kernel/compiler/screen.h"

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

// A lazy module is read function by function as they are linked; it lacks
// metadata before.
static hd_status parse(struct hdi_llvm *llvm, const void *bitcode, size_t size,
                       bool lazy, LLVMModuleRef *module, struct hd_error *error)
{
    // The buffer is copied: a lazy module owns its buffer.
    LLVMMemoryBufferRef buffer =
        LLVMCreateMemoryBufferWithMemoryRangeCopy(bitcode, size, "bitcode");
    bool failed =
        lazy ? LLVMGetBitcodeModuleInContext2(llvm->context, buffer, module)
             : LLVMParseBitcodeInContext2(llvm->context, buffer, module);
    if (failed || !lazy)
        LLVMDisposeMemoryBuffer(buffer);
    if (failed)
        return hdi_fail(error, HD_EBUILD, "%s: bitcode cannot be read",
                        llvm->path);
    LLVMSetTarget(*module, llvm->triple);
    LLVMSetModuleDataLayout(*module, llvm->layout);
    return HD_OK;
}

// Link what `module` uses of a part of the builtins, and what that uses.
static hd_status link_part(struct hdi_llvm *llvm, LLVMModuleRef module,
                           const struct hdi_builtins *part,
                           struct hd_error *error)
{
    LLVMModuleRef library;

    HDI_TRY(parse(llvm, part->data, part->size, true, &library, error));
    // The linker reads and copies what has this linkage only when it is used; a
    // function of the user's with that name takes precedence.
    for (LLVMValueRef f = LLVMGetFirstFunction(library); f;
         f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f) && LLVMGetLinkage(f) == LLVMExternalLinkage)
            LLVMSetLinkage(f, LLVMLinkOnceODRLinkage);
    for (LLVMValueRef g = LLVMGetFirstGlobal(library); g;
         g = LLVMGetNextGlobal(g))
        if (!LLVMIsDeclaration(g) && LLVMGetLinkage(g) == LLVMExternalLinkage)
            LLVMSetLinkage(g, LLVMLinkOnceODRLinkage);
    if (LLVMLinkModules2(module, library))
        return hdi_fail(error, HD_EBUILD, "%s: builtins cannot be linked",
                        llvm->path);
    return HD_OK;
}

static bool is_missing(LLVMValueRef function)
{
    return LLVMIsDeclaration(function) && LLVMGetFirstUse(function) &&
           LLVMGetIntrinsicID(function) == 0;
}

// Part by part: what one brings along may need another.
static hd_status link_builtins(struct hdi_llvm *llvm, LLVMModuleRef module,
                               struct hd_error *error)
{
    struct hdi_builtins part;
    LLVMValueRef f = LLVMGetFirstFunction(module);

    while (f) {
        if (!is_missing(f) || !hdi_builtins_find(hdi_value_name(f), &part)) {
            f = LLVMGetNextFunction(f);
            continue;
        }
        HDI_TRY(link_part(llvm, module, &part, error));
        f = LLVMGetFirstFunction(module);
    }
    return HD_OK;
}

// "_Z5clampfff" to "clamp".
static void plain_name(const char *mangled, char *plain, size_t size)
{
    const char *from = mangled;
    size_t length = strlen(mangled);

    if (strncmp(mangled, "_Z", 2) == 0 && isdigit((unsigned char)mangled[2])) {
        char *end;
        length = strtoul(mangled + 2, &end, 10);
        from = end;
        if (length > strlen(from))
            length = strlen(from);
    }
    if (length >= size)
        length = size - 1;
    memcpy(plain, from, length);
    plain[length] = '\0';
}

static hd_status fail_at(const struct hdi_llvm *llvm, LLVMValueRef instruction,
                         struct hd_error *error, const char *what,
                         const char *mangled, const char *advice)
{
    char name[128];
    unsigned size = 0;
    const char *file =
        instruction ? LLVMGetDebugLocFilename(instruction, &size) : NULL;

    plain_name(mangled, name, sizeof(name));
    if (!file || size == 0)
        return hdi_fail(error, HD_EBUILD, "%s: error: %s '%s'%s", llvm->path,
                        what, name, advice);
    unsigned line = LLVMGetDebugLocLine(instruction);
    if (line == 0)
        return hdi_fail(error, HD_EBUILD, "%.*s: error: %s '%s'%s", (int)size,
                        file, what, name, advice);
    return hdi_fail(error, HD_EBUILD, "%.*s:%u: error: %s '%s'%s", (int)size,
                    file, line, what, name, advice);
}

static LLVMValueRef first_call(LLVMValueRef function)
{
    for (LLVMUseRef u = LLVMGetFirstUse(function); u; u = LLVMGetNextUse(u))
        if (LLVMIsACallInst(LLVMGetUser(u)))
            return LLVMGetUser(u);
    return NULL;
}

// An instruction that uses the value, perhaps in an expression; NULL: none.
static LLVMValueRef first_user(LLVMValueRef value)
{
    LLVMValueRef found = NULL;

    for (LLVMUseRef u = LLVMGetFirstUse(value); u && !found;
         u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        found = LLVMIsAInstruction(user) ? user : first_user(user);
    }
    return found;
}

static hd_status check_declared(const struct hdi_llvm *llvm,
                                LLVMModuleRef module, struct hd_error *error)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f)) {
        const char *name = hdi_value_name(f);
        if (!LLVMIsDeclaration(f) || !LLVMGetFirstUse(f) ||
            LLVMGetIntrinsicID(f) != 0 || hdi_call_name_is_known(name))
            continue;
        return fail_at(llvm, first_call(f), error, "call of", name,
                       ", which is neither defined here nor a builtin that "
                       "Heddle has");
    }
    for (LLVMValueRef g = LLVMGetFirstGlobal(module); g;
         g = LLVMGetNextGlobal(g))
        if (LLVMIsDeclaration(g) && LLVMGetFirstUse(g))
            return fail_at(llvm, first_user(g), error, "variable",
                           hdi_value_name(g),
                           " is defined nowhere in the program");
    return HD_OK;
}

static hd_status check_assembly(const struct hdi_llvm *llvm,
                                LLVMModuleRef module, struct hd_error *error)
{
    size_t size;

    LLVMGetModuleInlineAsm(module, &size);
    if (size > 0)
        return hdi_fail(error, HD_EBUILD,
                        "%s: error: assembly is no part of OpenCL C",
                        llvm->path);
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b;
             b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
                 i = LLVMGetNextInstruction(i))
                if (LLVMIsACallInst(i) &&
                    LLVMIsAInlineAsm(LLVMGetCalledValue(i)))
                    return fail_at(llvm, i, error, "assembly in", "asm",
                                   ", which is no part of OpenCL C");
    return HD_OK;
}

enum visit {
    VISIT_OPEN = 1,
    VISIT_DONE
};

// Depth-first over calls; a call of a function that is still open is recursion.
static LLVMValueRef find_recursion(struct hdi_map *seen, LLVMValueRef function)
{
    hdi_map_set_index(seen, function, VISIT_OPEN);
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i)) {
            LLVMValueRef callee =
                LLVMIsACallInst(i) ? LLVMGetCalledValue(i) : NULL;
            if (!callee || !LLVMIsAFunction(callee) ||
                LLVMIsDeclaration(callee))
                continue;
            size_t state = hdi_map_index(seen, callee);
            if (state == VISIT_OPEN)
                return i;
            LLVMValueRef found =
                state == VISIT_DONE ? NULL : find_recursion(seen, callee);
            if (found)
                return found;
        }
    hdi_map_set_index(seen, function, VISIT_DONE);
    return NULL;
}

static hd_status check_recursion(const struct hdi_llvm *llvm,
                                 LLVMModuleRef module, struct hd_error *error)
{
    hd_status status = HD_OK;
    struct hdi_map seen = {0};

    for (LLVMValueRef f = LLVMGetFirstFunction(module); f && status == HD_OK;
         f = LLVMGetNextFunction(f)) {
        if (LLVMIsDeclaration(f) || hdi_map_get(&seen, f))
            continue;
        LLVMValueRef call = find_recursion(&seen, f);
        if (call)
            status = fail_at(llvm, call, error, "recursive call of",
                             hdi_value_name(LLVMGetCalledValue(call)),
                             ": OpenCL C forbids recursion");
    }
    if (seen.failed && status == HD_OK)
        status =
            hdi_fail(error, HD_ENOMEM, "%s: no memory to compile", llvm->path);
    hdi_map_clear(&seen);
    return status;
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

    HDI_TRY(parse(llvm, bitcode, size, false, &m, error));
    hd_status status = hdi_images_lower(llvm, &m, error);
    LLVMValueRef print = LLVMGetNamedFunction(m, "printf");
    if (print)
        LLVMSetValueName2(print, HDI_PRINT_NAME, sizeof(HDI_PRINT_NAME) - 1);
    if (status == HD_OK)
        status = link_builtins(llvm, m, error);
    if (status == HD_OK)
        status = check_assembly(llvm, m, error);
    if (status == HD_OK)
        status = check_declared(llvm, m, error);
    if (status == HD_OK)
        status = check_recursion(llvm, m, error);
    if (status != HD_OK) {
        LLVMDisposeModule(m);
        return status;
    }

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
static void copy_structures(struct hdi_llvm *llvm, LLVMBuilderRef builder,
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

// A step that work-items take one after the other: see builtins/group.cl.
static bool is_step(LLVMValueRef function)
{
    return strncmp(hdi_value_name(function), "hdu_fold_", 9) == 0;
}

// Make every function but the kernel disappear into its callers.
static void mark_for_inlining(LLVMModuleRef module, LLVMValueRef kernel)
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
        hdi_function_flag(f, "alwaysinline", !is_step(f));
        LLVMSetLinkage(f, LLVMInternalLinkage);
    }
}

static bool is_by(LLVMValueRef value, LLVMOpcode code, uint64_t operand)
{
    return LLVMIsAInstruction(value) &&
           LLVMGetInstructionOpcode(value) == code &&
           LLVMIsAConstantInt(LLVMGetOperand(value, 1)) &&
           LLVMConstIntGetZExtValue(LLVMGetOperand(value, 1)) == operand;
}

// By how much a value is shifted right with its sign, 0: it is not.
static uint64_t shift_of(LLVMValueRef value)
{
    return LLVMIsAInstruction(value) &&
                   LLVMGetInstructionOpcode(value) == LLVMAShr &&
                   LLVMIsAConstantInt(LLVMGetOperand(value, 1))
               ? LLVMConstIntGetZExtValue(LLVMGetOperand(value, 1))
               : 0;
}

// (long)(int)get_global_id(0) has become shifts by 32 to and fro, the latter
// less when it is multiplied too, or a mask without a sign: say it as a
// truncation again.
static void restore_truncations(LLVMBuilderRef builder, LLVMContextRef context,
                                LLVMValueRef call)
{
    LLVMTypeRef narrow = LLVMInt32TypeInContext(context);
    LLVMTypeRef long_type = LLVMInt64TypeInContext(context);

    for (LLVMUseRef u = LLVMGetFirstUse(call), next; u; u = next) {
        LLVMValueRef user = LLVMGetUser(u);
        next = LLVMGetNextUse(u);
        bool mask = is_by(user, LLVMAnd, 0xffffffff);
        if (!mask && !is_by(user, LLVMShl, 32))
            continue;
        for (LLVMUseRef v = mask ? u : LLVMGetFirstUse(user), after; v;
             v = after) {
            LLVMValueRef last = mask ? user : LLVMGetUser(v);
            after = mask ? NULL : LLVMGetNextUse(v);
            uint64_t less = mask ? 0 : 32 - shift_of(last);
            if (less > 31)
                continue;
            LLVMPositionBuilderBefore(builder, last);
            LLVMValueRef half = LLVMBuildTrunc(builder, call, narrow, "");
            LLVMValueRef whole =
                mask ? LLVMBuildZExt(builder, half, long_type, "")
                     : LLVMBuildSExt(builder, half, long_type, "");
            if (less > 0) {
                whole = LLVMBuildShl(builder, whole,
                                     LLVMConstInt(long_type, less, false), "");
                LLVMSetNSW(whole, true);
            }
            LLVMReplaceAllUsesWith(last, whole);
            LLVMInstructionEraseFromParent(last);
        }
        if (!mask && !LLVMGetFirstUse(user))
            LLVMInstructionEraseFromParent(user);
    }
}

// int i = get_global_id(0) is a truncation beside the call, never further away:
// the emitter turns the pair into 32-bit arithmetic that cannot wrap.
static void gather_truncations(LLVMBuilderRef builder, LLVMContextRef context,
                               LLVMValueRef call)
{
    LLVMTypeRef narrow = LLVMInt32TypeInContext(context);
    LLVMValueRef one = NULL;

    for (LLVMUseRef u = LLVMGetFirstUse(call), next; u; u = next) {
        LLVMValueRef user = LLVMGetUser(u);
        next = LLVMGetNextUse(u);
        if (!LLVMIsATruncInst(user) || LLVMTypeOf(user) != narrow ||
            user == one)
            continue;
        if (!one) {
            LLVMPositionBuilderBefore(builder, LLVMGetNextInstruction(call));
            one = LLVMBuildTrunc(builder, call, narrow, "");
        }
        LLVMReplaceAllUsesWith(user, one);
        LLVMInstructionEraseFromParent(user);
    }
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

static void tidy_calls(struct hdi_llvm *llvm, LLVMBuilderRef builder,
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
                restore_truncations(builder, llvm->context, i);
                gather_truncations(builder, llvm->context, i);
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
static void mark_constant_loads(struct hdi_llvm *llvm, LLVMValueRef kernel)
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

// Local ids are small: what is computed of them in 32 bits can then be computed
// in 64 without casts, which would hide that neighbours are side by side.
static void limit_ids(struct hdi_llvm *llvm, LLVMValueRef kernel)
{
    LLVMTypeRef type = LLVMInt64TypeInContext(llvm->context);
    LLVMMetadataRef bounds[2] = {
        LLVMValueAsMetadata(LLVMConstNull(type)),
        LLVMValueAsMetadata(LLVMConstInt(type, HDI_GROUP_ITEMS, false))};
    LLVMValueRef range = LLVMMetadataAsValue(
        llvm->context, LLVMMDNodeInContext2(llvm->context, bounds, 2));
    unsigned kind =
        LLVMGetMDKindIDInContext(llvm->context, "range", strlen("range"));

    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(kernel); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i))
            if (hdi_call_kind(i) == HDI_CALL_LOCAL_ID)
                LLVMSetMetadata(i, kind, range);
}

// One thread runs the group, so that nobody sees in which order, or how often,
// it touches local memory between two barriers.
static void calm_local(LLVMValueRef kernel)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(kernel); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i)) {
            bool store = LLVMIsAStoreInst(i) != NULL;
            if ((store || LLVMIsALoadInst(i)) &&
                LLVMGetPointerAddressSpace(
                    LLVMTypeOf(LLVMGetOperand(i, store))) == HDI_SPACE_LOCAL)
                LLVMSetVolatile(i, false);
        }
}

// What makes loops over work-items possible and worth having.
static hd_status simplify(struct hdi_llvm *llvm, LLVMModuleRef module,
                          LLVMBuilderRef builder, LLVMValueRef kernel,
                          struct hd_error *error)
{
    limit_ids(llvm, kernel);
    calm_local(kernel);
    HDI_TRY(hdi_llvm_passes(
        llvm, module,
        "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,"
        "simplifycfg,loop-simplify,lcssa,loop(indvars,loop-unroll-full),"
        "sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg)",
        error));
    mark_constant_loads(llvm, kernel);
    hdi_narrow_vectors(llvm, builder, kernel);
    HDI_TRY(hdi_llvm_passes(llvm, module,
                            "function(scalarizer,early-cse<memssa>,"
                            "instcombine<no-verify-fixpoint>,simplifycfg)",
                            error));
    tidy_calls(llvm, builder, kernel);
    return HD_OK;
}

// A copy by the group is over when its function returns, so that events say
// nothing, and no processor has a register for one: none is kept.
static void drop_events(LLVMValueRef kernel)
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

hd_status hdi_prepare_kernel(struct hdi_llvm *llvm, LLVMModuleRef program,
                             const char *name, LLVMModuleRef *module,
                             LLVMValueRef *kernel, struct hd_error *error)
{
    LLVMModuleRef m = LLVMCloneModule(program);
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(llvm->context);
    LLVMValueRef k = LLVMGetNamedFunction(m, name);

    mark_for_inlining(m, k);
    copy_structures(llvm, builder, k);
    // First what other kernels alone need goes away. Functions lose their
    // variables before they become part of others: promoting them takes the
    // product of variables and blocks.
    hd_status status = hdi_llvm_passes(
        llvm, m,
        llvm->debug ? "globaldce,always-inline,globaldce"
                    : "globaldce,function(sroa),always-inline,globaldce",
        error);
    if (status == HD_OK)
        drop_events(k);
    if (status == HD_OK && !llvm->debug)
        status = simplify(llvm, m, builder, k, error);
    LLVMDisposeBuilder(builder);
    if (status != HD_OK) {
        LLVMDisposeModule(m);
        return status;
    }
    *module = m;
    *kernel = k;
    return HD_OK;
}

// Calls of the builtin that does nothing stay, for the instrumentation.
static void keep_visits(LLVMModuleRef module)
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

hd_status hdi_prepare_checked(struct hdi_llvm *llvm, LLVMModuleRef program,
                              const char *name, LLVMModuleRef *module,
                              LLVMValueRef *kernel, struct hd_error *error)
{
    LLVMModuleRef m = LLVMCloneModule(program);
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(llvm->context);
    LLVMValueRef k = LLVMGetNamedFunction(m, name);

    mark_for_inlining(m, k);
    keep_visits(m);
    copy_structures(llvm, builder, k);
    LLVMDisposeBuilder(builder);
    hd_status status = hdi_llvm_passes(
        llvm, m,
        // Blocks are split, which phi nodes do not follow.
        "globaldce,always-inline,globaldce,function(reg2mem)", error);
    if (status == HD_OK) {
        drop_events(k);
        hdi_instrument_variables(llvm, m, k);
        status = hdi_llvm_passes(llvm, m,
                                 "function(sroa,early-cse<memssa>,"
                                 "instcombine<no-verify-fixpoint>,simplifycfg)",
                                 error);
    }
    if (status == HD_OK)
        status = hdi_instrument_memory(llvm, m, k, error);
    if (status == HD_OK && llvm->screen) {
        LLVMBuilderRef simplifier = LLVMCreateBuilderInContext(llvm->context);
        status = simplify(llvm, m, simplifier, k, error);
        LLVMDisposeBuilder(simplifier);
        hdi_screen_tidy(k);
    }
    if (status != HD_OK) {
        LLVMDisposeModule(m);
        return status;
    }
    *module = m;
    *kernel = k;
    return HD_OK;
}

// Halves --------------------------------------------------------------------

static bool is_half(LLVMValueRef value)
{
    LLVMTypeRef type = LLVMTypeOf(value);

    if (LLVMGetTypeKind(type) == LLVMVectorTypeKind)
        type = LLVMGetElementType(type);
    return LLVMGetTypeKind(type) == LLVMHalfTypeKind;
}

static bool uses_halves(LLVMModuleRef module)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b;
             b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
                 i = LLVMGetNextInstruction(i))
                if (is_half(i) || (LLVMGetNumOperands(i) > 0 &&
                                   is_half(LLVMGetOperand(i, 0))))
                    return true;
    return false;
}

// Processors with F16C alone have instructions for floats, not for doubles.
hd_status hdi_prepare_halves(struct hdi_llvm *llvm, LLVMModuleRef module,
                             struct hd_error *error)
{
    LLVMContextRef c = llvm->context;
    LLVMTypeRef half = LLVMHalfTypeInContext(c),
                single = LLVMFloatTypeInContext(c),
                twice = LLVMDoubleTypeInContext(c);
    const struct {
        const char *name;
        LLVMTypeRef from, to;
    } calls[] = {{"__extendhfsf2", half, single},
                 {"__truncsfhf2", single, half},
                 {"__truncdfhf2", twice, half}};
    struct hdi_builtins part;

    if (strncmp(llvm->triple, "x86_64", 6) != 0 ||
        strstr(llvm->features, "+avx512fp16") || !uses_halves(module))
        return HD_OK;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        LLVMTypeRef from = calls[i].from;
        LLVMTypeRef type = LLVMFunctionType(calls[i].to, &from, 1, false);
        LLVMValueRef f = LLVMGetNamedFunction(module, calls[i].name);

        if (!f)
            LLVMAddFunction(module, calls[i].name, type);
        if ((!f || LLVMIsDeclaration(f)) &&
            hdi_builtins_find(calls[i].name, &part))
            HDI_TRY(link_part(llvm, module, &part, error));
    }
    // Nothing in the module calls them yet; each kernel's has its own.
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        LLVMValueRef f = LLVMGetNamedFunction(module, calls[i].name);
        LLVMSetFunctionCallConv(f, LLVMCCallConv);
        LLVMSetLinkage(f, LLVMWeakODRLinkage);
        LLVMSetVisibility(f, LLVMHiddenVisibility);
    }
    return HD_OK;
}
