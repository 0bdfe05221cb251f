#include "backend/cuda/executor.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/ring.h"
#include "backend/cuda/tile.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"

enum {
    FAILURE = 1024,
    ASK_EVERY = 1000000, // [ns]
    LAST_TRIES = 10000   // to reach a tile after an error
};

// tile.c as PTX, by the build.
__asm__(".section .rodata\n"
        "hdi_cuda_tile:\n"
        ".incbin \"" HDI_CUDA_TILE "\"\n"
        ".byte 0\n"
        "hdi_cuda_tile_end:\n"
        ".previous\n");
extern const char hdi_cuda_tile[], hdi_cuda_tile_end[];

// The host's side of one tile.
struct tile {
    struct hdi_mailbox_end end;
    uint64_t before; // tasks it had until it was started last, and refused
    uint64_t heartbeat, seen; // as last read; and when [ns]
};

struct cuda_executor {
    struct cuda_gpu *gpu;
    unsigned tiles, threads;
    enum hdi_mailbox_mode mode;
    cuda_stream stream;
    cuda_event ended; // recorded behind the kernel
    struct hdx_desk *desks;
    cuda_address desks_address;
    struct cuda_ring ring;
    pthread_mutex_t lock; // of all below
    struct tile *tile;
    struct cuda_code *codes; // linked through `next_code`
    bool stale;              // what is linked is not what there is
    bool runs;
    unsigned away;  // how many want it to stay away
    uint64_t asked; // when the driver was asked last whether it runs [ns]
    cuda_module module;
    cuda_function serve;
    uint64_t linked; // so often
    void *list_word; // of hdx_start
    hd_status status;
    char failure[FAILURE];
};

// Linking ---------------------------------------------------------------------

// The names of one program's kernels are its own.
static bool rename_kernels(const char *from, unsigned program,
                           struct hdi_text *to)
{
    for (const char *next; (next = strstr(from, "hdt_")); from = next + 4) {
        hdi_text_append(to, from, (size_t)(next - from));
        hdi_text_print(to, "hdt%u_", program);
    }
    hdi_text_append(to, from, strlen(from) + 1);
    return !to->failed;
}

// "Run kernel `n`" as PTX, for the kernels that are there.
static bool write_switch(struct cuda_executor *e, struct hdi_text *text)
{
    unsigned program = 0;
    int number = 0;

    hdi_text_print(text, ".version 6.3\n.target sm_70\n.address_size 64\n");
    for (struct cuda_code *c = e->codes; c; c = c->next_code, program++)
        for (unsigned i = 0; c->tiles && i < c->count; i++)
            hdi_text_print(text, ".extern .func hdt%u_%s\n()\n;\n", program,
                           c->entries[i].name);
    hdi_text_print(text, ".visible .func hdx_call(.param .b32 which)\n{\n"
                         ".reg .pred %%p<2>;\n.reg .b32 %%r<2>;\n"
                         "ld.param.u32 %%r1, [which];\n");
    program = 0;
    for (struct cuda_code *c = e->codes; c; c = c->next_code, program++)
        for (unsigned i = 0; c->tiles && i < c->count; i++, number++) {
            hdi_text_print(text,
                           "setp.ne.u32 %%p1, %%r1, %d;\n@%%p1 bra $L%d;\n"
                           "{\ncall.uni hdt%u_%s, ();\n}\nret;\n$L%d:\n",
                           number, number, program, c->entries[i].name, number);
            c->entries[i].number = number;
        }
    hdi_text_print(text, "ret;\n}\n");
    hdi_text_append(text, "", 1);
    return !text->failed;
}

static cuda_result add_text(struct cuda_executor *e, cuda_link link,
                            const char *text, size_t size, const char *name)
{
    return e->gpu->driver->LinkAddData(link, CUDA_INPUT_PTX,
                                       (void *)(uintptr_t)text, size, name, 0,
                                       NULL, NULL);
}

