#include "kernel/compiler/transform/stride.h"

#include "kernel/compiler/analysis/address.h"
#include "kernel/compiler/analysis/walk.h"
#include "kernel/compiler/ir/low.h"

enum {
    MAX_ACCESSED = 8 // buffers whose elements are touched
};

static unsigned count_returns(LLVMValueRef kernel)
{
    unsigned count = 0;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(kernel); b;
         b = LLVMGetNextBasicBlock(b))
        count += LLVMGetNumSuccessors(LLVMGetBasicBlockTerminator(b)) == 0;
    return count;
}

// Memory ----------------------------------------------------------------------

// Elements of a buffer that work-items touch, each only its own.
struct access {
    LLVMValueRef base; // an argument
    uint64_t size;     // of an element [bytes]
    bool stored;
};

struct accesses {
    struct access items[MAX_ACCESSED];
    unsigned count;
};

// base[id], or a part of it.
static bool read_address(const struct hdi_bounds *f, LLVMValueRef id,
                         LLVMValueRef pointer, uint64_t bytes,
                         struct access *access)
{
    struct hdi_address at = hdi_address_of(f->llvm, NULL, pointer);

    *access = (struct access){.base = at.base, .size = (uint64_t)at.scale};
    return LLVMIsAArgument(at.base) && at.index &&
           hdi_low_whole_of(at.index) == id && at.offset >= 0 &&
           at.offset < at.scale && bytes <= (uint64_t)(at.scale - at.offset);
}

static bool add_access(const struct hdi_bounds *f, struct accesses *accesses,
                       LLVMValueRef id, LLVMValueRef pointer, LLVMTypeRef type,
                       bool stored)
{
    struct access access;
    unsigned i = 0;

    if (LLVMGetPointerAddressSpace(LLVMTypeOf(pointer)) == HDI_SPACE_CONSTANT)
        return true;
    if (!read_address(f, id, pointer,
                      LLVMStoreSizeOfType(f->llvm->layout, type), &access))
        return false;
    while (i < accesses->count && accesses->items[i].base != access.base)
        i++;
    if (i == MAX_ACCESSED)
        return false;
    if (i == accesses->count)
        accesses->items[accesses->count++] = access;
    accesses->items[i].stored |= stored;
    return accesses->items[i].size == access.size;
}

// False when something else is done with memory.
static bool find_accesses(const struct hdi_bounds *f, LLVMValueRef kernel,
                          LLVMValueRef id, struct accesses *accesses)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(kernel); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i)) {
            bool load = LLVMIsALoadInst(i), store = LLVMIsAStoreInst(i);
            if (LLVMIsAAtomicRMWInst(i) || LLVMIsAAtomicCmpXchgInst(i) ||
                LLVMIsAFenceInst(i) ||
                (LLVMIsACallInst(i) && !hdi_bounds_is_pure_call(i)))
                return false;
            if (!load && !store)
                continue;
            LLVMTypeRef type = LLVMTypeOf(store ? LLVMGetOperand(i, 0) : i);
            if (LLVMGetVolatile(i) ||
                LLVMGetOrdering(i) != LLVMAtomicOrderingNotAtomic ||
                !add_access(f, accesses, id, LLVMGetOperand(i, store), type,
                            store))
                return false;
        }
    return true;
}

static void call(struct hdi_bounds *f, const char *name,
                 LLVMValueRef *arguments, unsigned count)
{
    LLVMTypeRef types[4];

    for (unsigned i = 0; i < count; i++)
        types[i] = LLVMTypeOf(arguments[i]);
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(f->llvm->context),
                                        types, count, false);
    LLVMValueRef function = LLVMGetNamedFunction(f->module, name);
    if (!function)
        function = LLVMAddFunction(f->module, name, type);
    LLVMBuildCall2(f->builder, type, function, arguments, count, "");
}

