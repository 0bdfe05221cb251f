// Kernels to which groups do not matter, as they are or once they ask for the
// global ids that they put together.
#include "kernel/compiler/loops/chunk.h"
#include "kernel/compiler/loops/flatten.h"

#include "kernel/compiler/ir/try_text.h"

struct trial {
    struct hdi_llvm llvm;
    LLVMModuleRef module;
    LLVMValueRef kernel;
};

static void trial_open(struct trial *t, const char *param,
                       const char *instructions)
{
    struct hdi_text text = {0};

    hdi_text_print(&text,
                   "declare i64 @_Z12get_group_idj(i32)\n"
                   "declare i64 @_Z14get_local_sizej(i32)\n"
                   "declare void @_Z7barrierj(i32)\n"
                   "@t = internal addrspace(3) global i32 undef\n"
                   "define void @k(ptr addrspace(1) %%p, %s) {\n"
                   "  %s\n"
                   "  ret void\n"
                   "}\n",
                   param, instructions);
    *t = (struct trial){.llvm.path = "test"};
    t->module = try_text_parse(&t->llvm, text.data);
    t->kernel = LLVMGetNamedFunction(t->module, "k");
    hdi_text_free(&text);
}

static bool is_flat(const char *param, const char *instructions)
{
    struct trial t;

    trial_open(&t, param, instructions);
    bool flat = hdi_chunk_is_flat(t.module, t.kernel);
    try_text_close(&t.llvm, t.module);
    return flat;
}

static void groups_matter_to_what_asks_for_them(void)
{
    static const char global[] = "%x = call i64 @_Z13get_global_idj(i32 0)";

    CHECK(is_flat("i64 %n", global));
    CHECK(!is_flat("i64 %n", "%x = call i64 @_Z12get_local_idj(i32 0)"));
    CHECK(!is_flat("i64 %n", "%x = call i64 @_Z12get_group_idj(i32 0)"));
    CHECK(!is_flat("i64 %n", "call void @_Z7barrierj(i32 1)"));
    CHECK(!is_flat("ptr addrspace(3) %l", global));
    CHECK(!is_flat("i64 %n", "store i32 0, ptr addrspace(3) @t"));
    CHECK(!is_flat("i64 %n", "%a = alloca [4 x i32]"));
}

static const char composed[] = "%%g = call i64 @_Z12get_group_idj(i32 %u)\n"
                               "  %%s = call i64 @_Z14get_local_sizej(i32 %u)\n"
                               "  %%l = call i64 @_Z12get_local_idj(i32 %u)\n"
                               "  %%b = %s i64 %%s, %%g\n"
                               "  %%i = add i64 %%l, %%b\n"
                               "  store i64 %%i, ptr addrspace(1) %%p\n";

// Groups, sizes and ids of these dimensions.
static struct hdi_text compose(const unsigned d[3], const char *product)
{
    struct hdi_text text = {0};

    hdi_text_print(&text, composed, d[0], d[1], d[2], product);
    return text;
}

static unsigned dimensions_of(const unsigned d[3], const char *product)
{
    struct hdi_text text = compose(d, product);
    struct trial t;

    trial_open(&t, "i64 %n", text.data);
    unsigned found = hdi_flatten_find(t.kernel);
    try_text_close(&t.llvm, t.module);
    hdi_text_free(&text);
    return found;
}

static void ids_are_put_together_of_one_dimension(void)
{
    CHECK(dimensions_of((const unsigned[]){0, 0, 0}, "mul") == 1);
    CHECK(dimensions_of((const unsigned[]){2, 2, 2}, "mul") == 4);
    CHECK(dimensions_of((const unsigned[]){0, 1, 0}, "mul") == 0);
    CHECK(dimensions_of((const unsigned[]){1, 1, 0}, "mul") == 0);
    CHECK(dimensions_of((const unsigned[]){0, 0, 0}, "add") == 0);
}

static void flat_kernels_ask_for_global_ids(void)
{
    struct hdi_text text = compose((const unsigned[]){1, 1, 1}, "mul");
    struct hd_error error;
    struct trial t;

    trial_open(&t, "i64 %n", text.data);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(t.llvm.context);
    CHECK_OK(hdi_flatten(&t.llvm, t.module, b, t.kernel, &error), error);
    LLVMValueRef end =
        LLVMGetBasicBlockTerminator(LLVMGetEntryBasicBlock(t.kernel));
    LLVMValueRef id = LLVMGetOperand(LLVMGetPreviousInstruction(end), 0);
    CHECK(hdi_call_kind(id) == HDI_CALL_GLOBAL_ID &&
          LLVMConstIntGetZExtValue(LLVMGetOperand(id, 0)) == 1);
    LLVMDisposeBuilder(b);
    try_text_close(&t.llvm, t.module);
    hdi_text_free(&text);
}

int main(void)
{
    groups_matter_to_what_asks_for_them();
    ids_are_put_together_of_one_dimension();
    flat_kernels_ask_for_global_ids();
    return 0;
}
