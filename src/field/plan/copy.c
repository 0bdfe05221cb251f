#include "field/plan/copy.h"

#include <stdlib.h>
#include <string.h>

#include "field/plan/nontemporal.h"
#include "field/plan/transpose.h"

enum {
    STREAMED = 16 << 20 // a move of more is not found in a core's caches when
                        // it has ended [bytes]
};

// What a copy recurses with: axes in the order of its loops, the fastest last.
struct loops {
    const struct hdi_copy *copy;
    unsigned order[HD_MAX_RANK];
    bool transposes; // the last two loops are a plane whose sides differ
};

// Steps in elements. Past the caches only where both sides are contiguous: else
// lines would be written in parts, which costs more than fetching them.
static void copy_line(char *to, int64_t to_step, const char *from,
                      int64_t from_step, int64_t count, size_t element,
                      bool nontemporal)
{
    if (to_step == 1 && from_step == 1) {
        if (nontemporal)
            hdi_nontemporal_copy(to, from, (size_t)count * element);
        else
            memcpy(to, from, (size_t)count * element);
        return;
    }

    int64_t to_bytes = to_step * (int64_t)element;
    int64_t from_bytes = from_step * (int64_t)element;

    // A size that the compiler knows makes a move of each element.
    switch (element) {
    case 4:
        for (int64_t i = 0; i < count; i++)
            memcpy(to + i * to_bytes, from + i * from_bytes, 4);
        break;
    case 8:
        for (int64_t i = 0; i < count; i++)
            memcpy(to + i * to_bytes, from + i * from_bytes, 8);
        break;
    default:
        for (int64_t i = 0; i < count; i++)
            memcpy(to + i * to_bytes, from + i * from_bytes, element);
    }
}

// Rows are contiguous in the source, columns in the target.
static void copy_plane(const struct loops *loops, unsigned level, char *to,
                       const char *from)
{
    const struct hdi_copy *copy = loops->copy;
    const struct hdi_copy_axis *rows = &copy->axis[loops->order[level]];
    const struct hdi_copy_axis *columns = &copy->axis[loops->order[level + 1]];
    int64_t size = (int64_t)copy->element;

    for (size_t r = 0; r < rows->count; r++)
        for (size_t c = 0; c < columns->count; c++) {
            const struct hdi_span *row = &rows->spans[r];
            const struct hdi_span *column = &columns->spans[c];

            hdi_transpose(
                to + (row->to * rows->to + column->to * columns->to) * size,
                rows->to,
                from +
                    (row->from * rows->place + column->from * columns->place) *
                        size,
                columns->from, row->length, column->length, copy->element);
        }
}

// From the outermost loop inwards; the last, or last two, are copied at once.
static void copy_axis(const struct loops *loops, unsigned level, char *to,
                      const char *from)
{
    const struct hdi_copy *copy = loops->copy;
    const struct hdi_copy_axis *axis = &copy->axis[loops->order[level]];
    int64_t size = (int64_t)copy->element;

    if (loops->transposes && level + 2 == copy->rank) {
        copy_plane(loops, level, to, from);
        return;
    }
    for (size_t s = 0; s < axis->count; s++) {
        const struct hdi_span *span = &axis->spans[s];
        char *line = to + span->to * axis->to * size;
        const char *source = from + span->from * axis->place * size;

        if (level + 1 == copy->rank) {
            copy_line(line, axis->to, source, axis->from, span->length,
                      copy->element, copy->nontemporal);
            continue;
        }
        for (int64_t i = 0; i < span->length; i++)
            copy_axis(loops, level + 1, line + i * axis->to * size,
                      source + i * axis->from * size);
    }
}

// What is contiguous decides how it is copied:
//
//     both contiguous along the last axis        lines by memcpy()
//     source along another, target the last      planes, transposed in tiles
//     neither                                    element by element
void hdi_copy_run(const struct hdi_copy *copy)
{
    struct loops loops = {.copy = copy};
    unsigned rank = copy->rank, along = rank;

    for (unsigned i = 0; i < rank; i++)
        if (copy->axis[i].from == 1)
            along = i;
    for (unsigned i = 0; i < rank; i++)
        loops.order[i] = i;

    // The source's contiguous axis becomes the last but one.
    if (along + 1 < rank && copy->axis[rank - 1].to == 1 &&
        copy->axis[rank - 1].from != 1) {
        loops.transposes = true;
        for (unsigned i = along; i + 2 < rank; i++)
            loops.order[i] = i + 1;
        loops.order[rank - 2] = along;
    }
    copy_axis(&loops, 0, copy->to, copy->from);
    if (copy->nontemporal)
        hdi_nontemporal_end();
}

// A part is whole along the last axes, as far as `most` goes, has some elements
// of one axis, and one of those before: an odometer, the last axis first.
bool hdi_move_next(const struct hdi_move *move, unsigned rank, int64_t most,
                   struct hdi_part_of_move *part)
{
    int64_t room = most > 1 ? most : 1, size[HD_MAX_RANK];
    unsigned i = rank;

    for (unsigned k = rank; k-- > 0;) {
        size[k] = move->extent[k] < room ? move->extent[k] : room;
        room /= size[k];
        if (room < 1)
            room = 1;
    }
    if (part->end[0] == 0) {
        for (unsigned k = 0; k < rank; k++) {
            part->begin[k] = 0;
            part->end[k] = size[k];
        }
        return true;
    }
    while (i-- > 0) {
        part->begin[i] = part->end[i];
        if (part->begin[i] < move->extent[i])
            break;
        part->begin[i] = 0;
        part->end[i] = size[i];
        if (i == 0)
            return false;
    }
    int64_t rest = move->extent[i] - part->begin[i];

