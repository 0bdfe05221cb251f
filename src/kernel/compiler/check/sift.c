// What screened kernels say of their accesses: conditions that must hold
// (hdi_sift_expect), and marks for memory that has tags.
//
// Invariant: an access that is neither said nor known to be right sets
// llvm->unscreened. Then the kernel has no screen, and runs checked at once.
#include "kernel/compiler/check/probe.h"
#include "kernel/compiler/check/screen.h"

enum {
    // More of either cost speed alone: no screen, two marks instead of one.
    MAX_INDICES = 8, // of an address
    MAX_APART = 64   // a load and a store that are looked at together
};

void hdi_sift_expect(struct hdi_probe *in, LLVMValueRef condition)
{
    hdi_screen_expect(in->llvm, in->module, in->builder, condition);
}

// False: it is not known while compiling.
static bool constant_size(struct hdi_probe *in,
                          const struct hdi_checked_access *access,
                          uint64_t *size)
{
    if (!LLVMIsAConstantInt(access->size)) {
        in->llvm->unscreened = true;
        return false;
    }
    *size = LLVMConstIntGetZExtValue(access->size);
    return *size > 0;
}

// How far a pointer that was made from `base` is from it: i64 [bytes].
// Each step is computed from NULL, which gives bytes; the base's own address
// would keep its variable in memory.
static LLVMValueRef distance(struct hdi_probe *in, LLVMValueRef pointer,
                             LLVMValueRef base)
{
    LLVMValueRef indices[MAX_INDICES];
    unsigned count = (unsigned)LLVMGetNumOperands(pointer) - 1;

    if (pointer == base)
        return LLVMConstInt(in->i64, 0, false);
    LLVMValueRef from = distance(in, LLVMGetOperand(pointer, 0), base);
    if (!LLVMIsAGetElementPtrInst(pointer))
        return from;
    if (count > MAX_INDICES) {
        in->llvm->unscreened = true;
        return from;
    }
    for (unsigned i = 0; i < count; i++)
        indices[i] = LLVMGetOperand(pointer, i + 1);
    LLVMValueRef step =
        LLVMBuildGEP2(in->builder, LLVMGetGEPSourceElementType(pointer),
                      LLVMConstNull(in->pointer), indices, count, "");
    return LLVMBuildAdd(in->builder, from,
                        LLVMBuildPtrToInt(in->builder, step, in->i64, ""), "");
}

// Without a sign, so an offset below 0 fails too.
static void expect_inside(struct hdi_probe *in, LLVMValueRef offset,
                          uint64_t size, uint64_t room)
{
    uint64_t places = size <= room ? room - size + 1 : 0;
    hdi_sift_expect(in,
                    LLVMBuildICmp(in->builder, LLVMIntULT, offset,
                                  LLVMConstInt(in->i64, places, false), ""));
}

// All of the flags at `from` are set.
// Flags are 1, so 8 of them are one number to compare with.
static void expect_written(struct hdi_probe *in, LLVMValueRef from,
                           uint64_t size)
{
    const uint64_t ones = 0x0101010101010101;

    for (uint64_t at = 0, part; at < size; at += part) {
        part = 8;
        while (part > size - at)
            part /= 2;
        LLVMTypeRef type =
            LLVMIntTypeInContext(in->llvm->context, (unsigned)part * 8);
        LLVMValueRef index = LLVMConstInt(in->i64, at, false);
        LLVMValueRef flags = LLVMBuildLoad2(
            in->builder, type,
            LLVMBuildGEP2(in->builder, in->i8, from, &index, 1, ""), "");
        LLVMSetAlignment(flags, 1);
        hdi_sift_expect(in, LLVMBuildICmp(in->builder, LLVMIntEQ, flags,
                                          LLVMConstInt(type, ones, false), ""));
    }
}

