// How values grow along axes, as text: `name x y z group single sweep`, with
// `far` for what launches decide and `?` for what is not always the same.
#include "kernel/compiler/analysis/affine.h"

#include "kernel/compiler/flow/try_ir.h"

static void write_step(struct hdi_text *text, int64_t step)
{
    if (step == HDI_STEP_FAR)
        hdi_text_print(text, " far");
    else if (!hdi_step_is_number(step))
        hdi_text_print(text, " ?");
    else
        hdi_text_print(text, " %lld", (long long)step);
}

static bool is_written(const struct hdi_value_steps *f, LLVMValueRef value,
                       const char *wanted)
{
    struct hdi_text text = {0};

    hdi_text_print(&text, "%s", hdi_value_name(value));
    for (unsigned axis = f->loop ? HDI_AXIS_TURN : HDI_AXIS_X;
         axis < (f->loop ? HDI_AXES : HDI_AXIS_TURN); axis++)
        write_step(&text, hdi_affine_step(f, value, (enum hdi_step_axis)axis));
    bool same = !text.failed && strcmp(text.data, wanted) == 0;
    if (!same)
        fprintf(stderr, "%s, not %s\n", text.data, wanted);
    hdi_text_free(&text);
    return same;
}

// `lines`: of names and steps, the last one NULL.
static void check(const struct try_ir *t, const struct hdi_value_steps *f,
                  const char *const *lines)
{
    for (; *lines; lines++) {
        char name[32] = "";
        memcpy(name, *lines, strcspn(*lines, " "));
        CHECK(is_written(f, try_ir_find(t, name), *lines));
    }
}

static void check_kernel(const char *body, bool in_slots, bool clamps,
                         const char *const *lines)
{
    struct hdi_text text = {0};
    struct hdi_value_steps f;
    struct try_ir t;

    hdi_text_print(&text,
                   "declare i64 @_Z12get_group_idj(i32)\n"
                   "declare i64 @_Z14get_local_sizej(i32)\n"
                   "declare i64 @_Z23get_enqueued_local_sizej(i32)\n"
                   "declare i32 @llvm.smin.i32(i32, i32)\n"
                   "declare i32 @llvm.umin.i32(i32, i32)\n"
                   "declare i32 @llvm.umax.i32(i32, i32)\n"
                   "define void @k(ptr addrspace(1) %%p, i32 %%n, i64 %%width, "
                   "i1 %%b) {\n"
                   "  %%x = call i64 @_Z13get_global_idj(i32 0)\n"
                   "  %%y = call i64 @_Z13get_global_idj(i32 1)\n"
                   "  %%l = call i64 @_Z12get_local_idj(i32 0)\n"
                   "  %%g = call i64 @_Z12get_group_idj(i32 0)\n"
                   "  %%s = call i64 @_Z14get_local_sizej(i32 0)\n"
                   "  %%t = call i64 @_Z15get_global_sizej(i32 0)\n"
                   "  %%i = trunc i64 %%x to i32\n%s}\n",
                   body);
    try_ir_open(&t, text.data);
    CHECK(hdi_affine_find(&t.llvm, t.kernel, in_slots ? &t.flow : NULL, clamps,
                          &f));
    check(&t, &f, lines);
    hdi_affine_destroy(&f);
    try_ir_close(&t);
    hdi_text_free(&text);
}

