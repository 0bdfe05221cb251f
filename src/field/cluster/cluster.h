// Inside a cluster: its processes, each of which holds `here` nodes, what they
// agree on, and the plans that were made.
//
//     process 0        process 1        process 2        here = 2
//     node 0  node 1   node 2  node 3   node 4  node 5
//
// Calls on fields are collective: all processes make the same ones in the same
// order, and say so to each other (agree.h). So what counts them (`calls`,
// `runs`, `fields_made`) is equal everywhere, and gives names to things without
// a message. A call says so by its number, whether it blocks or goes on in
// another thread: so calls that differ meet, and all are told at once.
#ifndef HDI_FIELD_CLUSTER_CLUSTER_H
#define HDI_FIELD_CLUSTER_CLUSTER_H

#include <pthread.h>

#include "field/cluster/agree.h"
#include "field/cluster/domain.h"
#include "field/map/mix.h"
#include "field/plan/plan.h"
#include "heddle/agile.h"
#include "transport/transport.h"

// Lanes: more need more threads, and memory for the slots of their runs.
enum {
    HDI_PLANS = 32, // kept; the one that was not used for longest goes
    HDI_LANES = 4   // foralls that may be under way at a time
};

// A plan with the moves of this process's nodes. The rest of it is under the
// cluster's lock.
// It is freed by whoever is last: the cache when another takes its place, if
// nobody uses it then, or the last user, if it is not in the cache.
struct hdi_route {
    struct hdi_move_plan *plan;
    struct hdi_moves *to, *from; // of each node here
    uint64_t used;               // when
    uint32_t users;              // redistributions that go by it
    bool kept;                   // in the cluster's list
};

struct hdi_mover;  // goes on with what was started, see mover.c
struct hdi_runner; // does foralls that were started, see forall/runner.c

// One thing at a time that all processes do together, beside those of other
// lanes: its messages have tags of their own. What blocks is done in lane 0.
struct hdi_lane {
    struct hd_cluster *cluster;
    uint32_t number;
    uint64_t runs; // foralls that all processes have begun in it

    // Called while waiting for messages; optional.
    // While a forall runs: the agent answers here where it has no thread, or
    // two processes that wait for each other would wait for ever.
    void (*idle)(void *data);
    void *idle_data;

    // Whether a process that has not answered for long is there, only busy;
    // optional.
    bool (*lives)(void *data, uint32_t process);
    void *lives_data;
};

// What hd_cluster_join() gives, one for each process. Everything above `lock`
// from `routes` on is under it; what is below belongs to the thread that makes
// the collective calls, to the mover what mover.c says, and a lane to who does
// something in it.
struct hd_cluster {
    const struct hdi_transport *transport;
    struct hdi_net *net;
    uint32_t here;              // nodes of each process
    uint32_t nodes;             // in all
    struct hdi_domains domains; // what the nodes here are
    // `messages`: as if no memory were shared, for tests; `sequential`: no
    // threads for nodes.
    bool messages, sequential;
    // How long a process may say nothing [ns], and the largest message of a
    // redistribution [bytes].
    uint64_t timeout, piece;
    struct hdi_route *routes[HDI_PLANS];
    uint64_t clock;   // counts uses of routes
    uint64_t scratch; // in use now [bytes]
    // Why processes are apart: one that has started something has made another
    // call than others, so those behind it do not match. Empty: they are not.
    char apart[400];
    struct hd_cluster_counters counters;
    struct hd_field *fields;
    pthread_mutex_t lock; // for the above, and the stores of fields
    uint64_t fields_made;
    uint64_t calls; // and agreements of lane 0, as on all processes
    bool differ;    // calls of processes did, when they last agreed in lane 0
    struct hdi_mover *mover;                     // NULL: none was started
    void (*stop_mover)(struct hdi_mover *mover); // waits for what was started
    struct hdi_runner *runner;                   // the same, of foralls
    uint64_t foralls; // started, as on all processes: it says in which lane
    // The lane of the forall that was called or started last, as on all
    // processes.
    uint32_t latest;
    void (*stop_runner)(struct hdi_runner *runner);
    struct hdi_shared *slots; // of runs, those of each lane, see run.h
    struct hdi_lane lanes[HDI_LANES];
    // Of each node here: held by who moves something to or from it, not while
    // it computes; for its replicas and the order of its messages. No thread
    // holds two of them; locks of runs may be taken inside of one.
    pthread_mutex_t *moving;
};

// Tags of messages.
enum {
    HDI_TAG_AGREE = 1, // in lane 0: beside calls
    HDI_TAG_MOVE,
    HDI_TAG_ASK,
    HDI_TAG_REPLY, // and above, by node: see hdi_lane_tag()
    // And above: two of each redistribution that is started, by its number as
    // a call; then one of each call.
    HDI_TAG_STARTED = 1 << 20,
    HDI_CALLS = 1 << 20, // under way, at most
    HDI_TAG_CALL = HDI_TAG_STARTED + 2 * HDI_CALLS,
    // Nodes of a process, so that the tags of lane 0 stay below those above.
    HDI_MAX_HERE = (HDI_TAG_STARTED - HDI_TAG_REPLY - 1) / 2
};
_Static_assert(HDI_TAG_CALL + HDI_CALLS - 1 <= HDI_MAX_TAG, "tags");

// The tag by which processes agree on a call.
static inline uint32_t hdi_call_tag(uint64_t number)
{
    return HDI_TAG_CALL + (uint32_t)(number % HDI_CALLS);
}

