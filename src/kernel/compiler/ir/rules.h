// The rules of kernel/rules.h, as the compiler asks for them.
#ifndef HDI_KERNEL_COMPILER_IR_RULES_H
#define HDI_KERNEL_COMPILER_IR_RULES_H

#include "kernel/compiler/ir/llvm.h"
#include "kernel/rules.h"

enum hdi_rule {
#define HDI_RULE_OF(rule, name) HDI_RULE_##rule,
    HDI_RULES_ALL(HDI_RULE_OF)
#undef HDI_RULE_OF
    HDI_RULES
};

const char *hdi_rule_name(enum hdi_rule rule);

// Leave out the rules that are named, with commas between. HD_EINVAL says which
// there are.
hd_status hdi_rules_leave_out(struct hdi_llvm *llvm, const char *names,
                              struct hd_error *error);

static inline bool hdi_rule_is_on(const struct hdi_llvm *llvm,
                                  enum hdi_rule rule)
{
    return !(llvm->without >> rule & 1);
}

#endif
