// Main header of fiber: a kernel as one function per work-item.
//
// The thread form: a prepared kernel stays as it is, and becomes
//
//     void hdt_NAME(struct hdi_item *item)
//
// which runs one work-item. Ids are read from the item, arguments and local
// memory from the frame behind it, and barrier() is a call of the unit's
// service `wait`. hdk_NAME(frame) hands the box to the service `run_items`.
#ifndef HDI_KERNEL_COMPILER_FIBER_THREAD_H
#define HDI_KERNEL_COMPILER_FIBER_THREAD_H

#include "base/text.h"
#include "kernel/build.h"
#include "kernel/compiler/ir/llvm.h"

// Replace `kernel` in `module`, with a coroutine for each work-item where that
// is wanted and the kernel waits, and has little private memory:
//
//     void *hdt_NAME(struct hdi_item *item, void *memory)
//
// runs one until it waits or ends, hdr_NAME(memory) goes on. Fills in
// local_bytes, barriers and form of `about`, and appends to `explanation`.
// On failure `module` may be half changed: destroy it. HD_ELIMIT: too much
// local memory.
hd_status hdi_thread_build(struct hdi_llvm *llvm, LLVMModuleRef module,
                           LLVMValueRef kernel, bool coroutine,
                           struct hdi_build_kernel *about,
                           struct hdi_text *explanation,
                           struct hd_error *error);

// After the optimiser: write down how large a stack it takes. Nothing is done
// to a kernel in another form.
void hdi_thread_measure(const struct hdi_llvm *llvm, LLVMModuleRef module);

#endif
