// Addresses are told apart as far as what is promised of sums allows.
#include "kernel/compiler/analysis/address.h"

#include "kernel/compiler/flow/try_ir.h"

static const char sums[] =
    "define void @k(ptr addrspace(1) %p, i32 %n, i64 %m) {\n"
    "  %one = add nsw i32 %n, 1\n"
    "  %wraps = add i32 %n, 1\n"
    "  %unsigned = add nuw i32 %n, 1\n"
    "  %l = sext i32 %n to i64\n"
    "  %l1 = sext i32 %one to i64\n"
    "  %lw = sext i32 %wraps to i64\n"
    "  %lu = sext i32 %unsigned to i64\n"
    "  %z = zext i32 %n to i64\n"
    "  %zu = zext i32 %unsigned to i64\n"
    "  %z1 = zext i32 %one to i64\n"
    "  %m1 = add i64 %m, 3\n"
    "  %m2 = add i64 %m1, -5\n"
    "  %own = getelementptr float, ptr addrspace(1) %p, i64 %l\n"
    "  %next = getelementptr float, ptr addrspace(1) %p, i64 %l1\n"
    "  %lost = getelementptr float, ptr addrspace(1) %p, i64 %lw\n"
    "  %other = getelementptr float, ptr addrspace(1) %p, i64 %lu\n"
    "  %plus = getelementptr i8, ptr addrspace(1) %next, i64 2\n"
    "  %z_own = getelementptr float, ptr addrspace(1) %p, i64 %z\n"
    "  %z_next = getelementptr float, ptr addrspace(1) %p, i64 %zu\n"
    "  %z_lost = getelementptr float, ptr addrspace(1) %p, i64 %z1\n"
    "  %long = getelementptr double, ptr addrspace(1) %p, i64 %m\n"
    "  %before = getelementptr double, ptr addrspace(1) %p, i64 %m2\n"
    "  %behind = getelementptr i8, ptr addrspace(1) %p, i64 16\n"
    "  %there = getelementptr double, ptr addrspace(1) %behind, i64 %m\n"
    "  %two = getelementptr float, ptr addrspace(1) %own, i64 %m\n"
    "  %byte = trunc i32 %n to i8\n"
    "  %far = add nuw i8 %byte, 200\n"
    "  %half = or disjoint i8 %byte, 128\n"
    "  %back = add nsw i8 %byte, 200\n"
    "  %b = zext i8 %byte to i64\n"
    "  %bf = zext i8 %far to i64\n"
    "  %bh = zext i8 %half to i64\n"
    "  %s = sext i8 %byte to i64\n"
    "  %sh = sext i8 %half to i64\n"
    "  %sb = sext i8 %back to i64\n"
    "  %b_own = getelementptr float, ptr addrspace(1) %p, i64 %b\n"
    "  %b_far = getelementptr float, ptr addrspace(1) %p, i64 %bf\n"
    "  %b_half = getelementptr float, ptr addrspace(1) %p, i64 %bh\n"
    "  %s_own = getelementptr float, ptr addrspace(1) %p, i64 %s\n"
    "  %s_half = getelementptr float, ptr addrspace(1) %p, i64 %sh\n"
    "  %s_back = getelementptr float, ptr addrspace(1) %p, i64 %sb\n"
    "  ret void\n"
    "}\n";

static bool are_apart(const struct try_ir *t, const char *a, const char *b,
                      int64_t bytes)
{
    struct hdi_address x =
        hdi_address_of(&t->llvm, &t->flow, try_ir_find(t, a));
    struct hdi_address y =
        hdi_address_of(&t->llvm, &t->flow, try_ir_find(t, b));

    return hdi_address_is_beside(&x, &y) && y.offset - x.offset == bytes;
}

static bool are_unlike(const struct try_ir *t, const char *a, const char *b)
{
    struct hdi_address x =
        hdi_address_of(&t->llvm, &t->flow, try_ir_find(t, a));
    struct hdi_address y =
        hdi_address_of(&t->llvm, &t->flow, try_ir_find(t, b));

    return !hdi_address_is_beside(&x, &y);
}

static void constants_are_in_the_offset(void)
{
    struct try_ir t;

    try_ir_open(&t, sums);
    CHECK(are_apart(&t, "own", "next", 4));
    CHECK(are_apart(&t, "own", "plus", 6));
    CHECK(are_apart(&t, "z_own", "z_next", 4));
    CHECK(are_apart(&t, "long", "before", -16));
    CHECK(are_apart(&t, "long", "there", 16));
    try_ir_close(&t);
}

// 200 of 8 bits is -56 where it has a sign.
static void short_constants_have_a_sign_where_the_index_has(void)
{
    struct try_ir t;

    try_ir_open(&t, sums);
    CHECK(are_apart(&t, "b_own", "b_far", 800));
    CHECK(are_apart(&t, "b_own", "b_half", 512));
    CHECK(are_apart(&t, "s_own", "s_half", -512));
    CHECK(are_apart(&t, "s_own", "s_back", -224));
    try_ir_close(&t);
}

static void what_may_wrap_is_not(void)
{
    struct try_ir t;

    try_ir_open(&t, sums);
    CHECK(are_unlike(&t, "own", "lost"));
    // Not wrapping without a sign says nothing of one with it, nor the reverse.
    CHECK(are_unlike(&t, "own", "other"));
    CHECK(are_unlike(&t, "z_own", "z_lost"));
    CHECK(are_unlike(&t, "own", "z_own"));
    CHECK(are_unlike(&t, "own", "two"));
    try_ir_close(&t);
}

int main(void)
{
    constants_are_in_the_offset();
    short_constants_have_a_sign_where_the_index_has();
    what_may_wrap_is_not();
    return 0;
}
