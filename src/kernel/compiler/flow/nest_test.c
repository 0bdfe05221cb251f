// A loop has all blocks from which a way leads back to its head, also where the
// head goes back to itself.
#include "kernel/compiler/flow/nest.h"
#include "kernel/compiler/flow/try_ir.h"

int main(void)
{
    struct try_ir t;
    struct hdi_nest nest;

    try_ir_open(&t, "define void @k(i32 %n) {\n"
                    "  br label %head\n"
                    "head:\n"
                    "  switch i32 %n, label %body [\n"
                    "    i32 0, label %head\n"
                    "    i32 1, label %end\n"
                    "  ]\n"
                    "body:\n"
                    "  br label %head\n"
                    "end:\n"
                    "  ret void\n"
                    "}\n");
    CHECK(hdi_nest_find(&nest, &t.flow));
    CHECK(hdi_nest_take(&nest, 1));
    CHECK(!hdi_nest_has(&nest, 0) && hdi_nest_has(&nest, 1));
    CHECK(hdi_nest_has(&nest, 2) && !hdi_nest_has(&nest, 3));
    CHECK(nest.inmost[2] == 1 && !hdi_nest_take(&nest, 2));
    hdi_nest_destroy(&nest);
    try_ir_close(&t);
    return 0;
}
