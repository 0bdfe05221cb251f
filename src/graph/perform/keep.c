// What is on the disk at each moment (all files are synced before they are
// named):
//
//     checkpoint-7.part/     being written; removed by the next
//     checkpoint-5/          the newest: manifest.json, RESOURCE.npy, ...
//     pass-2-9, pass-6-9     what passes brought to memory
//
// Process 0 writes names and manifests; all write fields and agree on how it
// went, since all or none must go on from a checkpoint.
#include "graph/perform/keep.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "field/cluster/agree.h"
#include "field/map/mix.h"
#include "heddle/agile.h"

// A manifest has a line of some 50 bytes for each field.
enum {
    PATH = 1024,
    MAX = 64 << 20 // of a manifest [bytes]
};

// Places ----------------------------------------------------------------------

static bool is_first(const struct hd_graph *graph)
{
    return hd_cluster_process(graph->cluster) == 0;
}

static void checkpoint_path(const struct hd_graph *graph, uint32_t pass,
                            const char *rest, char *path)
{
    snprintf(path, PATH, "%s/checkpoint-%" PRIu32 "%s", graph->keeping.folder,
             pass, rest);
}

// Remove a checkpoint, whole or begun.
//
// What cannot be removed stays: it only takes room.
static void remove_folder(const char *path)
{
    DIR *folder = opendir(path);
    char inside[PATH];

    for (struct dirent *e; folder && (e = readdir(folder));)
        if (e->d_name[0] != '.' &&
            snprintf(inside, sizeof(inside), "%s/%s", path, e->d_name) < PATH)
            unlink(inside);
    if (folder)
        closedir(folder);
    rmdir(path);
}

// The newest checkpoint, or HDI_NONE. Of others, those before `before` are
// removed.
static uint32_t look(const struct hd_graph *graph, uint32_t before)
{
    DIR *folder = opendir(graph->keeping.folder);
    uint32_t newest = HDI_NONE;

    for (struct dirent *e; folder && (e = readdir(folder));) {
        char path[PATH], *end;

        if (strncmp(e->d_name, "checkpoint-", 11) != 0)
            continue;
        unsigned long pass = strtoul(e->d_name + 11, &end, 10);
        if (*end || pass >= HDI_NONE)
            continue;
        if (newest == HDI_NONE || pass > newest)
            newest = (uint32_t)pass;
        if (pass >= before)
            continue;
        checkpoint_path(graph, (uint32_t)pass, "", path);
        remove_folder(path);
    }
    if (folder)
        closedir(folder);
    return newest;
}

// Collective. Process 0 looks at the folder, and tells all what it found: the
// others may see another state of a shared file system. Checkpoints of another
// run are never overwritten unasked.
hd_status hd_graph_keep(struct hd_graph *graph,
                        const struct hd_graph_keeping *keeping,
                        struct hd_error *error)
{
    hd_status status = HD_OK;
    uint32_t newest = HDI_NONE;

    if (!graph || !keeping || !keeping->folder || !keeping->folder[0] ||
        strlen(keeping->folder) > PATH / 2 || !graph->cluster)
        return hdi_fail(error, HD_EINVAL,
                        "hd_graph_keep() takes a graph with a cluster and a "
                        "folder");
    graph->keeping = *keeping;
    graph->keeping.folder = hdi_graph_string(graph, keeping->folder);
    if (!graph->keeping.folder)
        status = hdi_fail(error, HD_ENOMEM, "no memory for the graph");
    else if (is_first(graph) && mkdir(keeping->folder, 0777) != 0 &&
             errno != EEXIST)
        status = hdi_fail(error, HD_EIO, "cannot make %s: %s", keeping->folder,
                          strerror(errno));
    if (status == HD_OK && is_first(graph)) {
        newest = look(graph, 0);
        if (keeping->resume && newest == HDI_NONE)
            status =
                hdi_fail(error, HD_ENOENT, "%s has no checkpoint to go on from",
                         keeping->folder);
        if (!keeping->resume && newest != HDI_NONE)
            status = hdi_fail(error, HD_EINVAL,
                              "%s has checkpoints of another run: go on from "
                              "these, or remove them",
                              keeping->folder);
    }
    status = hdi_cluster_agree(graph->cluster, "hd_graph_keep()",
                               keeping->resume, status, error);
    if (status == HD_OK)
        status = hdi_cluster_tell(graph->cluster, (char *)&newest,
                                  sizeof(newest), error);
    graph->resume_after = newest;
    graph->kept_at = hdi_now();
    return status;
}

// Passes ----------------------------------------------------------------------

