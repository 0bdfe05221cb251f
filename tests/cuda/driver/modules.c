// The fake driver: modules of PTX, their functions, and linking.
#include "tests/cuda/driver/objects.h"

// Code ------------------------------------------------------------------------

// A linked module: this, the most registers of what was added with a limit (0:
// none), and texts.
static const char magic[] = "FAKE CUBIN";

enum {
    DIGITS = 8
};

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
    struct cuda_module_ *m = fake_make(MODULE, sizeof(*m));
    const char *text = image;
    bool linked = memcmp(text, magic, sizeof(magic)) == 0;

    int most = linked ? atoi(text + sizeof(magic)) : 0;
    if (linked)
        text += sizeof(magic) + DIGITS;
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
    if (has_too_many(&m->ptx, most)) {
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
    l->size = sizeof(magic) + DIGITS;
    l->text = calloc(1, l->size);
    memcpy(l->text, magic, sizeof(magic));
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
            snprintf(link->text + sizeof(magic), DIGITS, "%d",
                     (int)(uintptr_t)values[i]);
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
