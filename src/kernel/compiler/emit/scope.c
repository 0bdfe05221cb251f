// Scoped aliasing: accesses of the scope are marked as such, others as not. See
// "'noalias' and 'alias.scope' metadata" in LLVM's language reference.
#include "kernel/compiler/emit/scope.h"

#include <llvm-c/IRReader.h>
#include <string.h>

#include "kernel/compiler/analysis/address.h"

// Distinct nodes cannot be made through LLVM's C interface, only read. NULL: it
// could not be read; then nothing is marked.
static LLVMValueRef new_scope(LLVMContextRef context)
{
    static const char text[] = "!n = !{!2}\n"
                               "!0 = distinct !{!0}\n"
                               "!1 = distinct !{!1, !0}\n"
                               "!2 = !{!1}\n";
    LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(
        text, sizeof(text) - 1, "metadata");
    LLVMModuleRef module;
    LLVMValueRef node;
    char *message = NULL;

    if (LLVMParseIRInContext(context, buffer, &module, &message)) {
        LLVMDisposeMessage(message);
        return NULL;
    }
    LLVMGetNamedMetadataOperands(module, "n", &node);
    LLVMDisposeModule(module);
    return node;
}

// Where an instruction loads from or stores to; NULL: it does neither, or in a
// way that is not known here.
static LLVMValueRef address_of(LLVMValueRef x)
{
    if (LLVMIsALoadInst(x) || LLVMIsAAtomicRMWInst(x) ||
        LLVMIsAAtomicCmpXchgInst(x))
        return LLVMGetOperand(x, 0);
    if (LLVMIsAStoreInst(x))
        return LLVMGetOperand(x, 1);
    if (!LLVMIsACallInst(x) || !LLVMIsAFunction(LLVMGetCalledValue(x)))
        return NULL;
    const char *name = hdi_value_name(LLVMGetCalledValue(x));
    if (strncmp(name, "llvm.masked.load.", 17) == 0 ||
        strncmp(name, "llvm.masked.gather.", 19) == 0)
        return LLVMGetOperand(x, 0);
    if (strncmp(name, "llvm.masked.store.", 18) == 0 ||
        strncmp(name, "llvm.masked.scatter.", 20) == 0)
        return LLVMGetOperand(x, 1);
    return NULL;
}

// Local memory, or what an argument points to.
static bool is_elsewhere(const struct hdi_emit *e, LLVMValueRef root)
{
    return root == e->local ||
           (LLVMIsALoadInst(root) &&
            hdi_address_root(NULL, LLVMGetOperand(root, 0)) == e->args);
}

void hdi_scope_saved(const struct hdi_emit *e)
{
    LLVMContextRef c = e->llvm->context;
    const unsigned in = LLVMGetMDKindIDInContext(c, "alias.scope", 11),
                   out = LLVMGetMDKindIDInContext(c, "noalias", 7);
    LLVMValueRef scope = new_scope(c);

    for (LLVMBasicBlockRef b = scope ? LLVMGetFirstBasicBlock(e->function)
                                     : NULL;
         b; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef x = LLVMGetFirstInstruction(b); x;
             x = LLVMGetNextInstruction(x)) {
            LLVMValueRef address = address_of(x),
                         root =
                             address ? hdi_address_root(NULL, address) : NULL;
            if (root == e->saved)
                LLVMSetMetadata(x, in, scope);
            else if (root && is_elsewhere(e, root))
                LLVMSetMetadata(x, out, scope);
        }
}
