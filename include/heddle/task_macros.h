// The typed fork/join macros behind heddle/task.h.
//
//     HD_TASK(result, name, type, parameter, ...) { body }
//     HD_VOID_TASK(name, type, parameter, ...) { body }
//
// define a static task with up to eight parameters. The body is an ordinary
// function whose first parameter is `worker`; calling it is calling a function.
// In a header, or for a task that is used above its body:
//
//     HD_TASK_DECLARE(extern, result, name, type, parameter, ...);
//     HD_TASK_DEFINE(extern, result, name, type, parameter, ...) { body }
//
// with `extern` or `static`; HD_VOID_TASK_DECLARE and HD_VOID_TASK_DEFINE are
// the same without a result. Wherever a worker is known:
//
//     hd_spawn(worker, name, argument, ...)  // fork
//     hd_call(worker, name, argument, ...)   // run here and now
//     hd_join(worker, name)                  // result of the newest spawn
//
// Every spawn is joined in the function that made it, newest first. The
// parameters together, and the result, fit 48 bytes and need no alignment above
// 16; pass a pointer to what is larger. A parameter is declared by
// `type parameter`, and its type is not const (what it points to may be).
//
// A task that its own worker joins is counted (hd_worker_counters.tasks) where
// HD_COUNT_TASKS is defined before this file is included: counting takes a
// tenth of the time that a spawn and its join take.
//
// Usable from C11 and, with GCC or Clang, from C++ (trivially copyable types).
//
// How it works: a worker's tasks are 64-byte records in an array. A spawn fills
// the record at `top_`; a join takes the newest one back and calls its function
// directly, unless the record was made public, below `split_`. Neither has a
// fence nor a read-modify-write: other workers see only what the slow path has
// published, and they ask for that by lowering `limit_`, which every spawn
// compares with anyway to find the end of the array. `top_` is written by every
// spawn and join but read in functions that are no tasks only: tasks hand it on
// in a register.
#ifndef HEDDLE_TASK_MACROS_H
#define HEDDLE_TASK_MACROS_H

#include <stdint.h>

#include "heddle/status.h"

