// Order: whatever a pass wrote is released before its work-groups are counted
// down, and acquired by whoever claims one of a successor; read-modify-writes
// carry both along.
#include "backend/list.h"

#if defined(__NVPTX__)

static inline uint64_t add(hdi_word *word, uint64_t value)
{
    uint64_t old;
    __asm__ __volatile__("fence.acq_rel.gpu;\n\t"
                         "atom.relaxed.gpu.add.u64 %0, [%1], %2;\n\t"
                         "fence.acq_rel.gpu;"
                         : "=l"(old)
                         : "l"(word), "l"(value)
                         : "memory");
    return old;
}

static inline bool change(hdi_word *word, uint64_t from, uint64_t to)
{
    uint64_t old;
    __asm__ __volatile__("atom.relaxed.gpu.cas.b64 %0, [%1], %2, %3;"
                         : "=l"(old)
                         : "l"(word), "l"(from), "l"(to)
                         : "memory");
    return old == from;
}

static inline void settle(void)
{
    hdi_word_settle();
}

#else

static inline uint64_t add(hdi_word *word, uint64_t value)
{
    return atomic_fetch_add_explicit(word, value, memory_order_acq_rel);
}

static inline bool change(hdi_word *word, uint64_t from, uint64_t to)
{
    return atomic_compare_exchange_strong_explicit(
        word, &from, to, memory_order_acq_rel, memory_order_relaxed);
}

static inline void settle(void)
{
    atomic_thread_fence(memory_order_seq_cst);
}

#endif

static hdi_word *ready_at(const struct hdi_list *list, uint64_t entry)
{
    return (hdi_word *)(uintptr_t)list->ready + entry;
}

static uint64_t groups_of(const struct hdi_list_pass *p)
{
    return (uint64_t)p->count[0] * p->count[1] * p->count[2];
}

static const uint32_t *edges_of(const struct hdi_list *list,
                                const struct hdi_list_pass *p)
{
    return (const uint32_t *)(uintptr_t)list->edges + p->after;
}

static void push(struct hdi_list *list, uint32_t pass)
{
    uint64_t entry = add(&list->pushed, 1);

    hdi_word_release();
    hdi_word_store(ready_at(list, entry), (uint64_t)pass + 1);
}

static void set_back(struct hdi_list_pass *p)
{
    hdi_word_store(&p->waits, p->inputs);
    hdi_word_store(&p->claimed, 0);
    hdi_word_store(&p->ended, 0);
}

void hdu_list_clear(struct hdi_list *list, uint32_t rank, uint32_t cores)
{
    for (uint32_t i = rank; i < list->room; i += cores)
        hdi_word_store(ready_at(list, i), 0);
    for (uint32_t i = rank; i < list->passes_count; i += cores)
        set_back(hdi_list_at(list, i));
}

void hdu_list_begin(struct hdi_list *list)
{
    const uint32_t *sources =
        (const uint32_t *)(uintptr_t)list->edges + list->sources;

    hdi_word_store(&list->pushed, 0);
    hdi_word_store(&list->low, 0);
    hdi_word_store(&list->left, list->runs);
    hdi_word_store(&list->records, list->passes_count);
    hdi_word_store(&list->failure, 0);
    for (uint32_t i = 0; i < list->source_count; i++)
        push(list, sources[i]);
    hdi_word_release();
    hdi_word_store(&list->open, 1);
}

// Coming and going ------------------------------------------------------------

// Who comes counts itself and then looks; who closes does it the other way
// round: one sees the other.
void hdu_list_close(struct hdi_list *list)
{
    hdi_word_store(&list->open, 0);
    settle();
    while (hdi_word_load(&list->inside) > 0)
        hdu_list_pause();
    hdi_word_acquire();
}

bool hdu_list_enter(struct hdi_list *list)
{
    add(&list->inside, 1);
    settle();
    if (hdi_word_load(&list->open)) {
        hdi_word_acquire();
        return true;
    }
    hdu_list_leave(list);
    return false;
}

void hdu_list_leave(struct hdi_list *list)
{
    add(&list->inside, UINT64_MAX);
}

// Working ---------------------------------------------------------------------

static void refuse(struct hdi_list *list, uint32_t pass,
                   enum hdi_list_failure why)
{
    change(&list->failure, 0, (uint64_t)why << 32 | pass);
}

