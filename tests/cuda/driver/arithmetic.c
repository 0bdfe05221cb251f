// Instructions of PTX that compute: everything but memory and control.
#include <fenv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/driver/machine.h"

// Arithmetic ------------------------------------------------------------------

static uint64_t convert_to_integer(const struct ptx_instruction *i, double x)
{
    unsigned bits = ptx_size_of(i->type) * 8;

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
    if (ptx_is_signed(i->type)) {
        double most = ldexp(1, (int)bits - 1);
        return x >= most
                   ? (uint64_t)(bits == 64 ? INT64_MAX
                                           : (INT64_C(1) << (bits - 1)) - 1)
               : x <= -most
                   ? (uint64_t)(bits == 64 ? INT64_MIN
                                           : -(INT64_C(1) << (bits - 1)))
                   : (uint64_t)(int64_t)x;
    }
    return x >= ldexp(1, (int)bits) ? ptx_clip(UINT64_MAX, bits / 8)
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
        return ptx_half_bits(x, i->rounding);
    wide = x;
    round_as(i->rounding);
    volatile float narrow = (float)wide;
    fesetround(FE_TONEAREST);
    if (i->type == PTX_F64)
        return ptx_raw_of(x, PTX_F64);
    float f = narrow;
    raw = 0;
    memcpy(&raw, &f, 4);
    return raw;
}

static uint64_t integer_to_real(const struct ptx_instruction *i, uint64_t raw)
{
    unsigned size = ptx_size_of(i->from);
    uint64_t result = 0;
    volatile int64_t s = ptx_extend(raw, size);
    volatile uint64_t u = ptx_clip(raw, size);

    round_as(i->rounding);
    if (i->type == PTX_F32) {
        volatile float v = ptx_is_signed(i->from) ? (float)s : (float)u;
        float f = v;
        memcpy(&result, &f, 4);
    } else {
        volatile double v = ptx_is_signed(i->from) ? (double)s : (double)u;
        double d = v;
        fesetround(FE_TONEAREST);
        return i->type == PTX_F16 ? ptx_half_bits(d, i->rounding)
                                  : ptx_raw_of(d, PTX_F64);
    }
    fesetround(FE_TONEAREST);
    return result;
}

static uint64_t convert(const struct lane *l, const struct ptx_instruction *i)
{
    uint64_t raw = ptx_get(l, &i->operands[1]);

    if (ptx_is_float(i->from))
        return ptx_is_float(i->type)
                   ? convert_real(i, ptx_real_of(raw, i->from))
                   : convert_to_integer(i, ptx_real_of(raw, i->from));
    if (ptx_is_float(i->type))
        return integer_to_real(i, raw);
    int64_t value = ptx_is_signed(i->from)
                        ? ptx_extend(raw, ptx_size_of(i->from))
                        : (int64_t)ptx_clip(raw, ptx_size_of(i->from));
    if (i->saturated) {
        unsigned bits = ptx_size_of(i->type) * 8;
        if (ptx_is_signed(i->type) && bits < 64) {
            int64_t most = (INT64_C(1) << (bits - 1)) - 1;
            if (ptx_is_signed(i->from) || value >= 0)
                value = value > most        ? most
                        : value < -most - 1 ? -most - 1
                                            : value;
        } else if (!ptx_is_signed(i->type)) {
            if (ptx_is_signed(i->from) && value < 0)
                value = 0;
            else if (bits < 64 && (uint64_t)value >> bits)
                value = (int64_t)ptx_clip(UINT64_MAX, bits / 8);
        }
    }
    // What is wider than the type is its extension.
    return ptx_is_signed(i->type)
               ? (uint64_t)ptx_extend((uint64_t)value, ptx_size_of(i->type))
               : ptx_clip((uint64_t)value, ptx_size_of(i->type));
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
    uint64_t a = ptx_unsigned_of(l, &i->operands[1], i->type);
    unsigned position = (unsigned)ptx_get(l, &i->operands[2]) & 255,
             length = (unsigned)ptx_get(l, &i->operands[3]) & 255;
    unsigned bits = ptx_size_of(i->type) * 8;

    if (length == 0)
        return 0;
    if (ptx_is_signed(i->type)) {
        unsigned top = position + length - 1;
        int64_t value = ptx_extend(a, bits / 8);
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
        return ptx_clip(found, bits / 8);
    }
    if (position >= bits)
        return 0;
    a >>= position;
    return length < 64 ? a & ((UINT64_C(1) << length) - 1) : a;
}

