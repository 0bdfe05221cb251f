// Butterflies: `part[l ^ step]`, or `part[l / 2]`, where lanes touch elements
// of one stretch of memory as long as their vector, in an order that ids and
// what the group agrees on decide. The stretch is loaded or stored at once, and
// its elements are permuted in a register.
//
// A stretch is aligned to its size, so it is in the page of any element in it:
// all of it may be loaded where a lane that is on touches one. Stores touch
// what lanes store alone.
//
//     addresses    12 13 14 15  8  9 10 11    the stretch at 8, in words
//     in it         4  5  6  7  0  1  2  3    the index of each lane
//
// A permutation takes element index[i] for each lane i. To store, lane p must
// be found whose index is i: where each two lanes that swap have each other's
// index, that is index[i] again.
#include <string.h>

#include "kernel/compiler/analysis/address.h"
#include "kernel/compiler/ir/note.h"
#include "kernel/compiler/ir/rules.h"
#include "kernel/compiler/vectorise/access.h"
#include "kernel/compiler/wide/near.h"

enum {
    COST_INDEX = 8 // arithmetic that makes indices of addresses [cycles]
};

// NULL: there is no instruction for as many words.
static const char *permutation(unsigned words)
{
    return words == 16  ? "llvm.x86.avx512.permvar.si.512"
           : words == 8 ? "llvm.x86.avx2.permd"
                        : NULL;
}

static LLVMValueRef address_of(LLVMValueRef access)
{
    return LLVMGetOperand(access, LLVMIsAStoreInst(access) != NULL);
}

// In memory whose size LLVM does not know? It takes a load of more bytes than a
// variable has for one of something else, and stretches reach past variables.
static bool is_of_any_size(const struct hdi_wide *w, LLVMValueRef pointer)
{
    LLVMValueRef root = hdi_address_root(w->emit->flow, pointer);
    return LLVMIsAArgument(root) ||
           LLVMGetPointerAddressSpace(LLVMTypeOf(root)) == HDI_SPACE_LOCAL;
}

bool hdi_butterfly_pays(const struct hdi_wide *w, LLVMValueRef access,
                        LLVMTypeRef type)
{
    const struct hdi_llvm *llvm = w->emit->llvm;
    const struct hdi_target *target = &llvm->target;
    unsigned cost = target->look + target->permute + COST_INDEX;

    return hdi_rule_is_on(llvm, HDI_RULE_BUTTERFLY) && target->permute > 0 &&
           permutation(w->lanes) && 4 * w->lanes <= target->vector_bytes &&
           LLVMABISizeOfType(llvm->layout, type) == 4 &&
           LLVMGetAlignment(access) >= 4 && !w->emit->screening &&
           2 * cost < target->gather + target->look &&
           is_of_any_size(w, address_of(access)) &&
           hdi_near_pays(w, access, 4) &&
           hdi_near_is_dense(w, address_of(access));
}

// Addresses of all lanes, seen from the stretch that lane 0's is in.
struct stretch {
    LLVMValueRef begin;   // of it
    LLVMValueRef indices; // i32 of each lane
    LLVMValueRef is_one;  // i1: all lanes that are on are in it
};

static LLVMTypeRef words(const struct hdi_wide *w)
{
    return hdi_wide_type(w, w->emit->i32);
}

static LLVMValueRef permute(struct hdi_wide *w, LLVMValueRef vector,
                            LLVMValueRef indices)
{
    const char *name = permutation(w->lanes);
    LLVMValueRef args[] = {
        LLVMBuildBitCast(w->emit->builder, vector, words(w), ""), indices};
    LLVMValueRef result = hdi_wide_call(
        w, LLVMLookupIntrinsicID(name, strlen(name)), NULL, 0, args, 2);

    return LLVMBuildBitCast(w->emit->builder, result, LLVMTypeOf(vector), "");
}

static struct stretch find_stretch(struct hdi_wide *w, LLVMValueRef pointer)
{
    struct hdi_emit *e = w->emit;
    LLVMBuilderRef b = e->builder;
    uint64_t bytes = 4 * w->lanes;
    struct hdi_apart apart = hdi_near_apart(w, pointer, 4);
    LLVMTypeRef type = LLVMGetElementType(LLVMTypeOf(apart.lanes));
    uint64_t unit = (uint64_t)apart.unit;
    LLVMValueRef into =
        LLVMBuildAnd(b, LLVMBuildPtrToInt(b, apart.at, e->i64, ""),
                     LLVMConstInt(e->i64, bytes - 1, false), "");
    LLVMValueRef back = LLVMBuildNeg(b, into, "");
    // As far into the stretch, in what lanes are apart in.
    LLVMValueRef first = LLVMBuildTruncOrBitCast(
        b,
        LLVMBuildLShr(b, into, LLVMConstInt(e->i64, unit == 1 ? 2 : 0, false),
                      ""),
        type, "");
    LLVMValueRef here =
        LLVMBuildAdd(b, apart.lanes, hdi_wide_splat(w, first), "");
    LLVMValueRef most =
        hdi_wide_splat(w, LLVMConstInt(type, w->lanes * unit, false));

