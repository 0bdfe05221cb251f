// Images: PTX, which the driver compiles for the GPU at hand when they are
// loaded, and keeps in a cache of its own.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/cuda.h"
#include "backend/cuda/executor/executor.h"
#include "backend/cuda/executor/link.h"
#include "base/error.h"

// PLAIN_SHARED is what every kernel may use without being asked for.
enum {
    MESSAGES = 2048,
    PLAIN_SHARED = 48 << 10 // more has to be asked for [bytes]
};

static hd_status fail_memory(struct hd_error *error)
{
    return hdi_fail(error, HD_ENOMEM, "no memory for code");
}

static bool is_ours(const char *text)
{
    int version;

    return sscanf(text, HDI_DEVICE_IMAGE "%d", &version) == 1 &&
           version == HDI_DEVICE_VERSION;
}

// The number of kernels by the image's first lines.
static unsigned count_kernels(const char *text)
{
    unsigned count = 0;

    for (const char *line = strchr(text, '\n');
         line &&
         strncmp(line + 1, HDI_DEVICE_KERNEL, strlen(HDI_DEVICE_KERNEL)) == 0;
         line = strchr(line + 1, '\n'))
        count++;
    return count;
}

// The lines that count_kernels() has counted.
static bool read_kernels(const char *text, struct cuda_code *code)
{
    const char *line = strchr(text, '\n');

    for (unsigned i = 0; i < code->count; i++, line = strchr(line + 1, '\n')) {
        struct hdi_entry *e = &code->entries[i];
        const char *name = line + 1 + strlen(HDI_DEVICE_KERNEL);
        size_t length = strcspn(name, " \n");
        e->code = code;
        e->name = strndup(name, length);
        e->args_bytes = (uint32_t)strtoul(name + length, NULL, 10);
        if (!e->name || e->args_bytes > HDI_DEVICE_MAX - HDI_DEVICE_ARGS)
            return false;
    }
    return true;
}

static void clear(struct cuda_code *code)
{
    for (unsigned i = 0; i < code->count; i++)
        free(code->entries[i].name);
    free(code->entries);
    free(code->tiles);
    free(code);
}

// The driver compiles here, unless it finds the code in its cache. It writes
// `messages` up to their size.
static hd_status load_module(struct cuda_gpu *gpu, struct cuda_code *code,
                             const char *text, struct hd_error *error)
{
    char messages[MESSAGES] = "", reason[256];
    int options[] = {CUDA_OPTION_ERROR_TEXT, CUDA_OPTION_ERROR_TEXT_SIZE};
    void *values[] = {messages, (void *)(uintptr_t)sizeof(messages)};

    cuda_result result =
        gpu->driver->ModuleLoadDataEx(&code->module, text, 2, options, values);
    if (result == 0)
        return HD_OK;
    hd_status status = cuda_status(gpu, result);
    cuda_describe(gpu->driver, result, reason, sizeof(reason));
    return hdi_fail(error, status == HD_ENOMEM ? HD_ENOMEM : HD_EFORMAT,
                    "the driver does not take the code: %s%s%s", reason,
                    *messages ? "; " : "", messages);
}

// All functions are asked for now: what is loaded later would wait for kernels
// that never end.
static hd_status find_functions(struct cuda_gpu *gpu, struct cuda_code *code,
                                struct hd_error *error)
{
    for (unsigned i = 0; i < code->count; i++) {
        struct hdi_entry *e = &code->entries[i];
        char *name;
        int most = 0, shared = 0;
        if (asprintf(&name, "hdk_%s", e->name) < 0)
            return fail_memory(error);
        cuda_result result =
            gpu->driver->ModuleGetFunction(&e->function, code->module, name);
        free(name);
        if (result == 0)
            result = gpu->driver->FuncGetAttribute(
                &most, CUDA_FUNCTION_MAX_THREADS, e->function);
        if (result == 0)
            result = gpu->driver->FuncGetAttribute(
                &shared, CUDA_FUNCTION_SHARED, e->function);
        if (result == 0 && gpu->shared_optin - shared > PLAIN_SHARED)
            result = gpu->driver->FuncSetAttribute(
                e->function, CUDA_FUNCTION_MAX_DYNAMIC_SHARED,
                gpu->shared_optin - shared);
        if (result != 0) {
            char reason[256];
            cuda_describe(gpu->driver, result, reason, sizeof(reason));
            return hdi_fail(error, HD_EFORMAT,
                            "kernel '%s' cannot be loaded: %s", e->name,
                            reason);
        }
        e->most_items = (uint32_t)most;
    }
    return HD_OK;
}

