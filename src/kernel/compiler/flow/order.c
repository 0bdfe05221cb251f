// Loops are found from dominators. Then the blocks are sorted level by level,
// a loop standing for its blocks, the way begun last being finished first.
#include "kernel/compiler/flow/order.h"

#include "kernel/compiler/flow/dominators.h"

#include <stdlib.h>
#include <string.h>

struct sorter {
    const struct hdi_flow *flow;
    struct hdi_block_order *order;
    const size_t *blocks; // by number: the rest here is in numbers
    size_t count, words;
    size_t *number; // per block of the kernel
    struct hdi_dominators dominators;
    uint64_t *loops; // words per number: the loop it heads, or nothing
    size_t *sizes;   // per number: of that loop
    size_t *heads, head_count; // numbers, of loops
    bool failed;               // memory
};

static uint64_t *loop_of(const struct sorter *s, size_t head)
{
    return s->loops + head * s->words;
}

static const struct hdi_block *block_of(const struct sorter *s, size_t n)
{
    return &s->flow->blocks[s->blocks[n]];
}

static unsigned successors_of(const struct sorter *s, size_t n)
{
    return block_of(s, n)->cut ? 0 : block_of(s, n)->successor_count;
}

static size_t successor(const struct sorter *s, size_t n, unsigned i)
{
    return s->number[block_of(s, n)->successors[i]];
}

static bool find_dominators(struct sorter *s)
{
    size_t most = 1, count = 0;

    for (size_t n = 0; n < s->count; n++)
        most += successors_of(s, n);
    struct hdi_flow_edge *edges = calloc(most, sizeof(*edges));
    if (!edges)
        return false;
    edges[count++] = (struct hdi_flow_edge){HDI_OUTSIDE, 0};
    for (size_t n = 0; n < s->count; n++)
        for (unsigned i = 0; i < successors_of(s, n); i++)
            edges[count++] = (struct hdi_flow_edge){n, successor(s, n, i)};
    bool ok = hdi_dominators_find(&s->dominators, s->count, edges, count);
    free(edges);
    return ok;
}

static bool is_back(const struct sorter *s, size_t from, size_t to)
{
    return hdi_bit(hdi_dominators_of(&s->dominators, from), to);
}

// The heads, and of their loops the blocks that end them.
static void find_heads(struct sorter *s)
{
    for (size_t n = 0; n < s->count; n++)
        for (unsigned i = 0; i < successors_of(s, n); i++) {
            size_t head = successor(s, n, i);
            uint64_t *loop = loop_of(s, head);
            if (!is_back(s, n, head))
                continue;
            if (!hdi_bit(loop, head))
                s->heads[s->head_count++] = head;
            hdi_bit_set(loop, head);
            hdi_bit_set(loop, n);
        }
}

// The blocks from which a way leads back to `head` without passing it.
static void find_loop(struct sorter *s, size_t head)
{
    uint64_t *loop = loop_of(s, head);

    for (bool changed = true; changed;) {
        changed = false;
        for (size_t n = s->count; n-- > 0;)
            for (unsigned i = 0; i < successors_of(s, n); i++) {
                size_t next = successor(s, n, i);
                if (next != head && hdi_bit(loop, next) && !hdi_bit(loop, n)) {
                    hdi_bit_set(loop, n);
                    changed = true;
                }
            }
    }
    for (size_t n = 0; n < s->count; n++)
        s->sizes[head] += hdi_bit(loop, n);
}

// What stands for `n` among the blocks of the loop that `head` heads, SIZE_MAX:
// of the region: the head of the largest loop within, or itself.
static size_t standing_for(const struct sorter *s, size_t head, size_t n)
{
    size_t best = n, size = 0;

    for (size_t i = 0; i < s->head_count; i++) {
        size_t h = s->heads[i];
        if (s->sizes[h] > size && h != head && hdi_bit(loop_of(s, h), n) &&
            (head == SIZE_MAX || hdi_bit(loop_of(s, head), h))) {
            best = h;
            size = s->sizes[h];
        }
    }
    return best;
}

static bool is_within(const struct sorter *s, size_t head, size_t n)
{
    return head == SIZE_MAX || hdi_bit(loop_of(s, head), n);
}

