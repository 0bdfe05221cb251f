// Reads the PTX that LLVM writes.
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/ptx.h"

enum {
    NAME = 256,
    MAX_LABELS = 4096
};

struct label {
    char name[NAME];
    uint32_t at;
};

struct registers { // of one .reg directive, or a single one
    char prefix[32];
    uint32_t first, count;
    bool single;
};

struct parser {
    struct ptx_module *module;
    const char *at, *begin;
    const char *counted; // up to here there are `lines` lines
    unsigned lines;
    char token[NAME];
    struct ptx_function *function;
    struct registers registers[64];
    uint32_t register_kinds;
    struct label *labels;
    uint32_t label_count;
    struct { // branches to labels that come later
        uint32_t instruction;
        char name[NAME];
    } * pending;
    uint32_t pending_count;
    char depot[NAME];
    bool failed;
};

static unsigned line_of(struct parser *p)
{
    if (p->counted > p->at || !p->counted) {
        p->counted = p->begin;
        p->lines = 1;
    }
    while (p->counted < p->at)
        p->lines += *p->counted++ == '\n';
    return p->lines;
}

static void fail(struct parser *p, const char *format, ...)
{
    if (p->failed)
        return;
    char text[300];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    snprintf(p->module->error, sizeof(p->module->error), "line %u: %s",
             line_of(p), text);
    p->failed = true;
}

static bool is_name(int c)
{
    return isalnum(c) || c == '_' || c == '$' || c == '%' || c == '.';
}

static void skip_blanks(struct parser *p)
{
    for (;;) {
        p->at += strspn(p->at, " \t\r\n");
        if (strncmp(p->at, "//", 2) == 0)
            p->at += strcspn(p->at, "\n");
        else
            return;
    }
}

// The next token in p->token; "" at the end.
static const char *next(struct parser *p)
{
    size_t length = 0;

    skip_blanks(p);
    if (*p->at == '"') {
        const char *end = strchr(p->at + 1, '"');
        p->at = end ? end + 1 : p->at + strlen(p->at);
        strcpy(p->token, "\"");
        return p->token;
    }
    while (is_name((unsigned char)p->at[length]) && length < NAME - 1)
        length++;
    if (length == 0 && *p->at)
        length = 1;
    memcpy(p->token, p->at, length);
    p->token[length] = '\0';
    p->at += length;
    return p->token;
}

static char peek(struct parser *p)
{
    skip_blanks(p);
    return *p->at;
}

static bool accept(struct parser *p, char c)
{
    if (peek(p) != c)
        return false;
    p->at++;
    return true;
}

static void expect(struct parser *p, char c)
{
    if (!accept(p, c))
        fail(p, "'%c' expected, not '%.20s'", c, p->at);
}

static void skip_line(struct parser *p)
{
    p->at += strcspn(p->at, "\n");
}

static void skip_to(struct parser *p, char c)
{
    while (*p->at && *p->at != c)
        p->at++;
    if (*p->at)
        p->at++;
}

static unsigned type_size(const char *name)
{
    size_t length = strlen(name);
    if (length < 2)
        return 0;
    const char *digits = name + length;
    while (digits > name && isdigit((unsigned char)digits[-1]))
        digits--;
    return (unsigned)atoi(digits) / 8;
}

static uint32_t round_to(uint32_t n, uint32_t align)
{
    return (n + align - 1) / align * align;
}

// Numbers ---------------------------------------------------------------------

static bool number_of(const char *token, uint64_t *value)
{
    if (strncmp(token, "0f", 2) == 0 || strncmp(token, "0F", 2) == 0) {
        *value = strtoull(token + 2, NULL, 16);
        return true;
    }
    if (strncmp(token, "0d", 2) == 0 || strncmp(token, "0D", 2) == 0) {
        *value = strtoull(token + 2, NULL, 16);
        return true;
    }
    if (!isdigit((unsigned char)*token))
        return false;
    *value = strtoull(token, NULL, 0);
    return true;
}

// Variables -------------------------------------------------------------------

static struct ptx_variable *find_variable(const struct ptx_module *module,
                                          const char *name)
{
    struct ptx_variable *v = module->variables;
    while (v && strcmp(v->name, name) != 0)
        v = v->next;
    return v;
}

