// Buffers that are constant arguments are read-only for kernels: small ones at
// an address of their own, large ones where that is asked for.
#include <pthread.h>

#include "tests/launch/mend.h"
#include "tests/launch/stray.h"
#include "tests/mappings.h"

static const char source[] = STRAY_KERNELS
    "kernel void stamp(global int *a, global int *b, long at,\n"
    "                  constant int *c)\n"
    "{\n"
    "    int i = (int)get_global_id(0);\n"
    "    global int *p = (global int *)(ulong)c;\n"
    "    b[i] = c[i & 63];\n"
    "    if (i == 77)\n"
    "        p[at] = 5;\n" // line 22
    "}\n"
    "kernel void restamp(global const int *a, global int *b, long at)\n"
    "{\n"
    "    global int *p = (global int *)(ulong)a;\n"
    "    b[get_global_id(0)] = 1;\n"
    "    if (get_global_id(0) == 78)\n"
    "        p[at] = 5;\n" // line 29
    "}\n"
    "kernel void hold(global int *a, global int *b, long at,\n"
    "                 constant int *c)\n"
    "{\n"
    "    b[get_global_id(0)] = c[get_global_id(0) & 1];\n"
    "    while (((volatile global int *)a)[at] == 0)\n"
    "        ;\n"
    "}\n"
    "kernel void both(global int *a, global int *b, long at,\n"
    "                 constant int *c)\n"
    "{\n"
    "    int i = (int)get_global_id(0);\n"
    "    a[i] = c[i + at];\n"
    "    b[i] = c[2 * at];\n"
    "}\n";

enum {
    SMALL = 64 * KIB,
    LARGE = 3 << 20 // too large for two addresses
};

static struct hd_buffer *make_buffer(struct rig *rig, uint64_t size)
{
    struct hd_buffer *buffer;

    CHECK_OK(hdi_buffer_create(rig->launcher, size, &buffer, &error), error);
    return buffer;
}

static hd_status with_constant(struct rig *rig, const char *name,
                               const struct hd_arg *args)
{
    return hdi_launch_with(
        rig->launcher,
        &(struct hdi_request){hd_program_find(rig->program, name), &range, args,
                              4},
        &(struct hdi_terms){0}, &error);
}

static hd_status stamp(struct rig *rig, const struct pair *pair,
                       struct hd_buffer *constant, int64_t at)
{
    const struct hd_arg args[] = {HD_BUFFER(pair->a), HD_BUFFER(pair->b),
                                  HD_VALUE(at), HD_BUFFER(constant)};

    return with_constant(rig, "stamp", args);
}

static void constant_arguments_are_read_only(struct rig *rig, uint64_t size)
{
    struct pair pair = make_pair(rig);
    struct pair other = {make_buffer(rig, size), make_buffer(rig, size)};
    int *c = hd_buffer_host(other.a), value = 3;
    char place[128];

    snprintf(place, sizeof(place),
             ", byte 40 of the buffer of %d bytes: constant argument 3, 'c', "
             "is read-only",
             (int)size);
    for (int i = 0; i < 3; i++) {
        CHECK_FAILS(stamp(rig, &pair, other.a, 10), HD_EFAULT, error,
                    "rig.cl:22: work-item (77, 0, 0) of work-group (1, 0, 0) "
                    "writes");
        CHECK(strstr(error.text, place));
        CHECK(c[10] == 0);
    }
    // Nobody has it any more.
    c[10] = 2;
    CHECK_OK(hd_buffer_write(other.a, 0, &value, sizeof(value), &error), error);
    CHECK_OK(launch(rig, &other, "store", 11), error);
    CHECK(c[0] == 3 && c[10] == 2 && c[11] == 1);
    CHECK_FAILS(stamp(rig, &pair, other.a, (int64_t)size / 4), HD_EFAULT, error,
                " 0 bytes past the end of argument 3, 'c'");
    CHECK_FAILS(stamp(rig, &pair, other.a, -1), HD_EFAULT, error,
                " 4 bytes before the begin of argument 3, 'c'");
    free_pair(&pair);
    free_pair(&other);
}

