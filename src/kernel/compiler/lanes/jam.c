// A row that is one long chain of dependent steps waits for each of them; of
// several rows at once the steps overlap:
//
//     row 0    a --- b --- c ---            a a a --- b b b --- c c c ---
//     row 1                      a --- ...
//
// Only loops with our mark are looked at: rows of those are independent.
#include "kernel/compiler/lanes/jam.h"

#include <llvm-c/DebugInfo.h>
#include <string.h>

#include "base/error.h"
#include "kernel/compiler/analysis/address.h"
#include "kernel/compiler/ir/map.h"

// Of long rows it would be too much code.
enum {
    MAX_ROWS = 4,
    MAX_LENGTH = 200, // of a row [instructions]
    ROW_REGISTERS = 2 // that each row takes
};

// A loop of one block: for (counter = 0; ++counter != end;).
struct loop {
    LLVMBasicBlockRef block, before, after;
    LLVMValueRef counter, next, test, end;
};

// What a loop does ------------------------------------------------------------

static bool is_word(LLVMValueRef property, const char *word)
{
    LLVMValueRef first;
    unsigned length;

    if (!LLVMIsAMDNode(property) || LLVMGetMDNodeNumOperands(property) != 1)
        return false;
    LLVMGetMDNodeOperands(property, &first);
    const char *text = first && LLVMIsAMDString(first)
                           ? LLVMGetMDString(first, &length)
                           : NULL;
    return text && length == strlen(word) && memcmp(text, word, length) == 0;
}

static bool is_marked(LLVMValueRef branch, unsigned kind)
{
    LLVMValueRef properties[16], node = LLVMGetMetadata(branch, kind);

    if (!node || LLVMGetMDNodeNumOperands(node) > 16)
        return false;
    int count = LLVMGetMDNodeNumOperands(node);
    LLVMGetMDNodeOperands(node, properties);
    for (int p = 1; p < count; p++) // 0: itself
        if (properties[p] && is_word(properties[p], HDI_JAM_MARK))
            return true;
    return false;
}

static bool is_one(LLVMValueRef value)
{
    return LLVMIsAConstantInt(value) && LLVMConstIntGetZExtValue(value) == 1;
}

static bool is_in(const struct loop *l, LLVMValueRef value)
{
    return LLVMIsAInstruction(value) &&
           LLVMGetInstructionParent(value) == l->block;
}

// Ways into the loop but its own; 1 is one.
static unsigned count_entries(struct loop *l)
{
    unsigned count = 0;

    for (LLVMUseRef use = LLVMGetFirstUse(LLVMBasicBlockAsValue(l->block)); use;
         use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        if (!LLVMIsATerminatorInst(user))
            return 0; // its address is taken
        if (LLVMGetInstructionParent(user) == l->block)
            continue;
        l->before = LLVMGetInstructionParent(user);
        count++;
    }
    return count;
}

static bool find_counter(struct loop *l)
{
    LLVMValueRef phi = LLVMGetFirstInstruction(l->block);

    if (!LLVMIsAPHINode(phi) || LLVMIsAPHINode(LLVMGetNextInstruction(phi)) ||
        LLVMCountIncoming(phi) != 2)
        return false;
    l->counter = phi;
    unsigned own = LLVMGetIncomingBlock(phi, 0) == l->block ? 0 : 1;
    LLVMValueRef first = LLVMGetIncomingValue(phi, 1 - own);
    l->next = LLVMGetIncomingValue(phi, own);
    return LLVMIsAConstantInt(first) && LLVMIsNull(first) &&
           is_in(l, l->next) && LLVMGetInstructionOpcode(l->next) == LLVMAdd &&
           LLVMGetOperand(l->next, 0) == phi &&
           is_one(LLVMGetOperand(l->next, 1));
}