static void read_initial(struct parser *p, struct ptx_variable *v,
                         unsigned size)
{
    uint64_t at = 0;
    bool list = accept(p, '{');

    do {
        bool minus = accept(p, '-');
        uint64_t value;
        next(p);
        if (strcmp(p->token, "generic") == 0) {
            expect(p, '(');
            next(p);
            char name[NAME];
            strcpy(name, p->token);
            expect(p, ')');
            strcpy(p->token, name);
        }
        if (!number_of(p->token, &value)) {
            struct ptx_variable *other = find_variable(p->module, p->token);
            if (!other) {
                fail(p, "initial value '%s'", p->token);
                return;
            }
            value = (uint64_t)(uintptr_t)other->memory;
            if (accept(p, '+')) {
                uint64_t more = 0;
                number_of(next(p), &more);
                value += more;
            }
        }
        if (minus)
            value = -value;
        if (at + size > v->bytes) {
            fail(p, "too many initial values");
            return;
        }
        memcpy(v->memory + at, &value, size);
        at += size;
    } while (list && accept(p, ','));
    if (list)
        expect(p, '}');
}

// After ".global", ".const" or ".shared".
static void read_variable(struct parser *p, enum ptx_space space,
                          bool is_extern)
{
    uint32_t align = 8;
    unsigned size = 0;

    for (next(p); *p->token == '.'; next(p))
        if (strcmp(p->token, ".align") == 0)
            align = (uint32_t)atoi(next(p));
        else
            size = type_size(p->token);
    struct ptx_variable *v = find_variable(p->module, p->token);
    if (v && is_extern) {
        skip_to(p, ';');
        return;
    }
    if (!v) {
        v = calloc(1, sizeof(*v));
        v->name = strdup(p->token);
        v->next = p->module->variables;
        p->module->variables = v;
    } else if (!v->is_extern) {
        fail(p, "variable '%s' is there twice", p->token);
        return;
    }
    v->space = space;
    v->is_extern = is_extern;
    v->bytes = size;
    while (accept(p, '[')) {
        if (peek(p) != ']')
            v->bytes *= (uint64_t)atoll(next(p));
        else
            v->bytes = 0;
        expect(p, ']');
    }
    if (space == PTX_SHARED && !is_extern) {
        v->offset = round_to((uint32_t)p->module->shared_bytes, align);
        p->module->shared_bytes = v->offset + v->bytes;
    } else if (space != PTX_SHARED) {
        v->memory = aligned_alloc(256, (v->bytes + 511) / 256 * 256);
        memset(v->memory, 0, v->bytes);
    }
    if (accept(p, '='))
        read_initial(p, v, size);
    expect(p, ';');
}

// Functions -------------------------------------------------------------------

struct ptx_function *ptx_find(struct ptx_module *module, const char *name)
{
    struct ptx_function *f = module->functions;
    while (f && strcmp(f->name, name) != 0)
        f = f->next;
    return f;
}

// ".param .align 16 .b8 name[8]" after ".param".
static void read_parameter(struct parser *p, struct ptx_parameter *list,
                           uint32_t *count, uint32_t *bytes)
{
    uint32_t align = 1;
    unsigned size = 0;

    for (next(p); *p->token == '.'; next(p))
        if (strcmp(p->token, ".align") == 0)
            align = (uint32_t)atoi(next(p));
        else if (strcmp(p->token, ".ptr") != 0)
            size = type_size(p->token);
    struct ptx_parameter parameter = {.name = strdup(p->token), .size = size};
    if (accept(p, '[')) {
        parameter.size *= (uint32_t)atoi(next(p));
        expect(p, ']');
    }
    if (align < size)
        align = size;
    parameter.offset = round_to(*bytes, align < 8 ? 8 : align);
    *bytes = parameter.offset + parameter.size;
    if (*count == 64) {
        fail(p, "too many parameters");
        return;
    }
    list[(*count)++] = parameter;
}

static void read_parameters(struct parser *p, struct ptx_parameter *list,
                            uint32_t *count, uint32_t *bytes)
{
    while (!p->failed && !accept(p, ')')) {
        next(p); // .param
        read_parameter(p, list, count, bytes);
        accept(p, ',');
    }
}

