// Build options: any text is refused by name, or gives words that are options.
#include "kernel/program/options.h"

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hdi_options options;
    struct hd_error error = {0};
    char *text = malloc(size + 1);

    HOLDS(text);
    memcpy(text, data, size);
    text[size] = '\0';
    hd_status status = hdi_options_parse(text, &options, &error);
    fuzz_check_error(status, &error);
    HOLDS(status == HD_OK || status == HD_EINVAL);
    if (status == HD_OK) {
        for (size_t i = 0; i < options.count; i++)
            HOLDS(options.words[i][0] == '-' && options.words[i][1]);
        HOLDS(!options.words[options.count]);
        hdi_options_free(&options);
    }
    free(text);
    return 0;
}
