// Kernels that touch what is not theirs, divide by 0 or never end: the launch
// fails and says why, and everything else goes on.
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "kernel/digest.h"
#include "launch/image.h"
#include "launch/rig.h"

static const char source[] =
    "kernel void store(global int *a, global int *b, long at)\n"
    "{\n"
    "    b[get_global_id(0)] = 1;\n"
    "    if (get_global_id(0) == 100)\n"
    "        a[at] = 1;\n" // line 5
    "}\n"
    "kernel void load(global int *a, global int *b, long at)\n"
    "{\n"
    "    b[get_global_id(0)] = a[at + get_global_id(0)];\n" // line 9
    "}\n"
    "kernel void in_local(global int *a, global int *b, long at,\n"
    "                     local int *tile)\n"
    "{\n"
    "    tile[get_local_id(0)] = 1;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    tile[at + get_local_id(0)] = 2;\n" // line 16
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    b[get_global_id(0)] = tile[get_local_id(0) / 2];\n"
    "}\n"
    "kernel void in_private(global int *a, global int *b, long at)\n"
    "{\n"
    "    int p[16];\n"
    "    for (int i = 0; i < 16; i++)\n"
    "        p[i] = a[i];\n"
    "    p[at + a[0]] = 2;\n" // line 25
    "    b[get_global_id(0)] = p[a[1] & 15];\n"
    "}\n"
    "kernel void divide(global int *a, global int *b, long at)\n"
    "{\n"
    "    b[get_global_id(0)] = a[5] / a[at];\n" // line 30
    "}\n"
    "kernel void endless(global int *a, global int *b, long at)\n"
    "{\n"
    "    b[get_global_id(0)] = 1;\n"
    "    while (((volatile global int *)a)[at] == 0)\n"
    "        ;\n"
    "}\n"
    "kernel void mark(global int *a, global int *b, long at,\n"
    "                 local int *tile)\n"
    "{\n"
    "    a[get_global_id(0)] = tile[get_local_id(0)] = 0x5a5a5a5a;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    b[get_global_id(0)] = tile[get_local_id(0) ^ 1];\n"
    "}\n"
    "kernel void look(global int *a, global int *b, long at,\n"
    "                 local int *tile)\n"
    "{\n"
    "    b[get_global_id(0)] |= a[get_global_id(0)] |\n"
    "                           tile[get_local_id(0)];\n"
    "}\n"
    "kernel void once(global int *a, global int *b, long at)\n"
    "{\n"
    "    b[get_global_id(0)] += 1;\n"
    "    if (get_global_id(0) % 64 == 0)\n"
    "        printf(\"%d\\n\", (int)get_global_id(0));\n"
    "    if (get_global_id(0) == 100)\n"
    "        a[at] = 1;\n"
    "}\n"
    "constant int table[64] = {1, 2, 3};\n"
    "kernel void constant_too(global int *a, global int *b, long at)\n"
    "{\n"
    "    int i = (int)get_global_id(0);\n"
    "    global int *p = (global int *)(ulong)&table[a[i] & 63];\n"
    "    b[i] = table[(i + a[0]) & 63];\n"
    "    if (i == 77)\n"
    "        p[at] = 1;\n"
    "}\n"
    "kernel void fine(global int *a, global int *b, long at)\n"
    "{\n"
    "    b[get_global_id(0)] = (int)get_global_id(0);\n"
    "}\n"
    "kernel void spiral(global int *a, global int *b, long at)\n"
    "{\n"
    "    int i = (int)get_global_id(0), n = 0;\n"
    "    for (int k = i * i; k != 0; k /= 2)\n"
    "        n += a[(k + n) & 63] + 1;\n"
    "    b[i] = n;\n"
    "    if (i == 201)\n"
    "        vstore4((int4)(n), at, a);\n"
    "}\n"
    "kernel void paint(global int *a, global int *b, long at,\n"
    "                  write_only image2d_t to)\n"
    "{\n"
    "    int i = (int)get_global_id(0);\n"
    "    write_imagei(to, (int2)(i & 63, i >> 6), (int4)(b[i] + 1));\n"
    "    if (i == 101)\n"
    "        a[at] = 1;\n" // line 87
    "}\n"
    "kernel void stamp(global int *a, global int *b, long at,\n"
    "                  constant int *c)\n"
    "{\n"
    "    int i = (int)get_global_id(0);\n"
    "    global int *p = (global int *)(ulong)c;\n"
    "    b[i] = c[i & 63];\n"
    "    if (i == 77)\n"
    "        p[at] = 5;\n" // line 96
    "}\n"
    "kernel void restamp(global const int *a, global int *b, long at)\n"
    "{\n"
    "    global int *p = (global int *)(ulong)a;\n"
    "    b[get_global_id(0)] = 1;\n"
    "    if (get_global_id(0) == 78)\n"
    "        p[at] = 5;\n" // line 103
    "}\n"
    "kernel void hold(global int *a, global int *b, long at,\n"
    "                 constant int *c)\n"
    "{\n"
    "    b[get_global_id(0)] = c[get_global_id(0) & 1];\n"
    "    while (((volatile global int *)a)[at] == 0)\n"
    "        ;\n"
    "}\n"
    "kernel void follow(global int *a, global int *b, long at)\n"
    "{\n"
    "    b[get_global_id(0)] = 1;\n"
    "    if (get_global_id(0) == a[at])\n"
    "        a[at + 1] = 1;\n" // line 116
    "}\n"
    "kernel void carried(global int *a, global int *b, long at,\n"
    "                    local int *tile)\n"
    "{\n"
    "    int p[16], l = (int)get_local_id(0);\n"
    "    for (int i = 0; i < 16; i++)\n"
    "        p[i] = a[i];\n"
    "    tile[l] = l;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    if (get_global_id(0) == 100)\n"
    "        p[at] = 2;\n" // line 127
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    b[get_global_id(0)] = p[a[1] & 15] + tile[l ^ 1];\n"
    "}\n"
    "kernel void change(global int *a, global int *b, long at)\n"
    "{\n"
    "    if (atomic_xchg(&b[0], 1) == 0)\n"
    "        a[at] = 1;\n" // line 134
    "}\n";

