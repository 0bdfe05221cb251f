//     ~/.cache/heddle/          0700, this user's, no link
//       key                     32 random bytes
//       5f3a...c0.hdb           an entry: a container with a keyed digest
//       77d1...2e.made          what a device made: a digest, then its bytes
//       .new-9b41...            an entry that is being written
//       feedback, ...           notes: a digest, then the text
//       feedback.lock           for hdi_cache_lock(); never removed
//
// Whom it is guarded against: another user who can write to the folder after
// all, or to a part of it (then no digest is right without the key), and any
// process that dies in the middle of writing (then no entry has its name). Not
// against this user.
#include "kernel/binary/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "kernel/binary/container.h"

static const char key_name[] = "key";
static const char suffix[] = ".hdb", made_suffix[] = ".made";
static const char temporary[] = ".new-";

// MAX_BYTES: some thousands of kernels. Trimming starts above it and ends below
// it; it is looked at with the first entry that a process keeps, and then once
// in LOOK_EVERY bytes: a look at thousands of files takes as long as compiling
// a small kernel. STALE_AFTER: removed too soon, a slow writer loses its entry,
// which costs one compilation. MAX_NOTE bounds what a damaged file can make us
// read. LOCK_TRIES times 5 ms is the second that cache.h promises.
enum {
    MAX_BYTES = 256 << 20, // of the folder; the oldest entries go first
    LOOK_EVERY = 4 << 20,  // kept by one process [bytes]
    STALE_AFTER = 3600,    // a file being written is finished long before [s]
    TEMPORARY_NAME = 48,
    MAX_NOTE = 4 << 20, // [bytes]
    LOCK_TRIES = 200    // of 5 ms
};

// Constant between opening and closing but for `unseen`, so any thread may use
// it: all work goes through the folder's descriptor, which stays that of the
// folder even if it is renamed.
struct hdi_cache {
    char *path; // of the folder, as it was given
    int folder;
    uint8_t key[HDI_KEY_SIZE];
    _Atomic uint64_t unseen; // bytes kept since somebody looked at the folder
};

// The folder ------------------------------------------------------------------

// With another user's rights the environment is the caller's and is not asked.
bool hdi_cache_is_off(void)
{
    const char *named = getauxval(AT_SECURE) ? NULL : getenv("HEDDLE_CACHE");

    return named && strcmp(named, "off") == 0;
}

// False: nothing says where. Relative paths are ignored where the standard of
// XDG says so.
static bool add_default_folder(struct hdi_text *path)
{
    // A program that runs with another user's rights takes no paths from its
    // caller.
    bool trusted = !getauxval(AT_SECURE);
    const char *named = trusted ? getenv("HEDDLE_CACHE") : NULL;
    const char *base = trusted ? getenv("XDG_CACHE_HOME") : NULL;
    const char *home = trusted ? getenv("HOME") : NULL;

    if (named && *named)
        hdi_text_print(path, "%s", named);
    else if (base && *base == '/')
        hdi_text_print(path, "%s/heddle", base);
    else if (home && *home == '/')
        hdi_text_print(path, "%s/.cache/heddle", home);
    return path->size > 0;
}

// Make the folders above `path` and the folder itself, for us alone.
//
// Errors are not looked at: a folder that is there is one too, and
// open_folder() finds out.
static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    mkdir(path, 0700);
}

// Opened first and looked at then, through the descriptor: what was checked is
// what is used, whatever happens to the path meanwhile.
static hd_status open_folder(char *path, int *folder, struct hd_error *error)
{
    struct stat about;

    make_folders(path);
    int opened = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (opened < 0)
        return hdi_fail(error, HD_EIO, "%s: %s", path,
                        errno == ELOOP || errno == ENOTDIR
                            ? "the cache folder is a link or no folder"
                            : strerror(errno));
    const char *why = NULL;
    if (fstat(opened, &about) != 0)
        why = strerror(errno);
    else if (about.st_uid != geteuid())
        why = "the cache folder belongs to another user";
    else if (about.st_mode & 077)
        why = "the cache folder is open to others: chmod 700";
    if (why) {
        close(opened);
        return hdi_fail(error, HD_EIO, "%s: %s", path, why);
    }
    *folder = opened;
    return HD_OK;
}

