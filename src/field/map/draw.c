// Drawing maps: text for terminals, SVG for documents.
#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/text.h"
#include "field/map/map.h"

// What still fits: a terminal's line, a document's width, a screen of text;
// more rectangles than that make an SVG that viewers take seconds for.
enum {
    MAX_WIDTH = 72,        // of a drawing [characters]
    MAX_SIDE = 720,        // of an image [pixels]
    MAX_ROWS = 64,         // of the table
    MAX_COUNTED = 1 << 24, // segments, for the table: a second
    MAX_RECTS = 65536
};

// The plane that is drawn: ordinals of the last two axes. A vector is one row.
struct plane {
    const struct hd_map *map;
    unsigned rank;
    int64_t rows, columns;
};

static struct plane plane_of(const struct hd_map *map)
{
    unsigned rank = map->grid.rank;

    return (struct plane){map, rank, rank > 1 ? map->box.extent[rank - 2] : 1,
                          map->box.extent[rank - 1]};
}

// All axes but the last two are at their first element. False where nobody owns
// the element.
static bool spot_of(const struct plane *plane, int64_t row, int64_t column,
                    struct hdi_spot *spot)
{
    const struct hd_map *map = plane->map;
    int64_t index[HD_MAX_RANK], ordinals[HD_MAX_RANK];

    for (unsigned i = 0; i < plane->rank; i++) {
        int64_t at = i + 1 == plane->rank   ? column
                     : i + 2 == plane->rank ? row
                                            : 0;

        index[i] = map->grid.offset[i] + at * map->stride[i];
    }
    return hdi_map_ordinals(map, index, ordinals) &&
           hdi_map_spot(map, ordinals, spot);
}

static char letter(uint32_t node)
{
    static const char letters[] =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

    return node < sizeof(letters) - 1 ? letters[node] : '#';
}

static void print_extents(struct hdi_text *text, const struct hd_map *map)
{
    for (unsigned i = 0; i < map->grid.rank; i++)
        hdi_text_print(text, "%s%" PRId64, i ? " x " : "", map->box.extent[i]);
}

static void print_table(struct hdi_text *text, const struct hd_map *map)
{
    int64_t all = 0, most = 0;

    if (map->count > MAX_COUNTED) {
        hdi_text_print(text, "\nso many segments are not counted by node\n");
        return;
    }
    hdi_text_print(text, "\nnode  elements\n");
    for (uint32_t n = 0; n < map->nodes; n++) {
        int64_t size = hd_map_size(map, n);

        all += size;
        most = size > most ? size : most;
        if (n < MAX_ROWS)
            hdi_text_print(text, "%4" PRIu32 "  %" PRId64 "\n", n, size);
    }
    if (map->nodes > MAX_ROWS)
        hdi_text_print(text, "and %" PRIu32 " more nodes\n",
                       map->nodes - MAX_ROWS);
    hdi_text_print(text, "the largest share is %.3f times the mean\n",
                   all ? (double)most * map->nodes / (double)all : 0.0);
}

// Frees the text in every case.
static hd_status write_text(struct hdi_text *text, FILE *file,
                            struct hd_error *error)
{
    hd_status status = HD_OK;

    if (text->failed)
        status = hdi_fail(error, HD_ENOMEM, "no memory to draw a map");
    else if (fwrite(text->data, 1, text->size, file) != text->size)
        status = hdi_fail(error, HD_EIO, "a map could not be written");
    hdi_text_free(text);
    return status;
}

// A large map is sampled, one element for each character: a narrow stripe may
// be missing in the drawing, the table below counts all.
hd_status hd_map_draw(const struct hd_map *map, FILE *file,
                      struct hd_error *error)
{
    struct plane plane = plane_of(map);
    struct hdi_text text = {0};
    int64_t longest = plane.rows > plane.columns ? plane.rows : plane.columns;
    int64_t step = (longest - 1) / MAX_WIDTH + 1; // elements per character

    print_extents(&text, map);
    hdi_text_print(&text,
                   " elements, %" PRIu64 " segments, %" PRIu32 " nodes\n\n",
                   map->count, map->nodes);
    for (int64_t row = 0; row < plane.rows; row += step) {
        for (int64_t column = 0; column < plane.columns; column += step) {
            struct hdi_spot spot;
            char c =
                spot_of(&plane, row, column, &spot) ? letter(spot.node) : '.';

            hdi_text_append(&text, &c, 1);
        }
        hdi_text_append(&text, "\n", 1);
    }
    if (step > 1)
        hdi_text_print(&text, "one character is %" PRId64 " elements\n", step);
    print_table(&text, map);
    return write_text(&text, file, error);
}

static void print_rect(struct hdi_text *text, double scale, int64_t row,
                       int64_t column, int64_t rows, int64_t columns,
                       uint32_t node)
{
    hdi_text_print(
        text,
        "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" "
        "fill=\"hsl(%u,60%%,70%%)\"><title>node %" PRIu32 "</title></rect>\n",
        (double)column * scale, (double)row * scale, (double)columns * scale,
        (double)rows * scale, (unsigned)((node * 137u) % 360u), node);
}

// Segment by segment, not element by element, however large they are; but
// elements that nobody owns are walked over one by one.
hd_status hd_map_draw_svg(const struct hd_map *map, FILE *file,
                          struct hd_error *error)
{
    struct plane plane = plane_of(map);
    struct hdi_text text = {0};
    int64_t longest = plane.rows > plane.columns ? plane.rows : plane.columns;
    double scale = (double)MAX_SIDE / (double)longest;
    double height = (double)plane.rows * scale;
    int64_t rects = 0;

    if (height < 24)
        height = 24;
    hdi_text_print(&text,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" "
                   "height=\"%.0f\" stroke=\"white\" stroke-width=\"0.5\">\n",
                   (double)plane.columns * scale, height);

    // Rows of the plane that begin segments; in them, segment after segment.
    for (int64_t row = 0; row < plane.rows && rects < MAX_RECTS;) {
        int64_t next_row = plane.rows;

        for (int64_t column = 0; column < plane.columns;) {
            struct hdi_spot spot;
            int64_t columns = 1, rows = 1;

            if (spot_of(&plane, row, column, &spot)) {
                const struct hd_grid *box = &spot.box;

                columns = box->offset[plane.rank - 1] +
                          box->extent[plane.rank - 1] - column;
                if (plane.rank > 1)
                    rows = box->offset[plane.rank - 2] +
                           box->extent[plane.rank - 2] - row;
                print_rect(&text, scale, row, column, rows, columns, spot.node);
                if (++rects == MAX_RECTS)
                    break;
            }
            if (row + rows < next_row)
                next_row = row + rows;
            column += columns;
        }
        row = next_row;
    }
    hdi_text_print(&text, "</svg>\n");
    if (rects == MAX_RECTS) {
        hdi_text_free(&text);
        return hdi_fail(error, HD_ELIMIT,
                        "the map has too many segments for an image");
    }
    return write_text(&text, file, error);
}
