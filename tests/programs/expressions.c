// Numbers, types, and expressions of them.
#include "tests/programs/generator.h"

#include <stdarg.h>

static const char *const base_names[] = {"char", "uchar", "short", "ushort",
                                         "int",  "uint",  "long",  "ulong"};
static const unsigned widths[] = {1, 2, 3, 4, 8, 16};

// Numbers ---------------------------------------------------------------------

uint32_t draw(struct generator *g, uint32_t below)
{
    g->state ^= g->state << 13;
    g->state ^= g->state >> 7;
    g->state ^= g->state << 17;
    return (uint32_t)((g->state * UINT64_C(0x2545f4914f6cdd1d)) >> 33) % below;
}

bool chance(struct generator *g, uint32_t percent)
{
    return draw(g, 100) < percent;
}

__attribute__((format(printf, 2, 3))) void put(struct generator *g,
                                               const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vfprintf(g->to, format, args);
    va_end(args);
}

// Types -----------------------------------------------------------------------

const char *name_of(struct type t)
{
    static char names[8][16];
    static unsigned next;
    char *name = names[next++ % 8];

    if (t.width == 1)
        return base_names[t.base];
    snprintf(name, sizeof(names[0]), "%s%u", base_names[t.base], t.width);
    return name;
}

bool is_signed(struct type t)
{
    return t.base % 2 == 0;
}

static struct type without_sign(struct type t)
{
    return (struct type){t.base | 1, t.width};
}

struct type scalar_type(struct generator *g)
{
    return (struct type){(uint8_t)draw(g, 8), 1};
}

struct type any_type(struct generator *g)
{
    struct type t = scalar_type(g);

    if (chance(g, 40))
        t.width = (uint8_t)widths[draw(g, 6)];
    return t;
}

unsigned size_of(struct type t)
{
    return 1u << (t.base / 2);
}

// Expressions -----------------------------------------------------------------

static void literal(struct generator *g, struct type t)
{
    static const uint64_t edges[] = {0,      1,      2,          3,
                                     7,      0x7f,   0x80,       0xff,
                                     0x7fff, 0x8000, 0x7fffffff, 0x80000000u};
    uint64_t value = chance(g, 60) ? edges[draw(g, 12)] : draw(g, 1u << 30);

    put(g, "(%s)", name_of(t));
    if (t.width == 1 || chance(g, 50)) {
        put(g, "%lluul", (unsigned long long)value);
        return;
    }
    put(g, "(");
    for (unsigned i = 0; i < t.width; i++)
        put(g, "%s%u", i ? ", " : "", draw(g, 128));
    put(g, ")");
}

const struct variable *find(struct generator *g, struct type t, bool assigned)
{
    unsigned first = g->variable_count ? draw(g, g->variable_count) : 0;

    for (unsigned i = 0; i < g->variable_count; i++) {
        const struct variable *v =
            &g->variables[(first + i) % g->variable_count];
        if (v->type.base == t.base && v->type.width == t.width &&
            !(assigned && v->fixed))
            return v;
    }
    return NULL;
}

const struct variable *any_variable(struct generator *g)
{
    return &g->variables[draw(g, g->variable_count)]; // `got` is always there
}

static void convert(struct generator *g, struct type t, unsigned depth)
{
    if (t.width == 1) {
        const struct variable *v = any_variable(g);
        put(g, "(%s)(%s", name_of(t), v->text);
        if (v->type.width > 1)
            put(g, ".s%x", draw(g, v->type.width));
        put(g, ")");
        return;
    }
    struct type from = {(uint8_t)draw(g, 8), t.width};
    if (chance(g, 50)) {
        put(g, "convert_%s(", name_of(t));
        expression(g, from, depth);
        put(g, ")");
        return;
    }
    from.base = t.base ^ 1;
    put(g, "as_%s(", name_of(t));
    expression(g, from, depth);
    put(g, ")");
}

static void leaf(struct generator *g, struct type t)
{
    const struct variable *v = find(g, t, false);

    if (v && chance(g, 75))
        put(g, "%s", v->text);
    else if (g->variable_count > 0 && t.width == 1 && chance(g, 60))
        convert(g, t, 0);
    else
        literal(g, t);
}

