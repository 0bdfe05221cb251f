// Parts of a program become one, or what keeps them from it is named.
#include "kernel/compiler/driver/merger.h"

#include <llvm-c/BitReader.h>
#include <llvm-c/BitWriter.h>

#include "kernel/compiler/ir/try_text.h"

enum {
    PARTS = 2
};

static struct hdi_text bitcode_of(const char *text)
{
    struct hdi_llvm llvm = {0};
    struct hdi_text bitcode = {0};

    LLVMModuleRef module = try_text_parse(&llvm, text);
    LLVMMemoryBufferRef buffer = LLVMWriteBitcodeToMemoryBuffer(module);
    hdi_text_append(&bitcode, LLVMGetBufferStart(buffer),
                    LLVMGetBufferSize(buffer));
    CHECK(!bitcode.failed);
    LLVMDisposeMemoryBuffer(buffer);
    try_text_close(&llvm, module);
    return bitcode;
}

static hd_status merge_bitcodes(const struct hdi_text *bitcodes,
                                struct hdi_text *merged, struct hd_error *error)
{
    const struct hdi_part parts[PARTS] = {{.path = "a.cl"}, {.path = "b.cl"}};
    const struct hdi_source source = {
        .path = "a.cl", .parts = parts, .part_count = PARTS};

    return hdi_merger_run(&source, bitcodes, merged, error);
}

static hd_status merge(const char *first, const char *second,
                       struct hdi_text *merged, struct hd_error *error)
{
    struct hdi_text bitcodes[PARTS] = {bitcode_of(first), bitcode_of(second)};
    hd_status status = merge_bitcodes(bitcodes, merged, error);

    for (unsigned i = 0; i < PARTS; i++)
        hdi_text_free(&bitcodes[i]);
    return status;
}

static void refuse(const char *first, const char *second, const char *why)
{
    struct hdi_text merged = {0};
    struct hd_error error;

    CHECK_FAILS(merge(first, second, &merged, &error), HD_EBUILD, error, why);
    CHECK(merged.size == 0);
    hdi_text_free(&merged);
}

static void accept(const char *first, const char *second)
{
    struct hdi_text merged = {0};
    struct hd_error error;

    CHECK_OK(merge(first, second, &merged, &error), error);
    hdi_text_free(&merged);
}

static void what_one_declares_the_other_defines(void)
{
    static const char uses[] = "declare i32 @half(i32)\n"
                               "define void @k(ptr %p) {\n"
                               "  %v = call i32 @half(i32 6)\n"
                               "  store i32 %v, ptr %p\n"
                               "  ret void\n"
                               "}\n";
    static const char has[] = "define i32 @half(i32 %x) {\n"
                              "  %h = lshr i32 %x, 1\n"
                              "  ret i32 %h\n"
                              "}\n";
    struct hdi_text merged = {0};
    struct hd_error error;
    LLVMModuleRef module;

    CHECK_OK(merge(uses, has, &merged, &error), error);
    LLVMContextRef context = LLVMContextCreate();
    LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(
        merged.data, merged.size, "merged");
    CHECK(!LLVMParseBitcodeInContext2(context, buffer, &module));
    LLVMValueRef half = LLVMGetNamedFunction(module, "half");
    CHECK(half && !LLVMIsDeclaration(half) && LLVMGetFirstUse(half));
    CHECK(!LLVMIsDeclaration(LLVMGetNamedFunction(module, "k")));
    LLVMDisposeMemoryBuffer(buffer);
    LLVMDisposeModule(module);
    LLVMContextDispose(context);
    hdi_text_free(&merged);
}

static void definitions_meet_once(void)
{
    static const char f[] = "define void @f() {\n  ret void\n}\n";
    static const char own[] = "define internal void @f() {\n  ret void\n}\n"
                              "define void @g() {\n"
                              "  call void @f()\n  ret void\n}\n";

    refuse(f, f, "b.cl: error: 'f' is defined in a.cl too");
    refuse("@t = constant i32 1\n", "@t = constant i32 1\n",
           "'t' is defined in a.cl too");
    accept(f, own);
}

static void declarations_are_like_definitions(void)
{
    static const char f[] = "define i32 @f(i32 %x) {\n  ret i32 %x\n}\n";

    refuse("declare i64 @f(i32)\n", f, "'f' is something else than in a.cl");
    refuse("declare i32 @f(i32, i32)\n", f, "'f' is something else");
    refuse("declare i32 @f(i32, ...)\n", f, "declare it as it is defined");
    refuse("@f = external global i32\n", f, "'f' is something else");
    refuse("@t = external addrspace(2) constant i32\n", "@t = constant i32 1\n",
           "'t' is something else");
    accept("declare i32 @f(i32)\n", f);
}

static void structures_are_compared_by_what_is_in_them(void)
{
    refuse("%s = type { i32, float }\n@v = external global %s\n",
           "%s = type { i32, i32 }\n@v = global %s zeroinitializer\n",
           "'v' is something else");
    refuse("%s = type <{ i8, i32 }>\n@v = external global %s\n",
           "%s = type { i8, i32 }\n@v = global %s zeroinitializer\n",
           "'v' is something else");
    accept("%s = type { i32, [4 x float] }\n@v = external global %s\n",
           "%s = type { i32, [4 x float] }\n@v = global %s zeroinitializer\n");
}

static void arrays_may_leave_their_length_open(void)
{
    static const char four[] = "@t = constant [4 x i32] zeroinitializer\n";

    accept("@t = external constant [0 x i32]\n", four);
    accept(four, "@t = external constant [0 x i32]\n");
    refuse("@t = external constant [3 x i32]\n", four, "'t' is something else");
    refuse("@t = external constant [0 x i8]\n", four, "'t' is something else");
}

static void what_is_no_bitcode_is_named(void)
{
    struct hdi_text bitcodes[PARTS] = {bitcode_of("@t = global i32 0\n")};
    struct hdi_text merged = {0};
    struct hd_error error;

    hdi_text_append(&bitcodes[1], "BC\xc0\xde????", 8);
    CHECK_FAILS(merge_bitcodes(bitcodes, &merged, &error), HD_EBUILD, error,
                "b.cl: bitcode cannot be read");
    hdi_text_free(&bitcodes[0]);
    hdi_text_free(&bitcodes[1]);
    hdi_text_free(&merged);
}

int main(void)
{
    what_one_declares_the_other_defines();
    definitions_meet_once();
    declarations_are_like_definitions();
    structures_are_compared_by_what_is_in_them();
    arrays_may_leave_their_length_open();
    what_is_no_bitcode_is_named();
    return 0;
}
