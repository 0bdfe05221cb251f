// One launch on CPU and GPU together, on the fake driver: right wherever its
// parts ran, both ran some, and no more is copied than the parts touch.
#include <math.h>
#include <stdint.h>

#include "heddle/heddle.h"
#include "kernel/program.h"
#include "launch/launch.h"
#include "runtime/runtime.h"
#include "tests/check.h"
#include "tests/cuda/fake.h"

enum {
    CPU,
    GPU,
    WIDE = 96,
    HIGH = 64,
    N = WIDE * HIGH,
    ROW = 4 * WIDE, // [bytes]
    LOCAL = 32
};

static const struct fake_cuda *fake;
static struct hd_error error;

static const char source[] =
    "kernel void twice(global float *to, global const float *from) {\n"
    "    size_t i = get_global_id(0);\n"
    "    to[i] = 2 * from[i] + get_group_id(0);\n"
    "}\n"
    "kernel void add(global int *x, int by) {\n"
    "    x[get_global_id(0)] += by;\n"
    "}\n"
    "kernel void fresh(global int *x, int by) {\n"
    "    x[get_global_id(0)] += by;\n"
    "}\n"
    "kernel void once(global int *x, int by) {\n"
    "    x[get_global_id(0)] += by;\n"
    "}\n"
    "kernel void follow(global int *steps, global const int *next) {\n"
    "    int at = get_global_id(0), n = 0;\n"
    "    for (; next[at] != at; n++)\n"
    "        at = next[at];\n"
    "    steps[get_global_id(0)] = n;\n"
    "}\n"
    "kernel void back(global int *to, global const int *from, ulong n) {\n"
    "    size_t i = get_global_id(0);\n"
    "    to[n - 1 - i] = from[i];\n"
    "}\n"
    "kernel void gather(global int *to, global const int *from,\n"
    "                   global const int *at) {\n"
    "    size_t i = get_global_id(0);\n"
    "    to[i] = from[at[i]];\n"
    "}\n"
    "kernel void smooth(global int *to, global const int *from, int high) {\n"
    "    int x = get_global_id(0), y = get_global_id(1);\n"
    "    int w = get_global_size(0), sum = 0;\n"
    "    for (int d = -1; d <= 1; d++)\n"
    "        sum += from[clamp(y + d, 0, high - 1) * w + x];\n"
    "    to[y * w + x] = sum;\n"
    "}\n"
    "kernel void sums(global int *to, global const int *from, local int *t) {\n"
    "    size_t l = get_local_id(0), n = get_local_size(0);\n"
    "    t[l] = from[get_global_id(0)];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    for (size_t k = n / 2; k > 0; k /= 2) {\n"
    "        if (l < k) t[l] += t[l + k];\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    }\n"
    "    if (l == 0) to[get_group_id(0)] = t[0];\n"
    "}\n"
    "kernel void count(global int *bins, global const int *x) {\n"
    "    atomic_inc(&bins[x[get_global_id(0)] & 15]);\n"
    "}\n"
    "global int calls;\n"
    "kernel void remember(global int *x) {\n"
    "    if (get_global_id(0) == 0) x[0] = ++calls;\n"
    "}\n";

struct rig {
    struct hd_runtime *runtime;
    struct hd_program *program, *keeper;
};

static struct rig open_all(void)
{
    const struct hd_runtime_params params = {
        .device = "all", .workers = 2, .no_cache = true};
    struct hd_program_params what = {.path = "joint.cl", .source = source};
    struct rig r;

    CHECK_OK(hd_runtime_create(&params, &r.runtime, &error), error);
    // Variables of the program go with the last kernel alone.
    char *cut = strdup(source);
    *strstr(cut, "global int calls;") = '\0';
    what.source = cut;
    CHECK_OK(hd_program_create(r.runtime, &what, &r.program, &error), error);
    free(cut);
    what.source = strstr(source, "global int calls;");
    what.options = "-cl-std=CL3.0";
    CHECK_OK(hd_program_create(r.runtime, &what, &r.keeper, &error), error);
    return r;
}

static void close_all(struct rig *r)
{
    hd_program_destroy(r->program);
    hd_program_destroy(r->keeper);
    hd_runtime_destroy(r->runtime);
}

