// Of a build without Lua.
#include "base/error.h"
#include "sim/statements.h"

hd_status sim_statements_read(struct sim_text *text)
{
    return hdi_fail(
        text->error, HD_ENOTSUP,
        "%s: this build cannot read machines and workloads: install "
        "liblua5.4-dev and build Heddle again",
        text->path);
}
