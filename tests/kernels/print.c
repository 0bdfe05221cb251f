// Write a tree as OpenCL C.
#include "tests/kernels/tree.h"

static const char *const type_names[] = {
    "uint",   "int",   "ulong",  "long",   "short",  "ushort",
    "char",   "uchar", "half",   "float",  "double", "uint4",
    "uchar8", "half4", "float4", "double4"};

// The types that have not all numbers: what is given to them is cut before.
static const struct {
    enum var_type type;
    const char *cut, *element;
} cut_types[] = {
    {V_HALF, "2047u & ", "half"},  {V_FLOAT, "65535u & ", "float"},
    {V_HALF4, "2047u & ", "half"}, {V_FLOAT4, "65535u & ", "float"},
    {V_UINT4, "", "uint"},         {V_UCHAR8, "", "uchar"},
    {V_DOUBLE4, "", "double"}};

struct printer {
    const struct tree *tree;
    FILE *file;
    bool in_helper;
    unsigned *labels; // so far
};

// How a value becomes one of the member's, after its name.
static const struct {
    const char *name, *convert;
} members[TREE_MEMBERS] = {{"a", "(uint)("},           {"b", "(uchar)("},
                           {"c[0]", "(ushort)("},      {"c[1]", "(ushort)("},
                           {"s", "(char)("},           {"d", "(ulong)("},
                           {"f", "(float)(65535u & "}, {"g", "(uint)("}};

static void expr(const struct printer *p, const struct expr *e);

// Write text with the operands of e for A, B and C, its value for V.
static void with(const struct printer *p, const struct expr *e,
                 const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case 'A':
            expr(p, e->a);
            break;
        case 'B':
            expr(p, e->b);
            break;
        case 'C':
            expr(p, e->c);
            break;
        case 'V':
            fprintf(p->file, "%u", e->value);
            break;
        default:
            fputc(*text, p->file);
        }
}

