// By dissemination: in round k each process tells the one 2^k after it what it
// knows, so that all know of all after log2 of their number, and none of them
// is in the middle. Hensgen, Finkel, Manber, "Two algorithms for barrier
// synchronization", 1988.
#include "field/cluster/agreement.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"

// A longer text is cut off.
static void say(struct hdi_said *said, uint32_t process, hd_status status,
                const char *text)
{
    said->process = process;
    said->status = status;
    snprintf(said->text, sizeof(said->text), "%s", text);
}

// Whether an error goes before another: what one process says of itself before
// calls that differ, then the first process. So all come to the same.
static bool goes_before(const struct hdi_said *a, const struct hdi_said *b)
{
    if (b->status == HD_OK)
        return true;
    if (!a->disagree != !b->disagree)
        return !a->disagree;
    return a->process < b->process;
}

// Say in what two calls differ.
static enum hdi_disagree differ(const struct hdi_said *mine,
                                const struct hdi_said *other, char *text,
                                size_t size)
{
    if (strcmp(mine->call, other->call) != 0) {
        snprintf(text, size,
                 "process %" PRIu32 " calls %s, process %" PRIu32
                 " calls %s: all processes must make the same calls",
                 mine->process, mine->call, other->process, other->call);
        return HDI_OTHER_CALL;
    }
    if (mine->digest == other->digest)
        return HDI_AGREE;
    snprintf(text, size,
             "processes %" PRIu32 " and %" PRIu32
             " call %s with different arguments",
             mine->process, other->process, mine->call);
    return HDI_OTHER_ARGUMENTS;
}

// Take what another process says into account.
// Merging must not depend on the order in which things are heard, or processes
// would come to different outcomes: hence goes_before().
static void hear(struct hdi_said *mine, const struct hdi_said *other)
{
    char text[sizeof(mine->text)];

    if (other->status != HD_OK) {
        if (goes_before(other, mine)) {
            mine->disagree = other->disagree;
            say(mine, other->process, (hd_status)other->status, other->text);
        }
    } else if (mine->status == HD_OK) {
        mine->disagree = differ(mine, other, text, sizeof(text));
        if (mine->disagree)
            say(mine, other->process, HD_EINVAL, text);
    }
}

void hdi_agreement_begin(struct hdi_agreement *a, struct hd_cluster *cluster,
                         uint32_t tag, const char *call, uint64_t digest,
                         hd_status status, const struct hd_error *error)
{
    uint32_t me = cluster->net->node;

    *a = (struct hdi_agreement){.cluster = cluster,
                                .lane = &cluster->lanes[0],
                                .tag = tag,
                                .mine = {.digest = digest, .process = me},
                                .by = 1,
                                .own = status};
    snprintf(a->mine.call, sizeof(a->mine.call), "%s", call);
    if (status != HD_OK) {
        char text[sizeof(a->mine.text)];

        snprintf(text, sizeof(text), "process %" PRIu32 ": %.300s", me,
                 error ? error->text : hd_status_text(status));
        say(&a->mine, me, status, text);
    }
}

static uint32_t peer(const struct hdi_agreement *a, bool sends)
{
    uint32_t me = a->cluster->net->node, count = a->cluster->net->count;

    return (uint32_t)((me + (sends ? a->by : count - a->by)) % count);
}

uint32_t hdi_agreement_peer(const struct hdi_agreement *agreement)
{
    return peer(agreement, !agreement->received);
}

static bool is_over(const struct hdi_agreement *a)
{
    return a->by >= a->cluster->net->count;
}

// Send what is said to one process while another's comes.
static hd_status begin_round(struct hdi_agreement *a, struct hd_error *error)
{
    const struct hdi_transport *transport = a->cluster->transport;
    struct hdi_net *net = a->cluster->net;
    uint64_t size = a->mine.status == HD_OK ? offsetof(struct hdi_said, text)
                                            : sizeof(a->mine);
    bool sends = true;

    a->other = (struct hdi_said){0};
    hd_status status =
        transport->send(net, peer(a, true), a->tag, &a->mine, size, &a->sent);
    if (status == HD_OK) {
        sends = false;
        status = transport->receive(net, peer(a, false), a->tag, &a->other,
                                    sizeof(a->other), &a->received);
    }
    if (status == HD_OK)
        return HD_OK;
    hdi_agreement_abandon(a);
    return hdi_fail(error, status, "no message with process %" PRIu32 ": %s",
                    peer(a, sends), hd_status_text(status));
}

