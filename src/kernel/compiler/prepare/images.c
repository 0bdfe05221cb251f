#include "kernel/compiler/prepare/images.h"

#include <llvm-c/IRReader.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"

// Types appear in texts of modules only as such: quotes in names and strings
// are escaped.
static const struct {
    const char *from, *to;
} types[] = {{"target(\"spirv.Image\"", "ptr addrspace(2)"},
             {"target(\"spirv.Sampler\"", "i32"}};

static bool is_opaque(LLVMTypeRef type)
{
    return LLVMGetTypeKind(type) == LLVMTargetExtTypeKind;
}

// Whoever uses an image or a sampler got it from a function.
static bool has_images(LLVMModuleRef module)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f)) {
        if (is_opaque(LLVMGetReturnType(LLVMGlobalGetValueType(f))))
            return true;
        for (unsigned i = 0; i < LLVMCountParams(f); i++)
            if (is_opaque(LLVMTypeOf(LLVMGetParam(f, i))))
                return true;
    }
    return false;
}

static void replace(const char *from, struct hdi_text *to)
{
    for (const char *next; (next = strstr(from, "target(\"spirv."));) {
        size_t type = 0, count = sizeof(types) / sizeof(types[0]);
        while (type < count &&
               strncmp(next, types[type].from, strlen(types[type].from)) != 0)
            type++;
        const char *end = type < count ? strchr(next, ')') : NULL;
        hdi_text_append(to, from, (size_t)(next - from));
        if (end) {
            hdi_text_append(to, types[type].to, strlen(types[type].to));
            from = end + 1;
        } else {
            hdi_text_append(to, next, 1);
            from = next + 1;
        }
    }
    hdi_text_append(to, from, strlen(from));
}

hd_status hdi_images_lower(const struct hdi_llvm *llvm, LLVMModuleRef *module,
                           struct hd_error *error)
{
    if (!has_images(*module))
        return HD_OK;

    struct hdi_text text = {0};
    char *printed = LLVMPrintModuleToString(*module);
    replace(printed, &text);
    LLVMDisposeMessage(printed);
    if (text.failed) {
        hdi_text_free(&text);
        return hdi_fail(error, HD_ENOMEM, "%s: no memory to compile",
                        llvm->path);
    }

    LLVMModuleRef lowered;
    char *message = NULL;
    bool failed = LLVMParseIRInContext(
        llvm->context,
        LLVMCreateMemoryBufferWithMemoryRangeCopy(text.data, text.size, "text"),
        &lowered, &message);
    hdi_text_free(&text);
    if (failed) {
        hdi_fail(error, HD_EBUILD, "%s: images cannot be compiled: %s",
                 llvm->path, message);
        LLVMDisposeMessage(message);
        return HD_EBUILD;
    }
    LLVMDisposeModule(*module);
    *module = lowered;
    return HD_OK;
}
