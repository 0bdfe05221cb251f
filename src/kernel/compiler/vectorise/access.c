// Loads and stores of memory for a chunk. Lanes that are off touch nothing.
#include "kernel/compiler/vectorise/access.h"
#include "kernel/compiler/analysis/address.h"
#include "kernel/compiler/analysis/operation.h"
#include "kernel/compiler/ir/note.h"
#include "kernel/compiler/ir/rules.h"
#include "kernel/compiler/wide/ahead.h"
#include "kernel/compiler/wide/bylane.h"
#include "kernel/compiler/wide/likely.h"
#include "kernel/compiler/wide/near.h"

#include <llvm-c/DebugInfo.h>
#include <string.h>

enum {
    MAX_BETWEEN = 32, // instructions between the halves of a pair
    MAX_LANES = 64
};

static const char no_lanes[] = "vectors and structures have no lanes";
static const char tested[] = "contiguity is tested at run time";
static const char small[] = "elements of 8 or 16 bits at scattered addresses";

LLVMTypeRef hdi_access_type(LLVMValueRef access)
{
    return LLVMTypeOf(LLVMIsAStoreInst(access) ? LLVMGetOperand(access, 0)
                                               : access);
}

void hdi_access_copy_kind(const struct hdi_wide *w, LLVMValueRef from,
                          LLVMValueRef to)
{
    unsigned kind = LLVMGetMDKindIDInContext(w->emit->llvm->context, "tbaa", 4);
    LLVMValueRef tbaa = LLVMGetMetadata(from, kind);
    if (tbaa && LLVMIsAInstruction(to) && !LLVMIsAShuffleVectorInst(to))
        LLVMSetMetadata(to, kind, tbaa);
}

static unsigned intrinsic_id(const char *name)
{
    return LLVMLookupIntrinsicID(name, strlen(name));
}

static LLVMValueRef alignment(const struct hdi_wide *w, unsigned align)
{
    return LLVMConstInt(w->emit->i32, align, false);
}

static LLVMValueRef masked_load(struct hdi_wide *w, LLVMTypeRef vector,
                                LLVMValueRef pointer, unsigned align,
                                LLVMValueRef mask)
{
    LLVMTypeRef types[] = {vector, LLVMTypeOf(pointer)};
    LLVMValueRef args[] = {pointer, alignment(w, align), mask,
                           LLVMGetPoison(vector)};
    return hdi_wide_call(w, intrinsic_id("llvm.masked.load"), types, 2, args,
                         4);
}

// Lanes that are off hold poison afterwards.
LLVMValueRef hdi_wide_read(struct hdi_wide *w, LLVMTypeRef type,
                           LLVMValueRef pointer, unsigned align)
{
    LLVMTypeRef vector = hdi_wide_type(w, type);

    if (!w->certain)
        return masked_load(w, vector, pointer, align, w->mask);
    LLVMValueRef load = LLVMBuildLoad2(w->emit->builder, vector, pointer, "");
    LLVMSetAlignment(load, align);
    return load;
}

LLVMValueRef hdi_wide_write(struct hdi_wide *w, LLVMValueRef vector,
                            LLVMValueRef pointer, unsigned align)
{
    if (w->certain) {
        LLVMValueRef store = LLVMBuildStore(w->emit->builder, vector, pointer);
        LLVMSetAlignment(store, align);
        return store;
    }
    LLVMTypeRef types[] = {LLVMTypeOf(vector), LLVMTypeOf(pointer)};
    LLVMValueRef args[] = {vector, pointer, alignment(w, align), w->mask};
    return hdi_wide_call(w, intrinsic_id("llvm.masked.store"), types, 2, args,
                         4);
}

static LLVMValueRef reversed(struct hdi_wide *w, LLVMValueRef vector)
{
    LLVMValueRef lanes[MAX_LANES];
    for (unsigned i = 0; i < w->lanes; i++)
        lanes[i] = LLVMConstInt(w->emit->i32, w->lanes - 1 - i, false);
    return LLVMBuildShuffleVector(w->emit->builder, vector,
                                  LLVMGetPoison(LLVMTypeOf(vector)),
                                  LLVMConstVector(lanes, w->lanes), "");
}

