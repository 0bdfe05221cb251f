// Of Miné's zones and Cousot and Halbwachs' polyhedra ("Automatic discovery of
// linear restraints among variables of a program", 1978) this is the cheap end:
// a value is a sum of multiples of independent variables (ids, counts of turns,
// what is not known) and of a number between two bounds; conditions narrow the
// range of one variable at a time, from those of the others.
#include "kernel/footprint.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/program.h"

enum {
    GLOBAL = 0, // variables: ids along three axes,
    LOCAL = 3,
    GROUP = 6,
    TURNS = 9,                          // how often loops have gone round,
    FREE = TURNS + HDI_FOOTPRINT_LOOPS, // values that are not known
    VARIABLES = FREE + 11,
    ROUNDS = 4,     // of narrowing
    LEVELS = 2,     // of rows, as in struct hd_touched
    MOST_AXES = 12, // of one access
    MOST_BOXES = 48 // of one argument
};

__extension__ typedef __int128 wide;

static const int64_t most = INT64_C(1) << 62; // what numbers stay below
static const int64_t most_turns = INT64_C(1) << 32;
static const int64_t most_unknown = INT64_C(1) << 30; // that says anything

// known: c + sum of k[v] * v + something from lo to hi
struct form {
    bool known;
    bool wild; // that something is anything of its type
    int64_t c, k[VARIABLES], lo, hi;
};

struct evaluation {
    const struct hdi_footprint *footprint;
    const struct hd_kernel *kernel;
    const struct hd_range *range;
    const struct hd_arg *args;
    uint64_t local[3]; // 0: not known
    bool split[3];     // global ids are sums of group and local ones
    bool ragged;       // the last group of some axis is smaller
    bool guessed;      // ids that belong together count as independent
    int64_t first_lo[VARIABLES], first_hi[VARIABLES];
    // Of the scope at hand:
    int64_t lo[VARIABLES], hi[VARIABLES];
    bool open[VARIABLES];    // turns without a bound so far
    bool empty;              // nothing is done there
    uint32_t *free_variable; // per node, VARIABLES: none
    struct form *forms;      // per node
    bool *needed;            // per node: in the scope at hand
};

// Forms -----------------------------------------------------------------------

static const struct form unknown = {.known = false};

static struct form of_number(int64_t number)
{
    return (struct form){.known = true, .c = number};
}

static struct form of_range(int64_t lo, int64_t hi, bool wild)
{
    return (struct form){.known = true, .wild = wild, .lo = lo, .hi = hi};
}

static struct form of_variable(unsigned v)
{
    struct form form = {.known = true};
    form.k[v] = 1;
    return form;
}

static bool is_small(wide n)
{
    return n > -most && n < most;
}

// a + factor * b
static struct form sum(const struct form *a, const struct form *b,
                       int64_t factor)
{
    struct form r = {.known = a->known && b->known, .wild = a->wild || b->wild};
    wide c = a->c + (wide)factor * b->c;
    wide lo = a->lo + (wide)factor * (factor < 0 ? b->hi : b->lo);
    wide hi = a->hi + (wide)factor * (factor < 0 ? b->lo : b->hi);

    if (!r.known || !is_small(c) || !is_small(lo) || !is_small(hi))
        return unknown;
    r.c = (int64_t)c;
    r.lo = (int64_t)lo;
    r.hi = (int64_t)hi;
    for (unsigned v = 0; v < VARIABLES; v++) {
        wide k = a->k[v] + (wide)factor * b->k[v];
        if (!is_small(k))
            return unknown;
        r.k[v] = (int64_t)k;
    }
    return r;
}

// False: not known, or too large.
static bool bounds(const struct evaluation *e, const struct form *form,
                   int64_t *lo, int64_t *hi)
{
    wide least = (wide)form->c + form->lo;
    wide largest = (wide)form->c + form->hi;

    for (unsigned v = 0; v < VARIABLES; v++) {
        if (form->k[v] != 0 && e->open[v])
            return false;
        wide a = (wide)form->k[v] * e->lo[v];
        wide b = (wide)form->k[v] * e->hi[v];
        least += a < b ? a : b;
        largest += a < b ? b : a;
    }
    if (!form->known || !is_small(least) || !is_small(largest))
        return false;
    *lo = (int64_t)least;
    *hi = (int64_t)largest;
    return true;
}

static bool is_number(const struct form *form)
{
    for (unsigned v = 0; v < VARIABLES; v++)
        if (form->k[v])
            return false;
    return form->known && form->lo == form->hi;
}

static void type_bounds(unsigned bits, bool is_signed, wide *lo, wide *hi)
{
    wide one = 1;
    *lo = is_signed ? -(one << (bits - 1)) : 0;
    *hi = (is_signed ? one << (bits - 1) : one << bits) - 1;
}

static int64_t clamp(wide n)
{
    return n >= most ? most - 1 : n <= -most ? -most + 1 : (int64_t)n;
}

// As the number that the bits stand for.
static struct form fit(const struct evaluation *e, const struct form *form,
                       unsigned bits, bool is_signed)
{
    wide least, largest;
    int64_t lo, hi;
    struct form r = *form;

    type_bounds(bits, is_signed, &least, &largest);
    if (bounds(e, form, &lo, &hi)) {
        wide all = (wide)1 << bits, from = lo - least;
        wide turns = from / all - (from % all < 0);
        if (hi - turns * all <= largest) {
            wide c = r.c - turns * all;
            if (!is_small(c))
                return unknown;
            r.c = (int64_t)c;
            return r;
        }
    }
    return bits > 32 ? unknown : of_range(clamp(least), clamp(largest), true);
}

