// Where lane after lane touches record after record, elements of a few of them
// are one stretch of memory: vectors that are loaded as they lie are taken
// apart, element by element of the records, and put together before they are
// stored.
//
// Of memory between the elements of a lane that is on, and between those of
// lanes that are on beside each other, loads may touch more than the kernel
// does: it is less than a page. Stores do not.
#include <string.h>

#include "kernel/compiler/analysis/address.h"
#include "kernel/compiler/analysis/operation.h"
#include "kernel/compiler/ir/rules.h"
#include "kernel/compiler/vectorise/access.h"
#include "kernel/compiler/wide/likely.h"

enum {
    MAX_ELEMENTS = 8,    // of a record
    MAX_BETWEEN = 64,    // instructions between the first and the last of them
    MAX_ADDED = 1 << 20, // to an index, from the least to the greatest
    MAX_LANES = 64
};

// For instance x, y and w of a float4 per lane: stride 4, used 4, count 3.
//
//     memory    x0 y0 z0 w0 x1 y1 z1 w1 x2 y2 z2 w2 x3 ...
//     loaded    [ vector 0  ][ vector 1  ][ vector 2  ]...   stride of them
//     apart     x0 x1 x2 x3   y0 y1 y2 y3   w0 w1 w2 w3      per element
struct record {
    LLVMTypeRef type; // of elements
    uint64_t size;    // of one [bytes]
    unsigned stride;  // elements from lane to lane
    unsigned used;    // of them that are between the first and the last
    unsigned count;   // accesses
    unsigned lowest;  // which of them is the first in memory
    LLVMValueRef accesses[MAX_ELEMENTS];
    unsigned elements[MAX_ELEMENTS]; // that they access
    int64_t added[MAX_ELEMENTS];     // to the index that all have in common
    bool is_likely;                  // but for an index that may wrap
};

// Finding ---------------------------------------------------------------------

static bool is_store(LLVMValueRef access)
{
    return LLVMIsAStoreInst(access) != NULL;
}

static bool is_access(const struct hdi_flow *flow, LLVMValueRef x)
{
    return (LLVMIsALoadInst(x) || LLVMIsAStoreInst(x)) &&
           hdi_slot_of(flow, x) == SIZE_MAX && hdi_is_plain_access(x);
}

// [bytes], 0: the type is none of elements of vectors.
static uint64_t element_size(const struct hdi_wide *w, LLVMTypeRef type)
{
    LLVMTargetDataRef layout = w->emit->llvm->layout;
    uint64_t size = hdi_has_lanes(type) ? LLVMABISizeOfType(layout, type) : 0;
    return LLVMSizeOfTypeInBits(layout, type) == 8 * size ? size : 0;
}

// Elements of these types may be parts of one vector.
static bool are_alike(LLVMTypeRef a, LLVMTypeRef b)
{
    return a == b || (LLVMGetTypeKind(a) != LLVMPointerTypeKind &&
                      LLVMGetTypeKind(b) != LLVMPointerTypeKind);
}

// In memories that have nothing in common.
static bool are_apart(LLVMValueRef a, LLVMValueRef b)
{
    LLVMTypeRef at = LLVMTypeOf(LLVMGetOperand(a, is_store(a)));
    LLVMTypeRef bt = LLVMTypeOf(LLVMGetOperand(b, is_store(b)));
    unsigned first = LLVMGetPointerAddressSpace(at);
    unsigned second = LLVMGetPointerAddressSpace(bt);

    return (first == HDI_SPACE_GLOBAL && second == HDI_SPACE_LOCAL) ||
           (first == HDI_SPACE_LOCAL && second == HDI_SPACE_GLOBAL);
}

