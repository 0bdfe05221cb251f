// Invariant: only the owner of a track appends to it; blocks are never moved or
// freed before the trace is. The list of tracks and the names are guarded by
// the lock. Whoever writes the trace holds it, and sees of each track the
// records that were whole when it looked at `kept`, while its owner goes on.
#include "trace/trace.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

enum {
    BLOCK_RECORDS = 2048,    // 64 KiB
    TRACK_RECORDS = 4 << 20, // 128 MiB; more are counted, not kept
    NAME_BUCKETS = 1024
};

struct block {
    struct block *next;
    struct hdi_record records[BLOCK_RECORDS];
};

struct hdi_track {
    struct hdi_track *next;
    struct block *first, *last;
    // [records]; written by the owner. `kept` is released when a record and
    // what leads to its block are there, and acquired by who writes the trace.
    _Atomic uint64_t kept, dropped;
    uint32_t lane; // number of the track in the output
    char name[48];
    unsigned figure_count;
    struct figure {
        char name[32];
        uint64_t value;
    } figures[HDI_TRACK_FIGURES];
};

struct name {
    struct name *next; // in the same bucket
    uint32_t index;
    char text[];
};

struct hdi_trace {
    pthread_mutex_t lock;
    struct hdi_track *tracks; // newest first
    uint32_t track_count;
    struct name *buckets[NAME_BUCKETS];
    struct name **names; // by index; names[0] is NULL
    uint32_t name_count, name_capacity;
    struct hdi_track *outside; // written under the lock
    uint64_t start;            // [ns]
};

static const struct {
    const char *name, *what, *amount;
} events[] = {
#define EVENT(name, what, amount) {#name, what, amount},
#include "trace/events.def"
#undef EVENT
};

hd_status hdi_trace_create(struct hdi_trace **trace)
{
    struct hdi_trace *t = calloc(1, sizeof(*t));
    if (!t)
        return HD_ENOMEM;

    pthread_mutex_init(&t->lock, NULL);
    t->name_count = 1;
    t->start = hdi_now();
    t->outside = hdi_track_create(t, "callers");
    *trace = t;
    return HD_OK;
}

void hdi_trace_destroy(struct hdi_trace *trace)
{
    if (!trace)
        return;

    for (struct hdi_track *t = trace->tracks, *next; t; t = next) {
        next = t->next;
        for (struct block *b = t->first, *after; b; b = after) {
            after = b->next;
            free(b);
        }
        free(t);
    }
    for (uint32_t i = 1; i < trace->name_count; i++)
        free(trace->names[i]);
    free(trace->names);
    pthread_mutex_destroy(&trace->lock);
    free(trace);
}

struct hdi_track *hdi_track_create(struct hdi_trace *trace, const char *name)
{
    if (!trace)
        return NULL;

    struct hdi_track *track = calloc(1, sizeof(*track));
    if (!track) {
        hdi_warn("no memory to trace '%s'", name);
        return NULL;
    }
    snprintf(track->name, sizeof(track->name), "%s", name);
    pthread_mutex_lock(&trace->lock);
    track->lane = trace->track_count++;
    track->next = trace->tracks;
    trace->tracks = track;
    pthread_mutex_unlock(&trace->lock);
    return track;
}

