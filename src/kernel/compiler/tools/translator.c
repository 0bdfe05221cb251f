//     SPIR-V -> llvm-spirv -> verify -> builtins' types -> lines -> bitcode
//
// The module is a stranger's: the translator may refuse it, die of it, run for
// ever or make of it what is no valid program. Each has its own error.
#include "kernel/compiler/tools/translator.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/BitWriter.h>
#include <llvm-c/DebugInfo.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/compiler/tools/child.h"
#include "kernel/compiler/ir/llvm.h"
#include "kernel/compiler/prepare/builtins.h"
#include "kernel/compiler/prepare/prepare.h"

// A damaged module may keep it going for ever.
enum {
    MAX_TIME = 60 // [s]
};

// What the first line of the translator's text says.
static hd_status fail_child(const struct hdi_source *source, const char *path,
                            int exit_code, const struct hdi_text *messages,
                            struct hd_error *error)
{
    const char *slash = strrchr(source->translator, '/');
    const char *name = slash ? slash + 1 : source->translator;
    const char *text = messages->data ? messages->data : "";

    if (exit_code > 128)
        return hdi_fail(error, HD_EBUILD,
                        "%s: %s ended with signal %d (%s): the SPIR-V module "
                        "is damaged, or has what it does not know: %.*s",
                        path, name, exit_code - 128, strsignal(exit_code - 128),
                        (int)strcspn(text, "\n"), text);
    return hdi_fail(error, HD_EBUILD, "%s: %s refuses the SPIR-V module: %.*s",
                    path, name, (int)strcspn(text, "\n"), text);
}

static hd_status run(const struct hdi_source *source,
                     const struct hdi_part *part, struct hdi_text *bitcode,
                     struct hd_error *error)
{
    const char *const arguments[] = {source->translator,
                                     "-r",
                                     "--spirv-target-env=CL2.0",
                                     "--spirv-gen-kernel-arg-name-md",
                                     "-o",
                                     "-",
                                     "/proc/self/fd/0",
                                     NULL};
    struct hdi_text messages = {0};
    int exit_code;
    const struct hdi_child child = {.arguments = arguments,
                                    .input = part->data,
                                    .input_size = part->size,
                                    .time_limit = MAX_TIME,
                                    .cancel = source->cancel};

    hd_status status =
        hdi_child_run(&child, bitcode, &messages, &exit_code, error);
    if (status == HD_OK && exit_code != 0)
        status = fail_child(source, part->path, exit_code, &messages, error);
    hdi_text_free(&messages);
    return status;
}

// Builtins --------------------------------------------------------------------

// The type a builtin has here, NULL: `name` is none. Images and samplers are
// pointers for the translator, until LLVM 16.
// Types live in the context, so the library they are read from may go.
static LLVMTypeRef builtin_type(LLVMContextRef context, const char *name)
{
    struct hdi_builtins part;
    LLVMModuleRef library;

    if (!hdi_builtins_find(name, &part))
        return NULL;
    LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(
        part.data, part.size, "builtins");
    if (LLVMGetBitcodeModuleInContext2(context, buffer, &library)) {
        LLVMDisposeMemoryBuffer(buffer);
        return NULL;
    }
    LLVMValueRef function = LLVMGetNamedFunction(library, name);
    LLVMTypeRef type = function ? LLVMGlobalGetValueType(function) : NULL;
    LLVMDisposeModule(library);
    return type;
}

// The same bits as another type; NULL: it cannot hold them.
static LLVMValueRef convert(LLVMBuilderRef builder, LLVMValueRef value,
                            LLVMTypeRef to)
{
    LLVMTypeRef from = LLVMTypeOf(value);
    LLVMTypeKind a = LLVMGetTypeKind(from), b = LLVMGetTypeKind(to);

    if (from == to)
        return value;
    if (a == LLVMPointerTypeKind && b == LLVMPointerTypeKind)
        return LLVMBuildAddrSpaceCast(builder, value, to, "");
    if (a == LLVMPointerTypeKind && b == LLVMIntegerTypeKind)
        return LLVMBuildPtrToInt(builder, value, to, "");
    if (a == LLVMIntegerTypeKind && b == LLVMPointerTypeKind)
        return LLVMBuildIntToPtr(builder, value, to, "");
    return NULL;
}

static bool pass_on(LLVMBuilderRef builder, LLVMValueRef from, LLVMTypeRef type,
                    LLVMValueRef to, LLVMValueRef *args)
{
    unsigned count = LLVMCountParams(from);
    LLVMTypeRef result = LLVMGetReturnType(LLVMGlobalGetValueType(from));

    for (unsigned i = 0; i < count; i++) {
        args[i] = convert(builder, LLVMGetParam(from, i),
                          LLVMTypeOf(LLVMGetParam(to, i)));
        if (!args[i])
            return false;
    }
    LLVMValueRef call = LLVMBuildCall2(builder, type, to, args, count, "");
    LLVMSetInstructionCallConv(call, LLVMSPIRFUNCCallConv);
    if (LLVMGetTypeKind(result) == LLVMVoidTypeKind)
        return LLVMBuildRetVoid(builder) != NULL;
    LLVMValueRef value = convert(builder, call, result);
    return value && LLVMBuildRet(builder, value);
}

