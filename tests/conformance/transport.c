// What every transport must do, on one node: argv[1] names it. Skips when the
// program was not started with that network.
#include "transport/transport.h"

#include <pthread.h>

#include "tests/check.h"

static const struct hdi_transport *find(const char *name)
{
    size_t count;
    const struct hdi_transport *const *all = hdi_transports(&count);

    for (size_t i = 0; i < count; i++)
        if (strcmp(all[i]->name, name) == 0)
            return all[i];
    return NULL;
}

static void members_are_set(const struct hdi_transport *t)
{
    CHECK(t->close && t->send && t->receive);
    CHECK(t->test && t->wait && t->abandon && t->barrier);
    CHECK(t->share && t->unshare && t->reach);
}

static void messages_keep_their_order(const struct hdi_transport *t,
                                      struct hdi_net *net)
{
    enum {
        MESSAGES = 100
    };
    int sent[MESSAGES], got[MESSAGES];
    struct hdi_transfer *sends[MESSAGES], *receives[MESSAGES];

    // Half of the receives are there before the sends, half come after.
    for (int i = 0; i < MESSAGES / 2; i++)
        CHECK(t->receive(net, net->node, 7, &got[i], sizeof(int),
                         &receives[i]) == HD_OK);
    for (int i = 0; i < MESSAGES; i++) {
        sent[i] = i;
        CHECK(t->send(net, net->node, 7, &sent[i], sizeof(int), &sends[i]) ==
              HD_OK);
    }
    for (int i = MESSAGES / 2; i < MESSAGES; i++)
        CHECK(t->receive(net, HDI_ANY_NODE, 7, &got[i], sizeof(int),
                         &receives[i]) == HD_OK);
    for (int i = 0; i < MESSAGES; i++) {
        struct hdi_message message;
        CHECK(t->wait(net, receives[i], &message) == HD_OK);
        CHECK(message.size == sizeof(int) && message.node == net->node);
        CHECK(got[i] == i);
        CHECK(t->wait(net, sends[i], NULL) == HD_OK);
    }
}

static void tags_are_kept_apart(const struct hdi_transport *t,
                                struct hdi_net *net)
{
    int one = 1, two = 2, first = 0, second = 0;
    struct hdi_transfer *a, *b, *x, *y;
    hd_status status;
    const uint32_t last = HDI_MAX_TAG;

    CHECK(t->receive(net, net->node, last, &second, sizeof(int), &y) == HD_OK);
    CHECK(t->send(net, net->node, 1, &one, sizeof(int), &a) == HD_OK);
    CHECK(!t->test(net, y, &status, NULL));
    CHECK(t->receive(net, net->node, 1, &first, sizeof(int), &x) == HD_OK);
    CHECK(t->send(net, net->node, last, &two, sizeof(int), &b) == HD_OK);
    CHECK(t->wait(net, x, NULL) == HD_OK && first == 1);
    CHECK(t->wait(net, y, NULL) == HD_OK && second == 2);
    CHECK(t->wait(net, a, NULL) == HD_OK && t->wait(net, b, NULL) == HD_OK);
}

static void a_message_too_long_fails_its_receive(const struct hdi_transport *t,
                                                 struct hdi_net *net)
{
    char text[8] = "warp", room[4] = "";
    struct hdi_transfer *send, *receive;

    CHECK(t->send(net, net->node, 3, text, sizeof(text), &send) == HD_OK);
    CHECK(t->receive(net, net->node, 3, room, sizeof(room), &receive) == HD_OK);
    CHECK(t->wait(net, receive, NULL) == HD_ELIMIT);
    CHECK(t->wait(net, send, NULL) == HD_OK);
    CHECK(room[0] == '\0');
    CHECK(t->send(net, net->node, 3, NULL, 0, &send) == HD_OK);
    CHECK(t->receive(net, net->node, 3, room, 0, &receive) == HD_OK);
    CHECK(t->wait(net, receive, NULL) == HD_OK);
    CHECK(t->wait(net, send, NULL) == HD_OK);
}

// What comes for a receive that was given up is lost, and not written: what it
// was for may be gone. Those behind it get what is theirs.
static void what_is_abandoned_is_left_alone(const struct hdi_transport *t,
                                            struct hdi_net *net)
{
    enum {
        LARGE = 4 * HDI_SMALL
    };
    char small = 0, *large = malloc(LARGE), *other = malloc(LARGE);
    char text[LARGE] = "late", room[LARGE] = "";
    struct hdi_transfer *sends[3], *receive, *gone;

