// Copies of any shape and size put each element in its place and touch no
// other, past the caches or not.
#include "field/plan/copy.h"

#include <stdlib.h>
#include <string.h>

#include "tests/check.h"

enum {
    MAX_SIDE = 150,
    ROOM = MAX_SIDE * MAX_SIDE * 16
};

static unsigned char from[ROOM], to[ROOM + 128], before[ROOM + 128];
static uint64_t seed = 1;

static int64_t below(int64_t bound)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (int64_t)(seed >> 33) % bound;
}

// A plane of rows x columns, which the source has by rows or by columns.
static void copy_one(bool transposed, bool nontemporal)
{
    static const size_t sizes[] = {1, 4, 8, 12, 16};
    size_t element = sizes[below(5)];
    int64_t rows = 1 + below(MAX_SIDE), columns = 1 + below(MAX_SIDE);
    int64_t from_step = (transposed ? rows : columns);
    int64_t to_step = columns;
    int64_t skew = below(64);
    struct hdi_span row = {0, 0, rows}, column = {0, 0, columns};
    struct hdi_copy copy = {.rank = 2,
                            .element = element,
                            .nontemporal = nontemporal,
                            .from = (char *)from,
                            .to = (char *)to + skew};
    int64_t row_from = transposed ? 1 : from_step;
    int64_t column_from = transposed ? from_step : 1;

    copy.axis[0] = (struct hdi_copy_axis){&row, 1, row_from, row_from, to_step};
    copy.axis[1] =
        (struct hdi_copy_axis){&column, 1, column_from, column_from, 1};
    memset(to, 0xa5, sizeof(to));
    memcpy(before, to, sizeof(to));
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++)
            memcpy(before + skew + (size_t)(r * to_step + c) * element,
                   from + (size_t)(r * row_from + c * column_from) * element,
                   element);
    hdi_copy_run(&copy);
    CHECK(memcmp(to, before, sizeof(to)) == 0);
}

static void every_element_comes_to_its_place(void)
{
    for (size_t i = 0; i < ROOM; i++)
        from[i] = (unsigned char)below(256);
    for (int i = 0; i < 400; i++)
        copy_one(i % 2, i / 2 % 2);
}

int main(void)
{
    every_element_comes_to_its_place();
    return 0;
}
