#include "kernel/compiler/prepare/legal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/compiler/ir/map.h"

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

// As clang says it: file, line, error; as much of that as is known.
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

// What builtins of GPUs call, and the compiler replaces.
static bool is_primitive(const struct hdi_llvm *llvm, const char *name)
{
    return strncmp(llvm->triple, "nvptx", 5) == 0 &&
           strncmp(name, "hdu_", 4) == 0;
}

static hd_status check_declared(const struct hdi_llvm *llvm,
                                LLVMModuleRef module, struct hd_error *error)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f)) {
        const char *name = hdi_value_name(f);
        if (!LLVMIsDeclaration(f) || !LLVMGetFirstUse(f) ||
            LLVMGetIntrinsicID(f) != 0 || hdi_call_name_is_known(name) ||
            is_primitive(llvm, name))
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

hd_status hdi_legal_text(const struct hdi_llvm *llvm, LLVMModuleRef module,
                         struct hd_error *error)
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
// The call that closes the circle; NULL: none. Depth is that of calls, as each
// function is entered once.
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

hd_status hdi_legal_check(const struct hdi_llvm *llvm, LLVMModuleRef module,
                          struct hd_error *error)
{
    HDI_TRY(hdi_legal_text(llvm, module, error));
    return hdi_legal_calls(llvm, module, error);
}

hd_status hdi_legal_calls(const struct hdi_llvm *llvm, LLVMModuleRef module,
                          struct hd_error *error)
{
    HDI_TRY(check_declared(llvm, module, error));
    return check_recursion(llvm, module, error);
}
