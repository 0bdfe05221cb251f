#include "trace/trace.h"

#include <pthread.h>

#include "tests/check.h"

#define HOUR UINT64_C(3600000000000) // [ns]

enum {
    THREADS = 4,
    SPANS = 2100 // over one block
};

struct recorder {
    struct hdi_trace *trace;
    struct hdi_track *track;
};

static void *record(void *data)
{
    struct recorder *r = data;
    for (int i = 0; i < SPANS; i++) {
        char name[16];
        snprintf(name, sizeof(name), "kernel %d", i % 10);
        uint64_t begin = hdi_now();
        hdi_trace_outside(r->trace, HDI_EVENT_build, begin, 0, 1);
        hdi_track_record(r->track, HDI_EVENT_chunk, begin, begin + HOUR,
                         hdi_trace_name(r->trace, name), (uint64_t)i);
    }
    return NULL;
}

static char *written(struct hdi_trace *trace)
{
    char *text;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    CHECK(file);
    CHECK(hdi_trace_write(trace, NULL, file) == HD_OK);
    fclose(file);
    return text;
}

// A sanitizer's strstr() reads the text to its end for each part that it finds.
static unsigned count(const char *text, const char *part)
{
    size_t length = strlen(part);
    unsigned n = 0;
    for (const char *p = text; *p; p++)
        n += *p == *part && strncmp(p, part, length) == 0;
    return n;
}

static void figures_are_written_once_each(void)
{
    struct hdi_trace *trace;

    CHECK(hdi_trace_create(&trace) == HD_OK);
    struct hdi_track *track = hdi_track_create(trace, "the \"one\"");
    for (unsigned i = 0; i < HDI_TRACK_FIGURES + 5; i++) {
        char name[32];
        snprintf(name, sizeof(name), "figure %u", i);
        hdi_track_set(track, name, 1);
        hdi_track_set(track, name, 1000 + i);
    }
    hdi_track_set(NULL, "nobody's", 1);
    char *text = written(trace);
    CHECK(count(text, "\"ph\":\"C\"") == 1);
    CHECK(count(text, "figure ") == HDI_TRACK_FIGURES);
    CHECK(count(text, "\"figure 7\":1007,") == 1);
    free(text);
    hdi_trace_destroy(trace);
}

static void every_record_is_written(void)
{
    struct hdi_trace *trace;
    struct recorder recorders[THREADS];
    pthread_t threads[THREADS];

    CHECK(hdi_trace_create(&trace) == HD_OK);
    for (int i = 0; i < THREADS; i++) {
        recorders[i].trace = trace;
        recorders[i].track = hdi_track_create(trace, "a \"worker\"");
        CHECK(recorders[i].track);
        CHECK(pthread_create(&threads[i], NULL, record, &recorders[i]) == 0);
    }
    // What there is so far is whole records.
    for (int i = 0; i < 2; i++) {
        char *early = written(trace);
        unsigned chunks = count(early, "\"cat\":\"chunk\"");
        CHECK(count(early, "\"dur\":3600000000.000") == chunks);
        CHECK(count(early, "\"name\":\"kernel ") == chunks);
        free(early);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);

    char *text = written(trace);
    CHECK(count(text, "\"cat\":\"chunk\"") == THREADS * SPANS);
    CHECK(count(text, "\"cat\":\"build\"") == THREADS * SPANS);
    CHECK(count(text, "\"dur\":3600000000.000") == THREADS * SPANS);
    CHECK(count(text, "\"name\":\"kernel 7\"") == THREADS * SPANS / 10);
    CHECK(count(text, "\"tid\":4,") == SPANS + 1);
    CHECK(count(text, "a \\\"worker\\\"") == THREADS);
    free(text);
    hdi_trace_destroy(trace);
}

static void names_are_kept_once(void)
{
    struct hdi_trace *trace;

    CHECK(hdi_trace_create(&trace) == HD_OK);
    uint32_t blur = hdi_trace_name(trace, "blur");
    CHECK(blur != 0 && hdi_trace_name(trace, "blur") == blur);
    CHECK(hdi_trace_name(trace, "sharpen") != blur);
    hdi_trace_destroy(trace);
}

static void nothing_happens_without_a_trace(void)
{
    CHECK(hdi_track_create(NULL, "worker") == NULL);
    CHECK(hdi_trace_name(NULL, "blur") == 0);
    CHECK(hdi_trace_now(NULL) == 0);
    hdi_trace_span(NULL, HDI_EVENT_steal, 0, 1, 2);
    hdi_trace_mark(NULL, HDI_EVENT_steal, 1, 2);
    hdi_trace_destroy(NULL);
}

static void a_failed_write_is_reported(void)
{
    struct hdi_trace *trace;
    FILE *full = fopen("/dev/full", "w");

    if (!full)
        SKIP("no /dev/full on this system");
    CHECK(hdi_trace_create(&trace) == HD_OK);
    struct hdi_track *track = hdi_track_create(trace, "worker 0");
    hdi_trace_mark(track, HDI_EVENT_steal, 1, 2);
    CHECK(hdi_trace_write(trace, NULL, full) == HD_EIO);
    fclose(full);
    hdi_trace_destroy(trace);
}

int main(void)
{
    every_record_is_written();
    figures_are_written_once_each();
    names_are_kept_once();
    nothing_happens_without_a_trace();
    a_failed_write_is_reported();
    return 0;
}
