#include "array.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "failure.h"
#include "heddle/kernel.h"
#include "npz.h"
#include "target.h"

enum {
    MAX_HEAD = 65536, // [bytes]
    MAX_AXES = 8,
    MAX_TYPE = 16
};

static const char magic[6] = "\x93NUMPY";

// Types -----------------------------------------------------------------------

struct scalar {
    const char *name;  // in OpenCL C
    const char *descr; // in NumPy, without the byte order
    unsigned size;     // [bytes]
};

static const struct scalar scalars[] = {
    {"char", "i1", 1},   {"uchar", "u1", 1},  {"short", "i2", 2},
    {"ushort", "u2", 2}, {"int", "i4", 4},    {"uint", "u4", 4},
    {"long", "i8", 8},   {"ulong", "u8", 8},  {"half", "f2", 2},
    {"float", "f4", 4},  {"double", "f8", 8}, {"uchar", "b1", 1}};

static const char *const vectors[] = {
    "char2",   "char3",   "char4",   "char8",   "char16",  "uchar2",   "uchar3",
    "uchar4",  "uchar8",  "uchar16", "short2",  "short3",  "short4",   "short8",
    "short16", "ushort2", "ushort3", "ushort4", "ushort8", "ushort16", "int2",
    "int3",    "int4",    "int8",    "int16",   "uint2",   "uint3",    "uint4",
    "uint8",   "uint16",  "long2",   "long3",   "long4",   "long8",    "long16",
    "ulong2",  "ulong3",  "ulong4",  "ulong8",  "ulong16", "half2",    "half3",
    "half4",   "half8",   "half16",  "float2",  "float3",  "float4",   "float8",
    "float16", "double2", "double3", "double4", "double8", "double16"};

static const struct scalar *find_scalar(const char *type, size_t length)
{
    for (size_t i = 0; i < sizeof(scalars) / sizeof(*scalars); i++)
        if (strlen(scalars[i].name) == length &&
            memcmp(scalars[i].name, type, length) == 0)
            return &scalars[i];
    return NULL;
}

// A type as a string constant, its scalar and how many it has; NULL: none.
static const char *find_type(const char *text, const struct scalar **scalar,
                             unsigned *width)
{
    size_t stem = strcspn(text, "0123456789");

    *scalar = find_scalar(text, stem);
    *width = text[stem] ? (unsigned)strtoul(text + stem, NULL, 10) : 1;
    if (*scalar && !text[stem])
        return (*scalar)->name;
    for (size_t i = 0; *scalar && i < sizeof(vectors) / sizeof(*vectors); i++)
        if (strcmp(vectors[i], text) == 0)
            return vectors[i];
    return NULL;
}

static bool ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);

    return n > m && strcmp(name + n - m, end) == 0;
}

bool array_is_one(const char *place)
{
    const char *at = strrchr(place, '@');
    const struct scalar *scalar;
    unsigned width;
    char type[MAX_TYPE];

    if (at) {
        snprintf(type, sizeof(type), "%.*s", (int)strcspn(at + 1, ","), at + 1);
        return find_type(type, &scalar, &width) != NULL;
    }
    return ends_in(place, ".npy") || npz_is_one(place) ||
           ends_in(place, ".raw") || ends_in(place, ".bin");
}

// Places ----------------------------------------------------------------------

struct place {
    char *path;
    const char *type; // NULL: what the file says
    const struct scalar *scalar;
    unsigned width, axes; // axes 0: what the file says
    uint64_t extent[3];
};

static hd_status bad_place(const char *place, struct hd_error *error)
{
    return fail(error, HD_EINVAL,
                "%s: give bytes without a header as "
                "FILE@TYPE,WIDTH[,HEIGHT[,DEPTH]], such as "
                "a.raw@float4,640,480",
                place);
}

static hd_status parse_place(const char *text, struct place *place,
                             struct hd_error *error)
{
    const char *at = strrchr(text, '@');
    char type[MAX_TYPE];

