// The cache: what it knows, what it refuses, and what may happen to it.
#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/binary/cache.h"
#include "kernel/binary/container.h"
#include "tests/kernel/try_files.h"

enum {
    NOBODY = 65534 // a user without rights
};

// Long before any build begins: the cache trusts the times of such a file.
static void set_old(const char *path)
{
    struct timespec times[2] = {{1000000000, 0}, {1000000000, 0}};
    CHECK(utimensat(AT_FDCWD, path, times, 0) == 0);
}

// Each pair says: not from the cache the first time, from it the second.
static void the_cache_knows_what_matters(struct try *t)
{
    const struct hd_program_params params = {.path = "t.cl", .source = twice};
    struct hd_program_params other = params;

    use_cache(t, "cache");
    CHECK(!cached(t, params));
    CHECK(cached(t, params));
    other.options = "-D A=1";
    CHECK(!cached(t, other));
    CHECK(cached(t, other));
    // How much is done for a kernel is part of what was compiled.
    other.options = "-heddle-budget=30000";
    CHECK(!cached(t, other));
    CHECK(cached(t, other));
    other.options = "-heddle-budget=30001";
    CHECK(!cached(t, other));
    CHECK(cached(t, params));
    use_cache(t, "cache");
    CHECK(cached(t, params));

    // An included file is part of the source.
    char source[] = "#include \"n.h\"\n"
                    "kernel void twice(global int *x) {\n"
                    "    x[get_global_id(0)] *= N; }\n";
    char path[256];
    snprintf(path, sizeof(path), "%s", path_in("main.cl"));
    const struct hd_program_params including = {.path = path};
    write_file(path, source, sizeof(source) - 1);
    write_file(path_in("n.h"), "#define N 2\n", 12);
    set_old(path_in("n.h"));
    CHECK(!cached(t, including));
    CHECK(cached(t, including));
    write_file(path_in("n.h"), "#define N 1+1\n", 14);
    CHECK(!cached(t, including));
    // As young as this it may change while the compiler reads it.
    CHECK(!cached(t, including));
    set_old(path_in("n.h"));
    CHECK(!cached(t, including));
    CHECK(cached(t, including));
}

// Cut entries, another key, and a key that is no key: each time the program is
// compiled once and found after that.
static void a_damaged_cache_is_filled_again(struct try *t)
{
    const struct hd_program_params params = {.path = "d.cl", .source = twice};
    char command[600];

    use_cache(t, "damaged");
    CHECK(!cached(t, params));
    snprintf(command, sizeof(command),
             "cd %s && for f in *.hdb; do head -c 200 $f > x; mv x $f; done",
             path_in("damaged"));
    CHECK(system(command) == 0);
    CHECK(!cached(t, params));
    CHECK(cached(t, params));
    // Another key: entries of before are foreign.
    snprintf(command, sizeof(command), "head -c 32 /dev/zero > %s/key",
             path_in("damaged"));
    CHECK(system(command) == 0);
    use_cache(t, "damaged");
    CHECK(!cached(t, params));
    CHECK(cached(t, params));
    snprintf(command, sizeof(command), "printf short > %s/key",
             path_in("damaged"));
    CHECK(system(command) == 0);
    use_cache(t, "damaged");
    CHECK(!cached(t, params));
    CHECK(cached(t, params));
}

// The file of one program in the place of another's: its kernels do not run.
static void an_entry_belongs_to_its_key(struct try *t)
{
    const struct hd_program_params one = {.path = "one.cl", .source = twice},
                                   other = {.path = "other.cl",
                                            .source = "kernel void other() {}"};
    char command[600];
    struct hd_program *p;
    struct hd_error error;

    use_cache(t, "swapped");
    CHECK(!cached(t, one));
    CHECK(!cached(t, other));
    snprintf(command, sizeof(command),
             "cd %s && set -- *.hdb && [ $# -eq 2 ] && mv $1 x && mv $2 $1 && "
             "mv x $2",
             path_in("swapped"));
    CHECK(system(command) == 0);
    CHECK_OK(hdi_program_create(&t->context, &other, &p, &error), error);
    CHECK(hd_program_find(p, "other") && !hd_program_was_cached(p));
    hd_program_destroy(p);
    CHECK(!cached(t, one));
    CHECK(cached(t, one));
    CHECK(cached(t, other));
}

