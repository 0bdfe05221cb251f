#include "field/cluster/cluster.h"

#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/pause.h"
#include "field/cluster/slot.h"
#include "launch/launcher.h"

static hd_status open_net(const char *name, struct hdi_net **net,
                          struct hd_error *error)
{
    const struct hdi_transport *const *all, *self = NULL;
    size_t count;

    all = hdi_transports(&count);
    for (size_t i = 0; i < count; i++) {
        if (name && strcmp(all[i]->name, name) == 0)
            return all[i]->open(net, error);
        if (strcmp(all[i]->name, "self") == 0) {
            self = all[i];
            continue;
        }
        if (name)
            continue;
        hd_status status = all[i]->open(net, error);
        if (status != HD_ENODEV)
            return status;
    }
    if (name || !self)
        return hdi_fail(error, HD_EINVAL, "there is no transport '%s'",
                        name ? name : "self");
    return self->open(net, error);
}

static void close_cluster(struct hd_cluster *cluster)
{
    if (cluster->net)
        cluster->transport->close(cluster->net);
    hdi_domains_free(&cluster->domains);
    free(cluster);
}

// The nodes of this process, and all.
static hd_status count_nodes(struct hd_cluster *c,
                             const struct hd_cluster_params *params,
                             struct hdi_launcher *launcher,
                             struct hd_error *error)
{
    hd_status status = HD_OK;
    char call[60];
    uint64_t digest = hdi_mix(params->parts != NULL, c->messages);

    c->here = params->nodes ? params->nodes : 1;
    if (params->parts && params->nodes)
        status = hdi_fail(error, HD_EINVAL,
                          "a cluster has %u nodes or those of '%s', not both",
                          params->nodes, params->parts);
    else if (params->parts)
        status = hdi_domains_make(params->parts, launcher, &c->domains, error);
    if (status == HD_OK && params->parts)
        c->here = c->domains.count;
    c->nodes = c->net->count * c->here;
    for (uint32_t n = 0; n < c->domains.count; n++)
        digest = hdi_mix(digest, c->domains.domain[n].launcher != NULL);
    snprintf(call, sizeof(call), "hd_cluster_join() with %" PRIu32 " nodes",
             c->here);
    return hdi_cluster_agree(c, call, digest, status, error);
}

hd_status hdi_cluster_join(const struct hd_cluster_params *params,
                           struct hdi_launcher *launcher,
                           struct hd_cluster **cluster, struct hd_error *error)
{
    struct hd_cluster *c = calloc(1, sizeof(*c));

    if (!c)
        return hdi_fail(error, HD_ENOMEM, "no memory for a cluster");
    c->timeout = params->timeout ? params->timeout : 60000000000u;
    c->messages = params->messages;
    c->sequential = params->sequential;
    c->piece = params->piece ? params->piece : 256 << 10;
    hd_status status = open_net(params->transport, &c->net, error);
    if (status != HD_OK) {
        free(c);
        return status;
    }
    c->transport = c->net->transport;
    status = count_nodes(c, params, launcher, error);
    if (status == HD_OK) {
        status = c->transport->share(
            c->net, c->here * sizeof(struct hdi_node_slot), &c->slots);
        if (status != HD_OK)
            hdi_fail(error, status, "no memory for a cluster");
    }
    if (status != HD_OK) {
        close_cluster(c);
        return status;
    }
    struct hdi_node_slot *slots = c->transport->reach(c->slots, c->net->node);
    atomic_store_explicit(&slots->process, getpid(), memory_order_relaxed);
    pthread_mutex_init(&c->lock, NULL);
    *cluster = c;
    return HD_OK;
}

static void free_route(struct hd_cluster *cluster, struct hdi_route *route)
{
    for (uint32_t n = 0; n < cluster->here; n++) {
        if (route->to)
            free(route->to[n].list);
        if (route->from)
            free(route->from[n].list);
    }
    free(route->to);
    free(route->from);
    hdi_plan_destroy(route->plan);
    *route = (struct hdi_route){0};
}