// The bytes of records that are touched from `offset` on, as bits.
// Modulo the record, because another lane's record repeats it: accesses that
// share no bits touch different memory, whatever lanes they are of.
static uint64_t bytes_at(const struct record *r, int64_t offset, uint64_t size)
{
    uint64_t whole = r->stride * r->size;
    uint64_t at = (uint64_t)(offset % (int64_t)whole + (int64_t)whole) % whole;
    uint64_t bits = 0;

    for (uint64_t i = 0; i < size; i++)
        bits |= UINT64_C(1) << (at + i) % whole;
    return bits;
}

// The first access is at 0; `low` and `high` are offsets of the least and the
// greatest element so far, less than one record apart.
struct search {
    const struct hdi_wide *wide;
    struct record *record;
    struct hdi_address address;    // of the first access
    int64_t offsets[MAX_ELEMENTS]; // from there
    int64_t low, high;
    uint64_t taken; // by stores that wait for the last one, or before which
                    // loads come
};

static struct hdi_address address_of(const struct search *s,
                                     LLVMValueRef access)
{
    const struct hdi_emit *e = s->wide->emit;
    LLVMValueRef pointer = LLVMGetOperand(access, is_store(access));

    return s->record->is_likely ? hdi_address_likely(e->llvm, e->flow, pointer)
                                : hdi_address_of(e->llvm, e->flow, pointer);
}

// Where an index may wrap it is looked at by way of any of the accesses, so
// each must tell of it; and all that is added must be so to that index.
static bool is_like_first(const struct search *s, LLVMValueRef x,
                          const struct hdi_address *address)
{
    const struct record *r = s->record;

    if (!r->is_likely)
        return true;
    struct hdi_likely likely =
        hdi_likely_step(s->wide, LLVMGetOperand(x, is_store(x)));
    int64_t apart = r->count > 0 ? address->added - r->added[0] : 0;
    return likely.index && likely.step == (int64_t)(r->stride * r->size) &&
           (!address->extension || address->extension == likely.index) &&
           apart > -MAX_ADDED && apart < MAX_ADDED;
}

// Join `x` to the record. False: it is another's element.
static bool join(struct search *s, LLVMValueRef x,
                 const struct hdi_address *address)
{
    struct record *r = s->record;
    LLVMTypeRef type = hdi_access_type(x);
    int64_t size = (int64_t)r->size;
    int64_t offset = address->offset - s->address.offset;
    int64_t low = offset < s->low ? offset : s->low;
    int64_t high = offset > s->high ? offset : s->high;

    if (!are_alike(type, r->type) || element_size(s->wide, type) != r->size ||
        hdi_map_get(&s->wide->vectors, x) || offset % size != 0 ||
        high - low >= (int64_t)r->stride * size || r->count == MAX_ELEMENTS ||
        !is_like_first(s, x, address))
        return false;
    s->low = low;
    s->high = high;
    s->offsets[r->count] = offset;
    r->added[r->count] = address->added;
    r->accesses[r->count++] = x;
    return true;
}

// Take in what comes behind the first access. False: no more can be.
// Loads may pass loads, and what surely touches other memory. Stores are done
// where the last of them stands, so nothing between may read or write what they
// write.
static bool look_at(struct search *s, LLVMValueRef x)
{
    const struct hdi_wide *w = s->wide;
    const struct hdi_flow *flow = w->emit->flow;
    bool stores = is_store(s->record->accesses[0]);

    if (!is_access(flow, x))
        return !hdi_has_effects(flow, x) &&
               !hdi_call_is_barrier(hdi_call_kind(x));
    struct hdi_address address = address_of(s, x);
    if (!hdi_address_is_beside(&address, &s->address))
        return (!stores && !is_store(x)) ||
               are_apart(x, s->record->accesses[0]);
    int64_t offset = address.offset - s->address.offset;
    uint64_t bytes = bytes_at(
        s->record, offset,
        LLVMStoreSizeOfType(w->emit->llvm->layout, hdi_access_type(x)));
    if (stores != is_store(x)) {
        s->taken |= stores ? 0 : bytes;
        return !stores || (bytes & s->taken) == 0;
    }
    if (bytes & s->taken)
        return false;
    if (!join(s, x, &address))
        return !stores;
    s->taken |= stores ? bytes : 0;
    return true;
}

