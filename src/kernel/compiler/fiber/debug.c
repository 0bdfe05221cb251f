#include "kernel/compiler/fiber/debug.h"

#include <llvm-c/DebugInfo.h>
#include <string.h>

// LLVM's C interface has no names for what is in its nodes: these are the
// places of operands in LLVM 19.
enum {
    DW_ATE_UNSIGNED = 7,
    DW_OP_DEREF = 6,
    // Operands of LLVM's nodes.
    VARIABLE_SCOPE = 0,
    VARIABLE_NAME = 1,
    VARIABLE_TYPE = 3,
    VARIABLE_OPERANDS = 16, // more than there are
    UNIT_GLOBALS = 6,
    DECLARE_EXPRESSION = 2, // of a call of llvm.dbg.declare
    MAX_UNITS = 64          // the program, and a few of the builtins
};

// One variable that is told of; the builder is disposed of by whoever made it.
struct describing {
    LLVMDIBuilderRef builder;
    LLVMMetadataRef scope, file, type;
    unsigned line;
    LLVMValueRef next;
};

// Keep `value` in memory of the function's own and say that the variable is
// there; or, with `where`, that its address is.
static void declare(const struct hdi_llvm *llvm, LLVMBuilderRef builder,
                    const struct describing *d, const char *name, size_t length,
                    LLVMValueRef value, bool where)
{
    LLVMValueRef memory = LLVMBuildAlloca(builder, LLVMTypeOf(value), "");
    uint64_t deref = DW_OP_DEREF;

    LLVMBuildStore(builder, value, memory);
    LLVMDIBuilderInsertDeclareRecordBefore(
        d->builder, memory,
        LLVMDIBuilderCreateAutoVariable(d->builder, d->scope, name, length,
                                        d->file, d->line, d->type, false,
                                        LLVMDIFlagZero, 0),
        LLVMDIBuilderCreateExpression(d->builder, &deref, where),
        LLVMDIBuilderCreateDebugLocation(llvm->context, d->line, 0, d->scope,
                                         NULL),
        d->next);
}

void hdi_debug_item(const struct hdi_llvm *llvm, LLVMModuleRef module,
                    LLVMBuilderRef builder, LLVMValueRef item,
                    LLVMValueRef next)
{
    static const char name[] = "heddle_item", type[] = "unsigned long";
    LLVMMetadataRef function = LLVMGetSubprogram(
        LLVMGetBasicBlockParent(LLVMGetInstructionParent(next)));
    struct describing d = {.builder =
                               LLVMCreateDIBuilderDisallowUnresolved(module),
                           .scope = function,
                           .file = LLVMDIScopeGetFile(function),
                           .line = LLVMDISubprogramGetLine(function),
                           .next = next};

    d.type = LLVMDIBuilderCreateBasicType(d.builder, type, strlen(type), 64,
                                          DW_ATE_UNSIGNED, LLVMDIFlagZero);
    declare(llvm, builder, &d, name, strlen(name), item, false);
    LLVMDisposeDIBuilder(d.builder);
}

// The node that describes a global variable, NULL without -g.
static LLVMMetadataRef description(LLVMValueRef variable)
{
    size_t count;
    LLVMMetadataRef found = NULL;
    LLVMValueMetadataEntry *entries =
        LLVMGlobalCopyAllMetadata(variable, &count);

    for (unsigned i = 0; i < count; i++) {
        LLVMMetadataRef node = LLVMValueMetadataEntriesGetMetadata(entries, i);
        if (LLVMGetMetadataKind(node) ==
            LLVMDIGlobalVariableExpressionMetadataKind)
            found = LLVMDIGlobalVariableExpressionGetVariable(node);
    }
    LLVMDisposeValueMetadataEntries(entries);
    return found;
}

void hdi_debug_local(const struct hdi_llvm *llvm, LLVMModuleRef module,
                     LLVMBuilderRef builder, LLVMValueRef variable,
                     LLVMValueRef address, LLVMValueRef next)
{
    LLVMValueRef operands[VARIABLE_OPERANDS];
    LLVMMetadataRef node = description(variable);
    LLVMValueRef value = node ? LLVMMetadataAsValue(llvm->context, node) : NULL;
    if (!value || LLVMGetMDNodeNumOperands(value) > VARIABLE_OPERANDS)
        return;

    LLVMGetMDNodeOperands(value, operands);
    unsigned length;
    const char *name = LLVMGetMDString(operands[VARIABLE_NAME], &length);
    struct describing d = {
        .builder = LLVMCreateDIBuilderDisallowUnresolved(module),
        .scope = LLVMValueAsMetadata(operands[VARIABLE_SCOPE]),
        .file = LLVMDIVariableGetFile(node),
        .type = LLVMValueAsMetadata(operands[VARIABLE_TYPE]),
        .line = LLVMDIVariableGetLine(node),
        .next = next};
    declare(llvm, builder, &d, name, length, address, true);
    LLVMDisposeDIBuilder(d.builder);
}

// Local variables are no globals any more, and each kernel is an object of its
// own: a list of them in every object would name what is not there.
static void forget_globals(LLVMModuleRef module)
{
    static const char name[] = "llvm.dbg.cu";
    LLVMValueRef units[MAX_UNITS];
    unsigned count = LLVMGetNamedMetadataNumOperands(module, name);

    if (count > MAX_UNITS)
        return;
    LLVMGetNamedMetadataOperands(module, name, units);
    for (unsigned i = 0; i < count; i++)
        LLVMReplaceMDNodeOperandWith(units[i], UNIT_GLOBALS, NULL);
}

static bool is_declare(LLVMValueRef instruction)
{
    return LLVMIsACallInst(instruction) &&
           strcmp(hdi_value_name(LLVMGetCalledValue(instruction)),
                  "llvm.dbg.declare") == 0;
}

void hdi_debug_flatten(const struct hdi_llvm *llvm, LLVMModuleRef module,
                       LLVMValueRef function)
{
    LLVMDIBuilderRef builder = LLVMCreateDIBuilderDisallowUnresolved(module);
    LLVMValueRef plain = LLVMMetadataAsValue(
        llvm->context, LLVMDIBuilderCreateExpression(builder, NULL, 0));

    // Only as calls can they be changed through LLVM's C interface.
    LLVMSetIsNewDbgInfoFormat(module, false);
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i))
            if (is_declare(i))
                LLVMSetOperand(i, DECLARE_EXPRESSION, plain);
    LLVMSetIsNewDbgInfoFormat(module, true);
    LLVMDisposeDIBuilder(builder);
    forget_globals(module);
}
