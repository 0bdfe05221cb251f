// Costs are measured with energy counters and without, and kept for as long as
// they are right. The powercap tree is one of files in a folder of ours.
#include "launch/measure/calibration.h"

#include <fcntl.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "kernel/binary/digest.h"
#include "launch/measure/meter.h"
#include "tests/check.h"
#include "tests/kernel/try_files.h"

static void write_text(const char *name, const char *text)
{
    char path[300], whole[256];

    // Whole or not at all, as the system's own files are read.
    snprintf(whole, sizeof(whole), "%s", path_in(name));
    snprintf(path, sizeof(path), "%s.new", whole);
    write_file(path, text, strlen(text));
    CHECK(rename(path, whole) == 0);
}

static void set_counter(const char *zone, uint64_t microjoules)
{
    char name[64], text[32];

    snprintf(name, sizeof(name), "%s/energy_uj", zone);
    snprintf(text, sizeof(text), "%llu\n", (unsigned long long)microjoules);
    write_text(name, text);
}

static void make_zone(const char *zone, const char *called, uint64_t range)
{
    char name[64], text[32];

    CHECK(mkdir(path_in(zone), 0700) == 0);
    snprintf(name, sizeof(name), "%s/name", zone);
    snprintf(text, sizeof(text), "%s\n", called);
    write_text(name, text);
    snprintf(name, sizeof(name), "%s/max_energy_range_uj", zone);
    snprintf(text, sizeof(text), "%llu\n", (unsigned long long)range);
    write_text(name, text);
    set_counter(zone, 0);
}

static void a_meter_adds_packages_and_goes_round(void)
{
    struct hdi_meter meter;

    CHECK(mkdir(path_in("tree"), 0700) == 0);
    CHECK(setenv("HEDDLE_POWERCAP", path_in("tree"), 1) == 0);
    CHECK(!hdi_meter_open(&meter));
    make_zone("tree/intel-rapl:0", "package-0", 1000);
    make_zone("tree/intel-rapl:0:0", "core", 1000);
    make_zone("tree/intel-rapl:1", "package-1", 500);
    set_counter("tree/intel-rapl:0", 990);
    CHECK(hdi_meter_open(&meter));
    CHECK(meter.zones == 2);
    CHECK(hdi_meter_read(&meter) == 0);
    set_counter("tree/intel-rapl:0:0", 77);
    set_counter("tree/intel-rapl:1", 3);
    CHECK(hdi_meter_read(&meter) == 3e6);
    set_counter("tree/intel-rapl:0", 10); // behind its range
    CHECK(hdi_meter_read(&meter) == 23e6);

    // One that says nothing for a moment has not gone round.
    write_text("tree/intel-rapl:0/energy_uj", "no number\n");
    CHECK(hdi_meter_read(&meter) == 23e6);
    set_counter("tree/intel-rapl:0", 11);
    CHECK(hdi_meter_read(&meter) == 24e6);
}

static atomic_bool ended;

// A processor that uses two watts more when this process computes.
static void *use_energy(void *data)
{
    (void)data;
    while (!atomic_load(&ended)) {
        struct timespec busy, pause = {.tv_nsec = 500000};

        CHECK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &busy) == 0);
        uint64_t used = 2 * ((uint64_t)busy.tv_sec * 1000000 +
                             (uint64_t)busy.tv_nsec / 1000);
        set_counter("tree/intel-rapl:0", used % 1000000);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

static void check_costs(const struct hdi_calibration *c)
{
    uint32_t slot, local;

    for (unsigned w = 0; w < HDI_WORKS; w++)
        CHECK(isfinite(c->cost[w]) && c->cost[w] >= 0);
    CHECK(c->cost[HDI_WORK_SLOT] > 0);
    hdi_calibration_weights(c, &slot, &local);
    CHECK(slot >= 1 && local >= 1 && (slot == 1000 || local == 1000));
}

