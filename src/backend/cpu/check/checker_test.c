// The checker by itself: accesses as checked code would tell them.
#include "backend/cpu/check/checker.h"

#include <string.h>

#include "backend/backend.h"
#include "tests/check.h"

enum {
    ITEMS = 4
};

static _Alignas(64) char buffer[256], local[128];

static const struct hdi_check_arg args[] = {
    {.name = "out", .memory = buffer + 64, .size = 128},
    {.name = "n"},
    {.name = "scratch", .memory = (char *)64, .size = 32, .local = true},
};
static const struct hdi_check_launch launch = {
    .kernel = "k", .args = args, .arg_count = 3};

enum site {
    READ_ARG,
    WRITE_ARG,
    ATOMIC_ARG,
    READ_LOCAL,
    WRITE_LOCAL,
    READ_PRIVATE,
    WRITE_PRIVATE,
    COPY_PRIVATE,
    WRITE_NULL,
    READ_UNKNOWN,
    READ_SCRATCH,
    SITES
};

static struct hdi_site sites[SITES];

static void add_site(enum site index, uint32_t access, enum hdi_object object,
                     uint32_t number, const char *name)
{
    sites[index] = (struct hdi_site){
        "k.cl", name, 10 + index, index, access, (uint32_t)object, number, 0};
}

static void make_sites(void)
{
    add_site(READ_ARG, HDI_ACCESS_READ, HDI_OBJECT_ARG, 0, "out");
    add_site(WRITE_ARG, HDI_ACCESS_WRITE, HDI_OBJECT_ARG, 0, "out");
    add_site(ATOMIC_ARG, HDI_ACCESS_READ | HDI_ACCESS_WRITE | HDI_ACCESS_ATOMIC,
             HDI_OBJECT_ARG, 0, "out");
    add_site(READ_LOCAL, HDI_ACCESS_READ, HDI_OBJECT_LOCAL, 0, "tile");
    add_site(WRITE_LOCAL, HDI_ACCESS_WRITE, HDI_OBJECT_LOCAL, 0, "tile");
    add_site(READ_PRIVATE, HDI_ACCESS_READ, HDI_OBJECT_PRIVATE, 0, "a");
    add_site(WRITE_PRIVATE, HDI_ACCESS_WRITE, HDI_OBJECT_PRIVATE, 0, "a");
    add_site(COPY_PRIVATE, HDI_ACCESS_READ | HDI_ACCESS_COPY,
             HDI_OBJECT_PRIVATE, 0, "a");
    add_site(WRITE_NULL, HDI_ACCESS_WRITE, HDI_OBJECT_ARG, 1, "n");
    add_site(READ_UNKNOWN, HDI_ACCESS_READ, HDI_OBJECT_UNKNOWN, 0, "");
    add_site(READ_SCRATCH, HDI_ACCESS_READ, HDI_OBJECT_ARG, 2, "scratch");
}

static struct hdi_checker *checker;
static struct hdi_frame frame;
static struct hdi_item items[ITEMS];

// One group of ITEMS work-items, of which the first has global id 8.
static void begin_group(uint32_t group)
{
    for (uint32_t i = 0; i < ITEMS; i++) {
        items[i] = (struct hdi_item){
            .frame = &frame,
            .global_id = {8 + group * ITEMS + i},
            .local_id = {i},
            .group_id = {group},
            .local_size = {ITEMS, 1, 1},
        };
        frame.checks->start(&items[i]);
    }
}

static void begin(void)
{
    frame = (struct hdi_frame){.local = local,
                               .local_size = {ITEMS, 1, 1},
                               .local_bytes = sizeof(local)};
    CHECK(hdi_checker_begin(checker, &launch, &frame));
    begin_group(0);
}

static void *touch(unsigned item, void *address, uint64_t size, enum site site,
                   struct hdi_variable *variable)
{
    return frame.checks->touch(&items[item], address, size, &sites[site],
                               variable);
}

// How many mistakes, which are told with `part` in their text.
static unsigned end(const char *part)
{
    const char *text;
    unsigned count = hdi_checker_end(checker, &text);

    if (!strstr(text, part)) {
        fprintf(stderr, "wanted '%s' in '%s'\n", part, text);
        CHECK(false);
    }
    return count;
}

