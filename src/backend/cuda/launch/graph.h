// A list of launches as a graph of the driver's: started with one call, and the
// hardware starts what comes after what has ended.
#ifndef HDI_BACKEND_CUDA_GRAPH_H
#define HDI_BACKEND_CUDA_GRAPH_H

#include "backend/cuda/cuda.h"

struct cuda_launches;

// Any thread; the context is entered.
hd_status cuda_graph_make(struct hdi_device *device,
                          const struct hdi_list_params *params,
                          struct cuda_launches **launches,
                          struct hd_error *error);
void cuda_graph_free(struct cuda_gpu *gpu, struct cuda_launches *launches);

// With the context. Arguments of step i are at `args` + i * `stride`; those
// that differ from the last ones are told to the driver.
cuda_result cuda_launches_start(struct cuda_gpu *gpu,
                                struct cuda_launches *launches,
                                const unsigned char *args, size_t stride,
                                cuda_stream stream);

// Pass on what its kernels have printed.
void cuda_launches_ended(struct cuda_launches *launches);

void cuda_launches_name(const struct cuda_launches *launches,
                        struct cuda_names *names);

// list.c: the same for a list.
cuda_result cuda_graph_launch(struct hdi_device_list *list, cuda_stream stream);
void cuda_graph_ended(struct hdi_device_list *list);

#endif
