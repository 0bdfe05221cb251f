// Loops from ids on by steps that are the same for all are found in each of the
// forms that they have.
#include "kernel/compiler/analysis/walk.h"

#include "kernel/compiler/flow/try_ir.h"

// Of 64 bits, of 32, and of 32 that are computed in 64; `start`, `by`, `test`
// and `extra` say what differs.
struct form {
    const char *type, *start, *by, *test, *extra;
};

static bool find(const struct form *form, struct try_ir *t,
                 struct hdi_walk *walk)
{
    struct hdi_text text = {0};

    hdi_text_print(&text,
                   "declare i64 @_Z14get_local_sizej(i32)\n"
                   "define void @k(ptr addrspace(1) %%p, i64 %%n, i32 %%m) {\n"
                   "  %%id = call i64 @_Z13get_global_idj(i32 0)\n"
                   "  %%lid = call i64 @_Z12get_local_idj(i32 0)\n"
                   "  %%y = call i64 @_Z13get_global_idj(i32 1)\n"
                   "  %%size = call i64 @_Z15get_global_sizej(i32 0)\n"
                   "  %%lsize = call i64 @_Z14get_local_sizej(i32 0)\n"
                   "  %%id32 = trunc i64 %%id to i32\n"
                   "  %%size32 = trunc i64 %%size to i32\n"
                   "  br label %%head\n"
                   "head:\n"
                   "  %%i = phi %s [ %s, %%0 ], [ %%next, %%body ]\n"
                   "  %s\n"
                   "  br i1 %%more, label %%body, label %%end\n"
                   "body:\n"
                   "  %s\n"
                   "  %%next = add %s %s\n"
                   "  br label %%head\n"
                   "end:\n"
                   "  ret void\n"
                   "}\n",
                   form->type, form->start, form->test, form->extra, form->type,
                   form->by);
    try_ir_open(t, text.data);
    hdi_text_free(&text);
    return hdi_walk_find(LLVMGetInstructionParent(try_ir_find(t, "i")), walk);
}

static bool is_found(const char *type, const char *start, const char *by,
                     const char *test)
{
    struct try_ir t;
    struct hdi_walk walk;
    bool yes = find(&(struct form){type, start, by, test, ""}, &t, &walk);

    try_ir_close(&t);
    return yes;
}

static void walks_of_ids_are_found(void)
{
    static const char below[] = "%more = icmp ult i64 %i, %n";

    CHECK(is_found("i64", "%id", "%i, %size", below));
    CHECK(is_found("i64", "%id", "%size, %i", below));
    CHECK(is_found("i64", "%lid", "%i, %lsize", below));
    CHECK(is_found("i64", "%lid", "%i, 7", below));
    CHECK(
        is_found("i32", "%id32", "%i, %size32", "%more = icmp slt i32 %i, %m"));
    // By something that differs, back, or from somewhere else.
    CHECK(!is_found("i64", "%id", "%i, %id", below));
    CHECK(!is_found("i64", "%id", "%i, -7", below));
    CHECK(!is_found("i64", "%n", "%i, %size", below));
    CHECK(!is_found("i64", "%y", "%i, %size", below));
    CHECK(!is_found("i64", "%id", "%n, %size", below));
    CHECK(!is_found("i64", "%id", "%size, %size", below));
}

static void conditions_are_turned_round(void)
{
    struct try_ir t;
    struct hdi_walk w;

    CHECK(find(&(struct form){"i64", "%id", "%i, %size",
                              "%more = icmp ugt i64 %n, %i", ""},
               &t, &w));
    CHECK(w.predicate == LLVMIntULT && w.bound == LLVMGetParam(t.kernel, 1));
    CHECK(w.index == try_ir_find(&t, "i") && !w.half);
    CHECK(w.id == try_ir_find(&t, "id") && w.step == try_ir_find(&t, "size"));
    CHECK(w.next == try_ir_find(&t, "next"));
    CHECK(w.latch == LLVMGetInstructionParent(w.next));
    CHECK(w.before == LLVMGetEntryBasicBlock(t.kernel));
    try_ir_close(&t);
}

static void ids_of_others_are_not_ones_own(void)
{
    struct form form = {"i64", "%id", "%i, %size",
                        "%more = icmp ult i64 %i, %n", ""};
    struct try_ir t;
    struct hdi_walk w;

    form.start = "%lid";
    CHECK(find(&form, &t, &w) && hdi_walk_owns_id(&w));
    try_ir_close(&t);
    form.extra = "%used = add i64 %lid, 1";
    CHECK(find(&form, &t, &w) && !hdi_walk_owns_id(&w));
    try_ir_close(&t);
    form.extra = "%again = call i64 @_Z12get_local_idj(i32 0)";
    CHECK(find(&form, &t, &w) && !hdi_walk_owns_id(&w));
    try_ir_close(&t);
    form.extra = "%again = call i64 @_Z12get_local_idj(i32 %m)";
    CHECK(find(&form, &t, &w) && !hdi_walk_owns_id(&w));
    try_ir_close(&t);
    form.extra = "%again = call i64 @_Z12get_local_idj(i32 1)";
    CHECK(find(&form, &t, &w) && hdi_walk_owns_id(&w));
    try_ir_close(&t);
}

static void short_ones_are_told_from_long_ones(void)
{
    struct form form = {"i64", "%id", "%i, %size",
                        "%half = trunc i64 %i to i32\n"
                        "  %more = icmp slt i32 %half, %m",
                        "%at = and i64 %i, 4294967295"};
    struct try_ir t;
    struct hdi_walk w;

    CHECK(find(&form, &t, &w) && w.half == try_ir_find(&t, "half"));
    CHECK(hdi_walk_is_short(&w));
    try_ir_close(&t);
    form.extra = "%at = getelementptr i8, ptr addrspace(1) %p, i64 %i";
    CHECK(find(&form, &t, &w) && w.half && !hdi_walk_is_short(&w));
    try_ir_close(&t);
}

int main(void)
{
    walks_of_ids_are_found();
    conditions_are_turned_round();
    ids_of_others_are_not_ones_own();
    short_ones_are_told_from_long_ones();
    return 0;
}