static cuda_result add_all(struct cuda_executor *e, cuda_link link)
{
    struct hdi_text text = {0};
    unsigned program = 0;
    cuda_result result =
        add_text(e, link, hdi_cuda_tile,
                 (size_t)(hdi_cuda_tile_end - hdi_cuda_tile), "tile");

    if (result == 0)
        result = write_switch(e, &text)
                     ? add_text(e, link, text.data, text.size, "switch")
                     : CUDA_OUT_OF_MEMORY;
    hdi_text_free(&text);
    for (struct cuda_code *c = e->codes; c && result == 0;
         c = c->next_code, program++) {
        if (!c->tiles)
            continue;
        result = rename_kernels(c->tiles, program, &text)
                     ? add_text(e, link, text.data, text.size, "kernels")
                     : CUDA_OUT_OF_MEMORY;
        hdi_text_free(&text);
    }
    return result;
}

static cuda_result link_all(struct cuda_executor *e, char *messages,
                            size_t size)
{
    const struct cuda_driver *driver = e->gpu->driver;
    int options[] = {CUDA_OPTION_ERROR_TEXT, CUDA_OPTION_ERROR_TEXT_SIZE};
    void *values[] = {messages, (void *)(uintptr_t)size};
    cuda_link link;
    void *cubin;
    size_t bytes;

    if (e->module)
        driver->ModuleUnload(e->module);
    e->module = NULL;
    cuda_result result = driver->LinkCreate(2, options, values, &link);
    if (result != 0)
        return result;
    result = add_all(e, link);
    if (result == 0)
        result = driver->LinkComplete(link, &cubin, &bytes);
    if (result == 0)
        result = driver->ModuleLoadDataEx(&e->module, cubin, 0, NULL, NULL);
    driver->LinkDestroy(link);
    if (result == 0)
        result = driver->ModuleGetFunction(&e->serve, e->module, "hdx_serve");
    if (result == 0 && HDX_SHARED > 48 << 10)
        result = driver->FuncSetAttribute(
            e->serve, CUDA_FUNCTION_MAX_DYNAMIC_SHARED, (int)HDX_SHARED);
    return result;
}

// Starting and leaving --------------------------------------------------------

static void fail(struct cuda_executor *e, hd_status status, const char *what,
                 cuda_result result, const char *more)
{
    char text[256];

    cuda_describe(e->gpu->driver, result, text, sizeof(text));
    snprintf(e->failure, sizeof(e->failure), "%s: %s%s%s", what, text,
             *more ? "; " : "", more);
    e->status = status;
}

// With the lock and the context. False: see e->status.
static bool start(struct cuda_executor *e)
{
    char messages[512] = "";
    const struct hdx_start parameter = {.desks = e->desks_address,
                                        .print = e->ring.address,
                                        .list =
                                            (uint64_t)(uintptr_t)e->list_word,
                                        .mode = (uint32_t)e->mode,
                                        .tiles = e->tiles};
    struct hdx_start copy = parameter;
    void *parameters[] = {&copy};
    cuda_result result = 0;

    if (e->stale || !e->module)
        result = link_all(e, messages, sizeof(messages));
    e->linked += e->stale && result == 0;
    e->stale = result != 0;
    if (result != 0) {
        fail(e, HD_ENOTSUP, "the executor cannot be linked", result, messages);
        return false;
    }
    for (unsigned i = 0; i < e->tiles; i++) {
        struct hdx_desk *desk = &e->desks[i];
        memset(desk, 0, sizeof(*desk));
        e->tile[i].before += e->tile[i].end.submitted;
        hdi_mailbox_open(&e->tile[i].end, &desk->mailbox, e->mode, 1);
    }
    atomic_thread_fence(memory_order_seq_cst);
    result = e->gpu->driver->LaunchKernel(
        e->serve, (e->tiles + HDX_TILES - 1) / HDX_TILES, 1, 1, e->threads,
        HDX_TILES, 1, (unsigned)HDX_SHARED, e->stream, parameters, NULL);
    if (result == 0) {
        e->runs = true;
        result = e->gpu->driver->EventRecord(e->ended, e->stream);
    }
    if (result != 0) {
        fail(e, HD_ENODEV, "the executor cannot be started", result, "");
        return false;
    }
    return true;
}

static uint64_t left_of(struct tile *t)
{
    return t->end.submitted - hdi_mailbox_done(&t->end);
}

