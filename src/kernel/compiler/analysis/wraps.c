// An index that wraps is a mask or a short number of what grows with a counter:
//
//     head:   k = phi [0, before], [k + 1, latch]       step 1
//             m = 3 * k                                 grows by 3
//             w = m & 63                                wraps
//             t[w]                                      goes through memory
//             ...
//     latch:  branch to head                            gets the mark
//
// From each such value its counters are looked for, upwards, and an address,
// downwards.
#include "kernel/compiler/analysis/wraps.h"

#include <llvm-c/DebugInfo.h>
#include <string.h>

#include "base/error.h"
#include "kernel/compiler/ir/note.h"

enum {
    MAX_VALUES = 64, // that are looked at for one question
    MAX_COUNTERS = 8,
    MAX_ENDS = 8,
    MAX_BITS = 32, // of an index that a loop comes to the end of
    // What one of so many bits grows by, to come there within some thousand
    // turns: lines of memory are nearer.
    FAR = 1 << 20,
    MAX_PROPERTIES = 16
};

// What a value grows by in a turn of a counter's loop.
struct growth {
    uint64_t by;
    bool unknown; // by any number
};

// Of how many values more it is asked for: any number, of those beyond.
struct question {
    LLVMValueRef counter;
    unsigned left;
};

// Counters ----------------------------------------------------------------

static LLVMValueRef without_casts(LLVMValueRef x)
{
    while (LLVMIsAZExtInst(x) || LLVMIsASExtInst(x) || LLVMIsATruncInst(x) ||
           (LLVMIsAInstruction(x) && LLVMGetInstructionOpcode(x) == LLVMAnd))
        x = LLVMGetOperand(x, 0);
    return x;
}

// Whether `next` is the counter after a turn; then what it has grown by.
static bool is_counted(LLVMValueRef counter, LLVMValueRef next,
                       struct growth *growth)
{
    next = without_casts(next);
    if (!LLVMIsABinaryOperator(next))
        return false;
    LLVMOpcode code = LLVMGetInstructionOpcode(next);
    unsigned first = without_casts(LLVMGetOperand(next, 0)) != counter;
    if ((code != LLVMAdd && (code != LLVMSub || first)) ||
        without_casts(LLVMGetOperand(next, first)) != counter)
        return false;
    LLVMValueRef by = LLVMGetOperand(next, !first);
    *growth = (struct growth){.unknown = !LLVMIsAConstantInt(by)};
    if (!growth->unknown)
        growth->by = (uint64_t)LLVMConstIntGetSExtValue(by);
    if (code == LLVMSub)
        growth->by = -growth->by;
    return true;
}

// Ends of the loop from which a counter comes back, on one of two ways: from
// the block where it has grown, or through one where it meets what it was.
struct ends {
    LLVMBasicBlockRef blocks[MAX_ENDS];
    unsigned count;
    struct growth step;
};

static bool find_ends(LLVMValueRef counter, LLVMValueRef phi, struct ends *ends)
{
    bool found = false;

    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
        LLVMValueRef next = LLVMGetIncomingValue(phi, i);
        bool counted = is_counted(counter, next, &ends->step) ||
                       (phi == counter && next != phi && LLVMIsAPHINode(next) &&
                        find_ends(counter, next, ends));
        if (counted && ends->count < MAX_ENDS)
            ends->blocks[ends->count++] = LLVMGetIncomingBlock(phi, i);
        found |= counted;
    }
    return found;
}

// None: it is no counter.
static struct ends ends_of(LLVMValueRef phi)
{
    struct ends ends = {.count = 0};

    find_ends(phi, phi, &ends);
    return ends;
}

struct counters {
    LLVMValueRef phis[MAX_COUNTERS];
    unsigned count, left;
};

// Those that the value is computed from.
static void find_counters(struct counters *c, LLVMValueRef value)
{
    if (!LLVMIsAInstruction(value) || c->left == 0)
        return;
    c->left--;
    if (LLVMIsAPHINode(value)) {
        for (unsigned i = 0; i < c->count; i++)
            if (c->phis[i] == value)
                return;
        if (c->count < MAX_COUNTERS && ends_of(value).count > 0)
            c->phis[c->count++] = value;
        return;
    }
    if (LLVMIsABinaryOperator(value) || LLVMIsACastInst(value))
        for (unsigned o = 0; o < (unsigned)LLVMGetNumOperands(value); o++)
            find_counters(c, LLVMGetOperand(value, o));
}

// Growth ------------------------------------------------------------------