enum {
    ITEMS = 256,
    GROUP = 64,
    MANY = 1000,
    KIB = 1024
};

static const struct hd_range range = {
    .dims = 1, .global = {ITEMS}, .local = {GROUP}};

// A kernel on two buffers of 64 KiB of zeros.
struct pair {
    struct hd_buffer *a, *b;
};

static struct pair make_pair(struct rig *rig)
{
    struct pair pair;

    CHECK_OK(hdi_buffer_create(rig->launcher, 64 * KIB, &pair.a, &error),
             error);
    CHECK_OK(hdi_buffer_create(rig->launcher, 64 * KIB, &pair.b, &error),
             error);
    return pair;
}

static void free_pair(struct pair *pair)
{
    hd_buffer_destroy(pair->a);
    hd_buffer_destroy(pair->b);
}

static hd_status launch_with(struct rig *rig, const struct pair *pair,
                             const char *name, int64_t at,
                             const struct hdi_terms *terms)
{
    const struct hd_kernel *kernel = hd_program_find(rig->program, name);
    struct hd_arg args[] = {HD_BUFFER(pair->a), HD_BUFFER(pair->b),
                            HD_VALUE(at), HD_LOCAL(256)};

    CHECK(kernel);
    return hdi_launch_with(rig->launcher, kernel, &range, args,
                           kernel->info.arg_count, terms, &error);
}

static hd_status launch(struct rig *rig, const struct pair *pair,
                        const char *name, int64_t at)
{
    return launch_with(rig, pair, name, at, &(struct hdi_terms){0});
}

static void everything_goes_on(struct rig *rig, const struct pair *pair)
{
    memset(hd_buffer_host(pair->b), 0, 64 * KIB);
    CHECK_OK(launch(rig, pair, "fine", 0), error);
    for (int i = 0; i < ITEMS; i++)
        CHECK(((int *)hd_buffer_host(pair->b))[i] == i);
}

