#include "field/forall/agent.h"

#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/error.h"
#include "base/pause.h"
#include "field/memory/mirror.h"

// An agent's thread shares a core with a node: the naps leave it to the node,
// and are what an answer may be late.
enum {
    LOOKS = 64,  // without anything before a nap
    NAP = 10000, // [ns]
    SLACK = 1000 // by which the system may extend a nap [ns]
};

enum what {
    ASK_BLOCK,
    ASK_TASK,
    ASK_LIFE,    // any answer will do
    TELL_RESULT, // the data follows in a message of its own
    TELL_FAILURE,
    TELL_END // to oneself
};

// Of one size, so that any of them fits in the inbox; `box` in ordinals.
struct ask {
    uint32_t what;
    uint32_t from, to; // nodes
    uint32_t pad;
    uint64_t run;   // of whose tasks this is
    uint64_t field; // number
    uint64_t size;  // of a result that follows [bytes]
    uint64_t mean;  // what a task takes who asks for one [ns]; 0: not known
    struct hd_grid box;
};
_Static_assert(sizeof(struct ask) <= HDI_SMALL, "it lies on the stack");

// An answer on its way: it stays until its bytes have left.
struct reply {
    struct reply *next;
    struct hdi_transfer *transfer;
    uint64_t loot; // an answer to ASK_TASK
    void *data;
};

// One per run and process. Answering is done by its thread, or, without one, by
// whoever calls hdi_agent_serve(), one at a time; asking is done by nodes, and
// touches nothing of it that changes.
struct hdi_agent {
    struct hdi_run *run;
    struct hd_cluster *cluster;
    bool threaded, ended;
    pthread_t thread;
    struct hdi_transfer *receive;
    struct ask inbox;
    struct reply *replies; // under way
    struct reply refusal;  // without bytes, for when memory is short
    bool refusing;         // it is among them
};

static uint32_t tag_of(const struct hdi_agent *agent, uint32_t tag)
{
    return hdi_lane_tag(agent->run->lane, tag);
}

// Tags say who is answered: several nodes of a process may ask the same one,
// and an answer must not come to another.
static uint32_t reply_tag(const struct hdi_agent *agent, uint32_t node)
{
    return tag_of(agent, HDI_TAG_REPLY + node % agent->cluster->here);
}

static uint32_t result_tag(const struct hdi_agent *agent, uint32_t node)
{
    uint32_t here = agent->cluster->here;

    return tag_of(agent, HDI_TAG_REPLY + here + node % here);
}

static uint32_t life_tag(const struct hdi_agent *agent)
{
    return tag_of(agent, HDI_TAG_REPLY + 2 * agent->cluster->here);
}

static void fail(struct hdi_agent *agent, hd_status status, const char *text)
{
    hdi_run_fail(agent->run, status, text);
}

// Answering -------------------------------------------------------------------

static void free_reply(struct hdi_agent *agent, struct reply *reply)
{
    if (reply == &agent->refusal) {
        agent->refusing = false;
        return;
    }
    free(reply->data);
    free(reply);
}

// The reply is the agent's from here on.
static void send_reply(struct hdi_agent *agent, uint32_t node, uint32_t tag,
                       struct reply *reply, const void *data, uint64_t size)
{
    struct hd_cluster *c = agent->cluster;
    hd_status status =
        c->transport->send(c->net, hdi_cluster_process_of(c, node), tag, data,
                           size, &reply->transfer);

    if (status != HD_OK) {
        fail(agent, status, "an answer could not be sent");
        free_reply(agent, reply);
        return;
    }
    reply->next = agent->replies;
    agent->replies = reply;
}

static bool finish_replies(struct hdi_agent *agent)
{
    struct reply **link = &agent->replies;
    bool any = false;

    while (*link) {
        struct reply *reply = *link;
        hd_status status;

        if (!agent->cluster->transport->test(agent->cluster->net,
                                             reply->transfer, &status, NULL)) {
            link = &reply->next;
            continue;
        }
        *link = reply->next;
        free_reply(agent, reply);
        any = true;
    }
    return any;
}

// Those that a lost process has asked for never leave.
static void end_replies(struct hdi_agent *agent)
{
    struct hdi_patience patience = {0};

    while (agent->replies && (finish_replies(agent) ||
                              hdi_lane_bide(agent->run->lane, &patience)))
        ;
    for (struct reply *r = agent->replies, *next; r; r = next) {
        next = r->next;
        hdi_cluster_abandon(agent->cluster, &r->transfer, r->data);
        r->data = NULL;
        free_reply(agent, r);
    }
}

