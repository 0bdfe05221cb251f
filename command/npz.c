// Invariant: whatever the archive says is compared with its size before a byte
// there is looked at.
#include "npz.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "failure.h"

enum {
    END_SIZE = 22, // of the record at the end, without its comment
    END_COMMENT = 65535,
    ENTRY_SIZE = 46, // of an entry of the directory, without its name
    LOCAL_SIZE = 30  // of the head of a file, without its name
};

#define END_MAGIC   UINT32_C(0x06054b50)
#define ENTRY_MAGIC UINT32_C(0x02014b50)
#define LOCAL_MAGIC UINT32_C(0x04034b50)

// An archive, whole.
struct archive {
    const char *path;
    unsigned char *data;
    size_t size;
};

struct member {
    const char *name; // not ended by 0
    size_t name_size;
    uint32_t method, sum, packed, size, head;
};

static uint32_t number(const unsigned char *at, int bytes)
{
    uint32_t n = 0;

    for (int i = bytes; i-- > 0;)
        n = n << 8 | at[i];
    return n;
}

static hd_status damaged(const struct archive *a, struct hd_error *error)
{
    return fail(error, HD_EFORMAT, "%s: it is no .npz file, or it is damaged",
                a->path);
}

static const char *name_in(const char *place)
{
    const char *at = strstr(place, ".npz:");

    return at ? at + 5 : NULL;
}

bool npz_is_one(const char *place)
{
    size_t size = strlen(place);

    return name_in(place) ||
           (size > 4 && strcmp(place + size - 4, ".npz") == 0);
}

static hd_status read_all(struct archive *a, struct hd_error *error)
{
    FILE *file = fopen(a->path, "rbe");
    long size = -1;

    if (!file)
        return fail(error, errno == ENOENT ? HD_ENOENT : HD_EIO,
                    "cannot open %s: %s", a->path, strerror(errno));
    hd_status status = HD_OK;
    if (fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0)
        status =
            fail(error, HD_EIO, "cannot read %s: %s", a->path, strerror(errno));
    else if ((uint64_t)size > UINT32_MAX)
        status = fail(error, HD_ELIMIT,
                      "%s: archives have less than 4 GiB; save the array as "
                      ".npy",
                      a->path);
    else if (!(a->data = malloc((size_t)size + 1)))
        status = fail(error, HD_ENOMEM, "%s: no memory for %ld bytes", a->path,
                      size);
    if (status == HD_OK) {
        rewind(file);
        a->size = fread(a->data, 1, (size_t)size, file);
        if (ferror(file))
            status = fail(error, HD_EIO, "cannot read %s: %s", a->path,
                          strerror(errno));
    }
    fclose(file);
    return status;
}

// Where the directory begins; NULL: there is none.
static const unsigned char *find_directory(const struct archive *a,
                                           uint32_t *entries)
{
    size_t last = a->size < END_SIZE ? 0 : a->size - END_SIZE;

    for (size_t back = 0;
         a->size >= END_SIZE && back <= last && back <= END_COMMENT; back++) {
        const unsigned char *end = a->data + last - back;
        if (number(end, 4) != END_MAGIC)
            continue;
        uint32_t at = number(end + 16, 4);
        *entries = number(end + 10, 2);
        return at <= a->size ? a->data + at : NULL;
    }
    return NULL;
}

// Read an entry of the directory and go on to the next. False: damaged.
static bool read_entry(const struct archive *a, const unsigned char **at,
                       struct member *m)
{
    size_t left = (size_t)(a->data + a->size - *at);
    const unsigned char *e = *at;

    if (left < ENTRY_SIZE || number(e, 4) != ENTRY_MAGIC)
        return false;
    *m = (struct member){.name = (const char *)e + ENTRY_SIZE,
                         .name_size = number(e + 28, 2),
                         .method = number(e + 10, 2),
                         .sum = number(e + 16, 4),
                         .packed = number(e + 20, 4),
                         .size = number(e + 24, 4),
                         .head = number(e + 42, 4)};
    size_t size =
        ENTRY_SIZE + m->name_size + number(e + 30, 2) + number(e + 32, 2);
    if (size > left)
        return false;
    *at += size;
    return true;
}

// "x" is the name of the file "x.npy".
static bool is_named(const struct member *m, const char *name)
{
    size_t size = strlen(name);

    return m->name_size == size + 4 && memcmp(m->name, name, size) == 0 &&
           memcmp(m->name + size, ".npy", 4) == 0;
}

static hd_status find_member(const struct archive *a, const char *name,
                             struct member *found, struct hd_error *error)
{
    uint32_t entries = 0;
    const unsigned char *at = find_directory(a, &entries);
    char names[256] = "";

