// Runs what parse.c has read.
#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/cuda/ptx.h"

enum {
    LANES = 32,
    TURN = 500, // instructions of a warp until another's turn
    STACK = 96 << 10,
    MAX_DEPTH = 64
};

#define OPERATIONS(X)                                                         \
    X(abs)                                                                    \
    X(activemask)                                                             \
    X(add)                                                                    \
    X(addc)                                                                   \
    X(and)                                                                    \
    X(atom) X(bar) X(barrier) X(bfe) X(bfi) X(bra) X(brev) X(brx) X(call)     \
        X(clz) X(copysign) X(cos) X(cvt) X(cvta) X(div) X(ex2) X(exit)        \
            X(fence) X(fma) X(isspacep) X(ld) X(lg2) X(mad) X(max) X(membar)  \
                X(min) X(mov) X(mul) X(nanosleep) X(neg) X(not) X(or) X(popc) \
                    X(prefetch) X(prmt) X(rcp) X(rem) X(ret) X(rsqrt) X(selp) \
                        X(setp) X(shf) X(shfl) X(shl) X(shr) X(sin) X(sqrt)   \
                            X(st) X(sub) X(subc) X(testp) X(trap) X(vote)     \
                                X(xor)

enum operation {
    DO_NOTHING,
#define DO(name) DO_##name,
    OPERATIONS(DO)
#undef DO
};

uint16_t ptx_operation(const char *name)
{
    static const char *const names[] = {"",
#define DO(name) #name,
                                        OPERATIONS(DO)
#undef DO
    };
    for (uint16_t i = 1; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return 0;
}

// Words of ptx_instruction.compare, logic and rounding, as parse.c numbers
// them.
enum {
    EQ = 1,
    NE,
    LT,
    LE,
    GT,
    GE,
    LO_,
    LS,
    HI_,
    HS,
    EQU,
    NEU,
    LTU,
    LEU,
    GTU,
    GEU,
    NUM,
    NAN_
};
enum {
    AND = 1,
    OR,
    XOR,
    ADD,
    MIN,
    MAX,
    EXCH,
    CAS,
    INC,
    DEC,
    ANY,
    ALL,
    BALLOT,
    UP,
    DOWN,
    BFLY,
    IDX,
    INFINITE_,
    FINITE,
    NOT_A_NUMBER,
    SUBNORMAL_,
    NORMAL_,
    LOW,
    HIGH,
    WIDE,
    WARP,
    LEFT,
    RIGHT,
    IS_SHARED,
    IS_LOCAL,
    IS_GLOBAL
};
enum {
    RN = 1,
    RZ,
    RM,
    RP,
    RNI,
    RZI,
    RMI,
    RPI
};

struct frame {
    const struct ptx_function *function;
    uint32_t pc, depth;
    uint64_t *registers;
    char *local, *parameters, *variables, *results;
    struct frame *caller;
    const struct ptx_operand *returned; // where the caller wants the result
};

enum state {
    RUNS,
    AT_BARRIER,
    AT_WARP,
    ENDED
};

struct thread {
    enum state state;
    struct frame *frame;
    char *stack; // frames, registers and local memory
    uint32_t used;
    uint32_t tid[3];
    uint32_t barrier, expected, mask;
    bool carry;
};

struct block {
    const struct ptx_machine *machine;
    const struct ptx_launch *launch;
    uint32_t id[3];
    uint32_t threads, live;
    struct thread *thread;
    char *shared;
    uint32_t shared_bytes, shared_static;
    uint64_t *steps; // of each warp since it last had its turn, for fairness
    enum ptx_outcome outcome;
    uint64_t quiet; // rounds in which nothing ran
};

// Values ----------------------------------------------------------------------

static unsigned size_of(uint8_t type)
{
    switch (type) {
    case PTX_B8:
    case PTX_U8:
    case PTX_S8:
        return 1;
    case PTX_B16:
    case PTX_U16:
    case PTX_S16:
    case PTX_F16:
        return 2;
    case PTX_B64:
    case PTX_U64:
    case PTX_S64:
    case PTX_F64:
        return 8;
    case PTX_PRED:
        return 1;
    default:
        return 4;
    }
}

static bool is_signed(uint8_t type)
{
    return type >= PTX_S8 && type <= PTX_S64;
}

static bool is_float(uint8_t type)
{
    return type >= PTX_F16 && type <= PTX_F64;
}

static uint64_t clip(uint64_t value, unsigned size)
{
    return size == 8 ? value : value & ((UINT64_C(1) << size * 8) - 1);
}

static int64_t extend(uint64_t value, unsigned size)
{
    unsigned shift = 64 - size * 8;
    return (int64_t)(value << shift) >> shift;
}

static double half_value(uint16_t h)
{
    unsigned exponent = h >> 10 & 31, fraction = h & 1023;
    double value = exponent == 0 ? ldexp(fraction, -24)
                   : exponent == 31
                       ? (fraction ? NAN : INFINITY)
                       : ldexp(fraction + 1024.0, (int)exponent - 25);
    return h >> 15 ? -value : value;
}

// To nearest even, or as `rounding` says.
static uint16_t half_bits(double value, uint8_t rounding)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    double x = fabs(value);

    if (isnan(value))
        return 0x7fff;
    if (isinf(value))
        return sign | 0x7c00;
    int exponent;
    frexp(x, &exponent);
    if (exponent < -13)
        exponent = -13;
    double unit = ldexp(1, exponent - 11), steps = x / unit;
    double whole = rounding == RZ   ? trunc(steps)
                   : rounding == RM ? (sign ? ceil(steps) : floor(steps))
                   : rounding == RP ? (sign ? floor(steps) : ceil(steps))
                                    : nearbyint(steps);
    x = whole * unit;
    if (x >= 65536) {
        bool away = rounding == RZ || (rounding == RM && !sign) ||
                    (rounding == RP && sign);
        return sign | (away ? 0x7bff : 0x7c00);
    }
    if (x < ldexp(1, -14))
        return sign | (uint16_t)(x * ldexp(1, 24));
    frexp(x, &exponent);
    return sign | (uint16_t)((exponent + 14) << 10) |
           (uint16_t)((x / ldexp(1, exponent - 11)) - 1024);
}

