// The cpu backend by itself: its device, its memory, and images that are none.
#include <string.h>

#include "backend/cpu/cpu.h"
#include "backend/cpu/unit/core.h"
#include "base/topology.h"
#include "tests/check.h"

static struct hdi_topology *topology;
static const struct hdi_backend *cpu;

static struct hdi_device *open_device(void)
{
    struct hd_error error;
    struct hdi_device *device;
    CHECK_OK(cpu->open(topology, 0, NULL, &device, &error), error);
    return device;
}

static void one_device_says_what_it_is(void)
{
    struct hd_error error;
    struct hdi_device *device = open_device(), *same = open_device(), *none;

    CHECK(*device->can.target && *device->can.cpu && *device->can.description);
    CHECK(strcmp(device->can.cpu, same->can.cpu) == 0);
    CHECK(device->can.units == hdi_topology_machine(topology)->cores);
    CHECK(device->can.local_bytes >= 32768);
    CHECK(device->can.on_caller && device->can.host_memory);
    CHECK_FAILS(cpu->open(topology, 1, NULL, &none, &error), HD_ENODEV, error,
                "2");
    cpu->close(same);
    cpu->close(device);
}

#if defined(__x86_64__)
static bool tells(const struct hdi_device *device, const char *feature)
{
    const char *at = device->can.features;
    size_t length = strlen(feature);

    for (; (at = strstr(at, feature)); at += length)
        if ((at == device->can.features || at[-1] == ' ') &&
            (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

#define AGREES(name) \
    CHECK(tells(device, name) == (__builtin_cpu_supports(name) != 0))

static void instruction_sets_are_told(void)
{
    struct hdi_device *device = open_device();

    AGREES("sse2");
    AGREES("ssse3");
    AGREES("sse4a");
    AGREES("sse4.1");
    AGREES("sse4.2");
    AGREES("popcnt");
    AGREES("bmi");
    AGREES("bmi2");
    AGREES("aes");
    AGREES("avx");
    AGREES("xop");
    AGREES("fma");
    AGREES("fma4");
    AGREES("avx2");
    AGREES("vpclmulqdq");
    AGREES("avx512f");
    AGREES("avx512vl");
    AGREES("avx512bw");
    AGREES("avx512dq");
    AGREES("avx512cd");
    AGREES("avx512vbmi");
    AGREES("avx512vbmi2");
    AGREES("avx512vnni");
    AGREES("avx512bitalg");
    AGREES("avx512vpopcntdq");
    AGREES("gfni");
    // What is not in the code of kernels is no reason to refuse it.
    CHECK(tells(device, "pku") && tells(device, "sgx"));
    cpu->close(device);
}
#else
static void instruction_sets_are_told(void)
{
    struct hdi_device *device = open_device();

    CHECK(!device->can.features);
    cpu->close(device);
}
#endif

static void memory_is_zeroed_and_aligned(void)
{
    struct hdi_device *device = open_device();
    static const uint64_t sizes[] = {1, 4097, 8 << 20};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        void *memory;
        CHECK(cpu->alloc(device, sizes[i], &memory) == HD_OK);
        CHECK((uintptr_t)memory % 128 == 0);
        for (uint64_t b = 0; b < sizes[i]; b += 511)
            CHECK(((char *)memory)[b] == 0);
        CHECK(cpu->copy(device, memory, "x", 1) == HD_OK);
        CHECK(*(char *)memory == 'x');
        cpu->free(device, memory, sizes[i]);
    }
    void *memory;
    CHECK(cpu->alloc(device, UINT64_MAX - 5, &memory) == HD_ENOMEM);
    cpu->close(device);
}

static void images_that_are_none_are_refused(void)
{
    struct hd_error error;
    struct hdi_device *device = open_device();
    struct hdi_code *code;
    static const char image[100] = "no shared object";

    CHECK_FAILS(cpu->load(device, image, sizeof(image), &code, &error),
                HD_EFORMAT, error, "kernel code");
    CHECK_FAILS(cpu->load(device, image, 0, &code, &error), HD_EFORMAT, error,
                "kernel code");
    cpu->close(device);
}

// Fills the room it is given, and notes where it was.
struct seen {
    char *local, *saved;
    uint64_t local_bytes, saved_bytes;
};

static void fill(const struct hdi_frame *frame)
{
    struct seen *seen;
    memcpy(&seen, frame->args, sizeof(seen));
    seen->local = frame->local;
    seen->saved = frame->saved;
    if (seen->local_bytes)
        memset(frame->local, 1, seen->local_bytes);
    if (seen->saved_bytes)
        memset(frame->saved, 2, seen->saved_bytes);
}

static void a_unit_grows_its_blocks_and_reuses_them(void)
{
    struct hdi_device *device = open_device();
    struct hdi_unit *unit;
    const struct hdi_entry entry = {.run = fill};
    struct seen seen, *args = &seen;
    struct hdi_chunk chunk = {.entry = &entry, .frame.args = &args};
    char *before = NULL;

    CHECK(cpu->unit_open(device, 0, &unit) == HD_OK);
    CHECK(cpu->done(unit) == 0);
    for (uint64_t i = 1; i <= 12; i++) {
        seen.local_bytes = chunk.local_bytes = i < 9 ? i * 3000 : 100;
        seen.saved_bytes = chunk.saved_bytes = i < 9 ? i * i * 5000 : 100;
        CHECK(cpu->submit(unit, &chunk));
        CHECK(cpu->done(unit) == i && cpu->submitted(unit) == i);
        CHECK(cpu->status(unit, i) == HD_OK);
        CHECK(i < 10 || seen.local == before);
        before = seen.local;
    }
    chunk.saved_bytes = UINT64_MAX - 4096;
    CHECK(cpu->submit(unit, &chunk));
    CHECK(cpu->status(unit, 13) == HD_ENOMEM);
    chunk.saved_bytes = 100;
    CHECK(cpu->submit(unit, &chunk));
    CHECK(cpu->status(unit, 14) == HD_OK);
    cpu->unit_close(unit);
    cpu->close(device);
}

// Made with the core, before any kernel has asked: half of the second level for
// local memory, and half of that for values that live across barriers.
static void blocks_are_as_large_as_the_caches(void)
{
    static const struct {
        const char *machine;
        uint64_t local; // [bytes]
    } cases[] = {{"l2:1(size=262144) core:1 pu:1", 128 << 10},
                 {"l2:1(size=2097152) core:1 pu:1", 1 << 20}};

    for (int i = 0; i < 2; i++) {
        struct hdi_topology *small;
        struct hdi_device *device;
        struct hdi_cpu_core core = {0};
        struct hd_error error;
        CHECK_OK(hdi_topology_create(cases[i].machine, &small, &error), error);
        CHECK_OK(cpu->open(small, 0, NULL, &device, &error), error);
        CHECK(device->can.local_bytes == cases[i].local);
        hdi_cpu_core_init(&core, (struct hdi_cpu_device *)device);

        const void *local = core.local.memory, *saved = core.saved.memory;
        CHECK(local && saved);
        CHECK(core.local.size < 2 * cases[i].local);
        CHECK(core.saved.size < cases[i].local);
        CHECK(hdi_cpu_block_reserve(&core.local, cases[i].local));
        CHECK(hdi_cpu_block_reserve(&core.saved, cases[i].local / 2));
        CHECK(core.local.memory == local && core.saved.memory == saved);
        CHECK(hdi_cpu_block_reserve(&core.local, 4 * cases[i].local));
        CHECK(core.local.memory != local ||
              core.local.size > 4 * cases[i].local);
        hdi_cpu_core_free(&core);
        cpu->close(device);
        hdi_topology_destroy(small);
    }
}

// Which byte before the memory was written, of several the first.
static void damage_is_found_where_it_is(void)
{
    struct hdi_cpu_block block = {0};

    CHECK(hdi_cpu_block_reserve(&block, 1000));
    unsigned char *memory = hdi_cpu_block_at_end(&block, 1000);
    CHECK(!hdi_cpu_block_damage(&block, 1000));
    for (unsigned char *at = memory - 1; at >= memory - 128; at--) {
        unsigned char was = *at;
        *at ^= 1;
        CHECK(hdi_cpu_block_damage(&block, 1000) == at);
        *at = was;
        CHECK(!hdi_cpu_block_damage(&block, 1000));
    }
    memset(memory - 128, 0, 128);
    CHECK(hdi_cpu_block_damage(&block, 1000) == memory - 128);
    hdi_cpu_block_free(&block);
}

int main(void)
{
    struct hd_error error;

    cpu = hdi_backend_find("cpu");
    CHECK(cpu);
    CHECK_OK(hdi_topology_create("pack:1 core:3 pu:1", &topology, &error),
             error);
    one_device_says_what_it_is();
    instruction_sets_are_told();
    memory_is_zeroed_and_aligned();
    images_that_are_none_are_refused();
    blocks_are_as_large_as_the_caches();
    a_unit_grows_its_blocks_and_reuses_them();
    damage_is_found_where_it_is();
    hdi_topology_destroy(topology);
    return 0;
}
