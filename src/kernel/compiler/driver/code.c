#include "kernel/compiler/driver/code.h"

#include <llvm-c/DebugInfo.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/compiler/fiber/thread.h"
#include "kernel/compiler/ir/joins.h"
#include "kernel/compiler/loops/workgroup.h"
#include "kernel/compiler/prepare/library.h"

enum {
    // Of a kernel that is optimised with all means, and of a block of it.
    MOST_INSTRUCTIONS = 6000,
    MOST_STRAIGHT = 1500
};

// A remark reads "FILE:LINE:COLUMN: TEXT"; the column names the region.
static const char *remark_of(char *line, unsigned region)
{
    for (char *c = strchr(line, ':'); c; c = strchr(c + 1, ':')) {
        char *end;
        unsigned long column = strtoul(c + 1, &end, 10);
        if (column == HDI_REGION_COLUMN + region && end[0] == ':' &&
            end[1] == ' ')
            return end + 2;
    }
    return NULL;
}

static void explain_region(struct hdi_text *remarks, unsigned region,
                           struct hdi_text *explanation)
{
    static const char vectorised[] = "vectorization width: ";
    unsigned width = 1;
    struct hdi_text reasons = {0};

    for (char *line = remarks->data; line && *line;) {
        char *end = strchr(line, '\n');
        if (end)
            *end = '\0';
        const char *text = remark_of(line, region);
        const char *found = text ? strstr(text, vectorised) : NULL;
        if (found) {
            unsigned w =
                (unsigned)strtoul(found + sizeof(vectorised) - 1, NULL, 10);
            width = w > width ? w : width;
        } else if (text && !strstr(text, "interleav") &&
                   (!reasons.data || !strstr(reasons.data, text))) {
            hdi_text_print(&reasons, "    %s\n", text);
        }
        if (!end)
            break;
        *end = '\n';
        line = end + 1;
    }
    if (width > 1)
        hdi_text_print(explanation, "region %u: vector width %u\n", region,
                       width);
    else if (reasons.data && strstr(reasons.data, "Loop deleted"))
        hdi_text_print(explanation, "region %u: nothing to do\n", region);
    else
        hdi_text_print(explanation, "region %u: not vectorised\n%s", region,
                       reasons.data ? reasons.data : "");
    hdi_text_free(&reasons);
}

static void explain_form(const struct hdi_form *form, struct hdi_text *remarks,
                         unsigned region, struct hdi_text *explanation)
{
    if (form->lanes > 0) {
        hdi_text_print(explanation,
                       "region %u: vector width %u, lanes under masks", region,
                       form->lanes);
        if (form->limit)
            hdi_text_print(explanation,
                           ", in parts: line %u asks for ids below a limit",
                           form->limit);
        if (form->joint)
            hdi_text_print(explanation,
                           ", past the barrier in line %u where an order of "
                           "work-items makes up for it",
                           form->joint);
        hdi_text_print(explanation, "\n");
        return;
    }
    if (form->lone) {
        hdi_text_print(explanation,
                       "region %u: one work-item of each row does all\n",
                       region);
        return;
    }
    if (form->reason && form->line)
        hdi_text_print(explanation,
                       "region %u: no lanes under masks: line %u: %s\n", region,
                       form->line, form->reason);
    else if (form->reason)
        hdi_text_print(explanation, "region %u: no lanes under masks: %s\n",
                       region, form->reason);
    explain_region(remarks, region, explanation);
}

// Instructions of the module, and of its longest block.
static unsigned count_instructions(LLVMModuleRef module, unsigned *longest)
{
    unsigned all = 0;

    *longest = 0;
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b;
             b = LLVMGetNextBasicBlock(b)) {
            unsigned count = 0;
            for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
                 i = LLVMGetNextInstruction(i))
                count++;
            all += count;
            *longest = count > *longest ? count : *longest;
        }
    return all;
}

