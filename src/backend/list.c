// Order: whatever a pass wrote is released before its work-groups are counted
// down, and acquired by whoever claims one of a successor; read-modify-writes
// carry both along.
//
// A pass on its way through a run:
//
//     waits > 0         passes before it have not ended
//     waits == 0        whoever counted it down pushes it: it is in `ready`
//     claimed < groups  units take its work-groups, one number each
//     ended == groups   whoever counted that up starts what comes after it
//
// Each step has exactly one who takes it, because it is the result of a
// read-modify-write: no two units push a pass, or end it.
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
    __asm__ __volatile__("fence.acq_rel.gpu;\n\t"
                         "atom.relaxed.gpu.cas.b64 %0, [%1], %2, %3;\n\t"
                         "fence.acq_rel.gpu;"
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

// A place first, then what lies there: who looks meanwhile reads the 0 of
// hdu_list_clear() and goes on to the next entry.
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
    hdi_word_store(&p->spent, 0);
    hdi_word_store(&p->newest, 0);
    hdi_word_store(&p->next, 0);
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
}

// Coming and going ------------------------------------------------------------

enum {
    TAKEN_AWAY = 1 // no address
};

void hdu_list_show(struct hdi_list_door *door, struct hdi_list *list)
{
    change(&door->list, 0, (uint64_t)(uintptr_t)list);
}

// Who comes counts itself and then looks; who takes the list away does it the
// other way round: one sees the other. Nobody shows another list meanwhile,
// whose helpers would be waited for as well.
void hdu_list_hide(struct hdi_list_door *door, struct hdi_list *list)
{
    if (!change(&door->list, (uint64_t)(uintptr_t)list, TAKEN_AWAY))
        return;
    settle();
    while (hdi_word_load(&door->inside) > 0)
        hdu_list_pause();
    hdi_word_acquire();
    hdi_word_store(&door->list, 0);
}

struct hdi_list *hdu_list_enter(struct hdi_list_door *door)
{
    if (hdi_word_load(&door->list) <= TAKEN_AWAY)
        return NULL;
    add(&door->inside, 1);
    settle();
    uint64_t list = hdi_word_load(&door->list);
    if (list > TAKEN_AWAY) {
        hdi_word_acquire();
        return (struct hdi_list *)(uintptr_t)list;
    }
    hdu_list_leave(door);
    return NULL;
}

void hdu_list_leave(struct hdi_list_door *door)
{
    add(&door->inside, UINT64_MAX);
}

// Working ---------------------------------------------------------------------

static void refuse(struct hdi_list *list, uint32_t pass,
                   enum hdi_list_failure why)
{
    change(&list->failure, 0, (uint64_t)why << 32 | pass);
}

// Look through `ready` from the first entry that may have groups left:
//
//     ready   | given out | given out | claims left | being written | ...
//                                       ^ low                         ^ pushed
//
// `low` moves over an entry only when all of its groups are claimed, never
// back. `claimed` may exceed the groups by the units that raced for the last;
// the look before the addition keeps it from growing with every visit.
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

// Appending -------------------------------------------------------------------

static struct hdi_appends *appends_of(const struct hdi_list_pass *p)
{
    const char *args = (const char *)(uintptr_t)p->args;

    return (struct hdi_appends *)(uintptr_t) *
           (const uint64_t *)(const void *)(args + p->appends_at - 1);
}

static bool is_allowed(struct hdi_list *list, const struct hdi_list_pass *p,
                       const struct hdi_append *r)
{
    if (r->command >= p->family_count ||
        !hdi_list_at(list, p->family + r->command)->appended) {
        refuse(list, p->of, HDI_LIST_NO_PASS);
        return false;
    }
    if (!hdi_append_fits(r, hdi_list_at(list, p->family + r->command)->count)) {
        refuse(list, p->of, HDI_LIST_NO_GROUPS);
        return false;
    }
    return true;
}

// Records for all of them, or none.
static bool take_records(struct hdi_list *list, const struct hdi_list_pass *p,
                         uint32_t count, uint64_t *first)
{
    hdi_word *spent = &hdi_list_at(list, p->family)->spent;

    // Not counted up beyond what can be: it would begin again.
    if (count > p->most || add(spent, count) + count > p->most) {
        refuse(list, p->of, HDI_LIST_NO_ROOM);
        return false;
    }
    *first = add(&list->records, count);
    return true;
}

