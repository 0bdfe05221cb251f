// Which quotients are estimated, by whom, for which processor.
#include "kernel/compiler/emit/quotient.h"

#include <llvm-c/Analysis.h>

#include "kernel/compiler/flow/try_ir.h"

struct counts {
    unsigned estimates; // the processor's
    unsigned quotients; // that are left
    unsigned inexact;   // of them
};

static void count(LLVMValueRef i, struct counts *counts)
{
    if (LLVMIsACallInst(i) && strncmp(hdi_value_name(LLVMGetCalledValue(i)),
                                      "llvm.x86.avx512.rsqrt14", 23) == 0)
        counts->estimates++;
    if (LLVMGetInstructionOpcode(i) != LLVMFDiv)
        return;
    counts->quotients++;
    if (LLVMGetFastMathFlags(i) & LLVMFastMathAllowReciprocal)
        counts->inexact++;
}

// Of `above` over `below`, of %x and %root, its root.
static struct counts bound(const char *type, const char *suffix,
                           const char *flags, const char *above,
                           const char *below, const char *cpu,
                           const char *features)
{
    struct counts counts = {0};
    struct hdi_text text = {0};
    struct try_ir t;

    hdi_text_print(&text,
                   "declare %s @llvm.sqrt.%s(%s)\n"
                   "define %s @k(%s %%x, %s %%y) {\n"
                   "  %%root = call %s @llvm.sqrt.%s(%s %%x)\n"
                   "  %%q = fdiv %s %s %s, %s\n"
                   "  ret %s %%q\n"
                   "}\n",
                   type, suffix, type, type, type, type, type, suffix, type,
                   flags, type, above, below, type);
    try_ir_open(&t, text.data);
    t.llvm.target = hdi_target_find("x86_64", cpu, features);
    hdi_quotients_bound(&t.llvm, t.module);
    CHECK(!LLVMVerifyFunction(t.kernel, LLVMPrintMessageAction));
    for (LLVMValueRef i =
             LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(t.kernel));
         i; i = LLVMGetNextInstruction(i))
        count(i, &counts);
    try_ir_close(&t);
    hdi_text_free(&text);
    return counts;
}

static const char xeon[] = "+avx2,+avx512f,+avx512vl", desk[] = "+avx2";

static void reciprocal_roots_of_all_lengths_are_estimated(void)
{
    static const struct {
        const char *type, *suffix;
        unsigned estimates;
    } cases[] = {{"float", "f32", 1},           {"<2 x float>", "v2f32", 1},
                 {"<3 x float>", "v3f32", 1},   {"<8 x float>", "v8f32", 1},
                 {"<16 x float>", "v16f32", 1}, {"<32 x float>", "v32f32", 2},
                 {"<40 x float>", "v40f32", 3}};

    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        struct counts found =
            bound(cases[c].type, cases[c].suffix, "arcp contract", "%y",
                  "%root", "skylake-avx512", xeon);
        CHECK(found.estimates == cases[c].estimates && found.quotients == 0);
    }
    CHECK(bound("<8 x double>", "v8f64", "arcp contract", "%y", "%root",
                "skylake-avx512", xeon)
              .estimates == 0);
}

static void exact_quotients_stay(void)
{
    struct counts found = bound("<16 x float>", "v16f32", "contract", "%y",
                                "%root", "skylake-avx512", xeon);
    CHECK(found.estimates == 0 && found.quotients == 1 && found.inexact == 0);
}

// Where the estimate has 12 bits the code generator takes two steps.
static void short_estimates_are_left_to_the_code_generator(void)
{
    struct counts found = bound("<8 x float>", "v8f32", "arcp contract", "%y",
                                "%root", "haswell", desk);
    CHECK(found.estimates == 0 && found.inexact == 1);
}

// Only reciprocal roots of the builtins may be estimated, no other quotient.
static void quotients_without_a_root_are_exact(void)
{
    struct counts found = bound("<16 x float>", "v16f32", "arcp contract", "%x",
                                "%y", "skylake-avx512", xeon);
    CHECK(found.quotients == 1 && found.inexact == 0);
    found = bound("float", "f32", "arcp contract", "%x", "%y", "haswell", desk);
    CHECK(found.quotients == 1 && found.inexact == 0);
    // What may be approximate, where the estimate is good.
    found = bound("<16 x float>", "v16f32", "fast", "%x", "%y",
                  "skylake-avx512", xeon);
    CHECK(found.inexact == 1);
    found = bound("<8 x float>", "v8f32", "fast", "%x", "%y", "skylake-avx512",
                  xeon);
    CHECK(found.inexact == 0);
}

int main(void)
{
    reciprocal_roots_of_all_lengths_are_estimated();
    exact_quotients_stay();
    short_estimates_are_left_to_the_code_generator();
    quotients_without_a_root_are_exact();
    return 0;
}
