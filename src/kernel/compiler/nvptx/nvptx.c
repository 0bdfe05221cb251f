//     program -> atomics, printf -> spaces (as text) -> entries -> inline
//             -> answers of entries -> clone, O3, PTX  (hdk_*)
//                                   -> clone, O3, PTX  (hdt_*)
//
// Each step may call builtins that the next link brings in, hence the many
// calls of hdi_device_link().
#include "kernel/compiler/nvptx/nvptx.h"

#include <llvm-c/Comdat.h>
#include <stdlib.h>
#include <string.h>

#include "backend/device_launch.h"
#include "base/error.h"
#include "kernel/compiler/emit/print.h"
#include "kernel/compiler/nvptx/device.h"
#include "kernel/compiler/nvptx/entry.h"
#include "kernel/compiler/nvptx/spaces.h"
#include "kernel/compiler/prepare/images.h"
#include "kernel/compiler/prepare/legal.h"
#include "kernel/compiler/prepare/library.h"
#include "kernel/compiler/prepare/prepare.h"

// PTX is made for the oldest GPU that is to run it: newer ones take it as well.
// `activemask` needs PTX 6.2, sm_70 is the first with threads that wait for
// each other within a warp.
static const struct {
    const char *name, *version;
} architectures[] = {
    {"sm_70", "ptx63"}, {"sm_72", "ptx63"}, {"sm_75", "ptx63"},
    {"sm_80", "ptx70"}, {"sm_86", "ptx71"}, {"sm_87", "ptx74"},
    {"sm_89", "ptx78"}, {"sm_90", "ptx78"}, {"sm_90a", "ptx80"},
};

bool hdi_nvptx_is_architecture(const char *name)
{
    return strncmp(name, "sm_", 3) == 0;
}

const char *hdi_nvptx_version(const char *architecture)
{
    for (size_t i = 0; i < sizeof(architectures) / sizeof(architectures[0]);
         i++)
        if (strcmp(architectures[i].name, architecture) == 0)
            return architectures[i].version;
    return NULL;
}

static hd_status link_builtins(struct hdi_llvm *llvm, LLVMModuleRef module,
                               struct hd_error *error)
{
    // What is ours of GPUs first; then the rest, which may use it.
    HDI_TRY(hdi_device_link(llvm, module, error));
    HDI_TRY(hdi_library_link(llvm, module, error));
    return hdi_device_link(llvm, module, error);
}

// All work-groups would have to be on the GPU at the same time.
static hd_status refuse_grid(const struct hdi_llvm *llvm, LLVMModuleRef module,
                             struct hd_error *error)
{
    LLVMValueRef barrier = LLVMGetNamedFunction(module, "hd_grid_barrier");

    if (!barrier || !LLVMGetFirstUse(barrier))
        return HD_OK;
    return hdi_fail(error, HD_ENOTSUP,
                    "%s: error: hd_grid_barrier() is not there on GPUs: build "
                    "for processors, or end the kernel where work-groups meet",
                    llvm->path);
}

hd_status hdi_nvptx_program(struct hdi_llvm *llvm, const void *bitcode,
                            size_t size, LLVMModuleRef *module,
                            struct hd_error *error)
{
    LLVMModuleRef m;

    HDI_TRY(hdi_library_parse(llvm, bitcode, size, false, &m, error));
    hd_status status = hdi_legal_text(llvm, m, error);
    if (status == HD_OK)
        status = hdi_images_lower(llvm, &m, error);
    LLVMValueRef print =
        status == HD_OK ? LLVMGetNamedFunction(m, "printf") : NULL;
    if (print)
        LLVMSetValueName2(print, HDI_PRINT_NAME, sizeof(HDI_PRINT_NAME) - 1);
    if (status == HD_OK)
        status = refuse_grid(llvm, m, error);
    if (status == HD_OK)
        status = link_builtins(llvm, m, error);
    if (status == HD_OK)
        status = hdi_legal_calls(llvm, m, error);
    if (status != HD_OK) {
        LLVMDisposeModule(m);
        return status;
    }
    *module = m;
    return HD_OK;
}

// Before all is inlined -------------------------------------------------------

static bool is_primitive(const char *name)
{
    return strcmp(name, "hdu_word") == 0 || strcmp(name, "hdu_long") == 0 ||
           strcmp(name, "hdu_in_tile") == 0 || strcmp(name, "hdu_whole") == 0;
}