static void sums_and_products_add_up(void)
{
    static const char body[] =
        "  %row = mul i64 %y, %width\n"
        "  %at = add i64 %row, %x\n"
        "  %along = getelementptr double, ptr addrspace(1) %p, i64 %at\n"
        "  %twice = shl i32 %i, 1\n"
        "  %less = sub i32 %n, %twice\n"
        "  %long = sext i32 %less to i64\n"
        "  %down = getelementptr float, ptr addrspace(1) %p, i64 %long\n"
        "  %column = mul i64 %width, %x\n"
        "  %square = mul i64 %x, %x\n"
        "  %area = mul i64 %x, %y\n"
        "  %back = xor i64 %x, -1\n"
        "  %pair = shl i64 %x, 1\n"
        "  %odd = or disjoint i64 %pair, 1\n"
        "  %mixed = or i64 %pair, %l\n"
        "  %read = load i64, ptr addrspace(1) %along\n"
        "  %same = load i64, ptr addrspace(1) %p\n"
        "  %ticket = atomicrmw add ptr addrspace(1) %p, i32 1 seq_cst\n"
        "  ret void\n";
    static const char *const lines[] = {"x 1 0 0 1 0 0",
                                        "l 1 0 0 0 0 0",
                                        "row 0 far 0 0 0 0",
                                        "along 8 far 0 8 0 0",
                                        "down -8 0 0 -8 0 0",
                                        "column far 0 0 far 0 0",
                                        "square ? 0 0 ? 0 0",
                                        "area far far 0 far 0 0",
                                        "back -1 0 0 -1 0 0",
                                        "odd 2 0 0 2 0 0",
                                        "mixed ? 0 0 ? 0 0",
                                        "read ? ? 0 ? 0 0",
                                        "same 0 0 0 0 0 0",
                                        "ticket ? ? ? ? ? ?",
                                        NULL};

    check_kernel(body, true, false, lines);
    check_kernel(body, false, false, lines);
}

static void numbers_of_32_bits_are_understood(void)
{
    static const char body[] = "  %up = shl i64 %x, 32\n"
                               "  %int = ashr exact i64 %up, 32\n"
                               "  %four = ashr i64 %up, 30\n"
                               "  %uint = and i64 %x, 4294967295\n"
                               "  %positive = and i64 %x, 2147483647\n"
                               "  %byte = and i64 %x, 255\n"
                               "  %half = lshr i64 %x, 1\n"
                               "  %far = mul i64 %x, 144115188075855872\n"
                               "  %wide = shl i64 %x, 40\n"
                               "  ret void\n";
    static const char *const lines[] = {
        "i 1 0 0 1 0 0",        "int 1 0 0 1 0 0",
        "four 4 0 0 4 0 0",     "uint 1 0 0 1 0 0",
        "positive 1 0 0 1 0 0", "byte ? 0 0 ? 0 0",
        "half ? 0 0 ? 0 0",     "far ? 0 0 ? 0 0",
        "wide ? 0 0 ? 0 0",     NULL};

    check_kernel(body, true, false, lines);
}

static void groups_begin_at_products(void)
{
    static const char body[] =
        "  %start = mul i64 %g, %s\n"
        "  %own = add i64 %start, %l\n"
        "  %small = trunc i64 %g to i32\n"
        "  %size = trunc i64 %s to i32\n"
        "  %int = mul i32 %small, %size\n"
        "  %one = getelementptr float, ptr addrspace(1) %p, i64 %g\n"
        "  %all = getelementptr float, ptr addrspace(1) %p, i64 %own\n"
        "  %rows = mul i64 %g, %width\n"
        "  %whole = call i64 @_Z23get_enqueued_local_sizej(i32 0)\n"
        "  %begin = mul i64 %g, %whole\n"
        // Of another dimension, and of what is no group.
        "  %up = call i64 @_Z12get_group_idj(i32 1)\n"
        "  %height = call i64 @_Z14get_local_sizej(i32 1)\n"
        "  %slant = mul i64 %g, %height\n"
        "  %sizes = mul i64 %x, %s\n"
        "  ret void\n";
    static const char *const lines[] = {
        "g 0 0 0 0 1 0",       "start 0 0 0 1 0 0",     "own 1 0 0 1 0 0",
        "int 0 0 0 1 0 0",     "one 0 0 0 0 4 0",       "all 4 0 0 4 0 0",
        "rows 0 0 0 0 far 0",  "begin 0 0 0 1 0 0",     "up 0 0 0 0 0 0",
        "slant 0 0 0 0 far 0", "sizes far 0 0 far 0 0", NULL};

    check_kernel(body, true, false, lines);
}