static struct growth growth_of(struct question *q, LLVMValueRef value);

static bool is_none(struct growth growth)
{
    return growth.by == 0 && !growth.unknown;
}

static struct growth product(LLVMValueRef value, struct growth a,
                             struct growth b)
{
    LLVMValueRef by = LLVMGetOperand(value, 1);

    if (is_none(a) && is_none(b))
        return a;
    if (!LLVMIsAConstantInt(by))
        return (struct growth){.unknown = true};
    a.by *= (uint64_t)LLVMConstIntGetSExtValue(by);
    return a;
}

static struct growth shifted(LLVMValueRef value, struct growth g)
{
    LLVMValueRef by = LLVMGetOperand(value, 1);

    if (is_none(g))
        return g;
    if (!LLVMIsAConstantInt(by) || LLVMConstIntGetZExtValue(by) > 63)
        return (struct growth){.unknown = true};
    g.by <<= LLVMConstIntGetZExtValue(by);
    return g;
}

static struct growth of_operator(struct question *q, LLVMValueRef value)
{
    const struct growth a = growth_of(q, LLVMGetOperand(value, 0)),
                        b = growth_of(q, LLVMGetOperand(value, 1));

    switch (LLVMGetInstructionOpcode(value)) {
    case LLVMAdd:
    case LLVMOr:
    case LLVMXor:
        return (struct growth){a.by + b.by, a.unknown || b.unknown};
    case LLVMSub:
        return (struct growth){a.by - b.by, a.unknown || b.unknown};
    case LLVMMul:
        return product(value, a, b);
    case LLVMShl:
        return shifted(value, a);
    case LLVMAnd:
    case LLVMURem:
    case LLVMSRem:
        return a;
    default: // not by the same in each turn
        return (struct growth){0};
    }
}

// In each turn of the counter's loop; nothing where that is not always the
// same.
static struct growth growth_of(struct question *q, LLVMValueRef value)
{
    struct growth growth = {0};

    if (value == q->counter)
        return ends_of(value).step;
    if (!LLVMIsABinaryOperator(value) && !LLVMIsACastInst(value))
        return growth;
    if (q->left == 0)
        return (struct growth){.unknown = true};
    q->left--;
    return LLVMIsACastInst(value) ? growth_of(q, LLVMGetOperand(value, 0))
                                  : of_operator(q, value);
}

// Indices -----------------------------------------------------------------

static unsigned bits_of(uint64_t number)
{
    unsigned bits = 0;

    for (; number > 0; number /= 2)
        bits++;
    return bits;
}

// How many bits it keeps of its first operand; 0: it does not wrap.
static unsigned kept_bits(LLVMValueRef x)
{
    LLVMTypeRef type = LLVMTypeOf(x);

    if (LLVMGetTypeKind(type) != LLVMIntegerTypeKind ||
        LLVMGetIntTypeWidth(type) > 64)
        return 0;
    if (LLVMIsAZExtInst(x))
        return LLVMGetIntTypeWidth(LLVMTypeOf(LLVMGetOperand(x, 0)));
    if (!LLVMIsABinaryOperator(x) || !LLVMIsAConstantInt(LLVMGetOperand(x, 1)))
        return 0;
    uint64_t number = LLVMConstIntGetZExtValue(LLVMGetOperand(x, 1));
    switch (LLVMGetInstructionOpcode(x)) {
    case LLVMAnd:
        return bits_of(number);
    case LLVMURem:
    case LLVMSRem:
        return number & (number - 1) ? 0 : bits_of(number - 1);
    default:
        return 0;
    }
}

// Steps by which whole vectors fit the period are right, and so are negative
// ones, of which LLVM asks more. One of MAX_BITS that is not known is mostly
// the length of a row.
static bool is_mistaken(struct growth growth, unsigned bits)
{
    uint64_t by = growth.by & ((UINT64_C(1) << bits) - 1);

    if (bits == MAX_BITS && (growth.unknown || by < FAR))
        return false;
    return growth.unknown || ((by & (by - 1)) != 0 && !(by >> (bits - 1) & 1));
}

// Whether it becomes part of an address.
static bool is_of_address(LLVMValueRef value, unsigned *left)
{
    for (LLVMUseRef u = LLVMGetFirstUse(value); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef x = LLVMGetUser(u);
        if (LLVMIsAGetElementPtrInst(x) || LLVMIsAIntToPtrInst(x))
            return true;
        if (!LLVMIsABinaryOperator(x) && !LLVMIsACastInst(x) &&
            !LLVMIsAPHINode(x) && !LLVMIsASelectInst(x))
            continue;
        if (*left == 0)
            return true;
        --*left;
        if (is_of_address(x, left))
            return true;
    }
    return false;
}

