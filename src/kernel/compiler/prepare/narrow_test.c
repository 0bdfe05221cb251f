// Small vectors in memory become one integer with the same bytes.
#include "kernel/compiler/prepare/narrow.h"

#include <llvm-c/Transforms/PassBuilder.h>

#include "kernel/compiler/ir/try_text.h"

struct narrow {
    struct hdi_llvm llvm;
    LLVMModuleRef module;
    LLVMValueRef kernel;
};

static void narrow(struct narrow *n, const char *instructions)
{
    struct hdi_text text = {0};

    hdi_text_print(&text,
                   "define void @k(ptr %%p, ptr %%q, <4 x i8> %%v) {\n"
                   "  %s\n"
                   "  ret void\n"
                   "}\n",
                   instructions);
    *n = (struct narrow){0};
    n->module = try_text_parse(&n->llvm, text.data);
    n->kernel = LLVMGetNamedFunction(n->module, "k");
    hdi_text_free(&text);
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(n->llvm.context);
    hdi_narrow_vectors(&n->llvm, builder, n->kernel);
    LLVMDisposeBuilder(builder);
}

static LLVMValueRef first(const struct narrow *n, LLVMOpcode code)
{
    LLVMBasicBlockRef b = LLVMGetEntryBasicBlock(n->kernel);

    for (LLVMValueRef x = LLVMGetFirstInstruction(b); x;
         x = LLVMGetNextInstruction(x))
        if (LLVMGetInstructionOpcode(x) == code)
            return x;
    return NULL;
}

// The type of what is loaded or stored: its bits when it is an integer, else 0.
static unsigned bits_of(const char *instructions, LLVMOpcode code,
                        unsigned align)
{
    struct narrow n;

    narrow(&n, instructions);
    LLVMValueRef x = first(&n, code);
    CHECK(x && LLVMGetAlignment(x) == align);
    LLVMTypeRef type = LLVMTypeOf(code == LLVMStore ? LLVMGetOperand(x, 0) : x);
    unsigned bits = LLVMGetTypeKind(type) == LLVMIntegerTypeKind
                        ? LLVMGetIntTypeWidth(type)
                        : 0;
    try_text_close(&n.llvm, n.module);
    return bits;
}

static void only_small_vectors_become_integers(void)
{
    CHECK(bits_of("%x = load <4 x i8>, ptr %p, align 4", LLVMLoad, 4) == 32);
    CHECK(bits_of("%x = load <2 x i8>, ptr %p, align 1", LLVMLoad, 1) == 16);
    CHECK(bits_of("%x = load <4 x i16>, ptr %p, align 8", LLVMLoad, 8) == 64);
    CHECK(bits_of("store <4 x i8> %v, ptr %p, align 2", LLVMStore, 2) == 32);
    CHECK(bits_of("%x = load <3 x i8>, ptr %p, align 4", LLVMLoad, 4) == 0);
    CHECK(bits_of("%x = load <2 x i32>, ptr %p, align 8", LLVMLoad, 8) == 0);
    CHECK(bits_of("%x = load <2 x half>, ptr %p, align 4", LLVMLoad, 4) == 0);
    CHECK(bits_of("%x = load <16 x i8>, ptr %p, align 16", LLVMLoad, 16) == 0);
    CHECK(bits_of("%x = load volatile <4 x i8>, ptr %p, align 4", LLVMLoad,
                  4) == 0);
    CHECK(bits_of("store volatile <4 x i8> %v, ptr %p, align 4", LLVMStore,
                  4) == 0);
}

// What is stored, as a number.
static uint64_t stored(const char *vector)
{
    struct hdi_text text = {0};
    struct narrow n;

    hdi_text_print(&text, "store <4 x i8> %s, ptr %%p", vector);
    narrow(&n, text.data);
    hdi_text_free(&text);
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    CHECK(!LLVMRunPasses(n.module, "function(instcombine)", NULL, options));
    LLVMDisposePassBuilderOptions(options);
    LLVMValueRef value = LLVMGetOperand(first(&n, LLVMStore), 0);
    CHECK(LLVMIsAConstantInt(value));
    uint64_t bits = LLVMConstIntGetZExtValue(value);
    try_text_close(&n.llvm, n.module);
    return bits;
}

static void elements_lie_as_they_did(void)
{
    CHECK(stored("<i8 1, i8 2, i8 -3, i8 4>") == 0x04fd0201);
}

// The fourth of three: the others are there all the same.
static void elements_without_a_value_spoil_no_others(void)
{
    CHECK(stored("<i8 1, i8 2, i8 3, i8 poison>") == 0x00030201);
}

int main(void)
{
    only_small_vectors_become_integers();
    elements_lie_as_they_did();
    elements_without_a_value_spoil_no_others();
    return 0;
}
