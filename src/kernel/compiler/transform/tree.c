// The loop, before and after:
//
//                                          before: is n no more than
//                                          work-items?
//     head:   n; is it 0? exit : ask       head:   n; is it 0? exit : choose
//     ask:    l < n? step : next           choose: it was, and n is even?
//                                                  both : ask
//     step:   part[l] = f(part[l],         both:   l < n / 2? steps : further
//                         part[l + n])     steps:  one step of l and one of
//     next:   n /= 2; head                         l + n / 2, another of l
//                                          further: n /= 4; head
//                                          ask, step, next: as they were
//
// Barriers stand in `ask` or `next`, and then in `both` or `further` too, so
// the group branches at `choose`: on an n that is the group's. In a step nobody
// touches what another one writes, and of the two steps l, l + n / 2, l + n and
// l + n + n / 2 touch no others. With n work-items or more one of them is
// l + n / 2, whose step the first takes over: of the first n, no other is
// larger, or below 0.
#include "kernel/compiler/transform/tree.h"

#include <llvm-c/DebugInfo.h>

#include "kernel/compiler/ir/low.h"
#include "kernel/compiler/ir/map.h"
#include "kernel/compiler/ir/note.h"

enum {
    MAX_STEP = 24,  // instructions of a step that is written three times
    MAX_ARRAYS = 4, // in local memory
    MAX_DEPTH = 6,  // of an address's computation
    MAX_OPERANDS = 8
};

struct array {
    LLVMValueRef base;
    LLVMTypeRef type; // of its elements
};

struct tree {
    const struct hdi_llvm *llvm;
    LLVMBuilderRef builder;
    LLVMBasicBlockRef head, ask, step, next;
    LLVMValueRef carried; // phi node of the head: n, or what n is half of
    LLVMValueRef first;   // what it begins with
    LLVMValueRef n;
    LLVMValueRef id; // the local id in x: a call
    bool is_signed;  // it and n are compared so
    struct array arrays[MAX_ARRAYS];
    unsigned array_count;
    bool failed; // memory ran out
};

// Where a step accesses an array: at the id, or n further on.
struct place {
    unsigned array;
    bool is_other;
};

// Finding ---------------------------------------------------------------------

static bool is_half_of(LLVMValueRef value, LLVMValueRef of)
{
    if (!LLVMIsABinaryOperator(value) || LLVMGetOperand(value, 0) != of)
        return false;
    LLVMValueRef by = LLVMGetOperand(value, 1);
    LLVMOpcode code = LLVMGetInstructionOpcode(value);
    return LLVMIsAConstantInt(by) &&
           LLVMConstIntGetZExtValue(by) ==
               (code == LLVMUDiv || code == LLVMSDiv ? 2 : 1) &&
           (code == LLVMLShr || code == LLVMAShr || code == LLVMUDiv ||
            code == LLVMSDiv);
}

static bool is_local_id(LLVMValueRef value)
{
    LLVMValueRef call = hdi_low_whole_of(value);
    return hdi_call_kind(call) == HDI_CALL_LOCAL_ID &&
           LLVMIsAConstantInt(LLVMGetOperand(call, 0)) &&
           LLVMIsNull(LLVMGetOperand(call, 0));
}

// Is the turn left out exactly when `value` is below `limit`?
static bool ends_below(LLVMValueRef end, LLVMValueRef value, uint64_t limit,
                       LLVMBasicBlockRef turn)
{
    LLVMValueRef condition = LLVMGetCondition(end);
    if (!LLVMIsAICmpInst(condition) || LLVMGetOperand(condition, 0) != value ||
        !LLVMIsAConstantInt(LLVMGetOperand(condition, 1)))
        return false;
    uint64_t with = LLVMConstIntGetZExtValue(LLVMGetOperand(condition, 1));
    bool when = LLVMGetSuccessor(end, 0) == turn; // it holds
    switch (LLVMGetICmpPredicate(condition)) {
    case LLVMIntEQ:
        return !when && with == 0 && limit == 1;
    case LLVMIntNE:
        return when && with == 0 && limit == 1;
    case LLVMIntULT:
    case LLVMIntSLT:
        return !when && with == limit;
    case LLVMIntUGT:
    case LLVMIntSGT:
        return when && with == limit - 1;
    default:
        return false;
    }
}

