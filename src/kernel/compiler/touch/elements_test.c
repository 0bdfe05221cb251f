// What kernels are found to touch, and under which conditions.
#include "kernel/compiler/touch/footprint.h"

#include "kernel/compiler/ir/try_text.h"

static char name[] = "k";

// Of a kernel with a buffer and a number; freed by the caller.
static struct hdi_footprint find(const char *body)
{
    struct hdi_build_arg args[] = {{.kind = HD_ARG_GLOBAL},
                                   {.kind = HD_ARG_VALUE, .size = 8}};
    struct hdi_build_kernel about = {
        .name = name, .args = args, .arg_count = 2};
    struct hdi_llvm llvm = {.path = "test"};
    struct hdi_text text = {0};
    struct hd_error error;

    hdi_text_print(&text,
                   "declare void @unknown(ptr addrspace(1))\n"
                   "define void @k(ptr addrspace(1) %%p, i64 %%n) {\n"
                   "  %%i = call i64 @_Z13get_global_idj(i32 0)\n"
                   "  %%at = getelementptr i32, ptr addrspace(1) %%p, i64 %%i\n"
                   "  %s\n"
                   "  ret void\n"
                   "}\n",
                   body);
    LLVMModuleRef module = try_text_parse(&llvm, text.data);
    CHECK_OK(hdi_footprint_find(&llvm, LLVMGetNamedFunction(module, "k"),
                                &about, &error),
             error);
    try_text_close(&llvm, module);
    hdi_text_free(&text);
    return about.footprint;
}

// Nodes that may have any value.
static unsigned count_any(const struct hdi_footprint *f)
{
    unsigned count = 0;

    for (uint32_t n = 0; n < f->node_count; n++)
        count += f->nodes[n].op == HDI_FOOTPRINT_ANY;
    return count;
}

static void accesses_are_written_down(void)
{
    struct hdi_footprint f = find("%v = load i16, ptr addrspace(1) %at\n"
                                  "  store i32 1, ptr addrspace(1) %at");

    CHECK(f.known & HDI_FOOTPRINT_KNOWN && f.access_count == 2);
    for (unsigned i = 0; i < 2; i++) {
        const struct hdi_footprint_access *a = &f.accesses[i];
        CHECK(a->arg == 0 && a->at < f.node_count);
        CHECK(a->size == (a->writes ? 4 : 2) && a->writes == i);
    }
    CHECK(f.condition_count == 0 && count_any(&f) == 0);
    hdi_footprint_clear(&f);
}

static void conditions_bound_them(void)
{
    struct hdi_footprint f = find("%in = icmp ult i64 %i, %n\n"
                                  "  br i1 %in, label %then, label %end\n"
                                  "then:\n"
                                  "  store i32 1, ptr addrspace(1) %at\n"
                                  "  br label %end\n"
                                  "end:");

    CHECK(f.access_count == 1 && f.condition_count > 0);
    const struct hdi_footprint_scope *s = &f.scopes[f.accesses[0].scope];
    CHECK(s->count == 1 && s->exact == 1);
    const struct hdi_footprint_condition *c = &f.conditions[s->first];
    CHECK(c->relation == HDI_FOOTPRINT_ULT);
    CHECK(f.nodes[c->a].op == HDI_FOOTPRINT_GLOBAL_ID);
    CHECK(f.nodes[c->b].op == HDI_FOOTPRINT_ARG && f.nodes[c->b].a == 1);
    hdi_footprint_clear(&f);
}

// A place that was loaded may be any of the buffer, and what a function does
// that is not known any access to all of it.
static void what_is_not_known_is_all(void)
{
    struct hdi_footprint f =
        find("%j = load i64, ptr addrspace(1) %at\n"
             "  %to = getelementptr i8, ptr addrspace(1) %p, i64 %j\n"
             "  store i32 1, ptr addrspace(1) %to");

    CHECK(f.known & HDI_FOOTPRINT_KNOWN && f.access_count == 2);
    CHECK(count_any(&f) == 1);
    hdi_footprint_clear(&f);
    f = find("call void @unknown(ptr addrspace(1) %at)");
    CHECK(f.access_count == 1 && f.accesses[0].at == HDI_FOOTPRINT_ALL &&
          f.accesses[0].writes == 2);
    hdi_footprint_clear(&f);
}

int main(void)
{
    accesses_are_written_down();
    conditions_bound_them();
    what_is_not_known_is_all();
    return 0;
}
