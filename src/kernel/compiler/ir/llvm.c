#include "kernel/compiler/ir/llvm.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/Error.h>
#include <llvm-c/Support.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

// Mangled as clang does: the C interface of OpenCL has no other names.
static const char *const call_names[] = {
    [HDI_CALL_GLOBAL_ID] = "_Z13get_global_idj",
    [HDI_CALL_LOCAL_ID] = "_Z12get_local_idj",
    [HDI_CALL_GROUP_ID] = "_Z12get_group_idj",
    [HDI_CALL_LOCAL_SIZE] = "_Z14get_local_sizej",
    [HDI_CALL_ENQUEUED_LOCAL_SIZE] = "_Z23get_enqueued_local_sizej",
    [HDI_CALL_GLOBAL_SIZE] = "_Z15get_global_sizej",
    [HDI_CALL_NUM_GROUPS] = "_Z14get_num_groupsj",
    [HDI_CALL_GLOBAL_OFFSET] = "_Z17get_global_offsetj",
    [HDI_CALL_WORK_DIM] = "_Z12get_work_dimv",
    [HDI_CALL_MEMORY] = "hdu_memory",
    [HDI_CALL_BARRIER] = "_Z7barrierj",
    [HDI_CALL_GRID_BARRIER] = "hd_grid_barrier",
    [HDI_CALL_SUB_GROUP_BARRIER] = "hdu_sub_group_meet",
    [HDI_CALL_SOFT_BARRIER] = "heddle.soft_barrier",
};

// Option tables and the target registry are the process's.
static pthread_once_t once = PTHREAD_ONCE_INIT;

// Once per process: LLVM refuses an option that is set a second time.
static void start(void)
{
    // Remarks are how we learn the vector width that was chosen.
    const char *options[] = {"heddle", "-pass-remarks=loop-vectorize",
                             "-pass-remarks-missed=loop-vectorize",
                             "-pass-remarks-analysis=loop-vectorize",
                             "-unroll-threshold=1500", "-scalarize-load-store",
                             // No line is better than that of the neighbour.
                             "-use-unknown-locations=Enable",
                             // The other way follows every value through the
                             // function, up to half of code generation, also
                             // where no variable is to be told of.
                             "-experimental-debug-variable-locations=false",
                             // Scheduling takes the square of this long.
                             "-dag-maps-huge-region=200",
                             "-dag-maps-reduction-size=100",
                             // It looks for values that suit masks' registers
                             // better, in the square of the function's length.
                             "-disable-x86-domain-reassignment",
                             // A fault (analysis/faults.h): past so many checks
                             // whether memory overlaps LLVM
                             // 19 makes vectors, as we ask, without any check.
                             "-vectorize-memory-check-threshold=4294967295"};

    LLVMInitializeNativeTarget();
    LLVMInitializeNativeAsmPrinter();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    LLVMParseCommandLineOptions(sizeof(options) / sizeof(options[0]), options,
                                NULL);
}

// LLVM's own handler would print, and end the process at an error.
static void keep_remark(LLVMDiagnosticInfoRef info, void *data)
{
    struct hdi_llvm *llvm = data;
    char *text = LLVMGetDiagInfoDescription(info);

    if (llvm->remarks)
        hdi_text_print(llvm->remarks, "%s\n", text);
    LLVMDisposeMessage(text);
}

// "sse avx" as "+sse,+avx".
static char *add_signs(const char *words)
{
    struct hdi_text text = {0};
    char *message = NULL;

    for (const char *w = words; *w; w += strspn(w, " ")) {
        int length = (int)strcspn(w, " ");
        hdi_text_print(&text, "%s+%.*s", text.size > 0 ? "," : "", length, w);
        w += length;
    }
    if (!text.failed && text.data)
        message = LLVMCreateMessage(text.data);
    hdi_text_free(&text);
    return message;
}

// The relocation model is PIC: the object becomes a shared library.
hd_status hdi_llvm_open(struct hdi_llvm *llvm, const char *triple,
                        const char *cpu, const char *features, const char *path,
                        struct hd_error *error)
{
    LLVMTargetRef target;
    char *message = NULL;

