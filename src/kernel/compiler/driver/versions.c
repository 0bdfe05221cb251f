// The same kernel several times over, linked into one module behind the name
// that the backend looks for (hdk_NAME). What differs is decided per launch by
// a switch outside all loops.
//
// Invariant: `saved_bytes` of the kernel is the largest of all versions: a
// launch does not know which one it will run.
#include "kernel/compiler/driver/versions.h"

#include <llvm-c/Linker.h>
#include <stddef.h>
#include <stdlib.h>

#include "backend/frame.h"
#include "base/error.h"
#include "kernel/compiler/ir/rules.h"
#include "kernel/compiler/loops/chunk.h"
#include "kernel/compiler/loops/flatten.h"
#include "kernel/image.h"

// Those that images of real programs have. One more costs its share of the
// compile time of every kernel with images.
static const enum hdi_image_layout layouts[] = {
    HDI_LAYOUT_8888, HDI_LAYOUT_8, HDI_LAYOUT_32, HDI_LAYOUT_4_X_32};

enum {
    VERSIONS = sizeof(layouts) / sizeof(layouts[0])
};

static LLVMValueRef load_at(LLVMContextRef c, LLVMBuilderRef builder,
                            LLVMTypeRef type, LLVMValueRef base, size_t offset)
{
    LLVMValueRef index = LLVMConstInt(LLVMInt64TypeInContext(c), offset, false);
    return LLVMBuildLoad2(builder, type,
                          LLVMBuildInBoundsGEP2(builder,
                                                LLVMInt8TypeInContext(c), base,
                                                &index, 1, ""),
                          "");
}

static LLVMValueRef load_layout(LLVMContextRef c, LLVMBuilderRef builder,
                                LLVMValueRef image)
{
    return load_at(c, builder, LLVMInt32TypeInContext(c), image,
                   offsetof(struct hdi_image, layout));
}

// The builtin that all others ask for an image's layout.
static LLVMValueRef layout_function(LLVMModuleRef program)
{
    return LLVMGetNamedFunction(program, "hdi_image_layout");
}

// Let it say `layout`, or what the image says.
// The program is changed in place and set back afterwards (add_versions): a
// copy of all builtins per layout would cost more than the kernel. A hand has
// its own program, so nobody else sees that.
static void set_layout(LLVMContextRef c, LLVMValueRef function,
                       enum hdi_image_layout layout)
{
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(c);

    while (LLVMGetFirstBasicBlock(function))
        LLVMDeleteBasicBlock(LLVMGetFirstBasicBlock(function));
    hdi_build_at_end(builder, LLVMAppendBasicBlockInContext(c, function, ""));
    LLVMBuildRet(builder,
                 layout == HDI_LAYOUT_ANY
                     ? load_layout(c, builder, LLVMGetParam(function, 0))
                     : LLVMConstInt(LLVMInt32TypeInContext(c), layout, false));
    LLVMDisposeBuilder(builder);
}

static LLVMValueRef entry_of(LLVMModuleRef module,
                             const struct hdi_build_kernel *kernel)
{
    struct hdi_text name = {0};

    hdi_text_print(&name, "hdk_%s", kernel->name);
    LLVMValueRef entry =
        name.failed ? NULL : LLVMGetNamedFunction(module, name.data);
    hdi_text_free(&name);
    return entry;
}

// Give a version's function a name of its own. Inlined, it would lose its
// vector width.
static LLVMValueRef hide(LLVMModuleRef module,
                         const struct hdi_build_kernel *kernel,
                         const struct hdi_text *name)
{
    LLVMValueRef entry = entry_of(module, kernel);

    if (!entry || name->failed)
        return NULL;
    LLVMSetValueName2(entry, name->data, name->size);
    hdi_function_flag(entry, "noinline", true);
    return entry;
}

static LLVMValueRef hide_version(LLVMModuleRef module,
                                 const struct hdi_build_kernel *kernel,
                                 unsigned number)
{
    struct hdi_text name = {0};

    hdi_text_print(&name, "version%u.%s", number, kernel->name);
    LLVMValueRef entry = hide(module, kernel, &name);
    hdi_text_free(&name);
    return entry;
}