// It can be written as that.
static void large_constants_are_arguments_too(struct rig *rig)
{
    struct pair pair = make_pair(rig);
    struct pair other = {make_buffer(rig, LARGE), make_buffer(rig, LARGE)};
    const int *c = hd_buffer_host(other.a);

    CHECK_OK(stamp(rig, &other, other.a, 10), error);
    CHECK_OK(stamp(rig, &(struct pair){pair.a, other.a}, other.a, 1000), error);
    CHECK(c[10] == 5 && c[1000] == 5);
    free_pair(&pair);
    free_pair(&other);
}

static void large_constants_are_written_unseen(struct rig *rig)
{
    struct pair pair = make_pair(rig);
    struct hd_buffer *c = make_buffer(rig, LARGE);

    CHECK_OK(stamp(rig, &pair, c, 10), error);
    CHECK(((int *)hd_buffer_host(c))[10] == 5);
    hd_buffer_destroy(c);
    free_pair(&pair);
}

// What the host and launches write is there for the next that reads it, and in
// one launch the other part of a buffer may be written.
static void constants_are_what_was_written(struct rig *rig, uint64_t size)
{
    enum {
        AT = 1000
    };
    struct pair pair = make_pair(rig);
    struct hd_buffer *c = make_buffer(rig, size);
    int *host = hd_buffer_host(c), value = 77;

    for (int round = 0; round < 3; round++) {
        int64_t at = AT;
        const struct hd_arg args[] = {HD_BUFFER(c), HD_BUFFER(pair.b),
                                      HD_VALUE(at), HD_BUFFER(c)};
        for (int i = 0; i < ITEMS; i++)
            host[AT + i] = 10 * round + i;
        value++;
        CHECK_OK(hd_buffer_write(c, sizeof(int[2 * AT]), &value, sizeof(value),
                                 &error),
                 error);
        CHECK_OK(with_constant(rig, "both", args), error);
        for (int i = 0; i < ITEMS; i++) {
            CHECK(host[i] == 10 * round + i);
            CHECK(((int *)hd_buffer_host(pair.b))[i] == value);
        }
        CHECK_OK(launch(rig, &(struct pair){c, pair.b}, "store", 2 * AT),
                 error);
        struct hd_arg next[] = {HD_BUFFER(pair.a), HD_BUFFER(pair.b),
                                HD_VALUE(at), HD_BUFFER(c)};
        next[3].offset = 4;
        CHECK_OK(with_constant(rig, "both", next), error);
        for (int i = 0; i < ITEMS; i++)
            CHECK(((int *)hd_buffer_host(pair.a))[i] == host[AT + i + 1]);
        at = -1;
        next[3].offset = sizeof(int[2 * AT + 2]);
        CHECK_OK(with_constant(rig, "both", next), error);
        CHECK(((int *)hd_buffer_host(pair.b))[0] == 1);
    }
    hd_buffer_destroy(c);
    free_pair(&pair);
}

static void nothing_is_left_of_constants(struct rig *rig)
{
    enum {
        TIMES = 100
    };
    struct pair pair = make_pair(rig);
    int before = count_mappings();

    for (int i = 0; i < TIMES; i++) {
        struct hd_buffer *c = make_buffer(rig, SMALL);
        CHECK(stamp(rig, &pair, c, SMALL) == HD_EFAULT);
        hd_buffer_destroy(c);
    }
    CHECK(count_mappings() < before + TIMES);
    free_pair(&pair);
}

// Beyond so many a constant is written unseen, until one of them is gone.
static void views_leave_mappings_to_others(struct rig *rig)
{
    enum {
        MAX = 4096
    };
    static struct hd_buffer *c[MAX + 2];
    struct pair pair = make_pair(rig);
    int before = count_mappings();

    for (int i = 0; i < MAX + 2; i++) {
        c[i] = make_buffer(rig, 4 * KIB);
        if (i > MAX)
            hd_buffer_destroy(c[0]);
        CHECK((hdi_buffer_view(c[i]) == hd_buffer_host(c[i])) == (i == MAX));
    }
    CHECK_OK(stamp(rig, &pair, c[MAX], 10), error);
    CHECK(stamp(rig, &pair, c[MAX + 1], 10) == HD_EFAULT);
    for (int i = 1; i < MAX + 2; i++)
        hd_buffer_destroy(c[i]);
    CHECK(count_mappings() < before + MAX);
    CHECK(atomic_load(&rig->launcher->views) == 0);
    free_pair(&pair);
}

