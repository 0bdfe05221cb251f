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

enum {
    TREE_VARS = 160,
    TREE_ITEMS = 64, // most work-items of a group
    TREE_ARRAY = 8,  // elements of a private array
    TREE_INPUT = 64, // elements of the input
    TREE_SLOTS = 4,  // results of one work-item
    TREE_SUMS = 6,   // local atomics of a group; the operation goes by the slot
    TREE_HELPERS = 3
};

enum expr_kind {
    E_CONST,
    E_VAR,
    E_ELEMENT, // var[a & 7]
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
    E_EQUAL,
    E_BOTH,
    E_EITHER,
    E_FLOAT,
    E_LONG,
    E_VECTOR, // value: component
    E_FLOATS, // likewise
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
    V_USHORT,
    V_UCHAR,
    V_FLOAT,
    V_UINT4,
    V_FLOAT4,
    V_ARRAY
};

enum stmt_kind {
    S_DECLARE,
    S_ASSIGN,
    S_ELEMENT,
    S_IF,
    S_FOR,
    S_DO,
    S_SWITCH,
    S_BREAK,
    S_CONTINUE,
    S_RETURN,
    S_BARRIER,
    S_EXCHANGE, // own slot, barrier, another's slot, barrier
    S_ATOMIC,
    S_SUM, // barrier, read an atomic, barrier
    S_CALL,
    S_STORE
};

struct stmt {
    enum stmt_kind kind;
    uint32_t value; // variable, slot
    uint32_t part;  // component, helper, bits of falling through
    struct expr *a, *b;
    struct stmt *body[4]; // branches, cases
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
    unsigned vars;
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
    uint32_t input[TREE_INPUT];
};

// The struct argument, as the kernel declares it.
struct tree_pack {
    uint32_t a;
    uint16_t b;
    uint8_t c;
};

#define TREE_PACK  ((struct tree_pack){0x9e3779b9u, 4711, 201})
#define TREE_AT(k) ((uint32_t)(k) * 2654435761u >> 9) // the constant table
#define TREE_TABLE 16
#define TREE_MIX   0x5bd1e995u // what an element of an array begins with

struct tree *tree_make(uint64_t seed);
void tree_free(struct tree *tree);
void tree_print(const struct tree *tree, FILE *file);

// Write the TREE_SLOTS results of every work-item of the launch to out.
void tree_interpret(const struct tree *tree, const struct tree_launch *launch,
                    uint32_t *out);

#endif