// The function that the backend calls, of two that are called in turn.
// The halves share the frame, and each leaves out the work-items of the other.
static void write_both(struct hdi_llvm *llvm, LLVMModuleRef module,
                       const char *name, const char *first, const char *second)
{
    LLVMValueRef both[2] = {LLVMGetNamedFunction(module, first),
                            LLVMGetNamedFunction(module, second)};
    LLVMTypeRef type = LLVMGlobalGetValueType(both[0]);
    LLVMValueRef function = LLVMAddFunction(module, name, type);
    LLVMValueRef frame = LLVMGetParam(function, 0);
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(llvm->context);

    hdi_function_flag(function, "nounwind", true);
    hdi_build_at_end(
        builder, LLVMAppendBasicBlockInContext(llvm->context, function, ""));
    for (unsigned i = 0; i < 2; i++) {
        LLVMBuildCall2(builder, type, both[i], &frame, 1, "");
        LLVMSetLinkage(both[i], LLVMInternalLinkage);
    }
    LLVMBuildRetVoid(builder);
    LLVMDisposeBuilder(builder);
}

// Two work-group functions, of the box (interior.h) and of what is around it,
// as one. Destroys `box`.
// The linker destroys `box` whether it succeeds or not, so it runs even when a
// name could not be made.
static hd_status join_halves(struct hdi_llvm *llvm, LLVMModuleRef module,
                             LLVMModuleRef box,
                             const struct hdi_build_kernel *kernel,
                             struct hd_error *error)
{
    static const char *const names[] = {"interior", "around"};
    struct hdi_text name = {0}, half[2] = {{0}, {0}};
    bool failed = false;

    hdi_text_print(&name, "hdk_%s", kernel->name);
    for (unsigned i = 0; i < 2; i++) {
        hdi_text_print(&half[i], "%s.%s", names[i], kernel->name);
        failed |= !hide(i ? module : box, kernel, &half[i]);
    }
    failed = LLVMLinkModules2(module, box) || failed || name.failed;
    if (!failed)
        write_both(llvm, module, name.data, half[0].data, half[1].data);
    hdi_text_free(&half[0]);
    hdi_text_free(&half[1]);
    hdi_text_free(&name);
    return failed ? hdi_fail(error, HD_ENOMEM, "%s: no memory to compile",
                             llvm->path)
                  : HD_OK;
}

// The same kernel in another module, with texts of its own for what is said of
// it.
static struct hdi_work copy_of(const struct hdi_work *work,
                               LLVMModuleRef module,
                               struct hdi_text *explanation)
{
    struct hdi_work copy = *work;

    copy.module = module;
    copy.kernel = LLVMGetNamedFunction(module, work->about->name);
    copy.explanation = explanation;
    return copy;
}

// The halves of a kernel that asks whether a border is near.
// What is said of the border's half is dropped: it would repeat that of the
// interior. Its regions come second in `forms`, from `first` on.
static hd_status build_halves(struct hdi_work *w, struct hd_error *error)
{
    struct hdi_text around = {0};
    struct hdi_work inner = copy_of(w, w->box, w->explanation);
    hd_status status = hdi_pipeline_loops(&inner, error);
    uint32_t saved_bytes = w->about->saved_bytes;
    unsigned first = w->forms->count;

    if (status == HD_OK) {
        struct hdi_work outer = copy_of(w, w->module, &around);
        status = hdi_pipeline_loops(&outer, error);
    }
    hdi_text_free(&around);
    if (status != HD_OK) {
        LLVMDisposeModule(w->box);
        return status;
    }
    if (w->about->saved_bytes < saved_bytes)
        w->about->saved_bytes = saved_bytes;
    hdi_text_print(w->explanation,
                   "loop versioning at borders: %u clamps and comparisons left "
                   "out away from them; near them: region %u\n",
                   w->known, first);
    return join_halves(w->llvm, w->module, w->box, w->about, error);
}

// With lanes along what the kernel takes for x.
static hd_status build_along_x(struct hdi_work *w, struct hd_error *error)
{
    HDI_TRY(hdi_pipeline_run(w, HDI_STAGE_RANGE, error));
    return w->box ? build_halves(w, error) : hdi_pipeline_loops(w, error);
}

// A required size is turned with the kernel while its code is made, and back
// for launches, which know the axes as they are written.
static void turn_sizes(struct hdi_build_kernel *kernel, unsigned axis)
{
    uint32_t x = kernel->required_local[0];
    kernel->required_local[0] = kernel->required_local[axis];
    kernel->required_local[axis] = x;
}

// The work-group function for one way, under a name of its own.
// Sizes are turned back before the status is looked at.
static hd_status build_way(struct hdi_work *w, bool turned,
                           struct hdi_text *name, struct hd_error *error)
{
    if (turned) {
        hdi_axis_turn(w->module, w->axis.number);
        turn_sizes(w->about, w->axis.number);
    }
    hd_status status = build_along_x(w, error);
    if (turned)
        turn_sizes(w->about, w->axis.number);
    HDI_TRY(status);
    hdi_text_print(name, "%s.%s", turned ? "turned" : "straight",
                   w->about->name);
    return hide(w->module, w->about, name)
               ? HD_OK
               : hdi_fail(error, HD_ENOMEM, "%s: no memory to compile",
                          w->llvm->path);
}