static double real_of(uint64_t raw, uint8_t type)
{
    float f;
    double d;
    uint32_t word = (uint32_t)raw;

    switch (type) {
    case PTX_F16:
        return half_value((uint16_t)raw);
    case PTX_F32:
        memcpy(&f, &word, 4);
        return (double)f;
    default:
        memcpy(&d, &raw, 8);
        return d;
    }
}

static uint64_t raw_of(double value, uint8_t type)
{
    float f = (float)value;
    uint64_t raw = 0;

    if (type == PTX_F16)
        return half_bits(value, RN);
    if (type == PTX_F32)
        memcpy(&raw, &f, 4);
    else
        memcpy(&raw, &value, 8);
    return raw;
}

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// Operands --------------------------------------------------------------------

struct lane {
    struct block *block;
    struct thread *thread;
    struct frame *frame;
    uint32_t index; // in the block
};

static uint64_t special(const struct lane *l, uint64_t number)
{
    const struct ptx_launch *launch = l->block->launch;

    if (number < PTX_NTID)
        return l->thread->tid[number];
    if (number < PTX_CTAID)
        return launch->block[number - PTX_NTID];
    if (number < PTX_NCTAID)
        return l->block->id[number - PTX_CTAID];
    if (number < PTX_LANE)
        return launch->grid[number - PTX_NCTAID];
    switch (number) {
    case PTX_LANE:
        return l->index % LANES;
    case PTX_WARP:
        return l->index / LANES;
    case PTX_MASK_LT:
        return (UINT64_C(1) << l->index % LANES) - 1;
    case PTX_TIME:
    case PTX_CLOCK:
        return now();
    default:
        return 0;
    }
}

// The bits of an operand, or the address that it is.
static uint64_t get(const struct lane *l, const struct ptx_operand *o)
{
    const char *base;

    switch (o->kind) {
    case PTX_REGISTER: {
        uint64_t value = l->frame->registers[o->index];
        return (o->negated ? !value : value) + (uint64_t)o->offset;
    }
    case PTX_NUMBER:
        return o->number + (uint64_t)o->offset;
    case PTX_SPECIAL:
        return special(l, o->number);
    case PTX_IN_SHARED:
        base = l->block->shared +
               (o->number == UINT64_MAX ? l->block->shared_static : o->number);
        return (uint64_t)(uintptr_t)base + (uint64_t)o->offset;
    case PTX_IN_LOCAL:
        base = l->frame->local;
        break;
    case PTX_IN_PARAMETER:
        base = l->frame->parameters + o->number;
        break;
    case PTX_IN_VARIABLE:
        base = l->frame->variables + o->number;
        break;
    case PTX_IN_RESULT:
        base = l->frame->results + o->number;
        break;
    default:
        return 0;
    }
    return (uint64_t)(uintptr_t)base + (uint64_t)o->offset;
}

static uint64_t unsigned_of(const struct lane *l, const struct ptx_operand *o,
                            uint8_t type)
{
    return clip(get(l, o), size_of(type));
}

static int64_t signed_of(const struct lane *l, const struct ptx_operand *o,
                         uint8_t type)
{
    return extend(get(l, o), size_of(type));
}

static double real(const struct lane *l, const struct ptx_operand *o,
                   uint8_t type)
{
    return real_of(get(l, o), type);
}

static void set(const struct lane *l, const struct ptx_operand *o,
                uint64_t value)
{
    if (o->kind == PTX_REGISTER)
        l->frame->registers[o->index] = value;
}

// Memory ----------------------------------------------------------------------

