// A plan in a file, a note of the cache of compiled kernels:
//
//     | head | order: passes x uint32_t | offset: items x uint64_t |
//
// The cache adds a digest, so what is damaged is not read. Whether the plan is
// right for a graph is checked by who asks: keys are hashes.
#include "graph/arena/recall.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

// Another number, and all plans there are count as none.
enum {
    VERSION = 1
};

// In the file, in this machine's byte order: it is for this machine alone.
//
// Without padding: it is compared as bytes.
struct head {
    char magic[8];
    uint32_t version, passes, items, unused;
    struct hdi_feedback_key key;
    uint64_t height;
};

static const char magic[8] = "hdplans";

struct note_name {
    char text[32];
};

static struct note_name name_of(const struct hdi_feedback_key *key)
{
    struct note_name name;

    snprintf(name.text, sizeof(name.text), "plan%02u",
             (unsigned)(key->hash[0] % HDI_RECALL_PLANS));
    return name;
}

static struct head head_of(const struct hdi_feedback_key *key,
                           const struct hdi_recalled_plan *plan)
{
    struct head head = {.version = VERSION,
                        .passes = plan->passes,
                        .items = plan->items,
                        .key = *key,
                        .height = plan->height};

    memcpy(head.magic, magic, sizeof(magic));
    return head;
}

static size_t size_of(const struct hdi_recalled_plan *plan)
{
    return sizeof(struct head) + plan->passes * sizeof(*plan->order) +
           plan->items * sizeof(*plan->offset);
}

// All of the head must be as wanted but for the height, which is found there.
// Arrays are filled only if it is.
bool hdi_recall_find(struct hdi_cache *cache,
                     const struct hdi_feedback_key *key,
                     struct hdi_recalled_plan *plan)
{
    struct note_name name = name_of(key);
    struct hdi_text text = {0};
    struct head head, wanted = head_of(key, plan);

    bool found = cache && hdi_cache_read_note(cache, name.text, &text) &&
                 text.size == size_of(plan);
    if (found) {
        memcpy(&head, text.data, sizeof(head));
        wanted.height = head.height;
        found = memcmp(&head, &wanted, sizeof(head)) == 0;
    }
    if (found) {
        const char *at = text.data + sizeof(head);
        plan->height = head.height;
        memcpy(plan->order, at, plan->passes * sizeof(*plan->order));
        at += plan->passes * sizeof(*plan->order);
        memcpy(plan->offset, at, plan->items * sizeof(*plan->offset));
    }
    hdi_text_free(&text);
    return found;
}

// Written to another name first and then renamed, by the cache, so readers find
// a whole one.
void hdi_recall_keep(struct hdi_cache *cache,
                     const struct hdi_feedback_key *key,
                     const struct hdi_recalled_plan *plan)
{
    struct note_name name = name_of(key);
    struct hdi_text text = {0};
    struct head head = head_of(key, plan);

    if (!cache || plan->passes > HDI_RECALL_PASSES ||
        plan->items > HDI_RECALL_ITEMS)
        return;
    hdi_text_append(&text, &head, sizeof(head));
    hdi_text_append(&text, plan->order, plan->passes * sizeof(*plan->order));
    hdi_text_append(&text, plan->offset, plan->items * sizeof(*plan->offset));
    if (!text.failed)
        hdi_cache_write_note(cache, name.text, text.data, text.size);
    hdi_text_free(&text);
}
