#include "kernel/compiler/prepare/calls.h"

#include <string.h>

#include "base/error.h"
#include "kernel/compiler/ir/map.h"

enum {
    // A function is kept when it has more than a budget's share of
    // instructions: then the call, and its lanes one by one, are nothing
    // beside what it does.
    SHARE = 64,
    // A kernel that is so many times as long as its functions together, and has
    // more than a budget's part, is long through calls in calls alone: of code
    // that differs so much would be written.
    REPEATED = 32,
    PART = 16,
    // So many budgets of instructions are refused; they took a minute and
    // gigabytes.
    REFUSED = 200,
    // The most arguments of a call that is kept: lanes have room for as many.
    MAX_ARGS = 12,
    // The most memory of its own for a function that is kept, with those it
    // calls [bytes]: it is on the stack of the thread that runs the kernel.
    OWN_MEMORY = 64 << 10
};

struct calls {
    const struct hdi_llvm *llvm;
    LLVMValueRef kernel;
    bool keeping;
    unsigned kept;
    uint64_t written;       // instructions of all functions, each once
    struct hdi_map lengths; // of functions, with what becomes part of them
    struct hdi_map bytes;   // of their variables, with those of what they call
    struct hdi_map shared;  // functions that touch what is not theirs
};

// Own memory ------------------------------------------------------------------

static bool is_private(LLVMTypeRef type)
{
    return LLVMGetTypeKind(type) == LLVMPointerTypeKind &&
           LLVMGetPointerAddressSpace(type) == 0;
}

static bool is_number(LLVMTypeRef type)
{
    switch (LLVMGetTypeKind(type)) {
    case LLVMIntegerTypeKind:
        return LLVMGetIntTypeWidth(type) <= 64;
    case LLVMHalfTypeKind:
    case LLVMFloatTypeKind:
    case LLVMDoubleTypeKind:
        return true;
    default:
        return false;
    }
}

static bool is_own_load(LLVMValueRef load)
{
    LLVMTypeRef type = LLVMTypeOf(LLVMGetOperand(load, 0));

    return !LLVMGetVolatile(load) &&
           LLVMGetOrdering(load) == LLVMAtomicOrderingNotAtomic &&
           (is_private(type) ||
            LLVMGetPointerAddressSpace(type) == HDI_SPACE_CONSTANT);
}

static bool is_own_store(LLVMValueRef store)
{
    return !LLVMGetVolatile(store) &&
           LLVMGetOrdering(store) == LLVMAtomicOrderingNotAtomic &&
           is_private(LLVMTypeOf(LLVMGetOperand(store, 1)));
}

static bool is_own_call(const struct calls *c, LLVMValueRef call)
{
    LLVMValueRef callee = LLVMGetCalledValue(call);

    if (!LLVMIsAFunction(callee))
        return false;
    if (LLVMGetIntrinsicID(callee) == 0)
        return !LLVMIsDeclaration(callee) && !hdi_map_get(&c->shared, callee);
    for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++) {
        LLVMTypeRef type = LLVMTypeOf(LLVMGetOperand(call, i));
        if (LLVMGetTypeKind(type) == LLVMPointerTypeKind && !is_private(type))
            return false;
    }
    return true;
}

// Does it stay within private memory? Pointers to that come from nothing else.
static bool is_own(const struct calls *c, LLVMValueRef x)
{
    switch (LLVMGetInstructionOpcode(x)) {
    case LLVMLoad:
        return is_own_load(x);
    case LLVMStore:
        return is_own_store(x);
    case LLVMCall:
        return is_own_call(c, x);
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
    case LLVMFence:
    case LLVMIntToPtr:
    case LLVMAddrSpaceCast:
        return false;
    default:
        return true;
    }
}

static bool has_numbers(LLVMValueRef function)
{
    LLVMTypeRef type = LLVMGlobalGetValueType(function);

    if (!is_number(LLVMGetReturnType(type)) ||
        LLVMCountParams(function) > MAX_ARGS)
        return false;
    for (unsigned i = 0; i < LLVMCountParams(function); i++)
        if (!is_number(LLVMTypeOf(LLVMGetParam(function, i))))
            return false;
    return true;
}

// Lengths ---------------------------------------------------------------------

// The most that is told apart, so that no sum wraps and none is "unknown".
#define ENDLESS (UINT64_MAX / 4)

static uint64_t sum(uint64_t a, uint64_t b)
{
    return a + b > ENDLESS ? ENDLESS : a + b;
}

static bool has_body(LLVMValueRef function)
{
    return function && LLVMIsAFunction(function) &&
           !LLVMIsDeclaration(function);
}