void hd_cluster_leave(struct hd_cluster *cluster)
{
    if (!cluster)
        return;
    for (unsigned i = 0; i < HDI_PLANS; i++)
        free_route(cluster, &cluster->routes[i]);
    pthread_mutex_destroy(&cluster->lock);
    cluster->transport->unshare(cluster->net, cluster->slots);
    close_cluster(cluster);
}

uint32_t hd_cluster_nodes(const struct hd_cluster *cluster)
{
    return cluster->nodes;
}

bool hd_cluster_has(const struct hd_cluster *cluster, uint32_t node)
{
    return node < cluster->nodes &&
           hdi_cluster_process_of(cluster, node) == cluster->net->node;
}

uint32_t hd_cluster_process(const struct hd_cluster *cluster)
{
    return cluster->net->node;
}

uint32_t hd_cluster_processes(const struct hd_cluster *cluster)
{
    return cluster->net->count;
}

hd_status hd_cluster_node(const struct hd_cluster *cluster, uint32_t node,
                          struct hd_node_info *info, struct hd_error *error)
{
    if (!hd_cluster_has(cluster, node))
        return hdi_fail(error, HD_EINVAL,
                        "node %" PRIu32 " is none of this process's", node);
    *info = (struct hd_node_info){0};
    if (!cluster->domains.domain)
        return HD_OK;
    const struct hdi_domain *domain =
        &cluster->domains.domain[node - hdi_cluster_first(cluster)];
    *info = (struct hd_node_info){.part = true,
                                  .domain = domain->numa,
                                  .workers = domain->workers,
                                  .worker = domain->worker};
    if (domain->launcher) {
        info->gpu = true;
        info->device = domain->launcher->number;
    }
    return HD_OK;
}

hd_status hd_cluster_meet(struct hd_cluster *cluster, struct hd_error *error)
{
    return hdi_cluster_agree(cluster, "hd_cluster_meet()", 0, HD_OK, error);
}

void hd_cluster_counters(const struct hd_cluster *cluster,
                         struct hd_cluster_counters *counters)
{
    *counters = cluster->counters;
}

void hd_cluster_reset_counters(struct hd_cluster *cluster)
{
    cluster->counters = (struct hd_cluster_counters){0};
    cluster->counters.scratch = cluster->scratch;
}

void *hdi_cluster_scratch(struct hd_cluster *cluster, uint64_t size)
{
    void *memory = malloc(size ? size : 1);

    if (memory) {
        cluster->scratch += size;
        if (cluster->scratch > cluster->counters.scratch)
            cluster->counters.scratch = cluster->scratch;
    }
    return memory;
}

void hdi_cluster_scratch_free(struct hd_cluster *cluster, void *memory,
                              uint64_t size)
{
    if (memory)
        cluster->scratch -= size;
    free(memory);
}

// Agreeing --------------------------------------------------------------------

bool hdi_cluster_wait_limited(struct hd_cluster *cluster,
                              struct hdi_transfer *transfer, hd_status *status,
                              struct hdi_message *message)
{
    uint64_t begin = 0;

    for (unsigned looks = 0;
         !cluster->transport->test(cluster->net, transfer, status, message);
         looks++) {
        if (cluster->idle)
            cluster->idle(cluster->idle_data);
        if (looks < 200) {
            hdi_pause();
            continue;
        }
        sched_yield();
        if (looks % 64)
            continue;
        uint64_t now = hdi_now();
        if (!begin)
            begin = now;
        else if (now - begin > cluster->timeout)
            return false;
    }
    return true;
}

hd_status hdi_cluster_wait_size(struct hd_cluster *cluster,
                                struct hdi_transfer *transfer, uint32_t who,
                                uint64_t *size, struct hd_error *error)
{
    struct hdi_message message = {0, 0};
    hd_status status;

    while (!hdi_cluster_wait_limited(cluster, transfer, &status, &message))
        if (!cluster->lives || !cluster->lives(cluster->lives_data, who))
            return hdi_fail(error, HD_EPEER,
                            "process %" PRIu32 " has not answered for %.3g s: "
                            "it has ended, or does something else",
                            who, (double)cluster->timeout / 1e9);
    if (status != HD_OK)
        return hdi_fail(error, status,
                        "a message of process %" PRIu32 " failed: %s", who,
                        hd_status_text(status));
    *size = message.size;
    return HD_OK;
}

