#include "kernel/compiler/driver/signature.h"

#include <ctype.h>
#include <llvm-c/DebugInfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "kernel/compiler/prepare/prepare.h"

enum {
    MAX_OPERANDS = 256 // of one metadata node: OpenCL's arguments of a kernel
};

// The operands of the metadata node attached under `name`; their number, 0 when
// there is none.
// A node with more operands than that counts as absent: `operands` has no room
// for it.
static unsigned attached(LLVMValueRef function, const char *name,
                         LLVMValueRef operands[MAX_OPERANDS])
{
    LLVMContextRef context =
        LLVMGetModuleContext(LLVMGetGlobalParent(function));
    unsigned kind =
        LLVMGetMDKindIDInContext(context, name, (unsigned)strlen(name));
    size_t count;
    unsigned operand_count = 0;
    LLVMValueMetadataEntry *entries =
        LLVMGlobalCopyAllMetadata(function, &count);

    for (unsigned i = 0; i < count; i++) {
        if (LLVMValueMetadataEntriesGetKind(entries, i) != kind)
            continue;
        LLVMValueRef node = LLVMMetadataAsValue(
            context, LLVMValueMetadataEntriesGetMetadata(entries, i));
        unsigned n = LLVMGetMDNodeNumOperands(node);
        if (n <= MAX_OPERANDS) {
            LLVMGetMDNodeOperands(node, operands);
            operand_count = n;
        }
    }
    LLVMDisposeValueMetadataEntries(entries);
    return operand_count;
}

static char *copy_string(LLVMValueRef text)
{
    unsigned size = 0;
    const char *data = text ? LLVMGetMDString(text, &size) : NULL;
    return strndup(data ? data : "", data ? size : 0);
}

static uint32_t number(LLVMValueRef value)
{
    return value && LLVMIsAConstantInt(value)
               ? (uint32_t)LLVMConstIntGetZExtValue(value)
               : 0;
}

// "read_only image2d_t": the type does not say how the kernel uses it.
static char *image_type(LLVMValueRef access, LLVMValueRef base)
{
    char *type = NULL, *first = copy_string(access),
         *second = copy_string(base);
    if (first && second && asprintf(&type, "%s %s", first, second) < 0)
        type = NULL;
    free(second);
    free(first);
    return type;
}

static bool has_word(LLVMValueRef text, const char *word)
{
    char *copy = copy_string(text);
    bool found = copy && strstr(copy, word);
    free(copy);
    return found;
}

// Size of an OpenCL C type by its name [bytes], 0 when it is not known: LLVM's
// pointers do not say what they point to.
// Lengths of three components take the room of four, as OpenCL C says. A
// structure is looked up by the name that clang gave its type.
static uint32_t named_size(const struct hdi_llvm *llvm, const char *name,
                           size_t length)
{
    static const struct {
        const char *name;
        uint32_t size;
    } scalars[] = {{"char", 1},  {"uchar", 1},  {"short", 2}, {"ushort", 2},
                   {"int", 4},   {"uint", 4},   {"long", 8},  {"ulong", 8},
                   {"float", 4}, {"double", 8}, {"half", 2},  {"bool", 1},
                   {"void", 0}};

    for (size_t i = 0; i < sizeof(scalars) / sizeof(scalars[0]); i++) {
        size_t n = strlen(scalars[i].name);
        if (n > length || strncmp(name, scalars[i].name, n) != 0)
            continue;
        if (n == length)
            return scalars[i].size;
        char *end;
        unsigned long components = strtoul(name + n, &end, 10);
        if (end == name + length && components >= 2 && components <= 16)
            return scalars[i].size *
                   (uint32_t)(components == 3 ? 4 : components);
    }

    size_t tag = length > 7 && strncmp(name, "struct ", 7) == 0 ? 7 : 0;
    struct hdi_text structure = {0};
    hdi_text_print(&structure, "struct.%.*s", (int)(length - tag), name + tag);
    LLVMTypeRef type =
        structure.failed ? NULL
                         : LLVMGetTypeByName2(llvm->context, structure.data);
    hdi_text_free(&structure);
    return type && LLVMTypeIsSized(type)
               ? (uint32_t)LLVMABISizeOfType(llvm->layout, type)
               : 0;
}