static void copy_pass(struct hdi_list *list, const struct hdi_list_pass *p,
                      const struct hdi_append *r, struct hdi_list_pass *to)
{
    const struct hdi_list_pass *from =
        hdi_list_at(list, p->family + r->command);

    to->shape = from->shape;
    to->args = from->args;
    to->entry = from->entry;
    to->dims = from->dims;
    to->of = from->of;
    to->appended = 1;
    to->family = from->family;
    to->family_count = from->family_count;
    to->most = from->most;
    to->appends_at = from->appends_at;
    to->inputs = 0;
    to->after = p->after;
    to->after_count = p->after_count;
    for (unsigned d = 0; d < 3; d++) {
        to->first[d] = from->first[d] + r->first[d];
        to->count[d] = r->count[d];
    }
    set_back(to);
}

// Ready, or after the copy before it. Copies that share a buffer of requests
// form a queue, of which `newest` is the end, as in a lock of Mellor-Crummey
// and Scott:
//
//     newest ---------------------------------.
//                                             v
//     copy 1 (runs) --next--> copy 2 --next--> copy 3
//
// Who comes puts itself in the place of `newest` and lets the one before point
// to it; there is none before: it is ready. Who ends and is `newest` still
// takes itself out (end_copy()); else one stands behind it, or is about to:
// between its two steps the pointer is 0.
static void push_copy(struct hdi_list *list, uint32_t record)
{
    const struct hdi_list_pass *p = hdi_list_at(list, record);
    hdi_word *newest = &hdi_list_at(list, p->of)->newest;
    uint64_t before = 0;

    if (p->appends_at) {
        do
            before = hdi_word_load(newest);
        while (!change(newest, before, (uint64_t)record + 1));
    }
    if (before == 0)
        push(list, record);
    else
        hdi_word_store(&hdi_list_at(list, (uint32_t)before - 1)->next,
                       (uint64_t)record + 1);
}

static void end_copy(struct hdi_list *list, uint32_t record)
{
    struct hdi_list_pass *p = hdi_list_at(list, record);
    uint64_t next;

    if (change(&hdi_list_at(list, p->of)->newest, (uint64_t)record + 1, 0))
        return;
    while ((next = hdi_word_load(&p->next)) == 0)
        hdu_list_pause();
    hdi_word_acquire();
    push(list, (uint32_t)next - 1);
}

// The counts go up before any copy is pushed: one that ended at once must not
// start what comes after this pass, nor end the run.
//
// Copies of what has been asked for are there before this pass has ended, and
// what comes after it comes after these too. The buffer is free before any of
// them begins, which may write it.
static void append_all(struct hdi_list *list, uint32_t pass)
{
    const struct hdi_list_pass *p = hdi_list_at(list, pass);
    const uint32_t *after = edges_of(list, p);
    struct hdi_appends *r = appends_of(p);
    uint32_t count = r->count;
    uint64_t first = 0;
    bool good = count == 0 || take_records(list, p, count, &first);

    for (uint32_t i = 0; i < count && good; i++)
        good = is_allowed(list, p, &r->at[i]);
    for (uint32_t i = 0; i < count && good; i++)
        copy_pass(list, p, &r->at[i], hdi_list_at(list, (uint32_t)first + i));
    r->count = 0;
    if (count == 0 || !good)
        return;
    for (uint32_t i = 0; i < p->after_count; i++)
        add(&hdi_list_at(list, after[i])->waits, count);
    add(&list->left, count);
    for (uint32_t i = 0; i < count; i++)
        push_copy(list, (uint32_t)first + i);
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
    if (p->appends_at)
        append_all(list, pass);
    for (uint32_t i = 0; i < p->after_count; i++)
        if (add(&hdi_list_at(list, after[i])->waits, UINT64_MAX) == 1)
            push(list, after[i]);
    if (p->appends_at && p->appended)
        end_copy(list, pass);
    add(&list->left, UINT64_MAX);
}
