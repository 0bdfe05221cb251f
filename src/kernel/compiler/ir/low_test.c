// What is made of the low bits of a number is found, and made of those alone.
#include "kernel/compiler/ir/low.h"

#include <llvm-c/Transforms/PassBuilder.h>

#include "kernel/compiler/ir/try_text.h"

static const char kinds[] = "define void @k(i64 %v, i32 %n) {\n"
                            "  %masked = and i64 %v, 4294967295\n"
                            "  %byte = and i64 %v, 255\n"
                            "  %odd = and i64 %v, 5\n"
                            "  %up = shl i64 %v, 32\n"
                            "  %signed = ashr i64 %up, 32\n"
                            "  %four = ashr i64 %up, 30\n"
                            "  %plain = lshr i64 %up, 32\n"
                            "  %cut = trunc i64 %v to i32\n"
                            "  %again = sext i32 %cut to i64\n"
                            "  %char = trunc i64 %v to i8\n"
                            "  ret void\n"
                            "}\n";

static void halves_are_found_in_each_form(void)
{
    static const char *const halves[] = {"masked", "signed", "plain", "again"};
    static const char *const others[] = {"byte", "odd", "up", "four", "cut"};
    struct hdi_llvm llvm = {0};
    LLVMModuleRef module = try_text_parse(&llvm, kinds);
    LLVMValueRef k = LLVMGetNamedFunction(module, "k");
    LLVMValueRef v = LLVMGetParam(k, 0);
    struct hdi_low low;

    for (size_t i = 0; i < sizeof(halves) / sizeof(halves[0]); i++) {
        CHECK(hdi_low_half_of(try_text_find(k, halves[i])) == v);
        CHECK(hdi_low_whole_of(try_text_find(k, halves[i])) == v);
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        CHECK(!hdi_low_half_of(try_text_find(k, others[i])));
    CHECK(hdi_low_whole_of(try_text_find(k, "cut")) == v);
    CHECK(hdi_low_whole_of(try_text_find(k, "char")) != v);
    CHECK(hdi_low_find(try_text_find(k, "four"), &low) && low.of == v);
    CHECK(low.bits == 32 && low.up == 2 && low.is_signed);
    CHECK(hdi_low_find(try_text_find(k, "byte"), &low) && low.bits == 8);
    CHECK(!low.is_signed && low.up == 0);
    CHECK(!hdi_low_find(try_text_find(k, "odd"), &low));
    try_text_close(&llvm, module);
}

static bool is_enough(const char *instruction, unsigned bits)
{
    struct hdi_llvm llvm = {0};
    struct hdi_text text = {0};

    hdi_text_print(&text,
                   "define void @k(i64 %%v, i64 %%n) {\n"
                   "  %%low = and i64 %%v, 255\n"
                   "  %%next = add i64 %%v, 1\n"
                   "  %%x = %s\n"
                   "  ret void\n"
                   "}\n",
                   instruction);
    LLVMModuleRef module = try_text_parse(&llvm, text.data);
    LLVMValueRef k = LLVMGetNamedFunction(module, "k");
    bool yes =
        hdi_low_is_enough(LLVMGetParam(k, 0), bits, try_text_find(k, "next"));
    try_text_close(&llvm, module);
    hdi_text_free(&text);
    return yes;
}

static void only_low_bits_are_enough_where_no_others_count(void)
{
    CHECK(is_enough("and i64 %v, 4294967295", 32));
    CHECK(!is_enough("and i64 %v, 8589934591", 32));
    CHECK(is_enough("shl i64 %v, 32", 32) && !is_enough("shl i64 %v, 31", 32));
    CHECK(is_enough("trunc i64 %v to i32", 32));
    CHECK(!is_enough("trunc i64 %v to i32", 16));
    CHECK(!is_enough("add i64 %v, 2", 32));
    // Here it says by how much, not what is moved.
    CHECK(!is_enough("shl i64 %n, %v", 32));
    CHECK(!is_enough("and i64 %n, %v", 32));
}

// What the function returns once `half` takes the place of `v`'s low bits.
static int64_t rebuilt(int64_t v, const char *instructions)
{
    struct hdi_llvm llvm = {0};
    struct hdi_text text = {0};

    hdi_text_print(&text,
                   "define i64 @k() {\n"
                   "  %%v = add i64 %lld, 0\n"
                   "  %%half = add i32 %d, 0\n"
                   "  %s\n"
                   "  ret i64 %%x\n"
                   "}\n",
                   (long long)v, (int)(int32_t)v, instructions);
    LLVMModuleRef module = try_text_parse(&llvm, text.data);
    LLVMValueRef k = LLVMGetNamedFunction(module, "k");
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(llvm.context);
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMValueRef value = try_text_find(k, "v");

    hdi_low_rebuild(builder, value, try_text_find(k, "half"));
    // Who still asks for all of it would return another number.
    LLVMReplaceAllUsesWith(value, LLVMConstInt(LLVMTypeOf(value), 77, false));
    CHECK(!LLVMRunPasses(module, "function(instsimplify,instcombine)", NULL,
                         options));
    LLVMValueRef is = LLVMGetOperand(
        LLVMGetBasicBlockTerminator(LLVMGetEntryBasicBlock(k)), 0);
    CHECK(LLVMIsAConstantInt(is));
    int64_t number = LLVMConstIntGetSExtValue(is);
    LLVMDisposePassBuilderOptions(options);
    LLVMDisposeBuilder(builder);
    try_text_close(&llvm, module);
    hdi_text_free(&text);
    return number;
}

static void what_is_made_of_the_half_is_the_same(void)
{
    static const int64_t numbers[] = {
        0, 5, -7, 0x80000001, 0x123456789abcdef0, INT64_MIN, 0xffffffff};

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        int64_t v = numbers[i];
        int32_t half = (int32_t)v;
        CHECK(rebuilt(v, "%x = and i64 %v, 4294967295") == (uint32_t)half);
        CHECK(rebuilt(v, "%x = and i64 %v, 255") == (v & 255));
        CHECK(rebuilt(v, "%t = trunc i64 %v to i32\n"
                         "  %x = sext i32 %t to i64") == half);
        CHECK(rebuilt(v, "%t = trunc i64 %v to i8\n"
                         "  %x = sext i8 %t to i64") == (int8_t)v);
        CHECK(rebuilt(v, "%t = shl i64 %v, 32\n"
                         "  %x = ashr i64 %t, 32") == half);
        CHECK(rebuilt(v, "%t = shl i64 %v, 32\n"
                         "  %x = ashr i64 %t, 30") == (int64_t)half * 4);
        CHECK(rebuilt(v, "%t = shl i64 %v, 32\n"
                         "  %x = lshr i64 %t, 32") == (uint32_t)half);
        CHECK(rebuilt(v, "%x = shl i64 %v, 40") ==
              (int64_t)((uint64_t)v << 40));
    }
}

static void what_needs_all_stays(void)
{
    CHECK(rebuilt(5, "%x = add i64 %v, 1") == 78);
    CHECK(rebuilt(5, "%x = shl i64 %v, 31") == INT64_C(77) << 31);
}

int main(void)
{
    halves_are_found_in_each_form();
    only_low_bits_are_enough_where_no_others_count();
    what_is_made_of_the_half_is_the_same();
    what_needs_all_stays();
    return 0;
}
