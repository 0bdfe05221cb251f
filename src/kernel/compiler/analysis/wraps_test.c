// Which loops are told to stay scalar, by the index with which they go through
// memory.
#include "kernel/compiler/analysis/wraps.h"

#include "kernel/compiler/ir/try_text.h"

// `index`: of %i, which is 0, 1, 2 ... where `next` adds 1. `use`: of %w.
static const char usual_next[] = "add i32 %i, 1", none[] = "";
static const char usual_use[] =
    "%at = getelementptr i32, ptr addrspace(1) %t, i32 %w\n"
    "  %x = load i32, ptr addrspace(1) %at\n"
    "  store i32 %x, ptr addrspace(1) %o\n";

static LLVMValueRef latch_of(LLVMModuleRef module)
{
    LLVMValueRef f = LLVMGetNamedFunction(module, "f");

    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b;
         b = LLVMGetNextBasicBlock(b))
        if (LLVMGetNumSuccessors(LLVMGetBasicBlockTerminator(b)) == 2)
            return LLVMGetBasicBlockTerminator(b);
    CHECK(false);
    return NULL;
}

static LLVMModuleRef keep(struct hdi_llvm *llvm, const char *index,
                          const char *next, const char *use,
                          const char *property)
{
    struct hdi_text text = {0};
    struct hd_error error;

    hdi_text_print(&text,
                   "define void @f(ptr addrspace(1) %%t, ptr addrspace(1) %%o,"
                   " i32 %%n, i32 %%s) {\n"
                   "entry:\n"
                   "  br label %%loop\n"
                   "loop:\n"
                   "  %%i = phi i32 [ 0, %%entry ], [ %%next, %%loop ]\n"
                   "  %s\n"
                   "  %s\n"
                   "  %%next = %s\n"
                   "  %%more = icmp ult i32 %%next, %%n\n"
                   "  br i1 %%more, label %%loop, label %%end, !llvm.loop !0\n"
                   "end:\n"
                   "  ret void\n"
                   "}\n"
                   "!0 = distinct !{!0, !1%s}\n"
                   "!1 = !{!\"llvm.loop.mustprogress\"}\n",
                   index, use, next, property);
    *llvm = (struct hdi_llvm){0};
    LLVMModuleRef module = try_text_parse(llvm, text.data);
    hdi_text_free(&text);
    CHECK_OK(hdi_wraps_keep_scalar(llvm, module, &error), error);
    return module;
}

// What is told of the loop, as text.
static bool is_scalar(const char *index, const char *next, const char *use)
{
    struct hdi_llvm llvm;
    LLVMModuleRef module = keep(&llvm, index, next, use, none);
    char *text = LLVMPrintModuleToString(module);
    bool scalar = strstr(text, "!\"llvm.loop.vectorize.enable\", i1 false");

    CHECK(strstr(text, "llvm.loop.mustprogress"));
    LLVMDisposeMessage(text);
    try_text_close(&llvm, module);
    return scalar;
}

static bool is_index_scalar(const char *index)
{
    return is_scalar(index, usual_next, usual_use);
}

static void steps_that_are_no_power_of_two_are_mistaken(void)
{
    CHECK(is_index_scalar("%m = mul i32 %i, 3\n  %w = and i32 %m, 63"));
    CHECK(is_index_scalar("%d = shl i32 %i, 1\n  %m = add i32 %d, %i\n"
                          "  %w = and i32 %m, 63"));
    CHECK(is_index_scalar("%m = mul i32 %i, %s\n  %w = and i32 %m, 63"));
    CHECK(!is_index_scalar("%m = mul i32 %i, 4\n  %w = and i32 %m, 63"));
    CHECK(!is_index_scalar("%m = shl i32 %i, 2\n  %w = and i32 %m, 63"));
    CHECK(!is_index_scalar("%m = mul i32 %i, 64\n  %w = and i32 %m, 63"));
    CHECK(!is_index_scalar("%m = mul i32 %i, -3\n  %w = and i32 %m, 63"));
    CHECK(!is_index_scalar("%m = mul i32 %n, 3\n  %w = and i32 %m, 63"));
    // What others are made of does not grow.
    CHECK(!is_index_scalar("%f = mul i32 %n, %s\n  %m = add i32 %f, %i\n"
                           "  %w = and i32 %m, 63"));
    CHECK(!is_index_scalar("%d = mul i32 %i, 3\n  %m = sub i32 100, %d\n"
                           "  %w = and i32 %m, 63"));
    CHECK(is_index_scalar("%d = shl i32 %i, 2\n  %m = xor i32 %d, %i\n"
                          "  %w = and i32 %m, 63"));
    CHECK(is_index_scalar("%d = mul i32 %i, 3\n  %m = and i32 %d, %n\n"
                          "  %w = and i32 %m, 63"));
}

