#include "kernel/compiler/nvptx/spaces.h"

#include <llvm-c/IRReader.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"

static const struct {
    const char *from, *to;
} words[] = {
    {" addrspace(4)", ""},
    {" addrspace(2)", " addrspace(1)"},
    // Events of copies mean nothing: these are over when their function
    // returns.
    {"target(\"spirv.Event\")", "i64"},
    // Lines for the driver, without DWARF's tables.
    {"emissionKind: LineTablesOnly", "emissionKind: DebugDirectivesOnly"},
    {"emissionKind: FullDebug", "emissionKind: DebugDirectivesOnly"},
};

// Where a text between quotes ends; LLVM writes a quote inside as \22.
static const char *skip_quotes(const char *at)
{
    const char *end = strchr(at + 1, '"');
    return end ? end + 1 : at + strlen(at);
}

// Outside quotes alone: names and strings may hold anything.
static void replace_words(const char *at, struct hdi_text *to)
{
    const size_t count = sizeof(words) / sizeof(words[0]);
    const char *begin = at;

    while (*at) {
        size_t w = 0;
        // The first letters; everything else goes on quickly.
        if (*at != ' ' && *at != 't' && *at != 'e' && *at != '"') {
            at++;
            continue;
        }
        while (w < count &&
               strncmp(at, words[w].from, strlen(words[w].from)) != 0)
            w++;
        if (w < count) {
            hdi_text_append(to, begin, (size_t)(at - begin));
            hdi_text_append(to, words[w].to, strlen(words[w].to));
            begin = at += strlen(words[w].from);
        } else {
            at = *at == '"' ? skip_quotes(at) : at + 1;
        }
    }
    hdi_text_append(to, begin, (size_t)(at - begin));
}

// "ptr" or "ptr addrspace(1)"; 0: it is another type.
static size_t pointer_type(const char *at)
{
    size_t length = 3;

    if (strncmp(at, "ptr", 3) != 0)
        return 0;
    if (strncmp(at + 3, " addrspace(", 11) == 0)
        length = strcspn(at, ")") + 1;
    return length;
}

// The " to " that belongs to a cast, past its operand; NULL: none.
static const char *find_to(const char *at)
{
    unsigned depth = 0;

    for (; *at && *at != '\n'; at++) {
        if (*at == '"')
            at = skip_quotes(at) - 1;
        depth += *at == '(';
        if (depth == 0 && strncmp(at, " to ", 4) == 0)
            return at;
        depth -= *at == ')' && depth > 0;
    }
    return NULL;
}

// A cast between what has become one address space is an address 0 bytes on.
// LLVM refuses a cast to the same space; `inner` is a copy because it ends
// where the operand does.
static void replace_casts(const char *at, struct hdi_text *to)
{
    static const char cast[] = "addrspacecast ";

    for (const char *next; (next = strstr(at, cast));) {
        const char *operand = next + sizeof(cast) - 1;
        bool constant = *operand == '(';
        operand += constant;
        size_t from = pointer_type(operand);
        const char *end = from ? find_to(operand) : NULL;
        size_t into = end ? pointer_type(end + 4) : 0;

        hdi_text_append(to, at, (size_t)(next - at));
        if (!into || into != from || memcmp(operand, end + 4, from) != 0) {
            hdi_text_append(to, cast, sizeof(cast) - 1);
            at = next + sizeof(cast) - 1;
            continue;
        }
        hdi_text_print(to, "getelementptr %si8, ", constant ? "(" : "");
        // The operand may hold casts itself.
        struct hdi_text inner = {0};
        hdi_text_append(&inner, operand, (size_t)(end - operand));
        hdi_text_append(&inner, "", 1);
        if (inner.failed)
            to->failed = true;
        else
            replace_casts(inner.data, to);
        hdi_text_free(&inner);
        hdi_text_append(to, ", i64 0", 7);
        at = end + 4 + into;
    }
    hdi_text_append(to, at, strlen(at));
}

hd_status hdi_spaces_lower(const struct hdi_llvm *llvm, LLVMModuleRef *module,
                           struct hd_error *error)
{
    struct hdi_text spaces = {0}, text = {0};
    char *printed = LLVMPrintModuleToString(*module), *message = NULL;
    LLVMModuleRef lowered;

    replace_words(printed, &spaces);
    LLVMDisposeMessage(printed);
    hdi_text_append(&spaces, "", 1);
    if (!spaces.failed)
        replace_casts(spaces.data, &text);
    bool lost = spaces.failed || text.failed;
    hdi_text_free(&spaces);
    if (lost) {
        hdi_text_free(&text);
        return hdi_fail(error, HD_ENOMEM, "%s: no memory to compile",
                        llvm->path);
    }
    bool failed = LLVMParseIRInContext(
        llvm->context,
        LLVMCreateMemoryBufferWithMemoryRangeCopy(text.data, text.size, "text"),
        &lowered, &message);
    hdi_text_free(&text);
    if (failed) {
        hdi_fail(error, HD_EBUILD, "%s: no code for GPUs: %s", llvm->path,
                 message);
        LLVMDisposeMessage(message);
        return HD_EBUILD;
    }
    LLVMDisposeModule(*module);
    *module = lowered;
    return HD_OK;
}
