#include "kernel/compiler/transform/cut.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/compiler/flow/uniform.h"
#include "kernel/compiler/ir/rules.h"
#include "kernel/compiler/transform/soft.h"
#include "kernel/compiler/worth/weigh.h"

static bool describe(const struct hdi_llvm *llvm, LLVMValueRef kernel,
                     bool flat, struct hdi_flow *flow)
{
    return hdi_flow_find(llvm, kernel, flat, flow) && hdi_uniform_find(flow);
}

// Loops run one work-group after the other.
hd_status hdi_cut_check_grid(const struct hdi_llvm *llvm, LLVMValueRef kernel,
                             struct hd_error *error)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(kernel); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i))
            if (hdi_call_kind(i) == HDI_CALL_GRID_BARRIER)
                return hdi_fail(error, HD_EBUILD,
                                "%s:%u: error: hd_grid_barrier() needs the "
                                "work-items of all work-groups at once, which "
                                "loops (-heddle-form=loops) do not have",
                                llvm->path, hdi_source_line(i));
    return HD_OK;
}

//     ... barrier ...   ->   | ... | -> | barrier; br | -> | ... |
//
// Goes on behind the barrier, in the block that was split off.
uint32_t hdi_cut_barriers(const struct hdi_llvm *llvm, LLVMBuilderRef builder,
                          LLVMValueRef kernel)
{
    uint32_t barriers = 0;

    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(kernel); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i)) {
            enum hdi_call kind = hdi_call_kind(i);
            if (kind != HDI_CALL_BARRIER && kind != HDI_CALL_SUB_GROUP_BARRIER)
                continue;
            barriers++;
            // What is fenced is of no interest: all work-items of a group are
            // on one thread. As a constant it needs no load in the block.
            if (kind == HDI_CALL_BARRIER)
                LLVMSetOperand(i, 0,
                               LLVMConstNull(LLVMTypeOf(LLVMGetOperand(i, 0))));
            LLVMValueRef next = LLVMGetNextInstruction(i);
            hdi_block_split(llvm->context, builder, next, "after");
            b = hdi_block_split(llvm->context, builder, i, "barrier");
            break;
        }
    return barriers;
}

// For every block the cuts that can come next on the way from its start; one
// more bit, after those of the blocks, stands for the return.
// Backwards over the blocks until nothing changes; sets only grow. At a cut
// they end: what comes behind it is another region's.
static void find_next_cuts(const struct hdi_flow *flow, uint64_t *next,
                           size_t words)
{
    memset(next, 0, flow->block_count * words * sizeof(*next));
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t b = flow->block_count; b-- > 0;) {
            const struct hdi_block *block = &flow->blocks[b];
            for (size_t w = 0; w < words; w++) {
                uint64_t set = next[b * words + w];
                if (block->cut == HDI_NO_CUT)
                    for (unsigned s = 0; s < block->successor_count; s++)
                        set |= next[block->successors[s] * words + w];
                changed |= set != next[b * words + w];
                next[b * words + w] = set;
            }
            size_t own = block->cut != HDI_NO_CUT      ? b
                         : block->successor_count == 0 ? flow->block_count
                                                       : SIZE_MAX;
            if (own != SIZE_MAX && !hdi_bit(next + b * words, own)) {
                hdi_bit_set(next + b * words, own);
                changed = true;
            }
        }
    }
}

// Does this branch decide which cut comes next, and does the group agree on it?
// A branch whose ways lead to the same cuts may stay within the region,
// whatever work-items do.
static bool is_group_branch(const struct hdi_flow *flow, size_t index,
                            const uint64_t *next, size_t words)
{
    const struct hdi_block *block = &flow->blocks[index];
    bool decides = false;

    if (block->cut != HDI_NO_CUT || block->divergent ||
        block->successor_count < 2)
        return false;
    for (unsigned s = 1; s < block->successor_count; s++)
        decides |= memcmp(next + block->successors[0] * words,
                          next + block->successors[s] * words,
                          words * sizeof(*next)) != 0;
    return decides && !hdi_flow_is_divergent(
                          flow, LLVMGetBasicBlockTerminator(block->block));
}

// Choose the branches that the group takes together. Each one chosen changes
// what comes next for the blocks before it.
static bool choose_branches(struct hdi_flow *flow)
{
    size_t words = (flow->block_count + 1) / 64 + 1;
    uint64_t *next = calloc(flow->block_count * words, sizeof(*next));

    if (!next)
        return false;
    for (bool changed = true; changed;) {
        changed = false;
        find_next_cuts(flow, next, words);
        for (size_t b = 0; b < flow->block_count; b++)
            if (is_group_branch(flow, b, next, words)) {
                flow->blocks[b].cut = HDI_CUT_BRANCH;
                changed = true;
            }
    }
    free(next);
    return true;
}