static struct hd_buffer *filled(const struct rig *r, const int *from,
                                uint64_t size)
{
    struct hd_buffer *b;

    CHECK_OK(hd_buffer_create(r->runtime, size, &b, &error), error);
    if (from)
        CHECK_OK(hd_buffer_write(b, 0, from, size, &error), error);
    return b;
}

static struct hd_device_info info_of(const struct rig *r, unsigned device)
{
    struct hd_device_info info;

    CHECK_OK(hd_runtime_device_info(r->runtime, device, &info, &error), error);
    return info;
}

// As if it had been measured: so long a work-item takes [ns], 0: never.
static void pretend(const struct rig *r, const struct hd_kernel *kernel,
                    uint64_t cpu, uint64_t gpu)
{
    const uint64_t paces[] = {cpu, gpu};

    for (unsigned i = 0; i < 2; i++) {
        const struct hd_kernel *k =
            hdi_kernel_on(kernel, r->runtime->devices[i]);
        CHECK(k);
        atomic_store(&k->learned->pace, paces[i] * 1024);
    }
}

struct ran {
    uint64_t cpu, gpu;       // work-groups
    uint64_t to_cpu, to_gpu; // copied [bytes]
};

// With equal paces of so many nanoseconds.
static struct ran launch(const struct rig *r, const char *name,
                         struct hd_range range, const struct hd_arg *args,
                         unsigned count, uint64_t cpu, uint64_t gpu)
{
    const struct hd_kernel *k = hd_program_find(r->program, name);
    struct hd_device_info before[2] = {info_of(r, CPU), info_of(r, GPU)};

    CHECK(k);
    pretend(r, k, cpu, gpu);
    CHECK_OK(hd_launch(r->runtime, k, &range, args, count, &error), error);
    struct ran ran = {.cpu = info_of(r, CPU).groups - before[CPU].groups,
                      .gpu = info_of(r, GPU).groups - before[GPU].groups,
                      .to_cpu = info_of(r, CPU).copied - before[CPU].copied,
                      .to_gpu = info_of(r, GPU).copied - before[GPU].copied};
    return ran;
}

static const struct hd_range line = {
    .dims = 1, .global = {N}, .local = {LOCAL}};

enum {
    SLOW = 100000 // of a work-item: dividing pays [ns]
};

static void both_run_parts_and_only_those_are_copied(const struct rig *r)
{
    static float in[N], out[N];
    struct hd_buffer *to = filled(r, NULL, sizeof(out));

    for (int i = 0; i < N; i++)
        in[i] = (float)(i % 1000);
    struct hd_buffer *from = filled(r, (int *)(void *)in, sizeof(in));
    const struct hd_arg args[] = {HD_BUFFER(to), HD_BUFFER(from)};
    struct ran ran = launch(r, "twice", line, args, 2, SLOW, SLOW);
    CHECK(ran.cpu > 0 && ran.gpu > 0 && ran.cpu + ran.gpu == N / LOCAL);
    CHECK(ran.to_gpu == ran.gpu * LOCAL * 4 && ran.to_cpu == 0);
    uint64_t before = info_of(r, CPU).copied;
    CHECK_OK(hd_buffer_read(to, 0, out, sizeof(out), &error), error);
    CHECK(info_of(r, CPU).copied - before == ran.gpu * LOCAL * 4);
    for (int i = 0; i < N; i++)
        CHECK(out[i] == 2 * in[i] + (float)(i / LOCAL));
    hd_buffer_destroy(to);
    hd_buffer_destroy(from);
}