// Open to others, a link, no folder; and where the folder is if nobody names
// one.
static void an_unsafe_folder_is_refused(void)
{
    struct hd_error error;
    struct hdi_cache *cache;

    CHECK(mkdir(path_in("open"), 0755) == 0);
    CHECK_FAILS(hdi_cache_open(path_in("open"), &cache, &error), HD_EIO, error,
                "open to others");
    CHECK(mkdir(path_in("real"), 0700) == 0);
    CHECK(symlink(path_in("real"), path_in("link")) == 0);
    CHECK_FAILS(hdi_cache_open(path_in("link"), &cache, &error), HD_EIO, error,
                "link");
    write_file(path_in("file"), "", 0);
    CHECK_FAILS(hdi_cache_open(path_in("file"), &cache, &error), HD_EIO, error,
                "file");
    CHECK_OK(hdi_cache_open(path_in("deep/er/folder"), &cache, &error), error);
    hdi_cache_close(cache);
    struct stat about;
    CHECK(stat(path_in("deep/er/folder"), &about) == 0);
    CHECK((about.st_mode & 0777) == 0700);
    CHECK(stat(path_in("deep/er/folder/key"), &about) == 0);
    CHECK((about.st_mode & 0777) == 0600);

    CHECK(setenv("HEDDLE_CACHE", path_in("named"), 1) == 0);
    CHECK_OK(hdi_cache_open(NULL, &cache, &error), error);
    hdi_cache_close(cache);
    CHECK(access(path_in("named/key"), F_OK) == 0);
    unsetenv("HEDDLE_CACHE");
    CHECK(setenv("XDG_CACHE_HOME", path_in("xdg"), 1) == 0);
    CHECK_OK(hdi_cache_open(NULL, &cache, &error), error);
    hdi_cache_close(cache);
    CHECK(access(path_in("xdg/heddle/key"), F_OK) == 0);
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    CHECK_FAILS(hdi_cache_open(NULL, &cache, &error), HD_EIO, error, "HOME");
}

// What the killed one was writing is removed when it is old, by the next who
// keeps an entry.
static void processes_fill_one_cache(struct try *t)
{
    enum {
        PROCESSES = 6
    };
    const struct hd_program_params params = {.path = "p.cl", .source = twice};

    for (int i = 0; i < PROCESSES; i++) {
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            use_cache(t, "shared");
            cached(t, params);
            // The last one is shot in the middle of it.
            if (i == PROCESSES - 1) {
                write_file(path_in("shared/.new-left"), "x", 1);
                kill(getpid(), SIGKILL);
            }
            _exit(0);
        }
    }
    for (int i = 0, status; i < PROCESSES; i++) {
        CHECK(wait(&status) > 0);
        CHECK(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    }
    set_old(path_in("shared/.new-left"));
    use_cache(t, "shared");
    CHECK(cached(t, params));
    const struct hd_program_params other = {
        .path = "p.cl", .source = twice, .options = "-D X"};
    CHECK(!cached(t, other));
    CHECK(access(path_in("shared/.new-left"), F_OK) != 0);
}

// Files of the folder whose names begin like this.
static unsigned count_files(const char *name, const char *begin)
{
    char command[600];
    unsigned count = 0;

    snprintf(command, sizeof(command), "ls -A %s | grep -c '^%s'",
             path_in(name), begin);
    FILE *pipe = popen(command, "r");
    CHECK(pipe);
    CHECK(fscanf(pipe, "%u", &count) == 1);
    pclose(pipe);
    return count;
}

// Remove the entries, in this process: a child of it would outlive it.
static void forget_entries(const char *name)
{
    char path[600];

    snprintf(path, sizeof(path), "%s/*.hdb", path_in(name));
    glob_t found;
    if (glob(path, 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++)
        unlink(found.gl_pathv[i]);
    globfree(&found);
}

// Whatever a process was doing when it was killed, the others go on.
static void killed_processes_do_no_harm(struct try *t)
{
    enum {
        ROUNDS = 20
    };
    const struct hd_program_params params = {.path = "k.cl", .source = twice};

    use_cache(t, "killed");
    CHECK(!cached(t, params));
    for (int i = 0; i < ROUNDS; i++) {
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0)
            prctl(PR_SET_PDEATHSIG, SIGKILL); // should this test fail
        while (pid == 0) {
            // As after a change of the text: written again and again.
            forget_entries("killed");
            cached(t, params);
        }
        usleep((useconds_t)(20000 + i * 7000));
        CHECK(kill(pid, SIGKILL) == 0);
        CHECK(waitpid(pid, NULL, 0) == pid);
        cached(t, params);
        CHECK(cached(t, params));
    }
}