LLVMValueRef hdi_access_offset(struct hdi_wide *w, LLVMValueRef pointer,
                               int64_t bytes)
{
    LLVMValueRef offset = LLVMConstInt(w->emit->i64, (uint64_t)bytes, true);
    return LLVMBuildGEP2(w->emit->builder, w->emit->i8, pointer, &offset, 1,
                         "");
}

LLVMValueRef hdi_access_gather(struct hdi_wide *w, LLVMTypeRef type,
                               LLVMValueRef pointers, unsigned align)
{
    LLVMTypeRef vector = hdi_wide_type(w, type);
    LLVMTypeRef types[] = {vector, LLVMTypeOf(pointers)};
    LLVMValueRef args[] = {pointers, alignment(w, align), w->mask,
                           LLVMGetPoison(vector)};
    return hdi_wide_call(w, intrinsic_id("llvm.masked.gather"), types, 2, args,
                         4);
}

// Elements of 8 or 16 bits have no gather. They are taken from the aligned
// words that they are in, which lie in no other page.
static bool has_word_gather(const struct hdi_wide *w, LLVMTypeRef type,
                            unsigned align)
{
    uint64_t size = LLVMABISizeOfType(w->emit->llvm->layout, type);
    return size < 4 && align >= size && w->emit->llvm->target.word_gather;
}

//     word      | b3 b2 b1 b0 |    shifted right by 8 * (address & 3)
//
// Words are aligned, so no page is touched that the element is not in.
static LLVMValueRef gather_from_words(struct hdi_wide *w, LLVMTypeRef type,
                                      LLVMValueRef pointers)
{
    struct hdi_emit *e = w->emit;
    LLVMBuilderRef b = e->builder;
    LLVMTypeRef word = hdi_wide_type(w, e->i32);
    LLVMTypeRef bits = LLVMIntTypeInContext(
        e->llvm->context,
        8 * (unsigned)LLVMABISizeOfType(e->llvm->layout, type));
    LLVMValueRef in_word = LLVMBuildAnd(
        b, LLVMBuildPtrToInt(b, pointers, hdi_wide_type(w, e->i64), ""),
        hdi_wide_splat(w, LLVMConstInt(e->i64, 3, false)), "");
    LLVMValueRef back = LLVMBuildNeg(b, in_word, "");
    LLVMValueRef words = hdi_access_gather(
        w, e->i32, LLVMBuildGEP2(b, e->i8, pointers, &back, 1, ""), 4);
    LLVMValueRef shift =
        LLVMBuildShl(b, LLVMBuildTrunc(b, in_word, word, ""),
                     hdi_wide_splat(w, LLVMConstInt(e->i32, 3, false)), "");
    LLVMValueRef elements = LLVMBuildTrunc(
        b, LLVMBuildLShr(b, words, shift, ""), hdi_wide_type(w, bits), "");
    return LLVMBuildBitCast(b, elements, hdi_wide_type(w, type), "");
}

void hdi_access_scatter(struct hdi_wide *w, LLVMValueRef vector,
                        LLVMValueRef pointers, unsigned align)
{
    LLVMTypeRef types[] = {LLVMTypeOf(vector), LLVMTypeOf(pointers)};
    LLVMValueRef args[] = {vector, pointers, alignment(w, align), w->mask};
    hdi_wide_call(w, intrinsic_id("llvm.masked.scatter"), types, 2, args, 4);
}

// Small elements have no gather.
static bool has_gather(const struct hdi_wide *w, LLVMTypeRef type)
{
    return LLVMABISizeOfType(w->emit->llvm->layout, type) >= 4;
}

// Elements far apart, one after the other.
struct apart {
    LLVMTypeRef type;
    LLVMValueRef pointers, memory; // memory: alloca of all lanes' elements
    unsigned align;
    bool stores;
};

