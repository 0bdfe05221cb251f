// What the cases of `bench/run field` share: a cluster of two processes on this
// machine, fields of doubles, times that are equal on both.
#ifndef HEDDLE_BENCH_FIELD_H
#define HEDDLE_BENCH_FIELD_H

#include <stdbool.h>

#include "bench/figure.h"
#include "field/memory/field.h"

enum {
    MAX_ROUNDS = 15
};

struct rig {
    struct hd_cluster *cluster;
    struct hd_error error;
    int rounds;
    bool quick;
    double tcp; // a message of 1 KB there and back over TCP [us]; 0: not known
};

void must(struct rig *rig, hd_status status); // ends the program
void join(struct rig *rig, unsigned nodes, bool messages, uint64_t piece);
struct hd_map *parse(struct rig *rig, const char *format, ...);
struct hd_field *numbered(struct rig *rig, const struct hd_map *map);
double *memory_of(struct hd_field *field, uint32_t node, size_t *size);

// Time `work` between two meetings of all [ms].
double timed(struct rig *rig, void (*work)(struct rig *rig, void *data),
             void *data);

// Print a figure, from process 0.
void report(struct rig *rig, const char *name, const char *metric, double value,
            const char *unit, const char *peer, const char *op, double bar);

void measure_moves(struct rig *rig);   // redistribution, A + B^T
void measure_bytes(struct rig *rig);   // counted, of any number of processes
void measure_access(struct rig *rig);  // the two views
void measure_steals(struct rig *rig);  // there and back, in shared memory
void measure_asking(struct rig *rig);  // the same by messages
void measure_balance(struct rig *rig); // uneven nodes
void measure_sort(struct rig *rig);

#endif
