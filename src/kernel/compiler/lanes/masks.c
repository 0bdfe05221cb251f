//     block a       mask = icmp        wide = sext mask
//     block b       use of mask   ->   use of (wide < 0), once per block
//
// In three rounds over a function: make wide ones (phi nodes first), fill the
// phi nodes, use them. Old phi nodes go last, as they are keys until then.
#include "kernel/compiler/lanes/masks.h"

#include <llvm-c/DebugInfo.h>

#include "base/error.h"
#include "kernel/compiler/ir/map.h"

enum {
    LEAST_LANES = 8, // fewer are as wide as numbers in LLVM too
    MAX_DEPTH = 8    // of what is computed with masks
};

struct masks {
    const struct hdi_llvm *llvm;
    LLVMBuilderRef builder;
    struct hdi_map wide;   // mask that leaves its block, and what it is made of
                           // by way of such: the same with wide elements
    struct hdi_map narrow; // such a mask: its bits, in the block at hand
};

static bool is_mask(const struct masks *m, LLVMValueRef value)
{
    LLVMTypeRef type = LLVMTypeOf(value);

    if (LLVMGetTypeKind(type) != LLVMVectorTypeKind ||
        !hdi_is_integer(LLVMGetElementType(type), 1))
        return false;
    unsigned lanes = LLVMGetVectorSize(type);
    // Of more than a vector LLVM packs the bits within blocks as well.
    return lanes >= LEAST_LANES && lanes <= hdi_target_lanes(&m->llvm->target);
}

static LLVMTypeRef wide_type(const struct masks *m, LLVMValueRef mask)
{
    return LLVMVectorType(LLVMInt32TypeInContext(m->llvm->context),
                          LLVMGetVectorSize(LLVMTypeOf(mask)));
}

static bool leaves_block(LLVMValueRef value)
{
    LLVMBasicBlockRef block = LLVMGetInstructionParent(value);

    for (LLVMUseRef u = LLVMGetFirstUse(value); u; u = LLVMGetNextUse(u))
        if (LLVMIsAPHINode(LLVMGetUser(u)) ||
            LLVMGetInstructionParent(LLVMGetUser(u)) != block)
            return true;
    return false;
}

static void go_behind(struct masks *m, LLVMValueRef instruction)
{
    LLVMPositionBuilderBefore(m->builder, LLVMGetNextInstruction(instruction));
    LLVMSetCurrentDebugLocation2(m->builder, NULL);
}

static LLVMValueRef first_behind_phis(LLVMBasicBlockRef block)
{
    LLVMValueRef x = LLVMGetFirstInstruction(block);

    while (LLVMIsAPHINode(x))
        x = LLVMGetNextInstruction(x);
    return x;
}

// Widening --------------------------------------------------------------------

static LLVMValueRef widen(struct masks *m, LLVMValueRef mask, unsigned depth);

static bool is_logic(LLVMValueRef value)
{
    LLVMOpcode code =
        LLVMIsAInstruction(value) ? LLVMGetInstructionOpcode(value) : LLVMRet;
    return code == LLVMAnd || code == LLVMOr || code == LLVMXor;
}

// What is computed from what is wide already is computed with that.
// NULL: its parts are not wide, so the result may as well be widened itself.
static LLVMValueRef widen_logic(struct masks *m, LLVMValueRef x, unsigned depth)
{
    LLVMValueRef parts[2];
    bool some = false;

    for (unsigned i = 0; i < 2; i++) {
        LLVMValueRef operand = LLVMGetOperand(x, i);
        some |= is_logic(operand) || hdi_map_get(&m->wide, operand) != NULL;
        parts[i] = operand;
    }
    if (!some || depth == 0)
        return NULL;
    for (unsigned i = 0; i < 2; i++)
        parts[i] = widen(m, parts[i], depth - 1);
    go_behind(m, x);
    return LLVMBuildBinOp(m->builder, LLVMGetInstructionOpcode(x), parts[0],
                          parts[1], "");
}

// For use behind the mask, which is no phi node that is not wide yet.
static LLVMValueRef widen(struct masks *m, LLVMValueRef mask, unsigned depth)
{
    LLVMValueRef wide = hdi_map_get(&m->wide, mask);

    if (wide)
        return wide;
    if (LLVMIsConstant(mask))
        return LLVMBuildSExt(m->builder, mask, wide_type(m, mask), "");
    if (is_logic(mask))
        wide = widen_logic(m, mask, depth);
    if (!wide && LLVMIsAInstruction(mask))
        go_behind(m, mask);
    else if (!wide)
        LLVMPositionBuilderBefore(
            m->builder, first_behind_phis(
                            LLVMGetEntryBasicBlock(LLVMGetParamParent(mask))));
    if (!wide)
        wide = LLVMBuildSExt(m->builder, mask, wide_type(m, mask), "");
    hdi_map_set(&m->wide, mask, wide);
    return wide;
}