    *place = (struct place){.path = strdup(text), .extent = {1, 1, 1}};
    if (!place->path)
        return fail(error, HD_ENOMEM, "out of memory");
    if (!at)
        return ends_in(text, ".npy") || npz_is_one(text)
                   ? HD_OK
                   : bad_place(text, error);
    place->path[at - text] = '\0';
    const char *rest = at + 1 + strcspn(at + 1, ",");
    snprintf(type, sizeof(type), "%.*s", (int)(rest - at - 1), at + 1);
    place->type = find_type(type, &place->scalar, &place->width);
    if (!place->type)
        return bad_place(text, error);
    while (*rest == ',') {
        char *end;
        errno = 0;
        unsigned long long n = strtoull(rest + 1, &end, 10);
        if (rest[1] < '0' || rest[1] > '9' || errno || n == 0 ||
            n > ARRAY_BYTES || place->axes == 3)
            return bad_place(text, error);
        place->extent[place->axes++] = n;
        rest = end;
    }
    if (*rest || (place->axes == 0 && !ends_in(place->path, ".npy") &&
                  !npz_is_one(place->path)))
        return bad_place(text, error);
    return HD_OK;
}

// Heads -----------------------------------------------------------------------

struct head {
    const struct scalar *scalar;
    bool swapped;
    unsigned axes;
    uint64_t extent[MAX_AXES]; // as in the file, slowest first
};

static const char *find_key(const char *text, const char *key)
{
    char quoted[32];

    for (const char *quotes = "'\""; *quotes; quotes++) {
        snprintf(quoted, sizeof(quoted), "%c%s%c", *quotes, key, *quotes);
        const char *at = strstr(text, quoted);
        if (!at)
            continue;
        at += strlen(quoted);
        at += strspn(at, " ");
        if (*at == ':')
            return at + 1 + strspn(at + 1, " ");
    }
    return NULL;
}

static bool parse_shape(const char *at, struct head *head)
{
    if (!at || *at++ != '(')
        return false;
    for (;;) {
        at += strspn(at, " ");
        if (*at == ')')
            return true;
        char *end;
        errno = 0;
        if (*at < '0' || *at > '9' || head->axes == MAX_AXES)
            return false;
        head->extent[head->axes++] = strtoull(at, &end, 10);
        at = end + strspn(end, "L ");
        if (errno || (*at != ',' && *at != ')'))
            return false;
        at += *at == ',';
    }
}

static hd_status parse_head(const char *path, const char *text,
                            struct head *head, struct hd_error *error)
{
    const char *descr = find_key(text, "descr");
    const char *order = find_key(text, "fortran_order");

    *head = (struct head){0};
    if (!descr || !order || !parse_shape(find_key(text, "shape"), head) ||
        (*descr != '\'' && *descr != '"'))
        return fail(error, HD_EFORMAT, "%s: its header is damaged", path);
    if (strncmp(order, "True", 4) == 0)
        return fail(error, HD_EFORMAT,
                    "%s: its first axis is the fastest (Fortran order); save "
                    "numpy.ascontiguousarray(a)",
                    path);
    head->swapped = descr[1] == '>';
    for (size_t i = 0; i < sizeof(scalars) / sizeof(*scalars); i++)
        if (strchr("<>|=", descr[1]) && descr[1] &&
            strncmp(descr + 2, scalars[i].descr, 2) == 0 &&
            descr[4] == descr[0])
            head->scalar = &scalars[i];
    if (!head->scalar)
        return fail(error, HD_EFORMAT,
                    "%s: kernels have no type for its elements, %.*s; save "
                    "numbers of up to 8 bytes",
                    path, (int)strcspn(descr + 1, "'\"") + 2, descr);
    return HD_OK;
}

// Read up to where the elements begin.
static hd_status read_head(FILE *file, const char *path, struct head *head,
                           struct hd_error *error)
{
    unsigned char start[8], length[4] = {0};
    char *text = NULL;

    if (fread(start, 1, 8, file) != 8 || memcmp(start, magic, 6) != 0)
        return fail(error, HD_EFORMAT, "%s: it is no .npy file", path);
    if (start[6] < 1 || start[6] > 3)
        return fail(error, HD_EFORMAT,
                    "%s: version %u of the format is not known", path,
                    start[6]);
    size_t bytes = start[6] == 1 ? 2 : 4;
    size_t size = 0;
    hd_status status = HD_OK;
    if (fread(length, 1, bytes, file) == bytes)
        size = length[0] | (size_t)length[1] << 8 | (size_t)length[2] << 16 |
               (size_t)length[3] << 24;
    if (size == 0 || size > MAX_HEAD || !(text = malloc(size + 1)) ||
        fread(text, 1, size, file) != size || memchr(text, 0, size))
        status = fail(error, HD_EFORMAT, "%s: its header is damaged", path);
    if (status == HD_OK) {
        text[size] = '\0';
        status = parse_head(path, text, head, error);
    }
    free(text);
    return status;
}

