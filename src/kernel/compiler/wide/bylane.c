#include "kernel/compiler/wide/bylane.h"

#include <string.h>

#include "kernel/compiler/ir/note.h"

// One lane's copy -------------------------------------------------------------

// Returns what it gives, NULL: nothing.
// The kernel's operands stand for those of the lane while the instruction is
// written; what they stood for before is put back.
static LLVMValueRef copy_for(struct hdi_wide *w, LLVMValueRef x,
                             LLVMValueRef lane)
{
    struct hdi_emit *e = w->emit;
    LLVMValueRef before[HDI_WIDE_OPERANDS], operands[HDI_WIDE_OPERANDS];
    unsigned count = (unsigned)LLVMGetNumOperands(x);

    if (LLVMIsACallInst(x))
        count = LLVMGetNumArgOperands(x);
    if (count > HDI_WIDE_OPERANDS)
        count = HDI_WIDE_OPERANDS;
    for (unsigned i = 0; i < count; i++)
        operands[i] = LLVMIsAInstruction(LLVMGetOperand(x, i))
                          ? hdi_wide_lane(w, LLVMGetOperand(x, i), lane)
                          : NULL;
    for (unsigned i = 0; i < count; i++) {
        before[i] = hdi_map_get(&e->values, LLVMGetOperand(x, i));
        if (operands[i])
            hdi_map_set(&e->values, LLVMGetOperand(x, i), operands[i]);
    }
    hdi_emit_instruction(e, x);
    for (unsigned i = count; i-- > 0;)
        if (operands[i] && before[i])
            hdi_map_set(&e->values, LLVMGetOperand(x, i), before[i]);
    return LLVMGetTypeKind(LLVMTypeOf(x)) == LLVMVoidTypeKind
               ? NULL
               : hdi_map_get(&e->values, x);
}

static LLVMValueRef with_element(struct hdi_wide *w, LLVMValueRef all,
                                 LLVMValueRef one, unsigned lane)
{
    LLVMBuilderRef b = w->emit->builder;
    return LLVMGetTypeKind(LLVMTypeOf(all)) == LLVMVectorTypeKind
               ? LLVMBuildInsertElement(
                     b, all, one, LLVMConstInt(w->emit->i32, lane, false), "")
               : LLVMBuildInsertValue(b, all, one, lane, "");
}

// Whether all lanes of a vector are sooner stored and loaded one by one than
// taken out of the register. Each is loaded, and used at once.
static bool is_better_stored(const struct hdi_wide *w)
{
    const struct hdi_target *target = &w->emit->llvm->target;
    return target->extract * w->lanes > target->stall + 2 * w->lanes;
}

static bool is_taken_apart(const struct hdi_wide *w, LLVMValueRef x)
{
    unsigned count = LLVMIsACallInst(x) ? LLVMGetNumArgOperands(x)
                                        : (unsigned)LLVMGetNumOperands(x);

    for (unsigned i = 0; i < count; i++)
        if (hdi_linear_varies(w->linear, LLVMGetOperand(x, i)))
            return true;
    return false;
}

// All lanes, on or off: only for what does no harm in lanes that are off, or
// where all are on.
void hdi_by_lane_pure(struct hdi_wide *w, LLVMValueRef x)
{
    struct hdi_stored stored = {0};
    bool is_void = LLVMGetTypeKind(LLVMTypeOf(x)) == LLVMVoidTypeKind;
    LLVMValueRef all =
        is_void ? NULL : LLVMGetPoison(hdi_wide_type(w, LLVMTypeOf(x)));

    w->stored = is_better_stored(w) ? &stored : NULL;
    if (w->stored && is_taken_apart(w, x))
        hdi_note(w->emit->llvm, x, "lanes are extracted through memory");
    for (unsigned i = 0; i < w->lanes; i++) {
        LLVMValueRef one = copy_for(w, x, LLVMConstInt(w->emit->i32, i, false));
        if (!is_void)
            all = with_element(w, all, one, i);
    }
    w->stored = NULL;
    if (stored.memory.failed || stored.odd.failed)
        w->vectors.failed = true;
    hdi_map_clear(&stored.memory);
    hdi_map_clear(&stored.odd);
    if (!is_void)
        hdi_map_set(&w->vectors, x, all);
}

// Loops over lanes ------------------------------------------------------------