// What was copied for the rows beside a part is a row on each side of it.
static void neighbours_are_copied_too(const struct rig *r)
{
    static int in[N], out[N];
    int high = HIGH;

    for (int i = 0; i < N; i++)
        in[i] = i * 7 % 1001;
    struct hd_buffer *from = filled(r, in, sizeof(in)),
                     *to = filled(r, NULL, sizeof(out));
    const struct hd_arg args[] = {HD_BUFFER(to), HD_BUFFER(from),
                                  HD_VALUE(high)};
    const struct hd_range range = {
        .dims = 2, .global = {WIDE, HIGH}, .local = {WIDE, 1}};
    struct ran ran = launch(r, "smooth", range, args, 3, SLOW, SLOW);
    CHECK(ran.cpu > 0 && ran.gpu > 0 && ran.cpu + ran.gpu == HIGH);
    // Parts on the GPU lie side by side.
    CHECK(ran.to_gpu <= (ran.gpu + 2) * ROW && ran.to_gpu >= ran.gpu * ROW);
    CHECK_OK(hd_buffer_read(to, 0, out, sizeof(out), &error), error);
    for (int y = 0; y < HIGH; y++)
        for (int x = 0; x < WIDE; x++) {
            int sum = 0;
            for (int d = -1; d <= 1; d++) {
                int at = y + d < 0 ? 0 : y + d >= HIGH ? HIGH - 1 : y + d;
                sum += in[at * WIDE + x];
            }
            CHECK(out[y * WIDE + x] == sum);
        }
    hd_buffer_destroy(to);
    hd_buffer_destroy(from);
}

static void others_are_right_too(const struct rig *r)
{
    static int in[N], at[N], out[N];
    uint64_t n = N;
    int by = 5;

    for (int i = 0; i < N; i++) {
        in[i] = i * 13 % 4001;
        at[i] = i * 31 % N;
    }
    struct hd_buffer *from = filled(r, in, sizeof(in)),
                     *index = filled(r, at, sizeof(at)),
                     *to = filled(r, NULL, sizeof(out));

    const struct hd_arg back[] = {HD_BUFFER(to), HD_BUFFER(from), HD_VALUE(n)};
    struct ran ran = launch(r, "back", line, back, 3, SLOW, SLOW);
    CHECK(ran.cpu > 0 && ran.gpu > 0);
    CHECK_OK(hd_buffer_read(to, 0, out, sizeof(out), &error), error);
    for (int i = 0; i < N; i++)
        CHECK(out[N - 1 - i] == in[i]);

    // In place, from launch to launch, wherever the bytes are.
    const struct hd_arg add[] = {HD_BUFFER(to), HD_VALUE(by)};
    for (int round = 0; round < 3; round++) {
        ran =
            launch(r, "add", line, add, 2, SLOW * (uint64_t)(round + 1), SLOW);
        CHECK(ran.cpu > 0 && ran.gpu > 0);
    }
    CHECK_OK(hd_buffer_read(to, 0, out, sizeof(out), &error), error);
    for (int i = 0; i < N; i++)
        CHECK(out[N - 1 - i] == in[i] + 15);

    // All of one buffer is read by every part, and copied once.
    const struct hd_arg gather[] = {HD_BUFFER(to), HD_BUFFER(from),
                                    HD_BUFFER(index)};
    ran = launch(r, "gather", line, gather, 3, SLOW, SLOW);
    CHECK(ran.cpu > 0 && ran.gpu > 0);
    CHECK(ran.to_gpu <= sizeof(in) + ran.gpu * LOCAL * 4);
    CHECK_OK(hd_buffer_read(to, 0, out, sizeof(out), &error), error);
    for (int i = 0; i < N; i++)
        CHECK(out[i] == in[at[i]]);

    const struct hd_arg sums[] = {HD_BUFFER(to), HD_BUFFER(from),
                                  HD_LOCAL(LOCAL * 4)};
    ran = launch(r, "sums", line, sums, 3, SLOW, SLOW);
    CHECK(ran.cpu > 0 && ran.gpu > 0);
    CHECK_OK(hd_buffer_read(to, 0, out, sizeof(out), &error), error);
    for (int i = 0; i < N / LOCAL; i++) {
        int sum = 0;
        for (int k = 0; k < LOCAL; k++)
            sum += in[i * LOCAL + k];
        CHECK(out[i] == sum);
    }
    hd_buffer_destroy(to);
    hd_buffer_destroy(from);
    hd_buffer_destroy(index);
}

