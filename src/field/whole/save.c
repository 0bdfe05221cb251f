// Fields in files: one NumPy array, of which each process writes or reads what
// its nodes own, run by run. The format is NumPy's, version 1.0
// (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html).
//
// The checksum is a sum over elements of a hash of place and value, so it is
// the same for all layouts and added up over the processes.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "field/memory/mirror.h"
#include "field/memory/window.h"

// Of a fixed size, so that all processes know where element 0 is; NumPy wants a
// multiple of 64.
enum {
    HEAD = 256 // of a file [bytes]
};

// One file that is being written or read by this process. `file` is -1 while it
// is not open. What is written is beside `path` until it is whole, at `part`;
// NULL: there is something that is no file, and it is written in its place.
struct work {
    struct hd_field *field;
    const char *path;
    char *part;
    int file;
    bool writes;
    int64_t step[HD_MAX_RANK]; // of the array in the file [elements]
    uint64_t sum;
    struct hd_error *error;
};

// Head ------------------------------------------------------------------------

// Makes the head too, which is the same on all processes. A field that does not
// own every element, or has a stride, would leave holes in the file.
static hd_status check(const struct hd_field *field, const char *path,
                       const char *dtype, char *head, struct hd_error *error)
{
    const struct hd_grid *grid = &field->map->grid;
    char shape[200];
    unsigned at = 0;
    char *end = NULL;
    uint64_t part = dtype && strlen(dtype) > 2 && strlen(dtype) < 12
                        ? strtoull(dtype + 2, &end, 10)
                        : 0;
    int64_t owned = 0;

    if (!path || !part || *end || strpbrk(dtype, "'\\\n") ||
        field->element % part != 0)
        return hdi_fail(error, HD_EINVAL,
                        "a field of elements of %llu bytes cannot be kept as "
                        "'%s': give a path and a type of NumPy such as <f4",
                        (unsigned long long)field->element, dtype ? dtype : "");
    for (unsigned i = 0; i < grid->rank; i++)
        if (field->map->stride[i] != 1)
            return hdi_fail(error, HD_EINVAL,
                            "a field with a stride cannot be kept in a file");
    for (uint32_t n = 0; n < field->map->nodes; n++)
        owned += hd_map_size(field->map, n);
    if (owned != hd_grid_size(grid))
        return hdi_fail(error, HD_EINVAL,
                        "a field of which nobody owns some elements cannot be "
                        "kept in a file");
    for (unsigned i = 0; i < grid->rank; i++)
        at += (unsigned)snprintf(shape + at, sizeof(shape) - at, "%lld, ",
                                 (long long)grid->extent[i]);
    if (field->element != part)
        snprintf(shape + at, sizeof(shape) - at, "%llu, ",
                 (unsigned long long)(field->element / part));
    memset(head, ' ', HEAD);
    memcpy(head, "\x93NUMPY\x01\x00", 8);
    head[8] = (char)((HEAD - 10) & 0xff);
    head[9] = (char)((HEAD - 10) >> 8);
    at = (unsigned)snprintf(
        head + 10, HEAD - 10,
        "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", dtype,
        shape);
    head[10 + at] = ' ';
    head[HEAD - 1] = '\n';
    return HD_OK;
}

static hd_status fail(const struct work *w, const char *what, int why)
{
    return hdi_fail(w->error, why == ENOENT ? HD_ENOENT : HD_EIO,
                    "cannot %s %s: %s", what, w->path, strerror(why));
}

// Decided before the agreement, after which the path may change: so all come
// to the same.
static hd_status find_part(struct work *w)
{
    struct stat state;

    if (!w->path || (lstat(w->path, &state) == 0 && !S_ISREG(state.st_mode)))
        return HD_OK;
    size_t size = strlen(w->path) + sizeof(".part");

    w->part = malloc(size);
    if (!w->part)
        return hdi_fail(w->error, HD_ENOMEM, "no memory to save a field");
    snprintf(w->part, size, "%s.part", w->path);
    return HD_OK;
}

static const char *written(const struct work *w)
{
    return w->part ? w->part : w->path;
}

