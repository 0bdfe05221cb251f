#include "kernel/compiler/driver/merger.h"

#include <llvm-c/BitReader.h>
#include <llvm-c/BitWriter.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/Linker.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/compiler/ir/llvm.h"
#include "kernel/compiler/prepare/images.h"

// All modules live in one context, of this merger alone: LLVM links no others.
// Invariant: what `modules` holds is destroyed by hdi_merger_run(), also after
// a failure.
struct merger {
    LLVMContextRef context;
    const struct hdi_source *source;
    LLVMModuleRef *modules; // per part; NULL: none, or not any more
};

// On failure the modules read so far are left in place, for the caller.
static hd_status read_modules(struct merger *m, const struct hdi_text *bitcodes,
                              struct hd_error *error)
{
    for (size_t i = 0; i < m->source->part_count; i++) {
        LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(
            bitcodes[i].data, bitcodes[i].size, "bitcode");
        bool failed =
            LLVMParseBitcodeInContext2(m->context, buffer, &m->modules[i]) != 0;
        LLVMDisposeMemoryBuffer(buffer);
        if (failed) {
            m->modules[i] = NULL;
            return hdi_fail(error, HD_EBUILD, "%s: bitcode cannot be read",
                            m->source->parts[i].path);
        }
        // Images have other types in clang's bitcode than in SPIR-V's.
        const struct hdi_llvm llvm = {.context = m->context,
                                      .path = m->source->parts[i].path};
        HDI_TRY(hdi_images_lower(&llvm, &m->modules[i], error));
        // Of a library that another version made, they may differ.
        if (i > 0) {
            LLVMSetTarget(m->modules[i], LLVMGetTarget(m->modules[0]));
            LLVMSetDataLayout(m->modules[i],
                              LLVMGetDataLayoutStr(m->modules[0]));
        }
    }
    return HD_OK;
}

// Comparing -------------------------------------------------------------------

static bool is_same(LLVMTypeRef a, LLVMTypeRef b);

static bool are_same_structures(LLVMTypeRef a, LLVMTypeRef b)
{
    unsigned count = LLVMCountStructElementTypes(a);

    if (count != LLVMCountStructElementTypes(b) ||
        LLVMIsPackedStruct(a) != LLVMIsPackedStruct(b))
        return false;
    for (unsigned i = 0; i < count; i++)
        if (!is_same(LLVMStructGetTypeAtIndex(a, i),
                     LLVMStructGetTypeAtIndex(b, i)))
            return false;
    return true;
}

static bool are_same_functions(LLVMTypeRef a, LLVMTypeRef b)
{
    unsigned count = LLVMCountParamTypes(a);

    if (count != LLVMCountParamTypes(b) ||
        LLVMIsFunctionVarArg(a) != LLVMIsFunctionVarArg(b) ||
        !is_same(LLVMGetReturnType(a), LLVMGetReturnType(b)))
        return false;
    LLVMTypeRef *types = calloc(2 * (size_t)count + 1, sizeof(LLVMTypeRef));
    bool same = types != NULL;
    if (same) {
        LLVMGetParamTypes(a, types);
        LLVMGetParamTypes(b, types + count);
    }
    for (unsigned i = 0; i < count && same; i++)
        same = is_same(types[i], types[count + i]);
    free(types);
    return same;
}

// LLVM has each type once, but of a structure one per part that names it.
// Pointers are opaque, so this does not go round in circles: no type is part of
// itself.
static bool is_same(LLVMTypeRef a, LLVMTypeRef b)
{
    LLVMTypeKind kind = LLVMGetTypeKind(a);

    if (a == b)
        return true;
    if (kind != LLVMGetTypeKind(b))
        return false;
    if (kind == LLVMStructTypeKind)
        return are_same_structures(a, b);
    if (kind == LLVMFunctionTypeKind)
        return are_same_functions(a, b);
    if (kind == LLVMArrayTypeKind)
        return LLVMGetArrayLength2(a) == LLVMGetArrayLength2(b) &&
               is_same(LLVMGetElementType(a), LLVMGetElementType(b));
    return false;
}

// "extern constant int table[];" leaves the length open.
static bool is_open_array(LLVMValueRef global, LLVMTypeRef other)
{
    LLVMTypeRef type = LLVMGlobalGetValueType(global);

    return LLVMIsDeclaration(global) &&
           LLVMGetTypeKind(type) == LLVMArrayTypeKind &&
           LLVMGetArrayLength2(type) == 0 &&
           LLVMGetTypeKind(other) == LLVMArrayTypeKind &&
           is_same(LLVMGetElementType(type), LLVMGetElementType(other));
}

static bool is_shared(LLVMValueRef global)
{
    LLVMLinkage linkage = LLVMGetLinkage(global);
    return linkage != LLVMInternalLinkage && linkage != LLVMPrivateLinkage;
}

static bool is_defined(LLVMValueRef global)
{
    return !LLVMIsDeclaration(global) &&
           LLVMGetLinkage(global) == LLVMExternalLinkage;
}

// Messages --------------------------------------------------------------------

