#include "graph/model/feedback.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/check.h"
#include "tests/folder.h"

enum {
    PROCESSES = 4,
    KEYS = 200
};

static const char *folder;
static char path[320];
static struct hd_error error;

static struct hdi_cache *open_cache(void)
{
    struct hdi_cache *cache;

    CHECK_OK(hdi_cache_open(folder, &cache, &error), error);
    return cache;
}

static struct hdi_feedback_key key_of(unsigned number)
{
    struct hdi_feedback_key key = hdi_feedback_key("test");

    hdi_feedback_mix(&key, &number, sizeof(number));
    return key;
}

static void add(struct hdi_feedback *f, unsigned number, uint64_t time)
{
    struct hdi_feedback_key key = key_of(number);
    struct hdi_measure measure = {
        .time = time, .busy = 2 * time, .bytes = 3 * time, .memory = number};
    hdi_feedback_add(f, &key, &measure);
}

static struct hdi_experience find(struct hdi_feedback *f, unsigned number)
{
    struct hdi_feedback_key key = key_of(number);
    struct hdi_experience e = {0};

    if (!hdi_feedback_find(f, &key, &e))
        CHECK(e.runs == 0);
    return e;
}

static void runs_have_a_mean_and_a_deviation(void)
{
    struct hdi_feedback *f = hdi_feedback_open(NULL);

    CHECK(find(f, 1).runs == 0);
    add(f, 1, 100);
    add(f, 1, 300);
    struct hdi_experience e = find(f, 1);
    CHECK(e.runs == 2 && fabs(e.time - 200) < 1e-9);
    CHECK(fabs(e.deviation - 100) < 1e-9 && fabs(e.busy - 400) < 1e-9);
    CHECK(fabs(e.bandwidth - 3e9) < 1 && e.memory == 1 && e.last > 0);
    CHECK(find(f, 2).runs == 0);
    hdi_feedback_close(f);
}

// What went before counts as if it had had as much to do as the latest.
static void runs_of_other_lengths_are_scaled(void)
{
    struct hdi_feedback *f = hdi_feedback_open(NULL);
    const struct hdi_feedback_key key = key_of(1);

    hdi_feedback_add(
        f, &key, &(struct hdi_measure){.time = 100, .busy = 200, .steps = 50});
    hdi_feedback_add(
        f, &key, &(struct hdi_measure){.time = 400, .busy = 800, .steps = 200});
    struct hdi_experience e = find(f, 1);
    CHECK(e.runs == 2 && e.steps == 200);
    CHECK(fabs(e.time - 400) < 1e-9 && fabs(e.busy - 800) < 1e-9);
    CHECK(e.deviation < 1e-9);
    hdi_feedback_close(f);
}

static void later_runs_count_more(void)
{
    struct hdi_feedback *f = hdi_feedback_open(NULL);

    for (int i = 0; i < 1000; i++)
        add(f, 1, 1000);
    for (int i = 0; i < 100; i++)
        add(f, 1, 10);
    CHECK(find(f, 1).time < 15 && find(f, 1).runs == 1100);
    hdi_feedback_close(f);
}

static void another_process_finds_what_was_learned(void)
{
    struct hdi_cache *cache = open_cache();
    struct hdi_feedback *f = hdi_feedback_open(cache);

    for (unsigned i = 0; i < 3000; i++)
        add(f, i, i + 1);
    hdi_feedback_close(f);
    f = hdi_feedback_open(cache);
    for (unsigned i = 0; i < 3000; i++)
        CHECK(find(f, i).time == i + 1 && find(f, i).runs == 1);
    CHECK(find(f, 3000).runs == 0);
    hdi_feedback_close(f);
    hdi_cache_close(cache);
}

