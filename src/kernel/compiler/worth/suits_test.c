// Which device a kernel suits goes by what its work-items do.
#include "kernel/compiler/worth/suits.h"

#include <stdio.h>
#include <string.h>

#include "kernel/compiler/flow/try_ir.h"

// What is found of a kernel with this body; `why` gets the words.
static uint32_t judge(const char *body, const uint32_t *required, char *why,
                      size_t size)
{
    struct hdi_text text = {0}, words = {0};
    struct hdi_nest nest = {0};
    struct hdi_value_steps items;
    struct hdi_traits traits;
    struct try_ir t;

    hdi_text_print(&text,
                   "define void @k(ptr addrspace(1) %%p, ptr addrspace(1) %%q, "
                   "i64 %%n) {\n"
                   "  %%r = alloca i64\n"
                   "  %%x = call i64 @_Z13get_global_idj(i32 0)\n"
                   "%s}\n",
                   body);
    try_ir_open(&t, text.data);
    CHECK(hdi_nest_find(&nest, &t.flow));
    CHECK(hdi_affine_find(&t.llvm, t.kernel, &t.flow, false, &items));
    hdi_traits_find(&items, &nest, &traits);
    uint32_t suits = hdi_traits_judge(&traits, required, &words);
    snprintf(why, size, "%s", words.data);
    hdi_affine_destroy(&items);
    hdi_nest_destroy(&nest);
    try_ir_close(&t);
    hdi_text_free(&words);
    hdi_text_free(&text);
    return suits;
}

static void check(const char *body, const uint32_t *required, uint32_t suits,
                  const char *words)
{
    char why[256];
    uint32_t got = judge(body, required, why, sizeof(why));

    if (got != suits || !strstr(why, words))
        fprintf(stderr, "%u, not %u: '%s' for '%s'\n", got, suits, why, words);
    CHECK(got == suits && strstr(why, words));
}

static const uint32_t any[3] = {0, 0, 0}, alone[3] = {1, 1, 1};

static const char copy[] =
    "  %a = getelementptr i32, ptr addrspace(1) %p, i64 %x\n"
    "  %b = getelementptr i32, ptr addrspace(1) %q, i64 %x\n"
    "  %v = load i32, ptr addrspace(1) %a\n"
    "  store i32 %v, ptr addrspace(1) %b\n"
    "  ret void\n";

static const char same[] = "  %v = load i32, ptr addrspace(1) %p\n"
                           "  store i32 %v, ptr addrspace(1) %q\n"
                           "  ret void\n";

static const char sum[] =
    "  %a = getelementptr i32, ptr addrspace(1) %p, i64 %x\n"
    "  %v = atomicrmw add ptr addrspace(1) %q, i32 1 seq_cst\n"
    "  store i32 %v, ptr addrspace(1) %a\n"
    "  ret void\n";

// As long as it is not the first to have changed it.
static const char retry[] =
    "  br label %again\n"
    "again:\n"
    "  %o = load i64, ptr addrspace(1) %p\n"
    "  %s = add i64 %o, %x\n"
    "  %e = cmpxchg ptr addrspace(1) %p, i64 %o, i64 %s seq_cst seq_cst\n"
    "  %good = extractvalue { i64, i1 } %e, 1\n"
    "  br i1 %good, label %end, label %again\n"
    "end:\n"
    "  ret void\n";

// Follows a list from its own entry on to the end.
static const char chase[] =
    "  store i64 %x, ptr %r\n"
    "  br label %loop\n"
    "loop:\n"
    "  %at = load i64, ptr %r\n"
    "  %a = getelementptr i64, ptr addrspace(1) %p, i64 %at\n"
    "  %next = load i64, ptr addrspace(1) %a\n"
    "  store i64 %next, ptr %r\n"
    "  %more = icmp ne i64 %next, 0\n"
    "  br i1 %more, label %loop, label %end\n"
    "end:\n"
    "  ret void\n";

// As many rounds for all.
static const char even[] =
    "  store i64 0, ptr %r\n"
    "  br label %loop\n"
    "loop:\n"
    "  %i = load i64, ptr %r\n"
    "  %j = add i64 %i, 1\n"
    "  store i64 %j, ptr %r\n"
    "  %a = getelementptr i64, ptr addrspace(1) %p, i64 %x\n"
    "  %v = load i64, ptr addrspace(1) %a\n"
    "  %w = add i64 %v, %i\n"
    "  store i64 %w, ptr addrspace(1) %a\n"
    "  %more = icmp ult i64 %j, %n\n"
    "  br i1 %more, label %loop, label %end\n"
    "end:\n"
    "  ret void\n";

int main(void)
{
    check(copy, any, HD_SUITS_GPU, "2 of 2 memory accesses side by side");
    check(copy, alone, HD_SUITS_CPU, "one work-item each");
    check(same, any, HD_SUITS_CPU, "all work-items do the same");
    check(sum, any, HD_SUITS_GPU, "1 atomic");
    check(retry, any, HD_SUITS_CPU, "exchange");
    check(chase, any, HD_SUITS_CPU, "leave the loop at different times");
    check(even, any, HD_SUITS_GPU, "2 of 2");
    return 0;
}
