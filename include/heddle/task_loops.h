// Parallel loops and other divisible work on top of fork and join.
//
//     HD_FOR(i, scale, float *, data, float, by)   // the body for item i
//     {
//         data[i] *= by;
//     }
//     ... hd_for(worker, scale, 0, count, data, 3.0f);
//
//     HD_REDUCE(double, plus, i, sum, const double *, data)
//     {
//         return data[i];                          // the value of item i
//     }
//     ... double s = hd_reduce(worker, sum, 0.0, 0, count, data);
//
// A loop runs the items `begin` to `end - 1`, each once, and returns when all
// have run. It is divided in halves as long as a piece takes much longer than
// it costs to divide it: both are measured, the second while the loop runs, so
// that no size has to be chosen. A loop that runs again begins with the pieces
// it ended with, once its first item says that they still suit. The items of a
// piece run in order, in a loop that the compiler sees (and may vectorise). `i`
// is a size_t; the parameters, up to eight, are the same for all items.
//
// `plus(a, b)` is a function or macro that combines two values, in the order of
// the items; it must be associative, and the value given to hd_reduce() its
// neutral element. Where the items are divided changes from run to run, so
// floating point sums may differ in their last digits.
//
// A recursion over few items at each of its nodes, the children in a tree for
// instance, is too fine for that:
//
//     HD_GATHER(uint64_t, plus, 0, i, count, const struct node *, node)
//     {
//         const struct node *child = node->child[i];
//         return 1 + hd_gather(worker, count, 0, child->children, child);
//     }
//     ... uint64_t n = hd_gather(worker, count, 0, root->children, root);
//
// runs its items one after another and gives away half of those it has not
// reached when another worker asks for work. That costs a look per item, no
// more. 0 is the neutral element of `plus`. HD_EACH(i, name, ...) and hd_each()
// do the same without a value. The parameters, up to six, fit 32 bytes
// together. The body becomes part of the loop: alloca() and setjmp() belong in
// a function that it calls.
//
// What divides in another way, with a cutoff of its own:
//
//     HD_DIVISIBLE(name, type, is_leaf, divide, run)
//
// makes a task `name` of one parameter of `type` (48 bytes at most) out of
//
//     bool is_leaf(struct hd_worker *worker, const type *task);
//     unsigned divide(struct hd_worker *worker, const type *task, type *part);
//     void run(struct hd_worker *worker, const type *leaf);
//
// The worker takes a task from its stack and tests the cutoff; not met, it
// divides the task into 2 to HD_MAX_PARTS parts and pushes them; met, it runs
// the leaf. Start it with hd_call(worker, name, task).
#ifndef HEDDLE_TASK_LOOPS_H
#define HEDDLE_TASK_LOOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heddle/task_macros.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    HD_MAX_PARTS = 8 // of one division
};

/// How many items are worth a leaf: an automatic cutoff.
///
/// It aims at leaves that take some forty times as long as forking and joining
/// one that is public, which the pool measures once. One object serves all
/// pieces of one loop.
struct hd_cutoff {
    size_t items_;    // of a leaf; atomic
    uint64_t target_; // time of a leaf [ns]
};

/// Start with leaves of one item.
///
/// Owner:   plain memory, nothing to free
/// Threads: the worker's own
HD_API void hd_cutoff_init(struct hd_cutoff *cutoff, struct hd_worker *worker);

/// Say that a leaf starts; the time [ns]. Where leaves are long, what was
/// forked so far is let go first, as by hd_publish(). 0: do not run it, it was
/// cancelled.
///
/// Threads: any worker
HD_API uint64_t hd_cutoff_leaf(const struct hd_cutoff *cutoff,
                               struct hd_worker *worker);

/// Learn from a leaf of `items` that started at the time `began` and has ended
/// now.
///
/// Threads: any worker
HD_API void hd_cutoff_learn(struct hd_cutoff *cutoff, uint64_t began,
                            size_t items);

