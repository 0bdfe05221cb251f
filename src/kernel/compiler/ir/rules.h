// Rules that make kernels faster. A build without one of them is as right, so
// that what each is worth can be measured: option -heddle-without=NAME,NAME.
#ifndef HDI_KERNEL_COMPILER_IR_RULES_H
#define HDI_KERNEL_COMPILER_IR_RULES_H

#include "kernel/compiler/ir/llvm.h"

#define HDI_WITHOUT_OPTION "-heddle-without="

// In the order of their names in rules.c.
enum hdi_rule {
    HDI_RULE_AHEAD,     // vectorise/ahead.h
    HDI_RULE_AXIS,      // transform/axis.h
    HDI_RULE_CONSTANTS, // loads of constant memory do not change
    HDI_RULE_DIVIDE,    // vectorise/divide.h
    HDI_RULE_FOLD,      // vectorise/fold.h
    HDI_RULE_INTERIOR,  // transform/interior.h
    HDI_RULE_JOIN,      // lanes/join.h
    HDI_RULE_LANES,     // lanes/lanes.h, else LLVM's vectoriser alone
    HDI_RULE_LAYOUTS,   // driver/versions.h
    HDI_RULE_LONE,      // lanes/guard.h
    HDI_RULE_NARROW,    // prepare/narrow.h
    HDI_RULE_PAIR,      // two accesses of 32 bits as one of 64
    HDI_RULE_PIECES,    // prepare/pieces.h
    HDI_RULE_RECORD,    // vectorise/record.c
    HDI_RULE_SOFT,      // transform/soft.h
    HDI_RULE_SPAN,      // lanes/span.h
    HDI_RULE_SPLIT,     // lanes/split.h
    HDI_RULE_STRIDE,    // transform/stride.h
    HDI_RULE_STRIDED,   // transform/strided.h
    HDI_RULE_SWITCHES,  // prepare/switches.h
    HDI_RULE_TILE,      // analysis/tile.h
    HDI_RULE_TOP,       // transform/top.h
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