    if (!at)
        return damaged(a, error);
    if (!name && entries == 1)
        return read_entry(a, &at, found) ? HD_OK : damaged(a, error);
    for (uint32_t i = 0; i < entries; i++) {
        if (!read_entry(a, &at, found))
            return damaged(a, error);
        if (name && is_named(found, name))
            return HD_OK;
        size_t used = strlen(names);
        if (found->name_size > 4)
            snprintf(names + used, sizeof(names) - used, "%s%.*s",
                     used ? ", " : "", (int)found->name_size - 4, found->name);
    }
    return fail(error, HD_ENOENT, "%s: %s; it has: %s", a->path,
                name ? "it has no array of that name"
                     : "say which array, as in FILE.npz:NAME",
                *names ? names : "none");
}

// As ZIP has it.
static uint32_t sum_of(const unsigned char *data, size_t size)
{
    uint32_t table[256], sum = UINT32_MAX;

    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int k = 0; k < 8; k++)
            table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320U : 0);
    }
    for (size_t i = 0; i < size; i++)
        sum = sum >> 8 ^ table[(sum ^ data[i]) & 255];
    return ~sum;
}

// Its bytes, in the archive.
static hd_status find_bytes(const struct archive *a, const struct member *m,
                            const unsigned char **bytes, struct hd_error *error)
{
    if (m->method != 0)
        return fail(error, HD_EFORMAT,
                    "%s: its arrays are compressed; save them with numpy.savez",
                    a->path);
    if (a->size < LOCAL_SIZE || m->head > a->size - LOCAL_SIZE ||
        number(a->data + m->head, 4) != LOCAL_MAGIC)
        return damaged(a, error);
    const unsigned char *head = a->data + m->head;
    size_t begin = m->head + (size_t)LOCAL_SIZE + number(head + 26, 2) +
                   number(head + 28, 2);
    if (begin > a->size || m->size > a->size - begin || m->size == 0 ||
        m->packed != m->size || sum_of(a->data + begin, m->size) != m->sum)
        return damaged(a, error);
    *bytes = a->data + begin;
    return HD_OK;
}

hd_status npz_open(const char *place, FILE **file, void **memory,
                   struct hd_error *error)
{
    const char *name = name_in(place);
    char *path =
        strndup(place, name ? (size_t)(name - 1 - place) : strlen(place));
    struct archive a = {.path = path};
    const unsigned char *bytes = NULL;
    struct member m = {0};

    if (!path)
        return fail(error, HD_ENOMEM, "out of memory");
    hd_status status = read_all(&a, error);
    if (status == HD_OK)
        status = find_member(&a, name, &m, error);
    if (status == HD_OK)
        status = find_bytes(&a, &m, &bytes, error);
    if (status == HD_OK) {
        memmove(a.data, bytes, m.size);
        *file = fmemopen(a.data, m.size, "rb");
        if (!*file)
            status = fail(error, HD_ENOMEM, "%s: out of memory", path);
    }
    free(path);
    if (status == HD_OK)
        *memory = a.data;
    else
        free(a.data);
    return status;
}

// Writing ---------------------------------------------------------------------

static void put(unsigned char *at, int bytes, uint32_t n)
{
    for (int i = 0; i < bytes; i++)
        at[i] = (unsigned char)(n >> 8 * i);
}

// What heads of files and entries have in common, from `at` on: version, flags,
// method, time and date (the first of January 1980), sum, sizes.
static void put_common(unsigned char *at, uint32_t sum, uint32_t size,
                       uint32_t name_size)
{
    put(at, 2, 20);
    put(at + 8, 2, 1 << 5 | 1);
    put(at + 10, 4, sum);
    put(at + 14, 4, size);
    put(at + 18, 4, size);
    put(at + 22, 2, name_size);
}

hd_status npz_write(const void *data, size_t size, FILE *file,
                    struct hd_error *error)
{
    static const char name[] = "arr_0.npy";
    enum {
        NAME = sizeof(name) - 1
    };
    unsigned char head[LOCAL_SIZE] = {0}, entry[ENTRY_SIZE] = {0};
    unsigned char end[END_SIZE] = {0};

    if (size > UINT32_MAX - LOCAL_SIZE - NAME)
        return fail(error, HD_ELIMIT,
                    "archives have less than 4 GiB; write the array as .npy");
    uint32_t sum = sum_of(data, size), all = (uint32_t)size;
    put(head, 4, LOCAL_MAGIC);
    put_common(head + 4, sum, all, NAME);
    put(entry, 4, ENTRY_MAGIC);
    put(entry + 4, 2, 20);
    put_common(entry + 6, sum, all, NAME);
    put(end, 4, END_MAGIC);
    put(end + 8, 2, 1);
    put(end + 10, 2, 1);
    put(end + 12, 4, ENTRY_SIZE + NAME);
    put(end + 16, 4, LOCAL_SIZE + NAME + all);
    fwrite(head, 1, sizeof(head), file);
    fwrite(name, 1, NAME, file);
    fwrite(data, 1, size, file);
    fwrite(entry, 1, sizeof(entry), file);
    fwrite(name, 1, NAME, file);
    fwrite(end, 1, sizeof(end), file);
    return HD_OK; // whoever has opened the file asks whether it was written
}
