// Values of PTX, and operands of its instructions.
#include <math.h>
#include <string.h>
#include <time.h>

#include "tests/cuda/driver/machine.h"

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

// Values ----------------------------------------------------------------------

unsigned ptx_size_of(uint8_t type)
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

bool ptx_is_signed(uint8_t type)
{
    return type >= PTX_S8 && type <= PTX_S64;
}

bool ptx_is_float(uint8_t type)
{
    return type >= PTX_F16 && type <= PTX_F64;
}

uint64_t ptx_clip(uint64_t value, unsigned size)
{
    return size == 8 ? value : value & ((UINT64_C(1) << size * 8) - 1);
}

int64_t ptx_extend(uint64_t value, unsigned size)
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
uint16_t ptx_half_bits(double value, uint8_t rounding)
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

double ptx_real_of(uint64_t raw, uint8_t type)
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

uint64_t ptx_raw_of(double value, uint8_t type)
{
    float f = (float)value;
    uint64_t raw = 0;

    if (type == PTX_F16)
        return ptx_half_bits(value, RN);
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
uint64_t ptx_get(const struct lane *l, const struct ptx_operand *o)
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

uint64_t ptx_unsigned_of(const struct lane *l, const struct ptx_operand *o,
                         uint8_t type)
{
    return ptx_clip(ptx_get(l, o), ptx_size_of(type));
}

int64_t ptx_signed_of(const struct lane *l, const struct ptx_operand *o,
                      uint8_t type)
{
    return ptx_extend(ptx_get(l, o), ptx_size_of(type));
}

double ptx_real(const struct lane *l, const struct ptx_operand *o, uint8_t type)
{
    return ptx_real_of(ptx_get(l, o), type);
}

void ptx_set(const struct lane *l, const struct ptx_operand *o, uint64_t value)
{
    if (o->kind == PTX_REGISTER)
        l->frame->registers[o->index] = value;
}
