// Where tiles are, on GPUs of several sizes.
#include "backend/cuda/executor/layout.h"
#include "tests/check.h"

static const struct cuda_room h100 = {.multiprocessors = 132,
                                      .registers = 65536,
                                      .shared = 228 << 10,
                                      .shared_of_block = 227 << 10},
                              tiny = {.multiprocessors = 4,
                                      .registers = 65536,
                                      .shared = 64 << 10,
                                      .shared_of_block = 48 << 10};

// Every tile has a module, modules are full or the last of a class, and all of
// a block fits a multiprocessor.
static void check(const struct cuda_layout *l, const struct cuda_room *room)
{
    unsigned module = 0, first = 0;

    CHECK(l->modules <= room->multiprocessors);
    CHECK(l->module_bytes + HDX_BASE <= room->shared_of_block);
    for (unsigned c = 0; c < HDX_CLASSES; c++) {
        const struct cuda_tiles *t = &l->of[c];
        CHECK(t->first == first && t->module == module);
        CHECK(t->blocks * t->per_block >= t->count);
        CHECK(t->count == 0 || (t->blocks - 1) * t->per_block < t->count);
        CHECK(t->per_block <= HDX_TILES && t->per_block > 0);
        CHECK(t->per_block * l->threads <= 1024);
        CHECK((unsigned)t->registers * t->per_block * l->threads <=
              room->registers);
        for (unsigned i = 0; i < t->count; i++) {
            CHECK(l->class_of[first + i] == c);
            CHECK(l->module_of[first + i] == module + i / t->per_block);
        }
        first += t->count;
        module += t->blocks;
    }
    CHECK(first == l->tiles && module == l->modules);
}

int main(void)
{
    static const unsigned threads[] = {32, 64, 96, 128, 256, 512, 1024};
    struct cuda_layout l;

    for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++)
        for (unsigned tiles = 1; tiles <= CUDA_MAX_UNITS; tiles++) {
            if (cuda_layout_make(&l, &h100, tiles, threads[i]))
                check(&l, &h100);
            else
                CHECK(tiles * threads[i] > 65536);
            if (cuda_layout_make(&l, &tiny, tiles, threads[i]))
                check(&l, &tiny);
            else
                CHECK(tiles > 4);
        }
    // One that runs everything.
    CHECK(cuda_layout_make(&l, &h100, 1, 128) && l.of[HDX_FAT].count == 1);
    // Each on its own, on half of the multiprocessors.
    CHECK(cuda_layout_make(&l, &h100, 60, 128) && l.modules == 60);
    CHECK(l.of[HDX_LEAN].count == 40 && l.module_bytes == 114 << 10);
    CHECK(cuda_layout_make(&l, &h100, 256, 128) && l.modules <= 66);
    // 8 lean and 4 fat ones to a multiprocessor.
    CHECK(cuda_layout_make(&l, &tiny, 12, 128) && l.modules == 2);
    CHECK(l.of[HDX_LEAN].per_block == 8 && l.of[HDX_FAT].per_block == 4);
    CHECK(l.of[HDX_LEAN].registers == CUDA_LEAN_REGISTERS);
    CHECK(l.of[HDX_FAT].registers == CUDA_FAT_REGISTERS);
    CHECK(cuda_layout_make(&l, &tiny, 24, 128) && l.modules == 4);
    CHECK(!cuda_layout_make(&l, &tiny, 25, 128));
    // A block has no more registers for so many threads.
    CHECK(cuda_layout_make(&l, &tiny, 4, 1024) &&
          l.of[HDX_FAT].registers == 64);
    return 0;
}