#ifdef __cplusplus
#define HD_ALIGNAS_       alignas
#define HD_ALIGNOF_       alignof
#define HD_STATIC_ASSERT_ static_assert
extern "C" {
#else
#define HD_ALIGNAS_       _Alignas
#define HD_ALIGNOF_       _Alignof
#define HD_STATIC_ASSERT_ _Static_assert
#endif

struct hd_worker;

enum {
    HD_TASK_DATA_ = 48 // [bytes]
};

struct hd_task_ {
    void (*run_)(struct hd_worker *worker, struct hd_task_ *task);
    uint64_t state_; // who took it; 0 unless taken. Atomic, for workers only
    HD_ALIGNAS_(16) unsigned char data_[HD_TASK_DATA_]; // arguments, result
};

// What a worker begins with.
struct hd_stack_ {
    struct hd_task_ *top_;   // the next spawn's record; owner only
    struct hd_task_ *split_; // records below may be taken; owner only
    uint64_t tasks_; // counted so far; written by the owner only, atomic
    unsigned char pad1_[40];
    struct hd_task_ *limit_; // end of the array, NULL: publish. Atomic; on a
    unsigned char pad2_[56]; // line of its own, since thieves poll it
};

HD_API void hd_spawn_slow_(struct hd_worker *worker);

// NULL: run the record at `top_`; else the record with the result.
HD_API struct hd_task_ *hd_join_slow_(struct hd_worker *worker);

static inline struct hd_stack_ *hd_stack_of_(struct hd_worker *worker)
{
    return (struct hd_stack_ *)(void *)worker;
}

// In the body of a task this name is a parameter, which hides the function:
// what `top_` is, since everything called there leaves it as it was. Reading it
// from memory right after it was written would make each spawn wait for the one
// before.
static inline struct hd_task_ *hd_top_(struct hd_worker *worker)
{
    return hd_stack_of_(worker)->top_;
}

// The parameter's address, or NULL outside of tasks.
#ifdef __cplusplus
extern "C++" {
static inline struct hd_task_ **hd_known_(struct hd_task_ **top)
{
    return top;
}
static inline struct hd_task_ **hd_known_(
    struct hd_task_ *(*)(struct hd_worker *))
{
    return NULL;
}
}
#define HD_KNOWN_ hd_known_(&hd_top_)
#else
#define HD_KNOWN_ \
    _Generic(&hd_top_,                 \
        struct hd_task_ * *: &hd_top_, \
        default: (struct hd_task_ **)0)
#endif

static inline struct hd_task_ *hd_top_of_(struct hd_worker *worker,
                                          struct hd_task_ *const *known)
{
    return known ? *known : hd_top_(worker);
}

static inline void hd_push_(struct hd_worker *worker, struct hd_task_ *task,
                            struct hd_task_ **known)
{
    struct hd_stack_ *stack = hd_stack_of_(worker);
    uintptr_t limit =
        (uintptr_t)__atomic_load_n(&stack->limit_, __ATOMIC_RELAXED);
    struct hd_task_ *top = task + 1;

    stack->top_ = top;
    if (__builtin_expect((uintptr_t)top > limit, 0)) {
        hd_spawn_slow_(worker);
        top = stack->top_;
    }
    if (known)
        *known = top;
}

// Whether somebody without work asks for some.
static inline int hd_is_asked_(struct hd_worker *worker)
{
    struct hd_stack_ *stack = hd_stack_of_(worker);
    return __builtin_expect(!__atomic_load_n(&stack->limit_, __ATOMIC_RELAXED),
                            0);
}

static inline void hd_count_task_(struct hd_worker *worker)
{
    struct hd_stack_ *stack = hd_stack_of_(worker);
    uint64_t tasks = __atomic_load_n(&stack->tasks_, __ATOMIC_RELAXED);

    __atomic_store_n(&stack->tasks_, tasks + 1, __ATOMIC_RELAXED);
}

// Pop the newest record; true: run it, false: it holds the result.
static inline int hd_pop_(struct hd_worker *worker, struct hd_task_ **record,
                          struct hd_task_ **known)
{
    struct hd_stack_ *stack = hd_stack_of_(worker);
    struct hd_task_ *task = hd_top_of_(worker, known) - 1;

    stack->top_ = *record = task;
    if (known)
        *known = task;
    if (__builtin_expect((uintptr_t)task < (uintptr_t)stack->split_, 0)) {
        struct hd_task_ *done = hd_join_slow_(worker);
        if (known)
            *known = stack->top_;
        if (done) {
            *record = done;
            return 0;
        }
    }
#ifdef HD_COUNT_TASKS
    hd_count_task_(worker);
#endif
    return 1;
}

#ifdef __cplusplus
}
#endif

// clang-format off
// Lists of (type, parameter) pairs -----------------------------------------

#define HD_CAT_(a, b)  HD_CAT2_(a, b)
#define HD_CAT2_(a, b) a##b

// How many pairs follow the name, and whether anything does.
#define HD_PAIRS_(...) \
    HD_18TH_(__VA_ARGS__, 8, 8, 7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0)
#define HD_18TH_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, ...) r
#define HD_MORE_(...) HD_10TH_(__VA_ARGS__, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0)
#define HD_10TH_(a, b, c, d, e, f, g, h, i, j, ...) j

// The members of the argument structure.
#define HD_FIELDS_0(name) char hd_none_;
#define HD_FIELDS_1(name, t1, p1) \
    t1 p1;
#define HD_FIELDS_2(name, t1, p1, t2, p2) \
    t1 p1; t2 p2;
#define HD_FIELDS_3(name, t1, p1, t2, p2, t3, p3) \
    t1 p1; t2 p2; t3 p3;
