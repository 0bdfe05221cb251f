// The fake driver: modules of PTX, their functions, and linking.
#include "tests/cuda/driver/objects.h"

// Code ------------------------------------------------------------------------

// A linked module: this, and texts.
struct cubin {
    char magic[16];
    int capability, version; // whom it is for, who has made it
    int registers; // the most, of what was added with a limit; 0: none
};

static const char magic[16] = "FAKE CUBIN";

static struct cubin new_cubin(void)
{
    struct cubin cubin = {.capability =
                              fake_setting("FAKE_CUDA_CAPABILITY", 80),
                          .version = fake_setting("FAKE_CUDA_VERSION", 12040)};

    memcpy(cubin.magic, magic, sizeof(magic));
    return cubin;
}

// A real driver may take what another one has made; that is not to be tried.
static bool is_for_us(const struct cubin *cubin)
{
    struct cubin ours = new_cubin();

    if (cubin->capability == ours.capability && cubin->version == ours.version)
        return true;
    fake_complain("code for another GPU or of another driver is loaded");
    return false;
}

static bool has_too_many(const struct ptx_module *module, int most)
{
    for (const struct ptx_function *f = module->functions; f; f = f->next)
        if (most > 0 && strcmp(f->name, "hdx_serve") == 0 &&
            fake_registers_of(f) > most)
            return true;
    return false;
}

static void tell(unsigned count, const int *options, void **values,
                 const char *text)
{
    char *to = NULL;
    size_t size = 0;

    for (unsigned i = 0; i < count; i++)
        if (options[i] == CUDA_OPTION_ERROR_TEXT)
            to = values[i];
        else if (options[i] == CUDA_OPTION_ERROR_TEXT_SIZE)
            size = (size_t)(uintptr_t)values[i];
    if (to && size > 0)
        snprintf(to, size, "%s", text);
}

cuda_result cuModuleLoadDataEx(cuda_module *module, const void *image,
                               unsigned count, int *options, void **values)
{
    BEGIN(cuModuleLoadDataEx, true);
    fake_blocks("cuModuleLoadDataEx");
    const char *text = image;
    bool linked = strcmp(text, magic) == 0;
    struct cubin cubin = {.registers = 0};

    if (linked) {
        memcpy(&cubin, image, sizeof(cubin));
        text += sizeof(cubin);
        if (!is_for_us(&cubin))
            return leave(INVALID_IMAGE);
    }
    struct cuda_module_ *m = fake_make(MODULE, sizeof(*m));
    do {
        if (!ptx_read(&m->ptx, text)) {
            tell(count, options, values, m->ptx.error);
            m->object.gone = true;
            ptx_clear(&m->ptx);
            return leave(INVALID_PTX);
        }
        text += strlen(text) + 1;
    } while (linked && *text);
    if (!ptx_link(&m->ptx)) {
        tell(count, options, values, m->ptx.error);
        m->object.gone = true;
        ptx_clear(&m->ptx);
        return leave(INVALID_PTX);
    }
    if (has_too_many(&m->ptx, cubin.registers)) {
        tell(count, options, values, "a function needs too many registers");
        m->object.gone = true;
        ptx_clear(&m->ptx);
        return leave(INVALID_PTX);
    }
    *module = m;
    return leave(0);
}

cuda_result cuModuleUnload(cuda_module module)
{
    pthread_mutex_lock(&fake_lock);
    atomic_fetch_add(&fake_calls, 1);
    fake_blocks("cuModuleUnload");
    CHECK_LIVE(module, MODULE, cuModuleUnload);
    module->object.gone = true;
    for (struct object *o = fake_objects[FUNCTION]; o; o = o->next)
        if (((struct cuda_function_ *)o)->module == module)
            o->gone = true;
    ptx_clear(&module->ptx);
    return leave(0);
}