// The phi node of the head, perhaps its half, a comparison: nothing else.
static bool find_head(struct tree *t)
{
    LLVMValueRef end = LLVMGetBasicBlockTerminator(t->head);
    LLVMValueRef x = t->carried = LLVMGetFirstInstruction(t->head);

    if (!LLVMIsAPHINode(x) || LLVMCountIncoming(x) != 2 ||
        LLVMGetTypeKind(LLVMTypeOf(x)) != LLVMIntegerTypeKind ||
        LLVMGetIntTypeWidth(LLVMTypeOf(x)) > 64 || !LLVMIsABranchInst(end) ||
        !LLVMIsConditional(end))
        return false;
    x = LLVMGetNextInstruction(x);
    bool is_half = is_half_of(x, t->carried);
    t->n = is_half ? x : t->carried;
    x = is_half ? LLVMGetNextInstruction(x) : x;
    if (x != LLVMGetCondition(end) || LLVMGetNextInstruction(x) != end)
        return false;
    for (unsigned s = 0; s < 2; s++) {
        t->ask = LLVMGetSuccessor(end, s);
        if (t->ask != LLVMGetSuccessor(end, 1 - s) &&
            (ends_below(end, t->n, 1, t->ask) ||
             (is_half && ends_below(end, t->carried, 2, t->ask))))
            return true;
    }
    return false;
}

// Is it the same for all work-items of a group, as far as that is plain?
static bool is_of_group(LLVMValueRef value, unsigned depth)
{
    enum hdi_call kind = hdi_call_kind(value);

    if (LLVMIsAConstantInt(value) || LLVMIsAArgument(value) ||
        kind == HDI_CALL_LOCAL_SIZE || kind == HDI_CALL_ENQUEUED_LOCAL_SIZE ||
        kind == HDI_CALL_GLOBAL_SIZE || kind == HDI_CALL_NUM_GROUPS ||
        kind == HDI_CALL_GROUP_ID)
        return true;
    bool ok =
        depth > 0 && (LLVMIsABinaryOperator(value) || LLVMIsACastInst(value) ||
                      LLVMIsASelectInst(value) || LLVMIsAICmpInst(value) ||
                      (LLVMIsACallInst(value) &&
                       LLVMIsAFunction(LLVMGetCalledValue(value)) &&
                       LLVMGetIntrinsicID(LLVMGetCalledValue(value)) != 0));
    unsigned count = !ok ? 0
                     : LLVMIsACallInst(value)
                         ? LLVMGetNumArgOperands(value)
                         : (unsigned)LLVMGetNumOperands(value);
    for (unsigned i = 0; ok && i < count; i++)
        ok = is_of_group(LLVMGetOperand(value, i), depth - 1);
    return ok;
}

static unsigned count_predecessors(LLVMBasicBlockRef block)
{
    unsigned count = 0;

    for (LLVMUseRef u = LLVMGetFirstUse(LLVMBasicBlockAsValue(block)); u;
         u = LLVMGetNextUse(u))
        count += LLVMIsATerminatorInst(LLVMGetUser(u)) != NULL;
    return count;
}

// `l < n`, and barriers before it.
static bool find_ask(struct tree *t, unsigned *barriers)
{
    LLVMValueRef end = LLVMGetBasicBlockTerminator(t->ask);

    if (count_predecessors(t->ask) != 1 || !LLVMIsABranchInst(end) ||
        !LLVMIsConditional(end))
        return false;
    LLVMValueRef condition = LLVMGetCondition(end);
    for (LLVMValueRef x = LLVMGetFirstInstruction(t->ask); x != end;
         x = LLVMGetNextInstruction(x)) {
        if (hdi_call_kind(x) == HDI_CALL_BARRIER)
            ++*barriers;
        else if (x != condition)
            return false;
    }
    if (!LLVMIsAICmpInst(condition) ||
        LLVMGetInstructionParent(condition) != t->ask)
        return false;
    LLVMIntPredicate p = LLVMGetICmpPredicate(condition);
    LLVMValueRef id = LLVMGetOperand(condition, 0);
    LLVMValueRef n = LLVMGetOperand(condition, 1);
    if (id == t->n) {
        p = hdi_predicate_swapped(p);
        id = n;
        n = t->n;
    }
    t->id = hdi_low_whole_of(id);
    t->is_signed = p == LLVMIntSLT;
    t->step = LLVMGetSuccessor(end, 0);
    t->next = LLVMGetSuccessor(end, 1);
    return n == t->n && is_local_id(id) && (p == LLVMIntULT || p == LLVMIntSLT);
}

