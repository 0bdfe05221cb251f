//                submit                 submit, done
//     away ----> start: link if stale,  ---> tiles serve
//      ^         launch per class                |
//      |                                         v
//      '---- leave: "leave" to every tile, wait for the streams
//
// Invariant: `runs` is true from the first launch until all tiles have left, or
// for good when the GPU hangs. While `away` is above 0 nobody starts it.
//
// Lock: e->lock is taken with the context entered or not, but gpu->lock only
// inside of it, never the other way round.
#include "backend/cuda/executor/executor.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/executor/link.h"
#include "backend/cuda/executor/tile.h"
#include "backend/cuda/ring.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"

// ASK_EVERY bounds how late a fault is seen, and what asking costs. LAST_TRIES
// bounds the wait for a tile that may not answer.
enum {
    FAILURE = 1024,
    ASK_EVERY = 1000000, // [ns]
    LAST_TRIES = 10000   // to reach a tile after an error
};

// The host's side of one tile.
// Guarded by the executor's lock, as is who rings its mailbox.
struct tile {
    struct hdi_mailbox_end end;
    uint64_t before; // tasks it had until it was started last, and refused
    uint64_t heartbeat, seen;           // as last read; and when [ns]
    const struct hdi_device_list *list; // its latest task; NULL: another
};

// hdx_serve for the tiles of one class.
// `stream`, `ended` and `door` live as long as the executor; the module until
// programs change.
struct serve {
    const struct cuda_tiles *tiles;
    cuda_stream stream;
    cuda_event ended;       // recorded behind the kernel
    cuda_module module;     // NULL: not linked
    cuda_function function; //
    void *door;             // of hdx_start; NULL: there are no tiles
};

struct cuda_executor {
    struct cuda_gpu *gpu;
    struct cuda_layout layout;
    enum hdi_mailbox_mode mode;
    struct serve serve[HDX_CLASSES];
    struct hdx_desk *desks;
    cuda_address desks_address;
    struct cuda_ring ring;
    pthread_mutex_t lock; // of all below
    struct tile *tile;
    struct cuda_code *codes; // linked through `next_code`
    bool stale;              // what is linked is not what there is
    bool runs;
    unsigned away;   // how many want it to stay away
    uint64_t asked;  // when the driver was asked last whether it runs [ns]
    uint64_t linked; // so often
    hd_status status;
    char failure[FAILURE];
};

// Linking ---------------------------------------------------------------------

static void unlink_tiles(struct cuda_executor *e)
{
    for (unsigned c = 0; c < HDX_CLASSES; c++) {
        if (e->serve[c].module)
            e->gpu->driver->ModuleUnload(e->serve[c].module);
        e->serve[c].module = NULL;
    }
}

// All tiles of a block must be there at the same time.
// Fewer threads than a block has would be refused at launch only; more shared
// memory than 48 KiB has to be asked for.
static cuda_result set_up(struct cuda_executor *e, struct serve *s,
                          char *messages, size_t size)
{
    const struct cuda_driver *driver = e->gpu->driver;
    unsigned shared = HDX_BASE + e->layout.module_bytes;
    int threads = (int)(e->layout.threads * s->tiles->per_block), most = 0;
    cuda_result result =
        driver->FuncGetAttribute(&most, CUDA_FUNCTION_MAX_THREADS, s->function);

    if (result == 0 && most < threads) {
        snprintf(messages, size, "blocks of %d threads where %d are possible",
                 threads, most);
        return CUDA_LAUNCH_OUT_OF_RESOURCES;
    }
    if (result == 0 && shared > 48 << 10)
        result = driver->FuncSetAttribute(
            s->function, CUDA_FUNCTION_MAX_DYNAMIC_SHARED, (int)shared);
    return result;
}

static cuda_result link_all(struct cuda_executor *e, char *messages,
                            size_t size)
{
    cuda_result result = 0;

    unlink_tiles(e);
    for (unsigned c = 0; c < HDX_CLASSES && result == 0; c++) {
        struct serve *s = &e->serve[c];
        if (s->tiles->count == 0)
            continue;
        result = cuda_link_tiles(e->gpu, e->codes, c, s->tiles->registers,
                                 &s->module, &s->function, messages, size);
        if (result == 0)
            result = set_up(e, s, messages, size);
    }
    return result;
}

