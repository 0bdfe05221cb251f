// Kernels that touch what is not theirs: the launch fails and says why, and
// everything else goes on.
#include <fenv.h>
#include <pthread.h>

#include "tests/launch/stray.h"

static const char source[] = STRAY_KERNELS
    "kernel void in_local(global int *a, global int *b, long at,\n"
    "                     local int *tile)\n"
    "{\n"
    "    tile[get_local_id(0)] = 1;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    tile[at + get_local_id(0)] = 2;\n" // line 20
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    b[get_global_id(0)] = tile[get_local_id(0) / 2];\n"
    "}\n"
    "kernel void in_private(global int *a, global int *b, long at)\n"
    "{\n"
    "    int p[16];\n"
    "    for (int i = 0; i < 16; i++)\n"
    "        p[i] = a[i];\n"
    "    p[at + a[0]] = 2;\n" // line 29
    "    b[get_global_id(0)] = p[a[1] & 15];\n"
    "}\n"
    "kernel void divide(global int *a, global int *b, long at)\n"
    "{\n"
    "    b[get_global_id(0)] = as_float(a[5]) / as_float(a[at]);\n" // line 34
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
    "constant int table[64] = {1, 2, 3};\n"
    "kernel void constant_too(global int *a, global int *b, long at)\n"
    "{\n"
    "    int i = (int)get_global_id(0);\n"
    "    global int *p = (global int *)(ulong)&table[a[i] & 63];\n"
    "    b[i] = table[(i + a[0]) & 63];\n"
    "    if (i == 77)\n"
    "        p[at] = 1;\n"
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
    "kernel void carried(global int *a, global int *b, long at,\n"
    "                    local int *tile)\n"
    "{\n"
    "    int p[16], l = (int)get_local_id(0);\n"
    "    for (int i = 0; i < 16; i++)\n"
    "        p[i] = a[i];\n"
    "    tile[l] = l;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    if (get_global_id(0) == 100)\n"
    "        p[at] = 2;\n" // line 76
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    b[get_global_id(0)] = p[a[1] & 15] + tile[l ^ 1];\n"
    "}\n"
    "kernel void carried_first(global int *a, global int *b, long at)\n"
    "{\n"
    "    int p[16];\n"
    "    for (int i = 0; i < 16; i++)\n"
    "        p[i] = a[i];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    if (get_local_id(0) == 0 && get_group_id(0) == 2)\n"
    "        p[at] = 2;\n" // line 87
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    b[get_global_id(0)] = p[a[1] & 15];\n"
    "}\n"
    "typedef struct { int of[1024]; } block;\n"
    "__attribute__((noinline))\n"
    "void third(global block *to, global const block *from)\n"
    "{\n"
    "    *to = *from;\n" // line 95
    "}\n"
    "__attribute__((noinline))\n"
    "void second(global block *to, global const block *from)\n"
    "{\n"
    "    third(to, from);\n"
    "    to->of[0]++;\n"
    "}\n"
    "__attribute__((noinline))\n"
    "void first(global block *to, global const block *from)\n"
    "{\n"
    "    second(to, from);\n"
    "    to->of[1]++;\n"
    "}\n"
    "kernel void deep(global int *a, global int *b, long at)\n"
    "{\n"
    "    b[get_global_id(0)] = 1;\n"
    "    barrier(CLK_GLOBAL_MEM_FENCE);\n"
    "    if (get_global_id(0) == 100)\n"
    "        first((global block *)(a + at), (global const block *)b);\n"
    "    barrier(CLK_GLOBAL_MEM_FENCE);\n"
    "    b[get_global_id(0)]++;\n"
    "}\n";

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
    FAULT(rig, &pair, "in_local", 100 * KIB, "rig.cl:20", "writes",
          "past the end of argument 3, 'tile': local memory of 256 bytes");
    FAULT(rig, &pair, "in_local", 1, "rig.cl:20", "writes",
          " 0 bytes past the end of argument 3, 'tile'");
    // Below there is no inaccessible page: the write is found when its group
    // ends.
    FAULT(rig, &pair, "in_local", -1, "rig.cl:20", "work-item (", "writes",
          " 4 bytes before the begin of argument 3, 'tile'");
    FAULT(rig, &pair, "in_local", -20, "rig.cl:20", "work-item (", "writes",
          " 80 bytes before the begin of argument 3, 'tile'");
    FAULT(rig, &pair, "in_private", 100 * KIB, "writes",
          "past the end of the private memory of");
    FAULT(rig, &pair, "carried_first", -1, "rig.cl:87",
          "work-item (128, 0, 0) of work-group (2, 0, 0)", "writes",
          " 4 bytes before the begin of the private memory of");
    FAULT(rig, &pair, "spiral", 4 * KIB, "rig.cl:65", "work-item (201, 0, 0)",
          " 0 bytes past the end of argument 0, 'a'");
    FAULT(rig, &pair, "constant_too", 0, "rig.cl:56", "work-item (77, 0, 0)",
          "writes", "in a constant of the program");
    everything_goes_on(rig, &pair);
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
// coroutine: there is nothing on either side of it, with guard pages right
// behind.
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
        FAULT(rig, &pair, "carried", at, "rig.cl:76",
              "work-item (100, 0, 0) of work-group (1, 0, 0) writes",
              " bytes past the end of its private memory of");
        FAULT(rig, &pair, "carried", -KIB, "rig.cl:76",
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

// The C library copies the block, three calls deep, on the worker's stack or on
// a fiber's.
static void a_fault_in_a_callee_is_the_kernels(struct rig *rig)
{
    static const char *const forms[] = {
        "-heddle-form=loops", "-heddle-form=coroutine", "-heddle-form=thread"};
    const struct hdi_program_context context = {.device = rig->device};
    struct hd_program *own = rig->program;
    struct pair pair = make_pair(rig);

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        const struct hd_program_params params = {
            .path = "rig.cl", .source = source, .options = forms[i]};
        CHECK_OK(hdi_program_create(&context, &params, &rig->program, &error),
                 error);
        FAULT(rig, &pair, "deep", 16 * KIB, "rig.cl:95",
              " of work-group (1, 0, 0) writes",
              " bytes past the end of argument 0, 'a'");
        hd_program_destroy(rig->program);
    }
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

static void a_null_pointer_is_named(struct rig *rig)
{
    struct pair pair = make_pair(rig), half = {NULL, pair.b};

    FAULT(rig, &half, "store", 0, "null pointer as is argument 0, 'a'");
    free_pair(&pair);
}

// Exceptions that the application's threads have enabled, as those they make.
static void enabled_exceptions_are_named(void)
{
    CHECK(feenableexcept(FE_DIVBYZERO) == 0);
    struct rig rig = rig_set_up((struct hd_pool_params){.workers = 2},
                                (struct hdi_device_params){.units = 0}, source);
    struct pair pair = make_pair(&rig);
    ((float *)hd_buffer_host(pair.a))[5] = 1;
    FAULT(&rig, &pair, "divide", 0, "rig.cl:34", ") of work-group",
          "raises a floating-point exception");
    CHECK(fedisableexcept(FE_DIVBYZERO) == FE_DIVBYZERO);
    free_pair(&pair);
    rig_tear_down(&rig);
}

static void a_thousand_faults_are_a_thousand_errors(struct rig *rig)
{
    static const char *const names[] = {"store", "load", "in_local",
                                        "in_private"};
    struct pair pair = make_pair(rig);

    for (int i = 0; i < 1000; i++) {
        const char *name = names[i % 4];
        int64_t at = 16 * KIB + (i * 37) % (200 * KIB);
        CHECK_FAILS(launch(rig, &pair, name, at), HD_EFAULT, error, name);
        CHECK(strstr(error.text, "past the end of"));
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
        CHECK(hdi_launch(rig->launcher,
                         &(struct hdi_request){store, &range, args, 3}, NULL,
                         HD_PRIORITY_NORMAL, &e) == HD_EFAULT);
        CHECK(hdi_launch(rig->launcher,
                         &(struct hdi_request){fine, &range, args, 3}, NULL,
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

static void test(struct rig *rig, const struct kind *kind)
{
    a_stray_access_is_attributed(rig);
    if (kind->pool.workers > 1) // on a worker, on a unit
        private_memory_is_the_work_items(rig, "-heddle-form=coroutine", KIB);
    a_fault_in_a_callee_is_the_kernels(rig);
    a_null_pointer_is_named(rig);
    a_thousand_faults_are_a_thousand_errors(rig);
    if (!kind->pool.caller_only)
        other_launches_go_on(rig);
}

int main(void)
{
    if (HOLDS_SIGNALS)
        SKIP("ThreadSanitizer holds signals back until a kernel ends");
    guarded_buffers_end_where_their_bytes_do();
    what_others_left_does_not_show();
    enabled_exceptions_are_named();
    on_every_kind(source, test);
    return 0;
}