static bool find_end(struct loop *l, LLVMValueRef branch)
{
    bool stays = LLVMGetSuccessor(branch, 0) == l->block;

    l->after = LLVMGetSuccessor(branch, stays ? 1 : 0);
    l->test = LLVMGetCondition(branch);
    if (l->after == l->block || !LLVMIsAICmpInst(l->test) ||
        !is_in(l, l->test) ||
        LLVMGetICmpPredicate(l->test) != (stays ? LLVMIntNE : LLVMIntEQ) ||
        LLVMGetOperand(l->test, 0) != l->next)
        return false;
    l->end = LLVMGetOperand(l->test, 1);
    return !is_in(l, l->end);
}

static bool find_loop(LLVMBasicBlockRef block, unsigned kind, struct loop *l)
{
    LLVMValueRef branch = LLVMGetBasicBlockTerminator(block);

    *l = (struct loop){.block = block};
    return LLVMIsABranchInst(branch) && LLVMIsConditional(branch) &&
           is_marked(branch, kind) && count_entries(l) == 1 &&
           find_counter(l) && find_end(l, branch);
}

// Memory of the function: each row has it to itself for as long as it lasts.
static bool is_own_memory(LLVMValueRef value)
{
    LLVMTypeRef type = LLVMTypeOf(value);

    if (LLVMGetTypeKind(type) == LLVMVectorTypeKind)
        type = LLVMGetElementType(type);
    return LLVMGetTypeKind(type) == LLVMPointerTypeKind &&
           LLVMIsAAllocaInst(hdi_address_root(NULL, value));
}

// Rows may take turns: nobody outside asks what the last has computed, and it
// calls nothing of which that is not known.
static bool may_take_turns(const struct loop *l, LLVMValueRef i)
{
    for (LLVMUseRef use = LLVMGetFirstUse(i); use; use = LLVMGetNextUse(use))
        if (!is_in(l, LLVMGetUser(use)))
            return false;
    for (unsigned o = 0; o < (unsigned)LLVMGetNumOperands(i); o++)
        if (is_own_memory(LLVMGetOperand(i, o)))
            return false;
    if (LLVMIsACallInst(i))
        return LLVMGetIntrinsicID(LLVMGetCalledValue(i)) != 0;
    if (LLVMIsALoadInst(i) || LLVMIsAStoreInst(i))
        return !LLVMGetVolatile(i) &&
               LLVMGetOrdering(i) == LLVMAtomicOrderingNotAtomic;
    return !LLVMIsAAtomicRMWInst(i) && !LLVMIsAAtomicCmpXchgInst(i) &&
           !LLVMIsAFenceInst(i);
}

static bool is_vector(LLVMValueRef value)
{
    return LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMVectorTypeKind;
}

// A step of arithmetic that takes some cycles.
static bool is_step(LLVMValueRef i)
{
    switch (LLVMGetInstructionOpcode(i)) {
    case LLVMFAdd:
    case LLVMFSub:
    case LLVMFMul:
        return is_vector(i);
    case LLVMCall: {
        const char *name = hdi_value_name(LLVMGetCalledValue(i));
        return is_vector(i) && strncmp(name, "llvm.fm", 7) == 0; // fma, fmuladd
    }
    default:
        return false;
    }
}

// What one turn of the loop does.
struct row {
    size_t length, steps, chain; // instructions; steps: all, one after another
    unsigned kept;               // vectors from outside that all rows read
};

static size_t chain_before(const struct hdi_map *chains, LLVMValueRef i)
{
    size_t most = 0;

    for (unsigned o = 0; o < (unsigned)LLVMGetNumOperands(i); o++) {
        size_t chain = hdi_map_index(chains, LLVMGetOperand(i, o));
        most = chain != SIZE_MAX && chain > most ? chain : most;
    }
    return most;
}

static void count_kept(const struct loop *l, LLVMValueRef i,
                       struct hdi_map *kept)
{
    for (unsigned o = 0; o < (unsigned)LLVMGetNumOperands(i); o++) {
        LLVMValueRef value = LLVMGetOperand(i, o);
        if (is_vector(value) && !LLVMIsAConstant(value) && !is_in(l, value))
            hdi_map_set(kept, value, value);
    }
}

