#include "backend/cuda/executor/link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/executor/tile.h"
#include "base/log.h"
#include "base/text.h"

// tile.c as PTX, by the build.
__asm__(".section .rodata\n"
        "hdi_cuda_tile:\n"
        ".incbin \"" HDI_CUDA_TILE "\"\n"
        ".byte 0\n"
        "hdi_cuda_tile_end:\n"
        ".previous\n");
extern const char hdi_cuda_tile[], hdi_cuda_tile_end[];

static const char head[] = ".version 6.3\n.target sm_70\n.address_size 64\n";

// PTX that is linked.
struct part {
    struct part *next;
    const char *name; // in messages
    struct hdi_text text;
    int registers; // of each thread at most; 0: as many as it needs
};

// What is linked, in this order. Running out of memory is remembered.
struct linker {
    struct cuda_gpu *gpu;
    struct part *first, **last;
    bool failed;
};

// Text ------------------------------------------------------------------------

// The names of one program's kernels are its own.
// In the text: every hdt_ gets the program's number. The final 0 is copied too.
static void rename_kernels(const char *from, unsigned program,
                           struct hdi_text *to)
{
    for (const char *next; (next = strstr(from, "hdt_")); from = next + 4) {
        hdi_text_append(to, from, (size_t)(next - from));
        hdi_text_print(to, "hdt%u_", program);
    }
    hdi_text_append(to, from, strlen(from) + 1);
}

static bool is_in(const struct hdi_entry *entry, unsigned class)
{
    return entry->classes >> class & 1;
}

static bool has_any(const struct cuda_code *code, unsigned class)
{
    bool any = false;

    for (unsigned i = 0; code->tiles && i < code->count; i++)
        any = any || is_in(&code->entries[i], class);
    return any;
}

// "Run kernel `n`", for those of the class.
// Comparisons one after the other; all threads of a tile go the same way.
// Kernels are numbered in passing, those that the class cannot run too: numbers
// are the same in every class.
static void write_switch(struct cuda_code *codes, unsigned class,
                         struct hdi_text *text)
{
    unsigned program = 0;
    int number = 0;

    hdi_text_print(text, "%s", head);
    for (struct cuda_code *c = codes; c; c = c->next_code, program++)
        for (unsigned i = 0; i < c->count; i++)
            if (is_in(&c->entries[i], class))
                hdi_text_print(text, ".extern .func hdt%u_%s\n()\n;\n", program,
                               c->entries[i].name);
    hdi_text_print(text, ".visible .func hdx_call(.param .b32 which)\n{\n"
                         ".reg .pred %%p<2>;\n.reg .b32 %%r<2>;\n"
                         "ld.param.u32 %%r1, [which];\n");
    program = 0;
    for (struct cuda_code *c = codes; c; c = c->next_code, program++)
        for (unsigned i = 0; i < c->count; i++, number++) {
            c->entries[i].number = number;
            if (is_in(&c->entries[i], class))
                hdi_text_print(text,
                               "setp.ne.u32 %%p1, %%r1, %d;\n@%%p1 bra $L%d;\n"
                               "{\ncall.uni hdt%u_%s, ();\n}\nret;\n$L%d:\n",
                               number, number, program, c->entries[i].name,
                               number);
        }
    hdi_text_print(text, "ret;\n}\n");
    hdi_text_append(text, "", 1);
}

// An entry for each kernel of the code that does nothing but call it.
// Their registers are those of the kernel, since they do nothing else: so the
// driver is asked what a kernel needs.
static void write_entries(const struct cuda_code *code, struct hdi_text *text)
{
    hdi_text_print(text, "%s", head);
    for (unsigned i = 0; i < code->count; i++)
        hdi_text_print(text,
                       ".extern .func hdt0_%s\n()\n;\n"
                       ".visible .entry hdp_%u()\n"
                       "{\n{\ncall.uni hdt0_%s, ();\n}\nret;\n}\n",
                       code->entries[i].name, i, code->entries[i].name);
    hdi_text_append(text, "", 1);
}