// Tell a tile to end. After an error it is told all the same, as tiles may well
// live when a copy has failed, but a mailbox that stays full is given up.
static void send_home(struct cuda_executor *e, struct tile *tile)
{
    const struct hdi_unit_task task = {.opcode = HDI_OP_DISCONNECT};

    for (unsigned tries = 0; tries < LAST_TRIES || e->status == HD_OK;
         tries++) {
        if (hdi_mailbox_submit(&tile->end, task, &tile->end.shape))
            return;
        sched_yield();
    }
}

// With the lock and the context. A tile that hangs keeps nobody waiting: the
// watchdog of whoever waits for its task ends this.
static void leave(struct cuda_executor *e)
{
    bool all = false;

    if (!e->runs)
        return;
    for (unsigned i = 0; i < e->tiles && !atomic_load(&e->gpu->lost); i++)
        send_home(e, &e->tile[i]);
    while (!all && e->status == HD_OK) {
        all = true;
        for (unsigned i = 0; i < e->tiles; i++)
            all = all && left_of(&e->tile[i]) == 0;
        if (!all && atomic_load(&e->gpu->lost))
            break;
        if (!all)
            sched_yield();
    }
    cuda_result result = e->gpu->driver->StreamSynchronize(e->stream);
    // An error may be that of an earlier call: the kernel may still be ending,
    // and its memory and module must not go before it.
    if (result != 0 && all)
        e->gpu->driver->StreamSynchronize(e->stream);
    if (result != 0 && e->status == HD_OK)
        fail(e, cuda_status(e->gpu, result), "the executor", result, "");
    // The one that said "leave" is no task of anybody's.
    for (unsigned i = 0; i < e->tiles && e->tile[i].end.submitted > 0; i++)
        e->tile[i].end.submitted--, e->tile[i].end.done--;
    cuda_ring_read(&e->ring);
    e->runs = false;
}

void cuda_executor_leave(struct cuda_executor *e)
{
    if (!e)
        return;
    pthread_mutex_lock(&e->lock);
    e->away++;
    leave(e);
    pthread_mutex_unlock(&e->lock);
}

void cuda_executor_return(struct cuda_executor *e)
{
    if (!e)
        return;
    pthread_mutex_lock(&e->lock);
    e->away--;
    pthread_mutex_unlock(&e->lock);
}

void cuda_executor_change(struct cuda_executor *e, struct cuda_code *code,
                          bool comes)
{
    pthread_mutex_lock(&e->lock);
    leave(e);
    struct cuda_code **at = &e->codes;
    while (*at && *at != code)
        at = &(*at)->next_code;
    if (*at)
        *at = code->next_code;
    if (comes) {
        code->next_code = e->codes;
        e->codes = code;
    }
    e->stale = true;
    pthread_mutex_unlock(&e->lock);
}

// Opening ---------------------------------------------------------------------

static cuda_result create(struct cuda_executor *e)
{
    const struct cuda_driver *driver = e->gpu->driver;
    cuda_result result =
        driver->StreamCreate(&e->stream, CUDA_STREAM_NON_BLOCKING);

    if (result == 0)
        result = driver->EventCreate(&e->ended, CUDA_EVENT_DISABLE_TIMING);
    if (result != 0)
        return result;
    e->desks = cuda_host_alloc(e->gpu, e->tiles * sizeof(*e->desks),
                               &e->desks_address);
    return e->desks && cuda_ring_open(&e->ring, e->gpu) &&
                   cuda_memory_alloc(&e->gpu->device, sizeof(hdi_word),
                                     &e->list_word) == HD_OK
               ? 0
               : CUDA_OUT_OF_MEMORY;
}

static void destroy(struct cuda_executor *e)
{
    const struct cuda_driver *driver = e->gpu->driver;

    if (e->module)
        driver->ModuleUnload(e->module);
    if (e->ring.ring)
        cuda_ring_close(&e->ring, e->gpu);
    cuda_host_free(e->gpu, e->desks);
    cuda_memory_free(&e->gpu->device, e->list_word, sizeof(hdi_word));
    if (e->ended)
        driver->EventDestroy(e->ended);
    if (e->stream)
        driver->StreamDestroy(e->stream);
    pthread_mutex_destroy(&e->lock);
    free(e->tile);
    free(e);
}

