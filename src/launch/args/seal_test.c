// Constant arguments that many threads share, while others write them: nobody
// who may write is kept from it, and in the end everybody may.
#include "launch/args/bound.h"

#include "tests/launch/rig.h"

static const char source[] =
    "kernel void take(constant int *c, global int *to)\n"
    "{\n"
    "    to[get_global_id(0)] = c[get_global_id(0)];\n"
    "}\n"
    "kernel void give(global int *c, global int *to)\n"
    "{\n"
    "    to[get_global_id(0)] = c[get_global_id(0)] = get_global_id(0);\n"
    "}\n"
    "kernel void trade(constant int *c, global int *to, global int *d)\n"
    "{\n"
    "    to[get_global_id(0)] = c[get_global_id(0)];\n"
    "    d[get_global_id(0)] = get_global_id(0);\n"
    "}\n";

enum {
    ITEMS = 128,
    SIZE = 3 << 20, // of buffers that have no views [bytes]
    THREADS = 4,
    SHARED = 2,
    ROUNDS = 100,
    TIMES = 200
};

// Element i is always i.
static struct hd_buffer *shared[SHARED];
static struct rig rig;

static void run(const char *name, const struct hd_arg *args, unsigned count)
{
    static const struct hd_range range = {
        .dims = 1, .global = {ITEMS}, .local = {16}};
    struct hd_error e;

    CHECK_OK(
        hdi_launch(rig.launcher,
                   &(struct hdi_request){hd_program_find(rig.program, name),
                                         &range, args, count},
                   NULL, HD_PRIORITY_NORMAL, &e),
        e);
}

// Each writes a part of its own.
static void write_part(struct hd_buffer *to, unsigned thread)
{
    enum {
        PART = ITEMS / THREADS
    };
    int part[PART];
    struct hd_error e;

    for (unsigned i = 0; i < PART; i++)
        part[i] = (int)(thread * PART + i);
    CHECK_OK(hd_buffer_write(to, thread * sizeof(part), part, sizeof(part), &e),
             e);
}

static void *use(void *data)
{
    unsigned thread = (unsigned)(uintptr_t)data;
    const struct hd_kernel *take = hd_program_find(rig.program, "take");
    struct hd_buffer *own;
    struct hd_error e;

    CHECK_OK(hdi_buffer_create(rig.launcher, ITEMS * sizeof(int), &own, &e), e);
    const int *got = hd_buffer_host(own);
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct hd_buffer *c = shared[(i / 5 + thread) % SHARED];
        const struct hd_arg args[] = {HD_BUFFER(c), HD_BUFFER(own),
                                      HD_BUFFER(c)};
        struct hdi_bound bound[2];
        switch ((i + thread) % 5) {
        case 0:
            for (unsigned k = 0; k < TIMES; k++)
                write_part(c, thread);
            continue;
        case 3:
            for (unsigned k = 0; k < TIMES; k++) {
                hdi_bind(&(struct hdi_request){take, NULL, args, 2}, bound);
                hdi_bound_seal(bound, 2, 1);
                hdi_bound_seal(bound, 2, -1);
            }
            continue;
        case 1:
            run("give", args, 2);
            break;
        case 2:
            run("trade", args, 3);
            break;
        default:
            run("take", args, 2);
        }
        for (int k = 0; k < ITEMS; k++)
            CHECK(got[k] == k);
    }
    hd_buffer_destroy(own);
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];

    rig = rig_set_up((struct hd_pool_params){.workers = 2},
                     (struct hdi_device_params){.units = 0}, source);
    rig.launcher->seals = true;
    for (int s = 0; s < SHARED; s++) {
        CHECK_OK(hdi_buffer_create(rig.launcher, SIZE, &shared[s], &error),
                 error);
        for (int i = 0; i < ITEMS; i++)
            ((int *)hd_buffer_host(shared[s]))[i] = i;
    }
    for (uintptr_t i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, use, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    for (int s = 0; s < SHARED; s++) {
        CHECK(shared[s]->readers == 0 && shared[s]->writers == 0);
        memset(hd_buffer_host(shared[s]), 0, ITEMS * sizeof(int));
        hd_buffer_destroy(shared[s]);
    }
    rig_tear_down(&rig);
    return 0;
}