static void touch_one(struct hdi_wide *w, LLVMValueRef lane, void *data)
{
    const struct apart *a = data;
    LLVMBuilderRef b = w->emit->builder;
    LLVMValueRef there = LLVMBuildExtractElement(b, a->pointers, lane, "");
    LLVMValueRef here =
        LLVMBuildInBoundsGEP2(b, a->type, a->memory, &lane, 1, "");
    LLVMValueRef element =
        LLVMBuildLoad2(b, a->type, a->stores ? here : there, "");
    LLVMValueRef store = LLVMBuildStore(b, element, a->stores ? there : here);

    LLVMSetAlignment(a->stores ? store : element, a->align);
}

LLVMValueRef hdi_access_far_read(struct hdi_wide *w, LLVMTypeRef type,
                                 LLVMValueRef pointers, unsigned align)
{
    LLVMTypeRef vector = hdi_wide_type(w, type);
    struct apart apart = {.type = type, .pointers = pointers, .align = align};

    if (has_gather(w, type))
        return hdi_access_gather(w, type, pointers, align);
    apart.memory = hdi_emit_alloca(w->emit, vector);
    LLVMBuildStore(w->emit->builder, LLVMGetUndef(vector), apart.memory);
    hdi_each_lane(w, touch_one, &apart);
    return LLVMBuildLoad2(w->emit->builder, vector, apart.memory, "");
}

void hdi_access_far_write(struct hdi_wide *w, LLVMValueRef vector,
                          LLVMValueRef pointers, unsigned align)
{
    struct apart apart = {.type = LLVMGetElementType(LLVMTypeOf(vector)),
                          .pointers = pointers,
                          .align = align,
                          .stores = true};

    if (has_gather(w, apart.type)) {
        hdi_access_scatter(w, vector, pointers, align);
        return;
    }
    apart.memory = hdi_emit_alloca(w->emit, LLVMTypeOf(vector));
    LLVMBuildStore(w->emit->builder, vector, apart.memory);
    hdi_each_lane(w, touch_one, &apart);
}

static bool is_whole(LLVMTypeRef type)
{
    return hdi_has_lanes(type) &&
           (LLVMGetTypeKind(type) != LLVMIntegerTypeKind ||
            LLVMGetIntTypeWidth(type) % 8 == 0);
}

// Whether the addresses of elements of that size are those of neighbours but
// for an index that may wrap.
static bool find_likely(const struct hdi_wide *w, LLVMValueRef pointer,
                        int64_t size, struct hdi_likely *likely)
{
    *likely = hdi_likely_step(w, pointer);
    return likely->index && likely->step == size;
}

bool hdi_wide_is_likely(const struct hdi_wide *w, LLVMValueRef pointer,
                        int64_t size)
{
    struct hdi_likely likely;
    return find_likely(w, pointer, size, &likely);
}

// Neighbours ------------------------------------------------------------------

// A vector of which lanes are off may reach past the end of local memory, where
// nothing is. Processors go through its lanes one by one then, which takes a
// hundred times as long: so it is gathered, or scattered.
static LLVMValueRef is_inside(struct hdi_wide *w, LLVMTypeRef type,
                              uint64_t bytes, LLVMValueRef at)
{
    struct hdi_emit *e = w->emit;
    LLVMBuilderRef b = e->builder;

    if (w->certain || !e->local_end || !has_gather(w, type) ||
        LLVMGetPointerAddressSpace(LLVMTypeOf(at)) != HDI_SPACE_LOCAL)
        return NULL;
    LLVMValueRef last =
        LLVMBuildSub(b, e->local_end, LLVMConstInt(e->i64, bytes, false), "");
    LLVMValueRef begin = LLVMBuildFreeze(b, at, "");
    return LLVMBuildICmp(b, LLVMIntULE, LLVMBuildPtrToInt(b, begin, e->i64, ""),
                         last, "");
}

void hdi_access_begin_way(struct hdi_wide *w, LLVMBasicBlockRef way,
                          LLVMValueRef access)
{
    hdi_build_at_end(w->emit->builder, way);
    LLVMSetCurrentDebugLocation2(w->emit->builder,
                                 LLVMInstructionGetDebugLoc(access));
}