static void what_is_right_is_let_through(void)
{
    struct hdi_variable tile = {local, 64, NULL, 0, NULL};

    begin();
    for (unsigned i = 0; i < ITEMS; i++) {
        char *mine = buffer + 64 + 32 * i;
        CHECK(touch(i, mine, 32, WRITE_ARG, NULL) == mine);
        CHECK(touch(i, mine, 32, READ_ARG, NULL) == mine);
        CHECK(touch(i, local + 4 * i, 4, WRITE_LOCAL, &tile) == local + 4 * i);
    }
    for (unsigned i = 0; i < ITEMS; i++)
        frame.checks->pass(&items[i]);
    for (unsigned i = 0; i < ITEMS; i++)
        CHECK(touch(i, local, 16, READ_LOCAL, &tile) == local);
    CHECK(end("") == 0);
}

static void accesses_outside_are_led_away(void)
{
    begin();
    void *led = touch(1, buffer + 64 + 126, 4, WRITE_ARG, NULL);
    CHECK((char *)led < buffer || (char *)led >= buffer + sizeof(buffer));
    CHECK(touch(1, buffer + 60, 4, READ_ARG, NULL) != buffer + 60);
    CHECK(touch(2, buffer + 60, 4, READ_ARG, NULL) != buffer + 60);
    CHECK(touch(2, NULL, 4, WRITE_NULL, NULL) != NULL);
    CHECK(touch(2, local + 96, 1, READ_SCRATCH, NULL) != local + 96);
    CHECK(end("k.cl:11: kernel 'k': work-item (9, 0, 0) writes 4 bytes at byte "
              "126 of buffer 'out', which has 128 bytes\n") == 4);
    CHECK(end("reads 4 bytes 4 bytes before buffer 'out'") == 4);
    CHECK(end("through 'n', which is a null pointer") == 4);
    CHECK(end("at byte 32 of local memory 'scratch', which has 32") == 4);
}

static void a_copy_outside_does_not_happen(void)
{
    unsigned char written[8] = {0};
    char a[8];
    struct hdi_variable variable = {a, sizeof(a), written, 0, NULL};

    begin();
    frame.checks->declare(&items[0], &variable);
    CHECK(touch(0, a, 9, COPY_PRIVATE, &variable) == NULL);
    CHECK(end("9 bytes at byte 0 of variable 'a', which has 8") == 1);
}

static void values_are_missed(void)
{
    unsigned char written[8] = {0};
    char a[8];
    struct hdi_variable variable = {a, sizeof(a), written, 0, NULL};
    struct hdi_variable tile = {local, 64, NULL, 0, NULL};

    begin();
    frame.checks->declare(&items[0], &variable);
    touch(0, a, 4, WRITE_PRIVATE, &variable);
    touch(0, a, 4, READ_PRIVATE, &variable);
    touch(0, a, 8, COPY_PRIVATE, &variable);
    CHECK(end("") == 0);
    touch(0, a + 2, 4, READ_UNKNOWN, NULL);
    touch(0, local + 8, 4, READ_LOCAL, &tile);
    CHECK(end("reads private memory, which has no value yet") == 2);
    CHECK(end("reads variable 'tile', which has no value yet") == 2);

    // Local memory of the next group has none again.
    begin();
    touch(0, local, 4, WRITE_LOCAL, &tile);
    begin_group(1);
    touch(0, local, 4, READ_LOCAL, &tile);
    CHECK(end("work-item (12, 0, 0) reads variable 'tile'") == 1);
}

static void races_are_found(void)
{
    char *at = buffer + 64;

    begin();
    touch(0, at, 4, WRITE_ARG, NULL);
    touch(1, at + 4, 4, WRITE_ARG, NULL);
    CHECK(end("") == 0);
    touch(2, at + 3, 1, READ_ARG, NULL);
    CHECK(end("work-item (10, 0, 0) reads byte 3 of buffer 'out', which "
              "work-item (8, 0, 0) writes on line 11 with no barrier") == 1);
    touch(3, at + 8, 4, READ_ARG, NULL);
    touch(1, at + 8, 4, READ_ARG, NULL);
    touch(3, at + 8, 4, WRITE_ARG, NULL); // 3 has read it, but so has 1
    CHECK(end("work-item (11, 0, 0) writes byte 8 of buffer 'out', which "
              "work-item (9, 0, 0) reads on line 10") == 2);
}

