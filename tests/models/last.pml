/* The last look before a pool ends (finish() in src/steal/worker/working.c): a worker that
 * lies down sees that the pool stops, no job, and nobody awake; then none is left.
 *
 * ending.pml has the whole; here is the corner of it where loads out of order do
 * harm. Worker B lies asleep, a thread outside hands in a job, wakes it and stops
 * the pool; worker A has just lain down and looks. Who takes a job counts as awake
 * before, and what was handed in comes before `stopping`. */
#define LOCATIONS 4
#define MESSAGES 4
#define THREADS 3
#include "memory.pml"

#define IN 0 /* the lists of the inbox, see inbox.pml */
#define OUT 1
#define AWAKE 2
#define STOPPING 3
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

bool awake, moved, ran;

proctype outside() {
  if /* under the lock of the list; another worker may have moved it since */
  :: store(OUTSIDE, IN, 1, RELAXED)
  :: moved = 1; store(OUTSIDE, OUT, 1, RELAXED)
  fi;
  fence_seq_cst(OUTSIDE);
  awake = 1;
  store(OUTSIDE, STOPPING, 1, RELEASE)
}

proctype worker_b() {
  byte x;
  awake;
  exchange(B, AWAKE, x, x + 1, ACQ_REL);
  if
  :: moved
  :: else -> store(B, OUT, 1, TAKE); store(B, IN, 0, TAKE)
  fi;
  store(B, OUT, 0, TAKE);
  ran = 1;
  exchange(B, AWAKE, x, x - 1, ACQ_REL)
}

inline look(jobs) {
  load(A, OUT, RELAXED, first);
  load(A, IN, ACQUIRE, second);
  load(A, OUT, RELAXED, third);
  jobs = first || second || third
}

proctype worker_a() {
  byte stopping, jobs, others, first, second, third;
  fence_seq_cst(A); /* hdi_idle_lie_down()'s */
#ifdef STOP_LAST
  look(jobs);
  load(A, STOPPING, ACQUIRE, stopping);
#else
  load(A, STOPPING, ACQUIRE, stopping);
#ifdef AWAKE_FIRST
  load(A, AWAKE, ACQUIRE, others);
#endif
  look(jobs);
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