//          is_near?
//         /        \       the caller writes the access in both, and a jump
//      near        far     to `join` at the end of each
//         \        /
//           join
bool hdi_access_part(struct hdi_wide *w, LLVMValueRef access, uint64_t bytes,
                     LLVMValueRef at, LLVMValueRef is_near,
                     struct hdi_ways *ways)
{
    LLVMBuilderRef b = w->emit->builder;
    LLVMValueRef inside = is_inside(w, hdi_access_type(access), bytes, at);

    if (inside)
        is_near = is_near ? LLVMBuildAnd(b, is_near, inside, "") : inside;
    if (!is_near)
        return false;
    ways->near = hdi_emit_block(w->emit, "near");
    ways->far = hdi_emit_block(w->emit, "far");
    ways->join = hdi_emit_block(w->emit, "join");
    LLVMBuildCondBr(b, is_near, ways->near, ways->far);
    hdi_access_begin_way(w, ways->near, access);
    return true;
}

static uint64_t size_of_all(const struct hdi_wide *w, LLVMTypeRef type)
{
    return LLVMABISizeOfType(w->emit->llvm->layout, type) * w->lanes;
}

// Of neighbours, the first of them at `at`, unless `is_near` is there and says
// otherwise.
static LLVMValueRef load_neighbours(struct hdi_wide *w, LLVMValueRef load,
                                    LLVMTypeRef type, LLVMValueRef at,
                                    LLVMValueRef is_near)
{
    LLVMBuilderRef b = w->emit->builder;
    LLVMValueRef pointer = LLVMGetOperand(load, 0);
    unsigned align = LLVMGetAlignment(load);
    struct hdi_ways ways;
    LLVMValueRef values[2];

    bool parts =
        hdi_access_part(w, load, size_of_all(w, type), at, is_near, &ways);
    values[0] = hdi_wide_read(w, type, at, align);
    hdi_access_copy_kind(w, load, values[0]);
    hdi_ask_ahead(w, load, LLVMABISizeOfType(w->emit->llvm->layout, type), at);
    if (!parts)
        return values[0];
    LLVMBuildBr(b, ways.join);
    hdi_access_begin_way(w, ways.far, load);
    values[1] =
        hdi_butterfly_pays(w, load, type)
            ? hdi_butterfly_read(w, load, type)
            : hdi_access_far_read(w, type, hdi_wide_value(w, pointer), align);
    ways.far = LLVMGetInsertBlock(b);
    LLVMBuildBr(b, ways.join);
    hdi_build_at_end(b, ways.join);
    LLVMValueRef result = LLVMBuildPhi(b, hdi_wide_type(w, type), "");
    LLVMAddIncoming(result, values, (LLVMBasicBlockRef[]){ways.near, ways.far},
                    2);
    return result;
}

static void store_neighbours(struct hdi_wide *w, LLVMValueRef store,
                             LLVMValueRef value, LLVMValueRef at,
                             LLVMValueRef is_near)
{
    LLVMBuilderRef b = w->emit->builder;
    LLVMValueRef pointer = LLVMGetOperand(store, 1);
    unsigned align = LLVMGetAlignment(store);
    struct hdi_ways ways;

    LLVMTypeRef type = LLVMGetElementType(LLVMTypeOf(value));
    bool parts =
        hdi_access_part(w, store, size_of_all(w, type), at, is_near, &ways);
    hdi_access_copy_kind(w, store, hdi_wide_write(w, value, at, align));
    hdi_ask_ahead(w, store, LLVMABISizeOfType(w->emit->llvm->layout, type), at);
    if (!parts)
        return;
    LLVMBuildBr(b, ways.join);
    hdi_access_begin_way(w, ways.far, store);
    if (hdi_butterfly_pays(w, store, type))
        hdi_butterfly_write(w, store, value);
    else
        hdi_access_far_write(w, value, hdi_wide_value(w, pointer), align);
    LLVMBuildBr(b, ways.join);
    hdi_build_at_end(b, ways.join);
}

