// Make random trees. What may stand where goes by two facts: whether control
// flow is uniform here, and whether a variable is; a uniform variable is only
// ever assigned uniform values in uniform control flow.
#include <stdlib.h>

#include "tests/kernels/tree.h"

enum {
    NODES = 20000
};

struct node {
    union {
        struct expr expr;
        struct stmt stmt;
    } is;
};

struct maker {
    struct tree *tree;
    uint64_t state;
    struct node *nodes;
    unsigned used;
    uint32_t scope[TREE_VARS]; // variables that can be named here
    unsigned in_scope;
    bool uniform_var[TREE_VARS], fixed[TREE_VARS];
    bool in_helper;
    int budget; // statements left
};

struct place {
    bool uniform;      // all work-items of the group are here together
    bool loop;         // break and continue have a loop
    bool loop_uniform; // and leave it together
    bool turns;        // there is a loop around
    bool free;         // no barrier comes any more: anybody may return
    int depth;
};

static uint32_t below(struct maker *m, uint32_t n)
{
    uint64_t z = m->state += 0x9e3779b97f4a7c15u; // splitmix64

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ z >> 31) >> 32) % n;
}

static void *node(struct maker *m)
{
    if (m->used == NODES)
        abort();
    return &m->nodes[m->used++];
}

static struct expr *leaf(struct maker *m, enum expr_kind kind, uint32_t value)
{
    struct expr *e = node(m);

    *e = (struct expr){.kind = kind, .value = value};
    return e;
}

static struct expr *expr(struct maker *m, int depth, bool uniform);

static struct expr *variable(struct maker *m, int depth, bool uniform)
{
    for (int tries = 0; m->in_scope && tries < 6; tries++) {
        uint32_t var = m->scope[below(m, m->in_scope)];
        if (uniform && !m->uniform_var[var])
            continue;
        struct expr *e = leaf(m, E_VAR, var);
        e->part = below(m, 4);
        if (m->tree->types[var] == V_ARRAY) {
            e->kind = E_ELEMENT;
            e->a = expr(m, depth - 1, uniform);
        } else if (m->tree->types[var] == V_STRUCT) {
            e->kind = below(m, 3) ? E_MEMBER : E_WEIGH;
            e->part = below(m, TREE_MEMBERS);
            e->a = expr(m, depth - 1, uniform);
        }
        return e;
    }
    return leaf(m, E_CONST, below(m, 100));
}

static struct expr *join(struct maker *m, enum expr_kind kind, struct expr *a,
                         struct expr *b)
{
    struct expr *e = leaf(m, kind, 0);

    e->a = a;
    e->b = b;
    return e;
}

// Where a field begins or ends: the same for all work-items, and mostly near
// the first or the last of them, so that most are away from all borders.
static struct expr *border(struct maker *m, int depth, uint32_t d)
{
    static const enum expr_kind joins[] = {E_ADD, E_SUB, E_LEAST, E_MOST,
                                           E_SHR};

    if (depth > 0 && below(m, 8) == 0)
        return join(m, joins[below(m, 5)], border(m, depth - 1, d),
                    border(m, depth - 1, d));
    switch (below(m, 30)) {
    case 0:
        if (!m->in_helper)
            return leaf(m, E_ARG, 0);
        // fall through
    case 1:
        return leaf(m, E_CONST, below(m, 70) - 5);
    default:
        if (below(m, 2))
            return leaf(m, E_CONST, below(m, 3));
        return join(m, E_SUB, leaf(m, E_GLOBAL_SIZE, d),
                    leaf(m, E_CONST, below(m, 3)));
    }
}

// Where a work-item looks: beside it, and not past a border.
static struct expr *coordinate(struct maker *m, int depth, uint32_t d)
{
    struct expr *at = leaf(m, E_GLOBAL_ID, d);

    if (depth <= 0)
        return at;
    switch (below(m, 6)) {
    case 0:
        return join(m, E_ADD, coordinate(m, depth - 1, d),
                    leaf(m, E_CONST, below(m, 7) - 3));
    case 1:
        return join(m, E_SUB, coordinate(m, depth - 1, d),
                    border(m, depth - 2, d));
    case 2:
        return join(m, E_LEAST, coordinate(m, depth - 1, d),
                    border(m, depth - 1, d));
    case 3:
        return join(m, E_MOST, coordinate(m, depth - 1, d),
                    border(m, depth - 2, d));
    case 4:
        return join(m, E_ADD, at, variable(m, 0, false));
    default:
        return at;
    }
}

