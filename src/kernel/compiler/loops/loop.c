#include "kernel/compiler/loops/loop.h"

#include <llvm-c/DebugInfo.h>

#include "kernel/compiler/lanes/jam.h"
#include "kernel/compiler/loops/forms.h"

// {itself, properties...}, distinct because it holds itself.
// What is told of a loop over work-items: that it ends, that its accesses are
// independent (unless ordered), whether it is to become vectors (unless
// scalar), and by its column which region it is of (forms.h).
static LLVMValueRef loop_metadata(const struct hdi_emit *e, bool innermost,
                                  bool is_of_rows, unsigned region)
{
    LLVMContextRef c = e->llvm->context;
    LLVMMetadataRef self = LLVMTemporaryMDNode(c, NULL, 0);
    LLVMMetadataRef properties[8] = {self};
    size_t n = 1;
    LLVMMetadataRef word[2];

#define WORD(text) LLVMMDStringInContext2(c, text, sizeof(text) - 1)
    word[0] = WORD("llvm.loop.mustprogress");
    properties[n++] = LLVMMDNodeInContext2(c, word, 1);
    word[0] = WORD("llvm.loop.unroll.disable");
    properties[n++] = LLVMMDNodeInContext2(c, word, 1);
    if (is_of_rows) {
        word[0] = WORD(HDI_JAM_MARK);
        properties[n++] = LLVMMDNodeInContext2(c, word, 1);
    }
    if (innermost) {
        LLVMMetadataRef scope = LLVMGetSubprogram(e->function);
        if (scope)
            properties[n++] = LLVMDIBuilderCreateDebugLocation(
                c, e->about->line, HDI_REGION_COLUMN + region, scope, NULL);
        word[0] = WORD("llvm.loop.vectorize.enable");
        word[1] = LLVMValueAsMetadata(LLVMConstInt(e->i1, !e->scalar, false));
        properties[n++] = LLVMMDNodeInContext2(c, word, 2);
        if (!e->ordered) {
            word[0] = WORD("llvm.loop.parallel_accesses");
            word[1] = LLVMValueAsMetadata(e->access_group);
            properties[n++] = LLVMMDNodeInContext2(c, word, 2);
        }
        // A few vectors are no loop at all; then lanes fit registers.
        if (LLVMIsAConstantInt(e->trip[0])) {
            LLVMMetadataRef after[3] = {
                WORD("llvm.loop.vectorize.followup_vectorized")};
            word[0] = WORD("llvm.loop.isvectorized");
            word[1] = LLVMValueAsMetadata(LLVMConstInt(e->i32, 1, false));
            after[1] = LLVMMDNodeInContext2(c, word, 2);
            word[0] = WORD("llvm.loop.unroll.enable");
            after[2] = LLVMMDNodeInContext2(c, word, 1);
            properties[n++] = LLVMMDNodeInContext2(c, after, 3);
        }
    }
#undef WORD
    LLVMMetadataRef node = LLVMMDNodeInContext2(c, properties, n);
    LLVMMetadataReplaceAllUsesWith(self, node);
    return LLVMMetadataAsValue(c, node);
}

struct hdi_loop hdi_loop_begin(struct hdi_emit *e, unsigned d)
{
    LLVMTypeRef type = LLVMTypeOf(e->trip[d]);
    struct hdi_loop loop = {.counter = hdi_emit_alloca(e, type),
                            .head = hdi_emit_block(e, "items")};

    LLVMBuildStore(e->builder, LLVMConstInt(type, 0, false), loop.counter);
    LLVMBuildBr(e->builder, loop.head);
    hdi_build_at_end(e->builder, loop.head);
    e->item_ids[d] = LLVMBuildLoad2(e->builder, type, loop.counter, "");
    return loop;
}

// The group has a work-item at least, so the test is at the end alone.
void hdi_loop_end(struct hdi_emit *e, const struct hdi_loop *loop, unsigned d,
                  unsigned region)
{
    LLVMBasicBlockRef after = hdi_emit_block(e, "after");
    LLVMTypeRef type = LLVMTypeOf(e->trip[d]);
    LLVMValueRef next = LLVMBuildNUWAdd(e->builder, e->item_ids[d],
                                        LLVMConstInt(type, 1, false), "");

    LLVMSetNSW(next, true);
    LLVMBuildStore(e->builder, next, loop->counter);
    LLVMValueRef branch = LLVMBuildCondBr(
        e->builder, LLVMBuildICmp(e->builder, LLVMIntULT, next, e->trip[d], ""),
        loop->head, after);
    LLVMSetMetadata(branch, e->loop_kind,
                    loop_metadata(e, d == 0, loop->is_of_rows, region));
    hdi_build_at_end(e->builder, after);
}