// Barriers, and half of n if that is not the carried one; then the head again.
static bool find_next(struct tree *t, unsigned *barriers)
{
    LLVMValueRef end = LLVMGetBasicBlockTerminator(t->next);
    LLVMValueRef after = NULL;

    for (unsigned i = 0; i < 2; i++) {
        LLVMValueRef value = LLVMGetIncomingValue(t->carried, i);
        if (LLVMGetIncomingBlock(t->carried, i) == t->next)
            after = value;
        else
            t->first = value;
    }
    if (!after || !t->first || !is_of_group(t->first, MAX_DEPTH) ||
        count_predecessors(t->next) != 2 || LLVMGetNumSuccessors(end) != 1 ||
        !(t->n == t->carried ? is_half_of(after, t->n) : after == t->n))
        return false;
    for (LLVMValueRef x = LLVMGetFirstInstruction(t->next); x != end;
         x = LLVMGetNextInstruction(x)) {
        if (hdi_call_kind(x) == HDI_CALL_BARRIER)
            ++*barriers;
        else if (x != after || x == t->n)
            return false;
    }
    return true;
}

// Add up how often the id and n stand in an index; false: something else does.
// Numbers that wrapped would lead out of the memory.
static bool add_index(const struct tree *t, LLVMValueRef index, unsigned depth,
                      unsigned *ids, unsigned *ns)
{
    if (LLVMIsAZExtInst(index) || LLVMIsASExtInst(index))
        return add_index(t, LLVMGetOperand(index, 0), depth, ids, ns);
    if (index == t->n) {
        ++*ns;
        return true;
    }
    if (hdi_low_whole_of(index) == t->id) {
        ++*ids;
        return true;
    }
    if (LLVMIsAConstantInt(index))
        return LLVMIsNull(index);
    bool is_sum = LLVMIsABinaryOperator(index) &&
                  (LLVMGetInstructionOpcode(index) == LLVMAdd ||
                   (LLVMGetInstructionOpcode(index) == LLVMOr &&
                    LLVMGetIsDisjoint(index)));
    return is_sum && depth > 0 &&
           add_index(t, LLVMGetOperand(index, 0), depth - 1, ids, ns) &&
           add_index(t, LLVMGetOperand(index, 1), depth - 1, ids, ns);
}

// The size of what the last index of a `gep` counts, 0: it is not that plain.
static uint64_t element_size(const struct tree *t, LLVMValueRef gep)
{
    LLVMTypeRef type = LLVMGetGEPSourceElementType(gep);
    int count = LLVMGetNumOperands(gep);

    if (count == 3 && LLVMGetTypeKind(type) == LLVMArrayTypeKind &&
        LLVMIsAConstantInt(LLVMGetOperand(gep, 1)) &&
        LLVMIsNull(LLVMGetOperand(gep, 1)))
        type = LLVMGetElementType(type);
    else if (count != 2)
        return 0;
    return LLVMABISizeOfType(t->llvm->layout, type);
}

static bool find_array(struct tree *t, LLVMValueRef base, LLVMTypeRef type,
                       unsigned *array)
{
    for (*array = 0; *array < t->array_count; ++*array)
        if (t->arrays[*array].base == base)
            return t->arrays[*array].type == type;
    if (t->array_count == MAX_ARRAYS ||
        !(LLVMIsAArgument(base) || LLVMIsAGlobalVariable(base)) ||
        LLVMGetPointerAddressSpace(LLVMTypeOf(base)) != HDI_SPACE_LOCAL)
        return false;
    t->arrays[t->array_count++] = (struct array){base, type};
    return true;
}

static LLVMTypeRef access_type(LLVMValueRef access)
{
    return LLVMTypeOf(LLVMIsAStoreInst(access) ? LLVMGetOperand(access, 0)
                                               : access);
}

