// The code generator estimates quotients of floats that may be multiplied by a
// reciprocal (arcp), and improves the estimate by Newton's steps. Three kinds
// do not suit:
//
// - Of AVX-512's estimate, of 14 bits, one step makes what OpenCL asks for,
//   within 2.5 units in the last place; that of 12 bits, which it takes for
//   shorter vectors, is 3 off: those are divided.
// - Its step for reciprocal roots loses what it should gain: with one, the
//   result is 2 units off where the estimate has 14 bits, 4 elsewhere, and it
//   knows no zero and no infinity. With 14 bits they are estimated here: one
//   step that adds to the estimate is 1.05 off. Elsewhere it takes two steps.
// - Where only a reciprocal root may be estimated (builtins/math_root.cl) and
//   something has come between quotient and root, that is a quotient as any.
#include "kernel/compiler/emit/quotient.h"

#include <string.h>

enum {
    MAX_ESTIMATED = 16 // floats, at once
};

static LLVMTypeRef float_of(LLVMTypeRef type)
{
    LLVMTypeRef element = LLVMGetTypeKind(type) == LLVMVectorTypeKind
                              ? LLVMGetElementType(type)
                              : type;
    return LLVMGetTypeKind(element) == LLVMFloatTypeKind ? element : NULL;
}

// Floats of a quotient; 0: it is a scalar.
static unsigned lanes_of(LLVMTypeRef type)
{
    return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetVectorSize(type)
                                                       : 0;
}

// A quotient of floats that may be estimated.
static bool is_inexact(LLVMValueRef i)
{
    return LLVMGetInstructionOpcode(i) == LLVMFDiv && float_of(LLVMTypeOf(i)) &&
           LLVMGetFastMathFlags(i) & LLVMFastMathAllowReciprocal;
}

// The root that a quotient is the reciprocal of is estimated as a whole.
static bool divides_by_root(LLVMValueRef quotient)
{
    LLVMValueRef root = LLVMGetOperand(quotient, 1);

    return LLVMIsACallInst(root) &&
           strncmp(hdi_value_name(LLVMGetCalledValue(root)), "llvm.sqrt.",
                   10) == 0;
}

static bool must_divide(const struct hdi_llvm *llvm, LLVMValueRef quotient)
{
    unsigned lanes = lanes_of(LLVMTypeOf(quotient));

    if (divides_by_root(quotient))
        return false;
    if (!(LLVMGetFastMathFlags(quotient) & LLVMFastMathApproxFunc))
        return true;
    return lanes > 0 &&
           (lanes < MAX_ESTIMATED || llvm->target.vector_bytes < 64);
}

static void replace(LLVMValueRef old, LLVMValueRef by)
{
    LLVMReplaceAllUsesWith(old, by);
    LLVMInstructionEraseFromParent(old);
}

// Flags of an instruction can be added, not taken away.
static void divide(LLVMBuilderRef builder, LLVMValueRef quotient)
{
    LLVMValueRef exact = LLVMBuildFDiv(builder, LLVMGetOperand(quotient, 0),
                                       LLVMGetOperand(quotient, 1), "");
    if (LLVMIsAInstruction(exact))
        LLVMSetFastMathFlags(exact, LLVMGetFastMathFlags(quotient) &
                                        ~LLVMFastMathAllowReciprocal);
    replace(quotient, exact);
}

// Reciprocal roots ------------------------------------------------------------

static LLVMValueRef call(LLVMBuilderRef builder, const char *name,
                         LLVMTypeRef type, LLVMValueRef *arguments,
                         unsigned count)
{
    LLVMModuleRef module = LLVMGetGlobalParent(
        LLVMGetBasicBlockParent(LLVMGetInsertBlock(builder)));
    LLVMContextRef context = LLVMGetModuleContext(module);
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));

    return LLVMBuildCall2(
        builder, LLVMIntrinsicGetType(context, id, &type, type ? 1 : 0),
        LLVMGetIntrinsicDeclaration(module, id, &type, type ? 1 : 0), arguments,
        count, "");
}

// Lanes `from` to `from + count` of a vector of `has`; what it has not is any.
static LLVMValueRef piece(LLVMBuilderRef builder, LLVMValueRef vector,
                          unsigned has, unsigned from, unsigned count)
{
    LLVMTypeRef number =
        LLVMInt32TypeInContext(LLVMGetTypeContext(LLVMTypeOf(vector)));
    LLVMValueRef lanes[MAX_ESTIMATED];

    for (unsigned l = 0; l < count; l++)
        lanes[l] = from + l < has ? LLVMConstInt(number, from + l, false)
                                  : LLVMGetPoison(number);
    return LLVMBuildShuffleVector(builder, vector,
                                  LLVMGetPoison(LLVMTypeOf(vector)),
                                  LLVMConstVector(lanes, count), "");
}

