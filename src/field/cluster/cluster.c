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

#define TIMEOUT ((uint64_t)60000000000) // unless the user says another [ns]

// By name, or the first network that this program was started in; "self" is
// tried last, since it always works.
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

// In the reverse order of making; also of one that is half made.
static void close_cluster(struct hd_cluster *cluster)
{
    cluster->transport->close(cluster->net);
    hdi_domains_free(&cluster->domains);
    for (uint32_t n = 0; cluster->moving && n < cluster->here; n++)
        pthread_mutex_destroy(&cluster->moving[n]);
    free(cluster->moving);
    pthread_mutex_destroy(&cluster->lock);
    free(cluster);
}

// The nodes of this process, and all.
// The first collective act: processes may differ in what they were asked for,
// and what the parts of their machines are. From here on `here` and the places
// of devices are equal everywhere.
static hd_status count_nodes(struct hd_cluster *c,
                             const struct hd_cluster_params *params,
                             struct hdi_launcher *launcher,
                             struct hd_error *error)
{
    hd_status status = HD_OK;
    char call[60];
    uint64_t digest =
        hdi_mix(hdi_mix(params->parts != NULL, c->messages), c->piece);

    digest = hdi_mix(digest, c->sequential);

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
    if (status == HD_OK && c->net->count > HDI_MAX_NODES / c->here)
        status = hdi_fail(error, HD_ELIMIT,
                          "a cluster has at most %d nodes, not %" PRIu32
                          " for each of %" PRIu32 " processes",
                          HDI_MAX_NODES, c->here, c->net->count);
    if (status == HD_OK && c->here > HDI_MAX_HERE)
        status = hdi_fail(error, HD_ELIMIT,
                          "a process has at most %d nodes, not %" PRIu32,
                          HDI_MAX_HERE, c->here);
    if (status == HD_OK) {
        c->moving = calloc(c->here, sizeof(*c->moving));
        if (!c->moving)
            status = hdi_fail(error, HD_ENOMEM, "no memory for a cluster");
    }
    for (uint32_t n = 0; c->moving && n < c->here; n++)
        pthread_mutex_init(&c->moving[n], NULL);
    for (uint32_t n = 0; n < c->domains.count; n++)
        digest = hdi_mix(digest, c->domains.domain[n].launcher != NULL);
    snprintf(call, sizeof(call), "hd_cluster_join() with %" PRIu32 " nodes",
             c->here);
    return hdi_cluster_agree(c, call, digest, status, error);
}

// It fails on all, so then they can say who had none. Where nobody says so the
// network has failed.
hd_status hdi_cluster_share(struct hd_cluster *cluster, const char *call,
                            uint64_t size, struct hdi_shared **shared,
                            struct hd_error *error)
{
    hd_status status = cluster->transport->share(cluster->net, size, shared);

    if (status == HD_OK)
        return HD_OK;
    if (status == HD_ENOMEM)
        hdi_fail(error, status, "no memory for %llu bytes that processes share",
                 (unsigned long long)size);
    HDI_TRY(hdi_cluster_agree(cluster, call, 0,
                              status == HD_EPEER ? HD_OK : status, error));
    return hdi_fail(error, HD_EPEER,
                    "%s: processes cannot share %llu bytes: the network failed",
                    call, (unsigned long long)size);
}

// Without memory for a cluster: the others, who make theirs, are told.
static hd_status refuse(struct hdi_net *net, struct hd_error *error)
{
    struct hd_cluster none = {
        .transport = net->transport, .net = net, .timeout = TIMEOUT};
    hd_status status = hdi_fail(error, HD_ENOMEM, "no memory for a cluster");

    none.lanes[0].cluster = &none;
    status = hdi_cluster_agree(&none, "hd_cluster_join()", 0, status, error);
    net->transport->close(net);
    return status;
}

// Defaults: 60 s; with a shorter limit a process that only does something else
// for a while counts as lost, a longer one delays the error. 256 KiB: each
// message of a redistribution has a buffer of a piece, so larger ones need more
// memory, smaller ones more messages.
hd_status hdi_cluster_join(const struct hd_cluster_params *params,
                           struct hdi_launcher *launcher,
                           struct hd_cluster **cluster, struct hd_error *error)
{
    struct hdi_net *net;