    part->end[i] = part->begin[i] + (rest < size[i] ? rest : size[i]);
    return true;
}

int64_t hdi_part_size(const struct hdi_part_of_move *part, unsigned rank)
{
    int64_t size = 1;

    for (unsigned i = 0; i < rank; i++)
        size *= part->end[i] - part->begin[i];
    return size;
}

// The spans of elements `begin` to `end` - 1 of an axis; `dense` is where each
// begins among these.
struct clipped {
    struct hdi_span *spans;
    int64_t *dense;
    size_t count;
};

static bool clip(const struct hdi_span *spans, size_t count, int64_t step,
                 int64_t begin, int64_t end, struct clipped *clipped)
{
    int64_t before = 0;

    clipped->count = 0;
    clipped->spans = malloc((count + 1) * sizeof(*clipped->spans));
    clipped->dense = malloc((count + 1) * sizeof(*clipped->dense));
    if (!clipped->spans || !clipped->dense)
        return false;
    for (size_t s = 0; s < count && before < end; s++) {
        int64_t low = before > begin ? before : begin;
        int64_t high = before + spans[s].length;

        high = high < end ? high : end;
        if (low < high) {
            int64_t skipped = low - before;

            clipped->dense[clipped->count] = low - begin;
            clipped->spans[clipped->count++] =
                (struct hdi_span){spans[s].from + skipped * step,
                                  spans[s].to + skipped, high - low};
        }
        before += spans[s].length;
    }
    return true;
}

// `array` is the side that is not dense. Of it the spans' places are kept,
// those of the dense side are replaced by numbers inside the part. Everything
// is allocated first and freed in any case.
static bool copy_part(const struct hdi_move_plan *plan,
                      const struct hdi_move *move,
                      const struct hdi_part_of_move *part,
                      struct hdi_array array, bool packing,
                      struct hdi_copy *copy)
{
    struct clipped clipped[HD_MAX_RANK] = {{0}};
    int64_t dense = 1;
    bool done = true;

    for (unsigned i = copy->rank; i-- > 0 && done;) {
        int64_t step = plan->relation[i].step;

        done = clip(move->spans[i], move->count[i], step, part->begin[i],
                    part->end[i], &clipped[i]);
        for (size_t s = 0; done && s < clipped[i].count; s++)
            *(packing ? &clipped[i].spans[s].to : &clipped[i].spans[s].from) =
                clipped[i].dense[s];
        copy->axis[i] =
            packing ? (struct hdi_copy_axis){clipped[i].spans, clipped[i].count,
                                             array.step[i],
                                             array.step[i] * step, dense}
                    : (struct hdi_copy_axis){clipped[i].spans, clipped[i].count,
                                             dense, dense, array.step[i]};
        dense *= part->end[i] - part->begin[i];
    }
    if (done)
        hdi_copy_run(copy);
    for (unsigned i = 0; i < copy->rank; i++) {
        free(clipped[i].spans);
        free(clipped[i].dense);
    }
    return done;
}

bool hdi_move_pack(const struct hdi_move_plan *plan,
                   const struct hdi_move *move,
                   const struct hdi_part_of_move *part, size_t element,
                   const struct hdi_store *store, const void *memory,
                   void *buffer)
{
    struct hdi_array array = hdi_move_source(plan, move, store);
    struct hdi_copy copy = {.rank = plan->target->grid.rank,
                            .element = element,
                            .from = (const char *)memory +
                                    array.begin * (int64_t)element,
                            .to = buffer};

    return copy_part(plan, move, part, array, true, &copy);
}

bool hdi_move_unpack(const struct hdi_move_plan *plan,
                     const struct hdi_move *move,
                     const struct hdi_part_of_move *part, size_t element,
                     const struct hdi_store *store, const void *buffer,
                     void *memory)
{
    struct hdi_array array = hdi_move_target(plan, move, store);
    struct hdi_copy copy = {.rank = plan->target->grid.rank,
                            .element = element,
                            .from = buffer,
                            .to = (char *)memory +
                                  array.begin * (int64_t)element};

    return copy_part(plan, move, part, array, false, &copy);
}

void hdi_move_copy(const struct hdi_move_plan *plan,
                   const struct hdi_move *move, size_t element,
                   const struct hdi_store *from, const void *from_memory,
                   const struct hdi_store *to, void *to_memory)
{
    struct hdi_array source = hdi_move_source(plan, move, from);
    struct hdi_array target = hdi_move_target(plan, move, to);
    struct hdi_copy copy = {
        .rank = plan->target->grid.rank,
        .element = element,
        .nontemporal = (uint64_t)move->size > STREAMED / element,
        .from = (const char *)from_memory + source.begin * (int64_t)element,
        .to = (char *)to_memory + target.begin * (int64_t)element};

    for (unsigned i = 0; i < copy.rank; i++)
        copy.axis[i] = (struct hdi_copy_axis){
            move->spans[i], move->count[i], source.step[i],
            source.step[i] * plan->relation[i].step, target.step[i]};
    hdi_copy_run(&copy);
}
