#include "base/topology.h"

#include <limits.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/memory.h"
#include "tests/check.h"

static void this_machine_has_a_core(void)
{
    struct hd_error error;
    struct hdi_topology *t;

    CHECK_OK(hdi_topology_create(NULL, &t, &error), error);
    const struct hdi_machine *m = hdi_topology_machine(t);
    CHECK(m->cores >= 1 && m->threads >= m->cores && m->packages >= 1);
    CHECK(m->memory_bytes > 0 && !m->synthetic);
    CHECK(hdi_topology_core(t, m->cores - 1)->threads >= 1);
    hdi_topology_destroy(t);
}

static void cores_the_process_may_not_use_are_left_out(void)
{
    struct hd_error error;
    struct hdi_topology *t;
    cpu_set_t all, one;

    CHECK(sched_getaffinity(0, sizeof(all), &all) == 0);
    int last = CPU_SETSIZE - 1;
    while (!CPU_ISSET(last, &all))
        last--;
    CPU_ZERO(&one);
    CPU_SET(last, &one);
    CHECK(sched_setaffinity(0, sizeof(one), &one) == 0);
    CHECK_OK(hdi_topology_create(NULL, &t, &error), error);
    CHECK(hdi_topology_machine(t)->cores == 1);
    CHECK(hdi_topology_machine(t)->threads == 1);
    CHECK(hdi_topology_core(t, 0)->os_index == (unsigned)last);
    hdi_topology_destroy(t);
    CHECK(sched_setaffinity(0, sizeof(all), &all) == 0);
}

static void a_synthetic_machine_has_distances(void)
{
    struct hd_error error;
    struct hdi_topology *t;

    CHECK_OK(hdi_topology_create("pack:2 l3:2 l2:4 core:2 pu:2", &t, &error),
             error);
    const struct hdi_machine *m = hdi_topology_machine(t);
    CHECK(m->cores == 32 && m->threads == 64 && m->packages == 2);
    CHECK(m->cache_groups == 4 && m->synthetic);
    CHECK(hdi_topology_distance(t, 0, 0) == 0);
    CHECK(hdi_topology_distance(t, 0, 1) == 1); // an L2
    CHECK(hdi_topology_distance(t, 0, 2) == 2); // an L3
    CHECK(hdi_topology_distance(t, 0, 7) == 2);
    CHECK(hdi_topology_distance(t, 0, 8) == 3 ||
          hdi_topology_distance(t, 0, 8) == 4); // a package
    CHECK(hdi_topology_distance(t, 0, 16) == 5);
    CHECK(hdi_topology_core(t, 31)->package == 1);
    CHECK(hdi_topology_core(t, 31)->cache_group == 3);
    hdi_topology_destroy(t);
}

static void a_bad_description_is_refused(void)
{
    struct hd_error error;
    struct hdi_topology *t;

    CHECK_FAILS(hdi_topology_create("eight cores", &t, &error), HD_EINVAL,
                error, "eight cores");
}

static void a_part_of_a_machine_is_a_machine(void)
{
    const char *machine = "pack:2 l3:2 core:4 pu:2";
    const char *wrong[] = {"",    "a",   "1-",   "-1",      "3-1",  "1,",
                           "1 2", "0x2", "0-2,", "1234567", "1--2", "1-2-3"};
    struct hd_error error;
    struct hdi_topology *t;

    CHECK_OK(hdi_topology_create_part(machine, "0-3,16-17,31", &t, &error),
             error);
    CHECK(hdi_topology_machine(t)->cores == 4);
    CHECK(hdi_topology_machine(t)->threads == 7);
    CHECK(hdi_topology_machine(t)->cache_groups == 3);
    CHECK(hdi_topology_core(t, 1)->os_index == 2);
    CHECK(hdi_topology_core(t, 2)->os_index == 16);
    CHECK(hdi_topology_core(t, 3)->os_index == 31);
    CHECK(hdi_topology_core(t, 3)->threads == 1);
    hdi_topology_destroy(t);

    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        CHECK_FAILS(hdi_topology_create_part(machine, wrong[i], &t, &error),
                    HD_EINVAL, error, "no list of processors");
    CHECK_FAILS(hdi_topology_create_part(machine, "30-32", &t, &error),
                HD_EINVAL, error, "may use 0-31");
}