static void expr(const struct printer *p, const struct expr *e)
{
    static const char *const args[] = {"n", "pack.a", "(uint)pack.b",
                                       "(uint)pack.c"};
    static const char *const float_ops[] = {
        "(uint)(int)((float)(A & 4095u) + (float)(B & 4095u))",
        "(uint)(int)((float)(A & 4095u) - (float)(B & 4095u))",
        "(uint)(int)((float)(A & 4095u) * (float)(B & 4095u))",
        "(uint)(int)fmax((float)(A & 4095u), (float)(B & 4095u))"};
    static const char *const rounded[] = {
        "as_uint((float)A * 0.37f + (float)B)",
        "as_uint((float)(int)A - (float)(int)B * 1.1f)",
        "(uint)(float)(A >> 1)",
        "as_uint((float)A + (float)B + (float)C)",
        "as_uint((float)((double)A / 3.0 - (double)B))",
        "as_uint(floor((float)(int)A * 0.001f) + 0.3f)",
        "as_uint(fma((float)A, 1.0009765625f, (float)(int)B))",
        "(uint)(int)rint((float)(int)A * 0.01f)",
        "as_uint((float)A * 1e-42f)"};
    static const char *const half_ops[] = {
        "(uint)((half)(A & 31u) * (half)(B & 31u))",
        "(uint)((half)(A & 511u) + (half)(B & 511u))",
        "(uint)(int)((half)(A & 511u) - (half)(B & 511u))",
        "(uint)((half)(A & 2047u) / (half)2)"};
    static const char *const texels[] = {
        "read_imageui(picture, (int2)(A & 7u, B & 7u)).x",
        "read_imageui(picture, edge, (int2)((int)(A & 15u) - 4, B & 15u)).x",
        "read_imageui(picture, border, (int2)(A & 15u, (int)(B & 15u) - 4)).x",
        ("read_imageui(picture, repeat, (float2)((float)(A & 31u) + 0.5f, "
         "(float)(B & 31u) + 0.5f) / 8.0f).x"),
        "(uint)read_imagei(signs, (int2)(A & 7u, B & 7u)).x",
        "read_imageui(row, (int)(A & 63u)).x",
        "read_imageui(box, (int4)(A & 3u, B & 3u, C & 3u, 0)).x"};
    static const char *const filtered[] = {
        "(uint)read_imagef(floats, (int2)(A & 7u, B & 7u)).x",
        ("(uint)read_imagef(floats, mixed, (float2)((float)(A & 7u) + 1.0f, "
         "(float)(B & 7u) + 0.5f)).x")};
    static const char *const near[] = {
        "read_imageui(sheet, edge, (int2)((int)A, (int)B)).x",
        "read_imageui(sheet, border, (int2)((int)A, (int)B)).x",
        ("read_imageui(sheet, (int2)(clamp((int)A, 0, WIDE - 1), "
         "clamp((int)B, 0, HIGH - 1))).x"),
        ("read_imageui(sheet, (int2)(min((uint)A, WIDE - 1u), "
         "min((uint)B, HIGH - 1u))).x")};
    static const char *const dots[] = {
        "dot_4x8packed_uu_uint(A, B)", "(uint)dot_4x8packed_ss_int(A, B)",
        "(uint)dot_4x8packed_su_int(A, B)",
        "dot_acc_sat_4x8packed_uu_uint(A, B, C)"};
    static const char *const bit_ops[] = {"rotate((uint)A, (uint)B)",
                                          "mul_hi((uint)A, (uint)B)",
                                          "clz((uint)A)", "popcount((uint)A)"};
    static const char *const texts[] = {
        [E_CONST] = "Vu",
        [E_INPUT] = "input[A & 63u]",
        [E_TABLE] = "table[A & 15u]",
        [E_GLOBAL_ID] = "(uint)get_global_id(V)",
        [E_LOCAL_ID] = "(uint)get_local_id(V)",
        [E_GROUP_ID] = "(uint)get_group_id(V)",
        [E_GLOBAL_SIZE] = "(uint)get_global_size(V)",
        [E_LOCAL_SIZE] = "(uint)get_local_size(V)",
        [E_GROUPS] = "(uint)get_num_groups(V)",
        [E_OFFSET] = "(uint)get_global_offset(V)",
        [E_ADD] = "(A + B)",
        [E_SUB] = "(A - B)",
        [E_MUL] = "(A * B)",
        [E_AND] = "(A & B)",
        [E_OR] = "(A | B)",
        [E_XOR] = "(A ^ B)",
        [E_SHL] = "(A << (B & 31u))",
        [E_SHR] = "(A >> (B & 31u))",
        [E_SAR] = "(uint)((int)A >> (B & 31u))",
        [E_DIV] = "(A / (B | 1u))",
        [E_REM] = "(A % (B | 1u))",
        [E_LESS] = "(uint)(A < B)",
        [E_LESS_SIGNED] = "(uint)((int)A < (int)B)",
        [E_LEAST] = "(uint)min((int)A, (int)B)",
        [E_MOST] = "(uint)max((int)A, (int)B)",
        [E_EQUAL] = "(uint)(A == B)",
        [E_BOTH] = "(uint)(A && B)",
        [E_EITHER] = "(uint)(A || B)",
        [E_LONG] = "(uint)(((ulong)A * (ulong)B) >> 7)",
        [E_VECTOR] = "((uint4)(A, B, C, 3u) * (uint4)(B)).sV",
        [E_FLOATS] = "(uint)((float4)((float)(A & 255u), (float)(B & 255u), "
                     "(float)(C & 255u), 3.0f) * 5.0f).sV",
        [E_DOUBLE] = "(uint)(ulong)((double)(A >> 4) * (double)(B >> 8))",
        [E_GENERIC] = "*(A & 1u ? (const uint *)&input[B & 63u] : "
                      "(const uint *)&own[B & 3u])",
        [E_CANVAS] = "read_imageui(canvas, OWN_TEXEL).x",
        [E_CHAR] = "(uint)add_sat((char)A, (char)B)",
        [E_CHOOSE] = "(A ? B : C)"};

    fputc('(', p->file);
    if (e->kind == E_ARG)
        fputs(args[e->value], p->file);
    else if (e->kind == E_ELEMENT) {
        fprintf(p->file, "v%u", e->value);
        with(p, e, "[A & 7u]");
    } else if (e->kind == E_VAR) {
        enum var_type type = p->tree->types[e->value];
        fprintf(p->file, "(uint)v%u", e->value);
        if (tree_is_vector(type))
            fprintf(p->file, ".s%u", e->part);
    } else if (e->kind == E_MEMBER) {
        fprintf(p->file, "(uint)v%u.%s", e->value, members[e->part].name);
    } else if (e->kind == E_WEIGH) {
        fprintf(p->file, "weigh(v%u, ", e->value);
        with(p, e, "A)");
    } else if (e->kind == E_CELL) {
        with(p, e, "(uint)cells[place + WHOLE * (A & 1u)].");
        fputs(members[e->value].name, p->file);
    } else
        with(p, e,
             e->kind == E_FLOAT      ? float_ops[e->value]
             : e->kind == E_ROUND    ? rounded[e->value]
             : e->kind == E_HALF     ? half_ops[e->value]
             : e->kind == E_BITS     ? bit_ops[e->value]
             : e->kind == E_TEXEL    ? texels[e->value]
             : e->kind == E_NEAR     ? near[e->value]
             : e->kind == E_DOT      ? dots[e->value]
             : e->kind == E_FILTERED ? filtered[e->value & 1]
                                     : texts[e->kind]);
    fputc(')', p->file);
}

