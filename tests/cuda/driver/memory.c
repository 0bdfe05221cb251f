// The memory of PTX: whether an access may be, loads, stores and atomics.
//
// In builds with a sanitizer this file has it, but the rest of the interpreter has
// not: what a kernel does to memory of the host is seen, and what orders it.
#include <stdio.h>

#include "tests/cuda/driver/machine.h"

bool ptx_within(uint64_t address, uint64_t size, const char *base,
                uint64_t bytes)
{
    uint64_t begin = (uint64_t)(uintptr_t)base;
    return address >= begin && address - begin <= bytes &&
           size <= bytes - (address - begin);
}

// The memory of an access; NULL: it may not be, and the block ends.
static void *memory_of(const struct lane *l, uint64_t address, uint64_t size,
                       uint8_t space)
{
    struct block *b = l->block;
    uint64_t base = (uint64_t)(uintptr_t)b->shared;

    // There they may be of 32 bits.
    if (space == PTX_SHARED && address >> 32 == 0)
        address = base + (uint32_t)(address - base);
    void *real = (void *)(uintptr_t)address;

    if (address % size != 0) {
        snprintf(b->launch->why, 256, "address %#llx of %llu bytes",
                 (unsigned long long)address, (unsigned long long)size);
        b->outcome = PTX_MISALIGNED;
        return NULL;
    }
    bool own = ptx_within(address, size, l->thread->stack, STACK),
         shared = ptx_within(address, size, b->shared, b->shared_bytes),
         parameters = ptx_within(address, size, b->launch->parameters,
                                 b->launch->entry->parameter_bytes);
    bool allowed = (own && space != PTX_GLOBAL && space != PTX_SHARED) ||
                   (shared && (space == PTX_SHARED || space == PTX_GENERIC)) ||
                   (parameters && (space == PTX_PARAM || space == PTX_GENERIC));
    if (!allowed)
        real = !own && !shared && (space == PTX_GLOBAL || space == PTX_GENERIC)
                   ? b->machine->find(b->machine->data, address, size)
                   : NULL;
    if (!real) {
        snprintf(b->launch->why, 256, "address %#llx, %llu bytes, space %d",
                 (unsigned long long)address, (unsigned long long)size, space);
        b->outcome = PTX_ILLEGAL_ADDRESS;
    }
    return real;
}

// What both sides of a mailbox or several blocks touch is never torn.
static uint64_t load_bytes(void *p, unsigned size, bool strong)
{
    int order = strong ? __ATOMIC_ACQUIRE : __ATOMIC_RELAXED;

    switch (size) {
    case 1:
        return __atomic_load_n((uint8_t *)p, order);
    case 2:
        return __atomic_load_n((uint16_t *)p, order);
    case 4:
        return __atomic_load_n((uint32_t *)p, order);
    default:
        return __atomic_load_n((uint64_t *)p, order);
    }
}

static void store_bytes(void *p, unsigned size, uint64_t value, bool strong)
{
    int order = strong ? __ATOMIC_RELEASE : __ATOMIC_RELAXED;

    switch (size) {
    case 1:
        __atomic_store_n((uint8_t *)p, (uint8_t)value, order);
        break;
    case 2:
        __atomic_store_n((uint16_t *)p, (uint16_t)value, order);
        break;
    case 4:
        __atomic_store_n((uint32_t *)p, (uint32_t)value, order);
        break;
    default:
        __atomic_store_n((uint64_t *)p, value, order);
    }
}

void ptx_load(const struct lane *l, const struct ptx_instruction *i)
{
    unsigned size = ptx_size_of(i->type), count = i->vector ? i->vector : 1;
    char *from = memory_of(l, ptx_get(l, &i->operands[1]),
                           (uint64_t)size * count, i->space);

    for (unsigned v = 0; from && v < count; v++) {
        const struct ptx_operand *to =
            i->vector ? &l->frame->function->lists[i->operands[0].index + v]
                      : &i->operands[0];
        uint64_t value = load_bytes(from + v * size, size, i->strong);
        ptx_set(l, to,
                ptx_is_signed(i->type) ? (uint64_t)ptx_extend(value, size)
                                       : value);
    }
}

void ptx_store(const struct lane *l, const struct ptx_instruction *i)
{
    unsigned size = ptx_size_of(i->type), count = i->vector ? i->vector : 1;
    char *to = memory_of(l, ptx_get(l, &i->operands[0]), (uint64_t)size * count,
                         i->space);

    for (unsigned v = 0; to && v < count; v++) {
        const struct ptx_operand *from =
            i->vector ? &l->frame->function->lists[i->operands[1].index + v]
                      : &i->operands[1];
        store_bytes(to + v * size, size, ptx_get(l, from), i->strong);
    }
}

static uint64_t combine(const struct ptx_instruction *i, uint64_t old,
                        uint64_t a, uint64_t b)
{
    unsigned size = ptx_size_of(i->type);
    bool s = ptx_is_signed(i->type);
    int64_t so = ptx_extend(old, size), sa = ptx_extend(a, size);

    old = ptx_clip(old, size), a = ptx_clip(a, size);
    switch (i->logic) {
    case AND:
        return old & a;
    case OR:
        return old | a;
    case XOR:
        return old ^ a;
    case ADD:
        return ptx_is_float(i->type) ? ptx_raw_of(ptx_real_of(old, i->type) +
                                                      ptx_real_of(a, i->type),
                                                  i->type)
                                     : old + a;
    case MIN:
        return s ? (uint64_t)(so < sa ? so : sa) : old < a ? old : a;
    case MAX:
        return s ? (uint64_t)(so > sa ? so : sa) : old > a ? old : a;
    case EXCH:
        return a;
    case CAS:
        return old == a ? b : old;
    case INC:
        return old >= a ? 0 : old + 1;
    default:
        return old == 0 || old > a ? a : old - 1;
    }
}

void ptx_change(const struct lane *l, const struct ptx_instruction *i)
{
    unsigned size = ptx_size_of(i->type);
    uint64_t a = ptx_get(l, &i->operands[2]), b = ptx_get(l, &i->operands[3]),
             old;
    void *p = memory_of(l, ptx_get(l, &i->operands[1]), size, i->space);

    if (!p)
        return;
    old = load_bytes(p, size, false);
    if (size == 4) {
        uint32_t seen = (uint32_t)old;
        while (!__atomic_compare_exchange_n(
            (uint32_t *)p, &seen, (uint32_t)combine(i, seen, a, b), false,
            __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
            ;
        old = seen;
    } else if (size == 8) {
        while (!__atomic_compare_exchange_n((uint64_t *)p, &old,
                                            combine(i, old, a, b), false,
                                            __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
            ;
    } else {
        uint16_t seen = (uint16_t)old;
        while (!__atomic_compare_exchange_n(
            (uint16_t *)p, &seen, (uint16_t)combine(i, seen, a, b), false,
            __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
            ;
        old = seen;
    }
    ptx_set(l, &i->operands[0], old);
}
