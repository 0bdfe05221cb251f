// How a program is made up: declarations first, then functions that call those
// printed before them, then the kernel. What is in scope is known while it is
// printed; there is no tree.
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tests/programs/generator.h"

static void line(struct generator *g)
{
    put(g, "%*s", g->indent * 4, "");
}

// Another variable is assigned first.
static void comma(struct generator *g, struct type t, unsigned depth)
{
    const struct variable *v = find(g, t, true);

    if (!v) {
        expression(g, t, depth);
        return;
    }
    put(g, "(%s = ", v->text);
    expression(g, t, depth);
    put(g, ", %s)", v->text);
}

// Statements ------------------------------------------------------------------

static struct variable *add(struct generator *g, struct type t, bool fixed,
                            const char *format, ...)
{
    va_list args;

    if (g->variable_count == MAX_VARIABLES)
        return NULL;
    struct variable *v = &g->variables[g->variable_count++];
    va_start(args, format);
    vsnprintf(v->text, sizeof(v->text), format, args);
    va_end(args);
    v->type = t;
    v->fixed = fixed;
    v->unpointed = false;
    return v;
}

static void declare(struct generator *g)
{
    struct type t = any_type(g);
    unsigned name = g->names++;

    line(g);
    if (g->variable_count == MAX_VARIABLES) {
        put(g, ";\n");
        return;
    }
    put(g, "%s v%u = ", name_of(t), name);
    expression(g, t, MAX_DEPTH - 1);
    put(g, ";\n");
    add(g, t, false, "v%u", name);
}

// A pointer to one of two variables; what it points to is as good as they are.
static void point(struct generator *g)
{
    struct type t = any_type(g);
    unsigned name = g->names++;
    const struct variable *a = find(g, t, true), *b = find(g, t, true);

    if (!a || !b || g->variable_count == MAX_VARIABLES || a->unpointed ||
        b->unpointed)
        return;
    line(g);
    put(g, "%s *p%u = (", name_of(t), name);
    expression(g, (struct type){5, 1}, 2);
    put(g, ") %% 3 ? &%s : &%s;\n", a->text, b->text);
    add(g, t, false, "(*p%u)", name);
}

static void assign(struct generator *g)
{
    static const char *const operators[] = {
        "=", "=", "=", "^=", "|=", "&=", "+=", "-=", "*="};
    const struct variable *v = any_variable(g);
    struct type t = v->type;

    for (unsigned i = 0; v->fixed && i < 16; i++)
        t = (v = any_variable(g))->type;
    if (v->fixed)
        return;
    line(g);
    // Products of ushort are ints, which do not wrap.
    bool wraps = !is_signed(t) && (t.width > 1 || size_of(t) != 2);
    const char *operator= operators[draw(g, wraps ? 9 : 6)];
    if (t.width > 1 && chance(g, 30)) {
        // Two numbers of a vector, or its upper half.
        unsigned at = draw(g, t.width - 1u);
        put(g, "%s.s%x%x %s ", v->text, at, at + 1, operator);
        t.width = 2;
    } else if (!is_signed(t) && t.width == 1 && chance(g, 15)) {
        put(g, "%s%s;\n", v->text, chance(g, 50) ? "++" : "--");
        return;
    } else {
        put(g, "%s %s ", v->text, operator);
    }
    if (operator[0] == '=' && chance(g, 20))
        comma(g, t, 2);
    else
        expression(g, t, MAX_DEPTH);
    put(g, ";\n");
}

// A function may change all of the state: its result is kept first.
static void call(struct generator *g)
{
    if (g->function_count == 0 || g->calls == 0 || g->depth > g->deepest)
        return;
    unsigned index = draw(g, g->function_count), name = g->names++;
    const struct function *f = &g->functions[index];

    g->calls--;
    line(g);
    put(g, "ulong c%u = (ulong)f%u(s, here", name, index);
    for (unsigned i = 0; i < f->param_count; i++) {
        put(g, ", ");
        expression(g, f->params[i], 2);
    }
    put(g, "%s);\n", f->takes_record ? ", s->record" : "");
    line(g);
    put(g, "s->got = s->got * 3 + c%u;\n", name);
}

