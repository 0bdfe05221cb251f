#include "kernel/compiler/transform/soft.h"

#include "kernel/compiler/ir/note.h"
#include "kernel/compiler/transform/strided.h"
#include "kernel/compiler/worth/weigh.h"

#include <stdlib.h>

static bool is_plain(LLVMValueRef instruction)
{
    if (LLVMIsAAtomicRMWInst(instruction) ||
        LLVMIsAAtomicCmpXchgInst(instruction) || LLVMIsAFenceInst(instruction))
        return false;
    if (LLVMIsALoadInst(instruction) || LLVMIsAStoreInst(instruction))
        return !LLVMGetVolatile(instruction) &&
               LLVMGetOrdering(instruction) == LLVMAtomicOrderingNotAtomic;
    if (!LLVMIsACallInst(instruction) ||
        hdi_call_kind(instruction) != HDI_CALL_OTHER)
        return true;
    LLVMValueRef callee = LLVMGetCalledValue(instruction);
    return LLVMIsAFunction(callee) && LLVMGetIntrinsicID(callee) != 0;
}

static const char only_some[] = "only some work-items may come to it";

// Why the loop over work-items does not go inside this one.
static void refuse(const struct hdi_llvm *llvm, LLVMValueRef where,
                   const char *reason)
{
    hdi_note(llvm, where, "no loop interchange: %s", reason);
}

// Does the group go round this loop together, and does that pay?
// Innermost loops of arithmetic and plain memory, which the whole group enters
// and leaves together, with more work than gathers would cost. Why one is not
// taken is noted where its author can do something about it.
static bool is_worth_it(const struct hdi_value_steps *items,
                        const struct hdi_nest *nest, size_t head)
{
    const struct hdi_flow *flow = nest->flow;
    const struct hdi_llvm *llvm = items->llvm;
    unsigned gathers = 0, work = 0;

    for (size_t b = 0; b < flow->block_count; b++) {
        const struct hdi_block *block = &flow->blocks[b];
        if (!hdi_nest_has(nest, b))
            continue;
        if (block->cut != HDI_NO_CUT ||
            (b != head && hdi_nest_is_head(nest, b)))
            return false;
        for (unsigned s = 0; s < block->successor_count; s++)
            if (!hdi_nest_has(nest, block->successors[s]) &&
                (block->divergent ||
                 hdi_flow_is_divergent(
                     flow, LLVMGetBasicBlockTerminator(block->block)))) {
                LLVMValueRef end = LLVMGetBasicBlockTerminator(block->block);
                refuse(llvm, end,
                       hdi_flow_is_divergent(flow, end)
                           ? "work-items may leave it at different times"
                           : only_some);
                return false;
            }
        if (block->successor_count == 0)
            return false;
        for (LLVMValueRef i = LLVMGetFirstInstruction(block->block); i;
             i = LLVMGetNextInstruction(i)) {
            bool store = LLVMIsAStoreInst(i) != NULL;
            if (!is_plain(i)) {
                refuse(llvm, i, "it is not only arithmetic and plain memory");
                return false;
            }
            if (store || LLVMIsALoadInst(i)) {
                LLVMValueRef pointer = LLVMGetOperand(i, store);
                LLVMTypeRef type = LLVMTypeOf(store ? LLVMGetOperand(i, 0) : i);
                if (hdi_map_index(&flow->slot_index, pointer) == SIZE_MAX)
                    gathers += hdi_affine_is_gathered(items, pointer, type);
            } else {
                work += hdi_is_work(flow, i);
            }
        }
    }
    if (flow->blocks[head].divergent) {
        refuse(llvm, LLVMGetBasicBlockTerminator(flow->blocks[head].block),
               only_some);
        return false;
    }
    return work > 0 && work >= llvm->target.gather * gathers;
}

// A loop that goes past what lies side by side, which the group can go round
// together whatever it does.
// Left at its head only: then all have gone round equally often.
static bool is_strided(const struct hdi_llvm *llvm, const struct hdi_nest *nest,
                       size_t head)
{
    const struct hdi_flow *flow = nest->flow;
    LLVMValueRef end = LLVMGetBasicBlockTerminator(flow->blocks[head].block);

    if (!hdi_is_strided(llvm, end))
        return false;
    if (flow->blocks[head].divergent || hdi_flow_is_divergent(flow, end)) {
        hdi_note(llvm, end, "divergent loop: %s", only_some);
        return false;
    }
    for (size_t b = 0; b < flow->block_count; b++) {
        if (!hdi_nest_has(nest, b))
            continue;
        if (flow->blocks[b].cut != HDI_NO_CUT)
            return false;
        for (unsigned s = 0; s < flow->blocks[b].successor_count; s++)
            if (b != head && !hdi_nest_has(nest, flow->blocks[b].successors[s]))
                return false;
    }
    return true;
}

// Inserting -------------------------------------------------------------------

// A block on the edge with the barrier alone, as real barriers have.
static void cut_edge(const struct hdi_llvm *llvm, const struct hdi_flow *flow,
                     LLVMModuleRef module, LLVMBuilderRef builder, size_t from,
                     unsigned successor)
{
    static const char name[] = "heddle.soft_barrier";
    LLVMContextRef c = llvm->context;
    LLVMValueRef end = LLVMGetBasicBlockTerminator(flow->blocks[from].block);
    LLVMTypeRef type =
        LLVMFunctionType(LLVMVoidTypeInContext(c), NULL, 0, false);
    LLVMValueRef function = LLVMGetNamedFunction(module, name);
    if (!function)
        function = LLVMAddFunction(module, name, type);

    LLVMBasicBlockRef block =
        LLVMAppendBasicBlockInContext(c, flow->kernel, "soft");
    hdi_build_at_end(builder, block);
    LLVMBuildCall2(builder, type, function, NULL, 0, "");
    LLVMBuildBr(builder, LLVMGetSuccessor(end, successor));
    LLVMSetSuccessor(end, successor, block);
}

// All edges to the head, from outside and back, and all that leave: so each
// turn of the loop's body is a region.
static void cut_loop(const struct hdi_llvm *llvm, const struct hdi_nest *nest,
                     LLVMModuleRef module, LLVMBuilderRef builder, size_t head)
{
    const struct hdi_flow *flow = nest->flow;

    for (size_t b = 0; b < flow->block_count; b++)
        for (unsigned s = 0; s < flow->blocks[b].successor_count; s++) {
            size_t next = flow->blocks[b].successors[s];
            if (next == head ||
                (hdi_nest_has(nest, b) && !hdi_nest_has(nest, next)))
                cut_edge(llvm, flow, module, builder, b, s);
        }
}

bool hdi_soft_insert(const struct hdi_value_steps *items, LLVMModuleRef module,
                     LLVMBuilderRef builder, struct hdi_nest *nest,
                     bool strided, unsigned *count)
{
    const struct hdi_llvm *llvm = items->llvm;
    size_t n = nest->flow->block_count;
    bool *chosen = calloc(n + 1, sizeof(*chosen));

    *count = 0;
    if (!chosen)
        return false;
    for (size_t b = 0; b < n; b++)
        chosen[b] =
            hdi_nest_take(nest, b) &&
            (strided ? is_strided(llvm, nest, b) : is_worth_it(items, nest, b));
    // Only now: edges change.
    for (size_t b = 0; b < n; b++)
        if (chosen[b]) {
            hdi_nest_take(nest, b);
            cut_loop(llvm, nest, module, builder, b);
            ++*count;
        }
    free(chosen);
    return true;
}