hd_status cuda_executor_open(struct cuda_gpu *gpu, unsigned tiles,
                             unsigned threads, bool doorbell,
                             struct cuda_executor **executor,
                             struct hd_error *error)
{
    struct cuda_executor *e = calloc(1, sizeof(*e));
    struct tile *tile = calloc(tiles, sizeof(*tile));

    if (!e || !tile) {
        free(e);
        free(tile);
        return hdi_fail(error, HD_ENOMEM, "no memory for an executor");
    }
    *e = (struct cuda_executor){.gpu = gpu,
                                .tiles = tiles,
                                .threads = threads,
                                .mode = doorbell ? HDI_DOORBELL : HDI_RING,
                                .tile = tile,
                                .stale = true};
    pthread_mutex_init(&e->lock, NULL);
    cuda_result result = create(e);
    if (result != 0) {
        char text[256];
        destroy(e);
        cuda_describe(gpu->driver, result, text, sizeof(text));
        return hdi_fail(error, cuda_status(gpu, result),
                        "%s: no room for %u units: %s", gpu->name, tiles, text);
    }
    *executor = e;
    return HD_OK;
}

void cuda_executor_close(struct cuda_executor *e)
{
    pthread_mutex_lock(&e->lock);
    leave(e);
    pthread_mutex_unlock(&e->lock);
    destroy(e);
}

// Tasks -----------------------------------------------------------------------

bool cuda_executor_suits(const struct cuda_executor *e,
                         const struct hdi_chunk *chunk)
{
    const struct hdi_frame *f = &chunk->frame;
    uint64_t items = 1;

    for (int d = 0; d < 3; d++) {
        items *= f->local_size[d];
        // Those at an edge may be smaller.
        if (f->global[d] % f->local_size[d] != 0 &&
            f->first[d] + f->count[d] == f->group_count[d])
            return false;
    }
    return chunk->entry->code->tiles && items % HDX_WARP == 0 &&
           items <= e->threads && chunk->local_bytes <= HDX_LOCAL;
}

struct hdi_unit_shape cuda_executor_shape(const struct hdi_frame *f)
{
    struct hdi_unit_shape shape = {.local_units = 0};

    for (int d = 0; d < 3; d++) {
        shape.global[d] = f->global[d];
        shape.offset[d] = f->offset[d];
        shape.local_size[d] = f->local_size[d];
        shape.group_count[d] = f->group_count[d];
    }
    return shape;
}

// With the lock.
static bool hand_over(struct cuda_executor *e, unsigned index,
                      const struct hdi_chunk *chunk)
{
    struct tile *t = &e->tile[index];
    const struct hdi_frame *f = &chunk->frame;
    unsigned slot = hdi_mailbox_slot(t->end.submitted + 1);
    const struct hdi_unit_shape shape = cuda_executor_shape(f);
    struct hdi_unit_task task = {
        .args = e->desks_address + index * sizeof(struct hdx_desk) +
                offsetof(struct hdx_desk, args) + slot * (uint64_t)HDX_ARGS,
        .opcode = HDI_OP_RUN,
        .dims = (uint16_t)f->dims,
    };

    if (left_of(t) >= CUDA_IN_FLIGHT)
        return false;
    if (left_of(t) == 0)
        t->seen = hdi_now();
    if (chunk->list) {
        struct hdi_unit_task work = {.opcode = HDI_OP_LIST};
        hd_status status =
            cuda_list_prepare(chunk->list, e->linked, &work.args);
        if (status == HD_OK)
            return hdi_mailbox_submit(&t->end, work, &t->end.shape);
        fail(e, status, "a list cannot be copied", atomic_load(&e->gpu->lost),
             "");
        return false;
    }
    task.entry = (uint64_t)chunk->entry->number;
    for (int d = 0; d < 3; d++) {
        task.first[d] = f->first[d];
        task.count[d] = f->count[d];
    }
    if (chunk->entry->args_bytes > 0)
        memcpy(e->desks[index].args[slot], f->args, chunk->entry->args_bytes);
    return hdi_mailbox_submit(&t->end, task, &shape);
}