static void converted(const struct printer *p, enum var_type type, bool all,
                      const struct expr *e)
{
    const char *cut = "", *element = type_names[type];

    for (size_t i = 0; i < sizeof(cut_types) / sizeof(cut_types[0]); i++)
        if (cut_types[i].type == type) {
            cut = cut_types[i].cut;
            element = cut_types[i].element;
        }
    fprintf(p->file, "(%s)((%s)(%s", all ? type_names[type] : element, element,
            cut);
    expr(p, e);
    fputs("))", p->file);
}

static void block(const struct printer *p, const struct stmt *s);

static void loop(const struct printer *p, const struct stmt *s)
{
    unsigned v = s->value;

    if (s->kind == S_FOR) {
        fprintf(p->file, "{ uint t%u = %uu & ", v, s->part);
        expr(p, s->a);
        fprintf(p->file, ";\nfor (uint v%u = 0; v%u < t%u; v%u++) {\n", v, v, v,
                v);
        block(p, s->body[0]);
        fputs("} }\n", p->file);
    } else if (s->kind == S_AGAIN) {
        unsigned label = ++*p->labels;
        fprintf(p->file, "{ uint v%u = 0, t%u = %uu & ", v, v, s->part);
        expr(p, s->a);
        fprintf(p->file, ";\nback%u:;\n{\n", label);
        block(p, s->body[0]);
        fprintf(p->file, "}\nif (v%u++ < t%u) goto back%u; }\n", v, v, label);
    } else {
        fprintf(p->file, "{ uint v%u = 0, t%u = %uu & ", v, v, s->part);
        expr(p, s->a);
        fputs(";\ndo {\n", p->file);
        block(p, s->body[0]);
        fprintf(p->file, "} while (v%u++ < t%u); }\n", v, v);
    }
}

static void collect(const struct printer *p, const struct stmt *s)
{
    static const char *const texts[COLLECTIVES] = {
        [C_GROUP_SUM] = "work_group_reduce_add((uint)A)",
        [C_GROUP_SCAN] = "work_group_scan_exclusive_add((uint)A)",
        [C_GROUP_MAX_SCAN] = "work_group_scan_inclusive_max((uint)A)",
        [C_GROUP_BROADCAST] = ("work_group_broadcast((uint)A, "
                               "B % (uint)get_local_size(0), 0, 0)"),
        [C_GROUP_ANY] = "(uint)work_group_any((int)(A & 1u))",
        [C_SUB_GROUP_SUM] = "sub_group_reduce_add((uint)A)",
        [C_SUB_GROUP_MIN_SCAN] = "sub_group_scan_inclusive_min((uint)A)",
        [C_SUB_GROUP_SHUFFLE] =
            "sub_group_shuffle((uint)A, B % get_sub_group_size())",
        [C_SUB_GROUP_BALLOT] = "sub_group_ballot((int)(A & 1u)).x"};
    const struct expr operands = {.a = s->a, .b = s->b};

    with(p, &operands, texts[s->part]);
}

