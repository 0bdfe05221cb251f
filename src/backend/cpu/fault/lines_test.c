// Lines of an image that a compiler has made, whole and damaged.
#include "backend/cpu/fault/lines.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>

#include "tests/check.h"

static unsigned char *image;
static size_t size;
static uint64_t first, second; // where the two functions are, in the image

static uint64_t place_of(void *library, const char *name)
{
    const struct link_map *map;
    void *address = dlsym(library, name);

    CHECK(address && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0);
    return (uintptr_t)address - map->l_addr;
}

static void read_probe(const char *path)
{
    FILE *file = fopen(path, "rb");
    void *library = dlopen(path, RTLD_NOW);

    CHECK(file && library);
    first = place_of(library, "hdi_probe_first");
    second = place_of(library, "hdi_probe_second");
    dlclose(library);
    CHECK(fseek(file, 0, SEEK_END) == 0);
    size = (size_t)ftell(file);
    rewind(file);
    image = malloc(size);
    CHECK(image && fread(image, 1, size, file) == size);
    fclose(file);
}

static void functions_have_their_lines(void)
{
    char path[256] = "";
    uint32_t line = 0;

    CHECK(hdi_lines_find(image, size, first, path, sizeof(path), &line));
    CHECK(strstr(path, "elsewhere.cl") && line >= 100 && line <= 103);
    CHECK(hdi_lines_find(image, size, second, path, sizeof(path), &line));
    CHECK(strstr(path, "elsewhere.cl") && line >= 105 && line <= 108);
    CHECK(!hdi_lines_find(image, size, UINT64_C(1) << 40, path, sizeof(path),
                          &line));
}

// The caller's memory may be read only, as that of a mapped file is.
static void an_image_is_only_read(void)
{
    char path[256];
    uint32_t line;
    void *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(mapped != MAP_FAILED);
    memcpy(mapped, image, size);
    CHECK(mprotect(mapped, size, PROT_READ) == 0);
    CHECK(hdi_lines_find(mapped, size, first, path, sizeof(path), &line));
    munmap(mapped, size);
}

static void a_short_path_is_cut(void)
{
    char path[5] = "####";
    uint32_t line;

    CHECK(hdi_lines_find(image, size, first, path, sizeof(path), &line));
    CHECK(strlen(path) == 4);
}

// Nothing is told, or something wrong; nothing is touched outside.
static void damage_is_harmless(void)
{
    char path[256];
    uint32_t line, random = 1;

    for (size_t cut = 0; cut < size; cut += 61) {
        unsigned char *part = malloc(cut ? cut : 1);
        CHECK(part);
        memcpy(part, image, cut);
        hdi_lines_find(part, cut, first, path, sizeof(path), &line);
        free(part);
    }
    for (int i = 0; i < 3000; i++) {
        unsigned char *copy = malloc(size);
        CHECK(copy);
        memcpy(copy, image, size);
        for (int n = 0; n < 4; n++) {
            random = random * 1664525 + 1013904223;
            copy[random % size] = (unsigned char)(random >> 24);
        }
        hdi_lines_find(copy, size, first, path, sizeof(path), &line);
        free(copy);
    }
}

int main(void)
{
    char path[256];
    uint32_t line;

    CHECK(hdi_lines_description()[0]);
    if (strncmp(hdi_lines_description(), "none", 4) == 0) {
        CHECK(!hdi_lines_find("", 0, 0, path, sizeof(path), &line));
        SKIP("this build does not read line tables");
    }
    read_probe(LINES_PROBE);
    functions_have_their_lines();
    an_image_is_only_read();
    a_short_path_is_cut();
    damage_is_harmless();
    free(image);
    return 0;
}
