// Numbers are little-endian, strings and data have their length in front, lists
// their count; nothing is aligned.
//
//     0    "HEDDLE\r\n"   8     the line end finds transfers as text
//     8    version        4
//     12   frame version  4     what compiled code expects of the runtime
//     16   size           8     of what is behind the digest
//     24   digest        32     of the 24 bytes before and all behind
//     56   count          4     of builds, then each:
//            code, has checked? 1: code,
//            count of joined, each: code, has checked? 1: code
//
// The functions put_x() and take_x() are mirrors: a field is added to both, and
// HDI_CONTAINER_VERSION goes up.
#include "kernel/binary/container.h"

#include <stdlib.h>
#include <string.h>

#include "backend/frame.h"
#include "base/error.h"
#include "kernel/binary/processor.h"

static const char magic[8] = {'H', 'E', 'D', 'D', 'L', 'E', '\r', '\n'};

// The smallest sizes are lower bounds, not exact: they only keep a count that
// was made up from asking for memory that the file could never fill.
// MAX_ARGS_SIZE [bytes] keeps sums with it far from an overflow of 32 bits.
enum {
    HEAD = 8 + 4 + 4 + 8,          // before the digest [bytes]
    BODY = HEAD + HDI_DIGEST_SIZE, // where the builds begin
    SMALLEST_KERNEL = 100,         // fewer bytes describe no kernel,
    SMALLEST_ARG = 21,             // no argument,
    SMALLEST_BUILD = 52,           // no build,
    MAX_ARGS_SIZE = 1 << 24        // and no launch has more of them
};

bool hdi_container_is(const void *data, size_t size)
{
    return size >= sizeof(magic) && memcmp(data, magic, sizeof(magic)) == 0;
}

// Writing ---------------------------------------------------------------------

static void put_32(struct hdi_text *text, uint32_t n)
{
    unsigned char bytes[4];
    for (int i = 0; i < 4; i++)
        bytes[i] = (unsigned char)(n >> 8 * i);
    hdi_text_append(text, bytes, sizeof(bytes));
}

static void put_64(struct hdi_text *text, uint64_t n)
{
    put_32(text, (uint32_t)n);
    put_32(text, (uint32_t)(n >> 32));
}

static void put_string(struct hdi_text *text, const char *string)
{
    size_t size = strlen(string);
    put_32(text, (uint32_t)size);
    hdi_text_append(text, string, size);
}

// Counts first, so that the reader can check all of them against what is left.
static void put_footprint(struct hdi_text *text, const struct hdi_footprint *p)
{
    put_32(text, p->known);
    put_32(text, p->loops);
    put_32(text, p->node_count);
    put_32(text, p->condition_count);
    put_32(text, p->scope_count);
    put_32(text, p->access_count);
    put_32(text, p->work_count);
    for (uint32_t i = 0; i < p->node_count; i++) {
        put_32(text, p->nodes[i].op);
        put_32(text, p->nodes[i].bits);
        put_32(text, p->nodes[i].a);
        put_32(text, p->nodes[i].b);
        put_64(text, (uint64_t)p->nodes[i].number);
    }
    for (uint32_t i = 0; i < p->condition_count; i++) {
        put_32(text, p->conditions[i].relation);
        put_32(text, p->conditions[i].a);
        put_32(text, p->conditions[i].b);
        put_32(text, p->conditions[i].loop);
        put_32(text, p->conditions[i].again);
    }
    for (uint32_t i = 0; i < p->scope_count; i++) {
        put_32(text, p->scopes[i].first);
        put_32(text, p->scopes[i].count);
        put_32(text, p->scopes[i].exact);
    }
    for (uint32_t i = 0; i < p->access_count; i++) {
        put_32(text, p->accesses[i].arg);
        put_32(text, p->accesses[i].scope);
        put_32(text, p->accesses[i].at);
        put_32(text, p->accesses[i].size);
        put_32(text, p->accesses[i].writes);
    }
    for (uint32_t i = 0; i < p->work_count; i++) {
        put_32(text, p->works[i].scope);
        put_32(text, p->works[i].loops);
        put_32(text, p->works[i].steps);
    }
}