// Files -----------------------------------------------------------------------

// Read a plain file of ours; false when it is anything else.
//
// O_NONBLOCK: a pipe under that name would otherwise be waited for. The size is
// checked while reading too, since the file may grow. `text` may have a part of
// it after a failure.
static bool read_ours(int folder, const char *name, size_t most,
                      struct hdi_text *text)
{
    struct stat about;
    char block[16384];
    int file =
        openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return false;

    bool ok = fstat(file, &about) == 0 && S_ISREG(about.st_mode) &&
              about.st_uid == geteuid() && (size_t)about.st_size <= most;
    while (ok) {
        ssize_t n = read(file, block, sizeof(block));
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            break;
        ok = n > 0 && text->size + (size_t)n <= most;
        if (ok)
            hdi_text_append(text, block, (size_t)n);
    }
    // What is used often is removed last.
    if (ok)
        futimens(file, NULL);
    close(file);
    return ok && !text->failed;
}

// Write a file of a name nobody else uses.
//
// Complete on disk under a name that nobody looks for, for the caller to rename
// or link, or remove. False: nothing is left. It is not flushed to the disk:
// after a crash of the system the digest finds what is missing.
static bool write_new(int folder, const char *data, size_t size,
                      char name[TEMPORARY_NAME])
{
    uint64_t random;

    if (getrandom(&random, sizeof(random), 0) != sizeof(random))
        return false;
    snprintf(name, TEMPORARY_NAME, "%s%016llx", temporary,
             (unsigned long long)random);
    int file =
        openat(folder, name,
               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0)
        return false;
    bool ok = hdi_write_all(file, data, size);
    ok = close(file) == 0 && ok;
    if (!ok)
        unlinkat(folder, name, 0);
    return ok;
}

// The key of this user, made by the first process that needs one.
static bool read_key(struct hdi_cache *cache)
{
    struct hdi_text text = {0};
    bool ok = read_ours(cache->folder, key_name, HDI_KEY_SIZE, &text) &&
              text.size == HDI_KEY_SIZE;

    if (ok)
        memcpy(cache->key, text.data, HDI_KEY_SIZE);
    hdi_text_free(&text);
    return ok;
}

// Two processes may make a key at the same time: the first to link its own
// wins, and both read that. Without the key's file all entries are worthless,
// and are removed as damaged one by one.
static bool find_key(struct hdi_cache *cache)
{
    char name[TEMPORARY_NAME];
    uint8_t key[HDI_KEY_SIZE];

    if (read_key(cache))
        return true;
    if (getrandom(key, sizeof(key), 0) != sizeof(key) ||
        !write_new(cache->folder, (const char *)key, sizeof(key), name))
        return false;
    // A link, unlike a rename, leaves a key that another process has just put
    // there; one that cannot be read is replaced.
    bool ok = linkat(cache->folder, name, cache->folder, key_name, 0) == 0 ||
              (errno == EEXIST && read_key(cache)) ||
              renameat(cache->folder, name, cache->folder, key_name) == 0;
    unlinkat(cache->folder, name, 0);
    return ok && read_key(cache);
}

// HD_EIO: the caller goes on without a cache. `*cache` is set on success only.
hd_status hdi_cache_open(const char *folder, struct hdi_cache **cache,
                         struct hd_error *error)
{
    struct hdi_text path = {0};
    hd_status status;

