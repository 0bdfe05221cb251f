// One scope after another:
//
//     ranges as the launch gives them
//     evaluate the nodes that it needs  <---.   ROUNDS at most, or until
//     narrow ranges by its conditions   ----'   nothing changes
//     are the conditions implied by the ranges?  then it is exact
//
// Each form is made for the ranges of its round. Ranges only become narrower,
// for which a form that was made before stays right.
#include "kernel/footprint/evaluation.h"

#include <string.h>

// A condition may narrow what another one needs, as in nested loops. Most
// kernels are done after two rounds; stopping early gives ranges that are too
// wide, which is allowed.
enum {
    ROUNDS = 4 // of narrowing
};

// Forms -----------------------------------------------------------------------

static const struct hdi_form unknown = {.known = false};

static struct hdi_form of_number(int64_t number)
{
    return (struct hdi_form){.known = true, .c = number};
}

// A number from `lo` to `hi` that is tied to no variable.
static struct hdi_form of_range(int64_t lo, int64_t hi, bool wild)
{
    return (struct hdi_form){.known = true, .wild = wild, .lo = lo, .hi = hi};
}

static struct hdi_form of_variable(unsigned v)
{
    struct hdi_form form = {.known = true};
    form.k[v] = 1;
    return form;
}

// What has no place below 2^62 either way is not known from there on: so 64
// bits never overflow when two are added.
static bool is_small(hdi_wide n)
{
    return n > -hdi_most && n < hdi_most;
}

// a + factor * b
//
// Exact for c and k; ranges of r add up, a negative factor swaps them. Not
// known where a number becomes too large.
static struct hdi_form sum(const struct hdi_form *a, const struct hdi_form *b,
                           int64_t factor)
{
    struct hdi_form r = {.known = a->known && b->known,
                         .wild = a->wild || b->wild};
    hdi_wide c = a->c + (hdi_wide)factor * b->c;
    hdi_wide lo = a->lo + (hdi_wide)factor * (factor < 0 ? b->hi : b->lo);
    hdi_wide hi = a->hi + (hdi_wide)factor * (factor < 0 ? b->lo : b->hi);

    if (!r.known || !is_small(c) || !is_small(lo) || !is_small(hi))
        return unknown;
    r.c = (int64_t)c;
    r.lo = (int64_t)lo;
    r.hi = (int64_t)hi;
    for (unsigned v = 0; v < VARIABLES; v++) {
        hdi_wide k = a->k[v] + (hdi_wide)factor * b->k[v];
        if (!is_small(k))
            return unknown;
        r.k[v] = (int64_t)k;
    }
    return r;
}

// False: not known, or too large.
//
// Each product is largest or smallest at an end of the variable's range. A loop
// whose turns have no bound yet (`open`) has none here.
bool hdi_form_bounds(const struct hdi_evaluation *e,
                     const struct hdi_form *form, int64_t *lo, int64_t *hi)
{
    hdi_wide least = (hdi_wide)form->c + form->lo;
    hdi_wide largest = (hdi_wide)form->c + form->hi;

    for (unsigned v = 0; v < VARIABLES; v++) {
        if (form->k[v] != 0 && e->open[v])
            return false;
        hdi_wide a = (hdi_wide)form->k[v] * e->lo[v];
        hdi_wide b = (hdi_wide)form->k[v] * e->hi[v];
        least += a < b ? a : b;
        largest += a < b ? b : a;
    }
    if (!form->known || !is_small(least) || !is_small(largest))
        return false;
    *lo = (int64_t)least;
    *hi = (int64_t)largest;
    return true;
}

// Its value is then c + lo. False where it is not known.
static bool is_number(const struct hdi_form *form)
{
    for (unsigned v = 0; v < VARIABLES; v++)
        if (form->k[v])
            return false;
    return form->known && form->lo == form->hi;
}

// Of `bits` bits, 1 to 64.
static void type_bounds(unsigned bits, bool is_signed, hdi_wide *lo,
                        hdi_wide *hi)
{
    hdi_wide one = 1;
    *lo = is_signed ? -(one << (bits - 1)) : 0;
    *hi = (is_signed ? one << (bits - 1) : one << bits) - 1;
}