    pthread_once(&once, start);
    *llvm = (struct hdi_llvm){.path = path};
    llvm->triple =
        *triple ? LLVMCreateMessage(triple) : LLVMGetDefaultTargetTriple();
    llvm->cpu = *features ? LLVMCreateMessage(cpu) : LLVMGetHostCPUName();
    llvm->features = *features ? add_signs(features) : LLVMGetHostCPUFeatures();
    if (!llvm->triple || !llvm->cpu || !llvm->features) {
        hdi_llvm_close(llvm);
        return hdi_fail(error, HD_ENOMEM, "%s: no memory to compile", path);
    }
    if (LLVMGetTargetFromTriple(llvm->triple, &target, &message)) {
        hdi_fail(error, HD_ENOTSUP, "no code generator for %s: %s",
                 llvm->triple, message);
        LLVMDisposeMessage(message);
        hdi_llvm_close(llvm);
        return HD_ENOTSUP;
    }
    llvm->machine = LLVMCreateTargetMachine(
        target, llvm->triple, llvm->cpu, llvm->features,
        LLVMCodeGenLevelAggressive, LLVMRelocPIC, LLVMCodeModelDefault);
    llvm->layout = LLVMCreateTargetDataLayout(llvm->machine);
    llvm->target = hdi_target_find(llvm->triple, llvm->cpu, llvm->features);
    llvm->context = LLVMContextCreate();
    LLVMContextSetDiagnosticHandler(llvm->context, keep_remark, llvm);
    return HD_OK;
}

static void ignore(LLVMDiagnosticInfoRef info, void *data)
{
    (void)info, (void)data;
}

LLVMContextRef hdi_llvm_quiet_context(void)
{
    LLVMContextRef context = LLVMContextCreate();
    LLVMContextSetDiagnosticHandler(context, ignore, NULL);
    return context;
}

void hdi_llvm_close(struct hdi_llvm *llvm)
{
    if (llvm->context)
        LLVMContextDispose(llvm->context);
    if (llvm->layout)
        LLVMDisposeTargetData(llvm->layout);
    if (llvm->machine)
        LLVMDisposeTargetMachine(llvm->machine);
    LLVMDisposeMessage(llvm->features);
    LLVMDisposeMessage(llvm->cpu);
    LLVMDisposeMessage(llvm->triple);
    *llvm = (struct hdi_llvm){0};
}

static hd_status run(const struct hdi_llvm *llvm, LLVMModuleRef module,
                     const char *passes, bool is_long, struct hd_error *error)
{
    if (llvm->cancel && atomic_load(llvm->cancel))
        return hdi_fail(error, HD_ECANCELED, "the build was cancelled");
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMPassBuilderOptionsSetLoopUnrolling(options, !is_long);
    LLVMErrorRef failed = LLVMRunPasses(module, passes, llvm->machine, options);

    LLVMDisposePassBuilderOptions(options);
    if (!failed)
        return HD_OK;

    char *message = LLVMGetErrorMessage(failed);
    hdi_fail(error, HD_EBUILD, "%s: the optimiser failed: %s", llvm->path,
             message);
    LLVMDisposeErrorMessage(message);
    return HD_EBUILD;
}

hd_status hdi_llvm_passes(const struct hdi_llvm *llvm, LLVMModuleRef module,
                          const char *passes, struct hd_error *error)
{
    return run(llvm, module, passes, false, error);
}

hd_status hdi_llvm_passes_long(const struct hdi_llvm *llvm,
                               LLVMModuleRef module, const char *passes,
                               struct hd_error *error)
{
    return run(llvm, module, passes, true, error);
}

const char *hdi_value_name(LLVMValueRef value)
{
    size_t size;
    return LLVMGetValueName2(value, &size);
}

bool hdi_is_step(LLVMValueRef function)
{
    return strncmp(hdi_value_name(function), "hdu_fold_", 9) == 0;
}

enum hdi_call hdi_call_kind(LLVMValueRef value)
{
    if (!LLVMIsACallInst(value))
        return HDI_CALL_OTHER;
    LLVMValueRef callee = LLVMGetCalledValue(value);
    if (!LLVMIsAFunction(callee))
        return HDI_CALL_OTHER;

    const char *name = hdi_value_name(callee);
    int kind = 0;
    while (kind < HDI_CALL_OTHER && strcmp(name, call_names[kind]) != 0)
        kind++;
    return (enum hdi_call)kind;
}

LLVMValueRef hdi_build_call(const struct hdi_llvm *llvm, LLVMModuleRef module,
                            LLVMBuilderRef builder, enum hdi_call kind)
{
    LLVMTypeRef argument = LLVMInt32TypeInContext(llvm->context);
    LLVMTypeRef type = LLVMFunctionType(LLVMInt64TypeInContext(llvm->context),
                                        &argument, 1, false);
    LLVMValueRef function = LLVMGetNamedFunction(module, call_names[kind]);
    LLVMValueRef x = LLVMConstNull(argument);

    if (!function)
        function = LLVMAddFunction(module, call_names[kind], type);
    return LLVMBuildCall2(builder, type, function, &x, 1, "");
}