// Pairs -----------------------------------------------------------------------

// Two accesses to elements of 32 bits side by side, such as those of a float2,
// are one to an element of 64: half as many addresses where they are scattered,
// and none where pairs lie side by side.

static bool is_other(const struct hdi_wide *w, LLVMValueRef access,
                     LLVMValueRef x)
{
    unsigned kind = LLVMGetMDKindIDInContext(w->emit->llvm->context, "tbaa", 4);
    bool is_store = LLVMIsAStoreInst(x) != NULL;

    if (LLVMGetInstructionOpcode(x) != LLVMGetInstructionOpcode(access))
        return false;
    struct hdi_address first = hdi_address_of(w->emit->llvm, w->emit->flow,
                                              LLVMGetOperand(access, is_store));
    struct hdi_address second = hdi_address_of(w->emit->llvm, w->emit->flow,
                                               LLVMGetOperand(x, is_store));
    return hdi_is_plain_access(x) &&
           hdi_access_type(x) == hdi_access_type(access) &&
           LLVMGetMetadata(x, kind) == LLVMGetMetadata(access, kind) &&
           hdi_address_is_beside(&first, &second) &&
           second.offset - first.offset == 4;
}

// The access to the element behind that of `access`, which may be done at the
// same time, or NULL.
// Slots in between do not matter. For a store no load may stand between, since
// the first half is done where the second stands.
static LLVMValueRef find_other(const struct hdi_wide *w, LLVMValueRef access)
{
    const struct hdi_flow *flow = w->emit->flow;
    bool is_store = LLVMIsAStoreInst(access) != NULL;
    LLVMValueRef x = access;

    for (unsigned i = 0; i < MAX_BETWEEN; i++) {
        x = LLVMGetNextInstruction(x);
        if (LLVMIsATerminatorInst(x))
            return NULL;
        if (hdi_slot_of(flow, x) != SIZE_MAX)
            continue;
        if (is_other(w, access, x))
            return x;
        if (hdi_has_effects(flow, x) || (is_store && LLVMIsALoadInst(x)) ||
            hdi_call_is_barrier(hdi_call_kind(x)))
            return NULL;
    }
    return NULL;
}

// The second half of the pair that begins with `access`, NULL: it is not one
// that is better done at once.
static LLVMValueRef find_pair(const struct hdi_wide *w, LLVMValueRef access)
{
    bool is_store = LLVMIsAStoreInst(access) != NULL;
    LLVMTypeRef type = hdi_access_type(access);
    LLVMValueRef pointer = LLVMGetOperand(access, is_store);
    int64_t step = hdi_linear_step(w->linear, pointer).by;
    struct hdi_likely likely;

    if ((type != w->emit->i32 && LLVMGetTypeKind(type) != LLVMFloatTypeKind) ||
        w->emit->screening || !hdi_rule_is_on(w->emit->llvm, HDI_RULE_PAIR))
        return NULL;
    if (step == 0 || step == 4 || step == -4)
        return NULL;
    return find_likely(w, pointer, 4, &likely) ? NULL : find_other(w, access);
}

// From first 0, 1, 2 ... and second 0, 1, 2 ... to pairs 0 0, 1 1, 2 2 ...
static LLVMValueRef join_halves(struct hdi_wide *w, LLVMValueRef first,
                                LLVMValueRef second)
{
    LLVMBuilderRef b = w->emit->builder;
    LLVMValueRef from[2 * MAX_LANES];

    for (unsigned i = 0; i < 2 * w->lanes; i++)
        from[i] = LLVMConstInt(w->emit->i32, i / 2 + i % 2 * w->lanes, false);
    LLVMValueRef both = LLVMBuildShuffleVector(
        b, first, second, LLVMConstVector(from, 2 * w->lanes), "");
    return LLVMBuildBitCast(b, both, hdi_wide_type(w, w->emit->i64), "");
}