// Every work-group adds to the same words: it runs in one place.
static void what_cannot_be_told_apart_is_not_divided(const struct rig *r)
{
    static int in[N], bins[16];

    for (int i = 0; i < N; i++)
        in[i] = i * 5 / 3;
    struct hd_buffer *from = filled(r, in, sizeof(in)),
                     *to = filled(r, bins, sizeof(bins));
    const struct hd_arg args[] = {HD_BUFFER(to), HD_BUFFER(from)};
    struct ran ran = launch(r, "count", line, args, 2, SLOW, SLOW);
    CHECK(ran.gpu == 0 && ran.cpu == N / LOCAL); // nothing to copy there
    ran = launch(r, "count", line, args, 2, SLOW, 1);
    CHECK(ran.cpu == 0 && ran.gpu == N / LOCAL);
    int right[16] = {0};
    for (int i = 0; i < N; i++)
        right[in[i] & 15] += 2;
    CHECK_OK(hd_buffer_read(to, 0, bins, sizeof(bins), &error), error);
    CHECK(memcmp(bins, right, sizeof(bins)) == 0);
    hd_buffer_destroy(to);
    hd_buffer_destroy(from);
}

static void the_first_launch_goes_to_the_gpu(const struct rig *r)
{
    static int x[LOCAL];
    int by = 1;
    struct hd_buffer *b = filled(r, x, sizeof(x));
    const struct hd_arg args[] = {HD_BUFFER(b), HD_VALUE(by)};
    const struct hd_range small = {
        .dims = 1, .global = {LOCAL}, .local = {LOCAL}};

    struct ran ran = launch(r, "fresh", small, args, 2, 0, 0);
    CHECK(ran.gpu == 1 && ran.cpu == 0);
    // Short ones are for finding out about the others; then the faster has it,
    // unless what must be copied takes longer than that gains.
    ran = launch(r, "fresh", small, args, 2, 0, 1);
    CHECK(ran.gpu == 0 && ran.cpu == 1);
    ran = launch(r, "fresh", small, args, 2, SLOW, 1);
    CHECK(ran.gpu == 1);
    ran = launch(r, "fresh", small, args, 2, 1, SLOW);
    CHECK(ran.cpu == 1);
    CHECK_OK(hd_buffer_read(b, 0, x, sizeof(x), &error), error);
    for (int i = 0; i < LOCAL; i++)
        CHECK(x[i] == 4);
    hd_buffer_destroy(b);
}

// What each work-item does for itself, and what one does alone.
static void the_first_launch_goes_where_it_suits(const struct rig *r)
{
    static int next[LOCAL];
    int by = 1, x[LOCAL];
    struct hd_buffer *from, *to = filled(r, NULL, sizeof(x));
    const struct hd_range range = {.dims = 1,
                                   .global = {LOCAL},
                                   .local = {LOCAL}},
                          one = {.dims = 1, .global = {1}, .local = {1}};

    for (int i = 0; i < LOCAL; i++)
        next[i] = i > 0 ? i - 1 : 0;
    from = filled(r, next, sizeof(next));
    CHECK(hd_kernel_info(hd_program_find(r->program, "follow"))->suits ==
          HD_SUITS_CPU);
    CHECK(hd_kernel_info(hd_program_find(r->program, "once"))->suits ==
          HD_SUITS_GPU);
    const struct hd_arg list[] = {HD_BUFFER(to), HD_BUFFER(from)};
    struct ran ran = launch(r, "follow", range, list, 2, 0, 0);
    CHECK(ran.cpu == 1 && ran.gpu == 0);
    CHECK_OK(hd_buffer_read(to, 0, x, sizeof(x), &error), error);
    for (int i = 0; i < LOCAL; i++)
        CHECK(x[i] == i);
    const struct hd_arg args[] = {HD_BUFFER(to), HD_VALUE(by)};
    ran = launch(r, "once", one, args, 2, 0, 0);
    CHECK(ran.cpu == 1 && ran.gpu == 0);
    hd_buffer_destroy(to);
    hd_buffer_destroy(from);
}

