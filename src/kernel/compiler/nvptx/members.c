// A GPU may run the lanes of a warp apart after they went different ways, and
// need not bring them together where the ways meet: those that are active there
// are not all that come. But where no branch that lanes may take differently
// decides whether a block is run, all of them come, and can be waited for.
//
// A block is whole unless it depends, by postdominators, on a branch whose
// condition diverges, or that is in a block which is not whole. Values diverge
// unless they are made of constants, of the launch's and of each other; a phi
// also where it is reached from a block that is not whole. Both only ever come
// to diverge, so the rounds end.
#include "kernel/compiler/nvptx/members.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/compiler/flow/dominators.h"
#include "kernel/compiler/ir/map.h"

struct members {
    LLVMBasicBlockRef *blocks;
    size_t count;
    struct hdi_map index;     // of blocks
    struct hdi_map divergent; // values
    struct hdi_dominators post;
    bool *parted; // per block: it is not whole
    bool changed;
};

static bool is_call_of(LLVMValueRef i, const char *name)
{
    LLVMValueRef callee = LLVMIsACallInst(i) ? LLVMGetCalledValue(i) : NULL;
    return callee && strcmp(hdi_value_name(callee), name) == 0;
}

// Words of the launch, and which work-group it is.
static bool is_of_launch(LLVMValueRef i)
{
    static const char *const names[] = {"hdu_word",
                                        "hdu_long",
                                        "hdu_in_tile",
                                        "hdu_whole",
                                        "llvm.nvvm.read.ptx.sreg.ctaid.x",
                                        "llvm.nvvm.read.ptx.sreg.ctaid.y",
                                        "llvm.nvvm.read.ptx.sreg.ctaid.z"};

    for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++)
        if (is_call_of(i, names[n]))
            return true;
    return false;
}

// A load of an argument or of the record.
static bool is_of_parameter(LLVMValueRef i)
{
    LLVMValueRef from = LLVMIsALoadInst(i) ? LLVMGetOperand(i, 0) : NULL;

    while (from &&
           (LLVMIsAGetElementPtrInst(from) || LLVMIsAAddrSpaceCastInst(from))) {
        for (int o = 1; o < LLVMGetNumOperands(from); o++)
            if (!LLVMIsAConstantInt(LLVMGetOperand(from, (unsigned)o)))
                return false;
        from = LLVMGetOperand(from, 0);
    }
    return from && LLVMIsAArgument(from);
}

static size_t block_of(const struct members *m, LLVMBasicBlockRef block)
{
    return hdi_map_index(&m->index, block);
}

static bool operands_diverge(const struct members *m, LLVMValueRef i)
{
    for (int o = 0; o < LLVMGetNumOperands(i); o++)
        if (hdi_map_get(&m->divergent, LLVMGetOperand(i, (unsigned)o)))
            return true;
    return false;
}

static bool diverges(const struct members *m, LLVMValueRef i)
{
    if (LLVMIsAPHINode(i))
        for (unsigned n = 0; n < LLVMCountIncoming(i); n++)
            if (m->parted[block_of(m, LLVMGetIncomingBlock(i, n))])
                return true;
    if (LLVMIsAPHINode(i) || LLVMIsABinaryOperator(i) || LLVMIsACmpInst(i) ||
        LLVMIsACastInst(i) || LLVMIsASelectInst(i) || LLVMIsAFreezeInst(i))
        return operands_diverge(m, i);
    return !is_of_launch(i) && !is_of_parameter(i);
}

// Blocks that some way of the branch leads past.
static void part(struct members *m, size_t branch, LLVMValueRef end)
{
    const uint64_t *always = hdi_dominators_of(&m->post, branch);

    for (unsigned s = 0; s < LLVMGetNumSuccessors(end); s++) {
        const uint64_t *then =
            hdi_dominators_of(&m->post, block_of(m, LLVMGetSuccessor(end, s)));
        for (size_t b = 0; b < m->count; b++)
            if (hdi_bit(then, b) && (b == branch || !hdi_bit(always, b)) &&
                !m->parted[b])
                m->parted[b] = m->changed = true;
    }
}

static void look_at(struct members *m, size_t block)
{
    LLVMValueRef end = LLVMGetBasicBlockTerminator(m->blocks[block]);

    for (LLVMValueRef i = LLVMGetFirstInstruction(m->blocks[block]); i;
         i = LLVMGetNextInstruction(i))
        if (!hdi_map_get(&m->divergent, i) && diverges(m, i)) {
            hdi_map_set(&m->divergent, i, i);
            m->changed = true;
        }
    if (LLVMGetNumSuccessors(end) > 1 &&
        (m->parted[block] ||
         hdi_map_get(&m->divergent, LLVMGetOperand(end, 0))))
        part(m, block, end);
}

// Where a way ends is outside; so is where nobody comes, as lanes that do not
// go on are not waited for.
static bool find_postdominators(struct members *m)
{
    size_t most = m->count, count = 0;

    for (size_t b = 0; b < m->count; b++)
        most += LLVMGetNumSuccessors(LLVMGetBasicBlockTerminator(m->blocks[b]));
    struct hdi_flow_edge *edges = calloc(most, sizeof(*edges));
    for (size_t b = m->count; edges && b-- > 0;) {
        LLVMValueRef end = LLVMGetBasicBlockTerminator(m->blocks[b]);
        unsigned ways = LLVMGetNumSuccessors(end);
        if (ways == 0)
            edges[count++] = (struct hdi_flow_edge){HDI_OUTSIDE, b};
        for (unsigned s = 0; s < ways; s++)
            edges[count++] = (struct hdi_flow_edge){
                block_of(m, LLVMGetSuccessor(end, s)), b};
    }
    bool ok = edges && hdi_dominators_find(&m->post, m->count, edges, count);
    free(edges);
    return ok;
}

static bool find(struct members *m, LLVMValueRef function)
{
    m->count = LLVMCountBasicBlocks(function);
    m->blocks = malloc(m->count * sizeof(LLVMBasicBlockRef));
    m->parted = calloc(m->count, sizeof(bool));
    if (!m->blocks || !m->parted)
        return false;
    LLVMGetBasicBlocks(function, m->blocks);
    for (size_t b = 0; b < m->count; b++)
        hdi_map_set_index(&m->index, m->blocks[b], b);
    if (m->index.failed || !find_postdominators(m))
        return false;
    do {
        m->changed = false;
        for (size_t b = 0; b < m->count; b++)
            look_at(m, b);
    } while (m->changed && !m->divergent.failed);
    return !m->divergent.failed;
}

static bool asks(LLVMValueRef function)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i))
            if (is_call_of(i, "hdu_whole"))
                return true;
    return false;
}

static void answer(const struct members *m)
{
    for (size_t b = 0; b < m->count; b++)
        for (LLVMValueRef i = LLVMGetFirstInstruction(m->blocks[b]), next; i;
             i = next) {
            next = LLVMGetNextInstruction(i);
            if (!is_call_of(i, "hdu_whole"))
                continue;
            LLVMReplaceAllUsesWith(
                i, LLVMConstInt(LLVMTypeOf(i), !m->parted[b], false));
            LLVMInstructionEraseFromParent(i);
        }
}

bool hdi_members_answer(LLVMValueRef function)
{
    struct members m = {0};

    if (!asks(function))
        return true;
    bool found = find(&m, function);
    if (found)
        answer(&m);
    hdi_dominators_destroy(&m.post);
    hdi_map_clear(&m.index);
    hdi_map_clear(&m.divergent);
    free(m.parted);
    free(m.blocks);
    return found;
}
