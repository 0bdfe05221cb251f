// PTX without a GPU: what Heddle's compiler makes is read and run, as far as it
// goes. The fake driver (driver.c) is made of it.
//
// Threads of a warp run in step where they are at the same instruction, those
// that are furthest back first, so that they come together again where a GPU's
// would; warps and blocks take turns. Every access to memory is checked.
#ifndef HEDDLE_TESTS_CUDA_DRIVER_PTX_H
#define HEDDLE_TESTS_CUDA_DRIVER_PTX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ptx_type {
    PTX_NONE,
    PTX_B8,
    PTX_B16,
    PTX_B32,
    PTX_B64,
    PTX_U8,
    PTX_U16,
    PTX_U32,
    PTX_U64,
    PTX_S8,
    PTX_S16,
    PTX_S32,
    PTX_S64,
    PTX_F16,
    PTX_F32,
    PTX_F64,
    PTX_PRED,
    PTX_F16X2
};

enum ptx_space {
    PTX_GENERIC,
    PTX_GLOBAL,
    PTX_SHARED,
    PTX_LOCAL,
    PTX_PARAM,
    PTX_CONST
};

enum ptx_operand_kind {
    PTX_NOTHING,
    PTX_REGISTER,
    PTX_NUMBER,
    PTX_SPECIAL,      // number: enum ptx_special
    PTX_IN_SHARED,    // offset in the block's shared memory
    PTX_IN_LOCAL,     // in the function's local memory
    PTX_IN_PARAMETER, // in what the function was given
    PTX_IN_VARIABLE,  // in its own .param variables
    PTX_IN_RESULT,    // in what it returns
    PTX_LIST          // of `count` operands from `first`
};

enum ptx_special {
    PTX_TID,
    PTX_NTID = 3,
    PTX_CTAID = 6,
    PTX_NCTAID = 9,
    PTX_LANE = 12,
    PTX_WARP,
    PTX_SM,
    PTX_TIME,
    PTX_CLOCK,
    PTX_MASK_LT
};

struct ptx_operand {
    enum ptx_operand_kind kind;
    bool negated;    // of a predicate
    uint8_t count;   // of a list
    uint32_t index;  // of a register, or of a list's first element
    uint64_t number; // value or offset
    int64_t offset;  // of an address
};

struct ptx_instruction {
    uint16_t operation; // enum of machine.h
    uint8_t type, from; // enum ptx_type; `from` of conversions
    uint8_t space, vector, compare, logic, rounding;
    bool saturated, carries, uses_carry, acquires, strong, negated;
    int32_t guard; // register; -1: always
    bool guard_negated;
    struct ptx_operand operands[5];
    uint32_t target; // of a branch, or the first of a table
    uint32_t targets;
    const struct ptx_function *callee;
    const char *callee_name;
    uint32_t line; // of the text
};

struct ptx_parameter {
    char *name;
    uint32_t offset, size;
};

struct ptx_function {
    struct ptx_function *next;
    struct ptx_module *module;
    char *name;
    bool is_entry, is_defined;
    uint32_t registers;
    struct ptx_parameter parameters[64], results[4], variables[64];
    uint32_t parameter_count, result_count, variable_count;
    uint32_t parameter_bytes, result_bytes, variable_bytes, local_bytes;
    uint32_t most_threads; // 0: not said
    struct ptx_instruction *code;
    uint32_t count, room;
    struct ptx_operand *lists;
    uint32_t list_count, list_room;
    uint32_t *tables;
    uint32_t table_count;
};

struct ptx_variable {
    struct ptx_variable *next;
    char *name;
    enum ptx_space space;
    char *memory; // of global ones
    uint64_t bytes;
    uint64_t offset; // of shared ones
    bool is_extern;
};

struct ptx_module {
    struct ptx_function *functions;
    struct ptx_variable *variables;
    uint64_t shared_bytes; // static
    char error[512];
};

// Read texts one after the other into one module, then link it. False: see
// module->error.
bool ptx_read(struct ptx_module *module, const char *text);
bool ptx_link(struct ptx_module *module);
void ptx_clear(struct ptx_module *module);
struct ptx_function *ptx_find(struct ptx_module *module, const char *name);
uint16_t ptx_operation(const char *name); // 0: not known

// `find` gives the host's address of memory that a launch may touch, or NULL;
// it is called for every access.
struct ptx_machine {
    void *(*find)(void *data, uint64_t address, uint64_t size);
    void *data;
    const atomic_bool *stop; // leave at once
    unsigned blocks_at_once;
    bool apart; // lanes are active one at a time
};

enum ptx_outcome {
    PTX_DONE,
    PTX_STOPPED,
    PTX_ILLEGAL_ADDRESS,
    PTX_MISALIGNED,
    PTX_TRAPPED,
    PTX_DEADLOCK,
    PTX_UNKNOWN // an instruction that this does not do
};

struct ptx_launch {
    const struct ptx_function *entry;
    uint32_t grid[3], block[3];
    uint32_t shared_bytes; // dynamic
    const void *parameters;
    char *why; // of at least 256 bytes
};

enum ptx_outcome ptx_run(const struct ptx_machine *machine,
                         const struct ptx_launch *launch);

#endif