static void block(struct generator *g, unsigned nesting, unsigned count);

static void loop(struct generator *g, unsigned nesting)
{
    unsigned name = g->names++, turns = 1 + draw(g, 6);
    bool was = g->in_loop;

    if (g->loops == 0)
        return;
    g->loops--;
    line(g);
    g->in_loop = true;
    g->depth++;
    switch (draw(g, 3)) {
    case 0:
        put(g, "for (int i%u = 0; i%u < %u; i%u++)", name, name, turns, name);
        break;
    case 1:
        // As often as the data say.
        put(g, "for (uint i%u = (uint)(", name);
        expression(g, (struct type){5, 1}, 2);
        put(g, ") %% %u; i%u > 0; i%u--)", turns + 1, name, name);
        break;
    default:
        put(g, "for (uint i%u = 0; i%u < %u && (", name, name, turns);
        expression(g, scalar_type(g), 2);
        put(g, "); i%u += %u)", name, 1 + draw(g, 2));
        break;
    }
    put(g, " {\n");
    block(g, nesting, 2 + draw(g, 3));
    line(g);
    put(g, "}\n");
    g->in_loop = was;
    g->depth--;
}

static void branch(struct generator *g, unsigned nesting)
{
    line(g);
    put(g, "if (");
    expression(g, scalar_type(g), 3);
    put(g, ") {\n");
    block(g, nesting, 1 + draw(g, 3));
    line(g);
    if (chance(g, 50)) {
        put(g, "} else {\n");
        block(g, nesting, 1 + draw(g, 3));
        line(g);
    }
    put(g, "}\n");
}

static void switch_over(struct generator *g, unsigned nesting)
{
    unsigned cases = 2 + draw(g, 4);
    bool was = g->in_loop;

    line(g);
    put(g, "switch ((uint)(");
    expression(g, (struct type){5, 1}, 2);
    put(g, ") %% %u) {\n", cases + 1);
    g->in_loop = false; // `break` would leave the switch
    for (unsigned i = 0; i < cases; i++) {
        line(g);
        put(g, "case %u: {\n", i);
        block(g, nesting, 1 + draw(g, 2));
        line(g);
        put(g, chance(g, 70) ? "} break;\n" : "}\n");
    }
    line(g);
    put(g, "default:;\n");
    line(g);
    put(g, "}\n");
    g->in_loop = was;
}

static void leave(struct generator *g)
{
    line(g);
    put(g, "if (");
    expression(g, scalar_type(g), 2);
    put(g, ") %s;\n", chance(g, 50) ? "break" : "continue");
}

static void statement(struct generator *g, unsigned nesting)
{
    uint32_t what = draw(g, 100);

    if (what < 10)
        declare(g);
    else if (what < 16)
        point(g);
    else if (what < 24)
        call(g);
    else if (nesting > 0 && what < 36)
        branch(g, nesting - 1);
    else if (nesting > 0 && what < 46)
        loop(g, nesting - 1);
    else if (nesting > 0 && what < 52)
        switch_over(g, nesting - 1);
    else if (g->in_loop && what < 58)
        leave(g);
    else
        assign(g);
}

static void block(struct generator *g, unsigned nesting, unsigned count)
{
    unsigned variables = g->variable_count;

    g->indent++;
    for (unsigned i = 0; i < count; i++)
        statement(g, nesting);
    g->indent--;
    g->variable_count = variables;
}

// Declarations ----------------------------------------------------------------