static int find_register(struct parser *p, const char *name)
{
    for (uint32_t i = p->register_kinds; i-- > 0;) {
        const struct registers *r = &p->registers[i];
        size_t length = strlen(r->prefix);
        if (r->single) {
            if (strcmp(r->prefix, name) == 0)
                return (int)r->first;
        } else if (strncmp(name, r->prefix, length) == 0 &&
                   isdigit((unsigned char)name[length])) {
            char *end;
            unsigned long n = strtoul(name + length, &end, 10);
            if (*end == '\0' && n < r->count)
                return (int)(r->first + n);
        }
    }
    return -1;
}

static void read_registers(struct parser *p)
{
    next(p); // the type
    do {
        struct registers r = {.first = p->function->registers, .count = 1};
        next(p);
        snprintf(r.prefix, sizeof(r.prefix), "%.31s", p->token);
        r.single = true;
        if (accept(p, '<')) {
            r.count = (uint32_t)atoi(next(p));
            r.single = false;
            expect(p, '>');
        }
        p->function->registers += r.count;
        if (p->register_kinds == 64) {
            fail(p, "too many .reg");
            return;
        }
        p->registers[p->register_kinds++] = r;
    } while (accept(p, ','));
    expect(p, ';');
}

static int find_label(struct parser *p, const char *name)
{
    for (uint32_t i = p->label_count; i-- > 0;)
        if (strcmp(p->labels[i].name, name) == 0)
            return (int)i;
    return -1;
}

static const struct ptx_parameter *find_parameter(
    const struct ptx_parameter *list, uint32_t count, const char *name)
{
    for (uint32_t i = count; i-- > 0;)
        if (strcmp(list[i].name, name) == 0)
            return &list[i];
    return NULL;
}

static bool special_of(const char *name, uint64_t *number)
{
    static const struct {
        const char *name;
        enum ptx_special number;
    } names[] = {{"%tid", PTX_TID},
                 {"%ntid", PTX_NTID},
                 {"%ctaid", PTX_CTAID},
                 {"%nctaid", PTX_NCTAID},
                 {"%laneid", PTX_LANE},
                 {"%warpid", PTX_WARP},
                 {"%smid", PTX_SM},
                 {"%globaltimer", PTX_TIME},
                 {"%clock64", PTX_CLOCK},
                 {"%clock", PTX_CLOCK},
                 {"%lanemask_lt", PTX_MASK_LT}};
    size_t length = strcspn(name, ".");

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strlen(names[i].name) == length &&
            strncmp(names[i].name, name, length) == 0) {
            *number = names[i].number;
            if (name[length] == '.')
                *number += (uint64_t)(name[length + 1] - 'x');
            return true;
        }
    return false;
}

static struct ptx_operand named(struct parser *p, const char *name)
{
    const struct ptx_function *f = p->function;
    struct ptx_operand o = {.kind = PTX_NUMBER};
    const struct ptx_parameter *parameter;
    const struct ptx_variable *v;
    int r = find_register(p, name);

    if (r >= 0)
        return (struct ptx_operand){.kind = PTX_REGISTER, .index = (uint32_t)r};
    if (special_of(name, &o.number)) {
        o.kind = PTX_SPECIAL;
        return o;
    }
    if (number_of(name, &o.number))
        return o;
    if (strcmp(name, p->depot) == 0)
        return (struct ptx_operand){.kind = PTX_IN_LOCAL};
    if ((parameter = find_parameter(f->variables, f->variable_count, name)))
        return (struct ptx_operand){.kind = PTX_IN_VARIABLE,
                                    .number = parameter->offset};
    if ((parameter = find_parameter(f->parameters, f->parameter_count, name)))
        return (struct ptx_operand){.kind = PTX_IN_PARAMETER,
                                    .number = parameter->offset};
    if ((parameter = find_parameter(f->results, f->result_count, name)))
        return (struct ptx_operand){.kind = PTX_IN_RESULT,
                                    .number = parameter->offset};
    if ((v = find_variable(p->module, name))) {
        if (v->space == PTX_SHARED)
            // Dynamic memory follows what is static.
            return (struct ptx_operand){.kind = PTX_IN_SHARED,
                                        .number = v->is_extern ? UINT64_MAX
                                                               : v->offset};
        o.number = (uint64_t)(uintptr_t)v->memory;
        return o;
    }
    fail(p, "nothing is named '%s'", name);
    return o;
}

