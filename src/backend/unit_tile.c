// The unit loop as device code: a tile of one warp on an NVIDIA GPU. Compiled
// and assembled by the test unit_nvptx, so that unit.c stays code that a GPU
// can run; nothing loads it. A GPU backend puts its kernels in the place of
// hdu_run().
#include "backend/unit.c"

extern uint32_t hdu_kernel(uint64_t entry, const struct hdu_unit *unit,
                           uint32_t rank, const uint32_t first[3],
                           const uint32_t count[3]);
void hdu_tile(struct hdi_mailbox *mailboxes, uint32_t mode);

static __attribute__((address_space(3))) struct hdu_unit tile;

void hdu_barrier(struct hdu_unit *unit, uint32_t rank)
{
    (void)unit, (void)rank;
    __syncthreads();
}

void hdu_pause(struct hdu_unit *unit, uint64_t number, uint32_t round)
{
    (void)unit, (void)number;
    uint32_t ns = round < 6 ? 20u << round : 1000;
    __asm__ __volatile__("nanosleep.u32 %0;" : : "r"(ns));
}

uint32_t hdu_run(struct hdu_unit *unit, uint32_t rank, const uint32_t first[3],
                 const uint32_t count[3])
{
    return hdu_kernel(unit->task.entry, unit, rank, first, count);
}

// One block, one tile, one mailbox.
__attribute__((nvptx_kernel)) void hdu_tile(struct hdi_mailbox *mailboxes,
                                            uint32_t mode)
{
    struct hdu_unit *unit = (struct hdu_unit *)&tile;
    uint32_t rank = (uint32_t)__nvvm_read_ptx_sreg_tid_x();

    if (rank == 0) {
        unit->mailbox = &mailboxes[__nvvm_read_ptx_sreg_ctaid_x()];
        unit->mode = (enum hdi_mailbox_mode)mode;
        unit->cores = (uint32_t)__nvvm_read_ptx_sreg_ntid_x();
    }
    __syncthreads();
    hdu_unit_serve(unit, rank);
}