/// Whether a piece of `items` is to be run, not divided.
///
/// Threads: any worker
static inline bool hd_cutoff_met(const struct hd_cutoff *cutoff, size_t items)
{
    return items <= __atomic_load_n(&cutoff->items_, __ATOMIC_RELAXED);
}

// Start with the cutoff that the same loop ended with when it ran last: `known`
// is its own, 0 at first; and keep it.
HD_API void hd_cutoff_recall_(struct hd_cutoff *cutoff,
                              struct hd_worker *worker, const size_t *known);
HD_API void hd_cutoff_keep_(const struct hd_cutoff *cutoff, size_t *known);

// Where the next part of a loop ends that begins at `begin`. What is known may
// not suit these items, so some are tried on the worker first, before any are
// given away: one and, where all together would be one leaf, an eighth of it.
// Where few items are a leaf, nothing is tried: one may take long.
static inline size_t hd_cutoff_part_(const struct hd_cutoff *cutoff,
                                     size_t first, size_t begin, size_t end)
{
    size_t items = __atomic_load_n(&cutoff->items_, __ATOMIC_RELAXED);

    if (items < 16 || begin > first + 1)
        return end;
    if (begin == first)
        return begin + 1;
    return end - begin <= items && end - begin > items / 8 ? begin + items / 8
                                                           : end;
}

#ifdef __cplusplus
}
#endif

// clang-format off
// The arguments as they lie in the loop's record, which all pieces read.
#define HD_FILLS_0(name)
#define HD_FILLS_1(name, t1, p1) \
    hd_loop_.p1 = p1;
#define HD_FILLS_2(name, t1, p1, t2, p2) \
    HD_FILLS_1(name, t1, p1) hd_loop_.p2 = p2;
#define HD_FILLS_3(name, t1, p1, t2, p2, t3, p3) \
    HD_FILLS_2(name, t1, p1, t2, p2) hd_loop_.p3 = p3;
#define HD_FILLS_4(name, t1, p1, t2, p2, t3, p3, t4, p4) \
    HD_FILLS_3(name, t1, p1, t2, p2, t3, p3) hd_loop_.p4 = p4;
#define HD_FILLS_5(name, t1, p1, t2, p2, t3, p3, t4, p4, t5, p5) \
    HD_FILLS_4(name, t1, p1, t2, p2, t3, p3, t4, p4) hd_loop_.p5 = p5;
#define HD_FILLS_6(name, t1, p1, t2, p2, t3, p3, t4, p4, t5, p5, t6, p6) \
    HD_FILLS_5(name, t1, p1, t2, p2, t3, p3, t4, p4, t5, p5) hd_loop_.p6 = p6;
#define HD_FILLS_7(name, t1, p1, t2, p2, t3, p3, t4, p4, t5, p5, t6, p6, t7, p7) \
    HD_FILLS_6(name, t1, p1, t2, p2, t3, p3, t4, p4, t5, p5, t6, p6) hd_loop_.p7 = p7;
#define HD_FILLS_8(name, t1, p1, t2, p2, t3, p3, t4, p4, t5, p5, t6, p6, t7, p7, t8, p8) \
    HD_FILLS_7(name, t1, p1, t2, p2, t3, p3, t4, p4, t5, p5, t6, p6, t7, p7) hd_loop_.p8 = p8;

#define HD_FOR(index, ...) \
    HD_FOR_1_(index, HD_NAME_(__VA_ARGS__, ), __VA_ARGS__)