// Signed numbers are added as unsigned ones, which wrap.
static void arithmetic(struct generator *g, struct type t, unsigned depth)
{
    static const char *const operators[] = {"+", "-", "*", "^", "|", "&"};
    const char *operator= operators[draw(g, 6)];
    struct type u = without_sign(t);

    if (t.width == 1)
        put(g, "(%s)((%s)(", name_of(t), size_of(t) == 8 ? "ulong" : "uint");
    else
        put(g, "as_%s(as_%s(", name_of(t), name_of(u));
    expression(g, t, depth);
    if (t.width == 1)
        put(g, ") %s (%s)(", operator, size_of(t) == 8 ? "ulong" : "uint");
    else
        put(g, ") %s as_%s(", operator, name_of(u));
    expression(g, t, depth);
    put(g, "))");
}

// Neither by zero, nor the least number by -1: unsigned, and by an odd number.
static void quotient(struct generator *g, struct type t, unsigned depth)
{
    struct type u = without_sign(t);

    put(g, t.width == 1 ? "(%s)((" : "as_%s((", name_of(t));
    expression(g, u, depth);
    put(g, ") %s ((", chance(g, 50) ? "/" : "%");
    expression(g, u, depth);
    put(g, ") | (%s)1))", name_of(u));
}

static void shift(struct generator *g, struct type t, unsigned depth)
{
    unsigned bits = size_of(t) * 8;
    struct type u = without_sign(t);
    bool left = chance(g, 50);

    if (t.width == 1)
        put(g, "(%s)((%s)(", name_of(t),
            left ? size_of(t) == 8 ? "ulong" : "uint" : name_of(t));
    else
        put(g, "as_%s((", name_of(t));
    expression(g, t.width > 1 && left ? u : t, depth);
    put(g, ") %s ((", left ? "<<" : ">>");
    expression(g, u, depth);
    put(g, ") & (%s)%u))", name_of(u), bits - 1);
}

static void comparison(struct generator *g, struct type t, unsigned depth)
{
    static const char *const operators[] = {"<", "<=", "==", "!=", ">", ">="};
    const char *operator= operators[draw(g, 6)];
    struct type of = t.width == 1
                         ? scalar_type(g)
                         : (struct type){(t.base & ~1u) | draw(g, 2), t.width};

    put(g, t.width == 1 ? "(%s)((" : "as_%s((", name_of(t));
    expression(g, of, depth);
    put(g, ") %s (", operator);
    expression(g, of, depth);
    put(g, "))");
}

static void choice(struct generator *g, struct type t, unsigned depth)
{
    struct type when = t;

    if (t.width == 1)
        when = scalar_type(g);
    else
        when.base &= ~1u;
    put(g, "((");
    expression(g, when, depth);
    put(g, ") ? (");
    expression(g, t, depth);
    put(g, ") : (");
    expression(g, t, depth);
    put(g, "))");
}

static void vector_of_parts(struct generator *g, struct type t, unsigned depth)
{
    struct type half = {t.base, t.width / 2};

    put(g, "(%s)(", name_of(t));
    if (t.width % 2 == 0 && half.width > 1 && chance(g, 60)) {
        expression(g, half, depth);
        put(g, ", ");
        expression(g, half, depth);
    } else {
        for (unsigned i = 0; i < t.width; i++) {
            put(g, "%s", i ? ", " : "");
            leaf(g, (struct type){t.base, 1});
        }
    }
    put(g, ")");
}

static void part_of_vector(struct generator *g, struct type t)
{
    for (unsigned try = 0; try < 8; try++) {
        const struct variable *v = any_variable(g);
        if (v->type.base != t.base || v->type.width <= t.width)
            continue;
        put(g, "%s.s", v->text);
        for (unsigned i = 0; i < t.width; i++)
            put(g, "%x", draw(g, v->type.width));
        return;
    }
    leaf(g, t);
}

void expression(struct generator *g, struct type t, unsigned depth)
{
    if (depth == 0 || chance(g, 15)) {
        leaf(g, t);
        return;
    }
    depth--;
    switch (draw(g, 10)) {
    case 0:
    case 1:
    case 2:
        arithmetic(g, t, depth);
        break;
    case 3:
        quotient(g, t, depth);
        break;
    case 4:
        shift(g, t, depth);
        break;
    case 5:
        comparison(g, t, depth);
        break;
    case 6:
        choice(g, t, depth);
        break;
    case 7:
        if (t.width > 1)
            vector_of_parts(g, t, depth);
        else
            part_of_vector(g, t);
        break;
    case 8:
        if (g->variable_count > 0 && t.width > 1)
            convert(g, t, depth);
        else
            part_of_vector(g, t);
        break;
    default:
        put(g, "(%s)(%s(", name_of(t), is_signed(t) || t.width > 1 ? "~" : "!");
        expression(g, t, depth);
        put(g, "))");
        break;
    }
}