static bool within(uint64_t address, uint64_t size, const char *base,
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
    void *real = (void *)(uintptr_t)address;

    if (address % size != 0) {
        snprintf(b->launch->why, 256, "address %#llx of %llu bytes",
                 (unsigned long long)address, (unsigned long long)size);
        b->outcome = PTX_MISALIGNED;
        return NULL;
    }
    bool own = within(address, size, l->thread->stack, STACK),
         shared = within(address, size, b->shared, b->shared_bytes),
         parameters = within(address, size, b->launch->parameters,
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

static void load(const struct lane *l, const struct ptx_instruction *i)
{
    unsigned size = size_of(i->type), count = i->vector ? i->vector : 1;
    char *from =
        memory_of(l, get(l, &i->operands[1]), (uint64_t)size * count, i->space);

    for (unsigned v = 0; from && v < count; v++) {
        const struct ptx_operand *to =
            i->vector ? &l->frame->function->lists[i->operands[0].index + v]
                      : &i->operands[0];
        uint64_t value = load_bytes(from + v * size, size, i->strong);
        set(l, to, is_signed(i->type) ? (uint64_t)extend(value, size) : value);
    }
}

static void store(const struct lane *l, const struct ptx_instruction *i)
{
    unsigned size = size_of(i->type), count = i->vector ? i->vector : 1;
    char *to =
        memory_of(l, get(l, &i->operands[0]), (uint64_t)size * count, i->space);

    for (unsigned v = 0; to && v < count; v++) {
        const struct ptx_operand *from =
            i->vector ? &l->frame->function->lists[i->operands[1].index + v]
                      : &i->operands[1];
        store_bytes(to + v * size, size, get(l, from), i->strong);
    }
}

static uint64_t combine(const struct ptx_instruction *i, uint64_t old,
                        uint64_t a, uint64_t b)
{
    unsigned size = size_of(i->type);
    bool s = is_signed(i->type);
    int64_t so = extend(old, size), sa = extend(a, size);

    old = clip(old, size), a = clip(a, size);
    switch (i->logic) {
    case AND:
        return old & a;
    case OR:
        return old | a;
    case XOR:
        return old ^ a;
    case ADD:
        return is_float(i->type)
                   ? raw_of(real_of(old, i->type) + real_of(a, i->type),
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

static void change(const struct lane *l, const struct ptx_instruction *i)
{
    unsigned size = size_of(i->type);
    uint64_t a = get(l, &i->operands[2]), b = get(l, &i->operands[3]), old;
    void *p = memory_of(l, get(l, &i->operands[1]), size, i->space);

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
    set(l, &i->operands[0], old);
}

// Arithmetic ------------------------------------------------------------------

static uint64_t convert_to_integer(const struct ptx_instruction *i, double x)
{
    unsigned bits = size_of(i->type) * 8;

    switch (i->rounding) {
    case RNI:
        x = nearbyint(x);
        break;
    case RMI:
        x = floor(x);
        break;
    case RPI:
        x = ceil(x);
        break;
    default:
        x = trunc(x);
    }
    if (isnan(x))
        return 0;
    if (is_signed(i->type)) {
        double most = ldexp(1, (int)bits - 1);
        return x >= most
                   ? (uint64_t)(bits == 64 ? INT64_MAX
                                           : (INT64_C(1) << (bits - 1)) - 1)
               : x <= -most
                   ? (uint64_t)(bits == 64 ? INT64_MIN
                                           : -(INT64_C(1) << (bits - 1)))
                   : (uint64_t)(int64_t)x;
    }
    return x >= ldexp(1, (int)bits) ? clip(UINT64_MAX, bits / 8)
           : x <= 0                 ? 0
                                    : (uint64_t)x;
}

static void round_as(uint8_t rounding)
{
    static const int modes[] = {FE_TONEAREST, FE_TONEAREST, FE_TOWARDZERO,
                                FE_DOWNWARD, FE_UPWARD};
    if (rounding > RN && rounding <= RP)
        fesetround(modes[rounding]);
}

static uint64_t convert_real(const struct ptx_instruction *i, double x)
{
    volatile double wide = x;
    uint64_t raw;

    if (i->rounding >= RNI && i->rounding <= RPI)
        x = i->rounding == RNI   ? nearbyint(x)
            : i->rounding == RZI ? trunc(x)
            : i->rounding == RMI ? floor(x)
                                 : ceil(x);
    if (i->saturated)
        x = x > 0 ? (x < 1 ? x : 1) : 0;
    if (i->type == PTX_F16)
        return half_bits(x, i->rounding);
    wide = x;
    round_as(i->rounding);
    volatile float narrow = (float)wide;
    fesetround(FE_TONEAREST);
    if (i->type == PTX_F64)
        return raw_of(x, PTX_F64);
    float f = narrow;
    raw = 0;
    memcpy(&raw, &f, 4);
    return raw;
}

static uint64_t integer_to_real(const struct ptx_instruction *i, uint64_t raw)
{
    unsigned size = size_of(i->from);
    uint64_t result = 0;
    volatile int64_t s = extend(raw, size);
    volatile uint64_t u = clip(raw, size);

    round_as(i->rounding);
    if (i->type == PTX_F32) {
        volatile float v = is_signed(i->from) ? (float)s : (float)u;
        float f = v;
        memcpy(&result, &f, 4);
    } else {
        volatile double v = is_signed(i->from) ? (double)s : (double)u;
        double d = v;
        fesetround(FE_TONEAREST);
        return i->type == PTX_F16 ? half_bits(d, i->rounding)
                                  : raw_of(d, PTX_F64);
    }
    fesetround(FE_TONEAREST);
    return result;
}

static uint64_t convert(const struct lane *l, const struct ptx_instruction *i)
{
    uint64_t raw = get(l, &i->operands[1]);

    if (is_float(i->from))
        return is_float(i->type) ? convert_real(i, real_of(raw, i->from))
                                 : convert_to_integer(i, real_of(raw, i->from));
    if (is_float(i->type))
        return integer_to_real(i, raw);
    int64_t value = is_signed(i->from) ? extend(raw, size_of(i->from))
                                       : (int64_t)clip(raw, size_of(i->from));
    if (i->saturated) {
        unsigned bits = size_of(i->type) * 8;
        if (is_signed(i->type) && bits < 64) {
            int64_t most = (INT64_C(1) << (bits - 1)) - 1;
            if (is_signed(i->from) || value >= 0)
                value = value > most        ? most
                        : value < -most - 1 ? -most - 1
                                            : value;
        } else if (!is_signed(i->type)) {
            if (is_signed(i->from) && value < 0)
                value = 0;
            else if (bits < 64 && (uint64_t)value >> bits)
                value = (int64_t)clip(UINT64_MAX, bits / 8);
        }
    }
    // What is wider than the type is its extension.
    return is_signed(i->type)
               ? (uint64_t)extend((uint64_t)value, size_of(i->type))
               : clip((uint64_t)value, size_of(i->type));
}

static double least_of(double a, double b, bool most)
{
    if (isnan(a) || isnan(b))
        return isnan(a) ? b : a;
    if (a == b)
        return signbit(a) == most ? b : a;
    return (a < b) == !most ? a : b;
}

static double float_arithmetic(const struct ptx_instruction *i, double a,
                               double b, double c)
{
    bool single = i->type == PTX_F32;

    switch ((enum operation)i->operation) {
    case DO_add:
        return a + b;
    case DO_sub:
        return a - b;
    case DO_mul:
        return a * b;
    case DO_div:
        return single ? (double)((float)a / (float)b) : a / b;
    case DO_mad:
    case DO_fma:
        return single ? (double)fmaf((float)a, (float)b, (float)c)
                      : fma(a, b, c);
    case DO_min:
        return least_of(a, b, false);
    case DO_max:
        return least_of(a, b, true);
    case DO_abs:
        return fabs(a);
    case DO_neg:
        return -a;
    case DO_sqrt:
        return single ? (double)sqrtf((float)a) : sqrt(a);
    case DO_rsqrt:
        return 1 / sqrt(a);
    case DO_rcp:
        return single ? (double)(1 / (float)a) : 1 / a;
    case DO_ex2:
        return exp2(a);
    case DO_lg2:
        return log2(a);
    case DO_sin:
        return sin(a);
    case DO_cos:
        return cos(a);
    case DO_copysign:
        return copysign(b, a); // the sign comes first
    default:
        return NAN;
    }
}

static uint64_t bits_of(const struct lane *l, const struct ptx_instruction *i)
{
    uint64_t a = unsigned_of(l, &i->operands[1], i->type);
    unsigned position = (unsigned)get(l, &i->operands[2]) & 255,
             length = (unsigned)get(l, &i->operands[3]) & 255;
    unsigned bits = size_of(i->type) * 8;

    if (length == 0)
        return 0;
    if (is_signed(i->type)) {
        unsigned top = position + length - 1;
        int64_t value = extend(a, bits / 8);
        uint64_t sign = (uint64_t)value >> (top < bits ? top : bits - 1) & 1;
        uint64_t found =
            position >= bits ? (sign ? UINT64_MAX : 0) : a >> position;
        if (length < 64 && top < bits) {
            found &= (UINT64_C(1) << length) - 1;
            if (sign)
                found |= UINT64_MAX << length;
        } else if (sign && position < bits && bits - position < 64) {
            found |= UINT64_MAX << (bits - position);
        }
        return clip(found, bits / 8);
    }
    if (position >= bits)
        return 0;
    a >>= position;
    return length < 64 ? a & ((UINT64_C(1) << length) - 1) : a;
}

static uint64_t insert_bits(const struct lane *l,
                            const struct ptx_instruction *i)
{
    uint64_t a = unsigned_of(l, &i->operands[1], i->type),
             b = unsigned_of(l, &i->operands[2], i->type);
    unsigned position = (unsigned)get(l, &i->operands[3]) & 255,
             length = (unsigned)get(l, &i->operands[4]) & 255;
    unsigned bits = size_of(i->type) * 8;

    if (position >= bits || length == 0)
        return b;
    uint64_t mask = (length >= 64 ? UINT64_MAX : (UINT64_C(1) << length) - 1)
                    << position;
    return clip((b & ~mask) | (a << position & mask), bits / 8);
}

static uint64_t permute(uint64_t a, uint64_t b, uint64_t how)
{
    uint64_t both = (a & UINT32_MAX) | b << 32, result = 0;

    for (unsigned n = 0; n < 4; n++) {
        unsigned select = (unsigned)(how >> 4 * n) & 15;
        uint64_t byte = both >> 8 * (select & 7) & 255;
        if (select & 8)
            byte = byte & 128 ? 255 : 0;
        result |= byte << 8 * n;
    }
    return result;
}

static uint64_t multiply(const struct ptx_instruction *i, uint64_t a,
                         uint64_t b)
{
    unsigned size = size_of(i->type);
    __int128 s = (__int128)extend(a, size) * extend(b, size);
    unsigned __int128 u = (unsigned __int128)clip(a, size) * clip(b, size);

    if (i->logic == WIDE)
        return is_signed(i->type) ? (uint64_t)s : (uint64_t)u;
    if (i->logic == HIGH)
        return clip(is_signed(i->type) ? (uint64_t)(s >> size * 8)
                                       : (uint64_t)(u >> size * 8),
                    size);
    return clip((uint64_t)u, size);
}

static uint64_t divide(const struct ptx_instruction *i, uint64_t a, uint64_t b)
{
    unsigned size = size_of(i->type);
    int64_t sa = extend(a, size), sb = extend(b, size);
    bool rest = i->operation == DO_rem;

    a = clip(a, size), b = clip(b, size);
    if (b == 0) // no trap on a GPU
        return rest ? a : clip(UINT64_MAX, size);
    if (!is_signed(i->type))
        return rest ? a % b : a / b;
    if (sb == -1)
        return rest ? 0 : clip((uint64_t)-(unsigned __int128)sa, size);
    return clip((uint64_t)(rest ? sa % sb : sa / sb), size);
}

static uint64_t shift(const struct ptx_instruction *i, uint64_t a, uint64_t by)
{
    unsigned size = size_of(i->type), bits = size * 8;

    by &= UINT32_MAX;
    if (i->operation == DO_shl)
        return by >= bits ? 0 : clip(a << by, size);
    if (is_signed(i->type))
        return clip((uint64_t)(extend(a, size) >> (by >= bits ? bits - 1 : by)),
                    size);
    return by >= bits ? 0 : clip(a, size) >> by;
}

// add, addc, sub, subc and their carry.
static uint64_t sum(const struct lane *l, const struct ptx_instruction *i,
                    uint64_t a, uint64_t b)
{
    unsigned size = size_of(i->type);
    bool minus = i->operation == DO_sub || i->operation == DO_subc;
    bool with = i->operation == DO_addc || i->operation == DO_subc;
    unsigned __int128 x = clip(a, size), y = clip(b, size);
    unsigned __int128 c = with && l->thread->carry;

    unsigned __int128 r = minus ? x - y - c : x + y + c;
    if (i->carries)
        l->thread->carry = (r >> size * 8 & 1) != 0;
    return clip((uint64_t)r, size);
}

static bool compare(const struct lane *l, const struct ptx_instruction *i)
{
    const struct ptx_operand *a = &i->operands[1], *b = &i->operands[2];

    if (is_float(i->type)) {
        double x = real(l, a, i->type), y = real(l, b, i->type);
        bool none = isnan(x) || isnan(y);
        switch (i->compare) {
        case EQ:
            return x == y;
        case NE:
            return !none && x != y;
        case LT:
            return x < y;
        case LE:
            return x <= y;
        case GT:
            return x > y;
        case GE:
            return x >= y;
        case EQU:
            return none || x == y;
        case NEU:
            return none || x != y;
        case LTU:
            return none || x < y;
        case LEU:
            return none || x <= y;
        case GTU:
            return none || x > y;
        case GEU:
            return none || x >= y;
        case NUM:
            return !none;
        default:
            return none;
        }
    }
    uint64_t x = unsigned_of(l, a, i->type), y = unsigned_of(l, b, i->type);
    int64_t sx = signed_of(l, a, i->type), sy = signed_of(l, b, i->type);
    bool s = is_signed(i->type);
    switch (i->compare) {
    case EQ:
        return x == y;
    case NE:
        return x != y;
    case LT:
        return s ? sx < sy : x < y;
    case LE:
        return s ? sx <= sy : x <= y;
    case GT:
        return s ? sx > sy : x > y;
    case GE:
        return s ? sx >= sy : x >= y;
    case LO_:
        return x < y;
    case LS:
        return x <= y;
    case HI_:
        return x > y;
    default:
        return x >= y;
    }
}

static bool test_property(const struct ptx_instruction *i, double x)
{
    switch (i->logic) {
    case INFINITE_:
        return isinf(x);
    case FINITE:
        return isfinite(x);
    case NOT_A_NUMBER:
        return isnan(x);
    default:
        return !isnan(x);
    }
}

static void move(const struct lane *l, const struct ptx_instruction *i)
{
    const struct ptx_operand *to = &i->operands[0], *from = &i->operands[1];
    const struct ptx_operand *lists = l->frame->function->lists;

    if (to->kind == PTX_LIST) { // take apart
        unsigned size = size_of(i->type) / to->count;
        uint64_t value = get(l, from);
        for (unsigned n = 0; n < to->count; n++)
            set(l, &lists[to->index + n], clip(value >> n * size * 8, size));
    } else if (from->kind == PTX_LIST) { // put together
        unsigned size = size_of(i->type) / from->count;
        uint64_t value = 0;
        for (unsigned n = 0; n < from->count; n++)
            value |= clip(get(l, &lists[from->index + n]), size)
                     << n * size * 8;
        set(l, to, value);
    } else if (i->type == PTX_PRED) {
        set(l, to, get(l, from) != 0);
    } else {
        set(l, to, get(l, from));
    }
}

static bool is_in(const struct lane *l, const struct ptx_instruction *i)
{
    uint64_t address = get(l, &i->operands[1]);
    bool own = within(address, 1, l->thread->stack, STACK),
         shared = within(address, 1, l->block->shared, l->block->shared_bytes);

    return i->logic == IS_SHARED  ? shared
           : i->logic == IS_LOCAL ? own
                                  : !own && !shared;
}

// Two halves in one register.
static uint64_t both_halves(const struct ptx_instruction *i, uint64_t a,
                            uint64_t b, uint64_t c)
{
    struct ptx_instruction one = *i;
    uint64_t result = 0;

    one.type = PTX_F16;
    for (unsigned bit = 0; bit < 32; bit += 16)
        result |= raw_of(float_arithmetic(&one, real_of(a >> bit, PTX_F16),
                                          real_of(b >> bit, PTX_F16),
                                          real_of(c >> bit, PTX_F16)),
                         PTX_F16)
                  << bit;
    return result;
}

// What gives one value. False: it is something else.
static bool compute(const struct lane *l, const struct ptx_instruction *i)
{
    const struct ptx_operand *o = i->operands;
    unsigned size = size_of(i->type);
    uint64_t a = get(l, &o[1]), b = get(l, &o[2]), c, result;

    switch ((enum operation)i->operation) {
    case DO_add:
    case DO_addc:
    case DO_sub:
    case DO_subc:
    case DO_mul:
    case DO_mad:
    case DO_fma:
    case DO_div:
    case DO_min:
    case DO_max:
    case DO_abs:
    case DO_neg:
    case DO_sqrt:
    case DO_rsqrt:
    case DO_rcp:
    case DO_ex2:
    case DO_lg2:
    case DO_sin:
    case DO_cos:
    case DO_copysign:
        if (is_float(i->type)) {
            double x =
                float_arithmetic(i, real_of(a, i->type), real_of(b, i->type),
                                 real(l, &o[3], i->type));
            if (i->saturated)
                x = x > 0 ? (x < 1 ? x : 1) : 0;
            // Bits of what is no number go on.
            result =
                (i->operation == DO_neg || i->operation == DO_abs) && isnan(x)
                    ? (i->operation == DO_abs
                           ? clip(a, size) & ~(UINT64_C(1) << (size * 8 - 1))
                           : clip(a, size) ^ UINT64_C(1) << (size * 8 - 1))
                    : raw_of(x, i->type);
            break;
        }
        if (i->type == PTX_F16X2) {
            result = both_halves(i, a, b, get(l, &o[3]));
            break;
        }
        switch ((enum operation)i->operation) {
        case DO_mul:
            result = multiply(i, a, b);
            break;
        case DO_mad:
            c = get(l, &o[3]);
            result = multiply(i, a, b) + c;
            if (i->logic != WIDE)
                result = clip(result, size);
            else if (size == 2)
                result = clip(result, 4);
            break;
        case DO_div:
            result = divide(i, a, b);
            break;
        case DO_min:
        case DO_max: {
            bool less = is_signed(i->type) ? extend(a, size) < extend(b, size)
                                           : clip(a, size) < clip(b, size);
            result = clip(less == (i->operation == DO_min) ? a : b, size);
            break;
        }
        case DO_abs:
            result = clip(extend(a, size) < 0 ? -a : a, size);
            break;
        case DO_neg:
            result = clip(-a, size);
            break;
        default:
            result = sum(l, i, a, b);
        }
        break;
    case DO_rem:
        result = divide(i, a, b);
        break;
    case DO_and:
        result = a & b;
        break;
    case DO_or:
        result = a | b;
        break;
    case DO_xor:
        result = a ^ b;
        break;
    case DO_not:
        result = i->type == PTX_PRED ? !a : clip(~a, size);
        break;
    case DO_shl:
    case DO_shr:
        result = shift(i, a, b);
        break;
    case DO_shf: {
        uint64_t both = clip(a, 4) | clip(b, 4) << 32;
        unsigned by = (unsigned)get(l, &o[3]) & 31;
        result =
            i->logic == LEFT ? clip(both << by >> 32, 4) : clip(both >> by, 4);
        break;
    }
    case DO_bfe:
        result = bits_of(l, i);
        break;
    case DO_bfi:
        result = insert_bits(l, i);
        break;
    case DO_prmt:
        result = permute(a, b, get(l, &o[3]));
        break;
    case DO_clz:
        a = clip(a, size);
        result = a ? (uint64_t)__builtin_clzll(a) - (64 - size * 8) : size * 8;
        break;
    case DO_popc:
        result = (uint64_t)__builtin_popcountll(clip(a, size));
        break;
    case DO_brev:
        result = 0;
        for (unsigned n = 0; n < size * 8; n++)
            result |= (a >> n & 1) << (size * 8 - 1 - n);
        break;
    case DO_cvt:
        result = convert(l, i);
        break;
    case DO_cvta:
        result = a;
        break;
    case DO_isspacep:
        result = is_in(l, i);
        break;
    case DO_selp:
        result = get(l, &o[3]) ? a : b;
        break;
    case DO_setp: {
        bool found = compare(l, i), other = get(l, &o[3]) != 0;
        result = i->logic == AND   ? found && other
                 : i->logic == OR  ? found || other
                 : i->logic == XOR ? found != other
                                   : found;
        break;
    }
    case DO_testp:
        result = test_property(i, real_of(a, i->type));
        break;
    case DO_mov:
        move(l, i);
        return true;
    default:
        return false;
    }
    set(l, &o[0], result);
    return true;
}

// Control ---------------------------------------------------------------------

static void *take(struct thread *t, uint64_t bytes)
{
    void *memory = t->stack + t->used;
    uint32_t more = (uint32_t)((bytes + 63) / 64 * 64);

    if (t->used + more > STACK)
        return NULL;
    t->used += more;
    memset(memory, 0, more);
    return memory;
}

static struct frame *enter(struct thread *t, const struct ptx_function *f,
                           char *parameters)
{
    struct frame *frame = take(t, sizeof(*frame));

    if (!frame)
        return NULL;
    frame->function = f;
    frame->caller = t->frame;
    frame->depth = t->frame ? t->frame->depth + 1 : 0;
    frame->registers = take(t, 8 * ((uint64_t)f->registers + 1));
    frame->local = take(t, f->local_bytes + 1);
    frame->variables = take(t, f->variable_bytes + 1);
    frame->results = take(t, f->result_bytes + 1);
    frame->parameters =
        parameters ? parameters : take(t, f->parameter_bytes + 1);
    if (!frame->registers || !frame->local || !frame->variables ||
        !frame->results || !frame->parameters || frame->depth > MAX_DEPTH)
        return NULL;
    t->frame = frame;
    return frame;
}

static void call(const struct lane *l, const struct ptx_instruction *i)
{
    struct thread *t = l->thread;
    struct frame *from = l->frame;
    struct frame *to = enter(t, i->callee, NULL);

    if (!to) {
        l->block->outcome = PTX_UNKNOWN;
        snprintf(l->block->launch->why, 256, "the stack is too small");
        return;
    }
    to->returned = &i->operands[0];
    for (unsigned n = 0; n < i->operands[1].count; n++) {
        const struct ptx_operand *o =
            &from->function->lists[i->operands[1].index + n];
        memcpy(to->parameters + i->callee->parameters[n].offset,
               from->variables + o->number, i->callee->parameters[n].size);
    }
}

static void leave(const struct lane *l)
{
    struct thread *t = l->thread;
    struct frame *frame = t->frame, *caller = frame->caller;

    if (!caller) {
        t->state = ENDED;
        l->block->live--;
        return;
    }
    if (frame->returned->kind == PTX_IN_VARIABLE)
        memcpy(caller->variables + frame->returned->number, frame->results,
               frame->function->result_bytes);
    t->used = (uint32_t)((char *)frame - t->stack);
    t->frame = caller;
}

static void release_barriers(struct block *b)
{
    for (uint32_t number = 0; number < 16; number++) {
        uint32_t there = 0, expected = 0;
        for (uint32_t i = 0; i < b->threads; i++) {
            const struct thread *t = &b->thread[i];
            if (t->state != AT_BARRIER || t->barrier != number)
                continue;
            there++;
            expected = t->expected;
        }
        if (there == 0 || there < (expected ? expected : b->live))
            continue;
        for (uint32_t i = 0; i < b->threads; i++)
            if (b->thread[i].state == AT_BARRIER &&
                b->thread[i].barrier == number)
                b->thread[i].state = RUNS;
    }
}

static void release_lanes(struct block *b, uint32_t first)
{
    for (uint32_t i = first; i < first + LANES && i < b->threads; i++) {
        if (b->thread[i].state != AT_WARP)
            continue;
        uint32_t mask = b->thread[i].mask;
        bool all = true;
        for (uint32_t n = 0; n < LANES && first + n < b->threads; n++)
            if (mask >> n & 1)
                all = all && (b->thread[first + n].state == AT_WARP ||
                              b->thread[first + n].state == ENDED);
        if (!all)
            continue;
        for (uint32_t n = 0; n < LANES && first + n < b->threads; n++)
            if (mask >> n & 1 && b->thread[first + n].state == AT_WARP)
                b->thread[first + n].state = RUNS;
    }
}

static void act(const struct lane *l, const struct ptx_instruction *i,
                uint32_t active)
{
    struct thread *t = l->thread;
    struct block *b = l->block;

    switch ((enum operation)i->operation) {
    case DO_ld:
        load(l, i);
        break;
    case DO_st:
        store(l, i);
        break;
    case DO_atom:
        change(l, i);
        break;
    case DO_fence:
    case DO_membar:
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        break;
    case DO_prefetch:
    case DO_nanosleep:
        break;
    case DO_bra:
        l->frame->pc = i->target;
        break;
    case DO_brx: {
        const struct ptx_function *f = l->frame->function;
        l->frame->pc = f->tables[i->target + get(l, &i->operands[0])];
        break;
    }
    case DO_call:
        call(l, i);
        break;
    case DO_ret:
        leave(l);
        break;
    case DO_exit:
        t->state = ENDED;
        b->live--;
        break;
    case DO_bar:
    case DO_barrier:
        if (i->logic == WARP) {
            t->mask = (uint32_t)get(l, &i->operands[0]);
            t->state = AT_WARP;
            break;
        }
        t->barrier = (uint32_t)get(l, &i->operands[0]);
        t->expected = (uint32_t)get(l, &i->operands[1]);
        t->state = AT_BARRIER;
        if (t->barrier > 15 || t->expected % LANES != 0) {
            b->outcome = PTX_TRAPPED;
            snprintf(b->launch->why, 256, "barrier %u of %u threads",
                     t->barrier, t->expected);
        }
        break;
    case DO_activemask:
        set(l, &i->operands[0], active);
        break;
    case DO_trap:
        b->outcome = PTX_TRAPPED;
        snprintf(b->launch->why, 256, "trap");
        break;
    default:
        if (!compute(l, i)) {
            b->outcome = PTX_UNKNOWN;
            snprintf(b->launch->why, 256, "instruction of line %u", i->line);
        }
    }
}

// Warps -----------------------------------------------------------------------

// Whether `a` is behind `b`: what was called first is finished first.
static bool is_behind(const struct frame *a, const struct frame *b)
{
    return a->depth != b->depth ? a->depth > b->depth : a->pc < b->pc;
}

// The thread whose turn it is; with `fair`, the one that is furthest ahead,
// which others may be waiting for.
static struct frame *choose(struct block *b, uint32_t first, bool fair)
{
    struct frame *best = NULL;

    for (uint32_t i = first; i < first + LANES && i < b->threads; i++) {
        struct thread *t = &b->thread[i];
        if (t->state == RUNS && (!best || (is_behind(t->frame, best) != fair)))
            best = t->frame;
    }
    return best;
}

// One instruction for all threads of the warp that are at it.
static bool step(struct block *b, uint32_t first, bool fair)
{
    struct frame *leader = choose(b, first, fair);

    if (!leader)
        return false;
    const struct ptx_function *f = leader->function;
    uint32_t pc = leader->pc, depth = leader->depth, active = 0;
    if (pc >= f->count) {
        b->outcome = PTX_UNKNOWN;
        snprintf(b->launch->why, 256, "%.200s has no end", f->name);
        return true;
    }
    const struct ptx_instruction *i = &f->code[pc];
    for (uint32_t n = 0; n < LANES && first + n < b->threads; n++) {
        struct thread *t = &b->thread[first + n];
        if (t->state != RUNS || t->frame->function != f || t->frame->pc != pc ||
            t->frame->depth != depth)
            continue;
        t->frame->pc++;
        if (i->guard < 0 ||
            (t->frame->registers[i->guard] != 0) != i->guard_negated)
            active |= 1u << n;
    }
    for (uint32_t n = 0; n < LANES && b->outcome == PTX_DONE; n++)
        if (active >> n & 1) {
            struct thread *t = &b->thread[first + n];
            struct lane lane = {b, t, t->frame, first + n};
            act(&lane, i, active);
        }
    return true;
}

// False: nobody in the block could go on.
static bool run_turn(struct block *b)
{
    bool any = false;

    for (uint32_t first = 0; first < b->threads; first += LANES) {
        uint64_t *steps = &b->steps[first / LANES];
        for (unsigned n = 0; n < TURN && b->outcome == PTX_DONE; n++) {
            // Now and then those ahead, else a lane that waits for another's
            // store would keep it from storing.
            bool fair = *steps % 4096 >= 4096 - 256;
            if (!step(b, first, fair)) {
                release_lanes(b, first);
                if (!step(b, first, fair))
                    break;
            }
            ++*steps;
            any = true;
        }
        release_lanes(b, first);
    }
    if (b->outcome == PTX_DONE)
        release_barriers(b);
    return any;
}

// Blocks ----------------------------------------------------------------------

static bool start_block(struct block *b, const struct ptx_machine *machine,
                        const struct ptx_launch *launch, uint64_t number)
{
    uint32_t x = launch->grid[0], y = launch->grid[1];

    *b = (struct block){
        .machine = machine,
        .launch = launch,
        .id = {(uint32_t)(number % x), (uint32_t)(number / x % y),
               (uint32_t)(number / x / y)},
        .threads = launch->block[0] * launch->block[1] * launch->block[2],
        .shared_static =
            (uint32_t)(launch->entry->module->shared_bytes + 127) / 128 * 128,
    };
    b->live = b->threads;
    b->shared_bytes = b->shared_static + launch->shared_bytes;
    b->shared = aligned_alloc(1024, (b->shared_bytes + 2047) / 1024 * 1024);
    b->thread = calloc(b->threads, sizeof(*b->thread));
    b->steps = calloc(b->threads / LANES + 1, sizeof(*b->steps));
    if (!b->shared || !b->thread || !b->steps)
        return false;
    memset(b->shared, 0xcd, b->shared_bytes);
    for (uint32_t i = 0; i < b->threads; i++) {
        struct thread *t = &b->thread[i];
        t->tid[0] = i % launch->block[0];
        t->tid[1] = i / launch->block[0] % launch->block[1];
        t->tid[2] = i / launch->block[0] / launch->block[1];
        t->stack = aligned_alloc(64, STACK);
        if (!t->stack ||
            !enter(t, launch->entry, (char *)(uintptr_t)launch->parameters))
            return false;
    }
    return true;
}

static void end_block(struct block *b)
{
    for (uint32_t i = 0; b->thread && i < b->threads; i++)
        free(b->thread[i].stack);
    free(b->steps);
    free(b->thread);
    free(b->shared);
    *b = (struct block){0};
}

enum ptx_outcome ptx_run(const struct ptx_machine *machine,
                         const struct ptx_launch *launch)
{
    unsigned room = machine->blocks_at_once;
    struct block *blocks = calloc(room, sizeof(*blocks));
    uint64_t all =
        (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    uint64_t begun = 0, ended = 0;
    enum ptx_outcome outcome = blocks ? PTX_DONE : PTX_UNKNOWN;

    launch->why[0] = '\0';
    while (ended < all && outcome == PTX_DONE) {
        bool any = false;
        for (unsigned i = 0; i < room && outcome == PTX_DONE; i++) {
            struct block *b = &blocks[i];
            if (!b->thread && begun < all &&
                !start_block(b, machine, launch, begun++)) {
                snprintf(launch->why, 256, "no memory for a block");
                outcome = PTX_UNKNOWN;
                break;
            }
            if (!b->thread)
                continue;
            bool ran = run_turn(b);
            // Barriers may have let go at the end of the turn.
            b->quiet = ran ? 0 : b->quiet + 1;
            any = any || ran;
            outcome = b->outcome;
            if (b->live == 0) {
                end_block(b);
                ended++;
                any = true;
            } else if (b->quiet > 2 && outcome == PTX_DONE) {
                snprintf(launch->why, 256,
                         "threads wait for others that never come");
                outcome = PTX_DEADLOCK;
            }
        }
        if (outcome == PTX_DONE && atomic_load(machine->stop))
            outcome = PTX_STOPPED;
        (void)any;
    }
    for (unsigned i = 0; blocks && i < room; i++)
        end_block(&blocks[i]);
    free(blocks);
    return outcome;
}
