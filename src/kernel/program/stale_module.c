// For stale_test: a compiler module that was built with other headers.
#include "kernel/compiler.h"
#include "tools.h"

extern const struct hdi_compiler hdi_compiler_table;

__attribute__((visibility("default")))
const struct hdi_compiler hdi_compiler_table = {
    .version = HDI_COMPILER_VERSION,
    .border = HDI_COMPILER_BORDER ^ 1,
};