// Whether a work-item is behind a border, which may be one for some and another
// for others.
static struct expr *behind(struct maker *m, int depth)
{
    static const enum expr_kind joins[] = {E_LESS_SIGNED, E_LESS_SIGNED, E_LESS,
                                           E_EQUAL};
    uint32_t d = below(m, 4) == 0;
    struct expr *a, *b;

    if (depth > 1 && below(m, 4) == 0)
        return join(m, below(m, 2) ? E_BOTH : E_EITHER, behind(m, depth - 1),
                    behind(m, depth - 1));
    a = coordinate(m, depth - 1, d);
    b = border(m, depth - 1, d);
    if (depth > 0 && below(m, 4) == 0) {
        struct expr *chosen = leaf(m, E_CHOOSE, 0);
        chosen->a = behind(m, depth - 1);
        chosen->b = b;
        chosen->c = border(m, depth - 1, d);
        b = chosen;
    }
    return below(m, 2) ? join(m, joins[below(m, 4)], a, b)
                       : join(m, joins[below(m, 4)], b, a);
}

// Of a texel; mostly the work-item's own, or beside it.
static struct expr *texel_at(struct maker *m, int depth, bool uniform,
                             uint32_t d)
{
    if (uniform || below(m, 6) == 0)
        return expr(m, depth, uniform);
    return coordinate(m, depth, below(m, 6) ? d : below(m, 3));
}

static struct expr *expr(struct maker *m, int depth, bool uniform)
{
    static const enum expr_kind ids[] = {
        E_GROUP_ID, E_LOCAL_SIZE, E_GROUPS,  E_GLOBAL_SIZE,
        E_OFFSET,   E_GLOBAL_ID,  E_LOCAL_ID};
    bool flat = m->tree->flat;

    if (flat && !uniform && below(m, 8) == 0)
        return below(m, 2) ? coordinate(m, depth, below(m, 4) == 0)
                           : behind(m, depth);
    if (depth <= 0 || below(m, 4) == 0)
        switch (below(m, 6)) {
        case 0:
            return leaf(m, E_CONST, below(m, 2) ? below(m, 20) : below(m, ~0u));
        case 1:
            return flat ? leaf(m, ids[3 + below(m, uniform ? 2 : 3)],
                               below(m, 3))
                        : leaf(m, ids[below(m, uniform ? 5 : 7)], below(m, 3));
        case 2:
            if (!m->in_helper)
                return leaf(m, E_ARG, below(m, 4));
            // fall through
        default:
            return variable(m, depth, uniform);
        }
    struct expr *e =
        leaf(m, E_ADD + (enum expr_kind)below(m, E_BITS - E_ADD + 2), 0);
    if (e->kind > E_BITS)
        e->kind = E_CHOOSE;
    if (below(m, 8) == 0)
        e->kind = m->in_helper || below(m, 2)        ? E_TABLE
                  : !m->tree->picture || below(m, 2) ? E_INPUT
                  : below(m, 2)                      ? E_NEAR
                  : below(m, 3)                      ? E_TEXEL
                                                     : E_FILTERED;
    else if (m->tree->modern && below(m, 12) == 0)
        e->kind = m->in_helper || flat || below(m, 2) ? E_DOT : E_GENERIC;
    else if (!uniform && !flat && !m->in_helper && below(m, 10) == 0)
        e->kind = m->tree->modern && m->tree->picture && below(m, 2) ? E_CANVAS
                                                                     : E_CELL;
    e->value = below(m, e->kind == E_CELL    ? TREE_MEMBERS
                        : e->kind == E_TEXEL ? 7
                        : e->kind == E_ROUND ? 9
                                             : 4);
    bool near = e->kind == E_NEAR;
    e->a =
        near ? texel_at(m, depth - 1, uniform, 0) : expr(m, depth - 1, uniform);
    e->b =
        near ? texel_at(m, depth - 1, uniform, 1) : expr(m, depth - 1, uniform);
    e->c = expr(m, depth - 1, uniform);
    return e;
}

static uint32_t declare(struct maker *m, enum var_type type, bool uniform,
                        bool fixed)
{
    uint32_t var = m->tree->vars++;

    m->tree->types[var] = type;
    m->uniform_var[var] = uniform;
    m->fixed[var] = fixed;
    m->scope[m->in_scope++] = var;
    return var;
}

// From `least` to `most`; or one less than a power of two of those.
static uint32_t number(struct maker *m, const struct pattern *p, unsigned i)
{
    uint32_t power = p->least[i];

    if (!p->is_mask[i])
        return p->least[i] + below(m, p->most[i] - p->least[i] + 1);
    for (uint32_t k = below(m, 32); k > 0; k--)
        power = 2 * power > p->most[i] ? p->least[i] : 2 * power;
    return power - 1;
}