#define HD_FIELDS_4(name, t1, p1, t2, p2, t3, p3, t4, p4) \
    t1 p1; t2 p2; t3 p3; t4 p4;
#define HD_FIELDS_5(name, t1, p1, t2, p2, t3, p3, t4, p4, t5, p5) \
    t1 p1; t2 p2; t3 p3; t4 p4; t5 p5;
#define HD_FIELDS_6(name, t1, p1, t2, p2, t3, p3, t4, p4, t5, p5, t6, p6) \
    t1 p1; t2 p2; t3 p3; t4 p4; t5 p5; t6 p6;
#define HD_FIELDS_7(name, t1, p1, t2, p2, t3, p3, t4, p4, t5, p5, t6, p6, t7, p7) \
    t1 p1; t2 p2; t3 p3; t4 p4; t5 p5; t6 p6; t7 p7;
#define HD_FIELDS_8(name, t1, p1, t2, p2, t3, p3, t4, p4, t5, p5, t6, p6, t7, p7, t8, p8) \
    t1 p1; t2 p2; t3 p3; t4 p4; t5 p5; t6 p6; t7 p7; t8 p8;

// The parameters after the worker.
#define HD_PARAMS_0(name) 
#define HD_PARAMS_1(name, t1, p1) \
    , t1 p1
#define HD_PARAMS_2(name, t1, p1, t2, p2) \
    , t1 p1, t2 p2
#define HD_PARAMS_3(name, t1, p1, t2, p2, t3, p3) \
    , t1 p1, t2 p2, t3 p3
#define HD_PARAMS_4(name, t1, p1, t2, p2, t3, p3, t4, p4) \
    , t1 p1, t2 p2, t3 p3, t4 p4
#define HD_PARAMS_5(name, t1, p1, t2, p2, t3, p3, t4, p4, t5, p5) \
    , t1 p1, t2 p2, t3 p3, t4 p4, t5 p5
#define HD_PARAMS_6(name, t1, p1, t2, p2, t3, p3, t4, p4, t5, p5, t6, p6) \
    , t1 p1, t2 p2, t3 p3, t4 p4, t5 p5, t6 p6
#define HD_PARAMS_7(name, t1, p1, t2, p2, t3, p3, t4, p4, t5, p5, t6, p6, t7, p7) \
    , t1 p1, t2 p2, t3 p3, t4 p4, t5 p5, t6 p6, t7 p7
#define HD_PARAMS_8(name, t1, p1, t2, p2, t3, p3, t4, p4, t5, p5, t6, p6, t7, p7, t8, p8) \
    , t1 p1, t2 p2, t3 p3, t4 p4, t5 p5, t6 p6, t7 p7, t8 p8

// The parameters' names.
#define HD_NAMES_0(name)
#define HD_NAMES_1(name, t1, p1) , p1
#define HD_NAMES_2(name, t1, p1, t2, p2) , p1, p2
#define HD_NAMES_3(name, t1, p1, t2, p2, t3, p3) , p1, p2, p3
#define HD_NAMES_4(name, t1, p1, t2, p2, t3, p3, t4, p4) , p1, p2, p3, p4
#define HD_NAMES_5(name, t1, p1, t2, p2, t3, p3, t4, p4, t5, p5) \
    , p1, p2, p3, p4, p5
#define HD_NAMES_6(name, t1, p1, t2, p2, t3, p3, t4, p4, t5, p5, t6, p6) \
    , p1, p2, p3, p4, p5, p6
#define HD_NAMES_7(name, t1, p1, t2, p2, t3, p3, t4, p4, t5, p5, t6, p6, t7, p7) \
    , p1, p2, p3, p4, p5, p6, p7
#define HD_NAMES_8(name, t1, p1, t2, p2, t3, p3, t4, p4, t5, p5, t6, p6, t7, p7, t8, p8) \
    , p1, p2, p3, p4, p5, p6, p7, p8

// Arguments into the record.
#define HD_STORES_0(name) (void)hd_args_;
#define HD_STORES_1(name, t1, p1) \
    hd_args_->p1 = p1;