// Link the function with lanes along x to that with lanes along another axis.
static hd_status add_straight(struct hdi_work *w, LLVMModuleRef copy,
                              struct hdi_text *name, struct hd_error *error)
{
    struct hdi_text explanation = {0};
    uint32_t saved_bytes = w->about->saved_bytes;
    struct hdi_work straight = copy_of(w, copy, &explanation);
    hd_status status = build_way(&straight, false, name, error);

    hdi_text_free(&explanation);
    if (w->about->saved_bytes < saved_bytes)
        w->about->saved_bytes = saved_bytes;
    if (status != HD_OK) {
        LLVMDisposeModule(copy);
        return status;
    }
    return LLVMLinkModules2(w->module, copy)
               ? hdi_fail(error, HD_ENOMEM, "%s: no memory to compile",
                          w->llvm->path)
               : HD_OK;
}

// A kernel whose lanes had better run along another axis.
// The copy is taken before the kernel is turned. Straight code is left out
// where a launch is never too narrow, as by its required size.
static hd_status build_turned(struct hdi_work *w, struct hd_error *error)
{
    LLVMModuleRef copy = w->axis.always ? NULL : LLVMCloneModule(w->module);
    struct hdi_text entry = {0}, turned = {0}, straight = {0};
    struct hdi_work way = copy_of(w, w->module, w->explanation);
    hd_status status = build_way(&way, true, &turned, error);

    hdi_text_print(w->explanation,
                   "lanes along %c, where neighbours touch what lies side by "
                   "side",
                   "xyz"[w->axis.number]);
    if (copy && status == HD_OK) {
        hdi_text_print(w->explanation,
                       "; along x from region %u on, where a launch is too "
                       "narrow for that",
                       w->forms->count);
        status = add_straight(w, copy, &straight, error);
    } else if (copy) {
        LLVMDisposeModule(copy);
    }
    hdi_text_print(w->explanation, "\n");
    hdi_text_print(&entry, "hdk_%s", w->about->name);
    if (status == HD_OK && entry.failed)
        status = hdi_fail(error, HD_ENOMEM, "%s: no memory to compile",
                          w->llvm->path);
    if (status == HD_OK)
        hdi_axis_write(w->llvm, w->module, &w->axis, entry.data,
                       LLVMGetNamedFunction(w->module, turned.data),
                       copy ? LLVMGetNamedFunction(w->module, straight.data)
                            : NULL);
    hdi_text_free(&straight);
    hdi_text_free(&turned);
    hdi_text_free(&entry);
    return status;
}

static hd_status build_shape(struct hdi_work *w, struct hd_error *error)
{
    HDI_TRY(hdi_pipeline_run(w, HDI_STAGE_SHAPE, error));
    w->about->axis = w->axis.number;
    return w->axis.number ? build_turned(w, error) : build_along_x(w, error);
}

// The kernel with the global ids that it puts together: when it is flat then
// `grouped` is how it was before, else NULL, and nothing has changed.
static hd_status flatten(struct hdi_work *w, LLVMModuleRef *grouped,
                         struct hd_error *error)
{
    *grouped = NULL;
    if (!hdi_rule_is_on(w->llvm, HDI_RULE_FLATTEN) ||
        hdi_flatten_find(w->kernel) == 0)
        return HD_OK;
    LLVMModuleRef before = LLVMCloneModule(w->module);
    hd_status status =
        hdi_flatten(w->llvm, w->module, w->builder, w->kernel, error);
    if (status == HD_OK && hdi_chunk_is_flat(w->module, w->kernel)) {
        *grouped = before;
        return HD_OK;
    }
    LLVMDisposeModule(w->module);
    w->module = before;
    w->kernel = LLVMGetNamedFunction(before, w->about->name);
    return status;
}

// Link the function for launches whose groups are not all whole: rare, so its
// lanes run along x. What is told of the kernel is that of the flat one.
static hd_status add_grouped(struct hdi_work *w, LLVMModuleRef copy,
                             struct hdi_text *name, struct hd_error *error)
{
    struct hdi_text explanation = {0};
    const struct hdi_build_kernel flat = *w->about;
    struct hdi_work grouped = copy_of(w, copy, &explanation);

