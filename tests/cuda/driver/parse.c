// Reads the PTX that LLVM writes: variables, functions, modules.
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/driver/reader.h"

// Variables -------------------------------------------------------------------

static void read_initial(struct parser *p, struct ptx_variable *v,
                         unsigned size)
{
    uint64_t at = 0;
    bool list = ptx_accept(p, '{');

    do {
        bool minus = ptx_accept(p, '-');
        uint64_t value;
        ptx_next(p);
        if (strcmp(p->token, "generic") == 0) {
            ptx_expect(p, '(');
            ptx_next(p);
            char name[NAME];
            strcpy(name, p->token);
            ptx_expect(p, ')');
            strcpy(p->token, name);
        }
        if (!ptx_number_of(p->token, &value)) {
            struct ptx_variable *other = ptx_find_variable(p->module, p->token);
            if (!other) {
                ptx_fail(p, "initial value '%s'", p->token);
                return;
            }
            value = (uint64_t)(uintptr_t)other->memory;
            if (ptx_accept(p, '+')) {
                uint64_t more = 0;
                ptx_number_of(ptx_next(p), &more);
                value += more;
            }
        }
        if (minus)
            value = -value;
        if (at + size > v->bytes) {
            ptx_fail(p, "too many initial values");
            return;
        }
        memcpy(v->memory + at, &value, size);
        at += size;
    } while (list && ptx_accept(p, ','));
    if (list)
        ptx_expect(p, '}');
}

// After ".global", ".const" or ".shared".
static void read_variable(struct parser *p, enum ptx_space space,
                          bool is_extern)
{
    uint32_t align = 8;
    unsigned size = 0;

    for (ptx_next(p); *p->token == '.'; ptx_next(p))
        if (strcmp(p->token, ".align") == 0)
            align = (uint32_t)atoi(ptx_next(p));
        else
            size = ptx_type_size(p->token);
    struct ptx_variable *v = ptx_find_variable(p->module, p->token);
    if (v && is_extern) {
        ptx_skip_to(p, ';');
        return;
    }
    if (!v) {
        v = calloc(1, sizeof(*v));
        v->name = strdup(p->token);
        v->next = p->module->variables;
        p->module->variables = v;
    } else if (!v->is_extern) {
        ptx_fail(p, "variable '%s' is there twice", p->token);
        return;
    }
    v->space = space;
    v->is_extern = is_extern;
    v->bytes = size;
    while (ptx_accept(p, '[')) {
        if (ptx_peek(p) != ']')
            v->bytes *= (uint64_t)atoll(ptx_next(p));
        else
            v->bytes = 0;
        ptx_expect(p, ']');
    }
    if (space == PTX_SHARED && !is_extern) {
        v->offset = ptx_round_to((uint32_t)p->module->shared_bytes, align);
        p->module->shared_bytes = v->offset + v->bytes;
    } else if (space != PTX_SHARED) {
        v->memory = aligned_alloc(256, (v->bytes + 511) / 256 * 256);
        memset(v->memory, 0, v->bytes);
    }
    if (ptx_accept(p, '='))
        read_initial(p, v, size);
    ptx_expect(p, ';');
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

    for (ptx_next(p); *p->token == '.'; ptx_next(p))
        if (strcmp(p->token, ".align") == 0)
            align = (uint32_t)atoi(ptx_next(p));
        else if (strcmp(p->token, ".ptr") != 0)
            size = ptx_type_size(p->token);
    struct ptx_parameter parameter = {.name = strdup(p->token), .size = size};
    if (ptx_accept(p, '[')) {
        parameter.size *= (uint32_t)atoi(ptx_next(p));
        ptx_expect(p, ']');
    }
    if (align < size)
        align = size;
    parameter.offset = ptx_round_to(*bytes, align < 8 ? 8 : align);
    *bytes = parameter.offset + parameter.size;
    if (*count == 64) {
        ptx_fail(p, "too many parameters");
        return;
    }
    list[(*count)++] = parameter;
}

static void read_parameters(struct parser *p, struct ptx_parameter *list,
                            uint32_t *count, uint32_t *bytes)
{
    while (!p->failed && !ptx_accept(p, ')')) {
        ptx_next(p); // .param
        read_parameter(p, list, count, bytes);
        ptx_accept(p, ',');
    }
}

static void read_registers(struct parser *p)
{
    ptx_next(p); // the type
    do {
        struct registers r = {.first = p->function->registers, .count = 1};
        ptx_next(p);
        snprintf(r.prefix, sizeof(r.prefix), "%.31s", p->token);
        r.single = true;
        if (ptx_accept(p, '<')) {
            r.count = (uint32_t)atoi(ptx_next(p));
            r.single = false;
            ptx_expect(p, '>');
        }
        p->function->registers += r.count;
        if (p->register_kinds == 64) {
            ptx_fail(p, "too many .reg");
            return;
        }
        p->registers[p->register_kinds++] = r;
    } while (ptx_accept(p, ','));
    ptx_expect(p, ';');
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
        // By name, as the label may stand behind; the end of the function
        // resolves it.
        ptx_next(p);
        p->pending =
            realloc(p->pending, (p->pending_count + 1) * sizeof(*p->pending));
        p->pending[p->pending_count].instruction = UINT32_MAX - f->table_count;
        strcpy(p->pending[p->pending_count++].name, p->token);
        f->table_count++;
    } while (ptx_accept(p, ','));
    ptx_expect(p, ';');
    p->labels[p->label_count - 1].at = UINT32_MAX - first;
}