#define HD_FOR_1_(index, name, ...) HD_FOR_2_(index, name, __VA_ARGS__)
#define HD_FOR_2_(index, name, ...) \
    struct hd_loop_##name { \
        struct hd_cutoff hd_cutoff_; \
        HD_LIST_(FIELDS, __VA_ARGS__) \
    }; \
    static inline void hd_item_##name( \
        struct hd_worker *worker, size_t index HD_LIST_(PARAMS, __VA_ARGS__)); \
    HD_VOID_TASK(hd_range_##name, struct hd_loop_##name *, hd_loop_, size_t, \
                 hd_begin_, size_t, hd_end_) \
    { \
        size_t hd_items_ = hd_end_ - hd_begin_; \
        if (!hd_cutoff_met(&hd_loop_->hd_cutoff_, hd_items_)) { \
            size_t hd_middle_ = hd_begin_ + hd_items_ / 2; \
            hd_spawn(worker, hd_range_##name, hd_loop_, hd_middle_, hd_end_); \
            hd_call(worker, hd_range_##name, hd_loop_, hd_begin_, hd_middle_); \
            hd_join(worker, hd_range_##name); \
            return; \
        } \
        uint64_t hd_began_ = hd_cutoff_leaf(&hd_loop_->hd_cutoff_, worker); \
        if (!hd_began_) \
            return; \
        struct hd_loop_##name hd_copy_ = *hd_loop_; \
        struct hd_loop_##name *hd_args_ = &hd_copy_; \
        (void)hd_args_; \
        for (size_t hd_i_ = hd_begin_; hd_i_ < hd_end_; hd_i_++) \
            hd_item_##name(worker, hd_i_ HD_LIST_(LOADS, __VA_ARGS__)); \
        hd_cutoff_learn(&hd_loop_->hd_cutoff_, hd_began_, hd_items_); \
    } \
    HD_INLINE_ void hd_for_##name(struct hd_worker *worker, size_t hd_begin_, \
                                  size_t hd_end_ HD_LIST_(PARAMS, __VA_ARGS__)) \
    { \
        static size_t hd_learned_; \
        struct hd_loop_##name hd_loop_; \
        if (hd_begin_ >= hd_end_) \
            return; \
        HD_LIST_(FILLS, __VA_ARGS__) \
        hd_cutoff_recall_(&hd_loop_.hd_cutoff_, worker, &hd_learned_); \
        for (size_t hd_i_ = hd_begin_, hd_part_; hd_i_ < hd_end_; \
             hd_i_ = hd_part_) { \
            hd_part_ = hd_cutoff_part_(&hd_loop_.hd_cutoff_, hd_begin_, hd_i_, \
                                       hd_end_); \
            hd_call(worker, hd_range_##name, &hd_loop_, hd_i_, hd_part_); \
        } \
        hd_cutoff_keep_(&hd_loop_.hd_cutoff_, &hd_learned_); \
    } \
    static inline void hd_item_##name( \
        __attribute__((unused)) struct hd_worker *worker, \
        __attribute__((unused)) size_t index HD_LIST_(PARAMS, __VA_ARGS__))

#define HD_REDUCE(result, combine, index, ...) \
    HD_REDUCE_1_(result, combine, index, HD_NAME_(__VA_ARGS__, ), __VA_ARGS__)
#define HD_REDUCE_1_(result, combine, index, name, ...) \
    HD_REDUCE_2_(result, combine, index, name, __VA_ARGS__)
#define HD_REDUCE_2_(result, combine, index, name, ...) \
    struct hd_loop_##name { \
        struct hd_cutoff hd_cutoff_; \
        result hd_neutral_; \
        HD_LIST_(FIELDS, __VA_ARGS__) \
    }; \
    static inline result hd_item_##name( \
        struct hd_worker *worker, size_t index HD_LIST_(PARAMS, __VA_ARGS__)); \
    HD_TASK(result, hd_range_##name, struct hd_loop_##name *, hd_loop_, size_t, \
            hd_begin_, size_t, hd_end_) \
    { \
        size_t hd_items_ = hd_end_ - hd_begin_; \
        result hd_value_; \
        if (!hd_cutoff_met(&hd_loop_->hd_cutoff_, hd_items_)) { \
            size_t hd_middle_ = hd_begin_ + hd_items_ / 2; \
            hd_spawn(worker, hd_range_##name, hd_loop_, hd_middle_, hd_end_); \
            hd_value_ = hd_call(worker, hd_range_##name, hd_loop_, hd_begin_, \
                                hd_middle_); \
            result hd_rest_ = hd_join(worker, hd_range_##name); \
            return combine(hd_value_, hd_rest_); \
        } \
        struct hd_loop_##name hd_copy_ = *hd_loop_; \
        struct hd_loop_##name *hd_args_ = &hd_copy_; \
        (void)hd_args_; \
        hd_value_ = hd_copy_.hd_neutral_; \
        uint64_t hd_began_ = hd_cutoff_leaf(&hd_loop_->hd_cutoff_, worker); \
        if (!hd_began_) \
            return hd_value_; \
        for (size_t hd_i_ = hd_begin_; hd_i_ < hd_end_; hd_i_++) { \
            result hd_one_ = \
                hd_item_##name(worker, hd_i_ HD_LIST_(LOADS, __VA_ARGS__)); \
            hd_value_ = combine(hd_value_, hd_one_); \
        } \
        hd_cutoff_learn(&hd_loop_->hd_cutoff_, hd_began_, hd_items_); \
        return hd_value_; \
    } \
    HD_INLINE_ result hd_reduce_##name( \
        struct hd_worker *worker, result hd_neutral_, size_t hd_begin_, \
        size_t hd_end_ HD_LIST_(PARAMS, __VA_ARGS__)) \
    { \
        static size_t hd_learned_; \
        struct hd_loop_##name hd_loop_; \
        result hd_value_ = hd_neutral_; \
        if (hd_begin_ >= hd_end_) \
            return hd_value_; \
        hd_loop_.hd_neutral_ = hd_neutral_; \
        HD_LIST_(FILLS, __VA_ARGS__) \
        hd_cutoff_recall_(&hd_loop_.hd_cutoff_, worker, &hd_learned_); \
        for (size_t hd_i_ = hd_begin_, hd_part_; hd_i_ < hd_end_; \
             hd_i_ = hd_part_) { \
            hd_part_ = hd_cutoff_part_(&hd_loop_.hd_cutoff_, hd_begin_, hd_i_, \
                                       hd_end_); \
            result hd_more_ = hd_call(worker, hd_range_##name, &hd_loop_, \
                                      hd_i_, hd_part_); \
            hd_value_ = combine(hd_value_, hd_more_); \
        } \
        hd_cutoff_keep_(&hd_loop_.hd_cutoff_, &hd_learned_); \
        return hd_value_; \
    } \
    static inline result hd_item_##name( \
        __attribute__((unused)) struct hd_worker *worker, \
        __attribute__((unused)) size_t index HD_LIST_(PARAMS, __VA_ARGS__))