// Who asks is told that there is no answer.
// An empty message is an answer that every asker understands. There is one
// refusal, so it waits until the one before has left.
static void refuse(struct hdi_agent *agent, uint32_t node, uint32_t tag)
{
    fail(agent, HD_ENOMEM, "no memory to answer another process");
    while (agent->refusing)
        finish_replies(agent);
    agent->refusing = true;
    send_reply(agent, node, tag, &agent->refusal, &agent->refusal.loot, 0);
}

// Copied into a dense buffer first: a message is contiguous, a block mostly is
// not.
static void answer_block(struct hdi_agent *agent, const struct ask *ask)
{
    struct hd_field *field = hdi_cluster_field(agent->cluster, ask->field);
    struct hdi_window from, to;
    struct reply *reply = calloc(1, sizeof(*reply));
    uint64_t size =
        field ? (uint64_t)hd_grid_size(&ask->box) * field->element : 0;

    if (reply)
        reply->data = malloc(size ? size : 1);
    if (!reply || !reply->data || !field ||
        (hdi_mirror_of(field, ask->to) &&
         hdi_mirror_home(field, ask->to, &ask->box, NULL) != HD_OK) ||
        !hdi_window_of_segment(field, ask->box.offset, &from)) {
        if (reply)
            free(reply->data);
        free(reply);
        refuse(agent, ask->from, reply_tag(agent, ask->from));
        return;
    }
    hdi_window_lay(&ask->box, reply->data, &to);
    hdi_window_copy(&to, &from, &ask->box, field->element);
    send_reply(agent, ask->from, reply_tag(agent, ask->from), reply,
               reply->data, size);
}

// Tasks for another machine: when one is done there, its bytes moved, before
// it would be its turn here. Who is refused does not ask again: what is left
// here takes less and less time.
static uint64_t give_tasks(struct hdi_agent *agent, const struct ask *ask)
{
    struct hdi_node_slot *slot = hdi_run_slot(agent->run, ask->to);
    uint64_t moving = hdi_run_moving_time(agent->run, ask->to, true);

    if (hdi_node_time_left(slot) <= ask->mean + moving)
        return 0;
    return hdi_node_steal(slot, ask->to, ask->mean ? ask->mean + moving : 0);
}

static void answer_small(struct hdi_agent *agent, const struct ask *ask)
{
    struct reply *reply = calloc(1, sizeof(*reply));
    uint32_t tag =
        ask->what == ASK_LIFE ? life_tag(agent) : reply_tag(agent, ask->from);

    if (!reply) {
        refuse(agent, ask->from, tag);
        return;
    }
    if (ask->what == ASK_TASK)
        reply->loot = give_tasks(agent, ask);
    send_reply(agent, ask->from, tag, reply, &reply->loot, sizeof(reply->loot));
}

// The bytes are waited for: their sender sends them as soon as the question has
// left. Nobody else is answered meanwhile. What comes of a sender that is lost
// keeps its memory for good.
static void take_result(struct hdi_agent *agent, const struct ask *ask)
{
    struct hd_cluster *c = agent->cluster;
    struct hd_field *field = agent->run->output;
    struct hdi_window from, to;
    struct hdi_transfer *transfer;
    const struct hdi_lane alone = {.cluster = c,
                                   .number = agent->run->lane->number};
    uint32_t process = hdi_cluster_process_of(c, ask->from);
    void *data = malloc(ask->size);

    // Without memory it is received all the same: who sent it waits for that.
    hd_status status = c->transport->receive(
        c->net, process, result_tag(agent, ask->from), data ? data : agent,
        data ? ask->size : 0, &transfer);
    if (status == HD_OK)
        status = hdi_lane_wait(&alone, transfer, process, NULL);
    if (status == HD_OK && ask->run != agent->run->number) {
        free(data);
        return;
    }
    if (status != HD_OK ||
        !hdi_window_of_segment(field, ask->box.offset, &to)) {
        fail(agent, data ? status : HD_ENOMEM,
             data ? "a result of another process cannot be taken"
                  : "no memory for a result of another process");
    } else {
        hdi_window_lay(&ask->box, data, &from);
        if (!hdi_mirror_of(field, ask->to))
            hdi_window_copy(&to, &from, &ask->box, field->element);
        else if (hdi_mirror_put(field, ask->to, &ask->box, &from, NULL) !=
                 HD_OK)
            fail(agent, HD_EIO, "a result cannot be put on a device");
        atomic_fetch_add_explicit(&hdi_run_slot(agent->run, ask->to)->done, 1,
                                  memory_order_release);
    }
    if (status != HD_EPEER)
        free(data);
}