static void read_directive(struct parser *p)
{
    if (strcmp(p->token, ".reg") == 0) {
        read_registers(p);
    } else if (strcmp(p->token, ".param") == 0) {
        struct ptx_function *f = p->function;
        read_parameter(p, f->variables, &f->variable_count, &f->variable_bytes);
        ptx_expect(p, ';');
        if (f->variable_count == 64)
            ptx_fail(p, "too many .param");
    } else if (strcmp(p->token, ".local") == 0) {
        while (*ptx_next(p) == '.')
            if (strcmp(p->token, ".align") == 0)
                ptx_next(p);
        strcpy(p->depot, p->token);
        ptx_expect(p, '[');
        p->function->local_bytes = (uint32_t)atoi(ptx_next(p));
        ptx_expect(p, ']');
        ptx_expect(p, ';');
    } else if (strcmp(p->token, ".shared") == 0) { // as nvcc has them
        read_variable(p, PTX_SHARED, false);
    } else if (strcmp(p->token, ".branchtargets") == 0) {
        read_table(p);
    } else if (strcmp(p->token, ".pragma") == 0) {
        ptx_skip_to(p, ';');
    } else if (strcmp(p->token, ".loc") == 0) {
        ptx_skip_line(p);
    } else {
        ptx_fail(p, "directive '%s'", p->token);
    }
}

static void resolve(struct parser *p)
{
    struct ptx_function *f = p->function;

    for (uint32_t i = 0; i < p->pending_count; i++) {
        int label = ptx_find_label(p, p->pending[i].name);
        uint32_t where = p->pending[i].instruction;
        if (label < 0) {
            ptx_fail(p, "no label '%s'", p->pending[i].name);
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
        if (ptx_accept(p, '{')) {
            depth++;
            continue;
        }
        if (ptx_accept(p, '}')) {
            depth--;
            continue;
        }
        if (ptx_accept(p, ';'))
            continue;
        if (ptx_accept(p, '@')) {
            ptx_read_guarded(p);
            continue;
        }
        ptx_next(p);
        if (*p->token == '\0') {
            ptx_fail(p, "'}' is missing");
        } else if (*p->token == '.') {
            read_directive(p);
        } else if (ptx_peek(p) == ':') {
            p->at++;
            if (p->label_count == MAX_LABELS) {
                ptx_fail(p, "too many labels");
                return;
            }
            strcpy(p->labels[p->label_count].name, p->token);
            p->labels[p->label_count++].at = p->function->count;
        } else {
            char mnemonic[NAME];
            strcpy(mnemonic, p->token);
            ptx_read_instruction(p, mnemonic);
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

    if (ptx_accept(p, '('))
        read_parameters(p, read.results, &read.result_count,
                        &read.result_bytes);
    ptx_next(p);
    read.name = strdup(p->token);
    struct ptx_function *f = ptx_find(p->module, read.name);
    if (ptx_accept(p, '('))
        read_parameters(p, read.parameters, &read.parameter_count,
                        &read.parameter_bytes);
    while (ptx_peek(p) == '.') {
        ptx_next(p);
        if (strcmp(p->token, ".maxntid") == 0 ||
            strcmp(p->token, ".reqntid") == 0) {
            read.most_threads = (uint32_t)atoi(ptx_next(p));
            while (ptx_accept(p, ','))
                read.most_threads *= (uint32_t)atoi(ptx_next(p));
        }
    }
    bool defined = !ptx_accept(p, ';');
    if (f && (f->is_defined || !defined)) {
        if (defined)
            ptx_fail(p, "function '%s' is there twice", read.name);
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
    ptx_expect(p, '{');
    read_body(p);
}

bool ptx_read(struct ptx_module *module, const char *text)
{
    struct parser p = {.module = module, .at = text, .begin = text};
    bool is_extern = false;

    p.labels = malloc(MAX_LABELS * sizeof(*p.labels));
    while (!p.failed && *ptx_next(&p)) {
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
            ptx_skip_to(&p, '}');
        else if (strcmp(p.token, ".version") == 0 ||
                 strcmp(p.token, ".target") == 0 ||
                 strcmp(p.token, ".address_size") == 0 ||
                 strcmp(p.token, ".file") == 0)
            ptx_skip_line(&p);
        else if (strcmp(p.token, ";") != 0)
            ptx_fail(&p, "'%s' is not expected", p.token);
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
