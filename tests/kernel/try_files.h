// For tests of programs: a folder of their own, and a program to build there.
#ifndef HDI_TESTS_KERNEL_TRY_FILES_H
#define HDI_TESTS_KERNEL_TRY_FILES_H

#include <stdio.h>

#include "base/text.h"
#include "tests/kernel/try.h"

static char folder[] = P_tmpdir "/heddle-test-XXXXXX";
static const char twice[] =
    "__kernel void twice(__global int *x) { x[get_global_id(0)] *= 2; }\n";

static inline const char *path_in(const char *name)
{
    static char paths[4][256];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
    return path;
}

static inline void write_file(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    CHECK(file);
    CHECK(fwrite(data, 1, size, file) == size);
    CHECK(fclose(file) == 0);
}

static inline struct hdi_text read_file(const char *path)
{
    struct hdi_text text = {0};
    char block[4096];
    size_t n;
    FILE *file = fopen(path, "rb");
    CHECK(file);
    while ((n = fread(block, 1, sizeof(block), file)) > 0)
        hdi_text_append(&text, block, n);
    fclose(file);
    return text;
}

static inline void check_twice(struct try *t, const struct hd_program *p)
{
    int x[5] = {1, 2, 3, 4, 5}, *px = x;
    TRY_RUN(t, p, "twice", ((struct try_range){1, {5}, {2}, {0}}),
            TRY_VALUE(px));
    for (int i = 0; i < 5; i++)
        CHECK(x[i] == 2 * (i + 1));
}

// A program through the cache; says whether it came out of it.
static inline bool cached(struct try *t, const struct hd_program_params params)
{
    struct hd_error error;
    struct hd_program *p;

    CHECK_OK(hdi_program_create(&t->context, &params, &p, &error), error);
    bool was = hd_program_was_cached(p);
    if (hd_program_find(p, "twice"))
        check_twice(t, p);
    hd_program_destroy(p);
    return was;
}

static inline void use_cache(struct try *t, const char *name)
{
    struct hd_error error;
    hdi_cache_close(t->context.cache);
    CHECK_OK(hdi_cache_open(path_in(name), &t->context.cache, &error), error);
}

static inline void remove_folder(void)
{
    char command[200];
    snprintf(command, sizeof(command), "chmod -R u+w %s && rm -rf %s", folder,
             folder);
    CHECK(system(command) == 0);
}

#endif
