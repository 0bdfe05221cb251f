// What passes took before, on this machine: kept between processes beside the
// compiled kernels, so that the first graph of a program that ran yesterday is
// ordered by what its passes really take.
//
// A process reads the file once, and adds what it has measured since when it
// saves: under a lock, to what the file holds by then. So nothing that another
// process learned is lost. A file that is damaged, or of another version, is as
// good as none.
#ifndef HDI_GRAPH_MODEL_FEEDBACK_H
#define HDI_GRAPH_MODEL_FEEDBACK_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/binary/cache.h"

enum {
    HDI_FEEDBACK_MAX = 32768 // entries; those not used for longest go first
};

// The name of something that runs: what it computes, over how much, on what.
//
// 128 bits, so that two that differ do not meet by chance; nobody is expected
// to make them meet.
struct hdi_feedback_key {
    uint64_t hash[2];
};

// Begin a key, and mix more into it.
struct hdi_feedback_key hdi_feedback_key(const char *device);
void hdi_feedback_mix(struct hdi_feedback_key *key, const void *data,
                      size_t size);

// One run of it.
struct hdi_measure {
    uint64_t time;   // from its start to its end [ns]
    uint64_t busy;   // in its leaves, over all workers [ns]
    uint64_t bytes;  // moved, at least
    uint64_t memory; // that it needed for itself [bytes]
    uint64_t steps;  // operations, as the compiler counts them; 0: not known
};

// All runs; the later ones count more. Those before the latest are taken to
// have been as long as they would have been with its operations.
struct hdi_experience {
    double time, deviation; // [ns]; standard deviation of the time
    double busy;            // [ns]
    double bandwidth;       // [bytes/s]
    double memory;          // [bytes]
    double steps;           // of the latest; 0: not known
    uint32_t runs;
    uint64_t last; // when it ran last [s since 1970]
};

struct hdi_feedback;

// `cache` NULL: what is learned lasts as long as the process. NULL without
// memory.
struct hdi_feedback *hdi_feedback_open(struct hdi_cache *cache);
void hdi_feedback_close(struct hdi_feedback *feedback); // saves first

// False when it never ran. Any thread, here and below.
bool hdi_feedback_find(struct hdi_feedback *feedback,
                       const struct hdi_feedback_key *key,
                       struct hdi_experience *experience);

// Without memory the measure is lost.
void hdi_feedback_add(struct hdi_feedback *feedback,
                      const struct hdi_feedback_key *key,
                      const struct hdi_measure *measure);

// Add what is new to the file. Failing is no error: it is tried again.
void hdi_feedback_save(struct hdi_feedback *feedback);

#endif
