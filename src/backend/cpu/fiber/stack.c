#include "backend/cpu/fiber/stack.h"

#include <stdint.h>
#include <string.h>

#ifdef HDI_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef HDI_TSAN
#include <sanitizer/tsan_interface.h>
#endif

// The assembly: hdi_stack_jump(&from, to) saves the registers below the stack
// pointer, stores that in `from` and takes all from `to`. A new stack begins in
// hdi_stack_begin with the function and its argument in two of the registers.
void hdi_stack_jump(void **from, void *to);
extern const char hdi_stack_begin[];

#if defined(__x86_64__)

enum {
    SAVED_WORDS = 8, // modes, r15, r14, r13, r12, rbx, rbp, address
    AT_MODES = 0,
    AT_DATA = 4, // r12
    AT_RUN = 5,  // rbx
    AT_ADDRESS = 7
};

__asm__(".text\n"
        ".p2align 4\n"
        ".globl hdi_stack_jump\n"
        ".hidden hdi_stack_jump\n"
        ".type hdi_stack_jump, @function\n"
        "hdi_stack_jump:\n"
        ".cfi_startproc\n"
        "    pushq %rbp\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    .cfi_rel_offset rbp, 0\n"
        "    pushq %rbx\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    .cfi_rel_offset rbx, 0\n"
        "    pushq %r12\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    .cfi_rel_offset r12, 0\n"
        "    pushq %r13\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    .cfi_rel_offset r13, 0\n"
        "    pushq %r14\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    .cfi_rel_offset r14, 0\n"
        "    pushq %r15\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    .cfi_rel_offset r15, 0\n"
        "    subq $8, %rsp\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    stmxcsr (%rsp)\n"
        "    fnstcw 4(%rsp)\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    ldmxcsr (%rsp)\n"
        "    fldcw 4(%rsp)\n"
        "    addq $8, %rsp\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    popq %r15\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    popq %r14\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    popq %r13\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    popq %r12\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    popq %rbx\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    popq %rbp\n"
        "    .cfi_adjust_cfa_offset -8\n"
        // A return would be predicted to go where we came from.
        "    popq %rcx\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    .cfi_register rip, rcx\n"
        "    jmpq *%rcx\n"
        ".cfi_endproc\n"
        ".size hdi_stack_jump, . - hdi_stack_jump\n"
        ".p2align 4\n"
        ".globl hdi_stack_begin\n"
        ".hidden hdi_stack_begin\n"
        ".type hdi_stack_begin, @function\n"
        "hdi_stack_begin:\n"
        ".cfi_startproc\n"
        "    .cfi_undefined rip\n"
        "    movq %r12, %rdi\n"
        "    callq *%rbx\n"
        "    ud2\n"
        ".cfi_endproc\n"
        ".size hdi_stack_begin, . - hdi_stack_begin\n");

static uint64_t modes(void)
{
    uint32_t mxcsr;
    uint16_t control;

    __asm__("stmxcsr %0" : "=m"(mxcsr));
    __asm__("fnstcw %0" : "=m"(control));
    return mxcsr | (uint64_t)control << 32;
}

#elif defined(__aarch64__)

enum {
    SAVED_WORDS = 22, // x19 to x30, d8 to d15, modes, nothing
    AT_RUN = 0,       // x19
    AT_DATA = 1,      // x20
    AT_ADDRESS = 11,  // x30
    AT_MODES = 20
};

__asm__(".text\n"
        ".p2align 4\n"
        ".globl hdi_stack_jump\n"
        ".hidden hdi_stack_jump\n"
        ".type hdi_stack_jump, %function\n"
        "hdi_stack_jump:\n"
        ".cfi_startproc\n"
        "    sub sp, sp, #176\n"
        "    .cfi_adjust_cfa_offset 176\n"
        "    stp x19, x20, [sp, #0]\n"
        "    stp x21, x22, [sp, #16]\n"
        "    stp x23, x24, [sp, #32]\n"
        "    stp x25, x26, [sp, #48]\n"
        "    stp x27, x28, [sp, #64]\n"
        "    stp x29, x30, [sp, #80]\n"
        "    .cfi_rel_offset x29, 80\n"
        "    .cfi_rel_offset x30, 88\n"
        "    stp d8, d9, [sp, #96]\n"
        "    stp d10, d11, [sp, #112]\n"
        "    stp d12, d13, [sp, #128]\n"
        "    stp d14, d15, [sp, #144]\n"
        "    mrs x9, fpcr\n"
        "    str x9, [sp, #160]\n"
        "    mov x9, sp\n"
        "    str x9, [x0]\n"
        "    mov sp, x1\n"
        "    ldr x9, [sp, #160]\n"
        "    msr fpcr, x9\n"
        "    ldp d14, d15, [sp, #144]\n"
        "    ldp d12, d13, [sp, #128]\n"
        "    ldp d10, d11, [sp, #112]\n"
        "    ldp d8, d9, [sp, #96]\n"
        "    ldp x29, x30, [sp, #80]\n"
        "    ldp x27, x28, [sp, #64]\n"
        "    ldp x25, x26, [sp, #48]\n"
        "    ldp x23, x24, [sp, #32]\n"
        "    ldp x21, x22, [sp, #16]\n"
        "    ldp x19, x20, [sp, #0]\n"
        "    add sp, sp, #176\n"
        "    .cfi_adjust_cfa_offset -176\n"
        "    .cfi_restore x29\n"
        "    .cfi_restore x30\n"
        "    br x30\n"
        ".cfi_endproc\n"
        ".size hdi_stack_jump, . - hdi_stack_jump\n"
        ".p2align 4\n"
        ".globl hdi_stack_begin\n"
        ".hidden hdi_stack_begin\n"
        ".type hdi_stack_begin, %function\n"
        "hdi_stack_begin:\n"
        ".cfi_startproc\n"
        "    .cfi_undefined x30\n"
        "    mov x0, x20\n"
        "    blr x19\n"
        "    brk #0\n"
        ".cfi_endproc\n"
        ".size hdi_stack_begin, . - hdi_stack_begin\n");