    HDI_TRY(open_net(params->transport, &net, error));
    struct hd_cluster *c = calloc(1, sizeof(*c));
    if (!c)
        return refuse(net, error);
    c->net = net;
    c->transport = net->transport;
    pthread_mutex_init(&c->lock, NULL);
    c->timeout = params->timeout ? params->timeout : TIMEOUT;
    c->messages = params->messages;
    c->sequential = params->sequential;
    c->piece = params->piece ? params->piece : 256 << 10;
    for (uint32_t l = 0; l < HDI_LANES; l++)
        c->lanes[l] = (struct hdi_lane){.cluster = c, .number = l};
    hd_status status = count_nodes(c, params, launcher, error);
    if (status == HD_OK)
        status = hdi_cluster_share(c, "hd_cluster_join(): memory",
                                   HDI_LANES * c->here *
                                       sizeof(struct hdi_node_slot),
                                   &c->slots, error);
    if (status != HD_OK) {
        close_cluster(c);
        return status;
    }
    struct hdi_node_slot *slots = c->transport->reach(c->slots, c->net->node);
    // Relaxed: it is read only after an agreement, which orders more.
    atomic_store_explicit(&slots->process, getpid(), memory_order_relaxed);
    *cluster = c;
    return HD_OK;
}

static void free_route(struct hd_cluster *cluster, struct hdi_route *route)
{
    if (!route)
        return;
    for (uint32_t n = 0; n < cluster->here; n++) {
        if (route->to)
            free(route->to[n].list);
        if (route->from)
            free(route->from[n].list);
    }
    free(route->to);
    free(route->from);
    hdi_plan_destroy(route->plan);
    free(route);
}