// Sparse files of 100 MiB each, older by a second from one to the next: with
// 400 MiB, two have to go. What devices made counts as entries do.
static void the_cache_is_bounded(struct try *t)
{
    const struct hd_program_params params = {.path = "b.cl", .source = twice};
    char name[64];

    use_cache(t, "bounded");
    for (int i = 0; i < 4; i++) {
        struct timespec times[2] = {{1000000000 + i, 0}, {1000000000 + i, 0}};
        snprintf(name, sizeof(name), "bounded/%d.%s", i,
                 i % 2 ? "made" : "hdb");
        write_file(path_in(name), "", 0);
        CHECK(truncate(path_in(name), 100 << 20) == 0);
        CHECK(utimensat(AT_FDCWD, path_in(name), times, 0) == 0);
    }
    CHECK(!cached(t, params));
    // The oldest went, the new one stayed.
    CHECK(access(path_in("bounded/0.hdb"), F_OK) != 0);
    CHECK(access(path_in("bounded/1.made"), F_OK) != 0);
    CHECK(access(path_in("bounded/3.made"), F_OK) == 0);
    CHECK(cached(t, params));
}

// Code for each processor is an entry of its own.
static void processors_are_kept_apart(struct try *t)
{
    struct hd_program_params params = {.source = twice};

    if (!t->device->can.features)
        return;
    use_cache(t, "processors");
    CHECK(!cached(t, params));
    params.cpus = "x86-64";
    CHECK(!cached(t, params));
    params.cpus = "x86-64,native";
    CHECK(cached(t, params));
    params.cpus = "native,x86-64-v2,x86-64";
    CHECK(!cached(t, params));
    CHECK(cached(t, params));
}

// What is kept without compiling it each time.
static struct hdi_build some_build(struct try *t)
{
    struct hd_program *p = try_build(t, twice, NULL);
    struct hdi_build made;
    struct hd_error error;

    CHECK_OK(hd_program_save(p, path_in("twice.hdb"), &error), error);
    hd_program_destroy(p);
    struct hdi_text text = read_file(path_in("twice.hdb"));
    CHECK_OK(hdi_container_read(text.data, text.size, NULL, NULL, "twice",
                                &made, NULL, &error),
             error);
    hdi_text_free(&text);
    return made;
}

// What is found is thrown away.
static bool is_found(struct hdi_cache *cache, const struct hdi_cache_key *key)
{
    struct hdi_build found;

    if (!hdi_cache_find(cache, key, &found))
        return false;
    hdi_build_clear(&found);
    return true;
}

static struct hdi_cache_key key_of(const char *text)
{
    return hdi_cache_key(&(struct hdi_bytes){text, strlen(text)}, 1);
}

// Keep it, or see that it is there as it was.
static bool is_made(const struct hdi_archive *archive, const char *name,
                    const char *made)
{
    struct hdi_text key = {0}, text = {0};

    hdi_text_print(&key, "%s", name);
    bool found = archive->find(archive->data, &key, &text);
    CHECK(!found || (text.size == strlen(made) + 1 &&
                     memcmp(text.data, made, text.size) == 0));
    if (!found)
        archive->keep(archive->data, &key, made, strlen(made) + 1);
    hdi_text_free(&key);
    hdi_text_free(&text);
    return found;
}

// Too large for the cache, and old.
static void write_large(const char *path)
{
    write_file(path, "", 0);
    CHECK(truncate(path, 300 << 20) == 0);
    set_old(path);
}

// A cache of thousands of files is not looked through for each that is added:
// only for the first, and after some MiB.
static void the_folder_is_looked_at_now_and_then(struct try *t)
{
    enum {
        SOME = 2 << 20
    };
    struct hdi_text block = {0}, key = {0};
    char large[256];

    use_cache(t, "seldom");
    const struct hdi_archive archive = hdi_cache_archive(t->context.cache);
    snprintf(large, sizeof(large), "%s", path_in("seldom/large.made"));
    while (block.size < SOME)
        hdi_text_append(&block, "sixteen letters.", 16);
    hdi_text_print(&key, "some");
    CHECK(!block.failed && !key.failed);

    write_large(large);
    CHECK(!is_made(&archive, "first", "looks"));
    CHECK(access(large, F_OK) != 0);
    write_large(large);
    CHECK(!is_made(&archive, "second", "does not"));
    archive.keep(archive.data, &key, block.data, block.size);
    CHECK(access(large, F_OK) == 0);
    archive.keep(archive.data, &key, block.data, block.size);
    CHECK(access(large, F_OK) != 0);
    hdi_text_free(&block);
    hdi_text_free(&key);
}

