#include "base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "tests/check.h"
#include "tests/folder.h"

static const char *folder;
static struct hd_error error;

static const char *path_in(const char *name)
{
    static char path[320];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static hd_status write_text(const char *name, const char *text)
{
    return hdi_write_file(path_in(name), text, strlen(text), &error);
}

static bool holds(const char *name, const char *text)
{
    struct hdi_text read = {0};
    bool same = hdi_read_file(path_in(name), 1000, &read, &error) == HD_OK &&
                read.size == strlen(text) &&
                memcmp(read.data, text, read.size) == 0;

    hdi_text_free(&read);
    return same;
}

static unsigned mode_of(const char *name)
{
    struct stat about;

    CHECK(lstat(path_in(name), &about) == 0);
    return about.st_mode;
}

static void a_file_is_made_and_replaced(void)
{
    umask(027);
    CHECK_OK(write_text("plain", "first"), error);
    CHECK(holds("plain", "first"));
    CHECK((mode_of("plain") & 0777) == 0640);
    CHECK(chmod(path_in("plain"), 0604) == 0);

    int before = open(path_in("plain"), O_RDONLY);
    char still[6] = "";
    CHECK_OK(write_text("plain", "second"), error);
    CHECK(holds("plain", "second"));
    CHECK((mode_of("plain") & 0777) == 0604);
    // Who had it open reads on.
    CHECK(read(before, still, 5) == 5 && strcmp(still, "first") == 0);
    close(before);
}

static void links_are_followed(void)
{
    CHECK_OK(write_text("place", "old"), error);
    CHECK(symlink("place", path_in("link")) == 0);
    CHECK_OK(write_text("link", "new"), error);
    CHECK(S_ISLNK(mode_of("link")) && holds("place", "new"));

    CHECK(symlink("later", path_in("dangling")) == 0);
    CHECK_OK(write_text("dangling", "made"), error);
    CHECK(S_ISLNK(mode_of("dangling")) && holds("later", "made"));
}

// Opens the pipe, whose path is in `data`, and puts there what comes.
static void *read_pipe(void *data)
{
    int file = open(data, O_RDONLY);
    ssize_t n = read(file, data, 15);

    close(file);
    return n == 5 ? data : NULL;
}

static void what_is_no_file_is_written_into(void)
{
    char text[340];
    void *read;
    pthread_t reader;

    CHECK(mkfifo(path_in("pipe"), 0600) == 0);
    snprintf(text, sizeof(text), "%s", path_in("pipe"));
    CHECK(pthread_create(&reader, NULL, read_pipe, text) == 0);
    CHECK_OK(write_text("pipe", "bytes"), error);
    CHECK(pthread_join(reader, &read) == 0 && read);
    CHECK(memcmp(text, "bytes", 5) == 0 && S_ISFIFO(mode_of("pipe")));

    // A device as /dev/full, which is not put at risk.
    if (mknod(path_in("full"), S_IFCHR | 0600, makedev(1, 7)) == 0) {
        CHECK_FAILS(write_text("full", "x"), HD_EIO, error, "full: No space");
        CHECK(S_ISCHR(mode_of("full")));
        CHECK(unlink(path_in("full")) == 0);
    }
}

static void failures_leave_nothing_behind(void)
{
    CHECK_FAILS(write_text("no/such/place", "x"), HD_EIO, error,
                "no/such/place: No such file");
    CHECK_FAILS(write_text("", "x"), HD_EIO, error, "directory");
    if (geteuid() != 0) {
        CHECK(chmod(path_in("plain"), 0400) == 0);
        CHECK_FAILS(write_text("plain", "x"), HD_EIO, error, "denied");
        CHECK(holds("plain", "second"));
    }

    DIR *all = opendir(folder);
    unsigned entries = 0;
    while (readdir(all))
        entries++;
    closedir(all);
    CHECK(entries == 2 + 6);
}

// Which only others than root cannot.
static void a_folder_that_cannot_be_read_is_synced_by_the_system(void)
{
    const uid_t other = 65534;

    CHECK(mkdir(path_in("locked"), 0700) == 0);
    CHECK_OK(write_text("locked/plain", "text"), error);
    CHECK(chmod(path_in("locked"), 0300) == 0);
    bool changed = geteuid() == 0 && chmod(folder, 0711) == 0 &&
                   chown(path_in("locked"), other, (gid_t)-1) == 0 &&
                   seteuid(other) == 0;
    CHECK_OK(hdi_sync_folder_of(path_in("locked/plain"), &error), error);
    CHECK_FAILS(hdi_sync_folder_of(path_in("none/plain"), &error), HD_EIO,
                error, "No such file");
    CHECK(!changed || seteuid(0) == 0);
    CHECK(chmod(path_in("locked"), 0700) == 0);
}

int main(void)
{
    char command[320];

    folder = make_folder();
    a_file_is_made_and_replaced();
    links_are_followed();
    what_is_no_file_is_written_into();
    failures_leave_nothing_behind();
    a_folder_that_cannot_be_read_is_synced_by_the_system();
    snprintf(command, sizeof(command), "rm -r %s", folder);
    return system(command) != 0;
}
