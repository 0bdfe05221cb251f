// Carry out a tree for all work-items of a group, statement by statement, each
// for every work-item whose bit is set in a mask. It is compiled without
// contraction, so that floats are rounded where OpenCL C rounds them. As trees
// have no races, that is what any order between barriers gives.
#include "tests/kernels/tree.h"

#include <math.h>
#include <string.h>

struct mask {
    uint64_t words[TREE_ITEMS / 64];
};

struct group {
    const struct tree *tree;
    const struct tree_launch *launch;
    uint32_t id[3], size[3];
    unsigned items;
    uint32_t vars[TREE_VARS][TREE_ITEMS][TREE_ARRAY];
    uint32_t shared[TREE_ITEMS], sums[TREE_SUMS], collected[TREE_ITEMS];
    uint32_t returned[TREE_ITEMS], digest[TREE_ITEMS];
    bool in_helper;
    struct mask left, again, back; // who met break, continue, return
    uint32_t *out, *tally, *canvas;
    uint32_t (*cells)[TREE_MEMBERS], *trail;
    struct tree_printed *printed;
};

static bool has(const struct mask *mask, unsigned i)
{
    return mask->words[i / 64] >> i % 64 & 1;
}

static void put(struct mask *mask, unsigned i)
{
    mask->words[i / 64] |= 1ull << i % 64;
}

static bool any(const struct mask *mask)
{
    uint64_t all = 0;

    for (unsigned k = 0; k < TREE_ITEMS / 64; k++)
        all |= mask->words[k];
    return all != 0;
}

static unsigned first(const struct mask *mask)
{
    unsigned i = 0;

    while (!has(mask, i))
        i++;
    return i;
}

static struct mask either(struct mask a, struct mask b)
{
    for (unsigned k = 0; k < TREE_ITEMS / 64; k++)
        a.words[k] |= b.words[k];
    return a;
}

static struct mask without(struct mask a, struct mask b)
{
    for (unsigned k = 0; k < TREE_ITEMS / 64; k++)
        a.words[k] &= ~b.words[k];
    return a;
}

static uint32_t local_id(const struct group *g, unsigned i, unsigned d)
{
    return d == 0 ? i % g->size[0]
                  : (d == 1 ? i / g->size[0] % g->size[1]
                            : i / g->size[0] / g->size[1]);
}

static uint32_t place(const struct group *g, unsigned i, unsigned d)
{
    return g->id[d] * g->launch->local[d] + local_id(g, i, d);
}

// Which work-item of the launch it is.
static uint32_t line(const struct group *g, unsigned i)
{
    const uint32_t *n = g->launch->global;
    uint32_t row = place(g, i, 2) * n[1] + place(g, i, 1);
    return row * n[0] + place(g, i, 0);
}

static uint32_t *cell(const struct group *g, unsigned i, uint32_t which)
{
    const uint32_t *n = g->launch->global;
    return g->cells[which % TREE_CELLS * n[0] * n[1] * n[2] + line(g, i)];
}

// The functions of structs are those of print.c.
static void turn(uint32_t *m, uint32_t x)
{
    uint32_t *c = &m[2 + x % 2];

    *c = tree_member_kept(2, *c + m[1]);
    m[0] ^= x + m[2];
    m[5] += m[0];
    m[7] -= m[6];
    m[4] = tree_member_kept(4, x >> 3);
}

static uint32_t weigh(const uint32_t *m, uint32_t x)
{
    uint32_t c[2] = {m[2], m[3]};

    c[x % 2] = tree_member_kept(2, c[x % 2] + 3);
    return m[0] + m[1] * x + c[0] - c[1] * 5 + m[4] + m[5] + m[6] * 3 + m[7];
}

static int32_t sum_of_chars(int32_t a, int32_t b)
{
    return a + b > 127 ? 127 : a + b < -128 ? -128 : a + b;
}

static uint32_t bits(uint32_t function, uint32_t a, uint32_t b)
{
    uint32_t count = 0;

    switch (function) {
    case 0: // rotate
        return a << (b & 31) | a >> (-b & 31);
    case 1: // mul_hi
        return (uint32_t)((uint64_t)a * b >> 32);
    case 2: // clz
        for (; count < 32 && !(a >> (31 - count) & 1); count++)
            continue;
        return count;
    default: // popcount
        for (; a; a &= a - 1)
            count++;
        return count;
    }
}