static LLVMValueRef take_half(struct hdi_wide *w, LLVMValueRef pairs,
                              LLVMTypeRef type, unsigned half)
{
    LLVMBuilderRef b = w->emit->builder;
    LLVMValueRef from[MAX_LANES];

    for (unsigned i = 0; i < w->lanes; i++)
        from[i] = LLVMConstInt(w->emit->i32, 2 * i + half, false);
    LLVMValueRef both =
        LLVMBuildBitCast(b, pairs, LLVMVectorType(type, 2 * w->lanes), "");
    return LLVMBuildShuffleVector(b, both, LLVMGetPoison(LLVMTypeOf(both)),
                                  LLVMConstVector(from, w->lanes), "");
}

// Accesses --------------------------------------------------------------------

// An element of `type` for each lane, NULL: there is no such load.
// In the order of what it costs: neighbours, most likely neighbours, neighbours
// backwards, rows, neighbours as it turns out, gathers. Why it is dear is
// noted.
static LLVMValueRef read_elements(struct hdi_wide *w, LLVMValueRef load,
                                  LLVMTypeRef type)
{
    struct hdi_likely likely;
    LLVMValueRef pointer = LLVMGetOperand(load, 0);
    int64_t step = hdi_linear_step(w->linear, pointer).by;
    unsigned align = LLVMGetAlignment(load);
    int64_t size = (int64_t)LLVMABISizeOfType(w->emit->llvm->layout, type);
    int64_t stride =
        step != HDI_STEP_VARIES && step % size == 0 ? step / size : 0;
    LLVMValueRef result;

    if (stride == 1)
        return load_neighbours(w, load, type,
                               hdi_emit_operand(w->emit, pointer), NULL);
    if (find_likely(w, pointer, size, &likely)) {
        LLVMValueRef is_near;
        LLVMValueRef at =
            hdi_likely_address(w, pointer, &likely, 0, 0, &is_near);
        return load_neighbours(w, load, type, at, is_near);
    }
    if (stride == -1) {
        struct hdi_wide backwards = *w;
        backwards.mask = reversed(w, w->mask);
        result =
            reversed(w, hdi_wide_read(&backwards, type,
                                      hdi_access_offset(
                                          w, hdi_emit_operand(w->emit, pointer),
                                          -size * ((int64_t)w->lanes - 1)),
                                      align));
    } else if (hdi_window_pays(w, load, (uint64_t)size)) {
        return hdi_window_read(w, load, type);
    } else if (has_gather(w, type) && hdi_near_pays(w, load, (uint64_t)size)) {
        LLVMValueRef at,
            is_near = hdi_near_ask(w, pointer, (uint64_t)size, &at);
        hdi_note(w->emit->llvm, load, "%s", tested);
        return load_neighbours(w, load, type, at, is_near);
    } else if (has_gather(w, type)) {
        hdi_note(w->emit->llvm, load, "reads from scattered addresses");
        result = hdi_access_gather(w, type, hdi_wide_value(w, pointer), align);
    } else if (has_word_gather(w, type, align)) {
        hdi_note(w->emit->llvm, load, "reads from scattered addresses");
        return gather_from_words(w, type, hdi_wide_value(w, pointer));
    } else {
        return NULL;
    }
    hdi_access_copy_kind(w, load, result);
    return result;
}

void hdi_widen_load(struct hdi_wide *w, LLVMValueRef load)
{
    LLVMTypeRef type = LLVMTypeOf(load);

    if (hdi_map_get(&w->vectors, load))
        return; // with others before it
    if (!is_whole(type)) {
        hdi_by_lane(w, load, no_lanes);
        return;
    }
    if (hdi_record_load(w, load))
        return;
    LLVMValueRef other = find_pair(w, load);
    LLVMValueRef result = read_elements(w, load, other ? w->emit->i64 : type);
    if (!result) {
        hdi_by_lane(w, load, small);
        return;
    }
    hdi_map_set(&w->vectors, load,
                other ? take_half(w, result, type, 0) : result);
    if (other)
        hdi_map_set(&w->vectors, other, take_half(w, result, type, 1));
}