// Bound to its key, and bounded with all other entries.
static void what_devices_make_is_kept(struct try *t)
{
    char command[600];

    use_cache(t, "made");
    struct hdi_archive archive = hdi_cache_archive(t->context.cache);
    CHECK(!is_made(&archive, "one", "first") &&
          is_made(&archive, "one", "first"));
    CHECK(!is_made(&archive, "two", "other") &&
          is_made(&archive, "two", "other"));
    snprintf(command, sizeof(command),
             "cd %s && set -- *.made && [ $# -eq 2 ] && mv $1 x && mv $2 $1 && "
             "mv x $2",
             path_in("made"));
    CHECK(system(command) == 0);
    CHECK(!is_made(&archive, "one", "first") &&
          is_made(&archive, "one", "first"));
    write_large(path_in("made/large.made"));
    use_cache(t, "made");
    archive = hdi_cache_archive(t->context.cache);
    CHECK(!is_made(&archive, "three", "third"));
    CHECK(access(path_in("made/large.made"), F_OK) != 0);
    CHECK(is_made(&archive, "three", "third") &&
          is_made(&archive, "one", "first"));
}

// A limit on the size of files: writing fails in the middle, as on a full disk.
static void a_full_disk_leaves_nothing(struct try *t)
{
    struct hdi_build build = some_build(t);
    const struct hdi_cache_key key = key_of("full");
    struct timespec now;
    struct rlimit before;

    clock_gettime(CLOCK_REALTIME, &now);
    use_cache(t, "full");
    CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
    const struct rlimit small = {1000, before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
    hdi_cache_keep(t->context.cache, &key, &build, now);
    CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
    CHECK(!is_found(t->context.cache, &key));
    CHECK(count_files("full", "") == 1); // the key
    hdi_cache_keep(t->context.cache, &key, &build, now);
    CHECK(is_found(t->context.cache, &key));
    hdi_build_clear(&build);
}

// Root may write anywhere: somebody else has to try.
static void become_the_owner(const char *name)
{
    if (geteuid() != 0)
        return;
    CHECK(chown(path_in(name), NOBODY, (gid_t)-1) == 0);
    DIR *files = opendir(path_in(name));
    CHECK(files);
    for (const struct dirent *d; (d = readdir(files)) != NULL;)
        if (d->d_name[0] != '.')
            CHECK(fchownat(dirfd(files), d->d_name, NOBODY, (gid_t)-1, 0) == 0);
    closedir(files);
    CHECK(chmod(folder, 0711) == 0);
    CHECK(setresuid(NOBODY, NOBODY, NOBODY) == 0);
}

// Keeping fails without harm; what is there is used.
static void a_folder_that_cannot_be_written_is_read(struct try *t)
{
    struct hdi_build build = some_build(t);
    const struct hdi_cache_key key = key_of("kept"), other = key_of("other");
    struct timespec now;
    int status;

    clock_gettime(CLOCK_REALTIME, &now);
    use_cache(t, "readonly");
    hdi_cache_keep(t->context.cache, &key, &build, now);
    CHECK(chmod(path_in("readonly"), 0500) == 0);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        become_the_owner("readonly");
        use_cache(t, "readonly");
        CHECK(is_found(t->context.cache, &key));
        hdi_cache_keep(t->context.cache, &other, &build, now);
        CHECK(!is_found(t->context.cache, &other));
        _exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    hdi_build_clear(&build);
}

static void a_folder_of_somebody_else_is_refused(void)
{
    struct hd_error error;
    struct hdi_cache *cache;
    const char *path = "/";

    if (geteuid() == 0) {
        path = path_in("foreign");
        CHECK(mkdir(path, 0700) == 0);
        CHECK(chown(path, NOBODY, (gid_t)-1) == 0);
    }
    CHECK_FAILS(hdi_cache_open(path, &cache, &error), HD_EIO, error,
                "another user");
}

int main(void)
{
    struct try t = try_open();

    CHECK(mkdtemp(folder));
    processes_fill_one_cache(&t);
    the_cache_knows_what_matters(&t);
    processors_are_kept_apart(&t);
    a_damaged_cache_is_filled_again(&t);
    an_entry_belongs_to_its_key(&t);
    killed_processes_do_no_harm(&t);
    the_cache_is_bounded(&t);
    the_folder_is_looked_at_now_and_then(&t);
    what_devices_make_is_kept(&t);
    a_full_disk_leaves_nothing(&t);
    a_folder_that_cannot_be_written_is_read(&t);
    a_folder_of_somebody_else_is_refused();
    an_unsafe_folder_is_refused();
    hdi_cache_close(t.context.cache);
    t.context.cache = NULL;
    try_close(&t);
    remove_folder();
    return 0;
}