// What all do together stands where all are; each writes a plane of its own,
// so that no two touch one word.
static bool make_pattern(struct maker *m, struct stmt *s, struct place at)
{
    bool meets = at.uniform && !m->tree->flat && below(m, 2);

    if (m->in_helper || m->tree->planes == PATTERN_PLANES ||
        m->tree->vars >= TREE_VARS - 20)
        return false;
    s->kind = S_PATTERN;
    s->part = below(m, 4);
    s->plane = m->tree->planes++;
    s->pattern = meets ? &patterns_together[below(m, patterns_together_count)]
                       : &patterns_alone[below(m, patterns_alone_count)];
    for (unsigned i = 0; i < PATTERN_NUMBERS; i++)
        s->numbers[i] = number(m, s->pattern, i);
    s->a = expr(m, (int)below(m, 3), false);
    s->b = expr(m, (int)below(m, 3), true);
    s->value = declare(m, V_UINT, s->pattern->is_same, false);
    return true;
}

static struct stmt *block(struct maker *m, struct place at, int length);

static struct stmt *inner(struct maker *m, struct place at, int length)
{
    at.depth++;
    return block(m, at, length);
}

static void loop(struct maker *m, struct stmt *s, struct place at)
{
    bool uniform = at.uniform && below(m, 3);

    s->kind = below(m, 3) ? S_FOR : below(m, 2) ? S_DO : S_AGAIN;
    s->a = expr(m, 2, uniform);
    s->part = below(m, 2) ? 3 : 7; // most rounds
    if (!at.turns && !m->in_helper && below(m, 6) == 0)
        s->part = 127;
    s->value = declare(m, V_UINT, uniform, true);
    at.uniform = at.loop_uniform = uniform;
    at.loop = s->kind != S_AGAIN;
    at.turns = true;
    s->body[0] = inner(m, at, 4);
}

static void leave(struct maker *m, struct stmt *s, struct place at)
{
    bool uniform = at.loop_uniform;
    struct stmt *jump = node(m);

    s->kind = S_IF;
    s->part = 1;
    s->a = expr(m, 3, uniform);
    *jump = (struct stmt){.kind = below(m, 2) ? S_BREAK : S_CONTINUE};
    s->body[0] = jump;
}

static void call(struct maker *m, struct stmt *s, struct place at)
{
    s->kind = S_CALL;
    s->part = below(m, TREE_HELPERS);
    if (!at.uniform)
        while (m->tree->helpers[s->part].uniform)
            s->part = (s->part + 1) % TREE_HELPERS;
    s->a = expr(m, 2, m->tree->helpers[s->part].uniform);
    s->b = expr(m, 3, false);
    s->value = declare(m, V_UINT, false, false);
}

static void change_struct(struct maker *m, struct stmt *s)
{
    bool own = !m->in_helper && below(m, 2);

    s->part = below(m, TREE_MEMBERS);
    if (!own)
        s->kind = below(m, 2) ? S_MEMBER : S_TURN;
    else
        s->kind = m->uniform_var[s->value] || below(m, 2) ? S_KEEP : S_TAKE;
}

static void assign(struct maker *m, struct stmt *s, struct place at)
{
    for (int tries = 0; m->in_scope && tries < 8; tries++) {
        uint32_t var = m->scope[below(m, m->in_scope)];
        if (m->fixed[var] || (m->uniform_var[var] && !at.uniform))
            continue;
        s->kind = m->tree->types[var] == V_ARRAY ? S_ELEMENT : S_ASSIGN;
        s->value = var;
        s->part = below(m, 5);
        if (m->tree->types[var] == V_STRUCT)
            change_struct(m, s);
        s->a = expr(m, 3, m->uniform_var[var]);
        s->b = expr(m, 2, m->uniform_var[var]);
        return;
    }
    s->kind = S_DECLARE;
    s->a = expr(m, 3, false);
    s->value = declare(m, V_UINT, false, false);
}

// An early return; only for all together or when no barrier comes any more.
static struct stmt *may_return(struct maker *m, bool uniform, struct expr *when)
{
    struct stmt *s = node(m), *back = node(m);

    *back = (struct stmt){.kind = S_RETURN, .a = expr(m, 2, uniform)};
    *s = (struct stmt){.kind = S_IF, .part = 1, .a = when};
    s->body[0] = back;
    return s;
}

// True for few.
static struct expr *seldom(struct maker *m, bool uniform)
{
    struct expr *rest =
        join(m, E_REM, expr(m, 3, uniform), leaf(m, E_CONST, 17));