static void limits_may_be_taken_not_to_count(void)
{
    static const char body[] =
        "  %least = call i32 @llvm.smin.i32(i32 %i, i32 %n)\n"
        "  %choice = select i1 %b, i32 %i, i32 %n\n"
        "  %both = select i1 %b, i32 %i, i32 %least\n"
        "  %low = call i32 @llvm.umin.i32(i32 %i, i32 %n)\n"
        "  %high = call i32 @llvm.umax.i32(i32 %i, i32 %n)\n"
        // Who takes which is not the same for all.
        "  %few = icmp ult i64 %x, 5\n"
        "  %one = select i1 %b, i64 %x, i64 %l\n"
        "  %other = select i1 %few, i64 %x, i64 %l\n"
        "  ret void\n";
    static const char *const within[] = {
        "least 1 0 0 1 0 0", "choice 1 0 0 1 0 0", "low 1 0 0 1 0 0",
        "high 1 0 0 1 0 0", NULL};
    static const char *const limited[] = {"least ? 0 0 ? 0 0",
                                          "choice ? 0 0 ? 0 0",
                                          "both ? 0 0 ? 0 0",
                                          "low ? 0 0 ? 0 0",
                                          "one 1 0 0 ? 0 0",
                                          "other ? 0 0 ? 0 0",
                                          NULL};

    check_kernel(body, true, true, within);
    check_kernel(body, true, false, limited);
}

static void slots_and_phi_nodes_hold_what_comes(void)
{
    static const char slots[] = "  %a = alloca i64\n"
                                "  %c = alloca i64\n"
                                "  store i64 %x, ptr %a\n"
                                "  store i64 %x, ptr %c\n"
                                "  br label %loop\n"
                                "loop:\n"
                                "  %kept = load i64, ptr %a\n"
                                "  %mixed = load i64, ptr %c\n"
                                "  %next = add i64 %kept, %t\n"
                                "  %twice = add i64 %mixed, %x\n"
                                "  store i64 %next, ptr %a\n"
                                "  store i64 %twice, ptr %c\n"
                                "  br i1 %b, label %loop, label %end\n"
                                "end:\n"
                                "  ret void\n";
    static const char phis[] =
        "  br label %loop\n"
        "loop:\n"
        "  %kept = phi i64 [ %x, %0 ], [ %next, %loop ]\n"
        "  %mixed = phi i64 [ %x, %0 ], [ %twice, %loop ]\n"
        "  %next = add i64 %kept, %width\n"
        "  %twice = add i64 %mixed, %x\n"
        "  br i1 %b, label %loop, label %end\n"
        "end:\n"
        "  ret void\n";
    static const char *const of_slots[] = {"kept 1 0 0 1 0 1",
                                           "mixed ? 0 0 ? 0 0", NULL};
    static const char *const of_phis[] = {"kept 1 0 0 1 0 0",
                                          "mixed ? 0 0 ? 0 0", NULL};

    check_kernel(slots, true, false, of_slots);
    check_kernel(phis, false, false, of_phis);
}

static const char turns[] =
    "define void @k(ptr addrspace(1) %p, i64 %n, i1 %b) {\n"
    "  %a = alloca i64\n"
    "  %c = alloca i64\n"
    "  %d = alloca i64\n"
    "  %e = alloca i64\n"
    "  %f = alloca i64\n"
    "  %x = call i64 @_Z13get_global_idj(i32 0)\n"
    "  store i64 %x, ptr %a\n"
    "  store i64 0, ptr %c\n"
    "  store i64 0, ptr %d\n"
    "  store i64 %n, ptr %e\n"
    "  store i64 0, ptr %f\n"
    "  br label %loop\n"
    "loop:\n"
    "  %i = load i64, ptr %a\n"
    "  %j = load i64, ptr %c\n"
    "  %k = load i64, ptr %d\n"
    "  %fixed = load i64, ptr %e\n"
    "  %m = load i64, ptr %f\n"
    "  %m1 = add i64 %m, 1\n"
    "  store i64 %m1, ptr %f\n"
    "  store i64 %n, ptr %f\n"
    "  %row = mul i64 %i, %n\n"
    "  %up = shl i64 %i, 32\n"
    "  %int = ashr i64 %up, 32\n"
    "  %at = getelementptr float, ptr addrspace(1) %p, i64 %int\n"
    "  %below = getelementptr float, ptr addrspace(1) %p, i64 %row\n"
    "  %read = load i64, ptr addrspace(1) %at\n"
    "  %i1 = add i64 %i, -3\n"
    "  %j1 = add i64 %j, %n\n"
    "  store i64 %i1, ptr %a\n"
    "  store i64 %j1, ptr %c\n"
    "  store i64 %read, ptr %d\n"
    "  br i1 %b, label %loop, label %end\n"
    "end:\n"
    "  ret void\n"
    "}\n";