void hdi_sift_private(struct hdi_probe *in, LLVMValueRef i,
                      const struct hdi_checked_access *access,
                      const struct hdi_followed *v)
{
    uint64_t size;

    if (!constant_size(in, access, &size))
        return;
    hdi_probe_before(in, i);
    LLVMValueRef offset = distance(in, access->pointer, v->variable);
    expect_inside(in, offset, size, v->size);
    LLVMValueRef flags =
        LLVMBuildGEP2(in->builder, in->i8, v->written, &offset, 1, "");
    if (access->kind & HDI_ACCESS_READ && !(access->kind & HDI_ACCESS_COPY))
        expect_written(in, flags, size);
    if (access->kind & HDI_ACCESS_WRITE)
        LLVMBuildMemSet(in->builder, flags, LLVMConstInt(in->i8, 1, false),
                        access->size, 1);
}

// Atomic accesses say none here; 8 is cut down to their size.
static unsigned alignment_of(LLVMValueRef i,
                             const struct hdi_checked_access *access)
{
    if (LLVMIsALoadInst(i) || LLVMIsAStoreInst(i))
        return LLVMGetAlignment(i);
    if (!(access->kind & HDI_ACCESS_COPY))
        return 8;
    LLVMAttributeRef align = LLVMGetCallSiteEnumAttribute(
        i, access->operand + 1, LLVMGetEnumAttributeKindForName("align", 5));
    return align ? (unsigned)LLVMGetEnumAttributeValue(align) : 1;
}

static bool is_plain(struct hdi_probe *in, LLVMValueRef i, unsigned kind,
                     LLVMValueRef pointer, uint64_t size)
{
    struct hdi_checked_access access = hdi_probe_access(in, i, 0);
    return access.kind == kind && access.pointer == pointer &&
           LLVMConstIntGetZExtValue(access.size) == size;
}

// A load and a store of one place behind it, with no barrier between, are one
// access: who has written tells all that who has read would. 0: `i` is the
// store, which the load is looked at for.
static unsigned kind_together(struct hdi_probe *in, LLVMValueRef i,
                              const struct hdi_checked_access *access,
                              uint64_t size)
{
    bool reads = access->kind == HDI_ACCESS_READ;
    unsigned other = reads ? HDI_ACCESS_WRITE : HDI_ACCESS_READ;
    LLVMValueRef at = i;

    if (!reads && access->kind != HDI_ACCESS_WRITE)
        return access->kind;
    for (unsigned n = 0; n < MAX_APART; n++) {
        at =
            reads ? LLVMGetNextInstruction(at) : LLVMGetPreviousInstruction(at);
        if (!at || hdi_call_is_barrier(hdi_call_kind(at)))
            break;
        if (is_plain(in, at, other, access->pointer, size))
            return reads ? HDI_ACCESS_READ | HDI_ACCESS_WRITE : 0;
    }
    return access->kind;
}

// An access to memory that is no private variable's.
void hdi_sift_memory(struct hdi_probe *in, LLVMValueRef i,
                     const struct hdi_checked_access *access, LLVMValueRef from)
{
    uint64_t size;

    if (LLVMIsAAllocaInst(from) || !constant_size(in, access, &size))
        return;
    bool global = LLVMIsAGlobalVariable(from) != NULL;
    bool local =
        LLVMGetPointerAddressSpace(LLVMTypeOf(from)) == HDI_SPACE_LOCAL;
    if (!LLVMIsAArgument(from) &&
        !(global && (local || LLVMIsGlobalConstant(from)))) {
        in->llvm->unscreened = true;
        return;
    }
    hdi_probe_before(in, i);
    if (global && !local) {
        LLVMValueRef offset = LLVMBuildSub(
            in->builder,
            LLVMBuildPtrToInt(in->builder, access->pointer, in->i64, ""),
            LLVMBuildPtrToInt(in->builder, from, in->i64, ""), "");
        expect_inside(
            in, offset, size,
            LLVMABISizeOfType(in->llvm->layout, LLVMGlobalGetValueType(from)));
        return;
    }
    unsigned kind = kind_together(in, i, access, size);
    if (kind == 0)
        return;
    unsigned granule = alignment_of(i, access);
    while (size % granule != 0)
        granule /= 2;
    const struct hdi_screen_access touch = {access->pointer, from, size,
                                            granule, kind};
    hdi_screen_touch(in->llvm, in->module, in->builder, &touch);
}