// Kernels are functions like others, all of which go into their callers.
// No function is left for PTX to call but those that are entries: calls cost
// registers there, and local memory could not be placed per kernel.
static void make_plain(LLVMModuleRef module)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f)) {
        LLVMSetFunctionCallConv(f, LLVMCCallConv);
        for (LLVMUseRef u = LLVMGetFirstUse(f); u; u = LLVMGetNextUse(u))
            if (LLVMIsACallInst(LLVMGetUser(u)))
                LLVMSetInstructionCallConv(LLVMGetUser(u), LLVMCCallConv);
        if (LLVMIsDeclaration(f))
            continue;
        hdi_function_flag(f, "noinline", false);
        hdi_function_flag(f, "optnone", false);
        hdi_function_flag(f, "alwaysinline", true);
        LLVMSetLinkage(f, LLVMInternalLinkage);
        LLVMSetComdat(f, NULL);
    }
}

// LLVM 19 selects relaxed loads and stores for NVPTX, no stronger ones, and no
// fences: order comes from fences in assembly round what is relaxed.
struct fences {
    LLVMBuilderRef builder;
    LLVMValueRef some, all; // functions
};

static LLVMValueRef fence_for(const struct fences *f, LLVMAtomicOrdering order)
{
    return order == LLVMAtomicOrderingSequentiallyConsistent ? f->all : f->some;
}

// The fence is a call of a builtin in assembly: `some` for acquire and release,
// `all` for sequential consistency.
static void put_fence(const struct fences *f, LLVMAtomicOrdering order,
                      LLVMValueRef before)
{
    LLVMValueRef fence = fence_for(f, order);

    LLVMPositionBuilderBefore(f->builder, before);
    LLVMSetCurrentDebugLocation2(f->builder, NULL);
    LLVMBuildCall2(f->builder, LLVMGlobalGetValueType(fence), fence, NULL, 0,
                   "");
}

static bool releases(LLVMAtomicOrdering order)
{
    return order >= LLVMAtomicOrderingRelease;
}

static bool acquires(LLVMAtomicOrdering order)
{
    return order >= LLVMAtomicOrderingAcquire &&
           order != LLVMAtomicOrderingRelease;
}

// The atomic functions of OpenCL C 1.x order nothing; the builtins' do, which
// costs nothing on processors.
static bool is_relaxed(LLVMValueRef function)
{
    static const char *const names[] = {"add", "sub", "xchg", "inc",
                                        "dec", "min", "max",  "cmpxchg",
                                        "and", "or",  "xor"};
    const char *name = hdi_value_name(function);
    size_t length = strcspn(name, "a"); // "_Z10atomic_addPU3AS1Vii"

    name += length;
    if (strncmp(name, "atomic_", 7) == 0)
        name += 7;
    else if (strncmp(name, "atom_", 5) == 0)
        name += 5;
    else
        return false;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        length = strlen(names[i]);
        if (strncmp(name, names[i], length) == 0 && name[length] == 'P')
            return true;
    }
    return false;
}

// Release: a fence before; acquire: one behind; as compilers do for processors
// that have no ordered accesses.
static void relax(const struct fences *f, LLVMValueRef i, bool relaxed)
{
    bool exchange = LLVMIsAAtomicCmpXchgInst(i) != NULL;

    if (LLVMIsAFenceInst(i)) {
        put_fence(f, LLVMGetOrdering(i), i);
        LLVMInstructionEraseFromParent(i);
        return;
    }
    LLVMAtomicOrdering order =
        exchange ? LLVMGetCmpXchgSuccessOrdering(i) : LLVMGetOrdering(i);
    if (order <= LLVMAtomicOrderingMonotonic)
        return;
    if (releases(order) && !relaxed)
        put_fence(f, order, i);
    if (acquires(order) && !relaxed)
        put_fence(f, order, LLVMGetNextInstruction(i));
    if (exchange) {
        LLVMSetCmpXchgFailureOrdering(i, LLVMAtomicOrderingMonotonic);
        LLVMSetCmpXchgSuccessOrdering(i, LLVMAtomicOrderingMonotonic);
    } else {
        LLVMSetOrdering(i, LLVMAtomicOrderingMonotonic);
    }
}

static bool is_atomic(LLVMValueRef i)
{
    return LLVMIsAFenceInst(i) || LLVMIsAAtomicRMWInst(i) ||
           LLVMIsAAtomicCmpXchgInst(i) ||
           ((LLVMIsALoadInst(i) || LLVMIsAStoreInst(i)) &&
            LLVMGetOrdering(i) != LLVMAtomicOrderingNotAtomic);
}