hd_status hdi_cluster_wait(struct hd_cluster *cluster,
                           struct hdi_transfer *transfer, uint32_t who,
                           struct hd_error *error)
{
    uint64_t size;

    return hdi_cluster_wait_size(cluster, transfer, who, &size, error);
}

// What a process says, of itself and of those it has heard.
struct said {
    uint64_t digest;
    uint32_t process; // that it is about
    uint32_t status;
    uint32_t disagree; // the status is because calls differ
    char call[60];
    char text[400]; // of an error; else not sent
};

static void say(struct said *said, uint32_t process, hd_status status,
                const char *text)
{
    said->process = process;
    said->status = status;
    snprintf(said->text, sizeof(said->text), "%s", text);
}

// Whether an error goes before another: what one process says of itself before
// calls that differ, then the first process. So all come to the same.
static bool goes_before(const struct said *a, const struct said *b)
{
    if (b->status == HD_OK)
        return true;
    if (a->disagree != b->disagree)
        return !a->disagree;
    return a->process < b->process;
}

// Take what another process says into account.
static void hear(struct said *mine, const struct said *other)
{
    char text[sizeof(mine->text)];

    if (other->status != HD_OK) {
        if (goes_before(other, mine)) {
            mine->disagree = other->disagree;
            say(mine, other->process, (hd_status)other->status, other->text);
        }
    } else if (mine->status != HD_OK) {
        return;
    } else if (strcmp(mine->call, other->call) != 0) {
        snprintf(text, sizeof(text),
                 "process %" PRIu32 " calls %s, process %" PRIu32
                 " calls %s: all processes must make the same calls",
                 mine->process, mine->call, other->process, other->call);
        mine->disagree = true;
        say(mine, other->process, HD_EINVAL, text);
    } else if (mine->digest != other->digest) {
        snprintf(text, sizeof(text),
                 "processes %" PRIu32 " and %" PRIu32
                 " call %s with different arguments",
                 mine->process, other->process, mine->call);
        mine->disagree = true;
        say(mine, other->process, HD_EINVAL, text);
    }
}

// Send what is said to one process while another's comes.
static hd_status exchange(struct hd_cluster *cluster, uint32_t to,
                          uint32_t from, const struct said *mine,
                          struct said *other, struct hd_error *error)
{
    const struct hdi_transport *transport = cluster->transport;
    struct hdi_transfer *sent, *received;
    uint64_t size =
        mine->status == HD_OK ? offsetof(struct said, text) : sizeof(*mine);
    uint32_t who = to;

    *other = (struct said){0};
    hd_status status =
        transport->send(cluster->net, to, HDI_TAG_AGREE, mine, size, &sent);
    if (status == HD_OK) {
        who = from;
        status = transport->receive(cluster->net, from, HDI_TAG_AGREE, other,
                                    sizeof(*other), &received);
    }
    if (status != HD_OK)
        return hdi_fail(error, status,
                        "no message with process %" PRIu32 ": %s", who,
                        hd_status_text(status));
    HDI_TRY(hdi_cluster_wait(cluster, received, from, error));
    return hdi_cluster_wait(cluster, sent, to, error);
}

// By dissemination: in round k each process tells the one 2^k after it what it
// knows, so that all know of all after log2 of their number, and none of them
// is in the middle. Hensgen, Finkel, Manber, "Two algorithms for barrier
// synchronization", 1988.
hd_status hdi_cluster_agree(struct hd_cluster *cluster, const char *call,
                            uint64_t digest, hd_status status,
                            struct hd_error *error)
{
    uint32_t me = cluster->net->node, count = cluster->net->count;
    struct said mine = {.digest = digest, .process = me}, other;