static void put_kernel(struct hdi_text *text,
                       const struct hdi_build_kernel *kernel)
{
    put_string(text, kernel->name);
    put_string(text, kernel->file);
    put_string(text, kernel->explanation);
    put_32(text, kernel->line);
    for (int d = 0; d < 3; d++)
        put_32(text, kernel->required_local[d]);
    for (int d = 0; d < 3; d++)
        put_32(text, kernel->hinted_local[d]);
    put_string(text, kernel->hinted_type);
    put_32(text, kernel->local_bytes);
    put_32(text, kernel->saved_bytes);
    put_32(text, kernel->barriers);
    put_32(text, kernel->form);
    put_32(text, kernel->suits);
    put_32(text, kernel->axis);
    put_32(text, kernel->together);
    put_32(text, kernel->args_size);
    put_32(text, kernel->arg_count);
    for (uint32_t i = 0; i < kernel->arg_count; i++) {
        const struct hdi_build_arg *arg = &kernel->args[i];
        put_string(text, arg->name);
        put_string(text, arg->type);
        put_32(text, arg->kind);
        put_32(text, arg->size);
        put_32(text, arg->offset);
        put_32(text, (uint32_t)arg->pointee_const | arg->qualifiers << 1);
    }
    put_footprint(text, &kernel->footprint);
}

static void put_data(struct hdi_text *text, const char *data, size_t size)
{
    put_64(text, size);
    hdi_text_append(text, data, size);
}

// What a build is without what belongs to it. With files only where there are
// digests: in a file that is handed on, paths of this machine mean nothing.
static void put_code(struct hdi_text *text, const struct hdi_build *build,
                     const uint8_t (*digests)[HDI_DIGEST_SIZE])
{
    put_string(text, build->target);
    put_string(text, build->cpu);
    put_string(text, build->features);
    put_string(text, build->log ? build->log : "");
    put_64(text, build->variable_bytes);
    put_32(text, digests ? build->file_count : 0);
    for (uint32_t i = 0; digests && i < build->file_count; i++) {
        put_string(text, build->files[i]);
        hdi_text_append(text, digests[i], HDI_DIGEST_SIZE);
    }
    put_32(text, build->kernel_count);
    for (uint32_t i = 0; i < build->kernel_count; i++)
        put_kernel(text, &build->kernels[i]);
    put_data(text, build->image, build->image_size);
    put_data(text, build->bitcode, build->bitcode_size);
}

// A build that is checked has none of its own.
static void put_one(struct hdi_text *text, const struct hdi_build *build,
                    const uint8_t (*digests)[HDI_DIGEST_SIZE])
{
    put_code(text, build, digests);
    put_32(text, build->checked != NULL);
    if (build->checked)
        put_code(text, build->checked, NULL);
}

static void put_build(struct hdi_text *text, const struct hdi_build *build,
                      const uint8_t (*digests)[HDI_DIGEST_SIZE])
{
    put_one(text, build, digests);
    put_32(text, build->joined_count);
    for (uint32_t i = 0; i < build->joined_count; i++)
        put_one(text, &build->joined[i], NULL);
}

// The body is written first, since its size and its digest stand before it.
// `text` may have a part of it after a failure.
bool hdi_container_write(const struct hdi_build *builds, uint32_t count,
                         const uint8_t (*digests)[HDI_DIGEST_SIZE],
                         const uint8_t *key, struct hdi_text *text)
{
    struct hdi_text body = {0}, head = {0};
    uint8_t digest[HDI_DIGEST_SIZE];

    put_32(&body, count);
    for (uint32_t i = 0; i < count; i++)
        put_build(&body, &builds[i], i == 0 ? digests : NULL);
    hdi_text_append(&head, magic, sizeof(magic));
    put_32(&head, HDI_CONTAINER_VERSION);
    put_32(&head, HDI_FRAME_VERSION);
    put_64(&head, body.size);
    bool ok = !body.failed && !head.failed;
    if (ok) {
        hdi_digest(key,
                   (struct hdi_bytes[]){{head.data, head.size},
                                        {body.data, body.size}},
                   2, digest);
        hdi_text_append(text, head.data, head.size);
        hdi_text_append(text, digest, sizeof(digest));
        hdi_text_append(text, body.data, body.size);
    }
    hdi_text_free(&head);
    hdi_text_free(&body);
    return ok && !text->failed;
}

// Reading ---------------------------------------------------------------------

// Where reading is and what went wrong. Once `status` is not HD_OK every
// take_x() gives 0 or NULL and moves nothing, so that a sequence of them is
// checked once, at its end.
//
// Invariant: at <= end.
struct reader {
    const unsigned char *at, *end;
    hd_status status; // the first thing that went wrong
};

