// Vectors stay whole where taken apart they are too long, and where
// they fill registers.
#include "kernel/compiler/worth/whole.h"

#include "kernel/compiler/flow/try_ir.h"

// So many sums of vectors of `elements` integers, after each `moved` an element
// moves and after each `met` there is a barrier; 0: nowhere.
static struct hdi_whole find(unsigned sums, unsigned elements, unsigned moved,
                             unsigned met)
{
    struct hdi_text text = {0};
    struct try_ir t;
    unsigned e = elements;

    hdi_text_print(&text,
                   "declare void @_Z7barrierj(i32)\n"
                   "define void @k(ptr addrspace(1) %%p) {\n"
                   "  %%v0 = load <%u x i32>, ptr addrspace(1) %%p\n",
                   e);
    for (unsigned i = 0; i < sums; i++) {
        if (met && i % met == 0)
            hdi_text_print(&text, "  call void @_Z7barrierj(i32 1)\n");
        bool moves = moved && i % moved == 0;
        if (moves)
            hdi_text_print(&text,
                           "  %%a%u = insertelement <%u x i32> %%v%u, i32 7, "
                           "i32 1\n",
                           i, e, i);
        hdi_text_print(&text, "  %%v%u = add <%u x i32> %%%c%u, %%v0\n", i + 1,
                       e, moves ? 'a' : 'v', i);
    }
    hdi_text_print(&text,
                   "  store <%u x i32> %%v%u, ptr addrspace(1) %%p\n"
                   "  ret void\n}\n",
                   e, sums);
    try_ir_open(&t, text.data);
    struct hdi_whole length = hdi_whole_find(&t.llvm, t.kernel);
    try_ir_close(&t);
    hdi_text_free(&text);
    return length;
}

static bool pays(unsigned sums, unsigned elements, unsigned moved, unsigned met)
{
    struct hdi_whole length = find(sums, elements, moved, met);
    return hdi_whole_pays(&length);
}

int main(void)
{
    // A load, the sums, a store and the return.
    struct hdi_whole length = find(100, 16, 0, 0);
    CHECK(length.whole == 103 && length.apart == 102 * 16 + 1);
    // Moving elements costs the whole alone.
    length = find(100, 16, 1, 0);
    CHECK(length.whole == 203 && length.apart == 102 * 16 + 1);
    // Two registers of 64 bytes each.
    CHECK(find(100, 32, 0, 0).whole == 102 * 2 + 1);
    CHECK(find(100, 16, 0, 50).barriers == 2);

    CHECK(!pays(150, 16, 0, 0) && pays(250, 16, 0, 0));
    CHECK(!pays(700, 4, 0, 0) && pays(800, 4, 0, 0));
    // As many moves as halves of vectors: nothing is gained.
    CHECK(!pays(2000, 2, 1, 0));
    // Regions are short.
    CHECK(!pays(500, 16, 0, 100) && pays(500, 16, 0, 500));
    return 0;
}