static bool find_place(struct tree *t, LLVMValueRef access, struct place *place)
{
    bool is_store = LLVMIsAStoreInst(access) != NULL;
    LLVMValueRef base = LLVMGetOperand(access, is_store);
    LLVMTypeRef type = access_type(access);
    uint64_t size = LLVMABISizeOfType(t->llvm->layout, type);
    unsigned ids = 0, ns = 0;

    if (LLVMGetVolatile(access) ||
        LLVMGetOrdering(access) != LLVMAtomicOrderingNotAtomic)
        return false;
    for (; LLVMIsAGetElementPtrInst(base); base = LLVMGetOperand(base, 0)) {
        LLVMValueRef last =
            LLVMGetOperand(base, (unsigned)LLVMGetNumOperands(base) - 1);
        if (element_size(t, base) != size ||
            !add_index(t, last, MAX_DEPTH, &ids, &ns))
            return false;
    }
    place->is_other = ns == 1;
    return ids == 1 && (ns == 0 || (ns == 1 && !is_store)) &&
           find_array(t, base, type, &place->array);
}

static bool is_in_step(const struct tree *t, LLVMValueRef value)
{
    return LLVMIsAInstruction(value) &&
           LLVMGetInstructionParent(value) == t->step;
}

// An address, or a part of one.
static bool is_of_address(LLVMValueRef x)
{
    LLVMOpcode code = LLVMGetInstructionOpcode(x);

    if (code != LLVMGetElementPtr && code != LLVMAdd && code != LLVMOr &&
        code != LLVMZExt && code != LLVMSExt)
        return false;
    for (LLVMUseRef u = LLVMGetFirstUse(x); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        bool is_pointer =
            (LLVMIsALoadInst(user) && LLVMGetOperand(user, 0) == x) ||
            (LLVMIsAStoreInst(user) && LLVMGetOperand(user, 1) == x &&
             LLVMGetOperand(user, 0) != x);
        if (!is_pointer && !is_of_address(user))
            return false;
    }
    return true;
}

// May a step compute it: from what it has loaded and what all agree on?
static bool is_pure(const struct tree *t, LLVMValueRef x)
{
    unsigned count = (unsigned)LLVMGetNumOperands(x);

    if (LLVMIsACallInst(x)) {
        LLVMValueRef callee = LLVMGetCalledValue(x);
        if (!LLVMIsAFunction(callee) || LLVMGetIntrinsicID(callee) == 0 ||
            LLVMGetTypeKind(LLVMTypeOf(x)) == LLVMVoidTypeKind)
            return false;
        count = LLVMGetNumArgOperands(x);
    } else if (!LLVMIsABinaryOperator(x) && !LLVMIsAUnaryOperator(x) &&
               !LLVMIsACastInst(x) && !LLVMIsACmpInst(x) &&
               !LLVMIsASelectInst(x) && !LLVMIsAFreezeInst(x)) {
        return false;
    }
    for (unsigned i = 0; i < count; i++) {
        LLVMValueRef operand = LLVMGetOperand(x, i);
        if (!LLVMIsConstant(operand) && !LLVMIsAArgument(operand) &&
            !is_in_step(t, operand))
            return false;
    }
    return count <= MAX_OPERANDS;
}

static bool find_step(struct tree *t)
{
    LLVMValueRef end = LLVMGetBasicBlockTerminator(t->step);
    unsigned count = 0, stores = 0;

    if (count_predecessors(t->step) != 1 || LLVMGetNumSuccessors(end) != 1 ||
        LLVMGetSuccessor(end, 0) != t->next)
        return false;
    for (LLVMValueRef x = LLVMGetFirstInstruction(t->step); x != end;
         x = LLVMGetNextInstruction(x)) {
        struct place place;
        bool is_store = LLVMIsAStoreInst(x) != NULL;
        bool ok = is_store || LLVMIsALoadInst(x)
                      ? find_place(t, x, &place)
                      : is_of_address(x) || is_pure(t, x);
        stores += is_store;
        if (!ok || ++count > MAX_STEP)
            return false;
    }
    return stores > 0;
}

static bool find(struct tree *t)
{
    unsigned barriers = 0;

    return find_head(t) && find_ask(t, &barriers) && find_next(t, &barriers) &&
           barriers > 0 && find_step(t);
}

// Writing ---------------------------------------------------------------------

// What the arrays hold at one index, as far as steps have asked.
struct element {
    LLVMValueRef index;
    LLVMValueRef values[MAX_ARRAYS]; // NULL: not asked for
    LLVMValueRef stores[MAX_ARRAYS]; // of the kernel, the last one; or NULL
};