// What is stored with the first access is what the kernel stores there last.
// False: the first is none of a record.
static bool find_others(struct search *s, LLVMValueRef first)
{
    LLVMValueRef x = first;

    s->address = address_of(s, first);
    if (!join(s, first, &s->address))
        return false;
    if (is_store(first))
        s->taken = bytes_at(s->record, 0, s->record->size);
    for (unsigned i = 0; i < MAX_BETWEEN && !s->wide->emit->screening; i++) {
        x = LLVMGetNextInstruction(x);
        if (LLVMIsATerminatorInst(x) || !look_at(s, x))
            break;
    }
    return true;
}

static bool find(const struct hdi_wide *w, LLVMValueRef first, struct record *r)
{
    LLVMTypeRef type = hdi_access_type(first);
    struct hdi_likely likely =
        hdi_likely_step(w, LLVMGetOperand(first, is_store(first)));
    int64_t step = likely.step;
    uint64_t size = element_size(w, type);

    if (!hdi_rule_is_on(w->emit->llvm, HDI_RULE_RECORD) || size == 0 ||
        step == HDI_STEP_VARIES || step <= 0 || (uint64_t)step % size != 0 ||
        (uint64_t)step == size || (uint64_t)step / size > MAX_ELEMENTS)
        return false;
    *r = (struct record){.type = type,
                         .size = size,
                         .stride = (unsigned)((uint64_t)step / size),
                         .is_likely = likely.index != NULL};
    struct search search = {.wide = w, .record = r};
    if (!find_others(&search, first))
        return false;
    r->used = (unsigned)((search.high - search.low) / (int64_t)size) + 1;
    for (unsigned i = 0; i < r->count; i++) {
        r->elements[i] =
            (unsigned)((search.offsets[i] - search.low) / (int64_t)size);
        if (r->elements[i] == 0)
            r->lowest = i;
    }
    // Other processors have no masks for small elements.
    if (size < 4 && !w->emit->llvm->target.word_gather &&
        (!w->certain || r->count < r->stride))
        return false;
    // Else most of what is loaded is thrown away, and gathers cost less.
    const struct hdi_target *target = &w->emit->llvm->target;
    return r->stride * hdi_target_apart(target) <= r->count * target->gather;
}

// Vectors ---------------------------------------------------------------------

static LLVMValueRef shuffle(const struct hdi_wide *w, LLVMValueRef a,
                            LLVMValueRef b, unsigned begin, unsigned step)
{
    LLVMValueRef from[MAX_LANES];

    for (unsigned i = 0; i < w->lanes; i++)
        from[i] = LLVMConstInt(w->emit->i32, begin + i * step, false);
    return LLVMBuildShuffleVector(w->emit->builder, a, b,
                                  LLVMConstVector(from, w->lanes), "");
}

// Of `count` vectors as they lie, one for each of as many elements: every other
// one of all as long as they can be halved.
// Halving costs count * log2(count) shuffles of two vectors; odd counts take
// count * count.
static void take_apart(const struct hdi_wide *w, LLVMValueRef *all,
                       unsigned count)
{
    LLVMValueRef to[MAX_ELEMENTS];

    if (count == 1 || w->lanes == 1)
        return;
    if (count % 2 == 0) {
        for (unsigned i = 0; i < count; i++)
            to[i] = shuffle(w, all[i % (count / 2) * 2],
                            all[i % (count / 2) * 2 + 1], 2 * i >= count, 2);
        take_apart(w, to, count / 2);
        take_apart(w, to + count / 2, count / 2);
        for (unsigned i = 0; i < count; i++)
            all[i] = to[i % 2 * (count / 2) + i / 2];
        return;
    }
    for (unsigned k = 0; k < count; k++) {
        to[k] = LLVMGetPoison(LLVMTypeOf(all[0]));
        for (unsigned v = 0; v < count; v++) {
            LLVMValueRef from[MAX_LANES];
            for (unsigned i = 0; i < w->lanes; i++) {
                unsigned at = i * count + k;
                from[i] = LLVMConstInt(
                    w->emit->i32,
                    at / w->lanes == v ? w->lanes + at % w->lanes : i, false);
            }
            to[k] = LLVMBuildShuffleVector(w->emit->builder, to[k], all[v],
                                           LLVMConstVector(from, w->lanes), "");
        }
    }
    memcpy(all, to, count * sizeof(*all));
}

