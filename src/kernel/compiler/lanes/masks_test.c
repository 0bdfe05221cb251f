// Masks go from block to block as wide as numbers, where processors have no
// registers for their bits: nothing is packed and spread then.
#include "kernel/compiler/lanes/masks.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include "kernel/compiler/ir/try_text.h"

static const char features[] = "+avx,+avx2,+fma";

// Lanes leave the loop at different times: those that are left are counted.
static const char loop[] =
    "define void @k(ptr %p, <8 x float> %a, <8 x float> %b) {\n"
    "  br label %loop\n"
    "loop:\n"
    "  %mask = phi <8 x i1> [ splat (i1 true), %0 ], [ %stay, %loop ]\n"
    "  %left = phi <8 x i1> [ zeroinitializer, %0 ], [ %gone, %loop ]\n"
    "  %sum = phi <8 x float> [ %b, %0 ], [ %more, %loop ]\n"
    "  %new = fadd <8 x float> %sum, %a\n"
    "  %more = select <8 x i1> %mask, <8 x float> %new, <8 x float> %sum\n"
    "  %is = fcmp olt <8 x float> %more, splat (float 4.0)\n"
    "  %stay = and <8 x i1> %mask, %is\n"
    "  %not = xor <8 x i1> %is, splat (i1 true)\n"
    "  %go = and <8 x i1> %mask, %not\n"
    "  %gone = or <8 x i1> %left, %go\n"
    "  %bits = bitcast <8 x i1> %stay to i8\n"
    "  %any = icmp ne i8 %bits, 0\n"
    "  br i1 %any, label %loop, label %end\n"
    "end:\n"
    "  %last = select <8 x i1> %gone, <8 x float> %more, <8 x float> %a\n"
    "  store <8 x float> %last, ptr %p\n"
    "  ret void\n"
    "}\n";

struct widened {
    struct hdi_llvm llvm;
    LLVMModuleRef module;
    LLVMValueRef kernel;
};

static void widen(struct widened *w, const char *text, const char *cpu)
{
    struct hd_error error;

    *w = (struct widened){.llvm.path = "test"};
    w->module = try_text_parse(&w->llvm, text);
    w->kernel = LLVMGetNamedFunction(w->module, "k");
    w->llvm.target = hdi_target_find(
        "x86_64", cpu, *cpu ? "+avx2,+avx512f,+avx512vl" : features);
    CHECK_OK(hdi_masks_widen(&w->llvm, w->module, &error), error);
    CHECK(!LLVMVerifyFunction(w->kernel, LLVMPrintMessageAction));
}

static void close(struct widened *w)
{
    try_text_close(&w->llvm, w->module);
}

static bool has_bits(LLVMValueRef value)
{
    LLVMTypeRef type = LLVMTypeOf(value);
    return LLVMGetTypeKind(type) == LLVMVectorTypeKind &&
           hdi_is_integer(LLVMGetElementType(type), 1);
}

// Phi nodes of bits, and uses of bits in another block than that they are of.
static unsigned count_crossings(LLVMValueRef kernel)
{
    unsigned count = 0;

    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(kernel); b;
         b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef x = LLVMGetFirstInstruction(b); x;
             x = LLVMGetNextInstruction(x)) {
            count += LLVMIsAPHINode(x) && has_bits(x);
            for (unsigned o = 0; o < (unsigned)LLVMGetNumOperands(x); o++) {
                LLVMValueRef from = LLVMGetOperand(x, o);
                count += LLVMIsAInstruction(from) && has_bits(from) &&
                         LLVMGetInstructionParent(from) != b;
            }
        }
    return count;
}

static unsigned crossings(const char *text, const char *cpu)
{
    struct widened w;

    widen(&w, text, cpu);
    unsigned count = count_crossings(w.kernel);
    close(&w);
    return count;
}

static void no_bits_go_from_block_to_block(void)
{
    CHECK(crossings(loop, "") == 0);
    CHECK(crossings(loop, "skylake-avx512") == 3); // as they were
}

// Those that LLVM makes as wide as numbers by itself stay.
static void few_lanes_stay(void)
{
    static const char four[] =
        "define void @k(ptr %p, <4 x i1> %m, <4 x i32> %a) {\n"
        "  %n = xor <4 x i1> %m, splat (i1 true)\n"
        "  br label %next\n"
        "next:\n"
        "  %v = select <4 x i1> %n, <4 x i32> %a, <4 x i32> zeroinitializer\n"
        "  store <4 x i32> %v, ptr %p\n"
        "  ret void\n"
        "}\n";

    CHECK(crossings(four, "") == 1);
}