// One stray access and what is said of it.
static void check_fault(struct rig *rig, const struct pair *pair,
                        const char *name, int64_t at, const char *const *says)
{
    CHECK_FAILS(launch(rig, pair, name, at), HD_EFAULT, error, name);
    for (; *says; says++)
        if (!strstr(error.text, *says)) {
            fprintf(stderr, "'%s' is not in '%s'\n", *says, error.text);
            exit(1);
        }
}

#define FAULT(rig, pair, name, at, ...) \
    check_fault(rig, pair, name, at, (const char *const[]){__VA_ARGS__, NULL})

static void a_stray_access_is_attributed(struct rig *rig)
{
    struct pair pair = make_pair(rig);

    FAULT(rig, &pair, "store", 16 * KIB, "rig.cl:5", "writes",
          "work-item (100, 0, 0) of work-group (1, 0, 0)",
          " 0 bytes past the end of argument 0, 'a'", "buffer of 65536 bytes");
    FAULT(rig, &pair, "store", 16 * KIB + 100 * KIB, "rig.cl:5", "(100, 0, 0)",
          " 409600 bytes past the end of argument 0, 'a'");
    FAULT(rig, &pair, "store", -1, "rig.cl:5", "(100, 0, 0)",
          " 4 bytes before the begin of argument 0, 'a'");
    FAULT(rig, &pair, "store", -(1ll << 40), "(100, 0, 0)", "writes",
          "far from every argument");
    FAULT(rig, &pair, "store", 1ll << 61, "(100, 0, 0)", "touches",
          "an address that no memory can have");
    FAULT(rig, &pair, "load", 16 * KIB + 100 * KIB, "rig.cl:9", "reads",
          "past the end of argument 0, 'a'");
    FAULT(rig, &pair, "in_local", 100 * KIB, "rig.cl:16", "writes",
          "past the end of argument 3, 'tile': local memory of 256 bytes");
    FAULT(rig, &pair, "in_local", 1, "rig.cl:16", "writes",
          " 0 bytes past the end of argument 3, 'tile'");
    FAULT(rig, &pair, "in_private", 100 * KIB, "writes",
          "past the end of the private memory of");
    FAULT(rig, &pair, "spiral", 4 * KIB, "rig.cl:79", "work-item (201, 0, 0)",
          " 0 bytes past the end of argument 0, 'a'");
    FAULT(rig, &pair, "constant_too", 0, "rig.cl:66", "work-item (77, 0, 0)",
          "writes", "in a constant of the program");
    FAULT(rig, &pair, "divide", 0, "rig.cl:30", "work-item (",
          ") of work-group", "divides an integer by 0");
    everything_goes_on(rig, &pair);
    free_pair(&pair);
}

// Searched for in copies of the texels too, which are those of a buffer here.
static void a_kernel_that_paints_is_attributed(struct rig *rig)
{
    struct pair pair = make_pair(rig);
    const struct hd_image_params shape = {.kind = HD_IMAGE_2D,
                                          .order = HD_R,
                                          .type = HD_SIGNED_INT32,
                                          .width = 64,
                                          .height = 16,
                                          .buffer = pair.b,
                                          .offset = 16};
    const struct hd_kernel *kernel = hd_program_find(rig->program, "paint");
    const int *texels = (const int *)hd_buffer_host(pair.b) + 4;
    int64_t at = 16 * KIB;
    struct hd_image *to;

    CHECK_OK(hdi_image_create(rig->launcher, &shape, &to, &error), error);
    const struct hd_arg args[] = {
        HD_BUFFER(pair.a),
        {.is = HD_IS_BUFFER, .buffer = pair.b, .offset = 16},
        HD_VALUE(at),
        HD_IMAGE(to)};
    CHECK_FAILS(hdi_launch_with(rig->launcher, kernel, &range, args, 4,
                                &(struct hdi_terms){0}, &error),
                HD_EFAULT, error,
                "rig.cl:87: work-item (101, 0, 0) of work-group (1, 0, 0)");
    for (int i = 0; i < ITEMS; i++)
        CHECK(texels[i] <= 1);
    hd_image_destroy(to);
    free_pair(&pair);
}