// Texel of the input as an image; the samplers are those of print.c.
static uint32_t texel(const struct group *g, uint32_t how, uint32_t a,
                      uint32_t b, uint32_t c)
{
    const int side = TREE_SIDE;
    int x = (int)(a & 15), y = (int)(b & 15);

    if (how == 5)
        return g->launch->input[a & 63];
    if (how == 6)
        return g->launch
            ->input[((c & 3) * TREE_EDGE + (b & 3)) * TREE_EDGE + (a & 3)];
    if (how == 1)
        x -= 4;
    else if (how == 2)
        y -= 4;
    else
        x &= 7, y &= 7;
    if (how == 2 && (x >= side || y < 0 || y >= side))
        return 0;
    x = x < 0 ? 0 : x >= side ? side - 1 : x;
    y = y >= side ? side - 1 : y;
    return g->launch->input[y * side + x];
}

// With the nearest one outside, nothing there, or with coordinates that are
// brought inside.
static uint32_t texel_near(const struct group *g, uint32_t how, int x, int y)
{
    bool inside = x >= 0 && x < TREE_WIDE && y >= 0 && y < TREE_HIGH;

    if (how == 1 && !inside)
        return 0;
    if (how == 3) {
        x = x < 0 ? TREE_WIDE - 1 : x;
        y = y < 0 ? TREE_HIGH - 1 : y;
    }
    x = x < 0 ? 0 : x >= TREE_WIDE ? TREE_WIDE - 1 : x;
    y = y < 0 ? 0 : y >= TREE_HIGH ? TREE_HIGH - 1 : y;
    return g->launch->sheet[y * TREE_WIDE + x];
}

// Products of packed bytes, signed or not.
static uint32_t dot(uint32_t how, uint32_t a, uint32_t b, uint32_t c)
{
    uint64_t sum = 0;

    for (int k = 0; k < 32; k += 8) {
        uint32_t x = a >> k & 255, y = b >> k & 255;
        int32_t signed_x = (int8_t)x, signed_y = how == 1 ? (int8_t)y : (int)y;
        sum += how == 1 || how == 2 ? (uint64_t)(int64_t)(signed_x * signed_y)
                                    : x * y;
    }
    if (how < 3)
        return (uint32_t)sum;
    return sum + c > UINT32_MAX ? UINT32_MAX : (uint32_t)(sum + c);
}

static uint32_t as_bits(float value)
{
    uint32_t result;

    memcpy(&result, &value, sizeof(result));
    return result;
}

// Every step is rounded to its type.
static uint32_t rounded(uint32_t how, uint32_t a, uint32_t b, uint32_t c)
{
    float x = (float)a, y = (float)b, z = (float)c;
    float signed_x = (float)(int32_t)a, signed_y = (float)(int32_t)b;

    switch (how) {
    case 0:
        x = x * 0.37f;
        return as_bits(x + y);
    case 1:
        y = signed_y * 1.1f;
        return as_bits(signed_x - y);
    case 2:
        return (uint32_t)(float)(a >> 1);
    case 3:
        x = x + y;
        return as_bits(x + z);
    case 4:
        return as_bits((float)((double)a / 3.0 - (double)b));
    case 5:
        x = signed_x * 0.001f;
        return as_bits(floorf(x) + 0.3f);
    case 6:
        return as_bits(fmaf(x, 1.0009765625f, signed_y));
    case 7:
        x = signed_x * 0.01f;
        return (uint32_t)(int32_t)rintf(x);
    default:
        return as_bits(x * 1e-42f);
    }
}

// Of floats: a texel, or the mean of it and the next in the row.
static uint32_t filtered(const struct group *g, uint32_t mixed, uint32_t a,
                         uint32_t b)
{
    const uint32_t *row = &g->launch->input[(b & 7) * TREE_SIDE];
    uint32_t x = a & 7, next = x < 7 ? x + 1 : x;

    return mixed ? (TREE_FLOAT(row[x]) + TREE_FLOAT(row[next])) / 2
                 : TREE_FLOAT(row[x]);
}

