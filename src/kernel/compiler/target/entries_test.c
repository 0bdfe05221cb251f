// What is known of processors: each is found, and what rules ask of it differs.
#include "kernel/compiler/target/target.h"

#include <string.h>

#include "tests/check.h"

static const char x86[] = "x86_64-pc-linux-gnu", arm[] = "aarch64-linux-gnu";
static const char avx2[] = "+sse4.2,+avx,+avx2,+fma,-avx512f";
static const char avx512[] = "+avx2,+avx512f,+avx512vl";

static struct hdi_target find(const char *cpu)
{
    return hdi_target_find(x86, cpu, avx512);
}

static void processors_are_known_by_name(void)
{
    static const char *const names[] = {
        "znver2",         "znver3",         "znver4",    "znver5",
        "skylake-avx512", "sapphirerapids", "alderlake", "skylake",
        "haswell",        "icelake-server", "unknown",   ""};
    static const char *const are[] = {
        "AMD Zen 2",      "AMD Zen 3",      "AMD Zen 4",    "AMD Zen 5",
        "Intel, AVX-512", "Intel, AVX-512", "Intel, AVX2",  "Intel, AVX2",
        "Intel, AVX2",    "Intel, AVX-512", "x86, AVX-512", "x86, AVX-512"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        CHECK(strcmp(find(names[i]).name, are[i]) == 0);
    CHECK(strcmp(hdi_target_find(arm, "apple-m1", "+neon").name, "Apple") == 0);
    CHECK(strcmp(hdi_target_find(arm, "neoverse-v1", "").name, "AArch64") == 0);
}

// Code is made for what may be used, whatever the processor is.
static void features_bound_what_a_processor_can(void)
{
    CHECK(hdi_target_find(x86, "znver4", avx2).vector_bytes == 32);
    CHECK(!hdi_target_find(x86, "sapphirerapids", avx2).word_gather);
    CHECK(hdi_target_find(x86, "x86-64-v3", avx2).registers == 16);
    CHECK(hdi_target_find(x86, "x86-64", "+sse2").vector_bytes == 16);
    CHECK(find("znver4").root_bits == 14 && find("").root_bits == 14);
    CHECK(hdi_target_find(x86, "znver4", "+avx2,+avx512f").root_bits == 12);
    // Not what merely begins so.
    CHECK(hdi_target_find(x86, "x", "+avx512fp16").vector_bytes == 16);
}

static void entries_are_complete(void)
{
    static const char *const names[] = {"znver2",    "znver3",         "znver4",
                                        "znver5",    "skylake-avx512", "x86-64",
                                        "alderlake", "apple-m1"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct hdi_target t = find(names[i]);
        CHECK(t.gather > t.masked && t.scatter >= t.gather && t.extract > 0);
        CHECK(t.permute < t.gather && (t.permute > 0) == (t.vector_bytes > 16));
        CHECK(t.kept > 0 && t.kept <= t.registers / 2);
        CHECK(t.latency > 2 && t.latency < 8);
        CHECK(t.loads > 0 && t.products > 0 && t.stall > 1 &&
              t.look > t.extract && t.ways > 0);
        CHECK(t.shuffle > 0 && t.retry > 0 && t.issue > 0 && t.ahead > 0);
        CHECK(hdi_target_apart(&t) < hdi_target_near(&t) &&
              hdi_target_near(&t) < t.gather);
        CHECK(t.line >= 64 && 1024 * t.near_kib % (t.line * t.ways) == 0);
    }
}

static void width_and_what_loops_keep_differ(void)
{
    struct hdi_target xeon = find("icelake-server"), client = find("skylake");

    CHECK(hdi_target_lanes(&xeon) == 16 && hdi_target_lanes(&client) == 8);
    CHECK(xeon.kept == 8 && client.kept == 8);
    CHECK(hdi_target_lanes_of(&xeon, 0) == 16);
    CHECK(hdi_target_lanes_of(&xeon, 10) == 8);
    CHECK(hdi_target_lanes_of(&client, 10) == 8);
    CHECK(hdi_target_lanes_of(&client, 3) == 2);
}

// What follows from other costs.
static void costs_follow(void)
{
    struct hdi_target t = find("icelake-server"), half = t;

    half.vector_bytes = 32;
    CHECK(hdi_target_retries(&t) == 2 * hdi_target_retries(&half));
    t.look *= 2;
    CHECK(hdi_target_cheap(&t) == 2 * hdi_target_cheap(&half));
}

int main(void)
{
    processors_are_known_by_name();
    features_bound_what_a_processor_can();
    entries_are_complete();
    width_and_what_loops_keep_differ();
    costs_follow();
    return 0;
}