// `text` is split in place: the module ends where the part for tiles begins.
// Tiles change when programs come, so the executor is away meanwhile.
static hd_status load(struct cuda_gpu *gpu, char *text, struct cuda_code *code,
                      struct hd_error *error)
{
    char *tiles = strstr(text, HDI_DEVICE_TILES);

    if (tiles)
        *tiles = '\0';
    if (tiles && gpu->executor && tiles[strlen(HDI_DEVICE_TILES)] != '\0') {
        code->tiles = strdup(tiles + strlen(HDI_DEVICE_TILES));
        if (!code->tiles)
            return fail_memory(error);
    }
    if (!cuda_enter_alone(gpu))
        return hdi_fail(error, HD_ENODEV, "%s is lost", gpu->name);
    hd_status status = load_module(gpu, code, text, error);
    if (status == HD_OK) {
        status = find_functions(gpu, code, error);
        if (status != HD_OK)
            gpu->driver->ModuleUnload(code->module);
    }
    if (status == HD_OK && code->tiles)
        cuda_link_classify(gpu, code, cuda_executor_layout(gpu->executor));
    if (status == HD_OK && gpu->executor)
        cuda_executor_change(gpu->executor, code, true);
    cuda_leave_alone(gpu);
    return status;
}

// The copy is for the final 0, which PTX needs and an image lacks.
hd_status cuda_code_load(struct hdi_device *device, const void *image,
                         size_t size, struct hdi_code **code,
                         struct hd_error *error)
{
    char *text = malloc(size + 1);
    struct cuda_code *c = calloc(1, sizeof(*c));
    hd_status status = HD_OK;

    if (!text || !c) {
        free(text);
        free(c);
        return fail_memory(error);
    }
    memcpy(text, image, size);
    text[size] = '\0';
    c->code.device = device;
    if (is_ours(text))
        c->count = count_kernels(text);
    else
        status = hdi_fail(error, HD_EFORMAT,
                          "this is no code for GPUs, or that of another "
                          "version of Heddle");
    c->entries = calloc(c->count + 1, sizeof(*c->entries));
    if (!c->entries) {
        c->count = 0;
        status = fail_memory(error);
    }
    if (status == HD_OK && !read_kernels(text, c))
        status = hdi_fail(error, HD_EFORMAT, "the code is damaged");
    if (status == HD_OK)
        status = load(cuda_gpu_of(device), text, c, error);
    free(text);
    if (status != HD_OK) {
        clear(c);
        return status;
    }
    *code = &c->code;
    return HD_OK;
}

// On a GPU that hangs the module stays loaded, as a kernel may be in it.
void cuda_code_unload(struct hdi_code *code)
{
    struct cuda_code *c = (struct cuda_code *)code;
    struct cuda_gpu *gpu = cuda_gpu_of(code->device);

    if (cuda_enter_alone(gpu)) {
        if (gpu->executor)
            cuda_executor_change(gpu->executor, c, false);
        gpu->driver->ModuleUnload(c->module);
        cuda_leave_alone(gpu);
    }
    clear(c);
}

const struct hdi_entry *cuda_code_find(struct hdi_code *code,
                                       const char *kernel)
{
    const struct cuda_code *c = (struct cuda_code *)code;

    for (unsigned i = 0; i < c->count; i++)
        if (strcmp(c->entries[i].name, kernel) == 0)
            return &c->entries[i];
    errno = 0;
    return NULL;
}