// Put the chosen branches in blocks of their own and remember those blocks.
static void isolate_branches(struct hdi_llvm *llvm, LLVMBuilderRef builder,
                             const struct hdi_flow *flow, struct hdi_map *cuts)
{
    for (size_t b = 0; b < flow->block_count; b++)
        if (flow->blocks[b].cut == HDI_CUT_BRANCH)
            hdi_map_set_index(cuts,
                              hdi_block_split(llvm->context, builder,
                                              LLVMGetBasicBlockTerminator(
                                                  flow->blocks[b].block),
                                              "branch"),
                              HDI_CUT_BRANCH);
}

static hd_status fail_memory(const struct hdi_llvm *llvm,
                             struct hd_error *error)
{
    return hdi_fail(error, HD_ENOMEM, "%s: no memory to compile", llvm->path);
}

// Weighs lanes first, since soft barriers are put in where lanes do not come.
// Flow and loops are found for this alone: the kernel changes at the end.
hd_status hdi_cut_soften(struct hdi_llvm *llvm, LLVMModuleRef module,
                         LLVMBuilderRef builder, LLVMValueRef kernel,
                         struct hdi_cuts *cuts, struct hd_error *error)
{
    struct hdi_flow flow;
    struct hdi_nest nest = {0};
    struct hdi_value_steps items = {0};
    bool ok = describe(llvm, kernel, cuts->flat, &flow) &&
              hdi_nest_find(&nest, &flow) &&
              hdi_affine_find(llvm, kernel, &flow, false, &items) &&
              hdi_weigh_lanes(&items, &nest, &cuts->wide, &cuts->gathers);

    if (ok)
        hdi_traits_find(&items, &nest, &cuts->traits);
    cuts->wide &= hdi_rule_is_on(llvm, HDI_RULE_LANES) && !cuts->whole;
    cuts->wide |= llvm->screen; // tags need no order but that of barriers
    if (hdi_rule_is_on(llvm, HDI_RULE_SOFT) && !cuts->whole)
        ok = ok && hdi_soft_insert(&items, module, builder, &nest, cuts->wide,
                                   &cuts->soft_loops);
    hdi_affine_destroy(&items);
    hdi_nest_destroy(&nest);
    hdi_flow_destroy(&flow);
    return ok ? HD_OK : fail_memory(llvm, error);
}

hd_status hdi_cut_branches(struct hdi_llvm *llvm, LLVMBuilderRef builder,
                           LLVMValueRef kernel, struct hdi_cuts *cuts,
                           struct hd_error *error)
{
    struct hdi_flow flow;

    if (cuts->barriers == 0 && cuts->soft_loops == 0)
        return HD_OK;
    bool ok =
        describe(llvm, kernel, cuts->flat, &flow) && choose_branches(&flow);
    if (ok)
        isolate_branches(llvm, builder, &flow, &cuts->branches);
    hdi_flow_destroy(&flow);
    return ok && !cuts->branches.failed ? HD_OK : fail_memory(llvm, error);
}

// Sub-groups meet where the whole group does: one that came alone would wait
// for the others.
static hd_status check_sub_groups(const struct hdi_llvm *llvm,
                                  const struct hdi_flow *flow,
                                  struct hd_error *error)
{
    for (size_t b = 0; b < flow->block_count; b++) {
        LLVMValueRef first = LLVMGetFirstInstruction(flow->blocks[b].block);
        if (hdi_call_kind(first) == HDI_CALL_SUB_GROUP_BARRIER &&
            flow->blocks[b].divergent)
            return hdi_fail(error, HD_EBUILD,
                            "%s:%u: error: a sub-group function is called in a "
                            "branch that work-items of a group may not all "
                            "take: call it before the branch",
                            llvm->path, hdi_source_line(first));
    }
    return HD_OK;
}

hd_status hdi_cut_describe(const struct hdi_llvm *llvm, LLVMValueRef kernel,
                           const struct hdi_cuts *cuts, struct hdi_flow *flow,
                           struct hd_error *error)
{
    if (!describe(llvm, kernel, cuts->flat, flow)) {
        hdi_flow_destroy(flow);
        return fail_memory(llvm, error);
    }
    flow->soft_loops = cuts->soft_loops;
    flow->wide = cuts->wide;
    flow->gathers = cuts->gathers;
    hd_status status = check_sub_groups(llvm, flow, error);
    if (status != HD_OK)
        hdi_flow_destroy(flow);
    for (size_t b = 0; status == HD_OK && b < flow->block_count; b++)
        if (hdi_map_get(&cuts->branches, flow->blocks[b].block))
            flow->blocks[b].cut = HDI_CUT_BRANCH;
    return status;
}
