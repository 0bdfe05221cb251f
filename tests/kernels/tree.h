// A random kernel as a syntax tree: made by generate.c, written as OpenCL C by
// print.c, carried out by interpret.c.
//
// Every tree is a legal kernel without races and with defined results only:
// expressions are unsigned 32-bit values, whatever type they pass through;
// barriers and the statements that hold them stand in uniform control flow.
#ifndef HEDDLE_TESTS_KERNELS_TREE_H
#define HEDDLE_TESTS_KERNELS_TREE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "tests/kernels/pattern.h"

enum {
    TREE_VARS = 160,
    TREE_ITEMS = 1024,             // most work-items of a group
    TREE_ARRAY = 8,                // elements of a private array
    TREE_MEMBERS = 8,              // of struct cell
    TREE_CELLS = 2,                // in global memory, of a work-item
    TREE_INPUT = 64,               // elements of the input
    TREE_SLOTS = 4,                // what a work-item may store
    TREE_RESULTS = TREE_SLOTS + 1, // the last is the digest of all its values
    TREE_SUMS = 6, // local atomics of a group; the operation goes by the slot
    TREE_HELPERS = 3,
    TREE_SIDE = 8,     // of the images that have the input for texels
    TREE_EDGE = 4,     // of the one with depth
    TREE_FETCH = 32,   // elements that a group copies at most
    TREE_CANVAS = 32,  // texels in a row of the image that is written
    TREE_BROAD = 1280, // or of one that has a row for each of work-items, and
    TREE_TALL = 20,    // so many of them
    TREE_WIDE = 40,    // texels in a row of the image that is read near by
    TREE_HIGH = 24     // rows of it
};

enum expr_kind {
    E_CONST,
    E_VAR,
    E_ELEMENT, // var[a & 7]
    E_MEMBER,  // part: which, of a struct
    E_WEIGH,   // a function of a struct by value, and of a
    E_INPUT,
    E_TABLE,
    E_ARG, // value: 0 is n, 1 to 3 are members of the struct
    E_GLOBAL_ID,
    E_LOCAL_ID,
    E_GROUP_ID,
    E_GLOBAL_SIZE,
    E_LOCAL_SIZE,
    E_GROUPS,
    E_OFFSET,
    E_ADD,
    E_SUB,
    E_MUL,
    E_AND,
    E_OR,
    E_XOR,
    E_SHL,
    E_SHR,
    E_SAR,
    E_DIV,
    E_REM,
    E_LESS,
    E_LESS_SIGNED,
    E_LEAST, // of signed numbers
    E_MOST,
    E_EQUAL,
    E_BOTH,
    E_EITHER,
    E_FLOAT,
    E_ROUND, // value: which calculation whose results are rounded
    E_LONG,
    E_VECTOR, // value: component
    E_FLOATS, // likewise
    E_DOUBLE,
    E_HALF,
    E_CHAR,
    E_BITS,     // value: which function of bits
    E_TEXEL,    // value: without a sampler, with one of those in the kernel, of
                // signed numbers, of one dimension or of three
    E_FILTERED, // of floats; value: as it is, or mixed of two
    E_NEAR,    // a texel at a and b, which mostly go with the work-item; value:
               // what there is outside
    E_GENERIC, // through a pointer to global or private memory
    E_DOT,     // value: which product of packed bytes
    E_CELL,    // value: member of one of the work-item's own cells
    E_CANVAS,  // one's own texel
    E_CHOOSE
};

struct expr {
    enum expr_kind kind;
    uint32_t value; // constant, variable or dimension
    uint32_t part;  // component of a variable
    struct expr *a, *b, *c;
};

enum var_type {
    V_UINT,
    V_INT,
    V_ULONG,
    V_LONG,
    V_SHORT,
    V_USHORT,
    V_CHAR,
    V_UCHAR,
    V_HALF,
    V_FLOAT,
    V_DOUBLE,
    V_UINT4,
    V_UCHAR8,
    V_HALF4,
    V_FLOAT4,
    V_DOUBLE4,
    V_ARRAY,
    V_STRUCT
};

enum stmt_kind {
    S_DECLARE,
    S_ASSIGN,
    S_ELEMENT,
    S_MEMBER, // part: which, of a struct
    S_TURN,   // a struct by value, and what a function returns of it
    S_TAKE,   // a struct from one's own cells; b: which
    S_KEEP,   // and back
    S_CELL,   // part: a member there
    S_IF,
    S_FOR,
    S_DO,
    S_AGAIN, // a jump back
    S_SWITCH,
    S_BREAK,
    S_CONTINUE,
    S_RETURN,
    S_BARRIER,
    S_EXCHANGE, // own slot, barrier, another's slot, barrier
    S_ATOMIC,
    S_TALLY,   // an atomic of the program; the operation goes by the slot
    S_FETCH,   // the group copies a part of the input, or each a-th; read one
    S_PRINT,   // a line
    S_SUM,     // barrier, read an atomic, barrier
    S_COLLECT, // part: enum collective
    S_CALL,
    S_STORE,
    S_PAINT,  // one's own texel
    S_PATTERN // part: which type its ids have
};

// Functions that a group or a sub-group calls together.
enum collective {
    C_GROUP_SUM,
    C_GROUP_SCAN,
    C_GROUP_MAX_SCAN,
    C_GROUP_BROADCAST,
    C_GROUP_ANY,
    C_SUB_GROUP_SUM,
    C_SUB_GROUP_MIN_SCAN,
    C_SUB_GROUP_SHUFFLE,
    C_SUB_GROUP_BALLOT,
    COLLECTIVES
};