// Buffers and local memory, in a runtime that follows another.
static void what_others_left_does_not_show(void)
{
    static const char *const names[] = {"mark", "look"};

    for (int i = 0; i < 2; i++) {
        struct rig rig =
            rig_set_up((struct hd_pool_params){.workers = 1},
                       (struct hdi_device_params){.units = 0}, source);
        struct pair pair = make_pair(&rig);
        const int *b = hd_buffer_host(pair.b);
        CHECK_OK(launch(&rig, &pair, names[i], 0), error);
        for (int k = 0; k < ITEMS; k++)
            CHECK(b[k] == (i == 0 ? 0x5a5a5a5a : 0));
        free_pair(&pair);
        rig_tear_down(&rig);
    }
}

// What lives across a barrier is in the stack of its work-item, or in its
// coroutine: with guard pages each of these ends where nothing is.
static void private_memory_is_the_work_items(struct rig *rig, const char *form,
                                             int64_t at)
{
    const struct hdi_program_context context = {.device = rig->device};
    const struct hd_program_params params = {
        .path = "rig.cl", .source = source, .options = form};
    struct hd_program *own = rig->program;
    struct pair pair = make_pair(rig);

    CHECK_OK(hdi_program_create(&context, &params, &rig->program, &error),
             error);
    for (int i = 0; i < 3; i++) {
        FAULT(rig, &pair, "carried", at, "rig.cl:127",
              "work-item (100, 0, 0) of work-group (1, 0, 0) writes",
              " bytes past the end of its private memory of");
        FAULT(rig, &pair, "carried", -100 * KIB, "rig.cl:127",
              "work-item (100, 0, 0) of work-group (1, 0, 0) writes",
              " bytes before the begin of its private memory of");
        CHECK_OK(launch(rig, &pair, "carried", 3), error);
        for (int k = 0; k < ITEMS; k++)
            CHECK(((int *)hd_buffer_host(pair.b))[k] == (k % GROUP ^ 1));
    }
    hd_program_destroy(rig->program);
    rig->program = own;
    free_pair(&pair);
}

// The very next element, whatever the size.
static void guarded_buffers_end_where_their_bytes_do(void)
{
    static const uint64_t sizes[] = {4, 100, 4096, 4100, 65536, 65540, 1000000};
    struct rig rig =
        rig_set_up((struct hd_pool_params){.workers = 1},
                   (struct hdi_device_params){.guard = true}, source);

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct pair pair;
        char size[64];
        int64_t count = (int64_t)(sizes[i] / 4);
        snprintf(size, sizeof(size), "buffer of %d bytes", (int)sizes[i]);
        CHECK_OK(hdi_buffer_create(rig.launcher, sizes[i], &pair.a, &error),
                 error);
        CHECK_OK(hdi_buffer_create(rig.launcher, ITEMS * 4, &pair.b, &error),
                 error);
        CHECK_OK(launch(&rig, &pair, "store", count - 1), error);
        CHECK(((int *)hd_buffer_host(pair.a))[count - 1] == 1);
        FAULT(&rig, &pair, "store", count, "rig.cl:5", "writes",
              " 0 bytes past the end of argument 0, 'a'", size);
        FAULT(&rig, &pair, "load", count - ITEMS + 1, "rig.cl:9", "reads",
              "past the end of argument 0, 'a'");
        free_pair(&pair);
    }
    private_memory_is_the_work_items(&rig, "-heddle-form=coroutine", 256);
    rig_tear_down(&rig);
}

// Constant arguments ----------------------------------------------------------

static hd_status stamp(struct rig *rig, const struct pair *pair,
                       struct hd_buffer *constant, int64_t at)
{
    const struct hd_arg args[] = {HD_BUFFER(pair->a), HD_BUFFER(pair->b),
                                  HD_VALUE(at), HD_BUFFER(constant)};

    return hdi_launch_with(rig->launcher,
                           hd_program_find(rig->program, "stamp"), &range, args,
                           4, &(struct hdi_terms){0}, &error);
}