static uint32_t number(const struct group *g, const struct expr *e, unsigned i)
{
    const struct tree_launch *l = g->launch;
    const uint32_t args[] = {l->n, TREE_PACK.a, TREE_PACK.b, TREE_PACK.c};
    uint32_t a = e->a ? number(g, e->a, i) : 0;
    uint32_t b = e->b ? number(g, e->b, i) : 0;
    uint32_t c = e->c ? number(g, e->c, i) : 0;
    uint32_t x = a & 4095, y = b & 4095, v = e->value;

    switch (e->kind) {
    case E_CONST:
        return v;
    case E_VAR: {
        bool vector = tree_is_vector(g->tree->types[v]);
        return g->vars[v][i][vector ? e->part : 0];
    }
    case E_ELEMENT:
        return g->vars[v][i][a & 7];
    case E_MEMBER:
        return g->vars[v][i][e->part];
    case E_WEIGH:
        return weigh(g->vars[v][i], a);
    case E_INPUT:
        return l->input[a & 63];
    case E_TABLE:
        return TREE_AT(a & 15);
    case E_ARG:
        return args[v];
    case E_GLOBAL_ID:
        return place(g, i, v) + l->offset[v];
    case E_LOCAL_ID:
        return local_id(g, i, v);
    case E_GROUP_ID:
        return g->id[v];
    case E_GLOBAL_SIZE:
        return l->global[v];
    case E_LOCAL_SIZE:
        return g->size[v];
    case E_GROUPS:
        return (l->global[v] + l->local[v] - 1) / l->local[v];
    case E_OFFSET:
        return l->offset[v];
    case E_ADD:
        return a + b;
    case E_SUB:
        return a - b;
    case E_MUL:
        return a * b;
    case E_AND:
        return a & b;
    case E_OR:
        return a | b;
    case E_XOR:
        return a ^ b;
    case E_SHL:
        return a << (b & 31);
    case E_SHR:
        return a >> (b & 31);
    case E_SAR:
        return (uint32_t)((int32_t)a >> (b & 31));
    case E_DIV:
        return a / (b | 1);
    case E_REM:
        return a % (b | 1);
    case E_LESS:
        return a < b;
    case E_LESS_SIGNED:
        return (int32_t)a < (int32_t)b;
    case E_LEAST:
        return (int32_t)a < (int32_t)b ? a : b;
    case E_MOST:
        return (int32_t)a > (int32_t)b ? a : b;
    case E_EQUAL:
        return a == b;
    case E_BOTH:
        return a && b;
    case E_EITHER:
        return a || b;
    case E_FLOAT:
        return v == 0 ? x + y : v == 1 ? x - y : v == 2 ? x * y : x > y ? x : y;
    case E_ROUND:
        return rounded(v, a, b, c);
    case E_LONG:
        return (uint32_t)((uint64_t)a * b >> 7);
    case E_VECTOR:
        return (v == 0 ? a : v == 1 ? b : v == 2 ? c : 3) * b;
    case E_FLOATS:
        return ((v == 0 ? a : v == 1 ? b : v == 2 ? c : 3) & 255) * 5;
    case E_DOUBLE:
        return (uint32_t)((uint64_t)(a >> 4) * (b >> 8));
    case E_HALF:
        return v == 0   ? (a & 31) * (b & 31)
               : v == 1 ? (a & 511) + (b & 511)
               : v == 2 ? (uint32_t)((int)(a & 511) - (int)(b & 511))
                        : (a & 2047) / 2;
    case E_CHAR:
        return (uint32_t)sum_of_chars((int8_t)a, (int8_t)b);
    case E_BITS:
        return bits(v, a, b);
    case E_TEXEL:
        return texel(g, v, a, b, c);
    case E_FILTERED:
        return filtered(g, v & 1, a, b);
    case E_NEAR:
        return texel_near(g, v, (int32_t)a, (int32_t)b);
    case E_GENERIC:
        return a & 1 ? l->input[b & 63] : l->n * (b & 3);
    case E_DOT:
        return dot(v, a, b, c);
    case E_CELL:
        return cell(g, i, a)[v];
    case E_CANVAS:
        return g->canvas[line(g, i)];
    case E_CHOOSE:
        return a ? b : c;
    }
    return 0;
}

static void set(struct group *g, const struct stmt *s, bool all, unsigned i)
{
    uint32_t value = number(g, s->a, i);
    uint32_t *var = g->vars[s->value][i];
    enum var_type type = g->tree->types[s->value];
    bool vector = tree_is_vector(type);

    value = tree_kept(type, value);
    for (unsigned k = 0; k < TREE_ARRAY; k++)
        if (type == V_ARRAY)
            var[k] = value + k * TREE_MIX;
        else if (type == V_STRUCT)
            var[k] = tree_member_kept(k, value + k * TREE_MIX);
        else if (all || k == (vector ? s->part : 0))
            var[k] = value;
}