// From the lowest bit of the mask to the highest.
// A loop at run time, so `write` makes code for one lane whose number is not
// known.
void hdi_each_lane(struct hdi_wide *w,
                   void write(struct hdi_wide *wide, LLVMValueRef lane,
                              void *data),
                   void *data)
{
    LLVMBuilderRef b = w->emit->builder;
    LLVMValueRef mask = hdi_wide_bits(w, w->mask);
    LLVMTypeRef type = LLVMTypeOf(mask);
    LLVMValueRef left = hdi_emit_alloca(w->emit, type);
    LLVMBasicBlockRef head = hdi_emit_block(w->emit, "lanes"),
                      body = hdi_emit_block(w->emit, "lane"),
                      after = hdi_emit_block(w->emit, "after_lanes");
    LLVMValueRef zero = LLVMConstNull(type);

    LLVMBuildStore(b, mask, left);
    LLVMBuildBr(b, head);
    hdi_build_at_end(b, head);
    LLVMValueRef bits = LLVMBuildLoad2(b, type, left, "");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, bits, zero, ""), body,
                    after);
    hdi_build_at_end(b, body);
    LLVMValueRef args[] = {bits, LLVMConstInt(w->emit->i1, 1, false)};
    LLVMValueRef lane = hdi_wide_call(
        w, LLVMLookupIntrinsicID("llvm.cttz", strlen("llvm.cttz")), &type, 1,
        args, 2);
    write(w, LLVMBuildIntCast2(b, lane, w->emit->i32, false, ""), data);
    LLVMValueRef lower =
        LLVMBuildSub(b, bits, LLVMConstInt(type, 1, false), "");
    LLVMBuildStore(b, LLVMBuildAnd(b, bits, lower, ""), left);
    LLVMBuildBr(b, head);
    hdi_build_at_end(b, after);
}

// What copy_one() is told by way of hdi_each_lane().
struct copying {
    LLVMValueRef instruction, results; // results: alloca of all lanes or NULL
};

static void copy_one(struct hdi_wide *w, LLVMValueRef lane, void *data)
{
    const struct copying *c = data;
    LLVMBuilderRef b = w->emit->builder;
    LLVMValueRef one = copy_for(w, c->instruction, lane);

    if (!c->results)
        return;
    LLVMTypeRef type = LLVMTypeOf(one);
    LLVMTypeRef all = hdi_wide_type(w, type);
    if (LLVMGetTypeKind(all) == LLVMVectorTypeKind)
        LLVMBuildStore(
            b,
            LLVMBuildInsertElement(b, LLVMBuildLoad2(b, all, c->results, ""),
                                   one, lane, ""),
            c->results);
    else
        LLVMBuildStore(
            b, one, LLVMBuildInBoundsGEP2(b, type, c->results, &lane, 1, ""));
}

//     all lanes on? -- yes --> straight code for each
//                   \- no ---> a loop over those that are on
void hdi_by_lane(struct hdi_wide *w, LLVMValueRef x, const char *why)
{
    LLVMBuilderRef b = w->emit->builder;
    struct copying copying = {.instruction = x};

    hdi_note(w->emit->llvm, x, "serialised: %s", why);
    if (w->certain) {
        hdi_by_lane_pure(w, x);
        return;
    }
    if (LLVMGetFirstUse(x)) {
        copying.results =
            hdi_emit_alloca(w->emit, hdi_wide_type(w, LLVMTypeOf(x)));
        // Of no loop before.
        LLVMBuildStore(b, LLVMGetUndef(hdi_wide_type(w, LLVMTypeOf(x))),
                       copying.results);
    }

    // All lanes on is worth straight code: they overlap.
    LLVMBasicBlockRef all = hdi_emit_block(w->emit, "all_lanes"),
                      some = hdi_emit_block(w->emit, "some"),
                      join = hdi_emit_block(w->emit, "joined");
    LLVMValueRef bits = hdi_wide_bits(w, w->mask);
    LLVMBuildCondBr(b,
                    LLVMBuildICmp(b, LLVMIntEQ, bits,
                                  LLVMConstAllOnes(LLVMTypeOf(bits)), ""),
                    all, some);
    hdi_build_at_end(b, all);
    hdi_by_lane_pure(w, x);
    if (copying.results)
        LLVMBuildStore(b, hdi_map_get(&w->vectors, x), copying.results);
    LLVMBuildBr(b, join);
    hdi_build_at_end(b, some);
    hdi_each_lane(w, copy_one, &copying);
    LLVMBuildBr(b, join);
    hdi_build_at_end(b, join);
    if (copying.results)
        hdi_map_set(&w->vectors, x,
                    LLVMBuildLoad2(b, hdi_wide_type(w, LLVMTypeOf(x)),
                                   copying.results, ""));
}
