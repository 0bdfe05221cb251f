// Invariant: entries are sorted by nothing and found by open addressing; a slot
// is 0 or the index of an entry, plus 1. An entry is what the file said when it
// was read last, and `fresh` what was measured since.
#include "graph/model/feedback.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"

static const char note_name[] = "passes";

// VERSION: of the file; another one is as good as none. With a MEMORY of n a
// change of what a pass takes is known to two thirds after n runs; less, and
// one bad run counts for much.
enum {
    VERSION = 2,
    MEMORY = 16 // runs that are remembered; older ones fade
};

// In the file, in this machine's byte order: it is for this machine alone.
//
// Without padding. `variance` is that of the time, [ns^2].
struct record {
    struct hdi_feedback_key key;
    double time, variance, busy, bandwidth, memory, steps;
    uint64_t last; // [s since 1970]
    uint32_t runs, unused;
};

struct head {
    char magic[8];
    uint32_t version, count;
};

static const char magic[8] = "hdpasses";

// `record` has learned from `fresh` too, so this process sees its own runs at
// once. When it saves, `fresh` is learned once more, on top of what the file
// says by then, and dropped.
struct entry {
    struct record record;
    struct hdi_measure *fresh;
    uint32_t fresh_count, fresh_capacity;
};

// Owned by a runtime, shared by all its graphs; everything is guarded by
// `lock`. `loaded`: the file was read, or there is none. `changed`: something
// is fresh.
struct hdi_feedback {
    struct hdi_cache *cache;
    pthread_mutex_t lock;
    struct entry *entries;
    uint32_t count, capacity;
    uint32_t *slots; // of a power of 2, at least twice the entries
    uint32_t slot_count;
    bool loaded, changed;
};

// Keys ------------------------------------------------------------------------

struct hdi_feedback_key hdi_feedback_key(const char *device)
{
    struct hdi_feedback_key key = {
        {UINT64_C(0xcbf29ce484222325), UINT64_C(0x84222325cbf29ce4)}};

    hdi_feedback_mix(&key, device, strlen(device) + 1);
    return key;
}

// Two FNV-1a sums from different beginnings, the second over each byte's
// complement.
void hdi_feedback_mix(struct hdi_feedback_key *key, const void *data,
                      size_t size)
{
    const unsigned char *bytes = data;

    for (size_t i = 0; i < size; i++) {
        key->hash[0] = (key->hash[0] ^ bytes[i]) * UINT64_C(0x100000001b3);
        key->hash[1] =
            (key->hash[1] ^ (bytes[i] ^ 0xffU)) * UINT64_C(0x10000000233);
    }
}

// The table -------------------------------------------------------------------

static bool same(const struct hdi_feedback_key *a,
                 const struct hdi_feedback_key *b)
{
    return a->hash[0] == b->hash[0] && a->hash[1] == b->hash[1];
}

// The slot where the key is or would go.
//
// There is an empty one, as at most half of them are taken.
static uint32_t *find_slot(struct hdi_feedback *f,
                           const struct hdi_feedback_key *key)
{
    uint32_t at = (uint32_t)(key->hash[0] ^ key->hash[0] >> 32);

    for (;; at++) {
        uint32_t *slot = &f->slots[at & (f->slot_count - 1)];
        if (*slot == 0 || same(&f->entries[*slot - 1].record.key, key))
            return slot;
    }
}

static void index_entries(struct hdi_feedback *f)
{
    memset(f->slots, 0, f->slot_count * sizeof(*f->slots));
    for (uint32_t i = 0; i < f->count; i++)
        *find_slot(f, &f->entries[i].record.key) = i + 1;
}

// Entries may move. False without memory: what is there stays usable.
static bool make_room(struct hdi_feedback *f, uint32_t count)
{
    if (count > f->capacity) {
        uint32_t capacity = f->capacity ? f->capacity : 64;
        while (capacity < count)
            capacity *= 2;
        struct entry *entries =
            realloc(f->entries, capacity * sizeof(*entries));
        if (!entries)
            return false;
        f->entries = entries;
        f->capacity = capacity;
    }
    if (2 * f->capacity > f->slot_count) {
        uint32_t *slots = calloc(2 * (size_t)f->capacity, sizeof(*slots));
        if (!slots)
            return false;
        free(f->slots);
        f->slots = slots;
        f->slot_count = 2 * f->capacity;
        index_entries(f);
    }
    return true;
}