// Of 4, 8 or 16 floats.
// The mask of all ones: no lane is left out.
static LLVMValueRef estimate_piece(LLVMBuilderRef builder, LLVMValueRef x,
                                   unsigned count)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    LLVMTypeRef mask =
        LLVMIntTypeInContext(LLVMGetTypeContext(type), count == 16 ? 16 : 8);
    LLVMValueRef arguments[] = {x, LLVMConstNull(type), LLVMConstAllOnes(mask)};

    return call(builder,
                count == 16  ? "llvm.x86.avx512.rsqrt14.ps.512"
                : count == 8 ? "llvm.x86.avx512.rsqrt14.ps.256"
                             : "llvm.x86.avx512.rsqrt14.ps.128",
                NULL, arguments, 3);
}

// Of a vector of any length, lane by lane from pieces.
static LLVMValueRef estimate_vector(LLVMBuilderRef builder, LLVMValueRef x,
                                    unsigned count)
{
    LLVMTypeRef number =
        LLVMInt32TypeInContext(LLVMGetTypeContext(LLVMTypeOf(x)));
    unsigned size = count <= 4 ? 4 : count <= 8 ? 8 : 16;

    if (count == size)
        return estimate_piece(builder, x, size);
    LLVMValueRef result = LLVMGetPoison(LLVMTypeOf(x));
    for (unsigned from = 0; from < count; from += size) {
        LLVMValueRef part =
            estimate_piece(builder, piece(builder, x, count, from, size), size);
        for (unsigned l = 0; l < size && from + l < count; l++)
            result = LLVMBuildInsertElement(
                builder, result,
                LLVMBuildExtractElement(builder, part,
                                        LLVMConstInt(number, l, false), ""),
                LLVMConstInt(number, from + l, false), "");
    }
    return result;
}

static LLVMValueRef estimate(LLVMBuilderRef builder, LLVMValueRef x)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    LLVMValueRef zero =
        LLVMConstNull(LLVMInt32TypeInContext(LLVMGetTypeContext(type)));

    if (lanes_of(type))
        return estimate_vector(builder, x, lanes_of(type));
    LLVMValueRef vector = LLVMBuildInsertElement(
        builder, LLVMConstNull(LLVMVectorType(type, 4)), x, zero, "");
    return LLVMBuildExtractElement(builder, estimate_piece(builder, vector, 4),
                                   zero, "");
}

static LLVMValueRef constant(LLVMTypeRef type, double value)
{
    LLVMValueRef lanes[256], one = LLVMConstReal(float_of(type), value);
    unsigned count = lanes_of(type);

    for (unsigned l = 0; l < count; l++)
        lanes[l] = one;
    return count ? LLVMConstVector(lanes, count) : one;
}

// y + y / 2 (1 - x y^2); of zero and infinity, where that is NaN, the estimate,
// which is right.
// Replaces the quotient, and its dividend is multiplied with the root unless it
// is 1.
static void estimate_root(LLVMBuilderRef builder, LLVMValueRef quotient)
{
    LLVMTypeRef type = LLVMTypeOf(quotient);
    LLVMValueRef above = LLVMGetOperand(quotient, 0);
    LLVMValueRef x = LLVMGetOperand(LLVMGetOperand(quotient, 1), 0);
    LLVMValueRef y = estimate(builder, x);
    LLVMValueRef product =
        LLVMBuildFNeg(builder, LLVMBuildFMul(builder, x, y, ""), "");
    LLVMValueRef rest =
        call(builder, "llvm.fma", type,
             (LLVMValueRef[]){product, y, constant(type, 1)}, 3);
    LLVMValueRef half = LLVMBuildFMul(builder, y, constant(type, 0.5), "");
    LLVMValueRef better =
        call(builder, "llvm.fma", type, (LLVMValueRef[]){half, rest, y}, 3);
    LLVMValueRef root = LLVMBuildSelect(
        builder, LLVMBuildFCmp(builder, LLVMRealORD, rest, rest, ""), better, y,
        "");
    if (above != constant(type, 1))
        root = LLVMBuildFMul(builder, above, root, "");
    replace(quotient, root);
}

// All -------------------------------------------------------------------------

// Whether something is divided that might be estimated.
static bool bound(const struct hdi_llvm *llvm, LLVMBuilderRef builder,
                  LLVMBasicBlockRef block)
{
    bool divides = false;

    for (LLVMValueRef i = LLVMGetFirstInstruction(block), next; i; i = next) {
        next = LLVMGetNextInstruction(i);
        if (!is_inexact(i))
            continue;
        LLVMPositionBuilderBefore(builder, i);
        if (must_divide(llvm, i)) {
            divide(builder, i);
            divides = true;
        } else if (divides_by_root(i) &&
                   llvm->target.root_bits >= HDI_LONG_ESTIMATE) {
            estimate_root(builder, i);
        }
    }
    return divides;
}

void hdi_quotients_bound(const struct hdi_llvm *llvm, LLVMModuleRef module)
{
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(llvm->context);

    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f)) {
        bool divides = false;
        if (LLVMIsDeclaration(f))
            continue;
        hdi_function_text(f, "reciprocal-estimates", "vec-sqrtf:2,sqrtf:2");
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b;
             b = LLVMGetNextBasicBlock(b))
            divides |= bound(llvm, builder, b);
        // It would have all estimated, whatever instructions say.
        if (divides)
            hdi_function_text(f, "unsafe-fp-math", "false");
    }
    LLVMDisposeBuilder(builder);
}
