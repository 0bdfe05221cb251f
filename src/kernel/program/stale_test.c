// The module beside this program is of another build: nothing in it is called.
#include <string.h>

#include "kernel/compiler.h"
#include "tests/check.h"

int main(void)
{
    const struct hdi_compiler *compiler = NULL;
    struct hd_error error = {0};

    for (unsigned times = 0; times < 2; times++) {
        CHECK(hdi_compiler_open(&compiler, &error) == HD_ENOTSUP && !compiler);
        CHECK(strstr(error.text, "stale/heddle/heddle_compiler.so"));
        CHECK(strstr(error.text, "does not fit this libheddle"));
    }
    return 0;
}