// Looked at per function, since the functions of OpenCL C 1.x are told by name:
// must be done before they are inlined.
static void relax_all(LLVMModuleRef module, const struct fences *fences)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f)) {
        bool relaxed = is_relaxed(f);
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b;
             b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b), next; i;
                 i = next) {
                next = LLVMGetNextInstruction(i);
                if (is_atomic(i))
                    relax(fences, i, relaxed);
            }
    }
}

// A declaration, which the device's builtins then define.
static LLVMValueRef declare(LLVMModuleRef module, const char *name,
                            LLVMTypeRef type)
{
    LLVMValueRef f = LLVMGetNamedFunction(module, name);
    return f ? f : LLVMAddFunction(module, name, type);
}

static hd_status lower_atomics(struct hdi_llvm *llvm, LLVMModuleRef module,
                               struct hd_error *error)
{
    LLVMTypeRef type =
        LLVMFunctionType(LLVMVoidTypeInContext(llvm->context), NULL, 0, false);
    struct fences fences = {.builder =
                                LLVMCreateBuilderInContext(llvm->context),
                            .some = declare(module, "hdu_fence", type),
                            .all = declare(module, "hdu_fence_all", type)};

    relax_all(module, &fences);
    LLVMDisposeBuilder(fences.builder);
    return hdi_device_link(llvm, module, error);
}

// Functions of the device's builtins that printf() becomes calls of.
static hd_status lower_print(struct hdi_llvm *llvm, LLVMModuleRef module,
                             struct hd_error *error)
{
    LLVMContextRef c = llvm->context;
    LLVMValueRef print = LLVMGetNamedFunction(module, HDI_PRINT_NAME);
    LLVMTypeRef i32 = LLVMInt32TypeInContext(c);
    LLVMTypeRef parameters[] = {LLVMPointerTypeInContext(c, HDI_SPACE_CONSTANT),
                                LLVMPointerTypeInContext(c, HDI_SPACE_GENERIC),
                                i32, i32};
    LLVMTypeRef type = LLVMFunctionType(i32, parameters, 4, false);

    if (!print)
        return HD_OK;
    LLVMValueRef f = declare(module, "hdu_print", type);
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(c);
    for (LLVMUseRef u = LLVMGetFirstUse(print), next; u; u = next) {
        LLVMValueRef call = LLVMGetUser(u);
        uint64_t bytes;
        next = LLVMGetNextUse(u);
        if (!LLVMIsACallInst(call))
            continue;
        LLVMValueRef packed = hdi_print_pack(llvm, builder, call, &bytes);
        LLVMValueRef args[] = {
            LLVMBuildPointerCast(builder, LLVMGetOperand(call, 0),
                                 parameters[0], ""),
            LLVMBuildAddrSpaceCast(builder, packed, parameters[1], ""),
            LLVMConstInt(i32, bytes, false),
            LLVMConstInt(i32, LLVMGetNumArgOperands(call) - 1, false)};
        LLVMReplaceAllUsesWith(call,
                               LLVMBuildCall2(builder, type, f, args, 4, ""));
        LLVMInstructionEraseFromParent(call);
    }
    LLVMDisposeBuilder(builder);
    LLVMDeleteFunction(print);
    return hdi_device_link(llvm, module, error);
}

// Memory ----------------------------------------------------------------------

// Variables of the program that a kernel may write. There is one of each for
// all kernels, and tiles are linked from a module of their own.
// Two modules would each have its own copy, and kernels that run in both would
// not see each other's writes.
static bool has_variables(LLVMModuleRef module)
{
    for (LLVMValueRef g = LLVMGetFirstGlobal(module); g;
         g = LLVMGetNextGlobal(g))
        if (hdi_is_program_variable(g) && !LLVMIsGlobalConstant(g))
            return true;
    return false;
}

// A local variable looks like memory of this one work-item to LLVM; see
// hdi_prepare_program().
static void show_local(LLVMModuleRef module)
{
    for (LLVMValueRef g = LLVMGetFirstGlobal(module); g;
         g = LLVMGetNextGlobal(g))
        if (LLVMGetPointerAddressSpace(LLVMTypeOf(g)) == HDI_SPACE_LOCAL) {
            LLVMSetLinkage(g, LLVMExternalLinkage);
            LLVMSetInitializer(g, NULL);
        }
}

// Functions -------------------------------------------------------------------

static bool is_barrier(LLVMValueRef i)
{
    LLVMValueRef callee = LLVMIsACallInst(i) ? LLVMGetCalledValue(i) : NULL;
    const char *name = callee ? hdi_value_name(callee) : "";
    return strcmp(name, "_Z7barrierj") == 0 ||
           strncmp(name, "_Z18work_group_barrier", 22) == 0;
}