static uint64_t modes(void)
{
    uint64_t fpcr;

    __asm__ __volatile__("mrs %0, fpcr" : "=r"(fpcr));
    return fpcr;
}

#else
#error "stacks are switched on x86-64 and AArch64 only"
#endif

// Looks like a stack that was switched away from: the first switch "returns" to
// hdi_stack_begin with the function and its data in registers that a callee
// keeps. The modes are those of whoever makes it.
void hdi_stack_make(struct hdi_fiber_stack *stack, void *low, size_t size,
                    void (*run)(void *data), void *data)
{
    uint64_t *saved = (uint64_t *)((char *)low + size) - SAVED_WORDS;

    memset(saved, 0, SAVED_WORDS * sizeof(*saved));
    saved[AT_MODES] = modes();
    saved[AT_RUN] = (uintptr_t)run;
    saved[AT_DATA] = (uintptr_t)data;
    saved[AT_ADDRESS] = (uintptr_t)hdi_stack_begin;
    *stack =
        (struct hdi_fiber_stack){.pointer = saved, .low = low, .size = size};
#ifdef HDI_TSAN
    stack->fiber = __tsan_create_fiber(0);
#endif
}

#ifdef HDI_ASAN
// A stack that was left for good: take on what AddressSanitizer has put beside
// it, which it then gives back.
__attribute__((no_sanitize("address"))) static void drop_fake(
    struct hdi_fiber_stack *stack)
{
    const void *low;
    void *mine;
    size_t size;

    __sanitizer_start_switch_fiber(&mine, stack->low, stack->size);
    __sanitizer_finish_switch_fiber(stack->fake, &low, &size);
    __sanitizer_start_switch_fiber(NULL, low, size);
    __sanitizer_finish_switch_fiber(mine, NULL, NULL);
}
#endif

void hdi_stack_free(struct hdi_fiber_stack *stack)
{
#ifdef HDI_ASAN
    if (stack->fake)
        drop_fake(stack);
#endif
#ifdef HDI_TSAN
    if (stack->fiber)
        __tsan_destroy_fiber(stack->fiber);
#endif
    *stack = (struct hdi_fiber_stack){0};
}

void hdi_stack_adopt(struct hdi_fiber_stack *stack)
{
#ifdef HDI_TSAN
    stack->fiber = __tsan_get_current_fiber();
#else
    (void)stack;
#endif
}

void hdi_stack_arrived(struct hdi_fiber_stack *stack)
{
#ifdef HDI_ASAN
    __sanitizer_finish_switch_fiber(stack->fake, &stack->previous->low,
                                    &stack->previous->size);
    stack->fake = NULL;
#else
    (void)stack;
#endif
}

// The sanitizers are told before the jump, while the old stack still stands,
// and of the arrival after it.
void hdi_stack_switch(struct hdi_fiber_stack *from, struct hdi_fiber_stack *to)
{
    to->previous = from;
#ifdef HDI_ASAN
    __sanitizer_start_switch_fiber(&from->fake, to->low, to->size);
#endif
#ifdef HDI_TSAN
    __tsan_switch_to_fiber(to->fiber, 0);
#endif
    hdi_stack_jump(&from->pointer, to->pointer);
    hdi_stack_arrived(from);
}

// The handler moved the stack pointer by itself, so nobody told the sanitizers
// that another stack is left.
void hdi_stack_returned(struct hdi_fiber_stack *stack)
{
#ifdef HDI_ASAN
    __sanitizer_start_switch_fiber(NULL, stack->low, stack->size);
    __sanitizer_finish_switch_fiber(stack->fake, NULL, NULL);
    stack->fake = NULL;
#endif
#ifdef HDI_TSAN
    __tsan_switch_to_fiber(stack->fiber, 0);
#endif
    (void)stack;
}
