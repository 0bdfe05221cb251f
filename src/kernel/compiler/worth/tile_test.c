// Rows are short where those above and below touch the rest of a line, and how
// long rows are goes by the processor's caches.
#include "kernel/compiler/worth/tile.h"

#include "kernel/compiler/flow/try_ir.h"

// Rows are 96 bytes apart.
static const char columns[] =
    "define void @k(ptr addrspace(1) %p) {\n"
    "  %x = call i64 @_Z13get_global_idj(i32 0)\n"
    "  %y = call i64 @_Z13get_global_idj(i32 1)\n"
    "  %down = mul i64 %x, 4096\n"
    "  %right = mul i64 %y, 96\n"
    "  %at = add i64 %down, %right\n"
    "  %to = getelementptr i8, ptr addrspace(1) %p, i64 %at\n"
    "  store i32 1, ptr addrspace(1) %to\n"
    "  ret void\n"
    "}\n";

static void long_lines_make_rows_short(void)
{
    struct hdi_value_steps f;
    struct try_ir t;

    try_ir_open(&t, columns);
    CHECK(hdi_affine_find(&t.llvm, t.kernel, &t.flow, false, &f));
    CHECK(!hdi_tile_pays(&f));
    t.llvm.target = hdi_target_find("aarch64", "apple-m1", "");
    CHECK(hdi_tile_pays(&f));
    hdi_affine_destroy(&f);
    try_ir_close(&t);
}

static void caches_bound_rows(void)
{
    struct hdi_target xeon = try_ir_target("skylake-avx512"),
                      apple = hdi_target_find("aarch64", "apple-m1", "");

    CHECK(hdi_tile_row(&xeon, true) == 16 &&
          hdi_tile_row(&xeon, false) == 2048);
    CHECK(hdi_tile_row(&apple, true) == 32);
    CHECK(hdi_tile_row(&apple, false) == 8192);
}

int main(void)
{
    long_lines_make_rows_short();
    caches_bound_rows();
    return 0;
}