// The threads first: they use routes and the network. The slots go while the
// network is still open.
void hd_cluster_leave(struct hd_cluster *cluster)
{
    if (!cluster)
        return;
    if (cluster->runner)
        cluster->stop_runner(cluster->runner);
    if (cluster->mover)
        cluster->stop_mover(cluster->mover);
    for (unsigned i = 0; i < HDI_PLANS; i++)
        free_route(cluster, cluster->routes[i]);
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

// Lanes need room for their tags below those of what is started.
bool hdi_cluster_has_lanes(const struct hd_cluster *cluster)
{
    return cluster->transport->threads && !cluster->sequential &&
           !cluster->domains.devices &&
           (uint64_t)HDI_LANES * (HDI_TAG_REPLY + 2 * cluster->here + 1) <
               HDI_TAG_STARTED;
}

// Counting --------------------------------------------------------------------

void hd_cluster_counters(const struct hd_cluster *cluster,
                         struct hd_cluster_counters *counters)
{
    pthread_mutex_t *lock = (pthread_mutex_t *)&cluster->lock;

    pthread_mutex_lock(lock);
    *counters = cluster->counters;
    pthread_mutex_unlock(lock);
}

// Scratch that is in use stays counted.
void hd_cluster_reset_counters(struct hd_cluster *cluster)
{
    pthread_mutex_lock(&cluster->lock);
    cluster->counters = (struct hd_cluster_counters){0};
    cluster->counters.scratch = cluster->scratch;
    pthread_mutex_unlock(&cluster->lock);
}

void hdi_cluster_count(struct hd_cluster *cluster,
                       const struct hd_cluster_counters *more)
{
    struct hd_cluster_counters *c = &cluster->counters;

    pthread_mutex_lock(&cluster->lock);
    c->moved += more->moved;
    c->received += more->received;
    c->messages += more->messages;
    c->blocks += more->blocks;
    c->plans += more->plans;
    c->steals += more->steals;
    c->asks += more->asks;
    pthread_mutex_unlock(&cluster->lock);
}

// `counters.scratch` is the most that was in use at a time.
void *hdi_cluster_scratch(struct hd_cluster *cluster, uint64_t size)
{
    void *memory = malloc(size ? size : 1);

    if (memory) {
        pthread_mutex_lock(&cluster->lock);
        cluster->scratch += size;
        if (cluster->scratch > cluster->counters.scratch)
            cluster->counters.scratch = cluster->scratch;
        pthread_mutex_unlock(&cluster->lock);
    }
    return memory;
}

void hdi_cluster_scratch_done(struct hd_cluster *cluster, const void *memory,
                              uint64_t size)
{
    if (!memory)
        return;
    pthread_mutex_lock(&cluster->lock);
    cluster->scratch -= size;
    pthread_mutex_unlock(&cluster->lock);
}

// Waiting ---------------------------------------------------------------------

void hdi_cluster_part(struct hd_cluster *cluster, const struct hd_error *why)
{
    pthread_mutex_lock(&cluster->lock);
    if (!cluster->apart[0])
        snprintf(cluster->apart, sizeof(cluster->apart), "%.399s", why->text);
    pthread_mutex_unlock(&cluster->lock);
}

// Lanes but the first do what all have agreed to do.
bool hdi_lane_is_apart(const struct hdi_lane *lane, struct hd_error *error)
{
    struct hd_cluster *c = lane->cluster;

    if (lane->number)
        return false;
    pthread_mutex_lock(&c->lock);
    bool apart = c->apart[0];
    if (apart)
        hdi_fail(error, HD_EINVAL, "%s", c->apart);
    pthread_mutex_unlock(&c->lock);
    return apart;
}

// First without giving the core away, for answers that are on their way; then
// the core goes to whoever may have to answer. The time is read at every 64th
// look only.
bool hdi_lane_bide(const struct hdi_lane *lane, struct hdi_patience *patience)
{
    if (lane->idle)
        lane->idle(lane->idle_data);
    if (patience->looks++ < 200) {
        hdi_pause();
        return true;
    }
    sched_yield();
    if (patience->looks % 64)
        return true;
    uint64_t now = hdi_now();
    if (!patience->begin)
        patience->begin = now;
    if (now - patience->begin <= lane->cluster->timeout &&
        !hdi_lane_is_apart(lane, NULL))
        return true;
    *patience = (struct hdi_patience){0};
    return false;
}

hd_status hdi_cluster_lost(const struct hd_cluster *cluster, uint32_t who,
                           struct hd_error *error)
{
    return hdi_fail(error, HD_EPEER,
                    "process %" PRIu32 " has not answered for %.3g s: it has "
                    "ended, or does something else",
                    who, (double)cluster->timeout / 1e9);
}

// A process that computes for long is not lost: `lives` asks the system, or its
// agent.
hd_status hdi_lane_give_up(const struct hdi_lane *lane, uint32_t who,
                           struct hd_error *error)
{
    if (hdi_lane_is_apart(lane, error))
        return HD_EINVAL;
    if (lane->lives && lane->lives(lane->lives_data, who))
        return HD_OK;
    return hdi_cluster_lost(lane->cluster, who, error);
}

void hdi_cluster_abandon(struct hd_cluster *cluster,
                         struct hdi_transfer **transfer, void *memory)
{
    if (*transfer)
        cluster->transport->abandon(cluster->net, *transfer, memory);
    else
        free(memory);
    *transfer = NULL;
}

bool hdi_lane_wait_limited(const struct hdi_lane *lane,
                           struct hdi_transfer *transfer, hd_status *status,
                           struct hdi_message *message)
{
    const struct hd_cluster *c = lane->cluster;
    struct hdi_patience patience = {0};

    while (!c->transport->test(c->net, transfer, status, message))
        if (!hdi_lane_bide(lane, &patience))
            return false;
    return true;
}

hd_status hdi_lane_wait_size(const struct hdi_lane *lane,
                             struct hdi_transfer *transfer, uint32_t who,
                             uint64_t *size, struct hd_error *error)
{
    struct hdi_message message = {0, 0};
    hd_status status;

    while (!hdi_lane_wait_limited(lane, transfer, &status, &message)) {
        if (hdi_lane_give_up(lane, who, error) == HD_OK)
            continue;
        hdi_cluster_abandon(lane->cluster, &transfer, NULL);
        if (error)
            error->status = HD_EPEER;
        return HD_EPEER;
    }
    if (status != HD_OK)
        return hdi_fail(error, status,
                        "a message of process %" PRIu32 " failed: %s", who,
                        hd_status_text(status));
    *size = message.size;
    return HD_OK;
}

hd_status hdi_lane_wait(const struct hdi_lane *lane,
                        struct hdi_transfer *transfer, uint32_t who,
                        struct hd_error *error)
{
    uint64_t size;

    return hdi_lane_wait_size(lane, transfer, who, &size, error);
}

// Routes ----------------------------------------------------------------------

// Without the lock: planning takes long, and routes of others go on.
static hd_status make_route(struct hd_cluster *cluster,
                            const struct hd_map *source,
                            const struct hd_map *target,
                            const struct hdi_affine *affine,
                            struct hdi_route **made, struct hd_error *error)
{
    uint32_t first = hdi_cluster_first(cluster);
    struct hdi_route *route = calloc(1, sizeof(*route));

    if (!route)
        return hdi_fail(error, HD_ENOMEM, "no memory for a plan");
    hd_status status =
        hdi_plan_create(source, target, affine, &route->plan, error);
    if (status != HD_OK) {
        free(route);
        return status;
    }
    route->to = calloc(cluster->here, sizeof(*route->to));
    route->from = calloc(cluster->here, sizeof(*route->from));
    bool room = route->to && route->from;
    for (uint32_t n = 0; room && n < cluster->here; n++) {
        if (first + n < target->nodes)
            room = hdi_plan_to(route->plan, first + n, &route->to[n]);
        if (room && first + n < source->nodes)
            room = hdi_plan_from(route->plan, first + n, &route->from[n]);
    }
    if (!room) {
        free_route(cluster, route);
        return hdi_fail(error, HD_ENOMEM, "no memory for a plan");
    }
    *made = route;
    return HD_OK;
}

static bool is_route(const struct hdi_route *route, const struct hd_map *source,
                     const struct hd_map *target,
                     const struct hdi_affine *affine)
{
    if (!route || !hd_map_equal(route->plan->source, source) ||
        !hd_map_equal(route->plan->target, target))
        return false;
    for (unsigned k = 0; k < source->grid.rank; k++)
        if (route->plan->indices.axis[k] != affine->axis[k] ||
            route->plan->indices.start[k] != affine->start[k] ||
            route->plan->indices.step[k] != affine->step[k])
            return false;
    return true;
}

// The one in the cache, or NULL. The one that was not used for longest, of
// those that nobody uses now, or no route at all, goes to `*oldest`: NULL when
// all are in use.
static struct hdi_route *find_route(struct hd_cluster *cluster,
                                    const struct hd_map *source,
                                    const struct hd_map *target,
                                    const struct hdi_affine *affine,
                                    struct hdi_route ***oldest)
{
    *oldest = NULL;
    for (unsigned i = 0; i < HDI_PLANS; i++) {
        struct hdi_route *r = cluster->routes[i];

        if (is_route(r, source, target, affine))
            return r;
        if (r && r->users > 0)
            continue;
        if (!*oldest || !r || (**oldest && r->used < (**oldest)->used))
            *oldest = &cluster->routes[i];
    }
    return NULL;
}

// Two threads may make the same route at a time: one of them is kept or both
// are, which costs memory and harms nothing.
hd_status hdi_cluster_route(struct hd_cluster *cluster,
                            const struct hd_map *source,
                            const struct hd_map *target,
                            const struct hdi_affine *affine,
                            struct hdi_route **route, struct hd_error *error)
{
    struct hdi_route **oldest, *made = NULL;

    pthread_mutex_lock(&cluster->lock);
    struct hdi_route *found =
        find_route(cluster, source, target, affine, &oldest);
    if (found) {
        found->users++;
        found->used = ++cluster->clock;
    }
    pthread_mutex_unlock(&cluster->lock);
    *route = found;
    if (found)
        return HD_OK;
    HDI_TRY(make_route(cluster, source, target, affine, &made, error));
    made->users = 1;
    pthread_mutex_lock(&cluster->lock);
    cluster->counters.plans++;
    made->used = ++cluster->clock;
    find_route(cluster, source, target, affine, &oldest);
    if (oldest) {
        free_route(cluster, *oldest);
        *oldest = made;
        made->kept = true;
    }
    pthread_mutex_unlock(&cluster->lock);
    *route = made;
    return HD_OK;
}

void hdi_cluster_route_done(struct hd_cluster *cluster, struct hdi_route *route)
{
    if (!route)
        return;
    pthread_mutex_lock(&cluster->lock);
    bool last = --route->users == 0 && !route->kept;
    pthread_mutex_unlock(&cluster->lock);
    if (last)
        free_route(cluster, route);
}