static void *where(void *data)
{
    CPU_ZERO((cpu_set_t *)data);
    sched_getaffinity(0, sizeof(cpu_set_t), data);
    return NULL;
}

struct place {
    struct hdi_topology *topology;
    unsigned core;
};

static void *look_where(void *data)
{
    struct place *place = data;
    place->core = hdi_topology_here(place->topology);
    return NULL;
}

static void a_pinned_thread_knows_its_core(void)
{
    struct hd_error error;
    struct place place = {0};
    pthread_t thread;

    CHECK_OK(hdi_topology_create(NULL, &place.topology, &error), error);
    for (unsigned i = 0; i < hdi_topology_machine(place.topology)->cores; i++) {
        CHECK(hdi_thread_start(place.topology, i, "pinned", look_where, &place,
                               &thread) == HD_OK);
        pthread_join(thread, NULL);
        CHECK(place.core == i);
    }
    hdi_topology_destroy(place.topology);

    CHECK_OK(hdi_topology_create("core:64 pu:1", &place.topology, &error),
             error);
    CHECK(hdi_topology_here(place.topology) == UINT_MAX);
    hdi_topology_destroy(place.topology);
}

static void a_thread_is_pinned(void)
{
    struct hd_error error;
    struct hdi_topology *t;
    pthread_t thread;
    cpu_set_t set;

    CHECK_OK(hdi_topology_create(NULL, &t, &error), error);
    unsigned last = hdi_topology_machine(t)->cores - 1;
    CHECK(hdi_thread_start(t, last, "pinned", where, &set, &thread) == HD_OK);
    pthread_join(thread, NULL);
    CHECK(CPU_COUNT(&set) == 1);
    CHECK(CPU_ISSET(hdi_topology_core(t, last)->os_index, &set));

    CHECK(hdi_thread_start(t, UINT_MAX, "free", where, &set, &thread) == HD_OK);
    pthread_join(thread, NULL);
    CHECK(CPU_COUNT(&set) >= 1);
    hdi_topology_destroy(t);
}

// What the system says of a page, or false when it does not say.
static bool lies_by_policy(char *page, unsigned long *nodes)
{
    int mode = 0;

    *nodes = 0;
    return syscall(SYS_get_mempolicy, &mode, nodes, 64ul, page,
                   2ul /* MPOL_F_ADDR */) == 0 &&
           mode != 0 /* MPOL_DEFAULT */;
}

static void memory_is_asked_for_in_a_numa_node(void)
{
    size_t page = hdi_page_size(), size = 16 * page;
    struct hd_error error;
    struct hdi_topology *t;
    unsigned long nodes;
    char *memory = hdi_map(size);

    CHECK(memory != NULL);
    CHECK_OK(hdi_topology_create("pack:2 core:2 pu:1", &t, &error), error);
    CHECK(!hdi_topology_bind(t, 1, memory, size)); // there is none
    hdi_topology_destroy(t);
    CHECK_OK(hdi_topology_create(NULL, &t, &error), error);
    CHECK(!hdi_topology_bind(t, 4096, memory, size));
    if (hdi_topology_bind(t, 0, memory + 1, size - 1)) {
        CHECK(!lies_by_policy(memory, &nodes)); // only a part of it was named
        CHECK(lies_by_policy(memory + page, &nodes));
        CHECK(nodes != 0 && (nodes & (nodes - 1)) == 0);
        CHECK(lies_by_policy(memory + size - page, &nodes));
    } else {
        fprintf(stderr, "the system does not bind memory: not looked at\n");
    }
    CHECK(hdi_topology_bind(t, 0, memory + 1, 1) ==
          hdi_topology_bind(t, 0, memory + 1, 2)); // no whole page
    hdi_topology_destroy(t);
    hdi_unmap(memory, size);
}

int main(void)
{
    memory_is_asked_for_in_a_numa_node();
    this_machine_has_a_core();
    cores_the_process_may_not_use_are_left_out();
    a_synthetic_machine_has_distances();
    a_bad_description_is_refused();
    a_part_of_a_machine_is_a_machine();
    a_thread_is_pinned();
    a_pinned_thread_knows_its_core();
    return 0;
}