static void declare_records(struct generator *g)
{
    g->record_count = 2 + draw(g, MAX_RECORDS - 1);
    for (unsigned r = 0; r < g->record_count; r++) {
        struct record *record = &g->records[r];
        record->count = 2 + draw(g, MAX_MEMBERS - 1);
        put(g, "struct S%u {\n", r);
        for (unsigned i = 0; i < record->count; i++) {
            struct member *m = &record->members[i];
            m->type = any_type(g);
            m->kind = (enum member_kind)draw(g, 4);
            m->record = r > 0 ? draw(g, r) : 0;
            if (m->kind == RECORD && r == 0)
                m->kind = PLAIN;
            if (m->kind == ARRAY)
                m->type.width = 1;
            if (m->kind == UNION) // of 8 bytes
                m->type.width = (uint8_t)(8 / size_of(m->type));
            if (m->kind == UNION && m->type.width == 1)
                m->kind = PLAIN;
            put(g, "    ");
            if (m->kind == PLAIN)
                put(g, "%s m%u;\n", name_of(m->type), i);
            else if (m->kind == ARRAY)
                put(g, "%s m%u[4];\n", name_of(m->type), i);
            else if (m->kind == RECORD)
                put(g, "struct S%u m%u;\n", m->record, i);
            else
                put(g, "union { %s v; ulong n; } m%u;\n", name_of(m->type), i);
        }
        put(g, "};\n\n");
    }
    put(g,
        "struct state {\n    struct S%u record;\n    uint place;\n"
        "    ulong got;\n};\n\n",
        g->record_count - 1);
}

static void visit(struct generator *g, unsigned r, const char *path,
                  void (*each)(struct generator *g, struct type t,
                               const char *text))
{
    char text[48];

    for (unsigned i = 0; i < g->records[r].count; i++) {
        const struct member *m = &g->records[r].members[i];
        snprintf(text, sizeof(text), "%s.m%u", path, i);
        size_t end = strlen(text);
        if (m->kind == PLAIN)
            each(g, m->type, text);
        else if (m->kind == RECORD)
            visit(g, m->record, text, each);
        for (unsigned k = 0; k < 4 && m->kind == ARRAY; k++) {
            snprintf(text + end, sizeof(text) - end, "[%u]", k);
            each(g, m->type, text);
        }
        if (m->kind == UNION) {
            snprintf(text + end, sizeof(text) - end, ".v");
            each(g, m->type, text);
            snprintf(text + end, sizeof(text) - end, ".n");
            each(g, (struct type){7, 1}, text);
        }
    }
}

static void start_member(struct generator *g, struct type t, const char *text)
{
    put(g, "    %s = (%s)((uint)%u * in[(id * %u + %u) %% %u]);\n", text,
        name_of(t), 1 + draw(g, 1u << 16), 1 + draw(g, 7), draw(g, 64),
        PROGRAM_INPUT);
}

static void mix_member(struct generator *g, struct type t, const char *text)
{
    if (t.width == 1)
        put(g, "    hash = hash * 31 + (ulong)%s;\n", text);
    for (unsigned i = 0; i < t.width && t.width > 1; i++)
        put(g, "    hash = hash * 31 + (ulong)%s.s%x;\n", text, i);
}

static void know_member(struct generator *g, struct type t, const char *text)
{
    char end = text[strlen(text) - 1];

    // Half of them, else there is nothing else.
    if (chance(g, 50) && g->variable_count < MAX_VARIABLES - 10)
        add(g, t, false, "%s", text)->unpointed = end == 'v' || end == 'n';
}

// One's own place in local memory, through a pointer.
static void know_place(struct generator *g)
{
    struct variable *v = add(g, (struct type){5, 1}, false, "(*here)");
    if (v)
        v->unpointed = true;
}

static void know_state(struct generator *g)
{
    g->variable_count = 0;
    add(g, (struct type){7, 1}, true, "s->got");
    visit(g, g->record_count - 1, "s->record", know_member);
}

static void print_function(struct generator *g, unsigned index)
{
    struct function f = {.result = scalar_type(g),
                         .param_count = draw(g, MAX_PARAMS + 1),
                         .takes_record = chance(g, 40)};

    know_state(g);
    know_place(g);
    put(g, "%s f%u(struct state *s, local uint *here", name_of(f.result),
        index);
    for (unsigned i = 0; i < f.param_count; i++) {
        f.params[i] = any_type(g);
        put(g, ", %s a%u", name_of(f.params[i]), i);
        add(g, f.params[i], false, "a%u", i);
    }
    if (f.takes_record) {
        put(g, ", struct S%u r", g->record_count - 1);
        visit(g, g->record_count - 1, "r", know_member);
    }
    put(g, ")\n{\n");
    g->calls = 2;
    g->loops = 4;
    g->depth = g->deepest = 0;
    block(g, 2, 3 + draw(g, 4));
    put(g, "    return ");
    expression(g, f.result, 3);
    put(g, ";\n}\n\n");
    g->functions[index] = f;
    g->function_count = index + 1;
}