static struct ptx_operand read_operand(struct parser *p)
{
    struct ptx_operand o = {.kind = PTX_NUMBER};
    struct ptx_function *f = p->function;

    if (accept(p, '{')) {
        struct ptx_operand list[8];
        uint8_t count = 0;
        do {
            if (count < 8)
                list[count++] = read_operand(p);
        } while (accept(p, ','));
        expect(p, '}');
        if (f->list_count + count > f->list_room) {
            f->list_room = (f->list_count + count) * 2;
            f->lists = realloc(f->lists, f->list_room * sizeof(*f->lists));
        }
        if (count > 0)
            memcpy(f->lists + f->list_count, list, count * sizeof(*list));
        o = (struct ptx_operand){
            .kind = PTX_LIST, .count = count, .index = f->list_count};
        f->list_count += count;
        return o;
    }
    bool address = accept(p, '['), inverted = accept(p, '!');
    if (accept(p, '-')) {
        next(p);
        if (!number_of(p->token, &o.number))
            fail(p, "number expected");
        o.number = -o.number;
    } else {
        next(p);
        o = named(p, p->token);
    }
    o.negated = inverted;
    while (accept(p, '+')) {
        bool minus = accept(p, '-');
        uint64_t more = 0;
        number_of(next(p), &more);
        o.offset += minus ? -(int64_t)more : (int64_t)more;
    }
    if (address)
        expect(p, ']');
    return o;
}