static void indices_wrap_by_masks_rests_and_short_numbers(void)
{
    CHECK(is_index_scalar("%m = mul i32 %i, 3\n  %w = urem i32 %m, 64"));
    CHECK(is_index_scalar("%m = mul i32 %i, 3\n  %w = srem i32 %m, 64"));
    CHECK(is_index_scalar("%m = mul i32 %i, 3\n  %c = trunc i32 %m to i8\n"
                          "  %w = zext i8 %c to i32"));
    CHECK(!is_index_scalar("%m = mul i32 %i, 3\n  %w = urem i32 %m, 60"));
    CHECK(!is_index_scalar("%m = mul i32 %i, 3\n  %w = and i32 %m, -4"));
    CHECK(!is_index_scalar("%w = mul i32 %i, 3"));
    CHECK(is_index_scalar("%m = mul i32 %i, 3\n  %w = and i32 %m, 262143"));
    // More than 8 bits are looked at.
    CHECK(is_index_scalar("%m = mul i32 %i, 257\n"
                          "  %c = trunc i32 %m to i16\n"
                          "  %w = zext i16 %c to i32"));
}

static void indices_of_32_bits_wrap_in_large_steps(void)
{
    static const char use[] =
        "%at = getelementptr i8, ptr addrspace(1) %t, i64 %w\n"
        "  store i8 0, ptr addrspace(1) %at\n";

    CHECK(is_scalar("%m = mul i32 %i, 1000003000\n  %w = zext i32 %m to i64",
                    usual_next, use));
    // From 2^20 on.
    CHECK(is_scalar("%m = mul i32 %i, 1048577\n  %w = zext i32 %m to i64",
                    usual_next, use));
    CHECK(!is_scalar("%m = mul i32 %i, 1048575\n  %w = zext i32 %m to i64",
                     usual_next, use));
    CHECK(!is_scalar("%m = mul i32 %i, 3\n  %w = zext i32 %m to i64",
                     usual_next, use));
    CHECK(!is_scalar("%m = mul i32 %i, %s\n  %w = zext i32 %m to i64",
                     usual_next, use));
}

static void counters_may_go_in_steps(void)
{
    CHECK(is_scalar("%w = and i32 %i, 63", "add i32 %i, 3", usual_use));
    CHECK(is_scalar("%w = and i32 %i, 63", "add i32 3, %i", usual_use));
    CHECK(!is_scalar("%w = and i32 %i, 63", usual_next, usual_use));
    CHECK(is_scalar("%w = and i32 %i, 63", "add i32 %i, %s", usual_use));
    CHECK(!is_scalar("%w = and i32 %i, 63", "sub i32 %i, 3", usual_use));
    CHECK(is_scalar("%w = and i32 %i, 63", "sub i32 %i, -3", usual_use));
    CHECK(!is_scalar("%w = and i32 %i, 63", "sub i32 -3, %i", usual_use));
    CHECK(is_scalar("%j = add i32 %i, 3\n  %w = and i32 %j, 63",
                    "and i32 %j, 63", usual_use));
    // No counter: it doubles.
    CHECK(!is_scalar("%m = mul i32 %i, 3\n  %w = and i32 %m, 63",
                     "shl i32 %i, 1", usual_use));
}

// What is no part of an address may be a vector.
static void numbers_may_wrap(void)
{
    CHECK(!is_scalar("%m = mul i32 %i, 3\n  %w = and i32 %m, 63", usual_next,
                     "store i32 %w, ptr addrspace(1) %o"));
    CHECK(is_scalar("%m = mul i32 %i, 3\n  %w = and i32 %m, 63", usual_next,
                    "%v = add i32 %w, 8\n"
                    "  %at = getelementptr i8, ptr addrspace(1) %o, i32 %v\n"
                    "  store i32 0, ptr addrspace(1) %at"));
    CHECK(is_scalar("%m = mul i32 %i, 3\n  %w = and i32 %m, 63", usual_next,
                    "%c = icmp ult i32 %i, 5\n"
                    "  %v = select i1 %c, i32 %w, i32 0\n"
                    "  %at = getelementptr i8, ptr addrspace(1) %o, i32 %v\n"
                    "  store i32 0, ptr addrspace(1) %at"));
    CHECK(is_scalar("%m = mul i32 %i, 3\n  %w = and i32 %m, 63", usual_next,
                    "%v = zext i32 %w to i64\n"
                    "  %at = inttoptr i64 %v to ptr addrspace(1)\n"
                    "  store i32 0, ptr addrspace(1) %at"));
}

// What is too far to be followed may be an address.
static void far_uses_are_addresses(void)
{
    struct hdi_text use = {0};

    hdi_text_print(&use, "%%v0 = add i32 %%w, %%n\n");
    for (unsigned i = 0; i < 100; i++)
        hdi_text_print(&use, "  %%v%u = mul i32 %%v%u, %%n\n", i + 1, i);
    hdi_text_print(&use, "  %%at = getelementptr i8, ptr addrspace(1) %%o, "
                         "i32 %%v100\n"
                         "  store i32 0, ptr addrspace(1) %%at");
    CHECK(is_scalar("%m = mul i32 %i, 3\n  %w = and i32 %m, 63", usual_next,
                    use.data));
    hdi_text_free(&use);
}