#define HD_STORES_2(name, t1, p1, t2, p2) \
    hd_args_->p1 = p1; hd_args_->p2 = p2;
#define HD_STORES_3(name, t1, p1, t2, p2, t3, p3) \
    hd_args_->p1 = p1; hd_args_->p2 = p2; hd_args_->p3 = p3;
#define HD_STORES_4(name, t1, p1, t2, p2, t3, p3, t4, p4) \
    hd_args_->p1 = p1; hd_args_->p2 = p2; hd_args_->p3 = p3; hd_args_->p4 = p4;
#define HD_STORES_5(name, t1, p1, t2, p2, t3, p3, t4, p4, t5, p5) \
    hd_args_->p1 = p1; hd_args_->p2 = p2; hd_args_->p3 = p3; hd_args_->p4 = p4; hd_args_->p5 = p5;
#define HD_STORES_6(name, t1, p1, t2, p2, t3, p3, t4, p4, t5, p5, t6, p6) \
    hd_args_->p1 = p1; hd_args_->p2 = p2; hd_args_->p3 = p3; hd_args_->p4 = p4; hd_args_->p5 = p5; hd_args_->p6 = p6;
#define HD_STORES_7(name, t1, p1, t2, p2, t3, p3, t4, p4, t5, p5, t6, p6, t7, p7) \
    hd_args_->p1 = p1; hd_args_->p2 = p2; hd_args_->p3 = p3; hd_args_->p4 = p4; hd_args_->p5 = p5; hd_args_->p6 = p6; hd_args_->p7 = p7;
#define HD_STORES_8(name, t1, p1, t2, p2, t3, p3, t4, p4, t5, p5, t6, p6, t7, p7, t8, p8) \
    hd_args_->p1 = p1; hd_args_->p2 = p2; hd_args_->p3 = p3; hd_args_->p4 = p4; hd_args_->p5 = p5; hd_args_->p6 = p6; hd_args_->p7 = p7; hd_args_->p8 = p8;

// Arguments out of the record.
#define HD_LOADS_0(name) 
#define HD_LOADS_1(name, t1, p1) \
    , hd_args_->p1
#define HD_LOADS_2(name, t1, p1, t2, p2) \
    , hd_args_->p1, hd_args_->p2
#define HD_LOADS_3(name, t1, p1, t2, p2, t3, p3) \
    , hd_args_->p1, hd_args_->p2, hd_args_->p3
#define HD_LOADS_4(name, t1, p1, t2, p2, t3, p3, t4, p4) \
    , hd_args_->p1, hd_args_->p2, hd_args_->p3, hd_args_->p4
#define HD_LOADS_5(name, t1, p1, t2, p2, t3, p3, t4, p4, t5, p5) \
    , hd_args_->p1, hd_args_->p2, hd_args_->p3, hd_args_->p4, hd_args_->p5
#define HD_LOADS_6(name, t1, p1, t2, p2, t3, p3, t4, p4, t5, p5, t6, p6) \
    , hd_args_->p1, hd_args_->p2, hd_args_->p3, hd_args_->p4, hd_args_->p5, hd_args_->p6
#define HD_LOADS_7(name, t1, p1, t2, p2, t3, p3, t4, p4, t5, p5, t6, p6, t7, p7) \
    , hd_args_->p1, hd_args_->p2, hd_args_->p3, hd_args_->p4, hd_args_->p5, hd_args_->p6, hd_args_->p7
#define HD_LOADS_8(name, t1, p1, t2, p2, t3, p3, t4, p4, t5, p5, t6, p6, t7, p7, t8, p8) \
    , hd_args_->p1, hd_args_->p2, hd_args_->p3, hd_args_->p4, hd_args_->p5, hd_args_->p6, hd_args_->p7, hd_args_->p8