static void turns_of_a_loop_add_up(void)
{
    static const char *const lines[] = {
        "i -3",      "j far",  "k ?", "fixed 0", "row far", "at -12",
        "below far", "read ?", "x 0", "m ?",     NULL};
    struct hdi_value_steps f;
    struct hdi_nest nest;
    struct try_ir t;

    try_ir_open(&t, turns);
    CHECK(hdi_nest_find(&nest, &t.flow));
    CHECK(hdi_nest_take(
        &nest, hdi_map_index(&t.flow.block_index,
                             LLVMGetInstructionParent(try_ir_find(&t, "i")))));
    CHECK(hdi_affine_find_turns(&t.llvm, &nest, &f));
    check(&t, &f, lines);
    hdi_affine_destroy(&f);
    hdi_nest_destroy(&nest);
    try_ir_close(&t);
}

static void steps_that_are_too_large_vary(void)
{
    static const char body[] =
        "  %large = mul i64 %x, 36028797018963968\n"
        "  %sum = add i64 %large, %large\n"
        "  %four = mul i64 %large, 4\n"
        "  %wraps = mul i64 %large, 9223372036854775807\n"
        "  %column = mul i64 %x, %width\n"
        "  %beside = add i64 %column, %x\n"
        "  ret void\n";
    static const char *const lines[] = {
        "large 36028797018963968 0 0 36028797018963968 0 0",
        "sum ? 0 0 ? 0 0",
        "four ? 0 0 ? 0 0",
        "wraps ? 0 0 ? 0 0",
        "beside far 0 0 far 0 0",
        NULL};

    check_kernel(body, true, false, lines);
}

static void what_is_far_apart_is_gathered(void)
{
    static const char text[] =
        "define void @k(ptr addrspace(1) %p, i64 %width) {\n"
        "  %x = call i64 @_Z13get_global_idj(i32 0)\n"
        "  %back = sub i64 %width, %x\n"
        "  %wide = mul i64 %x, %width\n"
        "  %along = getelementptr float, ptr addrspace(1) %p, i64 %x\n"
        "  %down = getelementptr float, ptr addrspace(1) %p, i64 %back\n"
        "  %across = getelementptr float, ptr addrspace(1) %p, i64 %wide\n"
        "  %one = getelementptr float, ptr addrspace(1) %p, i64 %width\n"
        "  %four = shl i64 %x, 2\n"
        "  %fours = getelementptr float, ptr addrspace(1) %p, i64 %four\n"
        "  %five = mul i64 %x, 5\n"
        "  %fives = getelementptr float, ptr addrspace(1) %p, i64 %five\n"
        "  ret void\n"
        "}\n";
    struct hdi_value_steps f;
    struct try_ir t;
    LLVMTypeRef type;

    try_ir_open(&t, text);
    type = LLVMFloatTypeInContext(t.llvm.context);
    CHECK(hdi_affine_find(&t.llvm, t.kernel, &t.flow, false, &f));
    CHECK(!hdi_affine_is_gathered(&f, try_ir_find(&t, "along"), type));
    CHECK(!hdi_affine_is_gathered(&f, try_ir_find(&t, "one"), type));
    CHECK(!hdi_affine_is_gathered(&f, try_ir_find(&t, "fours"), type));
    CHECK(hdi_affine_is_gathered(&f, try_ir_find(&t, "fives"), type));
    CHECK(hdi_affine_is_gathered(&f, try_ir_find(&t, "down"), type));
    CHECK(hdi_affine_is_gathered(&f, try_ir_find(&t, "across"), type));
    hdi_affine_destroy(&f);
    try_ir_close(&t);
}

int main(void)
{
    sums_and_products_add_up();
    numbers_of_32_bits_are_understood();
    groups_begin_at_products();
    limits_may_be_taken_not_to_count();
    slots_and_phi_nodes_hold_what_comes();
    turns_of_a_loop_add_up();
    steps_that_are_too_large_vary();
    what_is_far_apart_is_gathered();
    return 0;
}