// Starting and leaving --------------------------------------------------------

// The first to fail writes the text; afterwards `status` is not HD_OK, and
// nothing is started any more.
static void fail(struct cuda_executor *e, hd_status status, const char *what,
                 cuda_result result, const char *more)
{
    char text[256];

    cuda_describe(e->gpu->driver, result, text, sizeof(text));
    snprintf(e->failure, sizeof(e->failure), "%s: %s%s%s", what, text,
             *more ? "; " : "", more);
    e->status = status;
}

static uint64_t door_of(const struct serve *s)
{
    return (uint64_t)(uintptr_t)s->door;
}

// `runs` is set even when the event fails: then tiles are there, and must be
// sent home.
static cuda_result launch(struct cuda_executor *e, unsigned class)
{
    struct serve *s = &e->serve[class];
    const struct cuda_tiles *tiles = s->tiles;
    struct hdx_start start = {
        .desks = e->desks_address + tiles->first * sizeof(struct hdx_desk),
        .print = e->ring.address,
        .doors = {door_of(s), door_of(&e->serve[class ^ 1])},
        .mode = (uint32_t)e->mode,
        .tiles = tiles->count,
        .first = tiles->first};
    void *parameters[] = {&start};

    if (tiles->count == 0)
        return 0;
    cuda_result result = e->gpu->driver->LaunchKernel(
        s->function, tiles->blocks, 1, 1, e->layout.threads, tiles->per_block,
        1, HDX_BASE + e->layout.module_bytes, s->stream, parameters, NULL);
    e->runs = e->runs || result == 0;
    return result == 0 ? e->gpu->driver->EventRecord(s->ended, s->stream)
                       : result;
}