#define HD_LIST_(what, ...) \
    HD_CAT_(HD_##what##_, HD_PAIRS_(__VA_ARGS__))(__VA_ARGS__)

// The task itself ------------------------------------------------------------

#define HD_NAME_(name, ...) name

// What tasks with and without a result have in common: the function, the
// arguments in a record, the spawn.
#define HD_COMMON_(linkage, result, name, ...) \
    linkage result name(struct hd_worker *worker HD_LIST_(PARAMS, __VA_ARGS__)); \
    linkage result hd_body_##name( \
        struct hd_worker *worker, \
        struct hd_task_ *hd_top_ HD_LIST_(PARAMS, __VA_ARGS__)); \
    struct __attribute__((may_alias)) hd_args_##name { \
        HD_LIST_(FIELDS, __VA_ARGS__) \
    }; \
    static void hd_run_##name(struct hd_worker *worker, struct hd_task_ *task); \
    HD_INLINE_ void hd_spawn_##name( \
        struct hd_worker *worker, \
        struct hd_task_ **hd_known_ HD_LIST_(PARAMS, __VA_ARGS__)) \
    { \
        struct hd_task_ *hd_record_ = hd_top_of_(worker, hd_known_); \
        struct hd_args_##name *hd_args_ = \
            (struct hd_args_##name *)(void *)hd_record_->data_; \
        HD_LIST_(STORES, __VA_ARGS__) \
        hd_record_->run_ = hd_run_##name; \
        hd_push_(worker, hd_record_, hd_known_); \
    }

#define HD_ARGS_(name, task) \
    struct hd_args_##name *hd_args_ = \
        (struct hd_args_##name *)(void *)(task)->data_; \
    (void)hd_args_;

#define HD_FITS_(name) \
    HD_STATIC_ASSERT_(sizeof(struct hd_args_##name) <= HD_TASK_DATA_ && \
                          HD_ALIGNOF_(struct hd_args_##name) <= 16, \
                      "the parameters of a task fit 48 bytes")

#define HD_INLINE_ __attribute__((unused)) static inline

#define HD_DECLARE_1_(linkage, result, name, ...) \
    HD_DECLARE_2_(linkage, result, name, __VA_ARGS__)
#define HD_DECLARE_2_(linkage, result, name, ...) \
    HD_COMMON_(linkage, result, name, __VA_ARGS__) \
    __attribute__((unused)) static void hd_run_##name( \
        struct hd_worker *worker, struct hd_task_ *task) \
    { \
        HD_ARGS_(name, task) \
        result hd_result_ = hd_body_##name( \
            worker, hd_top_(worker) HD_LIST_(LOADS, __VA_ARGS__)); \
        __builtin_memcpy(task->data_, &hd_result_, sizeof(hd_result_)); \
    } \
    HD_INLINE_ result hd_join_##name(struct hd_worker *worker, \
                                     struct hd_task_ **hd_known_) \
    { \
        struct hd_task_ *hd_record_; \
        if (__builtin_expect(!hd_pop_(worker, &hd_record_, hd_known_), 0)) { \
            result hd_result_; \
            __builtin_memcpy(&hd_result_, hd_record_->data_, sizeof(hd_result_)); \
            return hd_result_; \
        } \
        HD_ARGS_(name, hd_record_) \
        return hd_body_##name(worker, \
                              hd_record_ HD_LIST_(LOADS, __VA_ARGS__)); \
    } \
    HD_STATIC_ASSERT_(sizeof(result) <= HD_TASK_DATA_ && \
                          HD_ALIGNOF_(result) <= 16, \
                      "the result of a task fits 48 bytes"); \
    HD_FITS_(name)

#define HD_VOID_DECLARE_1_(linkage, name, ...) \
    HD_VOID_DECLARE_2_(linkage, name, __VA_ARGS__)