static void end_round(struct hdi_agreement *a)
{
    hear(&a->mine, &a->other);
    a->by *= 2;
}

// Everybody fails, with the same cause but for those who know more of their
// own.
static hd_status outcome(const struct hdi_agreement *a, struct hd_error *error)
{
    if (a->mine.status == HD_OK)
        return HD_OK;
    if (a->own != HD_OK)
        return a->own; // the text is there, and says what this process did
    return hdi_fail(error, (hd_status)a->mine.status, "%s", a->mine.text);
}

// Look for the end of one transfer; false: it has not come.
static bool ends(struct hdi_agreement *a, struct hdi_transfer **transfer,
                 hd_status *status)
{
    if (!*transfer)
        return true;
    if (!a->cluster->transport->test(a->cluster->net, *transfer, status, NULL))
        return false;
    *transfer = NULL;
    return true;
}

void hdi_agreement_abandon(struct hdi_agreement *a)
{
    hdi_cluster_abandon(a->cluster, &a->sent, NULL);
    hdi_cluster_abandon(a->cluster, &a->received, NULL);
}

// Receives first: it is the other's message that one waits for, and the own one
// mostly has left by then. May do several rounds at once.
bool hdi_agreement_step(struct hdi_agreement *a, bool *moved, hd_status *status,
                        struct hd_error *error)
{
    while (!is_over(a)) {
        *status = HD_OK;
        if (!a->sent && !a->received) {
            *status = begin_round(a, error);
            if (*status != HD_OK)
                return true;
        }
        uint32_t who = hdi_agreement_peer(a);
        if (!ends(a, &a->received, status) ||
            (*status == HD_OK && !ends(a, &a->sent, status)))
            return false;
        if (*status != HD_OK) {
            hdi_agreement_abandon(a);
            hdi_fail(error, *status,
                     "a message with process %" PRIu32 " failed: %s", who,
                     hd_status_text(*status));
            return true;
        }
        end_round(a);
        *moved = true;
    }
    *status = outcome(a, error);
    return true;
}

static hd_status await(struct hdi_agreement *a, struct hdi_transfer **transfer,
                       uint32_t who, struct hd_error *error)
{
    struct hdi_transfer *t = *transfer;

    *transfer = NULL;
    hd_status status = hdi_lane_wait(a->lane, t, who, error);
    if (status != HD_OK)
        hdi_agreement_abandon(a);
    if (status == HD_EPEER && hdi_lane_is_apart(a->lane, error))
        return HD_EINVAL;
    return status;
}

// As many rounds as the number of processes has binary digits, in each of which
// one waits for one message: what a barrier costs.
hd_status hdi_agreement_end(struct hdi_agreement *a, struct hd_error *error)
{
    for (; !is_over(a); end_round(a)) {
        HDI_TRY(begin_round(a, error));
        HDI_TRY(await(a, &a->received, peer(a, false), error));
        HDI_TRY(await(a, &a->sent, peer(a, true), error));
    }
    return outcome(a, error);
}

hd_status hdi_lane_agree(const struct hdi_lane *lane, const char *call,
                         uint64_t digest, hd_status status,
                         struct hd_error *error)
{
    struct hd_cluster *cluster = lane->cluster;
    struct hdi_agreement agreement;
    uint32_t tag = lane->number ? hdi_lane_tag(lane, HDI_TAG_AGREE)
                                : hdi_call_tag(cluster->calls++);

    hdi_agreement_begin(&agreement, cluster, tag, call, digest, status, error);
    agreement.lane = lane;
    status = hdi_agreement_end(&agreement, error);
    if (!lane->number)
        cluster->differ = agreement.mine.disagree;
    return status;
}

hd_status hdi_cluster_agree(struct hd_cluster *cluster, const char *call,
                            uint64_t digest, hd_status status,
                            struct hd_error *error)
{
    return hdi_lane_agree(&cluster->lanes[0], call, digest, status, error);
}
