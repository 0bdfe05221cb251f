#include "kernel/compiler/transform/stride.h"

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

static bool is_global_size(LLVMValueRef value)
{
    LLVMValueRef call = hdi_low_whole_of(value);

    return hdi_call_kind(call) == HDI_CALL_GLOBAL_SIZE &&
           hdi_bounds_is_constant(LLVMGetOperand(call, 0), 0);
}

// The only call in the kernel that asks for an id in x; NULL when there are
// more.
static LLVMValueRef only_id(LLVMValueRef kernel)
{
    LLVMValueRef only = NULL;

    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(kernel); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i)) {
            if (hdi_call_kind(i) != HDI_CALL_GLOBAL_ID)
                continue;
            LLVMValueRef d = LLVMGetOperand(i, 0);
            if (LLVMIsAConstantInt(d) && LLVMConstIntGetZExtValue(d) != 0)
                continue;
            if (only || !LLVMIsAConstantInt(d))
                return NULL;
            only = i;
        }
    return only;
}

// A block that ends with a jump back to `head`, the only one; NULL: none.
static LLVMBasicBlockRef only_latch(LLVMValueRef phi, LLVMBasicBlockRef head,
                                    LLVMBasicBlockRef before)
{
    if (LLVMCountIncoming(phi) != 2)
        return NULL;
    unsigned back = LLVMGetIncomingBlock(phi, 0) == before;
    LLVMBasicBlockRef latch = LLVMGetIncomingBlock(phi, back);
    LLVMValueRef end = LLVMGetBasicBlockTerminator(latch);
    return LLVMGetIncomingBlock(phi, 1 - back) == before &&
                   LLVMIsABranchInst(end) && !LLVMIsConditional(end) &&
                   LLVMGetSuccessor(end, 0) == head
               ? latch
               : NULL;
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
    uint64_t offset = 0;

    for (;;) {
        if (!LLVMIsAGetElementPtrInst(pointer) ||
            LLVMGetNumIndices(pointer) != 1)
            return false;
        LLVMValueRef index = LLVMGetOperand(pointer, 1);
        uint64_t size = LLVMABISizeOfType(f->llvm->layout,
                                          LLVMGetGEPSourceElementType(pointer));
        pointer = LLVMGetOperand(pointer, 0);
        if (LLVMIsAConstantInt(index)) {
            offset += LLVMConstIntGetZExtValue(index) * size;
            continue;
        }
        *access = (struct access){.base = pointer, .size = size};
        return LLVMIsAArgument(pointer) && hdi_low_whole_of(index) == id &&
               offset < size && bytes <= size - offset;
    }
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

void hdi_stride_straighten(struct hdi_bounds *f, LLVMBasicBlockRef before,
                           LLVMBasicBlockRef head)
{
    LLVMValueRef kernel = LLVMGetBasicBlockParent(head);
    LLVMValueRef phi = LLVMGetFirstInstruction(head);
    LLVMValueRef end = LLVMGetBasicBlockTerminator(head);
    LLVMValueRef id = only_id(kernel);
    if (!id || !LLVMIsAPHINode(phi) ||
        LLVMIsAPHINode(LLVMGetNextInstruction(phi)) ||
        !LLVMIsABranchInst(end) || !LLVMIsConditional(end) ||
        !hdi_bounds_only_returns(LLVMGetSuccessor(end, 1)) ||
        // A way out of the body would end the work-item's other turns too.
        !hdi_bounds_has_one_predecessor(LLVMGetSuccessor(end, 1)) ||
        count_returns(kernel) != 1 || !hdi_bounds_is_pure(head))
        return;
    LLVMBasicBlockRef latch = only_latch(phi, head, before);
    if (!latch)
        return;

    // The id goes into the loop and nowhere else, perhaps as 32 bits.
    unsigned back = LLVMGetIncomingBlock(phi, 0) == before;
    LLVMValueRef start = LLVMGetIncomingValue(phi, 1 - back);
    LLVMValueRef next = LLVMGetIncomingValue(phi, back);
    LLVMUseRef use = LLVMGetFirstUse(id);
    if ((start != id &&
         (!LLVMIsATruncInst(start) || LLVMGetOperand(start, 0) != id ||
          LLVMGetNextUse(LLVMGetFirstUse(start)))) ||
        !use || LLVMGetNextUse(use) || !LLVMIsAInstruction(next) ||
        LLVMGetInstructionOpcode(next) != LLVMAdd || !LLVMGetFirstUse(next) ||
        LLVMGetNextUse(LLVMGetFirstUse(next)))
        return;
    LLVMValueRef a = LLVMGetOperand(next, 0), b = LLVMGetOperand(next, 1);
    if (!(hdi_low_whole_of(a) == phi && is_global_size(b)) &&
        !(hdi_low_whole_of(b) == phi && is_global_size(a)))
        return;

    // It goes on below a bound, and the body knows no way out.
    LLVMValueRef condition = LLVMGetCondition(end);
    if (!LLVMIsAICmpInst(condition))
        return;
    LLVMIntPredicate predicate = LLVMGetICmpPredicate(condition);
    LLVMValueRef left = LLVMGetOperand(condition, 0);
    LLVMValueRef bound = LLVMGetOperand(condition, 1);
    bool narrow = LLVMIsATruncInst(left) && LLVMGetOperand(left, 0) == phi &&
                  LLVMTypeOf(left) == f->i32;
    if ((predicate != LLVMIntSLT && predicate != LLVMIntULT) ||
        (left != phi && !narrow) || !hdi_bounds_is_given(bound))
        return;

    // Beside the call, where the emitter sees it.
    LLVMPositionBuilderBefore(f->builder, LLVMGetNextInstruction(id));
    LLVMValueRef half = LLVMBuildTrunc(f->builder, id, f->i32, "");
    for (LLVMUseRef u = LLVMGetFirstUse(phi), after; u; u = after) {
        LLVMValueRef user = LLVMGetUser(u);
        after = LLVMGetNextUse(u);
        if (LLVMIsATruncInst(user) && LLVMTypeOf(user) == f->i32) {
            LLVMReplaceAllUsesWith(user, half);
        } else if (LLVMGetInstructionOpcode(user) == LLVMAnd &&
                   hdi_low_whole_of(user) == phi) {
            LLVMPositionBuilderBefore(f->builder, user);
            LLVMReplaceAllUsesWith(user,
                                   LLVMBuildZExt(f->builder, half, f->i64, ""));
        } else if (LLVMGetInstructionOpcode(user) == LLVMShl &&
                   hdi_bounds_is_constant(LLVMGetOperand(user, 1), 32)) {
            LLVMUseRef v = LLVMGetFirstUse(user);
            if (v && !LLVMGetNextUse(v) &&
                hdi_low_whole_of(LLVMGetUser(v)) == phi) {
                LLVMPositionBuilderBefore(f->builder, LLVMGetUser(v));
                LLVMReplaceAllUsesWith(
                    LLVMGetUser(v),
                    LLVMBuildSExt(f->builder, half, f->i64, ""));
            }
        }
    }
    LLVMReplaceAllUsesWith(phi, LLVMTypeOf(phi) == f->i32 ? half : id);
    LLVMInstructionEraseFromParent(phi);
    LLVMPositionBuilderBefore(f->builder, end);
    hdi_bounds_state(f, LLVMGetCondition(end), true);
    LLVMSetSuccessor(LLVMGetBasicBlockTerminator(latch), 0,
                     LLVMGetSuccessor(end, 1));
    LLVMPositionBuilderBefore(f->builder, LLVMGetBasicBlockTerminator(before));
    LLVMSetCurrentDebugLocation2(f->builder, NULL);
    state_stride(f, kernel, id);
}
