// Loads and stores of memory for a chunk, and the parts of them that record.c,
// window.c and butterfly.c use too.
#ifndef HDI_KERNEL_COMPILER_VECTORISE_ACCESS_H
#define HDI_KERNEL_COMPILER_VECTORISE_ACCESS_H

#include "kernel/compiler/wide/wide.h"

// Loads and stores of memory, plain ones.
void hdi_widen_load(struct hdi_wide *wide, LLVMValueRef load);
void hdi_widen_store(struct hdi_wide *wide, LLVMValueRef store);
// Whether the addresses of elements of that size are those of neighbours nearly
// always.
bool hdi_wide_is_likely(const struct hdi_wide *wide, LLVMValueRef pointer,
                        int64_t size);
LLVMValueRef hdi_wide_read(struct hdi_wide *wide, LLVMTypeRef type,
                           LLVMValueRef pointer, unsigned align);
LLVMValueRef hdi_wide_write(struct hdi_wide *wide, LLVMValueRef vector,
                            LLVMValueRef pointer, unsigned align);

LLVMTypeRef hdi_access_type(LLVMValueRef access);

// What is known of the memory of `from` is true of `to`.
void hdi_access_copy_kind(const struct hdi_wide *wide, LLVMValueRef from,
                          LLVMValueRef to);

// `pointer` and some bytes.
LLVMValueRef hdi_access_offset(struct hdi_wide *wide, LLVMValueRef pointer,
                               int64_t bytes);

LLVMValueRef hdi_access_gather(struct hdi_wide *wide, LLVMTypeRef type,
                               LLVMValueRef pointers, unsigned align);
void hdi_access_scatter(struct hdi_wide *wide, LLVMValueRef vector,
                        LLVMValueRef pointers, unsigned align);

// The same of elements of any size, where it does not matter how long it takes.
LLVMValueRef hdi_access_far_read(struct hdi_wide *wide, LLVMTypeRef type,
                                 LLVMValueRef pointers, unsigned align);
void hdi_access_far_write(struct hdi_wide *wide, LLVMValueRef vector,
                          LLVMValueRef pointers, unsigned align);

struct hdi_ways {
    LLVMBasicBlockRef near, far, join;
};

// Part ways: `bytes` from `at` on as they lie, or not, and go on with the
// first, where faults are those of `access`. False: there is no other.
bool hdi_access_part(struct hdi_wide *wide, LLVMValueRef access, uint64_t bytes,
                     LLVMValueRef at, LLVMValueRef is_near,
                     struct hdi_ways *ways);
void hdi_access_begin_way(struct hdi_wide *wide, LLVMBasicBlockRef way,
                          LLVMValueRef access);

// record.c: elements of records that lie side by side, one of each lane's. The
// load or store is done with others of the same records, by the first load or
// the last store of them. False: it is no such one.
bool hdi_record_load(struct hdi_wide *wide, LLVMValueRef load);
bool hdi_record_store(struct hdi_wide *wide, LLVMValueRef store);

// window.c: whether the load, of elements of `size` bytes, goes along rows in a
// loop that changes no memory, and blocks of them cost less than gathers; and
// the elements of type `type` that it reads, for all lanes.
bool hdi_window_pays(const struct hdi_wide *wide, LLVMValueRef load,
                     uint64_t size);
LLVMValueRef hdi_window_read(struct hdi_wide *wide, LLVMValueRef load,
                             LLVMTypeRef type);

// butterfly.c: whether it is worth looking at the addresses that a load or
// store of elements of `type` has, which are not those of neighbours; and the
// elements that a load reads, or a store of `vector`: in one stretch, or, as it
// turns out, gathered or scattered.
bool hdi_butterfly_pays(const struct hdi_wide *wide, LLVMValueRef access,
                        LLVMTypeRef type);
LLVMValueRef hdi_butterfly_read(struct hdi_wide *wide, LLVMValueRef load,
                                LLVMTypeRef type);
void hdi_butterfly_write(struct hdi_wide *wide, LLVMValueRef store,
                         LLVMValueRef vector);

#endif