static LLVMValueRef address(const struct tree *t, unsigned array,
                            LLVMValueRef index)
{
    return LLVMBuildInBoundsGEP2(t->builder, t->arrays[array].type,
                                 t->arrays[array].base, &index, 1, "");
}

// At the builder's point: a copy of the load or store for another address.
static LLVMValueRef copy_access(const struct tree *t, LLVMValueRef access,
                                unsigned array, LLVMValueRef index)
{
    bool is_store = LLVMIsAStoreInst(access) != NULL;
    LLVMValueRef at = address(t, array, index);
    LLVMValueRef copy = LLVMInstructionClone(access);

    LLVMSetOperand(copy, is_store, at);
    LLVMInsertIntoBuilder(t->builder, copy);
    return copy;
}

static LLVMValueRef copied(const struct hdi_map *copies, LLVMValueRef value)
{
    LLVMValueRef copy = hdi_map_get(copies, value);
    return copy ? copy : value;
}

static LLVMValueRef copy_pure(const struct tree *t, LLVMValueRef x,
                              const struct hdi_map *copies)
{
    int count = LLVMGetNumOperands(x);
    LLVMValueRef copy = LLVMInstructionClone(x);

    for (int i = 0; i < count; i++)
        LLVMSetOperand(copy, (unsigned)i,
                       copied(copies, LLVMGetOperand(x, (unsigned)i)));
    LLVMInsertIntoBuilder(t->builder, copy);
    return copy;
}

// One step from values to values; what is stored waits for write_stores().
static void write_step(struct tree *t, struct element *own,
                       struct element *other)
{
    LLVMValueRef end = LLVMGetBasicBlockTerminator(t->step);
    struct hdi_map copies = {0};

    for (LLVMValueRef x = LLVMGetFirstInstruction(t->step); x != end;
         x = LLVMGetNextInstruction(x)) {
        struct place place;
        if (LLVMIsAStoreInst(x)) {
            find_place(t, x, &place);
            own->values[place.array] = copied(&copies, LLVMGetOperand(x, 0));
            own->stores[place.array] = x;
        } else if (LLVMIsALoadInst(x)) {
            find_place(t, x, &place);
            struct element *from = place.is_other ? other : own;
            if (!from->values[place.array])
                from->values[place.array] =
                    copy_access(t, x, place.array, from->index);
            hdi_map_set(&copies, x, from->values[place.array]);
        } else if (!is_of_address(x)) {
            hdi_map_set(&copies, x, copy_pure(t, x, &copies));
        }
    }
    t->failed |= copies.failed;
    hdi_map_clear(&copies);
}

static void write_stores(const struct tree *t, const struct element *e)
{
    for (unsigned a = 0; a < t->array_count; a++)
        if (e->stores[a])
            LLVMSetOperand(copy_access(t, e->stores[a], a, e->index), 0,
                           e->values[a]);
}

// An element `by` further on. A sum that wrapped would lead out of the memory,
// where the steps that are paired do not go.
static struct element further(const struct tree *t, const struct element *e,
                              LLVMValueRef by)
{
    LLVMValueRef index = LLVMBuildNUWAdd(t->builder, e->index, by, "");
    LLVMSetNSW(index, true);
    return (struct element){.index = index};
}

static void copy_barriers(const struct tree *t, LLVMBasicBlockRef from)
{
    for (LLVMValueRef x = LLVMGetFirstInstruction(from); x;
         x = LLVMGetNextInstruction(x))
        if (hdi_call_kind(x) == HDI_CALL_BARRIER)
            LLVMInsertIntoBuilder(t->builder, LLVMInstructionClone(x));
}

static LLVMValueRef half(const struct tree *t, LLVMValueRef n)
{
    return LLVMBuildLShr(t->builder, n, LLVMConstInt(LLVMTypeOf(n), 1, false),
                         "");
}

static void write_steps(struct tree *t, LLVMValueRef n, LLVMValueRef half_of)
{
    struct element a = {.index = t->id}, b = further(t, &a, half_of);
    struct element c = further(t, &a, n), d = further(t, &b, n);

    write_step(t, &a, &c);
    write_step(t, &b, &d);
    write_step(t, &a, &b);
    write_stores(t, &b);
    write_stores(t, &a);
}