    if (!hdi_digest_is_there())
        return hdi_fail(error, HD_EIO,
                        "the cache needs libb2, which this build lacks");
    if (folder)
        hdi_text_print(&path, "%s", folder);
    if ((!folder && !add_default_folder(&path)) || path.failed || !path.size) {
        bool failed = path.failed;
        hdi_text_free(&path);
        if (failed)
            return hdi_fail(error, HD_ENOMEM, "no memory for the cache");
        return hdi_fail(error, HD_EIO,
                        "no folder for compiled kernels: set HOME, "
                        "XDG_CACHE_HOME or HEDDLE_CACHE");
    }

    struct hdi_cache *c = calloc(1, sizeof(*c));
    if (!c) {
        status = hdi_fail(error, HD_ENOMEM, "no memory for the cache");
        goto err_free;
    }
    status = open_folder(path.data, &c->folder, error);
    if (status != HD_OK)
        goto err_free;
    if (!find_key(c)) {
        status = hdi_fail(error, HD_EIO, "%s: the cache's key cannot be made",
                          path.data);
        close(c->folder);
        goto err_free;
    }
    c->path = path.data;
    atomic_init(&c->unseen, LOOK_EVERY);
    *cache = c;
    return HD_OK;

err_free:
    free(c);
    hdi_text_free(&path);
    return status;
}

void hdi_cache_close(struct hdi_cache *cache)
{
    if (!cache)
        return;
    close(cache->folder);
    free(cache->path);
    free(cache);
}

const char *hdi_cache_folder(const struct hdi_cache *cache)
{
    return cache->path;
}

// Entries ---------------------------------------------------------------------

struct hdi_cache_key hdi_cache_key(const struct hdi_bytes *spans, size_t count)
{
    static const char hex[] = "0123456789abcdef";
    uint8_t digest[HDI_DIGEST_SIZE];
    struct hdi_cache_key key;

    hdi_digest(NULL, spans, count, digest);
    for (int i = 0; i < HDI_DIGEST_SIZE; i++) {
        key.name[2 * i] = hex[digest[i] >> 4];
        key.name[2 * i + 1] = hex[digest[i] & 15];
    }
    key.name[2 * HDI_DIGEST_SIZE] = '\0';
    return key;
}

// The name of an entry with its ".hdb" and the final 0.
struct entry_name {
    char text[2 * HDI_DIGEST_SIZE + sizeof(suffix)];
};

static struct entry_name entry_name(const struct hdi_cache_key *key)
{
    struct entry_name name;
    snprintf(name.text, sizeof(name.text), "%s%s", key->name, suffix);
    return name;
}

// The key of one entry's digest: an entry that was put in the place of another
// is damaged.
//
// A digest of the name under the cache's key. With the cache's key alone a
// whole entry could be copied over another, and would be taken for it.
static void entry_key(const struct hdi_cache *cache,
                      const struct hdi_cache_key *entry,
                      uint8_t key[HDI_KEY_SIZE])
{
    _Static_assert((int)HDI_KEY_SIZE == (int)HDI_DIGEST_SIZE,
                   "a digest is a key");
    const struct hdi_bytes name = {entry->name, strlen(entry->name)};

    hdi_digest(cache->key, &name, 1, key);
}

// The digest of an included file as it is now; `changed`, optional, is its time
// of last change.
//
// False: it is gone, no plain file, or cannot be read. All of it is read into
// memory: headers are small.
static bool digest_file(const char *path, uint8_t digest[HDI_DIGEST_SIZE],
                        struct timespec *changed)
{
    struct hdi_text text = {0};
    struct stat about;
    char block[16384];
    size_t n;
    FILE *file = fopen(path, "rbe");
    if (!file)
        return false;

    bool ok = fstat(fileno(file), &about) == 0 && S_ISREG(about.st_mode);
    while (ok && (n = fread(block, 1, sizeof(block), file)) > 0)
        hdi_text_append(&text, block, n);
    ok = ok && !ferror(file) && !text.failed;
    fclose(file);
    if (ok)
        hdi_digest(NULL, &(struct hdi_bytes){text.data, text.size}, 1, digest);
    if (changed)
        *changed = about.st_mtim;
    hdi_text_free(&text);
    return ok;
}

