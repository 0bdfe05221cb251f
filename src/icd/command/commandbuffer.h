// Command buffers: commands that are recorded once and run many times.
#ifndef HDI_ICD_COMMAND_COMMANDBUFFER_H
#define HDI_ICD_COMMAND_COMMANDBUFFER_H

#include "icd/queue/queues.h"

// What is recorded lies in `commands`, under `lock` until `is_final`, then
// constant: runs read it without a lock.
//
//     recording --finalize--> executable
struct _cl_command_buffer_khr {
    struct hdi_cl_object object;
    struct _cl_command_queue *queue;    // held: where it runs unless told
    struct _cl_command_queue *recorder; // its own
    cl_command_buffer_properties_khr properties[3];
    unsigned property_count;

    pthread_mutex_t lock;
    bool is_final;
    struct hdi_cl_recorded **commands;
    unsigned count, room;
    unsigned barrier;    // what all later ones wait for, from 1; 0: none
    unsigned most_after; // that one of them comes after
};

void hdi_cl_command_buffer_destroy(void *object);

#endif
