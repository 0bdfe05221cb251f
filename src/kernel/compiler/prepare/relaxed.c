#include "kernel/compiler/prepare/relaxed.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "kernel/compiler/ir/llvm.h"
#include "kernel/compiler/prepare/builtins.h"

// Of floats and their vectors; `end` is what their mangled arguments begin
// with.
static bool is_of_floats(const char *end)
{
    if (strncmp(end, "Dv", 2) == 0) {
        end += 2 + strspn(end + 2, "0123456789");
        end += *end == '_';
    }
    return *end == 'f';
}

// What a function is called that does the same, less exactly; false: none.
static bool name_relaxed(const char *name, struct hdi_text *relaxed)
{
    static const char *const functions[] = {"sin",  "cos",  "tan",   "sincos",
                                            "log",  "log2", "log10", "pow",
                                            "powr", "pown", "rootn", "rsqrt"};
    size_t length = 0;

    if (strncmp(name, "_Z", 2) != 0)
        return false;
    for (name += 2; isdigit((unsigned char)*name); name++)
        length = length * 10 + (size_t)(*name - '0');
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        if (strlen(functions[i]) == length &&
            strncmp(name, functions[i], length) == 0 &&
            is_of_floats(name + length)) {
            hdi_text_print(relaxed, "_Z%zu__relaxed_%s", length + 10, name);
            return !relaxed->failed;
        }
    return false;
}

static bool is_approximate_call(LLVMValueRef user, LLVMValueRef function)
{
    return LLVMIsACallInst(user) && LLVMGetCalledValue(user) == function &&
           LLVMCanValueUseFastMathFlags(user) &&
           LLVMGetFastMathFlags(user) & LLVMFastMathApproxFunc;
}

static LLVMValueRef declare(LLVMModuleRef module, LLVMValueRef like,
                            const char *name)
{
    LLVMValueRef function = LLVMGetNamedFunction(module, name);

    if (function)
        return function;
    function = LLVMAddFunction(module, name, LLVMGlobalGetValueType(like));
    LLVMSetFunctionCallConv(function, LLVMGetFunctionCallConv(like));
    return function;
}

static void relax(LLVMModuleRef module, LLVMValueRef function, const char *name)
{
    for (LLVMUseRef use = LLVMGetFirstUse(function), next; use; use = next) {
        LLVMValueRef call = LLVMGetUser(use);
        next = LLVMGetNextUse(use);
        if (is_approximate_call(call, function))
            LLVMSetOperand(call, (unsigned)LLVMGetNumOperands(call) - 1,
                           declare(module, function, name));
    }
}

void hdi_relaxed_calls(LLVMModuleRef module)
{
    struct hdi_builtins part;

    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f)) {
        struct hdi_text name = {0};
        if (LLVMIsDeclaration(f) && name_relaxed(hdi_value_name(f), &name) &&
            hdi_builtins_find(name.data, &part))
            relax(module, f, name.data);
        hdi_text_free(&name);
    }
}