// One receive is always open while the agent lives, for any process.
static hd_status listen(struct hdi_agent *agent)
{
    return agent->cluster->transport->receive(
        agent->cluster->net, HDI_ANY_NODE, tag_of(agent, HDI_TAG_ASK),
        &agent->inbox, sizeof(agent->inbox), &agent->receive);
}

// Returns true when there was something to do. What a process told when a run
// had failed may come in a later run, where it means nothing. Without memory to
// listen it tries again: what comes meanwhile waits.
static bool serve(struct hdi_agent *agent)
{
    hd_status status;
    bool any = agent->replies && finish_replies(agent);

    if (agent->ended || (!agent->receive && listen(agent) != HD_OK) ||
        !agent->cluster->transport->test(agent->cluster->net, agent->receive,
                                         &status, NULL))
        return any;

    struct ask ask = agent->inbox;
    agent->receive = NULL;
    if (status != HD_OK) {
        fail(agent, status, "a message of another process was lost");
        agent->ended = true;
        return true;
    }
    if (ask.what == TELL_END) {
        agent->ended = true;
        return true;
    }
    listen(agent);
    switch (ask.what) {
    case ASK_BLOCK:
        answer_block(agent, &ask);
        break;
    case ASK_TASK:
    case ASK_LIFE:
        answer_small(agent, &ask);
        break;
    case TELL_RESULT:
        take_result(agent, &ask);
        break;
    default:
        if (ask.run == agent->run->number)
            hdi_run_stop(agent->run);
    }
    return true;
}

bool hdi_agent_serve(struct hdi_agent *agent)
{
    return agent && !agent->threaded && serve(agent);
}

// The system rounds naps of a thread up by its slack, 50 us unless it is made
// smaller.
static void *agent_main(void *data)
{
    struct hdi_agent *agent = data;

    prctl(PR_SET_TIMERSLACK, SLACK);
    for (unsigned looks = 0; !agent->ended; looks++) {
        if (serve(agent))
            looks = 0;
        else if (looks < LOOKS)
            hdi_pause();
        else
            nanosleep(&(struct timespec){.tv_nsec = NAP}, NULL);
    }
    return NULL;
}

hd_status hdi_agent_start(struct hdi_run *run, bool thread,
                          struct hdi_agent **agent, struct hd_error *error)
{
    struct hdi_agent *a = calloc(1, sizeof(*a));
    if (!a)
        return hdi_fail(error, HD_ENOMEM, "no memory for an agent");

    a->run = run;
    a->cluster = run->cluster;
    hd_status status = listen(a);
    if (status != HD_OK) {
        free(a);
        return hdi_fail(error, status, "messages cannot be received");
    }

    // Without a thread it is slower, not wrong.
    a->threaded = thread;
    *agent = a;
    if (thread && pthread_create(&a->thread, NULL, agent_main, a) != 0)
        a->threaded = false;
    return HD_OK;
}

// A message to oneself ends the receive that is open: a receive cannot be taken
// back.
void hdi_agent_stop(struct hdi_agent *agent)
{
    if (!agent)
        return;

    struct hd_cluster *c = agent->cluster;
    struct ask end = {.what = TELL_END};
    struct hdi_transfer *transfer;

    if (c->transport->send(c->net, c->net->node, tag_of(agent, HDI_TAG_ASK),
                           &end, sizeof(end), &transfer) == HD_OK) {
        while (!agent->threaded && !agent->ended)
            serve(agent);
        c->transport->wait(c->net, transfer, NULL);
    }
    if (agent->threaded)
        pthread_join(agent->thread, NULL);
    end_replies(agent);
    free(agent);
}

// Asking ----------------------------------------------------------------------

static hd_status wait_for(struct hdi_agent *agent,
                          struct hdi_transfer *transfer, uint32_t who,
                          struct hd_error *error)
{
    return hdi_lane_wait(agent->run->lane, transfer, who, error);
}

// Waits until the question has left, since it lies on the caller's stack.
static hd_status tell(struct hdi_agent *agent, uint32_t process,
                      const struct ask *ask, struct hd_error *error)
{
    struct hd_cluster *c = agent->cluster;
    struct hdi_transfer *transfer;
    hd_status status =
        c->transport->send(c->net, process, tag_of(agent, HDI_TAG_ASK), ask,
                           sizeof(*ask), &transfer);

    return status == HD_OK
               ? wait_for(agent, transfer, process, error)
               : hdi_fail(error, status, "process %u cannot be asked", process);
}

// Ask for an answer of `size` bytes.
// The receive is opened before the question leaves, so that the answer finds
// it.
static hd_status ask_for(struct hdi_agent *agent, const struct ask *ask,
                         void *answer, uint64_t size,
                         struct hdi_transfer **transfer, struct hd_error *error)
{
    struct hd_cluster *c = agent->cluster;
    uint32_t process = hdi_cluster_process_of(c, ask->to);
    hd_status status = c->transport->receive(
        c->net, process, reply_tag(agent, ask->from), answer, size, transfer);