static void widen_all(struct masks *m, LLVMValueRef function)
{
    // Phi nodes first: they may be made of each other.
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef x = LLVMGetFirstInstruction(b); LLVMIsAPHINode(x);
             x = LLVMGetNextInstruction(x))
            if (is_mask(m, x)) {
                LLVMPositionBuilderBefore(m->builder, x);
                hdi_map_set(&m->wide, x,
                            LLVMBuildPhi(m->builder, wide_type(m, x), ""));
            }
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef x = first_behind_phis(b); x;
             x = LLVMGetNextInstruction(x))
            if (is_mask(m, x) && leaves_block(x))
                widen(m, x, MAX_DEPTH);
}

static void fill_phi(struct masks *m, LLVMValueRef phi)
{
    LLVMValueRef wide = hdi_map_get(&m->wide, phi);

    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
        LLVMBasicBlockRef from = LLVMGetIncomingBlock(phi, i);
        LLVMValueRef value = widen(m, LLVMGetIncomingValue(phi, i), 0);
        LLVMAddIncoming(wide, &value, &from, 1);
    }
}

// Using -----------------------------------------------------------------------

// The bits of a wide mask in a block, once.
// The sign of an element is the bit: an element is all ones or all zeros.
static LLVMValueRef narrow(struct masks *m, LLVMValueRef mask,
                           LLVMBasicBlockRef block)
{
    LLVMValueRef wide = hdi_map_get(&m->wide, mask);
    LLVMValueRef bits = hdi_map_get(&m->narrow, mask);

    if (bits)
        return bits;
    LLVMPositionBuilderBefore(m->builder, first_behind_phis(block));
    LLVMSetCurrentDebugLocation2(m->builder, NULL);
    bits = LLVMBuildICmp(m->builder, LLVMIntSLT, wide,
                         LLVMConstNull(LLVMTypeOf(wide)), "");
    hdi_map_set(&m->narrow, mask, bits);
    return bits;
}

// A mask made in this block stays as it is there: LLVM knows it within a block.
static void use_wide(struct masks *m, LLVMBasicBlockRef block)
{
    for (LLVMValueRef x = first_behind_phis(block); x;
         x = LLVMGetNextInstruction(x))
        for (unsigned o = 0; o < (unsigned)LLVMGetNumOperands(x); o++) {
            LLVMValueRef mask = LLVMGetOperand(x, o);
            if (!LLVMIsAInstruction(mask) || !is_mask(m, mask) ||
                !hdi_map_get(&m->wide, mask) ||
                (!LLVMIsAPHINode(mask) &&
                 LLVMGetInstructionParent(mask) == block))
                continue;
            LLVMSetOperand(x, o, narrow(m, mask, block));
        }
    hdi_map_clear(&m->narrow);
}

static void each_phi(struct masks *m, LLVMValueRef function,
                     void (*change)(struct masks *m, LLVMValueRef phi))
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef x = LLVMGetFirstInstruction(b), next;
             LLVMIsAPHINode(x); x = next) {
            next = LLVMGetNextInstruction(x);
            if (is_mask(m, x))
                change(m, x);
        }
}

static void drop(struct masks *m, LLVMValueRef phi)
{
    (void)m;
    LLVMReplaceAllUsesWith(phi, LLVMGetPoison(LLVMTypeOf(phi)));
    LLVMInstructionEraseFromParent(phi);
}

static bool change(struct masks *m, LLVMValueRef function)
{
    widen_all(m, function);
    bool ok = !m->wide.failed;
    if (ok) {
        each_phi(m, function, fill_phi);
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b;
             b = LLVMGetNextBasicBlock(b))
            use_wide(m, b);
        each_phi(m, function, drop);
        ok = !m->wide.failed && !m->narrow.failed;
    }
    hdi_map_clear(&m->wide);
    return ok;
}

hd_status hdi_masks_widen(const struct hdi_llvm *llvm, LLVMModuleRef module,
                          struct hd_error *error)
{
    struct masks m = {.llvm = llvm};
    bool ok = true;

    if (llvm->target.word_gather) // masks have registers there
        return HD_OK;
    m.builder = LLVMCreateBuilderInContext(llvm->context);
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f && ok;
         f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f))
            ok = change(&m, f);
    LLVMDisposeBuilder(m.builder);
    return ok ? HD_OK
              : hdi_fail(error, HD_ENOMEM, "%s: no memory to compile",
                         llvm->path);
}