static uint32_t bucket_of(const char *text)
{
    uint32_t hash = 2166136261u; // FNV-1a
    for (const char *c = text; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 16777619u;
    return hash % NAME_BUCKETS;
}

// Under the lock. 0 when there is no memory.
static uint32_t add_name(struct hdi_trace *trace, struct name **bucket,
                         const char *text)
{
    if (trace->name_count >= trace->name_capacity) {
        uint32_t capacity =
            trace->name_capacity ? 2 * trace->name_capacity : 64;
        struct name **names =
            realloc(trace->names, capacity * sizeof(struct name *));
        if (!names)
            return 0;
        trace->names = names;
        trace->name_capacity = capacity;
    }

    size_t size = strlen(text) + 1;
    struct name *name = malloc(sizeof(*name) + size);
    if (!name)
        return 0;
    memcpy(name->text, text, size);
    name->index = trace->name_count++;
    name->next = *bucket;
    *bucket = name;
    trace->names[name->index] = name;
    return name->index;
}

uint32_t hdi_trace_name(struct hdi_trace *trace, const char *name)
{
    if (!trace || !name)
        return 0;

    struct name **bucket = &trace->buckets[bucket_of(name)];
    uint32_t index = 0;

    pthread_mutex_lock(&trace->lock);
    for (struct name *n = *bucket; n && !index; n = n->next)
        if (strcmp(n->text, name) == 0)
            index = n->index;
    if (!index)
        index = add_name(trace, bucket, name);
    pthread_mutex_unlock(&trace->lock);
    return index;
}

static bool add_block(struct hdi_track *track)
{
    struct block *block = malloc(sizeof(*block));
    if (!block)
        return false;

    block->next = NULL;
    if (track->last)
        track->last->next = block;
    else
        track->first = block;
    track->last = block;
    return true;
}

void hdi_track_record(struct hdi_track *track, enum hdi_trace_event event,
                      uint64_t begin, uint64_t end, uint32_t what,
                      uint64_t amount)
{
    uint64_t kept = atomic_load_explicit(&track->kept, memory_order_relaxed);
    uint64_t place = kept % BLOCK_RECORDS;

    if (kept >= TRACK_RECORDS || (place == 0 && !add_block(track))) {
        uint64_t dropped =
            atomic_load_explicit(&track->dropped, memory_order_relaxed);
        atomic_store_explicit(&track->dropped, dropped + 1,
                              memory_order_relaxed);
        return;
    }
    track->last->records[place] = (struct hdi_record){
        .begin = begin,
        .end = end,
        .event = (uint16_t)event,
        .what = what,
        .amount = amount,
    };
    atomic_store_explicit(&track->kept, kept + 1, memory_order_release);
}

void hdi_track_set(struct hdi_track *track, const char *name, uint64_t value)
{
    if (!track)
        return;

    unsigned i = 0;
    while (i < track->figure_count && strcmp(track->figures[i].name, name) != 0)
        i++;
    if (i == HDI_TRACK_FIGURES)
        return;
    struct figure *figure = &track->figures[i];
    if (i == track->figure_count) {
        snprintf(figure->name, sizeof(figure->name), "%s", name);
        track->figure_count++;
    }
    figure->value = value;
}

void hdi_trace_outside(struct hdi_trace *trace, enum hdi_trace_event event,
                       uint64_t begin, uint32_t what, uint64_t amount)
{
    if (!trace || !trace->outside)
        return;

    uint64_t end = hdi_now();
    pthread_mutex_lock(&trace->lock);
    hdi_track_record(trace->outside, event, begin, end, what, amount);
    pthread_mutex_unlock(&trace->lock);
}

void hdi_trace_time(struct hdi_text *text, uint64_t ns)
{
    hdi_text_print(text, "%" PRIu64 ".%03u", ns / 1000, (unsigned)(ns % 1000));
}

static void print_record(const struct hdi_trace *trace,
                         const struct hdi_track *track,
                         const struct hdi_record *r, struct hdi_text *line)
{
    bool named = strcmp(events[r->event].what, "name") == 0;
    const char *name = named && r->what > 0 && r->what < trace->name_count
                           ? trace->names[r->what]->text
                           : events[r->event].name;

    hdi_text_print(line, ",\n{\"name\":");
    hdi_text_json(line, name);
    hdi_text_print(line,
                   ",\"cat\":\"%s\",\"pid\":1,\"tid\":%" PRIu32 ",\"ts\":",
                   events[r->event].name, track->lane);
    // A record from before the trace began would be a negative time.
    uint64_t begin = r->begin > trace->start ? r->begin - trace->start : 0;
    hdi_trace_time(line, begin);
    if (r->end > r->begin) {
        hdi_text_print(line, ",\"ph\":\"X\",\"dur\":");
        hdi_trace_time(line, r->end - r->begin);
    } else {
        hdi_text_print(line, ",\"ph\":\"i\",\"s\":\"t\"");
    }
    hdi_text_print(line, ",\"args\":{");
    if (!named)
        hdi_text_print(line, "\"%s\":%" PRIu32 ",", events[r->event].what,
                       r->what);
    hdi_text_print(line, "\"%s\":%" PRIu64 "}}", events[r->event].amount,
                   r->amount);
}

// As a counter event, at the time of writing.
static void print_figures(const struct hdi_trace *trace,
                          const struct hdi_track *track, struct hdi_text *line)
{
    if (track->figure_count == 0)
        return;
    hdi_text_print(line, ",\n{\"name\":");
    hdi_text_json(line, track->name);
    hdi_text_print(line,
                   ",\"cat\":\"counters\",\"ph\":\"C\",\"pid\":1,"
                   "\"tid\":%" PRIu32 ",\"ts\":",
                   track->lane);
    hdi_trace_time(line, hdi_now() - trace->start);
    hdi_text_print(line, ",\"args\":{");
    for (unsigned i = 0; i < track->figure_count; i++) {
        hdi_text_print(line, i > 0 ? "," : "");
        hdi_text_json(line, track->figures[i].name);
        hdi_text_print(line, ":%" PRIu64, track->figures[i].value);
    }
    hdi_text_print(line, "}}");
}

static void print_track(const struct hdi_trace *trace,
                        const struct hdi_track *track, struct hdi_text *line,
                        FILE *file)
{
    hdi_text_print(line,
                   ",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,"
                   "\"tid\":%" PRIu32 ",\"args\":{\"name\":",
                   track->lane);
    hdi_text_json(line, track->name);
    hdi_text_print(line, ",\"dropped\":%" PRIu64 "}}",
                   atomic_load_explicit(&track->dropped, memory_order_relaxed));
    print_figures(trace, track, line);

    uint64_t left = atomic_load_explicit(&track->kept, memory_order_acquire);
    const struct block *b = NULL;
    while (left > 0 && !line->failed) {
        b = b ? b->next : track->first;
        for (uint64_t i = 0; i < BLOCK_RECORDS && left > 0; i++, left--)
            print_record(trace, track, &b->records[i], line);
        if (!line->failed)
            fwrite(line->data, 1, line->size, file);
        line->size = 0;
    }
}

void hdi_trace_visit(struct hdi_trace *trace, enum hdi_trace_event event,
                     void (*each)(void *data, const char *track,
                                  const struct hdi_record *record),
                     void *data)
{
    if (!trace)
        return;

    pthread_mutex_lock(&trace->lock);
    for (const struct hdi_track *t = trace->tracks; t; t = t->next) {
        uint64_t left = atomic_load_explicit(&t->kept, memory_order_acquire);
        const struct block *b = NULL;
        while (left > 0) {
            b = b ? b->next : t->first;
            for (uint64_t i = 0; i < BLOCK_RECORDS && left > 0; i++, left--)
                if (b->records[i].event == event)
                    each(data, t->name, &b->records[i]);
        }
    }
    pthread_mutex_unlock(&trace->lock);
}

hd_status hdi_trace_write(struct hdi_trace *trace,
                          const struct hdi_trace_more *more, FILE *file)
{
    struct hdi_text line = {0};

    pthread_mutex_lock(&trace->lock);
    fprintf(file, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
                  "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,"
                  "\"args\":{\"name\":\"heddle\"}}");
    for (const struct hdi_track *t = trace->tracks; t; t = t->next) {
        uint64_t dropped =
            atomic_load_explicit(&t->dropped, memory_order_relaxed);
        if (dropped > 0)
            hdi_warn("the trace of '%s' misses %" PRIu64 " events", t->name,
                     dropped);
        print_track(trace, t, &line, file);
        if (!line.failed && line.size > 0)
            fwrite(line.data, 1, line.size, file);
        line.size = 0;
    }
    if (more)
        more->events(more->data, trace->start, &line);
    hdi_text_print(&line, "\n]");
    if (more)
        more->members(more->data, &line);
    hdi_text_print(&line, "}\n");
    if (!line.failed)
        fwrite(line.data, 1, line.size, file);
    pthread_mutex_unlock(&trace->lock);

    bool failed = line.failed;
    hdi_text_free(&line);
    if (failed)
        return HD_ENOMEM;
    return fflush(file) == 0 && !ferror(file) ? HD_OK : HD_EIO;
}
