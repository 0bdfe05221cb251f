// What a kernel that was compiled here may be run on. Two answers: a text that
// is equal where all code runs equally (identify), and a list of instruction
// sets, so that a build made for fewer of them runs here too (features).
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#include "backend/cpu/cpu.h"

#if defined(__x86_64__)
#include <cpuid.h>

const char *hdi_cpu_target(void)
{
    return "x86_64-pc-linux-gnu";
}

// Vendor, family and model, the instructions it has, and which registers the
// system saves: code that uses others would run wrong, or not at all.
bool hdi_cpu_identify(char *text, size_t size)
{
    unsigned a, b, c, d, vendor[3], signature, features[6] = {0};
    unsigned low = 0, high = 0;

    __cpuid(0, a, vendor[0], vendor[2], vendor[1]);
    unsigned most = a;
    __cpuid(1, signature, b, features[0], features[1]);
    if (most >= 7) {
        __cpuid_count(7, 0, a, features[2], features[3], features[4]);
        __cpuid_count(7, 1, features[5], b, c, d);
    }
    // Whether the processor may be asked for the saved registers.
    if (features[0] & bit_OSXSAVE)
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    int n = snprintf(
        text, size, "%.12s %x %08x-%08x-%08x-%08x-%08x-%08x xcr0 %x%08x",
        (const char *)vendor, signature, features[0], features[1], features[2],
        features[3], features[4], features[5], high, low);
    return n > 0 && (size_t)n < size;
}

enum register_of {
    EAX,
    EBX,
    ECX,
    EDX
};

enum saved { // what the system has to save for the registers it uses
    NOTHING = 0,
    YMM = 0x6,
    ZMM = 0xe6
};

// Names are LLVM's; where each is told is Intel's and AMD's (CPUID). `saved`:
// bits of XCR0 that the system must have set, or the registers are lost when it
// switches threads.
static const struct feature {
    const char *name;
    unsigned leaf, subleaf;
    enum register_of reg;
    unsigned bit;
    enum saved saved;
} features[] = {
    {"x87", 1, 0, EDX, 0, NOTHING},
    {"cx8", 1, 0, EDX, 8, NOTHING},
    {"cmov", 1, 0, EDX, 15, NOTHING},
    {"mmx", 1, 0, EDX, 23, NOTHING},
    {"cx16", 1, 0, ECX, 13, NOTHING},
    {"sahf", 0x80000001, 0, ECX, 0, NOTHING},
    {"movbe", 1, 0, ECX, 22, NOTHING},
    {"popcnt", 1, 0, ECX, 23, NOTHING},
    {"lzcnt", 0x80000001, 0, ECX, 5, NOTHING},
    {"prfchw", 0x80000001, 0, ECX, 8, NOTHING},
    {"tbm", 0x80000001, 0, ECX, 21, NOTHING},
    {"bmi", 7, 0, EBX, 3, NOTHING},
    {"bmi2", 7, 0, EBX, 8, NOTHING},
    {"adx", 7, 0, EBX, 19, NOTHING},
    {"cmpccxadd", 7, 1, EAX, 7, NOTHING},
    {"sse", 1, 0, EDX, 25, NOTHING},
    {"sse2", 1, 0, EDX, 26, NOTHING},
    {"sse3", 1, 0, ECX, 0, NOTHING},
    {"ssse3", 1, 0, ECX, 9, NOTHING},
    {"sse4a", 0x80000001, 0, ECX, 6, NOTHING},
    {"sse4.1", 1, 0, ECX, 19, NOTHING},
    {"sse4.2", 1, 0, ECX, 20, NOTHING},
    {"crc32", 1, 0, ECX, 20, NOTHING},
    {"pclmul", 1, 0, ECX, 1, NOTHING},
    {"aes", 1, 0, ECX, 25, NOTHING},
    {"sha", 7, 0, EBX, 29, NOTHING},
    {"gfni", 7, 0, ECX, 8, NOTHING},
    {"avx", 1, 0, ECX, 28, YMM},
    {"xop", 0x80000001, 0, ECX, 11, YMM},
    {"fma4", 0x80000001, 0, ECX, 16, YMM},
    {"f16c", 1, 0, ECX, 29, YMM},
    {"fma", 1, 0, ECX, 12, YMM},
    {"avx2", 7, 0, EBX, 5, YMM},
    {"vaes", 7, 0, ECX, 9, YMM},
    {"vpclmulqdq", 7, 0, ECX, 10, YMM},
    {"sha512", 7, 1, EAX, 0, YMM},
    {"sm3", 7, 1, EAX, 1, YMM},
    {"sm4", 7, 1, EAX, 2, YMM},
    {"avxvnni", 7, 1, EAX, 4, YMM},
    {"avxifma", 7, 1, EAX, 23, YMM},
    {"avxvnniint8", 7, 1, EDX, 4, YMM},
    {"avxneconvert", 7, 1, EDX, 5, YMM},
    {"avxvnniint16", 7, 1, EDX, 10, YMM},
    {"avx512f", 7, 0, EBX, 16, ZMM},
    {"evex512", 7, 0, EBX, 16, ZMM},
    {"avx512cd", 7, 0, EBX, 28, ZMM},
    {"avx512dq", 7, 0, EBX, 17, ZMM},
    {"avx512bw", 7, 0, EBX, 30, ZMM},
    {"avx512vl", 7, 0, EBX, 31, ZMM},
    {"avx512ifma", 7, 0, EBX, 21, ZMM},
    {"avx512vbmi", 7, 0, ECX, 1, ZMM},
    {"avx512vnni", 7, 0, ECX, 11, ZMM},
    {"avx512vbmi2", 7, 0, ECX, 6, ZMM},
    {"avx512bitalg", 7, 0, ECX, 12, ZMM},
    {"avx512vpopcntdq", 7, 0, ECX, 14, ZMM},
    {"avx512bf16", 7, 1, EAX, 5, ZMM},
    {"avx512vp2intersect", 7, 0, EDX, 8, ZMM},
    {"avx512fp16", 7, 0, EDX, 23, ZMM},
};