static void add(uint32_t *sum, unsigned slot, uint32_t value)
{
    const uint32_t old = *sum;
    const uint32_t results[TREE_SUMS] = {old + value,
                                         old ^ value,
                                         old | value,
                                         old & value,
                                         old < value ? old : value,
                                         old > value ? old : value};

    *sum = results[slot];
}

#define FOR_ITEMS(mask)                     \
    for (unsigned i = 0; i < g->items; i++) \
        if (has(&(mask), i))

static struct mask block(struct group *g, const struct stmt *s,
                         struct mask mask);

static struct mask loop(struct group *g, const struct stmt *s, struct mask mask)
{
    struct mask outer_left = g->left, outer_again = g->again;
    struct mask none = {0}, done = none, over;
    static uint32_t all_trips[16][TREE_ITEMS];
    static unsigned depth;
    uint32_t *trips = all_trips[depth++];

    FOR_ITEMS(mask)
    {
        trips[i] = number(g, s->a, i) & s->part;
        g->vars[s->value][i][0] = 0;
    }
    for (bool first = true; any(&mask); first = false) {
        over = none;
        if (s->kind == S_FOR || !first)
            FOR_ITEMS(mask)
            {
                uint32_t round = g->vars[s->value][i][0];
                if (round - (s->kind != S_FOR) >= trips[i])
                    put(&over, i);
            }
        mask = without(mask, over);
        done = either(done, over);
        g->left = g->again = none;
        mask = block(g, s->body[0], mask);
        mask = either(mask, g->again);
        done = either(done, g->left);
        FOR_ITEMS(mask)
        g->vars[s->value][i][0]++;
    }
    g->left = outer_left;
    g->again = outer_again;
    depth--;
    return done;
}

static void call(struct group *g, const struct stmt *s, struct mask mask)
{
    const struct helper *h = &g->tree->helpers[s->part];
    struct mask outer = g->back, end;

    FOR_ITEMS(mask)
    {
        g->vars[h->params[0]][i][0] = number(g, s->a, i);
        g->vars[h->params[1]][i][0] = number(g, s->b, i);
    }
    g->in_helper = true;
    end = block(g, h->body, mask);
    g->in_helper = false;
    FOR_ITEMS(mask)
    g->vars[s->value][i][0] =
        has(&end, i) ? number(g, h->result, i) : g->returned[i];
    g->back = outer;
}

static uint32_t *results_of(const struct group *g, unsigned i)
{
    return &g->out[TREE_RESULTS * line(g, i)];
}

// The work-items that item i meets: all, or those of its sub-group.
static void collect(struct group *g, const struct stmt *s, unsigned i)
{
    bool sub = s->part >= C_SUB_GROUP_SUM;
    unsigned size = g->launch->sub_group;
    unsigned first = sub ? i / size * size : 0;
    unsigned end = sub ? first + size : g->items;
    uint32_t sum = 0, before = 0, high = 0, low = ~0u, any = 0;
    uint32_t ballot = 0; // at most 32 in a sub-group
    uint32_t b = number(g, s->b, i);

    if (end > g->items)
        end = g->items;
    for (unsigned k = first; k < end; k++) {
        uint32_t v = g->collected[k];
        before = k == i ? sum : before;
        sum += v;
        high = k <= i && v > high ? v : high;
        low = k <= i && v < low ? v : low;
        any |= v % 2;
        ballot |= sub ? (v & 1) << (k - first) : 0;
    }
    const uint32_t results[COLLECTIVES] = {
        [C_GROUP_SUM] = sum,
        [C_GROUP_SCAN] = before,
        [C_GROUP_MAX_SCAN] = high,
        [C_GROUP_BROADCAST] = g->collected[b % g->size[0]],
        [C_GROUP_ANY] = any,
        [C_SUB_GROUP_SUM] = sum,
        [C_SUB_GROUP_MIN_SCAN] = low,
        [C_SUB_GROUP_SHUFFLE] = g->collected[first + b % (end - first)],
        [C_SUB_GROUP_BALLOT] = ballot};
    g->vars[s->value][i][0] = results[s->part];
}

