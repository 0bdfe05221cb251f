// Files appear whole or not at all.
#include "target.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "failure.h"
#include "tests/check.h"
#include "tests/folder.h"

static struct hd_error error;

static unsigned files(void)
{
    DIR *folder = opendir(".");
    unsigned count = 0;

    CHECK(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        count +=
            strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(folder);
    return count;
}

static void expect(const char *path, const char *wanted)
{
    char text[64] = "";
    FILE *file = fopen(path, "r");

    CHECK(file);
    CHECK(fread(text, 1, sizeof(text) - 1, file) == strlen(wanted));
    fclose(file);
    CHECK(strcmp(text, wanted) == 0);
}

static void put(const char *path, const char *text)
{
    struct target target;

    CHECK_OK(target_open(&target, path, &error), error);
    CHECK(fputs(text, target.file) >= 0);
    CHECK_OK(target_commit(&target, &error), error);
}

static void nothing_is_there_before_the_commit(void)
{
    struct target target;

    CHECK_OK(target_open(&target, "a", &error), error);
    fputs("text", target.file);
    fflush(target.file);
    CHECK(access("a", F_OK) != 0);
    CHECK_OK(target_commit(&target, &error), error);
    expect("a", "text");
    CHECK(files() == 1);
    unlink("a");
}

static void a_discarded_file_leaves_what_was_there(void)
{
    struct target target;

    put("a", "old");
    CHECK_OK(target_open(&target, "a", &error), error);
    fputs("new", target.file);
    target_discard(&target);
    expect("a", "old");
    CHECK(files() == 1);
    unlink("a");
}

static void modes_are_those_of_any_other_new_file(void)
{
    struct stat status;

    umask(027);
    put("a", "1");
    CHECK(stat("a", &status) == 0 && (status.st_mode & 0777) == 0640);
    CHECK(chmod("a", 0600) == 0);
    put("a", "2");
    CHECK(stat("a", &status) == 0 && (status.st_mode & 0777) == 0600);
    unlink("a");
}

static void links_are_followed(void)
{
    struct stat status;

    put("a", "old");
    CHECK(symlink("a", "b") == 0);
    put("b", "new");
    expect("a", "new");
    CHECK(lstat("b", &status) == 0 && S_ISLNK(status.st_mode));
    unlink("a");
    unlink("b");
}

static hd_status write_much(void *data, FILE *file, struct hd_error *unused)
{
    static const char block[1 << 16];

    (void)unused;
    for (int i = 0; i < *(int *)data; i++)
        fwrite(block, 1, sizeof(block), file);
    return HD_OK;
}

static void a_full_device_is_named(void)
{
    int blocks = 0;

    if (access("/dev/full", W_OK) != 0)
        return;
    // Nothing written fails nowhere; a little fails when it is flushed, much
    // while it is written.
    CHECK_OK(target_write("/dev/full", write_much, &blocks, &error), error);
    for (blocks = 1; blocks <= 4; blocks += 3)
        CHECK_FAILS(target_write("/dev/full", write_much, &blocks, &error),
                    HD_EIO, error,
                    "cannot write /dev/full: No space left on device");
}

static hd_status give_up(void *data, FILE *file, struct hd_error *told)
{
    (void)data;
    fputs("half", file);
    return fail(told, HD_EFORMAT, "no more");
}

static void a_writer_that_gives_up_leaves_nothing(void)
{
    CHECK_FAILS(target_write("a", give_up, NULL, &error), HD_EFORMAT, error,
                "no more");
    CHECK(files() == 0);
}

static void places_that_cannot_be_are_refused_before(void)
{
    CHECK(mkdir("folder", 0700) == 0);
    CHECK_FAILS(target_check("folder", &error), HD_EIO, error,
                "cannot write folder: Is a directory");
    CHECK_FAILS(target_check("nothing/a", &error), HD_EIO, error,
                "cannot write nothing/a: No such file or directory");
    CHECK_FAILS(target_check("new/", &error), HD_EIO, error,
                "cannot write new/: Is a directory");
    CHECK_FAILS(target_check("", &error), HD_EIO, error, "cannot write");
    CHECK_OK(target_check("folder/a", &error), error);
    CHECK_OK(target_check("-", &error), error);
    if (geteuid() != 0) { // root may write everywhere
        CHECK(chmod("folder", 0500) == 0);
        CHECK_FAILS(target_check("folder/a", &error), HD_EIO, error,
                    "cannot write folder/a: Permission denied");
    }
    CHECK(rmdir("folder") == 0 && files() == 0);
}

int main(void)
{
    const char *folder = make_folder();

    CHECK(chdir(folder) == 0);
    nothing_is_there_before_the_commit();
    a_discarded_file_leaves_what_was_there();
    modes_are_those_of_any_other_new_file();
    links_are_followed();
    a_full_device_is_named();
    a_writer_that_gives_up_leaves_nothing();
    places_that_cannot_be_are_refused_before();
    CHECK(rmdir(folder) == 0);
    return 0;
}