#define hd_for(worker, name, ...)    HD_CAT_(hd_for_, name)(worker, __VA_ARGS__)
#define hd_reduce(worker, name, ...) \
    HD_CAT_(hd_reduce_, name)(worker, __VA_ARGS__)

// Types and names of the parameters for another list.
#define HD_TYPED_0(name)
#define HD_TYPED_1(name, ...) , __VA_ARGS__
#define HD_TYPED_2(name, ...) , __VA_ARGS__
#define HD_TYPED_3(name, ...) , __VA_ARGS__
#define HD_TYPED_4(name, ...) , __VA_ARGS__
#define HD_TYPED_5(name, ...) , __VA_ARGS__
#define HD_TYPED_6(name, ...) , __VA_ARGS__

// Somebody asks for work: half of the items that are left become a task, and
// again half of the rest as long as the request stands. That is rare, and kept
// out of the loop so that the compiler sees a plain one, which it may inline
// into itself. A cancelled loop is asked too, and ends here.
#define HD_COLD_ __attribute__((noinline, cold)) static

// An item, and the look whether there are any, are part of the loop. Compilers
// inline so many calls of a recursion into itself (GCC: 8 deep), and count each
// function on the way: with three of ours at every level, plain code went eight
// levels deep and this two. Debuggers see them all without optimisation.
#ifdef __OPTIMIZE__
#define HD_ITEM_ __attribute__((unused, always_inline)) static inline
#else
#define HD_ITEM_ HD_INLINE_
#endif