// The way back: with one lane, too, there is nothing to do.
static void put_together(const struct hdi_wide *w, LLVMValueRef *all,
                         unsigned count)
{
    LLVMValueRef to[MAX_ELEMENTS];

    if (count == 1 || w->lanes == 1)
        return;
    if (count % 2 == 0) {
        LLVMValueRef from[2][MAX_LANES];
        for (unsigned i = 0; i < w->lanes; i++)
            for (unsigned high = 0; high < 2; high++)
                from[high][i] = LLVMConstInt(
                    w->emit->i32, (i + high * w->lanes) / 2 + i % 2 * w->lanes,
                    false);
        for (unsigned i = 0; i < count; i++)
            to[i % 2 * (count / 2) + i / 2] = all[i];
        put_together(w, to, count / 2);
        put_together(w, to + count / 2, count / 2);
        for (unsigned i = 0; i < count; i++)
            all[i] = LLVMBuildShuffleVector(
                w->emit->builder, to[i / 2], to[count / 2 + i / 2],
                LLVMConstVector(from[i % 2], w->lanes), "");
        return;
    }
    for (unsigned v = 0; v < count; v++) {
        to[v] = LLVMGetPoison(LLVMTypeOf(all[0]));
        for (unsigned k = 0; k < count; k++) {
            LLVMValueRef from[MAX_LANES];
            for (unsigned i = 0; i < w->lanes; i++) {
                unsigned at = v * w->lanes + i;
                from[i] = LLVMConstInt(
                    w->emit->i32, at % count == k ? w->lanes + at / count : i,
                    false);
            }
            to[v] = LLVMBuildShuffleVector(w->emit->builder, to[v], all[k],
                                           LLVMConstVector(from, w->lanes), "");
        }
    }
    memcpy(all, to, count * sizeof(*all));
}

// Memory ----------------------------------------------------------------------

// The first element of all, by way of access `from`; `holds` as of
// hdi_likely_address().
static LLVMValueRef address(struct hdi_wide *w, const struct record *r,
                            unsigned from, LLVMValueRef *holds)
{
    LLVMValueRef access = r->accesses[from];
    LLVMValueRef pointer = LLVMGetOperand(access, is_store(access));
    struct hdi_likely likely = {0};
    int64_t low = r->added[from], high = low;

    for (unsigned i = 0; i < r->count; i++) {
        low = r->added[i] < low ? r->added[i] : low;
        high = r->added[i] > high ? r->added[i] : high;
    }
    if (r->is_likely)
        likely = hdi_likely_step(w, pointer);
    LLVMValueRef at = hdi_likely_address(
        w, pointer, &likely, (uint64_t)(r->added[from] - low),
        (uint64_t)(high - r->added[from]), holds);
    return hdi_access_offset(w, at, -(int64_t)(r->elements[from] * r->size));
}

static unsigned alignment(const struct hdi_wide *w, const struct record *r)
{
    unsigned lowest = LLVMGetAlignment(r->accesses[r->lowest]);
    uint64_t vector = w->lanes * r->size;
    return lowest < vector ? lowest : (unsigned)vector;
}