// What the kernel stores for constants: they are folded.
static void check_result(const char *name, bool taken, int element, int is)
{
    struct hdi_text text = {0};
    struct widened w;

    hdi_text_print(
        &text,
        "define i32 @k() {\n"
        "  %%c = icmp slt <8 x i32> <i32 1, i32 5, i32 2, i32 6, i32 3, i32 7, "
        "i32 0, i32 9>, splat (i32 4)\n"
        "  %%d = icmp sgt <8 x i32> <i32 1, i32 5, i32 2, i32 6, i32 3, i32 7, "
        "i32 0, i32 9>, splat (i32 1)\n"
        "  br i1 %s, label %%some, label %%end\n"
        "some:\n"
        "  %%both = and <8 x i1> %%c, %%d\n"
        "  %%one = xor <8 x i1> %%both, %%d\n"
        "  br label %%end\n"
        "end:\n"
        "  %%m = phi <8 x i1> [ %%c, %%0 ], [ %%%s, %%some ]\n"
        "  %%v = select <8 x i1> %%m, <8 x i32> splat (i32 11), "
        "<8 x i32> splat (i32 22)\n"
        "  %%e = extractelement <8 x i32> %%v, i32 %d\n"
        "  ret i32 %%e\n"
        "}\n",
        taken ? "true" : "false", name, element);
    widen(&w, text.data, "");
    hdi_text_free(&text);
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    CHECK(!LLVMRunPasses(w.module, "function(sccp,simplifycfg,instcombine)",
                         NULL, options));
    LLVMDisposePassBuilderOptions(options);
    LLVMValueRef result = LLVMGetOperand(
        LLVMGetBasicBlockTerminator(LLVMGetEntryBasicBlock(w.kernel)), 0);
    CHECK(LLVMIsAConstantInt(result));
    CHECK(LLVMConstIntGetSExtValue(result) == is);
    close(&w);
}

static void masks_say_what_they_did(void)
{
    // c: 1 0 1 0 1 0 1 0, d: 0 1 1 1 1 1 0 1
    check_result("both", false, 0, 11);
    check_result("both", false, 1, 22);
    check_result("both", true, 0, 22);
    check_result("both", true, 2, 11);
    check_result("one", true, 1, 11);
    check_result("one", true, 2, 22);
    check_result("one", true, 6, 22);
}

// Assembly of the loop has an instruction like that.
static bool has(const char *text, const char *cpu, const char *instruction)
{
    LLVMTargetRef target;
    LLVMMemoryBufferRef code;
    char *message = NULL;
    struct widened w;

    widen(&w, text, cpu);
    CHECK(!LLVMGetTargetFromTriple("x86_64", &target, &message));
    LLVMTargetMachineRef machine = LLVMCreateTargetMachine(
        target, "x86_64", "x86-64-v3", features, LLVMCodeGenLevelAggressive,
        LLVMRelocPIC, LLVMCodeModelDefault);
    CHECK(!LLVMTargetMachineEmitToMemoryBuffer(
        machine, w.module, LLVMAssemblyFile, &message, &code));
    const char *start = strstr(LLVMGetBufferStart(code), ".LBB0_1:");
    CHECK(start);
    const char *end = strstr(start, "jne");
    const char *found = strstr(start, instruction);
    bool yes = found && end && found < end;
    LLVMDisposeMemoryBuffer(code);
    LLVMDisposeTargetMachine(machine);
    close(&w);
    return yes;
}

// When the first fails, LLVM does it by itself.
static void loops_pack_no_masks(void)
{
    CHECK(has(loop, "skylake-avx512", "vpack"));
    CHECK(!has(loop, "", "vpack"));
    CHECK(!has(loop, "", "vpmovzx"));
}

int main(void)
{
    no_bits_go_from_block_to_block();
    few_lanes_stay();
    masks_say_what_they_did();
#ifdef __x86_64__
    LLVMInitializeNativeTarget();
    LLVMInitializeNativeAsmPrinter();
    loops_pack_no_masks();
#endif
    return 0;
}
