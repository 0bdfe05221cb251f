// Every allocation of ours on the way from a text to a program fails in turn:
// that is an error with a text, or no matter at all. LLVM's own cannot fail.
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/try.h"

// The functions that are replaced below, for the module too.
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);

static atomic_long left = -1; // allocations before one fails; < 0: none does
static atomic_bool failed;

// Code of this program and of the compiler module.
enum {
    PROGRAM,
    MODULE,
    PLACES
};
static struct {
    uintptr_t begin, end;
} code[PLACES];

static int note_code(struct dl_phdr_info *info, size_t size, void *data)
{
    int place =
        strstr(info->dlpi_name, "heddle_compiler.so") ? MODULE : PROGRAM;

    (void)size;
    (void)data;
    if (place == PROGRAM && *info->dlpi_name)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X))
            continue;
        code[place].begin = info->dlpi_addr + part->p_vaddr;
        code[place].end = code[place].begin + part->p_memsz;
    }
    return 0;
}

static bool is_ours(const void *address)
{
    uintptr_t at = (uintptr_t)address;
    for (int i = 0; i < PLACES; i++)
        if (at >= code[i].begin && at < code[i].end)
            return true;
    return false;
}

static bool is_refused(const void *caller)
{
    if (atomic_load_explicit(&left, memory_order_relaxed) < 0 ||
        !is_ours(caller) || atomic_fetch_sub(&left, 1) != 0)
        return false;
    atomic_store(&failed, true);
    errno = ENOMEM;
    return true;
}

HD_API void *malloc(size_t size)
{
    return is_refused(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

HD_API void *calloc(size_t count, size_t size)
{
    return is_refused(__builtin_return_address(0)) ? NULL
                                                   : __libc_calloc(count, size);
}

HD_API void *realloc(void *memory, size_t size)
{
    return is_refused(__builtin_return_address(0))
               ? NULL
               : __libc_realloc(memory, size);
}

HD_API char *strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy =
        is_refused(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
    return copy ? memcpy(copy, text, size) : NULL;
}

static const char source[] =
    "kernel void sums(global float *x, local float *part, int n) {\n"
    "    int l = get_local_id(0);\n"
    "    part[l] = sqrt(x[get_global_id(0)]);\n"
    "    for (int i = 0; i < n; i++) {\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "        part[l] += part[(l + i) % get_local_size(0)];\n"
    "    }\n"
    "    x[get_global_id(0)] = part[l];\n"
    "}\n"
    "kernel void strided(global int *x, int n) {\n"
    "    for (int i = get_global_id(0); i < n; i += get_global_size(0))\n"
    "        x[i] = x[i] * 2;\n"
    "}\n";

// True when an allocation failed.
static bool build_with(struct try *t, long successes)
{
    const struct hd_program_params params = {
        .path = "folder/text.cl", .source = source, .options = "-D A=1"};
    struct hd_program *program = NULL;
    struct hd_error error = {0};

    atomic_store(&failed, false);
    atomic_store(&left, successes);
    hd_status status =
        hdi_program_create(&t->context, &params, &program, &error);
    atomic_store(&left, -1);
    if (status == HD_OK) {
        CHECK(hd_program_kernel_count(program) == 2);
        hd_program_destroy(program);
    } else if (status != HD_ENOMEM || !*error.text) {
        fprintf(stderr, "allocation %ld: %s: %s\n", successes,
                hd_status_text(status), error.text);
        CHECK(status == HD_ENOMEM);
        CHECK(*error.text);
    }
    return atomic_load(&failed);
}

int main(void)
{
    struct try t = try_open();
    long n = 0;

    CHECK(!build_with(&t, -1)); // opens the module
    dl_iterate_phdr(note_code, NULL);
    CHECK(code[PROGRAM].end && code[MODULE].end);
    while (build_with(&t, n))
        n++;
    CHECK(n > 50);
    printf("%ld allocations\n", n);
    try_close(&t);
    return 0;
}