// With the lock and the context. False: see e->status.
// Desks are cleared while no tile looks; the fence makes that visible before
// the launch. Numbers go on where they were (`before`).
static bool start(struct cuda_executor *e)
{
    char messages[512] = "";
    cuda_result result = 0;

    if (e->stale)
        result = link_all(e, messages, sizeof(messages));
    e->linked += e->stale && result == 0;
    e->stale = result != 0;
    if (result != 0) {
        fail(e, HD_ENOTSUP, "the executor cannot be linked", result, messages);
        return false;
    }
    for (unsigned i = 0; i < e->layout.tiles; i++) {
        struct hdx_desk *desk = &e->desks[i];
        memset(desk, 0, sizeof(*desk));
        e->tile[i].before += e->tile[i].end.submitted;
        hdi_mailbox_open(&e->tile[i].end, &desk->mailbox, e->mode, 1);
    }
    atomic_thread_fence(memory_order_seq_cst);
    for (unsigned c = 0; c < HDX_CLASSES && result == 0; c++)
        result = launch(e, c);
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

// What every tile does, for people.
// A tile that is done, one that waits and one that hangs differ in these.
static void dump(struct cuda_executor *e)
{
    for (unsigned i = 0; i < e->layout.tiles; i++) {
        struct tile *t = &e->tile[i];
        hdi_warn("unit %u: task %" PRIu64 " of %" PRIu64 " done, %" PRIu64
                 " started, %" PRIu64 " work-groups begun",
                 i, t->end.done, t->end.submitted,
                 hdi_word_load(&e->desks[i].mailbox.started),
                 hdi_word_load(&e->desks[i].heartbeat));
    }
}

// What tiles are at, of lists that have not ended.
static void name_passes(struct cuda_executor *e, char *text, size_t size)
{
    struct cuda_names names = {.count = 0};

    for (unsigned i = 0; i < e->layout.tiles; i++) {
        uint64_t address = hdi_word_load(&e->desks[i].list);
        uint32_t pass = (uint32_t)hdi_word_load(&e->desks[i].pass);
        for (unsigned k = 0; k < e->layout.tiles && address; k++)
            if (e->tile[k].list && left_of(&e->tile[k]) > 0)
                cuda_list_name(e->tile[k].list, address, pass, &names);
    }
    cuda_names_print(&names, text, size);
}

// With the lock. A kernel that faults ends the executor; one that hangs stands
// still.
// Two ways to find out: by a word in the host's memory, which costs nothing,
// and by asking the driver, which is dear and therefore seldom.
static void watch(struct cuda_executor *e, struct tile *t, unsigned index)
{
    uint64_t heartbeat = hdi_word_load(&e->desks[index].heartbeat);
    uint64_t now = hdi_now();
    char names[CUDA_NAMES];

    if (heartbeat != t->heartbeat) {
        t->heartbeat = heartbeat;
        t->seen = now;
    }
    if (e->gpu->timeout > 0 && now - t->seen > e->gpu->timeout) {
        dump(e);
        cuda_give_up(e->gpu);
        name_passes(e, names, sizeof(names));
        snprintf(e->failure, sizeof(e->failure),
                 "%s%sunit %u began no work-group for %" PRIu64
                 " ms; the GPU cannot be used any more by this program",
                 names, *names ? ": " : "", index, e->gpu->timeout / 1000000);
        e->status = HD_ETIMEOUT;
        return;
    }
    // Asking takes longer than a short task.
    if (now - e->asked < ASK_EVERY)
        return;
    e->asked = now;
    if (!cuda_enter(e->gpu)) {
        name_passes(e, names, sizeof(names));
        fail(e, HD_ENODEV, "the executor cannot be reached",
             atomic_load(&e->gpu->lost), names);
        return;
    }
    const struct serve *s = &e->serve[cuda_layout_class(&e->layout, index)];
    cuda_result result = e->gpu->driver->EventQuery(s->ended);
    cuda_leave(e->gpu);
    if (result != CUDA_NOT_READY && left_of(t) > 0) {
        name_passes(e, names, sizeof(names));
        fail(e, result ? cuda_status(e->gpu, result) : HD_EFAULT,
             "the executor ended", result, names);
        dump(e);
    }
}

// Tell a tile to end. After an error it is told all the same, as tiles may well
// live when a copy has failed, but a mailbox that stays full is given up.
// A mailbox may be full: then the tile is watched until it takes something.
static void send_home(struct cuda_executor *e, unsigned index)
{
    const struct hdi_unit_task task = {.opcode = HDI_OP_DISCONNECT};
    struct tile *tile = &e->tile[index];

    if (left_of(tile) == 0)
        tile->seen = hdi_now();
    for (unsigned tries = 0; tries < LAST_TRIES || e->status == HD_OK;
         tries++) {
        if (hdi_mailbox_submit(&tile->end, &task, NULL))
            return;
        if (e->status == HD_OK)
            watch(e, tile, index);
        sched_yield();
    }
}

// Whether all tiles have no task left, by a look at each that has one.
static bool have_ended(struct cuda_executor *e)
{
    bool all = true;

    for (unsigned i = 0; i < e->layout.tiles; i++)
        if (left_of(&e->tile[i]) > 0) {
            all = false;
            if (e->status == HD_OK)
                watch(e, &e->tile[i], i);
        }
    return all;
}

// With the lock and the context. Nobody else can watch tiles meanwhile.
// Each tile gets one task more, which is not counted afterwards. Where the GPU
// hangs nothing is waited for, and `runs` stays.
static void leave(struct cuda_executor *e)
{
    bool all = false;

    if (!e->runs)
        return;
    for (unsigned i = 0; i < e->layout.tiles && !atomic_load(&e->gpu->lost);
         i++)
        send_home(e, i);
    while (!all && e->status == HD_OK) {
        all = have_ended(e);
        if (!all && atomic_load(&e->gpu->lost))
            break;
        if (!all)
            sched_yield();
    }
    if (atomic_load(&e->gpu->hangs))
        return;
    for (unsigned c = 0; c < HDX_CLASSES; c++) {
        cuda_stream stream = e->serve[c].stream;
        cuda_result result =
            stream ? e->gpu->driver->StreamSynchronize(stream) : 0;
        // An error may be that of an earlier call: the kernel may still be
        // ending, and its memory and module must not go before it.
        if (result != 0 && all)
            e->gpu->driver->StreamSynchronize(stream);
        if (result != 0 && e->status == HD_OK)
            fail(e, cuda_status(e->gpu, result), "the executor", result, "");
    }
    // The one that said "leave" is no task of anybody's.
    for (unsigned i = 0; i < e->layout.tiles && e->tile[i].end.submitted > 0;
         i++)
        e->tile[i].end.submitted--, e->tile[i].end.done--;
    cuda_ring_read(&e->ring);
    e->runs = false;
}

// Counted, as several threads may want it away at the same time.
static void stay_away(struct cuda_executor *e)
{
    pthread_mutex_lock(&e->lock);
    e->away++;
    leave(e);
    pthread_mutex_unlock(&e->lock);
}

static void come_back(struct cuda_executor *e)
{
    pthread_mutex_lock(&e->lock);
    e->away--;
    pthread_mutex_unlock(&e->lock);
}

// The way in for all calls of the driver that wait for running kernels.
bool cuda_enter_alone(struct cuda_gpu *gpu)
{
    if (!cuda_enter(gpu))
        return false;
    if (gpu->executor)
        stay_away(gpu->executor);
    if (!atomic_load(&gpu->hangs))
        return true;
    cuda_leave_alone(gpu);
    return false;
}

void cuda_leave_alone(struct cuda_gpu *gpu)
{
    if (gpu->executor)
        come_back(gpu->executor);
    cuda_leave(gpu);
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

static cuda_result create_serve(struct cuda_executor *e, struct serve *s)
{
    const struct cuda_driver *driver = e->gpu->driver;
    cuda_result result =
        driver->StreamCreate(&s->stream, CUDA_STREAM_NON_BLOCKING);

    if (result == 0)
        result = driver->EventCreate(&s->ended, CUDA_EVENT_DISABLE_TIMING);
    if (result == 0 &&
        cuda_memory_alloc(&e->gpu->device, sizeof(struct hdi_list_door),
                          &s->door) != HD_OK)
        result = CUDA_OUT_OF_MEMORY;
    return result;
}

static cuda_result create(struct cuda_executor *e)
{
    cuda_result result = 0;

    for (unsigned c = 0; c < HDX_CLASSES && result == 0; c++)
        if (e->serve[c].tiles->count > 0)
            result = create_serve(e, &e->serve[c]);
    if (result != 0)
        return result;
    e->desks = cuda_host_alloc(e->gpu, e->layout.tiles * sizeof(*e->desks),
                               &e->desks_address);
    return e->desks && cuda_ring_open(&e->ring, e->gpu) ? 0
                                                        : CUDA_OUT_OF_MEMORY;
}

static void clear(struct cuda_executor *e)
{
    pthread_mutex_destroy(&e->lock);
    free(e->tile);
    free(e);
}

// With the context.
static void destroy(struct cuda_executor *e)
{
    const struct cuda_driver *driver = e->gpu->driver;

    unlink_tiles(e);
    if (e->ring.ring)
        cuda_ring_close(&e->ring, e->gpu);
    cuda_host_free(e->gpu, e->desks);
    for (unsigned c = 0; c < HDX_CLASSES; c++) {
        struct serve *s = &e->serve[c];
        cuda_memory_free(&e->gpu->device, s->door,
                         sizeof(struct hdi_list_door));
        if (s->ended)
            driver->EventDestroy(s->ended);
        if (s->stream)
            driver->StreamDestroy(s->stream);
    }
    clear(e);
}

hd_status cuda_executor_open(struct cuda_gpu *gpu,
                             const struct cuda_layout *layout, bool doorbell,
                             struct cuda_executor **executor,
                             struct hd_error *error)
{
    struct cuda_executor *e = calloc(1, sizeof(*e));
    struct tile *tile = calloc(layout->tiles, sizeof(*tile));

    if (!e || !tile) {
        free(e);
        free(tile);
        return hdi_fail(error, HD_ENOMEM, "no memory for an executor");
    }
    *e = (struct cuda_executor){.gpu = gpu,
                                .layout = *layout,
                                .mode = doorbell ? HDI_DOORBELL : HDI_RING,
                                .tile = tile,
                                .stale = true};
    for (unsigned c = 0; c < HDX_CLASSES; c++)
        e->serve[c].tiles = &e->layout.of[c];
    pthread_mutex_init(&e->lock, NULL);
    cuda_result result = create(e);
    if (result != 0) {
        char text[256];
        destroy(e);
        cuda_describe(gpu->driver, result, text, sizeof(text));
        return hdi_fail(error, cuda_status(gpu, result),
                        "%s: no room for %u units: %s", gpu->name,
                        layout->tiles, text);
    }
    *executor = e;
    return HD_OK;
}

const struct cuda_layout *cuda_executor_layout(const struct cuda_executor *e)
{
    return &e->layout;
}

// Where the GPU hangs only memory of the host goes that no tile uses; desks
// stay.
void cuda_executor_close(struct cuda_executor *e)
{
    struct cuda_gpu *gpu = e ? e->gpu : NULL;

    if (e && cuda_enter_alone(gpu)) {
        destroy(e);
        cuda_leave(gpu);
    } else if (e) {
        clear(e);
    }
}

// Tasks -----------------------------------------------------------------------

// Work-groups of whole warps, all of one size, for which a tile is large
// enough.
static bool has_shape(const struct cuda_executor *e,
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
    return items % HDX_WARP == 0 && items <= e->layout.threads;
}

uint32_t cuda_executor_classes(const struct cuda_executor *e,
                               const struct hdi_chunk *chunk)
{
    uint32_t classes = 0;

    if (chunk->local_bytes > e->layout.module_bytes || !has_shape(e, chunk))
        return 0;
    for (unsigned c = 0; c < HDX_CLASSES; c++)
        if (e->layout.of[c].count > 0)
            classes |= chunk->entry->classes & 1u << c;
    return classes;
}

// With the lock.
// False: no room, or the executor has failed with that. Arguments are copied to
// the tile's desk, each slot its own, so they stay until the task has ended.
static bool hand_over(struct cuda_executor *e, unsigned index,
                      const struct hdi_chunk *chunk)
{
    struct tile *t = &e->tile[index];
    const struct hdi_frame *f = &chunk->frame;
    unsigned slot = hdi_mailbox_slot(t->end.submitted + 1);
    const struct hdi_unit_shape shape = hdi_mailbox_shape(f, 0, 0);
    struct hdi_unit_task task = {
        .args = e->desks_address + index * sizeof(struct hdx_desk) +
                offsetof(struct hdx_desk, args) + slot * (uint64_t)HDX_ARGS,
        .opcode = HDI_OP_RUN,
        .local = (uint16_t)(chunk->region / HDI_MEMORY_UNIT),
        .dims = (uint16_t)f->dims,
    };

    if (left_of(t) >= CUDA_IN_FLIGHT)
        return false;
    if (left_of(t) == 0)
        t->seen = hdi_now();
    t->list = chunk->list;
    if (chunk->list) {
        struct hdi_unit_task work = {.opcode = HDI_OP_LIST};
        hd_status status =
            cuda_list_prepare(chunk->list, index, e->linked, &work.args);
        if (status == HD_OK)
            return hdi_mailbox_submit(&t->end, &work, NULL);
        fail(e, status,
             status == HD_ENOTSUP ? "a list for another unit"
                                  : "a list cannot be copied",
             atomic_load(&e->gpu->lost), "");
        return false;
    }
    task.entry = (uint64_t)chunk->entry->number;
    for (int d = 0; d < 3; d++) {
        task.first[d] = f->first[d];
        task.count[d] = f->count[d];
    }
    if (chunk->entry->args_bytes > 0)
        memcpy(e->desks[index].args[slot], f->args, chunk->entry->args_bytes);
    return hdi_mailbox_submit(&t->end, &task,
                              hdi_mailbox_is_shaped(&t->end, f, 0, 0) ? NULL
                                                                      : &shape);
}

// After a failure tasks are taken and count as ended with the status, but for
// HD_ENOTSUP (it cannot be linked): then chunks that are no lists are left for
// the unit's stream.
bool cuda_executor_submit(struct cuda_executor *e, unsigned tile,
                          const struct hdi_chunk *chunk)
{
    bool taken = false;

    pthread_mutex_lock(&e->lock);
    if (e->away == 0 && e->status == HD_OK && !e->runs && cuda_enter(e->gpu)) {
        start(e);
        cuda_leave(e->gpu);
    }
    if (e->status == HD_OK && atomic_load(&e->gpu->lost))
        fail(e, HD_ENODEV, "the GPU cannot be used any more by this program",
             atomic_load(&e->gpu->lost), "");
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

// All that it has so far: later ones have larger numbers.
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