static int64_t clamp(hdi_wide n)
{
    return n >= hdi_most    ? hdi_most - 1
           : n <= -hdi_most ? -hdi_most + 1
                            : (int64_t)n;
}

// As the number that the bits stand for.
//
// A form is a number without a width, and the kernel has its low bits only. If
// all that it may be lies within one turn of 2^bits, the number of turns is
// taken off, and the form stays exact:
//
//     -- least ------ largest -- least + 2^bits ------ largest + 2^bits --
//                                      [lo ...... hi]      one turn too far
//
// Otherwise it may be any number of the type.
static struct hdi_form fit(const struct hdi_evaluation *e,
                           const struct hdi_form *form, unsigned bits,
                           bool is_signed)
{
    hdi_wide least, largest;
    int64_t lo, hi;
    struct hdi_form r = *form;

    type_bounds(bits, is_signed, &least, &largest);
    if (hdi_form_bounds(e, form, &lo, &hi)) {
        hdi_wide all = (hdi_wide)1 << bits, from = lo - least;
        hdi_wide turns = from / all - (from % all < 0);
        if (hi - turns * all <= largest) {
            hdi_wide c = r.c - turns * all;
            if (!is_small(c))
                return unknown;
            r.c = (int64_t)c;
            return r;
        }
    }
    return bits > 32 ? unknown : of_range(clamp(least), clamp(largest), true);
}