// The chunk as it is for vector `v`: which elements are accessed, of `wanted`
// ones of each record.
// Element `at` of all is that of lane at / stride, so its mask is that lane's.
// What the kernel does not access is masked, but for gaps inside loads.
static struct hdi_wide of_vector(struct hdi_wide *w, const struct record *r,
                                 unsigned v, uint64_t wanted)
{
    struct hdi_wide part = *w;
    LLVMValueRef from[MAX_LANES];
    bool all = true;

    for (unsigned i = 0; i < w->lanes; i++) {
        unsigned at = v * w->lanes + i;
        bool is_wanted = wanted >> at % r->stride & 1;
        // What is between the records of two lanes is read, not behind the
        // last.
        if (!is_wanted && w->certain && !is_store(r->accesses[0]))
            is_wanted = at / r->stride + 1 < w->lanes;
        all &= is_wanted;
        from[i] = LLVMConstInt(w->emit->i32,
                               is_wanted ? at / r->stride : w->lanes, false);
    }
    part.certain = w->certain && all;
    part.mask = LLVMBuildShuffleVector(w->emit->builder, w->mask,
                                       LLVMConstNull(LLVMTypeOf(w->mask)),
                                       LLVMConstVector(from, w->lanes), "");
    return part;
}

static LLVMValueRef bit_cast(struct hdi_wide *w, LLVMValueRef vector,
                             LLVMTypeRef type)
{
    return LLVMBuildBitCast(w->emit->builder, vector, hdi_wide_type(w, type),
                            "");
}

// All accesses say the same of memory.
static bool are_of_a_kind(const struct hdi_wide *w, const struct record *r)
{
    unsigned kind = LLVMGetMDKindIDInContext(w->emit->llvm->context, "tbaa", 4);

    for (unsigned i = 1; i < r->count; i++)
        if (LLVMGetMetadata(r->accesses[i], kind) !=
            LLVMGetMetadata(r->accesses[0], kind))
            return false;
    return true;
}

static void read_near(struct hdi_wide *w, const struct record *r,
                      LLVMValueRef at, LLVMValueRef *values)
{
    LLVMValueRef all[MAX_ELEMENTS];
    bool same_kind = are_of_a_kind(w, r);
    uint64_t bytes = w->lanes * r->size;

    for (unsigned v = 0; v < r->stride; v++) {
        struct hdi_wide part = of_vector(w, r, v, (UINT64_C(1) << r->used) - 1);
        all[v] = hdi_wide_read(&part, r->type,
                               hdi_access_offset(w, at, (int64_t)(v * bytes)),
                               alignment(w, r));
        if (same_kind)
            hdi_access_copy_kind(w, r->accesses[0], all[v]);
    }
    take_apart(w, all, r->stride);
    for (unsigned i = 0; i < r->count; i++)
        values[i] =
            bit_cast(w, all[r->elements[i]], LLVMTypeOf(r->accesses[i]));
}

// Elements of records that the kernel does not store are masked: others may be
// writing them.
static void write_near(struct hdi_wide *w, const struct record *r,
                       LLVMValueRef at, const LLVMValueRef *values)
{
    LLVMValueRef all[MAX_ELEMENTS];
    bool same_kind = are_of_a_kind(w, r);
    uint64_t bytes = w->lanes * r->size, wanted = 0;

    for (unsigned v = 0; v < r->stride; v++)
        all[v] = LLVMGetPoison(hdi_wide_type(w, r->type));
    for (unsigned i = 0; i < r->count; i++) {
        wanted |= UINT64_C(1) << r->elements[i];
        all[r->elements[i]] = bit_cast(w, values[i], r->type);
    }
    put_together(w, all, r->stride);
    for (unsigned v = 0; v < r->stride; v++) {
        struct hdi_wide part = of_vector(w, r, v, wanted);
        LLVMValueRef store = hdi_wide_write(
            &part, all[v], hdi_access_offset(w, at, (int64_t)(v * bytes)),
            alignment(w, r));
        if (same_kind)
            hdi_access_copy_kind(w, r->accesses[0], store);
    }
}

