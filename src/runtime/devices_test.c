// A backend that is registered is there: chosen by its name and its kind, one
// of "all", listed, and offered where another is asked for that is not.
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "heddle/heddle.h"
#include "tests/check.h"

static struct hd_error error;
static struct hdi_backend toy; // null's, under names of its own

const struct hdi_backend *const *__real_hdi_backends(size_t *count);
const struct hdi_backend *const *__wrap_hdi_backends(size_t *count);

// Registered as the build does it, in front.
const struct hdi_backend *const *__wrap_hdi_backends(size_t *count)
{
    static const struct hdi_backend *all[16];
    const struct hdi_backend *const *real = __real_hdi_backends(count);

    CHECK(*count < 16);
    all[0] = &toy;
    memcpy(&all[1], real, *count * sizeof(*real));
    ++*count;
    return all;
}

// Two devices, 0 and 1, each of them null's with another name on it.
static hd_status open_toy(const struct hdi_topology *topology, unsigned index,
                          const struct hdi_device_params *params,
                          struct hdi_device **device, struct hd_error *e)
{
    if (index > 1)
        return HD_ENODEV;
    hd_status status =
        hdi_backend_find("null")->open(topology, 0, params, device, e);
    if (status == HD_OK)
        (*device)->backend = &toy;
    return status;
}

static struct hd_runtime *start(const char *device)
{
    const struct hd_runtime_params params = {
        .device = device, .workers = 1, .no_cache = true};
    struct hd_runtime *runtime;

    CHECK_OK(hd_runtime_create(&params, &runtime, &error), error);
    return runtime;
}

// How many devices of a runtime so started are the toy's.
static unsigned count_toys(const char *device)
{
    struct hd_runtime *runtime = start(device);
    struct hd_device_info info;
    unsigned toys = 0;

    for (unsigned i = 0;
         hd_runtime_device_info(runtime, i, &info, &error) == HD_OK; i++)
        toys += strcmp(info.backend, "toy") == 0;
    hd_runtime_destroy(runtime);
    return toys;
}

static void it_is_chosen(void)
{
    CHECK(count_toys("toy") == 1);
    CHECK(count_toys("abacus") == 1);
    CHECK(count_toys("cpu,abacus") == 1);
    CHECK(count_toys("cpu") == 0);
    CHECK(count_toys("all") == 1);
}

static void it_is_offered(void)
{
    struct hd_runtime *runtime;

    CHECK_FAILS(
        hd_runtime_create(&(struct hd_runtime_params){.device = "toaster"},
                          &runtime, &error),
        HD_EINVAL, error, "one of abacus, cpu");
}

static void it_is_listed(void)
{
    struct hd_runtime *runtime = start("cpu");
    char *text;
    size_t size;

    for (int json = 0; json < 2; json++) {
        FILE *file = open_memstream(&text, &size);
        CHECK(file);
        CHECK(hd_runtime_describe(runtime, file, json) == HD_OK);
        fclose(file);
        if (json) {
            CHECK(strstr(text, "\"abacuss\":2"));
            CHECK(strstr(text, "\"backends\":[\"toy\","));
        } else {
            CHECK(strstr(text, "\nbackend    toy\n"));
            const char *one = strstr(text, "\nAbacus     ");
            CHECK(one && strstr(one + 1, "\nAbacus     "));
        }
        free(text);
    }
    hd_runtime_destroy(runtime);
}

int main(void)
{
    toy = *hdi_backend_find("null");
    toy.name = "toy";
    toy.kind = "abacus";
    toy.title = "Abacus";
    toy.in_all = true;
    toy.open = open_toy;
    it_is_chosen();
    it_is_offered();
    it_is_listed();
    return 0;
}
