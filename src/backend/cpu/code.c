// A kernel image is a shared object in a memory file, opened like any library,
// so that debuggers and profilers know it.
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backend/cpu/cpu.h"
#include "backend/cpu/fault/lines.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

// Owned by whoever loaded it; entries that were found point into it and go with
// it. Only `named` changes after that.
struct cpu_code {
    struct hdi_code code;
    int file;    // see hdi_cpu_load()
    size_t size; // of the image in it [bytes]
    void *library;
    struct hdi_code_range range;
    pthread_mutex_t lock; // of `named`
    struct named {
        struct hdi_entry entry;
        struct named *next;
    } * named; // entries that were asked for
};

// Where the segment with these flags lies that holds an address; 0: the first
// of them.
// By the program headers of the image, which is not trusted: all of it is
// looked at within its size.
static struct hdi_code_range range_of(void *library, const void *image,
                                      size_t size, unsigned flags,
                                      uintptr_t address)
{
    struct hdi_code_range range = {0};
    const struct link_map *map;
    ElfW(Ehdr) head;

    if (size < sizeof(head) || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0)
        return range;
    memcpy(&head, image, sizeof(head));
    for (unsigned i = 0; i < head.e_phnum; i++) {
        ElfW(Phdr) segment;
        uint64_t at = head.e_phoff + i * sizeof(segment);
        if (at > size || size - at < sizeof(segment))
            break;
        memcpy(&segment, (const char *)image + at, sizeof(segment));
        uintptr_t begin = map->l_addr + segment.p_vaddr;
        if (segment.p_type == PT_LOAD && segment.p_flags == flags &&
            (address == 0 || address - begin < segment.p_memsz))
            return (struct hdi_code_range){begin, begin + segment.p_memsz};
    }
    return range;
}

hd_status hdi_cpu_load(struct hdi_device *device, const void *image,
                       size_t size, struct hdi_code **code,
                       struct hd_error *error)
{
    char path[64];
    struct cpu_code *c = calloc(1, sizeof(*c));
    if (!c)
        return hdi_fail(error, HD_ENOMEM, "no memory for kernel code");

    hd_status status;
    c->code.device = device;
    c->size = size;
    c->file = memfd_create("heddle-kernels", MFD_CLOEXEC);
    if (c->file < 0 || !hdi_write_all(c->file, image, size)) {
        status = hdi_fail(error, HD_ENOMEM, "no memory for kernel code: %s",
                          strerror(errno));
        goto err_close;
    }
    // dlopen() knows libraries by path: were the descriptor closed and its
    // number used again, the next image would be taken for this one. So it
    // stays open as long as the library.
    // Debuggers open it too, by this path.
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), c->file);
    c->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!c->library) {
        status = hdi_fail(error, HD_EFORMAT, "kernel code cannot be loaded: %s",
                          dlerror());
        goto err_close;
    }
    c->range = range_of(c->library, image, size, PF_R | PF_X, 0);
    pthread_mutex_init(&c->lock, NULL);
    *code = &c->code;
    return HD_OK;

err_close:
    if (c->file >= 0)
        close(c->file);
    free(c);
    return status;
}

void hdi_cpu_unload(struct hdi_code *code)
{
    struct cpu_code *c = (struct cpu_code *)code;

    for (struct named *n = c->named, *next; n; n = next) {
        next = n->next;
        free(n);
    }
    pthread_mutex_destroy(&c->lock);
    dlclose(c->library);
    close(c->file);
    free(c);
}

// With the lock. The entry that a function has already.
static const struct hdi_entry *find_named(const struct cpu_code *c,
                                          const struct hdi_entry *entry)
{
    for (const struct named *n = c->named; n; n = n->next)
        if (n->entry.run == entry->run)
            return &n->entry;
    return NULL;
}

// The one that there is already, else this one, which joins the list.
static const struct hdi_entry *add_entry(struct cpu_code *c,
                                         const struct hdi_entry *entry)
{
    pthread_mutex_lock(&c->lock);
    const struct hdi_entry *known = find_named(c, entry);
    struct named *named = known ? NULL : malloc(sizeof(*named));
    if (named) {
        *named = (struct named){*entry, c->named};
        c->named = named;
        known = &named->entry;
    }
    pthread_mutex_unlock(&c->lock);
    return known;
}

// NULL with errno ENOMEM: no memory. Any thread.
const struct hdi_entry *hdi_cpu_find(struct hdi_code *code, const char *kernel)
{
    struct cpu_code *c = (struct cpu_code *)code;
    struct hdi_text symbol = {0};

    hdi_text_print(&symbol, "hdk_%s", kernel);
    void *address = symbol.failed ? NULL : dlsym(c->library, symbol.data);
    bool failed = symbol.failed;
    hdi_text_free(&symbol);
    if (failed)
        errno = ENOMEM;
    if (!address)
        return NULL;
    struct hdi_entry entry = {.code = code, .range = c->range};
    // An object pointer is a function pointer to dlsym(), not to ISO C.
    memcpy(&entry.run, &address, sizeof(address));
    return add_entry(c, &entry);
}

// The image is mapped from its file for this: it is seldom needed, and the
// loaded one has no line tables in memory.
void hdi_cpu_explain_fault(const struct hdi_code *code, uintptr_t pc,
                           struct hdi_fault *fault)
{
    const struct cpu_code *c = (const struct cpu_code *)code;
    const struct link_map *map;

    if (!c || dlinfo(c->library, RTLD_DI_LINKMAP, &map) != 0)
        return;
    void *image = mmap(NULL, c->size, PROT_READ, MAP_PRIVATE, c->file, 0);
    if (image == MAP_FAILED)
        return;
    if (pc >= map->l_addr)
        hdi_lines_find(image, c->size, pc - map->l_addr, fault->file,
                       sizeof(fault->file), &fault->line);
    struct hdi_code_range constants =
        range_of(c->library, image, c->size, PF_R, fault->address);
    fault->constant = fault->has_address && constants.end > 0;
    munmap(image, c->size);
}