// What is stored to one buffer may be what another one holds.
static void state_apart(struct hdi_bounds *f, const struct access *a,
                        const struct access *b)
{
    LLVMValueRef arguments[] = {
        LLVMBuildPtrToInt(f->builder, a->base, f->i64, ""),
        LLVMConstInt(f->i64, a->size, false),
        LLVMBuildPtrToInt(f->builder, b->base, f->i64, ""),
        LLVMConstInt(f->i64, b->size, false)};
    call(f, hdi_bounds_apart, arguments, 4);
}

static void state_stride(struct hdi_bounds *f, LLVMValueRef kernel,
                         LLVMValueRef id)
{
    struct accesses accesses = {.count = 0};
    bool known = find_accesses(f, kernel, id, &accesses);
    LLVMValueRef any_order =
        LLVMConstInt(LLVMInt1TypeInContext(f->llvm->context), known, false);

    call(f, hdi_bounds_stride, &any_order, 1);
    for (unsigned i = 0; known && i < accesses.count; i++)
        for (unsigned j = i + 1; j < accesses.count; j++)
            if (accesses.items[i].stored || accesses.items[j].stored)
                state_apart(f, &accesses.items[i], &accesses.items[j]);
}

// The loop --------------------------------------------------------------------

// The loop is all that the kernel does, and knows one way out.
static bool is_all(const struct hdi_walk *w)
{
    LLVMValueRef end = LLVMGetBasicBlockTerminator(w->head);
    LLVMValueRef back = LLVMGetBasicBlockTerminator(w->latch);
    LLVMBasicBlockRef exit = LLVMGetSuccessor(end, 1);

    return LLVMGetFirstInstruction(w->head) == w->index &&
           !LLVMIsAPHINode(LLVMGetNextInstruction(w->index)) &&
           hdi_bounds_only_returns(exit) &&
           // A way out of the body would end the work-item's other turns too.
           hdi_bounds_has_one_predecessor(exit) &&
           count_returns(LLVMGetBasicBlockParent(w->head)) == 1 &&
           hdi_bounds_is_pure(w->head) && LLVMIsABranchInst(back) &&
           !LLVMIsConditional(back);
}

// It goes through all ids below a bound, one in each turn.
static bool is_range(const struct hdi_walk *w)
{
    return hdi_call_kind(w->id) == HDI_CALL_GLOBAL_ID &&
           hdi_call_kind(w->step) == HDI_CALL_GLOBAL_SIZE &&
           (w->predicate == LLVMIntSLT || w->predicate == LLVMIntULT) &&
           (!w->half || hdi_is_integer(LLVMTypeOf(w->half), 32)) &&
           hdi_bounds_is_given(w->bound) && hdi_walk_owns_id(w) &&
           LLVMGetFirstUse(w->next) &&
           !LLVMGetNextUse(LLVMGetFirstUse(w->next));
}

void hdi_stride_straighten(struct hdi_bounds *f, LLVMBasicBlockRef before,
                           LLVMBasicBlockRef head)
{
    struct hdi_walk w;
    if (!hdi_walk_find(head, &w) || w.before != before || !is_all(&w) ||
        !is_range(&w))
        return;

    // Beside the call, where the emitter sees it.
    LLVMValueRef end = LLVMGetBasicBlockTerminator(head);
    LLVMPositionBuilderBefore(f->builder, LLVMGetNextInstruction(w.id));
    LLVMValueRef half = LLVMBuildTrunc(f->builder, w.id, f->i32, "");
    hdi_low_rebuild(f->builder, w.index, half);
    LLVMReplaceAllUsesWith(w.index,
                           LLVMTypeOf(w.index) == f->i32 ? half : w.id);
    LLVMInstructionEraseFromParent(w.index);
    LLVMPositionBuilderBefore(f->builder, end);
    hdi_bounds_state(f, w.condition, true);
    LLVMSetSuccessor(LLVMGetBasicBlockTerminator(w.latch), 0,
                     LLVMGetSuccessor(end, 1));
    LLVMPositionBuilderBefore(f->builder, LLVMGetBasicBlockTerminator(before));
    LLVMSetCurrentDebugLocation2(f->builder, NULL);
    state_stride(f, LLVMGetBasicBlockParent(head), w.id);
}