// Instructions ----------------------------------------------------------------

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
        (struct ptx_instruction){.guard = -1, .line = line_of(p)};
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

    if (accept(p, '(')) {
        next(p);
        i->operands[0] = named(p, p->token);
        expect(p, ')');
        expect(p, ',');
    }
    next(p);
    i->callee_name = strdup(p->token);
    if (accept(p, ',')) {
        expect(p, '(');
        while (!p->failed && !accept(p, ')')) {
            next(p);
            if (count < 64)
                list[count++] = named(p, p->token);
            accept(p, ',');
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
    expect(p, ';');
}

static void read_instruction(struct parser *p, char *mnemonic)
{
    struct ptx_instruction *i = add(p);
    char *word, *rest = mnemonic;
    char *kind = strsep(&rest, ".");
    unsigned n = 0;

    if (*kind == '@') {
        fail(p, "guard");
        return;
    }
    i->operation = ptx_operation(kind);
    if (i->operation == 0) {
        fail(p, "instruction '%s' is not known", kind);
        return;
    }
    while ((word = strsep(&rest, ".")))
        if (!read_modifier(i, word, kind)) {
            fail(p, "'%s' of %s is not known", word, kind);
            return;
        }
    if (strcmp(kind, "call") == 0) {
        read_call(p, i);
        return;
    }
    if (strcmp(kind, "bra") == 0) {
        add_branch(p, next(p));
        expect(p, ';');
        return;
    }
    if (accept(p, ';'))
        return;
    if (strcmp(kind, "brx") == 0) {
        i->operands[0] = read_operand(p);
        expect(p, ',');
        add_branch(p, next(p));
        expect(p, ';');
        return;
    }
    do {
        if (n == 5) {
            fail(p, "too many operands");
            return;
        }
        struct ptx_operand o = read_operand(p); // may move the code
        i->operands[n++] = o;
        if (accept(p, '|')) // a second predicate is never used
            read_operand(p);
    } while (accept(p, ','));
    expect(p, ';');
}

static void read_guarded(struct parser *p)
{
    uint32_t at = p->function->count;
    bool inverted = accept(p, '!');
    int r = find_register(p, next(p));

    if (r < 0) {
        fail(p, "no predicate '%s'", p->token);
        return;
    }
    next(p);
    char mnemonic[NAME];
    strcpy(mnemonic, p->token);
    read_instruction(p, mnemonic);
    if (p->function->count > at) {
        p->function->code[at].guard = r;
        p->function->code[at].guard_negated = inverted;
    }
}

// "$name: .branchtargets $a, $b;"
static void read_table(struct parser *p)
{
    struct ptx_function *f = p->function;
    char name[NAME];

    snprintf(name, sizeof(name), "%s", p->labels[p->label_count - 1].name);
    uint32_t first = f->table_count;
    do {
        f->tables =
            realloc(f->tables, (f->table_count + 1) * sizeof(*f->tables));
        // A name for now: the label may come later.
        next(p);
        p->pending =
            realloc(p->pending, (p->pending_count + 1) * sizeof(*p->pending));
        p->pending[p->pending_count].instruction = UINT32_MAX - f->table_count;
        strcpy(p->pending[p->pending_count++].name, p->token);
        f->table_count++;
    } while (accept(p, ','));
    expect(p, ';');
    p->labels[p->label_count - 1].at = UINT32_MAX - first;
}

static void read_directive(struct parser *p)
{
    if (strcmp(p->token, ".reg") == 0) {
        read_registers(p);
    } else if (strcmp(p->token, ".param") == 0) {
        struct ptx_function *f = p->function;
        read_parameter(p, f->variables, &f->variable_count, &f->variable_bytes);
        expect(p, ';');
        if (f->variable_count == 64)
            fail(p, "too many .param");
    } else if (strcmp(p->token, ".local") == 0) {
        while (*next(p) == '.')
            if (strcmp(p->token, ".align") == 0)
                next(p);
        strcpy(p->depot, p->token);
        expect(p, '[');
        p->function->local_bytes = (uint32_t)atoi(next(p));
        expect(p, ']');
        expect(p, ';');
    } else if (strcmp(p->token, ".shared") == 0) { // as nvcc has them
        read_variable(p, PTX_SHARED, false);
    } else if (strcmp(p->token, ".branchtargets") == 0) {
        read_table(p);
    } else if (strcmp(p->token, ".pragma") == 0) {
        skip_to(p, ';');
    } else if (strcmp(p->token, ".loc") == 0) {
        skip_line(p);
    } else {
        fail(p, "directive '%s'", p->token);
    }
}

static void resolve(struct parser *p)
{
    struct ptx_function *f = p->function;

    for (uint32_t i = 0; i < p->pending_count; i++) {
        int label = find_label(p, p->pending[i].name);
        uint32_t where = p->pending[i].instruction;
        if (label < 0) {
            fail(p, "no label '%s'", p->pending[i].name);
            return;
        }
        uint32_t at = p->labels[label].at;
        if (where > UINT32_MAX / 2) {
            f->tables[UINT32_MAX - where] = at;
        } else if (at > UINT32_MAX / 2) {
            f->code[where].target = UINT32_MAX - at;
            f->code[where].targets = 1;
        } else {
            f->code[where].target = at;
        }
    }
    p->pending_count = p->label_count = 0;
}

static void read_body(struct parser *p)
{
    unsigned depth = 1;

    p->register_kinds = 0;
    p->depot[0] = '\0';
    while (!p->failed && depth > 0) {
        if (accept(p, '{')) {
            depth++;
            continue;
        }
        if (accept(p, '}')) {
            depth--;
            continue;
        }
        if (accept(p, ';'))
            continue;
        if (accept(p, '@')) {
            read_guarded(p);
            continue;
        }
        next(p);
        if (*p->token == '\0') {
            fail(p, "'}' is missing");
        } else if (*p->token == '.') {
            read_directive(p);
        } else if (peek(p) == ':') {
            p->at++;
            if (p->label_count == MAX_LABELS) {
                fail(p, "too many labels");
                return;
            }
            strcpy(p->labels[p->label_count].name, p->token);
            p->labels[p->label_count++].at = p->function->count;
        } else {
            char mnemonic[NAME];
            strcpy(mnemonic, p->token);
            read_instruction(p, mnemonic);
        }
    }
    resolve(p);
}

static void clear_parameters(struct ptx_parameter *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        free(list[i].name);
}

// What a declaration has.
static void clear_head(struct ptx_function *f)
{
    clear_parameters(f->parameters, f->parameter_count);
    clear_parameters(f->results, f->result_count);
    free(f->name);
}

static void read_function(struct parser *p, bool entry)
{
    struct ptx_function read = {.is_entry = entry};

    if (accept(p, '('))
        read_parameters(p, read.results, &read.result_count,
                        &read.result_bytes);
    next(p);
    read.name = strdup(p->token);
    struct ptx_function *f = ptx_find(p->module, read.name);
    if (accept(p, '('))
        read_parameters(p, read.parameters, &read.parameter_count,
                        &read.parameter_bytes);
    while (peek(p) == '.') {
        next(p);
        if (strcmp(p->token, ".maxntid") == 0 ||
            strcmp(p->token, ".reqntid") == 0) {
            read.most_threads = (uint32_t)atoi(next(p));
            while (accept(p, ','))
                read.most_threads *= (uint32_t)atoi(next(p));
        }
    }
    bool defined = !accept(p, ';');
    if (f && (f->is_defined || !defined)) {
        if (defined)
            fail(p, "function '%s' is there twice", read.name);
        clear_head(&read);
        return;
    }
    if (!f) {
        f = calloc(1, sizeof(*f));
        read.next = p->module->functions;
        p->module->functions = f;
    } else {
        read.next = f->next;
        clear_head(f);
    }
    *f = read;
    f->module = p->module;
    if (!defined)
        return;
    f->is_defined = true;
    p->function = f;
    expect(p, '{');
    read_body(p);
}

bool ptx_read(struct ptx_module *module, const char *text)
{
    struct parser p = {.module = module, .at = text, .begin = text};
    bool is_extern = false;

    p.labels = malloc(MAX_LABELS * sizeof(*p.labels));
    while (!p.failed && *next(&p)) {
        if (strcmp(p.token, ".extern") == 0)
            is_extern = true;
        else if (strcmp(p.token, ".visible") == 0 ||
                 strcmp(p.token, ".weak") == 0 ||
                 strcmp(p.token, ".common") == 0)
            continue;
        else if (strcmp(p.token, ".global") == 0)
            read_variable(&p, PTX_GLOBAL, is_extern), is_extern = false;
        else if (strcmp(p.token, ".const") == 0)
            read_variable(&p, PTX_CONST, is_extern), is_extern = false;
        else if (strcmp(p.token, ".shared") == 0)
            read_variable(&p, PTX_SHARED, is_extern), is_extern = false;
        else if (strcmp(p.token, ".entry") == 0)
            read_function(&p, true), is_extern = false;
        else if (strcmp(p.token, ".func") == 0)
            read_function(&p, false), is_extern = false;
        else if (strcmp(p.token, ".section") == 0)
            skip_to(&p, '}');
        else if (strcmp(p.token, ".version") == 0 ||
                 strcmp(p.token, ".target") == 0 ||
                 strcmp(p.token, ".address_size") == 0 ||
                 strcmp(p.token, ".file") == 0)
            skip_line(&p);
        else if (strcmp(p.token, ";") != 0)
            fail(&p, "'%s' is not expected", p.token);
    }
    free(p.labels);
    free(p.pending);
    return !p.failed;
}

bool ptx_link(struct ptx_module *module)
{
    for (struct ptx_function *f = module->functions; f; f = f->next)
        for (uint32_t i = 0; i < f->count; i++) {
            struct ptx_instruction *c = &f->code[i];
            if (!c->callee_name)
                continue;
            c->callee = ptx_find(module, c->callee_name);
            if (!c->callee || !c->callee->is_defined) {
                snprintf(module->error, sizeof(module->error),
                         "function '%.200s' is not defined", c->callee_name);
                return false;
            }
        }
    return true;
}

void ptx_clear(struct ptx_module *module)
{
    while (module->functions) {
        struct ptx_function *f = module->functions;
        module->functions = f->next;
        for (uint32_t i = 0; i < f->count; i++)
            free((char *)(uintptr_t)f->code[i].callee_name);
        clear_parameters(f->variables, f->variable_count);
        free(f->tables);
        free(f->lists);
        free(f->code);
        clear_head(f);
        free(f);
    }
    while (module->variables) {
        struct ptx_variable *v = module->variables;
        module->variables = v->next;
        free(v->memory);
        free(v->name);
        free(v);
    }
}