    LLVMValueRef fits = apart.fits;
    if (fits)
        fits = LLVMBuildAnd(
            b, fits, LLVMBuildICmp(b, LLVMIntULE, first, apart.below, ""), "");
    return (struct stretch){
        .begin = LLVMBuildGEP2(b, e->i8, apart.at, &back, 1, ""),
        .indices = LLVMBuildLShr(
            b, LLVMBuildTruncOrBitCast(b, here, words(w), ""),
            hdi_wide_splat(w, LLVMConstInt(e->i32, unit == 1 ? 0 : 2, false)),
            ""),
        .is_one = hdi_near_holds(
            w, LLVMBuildICmp(b, LLVMIntULT, here, most, ""), fits)};
}

//          is_one?
//         /       \       the caller writes the access in both, and a jump to
//      near       far     `join` at the end of each
static struct hdi_ways part(struct hdi_wide *w, LLVMValueRef access,
                            LLVMValueRef is_one)
{
    struct hdi_ways ways = {.near = hdi_emit_block(w->emit, "stretch"),
                            .far = hdi_emit_block(w->emit, "far"),
                            .join = hdi_emit_block(w->emit, "join")};

    hdi_note(w->emit->llvm, access,
             "lanes of one stretch of memory are permuted in registers");
    LLVMBuildCondBr(w->emit->builder, is_one, ways.near, ways.far);
    hdi_access_begin_way(w, ways.near, access);
    return ways;
}

LLVMValueRef hdi_butterfly_read(struct hdi_wide *w, LLVMValueRef load,
                                LLVMTypeRef type)
{
    LLVMBuilderRef b = w->emit->builder;
    LLVMValueRef pointer = address_of(load), values[2];
    struct stretch stretch = find_stretch(w, pointer);
    struct hdi_ways ways = part(w, load, stretch.is_one);

    LLVMValueRef all =
        LLVMBuildLoad2(b, hdi_wide_type(w, type), stretch.begin, "");
    LLVMSetAlignment(all, 4 * w->lanes);
    values[0] = permute(w, all, stretch.indices);
    LLVMBuildBr(b, ways.join);
    hdi_access_begin_way(w, ways.far, load);
    values[1] = hdi_access_gather(w, type, hdi_wide_value(w, pointer),
                                  LLVMGetAlignment(load));
    hdi_access_copy_kind(w, load, values[1]);
    LLVMBuildBr(b, ways.join);
    hdi_build_at_end(b, ways.join);
    LLVMValueRef result = LLVMBuildPhi(b, hdi_wide_type(w, type), "");
    LLVMAddIncoming(result, values, (LLVMBasicBlockRef[]){ways.near, ways.far},
                    2);
    return result;
}

// Each lane's place is another's, so none is written twice.
void hdi_butterfly_write(struct hdi_wide *w, LLVMValueRef store,
                         LLVMValueRef vector)
{
    struct hdi_emit *e = w->emit;
    LLVMBuilderRef b = e->builder;
    LLVMValueRef pointer = address_of(store);
    struct stretch stretch = find_stretch(w, pointer);
    LLVMValueRef again = permute(w, stretch.indices, stretch.indices);
    LLVMValueRef swaps =
        LLVMBuildICmp(b, LLVMIntEQ, again, hdi_wide_iota(w, e->i32, 1), "");
    LLVMValueRef bits = hdi_wide_bits(w, swaps);
    LLVMValueRef is_one =
        LLVMBuildAnd(b, stretch.is_one,
                     LLVMBuildICmp(b, LLVMIntEQ, bits,
                                   LLVMConstAllOnes(LLVMTypeOf(bits)), ""),
                     "");
    struct hdi_ways ways = part(w, store, is_one);

    struct hdi_wide there = *w;
    if (!w->certain)
        there.mask =
            LLVMBuildTrunc(b,
                           permute(w, LLVMBuildSExt(b, w->mask, words(w), ""),
                                   stretch.indices),
                           hdi_wide_mask_type(w), "");
    hdi_wide_write(&there, permute(w, vector, stretch.indices), stretch.begin,
                   4 * w->lanes);
    LLVMBuildBr(b, ways.join);
    hdi_access_begin_way(w, ways.far, store);
    hdi_access_scatter(w, vector, hdi_wide_value(w, pointer),
                       LLVMGetAlignment(store));
    LLVMBuildBr(b, ways.join);
    hdi_build_at_end(b, ways.join);
}
