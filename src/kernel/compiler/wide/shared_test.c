// What lanes do once with what they share: a divisor, and one place that all
// update.
#include "kernel/compiler/wide/divide.h"
#include "kernel/compiler/wide/fold.h"

#include "kernel/compiler/flow/try_ir.h"

enum {
    LANES = 8
};

// A kernel of one block, whose instructions are written once more in a function
// of its own. Values of the kernel are themselves there, and those that vary
// anything.
struct trial {
    struct try_ir ir;
    size_t block;
    struct hdi_block_order order;
    struct hdi_linear linear;
    struct hdi_emit emit;
    struct hdi_wide wide;
};

static void trial_open(struct trial *t, const char *instruction)
{
    struct hdi_text text = {0};

    hdi_text_print(&text,
                   "define void @k(ptr addrspace(1) %%p, i32 %%d, i64 %%e) {\n"
                   "  %%x = call i64 @_Z13get_global_idj(i32 0)\n"
                   "  %%y = trunc i64 %%x to i32\n"
                   "  %%q = getelementptr i32, ptr addrspace(1) %%p, i64 %%x\n"
                   "  %s\n"
                   "  ret void\n"
                   "}\n",
                   instruction);
    *t = (struct trial){.block = 0};
    try_ir_open(&t->ir, text.data);
    hdi_text_free(&text);
    CHECK(hdi_order_find(&t->ir.flow, &t->block, 1, &t->order) == HDI_ORDERED);
    CHECK(hdi_linear_find(&t->ir.flow, &t->order, false, false, false,
                          &t->linear));

    LLVMContextRef c = t->ir.llvm.context;
    LLVMTypeRef nothing =
        LLVMFunctionType(LLVMVoidTypeInContext(c), NULL, 0, false);
    LLVMValueRef function = LLVMAddFunction(t->ir.module, "w", nothing);
    t->emit = (struct hdi_emit){.llvm = &t->ir.llvm,
                                .module = t->ir.module,
                                .builder = LLVMCreateBuilderInContext(c),
                                .flow = &t->ir.flow,
                                .function = function,
                                .i1 = LLVMInt1TypeInContext(c),
                                .i8 = LLVMInt8TypeInContext(c),
                                .i32 = LLVMInt32TypeInContext(c),
                                .i64 = LLVMInt64TypeInContext(c)};
    LLVMPositionBuilderAtEnd(t->emit.builder,
                             LLVMAppendBasicBlockInContext(c, function, ""));
    for (unsigned i = 0; i < LLVMCountParams(t->ir.kernel); i++) {
        LLVMValueRef p = LLVMGetParam(t->ir.kernel, i);
        hdi_map_set(&t->emit.fixed, p, p);
    }
    LLVMValueRef x = try_ir_find(&t->ir, "x"), y = try_ir_find(&t->ir, "y");
    hdi_map_set(&t->emit.values, x, x);
    hdi_map_set(&t->emit.values, y, y);
    t->wide = (struct hdi_wide){
        .emit = &t->emit,
        .linear = &t->linear,
        .lanes = LANES,
        .mask = LLVMConstAllOnes(LLVMVectorType(t->emit.i1, LANES))};
}

static void trial_close(struct trial *t)
{
    hdi_map_clear(&t->wide.vectors);
    hdi_map_clear(&t->emit.values);
    hdi_map_clear(&t->emit.fixed);
    LLVMDisposeBuilder(t->emit.builder);
    hdi_linear_destroy(&t->linear);
    hdi_order_destroy(&t->order);
    try_ir_close(&t->ir);
}

static unsigned written(const struct trial *t, LLVMOpcode code)
{
    LLVMBasicBlockRef b = LLVMGetInsertBlock(t->emit.builder);
    unsigned count = 0;

    for (LLVMValueRef x = LLVMGetFirstInstruction(b); x;
         x = LLVMGetNextInstruction(x))
        count += LLVMGetInstructionOpcode(x) == code;
    return count;
}

// The instruction at hand is the last but one.
static LLVMValueRef at_hand(const struct trial *t)
{
    return LLVMGetPreviousInstruction(
        LLVMGetBasicBlockTerminator(LLVMGetEntryBasicBlock(t->ir.kernel)));
}

// A division of 64 bits, of one number, finds the factor.
static bool divides(const char *instruction)
{
    struct trial t;

    trial_open(&t, instruction);
    LLVMValueRef x = at_hand(&t);
    bool yes = hdi_divide(&t.wide, x);
    LLVMValueRef result = hdi_map_get(&t.wide.vectors, x);
    CHECK(yes == (result != NULL));
    CHECK(written(&t, LLVMUDiv) == yes && written(&t, LLVMSDiv) == 0);
    if (yes)
        CHECK(LLVMGetTypeKind(LLVMTypeOf(result)) == LLVMVectorTypeKind &&
              LLVMGetVectorSize(LLVMTypeOf(result)) == LANES);
    trial_close(&t);
    return yes;
}

static void one_divisor_becomes_a_factor(void)
{
    CHECK(divides("%r = udiv i32 %y, %d"));
    CHECK(divides("%r = srem i32 %y, %d"));
    CHECK(!divides("%r = udiv i32 %d, %y")); // one for each lane
    CHECK(!divides("%r = udiv i32 %y, 7"));  // LLVM knows it
    CHECK(!divides("%r = udiv i64 %x, %e")); // there is no wider product
    CHECK(!divides("%r = mul i32 %y, %d"));
}

static bool folds(const char *instruction)
{
    struct trial t;

    trial_open(&t, instruction);
    LLVMValueRef last = at_hand(&t), x = last;
    while (!LLVMIsAAtomicRMWInst(x))
        x = LLVMGetPreviousInstruction(x);
    bool yes = hdi_fold(&t.wide, x);
    CHECK(written(&t, LLVMAtomicRMW) == yes);
    trial_close(&t);
    return yes;
}

static void one_place_is_updated_once(void)
{
    CHECK(folds("%o = atomicrmw add ptr addrspace(1) %p, i32 %y monotonic"));
    CHECK(folds("%o = atomicrmw umin ptr addrspace(1) %p, i32 %y monotonic"));
    CHECK(!folds("%o = atomicrmw add ptr addrspace(1) %q, i32 %y monotonic"));
    CHECK(!folds("%o = atomicrmw xchg ptr addrspace(1) %p, i32 %y monotonic"));
    // Somebody asks for what was there.
    CHECK(!folds("%o = atomicrmw add ptr addrspace(1) %p, i32 %y monotonic\n"
                 "  store i32 %o, ptr addrspace(1) %q"));
}

int main(void)
{
    one_divisor_becomes_a_factor();
    one_place_is_updated_once();
    return 0;
}