static void digest(const struct printer *p, const struct stmt *s)
{
    enum var_type type = p->tree->types[s->value];
    unsigned part = tree_digested(type, s->part);

    if (p->in_helper)
        return;
    fprintf(p->file, "d = d * 31u + (uint)v%u", s->value);
    if (type == V_ARRAY)
        fprintf(p->file, "[%u]", part);
    else if (type == V_STRUCT)
        fprintf(p->file, ".%s", members[part].name);
    else if (tree_is_vector(type))
        fprintf(p->file, ".s%u", part);
    fputs(";\n", p->file);
}

// A jump over the branch.
static void skip(const struct printer *p, const struct stmt *s)
{
    unsigned label = ++*p->labels;

    fputs("if (!(", p->file);
    expr(p, s->a);
    fprintf(p->file, " & 1u)) goto past%u;\n{\n", label);
    block(p, s->body[0]);
    fprintf(p->file, "}\npast%u:;\n", label);
}

static void cell(const struct printer *p, const struct stmt *s)
{
    fputs("cells[place + WHOLE * (", p->file);
    expr(p, s->b);
    fputs(" & 1u)]", p->file);
}

static void member(const struct printer *p, const struct stmt *s)
{
    fprintf(p->file, "%s = %s", members[s->part].name,
            members[s->part].convert);
    expr(p, s->a);
    fputs(");\n", p->file);
}

static void barrier_of(const struct printer *p, const struct pattern *pattern)
{
    if (pattern->meets)
        fputs("BARRIER;\n", p->file);
}

static void pattern(const struct printer *p, const struct stmt *s)
{
    static const char *const types[] = {"int", "uint", "long", "ulong"};
    static const char *const loops[] = {
        [PATTERN_UP] = "for (uint s = 1; s < ITEMS; s *= 2)",
        [PATTERN_DOWN] = "for (uint s = 1u << n % n0; s > 0; s /= 2)",
        [PATTERN_HALF] = "for (uint s = ITEMS / 2; s > 0; s /= 2)"};
    const struct pattern *is = s->pattern;
    FILE *f = p->file;

    fprintf(f,
            "uint v%u;\n{ // %s\ntypedef %s position;\n"
            "const position id = (position)place%s;\n"
            "const uint n0 = %uu, n1 = %uu;\nconst uint a = ",
            s->value, is->name, types[s->part],
            p->tree->flat ? "" : ", l = (position)LINE", s->numbers[0],
            s->numbers[1]);
    expr(p, s->a);
    fputs(";\nconst uint b = ", f);
    expr(p, s->b);
    fprintf(f, ";\nglobal uint *const to = trail + %u;\nuint r = 0, t = 0;\n",
            s->plane * PATTERN_PLANE + PATTERN_BEFORE);
    fprintf(f, "%s\n", is->first.text);
    barrier_of(p, is);
    if (is->loop != PATTERN_ONCE) {
        fprintf(f, "%s {\n", loops[is->loop]);
        for (unsigned k = 0; k < 2 && is->turn[k].text; k++) {
            fprintf(f, "%s\n", is->turn[k].text);
            barrier_of(p, is);
        }
        fputs("}\n", f);
    }
    if (is->last.text)
        fprintf(f, "%s\n", is->last.text);
    barrier_of(p, is);
    fprintf(f, "v%u = r;\n}\n", s->value);
}