    hd_status status = hdi_pipeline_run(&grouped, HDI_STAGE_SHAPE, error);
    if (status == HD_OK)
        status = build_along_x(&grouped, error);
    hdi_text_free(&explanation);
    if (w->about->saved_bytes < flat.saved_bytes)
        w->about->saved_bytes = flat.saved_bytes;
    w->about->together = flat.together;
    hdi_text_print(name, "grouped.%s", w->about->name);
    if (status == HD_OK && !hide(copy, w->about, name))
        status = hdi_fail(error, HD_ENOMEM, "%s: no memory to compile",
                          w->llvm->path);
    if (status != HD_OK) {
        LLVMDisposeModule(copy);
        return status;
    }
    return LLVMLinkModules2(w->module, copy)
               ? hdi_fail(error, HD_ENOMEM, "%s: no memory to compile",
                          w->llvm->path)
               : HD_OK;
}

static hd_status build_flat(struct hdi_work *w, LLVMModuleRef grouped,
                            struct hd_error *error)
{
    struct hdi_text entry = {0}, names[2] = {{0}, {0}};
    unsigned dimensions =
        hdi_flatten_find(LLVMGetNamedFunction(grouped, w->about->name));
    hd_status status = build_shape(w, error);

    hdi_text_print(w->explanation,
                   "global ids are put together of groups; as that says from "
                   "region %u on, where groups are not all whole\n",
                   w->forms->count);
    hdi_text_print(&names[0], "flat.%s", w->about->name);
    hdi_text_print(&entry, "hdk_%s", w->about->name);
    if (status == HD_OK &&
        (entry.failed || !hide(w->module, w->about, &names[0])))
        status = hdi_fail(error, HD_ENOMEM, "%s: no memory to compile",
                          w->llvm->path);
    if (status == HD_OK)
        status = add_grouped(w, grouped, &names[1], error);
    else
        LLVMDisposeModule(grouped);
    if (status == HD_OK)
        hdi_flatten_write(w->llvm, w->module, dimensions, entry.data,
                          LLVMGetNamedFunction(w->module, names[0].data),
                          LLVMGetNamedFunction(w->module, names[1].data));
    hdi_text_free(&names[1]);
    hdi_text_free(&names[0]);
    hdi_text_free(&entry);
    return status;
}

// On failure there is no module. What is touched is told for images of any
// layout, by the first version alone.
static hd_status build_one(struct hdi_work *w, LLVMModuleRef program,
                           bool first, struct hd_error *error)
{
    LLVMModuleRef grouped = NULL;

    HDI_TRY(hdi_work_begin(w, program, error));
    hd_status status =
        first ? hdi_pipeline_run(w, HDI_STAGE_TOUCH, error) : HD_OK;
    if (status == HD_OK)
        status = flatten(w, &grouped, error);
    if (status == HD_OK)
        status =
            grouped ? build_flat(w, grouped, error) : build_shape(w, error);
    hdi_work_end(w);
    if (status != HD_OK) {
        LLVMDisposeModule(w->module);
        w->module = NULL;
    }
    return status;
}

// The layout that all images of the launch have, else HDI_LAYOUT_ANY.
// HDI_LAYOUT_ANY is no layout of an image; once two differ, any stays, since no
// image that follows is equal to it.
static LLVMValueRef common_layout(LLVMContextRef c, LLVMBuilderRef builder,
                                  LLVMValueRef frame,
                                  const struct hdi_build_kernel *kernel)
{
    LLVMTypeRef space = LLVMPointerTypeInContext(c, HDI_SPACE_CONSTANT);
    LLVMValueRef args = load_at(c, builder, LLVMPointerTypeInContext(c, 0),
                                frame, offsetof(struct hdi_frame, args));
    LLVMValueRef any =
        LLVMConstInt(LLVMInt32TypeInContext(c), HDI_LAYOUT_ANY, false);
    LLVMValueRef common = NULL;

    for (uint32_t i = 0; i < kernel->arg_count; i++) {
        if (kernel->args[i].kind != HD_ARG_IMAGE)
            continue;
        LLVMValueRef image =
            load_at(c, builder, space, args, kernel->args[i].offset);
        LLVMValueRef layout = load_layout(c, builder, image);
        common = common ? LLVMBuildSelect(builder,
                                          LLVMBuildICmp(builder, LLVMIntEQ,
                                                        common, layout, ""),
                                          common, any, "")
                        : layout;
    }
    return common;
}