    return join(m, E_EQUAL, rest, leaf(m, E_CONST, below(m, 17)));
}

static struct stmt *statement(struct maker *m, struct place at)
{
    struct stmt *s = node(m);
    bool deep = at.depth > 3 || m->budget <= 0;
    bool room = m->tree->vars < TREE_VARS - 20;

    *s = (struct stmt){0};
    m->budget--;
    switch (below(m, 24)) {
    case 0:
    case 1: {
        bool uniform = at.uniform && below(m, 3) == 0;
        if (!room)
            break;
        s->kind = S_DECLARE;
        s->a = expr(m, 3, uniform);
        enum var_type type = m->tree->flat ? (enum var_type)below(m, V_ARRAY)
                             : below(m, 5) ? (enum var_type)below(m, V_STRUCT)
                                           : V_STRUCT;
        s->value = declare(m, type, uniform, false);
        if (m->tree->types[s->value] == V_STRUCT)
            s->part = below(m, TREE_MEMBERS);
        return s;
    }
    case 2:
    case 3: {
        bool uniform = at.uniform && below(m, 2);
        if (deep)
            break;
        s->kind = S_IF;
        s->part = below(m, 4); // 0: by a jump, where there is no other branch
        s->a = expr(m, 3, uniform);
        at.uniform = uniform;
        if (!uniform)
            at.loop = at.loop && !at.loop_uniform;
        s->body[0] = inner(m, at, 4);
        s->body[1] = below(m, 2) ? inner(m, at, 3) : NULL;
        return s;
    }
    case 4:
    case 5: {
        unsigned old = m->in_scope;
        if (deep || !room)
            break;
        loop(m, s, at);
        m->in_scope = old;
        return s;
    }
    case 6: {
        bool uniform = at.uniform && below(m, 2);
        if (deep)
            break;
        s->kind = S_SWITCH;
        s->a = expr(m, 3, uniform);
        s->part = below(m, 8);
        at.uniform = uniform;
        at.loop = false; // break would be the switch's
        for (int i = 0; i < 4; i++)
            s->body[i] = inner(m, at, 2);
        return s;
    }
    case 7:
        if (!at.loop || (at.loop_uniform && !at.uniform))
            break;
        leave(m, s, at);
        return s;
    case 8:
        if (!at.uniform || m->tree->flat)
            break;
        s->kind = S_BARRIER;
        return s;
    case 9:
    case 10:
        if (!at.uniform || m->tree->flat || !room)
            break;
        s->kind = S_EXCHANGE;
        s->a = expr(m, 3, false);
        s->b = expr(m, 2, false);
        s->value = declare(m, V_UINT, false, false);
        return s;
    case 11:
        if (m->in_helper || (m->tree->flat && !m->tree->modern))
            break;
        s->kind = m->tree->flat || (m->tree->modern && below(m, 3) == 0)
                      ? S_TALLY
                      : S_ATOMIC;
        s->part = below(m, TREE_SUMS);
        s->a = expr(m, 3, false);
        return s;
    case 12:
        if (!at.uniform || m->tree->flat || m->in_helper || !room)
            break;
        s->kind = S_SUM;
        s->part = below(m, TREE_SUMS);
        s->value = declare(m, V_UINT, true, false);
        return s;
    case 13:
        if (m->in_helper || !room)
            break;
        call(m, s, at);
        return s;
    case 15:
    case 16:
        if (!m->tree->modern || m->tree->flat || !at.uniform || !room)
            break;
        s->kind = S_COLLECT;
        s->part = below(m, COLLECTIVES);
        s->a = expr(m, 3, false);
        s->b = expr(m, 2, s->part == C_GROUP_BROADCAST);
        s->value = declare(m, V_UINT,
                           s->part <= C_GROUP_ANY && s->part != C_GROUP_SCAN &&
                               s->part != C_GROUP_MAX_SCAN,
                           false);
        return s;
    case 17:
        if (!at.free && !at.uniform)
            break;
        return may_return(m, !at.free, seldom(m, !at.free));
    case 18:
        if (!at.uniform || m->tree->flat || m->in_helper || !room)
            break;
        s->kind = S_FETCH;
        s->part = below(m, 2);
        s->a = expr(m, 3, true);
        s->b = expr(m, 2, false);
        s->value = declare(m, V_UINT, false, false);
        return s;
    case 19:
        if (!m->tree->prints || m->in_helper || at.turns)
            break;
        s->kind = S_PRINT;
        s->a = expr(m, 3, false);
        return s;
    case 21:
    case 22:
    case 23:
        if (!make_pattern(m, s, at))
            break;
        return s;
    case 14:
        if (m->in_helper)
            break;
        s->kind = m->tree->picture && below(m, 2) ? S_PAINT
                  : !m->tree->flat && below(m, 2) ? S_CELL
                                                  : S_STORE;
        s->part = below(m, s->kind == S_CELL ? TREE_MEMBERS : TREE_SLOTS);
        s->a = expr(m, 3, false);
        s->b = expr(m, 2, false);
        return s;
    }
    assign(m, s, at);
    return s;
}