// The shape of our array. Axes beyond what is needed: the last ones become
// vectors, if the place says so or there are four.
static hd_status find_shape(const struct head *head, struct place *place,
                            struct array *array, struct hd_error *error)
{
    unsigned axes = head->axes;
    char type[MAX_TYPE];

    if (!place->type) {
        place->scalar = head->scalar;
        place->width = 1;
        place->type = head->scalar->name;
        if (axes == 4) {
            snprintf(type, sizeof(type), "%s%u", head->scalar->name,
                     (unsigned)(head->extent[3] & 31));
            place->type = find_type(type, &place->scalar, &place->width);
        }
    }
    if (!place->type || axes > 4 ||
        strcmp(place->scalar->name, head->scalar->name) != 0)
        return fail(error, HD_EFORMAT,
                    "%s: an array of %u axes of '%s' is none of '%s'",
                    place->path, axes, head->scalar->name,
                    place->type ? place->type : "vectors");
    bool joined =
        place->width > 1 && axes > 0 && head->extent[axes - 1] == place->width;
    if (place->width > 1 && !joined)
        return fail(error, HD_EFORMAT,
                    "%s: the last axis has %" PRIu64 ", not the %u components "
                    "of '%s'",
                    place->path, axes ? head->extent[axes - 1] : 0,
                    place->width, place->type);
    axes -= joined;
    if (axes > 3)
        return fail(error, HD_EFORMAT, "%s: it has more than 3 axes",
                    place->path);
    array->shape = (struct hd_shape){
        .type = place->type, .axes = axes ? axes : 1, .extent = {1, 1, 1}};
    for (unsigned i = 0; i < axes; i++)
        array->shape.extent[i] = head->extent[axes - 1 - i];
    return HD_OK;
}

// Elements --------------------------------------------------------------------

// Bytes of an element in the file and in memory: 3 components take the room of
// 4.
static void element_sizes(const struct scalar *scalar, unsigned width,
                          uint64_t *in_file, uint64_t *in_memory)
{
    *in_file = (uint64_t)scalar->size * width;
    *in_memory = (uint64_t)scalar->size * (width == 3 ? 4 : width);
}

static void swap_bytes(unsigned char *at, uint64_t count, unsigned size)
{
    for (uint64_t i = 0; i < count; i++, at += size)
        for (unsigned k = 0; k < size / 2; k++) {
            unsigned char byte = at[k];
            at[k] = at[size - 1 - k];
            at[size - 1 - k] = byte;
        }
}

static hd_status read_elements(FILE *file, const struct place *place,
                               bool swapped, struct array *array,
                               struct hd_error *error)
{
    uint64_t in_file, in_memory, count = 1;
    char byte;

    element_sizes(place->scalar, place->width, &in_file, &in_memory);
    for (unsigned i = 0; i < 3; i++) {
        if (array->shape.extent[i] == 0)
            return fail(error, HD_EFORMAT, "%s: it has no elements",
                        place->path);
        if (__builtin_mul_overflow(count, array->shape.extent[i], &count) ||
            count > ARRAY_BYTES / in_memory)
            return fail(error, HD_ELIMIT, "%s: more than %" PRIu64 " bytes",
                        place->path, ARRAY_BYTES);
    }
    array->size = count * in_memory;
    array->data = malloc(array->size);
    if (!array->data)
        return fail(error, HD_ENOMEM, "%s: no memory for %" PRIu64 " bytes",
                    place->path, array->size);
    uint64_t got = fread(array->data, 1, count * in_file, file);
    if (ferror(file))
        return fail(error, HD_EIO, "cannot read %s: %s", place->path,
                    strerror(errno));
    if (got != count * in_file || fread(&byte, 1, 1, file) == 1)
        return fail(error, HD_EFORMAT,
                    "%s: it has %s than the %" PRIu64 " bytes of its elements",
                    place->path, got != count * in_file ? "less" : "more",
                    count * in_file);
    if (swapped)
        swap_bytes(array->data, got / place->scalar->size, place->scalar->size);
    for (uint64_t i = count; in_file != in_memory && i-- > 0;) {
        char *to = (char *)array->data + i * in_memory;
        memmove(to, (char *)array->data + i * in_file, in_file);
        memset(to + in_file, 0, in_memory - in_file);
    }
    return HD_OK;
}

static hd_status read_file(FILE *file, struct place *place, struct array *array,
                           struct hd_error *error)
{
    struct head head = {0};
    hd_status status = HD_OK;

