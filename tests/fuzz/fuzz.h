// What the fuzz targets share. A target is a file NAME_fuzz.c with the function
// that libFuzzer calls, which must survive any bytes. It is linked with
// libFuzzer where HEDDLE_SANITIZE says so (preset `fuzz`), and else with
// replay.c, which runs the corpus and a fixed number of changes to it.
#ifndef HEDDLE_TESTS_FUZZ_H
#define HEDDLE_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heddle/status.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Ends the process in a way that fuzzers notice.
#define HOLDS(condition)                                                 \
    do {                                                                 \
        if (!(condition)) {                                              \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, \
                    #condition);                                         \
            abort();                                                     \
        }                                                                \
    } while (0)

// What every public function promises: success, or one of its errors with a
// text that is not cut in the middle of nowhere.
static inline void fuzz_check_error(hd_status status,
                                    const struct hd_error *error)
{
    HOLDS(memchr(error->text, '\0', sizeof(error->text)));
    HOLDS(status == HD_OK || *error->text);
}

// The input as a row of numbers; zeros behind its end.
struct fuzz_bytes {
    const uint8_t *at;
    size_t left;
};

static inline uint64_t fuzz_take(struct fuzz_bytes *bytes, size_t size)
{
    uint64_t n = 0;

    if (size > bytes->left)
        size = bytes->left;
    for (size_t i = 0; i < size; i++)
        n |= (uint64_t)bytes->at[i] << 8 * i;
    bytes->at += size;
    bytes->left -= size;
    return n;
}

// Sizes of all magnitudes, those near powers of two most of all: one byte of
// the exponent, one of what is added.
static inline uint64_t fuzz_take_size(struct fuzz_bytes *bytes)
{
    uint64_t exponent = fuzz_take(bytes, 1) % 65, more = fuzz_take(bytes, 1);
    uint64_t power = exponent < 64 ? UINT64_C(1) << exponent : 0;

    return power + (uint64_t)(int64_t)(int8_t)more;
}

#endif