static void constant_arguments_are_read_only(struct rig *rig)
{
    struct pair pair = make_pair(rig), other = make_pair(rig);
    int *c = hd_buffer_host(other.a), value = 3;

    for (int i = 0; i < 3; i++) {
        CHECK_FAILS(stamp(rig, &pair, other.a, 10), HD_EFAULT, error,
                    "rig.cl:96: work-item (77, 0, 0) of work-group (1, 0, 0) "
                    "writes");
        CHECK(strstr(error.text, ", byte 40 of the buffer of 65536 bytes: "
                                 "constant argument 3, 'c', is read-only"));
        CHECK(c[10] == 0);
    }
    // Nobody has it any more.
    c[10] = 2;
    CHECK_OK(hd_buffer_write(other.a, 0, &value, sizeof(value), &error), error);
    CHECK_OK(launch(rig, &other, "store", 11), error);
    CHECK(c[0] == 3 && c[10] == 2 && c[11] == 1);
    // It is an argument that may be written too.
    CHECK_OK(stamp(rig, &other, other.a, 10), error);
    CHECK_OK(stamp(rig, &(struct pair){pair.a, other.a}, other.a, 1000), error);
    CHECK(c[10] == 5 && c[1000] == 5);
    CHECK_FAILS(stamp(rig, &pair, other.a, 16 * KIB), HD_EFAULT, error,
                " 0 bytes past the end of argument 3, 'c'");
    free_pair(&pair);
    free_pair(&other);
}

static void nobody_asked_for_read_only(struct rig *rig)
{
    struct pair pair = make_pair(rig), other = make_pair(rig);

    CHECK_OK(stamp(rig, &pair, other.a, 10), error);
    CHECK(((int *)hd_buffer_host(other.a))[10] == 5);
    free_pair(&pair);
    free_pair(&other);
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
        hdi_launch(h->rig->launcher, hd_program_find(h->rig->program, "hold"),
                   &one, args, 4, NULL, HD_PRIORITY_NORMAL, &e);
    return NULL;
}

static void *volatile page;
static volatile int handled;

static void mend(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    if (info->si_addr != page)
        _exit(3);
    handled++;
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
}

// While a launch has a buffer as a constant.
static void others_write_constants(struct rig *rig)
{
    struct pair mine = make_pair(rig), other = make_pair(rig);
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
                HD_EFAULT, error, "rig.cl:103: work-item (78, 0, 0)");
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
    memset(c, 0, 64 * KIB);
    free_pair(&mine);
    free_pair(&other);
    free_pair(&holder.pair);
}

static int printed[ITEMS];

static void note(void *data, const char *text, size_t size)
{
    (void)data, (void)size;
    printed[atoi(text)]++;
}

// The search for the work-item leaves no traces.
static void the_search_is_not_seen(void)
{
    struct rig rig =
        rig_set_up((struct hd_pool_params){.workers = 1},
                   (struct hdi_device_params){.print = {note, NULL}}, source);
    struct pair pair = make_pair(&rig);
    const int *b = hd_buffer_host(pair.b);

    FAULT(&rig, &pair, "once", 16 * KIB,
          "work-item (100, 0, 0) of work-group (1, 0, 0)");
    for (int i = 0; i < ITEMS; i++)
        CHECK(b[i] <= 1 && printed[i] <= 1);
    free_pair(&pair);
    rig_tear_down(&rig);
}

// Of what it writes, the search copies what is touched.
static void large_buffers_are_searched(struct rig *rig)
{
    const uint64_t size = 3ull << 30;
    struct pair pair = make_pair(rig);
    struct hd_buffer *small = pair.a;
    int64_t last = (int64_t)(size / sizeof(int)) - 1;

    CHECK_OK(hdi_buffer_create(rig->launcher, size, &pair.a, &error), error);
    ((int *)hd_buffer_host(pair.a))[last] = 77;
    FAULT(rig, &pair, "follow", last, "rig.cl:116",
          "work-item (77, 0, 0) of work-group (1, 0, 0)",
          " 0 bytes past the end of argument 0, 'a'");
    free_pair(&pair);
    hd_buffer_destroy(small);
}

