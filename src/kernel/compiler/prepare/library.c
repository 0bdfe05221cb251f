#include "kernel/compiler/prepare/library.h"

#include <llvm-c/BitReader.h>
#include <llvm-c/Linker.h>
#include <string.h>

#include "base/error.h"
#include "kernel/compiler/prepare/builtins.h"

hd_status hdi_library_parse(struct hdi_llvm *llvm, const void *bitcode,
                            size_t size, bool lazy, LLVMModuleRef *module,
                            struct hd_error *error)
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

hd_status hdi_library_link_part(struct hdi_llvm *llvm, LLVMModuleRef module,
                                const void *bitcode, size_t size,
                                struct hd_error *error)
{
    LLVMModuleRef library;

    HDI_TRY(hdi_library_parse(llvm, bitcode, size, true, &library, error));
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

static hd_status link_part(struct hdi_llvm *llvm, LLVMModuleRef module,
                           const struct hdi_builtins *part,
                           struct hd_error *error)
{
    return hdi_library_link_part(llvm, module, part->data, part->size, error);
}

static bool is_missing(LLVMValueRef function)
{
    return LLVMIsDeclaration(function) && LLVMGetFirstUse(function) &&
           LLVMGetIntrinsicID(function) == 0;
}

// Part by part: what one brings along may need another.
hd_status hdi_library_link(struct hdi_llvm *llvm, LLVMModuleRef module,
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
hd_status hdi_library_link_halves(struct hdi_llvm *llvm, LLVMModuleRef module,
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