// Each process adds a run of every key, several at the same time: none is lost.
static void processes_lose_nothing_of_each_other(void)
{
    pid_t children[PROCESSES];

    CHECK(unlink(path) == 0);
    for (int p = 0; p < PROCESSES; p++) {
        children[p] = fork();
        CHECK(children[p] >= 0);
        if (children[p] > 0)
            continue;
        struct hdi_cache *cache = open_cache();
        struct hdi_feedback *f = hdi_feedback_open(cache);
        for (unsigned i = 0; i < KEYS; i++) {
            add(f, i, 1000);
            if (i % 50 == 0)
                hdi_feedback_save(f);
        }
        hdi_feedback_close(f);
        hdi_cache_close(cache);
        _exit(0);
    }
    for (int p = 0; p < PROCESSES; p++) {
        int status;
        CHECK(waitpid(children[p], &status, 0) == children[p]);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    struct hdi_cache *cache = open_cache();
    struct hdi_feedback *f = hdi_feedback_open(cache);
    for (unsigned i = 0; i < KEYS; i++)
        CHECK(find(f, i).runs == PROCESSES && find(f, i).time == 1000);
    hdi_feedback_close(f);
    hdi_cache_close(cache);
}

static void the_oldest_go_when_there_are_too_many(void)
{
    struct hdi_cache *cache = open_cache();
    struct hdi_feedback *f = hdi_feedback_open(cache);
    unsigned known = 0;

    for (unsigned i = 0; i < HDI_FEEDBACK_MAX + 500; i++)
        add(f, i, 7);
    hdi_feedback_save(f);
    for (unsigned i = 0; i < HDI_FEEDBACK_MAX + 500; i++)
        known += find(f, i).runs > 0;
    CHECK(known == HDI_FEEDBACK_MAX);
    hdi_feedback_close(f);
    hdi_cache_close(cache);
}

// Every length, and every 97th byte changed: nothing is found or all is right.
static void damage_is_harmless(void)
{
    static char kept[64 * 1024];
    struct hdi_cache *cache = open_cache();

    CHECK(unlink(path) == 0);
    struct hdi_feedback *f = hdi_feedback_open(cache);
    for (unsigned i = 0; i < 5; i++)
        add(f, i, 50);
    hdi_feedback_close(f);
    int file = open(path, O_RDONLY);
    ssize_t size = read(file, kept, sizeof(kept));
    close(file);
    CHECK(size > 5 * 64);
    for (ssize_t i = 0; i < 2 * size; i += 3) {
        file = open(path, O_WRONLY | O_TRUNC);
        ssize_t length = i < size ? i : size;
        if (i >= size)
            kept[i - size] ^= 0x55;
        CHECK(write(file, kept, (size_t)length) == length);
        close(file);
        if (i >= size)
            kept[i - size] ^= 0x55;
        f = hdi_feedback_open(cache);
        CHECK(find(f, 3).runs == 0);
        add(f, 9, 1);
        CHECK(find(f, 9).time == 1);
        hdi_feedback_close(f);
        f = hdi_feedback_open(cache);
        CHECK(find(f, 9).time == 1 && find(f, 3).runs == 0);
        hdi_feedback_close(f);
    }
    hdi_cache_close(cache);
}

static void *add_many(void *data)
{
    for (unsigned i = 0; i < 2000; i++) {
        add(data, i % 50, 8);
        find(data, i % 50);
        if (i % 1000 == 0)
            hdi_feedback_save(data);
    }
    return NULL;
}

static void threads_may_share_it(void)
{
    struct hdi_cache *cache = open_cache();
    struct hdi_feedback *f = hdi_feedback_open(cache);
    pthread_t threads[4];

    CHECK(unlink(path) == 0);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, add_many, f) == 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < 50; i++)
        CHECK(find(f, i).time == 8);
    hdi_feedback_close(f);
    hdi_cache_close(cache);
}

static void remove_folder(void)
{
    DIR *d = opendir(folder);

    for (struct dirent *e; d && (e = readdir(d));)
        unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        closedir(d);
    rmdir(folder);
}

int main(void)
{
    if (!hdi_digest_is_there())
        SKIP("no cache in this build");
    folder = make_folder();
    atexit(remove_folder);
    snprintf(path, sizeof(path), "%s/passes", folder);
    runs_have_a_mean_and_a_deviation();
    runs_of_other_lengths_are_scaled();
    later_runs_count_more();
    another_process_finds_what_was_learned();
    processes_lose_nothing_of_each_other();
    the_oldest_go_when_there_are_too_many();
    damage_is_harmless();
    threads_may_share_it();
}