// Binaries have no source; with -g they hold what the search needs.
static void a_binary_is_searched(struct rig *rig, const char *options)
{
    const struct hdi_program_context context = {.device = rig->device};
    const struct hd_program_params params = {
        .path = "rig.cl", .source = source, .options = options};
    struct hd_program *built, *own = rig->program;
    struct hd_program_part parts[2] = {
        {.path = "other.cl",
         .source = "kernel void other(global int *a) { a[0] = 1; }\n"}};
    const struct hd_program_params both = {.parts = parts, .part_count = 2};
    struct pair pair = make_pair(rig);
    void *binary;

    CHECK_OK(hdi_program_create(&context, &params, &built, &error), error);
    CHECK_OK(hd_program_binary(built, &binary, &parts[1].binary_size, &error),
             error);
    hd_program_destroy(built);
    parts[1].binary = binary;
    CHECK_OK(hdi_program_create(&context, &both, &rig->program, &error), error);
    if (*options)
        FAULT(rig, &pair, "store", 16 * KIB, "rig.cl:5",
              "work-item (100, 0, 0) of work-group (1, 0, 0)");
    else
        FAULT(rig, &pair, "store", 16 * KIB, "rig.cl:5", "a work-item of",
              "; the work-item is not named, since the binary has no checked "
              "code of the kernel: build it with -g");
    hd_program_destroy(rig->program);
    rig->program = own;
    free(binary);
    free_pair(&pair);
}

// Where it does something else the second time, that is said.
static void a_search_may_find_nothing(struct rig *rig)
{
    struct pair pair = make_pair(rig);

    FAULT(rig, &pair, "change", 16 * KIB, "rig.cl:134: a work-item of",
          "; the work-item did not fault again when the work-groups ran again");
    free_pair(&pair);
}

static void a_null_pointer_is_named(struct rig *rig)
{
    struct pair pair = make_pair(rig), half = {NULL, pair.b};

    FAULT(rig, &half, "store", 0, "null pointer as is argument 0, 'a'");
    free_pair(&pair);
}

static void the_least_integer_over_minus_one_ends_nothing(struct rig *rig)
{
    struct pair pair = make_pair(rig);
    int *a = hd_buffer_host(pair.a);

    a[5] = INT32_MIN;
    a[0] = -1;
    hd_status status = launch(rig, &pair, "divide", 0);
    CHECK(status == HD_OK || status == HD_EFAULT);
    everything_goes_on(rig, &pair);
    free_pair(&pair);
}

static void a_thousand_faults_are_a_thousand_errors(struct rig *rig)
{
    static const char *const names[] = {"store", "load", "in_local",
                                        "in_private", "divide"};
    struct pair pair = make_pair(rig);

    for (int i = 0; i < MANY; i++) {
        const char *name = names[i % 5];
        int64_t at = i % 5 == 4 ? 0 : 16 * KIB + (i * 37) % (200 * KIB);
        CHECK_FAILS(launch(rig, &pair, name, at), HD_EFAULT, error, name);
        CHECK(strstr(error.text, "past the end of") ||
              strstr(error.text, "divides"));
        if (i % 100 == 0)
            everything_goes_on(rig, &pair);
    }
    everything_goes_on(rig, &pair);
    free_pair(&pair);
}

// Launches of many threads, every other one of which faults.
static void *mix(void *data)
{
    struct rig *rig = data;
    struct pair pair = make_pair(rig);
    const struct hd_kernel *fine = hd_program_find(rig->program, "fine"),
                           *store = hd_program_find(rig->program, "store");

    for (int i = 0; i < 50; i++) {
        struct hd_error e;
        int64_t at = -(1ll << 33);
        struct hd_arg args[] = {HD_BUFFER(pair.a), HD_BUFFER(pair.b),
                                HD_VALUE(at)};
        CHECK(hdi_launch(rig->launcher, store, &range, args, 3, NULL,
                         HD_PRIORITY_NORMAL, &e) == HD_EFAULT);
        CHECK(hdi_launch(rig->launcher, fine, &range, args, 3, NULL,
                         HD_PRIORITY_NORMAL, &e) == HD_OK);
        for (int k = 0; k < ITEMS; k++)
            CHECK(((int *)hd_buffer_host(pair.b))[k] == k);
    }
    free_pair(&pair);
    return NULL;
}