// Their contents and not their times: a checkout or a copy changes times only.
// It costs reading them with each lookup.
static bool files_are_the_same(const struct hdi_build *build,
                               const uint8_t (*digests)[HDI_DIGEST_SIZE])
{
    uint8_t now[HDI_DIGEST_SIZE];

    for (uint32_t i = 0; i < build->file_count; i++)
        if (!digest_file(build->files[i], now, NULL) ||
            memcmp(now, digests[i], sizeof(now)) != 0)
            return false;
    return true;
}

// Of an entry of another version, too, HD_EFORMAT comes, and it is removed. One
// whose files have changed stays: keep() will replace it, or a changed file may
// be changed back.
bool hdi_cache_find(struct hdi_cache *cache, const struct hdi_cache_key *key,
                    struct hdi_build *build)
{
    struct entry_name name = entry_name(key);
    struct hdi_text text = {0};
    struct hdi_build found = {0};
    uint8_t(*digests)[HDI_DIGEST_SIZE] = NULL;
    uint8_t bound[HDI_KEY_SIZE];
    struct hd_error error;

    if (!read_ours(cache->folder, name.text, HDI_CONTAINER_MAX, &text)) {
        hdi_text_free(&text);
        return false;
    }
    entry_key(cache, key, bound);
    hd_status status = hdi_container_read(text.data, text.size, bound, NULL,
                                          name.text, &found, &digests, &error);
    hdi_text_free(&text);
    if (status == HD_EFORMAT) {
        hdi_warn("cache: %s; compiling again", error.text);
        unlinkat(cache->folder, name.text, 0);
    }
    bool ok =
        status == HD_OK &&
        files_are_the_same(&found, (const uint8_t(*)[HDI_DIGEST_SIZE])digests);
    free(digests);
    if (ok)
        *build = found;
    else
        hdi_build_clear(&found);
    return ok;
}

// Notes -----------------------------------------------------------------------
// A keyed digest of name and text, then the text.

// The name is a part of it, as with entries.
static void digest_note(const struct hdi_cache *cache, const char *name,
                        const char *data, size_t size,
                        uint8_t digest[HDI_DIGEST_SIZE])
{
    const struct hdi_bytes spans[] = {{name, strlen(name)}, {data, size}};

    hdi_digest(cache->key, spans, 2, digest);
}

static bool read_note(struct hdi_cache *cache, const char *name, size_t most,
                      struct hdi_text *text)
{
    struct hdi_text raw = {0};
    uint8_t digest[HDI_DIGEST_SIZE];
    bool ok = read_ours(cache->folder, name, most, &raw) &&
              raw.size >= HDI_DIGEST_SIZE;

    if (ok) {
        const char *data = raw.data + HDI_DIGEST_SIZE;
        size_t size = raw.size - HDI_DIGEST_SIZE;
        digest_note(cache, name, data, size, digest);
        ok = memcmp(digest, raw.data, sizeof(digest)) == 0;
        if (ok)
            hdi_text_append(text, data, size);
    }
    hdi_text_free(&raw);
    return ok && !text->failed;
}

bool hdi_cache_read_note(struct hdi_cache *cache, const char *name,
                         struct hdi_text *text)
{
    return read_note(cache, name, MAX_NOTE, text);
}

// The old note stays whole until the new one has its name.
static bool write_note(struct hdi_cache *cache, const char *name, size_t most,
                       const char *data, size_t size)
{
    char fresh[TEMPORARY_NAME];
    struct hdi_text text = {0};
    uint8_t digest[HDI_DIGEST_SIZE];

    digest_note(cache, name, data, size, digest);
    hdi_text_append(&text, digest, sizeof(digest));
    hdi_text_append(&text, data, size);
    bool ok = !text.failed && text.size <= most &&
              write_new(cache->folder, text.data, text.size, fresh);
    hdi_text_free(&text);
    if (!ok)
        return false;
    if (renameat(cache->folder, fresh, cache->folder, name) == 0)
        return true;
    unlinkat(cache->folder, fresh, 0);
    return false;
}