static uint64_t add(uint64_t hash, uint64_t number)
{
    return hdi_mix(hash, number);
}

// By names and indices, not addresses: the same in each process that runs the
// program.
static uint64_t add_command(const struct hd_graph *graph, uint64_t hash,
                            const struct hdi_command *c)
{
    hash = add(hash, c->is);
    if (c->is != HD_DISPATCH)
        return add(add(hash, c->from), c->to);
    hash = hdi_graph_hash(hash, graph->kernels.at[c->kernel].name);
    for (unsigned i = 0; i < c->range.dims; i++)
        hash = add(hash, c->range.global[i]);
    for (uint32_t i = 0; i < c->arg_count; i++) {
        const struct hdi_argument *a = &graph->args.at[c->args + i];
        uint64_t size = a->is == HD_PASS_BYTES     ? a->size
                        : a->is == HD_PASS_NUMBERS ? a->numbers * sizeof(double)
                                                   : 0;

        hash = add(add(hash, a->is), size ? size : a->index);
        for (uint64_t k = 0; k < size; k++)
            hash = add(hash, (unsigned char)graph->values.at[a->index + k]);
    }
    return hash;
}

// Of all passes up to one: of another program it is another number.
//
// Values of arguments are part of it: a checkpoint of other settings holds
// other numbers.
static uint64_t digest(const struct hd_graph *graph, uint32_t last)
{
    uint64_t hash = HDI_HASH;

    for (uint32_t i = 0; i <= last; i++) {
        const struct hdi_pass *pass = &graph->passes.at[i];

        hash = hdi_graph_hash(hash, pass->name);
        for (uint32_t k = 0; k < pass->access_count; k++) {
            const struct hdi_access *a =
                &graph->accesses.at[pass->accesses + k];
            const struct hdi_resource *r = &graph->resources.at[a->resource];
            hash = add(add(hash, a->resource), r->size);
            hash = hdi_graph_hash(hash, r->type->name);
        }
        for (uint32_t k = 0; k < pass->command_count; k++)
            hash = add_command(graph, hash,
                               &graph->commands.at[pass->commands + k]);
    }
    return hash;
}

// As NumPy writes types; little-endian.
static void dtype_of(const struct hdi_type *type, char dtype[8])
{
    static const char letters[] = {[HDI_SIGNED] = 'i',
                                   [HDI_UNSIGNED] = 'u',
                                   [HDI_FLOAT] = 'f',
                                   [HDI_HALF] = 'f'};

    snprintf(dtype, 8, "<%c%u", letters[type->scalar], type->scalar_size);
}

// What a pass brought to memory -----------------------------------------------

static void *memory_of(const struct hd_graph *graph, const struct hdi_access *a)
{
    return graph->slots.at[a->slot].memory->address;
}

// Fields are in checkpoints; anything else that a pass over fields writes is in
// memory of this process.
static bool brings(const struct hd_graph *graph, const struct hdi_access *a)
{
    return a->writes && !graph->resources.at[a->resource].map;
}

static void brought_path(const struct hd_graph *graph, uint32_t pass,
                         uint32_t resource, char *path)
{
    snprintf(path, PATH, "%s/pass-%" PRIu32 "-%" PRIu32, graph->keeping.folder,
             pass, resource);
}

// By words of 8 bytes, as memory may be large; the last few one by one.
static uint64_t sum_of(const char *data, uint64_t size)
{
    uint64_t hash = HDI_HASH;

    for (uint64_t i = 0; i + 8 <= size; i += 8) {
        uint64_t word;
        memcpy(&word, data + i, 8);
        hash = hdi_mix(hash, word);
    }
    for (uint64_t i = size & ~UINT64_C(7); i < size; i++)
        hash = hdi_mix(hash, (unsigned char)data[i]);
    return hash;
}

// The bytes, and their checksum behind them.
//
// In one piece of memory, since a file is written by one call, under another
// name first.
static hd_status save_brought(const struct hd_graph *graph, uint32_t pass,
                              const struct hdi_access *a,
                              struct hd_error *error)
{
    uint64_t size = graph->resources.at[a->resource].size;
    char path[PATH], *whole = malloc(size + 8);

    if (!whole)
        return hdi_fail(error, HD_ENOMEM, "no memory for a checkpoint");
    memcpy(whole, memory_of(graph, a), size);
    uint64_t sum = sum_of(whole, size);
    memcpy(whole + size, &sum, 8);
    brought_path(graph, pass, a->resource, path);
    hd_status status = hdi_write_file(path, whole, size + 8, error);
    free(whole);
    return status;
}

