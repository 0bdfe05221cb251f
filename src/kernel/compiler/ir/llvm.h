// Main header of ir: small words over LLVM's C interface.
//
// Small words over LLVM's C interface, and the state of one compilation.
//
// Each is used by one thread; several may be in use at the same time, since
// they share nothing but what hdi_llvm_open() sets up once for the process.
#ifndef HDI_KERNEL_COMPILER_IR_LLVM_H
#define HDI_KERNEL_COMPILER_IR_LLVM_H

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "heddle/status.h"
#include "kernel/compiler/target/target.h"

enum {
    HDI_SPACE_GLOBAL = 1, // address spaces, as clang numbers them for SPIR
    HDI_SPACE_CONSTANT = 2,
    HDI_SPACE_LOCAL = 3,
    HDI_SPACE_GENERIC = 4
};

// The name that printf() has while a kernel is compiled: LLVM would take one of
// that name for the C library's.
#define HDI_PRINT_NAME "hdu_printf"

// The builtin that all others of images tell of a texel.
#define HDI_VISIT_NAME "hdi_image_visit"

// What a program that is to be checked calls before it divides integers: see
// prepare/total.h.
#define HDI_DIVISION_NAME "heddle.division"

// What happens to one work-item function or barrier after inlining. The order
// is that of the names in llvm.c.
enum hdi_call {
    HDI_CALL_GLOBAL_ID,
    HDI_CALL_LOCAL_ID,
    HDI_CALL_GROUP_ID,
    HDI_CALL_LOCAL_SIZE,
    HDI_CALL_ENQUEUED_LOCAL_SIZE,
    HDI_CALL_GLOBAL_SIZE,
    HDI_CALL_NUM_GROUPS,
    HDI_CALL_GLOBAL_OFFSET,
    HDI_CALL_WORK_DIM,
    HDI_CALL_MEMORY, // of the builtins: see memory.h
    HDI_CALL_BARRIER,
    HDI_CALL_GRID_BARRIER,      // of the whole launch
    HDI_CALL_SUB_GROUP_BARRIER, // of the builtins: see subgroup.cl
    HDI_CALL_SOFT_BARRIER,      // ours: see soft.h
    HDI_CALL_OTHER              // anything else, calls or not
};

// Who looks at a module after each pass.
enum hdi_watch {
    HDI_WATCH_NOTHING,
    HDI_WATCH_VERIFY,
    HDI_WATCH_DUMP // verifies too
};

// One program in LLVM.
struct hdi_llvm {
    LLVMContextRef context;
    LLVMTargetMachineRef machine;
    LLVMTargetDataRef layout;
    char *triple, *cpu, *features;
    struct hdi_target target;  // what rules ask about the processor
    const char *path;          // of the source, for messages
    struct hdi_text *remarks;  // of the optimiser, of the kernel at hand
    struct hdi_text *notes;    // see note.h
    const atomic_bool *cancel; // set: no more passes; optional
    enum hdi_watch watch;
    uint64_t without; // rules that are left out: see rules.h
    uint64_t budget;  // of work on one kernel: see flow/effort.h
    bool debug;       // kernels are for a debugger: as they are written
    bool check;       // kernels are to be checked: see instrument.h
    bool screen;      // kernels are screened: see screen.h
    bool unscreened;  // the one at hand cannot be
};

// `triple` "" is this machine's. `features` are instruction sets, with blanks
// between, of the processor that LLVM calls `cpu`; "": of the one at hand.
// hdi_llvm_close() takes all back, also what failed; values and modules of the
// context must be gone by then. HD_ENOTSUP, HD_ENOMEM.
hd_status hdi_llvm_open(struct hdi_llvm *llvm, const char *triple,
                        const char *cpu, const char *features, const char *path,
                        struct hd_error *error);
void hdi_llvm_close(struct hdi_llvm *llvm);

// A context in which an error ends nothing but what failed.
LLVMContextRef hdi_llvm_quiet_context(void);

// Run a pipeline as `opt -passes=` would. HD_ECANCELED.
// The module may be half changed when it fails. A build is cancelled between
// two passes only: none is interrupted.
hd_status hdi_llvm_passes(const struct hdi_llvm *llvm, LLVMModuleRef module,
                          const char *passes, struct hd_error *error);

// The same without unrolling, which takes the square of the code's length.
hd_status hdi_llvm_passes_long(const struct hdi_llvm *llvm,
                               LLVMModuleRef module, const char *passes,
                               struct hd_error *error);

enum hdi_call hdi_call_kind(LLVMValueRef value);
bool hdi_call_name_is_known(const char *name);

// At the builder's point: ask for an id or a size in x (i64).
LLVMValueRef hdi_build_call(const struct hdi_llvm *llvm, LLVMModuleRef module,
                            LLVMBuilderRef builder, enum hdi_call kind);

// A barrier of any kind: work-items wait for others there.
bool hdi_call_is_barrier(enum hdi_call kind);

// A copy is computed where what the instruction promises need not hold.
void hdi_promise_nothing(LLVMValueRef copy);

const char *hdi_value_name(LLVMValueRef value);

// Whether a function of the builtins is a step that the work-items of a group
// take one after the other, in the order of their linear ids: see group.cl.
bool hdi_is_step(LLVMValueRef function);
unsigned hdi_source_line(LLVMValueRef instruction); // 0: not known

// Attributes of functions; `name` is LLVM's.
void hdi_function_flag(LLVMValueRef function, const char *name, bool on);
void hdi_function_text(LLVMValueRef function, const char *name,
                       const char *value);

// Let LLVM use the widest vectors that pay; it is wary of those of 64 bytes.
void hdi_function_prefer(const struct hdi_llvm *llvm, LLVMValueRef function);

// Set the current point of `builder` to the end of `block`, without the debug
// location that may be left from before.
void hdi_build_at_end(LLVMBuilderRef builder, LLVMBasicBlockRef block);

// Move `instruction` and all after it to a new block, which the first part then
// branches to. Blocks must be free of phi nodes.
LLVMBasicBlockRef hdi_block_split(LLVMContextRef context,
                                  LLVMBuilderRef builder,
                                  LLVMValueRef instruction, const char *name);

// The predicate with its operands exchanged.
LLVMIntPredicate hdi_predicate_swapped(LLVMIntPredicate predicate);

static inline bool hdi_is_integer(LLVMTypeRef type, unsigned bits)
{
    return LLVMGetTypeKind(type) == LLVMIntegerTypeKind &&
           LLVMGetIntTypeWidth(type) == bits;
}

#endif