// Make `function`, the declaration of a builtin with other types, one that
// calls the builtin.
// The declaration gets a body and loses its name to the real builtin; inlining
// removes it later. False: types that cannot be converted, or no memory.
static bool adapt(LLVMModuleRef module, LLVMBuilderRef builder,
                  LLVMValueRef function, LLVMTypeRef type)
{
    unsigned count = LLVMCountParams(function);
    char *name = strdup(hdi_value_name(function));
    LLVMValueRef *args = calloc((size_t)count + 1, sizeof(LLVMValueRef));
    bool ok = name && args && count == LLVMCountParamTypes(type);

    if (ok) {
        LLVMSetValueName2(function, "", 0);
        LLVMValueRef builtin = LLVMAddFunction(module, name, type);
        LLVMSetFunctionCallConv(builtin, LLVMSPIRFUNCCallConv);
        LLVMSetLinkage(function, LLVMInternalLinkage);
        LLVMPositionBuilderAtEnd(
            builder, LLVMAppendBasicBlockInContext(LLVMGetModuleContext(module),
                                                   function, ""));
        ok = pass_on(builder, function, type, builtin, args);
    }
    free(args);
    free(name);
    return ok;
}

static hd_status adapt_builtins(LLVMModuleRef module, const char *path,
                                struct hd_error *error)
{
    LLVMContextRef context = LLVMGetModuleContext(module);
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(context);
    hd_status status = HD_OK;

    for (LLVMValueRef f = LLVMGetFirstFunction(module), next;
         f && status == HD_OK; f = next) {
        next = LLVMGetNextFunction(f);
        LLVMTypeRef type = LLVMIsDeclaration(f) && LLVMGetIntrinsicID(f) == 0
                               ? builtin_type(context, hdi_value_name(f))
                               : NULL;
        if (type && type != LLVMGlobalGetValueType(f) &&
            !adapt(module, builder, f, type))
            status = hdi_fail(error, HD_EBUILD,
                              "%s: a builtin function of the SPIR-V module has "
                              "arguments that it does not take",
                              path);
    }
    LLVMDisposeBuilder(builder);
    return status;
}

// Lines ---------------------------------------------------------------------

static const char version_flag[] = "Debug Info Version";

// LLVM drops the lines of a whole program in which a function that has lines
// calls another from nowhere.
static void place_calls(LLVMValueRef function)
{
    LLVMMetadataRef place = LLVMDIBuilderCreateDebugLocation(
        LLVMGetModuleContext(LLVMGetGlobalParent(function)), 0, 0,
        LLVMGetSubprogram(function), NULL);

    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i))
            if (LLVMIsACallInst(i) && !LLVMInstructionGetDebugLoc(i))
                LLVMInstructionSetDebugLoc(i, place);
}

// Say of every kernel that it is of the file, in no line: what is explained of
// kernels hangs on their lines.
static void describe_kernels(LLVMModuleRef module, const char *path)
{
    LLVMDIBuilderRef builder = LLVMCreateDIBuilder(module);
    LLVMMetadataRef file =
        LLVMDIBuilderCreateFile(builder, path, strlen(path), "", 0);
    LLVMMetadataRef type =
        LLVMDIBuilderCreateSubroutineType(builder, file, NULL, 0, 0);

    LLVMDIBuilderCreateCompileUnit(
        builder, LLVMDWARFSourceLanguageC99, file, "heddle", 6, true, "", 0, 0,
        "", 0, LLVMDWARFEmissionLineTablesOnly, 0, false, false, "", 0, "", 0);
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f)) {
        if (!hdi_is_kernel(f) || LLVMGetSubprogram(f))
            continue;
        const char *name = hdi_value_name(f);
        LLVMSetSubprogram(f, LLVMDIBuilderCreateFunction(
                                 builder, file, name, strlen(name), "", 0, file,
                                 0, type, false, true, 0, 0, true));
        place_calls(f);
    }
    LLVMDIBuilderFinalize(builder);
    LLVMDisposeDIBuilder(builder);
    if (!LLVMGetModuleFlag(module, version_flag, strlen(version_flag)))
        LLVMAddModuleFlag(
            module, LLVMModuleFlagBehaviorWarning, version_flag,
            strlen(version_flag),
            LLVMValueAsMetadata(LLVMConstInt(
                LLVMInt32TypeInContext(LLVMGetModuleContext(module)),
                LLVMDebugMetadataVersion(), false)));
}

// Verified before anything is done with it: most of LLVM trusts its input.
static hd_status improve(LLVMContextRef context, const struct hdi_text *from,
                         const char *path, struct hdi_text *bitcode,
                         struct hd_error *error)
{
    LLVMModuleRef module;
    LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(
        from->data, from->size, "bitcode");
    bool failed = LLVMParseBitcodeInContext2(context, buffer, &module) != 0;

    LLVMDisposeMemoryBuffer(buffer);
    if (failed)
        return hdi_fail(error, HD_EBUILD, "%s: bitcode cannot be read", path);
    hd_status status =
        LLVMVerifyModule(module, LLVMReturnStatusAction, NULL)
            ? hdi_fail(error, HD_EBUILD,
                       "%s: the SPIR-V module is damaged: its functions "
                       "contradict themselves",
                       path)
            : adapt_builtins(module, path, error);
    if (status == HD_OK) {
        describe_kernels(module, path);
        buffer = LLVMWriteBitcodeToMemoryBuffer(module);
        hdi_text_append(bitcode, LLVMGetBufferStart(buffer),
                        LLVMGetBufferSize(buffer));
        LLVMDisposeMemoryBuffer(buffer);
        if (bitcode->failed)
            status =
                hdi_fail(error, HD_ENOMEM, "%s: no memory to compile", path);
    }
    LLVMDisposeModule(module);
    return status;
}

hd_status hdi_translator_run(const struct hdi_source *source,
                             const struct hdi_part *part,
                             struct hdi_text *bitcode, struct hd_error *error)
{
    struct hdi_text translated = {0};

    hd_status status = run(source, part, &translated, error);
    if (status == HD_OK) {
        LLVMContextRef context = hdi_llvm_quiet_context();
        status = improve(context, &translated, part->path, bitcode, error);
        LLVMContextDispose(context);
    }
    hdi_text_free(&translated);
    return status;
}
