// Invariant: `mine.now` is the shelter that this thread runs a kernel in, and
// its `stack` is set exactly between the note and the landing in the assembly;
// only then a handler may leave.
#include "backend/cpu/fault/shelter.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include "base/memory.h"

// MAX_WORDS bounds what a handler does on a stack it knows nothing of. RETRY is
// how late a stop may be that finds a service at work.
enum {
    SIGNAL_STACK = 64 << 10, // wide vector registers are saved there [bytes]
    MAX_WORDS = 8192,        // of a stack that are searched
    RETRY = 1000000          // to stop a kernel that is in a service [ns]
};

// A handler has nothing but its thread to start from.
static _Thread_local struct {
    struct hdi_shelter *now;
    int id;              // of the thread; 0: not prepared
    volatile bool walks; // up a stack that may be damaged
    bool has_timer;
    timer_t timer;
} mine __attribute__((tls_model("initial-exec")));

// The way in and out ----------------------------------------------------------

// Returns an hdi_outcome. hdi_shelter_landing expects the noted stack pointer
// and the outcome in the first result register.
enum hdi_outcome hdi_shelter_enter(struct hdi_shelter *shelter,
                                   void (*run)(const struct hdi_frame *),
                                   const struct hdi_frame *frame);
extern const char hdi_shelter_landing[];

_Static_assert(offsetof(struct hdi_shelter, stack) == 0, "ABI");
_Static_assert(offsetof(struct hdi_shelter, stop) == 8, "ABI");
_Static_assert(sizeof(atomic_int) == 4, "ABI");
_Static_assert(HDI_RAN == 0 && HDI_STOPPED == 1, "ABI");

#if defined(__x86_64__)
// On the stack from the bottom: mxcsr and the x87 control word, the shelter,
// a gap, the registers a callee saves.
__asm__(".text\n"
        ".p2align 4\n"
        ".hidden hdi_shelter_enter\n"
        ".globl hdi_shelter_enter\n"
        ".type hdi_shelter_enter, @function\n"
        "hdi_shelter_enter:\n"
        "  .cfi_startproc\n"
        "  pushq %rbp\n"
        "  .cfi_adjust_cfa_offset 8\n"
        "  .cfi_rel_offset %rbp, 0\n"
        "  movq %rsp, %rbp\n"
        "  .cfi_def_cfa_register %rbp\n"
        "  pushq %rbx\n"
        "  pushq %r12\n"
        "  pushq %r13\n"
        "  pushq %r14\n"
        "  pushq %r15\n"
        "  subq $24, %rsp\n"
        "  stmxcsr (%rsp)\n"
        "  fnstcw 4(%rsp)\n"
        "  movq %rdi, 8(%rsp)\n"
        "  movq 8(%rdi), %rax\n"
        "  movq %rsp, (%rdi)\n" // from here on it may be left
        "  movl (%rax), %eax\n"
        "  testl %eax, %eax\n"
        "  movl $1, %eax\n"
        "  jne 1f\n"
        "  movq %rdx, %rdi\n"
        "  call *%rsi\n"
        "  xorl %eax, %eax\n"
        "1:\n"
        ".hidden hdi_shelter_landing\n"
        ".globl hdi_shelter_landing\n"
        "hdi_shelter_landing:\n"
        "  movq 8(%rsp), %rdi\n"
        "  movq $0, (%rdi)\n"
        "  cld\n"
        "  ldmxcsr (%rsp)\n"
        "  fldcw 4(%rsp)\n"
        "  addq $24, %rsp\n"
        "  popq %r15\n"
        "  popq %r14\n"
        "  popq %r13\n"
        "  popq %r12\n"
        "  popq %rbx\n"
        "  popq %rbp\n"
        "  .cfi_def_cfa %rsp, 8\n"
        "  ret\n"
        "  .cfi_endproc\n"
        ".size hdi_shelter_enter, . - hdi_shelter_enter\n");

// A kernel that was left may have had the upper halves of vector registers in
// use, which makes the code without AVX that follows slow.
static void clean_registers(void)
{
    if (__builtin_cpu_supports("avx"))
        __asm__ volatile("vzeroupper" ::: "memory");
}

