// What the instrumentation of checked kernels is made of: the state, the words
// that find accesses, and the names of the marks that stand for calls of
// the checker (backend/checks.h).
#ifndef HDI_KERNEL_COMPILER_CHECK_PROBE_H
#define HDI_KERNEL_COMPILER_CHECK_PROBE_H

#include "backend/checks.h"
#include "kernel/compiler/ir/llvm.h"

#define HDI_PROBE_START   "heddle.check.start"
#define HDI_PROBE_DECLARE "heddle.check.declare"
#define HDI_PROBE_TOUCH   "heddle.check.touch"
#define HDI_PROBE_UNSET   "heddle.check.unset"
#define HDI_PROBE_PASS    "heddle.check.pass"
#define HDI_PROBE_MEET    "heddle.check.meet"
#define HDI_PROBE_VISIT   "heddle.check.visit"
#define HDI_PROBE_DIVIDE  "heddle.check.divide"

enum {
    HDI_PROBE_OPERANDS = 6 // at most, of a mark
};

// Lives for one pass over one kernel; types belong to the context. The builder
// is disposed of by whoever began.
struct hdi_probe {
    struct hdi_llvm *llvm;
    LLVMModuleRef module;
    LLVMValueRef kernel;
    LLVMBuilderRef builder;
    LLVMTypeRef pointer, i1, i8, i32, i64;
    LLVMTypeRef site, variable; // as in backend/checks.h
};

// A private variable of which each byte is followed.
// `written` has a byte per byte of the variable, not 0 once it has a value;
// both and the description lie on the work-item's stack.
struct hdi_followed {
    LLVMValueRef variable, written, description;
    uint64_t size; // [bytes]
};

// An instruction has one, or as a copy two: what it writes, then what it reads.
struct hdi_checked_access {
    LLVMValueRef pointer;
    unsigned operand;  // which it is of the instruction
    LLVMValueRef size; // i64 [bytes]
    unsigned kind;     // HDI_ACCESS_*; 0: none
};

// In the only function left of the module.
struct hdi_probe hdi_probe_begin(struct hdi_llvm *llvm, LLVMModuleRef module,
                                 LLVMValueRef kernel);

// Call a mark, which is declared when it is not.
LLVMValueRef hdi_probe_call(struct hdi_probe *probe, const char *name,
                            LLVMTypeRef result, LLVMValueRef *args,
                            unsigned count);
bool hdi_is_call_of(LLVMValueRef value, const char *name);
bool hdi_is_intrinsic(LLVMValueRef instruction, const char *name);

// A variable that the instrumentation made, or LLVM's reg2mem.
bool hdi_probe_is_ours(LLVMValueRef value);

// Stand before an instruction, on its line.
void hdi_probe_before(struct hdi_probe *probe, LLVMValueRef instruction);

// The pointer in the address space that all memory is in.
LLVMValueRef hdi_probe_flat(struct hdi_probe *probe, LLVMValueRef pointer);

// What a pointer was made from.
// Through additions and casts alone: of a choice between pointers, or of a
// pointer in memory, the origin is that value itself.
LLVMValueRef hdi_probe_origin(LLVMValueRef pointer);

// After the allocas of the entry block.
LLVMValueRef hdi_probe_entry(LLVMValueRef kernel);

// The `index`th access of an instruction; the last has kind 0.
struct hdi_checked_access hdi_probe_access(struct hdi_probe *probe,
                                           LLVMValueRef instruction,
                                           unsigned index);

// report.c: accesses that tell the checker.

// A place in the source, which the kernel's table holds.
LLVMValueRef hdi_report_site(struct hdi_probe *probe, LLVMValueRef instruction,
                             unsigned access, enum hdi_object object,
                             unsigned number, const char *name);

// Fill in the description of a variable, at the builder's point; and tell of
// it.
void hdi_report_describe(struct hdi_probe *probe, LLVMValueRef description,
                         LLVMValueRef variable, LLVMValueRef size,
                         LLVMValueRef written);
void hdi_report_declare(struct hdi_probe *probe, LLVMValueRef description,
                        LLVMValueRef variable, LLVMValueRef size,
                        LLVMValueRef written);

// Lead an access through the checker. A copy that must not happen has no size
// then.
void hdi_report_lead(struct hdi_probe *probe, LLVMValueRef instruction,
                     const struct hdi_checked_access *access, LLVMValueRef site,
                     LLVMValueRef variable);

// sift.c: accesses of kernels that are screened (screen.h).

void hdi_sift_expect(struct hdi_probe *probe, LLVMValueRef condition);

// An access to a private variable, and one to any other memory, of which `from`
// is the origin.
void hdi_sift_private(struct hdi_probe *probe, LLVMValueRef instruction,
                      const struct hdi_checked_access *access,
                      const struct hdi_followed *variable);
void hdi_sift_memory(struct hdi_probe *probe, LLVMValueRef instruction,
                     const struct hdi_checked_access *access,
                     LLVMValueRef from);

#endif
