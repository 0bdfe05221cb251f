// An agreement that is under way: what processes tell each other before and
// after what they do together. Calls that block use hdi_cluster_agree(); what
// is started and not waited for goes on step by step.
#ifndef HDI_FIELD_CLUSTER_AGREEMENT_H
#define HDI_FIELD_CLUSTER_AGREEMENT_H

#include "field/cluster/cluster.h"

enum hdi_disagree {
    HDI_AGREE,
    HDI_OTHER_ARGUMENTS,
    HDI_OTHER_CALL
};

// What a process says, of itself and of those it has heard.
// Sent as it is: all processes run the same program on the same kind of
// machine.
struct hdi_said {
    uint64_t digest;
    uint32_t process; // that it is about
    uint32_t status;
    uint32_t disagree; // the status is because calls do: enum hdi_disagree
    char call[60];
    char text[400]; // of an error; else not sent
};
_Static_assert(sizeof(struct hdi_said) <= HDI_SMALL,
               "an agreement that is given up may go");

// Invariant: `sent` and `received` are under way, or NULL; while they are, the
// agreement stays where it is.
//
//     round 1: tell the next        by = 1      2 are known to each
//     round 2: tell the one after   by = 2      4
//     round 3                       by = 4      8 ... until by >= processes
struct hdi_agreement {
    struct hd_cluster *cluster;
    const struct hdi_lane *lane; // in which hdi_agreement_end() waits
    uint32_t tag;
    struct hdi_said mine, other;
    uint64_t by;   // how far away those of this round are
    hd_status own; // how it went here
    struct hdi_transfer *sent, *received;
};

// Begin, with messages of one tag. `error` has the text of a failure here.
void hdi_agreement_begin(struct hdi_agreement *agreement,
                         struct hd_cluster *cluster, uint32_t tag,
                         const char *call, uint64_t digest, hd_status status,
                         const struct hd_error *error);

// Go on without waiting. True when it is over; then `*status` and `error` are
// as hdi_cluster_agree() says. `*moved`: something has come or gone.
bool hdi_agreement_step(struct hdi_agreement *agreement, bool *moved,
                        hd_status *status, struct hd_error *error);

// Go on to the end.
hd_status hdi_agreement_end(struct hdi_agreement *agreement,
                            struct hd_error *error);

// Give it up: no message touches it any more. What failed has been.
void hdi_agreement_abandon(struct hdi_agreement *agreement);

// The process that it waits for.
uint32_t hdi_agreement_peer(const struct hdi_agreement *agreement);

#endif