#define HD_VOID_DECLARE_2_(linkage, name, ...) \
    HD_COMMON_(linkage, void, name, __VA_ARGS__) \
    __attribute__((unused)) static void hd_run_##name( \
        struct hd_worker *worker, struct hd_task_ *task) \
    { \
        HD_ARGS_(name, task) \
        hd_body_##name(worker, \
                       hd_top_(worker) HD_LIST_(LOADS, __VA_ARGS__)); \
    } \
    HD_INLINE_ void hd_join_##name(struct hd_worker *worker, \
                                   struct hd_task_ **hd_known_) \
    { \
        struct hd_task_ *hd_record_; \
        if (__builtin_expect(!hd_pop_(worker, &hd_record_, hd_known_), 0)) \
            return; \
        HD_ARGS_(name, hd_record_) \
        hd_body_##name(worker, hd_record_ HD_LIST_(LOADS, __VA_ARGS__)); \
    } \
    HD_FITS_(name)

#define HD_DEFINE_1_(linkage, result, give, name, ...) \
    HD_DEFINE_2_(linkage, result, give, name, __VA_ARGS__)
#define HD_DEFINE_2_(linkage, result, give, name, ...) \
    __attribute__((unused)) linkage result name( \
        struct hd_worker *worker HD_LIST_(PARAMS, __VA_ARGS__)) \
    { \
        give hd_body_##name( \
            worker, hd_top_(worker) HD_LIST_(NAMES, __VA_ARGS__)); \
    } \
    linkage result hd_body_##name( \
        __attribute__((unused)) struct hd_worker *worker, \
        __attribute__((unused)) \
            struct hd_task_ *hd_top_ HD_LIST_(PARAMS, __VA_ARGS__))

#define HD_TASK_DECLARE(linkage, result, ...) \
    HD_DECLARE_1_(linkage, result, HD_NAME_(__VA_ARGS__, ), __VA_ARGS__)
#define HD_TASK_DEFINE(linkage, result, ...) \
    HD_DEFINE_1_(linkage, result, return, HD_NAME_(__VA_ARGS__, ), __VA_ARGS__)
#define HD_TASK(result, ...) \
    HD_TASK_DECLARE(static inline, result, __VA_ARGS__); \
    HD_TASK_DEFINE(static inline, result, __VA_ARGS__)

#define HD_VOID_TASK_DECLARE(linkage, ...) \
    HD_VOID_DECLARE_1_(linkage, HD_NAME_(__VA_ARGS__, ), __VA_ARGS__)
#define HD_VOID_TASK_DEFINE(linkage, ...) \
    HD_DEFINE_1_(linkage, void, , HD_NAME_(__VA_ARGS__, ), __VA_ARGS__)
#define HD_VOID_TASK(...) \
    HD_VOID_TASK_DECLARE(static inline, __VA_ARGS__); \
    HD_VOID_TASK_DEFINE(static inline, __VA_ARGS__)

// Using it -------------------------------------------------------------------

#define HD_USE_0_(prefix, worker, name) HD_CAT_(prefix, name)(worker, HD_KNOWN_)
#define HD_USE_1_(prefix, worker, name, ...) \
    HD_CAT_(prefix, name)(worker, HD_KNOWN_, __VA_ARGS__)

#define hd_spawn(worker, ...) \
    HD_CAT_(HD_CAT_(HD_USE_, HD_MORE_(__VA_ARGS__)), _) \
    (hd_spawn_, worker, __VA_ARGS__)
#define hd_call(worker, ...) \
    HD_CAT_(HD_CAT_(HD_CALL_, HD_MORE_(__VA_ARGS__)), _)(worker, __VA_ARGS__)
#define HD_CALL_0_(worker, name) \
    HD_CAT_(hd_body_, name)(worker, hd_top_of_(worker, HD_KNOWN_))
#define HD_CALL_1_(worker, name, ...) \
    HD_CAT_(hd_body_, name)(worker, hd_top_of_(worker, HD_KNOWN_), __VA_ARGS__)
#define hd_join(worker, name) HD_CAT_(hd_join_, name)(worker, HD_KNOWN_)
// clang-format on

#endif