static void barriers_and_groups_divide(void)
{
    char *at = buffer + 64;

    begin();
    touch(0, at, 4, WRITE_ARG, NULL);
    for (unsigned i = 0; i < ITEMS; i++)
        frame.checks->pass(&items[i]);
    touch(1, at, 4, WRITE_ARG, NULL);
    // Groups that follow each other here might run at the same time, which is
    // not looked for.
    begin_group(1);
    touch(2, at, 4, WRITE_ARG, NULL);
    CHECK(end("") == 0);
}

static void atomic_accesses_race_with_plain_ones_only(void)
{
    char *at = buffer + 64;

    begin();
    for (unsigned i = 0; i < ITEMS; i++)
        touch(i, at, 4, ATOMIC_ARG, NULL);
    CHECK(end("") == 0);
    touch(0, at, 4, READ_ARG, NULL);
    CHECK(end("reads byte 0 of buffer 'out'") == 1);
}

static void many_mistakes_are_counted(void)
{
    static struct hdi_site many[100];

    begin();
    for (unsigned i = 0; i < 100; i++) {
        many[i] = sites[READ_ARG];
        many[i].index = i;
        frame.checks->touch(&items[0], buffer, 4, &many[i], NULL);
    }
    CHECK(end("and more mistakes, at 68 accesses") == 32);
}

// When a launch runs again, pieces of what it may write are copied as they are
// touched, until there is no more memory; then nothing is found any more.
static void pieces_are_copied_when_they_are_touched(void)
{
    enum {
        PIECE = HDI_SEARCH_PIECE,
        SIZE = 3 * PIECE + 100
    };
    static char from[SIZE], to[SIZE];
    bool made[4] = {false};
    const struct hdi_fault fault = {.access = HDI_FAULT_WRITES,
                                    .has_address = true,
                                    .address = 1000 + SIZE};
    struct hdi_search_copy copies[] = {
        {0}, {.to = to, .from = from, .size = SIZE, .made = made}};
    struct hdi_search search = {.fault = &fault,
                                .were = &(uint64_t){1000},
                                .copies = copies,
                                .copy_count = 2,
                                .left = 2 * PIECE + 100};
    const struct hdi_check_arg arg = {
        .name = "out", .memory = to, .size = SIZE, .writable = true};
    const struct hdi_check_launch again = {
        .kernel = "k", .args = &arg, .arg_count = 1, .search = &search};

    memset(from, 1, SIZE);
    begin();
    CHECK(hdi_checker_begin(checker, &again, &frame));
    CHECK(touch(0, to + SIZE - 4, 4, READ_ARG, NULL) == to + SIZE - 4);
    CHECK(to[SIZE - 1] == 1 && to[3 * PIECE] == 1 && to[3 * PIECE - 1] == 0);
    to[SIZE - 1] = 2;
    touch(0, to + SIZE - 1, 1, WRITE_ARG, NULL);
    CHECK(to[SIZE - 1] == 2);
    touch(0, to + PIECE - 4, 8, READ_ARG, NULL);
    CHECK(to[0] == 1 && to[2 * PIECE - 1] == 1 && to[2 * PIECE] == 0);
    CHECK(!search.starved);
    touch(0, to + SIZE, 4, READ_ARG, NULL);
    CHECK(!search.found);
    touch(2, to + SIZE, 4, WRITE_ARG, NULL);
    CHECK(search.found && search.item[0] == 10);
    search.found = false;
    touch(0, to + 2 * PIECE, 4, READ_ARG, NULL);
    CHECK(search.starved && to[2 * PIECE] == 0);
    touch(2, to + SIZE, 4, WRITE_ARG, NULL);
    CHECK(!search.found);
    CHECK(end("") == 0);
}

int main(void)
{
    make_sites();
    checker = hdi_checker_create();
    CHECK(checker);
    what_is_right_is_let_through();
    accesses_outside_are_led_away();
    a_copy_outside_does_not_happen();
    values_are_missed();
    races_are_found();
    barriers_and_groups_divide();
    atomic_accesses_race_with_plain_ones_only();
    many_mistakes_are_counted();
    pieces_are_copied_when_they_are_touched();
    hdi_checker_destroy(checker);
    return 0;
}