// The entry of a key, made when there is none; NULL: no memory.
static struct entry *find_entry(struct hdi_feedback *f,
                                const struct hdi_feedback_key *key)
{
    if (!make_room(f, f->count + 1))
        return NULL;
    uint32_t *slot = find_slot(f, key);
    if (*slot == 0) {
        f->entries[f->count] = (struct entry){.record = {.key = *key}};
        *slot = ++f->count;
    }
    return &f->entries[*slot - 1];
}

static void clear(struct hdi_feedback *f)
{
    for (uint32_t i = 0; i < f->count; i++)
        free(f->entries[i].fresh);
    f->count = 0;
    if (f->slots)
        memset(f->slots, 0, f->slot_count * sizeof(*f->slots));
}

// The file --------------------------------------------------------------------

// A number that is none would spoil every mean that it comes into.
static bool is_sane(const struct record *r)
{
    return r->runs > 0 && isfinite(r->time) && r->time >= 0 &&
           isfinite(r->variance) && r->variance >= 0 && isfinite(r->busy) &&
           r->busy >= 0 && isfinite(r->bandwidth) && r->bandwidth >= 0 &&
           isfinite(r->memory) && r->memory >= 0 && isfinite(r->steps) &&
           r->steps >= 0;
}

// Add the records of the file to `f`, which has none. False without memory.
//
// What does not fit the head is ignored; records are checked one by one.
static bool load(struct hdi_feedback *f)
{
    struct hdi_text text = {0};
    struct head head;
    bool good = true;

    if (f->cache && hdi_cache_read_note(f->cache, note_name, &text) &&
        text.size >= sizeof(head)) {
        memcpy(&head, text.data, sizeof(head));
        size_t room = (text.size - sizeof(head)) / sizeof(struct record);
        if (memcmp(head.magic, magic, sizeof(magic)) != 0 ||
            head.version != VERSION || head.count > room)
            head.count = 0;
        good = make_room(f, head.count + 1);
        for (uint32_t i = 0; i < head.count && good; i++) {
            struct record record;
            memcpy(&record, text.data + sizeof(head) + i * sizeof(record),
                   sizeof(record));
            struct entry *entry =
                is_sane(&record) ? find_entry(f, &record.key) : NULL;
            if (entry)
                entry->record = record;
        }
    }
    hdi_text_free(&text);
    return good;
}

static int newer_first(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    return (x->record.last < y->record.last) -
           (x->record.last > y->record.last);
}

// Whole or not at all: the cache writes beside and renames. Sorting puts
// entries elsewhere, so they are indexed anew.
static bool store(struct hdi_feedback *f)
{
    struct hdi_text text = {0};
    struct head head = {.version = VERSION};

    if (f->count > HDI_FEEDBACK_MAX) {
        qsort(f->entries, f->count, sizeof(*f->entries), newer_first);
        while (f->count > HDI_FEEDBACK_MAX)
            free(f->entries[--f->count].fresh);
        index_entries(f);
    }
    memcpy(head.magic, magic, sizeof(magic));
    head.count = f->count;
    hdi_text_append(&text, &head, sizeof(head));
    for (uint32_t i = 0; i < f->count; i++)
        hdi_text_append(&text, &f->entries[i].record, sizeof(struct record));
    bool good = !text.failed &&
                hdi_cache_write_note(f->cache, note_name, text.data, text.size);
    hdi_text_free(&text);
    return good;
}

// Learning --------------------------------------------------------------------

// Means in which a run counts for 1 / MEMORY at least (West, 1979, for the
// variance).
static void learn(struct record *r, const struct hdi_measure *m)
{
    if (m->steps > 0 && r->steps > 0) {
        double more = (double)m->steps / r->steps;
        r->time *= more;
        r->variance *= more * more;
        r->busy *= more;
    }
    r->steps = (double)m->steps;
    r->runs += r->runs < UINT32_MAX;
    double share = 1.0 / (r->runs < MEMORY ? r->runs : MEMORY);
    double off = (double)m->time - r->time;
    double bandwidth =
        m->time > 0 ? (double)m->bytes * 1e9 / (double)m->time : 0;

    r->time += share * off;
    r->variance = (1 - share) * (r->variance + share * off * off);
    r->busy += share * ((double)m->busy - r->busy);
    r->bandwidth += share * (bandwidth - r->bandwidth);
    r->memory += share * ((double)m->memory - r->memory);
    r->last = (uint64_t)time(NULL);
}

