/* Jobs that move from one list of an inbox to the other (src/steal/queue/inbox.c): who
 * lies down meanwhile sees those that are left, or is woken.
 *
 * A thread outside hands in two jobs, a worker takes one of them, another has found
 * nothing before and lies down. The worker that takes is at work after that: the second
 * job is the other one's. */
#define LOCATIONS 4
#define MESSAGES 8
#define THREADS 3
#include "memory.pml"

#define OUT 0 /* jobs in each list */
#define IN 1
#define LOCK 2 /* of `in`; that of `out` has one taker only */
#define PARKED 3
#define OUTSIDE 0
#define TAKER 1
#define SLEEPER 2

#ifdef MOVE_RELAXED
#define MOVE RELAXED
#else
#define MOVE RELEASE
#endif
#ifdef LOOK_RELAXED
#define LOOK RELAXED
#else
#define LOOK ACQUIRE
#endif

bool held, asleep, woken;
byte took;

inline lock(p) {
  atomic { !held; held = 1 };
  exchange(p, LOCK, x, 1, ACQUIRE)
}
inline unlock(p) {
  store(p, LOCK, 0, RELEASE);
  held = 0
}

proctype outside() {
  byte x, jobs, parked, i;
  do
  :: i < 2 ->
     lock(OUTSIDE);
     load(OUTSIDE, IN, RELAXED, jobs);
     store(OUTSIDE, IN, jobs + 1, RELEASE);
     unlock(OUTSIDE);
     fence_seq_cst(OUTSIDE); /* hdi_pool_tell()'s */
     load(OUTSIDE, PARKED, RELAXED, parked);
     woken = woken || parked;
     i++
  :: else -> break
  od
}

proctype taker() {
  byte x, jobs;
  lock(TAKER);
  load(TAKER, IN, RELAXED, jobs);
  if
  :: jobs > 0 ->
#ifdef CLEAR_FIRST
     store(TAKER, IN, 0, MOVE);
     store(TAKER, OUT, jobs, MOVE)
#else
     store(TAKER, OUT, jobs, MOVE);
     store(TAKER, IN, 0, MOVE)
#endif
  :: else
  fi;
  unlock(TAKER);
  if
  :: jobs > 0 -> store(TAKER, OUT, jobs - 1, RELEASE); took = 1
  :: else
  fi
}

proctype sleeper() {
  byte x, first, second, third;
  exchange(SLEEPER, PARKED, x, 1, RELEASE);
  fence_seq_cst(SLEEPER); /* hdi_idle_lie_down()'s */
  load(SLEEPER, OUT, RELAXED, first);
  load(SLEEPER, IN, LOOK, second);
#ifndef LOOK_ONCE
  load(SLEEPER, OUT, RELAXED, third);
#endif
  asleep = !(first || second || third)
}

init {
  start_memory();
  atomic { run outside(); run taker(); run sleeper() };
  _nr_pr == 1;
  assert(!asleep || woken || took == 2)
}
