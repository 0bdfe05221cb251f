// For tests: how wide the vectors of a kernel are, for processors that need not
// be the one at hand.
#ifndef HDI_KERNEL_WIDTHS_H
#define HDI_KERNEL_WIDTHS_H

#include <stdio.h>

#include "tests/kernel/try.h"

static inline bool line_has(const char *line, const char *text)
{
    const char *at = strstr(line, text);
    return at && at < strchr(line, '\n');
}

// The narrowest vector of the kernel's regions that have work to do.
static inline unsigned width(const struct hd_program *p, const char *name)
{
    const struct hd_kernel *kernel = hd_program_find(p, name);
    unsigned least = 1000;

    CHECK(kernel);
    const char *text = hd_kernel_info(kernel)->explanation;
    printf("%s:\n%s\n", name, text);
    for (const char *line = strstr(text, "\nregion "); line;
         line = strstr(line + 1, "\nregion ")) {
        unsigned region, w = 1;
        if (line_has(line + 1, "nothing to do") ||
            line_has(line + 1, "one work-item of each row"))
            continue;
        if (sscanf(line, "\nregion %u: vector width %u", &region, &w) < 2)
            w = 1;
        least = w < least ? w : least;
    }
    return least;
}

// For a processor that need not be the one at hand.
static inline struct hd_program *build_for(struct try *t, const char *text,
                                           const char *cpu)
{
    const struct hd_program_params params = {
        .path = "test.cl", .source = text, .cpus = cpu};
    struct hd_error error;
    struct hd_program *p;

    CHECK_OK(hdi_program_create(&t->context, &params, &p, &error), error);
    return p;
}

// Of each kind of vectors there is, on every machine that can make them; on
// others of its own.
static const struct processor {
    const char *cpu;
    unsigned width; // of a vector of numbers of 32 bits
} processors[] = {{"x86-64-v2", 4}, {"x86-64-v3", 8}, {"x86-64-v4", 16}};

// Whether code has instructions of AVX2 or AVX-512 that load from scattered
// addresses.
static inline bool gathers(const unsigned char *code, size_t size)
{
    for (size_t i = 0; i + 7 < size; i++) {
        bool is_evex = code[i] == 0x62;
        const unsigned char *rest = code + i + 3 + is_evex;
        if ((is_evex || code[i] == 0xc4) && (code[i + 1] & 7) == 2 &&
            (code[i + 2] & 3) == 1 && rest[0] >= 0x90 && rest[0] <= 0x93 &&
            (rest[1] & 7) == 4 && rest[1] < 0xc0)
            return true;
    }
    return false;
}

static inline bool has_gathers(struct try *t, const char *text, const char *cpu)
{
    struct hd_program *p = build_for(t, text, cpu);
    struct hd_error error;
    void *binary;
    size_t size;

    CHECK_OK(hd_program_binary(p, &binary, &size, &error), error);
    bool found = gathers(binary, size);
    free(binary);
    hd_program_destroy(p);
    return found;
}

#endif