// The last writer wins; see hdi_cache_lock().
bool hdi_cache_write_note(struct hdi_cache *cache, const char *name,
                          const char *data, size_t size)
{
    return write_note(cache, name, MAX_NOTE, data, size);
}

// The lock is the system's, on an open file: it ends with the process that has
// it, however that ends.
int hdi_cache_lock(struct hdi_cache *cache, const char *name)
{
    char path[TEMPORARY_NAME];

    snprintf(path, sizeof(path), "%s.lock", name);
    int file = openat(cache->folder, path,
                      O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0)
        return -1;
    // A process may be stopped while it holds the lock; nobody waits for that.
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (flock(file, LOCK_EX | LOCK_NB) == 0)
            return file;
        if (errno != EWOULDBLOCK && errno != EINTR)
            break;
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    close(file);
    return -1;
}

// Closing lets go. The file stays: removing it would let two processes lock two
// files of one name.
void hdi_cache_unlock(int lock)
{
    close(lock);
}

// Trimming --------------------------------------------------------------------

// An entry, when it was last used, and how large it is.
struct file {
    char name[256];
    struct timespec changed;
    uint64_t size; // [bytes]
};

static int older_first(const void *a, const void *b)
{
    const struct timespec *x = &((const struct file *)a)->changed;
    const struct timespec *y = &((const struct file *)b)->changed;
    if (x->tv_sec != y->tv_sec)
        return x->tv_sec < y->tv_sec ? -1 : 1;
    return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n > m && strcmp(name + n - m, end) == 0;
}

// List the entries, and remove what killed processes have left.
//
// `*files` is the caller's to free. Where memory runs out the list is cut, and
// less is removed this time. Files that are not entries, the key and notes
// among them, are not counted.
static size_t list_entries(DIR *folder, struct file **files, uint64_t *bytes)
{
    size_t count = 0, room = 0;
    time_t now = time(NULL);
    const struct dirent *d;
    struct stat about;

    *bytes = 0;
    while ((d = readdir(folder)) != NULL) {
        if (fstatat(dirfd(folder), d->d_name, &about, AT_SYMLINK_NOFOLLOW) !=
                0 ||
            !S_ISREG(about.st_mode))
            continue;
        if (strncmp(d->d_name, temporary, sizeof(temporary) - 1) == 0) {
            if (about.st_mtime < now - STALE_AFTER)
                unlinkat(dirfd(folder), d->d_name, 0);
            continue;
        }
        if (!ends_with(d->d_name, suffix) && !ends_with(d->d_name, made_suffix))
            continue;
        if (count == room) {
            size_t more = room ? 2 * room : 64;
            struct file *larger = realloc(*files, more * sizeof(**files));
            if (!larger)
                break;
            *files = larger;
            room = more;
        }
        snprintf((*files)[count].name, sizeof((*files)[count].name), "%s",
                 d->d_name);
        (*files)[count].changed = about.st_mtim;
        (*files)[count].size = (uint64_t)about.st_size;
        *bytes += (uint64_t)about.st_size;
        count++;
    }
    return count;
}

