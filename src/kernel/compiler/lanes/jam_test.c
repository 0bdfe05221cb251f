// Rows whose vectors are long chains of arithmetic take turns.
#include "kernel/compiler/lanes/jam.h"

#include <llvm-c/Analysis.h>

#include "kernel/compiler/flow/try_ir.h"

// A row loop: sums `steps` products of loaded numbers and `kept` vectors.
struct shape {
    unsigned steps, kept;
    bool chain;       // each needs the one before
    const char *load; // of the sum so far: a way to load
    const char *from; // what its address is made of
    const char *mark; // a property of the loop
    const char *end;  // what the function ends with
    const char *cpu;
    unsigned latency; // of its steps; 0: as it is
    unsigned ahead;   // that it looks; 0: as it is
};

static const struct shape usual = {.steps = 16,
                                   .kept = 16,
                                   .chain = true,
                                   .load = "load",
                                   .from = "%p",
                                   .mark = HDI_JAM_MARK,
                                   .end = "ret void",
                                   .cpu = "skylake-avx512"};

static void write_loop(struct hdi_text *text, const struct shape *s)
{
    hdi_text_print(text, "declare <16 x float> @llvm.fma.v16f32(<16 x float>, "
                         "<16 x float>, <16 x float>)\n"
                         "define void @k(ptr %%p, ptr %%q, i64 %%rows) {\n"
                         "  %%own = alloca [64 x float]\n");
    for (unsigned k = 0; k < s->kept; k++)
        hdi_text_print(
            text, "  %%kept.%u = load volatile <16 x float>, ptr %%q\n", k);
    hdi_text_print(text,
                   "  br label %%row\n"
                   "row:\n"
                   "  %%y = phi i64 [ 0, %%0 ], [ %%next, %%row ]\n"
                   "  %%at = getelementptr [16 x float], ptr %s, i64 %%y\n"
                   "  %%sum.0 = %s <16 x float>, ptr %%at\n",
                   s->from, s->load);
    for (unsigned i = 0; i < s->steps; i++)
        hdi_text_print(text,
                       "  %%sum.%u = call <16 x float> @llvm.fma.v16f32("
                       "<16 x float> %%sum.0, <16 x float> %%kept.%u, "
                       "<16 x float> %%sum.%u)\n",
                       i + 1, i % s->kept, s->chain ? i : 0);
    hdi_text_print(text,
                   "  store <16 x float> %%sum.%u, ptr %%at\n"
                   "  %%next = add nuw nsw i64 %%y, 1\n"
                   "  %%is = icmp eq i64 %%next, %%rows\n"
                   "  br i1 %%is, label %%end, label %%row, !llvm.loop !0\n"
                   "end:\n"
                   "  %s\n"
                   "}\n"
                   "!0 = distinct !{!0, !1, !2}\n"
                   "!1 = !{!\"llvm.loop.unroll.disable\"}\n"
                   "!2 = !{!\"%s\"}\n",
                   s->steps, s->end, s->mark);
}

static unsigned count_products(LLVMValueRef function)
{
    unsigned count = 0;

    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i))
            count += LLVMIsACallInst(i) != NULL;
    return count;
}

// How many rows are taken at once.
static unsigned rows_of(struct shape s)
{
    struct hdi_text text = {0};
    struct hd_error error;
    struct try_ir t;

    write_loop(&text, &s);
    try_ir_open(&t, text.data);
    t.llvm.target = try_ir_target(s.cpu);
    if (s.latency)
        t.llvm.target.latency = s.latency;
    if (s.ahead)
        t.llvm.target.ahead = s.ahead;
    CHECK_OK(hdi_jam_rows(&t.llvm, t.module, &error), error);
    CHECK(!LLVMVerifyFunction(t.kernel, LLVMPrintMessageAction));
    unsigned products = count_products(t.kernel);
    CHECK(products % s.steps == 0);
    try_ir_close(&t);
    hdi_text_free(&text);
    // The old loop is left, for what is left.
    return products == s.steps ? 1 : products / s.steps - 1;
}

static void chains_take_turns(void)
{
    struct shape s = usual;

    CHECK(rows_of(s) == 4);
    s.steps = 8;
    CHECK(rows_of(s) == 4);
    s.steps = 7; // the processor looks so far
    CHECK(rows_of(s) == 1);
    s.ahead = 7;
    CHECK(rows_of(s) == 4);
    s = usual;
    s.chain = false;
    CHECK(rows_of(s) == 1);
}

// No more of them than a step takes cycles.
static void steps_that_end_soon_need_few_rows(void)
{
    struct shape s = usual;

    s.latency = 3;
    CHECK(rows_of(s) == 2);
    s.latency = 1;
    CHECK(rows_of(s) == 1);
}

static void rows_fit_registers(void)
{
    struct shape s = usual;

    s.steps = 32;
    s.kept = 24;
    CHECK(rows_of(s) == 4);
    s.kept = 28;
    CHECK(rows_of(s) == 2);
    s.kept = 30;
    CHECK(rows_of(s) == 1);
    s = usual;
    s.cpu = "haswell";
    CHECK(rows_of(s) == 1);
}

static void other_loops_stay(void)
{
    struct shape s = usual;

    s.mark = "other";
    CHECK(rows_of(s) == 1);
    s = usual;
    s.load = "load volatile";
    CHECK(rows_of(s) == 1);
    s = usual;
    s.from = "%own"; // each row would find what the next has put there
    CHECK(rows_of(s) == 1);
    s = usual;
    s.end = "store i64 %next, ptr %q\n  ret void";
    CHECK(rows_of(s) == 1);
}

int main(void)
{
    chains_take_turns();
    steps_that_end_soon_need_few_rows();
    rows_fit_registers();
    other_loops_stay();
    return 0;
}
