// Instructions: what the words behind the dots mean, and operands.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/driver/reader.h"

static uint8_t type_of(const char *name)
{
    static const struct {
        const char *name;
        enum ptx_type type;
    } types[] = {{"b8", PTX_B8},     {"b16", PTX_B16},    {"b32", PTX_B32},
                 {"b64", PTX_B64},   {"u8", PTX_U8},      {"u16", PTX_U16},
                 {"u32", PTX_U32},   {"u64", PTX_U64},    {"s8", PTX_S8},
                 {"s16", PTX_S16},   {"s32", PTX_S32},    {"s64", PTX_S64},
                 {"f16", PTX_F16},   {"f32", PTX_F32},    {"f64", PTX_F64},
                 {"pred", PTX_PRED}, {"f16x2", PTX_F16X2}};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (strcmp(types[i].name, name) == 0)
            return (uint8_t)types[i].type;
    return PTX_NONE;
}

static uint8_t index_of(const char *const *names, const char *name)
{
    for (uint8_t i = 0; names[i]; i++)
        if (strcmp(names[i], name) == 0)
            return (uint8_t)(i + 1);
    return 0;
}

static const char *const compares[] = {
    "eq",  "ne",  "lt",  "le",  "gt",  "ge",  "lo",  "ls",  "hi", "hs",
    "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan", NULL};
static const char *const logics[] = {
    "and",    "or",         "xor",       "add",    "min",    "max",
    "exch",   "cas",        "inc",       "dec",    "any",    "all",
    "ballot", "up",         "down",      "bfly",   "idx",    "infinite",
    "finite", "notanumber", "subnormal", "normal", "lo",     "hi",
    "wide",   "warp",       "l",         "r",      "shared", "local",
    "global", NULL};
static const char *const roundings[] = {
    "rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi", "approx", "full", NULL};

// Words that say nothing here.
static bool is_idle(const char *word)
{
    static const char *const words[] = {
        "nc",  "sync", "aligned", "ftz", "to",  "wrap", "clamp", "sys",
        "gpu", "cta",  "acq_rel", "sc",  "uni", "idx",  "L2",    NULL};
    return index_of(words, word) != 0;
}

static bool read_modifier(struct ptx_instruction *i, const char *word,
                          char *kind)
{
    uint8_t n = type_of(word);

    if (n != PTX_NONE) {
        i->from = n;
        if (i->type == PTX_NONE)
            i->type = n;
    } else if ((n = index_of(roundings, word))) {
        i->rounding = n;
    } else if (strcmp(word, "global") == 0 && strcmp(kind, "isspacep") != 0) {
        i->space = PTX_GLOBAL;
    } else if (strcmp(word, "shared") == 0 && strcmp(kind, "isspacep") != 0) {
        i->space = PTX_SHARED;
    } else if (strcmp(word, "local") == 0 && strcmp(kind, "isspacep") != 0) {
        i->space = PTX_LOCAL;
    } else if (strcmp(word, "param") == 0) {
        i->space = PTX_PARAM;
    } else if (strcmp(word, "const") == 0) {
        i->space = PTX_CONST;
    } else if (strcmp(word, "v2") == 0 || strcmp(word, "v4") == 0) {
        i->vector = (uint8_t)(word[1] - '0');
    } else if (strcmp(word, "sat") == 0) {
        i->saturated = true;
    } else if (strcmp(word, "cc") == 0) {
        i->carries = true;
    } else if (strcmp(word, "volatile") == 0 || strcmp(word, "relaxed") == 0 ||
               strcmp(word, "acquire") == 0 || strcmp(word, "release") == 0) {
        i->strong = true;
    } else if (strcmp(kind, "setp") == 0 && (n = index_of(compares, word))) {
        i->compare = n;
    } else if ((n = index_of(logics, word))) {
        i->logic = n;
    } else {
        return is_idle(word);
    }
    return true;
}

static struct ptx_instruction *add(struct parser *p)
{
    struct ptx_function *f = p->function;