// Process 0 makes the file, of its whole size, so that a disk that is too small
// is found before the rest is written.
static hd_status make(struct work *w, const char *head, uint64_t size)
{
    w->file = open(written(w), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (w->file < 0)
        return fail(w, "create", errno);
    ssize_t wrote = write(w->file, head, HEAD);
    if (wrote != HEAD)
        return fail(w, "write", wrote < 0 ? errno : ENOSPC);
    int why = posix_fallocate(w->file, 0, (off_t)size);
    return why ? fail(w, "write", why) : HD_OK;
}

// What a head says in words, and how long that is; nothing of another file.
static const char *words_of(const char *head, int *length)
{
    const char *end = memcmp(head, "\x93NUMPY\x01", 7) == 0
                          ? memchr(head + 10, '}', HEAD - 10)
                          : NULL;

    *length = end ? (int)(end - head) - 9 : 0;
    return head + 10;
}

// Compares the whole head: type, shape and order at once.
static hd_status look(struct work *w, const char *head, uint64_t size)
{
    char is[HEAD] = {0};
    struct stat state;

    w->file = open(w->path, O_RDONLY | O_CLOEXEC);
    if (w->file < 0)
        return fail(w, "open", errno);
    if (fstat(w->file, &state) != 0)
        return fail(w, "read", errno);
    if (state.st_size < HEAD || pread(w->file, is, HEAD, 0) != HEAD ||
        memcmp(is, head, HEAD) != 0) {
        int is_long, should_long;
        const char *words = words_of(is, &is_long);
        const char *should = words_of(head, &should_long);

        return hdi_fail(w->error, HD_EIO,
                        "%s holds another array than the field: %.*s%s%.*s",
                        w->path, is_long, words, is_long ? ", not " : "",
                        should_long, should);
    }
    if ((uint64_t)state.st_size != size)
        return hdi_fail(w->error, HD_EIO,
                        "%s has %llu bytes, not %llu: it was "
                        "cut off",
                        w->path, (unsigned long long)state.st_size,
                        (unsigned long long)size);
    return HD_OK;
}

// Elements --------------------------------------------------------------------

static uint64_t stir(uint64_t x)
{
    // The last steps of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

// The place is hashed too, or elements that changed places would not be seen.
static uint64_t sum_run(const char *data, int64_t count, uint64_t element,
                        int64_t place)
{
    uint64_t sum = 0;

    for (int64_t i = 0; i < count; i++, data += element) {
        uint64_t hash = (uint64_t)(place + i) * UINT64_C(0x9e3779b97f4a7c15);

        for (uint64_t at = 0; at < element; at += 8) {
            uint64_t word = 0;

            memcpy(&word, data + at, element - at < 8 ? element - at : 8);
            hash = stir(hash ^ word) + at;
        }
        sum += stir(hash);
    }
    return sum;
}

// Reads and writes at a place of its own: processes share the file, not a
// position. A short transfer is gone on with.
static hd_status transfer_run(struct work *w, char *data, int64_t count,
                              int64_t place)
{
    uint64_t size = (uint64_t)count * w->field->element, done = 0;
    off_t at = HEAD + (off_t)((uint64_t)place * w->field->element);

    while (done < size) {
        ssize_t now =
            w->writes
                ? pwrite(w->file, data + done, size - done, at + (off_t)done)
                : pread(w->file, data + done, size - done, at + (off_t)done);
        if (now < 0 && errno == EINTR)
            continue;
        if (now <= 0)
            return fail(w, w->writes ? "write" : "read", now < 0 ? errno : EIO);
        done += (uint64_t)now;
    }
    w->sum += sum_run(data, count, w->field->element, place);
    return HD_OK;
}

// A box, axis by axis; what follows each other in memory and file is one run.
// `joined`: the axes from here on are dense in both, so a segment of whole rows
// is one call of the system.
static hd_status transfer_box(struct work *w, const struct hdi_window *window,
                              unsigned axis, char *data, int64_t place)
{
    const struct hd_grid *box = &window->box;
    int64_t run = 1;
    bool joined = true;

    for (unsigned i = box->rank; joined && i-- > axis;) {
        joined = window->step[i] == run && w->step[i] == run;
        run *= box->extent[i];
    }
    if (joined)
        return transfer_run(w, data, run, place);
    for (int64_t k = 0; k < box->extent[axis]; k++)
        HDI_TRY(transfer_box(w, window, axis + 1,
                             data + k * window->step[axis] *
                                        (int64_t)w->field->element,
                             place + k * w->step[axis]));
    return HD_OK;
}

static hd_status transfer_all(struct work *w)
{
    struct hd_field *field = w->field;

    for (uint64_t s = 0; s < hd_map_segments(field->map); s++) {
        struct hd_segment segment;
        struct hdi_window window;
        int64_t place = 0;

        if (!hd_map_segment(field->map, s, &segment) ||
            !hd_cluster_has(field->cluster, segment.node))
            continue;
        hdi_map_segment_box(field->map, s, &window.box);
        if (!hdi_window_of_segment(field, window.box.offset, &window))
            return hdi_fail(w->error, HD_ENOMEM, "no memory for a window");
        for (unsigned i = 0; i < window.box.rank; i++)
            place += window.box.offset[i] * w->step[i];
        HDI_TRY(transfer_box(w, &window, 0, window.data, place));
    }
    return HD_OK;
}

// Sums wrap around, and their order does not matter.
static hd_status add_sums(struct work *w, uint64_t *sum)
{
    struct hd_cluster *cluster = w->field->cluster;
    uint64_t *all = calloc(cluster->net->count, sizeof(*all));
    hd_status status = hdi_cluster_agree(
        cluster, "sums of a file", 0,
        all ? HD_OK : hdi_fail(w->error, HD_ENOMEM, "no memory for a checksum"),
        w->error);

    if (status == HD_OK)
        status = hdi_cluster_gather(cluster, &w->sum, sizeof(w->sum),
                                    (char *)all, w->error);
    *sum = 0;
    for (uint32_t p = 0; status == HD_OK && p < cluster->net->count; p++)
        *sum += all[p];
    free(all);
    return status;
}

// Fills the steps; returns the size of the file [bytes].
static uint64_t begin(struct work *w)
{
    const struct hd_grid *grid = &w->field->map->grid;
    int64_t size = 1;

    for (unsigned i = grid->rank; i-- > 0;) {
        w->step[i] = size;
        size *= grid->extent[i];
    }
    return HEAD + (uint64_t)size * w->field->element;
}

// Closes in any case. Errors of writing may be told only here, or by
// fdatasync().
static hd_status finish(struct work *w, hd_status status)
{
    if (w->file >= 0 && w->writes && status == HD_OK && fdatasync(w->file) != 0)
        status = fail(w, "write", errno);
    if (w->file >= 0 && close(w->file) != 0 && status == HD_OK)
        status = fail(w, "write", errno);
    w->file = -1;
    return status;
}

// The name lasts only when the folder that has it is on the disk, too.
static hd_status publish(const struct work *w)
{
    if (rename(w->part, w->path) != 0)
        return fail(w, "replace", errno);
    return hdi_sync_folder_of(w->path, w->error);
}

// The file is made by one process before the agreement, and opened by the
// others after it: then it is there. It takes its name when all have written,
// it is on the disk and its sum is known: half a file would look like a
// checkpoint, and replace one that is whole. What a crash leaves is not read,
// and overwritten by the next.
hd_status hd_field_save(struct hd_field *field, const char *path,
                        const char *dtype, uint64_t *sum,
                        struct hd_error *error)
{
    struct hd_cluster *cluster = field->cluster;
    struct work w = {.field = field,
                     .path = path,
                     .file = -1,
                     .writes = true,
                     .error = error};
    uint64_t size = begin(&w);
    char head[HEAD];
    bool first = cluster->net->node == 0;

    hd_status status = check(field, path, dtype, head, error);
    if (status == HD_OK)
        status = hdi_mirrors_home(field, error);
    if (status == HD_OK)
        status = find_part(&w);
    if (status == HD_OK && first)
        status = make(&w, head, size);
    bool made = w.part && w.file >= 0;
    status = hdi_cluster_agree(cluster, "hd_field_save()", field->number,
                               status, error);
    if (status == HD_OK) {
        if (!first)
            w.file = open(written(&w), O_WRONLY | O_CLOEXEC);
        status = w.file < 0 ? fail(&w, "open", errno) : transfer_all(&w);
        status = finish(&w, status);
        status = hdi_cluster_agree(cluster, "hd_field_save(): end", 0, status,
                                   error);
    }
    finish(&w, HD_EIO);
    if (status == HD_OK)
        status = add_sums(&w, sum);
    if (status == HD_OK) {
        if (made)
            status = publish(&w);
        status = hdi_cluster_agree(cluster, "hd_field_save(): name", 0, status,
                                   error);
    }
    if (status != HD_OK && made)
        unlink(w.part);
    free(w.part);
    return status;
}

// Once reading has begun the old values are gone, whatever comes. The sum is
// compared by all, so all come to the same.
hd_status hd_field_load(struct hd_field *field, const char *path,
                        const char *dtype, const uint64_t *sum,
                        struct hd_error *error)
{
    struct hd_cluster *cluster = field->cluster;
    struct work w = {.field = field, .path = path, .file = -1, .error = error};
    uint64_t size = begin(&w), is;
    char head[HEAD];

    hd_status status = check(field, path, dtype, head, error);
    if (status == HD_OK)
        status = look(&w, head, size);
    status = hdi_cluster_agree(cluster, "hd_field_load()", field->number,
                               status, error);
    if (status == HD_OK) {
        hdi_mirrors_forget(field);
        field->version++;
        status = hdi_cluster_agree(cluster, "hd_field_load(): end", 0,
                                   transfer_all(&w), error);
    }
    finish(&w, HD_EIO);
    if (status == HD_OK)
        status = add_sums(&w, &is);
    if (status == HD_OK && sum && is != *sum)
        status =
            hdi_fail(error, HD_EIO,
                     "%s is damaged: its checksum is %016llx, not %016llx",
                     path, (unsigned long long)is, (unsigned long long)*sum);
    return status;
}
