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

// Functions that do what others do, less exactly.
// One kind of replacement: a function `name` of floats becomes `prefix` + name,
// where the library has that.
struct shorter {
    const char *prefix; // of their names
    const char *const *functions;
    size_t count;
    bool always; // not only where calls may be approximate
};

static const char *const roots[] = {"rsqrt", "native_rsqrt", "half_rsqrt"};
static const char *const others[] = {"sin",  "cos",  "tan",   "sincos",
                                     "log",  "log2", "log10", "pow",
                                     "powr", "pown", "rootn", "rsqrt"};

static const struct shorter estimated = {"__estimated_", roots,
                                         sizeof(roots) / sizeof(roots[0]),
                                         true},
                            relaxed = {"__relaxed_", others,
                                       sizeof(others) / sizeof(others[0]),
                                       false};

// What the shorter one of a function is called; false: there is none.
static bool name_shorter(const struct shorter *s, const char *name,
                         struct hdi_text *text)
{
    size_t length = 0;

    if (strncmp(name, "_Z", 2) != 0)
        return false;
    for (name += 2; isdigit((unsigned char)*name); name++)
        length = length * 10 + (size_t)(*name - '0');
    for (size_t i = 0; i < s->count; i++)
        if (strlen(s->functions[i]) == length &&
            strncmp(name, s->functions[i], length) == 0 &&
            is_of_floats(name + length)) {
            hdi_text_print(text, "_Z%zu%s%s", length + strlen(s->prefix),
                           s->prefix, name);
            return !text->failed;
        }
    return false;
}

static bool may_be_approximate(LLVMValueRef call)
{
    return LLVMCanValueUseFastMathFlags(call) &&
           LLVMGetFastMathFlags(call) & LLVMFastMathApproxFunc;
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

// The called function is the last operand of a call. Others than calls of it,
// such as its address, are left alone.
static void shorten(const struct shorter *s, LLVMModuleRef module,
                    LLVMValueRef function)
{
    struct hdi_text name = {0};
    struct hdi_builtins part;

    if (name_shorter(s, hdi_value_name(function), &name) &&
        hdi_builtins_find(name.data, &part))
        for (LLVMUseRef use = LLVMGetFirstUse(function), next; use;
             use = next) {
            LLVMValueRef call = LLVMGetUser(use);
            next = LLVMGetNextUse(use);
            if (LLVMIsACallInst(call) && LLVMGetCalledValue(call) == function &&
                (s->always || may_be_approximate(call)))
                LLVMSetOperand(call, (unsigned)LLVMGetNumOperands(call) - 1,
                               declare(module, function, name.data));
        }
    hdi_text_free(&name);
}

void hdi_relaxed_calls(const struct hdi_llvm *llvm, LLVMModuleRef module)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f)) {
        if (!LLVMIsDeclaration(f))
            continue;
        if (llvm->target.root_bits >= HDI_LONG_ESTIMATE)
            shorten(&estimated, module, f);
        shorten(&relaxed, module, f);
    }
}