// All lanes write to one place: any one of them may have been the last.
// The highest lane that is on: as if lanes had gone one after the other.
static void store_last(struct hdi_wide *w, LLVMValueRef store)
{
    LLVMBuilderRef b = w->emit->builder;
    LLVMValueRef bits = hdi_wide_bits(w, w->mask);
    LLVMTypeRef type = LLVMTypeOf(bits);
    LLVMValueRef args[] = {bits, LLVMConstInt(w->emit->i1, 0, false)};
    LLVMValueRef zeros =
        hdi_wide_call(w, intrinsic_id("llvm.ctlz"), &type, 1, args, 2);
    LLVMValueRef last =
        LLVMBuildSub(b, LLVMConstInt(w->emit->i32, w->lanes - 1, false),
                     LLVMBuildIntCast2(b, zeros, w->emit->i32, false, ""), "");

    LLVMValueRef copy =
        LLVMBuildStore(b, hdi_wide_lane(w, LLVMGetOperand(store, 0), last),
                       hdi_emit_operand(w->emit, LLVMGetOperand(store, 1)));
    LLVMSetAlignment(copy, LLVMGetAlignment(store));
    hdi_access_copy_kind(w, store, copy);
}

// An element of each lane.
static void write_elements(struct hdi_wide *w, LLVMValueRef store,
                           LLVMValueRef value)
{
    struct hdi_likely likely;
    LLVMValueRef pointer = LLVMGetOperand(store, 1);
    LLVMTypeRef type = LLVMGetElementType(LLVMTypeOf(value));
    unsigned align = LLVMGetAlignment(store);
    int64_t size = (int64_t)LLVMABISizeOfType(w->emit->llvm->layout, type);

    if (hdi_linear_step(w->linear, pointer).by == size) {
        store_neighbours(w, store, value, hdi_emit_operand(w->emit, pointer),
                         NULL);
    } else if (find_likely(w, pointer, size, &likely)) {
        LLVMValueRef is_near;
        LLVMValueRef at =
            hdi_likely_address(w, pointer, &likely, 0, 0, &is_near);
        store_neighbours(w, store, value, at, is_near);
    } else if (has_gather(w, type) && hdi_near_pays(w, store, (uint64_t)size)) {
        LLVMValueRef at,
            is_near = hdi_near_ask(w, pointer, (uint64_t)size, &at);
        hdi_note(w->emit->llvm, store, "%s", tested);
        store_neighbours(w, store, value, at, is_near);
    } else if (has_gather(w, type)) {
        hdi_note(w->emit->llvm, store, "writes to scattered addresses");
        hdi_access_scatter(w, value, hdi_wide_value(w, pointer), align);
    } else {
        hdi_by_lane(w, store, small);
    }
}

// Where both halves of a pair store, the first only waits (`first_half`), and
// the second does it for both.
void hdi_widen_store(struct hdi_wide *w, LLVMValueRef store)
{
    LLVMValueRef value = LLVMGetOperand(store, 0);
    LLVMValueRef pointer = LLVMGetOperand(store, 1);
    bool one_place = hdi_linear_is_uniform(w->linear, pointer);

    if (one_place && hdi_linear_is_uniform(w->linear, value)) {
        hdi_emit_instruction(w->emit, store);
        return;
    }
    if (!is_whole(LLVMTypeOf(value))) {
        hdi_by_lane(w, store, no_lanes);
        return;
    }
    if (one_place) {
        store_last(w, store);
        return;
    }
    if (hdi_record_store(w, store))
        return;
    LLVMValueRef vector = hdi_wide_value(w, value);
    if (w->first_half && find_other(w, w->first_half) == store) {
        LLVMValueRef first = w->first_half;
        w->first_half = NULL;
        write_elements(w, first,
                       join_halves(w,
                                   hdi_wide_value(w, LLVMGetOperand(first, 0)),
                                   vector));
    } else if (find_pair(w, store)) {
        w->first_half = store; // the second comes in this block
    } else {
        write_elements(w, store, vector);
    }
}