static void statement(const struct printer *p, const struct stmt *s)
{
    static const char *const sums[TREE_SUMS] = {"add", "xor", "or",
                                                "and", "min", "max"};
    enum var_type type = p->tree->types[s->value];
    const char *wary = p->tree->wary && s->value % 3 == 0 ? "volatile " : "";
    FILE *f = p->file;

    switch (s->kind) {
    case S_DECLARE:
        if (type == V_ARRAY) {
            fprintf(f, "%suint v%u[8];\nfor (uint i = 0; i < 8; i++) v%u[i] = ",
                    wary, s->value, s->value);
            expr(p, s->a);
            fprintf(f, " + i * %uu;\n", TREE_MIX);
            break;
        }
        if (type == V_STRUCT) {
            fprintf(f, "struct cell v%u = make(", s->value);
            expr(p, s->a);
            fputs(");\n", f);
            break;
        }
        fprintf(f, "%s%s v%u = ", wary, type_names[type], s->value);
        converted(p, type, true, s->a);
        fputs(";\n", f);
        break;
    case S_ASSIGN: {
        bool vector = tree_is_vector(type);
        fprintf(f, "v%u", s->value);
        if (vector && s->part < 4)
            fprintf(f, ".s%u", s->part);
        fputs(" = ", f);
        converted(p, type, s->part == 4, s->a);
        fputs(";\n", f);
        break;
    }
    case S_ELEMENT:
        fprintf(f, "v%u[7u & ", s->value);
        expr(p, s->b);
        fputs("] = ", f);
        expr(p, s->a);
        fputs(";\n", f);
        break;
    case S_MEMBER:
        fprintf(f, "v%u.", s->value);
        member(p, s);
        break;
    case S_TURN:
        fprintf(f, "v%u = turn(v%u, ", s->value, s->value);
        expr(p, s->a);
        fputs(");\n", f);
        break;
    case S_TAKE:
        fprintf(f, "v%u = ", s->value);
        cell(p, s);
        fputs(";\n", f);
        break;
    case S_KEEP:
        cell(p, s);
        fprintf(f, " = v%u;\n", s->value);
        break;
    case S_CELL:
        cell(p, s);
        fputc('.', f);
        member(p, s);
        break;
    case S_IF:
        if (s->part == 0 && !s->body[1]) {
            skip(p, s);
            break;
        }
        fputs("if (", f);
        expr(p, s->a);
        fputs(" & 1u) {\n", f);
        block(p, s->body[0]);
        if (s->body[1]) {
            fputs("} else {\n", f);
            block(p, s->body[1]);
        }
        fputs("}\n", f);
        break;
    case S_FOR:
    case S_DO:
    case S_AGAIN:
        loop(p, s);
        break;
    case S_SWITCH:
        fputs("switch (", f);
        expr(p, s->a);
        fputs(" % 5u) {\n", f);
        for (unsigned i = 0; i < 4; i++) {
            fprintf(f, i < 3 ? "case %u: {\n" : "default: {\n", i);
            block(p, s->body[i]);
            fputs(s->part >> i & 1 || i == 3 ? "} break;\n" : "} // on\n", f);
        }
        fputs("}\n", f);
        break;
    case S_BREAK:
        fputs("break;\n", f);
        break;
    case S_CONTINUE:
        fputs("continue;\n", f);
        break;
    case S_RETURN:
        fputs(p->in_helper ? "return" : "{ out[4] = d; return", f);
        if (p->in_helper)
            expr(p, s->a);
        fputs(p->in_helper ? ";\n" : "; }\n", f);
        break;
    case S_BARRIER:
        fputs("barrier(CLK_LOCAL_MEM_FENCE);\n", f);
        break;
    case S_EXCHANGE:
        fputs("shared[LINE] = ", f);
        expr(p, s->a);
        fprintf(f,
                ";\nbarrier(CLK_LOCAL_MEM_FENCE);\nuint v%u = "
                "shared[",
                s->value);
        expr(p, s->b);
        fputs(" % ITEMS];\nbarrier(CLK_LOCAL_MEM_FENCE);\n", f);
        break;
    case S_FETCH:
        fprintf(f,
                "{ event_t e = async_work_group_%s((__local uint *)shared, "
                "input",
                s->part ? "strided_copy" : "copy");
        fputs(s->part ? ", 8, 1u + (7u & " : " + (31u & ", f);
        expr(p, s->a);
        fprintf(f, ")%s, 0);\nwait_group_events(1, &e); }\nuint v%u = shared[",
                s->part ? "" : ", 32", s->value);
        expr(p, s->b);
        fprintf(f, " & %uu];\nbarrier(CLK_LOCAL_MEM_FENCE);\n",
                s->part ? 7 : 31);
        break;
    case S_PRINT:
        fputs("printf(\"%u\\n\", ", f);
        expr(p, s->a);
        fputs(");\n", f);
        break;
    case S_ATOMIC:
        fprintf(f, "atomic_%s(&sums[%u], ", sums[s->part], s->part);
        expr(p, s->a);
        fputs(");\n", f);
        break;
    case S_TALLY:
        fprintf(f, "atomic_fetch_%s_explicit(&tally[%u], ", sums[s->part],
                s->part);
        expr(p, s->a);
        fputs(", memory_order_relaxed, memory_scope_device);\n", f);
        break;
    case S_SUM:
        fprintf(f,
                "barrier(CLK_LOCAL_MEM_FENCE);\nuint v%u = sums[%u];\n"
                "barrier(CLK_LOCAL_MEM_FENCE);\n",
                s->value, s->part);
        break;
    case S_COLLECT:
        fprintf(f, "uint v%u = ", s->value);
        collect(p, s);
        fputs(";\n", f);
        break;
    case S_CALL:
        fprintf(f, "uint v%u = h%u(%s", s->value, s->part,
                p->tree->flat ? "" : "shared, ");
        expr(p, s->a);
        fputs(", ", f);
        expr(p, s->b);
        fputs(");\n", f);
        break;
    case S_STORE:
        fprintf(f, "out[%u] = ", s->part);
        expr(p, s->a);
        fputs(";\n", f);
        break;
    case S_PAINT:
        fputs("write_imageui(canvas, OWN_TEXEL, (uint4)((uint)", f);
        expr(p, s->a);
        fputs(", 1u, 2u, 3u));\n", f);
        if (p->tree->modern)
            fputs("atomic_work_item_fence(CLK_IMAGE_MEM_FENCE, "
                  "memory_order_acq_rel, memory_scope_work_item);\n",
                  f);
        break;
    case S_PATTERN:
        pattern(p, s);
        break;
    }
}