// As they are written in the kernel itself.
static uint32_t count_barriers(LLVMValueRef kernel)
{
    uint32_t count = 0;

    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(kernel); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i))
            count += is_barrier(i);
    return count;
}

// The functions of one kernel, in the program's module.
struct made {
    LLVMValueRef entry, tile; // tile: NULL, it has none
};

static hd_status fail_memory(const struct hdi_llvm *llvm,
                             struct hd_error *error)
{
    return hdi_fail(error, HD_ENOMEM, "%s: no memory to compile", llvm->path);
}

// The record and the arguments are one parameter of the GPU's kernel, of which
// the driver takes HDI_DEVICE_MAX bytes.
static hd_status write_entries(struct hdi_entry_writer *w,
                               struct hdi_build_kernel *kernels, uint32_t count,
                               bool tiles, struct made *made,
                               struct hd_error *error)
{
    for (uint32_t k = 0; k < count; k++) {
        LLVMValueRef kernel = LLVMGetNamedFunction(w->module, kernels[k].name);
        if (kernels[k].args_size > HDI_DEVICE_MAX - HDI_DEVICE_ARGS)
            return hdi_fail(error, HD_ELIMIT,
                            "%s:%u: kernel '%s' has %u bytes of arguments; a "
                            "GPU takes %d",
                            kernels[k].file, kernels[k].line, kernels[k].name,
                            kernels[k].args_size,
                            HDI_DEVICE_MAX - HDI_DEVICE_ARGS);
        kernels[k].barriers = count_barriers(kernel);
        made[k].entry = hdi_entry_write(w, kernel, &kernels[k], false);
        if (tiles)
            made[k].tile = hdi_entry_write(w, kernel, &kernels[k], true);
        if (!made[k].entry || (tiles && !made[k].tile))
            return fail_memory(w->llvm, error);
    }
    return HD_OK;
}

// After all is inlined: only then it is known which local variables a kernel
// uses.
static hd_status lower_entries(struct hdi_entry_writer *w,
                               struct hdi_build_kernel *kernels, uint32_t count,
                               const struct made *made, struct hd_error *error)
{
    for (uint32_t k = 0; k < count; k++) {
        HDI_TRY(hdi_entry_lower(w, made[k].entry, &kernels[k], false, error));
        if (made[k].tile)
            HDI_TRY(hdi_entry_lower(w, made[k].tile, &kernels[k], true, error));
    }
    return HD_OK;
}

// Emitting --------------------------------------------------------------------

// Keep the functions whose names begin so, drop the other kind.
static void keep(LLVMModuleRef module, const char *prefix, const char *other)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(module), next; f; f = next) {
        const char *name = hdi_value_name(f);
        next = LLVMGetNextFunction(f);
        if (!LLVMIsDeclaration(f) && strncmp(name, other, strlen(other)) == 0 &&
            strncmp(name, prefix, strlen(prefix)) != 0)
            LLVMSetLinkage(f, LLVMInternalLinkage);
    }
    // Modules with the same constants are linked together.
    for (LLVMValueRef g = LLVMGetFirstGlobal(module); g;
         g = LLVMGetNextGlobal(g))
        if (hdi_is_program_variable(g))
            LLVMSetLinkage(g, LLVMInternalLinkage);
}

// A cast from one kind of memory to another, which no GPU has.
static bool is_wild_cast(LLVMValueRef value)
{
    bool cast = LLVMIsAAddrSpaceCastInst(value) ||
                (LLVMIsAConstantExpr(value) &&
                 LLVMGetConstOpcode(value) == LLVMAddrSpaceCast);
    if (!cast)
        return false;
    unsigned to = LLVMGetPointerAddressSpace(LLVMTypeOf(value)),
             from = LLVMGetPointerAddressSpace(
                 LLVMTypeOf(LLVMGetOperand(value, 0)));
    return to != 0 && from != 0 && to != from;
}

// LLVM makes such casts where pointers of two kinds are compared, as they never
// are equal; its code generator then gives up.
static void drop_wild_casts(LLVMModuleRef module)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b;
             b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
                 i = LLVMGetNextInstruction(i))
                for (int o = 0; o < LLVMGetNumOperands(i); o++) {
                    LLVMValueRef value = LLVMGetOperand(i, (unsigned)o);
                    if (is_wild_cast(value))
                        LLVMSetOperand(i, (unsigned)o,
                                       LLVMConstNull(LLVMTypeOf(value)));
                }
}

// The clone is optimised and given up, so both parts begin with the same
// program.
static hd_status emit(struct hdi_llvm *llvm, LLVMModuleRef program,
                      const char *prefix, const char *other,
                      struct hdi_text *image, struct hd_error *error)
{
    LLVMModuleRef module = LLVMCloneModule(program);
    LLVMMemoryBufferRef buffer = NULL;
    char *message = NULL;