// Nodes of a process follow each other; every process has as many.
static inline uint32_t hdi_cluster_process_of(const struct hd_cluster *cluster,
                                              uint32_t node)
{
    return node / cluster->here;
}

// Whether a node is a device, whose memory only its own process reaches.
static inline bool hdi_cluster_is_device(const struct hd_cluster *cluster,
                                         uint32_t node)
{
    return cluster->domains.devices &&
           cluster->domains.domain[node % cluster->here].launcher;
}

// The first node of this process.
static inline uint32_t hdi_cluster_first(const struct hd_cluster *cluster)
{
    return cluster->net->node * cluster->here;
}

// As hd_cluster_join(), with the launcher of the runtime's processors, or NULL.
hd_status hdi_cluster_join(const struct hd_cluster_params *params,
                           struct hdi_launcher *launcher,
                           struct hd_cluster **cluster, struct hd_error *error);

// The tag of a lane's messages: lanes have as many each, the last of which is
// HDI_TAG_REPLY + 2 * here.
static inline uint32_t hdi_lane_tag(const struct hdi_lane *lane, uint32_t tag)
{
    return tag + lane->number * (HDI_TAG_REPLY + 2 * lane->cluster->here + 1);
}

// Whether something may be done in several lanes: by threads, and not on
// devices, what of a field lies on one is made room for by one run at a time.
bool hdi_cluster_has_lanes(const struct hd_cluster *cluster);

// How long one has waited; all zero at first.
// `begin` stays 0 for the first looks, which cost less than reading the time.
struct hdi_patience {
    unsigned looks;
    uint64_t begin; // [ns]
};

// Pass some time while waiting for other processes; false when that has taken
// the cluster's limit, and it begins anew, or they are apart.
bool hdi_lane_bide(const struct hdi_lane *lane, struct hdi_patience *patience);

// Give a transfer up, as in the transport, if it is under way (not NULL), and
// free `memory` when nothing touches it any more.
void hdi_cluster_abandon(struct hd_cluster *cluster,
                         struct hdi_transfer **transfer, void *memory);

// Wait for a transfer, but not longer than the cluster's limit; then it returns
// false and the transfer is under way still. `message` as in the transport.
bool hdi_lane_wait_limited(const struct hdi_lane *lane,
                           struct hdi_transfer *transfer, hd_status *status,
                           struct hdi_message *message);

// Processes are apart from here on, for the reason that an error tells.
void hdi_cluster_part(struct hd_cluster *cluster, const struct hd_error *why);

// Whether they are, and why (HD_EINVAL).
bool hdi_lane_is_apart(const struct hdi_lane *lane, struct hd_error *error);

// Process `who` has not answered for the limit: HD_EPEER.
hd_status hdi_cluster_lost(const struct hd_cluster *cluster, uint32_t who,
                           struct hd_error *error);

// Whether to go on waiting for a process when hdi_lane_bide() has failed: HD_OK
// when it is only busy, else why not.
hd_status hdi_lane_give_up(const struct hdi_lane *lane, uint32_t who,
                           struct hd_error *error);

// Wait for a transfer with process `who`; HD_EPEER when it takes too long and
// nothing says that the process lives, or when processes are apart. Then it is
// abandoned, and more than HDI_SMALL bytes of data must stay as long as the
// cluster: a leak that a lost process is worth.
hd_status hdi_lane_wait(const struct hdi_lane *lane,
                        struct hdi_transfer *transfer, uint32_t who,
                        struct hd_error *error);

// The same; gets the size of what has come.
hd_status hdi_lane_wait_size(const struct hdi_lane *lane,
                             struct hdi_transfer *transfer, uint32_t who,
                             uint64_t *size, struct hd_error *error);

// The same in lane 0, for what blocks.
static inline hd_status hdi_cluster_wait(struct hd_cluster *cluster,
                                         struct hdi_transfer *transfer,
                                         uint32_t who, struct hd_error *error)
{
    return hdi_lane_wait(&cluster->lanes[0], transfer, who, error);
}

// As hdi_cluster_agree(), in a lane.
hd_status hdi_lane_agree(const struct hdi_lane *lane, const char *call,
                         uint64_t digest, hd_status status,
                         struct hd_error *error);

// Get the route of a pair of maps, made now or before; the caller uses it until
// hdi_cluster_route_done(), which takes NULL.
hd_status hdi_cluster_route(struct hd_cluster *cluster,
                            const struct hd_map *source,
                            const struct hd_map *target,
                            const struct hdi_affine *affine,
                            struct hdi_route **route, struct hd_error *error);
void hdi_cluster_route_done(struct hd_cluster *cluster,
                            struct hdi_route *route);

// Get memory that other processes reach, all together; `call` is what they say
// when one has none.
hd_status hdi_cluster_share(struct hd_cluster *cluster, const char *call,
                            uint64_t size, struct hdi_shared **shared,
                            struct hd_error *error);

// Add to what is counted; `scratch` is not looked at.
void hdi_cluster_count(struct hd_cluster *cluster,
                       const struct hd_cluster_counters *more);

// Memory beside the fields, counted until it is done with; then it is the
// caller's to free.
void *hdi_cluster_scratch(struct hd_cluster *cluster, uint64_t size);
void hdi_cluster_scratch_done(struct hd_cluster *cluster, const void *memory,
                              uint64_t size);

#endif
