// Fields go to files and come back, to other layouts too; what is wrong with a
// file is found.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "heddle/agile.h"
#include "tests/check.h"

static struct hd_error error;
static struct hd_cluster *cluster;
static char path[256];

// What is asked of the disk, in order; one of it may fail. These functions take
// the place of the C library's.
static char asked[16];
static char failing;

static bool asks(char what)
{
    size_t length = strlen(asked);

    if (length + 1 < sizeof(asked))
        asked[length] = what;
    errno = EIO;
    return what != failing;
}

HD_API int fdatasync(int file)
{
    return asks('d') ? (int)syscall(SYS_fdatasync, file) : -1;
}

HD_API int rename(const char *from, const char *to)
{
    return asks('n') ? renameat(AT_FDCWD, from, AT_FDCWD, to) : -1;
}

HD_API int fsync(int file)
{
    return asks('f') ? (int)syscall(SYS_fsync, file) : -1;
}

static void number(void *data, const int64_t *index, void *value)
{
    uint32_t *to = value;

    (void)data;
    to[0] = (uint32_t)(index[0] * 1000 + index[1]);
    to[1] = to[0] * 7;
    to[2] = to[0] ^ 0xffff;
}

static struct hd_field *make(const char *words, bool empty)
{
    char text[128];
    struct hd_map *map;
    struct hd_field *field;
    struct hd_view view;

    snprintf(text, sizeof(text), words, hd_cluster_nodes(cluster));
    CHECK_OK(hd_map_parse(text, &map, &error), error);
    CHECK_OK(
        hd_view_function(hd_map_grid(map), 12, number, NULL, &view, &error),
        error);
    if (empty)
        CHECK_OK(hd_field_create(cluster, 12, map, &field, &error), error);
    else
        CHECK_OK(hd_agile(cluster, &view, map, &field, &error), error);
    hd_map_destroy(map);
    return field;
}

static const char *const layouts[] = {
    "31x17 tiles 8x17 block nodes %u", "31x17 tiles 5x3 cyclic nodes %u",
    "31x17 columns block nodes %u", "31x17 nodes 1"};

static void all_layouts_write_and_read_the_same(void)
{
    uint64_t first = 0, sum;

    for (unsigned i = 0; i < 4; i++) {
        struct hd_field *field = make(layouts[i], false);

        CHECK_OK(hd_field_save(field, path, "<u4", &sum, &error), error);
        CHECK(i == 0 || sum == first);
        first = sum;
        hd_field_destroy(field);
        for (unsigned k = 0; k < 4; k++) {
            struct hd_view view;

            field = make(layouts[k], true);
            CHECK_OK(hd_field_load(field, path, "<u4", &sum, &error), error);
            view = hd_view_field(field);
            for (int64_t n = 0; n < 31 * 17; n++) {
                int64_t index[] = {n / 17, n % 17};
                uint32_t is[3], should[3];

                if (!hd_cluster_has(cluster,
                                    hd_map_node(hd_field_map(field), index)))
                    continue;
                CHECK_OK(hd_view_read(&view, index, is, &error), error);
                number(NULL, index, should);
                CHECK(memcmp(is, should, sizeof(is)) == 0);
            }
            hd_field_destroy(field);
        }
    }

    // The file is NumPy's.
    char head[64];
    FILE *file = fopen(path, "rb");
    CHECK(file && fread(head, 1, sizeof(head), file) == sizeof(head));
    CHECK(memcmp(head, "\x93NUMPY\x01\x00\xf6\x00{'descr': '<u4'", 25) == 0);
    fseek(file, 0, SEEK_END);
    CHECK(ftell(file) == 256 + 31 * 17 * 12);
    fclose(file);
}

// One process changes the file when all are here.
static void change(long at, int to)
{
    CHECK_OK(hd_cluster_meet(cluster, &error), error);
    if (hd_cluster_process(cluster) == 0) {
        FILE *file = fopen(path, "r+b");
        CHECK(file);
        if (to < 0) {
            CHECK(ftruncate(fileno(file), at) == 0);
        } else {
            fseek(file, at, SEEK_SET);
            fputc(to, file);
        }
        CHECK(fclose(file) == 0);
    }
    CHECK_OK(hd_cluster_meet(cluster, &error), error);
}