// The function that the backend calls.
static void write_choice(struct hdi_llvm *llvm, LLVMModuleRef module,
                         const struct hdi_build_kernel *kernel,
                         const char *name, LLVMValueRef versions[VERSIONS + 1])
{
    LLVMContextRef c = llvm->context;
    LLVMTypeRef type = LLVMGlobalGetValueType(versions[VERSIONS]);
    LLVMValueRef function = LLVMAddFunction(module, name, type);
    LLVMValueRef frame = LLVMGetParam(function, 0), choice = NULL;
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(c);
    LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(c, function, "");

    hdi_function_flag(function, "nounwind", true);
    for (unsigned v = VERSIONS + 1; v-- > 0;) {
        LLVMBasicBlockRef block =
            LLVMAppendBasicBlockInContext(c, function, "");
        hdi_build_at_end(builder, block);
        LLVMBuildCall2(builder, type, versions[v], &frame, 1, "");
        LLVMBuildRetVoid(builder);
        if (v == VERSIONS) {
            hdi_build_at_end(builder, entry);
            choice = LLVMBuildSwitch(builder,
                                     common_layout(c, builder, frame, kernel),
                                     block, VERSIONS);
        } else {
            LLVMAddCase(
                choice,
                LLVMConstInt(LLVMInt32TypeInContext(c), layouts[v], false),
                block);
        }
        LLVMSetLinkage(versions[v], LLVMInternalLinkage);
    }
    LLVMDisposeBuilder(builder);
}

// Link a version for each layout to the work's module, which holds the one for
// any.
// Functions are looked up by name at the end: the handles of a version die with
// its module, which the linker destroys.
static hd_status add_versions(struct hdi_work *w, LLVMModuleRef program,
                              LLVMValueRef layout, struct hd_error *error)
{
    struct hdi_llvm *llvm = w->llvm;
    struct hdi_build_kernel *kernel = w->about;
    uint32_t saved_bytes = kernel->saved_bytes;
    LLVMValueRef versions[VERSIONS + 1];
    struct hdi_text name = {0};
    hd_status status = HD_OK;
    bool failed = false;

    hdi_text_print(&name, "hdk_%s", kernel->name);
    versions[VERSIONS] = hide_version(w->module, kernel, VERSIONS);
    failed = !versions[VERSIONS] || name.failed;
    for (unsigned v = 0; v < VERSIONS && status == HD_OK && !failed; v++) {
        struct hdi_forms forms = {0};
        struct hdi_text explanation = {0};
        struct hdi_work part = {.llvm = llvm,
                                .mode = w->mode,
                                .about = kernel,
                                .explanation = &explanation,
                                .forms = &forms};

        set_layout(llvm->context, layout, layouts[v]);
        status = build_one(&part, program, false, error);
        free(forms.list);
        hdi_text_free(&explanation);
        if (status != HD_OK)
            break;
        if (kernel->saved_bytes > saved_bytes)
            saved_bytes = kernel->saved_bytes;
        failed = !hide_version(part.module, kernel, v);
        // The linker destroys the part.
        failed = LLVMLinkModules2(w->module, part.module) || failed;
    }
    set_layout(llvm->context, layout, HDI_LAYOUT_ANY);
    kernel->saved_bytes = saved_bytes;
    for (unsigned v = 0; v < VERSIONS && status == HD_OK && !failed; v++) {
        struct hdi_text version = {0};
        hdi_text_print(&version, "version%u.%s", v, kernel->name);
        versions[v] = version.failed
                          ? NULL
                          : LLVMGetNamedFunction(w->module, version.data);
        failed = !versions[v];
        hdi_text_free(&version);
    }
    if (failed)
        status =
            hdi_fail(error, HD_ENOMEM, "%s: no memory to compile", llvm->path);
    if (status == HD_OK)
        write_choice(llvm, w->module, kernel, name.data, versions);
    hdi_text_free(&name);
    return status;
}

static bool has_images(const struct hdi_build_kernel *kernel)
{
    for (uint32_t i = 0; i < kernel->arg_count; i++)
        if (kernel->args[i].kind == HD_ARG_IMAGE)
            return true;
    return false;
}

hd_status hdi_versions_build(struct hdi_work *w, LLVMModuleRef program,
                             struct hd_error *error)
{
    LLVMValueRef layout = layout_function(program);

    HDI_TRY(build_one(w, program, true, error));
    if (!layout || !has_images(w->about) ||
        !hdi_rule_is_on(w->llvm, HDI_RULE_LAYOUTS))
        return HD_OK;
    hd_status status = add_versions(w, program, layout, error);
    hdi_text_print(w->explanation, "versions for images of one layout: %d\n",
                   VERSIONS);
    if (status != HD_OK) {
        LLVMDisposeModule(w->module);
        w->module = NULL;
    }
    return status;
}