// C rounds towards 0; here negative quotients round down as well. `b` may be
// negative.
int64_t hdi_divide_down(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

// Nodes -----------------------------------------------------------------------

// With its sign.
static struct hdi_form of_memory(const void *memory, uint64_t size)
{
    int64_t number = 0;

    switch (size) {
    case 1:
        return of_number(*(const int8_t *)memory);
    case 2: {
        int16_t half;
        memcpy(&half, memory, sizeof(half));
        return of_number(half);
    }
    case 4: {
        int32_t word;
        memcpy(&word, memory, sizeof(word));
        return of_number(word);
    }
    case 8:
        memcpy(&number, memory, sizeof(number));
        return is_small(number) ? of_number(number) : unknown;
    default:
        return unknown;
    }
}

// Values are of the size that was given; a float is a number like any other,
// which nothing sensible is computed from. Pointers are not known.
static struct hdi_form of_arg(const struct hdi_evaluation *e, uint32_t index)
{
    const struct hd_arg *arg = &e->args[index];

    if (arg->is == HD_IS_SAMPLER)
        return of_number(arg->sampler);
    return arg->is == HD_IS_VALUE && arg->value
               ? of_memory(arg->value, arg->size)
               : unknown;
}

static struct hdi_form of_image(const struct hdi_evaluation *e,
                                const struct hdi_footprint_node *n)
{
    const struct hdi_image *image = e->images ? e->images[n->a] : NULL;

    return image ? of_memory((const char *)image + n->number, n->bits / 8)
                 : unknown;
}

// With work-groups of a known size an id is group * size + local (`split`),
// where the kernel asks for one of these; else it is a variable by itself,
// which says more when ids are not split. The size of the last group is
// smaller, hence a range where groups are not all alike. Without a size every
// one up to the global size is possible.
static struct hdi_form of_id(const struct hdi_evaluation *e, uint32_t op,
                             unsigned d)
{
    const struct hd_range *range = e->range;
    uint64_t local = e->local[d];

    switch (op) {
    case HDI_FOOTPRINT_GLOBAL_ID: {
        if (!e->split[d])
            return of_variable(V_GLOBAL + d);
        struct hdi_form form = of_variable(V_LOCAL + d),
                        group = of_variable(V_GROUP + d);
        form.c = (int64_t)range->offset[d];
        return sum(&form, &group, (int64_t)local);
    }
    case HDI_FOOTPRINT_LOCAL_ID:
        return of_variable(V_LOCAL + d);
    case HDI_FOOTPRINT_GROUP_ID:
        return of_variable(V_GROUP + d);
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

// Forms with the same multiples differ by a range, and stay tied to the
// variables; others become one range, from the least to the largest of both.
static struct hdi_form either(const struct hdi_evaluation *e,
                              const struct hdi_form *a,
                              const struct hdi_form *b)
{
    if (!a->known || !b->known)
        return unknown;
    if (memcmp(a->k, b->k, sizeof(a->k)) == 0) {
        struct hdi_form r = *a;
        hdi_wide lo = (hdi_wide)b->c - a->c + b->lo;
        hdi_wide hi = (hdi_wide)b->c - a->c + b->hi;
        if (!is_small(lo) || !is_small(hi))
            return unknown;
        r.lo = lo < r.lo ? (int64_t)lo : r.lo;
        r.hi = hi > r.hi ? (int64_t)hi : r.hi;
        r.wild |= b->wild;
        return r;
    }
    int64_t lo[2], hi[2];
    if (!hdi_form_bounds(e, a, &lo[0], &hi[0]) ||
        !hdi_form_bounds(e, b, &lo[1], &hi[1]))
        return unknown;
    return of_range(lo[0] < lo[1] ? lo[0] : lo[1],
                    hi[0] > hi[1] ? hi[0] : hi[1], a->wild || b->wild);
}

// By a number it is exact. Of two ranges the product is extreme at one of the
// four pairs of ends.
static struct hdi_form times(const struct hdi_evaluation *e,
                             const struct hdi_form *a, const struct hdi_form *b)
{
    struct hdi_form zero = of_number(0);
    int64_t lo[2], hi[2];

    if (is_number(b))
        return sum(&zero, a, b->c + b->lo);
    if (is_number(a))
        return sum(&zero, b, a->c + a->lo);
    if (!hdi_form_bounds(e, a, &lo[0], &hi[0]) ||
        !hdi_form_bounds(e, b, &lo[1], &hi[1]))
        return unknown;
    hdi_wide least = (hdi_wide)lo[0] * lo[1], largest = least;
    for (unsigned i = 1; i < 4; i++) {
        hdi_wide p =
            (hdi_wide)(i & 1 ? hi[0] : lo[0]) * (i & 2 ? hi[1] : lo[1]);
        least = p < least ? p : least;
        largest = p > largest ? p : largest;
    }
    return is_small(least) && is_small(largest)
               ? of_range((int64_t)least, (int64_t)largest, a->wild || b->wild)
               : unknown;
}

// Divided by a positive number, rounded down; of what is not negative that is
// how all division rounds.
//
// Exact if the number divides every part of the form. Otherwise the ends are
// divided, and the tie to the variables is lost.
static struct hdi_form over(const struct hdi_evaluation *e,
                            const struct hdi_form *a, int64_t number)
{
    struct hdi_form r = *a;
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
    if (!hdi_form_bounds(e, a, &lo, &hi))
        return unknown;
    return of_range(hdi_divide_down(lo, number), hdi_divide_down(hi, number),
                    a->wild);
}

// `rest`: the remainder is asked for. C rounds signed division towards 0,
// over() down: they agree where nothing is negative, and elsewhere the quotient
// is not known. A remainder by a number is exact while all values are in one
// turn of it; else it is from 0 (or from minus, of signed negative values) to
// number - 1. By an unknown positive divisor the result is at most the
// dividend.
static struct hdi_form quotient(const struct hdi_evaluation *e,
                                const struct hdi_form *a,
                                const struct hdi_form *b, unsigned bits,
                                bool is_signed, bool rest)
{
    struct hdi_form x = fit(e, a, bits, is_signed),
                    y = fit(e, b, bits, is_signed);
    int64_t lo, hi;

    if (!hdi_form_bounds(e, &x, &lo, &hi))
        return unknown;
    if (!is_number(&y) || y.c + y.lo <= 0) {
        if (lo < 0)
            return unknown;
        int64_t from, to;
        if (!hdi_form_bounds(e, &y, &from, &to) || from < 1)
            return unknown;
        return of_range(0, rest && to - 1 < hi ? to - 1 : hi, x.wild || y.wild);
    }
    int64_t number = y.c + y.lo;
    if (rest) {
        int64_t turns = hdi_divide_down(lo, number);
        if (turns == hdi_divide_down(hi, number) && (lo >= 0 || turns == 0)) {
            struct hdi_form many = of_number(number);
            return sum(&x, &many, -turns);
        }
        return of_range(lo < 0 ? -(number - 1) : 0, number - 1, false);
    }
    return lo >= 0 ? over(e, &x, number) : unknown;
}

//     x & (2^n - 1)   the rest by 2^n: exact within one turn
//     x ^ -1          -1 - x
//     x & y           at most the smaller one
//     x | y, x ^ y    below the next power of two above both
static struct hdi_form bitwise(const struct hdi_evaluation *e, uint32_t op,
                               const struct hdi_form *a,
                               const struct hdi_form *b, unsigned bits)
{
    int64_t lo[2], hi[2];
    const struct hdi_form *mask = is_number(b) ? b : is_number(a) ? a : NULL;

    if (op == HDI_FOOTPRINT_AND && mask) {
        const struct hdi_form *other = mask == b ? a : b;
        int64_t number = mask->c + mask->lo;
        if (number >= 0 && (number & (number + 1)) == 0) {
            int64_t all = number + 1;
            if (!hdi_form_bounds(e, other, &lo[0], &hi[0]) ||
                hdi_divide_down(lo[0], all) != hdi_divide_down(hi[0], all))
                return of_range(0, number, false);
            struct hdi_form many = of_number(all);
            return sum(other, &many, -hdi_divide_down(lo[0], all));
        }
    }
    if (op == HDI_FOOTPRINT_XOR && mask && mask->c + mask->lo == -1) {
        struct hdi_form ones = of_number(-1); // ~x is -1 - x
        return sum(&ones, mask == b ? a : b, -1);
    }
    struct hdi_form x = fit(e, a, bits, false), y = fit(e, b, bits, false);
    bool known[2] = {hdi_form_bounds(e, &x, &lo[0], &hi[0]),
                     hdi_form_bounds(e, &y, &lo[1], &hi[1])};
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

// Where the ranges do not overlap one of the two is it, with its tie to the
// variables. Else from the smaller (larger) of the low ends to that of the high
// ends. Bounded by one that is not wild it is not wild: this is how kernels
// clamp addresses.
static struct hdi_form least(const struct hdi_evaluation *e, uint32_t op,
                             const struct hdi_form *a, const struct hdi_form *b,
                             unsigned bits)
{
    bool is_signed = op == HDI_FOOTPRINT_SMIN || op == HDI_FOOTPRINT_SMAX;
    bool smaller = op == HDI_FOOTPRINT_SMIN || op == HDI_FOOTPRINT_UMIN;
    struct hdi_form x = fit(e, a, bits, is_signed),
                    y = fit(e, b, bits, is_signed);
    int64_t lo[2], hi[2];

    if (!hdi_form_bounds(e, &x, &lo[0], &hi[0]) ||
        !hdi_form_bounds(e, &y, &lo[1], &hi[1]))
        return unknown;
    if (hi[0] <= lo[1])
        return smaller ? x : y;
    if (hi[1] <= lo[0])
        return smaller ? y : x;
    unsigned low = smaller == (lo[0] < lo[1]) ? 0 : 1;
    unsigned high = smaller == (hi[0] < hi[1]) ? 0 : 1;
    return of_range(lo[low], hi[high], x.wild && y.wild);
}

// `from` is where a value that only grows or shrinks begins. A node with a
// variable of its own narrows that variable's range; without one left it is a
// range, wild in any case.
static struct hdi_form free_value(struct hdi_evaluation *e, uint32_t node,
                                  const struct hdi_form *from)
{
    const struct hdi_footprint_node *n = &e->footprint->nodes[node];
    unsigned v = e->free_variable[node];
    hdi_wide least, largest;
    int64_t lo, hi;

    type_bounds(n->bits, true, &least, &largest);
    bool bound = from && hdi_form_bounds(e, from, &lo, &hi) && lo >= 0;
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

// start + step * turns: only a step that is a number gives a form.
static struct hdi_form turn(const struct hdi_evaluation *e,
                            const struct hdi_footprint_node *n)
{
    const struct hdi_form *start = &e->forms[n->a];
    struct hdi_form step = fit(e, &e->forms[n->b], n->bits, true);
    struct hdi_form count = of_variable(V_TURNS + (unsigned)n->number);

    return is_number(&step) ? sum(start, &count, step.c + step.lo) : unknown;
}

// To the left. What falls off at the end does not matter: of a number that
// becomes too large the bits that stay will do.
//
// 61: one bit more would leave the numbers that are small.
static struct hdi_form shifted(const struct hdi_evaluation *e,
                               const struct hdi_form *a, int64_t by,
                               unsigned bits)
{
    struct hdi_form zero = of_number(0);

    if (by < 0 || by > 61 || by >= bits)
        return unknown;
    struct hdi_form r = sum(&zero, a, INT64_C(1) << by);
    if (r.known || !a->known)
        return r;
    struct hdi_form stays = fit(e, a, bits - (unsigned)by, true);
    return sum(&zero, &stays, INT64_C(1) << by);
}

// Operands have been evaluated: they come before, and find_needed() marked
// them. Of operations without operands `a` and `b` are not read here.
static struct hdi_form evaluate(struct hdi_evaluation *e, uint32_t node)
{
    const struct hdi_footprint_node *n = &e->footprint->nodes[node];
    const struct hdi_form *a = &e->forms[n->a], *b = &e->forms[n->b];
    unsigned bits = n->bits;

    switch (n->op) {
    case HDI_FOOTPRINT_NUMBER:
        return is_small(n->number) ? of_number(n->number) : unknown;
    case HDI_FOOTPRINT_ARG:
        return of_arg(e, n->a);
    case HDI_FOOTPRINT_IMAGE:
        return of_image(e, n);
    case HDI_FOOTPRINT_DIMS:
        return of_number(e->range->dims);
    case HDI_FOOTPRINT_ANY:
        return free_value(e, node, NULL);
    case HDI_FOOTPRINT_GROWS:
    case HDI_FOOTPRINT_SHRINKS: {
        struct hdi_form start = fit(e, a, bits, true);
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
    case HDI_FOOTPRINT_SHL:
        return is_number(b) ? shifted(e, a, b->c + b->lo, bits) : unknown;
    case HDI_FOOTPRINT_LSHR:
    case HDI_FOOTPRINT_ASHR: {
        struct hdi_form x = fit(e, a, bits, n->op == HDI_FOOTPRINT_ASHR);
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

// The range of a variable ends at `hi`. If nothing is left the scope is empty:
// no work-item gets there. The range then stays one step inside out, so that no
// number becomes too large.
static void narrow_high(struct hdi_evaluation *e, unsigned v, hdi_wide hi)
{
    if (hi < e->hi[v])
        e->hi[v] = hi < e->lo[v] ? e->lo[v] - 1 : (int64_t)hi;
    e->empty |= e->hi[v] < e->lo[v];
}

static void narrow_low(struct hdi_evaluation *e, unsigned v, hdi_wide lo)
{
    if (lo > e->lo[v])
        e->lo[v] = lo > e->hi[v] ? e->hi[v] + 1 : (int64_t)lo;
    e->empty |= e->hi[v] < e->lo[v];
}

static hdi_wide down(hdi_wide a, hdi_wide b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

// `form` is at most `limit`.
//
// For each variable in turn: the others at their least leave it so much.
//
//     k * v + rest <= limit,  least rest = lo - own
//     k > 0:  v <= (limit - least rest) / k      rounded down
//     k < 0:  v >= (limit - least rest) / k      rounded up
//
// The bounds are computed anew for each, with what was narrowed before.
static void narrow(struct hdi_evaluation *e, const struct hdi_form *form,
                   int64_t limit)
{
    int64_t lo, hi;

    for (unsigned v = 0; v < VARIABLES && !e->empty; v++) {
        int64_t k = form->k[v];
        if (k == 0 || !hdi_form_bounds(e, form, &lo, &hi))
            continue;
        hdi_wide own = (hdi_wide)k * (k > 0 ? e->lo[v] : e->hi[v]);
        hdi_wide left = limit - (lo - own);
        if (k > 0)
            narrow_high(e, v, down(left, k));
        else
            narrow_low(e, v, -down(left, -k));
    }
    if (!e->empty && hdi_form_bounds(e, form, &lo, &hi) && lo > limit)
        e->empty = true;
}

static bool is_signed_relation(uint32_t relation)
{
    return relation != HDI_FOOTPRINT_ULT && relation != HDI_FOOTPRINT_ULE;
}

// The most turns after which a loop still goes on, when `x` and `y` are related
// as it says: x or y grows by the same in each. False: not to be told, or a
// number could wrap.
//
// `own` is the side that the loop moves, by `step` a turn, `other` the one that
// stays. For != the loop must hit the end exactly: with a step of 1, or from
// one known distance that the step divides; else it might jump over it.
static bool count_turns(const struct hdi_evaluation *e,
                        const struct hdi_footprint_condition *c,
                        const struct hdi_form *x, const struct hdi_form *y,
                        unsigned bits, hdi_wide *turns)
{
    unsigned v = V_TURNS + c->loop;
    bool left = x->k[v] != 0;
    struct hdi_form own = left ? *x : *y, other = left ? *y : *x;
    int64_t step = own.k[v], lo, hi, from, to;
    hdi_wide first, last;

    own.k[v] = 0;
    other = fit(e, &other, bits, is_signed_relation(c->relation));
    own = fit(e, &own, bits, is_signed_relation(c->relation));
    if (other.k[v] != 0 || !hdi_form_bounds(e, &own, &lo, &hi) ||
        !hdi_form_bounds(e, &other, &from, &to))
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
            *turns = down((hdi_wide)to - less - lo, step);
            return (hdi_wide)to - less + step <= last;
        }
        if (!left && step < 0) { // own + step * turns >= from + less
            *turns = down((hdi_wide)hi - from - less, -(hdi_wide)step);
            return (hdi_wide)from + less + step >= first;
        }
        return false;
    }
    case HDI_FOOTPRINT_NE: {
        hdi_wide least = step > 0 ? (hdi_wide)from - hi : (hdi_wide)lo - to;
        hdi_wide largest = step > 0 ? (hdi_wide)to - lo : (hdi_wide)hi - from;
        hdi_wide size = step > 0 ? step : -(hdi_wide)step;
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
//
// False: not to be told. A negative number is a huge one for an unsigned
// comparison; so `i - 1 < n` (unsigned) says that i - 1 is not negative, if
// even the least huge one is above the bound.
static bool difference(const struct hdi_evaluation *e,
                       const struct hdi_footprint_condition *c,
                       struct hdi_form *result, struct hdi_form *positive)
{
    unsigned bits = e->footprint->nodes[c->a].bits;
    bool is_signed = is_signed_relation(c->relation);
    const struct hdi_form *raw = &e->forms[c->a];
    struct hdi_form a = fit(e, raw, bits, is_signed);
    struct hdi_form b = fit(e, &e->forms[c->b], bits, is_signed);
    int64_t lo, hi, from, to;

    positive->known = false;
    if (!is_signed && hdi_form_bounds(e, raw, &lo, &hi) && lo < 0 &&
        hdi_form_bounds(e, &b, &from, &to) &&
        (hdi_wide)lo + ((hdi_wide)1 << bits) > to &&
        hi < ((hdi_wide)1 << bits)) {
        a = *raw;
        *positive = a;
    }
    *result = sum(&a, &b, -1);
    return result->known;
}

// A condition of a loop is used for the number of its turns while that is
// `open`, and for the ids as any other once it is bounded. `again` means that
// it held in all turns but the latest: then there is one turn more than it
// allows, and it says nothing about the latest.
//
// EQ narrows from both sides. NE cuts off one end of a variable's range if that
// is exactly what is excluded; a hole in the middle has no place in a range.
static void apply(struct hdi_evaluation *e,
                  const struct hdi_footprint_condition *c)
{
    struct hdi_form d, positive;
    struct hdi_form zero = of_number(0);
    unsigned v = V_TURNS + c->loop;

    if (c->loop != HDI_FOOTPRINT_NO_LOOP && e->open[v]) {
        const struct hdi_form *x = &e->forms[c->a], *y = &e->forms[c->b];
        hdi_wide turns;
        if (!x->known || !y->known || (x->k[v] != 0) == (y->k[v] != 0) ||
            !count_turns(e, c, x, y, e->footprint->nodes[c->a].bits, &turns))
            return;
        if (turns >= hdi_most_turns)
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
        e->empty |= is_number(&d) && d.c + d.lo == 0;
        for (unsigned i = 0; i < VARIABLES; i++) {
            struct hdi_form rest = d;
            rest.k[i] = 0;
            if (d.k[i] == 0 || !is_number(&rest) ||
                (rest.c + rest.lo) % d.k[i] != 0)
                continue;
            int64_t hole = -(rest.c + rest.lo) / d.k[i];
            if (hole == e->lo[i])
                narrow_low(e, i, (hdi_wide)hole + 1);
            else if (hole == e->hi[i])
                narrow_high(e, i, (hdi_wide)hole - 1);
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
//
// If not, some work-items of the ranges do not do what the scope does, and the
// result is too large. With `again` the last turn is left out of the question.
static bool is_implied(struct hdi_evaluation *e,
                       const struct hdi_footprint_condition *c)
{
    unsigned v = V_TURNS + c->loop;
    struct hdi_form d, positive;
    int64_t lo = 0, hi = 0;

    if (c->loop != HDI_FOOTPRINT_NO_LOOP && e->open[v])
        return false;
    if (c->again) {
        if (e->hi[v] == e->lo[v])
            return true; // one turn
        e->hi[v]--;
    }
    bool known =
        difference(e, c, &d, &positive) && hdi_form_bounds(e, &d, &lo, &hi);
    if (known && positive.known) {
        int64_t from, to;
        known = hdi_form_bounds(e, &positive, &from, &to) && from >= 0;
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
//
// Of group * size + local the last group would reach beyond it. What group and
// local are tied to each other by this is lost, hence `ragged` and not exact.
static void apply_ragged(struct hdi_evaluation *e)
{
    for (unsigned d = 0; d < 3; d++)
        if (e->split[d]) {
            struct hdi_form id = of_id(e, HDI_FOOTPRINT_GLOBAL_ID, d);
            narrow(e, &id,
                   (int64_t)(e->range->offset[d] + e->range->global[d] - 1));
        }
}

// Which nodes the accesses and conditions of a scope are computed from.
//
// Back to front, since operands come before: one pass is enough.
static void find_needed(struct hdi_evaluation *e, uint32_t scope)
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

// In order; all operands of a node that is needed are needed.
static void evaluate_needed(struct hdi_evaluation *e)
{
    for (uint32_t n = 0; n < e->footprint->node_count; n++)
        if (e->needed[n])
            e->forms[n] = evaluate(e, n);
}

// After the last round forms are evaluated once more if it has changed ranges,
// since boxes use both together.
void hdi_evaluate_scope(struct hdi_evaluation *e, uint32_t number, bool *exact)
{
    const struct hdi_footprint *p = e->footprint;
    const struct hdi_footprint_scope *scope = &p->scopes[number];
    int64_t lo[VARIABLES], hi[VARIABLES];
    bool changed = true;

    find_needed(e, number);
    memcpy(e->lo, e->first_lo, sizeof(e->lo));
    memcpy(e->hi, e->first_hi, sizeof(e->hi));
    for (unsigned v = 0; v < VARIABLES; v++)
        e->open[v] = v >= V_TURNS && v < V_FREE;
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