// Linking ---------------------------------------------------------------------

static void begin(struct linker *l, struct cuda_gpu *gpu)
{
    *l = (struct linker){.gpu = gpu};
    l->last = &l->first;
}

// The text is the linker's from now on.
static void add(struct linker *l, const char *name, struct hdi_text *text,
                int registers)
{
    struct part *part = malloc(sizeof(*part));

    if (!part || text->failed) {
        l->failed = true;
        hdi_text_free(text);
        free(part);
        return;
    }
    *part = (struct part){.name = name, .text = *text, .registers = registers};
    *l->last = part;
    l->last = &part->next;
}

// The linker refuses kernels that need more than what calls them may have.
// Told for the tile alone: the kernels it calls are compiled as they are, and
// the link fails if they need more.
static void add_tile(struct linker *l, int registers)
{
    struct hdi_text text = {0};

    hdi_text_append(&text, hdi_cuda_tile,
                    (size_t)(hdi_cuda_tile_end - hdi_cuda_tile));
    add(l, "tile", &text, registers);
}

static void add_kernels(struct linker *l, const struct cuda_code *code,
                        unsigned program)
{
    struct hdi_text text = {0};

    rename_kernels(code->tiles, program, &text);
    add(l, "kernels", &text, 0);
}

// All that the linked code depends on. The version is the driver's, as its
// compiler is a part of it.
static void describe(const struct linker *l, struct hdi_text *key)
{
    hdi_text_print(key, "linked for %d by %d\n", l->gpu->capability,
                   l->gpu->driver->version);
    for (const struct part *p = l->first; p; p = p->next) {
        hdi_text_print(key, "%s %d %zu\n", p->name, p->registers, p->text.size);
        hdi_text_append(key, p->text.data, p->text.size);
    }
}

static cuda_result load(const struct linker *l, const void *cubin,
                        cuda_module *module)
{
    return l->gpu->driver->ModuleLoadDataEx(module, cubin, 0, NULL, NULL);
}

static cuda_result add_parts(const struct linker *l, cuda_link link)
{
    int option = CUDA_OPTION_MAX_REGISTERS;
    cuda_result result = 0;

    for (const struct part *p = l->first; p && result == 0; p = p->next) {
        void *value = (void *)(uintptr_t)p->registers;
        result = l->gpu->driver->LinkAddData(link, CUDA_INPUT_PTX, p->text.data,
                                             p->text.size, p->name,
                                             p->registers > 0, &option, &value);
    }
    return result;
}

// The cubin belongs to the driver's linker, so the module is loaded and kept
// before that goes.
static cuda_result link_and_keep(const struct linker *l,
                                 const struct hdi_text *key, char *messages,
                                 size_t size, cuda_module *module)
{
    const struct cuda_driver *driver = l->gpu->driver;
    const struct hdi_archive *archive = l->gpu->archive;
    int options[] = {CUDA_OPTION_ERROR_TEXT, CUDA_OPTION_ERROR_TEXT_SIZE};
    void *values[] = {messages, (void *)(uintptr_t)size};
    cuda_link link;
    void *cubin;
    size_t bytes;

    cuda_result result = driver->LinkCreate(2, options, values, &link);
    if (result != 0)
        return result;
    result = add_parts(l, link);
    if (result == 0)
        result = driver->LinkComplete(link, &cubin, &bytes);
    if (result == 0)
        result = load(l, cubin, module);
    if (result == 0 && archive)
        archive->keep(archive->data, key, cubin, bytes);
    driver->LinkDestroy(link);
    return result;
}

static bool load_kept(const struct linker *l, const struct hdi_text *key,
                      cuda_module *module)
{
    const struct hdi_archive *archive = l->gpu->archive;
    struct hdi_text cubin = {0};
    bool loaded = archive && archive->find(archive->data, key, &cubin) &&
                  load(l, cubin.data, module) == 0;

    hdi_text_free(&cubin);
    return loaded;
}