static void a_program_with_variables_stays_where_it_is(const struct rig *r)
{
    const struct hd_kernel *k = hd_program_find(r->keeper, "remember");
    int x[LOCAL];
    struct hd_buffer *b = filled(r, NULL, sizeof(x));
    const struct hd_arg args[] = {HD_BUFFER(b)};
    const struct hd_range small = {
        .dims = 1, .global = {LOCAL}, .local = {LOCAL}};
    uint64_t before = info_of(r, GPU).groups;

    for (int i = 1; i <= 4; i++) {
        pretend(r, k, i % 2 ? 1 : SLOW, i % 2 ? SLOW : 1);
        CHECK_OK(hd_launch(r->runtime, k, &small, args, 1, &error), error);
        CHECK_OK(hd_buffer_read(b, 0, x, sizeof(x), &error), error);
        CHECK(x[0] == i);
    }
    CHECK(info_of(r, GPU).groups == before);
    hd_buffer_destroy(b);
}

// In flight one after another, of which some are divided.
static void they_are_events_too(const struct rig *r)
{
    const struct hd_kernel *k = hd_program_find(r->program, "add");
    struct hd_pool *pool = hd_runtime_pool(r->runtime);
    static int x[N];
    int by = 2;
    struct hd_buffer *b = filled(r, x, sizeof(x));
    const struct hd_arg args[] = {HD_BUFFER(b), HD_VALUE(by)};
    hd_event last = 0, next;

    pretend(r, k, SLOW, SLOW);
    for (int i = 0; i < 10; i++) {
        const struct hd_start after = {
            .after = &last, .after_count = 1, .devices = i % 3 == 2 ? 2 : 0};
        CHECK_OK(hd_launch_start(r->runtime, &after, k, &line, args, 2, &next,
                                 &error),
                 error);
        hd_event_release(pool, last);
        last = next;
    }
    hd_buffer_destroy(b); // kept by what is under way
    CHECK_OK(hd_event_wait(pool, &last, 1, HD_FOREVER, &error), error);
    hd_event_release(pool, last);
}

static void a_cancelled_one_ends(const struct rig *r)
{
    const struct hd_kernel *k = hd_program_find(r->program, "add");
    struct hd_pool *pool = hd_runtime_pool(r->runtime);
    static int x[N];
    int by = 2;
    struct hd_buffer *b = filled(r, x, sizeof(x));
    const struct hd_arg args[] = {HD_BUFFER(b), HD_VALUE(by)};
    hd_event event;

    for (int i = 0; i < 10; i++) {
        pretend(r, k, SLOW, SLOW);
        CHECK_OK(hd_launch_start(r->runtime, NULL, k, &line, args, 2, &event,
                                 &error),
                 error);
        hd_event_cancel(pool, event);
        hd_status status = hd_event_wait(pool, &event, 1, HD_FOREVER, &error);
        CHECK(status == HD_ECANCELED || status == HD_OK);
        hd_event_release(pool, event);
    }
    hd_buffer_destroy(b);
}

static void wrong_ones_are_refused(const struct rig *r)
{
    const struct hd_kernel *k = hd_program_find(r->program, "add");
    static int x[N];
    struct hd_buffer *b = filled(r, x, sizeof(x));
    const struct hd_arg args[] = {HD_BUFFER(b)};
    const struct hd_launch_params nowhere = {.devices = 12};

    CHECK_FAILS(hd_launch(r->runtime, k, &line, args, 1, &error), HD_EINVAL,
                error, "takes 2 arguments");
    CHECK_FAILS(hd_launch_with(r->runtime, &nowhere, k, &line, args, 1, &error),
                HD_ENODEV, error, "add");
    hd_buffer_destroy(b);
}

int main(void)
{
    fake = fake_cuda();
    if (!fake)
        SKIP("the fake driver is not named in HEDDLE_CUDA_DRIVER");
    struct rig r = open_all();
    both_run_parts_and_only_those_are_copied(&r);
    neighbours_are_copied_too(&r);
    others_are_right_too(&r);
    what_cannot_be_told_apart_is_not_divided(&r);
    the_first_launch_goes_to_the_gpu(&r);
    the_first_launch_goes_where_it_suits(&r);
    a_program_with_variables_stays_where_it_is(&r);
    they_are_events_too(&r);
    a_cancelled_one_ends(&r);
    wrong_ones_are_refused(&r);
    close_all(&r);
    printf("%s", fake->report());
    CHECK(*fake->report() == '\0');
    return 0;
}