    if (f->count == f->room) {
        f->room = f->room ? f->room * 2 : 256;
        f->code = realloc(f->code, f->room * sizeof(*f->code));
    }
    f->code[f->count] =
        (struct ptx_instruction){.guard = -1, .line = ptx_line_of(p)};
    return &f->code[f->count++];
}

static void add_branch(struct parser *p, const char *name)
{
    p->pending =
        realloc(p->pending, (p->pending_count + 1) * sizeof(*p->pending));
    p->pending[p->pending_count].instruction = p->function->count - 1;
    strcpy(p->pending[p->pending_count++].name, name);
}

// "call.uni (retval0), name, (param0, param1);"
static void read_call(struct parser *p, struct ptx_instruction *i)
{
    struct ptx_function *f = p->function;
    struct ptx_operand list[64];
    uint8_t count = 0;

    if (ptx_accept(p, '(')) {
        ptx_next(p);
        i->operands[0] = ptx_named(p, p->token);
        ptx_expect(p, ')');
        ptx_expect(p, ',');
    }
    ptx_next(p);
    i->callee_name = strdup(p->token);
    if (ptx_accept(p, ',')) {
        ptx_expect(p, '(');
        while (!p->failed && !ptx_accept(p, ')')) {
            ptx_next(p);
            if (count < 64)
                list[count++] = ptx_named(p, p->token);
            ptx_accept(p, ',');
        }
    }
    if (f->list_count + count > f->list_room) {
        f->list_room = (f->list_count + count) * 2;
        f->lists = realloc(f->lists, f->list_room * sizeof(*f->lists));
    }
    if (count > 0)
        memcpy(f->lists + f->list_count, list, count * sizeof(*list));
    i->operands[1] = (struct ptx_operand){
        .kind = PTX_LIST, .count = count, .index = f->list_count};
    f->list_count += count;
    ptx_expect(p, ';');
}

void ptx_read_instruction(struct parser *p, char *mnemonic)
{
    struct ptx_instruction *i = add(p);
    char *word, *rest = mnemonic;
    char *kind = strsep(&rest, ".");
    unsigned n = 0;

    if (*kind == '@') {
        ptx_fail(p, "guard");
        return;
    }
    i->operation = ptx_operation(kind);
    if (i->operation == 0) {
        ptx_fail(p, "instruction '%s' is not known", kind);
        return;
    }
    while ((word = strsep(&rest, ".")))
        if (!read_modifier(i, word, kind)) {
            ptx_fail(p, "'%s' of %s is not known", word, kind);
            return;
        }
    if (strcmp(kind, "call") == 0) {
        read_call(p, i);
        return;
    }
    if (strcmp(kind, "bra") == 0) {
        add_branch(p, ptx_next(p));
        ptx_expect(p, ';');
        return;
    }
    if (ptx_accept(p, ';'))
        return;
    if (strcmp(kind, "brx") == 0) {
        i->operands[0] = ptx_read_operand(p);
        ptx_expect(p, ',');
        add_branch(p, ptx_next(p));
        ptx_expect(p, ';');
        return;
    }
    do {
        if (n == 5) {
            ptx_fail(p, "too many operands");
            return;
        }
        struct ptx_operand o = ptx_read_operand(p); // may move the code
        i->operands[n++] = o;
        if (ptx_accept(p, '|')) // a second predicate is never used
            ptx_read_operand(p);
    } while (ptx_accept(p, ','));
    ptx_expect(p, ';');
}

void ptx_read_guarded(struct parser *p)
{
    uint32_t at = p->function->count;
    bool inverted = ptx_accept(p, '!');
    int r = ptx_find_register(p, ptx_next(p));

    if (r < 0) {
        ptx_fail(p, "no predicate '%s'", p->token);
        return;
    }
    ptx_next(p);
    char mnemonic[NAME];
    strcpy(mnemonic, p->token);
    ptx_read_instruction(p, mnemonic);
    if (p->function->count > at) {
        p->function->code[at].guard = r;
        p->function->code[at].guard_negated = inverted;
    }
}