// A structure by value is a pointer for LLVM; the attribute says to what.
static LLVMTypeRef value_type(LLVMValueRef function, unsigned index)
{
    LLVMAttributeRef byval = LLVMGetEnumAttributeAtIndex(
        function, index + 1, LLVMGetEnumAttributeKindForName("byval", 5));
    return byval ? LLVMGetTypeAttributeValue(byval)
                 : LLVMTypeOf(LLVMGetParam(function, index));
}

// `base` is the type without the program's own names.
// By name first: images and samplers are pointers or numbers for LLVM, by the
// address space alone an image would be a buffer.
static enum hd_arg_kind kind_of(LLVMTypeRef type, const char *base,
                                unsigned size)
{
    if (size > 7 && strncmp(base, "image", 5) == 0 && isdigit(base[5]) &&
        strncmp(base + size - 2, "_t", 2) == 0)
        return HD_ARG_IMAGE;
    if (size == 9 && strncmp(base, "sampler_t", size) == 0)
        return HD_ARG_SAMPLER;
    if (LLVMGetTypeKind(type) != LLVMPointerTypeKind)
        return HD_ARG_VALUE;
    switch (LLVMGetPointerAddressSpace(type)) {
    case HDI_SPACE_LOCAL:
        return HD_ARG_LOCAL;
    case HDI_SPACE_CONSTANT:
        return HD_ARG_CONSTANT;
    default:
        return HD_ARG_GLOBAL;
    }
}

// SPIR-V may have no names.
static char *name_of(LLVMValueRef text, unsigned index)
{
    char *name = copy_string(text);

    if (!name || *name)
        return name;
    free(name);
    return asprintf(&name, "arg%u", index) < 0 ? NULL : name;
}

// Arguments are packed as a C structure with these members would be: the
// offsets are what launches write to and compiled code reads from. The whole is
// a multiple of 16 bytes.
//
// Of an argument that is a pointer `size` is that of what it points to, 0 when
// it is not known.
static hd_status read_args(const struct hdi_llvm *llvm, LLVMValueRef function,
                           struct hdi_build_kernel *kernel,
                           struct hd_error *error)
{
    LLVMValueRef names[MAX_OPERANDS], types[MAX_OPERANDS],
        base_types[MAX_OPERANDS], qualifiers[MAX_OPERANDS],
        accesses[MAX_OPERANDS];
    unsigned count = LLVMCountParams(function);
    uint64_t offset = 0;

    if (count > MAX_OPERANDS)
        return hdi_fail(error, HD_ELIMIT,
                        "%s:%u: kernel '%s' has more than %d arguments",
                        kernel->file, kernel->line, kernel->name, MAX_OPERANDS);
    bool named = attached(function, "kernel_arg_name", names) == count;
    if (attached(function, "kernel_arg_type", types) != count ||
        attached(function, "kernel_arg_base_type", base_types) != count ||
        attached(function, "kernel_arg_type_qual", qualifiers) != count ||
        attached(function, "kernel_arg_access_qual", accesses) != count)
        return hdi_fail(error, HD_EBUILD,
                        "%s:%u: the front end did not describe the arguments "
                        "of '%s'",
                        kernel->file, kernel->line, kernel->name);

    kernel->args = calloc(count + 1, sizeof(*kernel->args));
    if (!kernel->args)
        return hdi_fail(error, HD_ENOMEM, "%s: no memory to compile",
                        llvm->path);
    kernel->arg_count = count;
    for (unsigned i = 0; i < count; i++) {
        struct hdi_build_arg *arg = &kernel->args[i];
        LLVMTypeRef type = value_type(function, i);
        unsigned name_size;
        const char *base = LLVMGetMDString(base_types[i], &name_size);

        arg->kind = kind_of(type, base, name_size);
        arg->name = name_of(named ? names[i] : NULL, i);
        arg->type = arg->kind == HD_ARG_IMAGE
                        ? image_type(accesses[i], base_types[i])
                        : copy_string(types[i]);
        if (!arg->name || !arg->type)
            return hdi_fail(error, HD_ENOMEM, "%s: no memory to compile",
                            llvm->path);
        arg->pointee_const =
            arg->kind == HD_ARG_CONSTANT ||
            (arg->kind == HD_ARG_IMAGE && has_word(accesses[i], "read_only")) ||
            (LLVMGetTypeKind(type) == LLVMPointerTypeKind &&
             has_word(qualifiers[i], "const"));
        arg->qualifiers =
            (has_word(qualifiers[i], "const") ? HD_ARG_CONST : 0u) |
            (has_word(qualifiers[i], "restrict") ? HD_ARG_RESTRICT : 0u) |
            (has_word(qualifiers[i], "volatile") ? HD_ARG_VOLATILE : 0u);
        uint64_t size = LLVMABISizeOfType(llvm->layout, type);
        arg->size = (uint32_t)size;
        if (arg->kind != HD_ARG_VALUE && arg->kind != HD_ARG_SAMPLER) {
            while (name_size > 0 && base[name_size - 1] != '*')
                name_size--;
            arg->size = name_size ? named_size(llvm, base, name_size - 1) : 0;
        }
        offset =
            hdi_round_up(offset, LLVMABIAlignmentOfType(llvm->layout, type));
        arg->offset = (uint32_t)offset;
        offset += size;
    }
    kernel->args_size = (uint32_t)hdi_round_up(offset, 16);
    return HD_OK;
}