static hd_status load_brought(const struct hd_graph *graph, uint32_t pass,
                              const struct hdi_access *a,
                              struct hd_error *error)
{
    uint64_t size = graph->resources.at[a->resource].size, sum = 0;
    struct hdi_text text = {0};
    char path[PATH];

    brought_path(graph, pass, a->resource, path);
    hd_status status = hdi_read_file(path, size + 9, &text, error);
    if (status == HD_OK && text.size == size + 8)
        memcpy(&sum, text.data + size, 8);
    if (status == HD_OK &&
        (text.size != size + 8 || sum != sum_of(text.data, size)))
        status = hdi_fail(error, HD_EIO, "%s is damaged", path);
    if (status == HD_OK)
        memcpy(memory_of(graph, a), text.data, size);
    hdi_text_free(&text);
    return status;
}

// Saving ----------------------------------------------------------------------

// Fields that no later pass uses are left out, as the run that goes on would
// drop them. Collective: each process writes its part.
static hd_status save_fields(struct hd_graph *graph, uint32_t pass,
                             const char *folder, struct hdi_text *manifest,
                             struct hd_error *error)
{
    const char *comma = "";

    hdi_text_print(manifest,
                   "{\n\"pass\": %" PRIu32 ",\n\"program\": \"%016" PRIx64
                   "\",\n\"fields\": [\n",
                   pass, digest(graph, pass));
    for (uint32_t i = 0; i < graph->resources.count; i++) {
        const struct hdi_resource *r = &graph->resources.at[i];
        char path[PATH + 32], dtype[8];
        uint64_t sum;

        if (!r->field || (!graph->keeps_all && r->last_user <= pass))
            continue;
        snprintf(path, sizeof(path), "%s/%" PRIu32 ".npy", folder, i);
        dtype_of(r->type, dtype);
        HDI_TRY(hd_field_save(r->field, path, dtype, &sum, error));
        hdi_text_print(manifest,
                       "%s{\"resource\": %" PRIu32 ", \"sum\": \"%016" PRIx64
                       "\"}",
                       comma, i, sum);
        comma = ",\n";
    }
    hdi_text_print(manifest, "\n]\n}\n");
    return HD_OK;
}

// The order makes it safe: contents, the manifest, the folder, and only then
// the name by which it is found. A crash before leaves a `.part`, one after a
// whole checkpoint.
static hd_status publish(const struct hd_graph *graph, uint32_t pass,
                         const char *part, const struct hdi_text *manifest,
                         struct hd_error *error)
{
    char path[PATH + 32];

    if (manifest->failed)
        return hdi_fail(error, HD_ENOMEM, "no memory for a checkpoint");
    snprintf(path, sizeof(path), "%s/manifest.json", part);
    HDI_TRY(hdi_write_file(path, manifest->data, manifest->size, error));
    HDI_TRY(hdi_sync_folder_of(path, error));
    checkpoint_path(graph, pass, "", path);
    if (rename(part, path) != 0)
        return hdi_fail(error, HD_EIO, "cannot make %s: %s", path,
                        strerror(errno));
    return hdi_sync_folder_of(path, error);
}

// Older checkpoints go when the new one is there. All processes call the same
// collective functions, whatever failed where.
static hd_status save(struct hd_graph *graph, uint32_t pass,
                      struct hd_error *error)
{
    struct hdi_text manifest = {0};
    hd_status status = HD_OK;
    char part[PATH];

    checkpoint_path(graph, pass, ".part", part);
    if (is_first(graph)) {
        remove_folder(part);
        if (mkdir(part, 0777) != 0)
            status = hdi_fail(error, HD_EIO, "cannot make %s: %s", part,
                              strerror(errno));
    }
    status =
        hdi_cluster_agree(graph->cluster, "checkpoint", pass, status, error);
    if (status == HD_OK)
        status = save_fields(graph, pass, part, &manifest, error);
    if (status == HD_OK && is_first(graph))
        status = publish(graph, pass, part, &manifest, error);
    status = hdi_cluster_agree(graph->cluster, "checkpoint: end", pass, status,
                               error);
    hdi_text_free(&manifest);
    if (is_first(graph) && status != HD_OK)
        remove_folder(part);
    else if (is_first(graph))
        look(graph, pass);
    return status;
}

// What the pass brought is saved after every pass, not only with a checkpoint:
// the run that goes on does not run the pass. Process 0 decides whether a
// checkpoint is due, by its clock, for all. Only the loss of another process
// ends the run.
hd_status hdi_keep_after(struct hd_graph *graph, const struct hdi_pass *pass,
                         struct hd_error *error)
{
    uint32_t index = (uint32_t)(pass - graph->passes.at);
    struct hd_error why = {0};
    hd_status status = HD_OK;
    uint64_t due;

