#include "tests/graph/fake_launch.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

struct hd_program {
    char *path;
    unsigned held; // as often it is to be destroyed before it is
};

struct fake_counts fake;

// Declared here as the linker calls them.
hd_status __wrap_hdi_buffer_create(struct hdi_launcher *launcher, uint64_t size,
                                   struct hd_buffer **buffer,
                                   struct hd_error *error);
void __wrap_hd_buffer_destroy(struct hd_buffer *buffer);
hd_status __wrap_hdi_launch_with(struct hdi_launcher *launcher,
                                 const struct hdi_request *request,
                                 const struct hdi_terms *terms,
                                 struct hd_error *error);
hd_status __wrap_hdi_launch_start(struct hdi_launcher *launcher,
                                  const struct hd_start *start,
                                  const struct hdi_request *request,
                                  hd_event *event, struct hd_error *error);
hd_status __wrap_hd_kernel_footprint(
    const struct hd_kernel *kernel, const struct hd_range *range,
    const struct hd_arg *args, unsigned arg_count, const struct hd_piece *piece,
    struct hd_footprint *footprints, struct hd_error *error);
hd_status __wrap_hdi_launch_check(const struct hdi_launcher *launcher,
                                  const struct hdi_request *request,
                                  struct hd_error *error);
hd_status __wrap_hdi_program_create(const struct hdi_program_context *context,
                                    const struct hd_program_params *params,
                                    struct hd_program **program,
                                    struct hd_error *error);
void __wrap_hdi_program_hold(struct hd_program *program);
void __wrap_hd_program_destroy(struct hd_program *program);
unsigned __wrap_hd_program_kernel_count(const struct hd_program *program);
const struct hd_kernel *__wrap_hd_program_kernel(
    const struct hd_program *program, unsigned index);
const struct hd_kernel *__wrap_hd_program_find(const struct hd_program *program,
                                               const char *name);
uint64_t __wrap_hdi_program_content(const struct hd_program *program);

// The n-th call from now: counts down to 1, then stays 0.
static bool is_nth(atomic_uint *counter)
{
    unsigned n = atomic_load(counter);
    while (n > 0 && !atomic_compare_exchange_weak(counter, &n, n - 1))
        ;
    return n == 1;
}

hd_status __wrap_hdi_buffer_create(struct hdi_launcher *launcher, uint64_t size,
                                   struct hd_buffer **buffer,
                                   struct hd_error *error)
{
    if (is_nth(&fake.fail_buffer))
        return hdi_fail(error, HD_ENOMEM, "no memory for a buffer");

    struct hd_buffer *b = malloc(sizeof(*b));
    *b = (struct hd_buffer){.self = b,
                            .launcher = launcher,
                            .address = calloc(1, size),
                            .size = size};
    atomic_fetch_add(&fake.buffers_alive, 1);
    unsigned long long bytes = atomic_fetch_add(&fake.bytes_alive, size) + size;
    unsigned long long peak = atomic_load(&fake.bytes_peak);
    while (bytes > peak &&
           !atomic_compare_exchange_weak(&fake.bytes_peak, &peak, bytes))
        ;
    *buffer = b;
    return HD_OK;
}

void __wrap_hd_buffer_destroy(struct hd_buffer *buffer)
{
    if (!buffer)
        return;
    if (buffer->root) { // a part, which counts for nothing
        free(buffer);
        return;
    }
    atomic_fetch_sub(&fake.buffers_alive, 1);
    atomic_fetch_sub(&fake.bytes_alive, buffer->size);
    free(buffer->address);
    free(buffer);
}

static struct fake_kernel *fake_of(const struct hd_kernel *kernel)
{
    return (struct fake_kernel *)((char *)(uintptr_t)kernel -
                                  offsetof(struct fake_kernel, kernel));
}

static struct hd_range part_of(const struct hd_range *range, uint64_t first,
                               uint64_t count)
{
    struct hd_range part = *range;
    uint64_t end = (first + count) * range->local[0];

    part.offset[0] += first * range->local[0];
    part.global[0] = (end < range->global[0] ? end : range->global[0]) -
                     first * range->local[0];
    return part;
}