struct stmt {
    enum stmt_kind kind;
    uint32_t value; // variable, slot
    uint32_t part;  // component, helper, bits of falling through
    struct expr *a, *b;
    struct stmt *body[4]; // branches, cases
    const struct pattern *pattern;
    uint32_t numbers[PATTERN_NUMBERS], plane; // of a pattern
    struct stmt *next;
};

struct helper {
    uint32_t params[2];
    struct stmt *body;
    struct expr *result;
    bool uniform; // holds barriers, or may
};

struct tree {
    uint64_t seed;
    uint32_t required[3]; // reqd_work_group_size or 0
    bool local_argument;  // the shared array is an argument
    bool modern;          // OpenCL C 3.0, and what only it has
    bool picture;         // images are arguments
    bool rows;            // each row of work-items paints a row of texels
    bool wary;            // much is volatile
    bool prints;
    bool line; // for launches of one dimension, without an offset
    bool flat; // nothing asks for groups; much asks for borders, as filters do
    unsigned vars, planes;
    enum var_type types[TREE_VARS];
    struct helper helpers[TREE_HELPERS];
    struct stmt *body;
    void *memory; // of all nodes
};

// What one launch is given.
struct tree_launch {
    unsigned dims;
    uint32_t global[3], local[3], offset[3];
    uint32_t n;
    uint32_t sub_group; // work-items of one, but of the last of a work-group
    uint32_t input[TREE_INPUT], sheet[TREE_WIDE * TREE_HIGH];
    uint32_t from[PATTERN_FROM];
};

// Lines with a number each, in any order.
struct tree_printed {
    uint32_t lines, sum;
};

// As kernels declare it: variables, and elements of a buffer. What a variable
// has are its members in order, those of the array one by one.
struct tree_cell {
    uint32_t a;
    uint8_t b;
    uint16_t c[2];
    int8_t s;
    uint64_t d;
    float f;
    uint32_t g;
};

// The struct argument, as the kernel declares it.
struct tree_pack {
    uint32_t a;
    uint16_t b;
    uint8_t c;
};

#define TREE_PACK         ((struct tree_pack){0x9e3779b9u, 4711, 201})
#define TREE_AT(k)        ((uint32_t)(k)*2654435761u >> 9) // the constant table
#define TREE_TABLE        16
#define TREE_FLOAT(input) ((input)&65535) // the same as a texel of floats
#define TREE_TALLY        (TREE_MIX >> 8) // what the program's variables begin with
#define TREE_MIX          0x5bd1e995u // what an element of an array begins with

static inline bool tree_gives_value(enum stmt_kind kind)
{
    switch (kind) {
    case S_DECLARE:
    case S_ASSIGN:
    case S_ELEMENT:
    case S_MEMBER:
    case S_TURN:
    case S_TAKE:
    case S_EXCHANGE:
    case S_FETCH:
    case S_SUM:
    case S_COLLECT:
    case S_CALL:
    case S_PATTERN:
        return true;
    default:
        return false;
    }
}

// Every value that the kernel itself, no helper, gives to a variable goes into
// the work-item's digest, so that no error is lost on the way to a result: this
// element of it, unless `part` names one.
static inline unsigned tree_digested(enum var_type type, uint32_t part)
{
    if (type == V_ARRAY)
        return 5;
    if (type == V_STRUCT)
        return part;
    return type >= V_UINT4 && part < 4 ? part : 0;
}

static inline bool tree_is_vector(enum var_type type)
{
    return type >= V_UINT4 && type <= V_DOUBLE4;
}

// What a variable of the type keeps of a value: halves and floats are given
// only numbers that they hold.
static inline uint32_t tree_kept(enum var_type type, uint32_t value)
{
    switch (type) {
    case V_SHORT:
        return (uint32_t)(int32_t)(int16_t)value;
    case V_CHAR:
        return (uint32_t)(int32_t)(int8_t)value;
    case V_UCHAR:
    case V_UCHAR8:
        return value & 255;
    case V_HALF:
    case V_HALF4:
        return value & 2047;
    case V_USHORT:
    case V_FLOAT:
    case V_FLOAT4:
        return value & 65535;
    default:
        return value;
    }
}

static inline uint32_t tree_member_kept(unsigned member, uint32_t value)
{
    static const enum var_type types[TREE_MEMBERS] = {
        V_UINT, V_UCHAR, V_USHORT, V_USHORT, V_CHAR, V_ULONG, V_FLOAT, V_UINT};
    return tree_kept(types[member], value);
}

// What a member of a cell in global memory begins with.
static inline uint32_t tree_cell_start(uint32_t cell, unsigned member)
{
    return tree_member_kept(member, (cell + 1) * TREE_MIX + member);
}

struct tree *tree_make(uint64_t seed);
void tree_free(struct tree *tree);
void tree_print(const struct tree *tree, FILE *file);

// Write the TREE_RESULTS results of every work-item of the launch to out, what
// the program's own variables hold then to `tally`, the texels that work-items
// give a value to `canvas`, what they do with their cells to `cells` and with
// the planes of patterns to `trail`; add the lines they print to `printed`.
void tree_interpret(const struct tree *tree, const struct tree_launch *launch,
                    uint32_t *out, uint32_t tally[TREE_SUMS], uint32_t *canvas,
                    uint32_t (*cells)[TREE_MEMBERS], uint32_t *trail,
                    struct tree_printed *printed);

#endif
