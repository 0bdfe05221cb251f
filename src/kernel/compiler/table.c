// The compiler module as libheddle sees it.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "kernel/compiler.h"
#include "kernel/compiler/child.h"
#include "kernel/compiler/code.h"
#include "kernel/compiler/frontend.h"
#include "kernel/compiler/linker.h"
#include "kernel/compiler/prepare.h"
#include "kernel/compiler/signature.h"
#include "kernel/compiler/workgroup.h"

extern const struct hdi_compiler hdi_compiler_table;

static hd_status fail_memory(const struct hdi_source *source,
                             struct hd_error *error)
{
    return hdi_fail(error, HD_ENOMEM, "%s: no memory to compile", source->path);
}

static hd_status make_kernel(struct hdi_llvm *llvm, LLVMModuleRef program,
                             LLVMValueRef function,
                             struct hdi_build_kernel *kernel, int *object,
                             struct hd_error *error)
{
    struct hdi_text explanation = {0};
    LLVMModuleRef module;
    LLVMValueRef prepared;
    unsigned regions = 0;

    HDI_TRY(hdi_signature_read(llvm, function, kernel, error));
    HDI_TRY(hdi_prepare_kernel(llvm, program, kernel->name, &module, &prepared,
                               error));
    hd_status status = hdi_workgroup_build(llvm, module, prepared, kernel,
                                           &explanation, &regions, error);
    if (status == HD_OK)
        status = hdi_code_make(llvm, module, kernel, regions, &explanation,
                               object, error);
    LLVMDisposeModule(module);
    if (status == HD_OK && explanation.failed)
        status =
            hdi_fail(error, HD_ENOMEM, "%s: no memory to compile", llvm->path);
    if (status == HD_OK)
        kernel->explanation = explanation.data;
    else
        hdi_text_free(&explanation);
    return status;
}

static hd_status make_kernels(struct hdi_llvm *llvm, LLVMModuleRef program,
                              struct hdi_build *build, int *objects,
                              size_t *object_count, struct hd_error *error)
{
    uint32_t count = 0;

    for (LLVMValueRef f = LLVMGetFirstFunction(program); f;
         f = LLVMGetNextFunction(f))
        count += hdi_is_kernel(f);
    if (count == 0)
        return hdi_fail(error, HD_EBUILD, "%s: no kernel in this program",
                        llvm->path);
    if (count > HDI_CHILD_FILES)
        return hdi_fail(error, HD_ELIMIT, "%s: more than %d kernels",
                        llvm->path, HDI_CHILD_FILES);
    build->kernels = calloc(count, sizeof(*build->kernels));
    if (!build->kernels)
        return hdi_fail(error, HD_ENOMEM, "%s: no memory to compile",
                        llvm->path);
    for (LLVMValueRef f = LLVMGetFirstFunction(program); f;
         f = LLVMGetNextFunction(f)) {
        if (!hdi_is_kernel(f))
            continue;
        HDI_TRY(make_kernel(llvm, program, f,
                            &build->kernels[build->kernel_count++],
                            &objects[*object_count], error));
        ++*object_count;
    }
    return HD_OK;
}

// All that happens in LLVM, with the lock held.
static hd_status make_objects(const struct hdi_source *source,
                              const struct hdi_text *bitcode,
                              struct hdi_build *build, int *objects,
                              size_t *object_count, struct hd_error *error)
{
    struct hdi_llvm llvm;
    LLVMModuleRef program;

    HDI_TRY(hdi_llvm_open(&llvm, source->target, source->path, error));
    hd_status status = hdi_prepare_program(&llvm, bitcode->data, bitcode->size,
                                           &program, error);
    if (status == HD_OK) {
        status =
            make_kernels(&llvm, program, build, objects, object_count, error);
        LLVMDisposeModule(program);
    }
    hdi_llvm_close(&llvm);
    return status;
}

// "x: a.h dir/b\ c.h \" to the names; the source itself came by a pipe.
static bool read_files(const char *rule, struct hdi_build *build)
{
    size_t most = 1;

    for (const char *c = rule; *c; c++)
        most += *c == ' ';
    build->files = calloc(most, sizeof(*build->files));
    if (!build->files)
        return false;

    const char *c = strchr(rule, ':');
    for (c = c ? c + 1 : rule; *c;) {
        if (*c == ' ' || *c == '\n' || (c[0] == '\\' && c[1] == '\n')) {
            c++;
            continue;
        }
        struct hdi_text name = {0};
        for (; *c && *c != ' ' && *c != '\n'; c++) {
            if ((c[0] == '\\' && (c[1] == ' ' || c[1] == '#')) ||
                (c[0] == '$' && c[1] == '$'))
                c++;
            else if (c[0] == '\\' && c[1] == '\n')
                break;
            hdi_text_append(&name, c, 1);
        }
        if (name.failed || !name.data) {
            hdi_text_free(&name);
            return false;
        }
        if (strcmp(name.data, "-") == 0 || strcmp(name.data, "<stdin>") == 0)
            hdi_text_free(&name);
        else
            build->files[build->file_count++] = name.data;
    }
    return true;
}

static hd_status make(const struct hdi_source *source, struct hdi_build *build,
                      struct hd_error *error)
{
    struct hdi_text bitcode = {0}, dependencies = {0}, image = {0};
    int objects[HDI_CHILD_FILES];
    size_t object_count = 0;
    struct hdi_build made = {.target = strdup(source->target),
                             .cpu = strdup(source->cpu)};

    hd_status status =
        made.target && made.cpu
            ? hdi_frontend_run(source, &bitcode, &dependencies, error)
            : fail_memory(source, error);
    if (status == HD_OK &&
        !read_files(dependencies.data ? dependencies.data : "", &made))
        status = fail_memory(source, error);
    if (status == HD_OK) {
        hdi_llvm_lock();
        status = make_objects(source, &bitcode, &made, objects, &object_count,
                              error);
        hdi_llvm_unlock();
    }
    if (status == HD_OK)
        status = hdi_linker_run(objects, object_count, &image, error);
    while (object_count > 0)
        close(objects[--object_count]);
    hdi_text_free(&dependencies);
    hdi_text_free(&bitcode);
    if (status != HD_OK) {
        hdi_text_free(&image);
        hdi_build_clear(&made);
        return status;
    }
    made.image = image.data;
    made.image_size = image.size;
    *build = made;
    return HD_OK;
}

__attribute__((visibility("default")))
const struct hdi_compiler hdi_compiler_table = {
    .version = HDI_COMPILER_VERSION,
    .build = make,
};
