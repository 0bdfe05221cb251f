// What lanes know of each other, in a kernel that is one region.
#include "kernel/compiler/analysis/linear.h"

#include "kernel/compiler/flow/try_ir.h"

struct trial {
    struct try_ir ir;
    size_t *blocks;
    struct hdi_block_order order;
    struct hdi_linear linear;
};

static void trial_open(struct trial *t, const char *text)
{
    try_ir_open(&t->ir, text);
    size_t count = t->ir.flow.block_count;
    t->blocks = calloc(count, sizeof(*t->blocks));
    CHECK(t->blocks);
    for (size_t a = 0; a < t->ir.flow.array_count; a++)
        t->ir.flow.array_sizes[a] = 12; // loops/workgroup.c decides on it
    for (size_t b = 0; b < count; b++)
        t->blocks[b] = b;
    CHECK(hdi_order_find(&t->ir.flow, t->blocks, count, &t->order) ==
          HDI_ORDERED);
    CHECK(hdi_linear_find(&t->ir.flow, &t->order, false, false, false,
                          &t->linear));
}

static void trial_close(struct trial *t)
{
    hdi_linear_destroy(&t->linear);
    hdi_order_destroy(&t->order);
    free(t->blocks);
    try_ir_close(&t->ir);
}

static int64_t step(const struct trial *t, const char *name)
{
    return hdi_linear_step(&t->linear, try_ir_find(&t->ir, name)).by;
}

// Guesses of affine.h go further: there each of these has a step.
static void steps_are_proven(void)
{
    struct trial t;

    trial_open(&t, "declare i32 @next(i32)\n"
                   "define void @k(ptr addrspace(1) %p, i32 %n, i64 %width) {\n"
                   "  %array = alloca [3 x i32]\n"
                   "  %x = call i64 @_Z13get_global_idj(i32 0)\n"
                   "  %y = call i64 @_Z13get_global_idj(i32 1)\n"
                   "  %i = trunc i64 %x to i32\n"
                   "  %maybe = add i32 %i, %n\n"
                   "  %sure = add nsw i32 %i, %n\n"
                   "  %jumps = sext i32 %maybe to i64\n"
                   "  %grows = sext i32 %sure to i64\n"
                   "  %column = mul i64 %x, %width\n"
                   "  %along = getelementptr double, ptr addrspace(1) %p, i64 "
                   "%grows\n"
                   "  %back = sub i64 %width, %x\n"
                   "  %one = load i32, ptr addrspace(1) %p\n"
                   "  %each = load volatile i32, ptr addrspace(1) %p\n"
                   "  %mine = getelementptr i32, ptr %array, i64 %x\n"
                   "  store i32 %one, ptr %mine\n"
                   "  %given = call i32 @next(i32 %n)\n"
                   "  %ticket = atomicrmw add ptr addrspace(1) %p, i32 1 "
                   "seq_cst\n"
                   "  %wide = mul i64 %x, 536870912\n"
                   "  %apart = mul i64 %x, 1073741824\n"
                   "  ret void\n"
                   "}\n");
    CHECK(step(&t, "x") == 1 && step(&t, "y") == 0 && step(&t, "i") == 1);
    CHECK(step(&t, "jumps") == HDI_STEP_VARIES && step(&t, "grows") == 1);
    CHECK(step(&t, "column") == HDI_STEP_VARIES);
    CHECK(step(&t, "along") == 8 && step(&t, "back") == -1);
    CHECK(step(&t, "one") == 0 && step(&t, "each") == HDI_STEP_VARIES);
    CHECK(step(&t, "array") == 12 && step(&t, "mine") == 16);
    CHECK(step(&t, "given") == HDI_STEP_VARIES);
    CHECK(step(&t, "ticket") == HDI_STEP_VARIES);
    CHECK(step(&t, "wide") == 1 << 29 && step(&t, "apart") == HDI_STEP_VARIES);
    trial_close(&t);
}

// What falls from lane to lane: a lane that is off may hold what wraps, where
// all others keep the promise, and theirs are counted from the first.
static void a_falling_product_may_wrap(void)
{
    struct trial t;

    trial_open(&t, "define void @k(ptr addrspace(1) %p) {\n"
                   "  %x = call i64 @_Z13get_global_idj(i32 0)\n"
                   "  %i = trunc i64 %x to i32\n"
                   "  %up = mul nuw i32 %i, 3\n"
                   "  %not = xor i32 %i, -1\n"
                   "  %down = mul nuw i32 %not, 3\n"
                   "  %grows = zext i32 %up to i64\n"
                   "  %falls = zext i32 %not to i64\n"
                   "  %jumps = zext i32 %down to i64\n"
                   "  ret void\n"
                   "}\n");
    CHECK(step(&t, "grows") == 3 && step(&t, "falls") == -1);
    CHECK(step(&t, "down") == -3 && step(&t, "jumps") == HDI_STEP_VARIES);
    trial_close(&t);
}

// Lanes leave the loop one by one: those that wait behind it keep what `i` was
// for them, though all of them count alike.
static void lanes_that_wait_keep_their_values(void)
{
    static const char loop[] =
        "define void @k(ptr addrspace(1) %%p, i64 %%n) {\n"
        "  %%a = alloca i64\n"
        "  %%x = call i64 @_Z13get_global_idj(i32 0)\n"
        "  store i64 0, ptr %%a\n"
        "  br label %%head\n"
        "head:\n"
        "  %%i = load i64, ptr %%a\n"
        "  %%next = add i64 %%i, 1\n"
        "  store i64 %%next, ptr %%a\n"
        "  %%go = icmp ult i64 %%next, %s\n"
        "  br i1 %%go, label %%head, label %%end\n"
        "end:\n"
        "  %%last = load i64, ptr %%a\n"
        "  %%at = getelementptr i64, ptr addrspace(1) %%p, i64 %%x\n"
        "  store i64 %%last, ptr addrspace(1) %%at\n"
        "  ret void\n"
        "}\n";
    static const char *const limits[] = {"%n", "%x"};

    for (unsigned parts = 0; parts < 2; parts++) {
        struct hdi_text text = {0};
        struct trial t;
        hdi_text_print(&text, loop, limits[parts]);
        trial_open(&t, text.data);
        size_t head = t.order.position[1], end = t.order.position[2];
        CHECK(step(&t, "last") == (parts ? HDI_STEP_VARIES : 0));
        CHECK(hdi_linear_slot_varies(&t.linear, 0) == (parts == 1));
        CHECK(t.linear.parts[head] == (parts == 1));
        CHECK(t.linear.scattered[head] == (parts == 1));
        CHECK(!t.linear.scattered[end] && !t.linear.returns);
        trial_close(&t);
        hdi_text_free(&text);
    }
}

int main(void)
{
    steps_are_proven();
    a_falling_product_may_wrap();
    lanes_that_wait_keep_their_values();
    return 0;
}