    if (!graph->keeping.folder)
        return HD_OK;
    for (uint32_t i = 0; is_first(graph) && i < pass->access_count; i++) {
        const struct hdi_access *a = &graph->accesses.at[pass->accesses + i];
        if (status == HD_OK && brings(graph, a))
            status = save_brought(graph, index, a, &why);
    }
    // What was not saved now is in no checkpoint to come.
    graph->keeps_no_more = graph->keeps_no_more || status != HD_OK;
    due = !graph->keeps_no_more &&
          hdi_now() - graph->kept_at >= graph->keeping.every;
    HDI_TRY(hdi_cluster_tell(graph->cluster, (char *)&due, sizeof(due), error));
    if (due) {
        status = save(graph, index, &why);
        graph->kept_at = hdi_now();
    }
    if (status == HD_EPEER)
        return hdi_fail(error, status, "%s", why.text);
    if (status != HD_OK && is_first(graph))
        hdi_warn("no checkpoint after pass '%s': %s", pass->name, why.text);
    return HD_OK;
}

// Going on --------------------------------------------------------------------

bool hdi_keep_skips(const struct hd_graph *graph, const struct hdi_pass *pass)
{
    return graph->keeping.resume &&
           (uint32_t)(pass - graph->passes.at) <= graph->resume_after;
}

// A field of the manifest; the lines are those of save_fields().
//
// Collective: all read the same file, so all fail alike.
static hd_status load_field(struct hd_graph *graph, const char *folder,
                            const char *line, struct hd_error *error)
{
    char path[PATH + 32], dtype[8];
    uint32_t index;
    uint64_t sum;

    if (sscanf(line, "{\"resource\": %" SCNu32 ", \"sum\": \"%" SCNx64, &index,
               &sum) != 2 ||
        index >= graph->resources.count || !graph->resources.at[index].field)
        return hdi_fail(error, HD_EIO, "%s/manifest.json is damaged", folder);
    snprintf(path, sizeof(path), "%s/%" PRIu32 ".npy", folder, index);
    dtype_of(graph->resources.at[index].type, dtype);
    return hd_field_load(graph->resources.at[index].field, path, dtype, &sum,
                         error);
}

// The manifest is read as it was written, not as any JSON. Its end is looked
// for, so that a file that was cut off is none.
static hd_status load(struct hd_graph *graph, uint32_t pass,
                      struct hd_error *error)
{
    char folder[PATH], path[PATH + 32];
    struct hdi_text manifest = {0};
    uint64_t program;
    uint32_t is;

    checkpoint_path(graph, pass, "", folder);
    snprintf(path, sizeof(path), "%s/manifest.json", folder);
    hd_status status = hdi_read_file(path, MAX, &manifest, error);
    if (status == HD_OK &&
        (manifest.size < 8 || strlen(manifest.data) != manifest.size ||
         strcmp(manifest.data + manifest.size - 4, "]\n}\n") != 0 ||
         sscanf(manifest.data,
                "{\n\"pass\": %" SCNu32 ",\n\"program\": \"%" SCNx64, &is,
                &program) != 2 ||
         is != pass))
        status = hdi_fail(error, HD_EIO, "%s is damaged", path);
    if (status == HD_OK && program != digest(graph, pass))
        status = hdi_fail(error, HD_EINVAL,
                          "%s is a checkpoint of another program, or of other "
                          "settings",
                          folder);
    status =
        hdi_cluster_agree(graph->cluster, "a checkpoint", pass, status, error);
    for (const char *line = manifest.data;
         status == HD_OK && (line = strstr(line, "{\"resource\"")); line++)
        status = load_field(graph, folder, line, error);
    hdi_text_free(&manifest);
    return status;
}

// In place of running the pass, whose edges hold all the same. Fields are
// loaded once, with the last of the passes that are skipped.
hd_status hdi_keep_restore(struct hd_graph *graph, const struct hdi_pass *pass,
                           struct hd_error *error)
{
    uint32_t index = (uint32_t)(pass - graph->passes.at);

    for (uint32_t i = 0; i < pass->access_count; i++) {
        const struct hdi_access *a = &graph->accesses.at[pass->accesses + i];
        if (brings(graph, a))
            HDI_TRY(load_brought(graph, index, a, error));
    }
    if (index != graph->resume_after)
        return HD_OK;
    graph->keeping.resume = false; // from here on, and in later runs
    return load(graph, index, error);
}
