// The compiler module as libheddle sees it.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "kernel/compiler.h"
#include "kernel/compiler/child.h"
#include "kernel/compiler/crew.h"
#include "kernel/compiler/frontend.h"
#include "kernel/compiler/linker.h"

extern const struct hdi_compiler hdi_compiler_table;

static hd_status fail_memory(const struct hdi_source *source,
                             struct hd_error *error)
{
    return hdi_fail(error, HD_ENOMEM, "%s: no memory to compile", source->path);
}

// "x: a.h dir/b\ c.h \" to the names; the source itself came by a pipe.
static bool read_files(const char *rule, struct hdi_build *build)
{
    size_t most = 1;

    for (const char *c = rule; *c; c++)
        most += *c == ' ';
    build->files = calloc(most, sizeof(*build->files));
    if (!build->files)
        return false;

    const char *c = strchr(rule, ':');
    for (c = c ? c + 1 : rule; *c;) {
        if (*c == ' ' || *c == '\n' || (c[0] == '\\' && c[1] == '\n')) {
            c++;
            continue;
        }
        struct hdi_text name = {0};
        for (; *c && *c != ' ' && *c != '\n'; c++) {
            if ((c[0] == '\\' && (c[1] == ' ' || c[1] == '#')) ||
                (c[0] == '$' && c[1] == '$'))
                c++;
            else if (c[0] == '\\' && c[1] == '\n')
                break;
            hdi_text_append(&name, c, 1);
        }
        if (name.failed || !name.data) {
            hdi_text_free(&name);
            return false;
        }
        if (strcmp(name.data, "-") == 0 || strcmp(name.data, "<stdin>") == 0)
            hdi_text_free(&name);
        else
            build->files[build->file_count++] = name.data;
    }
    return true;
}

static hd_status make(const struct hdi_source *source, struct hdi_build *build,
                      struct hd_error *error)
{
    struct hdi_text bitcode = {0}, dependencies = {0}, image = {0};
    struct hdi_crew *crew = NULL;
    int objects[HDI_CHILD_FILES];
    size_t object_count = 0;
    struct hdi_build made = {.target = strdup(source->target),
                             .cpu = strdup(source->cpu)};

    hd_status status = made.target && made.cpu
                           ? hdi_crew_start(source, &crew, error)
                           : fail_memory(source, error);
    if (status == HD_OK)
        status = hdi_frontend_run(source, &bitcode, &dependencies, error);
    if (status == HD_OK &&
        !read_files(dependencies.data ? dependencies.data : "", &made))
        status = fail_memory(source, error);
    if (status == HD_OK)
        status = hdi_crew_compile(crew, &bitcode, &made, objects, &object_count,
                                  error);
    if (crew)
        hdi_crew_end(crew);
    if (status == HD_OK)
        status = hdi_linker_run(objects, object_count, &image, error);
    while (object_count > 0)
        close(objects[--object_count]);
    hdi_text_free(&dependencies);
    hdi_text_free(&bitcode);
    if (status != HD_OK) {
        hdi_text_free(&image);
        hdi_build_clear(&made);
        return status;
    }
    made.image = image.data;
    made.image_size = image.size;
    *build = made;
    return HD_OK;
}

__attribute__((visibility("default")))
const struct hdi_compiler hdi_compiler_table = {
    .version = HDI_COMPILER_VERSION,
    .build = make,
};