static struct stmt *block(struct maker *m, struct place at, int length)
{
    unsigned old = m->in_scope;
    struct stmt *first = NULL, **end = &first;

    for (int i = 1 + (int)below(m, (uint32_t)length); i > 0; i--) {
        *end = statement(m, at);
        end = &(*end)->next;
    }
    if (at.depth)
        m->in_scope = old;
    return first;
}

// Some in a row, where all work-items are.
static struct stmt *patterns(struct maker *m, uint32_t count)
{
    struct stmt *first = NULL, **end = &first;

    for (; count > 0; count--) {
        struct stmt *s = node(m);
        *s = (struct stmt){0};
        if (!make_pattern(m, s, (struct place){.uniform = true}))
            break;
        *end = s;
        end = &s->next;
    }
    return first;
}

static struct stmt **end_of(struct stmt **list)
{
    while (*list)
        list = &(*list)->next;
    return list;
}

struct tree *tree_make(uint64_t seed)
{
    struct tree *tree = calloc(1, sizeof(*tree));
    struct maker m = {.tree = tree, .state = seed * 0x2545f4914f6cdd1du};

    m.nodes = tree ? calloc(NODES, sizeof(*m.nodes)) : NULL;
    if (!m.nodes) {
        free(tree);
        return NULL;
    }
    tree->seed = seed;
    tree->memory = m.nodes;
    tree->flat = below(&m, 3) == 0;
    tree->local_argument = !tree->flat && below(&m, 2);
    tree->modern = below(&m, 2);
    // Few: such kernels are compiled once for each common format.
    tree->picture = below(&m, 8) == 0;
    tree->rows = tree->picture && below(&m, 3);
    tree->wary = below(&m, 4) == 0;
    tree->prints = below(&m, 4) == 0;
    tree->line = below(&m, 2);
    if (below(&m, 6) == 0) {
        tree->required[0] = tree->line ? 1u << below(&m, 11) : 8;
        tree->required[1] = tree->line ? 1 : 4;
        tree->required[2] = 1;
    }
    // Short ones are compiled soon, and little is in the way of rules.
    bool is_short = below(&m, 2);
    int length = is_short ? 2 : 9;
    m.in_helper = true;
    for (int i = 0; i < TREE_HELPERS; i++) {
        struct helper *h = &tree->helpers[i];
        h->uniform = i > 0;
        m.in_scope = 0;
        m.budget = 8;
        h->params[0] = declare(&m, V_UINT, h->uniform, false);
        h->params[1] = declare(&m, V_UINT, false, false);
        h->body = block(
            &m, (struct place){.uniform = h->uniform, .free = !h->uniform}, 4);
        bool together = h->uniform && below(&m, 2);
        *end_of(&h->body) = may_return(&m, together, expr(&m, 3, together));
        if (h->uniform && below(&m, 2))
            *end_of(&h->body) = block(&m, (struct place){.uniform = false}, 4);
        h->result = expr(&m, 3, false);
    }
    m.in_helper = false;
    m.in_scope = 0;
    m.budget = is_short ? 4 : tree->flat ? 10 : 40;
    tree->body = block(&m, (struct place){.uniform = true}, length);
    if (below(&m, 4) == 0)
        *end_of(&tree->body) = may_return(&m, true, expr(&m, 3, true));
    *end_of(&tree->body) = patterns(&m, 1 + below(&m, 3));
    *end_of(&tree->body) = block(&m, (struct place){.uniform = true}, length);
    if (below(&m, 2)) {
        *end_of(&tree->body) = may_return(&m, false, expr(&m, 3, false));
        *end_of(&tree->body) = block(&m, (struct place){.free = true}, 4);
    }
    for (uint32_t i = 0; i < TREE_SLOTS; i++) {
        struct stmt *s = node(&m);
        *s = (struct stmt){.kind = S_STORE, .part = i};
        s->a = leaf(&m, E_XOR, 0);
        s->a->a = variable(&m, 2, false);
        s->a->b = variable(&m, 2, false);
        *end_of(&tree->body) = s;
    }
    return tree;
}

void tree_free(struct tree *tree)
{
    if (tree)
        free(tree->memory);
    free(tree);
}