// The kernel ------------------------------------------------------------------

// What all work-items come to: each gets another place in local memory, or they
// put something together.
static void meet(struct generator *g)
{
    static const char *const atomics[] = {"add", "xor", "or",
                                          "and", "min", "max"};

    if (chance(g, 60)) {
        put(g,
            "    barrier(CLK_LOCAL_MEM_FENCE);\n"
            "    s->place = (s->place + %u) %% (uint)get_local_size(0);\n"
            "    here = shared + s->place;\n",
            1 + draw(g, 7));
        return;
    }
    unsigned total = draw(g, PROGRAM_TOTALS);
    put(g, "    barrier(CLK_LOCAL_MEM_FENCE);\n    ");
    if (chance(g, 60)) {
        put(g, "if (");
        expression(g, scalar_type(g), 2);
        put(g, ") ");
    }
    put(g, "atomic_%s(&totals[%u], (uint)(", atomics[draw(g, 6)], total);
    expression(g, (struct type){5, 1}, 2);
    put(g,
        "));\n    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    s->got += totals[%u];\n    barrier(CLK_LOCAL_MEM_FENCE);\n",
        total);
}

static void print_kernel(struct generator *g)
{
    know_state(g);
    add(g, (struct type){5, 1}, true, "id");
    add(g, (struct type){5, 1}, false, "shared[s->place]")->unpointed = true;
    know_place(g);
    put(g,
        "kernel void k(global ulong *out, global const uint *in)\n{\n"
        "    local uint shared[%u], totals[%u];\n"
        "    struct state mine, *s = &mine;\n"
        "    uint id = (uint)get_global_id(0);\n"
        "    local uint *here = shared + get_local_id(0);\n\n"
        "    s->place = (uint)get_local_id(0);\n    s->got = id;\n"
        "    shared[s->place] = id * 2654435761u;\n"
        "    for (int i = 0; i < %u && s->place == 0; i++)\n"
        "        totals[i] = in[i];\n",
        PROGRAM_MAX_GROUP, PROGRAM_TOTALS, PROGRAM_TOTALS);
    visit(g, g->record_count - 1, "s->record", start_member);
    g->calls = 5;
    g->deepest = 1;
    unsigned parts = 2 + draw(g, 3);
    bool turns = chance(g, 40); // of a loop that all go round alike
    unsigned in = turns ? draw(g, parts) : parts;
    for (unsigned i = 0; i < parts; i++) {
        g->loops = 3;
        if (i == in)
            put(g, "    for (int turn = 0; turn < %u; turn++) {\n",
                2 + draw(g, 3));
        unsigned variables = g->variable_count;
        for (unsigned k = 0; k < 4; k++) {
            g->indent = 1;
            statement(g, MAX_NESTING);
        }
        meet(g);
        if (i == in) {
            put(g, "    }\n");
            g->variable_count = variables;
        }
    }
    put(g, "    ulong hash = s->got + shared[s->place];\n");
    visit(g, g->record_count - 1, "s->record", mix_member);
    put(g, "    out[id] = hash;\n}\n");
}

void program_print(uint64_t seed, FILE *to)
{
    struct generator g = {.to = to, .state = seed * 0x9e3779b97f4a7c15u + 1};

    for (int i = 0; i < 8; i++)
        draw(&g, 2);
    declare_records(&g);
    unsigned functions = 1 + draw(&g, MAX_FUNCTIONS);
    for (unsigned i = 0; i < functions; i++)
        print_function(&g, i);
    print_kernel(&g);
}