static void other_launches_go_on(struct rig *rig)
{
    pthread_t threads[4];

    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, mix, rig) == 0);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

// Endless kernels -------------------------------------------------------------

static void a_time_limit_ends_a_kernel(struct rig *rig)
{
    struct pair pair = make_pair(rig);
    const struct hdi_terms terms = {.time_limit = 50000000};

    for (int i = 0; i < 3; i++) {
        CHECK_FAILS(launch_with(rig, &pair, "endless", 0, &terms), HD_ETIMEOUT,
                    error, "time limit of 0.050 s");
        everything_goes_on(rig, &pair);
    }
    const struct hdi_terms enough = {.time_limit = 1000000000000};
    CHECK_OK(launch_with(rig, &pair, "fine", 0, &enough), error);
    free_pair(&pair);
}

struct canceller {
    struct rig *rig;
    struct hd_group *group; // NULL: the flag
    atomic_bool flag;
    volatile int *started;
};

static void *cancel(void *data)
{
    struct canceller *c = data;

    while (*c->started == 0)
        ;
    if (c->group) {
        hd_group_cancel(c->rig->pool, c->group);
    } else {
        atomic_store(&c->flag, true);
        hdi_stop_poke(c->rig->launcher);
    }
    return NULL;
}

static void a_cancellation_ends_a_kernel(struct rig *rig)
{
    struct pair pair = make_pair(rig);

    for (int i = 0; i < 20; i++) {
        struct hd_group group;
        struct canceller c = {.rig = rig, .group = i % 2 ? &group : NULL};
        const struct hdi_terms terms = {.cancel = &c.flag, .group = &group};
        pthread_t thread;

        hd_group_init(&group);
        c.started = hd_buffer_host(pair.b);
        *c.started = 0;
        CHECK(pthread_create(&thread, NULL, cancel, &c) == 0);
        CHECK_FAILS(launch_with(rig, &pair, "endless", 0, &terms), HD_ECANCELED,
                    error, "cancelled");
        CHECK(pthread_join(thread, NULL) == 0);
    }
    everything_goes_on(rig, &pair);
    free_pair(&pair);
}

struct both {
    struct rig *rig;
    struct pair pair;
    hd_status status;
};