static bool measure(const struct loop *l, struct row *row)
{
    struct hdi_map chains = {0}, kept = {0};
    bool may = true;

    *row = (struct row){0};
    for (LLVMValueRef i = LLVMGetNextInstruction(l->counter);
         may && !LLVMIsATerminatorInst(i); i = LLVMGetNextInstruction(i)) {
        size_t chain = chain_before(&chains, i) + is_step(i);
        hdi_map_set_index(&chains, i, chain);
        row->steps += is_step(i);
        row->chain = chain > row->chain ? chain : row->chain;
        row->length++;
        count_kept(l, i, &kept);
        may = may_take_turns(l, i);
    }
    row->kept = (unsigned)kept.count;
    may &= !chains.failed && !kept.failed;
    hdi_map_clear(&chains);
    hdi_map_clear(&kept);
    return may;
}

// How many rows at once pay; 1: none but one.
// Short chains overlap by themselves, as a processor looks ahead.
// A power of two: as many as hide the time of a step, and leave no value
// without a register.
static unsigned choose_rows(const struct hdi_target *target,
                            const struct row *row)
{
    unsigned rows = MAX_ROWS;

    if (row->chain < target->ahead || 2 * row->chain < row->steps ||
        row->length > MAX_LENGTH)
        return 1;
    while (rows > target->latency)
        rows /= 2;
    while (rows > 1 && row->kept + rows * ROW_REGISTERS > target->registers)
        rows /= 2;
    return rows;
}

// Changing it -----------------------------------------------------------------

static void take(struct hdi_map *copies, LLVMValueRef copy)
{
    for (unsigned o = 0; o < (unsigned)LLVMGetNumOperands(copy); o++) {
        LLVMValueRef value = hdi_map_get(copies, LLVMGetOperand(copy, o));
        if (value)
            LLVMSetOperand(copy, o, value);
    }
}

// Each instruction for all rows, then the next.
// In this order the steps of different rows stand side by side. False: no
// memory.
static bool write_rows(LLVMBuilderRef b, const struct loop *l,
                       LLVMValueRef counter, unsigned rows)
{
    struct hdi_map copies[MAX_ROWS] = {0};
    bool ok = true;

    for (unsigned r = 0; r < rows; r++)
        hdi_map_set(&copies[r], l->counter,
                    r == 0
                        ? counter
                        : LLVMBuildNUWAdd(
                              b, counter,
                              LLVMConstInt(LLVMTypeOf(counter), r, false), ""));
    for (LLVMValueRef i = LLVMGetNextInstruction(l->counter);
         !LLVMIsATerminatorInst(i); i = LLVMGetNextInstruction(i)) {
        if (i == l->test)
            continue;
        for (unsigned r = 0; r < rows; r++) {
            LLVMValueRef copy = LLVMInstructionClone(i);
            take(&copies[r], copy);
            LLVMInsertIntoBuilder(b, copy);
            hdi_map_set(&copies[r], i, copy);
        }
    }
    for (unsigned r = 0; r < rows; r++) {
        ok &= !copies[r].failed;
        hdi_map_clear(&copies[r]);
    }
    return ok;
}

// Values that blocks behind the loop get from it come from `block` too.
static void extend_phis(const struct loop *l, LLVMBasicBlockRef block)
{
    for (LLVMValueRef phi = LLVMGetFirstInstruction(l->after);
         LLVMIsAPHINode(phi); phi = LLVMGetNextInstruction(phi))
        for (unsigned i = 0; i < LLVMCountIncoming(phi); i++)
            if (LLVMGetIncomingBlock(phi, i) == l->block) {
                LLVMValueRef value = LLVMGetIncomingValue(phi, i);
                LLVMAddIncoming(phi, &value, &block, 1);
                break;
            }
}

