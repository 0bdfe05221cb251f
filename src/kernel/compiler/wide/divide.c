// By T. Granlund and P. L. Montgomery, "Division by invariant integers using
// multiplication" (1994), figure 4.1: with l the least number of bits that
// 2^l >= d,
//
//     m = floor(2^32 (2^l - d) / d) + 1
//     t = floor(m n / 2^32)
//     n / d = (t + (n - t) / 2^min(l, 1)) / 2^max(l - 1, 0)
//
// m is divided for once, and by zero as the kernel would be.
#include "kernel/compiler/wide/divide.h"

#include <string.h>

#include "kernel/compiler/analysis/operation.h"
#include "kernel/compiler/ir/rules.h"

enum {
    BITS = 32
};

static LLVMValueRef number(LLVMTypeRef type, uint64_t value)
{
    return LLVMConstInt(type, value, false);
}

static LLVMValueRef call(struct hdi_wide *w, const char *name, LLVMTypeRef type,
                         LLVMValueRef operand, LLVMValueRef other)
{
    LLVMValueRef args[] = {operand, other};
    return hdi_wide_call(w, LLVMLookupIntrinsicID(name, strlen(name)), &type, 1,
                         args, 2);
}

static LLVMValueRef quotient(struct hdi_wide *w, LLVMValueRef n, LLVMValueRef d)
{
    struct hdi_emit *e = w->emit;
    LLVMBuilderRef b = e->builder;
    LLVMTypeRef wide = hdi_wide_type(w, e->i64), narrow = LLVMTypeOf(n);
    LLVMValueRef one = number(e->i32, 1);
    LLVMValueRef is_one = LLVMBuildICmp(b, LLVMIntEQ, d, one, "");

    LLVMValueRef l =
        LLVMBuildSub(b, number(e->i32, BITS),
                     call(w, "llvm.ctlz", e->i32, LLVMBuildSub(b, d, one, ""),
                          LLVMConstNull(e->i1)),
                     "");
    LLVMValueRef long_d = LLVMBuildZExt(b, d, e->i64, "");
    LLVMValueRef power =
        LLVMBuildShl(b, number(e->i64, 1), LLVMBuildZExt(b, l, e->i64, ""), "");
    LLVMValueRef m =
        LLVMBuildUDiv(b,
                      LLVMBuildShl(b, LLVMBuildSub(b, power, long_d, ""),
                                   number(e->i64, BITS), ""),
                      long_d, "");
    m = LLVMBuildTrunc(b, LLVMBuildAdd(b, m, number(e->i64, 1), ""), e->i32,
                       "");
    LLVMValueRef first = LLVMBuildSelect(b, is_one, number(e->i32, 0), one, "");
    LLVMValueRef second = LLVMBuildSelect(b, is_one, number(e->i32, 0),
                                          LLVMBuildSub(b, l, one, ""), "");

    LLVMValueRef t =
        LLVMBuildMul(b, LLVMBuildZExt(b, n, wide, ""),
                     LLVMBuildZExt(b, hdi_wide_splat(w, m), wide, ""), "");
    t = LLVMBuildLShr(b, t, hdi_wide_splat(w, number(e->i64, BITS)), "");
    t = LLVMBuildTrunc(b, t, narrow, "");
    LLVMValueRef q = LLVMBuildLShr(b, LLVMBuildSub(b, n, t, ""),
                                   hdi_wide_splat(w, first), "");
    return LLVMBuildLShr(b, LLVMBuildAdd(b, t, q, ""),
                         hdi_wide_splat(w, second), "");
}

bool hdi_divide(struct hdi_wide *w, LLVMValueRef x)
{
    if (!hdi_rule_is_on(w->emit->llvm, HDI_RULE_DIVIDE) || !hdi_can_divide(x) ||
        !hdi_linear_is_uniform(w->linear, LLVMGetOperand(x, 1)))
        return false;

    LLVMBuilderRef b = w->emit->builder;
    LLVMOpcode code = LLVMGetInstructionOpcode(x);
    LLVMValueRef n = hdi_wide_value(w, LLVMGetOperand(x, 0));
    LLVMValueRef d = hdi_emit_operand(w->emit, LLVMGetOperand(x, 1));
    LLVMValueRef result;
    if (code == LLVMUDiv || code == LLVMURem) {
        result = quotient(w, n, d);
    } else {
        LLVMValueRef high = number(w->emit->i32, BITS - 1);
        LLVMValueRef plain = LLVMConstNull(w->emit->i1);
        LLVMValueRef sign =
            LLVMBuildAShr(b, LLVMBuildXor(b, n, hdi_wide_splat(w, d), ""),
                          hdi_wide_splat(w, high), "");
        result = quotient(w, call(w, "llvm.abs", LLVMTypeOf(n), n, plain),
                          call(w, "llvm.abs", LLVMTypeOf(d), d, plain));
        result = LLVMBuildSub(b, LLVMBuildXor(b, result, sign, ""), sign, "");
    }
    if (code == LLVMURem || code == LLVMSRem)
        result = LLVMBuildSub(
            b, n, LLVMBuildMul(b, result, hdi_wide_splat(w, d), ""), "");
    hdi_map_set(&w->vectors, x, result);
    return true;
}
