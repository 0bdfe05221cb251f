// Which switches become selects, and that the selects choose what the switches
// did.
#include "kernel/compiler/prepare/switches.h"

#include <llvm-c/Transforms/PassBuilder.h>

#include "kernel/compiler/ir/try_text.h"

struct flat {
    struct hdi_llvm llvm;
    LLVMModuleRef module;
    LLVMValueRef kernel;
};

static void flatten(struct flat *f, const char *text)
{
    *f = (struct flat){0};
    f->module = try_text_parse(&f->llvm, text);
    f->kernel = LLVMGetNamedFunction(f->module, "k");
    hdi_switches_flatten(&f->llvm, f->module);
}

static void close(struct flat *f)
{
    try_text_close(&f->llvm, f->module);
}

static unsigned count_switches(const struct flat *f)
{
    unsigned count = 0;

    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f->kernel); b;
         b = LLVMGetNextBasicBlock(b))
        count += LLVMIsASwitchInst(LLVMGetBasicBlockTerminator(b)) != NULL;
    return count;
}

// Two cases, of which `second` is the code of one, and a default.
static void write_switch(struct hdi_text *text, const char *asked,
                         const char *second, const char *other)
{
    hdi_text_print(text,
                   "declare i32 @far(i32)\n"
                   "define i32 @k(i32 %%n, i32 %%m) {\n"
                   "  switch i32 %s, label %%other [\n"
                   "    i32 3, label %%one\n"
                   "    i32 5, label %%two\n"
                   "    i32 6, label %%join\n"
                   "  ]\n"
                   "one:\n"
                   "  %%a = add i32 %%m, 10\n"
                   "  br label %%join\n"
                   "two:\n"
                   "  %%b = %s\n"
                   "  br label %%join\n"
                   "other:\n"
                   "  %s\n"
                   "join:\n",
                   asked, second, other);
    hdi_text_print(text,
                   "  %%r = phi i32 [ %%a, %%one ], [ %%b, %%two ], "
                   "[ 44, %%0 ]%s\n"
                   "  ret i32 %%r\n"
                   "}\n",
                   strstr(other, "br") ? ", [ 77, %other ]" : "");
}

static int64_t chosen(int asked, const char *other)
{
    struct hdi_text text = {0};
    char number[16];
    struct flat f;

    snprintf(number, sizeof(number), "%d", asked);
    write_switch(&text, number, "mul i32 %m, 3", other);
    flatten(&f, text.data);
    hdi_text_free(&text);
    CHECK(count_switches(&f) == 0);
    LLVMReplaceAllUsesWith(
        LLVMGetParam(f.kernel, 1),
        LLVMConstInt(LLVMInt32TypeInContext(f.llvm.context), 7, false));
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    CHECK(!LLVMRunPasses(f.module, "function(simplifycfg,instcombine)", NULL,
                         options));
    LLVMDisposePassBuilderOptions(options);
    LLVMValueRef result = LLVMGetOperand(
        LLVMGetBasicBlockTerminator(LLVMGetEntryBasicBlock(f.kernel)), 0);
    CHECK(LLVMIsAConstantInt(result));
    int64_t is = LLVMConstIntGetSExtValue(result);
    close(&f);
    return is;
}

static void selects_choose_what_switches_did(void)
{
    CHECK(chosen(3, "br label %join") == 17);
    CHECK(chosen(5, "br label %join") == 21);
    CHECK(chosen(6, "br label %join") == 44);
    CHECK(chosen(4, "br label %join") == 77);
}

static void what_cannot_happen_takes_the_way_of_a_case(void)
{
    CHECK(chosen(3, "unreachable") == 17);
    CHECK(chosen(5, "unreachable") == 21);
    CHECK(chosen(6, "unreachable") == 44);
}

static unsigned left_of(const char *second)
{
    struct hdi_text text = {0};
    struct flat f;

    write_switch(&text, "%n", second, "br label %join");
    flatten(&f, text.data);
    hdi_text_free(&text);
    unsigned left = count_switches(&f);
    close(&f);
    return left;
}

static void cases_that_cost_or_do_something_stay(void)
{
    CHECK(left_of("xor i32 %m, 3") == 0);
    CHECK(left_of("call i32 @llvm.umin.i32(i32 %m, i32 3)") == 0);
    CHECK(left_of("udiv i32 %m, 3") == 1);
    CHECK(left_of("call i32 @far(i32 %m)") == 1);
}

int main(void)
{
    selects_choose_what_switches_did();
    what_cannot_happen_takes_the_way_of_a_case();
    cases_that_cost_or_do_something_stay();
    return 0;
}