static unsigned count_marks(const char *text)
{
    struct hdi_llvm llvm = {0};
    struct hd_error error;
    unsigned count = 0;

    LLVMModuleRef module = try_text_parse(&llvm, text);
    CHECK_OK(hdi_wraps_keep_scalar(&llvm, module, &error), error);
    char *after = LLVMPrintModuleToString(module);
    for (const char *at = after; (at = strstr(at, "br i1")); at++) {
        const char *end = strchr(at, '\n');
        const char *mark = strstr(at, "!llvm.loop");
        count += mark && mark < end;
    }
    LLVMDisposeMessage(after);
    try_text_close(&llvm, module);
    return count;
}

// The index goes with the rows and with what is in one.
static void loops_around_are_scalar_too(void)
{
    CHECK(count_marks("define void @f(ptr addrspace(1) %t, i32 %n) {\n"
                      "entry:\n"
                      "  br label %rows\n"
                      "rows:\n"
                      "  %i = phi i32 [ 0, %entry ], [ %i1, %last ]\n"
                      "  br label %row\n"
                      "row:\n"
                      "  %k = phi i32 [ 0, %rows ], [ %k1, %row ]\n"
                      "  %a = mul i32 %i, 5\n"
                      "  %b = mul i32 %k, 3\n"
                      "  %c = add i32 %a, %b\n"
                      "  %w = and i32 %c, 63\n"
                      "  %at = getelementptr i32, ptr addrspace(1) %t, i32 %w\n"
                      "  store i32 %k, ptr addrspace(1) %at\n"
                      "  %k1 = add i32 %k, 1\n"
                      "  %more = icmp ult i32 %k1, %n\n"
                      "  br i1 %more, label %row, label %last\n"
                      "last:\n"
                      "  %i1 = add i32 %i, 1\n"
                      "  %again = icmp ult i32 %i1, %n\n"
                      "  br i1 %again, label %rows, label %end\n"
                      "end:\n"
                      "  ret void\n"
                      "}\n") == 2);
}

// A counter that stays as it is where the loop goes on at once.
static void a_counter_may_meet_what_it_was(void)
{
    CHECK(count_marks("define void @f(ptr addrspace(1) %t, i32 %n, i32 %s) {\n"
                      "entry:\n"
                      "  br label %loop\n"
                      "loop:\n"
                      "  %i = phi i32 [ 0, %entry ], [ %j, %next ]\n"
                      "  %m = mul i32 %i, 3\n"
                      "  %w = and i32 %m, 63\n"
                      "  %at = getelementptr i32, ptr addrspace(1) %t, i32 %w\n"
                      "  %x = load volatile i32, ptr addrspace(1) %at\n"
                      "  %stays = icmp eq i32 %x, %s\n"
                      "  br i1 %stays, label %next, label %grow\n"
                      "grow:\n"
                      "  %g = add i32 %i, 1\n"
                      "  store volatile i32 %x, ptr addrspace(1) %t\n"
                      "  br label %next\n"
                      "next:\n"
                      "  %j = phi i32 [ %i, %loop ], [ %g, %grow ]\n"
                      "  %more = icmp ult i32 %j, %n\n"
                      "  br i1 %more, label %loop, label %end\n"
                      "end:\n"
                      "  ret void\n"
                      "}\n") > 0);
}

// What was asked of the loop stays, but that it is to be vectors.
static void other_properties_stay(void)
{
    struct hdi_llvm llvm;
    LLVMModuleRef module =
        keep(&llvm, "%m = mul i32 %i, 3\n  %w = and i32 %m, 63", usual_next,
             usual_use,
             ", !2, !3}\n"
             "!2 = !{!\"llvm.loop.vectorize.enable\", i1 true}\n"
             "!3 = !{!\"llvm.loop.unroll.disable\"");
    LLVMValueRef properties[8];
    LLVMValueRef node =
        LLVMGetMetadata(latch_of(module),
                        LLVMGetMDKindIDInContext(llvm.context, "llvm.loop", 9));

    CHECK(LLVMGetMDNodeNumOperands(node) == 4);
    LLVMGetMDNodeOperands(node, properties);
    for (unsigned p = 1; p < 4; p++) {
        char *text = LLVMPrintValueToString(properties[p]);
        CHECK(!strstr(text, "i1 true"));
        LLVMDisposeMessage(text);
    }
    try_text_close(&llvm, module);
}

int main(void)
{
    steps_that_are_no_power_of_two_are_mistaken();
    indices_wrap_by_masks_rests_and_short_numbers();
    indices_of_32_bits_wrap_in_large_steps();
    counters_may_go_in_steps();
    numbers_may_wrap();
    far_uses_are_addresses();
    loops_around_are_scalar_too();
    a_counter_may_meet_what_it_was();
    other_properties_stay();
    return 0;
}
