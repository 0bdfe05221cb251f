// A kernel, and functions that it calls and that fault, as their unwind tables
// and stacks may be.
#include "backend/cpu/fault/shelter.h"

#include <signal.h>

#include "tests/check.h"

#if defined(__x86_64__)

// What the kernel calls, and where that returns to.
extern void (*shelter_test_callee)(void);
void (*shelter_test_callee)(void);
extern const char kernel_begin[], kernel_stale[], kernel_return[], kernel_end[];
void kernel(const struct hdi_frame *frame);
void with_tables(void), without_tables(void), with_broken_stack(void);

__asm__(".text\n"
        "kernel_begin:\n"
        "kernel:\n"
        "  .cfi_startproc\n"
        "  pushq %rbp\n"
        "  .cfi_adjust_cfa_offset 8\n"
        "  .cfi_rel_offset %rbp, 0\n"
        "  nop\n"
        "kernel_stale:\n"
        "  call *shelter_test_callee(%rip)\n"
        "kernel_return:\n"
        "  popq %rbp\n"
        "  ret\n"
        "  .cfi_endproc\n"
        "kernel_end:\n"
        // A word of its frame looks like a return address.
        "with_tables:\n"
        "  .cfi_startproc\n"
        "  subq $72, %rsp\n"
        "  .cfi_adjust_cfa_offset 72\n"
        "  leaq kernel_stale(%rip), %rax\n"
        "  movq %rax, 16(%rsp)\n"
        "  movq %rax, 0\n"
        "  .cfi_endproc\n"
        "without_tables:\n"
        "  movq %rax, 0\n"
        // Its frame is said to be where the frame pointer says, which is wrong.
        "with_broken_stack:\n"
        "  .cfi_startproc\n"
        "  .cfi_def_cfa %rbp, 16\n"
        "  movq $4096, %rbp\n"
        "  movq %rax, 0\n"
        "  .cfi_endproc\n");

static void check_caller(void (*callee)(void))
{
    struct hdi_shelter shelter = {.stack = NULL};
    const struct hdi_code_range code = {(uintptr_t)kernel_begin,
                                        (uintptr_t)kernel_end};

    shelter_test_callee = callee;
    for (int i = 0; i < 100; i++) {
        CHECK(hdi_shelter_run(&shelter, kernel, code, NULL, NULL) ==
              HDI_TRAPPED);
        CHECK(shelter.trap.signal == SIGSEGV && shelter.trap.address == 0);
        CHECK(shelter.trap.caller == (uintptr_t)kernel_return - 1);
    }
}

int main(void)
{
    if (HOLDS_SIGNALS)
        SKIP("ThreadSanitizer holds signals back until a kernel ends");
    check_caller(with_tables);
    check_caller(without_tables);
    check_caller(with_broken_stack);
    return 0;
}
#else
int main(void)
{
    SKIP("the functions that fault are written for x86-64");
}
#endif
