#include "kernel/compiler/fiber/coroutine.h"

#include <string.h>

#include "kernel/compiler/prepare/prepare.h"

// There is such memory for each work-item of a group; past so much, fibers are
// used, whose stacks are touched as needed.
enum {
    MAX_BYTES = 16 << 10, // private memory of one; the rest of it would be on
                          // the stack of the unit [bytes]
    MAX_ALIGNMENT = 4096  // its memory begins with a page
};

// A kernel that never waits needs no memory of its own: one stack does for all
// its work-items.
bool hdi_coroutine_fits(const struct hdi_llvm *llvm, LLVMValueRef kernel)
{
    uint64_t bytes = 0;
    bool waits = false, fits = true;

    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(kernel); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i)) {
            waits |= hdi_call_is_barrier(hdi_call_kind(i));
            if (!LLVMIsAAllocaInst(i))
                continue;
            bytes += LLVMABISizeOfType(llvm->layout, LLVMGetAllocatedType(i));
            fits &= LLVMGetAlignment(i) <= MAX_ALIGNMENT;
        }
    return waits && fits && bytes <= MAX_BYTES;
}

static LLVMValueRef call(const struct hdi_coroutine *c, const char *name,
                         LLVMTypeRef *types, size_t type_count,
                         LLVMValueRef *arguments, unsigned count)
{
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMValueRef function =
        LLVMGetIntrinsicDeclaration(c->module, id, types, type_count);

    return LLVMBuildCall2(
        c->builder,
        LLVMIntrinsicGetType(c->llvm->context, id, types, type_count), function,
        arguments, count, "");
}

static LLVMValueRef no_token(const struct hdi_coroutine *c)
{
    return LLVMConstNull(LLVMTokenTypeInContext(c->llvm->context));
}

static LLVMValueRef no(const struct hdi_coroutine *c)
{
    return LLVMConstNull(LLVMInt1TypeInContext(c->llvm->context));
}

static LLVMValueRef after_variables(LLVMBasicBlockRef block)
{
    LLVMValueRef i = LLVMGetFirstInstruction(block);
    while (LLVMIsAAllocaInst(i))
        i = LLVMGetNextInstruction(i);
    return i;
}

// Tell how much memory it takes: a multiple of how that is to be aligned.
static void tell_size(const struct hdi_coroutine *c, LLVMTypeRef pointer)
{
    LLVMTypeRef i64 = LLVMInt64TypeInContext(c->llvm->context);
    LLVMValueRef size = call(c, "llvm.coro.size", &i64, 1, NULL, 0);
    LLVMValueRef align = call(c, "llvm.coro.align", &i64, 1, NULL, 0);
    LLVMValueRef one = LLVMConstInt(i64, 1, false);

    size = LLVMBuildAdd(c->builder, size,
                        LLVMBuildSub(c->builder, align, one, ""), "");
    size =
        LLVMBuildAnd(c->builder, size, LLVMBuildNeg(c->builder, align, ""), "");
    LLVMBuildRet(c->builder, LLVMBuildIntToPtr(c->builder, size, pointer, ""));
}

// The size is known only when the function is split, so it is asked for by a
// call (without memory) and not written down here.
LLVMValueRef hdi_coroutine_begin(struct hdi_coroutine *c)
{
    LLVMContextRef context = c->llvm->context;
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(c->function);
    LLVMValueRef memory = LLVMGetParam(c->function, 1);
    LLVMTypeRef pointer = LLVMTypeOf(memory);
    LLVMValueRef nothing = LLVMConstNull(pointer);
    LLVMValueRef about[] = {LLVMConstNull(LLVMInt32TypeInContext(context)),
                            nothing, nothing, nothing};

    hdi_function_flag(c->function, "presplitcoroutine", true);
    LLVMBasicBlockRef begin =
        hdi_block_split(context, c->builder, after_variables(entry), "begin");
    LLVMBasicBlockRef tell =
        LLVMAppendBasicBlockInContext(context, c->function, "tell");
    c->stopped = LLVMAppendBasicBlockInContext(context, c->function, "stopped");
    LLVMInstructionEraseFromParent(LLVMGetLastInstruction(entry));
    LLVMValueRef id = call(c, "llvm.coro.id", NULL, 0, about, 4);
    LLVMBuildCondBr(c->builder, LLVMBuildIsNull(c->builder, memory, ""), tell,
                    begin);
    hdi_build_at_end(c->builder, tell);
    tell_size(c, pointer);

    LLVMPositionBuilderBefore(c->builder, LLVMGetFirstInstruction(begin));
    LLVMSetCurrentDebugLocation2(c->builder, NULL);
    LLVMValueRef handle =
        call(c, "llvm.coro.begin", NULL, 0, (LLVMValueRef[]){id, memory}, 2);

    // The optimiser takes memory that no caller hears of for the function's
    // own.
    hdi_build_at_end(c->builder, c->stopped);
    LLVMValueRef end[] = {handle, no(c), no_token(c)};
    call(c, "llvm.coro.end", NULL, 0, end, 3);
    LLVMBuildRet(c->builder, handle);
    return LLVMGetNextInstruction(handle);
}

// The suspension tells why it goes on: 0, resumed; anything else leads to where
// it leaves. No coroutine is destroyed while it waits: its memory is simply
// used again.
void hdi_coroutine_suspend(const struct hdi_coroutine *c, LLVMValueRef barrier)
{
    LLVMValueRef arguments[] = {no_token(c), no(c)};
    LLVMBasicBlockRef after =
        hdi_block_split(c->llvm->context, c->builder, barrier, "resume");

    LLVMInstructionEraseFromParent(
        LLVMGetLastInstruction(LLVMGetInsertBlock(c->builder)));
    LLVMValueRef why = call(c, "llvm.coro.suspend", NULL, 0, arguments, 2);
    LLVMValueRef next = LLVMBuildSwitch(c->builder, why, c->stopped, 1);
    LLVMAddCase(next, LLVMConstNull(LLVMTypeOf(why)), after);
}

void hdi_coroutine_end(const struct hdi_coroutine *c, LLVMValueRef end)
{
    LLVMBuildBr(c->builder, c->stopped);
    LLVMInstructionEraseFromParent(end);
}

void hdi_coroutine_resume(const struct hdi_coroutine *c, LLVMValueRef function)
{
    LLVMValueRef memory = LLVMGetParam(function, 0);

    LLVMSetLinkage(function, LLVMInternalLinkage);
    hdi_build_at_end(c->builder, LLVMAppendBasicBlockInContext(
                                     c->llvm->context, function, "entry"));
    call(c, "llvm.coro.resume", NULL, 0, &memory, 1);
    LLVMBuildRetVoid(c->builder);
}

// Before anything else is optimised: unrolled loops would be many more places
// to go on from.
// The fewer values live across a suspension, the less memory: hence the passes
// before the split, and no more.
hd_status hdi_coroutine_split(const struct hdi_coroutine *c,
                              struct hd_error *error)
{
    return hdi_llvm_passes(
        c->llvm, c->module,
        "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,"
        "simplifycfg),coro-early,cgscc(coro-split),coro-cleanup",
        error);
}
