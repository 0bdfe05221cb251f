// Edges after Canny (1986), in whole numbers: every processor gives the same.

enum mark {
    NONE,
    WEAK,
    STRONG
};

int at(global const uchar *picture, int x, int y)
{
    int w = get_global_size(0), h = get_global_size(1);

    return picture[clamp(y, 0, h - 1) * w + clamp(x, 0, w - 1)];
}

kernel void grey(global const uchar4 *from, global uchar *to)
{
    int i = get_global_id(1) * get_global_size(0) + get_global_id(0);
    uint4 c = convert_uint4(from[i]);

    to[i] = (77 * c.x + 150 * c.y + 29 * c.z) >> 8;
}

kernel void blur_rows(global const uchar *from, global uchar *to)
{
    int x = get_global_id(0), y = get_global_id(1);

    to[y * get_global_size(0) + x] =
        (at(from, x - 2, y) + 4 * at(from, x - 1, y) + 6 * at(from, x, y) +
         4 * at(from, x + 1, y) + at(from, x + 2, y) + 8) >> 4;
}

kernel void blur_columns(global const uchar *from, global uchar *to)
{
    int x = get_global_id(0), y = get_global_id(1);

    to[y * get_global_size(0) + x] =
        (at(from, x, y - 2) + 4 * at(from, x, y - 1) + 6 * at(from, x, y) +
         4 * at(from, x, y + 1) + at(from, x, y + 2) + 8) >> 4;
}

// How steep it is, and which way: 0 right, 1 right and down, 2 down, 3 left and
// down.
kernel void gradient(global const uchar *from, global short2 *to)
{
    int x = get_global_id(0), y = get_global_id(1);
    int right = at(from, x + 1, y - 1) + 2 * at(from, x + 1, y) +
                at(from, x + 1, y + 1) - at(from, x - 1, y - 1) -
                2 * at(from, x - 1, y) - at(from, x - 1, y + 1);
    int down = at(from, x - 1, y + 1) + 2 * at(from, x, y + 1) +
               at(from, x + 1, y + 1) - at(from, x - 1, y - 1) -
               2 * at(from, x, y - 1) - at(from, x + 1, y - 1);
    int across = abs(right), along = abs(down);
    int way = 5 * along < 2 * across     ? 0
              : 5 * across < 2 * along   ? 2
              : (right > 0) == (down > 0) ? 1
                                          : 3;

    to[y * get_global_size(0) + x] = (short2)(across + along, way);
}

// Only the steepest across an edge is on it.
kernel void thin(global const short2 *from, global uchar *to, int low, int high)
{
    int x = get_global_id(0), y = get_global_id(1);
    int w = get_global_size(0), h = get_global_size(1), i = y * w + x;
    int steep = from[i].x, way = from[i].y;
    int dx = way == 2 ? 0 : way == 3 ? -1 : 1, dy = way == 0 ? 0 : 1;
    bool has_next = x + dx >= 0 && x + dx < w && y + dy < h;
    bool has_last = x - dx >= 0 && x - dx < w && y - dy >= 0;
    int next = has_next ? from[i + dy * w + dx].x : 0;
    int last = has_last ? from[i - dy * w - dx].x : 0;
    bool top = steep > last && steep >= next;

    to[i] = !top || steep < low ? NONE : steep < high ? WEAK : STRONG;
}

// What is weak beside what is strong becomes strong.
kernel void grow(global const uchar *from, global uchar *to,
                 global uint *changed)
{
    int x = get_global_id(0), y = get_global_id(1);
    int i = y * get_global_size(0) + x;
    int mark = from[i];

    if (mark == WEAK) {
        int most = 0;
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++)
                most = max(most, at(from, x + dx, y + dy));
        if (most == STRONG) {
            mark = STRONG;
            atomic_inc(changed);
        }
    }
    to[i] = mark;
}

kernel void show(global const uchar *from, global uchar4 *to)
{
    int i = get_global_id(1) * get_global_size(0) + get_global_id(0);
    uchar c = from[i] == STRONG ? 255 : 0;

    to[i] = (uchar4)(c, c, c, 255);
}