bool hdi_call_is_barrier(enum hdi_call kind)
{
    return kind == HDI_CALL_BARRIER || kind == HDI_CALL_GRID_BARRIER ||
           kind == HDI_CALL_SUB_GROUP_BARRIER || kind == HDI_CALL_SOFT_BARRIER;
}

bool hdi_call_name_is_known(const char *name)
{
    if (strcmp(name, HDI_PRINT_NAME) == 0)
        return true;
    for (int kind = 0; kind < HDI_CALL_OTHER; kind++)
        if (strcmp(name, call_names[kind]) == 0)
            return true;
    return false;
}

// A promise that does not hold makes poison; where the copy runs and the
// instruction would not, that would reach results.
void hdi_promise_nothing(LLVMValueRef copy)
{
    switch (LLVMGetInstructionOpcode(copy)) {
    case LLVMAdd:
    case LLVMSub:
    case LLVMMul:
    case LLVMShl:
    case LLVMTrunc:
        LLVMSetNSW(copy, false);
        LLVMSetNUW(copy, false);
        break;
    case LLVMUDiv:
    case LLVMSDiv:
    case LLVMLShr:
    case LLVMAShr:
        LLVMSetExact(copy, false);
        break;
    case LLVMOr:
        LLVMSetIsDisjoint(copy, false);
        break;
    case LLVMZExt:
        LLVMSetNNeg(copy, false);
        break;
    case LLVMGetElementPtr:
        LLVMGEPSetNoWrapFlags(copy, 0);
        break;
    default:
        break;
    }
}

unsigned hdi_source_line(LLVMValueRef instruction)
{
    // Of the outermost call: that is where the user's own text stands.
    LLVMMetadataRef where = LLVMInstructionGetDebugLoc(instruction);
    while (where && LLVMDILocationGetInlinedAt(where))
        where = LLVMDILocationGetInlinedAt(where);
    return where ? LLVMDILocationGetLine(where) : 0;
}

void hdi_function_flag(LLVMValueRef function, const char *name, bool on)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    if (on)
        LLVMAddAttributeAtIndex(
            function, LLVMAttributeFunctionIndex,
            LLVMCreateEnumAttribute(
                LLVMGetModuleContext(LLVMGetGlobalParent(function)), kind, 0));
    else
        LLVMRemoveEnumAttributeAtIndex(function, LLVMAttributeFunctionIndex,
                                       kind);
}

void hdi_function_text(LLVMValueRef function, const char *name,
                       const char *value)
{
    LLVMAddAttributeAtIndex(
        function, LLVMAttributeFunctionIndex,
        LLVMCreateStringAttribute(
            LLVMGetModuleContext(LLVMGetGlobalParent(function)), name,
            (unsigned)strlen(name), value, (unsigned)strlen(value)));
}

void hdi_function_prefer(const struct hdi_llvm *llvm, LLVMValueRef function)
{
    if (llvm->target.vector_bytes == 64)
        hdi_function_text(function, "prefer-vector-width", "512");
}

void hdi_build_at_end(LLVMBuilderRef builder, LLVMBasicBlockRef block)
{
    LLVMPositionBuilderAtEnd(builder, block);
    LLVMSetCurrentDebugLocation2(builder, NULL);
}

// Phi nodes of later blocks would still name the first part, hence none.
LLVMBasicBlockRef hdi_block_split(LLVMContextRef context,
                                  LLVMBuilderRef builder,
                                  LLVMValueRef instruction, const char *name)
{
    LLVMBasicBlockRef first = LLVMGetInstructionParent(instruction);
    LLVMValueRef function = LLVMGetBasicBlockParent(first);
    LLVMBasicBlockRef second =
        LLVMAppendBasicBlockInContext(context, function, name);

    LLVMMoveBasicBlockAfter(second, first);
    hdi_build_at_end(builder, second);
    for (LLVMValueRef i = instruction, next; i; i = next) {
        next = LLVMGetNextInstruction(i);
        LLVMInstructionRemoveFromParent(i);
        LLVMInsertIntoBuilder(builder, i);
    }
    hdi_build_at_end(builder, first);
    LLVMBuildBr(builder, second);
    return second;
}

LLVMIntPredicate hdi_predicate_swapped(LLVMIntPredicate predicate)
{
    switch (predicate) {
    case LLVMIntUGT:
        return LLVMIntULT;
    case LLVMIntUGE:
        return LLVMIntULE;
    case LLVMIntULT:
        return LLVMIntUGT;
    case LLVMIntULE:
        return LLVMIntUGE;
    case LLVMIntSGT:
        return LLVMIntSLT;
    case LLVMIntSGE:
        return LLVMIntSLE;
    case LLVMIntSLT:
        return LLVMIntSGT;
    case LLVMIntSLE:
        return LLVMIntSGE;
    default:
        return predicate;
    }
}
