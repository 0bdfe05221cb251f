// For tests: how wide the vectors of a kernel are, for processors that need not
// be the one at hand.
#ifndef HDI_TESTS_KERNEL_WIDTHS_H
#define HDI_TESTS_KERNEL_WIDTHS_H

#include <stdio.h>
#include <unistd.h>

#include "tests/folder.h"
#include "tests/kernel/try.h"

static inline bool line_has(const char *line, const char *text)
{
    const char *at = strstr(line, text);
    return at && at < strchr(line, '\n');
}

// Where the ELF image in a binary begins: what comes behind it is ignored.
static inline FILE *open_listing(const struct hd_program *p, char path[])
{
    struct hd_error error;
    char command[PATH_ROOM + 128];
    void *binary;
    size_t size;

    CHECK_OK(hd_program_binary(p, &binary, &size, &error), error);
    const char *image = memmem(binary, size, "\177ELF", 4);
    CHECK(image);
    size_t bytes = size - (size_t)(image - (const char *)binary);
    int fd = mkstemp(path);
    CHECK(fd >= 0 && write(fd, image, bytes) == (ssize_t)bytes);
    close(fd);
    free(binary);
    snprintf(command, sizeof(command), "objdump -d --no-show-raw-insn %s",
             path);
    return popen(command, "r");
}

// Whether an instruction of x86-64, as objdump names it, computes with all
// numbers of its registers.
static inline bool is_packed(const char *name)
{
    static const char *const begins[] = {
        "add",    "sub",     "mul",      "div",    "max",     "min",    "sqrt",
        "fmadd",  "fmsub",   "fnmadd",   "fnmsub", "rsqrt",   "rcp",    "cvt",
        "and",    "cmp",     "blend",    "gather", "scatter", "unpck",  "shuf",
        "perm",   "padd",    "psub",     "pmul",   "pmadd",   "pmax",   "pmin",
        "pcmp",   "pand",    "psll",     "psrl",   "psra",    "pblend", "pshuf",
        "punpck", "pgather", "pscatter", "palign", "perm",    "pavg",   "pabs"};
    size_t length = strlen(name);
    bool scalar = length > 2 && name[length - 2] == 's' &&
                  (name[length - 1] == 's' || name[length - 1] == 'd');

    name += *name == 'v';
    for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]) && !scalar; i++)
        if (strncmp(name, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

// The widest registers whose numbers the code of a kernel for x86-64 computes
// with, all at a time [bytes]; 0: none, or it has no vectors.
static inline unsigned register_bytes(const struct hd_program *p,
                                      const char *name)
{
    char path[PATH_ROOM], line[512], mnemonic[64], own[96], version[96];
    bool here = false, seen = false;
    unsigned most = 0;

    write_template(path);
    FILE *listing = open_listing(p, path);
    CHECK(listing);
    snprintf(own, sizeof(own), "<hdk_%s>", name);
    snprintf(version, sizeof(version), ".%s>", name); // version1.NAME
    while (fgets(line, sizeof(line), listing)) {
        if (strstr(line, ">:\n")) {
            here = strstr(line, own) || strstr(line, version);
            seen = seen || here;
        }
        const char *code = strchr(line, '\t');
        if (!here || !code || sscanf(code, "%63s", mnemonic) != 1 ||
            !is_packed(mnemonic))
            continue;
        unsigned bytes = strstr(code, "%zmm")   ? 64
                         : strstr(code, "%ymm") ? 32
                         : strstr(code, "%xmm") ? 16
                                                : 0;
        most = bytes > most ? bytes : most;
    }
    CHECK(pclose(listing) == 0 && seen);
    unlink(path);
    return most;
}

// Whether there is a disassembler to look at machine code with.
static inline bool has_disassembler(void)
{
    static int is = -1;

    if (is < 0)
        is = system("objdump --version >/dev/null 2>&1") == 0;
    return is;
}

// Whether the code of any kernel has an instruction that is written so.
static inline bool code_has(const struct hd_program *p, const char *text)
{
    char path[PATH_ROOM], line[512];
    bool has = false;

    write_template(path);
    FILE *listing = open_listing(p, path);
    CHECK(listing);
    while (fgets(line, sizeof(line), listing))
        has = has || strstr(line, text);
    CHECK(pclose(listing) == 0);
    unlink(path);
    return has;
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
            line_has(line + 1, "one work-item of each row") ||
            line_has(line + 1, "done once for the whole group"))
            continue;
        if (sscanf(line, "\nregion %u: vector width %u", &region, &w) < 2)
            w = 1;
        least = w < least ? w : least;
    }
    return least;
}

// Its regions are said to be vectors of so many numbers of 32 bits or more, and
// the code has them.
static inline bool is_wide(const struct hd_program *p, const char *name,
                           unsigned numbers)
{
    return width(p, name) >= numbers &&
           (!has_disassembler() || register_bytes(p, name) >= 4 * numbers);
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