static int64_t divide_down(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

// Nodes -----------------------------------------------------------------------

static struct form of_arg(const struct evaluation *e, uint32_t index)
{
    const struct hd_arg *arg = &e->args[index];
    int64_t number = 0;

    switch (arg->is == HD_IS_VALUE && arg->value ? arg->size : 0) {
    case 1:
        return of_number(*(const int8_t *)arg->value);
    case 2: {
        int16_t half;
        memcpy(&half, arg->value, sizeof(half));
        return of_number(half);
    }
    case 4: {
        int32_t word;
        memcpy(&word, arg->value, sizeof(word));
        return of_number(word);
    }
    case 8:
        memcpy(&number, arg->value, sizeof(number));
        return is_small(number) ? of_number(number) : unknown;
    default:
        return unknown;
    }
}

static struct form of_id(const struct evaluation *e, uint32_t op, unsigned d)
{
    const struct hd_range *range = e->range;
    uint64_t local = e->local[d];

    switch (op) {
    case HDI_FOOTPRINT_GLOBAL_ID: {
        if (!e->split[d])
            return of_variable(GLOBAL + d);
        struct form form = of_variable(LOCAL + d),
                    group = of_variable(GROUP + d);
        form.c = (int64_t)range->offset[d];
        return sum(&form, &group, (int64_t)local);
    }
    case HDI_FOOTPRINT_LOCAL_ID:
        return of_variable(LOCAL + d);
    case HDI_FOOTPRINT_GROUP_ID:
        return of_variable(GROUP + d);
    case HDI_FOOTPRINT_GLOBAL_SIZE:
        return of_number((int64_t)range->global[d]);
    case HDI_FOOTPRINT_OFFSET:
        return of_number((int64_t)range->offset[d]);
    case HDI_FOOTPRINT_LOCAL_SIZE:
        if (local > 0 && range->global[d] % local != 0) {
            uint64_t rest = range->global[d] % local;
            return of_range((int64_t)rest,
                            range->global[d] < local ? (int64_t)rest
                                                     : (int64_t)local,
                            false);
        }
        // fall through
    case HDI_FOOTPRINT_ENQUEUED_SIZE:
        return local > 0 ? of_number((int64_t)local)
                         : of_range(1, (int64_t)range->global[d], false);
    default: // HDI_FOOTPRINT_GROUPS
        return local > 0 ? of_number((int64_t)((range->global[d] + local - 1) /
                                               local))
                         : of_range(1, (int64_t)range->global[d], false);
    }
}

static struct form either(const struct evaluation *e, const struct form *a,
                          const struct form *b)
{
    if (!a->known || !b->known)
        return unknown;
    if (memcmp(a->k, b->k, sizeof(a->k)) == 0) {
        struct form r = *a;
        wide lo = (wide)b->c - a->c + b->lo;
        wide hi = (wide)b->c - a->c + b->hi;
        if (!is_small(lo) || !is_small(hi))
            return unknown;
        r.lo = lo < r.lo ? (int64_t)lo : r.lo;
        r.hi = hi > r.hi ? (int64_t)hi : r.hi;
        r.wild |= b->wild;
        return r;
    }
    int64_t lo[2], hi[2];
    if (!bounds(e, a, &lo[0], &hi[0]) || !bounds(e, b, &lo[1], &hi[1]))
        return unknown;
    return of_range(lo[0] < lo[1] ? lo[0] : lo[1],
                    hi[0] > hi[1] ? hi[0] : hi[1], a->wild || b->wild);
}

static struct form times(const struct evaluation *e, const struct form *a,
                         const struct form *b)
{
    struct form zero = of_number(0);
    int64_t lo[2], hi[2];

    if (is_number(b))
        return sum(&zero, a, b->c + b->lo);
    if (is_number(a))
        return sum(&zero, b, a->c + a->lo);
    if (!bounds(e, a, &lo[0], &hi[0]) || !bounds(e, b, &lo[1], &hi[1]))
        return unknown;
    wide least = (wide)lo[0] * lo[1], largest = least;
    for (unsigned i = 1; i < 4; i++) {
        wide p = (wide)(i & 1 ? hi[0] : lo[0]) * (i & 2 ? hi[1] : lo[1]);
        least = p < least ? p : least;
        largest = p > largest ? p : largest;
    }
    return is_small(least) && is_small(largest)
               ? of_range((int64_t)least, (int64_t)largest, a->wild || b->wild)
               : unknown;
}

// Divided by a positive number, rounded down; of what is not negative that is
// how all division rounds.
static struct form over(const struct evaluation *e, const struct form *a,
                        int64_t number)
{
    struct form r = *a;
    bool exact = a->lo == 0 && a->hi == 0 && a->c % number == 0;
    int64_t lo, hi;

    for (unsigned v = 0; v < VARIABLES; v++)
        exact &= a->k[v] % number == 0;
    if (exact) {
        r.c /= number;
        for (unsigned v = 0; v < VARIABLES; v++)
            r.k[v] /= number;
        return r;
    }
    if (!bounds(e, a, &lo, &hi))
        return unknown;
    return of_range(divide_down(lo, number), divide_down(hi, number), a->wild);
}

static struct form quotient(const struct evaluation *e, const struct form *a,
                            const struct form *b, unsigned bits, bool is_signed,
                            bool rest)
{
    struct form x = fit(e, a, bits, is_signed), y = fit(e, b, bits, is_signed);
    int64_t lo, hi;

    if (!bounds(e, &x, &lo, &hi))
        return unknown;
    if (!is_number(&y) || y.c + y.lo <= 0) {
        if (lo < 0)
            return unknown;
        int64_t from, to;
        if (!bounds(e, &y, &from, &to) || from < 1)
            return unknown;
        return of_range(0, rest && to - 1 < hi ? to - 1 : hi, x.wild || y.wild);
    }
    int64_t number = y.c + y.lo;
    if (rest) {
        int64_t turns = divide_down(lo, number);
        if (turns == divide_down(hi, number) && (lo >= 0 || turns == 0)) {
            struct form many = of_number(number);
            return sum(&x, &many, -turns);
        }
        return of_range(lo < 0 ? -(number - 1) : 0, number - 1, false);
    }
    return lo >= 0 ? over(e, &x, number) : unknown;
}

static struct form bitwise(const struct evaluation *e, uint32_t op,
                           const struct form *a, const struct form *b,
                           unsigned bits)
{
    int64_t lo[2], hi[2];
    const struct form *mask = is_number(b) ? b : is_number(a) ? a : NULL;

    if (op == HDI_FOOTPRINT_AND && mask) {
        const struct form *other = mask == b ? a : b;
        int64_t number = mask->c + mask->lo;
        if (number >= 0 && (number & (number + 1)) == 0) {
            int64_t all = number + 1;
            if (!bounds(e, other, &lo[0], &hi[0]) ||
                divide_down(lo[0], all) != divide_down(hi[0], all))
                return of_range(0, number, false);
            struct form many = of_number(all);
            return sum(other, &many, -divide_down(lo[0], all));
        }
    }
    if (op == HDI_FOOTPRINT_XOR && mask && mask->c + mask->lo == -1) {
        struct form ones = of_number(-1); // ~x is -1 - x
        return sum(&ones, mask == b ? a : b, -1);
    }
    struct form x = fit(e, a, bits, false), y = fit(e, b, bits, false);
    bool known[2] = {bounds(e, &x, &lo[0], &hi[0]),
                     bounds(e, &y, &lo[1], &hi[1])};
    if (op == HDI_FOOTPRINT_AND) {
        if (!known[0] && !known[1])
            return unknown;
        unsigned least = !known[0] || (known[1] && hi[1] < hi[0]);
        return of_range(0, hi[least], least ? y.wild : x.wild);
    }
    if (!known[0] || !known[1])
        return unknown;
    int64_t all = 1;
    while (all <= hi[0] || all <= hi[1])
        all *= 2;
    return of_range(0, all - 1, x.wild || y.wild);
}

static struct form least(const struct evaluation *e, uint32_t op,
                         const struct form *a, const struct form *b,
                         unsigned bits)
{
    bool is_signed = op == HDI_FOOTPRINT_SMIN || op == HDI_FOOTPRINT_SMAX;
    bool smaller = op == HDI_FOOTPRINT_SMIN || op == HDI_FOOTPRINT_UMIN;
    struct form x = fit(e, a, bits, is_signed), y = fit(e, b, bits, is_signed);
    int64_t lo[2], hi[2];

    if (!bounds(e, &x, &lo[0], &hi[0]) || !bounds(e, &y, &lo[1], &hi[1]))
        return unknown;
    if (hi[0] <= lo[1])
        return smaller ? x : y;
    if (hi[1] <= lo[0])
        return smaller ? y : x;
    unsigned low = smaller == (lo[0] < lo[1]) ? 0 : 1;
    unsigned high = smaller == (hi[0] < hi[1]) ? 0 : 1;
    return of_range(lo[low], hi[high], x.wild && y.wild);
}

static struct form free_value(struct evaluation *e, uint32_t node,
                              const struct form *from)
{
    const struct hdi_footprint_node *n = &e->footprint->nodes[node];
    unsigned v = e->free_variable[node];
    wide least, largest;
    int64_t lo, hi;

    type_bounds(n->bits, true, &least, &largest);
    bool bound = from && bounds(e, from, &lo, &hi) && lo >= 0;
    if (bound && n->op == HDI_FOOTPRINT_GROWS)
        least = lo;
    if (bound && n->op == HDI_FOOTPRINT_SHRINKS) {
        least = 0;
        largest = hi;
    }
    if (!is_small(least) || !is_small(largest))
        return unknown;
    if (v == VARIABLES)
        return of_range((int64_t)least, (int64_t)largest, true);
    if (e->lo[v] < least)
        e->lo[v] = (int64_t)least;
    if (e->hi[v] > largest)
        e->hi[v] = (int64_t)largest;
    return of_variable(v);
}

static struct form turn(const struct evaluation *e,
                        const struct hdi_footprint_node *n)
{
    const struct form *start = &e->forms[n->a];
    struct form step = fit(e, &e->forms[n->b], n->bits, true);
    struct form count = of_variable(TURNS + (unsigned)n->number);

    return is_number(&step) ? sum(start, &count, step.c + step.lo) : unknown;
}

static struct form evaluate(struct evaluation *e, uint32_t node)
{
    const struct hdi_footprint_node *n = &e->footprint->nodes[node];
    const struct form *a = &e->forms[n->a], *b = &e->forms[n->b];
    unsigned bits = n->bits;

    switch (n->op) {
    case HDI_FOOTPRINT_NUMBER:
        return is_small(n->number) ? of_number(n->number) : unknown;
    case HDI_FOOTPRINT_ARG:
        return of_arg(e, n->a);
    case HDI_FOOTPRINT_DIMS:
        return of_number(e->range->dims);
    case HDI_FOOTPRINT_ANY:
        return free_value(e, node, NULL);
    case HDI_FOOTPRINT_GROWS:
    case HDI_FOOTPRINT_SHRINKS: {
        struct form start = fit(e, a, bits, true);
        return free_value(e, node, &start);
    }
    case HDI_FOOTPRINT_TURN:
        return turn(e, n);
    case HDI_FOOTPRINT_EITHER:
        return either(e, a, b);
    case HDI_FOOTPRINT_ADD:
        return sum(a, b, 1);
    case HDI_FOOTPRINT_SUB:
        return sum(a, b, -1);
    case HDI_FOOTPRINT_MUL:
        return times(e, a, b);
    case HDI_FOOTPRINT_SHL: {
        if (!is_number(b) || b->c + b->lo < 0 || b->c + b->lo > 61)
            return unknown;
        struct form zero = of_number(0);
        return sum(&zero, a, INT64_C(1) << (b->c + b->lo));
    }
    case HDI_FOOTPRINT_LSHR:
    case HDI_FOOTPRINT_ASHR: {
        struct form x = fit(e, a, bits, n->op == HDI_FOOTPRINT_ASHR);
        return is_number(b) && b->c + b->lo >= 0 && b->c + b->lo <= 61
                   ? over(e, &x, INT64_C(1) << (b->c + b->lo))
                   : unknown;
    }
    case HDI_FOOTPRINT_UDIV:
    case HDI_FOOTPRINT_UREM:
        return quotient(e, a, b, bits, false, n->op == HDI_FOOTPRINT_UREM);
    case HDI_FOOTPRINT_SDIV:
    case HDI_FOOTPRINT_SREM:
        return quotient(e, a, b, bits, true, n->op == HDI_FOOTPRINT_SREM);
    case HDI_FOOTPRINT_AND:
    case HDI_FOOTPRINT_OR:
    case HDI_FOOTPRINT_XOR:
        return bitwise(e, n->op, a, b, bits);
    case HDI_FOOTPRINT_SMIN:
    case HDI_FOOTPRINT_SMAX:
    case HDI_FOOTPRINT_UMIN:
    case HDI_FOOTPRINT_UMAX:
        return least(e, n->op, a, b, bits);
    case HDI_FOOTPRINT_SEXT:
    case HDI_FOOTPRINT_ZEXT:
        return fit(e, a, (unsigned)n->number, n->op == HDI_FOOTPRINT_SEXT);
    case HDI_FOOTPRINT_TRUNC:
        return *a;
    default:
        return of_id(e, n->op, n->a);
    }
}

// Conditions ------------------------------------------------------------------

static void narrow_high(struct evaluation *e, unsigned v, wide hi)
{
    if (hi < e->hi[v])
        e->hi[v] = hi < e->lo[v] ? e->lo[v] - 1 : (int64_t)hi;
    e->empty |= e->hi[v] < e->lo[v];
}

static void narrow_low(struct evaluation *e, unsigned v, wide lo)
{
    if (lo > e->lo[v])
        e->lo[v] = lo > e->hi[v] ? e->hi[v] + 1 : (int64_t)lo;
    e->empty |= e->hi[v] < e->lo[v];
}

static wide down(wide a, wide b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

// `form` is at most `limit`.
static void narrow(struct evaluation *e, const struct form *form, int64_t limit)
{
    int64_t lo, hi;

    for (unsigned v = 0; v < VARIABLES && !e->empty; v++) {
        int64_t k = form->k[v];
        if (k == 0 || !bounds(e, form, &lo, &hi))
            continue;
        wide own = (wide)k * (k > 0 ? e->lo[v] : e->hi[v]);
        wide left = limit - (lo - own);
        if (k > 0)
            narrow_high(e, v, down(left, k));
        else
            narrow_low(e, v, -down(left, -k));
    }
    if (!e->empty && bounds(e, form, &lo, &hi) && lo > limit)
        e->empty = true;
}

static bool is_signed_relation(uint32_t relation)
{
    return relation != HDI_FOOTPRINT_ULT && relation != HDI_FOOTPRINT_ULE;
}

// The most turns after which a loop still goes on, when `x` and `y` are related
// as it says: x or y grows by the same in each. False: not to be told, or a
// number could wrap.
static bool count_turns(const struct evaluation *e,
                        const struct hdi_footprint_condition *c,
                        const struct form *x, const struct form *y,
                        unsigned bits, wide *turns)
{
    unsigned v = TURNS + c->loop;
    bool left = x->k[v] != 0;
    struct form own = left ? *x : *y, other = left ? *y : *x;
    int64_t step = own.k[v], lo, hi, from, to;
    wide first, last;

    own.k[v] = 0;
    other = fit(e, &other, bits, is_signed_relation(c->relation));
    own = fit(e, &own, bits, is_signed_relation(c->relation));
    if (other.k[v] != 0 || !bounds(e, &own, &lo, &hi) ||
        !bounds(e, &other, &from, &to))
        return false;
    type_bounds(bits, is_signed_relation(c->relation), &first, &last);
    switch (c->relation) {
    case HDI_FOOTPRINT_SLT:
    case HDI_FOOTPRINT_SLE:
    case HDI_FOOTPRINT_ULT:
    case HDI_FOOTPRINT_ULE: {
        int64_t less = c->relation == HDI_FOOTPRINT_SLT ||
                       c->relation == HDI_FOOTPRINT_ULT;
        if (left && step > 0) { // own + step * turns <= to - less
            *turns = down((wide)to - less - lo, step);
            return (wide)to - less + step <= last;
        }
        if (!left && step < 0) { // own + step * turns >= from + less
            *turns = down((wide)hi - from - less, -(wide)step);
            return (wide)from + less + step >= first;
        }
        return false;
    }
    case HDI_FOOTPRINT_NE: {
        wide least = step > 0 ? (wide)from - hi : (wide)lo - to;
        wide largest = step > 0 ? (wide)to - lo : (wide)hi - from;
        wide size = step > 0 ? step : -(wide)step;
        if (least < 0 || (size != 1 && (least != largest || least % size != 0)))
            return false;
        *turns = largest / size - 1;
        return true;
    }
    default:
        return false;
    }
}

// The number that a condition compares with 0, NULL: not to be told. What is
// below an unsigned bound is not negative, which `positive` says of `a`.
static bool difference(const struct evaluation *e,
                       const struct hdi_footprint_condition *c,
                       struct form *result, struct form *positive)
{
    unsigned bits = e->footprint->nodes[c->a].bits;
    bool is_signed = is_signed_relation(c->relation);
    const struct form *raw = &e->forms[c->a];
    struct form a = fit(e, raw, bits, is_signed);
    struct form b = fit(e, &e->forms[c->b], bits, is_signed);
    int64_t lo, hi, from, to;

    positive->known = false;
    if (!is_signed && bounds(e, raw, &lo, &hi) && lo < 0 &&
        bounds(e, &b, &from, &to) && (wide)lo + ((wide)1 << bits) > to &&
        hi < ((wide)1 << bits)) {
        a = *raw;
        *positive = a;
    }
    *result = sum(&a, &b, -1);
    return result->known;
}

static void apply(struct evaluation *e, const struct hdi_footprint_condition *c)
{
    struct form d, positive;
    struct form zero = of_number(0);
    unsigned v = TURNS + c->loop;

    if (c->loop != HDI_FOOTPRINT_NO_LOOP && e->open[v]) {
        const struct form *x = &e->forms[c->a], *y = &e->forms[c->b];
        wide turns;
        if (!x->known || !y->known || (x->k[v] != 0) == (y->k[v] != 0) ||
            !count_turns(e, c, x, y, e->footprint->nodes[c->a].bits, &turns))
            return;
        if (turns >= most_turns)
            return;
        e->open[v] = false;
        if (c->again)
            turns = turns < 0 ? 0 : turns + 1;
        narrow_high(e, v, turns);
        return;
    }
    if (c->again || !difference(e, c, &d, &positive))
        return;
    switch (c->relation) {
    case HDI_FOOTPRINT_EQ:
        narrow(e, &d, 0);
        d = sum(&zero, &d, -1);
        narrow(e, &d, 0);
        break;
    case HDI_FOOTPRINT_NE:
        for (unsigned i = 0; i < VARIABLES; i++) {
            struct form rest = d;
            rest.k[i] = 0;
            if (d.k[i] == 0 || !is_number(&rest) ||
                (rest.c + rest.lo) % d.k[i] != 0)
                continue;
            int64_t hole = -(rest.c + rest.lo) / d.k[i];
            if (hole == e->lo[i])
                narrow_low(e, i, (wide)hole + 1);
            else if (hole == e->hi[i])
                narrow_high(e, i, (wide)hole - 1);
        }
        break;
    case HDI_FOOTPRINT_SLT:
    case HDI_FOOTPRINT_ULT:
        narrow(e, &d, -1);
        break;
    default:
        narrow(e, &d, 0);
    }
    if (positive.known) {
        positive = sum(&zero, &positive, -1);
        narrow(e, &positive, 0);
    }
}

// Does it hold for all that the variables can be?
static bool is_implied(struct evaluation *e,
                       const struct hdi_footprint_condition *c)
{
    unsigned v = TURNS + c->loop;
    struct form d, positive;
    int64_t lo = 0, hi = 0;

    if (c->loop != HDI_FOOTPRINT_NO_LOOP && e->open[v])
        return false;
    if (c->again) {
        if (e->hi[v] == e->lo[v])
            return true; // one turn
        e->hi[v]--;
    }
    bool known = difference(e, c, &d, &positive) && bounds(e, &d, &lo, &hi);
    if (known && positive.known) {
        int64_t from, to;
        known = bounds(e, &positive, &from, &to) && from >= 0;
    }
    if (c->again)
        e->hi[v]++;
    switch (c->relation) {
    case HDI_FOOTPRINT_EQ:
        return known && lo == 0 && hi == 0;
    case HDI_FOOTPRINT_NE:
        return known && (lo > 0 || hi < 0);
    case HDI_FOOTPRINT_SLT:
    case HDI_FOOTPRINT_ULT:
        return known && hi < 0;
    default:
        return known && hi <= 0;
    }
}

// Ids that are sums stay below the global size.
static void apply_ragged(struct evaluation *e)
{
    for (unsigned d = 0; d < 3; d++)
        if (e->split[d]) {
            struct form id = of_id(e, HDI_FOOTPRINT_GLOBAL_ID, d);
            narrow(e, &id,
                   (int64_t)(e->range->offset[d] + e->range->global[d] - 1));
        }
}

// Which nodes the accesses and conditions of a scope are computed from.
static void find_needed(struct evaluation *e, uint32_t scope)
{
    const struct hdi_footprint *p = e->footprint;
    const struct hdi_footprint_scope *s = &p->scopes[scope];

    memset(e->needed, 0, p->node_count);
    for (uint32_t i = 0; i < p->access_count; i++)
        if (p->accesses[i].scope == scope &&
            p->accesses[i].at != HDI_FOOTPRINT_ALL)
            e->needed[p->accesses[i].at] = true;
    for (uint32_t i = s->first; i < s->first + s->count; i++)
        e->needed[p->conditions[i].a] = e->needed[p->conditions[i].b] = true;
    for (uint32_t n = p->node_count; n-- > 0;)
        if (e->needed[n] && hdi_footprint_operands(&p->nodes[n]) > 0) {
            e->needed[p->nodes[n].a] = true;
            if (hdi_footprint_operands(&p->nodes[n]) > 1)
                e->needed[p->nodes[n].b] = true;
        }
}

static void evaluate_needed(struct evaluation *e)
{
    for (uint32_t n = 0; n < e->footprint->node_count; n++)
        if (e->needed[n])
            e->forms[n] = evaluate(e, n);
}

static void evaluate_scope(struct evaluation *e, uint32_t number, bool *exact)
{
    const struct hdi_footprint *p = e->footprint;
    const struct hdi_footprint_scope *scope = &p->scopes[number];
    int64_t lo[VARIABLES], hi[VARIABLES];
    bool changed = true;

    find_needed(e, number);
    memcpy(e->lo, e->first_lo, sizeof(e->lo));
    memcpy(e->hi, e->first_hi, sizeof(e->hi));
    for (unsigned v = 0; v < VARIABLES; v++)
        e->open[v] = v >= TURNS && v < FREE;
    e->empty = false;
    for (unsigned round = 0; round < ROUNDS && changed && !e->empty; round++) {
        evaluate_needed(e);
        memcpy(lo, e->lo, sizeof(lo));
        memcpy(hi, e->hi, sizeof(hi));
        apply_ragged(e);
        for (uint32_t i = 0; i < scope->count && !e->empty; i++)
            apply(e, &p->conditions[scope->first + i]);
        changed = memcmp(lo, e->lo, sizeof(lo)) != 0 ||
                  memcmp(hi, e->hi, sizeof(hi)) != 0;
    }
    if (e->empty)
        return;
    if (changed)
        evaluate_needed(e);
    *exact = scope->exact && !e->ragged && !e->guessed;
    for (uint32_t i = 0; i < scope->count; i++)
        *exact = *exact && is_implied(e, &p->conditions[scope->first + i]);
}

// Boxes -----------------------------------------------------------------------

struct box {
    bool exact;
    int64_t begin;
    uint64_t run;                           // [bytes] in one piece
    uint64_t stride[LEVELS], count[LEVELS]; // unused levels: 0, 1
};

static wide end_of(const struct box *box)
{
    wide end = (wide)box->begin + (wide)box->run;
    for (unsigned i = 0; i < LEVELS; i++)
        end += (wide)box->stride[i] * (wide)(box->count[i] - 1);
    return end;
}

static bool is_dense(const struct box *box)
{
    return box->count[0] == 1 && box->count[1] == 1;
}

static void drop_level(struct box *box)
{
    box->stride[0] = box->count[1] > 1 ? box->stride[1] : 0;
    box->count[0] = box->count[1];
    box->stride[1] = 0;
    box->count[1] = 1;
}

// Rows that touch are one, and rows of rows that lie as rows do are rows.
static void tidy(struct box *box)
{
    for (unsigned i = 0; i < LEVELS; i++) {
        if (box->count[0] > 1 && box->stride[0] <= box->run) {
            box->run += box->stride[0] * (box->count[0] - 1);
            box->count[0] = 1;
        }
        if (box->count[0] == 1)
            drop_level(box);
    }
    if (box->count[1] > 1 && box->stride[1] % box->stride[0] == 0 &&
        box->stride[1] / box->stride[0] <= box->count[0]) {
        box->count[0] += box->stride[1] / box->stride[0] * (box->count[1] - 1);
        box->stride[1] = 0;
        box->count[1] = 1;
    }
}

static int compare_axes(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (x[0] > y[0]) - (x[0] < y[0]);
}

// What an access touches. False: anything.
static bool make_box(const struct evaluation *e, const struct form *at,
                     uint32_t size, bool exact, struct box *box)
{
    uint64_t axes[MOST_AXES][2]; // stride, count
    unsigned n = 0;
    int64_t lo, hi;

    if (!at->known || at->wild || !bounds(e, at, &lo, &hi))
        return false;
    *box = (struct box){.exact = exact && at->lo == at->hi,
                        .begin = lo,
                        .run = size + (uint64_t)(at->hi - at->lo),
                        .count = {1, 1}};
    for (unsigned v = 0; v < VARIABLES; v++) {
        if (at->k[v] == 0 || e->lo[v] == e->hi[v])
            continue;
        if (e->open[v] || n == MOST_AXES ||
            (v >= FREE && e->hi[v] - e->lo[v] >= most_unknown))
            return false;
        box->exact &= v < FREE;
        axes[n][0] = (uint64_t)(at->k[v] < 0 ? -at->k[v] : at->k[v]);
        axes[n++][1] = (uint64_t)(e->hi[v] - e->lo[v]) + 1;
    }
    qsort(axes, n, sizeof(axes[0]), compare_axes);
    unsigned levels = 0;
    for (unsigned i = 0; i < n; i++) {
        uint64_t stride = axes[i][0], count = axes[i][1];
        unsigned top = levels - 1;
        if (levels == 0 && stride <= box->run) {
            box->run += stride * (count - 1);
        } else if (levels > 0 && stride % box->stride[top] == 0 &&
                   stride / box->stride[top] <= box->count[top]) {
            box->count[top] += stride / box->stride[top] * (count - 1);
        } else if (levels < LEVELS) {
            box->stride[levels] = stride;
            box->count[levels++] = count;
        } else {
            // Fill the gaps within the innermost rows.
            box->run += box->stride[0] * (box->count[0] - 1);
            box->exact = false;
            box->stride[0] = box->stride[1];
            box->count[0] = box->count[1];
            box->stride[1] = stride;
            box->count[1] = count;
        }
    }
    // Rows that overlap without being multiples of each other.
    uint64_t extent = box->run;
    for (unsigned i = 0; i < levels; i++) {
        if (box->stride[i] < extent) {
            int64_t begin = box->begin;
            uint64_t run = (uint64_t)(end_of(box) - begin);
            *box = (struct box){.begin = begin, .run = run, .count = {1, 1}};
            return true;
        }
        extent += box->stride[i] * (box->count[i] - 1);
    }
    tidy(box);
    return true;
}

// The two as one. False: bytes that neither has would be in it.
static bool unite(const struct box *a, const struct box *b, struct box *all)
{
    if (a->begin > b->begin) {
        const struct box *c = a;
        a = b;
        b = c;
    }
    *all = *a;
    all->exact &= b->exact;
    uint64_t apart = (uint64_t)(b->begin - a->begin);
    bool alike = memcmp(a->stride, b->stride, sizeof(a->stride)) == 0 &&
                 memcmp(a->count, b->count, sizeof(a->count)) == 0;

    if (is_dense(a) && end_of(b) <= end_of(a)) {
        all->exact = a->exact;
        return true;
    }
    if (alike && a->run == b->run && apart == 0) {
        all->exact = a->exact || b->exact;
        return true;
    }
    if (alike && apart <= a->run) {
        uint64_t run = apart + b->run > a->run ? apart + b->run : a->run;
        if (!is_dense(a) && run > a->stride[0])
            return false;
        all->run = run;
        tidy(all);
        return true;
    }
    if (a->run != b->run || apart == 0)
        return false;
    if (is_dense(a) && is_dense(b)) {
        all->stride[0] = apart;
        all->count[0] = 2;
        return apart >= a->run;
    }
    if (is_dense(b) && a->count[1] == 1 &&
        apart == a->stride[0] * a->count[0]) {
        all->count[0]++;
        tidy(all);
        return true;
    }
    for (unsigned i = 0; i < LEVELS; i++) {
        unsigned other = 1 - i;
        if (a->stride[i] == 0 || a->stride[i] != b->stride[i] ||
            a->stride[other] != b->stride[other] ||
            a->count[other] != b->count[other] || apart % a->stride[i] != 0)
            continue;
        uint64_t moved = apart / a->stride[i];
        if (moved > a->count[i])
            continue;
        uint64_t count = moved + b->count[i];
        all->count[i] = count > a->count[i] ? count : a->count[i];
        if (i == 0 && a->count[1] > 1 &&
            all->count[0] * a->stride[0] > a->stride[1])
            continue;
        tidy(all);
        return true;
    }
    return false;
}

// The least in one piece that has both.
static struct box around(const struct box *a, const struct box *b)
{
    wide end = end_of(a) > end_of(b) ? end_of(a) : end_of(b);
    int64_t begin = a->begin < b->begin ? a->begin : b->begin;

    return (struct box){
        .begin = begin, .run = (uint64_t)(end - begin), .count = {1, 1}};
}

// Rows with all that shifted rows have: those of a neighbourhood.
static bool cover(const struct box *a, const struct box *b, struct box *all)
{
    const struct box *more = is_dense(a) ? b : a;
    int64_t apart = b->begin - a->begin;
    int64_t shift[LEVELS] = {0, 0};

    if (memcmp(a->stride, b->stride, sizeof(a->stride)) != 0 ||
        more->stride[0] == 0)
        return false;
    for (unsigned i = LEVELS; i-- > 0;) {
        int64_t stride = (int64_t)more->stride[i];
        if (stride == 0)
            continue;
        shift[i] = divide_down(apart, stride);
        if (apart - shift[i] * stride + (int64_t)b->run > stride)
            shift[i]++;
        apart -= shift[i] * stride;
    }
    *all = (struct box){.count = {1, 1}};
    int64_t first = apart < 0 ? apart : 0;
    int64_t last = apart + (int64_t)b->run > (int64_t)a->run
                       ? apart + (int64_t)b->run
                       : (int64_t)a->run;
    all->begin = a->begin + first;
    all->run = (uint64_t)(last - first);
    uint64_t extent = all->run;
    for (unsigned i = 0; i < LEVELS; i++) {
        int64_t to = shift[i] + (int64_t)b->count[i];
        first = shift[i] < 0 ? shift[i] : 0;
        last = to > (int64_t)a->count[i] ? to : (int64_t)a->count[i];
        all->stride[i] = more->stride[i];
        all->count[i] = (uint64_t)(last - first);
        all->begin += first * (int64_t)more->stride[i];
        if (all->count[i] > 1 && all->stride[i] < extent)
            return false;
        extent += all->stride[i] * (all->count[i] - 1);
    }
    tidy(all);
    return true;
}

struct boxes {
    struct box list[MOST_BOXES];
    unsigned count;
    bool all; // anything
};

static bool unite_some(struct boxes *boxes, bool exactly)
{
    for (unsigned i = 0; i < boxes->count; i++)
        for (unsigned j = i + 1; j < boxes->count; j++) {
            struct box box;
            if (!(exactly ? unite(&boxes->list[i], &boxes->list[j], &box)
                          : cover(&boxes->list[i], &boxes->list[j], &box)))
                continue;
            boxes->list[i] = box;
            boxes->list[j] = boxes->list[--boxes->count];
            return true;
        }
    return false;
}

static void add_box(struct boxes *boxes, const struct box *box)
{
    if (boxes->count == MOST_BOXES)
        boxes->list[0] = around(&boxes->list[0], box);
    else
        boxes->list[boxes->count++] = *box;
    while (unite_some(boxes, true))
        ;
}

static struct hd_touched touched(struct boxes *boxes, uint64_t offset)
{
    if (boxes->all)
        return (struct hd_touched){.kind = HD_TOUCHES_ALL};
    if (boxes->count == 0)
        return (struct hd_touched){.kind = HD_TOUCHES_NOTHING, .exact = true};
    while (unite_some(boxes, false))
        ;
    struct box box = boxes->list[0];
    for (unsigned i = 1; i < boxes->count; i++)
        box = around(&box, &boxes->list[i]);
    struct hd_touched t = {.kind = HD_TOUCHES_ROWS,
                           .exact = box.exact,
                           .begin = box.begin + (int64_t)offset,
                           .bytes = box.run};
    for (unsigned i = 0; i < LEVELS; i++) {
        t.stride[i] = box.stride[i];
        t.count[i] = box.count[i];
    }
    return t;
}

// The launch ------------------------------------------------------------------

static bool uses(const struct hdi_footprint *p, unsigned d)
{
    for (uint32_t n = 0; n < p->node_count; n++)
        if ((p->nodes[n].op == HDI_FOOTPRINT_LOCAL_ID ||
             p->nodes[n].op == HDI_FOOTPRINT_GROUP_ID) &&
            p->nodes[n].a == d)
            return true;
    return false;
}

// The ranges of the ids of a box; NULL: all groups.
static void begin_ids(struct evaluation *e, const struct hd_piece *piece)
{
    for (unsigned d = 0; d < 3; d++) {
        uint64_t global = e->range->global[d], local = e->local[d];
        uint64_t first = 0, end = global;
        e->first_hi[LOCAL + d] =
            (int64_t)(local && local < global ? local : global) - 1;
        e->first_hi[GROUP + d] =
            (int64_t)(local ? (global + local - 1) / local : global) - 1;
        if (piece) {
            first = piece->first[d] * local;
            end = (piece->first[d] + piece->count[d]) * local;
            end = end > global ? global : end;
            e->first_lo[GROUP + d] = (int64_t)piece->first[d];
            e->first_hi[GROUP + d] =
                (int64_t)(piece->first[d] + piece->count[d]) - 1;
        }
        e->first_lo[GLOBAL + d] = (int64_t)(e->range->offset[d] + first);
        e->first_hi[GLOBAL + d] = (int64_t)(e->range->offset[d] + end) - 1;
        bool groups = uses(e->footprint, d);
        e->split[d] = groups && local > 0;
        e->guessed |= groups && local == 0;
        e->ragged |= e->split[d] && end == global && global % local != 0;
    }
}

static void begin_rest(struct evaluation *e)
{
    const struct hdi_footprint *p = e->footprint;
    unsigned next = FREE;

    for (unsigned v = TURNS; v < VARIABLES; v++) {
        e->first_lo[v] = v < FREE ? 0 : -most + 1;
        e->first_hi[v] = v < FREE ? most_turns : most - 1;
    }
    for (uint32_t n = 0; n < p->node_count; n++) {
        bool is_free = p->nodes[n].op == HDI_FOOTPRINT_ANY ||
                       p->nodes[n].op == HDI_FOOTPRINT_GROWS ||
                       p->nodes[n].op == HDI_FOOTPRINT_SHRINKS;
        e->free_variable[n] = is_free && next < VARIABLES ? next++ : VARIABLES;
    }
}

static void collect(struct evaluation *e, uint32_t scope,
                    struct boxes (*boxes)[2])
{
    const struct hdi_footprint *p = e->footprint;
    bool exact = false;

    evaluate_scope(e, scope, &exact);
    for (uint32_t i = 0; i < p->access_count && !e->empty; i++) {
        const struct hdi_footprint_access *access = &p->accesses[i];
        struct box box;
        if (access->scope != scope)
            continue;
        bool known =
            access->at != HDI_FOOTPRINT_ALL &&
            make_box(e, &e->forms[access->at], access->size, exact, &box);
        for (unsigned w = 0; w < 2; w++) {
            if (access->writes != w && access->writes != 2)
                continue;
            if (known)
                add_box(&boxes[access->arg][w], &box);
            else
                boxes[access->arg][w].all = true;
        }
    }
}

static void tell_all(const struct hd_kernel *kernel,
                     struct hd_footprint *footprints)
{
    for (unsigned i = 0; i < kernel->info.arg_count; i++) {
        const struct hd_kernel_arg *arg = &kernel->args[i].shown;
        bool memory = arg->kind == HD_ARG_GLOBAL ||
                      arg->kind == HD_ARG_CONSTANT || arg->kind == HD_ARG_IMAGE;
        static const struct hd_touched nothing = {.exact = true};
        static const struct hd_touched everything = {.kind = HD_TOUCHES_ALL};
        footprints[i].read = memory ? everything : nothing;
        footprints[i].write =
            memory && hdi_kernel_may_write(arg) ? everything : nothing;
    }
}

static hd_status tell(struct evaluation *e, const struct hd_piece *piece,
                      struct hd_footprint *footprints, struct hd_error *error)
{
    const struct hdi_footprint *p = e->footprint;
    unsigned count = e->kernel->info.arg_count;
    struct boxes(*boxes)[2] = calloc(count + 1, sizeof(*boxes));

    e->forms = calloc(p->node_count + 1, sizeof(*e->forms));
    e->free_variable = calloc(p->node_count + 1, sizeof(*e->free_variable));
    e->needed = calloc(p->node_count + 1, sizeof(*e->needed));
    bool ok = boxes && e->forms && e->free_variable && e->needed;
    if (ok) {
        begin_ids(e, piece);
        begin_rest(e);
        for (uint32_t s = 0; s < p->scope_count; s++)
            collect(e, s, boxes);
        for (unsigned i = 0; i < count; i++) {
            const struct hd_kernel_arg *arg = &e->kernel->args[i].shown;
            if (arg->kind != HD_ARG_GLOBAL && arg->kind != HD_ARG_CONSTANT)
                continue;
            footprints[i].read = touched(&boxes[i][0], e->args[i].offset);
            footprints[i].write = touched(&boxes[i][1], e->args[i].offset);
        }
    }
    free(e->needed);
    free(e->free_variable);
    free(e->forms);
    free(boxes);
    return ok ? HD_OK : hdi_fail(error, HD_ENOMEM, "no memory for footprints");
}

static hd_status check(const struct hd_kernel *kernel,
                       const struct hd_range *range, unsigned arg_count,
                       const struct hd_piece *piece, struct hd_error *error)
{
    bool sized = range->local[0] > 0;

    if (arg_count != kernel->info.arg_count)
        return hdi_fail(error, HD_EINVAL,
                        "kernel '%s' has %u arguments, not %u",
                        kernel->info.name, kernel->info.arg_count, arg_count);
    if (range->dims < 1 || range->dims > 3)
        return hdi_fail(error, HD_EINVAL,
                        "a range has 1 to 3 dimensions, not %u", range->dims);
    for (unsigned d = 0; d < range->dims; d++)
        if (range->global[d] > UINT64_C(1) << 40 ||
            range->offset[d] > UINT64_C(1) << 40)
            return hdi_fail(error, HD_ELIMIT,
                            "footprints are for ranges of up to 2^40 "
                            "work-items along an axis");
    if (piece && !sized && kernel->info.required_local[0] == 0)
        return hdi_fail(error, HD_EINVAL,
                        "a box of work-groups needs a work-group size: set "
                        "`local` of the range");
    for (unsigned d = 0; piece && d < range->dims; d++) {
        uint64_t local =
            sized ? range->local[d] : kernel->info.required_local[d];
        uint64_t groups = local ? (range->global[d] + local - 1) / local : 0;
        if (piece->first[d] > groups ||
            piece->count[d] > groups - piece->first[d])
            return hdi_fail(error, HD_EINVAL,
                            "the box of work-groups reaches beyond the %llu "
                            "of the range",
                            (unsigned long long)groups);
    }
    return HD_OK;
}

hd_status hd_kernel_footprint(const struct hd_kernel *kernel,
                              const struct hd_range *range,
                              const struct hd_arg *args, unsigned arg_count,
                              const struct hd_piece *piece,
                              struct hd_footprint *footprints,
                              struct hd_error *error)
{
    struct hd_range all = *range;
    struct hd_piece box;
    bool empty = false;

    HDI_TRY(check(kernel, range, arg_count, piece, error));
    if (piece)
        box = *piece;
    struct evaluation e = {.footprint = kernel->footprint,
                           .kernel = kernel,
                           .range = &all,
                           .args = args};
    for (unsigned d = 0; d < 3; d++) {
        bool is_there = d < range->dims;
        all.global[d] = is_there ? range->global[d] : 1;
        all.offset[d] = is_there ? range->offset[d] : 0;
        e.local[d] = kernel->info.required_local[0] > 0
                         ? kernel->info.required_local[d]
                     : !is_there           ? 1
                     : range->local[0] > 0 ? range->local[d]
                                           : 0;
        if (!is_there) {
            box.first[d] = 0;
            box.count[d] = 1;
        }
        empty |= all.global[d] == 0 || (piece && box.count[d] == 0);
    }
    tell_all(kernel, footprints);
    if (empty) {
        for (unsigned i = 0; i < arg_count; i++)
            footprints[i] =
                (struct hd_footprint){.read.exact = true, .write.exact = true};
        return HD_OK;
    }
    return kernel->footprint->known & HDI_FOOTPRINT_KNOWN
               ? tell(&e, piece ? &box : NULL, footprints, error)
               : HD_OK;
}