static void jump(ucontext_t *context, void *stack, enum hdi_outcome outcome)
{
    greg_t *registers = context->uc_mcontext.gregs;
    registers[REG_RSP] = (greg_t)(uintptr_t)stack;
    registers[REG_RIP] = (greg_t)(uintptr_t)hdi_shelter_landing;
    registers[REG_RAX] = (greg_t)outcome;
}

static void note_registers(struct hdi_trap *trap, const ucontext_t *context)
{
    enum {
        PAGE_FAULT = 14, // the only trap that tells address and direction
        WRITE = 2
    };
    const greg_t *registers = context->uc_mcontext.gregs;

    trap->pc = (uintptr_t)registers[REG_RIP];
    trap->has_access = registers[REG_TRAPNO] == PAGE_FAULT;
    trap->has_address = trap->has_access;
    trap->is_write = registers[REG_ERR] & WRITE;
    trap->stack = (uintptr_t)registers[REG_RSP];
}

#elif defined(__aarch64__)
__asm__(".text\n"
        ".p2align 4\n"
        ".hidden hdi_shelter_enter\n"
        ".globl hdi_shelter_enter\n"
        ".type hdi_shelter_enter, %function\n"
        "hdi_shelter_enter:\n"
        "  .cfi_startproc\n"
        "  stp x29, x30, [sp, #-192]!\n"
        "  .cfi_def_cfa_offset 192\n"
        "  .cfi_offset 29, -192\n"
        "  .cfi_offset 30, -184\n"
        "  mov x29, sp\n"
        "  stp x19, x20, [sp, #16]\n"
        "  stp x21, x22, [sp, #32]\n"
        "  stp x23, x24, [sp, #48]\n"
        "  stp x25, x26, [sp, #64]\n"
        "  stp x27, x28, [sp, #80]\n"
        "  stp d8, d9, [sp, #96]\n"
        "  stp d10, d11, [sp, #112]\n"
        "  stp d12, d13, [sp, #128]\n"
        "  stp d14, d15, [sp, #144]\n"
        "  mrs x9, fpcr\n"
        "  stp x0, x9, [sp, #160]\n"
        "  ldr x9, [x0, #8]\n"
        "  mov x10, sp\n"
        "  str x10, [x0]\n" // from here on it may be left
        "  ldr w9, [x9]\n"
        "  mov w10, #1\n"
        "  cbnz w9, 1f\n"
        "  mov x0, x2\n"
        "  blr x1\n"
        "  mov w10, #0\n"
        "1:\n"
        "  mov w0, w10\n"
        ".hidden hdi_shelter_landing\n"
        ".globl hdi_shelter_landing\n"
        "hdi_shelter_landing:\n"
        "  ldp x9, x10, [sp, #160]\n"
        "  str xzr, [x9]\n"
        "  msr fpcr, x10\n"
        "  ldp d14, d15, [sp, #144]\n"
        "  ldp d12, d13, [sp, #128]\n"
        "  ldp d10, d11, [sp, #112]\n"
        "  ldp d8, d9, [sp, #96]\n"
        "  ldp x27, x28, [sp, #80]\n"
        "  ldp x25, x26, [sp, #64]\n"
        "  ldp x23, x24, [sp, #48]\n"
        "  ldp x21, x22, [sp, #32]\n"
        "  ldp x19, x20, [sp, #16]\n"
        "  ldp x29, x30, [sp], #192\n"
        "  .cfi_def_cfa_offset 0\n"
        "  .cfi_restore 29\n"
        "  .cfi_restore 30\n"
        "  ret\n"
        "  .cfi_endproc\n"
        ".size hdi_shelter_enter, . - hdi_shelter_enter\n");

static void clean_registers(void)
{
}

static void jump(ucontext_t *context, void *stack, enum hdi_outcome outcome)
{
    context->uc_mcontext.sp = (uintptr_t)stack;
    context->uc_mcontext.pc = (uintptr_t)hdi_shelter_landing;
    context->uc_mcontext.regs[0] = (uint64_t)outcome;
}

static void note_registers(struct hdi_trap *trap, const ucontext_t *context)
{
    trap->pc = context->uc_mcontext.pc;
    trap->has_address = trap->signal == SIGSEGV || trap->signal == SIGBUS;
    trap->stack = context->uc_mcontext.sp;
}
#endif

// Threads ---------------------------------------------------------------------

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key; // frees what a thread has