    if (place->axes > 0) {
        array->shape =
            (struct hd_shape){.type = place->type, .axes = place->axes};
        memcpy(array->shape.extent, place->extent, sizeof(place->extent));
    } else {
        status = read_head(file, place->path, &head, error);
        if (status == HD_OK)
            status = find_shape(&head, place, array, error);
    }
    return status == HD_OK
               ? read_elements(file, place, head.swapped, array, error)
               : status;
}

hd_status array_read(const char *text, struct array *array,
                     struct hd_error *error)
{
    struct array read = {0};
    struct place place;

    FILE *file = NULL;
    void *memory = NULL;
    hd_status status = parse_place(text, &place, error);
    if (status == HD_OK && npz_is_one(place.path))
        status = npz_open(place.path, &file, &memory, error);
    else if (status == HD_OK && !(file = fopen(place.path, "rbe")))
        status = fail(error, errno == ENOENT ? HD_ENOENT : HD_EIO,
                      "cannot open %s: %s", place.path, strerror(errno));
    if (status == HD_OK)
        status = read_file(file, &place, &read, error);
    if (file)
        fclose(file);
    free(memory);
    free(place.path);
    if (status == HD_OK)
        *array = read;
    else
        free(read.data);
    return status;
}

// Writing ---------------------------------------------------------------------

struct writing {
    const char *path;
    const struct hd_shape *shape;
    const struct hd_buffer *buffer;
};

// Version 1, padded to a multiple of 64 bytes as NumPy does it.
static void write_head(const struct hd_shape *shape,
                       const struct scalar *scalar, unsigned width, FILE *file)
{
    char text[256];
    int used = snprintf(text, sizeof(text),
                        "{'descr': '%s%s', 'fortran_order': False, 'shape': (",
                        scalar->size == 1 ? "|" : "<", scalar->descr);

    for (unsigned i = shape->axes; i-- > 0;)
        used += snprintf(text + used, sizeof(text) - (size_t)used,
                         "%" PRIu64 ", ", shape->extent[i]);
    if (width > 1)
        used +=
            snprintf(text + used, sizeof(text) - (size_t)used, "%u, ", width);
    used += snprintf(text + used, sizeof(text) - (size_t)used, "), }");
    int size = (10 + used + 1 + 63) / 64 * 64 - 10;
    fwrite(magic, 1, sizeof(magic), file);
    fputc(1, file);
    fputc(0, file);
    fputc(size & 255, file);
    fputc(size >> 8, file);
    fprintf(file, "%s%*s\n", text, size - used - 1, "");
}

static hd_status write_array(void *data, FILE *file, struct hd_error *error)
{
    const struct writing *w = data;
    const struct scalar *scalar;
    unsigned width;
    uint64_t in_file, in_memory, count = 1;
    char block[49152]; // a multiple of every element's size

    find_type(w->shape->type, &scalar, &width);
    element_sizes(scalar, width, &in_file, &in_memory);
    for (unsigned i = 0; i < w->shape->axes; i++)
        count *= w->shape->extent[i];
    if (ends_in(w->path, ".npy") || npz_is_one(w->path))
        write_head(w->shape, scalar, width, file);
    uint64_t step = sizeof(block) / in_memory;
    for (uint64_t i = 0; i < count; i += step) {
        uint64_t now = count - i < step ? count - i : step;
        hd_status status = hd_buffer_read(w->buffer, i * in_memory, block,
                                          now * in_memory, error);
        if (status != HD_OK)
            return status;
        for (uint64_t k = 0; in_file != in_memory && k < now; k++)
            memmove(block + k * in_file, block + k * in_memory, in_file);
        fwrite(block, 1, now * in_file, file);
    }
    return HD_OK;
}

static hd_status write_archive(void *data, FILE *file, struct hd_error *error)
{
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);

    if (!memory)
        return fail(error, HD_ENOMEM, "no memory for an archive");
    hd_status status = write_array(data, memory, error);
    if (fclose(memory) != 0 && status == HD_OK)
        status = fail(error, HD_ENOMEM, "no memory for an archive");
    if (status == HD_OK)
        status = npz_write(text, size, file, error);
    free(text);
    return status;
}

hd_status array_write(const char *path, const struct hd_shape *shape,
                      const struct hd_buffer *buffer, struct hd_error *error)
{
    struct writing writing = {path, shape, buffer};

    if (npz_is_one(path) && !ends_in(path, ".npz"))
        return fail(error, HD_EINVAL,
                    "%s: an output has a .npz file of its own, FILE.npz, in "
                    "which it is arr_0",
                    path);
    return target_write(path, npz_is_one(path) ? write_archive : write_array,
                        &writing, error);
}