static void run_phase(struct group *g, const struct pattern_phase *phase,
                      struct pattern_lane *lanes, struct mask mask,
                      uint32_t step)
{
    if (phase->run)
        FOR_ITEMS(mask)
    phase->run(&lanes[i], step);
}

static void run_pattern(struct group *g, const struct stmt *s, struct mask mask)
{
    const struct pattern *p = s->pattern;
    static struct pattern_lane lanes[TREE_ITEMS];
    uint32_t *plane = &g->trail[s->plane * PATTERN_PLANE];

    FOR_ITEMS(mask)
    lanes[i] = (struct pattern_lane){.id = line(g, i),
                                     .line = i,
                                     .items = g->items,
                                     .n = g->launch->n,
                                     .a = number(g, s->a, i),
                                     .b = number(g, s->b, i),
                                     .numbers = {s->numbers[0], s->numbers[1]},
                                     .from = g->launch->from,
                                     .to = &plane[PATTERN_BEFORE],
                                     .shared = g->shared};
    run_phase(g, &p->first, lanes, mask, 0);
    for (uint32_t step = pattern_begin(p, &lanes[first(&mask)]);
         pattern_goes_on(p, step, g->items); step = pattern_next(p, step))
        for (unsigned k = 0; k < 2; k++)
            run_phase(g, &p->turn[k], lanes, mask, step);
    run_phase(g, &p->last, lanes, mask, 0);
    FOR_ITEMS(mask)
    g->vars[s->value][i][0] = lanes[i].result;
}

static struct mask statement(struct group *g, const struct stmt *s,
                             struct mask mask)
{
    struct mask none = {0}, chosen = none, through = none, end = none;

    switch (s->kind) {
    case S_DECLARE:
    case S_ASSIGN:
        FOR_ITEMS(mask)
        set(g, s, s->kind == S_DECLARE || s->part == 4, i);
        break;
    case S_ELEMENT:
        FOR_ITEMS(mask)
        g->vars[s->value][i][number(g, s->b, i) & 7] = number(g, s->a, i);
        break;
    case S_MEMBER:
        FOR_ITEMS(mask)
        g->vars[s->value][i][s->part] =
            tree_member_kept(s->part, number(g, s->a, i));
        break;
    case S_TURN:
        FOR_ITEMS(mask)
        turn(g->vars[s->value][i], number(g, s->a, i));
        break;
    case S_TAKE:
        FOR_ITEMS(mask)
        memcpy(g->vars[s->value][i], cell(g, i, number(g, s->b, i)),
               sizeof(*g->cells));
        break;
    case S_KEEP:
        FOR_ITEMS(mask)
        memcpy(cell(g, i, number(g, s->b, i)), g->vars[s->value][i],
               sizeof(*g->cells));
        break;
    case S_CELL:
        FOR_ITEMS(mask)
        {
            uint32_t value = number(g, s->a, i), which = number(g, s->b, i);
            cell(g, i, which)[s->part] = tree_member_kept(s->part, value);
        }
        break;
    case S_IF:
        FOR_ITEMS(mask)
        if (number(g, s->a, i) & 1)
            put(&chosen, i);
        through = block(g, s->body[0], chosen);
        return either(through, block(g, s->body[1], without(mask, chosen)));
    case S_FOR:
    case S_DO:
    case S_AGAIN:
        return loop(g, s, mask);
    case S_SWITCH: {
        struct mask of[5] = {0};
        FOR_ITEMS(mask)
        put(&of[number(g, s->a, i) % 5], i);
        of[3] = either(of[3], of[4]);
        for (unsigned k = 0; k < 4; k++) {
            chosen = block(g, s->body[k], either(through, of[k]));
            bool ends = s->part >> k & 1 || k == 3;
            end = ends ? either(end, chosen) : end;
            through = ends ? none : chosen;
        }
        return end;
    }
    case S_BREAK:
        g->left = either(g->left, mask);
        return none;
    case S_CONTINUE:
        g->again = either(g->again, mask);
        return none;
    case S_RETURN:
        FOR_ITEMS(mask)
        g->returned[i] = number(g, s->a, i);
        g->back = either(g->back, mask);
        return none;
    case S_BARRIER:
        break;
    case S_EXCHANGE:
        FOR_ITEMS(mask)
        g->shared[i] = number(g, s->a, i);
        FOR_ITEMS(mask)
        g->vars[s->value][i][0] = g->shared[number(g, s->b, i) % g->items];
        break;
    case S_FETCH:
        FOR_ITEMS(mask)
        {
            uint32_t a = number(g, s->a, i);
            for (uint32_t k = 0; k < (s->part ? 8 : TREE_FETCH); k++)
                g->shared[k] =
                    g->launch
                        ->input[s->part ? k * (1 + (a & 7)) : k + (a & 31)];
            break; // all ask for the same
        }
        FOR_ITEMS(mask)
        g->vars[s->value][i][0] =
            g->shared[number(g, s->b, i) & (s->part ? 7 : 31)];
        break;
    case S_PRINT:
        FOR_ITEMS(mask)
        {
            g->printed->lines++;
            g->printed->sum += number(g, s->a, i);
        }
        break;
    case S_ATOMIC:
        FOR_ITEMS(mask)
        add(&g->sums[s->part], s->part, number(g, s->a, i));
        break;
    case S_TALLY:
        FOR_ITEMS(mask)
        add(&g->tally[s->part], s->part, number(g, s->a, i));
        break;
    case S_SUM:
        FOR_ITEMS(mask)
        g->vars[s->value][i][0] = g->sums[s->part];
        break;
    case S_COLLECT:
        FOR_ITEMS(mask)
        g->collected[i] = number(g, s->a, i);
        FOR_ITEMS(mask)
        collect(g, s, i);
        break;
    case S_CALL:
        call(g, s, mask);
        break;
    case S_STORE:
        FOR_ITEMS(mask)
        results_of(g, i)[s->part] = number(g, s->a, i);
        break;
    case S_PAINT:
        FOR_ITEMS(mask)
        g->canvas[line(g, i)] = number(g, s->a, i);
        break;
    case S_PATTERN:
        run_pattern(g, s, mask);
        break;
    }
    return mask;
}

