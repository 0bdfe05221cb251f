// Machine and workload files of `heddle sim`: the workload follows a line of
// dashes.
#include "sim/workload.h"
#include "tests/fuzz/fuzz.h"

static const char border[] = "\n---\n";

static void read_workload(const struct sim_machine *machine, const char *data,
                          size_t size)
{
    struct sim_workload workload;
    struct sim_text text;
    struct hd_error error = {0};
    hd_status status = sim_text_from(&text, "w", data, size, &error);

    if (status == HD_OK) {
        status = sim_workload_read(&workload, machine, &text);
        sim_text_close(&text);
        if (status == HD_OK)
            sim_workload_close(&workload);
    }
    fuzz_check_error(status, &error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *middle = memmem(data, size, border, sizeof(border) - 1);
    size_t first = middle ? (size_t)(middle - (const char *)data) + 1 : size;
    struct sim_machine machine;
    struct sim_text text;
    struct hd_error error = {0};
    hd_status status =
        sim_text_from(&text, "m", (const char *)data, first, &error);

    if (status == HD_OK) {
        status = sim_machine_read(&machine, &text);
        sim_text_close(&text);
    }
    fuzz_check_error(status, &error);
    if (status != HD_OK)
        return 0;
    if (middle)
        read_workload(&machine, middle + sizeof(border) - 1,
                      size - first - (sizeof(border) - 2));
    sim_machine_close(&machine);
    return 0;
}