// The old loop takes the rows that are left, from `from` on, or all.
static void enter_rest(LLVMBuilderRef b, const struct loop *l,
                       LLVMBasicBlockRef head, LLVMBasicBlockRef rest,
                       LLVMValueRef from)
{
    LLVMTypeRef type = LLVMTypeOf(l->counter);

    LLVMPositionBuilderBefore(b, l->counter);
    LLVMValueRef counter = LLVMBuildPhi(b, type, "");
    LLVMAddIncoming(counter,
                    (LLVMValueRef[]){LLVMConstNull(type), from, l->next},
                    (LLVMBasicBlockRef[]){head, rest, l->block}, 3);
    LLVMReplaceAllUsesWith(l->counter, counter);
    LLVMInstructionEraseFromParent(l->counter);
}

//     head:   are there `rows` of them?   else the old loop
//     jammed: so many at once, as long as there are
//     rest:   are some left?              then the old loop
static bool jam(const struct hdi_llvm *llvm, const struct loop *l,
                unsigned rows, unsigned kind)
{
    LLVMContextRef c = llvm->context;
    LLVMTypeRef type = LLVMTypeOf(l->counter);
    LLVMBasicBlockRef head = LLVMInsertBasicBlockInContext(c, l->block, "rows"),
                      jammed =
                          LLVMInsertBasicBlockInContext(c, l->block, "jammed"),
                      rest = LLVMInsertBasicBlockInContext(c, l->block, "left");
    LLVMValueRef leave = LLVMGetBasicBlockTerminator(l->before);
    LLVMValueRef branch = LLVMGetBasicBlockTerminator(l->block);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(c);

    hdi_build_at_end(b, head);
    LLVMValueRef whole = LLVMBuildAnd(
        b, l->end, LLVMConstNeg(LLVMConstInt(type, rows, false)), "");
    LLVMBuildCondBr(b,
                    LLVMBuildICmp(b, LLVMIntEQ, whole, LLVMConstNull(type), ""),
                    l->block, jammed);

    hdi_build_at_end(b, jammed);
    LLVMValueRef counter = LLVMBuildPhi(b, type, "");
    bool ok = write_rows(b, l, counter, rows);
    LLVMSetCurrentDebugLocation2(b, LLVMInstructionGetDebugLoc(branch));
    LLVMValueRef next =
        LLVMBuildNUWAdd(b, counter, LLVMConstInt(type, rows, false), "");
    LLVMAddIncoming(counter, (LLVMValueRef[]){LLVMConstNull(type), next},
                    (LLVMBasicBlockRef[]){head, jammed}, 2);
    LLVMValueRef again = LLVMBuildCondBr(
        b, LLVMBuildICmp(b, LLVMIntEQ, next, whole, ""), rest, jammed);
    LLVMSetMetadata(again, kind, LLVMGetMetadata(branch, kind));

    hdi_build_at_end(b, rest);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, whole, l->end, ""), l->after,
                    l->block);
    extend_phis(l, rest);
    for (unsigned s = 0; s < LLVMGetNumSuccessors(leave); s++)
        if (LLVMGetSuccessor(leave, s) == l->block)
            LLVMSetSuccessor(leave, s, head);
    enter_rest(b, l, head, rest, whole);
    LLVMDisposeBuilder(b);
    return ok;
}

hd_status hdi_jam_rows(const struct hdi_llvm *llvm, LLVMModuleRef module,
                       struct hd_error *error)
{
    unsigned kind = LLVMGetMDKindIDInContext(llvm->context, "llvm.loop", 9);
    bool ok = true;

    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b;
             b = LLVMGetNextBasicBlock(b)) {
            struct loop l;
            struct row row;
            unsigned rows = find_loop(b, kind, &l) && measure(&l, &row)
                                ? choose_rows(&llvm->target, &row)
                                : 1;
            if (rows > 1)
                ok &= jam(llvm, &l, rows, kind);
        }
    return ok ? HD_OK
              : hdi_fail(error, HD_ENOMEM, "%s: no memory to compile",
                         llvm->path);
}