    if (status != HD_OK)
        return hdi_fail(error, status, "no answer can be received");
    status = tell(agent, process, ask, error);
    if (status != HD_OK)
        hdi_cluster_abandon(c, transfer, NULL);
    return status;
}

hd_status hdi_agent_fetch(void *data, uint32_t node, struct hd_field *field,
                          uint32_t owner, const struct hd_grid *box,
                          void *buffer, struct hdi_transfer **transfer,
                          struct hd_error *error)
{
    struct hdi_agent *agent = data;
    struct ask ask = {.what = ASK_BLOCK,
                      .from = node,
                      .to = owner,
                      .field = field->number,
                      .box = *box};

    return ask_for(agent, &ask, buffer,
                   (uint64_t)hd_grid_size(box) * field->element, transfer,
                   error);
}

hd_status hdi_agent_await(void *data, uint32_t owner,
                          struct hdi_transfer *transfer, struct hd_error *error)
{
    struct hdi_agent *agent = data;
    uint32_t process = hdi_cluster_process_of(agent->cluster, owner);
    uint64_t size;

    HDI_TRY(
        hdi_lane_wait_size(agent->run->lane, transfer, process, &size, error));
    return size ? HD_OK
                : hdi_fail(error, HD_ENOMEM,
                           "process %u had no memory to answer", process);
}

hd_status hdi_agent_steal(struct hdi_agent *agent, uint32_t node,
                          uint32_t victim, uint64_t *loot,
                          struct hd_error *error)
{
    const struct hdi_node_slot *slot = hdi_run_slot(agent->run, node);
    struct ask ask = {
        .what = ASK_TASK,
        .from = node,
        .to = victim,
        .mean = atomic_load_explicit(&slot->mean, memory_order_relaxed)};
    struct hdi_transfer *transfer;

    HDI_TRY(ask_for(agent, &ask, loot, sizeof(*loot), &transfer, error));
    return hdi_agent_await(agent, victim, transfer, error);
}

// One tag for all who ask: two threads that ask at a time may get each other's
// answer, which says the same.
bool hdi_agent_lives(struct hdi_agent *agent, uint32_t process)
{
    struct hd_cluster *c = agent->cluster;
    struct ask ask = {.what = ASK_LIFE,
                      .from = hdi_cluster_first(c),
                      .to = process * c->here};
    const struct hdi_lane *lane = agent->run->lane;
    struct hdi_transfer *received, *sent = NULL;
    uint64_t answer;
    hd_status status = c->transport->receive(
        c->net, process, life_tag(agent), &answer, sizeof(answer), &received);

    if (status != HD_OK)
        return false;
    status = c->transport->send(c->net, process, tag_of(agent, HDI_TAG_ASK),
                                &ask, sizeof(ask), &sent);
    bool lives =
        status == HD_OK && hdi_lane_wait_limited(lane, received, &status, NULL);
    if (lives)
        received = NULL;
    hdi_cluster_abandon(c, &received, NULL);
    hdi_cluster_abandon(c, &sent, NULL);
    return lives && status == HD_OK;
}

// Two messages: the head is of one size, and says how many bytes follow.
hd_status hdi_agent_result(void *data, uint32_t node, uint32_t owner,
                           const struct hd_grid *box, const void *result,
                           struct hd_error *error)
{
    struct hdi_agent *agent = data;
    struct hd_cluster *c = agent->cluster;
    uint32_t process = hdi_cluster_process_of(c, owner);
    uint64_t size = (uint64_t)hd_grid_size(box) * agent->run->output->element;
    struct ask ask = {.what = TELL_RESULT,
                      .from = node,
                      .to = owner,
                      .run = agent->run->number,
                      .size = size,
                      .box = *box};
    struct hdi_transfer *transfer;

    HDI_TRY(tell(agent, process, &ask, error));
    hd_status status = c->transport->send(
        c->net, process, result_tag(agent, node), result, size, &transfer);
    return status == HD_OK
               ? wait_for(agent, transfer, process, error)
               : hdi_fail(error, status, "a result cannot be given back");
}

void hdi_agent_tell_failure(struct hdi_agent *agent)
{
    struct hd_error error;
    struct ask ask = {.what = TELL_FAILURE, .run = agent->run->number};

    for (uint32_t p = 0; p < agent->cluster->net->count; p++)
        if (p != agent->cluster->net->node)
            tell(agent, p, &ask, &error);
}