    snprintf(mine.call, sizeof(mine.call), "%s", call);
    if (status != HD_OK) {
        char text[sizeof(mine.text)];

        snprintf(text, sizeof(text), "process %" PRIu32 ": %.300s", me,
                 error ? error->text : hd_status_text(status));
        say(&mine, me, status, text);
    }
    for (uint64_t by = 1; by < count; by *= 2) {
        HDI_TRY(exchange(cluster, (uint32_t)((me + by) % count),
                         (uint32_t)((me + count - by) % count), &mine, &other,
                         error));
        hear(&mine, &other);
    }
    if (mine.status == HD_OK)
        return HD_OK;
    if (status != HD_OK)
        return status; // the text is there, and says what this process did
    return hdi_fail(error, (hd_status)mine.status, "%s", mine.text);
}

uint64_t hdi_map_digest(const struct hd_map *map)
{
    uint64_t digest = hdi_mix(map->nodes, map->count);

    for (unsigned i = 0; i < map->grid.rank; i++) {
        digest = hdi_mix(digest, (uint64_t)map->grid.extent[i]);
        digest = hdi_mix(digest, (uint64_t)map->grid.offset[i]);
        digest = hdi_mix(digest, (uint64_t)map->stride[i]);
        digest = hdi_mix(digest, (uint64_t)map->memory[i]);
        digest = hdi_mix(digest, (uint64_t)map->axis[i].tiles);
        digest = hdi_mix(digest, (uint64_t)map->axis[i].classes);
    }
    for (uint32_t n = 0; map->label && n < map->nodes; n++)
        digest = hdi_mix(digest, map->label[n]);
    for (uint64_t i = 0; map->owner && i < map->count; i++)
        digest = hdi_mix(digest, map->owner[i]);
    return hdi_mix(digest, (uint64_t)map->kind);
}

// Routes ----------------------------------------------------------------------

static hd_status make_route(struct hd_cluster *cluster,
                            const struct hd_map *source,
                            const struct hd_map *target,
                            const struct hdi_affine *affine,
                            struct hdi_route *route, struct hd_error *error)
{
    uint32_t first = hdi_cluster_first(cluster);

    HDI_TRY(hdi_plan_create(source, target, affine, &route->plan, error));
    route->to = calloc(cluster->here, sizeof(*route->to));
    route->from = calloc(cluster->here, sizeof(*route->from));
    bool room = route->to && route->from;
    for (uint32_t n = 0; room && n < cluster->here; n++) {
        if (first + n < target->nodes)
            room = hdi_plan_to(route->plan, first + n, &route->to[n]);
        if (room && first + n < source->nodes)
            room = hdi_plan_from(route->plan, first + n, &route->from[n]);
    }
    return room ? HD_OK : hdi_fail(error, HD_ENOMEM, "no memory for a plan");
}

static bool is_route(const struct hdi_route *route, const struct hd_map *source,
                     const struct hd_map *target,
                     const struct hdi_affine *affine)
{
    if (!route->plan || !hd_map_equal(route->plan->source, source) ||
        !hd_map_equal(route->plan->target, target))
        return false;
    for (unsigned k = 0; k < source->grid.rank; k++)
        if (route->plan->indices.axis[k] != affine->axis[k] ||
            route->plan->indices.start[k] != affine->start[k] ||
            route->plan->indices.step[k] != affine->step[k])
            return false;
    return true;
}

hd_status hdi_cluster_route(struct hd_cluster *cluster,
                            const struct hd_map *source,
                            const struct hd_map *target,
                            const struct hdi_affine *affine,
                            const struct hdi_route **route,
                            struct hd_error *error)
{
    struct hdi_route *oldest = &cluster->routes[0], made = {0};

    for (unsigned i = 0; i < HDI_PLANS; i++) {
        struct hdi_route *r = &cluster->routes[i];

        if (is_route(r, source, target, affine)) {
            r->used = ++cluster->clock;
            *route = r;
            return HD_OK;
        }
        if (r->used < oldest->used)
            oldest = r;
    }
    hd_status status =
        make_route(cluster, source, target, affine, &made, error);
    if (status != HD_OK) {
        free_route(cluster, &made);
        return status;
    }
    free_route(cluster, oldest);
    *oldest = made;
    oldest->used = ++cluster->clock;
    cluster->counters.plans++;
    *route = oldest;
    return HD_OK;
}