enum hdu_list_next hdu_list_claim(struct hdi_list *list, uint32_t *pass,
                                  uint64_t *group)
{
    uint64_t low = hdi_word_load(&list->low);

    if (hdi_word_load(&list->left) == 0 || hdi_word_load(&list->failure))
        return HDU_LIST_OVER;
    for (uint64_t entry = low; entry < hdi_word_load(&list->pushed); entry++) {
        uint64_t number = hdi_word_load(ready_at(list, entry));
        if (number == 0)
            continue; // it is being written
        hdi_word_acquire();
        struct hdi_list_pass *p = hdi_list_at(list, (uint32_t)number - 1);
        uint64_t groups = groups_of(p);
        if (hdi_word_load(&p->claimed) < groups) {
            uint64_t claimed = add(&p->claimed, 1);
            if (claimed == 0)
                hdi_word_store(&p->begun_at, hdu_list_now());
            if (claimed < groups) {
                *pass = (uint32_t)number - 1;
                *group = claimed;
                return HDU_LIST_GROUP;
            }
        }
        if (entry == low) {
            change(&list->low, low, low + 1);
            low++;
        }
    }
    return HDU_LIST_NOTHING;
}

// Copies of what has been asked for are there before this pass has ended, and
// what comes after it comes after these too.
static bool append(struct hdi_list *list, uint32_t pass,
                   const struct hdi_list_request *r)
{
    if (r->pass >= list->passes_count ||
        !hdi_list_at(list, r->pass)->appended) {
        refuse(list, pass, HDI_LIST_NO_PASS);
        return false;
    }
    if (r->groups[0] == 0 || r->groups[1] == 0 || r->groups[0] >> 31 ||
        r->groups[1] >> 31) {
        refuse(list, pass, HDI_LIST_NO_GROUPS);
        return false;
    }
    uint64_t record = add(&list->records, 1);
    if (record >= list->room) {
        refuse(list, pass, HDI_LIST_NO_ROOM);
        return false;
    }
    const struct hdi_list_pass *from = hdi_list_at(list, r->pass);
    struct hdi_list_pass *to = hdi_list_at(list, (uint32_t)record);
    to->shape = from->shape;
    to->args = from->args;
    to->entry = from->entry;
    to->dims = from->dims;
    to->requests = from->requests;
    to->inputs = 0;
    to->after = hdi_list_at(list, pass)->after;
    to->after_count = hdi_list_at(list, pass)->after_count;
    for (unsigned d = 0; d < 3; d++) {
        to->first[d] = 0;
        to->count[d] = d < 2 ? r->groups[d] : 1;
        to->shape.group_count[d] = to->count[d];
        to->shape.global[d] = (uint64_t)to->count[d] * to->shape.local_size[d];
    }
    set_back(to);
    for (uint32_t i = 0; i < to->after_count; i++)
        add(&hdi_list_at(list, edges_of(list, to)[i])->waits, 1);
    add(&list->left, 1);
    push(list, (uint32_t)record);
    return true;
}

static void append_all(struct hdi_list *list, uint32_t pass)
{
    struct hdi_list_requests *r =
        (struct hdi_list_requests *)(uintptr_t)hdi_list_at(list, pass)
            ->requests;
    uint32_t count = r->count;

    if (count > list->requests_room) {
        refuse(list, pass, HDI_LIST_NO_ROOM);
        count = 0;
    }
    for (uint32_t i = 0; i < count; i++)
        if (!append(list, pass, &r->at[i]))
            break;
    r->count = 0;
}

void hdu_list_end(struct hdi_list *list, uint32_t pass)
{
    struct hdi_list_pass *p = hdi_list_at(list, pass);
    const uint32_t *after = edges_of(list, p);

    bool last = add(&p->ended, 1) + 1 == groups_of(p);
    add(&list->progress, 1);
    if (!last)
        return;
    hdi_word_store(&p->ended_at, hdu_list_now());
    if (p->requests)
        append_all(list, pass);
    for (uint32_t i = 0; i < p->after_count; i++)
        if (add(&hdi_list_at(list, after[i])->waits, UINT64_MAX) == 1)
            push(list, after[i]);
    add(&list->left, UINT64_MAX);
}