bool cuda_executor_submit(struct cuda_executor *e, unsigned tile,
                          const struct hdi_chunk *chunk)
{
    bool taken = false;

    pthread_mutex_lock(&e->lock);
    if (e->away == 0 && e->status == HD_OK && !e->runs && cuda_enter(e->gpu)) {
        start(e);
        cuda_leave(e->gpu);
    }
    if (e->runs && e->status == HD_OK)
        taken = hand_over(e, tile, chunk);
    if (e->status != HD_OK && (chunk->list || e->status != HD_ENOTSUP)) {
        e->tile[tile].before++; // it has ended, with that
        taken = true;
    }
    pthread_mutex_unlock(&e->lock);
    return taken;
}

uint64_t cuda_executor_submitted(struct cuda_executor *e, unsigned tile)
{
    pthread_mutex_lock(&e->lock);
    uint64_t submitted = e->tile[tile].before + e->tile[tile].end.submitted;
    pthread_mutex_unlock(&e->lock);
    return submitted;
}

// What every tile does, for people.
static void dump(struct cuda_executor *e)
{
    for (unsigned i = 0; i < e->tiles; i++) {
        struct tile *t = &e->tile[i];
        hdi_warn("unit %u: task %" PRIu64 " of %" PRIu64 " done, %" PRIu64
                 " started, %" PRIu64 " work-groups begun",
                 i, t->end.done, t->end.submitted,
                 hdi_word_load(&e->desks[i].mailbox.started),
                 hdi_word_load(&e->desks[i].heartbeat));
    }
}

// With the lock. A kernel that faults ends the executor; one that hangs stands
// still.
static void watch(struct cuda_executor *e, struct tile *t, unsigned index)
{
    uint64_t heartbeat = hdi_word_load(&e->desks[index].heartbeat);
    uint64_t now = hdi_now();

    if (heartbeat != t->heartbeat) {
        t->heartbeat = heartbeat;
        t->seen = now;
    }
    if (e->gpu->timeout > 0 && now - t->seen > e->gpu->timeout) {
        dump(e);
        cuda_lose(e->gpu, CUDA_LAUNCH_TIMEOUT);
        snprintf(e->failure, sizeof(e->failure),
                 "unit %u began no work-group for %" PRIu64
                 " ms; the GPU cannot be used any more by this program",
                 index, e->gpu->timeout / 1000000);
        e->status = HD_ETIMEOUT;
        return;
    }
    // Asking takes longer than a short task.
    if (now - e->asked < ASK_EVERY || !cuda_enter(e->gpu))
        return;
    e->asked = now;
    cuda_result result = e->gpu->driver->EventQuery(e->ended);
    cuda_leave(e->gpu);
    if (result != CUDA_NOT_READY && left_of(t) > 0) {
        fail(e, result ? cuda_status(e->gpu, result) : HD_EFAULT,
             "the executor ended", result, "");
        dump(e);
    }
}

uint64_t cuda_executor_done(struct cuda_executor *e, unsigned tile)
{
    struct tile *t = &e->tile[tile];

    pthread_mutex_lock(&e->lock);
    uint64_t before = t->end.done;
    if (e->runs && e->status == HD_OK && left_of(t) > 0)
        watch(e, t, tile);
    if (t->end.done > before)
        cuda_ring_read(&e->ring);
    // Nobody will run what is left.
    uint64_t done =
        t->before + (e->status == HD_OK ? t->end.done : t->end.submitted);
    pthread_mutex_unlock(&e->lock);
    return done;
}

void cuda_executor_stop(struct cuda_executor *e, unsigned tile)
{
    pthread_mutex_lock(&e->lock);
    hdi_word_store(&e->desks[tile].stop, e->tile[tile].end.submitted);
    pthread_mutex_unlock(&e->lock);
}

hd_status cuda_executor_status(struct cuda_executor *e, char *text, size_t size)
{
    pthread_mutex_lock(&e->lock);
    hd_status status = e->status;
    if (size > 0)
        snprintf(text, size, "%s", e->failure);
    pthread_mutex_unlock(&e->lock);
    return status;
}