// What systems use and the code of kernels never does: it runs without them.
static const char unused[] =
    "amx-bf16 amx-fp16 amx-int8 amx-tile cldemote clflushopt clwb clzero "
    "enqcmd fsgsbase fxsr hreset invpcid kl lwp movdir64b movdiri mwaitx "
    "pconfig pku prefetchi ptwrite rdpid rdpru rdrnd rdseed serialize sgx "
    "shstk tsxldtrk uintr waitpkg wbnoinvd widekl xsave xsavec xsaveopt xsaves";

// A leaf that the processor does not have answers with what another one says:
// so the highest one is asked for first.
static bool has(const struct feature *feature, unsigned saved)
{
    unsigned found[4] = {0};

    if (__get_cpuid_max(feature->leaf & 0x80000000, NULL) < feature->leaf)
        return false;
    if (feature->subleaf > 0) {
        unsigned most, b, c, d;
        __cpuid_count(feature->leaf, 0, most, b, c, d);
        if (most < feature->subleaf)
            return false;
    }
    __cpuid_count(feature->leaf, feature->subleaf, found[EAX], found[EBX],
                  found[ECX], found[EDX]);
    return (found[feature->reg] >> feature->bit & 1) &&
           (saved & feature->saved) == feature->saved;
}

bool hdi_cpu_features(char *text, size_t size)
{
    unsigned a, b, c, d, low = 0, high;
    size_t used = (size_t)snprintf(text, size, "%s", unused);

    __cpuid(1, a, b, c, d);
    if (c & bit_OSXSAVE)
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++)
        if (used < size && has(&features[i], low))
            used += (size_t)snprintf(text + used, size - used, " %s",
                                     features[i].name);
    return used < size;
}

#elif defined(__aarch64__)

const char *hdi_cpu_target(void)
{
    return "aarch64-unknown-linux-gnu";
}

bool hdi_cpu_identify(char *text, size_t size)
{
    int n = snprintf(text, size, "aarch64 %lx-%lx", getauxval(AT_HWCAP),
                     getauxval(AT_HWCAP2));
    return n > 0 && (size_t)n < size;
}

bool hdi_cpu_features(char *text, size_t size)
{
    (void)text, (void)size;
    return false;
}

#else
#error "which processor is this? Add its target and how to identify it here."
#endif