static size_t left(const struct reader *r)
{
    return (size_t)(r->end - r->at);
}

// The next bytes, in place; NULL: there are not so many. Sizes of 64 bits are
// compared before they are cut to a pointer difference.
static const void *take(struct reader *r, uint64_t size)
{
    if (r->status != HD_OK || size > left(r)) {
        if (r->status == HD_OK)
            r->status = HD_EFORMAT;
        return NULL;
    }
    const void *data = r->at;
    r->at += size;
    return data;
}

static uint32_t take_32(struct reader *r)
{
    const unsigned char *b = take(r, 4);
    return b ? (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 |
                   (uint32_t)b[3] << 24
             : 0;
}

static uint64_t take_64(struct reader *r)
{
    uint64_t low = take_32(r);
    return low | (uint64_t)take_32(r) << 32;
}

// A copy that the build owns. A 0 within would make it another string for us
// than for the digest.
static char *take_string(struct reader *r)
{
    uint32_t size = take_32(r);
    const char *data = take(r, size);
    if (!data)
        return NULL;
    if (memchr(data, '\0', size)) {
        r->status = HD_EFORMAT;
        return NULL;
    }
    char *copy = strndup(data, size);
    if (!copy)
        r->status = HD_ENOMEM;
    return copy;
}

// Room for `count` elements that take `smallest` bytes each at least: a count
// that cannot be true is found before memory is asked for.
//
// One element more is allocated than asked for, so that a list of none is not
// NULL. Zeroed: what was not read yet can be cleared.
static void *take_array(struct reader *r, uint32_t count, size_t smallest,
                        size_t element)
{
    if (r->status != HD_OK)
        return NULL;
    if (count > left(r) / smallest) {
        r->status = HD_EFORMAT;
        return NULL;
    }
    void *array = calloc((size_t)count + 1, element);
    if (!array)
        r->status = HD_ENOMEM;
    return array;
}

// Launches write every argument where its offset says.
//
// Of a pointer, an image and local memory the slot has 8 bytes, of a sampler 4.
// The sum is not formed, since it could overflow.
static bool is_inside(const struct hdi_build_arg *arg, uint32_t args_size)
{
    uint32_t size = arg->kind == HD_ARG_VALUE     ? arg->size
                    : arg->kind == HD_ARG_SAMPLER ? (uint32_t)sizeof(uint32_t)
                                                  : (uint32_t)sizeof(uint64_t);

    return arg->kind <= HD_ARG_SAMPLER && arg->offset <= args_size &&
           size <= args_size - arg->offset;
}

// A work-group size is given for all dimensions or for none.
static bool is_size(const uint32_t local[3])
{
    return (local[0] > 0) == (local[1] > 0) && (local[0] > 0) == (local[2] > 0);
}

// The sizes of elements are those that put_footprint() writes. What is in the
// lists is checked as a whole when all is there.
static void take_footprint(struct reader *r, struct hdi_footprint *p,
                           uint32_t arg_count)
{
    p->known = take_32(r);
    p->loops = take_32(r);
    p->node_count = take_32(r);
    p->condition_count = take_32(r);
    p->scope_count = take_32(r);
    p->access_count = take_32(r);
    p->work_count = take_32(r);
    p->nodes = take_array(r, p->node_count, 24, sizeof(*p->nodes));
    p->conditions =
        take_array(r, p->condition_count, 20, sizeof(*p->conditions));
    p->scopes = take_array(r, p->scope_count, 12, sizeof(*p->scopes));
    p->accesses = take_array(r, p->access_count, 20, sizeof(*p->accesses));
    p->works = take_array(r, p->work_count, 12, sizeof(*p->works));
    for (uint32_t i = 0; r->status == HD_OK && i < p->node_count; i++) {
        p->nodes[i].op = take_32(r);
        p->nodes[i].bits = take_32(r);
        p->nodes[i].a = take_32(r);
        p->nodes[i].b = take_32(r);
        p->nodes[i].number = (int64_t)take_64(r);
    }
    for (uint32_t i = 0; r->status == HD_OK && i < p->condition_count; i++) {
        p->conditions[i].relation = take_32(r);
        p->conditions[i].a = take_32(r);
        p->conditions[i].b = take_32(r);
        p->conditions[i].loop = take_32(r);
        p->conditions[i].again = take_32(r);
    }
    for (uint32_t i = 0; r->status == HD_OK && i < p->scope_count; i++) {
        p->scopes[i].first = take_32(r);
        p->scopes[i].count = take_32(r);
        p->scopes[i].exact = take_32(r);
    }
    for (uint32_t i = 0; r->status == HD_OK && i < p->access_count; i++) {
        p->accesses[i].arg = take_32(r);
        p->accesses[i].scope = take_32(r);
        p->accesses[i].at = take_32(r);
        p->accesses[i].size = take_32(r);
        p->accesses[i].writes = take_32(r);
    }
    for (uint32_t i = 0; r->status == HD_OK && i < p->work_count; i++) {
        p->works[i].scope = take_32(r);
        p->works[i].loops = take_32(r);
        p->works[i].steps = take_32(r);
    }
    if (r->status == HD_OK && !hdi_footprint_is_valid(p, arg_count))
        r->status = HD_EFORMAT;
}

// `arg_count` counts up as arguments are read, so that a kernel that is cut can
// be cleared. Enums are checked against their last member.
static void take_kernel(struct reader *r, struct hdi_build_kernel *kernel)
{
    kernel->name = take_string(r);
    kernel->file = take_string(r);
    kernel->explanation = take_string(r);
    kernel->line = take_32(r);
    for (int d = 0; d < 3; d++)
        kernel->required_local[d] = take_32(r);
    for (int d = 0; d < 3; d++)
        kernel->hinted_local[d] = take_32(r);
    kernel->hinted_type = take_string(r);
    kernel->local_bytes = take_32(r);
    kernel->saved_bytes = take_32(r);
    kernel->barriers = take_32(r);
    kernel->form = take_32(r);
    kernel->suits = take_32(r);
    kernel->axis = take_32(r);
    kernel->together = take_32(r);
    kernel->args_size = take_32(r);
    uint32_t count = take_32(r);
    kernel->args = take_array(r, count, SMALLEST_ARG, sizeof(*kernel->args));
    if (!kernel->args)
        return;
    for (; kernel->arg_count < count && r->status == HD_OK;) {
        struct hdi_build_arg *arg = &kernel->args[kernel->arg_count++];
        arg->name = take_string(r);
        arg->type = take_string(r);
        arg->kind = take_32(r);
        arg->size = take_32(r);
        arg->offset = take_32(r);
        uint32_t flags = take_32(r);
        arg->pointee_const = flags & 1;
        arg->qualifiers = flags >> 1;
        if (r->status == HD_OK && !is_inside(arg, kernel->args_size))
            r->status = HD_EFORMAT;
    }
    take_footprint(r, &kernel->footprint, count);
    if (r->status == HD_OK &&
        (kernel->args_size > MAX_ARGS_SIZE || kernel->form > HD_FORM_GRID ||
         kernel->suits > HD_SUITS_GPU || kernel->axis > 2 || !*kernel->name ||
         !is_size(kernel->required_local) || !is_size(kernel->hinted_local)))
        r->status = HD_EFORMAT;
}

// One byte more, never looked at: malloc(0) may be NULL, which would look like
// a lack of memory.
static char *take_data(struct reader *r, size_t *read)
{
    uint64_t size = take_64(r);
    const void *data = take(r, size);
    if (!data)
        return NULL;
    char *copy = malloc((size_t)size + 1);
    if (!copy) {
        r->status = HD_ENOMEM;
        return NULL;
    }
    memcpy(copy, data, (size_t)size);
    *read = (size_t)size;
    return copy;
}

// `*digests` is the caller's to free, also after an error.
static void take_code(struct reader *r, struct hdi_build *build,
                      uint8_t (**digests)[HDI_DIGEST_SIZE])
{
    build->target = take_string(r);
    build->cpu = take_string(r);
    build->features = take_string(r);
    build->log = take_string(r);
    build->variable_bytes = take_64(r);

    uint32_t files = take_32(r);
    build->files =
        take_array(r, files, HDI_DIGEST_SIZE + 4, sizeof(*build->files));
    *digests = take_array(r, files, HDI_DIGEST_SIZE + 4, sizeof(**digests));
    while (build->file_count < files && r->status == HD_OK) {
        build->files[build->file_count] = take_string(r);
        const void *digest = take(r, HDI_DIGEST_SIZE);
        if (digest)
            memcpy((*digests)[build->file_count], digest, HDI_DIGEST_SIZE);
        build->file_count++;
    }

    uint32_t kernels = take_32(r);
    build->kernels =
        take_array(r, kernels, SMALLEST_KERNEL, sizeof(*build->kernels));
    while (build->kernel_count < kernels && r->status == HD_OK)
        take_kernel(r, &build->kernels[build->kernel_count++]);

    build->image = take_data(r, &build->image_size);
    build->bitcode = take_data(r, &build->bitcode_size);
    if (r->status != HD_OK)
        return;
    // Bitcode or code: a library has no kernels yet.
    if (build->bitcode_size == 0) {
        free(build->bitcode);
        build->bitcode = NULL;
    } else if (build->image_size > 0 || kernels > 0) {
        r->status = HD_EFORMAT;
    }
}

// The checked kernels are launched with the arguments of the others.
//
// The same kernels in the same order with arguments of the same kinds: launches
// of the one are given to the other as they are, when a fault is looked for.
static bool is_like(const struct hdi_build *checked,
                    const struct hdi_build *build)
{
    bool like = !checked->bitcode && !build->bitcode &&
                checked->kernel_count == build->kernel_count &&
                strcmp(checked->target, build->target) == 0;

    for (uint32_t i = 0; like && i < build->kernel_count; i++) {
        const struct hdi_build_kernel *a = &checked->kernels[i],
                                      *b = &build->kernels[i];
        like = strcmp(a->name, b->name) == 0 && a->arg_count == b->arg_count &&
               a->form == HD_FORM_CHECKED;
        for (uint32_t j = 0; like && j < a->arg_count; j++)
            like = a->args[j].kind == b->args[j].kind &&
                   a->args[j].size == b->args[j].size;
    }
    return like;
}

// 0 or 1, as a word; the digests are empty, since it names no files.
static void take_checked(struct reader *r, struct hdi_build *build)
{
    uint8_t(*digests)[HDI_DIGEST_SIZE] = NULL;
    uint32_t has = take_32(r);

    if (r->status == HD_OK && has > 1)
        r->status = HD_EFORMAT;
    if (has != 1 || r->status != HD_OK)
        return;
    build->checked = calloc(1, sizeof(*build->checked));
    if (!build->checked) {
        r->status = HD_ENOMEM;
        return;
    }
    take_code(r, build->checked, &digests);
    free(digests);
    if (r->status == HD_OK && !is_like(build->checked, build))
        r->status = HD_EFORMAT;
}

static void take_one(struct reader *r, struct hdi_build *build,
                     uint8_t (**digests)[HDI_DIGEST_SIZE])
{
    take_code(r, build, digests);
    take_checked(r, build);
}

// A library is joined to nothing and joins nothing: it is bitcode, to be
// compiled with others.
static void take_build(struct reader *r, struct hdi_build *build,
                       uint8_t (**digests)[HDI_DIGEST_SIZE])
{
    take_one(r, build, digests);

    uint32_t count = take_32(r);
    build->joined =
        take_array(r, count, SMALLEST_BUILD, sizeof(*build->joined));
    while (build->joined_count < count && r->status == HD_OK) {
        struct hdi_build *one = &build->joined[build->joined_count++];
        uint8_t(*own)[HDI_DIGEST_SIZE] = NULL;

        take_one(r, one, &own);
        free(own);
        if (r->status == HD_OK && (one->bitcode || build->bitcode))
            r->status = HD_EFORMAT;
    }
}

// From the most to the least likely mistake, each with a text of its own: no
// binary at all, no digests in this build, another version, damage. The version
// is looked at before the digest, whose place it says.
static hd_status check_head(const void *data, size_t size, const uint8_t *key,
                            const char *name, struct hd_error *error)
{
    const unsigned char *bytes = data;
    struct reader r = {bytes + sizeof(magic), bytes + size, HD_OK};
    uint8_t digest[HDI_DIGEST_SIZE];

    if (size < BODY || !hdi_container_is(data, size))
        return hdi_fail(error, HD_EFORMAT, "%s: not a Heddle binary, or cut",
                        name);
    if (!hdi_digest_is_there())
        return hdi_fail(error, HD_ENOTSUP,
                        "%s: Heddle binaries need libb2: install libb2-dev and "
                        "build Heddle again",
                        name);
    uint32_t version = take_32(&r), frame = take_32(&r);
    if (version != HDI_CONTAINER_VERSION || frame != HDI_FRAME_VERSION)
        return hdi_fail(error, HD_EFORMAT,
                        "%s: made by another version of Heddle: build it again",
                        name);
    hdi_digest(key,
               (struct hdi_bytes[]){{bytes, HEAD}, {bytes + BODY, size - BODY}},
               2, digest);
    if (take_64(&r) != size - BODY ||
        memcmp(digest, bytes + HEAD, sizeof(digest)) != 0)
        return hdi_fail(error, HD_EFORMAT, "%s: the binary is damaged", name);
    return HD_OK;
}

// `*count` follows what is in `*builds`, for the caller to free after an error.
// Bytes that are left over are an error as well.
static hd_status take_builds(struct reader *r, struct hdi_build **builds,
                             uint32_t *count,
                             uint8_t (**digests)[HDI_DIGEST_SIZE])
{
    uint32_t stated = take_32(r);

    *builds = take_array(r, stated, SMALLEST_BUILD, sizeof(**builds));
    if (r->status == HD_OK && stated == 0)
        r->status = HD_EFORMAT;
    while (*count < stated && r->status == HD_OK) {
        uint8_t(*own)[HDI_DIGEST_SIZE] = NULL;

        take_build(r, &(*builds)[*count], &own);
        if (digests && *count == 0)
            *digests = own;
        else
            free(own);
        ++*count;
    }
    if (r->status == HD_OK && r->at != r->end)
        r->status = HD_EFORMAT;
    return r->status;
}

// All that was read, also partly: unread fields are 0.
static void free_builds(struct hdi_build *builds, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        hdi_build_clear(&builds[i]);
    free(builds);
}

// Nothing is left after an error; `*count` then means nothing. `digests` NULL:
// they are read and thrown away.
hd_status hdi_container_read_all(const void *data, size_t size,
                                 const uint8_t *key, const char *name,
                                 struct hdi_build **builds, uint32_t *count,
                                 uint8_t (**digests)[HDI_DIGEST_SIZE],
                                 struct hd_error *error)
{
    HDI_TRY(check_head(data, size, key, name, error));

    const unsigned char *bytes = data;
    struct reader r = {bytes + BODY, bytes + size, HD_OK};
    struct hdi_build *read = NULL;
    uint8_t(*own)[HDI_DIGEST_SIZE] = NULL;

    *count = 0;
    hd_status status = take_builds(&r, &read, count, &own);
    if (status == HD_OK) {
        *builds = read;
        if (digests)
            *digests = own;
        else
            free(own);
        return HD_OK;
    }
    free(own);
    free_builds(read, *count);
    return status == HD_ENOMEM
               ? hdi_fail(error, status, "%s: no memory to read it", name)
               : hdi_fail(error, status, "%s: the binary is damaged", name);
}

// What it holds and what this machine lacks for each, in one sentence.
static hd_status fail_fit(const struct hdi_build *builds, uint32_t count,
                          const struct hdi_capabilities *can, const char *name,
                          struct hd_error *error)
{
    struct hdi_text has = {0};

    for (uint32_t i = 0; i < count; i++) {
        hdi_text_print(&has, "%s",
                       i == 0          ? ""
                       : i + 1 < count ? ", "
                                       : " and ");
        hdi_processor_name(can, &builds[i], &has);
    }
    hd_status status = hdi_fail(
        error, HD_ENOTSUP,
        "%s: holds code for %s, which this processor (%s) cannot run: build it "
        "from source here, or with --cpu for others",
        name, has.failed ? "others" : has.data,
        can->description ? can->description : can->cpu);
    hdi_text_free(&has);
    return status;
}

// The chosen build is moved out of the array, not copied; the others are freed.
hd_status hdi_container_read(const void *data, size_t size, const uint8_t *key,
                             const struct hdi_capabilities *can,
                             const char *name, struct hdi_build *build,
                             uint8_t (**digests)[HDI_DIGEST_SIZE],
                             struct hd_error *error)
{
    struct hdi_build *builds;
    uint32_t count;

    HDI_TRY(hdi_container_read_all(data, size, key, name, &builds, &count,
                                   digests, error));
    struct hdi_build *best =
        can ? hdi_processor_choose(can, builds, count) : builds;
    hd_status status = best ? HD_OK : fail_fit(builds, count, can, name, error);
    if (best) {
        *build = *best;
        *best = (struct hdi_build){0};
    } else if (digests) {
        free(*digests);
        *digests = NULL;
    }
    free_builds(builds, count);
    return status;
}