// `messages` are for people; the driver writes them until the end.
static cuda_result end(struct linker *l, char *messages, size_t size,
                       cuda_module *module)
{
    struct hdi_text key = {0};
    cuda_result result = CUDA_OUT_OF_MEMORY;

    describe(l, &key);
    if (!l->failed && !key.failed)
        result = load_kept(l, &key, module)
                     ? 0
                     : link_and_keep(l, &key, messages, size, module);
    hdi_text_free(&key);
    for (struct part *p = l->first, *next; p; p = next) {
        next = p->next;
        hdi_text_free(&p->text);
        free(p);
    }
    return result;
}

// Classes ---------------------------------------------------------------------

static cuda_result read_registers(struct cuda_gpu *gpu, cuda_module module,
                                  unsigned number, int *registers)
{
    cuda_function function;
    char name[16];

    snprintf(name, sizeof(name), "hdp_%u", number);
    cuda_result result =
        gpu->driver->ModuleGetFunction(&function, module, name);
    return result == 0 ? gpu->driver->FuncGetAttribute(
                             registers, CUDA_FUNCTION_REGISTERS, function)
                       : result;
}

static cuda_result classify(struct cuda_gpu *gpu, struct cuda_code *code,
                            cuda_module module,
                            const struct cuda_layout *layout)
{
    cuda_result result = 0;

    for (unsigned i = 0; i < code->count && result == 0; i++) {
        struct hdi_entry *e = &code->entries[i];
        int registers = 0;
        result = read_registers(gpu, module, i, &registers);
        e->registers = registers;
        for (unsigned c = 0; c < HDX_CLASSES && result == 0; c++)
            if (registers <= layout->of[c].registers)
                e->classes |= 1u << c;
    }
    return result;
}

// A failure is no error of the program: its kernels are launched on streams.
void cuda_link_classify(struct cuda_gpu *gpu, struct cuda_code *code,
                        const struct cuda_layout *layout)
{
    struct hdi_text text = {0};
    struct linker l;
    cuda_module module;
    char messages[512] = "", reason[256];

    begin(&l, gpu);
    write_entries(code, &text);
    add(&l, "entries", &text, 0);
    add_kernels(&l, code, 0);
    cuda_result result = end(&l, messages, sizeof(messages), &module);
    if (result == 0) {
        result = classify(gpu, code, module, layout);
        gpu->driver->ModuleUnload(module);
    }
    if (result == 0)
        return;
    for (unsigned i = 0; i < code->count; i++)
        code->entries[i].classes = 0;
    cuda_status(gpu, result);
    cuda_describe(gpu->driver, result, reason, sizeof(reason));
    hdi_warn("%s: kernels are launched, as tiles cannot be linked with them: "
             "%s%s%s",
             gpu->name, reason, *messages ? "; " : "", messages);
}

// Tiles -----------------------------------------------------------------------

// `*module` is NULL when it fails.
cuda_result cuda_link_tiles(struct cuda_gpu *gpu, struct cuda_code *codes,
                            unsigned class, int registers, cuda_module *module,
                            cuda_function *serve, char *messages, size_t size)
{
    struct hdi_text text = {0};
    unsigned program = 0;
    struct linker l;

    begin(&l, gpu);
    add_tile(&l, registers);
    write_switch(codes, class, &text);
    add(&l, "switch", &text, 0);
    for (struct cuda_code *c = codes; c; c = c->next_code, program++)
        if (has_any(c, class))
            add_kernels(&l, c, program);
    cuda_result result = end(&l, messages, size, module);
    if (result == 0) {
        result = gpu->driver->ModuleGetFunction(serve, *module, "hdx_serve");
        if (result != 0)
            gpu->driver->ModuleUnload(*module);
    }
    if (result != 0)
        *module = NULL;
    return result;
}
