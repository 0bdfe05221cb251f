/* The last look before a pool ends (finish() in src/steal/worker/working.c): a worker that
 * lies down sees that the pool stops, no job, and nobody awake; then none is left.
 *
 * ending.pml has the whole; here is the corner of it where loads out of order do
 * harm. Worker B lies asleep, a thread outside hands in a job, wakes it and stops
 * the pool; worker A has just lain down and looks. Who takes a job counts as awake
 * before, and what was handed in comes before `stopping`. */
#define LOCATIONS 3
#define MESSAGES 4
#define THREADS 3
#include "memory.pml"

#define JOBS 0
#define AWAKE 1
#define STOPPING 2
#define A 0
#define B 1
#define OUTSIDE 2

#ifdef TAKE_RELAXED
#define TAKE RELAXED
#else
#define TAKE RELEASE
#endif
#ifdef FINISH_UNFENCED
#define FINISH_FENCE skip
#else
#define FINISH_FENCE fence_seq_cst(A)
#endif

bool awake, ran;

proctype outside() {
  store(OUTSIDE, JOBS, 1, RELAXED); /* under the inbox's lock */
  fence_seq_cst(OUTSIDE);
  awake = 1;
  store(OUTSIDE, STOPPING, 1, RELEASE)
}

proctype worker_b() {
  byte x;
  awake;
  exchange(B, AWAKE, x, x + 1, ACQ_REL);
  store(B, JOBS, 0, TAKE);
  ran = 1;
  exchange(B, AWAKE, x, x - 1, ACQ_REL)
}

proctype worker_a() {
  byte stopping, jobs, others;
  fence_seq_cst(A); /* hdi_idle_lie_down()'s */
#ifdef STOP_LAST
  load(A, JOBS, RELAXED, jobs);
  load(A, STOPPING, ACQUIRE, stopping);
#else
  load(A, STOPPING, ACQUIRE, stopping);
#ifdef AWAKE_FIRST
  load(A, AWAKE, ACQUIRE, others);
#endif
  load(A, JOBS, RELAXED, jobs);
#endif
  FINISH_FENCE;
#ifndef AWAKE_FIRST
  load(A, AWAKE, ACQUIRE, others);
#endif
  assert(!stopping || jobs || others || ran)
}

init {
  start_memory();
  atomic { run outside(); run worker_b(); run worker_a() }
}