hd_status __wrap_hd_kernel_footprint(
    const struct hd_kernel *kernel, const struct hd_range *range,
    const struct hd_arg *args, unsigned arg_count, const struct hd_piece *piece,
    struct hd_footprint *footprints, struct hd_error *error)
{
    struct fake_kernel *f = fake_of(kernel);
    const struct hd_range part =
        piece ? part_of(range, piece->first[0], piece->count[0]) : *range;

    (void)args, (void)error;
    for (unsigned i = 0; i < arg_count; i++)
        footprints[i] = (struct hd_footprint){{.kind = HD_TOUCHES_ALL},
                                              {.kind = HD_TOUCHES_ALL}};
    if (f->touch)
        f->touch(&part, footprints);
    return HD_OK;
}

hd_status __wrap_hdi_launch_with(struct hdi_launcher *launcher,
                                 const struct hdi_request *request,
                                 const struct hdi_terms *terms,
                                 struct hd_error *error)
{
    const struct hd_range *range = request->range;
    struct hd_range part;

    (void)launcher;
    if (terms->part) {
        part = part_of(range, terms->part->first[0], terms->part->count[0]);
        range = &part;
    }
    atomic_fetch_add(&fake.by_priority[terms->priority], 1);
    atomic_fetch_add(&fake.launches, 1);
    if (is_nth(&fake.fail_launch))
        return hdi_fail(error, HD_EFAULT, "kernel '%s' touched what it may not",
                        request->kernel->info.name);
    if (atomic_load(terms->cancel))
        return hdi_fail(error, HD_ECANCELED, "cancelled");
    struct fake_kernel *f = fake_of(request->kernel);
    hd_status status = f->run ? f->run(range, request->args) : HD_OK;
    return status == HD_OK ? HD_OK
                           : hdi_fail(error, status, "kernel '%s' failed",
                                      request->kernel->info.name);
}

// Launches that are started -------------------------------------------------

struct started {
    struct hdi_launcher *launcher;
    const struct hd_kernel *kernel;
    struct hd_range range;
    bool is_part;
    struct hdi_box part;
    struct hd_group *group;
    enum hd_priority priority;
    struct hd_arg args[FAKE_ARGS];
};

static hd_status run_started(struct hd_worker *worker, void *data,
                             struct hd_error *error)
{
    struct started *s = data;
    const struct hdi_request request = {s->kernel, &s->range, s->args,
                                        s->kernel->info.arg_count};
    atomic_bool cancel = hd_group_status(s->group) == HD_ECANCELED;
    const struct hdi_terms terms = {.cancel = &cancel,
                                    .priority = s->priority,
                                    .part = s->is_part ? &s->part : NULL};

    (void)worker;
    hd_status status =
        __wrap_hdi_launch_with(s->launcher, &request, &terms, error);
    free(s);
    return status;
}

hd_status __wrap_hdi_launch_start(struct hdi_launcher *launcher,
                                  const struct hd_start *start,
                                  const struct hdi_request *request,
                                  hd_event *event, struct hd_error *error)
{
    struct started *s = malloc(sizeof(*s));
    struct hd_start after = *start;
    hd_event gate = fake.gate;
    const struct hd_call call = {.function = run_started, .data = s};

    *s = (struct started){.launcher = launcher,
                          .kernel = request->kernel,
                          .range = *request->range,
                          .group = start->group,
                          .priority = start->priority};
    for (unsigned i = 0; i < request->arg_count; i++)
        s->args[i] = request->args[i];
    if (start->box) {
        s->is_part = true;
        memcpy(s->part.first, start->box->first, sizeof(s->part.first));
        memcpy(s->part.count, start->box->count, sizeof(s->part.count));
    }
    after.group = NULL;
    after.after = &gate;
    after.after_count = gate != 0;
    hd_status status =
        hd_call_start(launcher->pool, &after, &call, event, error);
    if (gate && atomic_fetch_add(&fake.held, 1) + 1 == fake.hold)
        hd_event_end(launcher->pool, gate, HD_OK, NULL, NULL);
    return status;
}