// Opened anew, since reading a folder moves the position of its descriptor,
// which all threads share. Another process may trim at the same time: what is
// gone already is no error, and both may remove a little more than is needed.
static void trim(const struct hdi_cache *cache)
{
    struct file *files = NULL;
    uint64_t bytes;
    int again = openat(cache->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = again < 0 ? NULL : fdopendir(again);

    if (!folder) {
        if (again >= 0)
            close(again);
        return;
    }
    size_t count = list_entries(folder, &files, &bytes);
    if (bytes > MAX_BYTES) {
        qsort(files, count, sizeof(*files), older_first);
        for (size_t i = 0; i < count && bytes > MAX_BYTES; i++) {
            unlinkat(cache->folder, files[i].name, 0);
            bytes -= files[i].size;
        }
    }
    free(files);
    closedir(folder);
}

// `size` bytes were kept. Of threads that keep some at the same time, one
// looks: that whose sum is there still. Relaxed: the count guards nothing.
static void trim_at_times(struct hdi_cache *cache, size_t size)
{
    uint64_t unseen = size + atomic_fetch_add_explicit(&cache->unseen, size,
                                                       memory_order_relaxed);

    if (unseen >= LOOK_EVERY && atomic_compare_exchange_strong_explicit(
                                    &cache->unseen, &unseen, 0,
                                    memory_order_relaxed, memory_order_relaxed))
        trim(cache);
}

// The digests of the files as the compiler read them. False when one may have
// changed since: then the code and the digests would not belong together.
//
// One second of doubt before the beginning: file times may be of that grain. A
// header that was edited within it is compiled again the next time.
static bool digest_files(const struct hdi_build *build, struct timespec began,
                         uint8_t (*digests)[HDI_DIGEST_SIZE])
{
    struct timespec changed;

    for (uint32_t i = 0; i < build->file_count; i++)
        // File times are coarse: whatever is as young as this is suspect.
        if (!digest_file(build->files[i], digests[i], &changed) ||
            changed.tv_sec >= began.tv_sec - 1)
            return false;
    return true;
}

void hdi_cache_keep(struct hdi_cache *cache, const struct hdi_cache_key *key,
                    const struct hdi_build *build, struct timespec began)
{
    char new_name[TEMPORARY_NAME];
    struct entry_name name = entry_name(key);
    struct hdi_text text = {0};
    uint8_t bound[HDI_KEY_SIZE];
    uint8_t(*digests)[HDI_DIGEST_SIZE] =
        calloc((size_t)build->file_count + 1, sizeof(*digests));

    entry_key(cache, key, bound);
    if (digests && digest_files(build, began, digests) &&
        hdi_container_write(build, 1,
                            (const uint8_t(*)[HDI_DIGEST_SIZE])digests, bound,
                            &text) &&
        text.size <= MAX_BYTES) {
        if (!write_new(cache->folder, text.data, text.size, new_name)) {
            hdi_warn("a compiled kernel cannot be kept: %s", strerror(errno));
        } else if (renameat(cache->folder, new_name, cache->folder,
                            name.text) != 0) {
            hdi_warn("a compiled kernel cannot be kept: %s", strerror(errno));
            unlinkat(cache->folder, new_name, 0);
        }
        trim_at_times(cache, text.size);
    }
    free(digests);
    hdi_text_free(&text);
}

// What devices make -----------------------------------------------------------
// Kept as notes are, but under the digest of all that it depends on, and
// trimmed with the entries.

struct made_name {
    char text[2 * HDI_DIGEST_SIZE + sizeof(made_suffix)];
};

static struct made_name made_name(const struct hdi_text *key)
{
    struct hdi_cache_key digest =
        hdi_cache_key(&(struct hdi_bytes){key->data, key->size}, 1);
    struct made_name name;

    snprintf(name.text, sizeof(name.text), "%s%s", digest.name, made_suffix);
    return name;
}

static bool find_made(void *data, const struct hdi_text *key,
                      struct hdi_text *made)
{
    return read_note(data, made_name(key).text, MAX_BYTES, made);
}

static void keep_made(void *data, const struct hdi_text *key, const void *made,
                      size_t size)
{
    struct hdi_cache *cache = data;

    if (write_note(cache, made_name(key).text, MAX_BYTES, made, size))
        trim_at_times(cache, size);
}

struct hdi_archive hdi_cache_archive(struct hdi_cache *cache)
{
    return (struct hdi_archive){find_made, keep_made, cache};
}
