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

#else
#error "which processor is this? Add its target and how to identify it here."
#endif
