// Which bases are hidden from a loop, and that their accesses stay what they
// were.
#include "kernel/compiler/emit/bases.h"

#include <llvm-c/Analysis.h>

#include "kernel/compiler/flow/try_ir.h"

// A loop with `accesses` to a row, whose place is computed by `operations`, and
// a second loop over the same.
static void write(struct hdi_text *text, unsigned accesses, unsigned operations)
{
    hdi_text_print(text, "define void @k(ptr %%a, i64 %%n0, i64 %%m) {\n"
                         "entry:\n");
    for (unsigned i = 0; i < operations; i++)
        hdi_text_print(text, "  %%n%u = %s i64 %%n%u, %%m\n", i + 1,
                       i % 2 ? "add" : "mul", i);
    hdi_text_print(text,
                   "  %%row = getelementptr i8, ptr %%a, i64 %%n%u\n"
                   "  br label %%one\n",
                   operations);
    for (unsigned l = 0; l < 2; l++) {
        const char *name = l ? "two" : "one";
        hdi_text_print(text,
                       "%s:\n"
                       "  %%i%u = phi i64 [0, %%%s], [%%j%u, %%%s]\n"
                       "  %%p%u = getelementptr float, ptr %%row, i64 %%i%u\n"
                       "  store float 0.0, ptr %%p%u\n",
                       name, l, l ? "one" : "entry", l, name, l, l, l);
        for (unsigned i = 1; i < accesses; i++)
            hdi_text_print(text,
                           "  %%p%u.%u = getelementptr i8, ptr %%p%u, i64 %u\n"
                           "  %%x%u.%u = load float, ptr %%p%u.%u\n",
                           l, i, l, 64 * i, l, i, l, i);
        hdi_text_print(text,
                       "  %%j%u = add i64 %%i%u, 1\n"
                       "  %%c%u = icmp eq i64 %%j%u, %%m\n"
                       "  br i1 %%c%u, label %%%s, label %%%s\n",
                       l, l, l, l, l, l ? "end" : "two", name);
    }
    hdi_text_print(text, "end:\n  ret void\n}\n");
}

// Whether the row's accesses begin at something frozen; if they do, both loops
// begin at the same.
static bool is_hidden(unsigned accesses, unsigned operations)
{
    struct hdi_text text = {0};
    struct try_ir t;

    write(&text, accesses, operations);
    CHECK(!text.failed);
    try_ir_open(&t, text.data);
    hdi_bases_hide(&t.llvm, t.module);
    CHECK(!LLVMVerifyFunction(t.kernel, LLVMPrintMessageAction));
    LLVMValueRef row = try_ir_find(&t, "row");
    LLVMValueRef one = LLVMGetOperand(try_ir_find(&t, "p0"), 0);
    LLVMValueRef two = LLVMGetOperand(try_ir_find(&t, "p1"), 0);
    bool hidden = LLVMIsAFreezeInst(one) != NULL;
    CHECK(one == two);
    CHECK(hidden ? LLVMGetOperand(one, 0) == row : one == row);
    try_ir_close(&t);
    hdi_text_free(&text);
    return hidden;
}

static void long_bases_of_many_accesses_are_hidden(void)
{
    CHECK(is_hidden(64, 16));
    CHECK(is_hidden(16, 64));
}

// Loops may step their addresses with those of loops around them.
static void others_stay(void)
{
    CHECK(!is_hidden(64, 0));
    CHECK(!is_hidden(4, 16));
    CHECK(!is_hidden(1, 1000));
}

// A remainder counts its operands twice, so a row of few instructions may be
// as long as any; the count has an end all the same.
static void remainders_of_remainders_are_counted_in_time(void)
{
    struct hdi_text text = {0};
    struct try_ir t;

    hdi_text_print(&text, "define void @k(ptr %%a, i64 %%n0, i64 %%m) {\n"
                          "entry:\n");
    for (unsigned i = 0; i < 200; i++)
        hdi_text_print(&text,
                       "  %%m%u = urem i64 %%n%u, %%m\n"
                       "  %%n%u = mul i64 %%m%u, %%m%u\n",
                       i, i, i + 1, i, i);
    hdi_text_print(&text, "  %%row = getelementptr i8, ptr %%a, i64 %%n200\n"
                          "  br label %%loop\n"
                          "loop:\n"
                          "  %%x = load i64, ptr %%row\n"
                          "  %%y = load i64, ptr %%row\n"
                          "  br label %%loop\n"
                          "}\n");
    CHECK(!text.failed);
    try_ir_open(&t, text.data);
    hdi_bases_hide(&t.llvm, t.module);
    CHECK(LLVMIsAFreezeInst(LLVMGetOperand(try_ir_find(&t, "x"), 0)));
    try_ir_close(&t);
    hdi_text_free(&text);
}

int main(void)
{
    long_bases_of_many_accesses_are_hidden();
    others_stay();
    remainders_of_remainders_are_counted_in_time();
    return 0;
}