static void call_endless(struct hd_worker *worker, void *data)
{
    struct both *b = data;
    struct hd_group group;

    // The launch belongs to whatever its caller belongs to.
    hd_group_init(&group);
    CHECK(hd_scope_begin(worker, &group) == HD_OK);
    struct canceller c = {.rig = b->rig, .group = &group};
    pthread_t thread;
    c.started = hd_buffer_host(b->pair.b);
    CHECK(pthread_create(&thread, NULL, cancel, &c) == 0);
    b->status = launch(b->rig, &b->pair, "endless", 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(hd_scope_end(worker) == HD_ECANCELED);
}

static void a_launch_inside_a_cancelled_task_ends(struct rig *rig)
{
    struct both b = {.rig = rig, .pair = make_pair(rig)};

    hd_pool_run(rig->pool, call_endless, &b);
    CHECK(b.status == HD_ECANCELED);
    everything_goes_on(rig, &b.pair);
    free_pair(&b.pair);
}

static void *cancel_pool(void *data)
{
    struct canceller *c = data;

    while (*c->started == 0)
        ;
    hd_pool_cancel(c->rig->pool);
    return NULL;
}

// The last test of a rig: nothing runs on a pool that was cancelled.
static void a_cancelled_pool_ends_its_launches(struct rig *rig)
{
    struct pair pair = make_pair(rig);
    struct canceller c = {.rig = rig, .started = hd_buffer_host(pair.b)};
    pthread_t thread;

    CHECK(pthread_create(&thread, NULL, cancel_pool, &c) == 0);
    CHECK_FAILS(launch(rig, &pair, "endless", 0), HD_ECANCELED, error,
                "cancelled");
    CHECK(pthread_join(thread, NULL) == 0);
    free_pair(&pair);
}

// The application's own handlers ----------------------------------------------

static struct sigaction before_mine;

static void pass(int number, siginfo_t *info, void *context)
{
    handled += 100;
    before_mine.sa_sigaction(number, info, context);
}

static void touch_own_page(void)
{
    page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    *(volatile char *)page = 1;
    CHECK(munmap(page, 4096) == 0);
}

static void the_applications_handlers_work(struct rig *rig)
{
    struct pair pair = make_pair(rig);
    struct sigaction mine = {.sa_sigaction = mend, .sa_flags = SA_SIGINFO};
    struct sigaction was;

    // Installed after ours.
    CHECK(launch(rig, &pair, "fine", 0) == HD_OK);
    CHECK(sigaction(SIGSEGV, &mine, &was) == 0);
    for (int i = 1; i < 4; i++) {
        handled = 0;
        touch_own_page();
        CHECK(handled == 1);
        CHECK_FAILS(launch(rig, &pair, "store", 16 * KIB), HD_EFAULT, error,
                    "past the end");
        CHECK(handled == 1);
    }
    // One that calls what was there before it.
    mine.sa_sigaction = pass;
    CHECK(sigaction(SIGSEGV, &mine, &before_mine) == 0);
    for (int i = 1; i < 4; i++) {
        handled = 0;
        touch_own_page();
        CHECK(handled == 101);
        CHECK_FAILS(launch(rig, &pair, "store", 16 * KIB), HD_EFAULT, error,
                    "past the end");
        CHECK(handled == 101);
    }
    CHECK(sigaction(SIGSEGV, &was, NULL) == 0);
    free_pair(&pair);
}

int main(void)
{
    static const struct {
        struct hd_pool_params pool;
        struct hdi_device_params device;
    } kinds[] = {
        {.pool = {.workers = 2}},
        {.pool = {.workers = 1, .caller_only = true}},
        {.pool = {.workers = 2}, .device = {.units = 2}},
        {.pool = {.workers = 1}, .device = {.units = 1, .unit_cores = 2}},
    };

    if (HOLDS_SIGNALS)
        SKIP("ThreadSanitizer holds signals back until a kernel ends");
    guarded_buffers_end_where_their_bytes_do();
    what_others_left_does_not_show();
    the_search_is_not_seen();
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct rig rig = rig_set_up(kinds[i].pool, kinds[i].device, source);
        a_stray_access_is_attributed(&rig);
        a_kernel_that_paints_is_attributed(&rig);
        if (i % 2 == 0) // on a worker, on a unit
            private_memory_is_the_work_items(&rig, "-heddle-form=coroutine",
                                             100 * KIB);
        if (i == 0)
            large_buffers_are_searched(&rig);
        a_search_may_find_nothing(&rig);
        if (i == 0 && hdi_digest_is_there()) {
            a_binary_is_searched(&rig, "-g");
            a_binary_is_searched(&rig, "");
        }
        nobody_asked_for_read_only(&rig);
        rig.launcher->seals = true;
        constant_arguments_are_read_only(&rig);
        if (kinds[i].pool.workers > 1 && kinds[i].device.units == 0)
            others_write_constants(&rig); // two leaves run, wherever they are
        rig.launcher->seals = false;
        a_null_pointer_is_named(&rig);
        the_least_integer_over_minus_one_ends_nothing(&rig);
        a_thousand_faults_are_a_thousand_errors(&rig);
        if (!kinds[i].pool.caller_only)
            other_launches_go_on(&rig);
        a_time_limit_ends_a_kernel(&rig);
        a_cancellation_ends_a_kernel(&rig);
        a_launch_inside_a_cancelled_task_ends(&rig);
        the_applications_handlers_work(&rig);
        a_cancelled_pool_ends_its_launches(&rig);
        rig_tear_down(&rig);
    }
    return 0;
}
