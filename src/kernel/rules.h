// Rules of the compiler that only make kernels faster: a build without one of
// them (option -heddle-without=NAME,NAME) is as right, so that what each is
// worth can be measured (bench/run ablation).
#ifndef HDI_KERNEL_RULES_H
#define HDI_KERNEL_RULES_H

#define HDI_WITHOUT_OPTION "-heddle-without="

// How much work on a kernel may be: see compiler/flow/effort.h.
#define HDI_BUDGET_OPTION "-heddle-budget="

// One kernel alone is made, whatever others the sources have.
#define HDI_KERNEL_OPTION "-heddle-kernel="

// Each with its name, and where in src/kernel/compiler it is.
#define HDI_RULES_ALL(RULE)                                                   \
    RULE(AHEAD, "ahead")         /* wide/ahead.h */                      \
    RULE(AXIS, "axis")           /* transform/axis.h */                       \
    RULE(BUTTERFLY, "butterfly") /* vectorise/butterfly.c */                  \
    RULE(CONSTANTS, "constants") /* loads of constant memory do not change */ \
    RULE(DIVIDE, "divide")       /* wide/divide.h */                     \
    RULE(EARLY, "early")         /* transform/early.h */                      \
    RULE(FLATTEN, "flatten")     /* loops/flatten.h */                        \
    RULE(FOLD, "fold")           /* wide/fold.h */                       \
    RULE(INTERIOR, "interior")   /* limits/interior.h */                   \
    RULE(JAM, "jam")             /* lanes/jam.h */                            \
    RULE(JOIN, "join")           /* lanes/join.h */                           \
    RULE(LANES, "lanes")         /* lanes/lanes.h; else LLVM's loops alone */ \
    RULE(LAYOUTS, "layouts")     /* driver/versions.h */                      \
    RULE(LONE, "lone")           /* lanes/guard.h */                          \
    RULE(MASKS, "masks")         /* lanes/masks.h */                          \
    RULE(NARROW, "narrow")       /* prepare/narrow.h */                       \
    RULE(NEAR, "near")           /* wide/near.h */                       \
    RULE(PAIR, "pair")           /* two accesses of 32 bits as one of 64 */   \
    RULE(PIECES, "pieces")       /* prepare/pieces.h */                       \
    RULE(RECORD, "record")       /* vectorise/record.c */                     \
    RULE(SHORT, "short")         /* transform/short.h */                      \
    RULE(SOFT, "soft")           /* transform/soft.h */                       \
    RULE(SPAN, "span")           /* lanes/span.h */                           \
    RULE(SPLIT, "split")         /* lanes/split.h */                          \
    RULE(STRIDE, "stride")       /* transform/stride.h */                     \
    RULE(STRIDED, "strided")     /* transform/strided.h */                    \
    RULE(SWITCHES, "switches")   /* prepare/switches.h */                     \
    RULE(TILE, "tile")           /* worth/tile.h */                           \
    RULE(TOP, "top")             /* transform/top.h */                        \
    RULE(TREE, "tree")           /* transform/tree.h */                       \
    RULE(UNSWITCH, "unswitch")   /* LLVM's copies of loops by conditions */   \
    RULE(WHOLE, "whole")         /* worth/whole.h */                          \
    RULE(WINDOW, "window")       /* vectorise/window.c */

#endif