hd_status __wrap_hdi_launch_check(const struct hdi_launcher *launcher,
                                  const struct hdi_request *request,
                                  struct hd_error *error)
{
    (void)launcher;
    if (request->range->local[0] > 1024)
        return hdi_fail(error, HD_ELIMIT, "a work-group of %u work-items",
                        request->range->local[0]);
    return HD_OK;
}

static void fill_kernel(struct fake_kernel *f)
{
    unsigned count = 0;

    for (; count < FAKE_ARGS && f->args[count].name; count++)
        f->shown[count].shown = (struct hd_kernel_arg){
            .name = f->args[count].name,
            .type = f->args[count].type,
            .kind = f->args[count].kind,
            .pointee_const = f->args[count].pointee_const};
    f->kernel.info.name = f->name;
    f->kernel.info.arg_count = count;
    f->kernel.args = f->shown;
    f->kernel.learned = &f->learned;
}

// All programs have the same kernels, and launches of one may run while
// another is created: they are filled once.
static pthread_once_t filled = PTHREAD_ONCE_INIT;

static void fill_kernels(void)
{
    for (struct fake_kernel *f = fake_kernels; f->name; f++)
        fill_kernel(f);
}

hd_status __wrap_hdi_program_create(const struct hdi_program_context *context,
                                    const struct hd_program_params *params,
                                    struct hd_program **program,
                                    struct hd_error *error)
{
    const char *path = params->parts ? params->parts[0].path : params->path;

    (void)context;
    if (strstr(path, "missing"))
        return hdi_fail(error, HD_ENOENT, "%s%sno file %s",
                        params->what ? params->what : "",
                        params->what ? ": " : "", path);
    snprintf(fake.options, sizeof(fake.options), "%s", params->options);
    struct hd_program *p = malloc(sizeof(*p));
    p->path = strdup(path);
    p->held = 0;
    fake.parts = params->part_count;
    pthread_once(&filled, fill_kernels);
    atomic_fetch_add(&fake.programs, 1);
    atomic_fetch_add(&fake.programs_alive, 1);
    *program = p;
    return HD_OK;
}

void __wrap_hdi_program_hold(struct hd_program *program)
{
    program->held++;
}

void __wrap_hd_program_destroy(struct hd_program *program)
{
    if (program->held > 0) {
        program->held--;
        return;
    }
    atomic_fetch_sub(&fake.programs_alive, 1);
    free(program->path);
    free(program);
}

unsigned __wrap_hd_program_kernel_count(const struct hd_program *program)
{
    unsigned count = 0;

    (void)program;
    while (fake_kernels[count].name)
        count++;
    return count;
}

const struct hd_kernel *__wrap_hd_program_kernel(
    const struct hd_program *program, unsigned index)
{
    (void)program;
    return &fake_kernels[index].kernel;
}

const struct hd_kernel *__wrap_hd_program_find(const struct hd_program *program,
                                               const char *name)
{
    (void)program;
    for (struct fake_kernel *f = fake_kernels; f->name; f++)
        if (strcmp(f->name, name) == 0)
            return &f->kernel;
    return NULL;
}

uint64_t __wrap_hdi_program_content(const struct hd_program *program)
{
    return strlen(program->path);
}

static hd_status fake_copy(struct hdi_device *device, void *to,
                           const void *from, uint64_t size)
{
    (void)device;
    memcpy(to, from, size);
    return HD_OK;
}

static const struct hdi_backend fake_backend = {.name = "fake",
                                                .copy = fake_copy};

void fake_open(struct hdi_launcher *launcher, struct hd_pool *pool,
               struct hdi_graph_context *context)
{
    struct hdi_device *device = calloc(1, sizeof(*device));
    unsigned workers = pool ? hd_pool_workers(pool) : 1;

    device->backend = &fake_backend;
    device->can.host_memory = !fake.device_memory;
    memset(launcher, 0, sizeof(*launcher));
    launcher->pool = pool;
    launcher->device = device;
    launcher->tracks = calloc(workers, sizeof(*launcher->tracks));
    *context = (struct hdi_graph_context){.launcher = launcher,
                                          .programs = {.device = device}};
}

void fake_close(struct hdi_launcher *launcher)
{
    free(launcher->device);
    free(launcher->tracks);
}