#define HD_GATHER(result, combine, neutral, index, ...) \
    HD_GATHER_1_(result, combine, neutral, index, HD_NAME_(__VA_ARGS__, ), \
                 __VA_ARGS__)
#define HD_GATHER_1_(result, combine, neutral, index, name, ...) \
    HD_GATHER_2_(result, combine, neutral, index, name, __VA_ARGS__)
#define HD_GATHER_2_(result, combine, neutral, index, name, ...) \
    HD_ITEM_ result hd_item_##name( \
        struct hd_worker *worker, size_t index HD_LIST_(PARAMS, __VA_ARGS__)); \
    HD_TASK_DECLARE(static inline, result, hd_some_##name, size_t, hd_i_, size_t, \
                    hd_end_ HD_LIST_(TYPED, __VA_ARGS__)); \
    HD_ITEM_ result hd_gather_##name(struct hd_worker *worker, size_t hd_i_, \
                                       size_t hd_end_ HD_LIST_(PARAMS, __VA_ARGS__)) \
    { \
        return __builtin_expect(hd_i_ < hd_end_, 1) \
                   ? hd_call(worker, hd_some_##name, hd_i_, \
                             hd_end_ HD_LIST_(NAMES, __VA_ARGS__)) \
                   : neutral; \
    } \
    HD_COLD_ result hd_divide_##name(struct hd_worker *worker, size_t hd_i_, \
                                     size_t hd_end_ HD_LIST_(PARAMS, __VA_ARGS__)) \
    { \
        if (hd_cancelled(worker)) \
            return neutral; \
        if (hd_end_ - hd_i_ == 1) \
            return hd_item_##name(worker, hd_i_ HD_LIST_(NAMES, __VA_ARGS__)); \
        size_t hd_middle_ = hd_end_ - (hd_end_ - hd_i_) / 2; \
        hd_spawn(worker, hd_some_##name, hd_middle_, \
                 hd_end_ HD_LIST_(NAMES, __VA_ARGS__)); \
        result hd_value_ = hd_some_##name( \
            worker, hd_i_, hd_middle_ HD_LIST_(NAMES, __VA_ARGS__)); \
        result hd_rest_ = hd_join(worker, hd_some_##name); \
        return combine(hd_value_, hd_rest_); \
    } \
    HD_TASK_DEFINE(static inline, result, hd_some_##name, size_t, hd_i_, size_t, \
                   hd_end_ HD_LIST_(TYPED, __VA_ARGS__)) \
    { \
        result hd_value_ = neutral; \
        do { \
            if (hd_is_asked_(worker)) { \
                result hd_rest_ = hd_divide_##name( \
                    worker, hd_i_, hd_end_ HD_LIST_(NAMES, __VA_ARGS__)); \
                return combine(hd_value_, hd_rest_); \
            } \
            result hd_one_ = \
                hd_item_##name(worker, hd_i_ HD_LIST_(NAMES, __VA_ARGS__)); \
            hd_value_ = combine(hd_value_, hd_one_); \
        } while (++hd_i_ < hd_end_); \
        return hd_value_; \
    } \
    HD_ITEM_ result hd_item_##name( \
        __attribute__((unused)) struct hd_worker *worker, \
        __attribute__((unused)) size_t index HD_LIST_(PARAMS, __VA_ARGS__))

#define HD_EACH(index, ...) \
    HD_EACH_1_(index, HD_NAME_(__VA_ARGS__, ), __VA_ARGS__)
