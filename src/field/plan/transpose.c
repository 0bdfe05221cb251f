#include "field/plan/transpose.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// Without tiles each line of one side would be fetched again for every element
// of it: planes are larger than caches.
enum {
    TILE = 64, // a tile's lines of both sides stay in the first cache
    BLOCK = 8, // in registers
    LINE = 64  // of a cache [bytes]
};

// Inner loop over columns: stores are contiguous, loads have the step. Loads of
// a tile that was asked for are in the cache.
static void transpose_any(char *to, int64_t to_step, const char *from,
                          int64_t from_step, int64_t rows, int64_t columns,
                          size_t element)
{
    int64_t size = (int64_t)element;

    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++)
            memcpy(to + (r * to_step + c) * size,
                   from + (c * from_step + r) * size, element);
}

static void transpose_4(char *to, int64_t to_step, const char *from,
                        int64_t from_step, int64_t rows, int64_t columns)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++)
            memcpy(to + (r * to_step + c) * 4, from + (c * from_step + r) * 4,
                   4);
}

static void transpose_8(char *to, int64_t to_step, const char *from,
                        int64_t from_step, int64_t rows, int64_t columns)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++)
            memcpy(to + (r * to_step + c) * 8, from + (c * from_step + r) * 8,
                   8);
}

#if defined(__x86_64__)
// 8 x 8 elements of 8 bytes: pairs, then quarters, then halves change places.
__attribute__((target("avx512f"))) static void transpose_block(
    char *to, int64_t to_step, const char *from, int64_t from_step)
{
    __m512i a[8], b[8];

    for (int i = 0; i < 8; i++)
        a[i] = _mm512_loadu_si512(from + i * from_step * 8);
    for (int i = 0; i < 8; i += 2) {
        b[i] = _mm512_unpacklo_epi64(a[i], a[i + 1]);
        b[i + 1] = _mm512_unpackhi_epi64(a[i], a[i + 1]);
    }
    for (int i = 0; i < 2; i++)
        for (int h = 0; h < 8; h += 4) {
            a[h + i] = _mm512_shuffle_i64x2(b[h + i], b[h + i + 2], 0x88);
            a[h + i + 2] = _mm512_shuffle_i64x2(b[h + i], b[h + i + 2], 0xdd);
        }
    for (int i = 0; i < 4; i++) {
        b[i] = _mm512_shuffle_i64x2(a[i], a[i + 4], 0x88);
        b[i + 4] = _mm512_shuffle_i64x2(a[i], a[i + 4], 0xdd);
    }
    for (int i = 0; i < 8; i++)
        _mm512_storeu_si512(to + i * to_step * 8, b[i]);
}

// What is left at the right and below is less than a block wide.
__attribute__((target("avx512f"))) static void transpose_blocks(
    char *to, int64_t to_step, const char *from, int64_t from_step,
    int64_t rows, int64_t columns)
{
    int64_t whole_rows = rows / BLOCK * BLOCK;
    int64_t whole_columns = columns / BLOCK * BLOCK;

    for (int64_t r = 0; r < whole_rows; r += BLOCK)
        for (int64_t c = 0; c < whole_columns; c += BLOCK)
            transpose_block(to + (r * to_step + c) * 8, to_step,
                            from + (c * from_step + r) * 8, from_step);
    transpose_8(to + whole_columns * 8, to_step,
                from + whole_columns * from_step * 8, from_step, rows,
                columns - whole_columns);
    transpose_8(to + whole_rows * to_step * 8, to_step, from + whole_rows * 8,
                from_step, rows - whole_rows, whole_columns);
}
#endif

static void transpose_tile(char *to, int64_t to_step, const char *from,
                           int64_t from_step, int64_t rows, int64_t columns,
                           size_t element)
{
    switch (element) {
    case 4:
        transpose_4(to, to_step, from, from_step, rows, columns);
        break;
    case 8:
#if defined(__x86_64__)
        if (__builtin_cpu_supports("avx512f")) {
            transpose_blocks(to, to_step, from, from_step, rows, columns);
            break;
        }
#endif
        transpose_8(to, to_step, from, from_step, rows, columns);
        break;
    default:
        transpose_any(to, to_step, from, from_step, rows, columns, element);
    }
}

// Blocks go down the source's rows, each on a page of its own, where the
// processor does not look ahead: ask for the rows of a tile first.
static void ask(const char *from, int64_t from_step, int64_t rows,
                int64_t columns, int64_t size)
{
    for (int64_t c = 0; c < columns; c++)
        for (int64_t i = 0; i < rows * size; i += LINE)
            __builtin_prefetch(from + c * from_step * size + i, 0, 2);
}

void hdi_transpose(char *to, int64_t to_step, const char *from,
                   int64_t from_step, int64_t rows, int64_t columns,
                   size_t element)
{
    int64_t size = (int64_t)element;

    for (int64_t r = 0; r < rows; r += TILE)
        for (int64_t c = 0; c < columns; c += TILE) {
            int64_t high = rows - r < TILE ? rows - r : TILE;
            int64_t wide = columns - c < TILE ? columns - c : TILE;
            const char *source = from + (c * from_step + r) * size;

            ask(source, from_step, high, wide, size);
            transpose_tile(to + (r * to_step + c) * size, to_step, source,
                           from_step, high, wide, element);
        }
}