// "a.cl:3", or the file alone.
static void append_place(const struct merger *m, size_t part,
                         LLVMValueRef global, struct hdi_text *text)
{
    LLVMMetadataRef about =
        LLVMIsAFunction(global) ? LLVMGetSubprogram(global) : NULL;
    LLVMMetadataRef file = about ? LLVMDIScopeGetFile(about) : NULL;
    unsigned size = 0;
    const char *name = file ? LLVMDIFileGetFilename(file, &size) : NULL;

    if (name && size > 0)
        hdi_text_print(text, "%.*s:%u", (int)size, name,
                       LLVMDISubprogramGetLine(about));
    else
        hdi_text_print(text, "%s", m->source->parts[part].path);
}

static hd_status fail_at(const struct merger *m, size_t part,
                         LLVMValueRef global, const char *what, size_t other,
                         LLVMValueRef there, const char *end,
                         struct hd_error *error)
{
    struct hdi_text text = {0};

    append_place(m, part, global, &text);
    hdi_text_print(&text, ": error: '%s' %s ", hdi_value_name(global), what);
    append_place(m, other, there, &text);
    hdi_text_print(&text, "%s", end);
    hd_status status =
        text.failed ? hdi_fail(error, HD_ENOMEM, "%s: no memory to compile",
                               m->source->path)
                    : hdi_fail_text(error, HD_EBUILD, text.data, text.size);
    hdi_text_free(&text);
    return status;
}

// Checking --------------------------------------------------------------------

static LLVMValueRef find(LLVMModuleRef module, const char *name)
{
    LLVMValueRef function = LLVMGetNamedFunction(module, name);
    return function ? function : LLVMGetNamedGlobal(module, name);
}

// Two parts may declare what neither defines: another may, or the builtins.
static hd_status check_pair(const struct merger *m, size_t part,
                            LLVMValueRef global, size_t before,
                            LLVMValueRef there, struct hd_error *error)
{
    LLVMTypeRef type = LLVMGlobalGetValueType(global);
    LLVMTypeRef other = LLVMGlobalGetValueType(there);

    if (is_defined(global) && is_defined(there))
        return fail_at(m, part, global, "is defined in", before, there, " too",
                       error);
    bool same = LLVMTypeOf(global) == LLVMTypeOf(there) &&
                (is_same(type, other) || is_open_array(global, other) ||
                 is_open_array(there, type));
    return same ? HD_OK
                : fail_at(m, part, global, "is something else than in", before,
                          there, ": declare it as it is defined", error);
}

// "llvm." are intrinsics and lists of LLVM's own, such as llvm.used, which the
// linker joins.
static hd_status check(const struct merger *m, size_t part, LLVMValueRef global,
                       struct hd_error *error)
{
    const char *name = hdi_value_name(global);

    if (!is_shared(global) || strncmp(name, "llvm.", 5) == 0)
        return HD_OK;
    for (size_t i = 0; i < part; i++) {
        LLVMValueRef there = find(m->modules[i], name);
        if (there && is_shared(there))
            HDI_TRY(check_pair(m, part, global, i, there, error));
    }
    return HD_OK;
}

// Parts are compared with all before them, by name: fine for the tens of parts
// that programs have.
static hd_status check_all(const struct merger *m, struct hd_error *error)
{
    for (size_t i = 1; i < m->source->part_count; i++) {
        for (LLVMValueRef f = LLVMGetFirstFunction(m->modules[i]); f;
             f = LLVMGetNextFunction(f))
            HDI_TRY(check(m, i, f, error));
        for (LLVMValueRef g = LLVMGetFirstGlobal(m->modules[i]); g;
             g = LLVMGetNextGlobal(g))
            HDI_TRY(check(m, i, g, error));
    }
    return HD_OK;
}

// Merging ---------------------------------------------------------------------

// The linker destroys a module whether it succeeds or not, so it is forgotten
// first.
static hd_status link_all(struct merger *m, struct hdi_text *merged,
                          struct hd_error *error)
{
    for (size_t i = 1; i < m->source->part_count; i++) {
        LLVMModuleRef module = m->modules[i];
        m->modules[i] = NULL; // the linker destroys it
        if (LLVMLinkModules2(m->modules[0], module))
            return hdi_fail(error, HD_EBUILD, "%s: cannot be linked",
                            m->source->parts[i].path);
    }
    LLVMMemoryBufferRef buffer = LLVMWriteBitcodeToMemoryBuffer(m->modules[0]);
    hdi_text_append(merged, LLVMGetBufferStart(buffer),
                    LLVMGetBufferSize(buffer));
    LLVMDisposeMemoryBuffer(buffer);
    return merged->failed
               ? hdi_fail(error, HD_ENOMEM, "%s: no memory to compile",
                          m->source->path)
               : HD_OK;
}

hd_status hdi_merger_run(const struct hdi_source *source,
                         const struct hdi_text *bitcodes,
                         struct hdi_text *merged, struct hd_error *error)
{
    struct merger m = {
        .source = source,
        .modules = calloc(source->part_count, sizeof(*m.modules)),
    };

    if (!m.modules)
        return hdi_fail(error, HD_ENOMEM, "%s: no memory to compile",
                        source->path);
    m.context = hdi_llvm_quiet_context();
    hd_status status = read_modules(&m, bitcodes, error);
    if (status == HD_OK)
        status = check_all(&m, error);
    if (status == HD_OK)
        status = link_all(&m, merged, error);
    for (size_t i = 0; i < source->part_count; i++)
        if (m.modules[i])
            LLVMDisposeModule(m.modules[i]);
    LLVMContextDispose(m.context);
    free(m.modules);
    return status;
}