#define HD_EACH_1_(index, name, ...) HD_EACH_2_(index, name, __VA_ARGS__)
#define HD_EACH_2_(index, name, ...) \
    HD_ITEM_ void hd_item_##name( \
        struct hd_worker *worker, size_t index HD_LIST_(PARAMS, __VA_ARGS__)); \
    HD_VOID_TASK_DECLARE(static inline, hd_some_##name, size_t, hd_i_, size_t, \
                         hd_end_ HD_LIST_(TYPED, __VA_ARGS__)); \
    HD_ITEM_ void hd_each_##name(struct hd_worker *worker, size_t hd_i_, \
                                   size_t hd_end_ HD_LIST_(PARAMS, __VA_ARGS__)) \
    { \
        if (__builtin_expect(hd_i_ < hd_end_, 1)) \
            hd_call(worker, hd_some_##name, hd_i_, \
                    hd_end_ HD_LIST_(NAMES, __VA_ARGS__)); \
    } \
    HD_COLD_ void hd_divide_##name(struct hd_worker *worker, size_t hd_i_, \
                                   size_t hd_end_ HD_LIST_(PARAMS, __VA_ARGS__)) \
    { \
        if (hd_cancelled(worker)) \
            return; \
        if (hd_end_ - hd_i_ == 1) { \
            hd_item_##name(worker, hd_i_ HD_LIST_(NAMES, __VA_ARGS__)); \
            return; \
        } \
        size_t hd_middle_ = hd_end_ - (hd_end_ - hd_i_) / 2; \
        hd_spawn(worker, hd_some_##name, hd_middle_, \
                 hd_end_ HD_LIST_(NAMES, __VA_ARGS__)); \
        hd_call(worker, hd_some_##name, hd_i_, \
                hd_middle_ HD_LIST_(NAMES, __VA_ARGS__)); \
        hd_join(worker, hd_some_##name); \
    } \
    HD_VOID_TASK_DEFINE(static inline, hd_some_##name, size_t, hd_i_, size_t, \
                        hd_end_ HD_LIST_(TYPED, __VA_ARGS__)) \
    { \
        do { \
            if (hd_is_asked_(worker)) { \
                hd_divide_##name(worker, hd_i_, \
                                 hd_end_ HD_LIST_(NAMES, __VA_ARGS__)); \
                return; \
            } \
            hd_item_##name(worker, hd_i_ HD_LIST_(NAMES, __VA_ARGS__)); \
        } while (++hd_i_ < hd_end_); \
    } \
    HD_ITEM_ void hd_item_##name( \
        __attribute__((unused)) struct hd_worker *worker, \
        __attribute__((unused)) size_t index HD_LIST_(PARAMS, __VA_ARGS__))

#define hd_gather(worker, name, ...) \
    HD_CAT_(hd_gather_, name)(worker, __VA_ARGS__)
#define hd_each(worker, name, ...) \
    HD_CAT_(hd_each_, name)(worker, __VA_ARGS__)

#define HD_DIVISIBLE(name, type, is_leaf, divide, run) \
    HD_VOID_TASK(name, type, hd_task_) \
    { \
        type hd_part_[HD_MAX_PARTS]; \
        if (is_leaf(worker, &hd_task_)) { \
            run(worker, &hd_task_); \
            return; \
        } \
        unsigned hd_parts_ = divide(worker, &hd_task_, hd_part_); \
        for (unsigned hd_i_ = hd_parts_; hd_i_-- > 0;) \
            hd_spawn(worker, name, hd_part_[hd_i_]); \
        for (unsigned hd_i_ = 0; hd_i_ < hd_parts_; hd_i_++) \
            hd_join(worker, name); \
    } \
    HD_STATIC_ASSERT_(sizeof(type) <= HD_TASK_DATA_, \
                      "a divisible task fits 48 bytes")
// clang-format on

#endif