// LLVM 19 makes one vector of different operations on neighbours, a shift
// beside others, and shifts elements that nobody needs by a number for another
// operation, such as the mask 255. Its code generation then takes them for 0
// and joins vectors by OR, while processors give the sign. So no element is
// shifted by more than it has bits.
static void bound_shift(LLVMValueRef shift)
{
    LLVMValueRef by = LLVMGetOperand(shift, 1);
    LLVMTypeRef type = LLVMTypeOf(by);

    if (LLVMGetTypeKind(type) != LLVMVectorTypeKind || !LLVMIsConstant(by))
        return;
    LLVMTypeRef element = LLVMGetElementType(type);
    unsigned count = LLVMGetVectorSize(type);
    bool bounded = false;
    LLVMValueRef numbers[64];
    for (unsigned i = 0; i < count; i++) {
        LLVMValueRef n = count > 64 ? NULL : LLVMGetAggregateElement(by, i);
        if (!n)
            return;
        bool far = LLVMIsAConstantInt(n) &&
                   LLVMConstIntGetZExtValue(n) >= LLVMGetIntTypeWidth(element);
        numbers[i] = far ? LLVMConstInt(element, 0, false) : n;
        bounded |= far;
    }
    if (bounded)
        LLVMSetOperand(shift, 1, LLVMConstVector(numbers, count));
}

static void bound_shifts(LLVMModuleRef module)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b;
             b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
                 i = LLVMGetNextInstruction(i)) {
                LLVMOpcode code = LLVMGetInstructionOpcode(i);
                if (code == LLVMShl || code == LLVMLShr || code == LLVMAShr)
                    bound_shift(i);
            }
}

static hd_status optimise(struct hdi_llvm *llvm, LLVMModuleRef module,
                          struct hdi_text *explanation, struct hd_error *error)
{
    hdi_joins_promote(llvm, module);
    HDI_TRY(hdi_llvm_passes(
        llvm, module,
        "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,"
        "simplifycfg)",
        error));
    unsigned longest, count = count_instructions(module, &longest);
    if (count <= MOST_INSTRUCTIONS && longest <= MOST_STRAIGHT)
        return hdi_llvm_passes(llvm, module, "default<O3>", error);
    hdi_text_print(explanation,
                   "long: of %u instructions; so loops are not unrolled, to "
                   "build it in time\n",
                   count);
    return hdi_llvm_passes_long(llvm, module, "default<O2>", error);
}

// Up to the first instruction with a line the code generator gives all that of
// the function, also a store in the middle of a loop: say that it has none.
static void begin_without_line(struct hdi_llvm *llvm, LLVMModuleRef module)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f)) {
        LLVMMetadataRef scope = LLVMGetSubprogram(f);
        if (LLVMIsDeclaration(f) || !scope)
            continue;
        LLVMMetadataRef none =
            LLVMDIBuilderCreateDebugLocation(llvm->context, 0, 0, scope, NULL);
        for (LLVMValueRef i =
                 LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(f));
             i; i = LLVMGetNextInstruction(i))
            if (!LLVMInstructionGetDebugLoc(i))
                LLVMInstructionSetDebugLoc(i, none);
    }
}

hd_status hdi_code_make(struct hdi_llvm *llvm, LLVMModuleRef module,
                        const struct hdi_build_kernel *about,
                        const struct hdi_forms *forms,
                        struct hdi_text *explanation, struct hdi_text *object,
                        struct hd_error *error)
{
    struct hdi_text remarks = {0};
    LLVMMemoryBufferRef buffer = NULL;
    char *message = NULL;

    llvm->remarks = &remarks;
    hd_status status = optimise(llvm, module, explanation, error);
    bound_shifts(module);
    llvm->remarks = NULL;
    for (unsigned r = 0; r < forms->count; r++)
        explain_form(&forms->list[r], &remarks, r, explanation);
    hdi_text_free(&remarks);
    if (status != HD_OK)
        return status;

    if (!llvm->debug)
        begin_without_line(llvm, module);
    hdi_thread_measure(llvm, module);
    HDI_TRY(hdi_library_link_halves(llvm, module, error));
    if (LLVMTargetMachineEmitToMemoryBuffer(
            llvm->machine, module, LLVMObjectFile, &message, &buffer)) {
        status =
            hdi_fail(error, HD_EBUILD, "%s:%u: no code for kernel '%s': %s",
                     about->file, about->line, about->name, message);
        LLVMDisposeMessage(message);
        return status;
    }
    hdi_text_append(object, LLVMGetBufferStart(buffer),
                    LLVMGetBufferSize(buffer));
    LLVMDisposeMemoryBuffer(buffer);
    if (object->failed)
        return hdi_fail(error, HD_ENOMEM, "%s: no memory for code", llvm->path);
    return HD_OK;
}