static void free_stack(void *stack)
{
    stack_t none = {.ss_flags = SS_DISABLE};
    sigaltstack(&none, NULL);
    hdi_unmap(stack, SIGNAL_STACK);
}

// `data` is the signal stack, or something else that is not NULL.
// The value of the key is not NULL, or it would not be called.
static void leave_thread(void *data)
{
    if (mine.has_timer)
        timer_delete(mine.timer);
    mine.has_timer = false;
    if (data != &mine)
        free_stack(data);
}

// In a child of fork() the thread has another number, and its timer is not.
static void forget_thread(void)
{
    mine.id = 0;
    mine.has_timer = false;
}

static _Unwind_Reason_Code look_away(struct _Unwind_Context *frame, void *data)
{
    (void)frame, (void)data;
    return _URC_NORMAL_STOP;
}

static void start(void)
{
    hdi_signals_take();
    // The first walk binds names and sets up tables, which no handler should.
    _Unwind_Backtrace(look_away, NULL);
    pthread_key_create(&key, leave_thread);
    pthread_atfork(NULL, NULL, forget_thread);
}

// The alternate stack, unless the application gave the thread one. Returns ours
// or NULL.
static void *make_stack(void)
{
    stack_t had;

    if (sigaltstack(NULL, &had) == 0 && !(had.ss_flags & SS_DISABLE))
        return NULL;
    stack_t stack = {.ss_sp = hdi_map(SIGNAL_STACK), .ss_size = SIGNAL_STACK};
    if (stack.ss_sp && sigaltstack(&stack, NULL) != 0) {
        hdi_unmap(stack.ss_sp, SIGNAL_STACK);
        return NULL;
    }
    return stack.ss_sp;
}

// The signals are let through on this thread: one that is blocked while it is
// raised by the processor ends the process.
static void prepare_thread(void)
{
    sigset_t set;

    pthread_once(&once, start);
    mine.id = (int)syscall(SYS_gettid);
    sigemptyset(&set);
    sigaddset(&set, SIGSEGV);
    sigaddset(&set, SIGBUS);
    sigaddset(&set, SIGFPE);
    sigaddset(&set, SIGILL);
    sigaddset(&set, hdi_signals_stop());
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);

    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID,
                             .sigev_signo = hdi_signals_stop()};
    event._sigev_un._tid = mine.id;
    mine.has_timer = timer_create(CLOCK_MONOTONIC, &event, &mine.timer) == 0;
    void *stack = make_stack();
    if (stack || !pthread_getspecific(key))
        pthread_setspecific(key, stack ? stack : (void *)&mine);
}

enum hdi_outcome hdi_shelter_run(struct hdi_shelter *shelter,
                                 void (*run)(const struct hdi_frame *frame),
                                 struct hdi_code_range code,
                                 const struct hdi_frame *frame,
                                 const atomic_int *stop_word)
{
    static const atomic_int never;

    if (mine.id == 0)
        prepare_thread();
    shelter->stop = stop_word ? stop_word : &never;
    shelter->code = code;
    mine.now = shelter;
    // Whoever sets `stop` and looks for a thread then: either it sees this one
    // or the assembly sees the stop. Who was noted long ago is always seen, and
    // the signal finds it in the assembly or comes before its look at `stop`.
    if (atomic_load_explicit(&shelter->thread, memory_order_relaxed) !=
        mine.id) {
        atomic_store_explicit(&shelter->timer, mine.timer,
                              memory_order_relaxed);
        atomic_store_explicit(&shelter->has_timer, mine.has_timer,
                              memory_order_relaxed);
        atomic_store_explicit(&shelter->thread, mine.id, memory_order_release);
        atomic_thread_fence(memory_order_seq_cst);
    }
    enum hdi_outcome outcome = hdi_shelter_enter(shelter, run, frame);
    if (!shelter->resident)
        atomic_store_explicit(&shelter->thread, 0, memory_order_relaxed);
    mine.now = NULL;
    if (outcome != HDI_RAN)
        clean_registers();
    return outcome;
}

