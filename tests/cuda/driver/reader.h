// Between the files that read PTX: where the reader is, and words of the text.
#ifndef HEDDLE_TESTS_CUDA_DRIVER_READER_H
#define HEDDLE_TESTS_CUDA_DRIVER_READER_H

#include "tests/cuda/driver/ptx.h"

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

unsigned ptx_line_of(struct parser *p);
void ptx_fail(struct parser *p, const char *format, ...);
const char *ptx_next(struct parser *p);
char ptx_peek(struct parser *p);
bool ptx_accept(struct parser *p, char c);
void ptx_expect(struct parser *p, char c);
void ptx_skip_line(struct parser *p);
void ptx_skip_to(struct parser *p, char c);
unsigned ptx_type_size(const char *name);
uint32_t ptx_round_to(uint32_t n, uint32_t align);
bool ptx_number_of(const char *token, uint64_t *value);

struct ptx_variable *ptx_find_variable(const struct ptx_module *module,
                                       const char *name);
int ptx_find_register(struct parser *p, const char *name);
int ptx_find_label(struct parser *p, const char *name);
struct ptx_operand ptx_named(struct parser *p, const char *name);
struct ptx_operand ptx_read_operand(struct parser *p);

void ptx_read_instruction(struct parser *p, char *mnemonic);
void ptx_read_guarded(struct parser *p);

#endif