// The addresses of what access `i` accesses, by way of those of access `from`.
static LLVMValueRef addresses(struct hdi_wide *w, const struct record *r,
                              unsigned from, unsigned i)
{
    LLVMValueRef access = r->accesses[from];
    LLVMValueRef pointer = LLVMGetOperand(access, is_store(access));
    int64_t distance = ((int64_t)r->elements[i] - (int64_t)r->elements[from]) *
                       (int64_t)r->size;

    if (!r->is_likely)
        return hdi_access_offset(w, hdi_wide_value(w, pointer), distance);
    struct hdi_likely likely = hdi_likely_step(w, pointer);
    int64_t more = r->added[i] - r->added[from];
    return hdi_access_offset(w, hdi_likely_lanes(w, pointer, &likely, more),
                             distance - more * likely.scale);
}

bool hdi_record_load(struct hdi_wide *w, LLVMValueRef load)
{
    LLVMBuilderRef b = w->emit->builder;
    LLVMValueRef values[2][MAX_ELEMENTS];
    struct record r;
    struct hdi_ways ways;

    if (!find(w, load, &r))
        return false;
    LLVMValueRef holds, at = address(w, &r, 0, &holds);
    bool parts = hdi_access_part(w, load, w->lanes * r.stride * r.size, at,
                                 holds, &ways);
    read_near(w, &r, at, values[0]);
    if (parts) {
        LLVMBuildBr(b, ways.join);
        hdi_access_begin_way(w, ways.far, load);
        for (unsigned i = 0; i < r.count; i++)
            values[1][i] = hdi_access_far_read(w, LLVMTypeOf(r.accesses[i]),
                                               addresses(w, &r, 0, i),
                                               LLVMGetAlignment(r.accesses[i]));
        ways.far = LLVMGetInsertBlock(b);
        LLVMBuildBr(b, ways.join);
        hdi_build_at_end(b, ways.join);
    }
    for (unsigned i = 0; i < r.count; i++) {
        LLVMValueRef value = values[0][i];
        if (parts) {
            LLVMValueRef both[] = {value, values[1][i]};
            value = LLVMBuildPhi(b, LLVMTypeOf(value), "");
            LLVMAddIncoming(value, both,
                            (LLVMBasicBlockRef[]){ways.near, ways.far}, 2);
        }
        hdi_map_set(&w->vectors, r.accesses[i], value);
    }
    return true;
}

// Called for each of the stores: all but the last only note that they wait
// (first_of_record), and find() comes to the same set each time.
bool hdi_record_store(struct hdi_wide *w, LLVMValueRef store)
{
    LLVMValueRef values[MAX_ELEMENTS];
    LLVMValueRef first = w->first_of_record ? w->first_of_record : store;
    struct record r;
    struct hdi_ways ways;

    if (w->first_half || !find(w, first, &r))
        return false;
    unsigned last = r.count - 1;
    w->first_of_record = r.accesses[last] == store ? NULL : first;
    if (w->first_of_record)
        return true; // the last one comes in this block
    for (unsigned i = 0; i < r.count; i++)
        values[i] = hdi_wide_value(w, LLVMGetOperand(r.accesses[i], 0));
    LLVMValueRef holds, at = address(w, &r, last, &holds);
    bool parts = hdi_access_part(w, store, w->lanes * r.stride * r.size, at,
                                 holds, &ways);
    write_near(w, &r, at, values);
    if (!parts)
        return true;
    LLVMBuildBr(w->emit->builder, ways.join);
    hdi_access_begin_way(w, ways.far, store);
    for (unsigned i = 0; i < r.count; i++)
        hdi_access_far_write(w, values[i], addresses(w, &r, last, i),
                             LLVMGetAlignment(r.accesses[i]));
    LLVMBuildBr(w->emit->builder, ways.join);
    hdi_build_at_end(w->emit->builder, ways.join);
    return true;
}