void hdi_shelter_interrupt(struct hdi_shelter *shelter)
{
    const struct itimerspec now = {.it_value = {.tv_nsec = 1}};
    int thread = atomic_load(&shelter->thread);

    // The system refuses when too many signals of the user's wait already
    // (RLIMIT_SIGPENDING). A timer has had room for its own from the start.
    if (thread != 0 &&
        syscall(SYS_tgkill, getpid(), thread, hdi_signals_stop()) != 0 &&
        atomic_load(&shelter->has_timer))
        timer_settime(atomic_load(&shelter->timer), 0, &now, NULL);
}

// Leaving ---------------------------------------------------------------------

static bool is_in_kernel(const struct hdi_shelter *s, uintptr_t pc)
{
    return pc >= s->code.begin && pc < s->code.end;
}

static bool is_in_assembly(uintptr_t pc)
{
    return pc >= (uintptr_t)hdi_shelter_enter &&
           pc < (uintptr_t)hdi_shelter_landing;
}

// Whether the thread is where it may be left at any moment: in the kernel, or
// in the assembly on its way.
static bool is_in_code(const struct hdi_shelter *s, uintptr_t pc)
{
    return is_in_kernel(s, pc) || is_in_assembly(pc);
}

// A walk up the frames of a function that the kernel called, such as one of the
// C library.
struct walk {
    const struct hdi_shelter *shelter;
    uintptr_t found; // 0: nothing yet
};

static _Unwind_Reason_Code look_at(struct _Unwind_Context *frame, void *data)
{
    struct walk *walk = data;
    int interrupted = 0; // by a signal: `pc` is no return address
    uintptr_t pc = _Unwind_GetIPInfo(frame, &interrupted);

    if (!interrupted)
        pc--;
    if (is_in_kernel(walk->shelter, pc))
        walk->found = pc;
    return walk->found || is_in_assembly(pc) ? _URC_NORMAL_STOP
                                             : _URC_NO_REASON;
}

// For a function without unwind tables, or with a broken stack: what looks like
// a return address and is nearest on the worker's own stack. 0: not found.
static uintptr_t scan(const struct hdi_shelter *s, uintptr_t stack)
{
    const uintptr_t *word = (const uintptr_t *)(stack & -sizeof(uintptr_t)),
                    *end = s->stack;

    if (word > end || end - word > MAX_WORDS)
        return 0;
    while (word < end && !is_in_kernel(s, *word - 1))
        word++;
    return word < end ? *word - 1 : 0;
}

// Where in the kernel the function will return to that has faulted, on whatever
// stack. What the walk needs may be overwritten: a fault of its own ends it,
// and finds what the scan has found.
static void find_caller(struct hdi_shelter *s)
{
    struct walk walk = {.shelter = s};

    s->trap.caller = scan(s, s->trap.stack);
    mine.walks = true;
    _Unwind_Backtrace(look_at, &walk);
    mine.walks = false;
    if (walk.found)
        s->trap.caller = walk.found;
}

// Kernels are left in their own code alone: a service may hold a lock. The
// timer comes again until it finds the kernel.
static void stop(struct hdi_shelter *s, ucontext_t *context)
{
    const struct itimerspec later = {.it_value = {.tv_nsec = RETRY}};
    struct hdi_trap where;

    note_registers(&where, context);
    if (is_in_code(s, where.pc))
        jump(context, s->stack, HDI_STOPPED);
    else if (mine.has_timer)
        timer_settime(mine.timer, 0, &later, NULL);
}

bool hdi_shelter_leave(int signal, const void *info, void *context)
{
    const siginfo_t *i = info;
    struct hdi_shelter *s = mine.now && mine.now->stack ? mine.now : NULL;

    if (signal == hdi_signals_stop()) {
        if ((i->si_code != SI_TKILL || i->si_pid != getpid()) &&
            i->si_code != SI_TIMER)
            return false;
        if (s && atomic_load(s->stop) != 0)
            stop(s, context);
        return true;
    }
    // Only what the processor raised, not kill().
    if (!s || i->si_code <= 0)
        return false;
    if (!mine.walks) {
        s->trap = (struct hdi_trap){.signal = signal, .code = i->si_code};
        s->trap.address = (uintptr_t)i->si_addr;
        note_registers(&s->trap, context);
        s->trap.caller = s->trap.pc;
        if (!is_in_code(s, s->trap.pc))
            find_caller(s);
    }
    mine.walks = false;
    jump(context, s->stack, HDI_TRAPPED);
    return true;
}
