// What leaves move is counted where the system lets it be: tried with what
// every kernel counts, page faults.
#include <pthread.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "tests/check.h"
#include "tests/launch/faults.h"

// Sanitizers' own pages for each access would be counted, too.
__attribute__((no_sanitize_address, no_sanitize_thread)) static void
touch_pages(char *pages)
{
    for (long i = 0; i < PAGES; i++)
        ((volatile char *)pages)[i * sysconf(_SC_PAGESIZE)] = 1;
}

// Touching pages for the first time; false: it could not be counted.
static bool count_pages(struct hdi_misses *misses, uint64_t *bytes)
{
    const struct hdi_misses_source source = faults();
    char *pages = map_pages();
    uint64_t before = hdi_now();

    CHECK(hdi_misses_are_due(misses, before));
    bool good = hdi_misses_begin(misses, &source, before);
    CHECK(!hdi_misses_are_due(misses, hdi_now())); // what is inside
    touch_pages(pages);
    good = good && hdi_misses_end(misses, &source, hdi_now(), bytes);
    unmap_pages(pages);
    return good;
}

// A few faults more are the test's own.
static bool are_pages(uint64_t bytes)
{
    uint64_t size = (uint64_t)sysconf(_SC_PAGESIZE);

    return bytes >= PAGES * size && bytes < (PAGES + 8) * size;
}

static void a_thread_counts_its_own(void)
{
    struct hdi_misses misses = {0};
    uint64_t bytes = 0, begin = hdi_now();

    CHECK(count_pages(&misses, &bytes) && are_pages(bytes));
    // Readings take no more than a hundredth of the time.
    CHECK(misses.next > begin + 100 * misses.spent);
    CHECK(!hdi_misses_are_due(&misses, misses.next - 1));
    misses.next = 0;
    CHECK(count_pages(&misses, &bytes) && are_pages(bytes));
    hdi_misses_close(&misses);
    hdi_misses_close(&misses); // closed already
    // What is closed may be used again.
    misses.next = 0;
    CHECK(count_pages(&misses, &bytes) && are_pages(bytes));
    hdi_misses_close(&misses);
}

static void *count_here(void *misses)
{
    uint64_t bytes = 0;

    ((struct hdi_misses *)misses)->next = 0;
    CHECK(count_pages(misses, &bytes) && are_pages(bytes));
    return NULL;
}

// Another thread, and a child of fork(), do not read the counter of this one.
static void others_open_it_anew(void)
{
    struct hdi_misses misses = {0};
    uint64_t bytes;
    pthread_t other;
    int status;

    CHECK(count_pages(&misses, &bytes));
    CHECK(pthread_create(&other, NULL, count_here, &misses) == 0);
    CHECK(pthread_join(other, NULL) == 0);
    CHECK(misses.thread != gettid());
    misses.next = 0;
    CHECK(count_pages(&misses, &bytes) && misses.thread == gettid());
    pid_t child = fork();
    if (child == 0) {
        count_here(&misses);
        _exit(misses.thread == gettid() ? 0 : 1);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    misses.next = 0;
    CHECK(count_pages(&misses, &bytes) && are_pages(bytes)); // still its own
    hdi_misses_close(&misses);
}

// Nobody is asked again, whatever time passes.
static void what_is_refused_is_left(void)
{
    const struct hdi_misses_source none = {UINT32_MAX, 0, 1};
    struct hdi_misses misses = {0};

    CHECK(hdi_misses_try(&none) != 0);
    CHECK(!hdi_misses_begin(&misses, &none, hdi_now()));
    CHECK(!hdi_misses_are_due(&misses, UINT64_MAX - 1));
    hdi_misses_close(&misses);
}

static void turns_are_made_up_for(void)
{
    struct hdi_misses_reading before = {1000, 5000, 4000},
                              after = {1300, 7000, 5000};
    double count = 0;

    CHECK(hdi_misses_between(&before, &after, &count) && count == 600);
    after.running = 6000;
    CHECK(hdi_misses_between(&before, &after, &count) && count == 300);
    after.running = before.running; // it had no turn
    CHECK(!hdi_misses_between(&before, &after, &count));
}

int main(void)
{
    const struct hdi_misses_source source = faults();

    turns_are_made_up_for();
    what_is_refused_is_left();
    if (hdi_misses_try(&source) != 0)
        SKIP("the system lets nothing be counted");
    a_thread_counts_its_own();
    others_open_it_anew();
    return 0;
}