cuda_result cuModuleGetFunction(cuda_function *function, cuda_module module,
                                const char *name)
{
    BEGIN(cuModuleGetFunction, true);
    CHECK_LIVE(module, MODULE, cuModuleGetFunction);
    const struct ptx_function *f = ptx_find(&module->ptx, name);
    if (!f || !f->is_entry)
        return leave(CUDA_NOT_FOUND);
    *function = fake_make(FUNCTION, sizeof(**function));
    (*function)->module = module;
    (*function)->ptx = f;
    return leave(0);
}

cuda_result cuFuncGetAttribute(int *value, int attribute,
                               cuda_function function)
{
    BEGIN(cuFuncGetAttribute, true);
    CHECK_LIVE(function, FUNCTION, cuFuncGetAttribute);
    uint32_t most = function->ptx->most_threads;
    int registers = fake_registers_of(function->ptx);
    switch (attribute) {
    case CUDA_FUNCTION_MAX_THREADS:
        *value = most ? (int)most : 1024;
        if (*value > REGISTERS / registers)
            *value = REGISTERS / registers / 32 * 32;
        break;
    case CUDA_FUNCTION_SHARED:
        *value = (int)function->module->ptx.shared_bytes;
        break;
    case CUDA_FUNCTION_REGISTERS:
        *value = registers;
        break;
    default:
        return leave(INVALID_VALUE);
    }
    return leave(0);
}

cuda_result cuFuncSetAttribute(cuda_function function, int attribute, int value)
{
    BEGIN(cuFuncSetAttribute, true);
    CHECK_LIVE(function, FUNCTION, cuFuncSetAttribute);
    if (attribute != CUDA_FUNCTION_MAX_DYNAMIC_SHARED || value > MAX_SHARED)
        return leave(INVALID_VALUE);
    function->dynamic_shared = value;
    return leave(0);
}

cuda_result cuLinkCreate_v2(unsigned count, int *options, void **values,
                            cuda_link *link)
{
    (void)count, (void)options, (void)values;
    BEGIN(cuLinkCreate, true);
    struct cuda_link_ *l = fake_make(LINK, sizeof(*l));
    struct cubin cubin = new_cubin();
    l->size = sizeof(cubin);
    l->text = malloc(l->size);
    memcpy(l->text, &cubin, sizeof(cubin));
    *link = l;
    return leave(0);
}

cuda_result cuLinkAddData_v2(cuda_link link, int type, void *data, size_t bytes,
                             const char *name, unsigned count, int *options,
                             void **values)
{
    (void)name;
    BEGIN(cuLinkAddData, true);
    CHECK_LIVE(link, LINK, cuLinkAddData);
    for (unsigned i = 0; i < count; i++)
        if (options[i] == CUDA_OPTION_MAX_REGISTERS)
            ((struct cubin *)link->text)->registers = (int)(uintptr_t)values[i];
    if (type != CUDA_INPUT_PTX || ((char *)data)[bytes - 1] != '\0') {
        fake_complain("cuLinkAddData of what is no PTX with its 0");
        return leave(INVALID_VALUE);
    }
    link->text = realloc(link->text, link->size + bytes + 1);
    memcpy(link->text + link->size, data, bytes);
    link->size += bytes;
    return leave(0);
}

cuda_result cuLinkComplete(cuda_link link, void **cubin, size_t *bytes)
{
    BEGIN(cuLinkComplete, true);
    CHECK_LIVE(link, LINK, cuLinkComplete);
    atomic_fetch_add(&fake_links, 1);
    link->text = realloc(link->text, link->size + 1);
    link->text[link->size] = '\0';
    *cubin = link->text;
    *bytes = link->size + 1;
    return leave(0);
}

cuda_result cuLinkDestroy(cuda_link link)
{
    pthread_mutex_lock(&fake_lock);
    atomic_fetch_add(&fake_calls, 1);
    CHECK_LIVE(link, LINK, cuLinkDestroy);
    link->object.gone = true;
    free(link->text);
    return leave(0);
}