static uint64_t insert_bits(const struct lane *l,
                            const struct ptx_instruction *i)
{
    uint64_t a = ptx_unsigned_of(l, &i->operands[1], i->type),
             b = ptx_unsigned_of(l, &i->operands[2], i->type);
    unsigned position = (unsigned)ptx_get(l, &i->operands[3]) & 255,
             length = (unsigned)ptx_get(l, &i->operands[4]) & 255;
    unsigned bits = ptx_size_of(i->type) * 8;

    if (position >= bits || length == 0)
        return b;
    uint64_t mask = (length >= 64 ? UINT64_MAX : (UINT64_C(1) << length) - 1)
                    << position;
    return ptx_clip((b & ~mask) | (a << position & mask), bits / 8);
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
    unsigned size = ptx_size_of(i->type);
    __int128 s = (__int128)ptx_extend(a, size) * ptx_extend(b, size);
    unsigned __int128 u =
        (unsigned __int128)ptx_clip(a, size) * ptx_clip(b, size);

    if (i->logic == WIDE)
        return ptx_is_signed(i->type) ? (uint64_t)s : (uint64_t)u;
    if (i->logic == HIGH)
        return ptx_clip(ptx_is_signed(i->type) ? (uint64_t)(s >> size * 8)
                                               : (uint64_t)(u >> size * 8),
                        size);
    return ptx_clip((uint64_t)u, size);
}

static uint64_t divide(const struct ptx_instruction *i, uint64_t a, uint64_t b)
{
    unsigned size = ptx_size_of(i->type);
    int64_t sa = ptx_extend(a, size), sb = ptx_extend(b, size);
    bool rest = i->operation == DO_rem;

    a = ptx_clip(a, size), b = ptx_clip(b, size);
    if (b == 0) // no trap on a GPU
        return rest ? a : ptx_clip(UINT64_MAX, size);
    if (!ptx_is_signed(i->type))
        return rest ? a % b : a / b;
    if (sb == -1)
        return rest ? 0 : ptx_clip((uint64_t)-(unsigned __int128)sa, size);
    return ptx_clip((uint64_t)(rest ? sa % sb : sa / sb), size);
}

static uint64_t shift(const struct ptx_instruction *i, uint64_t a, uint64_t by)
{
    unsigned size = ptx_size_of(i->type), bits = size * 8;

    by &= UINT32_MAX;
    if (i->operation == DO_shl)
        return by >= bits ? 0 : ptx_clip(a << by, size);
    if (ptx_is_signed(i->type))
        return ptx_clip(
            (uint64_t)(ptx_extend(a, size) >> (by >= bits ? bits - 1 : by)),
            size);
    return by >= bits ? 0 : ptx_clip(a, size) >> by;
}

// add, addc, sub, subc and their carry.
static uint64_t sum(const struct lane *l, const struct ptx_instruction *i,
                    uint64_t a, uint64_t b)
{
    unsigned size = ptx_size_of(i->type);
    bool minus = i->operation == DO_sub || i->operation == DO_subc;
    bool with = i->operation == DO_addc || i->operation == DO_subc;
    unsigned __int128 x = ptx_clip(a, size), y = ptx_clip(b, size);
    unsigned __int128 c = with && l->thread->carry;

    unsigned __int128 r = minus ? x - y - c : x + y + c;
    if (i->carries)
        l->thread->carry = (r >> size * 8 & 1) != 0;
    return ptx_clip((uint64_t)r, size);
}

static bool compare(const struct lane *l, const struct ptx_instruction *i)
{
    const struct ptx_operand *a = &i->operands[1], *b = &i->operands[2];

    if (ptx_is_float(i->type)) {
        double x = ptx_real(l, a, i->type), y = ptx_real(l, b, i->type);
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
    uint64_t x = ptx_unsigned_of(l, a, i->type),
             y = ptx_unsigned_of(l, b, i->type);
    int64_t sx = ptx_signed_of(l, a, i->type),
            sy = ptx_signed_of(l, b, i->type);
    bool s = ptx_is_signed(i->type);
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
        unsigned size = ptx_size_of(i->type) / to->count;
        uint64_t value = ptx_get(l, from);
        for (unsigned n = 0; n < to->count; n++)
            ptx_set(l, &lists[to->index + n],
                    ptx_clip(value >> n * size * 8, size));
    } else if (from->kind == PTX_LIST) { // put together
        unsigned size = ptx_size_of(i->type) / from->count;
        uint64_t value = 0;
        for (unsigned n = 0; n < from->count; n++)
            value |= ptx_clip(ptx_get(l, &lists[from->index + n]), size)
                     << n * size * 8;
        ptx_set(l, to, value);
    } else if (i->type == PTX_PRED) {
        ptx_set(l, to, ptx_get(l, from) != 0);
    } else {
        ptx_set(l, to, ptx_get(l, from));
    }
}

