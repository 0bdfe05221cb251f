// The application's own handlers of signals, before and behind those that find
// the faults of kernels.
#include "tests/launch/mend.h"
#include "tests/launch/stray.h"

static const char source[] = STRAY_KERNELS;

static struct sigaction before_mine;

static void pass(int number, siginfo_t *info, void *context)
{
    handled += 100;
    before_mine.sa_sigaction(number, info, context);
}

static void touch_own_page(void)
{
    page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    *(volatile char *)page = 1;
    CHECK(munmap(page, 4096) == 0);
}

static void the_applications_handlers_work(struct rig *rig)
{
    struct pair pair = make_pair(rig);
    struct sigaction mine = {.sa_sigaction = mend, .sa_flags = SA_SIGINFO};
    struct sigaction was;

    // Installed after ours.
    CHECK(launch(rig, &pair, "fine", 0) == HD_OK);
    CHECK(sigaction(SIGSEGV, &mine, &was) == 0);
    for (int i = 1; i < 4; i++) {
        handled = 0;
        touch_own_page();
        CHECK(handled == 1);
        CHECK_FAILS(launch(rig, &pair, "store", 16 * KIB), HD_EFAULT, error,
                    "past the end");
        CHECK(handled == 1);
    }
    // One that calls what was there before it.
    mine.sa_sigaction = pass;
    CHECK(sigaction(SIGSEGV, &mine, &before_mine) == 0);
    for (int i = 1; i < 4; i++) {
        handled = 0;
        touch_own_page();
        CHECK(handled == 101);
        CHECK_FAILS(launch(rig, &pair, "store", 16 * KIB), HD_EFAULT, error,
                    "past the end");
        CHECK(handled == 101);
    }
    CHECK(sigaction(SIGSEGV, &was, NULL) == 0);
    free_pair(&pair);
}

static void test(struct rig *rig, const struct kind *kind)
{
    (void)kind;
    the_applications_handlers_work(rig);
}

int main(void)
{
    if (HOLDS_SIGNALS)
        SKIP("ThreadSanitizer holds signals back until a kernel ends");
    on_every_kind(source, test);
    return 0;
}
