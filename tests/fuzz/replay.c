// Runs a fuzz target without a fuzzer: every file of a corpus, then as many
// changed ones as asked for, the same in every run.
//
//     NAME_fuzz CORPUS COUNT
//
// The inputs run in a child process; the one that ends it is kept in a file.
#include <dirent.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

enum {
    MAX_BYTES = 1 << 16,
    MAX_FILES = 256,
    NEUTRAL = 77 // exit status of a test that cannot run
};

struct input {
    size_t size;
    uint8_t data[MAX_BYTES];
};

static struct input files[MAX_FILES];
static unsigned file_count;
static uint64_t state = 1;

static uint32_t below(uint32_t n)
{
    uint64_t z = state += 0x9e3779b97f4a7c15u; // splitmix64

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ z >> 31) >> 32) % n;
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static bool read_corpus(const char *folder)
{
    struct dirent **names;
    int count = scandir(folder, &names, is_visible, alphasort);

    for (int i = 0; i < count; i++) {
        char path[4096];
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]->d_name);
        FILE *file = fopen(path, "rb");
        if (file && file_count < MAX_FILES) {
            struct input *input = &files[file_count++];
            input->size = fread(input->data, 1, MAX_BYTES, file);
        }
        if (file)
            fclose(file);
        free(names[i]);
    }
    if (count >= 0)
        free(names);
    return file_count > 0;
}

static void cut(struct input *in, size_t from, size_t size)
{
    memmove(in->data + from, in->data + from + size, in->size - from - size);
    in->size -= size;
}

static void insert(struct input *in, size_t at, const uint8_t *from,
                   size_t size)
{
    if (size > MAX_BYTES - in->size)
        return;
    memmove(in->data + at + size, in->data + at, in->size - at);
    memmove(in->data + at, from, size);
    in->size += size;
}

static void change(struct input *in)
{
    static const uint32_t words[] = {
        0, 1, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff};
    uint32_t word = words[below(sizeof(words) / sizeof(words[0]))];
    size_t at = in->size ? below((uint32_t)in->size) : 0;
    size_t size = in->size - at, some = size ? 1 + below((uint32_t)size) : 0;
    const struct input *other = &files[below(file_count)];

    switch (in->size ? below(7) : 4) {
    case 0:
        in->data[at] ^= (uint8_t)(1 << below(8));
        break;
    case 1:
        in->data[at] = (uint8_t)below(256);
        break;
    case 2:
        memcpy(in->data + at, &word, size < 4 ? size : 4);
        break;
    case 3:
        cut(in, at, below(2) ? some : 1);
        break;
    case 4:
        if (other->size > 0) {
            size_t from = below((uint32_t)other->size);
            insert(in, at, other->data + from,
                   1 + below((uint32_t)(other->size - from)));
        }
        break;
    case 5:
        memmove(in->data + at, in->data + below((uint32_t)(at + 1)), some);
        break;
    default: {
        uint8_t byte = (uint8_t)below(256);
        insert(in, at, &byte, 1);
    }
    }
}

static void run_all(struct input *now, unsigned long count)
{
    for (unsigned i = 0; i < file_count; i++) {
        *now = files[i];
        LLVMFuzzerTestOneInput(now->data, now->size);
    }
    for (unsigned long i = 0; i < count; i++) {
        *now = files[below(file_count)];
        for (uint32_t n = 1 + below(6); n > 0; n--)
            change(now);
        LLVMFuzzerTestOneInput(now->data, now->size);
    }
}

static int tell(const struct input *last, int status)
{
    if (WIFEXITED(status) &&
        (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == NEUTRAL))
        return WEXITSTATUS(status);
    FILE *file = fopen("fuzz-failure", "wb");
    if (file) {
        fwrite(last->data, 1, last->size, file);
        fclose(file);
    }
    fprintf(stderr, "the input is in the file fuzz-failure\n");
    return 1;
}

int main(int count, char **words)
{
    struct input *now = mmap(NULL, sizeof(*now), PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int status;

    if (count != 3 || now == MAP_FAILED || !read_corpus(words[1])) {
        fprintf(stderr, "usage: %s CORPUS COUNT\n", words[0]);
        return 2;
    }
    pid_t child = fork();
    if (child == 0) {
        run_all(now, strtoul(words[2], NULL, 10));
        printf("%u files and %s changed ones\n", file_count, words[2]);
        exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) {
        perror("fuzz");
        return 2;
    }
    return tell(now, status);
}
