// Members that wait for each other: those that come early, late, never, or to
// another place.
#include "backend/meeting.h"

#include <pthread.h>
#include <time.h>

#include "tests/check.h"

enum {
    MEMBERS = 4,
    ROUNDS = 3000
};

struct party {
    struct hdi_meeting meeting;
    atomic_int stop;
    unsigned counts[MEMBERS]; // plain: ordered by the meeting alone
    void (*act)(struct party *party, const struct hdi_share *share);
};

struct guest {
    struct party *party;
    unsigned rank;
};

static void *come(void *data)
{
    struct guest *g = data;
    const struct hdi_share share = {
        .meeting = &g->party->meeting, .rank = g->rank, .members = MEMBERS};

    g->party->act(g->party, &share);
    return NULL;
}

static void invite(void (*act)(struct party *, const struct hdi_share *))
{
    struct party party = {.act = act};
    struct guest guests[MEMBERS];
    pthread_t threads[MEMBERS];

    for (unsigned i = 0; i < MEMBERS; i++) {
        guests[i] = (struct guest){&party, i};
        CHECK(pthread_create(&threads[i], NULL, come, &guests[i]) == 0);
    }
    for (unsigned i = 0; i < MEMBERS; i++)
        pthread_join(threads[i], NULL);
}

static void sleep_for(long ns)
{
    const struct timespec time = {.tv_nsec = ns};
    nanosleep(&time, NULL);
}

// Nobody is a round ahead; some come so late that the others sleep.
static void take_turns(struct party *party, const struct hdi_share *share)
{
    struct hdi_stand other;

    for (unsigned i = 1; i <= ROUNDS; i++) {
        const struct hdi_stand stand = {.line = i};
        if (i % 1000 == share->rank)
            sleep_for(1000000);
        party->counts[share->rank] = i;
        CHECK(hdi_meeting_come(share, &stand, &party->stop, &other) == HDI_MET);
        for (unsigned m = 0; m < MEMBERS; m++)
            CHECK(party->counts[m] == i);
        CHECK(hdi_meeting_come(share, &stand, &party->stop, &other) == HDI_MET);
    }
    const struct hdi_stand end = {.ended = true, .line = share->rank};
    CHECK(hdi_meeting_come(share, &end, &party->stop, &other) == HDI_MET);
}

// One is told, and tells the others.
static void go_apart(struct party *party, const struct hdi_share *share,
                     struct hdi_stand odd)
{
    struct hdi_stand other, stand = {.line = 7, .item = {share->rank}};

    CHECK(hdi_meeting_come(share, &stand, &party->stop, &other) == HDI_MET);
    if (share->rank == 2)
        stand = odd;
    switch (hdi_meeting_come(share, &stand, &party->stop, &other)) {
    case HDI_MET_APART:
        CHECK((stand.item[0] == 2) != (other.item[0] == 2));
        atomic_store(&party->stop, 1);
        break;
    case HDI_MET_STOPPED:
        CHECK(atomic_load(&party->stop) == 1);
        break;
    default:
        CHECK(!"all stand at one place");
    }
}

static void wait_elsewhere(struct party *party, const struct hdi_share *share)
{
    go_apart(party, share, (struct hdi_stand){.line = 8, .item = {2}});
}

static void end_early(struct party *party, const struct hdi_share *share)
{
    go_apart(party, share,
             (struct hdi_stand){.line = 7, .ended = true, .item = {2}});
}

static void stay_away(struct party *party, const struct hdi_share *share)
{
    const struct hdi_stand stand = {.line = 1};
    struct hdi_stand other;

    if (share->rank == 0) {
        sleep_for(3000000);
        atomic_store(&party->stop, 1);
    } else {
        CHECK(hdi_meeting_come(share, &stand, &party->stop, &other) ==
              HDI_MET_STOPPED);
    }
}

int main(void)
{
    invite(take_turns);
    invite(wait_elsewhere);
    invite(end_early);
    invite(stay_away);
    return 0;
}