static void block(const struct printer *p, const struct stmt *s)
{
    for (; s; s = s->next) {
        statement(p, s);
        if (tree_gives_value(s->kind))
            digest(p, s);
    }
}

// Of structs, by value there and back.
static void functions(FILE *f)
{
    fputs("struct cell { uint a; uchar b; ushort c[2]; char s; ulong d; "
          "float f; uint g; };\n"
          "struct cell make(uint x) {\nstruct cell m;\n",
          f);
    for (unsigned k = 0; k < TREE_MEMBERS; k++)
        fprintf(f, "m.%s = %s(x + %uu));\n", members[k].name,
                members[k].convert, k * TREE_MIX);
    fputs("return m;\n}\n"
          "struct cell turn(struct cell m, uint x) {\n"
          "m.c[x % 2] += m.b;\n"
          "m.a ^= x + m.c[0];\n"
          "m.d = (uint)m.d + m.a;\n"
          "m.g -= (uint)m.f;\n"
          "m.s = (char)(x >> 3);\n"
          "return m;\n}\n"
          "uint weigh(struct cell m, uint x) {\n"
          "m.c[x % 2] += 3;\n"
          "return m.a + m.b * x + m.c[0] - m.c[1] * 5u + (uint)m.s + "
          "(uint)m.d + (uint)m.f * 3u + m.g;\n}\n",
          f);
}

// Of the program, and the kernel that hands them out and starts them again.
static void variables(FILE *f)
{
    fprintf(f, "global atomic_uint tally[%u] = {", TREE_SUMS);
    for (unsigned i = 0; i < TREE_SUMS; i++)
        fprintf(f, "%uu,", TREE_TALLY);
    fprintf(f,
            "};\nkernel void told(global uint *r) {\n"
            "size_t i = get_global_id(0);\n"
            "r[i] = atomic_exchange(&tally[i], %uu);\n}\n",
            TREE_TALLY);
}

// What only a kernel has that asks for groups.
static void group(const struct tree *tree, FILE *f)
{
    fprintf(f, "%s__local uint sums[%u];\n",
            tree->local_argument ? "" : "SHARED shared[1024];\n", TREE_SUMS);
    fputs("uint own[4];\nfor (uint i = 0; i < 4; i++) own[i] = n * i;\n"
          "if (AT(0) + AT(1) + AT(2) == 0) for (int d = 0; d < 3; d++) "
          "sizes[d] = get_local_size(d);\n"
          "if (LINE == 0) for (uint i = 0; i < 6; i++) sums[i] = n * i;\n"
          "barrier(CLK_LOCAL_MEM_FENCE);\n",
          f);
}