static void costs_are_energy_where_it_is_counted(
    const struct hdi_topology *topology)
{
    struct hdi_calibration c = {0};
    struct hd_error error;
    pthread_t thread;

    write_text("tree/intel-rapl:0/max_energy_range_uj", "1000000\n");
    set_counter("tree/intel-rapl:0", 0);
    CHECK(pthread_create(&thread, NULL, use_energy, NULL) == 0);
    // A processor that is not given time stands still, as far as can be seen.
    for (unsigned tries = 0; tries < 50 && !c.energy; tries++)
        CHECK_OK(hdi_calibration_measure(topology, &c, &error), error);
    atomic_store(&ended, true);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(c.energy);
    check_costs(&c);
}

static void costs_are_time_where_it_is_not(const struct hdi_topology *topology)
{
    struct hdi_calibration c;
    struct hd_error error;

    // The counters stand still now.
    CHECK_OK(hdi_calibration_measure(topology, &c, &error), error);
    CHECK(!c.energy);
    check_costs(&c);
    CHECK(setenv("HEDDLE_POWERCAP", path_in("nothing"), 1) == 0);
    CHECK_OK(hdi_calibration_measure(topology, &c, &error), error);
    CHECK(!c.energy);
    check_costs(&c);
    CHECK(c.cost[HDI_WORK_LOAD] > 0);
}

static void costs_are_kept_while_they_are_right(
    const struct hdi_topology *topology)
{
    struct hdi_machine machine = *hdi_topology_machine(topology);
    struct hdi_calibration c = {.energy = true}, found = {0};
    struct hdi_cache *cache;
    struct hd_error error;
    struct stat about;

    if (!hdi_digest_is_there()) {
        CHECK_FAILS(hdi_cache_open(path_in("cache"), &cache, &error), HD_EIO,
                    error, "libb2");
        return;
    }
    CHECK_OK(hdi_cache_open(path_in("cache"), &cache, &error), error);
    CHECK(!hdi_calibration_find(cache, &machine, &found));
    for (unsigned w = 0; w < HDI_WORKS; w++)
        c.cost[w] = 0.1 + w;
    CHECK(hdi_calibration_keep(cache, &machine, &c));
    CHECK(hdi_calibration_find(cache, &machine, &found));
    CHECK(found.energy && memcmp(found.cost, c.cost, sizeof(c.cost)) == 0);
    CHECK(stat(path_in("cache/weights"), &about) == 0);
    CHECK((about.st_mode & 0777) == 0600);

    // Another machine, and what somebody else has written.
    machine.cores++;
    CHECK(!hdi_calibration_find(cache, &machine, &found));
    machine.cores--;
    int file = open(path_in("cache/weights"), O_RDWR | O_CLOEXEC);
    CHECK(file >= 0);
    char last;
    CHECK(pread(file, &last, 1, about.st_size - 2) == 1);
    last ^= 1;
    CHECK(pwrite(file, &last, 1, about.st_size - 2) == 1);
    CHECK(!hdi_calibration_find(cache, &machine, &found));
    CHECK(ftruncate(file, 7) == 0);
    CHECK(!hdi_calibration_find(cache, &machine, &found));
    close(file);
    CHECK(hdi_calibration_keep(cache, &machine, &c));
    CHECK(hdi_calibration_find(cache, &machine, &found));

    // A link is not followed.
    CHECK(rename(path_in("cache/weights"), path_in("cache/elsewhere")) == 0);
    CHECK(symlink("elsewhere", path_in("cache/weights")) == 0);
    CHECK(!hdi_calibration_find(cache, &machine, &found));
    hdi_cache_close(cache);
}

int main(void)
{
    struct hdi_topology *topology;
    struct hd_error error;

    CHECK(mkdtemp(folder));
    CHECK_OK(hdi_topology_create(NULL, &topology, &error), error);
    a_meter_adds_packages_and_goes_round();
    costs_are_energy_where_it_is_counted(topology);
    costs_are_time_where_it_is_not(topology);
    costs_are_kept_while_they_are_right(topology);
    hdi_topology_destroy(topology);
    remove_folder();
    return 0;
}