static bool is_in(const struct lane *l, const struct ptx_instruction *i)
{
    uint64_t address = ptx_get(l, &i->operands[1]);
    bool own = ptx_within(address, 1, l->thread->stack, STACK),
         shared =
             ptx_within(address, 1, l->block->shared, l->block->shared_bytes);

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
        result |=
            ptx_raw_of(float_arithmetic(&one, ptx_real_of(a >> bit, PTX_F16),
                                        ptx_real_of(b >> bit, PTX_F16),
                                        ptx_real_of(c >> bit, PTX_F16)),
                       PTX_F16)
            << bit;
    return result;
}

// What gives one value. False: it is something else.
bool ptx_compute(const struct lane *l, const struct ptx_instruction *i)
{
    const struct ptx_operand *o = i->operands;
    unsigned size = ptx_size_of(i->type);
    uint64_t a = ptx_get(l, &o[1]), b = ptx_get(l, &o[2]), c, result;

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
        if (ptx_is_float(i->type)) {
            double x = float_arithmetic(i, ptx_real_of(a, i->type),
                                        ptx_real_of(b, i->type),
                                        ptx_real(l, &o[3], i->type));
            if (i->saturated)
                x = x > 0 ? (x < 1 ? x : 1) : 0;
            // Bits of what is no number go on.
            result =
                (i->operation == DO_neg || i->operation == DO_abs) && isnan(x)
                    ? (i->operation == DO_abs
                           ? ptx_clip(a, size) &
                                 ~(UINT64_C(1) << (size * 8 - 1))
                           : ptx_clip(a, size) ^ UINT64_C(1) << (size * 8 - 1))
                    : ptx_raw_of(x, i->type);
            break;
        }
        if (i->type == PTX_F16X2) {
            result = both_halves(i, a, b, ptx_get(l, &o[3]));
            break;
        }
        switch ((enum operation)i->operation) {
        case DO_mul:
            result = multiply(i, a, b);
            break;
        case DO_mad:
            c = ptx_get(l, &o[3]);
            result = multiply(i, a, b) + c;
            if (i->logic != WIDE)
                result = ptx_clip(result, size);
            else if (size == 2)
                result = ptx_clip(result, 4);
            break;
        case DO_div:
            result = divide(i, a, b);
            break;
        case DO_min:
        case DO_max: {
            bool less = ptx_is_signed(i->type)
                            ? ptx_extend(a, size) < ptx_extend(b, size)
                            : ptx_clip(a, size) < ptx_clip(b, size);
            result = ptx_clip(less == (i->operation == DO_min) ? a : b, size);
            break;
        }
        case DO_abs:
            result = ptx_clip(ptx_extend(a, size) < 0 ? -a : a, size);
            break;
        case DO_neg:
            result = ptx_clip(-a, size);
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
        result = i->type == PTX_PRED ? !a : ptx_clip(~a, size);
        break;
    case DO_shl:
    case DO_shr:
        result = shift(i, a, b);
        break;
    case DO_shf: {
        uint64_t both = ptx_clip(a, 4) | ptx_clip(b, 4) << 32;
        unsigned by = (unsigned)ptx_get(l, &o[3]) & 31;
        result = i->logic == LEFT ? ptx_clip(both << by >> 32, 4)
                                  : ptx_clip(both >> by, 4);
        break;
    }
    case DO_bfe:
        result = bits_of(l, i);
        break;
    case DO_bfi:
        result = insert_bits(l, i);
        break;
    case DO_prmt:
        result = permute(a, b, ptx_get(l, &o[3]));
        break;
    case DO_clz:
        a = ptx_clip(a, size);
        result = a ? (uint64_t)__builtin_clzll(a) - (64 - size * 8) : size * 8;
        break;
    case DO_popc:
        result = (uint64_t)__builtin_popcountll(ptx_clip(a, size));
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
        result = ptx_get(l, &o[3]) ? a : b;
        break;
    case DO_setp: {
        bool found = compare(l, i), other = ptx_get(l, &o[3]) != 0;
        result = i->logic == AND   ? found && other
                 : i->logic == OR  ? found || other
                 : i->logic == XOR ? found != other
                                   : found;
        break;
    }
    case DO_testp:
        result = test_property(i, ptx_real_of(a, i->type));
        break;
    case DO_mov:
        move(l, i);
        return true;
    default:
        return false;
    }
    ptx_set(l, &o[0], result);
    return true;
}