void tree_print(const struct tree *tree, FILE *f)
{
    unsigned labels = 0;
    struct printer p = {tree, f, true, &labels};

    fprintf(f,
            "// seed %llu\n#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"
            "#pragma OPENCL FP_CONTRACT OFF\n#define SHARED %s__local uint\n"
            "__constant uint table[16] = {",
            (unsigned long long)tree->seed, tree->wary ? "volatile " : "");
    for (unsigned i = 0; i < TREE_TABLE; i++)
        fprintf(f, "%uu,", TREE_AT(i));
    fputs("};\n"
          "struct pack { uint a; ushort b; uchar c; };\n"
          "#define BARRIER barrier(CLK_LOCAL_MEM_FENCE)\n"
          "struct three { uint x, y, z; };\n"
          "struct four { uint n; ushort h[2]; uint w[2]; };\n",
          f);
    fputs(tree->line
              ? "#define LINE get_local_id(0)\n"
                "#define ITEMS (uint)get_local_size(0)\n"
                "#define WHOLE get_global_size(0)\n"
                "#define AT(d) get_global_id(d)\n"
              : "#define LINE (get_local_id(0) + get_local_size(0) * "
                "(get_local_id(1) + get_local_size(1) * get_local_id(2)))\n"
                "#define ITEMS (uint)(get_local_size(0) * get_local_size(1) * "
                "get_local_size(2))\n"
                "#define WHOLE (get_global_size(0) * get_global_size(1) * "
                "get_global_size(2))\n"
                "#define AT(d) (get_global_id(d) - get_global_offset(d))\n",
          f);
    fputs("constant sampler_t edge = CLK_ADDRESS_CLAMP_TO_EDGE;\n"
          "constant sampler_t border = CLK_ADDRESS_CLAMP;\n"
          "constant sampler_t mixed = "
          "CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR;\n"
          "constant sampler_t repeat = "
          "CLK_ADDRESS_REPEAT | CLK_NORMALIZED_COORDS_TRUE;\n",
          f);
    if (tree->rows)
        fputs("#define OWN_TEXEL (int2)((int)AT(0), "
              "(int)(AT(1) + get_global_size(1) * AT(2)))\n",
              f);
    else
        fprintf(f,
                "#define OWN_TEXEL (int2)((int)place %% %d, (int)place / %d)\n",
                TREE_CANVAS, TREE_CANVAS);
    fprintf(f, "#define WIDE %d\n#define HIGH %d\n", TREE_WIDE, TREE_HIGH);
    functions(f);
    if (tree->modern)
        variables(f);
    for (unsigned i = 0; i < TREE_HELPERS; i++) {
        const struct helper *h = &tree->helpers[i];
        fprintf(f, "uint h%u(%suint v%u, uint v%u) {\n", i,
                tree->flat ? "" : "SHARED *shared, ", h->params[0],
                h->params[1]);
        block(&p, h->body);
        fputs("return ", f);
        expr(&p, h->result);
        fputs(";\n}\n", f);
    }
    p.in_helper = false;
    fputs("__kernel ", f);
    if (tree->required[0])
        fprintf(f, "__attribute__((reqd_work_group_size(%u, %u, %u))) ",
                tree->required[0], tree->required[1], tree->required[2]);
    fprintf(f,
            "void k(__global uint *all, __global const uint *input, uint n, "
            "struct pack pack, __global uint *sizes, __global struct cell "
            "*cells, __global const uint *from, __global uint *trail"
            "%s%s%s) {\n",
            tree->picture ? ", read_only image2d_t picture, read_only "
                            "image2d_t signs, read_only image2d_t floats, "
                            "read_only image1d_t row, read_only image3d_t "
                            "box, read_only image2d_t sheet, "
                          : "",
            !tree->picture ? ""
            : tree->modern ? "read_write image2d_t canvas"
                           : "write_only image2d_t canvas",
            tree->local_argument ? ", SHARED *shared" : "");
    fprintf(f,
            "%s place = %s;\n"
            "__global uint *out = all + 5 * place;\n"
            "uint d = 1;\n",
            tree->seed % 2 ? "long" : "int",
            tree->line ? "AT(0)"
                       : "AT(0) + get_global_size(0) * (AT(1) + "
                         "get_global_size(1) * AT(2))");
    if (!tree->flat)
        group(tree, f);
    block(&p, tree->body);
    fputs("out[4] = d;\n}\n", f);
}