    keep(module, prefix, other);
    hd_status status = hdi_llvm_passes(
        llvm, module, "globaldce,default<O3>,function(infer-address-spaces)",
        error);
    drop_wild_casts(module);
    if (status == HD_OK)
        status = hdi_llvm_passes(llvm, module, "function(dce)", error);
    if (status == HD_OK &&
        LLVMTargetMachineEmitToMemoryBuffer(
            llvm->machine, module, LLVMAssemblyFile, &message, &buffer)) {
        status = hdi_fail(error, HD_EBUILD, "%s: no code for GPUs: %s",
                          llvm->path, message);
        LLVMDisposeMessage(message);
    }
    LLVMDisposeModule(module);
    if (status != HD_OK)
        return status;
    hdi_text_append(image, LLVMGetBufferStart(buffer),
                    LLVMGetBufferSize(buffer));
    LLVMDisposeMemoryBuffer(buffer);
    return image->failed ? fail_memory(llvm, error) : HD_OK;
}

// The entries of a failed build stay in the module, which is destroyed.
static hd_status build(struct hdi_llvm *llvm, LLVMModuleRef module,
                       struct hdi_build_kernel *kernels, uint32_t count,
                       struct made *made, struct hdi_text *image,
                       struct hd_error *error)
{
    struct hdi_entry_writer w;
    bool tiles = !has_variables(module);

    show_local(module);
    hdi_entry_begin(&w, llvm, module);
    hd_status status = write_entries(&w, kernels, count, tiles, made, error);
    if (status == HD_OK)
        status = hdi_llvm_passes(
            llvm, module, "globaldce,function(sroa),always-inline,globaldce",
            error);
    if (status == HD_OK)
        status = lower_entries(&w, kernels, count, made, error);
    hdi_entry_end(&w);
    hdi_text_print(image, HDI_DEVICE_IMAGE "%d %s\n", HDI_DEVICE_VERSION,
                   llvm->cpu);
    for (uint32_t k = 0; k < count; k++)
        hdi_text_print(image, HDI_DEVICE_KERNEL "%s %u\n", kernels[k].name,
                       kernels[k].args_size);
    if (status == HD_OK)
        status = emit(llvm, module, "hdk_", "hdt_", image, error);
    hdi_text_print(image, HDI_DEVICE_TILES);
    if (status == HD_OK && tiles)
        status = emit(llvm, module, "hdt_", "hdk_", image, error);
    return status;
}

static void describe(const struct hdi_llvm *llvm, struct hdi_build_kernel *k,
                     bool tile, struct hdi_text *text)
{
    hdi_text_print(text, "PTX for %s and newer: a work-item is a thread\n",
                   llvm->cpu);
    hdi_text_print(text, "local variables: %u bytes\n", k->local_bytes);
    if (!tile)
        hdi_text_print(text, "ordinary launches alone: the program has "
                             "variables that kernels write\n");
}

hd_status hdi_nvptx_build(struct hdi_llvm *llvm, LLVMModuleRef module,
                          struct hdi_build_kernel *kernels, uint32_t count,
                          struct hdi_text *image, struct hd_error *error)
{
    struct made *made = calloc(count + 1, sizeof(*made));
    hd_status status = made ? HD_OK : fail_memory(llvm, error);

    // Names do not change from here on, but those that are not used go.
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f) && is_primitive(hdi_value_name(f)))
            status = hdi_fail(error, HD_EBUILD,
                              "%s: error: the name '%s' is Heddle's own",
                              llvm->path, hdi_value_name(f));
    if (status == HD_OK)
        status = lower_atomics(llvm, module, error);
    if (status == HD_OK)
        status = lower_print(llvm, module, error);
    if (status == HD_OK)
        status = hdi_spaces_lower(llvm, &module, error);
    if (status == HD_OK) {
        make_plain(module);
        status = build(llvm, module, kernels, count, made, image, error);
    }
    for (uint32_t k = 0; k < count && status == HD_OK; k++) {
        struct hdi_text text = {0};
        kernels[k].form = HD_FORM_THREADS;
        if (!made[k].tile)
            kernels[k].footprint.known |= HDI_FOOTPRINT_KEEPS;
        describe(llvm, &kernels[k], made[k].tile != NULL, &text);
        kernels[k].explanation = text.data;
        if (text.failed)
            status = fail_memory(llvm, error);
    }
    free(made);
    LLVMDisposeModule(module);
    return status;
}