static void digest(struct group *g, const struct stmt *s, struct mask mask)
{
    unsigned part = tree_digested(g->tree->types[s->value], s->part);

    FOR_ITEMS(mask)
    g->digest[i] = g->digest[i] * 31 + g->vars[s->value][i][part];
}

static struct mask block(struct group *g, const struct stmt *s,
                         struct mask mask)
{
    for (; s && any(&mask); s = s->next) {
        mask = statement(g, s, mask);
        if (!g->in_helper && tree_gives_value(s->kind))
            digest(g, s, mask);
    }
    return mask;
}

void tree_interpret(const struct tree *tree, const struct tree_launch *l,
                    uint32_t *out, uint32_t tally[TREE_SUMS], uint32_t *canvas,
                    uint32_t (*cells)[TREE_MEMBERS], uint32_t *trail,
                    struct tree_printed *printed)
{
    uint32_t groups[3];

    for (unsigned k = 0; k < TREE_SUMS; k++)
        tally[k] = TREE_TALLY;
    for (unsigned d = 0; d < 3; d++)
        groups[d] = (l->global[d] + l->local[d] - 1) / l->local[d];
    for (uint32_t id = 0; id < groups[0] * groups[1] * groups[2]; id++) {
        static struct group group;
        struct group *g = &group;
        // Large, and set before it is read, but for these.
        g->tree = tree;
        g->launch = l;
        g->out = out;
        g->tally = tally;
        g->canvas = canvas;
        g->cells = cells;
        g->trail = trail;
        g->printed = printed;
        g->left = g->again = g->back = (struct mask){0};
        g->id[0] = id % groups[0];
        g->id[1] = id / groups[0] % groups[1];
        g->id[2] = id / groups[0] / groups[1];
        g->items = 1;
        for (unsigned d = 0; d < 3; d++) {
            uint32_t first = g->id[d] * l->local[d];
            g->size[d] = l->global[d] - first;
            if (g->size[d] > l->local[d])
                g->size[d] = l->local[d];
            g->items *= g->size[d];
        }
        for (uint32_t k = 0; k < TREE_SUMS; k++)
            g->sums[k] = l->n * k;
        struct mask all = {0};
        for (unsigned i = 0; i < g->items; i++)
            put(&all, i);
        FOR_ITEMS(all)
        g->digest[i] = 1;
        block(g, tree->body, all);
        FOR_ITEMS(all)
        results_of(g, i)[TREE_SLOTS] = g->digest[i];
    }
}