// When something is asked for the first time: programs without graphs do not
// read it. Without memory it is tried again.
static void load_once(struct hdi_feedback *f)
{
    if (!f->loaded)
        f->loaded = load(f);
}

struct hdi_feedback *hdi_feedback_open(struct hdi_cache *cache)
{
    struct hdi_feedback *f = calloc(1, sizeof(*f));
    if (!f)
        return NULL;
    if (pthread_mutex_init(&f->lock, NULL) != 0) {
        free(f);
        return NULL;
    }
    f->cache = cache;
    return f;
}

void hdi_feedback_close(struct hdi_feedback *feedback)
{
    if (!feedback)
        return;
    hdi_feedback_save(feedback);
    clear(feedback);
    free(feedback->entries);
    free(feedback->slots);
    pthread_mutex_destroy(&feedback->lock);
    free(feedback);
}

bool hdi_feedback_find(struct hdi_feedback *feedback,
                       const struct hdi_feedback_key *key,
                       struct hdi_experience *experience)
{
    pthread_mutex_lock(&feedback->lock);
    load_once(feedback);
    uint32_t *slot = feedback->slot_count ? find_slot(feedback, key) : NULL;
    const struct record *r =
        slot && *slot ? &feedback->entries[*slot - 1].record : NULL;
    if (r)
        *experience = (struct hdi_experience){.time = r->time,
                                              .deviation = sqrt(r->variance),
                                              .busy = r->busy,
                                              .bandwidth = r->bandwidth,
                                              .memory = r->memory,
                                              .steps = r->steps,
                                              .runs = r->runs,
                                              .last = r->last};
    pthread_mutex_unlock(&feedback->lock);
    return r != NULL;
}

// Learned from at once; the measure itself is kept for the file, the newest
// MEMORY of them.
void hdi_feedback_add(struct hdi_feedback *feedback,
                      const struct hdi_feedback_key *key,
                      const struct hdi_measure *measure)
{
    pthread_mutex_lock(&feedback->lock);
    load_once(feedback);
    struct entry *entry = find_entry(feedback, key);
    if (entry) {
        learn(&entry->record, measure);
        feedback->changed = true;
        // More than are remembered need not be kept for the file.
        if (entry->fresh_count == MEMORY)
            memmove(entry->fresh, entry->fresh + 1,
                    --entry->fresh_count * sizeof(*entry->fresh));
        if (entry->fresh_count == entry->fresh_capacity) {
            uint32_t capacity =
                entry->fresh_capacity ? 2 * entry->fresh_capacity : 1;
            struct hdi_measure *fresh =
                realloc(entry->fresh, capacity * sizeof(*fresh));
            if (fresh) {
                entry->fresh = fresh;
                entry->fresh_capacity = capacity;
            }
        }
        if (entry->fresh_count < entry->fresh_capacity)
            entry->fresh[entry->fresh_count++] = *measure;
    }
    pthread_mutex_unlock(&feedback->lock);
}

// What the file holds by now, and what this process has measured, become the
// entries.
//
// Into a table of its own first, so that a failure changes nothing.
static bool merge(struct hdi_feedback *f)
{
    struct hdi_feedback now = {.cache = f->cache};
    bool good = load(&now);

    for (uint32_t i = 0; i < f->count && good; i++) {
        struct entry *mine = &f->entries[i];
        if (mine->fresh_count == 0)
            continue;
        struct entry *entry = find_entry(&now, &mine->record.key);
        good = entry != NULL;
        for (uint32_t k = 0; k < mine->fresh_count && good; k++)
            learn(&entry->record, &mine->fresh[k]);
    }
    good = good && store(&now);
    if (good) {
        clear(f);
        free(f->entries);
        free(f->slots);
        f->entries = now.entries;
        f->slots = now.slots;
        f->count = now.count;
        f->capacity = now.capacity;
        f->slot_count = now.slot_count;
    } else {
        clear(&now);
        free(now.entries);
        free(now.slots);
    }
    return good;
}

// A lock between processes is held meanwhile: none reads what another is about
// to replace. Where it cannot be had, it is tried with the next save.
void hdi_feedback_save(struct hdi_feedback *feedback)
{
    pthread_mutex_lock(&feedback->lock);
    if (feedback->changed && feedback->cache) {
        int lock = hdi_cache_lock(feedback->cache, note_name);
        if (lock >= 0) {
            feedback->changed = !merge(feedback);
            hdi_cache_unlock(lock);
        }
    }
    pthread_mutex_unlock(&feedback->lock);
}