struct holder {
    struct rig *rig;
    struct pair pair;
    struct hd_buffer *constant;
    hd_status status;
};

static void *hold(void *data)
{
    static const struct hd_range one = {
        .dims = 1, .global = {GROUP}, .local = {GROUP}};
    struct holder *h = data;
    struct hd_error e;
    int64_t at = 0;
    const struct hd_arg args[] = {HD_BUFFER(h->pair.a), HD_BUFFER(h->pair.b),
                                  HD_VALUE(at), HD_BUFFER(h->constant)};

    h->status =
        hdi_launch(h->rig->launcher,
                   &(struct hdi_request){
                       hd_program_find(h->rig->program, "hold"), &one, args, 4},
                   NULL, HD_PRIORITY_NORMAL, &e);
    return NULL;
}

// While a launch has a buffer as a constant.
static void others_write_constants(struct rig *rig)
{
    struct pair mine = make_pair(rig);
    struct pair other = {make_buffer(rig, LARGE), make_buffer(rig, LARGE)};
    struct holder holder = {
        .rig = rig, .pair = make_pair(rig), .constant = other.a};
    volatile int *go = hd_buffer_host(holder.pair.a),
                 *there = hd_buffer_host(holder.pair.b);
    int *c = hd_buffer_host(other.a), value = 3;
    struct sigaction handler = {.sa_sigaction = mend, .sa_flags = SA_SIGINFO};
    struct sigaction was;
    pthread_t thread;

    c[0] = c[1] = 1;
    CHECK(pthread_create(&thread, NULL, hold, &holder) == 0);
    while (*there == 0)
        ;
    CHECK_OK(hd_buffer_write(other.a, 0, &value, sizeof(value), &error), error);
    CHECK_OK(launch(rig, &other, "store", 11), error);
    CHECK(c[0] == 3 && c[11] == 1);
    CHECK_FAILS(launch(rig, &(struct pair){other.a, mine.b}, "restamp", 12),
                HD_EFAULT, error, "rig.cl:29: work-item (78, 0, 0)");
    CHECK(strstr(error.text, "of argument 0, 'a', which is read-only while "
                             "another launch has it as a constant argument"));
    CHECK_FAILS(stamp(rig, &mine, other.a, 12), HD_EFAULT, error,
                "constant argument 3, 'c', is read-only");
    // The host's own store is the host's own fault.
    CHECK(sigaction(SIGSEGV, &handler, &was) == 0);
    page = c;
    handled = 0;
    *(volatile int *)c = 4;
    CHECK(handled == 1 && c[0] == 4 && c[12] == 0);
    CHECK(sigaction(SIGSEGV, &was, NULL) == 0);
    *go = 1;
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(holder.status == HD_OK);
    memset(c, 0, LARGE);
    free_pair(&mine);
    free_pair(&other);
    free_pair(&holder.pair);
}

static void test(struct rig *rig, const struct kind *kind)
{
    constant_arguments_are_read_only(rig, SMALL);
    constants_are_what_was_written(rig, SMALL);
    large_constants_are_written_unseen(rig);
    nothing_is_left_of_constants(rig);
    views_leave_mappings_to_others(rig);
    rig->launcher->seals = true;
    constant_arguments_are_read_only(rig, SMALL);
    constant_arguments_are_read_only(rig, LARGE);
    constants_are_what_was_written(rig, LARGE);
    large_constants_are_arguments_too(rig);
    if (kind->pool.workers > 1 && kind->device.units == 0)
        others_write_constants(rig); // two leaves run, wherever they are
}

int main(void)
{
    if (HOLDS_SIGNALS)
        SKIP("ThreadSanitizer holds signals back until a kernel ends");
    on_every_kind(source, test);
    return 0;
}
