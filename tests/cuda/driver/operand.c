// Operands of instructions: registers, numbers, names and places in memory.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/driver/reader.h"

struct ptx_variable *ptx_find_variable(const struct ptx_module *module,
                                       const char *name)
{
    struct ptx_variable *v = module->variables;
    while (v && strcmp(v->name, name) != 0)
        v = v->next;
    return v;
}

int ptx_find_register(struct parser *p, const char *name)
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

int ptx_find_label(struct parser *p, const char *name)
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

struct ptx_operand ptx_named(struct parser *p, const char *name)
{
    const struct ptx_function *f = p->function;
    struct ptx_operand o = {.kind = PTX_NUMBER};
    const struct ptx_parameter *parameter;
    const struct ptx_variable *v;
    int r = ptx_find_register(p, name);

    if (r >= 0)
        return (struct ptx_operand){.kind = PTX_REGISTER, .index = (uint32_t)r};
    if (special_of(name, &o.number)) {
        o.kind = PTX_SPECIAL;
        return o;
    }
    if (ptx_number_of(name, &o.number))
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
    if ((v = ptx_find_variable(p->module, name))) {
        if (v->space == PTX_SHARED)
            // Dynamic memory follows what is static.
            return (struct ptx_operand){.kind = PTX_IN_SHARED,
                                        .number = v->is_extern ? UINT64_MAX
                                                               : v->offset};
        o.number = (uint64_t)(uintptr_t)v->memory;
        return o;
    }
    ptx_fail(p, "nothing is named '%s'", name);
    return o;
}

struct ptx_operand ptx_read_operand(struct parser *p)
{
    struct ptx_operand o = {.kind = PTX_NUMBER};
    struct ptx_function *f = p->function;

    if (ptx_accept(p, '{')) {
        struct ptx_operand list[8];
        uint8_t count = 0;
        do {
            if (count < 8)
                list[count++] = ptx_read_operand(p);
        } while (ptx_accept(p, ','));
        ptx_expect(p, '}');
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
    bool address = ptx_accept(p, '['), inverted = ptx_accept(p, '!');
    if (ptx_accept(p, '-')) {
        ptx_next(p);
        if (!ptx_number_of(p->token, &o.number))
            ptx_fail(p, "number expected");
        o.number = -o.number;
    } else {
        ptx_next(p);
        o = ptx_named(p, p->token);
    }
    o.negated = inverted;
    while (ptx_accept(p, '+')) {
        bool minus = ptx_accept(p, '-');
        uint64_t more = 0;
        ptx_number_of(ptx_next(p), &more);
        o.offset += minus ? -(int64_t)more : (int64_t)more;
    }
    if (address)
        ptx_expect(p, ']');
    return o;
}