// Before the loop: are there as many work-items as the first n? None of an n
// below 0, which is a large number without a sign.
static LLVMValueRef write_covers(const struct tree *t)
{
    LLVMBuilderRef b = t->builder;
    bool is_second = LLVMGetIncomingBlock(t->carried, 0) == t->next;

    LLVMPositionBuilderBefore(b,
                              LLVMGetBasicBlockTerminator(
                                  LLVMGetIncomingBlock(t->carried, is_second)));
    LLVMValueRef size = hdi_build_call(
        t->llvm, LLVMGetGlobalParent(LLVMGetBasicBlockParent(t->head)), b,
        HDI_CALL_LOCAL_SIZE);
    LLVMTypeRef type = LLVMTypeOf(size);
    LLVMValueRef n = LLVMBuildIntCast2(b, t->first, type, t->is_signed, "");
    if (t->n != t->carried)
        n = LLVMBuildBinOp(b, t->is_signed ? LLVMAShr : LLVMLShr, n,
                           LLVMConstInt(type, 1, false), "");
    return LLVMBuildICmp(b, LLVMIntULE, n, size, "");
}

static void rewrite(struct tree *t)
{
    LLVMContextRef c = t->llvm->context;
    LLVMBuilderRef b = t->builder;
    LLVMTypeRef type = LLVMTypeOf(t->n), wide = LLVMTypeOf(t->id);
    LLVMValueRef end = LLVMGetBasicBlockTerminator(t->head);
    LLVMValueRef asked = LLVMGetBasicBlockTerminator(t->ask);
    LLVMBasicBlockRef choose =
                          LLVMInsertBasicBlockInContext(c, t->ask, "choose"),
                      both = LLVMInsertBasicBlockInContext(c, t->ask, "both"),
                      steps = LLVMInsertBasicBlockInContext(c, t->ask, "steps"),
                      on = LLVMInsertBasicBlockInContext(c, t->ask, "further");

    hdi_note(t->llvm, asked, "does two steps of a tree at once");
    LLVMSetCurrentDebugLocation2(b, LLVMInstructionGetDebugLoc(asked));
    LLVMValueRef covers = write_covers(t);
    LLVMSetSuccessor(end, LLVMGetSuccessor(end, 0) != t->ask, choose);
    hdi_build_at_end(b, choose);
    LLVMSetCurrentDebugLocation2(b, LLVMInstructionGetDebugLoc(asked));
    // Here they are the group's, which knows how many take the steps (split.h).
    LLVMValueRef half_of = half(t, t->n);
    LLVMValueRef n = LLVMBuildIntCast2(b, t->n, wide, false, "");
    LLVMValueRef wide_half = LLVMBuildIntCast2(b, half_of, wide, false, "");
    LLVMValueRef odd = LLVMBuildAnd(b, t->n, LLVMConstInt(type, 1, false), "");
    LLVMValueRef pairs = LLVMBuildAnd(
        b, LLVMBuildICmp(b, LLVMIntEQ, odd, LLVMConstNull(type), ""), covers,
        "");
    LLVMBuildCondBr(b, pairs, both, t->ask);

    LLVMPositionBuilderAtEnd(b, both);
    copy_barriers(t, t->ask);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, t->id, wide_half, ""),
                    steps, on);
    LLVMPositionBuilderAtEnd(b, steps);
    write_steps(t, n, wide_half);
    LLVMBuildBr(b, on);

    LLVMPositionBuilderAtEnd(b, on);
    copy_barriers(t, t->next);
    LLVMValueRef after = t->n == t->carried ? half(t, half_of) : half_of;
    LLVMBuildBr(b, t->head);
    LLVMAddIncoming(t->carried, &after, &on, 1);
}

bool hdi_tree_pair(const struct hdi_llvm *llvm, LLVMBuilderRef builder,
                   LLVMValueRef kernel)
{
    bool ok = true;

    // New blocks stand before those that are left to look at, and head nothing.
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(kernel); b;
         b = LLVMGetNextBasicBlock(b)) {
        struct tree t = {.llvm = llvm, .builder = builder, .head = b};
        if (find(&t))
            rewrite(&t);
        ok &= !t.failed;
    }
    return ok;
}