// Marks -------------------------------------------------------------------

static bool is_said(LLVMValueRef property, const char *word)
{
    LLVMValueRef parts[2];
    unsigned length;

    if (!property || !LLVMIsAMDNode(property) ||
        LLVMGetMDNodeNumOperands(property) != 2)
        return false;
    LLVMGetMDNodeOperands(property, parts);
    const char *text = parts[0] && LLVMIsAMDString(parts[0])
                           ? LLVMGetMDString(parts[0], &length)
                           : NULL;
    return text && length == strlen(word) && memcmp(text, word, length) == 0;
}

// A distinct node {itself, properties...}: those that it has, but that the loop
// is to become vectors.
static void keep_scalar(const struct hdi_llvm *llvm, LLVMValueRef branch)
{
    static const char word[] = "llvm.loop.vectorize.enable";
    LLVMContextRef c = llvm->context;
    unsigned kind = LLVMGetMDKindIDInContext(c, "llvm.loop", 9);
    LLVMValueRef before = LLVMGetMetadata(branch, kind);
    LLVMValueRef had[MAX_PROPERTIES];
    LLVMMetadataRef properties[MAX_PROPERTIES + 1];
    LLVMMetadataRef self = LLVMTemporaryMDNode(c, NULL, 0);
    unsigned count = before ? LLVMGetMDNodeNumOperands(before) : 0, n = 1;

    if (count > MAX_PROPERTIES)
        count = 0;
    if (count > 0)
        LLVMGetMDNodeOperands(before, had);
    properties[0] = self;
    for (unsigned p = 1; p < count; p++)
        if (had[p] && !is_said(had[p], word))
            properties[n++] = LLVMValueAsMetadata(had[p]);
    LLVMMetadataRef off[2] = {
        LLVMMDStringInContext2(c, word, sizeof(word) - 1),
        LLVMValueAsMetadata(LLVMConstInt(LLVMInt1TypeInContext(c), 0, false))};
    properties[n++] = LLVMMDNodeInContext2(c, off, 2);
    LLVMMetadataRef node = LLVMMDNodeInContext2(c, properties, n);
    LLVMMetadataReplaceAllUsesWith(self, node);
    LLVMSetMetadata(branch, kind, LLVMMetadataAsValue(c, node));
}

static void mark_loop(const struct hdi_llvm *llvm, LLVMValueRef counter)
{
    const struct ends ends = ends_of(counter);

    for (unsigned i = 0; i < ends.count; i++)
        keep_scalar(llvm, LLVMGetBasicBlockTerminator(ends.blocks[i]));
}

// Whether it marked any.
static bool look_at(const struct hdi_llvm *llvm, LLVMValueRef x)
{
    unsigned bits = kept_bits(x), left = MAX_VALUES;
    struct counters counters = {.left = MAX_VALUES};
    bool found = false;

    if (bits == 0 || bits > MAX_BITS || !is_of_address(x, &left))
        return false;
    find_counters(&counters, LLVMGetOperand(x, 0));
    for (unsigned i = 0; i < counters.count; i++) {
        struct question q = {counters.phis[i], MAX_VALUES};
        if (is_mistaken(growth_of(&q, LLVMGetOperand(x, 0)), bits)) {
            mark_loop(llvm, counters.phis[i]);
            hdi_note(llvm, x,
                     "loop stays scalar: LLVM mistakes an index that wraps");
            found = true;
        }
    }
    return found;
}

static bool mark_loops(const struct hdi_llvm *llvm, LLVMModuleRef module)
{
    bool found = false;

    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b;
             b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
                 i = LLVMGetNextInstruction(i))
                found |= look_at(llvm, i);
    return found;
}

// A mark is lost with its branch when that is led past a condition that is
// known: so that is done first, where there are any.
hd_status hdi_wraps_keep_scalar(const struct hdi_llvm *llvm,
                                LLVMModuleRef module, struct hd_error *error)
{
    if (!mark_loops(llvm, module))
        return HD_OK;
    HDI_TRY(hdi_llvm_passes(llvm, module,
                            "function(jump-threading,simplifycfg,loop-simplify,"
                            "lcssa,loop(loop-rotate),simplifycfg)",
                            error));
    mark_loops(llvm, module);
    return HD_OK;
}