static void append(struct sorter *s, size_t n)
{
    s->order->position[s->blocks[n]] = s->order->count;
    s->order->blocks[s->order->count++] = s->blocks[n];
}

static void sort(struct sorter *s, size_t head);

static void sort_one(struct sorter *s, size_t head, size_t n)
{
    if (s->sizes[n] == 0 || n == head) {
        append(s, n);
        return;
    }
    size_t at = s->order->count;
    sort(s, n);
    if (s->order->count == at + s->sizes[n])
        s->order->loop_end[at] = s->order->count;
}

// Put the blocks of a loop, or of the region, behind those there are already.
// A loop with two ways in leaves some out.
static void sort(struct sorter *s, size_t head)
{
    size_t *missing = calloc(3 * s->count, sizeof(*missing)), depth = 0;
    size_t *stack = missing + s->count, *stands = stack + s->count;

    if (!missing) {
        s->failed = true;
        return;
    }
    for (size_t n = 0; n < s->count; n++)
        stands[n] = is_within(s, head, n) ? standing_for(s, head, n) : SIZE_MAX;
    for (size_t n = 0; n < s->count; n++)
        for (unsigned i = 0; stands[n] != SIZE_MAX && i < successors_of(s, n);
             i++) {
            size_t next = successor(s, n, i);
            if (next != head && stands[next] != SIZE_MAX &&
                stands[next] != stands[n])
                missing[stands[next]]++;
        }
    stack[depth++] = head == SIZE_MAX ? stands[0] : head;
    while (depth > 0) {
        size_t at = stack[--depth];
        bool one = s->sizes[at] == 0 || at == head; // stands for itself only
        sort_one(s, head, at);
        for (size_t n = one ? at + 1 : s->count; n-- > (one ? at : 0);)
            for (unsigned i = successors_of(s, n);
                 stands[n] == at && i-- > 0;) {
                size_t next = successor(s, n, i);
                if (next != head && stands[next] != SIZE_MAX &&
                    stands[next] != at && --missing[stands[next]] == 0)
                    stack[depth++] = stands[next];
            }
    }
    free(missing);
}

void hdi_order_destroy(struct hdi_block_order *order)
{
    free(order->blocks);
    free(order->position);
    free(order->loop_end);
    *order = (struct hdi_block_order){0};
}

enum hdi_ordered hdi_order_find(const struct hdi_flow *flow,
                                const size_t *blocks, size_t count,
                                struct hdi_block_order *order)
{
    size_t words = count / 64 + 1;
    struct sorter s = {
        .flow = flow,
        .order = order,
        .blocks = blocks,
        .count = count,
        .words = words,
        .number = calloc(flow->block_count, sizeof(*s.number)),
        .loops = calloc(count * words, sizeof(uint64_t)),
        .sizes = calloc(count, sizeof(*s.sizes)),
        .heads = calloc(count, sizeof(*s.heads)),
    };
    *order = (struct hdi_block_order){
        .blocks = calloc(count, sizeof(*order->blocks)),
        .position = calloc(flow->block_count, sizeof(*order->position)),
        .loop_end = calloc(count, sizeof(*order->loop_end)),
    };
    enum hdi_ordered result = HDI_ORDER_NO_MEMORY;

    bool ok = s.number && s.loops && s.sizes && s.heads && order->blocks &&
              order->position && order->loop_end;

    for (size_t n = 0; ok && n < count; n++)
        s.number[blocks[n]] = n;
    if (ok && find_dominators(&s)) {
        memset(order->position, 0xff,
               flow->block_count * sizeof(*order->position));
        find_heads(&s);
        for (size_t i = 0; i < s.head_count; i++)
            find_loop(&s, s.heads[i]);
        sort(&s, SIZE_MAX);
        if (!s.failed)
            result = order->count == count ? HDI_ORDERED : HDI_ORDER_NONE;
    }
    if (result != HDI_ORDERED)
        hdi_order_destroy(order);
    free(s.heads);
    free(s.sizes);
    free(s.loops);
    hdi_dominators_destroy(&s.dominators);
    free(s.number);
    return result;
}