static void wrong_files_are_refused(void)
{
    struct hd_field *field = make(layouts[1], false);
    struct hd_field *other = make("17x31 nodes 1", true);
    uint64_t sum;

    CHECK_OK(hd_field_save(field, path, "<u4", &sum, &error), error);
    CHECK_FAILS(hd_field_load(other, path, "<u4", &sum, &error), HD_EIO, error,
                "holds another array than the field");
    CHECK_FAILS(hd_field_load(field, path, "<i4", &sum, &error), HD_EIO, error,
                "holds another array than the field: {'descr': '<u4', "
                "'fortran_order': False, 'shape': (31, 17, 3, ), }, not "
                "{'descr': '<i4', 'fortran_order': False, 'shape': "
                "(31, 17, 3, ), }");
    CHECK(error.text[strlen(error.text) - 1] == '}');
    CHECK_FAILS(hd_field_load(field, path, "<u5", &sum, &error), HD_EINVAL,
                error, "cannot be kept as '<u5'");
    CHECK_FAILS(hd_field_save(field, path, NULL, &sum, &error), HD_EINVAL,
                error, "cannot be kept as ''");
    change(256 + 31 * 17 * 6, 99);
    CHECK_FAILS(hd_field_load(field, path, "<u4", &sum, &error), HD_EIO, error,
                "is damaged: its checksum is");
    CHECK_OK(hd_field_load(field, path, "<u4", NULL, &error), error);
    change(256 + 31 * 17 * 12 - 1, -1);
    CHECK_FAILS(hd_field_load(field, path, "<u4", &sum, &error), HD_EIO, error,
                "it was cut off");
    change(0, -1);
    CHECK_FAILS(hd_field_load(field, path, "<u4", &sum, &error), HD_EIO, error,
                "holds another array");
    CHECK_FAILS(hd_field_load(field, "no_such_folder/x", "<u4", &sum, &error),
                HD_ENOENT, error, "cannot open no_such_folder/x");
    CHECK_FAILS(hd_field_save(field, "no_such_folder/x", "<u4", &sum, &error),
                HD_ENOENT, error, "cannot create no_such_folder/x");
    hd_field_destroy(field);
    hd_field_destroy(other);
}