    CHECK(large && other);
    CHECK(t->receive(net, net->node, 5, &small, 1, &gone) == HD_OK);
    t->abandon(net, gone, NULL);
    CHECK(t->receive(net, HDI_ANY_NODE, 5, large, LARGE, &gone) == HD_OK);
    t->abandon(net, gone, large);
    CHECK(t->receive(net, net->node, 5, room, LARGE, &receive) == HD_OK);
    CHECK(t->send(net, net->node, 5, "x", 1, &sends[0]) == HD_OK);
    CHECK(t->send(net, net->node, 5, text, LARGE, &sends[1]) == HD_OK);
    CHECK(t->send(net, net->node, 5, text, LARGE, &sends[2]) == HD_OK);
    CHECK(t->wait(net, receive, NULL) == HD_OK);
    CHECK(strcmp(room, "late") == 0 && small == 0);
    for (unsigned i = 0; i < 3; i++)
        CHECK(t->wait(net, sends[i], NULL) == HD_OK);

    // A send, and receives that nothing comes for until the end.
    strcpy(other, "early");
    CHECK(t->send(net, net->node, 6, other, LARGE, &gone) == HD_OK);
    t->abandon(net, gone, other);
    CHECK(t->receive(net, net->node, 8, &small, 1, &gone) == HD_OK);
    t->abandon(net, gone, NULL);
    other = malloc(LARGE);
    CHECK(other);
    CHECK(t->receive(net, net->node, 8, other, LARGE, &gone) == HD_OK);
    t->abandon(net, gone, other);
}

static void strangers_are_refused(const struct hdi_transport *t,
                                  struct hdi_net *net)
{
    struct hdi_transfer *transfer;
    int data = 0;

    CHECK(t->send(net, net->count, 1, &data, 4, &transfer) == HD_EINVAL);
    CHECK(t->receive(net, net->count, 1, &data, 4, &transfer) == HD_EINVAL);
}

static void memory_is_shared(const struct hdi_transport *t, struct hdi_net *net)
{
    struct hdi_shared *shared, *none;
    enum {
        WORDS = 1000
    };

    CHECK(t->share(net, WORDS * sizeof(uint32_t), &shared) == HD_OK);
    CHECK(t->share(net, 0, &none) == HD_OK);
    uint32_t *mine = t->reach(shared, net->node);
    CHECK(mine && (uintptr_t)mine % 64 == 0);
    for (int i = 0; i < WORDS; i++)
        CHECK(mine[i] == 0);
    for (int i = 0; i < WORDS; i++)
        mine[i] = net->node + 1;
    CHECK(t->barrier(net) == HD_OK);
    for (uint32_t node = 0; node < net->count; node++) {
        const uint32_t *other = t->reach(shared, node);
        CHECK(!other || (other[0] == node + 1 && other[WORDS - 1] == node + 1));
    }
    CHECK(!t->reach(shared, net->count));
    CHECK(t->barrier(net) == HD_OK);
    t->unshare(net, none);
    t->unshare(net, shared);
}

struct sender {
    const struct hdi_transport *transport;
    struct hdi_net *net;
};

static void *send_from_thread(void *data)
{
    static const int value = 42;
    struct sender *s = data;
    struct hdi_transfer *send;

    CHECK(s->transport->send(s->net, s->net->node, 9, &value, sizeof(int),
                             &send) == HD_OK);
    CHECK(s->transport->wait(s->net, send, NULL) == HD_OK);
    return NULL;
}

static void threads_may_meet(const struct hdi_transport *t, struct hdi_net *net)
{
    struct sender sender = {t, net};
    struct hdi_transfer *receive;
    pthread_t thread;
    int value = 0;

    CHECK(pthread_create(&thread, NULL, send_from_thread, &sender) == 0);
    CHECK(t->receive(net, net->node, 9, &value, sizeof(int), &receive) ==
          HD_OK);
    CHECK(t->wait(net, receive, NULL) == HD_OK && value == 42);
    pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    const struct hdi_transport *t = find(argv[1]);
    CHECK(t && t->open && t->describe);

    struct hd_error error;
    struct hdi_net *net;
    hd_status status = t->open(&net, &error);
    if (status == HD_ENODEV)
        SKIP("the program was not started with this network");
    CHECK(status == HD_OK);
    CHECK(net->node < net->count);
    t = net->transport; // that of a module
    members_are_set(t);
    messages_keep_their_order(t, net);
    tags_are_kept_apart(t, net);
    a_message_too_long_fails_its_receive(t, net);
    what_is_abandoned_is_left_alone(t, net);
    strangers_are_refused(t, net);
    memory_is_shared(t, net);
    if (t->threads)
        threads_may_meet(t, net);
    CHECK(t->barrier(net) == HD_OK);
    t->close(net);
    return 0;
}