// The name of a scalar or vector type in OpenCL C; NULL: no memory.
static char *type_name(LLVMTypeRef type, bool is_signed)
{
    unsigned count = LLVMGetTypeKind(type) == LLVMVectorTypeKind
                         ? LLVMGetVectorSize(type)
                         : 1;
    const char *scalar = "";
    char *name = NULL;

    if (count > 1)
        type = LLVMGetElementType(type);
    switch (LLVMGetTypeKind(type)) {
    case LLVMHalfTypeKind:
        scalar = "half";
        break;
    case LLVMFloatTypeKind:
        scalar = "float";
        break;
    case LLVMDoubleTypeKind:
        scalar = "double";
        break;
    case LLVMIntegerTypeKind:
        switch (LLVMGetIntTypeWidth(type)) {
        case 8:
            scalar = is_signed ? "char" : "uchar";
            break;
        case 16:
            scalar = is_signed ? "short" : "ushort";
            break;
        case 32:
            scalar = is_signed ? "int" : "uint";
            break;
        case 64:
            scalar = is_signed ? "long" : "ulong";
            break;
        default:
            break;
        }
        break;
    default:
        break;
    }
    if (count == 1 || !*scalar)
        return strdup(scalar);
    return asprintf(&name, "%s%u", scalar, count) < 0 ? NULL : name;
}

// Without debug information, as SPIR-V may be, the line is 0 and the file is
// the program's.
hd_status hdi_signature_read(const struct hdi_llvm *llvm, LLVMValueRef function,
                             struct hdi_build_kernel *kernel,
                             struct hd_error *error)
{
    LLVMMetadataRef subprogram = LLVMGetSubprogram(function);
    LLVMValueRef sizes[MAX_OPERANDS];

    kernel->name = strdup(hdi_value_name(function));
    if (subprogram) {
        unsigned length = 0;
        const char *file =
            LLVMDIFileGetFilename(LLVMDIScopeGetFile(subprogram), &length);
        kernel->file = strndup(file, length);
        kernel->line = LLVMDISubprogramGetLine(subprogram);
    } else {
        kernel->file = strdup(llvm->path);
    }
    if (!kernel->name || !kernel->file)
        return hdi_fail(error, HD_ENOMEM, "%s: no memory to compile",
                        llvm->path);

    if (attached(function, "reqd_work_group_size", sizes) == 3)
        for (int d = 0; d < 3; d++)
            kernel->required_local[d] = number(sizes[d]);
    if (attached(function, "work_group_size_hint", sizes) == 3)
        for (int d = 0; d < 3; d++)
            kernel->hinted_local[d] = number(sizes[d]);
    // A value of the type, and whether it has a sign.
    kernel->hinted_type =
        attached(function, "vec_type_hint", sizes) == 2
            ? type_name(LLVMTypeOf(sizes[0]), number(sizes[1]) != 0)
            : strdup("");
    if (!kernel->hinted_type)
        return hdi_fail(error, HD_ENOMEM, "%s: no memory to compile",
                        llvm->path);
    return read_args(llvm, function, kernel, error);
}

uint64_t hdi_signature_variables(const struct hdi_llvm *llvm,
                                 LLVMModuleRef program)
{
    uint64_t bytes = 0;

    for (LLVMValueRef g = LLVMGetFirstGlobal(program); g;
         g = LLVMGetNextGlobal(g))
        if (hdi_is_program_variable(g)) {
            LLVMTypeRef type = LLVMGlobalGetValueType(g);
            bytes = hdi_round_up(bytes,
                                 LLVMABIAlignmentOfType(llvm->layout, type)) +
                    LLVMABISizeOfType(llvm->layout, type);
        }
    return bytes;
}
