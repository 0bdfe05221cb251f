#include "kernel/compiler/ir/note.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    // Enough for the findings of a kernel; those behind are dropped, and a
    // longer note is cut off.
    MAX_NOTES = 8192, // [bytes]
    MAX_NOTE = 256    // [bytes]
};

void hdi_note(const struct hdi_llvm *llvm, LLVMValueRef where,
              const char *format, ...)
{
    char what[MAX_NOTE], note[MAX_NOTE + 32];
    unsigned line = hdi_source_line(where);
    va_list arguments;

    if (!llvm->notes || line == 0)
        return;
    va_start(arguments, format);
    vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    snprintf(note, sizeof(note), "line %u: %s\n", line, what);
    if (!llvm->notes->data ||
        (llvm->notes->size < MAX_NOTES && !strstr(llvm->notes->data, note)))
        hdi_text_print(llvm->notes, "%s", note);
}