// As on a disk that is full, by the largest file that the system lets a process
// write.
static void a_file_stays_until_the_next_is_whole(void)
{
    struct hd_field *field = make(layouts[1], false);
    struct hd_field *other = make(layouts[2], true);
    struct rlimit limit, small;
    char part[sizeof(path) + 8];
    uint64_t sum, none;

    CHECK_OK(hd_field_save(field, path, "<u4", &sum, &error), error);
    CHECK(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    small = (struct rlimit){1000, limit.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
    CHECK_FAILS(hd_field_save(other, path, "<u4", &none, &error), HD_EIO, error,
                "cannot write");
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    snprintf(part, sizeof(part), "%s.part", path);
    CHECK_OK(hd_cluster_meet(cluster, &error), error);
    CHECK(access(part, F_OK) != 0);
    CHECK_OK(hd_field_load(other, path, "<u4", &sum, &error), error);
    hd_field_destroy(field);
    hd_field_destroy(other);
}

// What a crash has left is overwritten, and not read.
static void what_is_left_does_no_harm(void)
{
    struct hd_field *field = make(layouts[1], false);
    char part[sizeof(path) + 8];
    uint64_t sum;

    snprintf(part, sizeof(part), "%s.part", path);
    CHECK_OK(hd_field_save(field, path, "<u4", &sum, &error), error);
    if (hd_cluster_process(cluster) == 0) {
        FILE *file = fopen(part, "wb");

        CHECK(file);
        for (unsigned i = 0; i < 100000; i++)
            fputc('?', file);
        CHECK(fclose(file) == 0);
    }
    CHECK_OK(hd_field_load(field, path, "<u4", &sum, &error), error);
    CHECK_OK(hd_field_save(field, path, "<u4", &sum, &error), error);
    CHECK(access(part, F_OK) != 0);
    CHECK_OK(hd_field_load(field, path, "<u4", &sum, &error), error);
    hd_field_destroy(field);
}

// The data is on the disk before it takes its name, and then the name: else a
// crash may leave a file of zeros, or the older one after a save that was well.
static void a_file_outlives_a_crash(void)
{
    struct hd_field *field = make(layouts[1], false);
    bool first = hd_cluster_process(cluster) == 0;
    char part[sizeof(path) + 8];
    uint64_t sum, none;

    snprintf(part, sizeof(part), "%s.part", path);
    memset(asked, 0, sizeof(asked));
    CHECK_OK(hd_field_save(field, path, "<u4", &sum, &error), error);
    CHECK(strcmp(asked, first ? "dnf" : "d") == 0);
    for (const char *what = "dnf"; *what; what++) {
        failing = first ? *what : 0;
        CHECK(hd_field_save(field, path, "<u4", &none, &error) == HD_EIO);
        CHECK(strstr(error.text, strerror(EIO)));
        failing = 0;
        CHECK_OK(hd_cluster_meet(cluster, &error), error);
        CHECK(access(part, F_OK) != 0);
        CHECK_OK(hd_field_load(field, path, "<u4", &sum, &error), error);
    }
    hd_field_destroy(field);
}

// What has the name and cannot be replaced.
static void what_is_no_file_stays(void)
{
    struct hd_field *field = make(layouts[0], false);
    bool first = hd_cluster_process(cluster) == 0;
    char link[sizeof(path) + 8];
    struct stat state;
    uint64_t sum;

    snprintf(link, sizeof(link), "%s.link", path);
    CHECK(!first || symlink(path, link) == 0);
    CHECK_OK(hd_cluster_meet(cluster, &error), error);
    CHECK_OK(hd_field_save(field, link, "<u4", &sum, &error), error);
    CHECK(lstat(link, &state) == 0 && S_ISLNK(state.st_mode));
    CHECK_OK(hd_field_load(field, path, "<u4", &sum, &error), error);
    CHECK(!first || unlink(link) == 0);
    CHECK_FAILS(hd_field_save(field, ".", "<u4", &sum, &error), HD_EIO, error,
                "cannot create .: Is a directory");
    hd_field_destroy(field);
}

static void full_disks_are_told(void)
{
    struct hd_field *field;
    struct hd_map *map;
    uint64_t sum;

    if (access("/dev/full", W_OK) != 0)
        return;
    CHECK_OK(hd_map_parse("8 nodes 1", &map, &error), error);
    CHECK_OK(hd_field_create(cluster, 4, map, &field, &error), error);
    CHECK_FAILS(hd_field_save(field, "/dev/full", "<u4", &sum, &error), HD_EIO,
                error, "cannot write /dev/full: No space left");
    CHECK(access("/dev/full", W_OK) == 0); // nobody removes a device
    hd_field_destroy(field);
    hd_map_destroy(map);
}

int main(void)
{
    for (unsigned nodes = 1; nodes <= 3; nodes++) {
        struct hd_cluster_params params = {.nodes = nodes,
                                           .messages = nodes == 2};

        CHECK_OK(hd_cluster_join(&params, &cluster, &error), error);
        bool alone = hd_cluster_processes(cluster) == 1;
        // The folder is that of the test: the name is the same everywhere.
        snprintf(path, sizeof(path), "save_test_%u_%u.npy", nodes,
                 hd_cluster_processes(cluster));
        all_layouts_write_and_read_the_same();
        wrong_files_are_refused();
        a_file_stays_until_the_next_is_whole();
        what_is_left_does_no_harm();
        a_file_outlives_a_crash();
        what_is_no_file_stays();
        if (alone)
            full_disks_are_told();
        if (hd_cluster_process(cluster) == 0)
            unlink(path);
        hd_cluster_leave(cluster);
        if (!alone && nodes == 2)
            break;
    }
    return 0;
}