static bool is_inlined(LLVMValueRef function)
{
    static const char name[] = "alwaysinline";
    unsigned kind = LLVMGetEnumAttributeKindForName(name, sizeof(name) - 1);

    return LLVMGetEnumAttributeAtIndex(function, LLVMAttributeFunctionIndex,
                                       kind);
}

static void keep(struct calls *c, LLVMValueRef function)
{
    hdi_function_flag(function, "alwaysinline", false);
    hdi_function_flag(function, "noinline", true);
    c->kept++;
}

static uint64_t length_of(struct calls *c, LLVMValueRef function);

struct size {
    uint64_t length, bytes;
    uint64_t below; // bytes of the functions that are called, the most of all
};

// Add what an instruction adds to its function.
static void add(struct calls *c, LLVMValueRef x, struct size *size)
{
    LLVMValueRef callee = LLVMIsACallInst(x) ? LLVMGetCalledValue(x) : NULL;
    uint64_t length = has_body(callee) ? length_of(c, callee) : 1, bytes = 0;

    if (has_body(callee))
        bytes = hdi_map_index(&c->bytes, callee);
    else if (LLVMIsAAllocaInst(x))
        bytes = LLVMABISizeOfType(c->llvm->layout, LLVMGetAllocatedType(x));
    size->length = sum(size->length, length);
    if (!has_body(callee) || is_inlined(callee))
        size->bytes = sum(size->bytes, bytes);
    else if (bytes > size->below)
        size->below = bytes;
}

// Instructions of a function with those that become part of it: there is no
// recursion.
static uint64_t length_of(struct calls *c, LLVMValueRef function)
{
    size_t known = hdi_map_index(&c->lengths, function);
    struct size size = {0};
    bool own = true;

    if (known != SIZE_MAX)
        return known;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
             i = LLVMGetNextInstruction(i)) {
            c->written++;
            add(c, i, &size);
            own = own && is_own(c, i);
        }
    if (!own)
        hdi_map_set(&c->shared, function, function);
    size.bytes = sum(size.bytes, size.below);
    hdi_map_set_index(&c->bytes, function, size.bytes);
    if (c->keeping && own && size.length > c->llvm->budget / SHARE &&
        size.bytes <= OWN_MEMORY && has_numbers(function))
        keep(c, function);
    if (function != c->kernel && !is_inlined(function))
        size.length = 1;
    hdi_map_set_index(&c->lengths, function, size.length);
    return size.length;
}

static hd_status end(struct calls *c, struct hd_error *error)
{
    bool failed = c->lengths.failed || c->bytes.failed || c->shared.failed;

    hdi_map_clear(&c->lengths);
    hdi_map_clear(&c->bytes);
    hdi_map_clear(&c->shared);
    return failed ? hdi_fail(error, HD_ENOMEM, "%s: no memory to compile",
                             c->llvm->path)
                  : HD_OK;
}

hd_status hdi_calls_keep(struct hdi_llvm *llvm, LLVMValueRef kernel,
                         struct hdi_text *explanation, struct hd_error *error)
{
    struct calls all = {.llvm = llvm, .kernel = kernel};
    struct calls some = {.llvm = llvm, .kernel = kernel, .keeping = true};
    uint64_t length = length_of(&all, kernel);

    HDI_TRY(end(&all, error));
    bool repeated =
        length > llvm->budget / PART && length / REPEATED > all.written;
    if (length <= llvm->budget && !repeated)
        return HD_OK;
    uint64_t left = length_of(&some, kernel);
    if (some.kept > 0 && explanation)
        hdi_text_print(explanation,
                       "functions that stay functions: %u; inlined, %llu "
                       "instructions would be %llu, of a budget of %llu\n",
                       some.kept, (unsigned long long)left,
                       (unsigned long long)length,
                       (unsigned long long)llvm->budget);
    return end(&some, error);
}

hd_status hdi_calls_limit(struct hdi_llvm *llvm, LLVMValueRef kernel,
                          bool checked, const struct hdi_build_kernel *about,
                          struct hd_error *error)
{
    struct calls all = {.llvm = llvm, .kernel = kernel};
    uint64_t length = length_of(&all, kernel);

    HDI_TRY(end(&all, error));
    if (length / REFUSED <= llvm->budget)
        return HD_OK;
    return hdi_fail(
        error, HD_EBUILD,
        "%s:%u: kernel '%s' would have %llu instructions with the functions it "
        "calls in it, more than %d times the budget of %llu: %s, or raise "
        "-heddle-budget",
        about->file, about->line, about->name, (unsigned long long)length,
        REFUSED, (unsigned long long)llvm->budget,
        checked ? "checks need all of them in it, so let functions call fewer"
                : "let functions that many others call take and give numbers "
                  "only");
}
