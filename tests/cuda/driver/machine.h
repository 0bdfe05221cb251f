// What the files that run PTX share: operations, words of instructions, and
// threads, blocks and lanes while they run.
#ifndef HEDDLE_TESTS_CUDA_DRIVER_MACHINE_H
#define HEDDLE_TESTS_CUDA_DRIVER_MACHINE_H

#include "tests/cuda/driver/ptx.h"

enum {
    LANES = 32,
    TURN = 500, // instructions of a warp until another's turn
    STACK = 96 << 10,
    MAX_DEPTH = 64
};

#define OPERATIONS(X) \
    X(abs)            \
    X(activemask)     \
    X(add)            \
    X(addc)           \
    X(and)            \
    X(atom)           \
    X(bar)            \
    X(barrier)        \
    X(bfe)            \
    X(bfi)            \
    X(bra)            \
    X(brev)           \
    X(brx)            \
    X(call)           \
    X(clz)            \
    X(copysign)       \
    X(cos)            \
    X(cvt)            \
    X(cvta)           \
    X(div)            \
    X(ex2)            \
    X(exit)           \
    X(fence)          \
    X(fma)            \
    X(isspacep)       \
    X(ld)             \
    X(lg2)            \
    X(mad)            \
    X(max)            \
    X(membar)         \
    X(min)            \
    X(mov)            \
    X(mul)            \
    X(nanosleep)      \
    X(neg)            \
    X(not)            \
    X(or)             \
    X(popc)           \
    X(prefetch)       \
    X(prmt)           \
    X(rcp)            \
    X(rem)            \
    X(ret)            \
    X(rsqrt)          \
    X(selp)           \
    X(setp)           \
    X(shf)            \
    X(shfl)           \
    X(shl)            \
    X(shr)            \
    X(sin)            \
    X(sqrt)           \
    X(st)             \
    X(sub)            \
    X(subc)           \
    X(testp)          \
    X(trap)           \
    X(vote)           \
    X(xor)

enum operation {
    DO_NOTHING,
#define DO(name) DO_##name,
    OPERATIONS(DO)
#undef DO
};

// Words of ptx_instruction.compare, logic and rounding, as parse.c numbers
// them.
enum {
    EQ = 1,
    NE,
    LT,
    LE,
    GT,
    GE,
    LO_,
    LS,
    HI_,
    HS,
    EQU,
    NEU,
    LTU,
    LEU,
    GTU,
    GEU,
    NUM,
    NAN_
};
enum {
    AND = 1,
    OR,
    XOR,
    ADD,
    MIN,
    MAX,
    EXCH,
    CAS,
    INC,
    DEC,
    ANY,
    ALL,
    BALLOT,
    UP,
    DOWN,
    BFLY,
    IDX,
    INFINITE_,
    FINITE,
    NOT_A_NUMBER,
    SUBNORMAL_,
    NORMAL_,
    LOW,
    HIGH,
    WIDE,
    WARP,
    LEFT,
    RIGHT,
    IS_SHARED,
    IS_LOCAL,
    IS_GLOBAL
};
enum {
    RN = 1,
    RZ,
    RM,
    RP,
    RNI,
    RZI,
    RMI,
    RPI
};

struct frame {
    const struct ptx_function *function;
    uint32_t pc, depth;
    uint64_t *registers;
    char *local, *parameters, *variables, *results;
    struct frame *caller;
    const struct ptx_operand *returned; // where the caller wants the result
};

enum state {
    RUNS,
    AT_BARRIER,
    AT_WARP,
    ENDED
};

struct thread {
    enum state state;
    struct frame *frame;
    char *stack; // frames, registers and local memory
    uint32_t used;
    uint32_t tid[3];
    uint32_t barrier, expected, mask;
    bool carry;
    // At a shuffle: what it gives, whose it wants, and where that goes.
    const struct ptx_instruction *shuffle; // NULL: at a barrier
    uint32_t gives, wants;
};

struct block {
    const struct ptx_machine *machine;
    const struct ptx_launch *launch;
    uint32_t id[3];
    uint32_t threads, live;
    struct thread *thread;
    char *shared;
    uint32_t shared_bytes, shared_static;
    uint64_t *steps; // of each warp since it last had its turn, for fairness
    enum ptx_outcome outcome;
    uint64_t quiet; // rounds in which nothing ran
};

struct lane {
    struct block *block;
    struct thread *thread;
    struct frame *frame;
    uint32_t index; // in the block
};

// values.c: bits as values of a type, and operands of a lane.
unsigned ptx_size_of(uint8_t type);
bool ptx_is_signed(uint8_t type);
bool ptx_is_float(uint8_t type);
uint64_t ptx_clip(uint64_t value, unsigned size);
int64_t ptx_extend(uint64_t value, unsigned size);
double ptx_real_of(uint64_t raw, uint8_t type);
uint64_t ptx_raw_of(double value, uint8_t type);
uint64_t ptx_get(const struct lane *l, const struct ptx_operand *o);
uint64_t ptx_unsigned_of(const struct lane *l, const struct ptx_operand *o,
                         uint8_t type);
int64_t ptx_signed_of(const struct lane *l, const struct ptx_operand *o,
                      uint8_t type);
double ptx_real(const struct lane *l, const struct ptx_operand *o,
                uint8_t type);
void ptx_set(const struct lane *l, const struct ptx_operand *o, uint64_t value);

uint16_t ptx_half_bits(double value, uint8_t rounding);

// memory.c: whether an access is in this memory; what instructions do to it.
bool ptx_within(uint64_t address, uint64_t size, const char *base,
                uint64_t bytes);
void ptx_load(const struct lane *l, const struct ptx_instruction *i);
void ptx_store(const struct lane *l, const struct ptx_instruction *i);
void ptx_change(const struct lane *l, const struct ptx_instruction *i);

// arithmetic.c: false for what it does not do.
bool ptx_compute(const struct lane *l, const struct ptx_instruction *i);

#endif
